"""What falls with a forgetting plan, found before anything is deleted.

Rules
  A message that falls takes the reply of its turn along. A turn falls with its last message.
  What the bot told again of it elsewhere falls, too, and what was told of that in turn (`store.forgetting.retold`).
  Having stood in the history of an answer to somebody else is no derivation.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, assert_never

from sqlalchemy import Column, Connection, Row, and_, exists, func, select, update

from agent.memory import forgetting_plans as plans
from agent.records import Author
from store.forgetting.retold import KnownErasures, Retellings
from store.forgetting.selection import (
    ForgottenMessage,
    Watch,
    in_batches,
    messages_in,
    rows_in,
    select_rows,
    unwatched,
    values_in,
)
from store.memory import fact_store, people
from store.search.text import passages, plain_words
from store.tables import embedding, fact, message, profile, profile_entry, profile_source, turn, working_item

# What forgetting does to profiles.
#
# Rules
#   An entry falls with any of its sources, because nobody can say which of its words came from which. What else it
#   came from waits to be learned from again. So does an entry that quotes an erased message of its audience, unless
#   its own sources say the same: a model may have named the wrong source.


def entries_reached(connection: Connection, said: Mapping[int, ForgottenMessage]) -> frozenset[int]:
    """The entries that fall with these messages, while they still stand."""
    fallen = frozenset(values_in(connection, profile_source.c.entry, profile_source.c.message, said.keys()))
    theirs = rows_in(connection, select(profile_entry), profile_entry.c.person, {one.person for one in said.values()})
    quoting = _quoting([row for row in theirs if row.id not in fallen], said.values())
    return fallen | {id_ for id_, quoted in quoting.items() if not quoted <= _own_words(connection, id_, quoted)}


def entry_texts(connection: Connection, entries: Collection[int]) -> list[str]:
    return list(values_in(connection, profile_entry.c.text, profile_entry.c.id, entries))


def erase_entries(
    connection: Connection, plan: plans.ForgettingPlan | None, entries: frozenset[int], owners: frozenset[str]
) -> int:
    """Take these entries out; how many there were. Whoever learns of their owners meanwhile finds another revision.

    `plan` None: the messages that they came from stand, with other words.
    """
    theirs = values_in(connection, profile_entry.c.person, profile_entry.c.id, entries)
    for where in in_batches(profile.c.person, owners.union(theirs)):
        connection.execute(update(profile).where(where).values(revision=profile.c.revision + 1))
    if not isinstance(plan, plans.Everything):
        named = values_in(connection, profile_source.c.message, profile_source.c.entry, entries)
        for where in in_batches(message.c.id, set(named)):
            connection.execute(update(message).where(where, ~message.c.passed_over).values(to_learn=True))
    return people.remove_entries(connection, entries)


def orphaned_entries(connection: Connection, people: Collection[str]) -> list[str]:
    """What these people's entries say that should have fallen with their sources."""
    stands = exists().where(message.c.id == profile_source.c.message)
    lost = profile_entry.c.id.in_(select(profile_source.c.entry).where(~stands))
    found = rows_in(connection, select(profile_entry.c.text).where(lost), profile_entry.c.person, people)
    return [row.text for row in found]


def _quoting(entries: Collection[Row[Any]], said: Collection[ForgottenMessage]) -> dict[int, set[str]]:
    """What of these messages the entries of their audiences quote. Each message is first held against all entries of
    its audience at once: nearly none is quoted.
    """
    held: dict[tuple[str, str], dict[int, str]] = {}
    for row in entries:
        held.setdefault((row.person, row.audience), {})[row.id] = plain_words(row.text)
    together = {place: "\n".join(words.values()) for place, words in held.items()}
    quoting: dict[int, set[str]] = {}
    for one in said:
        place = one.person, one.audience
        if place not in held:
            continue
        erased = plain_words(one.text)
        if passages(together[place], erased) or erased in held[place].values():
            for id_, words in held[place].items():
                if quoted := passages(words, erased):
                    quoting.setdefault(id_, set()).update(quoted)
    return quoting


def _own_words(connection: Connection, entry: int, quoted: set[str]) -> set[str]:
    """Those of the passages that its sources have."""
    sources = select(message.c.text).join(profile_source, profile_source.c.message == message.c.id)
    own = [plain_words(text) for text in connection.execute(sources.where(profile_source.c.entry == entry)).scalars()]
    return {piece for piece in quoted if any(piece in text for text in own)}


# The columns of tables that hold one message's words in another form, and nothing else: their rows fall with it.
KEYED_BY_MESSAGE: Final[tuple[Column[int], ...]] = (working_item.c.message, embedding.c.message)


@dataclass(frozen=True, slots=True)
class ErasureSet:
    """`said`: the messages that fall. `turns` fall, `worn` ones lose the message that they began with and stay.
    `whole`: nothing in the plan's reach was left for later.
    """

    said: Mapping[int, ForgottenMessage]
    turns: frozenset[int]
    worn: frozenset[int]
    facts: frozenset[int]
    entries: frozenset[int]
    whole: bool
    scratch: frozenset[int] = frozenset()
    """The items of working sets that were made of what falls."""
    retold: frozenset[int] = frozenset()
    """Those of `said` that only tell again what the plan names."""
    may: Mapping[int, ForgottenMessage] = field(default_factory=dict[int, ForgottenMessage])
    """What may have been made of it, and stays until its person decides."""
    schedules: frozenset[int] = frozenset()

    @property
    def conversations(self) -> frozenset[str]:
        return frozenset(one.conversation for one in self.said.values())

    @property
    def people(self) -> frozenset[str]:
        return frozenset(one.person for one in self.said.values())


def find_erasure_set(
    connection: Connection,
    plan: plans.ForgettingPlan,
    limit: int | None = None,
    *,
    related: bool = False,
    watch: Watch = unwatched,
) -> ErasureSet:
    """What falls with the plan; with `limit`, only with so many of its messages, the oldest.

    `related`: what may have been made of it falls, too.
    """
    named = select_rows(connection, plan, limit, watch)
    said = dict(named.said) | _replies(connection, named.said)
    watch(len(said))
    # What is named beside messages may have come of some that stay: then nobody knows what was before all of it.
    beside = bool(named.facts or named.entries)
    since, first = (None, 0) if beside else (earliest(said), min(said, default=0))
    again = Retellings(connection, _asker(plan), since, first, watch)
    retold, may, scratch = dict[int, ForgottenMessage](), dict[int, ForgottenMessage](), frozenset[int]()
    fresh = KnownErasures(
        said, facts_of(connection, said, named.facts), named.entries | entries_reached(connection, said)
    )
    facts_, entries = fresh.facts, fresh.entries
    while fresh.said or fresh.facts or fresh.entries:
        found = again.of(fresh, said)
        may |= found.may
        new = found.falls | (found.may if related else {})
        new |= _replies(connection, new)
        new = {id_: one for id_, one in new.items() if id_ not in said}
        retold |= new
        said |= new
        scratch |= found.scratch
        kept = facts_of(connection, new, found.facts) - facts_
        fresh = KnownErasures(new, kept, entries_reached(connection, new) - entries)
        facts_, entries = facts_ | fresh.facts, entries | fresh.entries
    turns, worn = _emptied(connection, said)
    return ErasureSet(
        said,
        turns=turns | named.turns,
        worn=worn - named.turns,
        facts=facts_,
        entries=entries,
        whole=named.whole,
        scratch=scratch,
        retold=frozenset(retold),
        schedules=named.schedules,
        may=_and_what_came_of_it(connection, again, {id_: one for id_, one in may.items() if id_ not in said}, said),
    )


def _and_what_came_of_it(
    connection: Connection, again: Retellings, may: dict[int, ForgottenMessage], said: Mapping[int, ForgottenMessage]
) -> dict[int, ForgottenMessage]:
    """All that would fall with these messages beside `said`."""
    found, fresh = dict[int, ForgottenMessage](), may
    while fresh:
        fresh = {id_: one for id_, one in (fresh | _replies(connection, fresh)).items() if id_ not in {*said, *found}}
        found |= fresh
        falling = KnownErasures(fresh, facts_of(connection, fresh), entries_reached(connection, fresh))
        more = again.of(falling, {*said, *found}, loosely=True)
        fresh = more.falls | more.may
    return found


def facts_of(
    connection: Connection, said: Mapping[int, ForgottenMessage], named: frozenset[int] = frozenset()
) -> frozenset[int]:
    """The facts that came of these messages or are named, and what was derived from those."""
    places = (*in_batches(fact.c.source_message, said), *in_batches(fact.c.id, named))
    return frozenset(id_ for where in places for id_ in fact_store.with_derived(connection, where))


def earliest(said: Mapping[int, ForgottenMessage]) -> datetime | None:
    return min((one.time for one in said.values()), default=None)


def _replies(connection: Connection, said: Mapping[int, ForgottenMessage]) -> dict[int, ForgottenMessage]:
    """The bot's messages in the turns of what people said."""
    asked = {one.turn for one in said.values() if one.author == Author.PERSON}
    return messages_in(connection, message.c.turn, asked, message.c.author == Author.BOT)


def _asker(plan: plans.ForgettingPlan) -> str:
    """Whose wish it is; "" for nobody's."""
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


def _emptied(connection: Connection, said: Mapping[int, ForgottenMessage]) -> tuple[frozenset[int], frozenset[int]]:
    """The turns that lose their last message, and those that lose the one that they began with but not all."""
    held = Counter(one.turn for one in said.values())
    counted = select(message.c.turn, func.count()).group_by(message.c.turn)
    staying = {turn_id for turn_id, all_ in rows_in(connection, counted, message.c.turn, held) if all_ > held[turn_id]}
    begun = _begun_with(connection, said)
    hosts = set(values_in(connection, message.c.turn, message.c.turn, begun - held.keys()))
    return frozenset((held.keys() | begun) - staying - hosts), frozenset(begun & (staying | hosts))


def _begun_with(connection: Connection, said: Mapping[int, ForgottenMessage]) -> frozenset[int]:
    """The turns that these messages began, wherever they went then."""
    post = and_(turn.c.channel == message.c.channel, turn.c.message_id == message.c.message_id)
    begun = select(turn.c.id).join(message, post).where(message.c.author == Author.PERSON)
    return frozenset(row[0] for row in rows_in(connection, begun, message.c.id, said.keys()))
