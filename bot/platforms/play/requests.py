"""The requests of the page of `cogency play`, as JSON. Any other form is refused. Pure."""

import binascii
import json
import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

from agent.errors import Refused
from agent.messages import is_too_deep
from agent.protocol.json_text import sane_text
from bot.chat.reply.surface import ReplyAction
from bot.platforms import texts as platforms_texts

MAX_TEXT_CHARS: Final = 4_000  # Of a message: the limit of the smaller platforms
MAX_FILES: Final = 10  # With a message
MAX_FILE_BYTES: Final = 5_000_000  # Of all files of a message, which the page is sent with each of its changes
MAX_FRAME_BYTES: Final = 8_000_000  # Those in Base64, and the text
MAX_FILE_NAME_CHARS: Final = 255
MAX_NAME_CHARS: Final = 80  # Of ids, field names and the like, which the page has from the bot
MAX_VALUES: Final = 50
OFFERS: Final = frozenset(one.value for one in ReplyAction)
_NUMBER: Final = re.compile(r'\{"number": ?(\d{1,9})\b')


Body: TypeAlias = dict[str, Any]  # A JSON object, to or from the page


@dataclass(frozen=True, slots=True)
class AttachedFile:
    name: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class SayMessage:
    """`key`: the page's id of the message, by which one that is sent twice is taken in once; `thread`: the id of the
    first message of its thread, "" for none.
    """

    key: str
    channel: str
    thread: str
    text: str
    files: tuple[AttachedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class EditMessage:
    message: str
    text: str


@dataclass(frozen=True, slots=True)
class RemoveMessage:
    message: str


@dataclass(frozen=True, slots=True)
class PressOffer:
    """A button below a reply."""

    message: str
    offer: ReplyAction


@dataclass(frozen=True, slots=True)
class PressButton:
    """A button or a menu of a panel, by its number, with the chosen values and the set flags.

    `filled`: the values of a submitted form; None if none was submitted.
    """

    message: str
    button: int
    values: tuple[str, ...] = ()
    ticked: frozenset[str] = frozenset()
    filled: Mapping[str, str] | None = None


Request: TypeAlias = SayMessage | EditMessage | RemoveMessage | PressOffer | PressButton


def read_request(frame: str) -> tuple[int, Request]:
    """Return the number of a frame, and its request. Raises Refused."""
    try:
        body = None if is_too_deep(frame) else json.loads(frame)
    except ValueError:
        raise Refused(platforms_texts.PLAY_UNREADABLE) from None
    if not isinstance(body, dict):
        raise Refused(platforms_texts.PLAY_UNREADABLE)
    fields = cast("Body", body)
    return _number(fields, "number"), _request(fields)


def number_of(frame: str) -> int:
    """Return the number of an invalid frame; 0 if that is not known."""
    found = _NUMBER.match(frame)
    return int(found[1]) if found else 0


def _request(body: Body) -> Request:
    message = _text(body, "message", MAX_NAME_CHARS)
    match body.get("type"):
        case "say":
            key, channel, thread = (_text(body, name, MAX_NAME_CHARS) for name in ("key", "channel", "thread"))
            return SayMessage(key, channel, thread, _text(body, "text", MAX_TEXT_CHARS), _files(body.get("files", [])))
        case "edit":
            return EditMessage(message, _text(body, "text", MAX_TEXT_CHARS))
        case "remove":
            return RemoveMessage(message)
        case "offer" if (offer := _text(body, "offer", MAX_NAME_CHARS)) in OFFERS:
            return PressOffer(message, ReplyAction(offer))
        case "press":
            filled = body.get("filled")
            return PressButton(
                message,
                _number(body, "button"),
                tuple(_texts(body, "values")),
                frozenset(_texts(body, "ticked")),
                None if filled is None else _filled(filled),
            )
        case _:
            raise Refused(platforms_texts.PLAY_UNREADABLE)


def _text(body: Body, name: str, limit: int) -> str:
    value = body.get(name, "")
    if not isinstance(value, str):
        raise Refused(platforms_texts.PLAY_UNREADABLE)
    if len(value) > limit:
        raise Refused(platforms_texts.PLAY_TOO_LONG.format(limit=limit, chars=len(value)))
    return sane_text(value)  # JSON spells half a surrogate pair, which no page could be sent


def _number(body: Body, name: str) -> int:
    value = body.get(name)
    if type(value) is not int or not 0 <= value < 10**9:
        raise Refused(platforms_texts.PLAY_UNREADABLE)
    return value


def _texts(body: Body, name: str) -> list[str]:
    values = body.get(name, [])
    if not isinstance(values, list) or len(cast("list[object]", values)) > MAX_VALUES:
        raise Refused(platforms_texts.PLAY_UNREADABLE)
    return [_text({"one": value}, "one", MAX_TEXT_CHARS) for value in cast("list[object]", values)]


def _files(body: object) -> tuple[AttachedFile, ...]:
    """Read the files of a message: of each its name and its bytes in Base64."""
    if not isinstance(body, list) or len(rows := cast("list[object]", body)) > MAX_FILES:
        raise Refused(platforms_texts.PLAY_TOO_MANY_FILES.format(limit=MAX_FILES))
    files = tuple(map(_file, rows))
    if sum(len(file.data) for file in files) > MAX_FILE_BYTES:
        raise Refused(platforms_texts.PLAY_FILES_TOO_LARGE.format(limit=MAX_FILE_BYTES // 1_000_000))
    return files


def _file(row: object) -> AttachedFile:
    match row:
        case [str(name), str(content)] if 0 < len(name) <= MAX_FILE_NAME_CHARS:
            try:
                return AttachedFile(sane_text(name), b64decode(content, validate=True))
            except (binascii.Error, ValueError):
                pass
        case _:
            pass
    raise Refused(platforms_texts.PLAY_UNREADABLE)


def _filled(body: object) -> Mapping[str, str]:
    if not isinstance(body, dict) or len(filled := cast("Body", body)) > MAX_VALUES:
        raise Refused(platforms_texts.PLAY_UNREADABLE)
    return {sane_text(name): _text(filled, name, MAX_TEXT_CHARS) for name in filled}
