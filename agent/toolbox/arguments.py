"""The arguments of a call: parsing them, adapting them to the tool's schema, and what is wrong with them. Pure."""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, cast

from jsonschema import Draft202012Validator, ValidationError

from agent.messages import Json, ToolCall
from agent.protocol.grammar import ParserLimits
from agent.protocol.json_text import JsonReader, Unreadable

MAX_SCHEMAS: Final = 1_024  # Of several large servers; one takes milliseconds to check, and a few kilobytes


@lru_cache(MAX_SCHEMAS)
def validator_of(schema: str) -> Draft202012Validator:
    """Return the validator of a schema in JSON, cached for all registries. Raises SchemaError."""
    parsed = json.loads(schema)
    Draft202012Validator.check_schema(parsed)
    return Draft202012Validator(parsed)


def as_meant(value: Json, schema: Mapping[str, Json]) -> Json:
    kind = schema.get("type")
    if kind == "array" and not isinstance(value, list) and value is not None:
        return [value]
    if kind == "string" and isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return "\n".join(map(str, value))
    return value


def as_chosen(value: Json, schema: Mapping[str, Json]) -> Json:
    """Return the one choice that the value means: "private" for "private channels"; else the value."""
    choices = schema.get("enum")
    if not isinstance(value, str) or not isinstance(choices, list) or value in choices:
        return value
    words = set(value.casefold().replace("_", " ").split())
    near = [choice for choice in choices if isinstance(choice, str) and words <= set(choice.casefold().split())]
    return near[0] if words and len(near) == 1 else value


def schema_errors(validator: Draft202012Validator, call: ToolCall) -> Iterable[ValidationError]:
    iter_errors = cast(
        "Callable[[Any], Iterable[ValidationError]]",
        validator.iter_errors,  # pyright: ignore[reportUnknownMemberType] -- a deprecated overload is untyped
    )
    return iter_errors(dict(call.args))


def problem_of(path: str, message: str) -> str:
    """Shorten the message of jsonschema, which quotes the whole value."""
    where = path.removeprefix("$.").removeprefix("$")
    return f"{where}: {message[:200]}" if where else message[:200]


MAX_PROBLEMS: Final = 10  # Of one call: the model corrects these and calls again


def parse_arguments(text: str) -> Json:
    """Parse arguments that a model wrote as a text; None if they are not valid JSON for a call."""
    try:
        values = JsonReader(ParserLimits()).read(text)
    except Unreadable:
        return None
    return values[0] if len(values) == 1 else None
