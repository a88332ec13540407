"""`remember` keeps no secrets."""

import pytest

from agent.errors import ToolError
from agent.memory.audience import PersonAudience, Place
from agent.ports import ToolContext
from agent.records import Person
from agent.tools.remember import RememberTool
from tests.fakes.incoming import START
from tests.fakes.store import FakeStore


async def test_a_secret_is_refused_and_the_model_is_told_why() -> None:
    store = FakeStore()
    context = ToolContext(Person("ann", "Ann"), Place(PersonAudience("ann")), "thread", 1, START)
    with pytest.raises(ToolError, match="password"):
        await RememberTool(store.facts).run({"text": "the password of the router is hunter2"}, context)
    assert store.facts.kept == ()
    await RememberTool(store.facts).run({"text": "the router stands in the cellar"}, context)
    assert len(store.facts.kept) == 1
