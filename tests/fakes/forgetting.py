"""What a forgetting plan reaches in the store in memory.

Above: `tests.fakes.store`. Below: `agent.memory.forgetting_plans`, the words of `store.search`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from agent.memory.audience import AudienceKind
from agent.memory.facts import Fact
from agent.memory.forgetting_plans import (
    AboutTopic,
    Deleted,
    During,
    Everything,
    Expired,
    ForgettingPlan,
    Gone,
    OneReply,
    OneThread,
)
from agent.memory.profile import ProfileEntry
from agent.records import Author, StoredMessage
from store.search.text import index_words, keywords, stem

Told = Collection[tuple[int, str, StoredMessage]]
"""Messages with their turns and channels."""


def said(plan: ForgettingPlan, told: Told) -> list[StoredMessage]:
    """The messages that fall, with the replies to what people said."""
    named = [(turn, message) for turn, channel, message in told if _reaches(plan, turn, channel, message)]
    asked = {turn for turn, message in named if message.author is Author.PERSON}
    ids = {message.id for _, message in named}
    return [
        message for turn, _, message in told if message.id in ids or (turn in asked and message.author is Author.BOT)
    ]


def falls(plan: ForgettingPlan, person: str, conversation: str) -> bool:
    """Does the plan take everything of this person in this conversation?"""
    match plan:
        case Everything():
            return plan.person == person
        case OneThread():
            return plan.person == person and conversation in plan.conversations
        case _:
            return False


def facts(plan: ForgettingPlan, kept: Iterable[Fact]) -> list[str]:
    """The facts that the plan itself names, by their ids."""
    return [one.id for one in kept if _knows(plan, _Known.of_fact(one))]


def entries(plan: ForgettingPlan, kept: Iterable[ProfileEntry], person: str) -> list[ProfileEntry]:
    """The entries of this person that the plan itself names."""
    return [entry for entry in kept if _knows(plan, _Known.of_entry(entry, person))]


@dataclass(frozen=True)
class _Known:
    person: str
    words: str
    time: datetime
    audience: str
    sourceless: bool

    @classmethod
    def of_fact(cls, one: Fact) -> "_Known":
        return cls(one.person, f"{one.key} {one.value}", one.timestamp, one.audience, one.source_message is None)

    @classmethod
    def of_entry(cls, one: ProfileEntry, person: str) -> "_Known":
        return cls(person, f"{one.key} {one.text}", one.time, one.audience, not one.sources)


def _reaches(plan: ForgettingPlan, turn: int, channel: str, message: StoredMessage) -> bool:
    asked = message.author is Author.PERSON
    match plan:
        case OneThread() | Everything():
            return falls(plan, message.person, message.conversation)
        case During(person, period):
            return message.person == person and asked and period.since <= message.time < period.until
        case AboutTopic(person, words):
            return message.person == person and _speaks_of(words, message.text)
        case Deleted(where, ids):
            return asked and channel == where and message.message_id in ids
        case OneReply(number):
            return not asked and turn == number
        case Gone(conversations, channels, audiences, _):
            there = channel in channels and not message.audience.startswith(f"{AudienceKind.PERSON}:")
            return message.conversation in conversations or there or message.audience in audiences
        case Expired(kind, before):
            return asked and message.audience.startswith(f"{kind}:") and message.time < before
        case _:
            assert_never(plan)


def _knows(plan: ForgettingPlan, known: _Known) -> bool:
    match plan:
        case Everything():
            return known.person == plan.person
        case During(who, period):
            return known.person == who and known.sourceless and period.since <= known.time < period.until
        case AboutTopic(who, words):
            return known.person == who and _speaks_of(words, known.words)
        case Gone(audiences=audiences):
            return known.audience in audiences
        case Expired(kind, before):
            old = known.sourceless and known.audience.startswith(f"{kind}:") and known.time < before
            return old and known.person != ""
        case OneThread() | Deleted() | OneReply():
            return False
        case _:
            assert_never(plan)


def _speaks_of(words: str, text: str) -> bool:
    wanted = {stem(word) for word in keywords(words)}
    return bool(wanted) and wanted <= {stem(word) for word in index_words(text)}
