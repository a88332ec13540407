"""The questions of `cogency play`: messages, commands and due schedules as `Incoming`. Pure.

A mention in a channel is answered in the thread below it; direct messages have no threads.
"""

import json
import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from agent.incoming import Incoming, Person
from agent.memory.audience import PersonAudience
from agent.schedules.definitions import Admitted, NotAllowed, Occurrence, Schedule, ScheduleKind
from agent.schedules.ids import occurrence_id, schedule_id
from agent.schedules.long_work import work_conversation
from agent.turn_kinds import TurnKind
from bot.platforms import texts as platforms_texts
from bot.platforms.play.workspace import (
    BOT,
    BOT_NAME,
    CHANNELS,
    PEOPLE,
    SOURCE,
    TEAM,
    PlayChannel,
    PlayPerson,
    direct_channel,
    known_as,
)

_MENTION: Final = re.compile(rf" ?(?<![\w.@])@{BOT}\b[,:]?", re.IGNORECASE)
_PERSON: Final = re.compile(r"@([a-z]{1,20})\b", re.IGNORECASE)
_CHANNEL: Final = re.compile(r"#([a-z]{1,20})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PlayAddress:
    """Where an answer belongs, as a string that the ledger stores. `person`: the asker."""

    channel: str
    person: str
    thread: str = ""

    def encode(self) -> str:
        return json.dumps([self.channel, self.person, self.thread])

    @classmethod
    def decode(cls, text: str) -> "PlayAddress":
        return cls(*json.loads(text))


def mentions_bot(text: str) -> bool:
    return _MENTION.search(text) is not None


def without_mention(text: str) -> str:
    """Return the text without the bot's name; only the name, if the text is nothing else."""
    return _MENTION.sub("", text, count=1).strip() or f"@{BOT_NAME}"


def asked_by_command(text: str, channel: PlayChannel) -> str:
    """Return a question asked with `/ask` as a message that asks it; any other text unchanged."""
    word, _, rest = text.strip().partition(" ")
    if word.casefold() != "/ask" or not rest.strip():
        return text
    return rest.strip() if channel.direct else f"@{BOT_NAME} {rest.strip()}"


def budget_ids(words: str) -> str:
    """Return the text with ids in place of mentions, as `bot.budgets.budgets` reads them."""

    def person(found: re.Match[str]) -> str:
        id_ = found[1].casefold()
        return f"person:{known_as(id_)}" if id_ in PEOPLE else found[0]

    def channel(found: re.Match[str]) -> str:
        id_ = found[1].casefold()
        return f"channel:{id_}" if id_ in CHANNELS else found[0]

    return _CHANNEL.sub(channel, _PERSON.sub(person, words))


def conversation_of(channel: PlayChannel, root: str) -> str:
    """Return the conversation of a thread, by its first message; for direct messages, their first one."""
    return known_as(channel.id if channel.direct else f"{channel.id}:{root}")


def thread_of(channel: PlayChannel, conversation: str) -> str:
    """Return the first message of a conversation's thread; "" for direct messages and for no thread."""
    root = conversation.removeprefix(f"{known_as(channel.id)}:").partition(":")[0]
    return root if not channel.direct and root.isdecimal() else ""


def link_to(address: str, message: str) -> str:
    """Return a message's address. It contains no token, so it may be shared."""
    return f"{address}/#message-{message}"


def read_message(
    person: PlayPerson,
    channel: PlayChannel,
    message: str,
    text: str,
    time: datetime,
    zone: str,
    *,
    thread: str = "",
    conversation: str = "",
    address: str = "",
) -> Incoming:
    """Return a message as the bot takes it in.

    `thread`: the first message of its thread. `conversation`: if it is not the thread's. `address`: the page's.
    """
    root = thread or message
    return Incoming(
        source=SOURCE,
        event_id=message,
        channel=channel.id,
        message_id=message,
        conversation=conversation or conversation_of(channel, root),
        person=Person(known_as(person.id), person.name, zone),
        place=channel.place,
        text=text,
        time=time,
        permalink=link_to(address, message) if address and message.isdecimal() else None,
        reply_to=PlayAddress(channel.id, person.id, "" if channel.direct else root).encode(),
        authority=person.authority,
        team=TEAM,
        organization=platforms_texts.PLAY_WORKSPACE,
    )


@dataclass(frozen=True, slots=True)
class PlaySchedules:
    """Implements `SchedulePlatform`: all people are always present, and read their channels. `zone`: the machine's."""

    zone: str

    async def admit(self, occurrence: Occurrence) -> Admitted:
        made = occurrence.schedule.definition
        person = PEOPLE.get(made.person.removeprefix(known_as("")))
        if person is None:
            return NotAllowed(platforms_texts.SCHEDULE_PERSON_GONE)
        alone = made.direct or isinstance(made.place.audience, PersonAudience)
        channel = direct_channel(person.id) if alone else CHANNELS.get(made.channel)
        if channel is None or person.id not in channel.members:
            return NotAllowed(platforms_texts.SCHEDULE_PLACE_GONE)
        return self._incoming(occurrence.schedule, occurrence.time, person, channel)

    async def direct(self, schedule: Schedule, time: datetime) -> Incoming:
        person = PEOPLE[schedule.definition.person.removeprefix(known_as(""))]
        return self._incoming(schedule, time, person, direct_channel(person.id), notice=True)

    def _incoming(
        self, schedule: Schedule, time: datetime, person: PlayPerson, channel: PlayChannel, *, notice: bool = False
    ) -> Incoming:
        """A reminder is posted in its channel, long work below the question that asked for it."""
        made, kind = schedule.definition, TurnKind.NOTICE if notice else TurnKind.SCHEDULED
        name = occurrence_id(schedule.id, time, kind)
        works = made.kind is ScheduleKind.WORK and not notice
        schedule_conversation = known_as(f"{channel.id}:{schedule_id(schedule.id)}")
        conversation = work_conversation(made.conversation, schedule.id) if works else schedule_conversation
        incoming = read_message(person, channel, name, made.words, time, self.zone, conversation=conversation)
        thread = thread_of(channel, made.conversation) if works else ""
        return replace(incoming, reply_to=PlayAddress(channel.id, person.id, thread).encode())
