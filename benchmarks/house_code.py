"""Reads a tree of Python code: its modules, each with its text and its syntax tree.

A module is a file of the packages, except migrations (written once, never changed) and an empty `__init__.py`.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Final, TypeAlias

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = ("agent", "bot", "store")
MIGRATIONS: Final = "migrations"

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, order=True)
class Call:
    """A function that is entered. `file` is relative to the project, as in "bot/__main__.py"."""

    file: str
    function: str
    line: int


@dataclass(frozen=True)
class Module:
    """`path` is relative to the project."""

    path: PurePosixPath
    text: str = field(repr=False)

    @property
    def name(self) -> str:
        """The name for imports: "agent.turn"."""
        parts = self.path.with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, str(self.path))

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        return tuple(ast.walk(self.tree))

    @property
    def functions(self) -> Iterator[Function]:
        """All functions and methods, also those within others."""
        return (node for node in self.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))

    @property
    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in self.nodes if isinstance(node, ast.ClassDef))

    def absolute(self, imported: ast.ImportFrom) -> str:
        """Return the absolute name of the module that is imported from: of "from ..a" too."""
        if not imported.level:
            return imported.module or ""
        package = self.path.with_suffix("").parts[:-1]
        return ".".join([*package[: len(package) - imported.level + 1], imported.module or ""]).strip(".")


@dataclass(frozen=True)
class Code:
    """All modules of some packages."""

    modules: Sequence[Module]

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all modules and packages."""
        parents = (module.name.split(".") for module in self.modules)
        return frozenset(".".join(parts[:end]) for parts in parents for end in range(1, len(parts) + 1))


def read_code(root: Path = ROOT, packages: Iterable[str] = PACKAGES) -> Code:
    """Read the packages below `root`."""
    modules: list[Module] = []
    for package in packages:
        for file in sorted((root / package).rglob("*.py")):
            path, text = PurePosixPath(file.relative_to(root).as_posix()), file.read_text(encoding="utf-8")
            if MIGRATIONS not in path.parts and (text.strip() or path.name != "__init__.py"):
                modules.append(Module(path, text))
    return Code(modules)
