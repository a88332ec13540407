"""The real host, for tests of platforms: it stores all that they pass to it, and answers no question by itself."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from agent.admission_terms import Authority
from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import label
from agent.memory.facts import Fact
from agent.messages import ModelCall
from agent.ports.clock import Clock
from agent.ports.model import Provider
from agent.providers.scripted import ScriptedProvider
from agent.stored_messages import Author
from agent.turn_records import Claiming, Closing
from bot.budgets.budgets import BudgetAllowances, Budgets
from bot.budgets.gate import BudgetGate
from bot.chat.access.acl import AccessRules
from bot.chat.access.admission import AdmissionRules
from bot.chat.turns.worker import TurnWorker
from bot.models.choice import named_choice
from bot.models.settings import ModelSettings
from bot.models.switch import ModelSwitch
from store.databases.database import LocalNotifier
from tests.fakes.clock import FakeClock
from tests.fakes.facts import remember
from tests.fakes.hosts import ServedHost, connections_of, host_on
from tests.fakes.incoming import said
from tests.fakes.runners import runner_on
from tests.fakes.store import StoreInMemory, WatchedConversations, store_in_memory

OPEN = AccessRules(open_to=frozenset(Authority))
REPLY = "It is blue."
Calls: TypeAlias = tuple[ModelCall, ...]
USUAL, OTHER = "ollama:usual", "ollama:other"


@dataclass(frozen=True)
class RecordingHost(ServedHost):
    conversations: WatchedConversations
    store: StoreInMemory

    @property
    def taken(self) -> list[Incoming]:
        """The questions, each once, in order."""
        return self.store.ledger.taken

    @property
    def overheard(self) -> list[Incoming]:
        """The messages stored as context, each once, in order."""
        return self.store.ledger.overheard

    @property
    def again(self) -> list[Incoming]:
        """What was handed in although it was stored."""
        return self.store.ledger.again

    @property
    def arrived(self) -> asyncio.Event:
        """Set by everything that a platform has stored."""
        return self.store.ledger.arrived

    @property
    def texts(self) -> dict[tuple[str, str], str]:
        """What is stored of each message, by its channel and id; of a forgotten one, nothing."""
        return {
            (turn.incoming.channel, turn.incoming.message_id): turn.incoming.text
            for turn in self.store.turns
            if turn.message
        }

    @property
    def stopped(self) -> list[str]:
        """The conversations of the turns that are to stop."""
        return [turn.incoming.conversation for turn in self.store.turns if turn.stopping]

    async def know(self, person: str, words: str, day: datetime, *, everywhere: bool = False) -> Fact:
        """Store what a person said to the bot alone that day, and the fact that it states. `everywhere`: they let the
        bot use it in all of its replies to them.
        """
        told = replace(said(words, person=person), time=day, permalink=f"https://chat.example/{len(self.texts)}")
        fact = await remember(
            self.store.facts, person, words, label(told.place.audience), day, await self.store.hear(told)
        )
        if everywhere:
            await self.store.facts.open(person, fact.id, everywhere=True)
        return fact

    def known(self, person: str) -> list[str]:
        """The facts about a person that hold; about "", the policies."""
        return [fact.text for fact in self.store.facts_kept if fact.person == person and fact.is_valid]

    async def store_reply(self, question: Incoming, *pages: str, reply: str = REPLY, calls: Calls = ()) -> int:
        """Store a question that was asked before the test, and its reply as `answer` does; return their turn."""
        await self.store.ledger.accept(question)
        self.taken.pop()
        return await self.answer(*pages, reply=reply, calls=calls)

    async def answer(self, *pages: str, reply: str = REPLY, calls: Calls = ()) -> int:
        """Store a reply to the question that waits, which the platform shows on these pages; return their turn."""
        ledger, now = self.store.ledger, self.messages.clock.now()
        claim = await ledger.claim(Claiming("earlier", now, timedelta(minutes=1)))
        assert claim is not None
        await ledger.finish(claim, Closing(Outcome.ANSWERED, reply, pages=pages, calls=calls), now)
        return claim.turn

    def is_kept(self, turn: int) -> bool:
        """Whether the reply of this turn is stored."""
        return any(number == turn and message.author is Author.BOT for number, message in self.store.messages)

    async def end_turns(self) -> None:
        """End what waits, as if it had been answered with nothing."""
        ledger, now = self.store.ledger, self.messages.clock.now()
        while (claim := await ledger.claim(Claiming("earlier", now, timedelta(minutes=1)))) is not None:
            await ledger.finish(claim, Closing(Outcome.STOPPED, ""), now)

    def restrict(self, access: AccessRules) -> None:
        """Answer only those whom these rules let in."""
        self.admission.rules = AdmissionRules(access)


def recording_host(
    store: StoreInMemory | None = None,
    *,
    access: AccessRules = OPEN,
    operators: Collection[str] = (),
    models: Sequence[str] = (USUAL, OTHER),
    budgets: Budgets = Budgets(),  # noqa: B008 -- frozen
    clock: Clock | None = None,
    judge: Provider | None = None,
) -> RecordingHost:
    """Return one on a store that may be shared. `models`: those that people may choose, the default one first; without
    any, people cannot choose. `judge`: selects the overheard messages to answer; None: none is answered.
    """
    store, clock = store or store_in_memory(), clock or FakeClock()
    rules = AdmissionRules(replace(access, operators=frozenset(operators)))
    connections = connections_of(store, clock)
    runner = runner_on(store, ScriptedProvider([]), clock)
    turns = TurnWorker(store.ledger, runner, connections.surface_for, LocalNotifier(), clock, "recorder")
    gate = BudgetGate(BudgetAllowances(budgets, store.spending, store.preferences, clock, store.budget_days))
    host = host_on(store, turns, connections, clock, rules, models=_switch(models, clock), gate=gate, model=judge)
    services: dict[str, Any] = {each.name: getattr(host, each.name) for each in fields(host)}
    return RecordingHost(**services, store=store)


def _switch(models: Sequence[str], clock: Clock) -> ModelSwitch:
    settings = ModelSettings(allowed_models=tuple(models))
    usual = models[0] if models else "rehearsal"
    return ModelSwitch(settings, named_choice(usual, settings, "COGENCY_MODEL"), clock, lambda: 0.0)
