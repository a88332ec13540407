"""The operator's module with hooks: async functions with the names of `HookPoint`, each optional."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from agent import texts
from agent.errors import SettingsError
from agent.hooks.values import HookPoint
from agent.operator_modules import import_operator_module

Hook: TypeAlias = Callable[[Any], Awaitable[object]]

HOLDS: Final = "hold_answers"


@dataclass(frozen=True, slots=True)
class HookModule:
    """`holds_answers`: no text of an answer is shown before `after_answer` has seen all of it."""

    functions: dict[HookPoint, Hook] = field(default_factory=dict[HookPoint, Hook])
    holds_answers: bool = False


def load_hooks(path: str, source: str, setting: str) -> HookModule:
    """Import a file (a path that ends with .py) or a module, and return its hooks. Raises SettingsError, which says
    what is wrong with it.
    """
    return hooks_of(import_operator_module(path, source, setting), source, setting)


def hooks_of(module: object, source: str, setting: str) -> HookModule:
    """Return the hooks among the attributes of a module, or of any object. Raises SettingsError."""
    functions = dict[HookPoint, Hook]()
    for point in HookPoint:
        function: Any = getattr(module, point, None)
        if function is None:
            continue
        # One that is not async would run in the way of other hooks, and one without a parameter fails at each use.
        if not inspect.iscoroutinefunction(function) or not _takes_one(function):
            raise SettingsError(texts.NO_HOOK.format(setting=setting, source=source, name=point))
        functions[point] = function
    if not functions:
        names = ", ".join(HookPoint)
        raise SettingsError(texts.NO_HOOKS_THERE.format(setting=setting, source=source, names=names))
    holds: object = getattr(module, HOLDS, False)
    if not isinstance(holds, bool) or (holds and HookPoint.AFTER_ANSWER not in functions):
        raise SettingsError(texts.NOTHING_TO_HOLD_FOR.format(setting=setting, source=source))
    return HookModule(functions, holds)


def _takes_one(function: Hook) -> bool:
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    return True
