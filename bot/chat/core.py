"""What the chat bot gives to the features that are built on it, as one value."""

from collections.abc import Callable, Collection, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Protocol

from agent.incoming import Incoming
from agent.memory.documents import Documents
from agent.ports.acting import Hands
from agent.ports.acts import Acts
from agent.ports.api_tokens import ApiTokens
from agent.ports.clock import Clock
from agent.ports.conversations import Conversations, Summaries, WorkingSet
from agent.ports.feedback import Feedback
from agent.ports.forgetting import Forgetting
from agent.ports.handoffs import Handoffs
from agent.ports.jobs import Jobs
from agent.ports.ledger import Ledger
from agent.ports.memory import Facts, Memories, Profiles
from agent.ports.preferences import Preferences
from agent.ports.recent_writes import RecentWrites
from agent.ports.replies import Replies
from agent.ports.spending import Spending
from agent.ports.tool_audit import ToolAudit
from agent.ports.webhooks import EventPlatform, WebhookEvents
from agent.ports.written_turns import WrittenTurns
from agent.schedules.port import SchedulePlatform, Schedules
from bot.chat.access.admission import AdmissionControl
from bot.chat.access.readers import Readers
from bot.chat.approvers import ApproverPlatform
from bot.chat.attachments.reading import FilesNow
from bot.chat.foreground import ForegroundPriority
from bot.chat.forums import ForumPlatform
from bot.chat.learning_model import LearningModel
from bot.chat.ports import NO_BUDGETS, BudgetChecks, ReadHistory
from bot.chat.reply.surface import Delete, Surface
from bot.chat.telemetry import SILENT, Telemetry
from bot.chat.turns.control import RegisteredTurns


class Repositories(Protocol):
    """The parts of the store that features use."""

    @property
    def acts(self) -> Acts: ...
    @property
    def api_tokens(self) -> ApiTokens: ...
    @property
    def audit(self) -> ToolAudit: ...
    @property
    def conversations(self) -> Conversations: ...
    @property
    def documents(self) -> Documents: ...
    @property
    def facts(self) -> Facts: ...
    @property
    def feedback(self) -> Feedback: ...
    @property
    def forgetting(self) -> Forgetting: ...
    @property
    def handoffs(self) -> Handoffs: ...
    @property
    def jobs(self) -> Jobs: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def memories(self) -> Memories: ...
    @property
    def preferences(self) -> Preferences: ...
    @property
    def profiles(self) -> Profiles: ...
    @property
    def recent_writes(self) -> RecentWrites: ...
    @property
    def replies(self) -> Replies: ...
    @property
    def schedules(self) -> Schedules: ...
    @property
    def spending(self) -> Spending: ...
    @property
    def summaries(self) -> Summaries: ...
    @property
    def webhook_events(self) -> WebhookEvents: ...
    @property
    def working_set(self) -> WorkingSet: ...
    @property
    def written_turns(self) -> WrittenTurns: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformAccess:
    """What features ask of platforms, by the source of their messages. The mappings follow who is connected."""

    schedules: Mapping[str, SchedulePlatform]
    """Know the places and people of schedules."""
    files_now: Mapping[str, FilesNow]
    """List the current attachments of a message that was answered."""
    deletions: Mapping[str, Delete] | None = None
    """Delete pages of replies; None in a process that shows none on a platform."""
    approvers: Mapping[str, ApproverPlatform] = field(default_factory=dict[str, ApproverPlatform])
    """Know who may approve calls of others, and reach them."""
    forums: Mapping[str, ForumPlatform] = field(default_factory=dict[str, ForumPlatform])
    """Know the posts of forums."""
    events: Mapping[str, EventPlatform] = field(default_factory=dict[str, EventPlatform])
    """Know the places of webhooks' events."""
    hands: Mapping[str, Hands] = field(default_factory=dict[str, Hands])
    """Act on platforms for the people who ask there."""
    histories: Mapping[str, ReadHistory] = field(default_factory=dict[str, ReadHistory])
    """Take in what the database is missing of a platform's messages."""
    others: Callable[[], int | None] = lambda: None
    """Returns how many other processes serve platforms on the same database; None if that is unknown."""
    sources: Callable[[], Collection[str]] = tuple
    """Returns the sources that are connected."""
    own_surfaces: MutableMapping[str, Callable[[Incoming], Surface]] = field(
        default_factory=dict[str, Callable[[Incoming], Surface]]
    )
    """Where a feature shows the replies to questions of a source of its own, while this process serves it."""
    attaches_files: bool = False
    """Whether a file can be sent with an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    store: Repositories
    clock: Clock
    platforms: PlatformAccess
    learning_model: Callable[[], LearningModel]
    """Returns the model of work in the background."""
    operates: Callable[[str], bool]
    """Whether a person is one of the bot's operators."""
    tool_timeout_s: float
    budgets: BudgetChecks = NO_BUDGETS
    admission: AdmissionControl | None = None
    """Decides who may ask; None at a terminal, whose user may."""
    readers: Readers | None = None
    """Who reads which group; None where no platform can say."""
    turns: RegisteredTurns = field(default_factory=RegisteredTurns)
    """The turns of this process, which begin after features are built."""
    foreground: ForegroundPriority = field(default_factory=ForegroundPriority)
    telemetry: Telemetry = SILENT
