"""Text for a terminal or a log, without what would steer it."""

import json
import os
import re
import sys
from typing import Final, TextIO

from agent.messages import UNSEEN, Json
from bot.chat.texts import operating as operating_texts

# Writing to a stream whose reader may have gone, whose disk may be full, and which may be a terminal.
#
# Rule: names, answers and servers' messages come from others, so control characters are never written.


class OutputError(Exception):
    """Output could not be written. It is no CogencyError, because a chat would try to show it."""


# Characters that move the cursor, end a line invisibly, or reverse the direction of text.
STEERING: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"
_UNSAFE: Final = re.compile(f"[{STEERING}]")
_UNSEEN: Final = re.compile(f"[{STEERING}]|{UNSEEN.pattern}")


def printable(text: str) -> str:
    """Return `text` with "\\n" as its only line ends, and a replacement for each character that steers a terminal."""
    return _UNSAFE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def printable_line(text: str) -> str:
    """Return the text on one line, with a blank for each invisible character: for names in a line with others."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def printable_json(value: Json, indent: int | None = None) -> str:
    """Return `value` as JSON that parses to the same value, steers no terminal and hides nothing."""
    escaped = json.dumps(value, ensure_ascii=False, indent=indent)
    return _UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], escaped)


def complain(text: str) -> None:
    """Write a line to standard error."""
    sys.stderr.write(f"{printable(text)}\n")


def write_out(stream: TextIO, text: str) -> None:
    """Write and flush. Raises BrokenPipeError if the reader has gone, OutputError for any other failure."""
    try:
        stream.write(printable(text))
        stream.flush()
    except OSError as error:
        # Python flushes again when it exits, and would report the failure then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise OutputError(operating_texts.OUTPUT_CLOSED.format(reason=error.strerror)) from error
