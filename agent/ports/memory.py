"""The ports of what is kept: conversations, memories, profiles, choices, costs, and how all of it is forgotten.

Above: `bot`, the tools. Implemented by: `store`, and by small fakes in `tests/fakes`.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from agent.memory.forgetting import ForgettingPlan
from agent.memory.profile import Partition, UserProfile, Utterance
from agent.messages import ModelCall
from agent.records import Hit, LastSeen, Note, RecallQuery, Receipt, StoredMessage, Thread
from agent.spending import By, Period, Total
from agent.state import LastActions, SituationSummary


class Conversations(Protocol):
    async def history(self, conversation: str, *, before_turn: int, limit: int) -> list[StoredMessage]:
        """The last `limit` messages of turns before this one, oldest first, each question followed by its answer."""
        ...

    async def summary(self, conversation: str) -> SituationSummary: ...

    async def last_actions(
        self, conversation: str, person: str, audiences: frozenset[str], *, before_turn: int, limit: int
    ) -> LastActions:
        """What was done last in the person's turns before this one that may be used for these audiences."""
        ...

    async def threads(self, person: str, *, limit: int) -> list[Thread]:
        """The conversations in which the person wrote, the latest first."""
        ...

    async def groups(self, person: str, limit: int) -> list[str]:
        """The group places to which something of the person belongs: a thread, a note, a profile; the latest first."""
        ...

    async def participants(self, conversation: str) -> frozenset[str] | None:
        """The ids of the people who wrote in this conversation; None if it is not known."""
        ...

    async def questions(self, person: str, *, limit: int) -> list[str]:
        """What the person wrote last, in all conversations, oldest first."""
        ...

    async def last_seen(self, source: str, *, since: datetime, limit: int) -> list[LastSeen]:
        """A platform's conversations in which somebody wrote since then, the latest first."""
        ...

    async def heard_until(self, source: str) -> datetime | None:
        """Everything that was said on a platform up to this time has come in; None if it was never kept."""
        ...

    async def hear_until(self, source: str, time: datetime) -> None:
        """Keep that time."""
        ...


class Memories(Protocol):
    async def remember(
        self, person: str, text: str, audience: str, now: datetime, source_message: int | None = None
    ) -> Note:
        """Keep a note; the same text for the same audience is kept once."""
        ...

    async def notes(self, person: str, audiences: frozenset[str]) -> list[Note]:
        """The person's notes that may be used for these audiences, oldest first."""
        ...

    async def search(self, query: RecallQuery) -> list[Hit]:
        """The person's past threads, best hit first. Any text is a valid query; none raises."""
        ...


class Profiles(Protocol):
    """What is known of people, and which of their messages wait to be learned from (`Closing.learn_at`)."""

    async def of(self, partition: Partition) -> UserProfile:
        """The profile of one partition, for learning."""
        ...

    async def readable(self, person: str, audiences: frozenset[str]) -> UserProfile:
        """What may be used for these audiences, each entry with the link to its newest source."""
        ...

    async def unlearned(self, partition: Partition, limit: int) -> list[Utterance]:
        """The messages that wait, oldest first."""
        ...

    async def save(self, partition: Partition, profile: UserProfile, learned: Sequence[int] = ()) -> bool:
        """Keep the profile as it became, and that these messages were learned from, in one transaction.

        False, and nothing is kept, if anything of it was forgotten, changed or learned by somebody else meanwhile.
        """
        ...


class Preferences(Protocol):
    """What was chosen, by name. `owner` is a person's id, "channel:" and a channel's id, or "everyone"."""

    async def of(self, owner: str) -> dict[str, str]:
        """Every choice that stands."""
        ...

    async def set(self, owner: str, name: str, value: str | None) -> None:
        """Keep a choice in place of an earlier one; None takes it back."""
        ...


class Spending(Protocol):
    async def totals(self, period: Period, by: By, *, person: str | None = None) -> list[Total]:
        """What model calls took in these days, of everybody or of one person: a total for each key, in their order."""
        ...

    async def charge(self, person: str, kind: str, calls: Sequence[ModelCall], now: datetime) -> None:
        """Keep what calls outside of turns took; `kind` says what they were for."""
        ...


class Forgetting(Protocol):
    async def forget(self, plan: ForgettingPlan, now: datetime) -> Receipt:
        """Erase what the plan names in one transaction, then search for proof."""
        ...

    async def sweep(self) -> bool:
        """Wipe the bytes that an earlier `forget` could not yet (its receipt said so); True when none are left."""
        ...
