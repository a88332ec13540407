"""Who is written about a budget and who decides about it, also where a platform fails or a process is killed."""

from agent.admission_terms import Authority, Whose
from agent.approvers import Approvers
from agent.budget_days import BUDGET, BudgetDay, Decided, Extension, MessageKind
from agent.incoming import Incoming
from agent.memory.forgetting_plans import CONNECTED
from agent.messages import ModelCall, Usage
from agent.turn_events import PauseDue
from bot.budgets import texts as budgets_texts
from bot.budgets.budgets import UNLIMITED, Budget, BudgetAllowances, Budgets
from bot.budgets.extensions import ExtensionService
from bot.budgets.gate import BudgetGate, ExtensionRules
from bot.chat.panels import Panel
from tests.contracts.steps import claimed
from tests.fakes.approver_platform import FakeApproverPlatform
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import LEASE, said
from tests.fakes.store import store_in_memory

ANN, OP, MIA = "test:ann", "test:op", "test:mia"


class Office:
    """Ann has a budget of 1,000 tokens. The operator and Mia, a manager, are on her platform."""

    def __init__(self, rule: Approvers | None = None, budgets: Budgets | None = None) -> None:
        self.store, self.clock = store_in_memory(), FakeClock(auto=False)
        self.platform = FakeApproverPlatform({MIA: Authority.MANAGER, ANN: Authority.EMPLOYEE}, {MIA})
        self.rules = ExtensionRules(50, rule, frozenset({OP}), OP.__eq__)
        self.budgets, self.woken = budgets or Budgets(person=Budget(tokens=1_000)), 0

    @property
    def allowances(self) -> BudgetAllowances:
        store = self.store
        return BudgetAllowances(self.budgets, store.spending, store.preferences, self.clock, store.budget_days)

    @property
    def service(self) -> ExtensionService:
        """That of a new process."""
        store = self.store
        return ExtensionService(
            days=store.budget_days,
            allowances=self.allowances,
            rules=self.rules,
            run_limit=UNLIMITED,
            jobs=store.jobs,
            audit=store.audit,
            approvals=store.approvals,
            written=store.written_turns,
            clock=self.clock,
            wake=self.wake,
            platforms={"test": self.platform},
            events={},
        )

    def wake(self) -> None:
        self.woken += 1

    async def reached(self, asked: Incoming | None = None) -> int:
        """Spend the budget, and let a question wait. Returns the number of its row."""
        question = asked or said("one", person=ANN)
        call = ModelCall("m", Usage(output=1_000))
        await self.store.spending.charge(question.person.id, "turn", [call], self.clock.now(), question.channel)
        await self.store.ledger.accept(question)
        claim = await claimed(self.store, now=self.clock.now())
        due = await BudgetGate(self.allowances, self.rules).held(question, claim.turn, (), waits=True)
        assert isinstance(due, PauseDue)
        await self.store.ledger.put_aside(claim, due.pause.until, due.pause)
        assert due.pause.budget is not None
        (day,) = await self.store.budget_days.of([due.pause.budget])
        return day.number

    async def work(self) -> None:
        """Run the jobs that are due, each once."""
        while (job := await self.store.jobs.claim(frozenset({BUDGET}), "worker", self.clock.now(), LEASE)) is not None:
            await self.service.run(job)
            await self.store.jobs.finish(job)

    async def day(self, number: int) -> BudgetDay:
        day = await self.store.budget_days.by_number(number)
        assert day is not None
        return day

    def shown_to(self, person: str, words: str = "") -> list[Panel]:
        return [panel for whose, panel in self.platform.shown.values() if whose == person and words in panel.text]

    async def press(self, person: str, words: str) -> str:
        panel = await self.service.answer(person, words)
        assert panel is not None
        return panel.text


async def test_the_operator_is_asked_and_ann_is_warned_and_nobody_else_reads_of_it() -> None:
    office = Office()
    number = await office.reached()
    await office.work()
    (request,) = office.shown_to(OP)
    assert [action.words for action in request.actions] == [f"budget extend {number}", f"budget decline {number}"]
    (warning,) = office.shown_to(ANN)
    assert "Your budget for today is 100% used: 1,000 tokens of 1,000 so far." in warning.text
    assert await office.press(ANN, warning.actions[0].words) == "Your usage today (UTC): 1,000 tokens of 1,000."
    assert office.shown_to(MIA) == []


async def test_after_two_days_nothing_is_stored_of_it_also_if_no_other_budget_is_noticed() -> None:
    office = Office()
    number = await office.reached()
    await office.work()
    for _ in range(2):
        await office.clock.advance(86_400)
        await office.work()
        assert await office.store.budget_days.by_number(number) is not None
    await office.clock.advance(86_400)
    await office.work()
    assert await office.store.budget_days.by_number(number) is None
    await office.clock.advance(86_400)
    await office.work()
    assert await office.store.jobs.claim(frozenset({BUDGET}), "worker", office.clock.now(), LEASE) is None


async def test_a_process_that_is_killed_while_it_sends_sends_nothing_twice() -> None:
    office = Office()
    await office.reached()
    office.platform.dies = True
    await office.work()
    await office.clock.advance(60)
    await office.work()
    assert [len(office.shown_to(each)) for each in (ANN, OP)] == [1, 1]


async def test_while_the_platform_is_down_it_is_tried_again() -> None:
    office = Office(Approvers("manager"))
    await office.reached()
    office.platform.is_down = True
    await office.work()
    assert office.shown_to(MIA) == []
    office.platform.is_down = False
    await office.clock.advance(60)
    await office.work()
    assert len(office.shown_to(MIA)) == 1


async def test_where_nobody_who_may_extend_it_is_found_the_turn_goes_on_at_once() -> None:
    office = Office(Approvers("admin"))
    number = await office.reached()
    await office.work()
    assert (await office.day(number)).extension is Extension.UNASKED
    assert office.woken == 1
    assert await claimed(office.store, now=office.clock.now()) is not None


async def test_only_whom_it_is_for_extends_it_and_what_was_asked_becomes_the_outcome() -> None:
    office = Office(Approvers("manager"))
    number = await office.reached()
    await office.work()
    extend = f"budget extend {number}"
    assert await office.press(ANN, extend) == budgets_texts.NOT_YOUR_OWN
    refused = budgets_texts.NOT_AN_APPROVER.format(who=budgets_texts.WHO_EXTENDS["others"])
    assert await office.press(OP, extend) == refused
    assert (await office.day(number)).extension is Extension.ASKED
    office.platform.is_down = True
    assert await office.press(MIA, extend) == budgets_texts.APPROVERS_UNKNOWN
    office.platform.is_down = False
    assert await office.press(MIA, extend) == budgets_texts.DECIDED["GIVEN"]
    assert await office.press(MIA, extend) == budgets_texts.NOT_DECIDED["GIVEN_BEFORE"]
    await office.work()
    (outcome,) = office.shown_to(MIA)
    assert "is 50% higher today" in outcome.text
    assert outcome.actions == ()


async def test_the_day_after_nobody_decides_and_the_request_says_so() -> None:
    office = Office()
    number = await office.reached()
    await office.work()
    await office.clock.advance(24 * 3_600)
    assert await office.press(OP, f"budget extend {number}") == budgets_texts.NOT_DECIDED[Decided.OVER.name]
    await office.work()
    (outcome,) = office.shown_to(OP)
    assert outcome.text.endswith("was not extended. The day is over.")


async def test_of_a_channels_budget_its_managers_and_the_asker_are_warned() -> None:
    office = Office(budgets=Budgets(channel=Budget(tokens=1_000)))
    number = await office.reached()
    await office.work()
    assert (await office.day(number)).budget.whose is Whose.CHANNEL
    assert [len(office.shown_to(each, "The budget of the channel where")) for each in (ANN, MIA)] == [1, 1]
    near = [each.person for each in await office.store.budget_days.messages(number) if each.kind is MessageKind.NEAR]
    assert sorted(near) == [ANN, MIA]


async def test_who_cannot_be_written_to_is_left_out() -> None:
    office = Office()
    number = await office.reached()
    office.platform.closed.add(OP)
    await office.work()
    assert office.shown_to(OP) == []
    assert (await office.day(number)).extension is Extension.ASKED, "the button below the answer is still there"


async def test_connected_accounts_share_one_warning_and_one_extension() -> None:
    office = Office()
    for one, other in ((ANN, "other:ann"), ("other:ann", ANN)):
        await office.store.preferences.set(one, f"{CONNECTED} {other}", office.clock.now().isoformat())
    number = await office.reached()
    assert await office.press("other:ann", f"budget extend {number}") == budgets_texts.NOT_YOUR_OWN
    assert await office.press(OP, f"budget extend {number}") == budgets_texts.DECIDED["GIVEN"]
    again = await BudgetGate(office.allowances, office.rules).held(
        said("two", person="other:ann"), 2, [ModelCall("m", Usage(output=400))], waits=True
    )
    assert again is None


async def test_other_words_are_left_to_the_command() -> None:
    office = Office()
    for words in ("", "policy", "waiting", "waiting x", "allow 1.2", "budget", "budget extend x", "budget extend 1 2"):
        assert await office.service.answer(OP, words) is None
