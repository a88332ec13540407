"""The Slack adapter's settings, and what each feature needs of Slack: methods, events and scopes. Pure."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Self, TypeAlias, TypeVar

from agent.errors import CogencyError
from bot.platforms.slack.settings import SlackSettings
from bot.settings.secret import Secret

PLATFORM: Final = "slack"  # Sources, and ids of people, begin with it: "slack:T0123", "slack:T0123:U0123"


@dataclass(frozen=True, slots=True)
class SocketMode:
    """Events arrive through sockets that the bot opens: it need not be reachable from outside."""

    app_token: Secret  # xapp-…, with the scope connections:write
    # Open at once; Slack sends each event through one of them. If one dies unnoticed, Slack sends its events again
    # through the other. Slack allows ten for all processes together.
    connections: int = 2
    ping_s: float = 5.0  # Between pings; a socket that was silent for four times as long is dead, and replaced


@dataclass(frozen=True, slots=True)
class HttpEvents:
    """Events arrive as requests, each at any of several processes on one database."""

    signing_secret: Secret  # From the app's page "Basic Information"; it proves that a request is Slack's
    host: str
    port: int  # Slack reaches a load balancer or proxy before it, which speaks TLS. 0: any free port
    # A connection without a complete request head is closed after that: a little later than load balancers close
    # theirs, and soon enough that one client cannot hold all of them.
    idle_s: float = 75.0


Delivery: TypeAlias = SocketMode | HttpEvents


REFUSED_TOKEN: Final = frozenset({"invalid_auth", "token_expired", "token_revoked"})


class RotatingToken(Secret):
    """A bot token that expires within hours, and is replaced while its app is served.

    `read_current` returns the stored token; "" for none. It may raise CogencyError.
    """

    __slots__ = ("_read_current",)

    def __init__(self, value: str, read_current: Callable[[], Awaitable[str]]) -> None:
        super().__init__(value)
        self._read_current = read_current

    def replace(self, value: str) -> None:
        self._value = value

    async def is_newer_than(self, refused: str, code: str) -> bool:
        """Whether there is another token than `refused`, which Slack refused with the error `code`."""
        if code not in REFUSED_TOKEN:
            return False
        with suppress(CogencyError):
            if self._value == refused and (current := await self._read_current()):
                self._value = current
        return self._value != refused


@dataclass(frozen=True, slots=True)
class SlackApp:
    """The settings of one app, in the one workspace of its bot token.

    `name`: in lower case; "" for the only app, which the environment describes.
    """

    bot_token: Secret  # xoxb-…, from the app's page "OAuth & Permissions"
    delivery: Delivery
    name: str = ""
    app_id: str = ""  # A…; over HTTP it distinguishes several apps at one address
    # The names of all slash commands begin with it, for a workspace in which other apps use them: "cogency-" makes them
    # /cogency-ask and so on. The app's manifest must say the same.
    command_prefix: str = ""
    # Ids (S…) of user groups of its workspace whose members are managers, besides those of `SlackOptions`.
    managers: frozenset[str] = frozenset()
    file: str = ""  # The file that describes it, for error messages; "" for the environment
    team: str = ""  # T…, if the workspace installed the app by its page: only its requests are routed to this app

    @property
    def label(self) -> str:
        """The name for people: "Slack", or "Slack acme"."""
        return f"Slack {self.name}".rstrip()

    @property
    def known_as(self) -> str:
        """The name as a platform, in metrics and health reports: "slack", or "slack:acme"."""
        return f"{PLATFORM}:{self.name}" if self.name else PLATFORM

    def setting(self, variable: str) -> str:
        """Return how an operator finds the setting SLACK_…: the variable itself, or the app's own key and file."""
        if not self.name:
            return variable
        return f"{variable.removeprefix('SLACK_').lower()} of the app {self.name} in {self.file or 'the database'}"


@dataclass(frozen=True, slots=True)
class Distribution:
    """An app that other workspaces install by themselves. `address`: the URL at which Slack and browsers reach it."""

    client_id: str
    client_secret: Secret
    address: str
    delivery: HttpEvents
    installers: frozenset[str] = frozenset()  # Ids of workspaces (T…) and organizations (E…) that may; "*" for all
    command_prefix: str = ""
    scopes: tuple[str, ...] = ()  # That the app asks for


@dataclass(frozen=True, slots=True)
class SlackOptions:
    """The settings of all apps."""

    api_base_url: str = "https://slack.com/api"
    # Ids (B…) of other bots that may talk to this one. Two bots that answer each other never stop.
    allowed_bots: frozenset[str] = frozenset()
    managers: frozenset[str] = frozenset()  # Ids (S…) of user groups whose members are managers: Slack has no such role
    groups: frozenset[str] = frozenset()  # Ids (S…) of user groups that the operator's lists name as roles
    # Those of them whose members are kept out. If Slack does not list the members, every person counts as one.
    denied: frozenset[str] = frozenset()
    acts: bool = False  # Whether the bot may act for the people who ask
    chosen: SlackSettings = field(default_factory=SlackSettings)
    """The operator's settings for Slack as they are. A setting that depends on no other is read here."""

    @property
    def named_groups(self) -> frozenset[str]:
        """All user groups whose members are read."""
        return self.managers | self.groups | self.denied

    def of(self, app: SlackApp) -> "SlackOptions":
        """Return the settings with what this app adds."""
        return replace(self, managers=self.managers | app.managers)


# What each feature needs of Slack: methods, events and scopes.
#
# Rules
# - Every call names its `Method`, and every event that is read is listed here: the manifest asks for what the code
#   needs.
# - A method or an event that no feature claims belongs to the bot itself, and is always needed.
# - Without a feature, the rest works: Slack refuses its calls, and the user reads one sentence.

T = TypeVar("T")

_HISTORY = ("channels:history", "groups:history", "im:history", "mpim:history")


class Method(StrEnum):
    """A method of the Web API: its name, its HTTP verb (a GET takes no JSON), and the scopes that it needs."""

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
    ADD_REACTION = "reactions.add", "POST", "reactions:write"
    REMOVE_REACTION = "reactions.remove", "POST", "reactions:write"
    ADD_PIN = "pins.add", "POST", "pins:write"
    REMOVE_PIN = "pins.remove", "POST", "pins:write"
    SET_TOPIC = "conversations.setTopic", "POST", "channels:write.topic", "groups:write.topic"
    SET_PURPOSE = "conversations.setPurpose", "POST", "channels:write.topic", "groups:write.topic"
    BOOKMARKS = "bookmarks.list", "GET", "bookmarks:read"
    ADD_BOOKMARK = "bookmarks.add", "POST", "bookmarks:write"
    REMOVE_BOOKMARK = "bookmarks.remove", "POST", "bookmarks:write"
    CREATE_CANVAS = "canvases.create", "POST", "canvases:write"
    EDIT_CANVAS = "canvases.edit", "POST", "canvases:write"
    DELETE_CANVAS = "canvases.delete", "POST", "canvases:write"
    CANVAS_SECTIONS = "canvases.sections.lookup", "POST", "canvases:read"
    TEAM_PREFERENCES = "team.preferences.list", "GET", "team.preferences:read"  # who may post in #general
    USER = "users.info", "GET", "users:read"
    USERS = "users.list", "GET", "users:read"
    CHANNEL = "conversations.info", "GET", "channels:read", "groups:read", "mpim:read"  # never asked about a DM
    MEMBERS = "conversations.members", "GET", "channels:read", "groups:read", "mpim:read"  # never asked about a DM
    OPEN = "conversations.open", "POST", "im:write"  # without it, a reply in direct messages cannot be edited
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
    VALIDATE_BLOCKS = "blocks.validate", "POST"  # needs no scope
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
    "channel_id_changed": "groups:read",
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
    AGENT = "agent"  # The agent view: prompts, titles, the Stop button, what the person views
    HOME = "home"  # The Home tab: a person's memory, budget and settings
    COMMANDS = "commands"
    SHORTCUTS = "shortcuts"
    FILES = "files"  # Files that people attach, and long results as files
    REACTIONS = "reactions"  # Thumbs on a reply as feedback
    MARKS = "marks"  # Reactions of the bot on questions
    GROUPS = "groups"  # User groups as managers and as roles
    ACTS = "acts"  # Posts, reactions, topics and the like for the person who asks
    SEARCH = "search"  # Slack's own search of public channels, for questions that are messages


EVERYTHING: Final = frozenset(SlackFeature)
# Without those that an operator turns on, and whose scopes a manifest asks for only then.
USUAL: Final = EVERYTHING - {SlackFeature.ACTS}

_METHODS: Final[Mapping[SlackFeature, frozenset[Method]]] = {
    SlackFeature.ACTS: frozenset(
        {
            Method.ADD_REACTION,
            Method.ADD_PIN,
            Method.REMOVE_PIN,
            Method.SET_TOPIC,
            Method.SET_PURPOSE,
            Method.BOOKMARKS,
            Method.ADD_BOOKMARK,
            Method.REMOVE_BOOKMARK,
            Method.CREATE_CANVAS,
            Method.EDIT_CANVAS,
            Method.DELETE_CANVAS,
            Method.CANVAS_SECTIONS,
            Method.TEAM_PREFERENCES,
        }
    ),
    SlackFeature.AGENT: frozenset({Method.SUGGEST_PROMPTS, Method.SET_SESSION, Method.RENAME_SESSION}),
    SlackFeature.FILES: frozenset({Method.FILE, Method.UPLOAD_URL, Method.COMPLETE_UPLOAD, Method.DELETE_FILE}),
    SlackFeature.GROUPS: frozenset({Method.GROUP_MEMBERS}),
    SlackFeature.HOME: frozenset({Method.PUBLISH_VIEW}),
    SlackFeature.MARKS: frozenset({Method.ADD_REACTION, Method.REMOVE_REACTION}),
    SlackFeature.SEARCH: frozenset({Method.SEARCH}),
}
_EVENTS: Final[Mapping[SlackFeature, frozenset[str]]] = {
    SlackFeature.AGENT: frozenset(
        {"agent_session_stopped", "agent_session_title_changed", "app_context_changed", "app_home_opened"}
    ),
    SlackFeature.HOME: frozenset({"app_home_opened"}),
    SlackFeature.REACTIONS: frozenset({"reaction_added", "reaction_removed"}),
}
# The scopes that belong to no method and no event.
_SCOPES: Final[Mapping[SlackFeature, frozenset[str]]] = {
    SlackFeature.COMMANDS: frozenset({"commands"}),
    SlackFeature.SHORTCUTS: frozenset({"commands"}),
    SlackFeature.FILES: frozenset({"files:read"}),
}


def required_features(settings: SlackOptions) -> frozenset[SlackFeature]:
    """Return all features that these settings use."""
    used = {
        SlackFeature.ACTS: settings.acts,
        SlackFeature.GROUPS: bool(settings.named_groups),
        SlackFeature.MARKS: settings.chosen.marks,
    }
    return frozenset(feature for feature in EVERYTHING if used.get(feature, True))


def events(features: Collection[SlackFeature]) -> frozenset[str]:
    """Return the events to which the app subscribes."""
    return frozenset(EVENT_SCOPES) - _unclaimed(_EVENTS, features)


def scopes(features: Collection[SlackFeature]) -> frozenset[str]:
    """Return exactly the scopes that the bot token needs for these features."""
    methods = frozenset(Method) - _unclaimed(_METHODS, features)
    of_methods = (scope for method in methods for scope in method.scopes)
    of_events = (EVENT_SCOPES[event] for event in events(features))
    own = (scope for feature in features for scope in _SCOPES.get(feature, ()))
    return frozenset(filter(None, (*of_methods, *of_events, *own)))


def optional_scopes(features: Collection[SlackFeature]) -> frozenset[str]:
    """Return those scopes that an admin may refuse at the installation: what needs them is then not offered."""
    return frozenset(Method.SEARCH.scopes) & scopes(features)


def needing(scope: str) -> frozenset[SlackFeature]:
    """Return the features that need this scope; none if the bot itself needs it, or nothing does."""
    if scope in scopes(()):
        return frozenset()
    return frozenset(feature for feature in SlackFeature if scope in scopes({feature}))


def _unclaimed(claims: Mapping[SlackFeature, frozenset[T]], features: Collection[SlackFeature]) -> frozenset[T]:
    """Return what only other features than these claim."""
    chosen = {claim for feature in features for claim in claims.get(feature, ())}
    return frozenset(claim for of_feature in claims.values() for claim in of_feature) - chosen
