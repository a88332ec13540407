"""What an answer presents, as Slack's blocks, and the buttons that ask its follow-up questions. Pure.

Rule: a button carries the answer's turn and place and the number of its question, and no permission: at the click, the
host is asked who may ask there. Its label is the question itself.
https://docs.slack.dev/reference/block-kit/blocks
"""

from dataclasses import dataclass, replace
from typing import Final

from agent.messages import Json, JsonObject
from agent.presentations import Presentation, PresentedSection, escaped, table_markdown
from bot.platforms.slack.api import number, text
from bot.platforms.slack.block_kit import button, button_payload, plain, row
from bot.platforms.slack.reply_to import ReplyTo, decode_reply_to

# The action ids of the buttons begin with it; a colon and the question's number follow.
FOLLOW_UP: Final = "cogency_present"
MAX_BLOCKS: Final = 50  # Of a message; what `agent.presentations` allows are fewer
MAX_MARKDOWN_CHARS: Final = 12_000  # Of all Markdown blocks of a message together


@dataclass(frozen=True, slots=True)
class FollowUpClick:
    """A follow-up question below the answer of `turn` was clicked, by its number from 0. `to`: the answer's place."""

    turn: int
    number: int
    conversation: str
    to: ReplyTo


def follow_up_click(action: JsonObject) -> FollowUpClick | None:
    """Return what a click asks for; None if it is not on such a button."""
    value = button_payload(action)
    try:
        to = decode_reply_to(text(value, "to"))
    except ValueError:
        return None
    click = FollowUpClick(number(value, "turn"), number(value, "number"), text(value, "in"), to)
    return click if click.turn > 0 and click.number >= 0 else None


def presented_blocks(presentation: Presentation, turn: int, conversation: str, to: ReplyTo) -> list[Json] | None:
    """Return the blocks of the message; None for one that Slack would refuse: it is empty or too long."""
    blocks: list[Json] = [{"type": "header", "text": plain(presentation.title)}] if presentation.title else []
    chars = 0
    for section in presentation.sections:
        shown, section_chars = _section(section)
        blocks += shown
        chars += section_chars
    if not blocks or chars > MAX_MARKDOWN_CHARS:
        return None
    place = replace(to, response_url="", scheduled="").encode()  # It is long, and a click is not the schedule's
    buttons = [
        button(f"{FOLLOW_UP}:{at}", question, {"turn": turn, "number": at, "in": conversation, "to": place})
        for at, question in enumerate(presentation.questions)
    ]
    return [*blocks, *row(buttons)]


def _section(section: PresentedSection) -> tuple[list[Json], int]:
    """Return a section's blocks, and the number of their characters of Markdown."""
    heading = f"**{escaped(section.heading)}**" if section.heading else ""
    words = "\n\n".join(filter(None, [heading, section.text]))
    table = table_markdown(section.table) if section.table else ""
    blocks = [_markdown(words)] if words else []
    if section.fields:
        fields: list[Json] = [plain("\n".join(filter(None, [one.name, one.value])) or " ") for one in section.fields]
        blocks.append({"type": "section", "fields": fields})
    if table:
        blocks.append(_markdown(table))
    blocks.extend(
        {"type": "image", "image_url": picture.address, "alt_text": picture.alt} for picture in section.pictures
    )
    return blocks, len(words) + len(table)


def _markdown(words: str) -> Json:
    return {"type": "markdown", "text": words}
