"""Native streams: one message that Slack appends to.

Theory of operation. What was appended cannot be changed. So each write sends only what the page has in addition to
the stream, and of that only the part that later escaping will not change (`markup.settled`). Steps are sent as task
cards: their details with the first card, their output with the last.

Rules
- A stream lives for about five minutes and takes about eleven kilobytes, cards included. It is ended before that
  (PageFull), and the reply goes on in another one.
- After a write whose answer was lost, the stream's content is not known. Such a stream is ended as it is, and so is
  one whose text no longer begins the page: `StreamEnded` means that its message is edited as a whole from now on.
- Text is sent in chunks, never beside them: Slack takes no request with both.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from agent.errors import CogencyError
from agent.messages import Json
from agent.ports.clock import Clock
from bot.chat.rates import MethodRate
from bot.chat.reply.surface import PageContent, PageFull, PageQueued, PageUnsent, ShownStep, StepState
from bot.platforms.slack import api
from bot.platforms.slack.api import MethodRates, SlackApi, SlackDown, SlackLimited, SlackRefused
from bot.platforms.slack.markup import NeutralText, neutral, settled
from bot.platforms.slack.message_pages import BLOCKS_REFUSED, CURABLE, TOO_LONG, page_errors
from bot.platforms.slack.options import Method

log = logging.getLogger(__name__)


# Slack ends a stream after about 300 seconds, even while it is appended to; a minute is left for the end.
AGE_S: Final = 240.0

# Slack's limit is not documented; others have measured between 10,600 and 11,300 bytes.
MAX_BYTES: Final = 9_000

END_BYTES: Final = 600  # Allowed beyond MAX_BYTES at the end: the closing of a fence, or the output of cards

CARD_BYTES: Final = 64  # Of a card, besides its texts

_STATUS: Final = {StepState.RUNNING: "in_progress", StepState.DONE: "complete", StepState.FAILED: "error"}


class StreamRefused(CogencyError):
    """No stream can be started here. `code`: Slack's error code. `passing`: only because of a rate limit."""

    def __init__(self, code: str, *, passing: bool = False) -> None:
        super().__init__(f"no stream: {code}")
        self.code = code
        self.passing = passing


class StreamEnded(CogencyError):
    """The stream has ended, and its message can be edited. `by_reader`: a reader stopped it."""

    def __init__(self, *, by_reader: bool = False) -> None:
        super().__init__("the stream has ended")
        self.by_reader = by_reader


@dataclass(frozen=True, slots=True)
class StreamPlace:
    """Where the streams of one reply go. `reader` and `team` are needed outside of direct messages: the reader sees the
    message grow; other members see it at its end.
    """

    channel: str
    thread_ts: str
    reader: str = ""
    team: str = ""


@dataclass(frozen=True, slots=True)
class _Addition:
    """What a page has in addition to a stream (`chunks`), and what the stream holds after that."""

    chunks: list[Json]
    text: str
    cards: dict[str, ShownStep]
    bytes: int


@dataclass(slots=True)
class Stream:
    """A running stream. `began`: a `Clock.monotonic` time. `uncertain`: its content is not known."""

    place: StreamPlace
    ts: str
    began: float
    text: str = ""
    cards: dict[str, ShownStep] = field(default_factory=dict[str, ShownStep])
    bytes: int = 0
    uncertain: bool = False

    def addition(self, look: PageContent) -> _Addition | None:
        """Return what the page has in addition to the stream; None if it does not begin with the stream's text."""
        if not look.text.startswith(self.text):
            return None
        shown = neutral(look.text) if look.final else settled(look.text)
        more = shown[len(self.text) :]
        changed = [step for step in look.steps if self.cards.get(step.id) != step]
        chunks = [_card(step, first=step.id not in self.cards) for step in changed]
        if more:
            chunks.append({"type": "markdown_text", "text": NeutralText(more)})
        text = look.text[: max(len(shown), len(self.text))]
        size = len(more.encode()) + sum(_card_bytes(step) for step in changed)
        return _Addition(chunks, text, {**self.cards, **{step.id: step for step in changed}}, self.bytes + size)

    def apply(self, addition: _Addition) -> None:
        self.text, self.cards, self.bytes = addition.text, addition.cards, addition.bytes


@dataclass(frozen=True, slots=True)
class Streams:
    """The streams of one reply. `name` identifies the reply in the call budgets."""

    api: SlackApi
    budgets: MethodRates
    clock: Clock
    place: StreamPlace
    name: str

    async def start(self, look: PageContent) -> Stream:
        """Start a stream that shows this page. Raises StreamRefused, or SurfaceError."""
        stream = Stream(self.place, "", self.clock.monotonic())
        addition = stream.addition(look)
        assert addition is not None  # noqa: S101 -- every text begins with an empty one
        place = self.place
        try:
            answer = await self.api.call(
                Method.START_STREAM,
                channel=place.channel,
                thread_ts=place.thread_ts,
                recipient_user_id=place.reader or None,
                recipient_team_id=place.team or None,
                task_display_mode="plan",
                chunks=addition.chunks or None,
            )
        except SlackLimited as limited:
            await self.budgets.starts.hold(self.clock.monotonic(), limited.retry_after_s)
            raise StreamRefused("ratelimited", passing=True) from limited
        except SlackRefused as refused:
            if refused.code not in CURABLE - {"missing_scope"}:
                raise StreamRefused(refused.code) from refused
            with page_errors():
                raise
        except SlackDown as down:
            raise PageUnsent(str(down)) from down
        stream.ts = api.text(answer, "ts")
        stream.apply(addition)
        return stream

    async def grow(self, stream: Stream, look: PageContent) -> None:
        """Append what the page has in addition. Raises StreamEnded, or SurfaceError."""
        addition = await self._addition(stream, look)
        if self.clock.monotonic() - stream.began > AGE_S or addition.bytes > MAX_BYTES:
            raise PageFull("a stream takes no more")
        if addition.chunks:
            await self._keep_pace(self.budgets.appends)
            await self._append(stream, addition)

    async def end(self, stream: Stream, look: PageContent, blocks: Sequence[list[Json]], **more: Json) -> int:
        """Append the rest and end the stream. Return how many of `blocks` Slack refused before it took one.

        `more`: other arguments of `chat.stopStream`. If the call budget does not allow the end yet, the rest is
        appended first. Raises as `grow` does.
        """
        addition = await self._addition(stream, look)
        if addition.bytes > MAX_BYTES + END_BYTES:
            raise PageFull("a stream takes no more")
        try:
            await self._keep_pace(self.budgets.stops)
        except PageQueued:
            if addition.chunks and await self.budgets.appends.ask(self.name, self.clock.monotonic()) == 0.0:
                await self._append(stream, addition)
            raise
        for refused_forms, blocks_below in enumerate((*blocks, None)):
            args: dict[str, Json] = {"chunks": addition.chunks or None, "blocks": blocks_below, **more}
            try:
                await self._send(stream, self.budgets.stops, Method.STOP_STREAM, **args)
            except SlackRefused as refused:
                log.info("%s The buttons are left out.", refused)
            except PageFull:
                await self.drop(stream.ts)
                raise StreamEnded from None
            else:
                stream.apply(addition)
                return refused_forms
        raise AssertionError("without blocks, none is refused")

    async def drop(self, ts: str) -> None:
        """End a stream whose content is not known, or that may have ended. Raises PageUnsent or PageQueued."""
        await self._keep_pace(self.budgets.stops)
        try:
            await self.api.call(Method.STOP_STREAM, channel=self.place.channel, ts=ts)
        except SlackRefused:
            pass  # it had ended
        except SlackLimited as limited:
            await self.budgets.stops.hold(self.clock.monotonic(), limited.retry_after_s)
            with page_errors():
                raise
        except SlackDown as down:
            raise PageUnsent(str(down)) from down

    async def _addition(self, stream: Stream, look: PageContent) -> _Addition:
        addition = None if stream.uncertain else stream.addition(look)
        if addition is None:
            await self.drop(stream.ts)
            raise StreamEnded
        return addition

    async def _append(self, stream: Stream, addition: _Addition) -> None:
        await self._send(stream, self.budgets.appends, Method.APPEND_STREAM, chunks=addition.chunks)
        stream.apply(addition)

    async def _send(self, stream: Stream, budget: MethodRate, method: Method, **args: Json) -> None:
        try:
            await self.api.call(method, channel=self.place.channel, ts=stream.ts, **args)
        except SlackLimited as limited:
            await budget.hold(self.clock.monotonic(), limited.retry_after_s)
            with page_errors():
                raise
        except SlackRefused as refused:
            if refused.code in BLOCKS_REFUSED and args.get("blocks"):
                raise
            if refused.code in TOO_LONG | CURABLE:
                with page_errors():
                    raise
            raise StreamEnded(by_reader=refused.code == "stopped_by_user") from refused
        except SlackDown as down:
            stream.uncertain = True
            raise PageUnsent(str(down)) from down

    async def _keep_pace(self, budget: MethodRate) -> None:
        if (wait := await budget.ask(self.name, self.clock.monotonic())) > 0:
            raise PageQueued(wait)


def _card(step: ShownStep, *, first: bool) -> Json:
    card: dict[str, Json] = {
        "type": "task_update",
        "id": step.id,
        "title": step.title,
        "status": _STATUS[step.state],
    }
    card |= {"details": step.details} if first and step.details else {}
    return card | ({"output": step.output} if step.output else {})


def _card_bytes(step: ShownStep) -> int:
    """Return the bytes that Slack counts for a card; it counts details twice, as others have measured."""
    texts = (step.title, step.details, step.details, step.output)
    return CARD_BYTES + sum(len(text.encode()) for text in texts)
