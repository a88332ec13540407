"""The background work as a whole."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from agent.embeddings import Unembedded
from agent.memory.audience import may_flow_from
from agent.recall_query import RecallQuery
from bot.app.background import background
from bot.app.parts import memory_service
from bot.chat.core import Core, PlatformAccess
from bot.memory.feature import Memory, open_memory
from bot.memory.meanings import EMBEDDING, Meanings
from bot.memory.policies import PolicyService
from bot.memory.settings import MemorySettings
from bot.models.settings import ModelSettings
from bot.models.switch import ModelSwitch
from store.databases.database import Database
from store.engine import Store
from store.search.vectors import SqlEmbeddings
from tests.fakes.clock import FakeClock
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.incoming import dm, said
from tests.fakes.store import store_in_memory
from tests.patience import PATIENCE_S


async def learns_with(model: str, *, learns: bool = True, learning_model: str | None = None) -> bool:
    """Whether a turn that ends now would be learned from."""
    clock = FakeClock(auto=False)
    settings = ModelSettings(model=model, learning_model=learning_model)
    models = await ModelSwitch.open(settings, clock, lambda: 0.0)
    try:
        store = store_in_memory()
        memory = memory_on(store, core_on(store, models, clock), learns=learns)
        return memory.schedule.due(clock.now()) is not None
    finally:
        await models.aclose()


def memory_on(store: Store, core: Core, *, learns: bool, meanings: Meanings | None = None) -> Memory:
    settings, policies = MemorySettings(learning=learns), PolicyService(store.facts, core.clock)
    return open_memory(core, settings, memory_service(store), policies, meanings=meanings)


def core_on(store: Store, models: ModelSwitch, clock: FakeClock) -> Core:
    return Core(
        store=store,
        clock=clock,
        platforms=PlatformAccess(schedules={}, files_now={}),
        learning_model=models.learning_model,
        operates=lambda _: False,
        tool_timeout_s=1.0,
    )


@pytest.mark.parametrize(
    ("model", "learning_model", "learns"),
    [
        ("ollama:llama3.2", None, True),
        ("rehearsal", None, False),
        ("rehearsal", "ollama:llama3.2", True),
        ("ollama:llama3.2", "rehearsal", False),
    ],
)
async def test_the_bot_learns_with_any_model_but_a_rehearsal(
    model: str, learning_model: str | None, learns: bool
) -> None:
    assert await learns_with(model, learning_model=learning_model) is learns


async def test_learning_can_be_switched_off() -> None:
    assert not await learns_with("ollama:llama3.2", learns=False)


class Heard(SqlEmbeddings):
    """Records when vectors were stored."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.kept = asyncio.Event()

    async def keep(self, model: str, messages: Sequence[Unembedded], vectors: Sequence[Sequence[float]]) -> None:
        await super().keep(model, messages, vectors)
        self.kept.set()


@asynccontextmanager
async def working(store: Store, meanings: Meanings | None) -> AsyncGenerator[Memory]:
    clock = FakeClock(auto=False)
    models = await ModelSwitch.open(ModelSettings(model="rehearsal"), clock, lambda: 0.0)
    try:
        core = core_on(store, models, clock)
        memory = memory_on(store, core, learns=False, meanings=meanings)
        async with background(core, [memory.feature], owner="me"):
            yield memory
    finally:
        await models.aclose()


async def test_recall_searches_for_words_only_unless_an_embedding_model_is_set() -> None:
    store = store_in_memory()
    async with working(store, None) as memory:
        assert memory.memories is store.memories
        assert not await store.jobs.cancel(EMBEDDING, FakeEmbedder().name)


async def test_recall_is_semantic_once_an_embedding_model_is_set() -> None:
    store = store_in_memory()
    await store.ledger.accept(said("my vessel leaks"))
    embeddings, embedder = Heard(store.database), FakeEmbedder()
    async with asyncio.timeout(PATIENCE_S), working(store, Meanings(embedder, embeddings, is_local=True)) as memory:
        await embeddings.kept.wait()
        query = RecallQuery("ann", "boat", may_flow_from(dm("ann")), "")
        assert [hit.message.text for hit in await memory.memories.search(query)] == ["my vessel leaks"]
