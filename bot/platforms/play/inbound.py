"""The workspace of `cogency play`: its people and places, the requests of its page, and their questions. Pure.

A mention in a channel is answered in the thread below it; direct messages have no threads.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, TypeAlias, cast

from agent.admission_terms import Authority
from agent.errors import Refused
from agent.incoming import Incoming, Person
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience
from agent.messages import is_too_deep
from agent.schedules.definitions import Admitted, NotAllowed, Occurrence, Schedule, ScheduleKind
from agent.schedules.ids import occurrence_id, schedule_id
from agent.schedules.long_work import work_conversation
from agent.turn_kinds import TurnKind
from bot.chat.reply.surface import ReplyAction
from bot.platforms import texts as platforms_texts

SOURCE: Final = "play"
BOT: Final = "cogency"  # The author of the bot's messages
BOT_NAME: Final = "Cogency"
MAX_TEXT_CHARS: Final = 4_000  # Of a message: the limit of the smaller platforms
MAX_NAME_CHARS: Final = 80  # Of ids, field names and the like, which the page has from the bot
MAX_VALUES: Final = 50
OFFERS: Final = frozenset(one.value for one in ReplyAction)
_MENTION: Final = re.compile(rf" ?(?<![\w.@])@{BOT}\b[,:]?", re.IGNORECASE)
_PERSON: Final = re.compile(r"@([a-z]{1,20})\b", re.IGNORECASE)
_CHANNEL: Final = re.compile(r"#([a-z]{1,20})\b", re.IGNORECASE)
_NUMBER: Final = re.compile(r'\{"number": ?(\d{1,9})\b')


Body: TypeAlias = dict[str, Any]  # A JSON object, to or from the page


def known_as(id_: str) -> str:
    """Return the id of a person, a conversation or a place outside of this adapter: "play:" and the id here."""
    return f"{SOURCE}:{id_}"


TEAM: Final = known_as("workspace")


@dataclass(frozen=True, slots=True)
class PlayPerson:
    id: str
    name: str
    authority: Authority


PEOPLE: Final[Mapping[str, PlayPerson]] = {
    one.id: one for one in (PlayPerson("ann", "Ann", Authority.ADMIN), PlayPerson("ben", "Ben", Authority.EMPLOYEE))
}


@dataclass(frozen=True, slots=True)
class PlayChannel:
    """`members`: the ids of its readers; `direct`: it is one person's DM with the bot."""

    id: str
    name: str
    members: frozenset[str]
    direct: bool = False

    @property
    def place(self) -> Place:
        """The place in which a reply here is read."""
        if self.direct:
            (person,) = self.members
            return Place(PersonAudience(known_as(person)), within_team=TEAM)
        if self.members >= PEOPLE.keys():
            return Place(TeamAudience(TEAM), within_team=TEAM)
        return Place(GroupAudience(known_as(self.id)), within_team=TEAM, whole_channel=True)


CHANNELS: Final[Mapping[str, PlayChannel]] = {
    one.id: one
    for one in (
        PlayChannel("general", "general", frozenset(PEOPLE)),
        PlayChannel("plans", "plans", frozenset({"ann"})),
        *(PlayChannel(f"dm-{person}", BOT_NAME, frozenset({person}), direct=True) for person in PEOPLE),
    )
}


def direct_channel(person: str) -> PlayChannel:
    return CHANNELS[f"dm-{person}"]


def channel_named(name: str, person: str) -> PlayChannel | None:
    """Return a channel by its name or id, if this person reads it."""
    query = name.strip().removeprefix("#").casefold()
    matches = (channel for channel in CHANNELS.values() if not channel.direct and query in (channel.id, channel.name))
    return next((channel for channel in matches if person in channel.members), None)


class PlayMembership:
    """The port Membership."""

    async def readable(self, person: str, places: Sequence[str]) -> Mapping[str, bool]:
        ids = {known_as(channel.id): channel.members for channel in CHANNELS.values() if not channel.direct}
        return {place: person.removeprefix(known_as("")) in ids.get(place, ()) for place in places}


# The requests of the page, as JSON. Any other form is refused.


@dataclass(frozen=True, slots=True)
class SayMessage:
    """`key`: the page's id of the message, by which one that is sent twice is taken in once; `thread`: the id of the
    first message of its thread, "" for none.
    """

    key: str
    channel: str
    thread: str
    text: str


@dataclass(frozen=True, slots=True)
class EditMessage:
    message: str
    text: str


@dataclass(frozen=True, slots=True)
class RemoveMessage:
    message: str


@dataclass(frozen=True, slots=True)
class PressOffer:
    """A button below a reply."""

    message: str
    offer: ReplyAction


@dataclass(frozen=True, slots=True)
class PressButton:
    """A button or a menu of a panel, by its number, with the chosen values and the set flags.

    `filled`: the values of a submitted form; None if none was submitted.
    """

    message: str
    button: int
    values: tuple[str, ...] = ()
    ticked: frozenset[str] = frozenset()
    filled: Mapping[str, str] | None = None


Request: TypeAlias = SayMessage | EditMessage | RemoveMessage | PressOffer | PressButton


def read_request(frame: str) -> tuple[int, Request]:
    """Return the number of a frame, and its request. Raises Refused."""
    try:
        body = None if is_too_deep(frame) else json.loads(frame)
    except ValueError:
        raise Refused(platforms_texts.PLAY_UNREADABLE) from None
    if not isinstance(body, dict):
        raise Refused(platforms_texts.PLAY_UNREADABLE)
    fields = cast("Body", body)
    return _number(fields, "number"), _request(fields)


def number_of(frame: str) -> int:
    """Return the number of an invalid frame; 0 if that is not known."""
    found = _NUMBER.match(frame)
    return int(found[1]) if found else 0


def _request(body: Body) -> Request:
    message = _text(body, "message", MAX_NAME_CHARS)
    match body.get("type"):
        case "say":
            key, channel, thread = (_text(body, name, MAX_NAME_CHARS) for name in ("key", "channel", "thread"))
            return SayMessage(key, channel, thread, _text(body, "text", MAX_TEXT_CHARS))
        case "edit":
            return EditMessage(message, _text(body, "text", MAX_TEXT_CHARS))
        case "remove":
            return RemoveMessage(message)
        case "offer" if (offer := _text(body, "offer", MAX_NAME_CHARS)) in OFFERS:
            return PressOffer(message, ReplyAction(offer))
        case "press":
            filled = body.get("filled")
            return PressButton(
                message,
                _number(body, "button"),
                tuple(_texts(body, "values")),
                frozenset(_texts(body, "ticked")),
                None if filled is None else _filled(filled),
            )
        case _:
            raise Refused(platforms_texts.PLAY_UNREADABLE)


def _text(body: Body, name: str, limit: int) -> str:
    value = body.get(name, "")
    if not isinstance(value, str):
        raise Refused(platforms_texts.PLAY_UNREADABLE)
    if len(value) > limit:
        raise Refused(platforms_texts.PLAY_TOO_LONG.format(limit=limit, chars=len(value)))
    return value


def _number(body: Body, name: str) -> int:
    value = body.get(name)
    if type(value) is not int or not 0 <= value < 10**9:
        raise Refused(platforms_texts.PLAY_UNREADABLE)
    return value


def _texts(body: Body, name: str) -> list[str]:
    values = body.get(name, [])
    if not isinstance(values, list) or len(cast("list[object]", values)) > MAX_VALUES:
        raise Refused(platforms_texts.PLAY_UNREADABLE)
    return [_text({"one": value}, "one", MAX_TEXT_CHARS) for value in cast("list[object]", values)]


def _filled(body: object) -> Mapping[str, str]:
    if not isinstance(body, dict) or len(filled := cast("Body", body)) > MAX_VALUES:
        raise Refused(platforms_texts.PLAY_UNREADABLE)
    return {name: _text(filled, name, MAX_TEXT_CHARS) for name in filled}


# Messages as `Incoming`.


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
