"""Vectors of messages: who gets one, who is found by it, and that it falls with its words."""

import random
from dataclasses import replace

import pytest
from sqlalchemy import Connection, insert, select, update

from agent.embeddings import Meaning, Unembedded
from agent.memory.audience import GroupAudience, Place, label, may_flow_from
from agent.memory.forgetting_plans import Everything
from agent.recall_query import RecallQuery
from store.engine import Store
from store.message_tables import embedding, message
from store.search.query import SearchQuery
from store.search.vectors import NEAREST, RESCORED, RESCORED_SHARE, cosine, nearness_of, pack_vector, sign_bits
from tests.contracts.steps import answered
from tests.fakes.embedder import meaning_of
from tests.fakes.incoming import START, dm, said

MODEL = "fake:meanings"
CLUB = Place(GroupAudience("club"))


@pytest.fixture
async def talked(either: Store) -> Store:
    """Ann spoke of a vessel in one thread and of a railway in another, the bot answered, and all have vectors."""
    await answered(either, said("my vessel leaks", conversation="a"), "Oh dear.")
    await answered(either, said("the railway is late", conversation="b"), "It often is.")
    await embed(either)
    return either


async def embed(store: Store, model: str = MODEL) -> list[Unembedded]:
    missing = await store.embeddings.missing(model, 99)
    await store.embeddings.keep(model, missing, [meaning_of(one.text) for one in missing])
    return missing


async def meant(store: Store, question: str, *, person: str = "ann", place: Place | None = None) -> list[str]:
    labels = may_flow_from(place or dm(person))
    wanted = Meaning(MODEL, meaning_of(question))
    hits = await store.memories.search(RecallQuery(person, question, labels, "", meaning=wanted))
    return [hit.message.text for hit in hits]


def kept(connection: Connection) -> list[tuple[int, str]]:
    return [(row.message, row.model) for row in connection.execute(select(embedding.c.message, embedding.c.model))]


async def test_what_means_the_same_in_other_words_is_found_and_without_a_meaning_it_is_not(talked: Store) -> None:
    assert (await meant(talked, "which boat"))[0] == "my vessel leaks"
    assert (await meant(talked, "train"))[0] == "the railway is late"
    assert await talked.memories.search(RecallQuery("ann", "boat", may_flow_from(dm("ann")), "")) == []


async def test_words_that_are_there_come_before_what_resembles_them(talked: Store) -> None:
    await answered(talked, said("a boat race", conversation="c"), "Fun.")
    assert (await meant(talked, "boat"))[:2] == ["a boat race", "my vessel leaks"]


async def test_nobody_finds_by_meaning_what_they_could_not_find_by_words(talked: Store) -> None:
    await answered(talked, said("ben's ship", person="ben", conversation="club", place=CLUB), "Aye.")
    await embed(talked)
    assert await meant(talked, "boat", person="ben") == []
    assert "ben's ship" not in await meant(talked, "boat")
    assert "ben's ship" not in await meant(talked, "boat", place=CLUB)
    assert "my vessel leaks" not in await meant(talked, "boat", person="ben", place=CLUB)


async def test_each_message_with_words_gets_one_vector_of_a_model(talked: Store) -> None:
    assert await embed(talked) == []
    await talked.ledger.accept(said(""))
    assert await embed(talked) == []
    await talked.ledger.accept(said("news", person="ben"))
    assert [(one.person, one.text) for one in await embed(talked)] == [("ben", "news")]


async def test_another_model_takes_the_place_of_the_one_before(talked: Store) -> None:
    before = await talked.database.read(kept)
    assert len(await embed(talked, "fake:other")) == len(before)
    assert {model for _, model in await talked.database.read(kept)} == {"fake:other"}
    assert await meant(talked, "boat") == []


@pytest.mark.slow
async def test_a_vector_falls_with_its_message(talked: Store) -> None:
    assert await talked.database.read(kept)
    await talked.forgetting.forget(Everything("ann"), START)
    assert await talked.database.read(kept) == []


async def test_a_vector_falls_when_the_words_change_and_none_is_kept_for_words_that_were(either: Store) -> None:
    question = said("my vessel")
    await either.ledger.accept(question)
    [before] = await embed(either)
    await either.ledger.amend(question.source, question.channel, question.message_id, "my train")
    assert await either.database.read(kept) == []
    await either.embeddings.keep(MODEL, [before], [meaning_of(before.text)])
    assert await either.database.read(kept) == []
    assert [one.text for one in await embed(either)] == ["my train"]


async def test_a_question_goes_out_without_the_names_of_those_who_wrote(either: Store) -> None:
    await either.ledger.accept(said("ahoy", person="ben", conversation="club", place=CLUB))
    await either.ledger.accept(said("hi", conversation="club", place=CLUB))
    assert await either.embeddings.without_names("ann", "Where is Ben's boat?") == "Where is boat?"
    assert await either.embeddings.without_names("ann", "Ben") == "Ben"
    assert await either.embeddings.without_names("cleo", "Where is Ben's boat?") == "Where is Ben's boat?"


async def test_vectors_of_another_length_are_passed_over(talked: Store) -> None:
    wanted = Meaning(MODEL, (1.0, 2.0))
    query = RecallQuery("ann", "railway", may_flow_from(dm("ann")), "", meaning=wanted)
    assert (await talked.memories.search(query))[0].message.text == "the railway is late"
    assert await talked.memories.search(replace(query, text="boat")) == []


SIZE = 64  # Numbers of a vector: as many as tell directions apart


def spoke_much(connection: Connection, count: int, dice: random.Random, after: int = 0) -> dict[int, bytes]:
    """Ann's first message, so many times over, each with a meaning of its own; the vectors by id. `after`: how many
    there are already.
    """
    hers = select(message).where(message.c.person == "ann").order_by(message.c.id).limit(1)
    first = dict(connection.execute(hers).mappings().one())
    ids = range(int(first["id"]) + 1000 + after, int(first["id"]) + 1000 + after + count)
    meant = {id_: [dice.gauss(0, 1) for _ in range(SIZE)] for id_ in ids}
    connection.execute(insert(message), [{**first, "id": id_} for id_ in ids])
    rows = [
        {"message": id_, "model": MODEL, "signs": sign_bits(vector), "vector": pack_vector(vector)}
        for id_, vector in meant.items()
    ]
    connection.execute(insert(embedding), rows)
    return {id_: pack_vector(vector) for id_, vector in meant.items()}


@pytest.mark.slow
async def test_what_was_said_first_is_found_among_more_than_were_ever_compared(either: Store) -> None:
    """The search once looked at the newest 20,000."""
    await answered(either, said("a message", conversation="a"), "Oh.")
    vectors, dice = dict[int, bytes](), random.Random(1)
    for after in range(0, 20_100, 2_010):  # a busy server is given so little at a time as it may take
        vectors |= await either.database.write(spoke_much, 2_010, dice, after=after)
    assert len(vectors) == 20_100
    oldest = min(vectors)
    [wanted] = [Meaning(MODEL, tuple(memoryview(vectors[oldest]).cast("f")))]
    hits = await either.memories.search(RecallQuery("ann", "zzz", may_flow_from(dm("ann")), "", meaning=wanted))
    assert hits[0].message.id == oldest


@pytest.mark.slow
async def test_both_engines_compare_as_an_exact_search_does(either: Store) -> None:
    await answered(either, said("a message", conversation="a"), "Oh.")
    dice = random.Random(2)
    vectors = await either.database.write(spoke_much, 300, dice)
    for _ in range(5):
        wanted = Meaning(MODEL, tuple(dice.gauss(0, 1) for _ in range(SIZE)))
        query = RecallQuery("ann", "zzz", may_flow_from(dm("ann")), "", limit=10, meaning=wanted)
        packed = pack_vector(wanted.vector)
        exact = sorted(vectors, key=lambda id_: cosine(packed, vectors[id_]), reverse=True)[: NEAREST // 8]
        found = [hit.message.id for hit in await either.memories.search(query)]
        assert found[: len(exact)] == exact


@pytest.mark.slow
async def test_of_more_messages_more_are_compared_exactly(either: Store) -> None:
    """The nearest of all may share few signs with what is meant; among very many that is no rare case."""
    await answered(either, said("a message", conversation="a"), "Oh.")
    meant = Meaning(MODEL, (1.0, *[0.01] * 7))
    alike, nearest = (0.1, *[1.0] * 7), (1.0, *[-0.01] * 7)

    def compared(connection: Connection, total: int) -> set[int]:
        sought = SearchQuery((), 0, "ann", (label(dm("ann").audience),), "")
        return set(nearness_of(connection, meant, sought, (), total))

    def given_vectors(connection: Connection) -> int:
        *_, last = ids = list(spoke_much(connection, RESCORED + 1, random.Random(3)))
        for id_ in ids:
            vector = nearest if id_ == last else alike
            values = {"signs": sign_bits(vector), "vector": pack_vector(vector)}
            connection.execute(update(embedding).where(embedding.c.message == id_).values(values))
        return last

    last = await either.database.write(given_vectors)
    assert last not in await either.database.read(compared, RESCORED + 1)
    assert last in await either.database.read(compared, RESCORED_SHARE * (RESCORED + 2))


async def test_a_model_with_much_weight_comes_before_the_words(talked: Store) -> None:
    await answered(talked, said("the late boat", conversation="c"), "Fun.")
    labels = may_flow_from(dm("ann"))
    firsts = [
        (await talked.memories.search(RecallQuery("ann", "late", labels, "", meaning=wanted)))[0].message.text
        for wanted in (Meaning(MODEL, meaning_of("vessel"), 0.1), Meaning(MODEL, meaning_of("vessel"), 5.0))
    ]
    assert firsts[0] != firsts[1]
