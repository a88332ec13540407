"""What a turn has kept of its asker, said below its answer, and taken back where they do not want that.

Rules
  Code says it, from what is kept, and not the model. So nothing is kept of anybody without their seeing it.
  Taken back is what the turn's question taught, also what was learned from it since, for the profile, too: by the asker
  alone, once. It is erased, what it had superseded holds again, and the question teaches no more. What the profile has
  of other messages as well stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agent.errors import Refused
from agent.memory.forgetting import EntriesPlan
from agent.memory.writing import Written
from agent.ports import Clock, Facts, Forgetting, Profiles
from bot.wording import REMEMBERED, literal, shortened

LINE_CHARS: Final = 200
"""Of one fact below an answer: two lines of a phone; `/memory` shows the whole of it."""
MOST: Final = 5
"""Facts that are named; of more, how many there are."""
KEPT: Final = f"{REMEMBERED}{{facts}}*"
INSTEAD: Final = "{fact} (instead of: {before})"
MORE: Final = "{facts}; and {many} more"
TAKEN_BACK: Final = "Taken back: {facts}. I do not learn it again from that message."
HOLDS_AGAIN: Final = "{done} This holds again: {before}."
NOTHING_KEPT: Final = "Nothing that I remembered then is left to be taken back."
NOT_YOURS: Final = "Only the person whose words were remembered can take that back."


@dataclass(frozen=True, slots=True)
class Kept:
    facts: Facts
    profiles: Profiles
    forgetting: Forgetting
    clock: Clock

    async def line(self, turn: int) -> str:
        """What stands below the answer of this turn, as Markdown; "" if it kept nothing. Raises StoreError."""
        return _line([one for one in await self.facts.kept_in(turn) if one.fact.is_valid])

    async def take_back(self, turn: int, person: str) -> str:
        """What is said to a person who wants that undone. Raises Refused for anybody else, and StoreError."""
        kept = await self.facts.kept_in(turn)
        if any(one.fact.person != person for one in kept):
            raise Refused(NOT_YOURS)
        if not kept:
            return NOTHING_KEPT
        places = frozenset(one.fact.audience for one in kept)
        taught = {one.fact.source_message for one in kept}
        learned = [
            entry.id
            for entry in await self.profiles.known(person, places)
            if entry.sources and taught.issuperset(entry.sources) and not entry.is_settled
        ]
        plan = EntriesPlan(person, frozenset(learned), frozenset(one.fact.id for one in kept))
        await self.forgetting.forget_entries(plan, self.clock.now())
        done = TAKEN_BACK.format(facts=_named([_short(one.fact.said) for one in kept]))
        now = {one.id for one in await self.facts.readable(person, places) if one.is_valid}
        before = [_short(old.said) for one in kept for old in one.superseded if old.id in now]
        return HOLDS_AGAIN.format(done=done, before=_named(before)) if before else done


def _line(kept: Sequence[Written]) -> str:
    return KEPT.format(facts=_named([_with_former(one) for one in kept])) if kept else ""


def _with_former(one: Written) -> str:
    said, before = _short(one.fact.said), _named([_short(old.said) for old in one.superseded])
    return INSTEAD.format(fact=said, before=before) if before else said


def _named(texts: Sequence[str]) -> str:
    named = "; ".join(texts[:MOST])
    return named if len(texts) <= MOST else MORE.format(facts=named, many=len(texts) - MOST)


def _short(text: str) -> str:
    return literal(shortened(" ".join(text.split()), LINE_CHARS))
