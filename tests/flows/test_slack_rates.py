"""Two processes of one Slack app on one database: together they make no more calls than the app may."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

from bot.chat.replicas import LOOK_S, Replicas
from tests.fakes.answers import answer_of
from tests.fakes.clock import FakeClock
from tests.fakes.shared_rates import WatchedRates
from tests.fakes.slack_bot import serving
from tests.fakes.turns_host import AT_ONCE, turns_host
from tests.fakes.typist import typed
from tests.flows.test_slack_replies import ME, World, assert_within_limits, read, workspace

TEXT = answer_of(6_000).strip()
REPLIES = 6


@asynccontextmanager
async def process(world: World, name: str) -> AsyncGenerator[WatchedRates]:
    """One that answers half of the questions at once, and is told of others as they come."""
    clock, rates = world.slack.clock, WatchedRates(world.store.shared_rates)
    host = turns_host(world.store, world.model, clock, limits=replace(AT_ONCE, max_running=REPLIES // 2))
    shared = Replicas(world.store.shard_leases, rates, name, clock, calls_patience_s=20.0)
    shown = replace(host, platforms=replace(host.platforms, replicas=shared))
    async with shared.serving(), serving(world.slack, shown, chosen=world.chosen), host.turns.serving():
        yield rates


async def test_replies_of_two_processes_stay_within_one_budget_of_edits() -> None:
    async with (
        workspace(lambda _: typed(TEXT, chars_per_s=100), FakeClock()) as world,
        process(world, "one") as one,
        process(world, "two") as two,
    ):
        await world.slack.clock.sleep(LOOK_S + 1)
        roots = [await world.slack.say(world.ann, world.general, f"{ME} tell me {number}") for number in range(REPLIES)]
        await world.answered(REPLIES)
        threads = [world.slack.state.answers(world.general, root.ts) for root in roots]
    assert all(read(pages) == TEXT for pages in threads)
    assert min(sum(page.edits for page in pages) for pages in threads) >= 3
    assert one.asked >= 5
    assert two.asked >= 5
    assert_within_limits(world.slack)
