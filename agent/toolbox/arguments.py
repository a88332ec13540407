"""The arguments of a call: parsing them, adapting them to the tool's schema, and what is wrong with them. Pure.

Rules of checking. A server wrote the schema, and a text that the model read may have chosen the arguments. So a check
takes time that is linear in both, and opens no address:
- References lead within the schema only, and each check follows a limited number of them.
- Keywords that may take longer are not checked: regular expressions, and what is left over by other keywords. The
  server checks these itself.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final, TypeAlias, cast

from jsonschema import Draft202012Validator, SchemaError, ValidationError
from jsonschema.validators import extend  # pyright: ignore[reportUnknownVariableType] -- its types are partial
from referencing import Registry
from referencing.exceptions import Unresolvable

from agent.messages import Json, JsonObject, ToolCall
from agent.protocol.grammar import ParserLimits
from agent.protocol.json_text import JsonReader, Unreadable

MAX_SCHEMAS: Final = 1_024  # Of several large servers; one takes milliseconds to check, and a few kilobytes

MAX_PLAIN_DEPTH: Final = 20  # A schema that is nested deeper is checked by jsonschema
_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})

MIN_BEGINNING: Final = 3  # Letters of a choice that stand for it
MAX_ADAPTED_DEPTH: Final = 4  # Of arguments: deeper ones are checked as the model wrote them

# References that one check follows, and how many within one another. A tree of arguments has one for each of its nodes;
# two references to the same schema in each of twenty schemas would be a million.
MAX_REFERENCES: Final = 5_000
MAX_REFERENCE_DEPTH: Final = 60

# A keyword's function in jsonschema: validator, the keyword's value, the arguments, and the schema that has it.
_Keyword: TypeAlias = Callable[[Any, Any, Any, Any], Iterable[ValidationError]]


class UncheckableSchema(Exception):
    """The schema leads nowhere, out of itself, or on without an end."""


@dataclass(slots=True)
class _References:
    left: int = MAX_REFERENCES
    depth: int = 0


_references: ContextVar[_References] = ContextVar("_references")  # Of the check that runs


def _keyword(name: str) -> _Keyword:
    return cast("_Keyword", Draft202012Validator.VALIDATORS[name])


def _follow(validator: Any, ref: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:  # noqa: ANN401 -- jsonschema's
    references = _references.get()
    references.left -= 1
    if references.left < 0 or references.depth >= MAX_REFERENCE_DEPTH:
        raise UncheckableSchema
    references.depth += 1
    try:
        yield from _keyword("$ref")(validator, ref, instance, schema)
    finally:
        references.depth -= 1


def _pass(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:  # noqa: ANN401, ARG001 -- jsonschema's
    yield from ()


def _additional(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:  # noqa: ANN401 -- jsonschema's
    if "patternProperties" not in schema:  # else regular expressions say which fields these are
        yield from _keyword("additionalProperties")(validator, value, instance, schema)


def _unique(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:  # noqa: ANN401, ARG001 -- jsonschema's
    # jsonschema compares each item with each other one.
    if value and isinstance(instance, list):
        items = cast("list[Json]", instance)
        if len({json.dumps(item, sort_keys=True) for item in items}) < len(items):
            yield ValidationError("the list has equal items")


_Validator: Final = cast(
    "type[Draft202012Validator]",
    extend(
        Draft202012Validator,
        {
            "$ref": _follow,
            "$dynamicRef": _pass,
            "pattern": _pass,
            "patternProperties": _pass,
            "unevaluatedProperties": _pass,
            "unevaluatedItems": _pass,
            "additionalProperties": _additional,
            "uniqueItems": _unique,
        },
    ),
)


@lru_cache(MAX_SCHEMAS)
def validator_of(schema: str) -> Draft202012Validator:
    """Return the validator of a schema in JSON, cached for all registries. Raises SchemaError."""
    parsed = json.loads(schema)
    try:
        if not is_plain_schema(parsed):
            Draft202012Validator.check_schema(parsed)
    except RecursionError:
        raise SchemaError("it is nested too deeply") from None
    return _Validator(parsed, registry=Registry())


def is_plain_schema(schema: Json, depth: int = 0) -> bool:
    """Whether this is certainly a valid schema, as it has only the keywords that nearly all have. jsonschema compares
    each with the schema of schemas, which takes a hundred times as long.
    """
    if isinstance(schema, bool):
        return True
    if not isinstance(schema, dict) or depth == MAX_PLAIN_DEPTH:
        return False
    return all(_is_plain_keyword(name, value, depth + 1) for name, value in schema.items())


def _is_plain_keyword(name: str, value: Json, depth: int) -> bool:
    match name:
        case "type":
            return isinstance(value, str) and value in _TYPES
        case "description" | "title":
            return isinstance(value, str)
        case "items" | "additionalProperties":
            return is_plain_schema(value, depth)
        case "properties":
            return isinstance(value, dict) and all(is_plain_schema(inner, depth) for inner in value.values())
        case "required":
            names = [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
            return isinstance(value, list) and len({*names}) == len(value)
        case "enum":
            return isinstance(value, list)
        case "minimum" | "maximum":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "minLength" | "maxLength" | "minItems" | "maxItems":
            return isinstance(value, int) and not isinstance(value, bool) and value >= 0
        case "default":
            return True
        case _:
            return False


def as_meant(value: Json, schema: Mapping[str, Json], depth: int = 0) -> Json:
    """Return what a value means where its kind is not the schema's: a list of it, lines of one text, or the object or
    list that it spells as JSON; also within objects and lists.
    """
    kind = schema.get("type")
    if isinstance(value, str) and (kind == "object" or (kind == "array" and value.lstrip().startswith("["))):
        spelled = parse_arguments(value)
        if kind == "object":
            value = spelled if isinstance(spelled, dict) else value
        elif isinstance(spelled, list) and _may_be_items(spelled, schema.get("items")):
            value = spelled
    if kind == "array" and not isinstance(value, list) and value is not None:
        value = [value]
    if kind == "string" and isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return "\n".join(map(str, value))
    if depth == MAX_ADAPTED_DEPTH:
        return value
    if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        return [as_meant(item, items, depth + 1) for item in value]
    if isinstance(value, dict):
        fields, others = schema.get("properties"), schema.get("additionalProperties")
        known, other = fields if isinstance(fields, dict) else {}, others if isinstance(others, dict) else {}
        of = {name: field if isinstance(field := known.get(name, other), dict) else {} for name in value}
        return {name: as_meant(inner, of[name], depth + 1) for name, inner in value.items()}
    return value


def _may_be_items(values: Sequence[Json], items: Json) -> bool:
    """Whether a text spells this list: "[1] see below" in a list of texts is one of them."""
    are_texts = isinstance(items, dict) and items.get("type") == "string"
    return not are_texts or all(isinstance(value, str) for value in values)


def as_chosen(value: Json, schema: Mapping[str, Json]) -> Json:
    """Return the one choice that the value means: "private" or "priv" for "private channels"; else the value."""
    choices = schema.get("enum")
    if not isinstance(value, str) or not isinstance(choices, list) or value in choices:
        return value
    given = " ".join(value.casefold().replace("_", " ").split())
    words, texts = set(given.split()), [choice for choice in choices if isinstance(choice, str)]
    near = [choice for choice in texts if words <= set(choice.casefold().split())]
    if not near and len(given) >= MIN_BEGINNING:
        near = [choice for choice in texts if choice.casefold().startswith(given)]
    return near[0] if words and len(near) == 1 else value


def as_named(args: JsonObject, schema: Mapping[str, Json]) -> JsonObject:
    """Return the arguments with the name that the only unknown one means, if it is near the only required one that is
    missing: "q" or "search_query" for "query".
    """
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, Mapping) or not isinstance(required, list):
        return args
    unknown = [name for name in args if name not in properties]
    missing = [name for name in required if isinstance(name, str) and name not in args]
    if len(unknown) != 1 or len(missing) != 1 or not _is_near(unknown[0].lower(), missing[0].lower()):
        return args
    return {missing[0] if name == unknown[0] else name: value for name, value in args.items()}


def _is_near(given: str, name: str) -> bool:
    is_part = bool(given) and (name.startswith(given) or given.startswith(name))
    return is_part or name in given.replace("-", "_").split("_")


def schema_errors(validator: Draft202012Validator, call: ToolCall) -> list[ValidationError]:
    """Return the first errors of a call's arguments. Raises UncheckableSchema."""
    iter_errors = cast(
        "Callable[[Any], Iterable[ValidationError]]",
        validator.iter_errors,  # pyright: ignore[reportUnknownMemberType] -- a deprecated overload is untyped
    )
    token = _references.set(_References())
    try:
        return [*islice(iter_errors(dict(call.args)), MAX_PROBLEMS)]
    except (RecursionError, Unresolvable):
        raise UncheckableSchema from None
    finally:
        _references.reset(token)


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
