"""The composition root: the one place where settings, store, models, tools and surfaces meet.

Above: `bot.__main__`. Below: everything. Nothing else imports `store`.
"""

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import uuid4

from agent.context import ContextBudget, Persona
from agent.errors import SettingsError
from agent.ports import Memories, Provider
from agent.recollection import recollect
from agent.records import Incoming, Person
from agent.spending import By, Period, Total
from agent.tools.recall import RecallTool
from agent.tools.registry import Registry
from agent.tools.remember import RememberTool
from agent.turn import TurnLimits
from bot.access.allowances import Allowances
from bot.access.budget_desk import BudgetDesk
from bot.access.gate import Gate
from bot.access.lists import Kind
from bot.background import Background, Meanings, background
from bot.casts import DiscordReplies, WhileBusy
from bot.host import Host
from bot.hosting import BotHost, serve_all
from bot.house_rules import access_rules, budgets, gate_rules
from bot.memory.desk import MemoryDesk
from bot.memory.forgetting import ForgetDesk
from bot.memory.notice import FirstNotice
from bot.memory.pauses import Pauses
from bot.memory.policy import PolicyDesk
from bot.memory.retiring import Retiring
from bot.memory.withheld import Withheld
from bot.models.chosen import ModelSettings
from bot.models.desk import ModelDesk
from bot.models.embedding import open_embedder
from bot.models.switch import ModelSwitch
from bot.platforms.discord.settings import DiscordSettings, ReplyMode
from bot.platforms.slack.settings import SlackSettings
from bot.platforms.terminal.bot import SOURCE as TERMINAL
from bot.platforms.terminal.bot import TerminalBot, TerminalSurfaces
from bot.settings import Settings, needed
from bot.surface import Surface
from bot.turns.thinking import Mind, Thinking
from bot.turns.worker import Turns, TurnsLimits
from store.engine import Store, open_spending, open_store

log = logging.getLogger(__name__)

NO_MODEL = "There is no model to check: rehearsal only follows rules; set COGENCY_MODEL, or an API key, to a real one."

GRACE_S = 8.0
"""Open replies may finish in this time after SIGTERM; with parking them it stays under the ten seconds that
supervisors usually give."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 -- the one place where the time of day comes in

    def monotonic(self) -> float:
        return time.monotonic()  # noqa: TID251 -- the one place where elapsed time comes in

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


CLOCK = SystemClock()


def new_id() -> str:
    return uuid4().hex


@asynccontextmanager
async def open_models(settings: Settings) -> AsyncGenerator[ModelSwitch, None]:
    """The model that the settings choose, and those that are chosen later. Raises SettingsError."""
    switch = await ModelSwitch.open(model_settings(settings), CLOCK, random.random)
    try:
        yield switch
    finally:
        await switch.aclose()


@asynccontextmanager
async def open_terminal(settings: Settings, person: Person) -> AsyncGenerator[TerminalBot, None]:
    """The bot for one person at a terminal. Raises SettingsError and StoreError."""
    async with (
        open_store_of(settings) as store,
        open_models(settings) as models,
        background_of(settings, store, models) as work,
    ):
        surfaces = TerminalSurfaces()
        # A screen has one end: replies follow one another, each to its own question.
        settings = replace(settings, while_busy=WhileBusy.WAIT)
        desk = ModelDesk(models, store.preferences, access_rules(settings))
        answering = mind(settings, store, desk, work)
        limits = TurnsLimits(max_running=1, per_person=None, lease=timedelta(seconds=settings.lease_s))
        source = f"{TERMINAL}:{new_id()}"
        turns = open_turns(store, answering, surfaces, limits, lambda: frozenset({source}))
        async with TerminalBot(
            person=person,
            turns=turns,
            surfaces=surfaces,
            conversations=store.conversations,
            view=MemoryDesk(
                facts=store.facts,
                profiles=store.profiles,
                conversations=store.conversations,
                spending=store.spending,
                preferences=store.preferences,
                forgetting=store.forgetting,
                clock=CLOCK,
            ),
            forgets=forget_desk(settings, store, turns, work),
            spending=store.spending,
            budgets=budget_desk(settings, store),
            policies=PolicyDesk(store.facts, CLOCK),
            models=models,
            clock=CLOCK,
            new_id=new_id,
            where=store.database.where,
            source=source,
        ) as bot:
            yield bot


async def serve_platforms(settings: Settings) -> None:
    """Serve every platform that has a token, until cancelled. Raises SettingsError, StoreError, or the only failure."""
    chosen = platforms(settings)
    async with (
        open_store_of(settings) as store,
        open_models(settings) as models,
        background_of(settings, store, models, deletes_replies=True) as work,
    ):
        log.info("%s", models.sentence)
        allowances = Allowances(budgets(settings), store.spending, store.preferences, CLOCK)
        gate = Gate(gate_rules(settings), allowances, CLOCK)
        host = BotHost(store.ledger, store.conversations, store.facts, store.forgetting, store.spending, CLOCK, gate)
        host.profiles = store.profiles
        host.desk = ModelDesk(models, store.preferences, access_rules(settings))
        limits = TurnsLimits(settings.max_running, settings.person_running, lease=timedelta(seconds=settings.lease_s))
        answering = mind(settings, store, host.desk, work, gate.budget_left)
        withheld = Withheld(store.memories, host.readers, CLOCK)
        answering = replace(answering, groups_of=host.readers.groups_of, aside=withheld.aside)
        host.turns = open_turns(store, answering, host.surface_for, limits, lambda: frozenset(host.surfaces))
        host.forget_desk, host.delete_pages = forget_desk(settings, store, host.turns, work), work.pages
        await serve_all({name: partial(serve, host) for name, serve in chosen.items()}, host, GRACE_S)


def platforms(settings: Settings) -> dict[str, Callable[[Host], Awaitable[None]]]:
    """How to serve each platform that the settings hold a token for. Raises SettingsError if there is none."""
    chosen: dict[str, Callable[[Host], Awaitable[None]]] = {}
    if settings.slack_bot_token or settings.slack_app_token:
        slack = SlackSettings(
            needed(settings.slack_bot_token, "SLACK_BOT_TOKEN"),
            needed(settings.slack_app_token, "SLACK_APP_TOKEN"),
            settings.slack_api_base_url,
            settings.allowed_bots,
        )
        chosen["Slack"] = partial(_serve_slack, slack)
    if settings.discord_token:
        discord = DiscordSettings(
            settings.discord_token,
            settings.discord_api_base_url,
            settings.discord_gateway_url,
            ReplyMode.THREAD if settings.discord_replies is DiscordReplies.THREAD else ReplyMode.IN_PLACE,
            settings.allowed_bots,
            home=frozenset(entry.id for entry in settings.allow if entry.kind is Kind.TEAM),
        )
        chosen["Discord"] = partial(_serve_discord, discord)
    if not chosen:
        raise SettingsError("There is nothing to run: set SLACK_BOT_TOKEN and SLACK_APP_TOKEN, or DISCORD_TOKEN.")
    return chosen


async def _serve_slack(slack: SlackSettings, host: Host) -> None:
    from bot.platforms.slack.run import serve  # noqa: PLC0415 -- a bot without Slack does not load its libraries

    await serve(host, slack, CLOCK)


async def _serve_discord(discord: DiscordSettings, host: Host) -> None:
    from bot.platforms.discord.run import serve  # noqa: PLC0415 -- a bot without Discord does not load its libraries

    await serve(host, discord, CLOCK)


async def spent(settings: Settings, days: int, by: By) -> tuple[list[Total], Period]:
    """What was spent in the last `days` days, also while the bot runs. Raises StoreError."""
    period = Period.days_until(CLOCK.now(), days)
    async with open_spending(settings.database_url) as spending:
        return await spending.totals(period, by), period


async def budget(settings: Settings, person: str, words: str) -> str:
    """See or change a budget, as `bot.access.budget_words` reads the words. Raises StoreError."""
    store = await open_store(settings.database_url)
    try:
        return await budget_desk(settings, store).answer(person, "terminal", words)
    finally:
        await store.close()


async def migrate(settings: Settings) -> str:
    """Bring the database to the newest version; the sentence that says so. Raises StoreError."""
    store = await open_store(settings.database_url)
    await store.close()
    match store.version_before:
        case None:
            return f"{store.database.where}: created, at version {store.version}."
        case store.version:
            return f"{store.database.where}: at the newest version already, {store.version}."
        case before:
            return f"{store.database.where}: brought from version {before} to {store.version}."


@asynccontextmanager
async def open_store_of(settings: Settings) -> AsyncGenerator[Store, None]:
    """The store that the settings name, with the turns of a dead process free to be claimed. Raises StoreError."""
    store = await open_store(settings.database_url)
    try:
        await store.ledger.release_all()
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def background_of(
    settings: Settings, store: Store, models: ModelSwitch, *, deletes_replies: bool = False
) -> AsyncGenerator[Background]:
    """The work outside of turns, done until the block ends. Raises SettingsError."""
    async with AsyncExitStack() as stack:
        meanings = None
        if settings.embeddings:
            embedder = open_embedder(settings.embeddings, model_settings(settings))
            stack.push_async_callback(embedder.aclose)
            meanings = Meanings(embedder, store.embeddings, embedder.is_local)
        work = _background(settings, store, models, meanings, deletes_replies=deletes_replies)
        yield await stack.enter_async_context(work)


def _background(
    settings: Settings, store: Store, models: ModelSwitch, meanings: Meanings | None, *, deletes_replies: bool
) -> AbstractAsyncContextManager[Background]:
    return background(
        store.jobs,
        store.profiles,
        store.facts,
        store.spending,
        models,
        CLOCK,
        owner=new_id(),
        learns=settings.learning,
        memories=store.memories,
        retiring=Retiring(store.forgetting, store.jobs, CLOCK, settings.retention),
        pauses=Pauses(store.preferences, store.profiles, CLOCK),
        meanings=meanings,
        deletes_replies=deletes_replies,
    )


def forget_desk(settings: Settings, store: Store, turns: Turns, work: Background) -> ForgetDesk:
    return ForgetDesk(
        forgetting=store.forgetting,
        ledger=store.ledger,
        jobs=store.jobs,
        clock=CLOCK,
        take_back=turns.take_back,
        withdraw=turns.withdraw,
        learn_at=(lambda _: None) if work.learner is None else work.learner.due,
        grace=timedelta(days=settings.removal_grace_days),
    )


def open_turns(
    store: Store,
    answering: Mind,
    surface_for: Callable[[Incoming], Surface],
    limits: TurnsLimits,
    sources: Callable[[], frozenset[str]],
) -> Turns:
    thinking = Thinking(answering, store.ledger, store.knowledge, CLOCK)
    return Turns(store.ledger, thinking, surface_for, store.bell, CLOCK, new_id(), limits, sources)


@asynccontextmanager
async def open_checking(settings: Settings) -> AsyncGenerator[tuple[Provider, Registry, str], None]:
    """A model, the tools that it is asked about, and the line that says why it is this one. Nothing is stored.

    Raises SettingsError where none is configured: rehearsal follows rules, so there is nothing to find out.
    """
    store = await open_store("sqlite://")
    try:
        async with open_models(settings) as models:
            if models.is_rehearsal:
                raise SettingsError(NO_MODEL)
            yield models.provider, tools(settings, store), models.sentence
    finally:
        await store.close()


def model_settings(settings: Settings) -> ModelSettings:
    """The settings that a model needs; they have the same names in both."""
    return ModelSettings(**{field.name: getattr(settings, field.name) for field in fields(ModelSettings)})


def budget_desk(settings: Settings, store: Store) -> BudgetDesk:
    allowances = Allowances(budgets(settings), store.spending, store.preferences, CLOCK)
    return BudgetDesk(access_rules(settings), allowances, CLOCK)


def tools(settings: Settings, store: Store, memories: Memories | None = None) -> Registry:
    timeout_s = settings.tool_timeout_s
    return Registry(
        [RecallTool(memories or store.memories, timeout_s), RememberTool(store.facts, store.working_set, timeout_s)]
    )


def mind(
    settings: Settings,
    store: Store,
    desk: ModelDesk,
    work: Background,
    budget_left: Callable[[Incoming], Awaitable[str | None]] | None = None,
) -> Mind:
    """What answers. `budget_left` is asked for questions that have waited; None: nobody's budget is kept."""

    def persona(incoming: Incoming) -> Persona:
        instructions = settings.channel_instructions.get(incoming.channel, "")
        return Persona(settings.persona, settings.language_rule, instructions)

    def learns() -> bool:
        return work.learner is not None and work.learner.due(CLOCK.now()) is not None

    return Mind(
        provider=desk.provider,
        persona=persona,
        tools=tools(settings, store, work.memories),
        turn_limits=TurnLimits(max_iterations=settings.max_iterations),
        footer=settings.footer,
        joins=settings.while_busy is WhileBusy.JOIN,
        budget_left=budget_left,
        notice=work.copies.see,
        budget=ContextBudget(settings.history_tokens, settings.memory_tokens, settings.profile_tokens),
        learn_at=None if work.learner is None else work.learner.due,
        may_learn=Pauses(store.preferences, store.profiles, CLOCK).may_learn,
        recollect=partial(recollect, store.memories, store.conversations) if settings.earlier else None,
        first_notice=FirstNotice(store.preferences, learns).line if settings.first_notice else None,
        answering=work.floor.answering,
        history_messages=settings.history_messages,
    )
