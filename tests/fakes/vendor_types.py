"""The types that vendors publish: whether a vendor's own client would send or accept a value, and which it knows.

A kind is a type, or the name of one, as in "anthropic.types:Message": a name is imported when it is first used, because
a vendor's client takes a second to import.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from pkgutil import resolve_name
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

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


def words(kind: Any) -> frozenset[str]:
    """Return the values of an enumeration, a literal, or a field ("module:Model#field")."""
    return frozenset(word for member in _members(_named(kind)) for word in _literals(member))


def variants(kind: Any, tag: str = "type") -> frozenset[str]:
    """Return the values of the field that tells the variants of a union of models apart.

    A client's own variant for what it does not know is left out.
    """
    models = [member.model_fields for member in _members(_named(kind)) if _is_model(member)]
    return frozenset(word for named in models for word in words(named[tag].annotation)) - {"UNKNOWN"}


def fields(kind: Any) -> frozenset[str]:
    """Return the fields of a model as they are on the wire."""
    model = cast("type[BaseModel]", _named(kind))
    return frozenset(field.alias or name for name, field in model.model_fields.items())


def paths(kind: Any) -> frozenset[str]:
    """Return the fields of a model as they are on the wire, those of inner models as "outer.inner"."""
    return frozenset(_paths(_named(kind)))


def _paths(model: Any) -> Iterator[str]:
    for name, field in cast("type[BaseModel]", model).model_fields.items():
        inner = [member for member in _members(field.annotation) if _is_model(member)]
        shown = field.alias or name
        yield from (f"{shown}.{path}" for one in inner for path in _paths(one)) if inner else [shown]


def _named(kind: Any) -> Any:
    """Return the type of this name, or of a field of it."""
    if not isinstance(kind, str):
        return kind
    name, _, field = kind.partition("#")
    return resolve_name(name).model_fields[field].annotation if field else resolve_name(name)


def _members(kind: Any) -> Iterator[Any]:
    """Yield the types of a union, without annotations, and the inner types of lists."""
    origin = get_origin(kind)
    if origin is Annotated:
        yield from _members(get_args(kind)[0])
    elif origin in {Union, UnionType, list}:
        for inner in get_args(kind):
            yield from _members(inner)
    else:
        yield kind


def _literals(member: Any) -> Iterator[str]:
    if get_origin(member) is Literal:
        yield from map(str, get_args(member))
    elif isinstance(member, type) and issubclass(member, Enum):
        yield from (str(value.value) for value in member)


def _is_model(member: Any) -> bool:
    return isinstance(member, type) and issubclass(member, BaseModel)
