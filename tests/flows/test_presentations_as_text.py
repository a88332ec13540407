"""What answers present where a platform has no form for it, and where a hook or a stop changes the answer."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.ports.clock import Clock
from agent.presentations import Presentation, presentation_markdown, presentation_of
from agent.providers.scripted import ScriptedProvider
from agent.toolbox.registry import FixedTools
from agent.tools.present import PresentTool
from bot.chat.reply.surface import PageKey, PageLimited, PageRef
from tests.fakes.fast_clock import FastClock
from tests.fakes.incoming import said
from tests.fakes.surface import DISCORD_LIKE, FakeSurface
from tests.flows.bot import database_in, flow_runner, opened, turns_on
from tests.patience import PATIENCE_S

ARGS: dict[str, Any] = {"title": "Boats", "sections": [{"text": "Fast."}], "questions": ["Which is cheapest?"]}
CALL = f"<execute>{json.dumps([{'name': 'present', 'args': ARGS}])}</execute>"


class LimitedSurface(FakeSurface):
    """One with a form of its own, which it takes only at the second attempt."""

    def __init__(self, clock: Clock, meanwhile: Callable[[], Awaitable[object]]) -> None:
        super().__init__(clock, replace(DISCORD_LIKE, presents=True))
        self.meanwhile, self.asked = meanwhile, 0

    async def present(self, key: PageKey, presentation: Presentation, text: str, *, again: bool) -> tuple[PageRef, ...]:  # noqa: ARG002 -- nothing is sought
        self.asked += 1
        if self.asked == 1:
            raise PageLimited(5.0)
        await self.meanwhile()
        self.wall["below"] = text
        return (PageRef("below"),)


async def test_an_answer_whose_question_is_deleted_while_it_is_presented_is_neither_left_nor_stored(
    tmp_path: Path,
) -> None:
    clock, model = FastClock(), ScriptedProvider([CALL, "Here they are."])
    asked = said("show an overview")
    surface = LimitedSurface(clock, lambda: turns.withdraw(asked.source, asked.channel, asked.message_id))
    async with asyncio.timeout(PATIENCE_S), opened(await database_in(tmp_path)) as store:
        turns = turns_on(store, flow_runner(store, model, clock, FixedTools((PresentTool(),))), lambda _: surface)
        async with turns.serving():
            await turns.submit(asked)
            await turns.idle()
            assert surface.asked == 2
            assert surface.wall == {}
            history = await store.conversations.history(asked.conversation, before_turn=99, limit=9)
            assert [message.text for message in history if message.text] == []


async def test_without_a_form_of_its_own_it_is_the_end_of_the_answer_also_in_the_next_question(tmp_path: Path) -> None:
    clock, model = FastClock(), ScriptedProvider([CALL, "Here they are.", "The blue one."])
    surface = FakeSurface(clock)
    async with asyncio.timeout(PATIENCE_S), opened(await database_in(tmp_path)) as store:
        turns = turns_on(store, flow_runner(store, model, clock, FixedTools((PresentTool(),))), lambda _: surface)
        async with turns.serving():
            await turns.submit(said("show an overview"))
            await turns.idle()
            words = presentation_markdown(presentation_of(ARGS))
            assert [*surface.wall.values()] == [f"Here they are.\n\n{words}"]
            await turns.submit(said("which is cheapest?"))
            await turns.idle()
            assert any(words in message.text for message in model.requests[-1])
