"""Polls in Slack: a message with a button for each option, and the votes, which the bot counts.

Rules
- A vote counts once it is stored: one for each person, in place of their earlier one, in whichever process it arrives.
- Whoever sees the message may vote. The message shows the counts, and no names; it is edited at most once in REFRESH_S,
  with what is stored then.
"""

import logging
from dataclasses import dataclass, field
from typing import Final

from agent.messages import Json, JsonObject
from agent.ports.acts import Poll, Polls
from agent.ports.clock import Clock
from bot.chat.texts.formatting import shortened
from bot.platforms import texts as platforms_texts
from bot.platforms.poll_text import poll_text
from bot.platforms.slack import inbound
from bot.platforms.slack.api import SlackApi, SlackError, text
from bot.platforms.slack.ephemeral import Ephemeral
from bot.platforms.slack.inbound import SlackBot
from bot.platforms.slack.markup import notice
from bot.platforms.slack.options import Method
from bot.platforms.slack.reply_to import of_click

log = logging.getLogger(__name__)

VOTE: Final = "cogency_vote"
REFRESH_S: Final = 1.2  # Slack allows fifty edits a minute in a workspace
BUTTON_CHARS: Final = 75  # Slack's limit of a button's label


def poll_blocks(poll: Poll) -> list[Json]:
    """Return the message's blocks: the poll, and while it is open a button for each option. Pure."""
    words: Json = {"type": "markdown", "text": poll_text(poll)}
    buttons: list[Json] = [
        {
            "type": "button",
            "text": {"type": "plain_text", "text": shortened(option, BUTTON_CHARS)},
            "action_id": f"{VOTE}:{number}",
            "value": str(number),
        }
        for number, option in enumerate(poll.options)
    ]
    return [words] if poll.closed else [words, {"type": "actions", "elements": buttons}]


async def show_poll(api: SlackApi, channel: str, ts: str, poll: Poll) -> None:
    """Show the poll as it is now. Raises SlackError."""
    await api.call(Method.UPDATE, channel=channel, ts=ts, text=notice(poll_text(poll)), blocks=poll_blocks(poll))


@dataclass(slots=True)
class SlackPolls:
    """Takes the votes."""

    polls: Polls | None
    api: SlackApi
    me: SlackBot
    clock: Clock
    _due: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    async def handle_click(self, body: JsonObject, action: JsonObject) -> None:
        """Count a vote, and show it. Raises StoreError and SlackError."""
        to, value = of_click(body), text(action, "value")
        ts = text(body, "message", "ts") or text(body, "container", "message_ts")
        if self.polls is None or not (value.isascii() and value.isdecimal() and len(value) == 1):
            return
        person = inbound.person_id(self.me, to.user)
        poll = await self.polls.vote(self.me.source, to.channel, ts, person, int(value))
        if poll is None or poll.closed:
            sentence = platforms_texts.POLL_GONE if poll is None else platforms_texts.POLL_OVER
            await Ephemeral(self.api, to, self.clock).send(sentence)
            return
        await self._refresh(self.polls, to.channel, ts)

    async def _refresh(self, polls: Polls, channel: str, ts: str) -> None:
        """Show the votes soon, unless that is already about to happen."""
        if (channel, ts) in self._due:
            return
        self._due.add((channel, ts))
        try:
            await self.clock.sleep(REFRESH_S)
        finally:
            self._due.discard((channel, ts))
        poll = await polls.poll(self.me.source, channel, ts)
        try:
            if poll is not None:
                await show_poll(self.api, channel, ts, poll)
        except SlackError as error:
            log.info("the votes of a poll are shown with the next one: %s", error)
