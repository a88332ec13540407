"""Analyses a tree of Python code: its modules, their lines and heads, names that occur twice, imports.

Rules
  A module is a file of the packages, except migrations and an empty `__init__.py`.
  A head is everything above the first line of code: the docstring, the imports, and blank lines between them.
  `__init__.py` and `__main__.py` are Python's names, so they count as no duplicates. Files with one path in several
  platforms' folders count as one file, since they are meant to share their name; a file of that name elsewhere is
  another one.
"""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = ("agent", "bot", "store")
MIGRATIONS: Final = "migrations"
PLATFORMS: Final = ("bot", "platforms")
SMALL: Final = 60  # Lines; up to this length, a module should have a reason to be a module
_OF_PYTHON: Final = frozenset({"__init__.py", "__main__.py"})


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

    @property
    def head_lines(self) -> int:
        end = 0
        for number, statement in enumerate(self.tree.body):
            if not _is_head(statement, first=number == 0):
                break
            end = statement.end_lineno or 0
        return end

    @cached_property
    def classes(self) -> set[str]:
        return {node.name for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)}

    @cached_property
    def imported(self) -> frozenset[str]:
        """Every imported name that could be a module: of `from a import b` both a and a.b."""
        return frozenset(self._imported())

    def _imported(self) -> Iterable[str]:
        package = self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]
        for node in ast.walk(self.tree):
            match node:
                case ast.Import(names=names):
                    yield from (alias.name for alias in names)
                case ast.ImportFrom(module=module, names=names, level=level):
                    base = _absolute(package, module or "", level)
                    yield from (f"{base}.{alias.name}" for alias in names)
                    yield base
                case _:
                    pass


def _absolute(package: str, module: str, level: int) -> str:
    """Return the absolute name of "from ..a" in this package. `level`: the number of dots."""
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - level + 1], module]).strip(".") if level else module


def _is_head(statement: ast.stmt, *, first: bool) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return first
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body):
            return all(_is_head(one, first=False) for one in body)
        case _:
            return False


@dataclass(frozen=True)
class Code:
    """All modules of some packages."""

    modules: Sequence[Module]

    @property
    def lines(self) -> int:
        return sum(module.lines for module in self.modules)

    @property
    def small(self) -> list[Module]:
        return sorted((module for module in self.modules if module.lines <= SMALL), key=lambda module: module.lines)

    @property
    def head_share(self) -> float:
        """The lines of heads, in percent of all lines."""
        return 100 * sum(module.head_lines for module in self.modules) / self.lines

    def lines_by_folder(self) -> dict[str, int]:
        folders = Counter[str]()
        for module in self.modules:
            folders[str(module.path.parent)] += module.lines
        return dict(sorted(folders.items()))

    def duplicate_classes(self) -> dict[str, list[PurePosixPath]]:
        where: dict[str, list[PurePosixPath]] = defaultdict(list)
        for module in self.modules:
            for name in module.classes:
                where[name].append(module.path)
        return {name: paths for name, paths in sorted(where.items()) if len(paths) > 1}

    def duplicate_files(self) -> dict[str, list[PurePosixPath]]:
        where: dict[str, list[PurePosixPath]] = defaultdict(list)
        for module in self.modules:
            if module.path.name not in _OF_PYTHON:
                where[module.path.name].append(module.path)
        return {name: paths for name, paths in sorted(where.items()) if len({_shared(path) for path in paths}) > 1}

    def importers(self) -> dict[str, set[str]]:
        """Return the modules that import each module."""
        importers: dict[str, set[str]] = {module.name: set() for module in self.modules}
        for module in self.modules:
            names = module.imported & importers.keys()
            for name in names - {module.name}:
                importers[name].add(module.name)
        return importers

    def one_importer(self) -> dict[str, str]:
        """Return each module with exactly one importer, and that importer."""
        return {name: next(iter(by)) for name, by in sorted(self.importers().items()) if len(by) == 1}


def _shared(path: PurePosixPath) -> PurePosixPath:
    """Return a path without the name of its platform."""
    parts = path.parts
    return PurePosixPath(*PLATFORMS, *parts[3:]) if parts[:2] == PLATFORMS and len(parts) > 3 else path


def read_code(root: Path = ROOT, packages: Iterable[str] = PACKAGES) -> Code:
    """Read the packages below `root`."""
    modules: list[Module] = []
    for package in packages:
        for file in sorted((root / package).rglob("*.py")):
            path, text = PurePosixPath(file.relative_to(root)), file.read_text(encoding="utf-8")
            if MIGRATIONS not in path.parts and (text.strip() or path.name != "__init__.py"):
                modules.append(Module(path, text))
    return Code(modules)
