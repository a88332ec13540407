"""The order of found messages."""

from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory.periods import TimeSpan
from store.search.search import CANDIDATES, MATCH_LIMIT, FoundLine, Hints, Match, Range, candidates, ranked

RARE, COMMON = 0, 1
NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
PLAIN = Hints()


Held: TypeAlias = tuple[int, Match]  # A keyword, and a message that holds it


def holds(message: int, *keywords: int, length: int = 10, bot: bool = False) -> list[Held]:
    return [(keyword, (message, not bot, length)) for keyword in keywords or (RARE,)]


def by_keyword(held: list[Held]) -> list[list[Match]]:
    """As the engines find them."""
    keywords = range(max((keyword for keyword, _ in held), default=-1) + 1)
    return [[match for keyword, match in held if keyword == wanted] for wanted in keywords]


def said(*ids: int, thread: str = "thread", by: str = "ann", days_ago: int = 0) -> dict[int, FoundLine]:
    """Messages that follow one another in a thread; negative ones are the bot's."""
    ways = [abs(id_) for id_ in ids]
    return {
        abs(id_): FoundLine(
            thread,
            id_ > 0,
            by,
            NOW - timedelta(days=days_ago),
            tuple(ways[max(at - 2, 0) : at][::-1]),
            tuple(ways[at + 1 : at + 3]),
        )
        for at, id_ in enumerate(ids)
    }


def apart(*ids: int) -> dict[int, FoundLine]:
    """Messages that each stand in a thread of their own."""
    return {id_: line for one in ids for id_, line in said(one, thread=f"thread {one}").items()}


def order(matches: list[Held], lines: dict[int, FoundLine], hints: Hints = PLAIN) -> list[int]:
    return [message for message, _ in ranked(candidates(by_keyword(matches), Range(100)), lines, hints)]


def test_nothing_found_gives_nothing() -> None:
    assert order([], {}) == []


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    common = [match for n in range(2, 9) for match in holds(n, COMMON)]
    assert order([*holds(1, RARE), *common], apart(*range(1, 9)))[0] == 1


def test_more_words_weigh_more_than_one() -> None:
    matches = [*holds(1, RARE, COMMON), *holds(2, RARE), *holds(3, COMMON)]
    assert order(matches, apart(1, 2, 3))[0] == 1


def test_a_short_message_comes_before_a_long_one() -> None:
    assert order([*holds(1, length=5), *holds(2, length=500)], apart(1, 2)) == [1, 2]


def test_between_equals_the_newest_comes_first() -> None:
    assert order([*holds(1), *holds(3), *holds(2)], apart(1, 2, 3)) == [3, 2, 1]


def test_age_itself_takes_nothing_away() -> None:
    lines = said(1, thread="old", days_ago=4000) | said(2, thread="new")
    assert order([*holds(1, length=9), *holds(2, length=10)], lines) == [1, 2]


def test_a_persons_words_come_before_the_same_words_of_the_bot() -> None:
    assert order([*holds(1), *holds(3, bot=True)], apart(1) | said(-3)) == [1, 3]


def test_a_reply_lifts_the_question_that_it_answers_and_not_the_other_way_round() -> None:
    lines = said(1, -2, thread="a") | said(3, -4, thread="b")
    assert order(holds(2, bot=True), lines) == [2, 1]
    assert order(holds(3), lines) == [3]


def test_a_keyword_beside_a_message_counts_for_it_and_the_nearer_the_more() -> None:
    assert order(holds(3), said(1, 2, 3, 4)) == [3, 4, 2, 1]
    assert order(holds(1), said(1, 2, 3, 4)) == [1, 2, 3]


def test_words_that_stand_side_by_side_in_a_thread_count_together() -> None:
    matches = [*holds(1, RARE), *holds(2, COMMON), *holds(3, RARE), *holds(4, COMMON)]
    assert set(order(matches, said(1, 2, thread="a") | apart(3, 4))[:2]) == {1, 2}


def test_a_keyword_counts_once_however_often_it_stands_around() -> None:
    alone = dict(ranked(candidates(by_keyword(holds(2)), Range(100)), said(1, 2)))
    among = dict(ranked(candidates(by_keyword([*holds(1), *holds(2)]), Range(100)), said(1, 2)))
    assert among[2] < 1.5 * alone[2]


def test_what_the_bot_says_parts_what_stands_around_it() -> None:
    assert order(holds(1), said(1, -2, 3)) == [1]


def test_what_may_not_be_seen_is_not_lifted() -> None:
    lines = said(1, 2)
    del lines[2]
    assert order(holds(1), lines) == [1]


def test_a_thread_that_comes_back_to_a_keyword_comes_first() -> None:
    matches = [match for n in (1, 4, 7) for match in holds(n)]
    assert order([*matches, *holds(9)], said(*range(1, 8), thread="a") | apart(9))[:3] == [7, 4, 1]


def test_the_bot_is_heard_like_a_person_when_it_is_asked_about_itself() -> None:
    lines, matches = apart(1) | said(-3), [*holds(1), *holds(3, bot=True)]
    assert order(matches, lines, Hints(bot=True)) == [3, 1]


def test_whoever_is_named_comes_first_with_what_they_wrote_and_the_name_is_no_keyword() -> None:
    name = 2
    lines = said(1, thread="a", by="ben") | said(2, thread="b") | said(3, thread="c")
    named = Hints(names=frozenset({name}), people=frozenset({"ben"}))
    matches = [*holds(1, RARE), *holds(2, RARE, name), *holds(3, name)]
    assert order(matches, lines, named) == [1, 2]


def test_a_name_alone_is_looked_for() -> None:
    assert order(holds(1), apart(1), Hints(names=frozenset({RARE}))) == [1]


@pytest.mark.parametrize(("days_ago", "first"), [(11, 1), (9, 1), (2, 2), (30, 2)])
def test_what_was_said_then_or_soon_after_comes_first(days_ago: int, first: int) -> None:
    then = TimeSpan(NOW - timedelta(days=12), NOW - timedelta(days=10))
    lines = said(1, thread="a", days_ago=days_ago) | said(2, thread="b")
    assert order([*holds(1), *holds(2)], lines, Hints(periods=(then,)))[0] == first


def test_only_the_best_matches_are_looked_at_closely() -> None:
    many = [match for n in range(1, 2 * CANDIDATES) for match in holds(n)]
    assert set(candidates(by_keyword(many), Range(100))) == set(range(CANDIDATES, 2 * CANDIDATES))


def test_a_word_of_which_only_the_newest_were_looked_at_counts_as_common_as_it_is() -> None:
    newest = [match for n in range(9_000, 9_000 + MATCH_LIMIT) for match in holds(n, COMMON)]
    among = Range(10_000, 1, 10_000)
    found = candidates(by_keyword([*newest, *holds(1, RARE)]), among)
    whole = candidates(by_keyword([match for n in range(1, 10_000, 2) for match in holds(n, COMMON)]), Range(10_000))
    commonest, other = max(held.get(COMMON, 0.0) for held in found.values()), whole[9_999][COMMON]
    assert commonest == pytest.approx(other, rel=0.1)


def test_what_is_near_in_meaning_is_found_without_a_word_and_stays_behind_the_word_itself() -> None:
    lines = apart(1, 2, 3)
    found = ranked(candidates(by_keyword(holds(1)), Range(100)), lines, nearness={1: 0.1, 2: 0.9, 3: 0.5})
    assert [message for message, _ in found] == [1, 2, 3]


def test_among_messages_with_the_same_words_the_nearest_in_meaning_comes_first() -> None:
    found = candidates(by_keyword([*holds(1), *holds(2)]), Range(100))
    assert ranked(found, apart(1, 2), nearness={1: 0.9, 2: 0.1})[0][0] == 1


def test_a_meaning_that_the_search_may_not_see_is_not_ranked() -> None:
    assert ranked({}, apart(1), nearness={1: 0.5, 2: 0.9}) == ranked({}, apart(1), nearness={1: 0.5})


matched = st.lists(st.tuples(st.integers(1, 20), st.booleans(), st.integers(0, 10_000)), max_size=10)


@given(st.lists(matched, max_size=4), st.integers(0, 100), st.permutations(range(1, 21)), st.integers(1, 19))
def test_every_matched_message_is_ranked_once_with_a_positive_score(
    matches: list[list[Match]], total: int, ids: list[int], cut: int
) -> None:
    signed = [id_ if id_ % 3 else -id_ for id_ in ids]
    lines = said(*signed[:cut], thread="a") | said(*signed[cut:], thread="b")
    found = ranked(candidates(matches, Range(total)), lines)
    assert {message for found_ in matches for message, _, _ in found_} <= {message for message, _ in found}
    assert len({message for message, _ in found}) == len(found)
    assert all(score > 0 for _, score in found)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
