"""Knowledge, as a feature of the chat bot."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from bot.chat.commands.declaration import BoundCommand
from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.knowledge.commands import KNOWLEDGE_COMMAND, LEARN_COMMAND
from bot.knowledge.pages import LinkedPages
from bot.knowledge.service import KnowledgeService, ReadPage


def feature(core: Core, service: KnowledgeService, read_page: ReadPage | None) -> Feature:
    """`read_page`: reads web pages; None where the web is switched off, and so linked pages are not read again."""
    if read_page is None:
        return Feature(name="knowledge", commands=bound_commands(service))
    store = core.store
    pages = LinkedPages(store.documents, store.forgetting, store.jobs, core.clock, read_page)

    @asynccontextmanager
    async def serving() -> AsyncGenerator[None]:
        await pages.begin()
        yield

    return Feature(name="knowledge", commands=bound_commands(service), jobs=[pages.handlers], serving=serving)


def bound_commands(service: KnowledgeService) -> tuple[BoundCommand, ...]:
    return (KNOWLEDGE_COMMAND.bound(service), LEARN_COMMAND.bound(service))
