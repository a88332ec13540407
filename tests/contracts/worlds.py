"""Every fake model service, by the name that stands in the report of a failing test."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

from tests.contracts.model_world import World
from tests.fakes.anthropic_service import anthropic_world
from tests.fakes.azure_service import azure_world
from tests.fakes.bedrock_service import bedrock_world
from tests.fakes.chat_service import chat_world
from tests.fakes.gemini_service import gemini_world
from tests.fakes.interactions_service import interactions_world
from tests.fakes.live_service import WRITER, live_world
from tests.fakes.openai_service import responses_http_world, responses_world
from tests.fakes.realtime_service import realtime_world
from tests.fakes.vertex_service import vertex_claude_world, vertex_world

WORLDS: dict[str, Callable[..., AbstractAsyncContextManager[World]]] = {
    "anthropic": anthropic_world,
    "azure": azure_world,
    "bedrock": bedrock_world,
    "bedrock-key": partial(bedrock_world, signed=False),
    "chat": chat_world,
    "chat-bare": partial(chat_world, stop=False, images=True),
    "gemini": gemini_world,
    "gemini-interactions": interactions_world,
    "gemini-live": live_world,
    "gemini-live-text": partial(live_world, WRITER),
    "openai": responses_world,
    "openai-http": responses_http_world,
    "openai-realtime": realtime_world,
    "vertex-claude": vertex_claude_world,
    "vertex-gemini": vertex_world,
}
