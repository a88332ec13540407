"""Which facts say nothing but what their person wrote themselves: only those may be used in all replies to them."""

import pytest

from agent.memory.facts import CORRECTION
from agent.memory.writing import NewFact, Written
from store.engine import Store
from tests.contracts.steps import answered, claimed
from tests.fakes.facts import remember
from tests.fakes.incoming import START, said
from tests.fakes.new_database import open_new

DM = "person:ann"


async def remembered(store: Store, wrote: str, value: str) -> bool:
    """Is what the model made of it still in the person's own words?"""
    await store.ledger.accept(said(wrote))
    fact = await remember(store.facts, "ann", value, DM, START, (await claimed(store)).message)
    return fact.id in await store.facts.in_own_words("ann", [fact.id])


@pytest.mark.parametrize(
    ("wrote", "value", "own"),
    [
        ("remember that my boat is blue", "My boat is blue.", True),
        ("remember that my boat is blue", "The user's boat is blue.", True),
        ("please note: BOAT = blue!", "Ann: boat, blue", True),
        ("remember what Ben said about his pay", "Ben earns 80,000.", False),
        ("remember that", "My boat is blue.", False),
        ("私の船は青い、覚えて", "私の船は青い", True),
    ],
)
async def test_a_fact_in_the_words_of_its_message_is_the_persons_own(wrote: str, value: str, *, own: bool) -> None:
    store = await open_new()
    try:
        assert await remembered(store, wrote, value) is own
    finally:
        await store.close()


async def test_a_correction_is_the_persons_own_and_what_others_or_nobody_said_is_not() -> None:
    store = await open_new()
    try:
        reply = await answered(store, said("Which boat?", person="ben"), "The boat is blue.")
        bens = await remember(store.facts, "ann", "Which boat?", DM, START, reply.message)
        nobodys = await remember(store.facts, "ann", "The boat is blue.", "group:club", START)
        corrected = await store.facts.write(
            NewFact(id="", key="", value="It is red", source=CORRECTION, timestamp=START, audience=DM, person="ann")
        )
        assert isinstance(corrected, Written)
        asked = [corrected.fact.id, bens.id, nobodys.id]
        assert await store.facts.in_own_words("ann", asked) == {corrected.fact.id}
        assert await store.facts.in_own_words("ann", asked[1:]) == frozenset()
    finally:
        await store.close()
