"""The events of one turn on their way to the reply, to telemetry and to the audit."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agent import texts
from agent.errors import FailureReason
from agent.events import (
    AgentEvent,
    CallAsks,
    CallFinished,
    CallStarted,
    HandleClosed,
    HandleOpened,
    IterationStarted,
    ModelAnswered,
    ModelSwitched,
    NoticeArrived,
    ReplyEnded,
    TextArrived,
    TurnEnded,
    TurnPutAside,
)
from agent.incoming import Incoming, platform_of
from agent.messages import ModelCall
from agent.progress import Progress
from bot.chat.access.acl import TERMINAL
from bot.chat.audit import CallAudit
from bot.chat.reply.live import LiveReply
from bot.chat.telemetry import SILENT, AgentReported, Telemetry
from bot.chat.texts import replies as reply_texts
from bot.chat.turns.tool_use import AskOthers
from bot.chat.turns.turn_ports import HandleNotes

log = logging.getLogger(__name__)


TEXTS = (TextArrived, ReplyEnded, NoticeArrived, TurnEnded)  # The events that show text of the answer
MEASURED = (IterationStarted, ModelAnswered, CallStarted, CallFinished)  # The events that telemetry records


@dataclass(slots=True, eq=False)
class ObservedEvents:
    """Passes on a turn's events, and records which model was asked, and why another one answered.

    A turn that may have nothing to report holds its events back until its text shows that it has: then all are shown.
    """

    live: LiveReply
    handles: HandleNotes | None
    explain: Callable[[FailureReason], str]
    audit: CallAudit | None = None
    asked: str = ""
    """The name of the model that was asked."""
    switched: str = ""
    """Why another model answered, a sentence; "" if none did."""
    held: list[AgentEvent] | None = None
    """The events that are held back; None if events are shown as they come."""
    is_held: bool = False
    """Whether they are held back until the answer is complete, whatever its text."""
    asks: bool = True
    """Whether a request for consent ends the holding back."""
    ask_others: AskOthers | None = None
    """Asks others than the asker for consent, before the reply says who is asked; None: nobody is asked."""
    turn: int = 0
    telemetry: Telemetry = SILENT
    hides_text: bool = False
    """Whether no text is shown, because it is checked once it is complete; steps and statuses are."""
    _said: str = ""

    async def show(self, event: AgentEvent) -> None:
        if self.held is None:
            await self._show(event)
            return
        self.held.append(event)
        if isinstance(event, TextArrived):
            self._said = f"{self._said}{event.text}".lstrip()
        says_something = not texts.NOTHING_TO_REPORT.startswith(self._said.rstrip())
        if (isinstance(event, CallAsks) and self.asks) or (says_something and not self.is_held):
            await self.release()

    async def release(self) -> None:
        held, self.held = self.held or (), None
        for event in held:
            await self._show(event)

    async def _show(self, event: AgentEvent) -> None:
        if not (self.hides_text and isinstance(event, TEXTS)):
            await self.live.record_event(event)

    async def record_event(self, event: AgentEvent) -> None:
        if isinstance(event, MEASURED):
            self.telemetry.record(AgentReported(self.turn, event, self.asked))
        if isinstance(event, ModelSwitched):
            log.warning("%s answers instead of %s: %s", event.name, self.asked, event.why.sentence)
            self.switched = self.explain(event.why)
        if isinstance(event, TurnPutAside) and self.ask_others is not None:
            event = await self.ask_others(event)
        if self.handles is not None and isinstance(event, HandleOpened | HandleClosed):
            await self.handles.record_event(event)
        if self.audit is not None and isinstance(event, CallStarted | CallFinished | IterationStarted | TurnEnded):
            await self.audit.record_event(event)
        await self.show(event)

    def why(self, calls: Sequence[ModelCall]) -> str:
        """Return why another model answered than the one that was asked; "" if none did."""
        another = bool(self.asked and calls) and calls[-1].model != self.asked
        return (self.switched or reply_texts.NO_ANSWER_FROM_FIRST) if another else ""


def explained(question: Incoming, reason: FailureReason) -> str:
    """Return the reason with details of the settings in the terminal, whose user knows them; elsewhere without."""
    return reason.to_operator if platform_of(question.source) == TERMINAL else reason.to_person


async def show_again(progress: Progress, show: Callable[[AgentEvent], Awaitable[None]], *, steps: bool = False) -> None:
    """Show the text that an earlier process had written before its tools ran. `steps`: also show its calls."""
    for number, step in enumerate(progress.steps, 1):
        await show(IterationStarted(number))
        if step.text:
            await show(TextArrived(step.text))
        for at, (call, result) in enumerate(zip(step.calls, step.results, strict=True), 1):
            if steps and result is not None:
                await show(CallStarted(f"{number}.{at}", call))
                await show(CallFinished(f"{number}.{at}", result))
