"""The settings of connected accounts."""

from dataclasses import dataclass

from bot.settings import parsers
from bot.settings.declaration import Section, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectSettings:
    """Whether people may connect their accounts."""

    enabled: bool = setting(
        "COGENCY_CONNECT",
        parsers.switch,
        default=True,
        section=Section.ACCESS,
        description=(
            "Whether people can connect their accounts on different platforms with /connect. Their direct messages "
            "with the bot then share one memory. Turn this off if content from one platform must not appear on another."
        ),
    )
