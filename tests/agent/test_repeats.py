"""The ids of questions that are answered again."""

from agent.repeats import MAX_REPEATS, message_of, repeat_of, repeats_of

MESSAGE = "1700000000.000100"


def test_the_id_of_a_repeat_and_its_message_lead_to_each_other() -> None:
    ids, message = list[str](), MESSAGE
    while (again := repeat_of(message)) is not None:
        ids.append(again)
        message = again
    assert tuple(ids) == repeats_of(MESSAGE)
    assert len(ids) == MAX_REPEATS
    assert {message_of(each) for each in (MESSAGE, *ids)} == {MESSAGE}
