"""The order of found messages."""

from hypothesis import given
from hypothesis import strategies as st

from store.ranking import Match, ranked

RARE, COMMON = 0, 1


def order(*matches: Match, total: int = 100) -> list[int]:
    return [message for message, _ in ranked(matches, total=total)]


def person(message: int, keyword: int = RARE, *, length: int = 10) -> Match:
    return Match(keyword, message, turn=message, by_person=True, length=length)


def bot(message: int, turn: int, keyword: int = RARE, *, length: int = 10) -> Match:
    return Match(keyword, message, turn, by_person=False, length=length)


def test_nothing_found_gives_nothing() -> None:
    assert order() == []


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    assert order(person(1, RARE), *(person(n, COMMON) for n in range(2, 9)))[0] == 1


def test_more_words_weigh_more_than_one() -> None:
    assert order(person(1, RARE), person(1, COMMON), person(2, RARE), person(3, COMMON))[0] == 1


def test_a_short_message_comes_before_a_long_one() -> None:
    assert order(person(1, length=5), person(2, length=500)) == [1, 2]


def test_between_equals_the_newest_comes_first() -> None:
    assert order(person(1), person(3), person(2)) == [3, 2, 1]


def test_a_persons_words_come_before_the_same_words_of_the_bot() -> None:
    assert order(person(1), bot(3, turn=2)) == [1, 3]


def test_a_reply_lifts_the_question_that_it_answers_and_not_the_other_way_round() -> None:
    assert order(person(1), bot(2, turn=1), person(3)) == [1, 3, 2]


@given(
    st.lists(
        st.builds(
            Match,
            st.integers(0, 3),
            st.integers(1, 20),
            st.integers(1, 20),
            st.booleans(),
            st.integers(0, 10_000),
        ),
        max_size=40,
    ),
    st.integers(0, 100),
)
def test_every_matched_message_is_ranked_once_with_a_positive_score(matches: list[Match], total: int) -> None:
    found = ranked(matches, total=total)
    assert sorted(message for message, _ in found) == sorted({match.message for match in matches})
    assert all(score > 0 for _, score in found)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
