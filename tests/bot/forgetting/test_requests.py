"""Parsing the words after `/forget`."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.memory.forgetting_plans import AboutTopic, During, Everything, OneThread
from bot.forgetting.requests import (
    MAX_TOKEN_CHARS,
    AgreedForget,
    UnclearForget,
    forget_token,
    is_request,
    needs_zone,
    read_forget_request,
    wish_of,
)
from tests.fakes.askers import asker

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)  # a Saturday; 10:30 in Madrid
ANN = asker("ann", frozenset({"thread"}), "Europe/Madrid")


@pytest.mark.parametrize(
    ("words", "hours_ago", "hours"),
    [
        ("2 hours", 2, 2),
        ("the last 3 days", 72, 72),
        ("last hour", 1, 1),
        ("since Monday", 5 * 24 + 10.5, 5 * 24 + 10.5),
        ("since 9:00", 1.5, 1.5),
        ("since 14:30", 20, 20),
        ("today", 10.5, 10.5),
        ("yesterday", 34.5, 24),
        ("on Friday", 34.5, 24),
    ],
)
def test_times_are_read_where_the_person_is(words: str, hours_ago: float, hours: float) -> None:
    wish = read_forget_request(words, ANN, NOW)
    assert isinstance(wish, During)
    assert NOW - wish.period.since == timedelta(hours=hours_ago)
    assert abs(wish.period.until - wish.period.since - timedelta(hours=hours)) <= timedelta(seconds=1)


@pytest.mark.parametrize(
    ("words", "needs"),
    [("today", True), ("since Monday", True), ("since 9:00", True), ("2 hours", False), ("about Apollo", False)],
)
def test_what_names_days_or_hours_of_the_clock_needs_its_zone(words: str, *, needs: bool) -> None:
    assert needs_zone(words, NOW) == needs


def test_the_rest_is_a_thread_everything_or_about_something() -> None:
    assert read_forget_request("This thread.", ANN, NOW) == OneThread("ann", frozenset({"thread"}))
    assert read_forget_request("EVERYTHING", ANN, NOW) == Everything("ann")
    assert read_forget_request("about Apollo", ANN, NOW) == AboutTopic("ann", "Apollo")
    assert read_forget_request("  ", ANN, NOW) is None


@pytest.mark.parametrize(
    "words", ["foo", "everything but today", "tomorrow", "0 hours", "about …", f"about {'x' * 60}", "2 fortnights"]
)
def test_what_cannot_be_read_gets_one_sentence(words: str) -> None:
    unclear = read_forget_request(words, ANN, NOW)
    assert isinstance(unclear, UnclearForget)
    assert unclear.sentence.endswith((".", "`."))


def test_what_cannot_be_read_is_shown_as_it_was_written() -> None:
    unclear = read_forget_request("*all* of `it`, <@U1> [here](https://x.y)", ANN, NOW)
    assert isinstance(unclear, UnclearForget)
    assert r"“\*all\* of \`it\`, \<@U1\> \[here\](https://x.y)”" in unclear.sentence


def test_the_command_may_be_written_once_more() -> None:
    assert (
        read_forget_request("/forget about Apollo", ANN, NOW)
        == read_forget_request("forget about Apollo", ANN, NOW)
        == AboutTopic("ann", "Apollo")
    )
    assert read_forget_request("/forget", ANN, NOW) is None


def test_without_a_thread_there_is_none_to_forget() -> None:
    nowhere = asker("ann")
    assert isinstance(read_forget_request("thread", nowhere, NOW), UnclearForget)
    unclear = read_forget_request("foo", nowhere, NOW)
    assert isinstance(unclear, UnclearForget)
    assert "`thread`" not in unclear.sentence


@given(words=st.text(max_size=80), related=st.booleans())
@example(words="everything", related=True)
@example(words="thread", related=True)
@example(words=f"about {'a' * 50}", related=True)
def test_no_words_are_too_strange_and_a_button_carries_what_was_read(words: str, related: bool) -> None:
    wish = read_forget_request(words, ANN, NOW)
    if wish is not None and not isinstance(wish, UnclearForget):
        kept = forget_token(wish, "0123456789ab", related=related)
        assert len(kept) <= MAX_TOKEN_CHARS
        found = wish_of(kept, ANN)
        assert found is not None
        assert (found.wish, found.related) == (wish, related)
        assert found.name == "0123456789ab" or not related


def test_a_button_of_somebody_else_is_about_whoever_presses_it() -> None:
    ben = asker("ben", frozenset({"other"}))
    assert wish_of(forget_token(OneThread("ann", frozenset({"thread"})), ""), ben) == AgreedForget(
        OneThread("ben", ben.thread)
    )
    assert wish_of("nonsense", ben) is None
    assert wish_of("thread+", ben) is None
    assert wish_of("thread|name", ben) is None
    assert wish_of(f"during|name|1|{10**20}", ben) is None


def test_a_message_that_talks_about_forgetting_is_no_request() -> None:
    assert is_request("about Apollo", NOW)
    assert is_request("this", NOW)
    assert not any(is_request(words, NOW) for words in ("it", "about it", "this, what is new?", "about all of us here"))


@pytest.mark.parametrize("words", ["a", "C++", "ab", "a b", "…x", "词", "é!"])
def test_a_word_that_stands_in_nearly_everything_is_asked_for_more(words: str) -> None:
    answer = read_forget_request(f"about {words}", ANN, NOW)
    assert isinstance(answer, UnclearForget)
    assert "at least 3 letters" in answer.sentence


@pytest.mark.parametrize("words", ["cat", "my cat", "a b cat", "R2D2", "病気", "東京 x", "김치", "हिंदी"])
def test_a_telling_word_is_enough(words: str) -> None:
    assert read_forget_request(f"about {words}", ANN, NOW) == AboutTopic("ann", words)
