"""Which conversation a message or a command on Discord belongs to."""

from dataclasses import dataclass, replace
from typing import Final

from agent.records import Incoming
from bot.host import Host
from bot.message_intake import is_stop
from bot.platforms.discord import inbound
from bot.platforms.discord.inbound import AskedQuestion, ChannelFactsForConversation, DiscordBot, DiscordPost, pages_at
from bot.platforms.discord.members import zone_chosen
from bot.platforms.discord.options import DiscordSettings
from bot.platforms.discord.places import SOURCE, known_as
from bot.platforms.discord.preferences import REPLIES
from bot.setting_parsers import ReplyMode

_MODES: Final = {mode.value: mode for mode in ReplyMode}


@dataclass(frozen=True, slots=True)
class DiscordMessage:
    """A message as the bot takes it. `joined`: it stands in a thread or a chain, in which nobody needs to mention the
    bot.
    """

    incoming: Incoming
    joined: bool


class DiscordConversations:
    """Every method may raise CogencyError.

    Rules.
    - What managers chose for a channel goes before what they chose for its server, and that before the operator's
      setting.
    - In a chain a reply to one of the bot's replies goes on in the conversation of that reply, in its own channel only.
    - A direct message goes on in its conversation until nothing was said there for a while, or /new was used. The word
      "stop" begins none.
    """

    def __init__(self, host: Host, settings: DiscordSettings) -> None:
        self._host = host
        self._settings = settings

    async def of_post(self, post: DiscordPost, me: DiscordBot) -> DiscordMessage | None:
        """The message in its conversation; None if it is not for the bot to read, as `inbound.read` says."""
        where = post.where
        meant = inbound.mentioned(post, me) or inbound.answers_me(post, me)
        asked_in_channel = meant and not where.direct and where.parent is None
        mode = await self._mode(where, post.author.standing.team) if asked_in_channel else self._settings.reply_mode
        incoming = inbound.read_post(post, me, mode)
        if incoming is None:
            return None
        incoming = await self._in_zone(incoming)
        if where.direct:
            return DiscordMessage(await self._rolling(incoming), joined=False)
        if asked_in_channel and mode is ReplyMode.CHAIN and (link := await self._link(post, incoming, me)):
            return DiscordMessage(replace(incoming, conversation=link), joined=True)
        return DiscordMessage(incoming, joined=where.parent is not None)

    async def of_question(self, question: AskedQuestion) -> Incoming:
        """The `/ask` in its conversation."""
        where = question.where
        in_channel = not where.direct and where.parent is None and not question.private
        team = question.author.standing.team
        mode = await self._mode(where, team) if in_channel else self._settings.reply_mode
        incoming = await self._in_zone(inbound.read_question(question, mode))
        return await self._rolling(incoming) if where.direct else incoming

    async def _in_zone(self, incoming: Incoming) -> Incoming:
        """With the time zone that its person chose."""
        zone = await zone_chosen(self._host.preferences, incoming.person.id)
        return replace(incoming, person=replace(incoming.person, time_zone=zone))

    async def _mode(self, where: ChannelFactsForConversation, team: str) -> ReplyMode:
        for owner in (f"channel:{where.channel}", f"team:{team}"):
            chosen = (await self._host.preferences.of(owner)).get(REPLIES, "")
            if chosen in _MODES:
                return _MODES[chosen]
        return self._settings.reply_mode

    async def _rolling(self, incoming: Incoming) -> Incoming:
        channel = known_as(incoming.channel)
        if is_stop(incoming.text):
            return replace(incoming, conversation=await self._host.direct_messages.current(channel))
        conversation = await self._host.direct_messages.conversation_of(
            channel, incoming.message_id, incoming.time, idle=self._settings.dm_idle
        )
        return replace(incoming, conversation=conversation)

    async def _link(self, post: DiscordPost, incoming: Incoming, me: DiscordBot) -> str:
        """The conversation of the bot's reply to which a message replies; "" if there is none."""
        if post.replies_to is None or not inbound.answers_me(post, me):
            return ""
        for page in pages_at(incoming.channel, post.replies_to.id):
            reply = await self._host.feedback.at(SOURCE, page)
            if reply is not None and reply.channel == incoming.channel:
                return reply.conversation
        return ""
