"""What answers present where a platform has no form for it, and where a hook or a stop changes the answer."""

import asyncio
import json
from pathlib import Path
from typing import Any

from agent.presentations import presentation_markdown, presentation_of
from agent.providers.scripted import ScriptedProvider
from agent.toolbox.registry import FixedTools
from agent.tools.present import PresentTool
from tests.fakes.fast_clock import FastClock
from tests.fakes.incoming import said
from tests.fakes.surface import FakeSurface
from tests.flows.bot import database_in, flow_runner, opened, turns_on
from tests.patience import PATIENCE_S

ARGS: dict[str, Any] = {"title": "Boats", "sections": [{"text": "Fast."}], "questions": ["Which is cheapest?"]}
CALL = f"<execute>{json.dumps([{'name': 'present', 'args': ARGS}])}</execute>"


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
