"""A model for flows in which somebody tells of their canoe in one place, and asks for it in others."""

from collections.abc import Sequence
from typing import Final

from agent.messages import Message

REMEMBER: Final = '<execute>[{"name": "remember", "args": {"text": "The canoe is vermilion."}}]\n</execute>'
RECALL: Final = '<execute>[{"name": "recall", "args": {"query": "canoe"}}]\n</execute>'


def answer(messages: Sequence[Message]) -> str:
    """A model that notes what it is told to note, and looks everything else up."""
    if "<results>" in messages[-1].text:
        return "Done."
    return REMEMBER if "remember my canoe" in messages[-1].text else RECALL
