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
    AgentEvent,
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
from agent.memory.audience import PersonAudience, Place
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
    _contexts: ContextComposer = field(init=False)

    def __post_init__(self) -> None:
        # Several at once would only block the event loop for longer.
        self._contexts = ContextComposer(self.context, self.knowledge, asyncio.Semaphore(1))

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
            ended = await self._run(for_model, question, rule, report, live, stopped, choices)
        if isinstance(ended, EndedTurn):
            closing = closing_shown(ended.closing, rule, report, shows_nothing_yet=live.is_empty)
            return replace(ended, closing=closing)
        if rule.is_unasked:
            return EndedTurn(claim.turn, question, Closing(Outcome.ANSWERED, ""))
        return ended

    async def _run(
        self,
        claim: Claim,
        question: Incoming,
        rule: TurnRule,
        report: Report,
        live: LiveReply,
        stopped: Callable[[], bool],
        choices: ReadTogether,
    ) -> EndedTurn | PutAside:
        """`question`: without what `claim` adds to it for the model. `choices`: what is read together as it begins."""
        allows = None if rule.tools is None else rule.tools(claim.incoming)
        tools = await self.tools.prepare(
            claim, stopped, reads_only=rule.is_unasked, allows=allows, asks_back=self._asks_back(question, rule)
        )
        context: Context | None = None

        def words() -> TurnWords:
            return UNREAD if context is None else turn_words(claim, context)

        turn, audit, ask_others = await self.tools.turn(claim, tools, self._limits(rule), words, self.clock)
        hooks = TurnHooks(question, self.hooks) if audit is None else TurnHooks(question, self.hooks, audit.record_hook)
        closing = Closing(Outcome.STOPPED, turn.text)
        held: list[AgentEvent] | None = [] if rule.may_be_silent else None
        events = ObservedEvents(
            live,
            self.handles,
            partial(explained, claim.incoming),
            audit,
            held=held,
            is_held=report.posts is not None,
            asks=not rule.is_unasked,
            ask_others=None if rule.is_unasked else ask_others,
            turn=claim.turn,
            telemetry=self.telemetry,
            hides_text=hooks.holds_answer or (hooks.checks_answer and report.posts is not None),
        )
        try:
            if stopped():
                return EndedTurn(claim.turn, question, closed(closing, turn, claim.incoming.place))
            provider = await self.provider(claim.incoming)
            read = await self._held_at_first(claim, question, rule, turn, audit, events) or await self._read(
                claim, question, rule, report, turn, live, hooks
            )
            if isinstance(read, EndedTurn | PutAside):
                return read
            claim, question, files = read
            rules = await self.channel_rules.answer(claim.incoming)
            live.shape_answer(rules.shape)
            readable = await self._readable(claim.incoming.place)
            persona = rules.persona(await self.persona(claim.incoming))
            context, until = await self._known(
                claim, rule, persona, tools, readable, turn.progress, files, provider.capabilities, choices
            )
            turn.record_sources(context.sources)
            live.record_context(context.read, turn.progress)
            closing = replace(
                closing,
                context_messages=context.message_ids,
                context_facts=context.fact_ids,
                used_entries=context.used_entries,
                words=context.provenance,
                summarise_until=until if self.summarises else None,
            )
            events.asked = provider.name
            loop = self._loop(claim, rule, turn, tools, context, readable, provider, events, hooks)
            await show_again(turn.progress, events.show, steps=rule.runs_beside)
            with self.foreground.answering():
                ended = await loop.run()
            if isinstance(ended, TurnPutAside):
                return await self._put_aside(ended, turn, audit, events)
            closing = await self._completed(claim.incoming, rule, turn.progress, ended, closing)
        except asyncio.CancelledError:
            if not stopped():
                raise
            closing = await self._end(claim, turn, closing, Outcome.STOPPED, turn.text, audit)
        except (StoreError, SurfaceError):
            raise
        except Refused as refused:  # no model may answer there
            closing = await self._end(claim, turn, closing, Outcome.REFUSED, str(refused))
        except Exception:  # a bug ends one turn, and its asker gets a sentence
            log.exception("turn %d: failed", claim.turn)
            reply = joined([turn.text, reply_texts.BROKEN.format(turn=claim.turn)])
            closing = await self._end(claim, turn, closing, Outcome.REFUSED, reply)
        if closing.outcome is not Outcome.REFUSED:  # else it is a sentence of ours about what went wrong
            closing = _with_presentation(closing, turn.progress, live.shaped)
        whole = closed(
            _with_sources(claim, replace(closing, asked_model=events.asked), turn.progress), turn, claim.incoming.place
        )
        closing = await _after_answer(whole, claim.incoming.text, hooks, stopped)
        if report.posts is not None and is_reported(closing, report):
            await events.release()
        return EndedTurn(claim.turn, question, closing, events.asked, events.why(turn.progress.calls))

    async def _read(
        self,
        claim: Claim,
        question: Incoming,
        rule: TurnRule,
        report: Report,
        turn: Turn,
        live: LiveReply,
        hooks: TurnHooks,
    ) -> tuple[Claim, Incoming, Attached] | EndedTurn:
        """Return the question, with and without what is added for the model, and its files, as the model may read them;
        or how the turn has ended because it may not. What the model may not read of the question is not stored either.
        Raises StoreError.
        """
        unread, files = Closing(Outcome.STOPPED, ""), await self._files(claim, live)
        if files.sorry:
            closing = await self._end(claim, turn, unread, Outcome.REFUSED, files.sorry)
            return EndedTurn(claim.turn, question, closing)
        if files.spoken:
            claim = replace(claim, incoming=replace(claim.incoming, text=files.spoken))
            await self.ledger.set_text(claim, files.spoken)
        text = files.spoken or question.text
        is_withheld = text == reply_texts.QUESTION_WITHHELD  # it is asked again, by a button
        refused = Refuse(reply_texts.ASK_OTHERWISE)
        checked = refused if is_withheld else await hooks.before_question(text, files.quoted)
        if isinstance(checked, Refuse):
            withheld = replace(question, text=reply_texts.QUESTION_WITHHELD)
            await self.ledger.set_text(claim, withheld.text, before=text)
            unread = replace(unread, excluded_from_learning=True)
            closing = await self._end(claim, turn, unread, Outcome.REFUSED, checked.sentence)
            return EndedTurn(claim.turn, withheld, closing)
        read, quoted = checked
        if read != text:
            question = replace(question, text=read)
            await self.ledger.set_text(claim, read, before=text)
            claim = replace(claim, incoming=question_for_model(question, rule, report))
        return claim, question, replace(files, quoted=tuple(quoted))

    def _asks_back(self, question: Incoming, rule: TurnRule) -> bool:
        """Whether the model may ask the person: not where hooks check what is said, as they would not see it."""
        hooks = TurnHooks(question, self.hooks)
        return not (rule.is_unasked or hooks.checks_answer or hooks.checks_question)

    def _limits(self, rule: TurnRule) -> TurnLimits:
        limits = self.context.turn_limits
        return replace(limits, max_iterations=max(rule.rounds, limits.max_iterations))

    async def _readable(self, place: Place) -> frozenset[str]:
        """Return the labels of what else may be used there: where several people read, nothing."""
        is_alone = isinstance(place.audience, PersonAudience)
        return await self.readers.also_readable(place) if is_alone else frozenset()

    async def _known(
        self,
        claim: Claim,
        rule: TurnRule,
        persona: Persona,
        tools: Registry,
        readable: frozenset[str],
        progress: Progress,
        files: Attached,
        capabilities: Capabilities,
        choices: ReadTogether,
    ) -> tuple[Context, int | None]:
        """See `ContextComposer.compose`. Raises StoreError."""
        choices.end()
        contents = FileContents(files.images, files.quoted)
        context, until = await self._contexts.compose(claim, persona, tools, readable, capabilities, progress, contents)
        if rule.runs_beside and claim.incoming.own:  # a model wrote the text of this question
            context = replace(context, asker_texts=context.asker_texts[:-1])
        return context, until

    async def _files(self, claim: Claim, live: LiveReply) -> Attached:
        """Read the files that came with the question, while the person sees a status."""
        question = claim.incoming
        if not question.files:
            return Attached()
        await live.record_event(IterationStarted(1))
        return await self.files.read(question)

    async def _completed(
        self, question: Incoming, rule: TurnRule, progress: Progress, ended: TurnEnded, closing: Closing
    ) -> Closing:
        """Return the end of a turn whose loop has ended by itself, with its summary, and when to learn from it."""
        summary = SituationSummary().merged(progress.summary) if progress.summary else None
        closing = replace(closing, outcome=ended.outcome, reply=ended.text, summary=summary)
        if closing.outcome not in ANSWERED:
            return closing
        return await self._to_be_learned(question, rule, progress.joined, closing)

    async def _to_be_learned(
        self, question: Incoming, rule: TurnRule, joined: Sequence[Waiting], closing: Closing
    ) -> Closing:
        """Set when to learn from the question, if it is the person's own text. Small talk has no time, but is learned
        from once it is edited.
        """
        if not (rule.is_learned_from and question.own):
            return replace(closing, excluded_from_learning=True)
        learning = self.learning
        if not await learning.may_learn(question):
            return replace(closing, excluded_from_learning=True)
        teaches = may_teach([question.text, *(one.text for one in joined)])
        return replace(closing, learn_at=learning.due(self.clock.now()) if teaches else None)

    async def _held_at_first(
        self,
        claim: Claim,
        question: Incoming,
        rule: TurnRule,
        turn: Turn,
        audit: CallAudit | None,
        events: "ObservedEvents",
    ) -> EndedTurn | PutAside | None:
        """Return how a budget ends the turn, or lets it wait, before its first call of a model; None if it begins."""
        held = None if turn.progress.steps else await self._held(claim, rule, turn.progress)
        if held is None:
            return None
        if isinstance(held, PauseDue):
            put_aside = TurnPutAside({}, held.why, pause=held.pause)
            await events.record_event(put_aside)
            return await self._put_aside(put_aside, turn, audit, events)
        closing = await self._end(claim, turn, Closing(Outcome.STOPPED, ""), Outcome.REFUSED, held.why)
        return EndedTurn(claim.turn, question, closing)

    async def _held(self, claim: Claim, rule: TurnRule, progress: Progress) -> PauseDue | EndDue | None:
        """Return how a budget holds the turn back before its next call of a model; None if it may continue."""
        waits = not (rule.is_unasked or claim.incoming.kind.asks_nobody)
        return await self.budgets.held(claim.incoming, claim.turn, progress.calls, waits=waits)

    async def _put_aside(
        self, ended: TurnPutAside, turn: Turn, audit: CallAudit | None, events: "ObservedEvents"
    ) -> PutAside:
        if events.asks:
            await events.release()
        if audit is not None:  # the process that resumes the turn assumes that calls with a result are in the audit
            await audit.keep_unrun()
        joined = tuple(one.turn for one in turn.progress.joined)
        if ended.pause is not None:
            return PutAside({}, ended.pause.until, joined, ended.pause)
        return PutAside(ended.calls, wait_until(turn.progress, self.clock.now()), joined)

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
        await self.ledger.save(claim, progress=encode(replace(turn.progress, reply=reply, outcome=outcome)))
        return replace(closing, outcome=outcome, reply=reply)

    def _loop(
        self,
        claim: Claim,
        rule: TurnRule,
        turn: Turn,
        tools: Registry,
        context: Context,
        readable: frozenset[str],
        provider: Provider,
        events: "ObservedEvents",
        hooks: TurnHooks,
    ) -> Loop:
        asks_nobody = rule.is_unasked or claim.incoming.kind.asks_nobody

        stored = 0

        async def save(progress: Progress) -> None:
            nonlocal stored
            calls = progress.calls if len(progress.calls) > stored else ()  # else they were stored with the last one
            await self.ledger.save(claim, progress=encode(progress), calls=calls)
            stored = len(progress.calls)

        async def arrived() -> Sequence[Waiting]:
            return await self.ledger.waiting(claim)

        def failed(error: ProviderError) -> str:
            reason = error.reason
            told = events.explain(reason)
            if told != reason.to_operator:  # the person does not see the details
                log.warning("turn %d: %s", claim.turn, reason.sentence)
                log.debug("turn %d: the vendor says: %s", claim.turn, reason.quoted)
            return told

        # A message that joins would reach the model without the hook: it waits for a turn of its own.
        joins = self.joins and not (rule.runs_beside or asks_nobody or hooks.checks_question)
        return loop_of(
            claim,
            turn,
            tools,
            context,
            readable,
            provider,
            self.clock,
            TurnCallbacks(
                emit=events.record_event,
                save=save,
                arrived=arrived if joins else None,
                ask=None if asks_nobody else self.tools.asking(claim),
                afford=partial(self.budgets.budget_left, claim.incoming),
                pauses=partial(self._held, claim, rule),
                ends=None if rule.watcher is None else partial(rule.watcher.end_due, claim.incoming),
                explain=failed,
                before_call=hooks.before_call(tools),
            ),
        )


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
