"""Profiles: their bounds (seed 000), their audiences, and their text in a context."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience, label, may_flow, may_flow_from
from agent.memory.profile import (
    FIELDS,
    KEYED,
    TEXT_CHARS,
    Insight,
    ProfileEntry,
    ProfileField,
    UserProfile,
    compress_for_injection,
    for_place,
    learned,
    opened,
    stated,
)
from agent.messages import estimate_tokens
from tests.examples import examples
from tests.fakes.incoming import START

DM = "person:ann"
ANN = UserProfile("ann")
F = ProfileField


def insight(field: ProfileField, text: str, number: int = 1, key: str = "") -> Insight:
    return Insight(field, text, (number,), START + timedelta(minutes=number), key)


def entry(field: ProfileField, text: str, number: int = 1, key: str = "", audience: str = DM) -> ProfileEntry:
    return ProfileEntry(number, field, text, audience, (number,), START + timedelta(minutes=number), key)


def learn(profile: UserProfile, *insights: Insight) -> UserProfile:
    return learned(profile, DM, insights, 1, START)


def many(field: ProfileField, count: int) -> list[Insight]:
    return [insight(field, f"thing {n}", n, f"key {n}") for n in range(1, count + 1)]


def test_seed_000_the_bounds_are_those_of_the_specification() -> None:
    assert [FIELDS[field].bound for field in (F.GOALS, F.EXPERTISE_AREAS, F.PROJECTS)] == [10, 15, 10]
    assert [FIELDS[field].bound for field in (F.PREFERENCES, F.INTERESTS, F.CONSTRAINTS)] == [20, 15, 10]
    assert [FIELDS[field].bound for field in (F.SUCCESS_PATTERNS, F.FAILURE_PATTERNS)] == [5, 5]
    assert FIELDS.keys() == set(ProfileField)


@pytest.mark.parametrize("field", list(ProfileField))
def test_seed_000_every_collection_is_bounded_and_the_oldest_goes_first(field: ProfileField) -> None:
    profile = learn(ANN, *many(field, 30))
    newest = [f"thing {n}" for n in range(31 - FIELDS[field].bound, 31)]
    assert [entry.text for entry in profile.entries] == newest


def texts(profile: UserProfile, field: ProfileField) -> list[str]:
    return [entry.text for entry in profile.of(field)]


@given(st.lists(st.tuples(st.sampled_from(list(F)), st.text(max_size=5), st.text(max_size=3)), max_size=80))
def test_seed_000_no_sequence_of_insights_breaks_a_bound(found: Sequence[tuple[ProfileField, str, str]]) -> None:
    insights = [insight(field, text, number, key) for number, (field, text, key) in enumerate(found)]
    profile = learn(ANN, *insights)
    for field, rules in FIELDS.items():
        assert len(profile.of(field)) <= rules.bound
    for field in KEYED:
        keys = [" ".join(entry.key.casefold().split()) for entry in profile.of(field)]
        assert len(keys) == len(set(keys))


def test_seed_000_all_fields_are_there() -> None:
    profile = learn(ANN, *(insight(field, f"my {field}", key="k" if field in KEYED else "") for field in ProfileField))
    assert profile.user_id == "ann"
    for field in ProfileField:
        key = "k" if field in KEYED else ""
        assert [(one.key, one.text) for one in profile.of(field)] == [(key, f"my {field}")]
    assert (profile.created_at, profile.last_updated, profile.interaction_count) == (START, START, 1)


def test_what_is_said_again_is_one_entry_with_all_its_sources() -> None:
    profile = learn(learn(ANN, insight(F.GOALS, "Learn Rust", 1)), insight(F.GOALS, "learn  rust", 2))
    [kept] = profile.entries
    assert (kept.text, kept.sources, kept.time) == ("Learn Rust", (1, 2), START + timedelta(minutes=2))


def test_a_new_value_of_a_preference_stands_in_place_of_the_old_one_with_its_own_source() -> None:
    profile = learn(
        learn(ANN, insight(F.PREFERENCES, "Vim", 1, "editor")), insight(F.PREFERENCES, "Emacs", 2, "Editor")
    )
    [kept] = profile.entries
    assert (kept.key, kept.text, kept.sources) == ("Editor", "Emacs", (2,))


def test_there_is_one_communication_style() -> None:
    profile = learn(ANN, insight(F.COMMUNICATION_STYLE, "short", 1), insight(F.COMMUNICATION_STYLE, "long", 2))
    assert texts(profile, F.COMMUNICATION_STYLE) == ["long"]
    assert len(profile.entries) == 1


def test_a_long_text_is_one_line_of_bounded_length() -> None:
    [kept] = learn(ANN, insight(F.GOALS, "many\nwords " * 100)).entries
    assert len(kept.text) <= TEXT_CHARS
    assert "\n" not in kept.text


READABLE = st.sets(st.sampled_from(["group:club", "group:board", "person:ann"]))
PLACES = st.sampled_from([PersonAudience("ann"), GroupAudience("club"), GroupAudience("board"), TeamAudience("t")])


@given(
    st.lists(PLACES, max_size=12),
    PLACES,
    st.sampled_from([None, "t"]),
    READABLE,
)
@settings(max_examples=examples(100))
def test_nothing_is_read_where_its_audience_may_not_flow(
    said: list[PersonAudience | GroupAudience | TeamAudience],
    here: PersonAudience | GroupAudience | TeamAudience,
    team: str | None,
    readable: set[str],
) -> None:
    entries = tuple(entry(F.GOALS, f"goal {n}", n, audience=label(place)) for n, place in enumerate(said))
    target = Place(here, team)
    read = for_place(replace(ANN, entries=entries), may_flow_from(target, readable))
    allowed = {f"goal {n}" for n, place in enumerate(said) if may_flow(place, target, readable)}
    assert set(texts(read, F.GOALS)) <= allowed
    assert len(texts(read, F.GOALS)) == min(len(allowed), FIELDS[F.GOALS].bound)
    assert set(compress_for_injection(read).entries) <= set(read.entries)


def test_where_several_audiences_may_flow_the_newest_value_is_read() -> None:
    entries = (
        entry(F.PREFERENCES, "Vim", 2, "editor", audience="group:club"),
        entry(F.PREFERENCES, "Emacs", 1, "editor"),
        entry(F.PREFERENCES, "tea", 3, "drink", audience="group:other"),
    )
    read = for_place(replace(ANN, entries=entries), {DM, "group:club"})
    assert [(one.key, one.text) for one in read.of(F.PREFERENCES)] == [("editor", "Vim")]


def test_seed_000_a_profile_is_injected_in_the_specified_order() -> None:
    entries = (
        entry(F.CONSTRAINTS, "no cloud", 1),
        entry(F.GOALS, "learn Rust", 2),
        entry(F.GOALS, "ship v2", 3),
        entry(F.PREFERENCES, "Vim", 4, "editor"),
        entry(F.COMMUNICATION_STYLE, "short answers", 5),
        entry(F.PROJECTS, "a boat", 6, "Apollo"),
        entry(F.EXPERTISE_AREAS, "SQL", 7),
    )
    injection = compress_for_injection(replace(ANN, entries=entries))
    assert injection.text.splitlines() == [
        "COMMUNICATION: short answers",
        "CURRENT GOALS: learn Rust; ship v2",
        "PREFERENCES: editor: Vim",
        "ACTIVE PROJECTS: Apollo: a boat",
        "EXPERTISE: SQL",
        "CONSTRAINTS: no cloud",
    ]
    assert injection.entries == entries


def test_an_empty_profile_is_nothing_in_a_context() -> None:
    assert compress_for_injection(ANN).text == ""


def test_an_entry_that_does_not_fit_is_left_out_whole_and_ends_nothing() -> None:
    entries = (entry(F.GOALS, "x" * 280, 1), entry(F.INTERESTS, "boats", 2))
    injection = compress_for_injection(replace(ANN, entries=entries), budget_tokens=20)
    assert injection.text == "INTERESTS: boats"
    assert [one.id for one in injection.entries] == [2]


@given(
    st.lists(st.tuples(st.sampled_from(list(F)), st.text(min_size=1, max_size=60)), max_size=40),
    st.integers(min_value=0, max_value=300),
)
def test_seed_000_an_injection_keeps_its_token_budget(found: list[tuple[ProfileField, str]], budget: int) -> None:
    profile = learn(ANN, *(insight(field, text, n, f"k{n}") for n, (field, text) in enumerate(found)))
    injection = compress_for_injection(profile, budget)
    assert estimate_tokens(injection.text) <= budget


def test_what_the_person_stated_stays_theirs_when_it_is_said_again() -> None:
    own = replace(entry(F.INTERESTS, "sails on lakes", 7), sources=())
    again = learn(stated(ANN, own, START), insight(F.INTERESTS, "Sails on lakes", 9))
    assert [(one.id, one.text, one.sources) for one in again.entries] == [(7, "sails on lakes", ())]


def test_a_stated_entry_drops_no_other_until_something_is_learned() -> None:
    style = entry(F.COMMUNICATION_STYLE, "short")
    own = replace(entry(F.COMMUNICATION_STYLE, "long", 2), id=0, sources=())
    both = stated(replace(ANN, entries=(style,)), own, START)
    assert [one.text for one in both.entries] == ["short", "long"]
    assert texts(for_place(both, frozenset({DM})), F.COMMUNICATION_STYLE) == ["long"]


def test_what_is_opened_is_read_everywhere_until_it_is_closed_again() -> None:
    profile = replace(ANN, entries=(entry(F.GOALS, "sail", 1), entry(F.GOALS, "row", 2)))
    open_ = opened(profile, 1, everywhere=True)
    assert texts(for_place(open_, frozenset({"team:T"})), F.GOALS) == ["sail"]
    assert for_place(opened(open_, 1, everywhere=False), frozenset({"team:T"})).entries == ()
