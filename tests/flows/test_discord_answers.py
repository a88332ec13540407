"""Questions on Discord, answered: real discord.py over real sockets, real turns; Discord and the model are scripted."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from agent.providers.scripted import Answer, Answering, Part, ScriptedProvider, ScriptPause
from bot.platforms.discord.options import DiscordOptions
from bot.platforms.discord.settings import DiscordSettings, ReplyMode
from bot.settings.secret import Secret
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.answers import answer_of
from tests.fakes.discord_bot import WINDOW_S, by_the_bot, edits_of, most_in, on_discord, pings, serving
from tests.fakes.discord_gateway import PATIENCE_S, FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, DM_OF, GENERAL
from tests.fakes.fast_clock import FastClock
from tests.fakes.reader import read_back

PAGE = 2_000


@asynccontextmanager
async def talking(
    script: Sequence[Answer | Answering] | Answering, *, speed: float = 1.0, **settings: object
) -> AsyncGenerator[tuple[FakeDiscord, AnsweringHost], None]:
    clock = FastClock(speed=speed)
    host = answering_host(ScriptedProvider(script), clock)
    async with running_discord(clock, window_s=WINDOW_S) as fake, serving(fake, host, **settings), host.answering():
        yield fake, host


async def answered(fake: FakeDiscord, host: AnsweringHost, messages: int = 1) -> None:
    """Until so many messages were handed over, and every one of them is answered."""
    await fake.until(lambda: len(host.taken) == messages)
    async with asyncio.timeout(PATIENCE_S):
        await host.turns.idle()


def slowly(text: str, seconds: float, pieces: int = 40) -> list[Part]:
    """The text in so many pieces over so many seconds."""
    size = -(-len(text) // pieces)
    parts: list[Part] = []
    for start in range(0, len(text), size):
        parts += [text[start : start + size], ScriptPause(seconds / pieces)]
    return parts


async def test_a_mention_is_answered_in_a_thread_of_its_message() -> None:
    async with talking(["Blue."]) as (fake, _):
        asked = await fake.say(ANN, f"<@{BOT}> which colour has the boat?")
        await fake.until(lambda: fake.world.shown(asked["id"]))
        assert fake.world.shown(asked["id"]) == ["Blue."]
        thread = fake.world.channels[asked["id"]]
        assert (thread["parent_id"], thread["name"]) == (GENERAL, "which colour has the boat?")
        assert fake.world.shown(GENERAL) == []


async def test_by_setting_a_mention_is_answered_in_place_as_a_reply() -> None:
    async with talking(["Blue."], chosen=DiscordSettings(replies=ReplyMode.IN_PLACE)) as (fake, _):
        asked = await fake.say(ANN, f"<@{BOT}> which colour has the boat?")
        await fake.until(lambda: fake.world.shown(GENERAL))
        (shown,) = by_the_bot(fake)
        assert shown["message_reference"]["message_id"] == asked["id"]


async def test_a_short_answer_is_one_message_without_an_edit() -> None:
    async with talking([["Blue ", "boat."]]) as (fake, host):
        await fake.write(ANN, "what?")
        await answered(fake, host)
        assert edits_of(fake, DM_OF[ANN]) == []
        assert len(by_the_bot(fake)) == 1


@pytest.mark.parametrize(("length", "seconds"), [(3_000, 3.0), (15_000, 7.0)])
async def test_a_long_answer_grows_by_edits_and_ends_as_the_models_text(length: int, seconds: float) -> None:
    text = answer_of(length)
    async with talking([slowly(text, seconds)]) as (fake, host):
        fake.rest.fail("PATCH", "/messages/", 429, headers={"Via": "1.1 google"}, body={"retry_after": 0.3}, times=2)
        fake.rest.fail("POST", "/messages$", 503)
        await fake.write(ANN, "tell me everything")
        await answered(fake, host)
        assert len(edits_of(fake, DM_OF[ANN])) >= 3
        assert most_in(edits_of(fake, DM_OF[ANN]), WINDOW_S) <= 5
        assert read_back(fake.world.shown(DM_OF[ANN]), PAGE) == on_discord(text)
        assert pings(fake) == []


async def test_at_its_real_pace_an_answer_keeps_within_discords_own_limits() -> None:
    clock = FastClock(speed=1.0)
    text = answer_of(3_000)
    host = answering_host(ScriptedProvider([slowly(text, 9.0)]), clock)
    pace = DiscordOptions(Secret("any")).edit_interval_s
    async with running_discord(clock) as fake, serving(fake, host, edit_interval_s=pace), host.answering():
        await fake.write(ANN, "tell me")
        await answered(fake, host)
        times = edits_of(fake, DM_OF[ANN])
        assert len(times) >= 5
        assert most_in(times, 5.0) <= 5
        assert all(call.status != 429 for call in fake.calls)
        assert read_back(fake.world.shown(DM_OF[ANN]), PAGE) == on_discord(text)


async def test_the_same_message_delivered_twice_gets_one_reply() -> None:
    async with talking(["Once.", "Twice."]) as (fake, host):
        asked = await fake.write(ANN, "once?")
        await fake.again(asked)
        await answered(fake, host, 2)
        assert fake.world.shown(DM_OF[ANN]) == ["Once."]


async def test_a_message_during_a_lost_socket_is_answered_after_the_resume_and_once() -> None:
    async with talking(["One.", "Two.", "Three."]) as (fake, host):
        first = await fake.write(ANN, "first")
        await fake.until(lambda: fake.world.shown(DM_OF[ANN]))
        fake.drop()
        await fake.write(ANN, "second")
        await fake.until(lambda: fake.resumed)
        await fake.again(first)
        await answered(fake, host, 3)
        assert fake.world.shown(DM_OF[ANN]) == ["One.", "Two."]
        assert (fake.identified, fake.resumed) == (1, 1)


async def test_a_session_that_cannot_be_resumed_is_begun_anew() -> None:
    async with talking(["One.", "Two."], speed=10.0) as (fake, host):
        first = await fake.write(ANN, "first")
        await fake.until(lambda: fake.world.shown(DM_OF[ANN]))
        fake.forget_sessions()
        fake.drop()
        await fake.until(lambda: fake.identified == 2)
        await fake.again(first)
        await fake.write(ANN, "second")
        await answered(fake, host, 3)
        assert fake.world.shown(DM_OF[ANN]) == ["One.", "Two."]


async def test_an_event_that_the_library_cannot_read_does_not_end_the_bot() -> None:
    async with talking(["One."], speed=50.0) as (fake, host):
        await fake.write(BO, "odd", message_reference={})
        await fake.until(lambda: fake.identified == 2)
        await fake.write(ANN, "first")
        await answered(fake, host)
        assert fake.world.shown(DM_OF[ANN]) == ["One."]


async def test_an_answer_goes_on_growing_while_the_socket_is_lost() -> None:
    text = answer_of(1_500)
    async with talking([slowly(text, 1.5)]) as (fake, host):
        await fake.write(ANN, "tell me")
        await fake.until(lambda: fake.world.shown(DM_OF[ANN]))
        fake.drop()
        await answered(fake, host)
        assert fake.world.shown(DM_OF[ANN]) == [on_discord(text)]


async def test_typing_shows_until_the_first_text() -> None:
    async with talking([[ScriptPause(0.3), "Blue."]]) as (fake, _):
        await fake.write(ANN, "which colour?")
        await fake.until(lambda: fake.world.shown(DM_OF[ANN]))
        sent = [call.path.rsplit("/", 1)[-1] for call in fake.calls if call.path.startswith(f"/channels/{DM_OF[ANN]}")]
        assert sent[:2] == ["typing", "messages"]
