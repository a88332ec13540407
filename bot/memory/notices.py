"""Notices below a reply: what the bot stored about its asker and how to undo it, and what a search left out."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from agent.errors import Refused, StoreError, ToolError
from agent.incoming import Incoming
from agent.memory.audience import PersonAudience, Place
from agent.memory.facts import Fact
from agent.memory.forgetting_plans import EntriesPlan
from agent.memory.writing import Written
from agent.messages import JsonObject
from agent.ports.clock import Clock
from agent.ports.forgetting import Forgetting
from agent.ports.memory import Facts, Memories, Profiles
from agent.ports.preferences import Preferences
from agent.ports.tools import ToolContext
from agent.shown_replies import Answered
from agent.state import ActionRecord
from agent.tools.recall import query_of
from agent.turn_setup import ANSWERED
from bot.chat.access.readers import Readers
from bot.chat.notes import NO_LINE, EndedTurn, NoteLine
from bot.chat.reply.surface import ReplyAction
from bot.chat.texts import replies as reply_texts
from bot.chat.texts.formatting import literal, shortened
from bot.memory import texts as memory_texts

log = logging.getLogger(__name__)

# The first notice: a line under the first reply to a person says what is remembered, and how to see, stop and erase it.
#
# Rule: each person gets it once, whichever process answers first, and however often a crash restarts that answer. So a
# preference of the person stores the turn that shows it, and only that turn does.

TOLD: Final = "told"  # The preference's name


@dataclass(frozen=True, slots=True)
class FirstNotice:
    """`learns`: whether the bot learns from messages now. `named`: takes a person's id and a text, and returns the text
    with the commands as they are called on that person's platform.
    """

    preferences: Preferences
    learns: Callable[[], bool]
    named: Callable[[str, str], str] = lambda _, text: text
    is_private: ClassVar[bool] = False

    async def line(self, ended: EndedTurn) -> NoteLine:
        """Return the notice below this turn's answer; no line if another turn shows it, or a program asked."""
        if ended.closing.outcome not in ANSWERED or not ended.closing.calls or ended.kind.asks_nobody:
            return NO_LINE
        person, mine = ended.question.person.id, str(ended.number)
        shown = (await self.preferences.all_of(person)).get(TOLD)
        if shown != mine and not (shown is None and await self.preferences.swap(person, TOLD, None, mine)):
            return NO_LINE
        return NoteLine(self.named(person, memory_texts.LEARNS if self.learns() else memory_texts.KEEPS))


# The line below an answer that lists the facts which the turn stored about its asker, and those that were learned since
# the last answer in the same audience; and the undo of both.
#
# Rules
#   What is learned in the background is told below the next answer in its audience, once.
#   Code writes the line from the stored facts, not the model, so no fact is stored without its person seeing it.
#   Only the asker may take them back, once. Taking back erases all that the turn's question taught, including profile
#   entries learned from it since; superseded facts are valid again, and nothing more is learned from the question.
#   Profile entries that also rest on other messages stay.
#   What a model's verdict had replaced later holds again beside the newer fact, which stays: it was said, too.

LINE_CHARS: Final = 200  # Per fact below an answer: two lines on a phone; `/memory` shows the whole fact
MAX_NAMED: Final = 5  # Facts listed; any others are only counted


@dataclass(frozen=True, slots=True)
class KeptNotice:
    facts: Facts
    profiles: Profiles
    forgetting: Forgetting
    clock: Clock
    is_private: ClassVar[bool] = False

    async def line(self, ended: EndedTurn) -> NoteLine:
        """It lists what the turn stored, and what was learned since the last answer in this audience."""
        told = ended.kind.is_asked or ended.closing.used_tools
        text = await self._text(ended.number) if told else ""
        return NoteLine(text, frozenset({ReplyAction.UNDO})) if text else NO_LINE

    async def _text(self, turn: int) -> str:
        told = await self.facts.announce(turn)
        own, earlier = ([*map(_with_former, writes)] for writes in (told.from_question, told.from_earlier))
        if not earlier:
            return memory_texts.KEPT.format(facts=_listed(own)) if own else ""
        if not own:
            return memory_texts.LEARNED_SINCE.format(facts=_listed(earlier))
        return memory_texts.KEPT_AND_LEARNED.format(facts=_listed(own), earlier=_listed(earlier))

    async def take_back(self, turn: int, person: str) -> str:
        """Erase what this turn stored, and return the sentence for the person. Raises StoreError, and Refused if they
        are not the asker.
        """
        told = await self.facts.kept_in(turn)
        # Of what was remembered before, the answer told only that a verdict had it replace something.
        verdicts = [write for write in told.from_earlier if write.by_verdict]
        kept = {fact.id for write in verdicts for fact in (write.fact, *write.by_verdict)}
        writes = [*told.from_question, *(write for write in told.from_earlier if write.fact.id not in kept)]
        return await self._undo(verdicts, writes, person)

    async def press_undo(self, reply: Answered, person: str) -> str:
        """What the button in its line does: take back what the reply's turn stored."""
        return await self.take_back(reply.turn, person)

    async def take_back_fact(self, fact: Fact, person: str) -> str:
        """As `take_back`, for one fact of which an answer has told. Raises StoreError and Refused."""
        history = await self.facts.readable(person, frozenset({fact.audience}))
        write = Written(fact, tuple(old for old in history if old.superseded_by == fact.id))
        return await self._undo([write], [], person) if write.by_verdict else await self._undo([], [write], person)

    async def _undo(self, verdicts: Sequence[Written], writes: Sequence[Written], person: str) -> str:
        """Undo what models decided later, and erase what these writes stored; return the sentence for the person."""
        if any(write.fact.person != person for write in (*verdicts, *writes)):
            raise Refused(reply_texts.NOT_YOURS)
        if not (verdicts or writes):
            return memory_texts.NOTHING_KEPT
        sentences = [await self._reinstate(write, person) for write in verdicts]
        if writes:
            sentences.append(await self._take_back(writes, person))
        return " ".join(sentences)

    async def _reinstate(self, write: Written, person: str) -> str:
        for old in write.by_verdict:
            await self.facts.reinstate(person, old.id)
        restored = _listed([_shorten(old.text) for old in write.by_verdict])
        return memory_texts.BOTH_VALID.format(before=restored, fact=_shorten(write.fact.text))

    async def _take_back(self, writes: Sequence[Written], person: str) -> str:
        places = frozenset(write.fact.audience for write in writes)
        taught = {write.fact.source_message for write in writes}
        learned = [
            entry.id
            for entry in await self.profiles.all_entries(person, places)
            # Only what rests on these messages alone goes with them.
            if entry.sources and taught.issuperset(entry.sources) and not entry.is_settled
        ]
        plan = EntriesPlan(person, frozenset(learned), frozenset(write.fact.id for write in writes))
        await self.forgetting.forget_entries(plan, self.clock.now())
        sentence = memory_texts.TAKEN_BACK.format(facts=_listed([_shorten(write.fact.text) for write in writes]))
        valid = {fact.id for fact in await self.facts.readable(person, places) if fact.is_valid}
        # What a fact had replaced may hold again, which nobody expects: the confirmation says so.
        restored = [_shorten(old.text) for write in writes for old in write.superseded if old.id in valid]
        return memory_texts.HOLDS_AGAIN.format(done=sentence, before=_listed(restored)) if restored else sentence


def _with_former(write: Written) -> str:
    fact, superseded = _shorten(write.fact.text), _listed([_shorten(old.text) for old in write.superseded])
    return memory_texts.INSTEAD.format(fact=fact, before=superseded) if superseded else fact


def _listed(texts: Sequence[str]) -> str:
    text = "; ".join(texts[:MAX_NAMED])
    return text if len(texts) <= MAX_NAMED else memory_texts.MORE_FACTS.format(facts=text, many=len(texts) - MAX_NAMED)


def _shorten(text: str) -> str:
    return literal(shortened(" ".join(text.split()), LINE_CHARS))


# The notice of how many more messages a turn's searches would have found in direct messages. Only the asker sees the
# number; the model never does.
#
# Rule: only messages count that the asker may read in their direct messages at this moment.

RECALL: Final = "recall"
# Searches of one turn that are counted: a model that searches more often lacks the right words, and each search runs
# twice.
MAX_SEARCHES: Final = 3


@dataclass(frozen=True, slots=True)
class WithheldNotice:
    memories: Memories
    readers: Readers
    clock: Clock
    is_private: ClassVar[bool] = True

    async def line(self, ended: EndedTurn) -> NoteLine:
        """Return the sentence that only the asker sees; none where nothing was left out."""
        try:
            count = await self.count(ended.question, ended.closing.actions)
        except StoreError as error:
            log.info("could not show what a search left out: %s", error)
            return NO_LINE
        return NoteLine(memory_texts.withheld_text(count)) if count else NO_LINE

    async def count(self, question: Incoming, actions: Sequence[ActionRecord]) -> int:
        """Return how many more messages the turn's searches would have found in direct messages; 0 where only the asker
        reads. Raises StoreError.
        """
        alone = Place(PersonAudience(question.person.id))
        # A call without a query searched nothing, or its arguments may not be kept.
        calls = (call for action in actions for call in action.calls if call.name == RECALL and "query" in call.args)
        searches = [call.args for call in calls][:MAX_SEARCHES]
        if question.place.audience == alone.audience or not searches:
            return 0
        readable = await self.readers.also_readable(alone)
        hidden = await asyncio.gather(*(self._only_alone(args, question, alone, readable) for args in searches))
        return len(frozenset[int]().union(*hidden))

    async def _only_alone(
        self, args: JsonObject, question: Incoming, alone: Place, readable: frozenset[str]
    ) -> frozenset[int]:
        """Return the ids of messages that this search would find only in direct messages with the asker."""
        context = ToolContext(question.person, question.place, question.conversation, 0, self.clock.now())
        try:
            allowed = query_of(args, context)
            wider = query_of(args, replace(context, place=alone, readable=readable))
        except ToolError:  # the tool returned this error to the model, and did not search
            return frozenset()
        hits = await self.memories.search(replace(wider, audiences=allowed.audiences | wider.audiences, shared=False))
        return frozenset(hit.message.id for hit in hits if not allowed.admits(hit.message))
