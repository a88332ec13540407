"""A database that fails while people write: one sentence to each, two lines in the log, and no message lost.

Real SQLite and PostgreSQL, real clients of Slack and Discord. Not tried: a full disk below PostgreSQL, for which the
server would need a file system of its own; what its error 53100 means to a person is tested with the others.
"""

import asyncio
import resource
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from agent.errors import StoreUnavailable
from agent.messages import Message
from agent.providers.scripted import Answer, ScriptedProvider, Until
from bot.chat.host import Host
from bot.platforms import texts as platforms_texts
from store.engine import Store
from tests.fakes import discord_bot, slack_bot
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, DM_OF
from tests.fakes.fast_clock import FastClock
from tests.fakes.incoming import said
from tests.fakes.postgresql import PostgresServer
from tests.fakes.slack import FakeSlack
from tests.flows.bot import database_in, opened, serving_host

WRITABLE_BYTES = 4_096  # Less than the write-ahead log has, so that it cannot grow; more than a test prints


@dataclass
class World:
    """A database that can be made to fail; `growing` is answered while it does."""

    store: Store
    host: Host
    release: asyncio.Event


@dataclass(frozen=True)
class Fault:
    sentence: str
    begin: Callable[[World, PostgresServer | None], Awaitable[None]]
    end: Callable[[World, PostgresServer | None], Awaitable[None]]


# SQLite


async def most_pages(world: World, pages: int) -> None:
    def limit(connection: Connection) -> None:
        connection.execute(text(f"PRAGMA max_page_count = {pages}"))

    await world.store.database.write(limit)


async def fill(world: World, _: PostgresServer | None) -> None:
    await most_pages(world, 1)  # never fewer than there are
    for size in (4_000, 1):
        with suppress(StoreUnavailable):
            for _number in range(1_000):
                await world.store.ledger.record_context_message(said("x" * size, conversation="elsewhere"))


async def make_space(world: World, _: PostgresServer | None) -> None:
    await most_pages(world, 2**31)


async def forbid_growth(_: World, __: PostgresServer | None) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (WRITABLE_BYTES, resource.RLIM_INFINITY))


async def allow_growth(_: World, __: PostgresServer | None) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


async def replace_file(world: World, _: PostgresServer | None) -> None:
    here, aside = world.store.database.where, f"{world.store.database.where}.aside"
    shutil.move(here, aside)
    shutil.copy(aside, here)


async def put_back(world: World, _: PostgresServer | None) -> None:
    shutil.move(f"{world.store.database.where}.aside", world.store.database.where)


# PostgreSQL


async def stop_server(_: World, server: PostgresServer | None) -> None:
    assert server is not None
    await asyncio.to_thread(server.stop)


async def start_server(_: World, server: PostgresServer | None) -> None:
    assert server is not None
    await asyncio.to_thread(server.start)


async def let_write(server: PostgresServer | None, setting: str) -> None:
    assert server is not None
    as_owner = ("psql", "-h", server.folder, "-U", "postgres", "-c", "SET default_transaction_read_only = off")
    reload = "SELECT pg_reload_conf()"
    await asyncio.to_thread(server.run, *as_owner, "-c", f"ALTER SYSTEM {setting}", "-c", reload)


async def forbid_writing(_: World, server: PostgresServer | None) -> None:
    await let_write(server, "SET default_transaction_read_only = on")


async def allow_writing(_: World, server: PostgresServer | None) -> None:
    await let_write(server, "RESET default_transaction_read_only")


SQLITE = {
    "a full disk": Fault("The disk is full. Free up some space for", fill, make_space),
    "a file that may not grow": Fault("could not be read or written. Check the disk", forbid_growth, allow_growth),
    "a file that was replaced": Fault("was replaced or deleted while the bot was running", replace_file, put_back),
}
POSTGRESQL = {
    "a server that stops and starts": Fault(
        "could not be reached. Check that the server is running", stop_server, start_server
    ),
    "a server that takes no writes": Fault(
        "is read-only. Set COGENCY_DATABASE_URL to the primary server", forbid_writing, allow_writing
    ),
}


@pytest.fixture(params=[*SQLITE, *POSTGRESQL])
async def on(request: pytest.FixtureRequest) -> tuple[Fault, str, PostgresServer | None]:
    """The fault, the URL of an empty database ("" for a new file), and its server."""
    name: str = request.param
    if name in SQLITE:
        return SQLITE[name], "", None
    server: PostgresServer = request.getfixturevalue("postgres")
    return POSTGRESQL[name], await server.empty(), server


@asynccontextmanager
async def serving(folder: Path, url: str, clock: FastClock) -> AsyncGenerator[World]:
    release = asyncio.Event()

    def answer(messages: Sequence[Message]) -> Answer:
        asked = messages[-1].text
        reply = next(word for word in ("before", "growing", "first", "second") if word in asked)
        return [f"You wrote {reply}", Until(release.wait) if reply == "growing" else "", "."]

    async with (
        opened(url or await database_in(folder)) as store,
        serving_host(store, ScriptedProvider(answer), clock) as host,
    ):
        yield World(store, host, release)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelname != "DEBUG"]


def assert_two_lines(caplog: pytest.LogCaptureFixture, fault: Fault) -> None:
    told = [line for line in warnings(caplog) if not line.startswith(("connected", "turn ", "Discord: connected"))]
    assert len(told) == 2, told
    assert fault.sentence in told[0]
    assert told[1].startswith("the database works again, after ")


@pytest.mark.timeout(400)
async def test_on_slack_everybody_is_told_once_and_answered_in_order_when_it_is_over(
    on: tuple[Fault, str, PostgresServer | None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fault, url, server = on
    clock = FastClock()
    async with FakeSlack(clock) as slack, serving(tmp_path, url, clock) as world, slack_bot.serving(slack, world.host):
        ann, ben = slack.state.user("ann"), slack.state.user("ben")
        anns, bens = slack.state.channel("ann", "im"), slack.state.channel("ben", "im")
        await slack.say(ann, anns, "before")
        await slack.until(lambda: [shown.text for shown in slack.state.answers(anns)] == ["You wrote before."])
        await slack.say(ben, bens, "growing")
        await slack.until(lambda: slack.state.answers(bens))
        await fault.begin(world, server)
        first = await slack.say(ann, anns, "first")
        await slack.until(lambda: slack.state.ephemerals)
        await slack.say(ann, anns, "second", first.ts)
        world.release.set()
        unstored = slack.delivered - slack.acks.keys()
        await fault.end(world, server)
        await slack.until(lambda: len(slack.state.answers(anns)) == 3)
        await slack.until(lambda: slack.state.answers(bens)[0].text == "You wrote growing.")
        await slack.until(lambda: slack.state.answers(anns)[2].text == "You wrote second.")
    assert [shown.text for shown in slack.state.answers(anns)] == [
        "You wrote before.",
        "You wrote first.",
        "You wrote second.",
    ]
    assert len(slack.state.answers(bens)) == 1
    assert [(ephemeral.user, ephemeral.text) for ephemeral in slack.state.ephemerals] == [
        (ann, platforms_texts.KEPT_WAITING)
    ]
    assert len(unstored) >= 1, "what was not stored was not acknowledged either"
    assert_two_lines(caplog, fault)


@pytest.mark.timeout(400)
async def test_on_discord_everybody_is_told_once_and_answered_in_order_when_it_is_over(
    on: tuple[Fault, str, PostgresServer | None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fault, url, server = on
    clock = FastClock()

    def shown(fake: FakeDiscord, person: str) -> list[str]:
        return [text for text in fake.world.shown(DM_OF[person]) if text != platforms_texts.KEPT_WAITING]

    async with (
        running_discord(clock) as fake,
        serving(tmp_path, url, clock) as world,
        discord_bot.serving(fake, world.host),
    ):
        await fake.write(ANN, "before")
        await fake.until(lambda: shown(fake, ANN) == ["You wrote before."])
        await fake.write(BO, "growing")
        await fake.until(lambda: shown(fake, BO))
        await fault.begin(world, server)
        await fake.write(ANN, "first")
        await fake.until(lambda: platforms_texts.KEPT_WAITING in fake.world.shown(DM_OF[ANN]))
        await fake.write(ANN, "second")
        world.release.set()
        await fault.end(world, server)
        await fake.until(lambda: shown(fake, ANN)[1:] == ["You wrote first.", "You wrote second."])
        await fake.until(lambda: shown(fake, BO) == ["You wrote growing."])
        assert fake.world.shown(DM_OF[ANN]).count(platforms_texts.KEPT_WAITING) == 1
    assert_two_lines(caplog, fault)
