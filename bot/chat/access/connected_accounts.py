"""The accounts of one person on several platforms, as this person has connected them.

Rules
  Two accounts are connected only while each says of the other that it is theirs: both have agreed, and what erases
  one of them separates both.
  What one of them said counts only if the other one said it within AGREED_WITHIN: an answer that never came connects
  nothing later.
  No account is connected by way of a third one.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from agent.memory.forgetting_plans import CONNECTED
from agent.ports.preferences import Preferences

MAX_ACCOUNTS: Final = 4  # Besides their own: a person's platforms; each costs searches of its own
AGREED_WITHIN: Final = timedelta(minutes=10)
_PREFIX: Final = f"{CONNECTED} "


@dataclass(frozen=True, slots=True)
class ConnectedAccounts:
    """Every method raises StoreError."""

    preferences: Preferences

    async def of(self, person: str) -> tuple[str, ...]:
        """Return the ids of the person's connected accounts, in order."""
        found = list[str]()
        for account, when in (await self.named_by(person)).items():
            back = (await self.named_by(account)).get(person)
            if back is not None and abs(datetime.fromisoformat(back) - datetime.fromisoformat(when)) <= AGREED_WITHIN:
                found.append(account)
        return tuple(found[:MAX_ACCOUNTS])

    async def named_by(self, person: str) -> dict[str, str]:
        """Return the accounts of which the person said that they are theirs, with when they said so, in ISO format."""
        chosen = await self.preferences.all_of(person)
        return {name.removeprefix(_PREFIX): value for name, value in chosen.items() if name.startswith(_PREFIX)}

    async def naming(self, person: str) -> dict[str, str]:
        """Return those who said that the account of this person is theirs, with when they said so."""
        return dict(await self.preferences.all_named(f"{_PREFIX}{person}"))

    async def name(self, person: str, account: str, when: str) -> None:
        await self.preferences.set(person, f"{_PREFIX}{account}", when)

    async def separate(self, person: str, account: str) -> None:
        """Take back what each of the two said."""
        await self.preferences.set(person, f"{_PREFIX}{account}", None)
        await self.preferences.set(account, f"{_PREFIX}{person}", None)
