"""The values that cross the boundary to the store: incoming messages, stored records, search results.

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

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, StrEnum, auto
from typing import Final, TypeAlias

from agent.admission_terms import Authority
from agent.events import Outcome
from agent.memory.audience import WIDE, Place, may_be_used
from agent.memory.facts import Fact
from agent.memory.layers import WorkingItem
from agent.memory.periods import TimeSpan
from agent.memory.profile import ProfileEntry, UserProfile
from agent.messages import Depth, Image, ModelCall, SharedFile, ToolCall, Usage
from agent.state import ActionRecord, LastActions, SituationSummary
from agent.turn_kinds import TurnKind


def platform_of(id_: str) -> str:
    """The platform of a source or of a person's id: "slack" of "slack:T1:U7"."""
    return id_.partition(":")[0].casefold()


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
    schedule: int | None = None
    """The number of the schedule that began the turn, or that a notice is about."""


class Author(StrEnum):
    PERSON = "person"
    BOT = "bot"


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """One message of a conversation, unabridged. `audience` is a label (see `agent.memory.audience.label`).

    `person` is its writer, or for a message of the bot the person whom it answered. `drawn_from`: see
    `agent.memory.audience`. `retold`: in this message the bot may retell what other people wrote (`agent.progress`).
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
    retold: bool = True
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
    """A conversation in a person's list of conversations. `title`: its first question."""

    conversation: str
    title: str
    last: datetime
    messages: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A turn that this worker runs. Every later write carries `epoch`, so a worker that lost its lease changes nothing.

    `progress` and `reply_ref` are the values that `Ledger.save` stored last ("" at first): the steps done and the pages
    shown so far. `message` is the row id of the question. `attempts` counts the claims since the turn last made
    progress, this one included. `stopping`: a stop was requested while it waited. `withdrawn`: its question was deleted
    since.
    """

    turn: int
    epoch: int
    owner: str
    incoming: Incoming
    message: int
    attempts: int = 1
    progress: str = ""
    reply_ref: str = ""
    stopping: bool = False
    withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class Claiming:
    """A worker with a free slot, and the turns that it may be given. See `Ledger.claim`.

    `sources`: only turns from these sources, for a process that cannot show replies elsewhere; None: from any source.
    `works`: whether it may be given long work (`agent.schedules`).
    """

    owner: str
    now: datetime
    lease: timedelta
    per_person: int | None = None
    sources: frozenset[str] | None = None
    works: bool = True
    waits: bool = False
    """Whether the asker waits in this process: until the lease expires (see `hold_place`), no other process takes their
    question over."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The turn that an incoming message began; `duplicate` if the message was accepted before. `claim`: the turn that
    was claimed along with it, which is this turn or one before it.
    """

    turn: int
    duplicate: bool
    claim: Claim | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """The number of turns that run and that wait."""

    running: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Job:
    """Work outside of turns that this worker does: learning, a reminder, a clean-up. Later writes carry `epoch`.

    `kind` is the name of its handler ("learn"), `key` its subject, `owner` the worker's id, and `payload` the input of
    the handler, which names messages by their ids and does not repeat their text. It is forgotten with `person` and
    with `conversation` ("" for none). `attempts` counts claims, this one included.
    """

    id: int
    epoch: int
    owner: str
    kind: str
    key: str
    payload: str
    run_at: datetime
    person: str = ""
    conversation: str = ""
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class SealedSignIn:
    """A pending sign-in at a tool server; `sealed` can be read only with the key."""

    person: str
    server: str
    sealed: bytes


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message that waits for the turn before it to end: its own turn, its row id, its text."""

    turn: int
    message: int
    text: str


@dataclass(frozen=True, slots=True)
class Known:
    """The input of a turn's context: the conversation before it, and what may be used of its person there.

    `said`: the earlier messages, oldest first. `actions`: the last actions, if there is no summary.
    """

    said: Sequence[StoredMessage]
    summary: SituationSummary
    actions: LastActions
    facts: Sequence[Fact]
    profile: UserProfile
    wrote_elsewhere: bool = False  # the question may be about that
    working_set: Sequence[WorkingItem] = ()
    covered: int = 0  # the id of the last message that the summary covers
    something_shared: bool = False
    reminded: Sequence[tuple[int, StoredMessage]] = ()  # recent messages of their schedules there, with the numbers


class ConsentOutcome(Enum):
    """The result of an asker's decision about a call."""

    KEPT = auto()
    """Stored; the turn waits for a decision about another call."""
    GOES_ON = auto()
    ALLOWED_BEFORE = auto()
    REFUSED_BEFORE = auto()
    NOT_THEIRS = auto()
    OVER = auto()
    """The turn no longer waits: it was stopped or forgotten, or the time is over."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """A call that waits for its asker's decision. `key`: see `agent.progress.consent_key`; `asked`: the question."""

    turn: int
    key: str
    call: ToolCall
    asked: str


@dataclass(frozen=True, slots=True)
class PutAside:
    """A turn that waits, no longer than `until`, for its asker's decision about these calls."""

    calls: Mapping[str, ToolCall]
    until: datetime


@dataclass(frozen=True, slots=True)
class Closing:
    """Everything that a finished turn stores, written in one transaction.

    `context_messages` and `context_facts` are the ids of the contents of the turn's context, so that forgetting one of
    them finds what was derived from it; for the profile they are the messages behind its entries, because entries are
    merged. `reply` may be "" (stopped before the first word): then no message is stored.
    """

    outcome: Outcome
    reply: str
    pages: tuple[str, ...] = ()
    summary: SituationSummary | None = None
    """The changed fields of the conversation's summary."""
    actions: tuple[ActionRecord, ...] = ()
    files: tuple[SharedFile, ...] = ()
    """Attached below the reply, and not stored."""
    calls: tuple[ModelCall, ...] = ()
    """Every model call of the turn."""
    footer: str = ""
    """Shown under the reply, and not stored: the model and its usage."""
    kept: str = ""
    scheduled: str = ""
    """Shown like the footer: the facts kept about the asker (`kept`), and the schedules made (`scheduled`)."""
    joined: tuple[Waiting, ...] = ()
    """Waiting messages that this reply answers as well: their turns end with it, unless they were edited since."""
    context_messages: tuple[int, ...] = ()
    given_messages: tuple[int, ...] = ()
    """Those of them that tools brought into the context: the model had asked for them."""
    context_facts: tuple[str, ...] = ()
    learn_at: datetime | None = None
    """When to learn from the question; None: nothing is learned from it."""
    summarise_until: int | None = None
    """Summarise the conversation in the background up to the message with this id; None: it is not needed."""
    passed_over: bool = False
    """Never learn from the question, also after an edit: learning is paused."""
    drawn_from: str = WIDE
    """The audience of the tools' results, if not all readers of the reply may read them (`agent.memory.audience`)."""
    invented: int = 0
    """The number of citations without a result, which were removed from the reply."""
    retold: bool = True
    """Whether the turn held text of people other than its asker, which the reply may retell."""

    @property
    def used_tools(self) -> bool:
        return any(record.calls for record in self.actions)

    @property
    def usage(self) -> Usage:
        return sum((call.usage for call in self.calls), Usage())


Remembered: TypeAlias = Fact | ProfileEntry  # One entry of what is known about a person, as it is shown to them


@dataclass(frozen=True, slots=True)
class Meaning:
    """The embedding of a text: a vector that can be compared only with vectors of the same model.

    `weight`: the score of the nearest message relative to the best match by words (`Embedder.weight`).
    """

    model: str
    vector: tuple[float, ...]
    weight: float = 0.8


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A message without a vector: its row id, the person whose conversation it is in (for the bill), its text."""

    id: int
    person: str
    text: str


@dataclass(frozen=True, slots=True)
class Embedded:
    """A vector for each text, all of the same length, and the model call; None if no model was called."""

    vectors: tuple[tuple[float, ...], ...]
    call: ModelCall | None


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """A search of one person's past threads, for a reply in one place.

    `audiences` holds the labels that may flow into that reply (`may_flow_from`); the store filters inside its query.
    `periods` are the times that the text mentions: messages of these times come first. Three fields are filters:
    `within` by time, `author` by the kind of writer, `by` by the name or id of a person. With a `meaning`, messages of
    a similar meaning are found too, if they have vectors of its model. `wordings` express the text in other words: each
    is searched separately, and messages that rank high in most of the searches come first.
    """

    person: str
    text: str
    audiences: frozenset[str]
    exclude_conversation: str
    """The current conversation: only its messages before `visible_from` (an id) are found; the model sees the rest."""
    limit: int = 10
    periods: tuple[TimeSpan, ...] = ()
    within: TimeSpan | None = None
    author: Author | None = None
    by: str = ""
    meaning: Meaning | None = None
    visible_from: int = 0
    wordings: tuple[str, ...] = ()
    shared: bool = False
    """Also search what other people share with their team (`agent.memory.documents.SHARING`)."""

    def admits(self, message: StoredMessage) -> bool:
        """Return whether the message may flow into the reply."""
        is_current = message.conversation == self.exclude_conversation
        return may_be_used(message.audience, message.drawn_from, self.audiences, here=is_current)


@dataclass(frozen=True, slots=True)
class Hit:
    """A found message; a neighbouring message that helps is a separate hit. `shared`: by others, in a thread."""

    message: StoredMessage
    score: float
    shared: bool = False


class ReplyVerdict(StrEnum):
    GOOD = "good"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Answered:
    """A reply that a platform shows, and the question that it answers. `person`: the asker's id."""

    turn: int
    source: str
    conversation: str
    channel: str
    message_id: str
    person: str
    question: str
    audience: str
    """The label of those who could read the question."""
    pages: tuple[str, ...]
    kind: TurnKind = TurnKind.QUESTION


# The kind of job that deletes one page of a reply on its platform, or clears other shown text; its payload is a
# `ShownPage`.
DELETE_REPLY: Final = "delete_reply"
INDEXING: Final = "indexing"  # The kind of job whose steps `Memories.index_more` does
# The prefix of the id of an ephemeral page: only one person sees it, and it cannot be deleted later.
EPHEMERAL_PAGE: Final = "@"


class ShownReply(StrEnum):
    """Where a platform shows text of a person on the bot's behalf, and what the job does about it."""

    PAGE = "page"
    """A page of a reply: it is deleted."""
    TITLE = "title"
    """The name of a thread, taken from its first question; `ShownPage.page` is the conversation. It gets a neutral
    name."""
    HOME = "home"
    """A person's own page about what is remembered; `ShownPage.page` is the person. It is rendered again."""
    KEPT = "kept"
    """A line of a page about a remembered fact that is gone: the line says so, and its button is removed."""


@dataclass(frozen=True, slots=True)
class ShownPage:
    """One page of a reply that a platform shows, by the platform's ids; or something else (`what`)."""

    source: str
    channel: str
    page: str
    what: ShownReply = ShownReply.PAGE

    @property
    def key(self) -> str:
        return " ".join(
            [self.source, self.channel, self.page, *([self.what] if self.what is not ShownReply.PAGE else [])]
        )

    def encode(self) -> str:
        return json.dumps([self.source, self.channel, self.page, self.what])

    @classmethod
    def decode(cls, stored: str) -> "ShownPage":
        source, channel, page, *what = json.loads(stored)
        return cls(source, channel, page, ShownReply(*what) if what else ShownReply.PAGE)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What forgetting erased, and what the search for proof found afterwards.

    `erased` counts rows by kind ("messages", "facts", …) and the "conversations" in which something was erased, as a
    preview does. `found_again` counts what a search for the erased texts still found: 0 is the proof. `bytes_gone`:
    the database files hold none of the erased bytes. `kept_by_server`: a database server holds the files, so this
    process cannot check them: its files, its log and its backups follow the operator's vacuum and retention.
    """

    erased: dict[str, int]
    found_again: int
    bytes_gone: bool
    kept_by_server: bool = False
    replies: int = 0
    """Pages of the bot's replies that are being deleted on the platform."""
    kept: int = 0
    """Those that stay there, because that was chosen."""
    ephemeral: int = 0
    """Those that stay there until their reader dismisses them: no platform lets the bot delete them."""
    related: int = 0
    """Messages that are kept and may have been derived from what is gone."""
    documents: int = 0
    """Documents that the person added there, which belong to their place: they stay."""


# The prefix of the name of a preference that holds a question which its platform cannot accept yet. The value is JSON
# with its `text`, the time when it was `asked`, and the `conversations` with which it is forgotten.
UNASKED: Final = "asked:"


# Regenerated answers: the question is stored again.
#
# Rule: the repeat is stored under an id that is made of the id of its message. What happens to the message happens to
# its repeats, too.

# How often one question can be answered again: when any message is deleted, the database looks for each repeat.
MAX_REPEATS: Final = 5

_REPEAT: Final = re.compile(r"again:(?P<original>.+):(?P<number>\d{1,3})")


def repeat_of(message_id: str) -> str | None:
    """The id of the next repeat of a question, or of a repeat; None after MAX_REPEATS."""
    match = _REPEAT.fullmatch(message_id)
    original, number = (match["original"], int(match["number"])) if match else (message_id, 0)
    return _repeat_id(original, number + 1) if number < MAX_REPEATS else None


def repeats_of(message_id: str) -> tuple[str, ...]:
    """The ids of all possible repeats of this message, in order."""
    return tuple(_repeat_id(message_id, number) for number in range(1, MAX_REPEATS + 1))


def repeats_with(message_id: str) -> tuple[str, ...]:
    """The ids of the message and of all its repeats, for the id of the message or of one repeat."""
    original = message_of(message_id)
    return (original, *repeats_of(original))


def message_of(message_id: str) -> str:
    """The id of the original message, for its own id or that of a repeat."""
    match = _REPEAT.fullmatch(message_id)
    return match["original"] if match else message_id


def is_repeat(message_id: str) -> bool:
    return _REPEAT.fullmatch(message_id) is not None


def _repeat_id(original: str, number: int) -> str:
    return f"again:{original}:{number}"
