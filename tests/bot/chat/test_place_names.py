"""The names of channels: read once for all, again when one is missing or after an hour, and never waited for long."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.errors import CogencyError
from bot.chat.place_names import AGAIN_S, AGE_S, PlaceNames
from tests.fakes.clock import FakeClock
from tests.patience import PATIENCE_S


class Down(CogencyError):
    """The platform does not answer."""


@dataclass
class Platform:
    names: dict[str, str]
    down: bool = False
    asked: int = 0
    open: asyncio.Event = field(default_factory=asyncio.Event)
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.open.set()

    async def __call__(self) -> Mapping[str, str]:
        self.asked += 1
        await self.open.wait()
        self.answered.set()
        if self.down:
            raise Down("Nobody answers.")
        return dict(self.names)


async def test_all_names_of_a_platform_are_read_at_once_and_again_after_an_hour() -> None:
    slack, discord, clock = Platform({"C1": "#general", "C2": "#plans"}), Platform({"7": "#talk"}), FakeClock()
    names = PlaceNames({"slack:T1": slack, "discord": discord}, clock)
    assert await names.of({"C1", "7"}) == {"C1": "#general", "7": "#talk"}
    assert await names.of({"C2"}) == {"C2": "#plans"}
    slack.names["C2"] = "#strategy"
    await clock.advance(AGE_S - 1)
    assert await names.of({"C2"}) == {"C2": "#plans"}
    assert (slack.asked, discord.asked) == (1, 1)
    await clock.advance(1)
    assert await names.of({"C2"}) == {"C2": "#strategy"}


async def test_an_unknown_name_is_asked_for_once_a_minute_at_most() -> None:
    slack, clock = Platform({"C1": "#general"}), FakeClock()
    names = PlaceNames({"slack:T1": slack}, clock)
    for _ in range(9):
        assert await names.of({"C9"}) == {}
    assert slack.asked == 1
    slack.names["C9"] = "#new"
    await clock.advance(AGAIN_S)
    assert await names.of({"C9"}) == {"C9": "#new"}


async def test_a_platform_that_does_not_answer_keeps_the_names_that_were_known() -> None:
    slack, clock = Platform({"C1": "#general"}), FakeClock()
    names = PlaceNames({"slack:T1": slack}, clock)
    await names.of({"C1"})
    slack.down = True
    await clock.advance(AGE_S)
    assert await names.of({"C1"}) == {"C1": "#general"}


async def test_a_slow_platform_is_not_waited_for_and_the_next_page_has_its_names() -> None:
    slack, clock = Platform({"C1": "#general"}), FakeClock()
    slack.open.clear()
    names = PlaceNames({"slack:T1": slack}, clock, wait_s=0.01)
    assert await names.of({"C1"}) == {}
    slack.open.set()
    async with asyncio.timeout(PATIENCE_S):
        await slack.answered.wait()
    assert (await names.of({"C1"}), slack.asked) == ({"C1": "#general"}, 1)
