"""The chat shows its prompt while the bot opens: input in the meantime, and failures."""

import asyncio
import io
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput, Output
from rich.console import Console

from agent.errors import StoreLocked
from bot.chat.exit_codes import Exit
from bot.platforms.terminal.chat_bot import ChatBot
from bot.platforms.terminal.pipe import PipeWindow
from bot.platforms.terminal.tty import TerminalWindow
from bot.platforms.terminal.window import Window
from bot.setup import texts as setup_texts
from bot.setup.chat import chat_once_open
from tests.fakes.chatbot import TIME, FakeChatBot
from tests.fakes.screen import FakeScreen
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[3]
GREETING = "**rehearsal** answers."
UP = "\x1b[A"
CTRL_D = "\x04"


@dataclass
class Opening:
    """A bot that is open once the future `bot` is done. `closed`: whether it was closed again."""

    bot: "asyncio.Future[ChatBot]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    closed: bool = False

    def __call__(self) -> AbstractAsyncContextManager["asyncio.Future[ChatBot]"]:
        return self._opened()

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator["asyncio.Future[ChatBot]"]:
        self.begun.set()
        try:
            yield self.bot
        finally:
            self.closed = True


class Watched(FakeScreen):
    """Notifies the test of each draw."""

    _wanted = ""
    _shown: asyncio.Event | None = None

    async def shows(self, text: str) -> None:
        self._wanted, self._shown = text, asyncio.Event()
        self.write("")
        async with asyncio.timeout(PATIENCE_S):
            await self._shown.wait()

    def write(self, text: str) -> int:
        super().write(text)
        if self._shown is not None and self._wanted in self.text:
            self._shown.set()
        return len(text)


class Echo(DummyOutput):
    """Notifies the test when these letters were drawn in this order."""

    def __init__(self, wanted: str) -> None:
        self._wanted, self._drawn = wanted, ""
        self.shown = asyncio.Event()

    def write(self, data: str) -> None:
        self._drawn += data
        if self._wanted in self._drawn:
            self.shown.set()


@pytest.fixture
def keys() -> Iterator[PipeInput]:
    with create_pipe_input() as pipe:
        yield pipe


def at_terminal(keys: PipeInput, echo: Output | None = None) -> tuple[Watched, TerminalWindow]:
    screen = Watched()
    console = Console(file=screen, force_terminal=True, width=80, height=24, highlight=False)
    return screen, TerminalWindow(console, keys=keys, echo=echo or DummyOutput())


async def chatting(opening: Opening, window: Window) -> Exit:
    async with asyncio.timeout(PATIENCE_S):
        return await chat_once_open(GREETING, opening(), window, lambda: TIME)


async def test_what_is_written_before_the_bot_is_there_waits_for_it(keys: PipeInput) -> None:
    opening, bot = Opening(), FakeChatBot()
    screen, window = at_terminal(keys)
    chat = asyncio.create_task(chatting(opening, window))
    await opening.begun.wait()
    keys.send_text("hello\r")
    await screen.shows(setup_texts.OPENING)
    assert bot.asked == {}
    opening.bot.set_result(bot)
    keys.send_text(f"{UP}!\r{CTRL_D}")
    assert await chat == Exit.OK
    assert bot.asked == {"c1": ["hello", "hello!"]}, "what came first is on the arrow keys, too"
    assert "You wrote: hello" in screen.lines
    assert setup_texts.OPENING not in screen.lines
    assert opening.closed


class Recalling(FakeChatBot):
    """Notifies the test when the history of the arrow keys is read."""

    def __init__(self) -> None:
        super().__init__()
        self.recalled = asyncio.Event()

    async def past_questions(self) -> list[str]:
        self.recalled.set()
        return await super().past_questions()


async def test_earlier_questions_come_to_the_arrow_keys_while_the_prompt_stands(keys: PipeInput) -> None:
    opening, bot = Opening(), Recalling()
    bot.asked["old"] = ["first", "second"]
    _, window = at_terminal(keys)
    chat = asyncio.create_task(chatting(opening, window))
    await opening.begun.wait()
    opening.bot.set_result(bot)
    await bot.recalled.wait()
    keys.send_text(f"{UP}{UP}\r{CTRL_D}")
    assert await chat == Exit.OK
    assert bot.asked["c1"] == ["first"]


@pytest.mark.parametrize("leaves", [CTRL_D, "/quit\r"])
async def test_who_leaves_before_the_bot_is_there_does_not_wait_for_it(keys: PipeInput, leaves: str) -> None:
    opening = Opening()
    _, window = at_terminal(keys)
    keys.send_text(leaves)
    assert await chatting(opening, window) == Exit.OK
    assert opening.closed


async def test_a_store_that_cannot_be_opened_ends_the_prompt_at_once(keys: PipeInput) -> None:
    opening = Opening()
    _, window = at_terminal(keys)
    chat = asyncio.create_task(chatting(opening, window))
    await opening.begun.wait()
    keys.send_text("half a ques")
    opening.bot.set_exception(StoreLocked("another process holds it"))
    with pytest.raises(StoreLocked):
        await chat
    assert opening.closed


@pytest.mark.slow
async def test_what_was_left_is_shown_before_the_prompt_comes_back_with_what_was_half_written(keys: PipeInput) -> None:
    opening, bot = Opening(), FakeChatBot(left={"old": "It is blue."})
    echo = Echo("ques")
    screen, window = at_terminal(keys, echo)
    keys.send_text("half a ques")
    chat = asyncio.create_task(chatting(opening, window))
    await opening.begun.wait()
    await echo.shown.wait()
    opening.bot.set_result(bot)
    keys.send_text(f"tion\r{CTRL_D}")
    assert await chat == Exit.OK
    assert bot.asked == {"c1": ["half a question"]}
    shown = screen.lines
    assert shown.index("It is blue.") < shown.index("You wrote: half a question")


async def test_a_line_that_is_sent_off_at_that_very_moment_is_not_lost(keys: PipeInput) -> None:
    opening, bot = Opening(), FakeChatBot(left={"old": "It is blue."})
    screen, window = at_terminal(keys)
    chat = asyncio.create_task(chatting(opening, window))
    await opening.begun.wait()
    keys.send_text(f"a question\r{CTRL_D}")
    opening.bot.set_result(bot)
    assert await chat == Exit.OK
    assert bot.asked == {"c1": ["a question"]}
    assert screen.lines.index("It is blue.") < screen.lines.index("You wrote: a question")


class ImpatientWindow(PipeWindow):
    """The waiting person presses Ctrl-C."""

    @contextmanager
    def answering(self, stop: Callable[[], None]) -> Generator[None]:
        stop()
        yield


async def test_ctrl_c_ends_the_waiting_for_the_bot() -> None:
    async def lines() -> AsyncIterator[str]:
        yield "hello"

    opening = Opening()
    assert await chatting(opening, ImpatientWindow(lines(), io.StringIO(), io.StringIO())) == Exit.INTERRUPTED
    assert opening.closed


@pytest.mark.slow
def test_what_shows_the_prompt_loads_no_command_no_turn_and_no_store() -> None:
    """In a separate process: here the tests have loaded all of it."""
    code = (
        "import sys, bot.setup.cli, bot.setup.chat, bot.platforms.terminal.tty; "
        "print({'bot.commands', 'bot.chat.turns.runner', 'store', 'jsonschema', 'sqlalchemy'} & sys.modules.keys())"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603 -- our own interpreter
    assert ran.stdout == "set()\n"
