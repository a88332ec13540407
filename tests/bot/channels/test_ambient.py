"""Ambient answers: none in doubt, limits shared between processes, and no question considered twice."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from agent.events import Outcome
from agent.incoming import Incoming
from agent.messages import Message
from agent.providers.scripted import ScriptedProvider
from agent.spending import By, SpendingPeriod
from agent.turn_kinds import TurnKind
from agent.turn_records import Closing
from bot.budgets.budgets import Budget, BudgetAllowances, Budgets
from bot.budgets.gate import BudgetGate
from bot.channels.ambient import WAIT_S, AmbientService, is_yes
from bot.channels.ambient_state import EXAMINED_PER_ANSWER, MARKS, AmbientState
from bot.channels.effects import ChannelEffects
from bot.chat.access.acl import AccessRules, parse_entries
from bot.chat.access.admission import AdmissionControl, AdmissionRules
from bot.chat.access.place_rules import name_at, place_owner
from bot.chat.dedupe import Deduplicator
from bot.chat.learning_model import LearningModel
from bot.chat.message_events import QuestionToAll
from store.engine import Store
from tests.fakes.clock import FakeClock
from tests.fakes.ended import ended
from tests.fakes.incoming import said
from tests.fakes.store import store_in_memory
from tests.patience import PATIENCE_S

CHANNEL = "C1"
LATER = timedelta(minutes=10)


@dataclass
class World:
    """One channel, as one or several processes receive it. `judgement`: the small model's output."""

    store: Store = field(default_factory=store_in_memory)
    clock: FakeClock = field(default_factory=FakeClock)
    judgement: str = "yes"
    rules: AdmissionRules = field(default_factory=AdmissionRules)
    budgets: Budgets = field(default_factory=Budgets)
    seen: list[str] = field(default_factory=list[str])
    answered: list[Incoming] = field(default_factory=list[Incoming])
    number: int = 0

    async def switch(self, answers: int) -> None:
        await self.store.preferences.set(place_owner(CHANNEL), "place", f'{{"ambient": "{answers}"}}')

    def process(self, most: int = 20, wait_s: float = WAIT_S) -> AmbientService:
        def judge(messages: Sequence[Message]) -> str:
            self.seen.append(messages[-1].text)
            return self.judgement

        allowances = BudgetAllowances(self.budgets, self.store.spending, self.store.preferences, self.clock)
        return AmbientService(
            preferences=self.store.preferences,
            admission=AdmissionControl(
                self.rules, ChannelEffects(self.store.preferences), BudgetGate(allowances), self.clock
            ),
            spending=self.store.spending,
            ledger=self.store.ledger,
            jobs=self.store.jobs,
            claim_once=Deduplicator(self.store.preferences).claim_once,
            model=lambda: LearningModel(ScriptedProvider(judge)),
            clock=self.clock,
            most=most,
            wait_s=wait_s,
        )

    def question(self, person: str = "ann", text: str = "Where is the wiki?", *, source: str = "test") -> QuestionToAll:
        self.number += 1
        name = f"m{self.number}"
        asked = replace(
            said(text, person=person, conversation=f"t{name}"), source=source, channel=CHANNEL, event_id=name
        )

        async def read() -> Incoming:
            return replace(asked, time=self.clock.now())

        async def submit(incoming: Incoming) -> bool:
            self.answered.append(incoming)
            return True

        return QuestionToAll(source, CHANNEL, name, person, read, submit)

    async def asked(
        self,
        *services: AmbientService,
        question: QuestionToAll | None = None,
        meanwhile: Callable[[], None] = lambda: None,
        pause: timedelta = LATER,
    ) -> int:
        """Return the number of answers after a person asked, every process received it, and some time passed."""
        question = question or self.question()
        for service in services:
            service.talked(question.source, CHANNEL, question.person, question.message)
            service.asked_all(question)
        await asyncio.sleep(0)
        meanwhile()
        async with asyncio.timeout(PATIENCE_S):
            for service in services:
                await service.idle()
        await self.clock.advance(pause.total_seconds())
        return len(self.answered)


async def test_a_question_is_answered_if_that_is_switched_on_and_a_model_says_yes() -> None:
    world = World()
    service = world.process()
    assert await world.asked(service) == 0
    await world.switch(10)
    assert await world.asked(service) == 1
    assert world.answered[0].kind is TurnKind.AMBIENT
    assert "Where is the wiki?" in world.seen[0]
    world.judgement = "No."
    assert await world.asked(service) == 1
    totals = await world.store.spending.totals(SpendingPeriod.days_until(world.clock.now(), 1), By.CHANNEL)
    assert [(total.key, total.spent.calls) for total in totals] == [(CHANNEL, 2)]
    people = await world.store.spending.totals(SpendingPeriod.days_until(world.clock.now(), 1), By.PERSON)
    assert [total.key for total in people] == [f"{world.answered[0].source}:"], "nobody of that workspace"


def test_anything_but_a_plain_yes_is_a_no() -> None:
    assert [is_yes(one) for one in ("yes", "Yes.", '"YES"', " yes\nbecause")] == [True] * 4
    assert [is_yes(one) for one in ("", "no", "yesterday", "I think yes", "<think>yes", "oui")] == [False] * 6


async def test_two_processes_share_one_limit_and_answer_each_question_once() -> None:
    world = World()
    await world.switch(2)
    one, two = world.process(), world.process()
    assert [await world.asked(one, two) for _ in range(4)] == [1, 2, 2, 2]
    await world.switch(3)
    assert await world.asked(two) == 3
    await world.clock.advance(timedelta(days=1).total_seconds())
    assert await world.asked(one) == 4


async def test_the_operators_limit_holds_whatever_was_chosen() -> None:
    world = World()
    await world.switch(50)
    service = world.process(most=1)
    assert [await world.asked(service) for _ in range(3)] == [1, 1, 1]
    assert await world.asked(world.process(most=0)) == 1


async def test_examined_questions_without_an_answer_are_limited_too() -> None:
    world = World(judgement="no")
    await world.switch(1)
    service = world.process()
    for _ in range(EXAMINED_PER_ANSWER + 3):
        await world.asked(service)
    assert len(world.seen) == EXAMINED_PER_ANSWER


async def test_two_answers_are_some_time_apart() -> None:
    world = World()
    await world.switch(10)
    service = world.process()
    assert await world.asked(service, pause=timedelta(minutes=1)) == 1
    assert await world.asked(service) == 1
    assert await world.asked(service) == 2


async def test_people_who_talk_with_one_another_are_not_disturbed() -> None:
    world = World()
    await world.switch(10)
    service = world.process()
    service.talked("test", CHANNEL, "bob", "m-1")
    assert await world.asked(service) == 0
    service.talked("test", CHANNEL, "bob", "m-2")
    await world.clock.advance(30)
    assert await world.asked(service) == 1
    service.talked("test", CHANNEL, "bob", "m-3")
    service.talked("test", CHANNEL, "cleo", "m-4")
    await world.clock.advance(30)
    assert await world.asked(service) == 1
    assert await world.asked(service) == 2


async def test_a_question_that_a_person_answers_or_that_changes_gets_no_answer() -> None:
    world = World()
    await world.switch(10)
    service = world.process()
    assert await world.asked(service, meanwhile=lambda: service.talked("test", CHANNEL, "bob", "m-1")) == 0
    question = world.question()
    assert (
        await world.asked(
            service, question=question, meanwhile=lambda: service.changed("test", CHANNEL, question.message)
        )
        == 0
    )
    assert world.seen == []
    assert await world.asked(service) == 1


async def test_a_person_who_may_not_ask_gets_no_answer_and_no_model_is_called() -> None:
    world = World(rules=AdmissionRules(AccessRules(deny=parse_entries("person:ann"))))
    await world.switch(10)
    assert await world.asked(world.process()) == 0
    world.budgets = Budgets(channel=Budget(tokens=0))
    assert await world.asked(world.process(), question=world.question("bob")) == 0
    world.budgets = Budgets()
    await world.store.preferences.set(place_owner(CHANNEL), "place", '{"ambient": "9", "who": "person:cleo"}')
    assert await world.asked(world.process(), question=world.question("bob")) == 0
    assert world.seen == []
    assert await world.asked(world.process(), question=world.question("cleo")) == 1


async def test_two_workspaces_that_share_a_channel_count_and_silence_their_own_answers() -> None:
    one, two = "slack:T1", "slack:T2"
    world = World()
    for source in (one, two):
        await world.store.preferences.set(place_owner(CHANNEL), name_at(source), '{"ambient": "1"}')
    service = world.process()
    service.talked(two, CHANNEL, "bob", "m-1")
    service.changed(two, CHANNEL, "m1")
    assert await world.asked(service, question=world.question(source=one)) == 1, "talk that the other app heard"
    assert await world.asked(service, question=world.question(source=one)) == 1, "its day is used up"
    assert await world.asked(service, question=world.question(source=two)) == 2, "the other's is not"
    assert not await service.stopped(two, CHANNEL, world.answered[0].conversation), "an answer of the other bot"
    assert await service.stopped(one, CHANNEL, world.answered[0].conversation)
    await world.clock.advance(timedelta(hours=12).total_seconds())
    kept = await world.store.preferences.all_of(place_owner(CHANNEL))
    quiet = {source: AmbientState.decode(kept[name_at(source, AmbientState.NAME)]).quiet for source in (one, two)}
    assert quiet[one]
    assert not quiet[two]


async def test_what_an_earlier_version_counted_for_all_workspaces_counts_for_each() -> None:
    world = World()
    await world.switch(1)
    silenced = AmbientState().muted(world.clock.now())
    await world.store.preferences.set(place_owner(CHANNEL), AmbientState.NAME, str(silenced))
    assert await world.asked(world.process(), question=world.question(source="slack:T1")) == 0


async def test_stop_below_such_an_answer_silences_every_process_for_a_day() -> None:
    world = World()
    await world.switch(10)
    one, two = world.process(), world.process()
    await world.asked(one)
    assert not await two.stopped("test", CHANNEL, "another thread")
    assert await two.stopped("test", CHANNEL, world.answered[0].conversation)
    assert await world.asked(one) == 1
    await world.clock.advance(timedelta(days=1).total_seconds())
    assert await world.asked(one) == 2


async def test_only_the_first_answer_says_how_to_end_them() -> None:
    world = World()
    await world.switch(10)
    service = world.process()
    for _ in range(2):
        await world.asked(service)
    first, second = world.answered
    (note,) = service.feature.notes
    lines = [await note.line(ended(1, one)) for one in (first, first, second, said("Bot, which?"))]
    assert [bool(line.text) for line in lines] == [True, True, False, False]


async def test_a_question_that_is_still_considered_is_dropped_when_the_bot_stops() -> None:
    world = World(clock=FakeClock(auto=False))
    await world.switch(10)
    service, question = world.process(), world.question()
    serving = service.feature.serving
    assert serving is not None
    async with serving():
        service.talked("test", CHANNEL, question.person, question.message)
        service.asked_all(question)
        await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE_S):
        await service.idle()
    assert world.answered == []


async def test_an_unanswered_question_is_erased() -> None:
    store = store_in_memory()
    world = World(store)
    await world.switch(10)
    service = world.process()
    await world.asked(service)
    await store.ledger.accept(world.answered[0])
    await service.ended(world.answered[0], Closing(Outcome.ANSWERED, "At noon."))
    assert [turn.state for turn in store.turns] == ["waiting"]
    await service.ended(world.answered[0], Closing(Outcome.ANSWERED, ""))
    assert [turn.state for turn in store.turns] == ["done"]
    assert [kind for kind, _ in store.waiting_jobs] == ["forget_deleted"]


def test_the_stored_state_names_no_person_and_is_bounded() -> None:
    state, now = AmbientState(), FakeClock().now()
    for number in range(MARKS + 5):
        state = state.answering(now, f"slack:T1:C1:{number}")
    assert AmbientState.decode(str(state)) == state
    assert "slack" not in str(state)
    assert len(state.marks) == MARKS
    assert AmbientState.decode('{"marks": 7}') == AmbientState()
