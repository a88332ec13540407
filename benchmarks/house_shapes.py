"""Measures functions and classes: parameters, hard functions without a comment, the class that platforms get, options.

Branches of a function: each `if`, `elif`, conditional expression, loop, `except`, `case` (except a bare `case _`, an
else), each further operand of `and` and `or`, and each `for` of a comprehension; those of functions within it count for
these. A comment is one in the lines of the function that speaks of the code: the reason of a lint exception
or an order to a type checker is none.
"""

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from benchmarks.house_code import Code, Function, Module

HOST: Final = "Host"  # The class that platforms get: the bot as they see it
HARD: Final = 12  # Branches
CONFIGS: Final = ("Config", "Options")
SETTINGS: Final = frozenset({"options.py", "settings.py"})  # Options there are settings, which may be unset
_ORDERS: Final = ("noqa", "type:", "pyright:", "pragma:", "fmt:")


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure of a function or class. `place`: "bot/chat/host.py:549"."""

    place: str
    name: str
    figure: int


def parameters(code: Code) -> list[Measured]:
    """Return all functions with their number of parameters, without `self` and `cls`; most first."""
    return _most(
        Measured(_place(module, function), function.name, _parameters(function))
        for module in code.modules
        for function in module.functions
    )


def _parameters(function: Function) -> int:
    positional = [*function.args.posonlyargs, *function.args.args]
    if positional and positional[0].arg in {"self", "cls"}:
        del positional[0]
    extra = [one for one in (function.args.vararg, function.args.kwarg) if one is not None]
    return len(positional) + len(function.args.kwonlyargs) + len(extra)


def hard_functions(code: Code) -> tuple[list[Measured], list[Measured]]:
    """Return the functions with at least `HARD` branches, and those of them without a comment; most branches first."""
    hard: list[Measured] = []
    without: list[Measured] = []
    for module in code.modules:
        found = [(one, branches) for one in module.functions if (branches := branches_of(one)) >= HARD]
        comments = _comment_lines(module.text) if found else frozenset[int]()
        for function, branches in found:
            measured = Measured(_place(module, function), function.name, branches)
            hard.append(measured)
            if comments.isdisjoint(range(function.lineno, (function.end_lineno or function.lineno) + 1)):
                without.append(measured)
    return _most(iter(hard)), _most(iter(without))


def branches_of(function: Function) -> int:
    branches, waiting = 0, list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                continue
            case (
                ast.If()
                | ast.IfExp()
                | ast.For()
                | ast.AsyncFor()
                | ast.While()
                | ast.ExceptHandler()
                | ast.comprehension()
            ):
                branches += 1
            case ast.match_case(pattern=ast.MatchAs(pattern=None, name=None), guard=None):
                pass
            case ast.match_case():
                branches += 1
            case ast.BoolOp(values=values):
                branches += len(values) - 1
            case _:
                pass
        waiting += ast.iter_child_nodes(node)
    return branches


def _comment_lines(text: str) -> frozenset[int]:
    """Return the numbers of the lines with a comment on the code."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return frozenset(
        token.start[0]
        for token in tokens
        if token.type == tokenize.COMMENT and not token.string.lstrip("# ").lower().startswith(_ORDERS)
    )


def host_members(code: Code, name: str = HOST) -> list[str]:
    """Return the public members of the class that platforms get, with those of its bases.

    Raises LookupError if there is not exactly one class of this name.
    """
    classes: dict[str, list[ast.ClassDef]] = {}
    for module in code.modules:
        for one in module.classes:
            classes.setdefault(one.name, []).append(one)
    if len(classes.get(name, [])) != 1:
        raise LookupError(f"{len(classes.get(name, []))} classes are named {name}. Set HOST in {__name__}.")
    members: dict[str, None] = {}
    waiting = [name]
    while waiting:
        for one in classes.pop(waiting.pop(), []):
            waiting += map(_last_name, one.bases)
            members |= dict.fromkeys(member for member in _members(one) if not member.startswith("_"))
    return list(members)


def _members(one: ast.ClassDef) -> Iterator[str]:
    for statement in one.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case _:
                pass


def config_optionals(code: Code) -> list[Measured]:
    """Return the frozen dataclasses named …Config or …Options, with the number of fields that may be None; most first.

    Those that hold settings are left out.
    """
    return _most(
        Measured(_place(module, one), one.name, sum(map(_may_be_none, one.body)))
        for module in code.modules
        if module.path.name not in SETTINGS and "settings" not in module.path.parts
        for one in module.classes
        if one.name.endswith(CONFIGS) and any(map(_is_frozen_dataclass, one.decorator_list))
    )


def _may_be_none(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.AnnAssign):
        return False
    annotation = ast.unparse(statement.annotation)
    return annotation.endswith("| None") or annotation.startswith(("None |", "Optional["))


def _is_frozen_dataclass(decorator: ast.expr) -> bool:
    match decorator:
        case ast.Call(func=function, keywords=keywords):
            frozen = any(one.arg == "frozen" and ast.unparse(one.value) == "True" for one in keywords)
            return frozen and _last_name(function) == "dataclass"
        case _:
            return False


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _last_name(value)
        case _:
            return ""


def _place(module: Module, node: Function | ast.ClassDef) -> str:
    return f"{module.path}:{node.lineno}"


def _most(measured: Iterator[Measured]) -> list[Measured]:
    return sorted(measured, key=lambda one: one.figure, reverse=True)
