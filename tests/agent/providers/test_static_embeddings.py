"""The model for embeddings inside the process. The tests reach no network, so it downloads nothing."""

import asyncio
import threading
from collections.abc import Callable
from math import isfinite
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.errors import ProviderUnavailable
from agent.providers.static_embeddings import SLICE_CHARS, Encode, StaticEmbedder, load, rows_of
from store.search.vectors import cosine, pack_vector

PAIRS = [
    ("Which boat leaks?", "My ship is taking on water.", "The train is late again."),
    ("Wo arbeitet sie?", "Sie hat eine Stelle bei der Bank.", "Das Wetter wird morgen schlecht."),
    ("她的宠物叫什么", "我的狗名字是小白", "会议改到星期三"),
    ("what does he like to eat", "his favourite dish is pasta", "my car broke down"),
]


class Matrix(list[list[float]]):
    def tolist(self) -> list[list[float]]:
        return self


def scripted(asked: list[list[str]]) -> Callable[[], Callable[[list[str]], Any]]:
    def encode(texts: list[str]) -> Matrix:
        asked.append(texts)
        return Matrix([[float(len(text)), 1.0] for text in texts])

    return lambda: encode


@pytest.mark.slow
async def test_what_means_the_same_in_other_words_is_nearer_than_what_does_not_in_many_languages() -> None:
    embedder = StaticEmbedder()
    for question, same, other in PAIRS:
        embedded = await embedder.embed([question, same, other])
        assert embedded.call is None
        asked, near, far = map(pack_vector, embedded.vectors)
        assert cosine(asked, near) > cosine(asked, far) + 0.05
    await embedder.aclose()


@pytest.fixture(scope="module")
def model() -> Encode:
    return load()


@pytest.mark.slow
def test_all_embedders_of_a_process_share_one_model(model: Encode) -> None:
    assert load() is model


@pytest.mark.slow
@given(st.text(st.characters(exclude_categories=()), max_size=60))
@example("")
@example("a" * 2_000)
@example("\u0301" * 900)
def test_whatever_people_write_has_a_vector_of_finite_numbers(model: Encode, text: str) -> None:
    [row] = rows_of(model, [text])
    assert len(row) == 512
    assert all(map(isfinite, row))


async def test_long_batches_are_read_in_slices_so_that_a_question_waits_for_no_batch() -> None:
    asked: list[list[str]] = []
    embedder = StaticEmbedder(scripted(asked))
    texts = ["x" * size for size in (900, 900, 900, 1_999, 5, 5)]
    batch, question = await asyncio.gather(embedder.embed(texts), embedder.embed(["which boat"]))
    assert [vector[0] for vector in batch.vectors] == [float(len(text)) for text in texts]
    assert question.vectors == ((10.0, 1.0),)
    assert all(sum(map(len, some)) <= SLICE_CHARS for some in asked)
    assert asked.index(["which boat"]) < len(asked) - 1


async def test_the_model_is_loaded_once_also_if_the_first_who_asked_could_not_wait() -> None:
    loads: list[int] = []
    may_go = threading.Event()

    def slow() -> Callable[[list[str]], Any]:
        loads.append(1)
        assert may_go.wait(30)
        return scripted([])()

    embedder = StaticEmbedder(slow)
    first = asyncio.create_task(embedder.embed(["a"]))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    may_go.set()
    assert (await embedder.embed(["bc"])).vectors == ((2.0, 1.0),)
    assert loads == [1]


async def test_a_model_that_cannot_be_read_is_an_error_with_a_remedy_and_is_tried_again() -> None:
    tries = iter([OSError("gone"), None])

    def load_once() -> Callable[[list[str]], Any]:
        error = next(tries)
        if error is not None:
            raise error
        return scripted([])()

    embedder = StaticEmbedder(load_once)
    with pytest.raises(ProviderUnavailable, match="Install it again"):
        await embedder.embed(["a"])
    assert (await embedder.embed(["a"])).vectors == ((1.0, 1.0),)
