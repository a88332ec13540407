"""The rows that are erased with a forgetting plan, found before anything is deleted.

Rules
  The reply of a turn is erased with its question. A turn is erased with its last message.
  Replies elsewhere that repeat an erased message are erased as well, and replies that repeat those
  (`store.forgetting.repetitions`).
  A question that a button below an erased reply asked is erased as well.
  A message that was only in the history of another person's reply does not count as a source of it.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any, Final, assert_never

from sqlalchemy import Column, Connection, Row, exists, func, select, update

from agent.memory import forgetting_plans as plans
from agent.stored_messages import Author
from store.channels import question_of_turn
from store.file_tables import saved_file_source
from store.forgetting.repetitions import NOTHING_REPEATED, KnownErasures, RepetitionFinder
from store.forgetting.selection import (
    ForgottenMessage,
    Watch,
    follow_ups_of,
    in_batches,
    messages_in,
    questions_of,
    rows_in,
    schedules_from,
    scratch_from,
    select_rows,
    unwatched,
    values_in,
)
from store.memory import fact_store, profiles
from store.memory_tables import fact, profile, profile_entry, profile_source
from store.message_tables import embedding, message
from store.search.text import passages, plain_words
from store.turn_tables import turn
from store.working_sets import working_item

# Forgetting in profiles.
#
# Rules
#   An entry is erased with any of its sources, because it is unknown which of its words came from which. Its other
#   sources wait to be learned from again. An entry that quotes an erased message of its audience is erased as well,
#   unless its own sources say the same: a model may have named the wrong source.


def entries_reached(connection: Connection, messages: Mapping[int, ForgottenMessage]) -> frozenset[int]:
    """The entries that are erased with these messages; called before the messages are deleted."""
    drawn = frozenset(values_in(connection, profile_source.c.entry, profile_source.c.message, messages.keys()))
    owners = {item.person for item in messages.values()}
    entries = rows_in(connection, select(profile_entry), profile_entry.c.person, owners)
    quoting = _quoting([row for row in entries if row.id not in drawn], messages.values())
    return drawn | {id_ for id_, quoted in quoting.items() if not quoted <= _own_words(connection, id_, quoted)}


def entry_texts(connection: Connection, entries: Collection[int]) -> list[str]:
    return list(values_in(connection, profile_entry.c.text, profile_entry.c.id, entries))


def erase_entries(
    connection: Connection, plan: plans.ForgettingPlan | None, entries: frozenset[int], owners: frozenset[str]
) -> int:
    """Delete these entries; returns how many there were. A concurrent learner of their owners finds another revision.

    `plan` None: their source messages remain, with another text.
    """
    entry_owners = values_in(connection, profile_entry.c.person, profile_entry.c.id, entries)
    for where in in_batches(profile.c.person, owners.union(entry_owners)):
        connection.execute(update(profile).where(where).values(revision=profile.c.revision + 1))
    if not isinstance(plan, plans.Everything):
        sources = values_in(connection, profile_source.c.message, profile_source.c.entry, entries)
        for where in in_batches(message.c.id, set(sources)):
            connection.execute(update(message).where(where, ~message.c.passed_over).values(to_learn=True))
    return profiles.remove_entries(connection, entries)


def orphaned_entries(connection: Connection, people: Collection[str]) -> list[str]:
    """The texts of these people's entries that should have been erased with their sources."""
    source_exists = exists().where(message.c.id == profile_source.c.message)
    lost = profile_entry.c.id.in_(select(profile_source.c.entry).where(~source_exists))
    found = rows_in(connection, select(profile_entry.c.text).where(lost), profile_entry.c.person, people)
    return [row.text for row in found]


def _quoting(entries: Collection[Row[Any]], messages: Collection[ForgottenMessage]) -> dict[int, set[str]]:
    """The passages of these messages that entries of their audiences quote, by entry. Each message is first compared
    with all entries of its audience at once, because nearly none is quoted.
    """
    by_place: dict[tuple[str, str], dict[int, str]] = {}
    for row in entries:
        by_place.setdefault((row.person, row.audience), {})[row.id] = plain_words(row.text)
    together = {place: "\n".join(words.values()) for place, words in by_place.items()}
    quoting: dict[int, set[str]] = {}
    for item in messages:
        place = item.person, item.audience
        if place not in by_place:
            continue
        erased = plain_words(item.text)
        if passages(together[place], erased) or erased in by_place[place].values():
            for id_, words in by_place[place].items():
                if quoted := passages(words, erased):
                    quoting.setdefault(id_, set()).update(quoted)
    return quoting


def _own_words(connection: Connection, entry: int, quoted: set[str]) -> set[str]:
    """Those of the passages that occur in the entry's own sources."""
    sources = select(message.c.text).join(profile_source, profile_source.c.message == message.c.id)
    own = [plain_words(text) for text in connection.execute(sources.where(profile_source.c.entry == entry)).scalars()]
    return {piece for piece in quoted if any(piece in text for text in own)}


# The columns that refer to a message in tables that hold only its words in another form: their rows are deleted with
# it.
KEYED_BY_MESSAGE: Final[tuple[Column[int], ...]] = (working_item.c.message, embedding.c.message)


@dataclass(frozen=True, slots=True)
class ErasureSet:
    """All rows to be erased with a plan. `trimmed` turns stay, but lose the message that they began with. `complete`:
    nothing in the plan's reach was left for later.
    """

    messages: Mapping[int, ForgottenMessage]
    turns: frozenset[int]
    trimmed: frozenset[int]
    facts: frozenset[int]
    entries: frozenset[int]
    complete: bool
    scratch: frozenset[int] = frozenset()
    """The items of working sets that were drawn from erased messages."""
    repetitions: frozenset[int] = frozenset()
    """Those of `messages` that only repeat what the plan names."""
    related: Mapping[int, ForgottenMessage] = field(default_factory=dict[int, ForgottenMessage])
    """Messages that may repeat it; they stay unless the person decides otherwise."""
    files: frozenset[int] = frozenset()
    """The files that code saved."""
    schedules: frozenset[int] = frozenset()
    related_schedules: frozenset[int] = frozenset()
    """Schedules that turns of `related` messages made; they stay with these."""

    @property
    def conversations(self) -> frozenset[str]:
        return frozenset(item.conversation for item in self.messages.values())

    @property
    def people(self) -> frozenset[str]:
        return frozenset(item.person for item in self.messages.values())


def find_erasure_set(
    connection: Connection,
    plan: plans.ForgettingPlan,
    limit: int | None = None,
    *,
    related: bool = False,
    watch: Watch = unwatched,
) -> ErasureSet:
    """The rows to be erased with the plan; `limit`: only with that many of its messages, the oldest.

    `related`: messages that may repeat it are erased as well.
    """
    named = select_rows(connection, plan, limit, watch)
    messages = dict(named.messages) | _replies(connection, named.messages)
    watch(len(messages))
    # Facts and entries that the plan names may come from messages that stay: then it is unknown what was earlier than
    # all.
    names_memory = bool(named.facts or named.entries)
    since, first = (None, 0) if names_memory else (earliest(messages), min(messages, default=0))
    finder = RepetitionFinder(connection, _asker(plan), since, first, watch)
    repetitions, related_messages, scratch = (
        dict[int, ForgottenMessage](),
        dict[int, ForgottenMessage](),
        frozenset[int](),
    )
    fresh = KnownErasures(
        messages, facts_of(connection, messages, named.facts), named.entries | entries_reached(connection, messages)
    )
    facts, entries, schedules = fresh.facts, fresh.entries, named.schedules
    # Nobody wants what these say to be forgotten: the schedules that they made stay, and so does what people asked with
    # the buttons below them.
    keeps_what_follows = isinstance(plan, plans.Expired | plans.OneReply)
    in_doubt = False  # everything certain is known, and what only may repeat it is erased as well
    while True:
        if fresh.messages or fresh.facts or fresh.entries:
            found = finder.of(fresh, messages, loosely=in_doubt)
            new = found.erased
            related_messages |= {} if in_doubt else found.related
        elif related and not in_doubt:
            in_doubt, found = True, NOTHING_REPEATED
            new = _all_related(connection, finder, related_messages, messages)
        else:
            break
        if not keeps_what_follows:
            made = (found.schedules | schedules_from(connection, {**fresh.messages, **new})) - schedules
            schedules |= made
            new |= questions_of(connection, made) | follow_ups_of(connection, {**fresh.messages, **new})
        new |= _replies(connection, new)
        new = {id_: item for id_, item in new.items() if id_ not in messages}
        repetitions |= new
        messages |= new
        scratch |= found.scratch
        new_facts = facts_of(connection, new, found.facts) - facts
        fresh = KnownErasures(new, new_facts, entries_reached(connection, new) - entries)
        facts, entries = facts | fresh.facts, entries | fresh.entries
    turns, trimmed = _emptied(connection, messages)
    doubtful = {} if related else _all_related(connection, finder, related_messages, messages)
    # Scratch values and files of code last for days: those of a turn whose reply only may repeat something go, too.
    replies = (item for item in messages.values() if item.author == Author.BOT)
    scratch |= scratch_from(connection, chain(replies, doubtful.values()))
    return ErasureSet(
        messages,
        turns=turns | named.turns,
        trimmed=trimmed - named.turns,
        facts=facts,
        entries=entries,
        complete=named.complete,
        scratch=scratch,
        repetitions=frozenset(repetitions),
        files=named.files | files_reached(connection, {**doubtful, **messages}),
        schedules=schedules,
        related=doubtful,
        related_schedules=frozenset() if keeps_what_follows else schedules_from(connection, doubtful) - schedules,
    )


def _all_related(
    connection: Connection,
    finder: RepetitionFinder,
    related: Mapping[int, ForgottenMessage],
    messages: Mapping[int, ForgottenMessage],
) -> dict[int, ForgottenMessage]:
    """The messages that may repeat `messages`, besides these: `related`, the next replies below, and what was drawn
    from them for certain. What only may repeat one of them is left out: each such step leads further away.
    """
    found, fresh = dict[int, ForgottenMessage](), {**related, **finder.below(messages).related}
    while fresh:
        fresh |= _replies(connection, fresh)
        fresh = {id_: item for id_, item in fresh.items() if id_ not in {*messages, *found}}
        found |= fresh
        falling = KnownErasures(fresh, facts_of(connection, fresh), entries_reached(connection, fresh))
        fresh = finder.of(falling, {*messages, *found}, loosely=True).erased
    return found


def facts_of(
    connection: Connection, messages: Mapping[int, ForgottenMessage], named: frozenset[int] = frozenset()
) -> frozenset[int]:
    """The facts that come from these messages or are named, and the facts derived from them."""
    conditions = (*in_batches(fact.c.source_message, messages), *in_batches(fact.c.id, named))
    return frozenset(id_ for condition in conditions for id_ in fact_store.with_derived(connection, condition))


def files_reached(connection: Connection, messages: Mapping[int, ForgottenMessage]) -> frozenset[int]:
    """The files of code that were made from these messages, and those made in the turns of these replies."""
    made_from = saved_file_source.c.file
    drawn = values_in(connection, made_from, saved_file_source.c.message, messages.keys())
    asked = (
        select(made_from).join(message, message.c.id == saved_file_source.c.message).where(saved_file_source.c.asked)
    )
    answered = {item.turn for item in messages.values() if item.author == Author.BOT}
    return frozenset(chain(drawn, (row[0] for row in rows_in(connection, asked, message.c.turn, answered))))


def earliest(messages: Mapping[int, ForgottenMessage]) -> datetime | None:
    return min((item.time for item in messages.values()), default=None)


def _replies(connection: Connection, messages: Mapping[int, ForgottenMessage]) -> dict[int, ForgottenMessage]:
    """The bot's replies in the turns of people's messages."""
    asked = {item.turn for item in messages.values() if item.author == Author.PERSON}
    return messages_in(connection, message.c.turn, asked, message.c.author == Author.BOT)


def _asker(plan: plans.ForgettingPlan) -> str:
    """The person whose wish the plan is; "" if it is no person's."""
    match plan:
        case (
            plans.OneThread(person=person)
            | plans.Everything(person=person)
            | plans.During(person=person)
            | plans.AboutTopic(person=person)
        ):
            return person
        case plans.Deleted() | plans.OneReply() | plans.Gone() | plans.Expired():
            return ""
        case _:
            assert_never(plan)


def _emptied(connection: Connection, messages: Mapping[int, ForgottenMessage]) -> tuple[frozenset[int], frozenset[int]]:
    """The turns that lose their last message, and those that lose their first message but not all."""
    erased = Counter(item.turn for item in messages.values())
    counted = select(message.c.turn, func.count()).group_by(message.c.turn)
    staying = {
        turn_id for turn_id, total in rows_in(connection, counted, message.c.turn, erased) if total > erased[turn_id]
    }
    begun = _begun_with(connection, messages)
    hosts = set(values_in(connection, message.c.turn, message.c.turn, begun - erased.keys()))
    return frozenset((erased.keys() | begun) - staying - hosts), frozenset(begun & (staying | hosts))


def _begun_with(connection: Connection, messages: Mapping[int, ForgottenMessage]) -> frozenset[int]:
    """The turns that these messages began, also if they joined another turn later."""
    begun = select(turn.c.id).join_from(turn, message, question_of_turn()).where(message.c.author == Author.PERSON)
    return frozenset(row[0] for row in rows_in(connection, begun, message.c.id, messages.keys()))
