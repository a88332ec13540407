"""What a turn has done so far, as a value that survives a crash. Pure.

A step is one model call that asked for tools. It is stored before its tools run, and again after each result; so a
stored call without a result may or may not have taken effect. `reply` is stored before it is shown for good, so that a
crash from then on costs no second model call.
"""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, TypeGuard

from agent.citations import FETCH
from agent.events import Outcome
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
    Reference,
    ResultStatus,
    SharedFile,
    ToolCall,
    ToolResult,
    Usage,
)
from agent.records import Author, StoredMessage, Waiting
from agent.state import ActionRecord, Workspace

AWAITED = Consent.AWAITED
MAX_RECORDED_CHARS = 1_000  # Of one result in an action record (seed 002)
NOT_KEPT = "[not kept]"
NOT_KEPT_HERE = (
    "The process stopped, and what this call brought may not be kept so long. Only if it changes nothing, call again."
)


@dataclass(frozen=True, slots=True)
class RoundStep:
    """One finished model call.

    The last one of a finished turn has neither calls nor problem.

    `results[i]` answers `calls[i]`; None while it runs. `problem` is the reason, written for the model, why its
    output could not be read as calls ("" if it could), or the nudge after an empty answer.
    """

    time: datetime | None = None
    """When the model was asked."""
    text: str = ""
    thought: str = ""
    workspace: Workspace | None = None
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult | None, ...] = ()
    problem: str = ""
    reminded: bool = False
    """The workspace's schema was repeated to the model with these results."""
    bad: bool = False
    """No call of the step could even begin, through the model's fault."""
    native: NativeContent | None = None
    """What the model wrote, as its vendor wants it back."""
    joined: tuple[Waiting, ...] = ()
    """What the person wrote meanwhile: told to the model with the results."""
    consents: tuple[Consent, ...] = ()
    """Of each call, in their order; () if none of them needs any."""

    def consent(self, position: int) -> Consent:
        """Of the call at this position, from 0."""
        return self.consents[position] if self.consents else Consent.NOT_NEEDED

    @property
    def complete(self) -> bool:
        return None not in self.results


@dataclass(frozen=True, slots=True)
class Progress:
    steps: tuple[RoundStep, ...] = ()
    reply: str | None = None
    """The whole visible reply, once the model is done."""
    outcome: Outcome | None = None
    summary: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the model wrote as the conversation's new summary: known keys, non-empty."""
    calls: tuple[ModelCall, ...] = ()
    """Every model call so far, also of those that failed."""
    context: tuple[int, ...] = ()
    """The stored messages that what stood in its context came from, beside the conversation's own history."""
    own: bool = False
    """The reply with which it begins is in its person's own words."""

    @property
    def workspace(self) -> Workspace | None:
        return next((step.workspace for step in reversed(self.steps) if step.workspace), None)

    @property
    def awaited(self) -> Mapping[str, ToolCall]:
        """The calls that wait for the asker's word, by `consent_key`."""
        if not self.steps:
            return {}
        number, step = len(self.steps), self.steps[-1]
        calls = [(f"{number}.{at + 1}", call) for at, call in enumerate(step.calls) if step.consent(at) is AWAITED]
        return {consent_key(id_, call): call for id_, call in calls}

    @property
    def joined(self) -> tuple[Waiting, ...]:
        return tuple(one for step in self.steps for one in step.joined)


def consent_key(id_: str, call: ToolCall) -> str:
    """Names this very call: a word about it counts for no other that comes to stand in its place. "2.1-" and 20 hex
    digits.
    """
    said = json.dumps([call.name, dict(call.args)], sort_keys=True)
    return f"{id_}-{sha256(said.encode()).hexdigest()[:20]}"


def encode(progress: Progress) -> str:
    """As it is stored: without what may not be kept, which is on no disk, in no log and in no backup of a database."""
    steps = tuple(replace(step, results=tuple(map(_keepable, step.results))) for step in progress.steps)
    stored = asdict(replace(progress, steps=steps))
    stored["model_calls"] = stored.pop("calls")
    return json.dumps(stored, ensure_ascii=False, default=_written)


def _keepable(result: ToolResult | None) -> ToolResult | None:
    if result is None or result.keep is Keep.STORED:
        return result
    return replace(result, status=ResultStatus.UNKNOWN, content=NOT_KEPT_HERE, images=(), files=(), references=())


def _written(value: object) -> str:
    """What JSON has no form of: a time, and the bytes of a picture or a file."""
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"not a part of a progress: {type(value).__name__}")


def decode(stored: str) -> Progress:
    """The inverse of `encode` for what may be kept; "" is no progress. Raises ValueError for anything else."""
    if not stored:
        return Progress()
    data = json.loads(stored)
    try:
        return Progress(
            tuple(_step_in(step) for step in data["steps"]),
            data["reply"],
            Outcome(data["outcome"]) if data["outcome"] else None,
            data["summary"],
            tuple(map(_model_call_in, data.get("model_calls", []))),
            tuple(map(int, data.get("context", []))),
            bool(data.get("own", False)),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a stored progress: {error!r}") from error


def _model_call_in(call: Mapping[str, Any]) -> ModelCall:
    """Progress that an earlier version saved has no timings."""
    timed = call.get("timing")
    timing = timed and CallTiming(datetime.fromisoformat(timed["began"]), timed["ms"], timed["first_ms"])
    return ModelCall(call["model"], Usage(**call["usage"]), timing)


def given(progress: Progress) -> tuple[int, ...]:
    """The ids of the stored messages that the turn's tools brought into it."""
    results = [result for step in progress.steps for result in step.results if result is not None]
    return tuple(sorted({source for result in results for source in result.sources}))


def sources(progress: Progress) -> tuple[int, ...]:
    """The ids of every stored message that a result of the turn quotes, that its context drew on, or that joined it."""
    return tuple(sorted({*given(progress)} | {*progress.context} | {one.message for one in progress.joined}))


MAX_LINKS: Final = 200  # Whose addresses are looked for; a chat shows no more, and each look reads the whole context


@dataclass(slots=True)
class AddressesRead:
    """Which addresses a turn has read. What it said of one while it had read so much stands, as pages only grow.

    One counts as read where it came up, as it stands, before a call was given it: what a call is given comes back in
    its result without having been read anywhere.
    """

    _came: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    """In their order: texts that were read, and, marked, what calls were given."""
    _known: dict[str, bool] = field(default_factory=dict[str, bool])

    def read(self, texts: Iterable[str]) -> None:
        self._came += ((text, False) for text in texts)

    def give(self, calls: Iterable[ToolCall]) -> None:
        self._came += ((_written_as_json(dict(call.args)), True) for call in calls)

    def __call__(self, address: str) -> bool:
        if address not in self._known:
            if len(self._known) >= MAX_LINKS:
                return False
            self._known[address] = self._first(address, lambda text: address in text)
        return self._known[address]

    def may_be_fetched(self, address: str) -> bool:
        """Whether nothing was put into an address: it, or what stands before one of its parts, was read, whether with
        its scheme or not; of a whole site its name will do.
        """
        bare = _SCHEME.sub("", address.partition("#")[0].strip()).rstrip("/")
        is_site = not any(sign in bare for sign in "/?#@:%")
        if is_site:
            bare = bare.lower().removeprefix("www.")
        return bool(bare) and self._first(bare, lambda text: _stands_alone(bare, text.lower() if is_site else text))

    def _first(self, address: str, stands_in: Callable[[str], bool]) -> bool:
        """Whether it was read before any call was given it."""
        given = _written_as_json(address)[1:-1]
        for text, is_given in self._came:
            if is_given and given in text:
                return False
            if not is_given and stands_in(text):
                return True
        return False


def _written_as_json(value: Json) -> str:
    """In any case of its letters: a result may tell in another one what its call was given."""
    return json.dumps(value, ensure_ascii=False).casefold()


_SCHEME: Final = re.compile(r"\Ahttps?://", re.IGNORECASE)
_IN_ADDRESS: Final = re.compile(r"[\w%~=&+@-]|\.\w")  # Behind an address: it goes on
_IN_NAME: Final = re.compile(r"[\w-]")


def _stands_alone(address: str, text: str) -> bool:
    """Whether it stands there as no part of a longer one."""
    at = text.find(address)
    while at >= 0:
        end = at + len(address)
        if not (at and _IN_NAME.match(text, at - 1)) and not _IN_ADDRESS.match(text, end):
            return True
        at = text.find(address, end)
    return False


def addresses_read(progress: Progress, texts: Iterable[str]) -> AddressesRead:
    """Which addresses a turn has read whose context holds these texts."""
    read = AddressesRead()
    read.read(texts)
    for step in progress.steps:
        read.give(step.calls)
        read.read(one.content for one in step.results if one is not None and one.status is ResultStatus.SUCCESS)
        read.read(one.text for one in step.joined)
    return read


def turn_drawn_from(progress: Progress, place: Place) -> str:
    """What a reply in `place` was drawn from: what the tools of its turn brought (`agent.memory.audience`)."""
    results = [result for step in progress.steps for result in step.results if result is not None]
    return drawn_from([NOWHERE if one.keep is Keep.TURN else one.audience for one in results], place)


# Tools that bring what the asker, the bot or its operator has written. What has no audience is the bot's own, too.
OWN_WORDS: Final = frozenset({"remember", "share_file", "skill", "tools"})


def addresses_in(call: ToolCall) -> list[str]:
    """The addresses among a call's arguments; of `web_fetch` whatever stands for one."""
    if call.name == FETCH:
        return [str(call.args.get("url", ""))]
    values = [one for value in call.args.values() for one in (value if _is_list(value) else [value])]
    return [one for one in values if isinstance(one, str) and _SCHEME.match(one.lstrip())]


def sent(progress: Progress) -> frozenset[str]:
    """The addresses that calls of the turn have carried out, as these named them."""
    done = ((call, result) for step in progress.steps for call, result in zip(step.calls, step.results, strict=True))
    had = [call for call, result in done if result and result.status is ResultStatus.SUCCESS]
    return frozenset(address for call in had for address in addresses_in(call))


def brought_by(progress: Progress) -> frozenset[str]:
    """The tools that have brought what others wrote."""
    done = ((call, result) for step in progress.steps for call, result in zip(step.calls, step.results, strict=True))
    brought = (call.name for call, result in done if result is not None and result.audience and not result.own)
    return frozenset(brought) - OWN_WORDS


def retells(message: StoredMessage) -> bool:
    """Whoever may read it: what a page wants of the bot it wants from the bot's own mouth, too."""
    return message.author is Author.BOT and (message.retold or message.drawn_from != WIDE)


def is_of(message: StoredMessage, person: str) -> bool:
    """Whether nobody else's words stand in it: they wrote it, or the bot told them of its own."""
    return message.person == person and not retells(message)


def action_records(progress: Progress) -> tuple[ActionRecord, ...]:
    """What each iteration did, for debugging and for the summary's fallback (seed 002).

    Of what followed a result that may not be kept only that it was done: it may quote that.
    """
    return tuple(
        _record(number, step.time, _blotted(step) if may_quote_unkept(progress, number) else step)
        for number, step in enumerate(progress.steps, 1)
        if step.time is not None
    )


def may_quote_unkept(progress: Progress, number: int) -> bool:
    """Whether a step before this one, counted from 1, brought what may not be kept beyond the turn."""
    results = (result for step in progress.steps[: number - 1] for result in step.results)
    return any(result is not None and result.keep is Keep.TURN for result in results)


def _blotted(step: RoundStep) -> RoundStep:
    calls = tuple(replace(call, args={}) for call in step.calls)
    results = tuple(result and replace(result, keep=Keep.TURN) for result in step.results)
    return replace(step, thought=NOT_KEPT if step.thought else "", calls=calls, results=results)


def _record(number: int, time: datetime, step: RoundStep) -> ActionRecord:
    results = tuple(_shortened(result) for result in step.results if result is not None)
    return ActionRecord(iteration=number, time=time, thinking=step.thought, calls=step.calls, results=results)


def _shortened(result: ToolResult) -> ToolResult:
    """The beginning of what it says; of what may not be kept, only that it was there."""
    content = NOT_KEPT if result.keep is Keep.TURN else result.content[:MAX_RECORDED_CHARS]
    return replace(result, content=content, images=(), files=())


def _step_in(data: dict[str, Json]) -> RoundStep:
    workspace, calls, results = data["workspace"], data["calls"], data["results"]
    if not (_is_list(calls) and _is_list(results) and len(calls) == len(results)):
        raise TypeError("calls and results are two lists of one length")
    return RoundStep(
        time=datetime.fromisoformat(str(data["time"])) if data["time"] else None,
        text=str(data["text"]),
        thought=str(data["thought"]),
        workspace=Workspace(**{k: str(v) for k, v in workspace.items()}) if isinstance(workspace, dict) else None,
        calls=tuple(_call_in(call) for call in calls),
        results=tuple(_result_in(result) for result in results),
        problem=str(data["problem"]),
        reminded=bool(data["reminded"]),
        bad=bool(data["bad"]),
        native=_native_in(data.get("native")),
        joined=tuple(map(_joined_in, _list(data.get("joined", [])))),
        consents=tuple(Consent(str(one)) for one in _list(data.get("consents", []))),
    )


def _native_in(data: Json) -> NativeContent | None:
    if data is None:
        return None
    native = _object(data)
    items = native["items"]
    if not _is_list(items):
        raise TypeError("items are a list")
    return NativeContent(str(native["dialect"]), tuple(map(_object, items)))


def _joined_in(data: Json) -> Waiting:
    one = _object(data)
    return Waiting(int(str(one["turn"])), int(str(one["message"])), str(one["text"]))


def _call_in(data: Json) -> ToolCall:
    call = _object(data)
    return ToolCall(str(call["name"]), _object(call["args"]))


def _result_in(data: Json) -> ToolResult | None:
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
        tuple(Image(str(one["media_type"]), b64decode(str(one["data"]))) for one in _objects(result, "images")),
        tuple(
            SharedFile(str(one["name"]), str(one["media_type"]), b64decode(str(one["data"])))
            for one in _objects(result, "files")
        ),
        str(result.get("audience", "")),
        Keep(str(result.get("keep", Keep.STORED))),
        tuple(map(_reference_in, _objects(result, "references"))),
        bool(result.get("own", False)),
    )


def _reference_in(one: JsonObject) -> Reference:
    return Reference(int(str(one["number"])), str(one["address"]), str(one["title"]), bool(one["is_read"]))


def _objects(data: JsonObject, name: str) -> list[JsonObject]:
    return [_object(one) for one in _list(data.get(name, []))]


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
