"""Which events of Slack are edits and deletions."""

from typing import Any

import pytest

from agent.messages import JsonObject
from bot.platforms.slack.inbound import Changed, SlackBot, read_change

ME = SlackBot("T1", "UBOT", "BBOT")
TS = "1700000000.000100"
BEFORE = {"type": "message", "user": "U1", "text": "old", "ts": TS}


def event(subtype: str, **more: Any) -> JsonObject:
    return {"event": {"type": "message", "subtype": subtype, "channel": "C1", **more}}


def edit(**changes: Any) -> JsonObject:
    return event("message_changed", message={**BEFORE, **changes}, previous_message={**BEFORE})


def test_other_words_are_an_edit_also_of_a_message_with_files_or_one_that_was_sent_to_the_channel() -> None:
    for subtype in ("", "file_share", "thread_broadcast"):
        assert read_change(edit(text="new", subtype=subtype), ME) == Changed("C1", TS, "new")


@pytest.mark.parametrize(
    "change",
    [
        {"attachments": [{"from_url": "https://example.org", "title": "unfolded"}]},
        {"files": [{"id": "F1"}], "subtype": "file_share"},
        {"subtype": "thread_broadcast"},
        {"reply_count": 2, "thread_ts": TS},
        {"edited": {"user": "U1", "ts": "1700000001.000100"}},
    ],
)
def test_the_same_words_are_none_whatever_else_has_changed(change: dict[str, Any]) -> None:
    assert read_change(edit(**change), ME) is None


def test_the_bots_own_edits_are_none() -> None:
    assert read_change(edit(text="new", user="UBOT"), ME) is None


def test_a_deletion_is_one_also_where_a_thread_stays() -> None:
    gone = event("message_deleted", deleted_ts=TS, previous_message={**BEFORE})
    stone = edit(text="This message was deleted.", subtype="tombstone", user="USLACKBOT")
    assert read_change(gone, ME) == read_change(stone, ME) == Changed("C1", TS, None)


def test_a_deleted_message_of_the_bot_is_known_as_such() -> None:
    ours = {**BEFORE, "user": "UBOT", "bot_id": "BBOT"}
    assert read_change(event("message_deleted", deleted_ts=TS, previous_message=ours), ME) == Changed(
        "C1", TS, None, ours=True
    )


def test_what_is_said_anew_is_no_change() -> None:
    assert read_change({"event": {**BEFORE, "channel": "C1"}}, ME) is None
