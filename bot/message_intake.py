"""What is done about a message that somebody wrote where the bot can read it."""

import re
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias

from agent.errors import Refused
from agent.memory.audience import TeamAudience, label
from agent.records import Answered, Incoming, repeat_of
from bot.texts import reply_texts

_STOP = re.compile(r"\s*+stop\s*+[.!]?\s*+", re.IGNORECASE)


def is_stop(text: str) -> bool:
    """Whether a message, without the mention of the bot, only says "stop"."""
    return _STOP.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class MessageFacts:
    """`participants`: the ids of the people who wrote in this thread so far, if it is a conversation with the bot, else
    None. `automatic`: a program wrote it. `stops`: it only says "stop"; `orders`: the whole of it is a command.
    `late`: it was missed when it came.
    """

    author: str
    direct: bool = False
    mentioned: bool = False
    participants: AbstractSet[str] | None = None
    automatic: bool = False
    stops: bool = False
    orders: bool = False
    late: bool = False

    @property
    def is_for_bot(self) -> bool:
        if self.mentioned:
            return True
        if self.automatic:
            return False  # two bots that answer each other's every message never end
        return self.direct or (self.participants is not None and self.participants <= {self.author})


@dataclass(frozen=True, slots=True)
class Ignore:
    """Nothing is done, and nothing is kept."""


@dataclass(frozen=True, slots=True)
class Overhear:
    """Store it as context of its conversation, and say nothing."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Take it in; a refusal is told to its author unless it is `late`."""

    late: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """Once, in whichever process: stop what runs, if they may give orders. `for_bot`: it was said to the bot."""

    for_bot: bool


@dataclass(frozen=True, slots=True)
class Obey:
    """Once, in whichever process: do what the message orders, if they may give orders."""


Decision: TypeAlias = Ignore | Overhear | Answer | Stop | Obey
AfterStop: TypeAlias = Ignore | Overhear


def decide(message: MessageFacts) -> Decision:
    """A platform says what it knows of a message (`MessageFacts`), and does what `decide` answers; where that is to
    stop an answer, `stop_by_word` does it, and says what else is to be done.

    Rules
      A direct message and a mention are for the bot. In a thread with the bot every message is, as long as one person
      takes part; once others join in, only mentions are, and the rest is context. Nothing else is: messages outside
      conversations with the bot are not even stored.
      A message of the one word "stop" is never a question: it stops what runs in its conversation. Where it was not
      said to the bot, and nothing runs, it is talk; so it is if whoever said it may give no orders.
      What was missed when it came is answered late, or kept as context; what wanted something done at once is let be.
    """
    for_bot = message.is_for_bot
    if not (for_bot or message.direct) and message.participants is None:
        return Ignore()
    if message.stops:
        return Ignore() if message.late else Stop(for_bot)
    if not for_bot:
        return Overhear()
    if message.orders:
        return Ignore() if message.late else Obey()
    return Answer(message.late)


def repeat_question(reply: Answered, person: str) -> str:
    """The id under which a reply's question is asked once more. Raises Refused for others, or where it was often."""
    if reply.person != person:
        raise Refused(reply_texts.NOT_YOURS)
    if (once := repeat_of(reply.message_id)) is None:
        raise Refused(reply_texts.OFTEN_ENOUGH)
    return once


def check_readers(asked: Incoming, reply: Answered) -> Incoming:
    """The question that is asked once more. Raises Refused if more people read now what is said there."""
    if isinstance(asked.place.audience, TeamAudience) and label(asked.place.audience) != reply.audience:
        raise Refused(reply_texts.MORE_PUBLIC)
    return asked


async def stop_by_word(
    stop: Stop,
    obey: Callable[[], Awaitable[bool]],
    nothing_runs: Callable[[], Awaitable[None]],
    refused: Callable[[Refused], Awaitable[None]],
) -> AfterStop:
    """`obey` stops what runs, and returns whether something ran; it raises Refused where the author may not. The other
    two tell the author so, if the word was said to the bot.
    """
    try:
        if await obey():
            return Ignore()
        refusal = None
    except Refused as error:
        refusal = error
    if not stop.for_bot:
        return Overhear()
    await (nothing_runs() if refusal is None else refused(refusal))
    return Ignore()
