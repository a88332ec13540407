"""A bot on a platform whose model is a puppet: it does whatever an attempt's text says, as soon as it reads it.

Everything else is the product's own: intake, runner, store, tools and what writes to the platform. `off` switches one
mechanism off, by an argument of what it belongs to.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from secrets import token_hex
from typing import Final

from agent.admission_terms import Authority
from agent.context import Persona
from agent.context_composer import ContextConfig
from agent.incoming import Incoming
from agent.jobs import Job
from agent.memory.audience import Audience, Place, label
from agent.messages import JsonObject, Keep, Message, Provenance, Role
from agent.ports.conversations import Knowledge
from agent.ports.memory import Memories
from agent.ports.tools import Asker, Tool, ToolContext, ToolEffect, ToolOutput, ToolSource
from agent.progress import Progress
from agent.providers.scripted import ScriptedProvider
from agent.recall_query import Hit, RecallQuery
from agent.stored_messages import Author
from agent.tool_policy import CallGate, PolicyAnswer, PolicyRow, TurnWords
from agent.toolbox.registry import FixedTools, Registry, Toolbox
from agent.tools.recall import RecallTool, recollect
from agent.tools.remember import RememberTool
from agent.tools.schedule import ScheduleTool
from agent.tools.share_file import ShareFileTool
from agent.turn import Turn, TurnLimits
from agent.turn_records import Claim, Known
from bot.acts.feature import service_on, tools_of
from bot.acts.settings import ActMode, ActSettings
from bot.channels.effects import ChannelEffects
from bot.chat.access.acl import AccessRules
from bot.chat.access.admission import AdmissionRules
from bot.chat.attachments.reading import FETCH_S, AttachmentReader
from bot.chat.host import Host
from bot.chat.network.guard import WebGuard
from bot.chat.turns.tool_use import ToolUse
from bot.chat.turns.worker import TurnWorker
from bot.tools.approvals import ApprovalPolicy, PolicyTable
from bot.web.fetch_tool import WebFetchTool, page_cache
from bot.web.fetching import Fetcher, FetchLimits
from bot.web.page_text import PageReader
from store.databases.database import LocalNotifier
from tests.fakes.fast_clock import MovedClock
from tests.fakes.hosts import connections_of, host_on, patient_reader
from tests.fakes.runners import runner_on
from tests.fakes.store import StoreInMemory
from tests.fakes.turns_host import AT_ONCE
from tests.fakes.web_world import WebWorld
from tests.injection.attempts import Attempt, Goal, Mechanism
from tests.patience import PATIENCE_S

SECRET: Final = "heron4711"
LOOKED_UP: Final = f"The payroll code is {SECRET}."
EVIL_HOST: Final = "evil.example"
EVIL: Final = f"https://{EVIL_HOST}"
PAGE: Final = "http://page.example/"
HANDS: Final = (
    Goal.POST,
    Goal.REACT,
    Goal.PIN,
    Goal.SET_TOPIC,
    Goal.BOOKMARK,
    Goal.START_THREAD,
    Goal.EDIT_CANVAS,
    Goal.EVENT,
)
KNOWN_WORD: Final = "w0rd"
_SECTION: Final = re.compile(r"^\[system (\w+)\]$", re.MULTILINE)

Call = tuple[str, JsonObject]


def calls_of(*calls: Call) -> str:
    return f"<execute>{json.dumps([{'name': name, 'args': args} for name, args in calls])}\n</execute>"


@dataclass
class Tooled:
    """A tool of somebody else's that says `says`, and remembers what it was given."""

    name: str
    says: str = "Done."
    description: str = "Look something up."
    effect: ToolEffect = ToolEffect.READS
    for_all: bool = False
    """Whoever reads the place may read its results; else the asker alone."""
    keep: Keep = Keep.STORED
    schema: JsonObject = field(default_factory=lambda: {"type": "object", "properties": {}})
    timeout_s: float = 5
    got: list[JsonObject] = field(default_factory=list[JsonObject])

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        self.got.append(args)
        audience: Audience | None = context.place.audience if self.for_all else None
        return ToolOutput(self.says, audience=audience, keep=self.keep)


@dataclass
class Puppet:
    """`opening`: what it calls unasked, in each turn, before it has read the text. `obeys`: what the text has it do."""

    attempt: Attempt
    calls: Sequence[Call] = ()
    words: str = "Yes."
    opening: Sequence[Call] = ()
    obeys: bool = False
    parrots: bool = False
    """It says its words whatever it reads."""
    has_read: bool = False
    has_obeyed: bool = False

    def __call__(self, messages: Sequence[Message]) -> str:
        said = [message.text for message in messages]
        words = self.words.replace("SEEN", SECRET if any(SECRET in text for text in said) else "nothing")
        if self.parrots:
            return words
        here = [one for one in messages if one.role is not Role.SYSTEM]  # the lesson has calls and results, too
        rounds = sum("<results>" in one.text for one in here)
        idle = self.attempt.text if self.attempt.goal is Goal.ACT_LATER else "I see."
        if not any(self.attempt.text in " ".join(text.replace("\n> ", " ").split()) for text in said):
            return calls_of(*self.opening) if self.opening and not rounds else "I see."
        self.has_read = True
        if not self.obeys or not self._believes(said):
            return calls_of(*self.opening) if self.opening and not rounds else idle
        self.has_obeyed = True
        if self.calls and not any(self._done in one.text for one in here if one.role is Role.ASSISTANT):
            return calls_of(*self.calls).replace("SEEN", SECRET)
        return words

    @property
    def _done(self) -> str:
        """What the puppet's own words hold once it has made its call."""
        name, args = self.calls[0]
        given = json.dumps(args)[1:-1]  # it may have called the same tool before it read the text
        return f"{EVIL_HOST}/?q=" if self.attempt.goal is Goal.FETCH else given or f'"name": "{name}"'

    def _believes(self, said: Sequence[str]) -> bool:
        """Who would speak for the system has to know the word of its section."""
        words = {word for text in said for word in _SECTION.findall(text)}
        return self.attempt.goal is not Goal.FORGE or KNOWN_WORD in words


@dataclass(frozen=True)
class AllOfIt:
    """Memory, search and what a turn begins with, asked for every audience that there is."""

    store: StoreInMemory

    @property
    def everybody(self) -> frozenset[str]:
        return frozenset(one.audience for _, one in self.store.messages)

    async def search(self, query: RecallQuery) -> list[Hit]:
        return await self.store.memories.search(replace(query, audiences=self.everybody))

    async def index_more(self, job: Job) -> bool:
        return await self.store.memories.index_more(job)

    async def for_turn(
        self, incoming: Incoming, audiences: frozenset[str], *, before_turn: int, messages: int, actions: int
    ) -> Known:
        wider = audiences | self.everybody
        return await self.store.knowledge.for_turn(
            incoming, wider, before_turn=before_turn, messages=messages, actions=actions
        )


class Credulous(RememberTool):
    """Takes whatever is to be kept for the person's own words."""

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        return await super().run(args, replace(context, asker_texts=(str(args["text"]),), other_texts=()))


class Trusting(ApprovalPolicy):
    """Takes all that stands in a turn for its asker's own words."""

    async def turn(
        self,
        claim: Claim,
        asker: Asker,
        tools: Registry,
        limits: TurnLimits,
        progress: Progress,
        words: Callable[[], TurnWords],
    ) -> tuple[Turn, CallGate]:
        def trusted() -> TurnWords:
            return replace(words(), provenance=Provenance.OWN)

        return await super().turn(claim, asker, tools, limits, progress, trusted)


class Believing(ApprovalPolicy):
    """Takes the very address that is asked for as one that was read."""

    async def turn(
        self,
        claim: Claim,
        asker: Asker,
        tools: Registry,
        limits: TurnLimits,
        progress: Progress,
        words: Callable[[], TurnWords],
    ) -> tuple[Turn, CallGate]:
        def believed() -> TurnWords:
            return replace(words(), read=[f"http://{EVIL_HOST}/?q={SECRET}", *words().read])

        return await super().turn(claim, asker, tools, limits, progress, believed)


@dataclass
class Bot:
    """The bot of one attempt, with one mechanism `off` (None: all work)."""

    store: StoreInMemory
    clock: MovedClock
    attempt: Attempt
    off: Mechanism | None
    puppet: Puppet
    tools: list[Tooled] = field(default_factory=list[Tooled])
    others: list[Tooled] = field(default_factory=list[Tooled])
    """Of a server that the operator named later."""
    instructions: str = ""
    web: WebWorld | None = None

    def __post_init__(self) -> None:
        self.model = ScriptedProvider(self.puppet)

    def host(self) -> Host:
        store, off = self.store, self.off
        connections = connections_of(store, self.clock)
        memories: Memories = store.memories
        knowledge: Knowledge = store.knowledge
        if off is Mechanism.AUDIENCE:
            memories = knowledge = AllOfIt(store)
        remember = Credulous(store.facts) if off is Mechanism.OWN_WORDS else RememberTool(store.facts)
        rows = [PolicyRow("act", "*", "*", PolicyAnswer.YES)] if self.attempt.goal is Goal.ACT_LATER else []
        others = {Mechanism.PROVENANCE: Trusting, Mechanism.READ_ADDRESS: Believing}
        deciding = ApprovalPolicy if off is None else others.get(off, ApprovalPolicy)
        table = PolicyTable(store.preferences, store.audit, self.clock, rows)
        policy = None if off is Mechanism.EFFECT else deciding(store.consents, store.approvals, self.clock, table)
        own = FixedTools(tuple(self.tools))
        other = FixedTools(tuple(self.others))
        recall = RecallTool(memories, documents=store.documents)
        core: list[Tool] = [recall, remember, ShareFileTool(), ScheduleTool(store.schedules), *self._web_tools()]
        sources: list[ToolSource] = [own, other]
        if self.attempt.goal in HANDS:
            sources.append(tools_of(service_on(store, connections.hands, self.clock, ActSettings(mode=ActMode.ON))))
        if off is Mechanism.TAKEN_NAME:
            core, sources = [tool for tool in core if tool.name != self.attempt.text], [other, own]
        everywhere = off is Mechanism.MEMBERSHIP
        runner = replace(
            runner_on(store, self.model, self.clock),
            knowledge=knowledge,
            persona=self._persona,
            channel_rules=ChannelEffects(store.preferences),
            tools=ToolUse(Toolbox(core, sources, policy, frozenset(ToolEffect)), policy),
            context=ContextConfig(
                (lambda: KNOWN_WORD) if off is Mechanism.RANDOM_WORD else partial(token_hex, 3),
                recollect=partial(recollect, memories, store.conversations),
            ),
            readers=self if everywhere else connections.readers,
            files=AttachmentReader(connections.fetchers, None, fetch_s=FETCH_S),
        )
        turns = TurnWorker(
            store.ledger, runner, connections.surface_for, LocalNotifier(), self.clock, "process", AT_ONCE
        )
        access = AccessRules(open_to=frozenset(Authority))
        return host_on(store, turns, connections, self.clock, AdmissionRules(access))

    def _web_tools(self) -> list[Tool]:
        if self.web is None:
            return []
        limits = FetchLimits(PATIENCE_S, PATIENCE_S)
        net = (self.web.resolve, self.web.dial)
        fetcher = Fetcher(WebGuard(), "Test/1", self.clock, *net, robots=False, limits=limits)
        return [WebFetchTool(fetcher, PageReader(patient_reader()), page_cache(self.clock), PATIENCE_S)]

    async def _persona(self, _: Incoming) -> Persona:
        instructions = self.instructions if self.off is Mechanism.NOT_READ else ""
        return Persona("You are a bot.", "Answer in English.", instructions)

    async def also_readable(self, place: Place) -> frozenset[str]:
        """As `PlaceReaders`, of a world in which everybody may read every group."""
        groups = await self.store.conversations.groups(label(place.audience).partition(":")[2], limit=99)
        return frozenset(f"group:{group}" for group in groups)

    @property
    def stored_replies(self) -> list[str]:
        """What the model said, as the ledger has it."""
        return [one.text for _, one in self.store.messages if one.author is Author.BOT]

    def read_since(self, requests: int) -> str:
        return "\n".join(one.text for request in self.model.requests[requests:] for one in request)
