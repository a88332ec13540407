"""Two workspaces of one organisation that share a channel: who may ask in it, and where what was said in it is used."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from agent.errors import SettingsError
from agent.memory.audience import GroupAudience, PersonAudience, TeamAudience
from bot.platforms.slack.apps import serve_apps
from bot.platforms.slack.options import SlackOptions
from tests.fakes.fast_clock import MovedClock
from tests.fakes.recording_host import recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_pair import ENTERPRISE, ONE, ORG_SHARED, Both, app_of, both, mention
from tests.fakes.slack_state import Workspace
from tests.fakes.slack_things import of_organization
from tests.patience import PATIENCE_S

# The channel is of the first workspace, as Ann is; Bea is of the second one.
TALK, ANN, BEA = "C0GENERALFAKE", "U0ANNFAKE", "U0ANNTWO"
TOLD = "remember my canoe, it is vermilion"


@asynccontextmanager
async def organisation() -> AsyncGenerator[Both]:
    async with both(enterprises=(ENTERPRISE, ENTERPRISE)) as world:
        world.one.share(TALK, world.two, **ORG_SHARED)
        world.one.users[BEA] = world.two.users[BEA]
        world.one.channels[TALK].members.add(BEA)
        yield world


async def ask(world: Both, user: str, channel: str, text: str, there: Workspace | None = None) -> list[str]:
    """What the model was given for this question."""
    asked, before = len(world.store.turns), len(world.model.requests)
    words = text if channel.startswith("D") else mention((there or world.one).who, text)
    await world.slack.say(user, channel, words)
    await world.done(asked + 1)
    return [message.text for request in world.model.requests[before:] for message in request]


def knows(given: list[str]) -> bool:
    return any("vermilion" in text for text in given)


async def test_a_member_of_another_workspace_of_the_organisation_asks_in_the_channel_that_they_share() -> None:
    async with organisation() as world:
        await ask(world, BEA, TALK, "and my canoe?")
        asked = world.store.turns[0].incoming
        assert (asked.source, asked.person.id) == ("slack:T0TEAM", f"slack:T0TEAM:{BEA}")
        assert asked.place.audience == GroupAudience(f"slack:T0TEAM:{TALK}")
        assert asked.organization == ""
        assert (world.answered(world.one), world.answered(world.two)) == (["Done."], [])


async def test_what_is_told_in_the_shared_channel_stays_with_those_who_read_it() -> None:
    async with organisation() as world:
        own, hall = world.one.channel("own", "im"), world.one.channel("hall")
        world.one.channels[hall].members.discard(BEA)
        await ask(world, ANN, TALK, TOLD)
        assert knows(await ask(world, ANN, TALK, "which colour has the canoe?")), "where it was told"
        assert knows(await ask(world, ANN, own, "which colour has the canoe?")), "she reads the channel"
        assert not knows(await ask(world, ANN, hall, "which colour has the canoe?")), "others of hers do not"
        assert not knows(await ask(world, BEA, "C0GENERALTWO", "which colour has the canoe?", world.two))
        assert not knows(await ask(world, BEA, "D0DMTWO", "which colour has the canoe?"))
        world.one.channels[TALK].members.discard(ANN)
        world.clock.ahead_s += 120
        assert not knows(await ask(world, ANN, own, "which colour has my canoe?")), "she reads it no more"


async def test_what_was_told_in_the_workspace_is_not_used_where_another_one_reads() -> None:
    async with organisation() as world:
        hall, own = world.one.channel("hall"), world.one.channel("own", "im")
        world.one.channels[hall].members.discard(BEA)
        await ask(world, ANN, hall, TOLD)
        assert knows(await ask(world, ANN, own, "which colour has the canoe?"))
        assert not knows(await ask(world, ANN, TALK, "which colour has the canoe?"))


async def test_a_private_answer_to_a_colleague_holds_nothing_of_the_workspace() -> None:
    async with organisation() as world:
        await world.slack.command(BEA, TALK, "/ask", "privately and my canoe?")
        await world.done(1)
        asked = world.store.turns[0].incoming
        assert (asked.place.audience, asked.organization) == (PersonAudience(f"slack:T0TEAM:{BEA}"), "")


async def test_an_app_of_a_whole_organisation_is_not_served_as_if_it_were_of_one_workspace() -> None:
    """Its token opens every workspace, and all of them would be one team that shares what was said in each."""
    async with FakeSlack(MovedClock()) as slack:
        slack.state.who = replace(slack.state.who, enterprise=ENTERPRISE, is_of_whole_organization=True)
        with pytest.raises(SettingsError, match="belongs to an app that is installed in a whole organization"):
            async with asyncio.timeout(PATIENCE_S):
                await serve_apps(recording_host(), [app_of(ONE, "one")], SlackOptions(slack.url), slack.clock)
        assert {call.method for call in slack.state.calls} == {"auth.test"}


# How Slack describes, to an app that a whole organisation has installed since, what happens in a workspace of it.
ORG_WIDE: dict[str, Any] = {
    "enterprise_id": ENTERPRISE,
    "context_enterprise_id": ENTERPRISE,
    "context_team_id": "T0TWO",
    "authorizations": [{"enterprise_id": ENTERPRISE, "team_id": None, "is_bot": True, "is_enterprise_install": True}],
}


@pytest.mark.parametrize("team", ["T0TWO", None, ENTERPRISE])
async def test_what_happens_in_another_workspace_of_the_organisation_is_answered_with_nothing_of_this_one(
    team: str | None,
) -> None:
    """Its person has an account in both. The first workspace's app hears of the other's channel, too."""
    async with organisation() as world:
        hall, own = world.one.channel("hall"), world.one.channel("own", "im")
        ann = world.one.user("member", **of_organization("T0TEAM", ENTERPRISE, "T0TWO"))
        world.two.users[ann], there = world.one.users[ann], "C0GENERALTWO"
        world.two.channels[there].members.add(ann)
        world.one.channels[hall].members.add(ann)
        world.one.channels[own].members.add(ann)
        await ask(world, ann, own, TOLD)
        await ask(world, ann, hall, TOLD)
        before, shown = len(world.model.requests), len(world.one.messages)
        text = mention(world.one.who, "which colour has my canoe?")
        event = {"type": "app_mention", "user": ann, "channel": there, "text": text, "ts": "1700000000.000100"}
        event |= {"user_team": "T0TWO", "source_team": "T0TWO", "team": "T0TWO"}
        await world.slack.deliver(world.slack.envelope(event, team_id=team, **ORG_WIDE))
        await world.done(3)
        (asked,) = (one.incoming for one in world.store.turns if one.incoming.channel == there)
        assert asked.place.audience == GroupAudience(f"slack:T0TEAM:{there}")
        given = [message.text for request in world.model.requests[before:] for message in request]
        assert not knows(given)
        assert not [one for one in world.one.messages[shown:] if one.channel == there], "its token opens no other"


async def test_with_slacks_name_of_the_organisation_a_member_still_asks_in_their_own_workspace() -> None:
    """Slack names the organisation in place of the workspace with some mentions."""
    async with organisation() as world:
        hall = world.one.channel("hall")
        world.one.channels[hall].members.discard(BEA)
        await ask(world, ANN, hall, "and my canoe?")
        assert world.store.turns[0].incoming.place.audience == TeamAudience("slack:T0TEAM")
