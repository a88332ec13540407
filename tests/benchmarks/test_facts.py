"""How timelines are read, and how phrases are found in a context."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.facts import NATURAL_CHANGES, Pair, measure, read_pairs, supersedes, supersession
from benchmarks.statebench import matches, read_timelines

NOON = "2026-03-02T12:00:00"


@pytest.mark.parametrize(
    ("phrase", "text", "found"),
    [
        ("no", "we know", False),
        ("no", "No, thanks", True),
        ("$50", "it is $50.", True),
        ("$50", "it is $500", False),
        ("tea|coffee", "Coffee, please", True),
        ("regex:tea\\s+time", "tea  time", True),
    ],
)
def test_phrases_match_at_word_boundaries_in_any_case(phrase: str, text: str, found: bool) -> None:
    assert matches(phrase, text) is found


def timeline() -> dict[str, Any]:
    role = {"user_name": "Ann", "department": "Legal", "organization": "Acme"}
    given = {"id": "F1", "key": "city", "value": "Rome", "ts": NOON, "source": {"type": "user", "authority": "peer"}}
    moved = {"id": "W", "layer": "persistent_facts", "key": "city_v2", "value": "Oslo", "supersedes": "city"}
    truth = {"must_mention": ["Oslo", "flat"], "must_not_mention": ["Rome"]}
    return {
        "id": "1",
        "track": "moves",
        "initial_state": {
            "identity_role": role,
            "persistent_facts": [given],
            "working_set": [],
            "environment": {"now": NOON},
        },
        "events": [
            {
                "ts": "2026-03-02T12:05:00",
                "type": "conversation_turn",
                "speaker": "user",
                "text": "My city is Rome, in a nice flat",
            },
            {
                "ts": "2026-03-02T12:29:00",
                "type": "conversation_turn",
                "speaker": "user",
                "text": "I have moved to Oslo",
            },
            {"ts": "2026-03-02T12:30:00", "type": "supersession", "writes": [moved]},
            {
                "ts": "2026-03-02T12:40:00",
                "type": "query",
                "prompt": "In which city is my flat?",
                "ground_truth": truth,
            },
        ],
    }


async def test_a_timeline_is_lived_through_by_the_product(tmp_path: Path) -> None:
    path = tmp_path / "timelines.jsonl"
    path.write_text(json.dumps(timeline()) + "\n", encoding="utf-8")
    results = (await measure(read_timelines(path)))["moves"]
    assert results.ours.metrics()["required_in_context"] == 100
    assert results.ours.metrics()["queries_with_forbidden"] == 0
    assert results.transcript.metrics()["queries_with_forbidden"] == 100


PAIRS = read_pairs()


def test_the_pairs_are_many_and_half_of_them_harmless_in_every_language() -> None:
    assert len(PAIRS) >= 200
    assert {pair.language for pair in PAIRS} == {"en", "de", "es", "zh", "ja"}
    for language in ("en", "de", "es", "zh", "ja"):
        some = [pair.contradicts for pair in PAIRS if pair.language == language]
        assert 0.4 <= sum(some) / len(some) <= 0.6


@pytest.mark.parametrize("half", ["a", "b"])
def test_what_is_superseded_contradicts_and_most_of_what_contradicts_is_superseded(half: str) -> None:
    decided = supersession([pair for pair in PAIRS if pair.half == half])
    assert decided["precision"] >= 98
    assert decided["recall"] >= 75


NATURAL = read_pairs(NATURAL_CHANGES)


def test_the_natural_changes_are_many_and_half_of_them_harmless_in_eight_languages() -> None:
    assert len(NATURAL) >= 200
    for language in ("en", "de", "fr", "es", "pt", "ru", "zh", "ja"):
        for half in "ab":
            some = [pair.contradicts for pair in NATURAL if (pair.language, pair.half) == (language, half)]
            assert 0.4 <= sum(some) / len(some) <= 0.6


def test_of_natural_changes_nothing_harmless_is_superseded_and_most_of_the_rest_is() -> None:
    for half, recall in (("a", 90), ("b", 80)):
        decided = supersession([pair for pair in NATURAL if pair.half == half])
        assert decided["precision"] >= 98
        assert decided["recall"] >= recall


HARMLESS = [(pair.older, pair.newer) for pair in (*PAIRS, *NATURAL) if not pair.contradicts]


@pytest.mark.parametrize(("older", "newer"), HARMLESS)
def test_harmless_pairs_stand_in_either_order(older: str, newer: str) -> None:
    assert not supersedes(Pair("", "", "", False, newer, older))


def test_of_a_folder_a_file_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"is a folder\. Name one of its files"):
        read_timelines(tmp_path)
