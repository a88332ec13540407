"""What a feature adds to the chat bot, as one value. The chat bot knows no feature by name.

Rule: a hook is a field here once two features use it. It is a type with a name, and no loose function.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent.turn_kinds import TurnKind
from bot.chat.kinds import TurnRule
from bot.chat.notes import ReplyNote


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    name: str
    kinds: Mapping[TurnKind, TurnRule] = field(default_factory=dict[TurnKind, TurnRule])
    """The kinds of turns that it begins, and how they are answered."""
    notes: Sequence[ReplyNote] = ()
    """Lines that it adds to replies. They stand in the order of the features."""
