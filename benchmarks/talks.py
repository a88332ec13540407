"""Reads conversations with questions about them, in the formats in which they are published. Pure, but for the files.

Formats, recognised by a file's content (docs/recall.md says where they come from)
  LoCoMo      a list of conversations with numbered sessions; `qa` names its evidence ("D3:7")
  REALTALK    the same sessions as a file's own fields, each message with its time
  BEAM        a list of sessions with `turns` of a person and an assistant; the questions are in a file beside it
  MemDaily    lists of one person's messages (`message_list`), without replies, in Chinese

How they are mapped
  A talk is one conversation. The person who asks is its first speaker, or the other one if the first is an assistant
  (see BOTS). A session is a thread. A message's text is its words and, after them, the caption of the picture that it
  shows. Where messages have no times of their own, those of a session are a minute apart.
  A question asks with its raw text. It counts if it has evidence that exists and is not adversarial (category 5).
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeAlias

# A speaker with one of these names is the bot: its messages are replies.
BOTS: Final = frozenset({"agent", "ai", "assistant", "bot", "chatbot", "model"})
ADVERSARIAL: Final = 5
_EVIDENCE: Final = re.compile(r"D[: ]?(\d+)[:;](\d+)")
_TIME: Final = "%I:%M %p on %d %B, %Y"
_DAY_FIRST: Final = "%d.%m.%Y, %H:%M:%S"
_ANCHOR: Final = "%B-%d-%Y"
_TICK: Final = timedelta(minutes=1)
# BEAM's suffix of a person's message, which names the line of its script.
_PLAN: Final = re.compile(r"\s*->->\s*[\d,]+\s*$")
# BEAM's kinds of questions, by category from 11 on; questions of abstention have no evidence.
_KINDS: Final = (
    "information_extraction",
    "multi_session_reasoning",
    "temporal_reasoning",
    "knowledge_update",
    "event_ordering",
    "contradiction_resolution",
    "summarization",
    "preference_following",
    "instruction_following",
)
PROBES: Final = Path("probing_questions") / "probing_questions.json"

Json: TypeAlias = dict[str, Any]
Numbers: TypeAlias = "int | str | Sequence[Numbers] | Mapping[str, Numbers] | None"


@dataclass(frozen=True, slots=True)
class Line:
    """One message. `key`: its name in the file ("D3:7")."""

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
    """`evidence`: the keys of the messages that answer the question."""

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
    """Read the talks of a file; of a folder, those of its JSON files, or else of its folders. Raises SystemExit with a
    sentence.
    """
    talks = list(_talks_in(path))
    if not talks:
        raise SystemExit(f"{path} is not a JSON file with talks in a form that is known, nor a folder with one.")
    return talks


def _talks_in(path: Path) -> Iterable[Talk]:
    if path.is_file():
        yield from _talks_of(json.loads(path.read_text(encoding="utf-8")), path.parent)
    elif path.is_dir():
        files = [talk for file in sorted(path.glob("*.json"), key=_natural) for talk in _talks_in(file)]
        files = files[-1:] if (path / PROBES).exists() else files  # the truncated chat, if there is one
        folders = sorted((one for one in path.iterdir() if one.is_dir()), key=_natural)
        yield from files or (talk for folder in folders for talk in _talks_in(folder))


def _natural(path: Path) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", path.name)]


def _talks_of(held: Json | list[Json], folder: Path) -> Iterable[Talk]:
    match held:
        case [{"conversation": _}, *_]:
            return map(talk_of, held)
        case {"qa": _, "name": {"speaker_1": str(one), "speaker_2": str(other)}}:
            times = {name: said[0]["date_time"] for name, said in held.items() if _is_session(name) and said}
            begins = {f"{name}_date_time": time for name, time in times.items()}
            return [
                talk_of({"conversation": {**held, **begins, "speaker_a": one, "speaker_b": other}, "qa": held["qa"]})
            ]
        case [{"turns": [[{"role": _}, *_], *_]}, *_] if (folder / PROBES).exists():
            return [_assisted(held, json.loads((folder / PROBES).read_text(encoding="utf-8")))]
        case [{"message_list": [_, *_], "question_list": _}, *_]:
            return [_diary(held)]
        case _:
            return ()


def talk_of(content: Json) -> Talk:
    sessions: Json = content["conversation"]
    lines = tuple(line for number in _sessions(sessions) for line in _session(sessions, number))
    keys = {line.key for line in lines}
    first, second = str(sessions["speaker_a"]), str(sessions["speaker_b"])
    questions = (_question(asked, keys) for asked in content["qa"])
    return Talk(second if is_bot(first) else first, lines, tuple(q for q in questions if q is not None))


def _is_session(name: str) -> bool:
    return re.fullmatch(r"session_\d+", name) is not None


def _sessions(sessions: Json) -> list[int]:
    return sorted(int(name.removeprefix("session_")) for name in sessions if _is_session(name))


def _session(sessions: Json, number: int) -> list[Line]:
    ticks = count()
    begin = sessions.get(f"session_{number}_date_time", "")
    return [
        Line(line["dia_id"], number, line["speaker"], _text(line), _time(line.get("date_time", begin), next(ticks)))
        for line in sessions[f"session_{number}"]
    ]


def _time(written: str, place: int) -> datetime:
    """Return a message's own time, or the start of its session plus a minute for each message before it."""
    if re.match(r"\d+\.", written):
        return datetime.strptime(written, _DAY_FIRST).replace(tzinfo=UTC)
    return datetime.strptime(written.upper(), _TIME).replace(tzinfo=UTC) + place * _TICK


def _text(line: Json) -> str:
    words = line["text"] if "text" in line else line["clean_text"]
    return "\n".join(part for part in (str(words), line.get("blip_caption")) if part)


def _question(asked: Json, keys: set[str]) -> Question | None:
    named = _EVIDENCE.findall(" ".join(asked.get("evidence") or ()))
    evidence = frozenset(f"D{int(session)}:{int(line)}" for session, line in named) & keys
    category = int(asked.get("category", 0))
    return Question(str(asked["question"]), evidence, category) if evidence and category != ADVERSARIAL else None


def _assisted(sessions: Iterable[Json], probes: Mapping[str, list[Json]]) -> Talk:
    """Read a talk with an assistant. A session covers some days, and its first message says when it starts."""
    lines: list[Line] = []
    for number, session in enumerate(sessions, 1):
        messages: list[Json] = [said for turn in session["turns"] for said in turn]
        begin = datetime.strptime(messages[0]["time_anchor"], _ANCHOR).replace(tzinfo=UTC)
        for place, said in enumerate(messages):
            text = _PLAN.sub("", said["content"])
            lines.append(Line(str(said["id"]), number, said["role"], text, begin + place * _TICK))
    keys = {line.key for line in lines}
    asked = [
        Question(probe["question"], evidence, category)
        for category, kind in enumerate(_KINDS, 11)
        for probe in probes.get(kind, ())
        if (evidence := _numbers(probe.get("source_chat_ids")) & keys)
    ]
    return Talk("user", tuple(lines), tuple(asked))


def _numbers(held: Numbers) -> frozenset[str]:
    """Yield every number in nested lists and fields."""
    if held is None or isinstance(held, int | str):
        return frozenset() if held is None else frozenset({str(held)})
    within = held.values() if isinstance(held, Mapping) else held
    return frozenset[str]().union(*map(_numbers, within))


def _diary(parts: Iterable[Json]) -> Talk:
    """Read one person's messages, in parts with different subjects. Each day of a part is a session."""
    lines: list[Line] = []
    asked: list[Question] = []
    days: dict[str, int] = {}
    for place, part in enumerate(parts):
        for said in part["message_list"]:
            year, month, day, hour, minute = map(int, re.findall(r"\d+", said["time"])[:5])
            session = days.setdefault(f"{place}: {year}-{month}-{day}", len(days) + 1)
            time = datetime(year, month, day, hour, minute, tzinfo=UTC)
            lines.append(Line(f"{place}:{said['mid']}", session, "我", said["message"], time))
        keys = {line.key for line in lines}
        for probe in part["question_list"]:
            evidence = {f"{place}:{number}" for number in _numbers(probe["target_step_id"])} & keys
            if evidence:
                asked.append(Question(probe["question"], frozenset(evidence), 21))
    return Talk("我", tuple(lines), tuple(asked))
