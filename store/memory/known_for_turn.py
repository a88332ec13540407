"""The context of a new turn, read at once.

Rule: one transaction for all of it. It is one snapshot, so that what is forgotten meanwhile is in all parts or in
none; and a user waits, for whom each further transaction costs more than a statement.
"""

from functools import cache
from typing import Any

import sqlalchemy as sa

from agent.incoming import Incoming
from agent.memory.audience import by_account
from agent.memory.profile import UserProfile
from agent.state import LastActions
from agent.turn_records import Known
from store import conversations, sharing, summaries, working_sets
from store.databases.database import SqlStore, StorableText, reads
from store.last_actions import HAS_ACTIONS, last_actions
from store.memory import fact_store
from store.memory.profiles import readable
from store.memory_tables import fact, profile_entry
from store.message_tables import conversation, participant


@cache
def _beside(accounts: int) -> sa.Select[*tuple[Any, ...]]:
    """The conversation's summary; whether the person wrote in another one; whether something is shared with those who
    read; and whether there may be any facts, entries of a profile, scratch values, reminders or actions: where there
    are none, they are not looked for. Built once for each number of accounts: an expanding parameter would be expanded
    each time.
    """
    theirs = [sa.bindparam(f"account{number}", type_=StorableText) for number in range(accounts)]
    return sa.select(
        sa.select(conversation.c.summary).where(conversation.c.id == sa.bindparam("here")).scalar_subquery(),
        sa.exists().where(participant.c.person.in_(theirs), participant.c.conversation != sa.bindparam("here")),
        sharing.SOMETHING_SHARED,
        sa.exists().where(fact.c.person.in_([sa.literal(""), *theirs])),
        sa.exists().where(profile_entry.c.person.in_(theirs)),
        working_sets.HAS_ITEMS,
        conversations.HAS_REMINDED,
        HAS_ACTIONS,
    )


def known_for_turn(
    connection: sa.Connection,
    incoming: Incoming,
    audiences: frozenset[str],
    before_turn: int,
    messages: int,
    actions: int,
) -> Known:
    thread, person = incoming.conversation, incoming.person.id
    past = conversations.history(connection, thread, before_turn, messages)
    accounts = [*by_account(person, audiences)]
    values = {
        "here": thread,
        **{f"account{number}": account for number, account in enumerate(accounts)},
        "audiences": sorted(audiences),
        "now": incoming.time,
        **conversations.reminded_values(incoming),
    }
    beside = connection.execute(_beside(len(accounts)), values).one()
    stored_summary, wrote_elsewhere, something_shared, has_facts, has_entries, has_items, was_reminded, acted = beside
    summary, covered, summary_words = summaries.summary(stored_summary)
    recent_actions = LastActions()
    if past and summary.is_empty and acted:
        recent_actions = last_actions(connection, thread, person, audiences, before_turn, actions)
    return Known(
        past,
        summary,
        recent_actions,
        fact_store.relevant(connection, person, audiences, incoming.text, thread, [item.id for item in past])
        if has_facts
        else [],
        readable(connection, person, audiences) if has_entries else UserProfile(person),
        bool(wrote_elsewhere),
        working_sets.working_items(connection, thread, audiences, incoming.time) if has_items else [],
        covered,
        bool(something_shared),
        conversations.reminded(connection, incoming, audiences) if was_reminded else [],
        summary_words,
    )


class SqlKnowledge(SqlStore):
    for_turn = reads(known_for_turn)
