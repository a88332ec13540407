"""How commands end: exit codes, after sysexits.h and shell conventions."""

from enum import IntEnum

from agent.errors import CogencyError, ProviderError, SettingsError, StoreError, StoreLocked, StoreMisnamed
from bot.chat.listen_errors import PortInUse
from bot.chat.platform_errors import PlatformUnavailable


class Exit(IntEnum):
    OK = 0
    FAILED = 1
    """An error that neither a setting nor another attempt would fix."""
    ARGUMENTS = 2
    """The arguments of the command cannot be parsed, or name nothing: argparse exits with the same code."""
    USAGE = 64
    """The command line does not name a command (EX_USAGE)."""
    UNAVAILABLE = 69
    """The model or a platform cannot be reached, or the database cannot be used (EX_UNAVAILABLE)."""
    BUSY = 75
    """Another process holds the database or a port: the same command may succeed later (EX_TEMPFAIL)."""
    SETTINGS = 78
    """A setting is unknown, missing or malformed (EX_CONFIG)."""
    TERMINATED = 143
    """SIGTERM: 128 + 15, as a shell reports it."""
    INTERRUPTED = 130
    """Ctrl-C: 128 + SIGINT, as a shell reports it."""


def exit_code(error: CogencyError) -> Exit:
    """Return the exit code for an error that is reported as a sentence."""
    match error:
        case SettingsError():
            return Exit.SETTINGS
        case StoreLocked() | PortInUse():
            return Exit.BUSY
        case StoreMisnamed():
            return Exit.ARGUMENTS
        case ProviderError() | StoreError() | PlatformUnavailable():
            return Exit.UNAVAILABLE
        case _:
            return Exit.FAILED
