"""Conversations in the form that vendors with strict roles require."""

from hypothesis import given
from hypothesis import strategies as st

from agent.messages import Image, Message, NativeContent, Role
from agent.providers.wire import GO_ON, MISSING_QUESTION, alternating, system_text

OURS = NativeContent("ours", ({"type": "thinking"},))
PICTURE = Image("image/png", b"png")
texts = st.text(max_size=8)
natives = st.sampled_from([None, OURS, NativeContent("theirs", ({},))])
conversations = st.lists(
    st.builds(Message, st.sampled_from(Role), texts, st.sampled_from([(), (PICTURE,)]), natives), max_size=10
)


def user(text: str) -> Message:
    return Message(Role.USER, text)


def test_the_systems_words_stand_apart() -> None:
    messages = [Message(Role.SYSTEM, "a"), user("b"), Message(Role.SYSTEM, "c")]
    assert system_text(messages) == "a\n\nc"
    assert alternating(messages, "ours") == [user("b")]


def test_one_speakers_messages_are_joined_with_their_pictures() -> None:
    messages = [user("a"), Message(Role.USER, " ", (PICTURE,)), user("b")]
    assert alternating(messages, "ours") == [Message(Role.USER, "a\n\nb", (PICTURE,))]


def test_an_answer_stands_neither_first_nor_last() -> None:
    said = Message(Role.ASSISTANT, "a")
    assert alternating([said], "ours") == [user(MISSING_QUESTION), said, user(GO_ON)]


def test_what_is_ours_stays_and_what_is_theirs_is_said_in_words() -> None:
    ours, theirs = (
        Message(Role.ASSISTANT, "a", native=OURS),
        Message(Role.ASSISTANT, "b", native=NativeContent("theirs", ())),
    )
    spoken = alternating([user("q"), ours, user("r"), theirs, user("s")], "ours")
    assert [message.native for message in spoken] == [None, OURS, None, None, None]


def test_a_step_without_words_is_still_a_step() -> None:
    silent = Message(Role.ASSISTANT, "", native=OURS)
    assert alternating([user("q"), silent, silent, user("r")], "ours") == [user("q"), silent, user("r")]


@given(conversations)
def test_speakers_take_turns_and_none_is_silent(messages: list[Message]) -> None:
    spoken = alternating(messages, "ours")
    assert [message.role for message in spoken] == [
        Role.ASSISTANT if number % 2 else Role.USER for number in range(len(spoken))
    ]
    assert spoken[-1].role is Role.USER
    assert all(message.text.strip() or message.images or message.native for message in spoken)


@given(conversations)
def test_no_word_is_lost(messages: list[Message]) -> None:
    together = "\0".join([system_text(messages), *(message.text for message in alternating(messages, "ours"))])
    assert all(message.text in together for message in messages if message.text.strip())


@given(conversations, conversations)
def test_what_is_appended_after_a_question_never_changes_what_stands_before(
    before: list[Message], after: list[Message]
) -> None:
    base = [*before, user("q")]
    steps = [message for message in after if message.role is not Role.SYSTEM]
    step = Message(Role.ASSISTANT, "step", native=OURS)
    assert alternating([*base, step, user("results"), *steps], "ours")[: len(alternating(base, "ours"))] == alternating(
        base, "ours"
    )
