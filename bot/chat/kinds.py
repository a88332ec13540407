"""How turns of each kind are answered (`agent.turn_kinds`)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from agent.incoming import Incoming, Quoted
from agent.progress import Progress
from agent.turn_events import EndDue
from agent.turn_kinds import TurnKind
from agent.turn_records import Closing


class TurnWatcher(Protocol):
    """What the feature that begins turns of a kind does about them."""

    async def end_due(self, question: Incoming, progress: Progress) -> EndDue | None:
        """Return how the turn has to end before its next call of a model; None if it goes on. Raises StoreError."""
        ...

    async def ended(self, question: Incoming, closing: Closing) -> Incoming | None:
        """Called once the reply is shown, before its end is stored. Return a message to accept as a turn, or None.

        Raises StoreError.
        """
        ...


@dataclass(frozen=True, slots=True)
class Report:
    """What one turn is to report."""

    instruction: str = ""
    """Stands behind the question, for the model, and behind the instruction of the kind."""
    quoted: tuple[Quoted, ...] = ()
    """What the model reads beside the question: data, and no instructions."""
    posts: Callable[[str], bool] | None = None
    """Returns whether a complete answer is posted, given without the sources below it; it is held back until then.
    None: it is shown as it grows.
    """


NO_REPORT: Final = Report()


class TurnReporter(Protocol):
    """Decides what turns of a kind post, such as nothing if nothing has changed since the last one."""

    async def report(self, question: Incoming) -> Report:
        """Called as the turn begins, and again if another process goes on with it. Raises StoreError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRule:
    """How turns of one kind are answered; the defaults are for a person's question."""

    instruction: str = ""
    """Stands behind the question, for the model."""
    posts_text: bool = False
    """The reply was written when the turn was begun: no model is called."""
    may_be_silent: bool = False
    """The answer may be that there is nothing to report. It is held back until that is excluded, and else not shown."""
    is_unasked: bool = False
    """Nobody asked the bot: its tools only read and ask nobody anything, no message joins it, it shows no failure, and
    asks for no consent before it has said something.
    """
    shows_failures: bool = False
    """Although nobody asked, a failure is shown."""
    tools: Callable[[Incoming], Callable[[str], bool]] | None = None
    """Returns which tools the answer may use, by their names; None: all that its asker has."""
    runs_beside: bool = False
    """It runs in a conversation of its own, and reads as in the one where it was requested. Nobody waits for it, its
    words were written by a model, and no later message joins it.
    """
    rounds: int = 0
    """The turn may have at least this many rounds."""
    is_learned_from: bool = True
    offers_actions: bool = True
    """Its reply can be regenerated, continued or rated."""
    watcher: TurnWatcher | None = None
    reporter: TurnReporter | None = None
    """Needs `may_be_silent`."""


# The kinds that no feature begins: a person asks, and waits.
ASKED: Final[Mapping[TurnKind, TurnRule]] = dict.fromkeys(
    (TurnKind.QUESTION, TurnKind.POSTED, TurnKind.SCHEDULED_AGAIN), TurnRule()
)
