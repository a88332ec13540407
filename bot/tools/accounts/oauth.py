"""An OAuth 2.1 client for MCP servers: the requests to authorization servers.

The SDK's own provider waits for the browser in the memory of one process, loses the address for renewals when that
process ends, and renews without regard to other processes. So only its parts are used here.

Rules.
- An address that a server names is requested only by https, without redirects, and its answer is limited in size.
  (Plain http is allowed for a server on this machine only.)
- A server of the public web leads neither the bot nor a person's browser into the operator's own network: names are
  resolved before each request. Who changes a name in between gains nothing, since its certificate does not fit. Whoever
  owns the server's own name decides what it resolves to, so the address that answered counts, too.
- PKCE is always used. Metadata that name another issuer or resource are refused.
- People sign in at the host of the issuer, which gets their code. Another host is used only if the operator named the
  issuer, or its callbacks do (RFC 9207): otherwise a hostile issuer could name a good service's page, and redeem the
  code that this service sends back ("mix-up", RFC 9700, 4.4).
- Of an error, only the server's message is shown to a person, short and on one line.
"""

import asyncio
import json
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final, Protocol, TypeAlias, TypeVar, cast
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import httpx2
from mcp.client.auth import OAuthRegistrationError
from mcp.client.auth import utils as sdk
from mcp.client.auth.oauth2 import check_registration_usable
from mcp.shared import auth, auth_utils
from pydantic import AnyUrl, BaseModel, ValidationError

from agent.certificates import certificate_problem
from agent.errors import CogencyError
from bot.tools import texts as tool_texts
from bot.tools.mcp.config import HttpReach, OAuthClientConfig, is_plain_loopback
from bot.tools.mcp.listing import one_line
from bot.tools.mcp.transport import certificates

# Returns the addresses that a name resolves to. Raises OSError.
Resolve: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
MAX_ANSWER_BYTES: Final = 262_144  # Metadata and tokens take a few thousand
TIMEOUT_S: Final = 15.0  # Of each request: a person waits for it
MAX_TOKEN_CHARS: Final = 16_384
MAX_LIFETIME: Final = timedelta(days=3650)
SOON: Final = timedelta(seconds=60)  # A token that expires within this time is renewed first: a call may take as long
# Errors of an authorization server after which the person must sign in again.
ENDED: Final = frozenset({"invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope", "access_denied"})
# Of the request in a person's browser. An address that has one already would say twice who asks and where to go back,
# and which of the two counts is up to the service.
PARAMETERS: Final = frozenset(
    {
        *("response_type", "response_mode", "client_id", "redirect_uri", "state", "code_challenge"),
        *("code_challenge_method", "resource", "scope", "request", "request_uri"),
    }
)
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
_SCOPE: Final = re.compile(r"[\x20-\x7e]{0,2000}")
M = TypeVar("M", bound=BaseModel)


class OAuthFailed(CogencyError):
    """The request failed; the message is a sentence for the person."""


class SignInEnded(OAuthFailed):
    """The authorization server requires the person to sign in again."""


@dataclass(frozen=True, slots=True)
class OAuthGrant:
    """An authorization server, and the bot's client there. `names_issuer`: its callbacks have the parameter `iss`.

    `scope`: the scope that is requested, or was granted; "" for the server's default.
    """

    issuer: str
    authorize_url: str
    token_url: str
    revoke_url: str
    names_issuer: bool
    client_id: str
    client_secret: str = field(repr=False)
    auth_method: str
    resource: str
    scope: str
    redirect: str


@dataclass(frozen=True, slots=True)
class Account:
    """A person's tokens at a server. `expires`: None if unknown. `wants`: the scope that a tool lacked. `name`:
    identifies the sign-in, and stays the same when tokens are renewed.
    """

    grant: OAuthGrant
    access_token: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)
    expires: datetime | None = None
    wants: str = ""
    name: str = ""

    def ends_soon(self, now: datetime) -> bool:
        return self.expires is not None and self.expires <= now + SOON


@dataclass(frozen=True, slots=True)
class BotClient:
    """The bot as an OAuth client. `redirect`: the address to which browsers are sent back. `document_url`: the address
    of its client metadata document, "" if there is none.
    """

    redirect: str
    document_url: str = ""

    def metadata(self, scope: str = "") -> auth.OAuthClientMetadata:
        return auth.OAuthClientMetadata(
            redirect_uris=[AnyUrl(self.redirect)],
            scope=scope or None,
            client_name=tool_texts.CLIENT_NAME,
            application_type="web" if self.document_url else "native",
            token_endpoint_auth_method="none",  # noqa: S106 -- the name of a method
        )

    def document(self) -> str:
        """Return the client metadata document. Authorization servers fetch it from `document_url`, the client's id."""
        metadata = self.metadata().model_dump(mode="json", exclude_none=True)
        return json.dumps({"client_id": self.document_url, **metadata})


def authorization_url(grant: OAuthGrant, state: str, challenge: str) -> str:
    """Return the address at which a person authorizes the bot. `challenge`: the PKCE challenge of the verifier."""
    parameters = {
        "response_type": "code",
        "client_id": grant.client_id,
        "redirect_uri": grant.redirect,
        "state": state,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        "resource": grant.resource,
    }
    if grant.scope:
        parameters["scope"] = grant.scope
    if "offline_access" in grant.scope.split():
        parameters["prompt"] = "consent"  # required by OpenID Connect
    url, _, _ = grant.authorize_url.partition("#")
    return f"{url}{'&' if '?' in url else '?'}{urlencode(parameters)}"


class OAuthHttp:
    """Requests to one MCP server, and to the authorization server that it names."""

    def __init__(
        self, reach: HttpReach, transport: httpx2.AsyncBaseTransport | None = None, resolve: Resolve | None = None
    ) -> None:
        self._reach = reach
        self._transport = transport
        self._resolve = resolve or resolve_name
        self._may_be_plain = is_plain_loopback(reach.url)
        self._answered_in_public = False  # The server itself answered from an address of the public web

    # Signing in.

    async def discover(self, client: BotClient, config: OAuthClientConfig, wants: str = "") -> OAuthGrant:
        """Find the authorization server of this server, and the bot's client there. `wants`: additional scope.

        Raises OAuthFailed.
        """
        challenge = await self._challenge()
        resource, advertised = auth_utils.resource_url_from_server_url(self._reach.url), None
        protected: auth.ProtectedResourceMetadata | None = None
        named = sdk.extract_resource_metadata_from_www_auth(challenge)
        for url in sdk.build_protected_resource_metadata_discovery_urls(named, self._reach.url):
            protected = await self._fetch(url, auth.ProtectedResourceMetadata)
            if protected is not None:
                if not auth_utils.check_resource_allowed(resource, str(protected.resource)):
                    raise OAuthFailed(tool_texts.OAUTH_OTHER_RESOURCE)
                resource, advertised = str(protected.resource), str(protected.authorization_servers[0])
                break
        issuer = advertised or "{0.scheme}://{0.netloc}".format(urlsplit(self._reach.url))
        # The server itself may be hostile, or taken over: it must not choose who gets the operator's secret.
        if config.issuer and not sdk.issuers_match(issuer, config.issuer):
            raise OAuthFailed(tool_texts.OAUTH_OTHER_ISSUER)
        metadata = await self._metadata(advertised, issuer)
        scopes = sdk.get_client_metadata_scopes(
            sdk.extract_scope_from_www_auth(challenge),
            protected,
            metadata,
            list(auth.DEFAULT_GRANT_TYPES),
        )
        scope = sdk.union_scopes(config.scope or scopes, wants) or ""
        scope = scope if _SCOPE.fullmatch(scope) else ""
        information = await self._client(client, config, metadata, scope)
        for endpoint in filter(
            None, (metadata.authorization_endpoint, metadata.token_endpoint, metadata.revocation_endpoint)
        ):
            await self._admit(self._safe(str(endpoint)))
        authorize_url = self._safe(str(metadata.authorization_endpoint))
        if PARAMETERS & parse_qs(urlsplit(authorize_url).query, keep_blank_values=True).keys():
            raise OAuthFailed(tool_texts.OAUTH_BAD_ADDRESS)
        names_issuer = bool(metadata.authorization_response_iss_parameter_supported)
        if not (names_issuer or config.issuer or _host(authorize_url) == _host(str(metadata.issuer))):
            host, issuer = urlsplit(authorize_url).netloc, urlsplit(str(metadata.issuer)).netloc
            raise OAuthFailed(tool_texts.OAUTH_ELSEWHERE.format(host=host, issuer=issuer))
        return OAuthGrant(
            issuer=str(metadata.issuer),
            authorize_url=authorize_url,
            token_url=self._safe(str(metadata.token_endpoint)),
            revoke_url=self._safe(str(metadata.revocation_endpoint)) if metadata.revocation_endpoint else "",
            names_issuer=names_issuer,
            client_id=information.client_id,
            client_secret=information.client_secret or "",
            auth_method=information.token_endpoint_auth_method
            or ("client_secret_basic" if information.client_secret else "none"),
            resource=resource,
            scope=scope,
            redirect=str(AnyUrl(client.redirect)),  # as it is registered: servers compare character by character
        )

    async def _challenge(self) -> httpx2.Response:
        """Return the status and headers of the server's answer to a request without a token."""
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        headers = {**self._reach.headers, "accept": "application/json, text/event-stream"}
        answer = await self._send("POST", self._reach.url, headers, json_body=ping, reads=False)
        return answer if answer.status_code == 401 else httpx2.Response(answer.status_code, request=answer.request)

    async def _metadata(self, advertised: str | None, issuer: str) -> auth.OAuthMetadata:
        for url in sdk.build_oauth_authorization_server_metadata_discovery_urls(advertised, self._reach.url):
            metadata = await self._fetch(url, auth.OAuthMetadata)
            if metadata is None:
                continue
            if not sdk.issuers_match(str(metadata.issuer), issuer):
                raise OAuthFailed(tool_texts.OAUTH_OTHER_ISSUER)
            if "S256" not in (metadata.code_challenge_methods_supported or ()):
                raise OAuthFailed(tool_texts.OAUTH_NO_PKCE)
            return metadata
        raise OAuthFailed(tool_texts.OAUTH_NO_METADATA)

    async def _client(
        self, client: BotClient, config: OAuthClientConfig, metadata: auth.OAuthMetadata, scope: str
    ) -> auth.OAuthClientInformationFull:
        """Return the client that the operator registered, else the bot's metadata document, else a new registration. It
        registers each time: an authorization server that lost a client reports that only to the browser.
        """
        if config.client_id:
            return auth.OAuthClientInformationFull(
                client_id=config.client_id,
                client_secret=config.client_secret or None,
                token_endpoint_auth_method=_secret_method(metadata) if config.client_secret else "none",
            )
        if sdk.should_use_client_metadata_url(metadata, client.document_url):
            return sdk.create_client_info_from_metadata_url(client.document_url)
        if metadata.registration_endpoint is None:
            raise OAuthFailed(tool_texts.OAUTH_NO_CLIENT)
        request = sdk.create_client_registration_request(metadata, client.metadata(scope), "")
        answer = await self._send("POST", str(request.url), dict(request.headers), content=request.content)
        try:
            information = await sdk.handle_registration_response(answer)
            check_registration_usable(information)
        except OAuthRegistrationError:
            raise OAuthFailed(tool_texts.OAUTH_NOT_REGISTERED) from None
        return information

    async def exchange(self, grant: OAuthGrant, code: str, verifier: str, name: str, now: datetime) -> Account:
        """Exchange the code of a callback for tokens. Raises OAuthFailed."""
        answer = await self._request_tokens(
            grant,
            {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": grant.redirect,
                "code_verifier": verifier,
            },
        )
        return self._account(answer, Account(grant, "", name=name), now)

    # Refreshing and revoking tokens.

    async def refresh(self, account: Account, now: datetime) -> Account:
        """Renew the tokens. Raises SignInEnded if the person must sign in again, and OAuthFailed if it fails now."""
        answer = await self._request_tokens(
            account.grant, {"grant_type": "refresh_token", "refresh_token": account.refresh_token}
        )
        return self._account(answer, account, now)

    async def revoke(self, account: Account) -> bool:
        """Revoke the tokens. Return whether the authorization server confirmed it. Never raises."""
        grant = account.grant
        if not grant.revoke_url:
            return False
        done = True
        for hint, token in (("refresh_token", account.refresh_token), ("access_token", account.access_token)):
            if token:
                try:
                    done = await self._revoke_token(grant, {"token": token, "token_type_hint": hint}) and done
                except OAuthFailed:
                    return False
        return done

    async def _revoke_token(self, grant: OAuthGrant, data: Mapping[str, str]) -> bool:
        answer = await self._post(grant, grant.revoke_url, data)
        if answer.status_code == HTTPStatus.BAD_REQUEST and grant.auth_method == "none":
            # Servers of the official Python SDK require the field of a secret even from clients without one.
            answer = await self._post(grant, grant.revoke_url, {**data, "client_secret": ""})
        # Google revokes both tokens with the first request, and answers the second with an error.
        return answer.status_code == HTTPStatus.OK or _error_of(answer)[0] == "invalid_token"

    async def _request_tokens(self, grant: OAuthGrant, data: Mapping[str, str]) -> httpx2.Response:
        answer = await self._post(grant, grant.token_url, {**data, "resource": grant.resource})
        if answer.status_code == 200:
            return answer
        error, message = _error_of(answer)
        if answer.status_code in (400, 401, 403) and error in ENDED:
            raise SignInEnded(tool_texts.OAUTH_ENDED.format(why=message))
        raise OAuthFailed(tool_texts.OAUTH_REFUSED.format(why=message))

    def _account(self, answer: httpx2.Response, before: Account, now: datetime) -> Account:
        """Return `before` with the fields of the answer. Raises OAuthFailed for an invalid answer."""
        try:
            token = auth.OAuthToken.model_validate_json(answer.content)
        except ValidationError:
            raise OAuthFailed(tool_texts.OAUTH_UNREADABLE) from None
        refresh = token.refresh_token or before.refresh_token
        is_valid = _TOKEN.fullmatch(token.access_token) and (not refresh or _TOKEN.fullmatch(refresh))
        if not is_valid or max(len(token.access_token), len(refresh)) > MAX_TOKEN_CHARS:
            raise OAuthFailed(tool_texts.OAUTH_UNREADABLE)
        lifetime = None if token.expires_in is None else timedelta(seconds=min(max(token.expires_in, 0), 10**9))
        expires = None if lifetime is None else now + min(lifetime, MAX_LIFETIME)
        scope = token.scope if token.scope is not None and _SCOPE.fullmatch(token.scope) else before.grant.scope
        return replace(
            before,
            grant=replace(before.grant, scope=scope),
            access_token=token.access_token,
            refresh_token=refresh,
            expires=expires,
        )

    async def _post(self, grant: OAuthGrant, url: str, data: Mapping[str, str]) -> httpx2.Response:
        """Post a form with the credentials of the bot's client."""
        headers, form = dict[str, str](), dict(data)
        if grant.auth_method == "client_secret_basic":
            pair = f"{quote(grant.client_id, safe='')}:{quote(grant.client_secret, safe='')}"
            headers["authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        else:
            form["client_id"] = grant.client_id
        if grant.auth_method == "client_secret_post":
            form["client_secret"] = grant.client_secret
        headers["content-type"] = "application/x-www-form-urlencoded"
        return await self._send("POST", url, headers, content=urlencode(form).encode())

    # Requests.

    async def _fetch(self, url: str, kind: type[M]) -> M | None:
        answer = await self._send("GET", url, {})
        if answer.status_code != 200:
            if answer.status_code >= 500 or answer.status_code == 429:
                raise OAuthFailed(tool_texts.OAUTH_UNREACHABLE)
            return None
        try:
            return kind.model_validate_json(answer.content)
        except ValidationError:
            return None

    async def _send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        *,
        content: bytes | None = None,
        json_body: object = None,
        reads: bool = True,
    ) -> httpx2.Response:
        """Raises OAuthFailed if there is no answer in time, or it is too large."""
        address = self._safe(url)
        await self._admit(address)
        sent = {"accept": "application/json", **headers, "accept-encoding": "identity"}
        try:
            client = httpx2.AsyncClient(transport=self._transport, verify=certificates())
            async with asyncio.timeout(TIMEOUT_S), client:
                request = client.build_request(method, address, headers=sent, content=content, json=json_body)
                answer = await client.send(request, stream=True, follow_redirects=False)
                if request.url.host == self._own_host:
                    self._answered_in_public = _is_public_peer(answer)
                try:
                    body = await _bounded(answer) if reads else b""
                finally:
                    await answer.aclose()
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, OSError, ValueError) as error:
            is_untrusted = bool(certificate_problem(error))
            raise OAuthFailed(tool_texts.OAUTH_NOT_TRUSTED if is_untrusted else tool_texts.OAUTH_UNREACHABLE) from None
        kept = {name: answer.headers[name] for name in ("www-authenticate",) if name in answer.headers}
        return httpx2.Response(answer.status_code, headers=kept, content=body, request=request)

    async def _admit(self, url: str) -> None:
        """Raise OAuthFailed if an address is in the operator's own network, and the server itself is not."""
        host = urlsplit(url).hostname or ""
        if host == self._own_host or all(await self._are_public(host)):
            return
        if self._answered_in_public or any(await self._are_public(self._own_host)):
            raise OAuthFailed(tool_texts.OAUTH_INSIDE)

    @property
    def _own_host(self) -> str:
        return urlsplit(self._reach.url).hostname or ""

    async def _are_public(self, host: str) -> list[bool]:
        """Return for each address of a host whether it is in the public web. A name that only a proxy can resolve is,
        and what is no address is not.
        """
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return [*map(_is_public, await self._resolve(host))]
        except (OSError, TimeoutError, UnicodeError):
            return [True]
        except ValueError:
            return [False]

    def _safe(self, url: str) -> str:
        """Return the address. Raises OAuthFailed if it must not be requested or shown."""
        try:
            parts = urlsplit(url)
            plain = self._may_be_plain and is_plain_loopback(url)
            if (parts.scheme == "https" or plain) and parts.hostname and not parts.username and url.isprintable():
                return url
        except ValueError:
            pass
        raise OAuthFailed(tool_texts.OAUTH_BAD_ADDRESS)


def _host(url: str) -> tuple[str, int | None]:
    """Return the host and the port of an address, which `_safe` has accepted or whose metadata were fetched."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or {"https": 443, "http": 80}.get(parts.scheme)


async def resolve_name(name: str) -> list[str]:
    """Return the IP addresses of a name. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(name, None)
    return [str(info[4][0]) for info in found]


class _Connection(Protocol):
    def get_extra_info(self, info: str) -> object: ...


def _is_public_peer(answer: httpx2.Response) -> bool:
    """Return whether an answer came from an address in the public web. Not so from a proxy in the own network."""
    connection = cast("_Connection | None", answer.extensions.get("network_stream"))
    peer = None if connection is None else connection.get_extra_info("server_addr")
    try:
        return isinstance(peer, tuple) and _is_public(str(cast("tuple[object, ...]", peer)[0]))
    except ValueError:
        return False


_NAT64: Final = ip_network("64:ff9b::/96")  # Stands for an address of IPv4, which may be any


def _is_public(address: str) -> bool:
    """Return whether an IP address is in the public web. Raises ValueError."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address) and (inner := ip.ipv4_mapped or ip.sixtofour) is not None:
        ip = inner
    return ip.is_global and not ip.is_multicast and ip not in _NAT64


def missing_scope(answer: httpx2.Response) -> str:
    """Return the scope that a request lacked, by the server's answer; "" if the answer names none."""
    if sdk.extract_field_from_www_auth(answer, "error") != "insufficient_scope":
        return ""
    scope = sdk.extract_scope_from_www_auth(answer) or ""
    return scope if _SCOPE.fullmatch(scope) else ""


async def _bounded(answer: httpx2.Response) -> bytes:
    if answer.headers.get("content-encoding", "identity") != "identity":
        raise ValueError("compressed, which was not requested")
    body = bytearray()
    async for piece in answer.aiter_bytes():
        body += piece
        if len(body) > MAX_ANSWER_BYTES:
            raise ValueError("too long")
    return bytes(body)


def _secret_method(metadata: auth.OAuthMetadata) -> str:
    """Return how the operator's secret is sent. RFC 8414 names the default."""
    supported = metadata.token_endpoint_auth_methods_supported or ["client_secret_basic"]
    return "client_secret_basic" if "client_secret_basic" in supported else "client_secret_post"


class _ErrorAnswer(BaseModel):
    error: str = ""
    error_description: str = ""


def _error_of(answer: httpx2.Response) -> tuple[str, str]:
    """Return the code of an error, and a message that may be shown."""
    try:
        content = _ErrorAnswer.model_validate_json(answer.content)
    except ValidationError:
        content = _ErrorAnswer()
    error = one_line(content.error, 60)
    return error, one_line(content.error_description, 200) or error or f"HTTP {answer.status_code}"
