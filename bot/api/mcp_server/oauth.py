"""What a program sends to sign a person in (OAuth 2.1 with PKCE), and its metadata. Pure.

Rules
  Programs register without a secret, and nothing about them is stored: their id holds the name and the addresses that
  they registered, or is the address of a document that describes them. So anybody can use any name, and pages show it
  as unverified, beside the address to which the browser returns, and that of the document.
  A browser returns only to an address of the program's id, character by character: with TLS, on the same machine, or of
  an application (`cursor://…`). On the same machine the port may differ (RFC 8252, 7.3): a program gets a free one each
  time.
"""

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, cast
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from agent.messages import Json, JsonObject, is_too_deep
from agent.ports.api_tokens import TokenScope
from bot.api.mcp_server import texts

OAUTH: Final = "/oauth"
AUTHORIZE: Final = "/oauth/authorize"
TOKEN: Final = "/oauth/token"  # noqa: S105 -- an address
REGISTER: Final = "/oauth/register"
REVOKE: Final = "/oauth/revoke"
RESOURCE: Final = "/mcp"
RESOURCE_METADATA: Final = "/.well-known/oauth-protected-resource"
SERVER_METADATA: Final = "/.well-known/oauth-authorization-server"
CODE_GRANT: Final = "authorization_code"
REFRESH_GRANT: Final = "refresh_token"
SCOPES: Final = (TokenScope.RECALL, TokenScope.REMEMBER, TokenScope.ASK, TokenScope.FORGET)

MAX_FORM_BYTES: Final = 16_384
MAX_FIELDS: Final = 30
MAX_DEPTH: Final = 8
MAX_REDIRECTS: Final = 5
MAX_DOCUMENT_BYTES: Final = 10_240  # Twice what the draft of the standard recommends
MAX_DOCUMENT_REDIRECTS: Final = 50
MAX_REDIRECT_CHARS: Final = 500
MAX_NAME_CHARS: Final = 60
MAX_CLIENT_CHARS: Final = 6_000
MAX_STATE_CHARS: Final = 2_000
_CLIENT: Final = "app_"
_REFRESHING_CLIENT: Final = "appr_"  # It can use refresh tokens
_DOCUMENT: Final = "https://"  # Begins the id of an app that a document describes
_PLAIN: Final = re.compile(r"[!-~]+", re.ASCII)  # No blanks and no control characters
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{1,40}", re.ASCII)
_HOST: Final = re.compile(r"[a-z0-9.-]{1,253}|\[[0-9a-f:]{2,45}\]", re.ASCII)
_APPLICATION_HOST: Final = re.compile(r"[A-Za-z0-9._-]{0,253}", re.ASCII)
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_LOOPBACK_PORT: Final = re.compile(r"(http://(?:127\.0\.0\.1|localhost|\[::1\])):[0-9]{1,5}(?![^/?])", re.ASCII)
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_VERIFIER: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}", re.ASCII)
# Schemes of browsers, in which an address does not lead to an application, or leads there unprotected.
_NO_APPLICATION: Final = frozenset(
    {"http", "javascript", "data", "file", "blob", "about", "ftp", "ws", "wss", "vbscript", "view-source", "mailto"}
)


class OAuthError(Exception):
    """`code`: as OAuth names it; the sentence is for the program's log."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """A program. `name`: as it calls itself; anybody can use any name. `refreshes`: it can use refresh tokens."""

    id: str
    name: str
    redirects: tuple[str, ...]
    refreshes: bool = False

    @property
    def document(self) -> str:
        """The address of the document that describes it; "" if it registered."""
        return self.id if is_document(self.id) else ""


@dataclass(frozen=True, slots=True)
class Authorization:
    """What a program asks its person's browser for. `query`: the whole request, to repeat it."""

    client: OAuthClient
    redirect: str
    challenge: str
    scopes: frozenset[TokenScope]
    state: str
    query: str


@dataclass(frozen=True, slots=True)
class TokenExchange:
    grant: str
    client: OAuthClient
    redirect: str
    verifier: str


@dataclass(frozen=True, slots=True)
class TokenRefresh:
    secret: str
    client: str
    scopes: frozenset[str]
    """As the program asks for them; none for those that it has."""


@dataclass(frozen=True, slots=True)
class TokenRevocation:
    secret: str
    client: str


def resource_metadata(address: str, scopes: Collection[TokenScope]) -> JsonObject:
    return {
        "resource": f"{address}{RESOURCE}",
        "authorization_servers": [address],
        "scopes_supported": _listed(scopes),
        "bearer_methods_supported": ["header"],
        "resource_name": texts.SERVER_TITLE,
    }


def server_metadata(address: str, scopes: Collection[TokenScope]) -> JsonObject:
    return {
        "issuer": address,
        "authorization_endpoint": f"{address}{AUTHORIZE}",
        "token_endpoint": f"{address}{TOKEN}",
        "registration_endpoint": f"{address}{REGISTER}",
        "revocation_endpoint": f"{address}{REVOKE}",
        "response_types_supported": ["code"],
        "grant_types_supported": [CODE_GRANT, REFRESH_GRANT],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "scopes_supported": _listed(scopes),
        "client_id_metadata_document_supported": True,
        "authorization_response_iss_parameter_supported": True,
    }


def register(body: bytes) -> JsonObject:
    """Return the response to a registration. Raises OAuthError."""
    fields = _object(body)
    if fields is None:
        raise OAuthError("invalid_client_metadata", texts.NO_METADATA)
    given = _texts(fields.get("redirect_uris"))
    if not given or len(given) > MAX_REDIRECTS or not all(map(_is_allowed, given)):
        raise OAuthError("invalid_redirect_uri", texts.NO_REDIRECTS)
    name = fields.get("client_name")
    refreshes = REFRESH_GRANT in _texts(fields.get("grant_types"))
    client = _client(_shown(name) if isinstance(name, str) else "", given, refreshes=refreshes)
    listed: list[Json] = [*client.redirects]
    return {
        "client_id": client.id,
        "client_name": client.name,
        "redirect_uris": listed,
        "grant_types": [CODE_GRANT, REFRESH_GRANT] if client.refreshes else [CODE_GRANT],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }


def read_client(id_: str) -> OAuthClient:
    """Return the program of an id. Raises OAuthError."""
    refreshes = id_.startswith(_REFRESHING_CLIENT)
    try:
        whole = id_[:MAX_CLIENT_CHARS].removeprefix(_REFRESHING_CLIENT if refreshes else _CLIENT)
        packed: object = json.loads(urlsafe_b64decode(whole))
    except (ValueError, RecursionError):
        packed = None
    name, *redirects = _texts(packed) or [""]
    client = _client(name, redirects, refreshes=refreshes)
    is_registered = redirects and len(redirects) <= MAX_REDIRECTS and all(map(_is_allowed, redirects))
    if client.id != id_ or name != _shown(name) or not is_registered:
        raise OAuthError("invalid_client", texts.NO_CLIENT)
    return client


def is_document(id_: str) -> bool:
    """Whether the id of a program is the address of a document that describes it."""
    return id_.startswith(_DOCUMENT)


def check_document_address(address: str) -> None:
    """Raises OAuthError if no document may be fetched from this address."""
    try:
        parts = urlsplit(address)
        is_plain = _is_allowed(address) and parts.scheme == "https" and parts.port in {None, 443}
    except ValueError:
        is_plain = False
    segments = unquote(urlsplit(address).path).split("/") if is_plain else []
    if not is_plain or not any(segments) or {".", ".."} & {*segments}:
        raise OAuthError("invalid_client", texts.DOCUMENT_ADDRESS)


def read_document(address: str, body: bytes) -> OAuthClient:
    """Return the program that a document describes. Raises OAuthError."""
    fields = _object(body)
    if fields is None or fields.get("client_id") != address:
        raise OAuthError("invalid_client", texts.OTHER_DOCUMENT)
    if fields.get("token_endpoint_auth_method", "none") != "none":
        raise OAuthError("invalid_client", texts.DOCUMENT_AUTHENTICATES)
    given = _texts(fields.get("redirect_uris"))
    redirects = tuple(filter(_is_allowed, given))
    if not redirects or len(given) > MAX_DOCUMENT_REDIRECTS:
        raise OAuthError("invalid_client", texts.DOCUMENT_REDIRECTS.format(limit=MAX_DOCUMENT_REDIRECTS))
    name = fields.get("client_name")
    shown = _shown(name if isinstance(name, str) else "")
    return OAuthClient(address, shown, redirects, REFRESH_GRANT in _texts(fields.get("grant_types")))


def read_form(text: str) -> dict[str, str]:
    """Return the fields of a query or a form. Raises OAuthError."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError:
        raise OAuthError("invalid_request", texts.REPEATED_FIELDS.format(limit=MAX_FIELDS)) from None
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise OAuthError("invalid_request", texts.REPEATED_FIELDS.format(limit=MAX_FIELDS))
    return fields


def read_redirect(fields: Mapping[str, str], client: OAuthClient) -> str:
    """Return the address to which the browser returns. Raises OAuthError."""
    redirect = fields.get("redirect_uri", client.redirects[0] if len(client.redirects) == 1 else "")
    registered = redirect in client.redirects or _any_port(redirect) in map(_any_port, client.redirects)
    if not registered or not _is_allowed(redirect):
        raise OAuthError("invalid_request", texts.OTHER_REDIRECT)
    return redirect


def read_authorization(
    fields: Mapping[str, str], client: OAuthClient, query: str, address: str, allowed: frozenset[TokenScope]
) -> Authorization:
    """Return the request of a browser. `allowed`: the scopes that people may give. Raises OAuthError."""
    redirect = read_redirect(fields, client)
    if fields.get("response_type") != "code":
        raise OAuthError("unsupported_response_type", texts.ONLY_CODE)
    challenge = fields.get("code_challenge", "")
    if fields.get("code_challenge_method") != "S256" or _CHALLENGE.fullmatch(challenge) is None:
        raise OAuthError("invalid_request", texts.NO_CHALLENGE)
    if fields.get("resource", f"{address}{RESOURCE}").rstrip("/") not in {address, f"{address}{RESOURCE}"}:
        raise OAuthError("invalid_target", texts.OTHER_RESOURCE)
    named = fields.get("scope", "").split()
    scopes = frozenset(scope for scope in allowed if not named or scope.value in named)
    if not scopes:
        raise OAuthError("invalid_scope", texts.NO_SCOPES)
    state = fields.get("state", "")
    if len(state) > MAX_STATE_CHARS:
        raise OAuthError("invalid_request", texts.LONG_STATE.format(limit=MAX_STATE_CHARS))
    return Authorization(client, redirect, challenge, scopes, state, query)


def read_exchange(fields: Mapping[str, str], client: OAuthClient) -> TokenExchange:
    """Return the request of a program for a token. Raises OAuthError."""
    redirect = read_redirect(fields, client)
    grant, verifier = fields.get("code", ""), fields.get("code_verifier", "")
    if not grant or _VERIFIER.fullmatch(verifier) is None:
        raise OAuthError("invalid_request", texts.NO_CHALLENGE)
    return TokenExchange(grant, client, redirect, verifier)


def read_refresh(fields: Mapping[str, str]) -> TokenRefresh:
    """Return the request of a program for new secrets of its token. Raises OAuthError."""
    secret, client = fields.get("refresh_token", ""), fields.get("client_id", "")
    if not secret or not client or len(client) > MAX_CLIENT_CHARS:
        raise OAuthError("invalid_request", texts.NO_REFRESH)
    return TokenRefresh(secret, client, frozenset(fields.get("scope", "").split()))


def read_revocation(fields: Mapping[str, str]) -> TokenRevocation:
    """Return the request of a program to end its token. Raises OAuthError."""
    secret, client = fields.get("token", ""), fields.get("client_id", "")
    if not secret or not client or len(client) > MAX_CLIENT_CHARS:
        raise OAuthError("invalid_request", texts.NO_REVOCATION)
    return TokenRevocation(secret, client)


def returned(redirect: str, address: str, state: str, **fields: str) -> str:
    """Return where a browser goes back to, with these fields, the state and who sends it there."""
    parts = {**fields, **({"state": state} if state else {}), "iss": address}
    return f"{redirect}{'&' if urlsplit(redirect).query else '?'}{urlencode(parts)}"


def origin_of(redirect: str) -> str:
    """Return the part of an address that people are shown: "https://x.example", "cursor:"."""
    parts = urlsplit(redirect)
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme in {"http", "https"} else f"{parts.scheme}:"


def policy_source_of(redirect: str) -> str:
    """Return what a page's policy names for an address: its origin, or its scheme if the host is an IPv6 address, which
    policies cannot name.
    """
    origin = origin_of(redirect)
    return f"{urlsplit(redirect).scheme}:" if "[" in origin else origin


def _object(body: bytes) -> dict[str, object] | None:
    """Return a JSON object; None for anything else."""
    try:
        text = body.decode()
        read: object = None if is_too_deep(text, MAX_DEPTH) else json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", read) if isinstance(read, dict) else None


def _texts(value: object) -> list[str]:
    """Return a list of texts; [] for anything else."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    texts_in = [item for item in items if isinstance(item, str)]
    return texts_in if len(texts_in) == len(items) else []


def _client(name: str, redirects: Collection[str], *, refreshes: bool) -> OAuthClient:
    packed = urlsafe_b64encode(json.dumps([name, *redirects], separators=(",", ":")).encode()).decode()
    id_ = f"{_REFRESHING_CLIENT if refreshes else _CLIENT}{packed}"
    return OAuthClient(id_, name, tuple(redirects), refreshes)


def _shown(name: str) -> str:
    """Return a program's name as people read it."""
    plain = " ".join("".join(sign if sign.isprintable() else " " for sign in name).split())
    return plain[:MAX_NAME_CHARS].strip() or texts.UNNAMED


def _is_allowed(redirect: str) -> bool:
    """Whether a browser may be sent back to this address."""
    if len(redirect) > MAX_REDIRECT_CHARS or _PLAIN.fullmatch(redirect) is None:
        return False
    try:
        parts = urlsplit(redirect)
        port = parts.port
    except ValueError:
        return False
    if "#" in redirect or "\\" in redirect or "@" in parts.netloc or parts.scheme != redirect.partition(":")[0]:
        return False
    host = parts.netloc if port is None else parts.netloc.rpartition(":")[0]
    match parts.scheme:
        case "https":
            return _HOST.fullmatch(host) is not None
        case "http":
            return host in _LOOPBACK
        case scheme:
            is_plain = _SCHEME.fullmatch(scheme) is not None and _APPLICATION_HOST.fullmatch(parts.netloc) is not None
            return is_plain and redirect.startswith(f"{scheme}://") and scheme not in _NO_APPLICATION


def _any_port(redirect: str) -> str:
    """Return an address on the same machine without its port; any other address as it is."""
    found = _LOOPBACK_PORT.match(redirect)
    return redirect if found is None else f"{found[1]}{redirect[found.end() :]}"


def _listed(scopes: Collection[TokenScope]) -> list[Json]:
    return [scope.value for scope in SCOPES if scope in scopes]
