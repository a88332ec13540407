"""User groups make managers and roles; unknown members are let in by no group, and kept out by each."""

import asyncio
from typing import Any

import pytest

from agent.admission_terms import Authority
from agent.incoming import Incoming
from bot.chat.access.acl import AccessRules, closed_to, parse_entries
from bot.chat.askers import Requester
from bot.platforms.slack.inbound import SlackBot
from bot.platforms.slack.members import GroupMembership, member_of, with_groups
from tests.fakes.fast_clock import MovedClock
from tests.fakes.recording_host import recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_faults import DOWN, Fault, limited
from tests.fakes.slack_things import BOT_USER

ANN, BOB, DM = "U0ANN", "U0BOB", "D0ANN"
US = SlackBot("T1", "UBOT", "BBOT")
LEADS, CREW = "S0LEADS", "S0CREW"
FAULTS = [DOWN, limited(30), Fault(error="missing_scope"), Fault(error="no_such_subteam")]


@pytest.mark.parametrize(
    ("facts", "authority"),
    [
        ({"team_id": "T1"}, Authority.MANAGER),
        ({"team_id": "T1", "is_owner": True}, Authority.ADMIN),
        ({"team_id": "T2", "enterprise_user": {"teams": ["T1"]}}, Authority.MANAGER),
        ({"team_id": "T1", "is_restricted": True}, Authority.GUEST),
        ({"team_id": "T1", "is_stranger": True}, Authority.STRANGER),
        ({"team_id": "T2"}, Authority.STRANGER),
        ({}, Authority.STRANGER),
    ],
)
def test_only_a_full_member_becomes_a_manager_and_nobody_loses_by_it(
    facts: dict[str, Any], authority: Authority
) -> None:
    assert with_groups(member_of(US, "U1", facts), GroupMembership(manager=True)).authority is authority


@pytest.mark.parametrize(
    ("enterprise", "facts", "expected"),
    [
        ("E1", {}, True),
        ("E2", {}, False),
        ("", {}, False),
        ("E1", {"is_stranger": True}, False),
        ("E1", {"is_restricted": True}, False),
        ("E1", {"deleted": True}, False),
        ("E1", {"team_id": "T1"}, False),
    ],
)
def test_colleagues_are_full_members_of_other_workspaces_of_the_organisation_and_not_of_this_one(
    enterprise: str, facts: dict[str, Any], *, expected: bool
) -> None:
    us = SlackBot("T1", "UBOT", "BBOT", enterprise=enterprise)
    theirs: dict[str, Any] = {"enterprise_id": "E1", "teams": ["T2"]}
    member = member_of(us, "U1", {"team_id": "T2", "enterprise_user": theirs, **facts})
    assert member.colleague is expected
    assert member.full is (facts == {"team_id": "T1"})


async def asked(slack: FakeSlack, times: int = 1, **settings: Any) -> list[Incoming]:
    host = recording_host()
    async with serving(slack, host, **settings):
        for number in range(times):
            await slack.say(ANN, DM, f"{number}?")
            await slack.settled()
    assert len(host.taken) == times
    return host.taken


async def test_who_travels_is_in_the_new_zone_within_a_minute_and_where_slack_tells_none_it_is_not_known() -> None:
    clock, host = MovedClock(speed=1.0), recording_host()
    async with FakeSlack(clock) as slack, serving(slack, host):
        ann = slack.state.user("Ann")
        dm = slack.state.channel("ann", "im")
        for number, zone in enumerate(["Europe/Paris", "Asia/Tokyo", "Mars/Olympus"], start=1):
            slack.state.users[ann].facts["tz"] = zone
            clock.ahead_s += 61
            await slack.say(ann, dm, f"{number}?")
            await slack.until(lambda number=number: len(host.taken) == number)
    assert [one.person.time_zone for one in host.taken] == ["Europe/Paris", "Asia/Tokyo", ""]


async def test_a_member_of_a_named_group_is_a_manager_and_others_are_not(slack: FakeSlack) -> None:
    slack.state.groups = {LEADS: {ANN}, CREW: {BOB}}
    (taken,) = await asked(slack, managers=frozenset({LEADS}))
    assert taken.authority is Authority.MANAGER
    slack.state.groups = {LEADS: {BOB}, CREW: {ANN}}
    (taken,) = await asked(slack, managers=frozenset({LEADS}))
    assert taken.authority is Authority.EMPLOYEE


@pytest.mark.parametrize("fault", FAULTS)
async def test_where_slack_does_not_tell_nobody_is_a_manager(slack: FakeSlack, fault: Fault) -> None:
    slack.state.groups = {LEADS: {ANN}}
    slack.faults["usergroups.users.list"].append(fault)
    (taken,) = await asked(slack, managers=frozenset({LEADS}))
    assert taken.authority is Authority.EMPLOYEE


@pytest.mark.parametrize("fault", [Fault(), DOWN])
async def test_a_group_is_asked_for_once_a_minute_whatever_the_answer(slack: FakeSlack, fault: Fault) -> None:
    slack.state.groups = {LEADS: {ANN}}
    slack.faults["usergroups.users.list"].append(fault)
    began = slack.clock.monotonic()
    taken = await asked(slack, times=4, managers=frozenset({LEADS}))
    minutes = (slack.clock.monotonic() - began) // 60
    assert len(slack.state.called("usergroups.users.list")) <= minutes + 1
    assert len(taken) == 4


async def test_a_group_is_a_role_by_which_lists_let_in_and_keep_out(slack: FakeSlack) -> None:
    slack.state.groups = {LEADS: {ANN}, CREW: {BOB}}
    (taken,) = await asked(slack, groups=frozenset({LEADS, CREW}), denied=frozenset({CREW}))
    assert taken.roles == {LEADS}
    who = Requester.wrote(taken)
    assert closed_to(AccessRules(allow=parse_entries(f"role:{LEADS}")), who, taken.authority) is None
    assert closed_to(AccessRules(allow=parse_entries(f"role:{CREW}")), who, taken.authority) is not None


@pytest.mark.parametrize("fault", FAULTS)
async def test_where_slack_does_not_tell_a_role_that_keeps_out_is_everybodys(slack: FakeSlack, fault: Fault) -> None:
    slack.state.groups = {LEADS: {ANN}, CREW: set()}
    slack.faults["usergroups.users.list"] += [fault] * 2
    (taken,) = await asked(slack, groups=frozenset({LEADS}), denied=frozenset({CREW}))
    assert taken.roles == {CREW}


async def test_without_named_groups_none_is_asked_for(slack: FakeSlack) -> None:
    (taken,) = await asked(slack)
    assert taken.roles == frozenset()
    assert not slack.state.called("usergroups.users.list")


async def test_somebody_who_was_deactivated_is_not_answered(slack: FakeSlack) -> None:
    slack.state.users[ANN].facts |= {"deleted": True}
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, DM, "hello")
        await slack.say(ANN, "C0GENERAL", f"<@{BOT_USER}> hello")
        await slack.say(ANN, DM, "usage")
        await slack.settled()
        await asyncio.sleep(0)
    assert not host.taken
    assert not slack.state.ephemerals


async def test_a_guest_whom_nobody_listed_yet_asks_by_command_in_a_place_of_its_own(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say(BOB, "C0GENERAL", f"<@{BOT_USER}> hello")
        await slack.settled()
        gus = slack.state.user("gus", is_restricted=True)
        slack.state.channels["C0GENERAL"].members.add(gus)
        await slack.acked(await slack.command(gus, "C0GENERAL", "/ask", "what is new?"))
    bob, guest = host.taken
    assert bob.place.within_team is not None
    assert guest.place.within_team is None
    assert guest.authority is Authority.GUEST


async def test_whom_the_bot_may_not_see_is_a_stranger(slack: FakeSlack) -> None:
    slack.faults["users.info"] += [Fault(error="user_not_visible")] * 5
    (taken,) = await asked(slack)
    assert taken.authority is Authority.STRANGER
    assert taken.place.within_team is None


async def test_in_a_channel_shared_with_another_workspace_an_admin_stays_one_and_nothing_flows_in(
    slack: FakeSlack,
) -> None:
    slack.state.users[ANN].facts |= {"is_admin": True}
    slack.state.channels["C0GENERAL"].facts |= {"is_ext_shared": True}
    eve = slack.state.user("eve", team_id="T0OTHER", is_stranger=True)
    slack.state.channels["C0GENERAL"].members.add(eve)
    host = recording_host()
    async with serving(slack, host):
        for user in (ANN, eve):
            await slack.say(user, "C0GENERAL", f"<@{BOT_USER}> hello")
            await slack.settled()
    assert [taken.authority for taken in host.taken] == [Authority.ADMIN, Authority.STRANGER]
    assert all(taken.place.within_team is None for taken in host.taken)
