"""What a model and its service can do besides calling tools, as a few questions to it show.

Rules
  Nothing is taken from a list of models: each ability was seen, refused, or not tried. Only the size of the context is
  what the server says, because to fill it would cost too much.
  A question that fails leaves the other abilities to be tried. If the first one fails, so does the check.
"""

import struct
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from agent import texts
from agent.errors import ProviderError
from agent.messages import Depth, Image, Message, ModelCall, Role, Usage, estimate_usage
from agent.ports.clock import Clock
from agent.ports.model import (
    CallOptions,
    PromptReduced,
    Provider,
    ReasoningArrived,
    ResponseEnded,
    TokensArrived,
)
from agent.repetition import RepetitionWatch


class Ability(StrEnum):
    STREAMING = "streaming"
    PICTURES = "pictures"
    EFFORT = "effort"
    CACHING = "caching"
    CONTEXT = "context"


class Verdict(StrEnum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"
    """It was tried, and what came does not show it."""
    NOT_SENT = "not sent"
    """The bot never asks this service for it."""
    FAILED = "failed"
    """The question was not answered."""
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of an ability. `numbers`: counts and milliseconds by name; `why`: for FAILED, the error."""

    verdict: Verdict
    numbers: Mapping[str, int] = field(default_factory=dict[str, int])
    why: str = ""


NOT_TRIED: Final = Seen(Verdict.NOT_TRIED)

ABILITY_QUESTIONS: Final = 6  # At most
MAX_CHARS: Final = 8_000  # Of the text of one answer: each asks for a few words, but small models ramble
MAX_REASONED_CHARS: Final = 60_000  # About 15,000 tokens: a model may reason for long with a high effort
BUFFERED_SHARE: Final = 0.05  # Of an answer's time: where all of it comes within its end, somebody holds it back
BUFFERED_MS: Final = 1_000  # Below this, nobody notices
# Lines of the prompt that is repeated. Vendors cache none below 4,096 tokens. Own servers cache any, and read slowly.
VENDORS_LINES: Final = 560
OWN_LINES: Final = 120
SHELVES: Final = ("red", "green", "blue", "white")

NUMBERS: Final = "Write the numbers from one to thirty as English words, separated by commas. Write nothing else."
PUZZLE: Final = "How many letters r are in the words “strawberry”, “referrer” and “barrier” together? Only the number."
COLORS: Final = "Which two colors does this picture have? Answer with their names only."
SHELF: Final = "What color is the shelf of box {box}? Answer with one word."


def prefix_lines(*, is_self_hosted: bool) -> int:
    """Return the length of the prompt that is repeated, in lines."""
    return OWN_LINES if is_self_hosted else VENDORS_LINES


def abilities_usage(lines: int) -> Usage:
    """Return about how many tokens the questions take."""
    repeated = 2 * estimate_usage([_prefix(lines)], "").input_uncached
    return Usage(input_uncached=repeated + 1_000, output=1_500)  # a picture takes most of the thousand


@dataclass(slots=True)
class _Answer:
    text: str = ""
    pieces: int = 0
    first_ms: int = 0
    last_ms: int = 0
    usage: Usage = field(default_factory=Usage)
    is_reduced: bool = False
    is_cut: bool = False
    """It was too long, or repeated itself, and was stopped: its tokens are not known."""


@dataclass(frozen=True, slots=True)
class AbilityCheck:
    """Asks a model. `count` receives each call; `context_size`: what the server says, None if it does not."""

    provider: Provider
    clock: Clock
    count: Callable[[ModelCall], Awaitable[None]]
    context_size: Callable[[], Awaitable[int | None]]
    lines: int = VENDORS_LINES
    """The length of the prompt that is repeated."""

    async def run(self) -> AsyncGenerator[tuple[Ability, Seen], None]:
        """Yield what is seen of each ability. Raises ProviderError if the first question fails."""
        yield Ability.STREAMING, await self._streaming()
        others = {
            Ability.PICTURES: self._pictures,
            Ability.EFFORT: self._effort,
            Ability.CACHING: self._caching,
            Ability.CONTEXT: self._context,
        }
        for ability, check in others.items():
            try:
                seen = await check()
            except ProviderError as error:
                seen = Seen(Verdict.FAILED, why=error.reason.sentence)
            yield ability, seen

    async def _streaming(self) -> Seen:
        answer = await self._ask([Message(Role.USER, NUMBERS)])
        numbers = {"pieces": answer.pieces, "first_ms": answer.first_ms, "last_ms": answer.last_ms}
        if not answer.pieces:
            return Seen(Verdict.UNKNOWN, numbers)
        span_ms = answer.last_ms - answer.first_ms
        is_held_back = answer.last_ms >= BUFFERED_MS and span_ms < BUFFERED_SHARE * answer.last_ms
        return Seen(Verdict.NO if answer.pieces == 1 or is_held_back else Verdict.YES, numbers)

    async def _pictures(self) -> Seen:
        if not self.provider.capabilities.images:
            return Seen(Verdict.NOT_SENT)
        picture = Image("image/png", two_colors())
        answer = await self._ask([Message(Role.USER, COLORS, (picture,))])
        if answer.is_reduced:
            return Seen(Verdict.NO, {"refused": 1})
        said = answer.text.lower()
        saw = "yellow" in said and any(word in said for word in ("purple", "violet", "magenta"))
        return Seen(Verdict.YES if saw else Verdict.NO)

    async def _effort(self) -> Seen:
        if not self.provider.capabilities.effort:
            return Seen(Verdict.NOT_SENT)
        spent: dict[Depth, Usage] = {}
        for depth in (Depth.FAST, Depth.DEEP):
            answer = await self._ask([Message(Role.USER, PUZZLE)], CallOptions(depth))
            if not self.provider.capabilities.effort:  # the service has refused it, and it was left out
                return Seen(Verdict.NO)
            spent[depth] = answer.usage
            if answer.is_cut:
                return Seen(Verdict.FAILED, why=texts.ANSWER_STOPPED)
        low, high = spent[Depth.FAST], spent[Depth.DEEP]
        if low.estimated or high.estimated:
            return Seen(Verdict.UNKNOWN)
        numbers = {"low": low.reasoning, "high": high.reasoning}
        return Seen(Verdict.YES if high.reasoning > low.reasoning else Verdict.UNKNOWN, numbers)

    async def _caching(self) -> Seen:
        options = CallOptions(cache_key="cogency-check-model")
        answer = _Answer()
        for box in (17, 42):
            answer = await self._ask([_prefix(self.lines), Message(Role.USER, SHELF.format(box=box))], options)
        usage = answer.usage
        if answer.is_cut:
            return Seen(Verdict.FAILED, why=texts.ANSWER_STOPPED)
        if usage.estimated:
            return Seen(Verdict.UNKNOWN)
        prompt = usage.input_uncached + usage.input_cached + usage.input_written
        numbers = {"cached": usage.input_cached, "prompt": prompt}
        return Seen(Verdict.YES if usage.input_cached else Verdict.NO, numbers)

    async def _context(self) -> Seen:
        size = await self.context_size()
        return Seen(Verdict.UNKNOWN) if size is None else Seen(Verdict.YES, {"tokens": size})

    async def _ask(self, messages: Sequence[Message], options: CallOptions | None = None) -> _Answer:
        """Ask once, and count the call. Raises ProviderError."""
        started, answer, reasoned = self.clock.monotonic(), _Answer(), 0
        repetition = RepetitionWatch(messages[-1].text)
        ended: ResponseEnded | None = None
        try:
            async with aclosing(self.provider.stream(messages, options or CallOptions())) as events:
                async for event in events:
                    match event:
                        case TokensArrived(piece):
                            answer.last_ms = round((self.clock.monotonic() - started) * 1000)
                            answer.first_ms = answer.first_ms if answer.pieces else answer.last_ms
                            answer.text += piece
                            answer.pieces += bool(piece)
                            repetition.feed(piece)
                        case ReasoningArrived(piece):
                            reasoned += len(piece)
                            repetition.feed(piece)
                        case PromptReduced():
                            answer.is_reduced = True
                        case ResponseEnded():
                            ended = event
                        case _:
                            pass
                    # Such a model would go on to its limit of tokens, which somebody pays for.
                    if len(answer.text) > MAX_CHARS or reasoned > MAX_REASONED_CHARS or repetition.repeats:
                        answer.is_cut = True
                        break
        finally:
            if answer.text or reasoned or ended:
                answer.usage = ended.usage if ended and ended.usage else estimate_usage(messages, answer.text)
                await self.count(ModelCall(self.provider.name, answer.usage))
        return answer


def _prefix(count: int) -> Message:
    """Return a list that is the same in each request, and longer than what a vendor caches at least."""
    lines = (
        f"Box {number} stands on the {SHELVES[number * 7 % 4]} shelf {number % 9 + 1}."
        for number in range(1, count + 1)
    )
    return Message(Role.SYSTEM, "\n".join(["You know where boxes stand.", *lines]))


def two_colors(side: int = 64) -> bytes:
    """Return a PNG whose upper half is yellow, and whose lower half is purple."""
    rows = [b"\0" + bytes(color) * side for color in ((255, 221, 0), (128, 0, 160)) for _ in range(side // 2)]
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(b"".join(rows))), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
