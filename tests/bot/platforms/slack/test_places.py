"""The place of a channel, by what Slack says of it: one that is not simply public is a group of its own."""

from typing import Any

import pytest

from agent.admission_terms import Authority
from agent.incoming import Person
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience, label
from bot.platforms.slack.inbound import SlackBot
from bot.platforms.slack.members import Member
from bot.platforms.slack.places import channel_place, is_of_organization, person_place
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_faults import DOWN
from tests.fakes.slack_things import BOT_USER, TEAM

ME = SlackBot("T1", "U0BOT", "B0BOT")
PUBLIC = Place(TeamAudience("slack:T1"), within_team="slack:T1")
GROUP = Place(GroupAudience("slack:T1:C1"))
OPEN = {"is_channel": True, "is_private": False}


@pytest.mark.parametrize(
    ("info", "place"),
    [
        (OPEN, PUBLIC),
        (OPEN | {"is_general": True}, PUBLIC),
        (OPEN | {"is_archived": True}, PUBLIC),
        (OPEN | {"is_private": True}, GROUP),
        ({"is_group": True, "is_private": True}, GROUP),
        ({"is_group": True, "is_mpim": True, "is_private": True}, GROUP),
        ({"is_channel": True, "is_mpim": True}, GROUP),
        ({"is_im": True}, GROUP),
        (OPEN | {"is_shared": True, "is_ext_shared": True}, GROUP),
        (OPEN | {"is_pending_ext_shared": True}, GROUP),
        (OPEN | {"is_shared": True, "is_org_shared": True}, GROUP),
        ({}, GROUP),
        ({"is_channel": "yes"}, GROUP),
    ],
)
def test_a_channel_is_the_workspaces_only_if_it_is_nothing_but_public(info: dict[str, Any], place: Place) -> None:
    assert channel_place(ME, "C1", info) == place


ORG_SHARED = OPEN | {"is_shared": True, "is_org_shared": True}


@pytest.mark.parametrize(
    ("info", "enterprise", "expected"),
    [
        (ORG_SHARED, "E1", True),
        (ORG_SHARED | {"enterprise_id": "E1"}, "E1", True),
        (ORG_SHARED, "", False),
        (ORG_SHARED | {"enterprise_id": "E2"}, "E1", False),
        (ORG_SHARED | {"is_ext_shared": True}, "E1", False),
        (ORG_SHARED | {"is_pending_ext_shared": True}, "E1", False),
        (ORG_SHARED | {"pending_connected_team_ids": ["T9"]}, "E1", False),
        (OPEN | {"is_shared": True}, "E1", False),
        ({}, "E1", False),
    ],
)
def test_a_channel_is_the_organisations_only_if_nobody_else_reads_it(
    info: dict[str, Any], enterprise: str, *, expected: bool
) -> None:
    assert is_of_organization(SlackBot("T1", "U0BOT", "B0BOT", enterprise=enterprise), info) is expected


@pytest.mark.parametrize(
    ("authority", "within"),
    [
        (Authority.ADMIN, "slack:T1"),
        (Authority.EMPLOYEE, "slack:T1"),
        (Authority.GUEST, None),
        (Authority.STRANGER, None),
    ],
)
def test_what_only_one_person_reads_lies_within_the_workspace_for_full_members(
    authority: Authority, within: str | None
) -> None:
    member = Member(Person("slack:T1:U7", "Ann"), authority)
    assert person_place(ME, member) == Place(PersonAudience("slack:T1:U7"), within_team=within)


async def asked_in(slack: FakeSlack, channel: str, **envelope: Any) -> Place:
    """Return the place of a question that ann asks there."""
    host = recording_host()
    async with serving(slack, host):
        message = slack.state.write("U0ANN", channel, f"<@{BOT_USER}> hello")
        for event in slack.events_of(message):
            await slack.deliver(slack.envelope(event, **envelope))
        await slack.settled()
    return host.taken[0].place


async def test_a_channel_that_turns_private_is_a_group_and_the_workspaces_again_when_it_is_opened(
    slack: FakeSlack,
) -> None:
    public = Place(TeamAudience(f"slack:{TEAM}"), within_team=f"slack:{TEAM}")
    assert await asked_in(slack, "C0GENERAL") == public
    slack.state.channels["C0GENERAL"].kind = "private"
    assert await asked_in(slack, "C0GENERAL") == Place(GroupAudience(f"slack:{TEAM}:C0GENERAL"))
    slack.state.channels["C0GENERAL"].kind = "public"
    assert await asked_in(slack, "C0GENERAL") == public


async def test_an_event_from_a_shared_channel_is_of_a_group_whatever_slack_says_of_the_channel(
    slack: FakeSlack,
) -> None:
    assert await asked_in(slack, "C0GENERAL", is_ext_shared_channel=True) == Place(
        GroupAudience(f"slack:{TEAM}:C0GENERAL")
    )


async def test_a_channel_of_which_slack_says_nothing_is_a_group(slack: FakeSlack) -> None:
    slack.faults["conversations.info"].extend([DOWN] * 5)
    assert await asked_in(slack, "C0GENERAL") == Place(GroupAudience(f"slack:{TEAM}:C0GENERAL"))


@pytest.mark.parametrize("event", ["channel_convert_to_private", "channel_shared"])
async def test_a_channel_that_slack_says_is_private_or_shared_is_closed_at_once(slack: FakeSlack, event: str) -> None:
    host, group = recording_host(), Place(GroupAudience(f"slack:{TEAM}:C0GENERAL"))
    converted = {"type": "message", "subtype": event, "channel": "C0GENERAL", "ts": "1.000001", "user": "U0ANN"}
    async with serving(slack, host):
        await slack.say("U0ANN", "C0GENERAL", f"<@{BOT_USER}> hello")
        await slack.settled()
        assert audiences(host) == [label(TeamAudience(f"slack:{TEAM}"))]
        if event == "channel_shared":
            slack.state.channels["C0GENERAL"].facts["is_ext_shared"] = True
            await slack.deliver(slack.envelope({"type": event, "channel": "C0GENERAL"}))
        else:
            slack.state.channels["C0GENERAL"].kind = "private"
            await slack.deliver(slack.envelope({**converted, "channel_type": "group"}))
        await slack.settled()
        assert audiences(host) == [label(group.audience)]
        await slack.say("U0ANN", "C0GENERAL", f"<@{BOT_USER}> hello")
        await slack.settled()
    assert host.taken[1].place == group


def audiences(host: RecordingHost) -> list[str]:
    """Of what is stored."""
    return [message.audience for _, message in host.store.messages]


async def test_only_a_channel_that_is_known_to_be_closed_keeps_what_it_held(slack: FakeSlack) -> None:
    assert channel_place(ME, "C1", OPEN | {"is_private": True}).whole_channel
    assert channel_place(ME, "C1", OPEN | {"is_ext_shared": True}).whole_channel
    assert not channel_place(ME, "C1", {}).whole_channel
    slack.state.channels["C0GENERAL"].members.add(slack.state.user("gil", is_restricted=True))
    assert not (await asked_in(slack, "C0GENERAL")).whole_channel


async def test_what_a_message_says_of_its_channel_overrides_what_was_known_in_all_processes(slack: FakeSlack) -> None:
    host = recording_host()
    group = GroupAudience(f"slack:{TEAM}:C0GENERAL")
    async with serving(slack, host), serving(slack, host):
        root = await slack.say("U0ANN", "C0GENERAL", f"<@{BOT_USER}> hello")
        await slack.settled()
        assert isinstance(host.taken[-1].place.audience, TeamAudience)
        slack.state.channels["C0GENERAL"].kind = "private"
        said = slack.state.write("U0ANN", "C0GENERAL", "and now?", root.ts)
        (event,) = slack.events_of(said)
        await slack.acked(await slack.deliver(slack.envelope(event), socket=0))
        assert host.taken[-1].place.audience == group
        told = {key: value for key, value in event.items() if key != "channel_type"}
        said = slack.state.write("U0ANN", "C0GENERAL", "and there?", root.ts)
        told |= {"ts": said.ts, "text": said.text}
        await slack.acked(await slack.deliver(slack.envelope(told), socket=1))
        assert host.taken[-1].text == "and there?"
        assert host.taken[-1].place.audience == group
