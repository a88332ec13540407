"""What can be forgotten, and what falls with what: the plans that `store.forgetting` carries out. Pure.

Rules
  A message takes along the reply to it, what was learned from it, what tools and summaries made of it, and the replies
  elsewhere that were surely made of it: recall gave it to them, or memory did and they say it again. That it stood in
  the history of another reply is no derivation. What may have been made of it is shown; it falls if its person says so.
  With several people in a thread, what a person asks for erases what they wrote, the replies to them, and what was
  learned from both. What others wrote stays theirs. What is deleted in the platform falls, whoever deleted it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Final, TypeAlias

from agent.memory.audience import AudienceKind
from agent.memory.periods import TimeSpan

# What the owner of a choice begins with that says which conversation goes on in a channel; behind it, the channel.
GOES_ON: Final = "direct:"

PLACE_RULES: Final = "place"
# What was chosen for a channel by who manages it, and what it got of answers that nobody asked for. It goes with the
# channel, and with no person: like a policy it names none who chose it.
AMBIENT_STATE: Final = "ambient"

# The value of the choice not to be learned from. It outlives everything else that a person chose: whoever wants to be
# forgotten has not asked to be remembered again.
PAUSED: Final = "paused"


# The kind of job that wipes what a person deleted a while ago and has not brought back.
ERASE_ENTRIES: Final = "erase_entries"
# The kind of job by which an operator asks the process that serves to erase; its key is the number of their row in the
# audit, which says what.
OPERATOR_ERASE: Final = "operator_erase"
# The kind of job that keeps an edit for which it was too soon. Its key is `post_key`, its payload holds the words.
EDIT: Final = "edit"


def post_key(channel: str, message_id: str) -> str:
    return f"{channel} {message_id}"


@dataclass(frozen=True, slots=True)
class OneThread:
    """What the person said in one thread: mostly one conversation; with what they asked there in private, two."""

    person: str
    conversations: frozenset[str]


@dataclass(frozen=True, slots=True)
class Everything:
    """What the person said anywhere, what is known about them, and what they chose, but for pauses of learning."""

    person: str


@dataclass(frozen=True, slots=True)
class During:
    person: str
    period: TimeSpan


@dataclass(frozen=True, slots=True)
class AboutTopic:
    """What the person said or was answered, and what is known about them, that holds all telling words of `words`."""

    person: str
    words: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """Messages that somebody deleted in the platform, by the platform's ids."""

    channel: str
    messages: frozenset[str]


@dataclass(frozen=True, slots=True)
class OneReply:
    """What the bot said in one turn; the question stays."""

    turn: int


@dataclass(frozen=True, slots=True)
class Gone:
    """What anybody said in conversations, channels and teams that are no more, or that the bot was taken out of.

    What a person asked in private in such a channel stays theirs. `audiences`: labels of those who could read there.
    `sources`: all of these; there, nothing stays anybody's.
    """

    conversations: frozenset[str] = frozenset()
    channels: frozenset[str] = frozenset()
    audiences: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()

    def encode(self) -> str:
        return json.dumps({part.name: sorted(getattr(self, part.name)) for part in fields(self)})

    @classmethod
    def decode(cls, stored: str) -> "Gone":
        return cls(**{name: frozenset(held) for name, held in json.loads(stored).items()})


@dataclass(frozen=True, slots=True)
class Expired:
    """What anybody said in places of one kind before a time."""

    kind: AudienceKind
    before: datetime


Wish: TypeAlias = OneThread | Everything | During | AboutTopic  # What a person may ask for

ForgettingPlan: TypeAlias = Wish | Deleted | OneReply | Gone | Expired


@dataclass(frozen=True, slots=True)
class Sample:
    """How many messages of a kind, and the first of those that the person may read here."""

    count: int = 0
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preview:
    """What a plan would erase: how many of each kind ("messages", "facts", …), the first texts, and a name for exactly
    this: another one means that something came or went meanwhile.
    """

    counts: Mapping[str, int]
    lines: tuple[str, ...]
    name: str
    retold: Sample = Sample()
    """Among the messages: what the bot told again elsewhere, because memory or recall gave it."""
    related: Sample = Sample()
    """Not among them: what may have been made of it. It falls only if its person says so."""

    @property
    def is_empty(self) -> bool:
        return not any(self.counts.values())


@dataclass(frozen=True, slots=True)
class EntriesPlan:
    """Erase these things that are known about `person`, by their ids. The messages that they came from stay."""

    person: str
    entries: frozenset[int] = frozenset()
    """Of the profile."""
    facts: frozenset[str] = frozenset()
    """With these fall the facts that were derived from them."""
