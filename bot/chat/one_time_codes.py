"""Codes that the bot shows to one person, and that are entered elsewhere, to prove that they are the same person.

Theory of operation. A code is a preference of its person: any process can read it, a newer one replaces it, and it
falls with the person. Only its digest is stored.

Rule: a code is valid once, and for a short time.
"""

import json
from base64 import b32encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from typing import Final

from agent.ports.clock import Clock
from agent.ports.preferences import Preferences

CODE_TIME: Final = timedelta(minutes=10)
CODE_CHARS: Final = 12  # Of 32 characters each: 60 bits, which a person can still type


@dataclass(frozen=True, slots=True)
class OneTimeCodes:
    """`name`: of the preference. `new_secret`: returns 256 random bits as text. Every method raises StoreError."""

    preferences: Preferences
    clock: Clock
    new_secret: Callable[[], str]
    name: str

    async def new(self, person: str) -> str:
        """Return a new code of a person, in place of an earlier one: "ABCD-EFGH-IJKL"."""
        code = b32encode(sha256(self.new_secret().encode()).digest())[:CODE_CHARS].decode()
        await self.keep(person, code, CODE_TIME)
        return "-".join(code[at : at + 4] for at in range(0, CODE_CHARS, 4))

    async def person_of(self, code: str) -> str | None:
        """Use up a code; return its person. None if it is not valid."""
        found = await self.take("".join(sign for sign in code.upper() if sign.isalnum()))
        return None if found is None else found[0]

    async def keep(self, person: str, secret: str, lasts: timedelta, *more: str) -> None:
        """Store the digest of a secret in place of an earlier one, with what belongs to it: words without blanks."""
        value = " ".join([(self.clock.now() + lasts).isoformat(), digest([secret]), *more])
        await self.preferences.set(person, self.name, value)

    async def take(self, secret: str) -> tuple[str, list[str]] | None:
        """Use up a secret; return its person, and what is stored with it. None if it is not valid."""
        wanted, now = digest([secret]), self.clock.now()
        for person, value in await self.preferences.all_named(self.name):
            expires, stored, *more = value.split(" ")
            if compare_digest(stored, wanted):
                is_ours = await self.preferences.swap(person, self.name, value, f"{expires} used")
                await self.preferences.set(person, self.name, None)
                return (person, more) if is_ours and now < datetime.fromisoformat(expires) else None
        return None


def digest(texts: list[str]) -> str:
    return sha256(json.dumps(texts).encode()).hexdigest()
