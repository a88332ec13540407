"""Sign-ins as the bot runs them, with a real server with sign-in, and browsers that use its pages."""

import re
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

import httpx2

from agent.incoming import Person
from agent.machine import CLOCK
from agent.memory.audience import PersonAudience, Place
from agent.ports.clock import Clock
from agent.ports.tools import Asker, Tool, ToolContext, ToolEffect, ToolOutput
from bot.chat.sealing import SealingKeys
from bot.tools.accounts.sign_in import OAuthSignInService
from bot.tools.mcp.config import AccountKind, HttpReach, McpServerConfig
from bot.tools.mcp.people import PersonServers
from bot.tools.mcp.source import McpSource, PeopleSettings, open_mcp
from store.engine import Store
from tests.fakes.fast_clock import MovedClock
from tests.fakes.no_authorities import NO_AUTHORITIES
from tests.fakes.oauth_server import ToolService
from tests.patience import PATIENCE_S

KEY: Final = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
OTHER_KEY: Final = "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="
ANN: Final = Person("slack:T1:U1", "Ann")
BOB: Final = Person("discord:7", "Bob")


# Content types of forms that no browser sends: codecs that do not exist, that are none of text, or that fail.
BAD_FORMS = (
    *(f"application/x-www-form-urlencoded; charset={name}" for name in ("none", "rot13", "hex", "idna", "undefined")),
    "application/x-www-form-urlencoded; charset=utf-16",
    "multipart/form-data",
    "multipart/form-data; boundary=b; charset=zlib",
    'text/plain; charset=""',
)


@dataclass
class Browser:
    """A person's browser, signed in as `user` on every page."""

    user: str
    cookies: dict[str, str] = field(default_factory=dict[str, str])

    async def open(self, url: str) -> httpx2.Response:
        return await self._send("GET", url)

    async def press(self, page: httpx2.Response) -> httpx2.Response:
        """Press the button of the page."""
        hidden = re.findall(r'name="browser" value="([^"]*)"', page.text)
        return await self.post(str(page.url), {"browser": hidden[0]})

    async def post(self, url: str, form: dict[str, str]) -> httpx2.Response:
        return await self._send("POST", url, form)

    async def _send(self, method: str, url: str, form: dict[str, str] | None = None) -> httpx2.Response:
        cookie = "; ".join(f"{name}={value}" for name, value in {**self.cookies, "user": self.user}.items())
        async with httpx2.AsyncClient(timeout=PATIENCE_S, verify=NO_AUTHORITIES) as client:
            answer = await client.request(method, url, data=form, headers={"cookie": cookie})
            self.cookies |= {cookie.name: cookie.value or "" for cookie in client.cookies.jar}
            return answer

    async def follow(self, answer: httpx2.Response, until: str = "") -> httpx2.Response:
        """Follow redirects and return the last answer; with `until`, return the answer that redirects there."""
        while answer.is_redirect:
            go = answer.headers["location"]
            if until and go.startswith(until):
                return answer
            answer = await self.open(go)
        return answer

    async def agree(self, link: str) -> httpx2.Response:
        """Do all of it, from the link to the last page."""
        return await self.follow(await self.press(await self.open(link)))


@dataclass
class SignInWorld:
    source: McpSource
    people: PersonServers
    service: OAuthSignInService
    store: Store
    clock: MovedClock
    public: str

    async def link(self, person: Person, server: str = "wiki") -> str:
        reply = (await self.service.answer(person, f"sign in {server}")).text
        found = re.search(r"\]\(([^)]*)\)", reply)
        assert found is not None, reply
        return found[1]

    async def signed_in(self, person: Person, user: str, server: str = "wiki") -> httpx2.Response:
        return await Browser(user).agree(await self.link(person, server))

    async def tools(self, person: Person) -> dict[str, Tool]:
        """Return the tools of a turn of theirs."""
        asker = Asker(person, place_of(person))
        await self.source.prepare(asker)
        return {tool.name: tool for tool in self.source.tools(asker)}

    async def use(self, person: Person, name: str = "wiki.notes") -> str:
        """Return a tool's result. Raises ToolError."""
        return told(await (await self.tools(person))[name].run({}, context(person)))


def told(output: ToolOutput | str) -> str:
    return output if isinstance(output, str) else output.text or "".join(map(str, output.parts))


def place_of(person: Person) -> Place:
    return Place(PersonAudience(person.id))


def context(person: Person) -> ToolContext:
    return ToolContext(person, place_of(person), "thread", 1, datetime(2026, 11, 23, tzinfo=UTC))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def with_account(service: ToolService, name: str = "wiki") -> McpServerConfig:
    return McpServerConfig(name, HttpReach(service.url), {"*": ToolEffect.READS}, account=AccountKind.PERSON)


@asynccontextmanager
async def sign_ins(
    store: Store,
    *configs: McpServerConfig,
    keys: str = KEY,
    pages: bool = True,
    clock: Callable[[], Clock] | None = None,
) -> AsyncGenerator[SignInWorld]:
    """Run the sign-ins of one process of the bot. Without `pages` users paste the code."""
    port = free_port()
    public = f"http://127.0.0.1:{port}" if pages else ""
    settings = PeopleSettings(
        store.tool_accounts, SealingKeys(keys, "KEY"), public, ("127.0.0.1", port) if pages else None
    )
    moved = MovedClock(CLOCK.now(), speed=1.0)
    async with AsyncExitStack() as stack:
        opening = open_mcp(configs, clock() if clock else moved, lambda: 0.5, PATIENCE_S, settings)
        source = await stack.enter_async_context(opening)
        await source.loaded.wait()
        assert isinstance(source.people, PersonServers)
        assert isinstance(source.service, OAuthSignInService)
        yield SignInWorld(source, source.people, source.service, store, moved, public)


def path_of(url: str) -> str:
    return urlsplit(url).path
