"""The latest word on each of the latest things: a help, which a restart may lose. Pure.

Above: the platforms. Below: nothing.
"""

from dataclasses import dataclass, field

MAX_ENTRIES = 2_000
"""As many things as people still come back to."""


@dataclass(slots=True)
class Latest:
    _kept: dict[str, str] = field(default_factory=dict[str, str])

    def keep(self, key: str, text: str) -> None:
        self._kept.pop(key, None)
        self._kept[key] = text
        while len(self._kept) > MAX_ENTRIES:
            del self._kept[next(iter(self._kept))]

    def of(self, key: str) -> str:
        """ "" if there is none."""
        return self._kept.get(key, "")
