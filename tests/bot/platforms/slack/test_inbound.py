"""Parsing of events and words, without a network."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.slack.inbound import (
    SlackBot,
    conversation,
    mistyped_private,
    organization,
    permalink,
    read_event,
    split_privacy,
    time_of,
)

ME = SlackBot("T1", "UBOT", "BBOT", "https://acme.slack.com/")


def envelope(**event: Any) -> dict[str, Any]:
    given = {"type": "message", "user": "U1", "text": "hello", "channel": "C1", "ts": "1700000000.000100", **event}
    return {"type": "event_callback", "event_id": "Ev1", "team_id": "T1", "event": given}


def test_a_message_is_read_with_all_that_it_says() -> None:
    heard = read_event(envelope(thread_ts="1700000000.000050", channel_type="channel", text="<@UBOT> hello"), ME)
    assert heard is not None
    assert (heard.event_id, heard.user, heard.direct, heard.mentioned, heard.outside) == (
        "Ev1",
        "U1",
        False,
        True,
        False,
    )
    assert heard.in_thread
    assert conversation(ME, heard) == "slack:T1:C1:1700000000.000050"


@pytest.mark.parametrize(
    "event",
    [
        {"type": "reaction_added"},
        {"subtype": "message_changed"},
        {"subtype": "message_deleted"},
        {"subtype": "channel_join"},
        {"subtype": "assistant_app_thread"},
        {"user": "UBOT"},
        {"bot_id": "BBOT"},
        {"bot_id": "B2"},
        {"user": None},
        {"channel": ""},
        {"ts": "nonsense"},
        {"hidden": True},
    ],
)
def test_what_nobody_wrote_to_the_bot_is_not_read(event: dict[str, Any]) -> None:
    assert read_event(envelope(**event), ME) is None


@pytest.mark.parametrize("event", [{"user_team": "T2"}, {"source_team": "T2"}, {"team": "T2"}])
def test_who_comes_from_elsewhere_is_an_outsider(event: dict[str, Any]) -> None:
    heard = read_event(envelope(**event), ME)
    assert heard is not None
    assert heard.outside


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["user", "text", "ts", "files"]), inner)
    ),
    max_leaves=6,
)
_fields = st.sampled_from(
    ["type", "user", "bot_id", "text", "ts", "thread_ts", "channel", "channel_type", "files", "subtype", "bot_profile"]
)


@given(st.dictionaries(_fields, _json))
def test_no_event_is_too_strange_to_be_read(event: dict[str, Any]) -> None:
    heard = read_event({"event": {"type": "message", **event}}, ME)
    if heard is not None:
        assert heard.channel
        assert time_of(heard.ts)


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("why?", ("why?", False)),
        ("privately why?", ("why?", True)),
        ("Private: why?", ("why?", True)),
        ("privately", ("", True)),
        ("privateer ships", ("privateer ships", False)),
        ("  ", ("", False)),
    ],
)
def test_a_question_may_ask_for_a_private_answer(words: str, asked: tuple[str, bool]) -> None:
    assert split_privacy(words) == asked


@pytest.mark.parametrize("word", ["privatly", "Privatley:", "prvately", "pirvately", "privateley", "privatelly"])
def test_a_mistyped_wish_for_privacy_is_noticed(word: str) -> None:
    assert mistyped_private(f"{word} what do I earn?") == word.casefold().strip(":")


@pytest.mark.parametrize(
    "words", ["", "privately why?", "privacy rules", "primarily why?", "private why?", "why privatly?"]
)
def test_other_words_are_no_wish_for_privacy(words: str) -> None:
    assert not mistyped_private(words)


def test_links_have_the_form_that_slack_gives_them() -> None:
    assert permalink(ME, "C1", "1700000000.000100") == "https://acme.slack.com/archives/C1/p1700000000000100"
    assert permalink(ME, "C1", "1700000000.000100", "1700000000.000050") == (
        "https://acme.slack.com/archives/C1/p1700000000000100?thread_ts=1700000000.000050&cid=C1"
    )
    assert permalink(SlackBot("T1", "U", "B"), "C1", "1.1") is None


@pytest.mark.parametrize(("full", "called"), [(True, "Acme"), (False, "")])
def test_members_alone_are_of_the_workspaces_organisation(*, full: bool, called: str) -> None:
    assert organization(SlackBot("T1", "UBOT", "BBOT", organization="Acme"), full=full) == called
