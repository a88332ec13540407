"""What is known where of what somebody told the bot elsewhere, on each platform."""

import pytest

from bot.chat.caches import MAX_AGE_S
from tests.fakes.canoe import answer
from tests.flows.talks import Talk, talk_in, talking
from tests.flows.worlds import WORLDS, AnyWorld, Page, Who, World

pytestmark = pytest.mark.parametrize("open_world", WORLDS)

NOTED, SAID = "remember my canoe, it is vermilion", "my canoe is vermilion"
DM, CHANNEL, SECRET = "in direct messages", "in the channel", "where few read it"
ASKER, OTHER = Who.ASKER, Who.OTHER
PLACES = [(who, where) for where in (DM, CHANNEL, SECRET) for who in (ASKER, OTHER)]


async def tell(talk: Talk[World], text: str, who: Who, where: str, below: Page | None = None) -> None:
    """Say it to the bot there, and wait for the answer."""
    turns = len(talk.store.turns) + 1
    if where == DM:
        await talk.world.write(text, who)
    elif where == SECRET:
        await talk.world.ask_in_secret(text, who)
    else:
        await talk.world.ask(text, below, who)
    await talk.ended(turns)


async def knows(talk: Talk[World], who: Who, where: str, below: Page | None = None) -> bool:
    """Whether the model is given anything vermilion when this person asks there."""
    before = len(talk.model.requests)
    await tell(talk, "which colour has the thing?", who, where, below)
    requests = talk.model.requests[before:]
    assert any("<results>" in request[-1].text for request in requests), "it was looked for"
    return any("vermilion" in message.text for request in requests for message in request)


async def knowing(talk: Talk[World]) -> list[tuple[Who, str]]:
    """In which places which person would be told of it."""
    return [place for place in PLACES if await knows(talk, *place)]


@pytest.mark.parametrize("words", [NOTED, SAID])
async def test_what_was_told_in_a_dm_is_known_there_and_nowhere_else(open_world: AnyWorld, words: str) -> None:
    async with talking(open_world, answer) as talk:
        await tell(talk, words, ASKER, DM)
        assert await knowing(talk) == [(ASKER, DM)]


async def test_what_is_noted_in_a_dm_is_known_in_it_after_a_restart(open_world: AnyWorld) -> None:
    async with talk_in(open_world, answer) as talk:
        async with talk.running():
            await tell(talk, NOTED, ASKER, DM)
        async with talk.running():
            assert await knows(talk, ASKER, DM)
            assert not await knows(talk, OTHER, DM)


async def test_in_somebody_elses_thread_nothing_of_a_dm_is_known(open_world: AnyWorld) -> None:
    async with talking(open_world, answer) as talk:
        await tell(talk, NOTED, ASKER, DM)
        question = await talk.world.ask("hello", who=OTHER)
        await talk.ended(2)
        assert not await knows(talk, ASKER, CHANNEL, question)
        assert not await knows(talk, OTHER, CHANNEL, question)


async def test_what_was_told_in_a_private_channel_is_known_to_its_reader_in_their_dm_until_they_are_no_longer_one(
    open_world: AnyWorld,
) -> None:
    async with talking(open_world, answer) as talk:
        await tell(talk, NOTED, ASKER, SECRET)
        assert await knowing(talk) == [(ASKER, DM), (ASKER, SECRET)]
        await talk.world.leave_secret()
        talk.world.clock.ahead_s += MAX_AGE_S + 1
        assert not await knows(talk, ASKER, DM)
