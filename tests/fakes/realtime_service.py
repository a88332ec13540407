"""A service that speaks OpenAI Realtime, as the contract's `World`: it keeps a conversation for each connection.

It models the worst behaviour of the real one: it writes on after `</execute>` until it is cancelled, and a little
further even then, and keeps all of that in the conversation.
"""

import asyncio
import json
from base64 import b64decode
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import assert_never, cast

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from agent.messages import Usage
from agent.protocol.grammar import STOP_SEQUENCE
from agent.providers.catalog import REALTIME
from agent.providers.factory import ProviderWorld, open_realtime
from agent.providers.replay import ModelTimeouts
from agent.providers.socket_session import SocketProvider
from tests.contracts.model_world import PATIENT, Asked, Breaks, Calls, Cuts, Garbles, Refuses, Says, Turn, Waits
from tests.fakes.clock import FakeClock
from tests.fakes.socket_service import Frame, SocketService, SocketWorld, hang_up, socket_world

MODEL = "gpt-realtime-2.1-mini"
LIMIT = "Your session hit the maximum duration of 60 minutes."
OVERSHOOT = ('\n<results>[{"name"', ': "made up"}]</results>', " And so on.")
STRAGGLERS = (" It", " cannot stop.")
BREATH_S = 0.02
PIECE = 7  # Characters of each piece of a call, so that every tag is cut somewhere

_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded", 529: "server_is_overloaded"}


def realtime_world(deaf: bool = False, patience: ModelTimeouts = PATIENT) -> AbstractAsyncContextManager[SocketWorld]:
    """`deaf`: the service ignores a cancellation, and continues without end."""
    return socket_world(partial(RealtimeVisit, deaf=deaf), partial(opened, patience=patience))


def opened(url: str, clock: FakeClock, patience: ModelTimeouts = PATIENT) -> SocketProvider:
    return open_realtime(REALTIME.at(f"{url}/v1"), MODEL, "sk-1", ProviderWorld(clock, lambda: 0.0, patience))


async def expire(service: SocketService) -> None:
    """An hour is over: every connection is closed."""
    for guest in service.guests:
        await guest.close(1001, LIMIT)


class RealtimeVisit:
    """One connection. `conversation` holds its items by id."""

    def __init__(self, service: SocketService, connection: ServerConnection, *, deaf: bool = False) -> None:
        self.conversation: dict[str, Frame] = {}
        self._service = service
        self._connection = connection
        self._deaf = deaf
        self._texts: list[str] = []
        self._images: list[bytes] = []
        self._size = 0
        self._answers = 0
        self._events = 0
        self._response = ""
        self._cancelled = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def speaking(self) -> bool:
        return bool(self._response)

    @property
    def told(self) -> list[str]:
        """Return the texts of the conversation, in order."""
        contents = [cast("list[Frame]", item["content"]) for item in self.conversation.values()]
        return [str(part["text"]) for content in contents for part in content if "text" in part]

    async def greet(self) -> None:
        await self._send("session.created", session={"type": "realtime", "model": MODEL})

    async def leave(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def read(self, frame: Frame, size: int) -> None:
        self._size += size
        match frame["type"]:
            case "session.update":
                session = cast("Frame", frame["session"])
                self._texts.append(str(session["instructions"]))
                await self._send("session.updated", session=session)
            case "conversation.item.create":
                await self._create(cast("Frame", frame["item"]))
            case "conversation.item.delete":
                await self._delete(str(frame["item_id"]), str(frame["event_id"]))
            case "response.cancel":
                await self._cancel(str(frame["event_id"]))
            case "response.create":
                self._asked()
                self._task = asyncio.create_task(self._answer(self._service.planned.pop(0)))
            case other:
                raise AssertionError(f"the real service does not know {other}")

    async def _create(self, item: Frame) -> None:
        for part in cast("list[Frame]", item["content"]):
            if "image_url" in part:
                self._images.append(b64decode(str(part["image_url"]).partition("base64,")[2], validate=True))
            else:
                self._texts.append(str(part["text"]))
        id_ = f"item_in{len(self._service.received)}"
        self.conversation[id_] = item
        await self._send("conversation.item.added", item={**item, "id": id_})
        await self._send("conversation.item.done", item={**item, "id": id_})

    async def _delete(self, id_: str, event_id: str) -> None:
        if self.conversation.pop(id_, None) is not None:
            await self._send("conversation.item.deleted", item_id=id_)
        else:
            await self._error("item_delete_invalid_item_id", "There is no such item.", event_id)

    async def _cancel(self, event_id: str) -> None:
        if self._deaf:
            return
        if self._response:
            self._cancelled.set()
        else:
            await self._error("response_cancel_not_active", "There is no active response.", event_id)

    def _asked(self) -> None:
        resumed = self._answers > 0
        self._service.asked.append(Asked(tuple(self._texts), self._size, tuple(self._images), resumed))
        self._texts, self._images, self._size = [], [], 0
        self._answers += 1

    async def _answer(self, turn: Turn) -> None:
        number = len(self._service.asked)
        self._response, item = f"resp_{number}", f"item_{number}"
        self._cancelled.clear()
        with suppress(ConnectionClosed):
            if turn != Cuts():
                await self._send("response.created", response=self._body("in_progress"))
            await self._speak(turn, item)

    async def _speak(self, turn: Turn, item: str) -> None:
        match turn:
            case Says(pieces, _, usage):
                await self._say(item, pieces)
                await self._done("completed", usage)
            case Calls(blocks, before):
                await self._say(item, _cut(f"{before}\n{_block(blocks)}"))
                await self._say(item, OVERSHOOT)
                await self._until_cancelled(item)
                await self._done("cancelled", reason="client_cancelled")
            case Cuts(pieces):
                await self._say(item, pieces)
                hang_up(self._connection)
            case Refuses(status, code, message, retry_after_s):
                wait = "" if retry_after_s is None else f" Please try again in {retry_after_s:g}s."
                await self._failed(code or _CODES.get(status, "server_error"), message + wait)
            case Breaks(pieces, status):
                await self._say(item, pieces)
                await self._failed(_CODES.get(status, "server_error"), "no")
            case Garbles((first, *rest)):
                await self._say(item, [first])
                await self._connection.send("{broken")
                await self._send("weather.changed", wind="west")
                await self._say(item, rest)
                await self._done("completed")
            case Garbles():
                raise AssertionError("garbage stands between pieces")
            case Waits(pieces, until, then):
                await self._say(item, pieces)
                await until.wait()
                await self._say(item, then)
                await self._done("completed")
            case _:
                assert_never(turn)

    async def _say(self, item: str, pieces: Sequence[str]) -> None:
        for piece in pieces:
            entry = self.conversation.setdefault(item, {"content": [{"text": ""}]})
            cast("list[dict[str, str]]", entry["content"])[0]["text"] += piece
            await self._send(
                "response.output_text.delta",
                response_id=self._response,
                item_id=item,
                output_index=0,
                content_index=0,
                delta=piece,
            )

    async def _until_cancelled(self, item: str) -> None:
        """A deaf service ignores the cancellation: it writes on, piece by piece, until the connection closes."""
        while not self._cancelled.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(BREATH_S if self._deaf else None):
                    await self._cancelled.wait()
            await self._say(item, STRAGGLERS)

    async def _failed(self, code: str, message: str) -> None:
        error = {"type": "server_error", "code": code, "message": message}
        response = {**self._body("failed"), "status_details": {"type": "failed", "error": error}}
        self._response = ""
        await self._send("response.done", response=response)

    async def _done(self, status: str, usage: Usage | None = None, reason: str = "") -> None:
        usage = usage or Says(()).usage
        response = self._body(status)
        if reason:
            response["status_details"] = {"type": status, "reason": reason}
        read, written = usage.input_uncached + usage.input_cached, usage.output + usage.reasoning
        response["usage"] = {
            "total_tokens": read + written,
            "input_tokens": read,
            "output_tokens": written,
            "input_token_details": {"text_tokens": read, "cached_tokens": usage.input_cached},
            "output_token_details": {"text_tokens": written},
        }
        self._response = ""
        await self._send("response.done", response=response)
        await self._send("rate_limits.updated", rate_limits=[])

    def _body(self, status: str) -> Frame:
        return {"object": "realtime.response", "id": self._response, "status": status, "output": []}

    async def _error(self, code: str, message: str, event_id: str) -> None:
        error = {"type": "invalid_request_error", "code": code, "message": message, "event_id": event_id}
        await self._send("error", error=error)

    async def _send(self, kind: str, **fields: object) -> None:
        self._events += 1
        await self._service.send(self._connection, {"type": kind, "event_id": f"event_{self._events}", **fields})


def watched() -> tuple[list[RealtimeVisit], Callable[[SocketService, ServerConnection], RealtimeVisit]]:
    """Return a way to make visits, and the list of those that were made."""
    visits: list[RealtimeVisit] = []

    def visit(service: SocketService, connection: ServerConnection) -> RealtimeVisit:
        visits.append(RealtimeVisit(service, connection))
        return visits[-1]

    return visits, visit


def _block(blocks: Sequence[str]) -> str:
    calls = [call for block in blocks for call in cast("list[object]", json.loads(block))]
    return f"<execute>{json.dumps(calls)}{STOP_SEQUENCE}"


def _cut(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
