"""The numbers by which a person names what is known about them: once given, never given to anything else. Pure.

Above: `bot.memory.desk`, which keeps them among the person's preferences. Below: nothing.

Rule. A number stands for what was listed under it, also when the list has changed meanwhile. So numbers have gaps where
something was forgotten, and only the oldest beyond `MOST` are given up; what had one of those gets a new one.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, cast

MOST: Final = 500
"""More than anybody's list holds; the text of them stays under 10,000 characters."""


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
        new = [key for key in dict.fromkeys(keys) if key not in self.of]
        given = self.of | {key: number for number, key in enumerate(new, self.last + 1)}
        return Numbers(dict([*given.items()][-MOST:]), self.last + len(new))

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
