"""The description of a tool for a model: a signature, with limits for the texts of other authors. Pure."""

import json
from collections.abc import Mapping
from typing import Final

from agent.messages import Json, ToolSpec
from agent.ports.tools import Tool
from agent.protocol.render import excerpt


def described(tool: Tool | ToolSpec) -> str:
    """Describe a tool for a model: name and arguments (? is optional), what it does, and a line for each argument.

    Models know signatures well, and a signature takes less than half of the tokens of a JSON Schema. Bounds are not
    described, but checked.
    """
    properties = objects_of(tool.schema.get("properties"))
    argument_lines = [
        f"  {name}: {text}" for name, value in properties.items() if (text := str(value.get("description", "")))
    ]
    return "\n".join([f"{tool.name}{_arguments(tool.schema, '()')}: {tool.description}", *argument_lines])


def _arguments(schema: Mapping[str, Json], brackets: str) -> str:
    """Format the arguments, as in `(name, number?: integer)`."""
    required = schema.get("required")
    required_names = required if isinstance(required, list) else []
    arguments = [
        f"{name}{'' if name in required_names else '?'}{f': {kind}' if (kind := _kind(value)) != 'string' else ''}"
        for name, value in objects_of(schema.get("properties")).items()
    ]
    return f"{brackets[0]}{', '.join(arguments)}{brackets[1]}"


def _kind(schema: Mapping[str, Json]) -> str:
    """Return the type of a value; a schema without a short name is returned as JSON."""
    if isinstance(values := schema.get("enum"), list):
        return " | ".join(value if isinstance(value, str) else _literal(value) for value in values)
    if isinstance(alternatives := schema.get("anyOf"), list):
        return " | ".join(_kind(alternative) for alternative in alternatives if isinstance(alternative, dict))
    match schema.get("type"):
        case "object" if "properties" in schema:
            return _arguments(schema, "{}")
        case "array" if isinstance(items := schema.get("items"), dict):
            return f"[{_kind(items)}]"
        case str(name):
            return name
        case [*names] if schema.keys() <= {"type", "description"}:
            return " | ".join(map(str, names))
        case _:
            return _literal({name: value for name, value in schema.items() if name != "description"})


def _literal(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def objects_of(value: Json) -> Mapping[str, Mapping[str, Json]]:
    """Return the schema of each field; `true`, which allows anything, becomes {}."""
    return (
        {name: field if isinstance(field, dict) else {} for name, field in value.items()}
        if isinstance(value, dict)
        else {}
    )


MAX_DESCRIPTION_CHARS: Final = 1_024
MAX_ARGUMENT_CHARS: Final = 400
MAX_SCHEMA_CHARS: Final = 20_000  # Of one tool: the largest of the official servers have about 4,000
MAX_NAME_CHARS: Final = 128


def limit_spec(tool: Tool) -> ToolSpec:
    """Limit the texts and the schema of a tool from another author. No text in it can end its line."""
    about, schema = excerpt(tool.description, MAX_DESCRIPTION_CHARS), dict(tool.schema)
    try:
        is_small = len(json.dumps(schema)) <= MAX_SCHEMA_CHARS
    except (RecursionError, TypeError, ValueError):
        is_small = False
    if not is_small:
        return ToolSpec(tool.name, about, {"type": "object"})
    if isinstance(properties := schema.get("properties"), dict):
        schema["properties"] = {
            excerpt(name, MAX_NAME_CHARS): _argument(argument) for name, argument in properties.items()
        }
    return ToolSpec(tool.name, about, schema)


def _argument(schema: Json) -> Json:
    if isinstance(schema, dict) and isinstance(about := schema.get("description"), str):
        return {**schema, "description": excerpt(about, MAX_ARGUMENT_CHARS)}
    return schema


def spec_of(tool: Tool) -> ToolSpec:
    return ToolSpec(tool.name, tool.description, tool.schema)
