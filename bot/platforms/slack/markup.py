"""Between Slack's way of writing a message and plain text. Pure.

The rules. Inwards, what Slack marks up as `<…>` becomes what a person reads: names instead of ids. Outwards, nothing
that a model writes can ping anybody: what would be a mention keeps its length, and shows as the same word in other
characters. (A replacement, not an addition: a page that fits must still fit.)
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode as Node

from agent.memory.own_words import mention

_TOKEN = re.compile(r"<([^<>\n]*)>")
_USER = re.compile(r"<@([UWB][A-Z0-9]+)(?:\|[^<>]*)?>")
_LEADING_USER = re.compile(r"\s*<@([^<>|\s]+)(?:\|[^<>]*)?>[\s,:]*")
_CHANNEL = re.compile(r"<#([CG][A-Z0-9]+)\|?>")
_PERMALINK = re.compile(
    r"https?://[^\s<>|/]{1,255}/archives/(?P<channel>[CDG][A-Z0-9]+)/p(?P<seconds>\d{10})(?P<fraction>\d{6})"
    r"(?:\?[^\s<>|]{0,99}?thread_ts=(?P<root>\d{10}\.\d{6}))?"
)
_AT = r"@|&commat;|&#0{0,5}64;|&#x0{0,4}40;"
_CALL = r"!|&excl;|&#0{0,5}33;|&#x0{0,4}21;"
_GROUP = r"channel|here|everyone|group|subteam"
_OPENING = re.compile(
    rf"(?:<|&lt;?|&#0{{0,5}}60;?|&#x0{{0,4}}3c;?)(?=\\?(?:{_AT}|(?:{_CALL})\\?(?:{_GROUP}|&)))", re.IGNORECASE
)
_NAMED = re.compile(rf"(?:(?<!\w)@|(?!@)(?:{_AT}))(?=(?:{_GROUP})\b)", re.IGNORECASE)
# What may still become a ping at the end of a text that grows; the longest that is one has 40 characters.
_UNDECIDED = re.compile(r"[<&@][<&@!\\#;\w]{0,47}\Z")
_WORD = re.compile(r"\w\Z")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


@dataclass(frozen=True, slots=True)
class SlackMessageLink:
    """A link to a message. `root` is the thread that it lies in, as far as the link says."""

    channel: str
    ts: str
    root: str


def mentioned_users(text: str) -> tuple[str, ...]:
    """The ids of the users that a message of Slack mentions, each once."""
    return tuple(dict.fromkeys(_USER.findall(text)))


def mentioned_channels(text: str) -> tuple[str, ...]:
    """The ids of the channels that a message of Slack mentions without saying their names, each once."""
    return tuple(dict.fromkeys(_CHANNEL.findall(text)))


def readable(text: str, names: Mapping[str, str]) -> str:
    """A message of Slack as a person reads it; `names` by the ids of users and channels, an unknown id stays an id."""
    return _unescaped(_TOKEN.sub(lambda token: _shown(token[1], names), text)).strip()


def without_mention(text: str, user: str) -> str:
    """A message of Slack without the mentions of `user` that it begins with."""
    end = 0
    while (found := _LEADING_USER.match(text, end)) and found[1] == user:
        end = found.end()
    return text[end:]


def message_links(text: str) -> tuple[SlackMessageLink, ...]:
    """The messages that a message of Slack links to, each once."""
    found = [
        SlackMessageLink(link["channel"], f"{link['seconds']}.{link['fraction']}", link["root"] or "")
        for link in _PERMALINK.finditer(text)
    ]
    return tuple(dict.fromkeys(found))


def neutral(text: str) -> str:
    """Markdown that pings nobody, of the same length: "<@U1>" becomes "‹@U1>", "@here" becomes "＠here"."""
    text = _OPENING.sub(lambda found: _in_its_place("‹", found[0]), text)
    return _NAMED.sub(lambda found: _in_its_place("＠", found[0]), text)


def settled(text: str) -> str:
    """The beginning of `neutral(text)` that stays as it is, whatever is added to the text: what may be sent of a text
    that can only be appended to. The rest reads the same alone as behind it: it never begins with what a word ends.
    """
    undecided = _UNDECIDED.search(text)
    shown = neutral(text)[: undecided.start() if undecided else len(text)]
    return shown[:-1] if _WORD.search(shown) else shown


def quoted(text: str) -> str:
    """The text as a quotation in Markdown."""
    return "\n".join(f"> {line}" for line in text.splitlines())


def _in_its_place(sign: str, mark: str) -> str:
    return sign.ljust(len(mark), "\u2060")


def _shown(token: str, names: Mapping[str, str]) -> str:
    target, _, label = token.partition("|")
    match target[:1]:
        case "@":
            return mention(names.get(target[1:]) or label or target[1:])
        case "#":
            return f"#{label or names.get(target[1:]) or target[1:]}"
        case "!":
            return label or f"@{target[1:].partition('^')[0]}"
        case _:
            return _readable_link(target, label)


def _readable_link(target: str, label: str) -> str:
    bare = target.removeprefix("mailto:")
    if not label or label in (bare, bare.partition("://")[2]):
        return bare
    return f"[{label}]({target})"


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


# From Markdown to Slack's older way of writing, "mrkdwn", where Slack takes nothing else. Pure.
#
# Rules
# - Nothing that is written gets lost: what mrkdwn has no form for keeps its words, and a table stands in a code block.
# - Slack knows no way to escape its marks, so a "*" that stood for itself stays one. "&", "<" and ">" are escaped.
# - Marks hold for one line only, so they are set on each.

SECTION_CHARS: Final = 3_000  # The most that the text of a section holds

_FENCE: Final = "```"
_RULE: Final = "─" * 12
_INDENT: Final = "    "

# Of the tables of a text, some 30 µs each: more than a chat shows well. What has more is shown as it was written.
MAX_CELLS: Final = 1_000


NOTICE_CHARS: Final = 3_000  # Of the text that Slack wants beside a page's blocks: notifications show a line of it


def notice(markdown: str) -> str:
    """The beginning of the text in mrkdwn: what stands beside blocks that hold the whole. No more of it is read than
    that takes, as Markdown is seldom twice as long.
    """
    return mrkdwn(markdown[: 2 * NOTICE_CHARS])[:NOTICE_CHARS]


def mrkdwn(markdown: str) -> str:
    """The text in mrkdwn, of any length."""
    tables = _cells_at_most(markdown) <= MAX_CELLS
    return _blocks(Node(_parser(tables=tables).parse(markdown)).children).strip("\n")


def _cells_at_most(markdown: str) -> int:
    """No table of the text has more: each line of its block is a row, filled up to as many cells as the widest has."""
    blocks = _BLANK_LINE.split(markdown) if "|" in markdown else []
    lines = (block.split("\n") for block in blocks if "|" in block)
    return sum((max(line.count("|") for line in each) + 1) * len(each) for each in lines)


def pieces(shown: str, limit: int = SECTION_CHARS) -> list[str]:
    """A text in mrkdwn in pieces of at most `limit` characters (16 or more), cut between lines or words where there are
    any; a code block that is cut goes on in the next one. None of them is empty.
    """
    found, current, code, size = list[str](), list[str](), False, 0
    room = limit - 2 * (len(_FENCE) + 1)
    for line in (part for whole in shown.split("\n") for part in _cut(whole, room)):
        if current not in ([], [_FENCE]) and size + len(line) > room + (len(_FENCE) + 1) * code:
            found.append("\n".join([*current, _FENCE] if code else current))
            current = [_FENCE] if code else []
            size = (len(_FENCE) + 1) * code
        current.append(line)
        size += len(line) + 1
        code ^= line.startswith(_FENCE)
    found.append("\n".join([*current, _FENCE] if code else current))
    return [piece.strip("\n") for piece in found if piece.strip()]


@cache
def _parser(*, tables: bool) -> MarkdownIt:
    """HTML is text."""
    return MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", *(["table"] if tables else [])])


def _blocks(nodes: Sequence[Node], between: str = "\n\n") -> str:
    return between.join(filter(None, (_block(node) for node in nodes)))


def _block(node: Node) -> str:
    match node.type:
        case "heading":
            return _marked(_inline(node, bold=False), "*")
        case "paragraph" | "inline":
            return _inline(node)
        case "fence" | "code_block":
            return _code(node.content)
        case "blockquote":
            return "\n".join(f"> {line}".rstrip() for line in _blocks(node.children).split("\n"))
        case "bullet_list" | "ordered_list":
            return "\n".join(_items(node))
        case "table":
            return _code(_table(node))
        case "hr":
            return _RULE
        case _:
            return _blocks(node.children) if node.children else _escaped(node.content)


def _items(node: Node) -> Iterator[str]:
    first = node.attrs.get("start", 1)
    for number, item in enumerate(node.children, start=first if isinstance(first, int) else 1):
        mark = f"{number}. " if node.type == "ordered_list" else "• "
        first_line, _, rest = _blocks(item.children, "\n").partition("\n")
        yield f"{mark}{first_line}"
        yield from _indented(rest)


def _indented(lines: str) -> Iterator[str]:
    """Not what stands in a code block, or around it: its marks must begin their line."""
    code = False
    for line in lines.split("\n") if lines else ():
        fence = line.startswith(_FENCE)
        yield line if code or fence else f"{_INDENT}{line}"
        code ^= fence


def _code(content: str) -> str:
    return "\n".join((_FENCE, _escaped(content.rstrip("\n")), _FENCE))


def _table(node: Node) -> str:
    rows = [[_plain(cell) for cell in row.children] for part in node.children for row in part.children]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def _inline(node: Node, *, bold: bool = True) -> str:
    return "".join(_span(child, bold=bold) for child in node.children)


def _span(node: Node, *, bold: bool) -> str:
    """`bold` False: it is bold already."""
    match node.type:
        case "inline":
            return _inline(node, bold=bold)
        case "text":
            return _escaped(node.content)
        case "softbreak" | "hardbreak":
            return "\n"
        case "strong":
            return _marked(_inline(node, bold=False), "*") if bold else _inline(node, bold=bold)
        case "em":
            return _marked(_inline(node, bold=bold), "_")
        case "s":
            return _marked(_inline(node, bold=bold), "~")
        case "code_inline":
            return _escaped(node.content) if "`" in node.content else f"`{_escaped(node.content)}`"
        case "link":
            return _link(str(node.attrs.get("href", "")), _plain(node))
        case "image":
            return _link(str(node.attrs.get("src", "")), _plain(node))
        case _:
            return _inline(node, bold=bold) if node.children else _escaped(node.content)


def _link(address: str, words: str) -> str:
    target = quote(address, safe="/:?#[]@!$&'()*+,;=%~").replace("&", "&amp;")
    label = _escaped(words).replace("\n", " ").replace("|", "¦")
    if not target:
        return label
    return f"<{target}|{label}>" if label and label != target else f"<{target}>"


def _plain(node: Node) -> str:
    """The words alone."""
    if node.type in ("softbreak", "hardbreak"):
        return " "
    return "".join(_plain(child) for child in node.children) if node.children else node.content


def _marked(shown: str, mark: str) -> str:
    return "\n".join(f"{mark}{line}{mark}" if line.strip() else line for line in shown.split("\n"))


def _escaped(text: str) -> str:
    """Three backticks would begin a code block, or end it: something invisible parts them."""
    text = text.replace(_FENCE, "`\u2060`\u2060`")
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _cut(line: str, limit: int) -> Iterator[str]:
    """A line in parts of at most so many characters: between words, else before a link or an escaped sign, else
    anywhere.
    """
    while len(line) > limit:
        space = line.rfind(" ", 1, limit)
        at = space if space > 0 else limit
        opened = max(line.rfind("<", 1, at), line.rfind("&", max(1, at - 5), at))
        if opened > 0 and not any(line.find(end, opened, at) > 0 for end in (">", ";")):
            at = opened
        yield line[:at]
        line = line[at:].removeprefix(" ")
    yield line
