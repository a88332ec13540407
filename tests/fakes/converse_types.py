"""Checks requests and events of Converse by the description of the service that botocore ships.

botocore's own validator knows required and unknown members and types. Enumerations, patterns and lengths, which the
service checks, are checked here, too.
"""

import re
from base64 import b64decode
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, cast

LENGTHS = {"string", "list", "blob"}


def _module(name: str) -> Any:
    return import_module(f"botocore.{name}")


@cache
def service_model() -> Any:
    """Return botocore's model of `bedrock-runtime`."""
    return _module("session").Session().get_service_model("bedrock-runtime")


@cache
def converse_request() -> Any:
    return service_model().operation_model("ConverseStream").input_shape


@cache
def converse_events() -> Mapping[str, Any]:
    """Return the shapes of a stream's events and exceptions, by name."""
    return cast("Mapping[str, Any]", service_model().shape_for("ConverseStreamOutput").members)


def problems(body: Mapping[str, object], model: str) -> list[str]:
    """Return what the service would refuse in the JSON of a request for this model."""
    return _problems(converse_request(), {**body, "modelId": model})


def event_problems(name: str, value: object) -> list[str]:
    """Return what no client of Amazon would understand in an event."""
    shape = converse_events().get(name)
    return [f"unknown event {name}"] if shape is None else _problems(shape, value)


def _problems(shape: Any, value: object) -> list[str]:
    parsed = _parsed(shape, value)
    report = _module("validate").ParamValidator().validate(parsed, shape)
    found = [report.generate_report()] if report.has_errors() else []
    return [*found, *_outside(shape, parsed, "")]


def _parsed(shape: Any, value: Any) -> Any:
    """Return a value as botocore's callers write it: the wire has blobs as Base64."""
    match shape.type_name:
        case "blob":
            return b64decode(value, validate=True)
        case "structure" if not shape.is_document_type:
            return {
                name: _parsed(shape.members[name], inner) if name in shape.members else inner
                for name, inner in _members(value).items()
            }
        case "list":
            return [_parsed(shape.member, inner) for inner in value]
        case "map":
            return {name: _parsed(shape.value, inner) for name, inner in _members(value).items()}
        case _:
            return value


def _outside(shape: Any, value: Any, where: str) -> list[str]:
    """Return what is outside of enumerations, patterns and lengths."""
    limits = shape.metadata
    found: list[str] = []
    if shape.type_name == "string" and isinstance(value, str):
        if value not in (shape.enum or [value]):
            found.append(f"{where}: {value!r} is not one of {shape.enum}")
        if "pattern" in limits and not re.fullmatch(limits["pattern"], value):
            found.append(f"{where}: {value!r} does not match {limits['pattern']}")
    size = len(value) if shape.type_name in LENGTHS else value if shape.type_name in {"integer", "float"} else None
    if size is not None and not limits.get("min", size) <= size <= limits.get("max", size):
        found.append(f"{where}: {size} is outside of {limits.get('min')} to {limits.get('max')}")
    if shape.type_name == "structure" and not shape.is_document_type:
        for name, inner in _members(value).items():
            if name in shape.members:
                found += _outside(shape.members[name], inner, f"{where}.{name}")
    if shape.type_name == "list":
        for number, inner in enumerate(value):
            found += _outside(shape.member, inner, f"{where}[{number}]")
    return found


def _members(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value)
