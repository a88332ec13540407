"""Decides where an event of a webhook may be posted, and who reads it there: `EventPlatform` for Slack.

Everything is read from Slack within the last minute. Nobody asks: the event's person is the webhook itself, which is no
member of anything, and whose rights are those of a stranger.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from agent.admission_terms import Authority
from agent.doors import WEBHOOK
from agent.incoming import Incoming, Person
from agent.messages import JsonObject
from agent.ports.clock import Clock
from agent.ports.webhooks import EventTarget
from agent.schedules.definitions import NotAllowed
from agent.turn_kinds import TurnKind
from bot.chat.caches import ExpiringCache
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.api import SlackApi, SlackRefused, fields, flag
from bot.platforms.slack.attachments import place_of_page
from bot.platforms.slack.inbound import SlackBot, channel_conversation, thread_conversation
from bot.platforms.slack.options import Method
from bot.platforms.slack.places import Places
from bot.platforms.slack.reply_to import ReplyTo

LOOK_BEHIND: Final = timedelta(minutes=5)  # A page is searched from then on: clocks may differ
_GONE: Final = frozenset({"channel_not_found", "not_in_channel"})
_EVENTS: Final = "hooks"  # The conversation of a channel's events outside of threads: they are posted one at a time


@dataclass(slots=True)
class SlackEventPlaces:
    """Implements `EventPlatform`."""

    api: SlackApi
    me: SlackBot
    places: Places
    clock: Clock
    _channels: ExpiringCache[JsonObject] = field(init=False)

    def __post_init__(self) -> None:
        self._channels = ExpiringCache(self._load_channel, self.clock)

    async def event(self, target: EventTarget) -> Incoming | NotAllowed:
        try:
            info = await self._channels.get(target.channel)
        except SlackRefused as refused:
            if refused.code not in _GONE:
                raise
            return NotAllowed(platforms_texts.SCHEDULE_PLACE_GONE)
        if flag(info, "is_archived"):
            return NotAllowed(platforms_texts.SCHEDULE_ARCHIVED)
        if info.get("is_member") is False:
            self._channels.drop(target.channel)  # the operator will invite the bot now
            return NotAllowed(platforms_texts.EVENT_WITHOUT_ME)
        now, root = self.clock.now(), place_of_page(target.channel, target.page)[1] if target.page else ""
        after = (now - LOOK_BEHIND).timestamp()
        to = ReplyTo(
            target.channel, "", root, f"{after:.6f}", scheduled=TurnKind.EVENT, notified=",".join(target.mention)
        )
        whole = f"{channel_conversation(self.me, target.channel)}:{_EVENTS}"
        return Incoming(
            source=self.me.source,
            event_id=target.name,
            channel=target.channel,
            message_id=target.name,
            conversation=thread_conversation(self.me, target.channel, root) if root else whole,
            person=Person(f"{self.me.source}:{WEBHOOK}{target.hook}", f"webhook {target.hook}"),
            place=await self.places.of(target.channel),
            text="",
            time=now,
            reply_to=to.encode(),
            authority=Authority.STRANGER,
            team=self.me.team,
            own=False,
        )

    async def _load_channel(self, channel: str) -> JsonObject:
        return fields(await self.api.call(Method.CHANNEL, channel=channel), "channel")
