"""Platform ids and entries of memory that were forgotten, as keyed hashes: enough to recognize, not to recover one."""

import hashlib
import hmac
from collections.abc import Container
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Final

from sqlmodel import Field

from agent.incoming import Incoming
from store.databases.database import StorableText, UtcDateTime
from store.schema import TableRow, metadata


class ErasedRow(TableRow, table=True):
    """A keyed hash of an erased platform id, so that a redelivery or a catch-up never restores the message, or of an
    erased entry of memory, for a restored database.
    """

    hash: str = Field(sa_type=StorableText, primary_key=True)
    time: datetime = Field(sa_type=UtcDateTime)


erased: Final = metadata.tables["erased"]


# Prefixes of hashes that name a workspace. Versions before r0032 do not know them.
MESSAGE: Final = "message:"
PAGE: Final = "page:"
MEMORY: Final = "memory:"
MARK: Final = "mark:"  # Of a row that is no hash: a mark of one forgetting (`store.recent_writes`)
FORGOTTEN: Final = "forgotten:"
NAME_DIGITS: Final = 16  # Enough to distinguish all people in an audit


@dataclass(frozen=True, slots=True)
class ErasedIds:
    """Hashes under the database's own random key."""

    key: bytes = field(repr=False)

    def of_event(self, source: str, event_id: str) -> str:
        return self._hash("event", source, event_id)

    def of_post(self, source: str, channel: str, message_id: str) -> str:
        return MESSAGE + self._hash("post", source, channel, message_id)

    def of_page(self, source: str, channel: str, page: str) -> str:
        """A page of the bot's own reply: a kind of its own, because surfaces may number pages anew each time."""
        return PAGE + self._hash("page", source, channel, page)

    def of_memory(self, person: str, key: str, text: str) -> str:
        """A fact or a profile entry that was deleted alone, by its text: a restored database uses ids again. It has one
        hash, also if it was learned and deleted again.
        """
        return MEMORY + self._hash("memory", person, key, text)

    def of_message(self, incoming: Incoming) -> tuple[str, ...]:
        """The hashes by which a redelivered message is recognised."""
        event = self.of_event(incoming.source, incoming.event_id)
        return event, *self.all_of_post(incoming.source, incoming.channel, incoming.message_id)

    # Before r0032 these hashes had no prefix and named no workspace: a message that was forgotten then counts as
    # forgotten in each.

    def all_of_post(self, source: str, channel: str, message_id: str) -> tuple[str, str]:
        """The hash of a forgotten message, and that of earlier versions."""
        return self.of_post(source, channel, message_id), self._hash("post", channel, message_id)

    def all_of_page(self, source: str, channel: str, page: str) -> tuple[str, str]:
        """The hash of a page of a forgotten reply, and that of earlier versions."""
        return self.of_page(source, channel, page), self._hash("page", channel, page)

    def of_everything(self, who: str, time: int) -> str:
        """The hash of the fact that all of a person was forgotten, for the first time (0) or a later one."""
        return self._hash("everything", who, str(time))

    def times_forgotten(self, who: str, hashes: Container[str]) -> int:
        """How often all of a person was forgotten, according to these hashes."""
        return next(time for time in count() if self.of_everything(who, time) not in hashes)

    def of_person(self, who: str) -> str:
        """The name of a forgotten person in the audit."""
        return f"{FORGOTTEN}{self._hash('person', who)[:NAME_DIGITS]}"

    def _hash(self, *parts: str) -> str:
        plain = "\0".join(parts).encode("utf-8", "surrogatepass")
        return hmac.new(self.key, plain, hashlib.sha256).hexdigest()
