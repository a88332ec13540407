"""Which rows a forgetting plan reaches, as conditions. Pure.

Above: `store.forgetting.erase` deletes by them, `store.forgetting.proof` searches by them. Below: `store.tables`,
`agent.memory.forgetting`.
"""

from sqlalchemy import ColumnElement, Table, and_, exists, or_, select, true

from agent.memory.forgetting import ForgettingPlan
from store.tables import fact, message


def of_plan(plan: ForgettingPlan, table: Table) -> ColumnElement[bool]:
    """For a table with a person and a conversation: what the person wrote there, and what answered them."""
    within = true() if plan.everything else table.c.conversation == plan.conversation
    return and_(table.c.person == plan.person, within)


def facts_of(plan: ForgettingPlan) -> ColumnElement[bool]:
    """The facts from messages in reach, as long as those messages stand; everywhere: all of the person's as well."""
    said = fact.c.source_message.in_(select(message.c.id).where(of_plan(plan, message)))
    return or_(said, fact.c.person == plan.person) if plan.everything else said


def orphaned_facts_of(plan: ForgettingPlan) -> ColumnElement[bool]:
    """The person's facts in reach once the messages are gone: those whose source no longer stands."""
    orphaned = and_(fact.c.source_message.is_not(None), ~exists().where(message.c.id == fact.c.source_message))
    return and_(fact.c.person == plan.person, true() if plan.everything else orphaned)
