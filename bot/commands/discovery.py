"""Every command: what the files of this folder declare, by name. A file that is added is found at the next start."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Final

import bot.commands
from bot.commands.declaration import Command, PanelForm


def _declared() -> tuple[Command, ...]:
    modules = (import_module(f"{bot.commands.__name__}.{one.name}") for one in iter_modules(bot.commands.__path__))
    named = (value for module in modules for name, value in vars(module).items() if name.endswith("COMMAND"))
    found = {one.name: one for one in named if isinstance(one, Command)}
    return tuple(found[name] for name in sorted(found))


COMMANDS: Final = _declared()


def form_named(name: str) -> tuple[Command, PanelForm] | None:
    """A form, with the command whose words it spells."""
    return next(((one, form) for one in COMMANDS for form in one.forms if form.name == name), None)
