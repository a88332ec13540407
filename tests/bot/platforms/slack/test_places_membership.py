"""Only the members that Slack lists can read a group place; any other person cannot, or it is unknown."""

from collections.abc import Mapping

import pytest

from bot.platforms.slack.places import MAX_PAGES, PAGE
from tests.fakes.recording_host import recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_faults import DOWN, Fault, limited
from tests.fakes.slack_things import BOT_USER, TEAM

ANN, BOB, SECRET = "U0ANN", "U0BOB", "C0SECRET"


async def read(slack: FakeSlack, user: str, *channels: str) -> Mapping[str, bool]:
    host = recording_host()
    source = f"slack:{TEAM}"
    async with serving(slack, host):
        known = await host.platforms.readers.platforms[source].readable(
            f"{source}:{user}", [f"{source}:{one}" for one in channels]
        )
    return {place.removeprefix(f"{source}:"): reads for place, reads in known.items()}


async def test_members_read_their_private_channels_group_dms_and_shared_channels(slack: FakeSlack) -> None:
    talk, shared = slack.state.channel("talk", "mpim"), slack.state.channel("shared", is_ext_shared=True)
    assert await read(slack, ANN, SECRET, talk, shared) == {SECRET: True, talk: True, shared: True}


async def test_who_has_left_or_was_never_there_does_not_read(slack: FakeSlack) -> None:
    slack.state.channels[SECRET].members.discard(ANN)
    assert await read(slack, ANN, SECRET, "C0NOWHERE") == {SECRET: False, "C0NOWHERE": False}
    assert await read(slack, BOB, SECRET) == {SECRET: True}


async def test_a_channel_without_the_bot_is_not_told(slack: FakeSlack) -> None:
    slack.state.channels[SECRET].members.discard(BOT_USER)
    assert await read(slack, ANN, SECRET) == {SECRET: False}


async def test_of_somebody_whom_slack_does_not_know_nothing_is_known(slack: FakeSlack) -> None:
    assert await read(slack, "U0NOBODY", SECRET) == {}


@pytest.mark.parametrize("fault", [DOWN, limited(30), Fault(error="missing_scope")])
async def test_while_slack_does_not_answer_nothing_is_known(slack: FakeSlack, fault: Fault) -> None:
    slack.faults["users.conversations"].append(fault)
    assert await read(slack, ANN, SECRET) == {}


async def test_one_question_is_enough_for_all_channels_that_are_found_on_the_first_page(slack: FakeSlack) -> None:
    for number in range(PAGE):
        slack.state.channel(f"many{number}", "private")
    assert await read(slack, ANN, SECRET) == {SECRET: True}
    assert len(slack.state.called("users.conversations")) == 1


async def test_behind_too_many_pages_nothing_is_known(slack: FakeSlack) -> None:
    for number in range(PAGE * MAX_PAGES):
        slack.state.channel(f"many{number}", "private")
    late = slack.state.channel("late", "private")
    assert await read(slack, ANN, SECRET, late) == {SECRET: True}
    assert len(slack.state.called("users.conversations")) == MAX_PAGES
