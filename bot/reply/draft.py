"""What a reply shows so far: folds the agent's events into visible text, steps and a status line. Pure.

Rule: a step tells what is done and how it went, never with what: arguments and results may hold what only the asker
may see, and the page may be read by others. Only its trace does, for surfaces that nobody else reads.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, assert_never

from agent import events
from agent.messages import ResultStatus, ToolCall, ToolResult
from agent.protocol.render import ReplyText
from bot.reply_surface import ReplyAction, ShownStep, StepState
from bot.texts import reply_texts
from bot.texts.formatting import shortened

ENDS: Final[Mapping[ResultStatus, StepState]] = {
    ResultStatus.SUCCESS: StepState.DONE,
    ResultStatus.FAILURE: StepState.FAILED,
    ResultStatus.UNKNOWN: StepState.FAILED,
}

GROWING: Final = frozenset({ReplyAction.STOP})
"""What is offered below a reply that grows."""


TELLING: Final = ("query", "text", "name")
"""The arguments that say what a call was about, of whichever tool, the most telling first."""
TRACE_CHARS: Final = 80
"""Of an argument: a trace is one line on a usual screen."""


def trace(call: ToolCall, result: ToolResult) -> str:
    """What a call did, for the asker alone: "searched past threads: boat, 2 found"."""
    about = next((str(call.args[name]) for name in TELLING if call.args.get(name)), "")
    done = reply_texts.DONE_BY_TOOL.get(call.name) or f"used {call.name.replace('_', ' ')}"
    said = f"{done}: {shortened(about, TRACE_CHARS)}" if about.strip() else done
    if result.status is not ResultStatus.SUCCESS:
        return f"{said} ({reply_texts.OUTPUTS[result.status].rstrip('.').lower()})"
    return f"{said}, {len(result.sources)} found" if call.name == "recall" else said


def status_line(tool: str) -> str:
    """What a person reads while this tool runs."""
    return reply_texts.STATUS_LINES.get(tool) or reply_texts.USING_TOOL.format(tool=tool.replace("_", " "))


class Draft:
    """Feed it with `see`. `status` is what the bot is doing now, "" when the reply itself shows it.

    `offers` is what a reader may do about it now; `final` that nothing more comes at all; `ending` that only the end
    is missing, and comes at once: a frame before it would be one too many.
    """

    def __init__(self) -> None:
        self._reply = ReplyText()
        self._whole: str | None = None
        self._ended = False
        self._steps: dict[str, ShownStep] = {}
        self._calls: dict[str, ToolCall] = {}
        self.status = ""
        self.offers = GROWING
        self.final = False

    def see(self, event: events.AgentEvent) -> None:
        match event:
            case events.IterationStarted():
                self._begin_part()
                self.status = reply_texts.THINKING
            case events.TextArrived(text):
                self._add(text)
            case events.NoticeArrived(text):
                self._begin_part()
                self._add(text)
            case events.ReplyEnded():
                self._ended = True
            case events.CallStarted(name, call):
                self.status = status_line(call.name)
                self._steps[name] = ShownStep(name, self.status, StepState.RUNNING)
                self._calls[name] = call
            case events.CallFinished(name, result):
                told = trace(self._calls[name], result) if name in self._calls else ""
                self._end_step(name, ENDS[result.status], reply_texts.OUTPUTS[result.status], told)
            case events.ModelSwitched() | events.HandleOpened() | events.HandleClosed():
                pass
            case events.TurnEnded(_, text):
                self._whole = text
            case _:
                assert_never(event)

    def end(self, text: str | None = None, offers: frozenset[ReplyAction] = frozenset()) -> None:
        """Nothing more comes. `text` is the whole reply, if somebody else knows it better."""
        if text is not None or self._whole is None:
            self._whole = self._reply.text if text is None else text
        self.status, self.offers, self.final = "", offers, True
        for step in self.steps:
            if step.state is StepState.RUNNING:
                self._end_step(step.id, StepState.FAILED, reply_texts.UNFINISHED)

    @property
    def steps(self) -> tuple[ShownStep, ...]:
        """What was done on the way, in its order."""
        return tuple(self._steps.values())

    @property
    def ending(self) -> bool:
        return self._whole is not None and not self.final

    @property
    def complete(self) -> bool:
        """The answer is said to its end, so that none of its Markdown is unfinished."""
        return self._ended or self._whole is not None

    @property
    def text(self) -> str:
        """The whole text if it is complete; else without whitespace at its end, so that it only ever grows."""
        if self._whole is not None:
            return self._whole
        return self._reply.text if self._ended else self._reply.settled

    def _end_step(self, name: str, state: StepState, output: str, told: str = "") -> None:
        if name in self._steps:  # else it began in an earlier process
            self._steps[name] = replace(self._steps[name], state=state, output=output, trace=told)

    def _begin_part(self) -> None:
        self._reply.begin_part()
        self._ended = False

    def _add(self, text: str) -> None:
        self._reply.add(text)
        if not text.isspace():
            self._ended = False
            self.status = ""
