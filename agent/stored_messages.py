"""Messages and conversations, as the store returns them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from agent.memory.audience import WIDE


class Author(StrEnum):
    PERSON = "person"
    BOT = "bot"


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """One message of a conversation, unabridged. `audience` is a label (see `agent.memory.audience.label`).

    `person` is its writer, or for a message of the bot the person whom it answered. `drawn_from`: see
    `agent.memory.audience`. `relayed`: in this message the bot may relay what other people wrote (`agent.progress`).
    """

    id: int
    conversation: str
    author: Author
    person: str
    name: str
    text: str
    time: datetime
    audience: str
    message_id: str | None = None
    permalink: str | None = None
    drawn_from: str = WIDE
    relayed: bool = True
    own: bool = True
    """A person's message holds their own words; False: those of a schedule, as in `Incoming`."""


@dataclass(frozen=True, slots=True)
class AttachedMessage:
    """A message with attached files, whose names are in its last line, and its ids on its platform."""

    id: int
    conversation: str
    channel: str
    message_id: str
    person: str
    name: str
    text: str
    time: datetime
    audience: str


@dataclass(frozen=True, slots=True)
class LastSeen:
    """A conversation, and the newest message that a person wrote there."""

    conversation: str
    channel: str
    message_id: str
    time: datetime


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation in a person's list of conversations. `title`: the beginning of its first question, on one line, in
    which no quotation and no name is known as such any more. `own`: that question holds only the person's own words.
    """

    conversation: str
    title: str
    last: datetime
    messages: int
    own: bool = False
