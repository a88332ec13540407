"""Tokens of this machine's identity in a cloud: Microsoft Entra ID for Azure, and Google Cloud's default credentials.

Each vendor's own library looks for the identity in its usual places: the environment, a file, the vendor's command line
client, a workload identity, the machine itself. The libraries are extras, and imported for the first token. They wait
in a thread. Tokens are sent to the vendor's own addresses and to this machine only, whatever a setting says.
"""

import asyncio
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC
from importlib.util import find_spec
from typing import Any, Final

from agent import texts
from agent.certificates import sentence_of
from agent.ports.clock import Clock
from agent.providers.aws_credentials import AwsCredentials, AwsIdentity
from agent.providers.catalog import AZURE_DOMAINS, GOOGLE_DOMAINS, Endpoint, is_below
from agent.providers.credentials import CredentialsUnavailable, Key, Token, TokenCredentials

MODULES: Final = {"azure": "azure.identity", "vertex": "google.auth", "bedrock": "botocore"}

# The errors of Microsoft Entra ID (https://learn.microsoft.com/entra/identity-platform/reference-error-codes).
_ENTRA_CODE: Final = re.compile(r"AADSTS\d{4,9}")
_ENTRA_REMEDIES: Final = {
    "AADSTS7000215": texts.AZURE_CLIENT_WRONG,
    "AADSTS7000222": texts.AZURE_CLIENT_EXPIRED,
    "AADSTS700016": texts.AZURE_CLIENT_UNKNOWN,
    "AADSTS90002": texts.AZURE_TENANT_UNKNOWN,
    "AADSTS900023": texts.AZURE_TENANT_UNKNOWN,
    **dict.fromkeys(("AADSTS700082", "AADSTS50173", "AADSTS70043", "AADSTS50078"), texts.AZURE_SIGN_IN_EXPIRED),
}
_ENTRA: Final = "https://login.microsoftonline.com"
_GOOGLE: Final = "https://oauth2.googleapis.com"
_CLOUD_SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
HOUR_S: Final = 3600.0  # How long a token of Google is valid if it does not say


@dataclass(frozen=True, slots=True)
class IdentitySettings:
    """What settings say of the identity; the libraries find the rest.

    `tenant`, `client` and `secret`: an application of Microsoft Entra ID; the client alone is a managed identity.
    `credentials_file`: of Google Cloud. `aws`: of Amazon Web Services.
    """

    tenant: str = ""
    client: str = ""
    secret: str = field(default="", repr=False)
    credentials_file: str = ""
    aws: AwsIdentity = field(default_factory=AwsIdentity)


def is_installed(extra: str) -> bool:
    """Return whether the library of an extra is there. The parent package may be there without it."""
    try:
        return find_spec(MODULES[extra]) is not None
    except ModuleNotFoundError:
        return False


def identity(endpoint: Endpoint, settings: IdentitySettings, clock: Clock) -> Key:
    """Return credentials for a service by this machine's identity; None if the service has none."""
    match endpoint.identity:
        case "azure":
            return _tokens(endpoint, AZURE_DOMAINS, texts.AZURE_HOST_UNKNOWN, lambda: _entra(endpoint, settings), clock)
        case "vertex":
            return _tokens(endpoint, GOOGLE_DOMAINS, texts.VERTEX_HOST_UNKNOWN, lambda: _google(settings, clock), clock)
        case "bedrock":
            return AwsCredentials(settings.aws, endpoint.region, clock)
        case _:
            return None


def _tokens(
    endpoint: Endpoint,
    domains: tuple[str, ...],
    unknown: str,
    open_source: Callable[[], Callable[[], Token]],
    clock: Clock,
) -> TokenCredentials:
    """`open_source` returns the function that gets a token. It imports the library, so it runs in the thread, too."""
    source: Callable[[], Token] | None = None

    def get() -> Token:
        nonlocal source
        source = source or open_source()
        return source()

    async def fetch() -> Token:
        is_safe = endpoint.is_local or (endpoint.base_url.startswith("https://") and is_below(endpoint.host, domains))
        if not is_safe:
            raise CredentialsUnavailable(unknown.format(host=endpoint.host))
        return await asyncio.to_thread(get)

    unanswered = texts.AZURE_SIGN_IN_AWAY if endpoint.identity == "azure" else texts.VERTEX_SIGN_IN_AWAY
    return TokenCredentials(fetch, clock, unanswered)


def _trusted() -> str | bool:
    """Return the file with the trusted certificates: the one that SSL_CERT_FILE names, or the system's, or the
    library's own (True).
    """
    return ssl.get_default_verify_paths().cafile or True


def _entra(endpoint: Endpoint, settings: IdentitySettings) -> Callable[[], Token]:
    """Return the function that gets a token of Microsoft Entra ID. Raises CredentialsUnavailable, and so does it."""
    try:
        from azure.core.exceptions import AzureError, ClientAuthenticationError  # noqa: PLC0415 -- an extra
        from azure.identity import ClientSecretCredential, DefaultAzureCredential  # noqa: PLC0415 -- an extra
    except ImportError:
        missing = texts.AZURE_EXTRA_MISSING.format(key=endpoint.key_setting, command=_pip("azure"))
        raise CredentialsUnavailable(missing) from None
    ending = endpoint.host.rpartition(".")[2]
    ending = ending if ending in {"us", "cn"} else "com"
    authority = {"us": "login.microsoftonline.us", "cn": "login.chinacloudapi.cn"}.get(ending)
    # A cloud of its own has its own sign-in; else the library reads AZURE_AUTHORITY_HOST.
    options: dict[str, Any] = {"connection_verify": _trusted(), **({"authority": authority} if authority else {})}
    try:
        if settings.tenant and settings.client and settings.secret:
            credential = ClientSecretCredential(settings.tenant, settings.client, settings.secret, **options)
        else:
            if settings.client:
                options["managed_identity_client_id"] = settings.client
            credential = DefaultAzureCredential(**options)
    except ValueError:  # a tenant or an authority that cannot be one
        remedy = texts.AZURE_CHECK_CLIENT
        raise CredentialsUnavailable(texts.AZURE_SIGN_IN_REFUSED.format(code="invalid", remedy=remedy)) from None
    scope = f"https://cognitiveservices.azure.{ending}/.default"

    def get() -> Token:
        try:
            token = credential.get_token(scope)
        except ClientAuthenticationError as error:
            raise CredentialsUnavailable(entra_sentence(str(error))) from None
        except AzureError as error:  # no connection, or an answer that is none
            raise CredentialsUnavailable(
                sentence_of(error, "Microsoft Entra ID", _ENTRA, texts.AZURE_SIGN_IN_AWAY)
            ) from None
        return Token({"authorization": f"Bearer {token.token}"}, float(token.expires_on))

    return get


def entra_sentence(message: str) -> str:
    """Return what to do about a message of the library. Pure.

    A chain of sources reports each failure; the code of Microsoft Entra ID shows that one of them has an identity.
    """
    code = _ENTRA_CODE.search(message)
    if code is None:
        return texts.AZURE_NO_IDENTITY
    remedy = _ENTRA_REMEDIES.get(code[0], texts.AZURE_CHECK_CLIENT)
    return texts.AZURE_SIGN_IN_REFUSED.format(code=code[0], remedy=remedy)


def _google(settings: IdentitySettings, clock: Clock) -> Callable[[], Token]:
    """Return the function that gets a token of Google Cloud. Raises CredentialsUnavailable, and so does it."""
    try:
        import google.auth  # noqa: PLC0415 -- an extra
        import google.auth.exceptions  # noqa: PLC0415 -- as above
        import google.auth.transport.requests  # noqa: PLC0415 -- as above
        import requests  # noqa: PLC0415 -- as above
    except ImportError:
        missing = texts.VERTEX_EXTRA_MISSING.format(key="VERTEX_API_KEY", command=_pip("vertex"))
        raise CredentialsUnavailable(missing) from None
    auth: Any = google.auth
    errors: Any = google.auth.exceptions
    session: Any = requests.Session()
    session.verify = _trusted()
    transport: Any = google.auth.transport.requests
    request: Any = transport.Request(session)
    try:
        if settings.credentials_file:
            credentials, _ = auth.load_credentials_from_file(settings.credentials_file, scopes=[_CLOUD_SCOPE])
        else:
            credentials, _ = auth.default(scopes=[_CLOUD_SCOPE], request=request)
    except (errors.DefaultCredentialsError, OSError, ValueError) as error:
        is_file = bool(settings.credentials_file) or "file" in str(error).lower()
        raise CredentialsUnavailable(texts.VERTEX_FILE_UNUSABLE if is_file else texts.VERTEX_NO_IDENTITY) from None

    def get() -> Token:
        try:
            credentials.refresh(request)
        except errors.RefreshError as error:
            is_away = bool(getattr(error, "retryable", False))
            raise CredentialsUnavailable(
                texts.VERTEX_SIGN_IN_AWAY if is_away else texts.VERTEX_SIGN_IN_REFUSED
            ) from None
        except (errors.GoogleAuthError, OSError) as error:
            raise CredentialsUnavailable(sentence_of(error, "Google", _GOOGLE, texts.VERTEX_SIGN_IN_AWAY)) from None
        headers = {"authorization": f"Bearer {credentials.token}"}
        if project := getattr(credentials, "quota_project_id", None):
            headers["x-goog-user-project"] = str(project)
        expiry = credentials.expiry  # without a time zone, in UTC
        until = expiry.replace(tzinfo=UTC).timestamp() if expiry else clock.now().timestamp() + HOUR_S
        return Token(headers, until)

    return get


def _pip(extra: str) -> str:
    """Return the command for a program that uses the library; the bot names the one for its own installation."""
    return f"pip install 'cogency-bot[{extra}]'"
