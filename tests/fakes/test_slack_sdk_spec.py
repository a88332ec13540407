"""The check of requests against the SDK can fail, and passes what the SDK itself would send."""

from typing import Any

import pytest
from slack_sdk.models.blocks import MarkdownBlock, SectionBlock

from tests.fakes.slack_sdk_spec import problems


def test_what_the_sdk_would_send_is_in_order() -> None:
    made: list[Any] = [SectionBlock(text="hello"), MarkdownBlock(text="**hello**")]
    blocks = [block.to_dict() for block in made]
    assert problems("chat.postMessage", {"channel": "C1", "text": "hello", "blocks": blocks}) == []
    assert problems("users.info", {"user": "U1", "include_locale": "1"}) == []


@pytest.mark.parametrize(
    ("method", "given", "says"),
    [
        ("chat.postMesage", {}, "no such method"),
        ("chat.postMessage", {"text": "hello"}, "'channel' is missing"),
        ("chat.postMessage", {"channel": "C1", "txt": "hello"}, "'txt' is unknown"),
        ("chat.postMessage", {"channel": "C1", "blocks": [{"type": "unheard_of"}]}, "knows no block"),
        ("chat.postMessage", {"channel": "C1", "blocks": [{"type": "section"}]}, "blocks[0]"),
        ("chat.postMessage", {"channel": "C1", "blocks": [{"type": "divider", "colour": "red"}]}, "colour is unknown"),
        (
            "chat.postMessage",
            {"channel": "C1", "blocks": [{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}]},
            "150",
        ),
        ("views.open", {"trigger_id": "1", "view": {"type": "modal", "title": {}, "blocks": [{"type": "x"}]}}, "view"),
    ],
)
def test_what_the_sdk_would_not_send_is_found(method: str, given: dict[str, object], says: str) -> None:
    found = problems(method, given)
    assert any(says in each for each in found), found
