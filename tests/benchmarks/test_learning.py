"""What is lost when facts come by the product's own learning."""

import json
from pathlib import Path

from agent.messages import Message, Role
from agent.providers.scripted import ScriptedProvider
from benchmarks.learning import QUALITIES, Quality, drifted, measure
from benchmarks.statebench import Timeline, Write, read_timelines
from bot.chat.learning_model import LearningModel
from tests.benchmarks.test_facts import timeline


def timelines(path: Path) -> list[Timeline]:
    said = timeline()
    written = {"id": "W1", "layer": "persistent_facts", "key": "home", "value": "a nice flat", "supersedes": None}
    said["events"].insert(1, {"ts": "2026-03-02T12:06:00", "type": "state_write", "writes": [written]})
    path.write_text(json.dumps(said) + "\n", encoding="utf-8")
    return read_timelines(path)


async def test_a_model_that_misses_every_second_write_knows_less_than_one_that_reads_well(tmp_path: Path) -> None:
    results = await measure(timelines(tmp_path / "timelines.jsonl"), QUALITIES)
    known = {name: result.metrics(name)[f"current_values_known_{name}"] for name, result in results.items()}
    assert known["named"] == 100
    assert known["nothing"] == 0
    assert 0 < known["missed"] < known["named"]


async def test_a_given_model_is_asked_and_its_nonsense_counted(tmp_path: Path) -> None:
    nonsense = ScriptedProvider(lambda _: "I would rather not.")
    results = await measure(timelines(tmp_path / "timelines.jsonl"), {"model": LearningModel(nonsense)})
    assert results["model"].failures > 0
    assert results["model"].metrics("model")["current_values_known_model"] == 0


def test_a_key_that_drifts_is_said_in_other_words_and_never_empty() -> None:
    assert [drifted("launch date", number) for number in range(4)] == [
        "launch date",
        "date of launch",
        "launch",
        "date",
    ]
    assert all(drifted("city", number) for number in range(4))


def test_a_model_that_names_nothing_supersedes_nothing(tmp_path: Path) -> None:
    (one,) = timelines(tmp_path / "timelines.jsonl")
    prompt = (Message(Role.SYSTEM, "Known facts by number, as data: {}"), Message(Role.USER, '[{"text": "moved"}]'))
    writes = [event for event in one.events if isinstance(event, Write)]
    answer = json.loads(Quality(names=False)(one, writes, prompt))
    assert {tuple(fact["supersedes"]) for fact in answer["facts"]} == {()}
