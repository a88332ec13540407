"""Sensitive text is recognised, and so is a request to remember it."""

import pytest

from agent.memory.secrets import asks_to_remember, is_sensitive


@pytest.mark.parametrize(
    "text",
    [
        "I was diagnosed with diabetes",
        "she is pregnant",
        "goes to church on Sundays",
        "voted Republican",
        "is a trade union member",
        "identifies as transgender",
        "has a criminal record",
        "我怀孕了",
        "うつ病の治療中",
        "ist schwanger",
    ],
)
def test_health_belief_politics_origin_sexuality_and_offences_are_sensitive(text: str) -> None:
    assert is_sensitive(text)


@pytest.mark.parametrize(
    "text",
    [
        "prefers Vim",
        "works on the policy engine",
        "votes on pull requests",
        "likes healthy food",
        "learns Rust",
        "runs the union query daily",
        "wants short answers",
    ],
)
def test_everyday_things_are_not(text: str) -> None:
    assert not is_sensitive(text)


@pytest.mark.parametrize(
    "text", ["Please remember that I am allergic", "merk dir das", "请记住我不吃肉", "覚えておいて"]
)
def test_a_person_can_ask_for_it(text: str) -> None:
    assert asks_to_remember(text)


def test_a_memory_of_their_own_is_no_request() -> None:
    assert not asks_to_remember("my remembrance of it is weak")
