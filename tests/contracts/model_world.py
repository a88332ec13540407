"""What every fake model service can be told to do, so that one suite of tests holds for every vendor.

`tests/fakes/<vendor>_service.py` implements `World` for one wire protocol; `test_providers.py` runs every test on each.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from agent.messages import Usage
from agent.ports.model import Provider
from agent.providers.replay import ModelTimeouts
from tests.fakes.clock import FakeClock
from tests.patience import PATIENCE_S

# A busy machine is no silence.
PATIENT = ModelTimeouts(first_token_s=PATIENCE_S, between_tokens_s=PATIENCE_S, tail_s=10.0)


@dataclass(frozen=True, slots=True)
class Says:
    """The model answers with this text, in pieces, and ends."""

    pieces: tuple[str, ...]
    reasoning: str = ""
    usage: Usage = field(default_factory=lambda: Usage(input_uncached=90, input_cached=10, output=7, reasoning=3))


@dataclass(frozen=True, slots=True)
class Calls:
    """The model says `before`, then asks for tools in the vendor's way (a stop sequence, a free-text tool, plain text).

    `blocks` are JSON lists as they stand in an `<execute>` block; several are several calls of the vendor's tool where
    it has one, and one block with the calls of all elsewhere.
    """

    blocks: tuple[str, ...]
    before: str = ""
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Cuts:
    """The model says these pieces, then the connection dies. With no pieces: after the request, before any event."""

    pieces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refuses:
    """The service answers with this status (in the vendor's form of an error), before the first event."""

    status: int
    code: str = ""
    message: str = "no"
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Breaks:
    """After these pieces the service sends an error event (an overload, in the vendor's form)."""

    pieces: tuple[str, ...]
    status: int = 529


@dataclass(frozen=True, slots=True)
class Garbles:
    """A frame that is not JSON, and one of an unknown type, stand between these pieces; then the answer ends well."""

    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Waits:
    """After these pieces nothing comes until the test sets `until` (or the client goes away)."""

    pieces: tuple[str, ...]
    until: asyncio.Event
    then: tuple[str, ...] = ()


Turn: TypeAlias = Says | Calls | Cuts | Refuses | Breaks | Garbles | Waits


@dataclass(frozen=True, slots=True)
class Asked:
    """One request for an answer, as the service read it.

    `texts` are all texts in it, in order, whatever they were wrapped in; `bytes_up` is the size of what was sent;
    `images` are the decoded bytes of the pictures in it; `resumed` is true when it built on an earlier answer.
    """

    texts: tuple[str, ...]
    bytes_up: int
    images: tuple[bytes, ...] = ()
    resumed: bool = False


class World(Protocol):
    """A fake service on loopback, and our provider connected to it, patient unless a test asks otherwise.

    The provider's waits between tries go to `clock`, which never really sleeps.
    """

    provider: Provider
    clock: FakeClock
    asked: list[Asked]
    left: asyncio.Event
    """Set when the client closed its connection (or cancelled) before an answer was over."""

    def plan(self, *turns: Turn) -> None:
        """What the service does with the next requests, one each."""
        ...
