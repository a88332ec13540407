"""A message reaches the host once, before it is acknowledged; over real sockets and slack-bolt."""

import asyncio
import linecache

import pytest

from agent.errors import CogencyError, Refused, SettingsError, StoreError, StoreUnavailable
from agent.memory.audience import GroupAudience, PersonAudience, TeamAudience
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.options import SlackApp, SlackOptions, SocketMode
from bot.platforms.slack.run import SlackUnreachable, serve
from bot.settings.secret import Secret
from tests.fakes.clock import FakeClock
from tests.fakes.fast_clock import FastClock
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.fakes.slack import FakeSlack, asked_now
from tests.fakes.slack_bot import app_of, serving, settings
from tests.fakes.slack_faults import Fault
from tests.fakes.slack_things import BOT_ID, BOT_USER
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow

ANN, BOB, GENERAL, SECRET, DM = "U0ANN", "U0BOB", "C0GENERAL", "C0SECRET", "D0ANN"
ME = f"<@{BOT_USER}>"
TEAM = "slack:T0TEAM"


async def test_a_mention_is_taken_once_though_it_comes_as_two_events(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        said = await slack.say(ANN, GENERAL, f"{ME} what is <@{BOB}> doing?")
        await slack.settled()
    (taken,) = host.taken
    assert (taken.text, taken.person.name, taken.person.time_zone) == ("what is @bob doing?", "ann", "Europe/Paris")
    assert (taken.source, taken.channel, taken.message_id) == (TEAM, GENERAL, said.ts)
    assert taken.conversation == f"{TEAM}:{GENERAL}:{said.ts}"
    assert taken.permalink == f"https://fake.slack.com/archives/{GENERAL}/p{said.ts.replace('.', '')}"
    assert taken.place.audience == TeamAudience(TEAM)
    assert taken.place.within_team == TEAM
    assert not host.again


async def test_the_second_event_of_a_mention_still_says_that_its_channel_was_made_private(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, GENERAL, f"{ME} hello")
        await slack.settled()
        slack.state.channels[GENERAL].kind = "private"  # Slack's event about that does not come
        for text in ("and now?", "and then?"):
            mention, message = slack.events_of(slack.state.write(ANN, GENERAL, f"{ME} {text}"))
            await slack.acked(await slack.deliver(slack.envelope(mention)))
            await slack.acked(await slack.deliver(slack.envelope(message)))
    public, private = TeamAudience(TEAM), GroupAudience(f"{TEAM}:{GENERAL}")
    assert [taken.place.audience for taken in host.taken] == [public, public, private]


async def test_the_events_of_a_mention_that_come_together_are_read_once_and_both_count(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        root = slack.state.write(BOB, GENERAL, "the build is red")
        await slack.say(ANN, GENERAL, f"{ME} hello")
        await slack.settled()
        slack.state.channels[GENERAL].kind = "private"
        slack.stalled["conversations.replies"] = answers = asyncio.Event()
        mention, message = slack.events_of(slack.state.write(ANN, GENERAL, f"{ME} why?", root.ts))
        await slack.deliver(slack.envelope(mention))
        await slack.until(lambda: slack.state.stalling)
        await slack.deliver(slack.envelope(message))
        await slack.until(lambda: len(asked_now()) > 1)
        answers.set()
        await slack.settled()
        mention, _ = slack.events_of(slack.state.write(ANN, GENERAL, f"{ME} and then?"))
        await slack.acked(await slack.deliver(slack.envelope(mention)))
    public, private = TeamAudience(TEAM), GroupAudience(f"{TEAM}:{GENERAL}")
    assert [taken.place.audience for taken in host.taken] == [public, public, private]
    assert len(slack.state.called("conversations.replies")) == 1
    assert not host.again


@pytest.mark.parametrize("failure", [Refused("Too many."), StoreError("It is full."), StoreUnavailable("away")])
async def test_if_one_event_of_a_mention_cannot_be_stored_the_other_one_is(
    slack: FakeSlack, failure: CogencyError
) -> None:
    host = recording_host()
    async with serving(slack, host):
        host.store.ledger.failures.append(failure)
        for event in slack.events_of(slack.state.write(ANN, GENERAL, f"{ME} hello")):
            await slack.deliver(slack.envelope(event))
        await host.arrived.wait()
        await slack.settled()
    assert [taken.text for taken in host.taken] == ["hello"]


async def test_a_direct_message_is_for_that_person_only(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        asked = await slack.say(ANN, DM, "hello")
        await host.arrived.wait()
    (taken,) = host.taken
    assert taken.place.audience == PersonAudience(f"{TEAM}:{ANN}")
    assert taken.place.within_team == TEAM
    assert taken.conversation == f"{TEAM}:{DM}:{asked.ts}"


async def test_a_start_reads_no_source_code(slack: FakeSlack) -> None:
    linecache.clearcache()
    async with serving(slack, recording_host()):
        pass
    assert linecache.cache == {}


@pytest.mark.parametrize("facts", [{"is_restricted": True}, {"is_stranger": True}, {"team_id": "T0OTHER"}])
async def test_a_guest_sees_nothing_of_the_team_in_their_direct_messages(
    slack: FakeSlack, facts: dict[str, object]
) -> None:
    host = recording_host()
    slack.state.users[ANN].facts |= facts
    async with serving(slack, host):
        await slack.say(ANN, DM, "hello")
        await host.arrived.wait()
    assert host.taken[0].place.within_team is None


async def test_a_private_channel_is_a_place_of_its_own(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, SECRET, f"{ME} hello")
        await host.arrived.wait()
    assert host.taken[0].place.audience == GroupAudience(f"{TEAM}:{SECRET}")
    assert host.taken[0].place.within_team is None


@pytest.mark.parametrize("unknown", [Fault(error="internal_error"), Fault(error="channel_not_found"), Fault(503)])
async def test_a_channel_of_which_slack_tells_nothing_is_a_place_of_its_own(slack: FakeSlack, unknown: Fault) -> None:
    host = recording_host()
    slack.faults["conversations.info"] += [unknown] * 2
    async with serving(slack, host):
        await slack.say(ANN, GENERAL, f"{ME} hello")
        await host.arrived.wait()
    assert host.taken[0].place.audience == GroupAudience(f"{TEAM}:{GENERAL}")


async def test_a_message_in_a_shared_channel_is_kept_to_that_channel(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        message = slack.state.write(ANN, GENERAL, f"{ME} hello")
        mention, _ = slack.events_of(message)
        await slack.acked(await slack.deliver(slack.envelope(mention, is_ext_shared_channel=True)))
        message = slack.state.write(BOB, GENERAL, f"{ME} hello")
        mention, _ = slack.events_of(message)
        await slack.acked(await slack.deliver(slack.envelope({**mention, "user_team": "T0OTHER"})))
    assert [taken.place.audience for taken in host.taken] == [GroupAudience(f"{TEAM}:{GENERAL}")] * 2


async def test_a_redelivered_event_is_taken_once_over_two_sockets_and_after_a_restart(slack: FakeSlack) -> None:
    host = recording_host()
    other = recording_host(host.store)
    async with serving(slack, host), serving(slack, other):
        message = slack.state.write(ANN, DM, "hello")
        (event,) = slack.events_of(message)
        envelope = slack.envelope(event)
        for socket in (0, 1):
            await slack.deliver(envelope, socket)
        await slack.until(lambda: len(host.again) == 1)
    async with serving(slack, host):
        slack.acks.clear()
        await slack.acked(await slack.deliver(envelope, attempt=1))
    assert len(host.taken) == 1


async def test_what_could_not_be_stored_is_not_acknowledged(slack: FakeSlack) -> None:
    host = recording_host()
    failures = host.store.ledger.failures
    failures.append(StoreError("The disk is full."))
    async with serving(slack, host):
        message = slack.state.write(ANN, DM, "hello")
        (event,) = slack.events_of(message)
        envelope = slack.envelope(event)
        await slack.deliver(envelope)
        await slack.until(lambda: not failures)
        assert not slack.acks
        await slack.acked(await slack.deliver(envelope, attempt=1))
    assert len(host.taken) == 1


def full(failures: int) -> RecordingHost:
    """A host whose next messages cannot be stored."""
    host = recording_host()
    full = StoreUnavailable("The disk is full. Free up some space for /home/ann/bot.db.")
    host.store.ledger.failures += [full] * failures
    return host


async def test_what_cannot_be_stored_is_taken_in_once_it_can_in_its_order_and_its_author_told_to_wait_once(
    slack: FakeSlack,
) -> None:
    host = full(3)
    async with serving(slack, host):
        envelopes = [slack.envelope(slack.events_of(slack.state.write(ANN, DM, f"{n}?"))[0]) for n in range(3)]
        await slack.deliver(envelopes[0])
        await slack.until(lambda: len(host.store.ledger.failures) < 3)
        for envelope in envelopes[1:]:
            await slack.deliver(envelope)
        await slack.until(lambda: len(host.taken) == 3)
        assert envelopes[0]["envelope_id"] not in slack.acks
    assert [asked.text for asked in host.taken] == ["0?", "1?", "2?"]
    assert [(ephemeral.user, ephemeral.text) for ephemeral in slack.state.ephemerals] == [
        (ANN, platforms_texts.KEPT_WAITING)
    ]


@pytest.mark.parametrize("waits_first", [False, True])
async def test_a_message_on_which_the_bot_fails_unexpectedly_is_told_so_once_and_does_not_hold_up_others(
    slack: FakeSlack, caplog: pytest.LogCaptureFixture, waits_first: bool
) -> None:
    host = full(1 if waits_first else 0)
    host.store.ledger.failures.append(RuntimeError("nobody expected this"))
    async with serving(slack, host):
        for text in ("0?", "1?"):
            await slack.deliver(slack.envelope(slack.events_of(slack.state.write(ANN, DM, text))[0]))
            await slack.until(lambda: len(host.store.ledger.failures) < (2 if waits_first else 1))
        await slack.until(lambda: host.taken and slack.state.ephemerals)
    assert [asked.text for asked in host.taken] == ["1?"]
    assert [shown.text for shown in slack.state.ephemerals][-1:] == [reply_texts.UNEXPECTED]
    assert caplog.text.count("RuntimeError: nobody expected this") == 1


async def test_a_message_on_which_the_bot_fails_unexpectedly_is_acknowledged(slack: FakeSlack) -> None:
    host = recording_host()
    host.store.ledger.failures.append(RuntimeError("nobody expected this"))
    async with serving(slack, host):
        (event,) = slack.events_of(slack.state.write(ANN, GENERAL, f"<@{BOT_USER}> hello"))[:1]
        await slack.acked(await slack.deliver(slack.envelope(event)))
        await slack.until(lambda: slack.state.ephemerals)


async def test_a_command_on_which_the_bot_fails_unexpectedly_is_told_so(slack: FakeSlack) -> None:
    host = recording_host()
    host.store.ledger.failures.append(RuntimeError("nobody expected this"))
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, GENERAL, "/ask", "hello?"))
        await slack.until(lambda: slack.state.ephemerals)
    assert [shown.text for shown in slack.state.ephemerals] == [reply_texts.UNEXPECTED]


async def test_what_came_again_meanwhile_is_taken_in_once_and_then_acknowledged(slack: FakeSlack) -> None:
    host = full(2)
    async with serving(slack, host):
        (event,) = slack.events_of(slack.state.write(ANN, GENERAL, f"<@{BOT_USER}> hello"))[:1]
        envelope = slack.envelope(event)
        for attempt in range(3):
            await slack.deliver(envelope, attempt=attempt)
        await slack.until(lambda: host.taken)
        await slack.acked(await slack.deliver(envelope, attempt=3))
    assert len(host.taken) == 1


async def test_what_nobody_handles_is_acknowledged(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        for event in (
            {"type": "reaction_added", "user": ANN, "reaction": "wave"},
            {"type": "message", "subtype": "channel_join", "user": ANN, "channel": GENERAL, "ts": "1.1"},
            {"type": "message", "subtype": "message_changed", "channel": GENERAL, "ts": "1.2", "hidden": True},
            {"type": "app_home_opened", "user": ANN, "tab": "messages"},
        ):
            await slack.acked(await slack.deliver(slack.envelope(event)))
    assert not host.taken


async def test_bots_are_not_answered_unless_they_are_on_the_list(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host, allowed_bots=frozenset({"B0FRIEND"})):
        for bot in (BOT_ID, "B0OTHER", "B0FRIEND"):
            event = {
                "type": "message",
                "subtype": "bot_message",
                "bot_id": bot,
                "username": "friend",
                "text": f"{ME} hi",
            }
            event |= {"channel": GENERAL, "ts": slack.state.new_ts(), "channel_type": "channel"}
            await slack.acked(await slack.deliver(slack.envelope(event)))
    assert [taken.person.name for taken in host.taken] == ["friend"]
    assert host.taken[0].person.id == f"{TEAM}:B0FRIEND"


async def test_a_bot_on_the_list_is_answered_only_when_it_mentions_this_one(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host, allowed_bots=frozenset({"B0FRIEND"})):
        root = slack.state.new_ts()
        for text, ts in ((f"{ME} hello", root), ("thank you", slack.state.new_ts())):
            event = {"type": "message", "bot_id": "B0FRIEND", "username": "friend", "text": text, "channel": GENERAL}
            event |= {"ts": ts, "thread_ts": root, "channel_type": "channel"}
            await slack.acked(await slack.deliver(slack.envelope(event)))
    assert [taken.text for taken in host.taken] == ["hello"]
    assert [heard.text for heard in host.overheard] == ["thank you"]


async def test_in_a_thread_with_the_bot_everything_is_answered_until_others_join_in(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        root = await slack.say(ANN, GENERAL, f"{ME} hello")
        await slack.settled()
        for user, text in ((ANN, "and more"), (BOB, "me too"), (ANN, "not for you"), (BOB, f"{ME} but this")):
            await slack.say(user, GENERAL, text, root.ts)
            await slack.settled()
    assert [taken.text for taken in host.taken] == ["hello", "and more", "but this"]
    assert [heard.text for heard in host.overheard] == ["me too", "not for you"]
    assert {kept.conversation for kept in host.taken + host.overheard} == {f"{TEAM}:{GENERAL}:{root.ts}"}


async def test_what_is_said_without_the_bot_is_neither_stored_nor_looked_up(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, GENERAL, "hello everybody")
        await slack.settled()
    assert not host.taken
    assert not host.overheard
    assert not slack.state.called("users.info")


async def test_a_file_and_a_reply_that_was_also_sent_to_the_channel_are_messages(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        for subtype in ("file_share", "thread_broadcast"):
            event = {"type": "message", "subtype": subtype, "user": ANN, "text": f"{ME} {subtype}", "channel": GENERAL}
            event |= {"ts": slack.state.new_ts(), "channel_type": "channel"}
            await slack.acked(await slack.deliver(slack.envelope(event)))
    assert [taken.text for taken in host.taken] == ["file_share", "thread_broadcast"]


async def test_a_mention_without_words_is_a_question_too(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, GENERAL, ME)
        await slack.settled()
    assert host.taken[0].text == "@cogency"


async def closing_one(slack: FakeSlack, clock: FakeClock) -> None:
    """Let time pass until one of two sockets is closed."""
    assert len(slack.sockets) == 2
    async with asyncio.timeout(PATIENCE_S):
        while len(slack.sockets) == 2:
            await clock.advance(1.0)
            await asyncio.sleep(0.01)  # for the sockets, which this clock does not move


async def test_a_refreshed_socket_is_followed_by_another_before_it_closes(slack: FakeSlack) -> None:
    host, clock = recording_host(), FakeClock(auto=False)
    async with serving(slack, host, clock):
        await slack.refresh()
        await slack.until(lambda: len(slack.sockets) == 2)
        await slack.deliver(slack.envelope(slack.events_of(slack.state.write(ANN, DM, "on the old one"))[0]), 0)
        await slack.deliver(slack.envelope(slack.events_of(slack.state.write(ANN, DM, "on the new one"))[0]), 1)
        await slack.settled()
        await closing_one(slack, clock)
        await slack.say(ANN, DM, "afterwards")
        await slack.settled()
    assert {taken.text for taken in host.taken} == {"on the old one", "on the new one", "afterwards"}
    assert slack.opened == 2


async def test_a_socket_that_breaks_is_followed_by_another(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        slack.faults["apps.connections.open"] += [Fault(503)]
        await slack.sockets[0].close()
        await slack.until(lambda: slack.opened == 2)
        await slack.say(ANN, DM, "still there?")
        await host.arrived.wait()
    assert host.taken[0].text == "still there?"


async def test_tokens_that_are_taken_away_while_serving_end_it_with_a_sentence(slack: FakeSlack) -> None:
    task = asyncio.create_task(serve(recording_host(), app_of(slack), settings(slack), slack.clock))
    await slack.connected()
    slack.faults["apps.connections.open"].append(Fault(error="token_revoked"))
    await slack.refresh("link_disabled")
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(SettingsError, match="SLACK_APP_TOKEN"):
            await task


@pytest.mark.parametrize(
    ("method", "fault", "setting"),
    [
        ("auth.test", Fault(error="invalid_auth"), "SLACK_BOT_TOKEN"),
        ("auth.test", Fault(error="account_inactive"), "SLACK_BOT_TOKEN"),
        ("apps.connections.open", Fault(error="not_allowed_token_type"), "SLACK_APP_TOKEN"),
        ("apps.connections.open", Fault(error="missing_scope"), "SLACK_APP_TOKEN"),
    ],
)
async def test_a_refused_token_is_one_sentence_that_names_its_setting(
    slack: FakeSlack, method: str, fault: Fault, setting: str
) -> None:
    slack.faults[method].append(fault)
    with pytest.raises(SettingsError, match=setting):
        await serve(recording_host(), app_of(slack), settings(slack), slack.clock)


@pytest.mark.parametrize(
    "faults", [[Fault(429, "ratelimited", "3")], [Fault(500)] * 3, [Fault(error="internal_error")], [Fault(503)] * 8]
)
async def test_a_socket_that_slack_does_not_open_at_the_start_is_tried_again(
    slack: FakeSlack, faults: list[Fault]
) -> None:
    host = recording_host()
    slack.faults["apps.connections.open"].extend(faults)
    async with serving(slack, host):
        await slack.until(lambda: slack.sockets and not host.platforms.away())
        assert len(slack.sockets) == 1
    assert not host.platforms.surfaces


async def test_what_slack_asks_to_wait_before_signing_in_is_told_to_whoever_begins_anew(slack: FakeSlack) -> None:
    slack.faults["auth.test"].append(Fault(429, "ratelimited", "7"))
    with pytest.raises(SlackUnreachable) as raised:
        await serve(recording_host(), app_of(slack), settings(slack), slack.clock)
    assert raised.value.retry_after_s == 7.0


async def test_a_token_without_the_right_to_write_is_refused_at_the_start() -> None:
    async with FakeSlack(FastClock(), scopes="app_mentions:read,commands") as slack:
        with pytest.raises(SettingsError, match=r"lacks scopes .*chat:write"):
            await serve(recording_host(), app_of(slack), settings(slack), slack.clock)


async def test_a_network_that_is_down_is_one_sentence_that_names_the_address(slack: FakeSlack) -> None:
    app, closed = SlackApp(Secret("xoxb-x"), SocketMode(Secret("xapp-x"))), SlackOptions("http://127.0.0.1:9/api")
    with pytest.raises(SlackUnreachable, match="SLACK_API_BASE_URL") as raised:
        async with asyncio.timeout(15):
            await serve(recording_host(), app, closed, slack.clock)
    assert isinstance(raised.value, CogencyError)
