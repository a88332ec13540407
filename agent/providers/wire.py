"""What all wire protocols share: reading a vendor's JSON, writing ours, counting tokens, roles in turns. Pure.

In what a vendor sends, any field may be missing or of another type.
"""

import json
from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from typing import Final, cast

from agent.messages import Depth, Image, Json, Message, Role, Usage, is_too_deep

# More tokens than any call takes; what a hundred thousand lies cost together can still be added up in a database.
MAX_COUNT: Final = 1_000_000_000


def parse_json(text: str | bytes) -> object:
    """The value, or None for text that is not JSON (or nested too deeply)."""
    try:
        written = text if isinstance(text, str) else text.decode("utf-8-sig")
        return None if is_too_deep(written) else cast("object", json.loads(written))
    except ValueError:
        return None


def as_object(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def as_count(value: object) -> int:
    """A number of tokens: never negative, never a boolean, never more than MAX_COUNT."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124 -- NaN
        return 0
    return max(0, int(min(value, MAX_COUNT)))


@dataclass(frozen=True, slots=True)
class UsageFields:
    """Where a vendor reports its counts, each as a path ("details.cached"), and which of them overlap.

    `input` and `output` hold the counts beside them, unless these are `cached_apart` and `reasoning_apart`. Where the
    `total` shows that reasoning comes on top, it does so, too.
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
        whole, output, reasoning = (_count(usage, path) for path in (self.input, self.output, self.reasoning))
        cached, written = _count(usage, self.cached), _count(usage, self.written)
        on_top = self.reasoning_apart or (self.total and _count(usage, self.total) == whole + output + reasoning)
        uncached = whole if self.cached_apart else max(0, whole - cached - written)
        return Usage(
            input_uncached=uncached + _count(usage, self.tools),
            input_cached=cached,
            input_written=written,
            output=output if on_top else max(0, output - reasoning),
            reasoning=reasoning if on_top else min(reasoning, output),
        )


def _count(usage: Mapping[str, object], path: str) -> int:
    return as_count(reduce(lambda value, name: as_object(value).get(name), path.split("."), cast("object", usage)))


# How hard a model is to think. For every other depth it decides.
EFFORT: Final = {Depth.FAST: "low", Depth.DEEP: "high"}


def encoded(body: Mapping[str, Json]) -> bytes:
    """The body as UTF-8, without blanks. Half surrogates, which UTF-8 cannot hold, become question marks."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def base64_of(image: Image) -> str:
    return b64encode(image.data).decode("ascii")


def data_url(image: Image) -> str:
    return f"data:{image.media_type};base64,{base64_of(image)}"


def described(message: Message) -> str:
    """The text of a message for a model that reads no pictures: it is told that there were some."""
    if not message.images:
        return message.text
    pictures = "a picture" if len(message.images) == 1 else f"{len(message.images)} pictures"
    return f"{message.text}\n\n[With this came {pictures}, which you cannot see. Say so if it matters.]"


def with_pictures(message: Message, types: Collection[str]) -> tuple[str, list[Image]]:
    """The text of a message and its pictures of these types; of others the text says that they were there."""
    seen = [image for image in message.images if image.media_type in types]
    return described(replace(message, images=tuple(image for image in message.images if image not in seen))), seen


MISSING_QUESTION = "(The beginning of this conversation is not shown.)"  # Stands where history begins with an answer
GO_ON = "(Please go on.)"  # Stands where the last words are the model's own: current models refuse to continue them


def system_text(messages: Sequence[Message]) -> str:
    return "\n\n".join(message.text for message in messages if message.role is Role.SYSTEM)


def alternating(messages: Sequence[Message], dialect: str) -> list[Message]:
    """What was spoken, user and assistant in turns, a user first and last, as vendors with strict roles want it.

    Blank messages are left out: vendors refuse them. What another dialect wrote in its own form is left out too: the
    message's text stands for it. What is appended after a message of the user never changes what stands before it, so
    that a vendor's prefix cache hits, and what is bound to a prefix (thinking, signatures) stays valid.
    """
    known = [_known(message, dialect) for message in messages if message.role is not Role.SYSTEM]
    spoken = [message for message in known if message.text.strip() or message.images or message.native]
    if not spoken or spoken[0].role is Role.ASSISTANT:
        spoken.insert(0, Message(Role.USER, MISSING_QUESTION))
    if spoken[-1].role is Role.ASSISTANT:
        spoken.append(Message(Role.USER, GO_ON))
    return grouped(spoken)


def _known(message: Message, dialect: str) -> Message:
    ours = message.role is Role.ASSISTANT and message.native and message.native.dialect == dialect
    return message if ours else replace(message, native=None)


def grouped(messages: Sequence[Message]) -> list[Message]:
    """What one role says without a break, joined by blank lines."""
    return [_joined(list(run)) for _, run in groupby(messages, key=lambda message: message.role)]


def _joined(run: Sequence[Message]) -> Message:
    """A run of one speaker as one message. What is in a vendor's own form joins nothing: there its text stands."""
    worded = [message for message in run if message.text.strip() or message.images] or run[-1:]
    if len(worded) == 1:
        return worded[0]
    images = tuple(image for message in worded for image in message.images)
    return Message(run[0].role, "\n\n".join(message.text for message in worded if message.text.strip()), images)
