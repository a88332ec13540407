"""A resource of Azure OpenAI with one deployment, as the contract's `World`: Chat Completions by a dated version or v1.

It differs from OpenAI as the vendor does: the first chunk has the filter's results and no choice, each choice has more
of them, some chunks have nothing else, and errors have Azure's codes. Each chunk fits the vendor's own types.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast

from agent.messages import Usage
from agent.providers.catalog import azure_at
from agent.providers.factory import ProviderWorld, open_chat
from agent.providers.replay import ModelTimeouts, ReplayProvider
from tests.contracts.model_world import PATIENT
from tests.fakes.chat_service import ChatWire
from tests.fakes.http_world import HttpWorld, http_world
from tests.fakes.model_server import DONE, Reply, Request, whole
from tests.fakes.vendor_types import parses

DEPLOYMENT, MODEL, VERSION, KEY, TOKEN = "chat-prod", "gpt-4.1", "2024-10-21", "key-1-of-azure", "token-1-of-entra"
SAFE = {
    "hate": {"filtered": False, "severity": "safe"},
    "self_harm": {"filtered": False, "severity": "safe"},
    "sexual": {"filtered": False, "severity": "safe"},
    "violence": {"filtered": False, "severity": "safe"},
}
CHUNK = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_764_460_800, "model": "gpt-4.1-2025-04-14"}
FILTERED = {
    "error": {
        "message": (
            "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please "
            "modify your prompt and retry."
        ),
        "type": None,
        "param": "prompt",
        "code": "content_filter",
        "status": 400,
        "innererror": {
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_result": {**SAFE, "hate": {"filtered": True, "severity": "high"}},
        },
    }
}
NO_KEY = (
    "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an "
    "active subscription and use a correct regional API endpoint for your resource."
)
NO_DEPLOYMENT = (
    "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, "
    "please wait a moment and try again."
)
LIMIT = (
    "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-10-21 have exceeded token "
    "rate limit of your current OpenAI S0 pricing tier. Please retry after 7 seconds."
)


def refusal(code: str, message: str) -> dict[str, object]:
    return {"error": {"code": code, "message": message}}


class AzureWire(ChatWire):
    """`version`: the dated version of the API; "" is v1."""

    def __init__(self, version: str = VERSION) -> None:
        super().__init__(stop=True)
        self._version = version

    def other(self, request: Request) -> Reply | None:
        path, _, query = request.path.partition("?")
        if request.headers.get("api-key") != KEY and request.headers.get("authorization") not in {
            f"Bearer {KEY}",
            f"Bearer {TOKEN}",
        }:
            return whole(401, refusal("401", NO_KEY))
        if self._version and query != f"api-version={self._version}":
            return whole(404, refusal("404", "Resource not found"))
        name = path.split("/")[3] if self._version else request.json["model"]
        if name != DEPLOYMENT:
            return whole(404, refusal("DeploymentNotFound", NO_DEPLOYMENT))
        root = f"/openai/deployments/{DEPLOYMENT}" if self._version else "/openai/v1"
        assert (request.method, path) == ("POST", f"{root}/chat/completions")
        return None

    def begin(self, reasoning: str) -> list[object]:
        results = [{"prompt_index": 0, "content_filter_results": SAFE}]
        prompt: dict[str, object] = {**CHUNK, "id": "", "choices": [], "prompt_filter_results": results}
        role = _chunk({"role": "assistant", "content": "", "refusal": None})
        thought = [_chunk({"reasoning_content": reasoning})] if reasoning else list[object]()
        return [_checked(prompt), role, *thought]

    def text(self, piece: str) -> object:
        return _chunk({"content": piece})

    def end(self, usage: Usage, *, halted: bool) -> list[object]:
        # An asynchronous filter reports on text that was sent before.
        annotated = {
            "index": 0,
            "finish_reason": None,
            "delta": {},
            "content_filter_offsets": {"check_offset": 0, "start_offset": 0, "end_offset": 12},
            "content_filter_results": SAFE,
        }
        finish, counted, _ = super().end(usage, halted=halted)
        choice = cast("dict[str, list[dict[str, object]]]", finish)["choices"][0]
        return [
            _checked({**CHUNK, "choices": [annotated]}),
            _checked({**CHUNK, "choices": [{**choice, "delta": {}, "content_filter_results": {}}]}),
            _checked({**CHUNK, **cast("dict[str, object]", counted)}),
            DONE,
        ]

    def error(self, status: int, code: str, message: str) -> object:
        del code, message
        known = {401: ("401", NO_KEY), 404: ("DeploymentNotFound", NO_DEPLOYMENT), 429: ("429", LIMIT)}
        return refusal(*known.get(status, ("InternalServerError", "The server had an error processing the request.")))

    def error_event(self, status: int) -> object:
        return self.error(status, "", "")


def _chunk(delta: dict[str, object]) -> dict[str, object]:
    return _checked(
        {**CHUNK, "choices": [{"index": 0, "finish_reason": None, "delta": delta, "content_filter_results": {}}]}
    )


def _checked(chunk: dict[str, object]) -> dict[str, object]:
    assert parses("openai.types.chat:ChatCompletionChunk", chunk)
    return chunk


@asynccontextmanager
async def azure_world(version: str = VERSION, patience: ModelTimeouts = PATIENT) -> AsyncGenerator[HttpWorld, None]:
    def opened(url: str, line: ProviderWorld) -> ReplayProvider:
        return open_chat(azure_at(url.removesuffix("/v1"), version), f"{DEPLOYMENT}/{MODEL}", KEY, line)

    async with http_world(AzureWire(version), opened, patience) as world:
        yield world
