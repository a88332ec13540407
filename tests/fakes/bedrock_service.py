"""A service that speaks Converse of Amazon Bedrock, as the contract's `World`.

It is as strict as the real one about what it reads: signatures are verified, and each request must be one of botocore's
own description of the service. `tests/agent/providers/test_wire_converse_service.py` asks it with boto3 first.
"""

from base64 import b64decode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import unquote

from agent.messages import Usage
from agent.providers.aws_credentials import AwsCredentials, AwsIdentity
from agent.providers.catalog import BEDROCK, ToolsForm
from agent.providers.credentials import Key
from agent.providers.factory import OpenedProvider, ProviderWorld, open_converse
from agent.providers.replay import ModelTimeouts
from tests.contracts.model_world import PATIENT, Asked
from tests.fakes.aws_signatures import AwsUser
from tests.fakes.converse_types import problems
from tests.fakes.event_frames import STREAM_TYPE, blob, event_frame, exception_frame
from tests.fakes.http_world import HttpWorld, http_world
from tests.fakes.model_server import Reply, Request, whole

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
USER = AwsUser()
API_KEY = "ABSKQmVkcm9ja0FQSUtleS1leGFtcGxl"


@dataclass(slots=True)
class ConverseWire:
    """`models`: those that requests named, in order; `user` None: requests have an API key."""

    user: AwsUser | None = USER
    models: list[str] = field(default_factory=list[str])

    content_type: str = STREAM_TYPE

    def other(self, request: Request) -> Reply | None:
        """Refuse what the service refuses, before it asks a model."""
        parts = request.path.split("/")
        assert (request.method, parts[1], parts[3:]) == ("POST", "model", ["converse-stream"])
        assert request.headers.get("accept", STREAM_TYPE) == STREAM_TYPE  # boto3 sends none
        assert request.headers["content-type"] == "application/json"
        model = unquote(parts[2])
        self.models.append(model)
        if self.user is None:
            if request.headers.get("authorization") != f"Bearer {API_KEY}":
                return refused(403, "", "Authentication failed: Please make sure your API Key is valid.")
        elif reason := self.user.refusal(request):
            kind = "UnrecognizedClientException" if "token" in reason else "InvalidSignatureException"
            return refused(403, kind, reason)
        if found := problems(request.json, model):
            return refused(400, "ValidationException", "; ".join(found))
        return None

    def asked(self, request: Request) -> Asked:
        body = cast("dict[str, Any]", request.json)
        blocks = [*body.get("system", [])]
        for message in body["messages"]:
            blocks += message["content"]
        results = [block["toolResult"] for block in blocks if "toolResult" in block]
        told = [*blocks, *(block for result in results for block in result["content"])]
        texts = tuple(block["text"] for block in told if "text" in block)
        images = tuple(
            b64decode(block["image"]["source"]["bytes"], validate=True) for block in told if "image" in block
        )
        return Asked(texts, len(request.body), images)

    def begin(self, reasoning: str) -> list[object]:
        return [event_frame("messageStart", {"role": "assistant"}), *(_thought(reasoning) if reasoning else [])]

    def text(self, piece: str) -> object:
        return event_frame("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"text": piece}})

    def end(self, usage: Usage, *, halted: bool) -> list[object]:
        return [
            event_frame("contentBlockStop", {"contentBlockIndex": 1}),
            event_frame("messageStop", {"stopReason": "stop_sequence" if halted else "end_turn"}),
            event_frame("metadata", {"usage": usage_counts(usage), "metrics": {"latencyMs": 7}}),
        ]

    def error(self, status: int, code: str, message: str) -> object:  # noqa: ARG002 -- the body does not name it
        return {"message": message, **({"code": code} if code else {})}

    def error_event(self, status: int) -> object:
        return exception_frame("throttlingException" if status == 429 else "serviceUnavailableException", "no")

    def garbage(self) -> list[bytes]:
        return [event_frame("contentBlockDelta", {}, raw=b"{broken"), event_frame("weather", {"wind": 3})]


def refused(status: int, kind: str, message: str) -> list[bytes]:
    """Return a refusal in Amazon's form: the exception is named in a header."""
    named = f"x-amzn-errortype: {kind}:http://internal.amazon.com/coral/com.amazon.bedrock/\r\n" if kind else ""
    return whole(status, {"message": message}, extra=named)


def usage_counts(usage: Usage) -> dict[str, object]:
    output = usage.output + usage.reasoning
    return {
        "inputTokens": usage.input_uncached,
        "outputTokens": output,
        "totalTokens": usage.input_uncached + usage.input_cached + usage.input_written + output,
        "cacheReadInputTokens": usage.input_cached,
        "cacheWriteInputTokens": usage.input_written,
    }


def _thought(reasoning: str) -> list[object]:
    deltas = [{"text": reasoning}, {"signature": blob(b"signed")}]
    return [
        *(
            event_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": delta}})
            for delta in deltas
        ),
        event_frame("contentBlockStop", {"contentBlockIndex": 0}),
    ]


def identity_of(user: AwsUser) -> AwsIdentity:
    return AwsIdentity("", user.access_key_id, user.secret_access_key, user.session_token)


def bedrock_at(
    url: str, line: ProviderWorld, *, user: AwsUser | None = USER, model: str = MODEL, form: ToolsForm = ToolsForm.TEXT
) -> OpenedProvider:
    """A model at a service on this machine, whose requests are signed as `user`, or have an API key."""
    key: Key = API_KEY if user is None else AwsCredentials(identity_of(user), user.region, line.clock)
    return open_converse(BEDROCK.at(url.removesuffix("/v1")), model, key, line, form)


@asynccontextmanager
async def bedrock_world(*, signed: bool = True, patience: ModelTimeouts = PATIENT) -> AsyncGenerator[HttpWorld, None]:
    user = USER if signed else None
    async with http_world(ConverseWire(user), lambda url, line: bedrock_at(url, line, user=user), patience) as world:
        yield world
