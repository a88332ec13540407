"""What answers were drawn from, read from the ids that their turns stored, from the audit and from the model calls.

Rules
  Texts are read from their own rows, as they are now: what was forgotten or deleted is only counted.
  Of the conversation's own messages only the number is returned. Lists are bounded, with the newest entries.
"""

import json
from collections.abc import Collection
from typing import Final

import sqlalchemy as sa

from agent.explanations import Grounds, UsedDocument, UsedFact, UsedMessage, UsedModel, UsedTool
from agent.shown_replies import Answered
from agent.stored_messages import Author
from store.databases.database import SqlStore, reads
from store.json_columns import read_ids
from store.json_lists import ids_in_parameter
from store.memory_tables import fact
from store.message_tables import message
from store.model_calls import TURN, model_call
from store.replies import by_turn, page
from store.row_mapping import ASKED
from store.search.passages import document
from store.tool_calls import tool_call
from store.turn_tables import DONE, turn

MAX_LISTED: Final = 200  # Of each kind: a panel shows fewer, after those that its viewer may not read were left out
_CONTEXT: Final = ("conversation", "context_messages", "given_messages", "context_facts", "given_documents")
_TURN: Final = sa.select(*(turn.c[name] for name in _CONTEXT), turn.c.erased_sources, turn.c.usage)


def grounds(connection: sa.Connection, number: int) -> Grounds | None:
    row = connection.execute(_TURN.where(turn.c.id == number, turn.c.state == DONE)).one_or_none()
    if row is None:
        return None
    given, context = read_ids(row.given_messages), read_ids(row.context_messages)
    facts, documents = read_ids(row.context_facts), read_ids(row.given_documents)
    found_facts, found_documents = _facts(connection, facts), _documents(connection, documents)
    found = connection.execute(
        sa.select(message.c.id, message.c.conversation).where(message.c.id.in_(ids_in_parameter("ids"))),
        {"ids": sorted(given | context)},
    ).all()
    elsewhere = sorted(one.id for one in found if one.conversation != row.conversation)
    listed = elsewhere[-MAX_LISTED:]
    lost = (len(given | context) - len(found)) + (len(facts) - len(found_facts))
    return Grounds(
        facts=found_facts[-MAX_LISTED:],
        messages=_messages(connection, listed, given),
        documents=found_documents[-MAX_LISTED:],
        tools=_tools(connection, number),
        models=_models(connection, number),
        gone=row.erased_sources + lost + len(documents) - len(found_documents),
        here=len(found) - len(elsewhere),
        more=len(elsewhere) - len(listed),
        asked_model=str(json.loads(row.usage).get(ASKED, "")),
    )


def _facts(connection: sa.Connection, ids: Collection[int]) -> list[UsedFact]:
    columns = (fact.c.value, fact.c.key, fact.c.audience, fact.c.person, fact.c.time, fact.c.is_valid)
    query = (
        sa.select(*columns, message.c.permalink)
        .select_from(fact.outerjoin(message, message.c.id == fact.c.source_message))
        .where(fact.c.id.in_(ids_in_parameter("ids")))
        .order_by(fact.c.id)
    )
    found = connection.execute(query, {"ids": sorted(ids)}) if ids else ()
    return [
        UsedFact(row.value, row.audience, row.person, row.time, row.permalink or "", is_valid=row.is_valid)
        for row in found
    ]


def _messages(connection: sa.Connection, ids: Collection[int], given: Collection[int]) -> list[UsedMessage]:
    query = sa.select(message).where(message.c.id.in_(ids_in_parameter("ids"))).order_by(message.c.id)
    found = connection.execute(query, {"ids": sorted(ids)}) if ids else ()
    return [
        UsedMessage(
            row.text,
            row.audience,
            row.person,
            row.conversation,
            row.time,
            row.drawn_from,
            given=row.id in given,
            by_bot=row.author == Author.BOT,
            link=row.permalink or "",
        )
        for row in found
    ]


def _documents(connection: sa.Connection, ids: Collection[int]) -> list[UsedDocument]:
    query = sa.select(document).where(document.c.id.in_(ids_in_parameter("ids"))).order_by(document.c.id)
    found = connection.execute(query, {"ids": sorted(ids)}) if ids else ()
    return [UsedDocument(row.name, row.audience, row.address or row.link, row.time) for row in found]


def _tools(connection: sa.Connection, number: int) -> list[UsedTool]:
    columns = (tool_call.c.tool, tool_call.c.outcome, tool_call.c.decision, tool_call.c.account)
    made = sa.select(*columns).where(tool_call.c.turn == number, tool_call.c.effect != "")
    found = connection.execute(made.order_by(tool_call.c.id).limit(MAX_LISTED))
    return [UsedTool(row.tool, row.outcome, row.decision, row.account) for row in found]


def _models(connection: sa.Connection, number: int) -> list[UsedModel]:
    unpriced = sa.func.count().filter(model_call.c.cost.is_(None))
    query = (
        sa.select(model_call.c.model, sa.func.count(), sa.func.sum(model_call.c.cost), unpriced)
        .where(model_call.c.turn == number, model_call.c.kind == TURN)
        .group_by(model_call.c.model)
        .order_by(sa.func.min(model_call.c.number))
    )
    found = connection.execute(query)
    return [UsedModel(name, calls, None if free or cost is None else int(cost)) for name, calls, cost, free in found]


def newest(connection: sa.Connection, person: str, channel: str) -> Answered | None:
    query = sa.select(turn.c.id).where(turn.c.person == person, turn.c.id.in_(sa.select(page.c.turn)))
    if channel:
        query = query.where(turn.c.channel == channel)
    found = connection.execute(query.order_by(turn.c.id.desc()).limit(1)).scalar_one_or_none()
    return None if found is None else by_turn(connection, found)


class SqlExplanations(SqlStore):
    newest = reads(newest)

    async def reply(self, turn: int) -> Answered | None:
        return await self.database.read(by_turn, turn)

    async def grounds(self, turn: int) -> Grounds | None:
        return await self.database.read(grounds, turn)
