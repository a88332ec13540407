"""A chart as plain values: what it shows, for surfaces that draw charts themselves. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class ChartKind(StrEnum):
    BARS = "bars"
    LINES = "lines"
    POINTS = "points"
    PIE = "pie"


@dataclass(frozen=True, slots=True)
class Chart:
    """`labels`: what stands on the first axis: names, or a number for each point. `series`: values by name; None is a
    gap.
    """

    kind: ChartKind
    title: str
    labels: tuple[str | float, ...]
    series: Mapping[str, tuple[float | None, ...]]
    x_title: str = ""
    y_title: str = ""


def number_text(value: float | str | None) -> str:
    """Write a number as people do: 3, 3.5, 1234567; "" for a gap."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.6g}"
