"""Who may talk to the bot, and how often: the settings."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from agent.admission_terms import Authority
from bot.chat.access import acl
from bot.settings import parsers
from bot.settings.declaration import Section, setting
from bot.settings.parsers import id_list

_ID = re.compile(r"[A-Za-z0-9]+", re.ASCII)

# Ids as Slack and Discord write them, and as the bot does; a person's name never matches.
_PERSON = re.compile(r"(?:slack:[A-Z0-9]+:)?[UWB][A-Z0-9]+|(?:discord:)?[0-9]+|terminal:\S+", re.ASCII)

ids = id_list(_ID, "IDs separated by commas, as in B0123,B0456")

people = id_list(
    _PERSON,
    "user IDs (not names), separated by commas, as in U0123,184467440737095516",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessSettings:
    """Who may ask, and how often."""

    allow: acl.Entries = setting(
        "COGENCY_ALLOW",
        acl.parse_entries,
        frozenset(),
        section=Section.ACCESS,
        description=(
            "Who can use the bot: a comma-separated list of team:ID (a workspace or server), channel:ID, role:ID (in "
            "Slack, a user group), and person:ID. If you list teams, channels, or roles, a person must match each kind "
            "that you list. People that you list always have access, unless COGENCY_DENY excludes them. If you "
            "list only people, nobody else except operators has access. Default: every member of a workspace or server "
            "that the bot serves."
        ),
        example="team:T0123,channel:C0123,role:1234567890,person:U0123",
    )
    deny: acl.Entries = setting(
        "COGENCY_DENY",
        acl.parse_entries,
        frozenset(),
        section=Section.ACCESS,
        description=(
            "Who cannot use the bot, in the same form as COGENCY_ALLOW. This list overrides COGENCY_ALLOW, but does "
            "not apply to operators."
        ),
        example="person:U0456",
    )
    open_to: frozenset[Authority] = setting(
        "COGENCY_OPEN_TO",
        acl.parse_openness,
        frozenset(),
        section=Section.ACCESS,
        description=(
            "Who can use the bot besides members: guests, strangers (people from other workspaces, and people who use "
            "the Discord app outside the bot's servers), or both."
        ),
        example="guests",
    )
    """Guests and outsiders see only a part of a workspace, and no member is responsible for them."""
    model_access: Mapping[str, acl.Entries] = setting(
        "COGENCY_MODEL_ACCESS",
        acl.parse_model_access,
        {},
        section=Section.ACCESS,
        description=(
            "Who can choose each model: a JSON object that maps models to lists in the same form as COGENCY_ALLOW. "
            "Everyone can choose models that are not listed."
        ),
        example="""'{"openai:gpt-6.1-sol": "role:1234567890,person:U0123"}'""",
    )
    operators: frozenset[str] = setting(
        "COGENCY_OPERATORS",
        people,
        frozenset(),
        section=Section.ACCESS,
        description=(
            "Operators: IDs (not names) of people who have no rate limits or daily budgets, and can change other "
            "people's budgets with /budget."
        ),
        example="U0123",
    )
    person_per_minute: int | None = setting(
        "COGENCY_PERSON_PER_MINUTE",
        parsers.limit(100_000),
        20,
        section=Section.ACCESS,
        description="Maximum number of messages from one person per minute. With 0, there is no limit.",
    )
    """Faster than a person asks, and slower than a loop."""
    person_per_hour: int | None = setting(
        "COGENCY_PERSON_PER_HOUR",
        parsers.limit(1_000_000),
        200,
        section=Section.ACCESS,
        description="Maximum number of messages from one person per hour. With 0, there is no limit.",
    )
    """A question every eighteen seconds, for a whole hour."""
    channel_per_minute: int | None = setting(
        "COGENCY_CHANNEL_PER_MINUTE",
        parsers.limit(100_000),
        60,
        section=Section.ACCESS,
        description="Maximum number of messages in one channel per minute. With 0, there is no limit.",
    )
    """A busy channel; people cannot read more answers than that, nor could a platform show them in time."""
    backlog: int | None = setting(
        "COGENCY_BACKLOG",
        parsers.limit(1_000_000),
        1_000,
        section=Section.ACCESS,
        description=(
            "How many questions can wait for an answer, across all processes. The bot refuses further questions, and "
            "says so. With 0, there is no limit."
        ),
    )
    """If sixteen are answered in parallel, each in half a minute, the last of a thousand waits for half an hour."""
    allowed_bots: frozenset[str] = setting(
        "COGENCY_ALLOWED_BOTS",
        ids,
        frozenset(),
        section=Section.ACCESS,
        description="Comma-separated IDs of other bots that can talk to this one.",
        after="COGENCY_OPEN_TO",
    )
    """Two bots that answer each other never stop."""
