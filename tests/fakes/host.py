"""A host that records what the platforms pass to it, and answers nothing by itself."""

import asyncio
from collections.abc import Collection
from dataclasses import InitVar, dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Self

from agent.admission_terms import Authority
from agent.errors import Refused, SettingsError
from agent.incoming import Incoming
from agent.memory.audience import Place
from agent.memory.forgetting_plans import Gone, Receipt
from agent.ports.preferences import Preferences
from agent.ports.tools import Asker
from agent.shown_replies import Answered, ReplyVerdict
from agent.spending import SpendingAccount, Spent
from agent.turn_records import Accepted
from bot.budgets import commands as budget
from bot.budgets.commands import USAGE_COMMAND
from bot.budgets.report import account_text
from bot.channels import commands as channel
from bot.channels import texts as channels_texts
from bot.chat.access.acl import AccessRules
from bot.chat.access.admission import AdmissionControl, AdmissionRules
from bot.chat.askers import Requester
from bot.chat.attachments.reading import AttachmentReader
from bot.chat.commands import talking
from bot.chat.commands.declaration import BoundCommand, BoundCommands, CommandCall, by_name
from bot.chat.connections import PlatformConnections
from bot.chat.dedupe import Deduplicator
from bot.chat.direct_messages import RollingConversations
from bot.chat.message_events import MessageEvents, QuestionToAll
from bot.chat.panels import Filled, Panel
from bot.chat.ports import NO_BUDGETS, NO_CHANNEL_RULES, ModelMenu, Suggestion
from bot.chat.reply.surface import ReplyAction
from bot.chat.texts import replies as reply_texts
from bot.forgetting import texts as forgetting_texts
from bot.forgetting.answers import ForgetAnswer, TellProgress, report_nothing
from bot.forgetting.commands import FORGET_COMMAND
from bot.knowledge.commands import KNOWLEDGE_COMMAND, LEARN_COMMAND
from bot.knowledge.service import KnowledgeService
from bot.memory import commands as memory
from bot.memory import requests as view
from bot.memory.answers import MemoryAnswer
from bot.memory.policy_commands import POLICY_COMMAND, policy_actions
from bot.models.commands import MODEL_COMMAND
from bot.operators import commands as operator
from bot.operators.service import OperatorLinks, OperatorService
from bot.schedules import commands as remind
from bot.schedules.service import ScheduleService
from bot.tools import commands as tools
from store.conversations import SqlConversations
from store.databases.database import Database
from tests.fakes.clock import FakeClock
from tests.fakes.hosts import connections_of
from tests.fakes.store import StoreInMemory, store_in_memory

OPEN = AccessRules(open_to=frozenset(Authority))


class WatchedConversations(SqlConversations):
    """Each change of a watermark after the first sets `noted`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.noted = asyncio.Event()

    async def set_watermark(self, source: str, time: datetime) -> None:
        if await self.watermark(source) is not None:
            self.noted.set()
        await SqlConversations.set_watermark(self, source, time)


@dataclass
class FakeHost:
    """`taken` and `overheard` hold each message once, in order; `forgotten` the ids that were to be forgotten.

    `fail_next` is raised by the next call that stores data. `arrived` is set by every call of an adapter.
    """

    remembered: MemoryAnswer = field(default_factory=lambda: MemoryAnswer("I do not remember anything about you yet."))
    remembered_by_words: dict[str, MemoryAnswer] = field(default_factory=dict[str, MemoryAnswer])
    receipt: Receipt = field(default_factory=lambda: Receipt({"messages": 2}, found_again=0, bytes_gone=True))
    account: SpendingAccount = field(default_factory=lambda: SpendingAccount(Spent(), Spent()))
    fail_next: Exception | None = None
    taken: list[Incoming] = field(default_factory=list[Incoming])
    overheard: list[Incoming] = field(default_factory=list[Incoming])
    again: list[Incoming] = field(default_factory=list[Incoming])
    # The approved requests: the person, the token, and the messages of 'this thread'.
    forgotten: list[tuple[str, str, frozenset[str]]] = field(default_factory=list[tuple[str, str, frozenset[str]]])
    replies_too: list[bool | None] = field(default_factory=list[bool | None])
    places_gone: list[tuple[str, Gone, bool]] = field(default_factory=list[tuple[str, Gone, bool]])
    narrowed: list[tuple[str, Place]] = field(default_factory=list[tuple[str, Place]])
    places_back: list[str] = field(default_factory=list[str])
    asked_for_usage: list[str] = field(default_factory=list[str])
    asked_for_budget: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    policies: str = "There are no policies here."
    asked_for_policy: list[tuple[Asker, str]] = field(default_factory=list[tuple[Asker, str]])
    asked_for_memory: list[tuple[Asker, str]] = field(default_factory=list[tuple[Asker, str]])
    tools_answer: Panel = field(default_factory=lambda: Panel("Tools I can use when you ask me here:"))
    asked_for_tools: list[tuple[Asker, str]] = field(default_factory=list[tuple[Asker, str]])
    running: set[str] = field(default_factory=set[str])  # The conversations in which an answer runs
    stopped: list[str] = field(default_factory=list[str])
    amended: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    withdrawn: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    models_allowed: tuple[str, ...] = ("usual:model", "other:model")
    chosen: dict[str, str] = field(default_factory=dict[str, str])
    replies: list[Answered] = field(default_factory=list[Answered])  # Those that have ended
    verdicts: dict[tuple[int, str], ReplyVerdict] = field(default_factory=dict[tuple[int, str], ReplyVerdict])
    deleted_replies: list[int] = field(default_factory=list[int])
    taken_back: list[int] = field(default_factory=list[int])
    suggested: tuple[Suggestion, ...] = ()
    operator_links: OperatorLinks | None = None
    asked_for_models: list[Requester] = field(default_factory=list[Requester])
    deleted_growing: list[tuple[str, str, str, str]] = field(default_factory=list[tuple[str, str, str, str]])
    considered: list[QuestionToAll] = field(default_factory=list[QuestionToAll])
    muted_conversations: set[str] = field(default_factory=set[str])  # The conversations with an ambient answer
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    store: StoreInMemory = field(default_factory=store_in_memory)
    operators: InitVar[Collection[str]] = ()
    access: InitVar[AccessRules] = OPEN
    admission: AdmissionControl = field(init=False)
    conversations: WatchedConversations = field(init=False)
    preferences: Preferences = field(init=False)
    direct_messages: RollingConversations = field(init=False)
    platforms: PlatformConnections = field(init=False)

    def __post_init__(self, operators: Collection[str], access: AccessRules) -> None:
        self.restrict(replace(access, operators=frozenset(operators)))
        self.conversations = WatchedConversations(self.store.database)
        self.preferences = self.store.preferences
        self.direct_messages = RollingConversations(self.conversations, self.preferences)
        self.platforms = connections_of(self.store, FakeClock())

    def restrict(self, access: AccessRules) -> None:
        """Answer only those whom these rules let in."""
        self.admission = AdmissionControl(AdmissionRules(access), NO_CHANNEL_RULES, NO_BUDGETS, FakeClock())

    @property
    def turns(self) -> Self:
        return self

    @property
    def events(self) -> "FakeEvents":
        return FakeEvents(self)

    @property
    def messages(self) -> Self:
        return self

    @property
    def suggestions(self) -> Self:
        return self

    def _knowledge(self) -> KnowledgeService:
        store = self.store
        return KnowledgeService(
            documents=store.documents,
            forgetting=store.forgetting,
            read=AttachmentReader({}).document,
            clock=FakeClock(),
            preferences=store.preferences,
        )

    def _schedules(self) -> ScheduleService:
        return ScheduleService(self.store.schedules, self.store.preferences, FakeClock(), self.admission.operates)

    @property
    def deduplication(self) -> Deduplicator:
        return Deduplicator(self.store.preferences)

    @property
    def feedback(self) -> Self:
        return self

    async def submit(self, incoming: Incoming) -> bool:
        self.fail()
        return self._keep(incoming, await self.store.ledger.accept(incoming), self.taken)

    async def record_context_message(self, incoming: Incoming) -> None:
        self.fail()
        self._keep(incoming, await self.store.ledger.record_context_message(incoming), self.overheard)

    @property
    def commands(self) -> BoundCommands:
        """The real commands; `/memory`, `/policy`, `/budget` and `/tools` record what was asked, and answer as set."""
        schedules = self._schedules()
        waiting = partial(tools.press_waiting, None)
        return by_name(
            (
                talking.ASK_COMMAND.bound(self),
                talking.HELP_COMMAND.bound(None),
                MODEL_COMMAND.bound(self),
                talking.NEW_COMMAND.bound(None),
                talking.STOP_COMMAND.bound(self),
                BoundCommand(USAGE_COMMAND, self._usage),
                BoundCommand(budget.COMMAND, self._budget),
                BoundCommand(operator.OPERATOR_COMMAND, self._operator),
                channel.COMMAND.refusing(channels_texts.NO_CHANNEL_HERE),
                BoundCommand(POLICY_COMMAND, self._policy),
                KNOWLEDGE_COMMAND.bound(self._knowledge()),
                LEARN_COMMAND.bound(self._knowledge()),
                BoundCommand(memory.COMMAND, self._memory, prefills={memory.CORRECT.name: self._entry_to_correct}),
                FORGET_COMMAND.bound(self),
                remind.COMMAND.bound(schedules),
                remind.REMIND_COMMAND.bound(schedules),
                BoundCommand(
                    tools.COMMAND, self._tools, presses={ReplyAction.DECIDE: waiting, ReplyAction.ANSWER: waiting}
                ),
            )
        )

    async def _memory(self, call: CommandCall) -> Panel:
        self.fail()
        self.asked_for_memory.append((await call.caller.private_asker(), call.words))
        return memory.memory_panel(
            self.remembered_by_words.get(call.words, self.remembered), call.caller.entry_chars, listed=not call.words
        )

    async def _entry_to_correct(self, call: CommandCall) -> Filled:
        self.fail()
        self.asked_for_memory.append((await call.caller.private_asker(), call.words))
        key = call.words.removeprefix(view.correct_words(""))
        return {"words": next((entry.plain for entry in self.remembered.entries if entry.key == key), "")}

    async def ask(
        self,
        asker: Asker,  # noqa: ARG002 -- it forgets nothing
        words: str,
        tell: TellProgress = report_nothing,  # noqa: ARG002 -- it takes no time
    ) -> ForgetAnswer:
        self.fail()
        if words == "nonsense":
            return ForgetAnswer("I did not understand “nonsense”.", refused=True)
        return ForgetAnswer(f"I will forget {words}.", words)

    async def forget(
        self,
        asker: Asker,
        token: str,
        *,
        replies: bool | None = None,
        tell: TellProgress = report_nothing,  # noqa: ARG002 -- it takes no time
    ) -> ForgetAnswer:
        self.fail()
        self.forgotten.append((asker.person.id, token, asker.thread if token.endswith("thread") else frozenset()))
        self.replies_too.append(replies)
        return ForgetAnswer(forgetting_texts.receipt_text(self.receipt))

    def stop(self, person: str) -> bool:  # noqa: ARG002 -- it runs nothing
        return False

    async def stop_everywhere(self, person: str) -> bool:
        return self.stop(person)

    async def restrict_place(self, channel: str, place: Place) -> None:
        self.narrowed.append((channel, place))
        self.arrived.set()

    async def stop_conversation(self, conversation: str, *, alone: bool = False) -> bool:  # noqa: ARG002 -- required by the port
        self.fail()
        self.stopped.append(conversation)
        return conversation in self.running

    async def menu(self, who: Requester) -> ModelMenu:
        self.asked_for_models.append(who)
        return ModelMenu(self.chosen.get(who.person, "usual:model"), "it is the default", self.models_allowed)

    async def choose(self, who: Requester, name: str) -> None:
        if name and name not in self.models_allowed:
            raise SettingsError(f"That model cannot be chosen: choose one of {', '.join(self.models_allowed)}.")
        self.chosen[who.person] = name

    async def _budget(self, call: CommandCall) -> Panel:
        self.fail()
        person = call.caller.person.id
        self.asked_for_budget.append((person, call.caller.channel, call.words))
        may_change = not call.words and self.admission.operates(person)
        return Panel("You have used nothing today.", (budget.CHANGE.button(),) if may_change else ())

    async def _tools(self, call: CommandCall) -> Panel:
        self.asked_for_tools.append((await call.caller.asker(), call.words))
        return self.tools_answer

    async def _policy(self, call: CommandCall) -> Panel:
        self.fail()
        asker = await call.caller.policy_asker()
        self.asked_for_policy.append((asker, call.words))
        sets = not call.words and (asker.authority >= Authority.MANAGER or self.admission.operates(asker.person.id))
        return Panel(self.policies, policy_actions(self.policies) if sets else ())

    async def _usage(self, call: CommandCall) -> Panel:
        self.fail()
        self.asked_for_usage.append(call.caller.person.id)
        return Panel(account_text(self.account))

    async def at(self, source: str, page: str, channel: str = "") -> Answered | None:
        found = (one for one in self.replies if one.source == source and page in one.pages)
        return next((one for one in found if channel in ("", one.channel)), None)

    async def conversation_at(self, source: str, pages: Collection[str]) -> str | None:
        found = [await self.at(source, page) for page in pages]
        return next((one.conversation for one in found if one is not None), None)

    async def delete_running(self, source: str, page: str, person: str, channel: str = "") -> bool:
        self.deleted_growing.append((source, page, person, channel))
        return False

    async def of(self, turn: int) -> Answered | None:
        return next((one for one in self.replies if one.turn == turn), None)

    async def judge(self, turn: int, person: str, verdict: ReplyVerdict) -> bool:
        self.fail()
        if await self.of(turn) is None:
            return False
        self.verdicts[turn, person] = verdict
        return True

    async def take_verdict_back(self, turn: int, person: str, verdict: ReplyVerdict) -> None:
        if self.verdicts.get((turn, person)) == verdict:
            del self.verdicts[turn, person]

    async def press_note(self, action: ReplyAction, reply: Answered, person: str) -> str:
        self.fail()
        if reply.person != person:
            raise Refused(reply_texts.NOT_YOURS)
        if action is ReplyAction.UNDO:
            self.taken_back.append(reply.turn)
            return "Undone: tea."
        return await self._schedules().take_back(reply, person)

    async def delete(self, turn: int, person: str) -> bool:
        self.fail()
        reply = await self.of(turn)
        if reply is None:
            return False
        if reply.person != person:
            raise Refused(reply_texts.NOT_YOURS)
        self.replies.remove(reply)
        self.deleted_replies.append(turn)
        return True

    async def suggest(self, viewer: Asker, limit: int) -> tuple[Suggestion, ...]:  # noqa: ARG002 -- one answer for all
        return self.suggested[:limit]

    async def _operator(self, call: CommandCall) -> Panel:
        if call.words == operator.REPORT and self.admission.operates(call.caller.person.id):
            return Panel("All is well.")
        return await operator.show(OperatorService(self.operator_links, self.admission.operates), call)

    def _keep(self, incoming: Incoming, accepted: Accepted, target: list[Incoming]) -> bool:
        (self.again if accepted.duplicate else target).append(incoming)
        self.arrived.set()
        return not accepted.duplicate

    def holds(self, message_id: str) -> bool:
        """Return whether it may store this message: of repeated and private questions, only those that it accepted."""
        return not message_id.startswith(("again:", "private:")) or any(
            message.message_id == message_id for message in self.taken + self.overheard
        )

    def fail(self) -> None:
        failure, self.fail_next = self.fail_next, None
        if failure is not None:
            raise failure


@dataclass(frozen=True)
class FakeEvents(MessageEvents):
    """The events that a host receives, stored there. It answers no question to everyone."""

    host: FakeHost

    def changed(self, channel: str, message: str) -> None:
        self.host.considered = [one for one in self.host.considered if (one.channel, one.message) != (channel, message)]

    def asked_all(self, question: QuestionToAll) -> None:
        self.host.considered.append(question)

    async def stopped(self, channel: str, conversation: str) -> bool:  # noqa: ARG002 -- conversations are told apart
        return conversation in self.host.muted_conversations

    async def edited(self, channel: str, message: str, text: str, alone: str | None = None) -> bool:
        if not self.host.holds(message):
            return False
        is_question = any(taken.message_id == message for taken in self.host.taken)
        self.host.amended.append((channel, message, text if alone is None or not is_question else alone))
        self.host.arrived.set()
        return True

    async def deleted(self, channel: str, messages: Collection[str]) -> None:
        self.host.withdrawn += [(channel, message) for message in sorted(messages) if self.host.holds(message)]
        self.host.arrived.set()

    async def place_gone(self, name: str, gone: Gone, *, at_once: bool) -> None:
        self.host.places_gone.append((name, gone, at_once))
        self.host.arrived.set()

    async def places_back(self, names: Collection[str]) -> None:
        self.host.places_back += names
