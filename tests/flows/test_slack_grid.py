"""Two workspaces of one organisation that share a channel: who may ask in it, and where what was said in it is used."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agent.memory.audience import GroupAudience, PersonAudience, TeamAudience
from tests.fakes.slack_pair import ENTERPRISE, ORG_SHARED, Both, both, mention
from tests.fakes.slack_state import Workspace

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


async def test_with_slacks_name_of_the_organisation_a_member_still_asks_in_their_own_workspace() -> None:
    """Slack names the organisation in place of the workspace with some mentions."""
    async with organisation() as world:
        hall = world.one.channel("hall")
        world.one.channels[hall].members.discard(BEA)
        await ask(world, ANN, hall, "and my canoe?")
        assert world.store.turns[0].incoming.place.audience == TeamAudience("slack:T0TEAM")
