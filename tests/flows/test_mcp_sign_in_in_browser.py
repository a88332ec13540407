"""The page for signing in to the MCP server, in Chromium."""

import json
from itertools import count
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from agent.ports.api_tokens import TokenScope
from bot.api.mcp_server.client_documents import ClientDocuments
from bot.api.mcp_server.oauth import AUTHORIZE, OAUTH, register
from bot.api.mcp_server.oauth_http import OAuthSite
from bot.api.sign_in import SignIns, challenge_of
from bot.api.tokens import OwnersAudit, TokenService
from bot.chat.http_routes import HttpRoutes, PublicSite
from bot.chat.network.connections import GuardedConnections, SystemResolver
from bot.chat.network.guard import Networks, WebGuard
from bot.chat.telemetry import SILENT
from bot.chat.web_server import serving
from tests.browser import open_browser, open_page, violations
from tests.fakes.clock import FakeClock
from tests.fakes.sign_in_world import free_port
from tests.fakes.store import store_in_memory

ANN = "slack:T1:U1"
VERIFIER = "v" * 64


@pytest.mark.slow
async def test_a_person_signs_in_in_a_browser_and_returns_to_their_program() -> None:
    store, clock, numbers, port = store_in_memory(), FakeClock(auto=False), count(), free_port()

    def new_secret() -> str:
        return f"{next(numbers):043}"

    site = OAuthSite(
        address=f"http://127.0.0.1:{port}",
        scopes=frozenset({TokenScope.RECALL}),
        days=30,
        sign_ins=SignIns(store.preferences, clock, new_secret),
        tokens=TokenService(store.api_tokens, clock, new_secret, OwnersAudit(store.audit, clock)),
        documents=ClientDocuments(GuardedConnections(WebGuard(Networks()), SystemResolver()), "Test/1", clock),
        clock=clock,
        telemetry=SILENT,
    )
    async with (
        serving(PublicSite([HttpRoutes(OAUTH, site)]), "127.0.0.1", port) as address,
        serving(PublicSite([]), "127.0.0.1", 0) as program,
        open_browser() as browser,
        open_page(browser) as opened,
    ):
        page, back = opened.page, f"{program}/back"
        client = register(json.dumps({"client_name": "My Editor", "redirect_uris": [back]}).encode())
        query = {
            "client_id": str(client["client_id"]),
            "response_type": "code",
            "code_challenge": challenge_of(VERIFIER),
            "code_challenge_method": "S256",
        }
        await page.goto(f"{address}{AUTHORIZE}?{urlencode(query)}")
        assert await violations(page) == []
        assert opened.wrong == []
        await page.get_by_label("Code").fill("AAAA-BBBB-CCCC")
        await page.get_by_role("button", name="Allow").click()
        await page.get_by_text("This code is not valid").wait_for()
        await page.get_by_label("Code").fill(await site.sign_ins.new_code(ANN))
        await page.get_by_role("button", name="Allow").click()
        await page.wait_for_url(f"{back}?**")
        grant = parse_qs(urlsplit(page.url).query)["code"][0]
        granted = await site.sign_ins.exchange(grant, query["client_id"], back, VERIFIER)
        assert granted is not None
        assert granted.person == ANN
