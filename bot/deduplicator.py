"""What happens once, whichever process is told of it how often, and leaves nothing behind that would tell.

Rule: the latest of each source are kept, as hashes: platforms deliver an event twice within minutes, and nobody reads
out of them who asked for what.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, TypeVar

from agent.errors import CogencyError, StoreError
from agent.ports import Preferences
from bot.texts import reply_texts

T = TypeVar("T")

DONE: Final = "done"
MOST: Final = 300
"""As many as people of one source order within minutes."""
MARK_CHARS: Final = 16
TRIES: Final = 9
"""How often a mark is set anew because another process set one at that moment."""


@dataclass(frozen=True, slots=True)
class Deduplicator:
    preferences: Preferences

    async def claim_once(self, source: str, what: str) -> bool:
        """Whether it comes for the first time. Raises StoreError."""
        mark = _mark(what)
        return await self._change(source, lambda marks: None if mark in marks else [*marks, mark][-MOST:])

    async def run_once(self, source: str, what: str, do: Callable[[], Awaitable[T]]) -> T | None:
        """Do it if it comes for the first time, else None. If it fails the next time counts as the first."""
        if not await self.claim_once(source, what):
            return None
        try:
            return await do()
        except CogencyError:
            mark = _mark(what)
            await self._change(source, lambda marks: [one for one in marks if one != mark])
            raise

    async def _change(self, source: str, change: Callable[[list[str]], list[str] | None]) -> bool:
        """Whether there was something to change, whoever else changes it at the same moment."""
        owner = f"source:{source}"
        for _ in range(TRIES):
            before = (await self.preferences.of(owner)).get(DONE)
            after = change((before or "").split())
            if after is None:
                return False
            if await self.preferences.swap(owner, DONE, before, " ".join(after)):
                return True
        raise StoreError(reply_texts.TOO_MUCH_AT_ONCE)


def _mark(what: str) -> str:
    return sha256(what.encode()).hexdigest()[:MARK_CHARS]
