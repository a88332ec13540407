"""Pairs of statements: how they are read, and that each road keeps its bounds on them."""

import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent.memory.doubts import KNOWN_PAIRS
from agent.memory.facts import same_key
from agent.memory.judging import Verdict, judge, may_replace
from agent.memory.told import Told
from agent.messages import Message
from agent.providers.scripted import Answering, ScriptedProvider
from benchmarks.fact_pairs import STATEMENT_PAIRS, StatementPair, measure_pairs, read_statement_pairs
from bot.chat.learning_model import LearningModel

LATER = STATEMENT_PAIRS.with_name("statement_pairs_later.jsonl")
EVERYDAY = STATEMENT_PAIRS.with_name("statement_pairs_everyday.jsonl")
FIRST_SIGHT = STATEMENT_PAIRS.with_name("statement_pairs_at_first_sight.jsonl")
WORKPLACE = STATEMENT_PAIRS.with_name("statement_pairs_workplace.jsonl")
ORDINARY = STATEMENT_PAIRS.with_name("statement_pairs_ordinary.jsonl")
BLIND = STATEMENT_PAIRS.with_name("statement_pairs_blind.jsonl")
CARELESS = STATEMENT_PAIRS.with_name("statement_pairs_careless_keys.jsonl")
UNSEEN = STATEMENT_PAIRS.with_name("statement_pairs_unseen.jsonl")
LOOK_ALIKES = STATEMENT_PAIRS.with_name("statement_pairs_look_alikes.jsonl")
FILES = [STATEMENT_PAIRS, LATER, FIRST_SIGHT, EVERYDAY, ORDINARY]
# Everyday statements about the same thing share fewer words: less of them is marked without a key, by a common word,
# and replaced with one. What is not replaced is kept.
LEAST_MARKED = {EVERYDAY: 80, ORDINARY: 85}
LEAST_REPLACED = {EVERYDAY: 45, ORDINARY: 60}
LANGUAGES = {"en", "de", "fr", "es", "pt", "ru", "zh", "ja"}


def test_the_pairs_are_many_and_half_of_them_harmless_in_eight_languages() -> None:
    pairs = read_statement_pairs(STATEMENT_PAIRS)
    assert len(pairs) >= 200
    assert {pair.lang for pair in pairs} == LANGUAGES
    counts = Counter((pair.lang, pair.must_supersede) for pair in pairs)
    assert all(counts[language, True] == counts[language, False] >= 11 for language in LANGUAGES)


def decided(pairs: list[StatementPair], *, bare: bool, named: bool) -> Counter[tuple[bool, bool]]:
    """Count the pairs by whether the newer must supersede, and whether it does."""
    counts = Counter[tuple[bool, bool]]()
    for pair in pairs:
        older = Told(pair.key_older, pair.bare_older if bare else pair.older, pair.older)
        newer = Told(pair.key_newer, pair.bare_newer if bare else pair.newer, pair.newer)
        counts[pair.must_supersede, judge(older, newer, named=named) is Verdict.REPLACES] += 1
    return counts


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_with_a_key_most_that_changed_is_replaced_and_hardly_anything_else(file: Path, bare: bool, named: bool) -> None:
    counts = decided(read_statement_pairs(file), bare=bare, named=named)
    right, wrong, missed = counts[True, True], counts[False, True], counts[True, False]
    assert right / (right + wrong) >= 0.98
    assert 100 * right / (right + missed) >= LEAST_REPLACED.get(file, 75)


@pytest.mark.parametrize("file", [*FILES, BLIND, CARELESS, UNSEEN], ids=lambda file: file.stem)
def test_nearly_all_that_changed_is_replaced_or_may_be_decided_by_a_model(file: Path) -> None:
    pairs = [pair for pair in read_statement_pairs(file) if pair.must_supersede]
    both = [
        (Told(pair.key_older, pair.older, pair.older), Told(pair.key_newer, pair.newer, pair.newer)) for pair in pairs
    ]
    verdicts = [(judge(older, newer), may_replace(older, newer)) for older, newer in both]
    decided = [verdict is Verdict.REPLACES or (verdict is Verdict.MAY_OUTDATE and may) for verdict, may in verdicts]
    assert sum(decided) >= 0.89 * len(pairs)


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_of_look_alikes_with_one_key_hardly_any_is_replaced(bare: bool, named: bool) -> None:
    counts = decided(read_statement_pairs(WORKPLACE), bare=bare, named=named)
    wrong, kept = counts[False, True], counts[False, False]
    assert kept >= 180
    assert wrong / (wrong + kept) <= 0.02
    counts = decided(read_statement_pairs(LOOK_ALIKES), bare=bare, named=named)
    assert counts[False, True] <= 1
    assert counts[False, False] >= 127


def test_each_road_of_the_product_gives_what_its_name_says() -> None:
    change = StatementPair(
        "The code of the gate is 12.", "The code of the gate is 34 now.", True, "en", "gate", "gate", "12", "34 now"
    )
    apart = StatementPair(
        "Ann's desk is number 12.", "Ben's desk is number 34.", False, "en", "desk", "desk", "number 12", "number 34"
    )
    metrics, wrong = measure_pairs([change, apart])
    assert wrong == []
    judged = ("judged", "judged_always", "sentence_judged", "sentence_judged_always")
    roads = ("sentence", "key", "key_named", "key_wrong_named", "learned_bare", "learned_wrong_named", *judged)
    assert {name for name in metrics if "marked" not in name} == {
        f"pairs_{what}_{road}" for what in ("precision", "recall") for road in roads
    }
    assert metrics["pairs_marked_sentence"] == metrics["pairs_marked_key"] == 100
    assert metrics["pairs_marked_harmless"] == 0


def test_what_is_marked_with_a_key_is_counted_apart_from_what_the_sentence_alone_marks() -> None:
    marked = StatementPair(
        "I report to Denise.", "Tomasz took over our group.", True, "en", "my manager", "my manager", "Denise", "Tomasz"
    )
    neither = StatementPair("Rex is five.", "The van is red.", True, "en", "Rex", "van", "five", "red")
    metrics, _ = measure_pairs([marked, neither])
    assert (metrics["pairs_marked_key"], metrics["pairs_marked_sentence"]) == (50, 0)


def same_key_share(path: Path) -> float:
    """Return which share of the changes under one key, in percent, is replaced or marked."""
    pairs = [pair for pair in read_statement_pairs(path) if same_key(pair.key_older, pair.key_newer)]
    both = [
        (Told(pair.key_older, pair.older, pair.older), Told(pair.key_newer, pair.newer, pair.newer))
        for pair in pairs
        if pair.must_supersede
    ]
    return 100 * sum(judge(older, newer) is not Verdict.STANDS_BESIDE for older, newer in both) / len(both)


@pytest.mark.parametrize("file", [STATEMENT_PAIRS, ORDINARY, BLIND], ids=lambda file: file.stem)
def test_nearly_all_that_changed_under_one_key_is_replaced_or_marked(file: Path) -> None:
    assert same_key_share(file) >= 98


@pytest.mark.parametrize("file", [BLIND, CARELESS, UNSEEN], ids=lambda file: file.stem)
@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_of_pairs_by_blind_authors_nothing_that_stands_is_replaced_with_a_key(
    file: Path, bare: bool, named: bool
) -> None:
    pairs = read_statement_pairs(file)
    counts = decided(pairs, bare=bare, named=named)
    assert counts[False, True] == 0
    assert counts[True, True] >= 0.1 * sum(pair.must_supersede for pair in pairs)


def test_a_verdict_replaces_what_the_rules_leave_open_and_nothing_that_is_plainly_about_another() -> None:
    is_open = StatementPair(
        "I take my coffee black.",
        "I take my coffee with oat milk.",
        True,
        "en",
        "coffee",
        "coffee",
        "black",
        "oat milk",
    )
    apart = StatementPair(
        "Ana uses a Lenovo laptop.", "Bea uses a Dell laptop now.", False, "en", "laptop", "laptop", "Lenovo", "Dell"
    )
    metrics, _ = measure_pairs([is_open, apart])
    assert metrics["pairs_recall_key"] == 0
    assert metrics["pairs_recall_judged"] == metrics["pairs_precision_judged"] == 100
    assert metrics["pairs_recall_judged_always"] == metrics["pairs_precision_judged_always"] == 100


OPEN = StatementPair(
    "I keep my keys in the drawer.", "I keep my keys on the hook.", True, "en", "keys", "keys", "the drawer", "the hook"
)
BESIDE = StatementPair(
    "Our garden has a pear tree.", "Our garden has a pond.", False, "en", "garden", "garden", "a pear tree", "a pond"
)


def measured_with(answer: Answering) -> dict[str, float]:
    @asynccontextmanager
    async def model() -> AsyncGenerator[LearningModel]:
        yield LearningModel(ScriptedProvider(answer))

    return measure_pairs([OPEN, BESIDE], model)[0]


def judges(*, sees: Callable[[Mapping[str, str]], bool]) -> Answering:
    """Judge each pair by what it shows."""

    def answer(prompt: Sequence[Message]) -> str:
        items = json.loads(prompt[-1].text)
        numbers = {verdict: [item["number"] for item in items if sees(item) is verdict] for verdict in (True, False)}
        return json.dumps({"outdated": numbers[True], "both": numbers[False]})

    return answer


def test_a_real_model_is_measured_as_it_is_and_as_code_lets_it_count() -> None:
    outdated = {OPEN.newer, *(known.newer for known in KNOWN_PAIRS if known.is_outdated)}
    right = measured_with(judges(sees=lambda item: any(text in item["newer"] for text in outdated)))
    assert right["pairs_precision_judged_model"] == right["pairs_recall_judged_model"] == 100
    assert (right["outdated_changed_judged_model"], right["both_standing_judged_model"]) == (1, 1)
    assert (right["judge_calls_judged_model"], right["judge_calls_judged_model_many"]) == (2, 1)
    careless = measured_with(judges(sees=lambda _: True))
    assert careless["pairs_recall_judged_model"] == careless["pairs_recall_key"] == 0
    assert careless["judge_untrusted_judged_model"] == 2
    mute = measured_with(lambda _: "I would rather not.")
    assert mute["judge_unreadable_judged_model_many"] == 1
    assert mute["pairs_recall_judged_model"] == 0


def test_a_file_that_holds_no_pairs_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps({"older": "a"}) + "\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"pairs\.jsonl does not hold pairs of statements"):
        read_statement_pairs(path)


@pytest.mark.slow
@pytest.mark.timeout(1200)  # Hundreds of pairs on eight roads: a minute alone, and many on a busy machine
@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_on_every_road_of_the_product_the_bounds_hold(file: Path) -> None:
    metrics, _ = measure_pairs(read_statement_pairs(file))
    # A model that calls everything outdated is worse than any: there the checks of code are all that protects.
    assert all(value >= 98 for name, value in metrics.items() if "precision" in name and "always" not in name)
    recalls = [value for name, value in metrics.items() if "recall" in name and "sentence" not in name]
    assert min(recalls) >= LEAST_REPLACED.get(file, 75)
    assert metrics["pairs_marked_sentence"] >= LEAST_MARKED.get(file, 75)
