"""Signing in at an MCP server: each person for themselves, whatever others do with links, states and addresses."""

import asyncio
import gzip
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest

from agent.errors import ToolError
from agent.memory.forgetting_plans import Everything
from bot.chat.listen_errors import PortInUse
from bot.tools.accounts.pages import CONNECTIONS, SignInPages, listening
from bot.tools.accounts.sign_in import OAuthSignInService
from bot.tools.mcp.source import NO_MCP_SERVERS
from store.engine import Store
from tests.fakes.no_authorities import NO_AUTHORITIES
from tests.fakes.oauth_server import ToolService, tool_service
from tests.fakes.sign_in_world import (
    ANN,
    BAD_FORMS,
    BOB,
    KEY,
    OTHER_KEY,
    Browser,
    context,
    path_of,
    sign_ins,
    with_account,
)

pytestmark = [pytest.mark.server, pytest.mark.slow]


def _bytes_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


async def test_each_person_uses_a_server_with_their_own_account(store: Store, service: ToolService) -> None:
    async with sign_ins(store, with_account(service)) as world:
        assert list(await world.tools(ANN)) == ["wiki.sign_in"]
        assert "/tools sign in wiki" in await world.use(ANN, "wiki.sign_in")
        done = await world.signed_in(ANN, "ann")
        assert (done.status_code, "Ann on Slack (T1:U1)" in done.text) == (200, True)
        await world.signed_in(BOB, "bob")
        assert await world.use(ANN) == "the notes of ann: buy bread"
        assert await world.use(BOB) == "the notes of bob: sell boat"
        (line,) = [one for one in (await world.service.answer(ANN, "")).text.splitlines() if "`wiki`" in one]
        assert "you are signed in" in line
    assert service.called == ["ann", "bob"]


async def test_a_page_says_for_whom_it_is_and_looking_at_it_uses_nothing_up(store: Store, service: ToolService) -> None:
    async with sign_ins(store, with_account(service)) as world:
        link, browser = await world.link(ANN), Browser("ann")
        pages = [await browser.open(link) for _ in range(3)]  # a preview, the person, the person again
        for page in pages:
            assert (page.status_code, "Ann on Slack (T1:U1)" in page.text, "wiki" in page.text) == (200, True, True)
        page = pages[-1]
        assert page.headers["referrer-policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        assert (await browser.follow(await browser.press(page))).status_code == 200
        assert (await browser.open(link)).status_code == 404


async def test_a_name_that_is_html_is_shown_and_not_obeyed(store: Store, service: ToolService) -> None:
    mean = type(ANN)("slack:T1:U1", "<script>alert(1)</script>")
    async with sign_ins(store, with_account(service)) as world:
        page = await Browser("ann").open(await world.link(mean))
        assert "<script>" not in page.text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Ann (slack:T1:U9), on Slack", "Ann slack T1 U9 on Slack on Slack (T1:U1)"),
        ("\u202eyou are safe\u202c\n\n", "you are safe on Slack (T1:U1)"),
        ("x" * 500, f"{'x' * 39}… on Slack (T1:U1)"),
        ("()[]", "T1:U1 on Slack (T1:U1)"),
        ("Ann-Kathrin O'Neil J.", "Ann-Kathrin O&#x27;Neil J. on Slack (T1:U1)"),
    ],
)
async def test_a_name_cannot_look_like_another_person_or_like_the_page(
    store: Store, service: ToolService, name: str, shown: str
) -> None:
    async with sign_ins(store, with_account(service)) as world:
        page = await Browser("ann").open(await world.link(type(ANN)("slack:T1:U1", name)))
        assert f"<b>{shown}</b>" in page.text


@pytest.mark.parametrize("content_type", BAD_FORMS)
async def test_a_form_of_any_charset_is_answered_and_logs_no_traceback(
    store: Store, service: ToolService, content_type: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with sign_ins(store, with_account(service)) as world, httpx2.AsyncClient(verify=NO_AUTHORITIES) as client:
        link = await world.link(ANN)
        for body in (b"browser=x", b"\xff\xfe", b"--b\r\n\r\n", b"&" * 5_000):
            answer = await client.post(link, content=body, headers={"content-type": content_type})
            assert answer.status_code in (400, 403)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR or record.exc_info]


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "unknown"])
async def test_a_form_that_says_that_it_is_compressed_is_not_unpacked(
    store: Store, service: ToolService, encoding: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with sign_ins(store, with_account(service)) as world, httpx2.AsyncClient(verify=NO_AUTHORITIES) as client:
        link = await world.link(ANN)
        for body in (b"browser=x", gzip.compress(b"browser=" + b"x" * 1_000_000)):
            answer = await client.post(link, content=body, headers={"content-encoding": encoding})
            assert answer.status_code in (400, 403)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_the_address_of_somebody_elses_sign_in_binds_nobodys_account_to_them(
    store: Store, service: ToolService
) -> None:
    """Mallory confirms her own link, and sends Ann the address to which it led: Ann's browser did not start it."""
    async with sign_ins(store, with_account(service)) as world:
        mallory, ann = Browser("mallory"), Browser("ann")
        sent = await mallory.press(await mallory.open(await world.link(BOB)))
        landed = await ann.follow(await ann.open(sent.headers["location"]))
        assert (landed.status_code, "started this sign-in in another browser" in landed.text) == (403, True)
        assert await store.tool_accounts.all_of(BOB.id) == {}


async def test_each_step_may_come_to_another_process(store: Store, service: ToolService) -> None:
    async with sign_ins(store, with_account(service)) as one, sign_ins(store, with_account(service)) as other:
        browser, link = Browser("ann"), (await one.link(ANN)).replace(one.public, other.public)
        back = await browser.follow(await browser.press(await browser.open(link)), until=one.public)
        there = back.headers["location"].replace(one.public, other.public)
        assert (await browser.open(there)).status_code == 200
        assert await one.use(ANN) == "the notes of ann: buy bread"


async def test_no_other_site_can_press_the_button_for_somebody(store: Store, service: ToolService) -> None:
    async with sign_ins(store, with_account(service)) as world:
        link, mallory, ann = await world.link(BOB), Browser("mallory"), Browser("ann")
        of_mallory = (await mallory.open(link)).text.split('value="')[1].split('"')[0]
        for said in ({"browser": of_mallory}, {"browser": ""}, {}):
            assert (await ann.post(link, said)).status_code == 403
        await ann.open(link)  # now it has a cookie of its own
        assert (await ann.post(link, {"browser": of_mallory})).status_code == 403
        assert (await mallory.agree(link)).status_code == 200  # nothing was used up


async def test_what_a_browser_brings_back_counts_once(store: Store, service: ToolService) -> None:
    async with sign_ins(store, with_account(service)) as world:
        browser = Browser("ann")
        pressed = await browser.press(await browser.open(await world.link(ANN)))
        back = await browser.follow(pressed, until=world.public)
        address = back.headers["location"]
        assert (await browser.open(address)).status_code == 200
        assert (await browser.open(address)).status_code == 404
        assert await world.use(ANN) == "the notes of ann: buy bread"


async def test_a_link_ends_after_ten_minutes_and_so_does_its_state(store: Store, service: ToolService) -> None:
    async with sign_ins(store, with_account(service)) as world:
        browser, link = Browser("ann"), await world.link(ANN)
        world.clock.ahead_s += 601
        assert (await browser.open(link)).status_code == 404
        pressed = await browser.press(await browser.open(await world.link(ANN)))
        back = await browser.follow(pressed, until=world.public)
        world.clock.ahead_s += 601
        assert (await browser.open(back.headers["location"])).status_code == 404
        assert await store.tool_accounts.all_of(ANN.id) == {}


@pytest.mark.parametrize("issuer", ["http://127.0.0.1:1/", "https://evil.example", ""])
async def test_an_answer_of_another_issuer_is_refused(store: Store, service: ToolService, issuer: str) -> None:
    async with sign_ins(store, with_account(service)) as world:
        browser = Browser("ann")
        pressed = await browser.press(await browser.open(await world.link(ANN)))
        back = (await browser.follow(pressed, until=world.public)).headers["location"]
        said = {name: values[0] for name, values in parse_qs(urlsplit(back).query).items()}
        mixed = f"{back.partition('?')[0]}?{urlencode(said | {'iss': issuer or 'x'})}"
        assert (await browser.open(mixed)).status_code == 400
        assert await store.tool_accounts.all_of(ANN.id) == {}
        assert service.authorization.codes  # it was not even shown


async def test_a_code_for_one_server_is_not_taken_at_the_address_of_another(store: Store, service: ToolService) -> None:
    async with tool_service() as evil, sign_ins(store, with_account(service), with_account(evil, "evil")) as world:
        browser = Browser("ann")
        pressed = await browser.press(await browser.open(await world.link(ANN, "evil")))
        back = (await browser.follow(pressed, until=world.public)).headers["location"]
        assert path_of(back).endswith("/callback/evil")
        crossed = back.replace("/callback/evil", "/callback/wiki")
        assert (await browser.open(crossed)).status_code == 404
        assert await store.tool_accounts.all_of(ANN.id) == {}


async def test_no_request_decides_where_a_browser_is_sent(store: Store, service: ToolService) -> None:
    more = "?next=https://evil.example&redirect_uri=https://evil.example&url=//evil.example"
    async with sign_ins(store, with_account(service)) as world:
        browser, link = Browser("ann"), await world.link(ANN)
        page = await browser.open(link + more)
        sent = await browser.press(page)
        assert sent.headers["location"].startswith(f"{service.authorization.issuer}/authorize?")
        assert "evil" not in sent.headers["location"]
        for path in ("callback/wiki", "callback/none", "//evil.example", "nothing"):
            answer = await browser.open(f"{world.public}/sign-in/{path}{more}&state=x&code=y")
            assert (answer.is_redirect, answer.status_code >= 400) == (False, True)


async def test_who_asks_for_link_after_link_is_asked_to_wait(store: Store, service: ToolService) -> None:
    async with sign_ins(store, with_account(service)) as world:
        said = [(await world.service.answer(ANN, "sign in wiki")).text for _ in range(7)]
        assert ["several links" in one for one in said] == [False] * 5 + [True] * 2
        await world.link(BOB)
        world.clock.ahead_s += 61
        await world.link(ANN)


async def test_who_declines_is_told_so_and_stays_signed_out(store: Store, service: ToolService) -> None:
    async with sign_ins(store, with_account(service)) as world:
        browser = Browser("ann")
        pressed = await browser.press(await browser.open(await world.link(ANN)))
        asked = parse_qs(urlsplit(pressed.headers["location"]).query)
        denied = urlencode({"error": "access_denied", "state": asked["state"][0], "iss": service.authorization.issuer})
        answer = await browser.open(f"{world.public}/sign-in/callback/wiki?{denied}")
        assert (answer.status_code, "did not agree" in answer.text) == (400, True)


# Without pages: what the browser shows is pasted.


async def _address(link: str, user: str) -> str:
    browser = Browser(user)
    return (await browser.follow(await browser.open(link), until="http://127.0.0.1:33418/")).headers["location"]


async def test_where_no_browser_reaches_the_bot_its_address_is_pasted(store: Store, service: ToolService) -> None:
    async with sign_ins(store, with_account(service), pages=False) as world:
        address = await _address(await world.link(ANN), "ann")
        said = await world.service.answer(ANN, f"sign in wiki <{address}>")
        assert said.text.startswith("You are signed in to `wiki`")
        assert await world.use(ANN) == "the notes of ann: buy bread"
        assert (
            "does not match a sign-in that you started"
            in (await world.service.answer(ANN, f"sign in wiki {address}")).text
        )


async def test_somebody_elses_address_is_refused_and_stays_theirs(store: Store, service: ToolService) -> None:
    """Bob does not get Ann's account by pasting her address, and Ann does not give him hers by pasting his."""
    async with sign_ins(store, with_account(service), pages=False) as world:
        of_ann, of_bob = await _address(await world.link(ANN), "ann"), await _address(await world.link(BOB), "bob")
        for person, address in ((BOB, of_ann), (ANN, of_bob)):
            assert (
                "does not match a sign-in that you started"
                in (await world.service.answer(person, f"sign in wiki {address}")).text
            )
        assert (await store.tool_accounts.all_of(ANN.id), await store.tool_accounts.all_of(BOB.id)) == ({}, {})
        assert "You are signed in" in (await world.service.answer(ANN, f"sign in wiki {of_ann}")).text
        assert await world.use(ANN) == "the notes of ann: buy bread"


async def test_a_code_of_another_sign_in_beside_ones_own_state_is_worth_nothing(
    store: Store, service: ToolService
) -> None:
    async with sign_ins(store, with_account(service), pages=False) as world:
        of_mallory = await _address(await world.link(BOB), "mallory")
        of_ann = await _address(await world.link(ANN), "ann")
        stolen = parse_qs(urlsplit(of_mallory).query)["code"][0]
        own = {name: values[0] for name, values in parse_qs(urlsplit(of_ann).query).items()}
        mixed = f"{of_ann.partition('?')[0]}?{urlencode(own | {'code': stolen})}"
        assert "You are not signed in" in (await world.service.answer(ANN, f"sign in wiki {mixed}")).text
        assert await store.tool_accounts.all_of(ANN.id) == {}


@pytest.mark.parametrize("pasted", ["4/abcdef", "http://127.0.0.1:33418/?code=x", "?state=a&state=b", "x" * 9_000])
async def test_a_code_alone_is_not_taken(store: Store, service: ToolService, pasted: str) -> None:
    async with sign_ins(store, with_account(service), pages=False) as world:
        await world.link(ANN)
        assert "Paste the whole address" in (await world.service.answer(ANN, f"sign in wiki {pasted}")).text


async def test_a_pasted_address_must_be_the_one_of_that_server(store: Store, service: ToolService) -> None:
    async with sign_ins(store, with_account(service), pages=False) as world:
        address = (await _address(await world.link(ANN), "ann")).replace("/callback/wiki", "/callback/other")
        assert (
            "does not match a sign-in that you started"
            in (await world.service.answer(ANN, f"sign in wiki {address}")).text
        )


# What is kept.


async def test_tokens_stand_nowhere_in_clear_and_are_gone_when_their_person_is_forgotten(
    store: Store, service: ToolService, tmp_path: Path
) -> None:
    async with sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
        assert await world.use(ANN) == "the notes of ann: buy bread"
        tokens = [*service.authorization.access, *service.authorization.refresh]
        sealed = await store.tool_accounts.get(ANN.id, "wiki")
        assert sealed is not None
        files = _bytes_in(tmp_path)
        assert sealed[40:90] in files
        assert not [token for token in tokens if token.encode() in files]
        assert await world.source.revoke(store.tool_accounts, ANN.id) == ""
        assert (await store.forgetting.forget(Everything(ANN.id), world.clock.now())).bytes_gone
        files = _bytes_in(tmp_path)
        assert sealed[40:90] not in files
        assert service.authorization.users() == set()  # revoked there
        assert list(await world.tools(ANN)) == ["wiki.sign_in"]


async def test_who_signs_out_is_so_here_and_at_the_server(store: Store, service: ToolService) -> None:
    async with sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
        await world.signed_in(BOB, "bob")
        tool = (await world.tools(ANN))["wiki.notes"]
        assert "has revoked my access" in (await world.service.answer(ANN, "sign out wiki")).text
        assert service.authorization.users() == {"bob"}
        with pytest.raises(ToolError, match="/tools sign in wiki"):
            await tool.run({}, context(ANN))
        assert "were not signed in" in (await world.service.answer(ANN, "sign out wiki")).text
        assert await world.use(BOB) == "the notes of bob: sell boat"


async def test_who_is_signed_in_at_a_server_that_was_taken_away_sees_so_and_can_sign_out(
    store: Store, service: ToolService
) -> None:
    async with sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
    async with sign_ins(store, with_account(service, "other")) as world:
        assert [button.words for button in (await world.service.answer(ANN, "")).actions] == [
            "sign in other",
            "sign out wiki",
        ]
        assert "no server" in (await world.service.answer(BOB, "sign out wiki")).text.lower()
        assert "has revoked my access" in (await world.service.answer(ANN, "sign out wiki")).text
        assert await store.tool_accounts.all_of(ANN.id) == {}
    assert service.authorization.users() == set()


@pytest.mark.parametrize("order", ["forget", "sign out"])
async def test_where_every_such_server_was_taken_away_what_people_gave_is_still_revoked(
    store: Store, service: ToolService, order: str
) -> None:
    async with sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
    async with sign_ins(store) as world:
        if order == "forget":
            assert await world.source.revoke(store.tool_accounts, ANN.id) == ""
        else:
            assert "has revoked my access" in (await world.service.answer(ANN, "sign out wiki")).text
    assert service.authorization.users() == set()


async def test_without_a_key_the_servers_that_cannot_be_told_are_named(store: Store, service: ToolService) -> None:
    async with sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
    assert "wiki" in await NO_MCP_SERVERS.revoke(store.tool_accounts, ANN.id)
    assert await NO_MCP_SERVERS.revoke(store.tool_accounts, BOB.id) == ""


async def test_a_server_that_cannot_be_told_is_named_and_the_tokens_go_all_the_same(store: Store) -> None:
    async with tool_service() as service, sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
        await service.stop()
        assert "wiki" in await world.source.revoke(store.tool_accounts, ANN.id)
        assert "did not confirm" in (await world.service.answer(ANN, "sign out wiki")).text
        assert await store.tool_accounts.all_of(ANN.id) == {}


async def test_what_is_moved_to_another_person_in_the_database_opens_nothing(
    store: Store, service: ToolService
) -> None:
    async with sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
        sealed = await store.tool_accounts.get(ANN.id, "wiki")
        await world.link(BOB)
        assert sealed is not None
        await world.signed_in(BOB, "bob")
        of_bob = await store.tool_accounts.get(BOB.id, "wiki")
        assert of_bob is not None
        assert await store.tool_accounts.swap(BOB.id, "wiki", of_bob, sealed)
        assert list(await world.tools(BOB)) == ["wiki.sign_in"]
        assert "can no longer be read" in await world.use(BOB, "wiki.sign_in")


async def test_a_tool_of_one_person_does_nothing_in_the_turn_of_another(store: Store, service: ToolService) -> None:
    async with sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
        tool = (await world.tools(ANN))["wiki.notes"]
        with pytest.raises(ToolError, match="someone else's account"):
            await tool.run({}, context(BOB))
    assert service.called == []


async def test_a_key_that_was_changed_asks_to_sign_in_anew_and_the_old_one_brings_all_back(
    store: Store, service: ToolService
) -> None:
    async with sign_ins(store, with_account(service)) as world:
        await world.signed_in(ANN, "ann")
    async with sign_ins(store, with_account(service), keys=OTHER_KEY) as world:
        assert "operator's key changed" in (await world.service.answer(ANN, "")).text
        assert "/tools sign in wiki" in await world.use(ANN, "wiki.sign_in")
    async with sign_ins(store, with_account(service), keys=f"{OTHER_KEY},{KEY}") as world:
        assert await world.use(ANN) == "the notes of ann: buy bread"


# The pages.


async def test_authorization_servers_find_the_bots_document_where_its_id_says(
    store: Store, service: ToolService
) -> None:
    async with sign_ins(store, with_account(service)) as world:
        assert (await Browser("").open(f"{world.public}/sign-in/client/wiki.json")).status_code == 404  # no https
        public = "https://bot.example"
        signing = OAuthSignInService(
            world.people.configs, world.people.accounts, public, world.clock, world.people.changed
        )
        async with listening(SignInPages(_always(signing), public), "127.0.0.1", 0, "X") as port:
            found = await Browser("").open(f"http://127.0.0.1:{port}/sign-in/client/wiki.json")
            document = found.json()
            assert document["client_id"] == f"{public}/sign-in/client/wiki.json"
            assert document["redirect_uris"] == [f"{public}/sign-in/callback/wiki"]
            assert (await Browser("").open(f"http://127.0.0.1:{port}/sign-in/client/other.json")).status_code == 404
            link = (await signing.answer(ANN, "sign in wiki")).text.split("(")[1].split(")")[0]
            page = await Browser("").open(link.replace(public, f"http://127.0.0.1:{port}"))
            (kept,) = page.headers.get_list("set-cookie")
            assert kept.startswith("__Host-")
            assert {"Secure", "HttpOnly", "SameSite=Lax", "Path=/"} <= {part.strip() for part in kept.split(";")}


async def test_pages_survive_what_is_no_request_and_too_many_connections(store: Store, service: ToolService) -> None:
    async with sign_ins(store, with_account(service)) as world:
        port = urlsplit(world.public).port
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CONNECTIONS + 20)]
        held[-1][1].write(b"\x16\x03\x01 no http at all\r\n\r\n")
        assert (await Browser("").post(await world.link(ANN), {"browser": "x" * 100_000})).status_code in (400, 413)
        assert (await Browser("ann").agree(await world.link(ANN))).status_code == 200
        for _, writer in held:
            writer.close()


async def test_until_sign_ins_can_be_served_browsers_are_asked_to_wait() -> None:
    async def never() -> None:
        return None

    async with listening(SignInPages(never, ""), "127.0.0.1", 0, "X") as port:
        assert (await Browser("").open(f"http://127.0.0.1:{port}/sign-in/anything")).status_code == 503
        with pytest.raises(PortInUse, match=f"^SOME_SETTING: port {port} on 127.0.0.1 is already in use"):
            async with listening(SignInPages(never, ""), "127.0.0.1", port, "SOME_SETTING"):
                pass


def _always(service: OAuthSignInService) -> Callable[[], Awaitable[OAuthSignInService]]:
    async def ready() -> OAuthSignInService:
        return service

    return ready
