"""A channel that fewer can read than before: what it holds for the whole team becomes its own, and stays so.

Rules
  Moved are the channel's messages, what is known only from them, and the conversations, whose summaries begin anew.
  What a message means to a search stays: its entries name no audience. Documents of the channel move, too; until
  their index has followed, which a job sees to, they are not found. Nothing becomes wider, ever.
  What came from two closed channels belongs to neither, and goes.
  An answer that runs there starts anew: it was thought out for more readers, or with more than may be used now.
  Whoever learns meanwhile from what moved finds another revision, or no message to learn from, and begins anew.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, bindparam, delete, insert, select, union, update

from agent.memory.audience import AudienceKind, Place, label
from agent.memory.profile import LEARNING, Partition
from store import job_queue, model_calls, rows
from store.memory import profiles
from store.search import passages
from store.tables import (
    RUNNING,
    WAITING,
    consent,
    conversation,
    document,
    fact,
    fact_ground,
    job,
    message,
    open_question,
    profile,
    profile_entry,
    profile_source,
    turn,
    working_item,
    workspace,
)

# Made once: a channel without anything public is looked at after each start.
_PUBLIC: Final = union(
    *(
        select(table.c.audience)
        .where(table.c.channel == bindparam("channel"), table.c.audience.like(f"{AudienceKind.TEAM}:%"))
        .distinct()
        for table in (message, document)
    )
)


def restrict_place(connection: Connection, channel: str, place: Place, now: datetime) -> int:
    """Let what this channel holds for its team belong to `place`; how many messages that were."""
    wide = tuple(connection.execute(_PUBLIC, {"channel": channel}).scalars())
    if not wide or not place.is_closed:
        return 0
    own = label(place.audience)
    _set_back(connection, channel, wide, place, now)
    held = message.c.channel == channel, message.c.audience.in_(wide)
    threads = list(connection.execute(select(message.c.conversation).where(*held).distinct()).scalars())
    learning = _to_learn(connection, channel, wide)
    moved = connection.execute(update(message).where(*held).values(audience=own)).rowcount
    for here in threads:
        its = conversation.c.id == here, conversation.c.audience.in_(wide)
        connection.execute(update(conversation).where(*its).values(audience=own, summary="{}"))
        kept = working_item.c.conversation == here, working_item.c.audience.in_(wide)
        connection.execute(update(working_item).where(*kept).values(audience=own))
    _move_facts(connection, channel, wide, own)
    _move_entries(connection, channel, wide, own)
    passages.narrow(connection, channel, wide, own)
    for person, before in learning:
        _learn_there(connection, Partition(person, before), Partition(person, own), now)
    return moved


def _set_back(connection: Connection, channel: str, wide: Collection[str], place: Place, now: datetime) -> None:
    """First of all: whoever ends one of these turns meanwhile is either waited for, or has lost its claim."""
    asked = select(message.c.turn).where(message.c.channel == channel, message.c.audience.in_(wide))
    open_ = turn.c.state.in_((WAITING, RUNNING)), turn.c.channel == channel, turn.c.id.in_(asked)
    for id_, state, payload in connection.execute(select(turn.c.id, turn.c.state, turn.c.payload).where(*open_)).all():
        this = turn.c.id == id_
        model_calls.settle(connection, this, now)
        anew = rows.restarted(turn.c.epoch + 1) if state == RUNNING else {"progress": "", "run_at": None}
        told = _within(payload, place.within_team)
        connection.execute(update(turn).where(this, turn.c.state == state).values(payload=told, **anew))
        connection.execute(delete(workspace).where(workspace.c.task_id == id_))
        connection.execute(delete(consent).where(consent.c.turn == id_))
        connection.execute(delete(open_question).where(open_question.c.turn == id_))


def _within(payload: str, team: str | None) -> str:
    kept = rows.read_json(payload)
    return rows.json_text({**kept, "within_team": team}) if isinstance(kept, dict) else payload


def _to_learn(connection: Connection, channel: str, wide: Collection[str]) -> list[tuple[str, str]]:
    """Whose messages of which audience wait there to be learned from."""
    waiting = message.c.channel == channel, message.c.audience.in_(wide), message.c.to_learn
    found = connection.execute(select(message.c.person, message.c.audience).where(*waiting).distinct())
    return [(row.person, row.audience) for row in found]


def _learn_there(connection: Connection, before: Partition, after: Partition, now: datetime) -> None:
    """Its job goes on with whatever is left; what moved needs one of its own, with the same authority."""
    theirs = select(job.c.payload, job.c.run_at).where(job.c.kind == LEARNING, job.c.key == before.key)
    found = connection.execute(theirs.limit(1)).first()
    payload, run_at = ("", now) if found is None else (found.payload, found.run_at)
    values = {"payload": payload, "run_at": run_at, "person": after.person, "conversation": ""}
    job_queue.schedule(connection, LEARNING, after.key, values)


def _move_facts(connection: Connection, channel: str, wide: Collection[str], own: str) -> None:
    """Those that were said there, and whatever rests on one of them."""
    said = select(message.c.id).where(message.c.channel == channel, message.c.audience == own)
    moving = update(fact).where(fact.c.audience.in_(wide)).values(audience=own)
    connection.execute(moving.where(fact.c.source_message.in_(said)))
    closed = fact.alias("closed")
    resting = (
        select(fact_ground.c.fact).join(closed, closed.c.id == fact_ground.c.ground).where(closed.c.audience == own)
    )
    while connection.execute(moving.where(fact.c.id.in_(resting))).rowcount:
        pass


def _move_entries(connection: Connection, channel: str, wide: Collection[str], own: str) -> None:
    said = select(message.c.id).where(message.c.channel == channel, message.c.audience == own)
    from_there = profile_entry.c.id.in_(select(profile_source.c.entry).where(profile_source.c.message.in_(said)))
    elsewhere = profile_entry.c.audience.like(f"{AudienceKind.GROUP}:%"), profile_entry.c.audience != own
    torn = connection.execute(select(profile_entry.c.id).where(from_there, *elsewhere)).scalars()
    profiles.remove(connection, frozenset(torn))
    moving = from_there, profile_entry.c.audience.in_(wide)
    people = list(connection.execute(select(profile_entry.c.person).where(*moving).distinct()).scalars())
    connection.execute(update(profile_entry).where(*moving).values(audience=own))
    for person in people:
        whose = profile.c.person == person
        known = select(profile).where(whose, profile.c.audience.in_((own, *wide)))
        found = {row["audience"]: dict(row) for row in connection.execute(known).mappings()}
        if own not in found:
            counters = {"interaction_count": 0, "synthesised_count": 0, "revision": 0}
            opened = next(iter(found.values())) | counters | {"audience": own}
            connection.execute(insert(profile).values(**opened))
        changed = profile.c.audience.in_((own, *wide))
        connection.execute(update(profile).where(whose, changed).values(revision=profile.c.revision + 1))
