"""Past threads as a whole: whose are read, which, and never the current one."""

from dataclasses import replace

import pytest

from agent.memory.audience import GroupAudience, Place, TeamAudience, label
from agent.memory.documents import ON, SHARING
from agent.recall_query import RecallQuery
from agent.tools.recall import recollect
from agent.turn_kinds import TurnKind
from tests.contracts.steps import answered
from tests.fakes.incoming import dm, said
from tests.fakes.store import StoreInMemory, store_in_memory

HERE = frozenset({label(dm("ann").audience)})


def about(text: str, *, now: str = "now") -> RecallQuery:
    return RecallQuery("ann", text, HERE, now)


async def texts(store: StoreInMemory, query: RecallQuery) -> list[str]:
    return [one.text for one in await recollect(store.memories, store.conversations, query)]


async def test_the_thread_of_the_best_hit_is_read_whole_and_in_order() -> None:
    store = store_in_memory()
    await answered(store, said("My cat is called Tom", conversation="cats"), "A fine name")
    await answered(store, said("He likes fish", conversation="cats"), "Noted")
    assert await texts(store, about("cat")) == ["My cat is called Tom", "A fine name", "He likes fish", "Noted"]


async def test_who_wrote_what_is_told_apart() -> None:
    store = store_in_memory()
    await answered(store, said("My cat is called Tom", conversation="cats"), "A fine name")
    assert [(one.mine, one.by_bot) for one in await recollect(store.memories, store.conversations, about("cat"))] == [
        (True, False),
        (False, True),
    ]


@pytest.mark.parametrize(
    "question",
    [
        "hi",
        "Say nothing.",
        "What is 12 plus 30?",
        "Give one English word that rhymes with cat.",
        "Write a Python function that sums the weights of fish in a list.",
        "What does a zebra eat?",
        "Thanks!",
        "你好，请用一句话介绍你自己。",
    ],
)
async def test_a_question_about_something_else_reads_no_thread(question: str) -> None:
    store = store_in_memory()
    await answered(store, said("My cat is called Tom. He likes fish and a list of toys", conversation="cats"), "Fine")
    assert await texts(store, about(question)) == []


@pytest.mark.parametrize(
    "question",
    [
        "What did I say about my cat?",
        "What is the name of my cat? I told you last week.",
        "Look up what I told you about Tom.",
        "cat",
        "Which fish does Tom like, and how much of it does he eat in a day?",
    ],
)
async def test_a_question_about_a_thread_reads_it(question: str) -> None:
    store = store_in_memory()
    await answered(store, said("My cat is called Tom, and he likes fish", conversation="cats"), "Fine")
    assert await texts(store, about(question)) == ["My cat is called Tom, and he likes fish", "Fine"]


async def test_a_question_that_only_points_back_reads_the_latest_thread_but_never_the_current_one() -> None:
    store = store_in_memory()
    await answered(store, said("My cat is called Tom", conversation="cats"), "A fine name")
    await answered(store, said("Hello", conversation="now"), "Hello")
    assert await texts(store, about("Which color is it?")) == ["My cat is called Tom", "A fine name"]
    assert await texts(store, about("Which color is it?", now="cats")) == ["Hello", "Hello"]
    assert await texts(store, about("zebra")) == []


async def test_nothing_of_a_place_that_may_not_flow_here_is_recollected() -> None:
    store = store_in_memory()
    secret = Place(GroupAudience("board"))
    await answered(store, said("The cat is fired", conversation="cats", place=secret), "Understood")
    assert await texts(store, about("cat")) == []
    assert await texts(store, about("zebra")) == []


async def test_of_what_others_share_the_hits_alone_are_read_and_only_if_no_own_thread_has_a_word_of_it() -> None:
    store = store_in_memory()
    team = Place(TeamAudience("t"), within_team="t")
    await answered(store, said("The cat of the office was a stray", person="ben", conversation="bens", place=team), "")
    await store.preferences.set("channel:channel", SHARING, ON)
    await answered(
        store, said("The cat of the office is called Tom", person="ben", conversation="bens", place=team), ""
    )
    query = replace(about("cat"), audiences=frozenset({*HERE, label(team.audience)}))
    assert await texts(store, query) == []
    assert await texts(store, replace(query, shared=True)) == ["The cat of the office is called Tom"]
    (found,) = await recollect(store.memories, store.conversations, replace(query, shared=True))
    assert (found.mine, found.by_bot, found.name) == (False, False, "Ben")
    await answered(store, said("My cat is called Kim", conversation="cats"), "")
    assert await texts(store, replace(query, shared=True)) == ["My cat is called Kim"]


async def test_words_of_a_schedule_that_a_model_wrote_are_not_the_persons_in_a_past_thread() -> None:
    store = store_in_memory()
    asked = replace(said("Feed the cat", conversation="cats"), kind=TurnKind.SCHEDULED, own=False)
    await answered(store, asked, "Done")
    (question, _) = await recollect(store.memories, store.conversations, about("cat"))
    assert (question.text, question.mine, question.own, question.by_bot) == ("Feed the cat", False, False, True)
