"""A public channel has the workspace's place only while no guest reads it; unknown means that one may."""

import pytest

from agent.memory.audience import GroupAudience, Place, TeamAudience
from bot.platforms.slack.members import MAX_MEMBERS_PAGES, MEMBERS_PAGE, PAGE
from tests.fakes.recording_host import recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_faults import DOWN, Fault, limited
from tests.fakes.slack_things import BOT_USER, TEAM

GENERAL = "C0GENERAL"
PUBLIC = Place(TeamAudience(f"slack:{TEAM}"), within_team=f"slack:{TEAM}")
GROUP = Place(GroupAudience(f"slack:{TEAM}:{GENERAL}"))
GUESTS = [{"is_restricted": True}, {"is_ultra_restricted": True}, {"is_stranger": True}, {"team_id": "T0OTHER"}]


async def asked(slack: FakeSlack, user: str = "U0ANN", channel: str = GENERAL) -> Place:
    host = recording_host()
    async with serving(slack, host):
        await slack.say(user, channel, f"<@{BOT_USER}> hello")
        await host.arrived.wait()
    return host.taken[0].place


def guest(slack: FakeSlack, **facts: bool) -> str:
    """Add a guest to the public channel."""
    gil = slack.state.user("gil", **(facts or {"is_restricted": True}))
    slack.state.channels[GENERAL].members.add(gil)
    return gil


async def test_without_guests_nothing_is_asked_about_the_members(slack: FakeSlack) -> None:
    assert await asked(slack) == PUBLIC
    assert slack.state.called("conversations.members") == []


@pytest.mark.parametrize("facts", GUESTS)
async def test_a_channel_that_a_guest_reads_in_silence_is_a_group(slack: FakeSlack, facts: dict[str, bool]) -> None:
    guest(slack, **facts)
    assert await asked(slack) == GROUP


@pytest.mark.parametrize("facts", [{"is_bot": True, "is_restricted": True}, {"deleted": True, "is_restricted": True}])
async def test_bots_and_those_who_were_deactivated_read_nothing(slack: FakeSlack, facts: dict[str, bool]) -> None:
    guest(slack, **facts)
    assert await asked(slack) == PUBLIC


async def test_a_public_channel_without_the_guest_stays_the_workspaces(slack: FakeSlack) -> None:
    slack.state.channels[GENERAL].members.discard(guest(slack))
    assert await asked(slack) == PUBLIC


async def test_a_guest_on_the_last_page_of_the_people_counts(slack: FakeSlack) -> None:
    for number in range(PAGE):
        slack.state.user(f"many{number}")
    guest(slack)
    assert await asked(slack) == GROUP
    assert len(slack.state.called("users.list")) == 2


async def test_a_guest_who_asks_is_a_reader_though_nobody_listed_them(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say("U0ANN", GENERAL, f"<@{BOT_USER}> hello")
        await slack.settled()
        await slack.say(guest(slack), GENERAL, f"<@{BOT_USER}> hello")
        await slack.settled()
    assert [taken.place for taken in host.taken] == [PUBLIC, GROUP]


@pytest.mark.parametrize("fault", [DOWN, limited(30), Fault(error="missing_scope")])
async def test_while_slack_does_not_say_who_is_a_guest_the_channel_is_a_group(slack: FakeSlack, fault: Fault) -> None:
    slack.faults["users.list"].extend([fault] * 20)
    assert await asked(slack) == GROUP


@pytest.mark.parametrize("fault", [DOWN, limited(30), Fault(error="missing_scope")])
async def test_while_slack_does_not_say_who_reads_the_channel_it_is_a_group(slack: FakeSlack, fault: Fault) -> None:
    slack.state.channels[GENERAL].members.discard(guest(slack))
    slack.faults["conversations.members"].extend([fault] * 5)
    assert await asked(slack) == GROUP


async def test_behind_too_many_pages_of_members_a_guest_may_well_be(slack: FakeSlack) -> None:
    slack.state.channels[GENERAL].members.discard(guest(slack))
    slack.state.channels[GENERAL].members |= {f"U{number}" for number in range(MEMBERS_PAGE * MAX_MEMBERS_PAGES)}
    assert await asked(slack) == GROUP
    assert len(slack.state.called("conversations.members")) in {MAX_MEMBERS_PAGES, 2 * MAX_MEMBERS_PAGES}  # two events
