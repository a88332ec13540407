"""Tools in a vendor's own form, for models that keep it better than ours: ours → theirs, and their calls → ours. Pure.

The adapter takes the lesson about blocks out of the system's words and hands the tools over as the vendor wants them;
what the model calls goes on as the text that a model would have written, so that the parser, its limits and its
corrections see what they always see; in the next round the calls go back as they came, with the results beside them.
What is passed on goes in the order in which calls begin. Vendors leave out indices, ids and even arguments: then a call
that is named begins a new one, an id is made, and the arguments are empty.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from agent.messages import Json, JsonObject, Message, Role, is_too_deep
from agent.ports import ToolSpec
from agent.protocol.grammar import LESSON, teach_native
from agent.protocol.render import neutralise
from agent.providers.wire import as_list, as_object, as_text

MAX_CALLS = 32
"""As many as the parser takes; a server that begins more is broken."""
NO_RESULT = "(See the other results.)"


def untaught(system: str, *, reasons: bool) -> str | None:
    """The system's words without the lesson about blocks, and with the one about calls; None if there is none."""
    before, lesson, _ = system.rpartition(LESSON)
    return f"{before}{teach_native(reasons=reasons)}" if lesson else None


_DOT: Final = "--"


def function_name(name: str) -> str:
    """A tool's name as vendors take it, who allow letters, digits, - and _: a server's tool has a dot in its name."""
    return name.replace(".", _DOT, 1)


def _our_name(function: str) -> str:
    """The inverse: no name of a server has two hyphens in a row, and none of a function has one."""
    return function.replace(_DOT, ".", 1)


def functions(tools: Sequence[ToolSpec]) -> list[Json]:
    return [
        {
            "type": "function",
            "function": {
                "name": function_name(tool.name),
                "description": tool.description,
                "parameters": dict(tool.schema),
            },
        }
        for tool in tools
    ]


def answers(results: Message, calls: int) -> list[str]:
    """What stands in the message that answers so many calls, one text a call; what follows the results joins the last.

    What is quoted in them cannot open a block: a model that falls back to our form reads it, too.
    """
    text = results.text.strip()
    entries: list[object] = []
    rest = text
    if text.startswith("<results>"):
        try:
            read, end = json.JSONDecoder().raw_decode(text, len("<results>"))
        except ValueError:
            pass
        else:
            entries = as_list(cast("object", read))
            rest = text[end:].lstrip().removeprefix("</results>").strip()
    said = [_said(as_object(entry)) for entry in entries[:calls]]
    said += [NO_RESULT] * (calls - len(said))
    return [*said[:-1], "\n\n".join(filter(None, [said[-1] if entries else "", rest]))]


def _said(entry: Mapping[str, object]) -> str:
    status, content = as_text(entry.get("status")), neutralise(as_text(entry.get("content")))
    return content if status == "success" else f"{status}: {content}"


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    pieces: list[str] = field(default_factory=list[str])

    @property
    def arguments(self) -> str:
        return "".join(self.pieces).strip() or "{}"


class NativeCalls:
    """What a model calls in one answer: `receive` the pieces as they come, and `close` once; both give text of ours."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._keys: list[object] = []
        self._closed = False

    def receive(self, piece: Mapping[str, object], text_before: str) -> str:
        """A piece of one call. `text_before`: what was said so far, on whose last line no block may begin."""
        function = as_object(piece.get("function"))
        name, arguments = as_text(function.get("name")), function.get("arguments")
        begun = self._begin(piece, name) if name and self._is_new(piece) else ""
        if not self._calls or len(self._calls) > MAX_CALLS or not self._is_current(piece):
            return ""
        written = arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments else ""
        if begun and len(self._calls) == 1 and text_before and not text_before.endswith("\n"):
            begun = f"\n{begun}"
        if written:
            self._calls[-1].pieces.append(written)
        return begun + written

    def close(self) -> str:
        """The end of the block; "" if nothing was called, or it was closed."""
        if not self._calls or self._closed:
            return ""
        self._closed = True
        return f"{self._end_of_call()}]\n</execute>"

    def items(self, text: str) -> tuple[JsonObject, ...]:
        """The answer as it goes back; nothing where no call was made, or where one cannot go back."""
        if not self._calls or not all(_is_object(call.arguments) for call in self._calls):
            return ()
        calls: list[Json] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in self._calls
        ]
        return ({"role": str(Role.ASSISTANT), "content": text or None, "tool_calls": calls},)

    def _is_new(self, piece: Mapping[str, object]) -> bool:
        index, id_ = piece.get("index"), as_text(piece.get("id"))
        if index is not None:
            return index not in self._keys
        return not id_ or id_ not in {call.id for call in self._calls}

    def _is_current(self, piece: Mapping[str, object]) -> bool:
        index = piece.get("index")
        return index is None or index == self._keys[-1]

    def _begin(self, piece: Mapping[str, object], name: str) -> str:
        before = f"{self._end_of_call()},\n" if self._calls else "<execute>["
        self._calls.append(_Call(as_text(piece.get("id")) or f"call_{len(self._calls) + 1}", name))
        self._keys.append(piece.get("index"))
        return f'{before}{{"name": {json.dumps(_our_name(name), ensure_ascii=False)}, "args": '

    def _end_of_call(self) -> str:
        return "}" if "".join(self._calls[-1].pieces).strip() else "{}}"


def _is_object(text: str) -> bool:
    try:
        return not is_too_deep(text) and isinstance(json.loads(text), dict)
    except ValueError:
        return False
