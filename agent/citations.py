"""Citations in an answer, and its list of sources. Pure, and in linear time.

Rules.
- A number stands for one address in one turn. It is assigned when a tool's result is made, stored with that result, and
  never reassigned: so it stays valid while an answer grows, and in another process that continues the turn.
- A citation of a number without a result is removed from the answer, and counted; text in code is no citation. Only
  references of results are listed as sources: a list that the model wrote at the end is removed.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import regex

from agent.messages import Reference, ToolResult

FETCH: Final = "web_fetch"  # The tool whose call sends out an address, its argument `url`
MAX_REFERENCES: Final = 200  # In one turn: twenty searches. Later references have no number.
MAX_LISTED: Final = 20  # Sources below one answer: readers look at no more
MAX_UNCITED: Final = 5  # Sources below an answer without citations: those that were read for it


def references_of(results: Iterable[ToolResult | None]) -> dict[int, Reference]:
    """The references of a turn's results, by number. One that was found first and read later counts as read."""
    known: dict[int, Reference] = {}
    for result in results:
        for new in () if result is None else result.references:
            before = known.get(new.number, new)
            known[new.number] = replace(new, title=new.title or before.title, is_read=new.is_read or before.is_read)
    return known


@dataclass(slots=True)
class ReferenceNumbers:
    """Assigns the numbers of one turn."""

    _numbers: dict[str, int] = field(default_factory=dict[str, int])

    def know(self, references: Iterable[Reference]) -> None:
        """Add the numbers that an earlier process assigned."""
        self._numbers |= {reference.address: reference.number for reference in references}

    def number(self, address: str) -> int | None:
        """Return the number of an address, assigning one at the first call; None after MAX_REFERENCES addresses."""
        if address not in self._numbers and len(self._numbers) < MAX_REFERENCES:
            self._numbers[address] = max(self._numbers.values(), default=0) + 1
        return self._numbers.get(address)


_MARKED: Final = regex.compile(
    r"""
      ^(?:[ \t>]|(?:[-*+]|\d{1,9}[.)])[ \t])*+(?P<fence>`{3,}+|~{3,}+)[^\n]*+         # a block of code
      (?:\n(?![ \t>]*+(?P=fence))[^\n]*+)*+ (?:\n[^\n]*+)?+
    | (?<!`)(?P<ticks>`{1,4}+)(?!`)[^\n]{1,500}?(?<!`)(?P=ticks)(?!`)                                  # code in a line
    | (?P<gap>[ ]?)\[(?P<mark>\^?+)(?P<numbers>\d{1,3}+(?:[ ]?[,;][ ]?\d{1,3}+){0,9}+)\](?!\(|:[ ]?<?https?:)
    """,
    regex.VERBOSE | regex.MULTILINE,
)
_MARK_PREFIX: Final = regex.compile(r"[ ]?\[\^?+[\d ,;]{0,60}+\]?\Z")
_NUMBER: Final = regex.compile(r"\d+")


@dataclass(slots=True)
class Citations:
    """The citations of a text that only grows. The decision about a citation never changes afterwards."""

    known: dict[int, Reference] = field(default_factory=dict[int, Reference])
    _decided: dict[int, tuple[str, tuple[int, ...], int]] = field(
        default_factory=dict[int, tuple[str, tuple[int, ...], int]]
    )
    """By a citation's position: its replacement, the numbers that it cites, and how many it invented."""

    def add(self, result: ToolResult) -> None:
        self.known = references_of([ToolResult("", result.status, "", references=tuple(self.known.values())), result])

    def shown(self, text: str, *, complete: bool) -> str:
        """The text without invented citations; while it grows, also without an incomplete citation at its end."""
        if not self.known:
            return text
        incomplete = None if complete else _MARK_PREFIX.search(text, max(0, len(text) - 70))
        text = text if incomplete is None else text[: incomplete.start()]
        return "".join(self._pieces(text))

    @property
    def cited(self) -> list[int]:
        """The numbers that the text cites, in order of the text."""
        return list(dict.fromkeys(number for _, cited, _ in self._decided.values() for number in cited))

    @property
    def invented(self) -> int:
        return sum(invented for _, _, invented in self._decided.values())

    def _pieces(self, text: str) -> Iterator[str]:
        at = 0
        for match in _MARKED.finditer(text):
            if match["numbers"] is None:
                continue
            if match.start() not in self._decided:
                self._decided[match.start()] = self._decide(match)
            yield text[at : match.start()]
            yield self._decided[match.start()][0]
            at = match.end()
        yield text[at:]

    def _decide(self, match: "regex.Match[str]") -> tuple[str, tuple[int, ...], int]:
        numbers = [int(number) for number in _NUMBER.findall(match["numbers"])]
        cited = tuple(number for number in numbers if number in self.known)
        if len(cited) == len(numbers):
            return match[0], cited, 0
        replacement = f"{match['gap']}[{match['mark']}{', '.join(map(str, cited))}]" if cited else ""
        return replacement, cited, len(numbers) - len(cited)


# A list of sources at the end that the model wrote itself; its entries may be anything.
_OWN_LIST: Final = regex.compile(
    r"""
      (?<!\n)\n++ [ \t>\#*_]*+
      (?:sources?|references|citations|quellen|fuentes|fontes|fonti|bronnen|źródła|источники|来源|參考資料|参考资料|出典|출처)
      [ \t*_]*+ [:：]?+ [ \t*_]*+ \n++
      (?: [ \t>]*+ (?:[-*+•]|\d{1,3}[.)]|\[\^?\d{1,3}\]) [^\n]{0,2000}+ (?:\n++|\Z) )++ \Z
    """,
    regex.VERBOSE | regex.IGNORECASE,
)
_ADDRESS: Final = regex.compile(r"https?://[^\s<>()\[\]]++")


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer without invented citations. `sources`: the list below it. `is_cited`: the answer cites them."""

    text: str
    sources: tuple[Reference, ...] = ()
    is_cited: bool = True
    invented: int = 0


def cite(text: str, known: Mapping[int, Reference]) -> Cited:
    """Process the whole answer of a turn with these references. Without citations, the read references are listed."""
    if not known or not text.strip():
        return Cited(text)
    citations = Citations(dict(known))
    shown = citations.shown(text, complete=True)
    invented = citations.invented
    if (own := _OWN_LIST.search(shown)) is not None and own.start() > 0:
        addresses = {reference.address.rstrip("/") for reference in known.values()}
        invented += sum(address.rstrip(".,;/") not in addresses for address in _ADDRESS.findall(own[0]))
        shown = shown[: own.start()].rstrip()
    cited = sorted(citations.cited)[:MAX_LISTED]
    if cited:
        return Cited(shown, tuple(known[number] for number in cited), invented=invented)
    read = [known[number] for number in sorted(known) if known[number].is_read]
    found = [known[number] for number in sorted(known)]
    return Cited(shown, tuple((read or found)[:MAX_UNCITED]), is_cited=False, invented=invented)
