"""Questions of the model to its asker: what is shown of them, and how a turn waits for the answer."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent import texts
from agent.appended_messages import ANSWER_ARRIVED
from agent.asking import (
    ASK_USER,
    MAX_OPTION_CHARS,
    MAX_OPTIONS,
    MAX_QUESTION_CHARS,
    UserQuestion,
    asks,
    chosen_option,
    question_of,
)
from agent.events import CallsArrived, Outcome, TextArrived
from agent.messages import Consent, Provenance, ResultStatus, ToolCall, ToolResult
from agent.ports.model import StopReason
from agent.progress import Progress, decode, encode, whose_words
from agent.turn import ASKED_ENOUGH, INNER_ASKS, NO_QUESTION, NOT_ANSWERED, ONE_QUESTION, Turn
from agent.turn_events import (
    AwaitConsent,
    CallAnswered,
    CallModel,
    CallPlaced,
    ConsentDecided,
    Effect,
    Finish,
    QuestionAnswered,
    ResponseBegun,
    ResponseCompleted,
    RunTools,
    SaveProgress,
    TurnInput,
)
from agent.turn_records import Waiting

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
ASK = ToolCall(ASK_USER, {"question": "Where to?", "options": ["Staging", "Production"]})
READ = ToolCall("read", {})
SHOWN = "Where to?\n\n1. Staging\n2. Production"
ANSWER = Waiting(7, 70, "Staging", answers=True)


def turn_after(*happened: TurnInput, progress: Progress = Progress()) -> tuple[Turn, list[Effect]]:  # noqa: B008 -- frozen
    turn = Turn(lambda _: None, lambda _: True, progress=progress, asks=asks)
    effects = turn.start()
    for event in (ResponseBegun(NOON), *happened) if happened else ():
        effects = turn.receive(event)
    return turn, effects


def resumed(progress: Progress, decision: TurnInput) -> tuple[Turn, list[Effect]]:
    """The turn in another process, with what its asker has decided meanwhile."""
    turn = Turn(lambda _: None, lambda _: True, progress=decode(encode(progress)), asks=asks)
    turn.receive(decision)
    return turn, turn.start()


def problems(turn: Turn) -> list[str]:
    return [result.content for result in turn.progress.steps[-1].known_results]


@given(st.text(), st.lists(st.text(max_size=200), max_size=12))
def test_whatever_a_model_asks_is_bounded_and_its_options_are_different_lines(text: str, options: list[str]) -> None:
    question = question_of(ToolCall(ASK_USER, {"question": text, "options": [*options]}))
    assert len(question.text) <= MAX_QUESTION_CHARS
    assert len(question.options) <= MAX_OPTIONS
    assert all(option.strip() and "\n" not in option for option in question.options)
    assert all(len(option) <= MAX_OPTION_CHARS for option in question.options)
    assert len({option.casefold() for option in question.options}) == len(question.options)
    assert not any(unseen in question.markdown for unseen in "\u200b\u202e\x00\x1b")


def test_an_option_is_chosen_by_its_number_or_its_words() -> None:
    question = UserQuestion("Where to?", ("Staging", "Production"))
    assert [chosen_option(question, words) for words in ("2", " staging ", "0", "3", "²", "the moon", "")] == [
        "Production",
        "Staging",
        *[None] * 5,
    ]


def test_the_turn_is_put_aside_and_its_question_stays_in_the_reply() -> None:
    turn, effects = turn_after(TextArrived("I can deploy it."), CallsArrived((ASK,)))
    saved, waits = effects
    assert isinstance(saved, SaveProgress)
    assert waits == AwaitConsent((CallPlaced("1.1", ASK),), SHOWN)
    assert turn.text == f"I can deploy it.\n\n{SHOWN}"
    assert [*turn.progress.asked.values()] == [ASK]
    assert turn.progress.awaited == {}


def test_a_question_that_the_model_has_just_written_is_not_written_twice() -> None:
    turn, _ = turn_after(TextArrived("Where to?"), CallsArrived((ASK,)))
    assert turn.text == SHOWN


def test_other_calls_of_the_round_run_first() -> None:
    turn, effects = turn_after(CallsArrived((ASK, READ)))
    assert effects[-1] == RunTools((CallPlaced("1.2", READ),))
    effects = turn.receive(CallAnswered("1.2", ToolResult("read", ResultStatus.SUCCESS, "ok")))
    assert effects[-1] == AwaitConsent((CallPlaced("1.1", ASK),), SHOWN)


def test_another_process_goes_on_with_the_answer_which_is_the_askers_own_words() -> None:
    asked, _ = turn_after(CallsArrived((ASK,)))
    turn, effects = resumed(asked.progress, QuestionAnswered("1.1", ANSWER))
    call = effects[-1]
    assert isinstance(call, CallModel)
    assert call.appended[-1].text.endswith(f"{ANSWER_ARRIVED}\n> Staging")
    assert turn.progress.joined == (ANSWER,)
    assert turn.progress.asked == {}
    assert whose_words(Provenance.OWN, turn.progress.steps) is Provenance.OWN
    assert decode(encode(turn.progress)) == turn.progress
    turn.receive(ResponseBegun(NOON))
    turn.receive(TextArrived("Done."))
    assert turn.receive(ResponseCompleted(StopReason.END))[-1] == Finish(Outcome.ANSWERED, f"{SHOWN}\n\nDone.")


@pytest.mark.parametrize(
    ("consent", "notice"),
    [
        (Consent.REFUSED, ""),
        (Consent.EXPIRED, f"\n\n{texts.NOT_ANSWERED_IN_TIME}"),
        (Consent.EDITED, f"\n\n{texts.QUESTION_EDITED}"),
    ],
)
def test_without_an_answer_the_model_is_told_why(consent: Consent, notice: str) -> None:
    asked, _ = turn_after(CallsArrived((ASK,)))
    turn, effects = resumed(asked.progress, ConsentDecided("1.1", consent))
    assert isinstance(effects[-1], CallModel)
    assert problems(turn) == [NOT_ANSWERED[consent]]
    assert turn.text == f"{SHOWN}{notice}"


@pytest.mark.parametrize("decision", [ConsentDecided("1.1", Consent.GIVEN), ConsentDecided("9.1", Consent.REFUSED)])
def test_a_consent_answers_no_question_and_without_an_answer_it_waits_again(decision: TurnInput) -> None:
    asked, _ = turn_after(CallsArrived((ASK,)))
    _, effects = resumed(asked.progress, decision)
    assert effects[-1] == AwaitConsent((CallPlaced("1.1", ASK),), "")  # the question is shown already


def test_an_answer_counts_once() -> None:
    asked, _ = turn_after(CallsArrived((ASK,)))
    turn, _ = resumed(asked.progress, QuestionAnswered("1.1", ANSWER))
    turn.receive(QuestionAnswered("1.1", Waiting(8, 80, "Production", answers=True)))
    turn.receive(ConsentDecided("1.1", Consent.REFUSED))
    assert turn.progress.joined == (ANSWER,)


def test_a_turn_asks_one_question_at_a_time_and_few_in_all() -> None:
    turn, _ = turn_after(CallsArrived((ASK, ToolCall(ASK_USER, {"question": "When?"}))))
    assert problems(turn) == [ONE_QUESTION]
    progress = turn.progress
    for number in range(1, 4):
        answer = QuestionAnswered(f"{number}.1", Waiting(number, number, "yes", answers=True))
        turn, _ = resumed(progress, answer)
        turn.receive(ResponseBegun(NOON))
        turn.receive(CallsArrived((ToolCall(ASK_USER, {"question": f"Sure, {number}?"}),)))
        progress = turn.progress
    assert problems(turn) == [ASKED_ENOUGH.format(limit=3)]


def test_an_empty_question_and_one_of_code_are_not_asked() -> None:
    turn, _ = turn_after(CallsArrived((ToolCall(ASK_USER, {"question": "\u200b"}), READ)))
    assert problems(turn) == [NO_QUESTION]
    assert turn.refusal_of_inner(ASK) == INNER_ASKS.format(tool=ASK_USER)
