"""All platforms as one service: failures, retries, and open replies at the end."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise

import pytest

from agent.admission_terms import Authority
from agent.errors import CogencyError, Refused, SettingsError, StoreUnavailable
from agent.incoming import Incoming, Person
from agent.memory.audience import GroupAudience, Place
from agent.memory.profile import Insight, Partition, ProfileField, learned
from agent.messages import ModelCall, Usage
from agent.ports.tools import Asker
from agent.providers.scripted import ScriptedProvider, Until
from agent.spending import SpendingAccount, Spent
from bot.budgets.report import account_text
from bot.chat.commands.declaration import CommandCall
from bot.chat.connections import serve_all
from bot.chat.host import Host
from bot.chat.listen_errors import PortInUse
from bot.chat.panels import Panel
from bot.chat.platform_errors import PlatformUnavailable
from bot.chat.reply.surface import Surface
from bot.chat.turns.worker import TurnWorker, TurnWorkerLimits
from store.databases.database import LocalNotifier
from tests.fakes.askers import asker
from tests.fakes.caller import FakeCaller
from tests.fakes.clock import FakeClock
from tests.fakes.facts import remember
from tests.fakes.hosts import connections_of, host_on
from tests.fakes.incoming import dm, said
from tests.fakes.runners import runner_on
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.surface import FakeSurface
from tests.patience import PATIENCE_S


@dataclass
class Service:
    """A host over a store in memory, and a scripted model."""

    model: ScriptedProvider = field(default_factory=lambda: ScriptedProvider(["Hello."]))
    store: StoreInMemory = field(default_factory=store_in_memory)
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        self.surface = FakeSurface(self.clock)
        connections = connections_of(self.store, self.clock)
        runner = runner_on(self.store, self.model, self.clock)
        limits, surface_for = TurnWorkerLimits(sweep_s=0.01), connections.surface_for
        turns = TurnWorker(self.store.ledger, runner, surface_for, LocalNotifier(), self.clock, "worker", limits)
        self.host = host_on(self.store, turns, connections, self.clock)


@dataclass
class Platform:
    """Connects, submits its messages, and serves until it is cancelled; or fails first."""

    service: Service
    messages: tuple[Incoming, ...] = ()
    failure: CogencyError | None = None
    passing: list[CogencyError] = field(default_factory=list[CogencyError])
    """The errors of its first attempts."""
    attempts: list[float] = field(default_factory=list[float])
    served: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self) -> None:
        try:
            self.attempts.append(self.service.clock.monotonic())
            if self.passing:
                raise self.passing.pop(0)
            if self.failure is not None:
                raise self.failure
            host: Host = self.service.host
            host.platforms.register_surface("test", self._surface)
            for message in self.messages:
                assert await host.messages.submit(message)
            self.served.set()
            await asyncio.Event().wait()
        finally:
            self.ended.set()

    def _surface(self, _: Incoming) -> Surface:
        return self.service.surface


async def until_stored(service: Service, texts: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while len(service.store.messages) < texts:  # noqa: ASYNC110 -- the store in memory notifies nobody
            await asyncio.sleep(0.001)


async def test_a_failing_platform_does_not_affect_the_other() -> None:
    service = Service()
    good = Platform(service, (said("Hello?"),))
    bad = Platform(service, failure=SettingsError("DISCORD_TOKEN is not accepted."))
    serving = asyncio.create_task(
        serve_all(
            {"Slack": good, "Discord": bad}, service.host.platforms, service.host.turns, service.clock, grace_s=0.0
        )
    )
    await until_stored(service, 2)
    assert service.surface.shown == ["Hello."]
    assert not serving.done()
    serving.cancel()
    await asyncio.wait({serving}, timeout=PATIENCE_S)
    assert serving.cancelled()
    assert good.ended.is_set()


async def test_an_unreachable_platform_is_retried_without_limit_while_the_other_serves() -> None:
    service = Service()
    down = [PlatformUnavailable("Slack does not answer.", retry_after_s=s) for s in (0.0, 30.0, *[0.0] * 20)]
    bad = Platform(service, passing=[*down, PortInUse("Port 3000 is in use."), StoreUnavailable("It is away.")])
    good = Platform(service, (said("Hello?"),))
    serving = asyncio.create_task(
        serve_all({"Slack": bad, "Test": good}, service.host.platforms, service.host.turns, service.clock, grace_s=0.0)
    )
    await until_stored(service, 2)
    async with asyncio.timeout(PATIENCE_S):
        await bad.served.wait()
    assert service.surface.shown == ["Hello."]
    pauses = [after - before for before, after in pairwise(bad.attempts)]
    assert pauses[:4] == [2.0, 30.0, 8.0, 16.0]
    assert max(pauses) == pauses[-1] == 120.0
    serving.cancel()
    await asyncio.wait({serving}, timeout=PATIENCE_S)


async def test_the_only_platform_is_retried_without_limit() -> None:
    """As after a start without a network: a supervisor that starts the bot again would help no more."""
    service, tries = Service(), 10
    bad = Platform(service, passing=[PlatformUnavailable("It cannot be reached.")] * tries)
    connections = service.host.platforms
    serving = asyncio.create_task(serve_all({"Test": bad}, connections, service.host.turns, service.clock, grace_s=0.0))
    async with asyncio.timeout(PATIENCE_S):
        await bad.served.wait()
    assert len(bad.attempts) == tries + 1
    assert not serving.done()
    assert not connections.away()
    serving.cancel()
    await asyncio.wait({serving}, timeout=PATIENCE_S)


async def test_operators_see_why_a_platform_is_not_connected_until_it_is() -> None:
    service = Service()
    bad = Platform(service, passing=[PlatformUnavailable("Slack does not answer.")])
    connections = service.host.platforms
    serving = asyncio.create_task(
        serve_all({"Test": bad}, service.host.platforms, service.host.turns, service.clock, grace_s=0.0)
    )
    async with asyncio.timeout(PATIENCE_S):
        while not connections.troubles:  # noqa: ASYNC110 -- a platform's trouble notifies no one
            await asyncio.sleep(0)
        assert connections.troubles == {"test": "Slack does not answer."}
        await bad.served.wait()
    assert connections.troubles == {}
    serving.cancel()
    await asyncio.wait({serving}, timeout=PATIENCE_S)


async def test_when_no_platform_is_left_the_first_failure_is_raised() -> None:
    service = Service()
    bad = Platform(service, failure=SettingsError("DISCORD_TOKEN is not accepted."))
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(SettingsError, match="DISCORD_TOKEN"):
            await serve_all({"Discord": bad}, service.host.platforms, service.host.turns, service.clock, grace_s=0.0)


@pytest.mark.parametrize(("grace_s", "shown"), [(5.0, "Hello."), (0.0, "Hel")])
async def test_at_the_end_an_open_reply_is_finished_in_time_or_parked(grace_s: float, shown: str) -> None:
    reached, going_on = asyncio.Event(), asyncio.Event()

    async def halfway() -> None:
        reached.set()
        await going_on.wait()

    service = Service(ScriptedProvider([["Hel", Until(halfway), "lo."]]))
    platform = Platform(service, (said("Hello?"),))
    serving = asyncio.create_task(
        serve_all({"Slack": platform}, service.host.platforms, service.host.turns, service.clock, grace_s)
    )
    async with asyncio.timeout(PATIENCE_S):
        await reached.wait()
        while not service.surface.shown:  # noqa: ASYNC110 -- the fake surface notifies nobody
            await asyncio.sleep(0.001)
        serving.cancel()
        asyncio.get_running_loop().call_later(0.01, going_on.set)
        await asyncio.wait({serving})
    assert service.surface.shown == [shown]
    assert service.store.turns[0].state == ("done" if grace_s else "waiting")


async def test_a_message_that_is_submitted_twice_is_reported_as_duplicate() -> None:
    service = Service()
    assert await service.host.messages.submit(said("Hello?", number=1))
    assert not await service.host.messages.submit(said("Hello?", number=1))


async def test_the_host_knows_what_a_person_spent_today_and_this_month() -> None:
    service = Service()
    today, call = service.clock.now().date(), ModelCall("openai:gpt-6-luna", Usage(1_000, output=100))
    days = [today.replace(day=1) - timedelta(days=1), today.replace(day=1), today]
    for day in days:
        await service.store.spending.charge("ann", "turn", [call], datetime.combine(day, time(12), UTC))
    await service.store.spending.charge("ben", "turn", [call], service.clock.now())
    panel = await service.host.commands["usage"].run(CommandCall(words="", caller=FakeCaller(Person("ann", "Ann"))))
    assert panel.text == account_text(SpendingAccount(Spent.on([call]), Spent.on([call, call])))


@pytest.mark.slow
async def test_the_host_knows_participants_facts_and_forgetting() -> None:
    service = Service()
    host = service.host
    await host.messages.record_context_message(said("Hello", person="ann"))
    await remember(service.store.facts, "ann", "Private.", "person:ann", service.clock.now())
    assert await host.conversations.participants("thread") == {"ann"}
    partition, goal = Partition("ann", "person:ann"), Insight(ProfileField.GOALS, "Sail.", (1,), service.clock.now())
    profile = learned(await service.store.profiles.get(partition), "person:ann", [goal], 1, service.clock.now())
    await service.store.profiles.save(partition, profile)
    viewer = Asker(Person("ann", "Ann"), dm("ann"))
    assert [one.plain for one in (await host.memories.answer(viewer, "")).entries] == ["Private.", "Sail."]
    elsewhere = replace(viewer, place=Place(GroupAudience("club")))
    assert (await host.memories.answer(elsewhere, "")).entries == ()
    question = await host.forgetting.ask(asker("ann"), "everything")
    assert "1 message, 1 fact, 1 profile entry" in question.text
    answer = await host.forgetting.forget(asker("ann"), question.token)
    assert answer.text.startswith("Forgotten: 1 message, 1 fact, 1 profile entry")


async def test_a_person_who_may_not_ask_is_refused_and_nothing_of_theirs_is_stored() -> None:
    service = Service()
    guest = replace(said("Hello?"), authority=Authority.GUEST)
    with pytest.raises(Refused, match="Guests cannot use me"):
        await service.host.messages.submit(guest)
    await service.host.messages.record_context_message(guest)
    assert service.store.messages == []


async def test_the_host_shows_a_budget() -> None:
    host: Host = Service().host
    panel = await host.commands["budget"].run(CommandCall(words="", caller=FakeCaller(Person("ann", "Ann"))))
    assert panel == Panel("Your usage today (UTC): 0 tokens (no limit), $0 (no limit).")
