"""Lines from a file descriptor of any kind, for any arrival of its bytes."""

import asyncio
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.texts import replies as reply_texts
from bot.platforms.terminal.pipe import PipeWindow, PlainDisplay, lines_from
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[4]


async def read_all(fd: int) -> list[str]:
    async with asyncio.timeout(PATIENCE_S):
        return [line async for line in lines_from(fd)]


def piped(content: bytes) -> int:
    read_end, write_end = os.pipe()
    os.write(write_end, content)
    os.close(write_end)
    return read_end


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"one\ntwo\n", ["one", "two"]),
        (b"one\n\ntwo", ["one", "", "two"]),
        (b"one\r\ntwo\r\n", ["one", "two"]),
        (b"\xef\xbb\xbfone\n", ["one"]),
        (b"bad \xff byte\n", ["bad \ufffd byte"]),
        ("青い船".encode()[:-1], ["青い\ufffd"]),
    ],
)
async def test_lines_come_without_their_ends_and_broken_bytes_are_replaced(content: bytes, lines: list[str]) -> None:
    fd = piped(content)
    assert await read_all(fd) == lines
    os.close(fd)


async def test_a_line_comes_as_soon_as_it_is_complete_also_when_a_character_is_cut() -> None:
    read_end, write_end = os.pipe()
    lines = lines_from(read_end)
    boat = "青い船\n".encode()
    async with asyncio.timeout(PATIENCE_S):
        os.write(write_end, b"one\n" + boat[:4])
        assert await anext(lines) == "one"
        os.write(write_end, boat[4:])
        assert await anext(lines) == "青い船"
        os.close(write_end)
        assert await anext(lines, None) is None
    os.close(read_end)


async def test_a_file_is_read_like_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text("one\ntwo", encoding="utf-8")
    with path.open("rb") as file:
        assert await read_all(file.fileno()) == ["one", "two"]


async def test_a_closed_input_has_no_lines() -> None:
    fd = piped(b"")
    os.close(fd)
    assert await read_all(fd) == []


@given(st.binary(max_size=200).filter(lambda content: not content.startswith(b"\xef")))
async def test_any_bytes_are_read_as_lines(content: bytes) -> None:
    *lines, last = content.decode("utf-8", "replace").split("\n")
    fd = piped(content)
    assert await read_all(fd) == [line.removesuffix("\r") for line in ([*lines, last] if last else lines)]
    os.close(fd)


def test_a_reply_is_written_once_when_it_is_complete() -> None:
    written: list[str] = []
    display = PlainDisplay(written.append)
    display.status("Searching…")
    display.show("It is")
    display.show("It is blue.")
    assert written == []
    display.close()
    display.close()
    assert written == ["It is blue."]


def test_a_reply_without_a_word_writes_nothing() -> None:
    written: list[str] = []
    PlainDisplay(written.append).close()
    assert written == []


@pytest.mark.slow
def test_pipes_need_no_library_of_the_terminal_and_an_unread_input_does_not_keep_the_process() -> None:
    """In a separate process: what is imported there is what the chat itself needs."""
    program = """
import asyncio, sys
from bot.platforms.terminal.run import chat
from bot.platforms.terminal.window import open_window
from tests.fakes.chatbot import FakeChatBot, TIME
async def main():
    return await chat(FakeChatBot(), open_window(), lambda: TIME)
code = asyncio.run(main())
loaded = {name.partition(".")[0] for name in sys.modules}
assert not loaded & {"prompt_toolkit", "rich", "slack_sdk", "slack_bolt", "discord"}, loaded
sys.exit(code)
"""
    with subprocess.Popen(  # noqa: S603 -- our own interpreter
        [sys.executable, "-c", program],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write("remember that 船 is blue\n/quit\n".encode())
        process.stdin.flush()
        assert process.wait(PATIENCE_S) == 0, process.stderr.read()
        assert process.stdout.read().decode() == "I will remember that 船 is blue.\n\n"


async def test_a_store_that_takes_nothing_is_told_at_once_and_once_beside_the_output() -> None:
    out, err = io.StringIO(), io.StringIO()
    display = PipeWindow(lines_from(piped(b"")), out, err).open_display()
    for status in ("Thinking…", reply_texts.UNSTORED, reply_texts.UNSTORED):
        display.status(status)
    assert (out.getvalue(), err.getvalue()) == ("", f"{reply_texts.UNSTORED}\n\n")
    display.show("Hello.")
    display.close()
    assert (out.getvalue(), err.getvalue()) == ("Hello.\n\n", f"{reply_texts.UNSTORED}\n\n")
