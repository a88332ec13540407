"""Discord's connections are divided among processes on one PostgreSQL: real processes, kill -9, joining and leaving."""

import asyncio
import logging
import signal
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import ClientSession, web
from sqlalchemy import Connection, text

from agent.machine import CLOCK
from agent.ports.clock import Clock
from agent.ports.shard_leases import SHARD_LEASE, HeldShard, ShardSession, ShardShare
from bot.app.settings import load_settings
from bot.chat.replicas import Replicas
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.places import SOURCE, known_as
from bot.platforms.discord.run import serve
from bot.platforms.discord.shards import RENEW_S
from bot.setup.diagnosis import shards_held
from store.databases.database import Database
from store.engine import Store, open_store
from store.shard_leases import SqlShardLeases
from tests.fakes.discord_bot import settings
from tests.fakes.discord_fleet import LANDING, TAKEOVER_S, fleet, patiently, takeover_s
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BOT, DM_OF, GENERAL, GUILD, STAFF
from tests.fakes.fast_clock import FastClock
from tests.fakes.new_database import open_new
from tests.fakes.postgresql import PostgresServer
from tests.fakes.ready_process import ReadyService
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.flows.test_discord_missed import QUAY
from tests.patience import PATIENCE_S

log = logging.getLogger(__name__)


async def test_what_a_killed_process_heard_another_hears_where_it_was_within_seconds(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    async with postgres.migrated() as url, fleet(tmp_path, url) as bot:
        took_s = await takeover_s(bot)
        log.warning("takeover_s_discord %.1f", took_s)
        assert bot.discord.identified == 2, "every session was gone on with"
        assert [bot.answers(question) for question in bot.asked] == [["The boat lies in the harbour."]] * 6
    assert took_s <= TAKEOVER_S


async def test_who_ends_hands_its_part_over_and_nothing_is_lost_or_doubled(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    async with postgres.migrated() as url, fleet(tmp_path, url) as bot:
        first = await bot.start()
        await patiently(lambda: len(bot.discord.connected) == 2)
        await bot.start()
        await patiently(lambda: bot.discord.resumed == 1 and len(bot.discord.connected) == 2)
        (told,) = await shards_held(load_settings({"COGENCY_DATABASE_URL": url}), CLOCK.now())
        holders = dict(one.split(" holds ") for one in told.what.partition(": ")[2].split("; "))
        assert sorted(holders.values()) == ["0", "1"]
        for number in range(2):
            await bot.ask(f"{number}: and my boat?", GENERAL)
        first.send_signal(signal.SIGTERM)
        for number in range(2):
            await bot.ask(f"{number}: and mine?", LANDING)
            await bot.ask(f"{number}: and hers?", GENERAL)
        await bot.answered()
        await patiently(lambda: bot.discord.resumed == 2 and len(bot.discord.connected) == 2)
        await bot.ask("and now?", GENERAL)
        await bot.answered()
        assert [bot.answers(question) for question in bot.asked] == [["The boat lies in the harbour."]] * 7
        assert bot.discord.identified == 2
        assert int(QUAY) >> 22 & 1


async def test_who_goes_on_for_a_process_that_was_killed_right_after_ready_needs_no_new_session(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    """It had not read yet what was said before its session: the next one resumes, and reads that all the same."""
    async with postgres.migrated() as url, fleet(tmp_path, url) as bot:
        first = await bot.start()
        await patiently(lambda: len(bot.discord.connected) == 2)
        await bot.ask_everywhere("where is my boat?")
        await bot.answered()
        await stopped(first)
        bot.discord.forget_sessions()
        await bot.ask_everywhere("and while nobody was there?")
        bot.discord.rest.fail("GET", r"/channels/\d+/messages$", 503, times=1_000)
        killed = await bot.start()
        store = await open_store(url)
        await until_written(store, "session-3", "session-4")
        await store.close()
        killed.kill()
        await killed.wait()
        bot.discord.rest.faults.clear()
        await bot.ask("and while one was dead?", GENERAL)  # at the landing nothing new leads to what was missed
        await bot.start()
        await bot.answered()
        await bot.ask_everywhere("and now?")
        await bot.answered()
        assert [bot.answers(question) for question in bot.asked] == [["The boat lies in the harbour."]] * 7
        assert (bot.discord.identified, bot.discord.resumed) == (4, 2)


async def test_a_session_goes_on_where_new_ones_begin_if_its_node_is_gone() -> None:
    store = await open_new("sqlite://")
    async with running_discord(FastClock()) as fake:
        host = sharing(Replicas(store.shard_leases, store.shared_rates, "this", fake.world.clock))
        fake.node_url = "ws://127.0.0.1:1"  # Nothing listens there
        async with idle(fake, host):
            await until_written(store, "session-1")
        async with idle(fake, host):
            await fake.until(lambda: fake.resumed)
            await fake.write(ANN, "hello?")
            await fake.until(lambda: host.taken)
        assert fake.identified == 1
    await store.close()


async def test_who_goes_on_with_a_session_refuses_nobody_before_its_servers_are_loaded() -> None:
    store = await open_new("sqlite://")
    async with running_discord(FastClock()) as fake:
        host = sharing(Replicas(store.shard_leases, store.shared_rates, "this", fake.world.clock))
        async with idle(fake, host):
            await until_written(store, "session-1")
        fake.rest.fail("GET", "/users/@me/guilds", 503, times=20)
        async with idle(fake, host):
            await fake.until(lambda: fake.resumed)
            await fake.write(ANN, "hello?")
            await fake.until(lambda: platforms_texts.DISCORD_KEPT_WAITING in fake.world.shown(DM_OF[ANN]))
            fake.rest.faults.clear()
            await fake.until(lambda: host.taken)
        assert fake.identified == 1
        assert fake.world.shown(DM_OF[ANN]) == [platforms_texts.DISCORD_KEPT_WAITING]
    await store.close()


async def test_the_session_is_written_when_it_begins_and_not_with_the_next_renewal() -> None:
    store = await open_new("sqlite://")
    async with running_discord(FastClock(speed=0.01)) as fake:
        host = sharing(Replicas(store.shard_leases, store.shared_rates, "this", fake.world.clock))
        async with idle(fake, host):
            await until_written(store, "session-1")
            assert fake.world.clock.monotonic() < RENEW_S
    await store.close()


async def test_an_answer_about_a_shard_that_was_dropped_meanwhile_ends_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As from a database that hung for longer than the lease."""
    store = await open_new("sqlite://")
    leases = LateLeases(store.database)
    async with running_discord(FastClock(speed=10.0)) as fake:
        async with idle(fake, sharing(Replicas(leases, store.shared_rates, "this", fake.world.clock))):
            await fake.until(lambda: leases.answers > 3)
            await fake.until(lambda: fake.connected)
        assert fake.identified == 1
    await store.close()
    assert not [record.message for record in caplog.records if record.levelno >= logging.WARNING]


class LateLeases(SqlShardLeases):
    """Says of each answer that the process must give back a shard that it no longer has."""

    answers = 0

    async def share(
        self,
        owner: str,
        now: datetime,
        lease: timedelta,
        sessions: Mapping[HeldShard, ShardSession],
        *,
        count: int,
        heard: datetime | None = None,
    ) -> ShardShare:
        share = await super().share(owner, now, lease, sessions, count=count, heard=heard)
        self.answers += 1
        return replace(share, excess=frozenset({HeldShard(7, 8, 1)}))


async def test_a_busy_process_counts_the_gap_from_where_its_session_began() -> None:
    store = await open_new("sqlite://")
    async with running_discord(FastClock(speed=50.0)) as fake:
        leases = SlowlyIdentified(store.database, fake.world.clock, 3.0)
        async with idle(fake, sharing(Replicas(leases, store.shared_rates, "this", fake.world.clock))):
            await fake.until(lambda: leases.began)
            assert leases.began[0] - leases.allowed[0] >= timedelta(seconds=3)
        assert fake.identified == 1
    await store.close()


async def test_a_process_that_was_suspended_with_a_permission_asks_again_before_it_begins_a_session() -> None:
    store = await open_new("sqlite://")
    async with running_discord(FastClock(speed=50.0)) as fake:
        leases = SlowlyIdentified(store.database, fake.world.clock, 20.0, 0.0)
        async with idle(fake, sharing(Replicas(leases, store.shared_rates, "this", fake.world.clock))):
            await fake.until(lambda: leases.began)
            assert leases.began[0] - leases.allowed[1] < timedelta(seconds=20)
        assert fake.identified == 1
    await store.close()


class SlowlyIdentified(SqlShardLeases):
    """Those of a process that reads a permission so many seconds late; the last number counts for all further ones."""

    def __init__(self, database: Database, clock: Clock, *late_s: float) -> None:
        super().__init__(database)
        self.clock = clock
        self.late_s = [*late_s]
        self.allowed: list[datetime] = []
        self.began: list[datetime] = []

    async def identify(self, bucket: int, now: datetime, gap: timedelta) -> float:
        pause = await super().identify(bucket, now, gap)
        if not pause:
            self.allowed.append(now)
            await self.clock.sleep(self.late_s.pop(0) if len(self.late_s) > 1 else self.late_s[0])
        return pause

    async def identified(self, bucket: int, now: datetime) -> None:
        await super().identified(bucket, now)
        self.began.append(now)


async def test_a_process_that_wants_more_shards_gets_them_when_nobody_listens_by_the_number_before(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    async with postgres.migrated() as url, fleet(tmp_path, url) as bot:
        before = [await bot.start(), await bot.start()]
        await patiently(lambda: bot.layout() == [(0, 2), (1, 2)])
        for number, process in enumerate(before):
            await bot.ask_everywhere(f"{number}: where is my boat?")
            process.send_signal(signal.SIGTERM)
            await bot.ask_everywhere(f"{number}: and while it ends?")
            await process.wait()
            await bot.start(COGENCY_DISCORD_SHARDS="4")
            await bot.ask_everywhere(f"{number}: and while another begins?")
            await patiently(lambda: bot.layout() == [(0, 4), (1, 4), (2, 4), (3, 4)])
        await bot.ask_everywhere("and now?")
        await bot.answered()
        assert [bot.answers(question) for question in bot.asked] == [["The boat lies in the harbour."]] * 14


async def test_who_can_read_where_another_process_listens_is_asked_of_discord_itself() -> None:
    """This process has never been told of the server; what Discord does not say is no."""
    async with running_discord(FastClock(speed=50.0)) as fake, all_shards_elsewhere(fake.world.clock) as shards:
        host = sharing(shards)
        async with idle(fake, host):
            places = [known_as(GENERAL), known_as(STAFF)]
            membership = host.platforms.readers.platforms[SOURCE]
            owner, other = known_as(ANN), known_as("42")
            assert await membership.readable(owner, places) == dict.fromkeys(places, True)
            assert await membership.readable(other, places) == {places[0]: True, places[1]: False}
            assert not fake.identified
            del fake.world.guilds[GUILD]
            await fake.world.clock.sleep(10.0)
            assert await membership.readable(other, places[:1]) == {}


async def test_what_was_asked_while_the_first_process_ever_was_dead_is_read_by_the_one_that_began_with_it() -> None:
    """Nothing is known yet: neither of a session nor up to when anybody has listened."""
    async with (
        running_discord(FastClock(speed=50.0)) as fake,
        all_shards_elsewhere(fake.world.clock, SHARD_LEASE) as shards,
    ):
        host = sharing(shards)
        async with idle(fake, host):
            question = await fake.say(ANN, f"<@{BOT}> where is my boat?")
            await fake.until(lambda: host.taken)
            assert [taken.message_id for taken in host.taken] == [question["id"]]


async def test_a_proxy_that_keeps_discords_limits_stands_between_under_the_same_paths() -> None:
    paths = list[str]()

    async def forward(request: web.Request) -> web.Response:
        paths.append(request.path)
        address = f"http://{fake.address}{request.path_qs}"
        headers = {name: request.headers[name] for name in ("Authorization", "Content-Type") if name in request.headers}
        async with calls.request(request.method, address, headers=headers, data=await request.read()) as answer:
            return web.Response(body=await answer.read(), status=answer.status, content_type=answer.content_type)

    app, host = web.Application(), recording_host()
    app.router.add_route("*", "/{path:.*}", forward)
    runner = web.AppRunner(app)
    await runner.setup()
    async with running_discord(FastClock(speed=50.0)) as fake, ClientSession() as calls:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        proxy = f"http://127.0.0.1:{runner.addresses[0][1]}/api/v10"
        async with idle(fake, host, proxy):
            await fake.until(lambda: fake.connected)
            places = [known_as(GENERAL)]
            assert await host.platforms.readers.platforms[SOURCE].readable(known_as(ANN), places) == {places[0]: True}
        await runner.cleanup()
    assert paths
    assert all(path.startswith("/api/v10/") for path in paths)
    assert len(paths) == len(fake.calls)


async def stopped(process: ReadyService) -> None:
    process.send_signal(signal.SIGTERM)
    await process.wait()


async def until_written(store: Store, *sessions: str) -> None:
    """Until these can be resumed by others."""
    async with asyncio.timeout(PATIENCE_S):
        while await store.database.read(_written) != [*sessions]:  # noqa: ASYNC110 -- it happens in another process
            await asyncio.sleep(0.01)


def _written(connection: Connection) -> list[str]:
    return sorted(connection.execute(text("SELECT session FROM shard_lease")).scalars())


@asynccontextmanager
async def all_shards_elsewhere(clock: Clock, lease: timedelta = timedelta(days=1)) -> AsyncGenerator[Replicas]:
    """Another process holds them, for so long."""
    store = await open_new("sqlite://")
    await store.shard_leases.share("another", clock.now(), lease, {}, count=1)
    yield Replicas(store.shard_leases, store.shared_rates, "this", clock)
    await store.close()


def sharing(replicas: Replicas) -> RecordingHost:
    host = recording_host()
    return replace(host, platforms=replace(host.platforms, replicas=replicas))


@asynccontextmanager
async def idle(fake: FakeDiscord, host: RecordingHost, api: str = "") -> AsyncGenerator[None]:
    """Served, whether or not it listens."""
    chosen = replace(settings(fake), api_base_url=api or fake.api_base_url)
    task = asyncio.create_task(serve(host, chosen, fake.world.clock))
    try:
        await fake.until(lambda: fake.rest.commands and SOURCE in host.platforms.readers.platforms)
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
