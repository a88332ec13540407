"""OAuth 2.1 as a client of the servers of tools: what is asked of an authorization server, and what its answers mean.

The SDK's own provider waits in the memory of one process for a browser to come back, forgets at its end where tokens
are renewed, and renews without regard to other processes. So its parts are used here, and the order of steps is ours.

The rules.
- An address that a server names is asked only by https, without following redirects, and what it answers is bounded.
  (Plain http is for a server on this machine alone.)
- Nothing is done without PKCE, and nothing at a server whose metadata name another issuer or resource.
- Of what a server says about an error only its words reach a person, on one line and short.
"""

import asyncio
import json
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Final, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import httpx2
from mcp.client.auth import OAuthRegistrationError
from mcp.client.auth import utils as sdk
from mcp.client.auth.oauth2 import check_registration_usable
from mcp.shared import auth, auth_utils
from pydantic import AnyUrl, BaseModel, ValidationError

from agent.errors import CogencyError
from bot.texts import tool_texts
from bot.tools.mcp_config import HttpReach, OAuthClientConfig, is_plain_loopback
from bot.tools.mcp_listing import one_line
from bot.tools.mcp_transport import certificates

MAX_ANSWER_BYTES: Final = 262_144  # Metadata and tokens are a few thousand
TIMEOUT_S: Final = 15.0  # For each step: a person waits
MAX_TOKEN_CHARS: Final = 16_384
MAX_LIFETIME: Final = timedelta(days=3650)
SOON: Final = timedelta(seconds=60)  # A token that ends so soon is renewed first: a call may take as long
# What an authorization server says when only the person can help.
ENDED: Final = frozenset({"invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope", "access_denied"})
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
_SCOPE: Final = re.compile(r"[\x20-\x7e]{0,2000}")
M = TypeVar("M", bound=BaseModel)


class OAuthFailed(CogencyError):
    """It cannot be done now; a sentence for the person."""


class SignInEnded(OAuthFailed):
    """The authorization server wants its person to sign in anew."""


@dataclass(frozen=True, slots=True)
class OAuthGrant:
    """An authorization server, and what the bot is to it. `names_issuer`: it says who it is where it sends back to.

    `scope`: what is asked for, or was given; "" for whatever it gives.
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
    """Somebody's tokens. `expires`: None if that is not said. `wants`: rights that a tool lacked. `name`: the same from
    one sign-in to the next.
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
    """How the bot presents itself: where browsers are sent back to, and where its own document lies ("": nowhere)."""

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
        """The client's metadata, as authorization servers fetch them from `document_url`, which is its id."""
        said = self.metadata().model_dump(mode="json", exclude_none=True)
        return json.dumps({"client_id": self.document_url, **said})


def authorization_url(grant: OAuthGrant, state: str, challenge: str) -> str:
    """Where a person agrees. `challenge`: of the verifier that the tokens are asked for with."""
    asked = {
        "response_type": "code",
        "client_id": grant.client_id,
        "redirect_uri": grant.redirect,
        "state": state,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        "resource": grant.resource,
    }
    if grant.scope:
        asked["scope"] = grant.scope
    if "offline_access" in grant.scope.split():
        asked["prompt"] = "consent"  # as OpenID asks for
    url, _, _ = grant.authorize_url.partition("#")
    return f"{url}{'&' if '?' in url else '?'}{urlencode(asked)}"


class OAuthHttp:
    """Requests to one server of tools, and to the authorization server that it names."""

    def __init__(self, reach: HttpReach, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self._reach = reach
        self._transport = transport
        self._may_be_plain = is_plain_loopback(reach.url)

    # Signing in.

    async def discover(self, client: BotClient, config: OAuthClientConfig, wants: str = "") -> OAuthGrant:
        """Where a person signs in to use this server, and as what the bot asks for that. Raises OAuthFailed."""
        challenge = await self._challenge()
        resource, advertised = auth_utils.resource_url_from_server_url(self._reach.url), None
        protected: auth.ProtectedResourceMetadata | None = None
        named = sdk.extract_resource_metadata_from_www_auth(challenge)
        for url in sdk.build_protected_resource_metadata_discovery_urls(named, self._reach.url):
            protected = await self._found(url, auth.ProtectedResourceMetadata)
            if protected is not None:
                if not auth_utils.check_resource_allowed(resource, str(protected.resource)):
                    raise OAuthFailed(tool_texts.OAUTH_OTHER_RESOURCE)
                resource, advertised = str(protected.resource), str(protected.authorization_servers[0])
                break
        issuer = advertised or "{0.scheme}://{0.netloc}".format(urlsplit(self._reach.url))
        metadata = await self._metadata(advertised, issuer)
        scopes = sdk.get_client_metadata_scopes(
            sdk.extract_scope_from_www_auth(challenge),
            protected,
            metadata,
            list(auth.DEFAULT_GRANT_TYPES),
        )
        scope = sdk.union_scopes(config.scope or scopes, wants) or ""
        scope = scope if _SCOPE.fullmatch(scope) else ""
        known = await self._client(client, config, metadata, scope)
        return OAuthGrant(
            issuer=str(metadata.issuer),
            authorize_url=self._safe(str(metadata.authorization_endpoint)),
            token_url=self._safe(str(metadata.token_endpoint)),
            revoke_url=self._safe(str(metadata.revocation_endpoint)) if metadata.revocation_endpoint else "",
            names_issuer=bool(metadata.authorization_response_iss_parameter_supported),
            client_id=known.client_id,
            client_secret=known.client_secret or "",
            auth_method=known.token_endpoint_auth_method or ("client_secret_basic" if known.client_secret else "none"),
            resource=resource,
            scope=scope,
            redirect=str(AnyUrl(client.redirect)),  # as it is registered: they are compared sign by sign
        )

    async def _challenge(self) -> httpx2.Response:
        """What the server says to somebody without a token; only its status and its headers."""
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        headers = {**self._reach.headers, "accept": "application/json, text/event-stream"}
        answer = await self._send("POST", self._reach.url, headers, json_body=ping, reads=False)
        return answer if answer.status_code == 401 else httpx2.Response(answer.status_code, request=answer.request)

    async def _metadata(self, advertised: str | None, issuer: str) -> auth.OAuthMetadata:
        for url in sdk.build_oauth_authorization_server_metadata_discovery_urls(advertised, self._reach.url):
            metadata = await self._found(url, auth.OAuthMetadata)
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
        """What the operator has registered; else the bot's own document; else what it registers itself as, each time:
        an authorization server that has forgotten a client says so to a browser alone.
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
        """The tokens for the code that a browser brought. Raises OAuthFailed."""
        answer = await self._ask_tokens(
            grant,
            {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": grant.redirect,
                "code_verifier": verifier,
            },
        )
        return self._account(answer, Account(grant, "", name=name), now)

    # What becomes of tokens.

    async def refresh(self, account: Account, now: datetime) -> Account:
        """Raises SignInEnded when the person must sign in anew, and OAuthFailed when it cannot be done now."""
        answer = await self._ask_tokens(
            account.grant, {"grant_type": "refresh_token", "refresh_token": account.refresh_token}
        )
        return self._account(answer, account, now)

    async def revoke(self, account: Account) -> bool:
        """Whether the authorization server says that it takes these tokens no longer. Never raises."""
        grant = account.grant
        if not grant.revoke_url:
            return False
        done = True
        for hint, token in (("refresh_token", account.refresh_token), ("access_token", account.access_token)):
            if token:
                try:
                    done = await self._revoked(grant, {"token": token, "token_type_hint": hint}) and done
                except OAuthFailed:
                    return False
        return done

    async def _revoked(self, grant: OAuthGrant, data: Mapping[str, str]) -> bool:
        answer = await self._post(grant, grant.revoke_url, data)
        if answer.status_code == HTTPStatus.BAD_REQUEST and grant.auth_method == "none":
            # Servers of the official Python SDK want a secret named, also of whom has none.
            answer = await self._post(grant, grant.revoke_url, {**data, "client_secret": ""})
        # Google revokes both tokens with the first, and has no good word for the second.
        return answer.status_code == HTTPStatus.OK or _error_of(answer)[0] == "invalid_token"

    async def _ask_tokens(self, grant: OAuthGrant, data: Mapping[str, str]) -> httpx2.Response:
        answer = await self._post(grant, grant.token_url, {**data, "resource": grant.resource})
        if answer.status_code == 200:
            return answer
        error, said = _error_of(answer)
        if answer.status_code in (400, 401, 403) and error in ENDED:
            raise SignInEnded(tool_texts.OAUTH_ENDED.format(why=said))
        raise OAuthFailed(tool_texts.OAUTH_REFUSED.format(why=said))

    def _account(self, answer: httpx2.Response, before: Account, now: datetime) -> Account:
        """With what the answer leaves out as it was."""
        try:
            token = auth.OAuthToken.model_validate_json(answer.content)
        except ValidationError:
            raise OAuthFailed(tool_texts.OAUTH_UNREADABLE) from None
        refresh = token.refresh_token or before.refresh_token
        if (
            not all(_TOKEN.fullmatch(one) for one in filter(None, (token.access_token, refresh)))
            or not token.access_token
        ):
            raise OAuthFailed(tool_texts.OAUTH_UNREADABLE)
        if max(len(token.access_token), len(refresh)) > MAX_TOKEN_CHARS:
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
        """With what the bot is to this authorization server."""
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

    async def _found(self, url: str, kind: type[M]) -> M | None:
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
        """Raises OAuthFailed if nothing comes back in time, or too much."""
        address = self._safe(url)
        said = {"accept": "application/json", **headers, "accept-encoding": "identity"}
        try:
            client = httpx2.AsyncClient(transport=self._transport, verify=certificates())
            async with asyncio.timeout(TIMEOUT_S), client:
                request = client.build_request(method, address, headers=said, content=content, json=json_body)
                answer = await client.send(request, stream=True, follow_redirects=False)
                try:
                    body = await _bounded(answer) if reads else b""
                finally:
                    await answer.aclose()
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, OSError, ValueError):
            raise OAuthFailed(tool_texts.OAUTH_UNREACHABLE) from None
        kept = {name: answer.headers[name] for name in ("www-authenticate",) if name in answer.headers}
        return httpx2.Response(answer.status_code, headers=kept, content=body, request=request)

    def _safe(self, url: str) -> str:
        """Raises OAuthFailed for an address that must not be asked, nor shown."""
        try:
            parts = urlsplit(url)
            plain = self._may_be_plain and is_plain_loopback(url)
            if (parts.scheme == "https" or plain) and parts.hostname and not parts.username and url.isprintable():
                return url
        except ValueError:
            pass
        raise OAuthFailed(tool_texts.OAUTH_BAD_ADDRESS)


def wanted_scope(answer: httpx2.Response) -> str:
    """The rights that a server says were lacking; "" if it says nothing of the kind."""
    if sdk.extract_field_from_www_auth(answer, "error") != "insufficient_scope":
        return ""
    scope = sdk.extract_scope_from_www_auth(answer) or ""
    return scope if _SCOPE.fullmatch(scope) else ""


async def _bounded(answer: httpx2.Response) -> bytes:
    if answer.headers.get("content-encoding", "identity") != "identity":
        raise ValueError("compressed, which was not asked for")
    body = bytearray()
    async for piece in answer.aiter_bytes():
        body += piece
        if len(body) > MAX_ANSWER_BYTES:
            raise ValueError("too long")
    return bytes(body)


def _secret_method(metadata: auth.OAuthMetadata) -> str:
    """How the operator's secret is told. Without a word about it, as RFC 8414 says."""
    taken = metadata.token_endpoint_auth_methods_supported or ["client_secret_basic"]
    return "client_secret_basic" if "client_secret_basic" in taken else "client_secret_post"


class _Said(BaseModel):
    error: str = ""
    error_description: str = ""


def _error_of(answer: httpx2.Response) -> tuple[str, str]:
    """The name of an error, and what may be told of it."""
    try:
        said = _Said.model_validate_json(answer.content)
    except ValidationError:
        said = _Said()
    error = one_line(said.error, 60)
    return error, one_line(said.error_description, 200) or error or f"HTTP {answer.status_code}"
