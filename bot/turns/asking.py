"""Somebody who waits for the end of a turn.

Above: `bot.turns.worker`. Below: `agent.errors`, `agent.events`.
"""

import asyncio
from dataclasses import dataclass, field

from agent.errors import CogencyError
from agent.events import Outcome


class AnsweredElsewhere(CogencyError):
    """Another process on the same ledger has answered what was asked here, as this turn."""

    def __init__(self, turn: int) -> None:
        super().__init__("Another process has answered this question; the reply stands in its thread.")
        self.turn = turn


@dataclass(slots=True, eq=False)
class Asking:
    """`turn`: 0 until it is stored. The first of `resolve` and `answered_elsewhere` counts."""

    turn: int = 0
    outcome: "asyncio.Future[Outcome | None]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def resolve(self, outcome: Outcome | None) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)

    def answered_elsewhere(self) -> None:
        if not self.outcome.done():
            self.outcome.set_exception(AnsweredElsewhere(self.turn))
