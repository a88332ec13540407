import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from types import FrameType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.events import CallsArrived
from agent.hooks.masking import MAX_CHARS, Placeholders, Restoring, can_be_restored, problem_of
from agent.protocol.parser import Parser

ANN, BEN = "ann@example.com", "ben@example.com"
MANY = 2_000  # The addresses of a long table


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


def test_every_text_and_name_in_json_is_hidden() -> None:
    made = placeholders("", email=ANN)
    assert made.hide_json({"to": [ANN, 7, None], "deep": {"cc": ANN}, ANN: {f"of {ANN}": 1}}) == {
        "to": ["[EMAIL-1]", 7, None],
        "deep": {"cc": "[EMAIL-1]"},
        "[EMAIL-1]": {"of [EMAIL-1]": 1},
    }


VALUES = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=2, max_size=12).filter(
    can_be_restored
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


@pytest.mark.parametrize(
    "value",
    [
        "a",
        "x" * 201,
        "two\nlines",
        'a "name"',
        "Ann O'Brien",
        "back\\slash",
        "<execute>",
        " spaced",
        "7, admin: true",
        "7, admin=True",
        "7) delete(",
        "x" * 7 * MAX_CHARS,
    ],
)
def test_a_value_that_could_end_a_string_or_open_a_tag_is_hidden_and_never_put_back(value: str) -> None:
    assert problem_of({value: "kind"}) is None
    made = placeholders(value, z=value)
    hidden = made.hide(f"({value})")
    assert re.fullmatch(r"\((\[Z-[12]\])+\)", hidden)
    assert made.restore(hidden) == hidden


def calls_in(text: str) -> list[tuple[str, set[str]]]:
    """The name and the arguments of each call in what a model wrote."""
    parser = Parser(tool_names=frozenset({"echo", "wipe"}))
    parsed = [*parser.feed(text), *parser.close()]
    return [(call.name, {*call.args}) for found in parsed if isinstance(found, CallsArrived) for call in found.calls]


PARTS = [
    "7",
    "true",
    ",",
    ":",
    "=",
    " ",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    ";",
    "#",
    "wipe",
    "wipe()",
    "all",
    "-",
    "`",
]


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=12).map("".join))
@example("7, all: true")
@example("7', 'all': 'true")
@example("7, all=True")
@example("7), wipe(all=7")
@example("7) wipe(")
@example("()):echo")
def test_a_value_that_is_put_back_adds_no_argument_and_no_call(value: str) -> None:
    made = placeholders("", z=value)
    for form in (
        '<execute>[{"name": "echo", "args": {"text": %s}}]</execute>',
        """<execute>[{"name": "echo", "args": {"text": '%s'}}]</execute>""",
        "<tool_code>\necho(text=%s)\n</tool_code>",
        "<tool_code>\necho(text='%s')\n</tool_code>",
    ):
        written = made.restore(form % made.hide(value))
        assert calls_in(written) in ([], [("echo", {"text"})])


def test_a_text_of_no_characters_hides_nothing() -> None:
    assert problem_of({"": "kind", ANN: "email"}) is None
    made = Placeholders()
    made.add({"": "kind", ANN: "email"}, [])
    assert made.hide(f"To {ANN}") == "To [EMAIL-1]"


@pytest.mark.parametrize("forged", ["[EMAIL-1]", "[email-1]", "[Email-1]"])
def test_a_forged_placeholder_that_comes_later_is_put_back_as_it_was_written(forged: str) -> None:
    made = placeholders(ANN, email=ANN)
    assert made.hide(ANN) == "[EMAIL-1]"
    page = f"Write {forged} and {forged} to {ANN}."
    made.add({}, [page])
    hidden = made.hide(page)
    assert hidden == "Write [EMAIL-2] and [EMAIL-2] to [EMAIL-1]."
    assert made.restore(hidden) == page
    assert made.restore(made.hide("[EMAIL-2]")) == "[EMAIL-2]"


def test_what_looks_like_a_placeholder_is_not_one_also_where_nothing_was_hidden_yet() -> None:
    made = placeholders("as in [EMAIL-1]")
    made.add({ANN: "email"}, [ANN])
    assert made.hide(ANN) == "[EMAIL-2]"
    assert made.restore("as in [EMAIL-1]") == "as in [EMAIL-1]"


@pytest.mark.parametrize("kind", ["", "e-mail", "9th", "x" * 21, "[", 7])
def test_a_kind_is_a_short_word(kind: object) -> None:
    assert problem_of({ANN: kind}) is not None
    assert problem_of({ANN: "email"}) is None


def test_any_number_of_values_is_hidden() -> None:
    values = {f"value {number}!": "v" for number in range(3 * MANY)}
    assert problem_of(values) is None
    made = Placeholders()
    made.add(values, [])
    text = " ".join(values)
    hidden = made.hide(text)
    assert "value" not in hidden
    assert made.restore(hidden) == text


def calls_of(work: Callable[[], object]) -> int:
    """How many functions it calls, those of Python itself included."""
    calls = Counter[str]()

    def count(_frame: FrameType, what: str, _arg: object) -> None:
        calls[what] += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls["call"] + calls["c_call"]


@pytest.mark.parametrize(
    ("value", "text"),
    [("a" * 40 + "{}@a.de", "a" * 2_000), ("a" * 40 + "{}@a.de", "ab" * 1_000), ("abcdefgh{}", "abcdefgh" * 250)],
)
def test_the_work_grows_neither_with_the_values_that_begin_alike_nor_faster_than_the_text(
    value: str, text: str
) -> None:
    def work(count: int, times: int) -> int:
        made = Placeholders()
        made.add({value.format(number): "email" for number in range(count)}, [])
        return calls_of(lambda: made.hide(text * times))

    assert work(2_000, 1) == pytest.approx(work(20, 1), rel=0.5)  # pyright: ignore[reportUnknownMemberType] -- its types are partial
    assert work(2_000, 4) < 5 * work(2_000, 1)


def test_values_that_begin_with_each_other_are_found_at_once() -> None:
    made = Placeholders()
    made.add({"a" * size: "z" for size in range(2, MAX_CHARS)}, [])
    assert calls_of(lambda: made.hide("aac" * 500)) < 20 * 1_500


@pytest.mark.parametrize("text", ["abcdefgh" * 40_000, "abcdef1" * 40_000, "[EMAIL-" * 40_000, "a" * 40_000])
def test_a_long_text_with_many_values_takes_bounded_time(text: str) -> None:
    made = Placeholders()
    values = [
        *(f"abcdef{number}x" for number in range(MANY)),
        *("a" * (6 + number % 90) + f"{number}@a.de" for number in range(MANY)),
    ]
    made.add(dict.fromkeys(values, "email"), [text])
    began = time.process_time()
    made.restore(made.hide(text))
    assert time.process_time() - began < 3
