"""Rows to values and back. Pure.

Above: `store.turns`, `store.forgetting`, conversations, search, spending. Below: `store.json_columns`,
`agent.records`, `agent.state`.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final, TypeAlias

from agent.authority import Authority
from agent.events import Outcome
from agent.memory.audience import Place, audience_of
from agent.messages import Depth, Image, ResultStatus, ToolCall, ToolResult
from agent.records import Attachment, Author, Claim, Closing, Incoming, Person, Quoted, StoredMessage, Thread
from agent.state import ActionRecord, SituationSummary
from store.json_columns import WITHDRAWN, id_list, json_text

RESULT_CHARS: Final = 1_000
"""How much of a tool's result an action record keeps (seed 002)."""
TITLE_CHARS: Final = 80
COVERED: Final = "covered"
"""In a stored summary, beside its fields: the id of the last message that it covers."""
NO_PAYLOAD: Final = "{}"

Row: TypeAlias = Mapping[Any, Any]


def payload(incoming: Incoming) -> str:
    """What a claim needs of the incoming message and no other column holds."""
    return json_text(
        {
            "within_team": incoming.place.within_team,
            "reply_to": incoming.reply_to,
            "quoted": [asdict(quoted) for quoted in incoming.quoted],
            "images": [_image_text(image) for image in incoming.images],
            "files": [asdict(file) for file in incoming.files],
            "depth": incoming.depth,
            "authority": incoming.authority,
            "roles": sorted(incoming.roles),
            "team": incoming.team,
            "organization": incoming.organization,
            "model": incoming.model,
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
        withdrawn=kept.get(WITHDRAWN, False),
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


def summary_text(kept: SituationSummary, covered: int = 0) -> str:
    """`covered`: the id of the last message that it covers."""
    return json_text({**asdict(kept), **({COVERED: covered} if covered else {})})


def covered(stored: str) -> int:
    """The id of the last message that a stored summary covers; 0 for none."""
    kept = json.loads(stored).get(COVERED, 0)
    return kept if isinstance(kept, int) else 0


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
        "given_messages": id_list(closing.given_messages),
        "context_facts": id_list(map(int, closing.context_facts)),
    }


def restarted(epoch: object) -> dict[str, object]:
    """The columns of a turn that starts anew: nobody runs it and nothing of it is done; its pages stay.

    `epoch`: the next one, by which whoever runs it learns of this.
    """
    return {"state": "waiting", "owner": None, "lease_until": None, "progress": "", "epoch": epoch}
