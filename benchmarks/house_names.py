"""Finds what is found by a name: the kind of a turn in pieces of ids, and test files by the module that they test."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from benchmarks.house_code import PACKAGES, ROOT, Code, Module
from benchmarks.house_rooms import taken_by

# What ids of turns begin or end with where their kind is no value: schedules, ambient answers, long work, its message
KIND_MARKS: Final = frozenset({"scheduled:", "ambient:", ":work", ":told"})
_READS: Final = frozenset({
    "startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split", "find", "index",
    "like", "contains", "compile", "compile_later", "match", "fullmatch", "search",
})  # fmt: skip
TESTS: Final = "tests"
_TEST: Final = "test_"


def turn_kind_files(code: Code) -> list[PurePosixPath]:
    """Return the modules that read the kind of a turn from a piece of an id.

    They search text for one of `KIND_MARKS`, written out or as a constant of any module, or call a function that does
    and returns a bool. Putting an id together is no reading.
    """
    constants = {one for module in code.modules for one in _constants(module)}
    readers = {
        (module.name, function.name)
        for module in code.modules
        for function in module.functions
        if _reads(ast.walk(function), _local(module, code, constants))
        and isinstance(function.returns, ast.Name)
        and function.returns.id == "bool"
    }
    return [
        module.path
        for module in code.modules
        if _reads(module.nodes, _local(module, code, constants)) or _calls(module, _local(module, code, readers))
    ]


def _constants(module: Module) -> Iterator[tuple[str, str]]:
    """Yield each constant that is one of the marks."""
    for statement in module.tree.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value))
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=value))
            ) if value in KIND_MARKS:
                yield module.name, name
            case _:
                pass


def _local(module: Module, code: Code, things: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return the names of these things that this module defines or imports."""
    wanted = frozenset(things)
    own = (name for owner, name in wanted if owner == module.name)
    return frozenset([*own, *(one.name for one in taken_by(module, code.names) if (one.module, one.name) in wanted)])


def _reads(nodes: Iterable[ast.AST], constants: frozenset[str]) -> bool:
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[*arguments]) if name in _READS:
                if any(_is_mark(inner, constants) for one in arguments for inner in ast.walk(one)):
                    return True
            case ast.Compare():
                if any(_is_mark(one, constants) for one in [node.left, *node.comparators]):
                    return True
            case _:
                pass
    return False


def _is_mark(node: ast.AST, constants: frozenset[str]) -> bool:
    match node:
        case ast.Constant(value=value):
            return value in KIND_MARKS
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in constants
        case _:
            return False


def _calls(module: Module, functions: frozenset[str]) -> bool:
    called = (node.func for node in module.nodes if isinstance(node, ast.Call))
    return any(
        (isinstance(one, ast.Name) and one.id in functions)
        or (isinstance(one, ast.Attribute) and one.attr in functions)
        for one in called
    )


def orphan_test_files(root: Path = ROOT, packages: Iterable[str] = PACKAGES) -> list[PurePosixPath]:
    """Return the test files that are named after no module.

    The folders below `tests/agent`, `tests/bot` and `tests/store` mirror the packages: `test_NAME.py` there belongs to
    a module of the same folder, or to the folder, if NAME is its name, alone or with more words after a "_". Other
    tests (flows, contracts, the documents) test no single module.
    """
    orphans: list[PurePosixPath] = []
    for package in packages:
        for test in sorted((root / TESTS / package).rglob(f"{_TEST}*.py")):
            folder = root / test.parent.relative_to(root / TESTS)
            files = list(folder.iterdir()) if folder.is_dir() else []
            names = [one.stem for one in files if one.is_dir() or one.suffix == ".py"]
            names += [folder.name] if files else []
            subject = test.stem.removeprefix(_TEST)
            if not any(subject == name or subject.startswith(f"{name}_") for name in names):
                orphans.append(PurePosixPath(test.relative_to(root).as_posix()))
    return orphans
