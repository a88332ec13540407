"""What falls with a forgetting plan, found before anything is deleted.

Above: `store.forgetting.erase` deletes it. Below: `store.forgetting.unlearn`, reach, rows, text, tables;
`agent.memory.forgetting`.

A reply to somebody else falls if recall gave its turn an erased message, which is one of another conversation, and the
reply quotes that message: it contains the text or a telling piece of it (`store.search.text.quotes`). Then what quotes
that reply in the same way falls too. Having stood in the history is not derivation: such a reply stays.
"""

import json
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, select

from agent.memory.forgetting import ForgettingPlan
from agent.records import Author
from store import rows
from store.forgetting import unlearn
from store.memory import facts
from store.search.reach import facts_of, of_plan
from store.search.text import quotes
from store.tables import conversation, fact, job, message, participant, turn


@dataclass(frozen=True, slots=True)
class Said:
    """A message, as far as quoting goes."""

    conversation: str
    text: str


@dataclass(frozen=True, slots=True)
class Doomed:
    """What the plan reaches. `messages` are those of `replies` too; `conversations` are the person's own."""

    messages: frozenset[int]
    replies: dict[int, Said]
    facts: frozenset[int]
    entries: frozenset[int]
    conversations: list[str]


def reached(connection: Connection, plan: ForgettingPlan) -> Doomed:
    def found(column: ColumnElement[int], where: ColumnElement[bool]) -> frozenset[int]:
        return frozenset(connection.execute(select(column).where(where)).scalars())

    said = select(message.c.id, message.c.conversation, message.c.text).where(of_plan(plan, message))
    replies = _quoting(connection, plan, {id_: Said(*rest) for id_, *rest in connection.execute(said)})
    joined = select(participant.c.conversation).where(of_plan(plan, participant))
    return Doomed(
        messages=found(message.c.id, of_plan(plan, message)) | replies.keys(),
        replies=replies,
        facts=facts.with_derived(connection, facts_of(plan)),
        entries=unlearn.reached(connection, plan),
        conversations=list(connection.execute(joined).scalars()),
    )


def _quoting(connection: Connection, plan: ForgettingPlan, said: dict[int, Said]) -> dict[int, Said]:
    """The replies to others that quote what recall gave them of `said`, and what quotes those in turn."""
    answers = (
        select(message.c.id, message.c.conversation, message.c.text, turn.c.context_messages)
        .join_from(message, turn, message.c.turn == turn.c.id)
        .where(~of_plan(plan, turn), message.c.author == Author.BOT, turn.c.context_messages != "[]")
    )
    open_ = [
        (id_, Said(conversation_id, words), rows.ids(context))
        for id_, conversation_id, words, context in connection.execute(answers)
    ]
    found, fresh = dict[int, Said](), said
    while fresh:
        fresh = {
            id_: reply
            for id_, reply, context in open_
            if id_ not in found and any(_quotes(reply, fresh[source]) for source in context & fresh.keys())
        }
        found |= fresh
    return found


def _quotes(reply: Said, source: Said) -> bool:
    return reply.conversation != source.conversation and quotes(reply.text, source.text)


def texts_of(connection: Connection, plan: ForgettingPlan, doomed: Doomed) -> tuple[list[str], list[str]]:
    """What was said or kept, and what the summaries of the touched conversations and the profile said."""
    said = connection.execute(select(message.c.text).where(of_plan(plan, message))).scalars()
    known = connection.execute(select(fact.c.key, fact.c.value).where(fact.c.id.in_(doomed.facts)))
    kept = [words for row in known for words in row]
    queued = connection.execute(select(job.c.payload).where(of_plan(plan, job))).scalars()
    planned = [held for payload in queued for held in rows.strings(rows.read(payload))]
    summed = select(conversation.c.summary).where(conversation.c.id.in_(doomed.conversations))
    values = (json.loads(stored).values() for stored in connection.execute(summed).scalars())
    replies = (reply.text for reply in doomed.replies.values())
    made = [*(text for some in values for text in some), *unlearn.texts(connection, doomed.entries)]
    summed_up = dict.fromkeys(filter(None, made))
    return list(dict.fromkeys(filter(None, [*said, *replies, *kept, *planned]))), list(summed_up)
