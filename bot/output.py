"""Writing to a stream whose reader may leave, or whose disk may be full.

Above: `bot.__main__`, `bot.platforms.terminal.pipe`. Below: nothing.
"""

import os
from typing import TextIO


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
