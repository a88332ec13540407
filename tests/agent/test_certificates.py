"""A certificate that is not trusted is named as that by every client, with what an operator can do about it."""

import asyncio
import ssl
from collections.abc import Callable
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path

import aiohttp
import httpx
import pytest

from agent.certificates import MAX_CAUSES, certificate_problem, certificate_sentence
from agent.errors import ProviderUnavailable
from agent.messages import Message, Role
from agent.ports.model import Provider
from agent.providers.catalog import OPENAI
from agent.providers.factory import OpenedProvider, open_chat, open_messages, open_realtime, open_responses
from agent.providers.http_client import Http, Untrusted
from agent.providers.openai_services import HttpEmbedder
from agent.providers.replay import ProviderWorld
from bot.models.choice import models_of
from bot.platforms.discord.doctor import examine as examine_discord
from bot.platforms.discord.options import DiscordOptions
from bot.platforms.slack.api import SlackApi, SlackDown, web_client
from bot.settings.secret import Secret
from bot.tools.mcp.server import reason_of
from tests.fakes.clock import FakeClock
from tests.fakes.tls_server import SINCE, self_signed, tls_server
from tests.patience import PATIENCE_S

HI = (Message(Role.USER, "hi"),)
WORLD = ProviderWorld(FakeClock(), lambda: 0.0)


async def refusal(provider: Provider) -> ProviderUnavailable:
    async with asyncio.timeout(PATIENCE_S), aclosing(provider.stream(HI)) as events:
        with pytest.raises(ProviderUnavailable) as caught:
            await anext(events)
    return caught.value


@pytest.mark.parametrize("opened", [open_chat, open_messages, open_responses, open_realtime])
async def test_a_model_behind_an_unknown_authority_names_the_setting(
    tmp_path: Path, opened: Callable[..., OpenedProvider]
) -> None:
    async with tls_server(self_signed(tmp_path, "127.0.0.1")) as address:
        endpoint = OPENAI.at(f"https://{address}/v1")
        provider = opened(endpoint, "m-1", "sk-1", WORLD)
        error = await refusal(provider)
        await provider.aclose()
    assert "SSL_CERT_FILE" in str(error)
    assert "self-signed certificate" in str(error)
    assert "does not answer" not in str(error)
    assert "SSL_CERT_FILE" not in error.reason.to_person


async def test_embeddings_and_the_list_of_models_name_it_too(tmp_path: Path) -> None:
    async with tls_server(self_signed(tmp_path, "127.0.0.1")) as address, asyncio.timeout(PATIENCE_S):
        endpoint = OPENAI.at(f"https://{address}/v1")
        embedder = HttpEmbedder(endpoint, "m-1", "sk-1")
        with pytest.raises(ProviderUnavailable, match="SSL_CERT_FILE"):
            await embedder.embed(["hi"])
        await embedder.aclose()
        with pytest.raises(ProviderUnavailable, match="SSL_CERT_FILE"):
            await models_of(endpoint, None)


async def test_a_client_that_goes_through_a_proxy_sees_it_too(tmp_path: Path) -> None:
    async with tls_server(self_signed(tmp_path, "127.0.0.1")) as address, httpx.AsyncClient(trust_env=False) as client:
        with pytest.raises(httpx.ConnectError) as caught:
            await client.get(f"https://{address}/")
    assert certificate_problem(caught.value)
    assert "certificate" in reason_of(caught.value)
    assert "SSL_CERT_FILE" in reason_of(caught.value)


async def test_slack_and_discord_name_it_too(tmp_path: Path) -> None:
    async with (
        tls_server(self_signed(tmp_path, "127.0.0.1")) as address,
        aiohttp.ClientSession() as session,
        asyncio.timeout(PATIENCE_S),
    ):
        slack = SlackApi(web_client(f"https://{address}/api/", session, "xoxb-1"), session)
        with pytest.raises(SlackDown, match="SSL_CERT_FILE"):
            await slack.sign_in()
        settings = DiscordOptions(Secret("t"), api_base_url=f"https://{address}/api/v10")
        (finding,) = await examine_discord(settings, FakeClock())
    assert "SSL_CERT_FILE" in finding.remedy


@pytest.mark.parametrize(
    ("name", "days", "advice"),
    [
        ("127.0.0.1", 36_500, "SSL_CERT_FILE"),
        ("other.example", 36_500, "check the address"),
        ("127.0.0.1", 1, "renew it"),
    ],
)
async def test_the_advice_is_for_what_is_wrong_with_the_certificate(
    tmp_path: Path, name: str, days: int, advice: str
) -> None:
    cert = self_signed(tmp_path, name, since=SINCE, lasting=timedelta(days=days))
    context = ssl.create_default_context(cafile=None if advice == "SSL_CERT_FILE" else str(cert))
    async with tls_server(cert) as address:
        with pytest.raises(ssl.SSLCertVerificationError) as caught:
            await asyncio.open_connection(*address.split(":"), ssl=context)
    sentence = certificate_sentence(certificate_problem(caught.value), "OpenAI", "https://a.example/v1")
    assert advice in sentence
    assert sentence.endswith(".")


async def test_what_is_no_fault_of_a_certificate_is_none(tmp_path: Path) -> None:
    assert certificate_problem(None) == ""
    assert certificate_problem(ConnectionRefusedError()) == ""
    http = Http(proxies=False)
    async with tls_server(self_signed(tmp_path, "127.0.0.1")) as address:
        with pytest.raises(Untrusted):
            async with http.request("GET", f"https://{address}/", {}):
                pass
    await http.aclose()


def test_causes_without_an_end_are_looked_through_in_bounded_time() -> None:
    errors = [ValueError(str(number)) for number in range(3 * MAX_CAUSES)]
    for error, cause in zip(errors, [*errors[1:], errors[0]], strict=True):
        error.__cause__ = cause
    assert certificate_problem(errors[0]) == ""
    assert certificate_problem(ExceptionGroup("", errors)) == ""
