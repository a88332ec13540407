"""Who somebody is: in a server of the bot's as Discord says with what they wrote, elsewhere as those servers say."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import discord
from cachetools import TLRUCache

from agent.admission_terms import Authority
from agent.errors import CogencyError
from agent.ports import Clock
from bot.caches import MAX_ENTRIES, Backoff, OncePerMinute, until_too_old
from bot.host import Choices
from bot.platforms.discord.inbound import STRANGER, DiscordAuthor, ServerStanding
from bot.platforms.discord.objects import standing_of
from bot.platforms.discord.options import DiscordSettings, Ranks
from bot.platforms.discord.places import UNREADABLE
from bot.setting_parsers import OtherServers
from bot.texts import reply_texts, setup_texts

# What an operator's choice of roles makes of somebody's standing in a server. Pure.
#
#     admin       the server's owner, administrators, and the roles named for it
#     manager     the roles named for it; where none is, whoever may manage the server
#     employee    the roles named for it; where none is, every full member of the server
#     guest       every other member
#     stranger    everybody else, as whoever has installed the bot for themselves alone
#
# Rule: what Discord says of somebody is never raised but by a role that they have, and strangers and the server's own
# guests have none that counts.


def ranked(standing: ServerStanding, ranks: Ranks) -> ServerStanding:
    """The standing that Discord's payload gives, with the authority that these roles give instead."""
    return replace(standing, authority=_authority(standing, ranks))


def _authority(standing: ServerStanding, ranks: Ranks) -> Authority:
    told, roles = standing.authority, standing.roles
    if told < Authority.EMPLOYEE or told is Authority.ADMIN:
        return told
    if roles & ranks.admins:
        return Authority.ADMIN
    if roles & ranks.managers or (told is Authority.MANAGER and not ranks.managers):
        return Authority.MANAGER
    return Authority.EMPLOYEE if roles & ranks.employees or not ranks.employees else Authority.GUEST


# Which of the bot's servers are served, and which of them say who somebody is elsewhere.
#
# Whoever has a server of their own can add a public bot to it, and is an admin there. So a server counts only if the
# operator has named it. What becomes of the others is the operator's choice: they are refused, left, or served for
# themselves alone: nobody is anything outside of them because of what they are there.
#
# Where the operator has named none, those count whose owner owns the application, or is of the team that does: Discord
# says who that is, and nobody else can make it so. A bot that is being tried out needs no setting.

MAX_TOLD: Final = 10  # Servers named in one line of the log; whoever adds the bot to hundreds should not fill it


@dataclass(slots=True)
class Servers:
    """`owners`: whose the application is; nobody's before the login."""

    settings: DiscordSettings
    client: discord.Client
    owners: frozenset[int] = field(default_factory=frozenset[int])
    elsewhere: Callable[[int], Awaitable[discord.Guild | None]] | None = None
    """A server to which another process listens. Raises UNREADABLE."""

    def belong_to(self, application: discord.AppInfo | None) -> None:
        """The bot has logged in as this application."""
        self.owners = owners_of(application) if application is not None else frozenset()

    def is_named(self, guild: discord.Guild) -> bool:
        if self.settings.servers:
            return str(guild.id) in self.settings.servers
        return guild.owner_id in self.owners

    def is_home(self, guild: discord.Guild) -> bool:
        """Whether it says who its members are where Discord does not: in direct messages above all."""
        return self.is_named(guild) and (not self.settings.home or str(guild.id) in self.settings.home)

    def home(self) -> list[discord.Guild]:
        return [guild for guild in self.client.guilds if self.is_home(guild)]

    def away(self) -> list[int]:
        """The ids of the named ones that say who somebody is, and that this process does not listen to."""
        named = self.settings.home or self.settings.servers
        here = {str(guild.id) for guild in self.client.guilds}
        return [int(one) for one in sorted(named - here) if one.isdecimal()]

    async def asked_of(self, number: int) -> discord.Guild | None:
        """One of `away`. Raises UNREADABLE."""
        return await self.elsewhere(number) if self.elsewhere is not None else None

    def refuses(self, number: int | None) -> bool:
        """Whether nobody is answered in a server. One of which only its id is known counts by its name alone."""
        if number is None or self.settings.others is OtherServers.SERVE:
            return False
        if self.settings.servers:
            return str(number) not in self.settings.servers
        guild = self.client.get_guild(number)
        return guild is not None and not self.is_named(guild)

    def refuses_use(self, interaction: "discord.Interaction[discord.Client]") -> bool:
        """The same of a command or a button; what its person alone has installed is theirs wherever they are."""
        by_person = interaction.is_user_integration() and not interaction.is_guild_integration()
        return not by_person and (self.refuses(interaction.guild_id) or self._has_commands_only(interaction.guild_id))

    def _has_commands_only(self, number: int | None) -> bool:
        """Whether a server that nobody has named has added the commands without the bot: nothing says who owns it."""
        if number is None or self.settings.servers or self.settings.others is OtherServers.SERVE:
            return False
        return self.client.get_guild(number) is None

    def others(self, guilds: Sequence[discord.Guild]) -> list[discord.Guild]:
        """Those of these that are not named."""
        return [guild for guild in guilds if not self.is_named(guild)]


def owners_of(application: discord.AppInfo) -> frozenset[int]:
    """The application's owner, or the members of its team; whoever was only invited to it is none."""
    team = application.team
    if team is None:
        return frozenset({application.owner.id})
    accepted = discord.TeamMembershipState.accepted
    return frozenset(member.id for member in team.members if member.membership_state is accepted)


def refusal(guild: int) -> str:
    """What somebody reads who asks in a server that is not served."""
    return reply_texts.SERVER_NOT_SERVED.format(guild=guild)


def refused_line(others: Sequence[discord.Guild], *, left: bool) -> str:
    """What the log says of servers that are not named."""
    named = ", ".join(f"{guild.name!r} ({guild.id})" for guild in others[:MAX_TOLD])
    more = f" and {len(others) - MAX_TOLD} more" if len(others) > MAX_TOLD else ""
    done = setup_texts.LEAVES_THEM if left else setup_texts.ANSWERS_NOBODY
    return setup_texts.SERVERS_NOT_SERVED.format(done=done, named=named + more)


ZONE: Final = "zone"  # A person's choice: their time zone, by its IANA name. Discord tells none.


async def zone_chosen(choices: Choices, person: str) -> str:
    """The time zone that somebody (by their full id) chose; "" for none. Raises StoreError."""
    return (await choices.of(person)).get(ZONE, "")


log = logging.getLogger(__name__)

MAX_SERVERS: Final = 5  # One request each, while somebody waits
PATIENCE_S: Final = 2.0  # For all of them: Discord takes the answer to a command for three seconds
COMMAND_PATIENCE_S: Final = 120.0  # A command says "is thinking" meanwhile; nobody looks at that for longer


class DiscordMemberUnknown(CogencyError):
    """Discord does not say who somebody is, which may pass: unknown is not no, so what they ask waits."""

    def __init__(self) -> None:
        super().__init__(reply_texts.DISCORD_WHO)


@dataclass(slots=True)
class Members:
    """Rules. Of who writes in a DM, a group message or a server that the bot is not in Discord says nothing: the
    operator's servers are asked, a few at most, and what they say is remembered for a minute. Whoever is not found
    there is a stranger; while a server does not answer, and no other knows them, nothing is known of them. The
    operator's roles count everywhere. Where it is read is another question: this says nothing of it.
    """

    servers: Servers
    clock: Clock
    ranks: Ranks = field(default_factory=Ranks)
    _logged: OncePerMinute = field(default_factory=OncePerMinute)
    _known: TLRUCache[int, tuple[float, ServerStanding], float] = field(init=False)

    def __post_init__(self) -> None:
        self._known = TLRUCache(MAX_ENTRIES, until_too_old, self.clock.monotonic)

    async def author(self, author: DiscordAuthor) -> DiscordAuthor:
        """The author with the standing that counts; whom Discord calls a stranger there may be a member elsewhere.

        Raises MemberUnknown.
        """
        here = author.standing
        if here.authority is Authority.STRANGER and (found := await self._standing(author.id)) != STRANGER:
            return replace(author, standing=ranked(found, self.ranks))
        return self.here(author)

    async def author_now(self, author: DiscordAuthor) -> DiscordAuthor:
        """The same for somebody of whom nothing is told, as the servers say at this moment."""
        self._known.pop(author.id, None)
        return await self.author(replace(author, standing=STRANGER))

    async def author_retrying(self, author: DiscordAuthor) -> DiscordAuthor:
        """The same for a command or a button, which is delivered once: asked again while somebody waits."""
        backoff, until = Backoff(), self.clock.monotonic() + COMMAND_PATIENCE_S
        while True:
            try:
                return await self.author(author)
            except DiscordMemberUnknown:
                pause = backoff.failed()
                if self.clock.monotonic() + pause > until:
                    raise
                await self.clock.sleep(pause)

    def here(self, author: DiscordAuthor) -> DiscordAuthor:
        """The author with what they are where they write, whatever they are elsewhere."""
        return replace(author, standing=ranked(author.standing, self.ranks))

    async def _standing(self, person: int) -> ServerStanding:
        """Their highest in these servers, by Discord's word alone. Raises MemberUnknown."""
        if (known := self._known.get(person)) is not None:
            return known[1]
        asked_at = self.clock.monotonic()
        found, asked_all = await self._look_for(person)
        if asked_all:
            self._known[person] = asked_at, found
        elif found == STRANGER:
            raise DiscordMemberUnknown
        return found

    async def _look_for(self, person: int) -> tuple[ServerStanding, bool]:
        """Their highest, and whether every server has said what they are there."""
        best, asked_all = STRANGER, True
        try:
            async with asyncio.timeout(PATIENCE_S):
                for server in [*self.servers.home(), *self.servers.away()][:MAX_SERVERS]:
                    try:
                        guild = await self.servers.asked_of(server) if isinstance(server, int) else server
                        if guild is None:
                            continue
                        found = standing_of(await guild.fetch_member(person))
                    except discord.NotFound:
                        continue
                    except UNREADABLE as error:
                        self._log(server, error)
                        asked_all = False
                        continue
                    best = max(best, found, key=lambda standing: ranked(standing, self.ranks).authority)
        except TimeoutError:
            asked_all = False
        return best, asked_all

    def _log(self, server: discord.Guild | int, error: Exception) -> None:
        number, name = (server, str(server)) if isinstance(server, int) else (server.id, server.name)
        cause = f"{number} {type(error).__name__}"
        if (more := self._logged.due(cause, self.clock.monotonic())) is not None:
            log.warning("Discord does not say who is a member of %r, so questions wait: %s%s", name, error, more)
