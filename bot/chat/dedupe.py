"""Events that were seen before: platforms deliver an event again when the answer to it was late."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, TypeVar

from agent.errors import CogencyError, StoreError
from agent.ports.preferences import Preferences
from bot.chat.texts import replies as reply_texts

T = TypeVar("T")

DONE: Final = "done"
MARK_CHARS: Final = 16
# Marks are spread over rows by their first characters, in 256 parts: many people act at the same moment, and of two
# changes of one row only one succeeds.
PART_CHARS: Final = 2
MAX_MARKS: Final = 40  # In one part; in all parts, more than the people of one source cause within minutes
TRIES: Final = 9  # How often a change is tried again because another one was made at that moment


@dataclass(frozen=True, slots=True)
class Deduplicator:
    """Runs an action once, no matter how often and in which processes its event is delivered.

    Rule: only the latest actions of each source are stored, because platforms redeliver within minutes; and only as
    hashes, which do not show who asked for what.
    """

    preferences: Preferences

    async def claim_once(self, source: str, what: str) -> bool:
        """Return whether `what` is new among the latest of this source. Raises StoreError."""
        mark = mark_of(what)
        return await self._change(source, mark, lambda marks: None if mark in marks else [*marks, mark][-MAX_MARKS:])

    async def run_once(self, source: str, what: str, do: Callable[[], Awaitable[T]]) -> T | None:
        """Run `do` if `what` is new, else return None. If it fails, `what` counts as new again."""
        if not await self.claim_once(source, what):
            return None
        try:
            return await do()
        except CogencyError:
            mark = mark_of(what)
            await self._change(source, mark, lambda marks: [other for other in marks if other != mark])
            raise

    async def _change(self, source: str, mark: str, change: Callable[[list[str]], list[str] | None]) -> bool:
        """Apply `change` to the marks in the part of this one, trying again if another change was made meanwhile; False
        if there was nothing to change.
        """
        owner = f"source:{source}:{mark[:PART_CHARS]}"
        for _ in range(TRIES):
            before = (await self.preferences.all_of(owner)).get(DONE)
            after = change((before or "").split())
            if after is None:
                return False
            if await self.preferences.swap(owner, DONE, before, " ".join(after)):
                return True
        raise StoreError(reply_texts.TOO_MUCH_AT_ONCE)


def mark_of(what: str) -> str:
    """Return the hash under which an action is stored."""
    return sha256(what.encode()).hexdigest()[:MARK_CHARS]
