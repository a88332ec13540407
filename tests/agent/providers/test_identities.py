"""Tokens of this machine's identity, by the vendors' own libraries: against doubles of their sign-ins on loopback."""

import asyncio
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from agent.machine import CLOCK
from agent.providers.catalog import OPENAI, Endpoint, azure_at, vertex_at
from agent.providers.credentials import Credentials, CredentialsUnavailable, OutgoingRequest
from agent.providers.identities import IdentitySettings, entra_sentence, identity, is_installed
from tests.fakes.company_network import company_network
from tests.fakes.model_server import ModelServer, Reply, Request, whole
from tests.fakes.tls_server import self_signed, tls_server
from tests.patience import PATIENCE_S

AZURE_HOME = azure_at("https://boats.openai.azure.com")
VERTEX_HOME = vertex_at("boats-123", "europe-west1")
REQUEST = OutgoingRequest("POST", "https://boats.openai.azure.com/openai/v1/responses")
VARIABLES = (
    *("AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_TENANT_ID", "AZURE_AUTHORITY_HOST", "AZURE_TOKEN_CREDENTIALS"),
    *("IDENTITY_ENDPOINT", "IDENTITY_HEADER", "MSI_ENDPOINT", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"),
)


@pytest.fixture(autouse=True)
def no_identity(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The environment of the tests has no identity, and the folder of the user is empty."""
    for name in (*VARIABLES, "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "CLOUDSDK_CONFIG"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")


async def headers_of(endpoint: Endpoint, settings: IdentitySettings | None = None) -> Mapping[str, str]:
    credentials = identity(endpoint, settings or IdentitySettings(), CLOCK)
    assert credentials is not None
    assert not isinstance(credentials, str)
    return await asked(credentials)


async def asked(credentials: Credentials) -> Mapping[str, str]:
    async with asyncio.timeout(PATIENCE_S):
        return await credentials.headers(REQUEST)


async def trouble(endpoint: Endpoint, settings: IdentitySettings | None = None) -> str:
    with pytest.raises(CredentialsUnavailable) as error:
        await headers_of(endpoint, settings)
    return str(error.value)


# Azure


async def test_a_managed_identity_gets_a_token_once(monkeypatch: pytest.MonkeyPatch) -> None:
    token = {"access_token": "token-of-machine", "expires_on": "4000000000", "token_type": "Bearer", "resource": "r"}
    async with ModelServer([whole(200, token)]) as machine:
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"{machine.url}/token")
        monkeypatch.setenv("IDENTITY_HEADER", "header-1")
        monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "managedidentitycredential")
        credentials = identity(AZURE_HOME, IdentitySettings(client="client-1"), CLOCK)
        assert credentials is not None
        assert not isinstance(credentials, str)
        for _ in range(2):
            assert await asked(credentials) == {"authorization": "Bearer token-of-machine"}
        (request,) = machine.requests
        query = parse_qs(urlsplit(request.path).query)
        assert query["resource"] == ["https://cognitiveservices.azure.com"]
        assert query["client_id"] == ["client-1"]
        assert request.headers["x-identity-header"] == "header-1"
        assert "token-of-machine" not in repr(credentials)


async def test_the_sign_in_of_the_command_line_client_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    client = tmp_path / "az"
    token = {"accessToken": "token-of-person", "expires_on": 4_000_000_000, "expiresOn": "2096-10-02 07:06:40.000000"}
    client.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(token)}\nEND\n")
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "azureclicredential")
    assert await headers_of(AZURE_HOME) == {"authorization": "Bearer token-of-person"}


async def test_without_an_identity_the_sentence_names_the_ways_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "environmentcredential")
    sentence = await trouble(AZURE_HOME)
    assert sentence.startswith(
        "This machine has no identity for Azure. Do one of the following: set AZURE_OPENAI_API_KEY;"
    )


async def test_a_tenant_that_cannot_be_one_is_said() -> None:
    sentence = await trouble(AZURE_HOME, IdentitySettings("no tenant!", "client-1", "secret-1"))
    assert sentence.startswith("Microsoft Entra ID refused the sign-in (invalid): check AZURE_TENANT_ID")
    assert "secret-1" not in repr(IdentitySettings("t", "c", "secret-1"))


LOGIN = "login.microsoftonline.com"


def sign_in(request: Request) -> Reply:
    """Answer as Microsoft Entra ID does for the application client-1."""
    root = f"https://{LOGIN}/tenant-1"
    if request.method == "GET":
        endpoints = {name: f"{root}/oauth2/v2.0/{name}" for name in ("authorize", "token")}
        found = {f"{'authorization' if name == 'authorize' else name}_endpoint": url for name, url in endpoints.items()}
        return whole(
            200, {**found, "issuer": f"{root}/v2.0", "tenant_discovery_endpoint": root, "metadata": list[str]()}
        )
    if b"client_secret=right-1" in request.body:
        return whole(200, {"access_token": "token-of-client", "expires_in": 3600, "token_type": "Bearer"})
    return whole(
        401, {"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret provided."}
    )


async def test_an_application_signs_in_through_the_proxy_of_a_company(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with ModelServer(sign_in) as entra:
        hosts = {LOGIN: entra.url.removeprefix("http://").partition("/")[0]}
        async with company_network(tmp_path, hosts, "ann:p@ss") as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://ann:p%40ss@{proxy.address}")
            monkeypatch.setenv("SSL_CERT_FILE", str(proxy.authority))
            headers = await headers_of(AZURE_HOME, IdentitySettings("tenant-1", "client-1", "right-1"))
            assert headers == {"authorization": "Bearer token-of-client"}
            sentence = await trouble(AZURE_HOME, IdentitySettings("tenant-1", "client-1", "wrong-1"))
            assert sentence.startswith(
                "Microsoft Entra ID refused the sign-in (AADSTS7000215): the client secret is wrong"
            )
            assert {*proxy.asked} == {f"{LOGIN}:443"}


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (
            "Authentication failed: AADSTS7000222: The provided client secret keys for app 'x' are expired.",
            (
                "Microsoft Entra ID refused the sign-in (AADSTS7000222): the client secret has expired. Create a new "
                "one, and set AZURE_CLIENT_SECRET to it."
            ),
        ),
        (
            "DefaultAzureCredential failed … AzureCliCredential: ERROR: AADSTS700082: The refresh token has expired",
            (
                "Microsoft Entra ID refused the sign-in (AADSTS700082): the sign-in has expired. Sign in again with "
                "`az login`."
            ),
        ),
        (
            "AADSTS65001: no consent",
            (
                "Microsoft Entra ID refused the sign-in (AADSTS65001): check AZURE_TENANT_ID, AZURE_CLIENT_ID, and "
                "AZURE_CLIENT_SECRET, or sign in again with `az login`."
            ),
        ),
    ],
)
def test_the_code_of_a_refused_sign_in_says_what_to_do(message: str, sentence: str) -> None:
    assert entra_sentence(message) == sentence


# Google Cloud


@cache
def private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def account_file(folder: Path, token_uri: str) -> str:
    account = {
        "type": "service_account",
        "project_id": "boats-123",
        "private_key_id": "1",
        "private_key": private_key(),
        "client_email": "bot@boats-123.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": token_uri,
    }
    file = folder / "account.json"
    file.write_text(json.dumps(account))
    return str(file)


TOKEN = {"access_token": "token-of-account", "expires_in": 3600, "token_type": "Bearer"}


async def test_a_service_account_gets_a_token_once(tmp_path: Path) -> None:
    async with ModelServer([whole(200, TOKEN)]) as google:
        file = account_file(tmp_path, f"{google.url}/token")
        credentials = identity(VERTEX_HOME, IdentitySettings(credentials_file=file), CLOCK)
        assert credentials is not None
        assert not isinstance(credentials, str)
        for _ in range(2):
            assert await asked(credentials) == {"authorization": "Bearer token-of-account"}
        (request,) = google.requests
        assert "assertion=" in request.body.decode()
        assert credentials.hide("not token-of-account.") == "not …."


async def test_the_environment_names_the_file_and_the_project_that_pays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with ModelServer([whole(200, TOKEN)]) as google:
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", account_file(tmp_path, f"{google.url}/token"))
        monkeypatch.setenv("GOOGLE_CLOUD_QUOTA_PROJECT", "payer-1")
        headers = await headers_of(VERTEX_HOME)
    assert headers == {"authorization": "Bearer token-of-account", "x-goog-user-project": "payer-1"}


async def test_a_service_account_whose_key_was_deleted_is_said(tmp_path: Path) -> None:
    async with ModelServer([whole(400, {"error": "invalid_grant", "error_description": "Invalid JWT"})]) as google:
        file = account_file(tmp_path, f"{google.url}/token")
        sentence = await trouble(VERTEX_HOME, IdentitySettings(credentials_file=file))
    assert sentence.startswith("Google refused the credentials of this machine. Sign in again with `gcloud auth")


async def test_a_sign_in_that_nobody_answers_is_said(tmp_path: Path) -> None:
    file = account_file(tmp_path, "http://127.0.0.1:1/token")
    sentence = await trouble(VERTEX_HOME, IdentitySettings(credentials_file=file))
    assert sentence == "Google's sign-in does not respond. Check the network, or set VERTEX_API_KEY."


async def test_the_authorities_of_a_company_are_trusted_where_tokens_are_fetched_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate = self_signed(tmp_path, "127.0.0.1")
    async with tls_server(certificate, b"".join(whole(200, TOKEN))) as address:
        settings = IdentitySettings(credentials_file=account_file(tmp_path, f"https://{address}/token"))
        sentence = await trouble(VERTEX_HOME, settings)
        assert sentence.startswith("The certificate of Google at https://oauth2.googleapis.com is not trusted here")
        assert "SSL_CERT_FILE" in sentence
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert (await headers_of(VERTEX_HOME, settings))["authorization"] == "Bearer token-of-account"


@pytest.mark.parametrize("content", [None, "{}", "no json", '{"type": "spaceship"}'])
async def test_a_file_without_credentials_is_said(content: str | None, tmp_path: Path) -> None:
    file = tmp_path / "account.json"
    if content is not None:
        file.write_text(content)
    sentence = await trouble(VERTEX_HOME, IdentitySettings(credentials_file=str(file)))
    assert sentence.startswith("The file in GOOGLE_APPLICATION_CREDENTIALS is missing, or does not contain")


# Where tokens go


@pytest.mark.parametrize(
    ("endpoint", "host"),
    [
        (azure_at("https://gateway.example"), "gateway.example"),
        (azure_at("https://boats.openai.azure.com.evil.example"), "boats.openai.azure.com.evil.example"),
        (azure_at("https://openai.azure.com"), "openai.azure.com"),
        (azure_at("http://boats.openai.azure.com"), "boats.openai.azure.com"),
        (azure_at("https://boats.azure-api.net"), "boats.azure-api.net"),
        (vertex_at("p-1", "global", "https://gateway.example"), "gateway.example"),
        (vertex_at("p-1", "global", "https://evilgoogleapis.com"), "evilgoogleapis.com"),
    ],
)
async def test_no_token_goes_to_an_address_that_is_not_the_vendors(
    endpoint: Endpoint, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer([]) as machine:
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"{machine.url}/token")
        monkeypatch.setenv("IDENTITY_HEADER", "header-1")
        sentence = await trouble(endpoint)
        assert f"token to {host}, because that is not a" in sentence
        assert machine.requests == []


def test_only_clouds_have_identities() -> None:
    assert identity(OPENAI, IdentitySettings(), CLOCK) is None
    assert is_installed("azure")
    assert is_installed("vertex")
