"""Which of the bot's servers are served, and which of them say who somebody is elsewhere.

Whoever has a server of their own can add a public bot to it, and is an admin there. So a server counts only if the
operator has named it. What becomes of the others is the operator's choice: they are refused, left, or served for
themselves alone: nobody is anything outside of them because of what they are there.

Where the operator has named none, those count whose owner owns the application, or is of the team that does: Discord
says who that is, and nobody else can make it so. A bot that is being tried out needs no setting.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import discord

from bot.platforms.discord.settings import DiscordSettings, OtherServers

MAX_TOLD: Final = 10
"""Servers named in one line of the log; whoever adds the bot to hundreds should not fill it."""


@dataclass(slots=True)
class Servers:
    """`owners`: whose the application is; nobody's before the login."""

    settings: DiscordSettings
    client: discord.Client
    owners: frozenset[int] = field(default_factory=frozenset[int])

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
    return (
        "I am not set up for this server; please ask whoever runs me to add it "
        f"(its id is {guild}, the setting COGENCY_DISCORD_SERVERS)."
    )


def refused_line(others: Sequence[discord.Guild], *, left: bool) -> str:
    """What the log says of servers that are not named."""
    named = ", ".join(f"{guild.name!r} ({guild.id})" for guild in others[:MAX_TOLD])
    more = f" and {len(others) - MAX_TOLD} more" if len(others) > MAX_TOLD else ""
    done = "I leave them" if left else "I answer nobody there"
    return (
        f"Discord: not among the servers that I serve, so {done}: {named}{more}. To serve one, add its id to "
        "COGENCY_DISCORD_SERVERS; to keep others from adding me, switch “Public Bot” off in the developer portal."
    )
