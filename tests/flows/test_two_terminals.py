"""Terminals of one person that share a PostgreSQL: each answers its own questions, and none is lost with a terminal."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agent.incoming import Person
from agent.machine import CLOCK
from bot.app.platforms import open_terminal
from bot.app.settings import Settings, load_settings
from bot.chat.reply.surface import PageContent, PageKey, PageRef, Surface
from bot.platforms.terminal.bot import TerminalBot
from bot.platforms.terminal.chat_bot import UnfinishedTurn
from tests.fakes.postgresql import PostgresServer
from tests.fakes.surface import FakeSurface
from tests.fakes.terminal import FakeTerminal
from tests.flows.test_terminal import CHAT, environment
from tests.patience import PATIENCE_S

ANNA = Person("terminal:anna", "anna")
SHORT_LEASE_S = "1"  # So that nobody waits long for what a terminal left that ended
# On a machine that stands still for a second, another terminal would take over what this one was asked.
LONG_LEASE_S = "60"


class Noticed(FakeSurface):
    """Says when its first page is there."""

    def __init__(self, posted: asyncio.Event) -> None:
        super().__init__(CLOCK)
        self._posted = posted

    async def post(self, key: PageKey, look: PageContent) -> PageRef:
        page = await super().post(key, look)
        self._posted.set()
        return page


@dataclass
class Terminal:
    bot: TerminalBot
    left: list[UnfinishedTurn]
    began: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by the first text that is shown."""

    async def ask(self, text: str) -> str:
        surface = Noticed(self.began)
        async with asyncio.timeout(PATIENCE_S):
            await self.bot.ask(text, self.bot.new_conversation(), surface)
        return "".join(surface.shown)


@asynccontextmanager
async def terminal(settings: Settings) -> AsyncGenerator[Terminal]:
    left: list[UnfinishedTurn] = []

    def surface_for(one: UnfinishedTurn) -> Surface:
        left.append(one)
        return FakeSurface(CLOCK)

    async with asyncio.timeout(PATIENCE_S), open_terminal(settings, ANNA) as bot:
        await bot.finish_pending(surface_for)
        yield Terminal(bot, left)


async def settings_on(postgres: PostgresServer, lease_s: str = SHORT_LEASE_S) -> Settings:
    environ = {"COGENCY_DATABASE_URL": await postgres.empty(), "COGENCY_MODEL": "rehearsal", "COGENCY_LEASE_S": lease_s}
    return load_settings(environ)


async def test_each_terminal_answers_what_was_asked_there(postgres: PostgresServer) -> None:
    settings = await settings_on(postgres, LONG_LEASE_S)
    async with AsyncExitStack() as stack:
        terminals = [await stack.enter_async_context(terminal(settings)) for _ in range(3)]
        for number in range(3):
            replies = await asyncio.gather(*(one.ask(f"Question {number}") for one in terminals))
            assert all(f"Question {number}" in reply for reply in replies)
        assert [one.left for one in terminals] == [[], [], []]


async def test_what_a_terminal_left_that_ended_is_finished_by_the_next_one(postgres: PostgresServer) -> None:
    settings = await settings_on(postgres)
    async with terminal(settings) as first:
        asking = asyncio.create_task(first.ask("Remember my boat\nIt is blue."))
        await first.began.wait()
    await asking
    async with terminal(settings) as second:
        (left,) = second.left
        assert left.question == "Remember my boat\nIt is blue."
        assert [thread.conversation for thread in left.threads] == [left.conversation]


def test_the_question_of_a_terminal_that_was_killed_is_answered_at_another_one(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    url = asyncio.run(postgres.empty())
    environ = {**environment(tmp_path), "COGENCY_DATABASE_URL": url, "COGENCY_LEASE_S": SHORT_LEASE_S}
    with FakeTerminal(CHAT, 100, 24, **environ) as killed:
        killed.until(">")
        killed.type("what is a boat?\r")
        killed.until("boat?")
        killed.until("rehears")
    with FakeTerminal(CHAT, 100, 24, **environ) as other:
        other.type("hello\rhello again\r")
        other.until("Continuing with “what is a boat?” (thread")
        other.until("one.)")
