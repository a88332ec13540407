"""Makes the answers of MCP servers valid, part by part, so that one invalid part does not lose the others. Pure.

The SDK validates an answer as a whole, after the server did what was asked. Servers leave fields out, send null for an
empty list, or a kind of content that is newer than the protocol that was agreed on. What can be read is kept; each part
that cannot is replaced by a note. Only the fields that are used here are passed on.
"""

import json
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, cast

from agent.messages import UNSEEN

Fields: TypeAlias = dict[str, object]

MAX_KIND_CHARS: Final = 40  # Of the name of an unknown kind in its note
UNREADABLE: Final = "[left out because it could not be read: a part of the kind “{kind}”]"
COMPLETE: Final = "complete"  # Required since 2026-07-28, and ignored before

# Fields of an answer to a call. One that has no others is such an answer, even if it is empty.
_RESULT_FIELDS: Final = frozenset({"content", "structuredContent", "isError", "resultType", "_meta"})
_TRUTHS: Final = {"true": True, "1": True, "false": False, "0": False, "none": False, "": False}
# Names of fields in the style of Python, and of the protocol's first version.
_OTHER_NAMES: Final = {
    "structured_content": "structuredContent", "is_error": "isError", "toolResult": "structuredContent",
}  # fmt: skip
# The beginning of well-known formats in base64.
_MAGIC: Final = {
    "iVBOR": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif",
    "SUQz": "audio/mpeg", "T2dnUw": "audio/ogg", "ZkxhQw": "audio/flac",
}  # fmt: skip
_RIFF: Final = {"XRUJQ": "image/webp", "XQVZF": "audio/wav"}  # The kind of a RIFF file, from the eleventh letter on


def repair(result: Fields) -> None:
    """Repair an answer in place: one to a call, or to the reading of a resource, a prompt or a list of them."""
    for other, name in _OTHER_NAMES.items():
        if other in result and name not in result:
            result[name] = result.pop(other)
    for name, clean in _LISTS.items():
        # An answer holds one list at most, and nothing else in it needs repair.
        if isinstance(result.get(name), list):
            result[name] = [fields for entry in _objects(result[name]) if (fields := clean(entry)) is not None]
            return
    if "contents" in result:
        contents = [] if result["contents"] is None else _objects(result["contents"])
        result["contents"] = [_resource(entry) for entry in contents]
    elif isinstance(result.get("messages"), list):
        result["messages"] = [message for entry in _objects(result["messages"]) for message in _messages(entry)]
    elif {"content", "structuredContent"} & result.keys() or result.keys() <= _RESULT_FIELDS - {"resultType"}:
        _repair_call(result)


def _repair_call(result: Fields) -> None:
    if "inputRequests" in result:
        return
    error, structured = result.get("isError"), result.get("structuredContent")
    result["content"] = _blocks(result.get("content"))
    result["isError"] = _TRUTHS.get(str(error).lower(), error)  # any other value stays, and the answer is refused
    if not isinstance(result.get("resultType"), str):
        result["resultType"] = COMPLETE
    if structured is not None and not isinstance(structured, dict):
        result["structuredContent"] = {"result": structured}  # as the official SDK for Python wraps a plain value
    if not isinstance(result.get("_meta"), dict):
        result.pop("_meta", None)


def _objects(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else [value]


def _blocks(content: object) -> list[Fields]:
    return [] if content is None else [_block(block) for block in _objects(content)]


def _block(value: object) -> Fields:
    """Return a valid block of content with what can be read of `value`."""
    if isinstance(value, str):
        return _text(value)
    block = _as_fields(value)
    kind = block.get("type", "text" if "text" in block else "")
    repaired: Fields | None = None
    match kind:
        case "image" | "audio":
            repaired = _media(str(kind), block)
        case "resource_link":
            repaired = _link(block)
        case "resource" if resource := _as_fields(block.get("resource")):
            repaired = {"type": "resource", "resource": _resource(resource)}
        case _:
            pass
    return repaired or _readable_text(block) or _readable_json(block) or _text(_note(kind))


def _note(kind: object) -> str:
    shown = "".join(
        char for char in UNSEEN.sub("", str(kind)[: 4 * MAX_KIND_CHARS]) if char.isalnum() or char in "_-./ "
    )
    return UNREADABLE.format(kind=shown[:MAX_KIND_CHARS] or "?")


def _text(text: str) -> Fields:
    return {"type": "text", "text": text}


def _readable_text(block: Mapping[str, object]) -> Fields | None:
    """Return the text of a block of any kind, if it has one."""
    text = block.get("text")
    if isinstance(text, str):
        return _text(text)
    return None if text is None else _text(json.dumps(text, ensure_ascii=False))


def _readable_json(block: Mapping[str, object]) -> Fields | None:
    """Return what a block of another kind says, as JSON, with a note if it has data that cannot be read."""
    fields = {name: value for name, value in block.items() if name not in _WORDLESS and not _is_data(name, value)}
    if not any(value and isinstance(value, str | dict | list) for value in fields.values()):
        return None
    words = json.dumps(fields, ensure_ascii=False)
    has_data = any(_is_data(name, value) for name, value in block.items())
    return _text(f"{_note(block.get('type'))}\n{words}" if has_data else words)


def _is_data(name: str, value: object) -> bool:
    return name in {"data", "blob"} and isinstance(value, str)


def _media(kind: str, block: Mapping[str, object]) -> Fields | None:
    block = {**_as_fields(block.get("source")), **block}  # as models' vendors write pictures
    data = block.get("data")
    if not isinstance(data, str):
        return None
    media_type = next((named for key in _TYPE_KEYS if isinstance(named := block.get(key), str)), "")
    media_type = media_type.partition(";")[0].strip()
    if data.startswith("data:"):
        head, _, data = data.partition(",")
        media_type = media_type or head.removeprefix("data:").partition(";")[0]
    data = "".join(data.split()).translate(_URL_SAFE)
    is_named = "/" in media_type and media_type.lower() not in _UNTELLING
    return {"type": kind, "data": data, "mimeType": media_type if is_named else _media_type(data)}


_TYPE_KEYS: Final = ("mimeType", "mime_type", "mimetype", "mediaType", "media_type")


_URL_SAFE: Final = str.maketrans("-_", "+/")
# Types that say less than the first bytes do; the second one has another name.
_UNTELLING: Final = frozenset({"application/octet-stream", "image/jpg"})
_WORDLESS: Final = frozenset({"type", "annotations", "_meta", *_TYPE_KEYS})


def _media_type(data: str) -> str:
    if data.startswith("UklGR"):
        return _RIFF.get(data[11:16], "application/octet-stream")
    return next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), "application/octet-stream")


def _link(block: Mapping[str, object]) -> Fields | None:
    uri = block.get("uri")
    if not isinstance(uri, str):
        return None
    return {"type": "resource_link", "uri": uri, **_strings(block, "description"), "name": _name(block, uri)}


def _resource(value: object) -> Fields:
    entry = _as_fields(value)
    uri = entry.get("uri")
    fields: Fields = {"uri": uri if isinstance(uri, str) else "", **_strings(entry, "mimeType")}
    if isinstance(text := entry.get("text"), str):
        return {**fields, "text": text}
    if isinstance(blob := entry.get("blob"), str):
        return {**fields, "blob": blob}
    return {**fields, "text": _note("resource")}


def _messages(value: object) -> list[Fields]:
    """Return the messages of a prompt for one entry: some servers put several blocks of content into one."""
    entry = cast("Fields", value) if isinstance(value, dict) else {"content": value}
    role = entry.get("role")
    sender = "assistant" if role == "assistant" else "user"
    return [{"role": sender, "content": block} for block in _blocks(entry.get("content"))]


def _listed_resource(value: object) -> Fields | None:
    entry = _as_fields(value)
    uri = entry.get("uri")
    if not isinstance(uri, str):
        return None
    return {"uri": uri, "name": _name(entry, uri), **_strings(entry, "description", "mimeType")}


def _listed_template(value: object) -> Fields | None:
    entry = _as_fields(value)
    template = entry.get("uriTemplate")
    if not isinstance(template, str):
        return None
    return {"uriTemplate": template, "name": _name(entry, template), **_strings(entry, "description", "mimeType")}


def _listed_prompt(value: object) -> Fields | None:
    entry = _as_fields(value)
    if not isinstance(entry.get("name"), str):
        return None
    arguments = [
        {"name": argument["name"], "required": argument.get("required") is True}
        for argument in map(_as_fields, _objects(entry.get("arguments")))
        if isinstance(argument.get("name"), str)
    ]
    return {**_strings(entry, "name", "description"), "arguments": arguments}


def _as_fields(value: object) -> Fields:
    return cast("Fields", value) if isinstance(value, dict) else {}


def _name(entry: Mapping[str, object], otherwise: str) -> str:
    name = entry.get("name")
    return name if isinstance(name, str) else otherwise


def _strings(entry: Mapping[str, object], *names: str) -> Fields:
    return {name: entry[name] for name in names if isinstance(entry.get(name), str)}


_LISTS: Final[Mapping[str, Callable[[object], Fields | None]]] = {
    "resources": _listed_resource,
    "resourceTemplates": _listed_template,
    "prompts": _listed_prompt,
}
