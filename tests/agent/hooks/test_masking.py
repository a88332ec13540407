import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.hooks.masking import MAX_VALUES, Placeholders, Restoring, problem_of

ANN, BEN = "ann@example.com", "ben@example.com"


def placeholders(text: str, **kinds: str) -> Placeholders:
    """Of values by their kinds."""
    made = Placeholders()
    made.add({value: kind for kind, value in kinds.items()}, [text])
    return made


def test_a_value_has_one_placeholder_wherever_it_stands_and_is_put_back() -> None:
    made = Placeholders()
    made.add({ANN: "email", BEN: "email", "Ann": "name"}, [])
    assert made.hide(f"{BEN} wrote to {ANN}. {BEN}!") == "[EMAIL-1] wrote to [EMAIL-2]. [EMAIL-1]!"
    assert made.hide("Ann?") == "[NAME-1]?"
    assert made.restore("Ask [EMAIL-2], [name-1] or [EMAIL-3].") == f"Ask {ANN}, Ann or [EMAIL-3]."


def test_what_already_looks_like_a_placeholder_is_not_one() -> None:
    made = placeholders(f"[EMAIL-1] is not {ANN}", email=ANN)
    hidden = made.hide(f"[EMAIL-1] is not {ANN}")
    assert hidden == "[EMAIL-1] is not [EMAIL-2]"
    assert made.restore(hidden) == f"[EMAIL-1] is not {ANN}"


def test_a_value_keeps_its_placeholder_when_others_are_added() -> None:
    made = placeholders("", email=BEN)
    assert made.hide(BEN) == "[EMAIL-1]"
    made.add({ANN: "email", BEN: "mail"}, [])
    assert made.hide(f"{ANN} {BEN}") == "[EMAIL-2] [EMAIL-1]"


def test_of_values_in_one_place_the_longest_is_hidden() -> None:
    made = Placeholders()
    made.add({"Ann": "name", "Anna": "name", "Anna Lee": "name"}, [])
    assert made.hide("Anna Lee, Anna, Ann, Annab") == "[NAME-1], [NAME-2], [NAME-3], [NAME-2]b"


def test_every_text_in_json_is_hidden() -> None:
    made = placeholders("", email=ANN)
    assert made.hide_json({"to": [ANN, 7, None], "deep": {"cc": ANN}}) == {
        "to": ["[EMAIL-1]", 7, None],
        "deep": {"cc": "[EMAIL-1]"},
    }


VALUES = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=2, max_size=12).filter(
    lambda value: problem_of({value: "kind"}) is None
)


@given(st.lists(VALUES, min_size=1, max_size=12, unique=True), st.lists(st.text(max_size=8), max_size=12), st.data())
def test_what_is_hidden_comes_back_as_it_was_however_the_stream_is_cut(
    values: list[str], between: list[str], data: st.DataObject
) -> None:
    text = "".join(f"{gap}{data.draw(st.sampled_from(values))}" for gap in between)
    made = Placeholders()
    made.add(dict.fromkeys(values, "kind"), [text])
    hidden = made.hide(text)
    restoring, came, at = Restoring(made), "", 0
    while at < len(hidden):
        size = data.draw(st.integers(1, 9))
        came += restoring.feed(hidden[at : at + size])
        at += size
    assert came + restoring.flush() == text


@given(st.lists(VALUES, min_size=1, max_size=20, unique=True), st.text(max_size=80))
@example(["aa", "ab", "aab"], "aaab")
def test_no_hidden_value_is_left(values: list[str], text: str) -> None:
    made = Placeholders()
    made.add(dict.fromkeys(values, "z"), [text])
    gaps = made.hide("\n".join([text, *values])).replace("[Z-", "\n").replace("]", "\n")
    assert not any(value in gaps for value in values if not value.isdecimal() and "Z" not in value)


def test_only_the_beginning_of_a_placeholder_that_was_used_is_held_back() -> None:
    made = placeholders("", email=ANN)
    made.hide(ANN)
    restoring = Restoring(made)
    assert restoring.feed('<execute>[{"a": 1}') == '<execute>[{"a": 1}'
    assert restoring.feed("see [PHONE-") == "see [PHONE-"
    assert restoring.feed("[EMAIL-") == ""
    assert restoring.feed("2]") == "[EMAIL-2]"
    assert restoring.feed(" [ema") == " "
    assert restoring.feed("il-1") == ""
    assert restoring.flush() == "[email-1"


@pytest.mark.parametrize("value", ["a", "x" * 201, "two\nlines", 'a "name"', "back\\slash", "<execute>", " spaced", ""])
def test_a_value_that_could_end_a_string_or_open_a_tag_is_not_hidden(value: str) -> None:
    assert problem_of({value: "kind"}) is not None


@pytest.mark.parametrize("kind", ["", "e-mail", "9th", "x" * 21, "[", 7])
def test_a_kind_is_a_short_word(kind: object) -> None:
    assert problem_of({ANN: kind}) is not None
    assert problem_of({ANN: "email"}) is None


def test_too_many_values_are_refused() -> None:
    assert problem_of({f"value {number}": "v" for number in range(MAX_VALUES + 1)}) is not None


@pytest.mark.parametrize("text", ["abcdefgh" * 40_000, "abcdef1" * 40_000, "[EMAIL-" * 40_000])
def test_a_long_text_with_many_values_takes_bounded_time(text: str) -> None:
    made = Placeholders()
    made.add({f"abcdef{number}x": "email" for number in range(MAX_VALUES)}, [text])
    began = time.process_time()
    made.restore(made.hide(text))
    assert time.process_time() - began < 5
