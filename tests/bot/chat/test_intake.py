"""The decision about a message, from its facts: the same on every platform."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import Refused
from agent.shown_replies import Answered
from agent.turn_kinds import TurnKind
from bot.chat.intake import (
    AfterStop,
    Answer,
    Decision,
    Ignore,
    MessageFacts,
    RunCommand,
    Stop,
    StoreAsContext,
    check_readers,
    decide,
    is_stop,
    stop_by_word,
)
from tests.fakes.incoming import said

IN_THREAD = MessageFacts("ann", participants=frozenset({"ann"}))
BESIDE = MessageFacts("ann", participants=frozenset({"ann", "bo"}))
MENTION = MessageFacts("ann", mentioned=True)
DIRECT = MessageFacts("ann", direct=True)
messages = st.builds(
    MessageFacts,
    author=st.sampled_from(["ann", "bo"]),
    direct=st.booleans(),
    mentioned=st.booleans(),
    participants=st.none() | st.frozensets(st.sampled_from(["ann", "bo"])),
    automatic=st.booleans(),
    stops=st.booleans(),
    orders=st.booleans(),
    late=st.booleans(),
)


@pytest.mark.parametrize("text", ["stop", "Stop", "STOP.", " stop! ", "stop !\n"])
def test_the_word_stop_alone_stops(text: str) -> None:
    assert is_stop(text)


@pytest.mark.parametrize(
    "text", ["", "stop it", "stop?", "stopp", "stop!!", "full stop", "don't stop", "stop\nnow", "."]
)
def test_a_text_with_more_than_stop_is_a_message(text: str) -> None:
    assert not is_stop(text)


@pytest.mark.parametrize("participants", [None, frozenset[str](), frozenset({"bo"})])
@pytest.mark.parametrize(("direct", "mentioned"), [(True, False), (False, True), (True, True)])
def test_direct_messages_and_mentions_are_answered(
    direct: bool, mentioned: bool, participants: frozenset[str] | None
) -> None:
    message = MessageFacts("ann", direct=direct, mentioned=mentioned, participants=participants)
    assert decide(message) == Answer()


@pytest.mark.parametrize(
    ("participants", "expected"),
    [
        (None, Ignore()),
        (frozenset({"ann"}), Answer()),
        (frozenset({"bo"}), StoreAsContext()),
        (frozenset({"ann", "bo"}), StoreAsContext()),
    ],
)
def test_in_a_thread_every_message_counts_while_one_person_takes_part(
    participants: frozenset[str] | None, expected: Decision
) -> None:
    assert decide(MessageFacts("ann", participants=participants)) == expected


@pytest.mark.parametrize("message", [IN_THREAD, DIRECT])
def test_a_program_is_answered_only_if_it_mentions_the_bot(message: MessageFacts) -> None:
    assert decide(replace(message, automatic=True)) == StoreAsContext()
    assert decide(replace(message, automatic=True, mentioned=True)) == Answer()


@pytest.mark.parametrize(("message", "for_bot"), [(MENTION, True), (DIRECT, True), (IN_THREAD, True), (BESIDE, False)])
def test_stop_is_an_order_even_if_it_does_not_address_the_bot(message: MessageFacts, for_bot: bool) -> None:
    assert decide(replace(message, stops=True)) == Stop(for_bot)


def test_a_command_between_people_is_context_and_one_for_the_bot_is_obeyed() -> None:
    assert decide(replace(MENTION, orders=True)) == RunCommand()
    assert decide(replace(BESIDE, orders=True)) == StoreAsContext()


@given(messages)
def test_late_orders_are_ignored_and_late_refusals_not_shown(message: MessageFacts) -> None:
    late = decide(replace(message, late=True))
    assert not isinstance(late, Stop | RunCommand)
    assert not isinstance(late, Answer) or late.late


@given(messages)
def test_messages_outside_of_conversations_are_not_stored(message: MessageFacts) -> None:
    elsewhere = replace(message, direct=False, mentioned=False, participants=None)
    assert decide(elsewhere) == Ignore()


@given(messages)
def test_no_question_is_lost_in_any_state(message: MessageFacts) -> None:
    """A person's message to the bot is answered, obeyed, or stops an answer."""
    spoken = replace(message, mentioned=True, late=False)
    assert isinstance(decide(spoken), Answer | RunCommand | Stop)


@pytest.mark.parametrize(
    ("for_bot", "ran", "follows", "told"),
    [
        (True, True, Ignore(), ""),
        (True, False, Ignore(), "nothing runs"),
        (True, None, Ignore(), "Only members may."),
        (False, True, Ignore(), ""),
        (False, False, StoreAsContext(), ""),
        (False, None, StoreAsContext(), ""),
    ],
)
async def test_a_stop_that_stops_nothing_notifies_its_author_or_is_context(
    *, for_bot: bool, ran: bool | None, follows: AfterStop, told: str
) -> None:
    said: list[str] = []

    async def obey() -> bool:
        if ran is None:
            raise Refused("Only members may.")
        return ran

    async def nothing_runs() -> None:
        said.append("nothing runs")

    async def refused(refusal: Refused) -> None:
        said.append(str(refusal))

    assert await stop_by_word(Stop(for_bot), obey, nothing_runs, refused) == follows
    assert said == ([told] if told else [])


@pytest.mark.parametrize(
    ("asked_first", "own"),
    [
        (TurnKind.QUESTION, True),
        (TurnKind.AMBIENT, True),
        (TurnKind.SCHEDULED, False),
        (TurnKind.WORK, False),
        (TurnKind.SCHEDULED_AGAIN, False),
    ],
)
def test_the_words_of_a_schedule_do_not_become_the_persons_own_by_being_asked_again(
    asked_first: TurnKind, *, own: bool
) -> None:
    reply = Answered(1, "test", "thread", "C1", "1.0", "ann", "Look there.", "person:ann", (), asked_first)
    asked = check_readers(said("Look there."), reply)
    assert (asked.own, asked.kind) == (own, TurnKind.QUESTION if own else TurnKind.SCHEDULED_AGAIN)


def test_the_words_of_a_model_do_not_become_the_persons_own_by_being_asked_again() -> None:
    reply = Answered(1, "test", "thread", "C1", "present:1:0:ann", "ann", "Look there.", "person:ann", (), own=False)
    asked = check_readers(said("Look there."), reply)
    assert (asked.own, asked.kind) == (False, TurnKind.QUESTION)
