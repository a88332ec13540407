"""Requests to AWS are signed with the credentials of AWS's usual chain, which are renewed when they expire."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from agent.errors import ProviderUnavailable
from agent.messages import Message, Role
from agent.ports.model import TokensArrived
from agent.providers.aws_credentials import AwsCredentials, AwsIdentity, AwsSession, open_aws_session
from agent.providers.catalog import BEDROCK
from agent.providers.credentials import FRESH_S, CredentialsUnavailable, OutgoingRequest
from agent.providers.factory import ProviderWorld, open_converse
from agent.providers.faults import Fault, FaultKind
from tests.contracts.model_world import Says
from tests.fakes.aws_signatures import AwsUser
from tests.fakes.bedrock_service import MODEL, USER, ConverseWire, identity_of
from tests.fakes.clock import FakeClock
from tests.fakes.http_world import HttpWorld, http_world
from tests.fakes.model_server import ModelServer, Request, whole

REQUEST = OutgoingRequest(
    "POST",
    "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-v1%3A0/converse-stream",
    {"content-type": "application/json", "accept": "application/vnd.amazon.eventstream"},
    b'{"messages":[]}',
)
EXPIRED = Fault(
    FaultKind.ANSWERED, 403, "ExpiredTokenException", message="The security token included in the request is expired"
)


def received(headers: Mapping[str, str]) -> Request:
    """Return the request as the service would receive it."""
    host, _, path = REQUEST.url.removeprefix("https://").partition("/")
    return Request("POST", f"/{path}", {**REQUEST.headers, **headers, "host": host}, REQUEST.body)


async def test_a_signature_is_valid_for_this_request_and_no_other() -> None:
    user = replace(USER, session_token="a-session-token")
    request = received(await AwsCredentials(identity_of(user), "us-east-1", FakeClock()).headers(REQUEST))
    assert user.refusal(request) == ""
    assert user.refusal(replace(request, body=b"{}")).startswith("The request signature")
    assert user.refusal(replace(request, path="/model/other/converse-stream")).startswith("The request signature")
    assert user.refusal(replace(request, headers={**request.headers, "host": "evil.example"})) != ""
    later = datetime.now(UTC) + timedelta(hours=1)  # noqa: TID251 -- signatures have the time of the machine
    assert user.refusal(request, later).startswith("Signature expired")


async def test_nothing_secret_is_in_the_headers_and_a_services_text_is_shown_without_the_keys() -> None:
    user = replace(USER, session_token="a-session-token")
    credentials = AwsCredentials(identity_of(user), "us-east-1", FakeClock())
    assert user.secret_access_key not in str(await credentials.headers(REQUEST))
    assert credentials.hide(f"no: {user.access_key_id}, a-session-token") == "no: …, …"
    assert user.secret_access_key not in repr(identity_of(user))


# Credentials that expire


@dataclass
class Chain:
    """Opens sessions whose credentials are issued for a time, and renewed by botocore: key-1, key-2, …"""

    valid: timedelta = timedelta(hours=1)
    issued: int = 0
    opened: int = 0
    error: Exception | None = None
    threads: list[threading.Thread] = field(default_factory=list[threading.Thread])

    def open(self, identity: AwsIdentity) -> AwsSession:
        del identity
        self.opened += 1
        return self

    def get_credentials(self) -> Any:
        self.threads.append(threading.current_thread())
        kind = import_module("botocore.credentials").RefreshableCredentials
        return kind.create_from_metadata(self._issue(), self._issue, "test")

    def _issue(self) -> dict[str, str]:
        if self.error is not None:
            raise self.error
        self.issued += 1
        expiry = datetime.now(UTC) + self.valid  # noqa: TID251 -- botocore compares with the machine's clock
        return {
            "access_key": f"AKIDKEY{self.issued}",
            "secret_key": USER.secret_access_key,
            "token": f"token-{self.issued}",
            "expiry_time": expiry.isoformat(),
        }


async def test_credentials_are_found_once_and_not_in_the_thread_of_the_event_loop() -> None:
    chain = Chain()
    credentials = AwsCredentials(AwsIdentity(), "us-east-1", FakeClock(), chain.open)
    for _ in range(3):
        assert (await credentials.headers(REQUEST))["x-amz-security-token"] == "token-1"
    assert (chain.opened, chain.issued) == (1, 1)
    assert chain.threads[0] is not threading.current_thread()


async def test_credentials_that_are_about_to_expire_are_renewed_before_the_request_is_signed() -> None:
    chain = Chain(timedelta(minutes=5))
    credentials = AwsCredentials(AwsIdentity(), "us-east-1", FakeClock(), chain.open)
    assert (await credentials.headers(REQUEST))["x-amz-security-token"] == "token-2"
    chain.valid = timedelta(hours=1)
    assert (await credentials.headers(REQUEST))["x-amz-security-token"] == "token-3"
    assert (await credentials.headers(REQUEST))["x-amz-security-token"] == "token-3"


async def test_a_source_that_hangs_keeps_no_other_work_of_the_process_waiting() -> None:
    opened = threading.Event()

    def open_session(identity: AwsIdentity) -> AwsSession:
        opened.wait()
        return Chain().open(identity)

    credentials = AwsCredentials(AwsIdentity(), "us-east-1", FakeClock(), open_session)
    requests = [asyncio.create_task(credentials.headers(REQUEST)) for _ in range(40)]  # more than asyncio has threads
    try:
        async with asyncio.timeout(5):
            assert await asyncio.to_thread(lambda: "done") == "done"
    finally:
        opened.set()
    assert all("authorization" in headers for headers in await asyncio.gather(*requests))


async def test_refused_credentials_are_looked_for_again_but_not_at_once() -> None:
    chain, clock = Chain(), FakeClock()
    credentials = AwsCredentials(AwsIdentity(), "us-east-1", clock, chain.open)
    first = await credentials.headers(REQUEST)
    assert not credentials.refused(first, EXPIRED)
    await clock.advance(FRESH_S)
    assert not credentials.refused(first, Fault(FaultKind.ANSWERED, 403, message="You don't have access to the model"))
    assert credentials.refused(first, EXPIRED)
    second = await credentials.headers(REQUEST)
    assert second["x-amz-security-token"] == "token-2"
    assert credentials.refused(first, EXPIRED), "another request has renewed them in the meantime"
    assert not credentials.refused(second, EXPIRED)


@asynccontextmanager
async def expiring(users: list[AwsUser]) -> AsyncGenerator[tuple[HttpWorld, Chain], None]:
    """The double, which accepts the last of these users, and a bot that signs as each of them in turn."""
    chain = Chain()

    def opened(identity: AwsIdentity) -> AwsSession:
        user = users[min(chain.opened, len(users) - 1)]
        chain.opened += 1
        return open_aws_session(replace(identity, **_keys(user)))

    def provider(url: str, line: ProviderWorld) -> Any:
        key = AwsCredentials(AwsIdentity(), USER.region, line.clock, opened)
        return open_converse(BEDROCK.at(url.removesuffix("/v1")), MODEL, key, line)

    async with http_world(ConverseWire(users[-1]), provider) as world:
        yield world, chain


def _keys(user: AwsUser) -> dict[str, str]:
    return {
        "access_key_id": user.access_key_id,
        "secret_access_key": user.secret_access_key,
        "session_token": user.session_token,
    }


async def test_after_somebody_signed_in_again_the_same_question_is_answered() -> None:
    old, new = replace(USER, session_token="old"), replace(USER, access_key_id="AKIDNEW", session_token="new")
    async with expiring([old, new]) as (world, chain):
        # The first request finds the old credentials, and much later they are refused.
        world.plan(Says(("Hi",)))
        with pytest.raises(Exception, match="AWS refused the credentials"):
            await _answer(world)
        await world.clock.advance(FRESH_S)
        assert await _answer(world) == "Hi"
        assert chain.opened == 2


async def _answer(world: HttpWorld) -> str:
    events = [event async for event in world.provider.stream([Message(Role.USER, "Hello")])]
    return "".join(event.text for event in events if isinstance(event, TokensArrived))


# What the chain cannot do


def raising(error: Exception) -> Callable[[AwsIdentity], AwsSession]:
    return Chain(error=error).open


def botocore_error(name: str, **fields: object) -> Exception:
    kind: type[Exception] = getattr(import_module("botocore.exceptions"), name)
    return kind(**fields)


@pytest.mark.parametrize(
    ("name", "fields", "sentence"),
    [
        ("UnauthorizedSSOTokenError", {}, "The AWS sign-in has expired. Run `aws sso login --profile work`"),
        ("SSOTokenLoadError", {"error_msg": "x"}, "Run `aws sso login --profile work`"),
        ("ProfileNotFound", {"profile": "work"}, "There is no AWS profile “work” on this machine. Check AWS_PROFILE."),
        ("PartialCredentialsError", {"provider": "env", "cred_var": "x"}, "There are no AWS credentials."),
        (
            "CredentialRetrievalError",
            {"provider": "custom-process", "error_msg": "a secret"},
            "CredentialRetrievalError",
        ),
        ("EndpointConnectionError", {"endpoint_url": "https://sts"}, "EndpointConnectionError"),
        (
            "ClientError",
            {"error_response": {"Error": {"Code": "AccessDenied"}}, "operation_name": "AssumeRole"},
            "AWS refused to issue credentials for the role.",
        ),
    ],
)
async def test_each_failure_of_the_chain_is_a_sentence(name: str, fields: dict[str, object], sentence: str) -> None:
    credentials = AwsCredentials(AwsIdentity("work"), "us-east-1", FakeClock(), raising(botocore_error(name, **fields)))
    with pytest.raises(CredentialsUnavailable) as raised:
        await credentials.headers(REQUEST)
    assert sentence in str(raised.value)
    assert "a secret" not in str(raised.value)


async def test_no_credentials_at_all_are_a_sentence_for_the_operator_only() -> None:
    class Nothing:
        def get_credentials(self) -> None:
            return None

    line = ProviderWorld(FakeClock(), lambda: 0.0)
    key = AwsCredentials(AwsIdentity(), "us-east-1", FakeClock(), lambda _: Nothing())
    provider = open_converse(BEDROCK.at("http://127.0.0.1:1"), MODEL, key, line)
    with pytest.raises(ProviderUnavailable) as raised:
        await anext(provider.stream([Message(Role.USER, "Hello")]))
    assert raised.value.reason.to_operator.startswith("There are no AWS credentials. Set AWS_BEARER_TOKEN_BEDROCK")
    assert "AWS" not in raised.value.reason.to_person
    await provider.aclose()


async def test_the_chain_is_asked_again_after_a_failure() -> None:
    chain = Chain(error=botocore_error("UnauthorizedSSOTokenError"))
    credentials = AwsCredentials(AwsIdentity(), "us-east-1", FakeClock(), chain.open)
    with pytest.raises(CredentialsUnavailable):
        await credentials.headers(REQUEST)
    chain.error = None
    assert (await credentials.headers(REQUEST))["x-amz-security-token"] == "token-1"


@pytest.mark.slow
def test_a_file_of_authorities_is_used_for_the_chain_too(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("")
    code = (
        "from agent.providers.aws_credentials import AwsIdentity, open_aws_session\n"
        "print(open_aws_session(AwsIdentity()).get_config_variable('ca_bundle'))"
    )
    assert _run(code, tmp_path, {"SSL_CERT_FILE": str(file)}) == str(file)
    assert _run(code, tmp_path, {}) == "None"


# The usual chain: where a process finds its credentials

SIGN = f"""
import asyncio, json, sys
from agent.machine import CLOCK
from agent.providers.aws_credentials import AwsCredentials, AwsIdentity
from agent.providers.credentials import OutgoingRequest
request = OutgoingRequest("POST", {REQUEST.url!r}, {dict(REQUEST.headers)!r}, {REQUEST.body!r})
profile = sys.argv[1] if len(sys.argv) > 1 else ""
print(json.dumps(asyncio.run(AwsCredentials(AwsIdentity(profile), "us-east-1", CLOCK).headers(request))))
"""


def _run(code: str, home: Path, environ: Mapping[str, str], *arguments: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "SSL_"))}  # noqa: TID251 -- of a process
    ended = subprocess.run(  # noqa: S603 -- our own code
        [sys.executable, "-c", code, *arguments],
        env={**clean, "HOME": str(home), "AWS_EC2_METADATA_DISABLED": "true", **environ},
        capture_output=True,
        text=True,
        check=True,
        timeout=90,
    )
    return ended.stdout.strip()


SHARED = f"""
[work]
aws_access_key_id = {USER.access_key_id}
aws_secret_access_key = {USER.secret_access_key}
"""


@pytest.mark.slow
@pytest.mark.parametrize("place", ["environment", "profile", "process"])
def test_the_usual_places_of_credentials_are_found(place: str, tmp_path: Path) -> None:
    keys = {"AWS_ACCESS_KEY_ID": USER.access_key_id, "AWS_SECRET_ACCESS_KEY": USER.secret_access_key}
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(SHARED)
    written = json.dumps({"Version": 1, "AccessKeyId": USER.access_key_id, "SecretAccessKey": USER.secret_access_key})
    (tmp_path / "keys.json").write_text(written)
    config = f"[profile tool]\ncredential_process = cat {tmp_path}/keys.json\n"
    (tmp_path / ".aws" / "config").write_text(config)
    environ, arguments = {"environment": (keys, []), "profile": ({}, ["work"]), "process": ({}, ["tool"])}[place]
    headers = json.loads(_run(SIGN, tmp_path, environ, *arguments))
    assert USER.refusal(received(headers)) == ""


@pytest.mark.slow
async def test_the_credentials_of_a_container_are_found(tmp_path: Path) -> None:
    user = replace(USER, session_token="of-the-container")
    issued = {
        "AccessKeyId": user.access_key_id,
        "SecretAccessKey": user.secret_access_key,
        "Token": user.session_token,
        "Expiration": "2036-01-01T00:00:00Z",
    }
    async with ModelServer([whole(200, issued)]) as server:
        environ = {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{server.url}/credentials",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": "pod-token",
        }
        printed = await asyncio.to_thread(_run, SIGN, tmp_path, environ)
        assert server.requests[0].headers["authorization"] == "pod-token"
    assert user.refusal(received(json.loads(printed))) == ""


def test_the_library_is_loaded_only_where_a_request_is_signed(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from agent.machine import CLOCK\n"
        "from agent.providers.aws_credentials import AwsCredentials, AwsIdentity\n"
        "AwsCredentials(AwsIdentity(), 'us-east-1', CLOCK)\n"
        "print('botocore' in sys.modules)"
    )
    assert _run(code, tmp_path, {}) == "False"
