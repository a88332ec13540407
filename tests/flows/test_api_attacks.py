"""Attacks on the API over real HTTP: each is refused with OpenAI's form of errors, and none reaches a model."""

import asyncio
import gzip
import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from agent.machine import CLOCK, new_secret
from agent.memory.audience import PersonAudience
from agent.ports.api_tokens import TokenScope
from bot.api.tokens import PREFIX, OwnersAudit, TokenRequest, TokenService
from store.engine import open_api_tokens, open_audit
from tests.fakes.api_bot import ANN, BEN, ApiBot, api_bot
from tests.fakes.model_server import DONE, ModelServer, head, text
from tests.fakes.no_authorities import NO_AUTHORITIES
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
ASKED = {"model": "cogency", "messages": [{"role": "user", "content": "Hello?"}]}
OF_RESPONSE = {"model": "cogency", "input": "Hello?"}
JSON = {"content-type": "application/json"}


async def expired(bot: ApiBot) -> str:
    request = TokenRequest(
        name="old", person=ANN, audience=PersonAudience(ANN), source="play", lasts=timedelta(microseconds=1)
    )
    async with open_api_tokens(bot.url) as tokens, open_audit(bot.url) as audit:
        service = TokenService(tokens, CLOCK, new_secret, OwnersAudit(audit, CLOCK))
        return (await service.issue(request)).secret.reveal()


async def answer_of(bot: ApiBot, lines: str, body: bytes = b"") -> str:
    """Send a request as it stands; return what comes back until the server closes the connection."""
    address = urlsplit(bot.address)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(lines.replace("\n", "\r\n").encode() + b"\r\n" + body)
    try:
        async with asyncio.timeout(PATIENCE_S):
            return (await reader.read()).decode()
    finally:
        writer.close()


async def test_whoever_has_no_valid_token_and_scope_gets_no_answer_and_learns_nothing(tmp_path: Path) -> None:
    async with ModelServer([]) as model:
        settings = {"COGENCY_MODEL": "openai:m-1", "OPENAI_BASE_URL": model.url}
        async with (
            api_bot(tmp_path, **settings) as bot,
            httpx.AsyncClient(base_url=bot.address, verify=NO_AUTHORITIES) as client,
        ):
            good, revoked = await bot.token(), await bot.token()
            await bot.revoke(revoked)
            recalls = await bot.token(scopes=frozenset({TokenScope.RECALL}))
            refused: list[tuple[str, Mapping[str, str] | list[tuple[str, str]]]] = [
                ("no token", {}),
                ("empty", {"authorization": ""}),
                ("no secret", {"authorization": "Bearer"}),
                ("another scheme", {"authorization": f"Basic {good}"}),
                ("guessed", {"authorization": f"Bearer {PREFIX}{'A' * 43}"}),
                ("cut", {"authorization": f"Bearer {good[:-1]}"}),
                ("longer", {"authorization": f"Bearer {good}A"}),
                ("other case", {"authorization": f"Bearer {good.swapcase()}"}),
                ("pattern", {"authorization": f"Bearer {PREFIX}{'%' * 43}"}),
                ("SQL", {"authorization": f"Bearer {PREFIX}' OR 1=1 --"}),
                ("its hash", {"authorization": f"Bearer {bot.tokens[good].definition.hash}"}),
                ("expired", {"authorization": f"Bearer {await expired(bot)}"}),
                ("revoked", {"authorization": f"Bearer {revoked}"}),
                ("in another header", {"x-api-key": good, "api-key": good, "cookie": f"token={good}"}),
                ("two headers", [("authorization", f"Bearer {good}"), ("authorization", f"Bearer {revoked}")]),
                ("two in one", {"authorization": f"Bearer {good}, Bearer {revoked}"}),
                ("behind a proxy's", {"x-forwarded-authorization": f"Bearer {good}", "x-original-url": "/v1/models"}),
            ]
            bodies = set[str]()
            for name, headers in refused:
                for path in (CHAT, RESPONSES):
                    response = await client.post(path, headers=headers, json=ASKED)
                    assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer"), name
                    bodies.add(response.text)
                assert (await client.get("/v1/models", headers=headers)).status_code == 401, name
                assert (await client.post("/v1/nothing", headers=headers)).status_code == 401, name
            assert len(bodies) == 1, "no difference says which token exists"
            assert (await client.get(f"/v1/models?api_key={good}")).status_code == 401
            scoped = await client.post(CHAT, headers={"authorization": f"Bearer {recalls}"}, json=ASKED)
            assert (scoped.status_code, scoped.json()["error"]["code"]) == (403, "access_denied")
            assert "does not have the ask scope" in scoped.json()["error"]["message"]
        assert model.requests == []


async def test_tricks_with_paths_methods_headers_and_bodies_are_refused(tmp_path: Path) -> None:
    async with ModelServer([]) as model:
        settings = {"COGENCY_MODEL": "openai:m-1", "OPENAI_BASE_URL": model.url}
        async with (
            api_bot(tmp_path, **settings) as bot,
            httpx.AsyncClient(base_url=bot.address, verify=NO_AUTHORITIES) as client,
        ):
            bearer = {"authorization": f"Bearer {await bot.token()}"}
            deep = b'{"model":' + b"[" * 5_000 + b"]" * 5_000 + b"}"
            asked = json.dumps(ASKED).encode()
            tried: list[tuple[str, str, str, Mapping[str, str], bytes, int]] = [
                ("trailing slash", "POST", f"{CHAT}/", JSON, asked, 404),
                ("another case", "POST", "/v1/Responses", JSON, asked, 404),
                ("doubled slash", "POST", "/v1/%2fresponses", JSON, asked, 404),
                ("an encoded slash", "POST", "/v1/chat%252fcompletions", JSON, asked, 404),
                ("a parent", "POST", "/v1/%2e%2e/v1/responses", JSON, asked, 404),
                ("a parameter of the path", "POST", f"{CHAT};x=1", JSON, asked, 404),
                ("a null byte", "POST", "/v1/responses%00", JSON, asked, 404),
                ("a prefix of the prefix", "POST", "/v1x/responses", JSON, asked, 404),
                ("a model of another path", "GET", "/v1/models/%2e%2e/%2e%2e/etc/passwd", {}, b"", 404),
                ("GET", "GET", CHAT, {}, b"", 405),
                ("PUT", "PUT", RESPONSES, JSON, asked, 405),
                ("POST to the models", "POST", "/v1/models", JSON, asked, 405),
                ("another method by header", "GET", CHAT, {"x-http-method-override": "POST"}, b"", 405),
                ("a form", "POST", CHAT, {"content-type": "application/x-www-form-urlencoded"}, b"model=cogency", 415),
                (
                    "plain text, as a browser sends without asking",
                    "POST",
                    CHAT,
                    {"content-type": "text/plain"},
                    asked,
                    415,
                ),
                ("no type", "POST", CHAT, {}, asked, 415),
                ("compressed", "POST", CHAT, JSON | {"content-encoding": "gzip"}, gzip.compress(asked), 415),
                ("a megabyte and a byte", "POST", CHAT, JSON, b" " * 1_048_577, 413),
                ("a bomb of brackets", "POST", CHAT, JSON, b"[" * 1_000_000, 400),
                ("deep", "POST", RESPONSES, JSON, deep, 400),
                ("a huge number", "POST", RESPONSES, JSON, b'{"model": 1' + b"0" * 900_000 + b"}", 400),
                ("no JSON", "POST", CHAT, JSON, b"\x00", 400),
                ("another encoding", "POST", CHAT, JSON, json.dumps(ASKED).encode("utf-16"), 400),
                ("a list", "POST", CHAT, JSON, b"[]", 400),
                ("many messages", "POST", CHAT, JSON, b'{"model":"m","messages":[' + b"0," * 300_000 + b"0]}", 400),
            ]
            for name, method, path, headers, body, status in tried:
                response = await client.request(method, path, headers={**bearer, **headers}, content=body)
                assert response.status_code == status, f"{name}: {response.text[:200]}"
                assert response.headers["cache-control"] == "no-store", name
                if path.startswith("/v1/"):
                    assert set(response.json()["error"]) == {"message", "type", "param", "code"}, name
        assert model.requests == []


async def test_a_body_of_two_lengths_is_refused_and_nothing_after_it_is_read(tmp_path: Path) -> None:
    async with ModelServer([]) as model:
        settings = {"COGENCY_MODEL": "openai:m-1", "OPENAI_BASE_URL": model.url}
        async with api_bot(tmp_path, **settings) as bot:
            start = f"POST {CHAT} HTTP/1.1\nhost: bot\nauthorization: Bearer {await bot.token()}\n"
            start += "content-type: application/json\n"
            smuggled = f"{start}content-length: 4\ntransfer-encoding: chunked\n"
            answers = await asyncio.gather(
                answer_of(bot, smuggled, b"0\r\n\r\nGET /v1/models HTTP/1.1\r\nhost: bot\r\n\r\n"),
                answer_of(bot, f"{start}content-length: 5\ncontent-length: 6\n", b"{}"),
                answer_of(bot, f"{start}expect: 200-ok\ncontent-length: -1\n", b"{}"),
            )
            assert [one.split(" ", 2)[1] for one in answers] == ["400", "400", "400"]
            assert all(one.count("HTTP/1.1 ") == 1 for one in answers), "nothing after it was read as a request"
        assert model.requests == []


async def test_nobody_continues_or_reads_the_conversation_of_somebody_else(tmp_path: Path) -> None:
    async with ModelServer(lambda _: [head(), text("Yes."), DONE]) as model:
        settings = {"COGENCY_MODEL": "openai:m-1", "OPENAI_BASE_URL": model.url}
        async with (
            api_bot(tmp_path, **settings) as bot,
            httpx.AsyncClient(base_url=bot.address, verify=NO_AUTHORITIES) as client,
        ):

            async def ask(secret: str, **fields: Any) -> httpx.Response:
                bearer = {"authorization": f"Bearer {secret}"}
                return await client.post(RESPONSES, headers=bearer, json={**OF_RESPONSE, **fields}, timeout=PATIENCE_S)

            anns, bens = await bot.token(ANN), await bot.token(BEN)
            first = await ask(anns, input="My vault is called Zanzibar.", conversation="vaults")
            assert first.status_code == 200
            stolen = await ask(bens, previous_response_id=first.json()["id"])
            assert (stolen.status_code, stolen.json()["error"]["code"]) == (404, "previous_response_not_found")
            named = await ask(bens, conversation="vaults", input="What is my vault called?")
            assert named.status_code == 200, "a conversation of his own with the same name"
            assert b"Zanzibar" not in model.requests[-1].body
            crossed = await ask(bens, conversation=f"x:{ANN}:vaults")
            assert crossed.status_code == 400
            own = await ask(anns, previous_response_id=first.json()["id"], input="What is my vault called?")
            assert own.status_code == 200
            assert b"Zanzibar" in model.requests[-1].body
