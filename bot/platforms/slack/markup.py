"""Converts between Slack's markup, plain text and Markdown. Pure.

Rules. Incoming, Slack's `<…>` becomes what a person reads: names instead of ids. Outgoing, a model's text can mention
no one: what would be a mention shows as the same word with another sign, of the same length, so that a page that fits
still fits. Code is not changed ("@here/maps", "List<@NonNull String>"), with one exception: Slack's own complete form
of a mention, as "<!channel>", of which Slack does not say that it is plain text in code.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode as Node

from agent.memory.attribution import mention
from bot.chat.reply.code_spans import code_map
from bot.chat.reply.surface import MarkdownReader
from bot.chat.reply.tables import aligned, column_widths, underline
from bot.chat.texts.formatting import literal

_TOKEN = re.compile(r"<([^<>\n]*)>")
_USER = re.compile(r"<@([UWB][A-Z0-9]+)(?:\|[^<>]*)?>")
_LEADING_USER = re.compile(r"\s*<@([^<>|\s]+)(?:\|[^<>]*)?>[\s,:]*")
_CHANNEL = re.compile(r"<#([CG][A-Z0-9]+)\|?>")
_USER_OR_GROUP = re.compile(r"<@([UWB][A-Z0-9]+)(?:\|[^<>]*)?>|<!subteam\^(S[A-Z0-9]+)>")
# A message's time stamp stands in its link without the dot; the root of its thread only if it is a reply.
_PERMALINK = re.compile(
    r"https?://[^\s<>|/]{1,255}/archives/(?P<channel>[CDG][A-Z0-9]+)/p(?P<seconds>\d{10})(?P<fraction>\d{6})"
    r"(?:\?[^\s<>|]{0,99}?thread_ts=(?P<root>\d{10}\.\d{6}))?"
)
_AT = r"@|&commat;|&#0{0,5}64;|&#x0{0,4}40;"
_CALL = r"!|&excl;|&#0{0,5}33;|&#x0{0,4}21;"
_GROUP = r"channel|here|everyone|group|subteam"
# Slack decodes entities before it looks for mentions, so each spelling of "<" and "!" counts, with a backslash or
# without.
_OPENING = re.compile(
    rf"(?:<|&lt;?|&#0{{0,5}}60;?|&#x0{{0,4}}3c;?)(?=\\?(?:{_AT}|(?:{_CALL})\\?(?:{_GROUP}|&)))", re.IGNORECASE
)
_AT_MENTION = re.compile(rf"(?:(?<!\w)@|(?!@)(?:{_AT}))(?=(?:{_GROUP})\b)", re.IGNORECASE)
_MENTION_FORM = (
    r"(?:!(?:channel|here|everyone|group)|!subteam\^\w{1,30}|(?-i:@[UWB][A-Z0-9]{1,30}))(?:\|[^<>\n]{0,200})?>"
)
_COMPLETE = re.compile(_MENTION_FORM, re.IGNORECASE)
# Slack's own forms of mentions and links, which are changed in code, too.
CHANGED_IN_CODE = re.compile(rf"<(?:{_MENTION_FORM}|(?:https?|mailto|tel):[^<>\s|]*\|)", re.IGNORECASE)
_COMPLETE_BEGUN = re.compile(r"[^<>\n]{0,240}\Z")
# The end of a growing text that may still become a mention; the longest such end has 40 characters.
_UNDECIDED = re.compile(r"[<&@][<&@!\\#;\w]{0,47}\Z")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


@dataclass(frozen=True, slots=True)
class SlackMessageLink:
    """A link to a message. `root`: the first message of its thread, if the link says so; else ""."""

    channel: str
    ts: str
    root: str


def mentioned_users(text: str) -> tuple[str, ...]:
    """Return the ids of the users that a message of Slack mentions, each once."""
    return tuple(dict.fromkeys(_USER.findall(text)))


def mentioned_channels(text: str) -> tuple[str, ...]:
    """Return the ids of the channels that a message of Slack mentions without their names, each once."""
    return tuple(dict.fromkeys(_CHANNEL.findall(text)))


def readable(text: str, names: Mapping[str, str]) -> str:
    """Return a message of Slack as a person reads it. `names`: by ids of users and channels; other ids stay."""
    return _unescaped(_TOKEN.sub(lambda token: _readable_token(token, names), text)).strip()


def with_user_names(text: str, names: Mapping[str, str]) -> str:
    """Return Markdown with names in place of the users that it mentions, and the entries of access lists in place of
    user groups: what is sent to Slack mentions no one. `names`: by ids; other ids stay. Code stays as it is: it shows
    the arguments of a call that is to be approved.
    """
    code = code_map(text, MarkdownReader.WITH_REFERENCES)

    def shown(found: re.Match[str]) -> str:
        user, group = found.groups()
        if code.covers(found.start()):
            return found[0]
        if group:
            return f"`role:{group}`"
        return f"@{literal(names[user])}" if user in names else f"`{user}`"

    return _USER_OR_GROUP.sub(shown, text)


def without_mention(text: str, user: str) -> str:
    """Return a message of Slack without the mentions of `user` at its beginning."""
    end = 0
    while (found := _LEADING_USER.match(text, end)) and found[1] == user:
        end = found.end()
    return text[end:]


def message_links(text: str) -> tuple[SlackMessageLink, ...]:
    """Return the messages to which a message of Slack links, each once."""
    found = [
        SlackMessageLink(link["channel"], f"{link['seconds']}.{link['fraction']}", link["root"] or "")
        for link in _PERMALINK.finditer(text)
    ]
    return tuple(dict.fromkeys(found))


class NeutralText(str):
    """A piece of a text that `neutral` has read as a whole: alone it would not be seen whether it is code."""

    __slots__ = ()


def neutral(text: str) -> str:
    """Return Markdown that mentions no one, of the same length: "<@U1>" becomes "‹@U1>", "@here" becomes "＠here"."""
    return _neutral(text)[0]


def _neutral(text: str, *, complete: bool = True) -> tuple[str, int]:
    """Return the neutral text, and where its first sign stands that was changed only because it is no code so far."""
    mentions = sorted(
        [
            *((found, "‹") for found in _OPENING.finditer(text)),
            *((found, "＠") for found in _AT_MENTION.finditer(text)),
        ],
        key=lambda mention: mention[0].start(),
    )
    # Nearly all texts: finding out what is code costs more than the rest together.
    if not mentions:
        return text, len(text)
    code = code_map(text, MarkdownReader.WITH_REFERENCES, complete=complete)
    pieces, at, undecided = list[str](), 0, len(text)
    for found, sign in mentions:
        is_complete = found[0] == "<" and _COMPLETE.match(text, found.end()) is not None
        in_code = code.covers(found.start())
        may_change = found.start() >= code.undecided or (in_code and _COMPLETE_BEGUN.match(text, found.end()))
        # The sign may turn out to stand in code once more text is there, where it must not change: it is not shown
        # before.
        if not complete and not is_complete and may_change:
            undecided = min(undecided, found.start())
        # Slack does not promise that a complete mention is plain text in code.
        if found.start() < at or (in_code and not is_complete):
            continue
        pieces += text[at : found.start()], _pad(sign, found[0])
        at = found.end()
    return "".join([*pieces, text[at:]]), undecided


def settled(text: str) -> str:
    """Return the beginning of `neutral(text)` that no addition to the text can change. It may be sent to a stream,
    which can only be appended to.
    """
    undecided = _UNDECIDED.search(text)
    shown, end = _neutral(text, complete=False)
    return shown[: min(end, undecided.start() if undecided else len(text))]


def quoted(text: str) -> str:
    """Return the text as a quotation in Markdown."""
    return "\n".join(f"> {line}" for line in text.splitlines())


def _pad(sign: str, mark: str) -> str:
    return sign.ljust(len(mark), "\u2060")


def _readable_token(token: "re.Match[str]", names: Mapping[str, str]) -> str:
    target, _, label = token[1].partition("|")
    before = token.string[max(0, token.start() - 1) : token.start()]
    match target[:1]:
        case "@":
            return mention(names.get(target[1:]) or label or target[1:], before=before)
        case "#":
            return mention(label or names.get(target[1:]) or target[1:], "#", before=before)
        case "!" if target.startswith("!subteam"):
            return mention(label.removeprefix("@") or "subteam", before=before)
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


# From Markdown to Slack's older markup, "mrkdwn", where Slack takes nothing else. Pure.
#
# Rules
# - No text gets lost: what mrkdwn has no form for keeps its words, and a table becomes a code block.
# - Slack has no escape for its marks, so a literal "*" stays one. "&", "<" and ">" are escaped.
# - Marks hold for one line only, so they are set on each.

SECTION_CHARS: Final = 3_000  # Slack's limit for the text of a section

_FENCE: Final = "```"
_RULE: Final = "─" * 12
_INDENT: Final = "    "

# In the tables of a text, at some 30 µs each: more than a chat shows well. With more, tables are not parsed.
MAX_CELLS: Final = 1_000

NOTICE_CHARS: Final = 3_000  # Of the text that Slack wants beside a page's blocks: notifications show a line of it


def notice(markdown: str) -> str:
    """Return the beginning of the text in mrkdwn, to be sent beside blocks that hold the whole. Only as much is parsed
    as that takes: Markdown is seldom twice as long.
    """
    return mrkdwn(markdown[: 2 * NOTICE_CHARS])[:NOTICE_CHARS]


def mrkdwn(markdown: str) -> str:
    """Return the text in mrkdwn, of any length."""
    tables = max_cells(markdown) <= MAX_CELLS
    return _blocks(Node(markdown_parser(tables=tables).parse(markdown)).children).strip("\n")


def max_cells(markdown: str) -> int:
    """Return an upper bound of the cells in the text's tables: each line of a block counts as a row of the widest."""
    blocks = _BLANK_LINE.split(markdown) if "|" in markdown else []
    lines = (block.split("\n") for block in blocks if "|" in block)
    return sum((max(line.count("|") for line in rows) + 1) * len(rows) for rows in lines)


def pieces(mrkdwn_text: str, limit: int = SECTION_CHARS) -> list[str]:
    """Split a text in mrkdwn into pieces of up to `limit` characters (16 or more), between lines or words if possible.
    A code block that is cut goes on in the next piece. No piece is empty.
    """
    finished, current, code, size = list[str](), list[str](), False, 0
    room = limit - 2 * (len(_FENCE) + 1)
    for line in (part for whole in mrkdwn_text.split("\n") for part in _cut(whole, room)):
        if current not in ([], [_FENCE]) and size + len(line) > room + (len(_FENCE) + 1) * code:
            finished.append("\n".join([*current, _FENCE] if code else current))
            current = [_FENCE] if code else []
            size = (len(_FENCE) + 1) * code
        current.append(line)
        size += len(line) + 1
        code ^= line.startswith(_FENCE)
    finished.append("\n".join([*current, _FENCE] if code else current))
    return [piece.strip("\n") for piece in finished if piece.strip()]


@cache
def markdown_parser(*, tables: bool) -> MarkdownIt:
    """Return a parser for which HTML is plain text."""
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
    """Indent lines, except code blocks and their fences, which must begin their lines."""
    code = False
    for line in lines.split("\n") if lines else ():
        fence = line.startswith(_FENCE)
        yield line if code or fence else f"{_INDENT}{line}"
        code ^= fence


def _code(content: str) -> str:
    return "\n".join((_FENCE, _escaped(content.rstrip("\n")), _FENCE))


def _table(node: Node) -> str:
    rows = [[plain_text(cell) for cell in row.children] for part in node.children for row in part.children]
    widths = column_widths(rows)
    head, *lines = (aligned(row, widths) for row in rows)
    return "\n".join([head, underline(widths), *lines])


def _inline(node: Node, *, bold: bool = True) -> str:
    return "".join(_span(child, bold=bold) for child in node.children)


def _span(node: Node, *, bold: bool) -> str:
    """Return an inline node in mrkdwn. `bold`: False inside of bold text."""
    match node.type:
        case "inline":
            return _inline(node, bold=bold)
        case "text":
            return _escaped(node.content)
        case "softbreak" | "hardbreak":
            return "\n"
        case "strong":  # mrkdwn has no bold inside of bold: a second asterisk would end the first
            return _marked(_inline(node, bold=False), "*") if bold else _inline(node, bold=bold)
        case "em":
            return _marked(_inline(node, bold=bold), "_")
        case "s":
            return _marked(_inline(node, bold=bold), "~")
        case "code_inline":  # mrkdwn has no longer fence for code that holds a backtick itself
            return _escaped(node.content) if "`" in node.content else f"`{_escaped(node.content)}`"
        case "link":
            return _link(str(node.attrs.get("href", "")), plain_text(node))
        case "image":
            return _link(str(node.attrs.get("src", "")), plain_text(node))
        case _:
            return _inline(node, bold=bold) if node.children else _escaped(node.content)


def _link(address: str, words: str) -> str:
    target = quote(address, safe="/:?#[]@!$&'()*+,;=%~").replace("&", "&amp;")
    label = _escaped(words).replace("\n", " ").replace("|", "¦")
    if not target:
        return label
    return f"<{target}|{label}>" if label and label != target else f"<{target}>"


def plain_text(node: Node) -> str:
    """Return the text of a node without marks."""
    if node.type in ("softbreak", "hardbreak"):
        return " "
    return "".join(plain_text(child) for child in node.children) if node.children else node.content


def _marked(mrkdwn_text: str, mark: str) -> str:
    return "\n".join(f"{mark}{line}{mark}" if line.strip() else line for line in mrkdwn_text.split("\n"))


def _escaped(text: str) -> str:
    """Escape a text. Three backticks, which would begin or end a code block, are parted by invisible characters."""
    text = text.replace(_FENCE, "`\u2060`\u2060`")
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _cut(line: str, limit: int) -> Iterator[str]:
    """Yield a line in parts of up to `limit` characters: cut between words, else before a link or an escaped sign, else
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
