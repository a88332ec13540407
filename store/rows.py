"""Conversions between rows and values. Pure."""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, Final, TypeAlias

from sqlalchemy import JSON, BindParameter, ColumnElement, Integer, Select, Text, bindparam, cast, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from agent.admission_terms import Authority
from agent.events import Outcome
from agent.incoming import Attachment, Incoming, Person, Quoted
from agent.memory.audience import WIDE, Place, audience_of
from agent.memory.documents import LOOK_EVERY, Document, LinkedPage
from agent.messages import Depth, Image, Json, ModelCall, ResultStatus, ToolCall, ToolResult
from agent.progress import decode
from agent.state import ActionRecord, SituationSummary, Workspace
from agent.stored_messages import Author, StoredMessage, Thread
from agent.turn_kinds import TurnKind
from agent.turn_records import Claim, Closing
from store.databases.database import storable

# JSON columns: read, searched and rewritten without building the objects that were stored. Pure.
#
# JSON is written with non-ASCII characters unescaped, so that the search for proof in
# `store.forgetting.sql_forgetting` sees one form of each word. JSON of another version may have another structure: it
# is read as far as possible.

WITHDRAWN: Final = "withdrawn"  # The key in the payload of a turn whose question was deleted


def json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_json(stored: str) -> Json:
    """The value of stored JSON; invalid JSON is returned as one string."""
    try:
        return json.loads(stored)
    except ValueError:
        return stored


def strings_in(stored: str) -> Iterator[str]:
    """Every string inside a JSON value, without object keys."""
    return _strings(read_json(stored))


def read_ids(stored: str) -> frozenset[int]:
    """The ids of a `context_…` column."""
    return frozenset(json.loads(stored))


def write_ids(values: Iterable[int]) -> str:
    """The inverse of `read_ids`."""
    return json_text(sorted(set(values)))


def read_pages(stored: str) -> list[str]:
    """The page ids in `pages`, or in the `reply_ref` of a running turn; [] if a surface stores another form."""
    return [page for page in _items(read_json(stored)) if isinstance(page, str)]


_WORKSPACE: Final = tuple(each.name for each in fields(Workspace))


@dataclass(frozen=True, slots=True)
class NamedInProgress:
    """What a turn's `progress` names: the messages that its tools returned (`given`), all that it quotes, draws on or
    that joined it (`sources`); of those that `joined`, the turns by message id; and its newest workspace.
    """

    given: frozenset[int]
    sources: frozenset[int]
    joined: Mapping[int, int]
    workspace: Workspace | None

    @classmethod
    def read(cls, progress: str) -> "NamedInProgress":
        """Read `steps[].results[].sources`, `steps[].joined[]`, `context[]` and `steps[].workspace`."""
        stored = read_json(progress)
        steps = _items(_field(stored, "steps"))
        results = [result for step in steps for result in _items(_field(step, "results"))]
        found = [id_ for result in results for id_ in _items(_field(result, "sources"))]
        given = frozenset(id_ for id_ in found if isinstance(id_, int))
        joined = [item for step in steps for item in _items(_field(step, "joined"))]
        named = [*(_field(item, "message") for item in joined), *_items(_field(stored, "context"))]
        pairs = [(_field(item, "message"), _field(item, "turn")) for item in joined]
        workspaces = (_field(step, "workspace") for step in reversed(steps))
        newest = next((workspace for workspace in workspaces if isinstance(workspace, dict)), None)
        return cls(
            given=given,
            sources=given | frozenset(id_ for id_ in named if isinstance(id_, int)),
            joined={message: turn for message, turn in pairs if isinstance(message, int) and isinstance(turn, int)},
            workspace=None if newest is None else Workspace(*(str(newest.get(name, "")) for name in _WORKSPACE)),
        )


def progress_calls(progress: str) -> tuple[ModelCall, ...]:
    """The model calls in a turn's `progress`; () if it cannot be read."""
    try:
        return decode(progress).calls
    except ValueError:
        return ()


def is_text_only(payload: str) -> bool:
    """Whether a question came without quoted messages, images and files."""
    values = read_json(payload)
    return not any(_items(_field(values, name)) for name in ("quoted", "images", "files"))


def without_quoted(payload: str, gone: Callable[[str], bool]) -> str:
    """`payload` without the quoted entries for whose text `gone` is true; unchanged if there are none."""
    values = read_json(payload)
    entries = _items(_field(values, "quoted"))
    staying = [entry for entry in entries if not gone(str(_field(entry, "text")))]
    if not isinstance(values, dict) or len(staying) == len(entries):
        return payload
    return json_text({**values, "quoted": staying})


def is_withdrawn(payload: str) -> bool:
    """Whether the question was deleted while its turn ran."""
    return _field(read_json(payload), WITHDRAWN) is True


def mark_withdrawn(payload: str) -> str:
    """The payload, marked as that of a turn whose question was deleted."""
    values = read_json(payload)
    return json_text({**(values if isinstance(values, dict) else {}), WITHDRAWN: True})


def _items(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _field(value: Json, name: str) -> Json:
    return value.get(name) if isinstance(value, dict) else None


def _strings(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            yield from (text for inner in value.values() for text in _strings(inner))
        case list():
            yield from (text for inner in value for text in _strings(inner))
        case _:
            return


RESULT_CHARS: Final = 1_000  # Of a tool's result in an action record (seed 002)
TITLE_CHARS: Final = 80
COVERED: Final = "covered"  # The key in a stored summary, beside its fields, of the last covered message's id
NO_PAYLOAD: Final = "{}"
NO_SUMMARY: Final = "{}"

Row: TypeAlias = Mapping[Any, Any]

_OF_TURN: Final = ("source", "event_id", "channel", "message_id", "conversation", "schedule")
_OF_QUESTION: Final = ("text", "time", "permalink")
# Fields of Incoming that the payload stores under the same names.
_KEPT_IN_PAYLOAD: Final = ("reply_to", "depth", "authority", "team", "organization", "model", "own")


def payload(incoming: Incoming) -> str:
    """The parts of the incoming message that a claim needs and no other column holds."""
    return json_text(
        {
            **{name: getattr(incoming, name) for name in _KEPT_IN_PAYLOAD},
            "within_team": incoming.place.within_team,
            "quoted": [asdict(quoted) for quoted in incoming.quoted],
            "images": [_image_text(image) for image in incoming.images],
            "files": [_file_values(file) for file in incoming.files],
            "files_by_bot": [number for number, file in enumerate(incoming.files) if file.by_bot],
            "roles": sorted(incoming.roles),
        }
    )


def new_turn(incoming: Incoming, state: str, taken: datetime | None) -> dict[str, Any]:
    """The columns of a new turn. `taken`: when its terms were checked; None if they were not."""
    return {
        **{name: getattr(incoming, name) for name in _OF_TURN},
        "kind": incoming.kind,
        "person": incoming.person.id,
        "team": incoming.team,
        "state": state,
        "taken": taken,
        "payload": payload(incoming) if state == "waiting" else NO_PAYLOAD,
    }


def claim(row: Row, owner: str) -> Claim:
    """The claim of a turn, from the joined row of the turn, its question and its person."""
    values = json.loads(row["payload"])
    return Claim(
        turn=row["id"],
        epoch=row["epoch"] + 1,
        owner=owner,
        incoming=_incoming(row, values),
        message=row["question"],
        attempts=row["attempts"] + 1,
        progress=row["progress"],
        reply_ref=row["reply_ref"],
        stopping=row["stopping"],
        withdrawn=values.get(WITHDRAWN, False),
    )


def _quoted(values: Mapping[str, Any]) -> Quoted:
    pages = (*values.get("pages", ()),)
    return Quoted(values["source"], values["author"], values["text"], pages, by_bot=values.get("by_bot", False))


def _incoming(row: Row, values: Mapping[str, Any]) -> Incoming:
    return Incoming(
        **{name: row[name] for name in (*_OF_TURN, *_OF_QUESTION)},
        kind=TurnKind(row["kind"]),
        person=Person(row["person"], row["name"], row["time_zone"]),
        place=Place(audience_of(row["audience"]), values.get("within_team")),
        reply_to=values.get("reply_to", ""),
        quoted=tuple(map(_quoted, values.get("quoted", ()))),
        images=tuple(_image(image) for image in values.get("images", ())),
        files=tuple(_files(values)),
        depth=Depth(values.get("depth", Depth.ADAPT)),
        authority=Authority(values.get("authority", Authority.EMPLOYEE)),
        roles=frozenset(values.get("roles", ())),
        team=values.get("team", ""),
        organization=values.get("organization", ""),
        model=values.get("model", ""),
        own=values.get("own", True),
    )


def _file_values(file: Attachment) -> dict[str, Any]:
    """The fields of a file that every version reads: an earlier one refuses fields that it does not know."""
    values = asdict(file)
    del values["by_bot"]
    return values


def _files(values: Mapping[str, Any]) -> Iterator[Attachment]:
    by_bot = values.get("files_by_bot", ())
    for number, file in enumerate(values.get("files", ())):
        yield Attachment(**file, by_bot=number in by_bot)


def _image_text(image: Image) -> tuple[str, str]:
    return image.media_type, b64encode(image.data).decode()


def _image(stored: tuple[str, str]) -> Image:
    media_type, data = stored
    return Image(media_type, b64decode(data))


def message(row: Row) -> StoredMessage:
    return StoredMessage(
        row["id"],
        row["conversation"],
        Author(row["author"]),
        row["person"],
        row["name"],
        row["text"],
        row["time"],
        row["audience"],
        row["message_id"],
        row["permalink"],
        row["drawn_from"],
        row["retold"],
        own=not (row["retold"] and row["author"] == Author.PERSON),
    )


def thread(row: Row) -> Thread:
    return Thread(row["conversation"], title(row["question"]), row["last"], row["messages"])


def title(question: str) -> str:
    line = " ".join(question.split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"


def summary(stored: str) -> SituationSummary:
    return SituationSummary() if stored == NO_SUMMARY else SituationSummary().merged(json.loads(stored))


def summary_text(situation: SituationSummary, covered: int = 0) -> str:
    """`covered`: the id of the last message that it covers."""
    return json_text({**asdict(situation), **({COVERED: covered} if covered else {})})


def covered(stored: str) -> int:
    """The id of the last message that a stored summary covers; 0 for none."""
    value = json.loads(stored).get(COVERED, 0)
    return value if isinstance(value, int) else 0


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


def ended_columns(now: datetime, outcome: Outcome) -> dict[str, Any]:
    """The columns of an ended turn, with those cleared that only a running turn needs."""
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


# A key beside a turn's tokens, for operators: how often its answer cited a source that no tool had returned.
INVENTED: Final = "invented_citations"


def ending(closing: Closing, now: datetime) -> dict[str, Any]:
    return {
        **ended_columns(now, closing.outcome),
        "usage": json_text({**asdict(closing.usage), **({INVENTED: closing.invented} if closing.invented else {})}),
        "pages": json_text(closing.pages),
        "context_messages": write_ids(closing.context_messages),
        "given_messages": write_ids(closing.given_messages),
        "context_facts": write_ids(map(int, closing.context_facts)),
    }


def restarted(epoch: object) -> dict[str, object]:
    """The columns of a turn that restarts: it has no owner and no progress; its pages stay.

    `epoch`: the next one, so that its worker loses the claim.
    """
    return {"state": "waiting", "owner": None, "lease_until": None, "run_at": None, "progress": "", "epoch": epoch}


_OF_PAGE: Final = tuple(field.name for field in fields(LinkedPage))
# The columns of a Document besides its id and `by`.
OF_DOCUMENT: Final = ("name", "audience", "channel", "person", "time", "link", "pages", "passages", *_OF_PAGE)


def document_of(row: Mapping[Any, Any]) -> Document:
    web = LinkedPage(**{name: row[name] for name in _OF_PAGE}) if row["address"] else None
    values = {name: row[name] for name in ("id", *OF_DOCUMENT) if name not in _OF_PAGE}
    return Document(**values, by=row["by"] or "", web=web)


def page_columns(web: LinkedPage | None, *, first: bool = False) -> dict[str, Any]:
    """The columns of a linked web page. The `first` fetch of a version is due after half a day to one and a half days,
    depending on its digest, so that pages that were added together are not fetched together.
    """
    if web is None:
        return {"address": ""}
    after = LOOK_EVERY * (0.5 + int(web.digest[:4] or "8000", 16) / 0x10000) if first else LOOK_EVERY
    return asdict(web) | {"due": web.seen + after}


# Many values to and from the database as one JSON text. Pure.
#
# Why: each element of an expanding IN is a parameter, and each row a Python object that costs more than finding it;
# with hundreds of either that is most of the time of a search.


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
def _items_on_postgresql(items: _Items, compiler: SQLCompiler, **options: object) -> str:
    return f"json_array_elements_text({compiler.process(items.clauses, **options)})"


@compiles(json_rows)
def _gather(columns: json_rows, compiler: SQLCompiler, **options: object) -> str:
    return f"json_group_array(json_array({compiler.process(columns.clauses, **options)}))"


@compiles(json_rows, "postgresql")
def _gather_on_postgresql(columns: json_rows, compiler: SQLCompiler, **options: object) -> str:
    return f"coalesce(json_agg(json_build_array({compiler.process(columns.clauses, **options)})), '[]')::text"


def ids_in_parameter(name: str) -> Select[int]:
    """The ids in the list parameter `name`, for `in_`."""
    return select(cast(_elements(bindparam(name, type_=JSON)), Integer))


def texts_in_parameter(name: str) -> Select[str]:
    """The texts in the list parameter `name`, for `in_`."""
    return select(cast(_elements(bindparam(name, type_=JSON)), Text))


def ids_in(values: Sequence[int]) -> Select[int]:
    """These ids, for `in_`."""
    return select(cast(_elements(bindparam(None, list(values), type_=JSON)), Integer))


def texts_in(values: Sequence[str]) -> Select[str]:
    """These texts, for `in_`."""
    return select(cast(_elements(bindparam(None, list(map(storable, values)), type_=JSON)), Text))


def _elements(listed: BindParameter[Any]) -> ColumnElement[Any]:
    return _Items(listed).table_valued("value").c.value
