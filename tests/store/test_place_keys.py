"""Channels' own keys for services of models: one for each service, and gone with their channel."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.memory.audience import GroupAudience, TeamAudience
from agent.memory.forgetting_plans import Everything, Gone
from agent.messages import ModelCall, Usage
from agent.ports.place_keys import StoredPlaceKey
from agent.spending import CHANNELS_KEY, OPERATORS_KEY, By, SpendingPeriod
from store.data_subjects import PlaceSubject
from store.engine import Store
from store.subject_access import data_subjects_in
from tests.fakes.incoming import START

OPENAI = StoredPlaceKey("slack:T1", "C1", GroupAudience("slack:T1:C1"), "openai", b"sealed", "…wxyz", "mark", START)
GEMINI = replace(OPENAI, vendor="gemini", mark="another")


async def test_a_channel_has_one_key_for_each_service(either: Store) -> None:
    keys = either.place_keys
    for key in (OPENAI, GEMINI, replace(OPENAI, channel="C2", mark="elsewhere")):
        await keys.put(key)
    newer = replace(OPENAI, sealed=b"newer", mark="newer", added=START + timedelta(days=1))
    await keys.put(newer)
    assert await keys.of("slack:T1", "C1") == [GEMINI, newer]
    assert await keys.of("slack:T2", "C1") == []
    assert [key.mark for key in await keys.all(9)] == ["another", "newer", "elsewhere"]
    assert (await keys.marked("mark"), await keys.marked("newer")) == (None, newer)
    assert await keys.drop("slack:T1", "C1", "openai")
    assert not await keys.drop("slack:T1", "C1", "openai")
    assert await keys.of("slack:T1", "C1") == [GEMINI]


async def test_that_a_key_is_refused_is_new_once_until_it_is_accepted_or_replaced(either: Store) -> None:
    keys = either.place_keys
    await keys.put(OPENAI)
    assert await keys.refuse("mark", START)
    assert not await keys.refuse("mark", START + timedelta(hours=1))
    assert [key.refused for key in await keys.of("slack:T1", "C1")] == [START]
    await keys.accept("mark")
    assert await keys.refuse("mark", START)
    await keys.put(replace(OPENAI, mark="newer"))
    assert not await keys.refuse("mark", START), "its key was replaced"
    assert [key.refused for key in await keys.of("slack:T1", "C1")] == [None]


@pytest.mark.parametrize(
    ("plan", "left"),
    [
        (Gone(channels=frozenset({"C1"}), within="slack:T1"), {"other", "team"}),
        (Gone(channels=frozenset({"C1"}), within="slack:T2"), {"mark", "team"}),
        (Gone(channels=frozenset({"C2"})), {"mark", "other"}),
        (Gone(sources=frozenset({"slack:T1"})), {"other"}),
        (Gone(audiences=frozenset({"team:slack:T1"}), within="slack:T1"), {"mark", "other"}),
        (Everything("slack:T1:U1"), {"mark", "other", "team"}),
    ],
    ids=["its channel", "the same id elsewhere", "a channel of Discord", "its workspace", "its server", "a person"],
)
async def test_a_key_is_erased_with_its_place(either: Store, plan: Gone | Everything, left: set[str]) -> None:
    for key in (
        OPENAI,
        replace(OPENAI, source="slack:T2", audience=GroupAudience("slack:T2:C1"), mark="other"),
        replace(OPENAI, channel="C2", audience=TeamAudience("slack:T1"), mark="team"),
    ):
        await either.place_keys.put(key)
    await either.forgetting.forget(plan, START)
    assert {key.mark for key in await either.place_keys.all(9)} == left


async def test_a_channels_key_is_exported_without_the_key(store: Store) -> None:
    await store.place_keys.put(OPENAI)
    subject = PlaceSubject("slack:T1:C1", Gone(channels=frozenset({"C1"}), within="slack:T1"))
    exported = (await (await data_subjects_in(store)).page(subject, "model_keys")).rows
    shown = {"source": "slack:T1", "channel": "C1", "vendor": "openai", "ending": "…wxyz"}
    assert exported == [shown | {"added": START.isoformat(), "refused": None}]


async def test_usage_is_summed_by_whose_key_paid(either: Store) -> None:
    calls = [ModelCall("m", Usage(output=3), own_key=own) for own in (True, True, False)]
    await either.spending.charge("slack:T1:U1", "turn", calls, START, "C1")
    totals = await either.spending.totals(SpendingPeriod.days_until(START, 1), By.KEY)
    assert {total.key: total.spent.calls for total in totals} == {CHANNELS_KEY: 2, OPERATORS_KEY: 1}
