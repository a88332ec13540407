"""What an answer may cite. Pure, and in linear time.

Rules.
- A number stands for one address in one turn. It is given out while a tool's result is made, stored with that result,
  and never given to another address: so it holds while an answer grows, and in the process that goes on with it.
- A citation of a number that no result has brought is dropped from the answer, and counted; what stands in code is
  none. Nothing is listed as a source but what results brought: a list that the model wrote at the end goes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import regex

from agent.messages import Reference, ToolResult

FETCH: Final = "web_fetch"  # The tool whose call carries an address out, in its argument `url`
MAX_REFERENCES: Final = 200  # In one turn: twenty searches. What comes later has no number.
MAX_LISTED: Final = 20  # Below one answer: nobody looks at more
MAX_UNCITED: Final = 5  # Where an answer cites none: what was read for it


def references_of(results: Iterable[ToolResult | None]) -> dict[int, Reference]:
    """By their numbers, of all results of a turn: what was read after it was found counts as read."""
    known: dict[int, Reference] = {}
    for result in results:
        for one in () if result is None else result.references:
            before = known.get(one.number, one)
            known[one.number] = replace(one, title=one.title or before.title, is_read=one.is_read or before.is_read)
    return known


@dataclass(slots=True)
class ReferenceNumbers:
    """Gives out the numbers of one turn."""

    _given: dict[str, int] = field(default_factory=dict[str, int])

    def know(self, references: Iterable[Reference]) -> None:
        """What an earlier process has given out."""
        self._given |= {one.address: one.number for one in references}

    def number(self, address: str) -> int | None:
        """The same for the same address; None once there are too many."""
        if address not in self._given and len(self._given) < MAX_REFERENCES:
            self._given[address] = max(self._given.values(), default=0) + 1
        return self._given.get(address)


_MARKED: Final = regex.compile(
    r"""
      ^[ \t>]*+(?P<fence>`{3,}+|~{3,}+)[^\n]*+ (?:\n(?![ \t>]*+(?P=fence))[^\n]*+)*+ (?:\n[^\n]*+)?+   # a block of code
    | (?<!`)(?P<ticks>`{1,4}+)(?!`)[^\n]{1,500}?(?<!`)(?P=ticks)(?!`)                                  # code in a line
    | (?P<gap>[ ]?)\[(?P<mark>\^?+)(?P<numbers>\d{1,3}+(?:[ ]?[,;][ ]?\d{1,3}+){0,9}+)\](?!\(|:[ ]?<?https?:)
    """,
    regex.VERBOSE | regex.MULTILINE,
)
_MARK_BEGUN: Final = regex.compile(r"[ ]?\[\^?+[\d ,;]{0,60}+\]?\Z")
_NUMBER: Final = regex.compile(r"\d+")


@dataclass(slots=True)
class Citations:
    """The citations of a text that only grows. What it said of one while it knew so much stands."""

    known: dict[int, Reference] = field(default_factory=dict[int, Reference])
    _decided: dict[int, tuple[str, tuple[int, ...], int]] = field(
        default_factory=dict[int, tuple[str, tuple[int, ...], int]]
    )
    """By where a citation stands: what stands in its place, what it cites, and how many it invented."""

    def take(self, result: ToolResult) -> None:
        self.known = references_of([ToolResult("", result.status, "", references=tuple(self.known.values())), result])

    def shown(self, text: str, *, complete: bool) -> str:
        """The text without what it invents; while it grows, without a citation that is not whole yet."""
        if not self.known:
            return text
        begun = None if complete else _MARK_BEGUN.search(text, max(0, len(text) - 70))
        text = text if begun is None else text[: begun.start()]
        return "".join(self._pieces(text))

    @property
    def cited(self) -> list[int]:
        """The numbers that the text cites, in its order."""
        return list(dict.fromkeys(number for _, cited, _ in self._decided.values() for number in cited))

    @property
    def invented(self) -> int:
        return sum(invented for _, _, invented in self._decided.values())

    def _pieces(self, text: str) -> Iterator[str]:
        at = 0
        for found in _MARKED.finditer(text):
            if found["numbers"] is None:
                continue
            if found.start() not in self._decided:
                self._decided[found.start()] = self._decide(found)
            yield text[at : found.start()]
            yield self._decided[found.start()][0]
            at = found.end()
        yield text[at:]

    def _decide(self, found: "regex.Match[str]") -> tuple[str, tuple[int, ...], int]:
        numbers = [int(number) for number in _NUMBER.findall(found["numbers"])]
        cited = tuple(number for number in numbers if number in self.known)
        if len(cited) == len(numbers):
            return found[0], cited, 0
        written = f"{found['gap']}[{found['mark']}{', '.join(map(str, cited))}]" if cited else ""
        return written, cited, len(numbers) - len(cited)


# A list of sources at the end that the model wrote itself, of whatever it likes.
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
    """An answer without what it invented; `sources`: what stands below it. `is_cited`: the answer names them."""

    text: str
    sources: tuple[Reference, ...] = ()
    is_cited: bool = True
    invented: int = 0


def cite(text: str, known: Mapping[int, Reference]) -> Cited:
    """The whole answer of a turn that has brought these. One that cites nothing names what was read for it."""
    if not known or not text.strip():
        return Cited(text)
    citations = Citations(dict(known))
    shown = citations.shown(text, complete=True)
    invented = citations.invented
    if (own := _OWN_LIST.search(shown)) is not None and own.start() > 0:
        brought = {one.address.rstrip("/") for one in known.values()}
        invented += sum(address.rstrip(".,;/") not in brought for address in _ADDRESS.findall(own[0]))
        shown = shown[: own.start()].rstrip()
    cited = sorted(citations.cited)[:MAX_LISTED]
    if cited:
        return Cited(shown, tuple(known[number] for number in cited), invented=invented)
    read = [known[number] for number in sorted(known) if known[number].is_read]
    found = [known[number] for number in sorted(known)]
    return Cited(shown, tuple((read or found)[:MAX_UNCITED]), is_cited=False, invented=invented)
