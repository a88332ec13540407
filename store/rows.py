"""Rows to values and back. Pure."""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any, Final, TypeAlias

from sqlalchemy import JSON, BindParameter, ColumnElement, Integer, Select, Text, bindparam, cast, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from agent.admission_terms import Authority
from agent.events import Outcome
from agent.memory.audience import WIDE, Place, audience_of
from agent.memory.documents import LOOK_EVERY, Document, LinkedPage
from agent.messages import Depth, Image, Json, ModelCall, ResultStatus, ToolCall, ToolResult
from agent.progress import decode
from agent.records import Attachment, Author, Claim, Closing, Incoming, Person, Quoted, StoredMessage, Thread
from agent.state import ActionRecord, SituationSummary
from store.databases.database import storable

# Columns that hold JSON: read, searched and rewritten without the objects that were written there. Pure.
#
# JSON is written with its non-ASCII characters as they are, so that the search for proof in
# `store.forgetting.sql_forgetting` sees one form of each word. What another version wrote may have another form: it is
# read as far as it can be.

WITHDRAWN: Final = "withdrawn"  # The mark in a payload whose question was deleted


def json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_json(stored: str) -> Json:
    """The value of stored JSON; what is no JSON is one text."""
    try:
        return json.loads(stored)
    except ValueError:
        return stored


def strings_in(stored: str) -> Iterator[str]:
    """Every text inside a JSON value, without the names of its fields."""
    return _strings(read_json(stored))


def read_ids(stored: str) -> frozenset[int]:
    """The ids of a `context_…` column."""
    return frozenset(json.loads(stored))


def write_ids(values: Iterable[int]) -> str:
    """The inverse of `ids`."""
    return json_text(sorted(set(values)))


def read_pages(stored: str) -> list[str]:
    """The page ids in `pages`, or in the `reply_ref` of a turn that still runs; [] if a surface keeps another form."""
    return [page for page in _items(read_json(stored)) if isinstance(page, str)]


def progress_sources(progress: str) -> frozenset[int]:
    """The ids of the messages in a turn's `progress`: `steps[].results[].sources`, `steps[].joined[].message`, and
    `context[]`.
    """
    kept = read_json(progress)
    steps = _items(_field(kept, "steps"))
    joined = [_field(one, "message") for step in steps for one in _items(_field(step, "joined"))]
    drawn = _items(_field(kept, "context"))
    return progress_given(progress) | frozenset(id_ for id_ in (*joined, *drawn) if isinstance(id_, int))


def progress_given(progress: str) -> frozenset[int]:
    """The ids of the messages that a turn's tools have brought into it: `steps[].results[].sources`."""
    steps = _items(_field(read_json(progress), "steps"))
    results = [result for step in steps for result in _items(_field(step, "results"))]
    found = [id_ for result in results for id_ in _items(_field(result, "sources"))]
    return frozenset(id_ for id_ in found if isinstance(id_, int))


def progress_joined(progress: str) -> dict[int, int]:
    """The turns of the messages that joined, by the ids of these: `steps[].joined[]`."""
    found = [one for step in _items(_field(read_json(progress), "steps")) for one in _items(_field(step, "joined"))]
    pairs = [(_field(one, "message"), _field(one, "turn")) for one in found]
    return {message: turn for message, turn in pairs if isinstance(message, int) and isinstance(turn, int)}


def progress_calls(progress: str) -> tuple[ModelCall, ...]:
    """The model calls in a turn's `progress`; () if it cannot be read."""
    try:
        return decode(progress).calls
    except ValueError:
        return ()


def words_alone(payload: str) -> bool:
    kept = read_json(payload)
    return not any(_items(_field(kept, name)) for name in ("quoted", "images", "files"))


def without_quoted(payload: str, gone: Callable[[str], bool]) -> str:
    """`payload` without the quoted entries whose text is `gone`; as it was if there are none."""
    kept = read_json(payload)
    entries = _items(_field(kept, "quoted"))
    staying = [entry for entry in entries if not gone(str(_field(entry, "text")))]
    if not isinstance(kept, dict) or len(staying) == len(entries):
        return payload
    return json_text({**kept, "quoted": staying})


def is_withdrawn(payload: str) -> bool:
    """Whether the question was deleted while its turn ran."""
    return _field(read_json(payload), WITHDRAWN) is True


def mark_withdrawn(payload: str) -> str:
    """The payload of a turn whose question was just deleted."""
    kept = read_json(payload)
    return json_text({**(kept if isinstance(kept, dict) else {}), WITHDRAWN: True})


def _items(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _field(value: Json, name: str) -> Json:
    return value.get(name) if isinstance(value, dict) else None


def _strings(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            yield from (held for inner in value.values() for held in _strings(inner))
        case list():
            yield from (held for inner in value for held in _strings(inner))
        case _:
            return


RESULT_CHARS: Final = 1_000  # How much of a tool's result an action record keeps (seed 002)
TITLE_CHARS: Final = 80
COVERED: Final = "covered"  # In a stored summary, beside its fields: the id of the last message that it covers
NO_PAYLOAD: Final = "{}"
NO_SUMMARY: Final = "{}"

Row: TypeAlias = Mapping[Any, Any]

_OF_TURN: Final = ("source", "event_id", "channel", "message_id", "conversation")
_OF_QUESTION: Final = ("text", "time", "permalink")
_OF_MESSAGE: Final = (
    *(
        "id",
        "conversation",
        "person",
        "name",
        "text",
        "time",
        "audience",
        "message_id",
        "permalink",
        "drawn_from",
        "retold",
    ),
)
# What an object and its row, or its JSON, have in common by name.
_KEPT_IN_PAYLOAD: Final = ("reply_to", "depth", "authority", "team", "organization", "model")


def payload(incoming: Incoming) -> str:
    """What a claim needs of the incoming message and no other column holds."""
    return json_text(
        {
            **{name: getattr(incoming, name) for name in _KEPT_IN_PAYLOAD},
            "within_team": incoming.place.within_team,
            "quoted": [asdict(quoted) for quoted in incoming.quoted],
            "images": [_image_text(image) for image in incoming.images],
            "files": [asdict(file) for file in incoming.files],
            "roles": sorted(incoming.roles),
        }
    )


def begun(incoming: Incoming, state: str, taken: datetime | None) -> dict[str, Any]:
    """The columns of a new turn. `taken`: when its terms were checked."""
    return {
        **{name: getattr(incoming, name) for name in _OF_TURN},
        "person": incoming.person.id,
        "team": incoming.team,
        "state": state,
        "taken": taken,
        "payload": payload(incoming) if state == "waiting" else NO_PAYLOAD,
    }


def claim(row: Row, owner: str) -> Claim:
    """From the joined row of a turn, its question and its person."""
    kept = json.loads(row["payload"])
    return Claim(
        turn=row["id"],
        epoch=row["epoch"] + 1,
        owner=owner,
        incoming=_incoming(row, kept),
        message=row["question"],
        attempts=row["attempts"] + 1,
        progress=row["progress"],
        reply_ref=row["reply_ref"],
        stopping=row["stopping"],
        withdrawn=kept.get(WITHDRAWN, False),
    )


def _quoted(kept: Mapping[str, Any]) -> Quoted:
    return Quoted(kept["source"], kept["author"], kept["text"], (*kept.get("pages", ()),))


def _incoming(row: Row, kept: Mapping[str, Any]) -> Incoming:
    return Incoming(
        **{name: row[name] for name in (*_OF_TURN, *_OF_QUESTION)},
        person=Person(row["person"], row["name"], row["time_zone"]),
        place=Place(audience_of(row["audience"]), kept.get("within_team")),
        reply_to=kept.get("reply_to", ""),
        quoted=tuple(map(_quoted, kept.get("quoted", ()))),
        images=tuple(_image(image) for image in kept.get("images", ())),
        files=tuple(Attachment(**file) for file in kept.get("files", ())),
        depth=Depth(kept.get("depth", Depth.ADAPT)),
        authority=Authority(kept.get("authority", Authority.EMPLOYEE)),
        roles=frozenset(kept.get("roles", ())),
        team=kept.get("team", ""),
        organization=kept.get("organization", ""),
        model=kept.get("model", ""),
    )


def _image_text(image: Image) -> tuple[str, str]:
    return image.media_type, b64encode(image.data).decode()


def _image(kept: tuple[str, str]) -> Image:
    media_type, data = kept
    return Image(media_type, b64decode(data))


def message(row: Row) -> StoredMessage:
    return StoredMessage(author=Author(row["author"]), **{name: row[name] for name in _OF_MESSAGE})


def thread(row: Row) -> Thread:
    return Thread(row["conversation"], title(row["question"]), row["last"], row["messages"])


def title(question: str) -> str:
    line = " ".join(question.split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"


def summary(stored: str) -> SituationSummary:
    return SituationSummary() if stored == NO_SUMMARY else SituationSummary().merged(json.loads(stored))


def summary_text(kept: SituationSummary, covered: int = 0) -> str:
    """`covered`: the id of the last message that it covers."""
    return json_text({**asdict(kept), **({COVERED: covered} if covered else {})})


def covered(stored: str) -> int:
    """The id of the last message that a stored summary covers; 0 for none."""
    kept = json.loads(stored).get(COVERED, 0)
    return kept if isinstance(kept, int) else 0


def action(turn: int, record: ActionRecord, drawn_from: str = WIDE) -> dict[str, Any]:
    results = [
        {"name": result.name, "status": result.status, "content": result.content[:RESULT_CHARS]}
        for result in record.results
    ]
    return {
        "turn": turn,
        "iteration": record.iteration,
        "time": record.time,
        "thinking": record.thinking,
        "calls": json_text([{"name": call.name, "args": call.args} for call in record.calls]),
        "results": json_text(results),
        "drawn_from": drawn_from,
    }


def action_record(row: Row) -> ActionRecord:
    """The inverse of `action`."""
    calls = (ToolCall(call["name"], call["args"]) for call in json.loads(row["calls"]))
    results = (
        ToolResult(result["name"], ResultStatus(result["status"]), result["content"])
        for result in json.loads(row["results"])
    )
    return ActionRecord(row["iteration"], row["time"], row["thinking"], tuple(calls), tuple(results))


def over(now: datetime, outcome: Outcome) -> dict[str, Any]:
    """The columns of a turn that has ended: without what only a running turn needs."""
    return {
        "state": "done",
        "owner": None,
        "lease_until": None,
        "ended": now,
        "outcome": outcome,
        "payload": NO_PAYLOAD,
        "progress": "",
        "reply_ref": "",
    }


# Beside a turn's tokens, for operators: how often its answer cited what nothing had brought.
INVENTED: Final = "invented_citations"


def ending(closing: Closing, now: datetime) -> dict[str, Any]:
    return {
        **over(now, closing.outcome),
        "usage": json_text({**asdict(closing.usage), **({INVENTED: closing.invented} if closing.invented else {})}),
        "pages": json_text(closing.pages),
        "context_messages": write_ids(closing.context_messages),
        "given_messages": write_ids(closing.given_messages),
        "context_facts": write_ids(map(int, closing.context_facts)),
    }


def restarted(epoch: object) -> dict[str, object]:
    """The columns of a turn that starts anew: nobody runs it and nothing of it is done; its pages stay.

    `epoch`: the next one, by which whoever runs it learns of this.
    """
    anew = {"state": "waiting", "owner": None, "lease_until": None, "run_at": None, "progress": ""}
    return {**anew, "epoch": epoch}


_OF_PAGE: Final = tuple(one.name for one in fields(LinkedPage))
# What a row says of a document besides its id, and `by`.
OF_DOCUMENT: Final = ("name", "audience", "channel", "person", "time", "link", "pages", "passages", *_OF_PAGE)


def document_of(row: Mapping[Any, Any]) -> Document:
    web = LinkedPage(**{name: row[name] for name in _OF_PAGE}) if row["address"] else None
    told = {name: row[name] for name in ("id", *OF_DOCUMENT) if name not in _OF_PAGE}
    return Document(**told, by=row["by"] or "", web=web)


def page_columns(web: LinkedPage | None, *, first: bool = False) -> dict[str, Any]:
    """Of a page of the web. The `first` look at a version comes after half a day to one and a half, which its words
    decide: what was handed in at one time is not looked at at one time.
    """
    if web is None:
        return {"address": ""}
    after = LOOK_EVERY * (0.5 + int(web.digest[:4] or "8000", 16) / 0x10000) if first else LOOK_EVERY
    return asdict(web) | {"due": web.seen + after}


# Many values to and from the database as one JSON text. Pure.
#
# Rule: each element of an expanding IN is a parameter, and each row a Python object that costs more than to find it;
# with hundreds of either that is most of the time that a search takes.


class _Items(FunctionElement[str]):
    """A table with the elements of a JSON array in its column `value`."""

    inherit_cache = True


class json_rows(FunctionElement[str]):  # noqa: N801 -- used as a function, like those of `func`
    """A JSON array, as text, with an array of these columns for each row."""

    inherit_cache = True


@compiles(_Items)
def _items_of(items: _Items, compiler: SQLCompiler, **options: object) -> str:
    return f"json_each({compiler.process(items.clauses, **options)})"


@compiles(_Items, "postgresql")
def _items_there(items: _Items, compiler: SQLCompiler, **options: object) -> str:
    return f"json_array_elements_text({compiler.process(items.clauses, **options)})"


@compiles(json_rows)
def _gather(columns: json_rows, compiler: SQLCompiler, **options: object) -> str:
    return f"json_group_array(json_array({compiler.process(columns.clauses, **options)}))"


@compiles(json_rows, "postgresql")
def _gather_there(columns: json_rows, compiler: SQLCompiler, **options: object) -> str:
    return f"coalesce(json_agg(json_build_array({compiler.process(columns.clauses, **options)})), '[]')::text"


def ids_in_parameter(name: str) -> Select[int]:
    """The ids in the parameter `name`, a list, for `in_`."""
    return select(cast(_elements(bindparam(name, type_=JSON)), Integer))


def texts_in_parameter(name: str) -> Select[str]:
    """The texts in the parameter `name`, a list, for `in_`."""
    return select(cast(_elements(bindparam(name, type_=JSON)), Text))


def ids_in(values: Sequence[int]) -> Select[int]:
    """These ids, for `in_`."""
    return select(cast(_elements(bindparam(None, list(values), type_=JSON)), Integer))


def texts_in(values: Sequence[str]) -> Select[str]:
    """These texts, for `in_`."""
    return select(cast(_elements(bindparam(None, list(map(storable, values)), type_=JSON)), Text))


def _elements(listed: BindParameter[Any]) -> ColumnElement[Any]:
    return _Items(listed).table_valued("value").c.value
