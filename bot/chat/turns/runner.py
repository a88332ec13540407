"""One turn's answer: from a claimed question to everything that the turn leaves behind.

One of the few broad excepts of this program is here: a turn. An unexpected error ends in one sentence to the person
and one log line with the turn's id.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from agent.citations import Citations, cite, references_of
from agent.consents import PutAside, wait_until
from agent.context import Context, Persona
from agent.context_composer import ContextComposer, ContextConfig, FileContents
from agent.errors import ProviderError, Refused, StoreError
from agent.events import (
    IterationStarted,
    Outcome,
    TurnEnded,
    TurnPutAside,
)
from agent.hooks.running import Hooks
from agent.hooks.turns import TurnHooks
from agent.hooks.values import Refuse
from agent.incoming import Incoming
from agent.loop import Loop, TurnCallbacks
from agent.memory.audience import PersonAudience
from agent.memory.synthesizer import may_teach
from agent.ports.clock import Clock
from agent.ports.conversations import Knowledge
from agent.ports.ledger import Ledger
from agent.ports.model import Capabilities, Provider
from agent.ports.preferences import ReadTogether
from agent.presentations import presentation_markdown
from agent.progress import Progress, encode
from agent.protocol.render import joined
from agent.state import SituationSummary
from agent.tool_policy import UNREAD, TurnWords
from agent.toolbox.registry import Registry
from agent.tools.present import presented
from agent.turn import Turn, TurnLimits
from agent.turn_events import EndDue, PauseDue
from agent.turn_records import Claim, Closing, Waiting
from agent.turn_setup import ANSWERED, closed, loop_of, turn_words
from bot.chat.access.place_rules import place_owner
from bot.chat.attachments.reading import Attached
from bot.chat.audit import CallAudit
from bot.chat.kinds import Report, TurnRule
from bot.chat.notes import EndedTurn
from bot.chat.ports import NO_BUDGETS, NO_CHANNEL_RULES, BudgetChecks, ChannelRules
from bot.chat.reply.live import LiveReply
from bot.chat.reply.surface import SurfaceError
from bot.chat.telemetry import SILENT, Telemetry
from bot.chat.texts import replies as reply_texts
from bot.chat.turns.tool_use import ToolUse
from bot.chat.turns.turn_events import ObservedEvents, explained, show_again
from bot.chat.turns.turn_features import (
    NO_FEATURES,
    TurnFeatures,
    closing_shown,
    is_reported,
    posted,
    question_for_model,
    says_nothing,
)
from bot.chat.turns.turn_ports import (
    NO_FILES,
    NO_READERS,
    NOTHING_BESIDE,
    NOTHING_LEARNED,
    FileReader,
    Foreground,
    HandleNotes,
    LearningRules,
    PlaceReaders,
    Together,
    apart,
)

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False, kw_only=True)
class TurnRunner:
    """Runs claimed turns. A field that is left out switches its part off: nothing is learned, no file is read …"""

    ledger: Ledger
    knowledge: Knowledge
    clock: Clock
    provider: Callable[[Incoming], Awaitable[Provider]]
    persona: Callable[[Incoming], Awaitable[Persona]]
    tools: ToolUse
    context: ContextConfig
    features: TurnFeatures = NO_FEATURES
    joins: bool = False
    """Whether a message that a person sends while their answer grows joins it; else it waits for its own answer."""
    summarises: bool = False
    """Whether messages that no longer fit into the history are summarised in the background."""
    telemetry: Telemetry = SILENT
    budgets: BudgetChecks = NO_BUDGETS
    channel_rules: ChannelRules = NO_CHANNEL_RULES
    together: Together = apart
    """Reads what people and managers have chosen."""
    readers: PlaceReaders = NO_READERS
    files: FileReader = NO_FILES
    learning: LearningRules = NOTHING_LEARNED
    handles: HandleNotes | None = None
    foreground: Foreground = NOTHING_BESIDE
    hooks: Hooks | None = None
    """The operator's own functions that see questions, calls and answers."""
    contexts: ContextComposer = field(init=False)

    def __post_init__(self) -> None:
        # Several at once would only block the event loop for longer.
        self.contexts = ContextComposer(self.context, self.knowledge, asyncio.Semaphore(1))

    async def run(self, claim: Claim, live: LiveReply, stopped: Callable[[], bool]) -> EndedTurn | PutAside:
        """Run the turn up to its complete reply, which `live` shows as it grows, or up to a call that needs consent.

        A cancellation while `stopped()` is true ends the turn with the text so far. Any other cancellation is raised,
        as are StoreError and SurfaceError.
        """
        question, rule = claim.incoming, self.features.rule(claim.incoming)
        if rule.posts_text:
            return EndedTurn(claim.turn, question, posted(claim, stopped))
        report = await self.features.report(question)
        for_model = replace(claim, incoming=question_for_model(question, rule, report))
        with self.together(place_owner(question.channel)) as choices:
            ended = await _TurnRun(self, for_model, question, rule, report, live, stopped, choices).run()
        if isinstance(ended, EndedTurn):
            closing = closing_shown(ended.closing, rule, report, shows_nothing_yet=live.is_empty)
            return replace(ended, closing=closing)
        if rule.is_unasked:
            return EndedTurn(claim.turn, question, Closing(Outcome.ANSWERED, ""))
        return ended


@dataclass(slots=True, eq=False)
class _TurnRun:
    """One turn while it runs.

    `claim`: its question is the one that the model reads. `question`: without what is added to it for the model.
    `choices`: what is read together as the turn begins.
    """

    runner: TurnRunner
    claim: Claim
    question: Incoming
    rule: TurnRule
    report: Report
    live: LiveReply
    stopped: Callable[[], bool]
    choices: ReadTogether
    tools: Registry = field(init=False)
    turn: Turn = field(init=False)
    audit: CallAudit | None = field(init=False)
    hooks: TurnHooks = field(init=False)
    events: ObservedEvents = field(init=False)
    closing: Closing = field(init=False)
    """How the turn ends, as far as that is known."""
    context: Context | None = None
    """What the model is given; None until it is composed."""
    calls_stored: int = 0
    """The model calls of the turn that are stored with its progress."""

    async def run(self) -> EndedTurn | PutAside:
        """See `TurnRunner.run`."""
        await self._prepare()
        try:
            if self.stopped():
                return EndedTurn(self.claim.turn, self.question, self._closed(self.closing))
            if (ended := await self._answer()) is not None:
                return ended
        except asyncio.CancelledError:
            if not self.stopped():
                raise
            await self._end(Outcome.STOPPED, self.turn.text, stops_calls=True)
        except (StoreError, SurfaceError):
            raise
        except Refused as refused:  # no model may answer there
            await self._end(Outcome.REFUSED, str(refused))
        except Exception:  # a bug ends one turn, and its asker gets a sentence
            log.exception("turn %d: failed", self.claim.turn)
            await self._end(Outcome.REFUSED, joined([self.turn.text, reply_texts.BROKEN.format(turn=self.claim.turn)]))
        return await self._finish()

    async def _prepare(self) -> None:
        """Set what the turn runs with: its tools, its progress so far, and what hears of its events."""
        runner, claim, rule, question = self.runner, self.claim, self.rule, self.question
        allows = None if rule.tools is None else rule.tools(claim.incoming)
        self.tools = await runner.tools.prepare(
            claim, self.stopped, reads_only=rule.is_unasked, allows=allows, asks_back=self._asks_back()
        )
        self.turn, audit, ask_others = await runner.tools.turn(
            claim, self.tools, self._limits(), self._words, runner.clock
        )
        self.audit = audit
        recording = () if audit is None else (audit.record_hook,)
        self.hooks = hooks = TurnHooks(question, runner.hooks, *recording)
        self.closing = Closing(Outcome.STOPPED, self.turn.text)
        self.events = ObservedEvents(
            self.live,
            runner.handles,
            partial(explained, claim.incoming),
            audit,
            held=[] if rule.may_be_silent else None,
            is_held=self.report.posts is not None,
            asks=not rule.is_unasked,
            ask_others=None if rule.is_unasked else ask_others,
            turn=claim.turn,
            telemetry=runner.telemetry,
            hides_text=hooks.holds_answer or (hooks.checks_answer and self.report.posts is not None),
        )

    def _asks_back(self) -> bool:
        """Whether the model may ask the person: not where hooks check what is said, as they would not see it."""
        hooks = TurnHooks(self.question, self.runner.hooks)
        return not (self.rule.is_unasked or hooks.checks_answer or hooks.checks_question)

    def _limits(self) -> TurnLimits:
        limits = self.runner.context.turn_limits
        return replace(limits, max_iterations=max(self.rule.rounds, limits.max_iterations))

    def _words(self) -> TurnWords:
        return UNREAD if self.context is None else turn_words(self.claim, self.context)

    async def _answer(self) -> EndedTurn | PutAside | None:
        """Answer the question; `closing` is how. Return the end of a turn that was put aside, or that ended before the
        model was asked. Raises StoreError, SurfaceError and Refused.
        """
        runner = self.runner
        provider = await runner.provider(self.claim.incoming)
        if (held := await self._held_at_first()) is not None:
            return held
        files = await self._read_question()
        if isinstance(files, EndedTurn):
            return files
        rules = await runner.channel_rules.answer(self.claim.incoming)
        self.live.shape_answer(rules.shape)
        readable = await self._readable()
        persona = rules.persona(await runner.persona(self.claim.incoming))
        self.choices.end()
        context = await self._compose(persona, readable, files, provider.capabilities)
        self.events.asked = provider.name
        loop = self._loop(context, readable, provider)
        await show_again(self.turn.progress, self.events.show, steps=self.rule.runs_beside)
        with runner.foreground.answering():
            ended = await loop.run()
        if isinstance(ended, TurnPutAside):
            return await self._put_aside(ended)
        self.closing = await self._completed(ended)
        return None

    async def _held_at_first(self) -> EndedTurn | PutAside | None:
        """Return how a budget ends the turn, or lets it wait, before its first call of a model; None if it begins."""
        held = None if self.turn.progress.steps else await self._held(self.turn.progress)
        if held is None:
            return None
        if isinstance(held, PauseDue):
            put_aside = TurnPutAside({}, held.why, pause=held.pause)
            await self.events.record_event(put_aside)
            return await self._put_aside(put_aside)
        return await self._refused(held.why)

    async def _held(self, progress: Progress) -> PauseDue | EndDue | None:
        """Return how a budget holds the turn back before its next call of a model; None if it may continue."""
        asked = self.claim.incoming
        waits = not (self.rule.is_unasked or asked.kind.asks_nobody)
        return await self.runner.budgets.held(asked, self.claim.turn, progress.calls, waits=waits)

    async def _read_question(self) -> Attached | EndedTurn:
        """Read the question's files. `question` and `claim` then hold what the model may read of the question; what it
        may not read is not stored either. Return the files, or the end of a turn whose question may not be answered.
        Raises StoreError.
        """
        ledger, files = self.runner.ledger, await self._files()
        if files.sorry:
            return await self._refused(files.sorry)
        if files.spoken:
            self.claim = replace(self.claim, incoming=replace(self.claim.incoming, text=files.spoken))
            await ledger.set_text(self.claim, files.spoken)
        text = files.spoken or self.question.text
        is_withheld = text == reply_texts.QUESTION_WITHHELD  # it is asked again, by a button
        refused = Refuse(reply_texts.ASK_OTHERWISE)
        checked = refused if is_withheld else await self.hooks.before_question(text, files.quoted)
        if isinstance(checked, Refuse):
            self.question = replace(self.question, text=reply_texts.QUESTION_WITHHELD)
            await ledger.set_text(self.claim, self.question.text, before=text)
            self.closing = replace(self.closing, excluded_from_learning=True)
            return await self._refused(checked.sentence)
        read, quoted = checked
        if read != text:
            self.question = replace(self.question, text=read)
            await ledger.set_text(self.claim, read, before=text)
            self.claim = replace(self.claim, incoming=question_for_model(self.question, self.rule, self.report))
        return replace(files, quoted=tuple(quoted))

    async def _files(self) -> Attached:
        """Read the files that came with the question, while the person sees a status."""
        if not self.claim.incoming.files:
            return Attached()
        await self.live.record_event(IterationStarted(1))
        return await self.runner.files.read(self.claim.incoming)

    async def _readable(self) -> frozenset[str]:
        """Return the labels of what else may be used there: where several people read, nothing."""
        place = self.claim.incoming.place
        is_alone = isinstance(place.audience, PersonAudience)
        return await self.runner.readers.also_readable(place) if is_alone else frozenset()

    async def _compose(
        self, persona: Persona, readable: frozenset[str], files: Attached, capabilities: Capabilities
    ) -> Context:
        """Compose what the model is given (`ContextComposer.compose`), and record it. Raises StoreError."""
        progress, contents = self.turn.progress, FileContents(files.images, files.quoted)
        context, until = await self.runner.contexts.compose(
            self.claim, persona, self.tools, readable, capabilities, progress, contents
        )
        if self.rule.runs_beside and self.claim.incoming.own:  # a model wrote the text of this question
            context = replace(context, asker_texts=context.asker_texts[:-1])
        self.context = context
        self.turn.record_sources(context.sources)
        self.live.record_context(context.read, progress)
        self.closing = replace(
            self.closing,
            context_messages=context.message_ids,
            context_facts=context.fact_ids,
            used_entries=context.used_entries,
            words=context.provenance,
            summarise_until=until if self.runner.summarises else None,
        )
        return context

    def _loop(self, context: Context, readable: frozenset[str], provider: Provider) -> Loop:
        runner, asked, rule = self.runner, self.claim.incoming, self.rule
        asks_nobody = rule.is_unasked or asked.kind.asks_nobody
        # A message that joins would reach the model without the hook: it waits for a turn of its own.
        joins = runner.joins and not (rule.runs_beside or asks_nobody or self.hooks.checks_question)
        return loop_of(
            self.claim,
            self.turn,
            self.tools,
            context,
            readable,
            provider,
            runner.clock,
            TurnCallbacks(
                emit=self.events.record_event,
                save=self._save,
                arrived=self._arrived if joins else None,
                ask=None if asks_nobody else runner.tools.asking(self.claim),
                afford=partial(runner.budgets.budget_left, asked),
                pauses=self._held,
                ends=None if rule.watcher is None else partial(rule.watcher.end_due, asked),
                explain=self._explain,
                before_call=self.hooks.before_call(self.tools),
            ),
        )

    async def _save(self, progress: Progress) -> None:
        calls = progress.calls if len(progress.calls) > self.calls_stored else ()
        await self.runner.ledger.save(self.claim, progress=encode(progress), calls=calls)
        self.calls_stored = len(progress.calls)

    async def _arrived(self) -> Sequence[Waiting]:
        return await self.runner.ledger.waiting(self.claim)

    def _explain(self, error: ProviderError) -> str:
        """Return what the person is told about the error; the log has the details that they do not see."""
        reason = error.reason
        explanation = self.events.explain(reason)
        if explanation != reason.to_operator:
            log.warning("turn %d: %s", self.claim.turn, reason.sentence)
            log.debug("turn %d: the vendor says: %s", self.claim.turn, reason.quoted)
        return explanation

    async def _put_aside(self, ended: TurnPutAside) -> PutAside:
        if self.events.asks:
            await self.events.release()
        if (
            self.audit is not None
        ):  # the process that resumes the turn assumes that calls with a result are in the audit
            await self.audit.keep_unrun()
        joined = tuple(one.turn for one in self.turn.progress.joined)
        if ended.pause is not None:
            return PutAside({}, ended.pause.until, joined, ended.pause)
        return PutAside(ended.calls, wait_until(self.turn.progress, self.runner.clock.now()), joined)

    async def _completed(self, ended: TurnEnded) -> Closing:
        """Return the end of a turn whose loop has ended by itself, with its summary, and when to learn from it."""
        progress = self.turn.progress
        summary = SituationSummary().merged(progress.summary) if progress.summary else None
        closing = replace(self.closing, outcome=ended.outcome, reply=ended.text, summary=summary)
        return await self._to_be_learned(closing) if closing.outcome in ANSWERED else closing

    async def _to_be_learned(self, closing: Closing) -> Closing:
        """Set when to learn from the question, if it is the person's own text. Small talk has no time, but is learned
        from once it is edited.
        """
        asked, learning = self.claim.incoming, self.runner.learning
        if not (self.rule.is_learned_from and asked.own and await learning.may_learn(asked)):
            return replace(closing, excluded_from_learning=True)
        teaches = may_teach([asked.text, *(one.text for one in self.turn.progress.joined)])
        return replace(closing, learn_at=learning.due(self.runner.clock.now()) if teaches else None)

    async def _refused(self, reply: str) -> EndedTurn:
        """End the turn before the model is asked."""
        await self._end(Outcome.REFUSED, reply)
        return EndedTurn(self.claim.turn, self.question, self.closing)

    async def _end(self, outcome: Outcome, reply: str, *, stops_calls: bool = False) -> None:
        """Store that the answer is complete: after a crash while it is shown, it must not be begun again.

        `stops_calls`: the audit marks running calls as stopped.
        """
        if stops_calls and self.audit is not None and self.turn.progress.steps:
            await self.audit.stop()
        progress = replace(self.turn.progress, reply=reply, outcome=outcome)
        await self.runner.ledger.save(self.claim, progress=encode(progress))
        self.closing = replace(self.closing, outcome=outcome, reply=reply)

    def _closed(self, closing: Closing) -> Closing:
        return closed(closing, self.turn, self.claim.incoming.place)

    async def _finish(self) -> EndedTurn:
        """Return the end of the turn, with everything that its reply shows."""
        closing, progress, events = self.closing, self.turn.progress, self.events
        if closing.outcome is not Outcome.REFUSED:  # else it is a sentence of ours about what went wrong
            closing = _with_presentation(closing, progress, self.live.shaped)
        closing = _with_sources(self.claim, replace(closing, asked_model=events.asked), progress)
        closing = await _after_answer(self._closed(closing), self.claim.incoming.text, self.hooks, self.stopped)
        if self.report.posts is not None and is_reported(closing, self.report):
            await events.release()
        return EndedTurn(self.claim.turn, self.question, closing, events.asked, events.why(progress.calls))


async def _after_answer(closing: Closing, question: str, hooks: TurnHooks, stopped: Callable[[], bool]) -> Closing:
    """Return the end of a turn with the answer that the operator's hook lets pass. A stop waits for the hook."""
    if not hooks.checks_answer or not closing.reply.strip() or says_nothing(closing):
        return closing
    checking = asyncio.create_task(hooks.after_answer(closing.reply, question))
    try:
        checked = await asyncio.shield(checking)
    except asyncio.CancelledError:
        if not stopped():
            checking.cancel()
            raise
        checked = await checking
    if checked is None:
        return closing
    if isinstance(checked, Refuse):  # nothing of the answer remains, neither its files nor what the model noted
        refused = replace(closing, outcome=Outcome.REFUSED, reply=checked.sentence, files=(), joined=(), learn_at=None)
        return replace(refused, summary=None, presentation=None, excluded_from_learning=True)
    return replace(closing, reply=checked, summary=None, presentation=None)


def _with_presentation(closing: Closing, progress: Progress, shaped: Callable[[str], str]) -> Closing:
    """Return the answer as the channel's rules shape it, with what the turn presents as its end."""
    closing = replace(closing, reply=shaped(closing.reply))
    presentation = presented(progress) if closing.outcome in ANSWERED and not says_nothing(closing) else None
    if presentation is None:
        return closing
    citations = Citations(references_of(result for step in progress.steps for result in step.known_results))
    presentation = presentation.with_texts(lambda text: citations.shown(text, complete=True))
    words = presentation_markdown(presentation)
    if (allowed := shaped(words)) != words:  # a rule of the channel changes them, so they are text like the others
        return replace(closing, reply=joined([closing.reply, allowed]))
    return replace(closing, reply=joined([closing.reply, words]), presentation=presentation)


def _with_sources(claim: Claim, closing: Closing, progress: Progress) -> Closing:
    """Return the answer with its sources below it, and without citations that no result has."""
    if says_nothing(closing) or not any(step.calls for step in progress.steps):
        return closing
    cited = cite(closing.reply, references_of(result for step in progress.steps for result in step.known_results))
    if cited.invented:
        log.info("turn %d: the model cited sources that no result contained, %d times", claim.turn, cited.invented)
    is_answer = closing.outcome in ANSWERED or cited.is_cited
    reply = joined([cited.text, reply_texts.sources_text(cited) if is_answer else ""])
    return replace(closing, reply=reply, invented=cited.invented)
