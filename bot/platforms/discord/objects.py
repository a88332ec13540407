"""Convert discord.py's objects to plain values."""

import re
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

import discord

from agent.admission_terms import Authority
from agent.memory.audience import Place
from bot.platforms.discord import inbound
from bot.platforms.discord.checks import may_start_threads
from bot.platforms.discord.inbound import STRANGER, DiscordAuthor, DiscordPost
from bot.platforms.discord.markup import DiscordNames
from bot.platforms.discord.message_content import content_of
from bot.platforms.discord.places import ChannelFacts, known_as, place_of, private_place

CHANNEL_MENTION = re.compile(r"<#(\d{1,20})>", re.ASCII)
_BACKTICKS = re.compile("`+")
USER_MENTION = re.compile(r"<@!?(\d{1,20})>", re.ASCII)

Speaker: TypeAlias = discord.User | discord.Member

# The types of messages that users write.
USER_MESSAGE_TYPES = frozenset({discord.MessageType.default, discord.MessageType.reply})
# Those that people read in a channel: also what an app answers to a command, and the result of a poll. All others are
# Discord's notices.
READ_MESSAGE_TYPES = USER_MESSAGE_TYPES | {
    discord.MessageType.chat_input_command,
    discord.MessageType.context_menu_command,
    discord.MessageType.poll_result,
}


def post_of(message: discord.Message, now: datetime) -> DiscordPost:
    """Return the message with the place of its channel."""
    roles = {role.id: role.name for role in message.role_mentions}
    users = {user.id: user.display_name for user in message.mentions}
    content = content_of(message)
    return DiscordPost(
        id=message.id,
        where=where(message.channel, author_of(message.author), direct=isinstance(message.channel, discord.DMChannel)),
        author=replace(author_of(message.author), automatic=is_automatic(message)),
        content=content.text,
        whole=content.whole,
        time=inbound.plausible(message.created_at, now),
        link=message.jump_url,
        names=names_of(message, content.whole),
        mentions=frozenset({*users, *roles, *map(int, USER_MENTION.findall(without_code(message.content)))}),
        carries=bool(message.attachments or content.enclosed or content.text.strip() != message.content.strip()),
        replies_to=_replied(message),
        by_user=message.type in USER_MESSAGE_TYPES,
    )


def without_code(text: str) -> str:
    """Return the text without code, in which Discord mentions nobody: what is between two equally long runs of
    backticks.
    """
    runs = [*_BACKTICKS.finditer(text)]
    closing: dict[int, int] = {}  # Of each run, the next one that is as long
    latest: dict[int, int] = {}
    for index in reversed(range(len(runs))):
        length = len(runs[index][0])
        if length in latest:
            closing[index] = latest[length]
        latest[length] = index
    kept, position, index = list[str](), 0, 0
    while index < len(runs):
        end = closing.get(index)
        if end is not None:
            kept.append(text[position : runs[index].start()])
            position = runs[end].end()
            index = end
        index += 1
    return " ".join([*kept, text[position:]])


def where(
    channel: discord.abc.Snowflake, author: DiscordAuthor, *, direct: bool
) -> inbound.ChannelFactsForConversation:
    """Return the channel as a conversation needs it; `direct` if it is the author's DM with the bot."""
    if direct:
        return inbound.ChannelFactsForConversation(channel.id, private_place(known_as(author.id)), direct=True)
    return inbound.ChannelFactsForConversation(
        channel=channel.id,
        place=channel_place(channel),
        parent=channel.parent_id if isinstance(channel, discord.Thread) else None,
        has_threads=isinstance(channel, discord.TextChannel) and may_start_threads(channel),
    )


def _replied(message: discord.Message) -> inbound.Replied | None:
    reference = message.reference
    if message.type is not discord.MessageType.reply or reference is None:
        return None
    original = reference.resolved
    return inbound.Replied(original.id, original.author.id) if isinstance(original, discord.Message) else None


def author_of(user: Speaker) -> DiscordAuthor:
    return DiscordAuthor(user.id, user.display_name, user.bot, standing_of(user))


def standing_of(user: Speaker) -> inbound.ServerStanding:
    """Return the user's standing by Discord's payload; a stranger in a DM, or where the bot is not a member."""
    if not isinstance(user, discord.Member):
        return STRANGER
    guild = user.guild
    if guild.get_role(guild.id) is None:  # a server of which only the id is known
        return replace(STRANGER, team=str(guild.id))
    roles = frozenset(str(role.id) for role in user.roles if role.id != guild.id)
    authority = _authority(user)
    return inbound.ServerStanding(
        authority, roles, str(guild.id), guild.name if authority >= Authority.EMPLOYEE else ""
    )


def _authority(member: discord.Member) -> Authority:
    granted = member.guild_permissions
    if member.flags.guest:
        return Authority.GUEST
    if member.id == member.guild.owner_id or granted.administrator:
        return Authority.ADMIN
    return Authority.MANAGER if granted.manage_guild else Authority.EMPLOYEE


def private_place_of(interaction: discord.Interaction[discord.Client]) -> Place:
    """Return the place that only the caller reads: within the command's server if they are a full member of it."""
    user = interaction.user
    known = interaction.client.get_guild(interaction.guild_id) if interaction.guild_id is not None else None
    member_of = known.id if known is not None and isinstance(user, discord.Member) and not user.flags.guest else None
    return private_place(known_as(user.id), member_of)


def channel_of(interaction: discord.Interaction[discord.Client]) -> str:
    """Return the channel's id as in `Incoming.channel`: of a thread, its parent channel."""
    author = author_of(interaction.user)
    facts = where(interaction.channel or interaction, author, direct=interaction.context.dm_channel is True)
    return str(facts.parent or facts.channel)


def is_automatic(message: discord.Message) -> bool:
    return message.author.bot or message.webhook_id is not None


def names_of(message: discord.Message, words: str | None = None) -> DiscordNames:
    """Return the names of the users, roles and channels that the message mentions, as far as known. `words`: all that
    it shows; Discord names only those whom its own text mentions.
    """
    guild, words = message.guild, message.content if words is None else words
    users = {user.id: user.display_name for user in message.mentions}
    roles = {role.id: role.name for role in message.role_mentions}
    if guild is None:
        return DiscordNames(users, roles)
    channels = {number: guild.get_channel_or_thread(number) for number in map(int, CHANNEL_MENTION.findall(words))}
    members = {number: guild.get_member(number) for number in map(int, USER_MENTION.findall(words))}
    return DiscordNames(
        users={number: member.display_name for number, member in members.items() if member is not None} | users,
        roles=roles,
        channels={number: channel.name for number, channel in channels.items() if channel is not None},
    )


def channel_place(channel: discord.abc.Snowflake) -> Place:
    """Return the place for the readers of this channel; a channel whose server is not known is a group of its own."""
    return place_of(_facts(channel))


def _facts(channel: discord.abc.Snowflake) -> ChannelFacts:
    if isinstance(channel, discord.Thread):
        parent = channel.parent
        if parent is None:
            return ChannelFacts(channel.id)
        if channel.is_private():
            return ChannelFacts(channel.id, channel.guild.id, private_thread=True)
        return _facts(parent)
    if not isinstance(
        channel, discord.TextChannel | discord.ForumChannel | discord.VoiceChannel | discord.StageChannel
    ):
        return ChannelFacts(channel.id)
    everyone = channel.guild.get_role(channel.guild.id)
    if everyone is None:  # a server of which only the id is known
        return ChannelFacts(channel.id)
    permissions = channel.permissions_for(everyone)
    return ChannelFacts(
        channel.id,
        channel.guild.id,
        voice=isinstance(channel, discord.VoiceChannel | discord.StageChannel),
        age_restricted=channel.nsfw,
        everyone_reads=permissions.view_channel and permissions.read_message_history,
        someone_denied=any(
            overwrite.view_channel is False or overwrite.read_message_history is False
            for target, overwrite in channel.overwrites.items()
            if target.id != everyone.id
        ),
    )
