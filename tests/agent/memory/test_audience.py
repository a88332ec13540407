"""The audience rule over all places."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.memory.audience import (
    Audience,
    GroupAudience,
    PersonAudience,
    Place,
    TeamAudience,
    audience_of,
    label,
    may_flow,
    may_flow_from,
)
from tests.examples import examples

names = st.sampled_from(["a", "b", "c:d"])
audiences: st.SearchStrategy[Audience] = st.one_of(
    st.builds(PersonAudience, names), st.builds(GroupAudience, names), st.builds(TeamAudience, names)
)
places = st.builds(Place, audiences, st.none() | names)
readables = st.frozensets(st.one_of(st.builds(PersonAudience, names), st.builds(GroupAudience, names)).map(label))


@given(audiences)
@settings(max_examples=examples(100, always=True))
def test_a_label_reads_back_as_the_same_audience(audience: Audience) -> None:
    assert audience_of(label(audience)) == audience


@pytest.mark.parametrize("text", ["", "person", "person:", "everyone:x", "PERSON:x"])
def test_anything_else_is_not_a_label(text: str) -> None:
    with pytest.raises(ValueError, match="not an audience label"):
        audience_of(text)


@given(audiences, places, readables)
@settings(max_examples=examples(100, always=True))
def test_the_set_of_sources_says_the_same_as_the_rule(
    source: Audience, target: Place, readable: frozenset[str]
) -> None:
    assert (label(source) in may_flow_from(target, readable)) == may_flow(source, target, readable)


@given(audiences, places, readables)
@settings(max_examples=examples(100, always=True))
def test_what_was_said_to_the_bot_alone_flows_only_to_that_person_and_their_connected_accounts(
    source: Audience, target: Place, readable: frozenset[str]
) -> None:
    if isinstance(source, PersonAudience) and may_flow(source, target, readable):
        is_connected = isinstance(target.audience, PersonAudience) and label(source) in readable
        assert target.audience == source or is_connected


@given(audiences, places, readables)
@settings(max_examples=examples(100, always=True))
def test_a_group_flows_into_itself_and_to_a_person_who_can_read_it_now(
    source: Audience, target: Place, readable: frozenset[str]
) -> None:
    if isinstance(source, GroupAudience) and may_flow(source, target, readable):
        is_private = isinstance(target.audience, PersonAudience)
        assert target.audience == source or (is_private and label(source) in readable)


def test_a_public_channel_flows_into_a_place_of_full_members_and_not_past_a_guest() -> None:
    team = TeamAudience("t")
    members_only = Place(GroupAudience("g"), within_team="t")
    with_guest = Place(GroupAudience("g"), within_team=None)
    assert may_flow(team, members_only)
    assert not may_flow(team, with_guest)
