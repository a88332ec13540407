"""What turns that stay have made of what falls: taken out, and open turns set back to their start.

Above: `store.forgetting.erase`, `store.forgetting.reword`. Below: `store.forgetting.doomed`, batches, rows, tables.

Rules
  A turn in whose context a message or a fact stood that falls loses its action records; its conversation, the summary.
  An open turn whose progress names such a message, or contains an erased text, starts anew without its progress and
  under the next epoch, so its worker gets LeaseLost. Quoted texts in its payload that contain one are taken out.
  (`holds` says how long a text must be to tell.)
  A turn that runs meanwhile has not yet said what stood in its context. In the conversations that lose something, and
  for the people who do, it loses its saved progress; `store.turns.ledger` drops its records and summary when it ends.
"""

import json
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Table, and_, delete, select, update

from agent.memory.forgetting import ERASE_ENTRIES
from store import json_columns, rows, spending
from store.forgetting.batches import among
from store.forgetting.doomed import Doomed, earliest
from store.forgetting.retold import contexts
from store.search.text import holds
from store.tables import RUNNING, WAITING, action_record, conversation, job, turn, workspace


def drop_records(connection: Connection, doomed: Doomed) -> tuple[int, frozenset[str]]:
    """How many action records of turns that stay went, and in which conversations."""
    since = None if doomed.facts else earliest(doomed.said)
    told = contexts(connection, since) if doomed.said or doomed.facts else ()
    near = [one for one in told if one.context & doomed.said.keys() or one.facts & doomed.facts]
    gone, conversations = 0, set[str]()
    for one in near:
        if one.turn in doomed.turns:
            continue
        conversations.add(one.conversation)
        gone += _delete(connection, action_record, one.turn)
        left = {
            "context_messages": json_columns.id_list(one.context - doomed.said.keys()),
            "given_messages": json_columns.id_list(one.given - doomed.said.keys()),
            "context_facts": json_columns.id_list(one.facts - doomed.facts),
            "progress": "",
        }
        connection.execute(update(turn).where(turn.c.id == one.turn).values(**left))
    return gone, frozenset(conversations)


def set_back(connection: Connection, doomed: Doomed, texts: Collection[str], now: datetime) -> None:
    """Let open turns start anew that have already made something of what falls."""
    open_ = select(turn.c.id, turn.c.progress, turn.c.payload).where(turn.c.state.in_((WAITING, RUNNING)))
    for turn_id, progress, payload in connection.execute(open_).all():
        if turn_id in doomed.turns:
            continue
        values: dict[str, object] = {}
        if json_columns.sources(progress) & doomed.said.keys() or contained(json_columns.strings(progress), texts):
            values = rows.restarted(turn.c.epoch + 1)
            spending.settle(connection, turn.c.id == turn_id, now)
        kept = json_columns.without_quoted(payload, lambda quoted: contained([quoted], texts))
        if kept != payload:
            values["payload"] = kept
        if values:
            connection.execute(update(turn).where(turn.c.id == turn_id).values(**values))
    for column, some in ((turn.c.person, doomed.people), (turn.c.conversation, doomed.conversations)):
        for near in among(column, some):
            connection.execute(update(turn).where(turn.c.state == RUNNING, near).values(progress=""))
    begun_anew = select(turn.c.id).where(turn.c.state.in_((WAITING, RUNNING)), turn.c.progress == "")
    connection.execute(delete(workspace).where(workspace.c.task_id.in_(begun_anew)))


def drop_summaries(connection: Connection, conversations: Collection[str]) -> int:
    """How many there were."""
    held = (and_(where, conversation.c.summary != "{}") for where in among(conversation.c.id, conversations))
    return sum(connection.execute(update(conversation).where(each).values(summary="{}")).rowcount for each in held)


def drop_waiting(connection: Connection, conversations: Collection[str], said: Collection[int]) -> None:
    """Take out of what waits to be brought back (`store.forgetting.undo`) what was made of these messages: facts and
    entries that came of them, and the summaries and action records of the conversations that lose something.
    """
    waiting = and_(job.c.kind == ERASE_ENTRIES, job.c.payload != "")
    for id_, payload in connection.execute(select(job.c.id, job.c.payload).where(waiting)).all():
        kept: dict[str, list[dict[str, Any]]] = json.loads(payload)
        torn = {row["entry"] for row in kept["sources"] if row["message"] in said}
        turns = select(turn.c.id).where(turn.c.id.in_({row["turn"] for row in kept["actions"]}))
        sound = set(connection.execute(turns.where(turn.c.conversation.not_in(sorted(conversations)))).scalars())
        left = kept | {
            "facts": [row for row in kept["facts"] if row["source_message"] not in said],
            "entries": [row for row in kept["entries"] if row["id"] not in torn],
            "sources": [row for row in kept["sources"] if row["entry"] not in torn],
            "summaries": [row for row in kept["summaries"] if row["id"] not in conversations],
            "actions": [row for row in kept["actions"] if row["turn"] in sound],
        }
        if left != kept:
            connection.execute(update(job).where(job.c.id == id_).values(payload=json_columns.json_text(left)))


def waiting_words(payload: str) -> list[str]:
    """The words in what waits to be brought back. Its ids, places and times stand elsewhere, too, and rightly so."""
    kept: dict[str, list[dict[str, Any]]] = json.loads(payload or "{}")
    said = ("facts", ("key", "value")), ("entries", ("key", "text")), ("actions", ("thinking",))
    made = ("summaries", ("summary",)), ("actions", ("calls", "results"))
    plain = [row[name] for rows_, names in said for row in kept.get(rows_, []) for name in names]
    stored = [row[name] for rows_, names in made for row in kept.get(rows_, []) for name in names]
    return list(filter(None, [*plain, *(held for json_ in stored for held in json_columns.strings(json_))]))


def summaries(connection: Connection, conversations: Collection[str]) -> Iterator[str]:
    """The texts in them."""
    for where in among(conversation.c.id, conversations):
        for stored in connection.execute(select(conversation.c.summary).where(where)).scalars():
            yield from filter(None, json_columns.strings(stored))


def contained(held: Iterable[str], texts: Collection[str]) -> bool:
    """Does one of these hold one of the erased texts?"""
    return any(holds(some, erased) for some in held for erased in texts)


def _delete(connection: Connection, table: Table, turn_id: int) -> int:
    return connection.execute(delete(table).where(table.c.turn == turn_id)).rowcount
