"""A service that speaks Gemini's Interactions, as the contract's `World`; it stores interactions, loses and deletes
them.
"""

from base64 import b64decode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

from agent.messages import Usage
from agent.providers.factory import ProviderWorld, open_interactions
from agent.providers.replay import ModelTimeouts
from agent.providers.wire_interactions import InteractionsProvider
from tests.contracts.model_world import PATIENT, Asked
from tests.fakes.gemini_service import MODEL, NAMES, gemini_at
from tests.fakes.http_world import HttpWorld, http_world
from tests.fakes.model_server import DONE, Reply, Request, whole

PATH = "/v1/interactions"


@dataclass(slots=True)
class InteractionsWire:
    """`stored` are the interactions that it has; `stubborn` those that it fails to delete.

    `lost_status` is its answer if it does not have the previous interaction, `refused` the number of these answers.
    """

    stored: list[str] = field(default_factory=list[str])
    deleted: list[str] = field(default_factory=list[str])
    stubborn: set[str] = field(default_factory=set[str])
    lost_status: int = 404
    refused: int = 0
    made: int = 0

    def other(self, request: Request) -> Reply | None:
        if request.method == "DELETE":
            return self._delete(request.path.removeprefix(f"{PATH}/"))
        assert (request.method, request.path) == ("POST", PATH)
        previous = request.json.get("previous_interaction_id")
        if previous is not None and previous not in self.stored:
            self.refused += 1
            return whole(self.lost_status, self.error(self.lost_status, "", "Requested entity was not found."))
        return None

    def asked(self, request: Request) -> Asked:
        body = request.json
        self.made += 1
        if body["store"]:
            self.stored.append(self._id)
        parts = [{"type": "text", "text": body["system_instruction"]}] if "system_instruction" in body else []
        for step in cast("list[dict[str, list[dict[str, object]]]]", body["input"]):
            parts += step["content"]
        texts = tuple(str(part["text"]) for part in parts if part["type"] == "text")
        images = tuple(b64decode(str(part["data"]), validate=True) for part in parts if part["type"] == "image")
        return Asked(texts, len(request.body), images, resumed="previous_interaction_id" in body)

    def begin(self, reasoning: str) -> list[object]:
        return [
            {"event_type": "interaction.created", "interaction": {"id": self._id, "status": "in_progress"}},
            {"event_type": "interaction.status_update", "interaction_id": self._id, "status": "in_progress"},
            *(_thought(reasoning) if reasoning else []),
            {"event_type": "step.start", "index": 1, "step": {"type": "model_output"}},
        ]

    def text(self, piece: str) -> object:
        return {"event_type": "step.delta", "index": 1, "delta": {"type": "text", "text": piece}}

    def end(self, usage: Usage, *, halted: bool) -> list[object]:
        del halted  # the vendor does not report it
        whole_input = usage.input_uncached + usage.input_cached
        counts = {
            "total_input_tokens": whole_input,
            "total_cached_tokens": usage.input_cached,
            "total_output_tokens": usage.output,
            "total_thought_tokens": usage.reasoning,
            "total_tokens": whole_input + usage.output + usage.reasoning,
        }
        interaction = {"id": self._id, "status": "completed", "usage": counts}
        return [
            {"event_type": "step.stop", "index": 1},
            {"event_type": "interaction.completed", "interaction": interaction},
            DONE,
        ]

    def error(self, status: int, code: str, message: str) -> object:
        return {"error": {"code": code or NAMES.get(status, "UNKNOWN"), "message": message}}

    def error_event(self, status: int) -> object:
        return {"event_type": "error", "error": {"code": NAMES.get(status, "UNKNOWN"), "message": "no"}}

    @property
    def _id(self) -> str:
        return f"v1_{self.made}"

    def _delete(self, interaction: str) -> Reply:
        if interaction in self.stubborn:
            return whole(503, self.error(503, "", "busy"))
        if interaction not in self.stored:
            return whole(404, self.error(404, "", "no such interaction"))
        self.stored.remove(interaction)
        self.deleted.append(interaction)
        return whole(200, {})


def _thought(reasoning: str) -> list[object]:
    summary = {"type": "thought_summary", "content": {"type": "text", "text": reasoning}}
    deltas = [summary, {"type": "thought_signature", "signature": "c2ln"}]
    return [
        {"event_type": "step.start", "index": 0, "step": {"type": "thought"}},
        *({"event_type": "step.delta", "index": 0, "delta": delta} for delta in deltas),
        {"event_type": "step.stop", "index": 0},
    ]


@asynccontextmanager
async def interactions_service(
    wire: InteractionsWire, patience: ModelTimeouts = PATIENT
) -> AsyncGenerator[tuple[HttpWorld, InteractionsProvider], None]:
    """Return the world, and its provider with its own type."""
    opened: list[InteractionsProvider] = []

    def provider_at(url: str, line: ProviderWorld) -> InteractionsProvider:
        opened.append(open_interactions(gemini_at(url), MODEL, "key-1", line))
        return opened[0]

    async with http_world(wire, provider_at, patience) as world:
        yield world, opened[0]


@asynccontextmanager
async def interactions_world(patience: ModelTimeouts = PATIENT) -> AsyncGenerator[HttpWorld, None]:
    async with interactions_service(InteractionsWire(), patience) as (world, _):
        yield world
