"""The settings of hooks."""

from dataclasses import dataclass
from typing import Final

from agent.hooks.running import TIMEOUT_S
from bot.settings import parsers
from bot.settings.declaration import Section, Sensitivity, setting
from bot.settings.parsers import is_python_source
from bot.settings.sources import named_file

HOOKS: Final = "COGENCY_HOOKS"


def parse_module(value: str) -> str:
    """Parse a file, which ends in .py, or the name of a module."""
    name = value.strip()
    if not is_python_source(name):
        raise ValueError("must be one file or module, as in my_hooks.py")
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSettings:
    """The operator's own module with hooks, and how long one may take."""

    module: str | None = setting(
        HOOKS,
        parse_module,
        None,
        section=Section.TOOLS,
        description=(
            "A Python file or module with your hooks: async functions that check questions, tool calls, answers, and "
            "the texts that are sent to a model. They run inside the bot; see docs/hooks.md. Default: none."
        ),
        example="my_hooks.py",
        sensitivity=Sensitivity(runs_code=lambda name: name is not None and name.endswith(".py")),
    )
    timeout_s: float = setting(
        "COGENCY_HOOK_TIMEOUT_S",
        parsers.seconds(60),
        TIMEOUT_S,
        section=Section.BOUNDS,
        description="Time limit for one call of a hook function (COGENCY_HOOKS), in seconds.",
    )
    """Each answer waits for some of these calls."""


def hook_module(settings: HookSettings) -> str:
    """Return COGENCY_HOOKS, a file with its absolute path; "" for none. It runs here, so it is checked like `.env`.

    Raises SettingsError.
    """
    name = settings.module or ""
    return str(named_file(HOOKS, name)[0]) if name.endswith(".py") else name
