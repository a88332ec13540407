"""Memory in the store: facts, profiles, and the search of past threads.

`audiences` are labels ("team:slack:T0123"). Ids have the forms of `agent.incoming`. Every call of the store
may raise StoreError, and StoreUnavailable if the same may work later.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from agent.jobs import Job
from agent.memory.facts import Fact
from agent.memory.profile import Partition, ProfileEntry, UserProfile, Utterance
from agent.memory.writing import Announced, NewFact, WriteRefused, Written
from agent.recall_query import Hit, RecallQuery


class FactWriter(Protocol):
    """Stores the facts that a person asked to be remembered."""

    async def write(self, new: NewFact) -> Written | WriteRefused:
        """Apply `agent.memory.writing.write` to all facts so far. Writes of one audience run one after the other.

        The store sets the id: `new.id` is ignored. It keeps a bounded number of facts of a person in one place and
        drops others (`Written.dropped`). Raises StoreError if the source message was forgotten meanwhile.
        """
        ...


class Facts(FactWriter, Protocol):
    """Facts that people asked to be remembered, learned facts, and policies; see `agent.memory.facts`."""

    async def retract(self, fact: str, new: NewFact) -> Written | WriteRefused | None:
        """Retract a fact of the partition of `new`, as `agent.memory.writing.retract` does.

        None if there is no such valid fact.
        """
        ...

    async def readable(self, person: str, audiences: frozenset[str]) -> list[Fact]:
        """Return the facts that may be used for these audiences: the person's, those of no person, and those that the
        person opened to all replies to them; oldest first, with links to their sources. Superseded facts are included:
        the caller checks `is_valid`.
        """
        ...

    async def latest(
        self, person: str, audience: str, limit: int, about: str = "", near: Collection[int] = ()
    ) -> list[Fact]:
        """Return `limit` valid facts of the person in this audience, the newest first: the newest ones, up to half of
        them those that share words with the text `about`, and up to a quarter from the messages `near` (ids).
        """
        ...

    async def in_own_words(self, person: str, facts: Collection[str]) -> frozenset[str]:
        """Return those of the person's facts that say only what the person wrote."""
        ...

    async def kept_in(self, turn: int) -> Announced:
        """Return the asker's facts from this turn's question and those that its answer told of, oldest first, each with
        the facts that it superseded.
        """
        ...

    async def doubts(self, person: str, audience: str, limit: int, asked: int) -> list[tuple[Fact, Fact]]:
        """Return the person's valid facts that a newer one may have replaced, each with that one, and with the words of
        both: those about which a model was asked fewer than `asked` times, the rarest and then the newest first.
        """
        ...

    async def settle(
        self, person: str, audience: str, older: str, newer: str, *, replaced: bool | None, by_person: bool = False
    ) -> bool:
        """Settle a doubt: the newer fact replaced the older one, or both hold; None: the model left it open, which is
        counted. `by_person`: the person decided, and needs no answer that tells of it. Return whether anything changed.
        """
        ...

    async def reinstate(self, person: str, older: str) -> None:
        """Undo a model's verdict: the fact holds again, beside the one that had replaced it."""
        ...

    async def announce(self, turn: int) -> Announced:
        """Return the facts of which this turn's answer tells: those of its audience that no answer has told of yet.

        They count as told from then on. A second call for the turn returns the same.
        """
        ...

    async def keep(self, person: str, fact: str, now: datetime, /) -> bool:
        """Store that this valid fact of the person ("" for a policy) still holds; False if it is gone."""
        ...

    async def open(self, person: str, fact: str, *, everywhere: bool) -> bool:
        """Allow a fact in all replies to the person, or only where it was said; False if it is gone."""
        ...


class Memories(Protocol):
    """The search of past threads."""

    async def search(self, query: RecallQuery) -> list[Hit]:
        """Search the person's past threads, best hit first. Any text is a valid query; none raises."""
        ...

    async def index_more(self, job: Job) -> bool:
        """Run the next step of a job of the kind `INDEXING`, which makes more messages searchable. False: all done."""
        ...


class Profiles(Protocol):
    """What is known about people, and which of their messages wait to be learned from (`Closing.learn_at`)."""

    async def get(self, partition: Partition) -> UserProfile:
        """Return the profile of one partition, for learning."""
        ...

    async def readable(self, person: str, audiences: frozenset[str]) -> UserProfile:
        """Return the entries that may be used for these audiences, each with the link to its newest source."""
        ...

    async def all_entries(self, person: str, audiences: frozenset[str]) -> list[ProfileEntry]:
        """Return all entries of the person that may be shown there, with links, the oldest first.

        Includes the entries that `readable` leaves out because newer ones replace them.
        """
        ...

    async def unlearned(self, partition: Partition, limit: int) -> list[Utterance]:
        """Return the messages that wait to be learned from, oldest first."""
        ...

    async def keep(self, person: str, entry: int, now: datetime) -> bool:
        """Store that this entry of the person still holds; False if it is gone."""
        ...

    async def skip_learning(
        self, *, person: str | None = None, channel: str | None = None, source: str | None = None
    ) -> int:
        """Never learn from the waiting messages of this person, in this channel, of this source, or all of it. Returns
        their number.
        """
        ...

    async def save(
        self,
        partition: Partition,
        profile: UserProfile,
        learned: Sequence[Utterance] = (),
        stated: Sequence[NewFact] = (),
    ) -> bool:
        """Store the new profile, mark these messages as learned from, and write the facts that they state, in one
        transaction. A fact that may not be written is left out.

        False, and nothing is stored, if any of it was forgotten, changed or learned by another worker meanwhile.
        """
        ...
