"""A platform that knows who can read which of its group places."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass
class FakeMembership:
    """`readers` by place; `asked` holds every question. For `silent` places it has no answer."""

    readers: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    silent: set[str] = field(default_factory=set[str])
    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list[tuple[str, tuple[str, ...]]])

    async def readable(self, person: str, places: Sequence[str]) -> Mapping[str, bool]:
        self.asked.append((person, tuple(places)))
        return {place: person in self.readers.get(place, ()) for place in places if place not in self.silent}
