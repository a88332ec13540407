"""Presentations as Discord's components and Slack's blocks: within each platform's limits, whatever they hold."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from slack_sdk.models.blocks import Block

from agent.events import Outcome
from agent.presentations import (
    Presentation,
    PresentedPicture,
    PresentedSection,
    PresentedTable,
    presentation_markdown,
)
from agent.turn_records import Closing
from bot.chat.reply.presentations import separated, with_shown_addresses
from bot.chat.reply.surface import MarkdownReader
from bot.platforms.discord.presentations import (
    MAX_CHARS,
    MAX_COMPONENTS,
    QuestionPress,
    presented_components,
    question_ids,
    question_press,
)
from bot.platforms.discord.rest import IS_COMPONENTS_V2
from bot.platforms.slack.presentations import MAX_BLOCKS, MAX_MARKDOWN_CHARS, follow_up_click, presented_blocks
from bot.platforms.slack.reply_to import ReplyTo
from tests.fakes.discord_spec import problems
from tests.fakes.discord_world import parts
from tests.fakes.presentations import presentations
from tests.fakes.slack_blocks import message_problems

TO = ReplyTo("C0GENERAL", "U0ANN", thread_ts="1700000000.000100", after="1700000000.000100")
BOATS = Presentation(
    "Boats",
    (
        PresentedSection("Blue", "**Fast**", pictures=(PresentedPicture("https://x.example/a.png", "A boat"),)),
        PresentedSection(table=PresentedTable(("Boat",), (("Ann",),))),
    ),
    ("Which is cheapest?",),
)


@pytest.mark.slow
@given(shown=presentations)
def test_discord_takes_each_message_that_is_sent(shown: Presentation) -> None:
    components = presented_components(shown, 7, 76)
    if components is None:
        return
    inside = [*parts({"components": components})]
    assert len(inside) <= MAX_COMPONENTS
    assert sum(len(part["content"]) for part in inside if part["type"] == 10) <= MAX_CHARS
    body = {"components": components, "flags": IS_COMPONENTS_V2}
    assert problems("POST", "/channels/1/messages", body, {}) == []
    pressed = [question_press(part["custom_id"]) for part in inside if part["type"] == 2]
    assert pressed == [QuestionPress(7, number) for number in range(len(shown.questions))]
    assert {press.id for press in pressed if press} == question_ids(shown, 7)
    assert [part["label"] for part in inside if part["type"] == 2] == [*shown.questions]


@pytest.mark.slow
@given(shown=presentations)
def test_slack_takes_each_message_that_is_sent(shown: Presentation) -> None:
    blocks = presented_blocks(shown, 7, "slack:T:C:1", TO)
    if blocks is None:
        return
    given_blocks = cast("list[dict[str, Any]]", blocks)
    assert len(blocks) <= MAX_BLOCKS
    assert sum(len(block["text"]) for block in given_blocks if block["type"] == "markdown") <= MAX_MARKDOWN_CHARS
    assert message_problems(given_blocks) == []
    for block in Block.parse_all(given_blocks):  # pyright: ignore[reportUnknownMemberType] -- the SDK's
        block.validate_json()
    clicks = [follow_up_click(button) for button in _buttons(given_blocks)]
    assert [click and click.number for click in clicks] == [*range(len(shown.questions))]
    assert [button["text"]["text"] for button in _buttons(given_blocks)] == [*shown.questions]


def test_what_is_too_long_for_a_message_is_left_to_text() -> None:
    long = Presentation(sections=(PresentedSection(text="a" * 2_000),) * 8)
    assert presented_components(long, 7, 76) is None
    assert presented_blocks(long, 7, "c", TO) is None


def test_other_ids_are_no_questions() -> None:
    for other in ("present:0:1", "present:7:10", "stop:c", "present:7:", ""):
        assert question_press(other) is None
    assert follow_up_click({"value": "no json"}) is None
    assert follow_up_click({"value": "{}"}) is None


def test_a_link_or_a_picture_that_was_not_read_is_shown_with_its_address() -> None:
    unread = PresentedSection(text="[agenda](https://evil.example/?q=1)", pictures=BOATS.sections[0].pictures)
    shown = with_shown_addresses(Presentation("Boats", (unread,)), lambda _: False, MarkdownReader.LOOSE)
    assert shown.sections[0].pictures == ()
    assert shown.sections[0].text == "[agenda] (https://evil.example/?q=1)\n\n- [A boat] (https://x.example/a.png)"
    read = with_shown_addresses(BOATS, lambda address: address == "https://x.example/a.png", MarkdownReader.LOOSE)
    assert read == BOATS


def test_an_answer_is_shown_apart_from_its_presentation_only_if_nobody_changed_it() -> None:
    def closing(reply: str) -> Closing:
        return Closing(Outcome.ANSWERED, reply, presentation=BOATS)

    words = presentation_markdown(BOATS)
    apart = separated(closing(f"Here they are [1].\n\n{words}\n\nSources: [1] a"))
    assert apart is not None
    assert apart.text == "Here they are [1].\n\nSources: [1] a"
    assert separated(closing(words)) is None
    narrow = replace(closing(f"Here they are.\n\n{words}"), drawn_from="group:slack:T:C1")
    assert separated(narrow) is None  # its questions would be found elsewhere, as messages of those who press them
    assert separated(closing("Here they are.\n\nSomething else")) is None
    assert separated(Closing(Outcome.ANSWERED, "Hello.")) is None


def _buttons(blocks: list[dict[str, Any]]) -> Iterator[Any]:
    return (button for block in blocks if block["type"] == "actions" for button in block["elements"])
