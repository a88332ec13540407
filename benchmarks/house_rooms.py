"""Counts the names that the rooms of `bot/` take from each other, on their imports.

Rooms
  `bot/chat` is the chat bot without any feature, `bot/platforms` are the platforms, and `FEATURES` the features.
  `ABOVE` composes, starts and configures them, lists their commands, and shows operators how they do, as the layers in
  pyproject.toml have it; what platforms take from the operators' folder counts as from a feature. A folder or a module
  of `bot/` that belongs to none of these is in no room: as long as there is one, nothing can be said about what the
  rooms take from each other.

A name counts once for each module that takes it, whether its import stands at the top of the module, in a function
or below TYPE_CHECKING. Of a module that is imported whole, each attribute that is used counts as a name, and the
module itself if none is; so does a module that `import_module` loads by a name in the text.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from benchmarks.house_code import Code, Module

BOT: Final = "bot"
CHAT: Final = "chat"
PLATFORMS: Final = "platforms"
FEATURES: Final = frozenset(
    {"budgets", "channels", "forgetting", "knowledge", "memory", "models", "python", "schedules", "tools", "web"}
)
OPERATORS: Final = "operators"
ABOVE: Final = frozenset({"app", "commands", OPERATORS, "settings", "setup"})


@dataclass(frozen=True, slots=True, order=True)
class Taken:
    """`name` of `module`, imported by the module `by`. `name` is "" for a module that is loaded without a use."""

    by: str
    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.by}: {self.module}{'.' if self.name else ''}{self.name}"


@dataclass(frozen=True, slots=True)
class RoomNames:
    """What rooms take from features. `homeless`: the folders and modules of `bot/` that are in no room."""

    homeless: tuple[str, ...]
    chat: tuple[Taken, ...]
    between: tuple[Taken, ...]
    platforms: tuple[Taken, ...]


def room_of(module: str) -> str:
    """Return the folder of `bot/` that holds a module; its own name for a module beside them, "" for one outside."""
    parts = module.split(".")
    return parts[1] if parts[0] == BOT and len(parts) > 1 else ""


def names_between_rooms(code: Code) -> RoomNames:
    rooms = {room_of(module.name) for module in code.modules} - {"", "__main__"}
    chat: list[Taken] = []
    between: list[Taken] = []
    platforms: list[Taken] = []
    for module in code.modules:
        room = room_of(module.name)
        features = FEATURES | {OPERATORS} if room == PLATFORMS else FEATURES - {room}
        taken = sorted({one for one in taken_by(module, code.names) if room_of(one.module) in features})
        if room == CHAT:
            chat += taken
        elif room == PLATFORMS:
            platforms += taken
        elif room in FEATURES:
            between += taken
    homeless = sorted(rooms - FEATURES - ABOVE - {CHAT, PLATFORMS})
    return RoomNames(tuple(homeless), tuple(chat), tuple(between), tuple(platforms))


def taken_by(module: Module, known: frozenset[str]) -> Iterator[Taken]:
    """Yield each name that a module imports. `known`: the names of modules and packages."""
    whole: dict[str, str] = {}  # the local name of a module that is imported whole
    for node in module.nodes:
        match node:
            case ast.Import(names=names):
                whole |= {alias.asname or alias.name: alias.name for alias in names if alias.name in known}
            case ast.ImportFrom(names=names) if (base := module.absolute(node)) in known:
                for alias in names:
                    if (inner := f"{base}.{alias.name}") in known:
                        whole[alias.asname or alias.name] = inner
                    else:
                        yield Taken(module.name, base, alias.name)
            case ast.Call(
                func=ast.Name(id=loader) | ast.Attribute(attr=loader), args=[ast.Constant(value=str(name)), *_]
            ):
                if loader == "import_module" and name in known:
                    yield Taken(module.name, name, "")
            case _:
                pass
    used = tuple(_attributes(module.nodes, whole)) if whole else ()
    yield from (Taken(module.name, name, attribute) for name, attribute in used)
    unused = set(whole.values()) - {name for name, _ in used}
    yield from (Taken(module.name, name, "") for name in unused)


def _attributes(nodes: Iterable[ast.AST], whole: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each use of a module that was imported whole: its name, and the attribute."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and (name := whole.get(_dotted(node.value))) is not None:
            yield name, node.attr


def _dotted(node: ast.expr) -> str:
    """Return the name "a.b" of a node, "" of one that is more than names and dots."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""
