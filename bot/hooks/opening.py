"""Opens the operator's hooks."""

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager

from agent.hooks.module import HookModule, load_hooks
from agent.hooks.running import Hooks
from agent.hooks.thread import HookThread
from agent.hooks.values import HookPoint, HookUse
from agent.ports.clock import Clock
from bot.hooks.settings import HOOKS, HookSettings, hook_module

log = logging.getLogger(__name__)


def loaded_hooks(settings: HookSettings) -> HookModule | None:
    """Load the operator's hooks; None without any. Raises SettingsError."""
    name = hook_module(settings)
    return load_hooks(name, settings.module or "", HOOKS) if name else None


@contextmanager
def open_hooks(
    settings: HookSettings, clock: Clock, record: Callable[[HookUse], None]
) -> Generator[Hooks | None, None, None]:
    """Open the operator's hooks until the block ends; None without any. Raises SettingsError."""
    module = loaded_hooks(settings)
    if module is None:
        yield None
        return
    log.info("hooks: %s", ", ".join(point for point in HookPoint if point in module.functions))
    thread = HookThread()
    try:
        yield Hooks(module, thread, clock, settings.timeout_s, record)
    finally:
        thread.close()
