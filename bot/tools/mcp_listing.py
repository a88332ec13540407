"""What an MCP server lists, made into tools that a model can be offered; what is left out has a reason. Pure.

A server writes names, descriptions and schemas as it likes, and each of them stands before the model in every turn, or
is run by the check of a call. So they are bounded, and of a schema only those keywords are kept that cost a bounded
time: no pattern, no reference that leads elsewhere or round in a circle. What is kept refuses nothing that the whole
schema takes: the server checks its arguments itself, too.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from mcp_types import Tool as ListedTool

from agent.messages import UNSEEN, Json, JsonObject
from agent.ports import ToolEffect
from bot.tools.mcp_config import McpServerConfig

# Of one server. The largest real ones have about a hundred, and their schemas cost tokens in every turn.
MAX_TOOLS: Final = 200
MAX_NAME_CHARS: Final = 60  # With the server's: vendors take 64 characters for a function's name
MAX_DESCRIPTION_CHARS: Final = 1_000
MAX_FIELD_CHARS: Final = 200  # Of what describes an argument
MAX_NODES: Final = 300  # Of one schema, references written out: the largest of the official servers' have sixty
MAX_SCHEMA_DEPTH: Final = 12
MAX_ENUM: Final = 100
RESOURCES: Final = "resources"
PROMPTS: Final = "prompts"

_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-/]{0,127}")
_NO_WORD: Final = re.compile(r"[^A-Za-z0-9-]+")
_NOT_SHOWN: Final = re.compile(r"[^A-Za-z0-9_.\-/]")
_FIELD_NAME: Final = re.compile(r"[A-Za-z_$@][\w$@.\-]{0,63}", re.ASCII)
_BLANKS: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_NUMBERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_SIZES: Final = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
# As what they are kept: of schemas that say less, more than one may hold.
_CHOICES: Final = {"oneOf": "anyOf", "anyOf": "anyOf", "allOf": "allOf"}
_TYPES: Final = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """`name` is what the model calls; `called` what the server does."""

    name: str
    called: str
    description: str
    schema: JsonObject
    effect: ToolEffect


@dataclass(frozen=True, slots=True)
class OmittedTool:
    """`name` is as safe to show as any word of ours; `why` is a sentence without a stop."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class ToolListing:
    """What a server has now."""

    offered: tuple[OfferedTool, ...] = ()
    omitted: tuple[OmittedTool, ...] = ()


TOO_MANY: Final = f"the server has more than {MAX_TOOLS} tools"
NO_NAME: Final = "its name cannot be called"
TAKEN: Final = "another tool of the server has this name already"
NO_SCHEMA: Final = "the schema of its arguments is none that can be checked"


def listing(
    config: McpServerConfig, tools: Sequence[ListedTool], *, resources: bool = False, prompts: bool = False
) -> ToolListing:
    """`resources` and `prompts`: whether the server has any, which are read by a tool each."""
    offered: dict[str, OfferedTool] = {}
    omitted: list[OmittedTool] = []
    own = [tool for there, tool in ((resources, _RESOURCES), (prompts, _PROMPTS)) if there]
    for tool in [*tools[:MAX_TOOLS], *own]:
        described = _described(config, tool) if isinstance(tool, ListedTool) else _own(config, tool)
        if isinstance(described, OmittedTool):
            omitted.append(described)
        elif described.name in offered:
            omitted.append(OmittedTool(described.name, TAKEN))
        else:
            offered[described.name] = described
    omitted += [OmittedTool(shown_name(tool.name), TOO_MANY) for tool in tools[MAX_TOOLS : 2 * MAX_TOOLS]]
    return ToolListing(tuple(offered.values()), tuple(omitted))


def _described(config: McpServerConfig, tool: ListedTool) -> OfferedTool | OmittedTool:
    shown = shown_name(tool.name)
    if not _TOOL_NAME.fullmatch(tool.name):
        return OmittedTool(shown, NO_NAME)
    name = f"{config.name}.{_NO_WORD.sub('_', tool.name).strip('_')}"
    if len(name) > MAX_NAME_CHARS:  # the same in each list, whatever else is in it
        name = f"{name[: MAX_NAME_CHARS - 5]}_{sha256(tool.name.encode()).hexdigest()[:4]}"
    schema = checked_schema(tool.input_schema)
    if schema is None:
        return OmittedTool(shown, NO_SCHEMA)
    description = one_line(tool.description or tool.title or "", MAX_DESCRIPTION_CHARS)
    return OfferedTool(name, tool.name, description, schema, config.effect_of(tool.name))


def _own(config: McpServerConfig, tool: OfferedTool) -> OfferedTool:
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
    """A name as it may be shown: what it is not made of is a question mark."""
    return _NOT_SHOWN.sub("?", name[:MAX_NAME_CHARS]) or "?"


def one_line(text: str, limit: int) -> str:
    """What somebody else wrote, in one line without anything that nobody sees."""
    line = " ".join(_BLANKS.split(UNSEEN.sub("", text[: 4 * limit]))).strip()
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def checked_schema(schema: Mapping[str, Json]) -> JsonObject | None:
    """An object's schema of bounded size, with which arguments are checked in bounded time; None if it is no such."""
    reader = _SchemaReader(schema)
    kept = reader.read(dict(schema), 0)
    if kept.get("type", "object") != "object" or not reader.names_are_plain:
        return None
    return {**kept, "type": "object"}


class _SchemaReader:
    """Keeps of a schema what is bounded; where it is not, anything may stand: the server looks again."""

    def __init__(self, root: Mapping[str, Json]) -> None:
        self._root = root
        self._nodes = 0
        self.names_are_plain = True

    def read(self, schema: Json, depth: int) -> dict[str, Json]:
        self._nodes += 1
        if not isinstance(schema, Mapping) or depth > MAX_SCHEMA_DEPTH or self._nodes > MAX_NODES:
            return {}
        properties = schema.get("properties")
        if isinstance(properties, dict) and self._nodes + len(properties) > MAX_NODES:
            return {}
        reference = schema.get("$ref")
        kept = self.read(self._target(reference), depth + 1) if isinstance(reference, str) else {}
        kept |= self._values(schema)
        if isinstance(properties, dict):
            own: dict[str, Json] = {name: self.read(value, depth + 1) for name, value in properties.items()}
            inherited = kept.get("properties")
            kept["properties"] = {**inherited, **own} if isinstance(inherited, dict) else own
            self.names_are_plain &= all(map(_FIELD_NAME.fullmatch, properties))
            required = schema.get("required")
            if isinstance(required, list):
                named = (name for name in required if isinstance(name, str) and name in properties)
                kept["required"] = list(dict.fromkeys(named))
        if isinstance(items := schema.get("items"), dict) and "prefixItems" not in schema:
            kept["items"] = self.read(items, depth + 1)
        rest = None if "patternProperties" in schema else schema.get("additionalProperties")
        if isinstance(rest, bool):
            kept["additionalProperties"] = rest
        elif isinstance(rest, dict):
            kept["additionalProperties"] = self.read(rest, depth + 1)
        for key, kept_as in _CHOICES.items():
            if isinstance(choices := schema.get(key), list) and 0 < len(choices) <= MAX_ENUM:
                kept[kept_as] = [self.read(choice, depth + 1) for choice in choices]
        return kept

    def _target(self, reference: str) -> Json:
        """What a reference inside of this schema leads to; None for any other."""
        if not reference.startswith("#/"):
            return None
        found: Json = dict(self._root)
        for part in reference[2:].split("/", MAX_SCHEMA_DEPTH):
            found = found.get(part) if isinstance(found, dict) else None
        return found

    @staticmethod
    def _values(schema: Mapping[str, Json]) -> dict[str, Json]:
        """Those keywords that hold no schemas."""
        kept: dict[str, Json] = {}
        kinds = schema.get("type")
        if isinstance(kinds, str) and kinds in _TYPES:
            kept["type"] = kinds
        elif isinstance(kinds, list) and kinds and all(isinstance(one, str) and one in _TYPES for one in kinds):
            kept["type"] = list(dict.fromkeys(kinds))
        if isinstance(description := schema.get("description"), str):
            kept["description"] = one_line(description, MAX_FIELD_CHARS)
        values = schema.get("enum")
        if isinstance(values, list) and 0 < len(values) <= MAX_ENUM and all(map(_is_plain, values)):
            kept["enum"] = values
        constant = schema.get("const")
        if constant is not None and _is_plain(constant):
            kept["const"] = constant
        for key in _NUMBERS:
            value = schema.get(key)
            if isinstance(value, int | float) and not isinstance(value, bool) and (key != "multipleOf" or value > 0):
                kept[key] = value
        for key in _SIZES:
            value = schema.get(key)
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                kept[key] = value
        return kept


def _is_plain(value: Json) -> bool:
    """Whether it can be shown just as it is."""
    if isinstance(value, str):
        return value == one_line(value, MAX_FIELD_CHARS)
    return value is None or isinstance(value, int | float)
