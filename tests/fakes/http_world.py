"""The contract's `World` for any service that streams events over HTTP: it writes the planned answer in the vendor's
format.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol, assert_never, cast, runtime_checkable

from agent.messages import Usage
from agent.ports.model import Provider
from agent.providers.factory import ProviderWorld
from agent.providers.replay import ModelTimeouts
from tests.contracts.model_world import PATIENT, Asked, Breaks, Calls, Cuts, Garbles, Refuses, Says, Turn, Waits
from tests.fakes.clock import FakeClock
from tests.fakes.model_server import CHUNKED, CUT, ModelServer, Reply, Request, Wait, event, framed, head, whole

PIECE = 7  # Characters of each piece of a call, so that every tag is cut somewhere
USAGE = Says(()).usage


class Wire(Protocol):
    """The format of a vendor. Every event that is not bytes is sent as its JSON."""

    def asked(self, request: Request) -> Asked: ...

    def other(self, request: Request) -> Reply | None:
        """Return the reply to a request that asks for no answer, or None if it does."""
        ...

    def begin(self, reasoning: str) -> list[object]: ...

    def text(self, piece: str) -> object: ...

    def end(self, usage: Usage, *, halted: bool) -> list[object]: ...

    def error(self, status: int, code: str, message: str) -> object:
        """Return the body of a refusal."""
        ...

    def error_event(self, status: int) -> object: ...


@runtime_checkable
class FramedWire(Protocol):
    """A format whose streams are no server-sent events: it writes every event as bytes."""

    content_type: str

    def garbage(self) -> list[bytes]:
        """Return an event that is not JSON, and one of an unknown type."""
        ...


class OpenedProvider(Provider, Protocol):
    async def aclose(self) -> None: ...


@dataclass(slots=True)
class HttpWorld:
    provider: Provider
    clock: FakeClock
    asked: list[Asked]
    left: asyncio.Event
    server: ModelServer
    planned: list[Turn] = field(default_factory=list[Turn])

    def plan(self, *turns: Turn) -> None:
        self.planned.extend(turns)


@asynccontextmanager
async def http_world(
    wire: Wire, opened: Callable[[str, ProviderWorld], OpenedProvider], patience: ModelTimeouts = PATIENT
) -> AsyncGenerator[HttpWorld, None]:
    """A service that speaks `wire`, and the provider that `opened` makes for its address."""
    clock, asked, planned = FakeClock(), list[Asked](), list[Turn]()

    def answer(request: Request) -> Reply:
        if (other := wire.other(request)) is not None:
            return other
        asked.append(wire.asked(request))
        return _reply(wire, planned.pop(0))

    async with ModelServer(answer) as server:
        provider = opened(server.url, ProviderWorld(clock, lambda: 0.0, patience))
        try:
            yield HttpWorld(provider, clock, asked, server.left, server, planned)
        finally:
            await provider.aclose()


def _reply(wire: Wire, turn: Turn) -> Reply:
    """Return the steps of a body whose end can be told from a cut."""
    match turn:
        case Says(pieces, reasoning, usage):
            return [*_begun(wire, reasoning), *_texts(wire, pieces), *_ended(wire, usage)]
        case Calls(blocks, before, reasoning):
            return [
                *_begun(wire, reasoning),
                *_texts(wire, _cut(f"{before}\n{_block(blocks)}")),
                *_ended(wire, halted=True),
            ]
        case Cuts(()):
            return [CUT]
        case Cuts(pieces):
            return [*_begun(wire), *_texts(wire, pieces), CUT]
        case Refuses(status, code, message, retry_after_s):
            wait = "" if retry_after_s is None else f"retry-after: {retry_after_s:g}\r\n"
            return whole(status, wire.error(status, code, message), extra=wait)
        case Breaks(pieces, status):
            return [*_begun(wire), *_texts(wire, pieces), _sent(wire.error_event(status)), framed(b"")]
        case Garbles((first, *rest)):
            unknown = event({"type": "weather", "event_type": "weather"})
            garbage = wire.garbage() if isinstance(wire, FramedWire) else [b"data: {broken\n\n", unknown]
            return [*_begun(wire), *_texts(wire, [first]), *map(framed, garbage), *_texts(wire, rest), *_ended(wire)]
        case Garbles():
            raise AssertionError("garbage stands between pieces")
        case Waits(pieces, until, then):
            return [*_begun(wire), *_texts(wire, pieces), Wait(until.wait), *_texts(wire, then), *_ended(wire)]
        case _:
            assert_never(turn)


def _sent(happened: object) -> bytes:
    return framed(happened if isinstance(happened, bytes) else event(happened))


def _begun(wire: Wire, reasoning: str = "") -> list[bytes]:
    kind = wire.content_type if isinstance(wire, FramedWire) else "text/event-stream"
    return [head(content_type=kind, extra=CHUNKED), *map(_sent, wire.begin(reasoning))]


def _texts(wire: Wire, pieces: Sequence[str]) -> list[bytes]:
    return [_sent(wire.text(piece)) for piece in pieces]


def _ended(wire: Wire, usage: Usage = USAGE, *, halted: bool = False) -> list[bytes]:
    return [*map(_sent, wire.end(usage, halted=halted)), framed(b"")]


def _block(blocks: Sequence[str]) -> str:
    """Return one `<execute>` block with all calls, without its end, which the stop sequence has removed."""
    return f"<execute>{json.dumps([call for block in blocks for call in cast('list[object]', json.loads(block))])}"


def _cut(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
