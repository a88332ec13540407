"""The workspace in which one question is asked: its people and places, what comes before, and what the bot shows.

Theory of operation. To the bot it is a platform of its own, with a source, people and conversations that no other
question has. So the rules about audiences keep the questions apart, and one database serves all that run at once.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Final

from agent.errors import CogencyError, Refused, ToolError
from agent.events import Outcome
from agent.incoming import Incoming, Person
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience, label
from agent.memory.documents import DocumentPage, NewDocument, passages_of
from agent.memory.writing import WriteRefused
from agent.messages import JsonObject, ToolCall, ToolResult
from agent.ports.clock import Clock
from agent.ports.tools import ToolContext, ToolEffect, ToolOutput
from agent.shown_replies import ShownPage
from agent.stored_messages import Author
from agent.tools.remember import build_fact
from bot.chat.commands.declaration import CommandCall, command_below
from bot.chat.core import Repositories
from bot.chat.host import Host
from bot.chat.message_caller import MessageCaller
from bot.chat.panels import TYPED_NO, TYPED_YES, Panel
from bot.chat.reply.surface import Limits, OutFile, PageContent, PageKey, PageRef, ReplyAction, ReplyEnd
from bot.chat.waiting import waiting_panel
from bot.evals import texts
from bot.evals.checking import Observation, ObservedCall, Shown, addresses_in, fits, quoted
from bot.evals.exam import (
    DM,
    CallsNot,
    CallsTool,
    ExamTool,
    KnownDocument,
    KnownFact,
    Question,
    RunsNot,
    Said,
    mentions_bot,
    without_mention,
)
from bot.evals.watching import TurnWatch, WatchedTurn, ran

SOURCE: Final = "eval"  # The family of the sources of all questions
LIMITS: Final = Limits(page_chars=10_000_000, edit_interval_s=0.05, attaches_text=False)
MAX_DECISIONS: Final = 20  # Of the asker, about calls of one answer
FIELDS: Final = 5  # Of a form; the asker fills in none
TOOL_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class CannedTool:
    """A tool of the file."""

    tool: ExamTool
    timeout_s: float = TOOL_S

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def description(self) -> str:
        return self.tool.description

    @property
    def schema(self) -> JsonObject:
        return self.tool.arguments

    @property
    def effect(self) -> ToolEffect:
        return self.tool.effect

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        answer = next((each for each in self.tool.answers if fits(each.when, args)), None)
        if answer is None:
            raise ToolError(texts.NO_CANNED_ANSWER)
        if answer.failure:
            raise ToolError(answer.failure)
        return ToolOutput(answer.result, audience=context.place.audience)


@dataclass(slots=True, eq=False)
class _Surface:
    """Collects what one reply shows. `pages`: the ids of those that are there."""

    shown: list[Shown]
    waiting: Callable[[int], None]
    pages: set[str] = field(default_factory=set[str])

    @property
    def limits(self) -> Limits:
        return LIMITS

    async def find(self, key: PageKey) -> PageRef | None:
        return PageRef(str(key)) if str(key) in self.pages else None

    async def post(self, key: PageKey, look: PageContent) -> PageRef:
        page = PageRef(str(key))
        await self.edit(page, look)
        return page

    async def edit(self, page: PageRef, look: PageContent) -> None:
        # What was shown for a moment was revealed, too.
        self.pages.add(page.id)
        self.shown.append(Shown(texts.IN_ANSWER, f"{look.text}\n{look.note}"))

    async def delete(self, page: PageRef) -> None:
        self.pages.discard(page.id)

    async def attach(self, key: PageKey, files: Sequence[OutFile], *, again: bool) -> tuple[PageRef, ...]:  # noqa: ARG002 -- a file that was shown stays shown
        for file in files:
            content = file.content.decode(errors="replace")
            self.shown.append(Shown(texts.IN_FILE.format(name=file.name), f"{file.name}\n{file.alt}\n{content}"))
        return (PageRef(f"{key}"),)

    async def send_ephemeral(self, text: str) -> None:
        self.shown.append(Shown(texts.IN_PRIVATE, text))

    async def show_waiting(self, turn: int) -> None:
        self.waiting(turn)

    async def status(self, text: str) -> None:
        """Says what the bot is doing, in words of its own."""

    def begin(self, *, resumed: bool) -> None:
        """Nothing is shown before the first page."""

    def finish(self, end: ReplyEnd) -> None:
        """The end of the turn is known from elsewhere."""


@dataclass(frozen=True, slots=True)
class _Conversation:
    id: str
    channel: str
    place: Place


@dataclass(slots=True, eq=False)
class Workspace:
    """`number`: unique among all questions that are asked of this bot. `timeout_s`: for the answer to one message.
    `own_tools`: the names of the bot's tools. `before_question`: waits for what the bot does in the background with
    what came before.
    """

    host: Host
    store: Repositories
    clock: Clock
    watch: TurnWatch
    question: Question
    number: int
    timeout_s: float
    own_tools: Collection[str]
    before_question: Callable[[], Awaitable[None]]
    _shown: list[Shown] = field(default_factory=list[Shown])
    _sources: list[str] = field(default_factory=list[str])
    _deciding: set["asyncio.Task[None]"] = field(default_factory=set["asyncio.Task[None]"])
    _messages: int = 0
    _asks_back: bool = False
    """Whether the turn was stopped because it waits for an answer of its asker, who has none."""

    @property
    def source(self) -> str:
        return f"{SOURCE}:{self.number}"

    async def ask(self) -> Observation:
        """Set the workspace up, and ask the question. Raises CogencyError with why it could not be asked."""
        async with self._open():
            for fact in self.question.memory:
                await self._remember(fact)
            for document in self.question.documents:
                await self._learn(document)
            for at, said in enumerate(self.question.before, 1):
                try:
                    await self._say(said)
                except CogencyError as error:
                    raise Refused(texts.SETUP_FAILED.format(number=at, reason=error)) from None
            if self.question.before:
                await self.before_question()
            return await self._ask()

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[None]:
        platforms, question = self.host.platforms, self.question

        async def delete(_: ShownPage) -> None:
            """What was shown has been seen."""

        async def names() -> Mapping[str, str]:
            return {name: f"#{name}" for name in question.places}

        platforms.register_deletion(self.source, delete)
        platforms.ask_readers(self.source, self)
        platforms.register_names(self.source, names)
        platforms.register_tools(self.source, [*map(CannedTool, question.tools)])
        platforms.register_surface(self.source, self._surface_for)
        try:
            yield
        finally:
            for task in self._deciding:
                task.cancel()
            platforms.unregister(self.source)

    # Who reads which place.

    @property
    def _team(self) -> str:
        return f"{self.source}:team"

    def _person(self, name: str) -> Person:
        person = self.question.people[name]
        return Person(f"{self.source}:{name}", person.name, person.time_zone)

    def _place(self, name: str, person: str) -> Place:
        if name == DM:
            return Place(PersonAudience(self._person(person).id), within_team=self._team)
        if self._reads_all(name):
            return Place(TeamAudience(self._team), within_team=self._team)
        return Place(GroupAudience(f"{self.source}:{name}"), within_team=self._team, whole_channel=True)

    def _reads_all(self, place: str) -> bool:
        members = self.question.places[place].members
        return members is None or members >= self.question.people.keys()

    async def readable(self, person: str, places: Sequence[str]) -> Mapping[str, bool]:
        """Implements the port `Membership`."""
        name, known = person.removeprefix(f"{self.source}:"), self.question.places
        names = {f"{self.source}:{each}": place.members for each, place in known.items()}
        return {place: (members := names[place]) is None or name in members for place in places if place in names}

    # What comes before the question.

    async def _remember(self, fact: KnownFact) -> None:
        """Store a fact as `remember` does, but for the message in which it was said."""
        place, author = self._place(fact.place, fact.person), self.question.people[fact.person]
        context = ToolContext(
            self._person(fact.person),
            place,
            self._conversation(fact.place, fact.person, "").id,
            0,
            self.clock.now(),
            authority=author.authority,
            asker_texts=(fact.text,),
        )
        new = replace(build_fact({"text": fact.text}, context), source_message=None, said=fact.text)
        written = await self.store.facts.write(new)
        if isinstance(written, WriteRefused):
            raise Refused(texts.FACT_REFUSED.format(text=quoted(fact.text), reason=written.why))

    async def _learn(self, document: KnownDocument) -> None:
        """Store a document. It can be found as soon as it is stored."""
        person = self.question.person
        conversation = self._conversation(document.place, person, "")
        new = NewDocument(
            name=document.name,
            audience=label(conversation.place.audience),
            source=self.source,
            channel=conversation.channel,
            person=self._person(person).id,
            time=self.clock.now(),
            passages=passages_of([DocumentPage(document.text)]),
        )
        if await self.store.documents.keep(new) is not None:
            raise Refused(texts.DOCUMENT_REFUSED.format(name=quoted(document.name)))
        self._sources.append(document.name)

    async def _say(self, said: Said) -> None:
        """Let a person write a message. If it is for the bot, it is answered first."""
        incoming = self._incoming(said)
        self._sources.append(incoming.permalink or "")
        if said.place == DM or mentions_bot(said.text):
            watched = await self._answer(incoming)
            if watched.outcome is None:
                raise Refused(texts.UNFINISHED)
        else:
            await self.host.messages.record_context_message(incoming)

    # The question.

    async def _ask(self) -> Observation:
        question = self.question
        incoming = self._incoming(Said(question.person, question.place, question.text, question.thread))
        self._shown.clear()
        self._asks_back = False
        started = self.clock.monotonic()
        watched = await self._answer(incoming)
        seconds = self.clock.monotonic() - started
        audiences = frozenset({label(self._place(DM, question.person).audience), label(incoming.place.audience)})
        facts = await self.store.facts.readable(incoming.person.id, audiences)
        answer = await self._reply(incoming, watched.turn)
        asks_back = self._asks_back and watched.outcome is Outcome.STOPPED
        return Observation(
            answer,
            Outcome.ANSWERED if asks_back else watched.outcome,
            await self._calls(watched),
            tuple(dict.fromkeys(self._shown)),
            tuple(fact.text for fact in facts if fact.is_valid and fact.person == incoming.person.id),
            tuple(filter(None, self._sources)),
            watched.spent,
            seconds,
            watched.models[-1] if watched.models else "",
            "" if watched.outcome is not None else texts.UNFINISHED,
            watched.is_free,
        )

    async def _calls(self, watched: WatchedTurn) -> tuple[ObservedCall, ...]:
        """Return the calls that ran, and then those that were made and did not run."""
        names = {*self.own_tools, *(tool.name for tool in self.question.tools)}
        names |= {one.tool for one in self.question.checks if isinstance(one, CallsTool | CallsNot | RunsNot)}
        made = await self.store.replies.calls(watched.turn, names)
        begun = [call for call, _ in watched.calls]
        observed = [_observed(call, result) for call, result in watched.calls]
        return (*observed, *(_observed(call, None) for call in made if call not in begun))

    async def _answer(self, incoming: Incoming) -> WatchedTurn:
        """Submit a message, and wait for the end of its turn. Raises CogencyError."""
        watched = self.watch.expect(incoming.conversation)
        try:
            async with asyncio.timeout(self.timeout_s):
                await self.host.messages.submit(incoming)
                await watched.ended.wait()
        except TimeoutError:
            raise Refused(texts.TIMED_OUT.format(seconds=self.timeout_s)) from None
        finally:
            if not watched.ended.is_set():
                with suppress(CogencyError):
                    await self.host.turns.stop_conversation(incoming.conversation)
            self.watch.forget(incoming.conversation)
        return watched

    async def _reply(self, question: Incoming, turn: int) -> str:
        """Return the stored answer to the question, without the notes below it; "" if none is stored."""
        messages = await self.store.conversations.history(question.conversation, before_turn=turn + 1, limit=2)
        if [message.message_id for message in messages[:1]] != [question.message_id]:
            return ""
        return next((message.text for message in messages if message.author is Author.BOT), "")

    def _conversation(self, place: str, person: str, thread: str) -> _Conversation:
        """A message without a thread begins one, also in direct messages."""
        channel = f"dm-{person}" if place == DM else place
        thread = thread or f"{self._messages}"
        return _Conversation(f"{self.source}:{channel}:{thread}", channel, self._place(place, person))

    def _incoming(self, said: Said) -> Incoming:
        self._messages += 1
        id_, conversation = f"{self._messages}", self._conversation(said.place, said.person, said.thread)
        return Incoming(
            source=self.source,
            event_id=id_,
            channel=conversation.channel,
            message_id=id_,
            conversation=conversation.id,
            person=self._person(said.person),
            place=conversation.place,
            text=without_mention(said.text),
            time=self.clock.now(),
            permalink=f"https://chat.example/{conversation.channel}/{self.number}-{id_}",
            authority=self.question.people[said.person].authority,
            team=self._team,
        )

    # What the bot shows and asks.

    def _surface_for(self, incoming: Incoming) -> _Surface:
        def decide(turn: int) -> None:
            task = asyncio.create_task(self._decide(incoming, turn))
            self._deciding.add(task)
            task.add_done_callback(self._deciding.discard)

        return _Surface(self._shown, decide)

    async def _decide(self, incoming: Incoming, turn: int) -> None:
        """Approve or deny what the turn waits for, as its asker. What has neither answer is stopped."""
        with suppress(CogencyError):
            for _ in range(MAX_DECISIONS):
                waiting = await waiting_panel(self.host.commands, incoming, FIELDS, turn)
                if waiting is None:
                    return
                words = _decision(waiting.panel, approves=self.question.approves)
                if words is None:
                    self._asks_back = True
                    break
                call = CommandCall(words=words, caller=MessageCaller(incoming, FIELDS), pressed=True)
                await command_below(self.host.commands, ReplyAction.DECIDE).run(call)
            await self.host.turns.stop_conversation(incoming.conversation)


def _decision(panel: Panel, *, approves: bool) -> str | None:
    """Return the words of the button that a person would press; None if the panel asks for something else."""
    typed = TYPED_YES if approves else TYPED_NO
    fitting = [action for action in panel.actions if set(typed) & set(action.typed) and action.form is None]
    return fitting[0].words if fitting else None


def _observed(call: ToolCall, result: ToolResult | None) -> ObservedCall:
    content = texts.DID_NOT_RUN if result is None else result.content
    references = () if result is None else result.references
    named = (each for reference in references for each in (reference.address, reference.title))
    return ObservedCall(call.name, call.args, ran(result), content, (*filter(None, named), *addresses_in(content)))
