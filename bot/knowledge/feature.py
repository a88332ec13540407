"""Knowledge, as a feature of the chat bot."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from bot.chat.commands.declaration import BoundCommand
from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.chat.jobs import Handler
from bot.knowledge.commands import KNOWLEDGE_COMMAND, LEARN_COMMAND
from bot.knowledge.digest import UnansweredDigest
from bot.knowledge.pages import LinkedPages
from bot.knowledge.service import KnowledgeService, ReadPage


def feature(core: Core, service: KnowledgeService, read_page: ReadPage | None) -> Feature:
    """`read_page`: reads web pages; None where the web is switched off, and so linked pages are not read again."""
    store = core.store
    jobs, begins = list[Mapping[str, Handler]](), list[Callable[[], Awaitable[None]]]()
    if read_page is not None:
        pages = LinkedPages(store.documents, store.forgetting, store.jobs, core.clock, read_page)
        jobs.append(pages.handlers)
        begins.append(pages.begin)
    if core.admission is not None and service.questions is not None:  # there are no managers at a terminal
        digest = UnansweredDigest(
            service.questions, store.jobs, store.preferences, core.clock, core.platforms.approvers
        )
        jobs.append(digest.handlers)
        begins.append(digest.begin)

    @asynccontextmanager
    async def serving() -> AsyncGenerator[None]:
        for begin in begins:
            await begin()
        yield

    return Feature(name="knowledge", commands=bound_commands(service), jobs=jobs, serving=serving if begins else None)


def bound_commands(service: KnowledgeService) -> tuple[BoundCommand, ...]:
    return (KNOWLEDGE_COMMAND.bound(service), LEARN_COMMAND.bound(service))
