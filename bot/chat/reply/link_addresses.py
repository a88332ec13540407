"""Shows the addresses of links. Pure, and in linear time.

Prompt injection can make a model write "[the agenda](https://evil.example/?q=…)" with data it knows in the address:
one click sends the data away, and a reader sees only the words. So such a link is broken, and its whole address is
shown.

Rules
- A link keeps hiding its address only where the turn has read exactly that address: then no data was put into it.
  Data can be in a path or a host name as well as in a query.
- Platforms differ in what they render as a link. So a space is put between the words and the address, which breaks
  the link on each of them; only before what leads out of the page: "[Convert]::ToBase64String" and "\\right](\\alpha)"
  stay as they are.
- What is code for the platform is not changed; what only might be code is (`code_spans`). Slack's own form of a link
  is not known to be plain text in code, so there it is broken in code, too.
- The text only grows: an incomplete address is held back together with the last bracket of its words, and so is a link
  in what may still become code.
"""

from collections.abc import Callable

import regex

from agent.addresses import hosts_in
from agent.messages import read_references
from bot.chat.reply.code_spans import CodeMap, code_map
from bot.chat.reply.markdown import HELD_CHARS
from bot.chat.reply.surface import MarkdownReader

MAX_ADDRESS_CHARS = 250  # A longer address, or one with brackets, is always shown: neither is held back
# Before the address of a link, which may be on the next line, also of a quotation.
_GAP = r"[^\S\n]*+ (?: \n [\s>]*+ )?+"
_LINK = regex.compile(
    rf"""
      \](?= [(:] {_GAP} (?: <(?P<to>[^\s()<>\]]++)> | (?P<to>(?:[^\s()<>\]]|\([^\s()<>\]]*+\))++)(?=[)\s]|\Z) )?+ )
        (?= [(:] {_GAP} (?: <(?P<start>[^<>\n]{{1,400}}) | (?P<start>[^\s()<>\]]{{1,400}}) ) )
    # What may be an address, and a label; or an address so long that it is no longer held back
    | <(?= [^\S\n]{{0,250}}+ (?:
        (?P<start>[a-z\d+.-]{{1,100}}+:[^<>|\n]{{0,250}}+) [^<>\n] | (?P<start>[^\s<>|]{{1,250}}+) (?: \| | [^\s<>|] )
      ))
    """,
    regex.VERBOSE | regex.IGNORECASE,
)
# A scheme with a target, a host, or a name to which browsers and chat clients add a scheme.
_LEADS_OUT = regex.compile(
    r"[\W_]*?(?:[a-z][a-z\d+.-]{0,100}:(?!:)\S|(?:https?|ftp|mailto|tel):\S|[/\\]{2}|www\.)", regex.IGNORECASE
)
# An element of XML in its namespace, as "soap:Envelope xmlns:soap=", which is no address.
_ELEMENT = regex.compile(
    r"(?!https?:|mailto:|tel:|ftp:)[a-z_][\w.-]{0,99}+:[a-z_][\w.-]*+\s++[\w:.-]++=", regex.IGNORECASE
)
_BREAKS = regex.compile(r"[\t\r\n]")  # Browsers leave them out of an address
_ESCAPED = regex.compile(r"\\(?=[!-/:-@\[-`{-~])")
# Bounded, as it is held back: of a link that never ends 250 characters wait, and no more.
_LINK_BEGUN = regex.compile(
    rf"""
    (?: \] (?: [(:] {_GAP} (?: <[^<>\n]{{0,250}}+ | (?:[^\s()<>\]]|\([^\s()<>\]]*+\)?+){{0,250}}+ ) )?+
      | < [^\S\n]{{0,250}}+ (?: [a-z\d+.-]{{1,100}}+:[^<>|\n]{{0,250}}+ | [^\s<>|]{{0,250}}+ )
    ) \Z
    """,
    regex.VERBOSE | regex.IGNORECASE,
)


def show_addresses(
    text: str,
    has_read: Callable[[str], bool],
    *,
    complete: bool,
    reader: MarkdownReader = MarkdownReader.COMMONMARK,
) -> str:
    """Return the text with the address shown of each link that the turn has not read exactly so."""
    # A link that is still being written is held back: its address is not known yet.
    incomplete = None if complete else _LINK_BEGUN.search(text, text.rfind("\n", 0, -1 - HELD_CHARS) + 1)
    end = len(text) if incomplete is None else incomplete.start()
    code: CodeMap | None = None
    shown, at = list[str](), 0
    for match in _LINK.finditer(text):
        if match.start() >= end:
            break
        if not _hides(match, has_read):
            continue
        # Read only once a link needs it: most answers have none, and this runs with each piece.
        code = code or code_map(text, reader, complete=complete)
        is_reference = (
            match[0] == "<"
            and reader is MarkdownReader.WITH_REFERENCES
            and not (code.covers(match.start()) and _ELEMENT.match(match["start"]))
        )
        if code.covers(match.start()) and not is_reference:
            continue
        # It may still become code, in which nothing may change: shown once that is certain.
        if match.start() >= code.undecided and not is_reference:
            end = match.start()
            break
        shown += text[at : match.start()], "] " if match[0] == "]" else "‹"
        at = match.end()
    return "".join([*shown, text[at:end]])


def _hides(link: "regex.Match[str]", has_read: Callable[[str], bool]) -> bool:
    """Whether it is a link to somewhere that the turn has not read."""
    if not _leads_out(link["start"]):
        return False
    address = link["to"] or ""
    return not (address and len(address) <= MAX_ADDRESS_CHARS and has_read(address))


def _leads_out(target: str) -> bool:
    """Return whether a target leads out of the page, as it stands or with its escapes read. Chat clients put a scheme
    before the name of a host, and browsers read backslashes as slashes.
    """
    readings = (_BREAKS.sub("", reading).strip() for reading in (target, _ESCAPED.sub("", read_references(target))))
    return any(_LEADS_OUT.match(reading) is not None or bool(hosts_in(reading)) for reading in readings)
