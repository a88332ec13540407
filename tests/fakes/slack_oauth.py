"""Slack's side of a distributed app: users who consent, codes, and tokens that expire.

It follows the documentation of `oauth.v2.access` and of token rotation: a code is valid once and for ten minutes; a
token expires after twelve hours; a refresh token is valid once, and is revoked by its use. `still_valid` sets whether
the replaced access token is accepted until it expires: the documentation does not say, so both are tested.
"""

from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from urllib.parse import parse_qs, urlencode, urlsplit

from agent.ports.clock import Clock
from tests.fakes.slack_faults import Refusal
from tests.fakes.slack_things import APP, BOT_TOKEN, BOT_USER, TEAM, Object

CLIENT_ID, CLIENT_SECRET = "11.22", "client-secret"
LASTS = timedelta(hours=12)


@dataclass
class Grant:
    """The grant of one workspace. `access`: each valid token, with its expiry."""

    team: str
    refresh: str
    access: dict[str, datetime | None] = field(default_factory=dict[str, datetime | None])


@dataclass
class Installs:
    """`redirects`: the app's registered addresses. `code_facts`: the request that each code belongs to."""

    clock: Clock
    redirects: tuple[str, ...]
    rotates: bool = True
    still_valid: bool = False
    scopes: str = ""
    name: str = "Fake"  # The workspace's
    for_organization: bool = False
    grants: dict[str, Grant] = field(default_factory=dict[str, Grant])
    refreshed: list[str] = field(default_factory=list[str])  # The refresh tokens that were exchanged
    revoked: list[str] = field(default_factory=list[str])
    _codes: dict[str, tuple[str, datetime]] = field(default_factory=dict[str, tuple[str, datetime]])
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.methods: Mapping[str, Callable[[Object, str], Object]] = {
            "oauth.v2.access": lambda args, _: self._access(args),
            "auth.revoke": self._revoke,
        }

    # What users do

    def agree(self, address: str, team: str = TEAM) -> str:
        """A user of a workspace consents on Slack's page; return the address to which they are redirected."""
        asked = self._asked(address)
        code = f"code-{next(self._numbers)}"
        self._codes[code] = team, self.clock.now() + timedelta(minutes=10)
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def deny(self, address: str) -> str:
        asked = self._asked(address)
        return f"{asked['redirect_uri']}?{urlencode({'error': 'access_denied', 'state': asked['state']})}"

    def uninstall(self, team: str = TEAM) -> None:
        del self.grants[team]

    def _asked(self, address: str) -> dict[str, str]:
        asked = {name: one for name, (one,) in parse_qs(urlsplit(address).query, strict_parsing=True).items()}
        assert asked.keys() == {"client_id", "scope", "redirect_uri", "state"}, asked
        assert asked["client_id"] == CLIENT_ID
        assert asked["redirect_uri"] in self.redirects
        self.scopes = asked["scope"]
        return asked

    # The Web API

    def counts(self, token: str) -> bool:
        ends = (one.access[token] for one in self.grants.values() if token in one.access)
        return any(end is None or end > self.clock.now() for end in ends)

    def meant(self, token: str) -> str:
        """Return the token of the only workspace. Raises Refusal."""
        if not token.startswith("xoxe.xoxb-") and not token.startswith("xoxb-i"):
            return token
        if self.counts(token):
            return BOT_TOKEN
        if TEAM not in self.grants:
            raise Refusal("account_inactive")
        is_known = any(token in one.access for one in self.grants.values())
        raise Refusal("token_expired" if is_known else "token_revoked")

    def _access(self, args: Object) -> Object:
        if args.get("client_id") != CLIENT_ID:
            raise Refusal("invalid_client_id")
        if args.get("client_secret") != CLIENT_SECRET:
            raise Refusal("bad_client_secret")
        if args.get("grant_type") == "refresh_token":
            return self._renewed(str(args.get("refresh_token", "")))
        team, until = self._codes.pop(str(args.get("code", "")), ("", self.clock.now()))
        if not team or until <= self.clock.now():
            raise Refusal("invalid_code" if not team else "code_expired")
        if args.get("redirect_uri") not in self.redirects:
            raise Refusal("bad_redirect_uri")
        if team not in self.grants or self.rotates:
            self.grants[team] = Grant(team, "")
        return self._token_answer(self.grants[team])

    def _renewed(self, refresh: str) -> Object:
        grant = next((one for one in self.grants.values() if refresh and one.refresh == refresh), None)
        if grant is None:
            raise Refusal("invalid_refresh_token")
        self.refreshed.append(refresh)
        if not self.still_valid:
            grant.access.clear()
        return self._token_answer(grant)

    def _token_answer(self, grant: Grant) -> Object:
        number = next(self._numbers)
        answer: Object = {
            "access_token": f"xoxb-i{grant.team}",
            "token_type": "bot",
            "scope": self.scopes,
            "bot_user_id": BOT_USER,
            "app_id": APP,
            "team": None if self.for_organization else {"id": grant.team, "name": self.name},
            "enterprise": {"id": "E0ORG", "name": "Organization"} if self.for_organization else None,
            "authed_user": {"id": "U0ANN"},
            "is_enterprise_install": self.for_organization,
        }
        if self.rotates:
            grant.refresh = f"xoxe-1-refresh{number}"
            answer["access_token"] = f"xoxe.xoxb-1-access{number}"
            answer |= {"refresh_token": grant.refresh, "expires_in": int(LASTS.total_seconds())}
        grant.access[answer["access_token"]] = self.clock.now() + LASTS if self.rotates else None
        return answer

    def _revoke(self, args: Object, token: str) -> Object:  # noqa: ARG002 -- all have one signature
        self.meant(token)
        self.revoked.append(token)
        self.grants = {team: one for team, one in self.grants.items() if token not in one.access}
        return {"revoked": True}


def client_of(header: str) -> Object:
    """Return the client id from the header."""
    kind, _, words = header.partition(" ")
    try:
        name, _, secret = b64decode(words).decode().partition(":")
    except (Error, ValueError):
        return {}
    return {"client_id": name, "client_secret": secret} if kind == "Basic" else {}
