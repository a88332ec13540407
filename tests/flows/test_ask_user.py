"""Questions of the model to its asker, on each platform: real adapter, turns and store; the model is scripted."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from agent.appended_messages import ANSWER_ARRIVED
from agent.consents import CONSENT_TIME
from agent.messages import Message
from agent.providers.scripted import Answering, ScriptedProvider
from agent.texts import NOT_ANSWERED_IN_TIME
from agent.tools.ask_user import AskUserTool
from bot.chat.texts import replies as reply_texts
from bot.tools import texts as tool_texts
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.flows.worlds import WORLDS, AnyWorld, Page, Who, World, mainly_in_slack, mainly_on_discord

pytestmark = pytest.mark.parametrize("open_world", WORLDS)

CALL = (
    'I can deploy it.\n<execute>[{"name": "ask_user", "args": {"question": "Where to?", '
    '"options": ["Staging", "Production"]}}]</execute>'
)
QUESTION = "I can deploy it.\n\nWhere to?\n\n1. Staging\n2. Production"
WAITING = f"{QUESTION}\n\n{reply_texts.WAITS_FOR_PERSON}"
OTHER, SKIP = tool_texts.REPLY_BUTTON, tool_texts.SKIP_BUTTON


def deploys(messages: Sequence[Message]) -> str:
    """Answer as a model that asks where to deploy, and then reports what it was told."""
    last = messages[-1].text
    if ANSWER_ARRIVED in last:
        return f"Deployed: {last.partition(ANSWER_ARRIVED)[2].strip()}."
    if "chose not to answer" in last:
        return "Then I wait."
    if "did not answer in time" in last:
        return "Ask me again."
    return CALL


class Asking:
    """A place in which the model asks the person something."""

    def __init__(self, world: World, model: Answering) -> None:
        self.world, self.model = world, ScriptedProvider(model)
        self.host = self._new_host()

    def _new_host(self, before: AnsweringHost | None = None) -> AnsweringHost:
        store = None if before is None else before.store
        return answering_host(self.model, self.world.clock, store, tools=[AskUserTool()])

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """A process, on what the ones before have left."""
        self.host = self._new_host(self.host)
        async with self.world.serving(self.host), self.host.answering():
            yield

    def waiting(self) -> Sequence[Page]:
        return [page for page in self.world.answers() if reply_texts.WAITS_FOR_PERSON in page.text]

    async def asked(self, text: str = "deploy it") -> tuple[Page, Page]:
        """The question, and the reply once it waits for the answer."""
        before = len(self.waiting())
        question = await self.world.ask(text)
        await self.world.until(lambda: len(self.waiting()) > before and self.is_put_aside())
        return question, self.waiting()[-1]

    def is_put_aside(self) -> bool:
        return all(turn.state != "running" for turn in self.host.store.turns)

    async def shown(self, text: str, page: Page, who: Who = Who.ASKER) -> Page:
        """What this person, alone, reads when they press the button below the reply."""
        await self.world.until(lambda: reply_texts.ANSWER_BUTTON in page.buttons)
        before = len(self.world.private())
        await self.world.press(page, reply_texts.ANSWER_BUTTON, who)
        await self.world.until(lambda: any(text in one.text for one in self.world.private()[before:]))
        return self.world.private()[-1]

    async def panel(self, page: Page) -> Page:
        return await self.shown("Where to?", page)

    async def told(self, text: str) -> None:
        await self.world.until(lambda: any(text in page.text for page in self.world.private()))

    async def ended(self) -> None:
        await self.world.until(lambda: all(turn.state == "done" for turn in self.host.store.turns))

    def texts(self) -> list[str]:
        return [page.text for page in self.world.answers()]


@asynccontextmanager
async def asking(open_world: AnyWorld, model: Answering = deploys) -> AsyncGenerator[Asking]:
    async with open_world() as world:
        yield Asking(world, model)


async def test_only_its_asker_answers_and_another_reads_why_they_cannot(open_world: AnyWorld) -> None:
    async with asking(open_world) as here, here.running():
        _, page = await here.asked()
        assert page.text == WAITING
        await here.shown(tool_texts.NOTHING_ASKED, page, Who.OTHER)
        panel = await here.panel(page)
        assert tool_texts.MODEL_ASKS_HOW in panel.text
        assert panel.buttons == ["Staging", "Production", OTHER, SKIP]
        await here.world.press(panel, "Production", Who.OTHER)
        await here.told(reply_texts.NOT_YOURS)
        assert here.waiting()
        again = panel.copy()
        await here.world.press(panel, "Production")
        await here.ended()
        await here.told(tool_texts.REPLIED.format(answer="Production"))
        (answer,) = here.world.answers()
        assert (answer, answer.text) == (page, f"{QUESTION}\n\nDeployed: > Production.")
        await here.world.press(again, "Staging")
        await here.told(tool_texts.NOT_REPLIED["OVER"])
    assert here.texts() == [f"{QUESTION}\n\nDeployed: > Production."]


@mainly_in_slack
async def test_the_askers_next_message_in_the_thread_is_the_answer_and_others_messages_are_not(
    open_world: AnyWorld,
) -> None:
    async with asking(open_world) as here, here.running():
        question, page = await here.asked()
        await here.world.ask("to production!", question, Who.OTHER)
        await here.world.until(lambda: len(here.waiting()) == 2)  # it is a question of their own
        await here.world.ask("staging, and quickly", question)
        await here.world.until(lambda: "Deployed" in page.text)
        assert page.text == f"{QUESTION}\n\nDeployed: > staging, and quickly."
        await here.world.until(lambda: len(here.waiting()) == 1)
        messages = [one.text for _, one in here.host.store.messages if one.text.startswith("staging")]
    assert messages == ["staging, and quickly"]


async def test_it_waits_over_a_restart_and_is_answered_from_the_command(open_world: AnyWorld) -> None:
    async with asking(open_world) as here:
        async with here.running():
            await here.asked()
        async with here.running():
            before = len(here.world.private())
            await here.world.command("tools")
            await here.world.until(lambda: SKIP in here.world.private()[before].buttons)
            await here.world.press(here.world.private()[-1], SKIP)
            await here.ended()
        assert here.texts() == [f"{QUESTION}\n\nThen I wait."]


@mainly_on_discord
async def test_a_day_later_the_answer_goes_on_without_it_and_says_so(open_world: AnyWorld) -> None:
    async with asking(open_world) as here, here.running():
        _, page = await here.asked()
        panel = await here.panel(page)
        here.world.clock.ahead_s += CONSENT_TIME.total_seconds()
        await here.ended()
        assert here.texts() == [f"{QUESTION}\n\n{NOT_ANSWERED_IN_TIME}\n\nAsk me again."]
        await here.world.press(panel, "Staging")
        await here.told(tool_texts.NOT_REPLIED["OVER"])


async def test_an_edited_question_is_asked_anew_and_a_deleted_one_is_gone(open_world: AnyWorld) -> None:
    async with asking(open_world) as here, here.running():
        question, page = await here.asked()
        await here.world.edit(question, "deploy all of it")
        await here.world.until(lambda: len(here.model.requests) == 2 and here.is_put_aside())
        assert "deploy all of it" in here.model.requests[-1][-1].text
        assert here.waiting() == [page]
        panel = await here.panel(page)
        await here.world.delete(question)
        await here.world.until(lambda: not here.world.answers())
        await here.ended()
        await here.world.press(panel, "Staging")
        await here.told(tool_texts.NOT_REPLIED["OVER"])


async def test_an_answer_that_is_deleted_while_the_model_asks_again_takes_its_turn_back(open_world: AnyWorld) -> None:
    def asks_twice(messages: Sequence[Message]) -> str:
        again = CALL.replace("Where to?", "Which version?").replace("I can deploy it.", "")
        return again if ANSWER_ARRIVED in messages[-1].text else CALL

    async with asking(open_world, asks_twice) as here, here.running():
        question, page = await here.asked()
        answer = await here.world.ask("to the moon", question)
        await here.world.until(lambda: "Which version?" in page.text and here.is_put_aside())
        await here.world.delete(answer)
        await here.world.until(lambda: "Which version?" not in page.text and here.is_put_aside())
        assert page.text == WAITING
        stored = [str(turn.progress) for turn in here.host.store.turns]
        assert not any("to the moon" in progress for progress in stored)


async def test_with_everything_that_is_forgotten_the_answer_is_too(open_world: AnyWorld) -> None:
    async with asking(open_world) as here, here.running():
        _, page = await here.asked()
        await here.world.press(await here.panel(page), "Staging")
        await here.ended()
        assert any(one.text == "Staging" for _, one in here.host.store.messages)
        await here.world.forget("everything")
        await here.world.until(lambda: "Forget" in here.world.private()[-1].buttons)
        await here.world.agree(here.world.private()[-1], "Forget")
        await here.world.until(lambda: not here.host.store.turns)
        assert not here.host.store.messages
