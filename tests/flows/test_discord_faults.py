"""Discord fails between the real discord.py and the fake server: nothing is lost, refused for no answer, or silent."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.admission_terms import Authority
from agent.errors import CogencyError, SettingsError
from agent.providers.scripted import Answer, ScriptedProvider, ScriptPause
from bot.chat.platform_errors import PlatformUnavailable
from bot.chat.turns.worker import TurnWorkerLimits
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.run import serve
from bot.platforms.discord.settings import DiscordSettings
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.discord_bot import by_the_bot, serving, settings
from tests.fakes.discord_gateway import PATIENCE_S, FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, DM_OF, GENERAL, GUILD
from tests.fakes.fast_clock import FastClock
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.fakes.turns_host import AT_ONCE

ASK = f"<@{BOT}> "
# Longer than the library waits by itself.
LIMITED: dict[str, Any] = {
    "headers": {"Via": "1.1 google", "Retry-After": "40"},
    "body": {"message": "You are being rate limited.", "retry_after": 40.0, "global": True},
}


@asynccontextmanager
async def recording(speed: float = 1.0, **more: Any) -> AsyncGenerator[tuple[FakeDiscord, RecordingHost]]:
    host = recording_host()
    async with running_discord(FastClock(speed=speed)) as fake, serving(fake, host, **more):
        yield fake, host


@asynccontextmanager
async def answering(
    *answers: Answer, speed: float = 20.0, limits: TurnWorkerLimits = AT_ONCE
) -> AsyncGenerator[tuple[FakeDiscord, AnsweringHost]]:
    clock = FastClock(speed=speed)
    host = answering_host(ScriptedProvider([*answers], sleep=clock.sleep), clock, limits=limits)
    async with running_discord(clock) as fake, serving(fake, host), host.answering():
        yield fake, host


async def taken(host: RecordingHost, number: int = 1) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while len(host.taken) < number:
            host.arrived.clear()
            await host.arrived.wait()


# At the start


@pytest.mark.parametrize(
    ("status", "more", "wait_s"),
    [
        (503, {}, 0.0),
        (429, LIMITED, 40.0),
        (429, {"headers": {"Retry-After": "55"}}, 55.0),
        (403, {}, 0.0),
    ],
    ids=["503", "429", "429 of a proxy", "403"],
)
@pytest.mark.parametrize("path", ["/users/@me$", "/oauth2/applications/@me$"])
async def test_a_login_that_fails_may_be_tried_again_and_says_when(
    path: str, status: int, more: dict[str, Any], wait_s: float
) -> None:
    clock = FastClock(speed=1.0)
    host = recording_host()
    async with running_discord(clock) as fake:
        fake.rest.fail("GET", path, status, **more)
        with pytest.raises(PlatformUnavailable) as raised:
            await serve(host, settings(fake), clock)
        assert raised.value.retry_after_s == wait_s
        async with serving(fake, host):
            await fake.say(ANN, f"{ASK}hello")
            await taken(host)


async def test_a_connection_that_discord_never_takes_is_not_tried_again() -> None:
    clock = FastClock(speed=1.0)
    async with running_discord(clock) as fake:
        fake.close_identify = 4013
        with pytest.raises(CogencyError, match="4013") as raised:
            await serve(recording_host(), settings(fake), clock)
    assert not isinstance(raised.value, PlatformUnavailable | SettingsError)


async def test_commands_that_are_not_taken_at_the_start_do_not_end_the_bot() -> None:
    host = recording_host()
    async with running_discord(FastClock(speed=1.0)) as fake:
        fake.rest.fail("GET", "/commands$", 429, **LIMITED)
        task = asyncio.create_task(serve(host, settings(fake), fake.world.clock))
        try:
            await fake.until(lambda: fake.identified)
            await fake.say(ANN, f"{ASK}hello")
            await taken(host)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


# Who somebody is, and where


@pytest.mark.parametrize(("status", "more"), [(503, {}), (429, LIMITED), (403, {})])
async def test_a_direct_message_waits_while_discord_does_not_say_who_wrote_it(
    status: int, more: dict[str, Any]
) -> None:
    async with recording(speed=20.0, chosen=DiscordSettings(employees=frozenset({"55"}))) as (fake, host):
        fake.rest.fail("GET", f"/guilds/{GUILD}/members/", status, times=3, **more)
        await fake.write(ANN, "hello")
        await taken(host)
        assert host.taken[0].authority is Authority.ADMIN
        assert fake.world.shown(DM_OF[ANN]) == [platforms_texts.DISCORD_KEPT_WAITING]


async def test_a_command_waits_too_and_is_acknowledged_meanwhile() -> None:
    async with recording() as (fake, host):
        fake.rest.fail("GET", f"/guilds/{GUILD}/members/", 503, times=2)
        asked = await fake.command(ANN, "ask", DM_OF[ANN], question="hello")
        await taken(host)
        assert asked.acknowledged
        assert host.taken[0].authority is Authority.ADMIN


async def test_who_is_not_in_a_server_is_a_stranger_at_once() -> None:
    async with recording() as (fake, host):
        fake.world.absent.add(BO)
        await fake.write(BO, "hello")
        await taken(host)
        assert host.taken[0].authority is Authority.STRANGER


async def test_a_thread_that_discord_does_not_show_yet_is_waited_for() -> None:
    async with recording(speed=20.0) as (fake, host):
        thread = fake.world.start_thread(GENERAL, "555", "old")
        thread["thread_metadata"]["archived"] = True
        fake.rest.fail("GET", "/channels/555$", 503, times=2)
        await fake.say(ANN, f"{ASK}hello", "555")
        await taken(host)
        assert host.taken[0].channel == GENERAL


# Acknowledged in time


async def test_a_command_is_acknowledged_in_time_however_slow_discord_is_to_say_who_asks() -> None:
    async with recording() as (fake, host):
        fake.rest.fail("GET", f"/guilds/{GUILD}/members/", 0, delay_s=5.0)
        asked = await fake.command(ANN, "ask", DM_OF[ANN], question="hello")
        await fake.until(lambda: asked.acknowledged)  # the fake takes it for three seconds
        assert not host.taken
        await taken(host)


@pytest.mark.parametrize("private", [True, False])
async def test_a_question_whose_acknowledgement_fails_is_answered_elsewhere(
    caplog: pytest.LogCaptureFixture, private: bool
) -> None:
    with caplog.at_level(logging.WARNING, "bot"):
        async with answering("Blue.", speed=1.0) as (fake, host):
            fake.rest.fail("POST", "/callback$", 404, code=10062)
            await fake.command(ANN, "ask", question="which colour?", private=private)
            where = DM_OF[ANN] if private else GENERAL
            await fake.until(lambda: fake.world.shown(where) == ["Blue."])
            assert len(host.taken) == 1
            assert fake.world.shown(GENERAL if private else DM_OF[ANN]) == []
    assert "a command could not be acknowledged" in caplog.text


async def test_ten_commands_at_once_are_all_answered_while_posts_are_limited() -> None:
    async with answering(*["Blue."] * 10, speed=5.0) as (fake, host):
        fake.rest.fail("PATCH", "@original$", 429, times=2, **LIMITED)
        fake.rest.fail("PATCH", "@original$", 503, times=2)
        for number in range(10):
            await fake.command(ANN, "ask", question=f"which colour has boat {number}?")
        await fake.until(lambda: len(host.taken) == 10)
        async with asyncio.timeout(60.0):
            await host.turns.idle()
        assert [message["content"] for message in by_the_bot(fake)] == ["Blue."] * 10


# Refusals


@pytest.mark.parametrize("code", [50001, 50013, 160005])
async def test_a_refused_post_is_logged_with_its_remedy_and_answered_in_a_dm(
    caplog: pytest.LogCaptureFixture, code: int
) -> None:
    with caplog.at_level(logging.WARNING, "bot"):
        async with answering("Blue.", "Green.") as (fake, host):
            asked = await fake.say(ANN, f"{ASK}which colour?")
            fake.rest.fail("POST", rf"/channels/({GENERAL}|{asked['id']})/messages$", 403, code=code, times=9)
            await fake.until(lambda: fake.world.shown(DM_OF[ANN]))
            async with asyncio.timeout(PATIENCE_S):
                await host.turns.idle()
            told, answer = fake.world.shown(DM_OF[ANN])
            page = by_the_bot(fake)[-1]
            await fake.press(ANN, page, "Delete")
            await fake.until(lambda: page["id"] not in fake.world.messages)
    assert told.startswith("I cannot post my answer where you asked, so I am sending it to you in a direct message.")
    assert platforms_texts.DISCORD_REMEDIES.get(code, "") in told
    assert answer == "Blue."
    (line,) = [
        record.getMessage() for record in caplog.records if "only to the person who asked" in record.getMessage()
    ]
    assert str(code) in line
    assert platforms_texts.DISCORD_REMEDIES.get(code, "") in line


@pytest.mark.parametrize("kind", ["POST", "PATCH"])
async def test_a_text_that_discord_never_accepts_ends_the_answer_and_frees_the_thread(kind: str) -> None:
    soon = replace(AT_ONCE, lease=timedelta(minutes=1))  # it is put off once, until its lease has run out
    async with answering(["Blue", ScriptPause(2.0), "."], "Green.", limits=soon) as (fake, host):
        fake.rest.fail(kind, rf"/channels/{DM_OF[ANN]}/messages", 400, code=50035, times=200)
        await fake.write(ANN, "which colour?")
        await fake.until(lambda: len(host.taken) == 1)
        async with asyncio.timeout(PATIENCE_S):
            await host.turns.idle()
        assert 0 < sum(call.status == 400 for call in fake.calls) < 20
        fake.rest.faults.clear()
        await fake.write(ANN, "and now?")
        await fake.until(lambda: fake.world.shown(DM_OF[ANN])[-1:] == ["Green."])


@pytest.mark.parametrize("kind", ["POST", "PATCH"])
async def test_buttons_that_discord_does_not_accept_are_left_out(kind: str) -> None:
    async with answering(["Blue", ScriptPause(2.0), "."]) as (fake, host):
        fake.rest.fail(kind, rf"/channels/{DM_OF[ANN]}/messages", 400, code=50035)
        await fake.write(ANN, "which colour?")
        await fake.until(lambda: fake.world.shown(DM_OF[ANN]) == ["Blue."])
        async with asyncio.timeout(PATIENCE_S):
            await host.turns.idle()


async def test_a_frame_that_discord_does_not_accept_is_followed_by_the_next_one() -> None:
    async with answering(["Blue", ScriptPause(6.0), " and", ScriptPause(6.0), " green."]) as (fake, _):
        fake.rest.fail("PATCH", rf"/channels/{DM_OF[ANN]}/messages", 400, code=50035, times=2)
        await fake.write(ANN, "which colour?")
        await fake.until(lambda: fake.world.shown(DM_OF[ANN]) == ["Blue and green."])


@pytest.mark.parametrize("status", [500, 503, 429])
async def test_the_same_trouble_is_logged_once_a_minute(status: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "bot"):
        async with answering("Blue.") as (fake, _):
            more = {} if status != 429 else LIMITED
            fake.rest.fail("POST", r"/channels/\d+/messages$", 503 if status == 500 else status, times=4, **more)
            await fake.write(ANN, "which colour?")
            await fake.until(lambda: fake.world.shown(DM_OF[ANN]) == ["Blue."])
    lines = [record for record in caplog.records if "could not be posted" in record.getMessage()]
    assert 1 <= len(lines) <= 4


async def test_a_first_post_whose_answer_is_lost_is_found_again_by_its_nonce() -> None:
    async with answering("Blue.") as (fake, host):
        fake.rest.fail("POST", r"/channels/\d+/messages$", 503, times=2, lost=True)
        await fake.write(ANN, "which colour?")
        await fake.until(lambda: fake.world.shown(DM_OF[ANN]) == ["Blue."])
        async with asyncio.timeout(PATIENCE_S):
            await host.turns.idle()
        assert len(by_the_bot(fake)) == 1
