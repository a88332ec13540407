"""How Discord's clients read the Markdown of a message, as far as code, links and what swallows them are concerned.

The rules and their order are those of the parser that Discord's clients are built on (simple-markdown) with Discord's
own changes: each rule is tried where the text stands, the first that matches wins, and its content is read in turn.
"""

import re
from collections.abc import Iterator
from typing import Final

CODE: Final = "code"
LINK: Final = "link"
TEXT: Final = "text"

_QUOTE: Final = re.compile(r"(?: *>>> ([\s\S]*))|(?: *> [^\n]*(?:\n *> [^\n]*)*\n?)")
_RULES: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("heading", re.compile(r"(?m:^)(?:#{1,3}|-#) +([^\n]+)")),
    ("escape", re.compile(r"\\[^0-9A-Za-z\s]")),
    ("auto", re.compile(r"<[^: >]+:/[^ >]+>")),
    ("url", re.compile(r"https?://[^\s<]+[^<.,:;\"'\]\s]")),
    (LINK, re.compile(r"\[((?:\[[^\]]*\]|[^\[\]]|\](?=[^\[]*\]))*)\]\(\s*<?((?:\([^)]*\)|[^\s\\]|\\.)*?)>?"
                      r"(?:\s+['\"]([\s\S]*?)['\"])?\s*\)")),
    ("em", re.compile(r"\b_((?:__|\\[\s\S]|[^\\_])+?)_\b|\*(?=\S)((?:\*\*|\s+(?:[^*\s]|\*\*)|[^\s*])+?)\*(?!\*)")),
    ("strong", re.compile(r"\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)")),
    ("underline", re.compile(r"__((?:\\[\s\S]|[^\\])+?)__(?!_)")),
    ("strike", re.compile(r"~~([\s\S]+?)~~(?!_)")),
    ("block", re.compile(r"```(?:([a-z0-9_+\-.#]+?)\n)?\n*([^\n][\s\S]*?)\n*```", re.IGNORECASE)),
    ("span", re.compile(r"(`+)([\s\S]*?[^`])\1(?!`)")),
    ("spoiler", re.compile(r"\|\|([\s\S]+?)\|\|")),
)  # fmt: skip


def read_discord(text: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a message in order: what each is (CODE, LINK or TEXT) and its source. A link's source is its
    words and its address with a space between them.
    """
    at, line_start = 0, True
    plain: list[str] = []
    while at < len(text):
        if line_start and (quote := _QUOTE.match(text, at)) is not None:
            yield TEXT, "".join(plain)
            plain = []
            content = quote[1] if quote[1] is not None else re.sub(r"(?m)^ *> ?", "", quote[0])
            yield from read_discord(content)
            at = quote.end()
            continue
        name, found = _first(text, at)
        if found is None:
            plain.append(text[at])
            line_start = text[at] == "\n"
            at += 1
            continue
        yield TEXT, "".join(plain)
        plain = []
        match name:
            case "block" | "span":
                yield CODE, found[2]
            case "link":
                yield LINK, f"{found[1]} {found[2]}"
            case "escape" | "url" | "auto":
                yield TEXT, found[0]
            case _:
                yield from read_discord(next((part for part in found.groups() if part), ""))
        at, line_start = found.end(), text[found.end() - 1] == "\n"
    yield TEXT, "".join(plain)


def _first(text: str, at: int) -> tuple[str, re.Match[str] | None]:
    """Return the first rule that matches here, with its match; "" and None for plain text."""
    for name, rule in _RULES:
        found = rule.match(text, at)
        if found is not None and found.end() > at:
            return name, found
    return "", None
