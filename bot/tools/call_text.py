"""A call as people read it before they decide about it."""

import re
from collections.abc import Sequence
from typing import Final

from agent.messages import ToolCall
from agent.tool_policy import shown_arguments
from bot.chat.texts.formatting import as_code, literal
from bot.tools import texts as tool_texts

ASKED_CHARS: Final = 200  # Of the question
INLINE_CHARS: Final = 100
_INLINE: Final = re.compile(r"[^\S\n]*+[^`<\s][^`<\n]*+")  # What no platform could read as anything but code


def argument_lines(call: ToolCall) -> Sequence[str]:
    """Return every character of the call's arguments."""
    return [_argument(name, shown) for name, shown in shown_arguments(call)] or [tool_texts.NO_ARGUMENTS]


def _argument(name: str, shown: str) -> str:
    if len(shown) > INLINE_CHARS or _INLINE.fullmatch(shown) is None:
        return f"**{literal(name)}**:\n{as_code(shown)}"
    return f"**{literal(name)}**: `{shown}`"
