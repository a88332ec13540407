"""Reads conversations in LoCoMo's format: sessions with dates, questions with the messages that answer them. Pure.

What stands for what
  A talk is one of the file's conversations, between two speakers. The person who asks is `speaker_a`, or the other one
  if `speaker_a` is an assistant (see BOTS). A session is a thread. A message's text is its words and, after them, the
  caption of the picture that it shows. Messages of a session are a minute apart.
  A question asks with its raw text. It counts if it has evidence that exists and is not adversarial (category 5).
"""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeAlias

BOTS: Final = frozenset({"agent", "ai", "assistant", "bot", "chatbot", "model"})
"""A speaker of such a name is the bot: its messages are replies."""
ADVERSARIAL: Final = 5
_EVIDENCE: Final = re.compile(r"D:?(\d+):(\d+)")
_TIME: Final = "%I:%M %p on %d %B, %Y"

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One message. `key` is its name in the file ("D3:7")."""

    key: str
    session: int
    speaker: str
    text: str
    time: datetime

    @property
    def by_bot(self) -> bool:
        return is_bot(self.speaker)


@dataclass(frozen=True, slots=True)
class Question:
    """`evidence` holds the keys of the messages that answer it."""

    text: str
    evidence: frozenset[str]
    category: int


@dataclass(frozen=True, slots=True)
class Talk:
    asker: str
    lines: tuple[Line, ...]
    questions: tuple[Question, ...]


def is_bot(speaker: str) -> bool:
    return speaker.strip().casefold() in BOTS


def read_talks(path: Path) -> list[Talk]:
    """The talks of a file; of a folder, those of its only JSON file. Raises SystemExit with a sentence."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if len(files) != 1 or not files[0].exists():
        raise SystemExit(f"{path} is not a JSON file in LoCoMo's format, nor a folder with one.")
    return [talk_of(one) for one in json.loads(files[0].read_text(encoding="utf-8"))]


def talk_of(one: Json) -> Talk:
    said: Json = one["conversation"]
    lines = tuple(line for number in _sessions(said) for line in _session(said, number))
    keys = {line.key for line in lines}
    first, second = str(said["speaker_a"]), str(said["speaker_b"])
    questions = (_question(asked, keys) for asked in one["qa"])
    return Talk(second if is_bot(first) else first, lines, tuple(q for q in questions if q is not None))


def _sessions(said: Json) -> list[int]:
    names = (re.fullmatch(r"session_(\d+)", name) for name in said)
    return sorted(int(name[1]) for name in names if name)


def _session(said: Json, number: int) -> list[Line]:
    begin = datetime.strptime(said[f"session_{number}_date_time"].upper(), _TIME).replace(tzinfo=UTC)
    minutes = (begin + timedelta(minutes=n) for n in count())
    return [
        Line(line["dia_id"], number, line["speaker"], _text(line), time)
        for line, time in zip(said[f"session_{number}"], minutes, strict=False)
    ]


def _text(line: Json) -> str:
    return "\n".join(part for part in (str(line["text"]), line.get("blip_caption")) if part)


def _question(asked: Json, keys: set[str]) -> Question | None:
    named = _EVIDENCE.findall(" ".join(asked.get("evidence") or ()))
    evidence = frozenset(f"D{int(session)}:{int(line)}" for session, line in named) & keys
    category = int(asked.get("category", 0))
    return Question(str(asked["question"]), evidence, category) if evidence and category != ADVERSARIAL else None
