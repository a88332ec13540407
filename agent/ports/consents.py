"""What turns wait for from people, as ports of the store: consents to calls, and answers to tools' questions."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from agent.approvers import Approvers
from agent.asking import AskedQuestion
from agent.consents import Approval, ConsentOutcome, Undecided
from agent.messages import AnswerOutcome, Consent, ElicitAction, OpenQuestion
from agent.turn_records import Claim, Waiting


class Consents(Protocol):
    """The askers' decisions about calls that need consent."""

    async def decide(
        self, turn: int, call: str, person: str, word: Consent, now: datetime, *, standing: bool = False
    ) -> ConsentOutcome:
        """Store a decision about a call (its `consent_key`) of a turn that was put aside. `standing`: it applies to the
        call's tool from now on, in this conversation.
        """
        ...

    async def decided(self, turn: int) -> Mapping[str, Consent]:
        """Return the decisions about the turn's calls, by `consent_key`."""
        ...

    async def standing(self, conversation: str, person: str) -> frozenset[str]:
        """Return the tools that this person lets run without consent in this conversation."""
        ...

    async def standing_calls(self, conversation: str, person: str) -> frozenset[str]:
        """Return the `agent.progress.call_digest` of the very calls about which this person decided so there."""
        ...

    async def undecided(self, person: str) -> list[Undecided]:
        """Return every call that waits for this person's decision, the oldest first."""
        ...


class AskedQuestions(Protocol):
    """The questions of the model for which turns were put aside. `key`: see `agent.progress.consent_key`."""

    async def open_to(self, person: str) -> list[AskedQuestion]:
        """Return every question that waits for this person's answer, the oldest first."""
        ...

    async def answer(
        self, turn: int, key: str, person: str, text: str, now: datetime, *, chosen: bool = False
    ) -> AnswerOutcome:
        """Store an answer as a message of the asker, with which the turn goes on. `chosen`: it is an option."""
        ...

    async def decline(self, turn: int, key: str, person: str, now: datetime) -> AnswerOutcome:
        """Store that the asker does not answer; the turn goes on."""
        ...

    async def answer_of(self, turn: int) -> Waiting | None:
        """Return the answer with which this turn goes on; None if there is none."""
        ...


class Approvals(Protocol):
    """Decisions about calls by others than their askers. Every method raises StoreError.

    A call is named by its turn and its `consent_key`.
    """

    async def request(
        self, claim: Claim, calls: Mapping[str, tuple[Approvers, Collection[str]]], now: datetime
    ) -> None:
        """Store whom these calls are to be shown to, and a job of the kind APPROVAL that does so. A call for which
        fewer people can be asked than have to approve it is decided as UNASKED. Raises LeaseLost.
        """
        ...

    async def of(self, turn: int, now: datetime, /) -> Sequence[Approval]:
        """Return the turn's calls that others decide about; () if it was forgotten."""
        ...

    async def waiting(self, person: str, now: datetime, /) -> Sequence[Approval]:
        """Return the calls that this person was asked about and has not decided, the oldest first."""
        ...

    async def decide(
        self, turn: int, call: str, person: str, consent: Consent, now: datetime, *, reason: str = ""
    ) -> ConsentOutcome:
        """Store the decision of a person who may decide about it now; the caller has checked that."""
        ...

    async def shown(self, turn: int, call: str, person: str, pages: Sequence[str], /) -> bool:
        """Store the messages that show the person a call; False if nothing may show it any more."""
        ...

    async def unreachable(self, turn: int, call: str, person: str, now: datetime, /) -> bool:
        """Store that this person cannot be asked. Returns whether the turn continues, because too few remain."""
        ...

    async def reminded(self, turn: int, call: str, person: str, /) -> bool:
        """Store that the person is reminded; False if that was stored before, or nothing may show it any more."""
        ...

    async def closed(self, turn: int, call: str, person: str, /) -> None:
        """Store that the messages say how it ended."""
        ...

    async def known_people(self, source: str, limit: int) -> Sequence[str]:
        """Return the ids of people of this source who have written to the bot, the latest first."""
        ...


class OpenQuestions(Protocol):
    """The questions of tools to their askers during a call, kept while the claim that waits for the answer holds.

    A question has a name in its turn, `key`. The caller encodes its text and the answer as JSON.
    """

    async def open(self, claim: Claim, key: str, asked: str, now: datetime, until: datetime, most: int) -> bool:
        """Store a question that its asker may answer until `until`; False if `most` questions already wait for them."""
        ...

    async def answered(self, turn: int, key: str) -> tuple[ElicitAction, str] | None:
        """Return the action and the filled-in values; None while there is no answer."""
        ...

    async def close(self, turn: int, key: str) -> None:
        """Erase the question and its answer."""
        ...

    async def waiting(self, person: str, now: datetime) -> list[OpenQuestion]:
        """Return the questions that wait for this person, the oldest first."""
        ...

    async def answer(
        self, turn: int, key: str, person: str, filled: str, action: ElicitAction | None, now: datetime
    ) -> AnswerOutcome:
        """Store the values that this person filled in; with an action they are the final answer."""
        ...
