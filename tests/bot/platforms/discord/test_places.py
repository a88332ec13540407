"""Who can read a Discord channel: anything unknown is a group of its own."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience
from bot.platforms.discord.places import ChannelFacts, place_of, private_place

OPEN = ChannelFacts(20, guild=10, everyone_reads=True, someone_denied=False)
facts = st.builds(ChannelFacts, id=st.just(20))


def test_a_channel_that_every_member_reads_is_its_servers() -> None:
    assert place_of(OPEN) == Place(TeamAudience("discord:10"), within_team="discord:10")


@pytest.mark.parametrize("fact", ["private_thread", "age_restricted", "someone_denied"])
def test_a_channel_that_keeps_somebody_out_is_a_group_of_the_servers_members(fact: str) -> None:
    closed = replace(OPEN, **{fact: True})
    assert place_of(closed) == Place(GroupAudience("discord:20"), within_team="discord:10")


def test_voice_channels_have_guests() -> None:
    assert place_of(replace(OPEN, voice=True)) == Place(GroupAudience("discord:20"))


def test_outside_a_known_server_nothing_is_assumed() -> None:
    assert place_of(replace(OPEN, guild=None)) == Place(GroupAudience("discord:20"))
    assert place_of(ChannelFacts(20)) == Place(GroupAudience("discord:20"))


@given(facts)
def test_only_what_is_open_to_everyone_is_the_servers(channel: ChannelFacts) -> None:
    place = place_of(channel)
    is_open = channel.everyone_reads and not (
        channel.private_thread or channel.voice or channel.age_restricted or channel.someone_denied
    )
    assert isinstance(place.audience, TeamAudience) == (is_open and channel.guild is not None)


def test_what_only_one_person_sees_is_theirs_and_within_a_server_only_as_its_member() -> None:
    assert private_place("discord:41") == Place(PersonAudience("discord:41"))
    assert private_place("discord:41", 10) == Place(PersonAudience("discord:41"), within_team="discord:10")


@pytest.mark.parametrize("fact", ["age_restricted", "someone_denied", "voice"])
def test_a_channel_that_is_closed_keeps_what_it_held_to_itself(fact: str) -> None:
    assert place_of(replace(OPEN, **{fact: True})).whole_channel


def test_a_private_thread_and_an_unknown_channel_keep_nothing_of_their_channel() -> None:
    assert not place_of(replace(OPEN, private_thread=True)).whole_channel
    assert not place_of(replace(OPEN, guild=None)).whole_channel
    assert not place_of(OPEN).whole_channel
