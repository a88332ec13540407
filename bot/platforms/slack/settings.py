"""The settings for Slack."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bot.settings import parsers
from bot.settings.declaration import Secrecy, Section, Sensitivity, secret_setting, setting
from bot.settings.parsers import id_list
from bot.settings.secret import Secret

SLACK_APPS: Final = "COGENCY_SLACK_APPS"
# The last one names a file with tokens, and counts as one itself.
SLACK_TOKENS: Final = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_CONFIG_TOKEN", SLACK_APPS)


class Streaming(StrEnum):
    """Where replies are Slack's native streams; elsewhere, messages are edited."""

    DIRECT = "dm"
    """In direct messages. In a channel's thread only the asker sees a stream grow, and the other readers see nothing
    until its end, whereas all of them see the edits of a message."""
    EVERYWHERE = "everywhere"
    """In threads of channels, too: smoother than edits for the asker, and edits are few in a busy workspace."""
    OFF = "off"


_PREFIX: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,19}")


def parse_command_prefix(value: str) -> str:
    """Parse the prefix of slash commands. Slack allows names of 32 characters, with the prefix and the slash."""
    if not _PREFIX.fullmatch(value):
        raise ValueError(
            'must be up to 20 lowercase letters, digits, "-", or "_", and begin with a letter or digit, as in bot-'
        )
    return value


# The pattern of an app's name, which is used in addresses, logs and metrics.
APP_NAME: Final = r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?"

_APP_NAME: Final = re.compile(APP_NAME)

_SLACK_APP: Final = re.compile(r"A[A-Z0-9]{1,30}", re.ASCII)

_SLACK_TEAM = re.compile(r"[TE][A-Z0-9]+|\*", re.ASCII)

_SLACK_CLIENT = re.compile(r"[0-9]{1,30}\.[0-9]{1,30}", re.ASCII)

_SLACK_GROUP = re.compile(r"S[A-Z0-9]+", re.ASCII)


def slack_app(value: str) -> str:
    """Parse the name of one of several apps."""
    if not _APP_NAME.fullmatch(value):
        raise ValueError(
            'must be 1 to 32 lowercase letters, digits, or "-", and begin and end with a letter or digit, as in acme-eu'
        )
    return value


def slack_app_id(value: str) -> str:
    if not _SLACK_APP.fullmatch(value):
        raise ValueError("must be the app's ID from its Basic Information page, as in A0123ABCD")
    return value


slack_groups = id_list(_SLACK_GROUP, "user group IDs, separated by commas, as in S0123,S0456")

slack_installers = id_list(
    _SLACK_TEAM, "*, or IDs of workspaces and organizations separated by commas, as in T0123,E0456"
)


def slack_client(value: str) -> str:
    if not _SLACK_CLIENT.fullmatch(value):
        raise ValueError("must be the client ID from the app's Basic Information page, as in 1234567890.1234567890123")
    return value


def slack_apps(value: str) -> tuple[str, ...]:
    """Parse comma-separated names of apps."""
    names = tuple(dict.fromkeys(piece.strip() for piece in value.split(",") if piece.strip()))
    if not names or not all(map(_APP_NAME.fullmatch, names)):
        raise ValueError("must be a list of apps from the COGENCY_SLACK_APPS file, separated by commas, as in a,b")
    return names


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSettings:
    """Slack's apps, and how the bot answers there. Several apps are described in a file of their own."""

    bot_token: Secret | None = secret_setting(
        "SLACK_BOT_TOKEN",
        parsers.secret("xoxb-", "copy it from the app's OAuth & Permissions page"),
        section=Section.PLATFORMS,
        description="Slack: the bot token (xoxb-…), from the app's OAuth & Permissions page.",
    )
    app_token: Secret | None = secret_setting(
        "SLACK_APP_TOKEN",
        parsers.secret("xapp-", "create an app-level token on the app's Basic Information page"),
        section=Section.PLATFORMS,
        description="Slack: the app-level token for Socket Mode (xapp-…), from the app's Basic Information page.",
    )
    signing_secret: Secret | None = secret_setting(
        "SLACK_SIGNING_SECRET",
        section=Section.PLATFORMS,
        description=(
            "Slack: the signing secret, from the app's Basic Information page. Needed for events over HTTP instead of "
            "Socket Mode."
        ),
    )
    config_token: Secret | None = secret_setting(
        "SLACK_CONFIG_TOKEN",
        parsers.secret("xoxe.xoxp-", "create one at https://api.slack.com/apps"),
        section=Section.PLATFORMS,
        description=(
            "Slack: an app configuration token (xoxe.xoxp-…). Only cogency doctor uses it, to compare the app with "
            "its manifest."
        ),
    )
    apps: str | None = setting(
        SLACK_APPS,
        parsers.text,
        None,
        section=Section.PLATFORMS,
        description=(
            "Slack: a file that describes several apps, one for each workspace, instead of the tokens above; "
            "docs/slack.md has an example. Other users must not be able to write to the file."
        ),
        example="/etc/cogency/slack-apps.toml",
        sensitivity=Sensitivity(secrecy=Secrecy.FILE),
    )
    serve: tuple[str, ...] = setting(
        "COGENCY_SLACK_SERVE",
        slack_apps,
        (),
        section=Section.PLATFORMS,
        description=(
            "Slack: a comma-separated list of the apps in the COGENCY_SLACK_APPS file that this process serves. "
            "Processes that share a PostgreSQL database can serve different apps. Default: all."
        ),
        example="acme,beta",
    )
    """Empty: all apps of the file."""
    connections: int = setting(
        "COGENCY_SLACK_CONNECTIONS",
        parsers.whole(1, 10),
        2,
        section=Section.PLATFORMS,
        description=("Slack: number of open sockets, 1 to 10. Slack allows an app ten sockets, across all processes."),
    )
    """One stays open while the other is replaced."""
    http: tuple[str, int] | None = setting(
        "COGENCY_SLACK_HTTP",
        parsers.listen_address,
        None,
        section=Section.PLATFORMS,
        description=(
            "Slack: where to listen for events over HTTP, as host:port. Set this instead of SLACK_APP_TOKEN. Several "
            "processes can listen behind a load balancer if they share one PostgreSQL database."
        ),
        example="0.0.0.0:3000",
    )
    """None: Socket Mode."""
    client_id: str = setting(
        "SLACK_CLIENT_ID",
        slack_client,
        "",
        section=Section.PLATFORMS,
        description=(
            "Slack: the client ID, from the app's Basic Information page. If this is set, other workspaces can install "
            "the app from the bot's install page. docs/slack.md (Distribute the app) lists the other settings that "
            "this requires."
        ),
    )
    """"": no other workspace can install the app."""
    client_secret: Secret | None = secret_setting(
        "SLACK_CLIENT_SECRET",
        section=Section.PLATFORMS,
        description="Slack: the client secret that belongs to SLACK_CLIENT_ID.",
    )
    address: str = setting(
        "COGENCY_SLACK_ADDRESS",
        parsers.url("https", "http"),
        "",
        section=Section.PLATFORMS,
        description=(
            "Slack: the public address, without a path, at which Slack and browsers reach the bot's HTTP server "
            "(COGENCY_SLACK_HTTP)."
        ),
        example="https://bot.example.com",
    )
    installers: frozenset[str] = setting(
        "COGENCY_SLACK_INSTALLERS",
        slack_installers,
        frozenset(),
        section=Section.PLATFORMS,
        description=(
            "Slack: who can install the app. List IDs of workspaces (T…) and organizations (E…), separated by commas, "
            "or * for all. An organization's ID allows all its workspaces. Default: none."
        ),
        example="T0123,E0456",
    )
    """Empty: none may."""
    managers: frozenset[str] = setting(
        "COGENCY_SLACK_MANAGERS",
        slack_groups,
        frozenset(),
        section=Section.PLATFORMS,
        description="Slack: comma-separated IDs of user groups whose members are managers.",
        example="S0123",
    )
    command_prefix: str = setting(
        "COGENCY_SLACK_COMMAND_PREFIX",
        parse_command_prefix,
        "",
        section=Section.PLATFORMS,
        description=(
            "Slack: a prefix for the names of all slash commands, in case other apps use the same names. After a "
            "change, print and apply the manifest again."
        ),
        example="bot-",
    )
    stream: Streaming = setting(
        "COGENCY_SLACK_STREAM",
        parsers.one_of(Streaming),
        Streaming.DIRECT,
        section=Section.PLATFORMS,
        description=(
            "Slack: where replies use native streams: dm (in direct messages), everywhere, or off. In channel threads, "
            "only the person who asked sees the reply as it streams. If a reply is not streamed, the bot edits a "
            "message, and everyone sees it grow."
        ),
    )
    marks: bool = setting(
        "COGENCY_SLACK_MARKS",
        parsers.switch,
        default=False,
        section=Section.PLATFORMS,
        description=(
            "Slack: react to each question with one emoji while the bot works on it, and with another when it has "
            "answered or failed: on or off. The app needs the reactions:write scope."
        ),
    )
    tables: bool = setting(
        "COGENCY_SLACK_TABLES",
        parsers.switch,
        default=True,
        section=Section.PLATFORMS,
        description=(
            "Slack: whether readers can sort and filter the tables of a finished answer: on or off. If this is off, "
            "tables are Markdown, which Slack shows as plain tables."
        ),
    )
    api_base_url: str = setting(
        "SLACK_API_BASE_URL",
        parsers.web_address,
        "https://slack.com/api",
        section=Section.PLATFORMS,
        description="The address of Slack's API.",
        sensitivity=Sensitivity(keys=SLACK_TOKENS),
    )
