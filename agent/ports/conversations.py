"""The conversations in the store: messages, summaries, working sets, and what a turn begins with.

`audiences` are labels ("team:slack:T0123"). Ids have the forms of `agent.incoming`. Every call of the store
may raise StoreError, and StoreUnavailable if the same may work later.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from agent.incoming import Incoming
from agent.memory.layers import WorkingItem
from agent.state import SituationSummary
from agent.stored_messages import LastSeen, StoredMessage, Thread
from agent.summary import Uncovered
from agent.turn_records import Known


class ThreadHistory(Protocol):
    """The messages of a conversation, and a person's latest conversation."""

    async def history(self, conversation: str, *, before_turn: int, limit: int) -> list[StoredMessage]:
        """Return the last `limit` messages of turns before `before_turn`, oldest first, each question followed by its
        answer.
        """
        ...

    async def newest_of(self, conversations: Sequence[str], *, limit: int) -> Mapping[str, list[StoredMessage]]:
        """Return the last `limit` messages of each of these conversations, as `history` does."""
        ...

    async def latest_elsewhere(self, person: str, conversation: str) -> str | None:
        """Return the person's other conversation in which the last turn began; None if there is none."""
        ...


class Conversations(ThreadHistory, Protocol):
    """The messages by conversation and by person, and the watermark of each platform."""

    async def threads(self, person: str, *, limit: int, audiences: frozenset[str] | None = None) -> list[Thread]:
        """Return the conversations in which the person wrote, the latest first, by messages to these audiences only."""
        ...

    async def groups(self, person: str, limit: int) -> list[str]:
        """Return the group places ("slack:T0123:C0123") that hold a thread, a fact or a profile of the person, the
        latest first.
        """
        ...

    async def participants(self, conversation: str) -> frozenset[str] | None:
        """Return the ids of the people who wrote in this conversation; None if it is unknown."""
        ...

    async def questions(self, person: str, *, limit: int) -> list[str]:
        """Return the last `limit` texts of the person in all conversations, oldest first."""
        ...

    async def messages_of(
        self, person: str, audiences: frozenset[str], *, before: int | None, limit: int
    ) -> list[StoredMessage]:
        """Return the person's messages and the answers to them, to these audiences: the last `limit` before the message
        with the id `before` (None: of all), the newest first.
        """
        ...

    async def last_said(self, conversation: str) -> datetime | None:
        """Return the time of the last message in this conversation; None if it is unknown."""
        ...

    async def last_seen(self, source: str, *, since: datetime, limit: int) -> list[LastSeen]:
        """Return a platform's conversations in which a person wrote since then, the latest first."""
        ...

    async def watermark(self, source: str) -> datetime | None:
        """Return the time up to which all messages of a platform were received; None if it was never set."""
        ...

    async def set_watermark(self, source: str, time: datetime) -> None:
        """Store the time up to which all messages of a platform were received."""
        ...


class Knowledge(Protocol):
    """The stored input of a turn's context, as one snapshot."""

    async def for_turn(
        self, incoming: Incoming, audiences: frozenset[str], *, before_turn: int, messages: int, actions: int
    ) -> Known:
        """Return what the store has for the context of a turn, as one snapshot.

        The last `messages` of the conversation; facts and profile as `Facts.readable` and `Profiles.readable` select
        them, and of many facts those that the question may need. Without a summary, the last `actions` records of the
        person's turns there, except those that drew on another audience: their results may hold untold text.
        """
        ...


class Summaries(Protocol):
    """The summaries of the parts of conversations that the model no longer sees (see `agent.summary`)."""

    async def uncovered(self, conversation: str, until: int) -> Uncovered | None:
        """Return the summary so far and the newest messages after it, up to the id `until`.

        None without a conversation. Only what was said to the conversation's current readers.
        """
        ...

    async def save(
        self, conversation: str, before: Uncovered, made_of: Sequence[StoredMessage], summary: SituationSummary
    ) -> bool:
        """Store the summary, which covers the messages `made_of`, too.

        False, and nothing is stored, if the earlier summary or a message has changed, or a message was forgotten.
        """
        ...


class WorkingSet(Protocol):
    """Scratch values of conversations, which expire."""

    async def store_item(self, conversation: str, audience: str, item: WorkingItem) -> None:
        """Store a scratch value of a conversation until it expires, in place of an earlier one with its key.

        It is forgotten with its message. Raises StoreError if that was forgotten meanwhile.
        """
        ...
