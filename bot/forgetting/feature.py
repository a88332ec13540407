"""Forgetting, as a feature of the chat bot."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from agent.jobs import Job
from agent.memory.forgetting_plans import EDIT, OPERATOR_ERASE
from agent.shown_replies import DELETE_REPLY
from bot.chat.access.admission import RateCounter
from bot.chat.access.readers import no_accounts
from bot.chat.commands.declaration import BoundCommand
from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.forgetting.answers import ForgetQuestions
from bot.forgetting.commands import FORGET_COMMAND
from bot.forgetting.notices import EditedNotice
from bot.forgetting.retention import KIND, ReplyDeletion, Retention, VendorCopies
from bot.forgetting.service import ForgetService
from bot.forgetting.settings import ForgettingSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformForgetting:
    """What a bot on platforms has besides `/forget`: messages are edited there, and operators order erasing."""

    edits: RateCounter
    """Counts edits against the rates of new messages."""
    erase: Callable[[ForgetService, Job], Awaitable[None]]
    """Runs the job: erase what an operator ordered."""


@dataclass(frozen=True, slots=True)
class ForgettingParts:
    feature: Feature
    service: ForgetService


def open_forgetting(
    core: Core,
    settings: ForgettingSettings,
    copies: VendorCopies,
    *,
    learn_at: Callable[[datetime], datetime | None],
    revoke: Callable[[str], Awaitable[str]],
    platforms: PlatformForgetting | None = None,
) -> ForgettingParts:
    """`learn_at`, `revoke`: see `ForgetService`. `platforms`: None where messages come from no platform."""
    store, clock, deletions = core.store, core.clock, core.platforms.deletions
    retention = Retention(store.forgetting, store.jobs, clock, settings.retention)
    service = ForgetService(
        forgetting=store.forgetting,
        ledger=store.ledger,
        jobs=store.jobs,
        preferences=store.preferences,
        clock=clock,
        edits=RateCounter() if platforms is None else platforms.edits,
        is_exempt=core.operates,
        take_back=core.turns.take_back,
        withdraw=core.turns.withdraw,
        learn_at=learn_at,
        sources=core.platforms.sources,
        grace=timedelta(days=settings.removal_grace_days),
        revoke=revoke,
        accounts=no_accounts if core.readers is None else core.readers.connected,
    )
    jobs = [{KIND: copies.drop}, retention.handlers]
    if deletions is not None:
        jobs.append({DELETE_REPLY: ReplyDeletion(clock, deletions).delete})
    if platforms is not None:
        jobs.append({EDIT: service.keep_edit, OPERATOR_ERASE: partial(platforms.erase, service)})

    @asynccontextmanager
    async def serving() -> AsyncGenerator[None]:
        await retention.begin()
        yield

    forgetting = Feature(
        name="forgetting",
        commands=bound_commands(service),
        jobs=jobs,
        notes=[EditedNotice(store.forgetting)],
        messages=service,
        serving=serving,
    )
    return ForgettingParts(forgetting, service)


def bound_commands(questions: ForgetQuestions) -> tuple[BoundCommand, ...]:
    return (FORGET_COMMAND.bound(questions),)
