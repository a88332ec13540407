"""What an MCP server returns, as the parts of a tool's result: of calls, resources and prompts. Pure."""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, assert_never
from urllib.parse import urlsplit

import mcp_types as types

from agent.errors import ToolError
from agent.messages import Image, Json, JsonObject, Link, ResultPart, StructuredData, is_too_deep
from agent.toolbox.results import ToolLimits
from bot.chat.attachments.handed_over import file_of_server
from bot.chat.reply.attached_files import plain_name
from bot.tools.mcp.listing import one_line

MAX_PARTS: Final = 200  # Of one result; the rest is counted
MAX_ERROR_CHARS: Final = 2_000
MAX_LISTED: Final = 100  # Resources or prompts in one list
# The image types that models accept; any other image is a file.
_IMAGE_TYPES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
_NO_FILE_NAME: Final = re.compile(r"[^\w.\-]+", re.ASCII)
_BLANK: Final = re.compile(r"[\s\x00-\x20]")
_MEDIA_TYPE: Final = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}", re.ASCII)
_EXTENSIONS: Final = {
    "audio/mpeg": "mp3", "audio/wav": "wav", "audio/x-wav": "wav", "audio/ogg": "ogg", "audio/mp4": "m4a",
    "audio/flac": "flac", "audio/webm": "webm", "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif",
    "image/webp": "webp", "image/svg+xml": "svg", "application/pdf": "pdf", "application/json": "json",
    "application/zip": "zip", "text/csv": "csv", "text/plain": "txt", "text/html": "html",
}  # fmt: skip
_LIMITS: Final = ToolLimits()
FILE_LEFT_OUT: Final = "[left out: the file {name}: {reason}]"


def parts_of(result: types.CallToolResult) -> tuple[ResultPart, ...]:
    """Return the parts of a result. Raises ToolError with the server's text if the call failed."""
    parts = tuple(part for number, block in enumerate(result.content[:MAX_PARTS]) for part in _block(block, number))
    if result.is_error:
        message = "\n".join(part for part in parts if isinstance(part, str))
        raise ToolError(message[:MAX_ERROR_CHARS] or "the server reported an error without a reason")
    structured: Json = result.structured_content
    if structured is not None and not _is_repeated(parts, structured):
        text = json.dumps(structured, ensure_ascii=False)
        fits = len(text) <= _LIMITS.max_result_chars
        parts = (*parts, StructuredData(structured) if fits else f"{text[: _LIMITS.max_result_chars]}\n[cut]")
    left = len(result.content) - MAX_PARTS
    return parts if left <= 0 else (*parts, f"[left out: {left} more parts]")


def _is_repeated(parts: Sequence[ResultPart], structured: Json) -> bool:
    """Whether a text has the structured content already: servers should send both forms, for older clients.

    The official SDK for Python wraps a function's plain value: "3" and {"result": 3}.
    """
    value = structured["result"] if isinstance(structured, dict) and structured.keys() == {"result"} else structured
    if isinstance(value, str | int | float) and (value if isinstance(value, str) else json.dumps(value)) in parts:
        return True
    for part in parts:
        if isinstance(part, str) and part.lstrip()[:1] in ("{", "[") and not is_too_deep(part):
            try:
                if json.loads(part) in (structured, value):
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
    """Cut a text to the maximum length of a result. The registry cuts the whole result again."""
    limit = _LIMITS.max_result_chars
    return text if len(text) <= limit else f"{text[:limit]}\n[cut: {len(text) - limit} more characters]"


def _file(data: str, media_type: str, name: str) -> ResultPart:
    media_type = media_type.lower() if _MEDIA_TYPE.fullmatch(media_type) else "application/octet-stream"
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return f"[left out because it could not be read: a file ({media_type})]"
    if media_type in _IMAGE_TYPES:
        return Image(media_type, content)
    extension = _EXTENSIONS.get(media_type, "bin")
    name = plain_name(name if "." in name else f"{name}.{extension}")
    checked = file_of_server(name, content)
    if isinstance(checked, str):
        return FILE_LEFT_OUT.format(name=name, reason=checked)
    return replace(checked, media_type=media_type) if checked.name == name else checked


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
    return tuple(part for resource in result.contents[:MAX_PARTS] for part in _contents(resource))


def resource_list(resources: Sequence[types.Resource], templates: Sequence[types.ResourceTemplate]) -> str:
    """List the resources of a server, a line each."""
    lines = [_line(str(resource.uri), resource.name, resource.description) for resource in resources[:MAX_LISTED]]
    lines += [_line(template.uri_template, template.name, template.description) for template in templates[:MAX_LISTED]]
    return "\n".join(lines) or "none"


def prompt_list(prompts: Sequence[types.Prompt]) -> str:
    """List the prompts of a server, a line each with their arguments."""
    lines = [_line(prompt.name, _arguments(prompt), prompt.description) for prompt in prompts[:MAX_LISTED]]
    return "\n".join(lines) or "none"


def _arguments(prompt: types.Prompt) -> str:
    names = [f"{argument.name}{'' if argument.required else '?'}" for argument in (prompt.arguments or [])[:20]]
    return f"({', '.join(names)})" if names else ""


def _line(name: str, more: str, description: str | None) -> str:
    return one_line(" ".join(filter(None, (name, more, f"- {description}" if description else ""))), 500)


def prompt_parts(result: types.GetPromptResult) -> tuple[ResultPart, ...]:
    """Return the messages of a prompt. To the model it is text like any other result, and no instruction."""
    messages = enumerate(result.messages[:MAX_PARTS])
    return tuple(part for number, message in messages for part in _block(message.content, number))


def arguments_of(args: JsonObject) -> dict[str, str]:
    """Return the arguments of a prompt as texts."""
    arguments = args.get("arguments")
    return {name: str(value) for name, value in arguments.items()} if isinstance(arguments, dict) else {}
