"""Every fake model service, by the name that stands in the report of a failing test."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

from tests.contracts.model_world import World
from tests.fakes.anthropic_service import anthropic_world
from tests.fakes.chat_service import chat_world

WORLDS: dict[str, Callable[[], AbstractAsyncContextManager[World]]] = {
    "anthropic": anthropic_world,
    "chat": chat_world,
    "chat-bare": partial(chat_world, stop=False, images=True),
}
