"""Samples of the blocks that replies have, for Slack to check (`blocks.validate`), and what its answer means. Pure.

Rule: they are made as those of a reply are, so that what is checked is what is sent.
"""

import re
from typing import Final

from agent.charts import Chart, ChartKind
from agent.messages import Json, JsonObject
from bot.chat.reply.surface import ReplyAction
from bot.platforms.slack.api import items, text
from bot.platforms.slack.charts import chart_block
from bot.platforms.slack.reply_buttons import button_rows
from bot.platforms.slack.reply_to import ReplyTo
from bot.platforms.slack.tables import blocks_with_tables

_WORDS: Final = (
    "Boats:\n\n| Boat | Feet | Page |\n|---|---|---|\n| **Ada** | 40 | |\n| Bee | 7.5 | [x](https://example.com) |"
)
_CHART: Final = Chart(ChartKind.BARS, "Boats", ("Ada", "Bee"), {"Feet": (40, 7.5)})
_OFFERS: Final = frozenset({ReplyAction.GOOD, ReplyAction.BAD, ReplyAction.DELETE, ReplyAction.REGENERATE})
_POINTER: Final = re.compile(r"/(?:blocks/)?([0-9]{1,2})(?:/|\Z)")


def sample_blocks(user: str, *, tables: bool) -> list[dict[str, Json]]:
    """Return the blocks of a reply to this user (U…). `tables`: whether replies have sortable ones."""
    words: list[Json] = blocks_with_tables(_WORDS) if tables else [{"type": "markdown", "text": _WORDS}]
    blocks = [*words, chart_block(_CHART), *button_rows(_OFFERS, 1, "", ReplyTo("C0000000000", user))]
    return [block for block in blocks if isinstance(block, dict)]


def refused_kinds(blocks: list[dict[str, Json]], answer: JsonObject) -> list[str]:
    """Return the types of those blocks of which Slack's answer names errors, in order; [] if it names none of them."""
    pointers = (_POINTER.match(text(error, "pointer")) for error in items(answer, "errors"))
    places = {int(pointer[1]) for pointer in pointers if pointer is not None}
    kinds = [str(blocks[place]["type"]) for place in sorted(places) if place < len(blocks)]
    return [*dict.fromkeys(kinds)]
