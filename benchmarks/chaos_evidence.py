"""What is kept of a run of `benchmarks.chaos` in which something was wrong: for finding the cause, not for counting.

processes' own logs   as each process wrote them
verdict.log           the faults
platforms.log         of the conversations with a fault: what was asked, when events were sent again and acknowledged,
                      and what the processes did there, with the number of seconds on the logs' clock
ledger.log            the rows of these conversations' turns
"""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, select

from agent.machine import CLOCK
from benchmarks.chaos_town import Conversation, Town
from store.engine import open_store
from store.turn_tables import turn

BODY_CHARS: Final = 300  # Of a call


def conversations_in(place: Town, faults: Iterable[str]) -> list[Conversation]:
    """Return the conversations that faults are about; each begins with a question or a conversation."""
    named = {
        fault.partition(":")[0].partition(" ")[0].rpartition("-")[0] or fault.partition(":")[0] for fault in faults
    }
    return [one for one in place.conversations if one.name in named]


def on_platforms(place: Town, conversations: Sequence[Conversation]) -> str:
    """Return what happened in these conversations, in order."""
    zero = datetime.now(UTC) - timedelta(seconds=CLOCK.monotonic())  # noqa: TID251 -- the logs' clock
    found = [call for one in conversations for call in _calls(place, one)]
    lines = [f"{(zero + timedelta(seconds=time)).isoformat()} {what}" for time, what in sorted(found)]
    for one in conversations:
        again = {envelope: place.redelivery.attempts.get(envelope, 0) for envelope in one.envelopes}
        lost = sorted(one.envelopes - place.slack.acks.keys())
        lines.append(f"{one.name}: {one.platform}, {one.channel}, thread {one.thread}, {one.asked} asked")
        lines.append(f"  sent again: { {envelope: number for envelope, number in again.items() if number} }")
        lines.append(f"  without an acknowledgement: {lost}")
        lines += [f"  shown: {text[:BODY_CHARS]}" for text in place.shown(one)]
    return "\n".join(lines)


def _calls(place: Town, one: Conversation) -> list[tuple[float, str]]:
    """Return the calls of the processes in a conversation, with their times."""
    if one.platform == "Slack":
        state = place.slack.states[one.app]
        called = [call for call in state.calls + state.refused if one.channel in str(call.args)]
        return [(call.time, f"{one.name} {call.method} {str(call.args)[:BODY_CHARS]}") for call in called]
    called = [call for call in place.discord.calls if one.channel and f"/channels/{one.channel}" in call.path]
    return [
        (call.time, f"{one.name} {call.method} {call.path} {call.status} {str(call.body)[:BODY_CHARS]}")
        for call in called
    ]


async def in_ledger(url: str, conversations: Sequence[Conversation]) -> str:
    def read(connection: Connection) -> list[Mapping[str, object]]:
        rows = connection.execute(select(turn).order_by(turn.c.id)).mappings()
        return [
            dict(row)
            for row in rows
            if any(one.channel and one.channel in row["conversation"] for one in conversations)
        ]

    store = await open_store(url)
    try:
        rows = await store.database.read(read)
    finally:
        await store.close()
    return "\n".join(str({name: str(value)[:BODY_CHARS] for name, value in row.items()}) for row in rows)


def keep(into: Path, logs: Path, texts: Mapping[str, str]) -> None:
    """`logs`: the folder in which the processes wrote theirs."""
    into.mkdir(parents=True, exist_ok=True)
    for log in sorted(logs.glob("log-*")):
        shutil.copyfile(log, into / log.name)
    for name, text in texts.items():
        (into / name).write_text(text, encoding="utf-8", errors="backslashreplace")
