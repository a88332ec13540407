"""The ledger: the durable list of turns.

The `owner` of a turn is a worker's id. Ids have the forms of `agent.incoming`. Every call of the store may raise
StoreError, and StoreUnavailable if the same may work later.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from agent.admission_terms import Terms
from agent.budget_days import BudgetPause
from agent.events import Outcome
from agent.incoming import Incoming
from agent.jobs import Job
from agent.memory.audience import Place
from agent.messages import ModelCall
from agent.turn_records import Accepted, Claim, Claiming, Closing, Load, Waiting


class TurnLedger(Protocol):
    """The part of the ledger for a process that answers only its own questions."""

    async def accept(
        self, incoming: Incoming, terms: Terms | None = None, claiming: Claiming | None = None
    ) -> Accepted:
        """Store the message and its turn in one transaction, once; with `claiming`, also `claim` in it.

        Raises TermsNotMet, and stores nothing, if the message is new and `terms` do not hold.
        """
        ...

    async def claim(self, claiming: Claiming) -> Claim | None:
        """Claim a turn whose lease ran out, else a waiting one whose conversation has no running turn.

        Of the waiting turns, the team with the fewest running turns that was served longest ago comes first; its people
        (with fewer than `per_person` running turns) take turns.
        """
        ...

    async def renew(self, claim: Claim, now: datetime, lease: timedelta) -> None:
        """Hold the turn until `now` + `lease`."""
        ...

    async def save(
        self,
        claim: Claim,
        *,
        progress: str | None = None,
        reply_ref: str | None = None,
        calls: Sequence[ModelCall] = (),
    ) -> None:
        """Store the turn's progress, or the pages of its reply. Progress resets the count of attempts. `calls`: all
        model calls of the progress, which count toward budgets from now on; () if all of them do already.
        """
        ...

    async def finish(self, claim: Claim, closing: Closing, now: datetime) -> bool:
        """Store the reply and everything else of `closing`, clear progress and payload, and end the turn.

        Returns whether other turns wait, perhaps for this one.
        """
        ...

    async def release(self, claim: Claim) -> None:
        """Release an unfinished turn, so that any worker may claim it. This claim does not count as an attempt."""
        ...

    async def take_over_turns(self, person: str, family: str, source: str, now: datetime, lease: timedelta) -> int:
        """Move the person's open turns of dead processes to `source`. Returns their number. `person`: "" for everyone.

        Only turns whose source is `family` ("terminal"), or begins with it and ":".
        """
        ...

    async def hold_place(self, source: str, until: datetime) -> bool:
        """Protect the questions of this source from takeover until then. False if none is open there."""
        ...


class Ledger(TurnLedger, Protocol):
    """The durable list of turns. Every write after `claim` is fenced by the claim's epoch and raises LeaseLost."""

    async def record_context_message(self, incoming: Incoming) -> Accepted:
        """Store the message, once, as context of its conversation, with a turn that is already over."""
        ...

    async def restrict_place(self, source: str, channel: str, place: Place, now: datetime) -> int:
        """A channel of this source has become `place`, which fewer can read: move its team messages there, with what
        was derived from them. Returns the number of messages. `accept` also does this when it notices the change.
        """
        ...

    async def set_text(self, claim: Claim, text: str, *, before: str | None = None) -> None:
        """Replace the question's text, as by the transcription of its recording; with `before`, only if that is its
        text still.
        """
        ...

    async def discount(self, claim: Claim) -> None:
        """Do not count the claim as an attempt; the turn stays held until its lease runs out."""
        ...

    async def put_aside(self, claim: Claim, until: datetime, pause: BudgetPause | None = None) -> None:
        """Let an unfinished turn wait for its asker's decision (`Consents`), no longer than until then. `pause`: if it
        waits for a decision about a budget in place of that.
        """
        ...

    async def waits_for_people(self, conversation: str) -> bool:
        """Return whether a turn there was put aside and still waits for a decision or an answer: one of this
        conversation, of that in which its long work was requested, or of the long work of either.
        """
        ...

    async def stop(self, conversation: str, *, alone: bool = False) -> list[int]:
        """Mark the turns there that wait or run as to be stopped, with its long work unless `alone`; oldest first."""
        ...

    async def take_back(self, person: str, conversation: str | None) -> list[int]:
        """Mark the person's waiting turns that have shown something as to be stopped, and their pages to be deleted: in
        one conversation, or in all.
        """
        ...

    async def stopping(self, owner: str) -> frozenset[int]:
        """Return the turns of this worker that were marked, in any process, as to be stopped."""
        ...

    async def withdrawn(self, owner: str) -> frozenset[int]:
        """Return those of `stopping` whose question was deleted: their shown pages are to be deleted, too."""
        ...

    async def waiting(self, claim: Claim) -> list[Waiting]:
        """Return the next messages of the same person in this turn's conversation, in order.

        It ends at a message of another person, for other readers, or with more than text.
        """
        ...

    async def amend(self, source: str, channel: str, message_id: str, text: str, job: Job | None = None) -> bool:
        """Replace the text of an edited question that still waits; False if it does not. `job`: like `held` of
        `Forgetting.update_text`.
        """
        ...

    async def withdraw(self, source: str, channel: str, message_id: str, now: datetime) -> bool:
        """End the turn of a deleted question, and erase its text; False if it neither waits nor runs.

        A running turn, in any process, is marked: see `stopping` and `withdrawn`.
        """
        ...

    async def ended(self, turns: frozenset[int]) -> dict[int, Outcome | None]:
        """Return the outcomes of those turns (row ids) that are over; None for one that was forgotten."""
        ...

    async def pages(self, turn: int) -> tuple[str, ...] | None:
        """Return the pages of the reply to a turn that is over, () if it was forgotten; None while it is open."""
        ...

    async def load(self) -> Load:
        """Return how many turns run and wait, in all processes together."""
        ...

    async def release_all(self) -> int:
        """At the start of an embedded store, every lease belongs to a dead process: release them. Returns how many.

        Does nothing where other processes use the same database: their leases hold, and those of dead ones expire.
        """
        ...
