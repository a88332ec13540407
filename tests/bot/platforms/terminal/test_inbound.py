"""The meaning of typed lines."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import Depth
from bot.chat.commands.declaration import command_named
from bot.commands import COMMANDS
from bot.platforms.terminal.inbound import (
    Ask,
    CommandLine,
    Line,
    ListThreads,
    Nothing,
    OpenThread,
    Quit,
    UnclearLine,
    completed,
    help_text,
    parse,
)

NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)


def line(name: str, words: str = "") -> CommandLine:
    command = command_named(name, COMMANDS)
    assert command is not None
    return CommandLine(command, words)


MEANINGS: list[tuple[str, Line]] = [
    ("hello", Ask("hello")),
    ("  hello \n", Ask("hello")),
    ("what about a/b?", Ask("what about a/b?")),
    ("two\nlines", Ask("two\nlines")),
    ("/ask hello", Ask("hello")),
    ("/ask two\nlines", Ask("two\nlines")),
    ("/ask\ntwo\nlines", Ask("two\nlines")),
    ("/ask /new", Ask("/new")),
    ("/ASK Hello", Ask("Hello")),
    ("//new", Ask("/new")),
    ("//", Ask("/")),
    ("", Nothing()),
    (" \t\n", Nothing()),
    ("/deep why?", Ask("why?", Depth.DEEP)),
    ("/Fast when?", Ask("when?", Depth.FAST)),
    ("stop", line("stop")),
    (" STOP. ", line("stop")),
    ("/stop", line("stop")),
    ("stop it", Ask("stop it")),
    ("/ask stop", Ask("stop")),
    ("/new", line("new")),
    ("/New ", line("new")),
    ("/threads", ListThreads()),
    ("/threads 2", OpenThread(2)),
    ("/threads   12", OpenThread(12)),
    ("/memory", line("memory")),
    ("/memory delete 3", line("memory", "delete 3")),
    ("/usage", line("usage")),
    ("/policy", line("policy")),
    ("/policy set budget: 5 EUR", line("policy", "set budget: 5 EUR")),
    ("/budget", line("budget")),
    ("/budget everyone $20", line("budget", "everyone $20")),
    ("/forget", line("forget")),
    ("/forget this thread", line("forget", "this thread")),
    ("/FORGET about Apollo", line("forget", "about Apollo")),
    ("/model", line("model")),
    ("/model ollama:llama3.2", line("model", "ollama:llama3.2")),
    ("/help", line("help")),
    ("/quit", Quit()),
    ("Exit", Quit()),
    ("quit", Quit()),
    ("quit smoking", Ask("quit smoking")),
    ("help", line("help")),
    ("Help!", line("help")),
    ("help me with my boat", Ask("help me with my boat")),
    ("forget everything", line("forget", "everything")),
    ("forget since Monday", line("forget", "since Monday")),
    ("forget it", Ask("forget it")),
    ("delete the second line", Ask("delete the second line")),
    ("memory", line("memory")),
    ("memory delete 3", line("memory", "delete 3")),
    ("memory is a river", Ask("memory is a river")),
    ("new", Ask("new")),
    ("/ask help", Ask("help")),
    ("/file ~/a.pdf What changed?", Ask("What changed?", path="~/a.pdf")),
    ("/file '/home/my plan.pdf' What  now?", Ask("What  now?", path="/home/my plan.pdf")),
    (r"/file /home/my\ plan.pdf", Ask("What is in this file?", path="/home/my plan.pdf")),
]


@pytest.mark.parametrize(("line", "meaning"), MEANINGS)
def test_a_line_means_one_thing(line: str, meaning: Line) -> None:
    assert parse(line, NOW) == meaning


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("/thread", "There is no command `/thread`. Did you mean `/threads`?"),
        (
            "/nope",
            "There is no command `/nope`. `/help` lists the commands, and `//` sends text that starts with a slash.",
        ),
        ("forgt everything", "I have not run anything yet. Did you mean `forget everything`?"),
        ("Delete the last 2 hours!", "I have not run anything yet. Did you mean `forget the last 2 hours`?"),
        ("/memry please", "There is no command `/memry`. Did you mean `/memory`?"),
        (
            "/xyzzy",
            "There is no command `/xyzzy`. `/help` lists the commands, and `//` sends text that starts with a slash.",
        ),
        ("/", "There is no command `/`. `/help` lists the commands, and `//` sends text that starts with a slash."),
        ("/new boat", "Write `/new` with nothing after it."),
        ("/quit now", "Write `/quit` with nothing after it."),
        ("/ask", "Write your question after `/ask`."),
        ("/file", "Write `/file PATH` and your question: `/file ~/report.pdf What changed?`"),
        ("/threads 0", "Write `/threads` for the list, or `/threads 2` to go back to the second thread on it."),
        ("/threads two", "Write `/threads` for the list, or `/threads 2` to go back to the second thread on it."),
        ("/threads ²", "Write `/threads` for the list, or `/threads 2` to go back to the second thread on it."),
        (
            f"/threads {'9' * 5000}",
            "Write `/threads` for the list, or `/threads 2` to go back to the second thread on it.",
        ),
    ],
)
def test_what_looks_like_a_command_and_is_none_is_answered_with_a_sentence(line: str, sentence: str) -> None:
    assert parse(line, NOW) == UnclearLine(sentence)


def test_a_long_unknown_word_is_shown_in_part() -> None:
    meaning = parse("/etc/very/long/path/to/some/file/that/somebody/asked/about", NOW)
    assert isinstance(meaning, UnclearLine)
    assert "`/etc/very/long/path/to/some/f…`" in meaning.sentence


@given(st.text())
def test_every_line_means_something_and_no_command_is_sent_as_text(line: str) -> None:
    meaning = parse(line, NOW)
    if isinstance(meaning, Ask) and not line.strip().lower().startswith(("/ask", "/deep", "/fast", "/file")):
        assert meaning.text == line.strip().replace("//", "/", 1) if line.strip().startswith("/") else line.strip()


@given(st.text().filter(lambda text: bool(text.strip())))
def test_any_text_can_be_sent_after_ask(text: str) -> None:
    assert parse(f"/ask {text}", NOW) == Ask(text.strip())


@pytest.mark.parametrize("written", help_text())
def test_every_command_that_the_help_lists_exists(written: str) -> None:
    assert not isinstance(parse(written.replace("N", "2") if "threads" in written else written, NOW), UnclearLine)


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("/me", ["/memory"]),
        ("/ME", ["/memory"]),
        ("/f", ["/feedback", "/forget", "/fast", "/file"]),
        ("/th", ["/threads"]),
        ("/memory", ["/memory"]),
        ("/memory ", []),
        ("me", []),
        ("//me", []),
        ("/zzz", []),
        ("tell me /me", []),
        ("", []),
    ],
)
def test_the_beginning_of_a_command_is_completed_and_nothing_else(typed: str, names: list[str]) -> None:
    assert completed(typed) == names
