"""Imports an operator's own code: only modules and files that a setting names."""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from types import ModuleType
from typing import Final

from agent import texts
from agent.errors import SettingsError

MAX_SHOWN_CHARS: Final = 300  # Of an error's text


def import_operator_module(path: str, source: str, setting: str) -> ModuleType:
    """Import a file (a path that ends with .py) or a module. `source`: how the `setting` names it.

    Raises SettingsError, with the reason.
    """
    try:
        return _run(path) if path.endswith(".py") else import_module(path)
    except (Exception, SystemExit) as error:  # whatever the operator's code raises
        is_missing = isinstance(error, ModuleNotFoundError) and f"{path}.".startswith(f"{error.name}.")
        if is_missing:
            raise SettingsError(texts.NO_SUCH_MODULE.format(setting=setting, source=source)) from error
        message = " ".join(str(error).split())[:MAX_SHOWN_CHARS]
        name = type(error).__name__
        broken = texts.MODULE_BROKEN.format(
            setting=setting, source=source, error=name, said=message or "no further details"
        )
        raise SettingsError(broken) from error


def _run(file: str) -> ModuleType:
    """Import a file as a module. The module's name is the path, so that it hides no other module."""
    if file in sys.modules:
        return sys.modules[file]
    loader = SourceFileLoader(file, file)
    module = sys.modules[file] = module_from_spec(ModuleSpec(file, loader, origin=file))
    try:
        loader.exec_module(module)
    except BaseException:  # a module that did not load must not be found as if it had
        del sys.modules[file]
        raise
    return module
