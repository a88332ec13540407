"""What people may write after `/memory`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.memory import words
from bot.memory.words import HELP, Correct, Delete, Everywhere, Export, Help, Pause, Request, Show, Unclear, read


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("", Show()),
        ("  show ", Show()),
        ("page 3", Show(3)),
        ("delete 3", Delete("3")),
        ("Delete #12", Delete("12")),
        ("delete p:7", Delete("p:7")),
        ("correct 3 I prefer  tea", Correct("3", "I prefer  tea")),
        ("correct f:9 Friday\nat noon", Correct("f:9", "Friday\nat noon")),
        ("everywhere 3", Everywhere("3")),
        ("here 3", Everywhere("3", on=False)),
        ("export", Export()),
        ("export ~/notes.json", Export("~/notes.json")),
        ("pause", Pause()),
        ("pause here", Pause(here=True)),
        ("Pause  HERE for everybody", Pause(here=True, for_everybody=True)),
        ("resume", Pause(on=False)),
        ("resume in this channel", Pause(on=False, here=True)),
        ("help", Help()),
    ],
)
def test_each_request_is_read(written: str, meant: Request) -> None:
    assert read(written) == meant


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
    unclear = read(written)
    assert isinstance(unclear, Unclear)
    assert unclear.sentence.count("`") >= 2
    assert unclear.sentence.endswith(".")


def test_a_mistyped_word_gets_the_nearest_one() -> None:
    unclear = read("delte 3")
    assert isinstance(unclear, Unclear)
    assert unclear.sentence.startswith("Did you mean `/memory delete`?")


def test_what_buttons_write_is_read_as_what_they_say() -> None:
    assert read(words.delete_words("p:7")) == Delete("p:7")
    assert read(f"{words.correct_words('f:7')} Friday") == Correct("f:7", "Friday")
    assert read(words.everywhere_words("p:7", on=True)) == Everywhere("p:7")
    assert read(words.everywhere_words("p:7", on=False)) == Everywhere("p:7", on=False)
    assert read(words.page_words(2)) == Show(2)


def test_everything_that_the_help_shows_can_be_written() -> None:
    shown = [written.removeprefix("/memory").strip() for written in HELP]
    assert not [written for written in shown if isinstance(read(written), Unclear)]


@given(st.text())
def test_any_words_are_read(written: str) -> None:
    read(written)
