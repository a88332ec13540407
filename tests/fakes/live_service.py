"""A service that speaks Gemini Live, as the contract's `World`: it keeps a conversation for each connection and handle.

A spoken answer is sound and its transcript. A call of the function ends the model's output; the turn is reported
complete only after it, which may be late.
"""

import asyncio
import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import assert_never, cast

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from agent.messages import Usage
from agent.providers.catalog import LIVE
from agent.providers.factory import ProviderWorld, open_live
from agent.providers.replay import ModelTimeouts
from agent.providers.socket_session import SocketProvider
from tests.contracts.model_world import PATIENT, Asked, Breaks, Calls, Cuts, Garbles, Refuses, Says, Turn, Waits
from tests.fakes.clock import FakeClock
from tests.fakes.socket_service import Frame, SocketService, SocketWorld, hang_up, socket_world

SPEAKER = "gemini-3.8-live"
WRITER = "gemini-live-2.5-flash"
SOUND = b64encode(b"\0\0" * 8).decode()

_CODES = {404: (1008, "models/m is not found for API version v1beta"), 429: (1011, "You exceeded your current quota.")}


def live_world(model: str = SPEAKER, patience: ModelTimeouts = PATIENT) -> AbstractAsyncContextManager[SocketWorld]:
    spoken = model == SPEAKER
    return socket_world(partial(LiveVisit, kept={}, spoken=spoken), partial(opened, model=model, patience=patience))


def opened(url: str, clock: FakeClock, model: str = SPEAKER, patience: ModelTimeouts = PATIENT) -> SocketProvider:
    return open_live(LIVE.at(url), model, "AIza-1", ProviderWorld(clock, lambda: 0.0, patience))


async def say_go_away(service: SocketService) -> None:
    """Announce that the newest connection will be closed."""
    await service.send(service.guests[-1], {"goAway": {"timeLeft": "50s"}})


@dataclass(slots=True)
class Kept:
    """The service's state of a conversation."""

    turns: list[str] = field(default_factory=list[str])
    # The names of the functions without a result yet, by the ids of the calls.
    calls: dict[str, str] = field(default_factory=dict[str, str])
    answers: int = 0


class LiveVisit:
    """One connection. `kept` are the conversations by their handles; a new handle follows each answer."""

    def __init__(
        self, service: SocketService, connection: ServerConnection, *, kept: dict[str, Kept], spoken: bool = True
    ) -> None:
        self.conversation = Kept()
        self._service = service
        self._connection = connection
        self._kept = kept
        self._spoken = spoken
        self._texts: list[str] = []
        self._images: list[bytes] = []
        self._size = 0
        self._speaking = False
        self._task: asyncio.Task[None] | None = None

    @property
    def speaking(self) -> bool:
        return self._speaking

    async def greet(self) -> None:
        pass

    async def leave(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def read(self, frame: Frame, size: int) -> None:
        self._size += size
        match frame:
            case {"setup": setup}:
                await self._set_up(cast("Frame", setup))
            case {"clientContent": content}:
                self._take_turns(cast("list[Frame]", cast("Frame", content)["turns"]))
                self._begin()
            case {"toolResponse": response}:
                self._take_results(cast("list[Frame]", cast("Frame", response)["functionResponses"]))
                self._begin()
            case _:
                raise AssertionError(f"the real service does not know {frame}")

    async def _set_up(self, setup: Frame) -> None:
        system = cast("Frame", setup.get("systemInstruction", {"parts": []}))
        self._texts += [str(part["text"]) for part in cast("list[Frame]", system["parts"])]
        modality = cast("Frame", setup["generationConfig"])["responseModalities"]
        if self._spoken and modality != ["AUDIO"]:
            reason = "The requested combination of response modalities (TEXT) is not supported by the model."
            return await self._connection.close(1007, reason)
        handle = cast("dict[str, str]", setup["sessionResumption"]).get("handle")
        if handle is not None and handle not in self._kept:
            return await self._connection.close(1008, "BidiGenerateContent session not found")
        self.conversation = self._kept[handle] if handle else Kept()
        await self._send({"setupComplete": {}})
        return None

    def _take_turns(self, turns: Sequence[Frame]) -> None:
        for turn in turns:
            for part in cast("list[Frame]", turn["parts"]):
                if "inlineData" in part:
                    self._images.append(b64decode(cast("dict[str, str]", part["inlineData"])["data"], validate=True))
                else:
                    self._texts.append(str(part["text"]))
                    self.conversation.turns.append(str(part["text"]))
        self.conversation.calls.clear()

    def _take_results(self, responses: Sequence[Frame]) -> None:
        assert {str(one["id"]): one["name"] for one in responses} == self.conversation.calls
        self.conversation.calls.clear()
        for one in responses:
            text = cast("dict[str, str]", one["response"])["output"]
            self._texts.append(text)
            self.conversation.turns.append(text)

    def _begin(self) -> None:
        asked = Asked(tuple(self._texts), self._size, tuple(self._images), resumed=self.conversation.answers > 0)
        self._service.asked.append(asked)
        self._texts, self._images, self._size = [], [], 0
        self.conversation.answers += 1
        self._speaking = True
        self._task = asyncio.create_task(self._answer(self._service.planned.pop(0)))

    async def _answer(self, turn: Turn) -> None:
        self._service.rested.clear()
        with suppress(ConnectionClosed):
            await self._speak(turn)
        self._service.rested.set()

    async def _speak(self, turn: Turn) -> None:
        match turn:
            case Says(pieces, reasoning, usage):
                await self._think(reasoning)
                await self._say(pieces)
                await self._complete(usage)
            case Calls(blocks, before, reasoning):
                await self._think(reasoning)
                await self._say([before] if before else [])
                await self._call(blocks)
                await self._complete()
            case Cuts(pieces):
                await self._say(pieces)
                hang_up(self._connection)
            case Refuses(status, _, message):
                code, reason = _CODES.get(status, (1011, message or "Internal error encountered."))
                await self._connection.close(code, reason)
            case Breaks(pieces):
                await self._say(pieces)
                await self._connection.close(1011, "The service is currently unavailable.")
            case Garbles((first, *rest)):
                await self._say([first])
                await self._connection.send("{broken")
                await self._send({"weather": {"wind": "west"}})
                await self._say(rest)
                await self._complete()
            case Garbles():
                raise AssertionError("garbage stands between pieces")
            case Waits(pieces, until, then):
                await self._say(pieces)
                await until.wait()
                await self._say(then)
                await self._complete()
            case _:
                assert_never(turn)

    async def _think(self, reasoning: str) -> None:
        if reasoning:
            await self._send({"serverContent": {"modelTurn": {"parts": [{"text": reasoning, "thought": True}]}}})

    async def _say(self, pieces: Sequence[str]) -> None:
        for piece in pieces:
            self.conversation.turns.append(piece)
            if not self._spoken:
                await self._send({"serverContent": {"modelTurn": {"role": "model", "parts": [{"text": piece}]}}})
                continue
            await self._send({"serverContent": {"outputTranscription": {"text": piece}}})
            sound = {"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": SOUND}}
            await self._send({"serverContent": {"modelTurn": {"role": "model", "parts": [sound]}}})

    async def _call(self, blocks: Sequence[str]) -> None:
        """Return one call of the function for each block, all in one frame."""
        number, calls = len(self._service.asked), self.conversation.calls
        asked: list[Frame] = []
        for place, block in enumerate(blocks):
            calls[f"call_{number}_{place}"] = "execute"
            written = [{**call, "args": json.dumps(call["args"])} for call in cast("list[Frame]", json.loads(block))]
            asked.append({"id": f"call_{number}_{place}", "name": "execute", "args": {"calls": written}})
        usage = _usage(Says(()).usage)
        await self._send({"toolCall": {"functionCalls": asked}, "usageMetadata": usage})
        self._speaking = False

    async def _complete(self, usage: Usage | None = None) -> None:
        await self._send({"serverContent": {"generationComplete": True}})
        self._speaking = False
        counts = _usage(usage or Says(()).usage)
        await self._send({"serverContent": {"turnComplete": True}, "usageMetadata": counts})
        handle = f"handle_{len(self._kept) + 1}"
        self._kept[handle] = self.conversation
        await self._send({"sessionResumptionUpdate": {"newHandle": handle, "resumable": True}})

    async def _send(self, frame: Frame) -> None:
        await self._service.send(self._connection, frame)


def _usage(usage: Usage) -> dict[str, int]:
    read = usage.input_uncached + usage.input_cached
    return {
        "promptTokenCount": read,
        "cachedContentTokenCount": usage.input_cached,
        "responseTokenCount": usage.output,
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": read + usage.output + usage.reasoning,
    }
