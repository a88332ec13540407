"""Slack's refusals of a page, in the words of `bot.surface`."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from bot.platforms.slack.api import SlackError, SlackLimited, SlackRefused
from bot.surface import PageFull, PageGone, PageLimited, PageLocked, PageRefused, PageUnsent

TOO_LONG: Final = frozenset({"msg_too_long", "msg_blocks_too_many", "markdown_text_too_long"})
BLOCKS_REFUSED: Final = frozenset({"invalid_blocks", "invalid_blocks_format", "block_mismatch"})
"""A server knows less than what was sent; the words are not to blame."""
STREAMING: Final = "streaming_state_conflict"
_LOCKED: Final = frozenset({"cant_update_message", "cant_delete_message", "edit_window_closed"})
CURABLE: Final = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "missing_scope"}
)
"""What an operator can put right while the answer waits; any other refusal is for ever."""
_INSTALL: Final = "Install the app again, and set SLACK_BOT_TOKEN to its new token."
_OPERATOR: Final = {
    "missing_scope": "`cogency doctor` says which scope is missing.",
    **dict.fromkeys(CURABLE - {"missing_scope"}, _INSTALL),
}
"""What an operator can do, as the log says it."""
_DELETED: Final = frozenset({"message_not_found", "thread_not_found", "no_such_thread", "cannot_reply_to_message"})
_REMEDIES: Final = {
    "is_archived": "That channel is archived: ask in another one, or have it restored.",
    "channel_not_found": "I cannot see that channel: ask me elsewhere, or invite me there.",
    "not_in_channel": "I am not in that channel: invite me there, and ask again.",
    "restricted_action": "A setting of the workspace keeps me from writing there: ask me elsewhere, or an admin.",
    "messages_tab_disabled": "Direct messages to me are switched off in the app's settings: ask whoever runs me.",
}
_REMEDY: Final = "Please ask me in another place; whoever runs me finds the reason in the log."


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
            raise PageUnsent(f"{refused} {_OPERATOR[refused.code]}") from refused
        if refused.code in _DELETED:
            raise PageGone(str(refused)) from refused
        why = next((why for code, why in _REMEDIES.items() if refused.code.startswith(code)), _REMEDY)
        raise PageRefused(str(refused), why) from refused
    except SlackError as error:
        raise PageUnsent(str(error)) from error
