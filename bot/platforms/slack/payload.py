"""Reading what Slack sends, where every field may be missing. Pure.

Above: the other modules of this folder. Below: `agent.messages`.

Rule: nothing here raises. A field that is missing or of another type reads as empty.
"""

from typing import TypeAlias

from agent.messages import Json, JsonObject

Value: TypeAlias = "Json | JsonObject"


def at(value: Value, *path: str) -> Value:
    """The value under these keys, one inside the other; None where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text(value: Value, *path: str) -> str:
    found = at(value, *path)
    return found if isinstance(found, str) else ""


def first_text(value: Value, *keys: str) -> str:
    """The first of these fields that holds a text."""
    return next((found for key in keys if (found := text(value, key))), "")


def flag(value: Value, *path: str) -> bool:
    return at(value, *path) is True


def number(value: Value, *path: str) -> int:
    found = at(value, *path)
    return found if isinstance(found, int) else 0


def fields(value: Value, *path: str) -> JsonObject:
    found = at(value, *path)
    return found if isinstance(found, dict) else {}


def texts(value: Value, *path: str) -> list[str]:
    """The texts of a list; everything else in it is left out."""
    found = at(value, *path)
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def items(value: Value, *path: str) -> list[JsonObject]:
    """The objects of a list; everything else in it is left out."""
    found = at(value, *path)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
