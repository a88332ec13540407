"""All commands that the files of this folder declare, by name. An added file is found at the next start."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Final

import bot.commands
from bot.commands.declaration import AnyCommand, Command, PanelForm


def _declared() -> tuple[AnyCommand, ...]:
    modules = (import_module(f"{bot.commands.__name__}.{info.name}") for info in iter_modules(bot.commands.__path__))
    values = (value for module in modules for name, value in vars(module).items() if name.endswith("COMMAND"))
    commands: dict[str, AnyCommand] = {value.name: value for value in values if isinstance(value, Command)}
    return tuple(commands[name] for name in sorted(commands))


COMMANDS: Final = _declared()


def form_named(name: str) -> tuple[AnyCommand, PanelForm] | None:
    """Return a form, with the command whose words it makes."""
    return next(((command, form) for command in COMMANDS for form in command.forms if form.name == name), None)
