"""One turn's answer: from a claimed question to everything that the turn leaves behind.

One of the three broad excepts of this program is here: a turn. An unexpected error ends in one sentence to the person
and one log line with the turn's id.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from agent import texts
from agent.citations import cite, references_of
from agent.context import Context, Persona
from agent.errors import FailureReason, ProviderError, StoreError
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
    Outcome,
    TextArrived,
    TurnEnded,
    TurnPutAside,
)
from agent.loop import Loop
from agent.memory.audience import PersonAudience, Place
from agent.memory.synthesizer import may_teach
from agent.messages import ModelCall, Provenance
from agent.ports import Asker, Capabilities, Clock, Knowledge, Ledger, Provider, ToolAudit
from agent.progress import Progress, decode, encode
from agent.protocol.render import joined
from agent.records import Claim, Closing, Incoming, PutAside, Waiting, platform_of
from agent.schedules import WORK_ROUNDS, asked_in
from agent.state import ActionRecord, SituationSummary
from agent.tool_policy import UNREAD, TurnWords
from agent.toolbox.registry import Registry, Toolbox
from agent.turn import Turn
from agent.turn_kinds import TurnKind
from agent.turn_setup import ANSWERED, ContextConfig, asker_of, closed, known_context, loop_of, turn_words
from bot.access.acl import TERMINAL
from bot.access.budgets import footer
from bot.attachments.reading import Attached
from bot.audit import CallAudit
from bot.reply.live import LiveReply
from bot.reply_surface import SurfaceError
from bot.scheduler import LongWork
from bot.setting_parsers import FooterStyle
from bot.telemetry import SILENT, AgentReported, Telemetry
from bot.texts import reply_texts
from bot.turns.approvals import ApprovalPolicy, wait_until
from bot.turns.questions import QuestionDesk

# What a turn asks of the rest of the bot, by ports of its own: `bot.memory` and `bot.ambient` are rooms above.


class BudgetChecks(Protocol):
    async def budget_left(self, incoming: Incoming, calls: Sequence[ModelCall] = ()) -> str | None:
        """Return why nothing more may be spent on a question after these calls; None if it may."""
        ...


class GroupReaders(Protocol):
    async def groups_of(self, place: Place) -> frozenset[str]:
        """Return the group places whose content may be used in a place that only one person reads."""
        ...


class FileReader(Protocol):
    async def read(self, incoming: Incoming) -> Attached:
        """Read the files that came with a question."""
        ...


class LearningRules(Protocol):
    def due(self, now: datetime) -> datetime | None:
        """Return when to learn from a question that is answered now; None: not at all."""
        ...

    async def may_learn(self, incoming: Incoming) -> bool: ...


class ReplyNotices(Protocol):
    """Fixed sentences about an answer; each is "" if there is nothing to say. `first_note`: below a person's first
    answer; `edited_note`: that the question was edited meanwhile; `kept_note`: which facts were stored;
    `scheduled_note`: what is scheduled; `private_note`: for the asker.
    """

    async def first_note(self, person: str, turn: int) -> str: ...
    async def edited_note(self, question: Incoming) -> str: ...
    async def kept_note(self, turn: int) -> str: ...
    async def scheduled_note(self, question: Incoming) -> str: ...
    async def private_note(self, question: Incoming, actions: Sequence[ActionRecord]) -> str: ...


class AmbientTurns(Protocol):
    """Answers to open questions that were not addressed to the bot."""

    async def notice(self, question: Incoming) -> str: ...
    async def unanswered(self, question: Incoming) -> None: ...


class HandleNotes(Protocol):
    async def record_event(self, event: AgentEvent) -> None:
        """Note that a vendor stores something from now on, or no longer."""
        ...


class Foreground(Protocol):
    def answering(self) -> AbstractContextManager[None]:
        """Return the context in which a model is asked: background work pauses meanwhile."""
        ...


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """What turns need. A part that is None is switched off: no audit is written, no budget checked, no file read."""

    provider: Callable[[Incoming], Awaitable[Provider]]
    persona: Callable[[Incoming], Awaitable[Persona]]
    tools: Toolbox
    context: ContextConfig
    footer: FooterStyle = FooterStyle.OFF
    joins: bool = False
    """Whether a message that a person sends while their answer grows joins it; else it waits for its own answer."""
    summarises: bool = False
    """Whether messages that no longer fit into the history are summarised in the background."""
    telemetry: Telemetry = SILENT
    policy: ApprovalPolicy | None = None
    """Which calls run without confirmation; None: all that `tools` offers."""
    audit: ToolAudit | None = None
    questions: QuestionDesk | None = None
    """Where a tool asks the person something during a call."""
    budgets: BudgetChecks | None = None
    readers: GroupReaders | None = None
    files: FileReader | None = None
    learning: LearningRules | None = None
    notices: ReplyNotices | None = None
    long_work: LongWork | None = None
    ambient: AmbientTurns | None = None
    handles: HandleNotes | None = None
    foreground: Foreground | None = None


NOTHING = Attached()
log = logging.getLogger(__name__)

# How long a resumed turn waits for its tools' servers: after a restart, they are just starting, too.
SETTLE_S = 10.0
WAITED = timedelta(seconds=5)  # Longer than a message waits for its turn while workers are free


class TurnRunner:
    def __init__(
        self, config: AgentConfig, ledger: Ledger, knowledge: Knowledge, clock: Clock, *, works: bool = False
    ) -> None:
        """`works`: for long work only, which has more rounds (`config`) and for which nobody waits."""
        self._config = config
        self._works = works
        self._ledger = ledger
        self._knowledge = knowledge
        self._clock = clock
        self._composing = asyncio.Semaphore(1)  # several at once would only block the event loop for longer

    @property
    def telemetry(self) -> Telemetry:
        return self._config.telemetry

    async def _prepare(self, claim: Claim, stopped: Callable[[], bool]) -> None:
        asker = asker_of(claim.incoming)
        try:
            await self._config.tools.servers.prepare(asker)
            if claim.progress and self._lacks(claim, asker):
                await self._config.tools.servers.settle(SETTLE_S)
        except asyncio.CancelledError:
            if not stopped():
                raise

    def _lacks(self, claim: Claim, asker: Asker) -> bool:
        """Whether a resumed turn has open calls of tools that are not available, or not yet."""
        steps = decode(claim.progress).steps
        open_ = {call.name for step in steps if not step.complete for call in step.calls}
        return bool(open_) and not open_ <= {tool.name for tool in self._config.tools.all(asker)}

    async def think(self, claim: Claim, live: LiveReply, stopped: Callable[[], bool]) -> Closing | PutAside:
        """Run the turn up to its complete reply, which `live` shows as it grows, or up to a call that needs consent.

        A cancellation while `stopped()` is true ends the turn with the text so far. Any other cancellation is raised,
        as are StoreError and SurfaceError.
        """
        if _is_ambient(claim.incoming):
            return await self._think_unasked(claim, live, stopped)
        if not _is_scheduled(claim.incoming) or self._works:
            return await self._think(claim, live, stopped)
        if (whole := _reminder(claim, stopped)) is not None:
            return whole
        if claim.incoming.kind is TurnKind.WORK:
            asked = replace(claim.incoming, conversation=asked_in(claim.incoming.conversation))
            return await self._at_work().think(replace(claim, incoming=asked), live, stopped)
        text = joined([claim.incoming.text, texts.SCHEDULED_QUESTION])
        thought = await self._think(replace(claim, incoming=replace(claim.incoming, text=text)), live, stopped)
        if isinstance(thought, PutAside) or not _says_nothing(thought):
            return thought
        return _without_words(thought)

    async def _think_unasked(self, claim: Claim, live: LiveReply, stopped: Callable[[], bool]) -> Closing | PutAside:
        """Answer a question that was not addressed to the bot: shows nothing until there is an answer, or at all."""
        text = joined([claim.incoming.text, texts.OVERHEARD_QUESTION])
        thought = await self._think(replace(claim, incoming=replace(claim.incoming, text=text)), live, stopped)
        fails = isinstance(thought, PutAside) or thought.outcome not in ANSWERED
        if isinstance(thought, Closing) and not _says_nothing(thought) and not (fails and live.is_empty):
            notice = "" if self._config.ambient is None else await self._config.ambient.notice(claim.incoming)
            return replace(thought, footer=joined([thought.footer, notice]))
        if self._config.ambient is not None:
            await self._config.ambient.unanswered(claim.incoming)
        return _without_words(thought if isinstance(thought, Closing) else Closing(Outcome.ANSWERED, ""))

    def _at_work(self) -> "TurnRunner":
        usual = self._config.context
        limits = replace(usual.turn_limits, max_iterations=max(WORK_ROUNDS, usual.turn_limits.max_iterations))
        config = replace(self._config, context=replace(usual, turn_limits=limits), joins=False)
        return TurnRunner(config, self._ledger, self._knowledge, self._clock, works=True)

    async def _think(self, claim: Claim, live: LiveReply, stopped: Callable[[], bool]) -> Closing | PutAside:
        await self._prepare(claim, stopped)
        tools = self._config.tools.registry(asker_of(claim.incoming))
        context: Context | None = None
        turn, audit = await self._turn(claim, tools, lambda: UNREAD if context is None else turn_words(claim, context))
        closing = Closing(Outcome.STOPPED, turn.text)
        held: list[AgentEvent] | None = [] if _may_be_silent(claim.incoming) and not self._works else None
        events = _ObservedEvents(
            live,
            self._config.handles,
            partial(_explained, claim.incoming),
            audit,
            held=held,
            asks=not _is_ambient(claim.incoming),
            turn=claim.turn,
            telemetry=self.telemetry,
        )
        notice = ""
        try:
            if stopped():
                return closed(closing, turn, claim.incoming.place)
            if (spent := await self._overspent(claim, turn)) is not None:
                return await self._end(claim, turn, closing, Outcome.REFUSED, spent)
            files = await self._files(claim.incoming, live)
            if files.sorry:
                return await self._end(claim, turn, closing, Outcome.REFUSED, files.sorry)
            if files.spoken:
                claim = replace(claim, incoming=replace(claim.incoming, text=files.spoken))
                await self._ledger.set_text(claim, files.spoken)
            place = claim.incoming.place
            alone = isinstance(place.audience, PersonAudience)  # where several people read, no group's content is used
            groups = await self._config.readers.groups_of(place) if alone and self._config.readers else frozenset[str]()
            provider = await self._config.provider(claim.incoming)
            context, until = await self._known(claim, tools, groups, turn.progress, files, provider.capabilities)
            turn.record_sources(context.sources)
            live.record_context(context.read, turn.progress)
            closing = replace(
                closing,
                context_messages=context.message_ids,
                context_facts=context.fact_ids,
                retold=context.provenance >= Provenance.RETOLD,
                summarise_until=until if self._config.summarises else None,
            )
            events.asked = provider.name
            loop = self._loop(claim, turn, tools, context, groups, provider, events)
            await _show_again(turn.progress, events.show, steps=self._works)
            with nullcontext() if self._config.foreground is None else self._config.foreground.answering():
                ended = await loop.run()
            if isinstance(ended, TurnPutAside):
                return await self._put_aside(ended, turn, audit, events)
            written = turn.progress.summary
            noted = SituationSummary().merged(written) if written else None
            closing = replace(closing, outcome=ended.outcome, reply=ended.text, summary=noted)
            if closing.outcome in ANSWERED:
                if self._config.notices is not None and closing.reply and not _says_nothing(closing):
                    notice = await self._config.notices.first_note(claim.incoming.person.id, claim.turn)
                closing = await self._to_be_learned(claim.incoming, turn.progress.joined, closing)
        except asyncio.CancelledError:
            if not stopped():
                raise
            closing = await self._end(claim, turn, closing, Outcome.STOPPED, turn.text, audit)
        except (StoreError, SurfaceError):
            raise
        except Exception:
            log.exception("turn %d: failed", claim.turn)
            reply = joined([turn.text, reply_texts.BROKEN.format(turn=claim.turn)])
            closing = await self._end(claim, turn, closing, Outcome.REFUSED, reply)
        closing = _with_sources(claim, closing, turn.progress)
        below = footer(turn.progress.calls, events.asked, events.why(turn.progress.calls), self._config.footer)
        return closed(closing, turn, claim.incoming.place, joined([below, notice]))

    async def _known(
        self,
        claim: Claim,
        tools: Registry,
        groups: frozenset[str],
        progress: Progress,
        files: Attached,
        capabilities: Capabilities,
    ) -> tuple[Context, int | None]:
        """See `agent.turn_setup.known_context`. Raises StoreError."""
        asked = claim
        if self._works:
            text = joined([claim.incoming.text, texts.LONG_WORK])
            asked = replace(claim, incoming=replace(claim.incoming, text=text))
        context, until = await known_context(
            self._config.context,
            await self._config.persona(claim.incoming),
            tools,
            self._knowledge,
            asked,
            groups,
            progress,
            images=files.images,
            quoted=files.quoted,
            reasons=capabilities.reasons,
            in_functions=capabilities.native_calls,
            composing=self._composing,
        )
        if self._works and claim.incoming.own:  # a model wrote the text of this question
            context = replace(context, own_words=context.own_words[:-1])
        return context, until

    async def _turn(
        self, claim: Claim, tools: Registry, words: Callable[[], TurnWords]
    ) -> tuple[Turn, CallAudit | None]:
        progress, limits, policy = decode(claim.progress), self._config.context.turn_limits, self._config.policy
        turn, gate = Turn(tools.check, tools.repeatable, limits, progress, question=claim.incoming.text), None
        if policy is not None and (tools.asks or policy.rows):
            turn, gate = await policy.turn(claim, asker_of(claim.incoming), tools, limits, progress, words)
        if self._config.audit is None:
            return turn, None
        audit = CallAudit(claim, self._config.audit, self._clock, tools, lambda: turn.progress, gate)
        if progress.awaited:
            await audit.keep_refused()
        return turn, audit

    async def _files(self, question: Incoming, live: LiveReply) -> Attached:
        """Read the files that came with the question, while the person sees a status."""
        if self._config.files is None or not question.files:
            return NOTHING
        await live.record_event(IterationStarted(1))
        return await self._config.files.read(question)

    async def with_notes(self, claim: Claim, closing: Closing) -> Closing:
        """Add the lines below the reply about stored and learned facts, and about new schedules."""
        notices = self._config.notices
        if notices is None or _is_silent(closing) or (_may_be_silent(claim.incoming) and not closing.used_tools):
            return closing
        if edited := await notices.edited_note(claim.incoming):
            closing = replace(closing, footer=joined([edited, closing.footer]))
        kept = await notices.kept_note(claim.turn)
        scheduled = await notices.scheduled_note(claim.incoming) if closing.used_tools else ""
        return replace(closing, kept=kept, scheduled=scheduled)

    async def private_note(self, question: Incoming, closing: Closing) -> str:
        """Return what the person alone is shown after the reply; "" for nothing."""
        if self._config.notices is None or closing.outcome not in ANSWERED or _is_silent(closing):
            return ""
        return await self._config.notices.private_note(question, closing.actions)

    async def final_notice(self, question: Incoming, closing: Closing) -> Incoming | None:
        """Return the message to the person whose long work has ended, or None."""
        work = self._config.long_work if question.kind is TurnKind.WORK else None
        return None if work is None else await work.final_notice(question, closing)

    async def _to_be_learned(self, question: Incoming, joined: Sequence[Waiting], closing: Closing) -> Closing:
        """Set when to learn from the question. Small talk has no time, but is learned from once it is edited."""
        if _may_be_silent(question):  # it was learned from when it was scheduled, or nobody asked the bot
            return replace(closing, passed_over=True)
        learning = self._config.learning
        if learning is None:
            return closing
        if not await learning.may_learn(question):
            return replace(closing, passed_over=True)
        teaches = may_teach([question.text, *(one.text for one in joined)])
        return replace(closing, learn_at=learning.due(self._clock.now()) if teaches else None)

    async def _overspent(self, claim: Claim, turn: Turn) -> str | None:
        """Return why a question that had to wait exceeds a budget now. Others were checked when they came in."""
        waited = self._clock.now() - claim.incoming.time
        if self._config.budgets is None or turn.progress.calls or (waited < WAITED and not self._works):
            return None
        return await self._config.budgets.budget_left(claim.incoming)

    async def _put_aside(
        self, ended: TurnPutAside, turn: Turn, audit: CallAudit | None, events: "_ObservedEvents"
    ) -> PutAside:
        if events.asks:
            await events.release()
        if audit is not None:  # the process that resumes the turn assumes that calls with a result are in the audit
            await audit.keep_unrun()
        return PutAside(ended.calls, wait_until(turn.progress, self._clock.now()))

    async def _end(
        self,
        claim: Claim,
        turn: Turn,
        closing: Closing,
        outcome: Outcome,
        reply: str,
        stopped: CallAudit | None = None,
    ) -> Closing:
        """Store that the answer is complete: after a crash while it is shown, it must not be begun again.

        `stopped`: the audit in which running calls are marked as stopped.
        """
        if stopped is not None and turn.progress.steps:
            await stopped.stop()
        await self._ledger.save(claim, progress=encode(replace(turn.progress, reply=reply, outcome=outcome)))
        return replace(closing, outcome=outcome, reply=reply)

    def _loop(
        self,
        claim: Claim,
        turn: Turn,
        tools: Registry,
        context: Context,
        groups: frozenset[str],
        provider: Provider,
        events: "_ObservedEvents",
    ) -> Loop:
        config = self._config

        async def save(progress: Progress) -> None:
            await self._ledger.save(claim, progress=encode(progress))

        async def arrived() -> Sequence[Waiting]:
            return await self._ledger.waiting(claim)

        def failed(error: ProviderError) -> str:
            reason = error.reason
            told = events.explain(reason)
            if told != reason.to_operator:  # the person does not see the details
                log.warning("turn %d: %s", claim.turn, reason.sentence)
                log.debug("turn %d: the vendor says: %s", claim.turn, reason.quoted)
            return told

        return loop_of(
            claim,
            turn,
            tools,
            context,
            groups,
            provider,
            self._clock,
            emit=events.record_event,
            save=save,
            arrived=arrived if config.joins else None,
            ask=None if config.questions is None else partial(config.questions.ask, claim),
            afford=None if config.budgets is None else partial(config.budgets.budget_left, claim.incoming),
            ends=partial(config.long_work.end_due, claim.incoming) if self._works and config.long_work else None,
            explain=failed,
        )


MEASURED = (IterationStarted, ModelAnswered, CallStarted, CallFinished)  # The events that telemetry records


@dataclass(slots=True, eq=False)
class _ObservedEvents:
    """Passes on a turn's events, and notes which model was `asked` and why another one answered.

    `held`: the events until it is known that there is something to report; None if there always is. `asks`: whether the
    person may be asked to confirm a call meanwhile.
    """

    live: LiveReply
    handles: HandleNotes | None
    explain: Callable[[FailureReason], str]
    audit: CallAudit | None = None
    asked: str = ""
    switched: str = ""
    held: list[AgentEvent] | None = None
    asks: bool = True
    turn: int = 0
    telemetry: Telemetry = SILENT
    _said: str = ""

    async def show(self, event: AgentEvent) -> None:
        if self.held is None:
            await self.live.record_event(event)
            return
        self.held.append(event)
        if isinstance(event, TextArrived):
            self._said = f"{self._said}{event.text}".lstrip()
        if (isinstance(event, CallAsks) and self.asks) or not texts.NOTHING_TO_REPORT.startswith(self._said.rstrip()):
            await self.release()

    async def release(self) -> None:
        held, self.held = self.held or (), None
        for event in held:
            await self.live.record_event(event)

    async def record_event(self, event: AgentEvent) -> None:
        if isinstance(event, MEASURED):
            self.telemetry.record(AgentReported(self.turn, event, self.asked))
        if isinstance(event, ModelSwitched):
            log.warning("%s answers instead of %s: %s", event.name, self.asked, event.why.sentence)
            self.switched = self.explain(event.why)
        if self.handles is not None and isinstance(event, HandleOpened | HandleClosed):
            await self.handles.record_event(event)
        if self.audit is not None and isinstance(event, CallStarted | CallFinished | IterationStarted | TurnEnded):
            await self.audit.record_event(event)
        await self.show(event)

    def why(self, calls: Sequence[ModelCall]) -> str:
        """Return why another model answered than the one that was asked; "" if none did."""
        another = bool(self.asked and calls) and calls[-1].model != self.asked
        return (self.switched or reply_texts.NO_ANSWER_FROM_FIRST) if another else ""


def _without_words(closing: Closing) -> Closing:
    """Return the end of a turn without a reply. Messages that had joined it are answered by themselves."""
    return replace(closing, reply="", footer="", files=(), summary=None, joined=(), outcome=Outcome.ANSWERED)


def _is_ambient(question: Incoming) -> bool:
    return question.kind is TurnKind.AMBIENT


def _may_be_silent(question: Incoming) -> bool:
    return _is_scheduled(question) or _is_ambient(question)


def _is_scheduled(question: Incoming) -> bool:
    return question.kind.begun_by_schedule


def _says_nothing(closing: Closing) -> bool:
    return closing.reply.strip() == texts.NOTHING_TO_REPORT


def _reminder(claim: Claim, stopped: Callable[[], bool]) -> Closing | None:
    """Return the end of a turn whose reply was stored with it, so that no model is asked; None for others."""
    progress = decode(claim.progress)
    words = progress.reply
    if words is None and claim.incoming.kind is TurnKind.NOTICE:
        words = claim.incoming.text
    if words is None or progress.steps or progress.calls:
        return None
    if stopped():
        return Closing(Outcome.STOPPED, "")
    return Closing(Outcome.ANSWERED, words, passed_over=True, retold=not progress.own)


def is_reminder(question: Incoming, closing: Closing) -> bool:
    """Whether this was the reminder of a schedule, for which no model was asked."""
    return _is_scheduled(question) and not closing.calls and closing.outcome is Outcome.ANSWERED


def _is_silent(closing: Closing) -> bool:
    """Whether there was nothing to report."""
    return closing.outcome is Outcome.ANSWERED and not closing.reply


def _explained(question: Incoming, reason: FailureReason) -> str:
    """Return the reason with details of the settings in the terminal, whose user knows them; elsewhere without."""
    return reason.to_operator if platform_of(question.source) == TERMINAL else reason.to_person


def _with_sources(claim: Claim, closing: Closing, progress: Progress) -> Closing:
    """Return the answer with its sources below it, and without citations that no result has."""
    if _says_nothing(closing) or not any(step.calls for step in progress.steps):
        return closing
    cited = cite(closing.reply, references_of(result for step in progress.steps for result in step.results))
    if cited.invented:
        log.info("turn %d: the model cited what no result had brought, %d times", claim.turn, cited.invented)
    is_answer = closing.outcome in ANSWERED or cited.is_cited
    reply = joined([cited.text, reply_texts.sources_text(cited) if is_answer else ""])
    return replace(closing, reply=reply, invented=cited.invented)


async def _show_again(
    progress: Progress, show: Callable[[AgentEvent], Awaitable[None]], *, steps: bool = False
) -> None:
    """Show the text that an earlier process had written before its tools ran. `steps`: also show its calls."""
    for number, step in enumerate(progress.steps, 1):
        await show(IterationStarted(number))
        if step.text:
            await show(TextArrived(step.text))
        for at, (call, result) in enumerate(zip(step.calls, step.results, strict=True), 1):
            if steps and result is not None:
                await show(CallStarted(f"{number}.{at}", call))
                await show(CallFinished(f"{number}.{at}", result))
