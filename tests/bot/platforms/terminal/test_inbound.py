"""What a typed line means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import Depth
from bot.platforms.terminal.inbound import (
    COMMANDS,
    Ask,
    BudgetLine,
    Command,
    ForgetLine,
    ListThreads,
    MemoryLine,
    NewThread,
    Nothing,
    OpenThread,
    PolicyLine,
    Quit,
    ShowHelp,
    ShowModel,
    ShowUsage,
    Stop,
    UnclearLine,
    UseModel,
    parse,
)

MEANINGS: list[tuple[str, Command]] = [
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
    ("stop", Stop()),
    (" STOP. ", Stop()),
    ("/stop", Stop()),
    ("stop it", Ask("stop it")),
    ("/ask stop", Ask("stop")),
    ("/new", NewThread()),
    ("/New ", NewThread()),
    ("/threads", ListThreads()),
    ("/threads 2", OpenThread(2)),
    ("/threads   12", OpenThread(12)),
    ("/memory", MemoryLine()),
    ("/memory delete 3", MemoryLine("delete 3")),
    ("/usage", ShowUsage()),
    ("/policy", PolicyLine()),
    ("/policy set budget: 5 EUR", PolicyLine("set budget: 5 EUR")),
    ("/budget", BudgetLine()),
    ("/budget everyone $20", BudgetLine("everyone $20")),
    ("/forget", ForgetLine()),
    ("/forget this thread", ForgetLine("this thread")),
    ("/FORGET about Apollo", ForgetLine("about Apollo")),
    ("/model", ShowModel()),
    ("/model ollama:llama3.2", UseModel("ollama:llama3.2")),
    ("/help", ShowHelp()),
    ("/quit", Quit()),
    ("Exit", Quit()),
    ("quit", Quit()),
    ("quit smoking", Ask("quit smoking")),
]


@pytest.mark.parametrize(("line", "meaning"), MEANINGS)
def test_a_line_means_one_thing(line: str, meaning: Command) -> None:
    assert parse(line) == meaning


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("/thread", "There is no command `/thread`: did you mean `/threads`?"),
        ("/memry please", "There is no command `/memry`: did you mean `/memory`?"),
        ("/xyzzy", "There is no command `/xyzzy`: `/help` lists them, and `//` sends text that begins with a slash."),
        ("/", "There is no command `/`: `/help` lists them, and `//` sends text that begins with a slash."),
        ("/new boat", "Write `/new` alone: it takes nothing after it."),
        ("/quit now", "Write `/quit` alone: it takes nothing after it."),
        ("/ask", "Write your question after `/ask`."),
        ("/threads 0", "Write `/threads` for the list, or `/threads 2` to go back to its second thread."),
        ("/threads two", "Write `/threads` for the list, or `/threads 2` to go back to its second thread."),
        ("/threads ²", "Write `/threads` for the list, or `/threads 2` to go back to its second thread."),
        (f"/threads {'9' * 5000}", "Write `/threads` for the list, or `/threads 2` to go back to its second thread."),
    ],
)
def test_what_looks_like_a_command_and_is_none_is_answered_with_a_sentence(line: str, sentence: str) -> None:
    assert parse(line) == UnclearLine(sentence)


def test_a_long_unknown_word_is_shown_in_part() -> None:
    meaning = parse("/etc/very/long/path/to/some/file/that/somebody/asked/about")
    assert isinstance(meaning, UnclearLine)
    assert "`/etc/very/long/path/to/some/f…`" in meaning.sentence


@given(st.text())
def test_every_line_means_something_and_no_command_is_sent_as_text(line: str) -> None:
    meaning = parse(line)
    if isinstance(meaning, Ask) and not line.strip().lower().startswith(("/ask", "/deep", "/fast")):
        assert meaning.text == line.strip().replace("//", "/", 1) if line.strip().startswith("/") else line.strip()


@given(st.text().filter(lambda text: bool(text.strip())))
def test_any_text_can_be_sent_after_ask(text: str) -> None:
    assert parse(f"/ask {text}") == Ask(text.strip())


@pytest.mark.parametrize("written", COMMANDS)
def test_every_command_that_the_help_lists_exists(written: str) -> None:
    assert not isinstance(parse(written.replace("N", "2") if "threads" in written else written), UnclearLine)
