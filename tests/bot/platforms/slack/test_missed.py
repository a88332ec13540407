"""Messages that are written while the bot is away are taken in later; over real sockets and slack-bolt."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from agent.errors import StoreError
from agent.stored_messages import LastSeen
from bot.chat.access.acl import AccessRules, parse_entries
from bot.chat.watermark import Bounds
from bot.platforms.slack.inbound import SlackBot
from bot.platforms.slack.missed import Spot, spots_of
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import SOCKETS, serving
from tests.fakes.slack_faults import DOWN, Fault, limited
from tests.fakes.slack_things import BOT_USER, FakeMessage
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow

ANN, BOB, GENERAL, SECRET, DM = "U0ANN", "U0BOB", "C0GENERAL", "C0SECRET", "D0ANN"
ME = f"<@{BOT_USER}>"
TEAM = "slack:T0TEAM"


async def talked(slack: FakeSlack, host: RecordingHost) -> FakeMessage:
    """Ann asks in a channel and directly, then the bot stops. Return the question in the channel."""
    async with serving(slack, host):
        asked = await slack.say(ANN, GENERAL, f"{ME} which colour has the boat?")
        await slack.say(ANN, DM, "good morning")
        await slack.settled()
        await all_heard(host)
    host.conversations.noted.clear()
    return asked


async def all_heard(host: RecordingHost) -> None:
    """Wait until the watermark moves: the bot has caught up."""
    async with asyncio.timeout(PATIENCE_S):
        await host.conversations.noted.wait()


@asynccontextmanager
async def back(slack: FakeSlack, host: RecordingHost) -> AsyncGenerator[None, None]:
    """Start the bot again, and wait until it has caught up."""
    async with serving(slack, host):
        await all_heard(host)
        yield


def texts(host: RecordingHost) -> list[str]:
    return [each.text for each in host.taken[2:]]


async def test_after_a_start_what_was_missed_is_taken_in_as_if_it_came_now(
    slack: FakeSlack, caplog: pytest.LogCaptureFixture
) -> None:
    host = recording_host()
    asked = await talked(slack, host)
    slack.state.write(ANN, GENERAL, "and its sails?", asked.ts)
    missed = slack.state.write(ANN, DM, "are you there?")
    slack.state.write(BOB, GENERAL, f"{ME} when does it sail?")
    with caplog.at_level(logging.INFO, "bot"):
        async with back(slack, host):
            pass
    assert sorted(texts(host)) == ["and its sails?", "are you there?", "when does it sail?"]
    by_text = {each.text: each for each in host.taken}
    assert by_text["and its sails?"].conversation == f"{TEAM}:{GENERAL}:{asked.ts}"
    assert by_text["are you there?"].conversation == f"{TEAM}:{DM}:{missed.ts}"
    assert by_text["are you there?"].place.within_team == TEAM
    assert by_text["when does it sail?"].person.name == "bob"
    assert any("caught up on 3 messages since 2026-01-05" in each.getMessage() for each in caplog.records)


async def test_what_follows_a_missed_mention_in_its_thread_is_found_too(slack: FakeSlack) -> None:
    host = recording_host()
    await talked(slack, host)
    asked = slack.state.write(BOB, GENERAL, f"{ME} when does it sail?")
    slack.state.write(BOB, GENERAL, "and from where?", asked.ts)
    async with back(slack, host):
        pass
    assert texts(host) == ["when does it sail?", "and from where?"]


async def test_what_was_missed_in_a_thread_of_a_direct_message_goes_on_there(slack: FakeSlack) -> None:
    host = recording_host()
    await talked(slack, host)
    root = next(message for message in slack.state.messages if message.channel == DM)
    slack.state.write(ANN, DM, "and a good evening", root.ts)
    async with back(slack, host):
        pass
    assert texts(host) == ["and a good evening"]
    assert host.taken[-1].conversation == f"{TEAM}:{DM}:{root.ts}"


async def test_what_was_said_before_the_bot_first_came_is_left_alone(slack: FakeSlack) -> None:
    host = recording_host()
    slack.state.write(ANN, DM, "are you there?")
    async with back(slack, host):
        pass
    assert host.taken == []
    assert not slack.state.called("conversations.history")


async def test_after_a_long_outage_what_was_missed_is_read_from_history(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, DM, "good morning")
        await slack.settled()
        await all_heard(host)
        slack.faults["apps.connections.open"] += [DOWN] * 6  # more than two minutes, by what it waits between attempts
        await slack.sockets[0].close()
        slack.state.write(ANN, DM, "are you there?")
        await slack.until(lambda: len(host.taken) == 2)
    assert host.taken[1].text == "are you there?"


async def test_a_short_gap_is_left_to_slack_which_sends_again(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, DM, "good morning")
        await slack.settled()
        await all_heard(host)
        await slack.sockets[0].close()
        await slack.until(lambda: slack.opened == 2)
        await slack.say(ANN, DM, "are you there?")
        await slack.until(lambda: len(host.taken) == 2)
    assert not slack.state.called("conversations.history")


async def test_what_was_missed_comes_before_what_comes_anew_in_the_same_place(slack: FakeSlack) -> None:
    host = recording_host()
    await talked(slack, host)
    for number in range(3):
        slack.state.write(ANN, DM, f"{number}?")
    async with serving(slack, host):
        await slack.say(ANN, DM, "3?")
        await slack.until(lambda: len(host.taken) == 6)
    assert texts(host) == ["0?", "1?", "2?", "3?"]


async def test_what_wants_something_done_at_once_is_not_caught_up(slack: FakeSlack) -> None:
    host = recording_host()
    await talked(slack, host)
    for words in ("stop", "memory", "model ollama:other", "forget everything"):
        slack.state.write(ANN, DM, words)
    slack.state.write(BOB, GENERAL, "good morning")
    async with back(slack, host):
        pass
    assert (texts(host), host.overheard, host.stopped) == ([], [], [])
    assert f"{TEAM}:{ANN}" not in host.store.chosen
    assert not slack.state.called("chat.postMessage")
    assert not slack.state.called("chat.postEphemeral")


@pytest.mark.parametrize("trouble", [limited(3), DOWN])
async def test_a_place_that_cannot_be_read_yet_is_tried_again(slack: FakeSlack, trouble: Fault) -> None:
    host = recording_host()
    await talked(slack, host)
    slack.state.write(ANN, DM, "are you there?")
    slack.faults["conversations.history"].append(trouble)
    async with back(slack, host):
        pass
    assert texts(host) == ["are you there?"]


async def test_what_could_not_be_stored_is_taken_in_once_the_database_is_back(slack: FakeSlack) -> None:
    host = recording_host()
    await talked(slack, host)
    for number in range(3):
        slack.state.write(ANN, DM, f"{number}?")
    host.store.ledger.failures.append(StoreError("The database is away."))
    async with back(slack, host):
        pass
    assert texts(host) == ["0?", "1?", "2?"]


async def test_a_place_that_is_gone_does_not_keep_others_from_it(slack: FakeSlack) -> None:
    host = recording_host()
    await talked(slack, host)
    slack.state.write(BOB, GENERAL, f"{ME} when does it sail?")
    del slack.state.channels[DM]
    async with back(slack, host):
        pass
    assert texts(host) == ["when does it sail?"]


async def test_a_refusal_is_not_told_for_what_was_missed(slack: FakeSlack) -> None:
    host = recording_host()
    await talked(slack, host)
    host.restrict(AccessRules(deny=parse_entries(f"person:{ANN}")))
    slack.state.write(ANN, DM, "may I?")
    async with back(slack, host):
        pass
    assert texts(host) == []
    assert not slack.state.called("chat.postMessage")
    assert not slack.state.called("chat.postEphemeral")


async def test_a_socket_that_dies_without_a_word_is_replaced(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host, delivery=replace(SOCKETS, ping_s=0.1)):
        slack.fall_silent()
        await slack.until(lambda: slack.opened == 2)
        await slack.say(ANN, DM, "are you there?")
        await slack.until(lambda: host.taken)


async def test_many_threads_of_direct_messages_do_not_hide_a_new_question_there(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        for number in range(Bounds().places + 1):
            await slack.say(ANN, DM, f"question {number}")
        await slack.settled()
        await all_heard(host)
    host.conversations.noted.clear()
    slack.state.write(ANN, DM, "and what is this?")
    async with serving(slack, host):
        await slack.until(lambda: host.taken[-1].text == "and what is this?")


def test_where_to_look_is_each_conversation_and_the_channel_around_it_once() -> None:
    def seen(conversation: str, channel: str) -> LastSeen:
        return LastSeen(f"{TEAM}:{conversation}", channel, "1.1", datetime(2026, 1, 5, tzinfo=UTC))

    known = [seen("C1:1.1", "C1"), seen("D1", "D1"), seen("C1:2.2", "C1"), seen("C2:private:U1", "C2")]
    me = SlackBot("T0TEAM", BOT_USER, "B0BOT")
    expected = [Spot("C1", "1.1"), Spot("C1"), Spot("D1"), Spot("C1", "2.2"), Spot("C2")]
    assert spots_of(known, me) == expected


@pytest.mark.parametrize("scope", [True, False], ids=["im:read", "without im:read"])
async def test_a_newcomers_first_message_and_a_first_mention_in_a_new_channel_are_caught_up(
    slack: FakeSlack, *, scope: bool
) -> None:
    host = recording_host()
    await talked(slack, host)
    slack.state.user("cat")
    dm, new = slack.state.channel("cat", "im"), slack.state.channel("new")
    slack.state.write("U0CAT", dm, "hello, newcomer here")
    slack.state.write(BOB, new, "nothing for the bot")
    slack.state.write(BOB, new, f"{ME} are you here, too?")
    root = slack.state.write(BOB, new, "a thread")
    slack.state.write(BOB, new, f"{ME} and here?", root.ts)
    if not scope:
        slack.faults["users.conversations"].append(Fault(error="missing_scope"))
    async with back(slack, host):
        pass
    expected = ["and here?", "are you here, too?", *(["hello, newcomer here"] if scope else [])]
    assert sorted(texts(host)) == expected
