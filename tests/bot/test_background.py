"""The work outside of turns, put together."""

import pytest

from bot.background import background
from bot.models.chosen import ModelSettings
from bot.models.switch import ModelSwitch
from tests.fakes.clock import FakeClock
from tests.fakes.store import FakeStore


async def learns_with(model: str, *, learns: bool = True, learning_model: str | None = None) -> bool:
    """Would a turn that ends now be learned from?"""
    store, clock = FakeStore(), FakeClock(auto=False)
    settings = ModelSettings(model=model, learning_model=learning_model)
    models = await ModelSwitch.open(settings, clock, lambda: 0.0)
    try:
        async with background(
            store.jobs,
            store.profiles,
            store.facts,
            store.spending,
            models,
            clock,
            owner="me",
            learns=learns,
            memories=store.memories,
        ) as work:
            return work.learner is not None and work.learner.due(clock.now()) is not None
    finally:
        await models.aclose()


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
