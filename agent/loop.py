"""The driver of one turn: performs what `agent.turn` asks for, and tells what happens.

Events go out through `emit`, not by yielding: a generator that is suspended while tools run could be closed from
outside its task. Cancelling `run` cancels the model call and the tools, waits for them, and raises.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import inf
from operator import attrgetter
from typing import Final

from agent import events, ports
from agent import turn as turns
from agent.errors import ProviderError, ProviderSilent, StreamBroken, ToolError
from agent.messages import CallTiming, Depth, Elicitation, Elicited, Keep, Message, ModelCall, Usage, estimate_usage
from agent.progress import Progress
from agent.protocol.grammar import TAG_NAMES, BlockKind
from agent.protocol.parser import Parser
from agent.protocol.render import neutralise
from agent.records import Waiting
from agent.tools.registry import Registry

# Of text and reasoning together: about 125,000 tokens, as much as the vendors let a model write at once. A small model
# that repeats itself would never end.
MAX_CHARS = 500_000


@dataclass(slots=True)
class ModelAnswer:
    """`messages` are what it answers. `pending` are events that wait for its end; `violations` those before it.

    `worked_on`: the model began with it, as far as anybody knows. What it refused takes nothing. `begun`: when it was
    asked, by both clocks; `first`: when its first piece came.
    """

    parser: Parser
    messages: Sequence[Message]
    begun: tuple[datetime, float]
    first: float | None = None
    violations: int = 0
    received: list[str] = field(default_factory=list[str])
    pending: list[events.ProtocolEvent] = field(default_factory=list[events.ProtocolEvent])
    reasoned: list[str] = field(default_factory=list[str])
    chars: int = 0
    ended: ports.ResponseEnded | None = None
    worked_on: bool = True

    @property
    def is_endless(self) -> bool:
        return self.chars > MAX_CHARS

    def hear(self, text: str) -> None:
        self.chars += len(text)
        self.received.append(text)
        self.pending += self.parser.feed(text)

    def reason(self, text: str) -> None:
        self.chars += len(text)
        self.reasoned.append(text)

    def complete(self) -> None:
        self.pending += self.parser.close()

    def fail(self, error: ProviderError) -> None:
        """It broke off, or never began. Calls that are complete count; half of them is not the model's mistake."""
        rest = self.parser.close() if self.received else []
        self.pending += [event for event in rest if not isinstance(event, events.CallsRejected)]
        self.worked_on = isinstance(error, StreamBroken | ProviderSilent) or bool(self.received or self.reasoned)

    def estimate(self) -> Usage:
        return estimate_usage(self.messages, "".join(self.received), "".join(self.reasoned))

    def timing(self, now: float) -> CallTiming:
        """`now`: by the clock that only goes forward."""
        at, begun = self.begun
        return CallTiming(at, _ms(now - begun), None if self.first is None else _ms(self.first - begun))


def _ms(seconds: float) -> int:
    return max(0, round(seconds * 1000))


# One call of a tool: its result, whatever happens.
#
# One of the three broad excepts of this program is here: a tool call. Whatever a tool raises becomes a failed result.

log = logging.getLogger(__name__)

SPENT = "a budget is used up"  # Whose, and how much of it, is for its person alone
TOOL_BROKE = "the tool failed unexpectedly; the operator finds the reason in the log"


async def run_call(placed: turns.CallPlaced, tools: Registry, context: ports.ToolContext) -> turns.CallAnswered:
    """Run a call that was checked, within its tool's time. Raises CancelledError only if the caller is cancelled."""
    tool = tools.get(placed.call.name)
    try:
        async with asyncio.timeout(tool.timeout_s) as limit:
            context = replace(context, ask=_untimed(context.ask, limit))
            output = await tool.run(tools.as_meant(placed.call).args, context)
        output = ports.ToolOutput(output) if isinstance(output, str) else output
        result = tools.result(tool.name, output, context.person)
    except TimeoutError:
        result = tools.failure(tool.name, f"no result after {tool.timeout_s:g} s; it was stopped")
    except ToolError as error:
        keep = Keep.TURN if error.for_turn else Keep.STORED
        result = tools.failure(tool.name, str(error), None if error.ours else context.person, keep=keep)
    except asyncio.CancelledError:
        if _is_cancelled():
            raise
        log.warning("tool %s cancelled itself in call %s", tool.name, placed.id)
        result = tools.failure(tool.name, TOOL_BROKE)
    except Exception:
        log.exception("tool %s failed in call %s", tool.name, placed.id)
        result = tools.failure(tool.name, TOOL_BROKE)
    return turns.CallAnswered(placed.id, result)


def _untimed(ask: ports.Ask, limit: asyncio.Timeout) -> ports.Ask:
    """The tool's time stands still while its asker thinks."""
    asking, left = 0, 0.0

    async def run(question: Elicitation) -> Elicited:
        nonlocal asking, left
        loop = asyncio.get_running_loop()
        if (ends := limit.when()) is not None:
            left = ends - loop.time()
            limit.reschedule(None)
        asking += 1
        try:
            return await ask(question)
        finally:
            asking -= 1
            if not asking:
                with suppress(RuntimeError):  # the call has ended meanwhile
                    limit.reschedule(loop.time() + left)

    return run


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def open_session(provider: ports.Provider, options: ports.CallOptions) -> ports.ModelSession:
    """A session of the provider: its own where it can resume, else one that replays the context in each round."""
    if provider.capabilities.resume and isinstance(provider, ports.ResumingProvider):
        return provider.connect(options)
    return ReplaySession(provider, options)


async def one_round(
    session: ports.ModelSession, messages: Sequence[Message]
) -> AsyncGenerator[ports.ProviderEvent, None]:
    """Answer `messages` in this session alone, and close it. Errors as `Session.answer`."""
    try:
        async with aclosing(session.answer(messages)) as stream:
            async for event in stream:
                yield event
    finally:
        await session.close()


class ReplaySession:
    """Sends the whole context in each round."""

    def __init__(self, provider: ports.Provider, options: ports.CallOptions) -> None:
        self._provider = provider
        self._options = options

    def answer(self, messages: Sequence[Message]) -> AsyncGenerator[ports.ProviderEvent, None]:
        return self._provider.stream(messages, self._options)

    async def close(self) -> tuple[str, ...]:
        return ()


Emit = Callable[[events.AgentEvent], Awaitable[None]]
Save = Callable[[Progress], Awaitable[None]]
Arrived = Callable[[], Awaitable[Sequence[Waiting]]]  # What the person wrote behind this turn so far
# Why nobody may be asked anything by the way after these calls: a budget is used up; None if somebody may.
Afford = Callable[[Sequence[ModelCall]], Awaitable[str | None]]

# Whether the turn has to come to its end; None if it may go on.
Ends = Callable[[Progress], Awaitable[turns.EndDue | None]]

# Asks for a call, by its id. The last argument is called once the question can be answered.
AskPerson = Callable[[str, Elicitation, Callable[[], Awaitable[None]]], Awaitable[Elicited]]

DRAIN_S = 2.0  # From the end of the calls to the end of the answer: the model was told to stop there

_SHOWN = (events.TextArrived, events.ReplyEnded)
_STEP_ENDS = (events.CallsArrived, events.CallsRejected)
# The calls are complete with their JSON: the tag, or what is left of it, comes after them.
_CLOSING_TAGS = tuple(f"</{name}>" for name, kind in TAG_NAMES.items() if kind is BlockKind.EXECUTE)


class Loop:
    """Runs one turn. `context` is what `build_context` made; `save` makes progress durable before the next effect.

    `explain`: what the person reads when the model fails. `ends`: whether the turn has to come to its end.
    """

    def __init__(
        self,
        turn: turns.Turn,
        context: Sequence[Message],
        provider: ports.Provider,
        tools: Registry,
        tool_context: ports.ToolContext,
        clock: ports.Clock,
        *,
        emit: Emit,
        save: Save,
        arrived: Arrived | None = None,
        ask: AskPerson | None = None,
        afford: Afford | None = None,
        ends: Ends | None = None,
        explain: Callable[[ProviderError], str] = attrgetter("reason.to_person"),
        options: ports.CallOptions = ports.CallOptions(),  # noqa: B008 -- frozen
    ) -> None:
        self._turn = turn
        self._context = tuple(context)
        self._provider = provider
        self._tools = tools
        self._tool_context = tool_context
        self._clock = clock
        self._emit = emit
        self._save = save
        self._arrived = arrived
        self._ask = ask
        self._afford = afford
        self._ends = ends
        self._explain = explain
        self._session = open_session(provider, options)
        self._model = provider.name
        self._handles: dict[str, None] = {}
        self.violations: Counter[str] = Counter()

    async def run(self) -> events.TurnEnded | events.TurnPutAside:
        """Until the turn ends, or waits for its asker.

        Raises CancelledError, and what `emit` and `save` raise; never a provider's error.
        """
        try:
            return await self._run(deque(self._turn.start()))
        finally:
            kept = await self._session.close()
            for handle in self._handles.keys() - set(kept):
                await self._emit(events.HandleClosed(handle))

    @property
    def usage(self) -> Usage:
        return sum((call.usage for call in self._turn.progress.calls), Usage())

    async def _run(self, effects: deque[turns.Effect]) -> events.TurnEnded | events.TurnPutAside:
        while True:
            match effects.popleft():
                case turns.CallModel(number, appended):
                    effects.extend(
                        await self._poll_joined_messages(number)
                        or await self._come_to_end()
                        or await self._call_model(number, (*self._context, *appended))
                    )
                case turns.SaveProgress(progress):
                    await self._save(progress)
                case turns.RunTools(calls):
                    effects.extend(await self._run_tools(calls))
                case turns.AwaitConsent(calls):
                    aside = events.TurnPutAside({placed.id: placed.call for placed in calls})
                    await self._emit(aside)
                    return aside
                case turns.Say(sentence):
                    await self._emit(events.NoticeArrived(sentence))
                case turns.Finish(outcome, text):
                    ended = events.TurnEnded(outcome, text, self.usage)
                    await self._emit(ended)
                    return ended

    async def _poll_joined_messages(self, number: int) -> list[turns.Effect]:
        """Let join what came meanwhile: then another call is due than the one that was."""
        arrived = await self._arrived() if self._arrived is not None and number > 1 else ()
        return self._turn.receive(turns.MessagesJoined(tuple(arrived))) if arrived else []

    async def _come_to_end(self) -> list[turns.Effect]:
        """Another call than the one that was due, if it has to be the last."""
        due = await self._ends(self._turn.progress) if self._ends is not None else None
        return [] if due is None else self._turn.come_to_end(due)

    async def _call_model(self, number: int, messages: Sequence[Message]) -> list[turns.Effect]:
        await self._emit(events.IterationStarted(number))
        begun = (self._clock.now(), self._clock.monotonic())
        self._turn.receive(turns.ResponseBegun(begun[0]))
        answer = ModelAnswer(Parser(tool_names=self._tools.names), messages, begun, violations=self.violations.total())
        try:
            async with aclosing(self._session.answer(messages)) as stream:
                await self._read(stream, answer)
        except asyncio.CancelledError:
            self._count(answer)
            raise
        except ProviderError as error:
            answer.fail(error)
            failure, failed = type(error).__name__, turns.ResponseFailed(self._explain(error))
        else:
            answer.complete()
            failure = ""
            failed = turns.ResponseCompleted(answer.ended.reason if answer.ended else ports.StopReason.END)
        await self._take_text(answer)
        await self._emit(events.ModelAnswered(self._model, self._count(answer), failure))
        return await self._take(answer.pending) or self._turn.receive(failed)

    async def _read(self, stream: AsyncGenerator[ports.ProviderEvent, None], answer: ModelAnswer) -> None:
        async for event in stream:
            match event:
                case ports.TokensArrived(text):
                    self._note_first(answer)
                    answer.hear(text)
                    await self._take_text(answer)
                    if answer.parser.halted:
                        return await self._drain(stream, answer)
                case ports.ReasoningArrived(text):
                    self._note_first(answer)
                    answer.reason(text)
                    self._turn.receive(event)
                case ports.HandleKept(handle):
                    await self._open(handle)
                case ports.ResponseEnded():
                    answer.ended = event
                case ports.ModelChanged(name, why):
                    self._model = name
                    await self._emit(events.ModelSwitched(name, why))
            if answer.is_endless:
                answer.ended = ports.ResponseEnded(ports.StopReason.LENGTH)
                return None
        return None

    def _note_first(self, answer: ModelAnswer) -> None:
        if answer.first is None:
            answer.first = self._clock.monotonic()

    async def _drain(self, stream: AsyncGenerator[ports.ProviderEvent, None], answer: ModelAnswer) -> None:
        """After the calls: wait a moment for the answer's own end, which tells its usage and keeps the session whole.

        Until then only blanks and the block's closing tag may come: a model that writes on is cut off.
        """
        rest = ""
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                async for event in stream:
                    match event:
                        case ports.ResponseEnded():
                            answer.ended = event
                        case ports.TokensArrived(text):
                            rest += text
                            if not any(rest.strip() in tag for tag in _CLOSING_TAGS):
                                return
                        case ports.ReasoningArrived():
                            self._turn.receive(event)
                        case ports.HandleKept(handle):
                            await self._open(handle)
                        case ports.ModelChanged():
                            pass

    async def _open(self, handle: str) -> None:
        if handle not in self._handles:
            self._handles[handle] = None
            await self._emit(events.HandleOpened(self._model, handle))

    async def _take_text(self, answer: ModelAnswer) -> None:
        """Pass on at once what the person may see; what begins a new step waits until this one is counted."""
        while answer.pending and not isinstance(answer.pending[0], _STEP_ENDS):
            await self._take([answer.pending.pop(0)])

    async def _take(self, arrived: Sequence[events.ProtocolEvent]) -> list[turns.Effect]:
        effects: list[turns.Effect] = []
        for event in arrived:
            if isinstance(event, events.CallsArrived):
                event = replace(event, calls=tuple(map(self._tools.unwrapped, event.calls)))  # noqa: PLW2901 -- as meant
            if isinstance(event, events.ViolationFound):
                self.violations[event.kind] += 1
                log.info("the model broke the protocol: %s", event.kind)  # its detail may quote what somebody wrote
            if isinstance(event, _SHOWN):
                await self._emit(event)
            effects += self._turn.receive(event)
        return effects

    async def _run_tools(self, calls: Sequence[turns.CallPlaced]) -> list[turns.Effect]:
        context = replace(self._heard_so_far(), consult=self._consult)
        for placed in calls:  # before any of them runs: whoever is told may forbid it by an error
            await self._emit(events.CallStarted(placed.id, placed.call))
        tasks = [
            asyncio.create_task(
                run_call(
                    placed,
                    self._tools,
                    replace(context, report=self._report(placed.id), ask=self._asking(placed.id)),
                )
            )
            for placed in calls
        ]
        effects: list[turns.Effect] = []
        try:
            for task in asyncio.as_completed(tasks):
                answered = await task
                for effect in self._turn.receive(answered):
                    if isinstance(effect, turns.SaveProgress):
                        await self._save(effect.progress)
                    else:
                        effects.append(effect)
                await self._emit(events.CallFinished(answered.id, answered.result))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return effects

    def _report(self, call: str) -> ports.Report:
        async def report(done: float, total: float, unit: str) -> None:
            if 0 < done <= total < inf:
                await self._emit(events.CallProgressed(call, done, total, unit))

        return report

    def _asking(self, call: str) -> ports.Ask:
        ask = self._ask
        if ask is None:
            return ports.nobody_answers

        async def shown() -> None:
            await self._emit(events.CallAsks(call, waits=True))

        async def run(question: Elicitation) -> Elicited:
            answer = await ask(call, question, shown)
            await self._emit(events.CallAsks(call, waits=False))
            return answer

        return run

    async def _consult(self, messages: Sequence[Message]) -> str:
        if self._afford is not None and await self._afford(self._turn.progress.calls) is not None:
            raise ToolError(SPENT, ours=True)

        async def count(call: ModelCall) -> None:
            self._turn.receive(turns.ResponseCounted(call))

        return await complete(self._provider, as_data(messages), count, ports.CallOptions(Depth.FAST))

    def _heard_so_far(self) -> ports.ToolContext:
        """The tools' context, with what the person and the tools have said in this turn until now."""
        progress, before = self._turn.progress, self._tool_context
        results = [result.content for step in progress.steps for result in step.results if result is not None]
        joined = [one.text for one in progress.joined]
        own, others = (*before.own_words, *joined), (*before.others_words, *results)
        return replace(before, own_words=own, others_words=others)

    def _count(self, answer: ModelAnswer) -> Usage | None:
        """Tell the turn what the call took, and what the vendor wants back, if the answer kept the protocol."""
        if not answer.worked_on:
            return None
        ended = answer.ended
        native = ended.native if ended and answer.violations == self.violations.total() else None
        usage = ended.usage if ended and ended.usage else answer.estimate()
        timing = answer.timing(self._clock.monotonic())
        self._turn.receive(turns.ResponseCounted(ModelCall(self._model, usage, timing), native))
        return usage


# Of text and reasoning together. Nobody asks for as much; a small model that repeats itself would never end.
MAX_PLAIN_CHARS: Final = 100_000


def as_data(messages: Sequence[Message]) -> list[Message]:
    """The messages, with what people wrote as in turns: nothing of it is a token that the server of an open model could
    read as the beginning of somebody else's message.
    """
    return [replace(one, text=neutralise(one.text)) for one in messages]


async def complete(
    provider: ports.Provider,
    messages: Sequence[Message],
    count: Callable[[ModelCall], Awaitable[None]],
    options: ports.CallOptions = ports.CallOptions(),  # noqa: B008 -- frozen
    max_chars: int = MAX_PLAIN_CHARS,
) -> str:
    """One plain question to a model, outside of turns: no tools, no protocol, the whole answer as one text.

    `count` is told what the call took, also of one that broke off.

    Raises ProviderUnavailable, ProviderRefused and StreamBroken.
    """
    model, text, chars, ended = provider.name, list[str](), 0, None
    try:
        async with aclosing(provider.stream(messages, options)) as stream:
            async for event in stream:
                match event:
                    case ports.TokensArrived(piece):
                        text.append(piece)
                        chars += len(piece)
                    case ports.ReasoningArrived(piece):
                        chars += len(piece)
                    case ports.ModelChanged(name):
                        model = name
                    case ports.ResponseEnded():
                        ended = event
                    case _:
                        pass
                if chars > max_chars:
                    break
    finally:
        if chars or ended:
            usage = ended.usage if ended and ended.usage else estimate_usage(messages, "".join(text))
            await count(ModelCall(model, usage))
    return "".join(text)
