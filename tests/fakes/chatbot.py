"""A bot for the terminal's tests: stores statements in lists, and answers by simple rules."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Self

from agent.errors import SettingsError, StoreError
from agent.events import Outcome
from agent.incoming import Attachment, Person
from agent.memory.audience import PersonAudience, Place
from agent.memory.facts import Fact
from agent.memory.forgetting_plans import Receipt
from agent.messages import Depth, ModelCall, Usage
from agent.ports.tools import Asker
from agent.spending import SpendingAccount, Spent
from agent.stored_messages import Author, StoredMessage, Thread
from bot.budgets import commands as budget
from bot.budgets.commands import USAGE_COMMAND
from bot.budgets.report import account_text
from bot.channels import commands as channel
from bot.channels import texts as channels_texts
from bot.chat.askers import Requester
from bot.chat.commands import talking
from bot.chat.commands.declaration import BoundCommand, BoundCommands, CommandCall, by_name
from bot.chat.panels import Panel
from bot.chat.ports import ModelMenu
from bot.chat.reply.surface import PageContent, PageKey, ReplyAction, ReplyEnd, Surface
from bot.forgetting import texts as forgetting_texts
from bot.forgetting.answers import ForgetAnswer, ForgetProgress, TellProgress, report_nothing
from bot.forgetting.commands import FORGET_COMMAND
from bot.memory import commands as memory
from bot.memory.answers import MemoryAnswer, ShownEntry
from bot.memory.policy_commands import POLICY_COMMAND
from bot.memory.requests import export_path
from bot.models.commands import MODEL_COMMAND
from bot.operators.commands import OPERATOR_COMMAND
from bot.operators.service import OperatorService
from bot.platforms.terminal.chat_bot import UnfinishedTurn
from bot.schedules import commands as remind
from bot.schedules.service import ScheduleService
from bot.tools import commands as tools
from tests.fakes.clock import FakeClock
from tests.fakes.facts import fact
from tests.fakes.store import store_in_memory

TIME = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class FakeChatBot:
    """Implements `ChatBot`.

    Rules: "remember that …" is stored; "what did I say about …?" finds it; "wait" writes two words and continues until
    it is stopped; "break" fails; "refuse" ends without an answer; everything else is echoed.
    """

    person = Person("p", "You")
    place = Place(PersonAudience("p"))

    def __init__(self, left: dict[str, str] | None = None, wider: str = "") -> None:
        self.wider = wider
        self.agreed: list[str] = []
        self.export = '{"facts": []}'
        self.asked: dict[str, list[str]] = {}
        self.facts: list[Fact] = []
        self.stopped: list[str] = []
        self.depths: list[Depth] = []
        self.files: tuple[Attachment, ...] = ()
        self.waiting = asyncio.Event()
        self.stopping = asyncio.Event()
        self.name = "rehearsal"
        self.store = store_in_memory()
        self.due_on: Callable[[UnfinishedTurn], Surface] | None = None
        self.watched = asyncio.Event()
        self._left = left or {}
        self.left_by_the_next_question: dict[str, str] = {}
        self._conversations = 0
        self._turns = 0

    def greeting(self) -> str:
        return "**rehearsal** answers, as nothing is configured."

    def new_conversation(self) -> str:
        self._conversations += 1
        return f"c{self._conversations}"

    async def finish_pending(self, surface_for: Callable[[UnfinishedTurn], Surface], *, due: bool = False) -> None:  # noqa: ARG002 -- nothing is ever due
        left, self._left = self._left, {}
        threads = [Thread(conversation, f"{conversation} thread", TIME, 2) for conversation in left]
        for conversation, text in left.items():
            await self._reply(
                surface_for(UnfinishedTurn(f"An {conversation} question?\nWith more.", conversation, threads)), text
            )

    @asynccontextmanager
    async def watching(self, surface_for: Callable[[UnfinishedTurn], Surface]) -> AsyncGenerator[None]:
        self.due_on = surface_for
        self.watched.set()
        try:
            yield
        finally:
            self.due_on = None

    async def remind(self, words: str) -> None:
        """Deliver a reminder while the person writes."""
        if self.due_on is None:
            raise AssertionError("nobody writes")
        surface = self.due_on(UnfinishedTurn(words, "of its own", [], scheduled=True))
        await self._reply(surface, words)
        surface.finish(ReplyEnd.DONE)

    async def has_pending(self) -> bool:
        return bool(self._left)

    async def past_questions(self) -> list[str]:
        return [question for questions in self.asked.values() for question in questions]

    async def ask(
        self,
        text: str,
        conversation: str,
        surface: Surface,
        depth: Depth = Depth.ADAPT,
        files: tuple[Attachment, ...] = (),
    ) -> Outcome | None:
        self.files += files
        self.depths.append(depth)
        self._left, self.left_by_the_next_question = self.left_by_the_next_question, {}
        self.asked.setdefault(conversation, []).append(text)
        if text == "break":
            raise StoreError("the disk is full: make room and ask again.")
        if text == "wait":
            await self._wait(surface)
        if text == "refuse":
            await self._reply(surface, "The model is away.")
            return Outcome.REFUSED
        if text.startswith("remember that "):
            statement = text.removeprefix("remember that ")
            self.facts.append(fact(str(len(self.facts) + 1), "p", statement, "person:p", TIME))
        await self._reply(surface, self._answer(text))
        return Outcome.ANSWERED

    async def exchanges(self, conversation: str, limit: int) -> list[StoredMessage]:
        lines = [
            pair
            for text in self.asked.get(conversation, [])
            for pair in ((Author.PERSON, text), (Author.BOT, self._answer(text)))
        ]
        return [StoredMessage(0, conversation, author, "p", "p", text, TIME, "person:p") for author, text in lines][
            -limit:
        ]

    async def threads(self) -> list[Thread]:
        return [Thread(conversation, asked[0], TIME, 2) for conversation, asked in reversed(self.asked.items())]

    @property
    def commands(self) -> BoundCommands:
        schedules = ScheduleService(
            self.store.schedules, self.store.preferences, FakeClock(TIME), self.person.id.__eq__
        )
        return by_name(
            (
                talking.ASK_COMMAND.bound(self),
                talking.HELP_COMMAND.bound(None),
                MODEL_COMMAND.bound(self),
                talking.NEW_COMMAND.bound(None),
                talking.STOP_COMMAND.bound(self),
                BoundCommand(USAGE_COMMAND, self._usage),
                BoundCommand(budget.COMMAND, self._budget),
                OPERATOR_COMMAND.bound(OperatorService(None, self.person.id.__eq__)),
                channel.COMMAND.refusing(channels_texts.NO_CHANNEL_HERE),
                BoundCommand(POLICY_COMMAND, self._policy),
                BoundCommand(memory.COMMAND, self._memory),
                FORGET_COMMAND.bound(FakeForgetting(self)),
                remind.COMMAND.bound(schedules),
                remind.REMIND_COMMAND.bound(schedules),
                self.tools,
            )
        )

    async def _memory(self, call: CommandCall) -> Panel:
        words = call.words
        if words.startswith("export"):
            return memory.memory_panel(MemoryAnswer("Here it is.", file=self.export), path=export_path(words))
        entries = [ShownEntry(f"f:{one.id}", number, one.value, "today") for number, one in enumerate(self.facts, 1)]
        text = f"You asked: {words}." if words else f"I know {len(entries)}."
        return memory.memory_panel(MemoryAnswer(text, tuple(entries)), listed=not words)

    @property
    def turns(self) -> Self:
        return self

    @property
    def tools(self) -> BoundCommand:
        """No tool asks, and no call waits."""
        return BoundCommand(
            tools.COMMAND, self._tools, presses={ReplyAction.DECIDE: partial(tools.press_waiting, None)}
        )

    async def _usage(self, call: CommandCall) -> Panel:  # noqa: ARG002 -- there is only one person
        calls = [ModelCall("openai:gpt-6-luna", Usage(1_000, 500, 0, 100, 20))] * sum(map(len, self.asked.values()))
        return Panel(account_text(SpendingAccount(Spent.on(calls), Spent.on(calls))))

    async def _tools(self, call: CommandCall) -> Panel:  # noqa: ARG002 -- there is only one person
        return Panel("Tools that I can use when you ask me here:")

    async def _policy(self, call: CommandCall) -> Panel:
        return Panel(f"The policies: {call.words or 'none'}.")

    async def _budget(self, call: CommandCall) -> Panel:
        return Panel(f"The budget of {call.words or 'me'}: no limit.")

    @property
    def model_name(self) -> str:
        return self.name

    async def menu(self, who: Requester) -> ModelMenu:  # noqa: ARG002 -- there is only one person
        return ModelMenu(self.name, "", sentence=f"`{self.name}` answers.")

    async def choose(self, who: Requester, name: str) -> None:  # noqa: ARG002 -- there is only one person
        if name == "unknown":
            raise SettingsError("There is no model *unknown*.")
        self.name = name

    async def stop_conversation(self, conversation: str, *, alone: bool = False) -> bool:  # noqa: ARG002 -- nothing runs while a line is read
        return False

    def _answer(self, text: str) -> str:
        if text.startswith("remember that "):
            return f"I will remember that {text.removeprefix('remember that ')}."
        if text.startswith("what did I say about "):
            subject = text.removeprefix("what did I say about ").rstrip("?")
            found = [known.value for known in self.facts if subject in known.value]
            return f"You said: {found[0]}." if found else "I found nothing."
        return f"You wrote: {text}"

    async def _reply(self, surface: Surface, text: str) -> None:
        self._turns += 1
        await surface.status("Searching past threads…")
        page = await surface.post(PageKey(self._turns, 0), PageContent(text[:5]))
        await surface.status("")
        await surface.edit(page, PageContent(text[:9]))
        await surface.edit(page, PageContent(text, final=True))

    async def _wait(self, surface: Surface) -> None:
        page = await surface.post(PageKey(0, 0), PageContent("Well, then"))
        self.waiting.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.stopped.append("wait")
            await surface.edit(page, PageContent("Well, then\n\n*Stopped.*", final=True))
            raise


@dataclass(frozen=True)
class FakeForgetting:
    """Forgetting for that bot. Implements `ForgetQuestions`."""

    bot: FakeChatBot

    async def ask(self, asker: Asker, words: str, tell: TellProgress = report_nothing) -> ForgetAnswer:
        words = words.casefold()
        if words == "about much":
            await tell(ForgetProgress(7_000, erasing=False))
            await self.bot.stopping.wait()
            self.bot.stopped.append(asker.person.id)
            return ForgetAnswer(forgetting_texts.FORGET_STOPPED)
        if words not in {"thread", "everything"}:
            return ForgetAnswer(f"I did not understand “{words}”.", refused=True)
        what = "this thread" if words == "thread" else "everything that you told me"
        return ForgetAnswer(f"I will forget {what}.", words, self.bot.wider)

    def stop(self, person: str) -> bool:  # noqa: ARG002 -- it has only one person
        self.bot.stopping.set()
        return True

    async def stop_everywhere(self, person: str) -> bool:
        return self.stop(person)

    async def forget(
        self,
        asker: Asker,
        token: str,
        *,
        replies: bool | None = None,  # noqa: ARG002 -- it shows none
        tell: TellProgress = report_nothing,  # noqa: ARG002 -- it takes no time
    ) -> ForgetAnswer:
        bot, (conversation,) = self.bot, asker.thread
        bot.agreed.append(token)
        gone = list(bot.asked) if token == "everything" else [conversation]
        messages = sum(len(bot.asked.pop(name, [])) for name in gone)
        facts = bot.facts[:] if token == "everything" else []
        bot.facts = [one for one in bot.facts if one not in facts]
        receipt = Receipt({"messages": messages, "facts": len(facts)}, 0, bytes_gone=True)
        return ForgetAnswer(forgetting_texts.receipt_text(receipt))
