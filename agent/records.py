"""The values that cross the boundary to the store: what comes in, what is kept, what is found.

Rules: every time is aware, in UTC. Ids are made by the platforms' adapters and opaque everywhere else; here and in
`agent.ports` they have these names and forms. Those that begin with a platform's name are unique across platforms.

    source          where messages come from     "slack:T0123", "discord", "terminal:9f2c1b" (one process)
    person          one user of one platform     "slack:T0123:U0123", "discord:80351110224678912", "terminal:ann"
    conversation    a thread, or what is as one  "slack:T0123:C0123:1712345678.000100", "discord:41771983423143937"
    audience        a label of a place           "person:slack:T0123:U0123", "group:slack:T0123:C0123", "team:discord:2"
    channel         the platform's own id        "C0123", "41771983423143937"
    message_id      its own, in its channel      "1712345678.000100", "1234567890123456789"
    event_id        its own, in its source       "Ev0123", "1234567890123456789"
    page            its own, of a reply's page   "1712345678.000200", "41771983423143937/1234567890123456789"
    turn, message   rows of the store            12, also as `id` of what is stored; a fact's is "12"
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


def platform_of(id_: str) -> str:
    """The platform of a source or of a person's id: "slack" of "slack:T1:U7"."""
    return id_.partition(":")[0].casefold()


@dataclass(frozen=True, slots=True)
class Person:
    """One user of one platform. `name` is what the platform shows; `time_zone` an IANA name ("Europe/Berlin"), "" if
    nobody knows it: times are then told and read in UTC, and say so.
    """

    id: str
    name: str
    time_zone: str = ""


@dataclass(frozen=True, slots=True)
class Quoted:
    """Text that came with a message without being part of it: the thread before a mention, the message replied to, a
    linked message, an attached text file. Context under the place's audience; kept only while the turn runs.

    `source` says what it is in words for the model ("earlier in this thread", "attached file notes.md"). `pages`: what
    the message that it is would be called if it were a page of a reply.
    """

    source: str
    author: str
    text: str
    pages: tuple[str, ...] = ()


ATTACHED: Final = "attached file"  # The source of a file that belongs to the message itself


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
    one mention may arrive as two events. `permalink` is an address on the web. `reply_to` is whatever the platform's
    surface needs to answer in place, in a form of its own.
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
    """What that workspace or server is called, if the person is a member of it."""
    model: str = ""
    """The model that the person chose for this question alone, "openai:gpt-6-luna"; "" for their usual one."""


class Author(StrEnum):
    PERSON = "person"
    BOT = "bot"


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """One message of a conversation, whole. `audience` is a label (see `agent.memory.audience.label`).

    `person` is who wrote it; for a message of the bot, whom it answered. `drawn_from`: see there, too.
    `retold`: the bot may tell in it what others wrote than the two of them.
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


@dataclass(frozen=True, slots=True)
class AttachedMessage:
    """What somebody wrote who attached files, whose names stand in its last line; where it stands in its platform."""

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
    """A conversation, and the newest message that somebody wrote there."""

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


@dataclass(frozen=True, slots=True)
class Claim:
    """A turn that this worker runs. Every later write carries `epoch`, so a worker that lost its lease changes nothing.

    `progress` and `reply_ref` are what `Ledger.save` stored last ("" at first): the steps done so far, and the pages
    shown so far. `message` is the row id of the question. `attempts` counts claims since it last got further, this one
    included. `stopping`: somebody has asked to stop it while it waited. `withdrawn`: its question was deleted since.
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
    """A worker with a free place, and what it may be given. See `Ledger.claim`.

    `sources`: only what came from there, for a process that cannot show replies elsewhere; None: from anywhere.
    `works`: whether it may be long work (`agent.schedules`).
    """

    owner: str
    now: datetime
    lease: timedelta
    per_person: int | None = None
    sources: frozenset[str] | None = None
    works: bool = True
    waits: bool = False
    """Whether whoever asks waits here: until the lease has run out (see `hold_place`) their question is not taken
    over."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The turn that an incoming message began; `duplicate` when the message had been taken in before.
    `claim` is what was claimed along with it: this turn, or one that comes before it.
    """

    turn: int
    duplicate: bool
    claim: Claim | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """How many turns run, and how many wait."""

    running: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Job:
    """Work outside of turns that this worker does: learning, a reminder, a clean-up. Later writes carry `epoch`.

    `kind` is its handler's name ("learn"), `key` what it is about, `owner` the worker's id, and `payload` whatever the
    kind of work needs. `person` and `conversation` say with whom it is forgotten ("" if with
    nobody); it names messages by their ids rather than repeat them. `attempts` counts claims, this one included.
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
    """A sign-in at a server of tools that is under way; only who has the key can read what is `sealed`."""

    person: str
    server: str
    sealed: bytes


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message that waits for the turn before it to end: its own turn, its row id, its words."""

    turn: int
    message: int
    text: str


@dataclass(frozen=True, slots=True)
class Known:
    """What a turn begins with: what was said before it in its conversation, and what may be used of its person there.
    `said` is in its order, the oldest first. `actions`: what was done last, where nobody wrote a summary.
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
    reminded: Sequence[tuple[int, StoredMessage]] = ()  # what their schedules, by number, said there lately


class ConsentOutcome(Enum):
    """What became of an asker's word about a call."""

    KEPT = auto()
    """The turn waits for a word about another one."""
    GOES_ON = auto()
    ALLOWED_BEFORE = auto()
    REFUSED_BEFORE = auto()
    NOT_THEIRS = auto()
    OVER = auto()
    """The turn waits no more: it was stopped, forgotten, or the time is over."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """A call that waits for its asker's word. `key`: see `agent.progress.consent_key`; `asked`: the question."""

    turn: int
    key: str
    call: ToolCall
    asked: str


@dataclass(frozen=True, slots=True)
class PutAside:
    """A turn that waits, until then at most, for its asker's word about these calls."""

    calls: Mapping[str, ToolCall]
    until: datetime


@dataclass(frozen=True, slots=True)
class Closing:
    """Everything that a finished turn leaves behind, written in one transaction.

    `context_messages` and `context_facts` are the ids of what stood in the turn's context, so that forgetting one
    of them finds what came of it; of the profile they are the messages that its entries came from, because entries are
    merged. `reply` may be "" (stopped before a word was said): then no message is stored.
    """

    outcome: Outcome
    reply: str
    pages: tuple[str, ...] = ()
    summary: SituationSummary | None = None
    """What is new in the conversation's summary."""
    actions: tuple[ActionRecord, ...] = ()
    files: tuple[SharedFile, ...] = ()
    """Handed over below the reply, and not stored."""
    calls: tuple[ModelCall, ...] = ()
    """Every model call of the turn."""
    footer: str = ""
    """Shown under the reply, and not stored: which model answered, what it took."""
    kept: str = ""
    scheduled: str = ""
    """Shown as the footer is: what was kept of the asker as facts, and what is done at a time because of it."""
    joined: tuple[Waiting, ...] = ()
    """Messages that waited and that this reply answers, too: their turns end with it, unless they were edited since."""
    context_messages: tuple[int, ...] = ()
    given_messages: tuple[int, ...] = ()
    """Those of them that tools brought into it: the model had asked for them."""
    context_facts: tuple[str, ...] = ()
    learn_at: datetime | None = None
    """When to learn from what the person asked; None: nothing is learned from it."""
    summarise_until: int | None = None
    """Up to which message (its id) the conversation is to be summarised in the background; None: it need not be."""
    passed_over: bool = False
    """Nothing ever is, also when it is edited: learning is paused."""
    drawn_from: str = WIDE
    """What its tools brought, where not all may read that who read the reply (see `agent.memory.audience`)."""
    invented: int = 0
    """Citations of what no result had brought: taken out of the reply."""
    retold: bool = True
    """Whether the turn held words of others than its asker and the bot, which the reply may tell again."""

    @property
    def used_tools(self) -> bool:
        return any(record.calls for record in self.actions)

    @property
    def usage(self) -> Usage:
        return sum((call.usage for call in self.calls), Usage())


Remembered: TypeAlias = Fact | ProfileEntry  # What a person is shown of what is known about them


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a text means to a model for embeddings: a vector, to be compared with those of the same model only.
    `weight`: what the nearest message is worth beside the best words (`Embedder.weight`).
    """

    model: str
    vector: tuple[float, ...]
    weight: float = 0.8


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A message without a vector: its row id, whom its conversation turns on (for the bill), its words."""

    id: int
    person: str
    text: str


@dataclass(frozen=True, slots=True)
class Embedded:
    """A vector for each text, all of the same length, and the call that it took; None if nothing was called."""

    vectors: tuple[tuple[float, ...], ...]
    call: ModelCall | None


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """A search of one person's past threads, for a reply in one place.

    `audiences` holds the labels that may flow into that reply (`may_flow_from`); the store filters inside its query.
    `periods` are the times that the text speaks of: what was said then comes first. The rest leaves out what does not
    fit: `within` by time, `author` by who wrote, `by` by a name or an id of a person. With a `meaning`, what means
    something like it is found, too, as far as vectors of its model are kept. `wordings` ask for the same in other
    words: each is searched by itself, and what comes first in most of the searches comes first.
    """

    person: str
    text: str
    audiences: frozenset[str]
    exclude_conversation: str
    """What goes on: of it only what stands before `visible_from` (a message's id) is found; its model sees the rest."""
    limit: int = 10
    periods: tuple[TimeSpan, ...] = ()
    within: TimeSpan | None = None
    author: Author | None = None
    by: str = ""
    meaning: Meaning | None = None
    visible_from: int = 0
    wordings: tuple[str, ...] = ()
    shared: bool = False
    """What others share with their team is looked for, too (`agent.memory.documents.SHARING`)."""

    def admits(self, message: StoredMessage) -> bool:
        """Whether it may flow into the reply."""
        here = message.conversation == self.exclude_conversation
        return may_be_used(message.audience, message.drawn_from, self.audiences, here=here)


@dataclass(frozen=True, slots=True)
class Hit:
    """A found message; what stands beside it is a hit of its own where it helps. `shared`: by others, in a thread."""

    message: StoredMessage
    score: float
    shared: bool = False


class ReplyVerdict(StrEnum):
    GOOD = "good"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Answered:
    """A reply that stands in a platform, and the question that it answers. `person`: the id of who asked."""

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


# The kind of job that deletes one page of a reply in its platform, or clears what else is shown there; its payload is a
# `ShownPage`.
DELETE_REPLY: Final = "delete_reply"
INDEXING: Final = "indexing"  # The kind of job whose steps `Memories.index_more` does
# The id of an ephemeral page begins with this: one person alone sees it, and nobody can delete it later.
EPHEMERAL_PAGE: Final = "@"

# The event id of a question begins with this whose message the bot posted for its asker, who cannot delete it.
POSTED_BY_BOT: Final = "posted:"
# The event id of a question begins with this that a schedule asked in place of its person.
SCHEDULED: Final = "scheduled:"


class ShownReply(StrEnum):
    """What of a person's words a platform shows on the bot's behalf."""

    PAGE = "page"
    """A page of a reply: it is deleted."""
    TITLE = "title"
    """The name of a thread, made of its first question; `ShownPage.page` is the conversation. It gets a plain one."""
    HOME = "home"
    """A person's own page about what is remembered; `ShownPage.page` is the person. It is shown anew."""
    KEPT = "kept"
    """What a page says was remembered, and is no more: the line says that, and its button goes."""


@dataclass(frozen=True, slots=True)
class ShownPage:
    """One page of a reply that stands in a platform, by the platform's ids; or something else (`what`)."""

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

    `erased` counts rows by what they were ("messages", "facts", …), and the "conversations" in which something fell,
    as a preview does. `found_again` counts what a search for the erased texts still found: 0 is the proof.
    `bytes_gone` says whether the database files hold none of the erased bytes;
    `kept_by_server` that a database server keeps them, so that nobody here can say: its files, its log and its backups
    follow the operator's vacuum and retention.
    """

    erased: dict[str, int]
    found_again: int
    bytes_gone: bool
    kept_by_server: bool = False
    replies: int = 0
    """Pages of the bot's replies that are being deleted in the platform."""
    related: int = 0
    """Messages that stay and may have been made of what is gone."""


# A question that its platform cannot take in yet is a preference of its person. So its name begins; its value is JSON
# with its `text`, the time when it was `asked`, and the `conversations` with which it is forgotten.
UNASKED: Final = "asked:"


# Questions that somebody had answered again, and the messages that they came from.
#
# Rule: such a question is kept once more, under an id that is made of its message's. What happens to the message
# happens to these, too.

# How often one question can be answered again: for each, the database is asked when any message is deleted.
MAX_REPEATS: Final = 5

_REPEAT: Final = re.compile(r"again:(?P<first>.+):(?P<number>\d{1,3})")


def repeat_of(message_id: str) -> str | None:
    """The id under which a question is kept when it is answered once more; None if that was often enough."""
    found = _REPEAT.fullmatch(message_id)
    first, number = (found["first"], int(found["number"])) if found else (message_id, 0)
    return _repeat(first, number + 1) if number < MAX_REPEATS else None


def repeats_of(message_id: str) -> tuple[str, ...]:
    """Every id under which this message may be kept again, in their order."""
    return tuple(_repeat(message_id, number) for number in range(1, MAX_REPEATS + 1))


def repeats_with(message_id: str) -> tuple[str, ...]:
    """A message's id, or that of a repeat of it, with all others that stand for the same message."""
    first = message_of(message_id)
    return (first, *repeats_of(first))


def message_of(message_id: str) -> str:
    """The message itself of a question that may have been answered again."""
    found = _REPEAT.fullmatch(message_id)
    return found["first"] if found else message_id


def is_repeat(message_id: str) -> bool:
    return _REPEAT.fullmatch(message_id) is not None


def _repeat(first: str, number: int) -> str:
    return f"again:{first}:{number}"
