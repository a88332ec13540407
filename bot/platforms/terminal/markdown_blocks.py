"""Which part of a growing Markdown text is final and can be printed. Pure.

Theory of operation. Markdown is parsed line by line, and a block that is followed by another one never changes again.
So everything before the last block is settled, once that last block's first line is complete: "#" may still become a
heading, or "#tag" and then a part of the paragraph before it.
"""

from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token


def parsed_blocks(text: str) -> list[Token]:
    """Return the Markdown tokens of `text`.

    HTML is text. Images are links and reference definitions are text, so that every address stays readable, and each
    block is independent of later ones.
    """
    return _parser().parse(text)


def settled_chars(text: str) -> int:
    """Return the length of the beginning of `text` that consists of whole blocks which later text cannot change."""
    complete = text[: text.rfind("\n") + 1]
    starts = [token.map[0] for token in _blocks(complete) if token.level == 0 and token.map and token.nesting >= 0]
    if len(starts) < 2:
        return 0
    return sum(len(line) + 1 for line in complete.split("\n")[: starts[-1]])


def block_ending(text: str, lines: int) -> str:
    """Return a shorter text that renders like the end of `text`, a single block, on a screen of `lines` lines.

    Rendering a block of a thousand lines twenty times a second would take all available time.
    """
    text_lines = text.split("\n")
    first = len(text_lines) - 2 * lines  # twice, as blank lines may take no room
    if first <= 2 or not (tokens := _blocks(text)):
        return text
    match tokens[0].type:
        case "fence":
            return "\n".join([text_lines[0], *text_lines[first:]])
        case "table_open":
            return "\n".join([*text_lines[:2], *text_lines[first:]])
        case "bullet_list_open" | "ordered_list_open":
            items = [
                token.map[0] for token in tokens if token.type == "list_item_open" and token.level == 1 and token.map
            ]
            return "\n".join(text_lines[max(item for item in items if item <= max(first, items[0])) :])
        case _:
            return "\n".join(text_lines[first:])


def _blocks(text: str) -> list[Token]:
    """Return the tokens of blocks only, without inline tokens."""
    return _block_parser().parse(text)


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(["image", "reference"])


@cache
def _block_parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(["inline", "reference"])
