"""Messages that platforms hand in: admitted, stored, and claimed as turns."""

import asyncio
from dataclasses import dataclass

from agent.admission_terms import TermsNotMet
from agent.incoming import Incoming
from agent.memory.audience import Place
from agent.ports.clock import Clock
from agent.ports.ledger import Ledger
from bot.chat.access.admission import AdmissionControl
from bot.chat.attachments.kinds import with_names
from bot.chat.turns.worker import TurnWorker


@dataclass(frozen=True, slots=True)
class ReceivedMessages:
    """Stores what platforms hand in, as far as it is admitted."""

    admission: AdmissionControl
    turns: TurnWorker
    ledger: Ledger
    clock: Clock

    async def submit(self, incoming: Incoming) -> bool:
        """Store the message durably; it will be answered. False if it was already stored.

        Raises StoreError, and Refused if this person may not ask that, or not now: its sentence is for them alone.
        """
        incoming = with_names(incoming) if incoming.files else incoming
        admission = await self.admission.admission(incoming)
        claiming = self.turns.promise_slot()
        accepting = asyncio.ensure_future(self.ledger.accept(incoming, admission.terms, claiming))
        try:
            accepted = await self.turns.follow(accepting, claiming)
        except TermsNotMet as unmet:
            raise self.admission.refused(incoming, admission, unmet.obstacle) from None
        if not accepted.duplicate:
            self.admission.count(incoming, admission)
        return not accepted.duplicate

    async def record_context_message(self, incoming: Incoming) -> None:
        """Store the message as context of its conversation, without an answer; nothing of people who may not ask.

        Raises StoreError.
        """
        if await self.admission.admit_context(incoming):
            await self.ledger.record_context_message(with_names(incoming))

    async def restrict_place(self, source: str, channel: str, place: Place) -> None:
        """A channel now has fewer readers: what was said while it was open keeps its audience. Raises StoreError."""
        await self.ledger.restrict_place(source, channel, place, self.clock.now())
