import pytest

from bot.triggers import Trigger, is_stop, trigger


@pytest.mark.parametrize("text", ["stop", "Stop", "STOP.", " stop! ", "stop !\n"])
def test_the_word_stop_alone_stops(text: str) -> None:
    assert is_stop(text)


@pytest.mark.parametrize(
    "text", ["", "stop it", "stop?", "stopp", "stop!!", "full stop", "don't stop", "stop\nnow", "."]
)
def test_whatever_says_more_than_stop_is_a_message(text: str) -> None:
    assert not is_stop(text)


@pytest.mark.parametrize("participants", [None, frozenset[str](), frozenset({"bo"})])
@pytest.mark.parametrize(("direct", "mentioned"), [(True, False), (False, True), (True, True)])
def test_direct_messages_and_mentions_are_answered(
    direct: bool, mentioned: bool, participants: frozenset[str] | None
) -> None:
    decided = trigger(author="ann", direct=direct, mentioned=mentioned, participants=participants)
    assert decided is Trigger.ANSWER


@pytest.mark.parametrize(
    ("participants", "expected"),
    [
        (None, Trigger.IGNORE),
        (frozenset({"ann"}), Trigger.ANSWER),
        (frozenset({"bo"}), Trigger.OVERHEAR),
        (frozenset({"ann", "bo"}), Trigger.OVERHEAR),
    ],
)
def test_in_a_thread_every_message_counts_while_one_person_takes_part(
    participants: frozenset[str] | None, expected: Trigger
) -> None:
    assert trigger(author="ann", direct=False, mentioned=False, participants=participants) is expected
