"""Converse of Amazon Bedrock on the wire: our messages → request body, the stream's events → our events. Pure.

The same protocol serves models of many vendors; `agent.providers.converse_models` says what each of them takes. What
a model turns out to refuse is left out from then on.

Rules:
- The model is a part of the path, where each colon and slash of its id is escaped: an ARN has both.
- The reply ends before the stop sequence, without it. Some models report it as a normal end.
- Reasoning with a signature goes back unchanged within its turn, and so do native calls.
- A text after reasoning starts a new paragraph, so that the tag of a block is at the start of a line.
- An event with text need not be announced: blocks begin with `contentBlockStart` only if they are calls.
- `messageStop` ends the answer, and the usage follows it. Its input does not include the cached tokens.
- Cache points are behind the system message, which all turns share, and behind the last two messages of the user: the
  next round continues from the last one, and reads what this round reads from the one before.
- An error may come as an event of a stream with status 200.
- No `temperature`: current models are tuned for their default.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Final, cast
from urllib.parse import quote

from agent.messages import Json, JsonObject, Message, NativeContent, Role, ToolSpec
from agent.ports.model import CallOptions, Capabilities, Halt, ReasoningArrived, StopReason, TokensArrived
from agent.protocol.grammar import STOP_SEQUENCE
from agent.providers import wire
from agent.providers.catalog import reasons
from agent.providers.converse_models import EffortField, ModelTraits, traits_of
from agent.providers.dialect import AnswerReader, Framing, ModelRequest, ReaderEvent
from agent.providers.faults import Fault, FaultKind, read_error
from agent.providers.wire_chat import NativeCalls, answers, function_name, untaught
from agent.providers.wire_gemini import stopped_inside

IMAGE_FORMATS: Final = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}

_CACHED_QUESTIONS: Final = 2

_REASONS: Final = {
    **dict.fromkeys(("end_turn", "tool_use"), StopReason.END),
    "stop_sequence": StopReason.HALTED,
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), StopReason.LENGTH),
    **dict.fromkeys(("guardrail_intervened", "content_filtered"), StopReason.FILTERED),
    # The answer is incomplete: what the model wrote is no call, or could not be read at all.
    **dict.fromkeys(("malformed_model_output", "malformed_tool_use"), StopReason.UNKNOWN),
}

# The status that each exception has as a response. Those of a stream have none.
_STATUS: Final = {
    "accessdenied": 403,
    "internalserver": 500,
    "modelerror": 502,
    "modelnotready": 429,
    "modelstreamerror": 502,  # 424 in the response, which says that the request is at fault; it is not
    "modeltimeout": 408,
    "resourcenotfound": 404,
    "servicequotaexceeded": 400,
    "serviceunavailable": 503,
    "throttling": 429,
    "validation": 400,
}


@dataclass(frozen=True, slots=True)
class ConverseDialect:
    """Converse for one model. `native`: whether tools are offered, called and answered in the form of this protocol."""

    model: str
    traits: ModelTraits = field(default_factory=ModelTraits)
    native: bool = False

    @classmethod
    def of(cls, model: str, *, native: bool = False) -> "ConverseDialect":
        """Return the dialect with all that this model takes."""
        traits = traits_of(model)
        return cls(model, traits, native=native and traits.tools)

    @property
    def name(self) -> str:
        return f"converse:{self.model}"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            halt=Halt.STOP_SEQUENCE if self.traits.stop and not self.native else Halt.NONE,
            images=self.traits.images,
            effort=self.traits.effort is not EffortField.NONE,
            native_calls=self.native,
            reasons=reasons(self.model.replace(".", "-")),
        )

    def request(self, messages: Sequence[Message], options: CallOptions) -> ModelRequest:
        system = wire.system_text(messages)
        taught = untaught(system) if self.native and options.tools else None
        spoken = [message for message in messages if message.role is not Role.SYSTEM]
        turns = self._turns(spoken) if taught is None else self._turns_with_calls(spoken)
        system = system if taught is None else taught
        body: dict[str, Json] = {}
        if system.strip() and self.traits.system:
            body["system"] = [{"text": system}, *self._cache_point()]
        elif system.strip():
            turns[0].content.insert(0, {"text": system})
        for turn in [turn for turn in turns if turn.role is Role.USER][-_CACHED_QUESTIONS:]:
            turn.content.extend(self._cache_point())
        body["messages"] = [{"role": str(turn.role), "content": turn.content} for turn in turns]
        if taught is not None:
            body["toolConfig"] = {"tools": [_tool(tool) for tool in options.tools]}
        body |= self._settings(options, stops=taught is None)
        return ModelRequest(f"/model/{quote(self.model, safe='')}/converse-stream", wire.encoded(body))

    def reader(self) -> "ConverseReader":
        return ConverseReader(self.name)

    def without(self, fault: Fault) -> "ConverseDialect | None":
        """Leave out what the model refuses. The service names it in words, and answers 403 for cache points."""
        traits = self.traits
        if (
            traits.caching
            and fault.status in {400, 403}
            and fault.mentions("prompt caching", "cachepoint", "cache point")
        ):
            return replace(self, traits=replace(traits, caching=False))
        if not fault.bad_request:
            return None
        if self.native and fault.mentions("tool use", "toolconfig", "tooluse", "tool config"):
            return replace(self, native=False)
        if traits.stop and fault.mentions("stopsequences", "stop sequences", "stop_sequences"):
            return replace(self, traits=replace(traits, stop=False))
        if traits.max_tokens and fault.mentions("maximum tokens", "maxtokens", "max_tokens"):
            return replace(self, traits=replace(traits, max_tokens=None))
        if traits.effort is not EffortField.NONE and fault.mentions("effort", "outputconfig", "reasoningconfig"):
            return replace(self, traits=replace(traits, effort=EffortField.NONE))
        if traits.system and fault.mentions("system message", "system prompt", "system instruction"):
            return replace(self, traits=replace(traits, system=False))
        return None

    def _settings(self, options: CallOptions, *, stops: bool) -> dict[str, Json]:
        """Return the fields about the answer: its length, where it stops, and the effort of reasoning."""
        effort = wire.EFFORT.get(options.depth, "")
        config: dict[str, Json] = {}
        fields: dict[str, Json] = {}
        match self.traits.effort:
            case EffortField.OUTPUT if effort:
                fields["outputConfig"] = {"effort": effort}
            case EffortField.REASONING_EFFORT if effort:
                fields["additionalModelRequestFields"] = {"reasoning_effort": effort}
            case EffortField.NOVA if effort == "high":
                # With its own "high", Nova 2 refuses a limit of the answer's length.
                reasoning: dict[str, Json] = {"type": "enabled", "maxReasoningEffort": "medium"}
                fields["additionalModelRequestFields"] = {"reasoningConfig": reasoning}
            case _:
                pass
        if self.traits.max_tokens:
            config["maxTokens"] = self.traits.max_tokens
        if self.traits.stop and stops:
            config["stopSequences"] = [STOP_SEQUENCE]
        return {**({"inferenceConfig": config} if config else {}), **fields}

    def _cache_point(self) -> list[Json]:
        return [{"cachePoint": {"type": "default"}}] if self.traits.caching else []

    def _turns(self, spoken: Sequence[Message]) -> list["_Turn"]:
        alternating = wire.alternating(spoken, self.name)
        return [_Turn(message.role, self._content(message)) for message in alternating]

    def _turns_with_calls(self, spoken: Sequence[Message]) -> list["_Turn"]:
        """Return the messages; calls go back in the form of this protocol, followed by their results."""
        turns: list[_Turn] = []
        call_ids: list[str] = []
        for message, following in zip_longest(spoken, spoken[1:]):
            is_answered = message.role is Role.ASSISTANT and following is not None and following.role is Role.USER
            if call_ids:
                content, call_ids = self._results(message, call_ids), []
            elif is_answered and (calls := self._calls(message, len(turns))):
                content, call_ids = calls, _ids_of(calls)
            else:
                content = self._content(message)
            if turns and turns[-1].role is message.role:
                turns[-1].content.extend(content)
            elif content:
                turns.append(_Turn(message.role, content))
        if not turns or turns[0].role is Role.ASSISTANT:
            turns.insert(0, _Turn(Role.USER, [{"text": wire.MISSING_QUESTION}]))
        if turns[-1].role is Role.ASSISTANT:
            turns.append(_Turn(Role.USER, [{"text": wire.GO_ON}]))
        return turns

    def _calls(self, message: Message, position: int) -> list[Json]:
        """Return a message with calls: as the model sent it, or as it was read from text. Empty if it has no calls."""
        native = message.native
        if native is not None and native.dialect == self.name and native.has_calls:
            return [dict(item) for item in native.items]
        calls: list[Json] = [
            _tool_use(f"call_{position}_{number}", function_name(call.name), dict(call.args))
            for number, call in enumerate(message.calls)
        ]
        said: list[Json] = [{"text": message.said}] if message.said.strip() else []
        return [*said, *calls] if calls else []

    def _results(self, message: Message, call_ids: Sequence[str]) -> list[Json]:
        results: list[Json] = [
            {"toolResult": {"toolUseId": id_, "content": [{"text": text if text.strip() else NO_OUTPUT}]}}
            for id_, text in zip(call_ids, answers(message, len(call_ids)), strict=True)
        ]
        return [*results, *self._content(replace(message, text=""))]

    def _content(self, message: Message) -> list[Json]:
        native = message.native
        is_own = native is not None and native.dialect == self.name and message.role is Role.ASSISTANT
        if native is not None and is_own and not native.has_calls:
            return [dict(item) for item in native.items]
        text, images = wire.with_pictures(message, IMAGE_FORMATS if self.traits.images else ())
        pictures: list[Json] = [
            {"image": {"format": IMAGE_FORMATS[image.media_type], "source": {"bytes": wire.base64_of(image)}}}
            for image in images
        ]
        texts: list[Json] = [{"text": text}] if text.strip() else []
        return [*texts, *pictures]


@dataclass(frozen=True, slots=True)
class _Turn:
    role: Role
    content: list[Json]


NO_OUTPUT: Final = "(no output)"  # Blank texts are refused


def _tool(tool: ToolSpec) -> Json:
    spec: dict[str, Json] = {"name": function_name(tool.name), "inputSchema": {"json": dict(tool.schema)}}
    if tool.description.strip():
        spec["description"] = tool.description
    return {"toolSpec": spec}


def _tool_use(id_: str, name: str, arguments: Json) -> Json:
    return {"toolUse": {"toolUseId": id_, "name": name, "input": arguments}}


def _ids_of(content: Sequence[Json]) -> list[str]:
    uses = (wire.as_object(wire.as_object(block).get("toolUse")) for block in content)
    return [wire.as_text(use.get("toolUseId")) for use in uses if use]


class _Block:
    """One block of the answer while it arrives. `is_reasoning`: else it is text. `gap` is a line break that is passed
    on before its text if there was another block in between.
    """

    def __init__(self, *, is_reasoning: bool, gap: str = "") -> None:
        self.is_reasoning = is_reasoning
        self.pieces: list[str] = []
        self.signatures: list[str] = []
        self.redacted: list[str] = []
        self._gap = gap

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def grow(self, text: str) -> list[ReaderEvent]:
        if not text:
            return []
        gap = "" if self.pieces else self._gap
        self.pieces.append(text)
        return [ReasoningArrived(text) if self.is_reasoning else TokensArrived(gap + text)]

    def items(self, end: str = "") -> list[JsonObject]:
        """Return what the service accepts back: no blank text, and no reasoning without its signature."""
        if not self.is_reasoning:
            text = self.text + end
            return [{"text": text}] if text.strip() else []
        items: list[JsonObject] = [{"reasoningContent": {"redactedContent": data}} for data in self.redacted]
        if signature := "".join(self.signatures):
            thought: JsonObject = {"text": self.text, "signature": signature}
            items.append({"reasoningContent": {"reasoningText": dict(thought)}})
        return items


class ConverseReader(AnswerReader):
    framing = Framing.EVENT_STREAM
    usage_fields = wire.UsageFields(
        input="inputTokens",
        cached="cacheReadInputTokens",
        written="cacheWriteInputTokens",
        output="outputTokens",
        cached_apart=True,
    )

    def __init__(self, dialect: str = "") -> None:
        super().__init__(dialect)
        self._blocks: list[_Block] = []
        self._by_index: dict[tuple[int, bool], _Block] = {}
        self._has_text = False
        self._calls = NativeCalls()

    def receive(self, data: str) -> list[ReaderEvent]:
        event = wire.as_object(wire.parse_json(data))
        name, value = next(iter(event.items()), ("", None))
        fields = wire.as_object(value)
        match name:
            case "contentBlockDelta":
                return self._delta(wire.as_object(fields.get("delta")), fields.get("contentBlockIndex"))
            case "contentBlockStart":
                return self._start(wire.as_object(fields.get("start")), fields.get("contentBlockIndex"))
            case "messageStart" | "contentBlockStop":
                self.begun = True
            case "messageStop":
                return self._end(wire.as_text(fields.get("stopReason")))
            case "metadata":
                self._usage = wire.as_object(fields.get("usage")) or self._usage
            case _ if name.endswith("Exception"):
                return [read_exception(name, fields)]
            case _:
                if error := wire.error_in(event):
                    return [read_error(error)]
                self.ignored += 1
        return []

    def _start(self, start: Mapping[str, object], index: object) -> list[ReaderEvent]:
        self.begun = True
        if not (use := wire.as_object(start.get("toolUse"))):
            return []
        function = {"name": wire.as_text(use.get("name")), "arguments": ""}
        return self._call({"index": index, "id": wire.as_text(use.get("toolUseId")), "function": function})

    def _delta(self, delta: Mapping[str, object], index: object) -> list[ReaderEvent]:
        """Process a piece of the block at this index."""
        self.begun = True
        if isinstance(text := delta.get("text"), str):
            # Without text, there is no block: so the last text is found in the first block of text from the end.
            return self._block(index, is_reasoning=False).grow(text) if text else []
        if thought := wire.as_object(delta.get("reasoningContent")):
            return self._reasoning(thought, index)
        if use := wire.as_object(delta.get("toolUse")):
            return self._call({"index": index, "function": {"arguments": wire.as_text(use.get("input"))}})
        self.ignored += 1
        return []

    def _reasoning(self, thought: Mapping[str, object], index: object) -> list[ReaderEvent]:
        known = len(self._blocks)
        block = self._block(index, is_reasoning=True)
        thinks_again = len(self._blocks) > known and self._has_text
        if signature := wire.as_text(thought.get("signature")):
            block.signatures.append(signature)
        if redacted := wire.as_text(thought.get("redactedContent")):
            block.redacted.append(redacted)
        # After some text, an empty piece of reasoning means that the model thinks again, which may take long.
        return [ReasoningArrived("")] * thinks_again + block.grow(wire.as_text(thought.get("text")))

    def _block(self, index: object, *, is_reasoning: bool) -> _Block:
        """Return the block of this kind at this index, a new one if there is none; without an index, the last block."""
        last = self._blocks[-1] if self._blocks else None
        if isinstance(index, int):
            block = self._by_index.get((index, is_reasoning))
        else:
            block = last if last is not None and last.is_reasoning is is_reasoning else None
        if block is None:
            block = _Block(is_reasoning=is_reasoning, gap="" if is_reasoning else self._gap())
            self._blocks.append(block)
            self._has_text = self._has_text or not is_reasoning
            if isinstance(index, int):
                self._by_index[index, is_reasoning] = block
        return block

    def _gap(self) -> str:
        """Return the line breaks between the previous text and one that starts now."""
        texts = (block.pieces[-1] for block in reversed(self._blocks) if not block.is_reasoning and block.pieces)
        last_text = next(texts, "")
        if not last_text or not self._blocks[-1].is_reasoning:
            return ""
        return "\n" if last_text.endswith("\n") else "\n\n"

    def _call(self, piece: Mapping[str, object]) -> list[ReaderEvent]:
        spilled = self._calls.receive(piece)
        return [TokensArrived(spilled)] if spilled else []

    def _end(self, reason: str) -> list[ReaderEvent]:
        if self.finished:
            return []
        self.begun = self.finished = True
        self._reason = wire.read_stop_reason(reason, _REASONS)
        if self._reason is not StopReason.END:
            return []
        if block := self._calls.close():
            before = "".join(block.pieces[-1] for block in self._blocks[-1:] if block.pieces)
            return [TokensArrived(block if not before or before.endswith("\n") else f"\n{block}")]
        if stopped_inside("".join(block.text for block in self._blocks if not block.is_reasoning)):
            self._reason = StopReason.HALTED
        return []

    def _native(self) -> NativeContent | None:
        """Return the content to send back if there is more than text. The removed stop sequence is appended."""
        uses = [use for chat in self._calls.items("") for use in _uses_of(chat)]
        is_last_text = bool(self._blocks) and not self._blocks[-1].is_reasoning
        if not uses and (not is_last_text or not any(block.is_reasoning and block.items() for block in self._blocks)):
            return None
        stop = STOP_SEQUENCE if self._reason is StopReason.HALTED else ""
        *before, last = self._blocks or [_Block(is_reasoning=False)]
        items = [item for block in before for item in block.items()]
        return NativeContent(self._dialect, (*items, *last.items(stop), *uses))


def _uses_of(chat: JsonObject) -> list[JsonObject]:
    """Return calls in the form of Chat Completions as blocks of Converse."""
    calls = [wire.as_object(call) for call in wire.as_list(chat.get("tool_calls"))]
    functions = [wire.as_object(call.get("function")) for call in calls]
    return [
        cast(
            "JsonObject",
            _tool_use(
                wire.as_text(call.get("id")),
                wire.as_text(function.get("name")),
                cast("Json", wire.as_object(wire.parse_json(wire.as_text(function.get("arguments"))))),
            ),
        )
        for call, function in zip(calls, functions, strict=True)
    ]


def read_exception(name: str, fields: Mapping[str, object]) -> Fault:
    """Read an exception of the service, by its name ("throttlingException")."""
    message = wire.as_text(fields.get("originalMessage")) or wire.as_text(fields.get("message"))
    return Fault(FaultKind.ANSWERED, _STATUS.get(name.removesuffix("Exception").lower(), 500), name, message=message)
