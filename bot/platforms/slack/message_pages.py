"""Pages as ordinary messages: posted, and edited while they grow.

Theory of operation. A page is sent as `markdown_text`, which Slack takes only without blocks; one that has buttons, at
its end, as a block of Markdown with the buttons below it. What a workspace refuses of that is left out: first the
newest kind of buttons, then all of them, then `markdown_text`; never the words.
"""

import logging
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from cachetools import LRUCache

from agent.messages import Json, JsonObject
from agent.ports import Clock
from bot import reply_surface
from bot.platforms.slack import api
from bot.platforms.slack.api import Method, SlackApi, SlackError, SlackLimited, SlackRefused
from bot.platforms.slack.buttons import below
from bot.platforms.slack.inbound import ReplyTo
from bot.platforms.slack.markup import mrkdwn
from bot.platforms.slack.rate_limits import MethodQueue, MethodRate, MethodRates
from bot.texts import reply_texts

# What a workspace has refused, so that not every reply asks for it in vain.

REFUSED_S: Final = 600.0
"""How long a refusal to stream holds for a channel: whoever changes that waits no longer."""

REFUSED_EVERYWHERE_S: Final = 3_600.0
"""What the app may not do, or Slack cannot, rarely changes."""

MOST_CHANNELS: Final = 2_000

_EVERYWHERE: Final = frozenset(
    {
        "feature_disabled",
        "feature_not_enabled",
        "method_deprecated",
        "method_not_supported",
        "missing_scope",
        "not_allowed_token_type",
        "not_subscribed_to_message_stream_stopped",
        "team_access_not_granted",
        "unknown_method",
    }
)


@dataclass(slots=True)
class FeatureSupport:
    """`plain_buttons`: it does not know the blocks that are made for replies of agents."""

    plain_buttons: bool = False
    _no_stream_until: LRUCache[str, float] = field(default_factory=lambda: LRUCache(MOST_CHANNELS))

    def streams(self, channel: str, now: float) -> bool:
        """Whether a stream may be tried there."""
        return all(self._no_stream_until.get(where, now) <= now for where in ("", channel))

    def refused_stream(self, channel: str, code: str, now: float) -> None:
        """No stream could be started there, for this reason of Slack's."""
        where, seconds = ("", REFUSED_EVERYWHERE_S) if code in _EVERYWHERE else (channel, REFUSED_S)
        self._no_stream_until[where] = now + seconds


# Slack's refusals of a page, in the words of `bot.reply_surface`.

TOO_LONG: Final = frozenset({"msg_too_long", "msg_blocks_too_many", "markdown_text_too_long"})
BLOCKS_REFUSED: Final = frozenset({"invalid_blocks", "invalid_blocks_format", "block_mismatch"})
"""A server knows less than what was sent; the words are not to blame."""
STREAMING: Final = "streaming_state_conflict"
_LOCKED: Final = frozenset({"cant_update_message", "cant_delete_message", "edit_window_closed"})
CURABLE: Final = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "missing_scope"}
)
"""What an operator can put right while the answer waits; any other refusal is for ever."""
_OPERATOR: Final = {
    "missing_scope": "`cogency doctor` says which scope is missing.",
    **dict.fromkeys(CURABLE - {"missing_scope"}, reply_texts.INSTALL_AGAIN),
}
"""What an operator can do, as the log says it."""
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
        why = next(
            (why for code, why in reply_texts.SLACK_REMEDIES.items() if refused.code.startswith(code)),
            reply_texts.SLACK_REMEDY,
        )
        raise reply_surface.PageRefused(str(refused), why) from refused
    except SlackError as error:
        raise reply_surface.PageUnsent(str(error)) from error


log = logging.getLogger(__name__)

EVENT_TYPE = "cogency_page"
NOTICE_CHARS = 3_000
"""As much of a page with blocks as stands in notifications, which Slack wants besides."""


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
        self._keep_pace(queue)
        where: dict[str, Json] = {"channel": self.to.channel, "thread_ts": self.to.thread_ts or None}
        posted = await self._write(queue, Method.POST, look, {**where, "metadata": metadata_of(key)})
        return api.text(posted, "ts")

    async def edit(self, ts: str, look: reply_surface.PageContent, key: reply_surface.PageKey | None = None) -> None:
        """Show the whole page anew; `key`, if it is not yet known by it. Raises SurfaceError."""
        self._keep_pace(self.budgets.updates)
        where: dict[str, Json] = {"channel": self.to.channel, "ts": ts}
        metadata = None if key is None else metadata_of(key)
        await self._write(self.budgets.updates, Method.UPDATE, look, {**where, "metadata": metadata})

    def buttons(self, look: reply_surface.PageContent) -> list[list[Json]]:
        """What stands below the words, in each form that Slack may take, the best one first; [] for nothing."""
        forms = dict.fromkeys((self.abilities.plain_buttons, True))
        made = [below(look.offers, look.turn, self.conversation, self.to, plain=plain) for plain in forms]
        return [blocks for blocks in made if blocks]

    def _keep_pace(self, limit: MethodRate | MethodQueue) -> None:
        if (wait := limit.wait(self.name, self.clock.monotonic())) > 0:
            raise reply_surface.PageQueued(wait)

    async def _write(
        self, limit: MethodRate | MethodQueue, method: Method, look: reply_surface.PageContent, where: dict[str, Json]
    ) -> JsonObject:
        with page_errors():
            try:
                return await self._send(method, look, where)
            except SlackLimited as limited:
                limit.limited(self.clock.monotonic(), limited.retry_after_s)
                raise

    async def _send(self, method: Method, look: reply_surface.PageContent, where: dict[str, Json]) -> JsonObject:
        """In the best form that Slack takes."""
        *better, last = self._forms(look)
        for form in better:
            try:
                return await self.api.call(method, **where, **form)
            except SlackRefused as refused:
                if refused.code != "no_text" and not (
                    "blocks" in form and refused.code in BLOCKS_REFUSED | {"msg_blocks_too_many"}
                ):
                    raise
                log.info("%s The page is shown in a simpler form.", refused)
                self.abilities.plain_buttons |= "blocks" in form
        return await self.api.call(method, **where, **last)

    def _forms(self, look: reply_surface.PageContent) -> Iterator[dict[str, Json]]:
        for buttons in self.buttons(look):
            words: Json = {"type": "markdown", "text": look.text}
            yield {"text": mrkdwn(look.text)[:NOTICE_CHARS], "blocks": [words, *buttons]}
        yield {"markdown_text": look.text}
        yield {"text": look.text}  # a server that does not know markdown_text
