"""A person's standing: in a server of the bot's from the message's payload, elsewhere from the operator's servers."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import discord
from cachetools import TLRUCache

from agent.admission_terms import Authority
from agent.errors import CogencyError
from agent.ports.clock import Clock
from agent.ports.preferences import Preferences
from bot.chat.backoff import Backoff, OncePerMinute
from bot.chat.caches import MAX_ENTRIES, SingleFlight, until_too_old
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.inbound import STRANGER, DiscordAuthor, ServerStanding
from bot.platforms.discord.objects import standing_of
from bot.platforms.discord.options import DiscordOptions, Ranks
from bot.platforms.discord.places import UNREADABLE
from bot.platforms.discord.settings import OtherServers

# The operator's mapping of roles to authorities. Pure.
#
#     admin       the server's owner, administrators, and the roles named for it
#     manager     the roles named for it; if none is named, members with the Manage Server permission
#     employee    the roles named for it; if none is named, every full member of the server
#     guest       every other member
#     stranger    all others, for example a person who has installed the bot for themselves only
#
# Rule: only a role can raise the authority that Discord's payload gives, and the roles of strangers and of the server's
# guests do not count.


def ranked(standing: ServerStanding, ranks: Ranks) -> ServerStanding:
    """Return the standing of Discord's payload with the authority that these roles give instead."""
    return replace(standing, authority=_authority(standing, ranks))


def _authority(standing: ServerStanding, ranks: Ranks) -> Authority:
    authority, roles = standing.authority, standing.roles
    if authority < Authority.EMPLOYEE or authority is Authority.ADMIN:
        return authority
    if roles & ranks.admins:
        return Authority.ADMIN
    if roles & ranks.managers or (authority is Authority.MANAGER and not ranks.managers):
        return Authority.MANAGER
    return Authority.EMPLOYEE if roles & ranks.employees or not ranks.employees else Authority.GUEST


# Which servers the bot serves, and which of them decide who a person is elsewhere.
#
# Any owner of a server can add a public bot to it, and is an admin there. So a server counts only if the operator has
# named it. The operator chooses what happens in others: they are refused, left, or served in isolation: standing there
# gives none elsewhere.
#
# If the operator has named none, the servers count that belong to the application's owner or a member of its team:
# Discord reports that, and no other person can fake it. A bot under trial needs no setting.

MAX_LISTED: Final = 10  # Servers named in one log line: a bot that is added to hundreds must not fill the log


@dataclass(slots=True)
class Servers:
    """`owners`: the user ids of the application's owners; empty before the login."""

    settings: DiscordOptions
    client: discord.Client
    owners: frozenset[int] = field(default_factory=frozenset[int])
    elsewhere: Callable[[int], Awaitable[discord.Guild | None]] | None = None
    """Returns a server that another process serves. Raises UNREADABLE."""
    are_loaded: Callable[[], bool] = lambda: True
    """Returns whether it is known which servers this process serves."""

    def set_application(self, application: discord.AppInfo | None) -> None:
        """Set the application that the bot has logged in as."""
        self.owners = owners_of(application) if application is not None else frozenset()

    def is_named(self, guild: discord.Guild) -> bool:
        if self.settings.servers:
            return str(guild.id) in self.settings.servers
        return guild.owner_id in self.owners

    def is_home(self, guild: discord.Guild) -> bool:
        """Return whether the server decides who its members are where Discord does not say, as in DMs."""
        return self.is_named(guild) and (not self.settings.home or str(guild.id) in self.settings.home)

    def are_known(self) -> bool:
        """Return whether all home servers are known. Without names their owners decide, whom Discord reports only with
        each server, after the connection: messages may arrive before that, or be handled after the connection's loss.
        """
        if self.settings.servers:
            return True
        return self.are_loaded() and not any(guild.owner_id is None for guild in self.client.guilds)

    def is_unknown(self, number: int | None) -> bool:
        """Return whether Discord has not yet reported who owns a server, and that decides whether it is served."""
        if number is None or self.settings.servers or self.settings.chosen.other_servers is OtherServers.SERVE:
            return False
        guild = self.client.get_guild(number)
        return guild is not None and guild.owner_id is None

    def home_guilds(self) -> list[discord.Guild]:
        return [guild for guild in self.client.guilds if self.is_home(guild)]

    def remote_ids(self) -> list[int]:
        """Return the ids of named home servers that this process does not serve."""
        named = self.settings.home or self.settings.servers
        local = {str(guild.id) for guild in self.client.guilds}
        return [int(server) for server in sorted(named - local) if server.isdecimal()]

    async def fetch_remote(self, number: int) -> discord.Guild | None:
        """Return one of `remote_ids`. Raises UNREADABLE."""
        return await self.elsewhere(number) if self.elsewhere is not None else None

    def refuses(self, number: int | None) -> bool:
        """Return whether the bot does not answer in a server. A server that is not loaded is judged by its id only."""
        if number is None or self.settings.chosen.other_servers is OtherServers.SERVE:
            return False
        if self.settings.servers:
            return str(number) not in self.settings.servers
        guild = self.client.get_guild(number)
        return guild is not None and not self.is_named(guild)

    def refuses_use(self, interaction: "discord.Interaction[discord.Client]") -> bool:
        """Return whether it refuses an interaction there; a person's own installation works everywhere."""
        by_person = interaction.is_user_integration() and not interaction.is_guild_integration()
        return not by_person and (self.refuses(interaction.guild_id) or self._has_commands_only(interaction.guild_id))

    def _has_commands_only(self, number: int | None) -> bool:
        """Return whether an unnamed server has installed the commands without the bot: its owner is then unknown."""
        if number is None or self.settings.servers or self.settings.chosen.other_servers is OtherServers.SERVE:
            return False
        return self.client.get_guild(number) is None

    def others(self, guilds: Sequence[discord.Guild]) -> list[discord.Guild]:
        """Return those of these servers that are not named, as far as Discord has reported their owners."""
        return [guild for guild in guilds if not self.is_named(guild) and not self.is_unknown(guild.id)]


def owners_of(application: discord.AppInfo) -> frozenset[int]:
    """Return the ids of the application's owner or of its team's members; pending invitations do not count."""
    team = application.team
    if team is None:
        return frozenset({application.owner.id})
    accepted = discord.TeamMembershipState.accepted
    return frozenset(member.id for member in team.members if member.membership_state is accepted)


def refusal(guild: int) -> str:
    """Return the notice for a question in a server that is not served."""
    return platforms_texts.SERVER_NOT_SERVED.format(guild=guild)


def refused_line(others: Sequence[discord.Guild], *, left: bool) -> str:
    """Return the log line about servers that are not named."""
    names = ", ".join(f"{guild.name!r} ({guild.id})" for guild in others[:MAX_LISTED])
    more = f" and {len(others) - MAX_LISTED} more" if len(others) > MAX_LISTED else ""
    action = platforms_texts.LEAVES_THEM if left else platforms_texts.ANSWERS_NOBODY
    return platforms_texts.SERVERS_NOT_SERVED.format(done=action, named=names + more)


ZONE: Final = "zone"  # A person's choice: the IANA name of their time zone, which Discord does not report


async def zone_chosen(choices: Preferences, person: str) -> str:
    """Return the time zone that a person (by their full id) chose; "" for none. Raises StoreError."""
    return (await choices.all_of(person)).get(ZONE, "")


log = logging.getLogger(__name__)

MAX_SERVERS: Final = 5  # One request each, while a person waits
PATIENCE_S: Final = 2.0  # For all of them: Discord accepts the response to a command for three seconds
COMMAND_PATIENCE_S: Final = 120.0  # A command shows "is thinking" meanwhile; a longer wait is pointless


class DiscordMemberUnknown(CogencyError):
    """Discord cannot currently say who a person is. Unknown is not a no: their question waits."""

    def __init__(self) -> None:
        super().__init__(platforms_texts.DISCORD_WHO)


@dataclass(slots=True)
class Members:
    """Resolves the standing of authors.

    Rules. For authors in a DM, a group message or a server without the bot, Discord reports no standing: a few of the
    operator's servers are asked, and the answer is cached for a minute. A person who is not found there is a stranger;
    but while a server does not respond or is not yet known, and no other knows them, their standing is unknown. The
    operator's roles count everywhere. Where an answer is read is decided elsewhere.
    """

    servers: Servers
    clock: Clock
    ranks: Ranks = field(default_factory=Ranks)
    _logged: OncePerMinute = field(default_factory=OncePerMinute)
    _flights: SingleFlight[tuple[ServerStanding, bool]] = field(
        default_factory=SingleFlight[tuple[ServerStanding, bool]]
    )
    _known: TLRUCache[int, tuple[float, ServerStanding], float] = field(init=False)

    def __post_init__(self) -> None:
        self._known = TLRUCache(MAX_ENTRIES, until_too_old, self.clock.monotonic)

    async def author(self, author: DiscordAuthor) -> DiscordAuthor:
        """Return the author with the standing that counts: a stranger in one place may be a member elsewhere.

        Raises DiscordMemberUnknown.
        """
        standing = author.standing
        if standing.authority is Authority.STRANGER and (found := await self._standing(author.id)) != STRANGER:
            return replace(author, standing=ranked(found, self.ranks))
        return self.here(author)

    async def author_now(self, author: DiscordAuthor) -> DiscordAuthor:
        """Return the author with a standing fetched from the servers now. Raises DiscordMemberUnknown."""
        self._known.pop(author.id, None)
        self._flights.drop(author.id)
        return await self.author(replace(author, standing=STRANGER))

    async def author_retrying(self, author: DiscordAuthor) -> DiscordAuthor:
        """`author` for a command or button, which is delivered once: retries while the user waits."""
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
        """Return the author with their standing where they write, ignoring other servers."""
        return replace(author, standing=ranked(author.standing, self.ranks))

    async def _standing(self, person: int) -> ServerStanding:
        """Return the person's highest standing in these servers, by Discord's payload. Raises DiscordMemberUnknown."""
        if (cached := self._known.get(person)) is not None:
            return cached[1]
        found, all_responded = await self._flights.load(person, partial(self._ask, person))
        if not all_responded and found == STRANGER:
            raise DiscordMemberUnknown
        return found

    async def _ask(self, person: int) -> tuple[ServerStanding, bool]:
        asked_at = self.clock.monotonic()
        found, all_responded = await self._look_for(person)
        if all_responded:
            self._known[person] = asked_at, found
        return found, all_responded

    async def _look_for(self, person: int) -> tuple[ServerStanding, bool]:
        """Return the person's highest standing, and whether every server responded."""
        best, all_responded = STRANGER, self.servers.are_known()
        try:
            async with asyncio.timeout(PATIENCE_S):
                for server in [*self.servers.home_guilds(), *self.servers.remote_ids()][:MAX_SERVERS]:
                    try:
                        found = await self._standing_in(server, person)
                    except UNREADABLE as error:
                        self._log(server, error)
                        all_responded = False
                        continue
                    if found is not None:
                        best = max(best, found, key=lambda standing: ranked(standing, self.ranks).authority)
        except TimeoutError:
            all_responded = False
        return best, all_responded

    async def _standing_in(self, server: discord.Guild | int, person: int) -> ServerStanding | None:
        """Return the person's standing in a server; None if they are no member. Raises UNREADABLE."""
        try:
            guild = await self.servers.fetch_remote(server) if isinstance(server, int) else server
            return None if guild is None else standing_of(await guild.fetch_member(person))
        except discord.NotFound:
            return None

    def _log(self, server: discord.Guild | int, error: Exception) -> None:
        number, name = (server, str(server)) if isinstance(server, int) else (server.id, server.name)
        cause = f"{number} {type(error).__name__}"
        if (more := self._logged.due(cause, self.clock.monotonic())) is not None:
            log.warning("Discord does not report the members of %r, so questions wait: %s%s", name, error, more)
