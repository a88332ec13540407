"""Pages as ordinary messages, edited as they grow, and as native streams of Slack, which are appended to.

And messages that one person alone sees.
"""

import logging
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from cachetools import LRUCache

from agent.errors import CogencyError
from agent.messages import Json, JsonObject
from agent.ports import Clock
from agent.protocol.render import joined
from bot import reply_surface
from bot.caches import MethodQueue, MethodRate
from bot.platforms.slack import api
from bot.platforms.slack.api import (
    Method,
    MethodRates,
    SlackApi,
    SlackDown,
    SlackError,
    SlackLimited,
    SlackRefused,
)
from bot.platforms.slack.block_kit import button_rows
from bot.platforms.slack.inbound import ReplyTo
from bot.platforms.slack.markup import mrkdwn, neutral, notice, settled
from bot.reply_surface import PageContent, PageFull, PageQueued, PageUnsent, ShownStep, StepState
from bot.texts import reply_texts

log = logging.getLogger(__name__)

# What a workspace has refused is let be for a while, so that not every reply asks for it in vain: what the app cannot
# do at all (an older workspace, a plan without agents, a scope not granted) everywhere, the rest in that channel.

REFUSED_S: Final = 600.0  # How long a refusal holds for a channel: whoever changes that waits no longer

REFUSED_EVERYWHERE_S: Final = 3_600.0  # What the app may not do, or Slack cannot, rarely changes

MOST_CHANNELS: Final = 2_000

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
    """`plain_buttons`: it does not know the blocks that are made for replies of agents."""

    plain_buttons: bool = False
    _resting: LRUCache[tuple[Method, str], float] = field(default_factory=lambda: LRUCache(MOST_CHANNELS))
    """Until when each method is not tried; in "" everywhere."""

    def has(self, method: Method, channel: str, now: float) -> bool:
        """Whether a method may be tried there."""
        return all(self._resting.get((method, where), now) <= now for where in ("", channel))

    def refused(self, method: Method, channel: str, code: str, now: float) -> None:
        """For this reason of Slack's."""
        if code in _EVERYWHERE:
            self.rest(method, now + REFUSED_EVERYWHERE_S)
        else:
            self._resting[method, channel] = now + REFUSED_S

    def rest(self, method: Method, until: float) -> None:
        """Do not try it anywhere for a while."""
        self._resting[method, ""] = until


# Slack's refusals of a page, in the words of `bot.reply_surface`.

TOO_LONG: Final = frozenset({"msg_too_long", "msg_blocks_too_many", "markdown_text_too_long"})
# A server knows less than what was sent; the words are not to blame.
BLOCKS_REFUSED: Final = frozenset({"invalid_blocks", "invalid_blocks_format", "block_mismatch"})
STREAMING: Final = "streaming_state_conflict"
_LOCKED: Final = frozenset({"cant_update_message", "cant_delete_message", "edit_window_closed"})
# What an operator can put right while the answer waits; any other refusal is for ever.
CURABLE: Final = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "missing_scope"}
)
# What an operator can do, as the log says it.
_OPERATOR: Final = {
    "missing_scope": "`cogency doctor` says which scope is missing.",
    **dict.fromkeys(CURABLE - {"missing_scope"}, reply_texts.INSTALL_AGAIN),
}
_DELETED: Final = frozenset({"message_not_found", "thread_not_found", "no_such_thread", "cannot_reply_to_message"})


class StillStreaming(reply_surface.PageLocked):
    """The message is a stream that nobody has ended."""


@contextmanager
def page_errors() -> Generator[None, None, None]:
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
    """What makes a page known again."""
    return {"event_type": EVENT_TYPE, "event_payload": {"key": str(key)}}


@dataclass(frozen=True, slots=True)
class MessagePages:
    """Those of one reply. `name` stands for it in the budgets."""

    api: SlackApi
    budgets: MethodRates
    abilities: FeatureSupport
    clock: Clock
    to: ReplyTo
    conversation: str
    name: str

    async def post(self, key: reply_surface.PageKey, look: reply_surface.PageContent) -> str:
        """Show a new page; its time stamp. Raises SurfaceError."""
        queue = self.budgets.posts(self.to.channel)
        await self._keep_pace(queue)
        where: dict[str, Json] = {"channel": self.to.channel, "thread_ts": self.to.thread_ts or None}
        posted = await self._write(queue, Method.POST, look, {**where, "metadata": metadata_of(key)})
        return api.text(posted, "ts")

    async def edit(self, ts: str, look: reply_surface.PageContent, key: reply_surface.PageKey | None = None) -> None:
        """Show the whole page anew; `key`, if it is not yet known by it. Raises SurfaceError."""
        await self._keep_pace(self.budgets.updates)
        where: dict[str, Json] = {"channel": self.to.channel, "ts": ts}
        metadata = None if key is None else metadata_of(key)
        await self._write(self.budgets.updates, Method.UPDATE, look, {**where, "metadata": metadata})

    def buttons(self, look: reply_surface.PageContent) -> list[list[Json]]:
        """What stands below the words, in each form that Slack may take, the best one first; [] for nothing."""
        forms = dict.fromkeys((self.abilities.plain_buttons, True))
        made = [button_rows(look.offers, look.turn, self.conversation, self.to, plain=plain) for plain in forms]
        return [blocks for blocks in made if blocks]

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
        """In the best form that Slack takes."""
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
                self.abilities.plain_buttons |= "blocks" in form
        return await self.api.call(method, self.to.mentions, **where, **last)

    def _forms(self, look: reply_surface.PageContent) -> Iterator[dict[str, Json]]:
        if look.note:
            lines = [f"*{line}*" for line in look.note.splitlines()]
            look = replace(look, text=joined([look.text, "  \n".join(lines)]), note="")
        below = self.buttons(look) or ([[]] if self.to.mentions else [])
        for buttons in below:
            words: Json = {"type": "markdown", "text": look.text}
            yield {"text": notice(look.text), "blocks": [words, *buttons]}
        if not self.to.mentions:  # beside it nothing else may stand
            yield {"markdown_text": look.text}
        yield {"text": look.text}  # a server that does not know markdown_text


# One message that grows by Slack's native streaming.
#
# Theory of operation. Slack appends what it is sent, and nothing of it can be taken back. So each write sends what the
# page has more than the stream, and of that only what will stay as it is once everything harmful is made harmless.
# Steps go along as task cards: their details with the first card, their output with the last.
#
# Rules
# - A stream lives for about five minutes and takes about eleven kilobytes, cards included. It is ended before that
#   (PageFull), and the reply goes on in another one.
# - Whether a write whose answer was lost took effect, nobody knows. Such a stream is ended without a word, and so is
#   one whose text turns out to be another: `StreamEnded` says that its message is from now on edited as a whole.
# - Text goes in chunks, never beside them: Slack takes no request with both.

# Slack ends a stream after about 300 seconds, whatever is appended; a minute is left for the last words.
AGE_S: Final = 240.0

# Slack takes between 10,600 and 11,300 bytes, as others have measured; it documents no number.
MOST_BYTES: Final = 9_000

END_BYTES: Final = 600  # What the end of a stream may take beyond that: a fence's closer, or the output of its cards

CARD_BYTES: Final = 64  # What a card takes besides its texts

_STATUS: Final = {StepState.RUNNING: "in_progress", StepState.DONE: "complete", StepState.FAILED: "error"}


class StreamRefused(CogencyError):
    """No stream can be started here; `code` is Slack's word for why. `passing`: there were too many of late."""

    def __init__(self, code: str, *, passing: bool = False) -> None:
        super().__init__(f"no stream: {code}")
        self.code = code
        self.passing = passing


class StreamEnded(CogencyError):
    """The stream takes nothing more, and its message can be edited. `by_reader`: somebody stopped it."""

    def __init__(self, *, by_reader: bool = False) -> None:
        super().__init__("the stream has ended")
        self.by_reader = by_reader


@dataclass(frozen=True, slots=True)
class StreamPlace:
    """Where the streams of one reply go. `reader` and `team` are needed outside of direct messages: who sees the
    message grow there; everybody else sees it at its end.
    """

    channel: str
    thread_ts: str
    reader: str = ""
    team: str = ""


@dataclass(frozen=True, slots=True)
class _Addition:
    """What a look has more than a stream, and what the stream has then."""

    chunks: list[Json]
    text: str
    cards: dict[str, ShownStep]
    bytes: int


@dataclass(slots=True)
class Stream:
    """`began` is a `Clock.monotonic` time. `uncertain`: nobody knows what it shows."""

    place: StreamPlace
    ts: str
    began: float
    text: str = ""
    cards: dict[str, ShownStep] = field(default_factory=dict[str, ShownStep])
    bytes: int = 0
    uncertain: bool = False

    def addition(self, look: PageContent) -> _Addition | None:
        """None if the look does not begin with what the stream shows."""
        if not look.text.startswith(self.text):
            return None
        shown = neutral(look.text) if look.final else settled(look.text)
        more = shown[len(self.text) :]
        changed = [step for step in look.steps if self.cards.get(step.id) != step]
        chunks = [_card(step, first=step.id not in self.cards) for step in changed]
        if more:
            chunks.append({"type": "markdown_text", "text": more})
        text = look.text[: max(len(shown), len(self.text))]
        size = len(more.encode()) + sum(_card_bytes(step) for step in changed)
        return _Addition(chunks, text, {**self.cards, **{step.id: step for step in changed}}, self.bytes + size)

    def took(self, addition: _Addition) -> None:
        self.text, self.cards, self.bytes = addition.text, addition.cards, addition.bytes


@dataclass(frozen=True, slots=True)
class Streams:
    """The streams of one reply. `name` stands for it in the budgets."""

    api: SlackApi
    budgets: MethodRates
    clock: Clock
    place: StreamPlace
    name: str

    async def start(self, look: PageContent) -> Stream:
        """Begin a message with this look. Raises StreamRefused, or SurfaceError."""
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
        stream.took(addition)
        return stream

    async def grow(self, stream: Stream, look: PageContent) -> None:
        """Add what the look has more. Raises StreamEnded, or SurfaceError."""
        addition = await self._addition(stream, look)
        if self.clock.monotonic() - stream.began > AGE_S or addition.bytes > MOST_BYTES:
            raise PageFull("a stream takes no more")
        if addition.chunks:
            await self._keep_pace(self.budgets.appends)
            await self._append(stream, addition)

    async def end(self, stream: Stream, look: PageContent, blocks: Sequence[list[Json]], **more: Json) -> int:
        """Add the rest and end it, with the first of `blocks` that Slack takes below it, and other arguments of
        `chat.stopStream`; how many it did not take. Raises as `grow` does.

        Where the end has to wait, the words do not.
        """
        addition = await self._addition(stream, look)
        if addition.bytes > MOST_BYTES + END_BYTES:
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
                stream.took(addition)
                return refused_forms
        raise AssertionError("without blocks, none is refused")

    async def drop(self, ts: str) -> None:
        """End a stream of which nobody knows what it shows, or whether it is one. Raises PageUnsent or PageQueued."""
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
        stream.took(addition)

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
    """What Slack counts of a card; details twice, as others have measured."""
    texts = (step.title, step.details, step.details, step.output)
    return CARD_BYTES + sum(len(text.encode()) for text in texts)


class Ephemeral:
    """Saying something to one person, where nobody else sees it.

    Rule: in place if Slack still allows it, by the `response_url` or as an ephemeral message; else in the person's
    DM with the bot; never in the channel.

    The words stand in a Markdown block. The message's own text is for notifications, and for clients without that
    block.
    """

    def __init__(self, api: SlackApi, to: ReplyTo) -> None:
        self._api = api
        self._to = to

    async def say(self, markdown: str, *more: Json) -> None:
        """Show the text, and `more` blocks below it. Raises SlackError."""
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
                pass  # used up, or older than half an hour
            else:
                return
        try:
            await self._ephemeral(markdown, blocks)
        except SlackRefused:  # the bot is no member, or the person has left
            await self._api.call(
                Method.POST,
                channel=self._to.user,
                text=mrkdwn(markdown),
                blocks=blocks,
            )

    async def replace(self, markdown: str, *more: Json) -> None:
        """Show it in the place of what was clicked; below that, where Slack no longer lets it be changed."""
        if not self._to.response_url:
            await self.say(markdown, *more)
            return
        blocks: list[Json] = [{"type": "markdown", "text": markdown}, *more]
        try:
            await self._api.respond(self._to.response_url, replace_original=True, text=mrkdwn(markdown), blocks=blocks)
        except SlackRefused:
            await self.say(markdown, *more)

    async def _ephemeral(self, markdown: str, blocks: list[Json]) -> None:
        await self._api.call(
            Method.POST_EPHEMERAL,
            channel=self._to.channel,
            user=self._to.user,
            thread_ts=self._to.thread_ts or None,
            text=mrkdwn(markdown),
            blocks=blocks,
        )
