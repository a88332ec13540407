"""What an `<execute>` block asks for: JSON text in, calls or a reason out. Pure.

Above: `agent.protocol.blocks`. Below: `agent.protocol.json_text`.

Models write calls as their training has it. Each of these has one meaning and is read: an object instead of a list;
"arguments", "parameters" or "input" for "args"; no arguments at all; arguments as JSON in a string; the vendors'
wrapping {"type": "function", "function": {…}}. Anything that could be meant in two ways is refused.
"""

from agent.events import CallsArrived, CallsRejected
from agent.messages import Json, ToolCall
from agent.protocol.grammar import ParserLimits
from agent.protocol.json_text import JsonReader, Unreadable

FORM = 'Write one list: [{"name": "…", "args": {…}}], then </execute> on a line of its own.'
NO_CALLS = "The list of calls is empty. To answer the person, write the answer without <execute>."

NO_TAG = "A call outside <execute> does not run. Write <execute>, then the list of calls, then </execute>."

_NAME_KEYS = ("name", "tool", "tool_name", "function")
_ARGS_KEYS = ("args", "arguments", "parameters", "input", "params")
_LIST_KEYS = ("calls", "tool_calls")
_IGNORED_KEYS = frozenset({"type", "id", "call_id", "index"})
_MAX_NAME = 128


class _NotCalls(ValueError):
    pass


def read_calls(body: str, limits: ParserLimits, *, whole: bool) -> CallsArrived | CallsRejected:
    """The calls in `body`; `whole` if the model closed the block, so that nothing is missing at its end."""
    reader = JsonReader(limits)
    try:
        values = _values(reader, body, whole=whole)
    except Unreadable as error:
        return CallsRejected(f"The JSON in <execute> cannot be read: {error}. {FORM}")
    return _checked(values, limits, reader)


def read_calls_of(calls: list[Json], limits: ParserLimits) -> CallsArrived | CallsRejected:
    """The same for values that have been read already, each a call."""
    return _checked([calls], limits, JsonReader(limits))


def _checked(values: list[Json], limits: ParserLimits, reader: JsonReader) -> CallsArrived | CallsRejected:
    try:
        calls = tuple(_call(item, reader) for item in _items(values))
    except _NotCalls as error:
        return CallsRejected(f"<execute> does not hold calls: {error}. {FORM}")
    if not calls:
        return CallsRejected(NO_CALLS)
    if len(calls) > limits.calls:
        return CallsRejected(f"There are {len(calls)} calls in one block; at most {limits.calls} are allowed.")
    return CallsArrived(calls)


def _values(reader: JsonReader, body: str, *, whole: bool) -> list[Json]:
    body = body.rstrip().rstrip("`~")
    try:
        return reader.read(body)
    except Unreadable as strictly:
        try:
            return reader.read_mended(body, whole=whole)
        except Unreadable:
            raise strictly from None


def _items(values: list[Json]) -> list[Json]:
    if len(values) > 1:
        return values
    value = values[0]
    if isinstance(value, dict) and len(value) == 1:
        value = next((inner for key in _LIST_KEYS if isinstance(inner := value.get(key), list)), value)
    return value if isinstance(value, list) else [value]


def _call(item: Json, reader: JsonReader) -> ToolCall:
    if not isinstance(item, dict):
        raise _NotCalls("each call is an object")
    if isinstance(wrapped := item.get("function"), dict) and not item.keys() - _IGNORED_KEYS - {"function"}:
        item = wrapped
    name_keys = [key for key in _NAME_KEYS if key in item]
    if len(name_keys) != 1:
        raise _NotCalls('each call has one "name"')
    name = item[name_keys[0]]
    if not isinstance(name, str) or not 0 < len(name.strip()) <= _MAX_NAME:
        raise _NotCalls('"name" is the name of a tool')
    args_keys = [key for key in _ARGS_KEYS if key in item]
    if len(args_keys) > 1:
        raise _NotCalls(f'"{args_keys[0]}" and "{args_keys[1]}" stand in one call')
    if not args_keys and (other := item.keys() - _IGNORED_KEYS - set(_NAME_KEYS)):
        raise _NotCalls(f'"{min(other)[:_MAX_NAME]}" stands beside "name"; put the arguments into "args"')
    return ToolCall(name.strip(), _args(item[args_keys[0]] if args_keys else None, reader))


def _args(value: Json, reader: JsonReader) -> dict[str, Json]:
    if isinstance(value, str) and value.strip():
        try:
            value, *more = reader.read(value)
        except Unreadable as error:
            raise _NotCalls(f'"args" is a text that is not JSON ({error})') from error
        if more:
            raise _NotCalls('"args" holds several values')
    if value is None or value in ("", []):
        return {}
    if not isinstance(value, dict):
        raise _NotCalls('"args" is an object')
    return value
