"""A service that speaks Gemini's generateContent, as the contract's `World`."""

from base64 import b64decode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import cast

from agent.messages import Usage
from agent.providers.catalog import GEMINI, Endpoint
from agent.providers.factory import open_gemini
from agent.providers.replay import ModelTimeouts
from tests.contracts.model_world import PATIENT, Asked
from tests.fakes.http_world import HttpWorld, http_world
from tests.fakes.model_server import Reply, Request

MODEL = "gemini-3.8-flash"
NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class GeminiWire:
    def other(self, request: Request) -> Reply | None:
        assert (request.method, request.path) == ("POST", f"/v1/models/{MODEL}:streamGenerateContent?alt=sse")
        return None

    def asked(self, request: Request) -> Asked:
        system = cast("dict[str, list[dict[str, object]]]", request.json.get("systemInstruction", {"parts": []}))
        parts = list(system["parts"])
        for content in cast("list[dict[str, list[dict[str, object]]]]", request.json["contents"]):
            parts += content["parts"]
        texts = tuple(str(part["text"]) for part in parts if "text" in part)
        blobs = [cast("dict[str, str]", part["inlineData"]) for part in parts if "inlineData" in part]
        images = tuple(b64decode(blob["data"], validate=True) for blob in blobs)
        return Asked(texts, len(request.body), images)

    def begin(self, reasoning: str) -> list[object]:
        """If the model thought, the first part of its answer has a signature."""
        thought = [_piece({"text": reasoning, "thought": True}), _piece({"text": "", "thoughtSignature": "c2ln"})]
        return [_piece(), *(thought if reasoning else [])]

    def text(self, piece: str) -> object:
        return _piece({"text": piece})

    def end(self, usage: Usage, *, halted: bool) -> list[object]:
        del halted  # the vendor does not report it
        counts = {
            "promptTokenCount": usage.input_uncached + usage.input_cached,
            "cachedContentTokenCount": usage.input_cached,
            "candidatesTokenCount": usage.output,
            "thoughtsTokenCount": usage.reasoning,
            "totalTokenCount": usage.input_uncached + usage.input_cached + usage.output + usage.reasoning,
        }
        return [{"candidates": [{"finishReason": "STOP", "index": 0}], "usageMetadata": counts}]

    def error(self, status: int, code: str, message: str) -> object:
        name = NAMES.get(status, "UNKNOWN")
        details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": code}] if code else []
        return {"error": {"code": status, "status": name, "message": message, "details": details}}

    def error_event(self, status: int) -> object:
        return self.error(status, "", "no")


def _piece(*parts: object) -> dict[str, object]:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return {"candidates": [candidate], "modelVersion": MODEL, "responseId": "r-1"}


def gemini_at(url: str) -> Endpoint:
    return replace(GEMINI, base_url=url)


@asynccontextmanager
async def gemini_world(patience: ModelTimeouts = PATIENT) -> AsyncGenerator[HttpWorld, None]:
    async with http_world(
        GeminiWire(), lambda url, line: open_gemini(gemini_at(url), MODEL, "key-1", line), patience
    ) as world:
        yield world
