"""A distributed Slack app as the bot serves it: processes on one database, and browsers that install it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from agent.machine import new_secret
from agent.ports.installations import Installation, Installations
from bot.chat.host import Host
from bot.chat.sealing import SealingKeys
from bot.platforms.slack.apps import serve_apps
from bot.platforms.slack.installed import TOKENS, BotTokens, DistributedApp
from bot.platforms.slack.options import EVERYTHING, Distribution, SlackOptions, scopes
from bot.settings.secret import Secret
from store.engine import open_store
from tests.fakes.fast_clock import MovedClock
from tests.fakes.new_database import new_database
from tests.fakes.sign_in_world import KEY, Browser
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import http_events
from tests.fakes.slack_oauth import CLIENT_ID, CLIENT_SECRET, Installs
from tests.fakes.slack_things import TEAM
from tests.patience import PATIENCE_S

SOURCE: Final = f"slack:{TEAM}"
ELSEWHERE: Final = "https://bot.example.com"


@dataclass
class InstallWorld:
    """`address`: of the first process."""

    slack: FakeSlack
    clock: MovedClock
    kept: Installations
    installs: Installs
    distribution: Distribution
    keys: SealingKeys = field(default_factory=lambda: SealingKeys(KEY, "KEY"))

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.distribution.delivery.port}"

    @property
    def link(self) -> str:
        return f"{self.address}/slack/install"

    @asynccontextmanager
    async def process(self, host: Host, *, first: bool = True) -> AsyncGenerator[None]:
        """Run a process until the block ends; the others listen at their own addresses."""
        delivery = self.distribution.delivery if first else http_events()
        one = DistributedApp(replace(self.distribution, delivery=delivery), self.kept, self.keys, new_secret)
        serving = asyncio.create_task(serve_apps(host, (), SlackOptions(self.slack.url), self.clock, distributed=one))
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not await self.slack.posts.healthy(delivery.port):
                    assert not serving.done(), serving
                    await asyncio.sleep(0.01)
            self.slack.posts.ports.append(delivery.port)
            yield
        finally:
            if delivery.port in self.slack.posts.ports:
                self.slack.posts.ports.remove(delivery.port)
            serving.cancel()
            with suppress(asyncio.CancelledError):
                await serving

    async def begin(self, browser: Browser) -> str:
        """Press the button in a browser; return the address on Slack to which it redirects."""
        pressed = await browser.press(await browser.open(self.link))
        assert pressed.status_code == 303, pressed.text
        return pressed.headers["location"]

    async def install(self, browser: Browser, team: str = TEAM) -> str:
        """Install the app; return the last page in the browser."""
        return (await browser.open(self.installs.agree(await self.begin(browser), team))).text

    async def rows(self) -> list[Installation]:
        return await self.kept.listed()

    async def tokens(self) -> BotTokens | None:
        (row,) = await self.rows()
        return self.keys.open(TOKENS, row.sealed, "installation", row.source)

    async def until_renewed(self, times: int = 1) -> None:
        await self.slack.until(lambda: len(self.installs.refreshed) >= times)

    def pass_time(self, time: timedelta) -> None:
        self.clock.ahead_s += time.total_seconds()


@asynccontextmanager
async def install_world(
    kept: Installations, installers: frozenset[str] = frozenset({TEAM}), speed: float = 20.0
) -> AsyncGenerator[InstallWorld]:
    clock = MovedClock(speed=speed)
    async with FakeSlack(clock, over_http=True) as slack:
        delivery = http_events()
        address = f"http://127.0.0.1:{delivery.port}"
        slack.installs = Installs(clock, (f"{address}/slack/oauth_redirect",))
        slack.state.user("ann")
        all_scopes = tuple(sorted(scopes(EVERYTHING)))
        one = Distribution(CLIENT_ID, Secret(CLIENT_SECRET), address, delivery, installers, scopes=all_scopes)
        yield InstallWorld(slack, clock, kept, slack.installs, one)


@asynccontextmanager
async def stored_world(folder: Path, installers: frozenset[str] = frozenset({TEAM})) -> AsyncGenerator[InstallWorld]:
    """As `install_world`, on the database `store.db` in this folder."""
    store = await open_store(await new_database(folder / "store.db"))
    try:
        async with install_world(store.installations, installers) as world:
            yield world
    finally:
        await store.close()
