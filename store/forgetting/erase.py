"""Erasing: everything that falls with a plan, in one transaction. Nothing of it is proved here.

Above: `store.forgetting.forgetting`. Below: `store.forgetting.doomed`, derived, unlearn, replies, erased; index,
people, spending, tables; `agent.memory.forgetting`.

What falls: the messages that the plan reaches and the replies to them, whatever is keyed by them, their turns (a
waiting or running one is thereby cancelled: its worker gets LeaseLost) with action records and workspaces; replies that
quote them; what was learned from them; what other turns made of them (`store.forgetting.derived`); the summary of each
touched conversation; jobs that name them; an empty conversation; for everything, the person and what they chose.
Platform ids stay as keyed hashes, and what model calls took without turn and channel.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from sqlalchemy import Column, Connection, and_, delete, exists, false, func, insert, or_, select, update

from agent.memory.forgetting import (
    ERASE_ENTRIES,
    GOES_ON,
    PAUSED,
    About,
    During,
    Everything,
    ForgettingPlan,
    Gone,
    OneThread,
)
from agent.records import Author
from store import json_columns, spending
from store.forgetting import derived, replies, unlearn
from store.forgetting.batches import among, handfuls
from store.forgetting.doomed import KEYED_BY_MESSAGE, Doomed, reached
from store.forgetting.erased import ErasedIds
from store.memory import facts, people
from store.search import index
from store.tables import (
    action_record,
    conversation,
    erased,
    fact,
    job,
    message,
    meta,
    page,
    participant,
    person,
    preference,
    profile,
    turn,
    verdict,
    working_item,
    workspace,
)

SWEEP_OWED: Final = "sweep_owed"


@dataclass(frozen=True, slots=True)
class Wishes:
    """How much at once (None: all of it), whether the bot's replies should be deleted in the platform, too, and whether
    what may have been made of it falls.
    """

    limit: int | None = None
    replies: bool = False
    related: bool = False


@dataclass(frozen=True, slots=True)
class Erasure:
    """What an erasing took away: the texts for the search for proof, counts for the receipt."""

    doomed: Doomed
    texts: list[str]
    summaries: list[str]
    touched: frozenset[str]
    readers: list[int]
    counts: dict[str, int] = field(default_factory=dict[str, int])
    replies: int = 0


def erase(
    connection: Connection,
    plan: ForgettingPlan,
    erased_ids: ErasedIds,
    now: datetime,
    *,
    owes_sweep: bool,
    wishes: Wishes = Wishes(),
) -> Erasure:
    """Carry out `plan`. Nobody else may write meanwhile."""
    doomed = reached(connection, plan, wishes.limit, related=wishes.related)
    jobs, planned = _jobs(connection, plan, doomed)
    texts, summaries = _texts(connection, doomed, planned)
    readers = index.readers(connection, *doomed.conversations)
    deleting = replies.delete_later(connection, doomed, now) if wishes.replies else 0
    _keep_hashes(connection, doomed, erased_ids, now)
    for where in among(turn.c.id, doomed.turns):
        spending.settle(connection, where, now)
    actions, elsewhere = derived.drop_records(connection, doomed)
    derived.set_back(connection, doomed, texts, now)
    counts = {"actions": actions, "jobs": drop(connection, job.c.id, jobs)}
    _unindex(connection, plan, doomed)
    _drop_turns(connection, doomed, counts)
    counts["facts"] = sum(facts.remove_rows(connection, some) for some in handfuls(doomed.facts))
    counts["profile"] = unlearn.erase(connection, plan, doomed.entries, doomed.people)
    drop_kept(connection, doomed)
    counts["messages"] = drop(connection, message.c.id, doomed.said)
    counts["turns"] = drop(connection, turn.c.id, doomed.turns)
    _part(connection, plan, doomed)
    touched = doomed.conversations | elsewhere
    derived.drop_waiting(connection, touched, doomed.said)
    counts["summaries"] = derived.drop_summaries(connection, touched)
    _drop_empty(connection, doomed.conversations)
    counts["conversations"] = len(doomed.conversations)
    _drop_people(connection, plan, counts, whole=doomed.whole)
    if owes_sweep:
        owe(connection)
    return Erasure(doomed, texts, summaries, touched, readers, counts, deleting)


def owed(connection: Connection) -> bool:
    """Do bytes still have to be wiped?"""
    return connection.execute(select(meta.c.name).where(meta.c.name == SWEEP_OWED)).first() is not None


def owe(connection: Connection) -> None:
    """Bytes have to be wiped."""
    settle(connection)
    connection.execute(insert(meta).values(name=SWEEP_OWED, value=b""))


def settle(connection: Connection) -> None:
    """All bytes have been wiped."""
    connection.execute(delete(meta).where(meta.c.name == SWEEP_OWED))


def _jobs(connection: Connection, plan: ForgettingPlan, doomed: Doomed) -> tuple[list[int], list[str]]:
    """The jobs that fall, and the words that they hold: of the plan's person or place, or with an erased text in them.

    What the person deleted a moment ago goes at once, whatever they ask for: nobody could say whether it is part of it.
    """
    match plan:
        case OneThread(person=who, conversations=there):
            deleted = job.c.kind == ERASE_ENTRIES
            named = and_(job.c.person == who, or_(deleted, job.c.conversation.in_(sorted(there))))
        case During(person=who) | About(person=who):
            named = and_(job.c.person == who, job.c.kind == ERASE_ENTRIES)
        case Everything(person=who):
            named = job.c.person == who
        case Gone(conversations=gone, sources=sources):
            theirs = (job.c.person.startswith(f"{source}:", autoescape=True) for source in sorted(sources))
            named = or_(job.c.conversation.in_(sorted(gone)), *theirs)
        case _:
            named = false()
    texts = [one.text for one in doomed.said.values() if one.text]
    near = or_(named, *among(job.c.person, doomed.people))
    held = select(job.c.id, job.c.kind, job.c.payload, named).where(near)
    found: list[tuple[int, list[str]]] = []
    for id_, kind, payload, is_named in connection.execute(held):
        waits = kind == ERASE_ENTRIES
        words = derived.waiting_words(payload) if waits else list(json_columns.strings(payload))
        if is_named or derived.contained(words, texts):
            found.append((id_, words))
    return [id_ for id_, _ in found], [word for _, words in found for word in words]


def _texts(connection: Connection, doomed: Doomed, planned: list[str]) -> tuple[list[str], list[str]]:
    """What was said or kept, and what the summaries of the touched conversations and the profiles said."""
    said = [one.text for one in doomed.said.values()]
    kept = [
        text
        for where in among(fact.c.id, doomed.facts)
        for row in connection.execute(select(fact.c.key, fact.c.value).where(where))
        for text in row
    ]
    made = [*derived.summaries(connection, doomed.conversations), *unlearn.texts(connection, doomed.entries)]
    return list(dict.fromkeys(filter(None, [*said, *kept, *planned]))), list(dict.fromkeys(filter(None, made)))


def _keep_hashes(connection: Connection, doomed: Doomed, erased_ids: ErasedIds, now: datetime) -> None:
    known = select(
        turn.c.id, turn.c.source, turn.c.event_id, turn.c.channel, turn.c.message_id, turn.c.pages, turn.c.reply_ref
    )
    hashes: set[str] = set()
    for where in among(turn.c.id, doomed.turns | doomed.worn):
        for id_, source, event_id, channel, message_id, *shown in connection.execute(known.where(where)):
            hashes.update((erased_ids.of_event(source, event_id), erased_ids.of_post(channel, message_id)))
            if id_ in doomed.turns:
                hashes.update(erased_ids.of_page(channel, page) for ref in shown for page in json_columns.pages(ref))
    for where in among(erased.c.hash, frozenset(hashes)):
        hashes.difference_update(connection.execute(select(erased.c.hash).where(where)).scalars().all())
    if hashes:
        connection.execute(insert(erased), [{"hash": hash_, "time": now} for hash_ in sorted(hashes)])


def _unindex(connection: Connection, plan: ForgettingPlan, doomed: Doomed) -> None:
    for some in handfuls(doomed.said.keys()):
        index.remove(connection, some)
    if isinstance(plan, Everything) and (number := people.number_of(connection, plan.person)) is not None:
        index.remove_all(connection, number)


def _drop_turns(connection: Connection, doomed: Doomed, counts: dict[str, int]) -> None:
    """What belongs to the turns that fall, or to a reply that falls; the turns themselves go after their messages."""
    counts["workspaces"] = drop(connection, workspace.c.task_id, doomed.turns)
    silent = {one.turn for one in doomed.said.values() if one.author == Author.BOT} | doomed.turns
    counts["actions"] += drop(connection, action_record.c.turn, silent)
    for column in (page.c.turn, verdict.c.turn):
        drop(connection, column, silent)
    for where in among(turn.c.id, doomed.turns):
        spending.detach(connection, select(turn.c.id).where(where))
    for id_ in doomed.worn:
        nameless = {"event_id": f"erased:{id_}", "message_id": f"erased:{id_}"}
        connection.execute(update(turn).where(turn.c.id == id_).values(**nameless))


def _part(connection: Connection, plan: ForgettingPlan, doomed: Doomed) -> None:
    """Who has not a word left in a conversation is no part of it, and finds nothing of it."""
    wrote = and_(
        message.c.conversation == participant.c.conversation,
        message.c.person == participant.c.person,
        message.c.author == Author.PERSON,
    )
    left = select(participant.c.conversation, participant.c.person).where(~exists().where(wrote))
    places = list(among(participant.c.conversation, doomed.conversations))
    if isinstance(plan, Everything):
        places.append(participant.c.person == plan.person)
    for where in places:
        for conversation_id, person_id in connection.execute(left.where(where)).all():
            if (number := people.number_of(connection, person_id)) is not None:
                index.remove_thread(connection, conversation_id, number)
            gone = and_(participant.c.conversation == conversation_id, participant.c.person == person_id)
            connection.execute(delete(participant).where(gone))


def _drop_empty(connection: Connection, conversations: frozenset[str]) -> None:
    """Those in which nothing is said any more."""
    spoken = exists().where(message.c.conversation == conversation.c.id)
    waits = exists().where(turn.c.conversation == conversation.c.id)
    for where in among(conversation.c.id, conversations):
        connection.execute(delete(conversation).where(where, ~spoken, ~waits))
    _go_on_nowhere(connection, conversations)


def _go_on_nowhere(connection: Connection, conversations: frozenset[str]) -> None:
    """What no longer goes on in a channel: one of these, and what was begun after the last of them, still wordless."""
    stands = exists().where(conversation.c.id == preference.c.value)
    for where in among(preference.c.value, conversations):
        connection.execute(delete(preference).where(where, ~stands))
    channel = func.substr(preference.c.owner, len(GOES_ON) + 1)
    within = func.substr(conversation.c.id, 1, func.length(channel) + 1) == channel + ":"
    left = exists().where(or_(conversation.c.id == channel, within))
    channels = {name for one in conversations for name in (one, one.rpartition(":")[0])}
    for where in among(preference.c.owner, {f"{GOES_ON}{name}" for name in channels}):
        connection.execute(delete(preference).where(where, ~left))


def _drop_people(connection: Connection, plan: ForgettingPlan, counts: dict[str, int], *, whole: bool) -> None:
    """Who has nothing left, and what they chose."""
    match plan:
        case Everything(who):
            people_ = [who]
        case Gone(sources=sources) if whole and sources:
            theirs = (person.c.id.startswith(f"{source}:", autoescape=True) for source in sorted(sources))
            people_ = connection.execute(select(person.c.id).where(or_(*theirs))).scalars().all()
        case _:
            return
    counts |= {"preferences": 0, "people": 0}
    for who in people_:
        connection.execute(delete(workspace).where(workspace.c.person == who))
        connection.execute(delete(profile).where(profile.c.person == who))
        connection.execute(delete(verdict).where(verdict.c.person == who))
        chosen = delete(preference).where(preference.c.owner == who, preference.c.value != PAUSED)
        counts["preferences"] += connection.execute(chosen).rowcount
        counts["people"] += connection.execute(delete(person).where(person.c.id == who)).rowcount


def drop_kept(connection: Connection, doomed: Doomed) -> None:
    """Delete what holds the words of messages that fall in another form: their vectors, and scratch values."""
    for column in KEYED_BY_MESSAGE:
        drop(connection, column, doomed.said)
    drop(connection, working_item.c.id, doomed.scratch)


def drop(connection: Connection, column: Column[int], ids: Collection[int]) -> int:
    """Delete the rows in which the column holds one of these ids; how many there were."""
    return sum(connection.execute(delete(column.table).where(where)).rowcount for where in among(column, ids))
