"""One turn as a pure state machine: what happened goes in, what to do next comes out.

A turn is a row of model calls. Each reads the same context and everything appended since, so a prefix never changes.

    it asked for tools   the step is saved, its tools run together, their results are appended, the next call begins
    it answered          the reply is saved, the turn finishes
    it went wrong        one correction is appended and the next call begins; or the turn finishes with a sentence

Rules.
- Before the last iteration the model is told; calls asked for in it do not run. A turn may be told to come to its end
  before that, with a sentence why.
- Malformed calls, unknown tools and wrong arguments are failed results with the reason. Three such steps in a row
  end the turn. A call made before is answered with a note, and from the third time on does not run.
- A missing or invalid workspace never delays calls: its schema travels with their results, at most twice. Fields that
  one leaves out keep what they held. `"secure": false`, known to some models, refuses that iteration's calls.
- Nothing is retried after text arrived: what was said stands.
- What the person writes meanwhile may join when a call is due: it stands behind the results of the step before.
- A call that may not run unasked waits for the asker's consent, after the others of its step have run: the turn is put
  aside, and goes on when every such call is decided. A refused one is a failed result. So is each of them where the
  question is edited after something was done: what was said stands, and the model goes on with what it says now.
- After a crash the turn goes on from its last saved step: a call without a stored result runs again if its tool only
  reads, and is otherwise reported to the model as unknown.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile
from typing import TypeAlias, assert_never

from agent import events, texts
from agent.messages import Consent, Message, ModelCall, NativeContent, ResultStatus, Role, ToolCall, ToolResult
from agent.ports import ReasoningArrived, StopReason
from agent.progress import Progress, RoundStep
from agent.protocol.grammar import LAST_ROUND, WORKSPACE_SCHEMA
from agent.protocol.render import continued, is_blank, joined, neutralise, render_results, render_step
from agent.records import Waiting
from agent.state import Workspace


@dataclass(frozen=True, slots=True)
class CallPlaced:
    """A call with its id, unique in the turn: "<iteration>.<position>", both from 1."""

    id: str
    call: ToolCall


@dataclass(frozen=True, slots=True)
class ResponseBegun:
    """The model was asked, at this time."""

    time: datetime


@dataclass(frozen=True, slots=True)
class ResponseCounted:
    """The model call is over, and took this. Comes before whatever ends the call."""

    call: ModelCall
    native: NativeContent | None = None


@dataclass(frozen=True, slots=True)
class ResponseCompleted:
    reason: StopReason


@dataclass(frozen=True, slots=True)
class ResponseFailed:
    """The model call failed; `sentence` tells the person what to do."""

    sentence: str


@dataclass(frozen=True, slots=True)
class CallAnswered:
    id: str
    result: ToolResult


@dataclass(frozen=True, slots=True)
class MessagesJoined:
    """What the person wrote meanwhile, in order; some of it may have joined before. Comes when a call is due."""

    messages: tuple[Waiting, ...]


@dataclass(frozen=True, slots=True)
class ConsentDecided:
    """The asker has decided about the call with this id, or the time for it is over. Comes before `start`."""

    id: str
    consent: Consent


@dataclass(frozen=True, slots=True)
class EndDue:
    """The turn has to come to its end: the next call is its last, or none is made any more, `at_once`. `why` is a
    sentence for the person.
    """

    why: str
    at_once: bool = False


TurnInput: TypeAlias = (
    events.ProtocolEvent
    | ReasoningArrived
    | ResponseBegun
    | ResponseCounted
    | ResponseCompleted
    | ResponseFailed
    | CallAnswered
    | MessagesJoined
    | ConsentDecided
)


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask the model: the turn's context, then `appended`."""

    number: int
    appended: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class SaveProgress:
    """Make `progress` durable before the next effect."""

    progress: Progress


@dataclass(frozen=True, slots=True)
class RunTools:
    """Run the calls in parallel; answer each with CallAnswered."""

    calls: tuple[CallPlaced, ...]


@dataclass(frozen=True, slots=True)
class AwaitConsent:
    """Put the turn aside until the asker has decided about these calls; nothing of it runs any more."""

    calls: tuple[CallPlaced, ...]


@dataclass(frozen=True, slots=True)
class Say:
    """Show a sentence of ours as a paragraph of its own."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Finish:
    outcome: events.Outcome
    text: str


Effect: TypeAlias = CallModel | SaveProgress | RunTools | AwaitConsent | Say | Finish


REMINDER = f"Begin the next round with <workspace>, in this form: {WORKSPACE_SCHEMA}"

JUST_ARRIVED = (
    "A message from the person has just arrived, while you worked. Heed it in what you do and say from now on:"
)


def appended_messages(steps: Sequence[RoundStep], hint: str = "") -> tuple[Message, ...]:
    """Each step as the model's own words and the system's answer; `hint` closes the newest answer."""
    messages: list[Message] = []
    for number, step in enumerate(steps, 1):
        words = render_step(step.text, step.workspace, step.calls)
        messages.append(Message(Role.ASSISTANT, words, native=step.native))
        images = tuple(image for result in step.results if result is not None for image in result.images)
        messages.append(Message(Role.USER, _answer(step, hint if number == len(steps) else ""), images))
    return tuple(messages)


def _answer(step: RoundStep, hint: str) -> str:
    results = [result for result in step.results if result is not None]
    if step.bad and step.problem:
        results = [ToolResult("execute", ResultStatus.FAILURE, step.problem)]
    parts = [
        render_results(results) if results else "",
        step.problem if not results else "",
        REMINDER if step.reminded else "",
        *("\n".join([JUST_ARRIVED, *continued(neutralise(one.text).splitlines())]) for one in step.joined),
        hint,
    ]
    return "\n\n".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class TurnLimits:
    max_iterations: int = 10
    """Seeds 000 and 001. A task that needs more is better asked again with what was found."""
    max_bad_steps: int = 3
    """A model that breaks the protocol three times in a row will not recover on the fourth."""
    max_reminders: int = 2
    """Repeating the workspace's schema more often costs tokens and changes nothing."""
    max_empty: int = 1
    """An empty answer is asked for once more; a second empty one is told to the person."""
    max_joined: int = 20
    """Messages that join one turn; somebody who writes on and on is answered in between."""
    max_same_calls: int = 2
    """Of one tool with the same arguments; behind the second stands a note, and no third one runs."""
    max_thought_chars: int = 4_000
    """Thoughts are kept for debugging only; the beginning says what they were about."""


EMPTY_ANSWER = "You ended without an answer. Write the answer for the person now."
REFUSED_CALL = "refused: you marked this request as not secure"
REPEATED_CALL = "[You have made this call before, with these arguments. Go on from what is known, or try another way.]"
NOT_RUN = "not run: you made this call {times} times with these arguments. Go on from its result, which was:\n{result}"
GONE_CALL = "not run, although it could be when this was asked for: {why}"
CRASHED_CALL = "The process stopped while this call ran; whether it took effect is unknown. Check before you repeat it."


# Of a call that runs as soon as its step is saved, and may have run when a process ended.
RUNNING = (Consent.NOT_NEEDED, Consent.BEGUN)
NOT_ALLOWED = {
    Consent.REFUSED: "not run: the person was asked and refused it. Do not ask again; go on without it.",
    Consent.EXPIRED: "not run: the person was asked and did not answer in time.",
    Consent.EDITED: (
        "not run: the person has edited their question since, and what stands before you is its new text. What you did "
        "until now was done for the old one. Answer the new one; do nothing again that is done."
    ),
}


class Turn:
    """Feed it with `receive`; perform what `start` and `receive` return, in order.

    `check` says what is wrong with a call (unknown tool, arguments against its schema), for the model, or None.
    `repeatable` says whether a tool may run twice. `progress` is what an earlier process had saved. `needs_consent` is
    asked of each call that could run.
    """

    def __init__(
        self,
        check: Callable[[ToolCall], str | None],
        repeatable: Callable[[str], bool],
        limits: TurnLimits = TurnLimits(),
        progress: Progress = Progress(),  # noqa: B008 -- frozen
        needs_consent: Callable[[ToolCall], bool] = lambda _: False,
    ) -> None:
        self._check = check
        self._needs_consent = needs_consent
        self._repeatable = repeatable
        self._limits = limits
        self._progress = progress
        self._step = RoundStep()
        self._said: list[str] = []
        self._secure = True
        self._ends = ""  # Why it has to end, "" as long as it does not
        self._noted = False  # Whether this iteration has written a whole workspace

    @property
    def progress(self) -> Progress:
        return self._progress

    def record_sources(self, messages: Iterable[int]) -> None:
        """Note which stored messages its context came from; what an earlier process had said came from others, too."""
        context = tuple(sorted({*self._progress.context, *messages}))
        self._progress = replace(self._progress, context=context)

    @property
    def workspace(self) -> Workspace | None:
        return self._step.workspace or self._progress.workspace

    @property
    def text(self) -> str:
        if self._progress.reply is not None:
            return self._progress.reply
        return joined([*(step.text for step in self._progress.steps), self._said_now])

    def start(self) -> list[Effect]:
        """Begin, or go on from the saved progress."""
        if self._progress.reply is not None and self._progress.outcome is not None:
            return [Finish(self._progress.outcome, self._progress.reply)]
        steps = self._progress.steps
        if steps and not steps[-1].complete:
            return self._go_on_with_calls(steps[-1])
        return self._next_call()

    def come_to_end(self, due: EndDue) -> list[Effect]:
        """When a call is due: ask for what there is by now. Nothing to do if that is asked for anyway."""
        if due.at_once:
            return self._finish(events.Outcome.REFUSED, due.why)
        if self._is_last:
            return []
        self._ends = due.why
        return self._next_call()

    def receive(self, happened: TurnInput) -> list[Effect]:
        match happened:
            case ResponseBegun(time):
                self._step = replace(self._step, time=time)
            case events.TextArrived(text):
                self._said.append(text)  # joined at the end: a long answer would be copied for each piece
            case events.ThoughtArrived(text):
                self._think(joined([self._step.thought, text]))
            case ReasoningArrived(text):
                self._think(self._step.thought + text)
            case ResponseCounted(call, native):
                self._step = replace(self._step, native=native)
                self._progress = replace(self._progress, calls=(*self._progress.calls, call))
            case events.WorkspaceArrived(workspace, secure, missing):
                self._note(workspace, missing)
                self._secure = secure
            case events.CallsArrived(calls):
                return self._place(calls)
            case events.CallsRejected(reason):
                return self._correct(reason)
            case CallAnswered(id_, result):
                return self._answer(id_, result)
            case ResponseCompleted(reason):
                return self._end(reason)
            case ResponseFailed(sentence):
                return self._fail(sentence)
            case MessagesJoined(messages):
                return self._join(messages)
            case ConsentDecided(id_, consent):
                self._decide(id_, consent)
            case events.SummaryArrived(update):
                self._progress = replace(self._progress, summary={**self._progress.summary, **update})
            case events.ReplyEnded() | events.ViolationFound():
                pass
            case _:
                assert_never(happened)
        return []

    @property
    def _said_now(self) -> str:
        self._said = ["".join(self._said)]
        return self._said[0]

    def _think(self, thought: str) -> None:
        self._step = replace(self._step, thought=thought[: self._limits.max_thought_chars])

    @property
    def _iteration(self) -> int:
        return len(self._progress.steps) + 1

    def _next_call(self) -> list[Effect]:
        self._step, self._said, self._secure, self._noted = RoundStep(), [], True, False
        last = self._is_last
        return [CallModel(self._iteration, appended_messages(self._progress.steps, LAST_ROUND if last else ""))]

    @property
    def _is_last(self) -> bool:
        return bool(self._ends) or self._iteration >= self._limits.max_iterations

    @property
    def _used_up(self) -> str:
        return self._ends or texts.ROUNDS_USED.format(rounds=self._limits.max_iterations)

    def _note(self, workspace: Workspace, missing: frozenset[str]) -> None:
        """What the model leaves out it has not taken back."""
        if missing and (before := self.workspace) is not None:
            workspace = replace(workspace, **{name: getattr(before, name) for name in missing})
        if workspace != Workspace():
            self._step = replace(self._step, workspace=workspace)
        self._noted = not missing

    def _place(self, calls: tuple[ToolCall, ...]) -> list[Effect]:
        if self._is_last:
            return self._finish(events.Outcome.EXHAUSTED, self._used_up)
        refused = tuple(self._refused(call) for call in calls)
        results = tuple(
            None if reason is None else ToolResult(call.name, ResultStatus.FAILURE, reason)
            for call, reason in zip(calls, refused, strict=True)
        )
        remind = not self._noted and not _calls_natively(self._step) and self._reminders < self._limits.max_reminders
        bad = self._secure and None not in refused
        consents = tuple(
            Consent.AWAITED if reason is None and self._needs_consent(call) else Consent.NOT_NEEDED
            for call, reason in zip(calls, refused, strict=True)
        )
        step = replace(self._step, calls=calls, results=results, reminded=remind, bad=bad)
        return self._save_step(replace(step, consents=consents if any(consents) else ()))

    def _refused(self, call: ToolCall) -> str | None:
        """Why the call does not run, for the model, or None."""
        if not self._secure:
            return REFUSED_CALL
        known = self._results_of(call)
        if len(known) < self._limits.max_same_calls:
            return self._check(call)
        last = known[-1].content.removesuffix(f"\n{REPEATED_CALL}")
        return NOT_RUN.format(times=len(known), result=last)

    def _results_of(self, call: ToolCall) -> list[ToolResult]:
        """What the same call brought in earlier rounds, as far as it is known how it went."""
        return [
            result
            for step in self._progress.steps
            for made, result in zip(step.calls, step.results, strict=True)
            if made == call and result is not None and _tells(result)
        ]

    def _correct(self, problem: str) -> list[Effect]:
        if self._is_last:
            return self._finish(events.Outcome.EXHAUSTED, self._used_up)
        return self._save_step(replace(self._step, problem=problem, bad=True))

    def _save_step(self, step: RoundStep) -> list[Effect]:
        step = replace(step, text=self._said_now)
        self._step, self._said = RoundStep(), []
        self._progress = replace(self._progress, steps=(*self._progress.steps, step))
        save = SaveProgress(self._progress)
        if self._bad_steps_in_a_row() >= self._limits.max_bad_steps:
            return [save, *self._finish(events.Outcome.REFUSED, texts.BROKEN_CALLS)]
        return [save, *self._after_step(step)]

    def _after_step(self, step: RoundStep) -> list[Effect]:
        """What is due once it is saved: first what may run, then the asker's word, then the model."""
        if step.complete:
            return self._next_call()
        if runnable := self._open_calls(*RUNNING):
            return [RunTools(runnable)]
        return [AwaitConsent(self._open_calls(Consent.AWAITED))]

    def _answer(self, id_: str, result: ToolResult) -> list[Effect]:
        *done, step = self._progress.steps
        position = int(id_.partition(".")[2]) - 1
        if self._results_of(step.calls[position]):
            result = replace(result, content=f"{result.content}\n{REPEATED_CALL}")
        results = (*step.results[:position], result, *step.results[position + 1 :])
        step = replace(step, results=results)
        self._progress = replace(self._progress, steps=(*done, step))
        save = SaveProgress(self._progress)
        running = self._open_calls(*RUNNING)
        return [save] if running else [save, *self._after_step(step)]

    def _decide(self, id_: str, consent: Consent) -> None:
        """A call that nobody allowed has failed; one that was decided before stays as it was."""
        number, _, position = id_.partition(".")
        at = int(position) - 1
        if int(number) != len(self._progress.steps):
            return
        *done, step = self._progress.steps
        if not 0 <= at < len(step.calls) or step.consent(at) is not Consent.AWAITED:
            return
        consents = (*step.consents[:at], consent, *step.consents[at + 1 :])
        results = step.results
        if consent in NOT_ALLOWED:
            failed = ToolResult(step.calls[at].name, ResultStatus.FAILURE, NOT_ALLOWED[consent])
            results = (*results[:at], failed, *results[at + 1 :])
        edited = consent is Consent.EDITED and texts.QUESTION_EDITED not in step.text
        said = joined([step.text, texts.QUESTION_EDITED]) if edited else step.text
        step = replace(step, consents=consents, results=results, text=said)
        self._progress = replace(self._progress, steps=(*done, step))

    def _join(self, messages: tuple[Waiting, ...]) -> list[Effect]:
        """Tell the model with the results of the last step; nothing to do if none of them is new."""
        known = self._progress.joined
        new = [one for one in messages if one.turn not in {before.turn for before in known}]
        room = self._limits.max_joined - len(known)
        if not new[: max(0, room)] or not self._progress.steps:
            return []
        *done, step = self._progress.steps
        step = replace(step, joined=(*step.joined, *new[:room]))
        self._progress = replace(self._progress, steps=(*done, step))
        return [SaveProgress(self._progress), *self._next_call()]

    def _go_on_with_calls(self, step: RoundStep) -> list[Effect]:
        results = tuple(
            self._lost(call, step.consent(at)) if result is None else result
            for at, (call, result) in enumerate(zip(step.calls, step.results, strict=True))
        )
        begun = tuple(Consent.BEGUN if one is Consent.GIVEN else one for one in step.consents)
        step = replace(step, results=results)
        self._progress = replace(self._progress, steps=(*self._progress.steps[:-1], replace(step, consents=begun)))
        return [SaveProgress(self._progress), *self._after_step(step)]

    def _lost(self, call: ToolCall, consent: Consent) -> ToolResult | None:
        """What became of a call without a result; None if it is still to run, or to be decided about."""
        if consent in RUNNING and not self._repeatable(call.name):
            return ToolResult(call.name, ResultStatus.UNKNOWN, CRASHED_CALL)
        if consent is not Consent.AWAITED and (gone := self._check(call)) is not None:  # it waited, for a day perhaps
            return ToolResult(call.name, ResultStatus.FAILURE, GONE_CALL.format(why=gone))
        return None

    def _open_calls(self, *consents: Consent) -> tuple[CallPlaced, ...]:
        """The calls without a result whose consent is one of these."""
        step = self._progress.steps[-1]
        number = len(self._progress.steps)
        return tuple(
            CallPlaced(f"{number}.{at + 1}", call)
            for at, (call, result) in enumerate(zip(step.calls, step.results, strict=True))
            if result is None and step.consent(at) in consents
        )

    def _end(self, reason: StopReason) -> list[Effect]:
        if reason is StopReason.LENGTH:
            return self._finish(events.Outcome.CUT, texts.ANSWER_TOO_LONG)
        if reason is StopReason.FILTERED:
            return self._finish(events.Outcome.CUT if self.text.strip() else events.Outcome.REFUSED, texts.FILTERED)
        if not is_blank(self._said_now):
            ends = events.Outcome.EXHAUSTED if self._ends else events.Outcome.ANSWERED
            return self._finish(ends, self._ends)
        empty = sum(step.problem == EMPTY_ANSWER for step in self._progress.steps)
        if empty < self._limits.max_empty and not self._is_last:
            return self._save_step(replace(self._step, problem=EMPTY_ANSWER))
        if self._ends:
            return self._finish(events.Outcome.EXHAUSTED, self._ends)
        return self._finish(events.Outcome.REFUSED, texts.NO_ANSWER)

    def _fail(self, sentence: str) -> list[Effect]:
        return self._finish(events.Outcome.CUT if self.text.strip() else events.Outcome.REFUSED, sentence)

    def _finish(self, outcome: events.Outcome, sentence: str = "") -> list[Effect]:
        text = joined([self.text, sentence])
        last = replace(self._step, text=self._said_now)
        steps = (*self._progress.steps, last) if last.time else self._progress.steps
        self._step, self._said = RoundStep(), []
        self._progress = replace(self._progress, steps=steps, reply=text, outcome=outcome)
        say: list[Effect] = [Say(sentence)] if sentence else []
        return [*say, SaveProgress(self._progress), Finish(outcome, text)]

    @property
    def _reminders(self) -> int:
        return sum(step.reminded for step in self._progress.steps)

    def _bad_steps_in_a_row(self) -> int:
        return sum(1 for _ in takewhile(lambda step: step.bad, reversed(self._progress.steps)))


def _tells(result: ToolResult) -> bool:
    """Whether the call was tried, and it is known how it went."""
    refused = result.status is ResultStatus.FAILURE and result.content.startswith((REFUSED_CALL, NOT_RUN[:24]))
    return not refused and result.status is not ResultStatus.UNKNOWN


def _calls_natively(step: RoundStep) -> bool:
    return step.native is not None and step.native.has_calls
