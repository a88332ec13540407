"""Who can read a group place now: the platform's answer, cached for a minute; unknown counts as no."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience
from bot.chat.access.readers import MAX_GROUPS, Readers
from bot.chat.caches import MAX_AGE_S
from tests.fakes.clock import FakeClock
from tests.fakes.membership import FakeMembership
from tests.patience import PATIENCE_S

ANN = Place(PersonAudience("slack:T:ann"), within_team="slack:T")
CLUB, CREW = "slack:T:club", "slack:T:crew"


def readers(clock: FakeClock, *places: str, **platforms: FakeMembership) -> Readers:
    async def written_in(person: str, most: int) -> Sequence[str]:  # noqa: ARG001 -- the same for all
        return places[:most]

    return Readers(written_in, clock, {"slack:T" if name == "slack" else name: one for name, one in platforms.items()})


async def test_of_the_places_where_a_person_wrote_only_readable_ones_count() -> None:
    slack = FakeMembership({CLUB: {"slack:T:ann"}, CREW: {"slack:T:bob"}})
    known = readers(FakeClock(), CLUB, CREW, slack=slack)
    assert await known.also_readable(ANN) == {f"group:{CLUB}"}
    assert await known.audiences(ANN) == {"person:slack:T:ann", "team:slack:T", f"group:{CLUB}"}


async def test_in_a_shared_place_no_platform_is_asked() -> None:
    slack = FakeMembership({CLUB: {"slack:T:ann"}})
    known = readers(FakeClock(), CLUB, slack=slack)
    for place in (Place(GroupAudience(CREW)), Place(TeamAudience("slack:T"), within_team="slack:T")):
        assert await known.also_readable(place) == frozenset()
    assert slack.asked == []


async def test_an_answer_is_valid_for_a_minute_from_the_request() -> None:
    clock, slack = FakeClock(), FakeMembership({CLUB: {"slack:T:ann"}})
    known = readers(clock, CLUB, slack=slack)
    assert await known.also_readable(ANN) == {f"group:{CLUB}"}
    slack.readers[CLUB].clear()
    await clock.advance(MAX_AGE_S - 0.1)
    assert await known.also_readable(ANN) == {f"group:{CLUB}"}
    await clock.advance(0.1)
    assert await known.also_readable(ANN) == frozenset()
    assert len(slack.asked) == 2


async def test_an_unknown_place_counts_as_unreadable_and_is_asked_about_again() -> None:
    slack = FakeMembership({CLUB: {"slack:T:ann"}, CREW: {"slack:T:ann"}}, silent={CLUB})
    known = readers(FakeClock(), CLUB, CREW, slack=slack)
    assert await known.also_readable(ANN) == {f"group:{CREW}"}
    slack.silent.clear()
    assert await known.also_readable(ANN) == {f"group:{CLUB}", f"group:{CREW}"}
    assert [places for _, places in slack.asked] == [(CLUB, CREW), (CLUB,)]


@pytest.mark.slow
async def test_a_platform_that_does_not_answer_delays_no_reply() -> None:
    class Silent:
        async def readable(self, person: str, places: Sequence[str]) -> Mapping[str, bool]:  # noqa: ARG002 -- silent
            await asyncio.Event().wait()
            raise AssertionError

    async def written_in(person: str, most: int) -> Sequence[str]:  # noqa: ARG001 -- the same for all
        return [CLUB]

    async with asyncio.timeout(PATIENCE_S):
        assert await Readers(written_in, FakeClock(), {"slack:T": Silent()}).also_readable(ANN) == frozenset()


async def test_a_platform_is_asked_about_its_own_people_and_places_only() -> None:
    slack, discord = FakeMembership(), FakeMembership({"discord:20": {"slack:T:ann"}})
    known = readers(FakeClock(), CLUB, "discord:20", "slack:T2:club", "elsewhere", slack=slack, discord=discord)
    assert await known.also_readable(ANN) == frozenset()
    assert await known.also_readable(Place(PersonAudience("terminal:ann"))) == frozenset()
    assert (slack.asked, discord.asked) == ([("slack:T:ann", (CLUB,))], [])


async def test_the_number_of_places_asked_about_is_limited() -> None:
    slack = FakeMembership()
    await readers(FakeClock(), *(f"slack:T:{n}" for n in range(MAX_GROUPS + 5)), slack=slack).also_readable(ANN)
    assert len(slack.asked[0][1]) == MAX_GROUPS
