"""The bot for one person at a terminal, put together."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

from agent.records import Person
from bot.app import parts
from bot.app.from_settings import access_rules
from bot.memory.policies import PolicyDesk
from bot.models.choice import ModelDesk
from bot.platforms.terminal.bot import SOURCE as TERMINAL
from bot.platforms.terminal.bot import TerminalBot, TerminalSurfaces
from bot.setting_parsers import WhileBusy
from bot.settings import Settings
from bot.turns.worker import TurnsLimits


@asynccontextmanager
async def open_terminal(settings: Settings, person: Person) -> AsyncGenerator[TerminalBot, None]:
    """The bot for one person at a terminal. Raises SettingsError and StoreError."""
    async with (
        parts.open_store_of(settings) as store,
        parts.open_models(settings) as models,
        parts.background_of(settings, store, models) as work,
    ):
        surfaces = TerminalSurfaces()
        # A screen has one end: replies follow one another, each to its own question.
        settings = replace(settings, while_busy=WhileBusy.WAIT)
        desk = ModelDesk(models, store.preferences, access_rules(settings))
        answering = parts.mind(settings, store, desk, work)
        limits = TurnsLimits(max_running=1, per_person=None, lease=timedelta(seconds=settings.lease_s))
        source = f"{TERMINAL}:{parts.new_id()}"
        turns = parts.open_turns(store, answering, surfaces, limits, lambda: frozenset({source}))
        async with TerminalBot(
            person=person,
            turns=turns,
            surfaces=surfaces,
            conversations=store.conversations,
            view=parts.memory_desk(store),
            forgets=parts.forget_desk(settings, store, turns, work),
            spending=store.spending,
            budgets=parts.budget_desk(settings, store),
            policies=PolicyDesk(store.facts, parts.CLOCK),
            choice=models,
            clock=parts.CLOCK,
            new_id=parts.new_id,
            where=store.database.where,
            source=source,
        ) as bot:
            yield bot
