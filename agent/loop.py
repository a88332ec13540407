"""The driver of one turn: performs the effects of `agent.turn` and emits events.

Events are passed to `emit`, not yielded: a generator that is suspended while tools run could be closed from outside
its task. Cancelling `run` cancels the model call and the tools, waits for them, and raises.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from math import inf
from operator import attrgetter
from typing import Final

import regex

from agent import events, texts
from agent import turn_events as turns
from agent.context import ALL_TOOLS, shortened, shortened_results
from agent.errors import ContextTooLong, ProviderError, ProviderSilent, StreamBroken, ToolError
from agent.inner_calls import CodeCalls
from agent.messages import (
    CallTiming,
    Depth,
    Elicitation,
    Elicited,
    Keep,
    Message,
    ModelCall,
    Provenance,
    ToolCall,
    Usage,
    estimate_usage,
)
from agent.model_sessions import open_session
from agent.ports.clock import Clock
from agent.ports.model import (
    CallOptions,
    HandleKept,
    ModelChanged,
    PromptReduced,
    Provider,
    ProviderEvent,
    ReasoningArrived,
    ResponseEnded,
    StopReason,
    TokensArrived,
    has_own_key,
)
from agent.ports.tools import Ask, Report, ToolContext, ToolOutput, decline_question
from agent.progress import Progress, calls_before, tool_documents, tool_sources, turn_drawn_from, whose_words
from agent.protocol.blocks import IN_BLOCKS, IN_FUNCTIONS
from agent.protocol.echoes import EchoFilter, Instructions
from agent.protocol.grammar import TAG_NAMES, BlockKind
from agent.protocol.parser import Parser
from agent.protocol.render import neutralise
from agent.protocol.unknown_sign import UnknownSign
from agent.repetition import RepetitionWatch
from agent.toolbox.registry import Registry
from agent.turn import SAID_TO_MODEL, Turn
from agent.turn_records import Waiting

# Text and reasoning together: about 125,000 tokens, the most that vendors let a model write at once. A small model that
# repeats itself would never end.
MAX_CHARS = 500_000
# The visible text of one answer: about 15,000 tokens, thirty pages. Nobody reads more in a chat; long texts are files.
MAX_VISIBLE_CHARS = 60_000


@dataclass(slots=True)
class ModelAnswer:
    """One response of the model while it streams in.

    `messages`: the request. `pending`: events that wait for the end of the response. `violations`: how many were
    counted before it. `worked_on`: the model started on it, as far as is known; a refused request uses no tokens.
    `started`: when it was requested, by the wall clock and by the monotonic clock; `first`: when its first piece came.
    """

    parser: Parser
    unknown: UnknownSign
    echoes: EchoFilter
    messages: Sequence[Message]
    started: tuple[datetime, float]
    repetition: RepetitionWatch
    first: float | None = None
    violations: int = 0
    received: list[str] = field(default_factory=list[str])
    pending: list[events.ProtocolEvent] = field(default_factory=list[events.ProtocolEvent])
    reasoning: list[str] = field(default_factory=list[str])
    chars: int = 0
    ended: ResponseEnded | None = None
    worked_on: bool = True
    visible_chars: int = 0
    unread: str = ""
    """The text after the calls, which the parser does not read."""

    @property
    def cut_reason(self) -> StopReason | None:
        """Why the answer is to be ended here; None if it may go on."""
        if self.repetition.repeats:
            return StopReason.REPEATED
        is_too_long = self.chars > MAX_CHARS or self.visible_chars > MAX_VISIBLE_CHARS
        return StopReason.LENGTH if is_too_long else None

    def add_text(self, text: str) -> None:
        self.chars += len(text)
        self.received.append(text)
        self.repetition.feed(text)
        self._add(self.parser.feed(text))

    def add_reasoning(self, text: str) -> None:
        self.chars += len(text)
        self.repetition.feed(text)
        self.reasoning.append(text)
        self.parser.has_thought = True

    def complete(self) -> None:
        self.pending += self._rest()

    def _add(self, parsed: Sequence[events.ProtocolEvent]) -> None:
        shown = self.echoes.filter(self.unknown.filter(parsed))
        self.visible_chars += sum(len(event.text) for event in shown if isinstance(event, events.TextArrived))
        self.pending += shown

    def fail(self, error: ProviderError) -> None:
        """The response broke off or never began. Complete calls count; incomplete ones are not the model's mistake."""
        rest = self._rest() if self.received else []
        self.pending += [event for event in rest if not isinstance(event, events.CallsRejected)]
        self.worked_on = isinstance(error, StreamBroken | ProviderSilent) or bool(self.received or self.reasoning)

    def _rest(self) -> list[events.ProtocolEvent]:
        unread = [*self.unknown.filter(self.parser.close()), *self.unknown.close()]
        return [*self.echoes.filter(unread), *self.echoes.close()]

    def estimate(self) -> Usage:
        return estimate_usage(self.messages, "".join(self.received), "".join(self.reasoning))

    def timing(self, now: float) -> CallTiming:
        """`now`: by the monotonic clock."""
        time, start = self.started
        return CallTiming(time, _ms(now - start), None if self.first is None else _ms(self.first - start))


def _ms(seconds: float) -> int:
    return max(0, round(seconds * 1000))


# Running one tool call. It always has a result.
#
# One of the few broad excepts of this program is here: any exception of a tool becomes a failed result.

log = logging.getLogger(__name__)

BUDGET_SPENT = "a budget is used up"  # Only its owner may read whose budget it is, and how much was spent
TOOL_BROKE = "the tool failed unexpectedly; the operator finds the reason in the log"


async def run_call(placed: turns.CallPlaced, tools: Registry, context: ToolContext) -> turns.CallAnswered:
    """Run a checked call within its tool's timeout. Raises CancelledError only if the caller is cancelled."""
    tool = tools.get(placed.call.name)
    try:
        async with asyncio.timeout(tool.timeout_s) as limit:
            context = replace(context, ask=_pause_timeout(context.ask, limit))
            output = await tool.run(tools.adapt_arguments(placed.call).args, context)
        output = ToolOutput(output) if isinstance(output, str) else output
        result = tools.result(tool.name, output, context.person)
    except TimeoutError:
        result = tools.failure(tool.name, f"no result after {tool.timeout_s:g} s; it was stopped")
    except ToolError as error:
        keep = Keep.TURN if error.for_turn else Keep.STORED
        result = tools.failure(tool.name, str(error), None if error.ours else context.person, keep=keep)
    except asyncio.CancelledError:
        if _is_cancelled():
            raise
        log.warning("tool %s canceled itself in call %s", tool.name, placed.id)
        result = tools.failure(tool.name, TOOL_BROKE)
    except Exception:  # a bug in a tool fails its call, and the turn goes on
        log.exception("tool %s failed in call %s", tool.name, placed.id)
        result = tools.failure(tool.name, TOOL_BROKE)
    return turns.CallAnswered(placed.id, result)


def _pause_timeout(ask: Ask, limit: asyncio.Timeout) -> Ask:
    """Wrap `ask` so that the tool's timeout pauses while the asker thinks."""
    open_questions, left = 0, 0.0

    async def run(question: Elicitation) -> Elicited:
        nonlocal open_questions, left
        loop = asyncio.get_running_loop()
        if (deadline := limit.when()) is not None:
            left = deadline - loop.time()
            limit.reschedule(None)
        open_questions += 1
        try:
            return await ask(question)
        finally:
            open_questions -= 1
            if not open_questions:
                with suppress(RuntimeError):  # the call has ended meanwhile
                    limit.reschedule(loop.time() + left)

    return run


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


Emit = Callable[[events.AgentEvent], Awaitable[None]]
Save = Callable[[Progress], Awaitable[None]]
Arrived = Callable[[], Awaitable[Sequence[Waiting]]]  # Returns the messages that the person wrote after this turn's
# Returns why no further model call may be made beside the turn (a budget is used up), or None. The calls are those
# since the progress was saved.
Afford = Callable[[Sequence[ModelCall]], Awaitable[str | None]]

# Returns whether and how the turn must end; None if it may continue.
Ends = Callable[[Progress], Awaitable[turns.EndDue | None]]

# Returns how a budget holds the turn back before its next model call; None if it may continue.
Pauses = Callable[[Progress], Awaitable[turns.PauseDue | turns.EndDue | None]]

# Returns the call as it may run, or a sentence for the person why it may not. The last argument: whether code makes it.
BeforeCall = Callable[[ToolCall, bool], Awaitable[ToolCall | str]]

# Puts a tool's question to the asker, for the call with this id. The last argument is called once the question can be
# answered.
AskPerson = Callable[[str, Elicitation, Callable[[], Awaitable[None]]], Awaitable[Elicited]]

DRAIN_S = 2.0  # From the end of the calls to the end of the response: the model was told to stop there

_SHOWN = (events.TextArrived, events.ReplyEnded)
_CALL_TAGS = "|".join(name for name, kind in TAG_NAMES.items() if kind is BlockKind.EXECUTE)
_STEP_ENDS = (events.CallsArrived, events.CallsRejected)
# A closing tag, and perhaps another block of calls: what may still come after the calls of an answer.
_AFTER_CALLS = regex.compile(rf"\s*(?:</(?:{_CALL_TAGS})>\s*)?(?P<more><(?:{_CALL_TAGS})\b)?", regex.IGNORECASE)
UNREAD_CALLS = "Only the first block of calls was read. Write calls that belong together as one list, in one block."


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model is sent in each round: the messages of `build_context`, and the options of its calls."""

    messages: Sequence[Message]
    options: CallOptions = CallOptions()  # noqa: RUF009 -- frozen
    instructions: Instructions = Instructions()  # noqa: RUF009 -- frozen
    """What of the messages is not shown if the model repeats it."""


@dataclass(frozen=True, slots=True)
class TurnCallbacks:
    """What a loop asks of the program that runs the turn. For those that may be None see their types."""

    emit: Emit
    save: Save
    """Makes progress durable before the next effect."""
    arrived: Arrived | None = None
    ask: AskPerson | None = None
    afford: Afford | None = None
    ends: Ends | None = None
    pauses: Pauses | None = None
    before_call: BeforeCall | None = None
    """Sees each call whose arguments are valid before the policy does."""
    explain: Callable[[ProviderError], str] = attrgetter("reason.to_person")
    """Returns the sentence that the person reads when the model fails."""


class Loop:
    """Runs one turn."""

    def __init__(
        self,
        turn: Turn,
        prompt: Prompt,
        provider: Provider,
        tools: Registry,
        tool_context: ToolContext,
        clock: Clock,
        callbacks: TurnCallbacks,
    ) -> None:
        self._turn = turn
        self._whole = self._context = tuple(prompt.messages)
        self._provider = provider
        self._tools = tools
        self._tool_context = tool_context
        self._clock = clock
        self._callbacks = callbacks
        self._emit = callbacks.emit
        self._instructions = prompt.instructions
        self._options = prompt.options
        self._saved_calls = len(turn.progress.calls)
        self._omitted = 0  # How often something was left out of the context, because it did not fit
        self._session = open_session(provider, prompt.options)
        self._model = provider.name
        self._handles: dict[str, None] = {}
        self.violations: Counter[str] = Counter()

    async def run(self) -> events.TurnEnded | events.TurnPutAside:
        """Run until the turn ends or waits for its asker.

        Raises CancelledError and the errors of `emit` and `save`; never a provider's error.
        """
        try:
            return await self._run(deque(self._turn.start()))
        finally:
            still_open = await self._session.close()
            for handle in self._handles.keys() - set(still_open):
                await self._emit(events.HandleClosed(handle))

    @property
    def usage(self) -> Usage:
        return sum((call.usage for call in self._turn.progress.calls), Usage())

    async def _run(self, effects: deque[turns.Effect]) -> events.TurnEnded | events.TurnPutAside:
        while True:
            match effects.popleft():
                case turns.CallModel(number, appended):
                    instead = await self._poll_joined_messages(number) or await self._end_early()
                    if not instead and (due := await self._pause_due(number)) is not None:
                        if isinstance(due, turns.PauseDue):
                            return await self._pause(due)
                        instead = self._turn.end_early(due)
                    effects.extend(instead or await self._call_model(number, appended))
                case turns.SaveProgress(progress):
                    await self._callbacks.save(progress)
                    self._saved_calls = len(progress.calls)
                case turns.RunTools(calls):
                    effects.extend(await self._run_tools(calls))
                case turns.AwaitConsent(calls, question):
                    put_aside = events.TurnPutAside({placed.id: placed.call for placed in calls}, question)
                    await self._emit(put_aside)
                    return put_aside
                case turns.ShowNotice(sentence):
                    await self._emit(events.NoticeArrived(sentence))
                case turns.Finish(outcome, text):
                    ended = events.TurnEnded(outcome, text, self.usage)
                    await self._emit(ended)
                    return ended

    async def _poll_joined_messages(self, number: int) -> list[turns.Effect]:
        """Let new messages join the turn. Returns the effects that replace the due model call, if there are any."""
        arrive = self._callbacks.arrived
        arrived = await arrive() if arrive is not None and number > 1 else ()
        return self._turn.receive(turns.MessagesJoined(tuple(arrived))) if arrived else []

    async def _end_early(self) -> list[turns.Effect]:
        """Return the effects that replace the due model call if the turn must end."""
        ends = self._callbacks.ends
        due = None if ends is None else await ends(self._turn.progress)
        return [] if due is None else self._turn.end_early(due)

    async def _pause_due(self, number: int) -> turns.PauseDue | turns.EndDue | None:
        """Return how a budget holds the turn back. Before the first call, that was checked by who began the turn."""
        pauses = self._callbacks.pauses
        return None if pauses is None or number == 1 else await pauses(self._turn.progress)

    async def _pause(self, due: turns.PauseDue) -> events.TurnPutAside:
        put_aside = events.TurnPutAside({}, due.why, pause=due.pause)
        await self._emit(put_aside)
        return put_aside

    async def _call_model(self, number: int, appended: Sequence[Message]) -> list[turns.Effect]:
        await self._emit(events.IterationStarted(number))
        while True:
            answer, error = await self._call_once(appended)
            if not (isinstance(error, ContextTooLong) and self._shorten(error)):
                break
            await self._emit(events.ModelAnswered(self._model, self._count(answer), type(error).__name__))
        end: turns.TurnInput
        if error is not None:
            answer.fail(error)
            failure, end = type(error).__name__, turns.ResponseFailed(self._callbacks.explain(error))
        else:
            reason = answer.ended.reason if answer.ended else StopReason.END
            answer.complete()
            # A call that a model repeats in, or that was cut off again, is not written better when it is asked again.
            steps = self._turn.progress.steps
            if reason is StopReason.REPEATED or (reason is StopReason.LENGTH and steps and steps[-1].bad):
                answer.pending = [one for one in answer.pending if not isinstance(one, events.CallsRejected)]
            failure = ""
            end = turns.ResponseCompleted(reason)
            if self._omitted:
                self._turn.record_omission(texts.CONTEXT_REDUCED[self._omitted - 1])
        await self._process_text(answer)
        await self._emit(events.ModelAnswered(self._model, self._count(answer), failure))
        return await self._process(_with_note(answer)) or self._turn.receive(end)

    async def _call_once(self, appended: Sequence[Message]) -> tuple[ModelAnswer, ProviderError | None]:
        """Ask the model once. Returns its answer, and the error if it failed."""
        messages = (*self._context, *shortened_results(appended, self._omitted))
        started = (self._clock.now(), self._clock.monotonic())
        in_functions = self._provider.capabilities.native_calls
        self._turn.receive(turns.ResponseBegun(started[0], in_functions))
        has_results = any(step.results for step in self._turn.progress.steps)
        corrections = IN_FUNCTIONS if in_functions else IN_BLOCKS
        parser = Parser(tool_names=self._tools.names, corrections=corrections, after_results=has_results)
        echoes = EchoFilter(self._instructions.adding((*SAID_TO_MODEL, *corrections.sentences)))
        repetition = RepetitionWatch(self._context[-1].text)
        violations = self.violations.total()
        answer = ModelAnswer(parser, UnknownSign(), echoes, messages, started, repetition, violations=violations)
        try:
            async with aclosing(self._session.answer(messages)) as stream:
                await self._read(stream, answer)
        except asyncio.CancelledError:
            self._count(answer)
            raise
        except ProviderError as error:
            return answer, error
        return answer, None

    def _shorten(self, error: ContextTooLong) -> bool:
        """Leave out more of the context, if that may help (`agent.context.shortened`).

        A service that does not say that the prompt is too long is tried once only.
        """
        last = len(texts.CONTEXT_REDUCED)
        while self._omitted < (last if error.stated else 1):
            self._omitted += 1
            shorter = shortened(self._whole, self._omitted)
            is_same_as_next = self._omitted < last and shorter == shortened(self._whole, self._omitted + 1)
            if shorter == self._context or (is_same_as_next and error.stated):
                continue
            self._context = shorter
            if self._omitted >= ALL_TOOLS:
                self._session = open_session(self._provider, replace(self._options, tools=()))
            return True
        return False

    async def _read(self, stream: AsyncGenerator[ProviderEvent, None], answer: ModelAnswer) -> None:
        async for event in stream:
            match event:
                case TokensArrived(text):
                    self._record_first(answer)
                    answer.add_text(text)
                    await self._process_text(answer)
                    if answer.parser.halted:
                        return await self._drain(stream, answer)
                case ReasoningArrived(text):
                    self._record_first(answer)
                    answer.add_reasoning(text)
                    self._turn.receive(event)
                case PromptReduced(sentence):
                    self._turn.record_omission(sentence)
                case HandleKept(handle):
                    await self._record_handle(handle)
                case ResponseEnded():
                    answer.ended = event
                case ModelChanged(name, why):
                    self._model = name
                    await self._emit(events.ModelSwitched(name, why))
            if (reason := answer.cut_reason) is not None:
                answer.ended = ResponseEnded(reason)
                return None
        return None

    def _record_first(self, answer: ModelAnswer) -> None:
        if answer.first is None:
            answer.first = self._clock.monotonic()

    async def _drain(self, stream: AsyncGenerator[ProviderEvent, None], answer: ModelAnswer) -> None:
        """After the calls, wait up to DRAIN_S for the end of the response: it holds the usage and keeps the session
        usable.

        Until then only blanks and the block's closing tag may come: a model that keeps writing is cut off. Another
        block of calls is told from that, for a note to the model.
        """
        answer.unread = answer.parser.unread
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                async for event in stream:
                    match event:
                        case ResponseEnded():
                            answer.ended = event
                        case TokensArrived(text):
                            answer.unread += text
                            if _AFTER_CALLS.fullmatch(answer.unread, partial=True) is None:
                                return
                        case ReasoningArrived():
                            self._turn.receive(event)
                        case HandleKept(handle):
                            await self._record_handle(handle)
                        case ModelChanged() | PromptReduced():
                            pass

    async def _record_handle(self, handle: str) -> None:
        if handle not in self._handles:
            self._handles[handle] = None
            await self._emit(events.HandleOpened(self._model, handle))

    async def _process_text(self, answer: ModelAnswer) -> None:
        """Process visible events at once; events that end the step wait until its usage is counted."""
        while answer.pending and not isinstance(answer.pending[0], _STEP_ENDS):
            await self._process([answer.pending.pop(0)])

    async def _process(self, pending: Sequence[events.ProtocolEvent]) -> list[turns.Effect]:
        effects: list[turns.Effect] = []
        for event in pending:
            if isinstance(event, events.CallsArrived):
                calls = await asyncio.gather(*(self._before_call(self._tools.unwrap(call)) for call in event.calls))
                event = replace(event, calls=tuple(calls))  # noqa: PLW2901 -- as meant
            if isinstance(event, events.ViolationFound):
                self.violations[event.kind] += 1
                log.info("the model broke the protocol: %s", event.kind)  # the detail may quote what people wrote
            if isinstance(event, _SHOWN):
                await self._emit(event)
            effects += self._turn.receive(event)
        return effects

    async def _before_call(self, call: ToolCall, *, by_code: bool = False) -> ToolCall:
        before = self._callbacks.before_call
        if before is None or self._tools.check(call) is not None:
            return call
        allowed = await before(call, by_code)
        if isinstance(allowed, ToolCall):
            self._turn.set_refusal(allowed, None)
            return allowed
        self._turn.set_refusal(call, texts.CALL_REFUSED_BY_HOOK.format(sentence=allowed))
        self._turn.record_omission(allowed)
        return call

    async def _run_tools(self, calls: Sequence[turns.CallPlaced]) -> list[turns.Effect]:
        context = self._current_tool_context()
        for placed in calls:  # before any of them runs: `emit` may raise to prevent that
            await self._emit(events.CallStarted(placed.id, placed.call))
        tasks = [
            asyncio.create_task(
                run_call(
                    placed,
                    self._tools,
                    replace(
                        context,
                        report=self._report_for(placed.id),
                        ask=self._ask_for(placed.id),
                        inner=self._inner_calls_of(placed.id),
                        calls_before=calls_before(self._turn.progress, placed.id),
                        call=placed.id,
                    ),
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
                        await self._callbacks.save(effect.progress)
                    else:
                        effects.append(effect)
                await self._emit(events.CallFinished(answered.id, answered.result))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return effects

    def _inner_calls_of(self, call: str) -> CodeCalls:
        before = partial(self._before_call, by_code=True)
        return CodeCalls(call, self._turn, self._tools, self._current_tool_context, self._emit, run_call, before)

    def _report_for(self, call: str) -> Report:
        async def report(done: float, total: float, unit: str) -> None:
            if 0 < done <= total < inf:
                await self._emit(events.CallProgressed(call, done, total, unit))

        return report

    def _ask_for(self, call: str) -> Ask:
        ask = self._callbacks.ask
        if ask is None:
            return decline_question

        async def on_shown() -> None:
            await self._emit(events.CallAsks(call, waits=True))

        async def run(question: Elicitation) -> Elicited:
            answer = await ask(call, question, on_shown)
            await self._emit(events.CallAsks(call, waits=False))
            return answer

        return run

    async def _consult(self, messages: Sequence[Message]) -> str:
        afford = self._callbacks.afford
        if afford is not None and await afford(self._turn.progress.calls[self._saved_calls :]) is not None:
            raise ToolError(BUDGET_SPENT, ours=True)

        async def count(call: ModelCall) -> None:
            self._turn.receive(turns.ResponseCounted(call))

        options = CallOptions(Depth.FAST)
        return await complete(self._provider, as_data(messages), count, options, cut_note=CUT_NOTE)

    def _current_tool_context(self) -> ToolContext:
        """The tools' context, with the messages that joined the turn and the results of its tools so far."""
        progress, initial = self._turn.progress, self._tool_context
        results = [result.content for step in progress.steps for result in step.results if result is not None]
        words = whose_words(initial.words, progress.steps)
        joined = progress.joined
        # An option that a model chose its words for after it had read others' words may be theirs.
        theirs = [message.text for message in joined if message.own or words < Provenance.RELAYED]
        relayed = [message.text for message in joined if not message.own and words >= Provenance.RELAYED]
        return replace(
            initial,
            asker_texts=(*initial.asker_texts, *theirs),
            other_texts=(*initial.other_texts, *results, *relayed),
            words=words,
            sources=tuple({*tool_sources(progress), *(message.message for message in progress.joined)}),
            documents=tool_documents(progress),
            drawn_from=turn_drawn_from(progress, initial.place),
            consult=self._consult,
        )

    def _count(self, answer: ModelAnswer) -> Usage | None:
        """Pass the usage of the call to the turn, and the vendor's native content if the answer kept the protocol."""
        if not answer.worked_on:
            return None
        ended = answer.ended
        native = ended.native if ended and answer.violations == self.violations.total() else None
        usage = ended.usage if ended and ended.usage else answer.estimate()
        timing = answer.timing(self._clock.monotonic())
        own_key = has_own_key(self._provider, self._model)
        self._turn.receive(turns.ResponseCounted(ModelCall(self._model, usage, timing, own_key), native))
        return usage


def _with_note(answer: ModelAnswer) -> Sequence[events.ProtocolEvent]:
    """The pending events; calls get a note if another block of calls follows them."""
    follows = _AFTER_CALLS.match(answer.unread)
    if follows is None or follows["more"] is None:
        return answer.pending
    return [
        replace(event, note=" ".join(filter(None, [event.note, UNREAD_CALLS])))
        if isinstance(event, events.CallsArrived)
        else event
        for event in answer.pending
    ]


# Text and reasoning together. No caller needs as much; a small model that repeats itself would never end.
MAX_PLAIN_CHARS: Final = 100_000

_GOOD_ENDS: Final = frozenset({StopReason.END, StopReason.HALTED})
CUT_NOTE: Final = "(The answer may be cut off here.)"  # For the model that reads an answer in words


def as_data(messages: Sequence[Message]) -> list[Message]:
    """The messages with neutralised text, as in turns: it holds no token that the server of an open model could read
    as the beginning of another message.
    """
    return [replace(message, text=neutralise(message.text)) for message in messages]


async def complete(
    provider: Provider,
    messages: Sequence[Message],
    count: Callable[[ModelCall], Awaitable[None]],
    options: CallOptions = CallOptions(),  # noqa: B008 -- frozen
    max_chars: int = MAX_PLAIN_CHARS,
    *,
    cut_note: str = "",
) -> str:
    """Ask a model one plain question, outside of turns, without tools or protocol. Returns the whole answer.

    `cut_note` is appended to an answer that may be incomplete. An answer in JSON needs none: a part of it is no JSON.
    `count` receives the usage of the call, also if it broke off.

    Raises ProviderUnavailable, ProviderRefused and StreamBroken.
    """
    model, text, chars, ended = provider.name, list[str](), 0, None
    repetition = RepetitionWatch(messages[-1].text)
    try:
        async with aclosing(provider.stream(messages, options)) as stream:
            async for event in stream:
                match event:
                    case TokensArrived(piece):
                        text.append(piece)
                        repetition.feed(piece)
                        chars += len(piece)
                    case ReasoningArrived(piece):
                        chars += len(piece)
                    case ModelChanged(name):
                        model = name
                    case ResponseEnded():
                        ended = event
                    case _:
                        pass
                # A model that repeats itself would go on to its limit of tokens, which somebody pays for.
                if chars > max_chars or repetition.repeats:
                    break
    finally:
        # Also when the stream broke: what was received is billed.
        if chars or ended:
            usage = ended.usage if ended and ended.usage else estimate_usage(messages, "".join(text))
            await count(ModelCall(model, usage, own_key=has_own_key(provider, model)))
    is_whole = ended is not None and ended.reason in _GOOD_ENDS
    return "".join(text if is_whole or not (text and cut_note) else [*text, "\n", cut_note])
