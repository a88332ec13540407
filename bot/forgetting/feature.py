"""Forgetting, as a feature of the chat bot."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agent.shown_replies import DELETE_REPLY
from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.forgetting.notices import EditedNotice
from bot.forgetting.retention import KIND, ReplyDeletion, Retention, VendorCopies
from bot.forgetting.settings import ForgettingSettings


def feature(core: Core, settings: ForgettingSettings, copies: VendorCopies) -> Feature:
    retention = Retention(core.store.forgetting, core.store.jobs, core.clock, settings.retention)
    deletions = core.platforms.deletions

    @asynccontextmanager
    async def serving() -> AsyncGenerator[None]:
        await retention.begin()
        yield

    return Feature(
        name="forgetting",
        jobs=[
            {KIND: copies.drop},
            retention.handlers,
            *([] if deletions is None else [{DELETE_REPLY: ReplyDeletion(core.clock, deletions).delete}]),
        ],
        notes=[EditedNotice(core.store.forgetting)],
        serving=serving,
    )
