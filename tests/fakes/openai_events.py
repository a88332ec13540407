"""The events that a service of the Responses protocol sends for the contract's plan. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from typing import TypeAlias, assert_never

from agent.messages import Usage
from tests.contracts.model_world import Breaks, Calls, Cuts, Garbles, Refuses, Says, Turn, Waits

PIECE = 7  # Characters of each piece of a call's input

Event: TypeAlias = dict[str, object]


class Mishap(Enum):
    CUT = "cut"
    GARBAGE = "garbage"


@dataclass(frozen=True, slots=True)
class Error:
    """An error event, in the form of either transport."""

    status: int
    code: str
    message: str
    retry_after_s: float | None = None


Step: TypeAlias = Event | Mishap | Waits | Error


@dataclass(slots=True)
class Writer:
    """Writes one answer. `output` holds its finished items."""

    response_id: str
    model: str
    output: list[Event] = field(default_factory=list[Event])
    numbers: Iterator[int] = field(default_factory=count)

    def steps(self, turn: Turn) -> Iterator[Step]:
        """Yield everything that the service sends for this turn, in order."""
        match turn:
            case Says(pieces, reasoning, usage):
                yield from (*self._begin(), *self._reasoning(reasoning), *self._message(pieces), *self._end(usage))
            case Calls(blocks, before, reasoning):
                yield from (*self._begin(), *self._reasoning(reasoning), *self._message([before] if before else []))
                for block in blocks:
                    yield from self._call(block)
                yield from self._end(Says(()).usage)
            case Cuts(pieces):
                yield from (*self._begin(), *self._open_message(pieces)) if pieces else ()
                yield Mishap.CUT
            case Refuses(status, code, message, retry_after_s):
                yield Error(status, code, message, retry_after_s)
            case Breaks(pieces, status):
                yield from (*self._begin(), *self._open_message(pieces))
                yield Error(status, "server_is_overloaded", "busy")
            case Garbles(pieces):
                opened, deltas, closed = _parts(self._message(pieces))
                yield from (*self._begin(), *opened, deltas[0], Mishap.GARBAGE, *deltas[1:], *closed)
                yield from self._end(Says(()).usage)
            case Waits(pieces, _, then):
                opened, deltas, closed = _parts(self._message([*pieces, *then]))
                yield from (*self._begin(), *(opened if pieces else []), *deltas[: len(pieces)], turn)
                yield from (*([] if pieces else opened), *deltas[len(pieces) :], *closed, *self._end(Says(()).usage))
            case _:
                assert_never(turn)

    def response(self, status: str, usage: Usage | None = None) -> Event:
        return {
            "id": self.response_id,
            "object": "response",
            "created_at": 1_795_000_000,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": self.model,
            "output": list(self.output),
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "usage": usage and _usage(usage),
        }

    def _event(self, kind: str, **fields: object) -> Event:
        return {"type": f"response.{kind}", "sequence_number": next(self.numbers), **fields}

    def _begin(self) -> list[Event]:
        return [
            self._event("created", response=self.response("in_progress")),
            self._event("in_progress", response=self.response("in_progress")),
        ]

    def _end(self, usage: Usage) -> list[Event]:
        return [self._event("completed", response=self.response("completed", usage))]

    def _reasoning(self, text: str) -> list[Event]:
        """Yield a reasoning item, which precedes every answer; with its summary only if there is one."""
        place: Event = {"output_index": len(self.output)}
        item: Event = {"id": self._id("rs"), "type": "reasoning", "summary": list[object]()}
        part: Event = {**place, "item_id": item["id"], "summary_index": 0}
        summary: list[object] = [{"type": "summary_text", "text": text}] if text else []
        finished: Event = {**item, "summary": summary, "encrypted_content": f"gAAAA{len(self.output)}", "status": None}
        deltas = [self._event("reasoning_summary_text.delta", **part, delta=text)] if text else []
        return [self._event("output_item.added", **place, item=item), *deltas, self._done(finished)]

    def _message(self, pieces: Sequence[str]) -> list[Event]:
        if not pieces:
            return []
        place = {"output_index": len(self.output), "item_id": self._id("msg"), "content_index": 0}
        text: Event = {"type": "output_text", "text": "".join(pieces), "annotations": []}
        opened = self._open_message(pieces)
        item = {**_message_item(self._id("msg")), "status": "completed", "content": [text]}
        return [
            *opened,
            self._event("output_text.done", **place, text=text["text"], logprobs=[]),
            self._event("content_part.done", **place, part=text),
            self._done(item),
        ]

    def _open_message(self, pieces: Sequence[str]) -> list[Event]:
        index, id_ = len(self.output), self._id("msg")
        place = {"output_index": index, "item_id": id_, "content_index": 0}
        empty: Event = {"type": "output_text", "text": "", "annotations": list[object]()}
        return [
            self._event("output_item.added", output_index=index, item=_message_item(id_)),
            self._event("content_part.added", **place, part=empty),
            *(self._event("output_text.delta", **place, delta=piece, logprobs=[]) for piece in pieces),
        ]

    def _call(self, block: str) -> list[Event]:
        index, id_ = len(self.output), self._id("ctc")
        item = {"id": id_, "type": "custom_tool_call", "call_id": f"call_{id_}", "name": "execute", "input": ""}
        place = {"output_index": index, "item_id": id_}
        pieces = [block[start : start + PIECE] for start in range(0, len(block), PIECE)]
        return [
            self._event("output_item.added", output_index=index, item=item),
            *(self._event("custom_tool_call_input.delta", **place, delta=piece) for piece in pieces),
            self._event("custom_tool_call_input.done", **place, input=block),
            self._done({**item, "input": block}),
        ]

    def _done(self, item: Event) -> Event:
        self.output.append(item)
        return self._event("output_item.done", output_index=len(self.output) - 1, item=item)

    def _id(self, kind: str) -> str:
        return f"{kind}_{self.response_id}_{len(self.output)}"


def _parts(events: Sequence[Event]) -> tuple[list[Event], list[Event], list[Event]]:
    """Yield the parts before, in and after the pieces of a message."""
    deltas = [event for event in events if event["type"] == "response.output_text.delta"]
    first = events.index(deltas[0]) if deltas else len(events)
    return list(events[:first]), deltas, list(events[first + len(deltas) :])


def _message_item(id_: str) -> Event:
    return {"id": id_, "type": "message", "role": "assistant", "status": "in_progress", "content": []}


def _usage(usage: Usage) -> Mapping[str, object]:
    inputs = usage.input_uncached + usage.input_cached + usage.input_written
    outputs = usage.output + usage.reasoning
    return {
        "input_tokens": inputs,
        "input_tokens_details": {"cached_tokens": usage.input_cached, "cache_write_tokens": usage.input_written},
        "output_tokens": outputs,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": inputs + outputs,
    }
