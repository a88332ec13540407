"""Saying something to one person, where nobody else sees it."""

from agent.messages import Json
from bot.platforms.slack.api import Method, SlackApi, SlackRefused
from bot.platforms.slack.inbound import ReplyTo
from bot.platforms.slack.markup import mrkdwn


class Ephemeral:
    """Rule: in place if Slack still allows it, by the `response_url` or as an ephemeral message; else in the person's
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
