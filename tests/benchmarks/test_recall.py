"""The recall benchmark reads any file in LoCoMo's format and asks the product's own store."""

import json
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

from benchmarks import meaning
from benchmarks.recall import key_of, measure, stored_wordings
from benchmarks.search_scale import made_vocabulary, measure_scale, read_vocabulary
from benchmarks.talks import Talk, read_talks, talk_of
from store.search.text import STOP_WORDS, entry_terms, index_words

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
    metrics, baseline = await measure(talks(), {})
    assert metrics["recall_at_10"] == metrics["thread_recall_at_5"] == metrics["shown_to_model"] == 100
    assert {*metrics} - {"shown_to_model", "shown_tokens_mean"} <= {*baseline}
    assert baseline["like_recall_at_10"] == 0


async def test_questions_with_stored_wordings_are_asked_in_all_of_them_and_compared_with_themselves() -> None:
    car = {"question": "What did the vehicle cost?", "evidence": ["D2:1"], "category": 4}
    house = {"question": "What was sold in Ghent?", "evidence": ["D2:1"], "category": 4}
    talk = talk_of({"conversation": PEOPLE, "qa": [car, house]})
    metrics, _ = await measure([talk], {key_of(talk.questions[0]): ["sold the house"]})
    assert (metrics["recall_at_10_unworded"], metrics["recall_at_10_wordings"]) == (0, 100)
    assert (metrics["shown_to_model_unworded"], metrics["shown_to_model_wordings"]) == (0, 100)
    assert metrics["recall_at_10"] == 50
    assert metrics["worded_questions"] == 1


def test_the_stored_wordings_are_a_few_for_each_of_several_hundred_questions() -> None:
    stored = stored_wordings()
    assert len(stored) > 500
    assert all(3 <= len(wordings) <= 5 and len(key) == 16 for key, wordings in stored.items())


SAID = {"clean_text": "My boat is blue.", "speaker": "Ann", "date_time": "29.12.2023, 22:42:04", "dia_id": "D1:1"}
REALTALK = {
    "name": {"speaker_1": "Ann", "speaker_2": "Ben"},
    "session_1": [SAID, {**SAID, "dia_id": "D1:2", "clean_text": "Look!", "blip_caption": "a boat", "speaker": "Ben"}],
    "events_session_1": {},
    "session_1_date_time": "29.12.2023, 22:42:04",
    "qa": [{"question": "Which colour is the boat?", "evidence": ["D1:1"], "category": 1}],
}
CHAT = [
    {
        "batch_number": 1,
        "turns": [
            [
                {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "My boat is blue. ->-> 1,1"},
                {"role": "assistant", "id": 1, "content": "A fine colour."},
            ]
        ],
    }
]
PROBES = {
    "abstention": [{"question": "What is my name?"}],
    "knowledge_update": [{"question": "Which colour?", "source_chat_ids": {"first": [0], "then": [7]}}],
}
DIARY = [
    {
        "message_list": [{"mid": 0, "message": "我的船是蓝色的。", "time": "2024年04月01日 周一 08:30"}],
        "question_list": [{"question": "船是什么颜色？", "target_step_id": [0]}],
    },
] * 2


def test_each_published_form_is_told_apart_by_what_stands_in_it(tmp_path: Path) -> None:
    def written(folder: str, **files: Any) -> list[Talk]:
        for name, held in files.items():
            file = tmp_path / folder / f"{name}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(held), encoding="utf-8")
        return read_talks(tmp_path / folder)

    (people,) = written("realtalk", Chat_1=REALTALK)
    assert (people.asker, people.lines[1].text) == ("Ann", "Look!\na boat")
    assert people.lines[0].time == datetime(2023, 12, 29, 22, 42, 4, tzinfo=UTC)
    assert people.questions[0].evidence == {"D1:1"}
    (tmp_path / "beam/1/probing_questions").mkdir(parents=True)
    (tmp_path / "beam/1/probing_questions/probing_questions.json").write_text(json.dumps(PROBES), encoding="utf-8")
    written("beam/1", chat=CHAT, topic={"id": 1})
    (assisted,) = read_talks(tmp_path / "beam")
    assert [(line.text, line.by_bot) for line in assisted.lines] == [
        ("My boat is blue.", False),
        ("A fine colour.", True),
    ]
    assert assisted.lines[1].time == datetime(2024, 3, 15, 0, 1, tzinfo=UTC)
    assert [(asked.text, asked.evidence) for asked in assisted.questions] == [("Which colour?", {"0"})]
    (diary,) = written("memdaily", simple=DIARY)
    assert [line.key for line in diary.lines] == ["0:0", "1:0"]
    assert [asked.evidence for asked in diary.questions] == [{"0:0"}, {"1:0"}]


async def test_the_scale_benchmark_measures_both_ways_of_searching() -> None:
    metrics, baseline = await measure_scale(made_vocabulary(2_000), messages=400, people=5, searches=4)
    assert metrics["messages"] == 400
    assert metrics["index_mb"] > 0
    assert metrics["vector_recall_at_10"] == 1
    assert {"p50_ms", "p95_ms", "heaviest_p95_ms"} <= {*metrics} & {*baseline}


def test_the_words_of_the_scale_benchmark_look_like_words_and_are_always_the_same() -> None:
    vocabulary = made_vocabulary(5_000)
    assert vocabulary == made_vocabulary(5_000)
    said = [index_words(vocabulary.say(30, Random(number))) for number in range(300)]
    words = [word for one in said for word in one]
    assert 0.35 < sum(word in STOP_WORDS for word in words) / len(words) < 0.45
    assert 0 < sum(word.isdigit() for word in words) / len(words) < 0.05
    assert sum(len(entry_terms(one)) for one in said) > 1.3 * sum(
        len(set(one)) for one in said
    )  # they have other forms
    held = {word: sum(word in one for one in said) / len(said) for word in vocabulary.common}
    assert max(held.values()) > 1 / 5 > min(held.values())


def test_the_words_of_the_scale_benchmark_may_be_those_of_conversations(tmp_path: Path) -> None:
    file = tmp_path / "talks.json"
    file.write_text(json.dumps([{"conversation": PEOPLE, "qa": []}]), encoding="utf-8")
    vocabulary = read_vocabulary(file)
    assert "boat?" in vocabulary.words
    assert vocabulary.often[-1] == sum(len(line.text.split()) for talk in read_talks(file) for line in talk.lines)


@pytest.mark.slow
async def test_what_meaning_adds_is_measured_beside_words_alone() -> None:
    metrics, baseline = await meaning.measure(talks())
    assert metrics["recall_at_10"] == baseline["recall_at_10"] == 100
    assert metrics["vector_recall_at_10"] == 1
    assert metrics["vector_bytes"] == 512 * 4 + 64
