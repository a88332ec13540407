"""Parsing the words after `/memory`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.panels import page_words
from bot.memory import requests as view
from bot.memory import texts as memory_texts
from bot.memory.requests import (
    CorrectEntry,
    DeleteEntry,
    ExportMemory,
    MemoryHelp,
    PauseLearning,
    Request,
    ShowEntry,
    ShowMemory,
    UnclearMemory,
    UseEverywhere,
    read_memory_request,
)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("", ShowMemory()),
        ("  show ", ShowMemory()),
        ("show #3", ShowEntry("3")),
        ("page 3", ShowMemory(3)),
        ("delete 3", DeleteEntry("3")),
        ("Delete #12", DeleteEntry("12")),
        ("delete p:7", DeleteEntry("p:7")),
        ("correct 3 I prefer  tea", CorrectEntry("3", "I prefer  tea")),
        ("correct f:9 Friday\nat noon", CorrectEntry("f:9", "Friday\nat noon")),
        ("everywhere 3", UseEverywhere("3")),
        ("here 3", UseEverywhere("3", on=False)),
        ("export", ExportMemory()),
        ("export ~/notes.json", ExportMemory("~/notes.json")),
        ("pause", PauseLearning()),
        ("pause here", PauseLearning(here=True)),
        ("Pause  HERE for everybody", PauseLearning(here=True, for_everybody=True)),
        ("resume", PauseLearning(on=False)),
        ("resume in this channel", PauseLearning(on=False, here=True)),
        ("help", MemoryHelp()),
    ],
)
def test_each_request_is_read(written: str, meant: Request) -> None:
    assert read_memory_request(written) == meant


@pytest.mark.parametrize(
    "written",
    [
        "delete",
        "delete three",
        "delete 3 4",
        "correct 3",
        "everywhere",
        "page 0",
        "page x",
        "pause now",
        "help me",
        "x",
    ],
)
def test_what_is_no_request_gets_one_sentence_with_what_can_be_written(written: str) -> None:
    unclear = read_memory_request(written)
    assert isinstance(unclear, UnclearMemory)
    assert unclear.sentence.count("`") >= 2
    assert unclear.sentence.endswith(".")


def test_a_mistyped_word_gets_the_nearest_one() -> None:
    unclear = read_memory_request("delte 3")
    assert isinstance(unclear, UnclearMemory)
    assert unclear.sentence.startswith("Did you mean `/memory delete`?")


def test_what_buttons_write_is_read_as_what_they_say() -> None:
    assert read_memory_request(view.delete_words("p:7")) == DeleteEntry("p:7")
    assert read_memory_request(f"{view.correct_words('f:7')} Friday") == CorrectEntry("f:7", "Friday")
    assert read_memory_request(view.everywhere_words("p:7", on=True)) == UseEverywhere("p:7")
    assert read_memory_request(view.everywhere_words("p:7", on=False)) == UseEverywhere("p:7", on=False)
    assert read_memory_request(page_words(2)) == ShowMemory(2)


def test_everything_that_the_help_shows_can_be_written() -> None:
    shown = [written.removeprefix("/memory").strip() for written in memory_texts.MEMORY_HELP]
    assert not [written for written in shown if isinstance(read_memory_request(written), UnclearMemory)]


@given(st.text())
def test_any_words_are_read(written: str) -> None:
    read_memory_request(written)
