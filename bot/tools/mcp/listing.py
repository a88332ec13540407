"""Makes the tools that an MCP server lists into tools for a model; an omitted tool has a reason. Pure.

A server's names, descriptions and schemas are not trusted: the model reads them in every turn, or they are used to
check a call. So they are limited in size. Of a schema, only keywords are kept that are checked in bounded time: no
patterns, no references to other documents or in a circle. The reduced schema accepts everything that the whole one
accepts: the server checks the arguments itself, too.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final, TypeGuard, cast
from unicodedata import combining, normalize

from mcp_types import Tool as ListedTool

from agent.messages import UNSEEN, Json, JsonObject
from agent.ports.tools import ToolEffect
from bot.tools.mcp.config import McpServerConfig

# Of one server. The largest real servers have about a hundred, and their schemas cost tokens in every turn.
MAX_TOOLS: Final = 200
MAX_NAME_CHARS: Final = 60  # With the server's name: vendors allow 64 characters for a function's name
MAX_DESCRIPTION_CHARS: Final = 1_000
MAX_FIELD_CHARS: Final = 200  # Of the description of an argument
MAX_NODES: Final = 300  # Of one schema with its references resolved: the largest of official servers have sixty
MAX_SCHEMA_DEPTH: Final = 12
MAX_ENUM: Final = 100
MAX_NUMBER: Final = 2**53  # JSON's numbers are exact up to here in every program
RESOURCES: Final = "resources"
PROMPTS: Final = "prompts"

MAX_CALLED_CHARS: Final = 128  # Of the server's own name of a tool, by the protocol
ALIAS_DIGITS: Final = 6  # Of the hash in a name of ours: two of 200 names have the same in one of a thousand servers

_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-/]{0,127}")
_NO_WORD: Final = re.compile(r"[^A-Za-z0-9-]+")
_NOT_SHOWN: Final = re.compile(r"[^A-Za-z0-9_.\-/]")
_FIELD_NAME: Final = re.compile(r"[A-Za-z_$@][\w$@.\-]{0,63}", re.ASCII)
_BLANKS: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_NUMBERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_SIZES: Final = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
# The keyword that replaces each: of reduced schemas, more than one may match.
_CHOICES: Final = {"oneOf": "anyOf", "anyOf": "anyOf", "allOf": "allOf"}
_TYPES: Final = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that is offered. `name`: for the model. `called`: the server's own name, "" for our tools. `fields`: the
    server's own name of each argument that has another one in `schema`.
    """

    name: str
    called: str
    description: str
    schema: JsonObject
    effect: ToolEffect
    fields: Mapping[str, str] = field(default_factory=dict[str, str])

    def restore(self, args: JsonObject) -> JsonObject:
        """Return the arguments of a call with the server's own names, at every depth."""
        return cast("JsonObject", _renamed(dict(args), self.fields)) if self.fields else args


def _renamed(value: Json, names: Mapping[str, str]) -> Json:
    if isinstance(value, Mapping):
        return {names.get(name, name): _renamed(inner, names) for name, inner in value.items()}
    return [_renamed(inner, names) for inner in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class OmittedTool:
    """A tool that is not offered. `name` is safe to show. `why`: a sentence without a full stop."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class ToolListing:
    """The tools of a server, offered and omitted."""

    offered: tuple[OfferedTool, ...] = ()
    omitted: tuple[OmittedTool, ...] = ()


TOO_MANY: Final = f"the server has more than {MAX_TOOLS} tools"
NO_NAME: Final = "their names are not valid"
TAKEN: Final = "another tool of the server has the same name"
NO_SCHEMA: Final = "the schemas of their arguments cannot be checked"


def listing(
    config: McpServerConfig, tools: Sequence[ListedTool], *, resources: bool = False, prompts: bool = False
) -> ToolListing:
    """Return the tools of a server. `resources` and `prompts`: whether it has any; each gets a tool that reads them."""
    offered: dict[str, OfferedTool] = {}
    omitted: list[OmittedTool] = []
    own = [tool for is_present, tool in ((resources, _RESOURCES), (prompts, _PROMPTS)) if is_present]
    # The server's own names as they are: a name that only becomes one of them by a change yields.
    own_names = {f"{config.name}.{tool.name}": tool.name for tool in tools[:MAX_TOOLS]}
    for listed in [*tools[:MAX_TOOLS], *own]:
        tool = _listed_tool(config, listed) if isinstance(listed, ListedTool) else _own_tool(config, listed)
        if isinstance(tool, OfferedTool) and tool.called:
            other = offered[tool.name].called if tool.name in offered else own_names.get(tool.name, tool.called)
            if other != tool.called:
                tool = replace(tool, name=_short(f"{config.name}.{alias(tool.called, 'tool')}", tool.called))
        if isinstance(tool, OmittedTool):
            omitted.append(tool)
        elif tool.name in offered:
            omitted.append(OmittedTool(tool.name, TAKEN))
        else:
            offered[tool.name] = tool
    omitted += [OmittedTool(shown_name(tool.name), TOO_MANY) for tool in tools[MAX_TOOLS : 2 * MAX_TOOLS]]
    return ToolListing(tuple(offered.values()), tuple(omitted))


def _listed_tool(config: McpServerConfig, tool: ListedTool) -> OfferedTool | OmittedTool:
    shown, about = shown_name(tool.name), tool.description or tool.title or ""
    is_plain = _TOOL_NAME.fullmatch(tool.name) is not None
    if not is_plain and not _can_be_called(tool.name):
        return OmittedTool(shown, NO_NAME)
    if not is_plain:
        about = f"“{tool.name}”: {about}"
    own_name = _NO_WORD.sub("_", tool.name).strip("_") if is_plain else alias(tool.name, "tool")
    name = _short(f"{config.name}.{own_name}", tool.name)
    if (read := read_schema(tool.input_schema)) is None:
        return OmittedTool(shown, NO_SCHEMA)
    schema, fields = read
    description = one_line(about, MAX_DESCRIPTION_CHARS)
    return OfferedTool(name, tool.name, description, schema, config.effect_of(tool.name), fields)


def _short(name: str, called: str) -> str:
    """Return a name of limited length, which does not depend on the other tools of the list."""
    if len(name) <= MAX_NAME_CHARS:
        return name
    return f"{name[: MAX_NAME_CHARS - 5]}_{sha256(called.encode()).hexdigest()[:4]}"


def _can_be_called(name: str) -> bool:
    """Whether people could read this name: no control characters, and none that are invisible or change the order."""
    return 0 < len(name) <= MAX_CALLED_CHARS and bool(name.strip()) and name.isprintable() and not UNSEEN.search(name)


def alias(name: str, kind: str) -> str:
    """Return a name in letters, digits, and _ for one that vendors of models refuse.

    It has what can be read of the name, and a hash of it: so it depends on nothing else, two names have two aliases,
    and a permission for one of them is never one for another.
    """
    plain = normalize("NFKD", name.replace("ß", "ss")[:MAX_CALLED_CHARS])
    readable = _NO_WORD.sub("_", "".join(char for char in plain if not combining(char))).replace("-", "_").strip("_")
    digest = sha256(name.encode("utf-8", "replace")).hexdigest()[:ALIAS_DIGITS]
    return f"{readable[:MAX_ALIAS_CHARS].strip('_') or kind}_{digest}"


MAX_ALIAS_CHARS: Final = 40


def _own_tool(config: McpServerConfig, tool: OfferedTool) -> OfferedTool:
    return replace(tool, name=f"{config.name}.{tool.name}", effect=config.effect_of(tool.name))


_RESOURCES: Final = OfferedTool(
    RESOURCES,
    "",
    "Read what this server keeps: without arguments the list of its resources, with the uri of one what is in it.",
    {"type": "object", "properties": {"uri": {"type": "string"}}},
    ToolEffect.READS,
)
_PROMPTS: Final = OfferedTool(
    PROMPTS,
    "",
    "Read a prepared prompt of this server: without arguments the list of them, with a name what it says.",
    {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "arguments": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    },
    ToolEffect.READS,
)


def shown_name(name: str) -> str:
    """Return a name that is safe to show: characters that names do not have become question marks."""
    return _NOT_SHOWN.sub("?", name[:MAX_NAME_CHARS]) or "?"


def one_line(text: str, limit: int) -> str:
    """Return untrusted text in one line, without invisible characters, cut to `limit` characters."""
    line = " ".join(_BLANKS.split(UNSEEN.sub("", text[: 4 * limit]))).strip()
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def checked_schema(schema: Mapping[str, Json]) -> JsonObject | None:
    """Return an object's schema of limited size, which checks arguments in bounded time. None if it is not an object's
    schema.
    """
    return read[0] if (read := read_schema(schema)) is not None else None


def read_schema(schema: Mapping[str, Json]) -> tuple[JsonObject, Mapping[str, str]] | None:
    """Return the schema as `checked_schema` does, and the server's own name of each property that got another one."""
    if schema.get("not") == {}:  # accepts nothing: the mark of a schema that is none
        return None
    reader = _SchemaReader(schema)
    reduced = reader.read(dict(schema), 0)
    if reduced.get("type", "object") != "object":
        return None
    return {**reduced, "type": "object"}, reader.fields


class _SchemaReader:
    """Reduces a schema to a limited size. A part beyond the limits accepts anything, as the server checks it, too."""

    def __init__(self, root: Mapping[str, Json]) -> None:
        self._root = root
        self._nodes = 0
        self.fields: dict[str, str] = {}

    def read(self, schema: Json, depth: int) -> dict[str, Json]:
        self._nodes += 1
        # A schema of a server has no bound of its own: references can repeat a part of it without end. An empty one
        # allows anything, and the server checks its arguments itself.
        if not isinstance(schema, Mapping) or depth > MAX_SCHEMA_DEPTH or self._nodes > MAX_NODES:
            return {}
        properties = schema.get("properties")
        if isinstance(properties, dict) and self._nodes + len(properties) > MAX_NODES:
            return {}
        reference = schema.get("$ref")
        # What stands beside a reference adds to it (JSON Schema 2020-12); draft 7 ignored it.
        reduced = self.read(self._resolve(reference), depth + 1) if isinstance(reference, str) else {}
        reduced |= self._read_values(schema)
        if isinstance(properties, dict):
            names = {name: self._field(name) for name in properties}
            own: dict[str, Json] = {
                names[name]: self._named(name, self.read(value, depth + 1)) for name, value in properties.items()
            }
            inherited = reduced.get("properties")
            reduced["properties"] = {**inherited, **own} if isinstance(inherited, dict) else own
            required = schema.get("required")
            if isinstance(required, list):
                # A required property without a schema would be refused by services that check the schema.
                present = (names[name] for name in required if isinstance(name, str) and name in names)
                reduced["required"] = list(dict.fromkeys(present))
        # Behind `prefixItems`, `items` means only the rest of the list, and alone it would say something wrong.
        if isinstance(items := schema.get("items"), dict) and "prefixItems" not in schema:
            reduced["items"] = self.read(items, depth + 1)
        # Without the patterns, "no further properties" would forbid those that the patterns allow.
        additional = None if "patternProperties" in schema else schema.get("additionalProperties")
        if isinstance(additional, bool):
            reduced["additionalProperties"] = additional
        elif isinstance(additional, dict):
            reduced["additionalProperties"] = self.read(additional, depth + 1)
        for key, replacement in _CHOICES.items():
            if isinstance(choices := schema.get(key), list) and 0 < len(choices) <= MAX_ENUM:
                reduced[replacement] = [self.read(choice, depth + 1) for choice in choices]
        return reduced

    def _field(self, name: str) -> str:
        if _FIELD_NAME.fullmatch(name):
            return name
        other = alias(name, "field")
        self.fields[other] = name
        return other

    @staticmethod
    def _named(name: str, schema: dict[str, Json]) -> dict[str, Json]:
        """Put the name of a property that got another one into its description."""
        if _FIELD_NAME.fullmatch(name):
            return schema
        about = f"“{name}” {schema.get('description', '')}"
        return {**schema, "description": one_line(about, MAX_FIELD_CHARS)}

    def _resolve(self, reference: str) -> Json:
        """Return the target of a reference inside of this schema; None for any other reference."""
        if not reference.startswith("#/"):
            return None
        target: Json = dict(self._root)
        for part in reference[2:].split("/", MAX_SCHEMA_DEPTH):
            target = target.get(part) if isinstance(target, dict) else None
        return target

    @staticmethod
    def _read_values(schema: Mapping[str, Json]) -> dict[str, Json]:
        """Read the keywords that hold no schemas."""
        reduced: dict[str, Json] = {}
        kinds = schema.get("type")
        if isinstance(kinds, str) and kinds in _TYPES:
            reduced["type"] = kinds
        elif isinstance(kinds, list) and kinds and all(isinstance(kind, str) and kind in _TYPES for kind in kinds):
            reduced["type"] = list(dict.fromkeys(kinds))
        if isinstance(description := schema.get("description"), str):
            reduced["description"] = one_line(description, MAX_FIELD_CHARS)
        values = schema.get("enum")
        if isinstance(values, list) and 0 < len(values) <= MAX_ENUM and all(map(_is_plain, values)):
            reduced["enum"] = values
        constant = schema.get("const")
        if constant is not None and _is_plain(constant):
            reduced["const"] = constant
        for key in _NUMBERS:
            value = schema.get(key)
            # A multiple of 0 is no valid schema.
            if _is_number(value) and (key != "multipleOf" or value > 0):
                reduced[key] = value
        for key in _SIZES:
            value = schema.get(key)
            if _is_number(value) and isinstance(value, int) and value >= 0:
                reduced[key] = value
        return reduced


def _is_plain(value: Json) -> bool:
    """Whether a value can be shown unchanged."""
    if isinstance(value, str):
        return value == one_line(value, MAX_FIELD_CHARS)
    return value is None or isinstance(value, bool) or _is_number(value)


def _is_number(value: Json) -> TypeGuard[int | float]:
    """Whether a value is a number that each program reads as the same one. Python reads NaN, Infinity and 1e999, which
    are no JSON: a vendor refuses the request, and so each turn with the tool. In Python True is an int.
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_NUMBER
