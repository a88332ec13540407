"""Incoming messages, as the platforms' adapters make them.

Rules: every time is aware, in UTC. The platforms' adapters make the ids, which are opaque everywhere else; here and in
`agent.ports` they have these names and forms. Ids that begin with a platform's name are unique across platforms.

    source          where messages come from     "slack:T0123", "discord", "terminal:9f2c1b" (one process)
    person          one user of one platform     "slack:T0123:U0123", "discord:80351110224678912", "terminal:ann"
    conversation    a thread or its equivalent   "slack:T0123:C0123:1712345678.000100", "discord:41771983423143937"
    audience        a label of a place           "person:slack:T0123:U0123", "group:slack:T0123:C0123", "team:discord:2"
    channel         the platform's own id        "C0123", "41771983423143937"
    message_id      unique in its channel        "1712345678.000100", "1234567890123456789"
    event_id        unique in its source         "Ev0123", "1234567890123456789"
    page            the message of a reply page  "1712345678.000200", "41771983423143937/1234567890123456789"
    turn, message   rows of the store            12, also as `id` of a stored value; the id of a fact is "12"
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agent.admission_terms import Authority
from agent.memory.audience import Place
from agent.messages import Depth, Image
from agent.turn_kinds import TurnKind


def platform_of(id_: str) -> str:
    """The platform of a source or of a person's id: "slack" of "slack:T1:U7"."""
    return id_.partition(":")[0].casefold()


def person_source(person: str) -> str:
    """The source of a person's messages: "slack:T1" of "slack:T1:U7", "discord" of "discord:7"."""
    return person.rpartition(":")[0]


@dataclass(frozen=True, slots=True)
class Person:
    """One user of one platform. `name` is the name that the platform shows; `time_zone` is an IANA name
    ("Europe/Berlin"), "" if it is unknown: times are then written and read in UTC, and say so.
    """

    id: str
    name: str
    time_zone: str = ""


@dataclass(frozen=True, slots=True)
class Quoted:
    """Text that came with a message without being part of it: the thread before a mention, the message replied to, a
    linked message, an attached text file. It is context under the place's audience and is kept only while the turn
    runs.

    `source` describes it for the model ("earlier in this thread", "attached file notes.md"). `pages`: the page ids that
    the quoted message would have if it were a page of a reply.
    """

    source: str
    author: str
    text: str
    pages: tuple[str, ...] = ()
    by_bot: bool = False
    """The bot wrote it, or nobody knows who did."""


ATTACHED: Final = "attached file"  # The source of a file that belongs to the message itself


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message and has not been read yet; kept only while the turn runs.

    `name`, `media_type` and `size` (bytes, 0 if unknown) come from the platform; its adapter fetches the file by
    `address`, "" if it cannot be fetched. `spoken`: a voice message that takes the place of written text. `source`
    describes the file for the model; `author` is its sender.
    """

    name: str
    media_type: str
    size: int
    address: str
    author: str = ""
    spoken: bool = False
    source: str = ATTACHED
    by_bot: bool = False
    """The bot posted it, or nobody knows who did."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message to the bot, read from a platform's event by an `inbound` module.

    Deduplicated on (`source`, `event_id`) and on (`channel`, `message_id`): platforms deliver an event again, and
    one mention may arrive as two events. `permalink` is an address on the web. `reply_to` holds what the platform's
    surface needs to answer in place, in the platform's own form.
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
    """The platform's own ids of the person's roles or user groups there: "S0123", "41771983423143936"."""
    team: str = ""
    """The platform's own id of the workspace or server, "T0123"; "" where there is none."""
    organization: str = ""
    """The name of that workspace or server, if the person is a member of it."""
    model: str = ""
    """The model that the person chose for this question only, "openai:gpt-6-luna"; "" for their usual one."""
    own: bool = True
    """The text is the person's own; False: the words of a schedule or a notice, which a model may have written."""
    kind: TurnKind = TurnKind.QUESTION
    hook: str = ""
    """The name of the webhook whose event began the turn."""
    schedule: int | None = None
    """The number of the schedule that began the turn, or that a notice is about."""


# The prefix of the name of a preference that holds a question which its platform cannot accept yet. The value is JSON
# with its `text`, the time when it was `asked`, and the `conversations` with which it is forgotten.
UNASKED: Final = "asked:"
