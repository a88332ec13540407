"""Platform ids that were forgotten, as keyed hashes: enough to know one again, too little to read it. Pure.

Above: ledger (asks), erase (adds). Below: nothing.
"""

import hashlib
import hmac
from dataclasses import dataclass, field

from agent.records import Incoming


@dataclass(frozen=True, slots=True)
class ErasedIds:
    """Hashes under the database's own random key."""

    key: bytes = field(repr=False)

    def of_event(self, source: str, event_id: str) -> str:
        return self._hash("event", source, event_id)

    def of_post(self, channel: str, message_id: str) -> str:
        return self._hash("post", channel, message_id)

    def of_page(self, channel: str, page: str) -> str:
        """A page of the bot's own reply: another kind, because a surface may count its pages anew each time."""
        return self._hash("page", channel, page)

    def of_message(self, incoming: Incoming) -> tuple[str, str]:
        """The two hashes under which a message is known again."""
        return self.of_event(incoming.source, incoming.event_id), self.of_post(incoming.channel, incoming.message_id)

    def _hash(self, *parts: str) -> str:
        plain = "\0".join(parts).encode("utf-8", "surrogatepass")
        return hmac.new(self.key, plain, hashlib.sha256).hexdigest()
