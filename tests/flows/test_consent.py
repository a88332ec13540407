"""Calls that wait for their asker's word, on each platform: real adapter, turns and store; the model is scripted."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from agent.consents import CONSENT_TIME
from agent.ports.tools import Tool, ToolEffect
from agent.providers.scripted import Answering, ScriptedProvider
from agent.texts import QUESTION_EDITED
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.tools import texts as tool_texts
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.one_turn import Echo
from tests.fakes.telling_model import ALLOW, HERE, REFUSE, WAITS, says, says_after_looking
from tests.flows.worlds import WORLDS, AnyWorld, Page, Who, World

pytestmark = pytest.mark.parametrize("open_world", WORLDS)

WAITING = f"I will tell Ben.\n\n{WAITS}"
DONE = "I will tell Ben.\n\nBen knows."
NOT_DONE = "I will tell Ben.\n\nThen not."


class Consent:
    """A place in which the model wants to act. The other person operates the bot."""

    def __init__(self, world: World, tool: Echo, model: Answering, tools: Sequence[Tool]) -> None:
        self.world, self.tool, self.model, self.tools = world, tool, ScriptedProvider(model), tools
        self.host = self._new_host()

    def _new_host(self, before: AnsweringHost | None = None) -> AnsweringHost:
        store = None if before is None else before.store
        operators = frozenset({self.world.person(Who.OTHER)})
        return answering_host(self.model, self.world.clock, store, tools=self.tools, operators=operators)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """A process, on what the ones before have left."""
        self.host = self._new_host(self.host)
        async with self.world.serving(self.host), self.host.answering():
            yield

    async def asked(self, text: str = "tell Ben", below: Page | None = None) -> tuple[Page, Page]:
        """The question, and the reply once it waits for a word."""
        before = len(self.waiting())
        question = await self.world.ask(text, below)
        await self.world.until(lambda: len(self.waiting()) > before and self.is_put_aside())
        return question, self.waiting()[-1]

    def waiting(self) -> Sequence[Page]:
        return [page for page in self.world.answers() if WAITS in page.text]

    def is_put_aside(self) -> bool:
        return all(turn.state != "running" for turn in self.host.store.turns)

    def texts(self) -> list[str]:
        return [page.text for page in self.world.answers()]

    async def shown(self, text: str, page: Page, who: Who = Who.ASKER) -> Page:
        """What this person, alone, reads when they press the button below a reply that waits."""
        await self.world.until(lambda: platforms_texts.DECIDE_BUTTON in page.buttons)
        before = len(self.world.private())
        await self.world.press(page, platforms_texts.DECIDE_BUTTON, who)
        await self.world.until(lambda: any(text in one.text for one in self.world.private()[before:]))
        return self.world.private()[-1]

    async def panel(self, page: Page) -> Page:
        return await self.shown("Approve `echo`?", page)

    async def told(self, text: str) -> None:
        """One of them reads this, alone."""
        await self.world.until(lambda: any(text in page.text for page in self.world.private()))

    async def is_over(self, panel: Page) -> None:
        """What is still shown there decides nothing any more, and says so."""
        await self.world.press(panel, ALLOW)
        await self.told(tool_texts.NOT_DECIDED["OVER"])

    async def ended(self) -> None:
        await self.world.until(lambda: all(turn.state == "done" for turn in self.host.store.turns))


@asynccontextmanager
async def consent(
    open_world: AnyWorld,
    effect: ToolEffect = ToolEffect.ACTS_OUTWARD,
    model: Answering = says,
    tools: Sequence[Tool] = (),
) -> AsyncGenerator[Consent]:
    tool = Echo(effect=effect)
    async with open_world() as world:
        yield Consent(world, tool, model, [tool, *tools])


async def test_nothing_is_done_before_its_asker_who_alone_is_shown_all_of_it_has_allowed_it(
    open_world: AnyWorld,
) -> None:
    async with consent(open_world) as here, here.running():
        _, page = await here.asked()
        assert page.text == WAITING
        await here.shown(tool_texts.NOTHING_WAITS, page, Who.OTHER)
        panel = await here.panel(page)
        for told in (tool_texts.EFFECTS["ACTS_OUTWARD"], "**text**: `Hello Ben.`", "tell Ben"):
            assert told in panel.text
        assert panel.buttons == [ALLOW, HERE, REFUSE]
        assert here.tool.said == []
        await here.world.press(panel, ALLOW)
        await here.ended()
        await here.told(tool_texts.DECIDED["allow"])
        (answer,) = here.world.answers()
    assert here.tool.said == ["Hello Ben."]
    assert (answer, answer.text) == (page, DONE)


async def test_what_the_asker_was_shown_decides_nothing_for_somebody_else(open_world: AnyWorld) -> None:
    async with consent(open_world) as here, here.running():
        _, page = await here.asked()
        await here.world.press(await here.panel(page), ALLOW, Who.OTHER)
        await here.told(reply_texts.NOT_YOURS)
        assert here.waiting()
    assert here.tool.said == []


async def test_a_refused_call_does_not_run_and_a_second_press_says_which_word_counts(open_world: AnyWorld) -> None:
    async with consent(open_world) as here, here.running():
        _, page = await here.asked()
        panel = await here.panel(page)
        again = panel.copy()
        await here.world.press(panel, REFUSE)
        await here.ended()
        assert here.texts() == [NOT_DONE]
        await here.world.press(again, ALLOW)
        await here.told(tool_texts.NOT_DECIDED["REFUSED_BEFORE"])
    assert here.tool.said == []


async def test_what_an_operator_refuses_while_it_waits_does_not_run_although_it_is_allowed_then(
    open_world: AnyWorld,
) -> None:
    async with consent(open_world) as here, here.running():
        _, page = await here.asked()
        await here.world.command("tools", "policy set echo * * no", who=Who.OTHER)
        await here.told("`echo * * no`")
        await here.world.press(await here.panel(page), ALLOW)
        await here.ended()
        assert here.texts() == [NOT_DONE]
    assert here.tool.said == []


async def test_two_presses_at_once_run_it_once(open_world: AnyWorld) -> None:
    async with consent(open_world) as here, here.running():
        _, page = await here.asked()
        panel = await here.panel(page)
        await asyncio.gather(*(here.world.press(one, ALLOW) for one in (panel.copy(), panel.copy())))
        await here.ended()
        assert here.texts() == [DONE]
    assert here.tool.said == ["Hello Ben."]


async def test_what_is_allowed_in_a_thread_is_not_asked_for_again_there_and_elsewhere_it_is(
    open_world: AnyWorld,
) -> None:
    async with consent(open_world) as here, here.running():
        question, page = await here.asked()
        await here.world.press(await here.panel(page), HERE)
        await here.ended()
        await here.world.ask("once more", question)
        await here.world.until(lambda: len(here.host.store.turns) == 2)
        await here.ended()
        assert here.tool.said == ["Hello Ben."] * 2
        await here.asked("and from here")
        assert here.tool.said == ["Hello Ben."] * 2


async def test_as_soon_as_somebody_else_has_written_in_the_thread_it_is_asked_for_again(open_world: AnyWorld) -> None:
    async with consent(open_world) as here, here.running():
        question, page = await here.asked()
        await here.world.press(await here.panel(page), HERE)
        await here.ended()
        await here.world.ask("what is this?", question, Who.OTHER)
        await here.world.until(lambda: len(here.waiting()) == 1)
        await here.asked("once more", question)
    assert here.tool.said == ["Hello Ben."]


async def test_what_cannot_be_taken_back_is_asked_for_each_time(open_world: AnyWorld) -> None:
    async with consent(open_world, ToolEffect.IRREVERSIBLE) as here, here.running():
        question, page = await here.asked()
        panel = await here.panel(page)
        assert tool_texts.EFFECTS["IRREVERSIBLE"] in panel.text
        assert panel.buttons == [ALLOW, REFUSE]
        await here.world.press(panel, ALLOW)
        await here.ended()
        await here.asked("once more", question)
    assert here.tool.said == ["Hello Ben."]


async def test_a_word_counts_after_a_restart_and_what_waits_is_shown_by_the_command(open_world: AnyWorld) -> None:
    async with consent(open_world) as here:
        async with here.running():
            await here.asked()
        async with here.running():
            before = len(here.world.private())
            await here.world.command("tools")
            await here.world.until(lambda: ALLOW in here.world.private()[before].buttons)
            await here.world.press(here.world.private()[-1], ALLOW)
            await here.ended()
            assert here.texts() == [DONE]
    assert here.tool.said == ["Hello Ben."]


async def test_other_questions_in_the_thread_are_answered_meanwhile(open_world: AnyWorld) -> None:
    async with consent(open_world) as here, here.running():
        question, first = await here.asked()
        _, second = await here.asked("and again", question)
        await here.world.press(await here.panel(second), REFUSE)
        await here.world.until(lambda: here.waiting() == [first])
        assert here.texts()[1] == NOT_DONE


async def test_a_day_later_the_answer_goes_on_without_it_and_the_button_says_so(open_world: AnyWorld) -> None:
    async with consent(open_world) as here, here.running():
        _, page = await here.asked()
        panel = await here.panel(page)
        here.world.clock.ahead_s += CONSENT_TIME.total_seconds()
        await here.ended()
        assert here.texts() == [NOT_DONE]
        await here.is_over(panel)
    assert here.tool.said == []


async def test_the_word_stop_ends_it_with_what_was_said(open_world: AnyWorld) -> None:
    async with consent(open_world) as here, here.running():
        question, page = await here.asked()
        panel = await here.panel(page)
        await here.world.ask("stop", question)
        await here.ended()
        await here.world.until(lambda: here.texts() == ["I will tell Ben.\n\n*Stopped.*"])
        await here.is_over(panel)
    assert here.tool.said == []


async def test_with_its_question_what_waits_disappears(open_world: AnyWorld) -> None:
    async with consent(open_world) as here, here.running():
        question, page = await here.asked()
        panel = await here.panel(page)
        await here.world.delete(question)
        await here.world.until(lambda: not here.world.answers())
        await here.ended()
        await here.is_over(panel)
    assert here.tool.said == []


async def test_an_edited_question_is_asked_anew(open_world: AnyWorld) -> None:
    async with consent(open_world) as here, here.running():
        question, page = await here.asked()
        panel = await here.panel(page)
        await here.world.edit(question, "tell Ben at once")
        await here.world.until(lambda: len(here.model.requests) == 2 and here.is_put_aside())
        assert "tell Ben at once" in here.model.requests[-1][-1].text
        assert here.waiting() == [page]
        assert "tell Ben at once" in (await here.panel(page)).text
        await here.world.press(panel, ALLOW)
        await here.ended()
    assert here.tool.said == ["Hello Ben."]  # the very same call: what was shown is what is done


async def test_of_a_question_that_is_edited_after_something_was_done_the_answer_goes_on_with_its_new_words(
    open_world: AnyWorld,
) -> None:
    looked = Echo("look", effect=ToolEffect.READS)
    async with consent(open_world, model=says_after_looking, tools=[looked]) as here, here.running():
        question, page = await here.asked()
        panel = await here.panel(page)
        await here.world.edit(question, "tell Cy")
        await here.ended()
        (answer,) = here.world.answers()
        assert (answer, answer.text) == (page, f"I look, and tell Ben.\n\n{QUESTION_EDITED}\n\nOnly Cy, then.")
        await here.is_over(panel)
    assert (here.tool.said, looked.said) == ([], ["x"])


async def test_what_is_forgotten_is_taken_back_while_it_waits(open_world: AnyWorld) -> None:
    async with consent(open_world) as here, here.running():
        _, page = await here.asked()
        panel = await here.panel(page)
        await here.world.command("forget", "everything")
        await here.world.until(lambda: "Forget" in here.world.private()[-1].buttons)
        await here.world.press(here.world.private()[-1], "Forget")
        await here.world.until(lambda: not here.world.answers())
        await here.world.until(lambda: not here.host.store.turns)
        await here.is_over(panel)
    assert here.tool.said == []
