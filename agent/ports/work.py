"""The ports of work: the durable lists of turns and of jobs, and what wakes those who do it.

Ids have the forms of `agent.records`; `owner` is a worker's own id, which nobody else has. Whatever asks the store may
raise StoreError, and StoreUnavailable if the same may work later.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from agent.admission_terms import Terms
from agent.events import Outcome
from agent.memory.audience import Place
from agent.records import Accepted, Answered, Claim, Claiming, Closing, Incoming, Job, Load, ReplyVerdict, Waiting


class Ledger(Protocol):
    """The durable list of turns. Every write after `claim` is fenced by the claim's epoch and raises LeaseLost."""

    async def accept(
        self, incoming: Incoming, terms: Terms | None = None, claiming: Claiming | None = None
    ) -> Accepted:
        """Store the message and its turn in one transaction, once; in the same one, `claim` for a free place, if given.

        Raises TermsNotMet, and stores nothing, if it is new and `terms` do not hold.
        """
        ...

    async def record_context_message(self, incoming: Incoming) -> Accepted:
        """Store the message, once, as context of its conversation: its turn is over before it begins."""
        ...

    async def restrict_place(self, channel: str, place: Place, now: datetime) -> int:
        """A channel has become `place`, which fewer can read: what it holds for its team belongs there from now on,
        with what came of it. How many messages that were. `accept` does it, too, where it finds it.
        """
        ...

    async def claim(self, claiming: Claiming) -> Claim | None:
        """Take a turn whose runner's lease ran out, else a waiting one whose conversation has none running.

        Of those the person's of whom the fewest run (and fewer than `per_person`), who was served longest ago; the
        oldest of theirs.
        """
        ...

    async def renew(self, claim: Claim, now: datetime, lease: timedelta) -> None:
        """Hold the turn until `now` + `lease`."""
        ...

    async def save(self, claim: Claim, *, progress: str | None = None, reply_ref: str | None = None) -> None:
        """Keep how far the turn got, or which pages show its reply. Progress makes its attempts count anew."""
        ...

    async def set_text(self, claim: Claim, text: str) -> None:
        """Put `text` in place of the question's words: it was spoken, and has been listened to."""
        ...

    async def finish(self, claim: Claim, closing: Closing, now: datetime) -> bool:
        """Store the reply and everything else of `closing`, clear progress and payload, and end the turn.

        Whether other turns wait: perhaps for this one.
        """
        ...

    async def release(self, claim: Claim) -> None:
        """Give an unfinished turn back, to be claimed by anybody at once. This claim does not count as an attempt."""
        ...

    async def stop(self, conversation: str) -> list[int]:
        """Mark the turns of a conversation that wait or run as to be stopped, whoever runs them; the oldest first."""
        ...

    async def stopping(self, owner: str) -> frozenset[int]:
        """The turns that this worker runs and that somebody, in any process, has marked as to be stopped."""
        ...

    async def withdrawn(self, owner: str) -> frozenset[int]:
        """Those of `stopping` whose question was deleted: what they have shown is to be deleted, too."""
        ...

    async def waiting(self, claim: Claim) -> list[Waiting]:
        """What the same person wrote behind this turn in its conversation, in order: words alone, for the same readers.

        It ends where somebody else wrote, or where more than words came along.
        """
        ...

    async def amend(self, channel: str, message_id: str, text: str) -> bool:
        """Put an edited text in place of a question that still waits; False if it does not."""
        ...

    async def withdraw(self, channel: str, message_id: str, now: datetime) -> bool:
        """End the turn of a question that was deleted, and erase its words; False if it neither waits nor runs.

        One that runs, in whatever process, is marked: see `stopping` and `withdrawn`.
        """
        ...

    async def take_over_turns(self, person: str, family: str, source: str, now: datetime, lease: timedelta) -> int:
        """Let `source` have the open turns that processes which are gone have left of this person; how many.

        Only those whose source is `family` ("terminal"), or begins with it and ":".
        """
        ...

    async def ended(self, turns: frozenset[int]) -> dict[int, Outcome | None]:
        """How those of these turns (row ids) ended that are over; None for one that was forgotten."""
        ...

    async def pages(self, turn: int) -> tuple[str, ...] | None:
        """The pages of the reply to a turn that is over, none if it was forgotten; None while it is open."""
        ...

    async def load(self) -> Load:
        """How many turns run and wait, in all processes together."""
        ...

    async def release_all(self) -> int:
        """Embedded start-up: every lease belongs to a dead process. Frees those turns; returns how many.

        Does nothing where other processes work on the same database: their leases hold, and a dead one's run out.
        """
        ...


class Replies(Protocol):
    """The replies that stand in platforms, as long as their questions and their words are kept."""

    async def by_page(self, source: str, page_id: str, channel: str = "") -> Answered | None:
        """The finished reply of which this is a page, by the platform's ids; None if there is none (any more).

        `channel`: of the question, where page ids are unique only there.
        """
        ...

    async def running_by_page(self, source: str, page_id: str, channel: str = "") -> Answered | None:
        """The reply that is not finished yet and of which this is a page, with the pages that it has so far."""
        ...

    async def by_turn(self, turn: int) -> Answered | None:
        """The finished reply of a turn; None if it shows none (any more)."""
        ...

    async def judge(self, turn: int, person: str, verdict: ReplyVerdict | None, now: datetime) -> bool:
        """Keep what somebody thinks of a reply, in place of what they thought before; None takes it back.

        False if there is no such reply.
        """
        ...

    async def verdicts(self, since: datetime) -> Mapping[ReplyVerdict, int]:
        """How many people think so of replies, of what was judged since then."""
        ...


class Jobs(Protocol):
    """The durable list of work outside of turns. Of one kind and key at most one waits, until the one that runs ends.

    Every write after `claim` is fenced by the job's epoch and raises LeaseLost. Times are moments: whoever means "nine
    o'clock here" reckons it out.
    """

    async def schedule(
        self, kind: str, key: str, payload: str, run_at: datetime, *, person: str = "", conversation: str = ""
    ) -> None:
        """Let this be done, not before `run_at`. One that waits already takes the new payload and time."""
        ...

    async def cancel(self, kind: str, key: str) -> bool:
        """Drop the one that waits. False if there is none."""
        ...

    async def claim(self, kinds: frozenset[str], owner: str, now: datetime, lease: timedelta) -> Job | None:
        """Take the due job of these kinds whose time came first, or one whose worker's lease ran out."""
        ...

    async def renew(self, job: Job, now: datetime, lease: timedelta) -> None:
        """Hold the job until `now` + `lease`."""
        ...

    async def finish(self, job: Job) -> None:
        """It is done: nothing of it stays."""
        ...

    async def postpone(self, job: Job, run_at: datetime) -> None:
        """Try again later. If a newer one of its kind and key waits already, that one stands for both."""
        ...


class Notifier(Protocol):
    """Wakes those who wait for something to do. What is due is also found by looking, so a notification
    may be lost, and one too many does no harm.
    """

    @property
    def is_notified(self) -> bool:
        """Whether `notify` was called since the last wait ended."""
        ...

    def notify(self) -> None:
        """Wake whoever waits, in every process that works on the same ledger. Returns at once."""
        ...

    async def wait(self, timeout_s: float) -> None:
        """Wait until there is a notification, or was one since the last wait, or the time is over."""
        ...


# --------------------------------------------------------------------------------------------------
# The port of membership: who can read which group place now, as the platform says.


class Membership(Protocol):
    """One platform's answer. It is asked anew each time: whoever asks remembers what was said, and for how long."""

    async def readable(self, person: str, places: Sequence[str]) -> Mapping[str, bool]:
        """For each of these group places ("slack:T0123:C0123", as in GroupAudience): can this person read it now?

        A place that is missing in the answer is one of which nothing is known. Never raises; whoever asks bounds the
        time.
        """
        ...
