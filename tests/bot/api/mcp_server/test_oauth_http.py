"""The pages and addresses for signing in: who gets a token, and what the page lets nobody do."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import httpx2
import pytest

from agent.messages import read_references
from agent.ports.api_tokens import TokenScope
from bot.api.mcp_server import texts
from bot.api.mcp_server.client_documents import ClientDocuments
from bot.api.mcp_server.oauth import AUTHORIZE, OAUTH, REGISTER, RESOURCE_METADATA, REVOKE, SERVER_METADATA, TOKEN
from bot.api.mcp_server.oauth_http import REGISTRATIONS_A_MINUTE, WRONG_CODES_A_MINUTE, OAuthSite
from bot.api.sign_in import SignIns, challenge_of
from bot.api.tokens import OwnersAudit, TokenService
from bot.chat.http_routes import HttpRoutes, PublicSite
from bot.chat.network.connections import GuardedConnections, SystemResolver
from bot.chat.network.guard import Networks, WebGuard
from bot.chat.telemetry import SILENT
from bot.chat.web_server import serving
from store.engine import Store
from tests.fakes.clock import FakeClock
from tests.fakes.no_authorities import NO_AUTHORITIES
from tests.fakes.store import store_in_memory
from tests.fakes.webhook_receiver import webhook_receiver
from tests.patience import PATIENCE_S

ADDRESS = "https://bot.example.com"
ANN = "slack:T1:U1"
BACK = "http://127.0.0.1:4000/back"
VERIFIER = "v" * 64


@dataclass
class Browser:
    """A browser and a program at the site. `client`: the program's id."""

    store: Store
    site: OAuthSite
    http: httpx2.AsyncClient
    client: str = ""

    async def register(self, name: str = "My Editor", *redirects: str) -> str:
        body = {"client_name": name, "redirect_uris": [*redirects] or [BACK]}
        self.client = (await self.http.post(REGISTER, json=body)).json()["client_id"]
        return self.client

    def query(self, **changed: str) -> str:
        fields = {
            "client_id": self.client,
            "redirect_uri": BACK,
            "response_type": "code",
            "code_challenge": challenge_of(VERIFIER),
            "code_challenge_method": "S256",
            "state": "s&s",
            "scope": "recall",
            **changed,
        }
        return urlencode({name: value for name, value in fields.items() if value})

    async def open(self, **changed: str) -> httpx2.Response:
        return await self.http.get(f"{AUTHORIZE}?{self.query(**changed)}")

    async def enter(self, page: httpx2.Response, code: str, **more: str) -> httpx2.Response:
        """Enter a code into the form of the page."""
        found = re.search(r'name="request" value="([^"]*)"', page.text)
        assert found is not None
        fields = {"request": read_references(found[1]), "code": code}
        headers = {name: value for name, value in more.items() if name == "origin"}
        given = {name: value for name, value in more.items() if name != "origin"}
        return await self.http.post(AUTHORIZE, data={**fields, **given}, headers=headers)

    async def exchange(self, grant: str, **changed: str) -> httpx2.Response:
        fields = {
            "grant_type": "authorization_code",
            "code": grant,
            "client_id": self.client,
            "redirect_uri": BACK,
            "code_verifier": VERIFIER,
        }
        return await self.http.post(TOKEN, data={**fields, **changed})


def returned(response: httpx2.Response) -> dict[str, str]:
    assert response.status_code == 303
    where = response.headers["location"]
    assert where.startswith(f"{BACK}?")
    return dict(parse_qsl(urlsplit(where).query))


@pytest.fixture
async def browser() -> AsyncGenerator[Browser]:
    store, clock, numbers = store_in_memory(), FakeClock(auto=False), count()
    documents = ClientDocuments(GuardedConnections(WebGuard(Networks()), SystemResolver()), "Test/1", clock)

    def new_secret() -> str:
        return f"{next(numbers):043}"

    site = OAuthSite(
        address=ADDRESS,
        scopes=frozenset({TokenScope.RECALL, TokenScope.ASK}),
        days=30,
        sign_ins=SignIns(store.preferences, clock, new_secret),
        tokens=TokenService(store.api_tokens, clock, new_secret, OwnersAudit(store.audit, clock)),
        documents=documents,
        clock=clock,
        telemetry=SILENT,
    )
    routes = [HttpRoutes(path, site) for path in (OAUTH, RESOURCE_METADATA, SERVER_METADATA)]
    async with (
        serving(PublicSite(routes), "127.0.0.1", 0) as url,
        httpx2.AsyncClient(base_url=url, timeout=PATIENCE_S, verify=NO_AUTHORITIES) as http,
    ):
        opened = Browser(store, site, http)
        await opened.register()
        yield opened


async def test_a_person_who_enters_their_code_gives_the_program_a_token_of_theirs(browser: Browser) -> None:
    page = await browser.open()
    assert (page.status_code, "My Editor" in page.text, "http://127.0.0.1:4000" in page.text) == (200, True, True)
    assert "erase" not in page.text, "it asked for one scope"
    assert "Access lasts 30 days." in page.text
    code = await browser.site.sign_ins.new_code(ANN)
    back = returned(await browser.enter(page, code))
    assert (back["state"], back["iss"]) == ("s&s", ADDRESS)
    answer = await browser.exchange(back["code"])
    assert answer.headers["cache-control"] == "no-store"
    given = answer.json()
    assert (given["token_type"], given["scope"], given["expires_in"]) == ("Bearer", "recall", 30 * 86_400)
    token = await browser.site.tokens.authenticate(given["access_token"])
    assert token is not None
    new = token.definition
    assert (new.person, new.scopes, new.by_person) == (ANN, {TokenScope.RECALL}, True)
    assert re.fullmatch(r"my-editor-[0-9a-f]{6}", new.name)
    [row] = await browser.store.audit.newest(9)
    assert (row.person, row.arguments) == (ANN, f"create token {token.id} {new.name}: recall")
    assert (await browser.exchange(back["code"])).json()["error"] == "invalid_grant"
    assert (await browser.enter(page, code)).status_code == 401


@pytest.mark.parametrize("code", ["", "AAAA-BBBB-CCCC", "<script>alert(1)</script>"])
async def test_a_wrong_code_leads_back_to_the_page(browser: Browser, code: str) -> None:
    await browser.site.sign_ins.new_code(ANN)
    again = await browser.enter(await browser.open(), code)
    assert again.status_code == 401
    assert "not valid" in again.text
    assert "<script" not in again.text


async def test_few_wrong_codes_are_tried_each_minute(browser: Browser) -> None:
    page, code = await browser.open(), await browser.site.sign_ins.new_code(ANN)
    clock = browser.site.clock
    for _ in range(WRONG_CODES_A_MINUTE - 1):
        browser.site.wrong_codes.count("", "", clock.now())
    assert (await browser.enter(page, "AAAA-BBBB-CCCC")).status_code == 401
    assert (await browser.enter(page, code)).status_code == 429
    assert isinstance(clock, FakeClock)
    await clock.advance(60)
    assert (await browser.enter(page, code)).status_code == 303


async def test_somebody_who_guesses_keeps_nobody_from_signing_in(browser: Browser) -> None:
    page = await browser.open()
    for _ in range(30):
        assert (await browser.enter(page, "AAAA-BBBB-CCCC")).status_code == 401
    for _ in range(3):
        assert (await browser.enter(page, await browser.site.sign_ins.new_code(ANN))).status_code == 303


async def test_codes_that_are_valid_do_not_count(browser: Browser) -> None:
    page, clock = await browser.open(), browser.site.clock
    for _ in range(WRONG_CODES_A_MINUTE - 1):
        browser.site.wrong_codes.count("", "", clock.now())
    for _ in range(2):
        assert (await browser.enter(page, await browser.site.sign_ins.new_code(ANN))).status_code == 303


async def test_a_person_may_deny(browser: Browser) -> None:
    code = await browser.site.sign_ins.new_code(ANN)
    back = returned(await browser.enter(await browser.open(), code, deny="1"))
    assert (back["error"], back["state"]) == ("access_denied", "s&s")
    assert await browser.site.sign_ins.person_of(code) == ANN, "it was not used"


async def test_the_page_runs_nothing_is_framed_by_nobody_and_shows_names_as_text(browser: Browser) -> None:
    await browser.register('<img src=x onerror="alert(1)">{name}', BACK)
    page = await browser.open(state='"><script>alert(1)</script>')
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert policy.endswith("form-action 'self' http://127.0.0.1:4000")
    assert "<img" not in page.text
    assert "<script" not in page.text
    assert "&lt;img src=x" in page.text


async def test_a_browser_names_the_pages_own_site_with_its_form(browser: Browser) -> None:
    """With `no-referrer` it would say `Origin: null`, which is refused."""
    page = await browser.open()
    again = await browser.enter(page, "AAAA-BBBB-CCCC", origin=ADDRESS)
    for response in (page, again):
        assert response.headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
async def test_another_site_cannot_send_the_form(browser: Browser, origin: str) -> None:
    code = await browser.site.sign_ins.new_code(ANN)
    refused = await browser.enter(await browser.open(), code, origin=origin)
    assert (refused.status_code, refused.json()["error_description"]) == (403, texts.OTHER_ORIGIN)
    assert (await browser.enter(await browser.open(), code, origin=ADDRESS)).status_code == 303


@pytest.mark.parametrize(
    "changed", [{"client_id": "app_x"}, {"client_id": ""}, {"redirect_uri": "https://evil.example/"}]
)
async def test_a_browser_is_not_sent_to_an_address_that_nobody_registered(
    browser: Browser, changed: dict[str, str]
) -> None:
    refused = await browser.open(**changed)
    assert (refused.status_code, "location" in refused.headers) == (400, False)
    page = await browser.open()
    form = {"request": browser.query(**changed), "code": await browser.site.sign_ins.new_code(ANN)}
    refused = await browser.http.post(AUTHORIZE, data=form)
    assert (refused.status_code, "location" in refused.headers, page.status_code) == (400, False, 200)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"scope": "forget"}, "invalid_scope"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
    ],
)
async def test_no_browser_is_sent_on_before_its_person_has_chosen(
    browser: Browser, changed: dict[str, str], error: str
) -> None:
    await browser.register("My Editor", "https://evil.example/", BACK)
    shown = await browser.open(**changed)
    assert (shown.status_code, "location" in shown.headers) == (400, False)
    assert shown.headers["content-type"].startswith("text/html")
    assert f"<code>{error}</code>" in shown.text
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    sent = await browser.http.post(AUTHORIZE, data={"request": browser.query(**changed), "deny": "1"})
    assert (sent.status_code, sent.json()["error"]) == (400, error)


async def test_a_program_on_this_machine_gets_its_token_on_another_port(browser: Browser) -> None:
    other = BACK.replace("4000", "4999")
    page = await browser.open(redirect_uri=other)
    assert page.headers["content-security-policy"].endswith("form-action 'self' http://127.0.0.1:4999")
    back = await browser.enter(page, await browser.site.sign_ins.new_code(ANN))
    assert back.headers["location"].startswith(f"{other}?")
    grant = parse_qs(urlsplit(back.headers["location"]).query)["code"][0]
    assert (await browser.exchange(grant, redirect_uri=other)).status_code == 200


async def test_registrations_are_limited_and_say_when_to_try_again(browser: Browser) -> None:
    clock = browser.site.clock
    assert isinstance(clock, FakeClock)
    for _ in range(REGISTRATIONS_A_MINUTE - 2):  # the fixture registered one
        browser.site.registrations.count("", "", clock.now())
    body = {"redirect_uris": [BACK]}
    await clock.advance(20)
    assert (await browser.http.post(REGISTER, json=body)).status_code == 201
    refused = await browser.http.post(REGISTER, json=body)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "40")
    assert refused.json()["error_description"] == texts.TOO_MANY_REGISTRATIONS
    await clock.advance(40)
    assert (await browser.http.post(REGISTER, json=body)).status_code == 201


@pytest.mark.parametrize(
    "changed",
    [
        {"code_verifier": "w" * 64},
        {"redirect_uri": "http://127.0.0.1:4001/back"},
        {"code": "guess"},
        {"client_id": "app_x"},
    ],
)
async def test_a_grant_that_was_stolen_is_not_exchanged(browser: Browser, changed: dict[str, str]) -> None:
    page = await browser.open()
    back = returned(await browser.enter(page, await browser.site.sign_ins.new_code(ANN)))
    refused = await browser.exchange(back["code"], **changed)
    assert refused.status_code == 400
    assert await browser.site.tokens.listed() == []


async def test_another_program_cannot_exchange_a_grant(browser: Browser) -> None:
    page = await browser.open()
    back = returned(await browser.enter(page, await browser.site.sign_ins.new_code(ANN)))
    await browser.register("Another app")
    assert (await browser.exchange(back["code"])).json()["error"] == "invalid_grant"


async def signed_in(browser: Browser) -> dict[str, Any]:
    """Sign Ann in, in an app that can use refresh tokens; return the response with its secrets."""
    body = {"client_name": "IDE", "redirect_uris": [BACK], "grant_types": ["authorization_code", "refresh_token"]}
    registered = (await browser.http.post(REGISTER, json=body)).json()
    assert registered["grant_types"] == ["authorization_code", "refresh_token"]
    browser.client = registered["client_id"]
    back = returned(await browser.enter(await browser.open(), await browser.site.sign_ins.new_code(ANN)))
    return (await browser.exchange(back["code"])).json()


async def refreshed(browser: Browser, refresh: str, **changed: str) -> httpx2.Response:
    fields = {"grant_type": "refresh_token", "refresh_token": refresh, "client_id": browser.client, **changed}
    return await browser.http.post(TOKEN, data=fields)


async def test_an_app_that_can_refresh_gets_access_for_an_hour_and_replaces_it(browser: Browser) -> None:
    first = await signed_in(browser)
    assert first["expires_in"] == 3_600
    second = (await refreshed(browser, first["refresh_token"], scope="recall")).json()
    assert (second["expires_in"], second["scope"], second["token_type"]) == (3_600, "recall", "Bearer")
    assert await browser.site.tokens.authenticate(first["access_token"]) is None
    token = await browser.site.tokens.authenticate(second["access_token"])
    assert token is not None
    assert token.owner == ANN
    clock = browser.site.clock
    assert isinstance(clock, FakeClock)
    await clock.advance(3_600)
    assert await browser.site.tokens.authenticate(second["access_token"]) is None
    assert (await refreshed(browser, second["refresh_token"])).status_code == 200
    stolen = await refreshed(browser, first["refresh_token"])
    assert (stolen.status_code, stolen.json()["error"]) == (400, "invalid_grant")
    assert await browser.site.tokens.listed() == []


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"client_id": "appr_x"}, "invalid_grant"),
        ({"client_id": ""}, "invalid_request"),
        ({"refresh_token": ""}, "invalid_request"),
        ({"refresh_token": "cogency_x"}, "invalid_grant"),
        ({"scope": "recall forget"}, "invalid_grant"),
    ],
)
async def test_a_wrong_refresh_gets_nothing_and_uses_up_nothing(
    browser: Browser, changed: dict[str, str], error: str
) -> None:
    first = await signed_in(browser)
    refused = await refreshed(browser, first["refresh_token"], **changed)
    assert (refused.status_code, refused.json()["error"]) == (400, error)
    assert (await refreshed(browser, first["refresh_token"])).status_code == 200


async def test_an_app_can_end_its_own_access_and_no_other(browser: Browser) -> None:
    first = await signed_in(browser)
    for given, is_left in (
        ({"token": "guess", "client_id": browser.client}, True),
        ({"token": first["refresh_token"], "client_id": "appr_other"}, True),
        ({"token": first["refresh_token"], "client_id": browser.client}, False),
    ):
        answer = await browser.http.post(REVOKE, data=given)
        assert (answer.status_code, answer.text) == (200, "{}")
        assert (await browser.site.tokens.authenticate(first["access_token"]) is not None) == is_left
    assert (await refreshed(browser, first["refresh_token"])).json()["error"] == "invalid_grant"
    assert (await browser.http.post(REVOKE, data={"token": "x"})).status_code == 400


async def test_scopes_that_the_operator_no_longer_lets_people_give_are_not_refreshed(browser: Browser) -> None:
    first, site = await signed_in(browser), browser.site
    narrower = replace(site, scopes=frozenset({TokenScope.ASK}))
    async with (
        serving(PublicSite([HttpRoutes(OAUTH, narrower)]), "127.0.0.1", 0) as url,
        httpx2.AsyncClient(base_url=url, timeout=PATIENCE_S, verify=NO_AUTHORITIES) as http,
    ):
        later = Browser(browser.store, narrower, http, browser.client)
        assert (await refreshed(later, first["refresh_token"])).json()["error"] == "invalid_grant"


async def test_an_app_that_a_document_describes_signs_its_person_in(browser: Browser) -> None:
    app = "https://app.example/client.json"
    fields = {"client_id": app, "client_name": "Documented", "redirect_uris": [BACK]}
    async with webhook_receiver() as server:
        body = json.dumps(fields)
        server.answer = lambda _: f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()

        async def resolve(_name: str, _port: int) -> list[str]:
            return ["93.184.216.34"]

        async def dial(*_: object) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            return await asyncio.open_connection("127.0.0.1", server.port)

        reached = GuardedConnections(WebGuard(Networks()), resolve, dial)
        site = replace(browser.site, documents=ClientDocuments(reached, "Test/1", browser.site.clock))
        async with (
            serving(PublicSite([HttpRoutes(OAUTH, site)]), "127.0.0.1", 0) as url,
            httpx2.AsyncClient(base_url=url, timeout=PATIENCE_S, verify=NO_AUTHORITIES) as http,
        ):
            there = Browser(browser.store, site, http, app)
            page = await there.open()
            assert "Documented" in page.text
            assert "The app's name comes from its description at <b>https://app.example/client.json</b>." in page.text
            wrong = await there.open(redirect_uri="http://127.0.0.1:4000/other")
            assert (wrong.status_code, "location" in wrong.headers) == (400, False)
            back = returned(await there.enter(page, await site.sign_ins.new_code(ANN)))
            given = (await there.exchange(back["code"])).json()
    assert (given["expires_in"], "refresh_token" in given) == (30 * 86_400, False)
    token = await browser.site.tokens.authenticate(given["access_token"])
    assert token is not None
    assert token.definition.name.startswith("documented-")


REQUESTS: list[tuple[int, str, str, dict[str, Any]]] = [
    (404, "GET", "/oauth", {}),
    (404, "GET", TOKEN, {}),
    (404, "DELETE", AUTHORIZE, {}),
    (415, "POST", TOKEN, {"json": {"grant_type": "authorization_code"}}),
    (413, "POST", TOKEN, {"data": {"code": "x" * 20_000}}),
    (413, "POST", REGISTER, {"json": {"redirect_uris": [BACK], "client_name": "x" * 20_000}}),
    (400, "POST", REGISTER, {"json": {"redirect_uris": ["javascript:alert(1)"]}}),
    (400, "POST", TOKEN, {"data": {"grant_type": "password"}}),
]


@pytest.mark.parametrize(("status", "method", "path", "given"), REQUESTS)
async def test_what_is_no_request_of_a_program_is_refused(
    browser: Browser, status: int, method: str, path: str, given: dict[str, Any]
) -> None:
    response = await browser.http.request(method, path, **given)
    assert response.status_code == status
    assert response.json()["error"]


async def test_programs_find_where_to_sign_in(browser: Browser) -> None:
    for path in (RESOURCE_METADATA, f"{RESOURCE_METADATA}/mcp"):
        found = (await browser.http.get(path)).json()
        assert (found["resource"], found["authorization_servers"]) == (f"{ADDRESS}/mcp", [ADDRESS])
    server = (await browser.http.get(SERVER_METADATA)).json()
    assert server["issuer"] == ADDRESS
    assert server["authorization_endpoint"] == f"{ADDRESS}/oauth/authorize"
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["scopes_supported"] == ["recall", "ask"]
    assert server["client_id_metadata_document_supported"] is True
    assert server["grant_types_supported"] == ["authorization_code", "refresh_token"]
    assert server["revocation_endpoint"] == f"{ADDRESS}/oauth/revoke"
