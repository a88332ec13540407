"""Shared by all wire protocols: reading a vendor's JSON, writing ours, counting tokens, alternating roles. Pure.

In a vendor's data, each field may be missing or of another type.
"""

import json
from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from typing import Final, cast

from agent.messages import Depth, Image, Json, Message, Role, Usage, is_too_deep
from agent.ports.model import StopReason

# More tokens than any call takes. The sum of a hundred thousand wrong counts still fits into a database.
MAX_COUNT: Final = 1_000_000_000


def parse_json(text: str | bytes) -> object:
    """Return the value, or None for text that is not JSON or is nested too deeply.

    Some servers do not escape the tabs and line ends in their strings.
    """
    try:
        json_text = text if isinstance(text, str) else text.decode("utf-8-sig")
        return None if is_too_deep(json_text) else cast("object", json.loads(json_text, strict=False))
    except ValueError:
        return None


def torn(data: str) -> bool:
    """Return whether a chunk begins as JSON and is none, so that a part of the answer may be missing."""
    return data.lstrip().startswith("{") and parse_json(data) is None


def as_object(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def as_count(value: object) -> int:
    """Return a number of tokens, limited to 0 to MAX_COUNT; 0 for other types and booleans."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124 -- NaN
        return 0
    return max(0, int(min(value, MAX_COUNT)))


@dataclass(frozen=True, slots=True)
class UsageFields:
    """The paths of a vendor's token counts ("details.cached"), and which of them overlap.

    `input` includes the cached tokens unless `cached_apart`, and `output` the reasoning tokens unless `reasoning_apart`
    or the `total` shows that they are counted separately.
    """

    input: str
    output: str
    cached: str
    written: str = ""
    reasoning: str = ""
    tools: str = ""
    total: str = ""
    cached_apart: bool = False
    reasoning_apart: bool = False

    def read(self, usage: Mapping[str, object]) -> Usage:
        input_tokens, output, reasoning = (_count(usage, path) for path in (self.input, self.output, self.reasoning))
        cached, written = _count(usage, self.cached), _count(usage, self.written)
        is_separate = self.reasoning_apart or (
            self.total and _count(usage, self.total) == input_tokens + output + reasoning
        )
        uncached = input_tokens if self.cached_apart else max(0, input_tokens - cached - written)
        return Usage(
            input_uncached=uncached + _count(usage, self.tools),
            input_cached=cached,
            input_written=written,
            output=output if is_separate else max(0, output - reasoning),
            reasoning=reasoning if is_separate else min(reasoning, output),
        )


def _count(usage: Mapping[str, object], path: str) -> int:
    return as_count(reduce(lambda value, name: as_object(value).get(name), path.split("."), cast("object", usage)))


def read_stop_reason(word: str, known: Mapping[str, StopReason]) -> StopReason:
    """Return what a vendor's word for the end of an answer means, by its lower-case form with underscores.

    Services invent new words and write old ones in other ways. A word that is not known is never a good end.
    """
    return known.get(word.strip().lower().replace("-", "_"), StopReason.UNKNOWN)


def is_stop_reason(word: str) -> bool:
    """Return whether a service names an end: some write the missing one of a chunk as a word."""
    return word.strip().lower() not in {"", "null", "none"}


_ERROR_KINDS = frozenset({"error", "exception"})
_ERROR_FIELDS = ("error", "errors", "error_msg", "error_message", "errorMessage")


def error_in(event: Mapping[str, object]) -> object:
    """Return the error of an event that is not a part of an answer, in any of the forms of servers and gateways.

    None if it has no error. An error object without any value is none, either.
    """
    error = next(filter(None, (event.get(name) for name in _ERROR_FIELDS)), None)
    if error and any((as_object(error) or {"": error}).values()):
        return error if "error" in event or "errors" in event else dict(event)
    if as_count(as_object(event.get("base_resp")).get("status_code")):
        return dict(event)
    kinds = {as_text(event.get(name)).lower() for name in ("type", "object", "event", "event_type")}
    told = any(event.get(name) for name in ("message", "msg", "detail"))
    return dict(event) if told or kinds & _ERROR_KINDS else None


# The effort of reasoning. For other depths the model decides.
EFFORT: Final = {Depth.FAST: "low", Depth.DEEP: "high"}


def encoded(body: Mapping[str, Json]) -> bytes:
    """Return the JSON as UTF-8 without blanks. Half surrogates, which have no UTF-8 form, become question marks."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def base64_of(image: Image) -> str:
    return b64encode(image.data).decode("ascii")


def data_url(image: Image) -> str:
    return f"data:{image.media_type};base64,{base64_of(image)}"


def describe_pictures(message: Message) -> str:
    """Return the text of a message for a model without vision, with a note on its pictures."""
    if not message.images:
        return message.text
    pictures = "a picture" if len(message.images) == 1 else f"{len(message.images)} pictures"
    return f"{message.text}\n\n[With this came {pictures}, which you cannot see. Say so if it matters.]"


def with_pictures(message: Message, types: Collection[str]) -> tuple[str, list[Image]]:
    """Return the text of a message and its pictures of these types. The text has a note on the other pictures."""
    seen = [image for image in message.images if image.media_type in types]
    unseen = tuple(image for image in message.images if image not in seen)
    return describe_pictures(replace(message, images=unseen)), seen


MISSING_QUESTION = "(The beginning of this conversation is not shown.)"  # Inserted before an answer that comes first
GO_ON = "(Please go on.)"  # Appended to an answer that comes last: current models refuse to continue it


def system_text(messages: Sequence[Message]) -> str:
    return "\n\n".join(message.text for message in messages if message.role is Role.SYSTEM)


def alternating(messages: Sequence[Message], dialect: str) -> list[Message]:
    """Return the messages with alternating roles, a user first and last, as vendors with strict roles require.

    Blank messages are left out, because vendors refuse them. Native content of another dialect is left out, too; the
    message's text remains. Messages that are appended after one of the user never change earlier ones, so that a
    vendor's prefix cache hits, and content that is bound to a prefix (thinking, signatures) stays valid.
    """
    own_content = [
        _without_foreign_content(message, dialect) for message in messages if message.role is not Role.SYSTEM
    ]
    spoken = [message for message in own_content if message.text.strip() or message.images or message.native]
    if not spoken or spoken[0].role is Role.ASSISTANT:
        spoken.insert(0, Message(Role.USER, MISSING_QUESTION))
    if spoken[-1].role is Role.ASSISTANT:
        spoken.append(Message(Role.USER, GO_ON))
    return grouped(spoken)


def _without_foreign_content(message: Message, dialect: str) -> Message:
    is_own = message.role is Role.ASSISTANT and message.native and message.native.dialect == dialect
    return message if is_own else replace(message, native=None)


def grouped(messages: Sequence[Message]) -> list[Message]:
    """Join successive messages of one role by blank lines."""
    return [_join(list(run)) for _, run in groupby(messages, key=lambda message: message.role)]


def _join(run: Sequence[Message]) -> Message:
    """Join messages of one role. Native content is dropped where messages are joined; their text remains."""
    filled = [message for message in run if message.text.strip() or message.images] or run[-1:]
    if len(filled) == 1:
        return filled[0]
    images = tuple(image for message in filled for image in message.images)
    return Message(run[0].role, "\n\n".join(message.text for message in filled if message.text.strip()), images)
