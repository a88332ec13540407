"""The blocks below a reply, and the clicks on them."""

from collections.abc import Iterator
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.models.blocks import Block

from agent.messages import Json
from bot.chat.reply.surface import ReplyAction
from bot.platforms.slack.reply_buttons import ACTION, ReplyClick, button_rows, reply_click
from bot.platforms.slack.reply_to import ReplyTo

TO = ReplyTo("C0GENERAL", "U0ANN", "1700000000.000001", after="1700000000.000001")
CONVERSATION = "slack:T0TEAM:C0GENERAL:1700000000.000001"
ENDED = frozenset({ReplyAction.GOOD, ReplyAction.BAD, ReplyAction.REGENERATE, ReplyAction.DELETE})
OFFERS = st.frozensets(st.sampled_from(ReplyAction))


def elements(blocks: list[Json]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        assert isinstance(block, dict)
        inner: Any = block["elements"]
        yield from inner


def values(blocks: list[Json]) -> Iterator[dict[str, Any]]:
    """Return every possible click, as Slack would send it."""
    for element in elements(blocks):
        if element["type"] == "feedback_buttons":
            yield from (element["positive_button"], element["negative_button"])
        else:
            yield element


def test_an_answer_offers_verdicts_and_deletion_in_small_and_another_answer_as_a_button() -> None:
    blocks = button_rows(ENDED, 12, CONVERSATION, TO)
    assert [block["type"] for block in blocks if isinstance(block, dict)] == ["context_actions", "actions"]
    assert [element["type"] for element in elements(blocks)] == ["feedback_buttons", "icon_button", "button"]


def test_only_the_asker_sees_the_sign_that_deletes_and_is_asked_whether_to() -> None:
    (trash,) = elements(button_rows(frozenset({ReplyAction.DELETE}), 12, CONVERSATION, TO))
    assert trash["visible_to_user_ids"] == ["U0ANN"]
    assert trash["confirm"]["confirm"]["text"] == "Delete"


def test_nothing_offered_is_no_block() -> None:
    assert button_rows(frozenset(), 12, CONVERSATION, TO) == []


@given(OFFERS, st.booleans())
def test_every_click_says_what_it_is_for(offers: frozenset[ReplyAction], plain: bool) -> None:
    blocks = button_rows(offers, 12, CONVERSATION, TO, plain=plain)
    judged = (
        offers
        if plain or offers >= {ReplyAction.GOOD, ReplyAction.BAD}
        else offers - {ReplyAction.GOOD, ReplyAction.BAD}
    )
    assert {reply_click(value) for value in values(blocks)} == {
        ReplyClick(offer, 12, CONVERSATION, TO) for offer in judged
    }


@given(OFFERS, st.booleans(), st.integers(1, 2**63))
def test_the_blocks_are_within_what_slack_takes(offers: frozenset[ReplyAction], plain: bool, turn: int) -> None:
    blocks = button_rows(offers, turn, CONVERSATION, TO, plain=plain)
    for block in cast("list[Any]", blocks):
        parsed = cast("Block", Block.parse(block))  # pyright: ignore[reportUnknownMemberType] -- slack-sdk's own
        parsed.validate_json()
    assert all(len(value["value"]) <= 2_000 for value in values(blocks))
    ids = [element["action_id"] for element in elements(blocks)]
    assert len(ids) == len(set(ids))
    assert all(name.startswith(f"{ACTION}:") for name in ids)


def test_the_answers_own_address_is_not_carried_along() -> None:
    to = ReplyTo("C0GENERAL", "U0ANN", response_url="https://hooks.slack.com/" + "x" * 2_000)
    (button,) = values(button_rows(frozenset({ReplyAction.CONTINUE}), 1, CONVERSATION, to))
    assert len(button["value"]) < 2_000


@pytest.mark.parametrize("value", ["", "{}", "[]", "no JSON", '{"do": "good"}', '{"do": "fly", "turn": 1, "to": "{}"}'])
def test_a_click_on_something_else_is_none_of_ours(value: str) -> None:
    assert reply_click({"value": value}) is None
