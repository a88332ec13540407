"""Logging without secrets: no key or token reaches the log, whatever a library logs.

Redaction works on the finished line, including the traceback, because a secret can be in an argument, in an exception's
text, or in an address that a library logs. A line can also contain text of others, such as a server's error. So a
message is one line, a traceback is indented below it, and control characters are escaped.

For programs, each line is a JSON object with the keys that structlog uses; structlog itself would add a tenth of a
second to each start. Each message is followed by the ids that are `bound` where it is logged, and by no person's words.
"""

import json
import logging
import re
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from enum import StrEnum
from types import TracebackType
from typing import Final, TextIO, TypeAlias
from urllib.parse import quote

from agent.errors import CogencyError, StoreUnavailable, Unexpected

log = logging.getLogger(__name__)

# Shorter values are placeholders ("none", "ollama"): replacing them would make ordinary lines unreadable.
MIN_SECRET_CHARS = 8

MASK = "[secret]"
_ESCAPED: Final = re.compile("%[0-9A-F]{2}")
# Characters that end a line, move the cursor, or reverse the direction of text.
_STEERING: Final = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
# A token that Slack sends with a message, with which its author can be searched for; its library logs it at DEBUG.
_ACTION_TOKEN: Final = re.compile(r"""(action_token['"]?: ['"])[^'"]+""")
# What libraries log of requests to models: a channel's own key is no value of a setting.
_KEY_HEADER: Final = re.compile(
    r"""((?:authorization|x-api-key|x-goog-api-key|api-key)['"]?[:,] ?(?:b?['"])?(?:(?:bearer|basic|bot) )?)[^\s'"]+""",
    re.IGNORECASE,
)
FORM_OF_SECRETS: Final = "secret"
"""The beginning of the names of forms in which secrets are entered. Libraries log at DEBUG what a form sends."""
# As in `logging`.
ExceptionInfo: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


# Libraries that warn of each place in which they find no identity, although our own error says what to do.
_WORDY: Final = ("azure", "google.auth")


class LogLevel(StrEnum):
    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


class LogForm(StrEnum):
    AUTO = "auto"
    """Text on a terminal, JSON anywhere else."""
    TEXT = "text"
    JSON = "json"


_BOUND: ContextVar[Mapping[str, str | int]] = ContextVar("bound", default={})  # noqa: B039 -- it is replaced, never changed


@contextmanager
def bound(**ids: str | int) -> Generator[None]:
    """Add these ids to each line that is logged in the block, and in tasks that start there."""
    token = _BOUND.set({**_BOUND.get(), **ids})
    try:
        yield
    finally:
        _BOUND.reset(token)


def labelled(name: str, error: CogencyError) -> str:
    """Return the sentences of the error, after the name of what failed if they do not name it."""
    sentences = str(error)
    return sentences if re.search(rf"\b{re.escape(name)}\b", sentences) else f"{name}: {sentences}"


def severity(error: CogencyError) -> int:
    """Return the level for logging how this error was handled.

    The store logs once that it is unavailable; a line from everyone who notices would only repeat that. What is
    unexpected was logged with its traceback.
    """
    return logging.DEBUG if isinstance(error, StoreUnavailable | Unexpected) else logging.WARNING


def redactor(secrets: Iterable[str]) -> Callable[[str], str]:
    """Return a function that replaces these values, also where they are percent-encoded, by `[secret]`."""
    spellings = {form for value in secrets if len(value) >= MIN_SECRET_CHARS for form in _spellings(value)}
    if not spellings:
        return lambda text: text
    # The longest first: a secret may begin with another one.
    pattern = re.compile("|".join(re.escape(form) for form in sorted(spellings, key=len, reverse=True)))
    return lambda text: pattern.sub(MASK, text)


def _spellings(value: str) -> set[str]:
    """The value as it can occur in a line: plain, percent-encoded, in JSON, in a repr, escaped to one line."""
    in_address = {quote(value, safe, errors="surrogatepass") for safe in ("", "/")}  # of a byte that is no UTF-8
    lower = {_ESCAPED.sub(lambda match: match[0].lower(), form) for form in in_address}
    return {value, *in_address, *lower, json.dumps(value)[1:-1], repr(value)[1:-1], on_one_line(value)}


def on_one_line(text: str) -> str:
    return _STEERING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def _indent(text: str) -> str:
    """Indent the text, so that none of its lines looks like a logged one."""
    return "\n".join(f"  {on_one_line(line)}" for line in text.split("\n"))


def _message(record: logging.LogRecord) -> str:
    """Return the message; nothing of one about a form of secrets, whose window has the form's name behind a colon."""
    message = record.getMessage()
    return MASK if record.levelno <= logging.DEBUG and f":{FORM_OF_SECRETS}" in message else message


class RedactingFormatter(logging.Formatter):
    """Formats a record, and then masks secrets."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._redact = redactor(secrets)

    def format(self, record: logging.LogRecord) -> str:
        return self.masked(super().format(record))

    def masked(self, text: str) -> str:
        for pattern in (_ACTION_TOKEN, _KEY_HEADER):
            text = pattern.sub(rf"\g<1>{MASK}", text)
        return self._redact(text)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 -- logging's
        record.message = _message(record)
        ids = "".join(f"  {name}={value}" for name, value in _BOUND.get().items())
        return on_one_line(f"{super().formatMessage(record)}{ids}")

    def formatException(self, ei: "ExceptionInfo") -> str:  # noqa: N802 -- logging's
        return _indent(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802 -- logging's
        return _indent(super().formatStack(stack_info))


class JsonFormatter(RedactingFormatter):
    """Masks each value before it is encoded, so that the line stays valid JSON whatever a secret contains."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, str | int] = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": on_one_line(_message(record)),
            **{name: on_one_line(value) if isinstance(value, str) else value for name, value in _BOUND.get().items()},
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            fields["stack"] = self.formatStack(record.stack_info)
        return json.dumps(
            {name: self.masked(value) if isinstance(value, str) else value for name, value in fields.items()}
        )


def log_to(stream: TextIO, level: str, secrets: Iterable[str], form: LogForm = LogForm.TEXT) -> logging.Handler:
    """Log our own packages from `level` upwards to `stream`, masked; replaces earlier handlers.

    Libraries log from WARNING upwards, some from ERROR, because their routine lines would hide the one line per turn.
    At DEBUG they log everything.
    """
    handler = logging.StreamHandler(stream)
    is_json = form is LogForm.JSON or (form is LogForm.AUTO and not stream.isatty())
    handler.setFormatter(JsonFormatter(secrets) if is_json else RedactingFormatter(secrets))
    logging.basicConfig(level=level if level == "DEBUG" else "WARNING", handlers=[handler], force=True)
    for package in ("agent", "store", "bot"):
        logging.getLogger(package).setLevel(level)
    for package in _WORDY:
        logging.getLogger(package).setLevel(level if level == "DEBUG" else "ERROR")
    return handler


def logs_json() -> bool:
    """Whether what is logged is for programs."""
    return any(isinstance(handler.formatter, JsonFormatter) for handler in logging.getLogger().handlers)


def log_uncaught() -> None:
    """Also log warnings of libraries, and exceptions that end the program or a thread, which Python itself would print
    as several lines of text, with the secrets in them.
    """
    logging.captureWarnings(True)  # noqa: FBT003 -- as the library has it

    def log_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not issubclass(kind, KeyboardInterrupt):
            log.critical("stopped because of a bug", exc_info=(kind, error, trace))

    def log_of_thread(of: threading.ExceptHookArgs) -> None:
        if of.exc_value is not None:
            log.critical("a thread stopped because of a bug", exc_info=(of.exc_type, of.exc_value, of.exc_traceback))

    sys.excepthook = log_exception
    threading.excepthook = log_of_thread
