"""The boundary at which an error that nobody expected becomes a sentence to the person who waits."""

import logging
from collections.abc import Generator
from contextlib import contextmanager

from agent.errors import CogencyError, Unexpected
from bot.chat.texts import replies as reply_texts

log = logging.getLogger(__name__)


@contextmanager
def unexpected_logged(what: str, *expected: type[Exception]) -> Generator[None]:
    """Log an error that is neither a CogencyError nor `expected`, with its traceback, and raise Unexpected instead.

    Without it, a message on which a library or our own code fails would be lost: nobody would learn of it, and those
    that wait behind it would be lost, too. A loop that serves everyone would end.
    """
    try:
        yield
    except (CogencyError, *expected):
        raise
    except Exception as error:
        log.exception("%s: failed", what)
        raise Unexpected(reply_texts.UNEXPECTED) from error
