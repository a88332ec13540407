"""The line under the first reply to a person: what is remembered, and how to see, stop and erase it.

Rule: once for each person, whichever of several processes answers them first, and however often that answer is begun
anew after a crash. So the person's preferences keep in which turn it is said, and only that turn says it.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agent.errors import Refused, StoreError, ToolError
from agent.memory.audience import PersonAudience, Place
from agent.memory.forgetting_plans import EntriesPlan
from agent.memory.writing import Written
from agent.messages import JsonObject
from agent.ports import Clock, Facts, Forgetting, Memories, Preferences, Profiles, ToolContext
from agent.records import Incoming
from agent.state import ActionRecord
from agent.tools.recall import query_of
from bot.access.readers import Readers
from bot.texts import memory_texts, reply_texts
from bot.texts.formatting import literal, shortened

TOLD: Final = "told"
"""The preference's name."""


@dataclass(frozen=True, slots=True)
class FirstNotice:
    """`learns`: whether anything is learned from what people write, now. `named`: a text for this person, with the
    commands as they are called where they read it.
    """

    preferences: Preferences
    learns: Callable[[], bool]
    named: Callable[[str, str], str] = lambda _, text: text

    async def line(self, person: str, turn: int) -> str:
        """What this turn says to the person, as Markdown; "" if another one has said it. Raises StoreError."""
        told, mine = (await self.preferences.of(person)).get(TOLD), str(turn)
        if told != mine and not (told is None and await self.preferences.swap(person, TOLD, None, mine)):
            return ""
        return self.named(person, memory_texts.LEARNS if self.learns() else memory_texts.KEEPS)


# What a turn has kept of its asker, said below its answer, and taken back where they do not want that.
#
# Rules
#   Code says it, from what is kept, and not the model. So nothing is kept of anybody without their seeing it. Taken
#   back is what the turn's question taught, also what was learned from it since, for the profile, too: by the asker
#   alone, once. It is erased, what it had superseded holds again, and the question teaches no more. What the profile
#   has of other messages as well stays.

LINE_CHARS: Final = 200
"""Of one fact below an answer: two lines of a phone; `/memory` shows the whole of it."""
MOST: Final = 5
"""Facts that are named; of more, how many there are."""


@dataclass(frozen=True, slots=True)
class KeptNotice:
    facts: Facts
    profiles: Profiles
    forgetting: Forgetting
    clock: Clock

    async def line(self, turn: int) -> str:
        """What stands below the answer of this turn, as Markdown; "" if it kept nothing. Raises StoreError."""
        kept = [_with_former(one) for one in await self.facts.kept_in(turn) if one.fact.is_valid]
        return memory_texts.KEPT.format(facts=_named(kept)) if kept else ""

    async def take_back(self, turn: int, person: str) -> str:
        """What is said to a person who wants that undone. Raises Refused for anybody else, and StoreError."""
        kept = await self.facts.kept_in(turn)
        if any(one.fact.person != person for one in kept):
            raise Refused(reply_texts.NOT_YOURS)
        if not kept:
            return memory_texts.NOTHING_KEPT
        places = frozenset(one.fact.audience for one in kept)
        taught = {one.fact.source_message for one in kept}
        learned = [
            entry.id
            for entry in await self.profiles.known(person, places)
            if entry.sources and taught.issuperset(entry.sources) and not entry.is_settled
        ]
        plan = EntriesPlan(person, frozenset(learned), frozenset(one.fact.id for one in kept))
        await self.forgetting.forget_entries(plan, self.clock.now())
        done = memory_texts.TAKEN_BACK.format(facts=_named([_short(one.fact.said) for one in kept]))
        now = {one.id for one in await self.facts.readable(person, places) if one.is_valid}
        before = [_short(old.said) for one in kept for old in one.superseded if old.id in now]
        return memory_texts.HOLDS_AGAIN.format(done=done, before=_named(before)) if before else done


def _with_former(one: Written) -> str:
    said, before = _short(one.fact.said), _named([_short(old.said) for old in one.superseded])
    return memory_texts.INSTEAD.format(fact=said, before=before) if before else said


def _named(texts: Sequence[str]) -> str:
    named = "; ".join(texts[:MOST])
    return named if len(texts) <= MOST else memory_texts.MORE_FACTS.format(facts=named, many=len(texts) - MOST)


def _short(text: str) -> str:
    return literal(shortened(" ".join(text.split()), LINE_CHARS))


# What a search would have found for its person elsewhere, told to them alone: a number, and never to the model.
#
# Rule: only what this very person may read in their direct messages counts, at this moment.

log = logging.getLogger(__name__)

RECALL: Final = "recall"
MAX_SEARCHES: Final = 3
"""Of one turn: a model that looks for more has found no words for it, and each search is made twice."""


@dataclass(frozen=True, slots=True)
class WithheldNotice:
    memories: Memories
    readers: Readers
    clock: Clock

    async def aside(self, question: Incoming, actions: Sequence[ActionRecord]) -> str:
        """The sentence for the person alone, "" where nothing was left out."""
        try:
            count = await self.count(question, actions)
        except StoreError as error:
            log.info("nobody is told what a search left out: %s", error)
            return ""
        return memory_texts.withheld_text(count) if count else ""

    async def count(self, question: Incoming, actions: Sequence[ActionRecord]) -> int:
        """How many messages the searches of this turn would have found in direct messages besides. Raises StoreError.

        0 where only the person reads.
        """
        alone = Place(PersonAudience(question.person.id))
        searches = [call.args for action in actions for call in action.calls if call.name == RECALL][:MAX_SEARCHES]
        if question.place.audience == alone.audience or not searches:
            return 0
        groups = await self.readers.groups_of(alone)
        found = await asyncio.gather(*(self._hidden(args, question, alone, groups) for args in searches))
        return len(frozenset[int]().union(*found))

    async def _hidden(
        self, args: JsonObject, question: Incoming, alone: Place, groups: frozenset[str]
    ) -> frozenset[int]:
        """The ids of what this search finds for the person alone, as it would in direct messages."""
        here = ToolContext(question.person, question.place, question.conversation, 0, self.clock.now())
        try:
            shown = query_of(args, here)
            wider = query_of(args, replace(here, place=alone, readable_groups=groups))
        except ToolError:  # the model was told so, and looked for nothing
            return frozenset()
        hits = await self.memories.search(replace(wider, audiences=shown.audiences | wider.audiences, shared=False))
        return frozenset(hit.message.id for hit in hits if not shown.admits(hit.message))
