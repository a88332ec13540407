"""What is remembered on Discord, and where it may be used: in the same direct messages, and nowhere wider."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from agent.messages import Message
from agent.providers.scripted import ScriptedProvider
from bot.app.host import BotHost
from tests.fakes.discord_bot import by_the_bot, serving
from tests.fakes.discord_gateway import PATIENCE_S, FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, DM_OF, GENERAL, STAFF
from tests.fakes.fast_clock import START, FastClock
from tests.flows.bot import live_host

ME = f"<@{BOT}>"
REMEMBER = '<execute>[{"name": "remember", "args": {"text": "The canoe is vermilion."}}]\n</execute>'
RECALL = '<execute>[{"name": "recall", "args": {"query": "canoe"}}]\n</execute>'


def answer(messages: Sequence[Message]) -> str:
    """A model that notes what it is told to note, and looks everything else up."""
    if "<results>" in messages[-1].text:
        return "Done."
    return REMEMBER if "remember my canoe" in messages[-1].text else RECALL


@dataclass
class Talk:
    fake: FakeDiscord
    host: BotHost
    model: ScriptedProvider

    async def ask(self, person: str, channel: str, text: str) -> None:
        """Ask, and wait for the answer."""
        before = len(by_the_bot(self.fake))
        await self.fake.say(person, f"{ME} {text}", channel)
        await self.fake.until(lambda: len(by_the_bot(self.fake)) > before)
        async with asyncio.timeout(PATIENCE_S):
            await self.host.turns.idle()

    async def knows_the_canoe(self, person: str, channel: str) -> bool:
        """Whether the model is given anything vermilion when this person asks here."""
        before = len(self.model.requests)
        await self.ask(person, channel, "which colour has the thing?")
        asked = self.model.requests[before:]
        assert any("<results>" in request[-1].text for request in asked)
        return any("vermilion" in message.text for request in asked for message in request)


@asynccontextmanager
async def talking(folder: Path, start: datetime = START) -> AsyncGenerator[Talk, None]:
    clock = FastClock(start, speed=1.0)
    model = ScriptedProvider(answer)
    async with running_discord(clock) as fake, live_host(folder, model, clock) as host, serving(fake, host):
        yield Talk(fake, host, model)


async def test_what_somebody_told_the_bot_in_a_dm_is_known_in_that_dm_only(tmp_path: Path) -> None:
    places = [(ANN, DM_OF[ANN]), (BO, DM_OF[BO]), (ANN, GENERAL), (ANN, STAFF), (BO, GENERAL)]
    async with talking(tmp_path) as talk:
        await talk.ask(ANN, DM_OF[ANN], "remember my canoe, it is vermilion")
        known = [place for place in places if await talk.knows_the_canoe(*place)]
    assert known == [(ANN, DM_OF[ANN])]


async def test_what_was_said_in_a_dm_without_being_noted_stays_there_too(tmp_path: Path) -> None:
    places = [(ANN, DM_OF[ANN]), (BO, DM_OF[BO]), (ANN, GENERAL), (ANN, STAFF), (BO, GENERAL)]
    async with talking(tmp_path) as talk:
        await talk.ask(ANN, DM_OF[ANN], "my canoe is vermilion")
        known = [place for place in places if await talk.knows_the_canoe(*place)]
    assert known == [(ANN, DM_OF[ANN])]


async def test_what_is_noted_in_a_dm_is_known_in_it_after_a_restart(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask(ANN, DM_OF[ANN], "remember my canoe, it is vermilion")
    async with talking(tmp_path, START + timedelta(days=1)) as talk:
        assert await talk.knows_the_canoe(ANN, DM_OF[ANN])
        assert not await talk.knows_the_canoe(BO, DM_OF[BO])


async def test_in_somebody_elses_thread_nothing_of_a_dm_is_known(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask(ANN, DM_OF[ANN], "remember my canoe, it is vermilion")
        question = await talk.fake.say(BO, f"{ME} hello")
        await talk.fake.until(lambda: talk.fake.world.shown(question["id"]))
        assert not await talk.knows_the_canoe(ANN, question["id"])
        assert not await talk.knows_the_canoe(BO, question["id"])
