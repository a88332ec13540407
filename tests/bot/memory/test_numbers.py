"""The numbers of entries: a number is never given to a second entry."""

from hypothesis import given
from hypothesis import strategies as st

from bot.memory.numbers import MAX_NUMBERS, EntryNumbers, decode_numbers

KEYS = st.lists(st.sampled_from([f"p:{number}" for number in range(12)]), max_size=8)


def test_numbers_are_given_in_order_and_kept() -> None:
    numbers = EntryNumbers().including(["p:7", "f:1"]).including(["f:1", "p:9"])
    assert numbers.by_key == {"p:7": 1, "f:1": 2, "p:9": 3}
    assert numbers.key(2) == "f:1"
    assert numbers.key(4) is None


def test_what_comes_in_the_place_of_something_has_its_number() -> None:
    assert EntryNumbers().including(["p:1", "p:2"]).replaced("p:1", "p:3").by_key == {"p:3": 1, "p:2": 2}


def test_beyond_the_most_the_oldest_that_are_listed_no_more_are_given_up_and_not_given_again() -> None:
    numbers = EntryNumbers().including(f"p:{number}" for number in range(MAX_NUMBERS)).including(["f:1", "p:3"])
    assert len(numbers.by_key) == MAX_NUMBERS
    assert numbers.key(1) is None
    assert numbers.key(4) == "p:3"
    assert numbers.including(["p:0"]).by_key["p:0"] == MAX_NUMBERS + 2


def test_everything_that_is_listed_has_a_number_however_long_the_list() -> None:
    listed = [f"p:{number}" for number in range(3 * MAX_NUMBERS)]
    numbers = EntryNumbers().including(listed)
    assert numbers.including(reversed(listed)) == numbers
    assert [numbers.by_key[key] for key in listed] == [*range(1, 3 * MAX_NUMBERS + 1)]


def test_numbers_survive_being_kept() -> None:
    numbers = EntryNumbers().including(["p:1", "f:2"])
    assert decode_numbers(numbers.encode()) == numbers
    assert decode_numbers("") == decode_numbers("[1]") == decode_numbers('{"last": "x"}') == EntryNumbers()


@given(st.lists(KEYS, max_size=10))
def test_a_number_never_stands_for_anything_else_whatever_the_lists_were(lists: list[list[str]]) -> None:
    numbers, given_before = EntryNumbers(), dict[int, str]()
    for keys in lists:
        numbers = decode_numbers(numbers.including(keys).encode())
        for key, number in numbers.by_key.items():
            assert given_before.setdefault(number, key) == key
