"""Slack's refusals of a page, in the words of `bot.surface`.

Above: `surface`, `private`, `messages`, `stream`. Below: `api`, `bot.surface`.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from bot.platforms.slack.api import SlackError, SlackLimited, SlackRefused
from bot.surface import PageFull, PageGone, PageLimited, PageLocked, PageUnsent

TOO_LONG: Final = frozenset({"msg_too_long", "msg_blocks_too_many", "markdown_text_too_long"})
BLOCKS_REFUSED: Final = frozenset({"invalid_blocks", "invalid_blocks_format", "block_mismatch"})
"""A server knows less than what was sent; the words are not to blame."""
STREAMING: Final = "streaming_state_conflict"
_LOCKED: Final = frozenset({"cant_update_message", "cant_delete_message", "edit_window_closed"})
CURABLE: Final = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "missing_scope"}
)
"""What an operator can put right while the answer waits; any other refusal is for ever."""


class StillStreaming(PageLocked):
    """The message is a stream that nobody has ended."""


@contextmanager
def page_errors() -> Generator[None, None, None]:
    try:
        yield
    except SlackLimited as limited:
        raise PageLimited(limited.retry_after_s) from limited
    except SlackRefused as refused:
        if refused.code in TOO_LONG:
            raise PageFull(str(refused)) from refused
        if refused.code == STREAMING:
            raise StillStreaming(str(refused)) from refused
        if refused.code in _LOCKED:
            raise PageLocked(str(refused)) from refused
        if refused.code in CURABLE:
            raise PageUnsent(str(refused)) from refused
        raise PageGone(str(refused)) from refused
    except SlackError as error:
        raise PageUnsent(str(error)) from error
