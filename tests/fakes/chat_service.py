"""A service that speaks Chat Completions, as the contract's `World`: one that supports stop sequences, and a minimal
one.
"""

from base64 import b64decode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast

from agent.messages import Usage
from agent.protocol.grammar import STOP_SEQUENCE
from agent.providers.catalog import OPENAI
from agent.providers.factory import ProviderWorld, replaying
from agent.providers.replay import ModelTimeouts, ReplayProvider
from agent.providers.wire_chat import ChatDialect
from tests.contracts.model_world import PATIENT, Asked
from tests.fakes.http_world import HttpWorld, http_world
from tests.fakes.model_server import DONE, Reply, Request


class ChatWire:
    """With `stop`, it receives stop sequences and does not write the closing tag; without, the model writes it."""

    def __init__(self, *, stop: bool) -> None:
        self._stop = stop

    def other(self, request: Request) -> Reply | None:
        assert (request.method, request.path) == ("POST", "/v1/chat/completions")
        assert ("stop" in request.json) is self._stop
        return None

    def asked(self, request: Request) -> Asked:
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

    def begin(self, reasoning: str) -> list[object]:
        role = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": None}}]}
        return [role, *([{"choices": [{"delta": {"reasoning_content": reasoning}}]}] if reasoning else [])]

    def text(self, piece: str) -> object:
        return {"choices": [{"index": 0, "delta": {"content": piece}}]}

    def end(self, usage: Usage, *, halted: bool) -> list[object]:
        tag = [self.text(STOP_SEQUENCE)] if halted and not self._stop else []
        prompt = usage.input_uncached + usage.input_cached + usage.input_written
        counts = {
            "prompt_tokens": prompt,
            "completion_tokens": usage.output + usage.reasoning,
            "total_tokens": prompt + usage.output + usage.reasoning,
            "prompt_tokens_details": {"cached_tokens": usage.input_cached, "cache_write_tokens": usage.input_written},
            "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
        }
        finish = {"choices": [{"index": 0, "finish_reason": "stop"}]}
        return [*tag, finish, {"choices": [], "usage": counts}, DONE]

    def error(self, status: int, code: str, message: str) -> object:
        return {"error": {"message": message, "code": code or status}}

    def error_event(self, status: int) -> object:
        return self.error(status, "", "no")


@asynccontextmanager
async def chat_world(
    *, stop: bool = True, images: bool = False, patience: ModelTimeouts = PATIENT
) -> AsyncGenerator[HttpWorld, None]:
    """A model with or without stop sequences, and with or without support for images."""

    def opened(url: str, line: ProviderWorld) -> ReplayProvider:
        return replaying(OPENAI.at(url), "m-1", ChatDialect("m-1", stop=stop, images=images), "sk-1", line)

    async with http_world(ChatWire(stop=stop), opened, patience) as world:
        yield world
