"""Accounts at MCP servers are renewed in time, by one process at a time, and end when the server says so."""

import asyncio
import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from pydantic import AnyUrl

from agent.errors import SettingsError, StoreError, ToolError
from agent.ports.tool_accounts import ToolAccounts
from agent.ports.tools import Asker, Tool
from bot.chat.sealing import SealingKeys, keys_in_file
from bot.tools.accounts.accounts import NotSignedIn, PersonAuth
from bot.tools.accounts.oauth import OAuthFailed
from bot.tools.mcp.config import OAuthClientConfig
from bot.tools.mcp.people import PeopleLimits, PersonServers
from store.engine import Store, open_store
from tests.fakes.new_database import new_database
from tests.fakes.oauth_server import ToolService, tool_service
from tests.fakes.postgresql import PostgresServer
from tests.fakes.sign_in_world import (
    ANN,
    BOB,
    KEY,
    OTHER_KEY,
    Browser,
    SignInWorld,
    context,
    place_of,
    sign_ins,
    with_account,
)
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.server, pytest.mark.slow]


async def _bearer(world: SignInWorld, rejected: str = "") -> str:
    return await world.people.accounts.bearer(ANN.id, "wiki", rejected)


async def test_a_token_that_ends_soon_is_renewed_before_it_is_used(store: Store, service: ToolService) -> None:
    async with sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
        assert await world.use(ANN) == "the notes of ann: buy bread"
        assert service.authorization.refreshed == 0
        world.clock.ahead_s += 3_590
        assert await world.use(ANN) == "the notes of ann: buy bread"
        assert service.authorization.refreshed == 1
        assert [button.words for button in (await world.service.answer(ANN, "")).actions] == ["sign out wiki"]


async def test_a_token_that_the_server_takes_no_longer_is_renewed_within_the_call(
    store: Store, service: ToolService
) -> None:
    async with sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
        assert await world.use(ANN) == "the notes of ann: buy bread"
        service.authorization.reject_access()
        assert await world.use(ANN) == "the notes of ann: buy bread"
        assert service.authorization.refreshed == 1


async def test_whose_sign_in_has_ended_is_asked_for_a_new_one_and_can_go_on(store: Store, service: ToolService) -> None:
    async with sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
        tool = (await world.tools(ANN))["wiki.notes"]
        service.authorization.end("ann")
        with pytest.raises(ToolError, match="/tools sign in wiki"):
            await tool.run({}, context(ANN))
        assert list(await world.tools(ANN)) == ["wiki.sign_in"]
        await world.signed_in(ANN, "ann")
        assert await world.use(ANN) == "the notes of ann: buy bread"


async def test_an_authorization_server_that_is_away_ends_no_sign_in(store: Store, service: ToolService) -> None:
    async with sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
        await service.stop()
        world.clock.ahead_s += 3_590
        for _ in range(2):  # the lease is given back
            with pytest.raises(OAuthFailed, match="cannot be reached"):
                await _bearer(world)
        assert [button.words for button in (await world.service.answer(ANN, "")).actions] == ["sign out wiki"]


@dataclass
class Shaky:
    """A store that fails at the next swaps; `done`: whether each of them took effect all the same."""

    kept: ToolAccounts
    done: list[bool]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kept, name)

    async def swap(self, person: str, server: str, before: bytes, after: bytes | None) -> bool:
        if not self.done:
            return await self.kept.swap(person, server, before, after)
        if self.done.pop():
            await self.kept.swap(person, server, before, after)
        raise StoreError("away")


@pytest.mark.parametrize("done", [False, True])
async def test_a_store_that_is_away_while_an_account_is_renewed_ends_no_sign_in(
    store: Store, service: ToolService, done: bool
) -> None:
    async with sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
        world.clock.ahead_s += 3_590
        world.people.accounts.store = cast("ToolAccounts", Shaky(store.tool_accounts, [False, done]))
        assert await _bearer(world)
        assert await world.use(ANN) == "the notes of ann: buy bread"
        assert (service.authorization.refreshed, service.authorization.thefts) == (1, 0)


async def test_who_signs_in_again_is_signed_in_where_one_revocation_ends_all_of_a_client(
    store: Store, service: ToolService
) -> None:
    service.authorization.revokes_all = True
    async with sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
    (client,) = service.authorization.clients
    again = replace(with_account(service), oauth=OAuthClientConfig(client_id=client))
    async with sign_ins(store, again) as world:
        redirect = AnyUrl(world.service.client("wiki").redirect)
        known = service.authorization.clients[client]
        service.authorization.clients[client] = known.model_copy(update={"redirect_uris": [redirect]})
        assert (await world.signed_in(ANN, "ann")).status_code == 200
        assert await world.use(ANN) == "the notes of ann: buy bread"


async def test_many_calls_at_once_renew_once(store: Store, service: ToolService) -> None:
    async with sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
        world.clock.ahead_s += 3_590
        assert len(set(await asyncio.gather(*(_bearer(world) for _ in range(10))))) == 1
        assert (service.authorization.refreshed, service.authorization.thefts) == (1, 0)


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_two_processes_renew_one_account_once(
    request: pytest.FixtureRequest, tmp_path: Path, service: ToolService, engine: str
) -> None:
    """A second use of a refresh token would end the account: the authorization server treats it as theft."""
    url = await new_database(tmp_path / "bot.db")
    if engine == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres")
        url = await server.empty()
    service.authorization.pause_s = 0.5
    first = await open_store(url)
    second = first if engine == "sqlite" else await open_store(url)
    try:
        async with sign_ins(first, with_account(service)) as one, sign_ins(second, with_account(service)) as other:
            await one.signed_in(ANN, "ann")
            for world in (one, other):
                world.clock.ahead_s += 3_590
            tokens = await asyncio.gather(*(_bearer(world) for world in (one, other) for _ in range(3)))
            assert len(set(tokens)) == 1
            assert (service.authorization.refreshed, service.authorization.thefts) == (1, 0)
            assert await other.use(ANN) == "the notes of ann: buy bread"
    finally:
        await first.close()
        if second is not first:
            await second.close()


async def test_a_renewal_that_nobody_waits_for_any_more_is_kept(store: Store, service: ToolService) -> None:
    """Otherwise pressing Stop meanwhile would lose the sign-in, as the old refresh token is used up."""
    service.authorization.pause_s = 0.3
    async with sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
        world.clock.ahead_s += 3_590
        waiting = asyncio.create_task(_bearer(world))
        async with asyncio.timeout(PATIENCE_S):
            await service.authorization.renewing.wait()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert await _bearer(world) in service.authorization.access
        assert (service.authorization.refreshed, service.authorization.thefts) == (1, 0)


async def test_who_signs_out_while_it_is_renewed_leaves_no_token_behind(store: Store, service: ToolService) -> None:
    service.authorization.pause_s = 0.3
    async with sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
        world.clock.ahead_s += 3_590
        waiting = asyncio.create_task(_bearer(world))
        async with asyncio.timeout(PATIENCE_S):
            await service.authorization.renewing.wait()
        await world.service.answer(ANN, "sign out wiki")
        with pytest.raises(NotSignedIn):
            await waiting
        assert await store.tool_accounts.all_of(ANN.id) == {}
        assert service.authorization.users() == set()


async def test_who_signs_in_with_another_account_uses_that_one_and_the_first_is_revoked(
    store: Store, service: ToolService
) -> None:
    async with sign_ins(store, with_account(service)) as world, sign_ins(store, with_account(service)) as replica:
        await world.signed_in(ANN, "ann")
        assert await replica.use(ANN) == "the notes of ann: buy bread"
        await world.signed_in(ANN, "bob")
        assert await replica.use(ANN) == "the notes of bob: sell boat"
        assert service.authorization.users() == {"bob"}


# Sessions.


async def test_sessions_are_bounded_and_idle_ones_end_with_their_tools_still_offered(
    store: Store, service: ToolService
) -> None:
    async with sign_ins(store, with_account(service)) as world:
        for person, user in ((ANN, "ann"), (BOB, "bob")):
            await world.signed_in(person, user)
        configs, accounts = tuple(world.people.configs.values()), world.people.accounts
        limits = PeopleLimits(open=1, idle_s=60.0, sweep_s=0.05, first_s=PATIENCE_S)
        people = PersonServers(configs, accounts, world.clock, lambda: 0.5, PATIENCE_S, limits)
        world.source.people = people
        closing = asyncio.create_task(people.run())
        try:
            assert await world.use(ANN) == "the notes of ann: buy bread"
            assert await world.use(BOB) == "the notes of bob: sell boat"
            assert people.open == 1
            tool = (await world.tools(ANN))["wiki.notes"]
            world.clock.ahead_s += 61
            async with asyncio.timeout(PATIENCE_S):
                while people.open:  # noqa: ASYNC110 -- there is no event for it
                    await asyncio.sleep(0.01)
            assert "wiki.notes" in [one.name for one in people.tools(Asker(ANN, place_of(ANN)))]
            assert await tool.run({}, context(ANN)) is not None
            assert people.open == 1
        finally:
            closing.cancel()
            await asyncio.gather(closing, return_exceptions=True)
            await people.aclose()


@pytest.mark.parametrize("ends", ["the server", "the account"])
async def test_a_call_under_way_ends_with_a_word_when_its_server_or_its_account_does(
    store: Store, service: ToolService, ends: str
) -> None:
    async with sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
        tool = (await world.tools(ANN))["wiki.wait"]
        called = asyncio.create_task(_failure(tool))
        async with asyncio.timeout(PATIENCE_S):
            await service.waiting.wait()
            if ends == "the server":
                await service.cut()
            else:
                await world.service.answer(ANN, "sign out wiki")
            said = await called
        assert ("/tools sign in wiki" in said) is (ends == "the account")
        assert said


async def _failure(tool: Tool) -> str:
    with pytest.raises(ToolError) as failed:
        await tool.run({}, context(ANN))
    return str(failed.value)


# More rights.


async def test_a_tool_that_needs_more_rights_has_them_asked_for_at_the_next_sign_in(
    store: Store, service: ToolService
) -> None:
    lacks = 'Bearer error="insufficient_scope", scope="notes:write"'
    async with sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
        auth = PersonAuth(world.people.accounts, ANN.id, "wiki")
        refusing = httpx2.MockTransport(lambda _: httpx2.Response(403, headers={"www-authenticate": lacks}))
        async with httpx2.AsyncClient(transport=refusing, auth=auth) as client:
            await client.post(service.url)
        assert "more permissions" in (await world.service.answer(ANN, "")).text
        page = await Browser("ann").open(await world.link(ANN))
        sent = await (browser := Browser("ann")).press(await browser.open(str(page.url)))
        assert parse_qs(urlsplit(sent.headers["location"]).query)["scope"] == ["notes:write"]


async def test_the_rights_that_a_server_names_are_asked_for_and_given(store: Store) -> None:
    async with tool_service("notes:read", "notes:list") as service, sign_ins(store, with_account(service)) as world:
        assert (await world.signed_in(ANN, "ann")).status_code == 200
        assert await world.use(ANN) == "the notes of ann: "


async def test_a_token_goes_only_with_requests_of_its_person_and_a_rejected_one_is_renewed_once(
    store: Store, service: ToolService
) -> None:
    sent: list[str] = []

    def refuse(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.headers["authorization"])
        return httpx2.Response(401)

    async with sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
        of_ann, of_bob = (PersonAuth(world.people.accounts, one.id, "wiki") for one in (ANN, BOB))
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(refuse), auth=of_ann) as client:
            assert (await client.post(service.url)).status_code == 401
        assert (len(sent), len(set(sent)), of_ann.rejected) == (2, 2, True)
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(refuse), auth=of_bob) as client:
            with pytest.raises(httpx2.ConnectError):
                await client.post(service.url)
        assert len(sent) == 2


# Keys.


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o602, 0o660])
def test_a_key_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "key"
    file.write_text(KEY)
    file.chmod(mode)
    with pytest.raises(SettingsError, match="chmod 600"):
        keys_in_file(file, "COGENCY_ACCOUNT_KEY_FILE")


def test_a_key_of_ones_own_is_read(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n{OTHER_KEY}\n")
    file.chmod(stat.S_IRUSR)
    keys_in_file(file, "COGENCY_ACCOUNT_KEY_FILE")


@pytest.mark.parametrize("what", ["missing", "folder", "pipe"])
def test_what_is_no_key_file_is_said_in_a_sentence(tmp_path: Path, what: str) -> None:
    file = tmp_path / what
    if what == "folder":
        file.mkdir(mode=0o700)
    if what == "pipe":
        os.mkfifo(file, 0o600)
    with pytest.raises(SettingsError, match="COGENCY_ACCOUNT_KEY_FILE"):
        keys_in_file(file, "COGENCY_ACCOUNT_KEY_FILE")


@pytest.mark.parametrize("written", ["", "short", "a" * 43 + "é", KEY + "AAAA", "ZZZ=", f"{KEY},nonsense"])
def test_what_is_no_key_is_said_without_repeating_it(written: str) -> None:
    with pytest.raises(SettingsError, match="openssl rand -base64 32") as refused:
        SealingKeys(written, "COGENCY_ACCOUNT_KEY")
    assert not written or written not in str(refused.value)
