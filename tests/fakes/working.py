"""The port WorkingSet in memory."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from agent import texts
from agent.errors import StoreError
from agent.memory.layers import WorkingItem
from store.history import MOST_ITEMS


@dataclass
class FakeWorkingSet:
    """`kept`: (conversation, audience, item), the oldest first. `stands`: the ids of the messages that there are."""

    kept: list[tuple[str, str, WorkingItem]] = field(default_factory=list[tuple[str, str, WorkingItem]])
    stands: set[int] = field(default_factory=set[int])

    async def keep(self, conversation: str, audience: str, item: WorkingItem) -> None:
        if item.message not in self.stands:
            raise StoreError(texts.SOURCE_FORGOTTEN)
        here = [one for one in self.kept if one[0] == conversation and one[2].key != item.key]
        elsewhere = [one for one in self.kept if one[0] != conversation]
        self.kept = [*elsewhere, *here[-(MOST_ITEMS - 1) :], (conversation, audience, item)]

    def items(self, conversation: str, audiences: frozenset[str], now: datetime) -> list[WorkingItem]:
        found = (item for where, audience, item in self.kept if where == conversation and audience in audiences)
        return [item for item in found if item.expires_at is not None and item.expires_at > now]

    def forget(self, gone: Collection[int]) -> None:
        self.stands -= set(gone)
        self.kept = [one for one in self.kept if one[2].message not in gone]
