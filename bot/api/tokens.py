"""The tokens of programs: making, checking, listing and revoking them. The API and our MCP server accept them.

Rules
  A secret is shown once, when it is made; only its hash is stored. An unknown, an expired and a revoked secret look the
  same from outside.
  A person's token acts as the person and reads what their direct messages could; a service's reads exactly its place.
  An app that signed its person in replaces its secret each hour, with a refresh token that is valid once. A refresh
  token that is used again revokes the token, except for a moment in which it leads to the same secrets again.
  Each token that is made or revoked is in the audit, before anybody sees its secret.
  A token that posts is a service's in a channel, or a person's without any other scope.
  People make tokens for themselves only if the operator allows it, and only with the scopes that the operator names.
"""

import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from hmac import compare_digest
from typing import Final

from agent.errors import Refused
from agent.memory.audience import Audience, PersonAudience
from agent.messages import Json
from agent.ports.api_tokens import ApiToken, ApiTokens, NewApiToken, Refreshing, TokenScope
from agent.ports.clock import Clock
from agent.ports.tool_audit import ToolAudit
from agent.spending import NANO, Money
from bot.api import texts as api_texts
from bot.chat.texts.formatting import counted, money
from bot.settings.secret import Secret

PREFIX: Final = "cogency_"  # By which people and secret scanners recognize a token
REFRESH: Final = "cogency_refresh_"
_SECRET: Final = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}", re.ASCII)
_REFRESH_SECRET: Final = re.compile(rf"{REFRESH}([A-Za-z0-9_-]{{43}})\.[A-Za-z0-9_-]{{43}}", re.ASCII)
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)
_DAYS: Final = re.compile(r"([1-9][0-9]{0,3})d?", re.ASCII)
_TOKENS: Final = re.compile(r"(\d[\d,]{0,18}) tokens?", re.ASCII | re.IGNORECASE)
_DOLLARS: Final = re.compile(r"\$? ?(\d[\d,]{0,9})(?:\.(\d{1,2}))?", re.ASCII)
NEVER: Final = "never"

USE_RECORDED: Final = timedelta(minutes=1)  # A busy token is not written with each request, and a guessed one never
MAX_OF_PERSON: Final = 20  # More programs than one person uses
MAX_OF_SERVICES: Final = 1_000  # A list that one can still read
DEFAULT_DAYS: Final = 90
ACCESS_TIME: Final = timedelta(hours=1)  # Of a secret that its app can replace
# For which a refresh token that was used once leads to the same new secrets: the response may have been lost, and two
# windows of an app may refresh at the same time.
SAME_ANSWER: Final = timedelta(seconds=30)
ROTATIONS: Final = 3  # Attempts, while other requests rotate the same token


@dataclass(frozen=True, slots=True)
class DailyBudget:
    """What a token may spend in a day of UTC; None is no limit."""

    tokens: int | None = None
    money: Money | None = None


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A token with a new secret, which is shown now and never again. `refresh`: gets the next one; None if the secret
    stays the same. `lasts`: until the secret expires, None for never.
    """

    token: ApiToken
    secret: Secret
    refresh: Secret | None = None
    lasts: timedelta | None = None


def parse_name(text: str) -> str:
    """Return a token's name. Raises ValueError."""
    if _NAME.fullmatch(text) is None:
        raise ValueError(api_texts.NAME_FORM)
    return text


def parse_scopes(text: str) -> frozenset[TokenScope]:
    """Parse "ask,recall". Raises ValueError."""
    names = {name.strip() for name in text.split(",") if name.strip()}
    if not names or not names <= {*TokenScope}:
        raise ValueError(api_texts.SCOPES_FORM.format(scopes=", ".join(TokenScope)))
    return frozenset(map(TokenScope, names))


def parse_days(text: str) -> timedelta | None:
    """Parse "90d" or "90"; None for "never". Raises ValueError."""
    if text == NEVER:
        return None
    if (found := _DAYS.fullmatch(text)) is None:
        raise ValueError(api_texts.DAYS_FORM)
    return timedelta(days=int(found[1]))


def parse_budget(text: str) -> DailyBudget:
    """Parse "$2.50", "2.50" or "200,000 tokens", each above 0. Raises ValueError."""
    tokens, cents = 0, 0
    if found := _TOKENS.fullmatch(text):
        tokens = int(found[1].replace(",", ""))
    elif found := _DOLLARS.fullmatch(text):
        cents = int(found[1].replace(",", "")) * 100 + int((found[2] or "").ljust(2, "0"))
    if not (tokens or cents):
        raise ValueError(api_texts.BUDGET_FORM)
    return DailyBudget(tokens or None, Money(cents * (NANO // 100)) if cents else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRequest:
    """What is to be made. `person`: "" for a service; then `audience`, `source` and `channel` are those of its place.

    `lasts`: None for ever. `client`: the id of the app that gets new secrets by itself, "" for none.
    """

    name: str
    person: str
    audience: Audience
    source: str
    channel: str = ""
    scopes: frozenset[TokenScope] = frozenset({TokenScope.ASK})
    lasts: timedelta | None = timedelta(days=DEFAULT_DAYS)
    budget: DailyBudget = DailyBudget()
    by_person: bool = False
    client: str = ""


class TokenAct(StrEnum):
    CREATE = "create"
    REVOKE = "revoke"
    REUSE = "revoke (refresh token used twice)"


@dataclass(frozen=True, slots=True)
class OwnersAudit:
    """Records what people do with their own tokens. Raises StoreError."""

    audit: ToolAudit
    clock: Clock

    async def __call__(self, act: TokenAct, token: ApiToken) -> None:
        from bot.chat.audit import own_change  # noqa: PLC0415 -- the command line, which reads arguments here, starts without

        new = token.definition
        change = f"{act} token {token.id} {new.name}: {scope_words(new.scopes)}"
        await self.audit.add(own_change(self.clock.now(), change, new.person))


@dataclass(frozen=True, slots=True)
class TokenService:
    """`new_secret`: returns 256 random bits as 43 characters that are safe in a URL. `record`: writes what was done
    to a token to the audit; raises StoreError.
    """

    tokens: ApiTokens
    clock: Clock
    new_secret: Callable[[], str]
    record: Callable[[TokenAct, ApiToken], Awaitable[None]]

    async def issue(self, request: TokenRequest) -> IssuedToken:
        """Make a token. Raises Refused if its owner has too many, or one with this name, or cannot have its scopes; and
        StoreError.
        """
        if TokenScope.POST in request.scopes and not _may_post(request):
            raise Refused(api_texts.POST_ALONE)
        secret, now = f"{PREFIX}{self.new_secret()}", self.clock.now()
        limit = MAX_OF_PERSON if request.person else MAX_OF_SERVICES
        expires = None if request.lasts is None else now + request.lasts
        refresh, state = None, None
        if request.client:
            family = self.new_secret()
            refresh = f"{REFRESH}{family}.{self.new_secret()}"
            until = _access_until(now, expires)
            state = Refreshing(hash_of(request.client), hash_of(family), hash_of(refresh), now, until)
        new = NewApiToken(
            hash=hash_of(secret),
            name=request.name,
            person=request.person,
            audience=request.audience,
            source=request.source,
            channel=request.channel,
            scopes=request.scopes,
            created=now,
            expires=expires,
            tokens_per_day=request.budget.tokens,
            money_per_day=request.budget.money,
            by_person=request.by_person,
            refreshing=state,
        )
        token = await self.tokens.add(new, limit)
        if token is None:
            raise Refused(api_texts.NAME_TAKEN.format(name=request.name, limit=limit))
        await self.record(TokenAct.CREATE, token)
        lasts = request.lasts if state is None else state.access_expires - now
        return IssuedToken(token, Secret(secret), None if refresh is None else Secret(refresh), lasts)

    async def refresh(
        self, secret: str, client: str, may_have: Callable[[frozenset[TokenScope]], bool]
    ) -> IssuedToken | None:
        """Return new secrets for a refresh token, which is then used up. None if it is not valid, or another app's, or
        `may_have` says no to its scopes. If it was used before, its token is revoked: two have it, and nobody knows
        which of them is the app. Raises StoreError.
        """
        parts = _REFRESH_SECRET.fullmatch(secret)
        if parts is None:
            return None
        given = hash_of(secret)
        for _ in range(ROTATIONS):
            now = self.clock.now()
            token = await self.tokens.by_family(hash_of(parts[1]), now)
            state = None if token is None else token.definition.refreshing
            if token is None or state is None or not compare_digest(state.client, hash_of(client)):
                return None
            if compare_digest(state.before, given) and now < state.rotated + SAME_ANSWER:
                return _rotated(token, state, secret, parts[1], state.salt, now)
            if not compare_digest(state.refresh, given):
                await self.tokens.revoke([token.id])
                await self.record(TokenAct.REUSE, token)
                return None
            if not may_have(token.definition.scopes):
                return None
            new = _rotated(token, state, secret, parts[1], self.new_secret(), now)
            if (after := new.token.definition.refreshing) is not None and await self.tokens.rotate(
                token.id, new.token.definition.hash, after
            ):
                return new
        return None

    async def revoke_secret(self, secret: str, client: str) -> None:
        """Revoke the token of a secret, or of a refresh token, that an app has. Raises StoreError."""
        now, parts = self.clock.now(), _REFRESH_SECRET.fullmatch(secret)
        if parts is not None:
            token = await self.tokens.by_family(hash_of(parts[1]), now)
        else:
            token = await self.tokens.find(hash_of(secret), now)
        state = None if token is None else token.definition.refreshing
        if token is not None and state is not None and compare_digest(state.client, hash_of(client)):
            await self.tokens.revoke([token.id])
            await self.record(TokenAct.REVOKE, token)

    async def authenticate(self, secret: str) -> ApiToken | None:
        """Return the valid token of this secret; None for any other text. Raises StoreError."""
        if _SECRET.fullmatch(secret) is None:
            return None
        now = self.clock.now()
        token = await self.tokens.find(hash_of(secret), now)
        if token is not None and (token.used is None or token.used <= now - USE_RECORDED):
            await self.tokens.mark_used(token.id, now)
        return token

    async def valid(self, id_: int) -> ApiToken | None:
        """Return the token, if it is neither revoked nor expired now. Raises StoreError."""
        return await self.tokens.by_id(id_, self.clock.now())

    async def listed(self) -> Sequence[ApiToken]:
        """Return all tokens, for operators. Raises StoreError."""
        return await self.tokens.all(MAX_OF_SERVICES)

    async def revoke(self, named: str, of: Collection[ApiToken]) -> ApiToken:
        """Revoke one of these tokens, by its number or by its name. Raises Refused and StoreError."""
        found = [token for token in of if named in {str(token.id), token.definition.name}]
        by_number = [token for token in found if str(token.id) == named]
        if not found:
            raise Refused(api_texts.NO_SUCH_TOKEN.format(name=named))
        if len(found) > 1 and len(by_number) != 1:
            numbers = ", ".join(str(token.id) for token in found)
            raise Refused(api_texts.NAME_OF_MANY_TOKENS.format(name=named, numbers=numbers))
        (token,) = by_number or found
        await self.tokens.revoke([token.id])
        await self.record(TokenAct.REVOKE, token)
        return token


def _may_post(request: TokenRequest) -> bool:
    if request.person:
        return request.scopes == frozenset({TokenScope.POST}) and not request.by_person
    return bool(request.channel)


def _access_until(now: datetime, expires: datetime | None) -> datetime:
    return now + ACCESS_TIME if expires is None else min(expires, now + ACCESS_TIME)


def _rotated(token: ApiToken, state: Refreshing, refresh: str, family: str, salt: str, now: datetime) -> IssuedToken:
    """Return the secrets that follow `refresh` with this salt: the same, however often it is called. Only who has the
    refresh token can derive them.
    """
    secret = f"{PREFIX}{_derived(salt, 'access', refresh)}"
    following = f"{REFRESH}{family}.{_derived(salt, 'refresh', refresh)}"
    if salt != state.salt:
        until = _access_until(now, token.definition.expires)
        state = Refreshing(state.client, state.family, hash_of(following), now, until, hash_of(refresh), salt)
    new = replace(token.definition, hash=hash_of(secret), refreshing=state)
    return IssuedToken(replace(token, definition=new), Secret(secret), Secret(following), state.access_expires - now)


def _derived(salt: str, what: str, refresh: str) -> str:
    """Return 256 bits as 43 characters that are safe in a URL."""
    digest = hmac.digest(salt.encode(), f"{what} {refresh}".encode(), "sha256")
    return urlsafe_b64encode(digest).decode().rstrip("=")


def hash_of(secret: str) -> str:
    """A plain hash suffices: the secret has 256 random bits."""
    return sha256(secret.encode()).hexdigest()


def bearer_of(authorization: str) -> str:
    """Return the secret in an Authorization header ("Bearer …"); "" if it has none."""
    scheme, _, secret = authorization.partition(" ")
    return secret.strip() if scheme.casefold() == "bearer" else ""


def scope_words(scopes: Collection[TokenScope]) -> str:
    return ", ".join(scope for scope in TokenScope if scope in scopes)


def budget_words(new: NewApiToken) -> str:
    parts = [
        "" if new.tokens_per_day is None else counted(new.tokens_per_day, "token", "tokens"),
        "" if new.money_per_day is None else money(new.money_per_day),
    ]
    return " and ".join(filter(None, parts))


def token_line(token: ApiToken, now: datetime) -> str:
    """Return a line of a list: number, name, scopes, budget, and when it expires and was last used."""
    new = token.definition
    if new.expires is None:
        ends = api_texts.NEVER_EXPIRES
    else:
        form = api_texts.EXPIRED if new.expires <= now else api_texts.EXPIRES
        ends = form.format(day=new.expires)
    budget = budget_words(new)
    parts = (
        f"{token.id} {new.name}",
        scope_words(new.scopes),
        api_texts.A_DAY.format(budget=budget) if budget else "",
        ends,
        api_texts.NEVER_USED if token.used is None else api_texts.LAST_USED.format(time=token.used),
    )
    return ", ".join(filter(None, parts))


def operator_line(token: ApiToken, now: datetime) -> str:
    """Return a line of the operators' list, which also says for whom or for which place the token is."""
    new = token.definition
    whose = f"{new.source}:{new.channel}" if new.channel else new.source
    return f"{token_line(token, now)}, {new.person or api_texts.SERVICE_IN.format(place=whose)}"


def token_json(token: ApiToken) -> dict[str, Json]:
    new = token.definition
    times = {"created": new.created, "expires": new.expires, "used": token.used}
    listed: dict[str, Json] = {
        "id": token.id,
        "name": new.name,
        "person": new.person or None,
        "place": None if isinstance(new.audience, PersonAudience) else f"{new.source}:{new.channel}".rstrip(":"),
        "scopes": [scope.value for scope in TokenScope if scope in new.scopes],
        "tokens_per_day": new.tokens_per_day,
        "usd_per_day": None if new.money_per_day is None else new.money_per_day / NANO,
    }
    for name, time in times.items():
        listed[name] = None if time is None else time.isoformat()
    return listed
