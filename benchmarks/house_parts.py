"""Finds modules that are several things: parts that do not refer to each other.

A part is a connected component of a module's top-level definitions: two functions or classes are connected if one
names the other, or if a constant names both (a table of functions). A constant that names none of them is no bridge:
it belongs to the first part that uses it. Imports connect nothing, nor does a parameter or a local variable that
happens to have the name of a definition. A class's name in a string counts as the name (an annotation).
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from benchmarks.house_code import Module

SMALL: Final = 60  # Lines; a module up to this length is not searched for parts
PART_LINES: Final = 50  # Two parts of at least this length are two modules
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True, slots=True)
class Part:
    """`first`: the name of the first function or class; `lines`: of all its definitions."""

    first: str
    line: int
    lines: int


@dataclass(frozen=True, slots=True)
class _Definition:
    names: tuple[str, ...]
    line: int
    lines: int
    is_constant: bool
    used: frozenset[str]


def is_glued(module: Module) -> bool:
    return module.lines > SMALL and len(large_parts(module)) > 1


def large_parts(module: Module) -> list[Part]:
    return [part for part in parts_of(module) if part.lines >= PART_LINES]


def parts_of(module: Module) -> list[Part]:
    """Return the parts of a module, in the order of their first lines."""
    definitions = list(_definitions(module.tree.body))
    things = {name for one in definitions if not one.is_constant for name in one.names}
    bridging = {name for one in definitions if one.is_constant and one.used & things for name in one.names}
    nodes = [one for one in definitions if not one.is_constant or bridging.intersection(one.names)]
    home = {name: number for number, one in enumerate(nodes) for name in one.names}
    roots = list(range(len(nodes)))
    for number, one in enumerate(nodes):
        for name in one.used & home.keys():
            roots[_root(roots, number)] = _root(roots, home[name])
    lines: dict[int, int] = defaultdict(int)
    first: dict[int, _Definition] = {}
    for number, one in enumerate(nodes):
        root = _root(roots, number)
        lines[root] += one.lines
        first.setdefault(root, one)
    for constant in definitions:
        users = (number for number, one in enumerate(nodes) if one.used.intersection(constant.names))
        if (
            constant.is_constant
            and not bridging.intersection(constant.names)
            and (user := next(users, None)) is not None
        ):
            lines[_root(roots, user)] += constant.lines
    return [Part(first[root].names[0], first[root].line, lines[root]) for root in first]


def _root(roots: list[int], number: int) -> int:
    while roots[number] != number:
        roots[number] = roots[roots[number]]
        number = roots[number]
    return number


def _definitions(body: Iterable[ast.stmt]) -> Iterator[_Definition]:
    for statement in body:
        match statement:
            case ast.Import() | ast.ImportFrom() | ast.Expr():
                continue
            case ast.If(body=inner, orelse=other) | ast.Try(body=inner, orelse=other):
                yield from _definitions([*inner, *other])
                continue
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names, begins = (name,), min([statement.lineno, *(one.lineno for one in statement.decorator_list)])
            case _:
                names, begins = tuple(_bound(statement)), statement.lineno
        lines = (statement.end_lineno or begins) - begins + 1
        is_constant = not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if names:
            yield _Definition(names, begins, lines, is_constant, frozenset(_used(statement, frozenset())) - set(names))


def _bound(node: ast.AST) -> Iterator[str]:
    return (one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))


def _used(node: ast.AST, local: frozenset[str]) -> Iterator[str]:
    """Yield the names that are read within a node, without those that are local to a function."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in local:
        yield node.id
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
        yield from [node.value] if node.value[0].isupper() else []
    if isinstance(node, _SCOPES):
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        yield from (name for one in every if one is not None for name in _used(one, local))
        body = node.body if isinstance(node.body, list) else [node.body]
        inner = local | {one.arg for one in every if one is not None} | {name for one in body for name in _bound(one)}
        yield from (name for one in body for name in _used(one, inner))
        rest = [*arguments.defaults, *(one for one in arguments.kw_defaults if one is not None)]
        if not isinstance(node, ast.Lambda):
            rest += [*node.decorator_list, *([node.returns] if node.returns is not None else [])]
        yield from (name for one in rest for name in _used(one, local))
        return
    for child in ast.iter_child_nodes(node):
        yield from _used(child, local)
