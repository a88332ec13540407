"""A server of small models with one slot: a question never waits for what the bot learns in the background."""

import asyncio
import random
from contextlib import aclosing

from agent.events import Outcome
from agent.memory.profile import LEARNING, Partition, ProfileField
from agent.messages import Message, Role
from agent.ports.model import TokensArrived
from agent.providers.catalog import LLAMACPP
from agent.providers.factory import open_chat
from agent.providers.replay import ProviderWorld
from agent.turn_records import Claiming, Closing
from bot.chat.foreground import ForegroundPriority
from bot.chat.jobs import JobWorker
from bot.chat.learning_model import LearningModel
from bot.memory.learning import Learner, LearningLimits
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.model_server import DONE, ModelServer, Reply, Request, Wait, head, text
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.patience import PATIENCE_S

QUESTION = "What is the capital of Norway?"
LEARNED = '{"insights": [{"field": "goals", "text": "Rust", "from": [1]}]}'


class OneSlot:
    """Answers one request at a time. What is learned first never ends by itself: its client has to give it up."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.learning = asyncio.Event()
        self.server = ModelServer(self.reply)

    def reply(self, request: Request) -> Reply:
        self.order.append("question" if QUESTION in request.body.decode() else "learning")
        match self.order:
            case ["learning"]:
                self.learning.set()
                return [head(), text('{"insights": ['), Wait(asyncio.Event().wait)]
            case [*_, "question"]:
                return [Wait(self.server.left.wait), head(), text("Oslo."), DONE]
            case _:
                return [head(), text(LEARNED), DONE]


async def heard(store: StoreInMemory, learner: Learner, clock: FakeClock) -> None:
    await store.ledger.accept(said("I learn Rust"))
    claim = await store.ledger.claim(Claiming("turns", clock.now(), LEASE))
    assert claim is not None
    closing = Closing(Outcome.ANSWERED, "Noted.", learn_at=learner.due(clock.now()))
    await store.ledger.finish(claim, closing, clock.now())


async def test_a_question_gets_the_only_slot_while_learning_runs_and_learning_is_made_up_for() -> None:
    slot, store, clock, floor = OneSlot(), store_in_memory(), FakeClock(START, auto=False), ForegroundPriority()
    async with slot.server as server, asyncio.timeout(PATIENCE_S):
        provider = open_chat(LLAMACPP.at(server.url), "small", None, ProviderWorld(clock, random.random))
        learner = Learner(
            store.profiles,
            store.facts,
            store.jobs,
            store.spending,
            lambda: LearningModel(provider, LLAMACPP.at(server.url).is_local),
            clock,
            floor,
        )
        worker = JobWorker(store.jobs, {LEARNING: learner.learn}, clock, "worker")
        await heard(store, learner, clock)
        await clock.advance(LearningLimits().quiet.total_seconds())
        working = asyncio.create_task(worker.work())
        await slot.learning.wait()
        answer = ""
        with floor.answering():
            async with aclosing(provider.stream([Message(Role.USER, QUESTION)])) as events:
                async for event in events:
                    answer += event.text if isinstance(event, TokensArrived) else ""
            await working
        assert answer == "Oslo."
        assert slot.order == ["learning", "question"]
        await clock.advance(LearningLimits().quiet.total_seconds())
        while await worker.work():
            pass
        goals = (await store.profiles.get(Partition("ann", "person:ann"))).of(ProfileField.GOALS)
        await provider.aclose()
    assert slot.order == ["learning", "question", "learning"]
    assert [goal.text for goal in goals] == ["Rust"]
