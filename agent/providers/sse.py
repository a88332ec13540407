"""Server-sent events: pieces of bytes in, the data of each event out.

Above: `agent.providers.replay`. Below: httpx-sse, which knows the grammar, and `http` for the response that it reads.

Rules. However the bytes are cut, in the middle of a line or of a character, the same data come out. Comments are
ignored. An event at the very end counts without its blank line: some servers forget it.
"""

from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import aclosing

from httpx_sse import EventSource

from agent.providers.http import Disconnected, event_stream

MAX_LINE_BYTES = 8_000_000
"""Far above any chunk of an answer. A server that sends more without a line's end would fill the memory."""


async def event_data(body: AsyncIterable[bytes]) -> AsyncGenerator[str, None]:
    """The data of each event that has any. Raises what `body` raises, and Disconnected for an endless line."""
    async with aclosing(EventSource(event_stream(_ended(body))).aiter_sse()) as events:
        async for event in events:
            if event.data:
                yield event.data


async def _ended(body: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    line = 0
    async for piece in body:
        end = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
        line = line + len(piece) if end < 0 else len(piece) - end
        if line > MAX_LINE_BYTES:
            raise Disconnected("endless line")
        yield piece
    yield b"\n\n"
