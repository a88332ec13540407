"""What an operator can choose for Discord, as one frozen value."""

from dataclasses import dataclass
from datetime import timedelta

from bot.setting_parsers import OtherServers, ReplyMode, Secret


@dataclass(frozen=True, slots=True)
class Ranks:
    """Ids of the roles that make somebody an admin, a manager or an employee; see `ranks`."""

    admins: frozenset[str] = frozenset()
    managers: frozenset[str] = frozenset()
    employees: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DiscordSettings:
    """Everything that `serve` needs to know. The addresses move so that it can talk to a server of one's own."""

    token: Secret
    api_base_url: str = "https://discord.com/api/v10"
    gateway_url: str = "wss://gateway.discord.gg"
    reply_mode: ReplyMode = ReplyMode.THREAD
    allowed_bots: frozenset[str] = frozenset()
    """User ids of other bots that may talk with this one; messages of all others are ignored."""
    servers: frozenset[str] = frozenset()
    """Ids of the servers that are the operator's; empty for those that belong to the application's owner."""
    others: OtherServers = OtherServers.REFUSE
    home: frozenset[str] = frozenset()
    """Ids of the servers whose members may write DMs; empty for all that are the operator's."""
    ranks: Ranks = Ranks()
    dm_idle: timedelta = timedelta(hours=6)
    """A direct message after so long a silence begins a conversation: more than a meeting or a meal takes, less than
    a night. What was said before is still found when it is asked about."""
    message_content: bool = True
    """Whether to ask for the text of messages that do not mention the bot."""
    shards: int | None = 1
    """Connections among which the servers are divided; None: as many as Discord recommends, from 2,500 servers on."""
    edit_interval_s: float = 1.02
    """Least time between the starts of two edits in one channel, of which five are counted from a return
    (`gate`). Discord was seen to allow five in five seconds; this is a little less."""
    silence_s: float = 60.0
    """A socket through which nothing came for so long, not even the answer to a heartbeat, is dead, and replaced."""
    servers_s: float = 2.0
    """How long to wait for the next of the bot's servers, of which Discord tells one by one after a login."""
