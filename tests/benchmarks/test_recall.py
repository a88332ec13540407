"""The recall benchmark reads any file in LoCoMo's format and asks the product's own store."""

import json
from pathlib import Path

import pytest

from benchmarks.recall import measure
from benchmarks.search_scale import measure_scale
from benchmarks.talks import Talk, read_talks, talk_of

PEOPLE = {
    "speaker_a": "Ann",
    "speaker_b": "Ben",
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1": [
        {"speaker": "Ann", "dia_id": "D1:1", "text": "What colour is your boat?"},
        {"speaker": "Ben", "dia_id": "D1:2", "text": "Blue, look!", "blip_caption": "a boat with a red sail"},
    ],
    "session_2_date_time": "10:00 am on 1 June, 2023",
    "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "I sold the house in Ghent."}],
}
WITH_A_BOT = {
    "speaker_a": "Assistant",
    "speaker_b": "Cleo",
    "session_1_date_time": "9:00 am on 2 January, 2024",
    "session_1": [
        {"speaker": "Assistant", "dia_id": "D1:1", "text": "Welcome back."},
        {"speaker": "Assistant", "dia_id": "D1:2", "text": "How can I help?"},
        {"speaker": "Cleo", "dia_id": "D1:3", "text": "My train leaves at noon."},
        {"speaker": "Cleo", "dia_id": "D1:4", "text": "From platform four."},
        {"speaker": "Assistant", "dia_id": "D1:5", "text": "Have a good trip."},
    ],
}


def talks() -> list[Talk]:
    about_ben = {"question": "Which sail has Ben's boat?", "evidence": ["D1:2; D1:1"], "category": 1}
    adversarial = {"question": "What does Ann's boat cost?", "evidence": ["D1:1"], "category": 5}
    unknown = {"question": "Where is the car?", "evidence": ["D7:1"], "category": 4}
    house = {"question": "What was sold in Ghent?", "evidence": ["D:2:01"], "category": 4}
    train = {"question": "When does my train leave?", "evidence": ["D1:3"], "category": 4}
    return [
        talk_of({"conversation": PEOPLE, "qa": [about_ben, adversarial, unknown, house]}),
        talk_of({"conversation": WITH_A_BOT, "qa": [train]}),
    ]


def test_questions_without_evidence_and_adversarial_ones_do_not_count() -> None:
    people, _ = talks()
    assert [question.evidence for question in people.questions] == [{"D1:1", "D1:2"}, {"D2:1"}]


def test_the_one_who_asks_is_a_person() -> None:
    assert [talk.asker for talk in talks()] == ["Ann", "Cleo"]


def test_a_picture_is_read_by_its_caption() -> None:
    people, _ = talks()
    assert people.lines[1].text == "Blue, look!\na boat with a red sail"


def test_a_file_and_the_folder_it_lies_in_are_read_alike(tmp_path: Path) -> None:
    file = tmp_path / "talks.json"
    file.write_text(json.dumps([{"conversation": PEOPLE, "qa": []}]), encoding="utf-8")
    assert read_talks(file) == read_talks(tmp_path)
    with pytest.raises(SystemExit, match="not a JSON file"):
        read_talks(tmp_path / "none.json")


async def test_recall_finds_the_evidence_of_plain_questions_in_both_kinds_of_talk() -> None:
    metrics, baseline = await measure(talks())
    assert metrics["recall_at_10"] == metrics["thread_recall_at_5"] == metrics["shown_to_model"] == 100
    assert {*metrics} - {"shown_to_model", "shown_tokens_mean"} <= {*baseline}
    assert baseline["like_recall_at_10"] == 0


async def test_the_scale_benchmark_measures_both_ways_of_searching() -> None:
    metrics, baseline = await measure_scale(messages=400, people=5, searches=4)
    assert metrics["messages"] == 400
    assert metrics["index_mb"] > 0
    assert {"p50_ms", "p95_ms", "heaviest_p95_ms"} <= {*metrics} & {*baseline}
