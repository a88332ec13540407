"""Who may approve calls of others on Discord, and their direct messages about them: `ApproverPlatform` for Discord.

Discord does not list a server's members to bots without a privileged intent. So the owner of the server and people who
have used the bot are asked, as far as they meet the rule; each of them is fetched at that moment.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2s

import discord

from agent.admission_terms import Authority
from agent.approvers import CHANNEL_MANAGER, Approvers
from agent.incoming import Incoming, Person
from agent.memory.audience import GroupAudience, PersonAudience
from bot.chat.approvers import Approver
from bot.chat.commands.declaration import AnyCommand, command_below
from bot.chat.host import Host
from bot.chat.panels import Panel
from bot.chat.reply.surface import PageGone, ReplyAction
from bot.platforms.discord import interactions, objects, panels
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.inbound import DiscordAuthor, ServerStanding
from bot.platforms.discord.members import Members, Servers
from bot.platforms.discord.occurrences import DiscordSchedules, DiscordSilent
from bot.platforms.discord.panels import ButtonPress
from bot.platforms.discord.places import UNREADABLE, Readable, can_read, known_as

NONCE_BYTES = 12  # Discord's limit are 25 characters


@dataclass(frozen=True, slots=True)
class DiscordApprovers:
    client: discord.Client
    host: Host
    members: Members
    servers: Servers
    connection: Connection
    schedules: DiscordSchedules

    async def candidates(self, rule: Approvers, question: Incoming) -> Sequence[str]:  # noqa: ARG002 -- owners meet each
        await self.schedules.until_ready()
        guild = self.client.get_guild(int(question.team)) if question.team.isdecimal() else None
        guilds = self.servers.home_guilds() if guild is None else [guild]
        return [known_as(guild.owner_id) for guild in guilds if guild.owner_id is not None]

    async def approver(self, person: str, rule: Approvers, question: Incoming) -> Approver | None:
        number = person.removeprefix(known_as(""))
        if not number.isdecimal() or (rule.person and rule.person != person):
            return None
        await self.schedules.until_ready()
        try:
            if isinstance(question.place.audience, PersonAudience):
                return await self._anywhere(int(number), rule)
            return await self._in_channel(int(number), rule, question)
        except discord.NotFound:
            return None
        except (discord.InvalidData, *UNREADABLE) as error:
            raise DiscordSilent from error

    async def _anywhere(self, number: int, rule: Approvers) -> Approver | None:
        """Return the person if they meet the rule for what is asked in direct messages, by their rank in the operator's
        servers. Raises DiscordMemberUnknown and UNREADABLE.
        """
        user = await self.client.fetch_user(number)
        author = await self.members.author_now(DiscordAuthor(user.id, user.display_name))
        if user.bot or not _meets(rule, author.standing):
            return None
        return Approver(Person(known_as(number), user.display_name), reads=False)

    async def _in_channel(self, number: int, rule: Approvers, question: Incoming) -> Approver | None:
        """Raises UNREADABLE and InvalidData."""
        audience = question.place.audience
        place = audience.place.removeprefix(known_as("")) if isinstance(audience, GroupAudience) else question.channel
        if not place.isdecimal():
            return None
        channel = self.client.get_channel(int(place)) or await self.client.fetch_channel(int(place))
        if not isinstance(channel, Readable):
            return None
        guild = channel.guild
        if guild.get_role(guild.id) is None or guild.unavailable:  # not loaded yet
            raise DiscordSilent
        member = await guild.fetch_member(number)
        if member.bot:
            return None
        reads = await can_read(channel, member)
        standing = self.members.here(objects.author_of(member)).standing
        may_manage = standing.authority >= Authority.MANAGER or channel.permissions_for(member).manage_channels
        if not (reads and may_manage if rule.who == CHANNEL_MANAGER else _meets(rule, standing)):
            return None
        return Approver(Person(known_as(number), member.display_name), reads)

    async def send(self, person: str, panel: Panel) -> tuple[str, ...]:
        number, rest = person.removeprefix(known_as("")), await self.connection.rest()
        first, more = panels.laid_out(panel, self._command, int(number))
        layouts = [first, *(interactions.layout(interactions.panel_text(text)) for text in more)]
        channel, name = await rest.open_dm(number), panel.actions[0].words if panel.actions else panel.text
        pages = list[str]()
        for at, layout in enumerate(layouts):
            # Discord compares nonces of all channels, and each approver is sent the same words.
            nonce = blake2s(f"{number} {name} {at}".encode(), digest_size=NONCE_BYTES).hexdigest()
            pages.append(f"{channel}/{await rest.send_panel(channel, layout.to_components(), nonce)}")
        return tuple(pages)

    async def find(self, person: str, words: str) -> tuple[str, ...]:
        number, rest = person.removeprefix(known_as("")), await self.connection.rest()
        channel = await rest.open_dm(number)
        button = ButtonPress(int(number), self._command.name, words).id
        found = await rest.with_button(channel, button)
        return (f"{channel}/{found}",) if found else ()

    async def update(self, page: str, text: str) -> None:
        channel, _, message = page.rpartition("/")
        layout = interactions.layout(interactions.panel_text(text))
        rest = await self.connection.rest()
        with suppress(PageGone):  # the person deleted it
            await rest.edit_panel(channel, message, layout.to_components())

    @property
    def _command(self) -> AnyCommand:
        return command_below(self.host.commands, ReplyAction.DECIDE).declared


def _meets(rule: Approvers, standing: ServerStanding) -> bool:
    """Return whether a standing meets the rule. A named person is a member of a server."""
    if rule.person:
        return standing.authority > Authority.STRANGER
    if rule.role:
        return rule.role in standing.roles
    return rule.rank is not None and standing.authority >= rule.rank
