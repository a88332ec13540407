"""Responses on the wire: our messages → a request body or a WebSocket frame. Pure.

Above: `replay` (over HTTP), `responses_session` (over WebSocket). Below: `responses_reader`, `chain`, `writing`.

Rules.
- Nothing is stored at the vendor (`store: false`), so reasoning comes back encrypted and is returned unchanged.
- The stable prefix is the first input item, in the role "developer". `instructions` would have to be sent each round.
- The model halts by calling a free-text tool in place of writing `<execute>`. It is offered where the messages teach
  the protocol: a model that is asked for something else should find nothing to call.
- What a round answers is the output of the calls before it: the first call gets the text, the others a reference.
- No field is null, and none is sent that only some models take (`temperature`, `stop`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agent.messages import Depth, Json, Message, Native, Role
from agent.ports import CallOptions, Capabilities, Halt
from agent.providers.catalog import reasons
from agent.providers.chain import Link
from agent.providers.dialect import Request
from agent.providers.faults import Fault
from agent.providers.reading import as_text
from agent.providers.responses_reader import ResponsesReader
from agent.providers.writing import data_url, described, encoded

TOOL = "execute"

EXECUTE: dict[str, Json] = {
    "type": "custom",
    "name": TOOL,
    "description": (
        "Runs your tools. Call it instead of writing an <execute> block. Its input is exactly what belongs between "
        "<execute> and </execute>: the JSON list of calls, and nothing else. Write <workspace> in your text before it."
    ),
    "format": {"type": "text"},
}

TAUGHT = "</execute>"
"""Stands in a system message that teaches the protocol, and in no other."""

EFFORT = {Depth.FAST: "low", Depth.DEEP: "high"}

OPTIONAL = ("include", "reasoning", "prompt_cache_key", "parallel_tool_calls", "tools")
"""What a service may refuse by name, and can then be left out."""

SEE_FIRST = "See the result of the first call, which holds the results of all."
NO_RESULT = "There is no result."

_OUTPUTS = {"custom_tool_call": "custom_tool_call_output", "function_call": "function_call_output"}
_NAMED = re.compile(r"['\"`]([^'\"`]+)['\"`]")
_FIELD_NAME = re.compile(r"(?:(?<= )|\A)\w+")


@dataclass(frozen=True, slots=True)
class ResponsesDialect:
    """Responses for one model. `left_out` are the optional fields that the service has refused."""

    model: str
    vendor: str = "openai"
    images: bool = True
    """Whether the model reads pictures; where it does not, a line says that there was one."""
    left_out: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Whose items these are: another model cannot read this one's encrypted reasoning."""
        return f"{self.vendor}-responses:{self.model}"

    @property
    def capabilities(self) -> Capabilities:
        halt = Halt.NONE if "tools" in self.left_out else Halt.TOOL
        return Capabilities(
            halt=halt, images=self.images, effort="reasoning" not in self.left_out, reasons=reasons(self.model)
        )

    def authorisation(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"}

    def request(self, messages: Sequence[Message], options: CallOptions) -> Request:
        """The whole context over HTTP."""
        body = self._body(messages, self.items(messages), options)
        return Request("/responses", encoded({**body, "stream": True}))

    def frame(self, messages: Sequence[Message], link: Link, options: CallOptions) -> str:
        """What asks for the answer to `messages` over WebSocket: what is new since the link's parent."""
        body = self._body(messages, self.items(link.new, link.answering), options)
        if link.parent:
            body["previous_response_id"] = link.parent
        return encoded({"type": "response.create", **body}).decode()

    def reader(self) -> ResponsesReader:
        return ResponsesReader(self.name)

    def without(self, fault: Fault) -> "ResponsesDialect | None":
        refused = next((field for field in OPTIONAL if field not in self.left_out and _names(fault, field)), None)
        return replace(self, left_out=self.left_out | {refused}) if refused else None

    def items(self, messages: Sequence[Message], answering: Native | None = None) -> list[Json]:
        """The messages as input items. `answering` is what the model wrote before them, if the vendor has that."""
        items: list[Json] = []
        calls = _calls(answering)
        for message in messages:
            if calls and message.role is Role.USER:
                items += _outputs(calls, self._content(message))
                calls = []
                continue
            items += _outputs(calls, NO_RESULT)
            native = message.native if message.native and message.native.dialect == self.name else None
            calls = _calls(native)
            items += [dict(item) for item in native.items] if native else self._message(message)
        return items + _outputs(calls, NO_RESULT)

    def _body(self, messages: Sequence[Message], items: list[Json], options: CallOptions) -> dict[str, Json]:
        body: dict[str, Json] = {
            "model": self.model,
            "input": items,
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
        if any(message.role is Role.SYSTEM and TAUGHT in message.text for message in messages):
            body |= {"tools": [EXECUTE], "parallel_tool_calls": False}
        if options.depth in EFFORT:
            body["reasoning"] = {"effort": EFFORT[options.depth]}
        if options.cache_key:
            body["prompt_cache_key"] = options.cache_key
        return {field: value for field, value in body.items() if field not in self.left_out}

    def _message(self, message: Message) -> list[Json]:
        if message.role is Role.ASSISTANT and not message.text.strip():
            return []
        role = "developer" if message.role is Role.SYSTEM else str(message.role)
        return [{"type": "message", "role": role, "content": self._content(message)}]

    def _content(self, message: Message) -> Json:
        if not (self.images and message.images and message.role is Role.USER):
            return described(message)
        pictures: list[Json] = [
            {"type": "input_image", "image_url": data_url(image), "detail": "auto"} for image in message.images
        ]
        return [{"type": "input_text", "text": message.text}, *pictures]


def _names(fault: Fault, field: str) -> bool:
    """Whether the request was refused because of this field, which is named as such: these are common words."""
    if not fault.bad_request:
        return False
    named = fault.param or " ".join(_NAMED.findall(fault.message))
    return field in _FIELD_NAME.findall(named)


def _calls(native: Native | None) -> list[Mapping[str, Json]]:
    return [item for item in native.items if item.get("type") in _OUTPUTS] if native else []


def _outputs(calls: Sequence[Mapping[str, Json]], content: Json) -> list[Json]:
    """The content as the first call's output; a reference to it as the others'."""
    return [
        {
            "type": _OUTPUTS[as_text(call["type"])],
            "call_id": as_text(call.get("call_id")),
            "output": SEE_FIRST if position and content != NO_RESULT else content,
        }
        for position, call in enumerate(calls)
    ]
