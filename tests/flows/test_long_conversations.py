"""A conversation of 10,000 messages costs the same context as one of 200 (seed 002)."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, insert, update

from agent.messages import estimate_tokens
from agent.providers.scripted import ScriptedProvider
from agent.state import SituationSummary
from agent.turn_records import Claiming
from bot.chat.notes import EndedTurn
from bot.chat.reply.live import LiveReply
from store import row_mapping
from store.engine import Store
from store.message_tables import conversation, message
from store.turn_tables import turn
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.new_database import open_new
from tests.fakes.runners import runner_on
from tests.fakes.surface import FakeSurface

pytestmark = pytest.mark.slow

SUMMARY = SituationSummary("paint the boat", "bought paint", "two coats", "it is wood", "sand it")
AT_ONCE = 500  # Rows in one statement


def fill(connection: Connection, messages: int, words: str) -> None:
    """As many messages in Ann's thread as if she had talked with the bot for a year; without an index."""
    about: dict[str, Any] = {"conversation": "thread", "person": "ann", "channel": "channel"}
    turns = [
        {**about, "id": 10 + n, "source": "s", "event_id": f"e{n}", "message_id": f"m{n}", "state": "done"}
        for n in range(messages // 2)
    ]
    said_ = [
        {
            **about,
            "turn": 10 + n // 2,
            "author": ("person", "bot")[n % 2],
            "text": f"{n:05} {words}",
            "length": 1,
            "time": START + timedelta(minutes=n),
            "audience": "person:ann",
        }
        for n in range(messages)
    ]
    for table, values in ((turn, turns), (message, said_)):
        for at in range(0, len(values), AT_ONCE):
            connection.execute(insert(table), values[at : at + AT_ONCE])
    connection.execute(update(conversation).values(summary=row_mapping.summary_text(SUMMARY)))


async def prompt_of(store: Store, words: str, messages: int) -> list[str]:
    """Return what the model receives when Ann asks again."""
    await store.ledger.accept(said("hello"))
    first = await store.ledger.claim(Claiming("w", START, LEASE))
    assert first is not None
    clock, model = FakeClock(), ScriptedProvider(["Hello.", "Hello."])
    runner = runner_on(store, model, clock)
    async with LiveReply(FakeSurface(clock), clock, first.turn) as live:
        ended = await runner.run(first, live, lambda: False)
        assert isinstance(ended, EndedTurn)
        await store.ledger.finish(first, ended.closing, START)
    await store.database.write(fill, messages, words)
    await store.ledger.accept(said("and now?"))
    asked = await store.ledger.claim(Claiming("w", START, LEASE))
    assert asked is not None
    async with LiveReply(FakeSurface(clock), clock, asked.turn) as live:
        await runner.run(asked, live, lambda: False)
    return [one.text for one in model.requests[-1]]


@pytest.mark.parametrize("words", ["short", "longer words " * 30])
async def test_seed_002_ten_thousand_messages_cost_the_same_context_as_two_hundred(words: str) -> None:
    costs: list[int] = []
    for messages in (200, 10_000):
        store = await open_new()
        try:
            prompt = await prompt_of(store, words, messages)
        finally:
            await store.close()
        assert "goal: paint the boat" in prompt[-2]
        assert f"{messages - 1:05} {words}" in prompt[-3]
        costs.append(sum(map(estimate_tokens, prompt)))
    assert costs[0] == costs[1]
