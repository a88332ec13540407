"""Tokens of programs: found by a hash until they expire, gone when revoked, and with their person and place."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select

from agent.memory.audience import GroupAudience, PersonAudience, TeamAudience, label
from agent.memory.forgetting_plans import Everything, ForgettingPlan, Gone
from agent.ports.api_tokens import ApiToken, NewApiToken, Refreshing, TokenScope
from agent.spending import NANO, Money
from agent.stored_messages import Author
from agent.turn_kinds import TurnKind
from store.engine import Store
from store.message_tables import message
from tests.contracts.steps import answered
from tests.fakes.incoming import START, said

ANN, BOB = "slack:T1:U1", "slack:T1:U2"
SECRET_CHANNEL = GroupAudience("slack:T1:C1")
HERS = NewApiToken(
    hash="a",
    name="ide",
    person=ANN,
    audience=PersonAudience(ANN),
    source="slack:T1",
    channel="",
    scopes=frozenset({TokenScope.ASK, TokenScope.RECALL}),
    created=START,
    expires=START + timedelta(days=90),
    money_per_day=Money(2 * NANO),
    by_person=True,
)
OF_CHANNEL = replace(
    HERS, hash="c", name="ci", person="", audience=SECRET_CHANNEL, channel="C1", expires=None, by_person=False
)
OF_TEAM = replace(OF_CHANNEL, hash="t", name="web", audience=TeamAudience("slack:T1"), channel="C2")


async def _add(store: Store, new: NewApiToken) -> ApiToken:
    token = await store.api_tokens.add(new, 10)
    assert token is not None
    return token


async def test_a_token_is_found_by_its_hash_until_it_expires_or_is_revoked(either: Store) -> None:
    token = await _add(either, HERS)
    assert (token.definition, token.used, token.owner) == (HERS, None, ANN)
    assert await either.api_tokens.find("other", START) is None
    assert await either.api_tokens.find("a", START) == token
    later = START + timedelta(minutes=1)
    await either.api_tokens.mark_used(token.id, later)
    assert [one.used for one in await either.api_tokens.of_person(ANN)] == [later]
    assert await either.api_tokens.by_id(token.id, later) == replace(token, used=later)
    assert await either.api_tokens.find("a", START + timedelta(days=90)) is None
    assert await either.api_tokens.by_id(token.id, START + timedelta(days=90)) is None
    assert await either.api_tokens.revoke([token.id, 99]) == 1
    assert await either.api_tokens.find("a", START) is None
    assert (await _add(either, OF_CHANNEL)).id > token.id, "a service never inherits the id of another token"


@pytest.mark.parametrize("new", [HERS, replace(OF_CHANNEL, expires=HERS.expires)])
async def test_an_expired_token_takes_up_neither_its_name_nor_a_place(either: Store, new: NewApiToken) -> None:
    assert new.expires is not None
    old, endless = await _add(either, new), await _add(either, replace(new, hash="b", name="endless", expires=None))
    others = await _add(either, replace(new, hash="o", person=BOB, audience=PersonAudience(BOB)))
    again = replace(new, hash="n", created=new.expires, expires=None)
    before = replace(again, created=new.expires - timedelta(seconds=1))
    assert await either.api_tokens.add(before, 2) is None
    assert await either.api_tokens.add(replace(before, name="other"), 2) is None
    made = await either.api_tokens.add(again, 2)
    assert made is not None
    assert made.id > others.id
    assert {one.id for one in await either.api_tokens.all(9)} == {endless.id, others.id, made.id}
    assert old.id not in {made.id, others.id}


async def test_an_owner_has_few_tokens_each_with_its_own_name(either: Store) -> None:
    await _add(either, HERS)
    assert await either.api_tokens.add(replace(HERS, hash="b"), 10) is None
    assert await either.api_tokens.add(replace(HERS, hash="b", name="other"), 1) is None
    bobs = await _add(either, replace(HERS, hash="b", person=BOB, audience=PersonAudience(BOB)))
    service = await _add(either, OF_CHANNEL)
    assert [one.id for one in await either.api_tokens.of_person(BOB)] == [bobs.id]
    assert await either.api_tokens.of_person("") == [], "services are nobody's"
    assert [one.definition.name for one in await either.api_tokens.all(10)] == ["ide", "ide", "ci"]
    assert (service.is_service, service.owner) == (True, f"slack:T1:api-{service.id}")


@pytest.mark.parametrize(
    ("plan", "left"),
    [
        (Everything(ANN), {"ci", "web", "bobs"}),
        (Gone(channels=frozenset({"C1"}), within="slack:T1"), {"ide", "web", "bobs"}),
        (Gone(channels=frozenset({"C1"})), {"ide", "web", "bobs"}),
        (Gone(channels=frozenset({"C1"}), within="slack:T2"), {"ide", "ci", "web", "bobs"}),
        (Gone(audiences=frozenset({label(SECRET_CHANNEL)})), {"ide", "web", "bobs"}),
        (Gone(sources=frozenset({"slack:T1"})), {"bobs"}),
    ],
)
async def test_a_token_falls_with_its_person_and_with_its_place(
    store: Store, plan: ForgettingPlan, left: set[str]
) -> None:
    for new in (HERS, OF_CHANNEL, OF_TEAM):
        await _add(store, new)
    elsewhere = "slack:T2:U1"
    await _add(store, replace(HERS, hash="b", name="bobs", person=elsewhere, source="slack:T2"))
    receipt = await store.forgetting.forget(plan, START)
    assert {one.definition.name for one in await store.api_tokens.all(10)} == left
    assert receipt.erased.get("tokens", 0) == 4 - len(left)


async def test_what_a_person_asked_by_a_program_falls_with_their_workspace_and_what_a_service_asked_with_its_place(
    store: Store,
) -> None:
    hers = await _add(store, HERS)
    service, public = await _add(store, OF_CHANNEL), await _add(store, OF_TEAM)
    for number, token in enumerate((hers, service, public), 1):
        asked = said("Where is my boat?", person=token.owner, place=token.place, conversation=f"c{number}")
        await answered(store, replace(asked, source="api:p", channel="C1", kind=TurnKind.API), "In the harbor.")

    async def left() -> list[str]:
        told = select(message.c.conversation).where(message.c.author == Author.PERSON).order_by(message.c.id)
        return await store.database.read(lambda c: [*c.execute(told).scalars()])

    await store.forgetting.forget(Gone(audiences=frozenset({label(SECRET_CHANNEL)})), START)
    assert await left() == ["c1", "c3"]
    await store.forgetting.forget(Gone(channels=frozenset({"C1"}), within="slack:T2"), START)
    assert await left() == ["c1", "c3"]
    await store.forgetting.forget(Gone(channels=frozenset({"C1"}), within="slack:T1"), START)
    assert await left() == ["c1"]
    await store.forgetting.forget(Gone(sources=frozenset({"slack:T1"})), START)
    assert await left() == []


async def test_of_two_processes_that_refresh_a_token_one_replaces_its_secret(either: Store) -> None:
    state = Refreshing("client", "family", "first", START, START + timedelta(hours=1))
    token = await _add(either, replace(HERS, refreshing=state))
    assert await either.api_tokens.by_family("family", START) == token
    later = START + timedelta(hours=1)
    for hash_, is_first in (("b", True), ("c", False)):
        after = replace(state, refresh=f"{hash_}2", before="first", salt="s", access_expires=later + timedelta(hours=1))
        assert await either.api_tokens.rotate(token.id, hash_, after) is is_first
    assert await either.api_tokens.find("a", START) is None
    found = await either.api_tokens.find("b", later)
    assert found is not None
    assert found.definition.refreshing is not None
    assert (found.id, found.definition.refreshing.refresh) == (token.id, "b2")
    assert await either.api_tokens.find("b", later + timedelta(hours=1)) is None, "its secret has expired"
    assert await either.api_tokens.by_id(token.id, later + timedelta(hours=1)) is not None, "but not the token"
