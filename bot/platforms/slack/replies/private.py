"""An answer that only one person sees: `bot.surface.Surface` for whispers.

Above: `run` makes one for each private reply. Below: `page_errors`, `reply_blocks`, `uploads`, `whisper`.

It cannot grow: an ephemeral message has no id to edit, and a `response_url` takes five messages at most. So it is shown
once, complete. Where it cannot be given in place any more, it goes to the person's DM, never to the channel.
"""

from collections.abc import Sequence

from agent.records import REACHED_ONCE
from bot.platforms.slack.api import SlackApi, SlackRefused
from bot.platforms.slack.replies import uploads
from bot.platforms.slack.replies.page_errors import BLOCKS_REFUSED, page_errors
from bot.platforms.slack.replies.reply_to import ReplyTo
from bot.platforms.slack.replies.whisper import Whisper
from bot.platforms.slack.views.reply_blocks import below
from bot.surface import Limits, Look, Offer, OutFile, PageKey, PageRef

LIMITS = Limits(page_chars=11_000, edit_interval_s=1.0, offers=frozenset(Offer) - {Offer.STOP})
"""A markdown block holds 12,000 characters; five pages, as many as a `response_url` takes, are 55,000."""


class PrivateSurface:
    def __init__(self, api: SlackApi, to: ReplyTo, conversation: str) -> None:
        self._api = api
        self._to = to
        self._conversation = conversation
        self._whisper = Whisper(api, to)

    @property
    def limits(self) -> Limits:
        return LIMITS

    async def find(self, key: PageKey) -> PageRef | None:  # noqa: ARG002 -- what only one person sees has no history
        return None

    async def post(self, key: PageKey, look: Look) -> PageRef:
        page = PageRef(f"{REACHED_ONCE}/{key}")
        await self.edit(page, look)
        return page

    async def edit(self, page: PageRef, look: Look) -> None:  # noqa: ARG002 -- it has no id to edit
        if not look.final:
            return
        buttons, simpler = (
            below(look.offers, look.turn, self._conversation, self._to, plain=plain) for plain in (False, True)
        )
        with page_errors():
            try:
                await self._whisper.say(look.text, *buttons)
            except SlackRefused as refused:
                if refused.code not in BLOCKS_REFUSED:
                    raise
                await self._whisper.say(look.text, *simpler)

    async def delete(self, page: PageRef) -> None:
        """Nothing was shown."""

    async def attach(self, key: PageKey, files: Sequence[OutFile], *, again: bool) -> tuple[PageRef, ...]:  # noqa: ARG002 -- Slack takes no key with a file
        with page_errors():
            return tuple(map(PageRef, await uploads.share_alone(self._api, files, self._to.user)))

    async def aside(self, text: str) -> None:
        with page_errors():
            await self._whisper.say(text)

    async def status(self, text: str) -> None:
        """There is no private status line."""

    def leave(self, *, ended: bool) -> None:
        """As little."""
