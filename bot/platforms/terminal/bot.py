"""The bot of a terminal: one user, their threads, and the turns that answer them.

Rules. The terminal belongs to one user, so every place in it is theirs. After it is closed, a deletion can no longer be
undone: what was deleted moments ago is then erased.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import TracebackType
from typing import Protocol, Self

from agent.errors import StoreError
from agent.events import Outcome
from agent.incoming import Attachment, Incoming, Person
from agent.memory.audience import PersonAudience, Place
from agent.messages import Depth
from agent.ports.clock import Clock
from agent.ports.conversations import Conversations
from agent.schedules.definitions import Occurrence, Schedule, ScheduleKind
from agent.schedules.ids import occurrence_id, schedule_id
from agent.schedules.long_work import work_conversation
from agent.stored_messages import Author, StoredMessage, Thread
from agent.turn_kinds import TurnKind
from bot.chat.askers import Requester
from bot.chat.attachments.kinds import with_names
from bot.chat.commands.declaration import BoundCommands
from bot.chat.ports import ModelMenu
from bot.chat.reply.surface import PageContent, PageKey, PageRef, Surface
from bot.chat.texts import replies as reply_texts
from bot.chat.turns.worker import AnsweredElsewhere, TurnWorker
from bot.platforms import texts as platforms_texts
from bot.platforms.terminal.attachments import typed
from bot.platforms.terminal.chat_bot import UnfinishedTurn
from bot.platforms.terminal.surface import SOURCE

log = logging.getLogger(__name__)

LATEST_TURN = 2**31 - 1
MAX_THREADS = 20  # A list that fits a screen; older threads are found by asking
MAX_PAST_QUESTIONS = 200  # More than a user goes through with the arrow key


class TerminalModelChoice(Protocol):
    """The model that answers from the next question on. All members may raise SettingsError."""

    @property
    def name(self) -> str: ...

    @property
    def sentence(self) -> str: ...

    async def choose(self, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class TerminalModels:
    """Implements `ModelChoices`: the user chooses for the whole bot, since it has no other users."""

    choice: TerminalModelChoice

    async def menu(self, who: Requester) -> ModelMenu:  # noqa: ARG002 -- there is one user
        return ModelMenu(self.choice.name, "", sentence=self.choice.sentence)

    async def choose(self, who: Requester, name: str) -> None:  # noqa: ARG002 -- there is one user
        await self.choice.choose(name or reply_texts.USUAL)


class TerminalSurfaces:
    """Returns the surface of a turn's reply: the one opened for its conversation, or else one by `default`."""

    def __init__(self) -> None:
        self.opened: dict[str, Surface] = {}
        self.default: Callable[[Incoming], Surface] | None = None

    def __call__(self, incoming: Incoming) -> Surface:
        if incoming.conversation in self.opened:
            return self.opened[incoming.conversation]
        if self.default is None:
            raise LookupError(f"no conversation is open for {incoming.conversation}")
        return self.default(incoming)


@dataclass(slots=True)
class TerminalBot:
    """Implements `ChatBot`. Use it as an async context manager; answering starts with `finish_pending`."""

    person: Person
    turns: TurnWorker
    surfaces: TerminalSurfaces
    conversations: Conversations
    commands: BoundCommands
    choice: TerminalModelChoice
    clock: Clock
    new_id: Callable[[], str]
    where: str
    """Where memory is stored, for the greeting."""
    source: str
    """The source of the questions that are asked at this terminal."""
    do_due: Callable[[], Awaitable[object]]
    """Starts what is due."""
    doing_due: Callable[[], AbstractAsyncContextManager[None]]
    """Starts what becomes due, until the block ends."""
    is_due: Callable[[], Awaitable[bool]]
    """Returns whether anything is due."""
    tools_settle: Callable[[], Awaitable[None]]
    """Waits, for a limited time after the start, for the tool servers, so that the first question has their tools."""
    settle_deletions: Callable[[], Awaitable[None]]
    """Erases what was deleted and can still be restored. Raises StoreError."""
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.settle_deletions()
        except StoreError as store_error:
            log.warning("deleted messages will be erased at the next start: %s", store_error)
        finally:
            await self._stack.aclose()

    @property
    def place(self) -> Place:
        return Place(PersonAudience(self.person.id))

    def greeting(self) -> str:
        return platforms_texts.greeting(self.choice.sentence, self.where)

    def new_conversation(self) -> str:
        return f"{SOURCE}:{self.new_id()}"

    @asynccontextmanager
    async def watching(self, surface_for: Callable[[UnfinishedTurn], Surface]) -> AsyncGenerator[None]:
        before = self.surfaces.default
        self.surfaces.default = lambda incoming: surface_for(_pending_turn(incoming, []))
        try:
            async with self.doing_due():
                yield
        finally:
            self.surfaces.default = before

    async def finish_pending(self, surface_for: Callable[[UnfinishedTurn], Surface], *, due: bool = False) -> None:
        threads = await self.threads()
        is_answering = self.surfaces.default is not None
        self.surfaces.default = lambda incoming: surface_for(_pending_turn(incoming, threads))
        if not is_answering:
            await self._stack.enter_async_context(self.turns.serving())
        await self.turns.take_over_turns(self.person.id, SOURCE, self.source)
        if due:
            await self.do_due()
        await self.turns.idle()

    async def has_pending(self) -> bool:
        taken_over = await self.turns.take_over_turns(self.person.id, SOURCE, self.source)
        return taken_over or await self.is_due()

    async def past_questions(self) -> list[str]:
        return await self.conversations.questions(self.person.id, limit=MAX_PAST_QUESTIONS)

    async def ask(
        self,
        text: str,
        conversation: str,
        surface: Surface,
        depth: Depth = Depth.ADAPT,
        files: tuple[Attachment, ...] = (),
        *,
        own: bool = True,
    ) -> Outcome | None:
        """`own`: see `Incoming`."""
        asked = replace(self.message(text, conversation), depth=depth, files=files, own=own)
        self.surfaces.opened[conversation] = surface
        try:
            await self.tools_settle()
            return await self.turns.ask(with_names(asked))
        except AnsweredElsewhere as elsewhere:
            await self._show(elsewhere, conversation, surface)
            return Outcome.ANSWERED
        finally:
            del self.surfaces.opened[conversation]

    def message(self, text: str, conversation: str) -> Incoming:
        """Return a new message of the person."""
        event = self.new_id()
        return Incoming(
            source=self.source,
            event_id=event,
            channel=conversation,
            message_id=event,
            conversation=conversation,
            person=self.person,
            place=self.place,
            text=typed(text),
            time=self.clock.now(),
        )

    async def _show(self, elsewhere: AnsweredElsewhere, conversation: str, surface: Surface) -> None:
        """Show the reply of another process in place of what this one had shown of it."""
        messages = await self.conversations.history(conversation, before_turn=LATEST_TURN, limit=1)
        if messages and messages[-1].author is Author.BOT:
            await surface.edit(PageRef(str(PageKey(elsewhere.turn, 0))), PageContent(messages[-1].text, final=True))

    async def exchanges(self, conversation: str, limit: int) -> list[StoredMessage]:
        return await self.conversations.history(conversation, before_turn=LATEST_TURN, limit=limit)

    async def threads(self) -> list[Thread]:
        return await self.conversations.threads(self.person.id, limit=MAX_THREADS)

    @property
    def model_name(self) -> str:
        return self.choice.name


def _pending_turn(incoming: Incoming, threads: list[Thread]) -> UnfinishedTurn:
    kind = incoming.kind
    scheduled, works = kind.begun_by_schedule, kind is TurnKind.WORK
    return UnfinishedTurn(incoming.text, incoming.conversation, threads, scheduled=scheduled, works=works)


@dataclass(frozen=True, slots=True)
class TerminalSchedules:
    """Implements `SchedulePlatform`: the user who opened this terminal is present, and the only reader."""

    person: Person
    source: str

    async def admit(self, occurrence: Occurrence) -> Incoming:
        return self._incoming(occurrence.schedule, occurrence.time, TurnKind.SCHEDULED)

    async def direct(self, schedule: Schedule, time: datetime) -> Incoming:
        return self._incoming(schedule, time, TurnKind.NOTICE)

    def _incoming(self, schedule: Schedule, time: datetime, kind: TurnKind) -> Incoming:
        name, conversation = occurrence_id(schedule.id, time, kind), f"{SOURCE}:{schedule_id(schedule.id)}"
        if schedule.definition.kind is ScheduleKind.WORK and kind is not TurnKind.NOTICE:
            conversation = work_conversation(schedule.definition.conversation, schedule.id)
        place = Place(PersonAudience(self.person.id))
        words = schedule.definition.words
        return Incoming(self.source, name, conversation, name, conversation, self.person, place, words, time)
