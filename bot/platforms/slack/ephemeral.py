"""Messages that only one person sees: in place of a reply, beside one, or in the person's direct messages."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeVar

from agent.messages import Json
from agent.ports.clock import Clock
from bot.chat.backoff import Backoff
from bot.platforms.slack import api
from bot.platforms.slack.api import SlackApi, SlackDown, SlackLimited, SlackRefused
from bot.platforms.slack.markup import mrkdwn
from bot.platforms.slack.options import Method
from bot.platforms.slack.reply_to import ReplyTo

T = TypeVar("T")

ATTEMPTS: Final = 3
MAX_WAIT_S: Final = 60.0  # Slack's limits are per minute


class Ephemeral:
    """Messages that only one person sees. `clock`: for what is shown once and must not be lost, such as the outcome of
    a command; without it, nothing is tried again.

    Rules
    - They are shown in place if Slack still allows it, by the `response_url` or as an ephemeral message; else in the
      person's DM with the bot; never in the channel.
    - With a `clock`, a message that Slack limits, or does not confirm, is sent up to ATTEMPTS times. A person may read
      it twice, which is better than not at all.

    The text is in a Markdown block. The message's own text is for notifications, and for clients without that block.
    """

    def __init__(self, api: SlackApi, to: ReplyTo, clock: Clock | None = None) -> None:
        self._api = api
        self._to = to
        self._clock = clock

    async def send(self, markdown: str, *more: Json) -> str:
        """Show the text, and `more` blocks below it. Raises SlackError.

        Return the channel and the time stamp of the message in the person's DM ("D…/…"); "" for an ephemeral one.
        """
        return await self._insist(partial(self._send, markdown, *more))

    async def _send(self, markdown: str, *more: Json) -> str:
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
        respond = partial(self._api.respond, self._to.response_url, replace_original=True)
        try:
            await self._insist(partial(respond, text=mrkdwn(markdown), blocks=blocks))
        except SlackRefused:
            await self.send(markdown, *more)

    async def _insist(self, show: Callable[[], Awaitable[T]]) -> T:
        """Call `show` until it works, up to ATTEMPTS times. Raises SlackError."""
        backoff = Backoff()
        for _ in range(ATTEMPTS - 1 if self._clock is not None else 0):
            try:
                return await show()
            except (SlackDown, SlackLimited) as error:
                if error.retry_after_s > MAX_WAIT_S or self._clock is None:
                    raise
                await self._clock.sleep(max(backoff.failed(), error.retry_after_s))
        return await show()

    async def _post(self, markdown: str, blocks: list[Json]) -> None:
        await self._api.call(
            Method.POST_EPHEMERAL,
            channel=self._to.channel,
            user=self._to.user,
            thread_ts=self._to.thread_ts or None,
            text=mrkdwn(markdown),
            blocks=blocks,
        )
