"""What the Slack adapter needs to be told."""

from dataclasses import dataclass
from typing import Final, TypeAlias

from bot.setting_parsers import Secret, Streaming

PLATFORM: Final = "slack"
"""Sources, and ids of people, begin with it: "slack:T0123", "slack:T0123:U0123"."""


@dataclass(frozen=True, slots=True)
class SocketMode:
    """Events come through sockets that the bot opens: nothing of it has to be reached from outside."""

    app_token: Secret
    """xapp-…, with the scope connections:write."""
    connections: int = 2
    """Open at once; Slack sends each event through any of them. While one is dead and nobody has noticed yet, the other
    goes on, and what was lost comes again through it. Slack allows ten for all processes together."""
    ping_s: float = 5.0
    """How often a socket is tried; one that was silent for four times as long is dead, and replaced."""


@dataclass(frozen=True, slots=True)
class HttpEvents:
    """Events come as requests, each to any of several processes on one database."""

    signing_secret: Secret
    """Of the app's page "Basic Information": whoever does not know it is not Slack."""
    host: str
    port: int
    """Where to listen; what Slack reaches is a balancer or proxy before it, which speaks TLS. 0: any that is free."""
    idle_s: float = 75.0
    """A connection on which no request comes, or only half of its head, is closed after that: a little later than
    balancers let go of theirs, and before somebody can hold them all."""


Delivery: TypeAlias = SocketMode | HttpEvents


@dataclass(frozen=True, slots=True)
class SlackSettings:
    bot_token: Secret
    """xoxb-…, of the app's page "OAuth & Permissions"."""
    delivery: Delivery
    api_base_url: str = "https://slack.com/api"
    allowed_bots: frozenset[str] = frozenset()
    """Ids (B…) of other bots that may talk to this one. Two bots that answer each other never stop."""
    managers: frozenset[str] = frozenset()
    """Ids (S…) of user groups whose members are managers: Slack itself knows none."""
    groups: frozenset[str] = frozenset()
    """Ids (S…) of user groups that the operator's lists name as roles, and…"""
    denied: frozenset[str] = frozenset()
    """… those of them whose members are kept out: where Slack does not tell, everybody counts as one."""
    command_prefix: str = ""
    """What the names of all slash commands begin with, for a workspace in which other apps want them: "cogency-" makes
    them /cogency-ask and so on. The app's manifest must say the same."""
    streaming: Streaming = Streaming.DIRECT

    @property
    def named_groups(self) -> frozenset[str]:
        """Every user group that the bot asks about."""
        return self.managers | self.groups | self.denied
