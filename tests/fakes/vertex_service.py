"""Vertex AI with a model of Google and one of Anthropic, as the contract's `World`."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast

from agent.messages import Usage
from agent.providers.catalog import vertex_at
from agent.providers.factory import ProviderWorld, open_vertex
from agent.providers.replay import ModelTimeouts, ReplayProvider
from tests.contracts.model_world import PATIENT
from tests.fakes.anthropic_service import MODEL as CLAUDE
from tests.fakes.anthropic_service import MessagesWire
from tests.fakes.gemini_service import MODEL as GEMINI
from tests.fakes.gemini_service import GeminiWire
from tests.fakes.http_world import HttpWorld, http_world
from tests.fakes.model_server import Reply, Request, event, whole
from tests.fakes.vendor_types import fits

PROJECT, LOCATION, KEY, TOKEN = "boats-123", "europe-west1", "key-1-of-google", "token-1-of-google"
HOME = f"projects/{PROJECT}/locations/{LOCATION}/"
UNKNOWN = (
    f"Publisher Model `projects/{PROJECT}/locations/{LOCATION}/publishers/google/models/m` was not found or your "
    "project does not have access to it. Please ensure you are using a valid model version. For more information, see: "
    "https://cloud.google.com/vertex-ai/generative-ai/docs/learn/model-versions"
)


def refusal(status: int, name: str, message: str, reason: str = "") -> dict[str, object]:
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com"}]
    return {"error": {"code": status, "message": message, "status": name, "details": details if reason else []}}


NO_TOKEN = refusal(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.", "ACCESS_TOKEN_EXPIRED")


def _authorized(request: Request, *, express: bool) -> bool:
    if express:
        return request.headers.get("x-goog-api-key") == KEY
    return request.headers.get("authorization") == f"Bearer {TOKEN}" or request.headers.get("x-goog-api-key") == KEY


class VertexGeminiWire(GeminiWire):
    """`express`: the URL has no project, and the request a key."""

    def __init__(self, *, express: bool = False) -> None:
        self._express = express

    def other(self, request: Request) -> Reply | None:
        if not _authorized(request, express=self._express):
            return whole(401, NO_TOKEN)
        root = "" if self._express else HOME
        paths = [
            f"/{version}/{root}publishers/google/models/{GEMINI}:streamGenerateContent?alt=sse"
            for version in ("v1", "v1beta1")
        ]
        assert request.method == "POST"
        assert request.path in paths
        return None

    def error(self, status: int, code: str, message: str) -> object:
        known = {401: NO_TOKEN, 404: refusal(404, "NOT_FOUND", UNKNOWN)}
        return known.get(status) or super().error(status, code, message)


class VertexClaudeWire(MessagesWire):
    """The body has the version and no model; there is no header for them, and no field that this service refuses."""

    def other(self, request: Request) -> Reply | None:
        if not _authorized(request, express=False):
            return whole(401, NO_TOKEN)
        assert request.method == "POST"
        assert request.path == f"/v1/{HOME}publishers/anthropic/models/{CLAUDE}:streamRawPredict"
        body = dict(request.json)
        assert body.pop("anthropic_version") in {"vertex-2023-10-16", "2026-10-21"}
        assert "model" not in body
        assert "cache_control" not in body
        assert "anthropic-beta" not in request.headers
        assert fits("anthropic.types:MessageCreateParams", {**body, "model": CLAUDE, "stream": True})
        return None

    def begin(self, reasoning: str) -> list[object]:
        return list(map(_named, super().begin(reasoning)))

    def text(self, piece: str) -> object:
        return _named(super().text(piece))

    def end(self, usage: Usage, *, halted: bool) -> list[object]:
        return list(map(_named, super().end(usage, halted=halted)))

    def error_event(self, status: int) -> object:
        return _named(MessagesWire.error(self, status, "", "no"))

    def error(self, status: int, code: str, message: str) -> object:
        known = {
            401: NO_TOKEN,
            404: refusal(404, "NOT_FOUND", UNKNOWN),
            429: refusal(429, "RESOURCE_EXHAUSTED", "Quota exceeded."),
        }
        return known.get(status) or super().error(status, code, message)


def _named(sent: object) -> bytes:
    """Return an event with its name, by which the vendor's client reads it."""
    name = str(cast("dict[str, object]", sent)["type"])
    return f"event: {name}\n".encode() + event(sent)


@asynccontextmanager
async def vertex_world(
    wire: VertexGeminiWire | VertexClaudeWire | None = None, patience: ModelTimeouts = PATIENT
) -> AsyncGenerator[HttpWorld, None]:
    wire = wire or VertexGeminiWire()
    model = CLAUDE if isinstance(wire, VertexClaudeWire) else GEMINI

    def opened(url: str, line: ProviderWorld) -> ReplayProvider:
        return open_vertex(vertex_at(PROJECT, LOCATION, url), model, KEY, line)

    async with http_world(wire, opened, patience) as world:
        yield world


@asynccontextmanager
async def vertex_claude_world(patience: ModelTimeouts = PATIENT) -> AsyncGenerator[HttpWorld, None]:
    async with vertex_world(VertexClaudeWire(), patience) as world:
        yield world
