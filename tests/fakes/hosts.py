"""A host built as `bot.app` does it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from agent.machine import new_secret
from agent.memory.documents import Documents
from agent.ports.acts import Acts
from agent.ports.api_tokens import ApiTokens
from agent.ports.budget_days import BudgetDays
from agent.ports.clock import Clock
from agent.ports.consents import Approvals, AskedQuestions, Consents, OpenQuestions
from agent.ports.conversations import Conversations
from agent.ports.explanations import Explanations
from agent.ports.feedback import Feedback
from agent.ports.forgetting import Forgetting
from agent.ports.handoffs import Handoffs
from agent.ports.jobs import Jobs
from agent.ports.ledger import Ledger
from agent.ports.memory import Facts, Profiles
from agent.ports.model import Provider
from agent.ports.operator_sessions import OperatorSessions
from agent.ports.place_keys import PlaceKeys
from agent.ports.preferences import Preferences
from agent.ports.replies import Replies
from agent.ports.saved_files import SavedFilesOfPeople
from agent.ports.spending import Spending
from agent.ports.tool_audit import ToolAudit
from agent.ports.unanswered import UnansweredQuestions
from agent.ports.webhooks import WebhookEvents
from agent.ports.written_turns import WrittenTurns
from agent.providers.rehearsal import RehearsalProvider
from agent.schedules.port import Schedules
from agent.toolbox.registry import Toolbox
from bot.api import feature as api
from bot.api.commands import PersonTokens
from bot.api.settings import ApiSettings
from bot.api.tokens import OwnersAudit, TokenService
from bot.budgets import feature as budgets
from bot.budgets.budgets import BudgetAllowances, Budgets
from bot.budgets.extensions import ExtensionService
from bot.budgets.gate import BudgetGate
from bot.budgets.service import BudgetService
from bot.channels import feature as channels
from bot.channels.ambient import AmbientService
from bot.channels.effects import ChannelEffects
from bot.channels.service import PlaceService
from bot.chat import conversations
from bot.chat.access.acl import AccessRules, Entries
from bot.chat.access.admission import AdmissionControl, AdmissionRules
from bot.chat.access.readers import Readers
from bot.chat.attachments.reader import Reader
from bot.chat.attachments.reading import AttachmentReader
from bot.chat.commands.declaration import by_name
from bot.chat.commands.whoami import WhoIs
from bot.chat.connections import PlatformConnections
from bot.chat.dedupe import Deduplicator
from bot.chat.direct_messages import RollingConversations
from bot.chat.feedback import ReplyFeedback
from bot.chat.host import Host
from bot.chat.learning_model import LearningModel
from bot.chat.message_events import EventsOfFeatures
from bot.chat.messages import ReceivedMessages
from bot.chat.ports import NO_BUDGETS
from bot.chat.reply.surface import ReplyAction
from bot.chat.turns.worker import TurnWorker
from bot.connect import feature as connect
from bot.connect.service import ConnectService
from bot.explanations import feature as explanations_feature
from bot.explanations.service import ExplanationService
from bot.feedback import feature as feedback_feature
from bot.feedback.service import FeedbackService
from bot.forgetting import feature as forgetting_feature
from bot.forgetting.service import ForgetService
from bot.forums import feature as forums_feature
from bot.forums.service import ForumService
from bot.handoff import feature as handoff_feature
from bot.handoff.messages import HandoffMessages
from bot.handoff.people import HandoffPeople
from bot.handoff.service import HandoffService
from bot.knowledge import feature as knowledge_feature
from bot.knowledge.service import KnowledgeService
from bot.memory import feature as memory
from bot.memory.pauses import LearningPauses
from bot.memory.policies import PolicyService
from bot.memory.service import MemoryService
from bot.models import feature as model_feature
from bot.models.choice import ModelChoice
from bot.models.place_keys import PlaceKeyService
from bot.models.service import ModelService
from bot.models.settings import ModelSettings
from bot.models.switch import ModelSwitch
from bot.operators import feature as operator_feature
from bot.operators.report import Health
from bot.operators.service import OperatorLinks, OperatorService
from bot.python.commands import COMMAND as CODE_COMMAND
from bot.python.commands import CodeService
from bot.schedules import feature as schedule_feature
from bot.schedules.service import ScheduleService
from bot.tools import feature as tool_feature
from bot.tools.approvals import ApprovalPolicy, ApprovalService, PolicyTable
from bot.tools.approvers import ApproverService
from bot.tools.commands import ToolsService
from bot.tools.mcp.source import NO_MCP_SERVERS, ToolSignIns
from bot.tools.questions import QuestionService
from bot.tools.user_questions import UserQuestions
from tests.patience import PATIENCE_S

MOST_AMBIENT = 20


def patient_reader() -> Reader:
    """A reader at normal priority: on a busy machine a file would not be read in time."""
    return Reader(PATIENCE_S, niceness=0)


class Stored(Protocol):
    """The parts of a store that a host needs, in memory or not."""

    @property
    def acts(self) -> Acts: ...
    @property
    def api_tokens(self) -> ApiTokens: ...
    @property
    def place_keys(self) -> PlaceKeys: ...
    @property
    def webhook_events(self) -> WebhookEvents: ...
    @property
    def written_turns(self) -> WrittenTurns: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def consents(self) -> Consents: ...
    @property
    def approvals(self) -> Approvals: ...
    @property
    def budget_days(self) -> BudgetDays: ...
    @property
    def open_questions(self) -> OpenQuestions: ...
    @property
    def asked_questions(self) -> AskedQuestions: ...
    @property
    def explanations(self) -> Explanations: ...
    @property
    def feedback(self) -> Feedback: ...
    @property
    def unanswered(self) -> UnansweredQuestions: ...
    @property
    def conversations(self) -> Conversations: ...
    @property
    def documents(self) -> Documents: ...
    @property
    def facts(self) -> Facts: ...
    @property
    def profiles(self) -> Profiles: ...
    @property
    def forgetting(self) -> Forgetting: ...
    @property
    def handoffs(self) -> Handoffs: ...
    @property
    def preferences(self) -> Preferences: ...
    @property
    def spending(self) -> Spending: ...
    @property
    def jobs(self) -> Jobs: ...
    @property
    def schedules(self) -> Schedules: ...
    @property
    def replies(self) -> Replies: ...
    @property
    def audit(self) -> ToolAudit: ...
    @property
    def operator_sessions(self) -> OperatorSessions: ...
    @property
    def saved_files(self) -> SavedFilesOfPeople: ...


@dataclass(frozen=True, slots=True)
class ServedHost(Host):
    """With services of features, of which tests see what platforms made them do."""

    forgetting: ForgetService
    knowledge: KnowledgeService
    memories: MemoryService
    schedules: ScheduleService
    approvers: ApproverService
    extensions: ExtensionService
    forums: ForumService
    handoff_messages: HandoffMessages


def handoff_on(
    store: Stored,
    connections: PlatformConnections,
    clock: Clock,
    wake: Callable[[], None],
    operates: Callable[[str], bool],
    people: Entries = frozenset(),
) -> tuple[HandoffService, HandoffMessages]:
    found = HandoffPeople(store.preferences, store.approvals, connections.approvers, people)
    messages = HandoffMessages(
        handoffs=store.handoffs,
        people=found,
        jobs=store.jobs,
        written=store.written_turns,
        schedules=connections.schedules,
        clock=clock,
        wake=wake,
    )
    return HandoffService(handoffs=store.handoffs, people=found, clock=clock, operates=operates), messages


def forums_on(store: Stored, connections: PlatformConnections, clock: Clock, access: AccessRules) -> ForumService:
    return ForumService(
        forums=connections.forums,
        preferences=store.preferences,
        replies=store.replies,
        jobs=store.jobs,
        clock=clock,
        operates=access.is_operator,
    )


def connections_of(store: Stored, clock: Clock) -> PlatformConnections:
    """Return connections without any platform."""
    pauses = LearningPauses(store.preferences, store.profiles, clock)
    return PlatformConnections(Readers(store.conversations.groups, clock), left_out=pauses.among, polls=store.acts)


def ambient_on(store: Stored, model: Provider | None, clock: Clock, rules: AdmissionRules) -> AmbientService:
    chooses = model or RehearsalProvider(sleep=clock.sleep)
    return AmbientService(
        preferences=store.preferences,
        admission=AdmissionControl(rules, ChannelEffects(store.preferences), NO_BUDGETS, clock),
        spending=store.spending,
        ledger=store.ledger,
        jobs=store.jobs,
        claim_once=Deduplicator(store.preferences).claim_once,
        model=lambda: LearningModel(chooses, can_learn=model is not None),
        clock=clock,
        most=MOST_AMBIENT,
    )


def host_on(
    store: Stored,
    turns: TurnWorker,
    connections: PlatformConnections,
    clock: Clock,
    rules: AdmissionRules = AdmissionRules(),  # noqa: B008 -- frozen
    sign_ins: ToolSignIns = NO_MCP_SERVERS,
    toolbox: Toolbox | None = None,
    questions: QuestionService | None = None,
    asked: UserQuestions | None = None,
    policy: ApprovalPolicy | None = None,
    model: Provider | None = None,
    models: ModelSwitch | None = None,
    gate: BudgetGate | None = None,
    alerts: str = "",
    handoff_people: Entries = frozenset(),
    keys: PlaceKeyService | None = None,
) -> ServedHost:
    """`model`: selects the overheard messages to answer; None: no message is answered, as with a rehearsal. `models`:
    None is one model that users cannot choose.
    """
    audiences = connections.readers.audiences
    if gate is None:
        gate = BudgetGate(BudgetAllowances(Budgets(), store.spending, store.preferences, clock, store.budget_days))
    allowances = gate.allowances
    extensions = ExtensionService(
        days=store.budget_days,
        allowances=allowances,
        rules=gate.rules,
        run_limit=gate.run,
        jobs=store.jobs,
        audit=store.audit,
        approvals=store.approvals,
        written=store.written_turns,
        clock=clock,
        wake=turns.wake,
        platforms=connections.approvers,
        events=connections.events,
        alerts=alerts,
    )
    policy = policy or ApprovalPolicy(
        store.consents, store.approvals, clock, PolicyTable(store.preferences, store.audit, clock)
    )
    ambient = ambient_on(store, model, clock, rules)
    rehearsal = ModelSwitch(ModelSettings(), ModelChoice(None, "", None, "nothing is set"), clock, lambda: 0.0)
    model_service = ModelService(models or rehearsal, store.preferences, rules.access)
    operates = rules.access.is_operator
    forgetting = ForgetService(
        forgetting=store.forgetting,
        ledger=store.ledger,
        jobs=store.jobs,
        preferences=store.preferences,
        clock=clock,
        take_back=turns.take_back,
        sources=connections.sources,
        withdraw=turns.withdraw,
        accounts=connections.readers.connected,
        tell_after_s=(),  # its clock may be fast, and its machine slow
    )
    knowledge = KnowledgeService(
        documents=store.documents,
        forgetting=store.forgetting,
        read=AttachmentReader(connections.fetchers, read_s=PATIENCE_S, reader=patient_reader()).document,
        clock=clock,
        preferences=store.preferences,
        audiences=audiences,
        operates=operates,
        questions=store.unanswered,
    )
    memories = MemoryService(
        facts=store.facts,
        profiles=store.profiles,
        forgetting=store.forgetting,
        preferences=store.preferences,
        conversations=store.conversations,
        spending=store.spending,
        schedules=store.schedules,
        saved_files=store.saved_files,
        clock=clock,
        audiences=audiences,
        operates=operates,
    )
    schedules = ScheduleService(store.schedules, store.preferences, clock, operates)
    toolbox = toolbox or Toolbox(())
    approvers = ApproverService(
        store.approvals, store.jobs, store.audit, toolbox, clock, turns.wake, connections.approvers
    )
    handoff, handoff_messages = handoff_on(store, connections, clock, turns.wake, operates, handoff_people)
    tools = ToolsService(
        ApprovalService(toolbox, policy, clock, turns.wake, approvers, [extensions, handoff]),
        questions or QuestionService(store.open_questions, clock),
        asked or UserQuestions(store.asked_questions, policy.consents, clock, turns.wake),
        sign_ins,
        operates,
    )
    links = OperatorLinks(store.operator_sessions, clock, new_secret, "http://127.0.0.1:8090")
    health = Health(store.ledger, store.replies, store.spending, clock, clock.now(), lambda: (), store.audit)
    admission = AdmissionControl(rules, ChannelEffects(store.preferences), gate, clock)
    places = PlaceService(
        preferences=store.preferences,
        audit=store.audit,
        pauses=LearningPauses(store.preferences, store.profiles, clock),
        model_service=model_service,
        clock=clock,
        access=rules.access,
        most_ambient=MOST_AMBIENT,
        may_act=True,
        forums=connections.forums,
    )
    forums = forums_on(store, connections, clock, rules.access)
    tokens = TokenService(store.api_tokens, clock, new_secret, OwnersAudit(store.audit, clock))
    commands = (
        *conversations.bound_commands(
            model_service, turns, WhoIs(rules.access, ChannelEffects(store.preferences), clock)
        ),
        *api.bound_commands(PersonTokens(tokens, ApiSettings())),
        *budgets.bound_commands(BudgetService(rules.access, allowances, clock)),
        *channels.bound_commands(places),
        CODE_COMMAND.bound(CodeService(store.replies)),
        *connect.bound_commands(
            ConnectService(
                store.preferences,
                clock,
                new_secret,
                connections.schedules,
                admission.refusal,
                connect.audited(store.audit, clock),
            ),
            connections.readers,
        ),
        *explanations_feature.bound_commands(ExplanationService(store.explanations, audiences)),
        *feedback_feature.bound_commands(
            FeedbackService(store.feedback, store.explanations, store.replies, clock, operates)
        ),
        *forgetting_feature.bound_commands(forgetting),
        *forums_feature.bound_commands(forums),
        *handoff_feature.bound_commands(handoff),
        *knowledge_feature.bound_commands(knowledge),
        *memory.bound_commands(memories, PolicyService(store.facts, clock, audiences, operates)),
        *model_feature.bound_commands(
            model_service,
            keys or PlaceKeyService(store=store.place_keys, audit=store.audit, settings=ModelSettings(), clock=clock),
        ),
        *operator_feature.bound_commands(OperatorService(links, operates, health)),
        *schedule_feature.bound_commands(schedules),
        *tool_feature.bound_commands(tools),
    )
    return ServedHost(
        platforms=connections,
        messages=ReceivedMessages(admission, turns, store.ledger, clock),
        admission=admission,
        turns=turns,
        conversations=store.conversations,
        preferences=store.preferences,
        commands=by_name(commands),
        knowledge=knowledge,
        forgetting=forgetting,
        direct_messages=RollingConversations(store.conversations, store.preferences),
        deduplication=Deduplicator(store.preferences),
        suggestions=memories,
        memories=memories,
        schedules=schedules,
        approvers=approvers,
        forums=forums,
        extensions=extensions,
        handoff_messages=handoff_messages,
        feedback=ReplyFeedback(
            store.replies,
            store.ledger,
            store.forgetting,
            store.jobs,
            clock,
            connections.deletions,
            rules.access,
            turns.withdraw,
            ambient.disliked,
            {
                ReplyAction.UNDO: memories.kept.press_undo,
                ReplyAction.CANCEL: schedules.take_back,
                ReplyAction.KEEP: schedules.keep,
                ReplyAction.END: schedules.end,
            },
        ),
        events=EventsOfFeatures((places, ambient, forgetting, forums)),
    )
