"""A process of the bot dies while an answer grows on Discord, and another one takes over: the reply and its buttons."""

import asyncio

from agent.providers.scripted import Part, ScriptedProvider, ScriptPause
from bot.platforms import texts as platforms_texts
from tests.fakes.answering_host import answering_host
from tests.fakes.answers import answer_of
from tests.fakes.discord_bot import WINDOW_S, by_the_bot, on_discord, serving
from tests.fakes.discord_gateway import PATIENCE_S, running_discord
from tests.fakes.discord_world import ANN, BOT, Payload, labels, seen
from tests.fakes.fast_clock import FastClock
from tests.fakes.reader import read_back
from tests.flows.test_discord_control import AT_THE_END

PAGE = 2_000


def slowly(text: str, seconds: float) -> list[Part]:
    return [
        part for start in range(0, len(text), 100) for part in (text[start : start + 100], ScriptPause(seconds / 30))
    ]


def of_thread(said: list[Payload], thread: str) -> list[Payload]:
    return [message for message in said if message["channel_id"] == thread]


async def test_the_message_is_finished_and_its_buttons_work() -> None:
    clock = FastClock(speed=1.0)
    text = answer_of(3_000)
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        first = answering_host(ScriptedProvider([slowly(text, 30.0)]), clock)
        async with serving(fake, first), first.answering():
            asked = await fake.say(ANN, f"<@{BOT}> tell me")
            await fake.until(lambda: fake.world.shown(asked["id"]))
        (growing,) = of_thread(by_the_bot(fake), asked["id"])
        assert labels(growing) == ["Stop"]
        second = answering_host(ScriptedProvider([text, "Again."]), clock, first.store)
        async with second.answering(), serving(fake, second):
            async with asyncio.timeout(PATIENCE_S):
                await second.turns.idle()
            pages = of_thread(by_the_bot(fake), asked["id"])
            assert pages[0]["id"] == growing["id"]
            assert read_back(fake.world.shown(asked["id"]), PAGE) == on_discord(text)
            assert [labels(page) for page in pages] == [[], AT_THE_END]
            await fake.press(ANN, pages[-1], "👍")
            await fake.until(lambda: any(seen(message) == platforms_texts.NOTED for message in by_the_bot(fake)))
            await fake.press(ANN, pages[-1], "Regenerate")
            await fake.until(lambda: "Again." in fake.world.shown(asked["id"]))


async def test_an_answer_that_goes_on_elsewhere_is_stopped_by_the_button_of_the_process_that_died() -> None:
    clock = FastClock(speed=1.0)
    text = answer_of(3_000)
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        first = answering_host(ScriptedProvider([slowly(text, 30.0)]), clock)
        async with serving(fake, first), first.answering():
            asked = await fake.say(ANN, f"<@{BOT}> tell me")
            await fake.until(lambda: fake.world.shown(asked["id"]))
        (growing,) = of_thread(by_the_bot(fake), asked["id"])
        second = answering_host(ScriptedProvider([slowly(text, 30.0)]), clock, first.store)
        async with second.answering(), serving(fake, second):
            await fake.press(ANN, growing, "Stop")
            async with asyncio.timeout(PATIENCE_S):
                await second.turns.idle()
            assert fake.world.shown(asked["id"])[-1].endswith("*Stopped.*")
