"""Calls of tools by the code that another call runs.

Rules
  A call of code passes what a call of the model passes: the policy, the check of its arguments, the audit, the tool's
  own limits. It runs only if its tool only reads, and if nobody has to be asked.
  Its result is stored with the turn, so what the turn has read, whose words it holds, whom it may be shown to and what
  it can cite follow from it as from any result. `labelled` says the same of the output that code makes of results.
  Code may choose among the addresses that it has read, and so tell something to whoever listens there. So what it can
  send in one turn is few.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from agent.asking import ASK_USER
from agent.errors import ToolError
from agent.events import AgentEvent, CallFinished, CallStarted
from agent.memory.audience import WIDE, Place, drawn_from, label
from agent.messages import Keep, ResultStatus, ToolCall, ToolResult
from agent.ports.tools import CodeTool, Tool, ToolContext, ToolEffect, ToolOutput
from agent.progress import InnerCall, words_of
from agent.toolbox.registry import Registry
from agent.turn import TOO_MANY_INNER, Turn
from agent.turn_events import CallAnswered, CallPlaced

MAX_INNER_SENDS: Final = 40  # Calls of code in one turn that send what they name out of the bot: pages, other servers
ONLY_READS: Final = "{tool} can only be called outside of the code, as it does more than read"
TOO_MANY_SENT: Final = "not run: code sent {limit} calls out for this question, which is the limit"
FOR_PEOPLE: Final = "[a picture or file, which code does not get]"

BeforeInner: TypeAlias = Callable[[ToolCall], Awaitable[ToolCall]]
RunCall: TypeAlias = Callable[[CallPlaced, Registry, ToolContext], Awaitable[CallAnswered]]


@dataclass(slots=True, eq=False)
class CodeCalls:
    """The port `agent.ports.tools.InnerCalls` for the call `outer`. `context`: that of a call now. `emit` may raise, to
    prevent a call.
    """

    outer: str
    turn: Turn
    registry: Registry
    context: Callable[[], ToolContext]
    emit: Callable[[AgentEvent], Awaitable[None]]
    run_call: RunCall
    before: BeforeInner
    """Returns the call as it may run; one that it refuses is refused by `turn`."""
    tools: Sequence[Tool] = field(init=False)

    def __post_init__(self) -> None:
        of_code = (tool for tool in self.registry.tools if tool.name != ASK_USER)
        self.tools = [tool for tool in of_code if not isinstance(tool, CodeTool)]

    async def run(self, call: ToolCall) -> ToolResult:
        if not self.turn.allows_inner_calls:
            raise ToolError(TOO_MANY_INNER.format(limit=self._inner_count), ours=True)
        call = await self.before(call)
        id_ = f"{self.outer}.{self._inner_count + 1}"
        if (problem := self._refusal_of(call)) is not None:
            result = ToolResult(call.name, ResultStatus.FAILURE, problem)
            self.turn.record_inner(InnerCall(id_, call, result))
            return result
        await self.emit(CallStarted(id_, call, self.outer))
        answered = await self.run_call(CallPlaced(id_, call), self.registry, self.context())
        result = for_code(answered.result)
        self.turn.record_inner(InnerCall(id_, call, result))
        await self.emit(CallFinished(id_, result, self.outer))
        return result

    @property
    def _inner_count(self) -> int:
        return sum(len(step.inner) for step in self.turn.progress.steps)

    def _refusal_of(self, call: ToolCall) -> str | None:
        tool = next((tool for tool in self.tools if tool.name == call.name), None)
        if tool is not None and tool.effect is not ToolEffect.READS:
            return ONLY_READS.format(tool=call.name)
        if (problem := self.turn.refusal_of_inner(call)) is not None:
            return problem
        if tool is None:
            return ONLY_READS.format(tool=call.name)
        inner = [each for step in self.turn.progress.steps for each in step.inner]
        sent = sum(each.call.name in self.registry.sends for each in inner)
        if call.name in self.registry.sends and sent >= MAX_INNER_SENDS:
            return TOO_MANY_SENT.format(limit=MAX_INNER_SENDS)
        return None


def for_code(result: ToolResult) -> ToolResult:
    """Return a result without pictures and files, which people and models see and code does not."""
    if not (result.images or result.files):
        return result
    return replace(result, content=f"{result.content}\n{FOR_PEOPLE}", images=(), files=())


def labelled(output: ToolOutput, results: Sequence[ToolResult], place: Place) -> ToolOutput:
    """Return the output of code in `place` with the labels of all results that it was made from."""
    if not results:
        return output
    labels = {result.audience for result in results if result.audience}
    if output.audience is None:
        audience = None
    elif labels <= {label(output.audience)}:
        audience = output.audience
    else:  # of several places: those who read here, if they may read all of it, else the asker
        is_wide = drawn_from([*labels, label(output.audience)], place) == WIDE
        audience = place.audience if is_wide else None
    is_kept = output.keep is Keep.STORED and all(result.keep is Keep.STORED for result in results)
    return replace(
        output,
        sources=tuple(dict.fromkeys([*output.sources, *(each for result in results for each in result.sources)])),
        documents=tuple(dict.fromkeys([*output.documents, *(each for result in results for each in result.documents)])),
        audience=audience,
        keep=Keep.STORED if is_kept else Keep.TURN,
        words=max(output.words, *map(words_of, results)),
    )
