"""A model that wants to send Ben a message by `one_turn.Echo`, and what its asker reads and presses then."""

from collections.abc import Sequence

from agent.messages import Message
from bot.chat.texts import replies as reply_texts
from bot.tools import texts as tool_texts

CALL = 'I will tell Ben.\n<execute>[{"name": "echo", "args": {"text": "Hello Ben."}}]</execute>'
WAITS = reply_texts.WAITS_FOR_CONSENT.format(tools="`echo`")
ALLOW, HERE, REFUSE = tool_texts.ALLOW_ONCE, tool_texts.ALLOW_HERE, tool_texts.REFUSE


def says(messages: Sequence[Message]) -> str:
    """Answer as a model that calls the tool, and then reports the result."""
    last = messages[-1].text
    if "hears Hello Ben." in last:
        return "Ben knows."
    return "Then not." if "not run" in last else CALL


BOTH = (
    'I look, and tell Ben.\n<execute>[{"name": "look", "args": {"text": "x"}}, '
    '{"name": "echo", "args": {"text": "Hello Ben."}}]</execute>'
)


def says_after_looking(messages: Sequence[Message]) -> str:
    """Answer as a model that makes another call before the one that needs consent, and answers an edited question by
    its new words.
    """
    last = messages[-1].text
    if "edited their question" in last:
        return "Only Cy, then." if any("tell Cy" in one.text for one in messages) else "Which words?"
    return "Ben knows." if "hears Hello Ben." in last else BOTH
