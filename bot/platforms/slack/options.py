"""What the Slack adapter needs to be told, and what the bot can be in Slack, feature by feature. Pure."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Self, TypeAlias, TypeVar

from agent.errors import CogencyError
from bot.access.budgets import Budget
from bot.setting_parsers import Secret, Streaming

PLATFORM: Final = "slack"  # Sources, and ids of people, begin with it: "slack:T0123", "slack:T0123:U0123"


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


REFUSED_TOKEN: Final = frozenset({"invalid_auth", "token_expired", "token_revoked"})


class RotatingToken(Secret):
    """A bot token that ends within hours, and is replaced while its app is served.

    `look`: the one that counts now; "" for none. It raises CogencyError where that cannot be told.
    """

    __slots__ = ("_look",)

    def __init__(self, value: str, look: Callable[[], Awaitable[str]]) -> None:
        super().__init__(value)
        self._look = look

    def replace(self, value: str) -> None:
        self._value = value

    async def is_newer_than(self, refused: str, code: str) -> bool:
        """Whether another one than this, which Slack did not take, counts now. `code`: Slack's word for why."""
        if code not in REFUSED_TOKEN:
            return False
        with suppress(CogencyError):
            if self._value == refused and (newest := await self._look()):
                self._value = newest
        return self._value != refused


@dataclass(frozen=True, slots=True)
class SlackApp:
    """One app, in the one workspace that its bot token is of: what it takes to be it. Nothing here holds for another.

    `name`: what the operator calls it, in small letters; "" for the only one, which the environment describes.
    """

    bot_token: Secret
    """xoxb-…, of the app's page "OAuth & Permissions"."""
    delivery: Delivery
    name: str = ""
    app_id: str = ""
    """A…; over HTTP, several apps at one address are told apart by it."""
    command_prefix: str = ""
    """What the names of all slash commands begin with, for a workspace in which other apps want them: "cogency-" makes
    them /cogency-ask and so on. The app's manifest must say the same."""
    managers: frozenset[str] = frozenset()
    """Ids (S…) of user groups of its workspace whose members are managers, besides those of `SlackSettings`."""
    file: str = ""
    """Where it is described, for whoever has to change that; "" for the environment."""
    budget: Budget | None = None
    """What its workspace may spend in a day, if that is not the usual."""
    team: str = ""
    """T…, where it was installed by its page, as in other workspaces: it is brought what is of this one alone."""

    @property
    def label(self) -> str:
        """What people are shown: "Slack", or "Slack acme"."""
        return f"Slack {self.name}".rstrip()

    @property
    def known_as(self) -> str:
        """Its name where platforms have one, as in metrics and for troubles: "slack", or "slack:acme"."""
        return f"{PLATFORM}:{self.name}" if self.name else PLATFORM

    def setting(self, variable: str) -> str:
        """How the operator finds what SLACK_… would be: the variable itself, or the app's own key and file."""
        if not self.name:
            return variable
        return f"{variable.removeprefix('SLACK_').lower()} of the app {self.name} in {self.file or 'the database'}"


@dataclass(frozen=True, slots=True)
class Distribution:
    """An app that other workspaces install by themselves. `address`: by which Slack and browsers reach the bot."""

    client_id: str
    client_secret: Secret
    address: str
    delivery: HttpEvents
    installers: frozenset[str] = frozenset()
    """Ids of workspaces (T…) and organizations (E…) that may; "*" for everybody; none for nobody."""
    command_prefix: str = ""
    scopes: tuple[str, ...] = ()
    """What the bot is to be let do there."""


@dataclass(frozen=True, slots=True)
class SlackSettings:
    """What holds for every app that is served."""

    api_base_url: str = "https://slack.com/api"
    allowed_bots: frozenset[str] = frozenset()
    """Ids (B…) of other bots that may talk to this one. Two bots that answer each other never stop."""
    managers: frozenset[str] = frozenset()
    """Ids (S…) of user groups whose members are managers: Slack itself knows none."""
    groups: frozenset[str] = frozenset()
    """Ids (S…) of user groups that the operator's lists name as roles, and…"""
    denied: frozenset[str] = frozenset()
    """… those of them whose members are kept out: where Slack does not tell, everybody counts as one."""
    streaming: Streaming = Streaming.DIRECT

    @property
    def named_groups(self) -> frozenset[str]:
        """Every user group that the bot asks about."""
        return self.managers | self.groups | self.denied

    def of(self, app: SlackApp) -> "SlackSettings":
        """The same, with what this app adds."""
        return replace(self, managers=self.managers | app.managers)


# What each feature needs of Slack: methods, events and scopes.
#
# Rules
# - Every call names its `Method`, and every event that is read stands here: the manifest asks for what the code needs.
# - A method or an event that no feature claims belongs to the bot itself, and is always needed.
# - A feature that is left out costs nothing but itself: what needs it is refused by Slack, and said in one sentence.

T = TypeVar("T")

_HISTORY = ("channels:history", "groups:history", "im:history", "mpim:history")


class Method(StrEnum):
    """Its name, how it is called (one that only reads takes no JSON), and the scopes that it needs."""

    verb: str
    scopes: tuple[str, ...]

    def __new__(cls, name: str, verb: str, *scopes: str) -> Self:
        method = str.__new__(cls, name)
        method._value_, method.verb, method.scopes = name, verb, scopes
        return method

    AUTH_TEST = "auth.test", "POST"
    OPEN_CONNECTION = "apps.connections.open", "POST"  # the app-level token has its own, connections:write
    REVOKE = "auth.revoke", "POST"
    OAUTH_ACCESS = "oauth.v2.access", "POST"  # by the client of a distributed app, without a token
    POST = "chat.postMessage", "POST", "chat:write"
    POST_EPHEMERAL = "chat.postEphemeral", "POST", "chat:write"
    UPDATE = "chat.update", "POST", "chat:write"
    DELETE = "chat.delete", "POST", "chat:write"
    START_STREAM = "chat.startStream", "POST", "chat:write"
    APPEND_STREAM = "chat.appendStream", "POST", "chat:write"
    STOP_STREAM = "chat.stopStream", "POST", "chat:write"
    SET_STATUS = "assistant.threads.setStatus", "POST", "chat:write"
    SUGGEST_PROMPTS = "assistant.threads.setSuggestedPrompts", "POST", "assistant:write"
    SET_SESSION = "agents.sessions.setStatus", "POST", "chat:write"
    RENAME_SESSION = "agents.sessions.rename", "POST", "chat:write"
    USER = "users.info", "GET", "users:read"
    USERS = "users.list", "GET", "users:read"
    CHANNEL = "conversations.info", "GET", "channels:read", "groups:read", "mpim:read"  # never asked about a DM
    MEMBERS = "conversations.members", "GET", "channels:read", "groups:read", "mpim:read"  # never asked about a DM
    OPEN = "conversations.open", "POST", "im:write"  # without it words for one person alone cannot be edited
    CONVERSATIONS = "users.conversations", "GET", "channels:read", "groups:read", "im:read", "mpim:read"
    REPLIES = "conversations.replies", "GET", *_HISTORY
    HISTORY = "conversations.history", "GET", *_HISTORY
    OPEN_VIEW = "views.open", "POST"
    PUBLISH_VIEW = "views.publish", "POST"
    FILE = "files.info", "GET", "files:read"
    DELETE_FILE = "files.delete", "POST", "files:write"
    UPLOAD_URL = "files.getUploadURLExternal", "GET", "files:write"
    COMPLETE_UPLOAD = "files.completeUploadExternal", "POST", "files:write"
    GROUP_MEMBERS = "usergroups.users.list", "GET", "usergroups:read"
    BOT = "bots.info", "GET", "users:read"
    SEARCH = "assistant.search.context", "POST", "search:read.files", "search:read.public", "search:read.users"
    EXPORT_MANIFEST = "apps.manifest.export", "POST"  # an app configuration token has its own, app_configurations:read


EVENT_SCOPES: Final[Mapping[str, str]] = {
    "agent_session_stopped": "chat:write",
    "agent_session_title_changed": "chat:write",
    "app_context_changed": "assistant:write",
    "app_home_opened": "",  # needs none
    "app_mention": "app_mentions:read",
    "app_uninstalled": "",  # needs none
    "channel_deleted": "channels:read",
    "channel_shared": "channels:read",
    "group_deleted": "groups:read",
    "message.channels": "channels:history",
    "message.groups": "groups:history",
    "message.im": "im:history",
    "message.mpim": "mpim:history",
    "reaction_added": "reactions:read",
    "reaction_removed": "reactions:read",
    "tokens_revoked": "",  # needs none
}


class SlackFeature(StrEnum):
    AGENT = "agent"
    """The agent's surface: prompts, titles, the Stop button, what the person looks at."""
    HOME = "home"
    """The Home tab: one's memory, budget and settings."""
    COMMANDS = "commands"
    SHORTCUTS = "shortcuts"
    FILES = "files"
    """Files both ways: those that people attach, and long results."""
    REACTIONS = "reactions"
    """Thumbs on a reply as feedback."""
    GROUPS = "groups"
    """User groups as managers and as roles."""
    SEARCH = "search"
    """Slack's own search of the public channels, for who asks in a message."""


EVERYTHING: Final = frozenset(SlackFeature)

_METHODS: Final[Mapping[SlackFeature, frozenset[Method]]] = {
    SlackFeature.AGENT: frozenset({Method.SUGGEST_PROMPTS, Method.SET_SESSION, Method.RENAME_SESSION}),
    SlackFeature.FILES: frozenset({Method.FILE, Method.UPLOAD_URL, Method.COMPLETE_UPLOAD, Method.DELETE_FILE}),
    SlackFeature.GROUPS: frozenset({Method.GROUP_MEMBERS}),
    SlackFeature.HOME: frozenset({Method.PUBLISH_VIEW}),
    SlackFeature.SEARCH: frozenset({Method.SEARCH}),
}
_EVENTS: Final[Mapping[SlackFeature, frozenset[str]]] = {
    SlackFeature.AGENT: frozenset(
        {"agent_session_stopped", "agent_session_title_changed", "app_context_changed", "app_home_opened"}
    ),
    SlackFeature.HOME: frozenset({"app_home_opened"}),
    SlackFeature.REACTIONS: frozenset({"reaction_added", "reaction_removed"}),
}
# What is neither a method's nor an event's.
_SCOPES: Final[Mapping[SlackFeature, frozenset[str]]] = {
    SlackFeature.COMMANDS: frozenset({"commands"}),
    SlackFeature.SHORTCUTS: frozenset({"commands"}),
    SlackFeature.FILES: frozenset({"files:read"}),
}


def wanted(settings: SlackSettings) -> frozenset[SlackFeature]:
    """Everything but what these settings do not use."""
    return EVERYTHING if settings.named_groups else EVERYTHING - {SlackFeature.GROUPS}


def events(features: Collection[SlackFeature]) -> frozenset[str]:
    """Those that the app subscribes to."""
    return frozenset(EVENT_SCOPES) - _left_out(_EVENTS, features)


def scopes(features: Collection[SlackFeature]) -> frozenset[str]:
    """Everything that the bot token needs for these, and nothing else."""
    methods = frozenset(Method) - _left_out(_METHODS, features)
    of_methods = (scope for method in methods for scope in method.scopes)
    of_events = (EVENT_SCOPES[event] for event in events(features))
    own = (scope for feature in features for scope in _SCOPES.get(feature, ()))
    return frozenset(filter(None, (*of_methods, *of_events, *own)))


def optional_scopes(features: Collection[SlackFeature]) -> frozenset[str]:
    """Those of them that an admin may refuse at the installation: what needs them is then not offered."""
    return frozenset(Method.SEARCH.scopes) & scopes(features)


def needing(scope: str) -> frozenset[SlackFeature]:
    """The features that do not work without this scope; none for one that the bot itself needs, or nothing does."""
    if scope in scopes(()):
        return frozenset()
    return frozenset(feature for feature in SlackFeature if scope in scopes({feature}))


def _left_out(claims: Mapping[SlackFeature, frozenset[T]], features: Collection[SlackFeature]) -> frozenset[T]:
    """What only features that were not chosen claim."""
    chosen = {one for feature in features for one in claims.get(feature, ())}
    return frozenset(one for ones in claims.values() for one in ones) - chosen
