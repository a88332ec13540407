"""Random walks through threads, memory, summaries and learning: a turn knows of all that it shows whether others wrote
it, and makes no fact of the person's of that.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Final

import pytest

from agent.context import Context, ContextBudget, Persona
from agent.context_composer import ContextComposer, ContextConfig
from agent.events import Outcome
from agent.incoming import Incoming, Quoted
from agent.memory.attribution import FILES_NOTE, mention
from agent.memory.audience import GroupAudience, Place, TeamAudience
from agent.memory.profile import LEARNING
from agent.messages import Message, Provenance
from agent.ports.model import Capabilities
from agent.providers.scripted import ScriptedProvider
from agent.state import SituationSummary
from agent.summary import SUMMARY
from agent.toolbox.registry import Registry
from agent.tools.recall import recollect
from agent.turn_kinds import TurnKind
from agent.turn_records import Claiming, Closing
from bot.chat.foreground import ForegroundPriority
from bot.chat.jobs import JobWorker
from bot.chat.learning_model import LearningModel
from bot.memory.learning import Learner
from bot.memory.summaries import Summariser
from tests.examples import thorough
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import LEASE, dm, said
from tests.fakes.store import StoreInMemory, store_in_memory

PUBLIC: Final = Place(TeamAudience("t"), within_team="t")
CLOSED: Final = Place(GroupAudience("club"))
PLACES: Final = {"first": dm("ann"), "second": dm("ann"), "public": PUBLIC, "closed": CLOSED}
STEPS: Final = 60
ASKED: Final = ("Tell me of boats, number", "Where is the harbor of pier", "Say something else, for the time of")
HOUR_S: Final = 3_600.0  # After which all jobs are due
WORDS: Final = re.compile(r"(?:foreign|named)q\d+x")  # Of others; of those whose names are mentioned


def copying(messages: Sequence[Message]) -> str:
    """A model that learns and summarizes whatever it reads of others' words."""
    text = messages[-1].text
    if not text.startswith("[{"):
        return json.dumps({"key_findings": " ".join(sorted({*WORDS.findall(text)})) or "boats"})
    found = [(one["number"], word) for one in json.loads(text) for word in WORDS.findall(one["text"])]
    insights = [{"field": "goals", "text": f"boats {word}", "from": [number]} for number, word in found]
    facts = [{"key": "boat", "value": word, "from": [number]} for number, word in found]
    return json.dumps({"insights": insights, "facts": facts, "actions": []})


@dataclass
class Walk:
    """Ann and Ben ask in several places, and the bot repeats in its answers and summaries what it has read."""

    random: Random
    store: StoreInMemory = field(default_factory=store_in_memory)
    clock: FakeClock = field(default_factory=FakeClock)
    where: str = "first"

    def __post_init__(self) -> None:
        store, model, floor = self.store, ScriptedProvider(copying), ForegroundPriority()
        config = ContextConfig(
            lambda: "w0rd",
            budget=ContextBudget(history=self.random.choice([60, 150, 12_000])),
            recollect=partial(recollect, store.memories, store.conversations),
            history_messages=self.random.choice([3, 6, 200]),
        )
        self.composer = ContextComposer(config, store.knowledge)
        parts = (store.jobs, store.spending, lambda: LearningModel(model), self.clock, floor)
        learner, summariser = Learner(store.profiles, store.facts, *parts), Summariser(store.summaries, *parts)
        jobs = {LEARNING: learner.learn, SUMMARY: summariser.summarise}
        self.worker = JobWorker(store.jobs, jobs, self.clock, "worker")

    async def step(self, number: int) -> None:
        if self.random.random() < 0.3:
            self.where = self.random.choice([*PLACES])
        conversation, place = self.where, PLACES[self.where]
        question = said(f"{self.random.choice(ASKED)} {number}.", conversation=conversation, place=place)
        foreign, named = f"foreignq{number}x", f"namedq{number}x"
        others: dict[str, Incoming] = {
            "quotation": replace(question, text=f"What is this?\n> {foreign} boats"),
            "rest": replace(question, text=f"What is this?\n>>> boats\n{foreign} boats"),
            "code": replace(question, text=f"What is ```{foreign} boats``` then?"),
            "file": replace(question, text=f"Look at boats.{FILES_NOTE}{foreign} boats.txt)"),
            "name": replace(question, text=f"What of boats does {mention(f'Mallory mails {named} boats')} say?"),
            "emoji": replace(question, text=f"What of boats is :so_{named}_boats: there?"),
            "forwarded": replace(question, quoted=(Quoted("a forwarded message", "Ben", f"{foreign} boats"),)),
            "schedule": replace(question, text=f"{foreign} boats", own=False, kind=TurnKind.SCHEDULED_AGAIN),
        }
        if place in (PUBLIC, CLOSED):
            others["person"] = said(f"{foreign} boats.", person="ben", conversation=conversation, place=place)
        kind = self.random.choice([*["own"] * 6, *["jobs"] * 3, *["asides"] * 3, *others])
        if kind == "jobs":
            await self.clock.advance(HOUR_S)
            while await self.worker.work():
                pass
        elif kind == "asides":  # so that no answer of the bot is in the history any more
            for aside in range(self.random.choice([1, 7])):
                said_here = said(f"Well, {aside} more.", conversation=conversation, place=place)
                await self.store.ledger.record_context_message(said_here)
        else:
            await self.ask(others.get(kind, question))

    async def ask(self, question: Incoming) -> None:
        store, now = self.store, self.clock.now()
        await store.ledger.accept(question)
        claim = await store.ledger.claim(Claiming("turns", now, LEASE))
        assert claim is not None
        persona, capabilities = Persona("You are a bot.", "Answer in English."), Capabilities()
        context, until = await self.composer.compose(claim, persona, Registry([]), frozenset(), capabilities)
        read = {*WORDS.findall("\n".join(message.text for message in context.messages))}
        if question.person.id == "ann":
            assert context.provenance >= needed(read), f"{question.conversation}: {read}"
        noted = SituationSummary(progress=" ".join(sorted(read))) if self.random.random() < 0.3 else None
        # What the bot says of a name counts as its own words (docs/security.md, "Known limits").
        told = " ".join(sorted(word for word in read if word.startswith("foreign")))
        reply = f"I read {told}." if self.random.random() < 0.6 else "Fine."
        await store.ledger.finish(claim, self.closing(context, question, until, reply, noted), now)

    def closing(
        self, context: Context, question: Incoming, until: int | None, reply: str, noted: SituationSummary | None
    ) -> Closing:
        return Closing(
            Outcome.ANSWERED,
            reply,
            summary=noted,
            words=context.provenance,
            context_messages=context.message_ids,
            context_facts=context.fact_ids,
            summarise_until=until,
            learn_at=self.clock.now() if question.own else None,
        )


def needed(read: set[str]) -> Provenance:
    if any(word.startswith("foreign") for word in read):
        return Provenance.RELAYED
    return Provenance.NAMED if read else Provenance.OWN


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=thorough) for seed in range(3, 6))])
async def test_a_turn_knows_of_all_that_it_shows_whether_others_wrote_it(seed: int) -> None:
    walk = Walk(Random(seed))
    for number in range(STEPS):
        await walk.step(number)
    facts = [fact.text for fact in walk.store.facts_kept if fact.person == "ann"]
    assert not [text for text in facts if "foreignq" in text]
