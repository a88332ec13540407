"""What processes choose and count for a channel at the same moment, on both databases."""

import asyncio

from store.engine import Store
from tests.bot.channels.test_ambient import CHANNEL
from tests.bot.channels.test_ambient import World as Answering
from tests.bot.channels.test_service import World as Choosing
from tests.contracts.steps import in_memory_too
from tests.patience import PATIENCE_S


@in_memory_too
async def test_choices_of_several_processes_at_once_all_stand_in_the_history(store: Store) -> None:
    words = ("language German", "model ollama:small", "who members", "ambient 5")
    await asyncio.gather(*(Choosing(store=store).order(one) for one in words))
    world = Choosing(store=store)
    assert await world.chosen() == {"language": "German", "model": "ollama:small", "who": "members", "ambient": "5"}
    assert [line.partition(" ")[2].split()[0] for line in (await world.order("history")).splitlines()[2:]] == [
        "**1**",
        "**2**",
        "**3**",
        "**4**",
    ]


@in_memory_too
async def test_processes_that_answer_at_once_share_one_bound(store: Store) -> None:
    world = Answering(store)
    await world.switch(10)
    processes = [world.process(wait_s=0) for _ in range(4)]
    for each in processes:  # each hears another question
        question = world.question()
        each.talked(question.source, CHANNEL, question.person, question.message)
        each.asked_all(question)
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*(each.idle() for each in processes))
    assert len(world.answered) == 1
