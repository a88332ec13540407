"""Which rows a forgetting plan reaches, as conditions. Pure.

Above: `store.forgetting.erase` deletes by them, `store.forgetting.proof` searches by them. Below: `store.tables`,
`agent.memory.forgetting`.
"""

from sqlalchemy import ColumnElement, Table, and_, exists, select, true

from agent.memory.forgetting import ForgettingPlan
from store.tables import message, note


def of_plan(plan: ForgettingPlan, table: Table) -> ColumnElement[bool]:
    """For a table with a person and a conversation: what the person wrote there, and what answered them."""
    within = true() if plan.everything else table.c.conversation == plan.conversation
    return and_(table.c.person == plan.person, within)


def notes_of(plan: ForgettingPlan) -> ColumnElement[bool]:
    """The person's notes from messages in reach, as long as those messages stand; everywhere: all their notes."""
    sources = select(message.c.id).where(of_plan(plan, message))
    return and_(note.c.person == plan.person, true() if plan.everything else note.c.source_message.in_(sources))


def orphaned_notes_of(plan: ForgettingPlan) -> ColumnElement[bool]:
    """The person's notes in reach once the messages are gone: those whose source no longer stands."""
    orphaned = and_(note.c.source_message.is_not(None), ~exists().where(message.c.id == note.c.source_message))
    return and_(note.c.person == plan.person, true() if plan.everything else orphaned)
