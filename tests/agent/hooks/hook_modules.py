"""Hooks for tests: objects with the functions that an operator's module has."""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from agent.hooks.module import hooks_of
from agent.hooks.running import Hooks
from agent.hooks.thread import HookThread
from agent.hooks.values import HookUse
from agent.machine import CLOCK

Function = Callable[[Any], Awaitable[object]]


@contextmanager
def hooks_with(
    before_question: Function | None = None,
    before_call: Function | None = None,
    before_model: Function | None = None,
    after_answer: Function | None = None,
    *,
    uses: list[HookUse] | None = None,
    timeout_s: float = 5.0,
    responds_s: float = 0.5,
    hold_answers: bool = False,
) -> Generator[Hooks]:
    """Hooks with these functions. `uses` gets each use."""
    attributes = SimpleNamespace(
        before_question=before_question,
        before_call=before_call,
        before_model=before_model,
        after_answer=after_answer,
        hold_answers=hold_answers,
    )
    module = hooks_of(attributes, "my_hooks.py", "COGENCY_HOOKS")
    thread = HookThread(responds_s)
    try:
        yield Hooks(module, thread, CLOCK, timeout_s, list[HookUse]().append if uses is None else uses.append)
    finally:
        thread.close()
