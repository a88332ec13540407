"""The settings for Slack."""

import re
from enum import StrEnum
from typing import Final

from bot.settings.parsers import id_list


class Streaming(StrEnum):
    """Where replies are Slack's native streams; elsewhere, messages are edited."""

    DIRECT = "dm"
    """In direct messages. In a channel's thread only the asker sees a stream grow, and the other readers see nothing
    until its end, whereas all of them see the edits of a message."""
    EVERYWHERE = "everywhere"
    """In threads of channels, too: smoother than edits for the asker, and edits are few in a busy workspace."""
    OFF = "off"


_PREFIX: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,19}")


def command_prefix(value: str) -> str:
    """Parse the prefix of slash commands. Slack allows names of 32 characters, with the prefix and the slash."""
    if not _PREFIX.fullmatch(value):
        raise ValueError('must be at most 20 small letters, digits, "-" or "_", as in bot-')
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
        raise ValueError('must be at most 32 small letters, digits or "-", as in acme-eu')
    return value


def slack_app_id(value: str) -> str:
    if not _SLACK_APP.fullmatch(value):
        raise ValueError("must be the app's id, as in A0123ABCD: it stands on the app's page, Basic Information")
    return value


slack_groups = id_list(_SLACK_GROUP, "ids of user groups with commas between them, as in S0123,S0456")

slack_installers = id_list(
    _SLACK_TEAM, "ids of workspaces and organizations with commas between them, as in T0123,E0456, or *"
)


def slack_client(value: str) -> str:
    if not _SLACK_CLIENT.fullmatch(value):
        raise ValueError("must be the client id from the app's page, as in 1234567890.1234567890123")
    return value


def slack_apps(value: str) -> tuple[str, ...]:
    """Parse comma-separated names of apps."""
    names = tuple(dict.fromkeys(piece.strip() for piece in value.split(",") if piece.strip()))
    if not names or not all(map(_APP_NAME.fullmatch, names)):
        raise ValueError("must be names of apps in the file of COGENCY_SLACK_APPS with commas between them, as in a,b")
    return names
