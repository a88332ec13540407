"""What the bot can be in Slack, feature by feature, and what each needs of Slack: scopes and events. Pure.

Rules
- A method or an event that no feature claims belongs to the bot itself, and is always needed.
- A feature that is left out costs nothing but itself: what needs it is refused by Slack, and said in one sentence.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final, TypeVar

from bot.platforms.slack.methods import EVENT_SCOPES, METHOD_SCOPES, Method
from bot.platforms.slack.options import SlackSettings

T = TypeVar("T")


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


EVERYTHING: Final = frozenset(SlackFeature)

_METHODS: Final[Mapping[SlackFeature, frozenset[Method]]] = {
    SlackFeature.AGENT: frozenset({Method.SUGGEST_PROMPTS, Method.SET_SESSION, Method.RENAME_SESSION}),
    SlackFeature.FILES: frozenset({Method.FILE, Method.UPLOAD_URL, Method.COMPLETE_UPLOAD, Method.DELETE_FILE}),
    SlackFeature.GROUPS: frozenset({Method.GROUP_MEMBERS}),
    SlackFeature.HOME: frozenset({Method.PUBLISH_VIEW}),
}
_EVENTS: Final[Mapping[SlackFeature, frozenset[str]]] = {
    SlackFeature.AGENT: frozenset(
        {"agent_session_stopped", "agent_session_title_changed", "app_context_changed", "app_home_opened"}
    ),
    SlackFeature.HOME: frozenset({"app_home_opened"}),
    SlackFeature.REACTIONS: frozenset({"reaction_added", "reaction_removed"}),
}
_SCOPES: Final[Mapping[SlackFeature, frozenset[str]]] = {
    SlackFeature.COMMANDS: frozenset({"commands"}),
    SlackFeature.SHORTCUTS: frozenset({"commands"}),
    SlackFeature.FILES: frozenset({"files:read"}),
}
"""What is neither a method's nor an event's."""


def wanted(settings: SlackSettings) -> frozenset[SlackFeature]:
    """Everything but what these settings do not use."""
    return EVERYTHING if settings.named_groups else EVERYTHING - {SlackFeature.GROUPS}


def events(features: Collection[SlackFeature]) -> frozenset[str]:
    """Those that the app subscribes to."""
    return frozenset(EVENT_SCOPES) - _left_out(_EVENTS, features)


def scopes(features: Collection[SlackFeature]) -> frozenset[str]:
    """Everything that the bot token needs for these, and nothing else."""
    methods = frozenset(METHOD_SCOPES) - _left_out(_METHODS, features)
    of_methods = (scope for method in methods for scope in METHOD_SCOPES[method])
    of_events = (EVENT_SCOPES[event] for event in events(features))
    own = (scope for feature in features for scope in _SCOPES.get(feature, ()))
    return frozenset(filter(None, (*of_methods, *of_events, *own)))


def needing(scope: str) -> frozenset[SlackFeature]:
    """The features that do not work without this scope; none for one that the bot itself needs, or nothing does."""
    if scope in scopes(()):
        return frozenset()
    return frozenset(feature for feature in SlackFeature if scope in scopes({feature}))


def _left_out(claims: Mapping[SlackFeature, frozenset[T]], features: Collection[SlackFeature]) -> frozenset[T]:
    """What only features that were not chosen claim."""
    chosen = {one for feature in features for one in claims.get(feature, ())}
    return frozenset(one for ones in claims.values() for one in ones) - chosen
