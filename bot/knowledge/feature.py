"""Knowledge, as a feature of the chat bot."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.knowledge.pages import LinkedPages
from bot.knowledge.service import ReadPage


def feature(core: Core, read_page: ReadPage | None) -> Feature:
    """`read_page`: reads web pages; None where the web is switched off, and so linked pages are not read again."""
    if read_page is None:
        return Feature(name="knowledge")
    store = core.store
    pages = LinkedPages(store.documents, store.forgetting, store.jobs, core.clock, read_page)

    @asynccontextmanager
    async def serving() -> AsyncGenerator[None]:
        await pages.begin()
        yield

    return Feature(name="knowledge", jobs=[pages.handlers], serving=serving)
