"""Decides what to do about a message that was written where the bot can read it."""

import re
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from agent.errors import Refused
from agent.incoming import Incoming
from agent.memory.audience import TeamAudience, label
from agent.repeats import repeat_of
from agent.shown_replies import Answered
from agent.turn_kinds import TurnKind
from bot.chat.texts import replies as reply_texts

_STOP = re.compile(r"\s*+stop\s*+[.!]?\s*+", re.IGNORECASE)


def is_stop(text: str) -> bool:
    """Return whether a message, without the mention of the bot, consists of the word "stop"."""
    return _STOP.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class MessageFacts:
    """`participants`: the ids of the people who wrote in this thread so far, if it is a conversation with the bot, else
    None. `automatic`: a program wrote it. `stops`: it only says "stop". `orders`: the whole of it is a command. `late`:
    it was missed when it was sent, and is read afterwards.
    """

    author: str
    direct: bool = False
    mentioned: bool = False
    participants: AbstractSet[str] | None = None
    automatic: bool = False
    stops: bool = False
    orders: bool = False
    late: bool = False
    to_everybody: bool = False
    """It begins a conversation, and looks like a question to everyone (`is_open_question`)."""

    @property
    def is_for_bot(self) -> bool:
        if self.mentioned:
            return True
        if self.automatic:
            return False  # otherwise two bots could answer each other without end
        return self.direct or (self.participants is not None and self.participants <= {self.author})


@dataclass(frozen=True, slots=True)
class Ignore:
    """Do nothing, and store nothing."""


@dataclass(frozen=True, slots=True)
class Consider:
    """It does not address the bot, which may answer it if the channel allows that; until then nothing is stored."""


@dataclass(frozen=True, slots=True)
class StoreAsContext:
    """Store it as context of its conversation, without an answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Submit it; its author is shown a refusal unless it is `late`."""

    late: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """Once among all processes: stop running answers, if the author may. `for_bot`: it addresses the bot."""

    for_bot: bool


@dataclass(frozen=True, slots=True)
class RunCommand:
    """Once among all processes: run the command, if the author may."""


Decision: TypeAlias = Ignore | Consider | StoreAsContext | Answer | Stop | RunCommand
AfterStop: TypeAlias = Ignore | StoreAsContext
TALK: Final = (Ignore, Consider, StoreAsContext)  # The decisions on messages that people write to one another


def decide(message: MessageFacts) -> Decision:
    """Return what to do about a message. An adapter fills in the facts and carries out the decision; for `Stop`,
    `stop_by_word` does so and returns what else to do.

    Rules
      A direct message and a mention are for the bot. So is every message in a thread with the bot while only one person
      takes part; once others join, only mentions are, and the rest is context. Nothing else is for the bot: messages
      outside of its conversations are not even stored. A question to everyone among them is considered.
      A message of the one word "stop" is never a question: it stops the answers of its conversation. One that does
      not address the bot is context if nothing runs, or if its author may not give orders.
      A message that arrives late is answered late, or stored as context; a late order is ignored.
    """
    for_bot = message.is_for_bot
    # First of all, because of messages outside of the bot's conversations nothing may be stored.
    if not (for_bot or message.direct) and message.participants is None:
        is_talk = not (message.automatic or message.stops or message.orders or message.late)
        return Consider() if message.to_everybody and is_talk else Ignore()
    if message.stops:
        return Ignore() if message.late else Stop(for_bot)
    if not for_bot:
        return StoreAsContext()
    if message.orders:
        return Ignore() if message.late else RunCommand()
    return Answer(message.late)


def repeat_question(reply: Answered, person: str) -> str:
    """Return the id under which a question is asked again. Raises Refused for others, and after too many repeats."""
    if reply.person != person:
        raise Refused(reply_texts.NOT_YOURS)
    if (repeat_id := repeat_of(reply.message_id)) is None:
        raise Refused(reply_texts.OFTEN_ENOUGH)
    return repeat_id


def check_readers(asked: Incoming, reply: Answered) -> Incoming:
    """Return the question to ask again. Raises Refused if the place has more readers now.

    Words of a schedule, or of a model, do not become the person's own by being asked again.
    """
    if isinstance(asked.place.audience, TeamAudience) and label(asked.place.audience) != reply.audience:
        raise Refused(reply_texts.MORE_PUBLIC)
    if reply.kind.in_words_of_schedule:
        return replace(asked, own=False, kind=TurnKind.SCHEDULED_AGAIN)
    return replace(asked, own=asked.own and reply.own)


async def stop_by_word(
    stop: Stop,
    obey: Callable[[], Awaitable[bool]],
    nothing_runs: Callable[[], Awaitable[None]],
    refused: Callable[[Refused], Awaitable[None]],
) -> AfterStop:
    """`obey` stops running answers and returns whether there were any; it raises Refused if the author may not. The
    other two notify the author, if the word was for the bot.
    """
    try:
        if await obey():
            return Ignore()
        refusal = None
    except Refused as error:
        refusal = error
    if not stop.for_bot:
        return StoreAsContext()
    await (nothing_runs() if refusal is None else refused(refusal))
    return Ignore()
