"""Pages of replies: ordinary messages that are edited, and native streams of Slack that are appended to.

And ephemeral messages.
"""

import logging
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from cachetools import LRUCache

from agent.errors import CogencyError
from agent.messages import Json, JsonObject
from agent.ports.clock import Clock
from agent.protocol.render import joined
from bot.chat.method_queue import MethodQueue
from bot.chat.rates import MethodRate
from bot.chat.reply import surface as reply_surface
from bot.chat.reply.surface import PageContent, PageFull, PageQueued, PageUnsent, ShownStep, StepState
from bot.platforms import texts as platforms_texts
from bot.platforms.slack import api
from bot.platforms.slack.api import MethodRates, SlackApi, SlackDown, SlackError, SlackLimited, SlackRefused
from bot.platforms.slack.block_kit import button_rows
from bot.platforms.slack.inbound import ReplyTo
from bot.platforms.slack.markup import NeutralText, mrkdwn, neutral, notice, settled
from bot.platforms.slack.options import Method

log = logging.getLogger(__name__)

# A method that a workspace has refused is not tried again for a while. If the app cannot use it at all (an older
# workspace, a plan without agents, a missing scope), that holds everywhere; otherwise in that channel.

REFUSED_S: Final = 600.0  # How long a refusal holds for a channel

REFUSED_EVERYWHERE_S: Final = 3_600.0  # A workspace's features rarely change

MAX_CHANNELS: Final = 2_000

_EVERYWHERE: Final = frozenset(
    {
        "feature_disabled",
        "feature_not_enabled",
        "method_deprecated",
        "method_not_supported",
        "missing_scope",
        "not_agent_app",
        "not_allowed_token_type",
        "not_assistant_app",
        "not_authorized",
        "not_subscribed_to_message_stream_stopped",
        "paid_teams_only",
        "team_access_not_granted",
        "unknown_method",
    }
)


@dataclass(slots=True)
class FeatureSupport:
    """Which optional features a workspace has. `plain_buttons`: it does not know the blocks for replies of agents.

    `now` and `until` are `Clock.monotonic` times.
    """

    plain_buttons: bool = False
    # By method and channel; the channel "" stands for all.
    _suspended_until: LRUCache[tuple[Method, str], float] = field(default_factory=lambda: LRUCache(MAX_CHANNELS))

    def has(self, method: Method, channel: str, now: float) -> bool:
        """Whether a method may be tried in this channel."""
        return all(self._suspended_until.get((method, where), now) <= now for where in ("", channel))

    def mark_refused(self, method: Method, channel: str, code: str, now: float) -> None:
        """Record that Slack refused a method with this error code."""
        if code in _EVERYWHERE:
            self.suspend(method, now + REFUSED_EVERYWHERE_S)
        else:
            self._suspended_until[method, channel] = now + REFUSED_S

    def suspend(self, method: Method, until: float) -> None:
        """Do not try a method in any channel until then."""
        self._suspended_until[method, ""] = until


# Slack's error codes, by the error of `bot.chat.reply.surface` that each becomes.

TOO_LONG: Final = frozenset({"msg_too_long", "msg_blocks_too_many", "markdown_text_too_long"})
# The workspace does not know a kind of block; the text is not the reason.
BLOCKS_REFUSED: Final = frozenset({"invalid_blocks", "invalid_blocks_format", "block_mismatch"})
STREAMING: Final = "streaming_state_conflict"
_LOCKED: Final = frozenset({"cant_update_message", "cant_delete_message", "edit_window_closed"})
# What an operator can fix while the answer waits; any other refusal is permanent.
CURABLE: Final = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "missing_scope"}
)
# What an operator can do, for the log.
_OPERATOR: Final = {
    "missing_scope": "`cogency doctor` says which scope is missing.",
    **dict.fromkeys(CURABLE - {"missing_scope"}, platforms_texts.INSTALL_AGAIN),
}
_DELETED: Final = frozenset({"message_not_found", "thread_not_found", "no_such_thread"})


class StillStreaming(reply_surface.PageLocked):
    """The message is a stream that has not been ended."""


@contextmanager
def page_errors() -> Generator[None, None, None]:
    """Translate SlackError into the SurfaceError that it means."""
    try:
        yield
    except SlackLimited as limited:
        raise reply_surface.PageLimited(limited.retry_after_s) from limited
    except SlackRefused as refused:
        if refused.code in TOO_LONG:
            raise reply_surface.PageFull(str(refused)) from refused
        if refused.code == STREAMING:
            raise StillStreaming(str(refused)) from refused
        if refused.code in _LOCKED:
            raise reply_surface.PageLocked(str(refused)) from refused
        if refused.code in CURABLE:
            raise reply_surface.PageUnsent(f"{refused} {_OPERATOR[refused.code]}") from refused
        if refused.code in _DELETED:
            raise reply_surface.PageGone(str(refused)) from refused
        raise reply_surface.PageRefused(str(refused), refused.remedy) from refused
    except SlackError as error:
        raise reply_surface.PageUnsent(str(error)) from error


EVENT_TYPE = "cogency_page"


def metadata_of(key: reply_surface.PageKey) -> Json:
    """Return the message metadata that identifies a page."""
    return {"event_type": EVENT_TYPE, "event_payload": {"key": str(key)}}


@dataclass(frozen=True, slots=True)
class MessagePages:
    """The pages of one reply, as ordinary messages. `name` identifies the reply in the call budgets."""

    api: SlackApi
    budgets: MethodRates
    features: FeatureSupport
    clock: Clock
    to: ReplyTo
    conversation: str
    name: str

    async def post(self, key: reply_surface.PageKey, look: reply_surface.PageContent) -> str:
        """Post a new page and return its time stamp. Raises SurfaceError."""
        queue = self.budgets.posts(self.to.channel)
        await self._keep_pace(queue)
        where: dict[str, Json] = {"channel": self.to.channel, "thread_ts": self.to.thread_ts or None}
        posted = await self._write(queue, Method.POST, look, {**where, "metadata": metadata_of(key)})
        return api.text(posted, "ts")

    async def edit(self, ts: str, look: reply_surface.PageContent, key: reply_surface.PageKey | None = None) -> None:
        """Replace the whole page. `key`: to be added if the message's metadata has no key yet. Raises SurfaceError."""
        await self._keep_pace(self.budgets.updates)
        where: dict[str, Json] = {"channel": self.to.channel, "ts": ts}
        metadata = None if key is None else metadata_of(key)
        await self._write(self.budgets.updates, Method.UPDATE, look, {**where, "metadata": metadata})

    def buttons(self, look: reply_surface.PageContent) -> list[list[Json]]:
        """Return the blocks below the text in each form that Slack may take, the best one first; [] for none."""
        forms = dict.fromkeys((self.features.plain_buttons, True))
        rows = [button_rows(look.offers, look.turn, self.conversation, self.to, plain=plain) for plain in forms]
        return [blocks for blocks in rows if blocks]

    async def _keep_pace(self, limit: MethodRate | MethodQueue) -> None:
        if (wait := await limit.ask(self.name, self.clock.monotonic())) > 0:
            raise reply_surface.PageQueued(wait)

    async def _write(
        self, limit: MethodRate | MethodQueue, method: Method, look: reply_surface.PageContent, where: dict[str, Json]
    ) -> JsonObject:
        with page_errors():
            try:
                return await self._send(method, look, where)
            except SlackLimited as limited:
                await limit.hold(self.clock.monotonic(), limited.retry_after_s)
                raise

    async def _send(self, method: Method, look: reply_surface.PageContent, where: dict[str, Json]) -> JsonObject:
        """Send the page in the best form that Slack takes."""
        *better, last = self._forms(look)
        for form in better:
            try:
                return await self.api.call(method, self.to.mentions, **where, **form)
            except SlackRefused as refused:
                if refused.code != "no_text" and not (
                    "blocks" in form and refused.code in BLOCKS_REFUSED | {"msg_blocks_too_many"}
                ):
                    raise
                log.info("%s The page is shown in a simpler form.", refused)
                self.features.plain_buttons |= "blocks" in form
        return await self.api.call(method, self.to.mentions, **where, **last)

    def _forms(self, look: reply_surface.PageContent) -> Iterator[dict[str, Json]]:
        if look.note:
            lines = [f"*{line}*" for line in look.note.splitlines()]
            look = replace(look, text=joined([look.text, "  \n".join(lines)]), note="")
        below = self.buttons(look) or ([[]] if self.to.mentions else [])
        words: Json = {"type": "markdown", "text": look.text}
        beside = notice(look.text) if below else ""  # The same for each form of the buttons: it takes long to make
        for buttons in below:
            yield {"text": beside, "blocks": [words, *buttons]}
        if not self.to.mentions:  # Slack takes markdown_text only alone
            yield {"markdown_text": look.text}
        yield {"text": look.text}  # for a workspace that does not know markdown_text


# Native streams: one message that Slack appends to.
#
# Theory of operation. What was appended cannot be changed. So each write sends only what the page has in addition to
# the stream, and of that only the part that later escaping will not change (`markup.settled`). Steps are sent as task
# cards: their details with the first card, their output with the last.
#
# Rules
# - A stream lives for about five minutes and takes about eleven kilobytes, cards included. It is ended before that
#   (PageFull), and the reply goes on in another one.
# - After a write whose answer was lost, the stream's content is not known. Such a stream is ended as it is, and so is
#   one whose text no longer begins the page: `StreamEnded` means that its message is edited as a whole from now on.
# - Text is sent in chunks, never beside them: Slack takes no request with both.

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


class Ephemeral:
    """Messages that only one person sees.

    Rule: they are shown in place if Slack still allows it, by the `response_url` or as an ephemeral message; else in
    the person's DM with the bot; never in the channel.

    The text is in a Markdown block. The message's own text is for notifications, and for clients without that block.
    """

    def __init__(self, api: SlackApi, to: ReplyTo) -> None:
        self._api = api
        self._to = to

    async def send(self, markdown: str, *more: Json) -> str:
        """Show the text, and `more` blocks below it. Raises SlackError.

        Return the channel and the time stamp of the message in the person's DM ("D…/…"); "" for an ephemeral one.
        """
        blocks: list[Json] = [{"type": "markdown", "text": markdown}, *more]
        if self._to.response_url:
            try:
                await self._api.respond(
                    self._to.response_url,
                    response_type="ephemeral",
                    replace_original=False,
                    thread_ts=self._to.thread_ts or None,
                    text=mrkdwn(markdown),
                    blocks=blocks,
                )
            except SlackRefused:
                pass  # the response_url was used five times, or is older than half an hour
            else:
                return ""
        try:
            await self._post(markdown, blocks)
        except SlackRefused:  # the bot is no member, or the person has left
            posted = await self._api.call(
                Method.POST,
                channel=self._to.user,
                text=mrkdwn(markdown),
                blocks=blocks,
            )
            return f"{api.text(posted, 'channel')}/{api.text(posted, 'ts')}"
        return ""

    async def replace(self, markdown: str, *more: Json) -> None:
        """Replace the message that was clicked; if Slack no longer allows that, show a new one. Raises SlackError."""
        if not self._to.response_url:
            await self.send(markdown, *more)
            return
        blocks: list[Json] = [{"type": "markdown", "text": markdown}, *more]
        try:
            await self._api.respond(self._to.response_url, replace_original=True, text=mrkdwn(markdown), blocks=blocks)
        except SlackRefused:
            await self.send(markdown, *more)

    async def _post(self, markdown: str, blocks: list[Json]) -> None:
        await self._api.call(
            Method.POST_EPHEMERAL,
            channel=self._to.channel,
            user=self._to.user,
            thread_ts=self._to.thread_ts or None,
            text=mrkdwn(markdown),
            blocks=blocks,
        )
