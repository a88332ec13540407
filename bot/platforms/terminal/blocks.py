"""Which part of a growing Markdown text can be printed for good. Pure.

Above: `bot.platforms.terminal.screen`. Below: markdown-it.

Theory. Markdown is read line by line, and a block that another one follows never changes again. So everything before
the last block is settled, once that last block's first line is complete: "#" may still become a heading, or "#tag" and
then a part of the paragraph before it.
"""

from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

_CONTROLS = {code: "\ufffd" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n\r"}


def printable(text: str) -> str:
    """`text` with only "\\n" ending lines, and without control characters: no answer may steer the terminal."""
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS)


def parsed(text: str) -> list[Token]:
    """The Markdown tokens of `text`, as chats write it.

    HTML is text. Images are links and reference definitions are text, so that every address stays readable; and the
    meaning of a block depends on no later one.
    """
    return _parser().parse(text)


def settled_chars(text: str) -> int:
    """How many characters at the beginning of `text` are whole blocks that no later character can change."""
    complete = text[: text.rfind("\n") + 1]
    starts = [token.map[0] for token in _blocks(complete) if token.level == 0 and token.map and token.nesting >= 0]
    if len(starts) < 2:
        return 0
    return sum(len(line) + 1 for line in complete.split("\n")[: starts[-1]])


def ending(text: str, lines: int) -> str:
    """A shorter text whose end looks like that of `text`, one block, on a screen of that many lines.

    Drawing a block of a thousand lines twenty times a second would take all the time there is.
    """
    written = text.split("\n")
    first = len(written) - 2 * lines  # twice, as blank lines may take no room
    if first <= 2 or not (tokens := _blocks(text)):
        return text
    match tokens[0].type:
        case "fence":
            return "\n".join([written[0], *written[first:]])
        case "table_open":
            return "\n".join([*written[:2], *written[first:]])
        case "bullet_list_open" | "ordered_list_open":
            items = [
                token.map[0] for token in tokens if token.type == "list_item_open" and token.level == 1 and token.map
            ]
            return "\n".join(written[max(item for item in items if item <= max(first, items[0])) :])
        case _:
            return "\n".join(written[first:])


def _blocks(text: str) -> list[Token]:
    """The tokens of blocks alone: what stands inside their lines is not looked at."""
    return _block_parser().parse(text)


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(["image", "reference"])


@cache
def _block_parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(["inline", "reference"])
