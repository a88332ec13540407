"""The surfaces of Slack: `bot.surface.Surface` on the Web API.

Above: `run` makes one for each reply. Below: `api`, `budget`, `forms`, `markup`, `reply_to`, `sessions`, `uploads`,
`whisper`.

Theory of operation. A page is posted with its key as message metadata, so that a post whose answer was lost, or whose
process died before storing it, is found by looking instead of posting again. Edits ask the workspace's budget first,
posts the queue of their channel: what is not allowed now is refused, and comes back with newer text.

A private answer cannot grow: an ephemeral message has no id to edit, and a `response_url` takes five messages at most.
So it is shown once, complete. Where it cannot be given in place any more, it goes to the person's DM, never to the
channel.

A page is sent as `markdown_text`, which Slack takes only without blocks. So no button stands below a growing reply:
it is stopped in words, and what may follow its end is offered in a message of its own that only the asker sees.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from agent.messages import Json, JsonObject
from agent.ports import Clock
from agent.records import REACHED_ONCE, ShownPage
from bot.platforms.slack import forms, payload, uploads
from bot.platforms.slack.api import Method, SlackApi, SlackError, SlackLimited, SlackRefused
from bot.platforms.slack.budget import Budget, Queue
from bot.platforms.slack.inbound import Me
from bot.platforms.slack.markup import neutral
from bot.platforms.slack.reply_to import ReplyTo
from bot.platforms.slack.sessions import Session
from bot.platforms.slack.whisper import Whisper
from bot.surface import (
    Limits,
    Look,
    Offer,
    OutFile,
    PageGone,
    PageKey,
    PageLimited,
    PageLocked,
    PageQueued,
    PageRef,
    PageUnsent,
    SurfaceError,
)

LIMITS = Limits(
    page_chars=3_900,  # chat.update takes less than 4,000
    edit_interval_s=1.4,  # one reply alone stays within the workspace's budget of edits
    announce_final=False,
    offers=frozenset({Offer.CONTINUE}),
)
PRIVATE_LIMITS = Limits(page_chars=11_000, edit_interval_s=1.0, offers=frozenset({Offer.CONTINUE}))
"""A markdown block holds 12,000 characters; five pages, as many as a `response_url` takes, are 55,000."""

UPDATES_PER_MINUTE = 48
"""Tier 3 allows 50, for the whole workspace."""

POST_INTERVAL_S = 1.0
"""For each channel; short bursts pass, but nobody says how short."""

EVENT_TYPE = "cogency_page"
LOOK_BACK = 100
"""Messages read to find a page again: it was posted moments ago."""

_LOCKED = frozenset(
    {"cant_update_message", "cant_delete_message", "edit_window_closed", "streaming_state_conflict", "msg_too_long"}
)
_CURABLE = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "missing_scope"}
)
"""What an operator can put right while the answer waits; any other refusal is for ever."""


@dataclass(slots=True)
class Budgets:
    """One workspace's share of each method, for all open replies."""

    updates: Budget = field(default_factory=lambda: Budget(UPDATES_PER_MINUTE, window_s=60.0))
    _posts: dict[str, Queue] = field(default_factory=dict[str, Queue])

    def posts(self, channel: str) -> Queue:
        return self._posts.setdefault(channel, Queue(POST_INTERVAL_S))


class SlackSurface:
    """One reply in a channel, a thread or a DM."""

    def __init__(
        self,
        api: SlackApi,
        me: Me,
        budgets: Budgets,
        clock: Clock,
        to: ReplyTo,
        conversation: str,
        session: Session,
    ) -> None:
        self._api = api
        self._me = me
        self._budgets = budgets
        self._clock = clock
        self._to = to
        self._conversation = conversation
        self._session = session
        self._name = f"{to.channel}:{to.after}"

    @property
    def limits(self) -> Limits:
        return LIMITS

    async def find(self, key: PageKey) -> PageRef | None:
        """Looks among what was said since the question. None also where we may not look."""
        where: dict[str, Json] = {"channel": self._to.channel, "oldest": self._to.after or "0", "limit": LOOK_BACK}
        method = Method.REPLIES if self._to.thread_ts else Method.HISTORY
        where |= {"ts": self._to.thread_ts} if self._to.thread_ts else {}
        with _page_errors():
            try:
                said = await self._api.call(method, **where, include_all_metadata=True)
            except SlackRefused:
                return None
        for message in payload.items(said, "messages"):
            mine = payload.text(message, "user") == self._me.user or payload.text(message, "bot_id") == self._me.bot
            if mine and payload.text(message, "metadata", "event_payload", "key") == str(key):
                return PageRef(payload.text(message, "ts"))
        return None

    async def post(self, key: PageKey, look: Look) -> PageRef:
        queue = self._budgets.posts(self._to.channel)
        if (wait := queue.wait(self._name, self._clock.monotonic())) > 0:
            raise PageQueued(wait)
        args: dict[str, Json] = {
            "channel": self._to.channel,
            "thread_ts": self._to.thread_ts or None,
            "metadata": {"event_type": EVENT_TYPE, "event_payload": {"key": str(key)}},
            "unfurl_links": False,
            "unfurl_media": False,
        }
        posted = await self._write(queue, Method.POST, look.text, args)
        self._session.said()
        page = PageRef(payload.text(posted, "ts"))
        await _offer(self._api, self._to, self._conversation, page, look)
        return page

    async def edit(self, page: PageRef, look: Look) -> None:
        budget = self._budgets.updates
        if (wait := budget.wait(self._name, self._clock.monotonic())) > 0:
            raise PageLimited(wait)
        await self._write(budget, Method.UPDATE, look.text, {"channel": self._to.channel, "ts": page.id})
        if look.final:
            budget.left(self._name)
            await _offer(self._api, self._to, self._conversation, page, look)

    async def delete(self, page: PageRef) -> None:
        with _page_errors():
            await uploads.delete(self._api, self._to.channel, page.id)

    async def attach(self, key: PageKey, files: Sequence[OutFile], *, again: bool) -> tuple[PageRef, ...]:  # noqa: ARG002 -- Slack takes no key with a file
        with _page_errors():
            shared = await uploads.shared(self._api, self._me, self._to, [file.name for file in files]) if again else ()
            shared = shared or await uploads.share(self._api, files, self._to.channel, self._to.thread_ts)
        return tuple(map(PageRef, shared))

    async def aside(self, text: str) -> None:
        with _page_errors():
            await Whisper(self._api, self._to).say(neutral(text))

    async def status(self, text: str) -> None:
        self._session.doing(text)

    def leave(self, *, ended: bool) -> None:
        self._session.leave(ended=ended)

    async def _write(self, limit: Budget | Queue, method: Method, text: str, args: dict[str, Json]) -> JsonObject:
        shown = neutral(text)
        with _page_errors():
            try:
                return await self._api.call(method, **args, markdown_text=shown)
            except SlackLimited as limited:
                limit.limited(self._clock.monotonic(), limited.retry_after_s)
                raise
            except SlackRefused as refused:
                if refused.code != "no_text":
                    raise
                # A server that does not know markdown_text yet
                return await self._api.call(method, **args, text=shown)


class PrivateSurface:
    """An answer that only one person sees, shown when it is complete."""

    def __init__(self, api: SlackApi, to: ReplyTo, conversation: str) -> None:
        self._api = api
        self._to = to
        self._conversation = conversation
        self._whisper = Whisper(api, to)

    @property
    def limits(self) -> Limits:
        return PRIVATE_LIMITS

    async def find(self, key: PageKey) -> PageRef | None:  # noqa: ARG002 -- what only one person sees has no history
        return None

    async def post(self, key: PageKey, look: Look) -> PageRef:
        page = PageRef(f"{REACHED_ONCE}/{key}")
        await self.edit(page, look)
        return page

    async def edit(self, page: PageRef, look: Look) -> None:
        if look.final:
            with _page_errors():
                await self._whisper.say(neutral(look.text))
            await _offer(self._api, self._to, self._conversation, page, look)

    async def delete(self, page: PageRef) -> None:
        """Nothing was shown."""

    async def attach(self, key: PageKey, files: Sequence[OutFile], *, again: bool) -> tuple[PageRef, ...]:  # noqa: ARG002 -- as above
        with _page_errors():
            return tuple(map(PageRef, await uploads.share_alone(self._api, files, self._to.user)))

    async def aside(self, text: str) -> None:
        with _page_errors():
            await self._whisper.say(neutral(text))

    async def status(self, text: str) -> None:
        """There is no private status line."""

    def leave(self, *, ended: bool) -> None:
        """As little."""


async def delete_page(api: SlackApi, page: ShownPage) -> None:
    """Delete a page of an earlier reply. Raises SurfaceError."""
    with _page_errors():
        await uploads.delete(api, page.channel, page.page)


async def _offer(api: SlackApi, to: ReplyTo, conversation: str, page: PageRef, look: Look) -> None:
    """Where only the asker sees it: a page is plain Markdown, below which Slack takes no buttons. Never raises."""
    if Offer.CONTINUE in look.offers:
        with suppress(SurfaceError), _page_errors():
            await Whisper(api, to).say(forms.CAN_GO_ON, forms.continue_button(conversation, page.id, to))


@contextmanager
def _page_errors() -> Generator[None, None, None]:
    """Slack's errors, in the words of `bot.surface`."""
    try:
        yield
    except SlackLimited as limited:
        raise PageLimited(limited.retry_after_s) from limited
    except SlackRefused as refused:
        if refused.code in _LOCKED:
            raise PageLocked(str(refused)) from refused
        if refused.code in _CURABLE:
            raise PageUnsent(str(refused)) from refused
        raise PageGone(str(refused)) from refused
    except SlackError as error:
        raise PageUnsent(str(error)) from error
