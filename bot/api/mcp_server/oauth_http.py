"""The pages and addresses for signing in to the MCP server with OAuth: an ASGI application.

Rules
  The page runs no script, is framed by nobody, and sends its form only to itself and on to the program's address.
  With `no-referrer` a browser would say `Origin: null` of the page's own form, as it does of a sandboxed page's.
  A wrong code leads back to the page. Their number in a minute is limited for everybody together: too high to keep
  people from signing in, and too low to find one of 2^60 codes.
  A wrong request is answered here: anybody can register a program with any address, so no browser is sent to one
  before its person has chosen Allow or Deny.
"""

import json
import re
from dataclasses import dataclass, field, replace
from datetime import timedelta
from hashlib import sha256
from html import escape
from math import ceil
from typing import TYPE_CHECKING, Final

from agent.admission_terms import Rate, Whose
from agent.errors import Refused, StoreError
from agent.incoming import person_source
from agent.memory.audience import PersonAudience
from agent.messages import Json, JsonObject
from agent.ports.api_tokens import TokenScope
from agent.ports.clock import Clock
from bot.api.mcp_server import oauth, texts
from bot.api.mcp_server.client_documents import ClientDocuments
from bot.api.mcp_server.oauth import Authorization, OAuthClient, OAuthError
from bot.api.sign_in import GrantRequest, SignIns
from bot.api.tokens import IssuedToken, TokenRequest, TokenService
from bot.chat.access.admission import MINUTE, RateCounter
from bot.chat.http_routes import RequestRefused, read_body
from bot.chat.telemetry import RequestEnd, RequestHandled, Telemetry
from bot.chat.texts.formatting import counted
from bot.chat.web_page import page

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

ENDPOINT: Final = "oauth"  # In telemetry
WRONG_CODES_A_MINUTE: Final = 1_000  # Of 2^60, by everybody together
REGISTRATIONS_A_MINUTE: Final = 1_000  # By everybody together. Nothing is stored of them; each costs a millisecond
_STYLE_ONLY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
_NAME: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class _Response:
    status: int
    body: str = ""
    kind: str = "text/html; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()
    end: RequestEnd = RequestEnd.ACCEPTED


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthSite:
    """`address`: at which programs reach the bot. `scopes`: those that people may give to programs, for `days`."""

    address: str
    scopes: frozenset[TokenScope]
    days: int
    sign_ins: SignIns
    tokens: TokenService
    documents: ClientDocuments
    clock: Clock
    telemetry: Telemetry
    wrong_codes: RateCounter = field(default_factory=lambda: _by_everybody(WRONG_CODES_A_MINUTE))
    registrations: RateCounter = field(default_factory=lambda: _by_everybody(REGISTRATIONS_A_MINUTE))

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        try:
            response = await self._respond(scope, receive)
        except RequestRefused as refused:
            response = _error(refused.status, OAuthError("invalid_request", str(refused)))
        except OAuthError as error:
            response = _error(400, error)
        except StoreError:
            response = _error(503, OAuthError("temporarily_unavailable", texts.STORE_AWAY), RequestEnd.UNAVAILABLE)
        headers = [("content-type", response.kind), *response.headers]
        if response.end is not RequestEnd.ACCEPTED:
            headers.append(("connection", "close"))  # a part of the body may still come
        encoded = [(name.encode(), value.encode()) for name, value in headers]
        await send({"type": "http.response.start", "status": response.status, "headers": encoded})
        await send({"type": "http.response.body", "body": response.body.encode()})
        self.telemetry.record(RequestHandled(ENDPOINT, response.end))

    async def _respond(self, scope: "Scope", receive: "Receive") -> _Response:
        match (scope["method"], scope["path"].rstrip("/")):
            case ("GET", oauth.SERVER_METADATA):
                return _json(oauth.server_metadata(self.address, self.scopes))
            case ("GET", path) if path in {oauth.RESOURCE_METADATA, f"{oauth.RESOURCE_METADATA}{oauth.RESOURCE}"}:
                return _json(oauth.resource_metadata(self.address, self.scopes))
            case ("POST", oauth.REGISTER):
                return await self._registered(scope, receive)
            case ("POST", oauth.TOKEN):
                return await self._token(await _form(scope, receive))
            case ("POST", oauth.REVOKE):
                return await self._revoked(await _form(scope, receive))
            case ("GET", oauth.AUTHORIZE):
                return await self._opened(scope["query_string"].decode("latin-1"))
            case ("POST", oauth.AUTHORIZE):
                return await self._entered(scope, await _form(scope, receive))
            case _:
                raise RequestRefused(404, texts.NO_SUCH_PATH)

    async def _registered(self, scope: "Scope", receive: "Receive") -> _Response:
        """Register a program. Raises OAuthError."""
        now = self.clock.now()
        if (reached := await self.registrations.obstacle("", "", now)) is not None:
            error = OAuthError("temporarily_unavailable", texts.TOO_MANY_REGISTRATIONS)
            wait = ("retry-after", str(ceil((reached.free_at - now).total_seconds())))
            return replace(_error(429, error, RequestEnd.LIMITED), headers=(wait,))
        return _json(oauth.register(await read_body(scope, receive, limit=oauth.MAX_FORM_BYTES)), 201)

    async def _asked(self, query: str) -> Authorization:
        """Return a program's request. Raises OAuthError."""
        fields = oauth.read_form(query)
        return oauth.read_authorization(fields, await self._client(fields), query, self.address, self.scopes)

    async def _client(self, fields: dict[str, str]) -> OAuthClient:
        """Return the program that a request names. Raises OAuthError."""
        id_ = fields.get("client_id", "")
        return await self.documents.client(id_) if oauth.is_document(id_) else oauth.read_client(id_)

    async def _opened(self, query: str) -> _Response:
        """Return the page that asks for a code, or one that says what is wrong with the program's request."""
        try:
            asked = await self._asked(query)
        except OAuthError as error:
            shown = page(texts.SIGN_IN_WRONG.format(why=escape(str(error)), code=escape(error.code)))
            return _Response(400, shown, headers=(("content-security-policy", _STYLE_ONLY),), end=RequestEnd.INVALID)
        return self._page(asked, texts.SIGN_IN_HOW)

    async def _entered(self, scope: "Scope", form: dict[str, str]) -> _Response:
        """Answer the form of the page: send the browser back with a grant. Raises OAuthError and StoreError."""
        origins = [value for name, value in scope["headers"] if name == b"origin"]
        if origins not in ([], [self.address.encode()]):
            raise RequestRefused(403, texts.OTHER_ORIGIN)
        asked = await self._asked(form.get("request", ""))
        if "deny" in form:
            return self._back(asked.redirect, asked.state, error="access_denied")
        if self.wrong_codes.reached("", "", self.clock.now()) is not None:
            return self._page(asked, texts.TOO_MANY_CODES, RequestEnd.LIMITED, 429)
        person = await self.sign_ins.person_of(form.get("code", ""))
        if person is None:
            self.wrong_codes.count("", "", self.clock.now())
            return self._page(asked, texts.WRONG_CODE, RequestEnd.UNSIGNED, 401)
        wanted = GrantRequest(
            asked.client.id, asked.redirect, asked.challenge, asked.scopes, refreshes=asked.client.refreshes
        )
        return self._back(asked.redirect, asked.state, code=await self.sign_ins.grant(person, wanted))

    async def _token(self, form: dict[str, str]) -> _Response:
        """Give a program a token, or new secrets of its token. Raises OAuthError and StoreError."""
        match form.get("grant_type"):
            case oauth.CODE_GRANT:
                return await self._exchanged(form)
            case oauth.REFRESH_GRANT:
                return await self._refreshed(form)
            case _:
                raise OAuthError("unsupported_grant_type", texts.ONLY_GRANTS)

    async def _refreshed(self, form: dict[str, str]) -> _Response:
        given = oauth.read_refresh(form)

        def may_have(scopes: frozenset[TokenScope]) -> bool:
            return given.scopes <= scopes <= self.scopes

        issued = await self.tokens.refresh(given.secret, given.client, may_have)
        if issued is None:
            raise OAuthError("invalid_grant", texts.NO_REFRESH_GRANT)
        return _token_response(issued)

    async def _revoked(self, form: dict[str, str]) -> _Response:
        """End a token. The answer is the same if there is none (RFC 7009)."""
        given = oauth.read_revocation(form)
        await self.tokens.revoke_secret(given.secret, given.client)
        return _json({})

    async def _exchanged(self, form: dict[str, str]) -> _Response:
        given = oauth.read_exchange(form, await self._client(form))
        granted = await self.sign_ins.exchange(given.grant, given.client.id, given.redirect, given.verifier)
        if granted is None or not granted.scopes <= self.scopes:
            raise OAuthError("invalid_grant", texts.NO_GRANT)
        name = _NAME.sub("-", given.client.name.lower()).strip("-")[:30].strip("-") or "app"
        request = TokenRequest(
            name=f"{name}-{sha256(self.sign_ins.new_secret().encode()).hexdigest()[:6]}",
            person=granted.person,
            audience=PersonAudience(granted.person),
            source=person_source(granted.person),
            scopes=granted.scopes,
            lasts=timedelta(days=self.days),
            by_person=True,
            client=given.client.id if granted.refreshes else "",
        )
        try:
            issued = await self.tokens.issue(request)
        except Refused as refused:
            raise OAuthError("invalid_grant", str(refused)) from None
        return _token_response(issued)

    def _page(
        self, asked: Authorization, note: str, end: RequestEnd = RequestEnd.ACCEPTED, status: int = 200
    ) -> _Response:
        document = asked.client.document
        scopes = "".join(f"<li>{texts.SCOPE_SAYS[scope]}</li>" for scope in oauth.SCOPES if scope in asked.scopes)
        body = texts.SIGN_IN_PAGE.format(
            name=escape(asked.client.name),
            redirect=escape(oauth.origin_of(asked.redirect)),
            described=texts.DESCRIBED_AT.format(address=escape(document)) if document else "",
            scopes=scopes,
            lasts=counted(self.days, "day", "days"),
            note=note,
            action=oauth.AUTHORIZE,
            request=escape(asked.query),
        )
        policy = f"{_STYLE_ONLY}; form-action 'self' {oauth.policy_source_of(asked.redirect)}"
        headers = (("content-security-policy", policy), ("referrer-policy", "same-origin"))
        return _Response(status, page(body), headers=headers, end=end)

    def _back(self, redirect: str, state: str, **fields: str) -> _Response:
        where = oauth.returned(redirect, self.address, state, **fields)
        return _Response(303, headers=(("location", where),))


def _by_everybody(limit: int) -> RateCounter:
    return RateCounter((Rate(Whose.PERSON, limit, MINUTE),))


async def _form(scope: "Scope", receive: "Receive") -> dict[str, str]:
    kinds = [value.partition(b";")[0].strip().lower() for name, value in scope["headers"] if name == b"content-type"]
    if kinds != [b"application/x-www-form-urlencoded"]:
        raise RequestRefused(415, texts.NO_FORM)
    return oauth.read_form((await read_body(scope, receive, limit=oauth.MAX_FORM_BYTES)).decode("latin-1"))


def _token_response(issued: IssuedToken) -> _Response:
    body: dict[str, Json] = {
        "access_token": issued.secret.reveal(),
        "token_type": "Bearer",
        "scope": " ".join(sorted(issued.token.definition.scopes)),
    }
    if issued.lasts is not None:
        body["expires_in"] = int(issued.lasts.total_seconds())
    if issued.refresh is not None:
        body["refresh_token"] = issued.refresh.reveal()
    return _json(body)


def _json(body: JsonObject, status: int = 200) -> _Response:
    return _Response(status, json.dumps(body), "application/json")


def _error(status: int, error: OAuthError, end: RequestEnd = RequestEnd.INVALID) -> _Response:
    body = json.dumps({"error": error.code, "error_description": str(error)})
    return _Response(status, body, "application/json", end=end)
