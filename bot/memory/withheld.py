"""What a search would have found for its person elsewhere, told to them alone: a number, and never to the model.

Above: `bot.app` hands it to the turns, which ask it once a reply has ended. Below: `agent.tools.recall`,
`bot.access.readers`, the port Memories.

Rule: only what this very person may read in their direct messages counts, at this moment.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from agent.errors import StoreError, ToolError
from agent.memory.audience import PersonAudience, Place
from agent.messages import JsonObject
from agent.ports import Clock, Memories, ToolContext
from agent.records import Incoming
from agent.state import ActionRecord
from agent.tools.recall import query_of
from bot.access.readers import Readers
from bot.wording import withheld_text

log = logging.getLogger(__name__)

RECALL: Final = "recall"
MAX_SEARCHES: Final = 3
"""Of one turn: a model that looks for more has found no words for it, and each search is made twice."""


@dataclass(frozen=True, slots=True)
class Withheld:
    memories: Memories
    readers: Readers
    clock: Clock

    async def aside(self, asked: Incoming, actions: Sequence[ActionRecord]) -> str:
        """The sentence for the person alone, "" where nothing was left out."""
        try:
            count = await self.count(asked, actions)
        except StoreError as error:
            log.info("nobody is told what a search left out: %s", error)
            return ""
        return withheld_text(count) if count else ""

    async def count(self, asked: Incoming, actions: Sequence[ActionRecord]) -> int:
        """How many messages the searches of this turn would have found in direct messages besides. Raises StoreError.

        0 where only the person reads.
        """
        alone = Place(PersonAudience(asked.person.id))
        searches = [call.args for action in actions for call in action.calls if call.name == RECALL][:MAX_SEARCHES]
        if asked.place.audience == alone.audience or not searches:
            return 0
        groups = await self.readers.groups_of(alone)
        found = await asyncio.gather(*(self._hidden(args, asked, alone, groups) for args in searches))
        return len(frozenset[int]().union(*found))

    async def _hidden(self, args: JsonObject, asked: Incoming, alone: Place, groups: frozenset[str]) -> frozenset[int]:
        """The ids of what this search finds for the person alone, as it would in direct messages."""
        here = ToolContext(asked.person, asked.place, asked.conversation, 0, self.clock.now())
        try:
            shown = query_of(args, here)
            wider = query_of(args, replace(here, place=alone, readable_groups=groups))
        except ToolError:  # the model was told so, and looked for nothing
            return frozenset()
        hits = await self.memories.search(replace(wider, audiences=shown.audiences | wider.audiences))
        return frozenset(hit.message.id for hit in hits if hit.message.audience not in shown.audiences)
