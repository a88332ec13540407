"""Takes a line and its buttons back from a reply that was posted, as when a fact is undone. Pure."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from agent.messages import Json, JsonObject
from bot.chat.reply.surface import PRESSED_ONCE, ReplyAction
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.api import text
from bot.platforms.slack.reply_buttons import ACTION

# The types of a reply's text blocks: as they were sent, and as Slack stores them.
_WORDS: Final = frozenset({"markdown", "rich_text"})


@dataclass(frozen=True, slots=True)
class Retraction:
    """How a part of a reply is retracted: the line with this prefix is replaced, and the buttons `offers` removed.

    `rewrite` does so in Markdown.
    """

    prefix: str
    replacement: str
    rewrite: Callable[[str], str]
    offers: frozenset[ReplyAction]


def _retraction(offer: ReplyAction, prefix: str, replacement: str) -> Retraction:
    return Retraction(prefix, replacement, platforms_texts.AFTER_PRESS[offer], PRESSED_ONCE[offer])


RETRACTIONS: Final[Mapping[ReplyAction, Retraction]] = {
    offer: _retraction(offer, prefix, replacement)
    for offer, prefix, replacement in (
        (ReplyAction.UNDO, reply_texts.REMEMBERED, platforms_texts.UNDONE),
        (ReplyAction.CANCEL, reply_texts.SCHEDULED, platforms_texts.UNSCHEDULED),
        (ReplyAction.KEEP, reply_texts.LAPSES, platforms_texts.KEPT_ON),
        (ReplyAction.END, reply_texts.LAPSES, platforms_texts.ENDED_NOW),
    )
}


def without(retraction: Retraction, blocks: Sequence[JsonObject]) -> list[Json]:
    """Return the blocks of a reply, as Slack stores them, with a part retracted; [] if none of them has its text."""
    if not any(text(block, "type") in _WORDS for block in blocks):
        return []
    kept_blocks: list[Json] = []
    for block in blocks:
        match block:
            case {"type": "actions"}:
                kept_blocks += _remaining(block, retraction.offers)
            case {"type": "markdown", "text": str(words)}:
                kept_blocks.append({**block, "text": retraction.rewrite(words)})
            case {"type": "rich_text", "elements": [*parts]}:
                kept_blocks.append({**block, "elements": [_without_line(retraction, part) for part in parts]})
            case _:
                kept_blocks.append({**block})
    return kept_blocks


def without_buttons(offers: AbstractSet[ReplyAction], blocks: Sequence[JsonObject]) -> list[Json]:
    """Return the blocks of a reply, as Slack stores them, without these buttons; [] if none of them has its text."""
    if not any(text(block, "type") in _WORDS for block in blocks):
        return []
    return [kept for block in blocks for kept in _remaining(block, offers)]


def _remaining(block: JsonObject, offers: AbstractSet[ReplyAction]) -> list[Json]:
    """Return the block without these buttons; [] for a row of buttons of which none is left."""
    match block:
        case {"type": "actions", "elements": [*elements]}:
            others = [element for element in elements if not _offers(element, offers)]
            return [{**block, "elements": others}] if others else []
        case _:
            return [{**block}]


def _offers(element: Json, offers: AbstractSet[ReplyAction]) -> bool:
    return isinstance(element, dict) and element.get("action_id") in {f"{ACTION}:{offer}" for offer in offers}


def _without_line(retraction: Retraction, part: Json) -> Json:
    """Retract the line in a part of rich text, into which Slack turns Markdown. It is the last such line in italics,
    and may hold links.
    """
    match part:
        case {"type": "rich_text_section", "elements": [*elements]}:
            starts = [at for at, element in enumerate(elements) if _begins(element, retraction.prefix)]
            if not starts:
                return part
            next_lines = [at for at, element in enumerate(elements) if at > starts[-1] and _begins(element, *_LINES)]
            end = min(next_lines, default=len(elements))
            behind = [element for element in elements[starts[-1] : end] if not _is_italic(element)]
            line: Json = {"type": "text", "text": retraction.replacement.strip("*"), "style": {"italic": True}}
            return {**part, "elements": [*elements[: starts[-1]], line, *behind, *elements[end:]]}
        case _:
            return part


_LINES: Final = (reply_texts.REMEMBERED, reply_texts.SCHEDULED, reply_texts.LAPSES)


def _begins(element: Json, *lines: str) -> bool:
    prefixes = tuple(line.strip("*") for line in lines)
    return isinstance(element, dict) and str(element.get("text", "")).startswith(prefixes) and _is_italic(element)


def _is_italic(element: Json) -> bool:
    match element:
        case {"style": {"italic": True}}:
            return True
        case _:
            return False
