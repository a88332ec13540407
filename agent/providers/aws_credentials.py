"""Signing requests to Amazon Web Services (Signature Version 4), with the credentials of AWS's usual chain.

The library botocore finds the credentials: the environment, the shared files with their profiles, single sign-on,
assumed roles, web identities, containers and instances. It renews those that expire when a request is signed. All of it
may block, even forever, so it runs in threads of its own: other work of the process does not wait for them. The library
is imported with the first request that is signed.
"""

import asyncio
import ssl
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, Protocol

from agent import texts
from agent.ports.clock import Clock
from agent.providers.bedrock_refusals import has_expired
from agent.providers.credentials import FETCH_TIMEOUT_S, FRESH_S, CredentialsUnavailable, OutgoingRequest
from agent.providers.faults import Fault

SERVICE: Final = "bedrock"
MAX_THREADS: Final = 4  # Of one service: a signature takes a millisecond, and a source of credentials may take long
# For a program that uses the library. The bot names the command for its installation when it opens the model.
PIP_COMMAND: Final = "pip install 'cogency-bot[bedrock]'"


@dataclass(frozen=True, slots=True)
class AwsIdentity:
    """What the settings name of the credentials; the rest is AWS's usual chain. Without keys, `profile` is a profile of
    the shared files, "" for the default.
    """

    profile: str = ""
    access_key_id: str = field(default="", repr=False)
    secret_access_key: str = field(default="", repr=False)
    session_token: str = field(default="", repr=False)


class FrozenKeys(Protocol):
    """The keys of credentials at one time: botocore's `ReadOnlyCredentials`."""

    @property
    def access_key(self) -> str: ...

    @property
    def secret_key(self) -> str: ...

    @property
    def token(self) -> str | None: ...


class FoundCredentials(Protocol):
    """What a chain found: botocore's `Credentials`. Blocks to renew them."""

    def get_frozen_credentials(self) -> FrozenKeys: ...


class AwsSession(Protocol):
    """The part of botocore's `Session` that is used here. `get_credentials` blocks; None: the chain found nothing."""

    def get_credentials(self) -> FoundCredentials | None: ...


class AwsCredentials:
    """Credentials that sign requests to Amazon Bedrock in one region.

    `open_session` returns a session of botocore. Once requests are refused because their credentials have expired, the
    chain is asked again: somebody may have signed in meanwhile.
    """

    def __init__(
        self,
        identity: AwsIdentity,
        region: str,
        clock: Clock,
        open_session: Callable[[AwsIdentity], AwsSession] | None = None,
    ) -> None:
        self._identity = identity
        self._region = region
        self._clock = clock
        self._open_session = open_session or open_aws_session
        self._threads = ThreadPoolExecutor(MAX_THREADS, "aws")
        self._lock = threading.Lock()  # One thread asks the chain, and the others wait for what it found
        self._credentials: FoundCredentials | None = None
        self._found_at = float("-inf")
        self._secrets: tuple[str, ...] = ()
        self._access_key = ""

    async def headers(self, request: OutgoingRequest) -> Mapping[str, str]:
        try:
            async with asyncio.timeout(FETCH_TIMEOUT_S):
                return await asyncio.get_running_loop().run_in_executor(self._threads, self._sign, request)
        except TimeoutError:
            raise CredentialsUnavailable(texts.AWS_SILENT) from None

    def refused(self, sent: Mapping[str, str], fault: Fault) -> bool:
        if not has_expired(fault.code, fault.message):
            return False
        if f"={self._access_key}/" not in sent.get("authorization", ""):
            return True  # the credentials were renewed in the meantime
        if self._clock.monotonic() - self._found_at < FRESH_S:
            return False
        self._credentials = None
        return True

    def hide(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return text

    def _sign(self, request: OutgoingRequest) -> dict[str, str]:
        """Return the headers of the signature. Blocks. Raises CredentialsUnavailable."""
        if find_spec("botocore") is None:
            raise CredentialsUnavailable(texts.AWS_EXTRA_MISSING.format(command=PIP_COMMAND))
        keys = self._current()
        # A proxy may change other headers on the way.
        covered = {name: value for name, value in request.headers.items() if name.lower() == "content-type"}
        signed = _botocore("awsrequest").AWSRequest(request.method, request.url, headers=covered, data=request.body)
        _botocore("auth").SigV4Auth(keys, SERVICE, self._region).add_auth(signed)
        return {str(name).lower(): str(value) for name, value in signed.headers.items() if name not in covered}

    def _current(self) -> FrozenKeys:
        """Return keys that are valid now. Blocks. Raises CredentialsUnavailable."""
        errors = _botocore("exceptions")
        try:
            with self._lock:
                if self._credentials is None:
                    self._credentials = self._open_session(self._identity).get_credentials()
                    self._found_at = self._clock.monotonic()
                credentials = self._credentials
            if credentials is None:
                raise CredentialsUnavailable(texts.AWS_NO_CREDENTIALS)
            keys = credentials.get_frozen_credentials()
        except (errors.BotoCoreError, errors.ClientError) as error:
            self._credentials = None
            raise CredentialsUnavailable(_sentence(error, self._identity)) from None
        self._access_key = str(keys.access_key)
        self._secrets = tuple(filter(None, (keys.token, keys.secret_key, keys.access_key)))
        return keys


def _botocore(module: str) -> Any:  # noqa: ANN401 -- the library has no types
    """Return a module of the library, which is loaded where requests are signed, and nowhere else."""
    return import_module(f"botocore.{module}")


def open_aws_session(identity: AwsIdentity) -> AwsSession:
    """Return a session of botocore for an identity. Raises errors of botocore."""
    session = _botocore("session").Session(profile=identity.profile or None)
    if identity.access_key_id:
        session.set_credentials(identity.access_key_id, identity.secret_access_key, identity.session_token or None)
    paths = ssl.get_default_verify_paths()
    if paths.cafile and paths.cafile != paths.openssl_cafile:  # SSL_CERT_FILE, which botocore does not read
        session.set_config_variable("ca_bundle", paths.cafile)
    return session


def _sentence(error: Exception, identity: AwsIdentity) -> str:
    """Return what to do about an error of botocore. Its own text is not repeated: it may hold what a command said."""
    name = type(error).__name__
    login = f"aws sso login{f' --profile {identity.profile}' if identity.profile else ''}"
    if "SSO" in name or "Login" in name or "TokenRetrieval" in name:
        return texts.AWS_SIGN_IN.format(command=login)
    if name == "ProfileNotFound":
        return texts.AWS_NO_PROFILE.format(profile=identity.profile or "default")
    if name in {"NoCredentialsError", "PartialCredentialsError"}:
        return texts.AWS_NO_CREDENTIALS
    if name == "ClientError":
        return texts.AWS_ROLE_REFUSED
    return texts.AWS_CHAIN_FAILED.format(problem=name)
