"""How the process ends: the exit codes of every command, after sysexits.h and the shell's habits."""

import os
from enum import IntEnum
from typing import TextIO

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


# --------------------------------------------------------------------------------------------------
# Writing to a stream whose reader may leave, or whose disk may be full.


class OutputError(Exception):
    """What was to be said could not be written. No CogencyError: a chat would try to say it."""


def write_out(stream: TextIO, text: str) -> None:
    """Write and flush. Raises BrokenPipeError when the reader has gone, OutputError for anything else."""
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        # Python flushes once more at its end, and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise OutputError(f"The output cannot be written ({error.strerror}): send it elsewhere.") from error
