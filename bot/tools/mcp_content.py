"""What an MCP server answers, as parts of a result. Pure."""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, assert_never
from urllib.parse import urlsplit

import mcp_types as types

from agent.errors import ToolError
from agent.messages import Image, Json, JsonObject, Link, ResultPart, SharedFile, StructuredData, is_too_deep
from agent.tools.registry import ToolLimits
from bot.tools.mcp_listing import one_line

MAX_PARTS: Final = 200
"""Of one result; the rest is counted."""
MAX_ERROR_CHARS: Final = 2_000
MAX_LISTED: Final = 100
"""Resources or prompts in one list."""
_PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What models see; any other picture is a file."""
_NO_FILE_NAME: Final = re.compile(r"[^\w.\-]+", re.ASCII)
_BLANK: Final = re.compile(r"[\s\x00-\x20]")
_MEDIA_TYPE: Final = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}", re.ASCII)
_ENDINGS: Final = {
    "audio/mpeg": "mp3", "audio/wav": "wav", "audio/x-wav": "wav", "audio/ogg": "ogg", "audio/mp4": "m4a",
    "audio/flac": "flac", "audio/webm": "webm", "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif",
    "image/webp": "webp", "image/svg+xml": "svg", "application/pdf": "pdf", "application/json": "json",
    "application/zip": "zip", "text/csv": "csv", "text/plain": "txt", "text/html": "html",
}  # fmt: skip
_LIMITS: Final = ToolLimits()


def parts_of(result: types.CallToolResult) -> tuple[ResultPart, ...]:
    """What a call brought. Raises ToolError with the server's words if it says that it failed."""
    parts = tuple(part for number, block in enumerate(result.content[:MAX_PARTS]) for part in _block(block, number))
    if result.is_error:
        said = "\n".join(part for part in parts if isinstance(part, str))
        raise ToolError(said[:MAX_ERROR_CHARS] or "the server says that it failed, and not why")
    structured: Json = result.structured_content
    if structured is not None and not _is_said(parts, structured):
        text = json.dumps(structured, ensure_ascii=False)
        fits = len(text) <= _LIMITS.max_result_chars
        parts = (*parts, StructuredData(structured) if fits else f"{text[: _LIMITS.max_result_chars]}\n[cut]")
    left = len(result.content) - MAX_PARTS
    return parts if left <= 0 else (*parts, f"[left out: {left} more parts]")


def _is_said(parts: Sequence[ResultPart], structured: Json) -> bool:
    """Whether a text holds it already: servers should give it in both forms, for older clients.

    The official SDK for Python wraps a function's plain value: "3" and {"result": 3}.
    """
    wrapped = structured["result"] if isinstance(structured, dict) and structured.keys() == {"result"} else structured
    if (
        isinstance(wrapped, str | int | float)
        and (wrapped if isinstance(wrapped, str) else json.dumps(wrapped)) in parts
    ):
        return True
    for part in parts:
        if isinstance(part, str) and part.lstrip()[:1] in ("{", "[") and not is_too_deep(part):
            try:
                if json.loads(part) in (structured, wrapped):
                    return True
            except ValueError:
                pass
    return False


def _block(block: types.ContentBlock, number: int) -> Iterator[ResultPart]:
    match block:
        case types.TextContent(text=text):
            yield _text(text)
        case types.ImageContent(data=data, mime_type=media_type) | types.AudioContent(data=data, mime_type=media_type):
            yield _file(data, media_type, f"result-{number + 1}")
        case types.ResourceLink(uri=uri, name=name, description=description):
            yield _link(str(uri), name, description or "")
        case types.EmbeddedResource(resource=resource):
            yield from _contents(resource)
        case _:
            assert_never(block)


def _contents(resource: types.TextResourceContents | types.BlobResourceContents) -> Iterator[ResultPart]:
    uri = str(resource.uri)
    match resource:
        case types.TextResourceContents(text=text):
            yield _text(f"{one_line(uri, 500)}:\n{text[: _LIMITS.max_result_chars]}")
        case types.BlobResourceContents(blob=blob, mime_type=media_type):
            yield _file(blob, media_type or "application/octet-stream", _base_name(uri))
        case _:
            assert_never(resource)


def _text(text: str) -> str:
    """No longer than a result may be, which the registry cuts again with what stands beside it."""
    most = _LIMITS.max_result_chars
    return text if len(text) <= most else f"{text[:most]}\n[cut: {len(text) - most} more characters]"


def _file(data: str, media_type: str, name: str) -> ResultPart:
    media_type = media_type.lower() if _MEDIA_TYPE.fullmatch(media_type) else "application/octet-stream"
    try:
        read = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return f"[left out, because it cannot be read: a file ({media_type})]"
    if media_type in _PICTURES:
        return Image(media_type, read)
    ending = _ENDINGS.get(media_type, "bin")
    return SharedFile(name if "." in name else f"{name}.{ending}", media_type, read)


def _base_name(uri: str) -> str:
    try:
        path = urlsplit(uri).path or uri
    except ValueError:
        path = uri
    return _NO_FILE_NAME.sub("_", path.rstrip("/").rsplit("/", 1)[-1]).strip("._")[:80] or "resource"


def _link(uri: str, name: str, description: str) -> ResultPart:
    title = " - ".join(filter(None, (one_line(name, 200), one_line(description, 500))))
    if uri.startswith(("https://", "http://")) and len(uri) <= 2_000 and not _BLANK.search(uri):
        return Link(uri, title)
    return f"{title} (resource {one_line(uri, 500)})"


def resource_parts(result: types.ReadResourceResult) -> tuple[ResultPart, ...]:
    """What is in a resource."""
    return tuple(part for one in result.contents[:MAX_PARTS] for part in _contents(one))


def resource_list(resources: Sequence[types.Resource], templates: Sequence[types.ResourceTemplate]) -> str:
    """The resources of a server, a line each."""
    lines = [_line(str(one.uri), one.name, one.description) for one in resources[:MAX_LISTED]]
    lines += [_line(one.uri_template, one.name, one.description) for one in templates[:MAX_LISTED]]
    return "\n".join(lines) or "none"


def prompt_list(prompts: Sequence[types.Prompt]) -> str:
    """The prompts of a server, a line each with the arguments."""
    return "\n".join(_line(one.name, _arguments(one), one.description) for one in prompts[:MAX_LISTED]) or "none"


def _arguments(prompt: types.Prompt) -> str:
    named = [f"{one.name}{'' if one.required else '?'}" for one in (prompt.arguments or [])[:20]]
    return f"({', '.join(named)})" if named else ""


def _line(name: str, more: str, description: str | None) -> str:
    return one_line(" ".join(filter(None, (name, more, f"- {description}" if description else ""))), 500)


def prompt_parts(result: types.GetPromptResult) -> tuple[ResultPart, ...]:
    """What a prompt says. It is text like any other: who wrote it gives the model no orders."""
    return tuple(part for number, one in enumerate(result.messages[:MAX_PARTS]) for part in _block(one.content, number))


def arguments_of(args: JsonObject) -> dict[str, str]:
    """The arguments of a prompt, which are texts."""
    given = args.get("arguments")
    return {name: str(value) for name, value in given.items()} if isinstance(given, dict) else {}
