"""*Why this answer?*, on each platform: real adapter, turns and store; the model is scripted."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from agent.memory.forgetting_plans import OneThread
from agent.messages import Message
from agent.ports.tools import ToolEffect
from agent.providers.scripted import ScriptedProvider
from bot.chat.texts import replies as reply_texts
from bot.explanations import texts
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.one_turn import Echo
from tests.flows.worlds import WORLDS, AnyWorld, Page, Who, World

pytestmark = pytest.mark.parametrize("open_world", WORLDS)

FACT = "My boat is called Heron"
KEEP = f'<execute>[{{"name": "remember", "args": {{"text": "{FACT}"}}}}]</execute>'
LOOK = '<execute>[{"name": "look", "args": {"text": "x"}}]</execute>'


def remembers(messages: Sequence[Message]) -> str:
    """Answer as a model that keeps the fact it is told, and looks something up for any other question."""
    if "<results>" in messages[-1].text:
        return "Done."
    return KEEP if FACT in messages[-1].text else LOOK


class Asked:
    """A fact that the asker has told, and another question of theirs, whose answer used it."""

    def __init__(self, world: World, host: AnsweringHost) -> None:
        self.world, self.host = world, host

    async def answered(self, text: str) -> Page:
        before = len(self.world.answers())
        await self.world.ask(text)
        await self.world.until(
            lambda: len(self.world.answers()) > before and all(turn.state == "done" for turn in self.host.store.turns)
        )
        page = self.world.answers()[-1]
        await self.world.until(lambda: reply_texts.WHY_BUTTON in page.buttons)
        return page

    async def why(self, page: Page, who: Who = Who.ASKER) -> str:
        """What this person, alone, reads when they press the button."""
        before = len(self.world.private())
        await self.world.press(page, reply_texts.WHY_BUTTON, who)
        await self.world.until(lambda: self.world.private()[before].text)
        return self.world.private()[-1].text


@asynccontextmanager
async def asked(open_world: AnyWorld) -> AsyncGenerator[tuple[Asked, Page]]:
    async with open_world() as world:
        tools = [Echo("look", effect=ToolEffect.READS)]
        host = answering_host(ScriptedProvider(remembers), world.clock, tools=tools, explains=True)
        async with world.serving(host), host.answering():
            here = Asked(world, host)
            await here.answered(FACT)
            yield here, await here.answered("What is my boat called?")


async def test_its_asker_alone_sees_what_was_stored_of_it(open_world: AnyWorld) -> None:
    async with asked(open_world) as (here, page):
        told = await here.why(page)
        assert texts.HEAD in told
        assert FACT in told
        assert "`look`: worked" in told
        assert "`scripted` (2 calls" in told
        assert texts.WHY_NOT_YOURS in await here.why(page, Who.OTHER)
        before = len(here.world.private())
        await here.world.command("why")
        await here.world.until(lambda: FACT in here.world.private()[before].text)
        before = len(here.world.private())
        await here.world.command("why", who=Who.OTHER)
        await here.world.until(lambda: texts.NO_ANSWER in here.world.private()[before].text)


async def test_of_what_was_said_in_a_forgotten_thread_no_word_is_left(open_world: AnyWorld) -> None:
    async with asked(open_world) as (here, page):
        store = here.host.store
        question = next(message for _, message in store.messages if message.text == FACT)
        thread = OneThread(question.person, frozenset({question.conversation}))
        receipt = await store.forgetting.forget(thread, here.world.clock.now())
        assert receipt.found_again == 0
        told = await here.why(page)
    assert FACT not in told
    assert "this answer used have since been forgotten or deleted" in told
