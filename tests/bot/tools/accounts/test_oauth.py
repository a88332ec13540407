"""Requests to an authorization server, with any answers, over a fake transport."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from bot.tools.accounts.oauth import (
    MAX_ANSWER_BYTES,
    Account,
    BotClient,
    OAuthFailed,
    OAuthGrant,
    OAuthHttp,
    SignInEnded,
    authorization_url,
)
from bot.tools.mcp.config import HttpReach, OAuthClientConfig
from tests.fakes.incoming import START

SERVER = "https://wiki.example/mcp"
ISSUER = "https://login.example"
REDIRECT = "https://bot.example/sign-in/callback/wiki"
DOCUMENT = "https://bot.example/sign-in/client/wiki.json"
GRANT = OAuthGrant(
    ISSUER, f"{ISSUER}/authorize", f"{ISSUER}/token", f"{ISSUER}/revoke", True, "bot", "", "none", SERVER, "", REDIRECT
)
ACCOUNT = Account(GRANT, "access", "refresh", START + timedelta(hours=1))
RESOURCE: dict[str, Any] = {"resource": SERVER, "authorization_servers": [ISSUER], "scopes_supported": ["read"]}
METADATA: dict[str, Any] = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/token",
    "revocation_endpoint": f"{ISSUER}/revoke",
    "registration_endpoint": f"{ISSUER}/register",
    "code_challenge_methods_supported": ["S256"],
    "authorization_response_iss_parameter_supported": True,
}
ASKS = {"www-authenticate": f'Bearer resource_metadata="{SERVER}/metadata", scope="notes:read"'}


PLAIN = OAuthClientConfig()


PUBLIC = "8.8.8.8"


@dataclass(frozen=True)
class Connection:
    """As httpx describes the connection of an answer."""

    peer: tuple[str, int] | None

    def get_extra_info(self, name: str) -> object:
        return self.peer if name == "server_addr" else None


class World:
    """`answers`: by address; other addresses are not found."""

    def __init__(self, **metadata: Any) -> None:
        self.asked: list[httpx2.Request] = []
        self.peer: tuple[str, int] | None = None  # The address of the server itself, where the connection tells it
        self.names: dict[str, list[str]] = {}  # What names resolve to; all others are in the public web
        self.answers: dict[str, Callable[[httpx2.Request], httpx2.Response]] = {
            SERVER: lambda _: httpx2.Response(401, headers=ASKS),
            f"{SERVER}/metadata": lambda _: httpx2.Response(200, json=RESOURCE),
            f"{ISSUER}/.well-known/oauth-authorization-server": lambda _: httpx2.Response(
                200, json={key: value for key, value in (METADATA | metadata).items() if value is not None}
            ),
            f"{ISSUER}/register": lambda _: httpx2.Response(
                201, json={"client_id": "made", "redirect_uris": [REDIRECT]}
            ),
        }

    def http(self, url: str = SERVER) -> OAuthHttp:
        def answer(request: httpx2.Request) -> httpx2.Response:
            self.asked.append(request)
            answered = self.answers.get(str(request.url), lambda _: httpx2.Response(404))(request)
            if request.url.host == urlsplit(url).hostname:
                answered.extensions["network_stream"] = Connection(self.peer)
            return answered

        async def resolve(name: str) -> list[str]:
            return self.names.get(name, [PUBLIC])

        return OAuthHttp(HttpReach(url), httpx2.MockTransport(answer), resolve)

    async def grant(self, config: OAuthClientConfig = PLAIN, *, document: bool = True) -> OAuthGrant:
        return await self.http().discover(BotClient(REDIRECT, DOCUMENT if document else ""), config)


async def test_what_a_server_says_leads_to_where_its_people_sign_in() -> None:
    world = World()
    grant = await world.grant()
    assert (grant.issuer, grant.client_id, grant.resource, grant.scope) == (ISSUER, "made", SERVER, "notes:read")
    url = urlsplit(authorization_url(grant, "state", "challenge"))
    asked = {name: values[0] for name, values in parse_qs(url.query).items()}
    assert f"{url.scheme}://{url.netloc}{url.path}" == f"{ISSUER}/authorize"
    assert asked == {
        "response_type": "code",
        "client_id": "made",
        "redirect_uri": REDIRECT,
        "state": "state",
        "code_challenge": "challenge",
        "code_challenge_method": "S256",
        "resource": SERVER,
        "scope": "notes:read",
    }


async def test_a_server_that_names_another_issuer_than_the_operator_gets_no_sign_in_and_no_secret() -> None:
    registered = OAuthClientConfig("ours", "hush", issuer=f"{ISSUER}/")
    assert (await World().grant(registered)).client_id == "ours"
    taken_over = World()
    evil = "https://evil.example"
    taken_over.answers[f"{SERVER}/metadata"] = lambda _: httpx2.Response(
        200, json=RESOURCE | {"authorization_servers": [evil]}
    )
    taken_over.answers[f"{evil}/.well-known/oauth-authorization-server"] = lambda _: httpx2.Response(
        200, json=METADATA | {"issuer": evil, "token_endpoint": f"{evil}/token"}
    )
    with pytest.raises(OAuthFailed, match="did not come from the service"):
        await taken_over.grant(registered)
    assert not any(request.url.host == "evil.example" for request in taken_over.asked)


@pytest.mark.parametrize("page", ["https://good.example/authorize", f"{ISSUER}:8443/authorize"])
async def test_people_sign_in_only_where_their_code_goes_unless_somebody_vouches_for_the_issuer(page: str) -> None:
    mixed_up = {"authorization_endpoint": page, "authorization_response_iss_parameter_supported": None}
    with pytest.raises(OAuthFailed, match=r"its sign-in page is on .*, but its sign-in service is"):
        await World(**mixed_up).grant()
    vouched = await World(**mixed_up).grant(OAuthClientConfig(issuer=ISSUER))
    named = await World(authorization_endpoint=page).grant()
    assert (vouched.authorize_url, named.authorize_url, named.names_issuer) == (page, page, True)


@pytest.mark.parametrize(
    "written", [f"{ISSUER}:443/authorize", f"{ISSUER.upper().replace('HTTPS', 'https')}/authorize"]
)
async def test_one_host_may_be_written_in_several_ways(written: str) -> None:
    grant = await World(authorization_endpoint=written, authorization_response_iss_parameter_supported=None).grant()
    assert not grant.names_issuer


async def test_the_bot_is_what_its_operator_registered_else_its_document_else_what_it_registers() -> None:
    named = OAuthClientConfig("ours", "hush", "all")
    by_document = World(client_id_metadata_document_supported=True)
    assert (await by_document.grant()).client_id == DOCUMENT
    of_operator = await by_document.grant(named)
    assert (of_operator.client_id, of_operator.scope, of_operator.auth_method) == ("ours", "all", "client_secret_basic")
    assert (await by_document.grant(document=False)).client_id == "made"  # a document needs an address
    with pytest.raises(OAuthFailed, match="register me there first"):
        await World(registration_endpoint=None).grant()
    document = json.loads(BotClient(REDIRECT, DOCUMENT).document())
    assert (document["client_id"], document["redirect_uris"]) == (DOCUMENT, [REDIRECT])
    assert (document["token_endpoint_auth_method"], document["application_type"]) == ("none", "web")


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({"issuer": "https://evil.example"}, "did not come from"),
        ({"issuer": f"{ISSUER}/other"}, "did not come from"),
        ({"code_challenge_methods_supported": None}, "PKCE"),
        ({"code_challenge_methods_supported": ["plain"]}, "PKCE"),
        ({"token_endpoint": "http://login.example/token"}, "not safe"),
        ({"token_endpoint": "http://127.0.0.1/token"}, "not safe"),
        ({"authorization_endpoint": "http://169.254.169.254/latest"}, "not safe"),
        ({"revocation_endpoint": "http://login.example/revoke"}, "not safe"),
        ({"registration_endpoint": "http://login.example/register"}, "not safe"),
    ],
)
async def test_metadata_that_lead_astray_are_refused(metadata: dict[str, Any], why: str) -> None:
    with pytest.raises(OAuthFailed, match=why):
        await World(**metadata).grant()


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "https://a@b/x"])
async def test_no_address_but_a_plain_https_one_is_shown_to_a_person(address: str) -> None:
    with pytest.raises(OAuthFailed):
        await World(authorization_endpoint=address).grant()


async def test_metadata_of_another_resource_are_refused() -> None:
    world = World()
    other = RESOURCE | {"resource": "https://mail.example/mcp"}
    world.answers[f"{SERVER}/metadata"] = lambda _: httpx2.Response(200, json=other)
    with pytest.raises(OAuthFailed, match="a service that is not its own"):
        await world.grant()


INSIDE = {
    "10.0.0.7": ["10.0.0.7"],
    "[::1]": ["::1"],
    "[fd00:ec2::254]": ["fd00:ec2::254"],
    "169.254.169.254": ["169.254.169.254"],
    "0x7f000001": ["127.0.0.1"],
    "inside.example": ["192.168.1.7"],
    "mixed.example": [PUBLIC, "10.0.0.7"],
    "mapped.example": ["::ffff:10.0.0.7"],
    "zoned.example": ["fe80::1%eth0"],
    "translated.example": ["64:ff9b::a00:7"],
    "tunnel.example": ["2002:a00:7::1"],
}


@pytest.mark.parametrize("host", INSIDE)
@pytest.mark.parametrize(
    "endpoint", ["authorization_endpoint", "token_endpoint", "revocation_endpoint", "registration_endpoint", "metadata"]
)
async def test_a_server_of_the_public_web_names_no_address_of_the_own_network(endpoint: str, host: str) -> None:
    world = World(**({} if endpoint == "metadata" else {endpoint: f"https://{host}/x"}))
    world.names = {host.strip("[]"): INSIDE[host], "127.0.0.1": ["127.0.0.1"]}
    if endpoint == "metadata":
        inside = {"www-authenticate": f'Bearer resource_metadata="https://{host}/metadata"'}
        world.answers[SERVER] = lambda _: httpx2.Response(401, headers=inside)
    with pytest.raises(OAuthFailed, match="my own network"):
        await world.grant()
    assert host not in {request.url.netloc.decode() for request in world.asked}


async def test_a_token_is_not_sent_to_a_name_that_leads_into_the_own_network_later() -> None:
    world = World()
    grant = await world.grant()
    world.names = {urlsplit(grant.token_url).hostname or "": ["10.0.0.7"]}
    with pytest.raises(OAuthFailed, match="my own network"):
        await world.http().exchange(grant, "code", "verifier", "name", datetime(2026, 11, 24, tzinfo=UTC))


async def test_a_server_of_the_own_network_may_name_others_of_it() -> None:
    world = World()
    world.names = {"wiki.example": ["10.0.0.7"], "login.example": ["10.0.0.8"]}
    assert (await world.grant()).client_id == "made"


@pytest.mark.parametrize("addresses", [[PUBLIC, "10.0.0.7"], ["10.0.0.7"]])
async def test_whoever_owns_the_name_of_a_public_server_opens_no_own_network_by_it(addresses: list[str]) -> None:
    world = World(token_endpoint="https://inside.example/token")
    world.peer = (PUBLIC, 443)  # from which the server answered, whatever its name resolves to now
    world.names = {"wiki.example": addresses, "inside.example": ["192.168.1.7"]}
    with pytest.raises(OAuthFailed, match="my own network"):
        await world.grant()


async def test_a_name_with_one_address_in_the_own_network_does_not_count_as_inside() -> None:
    world = World(token_endpoint="https://inside.example/token")
    world.names = {"wiki.example": [PUBLIC, "10.0.0.7"], "inside.example": ["192.168.1.7"]}
    with pytest.raises(OAuthFailed, match="my own network"):
        await world.grant()


@pytest.mark.parametrize(
    "query", ["redirect_uri=https://evil.example/", "client_id=other", "x=1&state", "response_type=token", "request="]
)
async def test_an_address_for_signing_in_that_sets_what_the_bot_asks_for_is_refused(query: str) -> None:
    with pytest.raises(OAuthFailed, match="not safe"):
        await World(authorization_endpoint=f"{ISSUER}/authorize?{query}").grant()
    kept = await World(authorization_endpoint=f"{ISSUER}/authorize?tenant=7").grant()
    assert kept.authorize_url == f"{ISSUER}/authorize?tenant=7"


async def test_metadata_are_not_fetched_from_within_by_plain_http() -> None:
    """A malicious server could make the bot request addresses that only the bot can reach."""
    world = World()
    inside = {"www-authenticate": 'Bearer resource_metadata="http://169.254.169.254/latest/meta-data"'}
    world.answers[SERVER] = lambda _: httpx2.Response(401, headers=inside)
    with pytest.raises(OAuthFailed, match="not safe"):
        await world.grant()
    assert {request.url.host for request in world.asked} == {"wiki.example"}


async def test_a_redirect_is_not_followed_and_too_long_an_answer_not_read() -> None:
    world = World()
    world.answers[f"{SERVER}/metadata"] = lambda _: httpx2.Response(307, headers={"location": "https://evil.example"})
    world.answers["https://wiki.example/.well-known/oauth-protected-resource/mcp"] = lambda _: httpx2.Response(
        200, content=b" " * (MAX_ANSWER_BYTES + 1)
    )
    with pytest.raises(OAuthFailed, match="cannot be reached"):
        await world.grant()
    assert {request.url.host for request in world.asked} == {"wiki.example"}


def _tokens(**more: Any) -> httpx2.Response:
    return httpx2.Response(200, json={"access_token": "new", "token_type": "bearer", **more})


async def test_tokens_are_asked_for_with_the_proof_and_the_resource() -> None:
    world = World()
    world.answers[f"{ISSUER}/token"] = lambda _: _tokens(expires_in=60, refresh_token="more", scope="notes:read")
    account = await world.http().exchange(GRANT, "code", "verifier", "name", START)
    assert (account.access_token, account.refresh_token, account.expires) == (
        "new",
        "more",
        START + timedelta(minutes=1),
    )
    assert parse_qs(world.asked[-1].content.decode()) == {
        "grant_type": ["authorization_code"],
        "code": ["code"],
        "redirect_uri": [REDIRECT],
        "code_verifier": ["verifier"],
        "resource": [SERVER],
        "client_id": ["bot"],
    }


async def test_what_a_renewal_leaves_out_stays_as_it_was() -> None:
    world = World()
    world.answers[f"{ISSUER}/token"] = lambda _: _tokens()
    renewed = await world.http().refresh(ACCOUNT, START)
    assert (renewed.access_token, renewed.refresh_token, renewed.expires) == ("new", "refresh", None)


@pytest.mark.parametrize(
    "answer",
    [
        {"access_token": "new\r\nX-Evil: 1", "token_type": "bearer"},
        {"access_token": "", "token_type": "bearer"},
        {"access_token": "x" * 20_000, "token_type": "bearer"},
        {"access_token": "new", "token_type": "mac"},
        {"access_token": "new", "token_type": "bearer", "refresh_token": "a b"},
        {"access_token": ["new"]},
        [],
    ],
)
async def test_tokens_that_are_none_are_refused(answer: object) -> None:
    world = World()
    world.answers[f"{ISSUER}/token"] = lambda _: httpx2.Response(200, json=answer)
    with pytest.raises(OAuthFailed, match="cannot be read"):
        await world.http().refresh(ACCOUNT, START)


@pytest.mark.parametrize("seconds", [-5, 10**30])
async def test_a_lifetime_may_be_any_number(seconds: int) -> None:
    world = World()
    world.answers[f"{ISSUER}/token"] = lambda _: _tokens(expires_in=seconds)
    assert (await world.http().refresh(ACCOUNT, START)).expires is not None


@pytest.mark.parametrize(
    ("status", "error", "ends"),
    [
        (400, "invalid_grant", True),
        (401, "invalid_client", True),
        (400, "temporarily_unavailable", False),
        (500, "invalid_grant", False),
        (503, "", False),
        (404, "", False),
    ],
)
async def test_only_what_says_so_ends_a_sign_in(status: int, error: str, ends: bool) -> None:
    world = World()
    said = {"error": error, "error_description": "Nope\x00\u202e" + "x" * 1_000}
    world.answers[f"{ISSUER}/token"] = lambda _: httpx2.Response(status, json=said)
    with pytest.raises(OAuthFailed) as failed:
        await world.http().refresh(ACCOUNT, START)
    assert isinstance(failed.value, SignInEnded) is ends
    assert len(str(failed.value)) < 400
    assert "\u202e" not in str(failed.value)


async def test_no_secret_stands_in_what_a_traceback_shows() -> None:
    shown = repr(Account(GRANT, "swordfish", "halibut")) + repr(OAuthClientConfig("id", "trout"))
    assert not {word for word in ("swordfish", "halibut", "trout") if word in shown}


@pytest.mark.parametrize(("error", "done"), [("invalid_token", True), ("unsupported_token_type", False)])
async def test_a_token_that_ended_with_the_one_before_counts_as_revoked(error: str, done: bool) -> None:
    world, left = World(), {"refresh", "access"}

    def revoke(request: httpx2.Request) -> httpx2.Response:
        known = parse_qs(request.content.decode())["token"][0] in left
        left.clear()
        return httpx2.Response(200) if known else httpx2.Response(400, json={"error": error})

    world.answers[f"{ISSUER}/revoke"] = revoke
    assert await world.http().revoke(ACCOUNT) is done


async def test_browsers_are_sent_back_to_the_very_address_that_is_registered() -> None:
    world = World()
    client = BotClient("https://Bot.Example:443/sign-in/callback/wiki")
    grant = await world.http().discover(client, PLAIN)
    (registered,) = (one for one in world.asked if one.url.path == "/register")
    assert json.loads(registered.content)["redirect_uris"] == [grant.redirect]
