"""What people write, and what is kept of it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from agent.authority import Authority
from agent.memory.audience import Place
from agent.messages import Depth, Image


@dataclass(frozen=True, slots=True)
class Person:
    """One user of one platform, named as the platform names them."""

    id: str
    name: str
    time_zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Quoted:
    """Text that came with a message without being part of it: the thread before a mention, the message replied to, a
    linked message, an attached text file. Context under the place's audience; kept only while the turn runs.

    `source` says what it is in words for the model ("earlier in this thread", "attached file notes.md").
    """

    source: str
    author: str
    text: str


ATTACHED: Final = "attached file"
"""The source of a file that belongs to the message itself."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message, before anybody has read it; kept only while the turn runs.

    `name`, `media_type` and `size` (bytes, 0 if unknown) are what the platform says of it; `address` is what its
    adapter fetches it by, "" where it cannot be had. `spoken`: it is what the message says, in place of written words.
    `source` says what it is in words for the model, `author` who sent it.
    """

    name: str
    media_type: str
    size: int
    address: str
    author: str = ""
    spoken: bool = False
    source: str = ATTACHED


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message to the bot, read from a platform's event by an `inbound` module.

    Deduplicated on (`source`, `event_id`) and on (`channel`, `message_id`): platforms deliver an event again, and
    one mention may arrive as two events. `reply_to` is whatever the platform's surface needs to answer in place.
    """

    source: str
    event_id: str
    channel: str
    message_id: str
    conversation: str
    person: Person
    place: Place
    text: str
    time: datetime
    permalink: str | None = None
    reply_to: str = ""
    quoted: tuple[Quoted, ...] = ()
    images: tuple[Image, ...] = ()
    """Pictures that came with the message; kept only while the turn runs."""
    files: tuple[Attachment, ...] = ()
    """Files that came with the message, to be read when its turn runs."""
    depth: Depth = Depth.ADAPT
    authority: Authority = Authority.EMPLOYEE
    roles: frozenset[str] = frozenset()
    """The platform's ids of the person's roles there."""
    team: str = ""
    """The platform's id of the workspace or server; "" where there is none."""
    organization: str = ""
    """What that workspace or server is called, if the person is a member of it."""
    model: str = ""
    """The model that the person chose for this question alone; "" for the one that answers them else."""


class Author(StrEnum):
    PERSON = "person"
    BOT = "bot"


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """One message of a conversation, whole. `audience` is a label (see `agent.memory.audience.label`).

    `person` is who wrote it; for a message of the bot, whom it answered.
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


@dataclass(frozen=True, slots=True)
class LastSeen:
    """A conversation, and the newest message that somebody wrote there, by the platform's ids."""

    conversation: str
    channel: str
    message_id: str
    time: datetime


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation as its person sees it in a list: newest first, titled by its first question."""

    conversation: str
    title: str
    last: datetime
    messages: int
