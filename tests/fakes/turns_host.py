"""A host that answers: the real one, with real turns, on a store and a model in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import count

from agent.admission_terms import Authority
from agent.context import Persona
from agent.incoming import Incoming
from agent.ports.clock import Clock
from agent.ports.tools import Tool, ToolSource
from agent.ports.transcription import Transcriber
from agent.providers.scripted import ScriptedProvider
from agent.tool_policy import PolicyRow
from agent.toolbox.registry import FixedTools, Toolbox
from agent.tools.recall import RecallTool, recollect
from agent.tools.remember import RememberTool
from agent.tools.share_file import ShareFileTool
from bot.acts.feature import service_on, tools_of
from bot.acts.settings import ActSettings
from bot.budgets.budgets import UNLIMITED, Budget, BudgetAllowances, Budgets, ModelNote
from bot.budgets.gate import NO_EXTENSIONS, BudgetGate, ExtensionRules
from bot.budgets.report import FooterStyle
from bot.channels.effects import ChannelEffects
from bot.chat.access.acl import AccessRules, Entries
from bot.chat.access.admission import AdmissionRules
from bot.chat.attachments.handed_over import text_of_model
from bot.chat.attachments.read_again import ReadAgainTool
from bot.chat.attachments.reading import FETCH_S, AttachmentReader
from bot.chat.feature import Feature
from bot.chat.turns.tool_use import ToolUse
from bot.chat.turns.turn_features import TurnFeatures
from bot.chat.turns.worker import TurnWorker, TurnWorkerLimits
from bot.explanations.notes import WhyNote
from bot.forgetting.notices import EditedNotice
from bot.forums.notes import SolvedNote
from bot.handoff import feature as handoff_feature
from bot.handoff.ask_a_human import handoff_tools
from bot.memory.notices import WithheldNotice
from bot.models.place_keys import PlaceKeyService
from bot.python.chart_tool import ChartTool
from bot.python.conversation_files import ConversationFiles
from bot.python.engine import PythonEngine, RunLimits
from bot.python.notes import CodeNote
from bot.python.tool import PythonTool
from bot.schedules.reports import ScheduleReporter
from bot.schedules.scheduler import schedule_kinds
from bot.schedules.service import LapseNote, ScheduleService
from bot.schedules.work import LongWork
from bot.tools.approvals import ApprovalPolicy, PolicyTable
from bot.tools.approvers import ApproverService
from bot.tools.questions import QuestionService
from bot.tools.user_questions import UserQuestions
from bot.webhooks.config import Hook
from bot.webhooks.dispatcher import event_kinds
from store.databases.database import LocalNotifier
from tests.fakes.fixed_config import WORDED
from tests.fakes.hosts import ServedHost, ambient_on, connections_of, forums_on, handoff_on, host_on, patient_reader
from tests.fakes.runners import runner_on
from tests.fakes.store import StoreInMemory

_owners = count(1)
NO_HOOKS: Mapping[str, Hook] = {}

# Turns of another process are found soon. Looking for them every 50 ms was 7 % of what waiting tests computed. Half
# an hour of `FastClock`: on a busy machine no process may take over a turn that is still being answered.
AT_ONCE = TurnWorkerLimits(sweep_s=0.2, lease=timedelta(minutes=30))


def turns_host(
    store: StoreInMemory,
    model: ScriptedProvider,
    clock: Clock,
    transcriber: Transcriber | None = None,
    fetch_s: float = FETCH_S,
    operators: frozenset[str] = frozenset(),
    limits: TurnWorkerLimits = AT_ONCE,
    tools: Sequence[Tool] = (),
    rows: Sequence[PolicyRow] = (),
    footer: FooterStyle = FooterStyle.OFF,
    budgets: Budgets = Budgets(),  # noqa: B008 -- frozen
    extensions: ExtensionRules = NO_EXTENSIONS,
    run: Budget = UNLIMITED,
    alerts: str = "",
    *,
    earlier: bool = False,
    joins: bool = False,
    judge: ScriptedProvider | None = None,
    code: PythonEngine | None = None,
    hooks: Mapping[str, Hook] = NO_HOOKS,
    acts: ActSettings | None = None,
    explains: bool = False,
    handoff_people: Entries = frozenset(),
    keys: PlaceKeyService | None = None,
) -> ServedHost:
    """Return a host in a simulated process of its own, on a store that may be shared or taken over. Answer with
    `host.turns.serving()`.

    `tools` are added to every bot's own, under the policy with `rows`. `budgets`: what may be spent in a day; `run`: in
    one turn; `alerts`: the channel for alerts about them. `earlier`: past threads about a question come with it.
    `joins`: what a person sends during an answer joins it. `judge`: selects the overheard messages to answer. `code`:
    runs Python code. `hooks`: those whose events it answers. `acts`: lets the bot act for people.
    """
    connections = connections_of(store, clock)
    allowances = BudgetAllowances(budgets, store.spending, store.preferences, clock, store.budget_days)
    gate = BudgetGate(allowances, extensions, run)
    longer = LongWork(store.schedules, connections.schedules, clock)
    policy = ApprovalPolicy(
        store.consents, store.approvals, clock, PolicyTable(store.preferences, store.audit, clock, rows)
    )
    questions = QuestionService(store.open_questions, clock)
    asked = UserQuestions(store.asked_questions, store.consents, clock, lambda: turns.wake())  # noqa: PLW0108 -- made below
    reader = AttachmentReader(connections.fetchers, transcriber, fetch_s=fetch_s, reader=patient_reader())
    again = ReadAgainTool(store.conversations, reader, connections.files_now)
    recall = RecallTool(store.memories, documents=store.documents)
    core: list[Tool] = [recall, RememberTool(store.facts), ShareFileTool(checked=text_of_model), again]
    if code is not None:
        files = ConversationFiles(store.conversations, reader, connections.files_now, store.saved_files)
        core += [PythonTool(code, files, RunLimits()), ChartTool(code)]
    handoff, handoff_messages = handoff_on(
        store,
        connections,
        clock,
        lambda: turns.wake(),  # noqa: PLW0108 -- made below
        operators.__contains__,
        handoff_people,
    )
    sources: list[ToolSource] = [FixedTools(tuple(tools)), connections, handoff_tools(handoff)]
    if acts is not None:
        sources.append(tools_of(service_on(store, connections.hands, clock, acts)))
    toolbox = Toolbox(core, sources, policy)
    approvers = ApproverService(
        store.approvals, store.jobs, store.audit, toolbox, clock, lambda: None, connections.approvers
    )
    access = AccessRules(open_to=frozenset(Authority), operators=operators)
    ambient = ambient_on(store, judge or model, clock, AdmissionRules(access))

    async def usual(_: Incoming) -> Persona:
        return Persona("You are a bot.", "Answer in English.")

    runner = replace(
        runner_on(store, model, clock),
        persona=usual,
        budgets=gate,
        channel_rules=ChannelEffects(store.preferences),
        tools=ToolUse(toolbox, policy, store.audit, questions, asked, approvers),
        context=replace(WORDED, recollect=partial(recollect, store.memories, store.conversations) if earlier else None),
        readers=connections.readers,
        joins=joins,
        features=TurnFeatures(
            [
                Feature(name="forgetting", notes=[EditedNotice(store.forgetting)]),
                Feature(name="budgets", notes=[ModelNote(footer)]),
                Feature(name="memory", notes=[WithheldNotice(store.memories, connections.readers, clock)]),
                Feature(
                    name="schedules",
                    kinds=schedule_kinds(ScheduleReporter(store.schedules), longer),
                    notes=[LapseNote(ScheduleService(store.schedules, store.preferences, clock))],
                ),
                Feature(name="python", notes=[] if code is None else [CodeNote()]),
                ambient.feature,
                Feature(name="webhooks", kinds=event_kinds(hooks)),
                Feature(name="forums", notes=[SolvedNote(forums_on(store, connections, clock, access))]),
                handoff_feature.feature_of(handoff, handoff_messages),
                Feature(name="explanations", notes=[WhyNote()] if explains else []),
            ]
        ),
        files=reader,
    )
    owner = f"process {next(_owners)}"
    turns = TurnWorker(
        store.ledger,
        runner,
        connections.surface_for,
        LocalNotifier(),
        clock,
        owner,
        limits,
        waiting=questions.waiting,
    )
    return host_on(
        store,
        turns,
        connections,
        clock,
        AdmissionRules(access),
        toolbox=toolbox,
        questions=questions,
        asked=asked,
        policy=policy,
        model=judge or model,
        gate=gate,
        alerts=alerts,
        handoff_people=handoff_people,
        keys=keys,
    )
