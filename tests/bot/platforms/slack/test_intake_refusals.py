"""A refused person reads why, ephemerally, once a minute; their account is read from Slack at that moment."""

import asyncio
import json
import logging
from typing import Any

import pytest

from agent.admission_terms import Authority
from bot.chat.access.acl import AccessRules, parse_entries, parse_model_access
from bot.platforms.slack import interactions
from bot.platforms.slack.event_retry_queue import ACK_S
from bot.platforms.slack.inbound import SlackBot, budget_ids
from bot.platforms.slack.members import member_of
from tests.fakes.recording_host import OTHER, recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_faults import Fault
from tests.fakes.slack_things import BOT_USER

ANN, BOB, GENERAL, SECRET, DM = "U0ANN", "U0BOB", "C0GENERAL", "C0SECRET", "D0ANN"
ME = f"<@{BOT_USER}>"
TEAM = "slack:T0TEAM"
SLACK_WAITS_S = 3.0
US = SlackBot("T1", "UBOT", "BBOT")
CLOSED = "You do not have access to me. Ask my operator for access."
DENIED = AccessRules(open_to=frozenset(Authority), deny=parse_entries(f"person:{BOB}"))


@pytest.mark.parametrize(
    ("facts", "authority"),
    [
        ({"team_id": "T1"}, Authority.EMPLOYEE),
        ({"team_id": "T1", "is_admin": True}, Authority.ADMIN),
        ({"team_id": "T1", "is_owner": True}, Authority.ADMIN),
        ({"team_id": "T1", "is_primary_owner": True}, Authority.ADMIN),
        ({"team_id": "T1", "is_restricted": True}, Authority.GUEST),
        ({"team_id": "T1", "is_restricted": True, "is_ultra_restricted": True}, Authority.GUEST),
        ({"team_id": "T1", "is_invited_user": True}, Authority.GUEST),
        ({"team_id": "T1", "is_stranger": True, "is_admin": True}, Authority.STRANGER),
        ({"team_id": "T1", "deleted": True}, Authority.STRANGER),
        ({"team_id": "T1", "is_bot": True}, Authority.STRANGER),
        ({"team_id": "T2", "is_admin": True}, Authority.STRANGER),
        ({"team_id": "T2", "enterprise_user": {"teams": ["T2", "T1"]}}, Authority.EMPLOYEE),
        ({}, Authority.STRANGER),
    ],
)
def test_what_somebody_is_comes_from_slacks_facts_and_the_narrowest_one_counts(
    facts: dict[str, Any], authority: Authority
) -> None:
    member = member_of(US, "U1", facts)
    assert member.authority is authority
    assert member.full is (authority >= Authority.EMPLOYEE)


async def test_a_message_says_what_its_author_is_and_where(slack: FakeSlack) -> None:
    guest = slack.state.user("gus", is_restricted=True)
    boss = slack.state.user("cat", is_owner=True)
    slack.state.channels[GENERAL].members |= {guest, boss}
    host = recording_host()
    async with serving(slack, host):
        for user in (ANN, guest, boss):
            await slack.say(user, GENERAL, f"{ME} hello")
        await slack.settled()
    assert [(asked.authority, asked.team) for asked in host.taken] == [
        (Authority.EMPLOYEE, "T0TEAM"),
        (Authority.GUEST, "T0TEAM"),
        (Authority.ADMIN, "T0TEAM"),
    ]


async def test_a_refusal_shows_to_its_person_alone_and_the_event_is_acknowledged(slack: FakeSlack) -> None:
    async with serving(slack, recording_host(access=DENIED)):
        root = await slack.say(ANN, GENERAL, "between us")
        await slack.say(BOB, GENERAL, f"{ME} hello", root.ts)
        await slack.settled()
    [ephemeral] = slack.state.ephemerals
    assert (ephemeral.user, ephemeral.text, ephemeral.thread_ts) == (BOB, CLOSED, root.ts)
    assert not slack.state.answers(GENERAL)


async def test_a_refused_mention_is_one_line_in_the_log_though_it_comes_as_two_events(
    slack: FakeSlack, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with serving(slack, recording_host(access=DENIED)):
        await slack.say(BOB, GENERAL, f"{ME} hello")
        await slack.settled()
    assert [line for line in caplog.messages if "refused" in line] == [f"a message was refused: {CLOSED}"]


async def test_who_was_told_just_now_is_not_told_again(slack: FakeSlack) -> None:
    dm = slack.state.channel("bob", "im")
    async with serving(slack, recording_host(access=DENIED)):
        for words in ("hello", "hello?"):
            await slack.say(BOB, dm, words)
            await slack.settled()
    assert [(ephemeral.user, ephemeral.text) for ephemeral in slack.state.ephemerals] == [(BOB, CLOSED)]
    assert not slack.state.answers(dm)


async def test_a_command_is_always_answered_and_leaves_no_question_behind(slack: FakeSlack) -> None:
    async with serving(slack, recording_host(access=DENIED)):
        await slack.say(BOB, GENERAL, f"{ME} hello?")
        await slack.settled()
        await slack.command(BOB, GENERAL, "/ask", "hello?")
        await slack.settled()
    assert [(ephemeral.user, ephemeral.text) for ephemeral in slack.state.ephemerals] == [(BOB, CLOSED)] * 2
    assert not slack.state.answers(GENERAL)


async def test_a_refusal_that_cannot_be_said_is_let_be(slack: FakeSlack) -> None:
    host, dm = recording_host(access=DENIED), slack.state.channel("bob", "im")
    slack.faults["chat.postEphemeral"].append(Fault(error="user_not_in_channel"))
    slack.faults["chat.postMessage"].append(Fault(error="cannot_dm_bot"))
    async with serving(slack, host):
        await slack.say(BOB, dm, "hello")
        await slack.settled()
        await slack.say(ANN, DM, "again")
        await slack.settled()
    assert [asked.text for asked in host.taken] == ["again"]


# Budgets


def test_mentions_become_ids() -> None:
    assert budget_ids("<@W7> <#G1|x> &lt;3", US) == "person:slack:T1:W7 channel:G1 &lt;3"


async def test_budget_is_answered_in_private_as_a_command_and_in_words(slack: FakeSlack) -> None:
    host = recording_host(operators={f"{TEAM}:{ANN}"})
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/budget", f"<@{BOB}> exempt")
        await slack.settled()
        await slack.say(ANN, GENERAL, f"{ME} budget everyone")
        await slack.settled()
    nothing = "today (UTC): 0 tokens (no limit), $0 (no limit)."
    assert [(each.user, each.text) for each in slack.state.ephemerals] == [
        (ANN, f"@bob, {nothing}"),
        (ANN, f"Everyone, {nothing}"),
    ]
    assert host.store.chosen[f"{TEAM}:{BOB}"] == {"budget.exempt": "yes"}
    assert not host.taken


# Policies


async def test_policy_is_about_the_channel_where_it_is_asked_or_in_a_direct_message_about_the_workspace(
    slack: FakeSlack,
) -> None:
    boss, guest = slack.state.user("boss", is_admin=True), slack.state.user("guest", is_restricted=True)
    host, dm = recording_host(), slack.state.channel("guest", "im")
    slack.state.channels[SECRET].members.add(boss)
    async with serving(slack, host):
        for person, channel, words in (
            (boss, GENERAL, "set limit: 3 &lt; 5"),
            (boss, SECRET, "set tea: at five"),
            (ANN, SECRET, ""),
            (ANN, DM, ""),
            (guest, dm, ""),
            (ANN, GENERAL, "set limit: none"),
        ):
            await slack.command(person, channel, "/policy", words)
            await slack.settled()
    team, secret = "- **1** limit: 3 \\< 5 (set 2026-01-05", "- **2** tea: at five (set 2026-01-05"
    shown = [each.text for each in slack.state.ephemerals]
    assert [(team in text, secret in text) for text in shown] == [
        (True, False),
        (False, True),
        (False, True),
        (True, False),
        (False, False),
        (False, False),
    ]
    assert shown[4].startswith("There are no policies here.")
    assert shown[5] == "Only managers, admins, and operators can set or remove rules for others."
    assert not host.taken


# Lists and rates hold for everything


async def test_a_denied_person_stops_nothing_and_orders_nothing(slack: FakeSlack) -> None:
    host = recording_host(access=DENIED)
    async with serving(slack, host):
        root = await slack.say(ANN, GENERAL, f"{ME} count to a million")
        await slack.settled()
        await slack.say(BOB, GENERAL, f"{ME} stop", root.ts)
        await slack.say(BOB, GENERAL, "stop", root.ts)
        await slack.say(BOB, GENERAL, f"{ME} usage", root.ts)
        for command in ("/stop", "/memory", "/usage", "/model", "/budget", "/policy"):
            await slack.command(BOB, GENERAL, command)
        await slack.settled()
        await slack.until(lambda: len(slack.state.ephemerals) == 7)  # once for what was written, and for each command
    assert not host.stopped
    assert {ephemeral.text for ephemeral in slack.state.ephemerals} == {CLOSED}


async def test_a_denied_persons_press_of_slacks_own_stop_button_stops_nothing(slack: FakeSlack) -> None:
    host = recording_host(access=DENIED)
    async with serving(slack, host):
        asked = await slack.say(ANN, GENERAL, f"{ME} count to a million")
        await slack.settled()
        event = {"type": "agent_session_stopped", "channel": GENERAL, "thread_ts": asked.ts, "event_ts": "8.0"}
        await slack.acked(await slack.deliver(slack.envelope({**event, "user": BOB})))
        assert not host.stopped
        await slack.acked(await slack.deliver(slack.envelope({**event, "user": ANN})))
    assert host.stopped == [f"{TEAM}:{GENERAL}:{asked.ts}"]


async def test_a_denied_person_still_has_their_own_words_forgotten(slack: FakeSlack) -> None:
    host = recording_host(access=DENIED)
    async with serving(slack, host):
        await slack.command(BOB, GENERAL, "/forget", "everything")
        await slack.settled()
        await slack.until(lambda: slack.state.ephemerals)
    assert "access" not in slack.state.ephemerals[0].text


async def test_nothing_is_posted_for_somebody_who_may_not_ask(slack: FakeSlack) -> None:
    host = recording_host(access=DENIED)
    async with serving(slack, host):
        await slack.command(BOB, GENERAL, "/ask", "hello?")
        await slack.settled()
        await slack.until(lambda: slack.state.ephemerals)
    assert not slack.state.called("chat.postMessage")
    assert not host.taken


# Unknown is not no


@pytest.mark.parametrize(
    "faults",
    [
        [Fault(500)],
        [Fault(429, "ratelimited", "1")],
        [Fault(error="missing_scope")] * 3,
        [Fault(error="fatal_error")] * 2,
    ],
)
async def test_a_question_of_whom_slack_does_not_tell_waits_and_is_tried_again(
    slack: FakeSlack, faults: list[Fault], caplog: pytest.LogCaptureFixture
) -> None:
    host = recording_host(access=AccessRules())
    slack.faults["users.info"].extend(faults)
    async with serving(slack, host):
        await slack.say(ANN, DM, "hello")
        await slack.settled()
        await slack.until(lambda: host.taken)
        await slack.until(lambda: not host.store.chosen.get(f"owed:{TEAM}"))
    assert [(asked.text, asked.authority) for asked in host.taken] == [("hello", Authority.EMPLOYEE)]
    assert not any(ephemeral.text.startswith("I can only answer members") for ephemeral in slack.state.ephemerals)
    waits = [line for line in caplog.messages if "until Slack says who wrote them" in line]
    assert len(waits) == 1


async def test_somebody_whom_slack_does_not_know_is_a_stranger_at_once(slack: FakeSlack) -> None:
    host = recording_host()
    slack.faults["users.info"].append(Fault(error="user_not_visible"))
    async with serving(slack, host):
        await slack.say(ANN, DM, "hello")
        await slack.settled()
    assert host.taken[0].authority is Authority.STRANGER


def test_nothing_is_waited_for_longer_than_slack_waits_for_its_acknowledgement() -> None:
    assert max(ACK_S, interactions.ACK_S) <= SLACK_WAITS_S - 0.5, "what was found must still be stored"


async def test_whatever_slack_does_an_event_is_acknowledged_in_time_and_answered_once_it_tells(
    slack: FakeSlack,
) -> None:
    host, slack.stalled["users.info"] = recording_host(), asyncio.Event()
    async with serving(slack, host):
        await slack.say(ANN, DM, "hello")
        await slack.acknowledged()  # while it is stalled
        assert not host.taken
        assert host.store.chosen[f"owed:{TEAM}"]
        slack.stalled["users.info"].set()
        await slack.until(lambda: host.taken)
        await slack.until(lambda: not host.store.chosen.get(f"owed:{TEAM}"))
    assert [asked.text for asked in host.taken] == ["hello"]


async def test_what_was_acknowledged_and_not_taken_in_is_read_again_by_the_next_process(slack: FakeSlack) -> None:
    host, slack.stalled["users.info"] = recording_host(), asyncio.Event()
    async with serving(slack, host):
        await slack.say(ANN, DM, "hello")
        await slack.acknowledged()
    assert not host.taken
    slack.stalled.pop("users.info").set()
    async with serving(slack, host):
        await slack.until(lambda: host.taken)
        await slack.until(lambda: not host.store.chosen.get(f"owed:{TEAM}"))
    assert [asked.text for asked in host.taken] == ["hello"]


async def test_a_command_is_acknowledged_in_time_whatever_slack_does(slack: FakeSlack) -> None:
    host, slack.stalled["users.info"] = recording_host(), asyncio.Event()
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, GENERAL, "/ask", "hello?"))  # while it is stalled
        slack.stalled["users.info"].set()
        await slack.until(lambda: host.taken)
    assert [asked.text for asked in host.taken] == ["hello?"]


async def test_a_model_that_is_kept_for_a_team_is_offered_to_the_team(slack: FakeSlack) -> None:
    for team, offered in (("T0TEAM", True), ("T0OTHER", False)):
        access = AccessRules(models=parse_model_access(json.dumps({OTHER: f"team:{team}"})))
        async with serving(slack, recording_host(access=access)):
            await slack.command(ANN, GENERAL, "/model")
            await slack.until(lambda: slack.state.ephemerals)
        assert (OTHER in slack.state.ephemerals.pop().text) is offered
