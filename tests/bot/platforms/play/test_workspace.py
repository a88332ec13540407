"""The people and places of `cogency play`."""

from agent.memory.audience import GroupAudience, PersonAudience, TeamAudience, may_flow
from bot.platforms.play.workspace import CHANNELS, PEOPLE, PlayMembership, channel_named


def test_each_place_has_the_audience_of_those_who_read_it() -> None:
    assert CHANNELS["general"].place.audience == TeamAudience("play:workspace")
    assert CHANNELS["plans"].place.audience == GroupAudience("play:plans")
    assert CHANNELS["plans"].place.is_closed
    assert CHANNELS["dm-ben"].place.audience == PersonAudience("play:ben")
    for one in CHANNELS.values():
        assert may_flow(CHANNELS["general"].place.audience, one.place)
    for person in PEOPLE:
        others = [one.place for one in CHANNELS.values() if one.id != f"dm-{person}"]
        assert not any(may_flow(PersonAudience(f"play:{person}"), other) for other in others)


async def test_only_its_members_read_a_private_channel_and_what_is_unknown_nobody() -> None:
    members = PlayMembership()
    assert await members.readable("play:ann", ["play:plans", "play:other"]) == {"play:plans": True, "play:other": False}
    assert await members.readable("play:ben", ["play:plans"]) == {"play:plans": False}
    assert channel_named("#plans", "ben") is None
    assert channel_named("Plans", "ann") == CHANNELS["plans"]
    assert channel_named("dm-ann", "ann") is None
