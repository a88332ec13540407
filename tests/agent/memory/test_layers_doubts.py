"""A fact that a newer one may have replaced is shown beside it, both with their days."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from agent.memory.facts import Fact
from agent.memory.layers import ContextReader, Environment, IdentityRole, Layers, memory_context
from agent.memory.writing import DOUBTED, FactDoubted, NewFact, removed, write

MONDAY = datetime(2026, 3, 2, 23, 30, tzinfo=UTC)
HERE = "person:ann"


def new(id_: str, value: str, days: int = 0, key: str = "") -> NewFact:
    return NewFact(id_, key, value, "user", MONDAY + timedelta(days=days), HERE, "ann")


def doubted() -> tuple[Fact, ...]:
    facts, _ = write((), new("1", "Our team eats lunch in the garden"))
    facts, changes = write(facts, new("2", "Our team eats lunch on the roof", 9))
    assert FactDoubted("1", "2") in changes
    return facts


def shown(facts: tuple[Fact, ...], zone: str = "UTC", question: str = "lunch?") -> list[str]:
    layers = Layers(IdentityRole("Ann"), Environment(MONDAY + timedelta(days=20), zone), facts)
    text = memory_context(layers, ContextReader(frozenset({HERE}), question)).text
    return text.partition("FACTS:\n")[2].splitlines()


def test_both_are_shown_with_their_days_the_newer_one_first() -> None:
    assert shown(doubted()) == [
        "#2 Our team eats lunch on the roof (said 2026-03-11)",
        "#1 Our team eats lunch in the garden (said 2026-03-02; possibly outdated by #2)",
    ]


def test_the_newer_one_stands_first_also_where_the_question_has_the_words_of_the_older() -> None:
    lines = shown(doubted(), question="Who eats in the garden?")
    assert [line.partition(" ")[0] for line in lines] == ["#2", "#1"]


def test_the_days_are_those_of_the_persons_zone() -> None:
    assert "(said 2026-03-03; possibly outdated by #2)" in shown(doubted(), "Europe/Madrid")[1]


def test_once_the_newer_one_is_gone_nothing_doubts_the_older() -> None:
    (left,) = removed(doubted(), ["2"])
    assert left.doubted_by is None
    assert shown((left,)) == ["#1 Our team eats lunch in the garden"]


def test_an_older_statement_that_arrives_late_is_the_doubted_one() -> None:
    facts, _ = write((), new("1", "Our team eats lunch on the roof", 9))
    facts, _ = write(facts, new("2", "Our team eats lunch in the garden"))
    assert [(fact.id, fact.doubted_by) for fact in facts] == [("1", None), ("2", "1")]


def test_of_many_facts_about_one_thing_the_words_alone_mark_the_nearest_few() -> None:
    facts: tuple[Fact, ...] = ()
    for number, value in enumerate(("red", "tall", "warm", "loud", "narrow")):
        facts, _ = write(facts, new(str(number), f"The kiln looks {value}"))
    undoubted = [replace(fact, doubted_by=None) for fact in facts]
    facts, _ = write(undoubted, new("9", "The kiln got a new door", 1))
    assert sum(fact.doubted_by == "9" for fact in facts) == DOUBTED


def test_a_doubt_that_nobody_decided_yet_is_not_taken_away_by_a_common_word() -> None:
    facts, _ = write((), new("1", "Our team eats lunch in the garden", key="lunch"))
    facts, _ = write(facts, new("2", "Lunch happens on the roof", 1, key="lunch"))
    assert facts[0].doubted_by == "2"
    facts, _ = write(facts, new("3", "The garden has a gate", 2))
    assert facts[0].doubted_by == "2"
    facts, _ = write(facts, new("4", "They serve lunch in the hall", 3, key="lunch"))
    assert facts[0].doubted_by == "4"
