"""The port Profiles in memory, and what ending a turn and forgetting do to it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from agent.memory.profile import Partition, ProfileEntry, UserProfile, Utterance, for_place
from agent.memory.writing import NewFact
from agent.records import StoredMessage
from store.search.text import quotes
from tests.fakes.facts import FakeFacts


@dataclass
class FakeProfiles:
    """`waiting`: the messages that wait to be learned from, by their ids."""

    kept: dict[Partition, UserProfile] = field(default_factory=dict[Partition, UserProfile])
    waiting: dict[int, StoredMessage] = field(default_factory=dict[int, StoredMessage])
    passed_over: set[int] = field(default_factory=set[int])
    """The messages from which nothing is learned any more."""
    channels: dict[int, str] = field(default_factory=dict[int, str])
    links: dict[int, str | None] = field(default_factory=dict[int, "str | None"])
    facts: FakeFacts = field(default_factory=FakeFacts)
    ids: "count[int]" = field(default_factory=lambda: count(1))

    async def of(self, partition: Partition) -> UserProfile:
        return self.kept.get(partition, UserProfile(partition.person))

    async def readable(self, person: str, audiences: frozenset[str]) -> UserProfile:
        return for_place(UserProfile(person, tuple(await self.known(person, audiences))), audiences)

    async def known(self, person: str, audiences: frozenset[str]) -> list[ProfileEntry]:
        mine = [entry for partition, kept in self.kept.items() if partition.person == person for entry in kept.entries]
        open_ = [entry for entry in mine if entry.everywhere or entry.audience in audiences]
        linked = (replace(one, permalink=self.links.get(max(one.sources, default=0))) for one in open_)
        return sorted(linked, key=lambda one: (one.time, one.id))

    async def skip_learning(self, *, person: str | None = None, channel: str | None = None) -> int:
        gone = {
            id_
            for id_, said in self.waiting.items()
            if person in (None, said.person) and channel in (None, self.channels.get(id_))
        }
        self.pass_over_messages(gone)
        return len(gone)

    def pass_over_messages(self, gone: Collection[int]) -> None:
        """Nothing is learned from these any more."""
        self.passed_over |= set(gone)
        self.waiting = {id_: said for id_, said in self.waiting.items() if id_ not in gone}

    def erase(self, person: str, entries: Collection[int]) -> int:
        """Take these entries of the person out, and let what they came from teach no more; how many there were."""
        erased = 0
        for partition, kept in self.kept.items():
            if partition.person == person:
                gone = [entry for entry in kept.entries if entry.id in entries]
                self.pass_over_messages({source for entry in gone for source in entry.sources})
                staying = tuple(entry for entry in kept.entries if entry not in gone)
                self.kept[partition] = replace(kept, entries=staying, revision=kept.revision + 1)
                erased += len(gone)
        return erased

    async def unlearned(self, partition: Partition, limit: int) -> list[Utterance]:
        mine = [said for _, said in sorted(self.waiting.items()) if Partition(said.person, said.audience) == partition]
        return [Utterance(said.id, said.text, said.time, said.conversation) for said in mine[:limit]]

    async def save(
        self,
        partition: Partition,
        profile: UserProfile,
        learned: Sequence[Utterance] = (),
        stated: Sequence[NewFact] = (),
    ) -> bool:
        theirs = [said for said in self.waiting.values() if Partition(said.person, said.audience) == partition]
        wait = {(said.id, said.text) for said in theirs} >= {(one.id, one.text) for one in learned}
        if (await self.of(partition)).revision != profile.revision or not wait:
            return False
        numbered = tuple(replace(one, id=one.id or next(self.ids)) for one in profile.entries)
        entries = tuple(sorted(numbered, key=lambda one: (one.time, one.id)))
        self.kept[partition] = replace(profile, entries=entries, revision=profile.revision + 1)
        for one in learned:
            del self.waiting[one.id]
        for new in stated:
            await self.facts.write(new)
        return True

    def gather(self, said: Iterable[StoredMessage], channel: str | None = None) -> None:
        """Let these messages be learned from."""
        for message in said:
            if message.id not in self.passed_over:
                self.waiting[message.id] = message
            self.links[message.id] = message.permalink
            if channel is not None:
                self.channels[message.id] = channel

    def how_many_wait(self, partition: Partition) -> int:
        return sum(Partition(said.person, said.audience) == partition for said in self.waiting.values())

    def falling(self, person: str, gone: Collection[StoredMessage]) -> list[ProfileEntry]:
        """The person's entries that fall with these messages."""
        theirs = [said for said in gone if said.person == person]
        mine = [entry for at, kept in self.kept.items() if at.person == person for entry in kept.entries]
        return [entry for entry in mine if _falls(entry, theirs)]

    def forget(
        self,
        person: str,
        gone: Collection[StoredMessage],
        *,
        everything: bool,
        named: Collection[ProfileEntry] = (),
    ) -> int:
        """Erase what came of the messages that are `gone`; how many entries that were. Call it before they go."""
        self.waiting = {id_: said for id_, said in self.waiting.items() if said not in gone}
        if everything:
            return sum(
                len(self.kept.pop(partition).entries) for partition in [*self.kept] if partition.person == person
            )
        fallen = 0
        for partition, kept in self.kept.items():
            if partition.person == person:
                staying = tuple(entry for entry in kept.entries if entry not in named and not _falls(entry, gone))
                fallen += len(kept.entries) - len(staying)
                self.kept[partition] = replace(kept, entries=staying, revision=kept.revision + 1)
        return fallen

    def sources(self, person: str, gone: Collection[StoredMessage]) -> set[int]:
        """All messages that the entries which fall with `gone` came from."""
        mine = [entry for at, kept in self.kept.items() if at.person == person for entry in kept.entries]
        return {source for entry in mine if _falls(entry, gone) for source in entry.sources}


def _falls(entry: ProfileEntry, gone: Collection[StoredMessage]) -> bool:
    quoted = (said for said in gone if said.audience == entry.audience)
    return any(said.id in entry.sources for said in gone) or any(quotes(entry.text, said.text) for said in quoted)
