"""Signing in to a program by a code from the chat: the codes, and the grants that programs exchange for tokens.

Theory of operation. A person asks the bot for a code in a direct message, and enters it on the bot's own page, which
their program has opened. The page sends the program a grant, which it exchanges for a token. Both are one-time codes
(`bot.chat.one_time_codes`).

Rule: a grant is bound to its program, its address, and the program's challenge (PKCE).
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from hmac import compare_digest
from typing import Final

from agent.ports.api_tokens import TokenScope
from agent.ports.clock import Clock
from agent.ports.preferences import Preferences
from bot.chat.one_time_codes import OneTimeCodes, digest

GRANT_TIME: Final = timedelta(minutes=1)  # A program exchanges it at once
_CODE: Final = "sign_in_code"  # The names of the preferences
_GRANT: Final = "sign_in_grant"
_REFRESHES: Final = "refreshes"  # Among the scopes of a stored grant


@dataclass(frozen=True, slots=True)
class GrantRequest:
    """What a program asks for. `client`: its id; `redirect`: where its person's browser returns to; `challenge`: the
    digest of what the program knows (PKCE).
    """

    client: str
    redirect: str
    challenge: str
    scopes: frozenset[TokenScope]
    refreshes: bool = False
    """The program gets new secrets of its token by itself."""


@dataclass(frozen=True, slots=True)
class Granted:
    person: str
    scopes: frozenset[TokenScope]
    refreshes: bool = False


@dataclass(frozen=True, slots=True)
class SignIns:
    """`new_secret`: returns 256 random bits as text. Every method raises StoreError."""

    preferences: Preferences
    clock: Clock
    new_secret: Callable[[], str]

    async def new_code(self, person: str) -> str:
        """Return a new code of a person, in place of an earlier one: "ABCD-EFGH-IJKL"."""
        return await self._codes(_CODE).new(person)

    async def person_of(self, code: str) -> str | None:
        """Use up a code; return its person. None if it is not valid."""
        return await self._codes(_CODE).person_of(code)

    async def grant(self, person: str, request: GrantRequest) -> str:
        """Return a grant of this person, in place of an earlier one."""
        grant = self.new_secret()
        bound = [request.client, request.redirect, request.challenge]
        more = [*sorted(request.scopes), *([_REFRESHES] if request.refreshes else [])]
        await self._codes(_GRANT).keep(person, grant, GRANT_TIME, digest(bound), *more)
        return grant

    async def exchange(self, grant: str, client: str, redirect: str, verifier: str) -> Granted | None:
        """Use up a grant, also if the rest is wrong. None if anything is not valid."""
        found = await self._codes(_GRANT).take(grant)
        if found is None:
            return None
        person, (bound, *scopes) = found
        if not compare_digest(bound, digest([client, redirect, challenge_of(verifier)])):
            return None
        return Granted(person, frozenset(map(TokenScope, {*scopes} - {_REFRESHES})), _REFRESHES in scopes)

    def _codes(self, name: str) -> OneTimeCodes:
        return OneTimeCodes(self.preferences, self.clock, self.new_secret, name)


def challenge_of(verifier: str) -> str:
    """Return the challenge of a PKCE verifier, by its method S256."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")
