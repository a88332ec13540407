"""The doors by which programs reach the bot, and how the ids of people and channels name them. Pure.

No platform has ids of these forms.
"""

from enum import StrEnum
from typing import Final

# What the last part of the id of a person or a channel begins with.
WEBHOOK: Final = "webhook-"
API: Final = "api-"
MCP: Final = "mcp-"
MCP_CLIENT: Final = "mcp"  # The channel of calls by clients of the MCP server, in the audit


class Door(StrEnum):
    WEBHOOK = "webhook"
    API = "API"
    MCP = "MCP"


def is_program(person: str) -> bool:
    """Return whether this id of a person is that of a program."""
    return person.rpartition(":")[2].startswith((WEBHOOK, API))


def door_of(person: str, channel: str) -> Door | None:
    """Return the door by which a question or a call came, by the ids of its person and channel; None for the chat."""
    name = person.rpartition(":")[2]
    if name.startswith(WEBHOOK):
        return Door.WEBHOOK
    if channel == MCP_CLIENT or channel.startswith(MCP):
        return Door.MCP
    return Door.API if name.startswith(API) or channel.startswith(API) else None
