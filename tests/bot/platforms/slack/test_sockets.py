"""Several sockets at once: each is replaced by itself, and while one is left no event is lost."""

from dataclasses import replace

import pytest

from bot.operators.health import SILENT_S
from bot.platforms.slack.sockets import TOO_MANY_SOCKETS
from tests.fakes.recording_host import recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import SOCKETS, serving
from tests.fakes.slack_faults import Fault, limited

pytestmark = pytest.mark.slow

ANN, DM = "U0ANN", "D0ANN"
TWO = replace(SOCKETS, connections=2)
WATCHED = replace(TWO, ping_s=0.1)


def told(slack: FakeSlack, text: str) -> dict[str, object]:
    (event,) = slack.events_of(slack.state.write(ANN, DM, text))
    return slack.envelope(event)


async def test_as_many_are_open_as_the_settings_say_and_each_brings_events(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host, delivery=replace(SOCKETS, connections=3)):
        assert len(slack.sockets) == 3
        for number in range(3):
            await slack.acked(await slack.deliver(told(slack, f"{number}?"), number))
    assert [taken.text for taken in host.taken] == ["0?", "1?", "2?"]


async def test_what_comes_again_through_another_one_is_taken_once(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host, delivery=TWO):
        envelope = told(slack, "hello")
        await slack.deliver(envelope, 0)
        await slack.deliver(envelope, 1, attempt=1)
        await slack.settled()
    assert len(host.taken) == 1


async def test_one_that_is_refreshed_is_followed_while_the_other_stays(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host, delivery=TWO):
        staying = slack.sockets[0]
        await slack.refresh()
        await slack.until(lambda: len(slack.sockets) == 3)
        await slack.acked(await slack.deliver(told(slack, "on the old one"), 1))
        await slack.connected(2)
        assert staying in slack.sockets
        await slack.acked(await slack.deliver(told(slack, "on the new one"), 1))
    assert (slack.opened, slack.most_open) == (3, 3)
    assert len(host.taken) == 2


async def test_one_that_falls_silent_is_replaced_and_the_other_is_left_alone(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host, delivery=WATCHED):
        staying = slack.sockets[0]
        slack.fall_silent()
        await slack.until(lambda: slack.opened == 3)
        await slack.connected(2)
        assert staying in slack.sockets
        assert slack.opened == 3


async def test_how_long_a_socket_is_silent_is_told_and_an_answered_ping_ends_it(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host, delivery=replace(WATCHED, ping_s=0.2)):
        [silence] = host.platforms.silences.values()
        seen = [silence()]

        def is_heard_anew() -> bool:  # with nothing said by anybody
            seen.append(silence())
            return seen[-1] < seen[-2]

        await slack.until(is_heard_anew)


async def test_a_socket_whose_watch_has_stopped_is_silent_for_ever_longer(slack: FakeSlack) -> None:
    """slack-sdk replaces a socket that answers no ping; here it sends no more pings, as if its task had died."""
    host = recording_host()
    async with serving(slack, host, delivery=replace(WATCHED, ping_s=3600.0)):
        [silence] = host.platforms.silences.values()
        slack.fall_silent()
        before = silence()
        await slack.until(lambda: silence() > before + SILENT_S)
        assert slack.opened == 2, "nobody has replaced it"


async def test_while_one_is_left_the_bot_is_reached_and_no_history_is_read(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host, delivery=WATCHED):
        await slack.say(ANN, DM, "hello")
        await slack.settled()
        slack.faults["apps.connections.open"] += [Fault(503), limited(1), Fault(503)]
        slack.drop(0)
        await slack.say(ANN, DM, "still there?")
        await slack.until(lambda: len(host.taken) == 2)
        await slack.connected(2)
    assert not slack.state.called("conversations.history")


async def test_when_both_are_lost_for_long_what_was_said_meanwhile_is_read_from_history(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host, delivery=WATCHED):
        await slack.say(ANN, DM, "hello")
        await slack.settled()
        slack.faults["apps.connections.open"] += [Fault(503)] * 16  # eight for each: four minutes
        slack.drop(0)
        slack.drop(0)
        slack.state.write(ANN, DM, "of which nobody told")
        await slack.connected(2)
        await slack.until(lambda: len(host.taken) == 2)
    assert [taken.text for taken in host.taken] == ["hello", "of which nobody told"]


async def test_one_that_slack_refuses_is_tried_again_later_while_another_is_left(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host, delivery=TWO):
        slack.faults["apps.connections.open"].append(Fault(error="internal_or_other"))
        await slack.refresh()
        await slack.until(lambda: not slack.faults["apps.connections.open"])
        await slack.acked(await slack.deliver(told(slack, "hello"), 0))
        await slack.until(lambda: slack.opened == 3)
        await slack.connected(2)
    assert len(host.taken) == 1


async def test_one_too_many_is_closed_at_once_and_tried_again_later(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host, delivery=TWO):
        began = slack.clock.monotonic()
        await slack.refresh(TOO_MANY_SOCKETS)
        await slack.connected(1)
        assert slack.opened == 2
        await slack.acked(await slack.deliver(told(slack, "hello"), 0))
        await slack.connected(2)
        assert slack.clock.monotonic() - began >= 60
    assert len(host.taken) == 1
