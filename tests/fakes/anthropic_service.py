"""A service that speaks Anthropic's Messages, as the contract's `World`."""

from base64 import b64decode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast

from agent.messages import Usage
from agent.protocol.grammar import STOP_SEQUENCE
from agent.providers.catalog import ANTHROPIC
from agent.providers.factory import open_messages
from agent.providers.replay import ModelTimeouts
from tests.contracts.model_world import PATIENT, Asked
from tests.fakes.http_world import HttpWorld, http_world
from tests.fakes.model_server import Reply, Request

MODEL = "claude-sonnet-5-5"
ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}

BEGUN: dict[str, object] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": MODEL,
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


class MessagesWire:
    def other(self, request: Request) -> Reply | None:
        assert (request.method, request.path) == ("POST", "/v1/messages")
        assert request.headers["anthropic-version"]
        return None

    def asked(self, request: Request) -> Asked:
        blocks = list(cast("list[dict[str, object]]", request.json.get("system", [])))
        for message in cast("list[dict[str, list[dict[str, object]]]]", request.json["messages"]):
            blocks += message["content"]
        texts = tuple(str(block["text"]) for block in blocks if block["type"] == "text")
        sources = [cast("dict[str, str]", block["source"]) for block in blocks if block["type"] == "image"]
        images = tuple(b64decode(source["data"], validate=True) for source in sources)
        return Asked(texts, len(request.body), images)

    def begin(self, reasoning: str) -> list[object]:
        return [
            {"type": "message_start", "message": BEGUN},
            {"type": "ping"},
            *(_thought(reasoning) if reasoning else []),
            {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        ]

    def text(self, piece: str) -> object:
        return {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": piece}}

    def end(self, usage: Usage, *, halted: bool) -> list[object]:
        counts = {
            "input_tokens": usage.input_uncached,
            "cache_read_input_tokens": usage.input_cached,
            "cache_creation_input_tokens": usage.input_written,
            "output_tokens": usage.output + usage.reasoning,
            "output_tokens_details": {"thinking_tokens": usage.reasoning},
        }
        delta = {
            "stop_reason": "stop_sequence" if halted else "end_turn",
            "stop_sequence": STOP_SEQUENCE if halted else None,
        }
        return [
            {"type": "content_block_stop", "index": 1},
            {"type": "message_delta", "delta": delta, "usage": counts},
            {"type": "message_stop"},
        ]

    def error(self, status: int, code: str, message: str) -> object:
        return {"type": "error", "error": {"type": code or ERRORS.get(status, "api_error"), "message": message}}

    def error_event(self, status: int) -> object:
        return self.error(status, "", "no")


def _thought(reasoning: str) -> list[object]:
    block = {"type": "thinking", "thinking": "", "signature": ""}
    deltas = [{"type": "thinking_delta", "thinking": reasoning}, {"type": "signature_delta", "signature": "sig-1"}]
    return [
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
    ]


@asynccontextmanager
async def anthropic_world(patience: ModelTimeouts = PATIENT) -> AsyncGenerator[HttpWorld, None]:
    async with http_world(
        MessagesWire(), lambda url, line: open_messages(ANTHROPIC.at(url), MODEL, "sk-1", line), patience
    ) as world:
        yield world
