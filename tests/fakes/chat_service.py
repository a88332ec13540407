"""A service that speaks Chat Completions, as the contract's `World`: one that stops at sequences, and a bare one.

Above: `tests.contracts.worlds`. Below: `model_server`.
"""

import asyncio
import json
from base64 import b64decode
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import assert_never, cast

from agent.messages import Usage
from agent.ports import Provider
from agent.protocol.grammar import STOP_SEQUENCE
from agent.providers.catalog import OPENAI
from agent.providers.opening import Line, replaying
from agent.providers.replay import Patience
from agent.providers.wire_chat import ChatDialect
from tests.contracts.model_world import Asked, Breaks, Calls, Cuts, Garbles, Refuses, Says, Turn, Waits
from tests.fakes.clock import FakeClock
from tests.fakes.model_server import CHUNKED, CUT, DONE, ModelServer, Reply, Request, Wait, event, framed, head, whole

IMPATIENT = Patience(first_token_s=0.5, between_tokens_s=0.5, tail_s=0.1)
PIECE = 7
"""Calls arrive in pieces of so many characters, so that every tag is cut somewhere."""


@dataclass(slots=True)
class ChatService:
    """Its answers, in the order in which they are asked for."""

    planned: list[Turn] = field(default_factory=list[Turn])
    asked: list[Asked] = field(default_factory=list[Asked])

    def answer(self, request: Request) -> Reply:
        self.asked.append(_asked(request))
        return _reply(self.planned.pop(0), stops="stop" in request.json)


@dataclass(slots=True)
class ChatWorld:
    provider: Provider
    clock: FakeClock
    asked: list[Asked]
    left: asyncio.Event
    planned: list[Turn]

    def plan(self, *turns: Turn) -> None:
        self.planned.extend(turns)


@asynccontextmanager
async def chat_world(*, stop: bool = True, images: bool = False) -> AsyncGenerator[ChatWorld, None]:
    """A model with or without stop sequences, and with or without eyes."""
    clock, service = FakeClock(), ChatService()
    line = Line(clock, lambda: 0.0, IMPATIENT)
    dialect = ChatDialect("m-1", stop=stop, images=images)
    async with ModelServer(service.answer) as server:
        provider = replaying(OPENAI.at(server.url), "m-1", dialect, "sk-1", line)
        try:
            yield ChatWorld(provider, clock, service.asked, server.left, service.planned)
        finally:
            await provider.aclose()


def _reply(turn: Turn, *, stops: bool) -> Reply:
    """A body whose end can be told from a cut, step by step."""
    begin = [head(extra=CHUNKED)]
    match turn:
        case Says(pieces, reasoning, usage):
            return [*begin, *_thought(reasoning), *_texts(pieces), *_end(usage)]
        case Calls(blocks, before, reasoning):
            return [*begin, *_thought(reasoning), *_texts(_cut(f"{before}\n{_block(blocks, stops=stops)}")), *_end()]
        case Cuts(()):
            return [CUT]
        case Cuts(pieces):
            return [*begin, *_texts(pieces), CUT]
        case Refuses(status, code, message, retry_after_s):
            wait = "" if retry_after_s is None else f"retry-after: {retry_after_s:g}\r\n"
            return whole(status, {"error": {"message": message, "code": code}}, extra=wait)
        case Breaks(pieces, status):
            error = framed(event({"error": {"message": "no", "code": status}}))
            return [*begin, *_texts(pieces), error, framed(b"")]
        case Garbles((first, *rest)):
            garbage = [framed(b"data: {broken\n\n"), framed(event({"object": "weather", "wind": "west"}))]
            return [*begin, *_texts([first]), *garbage, *_texts(rest), *_end()]
        case Garbles():
            raise AssertionError("garbage stands between pieces")
        case Waits(pieces, until, then):
            return [*begin, *_texts(pieces), Wait(until.wait), *_texts(then), *_end()]
        case _:
            assert_never(turn)


def _thought(reasoning: str) -> list[bytes]:
    return [framed(event({"choices": [{"delta": {"reasoning_content": reasoning}}]}))] if reasoning else []


def _texts(pieces: Sequence[str]) -> list[bytes]:
    return [framed(event({"choices": [{"index": 0, "delta": {"content": piece}}]})) for piece in pieces]


def _end(usage: Usage | None = None) -> list[bytes]:
    usage = usage or Says(()).usage
    prompt = usage.input_uncached + usage.input_cached + usage.input_written
    completion = usage.output + usage.reasoning
    counts = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": usage.input_cached, "cache_write_tokens": usage.input_written},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }
    finish = event({"choices": [{"index": 0, "finish_reason": "stop"}]})
    return [framed(finish), framed(event({"choices": [], "usage": counts})), framed(DONE), framed(b"")]


def _block(blocks: Sequence[str], *, stops: bool) -> str:
    """One `<execute>` block with the calls of all. A stop sequence swallows its end."""
    calls = [call for block in blocks for call in cast("list[object]", json.loads(block))]
    return f"<execute>{json.dumps(calls)}{'' if stops else STOP_SEQUENCE}"


def _cut(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


def _asked(request: Request) -> Asked:
    texts: list[str] = []
    images: list[bytes] = []
    for message in cast("list[dict[str, object]]", request.json["messages"]):
        content = message["content"]
        parts = [{"text": content}] if isinstance(content, str) else cast("list[dict[str, object]]", content)
        for part in parts:
            if "image_url" in part:
                url = cast("dict[str, str]", part["image_url"])["url"]
                images.append(b64decode(url.partition("base64,")[2], validate=True))
            else:
                texts.append(str(part["text"]))
    return Asked(tuple(texts), len(request.body), tuple(images))
