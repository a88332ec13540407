"""Budgets that run out, on each platform: a warning, answers that wait, and who lets them go on."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Final

import pytest

from agent.approvers import Approvers
from agent.budget_days import BUDGET
from agent.messages import Message, Usage
from agent.ports.tools import ToolEffect
from agent.providers.scripted import ScriptedProvider
from bot.budgets import texts as budgets_texts
from bot.budgets.budgets import UNLIMITED, Budget, Budgets
from bot.budgets.gate import ExtensionRules
from bot.chat.jobs import JobLimits, JobWorker
from bot.platforms import texts as platforms_texts
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.one_turn import Echo
from tests.flows.worlds import (
    SLACK_OTHER,
    WORLDS,
    AnyWorld,
    Page,
    SlackWorld,
    Who,
    World,
    mainly_in_slack,
    mainly_on_discord,
)

pytestmark = pytest.mark.parametrize("open_world", WORLDS)

OFTEN: Final = JobLimits(sweep_s=2.5)  # 50 ms on this clock
ROUND: Final = Usage(output=450)
PERSON: Final = Budgets(person=Budget(tokens=1_000))
LOOK: Final = 'I look.\n<execute>[{"name": "look", "args": {"text": "boats"}}]</execute>'
FOUND: Final = "Two boats."
ASKED: Final = "Answers are on hold until someone extends the budget."


def looks(messages: Sequence[Message]) -> str:
    """Answer as a model that looks before it answers what it was told to look for."""
    last = messages[-1].text
    if "hears boats" in last:
        return FOUND
    return LOOK if "look for" in last else "Hello."


class Office:
    """A place whose other person operates the bot, and manages it."""

    def __init__(self, world: World, budgets: Budgets, rule: Approvers | None, run: Budget, alerts: str) -> None:
        self.world, self.model = world, ScriptedProvider(looks, usage=ROUND)
        self.tool = Echo(name="look", effect=ToolEffect.READS)
        operators = frozenset({world.person(Who.OTHER)})
        self.rules = ExtensionRules(50, rule, operators, operators.__contains__)
        self.settings = (budgets, run, alerts)
        if isinstance(world, SlackWorld):
            world.slack.state.users[SLACK_OTHER].facts["is_admin"] = True
        self.host = self._new_host()

    def _new_host(self, before: AnsweringHost | None = None) -> AnsweringHost:
        budgets, run, alerts = self.settings
        store = None if before is None else before.store
        return answering_host(
            self.model,
            self.world.clock,
            store,
            tools=[self.tool],
            budgets=budgets,
            extensions=self.rules,
            run=run,
            alerts=alerts,
        )

    @asynccontextmanager
    async def running(self, *, answers: bool = True) -> AsyncGenerator[None]:
        """A process, on what the ones before have left. `answers`: False: it is killed before it runs a turn."""
        self.host = host = self._new_host(self.host)
        jobs, clock = host.store.jobs, self.world.clock
        async with (
            self.world.serving(host),
            JobWorker(jobs, {BUDGET: host.extensions.run}, clock, "budgets", OFTEN).serving(),
            host.answering() if answers else nullcontext(),
        ):
            yield

    def written(self, words: str, who: Who = Who.OTHER) -> Sequence[Page]:
        return [page for page in self.world.direct(who) if words in page.whole]

    async def waits(self) -> None:
        """Until all turns wait, or are over."""
        await self.world.until(
            lambda: self.host.store.turns and all(each.state != "running" for each in self.host.store.turns)
        )

    async def ended(self) -> None:
        await self.world.until(lambda: all(each.state == "done" for each in self.host.store.turns))

    def says(self, words: str) -> bool:
        """Whether the asker reads these words anywhere."""
        pages = (*self.world.private(), *self.world.direct(), *self.world.answers())
        return any(words in page.whole for page in pages)

    def texts(self) -> list[str]:
        return [page.text for page in self.world.answers()]


@asynccontextmanager
async def office(
    open_world: AnyWorld,
    budgets: Budgets = PERSON,
    rule: Approvers | None = None,
    run: Budget = UNLIMITED,
    alerts: str = "",
) -> AsyncGenerator[Office]:
    async with open_world() as world:
        yield Office(world, budgets, rule, run, alerts)


async def reached(here: Office) -> Page:
    """Spend nearly all, ask once more, and return what the operator is shown."""
    await here.world.ask("hello")
    await here.world.until(lambda: here.texts().count("Hello.") == 1)
    await here.ended()
    await here.world.ask("look for boats")
    await here.world.until(lambda: here.written(ASKED))
    await here.waits()
    return here.written(ASKED)[-1]


@mainly_in_slack
async def test_an_answer_waits_until_an_operator_extends_the_budget_once_and_its_person_was_warned_once(
    open_world: AnyWorld,
) -> None:
    async with office(open_world) as here, here.running():
        request = await reached(here)
        waiting = here.world.answers()[-1]
        assert "My next step would probably exceed your budget of 1,000 tokens for today" in waiting.text
        assert "I asked an operator to extend it" in waiting.text
        assert platforms_texts.DECIDE_BUTTON in waiting.buttons
        assert here.world.name in request.whole
        (warning,) = here.written("% used", Who.ASKER)
        assert "Your budget for today is 90% used: 900 tokens of 1,000" in warning.whole
        assert len(here.model.requests) == 2
        await here.world.press(waiting, platforms_texts.DECIDE_BUTTON)
        only = budgets_texts.WAITS_FOR_EXTENSION.format(who=budgets_texts.WHO_EXTENDS[""])
        await here.world.until(lambda: any(only in page.whole for page in here.world.private()))
        assert len(here.model.requests) == 2
        await here.world.press(request, budgets_texts.EXTEND, Who.OTHER)
        await here.world.until(lambda: here.texts()[-1].endswith(FOUND))
        await here.ended()
        await here.world.until(lambda: any("is 50% higher today" in page.whole for page in here.written("", Who.OTHER)))
        await here.world.ask("hello again")
        await here.world.until(lambda: here.texts()[-1] == "Hello.")
        await here.ended()
        await here.world.ask("and again?")
        await here.world.until(lambda: here.says("budget of 1,500 tokens"))
        assert len(here.model.requests) == 4
        assert len(here.written("% used", Who.ASKER)) == 1
        assert len(here.written(ASKED)) == 0


@mainly_on_discord
async def test_a_declined_extension_ends_the_answer_which_says_what_it_found(open_world: AnyWorld) -> None:
    async with office(open_world) as here, here.running():
        request = await reached(here)
        await here.world.press(request, budgets_texts.DECLINE, Who.OTHER)
        await here.world.until(lambda: budgets_texts.NOT_EXTENDED["REFUSED"] in here.texts()[-1])
        await here.ended()
        assert "I look." in here.texts()[-1]
        assert FOUND in here.texts()[-1]
        assert len(here.model.requests) == 3, "the last call is the one that may exceed the budget"
        await here.world.ask("and now?")
        await here.world.until(lambda: here.says("used up today's budget"))
        assert len(here.model.requests) == 3


async def test_a_process_that_is_killed_while_an_answer_waits_loses_nothing_and_asks_nobody_twice(
    open_world: AnyWorld,
) -> None:
    async with office(open_world) as here:
        async with here.running():
            await reached(here)
        async with here.running():
            await here.waits()
            assert len(here.written(ASKED)) == 1
            await here.world.press(here.written(ASKED)[0], budgets_texts.EXTEND, Who.OTHER)
            await here.world.until(lambda: here.texts()[-1].endswith(FOUND))
            await here.ended()
        assert len(here.written("% used", Who.ASKER)) == 1
        assert len(here.tool.said) == 1


async def test_whom_the_operator_names_may_extend_a_budget_and_the_day_after_it_is_new(open_world: AnyWorld) -> None:
    async with office(open_world, rule=Approvers("manager")) as here, here.running():
        await reached(here)
        assert "the people who can extend it" in here.texts()[-1]
        here.world.clock.ahead_s += 24 * 3_600
        await here.world.until(lambda: here.texts()[-1].endswith(FOUND))
        await here.ended()
        await here.world.until(lambda: not here.written(ASKED))


@mainly_in_slack
async def test_a_turn_asks_its_asker_before_it_goes_beyond_its_own_limit(open_world: AnyWorld) -> None:
    async with office(open_world, Budgets(), run=Budget(tokens=800)) as here, here.running():
        await here.world.ask("look for boats")
        await here.world.until(lambda: "This answer has used 450 tokens so far" in "".join(here.texts()))
        await here.waits()
        (waiting,) = here.world.answers()
        await here.world.press(waiting, platforms_texts.DECIDE_BUTTON)
        await here.world.until(lambda: budgets_texts.CONTINUE in here.world.private()[-1].buttons)
        assert "800 tokens" in here.world.private()[-1].whole
        await here.world.press(here.world.private()[-1], budgets_texts.CONTINUE)
        await here.world.until(lambda: here.texts()[-1].endswith(FOUND))
        await here.ended()
        assert not here.world.direct(Who.OTHER)


async def test_the_operators_channel_reads_once_that_a_budget_is_nearly_and_completely_used_up(
    open_world: AnyWorld,
) -> None:
    async with open_world() as world:
        here = Office(world, PERSON, None, UNLIMITED, f"{world.source}:{world.channel}")
        async with here.running():
            await reached(here)
            await world.until(lambda: any("I asked an operator" in text for text in alerts(here)))
            await here.waits()
        async with here.running():
            await here.world.press(here.written(ASKED)[0], budgets_texts.DECLINE, Who.OTHER)
            await here.ended()
        near, limit = alerts(here)
        assert near.startswith(f"{world.name}'s budget for today is 90% used: 900 tokens of 1,000 so far.")
        assert limit == budgets_texts.LIMIT_REACHED.format(
            whose=f"{world.name}'s budget", who="an operator", percent=50
        )


def alerts(here: Office) -> list[str]:
    return [text for text in here.texts() if text.startswith(f"{here.world.name}'s budget for today")]
