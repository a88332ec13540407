"""What people write on Discord while the bot is away is taken in once it is back: real discord.py over real sockets."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from agent.errors import StoreUnavailable
from agent.providers.scripted import ScriptedProvider
from bot.chat.access.acl import AccessRules, parse_entries
from bot.chat.watermark import Bounds
from bot.operators.health import SILENT_S
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.places import SOURCE
from bot.platforms.discord.settings import DiscordSettings
from tests.fakes.askers import asker
from tests.fakes.discord_bot import by_the_bot, serving
from tests.fakes.discord_gateway import PATIENCE_S, FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, DM_OF, GENERAL, GUILD, OTHER_BOT, QUAY, STAFF
from tests.fakes.fast_clock import FastClock
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.flows.bot import live_host
from tests.patience import until

ASK = f"<@{BOT}> "


@asynccontextmanager
async def away(host: RecordingHost) -> AsyncGenerator[FakeDiscord, None]:
    """A Discord on which the bot listened until a moment ago; Ann has talked with it in a thread and directly."""
    async with running_discord(FastClock(speed=1.0)) as fake:
        async with serving(fake, host):
            asked = await fake.say(ANN, f"{ASK}which colour has the boat?")
            await fake.write(ANN, "good morning")
            await taken(host, 2)
            fake.world.start_thread(GENERAL, asked["id"], "the boat")
            await all_heard(host)
        host.conversations.noted.clear()
        yield fake


async def taken(host: RecordingHost, count: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while len(host.taken) < count:
            host.arrived.clear()
            await host.arrived.wait()


async def all_heard(host: RecordingHost) -> None:
    """Until the time is kept anew: everything that was missed has been looked at."""
    async with asyncio.timeout(PATIENCE_S):
        await host.conversations.noted.wait()


def texts(host: RecordingHost) -> list[str]:
    return [each.text for each in host.taken[2:]]


async def test_after_a_start_what_was_missed_is_taken_in_as_if_it_came_now(caplog: pytest.LogCaptureFixture) -> None:
    host = recording_host()
    async with away(host) as fake:
        thread = next(number for number, each in fake.world.channels.items() if each["type"] == 11)
        fake.world.message(GENERAL, BO, f"{ASK}when does it sail?")
        fake.world.message(thread, ANN, "and its sails?")
        fake.world.message(DM_OF[ANN], ANN, "are you there?")
        with caplog.at_level(logging.INFO, "bot"):
            async with serving(fake, host):
                await all_heard(host)
        assert sorted(texts(host)) == ["and its sails?", "are you there?", "when does it sail?"]
        asked = next(each for each in host.taken if each.text == "and its sails?")
        assert (asked.conversation, asked.channel) == (f"discord:{thread}", GENERAL)
        direct = next(each for each in host.taken if each.text == "are you there?")
        assert direct.conversation == f"discord:{DM_OF[ANN]}"
        assert any("caught up on 3 messages since 2026-01-05" in each.getMessage() for each in caplog.records)


async def test_after_a_session_that_was_lost_for_good_what_was_missed_is_read_from_history() -> None:
    host = recording_host()
    async with running_discord(FastClock(speed=10.0)) as fake, serving(fake, host):
        await fake.say(ANN, f"{ASK}hello")
        await taken(host, 1)
        await all_heard(host)
        fake.forget_sessions()
        fake.drop()
        fake.world.message(GENERAL, ANN, f"{ASK}are you there?")
        await taken(host, 2)
        assert (fake.identified, fake.resumed) == (2, 0)
        assert host.taken[1].text == "are you there?"


async def test_a_resumed_session_needs_no_history() -> None:
    host = recording_host()
    async with running_discord(FastClock(speed=1.0)) as fake, serving(fake, host):
        await all_heard(host)
        fake.drop()
        await fake.say(ANN, f"{ASK}are you there?")
        await taken(host, 1)
        assert (fake.identified, fake.resumed) == (1, 1)
        assert not [call for call in fake.calls if call.method == "GET" and call.path.endswith("/messages")]


async def test_what_was_said_before_the_bot_first_came_is_left_alone() -> None:
    host = recording_host()
    async with running_discord(FastClock(speed=1.0)) as fake:
        fake.world.message(GENERAL, ANN, f"{ASK}are you there?")
        async with serving(fake, host):
            await all_heard(host)
        assert host.taken == []


async def test_what_is_not_for_the_bot_or_was_taken_in_is_not_taken_in_late() -> None:
    host = recording_host()
    async with away(host) as fake:
        fake.world.message(GENERAL, ANN, "good morning")
        fake.world.message(GENERAL, OTHER_BOT, f"{ASK}hello")
        fake.world.message(GENERAL, ANN, f"{ASK}stop")
        async with serving(fake, host):
            await all_heard(host)
        assert (texts(host), host.overheard, host.stopped) == ([], [], [])
        assert by_the_bot(fake) == []


async def test_what_was_missed_comes_before_what_comes_anew_in_the_same_channel() -> None:
    host = recording_host()
    async with away(host) as fake:
        for number in range(3):
            fake.world.message(GENERAL, BO, f"{ASK}{number}?")
        async with serving(fake, host):
            await fake.say(BO, f"{ASK}3?")
            await taken(host, 6)
        assert texts(host) == ["0?", "1?", "2?", "3?"]


async def test_a_direct_conversation_that_began_meanwhile_is_looked_at_before_what_comes_anew_in_it() -> None:
    host = recording_host()
    async with away(host) as fake:
        fake.world.message(DM_OF[BO], BO, "are you there?")
        async with serving(fake, host):
            await all_heard(host)
            assert texts(host) == []
            await fake.write(BO, "hello?")
            await taken(host, 4)
        assert texts(host) == ["are you there?", "hello?"]


def lose_the_database(host: RecordingHost, times: int) -> None:
    """Let so many messages and deletions fail."""
    host.store.ledger.failures += [StoreUnavailable("The database cannot be reached.")] * times


async def test_a_deletion_that_cannot_be_followed_yet_is_followed_when_it_can() -> None:
    host = recording_host()
    async with running_discord(FastClock()) as fake, serving(fake, host):
        await all_heard(host)
        said = await fake.write(ANN, "my boat is blue")
        await taken(host, 1)
        lose_the_database(host, 3)
        await fake.take_back(said)
        await fake.write(ANN, "no, red")
        await taken(host, 2)
        await until(lambda: (host.taken[0].channel, said["id"]) not in host.texts)
    assert [*host.texts.values()] == ["no, red"]


async def test_what_cannot_be_stored_holds_up_what_follows_it_until_it_can() -> None:
    host = recording_host()
    async with running_discord(FastClock()) as fake, serving(fake, host):
        await all_heard(host)
        lose_the_database(host, 3)
        for number in range(3):
            await fake.write(ANN, f"{number}?")
        await taken(host, 3)
        assert [each.text for each in host.taken] == ["0?", "1?", "2?"]
        assert [each["content"] for each in by_the_bot(fake)] == [platforms_texts.KEPT_WAITING]


async def test_a_missed_message_on_which_the_bot_fails_unexpectedly_does_not_hold_up_others() -> None:
    host = recording_host()
    async with away(host) as fake:
        for number in range(3):
            fake.world.message(GENERAL, BO, f"{ASK}{number}?")
        host.store.ledger.failures.append(RuntimeError("nobody expected this"))  # At the oldest, which `away` wrote
        async with serving(fake, host):
            await all_heard(host)
        assert not host.store.ledger.failures
        assert texts(host) == ["0?", "1?", "2?"]


async def test_what_was_missed_and_cannot_be_stored_yet_holds_up_what_follows_it() -> None:
    host = recording_host()
    async with away(host) as fake:
        fake.world.message(GENERAL, BO, f"{ASK}0?")
        lose_the_database(host, 1)
        async with serving(fake, host):
            await fake.say(BO, f"{ASK}1?")
            await taken(host, 4)
        assert texts(host) == ["0?", "1?"]


async def test_of_too_many_missed_messages_the_newest_are_taken_in() -> None:
    host = recording_host()
    async with away(host) as fake:
        most = Bounds().messages
        for number in range(most + 5):
            fake.world.message(GENERAL, BO, f"{ASK}{number}?")
        async with serving(fake, host):
            await all_heard(host)
        assert texts(host) == [f"{number}?" for number in range(5, most + 5)]


async def test_what_is_too_old_is_not_answered_out_of_the_blue() -> None:
    host = recording_host()
    async with running_discord(clock := FastClock(speed=1.0)) as fake:
        await host.conversations.set_watermark(SOURCE, clock.now() - timedelta(days=9))
        old = fake.world.message(GENERAL, ANN, f"{ASK}last week?")
        old["id"] = str(int(old["id"]) - (int(timedelta(days=2).total_seconds() * 1000) << 22))
        fake.world.message(GENERAL, ANN, f"{ASK}today?")
        async with serving(fake, host):
            await taken(host, 1)
        assert [each.text for each in host.taken] == ["today?"]


async def test_a_channel_that_cannot_be_read_does_not_keep_others_from_it() -> None:
    host = recording_host()
    async with away(host) as fake:
        fake.world.message(STAFF, ANN, f"{ASK}in private?")
        fake.world.message(GENERAL, BO, f"{ASK}in public?")
        fake.rest.fail("GET", f"/channels/{STAFF}/messages", 403, 50001, times=9)
        async with serving(fake, host):
            await all_heard(host)
        assert texts(host) == ["in public?"]


async def test_a_refusal_is_not_told_for_what_was_missed() -> None:
    host = recording_host()
    async with away(host) as fake:
        host.restrict(AccessRules(deny=parse_entries(f"person:{BO}")))
        fake.world.message(GENERAL, BO, f"{ASK}may I?")
        async with serving(fake, host):
            await all_heard(host)
        assert texts(host) == []
        assert by_the_bot(fake) == []


async def test_a_socket_that_dies_without_a_word_is_replaced_and_nothing_is_lost() -> None:
    host = recording_host()
    async with running_discord(FastClock(speed=1.0)) as fake:
        fake.heartbeat_s = 0.2
        async with serving(fake, host, silence_s=0.5):
            await all_heard(host)
            fake.fall_silent()
            await fake.say(ANN, f"{ASK}are you there?")
            await taken(host, 1)
            assert fake.resumed == 1


async def test_a_heartbeat_ends_the_silence_and_without_any_it_grows_until_a_supervisor_is_told() -> None:
    host = recording_host()
    async with running_discord(FastClock()) as fake:
        fake.heartbeat_s = 0.2
        async with serving(fake, host, silence_s=3600.0):
            await all_heard(host)
            silence = host.platforms.silences[SOURCE]
            longest = silence()
            await fake.until(lambda: silence() < longest or silence() > SILENT_S)
            assert silence() < longest
            fake.fall_silent()
            await fake.until(lambda: silence() > SILENT_S)
            assert fake.resumed == 0, "nobody has replaced it"


async def test_what_was_forgotten_never_comes_back_and_what_was_answered_is_not_answered_again(tmp_path: Path) -> None:
    clock, model = FastClock(speed=1.0), ScriptedProvider(lambda _: "Aye.")
    async with running_discord(clock) as fake, live_host(tmp_path, model, clock) as host:
        async with serving(fake, host):
            await fake.say(ANN, f"{ASK}are you there?")
            await fake.say(BO, f"{ASK}are you there, too?")
            await fake.until(lambda: len(by_the_bot(fake)) == 2)
            async with asyncio.timeout(PATIENCE_S):
                await host.turns.idle()
            await host.forgetting.forget(asker(f"discord:{ANN}"), "everything")
        async with serving(fake, host):
            await fake.say(BO, f"{ASK}and now?")
            await fake.until(lambda: len(by_the_bot(fake)) == 3)
            async with asyncio.timeout(PATIENCE_S):
                await host.turns.idle()
        assert [call for call in fake.calls if call.method == "GET" and call.path == f"/channels/{GENERAL}/messages"]
        assert [request[-1].text.splitlines()[-1] for request in model.requests][2:] == ["Bo: and now?"]


def open_the_quay(fake: FakeDiscord) -> None:
    """The bot is in a second server."""
    fake.world.guilds[QUAY] = "quay"
    fake.world.open_channel("60", "landing", guild=QUAY)


async def test_servers_are_divided_among_connections_and_direct_messages_come_over_the_first() -> None:
    host = recording_host()
    async with running_discord(FastClock(speed=50.0)) as fake:
        open_the_quay(fake)
        async with serving(fake, host, chosen=DiscordSettings(shards=2)):
            await fake.until(lambda: fake.identified == 2)
            assert [session.shard for session in fake.connected] == [(0, 2), (1, 2)]
            await all_heard(host)
            await fake.say(ANN, f"{ASK}hello harbour")
            await fake.say(ANN, f"{ASK}hello quay", "60")
            await fake.write(ANN, "hello you")
            await taken(host, 3)
    assert {each.text: each.team for each in host.taken} == {
        "hello harbour": GUILD,
        "hello quay": QUAY,
        "hello you": GUILD,
    }


async def test_discord_says_how_many_connections_it_takes() -> None:
    host = recording_host()
    async with running_discord(FastClock(speed=50.0)) as fake:
        open_the_quay(fake)
        fake.rest.shards_recommended = 2
        async with serving(fake, host, chosen=DiscordSettings(shards=None)):
            await fake.until(lambda: fake.identified == 2)
            assert [session.shard for session in fake.connected] == [(0, 2), (1, 2)]


async def test_a_connection_that_was_lost_for_good_is_caught_up_alone() -> None:
    host = recording_host()
    async with running_discord(FastClock(speed=50.0)) as fake:
        open_the_quay(fake)
        async with serving(fake, host, chosen=DiscordSettings(shards=2)):
            await fake.until(lambda: fake.identified == 2)
            await all_heard(host)
            _, second = fake.connected
            fake.forget_sessions(second)
            fake.drop(second)
            fake.world.message("60", ANN, f"{ASK}are you there?")
            fake.world.message(GENERAL, ANN, f"{ASK}never told")
            await taken(host, 1)
            host.conversations.noted.clear()
            await all_heard(host)
            read = {call.path for call in fake.calls if call.method == "GET" and call.path.endswith("/messages")}
    assert [each.text for each in host.taken] == ["are you there?"]
    assert read == {"/channels/60/messages"}


async def test_nothing_counts_as_heard_while_one_connection_is_lost() -> None:
    host = recording_host()
    async with running_discord(FastClock(speed=50.0)) as fake:
        open_the_quay(fake)
        async with serving(fake, host, chosen=DiscordSettings(shards=2)):
            await fake.until(lambda: fake.identified == 2)
            await all_heard(host)
            _, second = fake.connected
            fake.refuse_sockets = True
            fake.drop(second)
            await fake.until(lambda: fake.refused)
            heard = await host.conversations.watermark(SOURCE)
            await fake.say(ANN, f"{ASK}hello harbour")
            await taken(host, 1)
            host.conversations.noted.clear()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1.0):  # more than the half minute after which the time would be kept
                    await host.conversations.noted.wait()
            assert await host.conversations.watermark(SOURCE) == heard


async def test_without_the_message_content_intent_mentions_and_direct_messages_are_taken_in() -> None:
    host = recording_host()
    async with running_discord(FastClock(speed=1.0)) as fake:
        async with serving(fake, host, chosen=DiscordSettings(message_content=False)):
            await fake.say(ANN, f"{ASK}hello")
            await fake.write(ANN, "good morning")
            await taken(host, 2)
        assert fake.identified == 1, "it was not even asked for"
    assert [each.text for each in host.taken] == ["hello", "good morning"]


async def test_connections_that_are_refused_the_message_content_intent_do_without() -> None:
    host = recording_host()
    async with running_discord(FastClock(speed=50.0)) as fake:
        open_the_quay(fake)
        fake.grant_message_content = False
        async with serving(fake, host, chosen=DiscordSettings(shards=2)):
            await fake.say(ANN, f"{ASK}hello")
            await taken(host, 1)
    assert not fake.rest.message_content
