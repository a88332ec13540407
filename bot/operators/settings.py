"""The settings for operators: health report, metrics, their page, and what two of them decide together."""

from collections.abc import Iterable
from enum import StrEnum
from urllib.parse import unquote


class OperatorAct(StrEnum):
    """What operators can do with a person's or a place's data."""

    EXPORT = "export"
    ERASE = "erase"


def header_values(variables: Iterable[tuple[str, str]]) -> list[str]:
    """Return the values in OpenTelemetry's header variables ("name=value,…", percent-encoded): they hold keys."""
    pairs = [pair for name, value in variables if name.endswith("_HEADERS") for pair in value.split(",")]
    values = [pair.partition("=")[2].strip() for pair in pairs]
    return [*values, *map(unquote, values)]
