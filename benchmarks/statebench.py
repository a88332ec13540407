"""Reads timelines in StateBench's format.

Facts of the initial state from a document of the organisation, or on the word of a person with rank, are `official`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    time: datetime
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Write:
    """A fact, of the initial state (`given`) or written later; or a signal of the environment."""

    time: datetime
    id: str
    layer: str
    key: str
    value: str
    source: str
    authority: str
    supersedes: str | None
    scope: str
    depends_on: tuple[str, ...]
    is_constraint: bool
    given: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    time: datetime
    question: str
    required: tuple[str, ...]
    forbidden: tuple[str, ...]


Event: TypeAlias = Turn | Write | Query


@dataclass(frozen=True, slots=True)
class Timeline:
    id: str
    track: str
    user: str
    department: str
    organization: str
    events: tuple[Event, ...]


def read_timelines(path: Path) -> list[Timeline]:
    """Read timelines, one in each line. Raises SystemExit with a sentence for a folder."""
    if path.is_dir():
        raise SystemExit(f"{path} is a folder. Name one of its files, for example {path / 'dev.jsonl'}.")
    with path.open(encoding="utf-8") as lines:
        return [_timeline(json.loads(line)) for line in lines if line.strip()]


def matches(phrase: str, text: str) -> bool:
    """Whether the phrase is in the text, as whole words, in any case. `a|b`: either one. `regex:`: an expression."""
    if phrase.startswith("regex:"):
        return re.search(phrase.removeprefix("regex:"), text, re.IGNORECASE) is not None
    return any(re.search(_whole(one), text, re.IGNORECASE) for one in phrase.split("|") if one)


def _whole(phrase: str) -> str:
    before = r"(?<!\w)" if re.match(r"\w", phrase) else ""
    after = r"(?!\w)" if re.search(r"\w$", phrase) else ""
    return before + re.escape(phrase) + after


def _timeline(row: Json) -> Timeline:
    state = row["initial_state"]
    role = state["identity_role"]
    start = _time(state["environment"]["now"])
    events = (*_given(state, start), *(event for raw in row["events"] for event in _events(raw)))
    return Timeline(row["id"], row["track"], role["user_name"], role["department"], role["organization"], tuple(events))


def _given(state: Json, start: datetime) -> Iterator[Write]:
    for raw in state["persistent_facts"]:
        yield _write({**raw, "layer": "persistent_facts"}, _time(raw["ts"]), given=True)
    for raw in state["working_set"]:
        yield _write({"layer": "working_set", "key": raw["item_type"], "value": raw["content"]}, start, given=True)
    for key, value in state["environment"].items():
        if key != "now":
            yield _write({"layer": "environment", "key": key, "value": value}, start, given=True)


def _events(raw: Json) -> Iterator[Event]:
    time = _time(raw["ts"])
    match raw["type"]:
        case "conversation_turn":
            yield Turn(time, raw["speaker"], raw["text"])
        case "query":
            truth = raw["ground_truth"]
            yield Query(time, raw["prompt"], tuple(truth["must_mention"]), tuple(truth["must_not_mention"]))
        case _:
            yield from (_write(write, time) for write in raw["writes"])


def _write(raw: Json, time: datetime, *, given: bool = False) -> Write:
    source: Json = raw.get("source") or {}
    return Write(
        time=time,
        id=raw.get("id", ""),
        layer=raw["layer"],
        key=raw["key"],
        value=str(raw["value"]),
        source=source.get("type", "user"),
        authority=source.get("authority") or "peer",
        supersedes=raw.get("supersedes"),
        scope=raw.get("scope", "global"),
        depends_on=tuple(raw.get("depends_on") or ()),
        is_constraint=bool(raw.get("is_constraint")),
        given=given,
    )


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
