"""The driver of one turn: performs what `agent.turn` asks for, and tells what happens.

Above: `bot.turns`. Below: `agent.turn`, `agent.protocol.parser`, the Provider and Tool ports.

Events go out through `emit`, not by yielding: a generator that is suspended while tools run could be closed from
outside its task. Cancelling `run` cancels the model call and the tools, waits for them, and raises.

One of the three broad excepts of this program is here: a tool call. Whatever a tool raises becomes a failed result.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing

from agent.effects import (
    CallAnswered,
    CallModel,
    CallPlaced,
    Effect,
    Finish,
    ResponseBegun,
    ResponseCompleted,
    ResponseFailed,
    RunTools,
    SaveProgress,
    Say,
)
from agent.errors import ProviderError, ToolError
from agent.events import (
    AgentEvent,
    CallFinished,
    CallStarted,
    IterationStarted,
    NoticeArrived,
    ProtocolEvent,
    ReplyEnded,
    TextArrived,
    TurnEnded,
    ViolationFound,
)
from agent.messages import Message, ResultStatus, ToolResult, Usage
from agent.ports import (
    Clock,
    Provider,
    ReasoningArrived,
    ResponseEnded,
    StopReason,
    TokensArrived,
    ToolContext,
    ToolOutput,
)
from agent.progress import Progress
from agent.protocol.parser import Parser
from agent.tokens import estimate_tokens
from agent.tools.registry import Registry
from agent.turn import Turn

log = logging.getLogger(__name__)

Emit = Callable[[AgentEvent], Awaitable[None]]
Save = Callable[[Progress], Awaitable[None]]

TOOL_BROKE = "the tool failed unexpectedly; the operator finds the reason in the log"


class Loop:
    """Runs one turn. `context` is what `build_context` made; `save` makes progress durable before the next effect."""

    def __init__(
        self,
        turn: Turn,
        context: Sequence[Message],
        provider: Provider,
        tools: Registry,
        tool_context: ToolContext,
        clock: Clock,
        *,
        emit: Emit,
        save: Save,
    ) -> None:
        self._turn = turn
        self._context = tuple(context)
        self._provider = provider
        self._tools = tools
        self._tool_context = tool_context
        self._clock = clock
        self._emit = emit
        self._save = save
        self.usage = Usage()
        self.violations: Counter[str] = Counter()

    async def run(self) -> TurnEnded:
        """Until the turn ends. Raises CancelledError, and what `emit` and `save` raise; never a provider's error."""
        effects: deque[Effect] = deque(self._turn.start())
        while True:
            match effects.popleft():
                case CallModel(number, appended):
                    effects.extend(await self._call_model(number, (*self._context, *appended)))
                case SaveProgress(progress):
                    await self._save(progress)
                case RunTools(calls):
                    effects.extend(await self._run_tools(calls))
                case Say(sentence):
                    await self._emit(NoticeArrived(sentence))
                case Finish(outcome, text):
                    ended = TurnEnded(outcome, text, self.usage)
                    await self._emit(ended)
                    return ended

    async def _call_model(self, number: int, messages: Sequence[Message]) -> list[Effect]:
        await self._emit(IterationStarted(number))
        self._turn.receive(ResponseBegun(self._clock.now()))
        parser = Parser(tool_names=self._tools.names)
        received: list[str] = []
        ended: ResponseEnded | None = None
        try:
            async with aclosing(self._provider.stream(messages)) as stream:
                async for event in stream:
                    match event:
                        case TokensArrived(text):
                            received.append(text)
                            effects = await self._take(parser.feed(text))
                            if parser.halted:
                                self._count(messages, received, None)
                                return effects
                        case ReasoningArrived():
                            self._turn.receive(event)
                        case ResponseEnded():
                            ended = event
        except asyncio.CancelledError:
            self._count(messages, received, None)
            raise
        except ProviderError as error:
            effects = await self._take(parser.close()) if received else []
            self._count(messages, received, None)
            return effects or self._turn.receive(ResponseFailed(str(error)))
        self._count(messages, received, ended)
        effects = await self._take(parser.close())
        return effects or self._turn.receive(ResponseCompleted(ended.reason if ended else StopReason.END))

    async def _take(self, events: Sequence[ProtocolEvent]) -> list[Effect]:
        effects: list[Effect] = []
        for event in events:
            if isinstance(event, ViolationFound):
                self.violations[event.kind] += 1
                log.info("the model broke the protocol: %s %s", event.kind, event.detail)
            if isinstance(event, TextArrived | ReplyEnded):
                await self._emit(event)
            effects += self._turn.receive(event)
        return effects

    async def _run_tools(self, calls: Sequence[CallPlaced]) -> list[Effect]:
        tasks = [asyncio.create_task(self._run_tool(placed)) for placed in calls]
        effects: list[Effect] = []
        try:
            for placed in calls:
                await self._emit(CallStarted(placed.id, placed.call))
            for task in asyncio.as_completed(tasks):
                answered = await task
                for effect in self._turn.receive(answered):
                    if isinstance(effect, SaveProgress):
                        await self._save(effect.progress)
                    else:
                        effects.append(effect)
                await self._emit(CallFinished(answered.id, answered.result))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return effects

    async def _run_tool(self, placed: CallPlaced) -> CallAnswered:
        tool = self._tools.get(placed.call.name)
        try:
            async with asyncio.timeout(tool.timeout_s):
                output = await tool.run(placed.call.args, self._tool_context)
            if isinstance(output, str):
                output = ToolOutput(output)
            result = ToolResult(tool.name, ResultStatus.SUCCESS, output.text, output.sources)
        except TimeoutError:
            result = ToolResult(
                tool.name, ResultStatus.FAILURE, f"no result after {tool.timeout_s:g} s; it was stopped"
            )
        except ToolError as error:
            result = ToolResult(tool.name, ResultStatus.FAILURE, str(error))
        except asyncio.CancelledError:
            if _is_cancelled():
                raise
            log.warning("tool %s cancelled itself in call %s", tool.name, placed.id)
            result = ToolResult(tool.name, ResultStatus.FAILURE, TOOL_BROKE)
        except Exception:
            log.exception("tool %s failed in call %s", tool.name, placed.id)
            result = ToolResult(tool.name, ResultStatus.FAILURE, TOOL_BROKE)
        return CallAnswered(placed.id, self._tools.bounded(result))

    def _count(self, messages: Sequence[Message], received: Sequence[str], ended: ResponseEnded | None) -> None:
        if ended and ended.usage:
            self.usage += ended.usage
            return
        self.usage += Usage(
            input_uncached=sum(estimate_tokens(message.text) for message in messages),
            output=estimate_tokens("".join(received)),
            bytes_up=sum(len(message.text.encode()) for message in messages),
            estimated=True,
        )


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
