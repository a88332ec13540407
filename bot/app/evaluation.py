"""Opens a whole bot for `cogency eval`, without platforms and on a database that is removed afterward, for each model
that is examined; and the model that judges.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from agent.citations import FETCH
from agent.errors import CogencyError, SettingsError
from agent.hooks.models import HookedProvider
from agent.hooks.values import HookPoint
from agent.jobs import Job
from agent.machine import CLOCK, fresh_word, new_id
from agent.messages import ModelCall
from agent.patterns import compile_all
from agent.ports.model import Provider
from agent.spending import Spent
from bot.acts.tools import ACT_TOOLS
from bot.app import parts
from bot.app.background import background
from bot.app.from_settings import for_play
from bot.app.opened import open_parts
from bot.app.platforms import build_host
from bot.app.settings import Settings
from bot.budgets.settings import BudgetSettings
from bot.chat.access.readers import Readers
from bot.chat.access.settings import AccessSettings
from bot.chat.connections import PlatformConnections
from bot.chat.core import Core
from bot.chat.host import Host
from bot.evals import texts as eval_texts
from bot.evals.checking import Observation
from bot.evals.judge import Judge
from bot.evals.running import Run
from bot.evals.watching import FREE, TurnWatch
from bot.evals.workspace import Workspace
from bot.memory.meanings import EMBEDDING, Meanings, MeaningWriter
from bot.memory.pauses import LearningPauses
from bot.models.choice import named_choice, open_model
from store.engine import Store

PRESENT: Final = ""  # In place of a model: those of the settings
LIMITS: Final = ("_tokens", "_dollars", "_seconds")  # How the names of the settings of budgets end that limit something
TOOLS_WAIT_S: Final = 20.0  # For tool servers, before the first question
# The names of all tools that the bot itself may have.
OWN_TOOLS: Final = parts.BUILT_IN | {*ACT_TOOLS} | {FETCH, "web_search", "python", "chart"}


@dataclass(frozen=True, slots=True)
class EvalBot:
    """A bot that answers questions of an exam. `name`: of its model, as in reports. `embed`: gives what was said its
    vectors now, which a running bot does within a minute.
    """

    name: str
    host: Host
    core: Core
    watch: TurnWatch
    embed: Callable[[], Awaitable[None]]


@dataclass(slots=True, eq=False)
class EvalBots:
    """The bots of all models, in their order."""

    bots: Sequence[EvalBot]
    judge: Judge | None
    timeout_s: float
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(bot.name for bot in self.bots)

    async def ask(self, run: Run) -> Observation:
        """Raises CogencyError."""
        bot = next(bot for bot in self.bots if bot.name == run.model)
        number = next(self._numbers)
        workspace = Workspace(
            host=bot.host,
            store=bot.core.store,
            clock=CLOCK,
            watch=bot.watch,
            question=run.question,
            number=number,
            timeout_s=self.timeout_s,
            own_tools=OWN_TOOLS,
            before_question=bot.embed,
        )
        return await workspace.ask()

    def paid_calls(self) -> list[ModelCall]:
        """Return all model calls of the bots so far, but for those of the rehearsal."""
        return [call for bot in self.bots for call in bot.watch.calls if call.model != FREE]

    @property
    def is_rehearsal(self) -> bool:
        return all(bot.name == FREE for bot in self.bots)

    def spent(self) -> Spent:
        return sum((bot.watch.spent for bot in self.bots), Spent())

    def unpriced(self) -> str:
        return next((bot.watch.unpriced for bot in self.bots if bot.watch.unpriced), "")


@asynccontextmanager
async def open_eval_bots(
    settings: Settings, models: Sequence[str], judge: str, *, parallel: int, timeout_s: float
) -> AsyncGenerator[EvalBots]:
    """Open a bot for each of these models ("" for the settings' own), and the judge ("" for none).

    Raises SettingsError and StoreError.
    """
    compile_all()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="cogency-eval-")))
        judging = await stack.enter_async_context(_open_judge(settings, judge)) if judge else None
        bots: list[EvalBot] = []
        for number, model in enumerate(models):
            own = for_eval(settings, folder / f"{number}.db", model, parallel)
            bot = await stack.enter_async_context(_open_bot(own))
            if bot.name in {other.name for other in bots}:
                raise SettingsError(eval_texts.SAME_MODEL.format(model=bot.name))
            bots.append(bot)
        yield EvalBots(bots, judging, timeout_s)


def for_eval(settings: Settings, database: Path, model: str, parallel: int) -> Settings:
    """Return the settings of a bot that is examined: those for the page to try the bot, without limits on people, and
    without learning, which would begin a minute after each answer. The plug-ins of the list beside the bot's own
    database stay. A `model` that is named answers alone. Raises SettingsError if that list cannot be read.
    """
    play, everyone = for_play(settings, database), AccessSettings()
    no_limits = {name: None for name in BudgetSettings.__dataclass_fields__ if name.endswith(LIMITS)}
    models = play.models
    if model:
        models = replace(models, model=model, fallback_models=(), channel_models={}, person_models={})
    return replace(
        play,
        access=replace(
            play.access,
            operators=everyone.operators,
            person_per_minute=None,
            person_per_hour=None,
            channel_per_minute=None,
            backlog=None,
        ),
        budgets=replace(BudgetSettings(), footer=play.budgets.footer, **no_limits),
        plugins=replace(play.plugins, folders=parts.plugin_list(settings).folders()),
        memory=replace(play.memory, learning=False, first_notice=False),
        turns=replace(play.turns, max_running=parallel),
        models=models,
    )


@asynccontextmanager
async def _open_bot(settings: Settings) -> AsyncGenerator[EvalBot]:
    watch = TurnWatch()
    async with AsyncExitStack() as stack:
        store = parts.with_telemetry(await stack.enter_async_context(parts.open_store_of(settings)), watch)
        models = await stack.enter_async_context(parts.open_models_of(settings, store))
        readers = Readers(store.conversations.groups, CLOCK)
        pauses = LearningPauses(store.preferences, store.profiles, CLOCK)
        connections = PlatformConnections(readers, left_out=pauses.among, polls=store.acts)
        opening = open_parts(settings, store, models, connections.fetchers, sign_ins=False, telemetry=watch)
        opened = await stack.enter_async_context(opening)
        host, core, every = build_host(settings, opened, connections, watch)
        await stack.enter_async_context(background(core, every.all, new_id()))
        await stack.enter_async_context(host.turns.serving())
        for servers in opened.sources:
            await servers.settle(TOOLS_WAIT_S)
        yield EvalBot(models.name, host, core, watch, await _embedding(opened.meanings, store))


async def _embedding(meanings: Meanings | None, store: Store) -> Callable[[], Awaitable[None]]:
    """Load the model for embeddings, so that the first question does not wait for it, and return what gives all that
    was said its vectors. If the model fails, the bot searches by words, as it always does.
    """
    lock = asyncio.Lock()

    async def embed() -> None:
        if meanings is None:
            return
        writer = MeaningWriter(meanings.embeddings, meanings.embedder, store.jobs, store.spending, CLOCK)
        with suppress(CogencyError):
            async with lock:
                await writer.write(Job(0, 0, "", EMBEDDING, meanings.embedder.name, "", CLOCK.now()))

    if meanings is not None:
        with suppress(CogencyError):
            await meanings.embedder.embed([eval_texts.STARTER])
    return embed


@asynccontextmanager
async def _open_judge(settings: Settings, name: str) -> AsyncGenerator[Judge]:
    """Open the model that judges, behind the operator's hooks as every other. Raises SettingsError."""
    from bot.hooks.opening import open_hooks  # noqa: PLC0415 -- few runs have a judge

    choice = named_choice(name, settings.models, eval_texts.JUDGE_OPTION)
    if choice.endpoint is None:
        raise SettingsError(eval_texts.REHEARSAL_JUDGE)
    async with AsyncExitStack() as stack:
        opened = open_model(choice, settings.models, clock=CLOCK, chance=random.random)
        stack.push_async_callback(opened.aclose)
        hooks = stack.enter_context(open_hooks(settings.hooks, CLOCK, lambda _: None))
        provider: Provider = opened
        if hooks is not None and hooks.has(HookPoint.BEFORE_MODEL):
            provider = HookedProvider(opened, hooks)
        yield Judge(provider, fresh_word)
