"""Whatever people and processes spend, no budget is exceeded by more than the calls that run when it is reached.

People of two workspaces ask in several places at once, in two processes on one database; two of them have connected
their accounts. Each call of a model uses some tokens; turns wait, go on, end, and are begun again after their process
was killed in the middle of a call, or before it had warned anybody. In the background the bot learns about them. Some
press the buttons of requests: operators, and people who may not. Some budgets are raised. What was really used is
counted beside the store.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Final, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.admission_terms import Whose
from agent.budget_days import Extension
from agent.errors import Refused
from agent.events import Outcome
from agent.incoming import Incoming, person_source
from agent.memory.forgetting_plans import CONNECTED
from agent.messages import CallTiming, ModelCall, Usage
from agent.outgoing import OutgoingEvent, Subscription
from agent.progress import Progress, decode, encode
from agent.turn_events import EndDue, PauseDue
from agent.turn_records import Claim, Claiming, Closing
from bot.budgets.budgets import (
    DEFAULT_NEAR,
    TOKENS,
    Budget,
    BudgetAccount,
    BudgetAllowances,
    Budgets,
    drawn_on,
)
from bot.budgets.extensions import ExtensionService
from bot.budgets.gate import BudgetGate, ExtensionRules
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.store import StoreInMemory, store_in_memory

ASKERS: Final = ("slack:T1:U1", "slack:T1:U2", "slack:T1:U3", "slack:T2:U4")
TWINS: Final = ASKERS[:2]  # Connected accounts, which share a budget
PRESSING: Final = (*ASKERS, "slack:T1:OP1", "slack:T1:OP2")
PLACES: Final = ("C1", "C2")
LIMITS: Final = {Whose.PERSON: 1_000, Whose.CHANNEL: 1_400, Whose.WORKSPACE: 1_900, Whose.EVERYONE: 2_400}
RAISED: Final = 1_200  # A person's budget, once an operator has raised it
PERCENT: Final = 50
LONG: Final = timedelta(days=30)  # A lease: processes end only when they are killed
MOST: Final = 400  # Tokens of one call
BUDGETS: Final = Budgets(
    person=Budget(tokens=LIMITS[Whose.PERSON]),
    channel=Budget(tokens=LIMITS[Whose.CHANNEL]),
    workspace=Budget(tokens=LIMITS[Whose.WORKSPACE]),
    everyone=Budget(tokens=LIMITS[Whose.EVERYONE]),
)
OPERATORS: Final = frozenset({"OP1", "OP2"})
Key: TypeAlias = tuple[date, Whose, str]  # A budget on a day, by its id, and of a channel also its workspace


def operates(person: str) -> bool:
    return person.rpartition(":")[2] in OPERATORS


RULES: Final = ExtensionRules(PERCENT, None, OPERATORS, operates)


@dataclass(kw_only=True)
class Calling:
    """What calls models. `in_call`: the tokens of the call that runs, 0 for none; `began`: when it did."""

    in_call: int = 0
    began: datetime | None = None


@dataclass
class Running(Calling):
    """A claimed turn, and its calls."""

    claim: Claim
    calls: list[ModelCall]


@dataclass
class Learning(Calling):
    """Background work about a person, with one call."""

    person: str


def account_of(whose: Whose, id_: str, source: str = "") -> str:
    """Return the name of a budget in a key; that of connected accounts is one."""
    return TWINS[0] if id_ in TWINS else f"{id_} {source}" if whose is Whose.CHANNEL else id_


@dataclass
class Office:
    """`used`: by budget. `bound`: what the calls use that had begun when the last one began, before which something was
    left. `raised`: persons' budgets, as in keys. `waited`: how often a turn did.
    """

    store: StoreInMemory = field(default_factory=store_in_memory)
    clock: FakeClock = field(default_factory=lambda: FakeClock(auto=False))
    running: list[Running] = field(default_factory=list[Running])
    learning: list[Learning] = field(default_factory=list[Learning])
    used: Counter[Key] = field(default_factory=Counter[Key])
    bound: dict[Key, int] = field(default_factory=dict[Key, int])
    extended: set[Key] = field(default_factory=set[Key])
    raised: set[str] = field(default_factory=set[str])
    questions: list[Incoming] = field(default_factory=list[Incoming])
    waited: int = 0

    def __post_init__(self) -> None:
        self.begin_processes()

    def begin_processes(self) -> None:
        """Two processes, which remember nothing of those before."""
        self.gates = [self._gate() for _ in range(2)]
        self.services = [
            ExtensionService(
                days=self.store.budget_days,
                allowances=gate.allowances,
                rules=RULES,
                run_limit=Budget(),
                jobs=self.store.jobs,
                audit=self.store.audit,
                approvals=self.store.approvals,
                written=self.store.written_turns,
                clock=self.clock,
                wake=lambda: None,
                platforms={},
                events={},
            )
            for gate in self.gates
        ]

    def _gate(self) -> BudgetGate:
        parts = (BUDGETS, self.store.spending, self.store.preferences, self.clock, self.store.budget_days)
        return BudgetGate(BudgetAllowances(*parts), RULES)

    async def connect(self) -> None:
        for one, other in (TWINS, TWINS[::-1]):
            await self.store.preferences.set(one, f"{CONNECTED} {other}", self.clock.now().isoformat())

    def budgets_of(self, question: Incoming, day: date) -> Sequence[Key]:
        return [(day, each.whose, account_of(each.whose, each.id, each.source)) for each in drawn_on(question)]

    def drawn_on(self, calling: Calling) -> Sequence[Key]:
        """Return the budgets of the call that runs."""
        if calling.began is None:
            return ()
        day = calling.began.date()
        match calling:
            case Running(claim):
                return self.budgets_of(claim.incoming, day)
            case Learning(person):
                shared = ((Whose.WORKSPACE, person_source(person)), (Whose.EVERYONE, ""))
                return [(day, whose, account_of(whose, id_)) for whose, id_ in ((Whose.PERSON, person), *shared)]
            case _:
                raise AssertionError

    def usual(self, budget: Key) -> int:
        return RAISED if budget[2] in self.raised else LIMITS[budget[1]]

    def limit(self, budget: Key) -> int:
        limit = self.usual(budget)
        return limit + limit * PERCENT // 100 if budget in self.extended else limit

    def begin_call(self, calling: Calling, tokens: int) -> None:
        calling.in_call, calling.began = tokens, self.clock.now()
        for budget in self.drawn_on(calling):
            assert self.used[budget] < self.limit(budget), "a call begins only while something is left"
            self.bound[budget] = self.used[budget] + sum(
                MOST for other in (*self.running, *self.learning) if other.in_call and budget in self.drawn_on(other)
            )

    def end_call(self, calling: Calling) -> ModelCall:
        for budget in self.drawn_on(calling):
            self.used[budget] += calling.in_call
            assert self.used[budget] <= self.bound[budget]
        began = calling.began or self.clock.now()
        call = ModelCall("m", Usage(output=calling.in_call), CallTiming(began, 1, 1))
        calling.in_call = 0
        return call

    async def ask(self, person: str, place: str, gate: BudgetGate) -> None:
        number = len(self.questions) + 1
        asked = said("one", person=person, conversation=f"thread {number}", number=number)
        incoming = replace(asked, channel=place, source=person_source(person))
        self.questions.append(incoming)
        if await gate.budget_refusal(incoming) is None:
            await self.store.ledger.accept(incoming)

    async def claim_all(self) -> None:
        while (claim := await self.store.ledger.claim(Claiming("worker", self.clock.now(), LONG))) is not None:
            self.running.append(Running(claim, list(decode(claim.progress).calls)))

    async def step(self, turn: Running, gate: BudgetGate, tokens: int) -> None:
        """The turn's next call begins or ends; or the turn waits, or ends."""
        claim = turn.claim
        if turn.in_call:
            turn.calls.append(self.end_call(turn))
            progress = encode(Progress(calls=tuple(turn.calls)))
            await self.store.ledger.save(claim, progress=progress, calls=turn.calls)
            return
        match await gate.held(claim.incoming, claim.turn, turn.calls, waits=True):
            case PauseDue(_, pause):
                self.waited += 1
                self.running.remove(turn)
                await self.store.ledger.put_aside(claim, pause.until, pause)
            case EndDue(_, at_once=True):
                await self.end(turn)
            case _ if len(turn.calls) >= 4:
                await self.end(turn)
            case _:
                self.begin_call(turn, tokens)

    async def learn(self, person: str, tokens: int, gate: BudgetGate) -> None:
        """Background work about a person begins with its only call, or ends."""
        if (under_way := next((each for each in self.learning if each.person == person), None)) is not None:
            self.learning.remove(under_way)
            await self.store.spending.charge(person, "learning", [self.end_call(under_way)], self.clock.now())
        elif await gate.allowances.may_spend(person):
            self.learning.append(begun := Learning(person))
            self.begin_call(begun, tokens)

    async def raise_budget(self, person: str, gate: BudgetGate) -> None:
        await gate.allowances.change(BudgetAccount(Whose.PERSON, person), {TOKENS: f"{RAISED}"})
        self.raised.add(person)

    async def end(self, turn: Running, *, dies: bool = False) -> None:
        """`dies`: the process is killed before it can notice what the turn has spent."""
        self.running.remove(turn)
        closing = Closing(Outcome.ANSWERED, "Hi.", calls=tuple(turn.calls))
        await self.store.ledger.finish(turn.claim, closing, self.clock.now())
        for gate in () if dies else self.gates:
            await gate.ended(turn.claim.incoming, turn.claim.turn, turn.calls)

    async def kill(self) -> None:
        """What the calls used that were interrupted is known to nobody."""
        if self.running and not self.running[0].in_call:
            await self.end(self.running[0], dies=True)
        self.running.clear()
        self.learning.clear()
        await self.store.ledger.release_all()
        self.begin_processes()

    async def press(self, number: int, person: str, *, given: bool) -> None:
        before = await self.store.budget_days.by_number(number)
        try:
            await asyncio.gather(*(service.decide(number, person, given=given) for service in self.services))
        except Refused:
            assert not operates(person)
        after = await self.store.budget_days.by_number(number)
        if before is None or after is None:
            return
        if not operates(person) or not before.extension.is_open or before.budget.day != self.clock.now().date():
            assert after == before, "neither by others, nor twice, nor too late"
        if after.extension is Extension.GIVEN:
            budget = after.budget
            self.extended.add((budget.day, budget.whose, account_of(budget.whose, budget.id, budget.source)))

    async def warnings(self) -> Counter[Key]:
        """Let everyone ask once more, and return the warnings that were ever stored, by budget."""
        for question in self.questions:
            await asyncio.gather(*(gate.held(question, 1, (), waits=True) for gate in self.gates))
        told = Counter[Key]()
        while (event := await self.store.outbox.next("crm", "budget")) is not None:
            whose, id_, source = Whose(str(event.data["whose"])), str(event.data["id"]), str(event.data["source"])
            told[event.time.date(), whose, account_of(whose, id_, source)] += 1
            await self.store.outbox.delivered(event.id)
        return told


ACTIONS: Final = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.sampled_from(ASKERS), st.sampled_from(PLACES)),
        st.tuples(st.just("step"), st.integers(0, 5), st.integers(MOST // 2, MOST)),
        st.tuples(st.just("step"), st.integers(0, 5), st.integers(MOST // 2, MOST)),
        st.tuples(st.just("step"), st.integers(0, 5), st.integers(MOST // 2, MOST)),
        st.tuples(st.just("learn"), st.integers(MOST // 2, MOST), st.sampled_from(ASKERS)),
        st.tuples(st.just("press"), st.integers(1, 6), st.sampled_from(PRESSING)),
        st.tuples(st.sampled_from(["kill", "decline"]), st.integers(1, 6), st.just("slack:T1:OP1")),
        st.tuples(st.just("raise"), st.just(0), st.sampled_from(ASKERS[2:])),
        st.tuples(st.just("wait"), st.integers(1, 300), st.just(0)),
    ),
    min_size=50,
    max_size=90,
)


async def play(actions: Sequence[tuple[str, int | str, int | str]]) -> Office:
    office = Office()
    await office.connect()
    row = Subscription("crm", frozenset({OutgoingEvent.BUDGET_NEAR}), frozenset(), "address")
    await office.store.outbox.subscribe([row], office.clock.now())
    for number, (what, first, second) in enumerate(actions):
        await office.claim_all()
        gate = office.gates[number % 2]
        match what, first, second:
            case "ask", str(), str():
                await office.ask(first, second, gate)
            case "step", int(), int():
                if office.running:
                    await office.step(office.running[first % len(office.running)], gate, second)
            case "press" | "decline", int(), str():
                await office.press(first, second, given=what == "press")
            case "learn", int(), str():
                await office.learn(second, first, gate)
            case "raise", _, str():
                await office.raise_budget(second, gate)
            case "wait", int(), _:
                await office.clock.advance(60.0 * first)
            case _:
                await office.kill()
    return office


@pytest.mark.slow
@settings(max_examples=15)
@given(ACTIONS)
def test_a_budget_holds_is_warned_about_once_and_extended_once_by_an_operator(
    actions: Sequence[tuple[str, int | str, int | str]],
) -> None:
    async def run() -> None:
        office = await play(actions)
        told, today = await office.warnings(), office.clock.now().date()
        assert all(count == 1 for count in told.values())
        for budget, used in office.used.items():
            asked = any(budget in office.budgets_of(question, today) for question in office.questions)
            if 100 * used >= DEFAULT_NEAR * office.usual(budget) and budget[0] == today and asked:
                assert told[budget] == 1

    asyncio.run(run())


async def test_the_property_reaches_waiting_turns_extensions_and_the_limit() -> None:
    ask, grow = ("ask", ASKERS[0], PLACES[0]), ("step", 0, MOST)
    until_it_waits = [ask, *[grow] * 6]
    office = await play([*until_it_waits, ("press", 1, ASKERS[1]), ("press", 1, "slack:T1:OP1"), *[grow] * 6])
    assert office.waited == 1
    assert len(office.extended) == 1
    today = office.clock.now().date()
    assert office.used[today, Whose.PERSON, ASKERS[0]] == 4 * MOST
    assert sum((await office.warnings()).values()) == 3
