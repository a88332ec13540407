"""Tool calls that wait for decisions: of their askers, or of those whom the tool policy names."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Final

from agent.approvers import Approvers
from agent.budget_days import BudgetPause
from agent.incoming import Incoming
from agent.messages import Consent, ToolCall
from agent.progress import Progress

CONSENT_TIME: Final = timedelta(days=1)  # After a day without a decision, the asker has forgotten the question
MAX_APPROVERS: Final = 5  # Asked about one call: more people would only be interrupted
MAX_REASON_CHARS: Final = 500  # A few sentences, which the model reads
SENDING: Final = ("?",)  # The pages of a message that is being sent: it may be there
REMIND_BEFORE: Final = timedelta(hours=3)  # The end of the time: enough to see the reminder and to decide


class ConsentOutcome(Enum):
    """The result of an asker's decision about a call."""

    KEPT = auto()
    """Stored; the turn waits for a decision about another call."""
    GOES_ON = auto()
    ALLOWED_BEFORE = auto()
    REFUSED_BEFORE = auto()
    NOT_THEIRS = auto()
    """Somebody else decides. Nobody approves their own call where the policy names others."""
    OVER = auto()
    """The turn no longer waits: it was stopped or forgotten, or the time is over."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """A call that waits for its asker's decision. `key`: see `agent.progress.consent_key`; `asked`: the question."""

    turn: int
    key: str
    call: ToolCall
    asked: str


@dataclass(frozen=True, slots=True)
class PutAside:
    """A turn that waits, no longer than `until`, for its asker's decision about these calls. `joined`: the turns whose
    messages it has read. `pause`: if it waits for a decision about a budget, and for no call.
    """

    calls: Mapping[str, ToolCall]
    until: datetime
    joined: tuple[int, ...] = ()
    pause: BudgetPause | None = None


def wait_until(progress: Progress, now: datetime) -> datetime:
    """Return until when the asker may decide about the newest calls."""
    return (progress.steps[-1].time or now) + CONSENT_TIME


APPROVAL: Final = "approval"  # The kind of job that asks those who may approve a turn's calls; its key is the turn


@dataclass(frozen=True, slots=True)
class AskedApprover:
    """A person who is asked to approve a call. `pages`: the messages that show them so, as page ids of their platform;
    empty before they are sent. `consent`: their own decision, NOT_NEEDED before they decide; `reason`: why they denied.
    `closed`: what they are shown says how it ended. `reminded`: they were reminded, or do not need to be.
    """

    person: str
    pages: tuple[str, ...] = ()
    consent: Consent = Consent.NOT_NEEDED
    reason: str = ""
    closed: bool = False
    reminded: bool = False


@dataclass(frozen=True, slots=True)
class Approval:
    """A call that others than its asker decide about. `call`: None once it can no longer be decided. `question`: whose
    turn makes it. `consent`: AWAITED while it can be decided. `people`: who was asked or has decided.
    """

    turn: int
    key: str
    tool: str
    call: ToolCall | None
    rule: Approvers
    question: Incoming
    until: datetime
    consent: Consent
    people: tuple[AskedApprover, ...]

    @property
    def given(self) -> int:
        """How many have approved it."""
        return sum(each.consent is Consent.GIVEN for each in self.people)


def is_approved(rule: Approvers, approval: Approval | None, asker: str) -> bool:
    """Return whether a call was approved by whom this rule names: by enough different people, none of them the asker,
    who were asked under the same rule.
    """
    if approval is None or approval.rule != rule:
        return False
    approving = {each.person for each in approval.people if each.consent is Consent.GIVEN}
    return len(approving - {asker}) >= rule.needed
