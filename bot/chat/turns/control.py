"""What features do to running turns. They are built before turns, whose tools and notes they bring."""

from dataclasses import dataclass, field
from typing import Protocol

from agent.admission_terms import Terms
from agent.events import Outcome
from agent.incoming import Incoming
from bot.chat.ports import RunningTurns


class TurnControl(RunningTurns, Protocol):
    """Each raises StoreError, but for `wake`."""

    async def withdraw(self, source: str, channel: str, message_id: str) -> bool:
        """Cancel the answer to a deleted message, and delete the reply shown so far. False if it is complete."""
        ...

    async def take_back(self, person: str, conversation: str | None) -> None:
        """End the running turns of a person in a conversation (None: all), and delete the replies shown so far."""
        ...

    async def ask(self, incoming: Incoming, terms: Terms | None = None) -> Outcome | None:
        """Store a question, and wait for the end of its turn. None if the turn was lost, or continues later.
        Cancelling this call stops the turn. Raises TermsNotMet, and AnsweredElsewhere.
        """
        ...

    def wake(self) -> None:
        """Look for turns to continue: one that waited for its asker may go on."""
        ...

    async def end_lost(self) -> None:
        """End the running turns that are no longer this process's, without waiting until their leases are renewed."""
        ...


@dataclass(slots=True, eq=False)
class RegisteredTurns(TurnControl):
    """The turns of this process, once their worker has registered: before it serves, and before any command runs."""

    _worker: TurnControl | None = field(init=False, default=None)

    def register(self, worker: TurnControl) -> None:
        self._worker = worker

    @property
    def _registered(self) -> TurnControl:
        if self._worker is None:
            raise RuntimeError("turns are used before their worker has registered")
        return self._worker

    async def stop_conversation(self, conversation: str, *, alone: bool = False) -> bool:
        return await self._registered.stop_conversation(conversation, alone=alone)

    async def withdraw(self, source: str, channel: str, message_id: str) -> bool:
        return await self._registered.withdraw(source, channel, message_id)

    async def take_back(self, person: str, conversation: str | None) -> None:
        await self._registered.take_back(person, conversation)

    async def ask(self, incoming: Incoming, terms: Terms | None = None) -> Outcome | None:
        return await self._registered.ask(incoming, terms)

    def wake(self) -> None:
        self._registered.wake()

    async def end_lost(self) -> None:
        if self._worker is not None:  # else none has begun
            await self._worker.end_lost()
