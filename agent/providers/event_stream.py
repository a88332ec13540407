"""Amazon's event streams (`application/vnd.amazon.eventstream`): bytes in, messages out. Pure: feed and flush.

A message has a length in front, so nothing is searched for:

    total length 4 · headers' length 4 · CRC of these 8 bytes 4 · headers · payload · CRC of all before it 4

Rules. The result does not depend on how the bytes are split. Both checksums are compared before anything of a message
is read. What is longer than the limits, or not what the format says, is an error, and ends the stream: without the
length nobody knows where the next message begins. A header is a name and a typed value; a name occurs once.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Final, TypeAlias
from zlib import crc32

HeaderValue: TypeAlias = bool | int | bytes | str

# The format allows 24 MB and 128 kB. An event of an answer has a few hundred bytes, and an error's message a few
# thousand.
MAX_MESSAGE_BYTES: Final = 8_000_000
MAX_HEADER_BYTES: Final = 65_536

_PRELUDE: Final = Struct(">III")
_CRC: Final = Struct(">I")
_FRAME: Final = _PRELUDE.size + _CRC.size  # The bytes of a message without headers and payload

_TRUE, _FALSE, _BYTES, _STRING, _TIMESTAMP, _UUID = 0, 1, 6, 7, 8, 9
_NUMBERS: Final = {2: Struct(">b"), 3: Struct(">h"), 4: Struct(">i"), 5: Struct(">q"), _TIMESTAMP: Struct(">q")}
_LENGTH: Final = Struct(">H")
_UUID_BYTES: Final = 16


class MalformedStream(ValueError):
    """The bytes are no event stream, or were damaged on the way."""


@dataclass(frozen=True, slots=True)
class StreamMessage:
    """One message. A timestamp is a number of milliseconds, a UUID its 16 bytes."""

    headers: Mapping[str, HeaderValue]
    payload: bytes = field(repr=False)

    def text(self, name: str) -> str:
        """Return the text of a header; "" if it is missing or no text."""
        value = self.headers.get(name)
        return value if isinstance(value, str) else ""


class EventStreamDecoder:
    """Call `feed` with the pieces of one stream, and `flush` at its end."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._total = 0  # The length of the message in the buffer; 0 until its prelude is there
        self._headers = 0

    def feed(self, piece: bytes) -> Iterator[StreamMessage]:
        """Yield the messages that end in this piece; read all of them. Raises MalformedStream after those before it."""
        self._buffer += piece
        while self._is_whole():
            # A bytearray drops its beginning without moving the rest, so this is linear.
            message = bytes(self._buffer[: self._total])
            del self._buffer[: self._total]
            headers, self._total = self._headers, 0
            yield _read_message(message, headers)

    def flush(self) -> None:
        """Raise MalformedStream if the stream ends inside of a message."""
        if self._buffer:
            raise MalformedStream("incomplete message")

    def _is_whole(self) -> bool:
        """Return whether the buffer begins with a whole message. Its prelude is checked as soon as it is there."""
        if not self._total:
            if len(self._buffer) < _PRELUDE.size:
                return False
            total, headers, checksum = _PRELUDE.unpack_from(self._buffer)
            if crc32(self._buffer[: _PRELUDE.size - _CRC.size]) != checksum:
                raise MalformedStream("checksum of a length")
            if total > MAX_MESSAGE_BYTES or headers > MAX_HEADER_BYTES or headers + _FRAME > total:
                raise MalformedStream("length of a message")
            self._total, self._headers = total, headers
        return len(self._buffer) >= self._total


def _read_message(message: bytes, headers: int) -> StreamMessage:
    end = len(message) - _CRC.size
    if crc32(message[:end]) != _CRC.unpack_from(message, end)[0]:
        raise MalformedStream("checksum of a message")
    begin = _PRELUDE.size + headers
    return StreamMessage(_read_headers(message[_PRELUDE.size : begin]), message[begin:end])


def _read_headers(data: bytes) -> dict[str, HeaderValue]:
    headers: dict[str, HeaderValue] = {}
    cursor = _Cursor(data)
    while not cursor.at_end:
        name = _text(cursor.take(cursor.take(1)[0]))
        if name in headers:
            raise MalformedStream("repeated header")
        headers[name] = _read_value(cursor)
    return headers


def _read_value(cursor: "_Cursor") -> HeaderValue:
    kind = cursor.take(1)[0]
    if kind in {_TRUE, _FALSE}:
        return kind == _TRUE
    if number := _NUMBERS.get(kind):
        return int(number.unpack(cursor.take(number.size))[0])
    if kind == _UUID:
        return cursor.take(_UUID_BYTES)
    if kind not in {_BYTES, _STRING}:
        raise MalformedStream("type of a header")
    value = cursor.take(_LENGTH.unpack(cursor.take(_LENGTH.size))[0])
    return _text(value) if kind == _STRING else value


class _Cursor:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    @property
    def at_end(self) -> bool:
        return self._position == len(self._data)

    def take(self, length: int) -> bytes:
        """Return the next bytes. Raises MalformedStream if there are fewer."""
        begin, self._position = self._position, self._position + length
        if self._position > len(self._data):
            raise MalformedStream("headers end early")
        return self._data[begin : self._position]


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise MalformedStream("header is no UTF-8") from None


def message_data(message: StreamMessage) -> str:
    """Return a message as JSON text, in the form in which Amazon's own clients hand on an event: an object with the
    event's name, or the exception's, and its payload. A broken payload gives broken JSON. Pure.
    """
    match message.text(":message-type"):
        case "error":
            error = {"code": message.text(":error-code"), "message": message.text(":error-message")}
            return json.dumps({"error": error})
        case "exception":
            name = message.text(":exception-type")
        case _:
            name = message.text(":event-type")
    payload = message.payload.decode("utf-8", "replace").strip() or "{}"
    return f"{{{json.dumps(name)}:{payload}}}"
