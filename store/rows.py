"""Rows to values and back. Pure.

Above: `store.turns`, `store.forgetting`, conversations, search, spending. Below: `agent.progress`,
`agent.records`, `agent.state`.

JSON is written with its non-ASCII characters as they are, so that the search for proof in `store.forgetting.proof` sees
one form of each word.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final, TypeAlias

from agent.authority import Authority
from agent.events import Outcome
from agent.memory.audience import Place, audience_of
from agent.messages import Depth, Image, Json, ModelCall, ResultStatus, ToolCall, ToolResult
from agent.progress import decode
from agent.records import Author, Claim, Closing, Incoming, Person, Quoted, StoredMessage, Thread
from agent.state import ActionRecord, SituationSummary

RESULT_CHARS: Final = 1_000
"""How much of a tool's result an action record keeps (seed 002)."""
TITLE_CHARS: Final = 80
NO_PAYLOAD: Final = "{}"

Row: TypeAlias = Mapping[Any, Any]
_WITHDRAWN: Final = "withdrawn"


def json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def ids(stored: str) -> frozenset[int]:
    """The ids of a `context_…` column."""
    return frozenset(json.loads(stored))


def read(stored: str) -> Json:
    """The value of stored JSON; what is no JSON is one text."""
    try:
        return json.loads(stored)
    except ValueError:
        return stored


def pages(stored: str) -> list[str]:
    """The page ids in `pages`, or in the `reply_ref` of a turn that still runs; [] if a surface keeps another form."""
    return [page for page in _items(read(stored)) if isinstance(page, str)]


def strings(value: Json) -> Iterator[str]:
    """Every text inside a JSON value, without the names of its fields."""
    match value:
        case str():
            yield value
        case dict():
            yield from (held for inner in value.values() for held in strings(inner))
        case list():
            yield from (held for inner in value for held in strings(inner))
        case _:
            return


def sources(progress: str) -> frozenset[int]:
    """The ids of the messages in a turn's `progress`: `steps[].results[].sources`, `steps[].joined[].message`, and
    `context[]`.
    """
    kept = read(progress)
    steps = _items(_field(kept, "steps"))
    results = [result for step in steps for result in _items(_field(step, "results"))]
    quoted = [id_ for result in results for id_ in _items(_field(result, "sources"))]
    joined = [_field(one, "message") for step in steps for one in _items(_field(step, "joined"))]
    drawn = _items(_field(kept, "context"))
    return frozenset(id_ for id_ in (*quoted, *joined, *drawn) if isinstance(id_, int))


def joined(progress: str) -> dict[int, int]:
    """The turns of the messages that joined, by the ids of these: `steps[].joined[]`."""
    found = [one for step in _items(_field(read(progress), "steps")) for one in _items(_field(step, "joined"))]
    pairs = [(_field(one, "message"), _field(one, "turn")) for one in found]
    return {message: turn for message, turn in pairs if isinstance(message, int) and isinstance(turn, int)}


def calls(progress: str) -> tuple[ModelCall, ...]:
    """The model calls in a turn's `progress`; () if it cannot be read."""
    try:
        return decode(progress).calls
    except ValueError:
        return ()


def _items(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _field(value: Json, name: str) -> Json:
    return value.get(name) if isinstance(value, dict) else None


def payload(incoming: Incoming) -> str:
    """What a claim needs of the incoming message and no other column holds."""
    return json_text(
        {
            "within_team": incoming.place.within_team,
            "reply_to": incoming.reply_to,
            "quoted": [asdict(quoted) for quoted in incoming.quoted],
            "images": [_image_text(image) for image in incoming.images],
            "depth": incoming.depth,
            "authority": incoming.authority,
            "roles": sorted(incoming.roles),
            "team": incoming.team,
        }
    )


def begun(incoming: Incoming, state: str, taken: datetime | None) -> dict[str, Any]:
    """The columns of a new turn. `taken`: when its terms were checked."""
    return {
        "source": incoming.source,
        "event_id": incoming.event_id,
        "channel": incoming.channel,
        "message_id": incoming.message_id,
        "conversation": incoming.conversation,
        "person": incoming.person.id,
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
        withdrawn=kept.get(_WITHDRAWN, False),
    )


def _incoming(row: Row, kept: Mapping[str, Any]) -> Incoming:
    return Incoming(
        source=row["source"],
        event_id=row["event_id"],
        channel=row["channel"],
        message_id=row["message_id"],
        conversation=row["conversation"],
        person=Person(row["person"], row["name"], row["time_zone"]),
        place=Place(audience_of(row["audience"]), kept.get("within_team")),
        text=row["text"],
        time=row["time"],
        permalink=row["permalink"],
        reply_to=kept.get("reply_to", ""),
        quoted=tuple(Quoted(**quoted) for quoted in kept.get("quoted", ())),
        images=tuple(_image(image) for image in kept.get("images", ())),
        depth=Depth(kept.get("depth", Depth.ADAPT)),
        authority=Authority(kept.get("authority", Authority.EMPLOYEE)),
        roles=frozenset(kept.get("roles", ())),
        team=kept.get("team", ""),
    )


def withdrawn(payload: str) -> bool:
    """Whether the question was deleted while its turn ran."""
    return _field(read(payload), _WITHDRAWN) is True


def withdraw(payload: str) -> str:
    """The payload of a turn whose question was just deleted."""
    kept = read(payload)
    return json_text({**(kept if isinstance(kept, dict) else {}), _WITHDRAWN: True})


def _image_text(image: Image) -> tuple[str, str]:
    return image.media_type, b64encode(image.data).decode()


def _image(kept: tuple[str, str]) -> Image:
    media_type, data = kept
    return Image(media_type, b64decode(data))


def message(row: Row) -> StoredMessage:
    return StoredMessage(
        id=row["id"],
        conversation=row["conversation"],
        author=Author(row["author"]),
        person=row["person"],
        name=row["name"],
        text=row["text"],
        time=row["time"],
        audience=row["audience"],
        message_id=row["message_id"],
        permalink=row["permalink"],
    )


def thread(row: Row) -> Thread:
    return Thread(row["conversation"], title(row["question"]), row["last"], row["messages"])


def title(question: str) -> str:
    """A question as one line of a list."""
    line = " ".join(question.split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"


def summary(stored: str) -> SituationSummary:
    return SituationSummary().merged(json.loads(stored))


def summary_text(kept: SituationSummary) -> str:
    return json_text(asdict(kept))


def action(turn: int, record: ActionRecord) -> dict[str, Any]:
    """The columns of an action record."""
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


def ending(closing: Closing, now: datetime) -> dict[str, Any]:
    """The columns that an answered turn is left with."""
    return {
        **over(now, closing.outcome),
        "usage": json_text(asdict(closing.usage)),
        "pages": json_text(closing.pages),
        "context_messages": id_list(closing.context_messages),
        "context_facts": id_list(map(int, closing.context_facts)),
    }


def restarted(epoch: object) -> dict[str, object]:
    """The columns of a turn that starts anew: nobody runs it and nothing of it is done; its pages stay.

    `epoch`: the next one, by which whoever runs it learns of this.
    """
    return {"state": "waiting", "owner": None, "lease_until": None, "progress": "", "epoch": epoch}


def words_alone(payload: str) -> bool:
    """Whether a message brought nothing along."""
    kept = read(payload)
    return not (_items(_field(kept, "quoted")) or _items(_field(kept, "images")))


def without_quoted(payload: str, gone: Callable[[str], bool]) -> str:
    """`payload` without the quoted entries whose text is `gone`; as it was if there are none."""
    kept = read(payload)
    entries = _items(_field(kept, "quoted"))
    staying = [entry for entry in entries if not gone(str(_field(entry, "text")))]
    if not isinstance(kept, dict) or len(staying) == len(entries):
        return payload
    return json_text({**kept, "quoted": staying})


def id_list(values: Iterable[int]) -> str:
    """The inverse of `ids`."""
    return json_text(sorted(set(values)))
