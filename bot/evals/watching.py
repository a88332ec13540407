"""Follows the turns of an exam by the telemetry of its bot: when they end, which calls they make, what they cost."""

import asyncio
from dataclasses import dataclass, field
from typing import Final

from agent.events import CallFinished, CallStarted, ModelAnswered, Outcome
from agent.messages import ModelCall, ResultStatus, ToolCall, ToolResult
from agent.spending import Spent, cost
from bot.chat.telemetry import AgentReported, Charged, TelemetryEvent, TurnBegan, TurnOver, TurnUnended

FREE: Final = "rehearsal"  # The name of the model that costs nothing


@dataclass(slots=True, eq=False)
class WatchedTurn:
    """The turn of one question. `ended` is set when it is over for good; `outcome`: None if it failed without one."""

    turn: int = 0
    outcome: Outcome | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    started: dict[str, ToolCall] = field(default_factory=dict[str, ToolCall])
    finished: dict[str, ToolResult] = field(default_factory=dict[str, ToolResult])
    models: list[str] = field(default_factory=list[str])
    spent: Spent = field(default_factory=Spent)

    def record(self, event: object) -> None:
        match event:
            case CallStarted(id_, call):
                self.started[id_] = call
            case CallFinished(id_, result):
                self.finished[id_] = result
            case ModelAnswered(model, usage) if usage is not None:
                self.models.append(model)
                self.spent += Spent.on([ModelCall(model, usage)])
            case _:
                pass

    @property
    def calls(self) -> list[tuple[ToolCall, ToolResult | None]]:
        return [(call, self.finished.get(id_)) for id_, call in self.started.items()]

    @property
    def is_free(self) -> bool:
        return all(model == FREE for model in self.models)


def ran(result: ToolResult | None) -> bool:
    return result is not None and result.status is ResultStatus.SUCCESS


@dataclass(slots=True, eq=False)
class TurnWatch:
    """Implements the port `Telemetry`. `spent`: by all model calls of the bot so far, which are in `calls`; `unpriced`:
    the name of a model that was called and has no price, "" for none.
    """

    spent: Spent = field(default_factory=Spent)
    calls: list[ModelCall] = field(default_factory=list[ModelCall])
    unpriced: str = ""
    _waiting: dict[str, WatchedTurn] = field(default_factory=dict[str, WatchedTurn])  # By conversation
    _turns: dict[int, WatchedTurn] = field(default_factory=dict[int, WatchedTurn])

    def expect(self, conversation: str) -> WatchedTurn:
        """Follow the next turn of this conversation."""
        watched = self._waiting[conversation] = WatchedTurn()
        return watched

    def forget(self, conversation: str) -> None:
        if (watched := self._waiting.pop(conversation, None)) is not None:
            self._turns.pop(watched.turn, None)

    def record(self, event: TelemetryEvent, /) -> None:
        match event:
            case TurnBegan(turn, _, conversation):
                watched = self._waiting.get(conversation)
                if watched is not None and watched.turn in (0, turn):
                    watched.turn = turn
                    self._turns[turn] = watched
            case AgentReported(turn, reported) if turn in self._turns:
                self._turns[turn].record(reported)
            case TurnOver(turn, end) if turn in self._turns:
                # A turn that waits for its asker, or is put off, goes on later.
                if isinstance(end, Outcome) or end in (TurnUnended.FAILED, TurnUnended.LOST):
                    self._turns[turn].outcome = end if isinstance(end, Outcome) else None
                    self._turns[turn].ended.set()
            case Charged(_, calls):
                self.spent += Spent.on(calls)
                self.calls += calls
                unpriced = (call.model for call in calls if call.model != FREE and cost(call) is None)
                self.unpriced = self.unpriced or next(unpriced, "")
            case _:
                pass
