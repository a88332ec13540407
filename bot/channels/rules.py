"""What `/channel` shows."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlaceAnswer:
    """The answer of `/channel`, as Markdown. `chosen`: the choices by rule; None for a person who may not change them.

    `most_ambient`: the operator's limit of ambient answers a day. `refused`: nothing was done; `text` says why.
    """

    text: str
    chosen: Mapping[str, str] | None = None
    most_ambient: int = 0
    refused: bool = False
