"""Nothing is learned from small talk; in doubt a message is not small talk."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory.synthesizer import MAX_CHARS, is_small_talk, may_teach


@pytest.mark.parametrize(
    "text",
    [
        "hi",
        "Hello!",
        "Good morning, everyone 👋",
        "thank you very much!!",
        "👍",
        "",
        "...",
        "Guten Morgen",
        "¡Hola!",
        "Muchas gracias",
        "谢谢你",
        "こんにちは",
        "ありがとうございます",
        "How are you?",
        "ok, got it",
        "What’s up?",
    ],
)
def test_greetings_thanks_and_praise_teach_nothing(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "Hi, I live in Rome",
        "yes",
        "no",
        "42",
        "Thanks, Ann",
        "I am a doctor",
        "good night in Rome",
        "谢谢，我住在北京",
        "what did I say about the boat?",
        "ich bin müde",
        "I help a team",
        "I’m fine with Fridays",
        "hola, soy Ana",
        "x" * 500,
    ],
)
def test_whatever_may_say_something_is_learned_from(text: str) -> None:
    assert not is_small_talk(text)


@given(st.text(max_size=MAX_CHARS), st.sampled_from(["Rome", "Apollo", "vegan", "7", "北京"]))
def test_a_word_that_is_not_in_the_list_is_never_passed_over(before: str, word: str) -> None:
    assert not is_small_talk(f"{before} {word}")


def test_a_greeting_teaches_with_what_joined_it() -> None:
    assert not may_teach(["hi"])
    assert may_teach(["hi", "by the way, I moved to Rome"])
