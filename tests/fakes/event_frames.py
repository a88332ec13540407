"""Writes messages of Amazon's event streams, as its services send them."""

import json
import struct
from base64 import b64encode
from zlib import crc32

STREAM_TYPE = "application/vnd.amazon.eventstream"


def header(name: str, kind: int, value: bytes) -> bytes:
    """Return a header with the bytes of its value, as they stand on the wire."""
    return bytes([len(name.encode())]) + name.encode() + bytes([kind]) + value


def text_header(name: str, value: str) -> bytes:
    return header(name, 7, struct.pack(">H", len(value.encode())) + value.encode())


def frame(headers: bytes, payload: bytes) -> bytes:
    """Return a message with both checksums."""
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    begun = prelude + struct.pack(">I", crc32(prelude)) + headers + payload
    return begun + struct.pack(">I", crc32(begun))


def event_frame(name: str, value: object, *, raw: bytes | None = None) -> bytes:
    """Return an event with its JSON, padded as Bedrock pads it against eavesdropping; `raw`: another payload."""
    payload = json.dumps({**value, "p": "abcdefghij"} if isinstance(value, dict) else value).encode()
    headers = (
        text_header(":event-type", name)
        + text_header(":content-type", "application/json")
        + text_header(":message-type", "event")
    )
    return frame(headers, payload if raw is None else raw)


def exception_frame(name: str, message: str, **fields: object) -> bytes:
    """Return an exception: the service fails in the middle of a stream."""
    headers = (
        text_header(":exception-type", name)
        + text_header(":content-type", "application/json")
        + text_header(":message-type", "exception")
    )
    return frame(headers, json.dumps({"message": message, **fields}).encode())


def blob(data: bytes) -> str:
    return b64encode(data).decode()
