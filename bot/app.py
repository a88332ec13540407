"""The composition root: the one place where settings, store, models, tools and surfaces meet.

Above: `bot.__main__`. Below: everything. Nothing else imports `store`.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import fields
from datetime import UTC, datetime
from uuid import uuid4

from agent.context import ContextBudget, Persona
from agent.ports import Memories, Provider
from agent.records import Incoming, Person
from agent.tools.recall import RecallTool
from agent.tools.registry import Registry
from agent.tools.remember import RememberTool
from agent.turn import TurnLimits
from bot.model_switch import ModelSwitch
from bot.models import ModelSettings
from bot.platforms.terminal.bot import TerminalBot, TerminalSurfaces
from bot.settings import Settings
from bot.turns import Mind, Turns, TurnsLimits
from store.engine import open_store


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
    store = await open_store(settings.database_url)
    try:
        async with open_models(settings) as models:
            surfaces = TerminalSurfaces()
            turns = Turns(
                store.ledger,
                store.conversations,
                store.memories,
                mind(settings, models, tools(settings, store.memories)),
                surfaces,
                CLOCK,
                owner=new_id(),
                # A screen has one end: replies follow one another.
                limits=TurnsLimits(max_running=1, history_messages=settings.history_messages),
            )
            await store.ledger.release_all()
            async with TerminalBot(
                person=person,
                turns=turns,
                surfaces=surfaces,
                conversations=store.conversations,
                memories=store.memories,
                forgetting=store.forgetting,
                models=models,
                clock=CLOCK,
                new_id=new_id,
                where=str(store.database.path or "nowhere; it ends with this process"),
            ) as bot:
                yield bot
    finally:
        await store.close()


@asynccontextmanager
async def open_checking(settings: Settings) -> AsyncGenerator[tuple[Provider, Registry, str], None]:
    """A model, the tools that it is asked about, and the line that says why it is this one. Nothing is stored."""
    store = await open_store("sqlite://")
    try:
        async with open_models(settings) as models:
            yield models.provider, tools(settings, store.memories), models.sentence
    finally:
        await store.close()


def model_settings(settings: Settings) -> ModelSettings:
    """The settings that a model needs; they have the same names in both."""
    return ModelSettings(**{field.name: getattr(settings, field.name) for field in fields(ModelSettings)})


def tools(settings: Settings, memories: Memories) -> Registry:
    timeout_s = settings.tool_timeout_s
    return Registry([RecallTool(memories, timeout_s), RememberTool(memories, timeout_s)])


def mind(settings: Settings, models: ModelSwitch, registry: Registry) -> Mind:
    def provider(_: Incoming) -> Provider:
        return models.provider

    def persona(incoming: Incoming) -> Persona:
        instructions = settings.channel_instructions.get(incoming.channel, "")
        return Persona(settings.persona, settings.language_rule, instructions)

    return Mind(
        provider=provider,
        persona=persona,
        tools=registry,
        turn_limits=TurnLimits(max_iterations=settings.max_iterations),
        budget=ContextBudget(history=settings.history_tokens, memory=settings.memory_tokens),
    )
