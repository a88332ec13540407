"""Log lines without secrets: whatever a library logs, no key or token reaches the log.

Redaction is done on the finished line, traceback included, because a secret may stand in an argument, in an
exception's text, or in an address that a library logs. What others wrote may stand there, too, as in a server's error:
so a message is one line, a traceback stands indented below it, and nothing steers the terminal that shows them.

For programs each line is a JSON object, with the names that structlog gives: its own way to there would take a start a
tenth of a second. Behind each message stand the ids that are `bound` where it is logged, and no words of anybody.
"""

import json
import logging
import re
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from enum import StrEnum
from types import TracebackType
from typing import Final, TextIO, TypeAlias
from urllib.parse import quote

from agent.errors import CogencyError, StoreUnavailable

# Shorter values are placeholders ("none", "ollama"): replacing them would make ordinary lines unreadable.
SHORTEST_SECRET = 8

MASK = "[secret]"
_ESCAPED: Final = re.compile("%[0-9A-F]{2}")
# What ends a line, moves the cursor, or turns the order of letters round.
_STEERING: Final = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
# What Slack hands out with a message: a right to search for its writer, which its library logs at DEBUG.
_HANDED_OUT: Final = re.compile(r"""(action_token['"]?: ['"])[^'"]+""")
# As logging has it.
ExceptionInfo: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class LogForm(StrEnum):
    AUTO = "auto"
    """Text on a terminal, JSON anywhere else."""
    TEXT = "text"
    JSON = "json"


_BOUND: ContextVar[Mapping[str, str | int]] = ContextVar("bound", default={})  # noqa: B039 -- it is replaced, never changed


@contextmanager
def bound(**ids: str | int) -> Generator[None]:
    """Let these ids stand in each line that is logged in the block, and in the tasks that begin there."""
    before = _BOUND.set({**_BOUND.get(), **ids})
    try:
        yield
    finally:
        _BOUND.reset(before)


def severity(error: CogencyError) -> int:
    """The level of a line that says what somebody did about this error.

    That the store is away it logs itself, once: a line for everybody who meets it would only repeat that.
    """
    return logging.DEBUG if isinstance(error, StoreUnavailable) else logging.WARNING


def redactor(secrets: Iterable[str]) -> Callable[[str], str]:
    """A function that replaces these values, also as they stand in an address, by `[secret]`."""
    spelled = {form for value in secrets if len(value) >= SHORTEST_SECRET for form in _spellings(value)}
    if not spelled:
        return lambda text: text
    # The longest first: a secret may begin with another one.
    pattern = re.compile("|".join(re.escape(form) for form in sorted(spelled, key=len, reverse=True)))
    return lambda text: pattern.sub(MASK, text)


def _spellings(value: str) -> set[str]:
    """The value as it may stand in a line: plain, in an address, in JSON, in a repr, made one line."""
    in_address = {quote(value, safe, errors="surrogatepass") for safe in ("", "/")}  # of a byte that is no UTF-8
    lower = {_ESCAPED.sub(lambda found: found[0].lower(), form) for form in in_address}
    return {value, *in_address, *lower, json.dumps(value)[1:-1], repr(value)[1:-1], on_one_line(value)}


def on_one_line(text: str) -> str:
    return _STEERING.sub(lambda sign: sign[0].encode("unicode_escape").decode(), text)


def _indented(text: str) -> str:
    """No line of it looks like one that was logged."""
    return "\n".join(f"  {on_one_line(line)}" for line in text.split("\n"))


class RedactingFormatter(logging.Formatter):
    """Formats as usual, then masks."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._redact = redactor(secrets)

    def format(self, record: logging.LogRecord) -> str:
        return self.masked(super().format(record))

    def masked(self, text: str) -> str:
        return self._redact(_HANDED_OUT.sub(rf"\g<1>{MASK}", text))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 -- logging's
        ids = "".join(f"  {name}={value}" for name, value in _BOUND.get().items())
        return on_one_line(f"{super().formatMessage(record)}{ids}")

    def formatException(self, ei: "ExceptionInfo") -> str:  # noqa: N802 -- logging's
        return _indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802 -- logging's
        return _indented(super().formatStack(stack_info))


class JsonFormatter(RedactingFormatter):
    """Each value is masked before it is written as JSON, so that the line stays JSON whatever a secret holds."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, str | int] = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": on_one_line(record.getMessage()),
            **{name: on_one_line(value) if isinstance(value, str) else value for name, value in _BOUND.get().items()},
        }
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            told["stack"] = self.formatStack(record.stack_info)
        return json.dumps(
            {name: self.masked(value) if isinstance(value, str) else value for name, value in told.items()}
        )


def log_to(stream: TextIO, level: str, secrets: Iterable[str], form: LogForm = LogForm.TEXT) -> logging.Handler:
    """Send the log lines of our own rooms from `level` up to `stream`, masked; replaces handlers set before.

    Libraries are heard from WARNING up: their daily doings would drown the one line a turn. At DEBUG they all speak.
    """
    handler = logging.StreamHandler(stream)
    is_json = form is LogForm.JSON or (form is LogForm.AUTO and not stream.isatty())
    handler.setFormatter(JsonFormatter(secrets) if is_json else RedactingFormatter(secrets))
    logging.basicConfig(level=level if level == "DEBUG" else "WARNING", handlers=[handler], force=True)
    for room in ("agent", "store", "bot"):
        logging.getLogger(room).setLevel(level)
    return handler
