"""How the process ends: the exit codes of every command, after sysexits.h and the shell's habits."""

from enum import IntEnum

from agent.errors import CogencyError, ProviderError, SettingsError, StoreError, StoreLocked


class Exit(IntEnum):
    OK = 0
    FAILED = 1
    """Something went wrong that no setting and no second try would mend."""
    ARGUMENTS = 2
    """Words behind the command do not read as its arguments: argparse ends in the same way."""
    USAGE = 64
    """The command line does not read as a command (EX_USAGE)."""
    UNAVAILABLE = 69
    """The model or a platform cannot be reached, or the database cannot be used (EX_UNAVAILABLE)."""
    BUSY = 75
    """Another process holds the database: the same command may succeed later (EX_TEMPFAIL)."""
    SETTINGS = 78
    """A setting is unknown, missing or malformed (EX_CONFIG)."""
    TERMINATED = 143
    """SIGTERM: 128 + 15, as a shell reports it."""
    INTERRUPTED = 130
    """Ctrl-C: 128 + SIGINT, as a shell reports it."""


def exit_code(error: CogencyError) -> Exit:
    """What a failure that is told in a sentence means to a program."""
    match error:
        case SettingsError():
            return Exit.SETTINGS
        case StoreLocked():
            return Exit.BUSY
        case ProviderError() | StoreError():
            return Exit.UNAVAILABLE
        case _:
            return Exit.FAILED
