"""Signing in to a program by a code from the chat: the codes, and the grants that programs exchange for tokens.

Theory of operation. A person asks the bot for a code in a direct message, and enters it on the bot's own page, which
their program has opened. The page sends the program a grant, which it exchanges for a token. Codes and grants are
preferences of the person: any process can read them, they are replaced by newer ones, and fall with the person. Only
digests of them are stored.

Rules
  A code and a grant are valid once, and for a short time.
  A grant is bound to its program, its address, and the program's challenge (PKCE).
"""

import json
from base64 import b32encode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from typing import Final

from agent.ports.api_tokens import TokenScope
from agent.ports.clock import Clock
from agent.ports.preferences import Preferences

CODE_TIME: Final = timedelta(minutes=10)
GRANT_TIME: Final = timedelta(minutes=1)  # A program exchanges it at once
CODE_CHARS: Final = 12  # Of 32 characters each: 60 bits, which a person can still type
_CODE: Final = "sign_in_code"  # The name of the preference
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
        code = b32encode(sha256(self.new_secret().encode()).digest())[:CODE_CHARS].decode()
        await self._keep(person, _CODE, code, CODE_TIME)
        return "-".join(code[at : at + 4] for at in range(0, CODE_CHARS, 4))

    async def person_of(self, code: str) -> str | None:
        """Use up a code; return its person. None if it is not valid."""
        entered = "".join(sign for sign in code.upper() if sign.isalnum())
        found = await self._take(_CODE, entered)
        return None if found is None else found[0]

    async def grant(self, person: str, request: GrantRequest) -> str:
        """Return a grant of this person, in place of an earlier one."""
        grant = self.new_secret()
        bound = [request.client, request.redirect, request.challenge]
        more = [*sorted(request.scopes), *([_REFRESHES] if request.refreshes else [])]
        await self._keep(person, _GRANT, grant, GRANT_TIME, _digest(bound), *more)
        return grant

    async def exchange(self, grant: str, client: str, redirect: str, verifier: str) -> Granted | None:
        """Use up a grant, also if the rest is wrong. None if anything is not valid."""
        found = await self._take(_GRANT, grant)
        if found is None:
            return None
        person, (bound, *scopes) = found
        if not compare_digest(bound, _digest([client, redirect, challenge_of(verifier)])):
            return None
        return Granted(person, frozenset(map(TokenScope, {*scopes} - {_REFRESHES})), _REFRESHES in scopes)

    async def _keep(self, person: str, name: str, secret: str, lasts: timedelta, *more: str) -> None:
        value = " ".join([(self.clock.now() + lasts).isoformat(), _digest([secret]), *more])
        await self.preferences.set(person, name, value)

    async def _take(self, name: str, secret: str) -> tuple[str, list[str]] | None:
        """Delete the stored value of this secret; return its owner, and what is stored with it."""
        digest, now = _digest([secret]), self.clock.now()
        for person, value in await self.preferences.all_named(name):
            expires, stored, *more = value.split(" ")
            if compare_digest(stored, digest):
                is_ours = await self.preferences.swap(person, name, value, f"{expires} used")
                await self.preferences.set(person, name, None)
                return (person, more) if is_ours and now < datetime.fromisoformat(expires) else None
        return None


def challenge_of(verifier: str) -> str:
    """Return the challenge of a PKCE verifier, by its method S256."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")


def _digest(texts: list[str]) -> str:
    return sha256(json.dumps(texts).encode()).hexdigest()
