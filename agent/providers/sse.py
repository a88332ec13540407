"""Server-sent events: pieces of bytes in, the data of each event out. Pure: feed and flush.

Above: `agent.providers.replay`. Below: `http`, for the error of an endless stream.

Rules. However the bytes are cut, in the middle of a line or of a character, the same data come out. Comments and every
field but `data` are ignored. An event at the very end counts without its blank line: some servers forget it.

A line ends with \\n, \\r or both. A \\r at the end of a piece is taken for a whole line end at once, so that nothing
waits for the next piece; a \\n that then begins it belongs to the same end.
"""

from collections.abc import AsyncGenerator, AsyncIterable

from agent.providers.http import Disconnected

MAX_EVENT_BYTES = 8_000_000
"""Far above any chunk of an answer. A server that sends more without an event's end would fill the memory."""
BOM = b"\xef\xbb\xbf"


class EventReader:
    """`feed` it the pieces of one stream; `flush` it at the end."""

    def __init__(self) -> None:
        self._line: list[bytes] = []
        """The beginning of a line whose end has not come, in pieces."""
        self._data: list[bytes] = []
        """The data of an event whose blank line has not come."""
        self._bytes = 0
        self._after_return = False
        self._begun = False

    def feed(self, piece: bytes) -> list[str]:
        """The data of the events that end in this piece. Raises Disconnected for an event that does not end."""
        if self._after_return and piece.startswith(b"\n"):
            piece, self._after_return = piece[1:], False
        if b"\r" in piece:
            self._after_return = piece.endswith(b"\r")
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        elif piece:
            self._after_return = False
        lines = piece.split(b"\n")
        rest = lines.pop()
        if self._line and lines:
            lines[0] = b"".join([*self._line, lines[0]])
            self._line = []
        events = [data for line in lines if (data := self._take(line))]
        if rest:
            self._line.append(rest)
        self._bytes += len(piece)
        if self._bytes > MAX_EVENT_BYTES:
            raise Disconnected("endless event")
        return events

    def flush(self) -> list[str]:
        """The data of an event that the stream ended without its blank line."""
        return [*self.feed(b"\n"), *self.feed(b"\n")]

    def _take(self, line: bytes) -> str:
        """The data of the event that this line ends, "" for every other line."""
        if not self._begun:
            line, self._begun = line.removeprefix(BOM), True
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line.startswith(b" ", 5) else line[5:])
        elif not line:
            data, self._data, self._bytes = b"\n".join(self._data), [], 0
            return data.decode("utf-8", "replace")
        return ""


async def event_data(body: AsyncIterable[bytes]) -> AsyncGenerator[str, None]:
    """The data of each event that has any. Raises what `body` raises, and Disconnected for an event without an end."""
    reader = EventReader()
    async for piece in body:
        for data in reader.feed(piece):
            yield data
    for data in reader.flush():
        yield data
