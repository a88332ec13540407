"""Which questions count as unanswered, and which are about the same subject."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.unanswered import AskedQuestion, Unanswered, grouped, nearness, says_unknown, subject_words

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def asked(turn: int, question: str, answer: str = "It is Heron.", **facts: Any) -> AskedQuestion:
    return AskedQuestion(turn, question, answer, NOW, **facts)


@pytest.mark.parametrize(
    "answer",
    [
        "I don't know the wifi password.",
        "Sorry, I don’t know.",
        "**I do not know** that. Ask Ann.",
        "Unfortunately, I couldn't find any document about it.",
        "I found nothing about “boat”.",
        "Das weiß ich leider nicht.",
        "Leider habe ich dazu nichts gefunden.",
        "Je ne sais pas.",
        "Désolé, je n'ai rien trouvé à ce sujet.",
        "Lo siento, no he encontrado nada sobre eso.",
        "Mi dispiace, non ho trovato nulla.",
        "Desculpe, não encontrei nada sobre isso.",
        "Helaas, ik heb daarover niets gevonden.",
        "申し訳ありませんが、その情報は見つかりませんでした。",
    ],
)
def test_an_answer_that_does_not_know_is_read_so_in_eight_languages(answer: str) -> None:
    assert says_unknown(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "I don't know about you, but lunch is at noon.",
        "You said that you don't know the password.",
        "If you don't know, ask Ann.",
        "The password is Heron. " * 20 + "I don't know the other one.",
        "Ich weiß, dass das Büro offen ist.",
        "Je sais que c'est vrai.",
        "No solo eso.",
        "Non solo questo.",
        "Ik weet dat het open is.",
        "",
    ],
)
def test_other_answers_are_not(answer: str) -> None:
    assert not says_unknown(answer)


def test_the_sign_of_the_model_counts_whatever_it_writes_and_once() -> None:
    signed = asked(1, "Who owns Apollo?", "That is not written down anywhere.", unknown=True)
    assert signed.reasons == {Unanswered.NOT_KNOWN}
    assert asked(1, "Who owns Apollo?", "I do not know.", unknown=True).reasons == {Unanswered.NOT_KNOWN}
    assert asked(1, "Who owns Apollo?", "That is not written down anywhere.").reasons == frozenset()


@given(st.text(alphabet="i dont know, .!?\n*leider weiß ich nicht", max_size=600))
def test_any_answer_is_read_at_its_beginning_alone(answer: str) -> None:
    assert says_unknown(answer) == says_unknown(answer[:240])


def test_why_a_question_counts_follows_from_what_its_turn_stored() -> None:
    question = "What is the wifi password?"
    assert asked(1, question).reasons == frozenset()
    assert asked(1, question, searched=True).reasons == {Unanswered.NOT_FOUND}
    assert asked(1, question, searched=True, found=True).reasons == frozenset()
    assert asked(1, question, "I don't know.", failed=frozenset({"wiki"}), disliked=True).reasons == {
        Unanswered.NOT_KNOWN,
        Unanswered.TOOL_FAILED,
        Unanswered.DISLIKED,
    }


def test_questions_about_one_subject_are_one_group_and_answered_ones_are_in_none() -> None:
    questions = [
        asked(1, "What is the wifi password?", disliked=True),
        asked(2, "How do I request vacation?", disliked=True),
        asked(3, "Which password has the guest wifi in Berlin?", "I don't know."),
        asked(4, "Wie ist das WLAN-Passwort?", disliked=True),
        asked(5, "Wie ist die Adresse vom Büro?", disliked=True),
        asked(6, "What is the wifi password in Paris?"),
    ]
    groups = [[question.turn for question in group.questions] for group in grouped(questions)]
    assert groups == [[3, 1], [5], [4], [2]]
    largest = grouped(questions)[0]
    assert (largest.count(Unanswered.DISLIKED), largest.count(Unanswered.NOT_KNOWN)) == (1, 1)


def test_questions_in_other_words_are_one_group_if_their_embeddings_are_near() -> None:
    near, same, far = b"\xff" * 16, b"\xff" * 15 + b"\xf0", b"\x0f" * 16
    questions = [
        asked(1, "How do I request vacation?", model="m", signs=near, disliked=True),
        asked(2, "Where are days off entered?", model="m", signs=same, disliked=True),
        asked(3, "Who waters the plants?", model="m", signs=far, disliked=True),
        asked(4, "Holiday form, please", model="other", signs=near, disliked=True),
    ]
    groups = [[question.turn for question in group.questions] for group in grouped(questions)]
    assert groups == [[2, 1], [4], [3]]
    assert nearness(near, near) == 1
    assert nearness(near, b"") == nearness(b"", b"") == nearness(near, near[:8]) == 0


def test_the_words_of_a_subject_do_not_ask() -> None:
    assert subject_words("where can I find the travel policy?") == {"travel", "policy"}
    assert subject_words("what?") == frozenset()
    groups = grouped([asked(1, "what?", disliked=True), asked(2, "why?", disliked=True)])
    assert [len(group.questions) for group in groups] == [1, 1]
