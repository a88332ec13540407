"""Reading JSON of a vendor, in which any field may be missing or of another type. Pure.

Above: the wire modules and `faults`. Below: nothing.
Rule: nothing here raises; what is not as expected reads as empty.
"""

import json
from typing import Final, cast

MAX_COUNT: Final = 1_000_000_000
"""More tokens than any call takes; what a hundred thousand lies cost together can still be added up in a database."""


def read_json(text: str | bytes) -> object:
    """The value, or None for text that is not JSON (or too deep to be read)."""
    try:
        return cast("object", json.loads(text))
    except (ValueError, RecursionError):
        return None


def as_object(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def as_count(value: object) -> int:
    """A number of tokens: never negative, never a boolean, never more than MAX_COUNT."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124 -- NaN
        return 0
    return max(0, int(min(value, MAX_COUNT)))
