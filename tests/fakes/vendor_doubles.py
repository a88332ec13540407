"""Every vendor's protocol as the npm double implements it: how a model is opened there, and how it reports failures."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from agent.errors import ProviderError, ProviderRefused, ProviderUnavailable
from agent.messages import Message, Role
from agent.ports.model import ProviderEvent, ReasoningArrived, ResponseEnded, TokensArrived
from agent.providers.catalog import ANTHROPIC, BEDROCK, LIVE, OPENAI, REALTIME
from agent.providers.factory import (
    ProviderWorld,
    open_chat,
    open_converse,
    open_gemini,
    open_interactions,
    open_live,
    open_messages,
    open_realtime,
    open_responses,
    replaying,
)
from agent.providers.replay import ModelTimeouts, ReplayProvider
from agent.providers.socket_session import SocketProvider
from agent.providers.wire_interactions import InteractionsProvider
from agent.providers.wire_responses import ResponsesDialect, ResponsesProvider
from tests.fakes.aimock import AiMock
from tests.fakes.clock import FakeClock
from tests.fakes.gemini_service import MODEL as GEMINI_MODEL
from tests.fakes.gemini_service import gemini_at
from tests.patience import PATIENCE_S

LONG: Final = "One sentence that is cut into several pieces. " * 5
ANY: Final = {"match": {"userMessage": "Hello"}}
MESSAGES: Final = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Hello"))
# The connection is lost in the middle of the answer.
CUT: Final = {**ANY, "response": {"content": LONG}, "chunkSize": 10, "truncateAfterChunks": 8, "latency": 20}

Opened: TypeAlias = ReplayProvider | ResponsesProvider | InteractionsProvider | SocketProvider


@dataclass(frozen=True, slots=True)
class Refusal:
    """A vendor's answer instead of a stream, and the resulting error after how many requests."""

    message: str
    status: int
    kind: type[ProviderError]
    requests: int
    type: str = ""
    code: str = ""

    @property
    def response(self) -> dict[str, object]:
        named = {name: text for name, text in (("type", self.type), ("code", self.code)) if text}
        return {"error": {"message": self.message, **named}, "status": self.status}


OPENAI_REFUSALS: Final = (
    Refusal("oops", 500, ProviderUnavailable, 3, type="server_error"),
    Refusal("busy", 529, ProviderUnavailable, 3, type="overloaded_error"),
    Refusal("no", 401, ProviderRefused, 1, code="invalid_api_key"),
    Refusal("no model", 404, ProviderRefused, 1, code="model_not_found"),
    Refusal("quota", 429, ProviderRefused, 1, code="insufficient_quota"),
)
ANTHROPIC_REFUSALS: Final = (
    Refusal("oops", 500, ProviderUnavailable, 3, type="api_error"),
    Refusal("busy", 529, ProviderUnavailable, 3, type="overloaded_error"),
    Refusal("no", 401, ProviderRefused, 1, type="authentication_error"),
    Refusal("model: x", 404, ProviderRefused, 1, type="not_found_error"),
)
AMAZON_REFUSALS: Final = (
    Refusal("oops", 500, ProviderUnavailable, 3, type="InternalServerException"),
    Refusal("busy", 503, ProviderUnavailable, 3, type="ServiceUnavailableException"),
    Refusal("no", 403, ProviderRefused, 1, type="AccessDeniedException"),
    Refusal("The provided model identifier is invalid.", 400, ProviderRefused, 1, type="ValidationException"),
)
GOOGLE_REFUSALS: Final = (
    Refusal("oops", 500, ProviderUnavailable, 3, type="INTERNAL"),
    Refusal("busy", 503, ProviderUnavailable, 3, type="UNAVAILABLE"),
    Refusal("no", 401, ProviderRefused, 1, type="UNAUTHENTICATED"),
)


@dataclass(frozen=True, slots=True)
class Double:
    """One protocol of one vendor. `limit` is its rate-limit error; `meters`: the double reports usage."""

    name: str
    open: Callable[[str, ProviderWorld], Opened]
    refusals: tuple[Refusal, ...]
    limit: str = "rate_limit_error"
    meters: bool = True

    @asynccontextmanager
    async def talking(
        self, aimock: AiMock, *fixtures: Mapping[str, object], clock: FakeClock | None = None
    ) -> AsyncGenerator[Opened, None]:
        """The vendor's model, answering by these fixtures, for PATIENCE_S at most."""
        aimock.load(*fixtures)
        line = ProviderWorld(
            clock or FakeClock(), lambda: 0.0, ModelTimeouts(first_token_s=10.0, between_tokens_s=10.0)
        )
        provider = self.open(aimock.url, line)
        async with asyncio.timeout(PATIENCE_S):
            try:
                yield provider
            finally:
                if not isinstance(provider, SocketProvider):
                    await provider.aclose()


def _responses_over_http(url: str, line: ProviderWorld) -> ReplayProvider:
    return replaying(OPENAI.at(url), "gpt-6.1-terra", ResponsesDialect("gpt-6.1-terra"), "sk-1", line)


CHAT: Final = Double("chat", lambda url, line: open_chat(OPENAI.at(url), "m-1", "sk-1", line), OPENAI_REFUSALS)
RESPONSES: Final = Double("responses", _responses_over_http, OPENAI_REFUSALS)
RESPONSES_SOCKET: Final = Double(
    "responses-socket",
    lambda url, line: open_responses(OPENAI.at(url), "gpt-6.1-terra", "sk-1", line),
    OPENAI_REFUSALS,
)
ANTHROPIC_MESSAGES: Final = Double(
    "messages",
    lambda url, line: open_messages(ANTHROPIC.at(url), "claude-sonnet-5-5", "sk-1", line),
    ANTHROPIC_REFUSALS,
)
BEDROCK_CONVERSE: Final = Double(
    "bedrock",
    lambda url, line: open_converse(BEDROCK.at(url), "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "key-1", line),
    AMAZON_REFUSALS,
    limit="ThrottlingException",
)
GEMINI: Final = Double(
    "gemini", lambda url, line: open_gemini(gemini_at(f"{url}/v1beta"), GEMINI_MODEL, "key-1", line), GOOGLE_REFUSALS
)
INTERACTIONS: Final = Double(
    "interactions",
    lambda url, line: open_interactions(gemini_at(f"{url}/v1beta"), GEMINI_MODEL, "key-1", line),
    GOOGLE_REFUSALS,
    limit="RESOURCE_EXHAUSTED",
)
REALTIME_SOCKET: Final = Double(
    "realtime",
    lambda url, line: open_realtime(REALTIME.at(f"{url}/v1"), "gpt-realtime-2.1-mini", "sk-1", line),
    (Refusal("oops", 500, ProviderUnavailable, 3, type="server_error"),),
    meters=False,
)
LIVE_SOCKET: Final = Double(
    "live",
    lambda url, line: open_live(LIVE.at(url), "gemini-live-2.5-flash", "AIza-1", line),
    (
        Refusal("oops", 500, ProviderUnavailable, 3, type="INTERNAL"),
        Refusal("no such model", 404, ProviderRefused, 1, type="NOT_FOUND"),
    ),
    meters=False,
)
HTTP: Final = (CHAT, RESPONSES, ANTHROPIC_MESSAGES, BEDROCK_CONVERSE, GEMINI, INTERACTIONS)
ALL: Final = (*HTTP, RESPONSES_SOCKET, REALTIME_SOCKET, LIVE_SOCKET)


async def read(provider: Opened, messages: Sequence[Message] = MESSAGES) -> list[ProviderEvent]:
    return [event async for event in provider.stream(messages)]


def texts(events: Sequence[ProviderEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, TokensArrived) and event.text]


def thoughts(events: Sequence[ProviderEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, ReasoningArrived))


def end_of(events: Sequence[ProviderEvent]) -> ResponseEnded:
    assert isinstance(events[-1], ResponseEnded)
    return events[-1]
