"""A model for flows in which a user mentions their canoe in one place, and asks about it in others."""

from collections.abc import Sequence
from typing import Final

from agent.messages import Message

REMEMBER: Final = '<execute>[{"name": "remember", "args": {"text": "The canoe is vermilion."}}]\n</execute>'
RECALL: Final = '<execute>[{"name": "recall", "args": {"query": "canoe"}}]\n</execute>'


def answer(messages: Sequence[Message]) -> str:
    """Answer as a model that stores what it is asked to remember, and looks up everything else."""
    if "<results>" in messages[-1].text:
        return "Done."
    return REMEMBER if "remember my canoe" in messages[-1].text else RECALL
