"""Checks whether a vendor's own client would send or accept a value, by the types that the vendor publishes.

A kind is a type, or the name of one, as in "anthropic.types:Message": a name is imported when it is first used, because
a vendor's client takes a second to import.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pkgutil import resolve_name
from typing import Any, cast

from pydantic import BaseModel, TypeAdapter


def fits(kind: Any, value: object) -> bool:
    """Return whether the value validates as `kind` without unknown fields. Raises ValidationError if it is not valid.

    The SDKs type lists as iterables, which are validated only when they are read; typed dictionaries drop unknown
    fields. So the validated value is read to its end and compared.
    """
    return _whole(_adapter(kind).validate_python(value)) == value


def parses(kind: Any, value: object) -> bool:
    """Return whether the value validates as `kind`, a model that keeps unknown fields. Raises ValidationError."""
    _adapter(kind).validate_python(value)
    return True


def knows(kind: Any, value: object) -> bool:
    """Like `parses`, but every variant and field of it must be known to `kind`."""
    return _is_known(_adapter(kind).validate_python(value))


def _is_known(value: object) -> bool:
    if isinstance(value, BaseModel):
        fields = [_is_known(cast("object", getattr(value, name))) for name in value.model_fields_set]
        return all(fields) and not value.model_extra and not hasattr(value, "is_unknown")
    if isinstance(value, list):
        return all(_is_known(inner) for inner in cast("list[object]", value))
    return True


def _whole(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _whole(inner) for key, inner in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list | Iterator):
        return [_whole(inner) for inner in cast("Iterator[object]", value)]
    return value


@cache
def _adapter(kind: Any) -> TypeAdapter[object]:
    """Cached, because the value's iterables are validated by it when they are read."""
    return TypeAdapter(resolve_name(kind) if isinstance(kind, str) else kind)
