"""The numbers by which a person names what is known about them: once given, never given to anything else. Pure.

Rule. A number stands for what was listed under it, also when the list has changed meanwhile. So numbers have gaps where
something was forgotten, and of what is listed no more only the newest are kept, so that there are `MOST` or as many as
the list has; what had one of the others gets a new one.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, cast

MOST: Final = 500
"""More than most lists hold; the text of them stays under 20,000 characters."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """`of`: the number of each key, in their order. `last`: the highest that was ever given."""

    of: dict[str, int] = field(default_factory=dict[str, int])
    last: int = 0

    def key(self, number: int) -> str | None:
        """What this number stands for."""
        return next((key for key, given in self.of.items() if given == number), None)

    def including(self, keys: Iterable[str]) -> "Numbers":
        """With a number for each of these."""
        listed = dict.fromkeys(keys)
        new = [key for key in listed if key not in self.of]
        given = self.of | {key: number for number, key in enumerate(new, self.last + 1)}
        gone = [key for key in self.of if key not in listed]
        dropped = set(gone[: max(0, len(given) - MOST)])
        return Numbers({key: given[key] for key in given if key not in dropped}, self.last + len(new))

    def moved(self, key: str, to: str) -> "Numbers":
        """`to` has come in the place of `key`, and has its number."""
        return Numbers({to if one == key else one: number for one, number in self.of.items()}, self.last)

    def encode(self) -> str:
        return json.dumps({"last": self.last, "of": self.of}, separators=(",", ":"))


def decode(kept: str) -> Numbers:
    """The inverse of `Numbers.encode`; no numbers for anything else."""
    try:
        read: object = json.loads(kept)
    except ValueError:
        return Numbers()
    found = cast("dict[str, object]", read) if isinstance(read, dict) else {}
    last, of = found.get("last"), found.get("of")
    if not isinstance(last, int) or not isinstance(of, dict):
        return Numbers()
    given = cast("dict[str, object]", of)
    return Numbers({key: number for key, number in given.items() if isinstance(number, int)}, last)
