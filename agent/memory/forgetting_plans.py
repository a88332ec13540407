"""Forgetting plans: what can be erased, and what is erased with it. `store.forgetting` carries them out. Pure.

Rules
  Erasing a message also erases the reply to it, what was learned from it, the tool results and summaries derived from
  it, and replies elsewhere that were certainly derived from it, because recall returned it to them, or because memory
  contained it and they repeat it. A message in the history of another reply is no derivation. Possible derivations are
  shown, and erased if the person says so.
  In a thread of several people, a request erases what this person wrote, the replies to them, and what was learned from
  both. Messages of others stay. A message that is deleted on the platform is erased, whoever deleted it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Final, TypeAlias

from agent.memory.audience import AudienceKind
from agent.memory.periods import TimeSpan

# Prefix of the owner of the choice that names the current conversation of a channel; the channel's id follows.
GOES_ON: Final = "direct:"

PLACE_RULES: Final = "place"
# The settings of a channel by its managers, and its record of ambient answers. They are erased with the channel, but
# not with a person: like a policy, they do not name who chose them.
AMBIENT_STATE: Final = "ambient"

PAUSE: Final = "learning"  # The preference in which a person or a channel pauses learning
# The value of the choice not to be learned from. It is not erased with the person's other choices: a request to be
# forgotten is no request to be learned from again.
PAUSED: Final = "paused"


# Before the id of another account, the name of the preference by which a person says that it is theirs, too. It is
# erased with either account.
CONNECTED: Final = "connected"
# The name of the preference that holds whose code a person entered, until they have confirmed it: "<until> <id>".
CONNECT_ENTERED: Final = "connect_entered"
CONNECT_CODE: Final = "connect_code"  # The digest of their own code

# The kind of job that erases entries which a person deleted a while ago and did not restore.
ERASE_ENTRIES: Final = "erase_entries"
# The kind of job by which an operator asks the serving process to erase. Its key is the number of their audit row,
# which says what to erase.
OPERATOR_ERASE: Final = "operator_erase"
# The kind of job that deletes the files of a conversation that code has not used for a while. Its key is the
# conversation.
IDLE_FILES: Final = "idle_files"
# The kind of job for an edit that came too early to be applied. Its key is `post_key`, its payload the new text.
EDIT: Final = "edit"


def post_key(source: str, channel: str, message_id: str) -> str:
    """The key of jobs about a message, "slack:T0123 C0123 <ts>": several workspaces may know it, each by a job of its
    own.
    """
    return f"{source} {channel} {message_id}"


@dataclass(frozen=True, slots=True)
class OneThread:
    """The person's messages in one thread: usually one conversation, two if they also asked there in private."""

    person: str
    conversations: frozenset[str]


@dataclass(frozen=True, slots=True)
class Everything:
    """All messages of the person, all knowledge about them, and their choices except a pause of learning."""

    person: str


@dataclass(frozen=True, slots=True)
class During:
    person: str
    period: TimeSpan


@dataclass(frozen=True, slots=True)
class AboutTopic:
    """The person's messages, the replies to them, and knowledge about them, with all content words of `words`."""

    person: str
    words: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """Messages that were deleted on the platform, by the platform's ids. `source`: for which bot; "" in jobs of an
    earlier version: for all.
    """

    source: str
    channel: str
    messages: frozenset[str]


@dataclass(frozen=True, slots=True)
class OneReply:
    """The reply of one turn; the question stays."""

    turn: int


@dataclass(frozen=True, slots=True)
class Gone:
    """All messages in conversations, channels and teams that no longer exist, or from which the bot was removed.

    What a person asked in private in such a channel stays. `audiences`: labels of the audiences of those places.
    `sources`: all of these workspaces or servers, in which nothing stays. `within`: the source for which `channels` are
    gone, as several workspaces may share a channel; "" in jobs of an earlier version, for all of them.
    """

    conversations: frozenset[str] = frozenset()
    channels: frozenset[str] = frozenset()
    audiences: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()
    within: str = ""

    def encode(self) -> str:
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        return json.dumps({name: part if isinstance(part, str) else sorted(part) for name, part in parts.items()})

    @classmethod
    def decode(cls, stored: str) -> "Gone":
        parts = json.loads(stored)
        within = parts.pop("within", "")
        return cls(**{name: frozenset(ids) for name, ids in parts.items()}, within=within)


@dataclass(frozen=True, slots=True)
class Expired:
    """All messages to one kind of audience before a time."""

    kind: AudienceKind
    before: datetime


Wish: TypeAlias = OneThread | Everything | During | AboutTopic  # Plans that a person may request

ForgettingPlan: TypeAlias = Wish | Deleted | OneReply | Gone | Expired


@dataclass(frozen=True, slots=True)
class Sample:
    """The number of messages of a kind, and the first of those that the person may read in this place."""

    count: int = 0
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preview:
    """What a plan would erase: the number of each kind ("messages", "facts", …), and the first texts.

    `name` identifies exactly this set. Another name means that the set changed in the meantime.
    """

    counts: Mapping[str, int]
    lines: tuple[str, ...]
    name: str
    repetitions: Sample = Sample()
    """Those of the messages that repeat the contents elsewhere, because memory or recall returned them to the bot."""
    related: Sample = Sample()
    """Further messages that are possibly derived from them. They are erased only if the person says so."""
    in_view: int = 0
    """How many of `related` share no telling word with what is erased: the bot wrote them while it had that in view.
    They are listed after the others.
    """
    documents: Sample = Sample()
    """Documents that the person added there, which belong to their place: they stay."""
    is_shared: bool = False
    """Others wrote in these threads, too. An answer to them in wholly other words is not found."""

    @property
    def is_empty(self) -> bool:
        return not any(self.counts.values())


@dataclass(frozen=True, slots=True)
class EntriesPlan:
    """Erase entries and facts about `person`, by their ids. Their source messages stay."""

    person: str
    entries: frozenset[int] = frozenset()
    """Ids of profile entries."""
    facts: frozenset[str] = frozenset()
    """Ids of facts. The facts derived from them are erased, too."""


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
    is_logged: bool = True
    """False if the operator's forgetting log lacks it: an earlier database would hold it again when restored."""
