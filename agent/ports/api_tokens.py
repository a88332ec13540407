"""The tokens of programs that ask the bot, as a port of the store."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

from agent.doors import API, MCP
from agent.memory.audience import Audience, Place
from agent.spending import Money


class TokenScope(StrEnum):
    """What a token may be used for. The values are stored."""

    ASK = "ask"
    """Ask questions, which a model answers with the tools that run without approval."""
    RECALL = "recall"
    """Search past conversations and memory, and read threads."""
    REMEMBER = "remember"
    """Store facts."""
    FORGET = "forget"
    """Erase what is stored."""
    POST = "post"
    """Post texts. See `bot.api.posting`."""


PERSONAL: Final = frozenset(TokenScope) - {TokenScope.POST}  # What people can give to programs themselves


def services_of(source: str) -> str:
    """Return what the ids of all services in places of this source begin with."""
    return f"{source}:{API}"


def is_service(person: str) -> bool:
    """Return whether the id is a service's, and no person's."""
    return person.rpartition(":")[2].startswith(API)


@dataclass(frozen=True, slots=True)
class Refreshing:
    """How an app gets new secrets of its token (OAuth), without a person. All texts are hashes in hexadecimal.

    `client`: of the app's id. `family`: of the part that all its refresh tokens share. `refresh`: of the refresh token
    that is valid now, `before`: of the one before it, "" for none. `salt`: what the secrets that are valid now were
    derived from, with the refresh token before; "" for the first. `rotated`: when they were made. `access_expires`:
    until when the current secret of the token itself is valid.
    """

    client: str
    family: str
    refresh: str
    rotated: datetime
    access_expires: datetime
    before: str = ""
    salt: str = ""


@dataclass(frozen=True, slots=True)
class NewApiToken:
    """A token to store. `hash`: of the secret, in hexadecimal. `name`: unique among its owner's tokens.

    `person`: the id of the person as whom it acts; "" for a service. `audience`: what it reads: that person's direct
    messages, or the service's place. `source`, `channel`: where that place is, as in `agent.incoming`; `channel` is ""
    for people and for whole workspaces. `tokens_per_day`, `money_per_day`: its budget for a day of UTC; None is no
    limit. `expires`: None for never. `by_person`: its person made it; False: an operator. `refreshing`: None if its
    secret stays the same.
    """

    hash: str
    name: str
    person: str
    audience: Audience
    source: str
    channel: str
    scopes: frozenset[TokenScope]
    created: datetime
    expires: datetime | None
    tokens_per_day: int | None = None
    money_per_day: Money | None = None
    by_person: bool = False
    refreshing: Refreshing | None = None


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A stored token. `used`: when it was last used, to the minute; None for never."""

    id: int
    definition: NewApiToken
    used: datetime | None = None

    @property
    def is_service(self) -> bool:
        return not self.definition.person

    @property
    def owner(self) -> str:
        """The id of the person who asks with it: a person of a platform, or the service itself ("slack:T1:api-7")."""
        return self.definition.person or f"{services_of(self.definition.source)}{self.id}"

    @property
    def account(self) -> str:
        """The token's name where its use is counted ("api-7"): as a channel of its person, or as a service."""
        return f"{API}{self.id}"

    @property
    def mcp_account(self) -> str:
        """As `account`, for questions by the MCP server ("mcp-7")."""
        return f"{MCP}{self.id}"

    @property
    def place(self) -> Place:
        """Where its answers are read. A service reads exactly its place, not what readers of the place could also read
        elsewhere: who holds its token is unknown.
        """
        return Place(self.definition.audience)

    def allows(self, scope: TokenScope) -> bool:
        return scope in self.definition.scopes


class ApiTokens(Protocol):
    """Tokens by the hashes of their secrets. Every method raises StoreError."""

    async def add(self, new: NewApiToken, limit: int) -> ApiToken | None:
        """Store a token, and delete those of its owner that have expired when it is created. None if the owner has
        another one with this name, or `limit` others.
        """
        ...

    async def find(self, hash_: str, now: datetime) -> ApiToken | None:
        """Return the token with this hash. None if there is none, or it or its current secret has expired."""
        ...

    async def by_family(self, family: str, now: datetime) -> ApiToken | None:
        """Return the token of this family of refresh tokens. None if there is none, or it has expired."""
        ...

    async def rotate(self, id_: int, hash_: str, refreshing: Refreshing) -> bool:
        """Give the token another secret, if its valid refresh token is still `refreshing.before`. Whether it was."""
        ...

    async def mark_used(self, id_: int, now: datetime) -> None:
        """Record that the token is used now."""
        ...

    async def by_id(self, id_: int, now: datetime) -> ApiToken | None:
        """Return the token. None if it was revoked, or has expired."""
        ...

    async def all(self, limit: int) -> list[ApiToken]:
        """Return all tokens in the order of their ids, also expired ones."""
        ...

    async def of_person(self, person: str) -> list[ApiToken]:
        """Return the person's tokens in the order of their ids, also expired ones."""
        ...

    async def revoke(self, ids: Collection[int]) -> int:
        """Delete these tokens. Returns how many there were."""
        ...
