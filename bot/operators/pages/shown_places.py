"""Channels on the pages: by the names that people know, with their ids beside them."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

# Returns the names of those of these channels that have a known one, by the platform's id.
NamesOf: TypeAlias = Callable[[Collection[str]], Awaitable[Mapping[str, str]]]


async def no_names(_: Collection[str]) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class ShownPlace:
    """`name`: as people see it, or the id if that is unknown; `beside`: the id, "" if it is the name."""

    name: str
    beside: str = ""


async def shown_places(channels: Iterable[str], names_of: NamesOf) -> Mapping[str, ShownPlace]:
    """Return how each of these stored channels is shown."""
    ids = {channel: channel.rpartition(":")[2] for channel in channels}
    names = await names_of(frozenset(ids.values()))
    return {channel: ShownPlace(names[id_], id_) if names.get(id_) else ShownPlace(id_) for channel, id_ in ids.items()}
