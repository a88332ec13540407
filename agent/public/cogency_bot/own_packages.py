"""Loads `agent` and `store` for a program whose own modules may have the same names.

Rules
  Where these names mean our packages, as in the bot itself, those are used.
  Where one of them means another module, such as an `agent.py` beside the program, ours are loaded as
  `cogency_bot.agent` and `cogency_bot.store`, and the program's modules stay what they are. This is decided once, at
  the first use of a name of `cogency_bot`.

Theory: our modules import each other by their full names, `agent.errors`. Which `agent` an import statement means is
decided by `__import__` among the builtins of the module that it stands in (Python's reference for `import` and
`builtins`). So each of our modules that is loaded here gets builtins of its own, whose `__import__` puts `cogency_bot.`
before these names. Nothing else in the process sees them.
"""

import builtins
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Final

HERE: Final = "cogency_bot"
PACKAGES: Final = frozenset({"agent", "store"})
# Beside this package where it is installed, and above it in the repository.
_HOME: Final = next(folder for folder in Path(__file__).resolve().parents if (folder / "agent/__init__.py").is_file())


def load(name: str) -> ModuleType:
    """Return our package of this name."""
    return import_module(f"{HERE}.{name}" if _is_private() else name)


@cache
def _is_private() -> bool:
    """Return whether our packages are loaded below this one, because one of their names means another module."""
    if all(_is_ours(name) for name in PACKAGES):
        return False
    sys.meta_path.insert(0, _OwnFinder())
    return True


def _is_ours(name: str) -> bool:
    module = sys.modules.get(name)
    if module is None:
        spec = find_spec(name)
        origin = None if spec is None else spec.origin
    else:
        origin = getattr(module, "__file__", None)
    return origin is not None and Path(origin).resolve() == _HOME / name / "__init__.py"


class _OwnFinder(MetaPathFinder):
    """Finds `cogency_bot.agent`, `cogency_bot.store` and what is in them."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,  # noqa: ARG002 -- of a reload
    ) -> ModuleSpec | None:
        here, _, own = fullname.partition(".")
        package, _, inside = own.partition(".")
        if here != HERE or package not in PACKAGES:
            return None
        spec = PathFinder.find_spec(fullname, path if inside else [str(_HOME)])
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _OwnLoader(spec.loader.name, spec.loader.path)
        return spec


class _OwnLoader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": _import}
        super().exec_module(module)


def _import(
    name: str,
    globals_: Mapping[str, object] | None = None,
    locals_: Mapping[str, object] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    """As the built-in function of that name, for statements in our modules."""
    package = name.partition(".")[0]
    if level or package not in PACKAGES:
        return __import__(name, globals_, locals_, fromlist or (), level)
    own = import_module(f"{HERE}.{name}")
    if not fromlist:
        return sys.modules[f"{HERE}.{package}"]  # `import agent.errors` binds `agent`
    return __import__(own.__name__, globals_, locals_, fromlist)
