"""Conversions between rows and the values of `agent`. Pure."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any, Final, TypeAlias

from agent.admission_terms import Authority
from agent.events import Outcome
from agent.incoming import Attachment, Incoming, Person, Quoted
from agent.memory.attribution import mentions, quotes
from agent.memory.audience import WIDE, Place, audience_of
from agent.memory.documents import FETCH_EVERY, Document, LinkedPage
from agent.messages import Depth, Image, Provenance, ResultStatus, ToolCall, ToolResult
from agent.state import ActionRecord, SituationSummary, SummaryWords
from agent.stored_messages import Author, StoredMessage, Thread
from agent.turn_kinds import TurnKind
from agent.turn_records import Claim, Closing
from store.json_columns import WITHDRAWN, json_text, write_ids

RESULT_CHARS: Final = 1_000  # Of a tool's result in an action record (seed 002)
TITLE_CHARS: Final = 80
COVERED: Final = "covered"  # The key in a stored summary, beside its fields, of the last covered message's id
WORDS_OF: Final = "words_of"  # And of whose words it holds: a person's id and a `Provenance`; none if unknown
NO_PAYLOAD: Final = "{}"
NO_SUMMARY: Final = "{}"

Row: TypeAlias = Mapping[Any, Any]

_OF_TURN: Final = ("source", "event_id", "channel", "message_id", "conversation", "schedule")
_OF_QUESTION: Final = ("text", "time", "permalink")
# The columns of a turn of which its claim is made.
CLAIMED: Final = (
    *("id", "epoch", "attempts", "progress", "reply_ref", "stopping", "payload", "kind", "person"),
    *_OF_TURN,
)
# Fields of Incoming that the payload stores under the same names.
_KEPT_IN_PAYLOAD: Final = ("reply_to", "depth", "authority", "team", "organization", "model", "own", "hook")


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
    """The claim of a claimed turn, from CLAIMED of its row, and the columns of its question and its person. Raises
    ValueError for a turn without a question.
    """
    if row["question"] is None:
        raise ValueError("a turn without a question")
    values = json.loads(row["payload"])
    return Claim(
        turn=row["id"],
        epoch=row["epoch"],
        owner=owner,
        incoming=incoming(row, values),
        message=row["question"],
        attempts=row["attempts"],
        progress=row["progress"],
        reply_ref=row["reply_ref"],
        stopping=row["stopping"],
        withdrawn=values.get(WITHDRAWN, False),
    )


def _quoted(values: Mapping[str, Any]) -> Quoted:
    pages = (*values.get("pages", ()),)
    return Quoted(values["source"], values["author"], values["text"], pages, by_bot=values.get("by_bot", False))


def incoming(row: Row, values: Mapping[str, Any]) -> Incoming:
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
        hook=values.get("hook", ""),
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
    question = row["question"]
    own = not (row["retold"] or quotes(question) or mentions(question))
    return Thread(row["conversation"], title(question), row["last"], row["messages"], own)


def title(question: str) -> str:
    line = " ".join(question.split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"


def summary(stored: str) -> tuple[SituationSummary, int]:
    """A stored summary, and the id of the last message that it covers; 0 for none."""
    if stored == NO_SUMMARY:
        return SituationSummary(), 0
    values = json.loads(stored)
    covered = values.get(COVERED, 0)
    return SituationSummary().merged(values), covered if isinstance(covered, int) else 0


def summary_words(stored: str) -> SummaryWords:
    """Whose words a stored summary holds."""
    match json.loads(stored).get(WORDS_OF):
        case [str(person), int(words)] if person and words in {*Provenance}:
            return SummaryWords(person, Provenance(words))
        case _:
            return SummaryWords()


def summary_text(situation: SituationSummary, covered: int = 0, words: SummaryWords | None = None) -> str:
    """`covered`: the id of the last message that it covers. `words`: whose words it holds."""
    known_words = {WORDS_OF: [words.person, words.words]} if words is not None and words.person else {}
    return json_text({**asdict(situation), **({COVERED: covered} if covered else {}), **known_words})


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
UNKNOWN: Final = "unknown"  # Whether the model said that it does not know
ASKED: Final = "asked_model"  # And the name of the model that should have answered


def ending(closing: Closing, now: datetime) -> dict[str, Any]:
    return {
        **ended_columns(now, closing.outcome),
        "usage": json_text(
            {
                **asdict(closing.usage),
                **({INVENTED: closing.invented} if closing.invented else {}),
                **({UNKNOWN: True} if closing.unknown else {}),
                **({ASKED: closing.asked_model} if closing.asked_model else {}),
            }
        ),
        "pages": json_text(closing.pages),
        "context_messages": write_ids(closing.context_messages),
        "given_messages": write_ids(closing.given_messages),
        "context_facts": write_ids(map(int, closing.context_facts)),
        "given_documents": write_ids(closing.given_documents),
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
    return Document(**values, by=row["by"] or "", web=web, file_digest="" if web else row["digest"])


def page_columns(web: LinkedPage, *, first: bool = False) -> dict[str, Any]:
    """The columns of a linked web page. The `first` fetch of a version is due after half a day to one and a half days,
    depending on its digest, so that pages that were added together are not fetched together.
    """
    after = FETCH_EVERY * (0.5 + int(web.digest[:4] or "8000", 16) / 0x10000) if first else FETCH_EVERY
    return asdict(web) | {"due": web.seen + after}
