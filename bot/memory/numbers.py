"""The short numbers under which a person's entries are listed."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, cast

# The numbers by which a person refers to entries. A number is never given to a second entry. Pure.
#
# Rule. A number stands for the entry listed under it, even after the list has changed. So numbers have gaps where
# entries were forgotten. Numbers of entries that are no longer listed are dropped, oldest first, until `MAX_NUMBERS` or
# as many as the list has remain; an entry whose number was dropped gets a new one if it is listed again.

MAX_NUMBERS: Final = 500  # More than most lists hold; encoded, these numbers stay under 20,000 characters


@dataclass(frozen=True, slots=True)
class EntryNumbers:
    """`by_key`: the number of each key, in ascending order. `last`: the highest number ever given."""

    by_key: dict[str, int] = field(default_factory=dict[str, int])
    last: int = 0

    def key(self, number: int) -> str | None:
        return next((key for key, given in self.by_key.items() if given == number), None)

    def including(self, keys: Iterable[str]) -> "EntryNumbers":
        listed = dict.fromkeys(keys)
        new = [key for key in listed if key not in self.by_key]
        given = self.by_key | {key: number for number, key in enumerate(new, self.last + 1)}
        unlisted = [key for key in self.by_key if key not in listed]
        dropped = set(unlisted[: max(0, len(given) - MAX_NUMBERS)])
        return EntryNumbers({key: given[key] for key in given if key not in dropped}, self.last + len(new))

    def replaced(self, key: str, to: str) -> "EntryNumbers":
        """Return the numbers with `to` in the place of `key`, under the same number."""
        return EntryNumbers({to if old == key else old: number for old, number in self.by_key.items()}, self.last)

    def encode(self) -> str:
        return json.dumps({"last": self.last, "of": self.by_key}, separators=(",", ":"))


def decode_numbers(text: str) -> EntryNumbers:
    """Parse the output of `EntryNumbers.encode`; return no numbers for anything else."""
    try:
        parsed: object = json.loads(text)
    except ValueError:
        return EntryNumbers()
    fields = cast("dict[str, object]", parsed) if isinstance(parsed, dict) else {}
    last, by_key = fields.get("last"), fields.get("of")
    if not isinstance(last, int) or not isinstance(by_key, dict):
        return EntryNumbers()
    numbers = cast("dict[str, object]", by_key)
    return EntryNumbers({key: number for key, number in numbers.items() if isinstance(number, int)}, last)
