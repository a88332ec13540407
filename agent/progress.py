"""The progress of a turn, as a value that survives a crash. Pure.

A step is one model call that called tools. It is stored before its tools run, and again after each result; so a stored
call without a result may or may not have taken effect. `reply` is stored before its final version is shown, so that a
later crash costs no second model call.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from agent.charts import Chart, ChartKind
from agent.events import Outcome
from agent.memory.attribution import mentions, quotes
from agent.memory.audience import NOWHERE, WIDE, Place, drawn_from
from agent.messages import (
    CallTiming,
    Consent,
    Image,
    Json,
    JsonObject,
    Keep,
    ModelCall,
    NativeContent,
    Provenance,
    Reference,
    ResultStatus,
    SharedFile,
    ToolCall,
    ToolResult,
    Usage,
)
from agent.state import ActionRecord, Workspace
from agent.stored_messages import Author, StoredMessage
from agent.turn_records import Waiting

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

AWAITED = Consent.AWAITED
MAX_RECORDED_CHARS = 1_000  # Length of one result in an action record (seed 002)
NOT_KEPT = "[not kept]"
NOT_KEPT_HERE = (
    "The process stopped, and what this call brought may not be kept so long. Only if it changes nothing, call again."
)


@dataclass(frozen=True, slots=True)
class InnerCall:
    """A call that the code of another call made, with its result. `id`: unique in the turn, as "2.1.7" for one of the
    call "2.1".
    """

    id: str
    call: ToolCall
    result: ToolResult


@dataclass(frozen=True, slots=True)
class RoundStep:
    """One finished model call.

    The last one of a finished turn has neither calls nor a problem.

    `results[i]` answers `calls[i]`; None while it runs. `problem` says to the model why its output could not be read as
    calls ("" if it could), or asks it to write an answer after an empty one.
    """

    time: datetime | None = None
    """When the model call began."""
    text: str = ""
    thought: str = ""
    workspace: Workspace | None = None
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult | None, ...] = ()
    problem: str = ""
    reminded: bool = False
    """The workspace's schema was sent to the model again with these results."""
    bad: bool = False
    """No call of the step could run, because of the model's mistakes."""
    native: NativeContent | None = None
    """The model's output in the form in which its vendor needs it back."""
    joined: tuple[Waiting, ...] = ()
    """The messages that the person wrote meanwhile; the model gets them with the results."""
    note: str = ""
    """What the model wrote beside its calls that had no effect, for the model."""
    in_functions: bool = False
    """The model got its tools in its vendor's form, and knows nothing of blocks."""
    consents: tuple[Consent, ...] = ()
    """The consent of each call, in order; () if no call needs one."""
    unknown: bool = False
    """The model said by its sign that it does not know (`agent.protocol.unknown_sign`)."""
    inner: tuple[InnerCall, ...] = ()
    """What the code of these calls called, in order. The model sees only what the code makes of the results; they
    count for all that the turn has read.
    """

    def consent(self, position: int) -> Consent:
        """The consent of the call at this position, from 0."""
        return self.consents[position] if self.consents else Consent.NOT_NEEDED

    @property
    def complete(self) -> bool:
        return None not in self.results

    @property
    def known_results(self) -> tuple[ToolResult, ...]:
        """The results so far, also those of inner calls."""
        return (*(each.result for each in self.inner), *(result for result in self.results if result is not None))


@dataclass(frozen=True, slots=True)
class Progress:
    steps: tuple[RoundStep, ...] = ()
    reply: str | None = None
    """The whole visible reply, once the model is done."""
    outcome: Outcome | None = None
    summary: Mapping[str, str] = field(default_factory=dict[str, str])
    """The model's update of the conversation's summary: known keys, non-empty."""
    calls: tuple[ModelCall, ...] = ()
    """Every model call so far, failed ones included."""
    context: tuple[int, ...] = ()
    """The ids of the stored messages behind the context, beside the conversation's own history."""
    own: bool = False
    """The reply with which the turn begins is the person's own text."""

    @property
    def workspace(self) -> Workspace | None:
        return next((step.workspace for step in reversed(self.steps) if step.workspace), None)

    @property
    def awaited(self) -> Mapping[str, ToolCall]:
        """The calls that wait for the asker's decision, by `consent_key`."""
        if not self.steps:
            return {}
        number, step = len(self.steps), self.steps[-1]
        calls = [(f"{number}.{at + 1}", call) for at, call in enumerate(step.calls) if step.consent(at) is AWAITED]
        return {consent_key(id_, call): call for id_, call in calls}

    @property
    def asked(self) -> Mapping[str, ToolCall]:
        """The call that asks the person and has no answer yet, by `consent_key`; {} if there is none."""
        if not self.steps:
            return {}
        number, step = len(self.steps), self.steps[-1]
        calls = enumerate(zip(step.calls, step.results, strict=True))
        open_ = [(at, call) for at, (call, result) in calls if step.consent(at) is Consent.ASKED and result is None]
        return {consent_key(f"{number}.{at + 1}", call): call for at, call in open_}

    @property
    def unknown(self) -> bool:
        """Whether the model said so beside its answer; beside calls it says nothing, as the answer follows."""
        return any(step.unknown for step in self.steps[-1:] if not step.calls)

    @property
    def joined(self) -> tuple[Waiting, ...]:
        return tuple(message for step in self.steps for message in step.joined)


def consent_key(id_: str, call: ToolCall) -> str:
    """Return the key of exactly this call, so that a decision about it never counts for another call in its place:
    "2.1-" and 20 hex digits.
    """
    return f"{id_}-{call_digest(call)}"


def call_digest(call: ToolCall) -> str:
    """Return 20 hex digits that are the same for the same tool and arguments only."""
    content = json.dumps([call.name, dict(call.args)], sort_keys=True)
    return sha256(content.encode()).hexdigest()[:20]


def encode(progress: Progress) -> str:
    """Return the stored form, without results that may not be kept: they reach no disk, log or database backup."""
    steps = tuple(
        replace(step, results=tuple(map(_redact_unkept, step.results)), inner=_redact_inner(step.inner))
        for step in progress.steps
    )
    stored = _by_name(replace(progress, steps=steps))
    stored["model_calls"] = stored.pop("calls")
    return json.dumps(stored, ensure_ascii=False, default=_encode_value)


def _by_name(value: "DataclassInstance") -> dict[str, Any]:
    """Return its fields, not copied as `asdict` does, which takes three times as long as the JSON."""
    return {each.name: getattr(value, each.name) for each in fields(value)}


def _redact_unkept(result: ToolResult | None) -> ToolResult | None:
    return result if result is None or result.keep is Keep.STORED else _redacted(result)


def _redacted(result: ToolResult) -> ToolResult:
    return replace(
        result, status=ResultStatus.UNKNOWN, content=NOT_KEPT_HERE, images=(), files=(), references=(), read=()
    )


def _redact_inner(calls: Sequence[InnerCall]) -> tuple[InnerCall, ...]:
    """Redact calls from the first result on that may not be kept: a later call and its result may quote it."""
    first = next((number for number, each in enumerate(calls) if each.result.keep is Keep.TURN), len(calls))
    hidden = (
        InnerCall(each.id, each.call if number == 0 else replace(each.call, args={}), _redacted(each.result))
        for number, each in enumerate(calls[first:])
    )
    return (*calls[:first], *hidden)


def _encode_value(value: object) -> object:
    """Encode values that JSON does not support: a part of the progress, a time, the bytes of a picture or a file."""
    if is_dataclass(value) and not isinstance(value, type):
        return _by_name(value)
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"not a part of a progress: {type(value).__name__}")


def decode(stored: str) -> Progress:
    """The inverse of `encode` for what may be kept; "" is an empty progress. Raises ValueError for anything else."""
    if not stored:
        return Progress()
    data = json.loads(stored)
    try:
        return Progress(
            tuple(_decode_step(step) for step in data["steps"]),
            data["reply"],
            Outcome(data["outcome"]) if data["outcome"] else None,
            data["summary"],
            tuple(map(_decode_model_call, data.get("model_calls", []))),
            tuple(map(int, data.get("context", []))),
            bool(data.get("own", False)),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a stored progress: {error!r}") from error


def _decode_model_call(call: Mapping[str, Any]) -> ModelCall:
    """Decode a model call; progress that an earlier version saved has no timings and no mark of a key."""
    stored = call.get("timing")
    timing = stored and CallTiming(datetime.fromisoformat(stored["began"]), stored["ms"], stored["first_ms"])
    return ModelCall(call["model"], Usage(**call["usage"]), timing, bool(call.get("own_key")))


def _results(progress: Progress) -> list[ToolResult]:
    return [result for step in progress.steps for result in step.known_results]


def tool_sources(progress: Progress) -> tuple[int, ...]:
    """The ids of the stored messages that the turn's tools brought into it."""
    return tuple(sorted({source for result in _results(progress) for source in result.sources}))


def tool_documents(progress: Progress) -> tuple[int, ...]:
    """The ids of the stored documents that the turn's tools quoted."""
    return tuple(sorted({document for result in _results(progress) for document in result.documents}))


def calls_before(progress: Progress, id_: str) -> int:
    """Return how many calls of the same tool the turn made before this one. `id_`: "2.1", its step and position."""
    step, position = map(int, id_.split("."))
    calls = [call for done in progress.steps[: step - 1] for call in done.calls]
    calls += progress.steps[step - 1].calls[:position]
    return sum(call.name == calls[-1].name for call in calls[:-1])


def sources(progress: Progress) -> tuple[int, ...]:
    """The ids of all stored messages that a result of the turn quotes, that its context drew on, or that joined it."""
    return tuple(
        sorted({*tool_sources(progress)} | {*progress.context} | {message.message for message in progress.joined})
    )


def turn_drawn_from(progress: Progress, place: Place) -> str:
    """What a reply in `place` was drawn from: the audiences of its tools' results (`agent.memory.audience`)."""
    kept = [NOWHERE if result.keep is Keep.TURN else result.audience for result in _results(progress)]
    return drawn_from(kept, place)


# Tools whose results come from the asker, the bot or its operator. Results without an audience are the bot's own, too.
OWN_WORDS: Final = frozenset({"present", "remember", "share_file", "skill", "tools"})


def words_of(result: ToolResult) -> Provenance:
    """Return whose words the result holds: a permission to run says nothing about that."""
    return result.words if result.audience and result.name not in OWN_WORDS else Provenance.OWN


def whose_words(context: Provenance, steps: Iterable[RoundStep]) -> Provenance:
    """Return whose text a turn holds after these steps. `context`: whose text it began with."""
    steps = tuple(steps)
    joined = [message.text for step in steps for message in step.joined]
    if any(map(quotes, joined)):
        return Provenance.FOREIGN
    results = [words_of(result) for step in steps for result in step.known_results]
    return max(context, *results, Provenance.NAMED if any(map(mentions, joined)) else Provenance.OWN)


def relays(message: StoredMessage) -> bool:
    """Return whether it may relay text of others, whoever may read it: a message of the bot, because instructions in a
    page work as well when the bot repeats them, or the words of a schedule, which a model may have written.
    """
    if message.author is Author.PERSON:
        return not message.own
    return message.relayed or message.drawn_from != WIDE


def is_of(message: StoredMessage, person: str) -> bool:
    """Return whether the message holds no text of others: the person wrote it and quotes nobody, or the bot to them on
    its own.
    """
    is_quoting = message.author is Author.PERSON and quotes(message.text)
    return message.person == person and not (is_quoting or relays(message))


def action_records(progress: Progress) -> tuple[ActionRecord, ...]:
    """The actions of each iteration, for debugging and for the summary's fallback (seed 002).

    Steps after a result that may not be kept are redacted, because they may quote it.
    """
    return tuple(
        _record(number, step.time, _redact_step(step) if may_quote_unkept(progress, number) else step)
        for number, step in enumerate(progress.steps, 1)
        if step.time is not None
    )


def may_quote_unkept(progress: Progress, number: int) -> bool:
    """Return whether a step before step `number` (from 1) has a result that may not be kept beyond the turn."""
    results = (result for step in progress.steps[: number - 1] for result in step.known_results)
    return any(result.keep is Keep.TURN for result in results)


def _redact_step(step: RoundStep) -> RoundStep:
    calls = tuple(replace(call, args={}) for call in step.calls)
    results = tuple(result and replace(result, keep=Keep.TURN) for result in step.results)
    inner = tuple(
        InnerCall(each.id, replace(each.call, args={}), replace(each.result, keep=Keep.TURN)) for each in step.inner
    )
    return replace(step, thought=NOT_KEPT if step.thought else "", calls=calls, results=results, inner=inner)


def _record(number: int, time: datetime, step: RoundStep) -> ActionRecord:
    inner = _redact_inner(step.inner)
    results = (*(result for result in step.results if result is not None), *(each.result for each in inner))
    calls = (*step.calls, *(each.call for each in inner))
    return ActionRecord(number, time, step.thought, calls, tuple(map(_shortened, results)))


def _shortened(result: ToolResult) -> ToolResult:
    """The result with only the beginning of its content; for a result that may not be kept, a placeholder."""
    content = NOT_KEPT if result.keep is Keep.TURN else result.content[:MAX_RECORDED_CHARS]
    return replace(result, content=content, images=(), files=(), read=())


def _decode_step(data: dict[str, Json]) -> RoundStep:
    workspace, calls, results = data["workspace"], data["calls"], data["results"]
    if not (_is_list(calls) and _is_list(results) and len(calls) == len(results)):
        raise TypeError("calls and results are two lists of one length")
    return RoundStep(
        time=datetime.fromisoformat(str(data["time"])) if data["time"] else None,
        text=str(data["text"]),
        thought=str(data["thought"]),
        workspace=Workspace(**{k: str(v) for k, v in workspace.items()}) if isinstance(workspace, dict) else None,
        calls=tuple(_decode_call(call) for call in calls),
        results=tuple(_decode_result(result) for result in results),
        problem=str(data["problem"]),
        reminded=bool(data["reminded"]),
        bad=bool(data["bad"]),
        native=_decode_native(data.get("native")),
        joined=tuple(map(_decode_joined, _list(data.get("joined", [])))),
        note=str(data.get("note", "")),
        in_functions=bool(data.get("in_functions", False)),
        consents=tuple(Consent(str(consent)) for consent in _list(data.get("consents", []))),
        unknown=bool(data.get("unknown", False)),
        inner=tuple(map(_decode_inner, _list(data.get("inner", [])))),
    )


def _decode_inner(data: Json) -> InnerCall:
    stored = _object(data)
    result = _decode_result(stored["result"])
    if result is None:
        raise TypeError("an inner call has a result")
    return InnerCall(str(stored["id"]), _decode_call(stored["call"]), result)


def _decode_native(data: Json) -> NativeContent | None:
    if data is None:
        return None
    native = _object(data)
    items = native["items"]
    if not _is_list(items):
        raise TypeError("items are a list")
    return NativeContent(str(native["dialect"]), tuple(map(_object, items)))


def _decode_joined(data: Json) -> Waiting:
    message = _object(data)
    number, row, text = int(str(message["turn"])), int(str(message["message"])), str(message["text"])
    return Waiting(number, row, text, message.get("answers") is True, own=message.get("own") is not False)


def _decode_call(data: Json) -> ToolCall:
    call = _object(data)
    return ToolCall(str(call["name"]), _object(call["args"]))


def _decode_result(data: Json) -> ToolResult | None:
    if data is None:
        return None
    result = _object(data)
    sources = result["sources"]
    if not _is_list(sources):
        raise TypeError("sources are a list")
    return ToolResult(
        str(result["name"]),
        ResultStatus(str(result["status"])),
        str(result["content"]),
        tuple(int(str(source)) for source in sources),
        tuple(Image(str(image["media_type"]), b64decode(str(image["data"]))) for image in _objects(result, "images")),
        tuple(
            SharedFile(
                str(file["name"]),
                str(file["media_type"]),
                b64decode(str(file["data"])),
                str(file.get("alt", "")),
                _decode_chart(file.get("chart")),
            )
            for file in _objects(result, "files")
        ),
        str(result.get("audience", "")),
        Keep(str(result.get("keep", Keep.STORED))),
        tuple(map(_decode_reference, _objects(result, "references"))),
        _decode_words(result),
        None if (read := result.get("read")) is None else tuple(map(str, _list(read))),
        tuple(int(str(document)) for document in _list(result.get("documents", []))),
    )


def _decode_chart(data: Json) -> Chart | None:
    if data is None:
        return None
    chart = _object(data)
    labels = tuple(label if isinstance(label, str) else float(str(label)) for label in _list(chart["labels"]))
    series = {
        name: tuple(None if value is None else float(str(value)) for value in _list(values))
        for name, values in _object(chart["series"]).items()
    }
    kind, *titles = (str(chart[name]) for name in ("kind", "title", "x_title", "y_title"))
    return Chart(ChartKind(kind), titles[0], labels, series, *titles[1:])


def _decode_words(result: JsonObject) -> Provenance:
    """Decode whose words a result holds; an earlier version said only whether they are the asker's own."""
    if "words" in result:
        return Provenance(int(str(result["words"])))
    return Provenance.OWN if result.get("own") is True else Provenance.FOREIGN


def _decode_reference(data: JsonObject) -> Reference:
    return Reference(int(str(data["number"])), str(data["address"]), str(data["title"]), bool(data["is_read"]))


def _objects(data: JsonObject, name: str) -> list[JsonObject]:
    return [_object(item) for item in _list(data.get(name, []))]


def _list(data: Json) -> list[Json]:
    if not _is_list(data):
        raise TypeError(f"expected a list, found {type(data).__name__}")
    return data


def _is_list(data: Json) -> TypeGuard[list[Json]]:
    return isinstance(data, list)


def _object(data: Json) -> JsonObject:
    if not isinstance(data, dict):
        raise TypeError(f"expected an object, found {type(data).__name__}")
    return data
