"""Turns that have ended, as notes below a reply see them."""

from agent.events import Outcome
from agent.incoming import Incoming
from agent.messages import ModelCall, Usage
from agent.state import ActionRecord
from agent.turn_records import Closing
from bot.chat.notes import EndedTurn
from tests.fakes.incoming import said


def ended(number: int = 1, question: Incoming | None = None, actions: tuple[ActionRecord, ...] = ()) -> EndedTurn:
    """A turn that a model has answered."""
    closing = Closing(Outcome.ANSWERED, "Yes.", actions=actions, calls=(ModelCall("test", Usage(output=1)),))
    return EndedTurn(number, question or said("Hello?"), closing)
