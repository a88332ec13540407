"""Which conversation a Discord message or command belongs to."""

from dataclasses import dataclass, replace
from typing import Final

from agent.incoming import Incoming
from bot.chat.host import Host
from bot.chat.intake import is_stop
from bot.platforms.discord import inbound
from bot.platforms.discord.inbound import AskedQuestion, ChannelFactsForConversation, DiscordBot, DiscordPost
from bot.platforms.discord.members import zone_chosen
from bot.platforms.discord.options import DiscordOptions
from bot.platforms.discord.places import SOURCE, known_as
from bot.platforms.discord.reply_to import pages_at
from bot.platforms.discord.settings import ReplyMode
from bot.platforms.discord.settings_command import REPLIES

_MODES: Final = {mode.value: mode for mode in ReplyMode}


@dataclass(frozen=True, slots=True)
class DiscordMessage:
    """A message as the bot takes it in. `joined`: it is in a thread or a chain, where it need not mention the bot."""

    incoming: Incoming
    joined: bool


class DiscordConversations:
    """Every method may raise CogencyError.

    Rules.
    - The managers' choice for a channel overrides that for its server, which overrides the operator's setting.
    - In a chain, a reply to one of the bot's replies continues the conversation of that reply, in its own channel only.
    - A DM continues its conversation until it was idle for a while, or /new was used. "stop" starts no conversation.
    """

    def __init__(self, host: Host, settings: DiscordOptions) -> None:
        self._host = host
        self._settings = settings

    async def of_post(self, post: DiscordPost, me: DiscordBot, *, asked: bool = False) -> DiscordMessage | None:
        """Return the message with its conversation; None if the bot must not read it (`inbound.read_post`).

        `asked`: treat it as if it mentioned the bot.
        """
        where = post.where
        is_addressed = asked or inbound.mentioned(post, me) or inbound.answers_me(post, me)
        asked_in_channel = is_addressed and not where.direct and where.parent is None
        team = post.author.standing.team
        with self._host.preferences.together(*_owners(where, team), known_as(post.author.id)):
            mode = await self._mode(where, team) if asked_in_channel else self._settings.chosen.replies
            incoming = inbound.read_post(post, me, mode)
            if incoming is None:
                return None
            incoming = await self._in_zone(incoming)
        if where.direct:
            return DiscordMessage(await self._in_dm_conversation(incoming), joined=False)
        if (
            asked_in_channel
            and mode is ReplyMode.CHAIN
            and (link := await self._replied_conversation(post, incoming, me))
        ):
            return DiscordMessage(replace(incoming, conversation=link), joined=True)
        return DiscordMessage(incoming, joined=where.parent is not None)

    async def of_question(self, question: AskedQuestion) -> Incoming:
        """Return the `/ask` with its conversation."""
        where = question.where
        in_channel = not where.direct and where.parent is None and not question.private
        team = question.author.standing.team
        mode = await self._mode(where, team) if in_channel else self._settings.chosen.replies
        incoming = await self._in_zone(inbound.read_question(question, mode))
        return await self._in_dm_conversation(incoming) if where.direct else incoming

    async def _in_zone(self, incoming: Incoming) -> Incoming:
        """Add the time zone that the person chose."""
        zone = await zone_chosen(self._host.preferences, incoming.person.id)
        return replace(incoming, person=replace(incoming.person, time_zone=zone))

    async def _mode(self, where: ChannelFactsForConversation, team: str) -> ReplyMode:
        for owner in _owners(where, team):
            chosen = (await self._host.preferences.all_of(owner)).get(REPLIES, "")
            if chosen in _MODES:
                return _MODES[chosen]
        return self._settings.chosen.replies

    async def _in_dm_conversation(self, incoming: Incoming) -> Incoming:
        channel = known_as(incoming.channel)
        if is_stop(incoming.text):
            return replace(incoming, conversation=await self._host.direct_messages.current(channel))
        conversation = await self._host.direct_messages.conversation_of(
            channel, incoming.message_id, incoming.time, idle=self._settings.dm_idle
        )
        return replace(incoming, conversation=conversation)

    async def _replied_conversation(self, post: DiscordPost, incoming: Incoming, me: DiscordBot) -> str:
        """Return the conversation of the bot's reply that a message replies to; "" if there is none."""
        if post.replies_to is None or not inbound.answers_me(post, me):
            return ""
        for page in pages_at(incoming.channel, post.replies_to.id):
            reply = await self._host.feedback.at(SOURCE, page)
            if reply is not None and reply.channel == incoming.channel:
                return reply.conversation
        return ""


def _owners(where: ChannelFactsForConversation, team: str) -> tuple[str, str]:
    """Return who may have chosen where mentions are answered, the narrower first."""
    return f"channel:{where.channel}", f"team:{team}"
