"""The arguments of the server's tools: their schemas, and reading them within limits. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias, assert_never, cast

from agent.errors import ToolError
from agent.messages import Json, JsonObject
from bot.api.mcp_server import texts

MAX_QUERY_CHARS: Final = 2_000
MAX_QUESTION_CHARS: Final = 100_000  # A long file with a question about it
MAX_STATEMENT_CHARS: Final = 2_000  # As many as the tool `remember` takes
MAX_ID_CHARS: Final = 500
MAX_CONFIRMATION_CHARS: Final = 4_000
MAX_WORDINGS: Final = 8


class ToolName(StrEnum):
    RECALL = "recall"
    REMEMBER = "remember"
    ASK = "ask"
    FORGET = "forget"


@dataclass(frozen=True, slots=True)
class TextArgument:
    says: str
    max_chars: int
    required: bool = False


@dataclass(frozen=True, slots=True)
class TextsArgument:
    says: str
    max_chars: int
    max_items: int


@dataclass(frozen=True, slots=True)
class FlagArgument:
    says: str


ToolArgument: TypeAlias = TextArgument | TextsArgument | FlagArgument

ARGUMENTS: Final[Mapping[ToolName, Mapping[str, ToolArgument]]] = {
    ToolName.RECALL: {
        "query": TextArgument(texts.QUERY, MAX_QUERY_CHARS, required=True),
        "wordings": TextsArgument(texts.WORDINGS, MAX_QUERY_CHARS, MAX_WORDINGS),
        "when": TextArgument(texts.WHEN, 100),
        "by": TextArgument(texts.BY, 100),
    },
    ToolName.REMEMBER: {"text": TextArgument(texts.REMEMBER_TEXT, MAX_STATEMENT_CHARS, required=True)},
    ToolName.ASK: {
        "question": TextArgument(texts.QUESTION, MAX_QUESTION_CHARS, required=True),
        "thread": TextArgument(texts.THREAD, MAX_ID_CHARS),
    },
    ToolName.FORGET: {
        "what": TextArgument(texts.WHAT, 200),
        "thread": TextArgument(texts.FORGET_THREAD, MAX_ID_CHARS),
        "include_related": FlagArgument(texts.RELATED),
        "confirmation": TextArgument(texts.CONFIRMATION, MAX_CONFIRMATION_CHARS),
    },
}


def schema_of(tool: ToolName) -> JsonObject:
    """Return the JSON Schema of a tool's arguments."""
    arguments = ARGUMENTS[tool]
    required: list[Json] = [
        name for name, argument in arguments.items() if isinstance(argument, TextArgument) and argument.required
    ]
    properties: dict[str, Json] = {name: _schema(argument) for name, argument in arguments.items()}
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def read_arguments(tool: ToolName, given: Mapping[str, object]) -> dict[str, Json]:
    """Return the given arguments without empty ones. Raises ToolError with a sentence about the first wrong one."""
    arguments, values = ARGUMENTS[tool], dict[str, Json]()
    for name, value in given.items():
        argument = arguments.get(name)
        if argument is None:
            raise ToolError(texts.UNKNOWN_ARGUMENT.format(name=name[:100], known=", ".join(arguments)))
        if value is not None and value != "":
            values[name] = _read(name, argument, value)
    for name, argument in arguments.items():
        if isinstance(argument, TextArgument) and argument.required and name not in values:
            raise ToolError(texts.MISSING_ARGUMENT.format(name=name))
    return values


def _schema(argument: ToolArgument) -> dict[str, Json]:
    match argument:
        case TextArgument(says, max_chars):
            return {"type": "string", "maxLength": max_chars, "description": says}
        case TextsArgument(says, max_chars, max_items):
            items: dict[str, Json] = {"type": "string", "maxLength": max_chars}
            return {"type": "array", "items": items, "maxItems": max_items, "description": says}
        case FlagArgument(says):
            return {"type": "boolean", "description": says}
        case _:
            assert_never(argument)


def _read(name: str, argument: ToolArgument, value: object) -> Json:
    match argument:
        case TextArgument(_, max_chars):
            return _text(name, value, max_chars)
        case TextsArgument(_, max_chars, max_items):
            items = cast("list[object]", value) if isinstance(value, list) else None
            if items is None or len(items) > max_items:
                raise ToolError(texts.NOT_TEXTS.format(name=name, limit=max_items))
            return [_text(name, item, max_chars) for item in items]
        case FlagArgument():
            if not isinstance(value, bool):
                raise ToolError(texts.NOT_BOOLEAN.format(name=name))
            return value
        case _:
            assert_never(argument)


def _text(name: str, value: object, max_chars: int) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ToolError(texts.NOT_TEXT.format(name=name))
    if len(value) > max_chars:
        raise ToolError(texts.TOO_LONG.format(name=name, limit=max_chars))
    return value
