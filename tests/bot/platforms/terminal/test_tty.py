"""The chat on a real terminal: its keys, signals and output."""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

import pytest
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console

from bot.platforms import texts as platforms_texts
from bot.platforms.terminal.run import chat
from bot.platforms.terminal.tty import TerminalWindow
from tests.fakes.chatbot import TIME, FakeChatBot
from tests.fakes.screen import FakeScreen
from tests.fakes.terminal import CTRL_C, FakeTerminal
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow

UP = "\x1b[A"
CTRL_D = "\x04"


@pytest.fixture
def keys() -> Iterator[PipeInput]:
    with create_pipe_input() as pipe:
        yield pipe


@asynccontextmanager
async def chatting(bot: FakeChatBot, keys: PipeInput) -> AsyncGenerator[FakeScreen, None]:
    """A chat whose keys come from `keys`; it must end within the block or right after it."""
    screen = FakeScreen()
    console = Console(file=screen, force_terminal=True, width=80, height=24, highlight=False)
    window = TerminalWindow(console, keys=keys, echo=DummyOutput())
    async with asyncio.timeout(PATIENCE_S):
        task = asyncio.create_task(chat(bot, window, lambda: TIME))
        yield screen
        assert await task == 0


async def test_code_in_a_line_stands_on_the_background_of_the_terminal(keys: PipeInput) -> None:
    async with chatting(FakeChatBot(), keys) as screen:
        keys.send_text(f"`git status`\r{CTRL_D}")
    styles = re.findall("\x1b\\[([0-9;]*)mgit status", screen.written)
    assert styles
    assert not re.search(r"\b(4[0-8]|10[0-7])\b", " ".join(styles))


async def test_a_message_is_answered_and_control_d_leaves(keys: PipeInput) -> None:
    bot = FakeChatBot()
    async with chatting(bot, keys) as screen:
        keys.send_text(f"hello\r{CTRL_D}")
    assert bot.asked == {"c1": ["hello"]}
    assert screen.lines[:4] == [
        "rehearsal answers, as nothing is configured.",
        platforms_texts.TERMINAL_HINT,
        "",
        "You wrote: hello",
    ]


async def test_what_it_is_time_for_appears_while_somebody_types_and_what_they_typed_stays(keys: PipeInput) -> None:
    bot = FakeChatBot()
    async with chatting(bot, keys) as screen:
        keys.send_text("hel")
        await bot.watched.wait()
        await bot.remind("Water the plants.")
        while "Water the plants." not in screen.lines:  # noqa: ASYNC110 -- a screen sends no events
            await asyncio.sleep(0.01)
        assert bot.asked == {}
        keys.send_text(f"lo\r{CTRL_D}")
    assert bot.asked == {"c1": ["hello"]}
    assert screen.lines.index("It is time:") < screen.lines.index("Water the plants.")


async def test_alt_enter_begins_a_new_line(keys: PipeInput) -> None:
    bot = FakeChatBot()
    async with chatting(bot, keys):
        keys.send_text(f"one\x1b\rtwo\r{CTRL_D}")
    assert bot.asked == {"c1": ["one\ntwo"]}


async def test_a_pasted_text_keeps_its_lines_and_is_sent_by_enter(keys: PipeInput) -> None:
    bot = FakeChatBot()
    async with chatting(bot, keys):
        keys.send_text(f"see:\x1b[200~one\ntwo\r\nthree\x1b[201~\r{CTRL_D}")
    assert bot.asked == {"c1": ["see:one\ntwo\nthree"]}


async def test_tab_completes_a_command(keys: PipeInput) -> None:
    bot = FakeChatBot()
    async with chatting(bot, keys) as screen:
        keys.send_text(f"/me\t\rhello\tworld\r{CTRL_D}")
    assert "I know 0." in screen.lines
    assert bot.asked == {"c1": ["helloworld"]}


async def test_control_c_at_the_prompt_clears_the_line_and_says_how_to_leave(keys: PipeInput) -> None:
    bot = FakeChatBot()
    async with chatting(bot, keys) as screen:
        keys.send_text(f"not this{CTRL_C}this\r{CTRL_D}")
    assert bot.asked == {"c1": ["this"]}
    assert platforms_texts.HOW_TO_LEAVE in screen.lines


async def test_the_arrow_keys_walk_through_earlier_questions(keys: PipeInput) -> None:
    bot = FakeChatBot()
    bot.asked["old"] = ["first", "second"]
    async with chatting(bot, keys):
        keys.send_text(f"{UP}{UP}\r{CTRL_D}")
    assert bot.asked["c1"] == ["first"]


async def test_what_was_forgotten_is_no_longer_on_the_arrow_keys(keys: PipeInput) -> None:
    bot = FakeChatBot()
    bot.asked["old"] = ["secret"]
    async with chatting(bot, keys):
        keys.send_text(f"another secret\r/forget everything\ryes\r{UP}{UP}clean\r{CTRL_D}")
    assert bot.asked == {"c2": ["clean"]}


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D, "\r", "no\r"])
async def test_any_key_but_yes_keeps_everything(keys: PipeInput, key: str) -> None:
    bot = FakeChatBot()
    async with chatting(bot, keys) as screen:
        keys.send_text(f"tea\r/forget everything\r{key}{CTRL_D}")
    assert bot.asked == {"c1": ["tea"]}
    assert "Nothing was forgotten." in screen.lines


CHAT = """
import asyncio, sys
from bot.platforms.terminal.run import chat
from bot.platforms.terminal.window import open_window
from tests.fakes.chatbot import FakeChatBot, TIME
async def main():
    return await chat(FakeChatBot(), open_window(), lambda: TIME)
code = asyncio.run(main())
"""
PROGRAM = f"{CHAT}sys.exit(code)\n"
LOADED = """
assert not {name.partition(".")[0] for name in sys.modules} & {"slack_sdk", "slack_bolt", "discord"}
sys.exit(code)
"""


def test_on_a_real_terminal_control_c_stops_the_answer_and_the_chat_goes_on() -> None:
    with FakeTerminal(CHAT + LOADED, 80, 24, True) as terminal:
        terminal.until(">")
        terminal.type("wait\r")
        assert "Well, then" in terminal.until("Well, then")
        terminal.type(f"oh, {CTRL_C}")
        stopped = terminal.until(">")
        assert "Stopped." in stopped
        assert "oh" not in stopped
        assert "^C" not in stopped
        terminal.type("hello\r")
        terminal.until("You wrote: oh, hello")  # the text typed meanwhile appeared at the prompt
        terminal.until(">")
        terminal.type(UP)
        terminal.until("hello")
        terminal.type("!\r")
        terminal.until("You wrote: oh, hello!")
        terminal.until(">")
        terminal.type(CTRL_D)
        assert terminal.ended() == 0


def test_on_a_narrow_terminal_without_colours_wide_text_is_shown() -> None:
    with FakeTerminal(PROGRAM, 40, NO_COLOR="1") as terminal:
        terminal.until(">")
        terminal.type("青い船と**赤い**船\r")
        terminal.until("You wrote: 青い船と赤い船")
        terminal.until(">")
        terminal.type("/quit\r")
        assert terminal.ended() == 0
        assert "Traceback" not in terminal.shown


def test_a_dumb_terminal_gets_the_plain_chat() -> None:
    with FakeTerminal(PROGRAM, TERM="dumb") as terminal:
        terminal.until("rehearsal")
        terminal.type("hello\n")
        terminal.until("You wrote: hello\r\n\r\n> ")
        assert platforms_texts.PLAIN_TERMINAL in terminal.shown
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
        assert "\x1b" not in terminal.written
