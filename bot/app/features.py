"""The features of the bot.

A feature is a folder of `bot/`, and a line in the list that `features` returns. Its folder builds its value
(`bot.chat.feature.Feature`) from the core that all features share, from its own settings, and from its service where a
bot on platforms has another one than a bot at a terminal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Final

from agent.errors import SettingsError
from agent.machine import new_id, new_secret
from agent.ports.tools import NO_SERVERS, ToolSource
from agent.toolbox.registry import FixedTools, Toolbox
from agent.tools.present import PresentTool
from bot.acts.feature import open_acts
from bot.api.feature import open_api
from bot.api.mcp_server import feature as mcp_server
from bot.app import parts
from bot.app import texts as app_texts
from bot.app.from_settings import access_rules, http_address
from bot.app.opened import Opened
from bot.app.persona import command_names
from bot.app.settings import Settings
from bot.budgets import feature as budgets
from bot.channels import feature as channels
from bot.channels.ambient import AmbientService
from bot.channels.effects import ChannelEffects
from bot.channels.service import PlaceService
from bot.chat import conversations, files
from bot.chat.commands.declaration import BoundCommands, by_name
from bot.chat.commands.whoami import WhoIs
from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.chat.message_events import EventsOfFeatures
from bot.chat.ports import ModelChoices
from bot.connect import feature as connect
from bot.explanations import feature as explanations
from bot.explanations.service import ExplanationService
from bot.feedback import feature as feedback
from bot.forgetting.feature import PlatformForgetting, open_forgetting
from bot.forgetting.retention import VendorCopies
from bot.forgetting.service import ForgetService
from bot.forums import feature as forums
from bot.handoff.feature import open_handoff
from bot.knowledge import feature as knowledge
from bot.knowledge.service import KnowledgeService
from bot.memory.feature import Memory, open_memory
from bot.memory.policies import PolicyService
from bot.memory.service import MemoryService
from bot.models import feature as models
from bot.operators import feature as operators
from bot.operators.service import OperatorService
from bot.python import feature as python
from bot.recovery import feature as recovery
from bot.schedules import feature as schedules
from bot.settings.installation import DISTRIBUTION
from bot.tools import feature as tools
from bot.tools.approvals import ApprovalService
from bot.tools.approvers import ApproverService
from bot.tools.commands import ToolsService
from bot.tools.plugins import feature as plugins
from bot.tools.questions import QuestionService
from bot.tools.user_questions import UserQuestions
from bot.web import feature as web
from bot.web.feature import page_reader
from bot.webhooks import feature as webhooks
from bot.webhooks.config import Hook
from bot.webhooks.settings import hooks_of

NO_HOOKS: Final[Mapping[str, Hook]] = {}
SHARE_OF_EVENTS: Final = 4  # One in so many turns at once posts an event, and as many answer questions about events


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The services that a bot on platforms and one at a terminal have each in their own way."""

    memories: MemoryService
    policies: PolicyService
    knowledge: KnowledgeService
    models: ModelChoices
    operators: OperatorService
    places: PlaceService | None = None
    """None where there are no channels; then nothing is answered unasked, either."""
    ambient: AmbientService | None = None
    forgetting: PlatformForgetting | None = None
    platform_tools: Sequence[ToolSource] = ()
    """The tools that read platforms."""
    delivers_webhooks: bool = False
    """Whether this process delivers outgoing webhooks."""
    offers_work: bool = True
    """Whether the bot outlives the answer to a question, so that a model may begin long work, or ask the person
    something.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The features of one bot, and those of their parts that its turns and its platforms use."""

    all: Sequence[Feature]
    memory: Memory
    forgetting: ForgetService
    tools: ToolsService
    copies: VendorCopies
    """What vendors of models store for a while."""

    @property
    def commands(self) -> BoundCommands:
        return by_name(command for feature in self.all for command in feature.commands)

    @property
    def messages(self) -> EventsOfFeatures:
        return EventsOfFeatures([feature.messages for feature in self.all if feature.messages is not None])


def features(settings: Settings, core: Core, opened: Opened, services: Services) -> Features:
    """Raises SettingsError."""
    store = opened.store
    who = WhoIs(access_rules(settings.access), ChannelEffects(store.preferences), core.clock)
    copies = VendorCopies(store.jobs, core.clock, opened.forget_handles)
    memory = open_memory(
        core,
        settings.memory,
        services.memories,
        services.policies,
        meanings=opened.meanings,
        has_budget=parts.budget_allowances(settings, store).may_spend,
        named=command_names(settings),
    )
    forgetting = open_forgetting(
        core,
        settings.forgetting,
        copies,
        learn_at=(lambda _: None) if memory.learner is None else memory.learner.due,
        revoke=partial(opened.servers.revoke, store.tool_accounts),
        platforms=services.forgetting,
    )
    code = python.feature(
        core, settings.python, store.conversations, opened.reader, store.saved_files, parts.code_budget(settings, store)
    )
    programs = open_api(core, settings.api, services.models, new_secret, new_id, parts.person_posts(settings.acts))
    acts = open_acts(core, settings.acts)
    extensions = parts.extension_service(settings, core, store)
    handoff = open_handoff(core, settings.handoff, store.approvals, alone=services.places is None)
    listed = (
        conversations.feature(services.models, core.turns, who),
        forgetting.feature,
        connect.feature(core, settings.connect, new_secret),
        budgets.feature(settings.budgets, parts.budget_service(settings, store, core.turns.wake), extensions),
        memory.feature,
        files.feature(core, store.conversations, opened.reader),
        Feature(name="presentations", tools=[PresentTool(core.tool_timeout_s)]),
        plugins.feature(core, parts.plugins_in_use(settings)),
        schedules.feature(core, offers_work=services.offers_work),
        channels.feature(services.places),
        *(() if services.ambient is None else (services.ambient.feature,)),
        knowledge.feature(core, services.knowledge, page_reader(settings.web, core.clock)),
        web.feature(core, settings.web),
        code,
        explanations.feature(ExplanationService(store.explanations, services.memories.audiences)),
        feedback.feature(core, store.explanations),
        forums.feature(core),
        handoff.feature,
        models.feature(services.models, None if services.places is None else opened.place_keys),
        operators.feature(services.operators),
        recovery.feature(core),
        programs.feature,
        *((tools.asking_feature(),) if services.offers_work else ()),
        acts.feature,
        webhooks.feature(core, _hooks(settings, services), slots=max(1, settings.turns.max_running // SHARE_OF_EVENTS)),
    )
    if services.delivers_webhooks:
        listed = (*listed, parts.outgoing_webhooks(settings, core, store))
    acting = [*services.platform_tools, *acts.sources, *handoff.sources]
    tools_of_all = toolbox(settings, opened, listed, acting)
    approvers = ApproverService(
        store.approvals, store.jobs, store.audit, tools_of_all, core.clock, core.turns.wake, core.platforms.approvers
    )
    decisions = [extensions, *([] if handoff.service is None else [handoff.service])]
    approvals = ApprovalService(tools_of_all, opened.policy, core.clock, core.turns.wake, approvers, decisions)
    questions = QuestionService(store.open_questions, core.clock)
    asked = UserQuestions(store.asked_questions, store.consents, core.clock, core.turns.wake)
    tools_service = ToolsService(approvals, questions, asked, opened.servers, core.operates)
    every = (*listed, tools.feature(tools_service))
    mcp = mcp_server.feature(
        programs,
        settings.api,
        store,
        approvals.toolbox,
        opened.policy.rows,
        by_name(command for feature in every for command in feature.commands),
        "" if programs.asking is None else http_address(settings),
        new_secret,
        version(DISTRIBUTION),
        partial(web.route, settings.web),
        opened.hooks,
    )
    return Features(
        all=(*every, mcp),
        memory=memory,
        forgetting=forgetting.service,
        tools=tools_service,
        copies=copies,
    )


def _hooks(settings: Settings, services: Services) -> Mapping[str, Hook]:
    """Return the incoming webhooks; none at a terminal. Raises SettingsError."""
    hooks = hooks_of(settings.webhooks, settings.webhook_variables) if services.places is not None else NO_HOOKS
    if hooks and settings.http.listen is None:
        raise SettingsError(app_texts.WEBHOOKS_UNREACHABLE)
    return hooks


def toolbox(
    settings: Settings, opened: Opened, features: Sequence[Feature], platforms: Sequence[ToolSource]
) -> Toolbox:
    """Return all tools: those of features, the operator's own, those that read platforms, and those of tool servers.

    Raises SettingsError if the operator's tools cannot be loaded.
    """
    own, servers = parts.own_tools(settings), opened.sources
    return Toolbox(
        [tool for feature in features for tool in feature.tools],
        [*([FixedTools(own)] if own else ()), *platforms, *servers],
        opened.policy,
        servers=servers[0] if servers else NO_SERVERS,
    )
