"""Requests for a human, as a port of the store. Every method raises StoreError."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from agent.handoffs import Handoff, HandoffContent, HandoffMessage, HandoffOutcome, HandoffState, NewHandoff
from agent.incoming import Incoming
from agent.shown_replies import Answered


class Handoffs(Protocol):
    """Requests by their numbers. A change is stored with its outgoing event, and with a job of the kind HANDOFF."""

    async def ask(self, new: NewHandoff, people: Collection[str], now: datetime, /) -> Handoff | None:
        """Store a request, and who is written about it. Where its conversation has a current one, that is returned, and
        nothing is stored. None if the answer is gone.
        """
        ...

    async def by_number(self, number: int, /) -> Handoff | None:
        """Return the request; None if it was erased."""
        ...

    async def current(self, conversation: str, /) -> Handoff | None:
        """Return the request of this conversation that is open or taken."""
        ...

    async def of_person(self, person: str, /, *, limit: int) -> Sequence[Handoff]:
        """Return the current requests that concern this person, the newest first: they asked, were written about it, or
        have taken it.
        """
        ...

    async def listed(self, *, limit: int) -> Sequence[Handoff]:
        """Return the current requests of everyone, the oldest first."""
        ...

    async def take(self, number: int, person: str, name: str, now: datetime, /) -> HandoffOutcome:
        """Let this person, of this name, have an open request, unless somebody else was first."""
        ...

    async def close(
        self, number: int, state: HandoffState, now: datetime, /, *, before: HandoffState | None = None
    ) -> HandoffOutcome:
        """End a current request; with `before`, only one in that state."""
        ...

    async def reopen(self, number: int, taker: str, people: Collection[str], now: datetime, /) -> bool:
        """Let a taken request wait again, for these people, unless it is no longer this taker's. If they were not all
        asked before, nothing is shared any more.
        """
        ...

    async def reminded(self, number: int, /) -> bool:
        """Store that people are reminded; False if that was stored before."""
        ...

    async def content(self, turn: int, /) -> HandoffContent | None:
        """Return what was asked in this turn and tried; None if the question is gone."""
        ...

    async def reply(self, turn: int, /) -> Answered | None:
        """Return the reply of a turn; None if it is gone."""
        ...

    async def question(self, turn: int, /) -> Incoming | None:
        """Return what was asked in this turn, as a message at its place; None if it is gone."""
        ...

    async def asked_since(self, person: str, since: datetime, /) -> int:
        """Return how many requests this person has made since then."""
        ...

    async def newest(self, person: str, channel: str, conversations: Collection[str], /) -> Answered | None:
        """Return the newest answer in these conversations; without any, the newest one to this person in the channel,
        or anywhere for "".
        """
        ...

    async def messages(self, number: int, /) -> Sequence[HandoffMessage]:
        """Return who is written about the request."""
        ...

    async def shown(self, number: int, person: str, pages: Sequence[str], /) -> bool:
        """Store the messages that show the person the request; False if nothing may show it any more."""
        ...

    async def closed(self, number: int, person: str, /) -> None:
        """Store that they say how it ended, or that the person cannot be written to."""
        ...
