"""What is done about a message that somebody wrote where the bot can read it."""

import re
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from agent.errors import Refused
from agent.memory.audience import TeamAudience, label
from agent.records import Answered, Incoming, repeat_of
from bot.texts import reply_texts

# Whether a message that was not said to the bot is a question to everybody, as far as its words tell. Pure; in doubt it
# is none, and a model looks at what is left.

MIN_CHARS: Final = 8
MIN_WORDS: Final = 3
MAX_CHARS: Final = 1_500  # A longer message is no question in passing
# A question mark at the end of a sentence, and not within an address.
_ASKS: Final = re.compile(r"[?？؟][\s)\]\"'”»*_~`]{0,20}(?:\Z|\n)|[?？؟]\s")
# Of scripts that write words without blanks between them.
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_ENDS_ASKING: Final = re.compile(r"(?:ですか|ますか|でしょうか|吗|呢)[。．.！!]?\s{0,9}\Z")
# With such a word a question may do without its mark.
_SOMEBODY: Final = re.compile(
    r"\b(?:any(?:one|body)|does someone|can someone|jemand|quelqu['’]un|alguien|alguém|qualcuno|iemand|ktoś|któś|"
    r"кто-нибудь|кто-то|någon|nogen|noen|birisi|biri)\b",
    re.IGNORECASE,
)
# Somebody is named, a channel, or words of somebody else are quoted.
_NAMES: Final = re.compile(r"<[@!#]|(?<![\w@])@\w|\A\s{0,9}>|```")
_GREETED: Final = re.compile(
    r"\A\s{0,9}(?:(?:hi|hey|hello|hallo|moin|servus|bonjour|salut|hola|ciao|olá|oi|cześć|hej|привет)[\s,!]{1,5})?"
    r"(?P<name>[^\W\d_]{2,20})\s?(?:[,:]\s|[-–—]\s)",
    re.IGNORECASE,
)
_CALLED: Final = re.compile(r",\s{0,3}(?P<name>[^\W\d_]{2,20})\s?[?!.]{0,5}\s{0,9}\Z")
# What looks like a name at the beginning or the end, and is none.
_EVERYBODY: Final = re.compile(
    "all|alle|allen|everyone|everybody|folks|guys|people|team|channel|friends|leute|zusammen|kollegen|miteinander|tous|"
    "toutes|monde|equipe|équipe|todos|todas|tutti|ragazzi|pessoal|galera|gente|equipo|iedereen|mensen|wszyscy|ребята|"
    "всем|коллеги|hi|hey|hello|hallo|moin|bonjour|salut|hola|ciao|olá|oi|hej|привет|question|frage|pregunta|domanda|"
    "pergunta|vraag|pytanie|вопрос|quick|also|so|well|ok|okay|btw|fyi|ps|sorry|please|bitte|por|merci|danke|gracias|"
    "grazie|obrigado|nochmal|kurz|curious|thanks|help|hilfe",
    re.IGNORECASE,
)


def asks_everybody(text: str) -> bool:
    """Whether it looks like a question that is put to nobody in particular; in linear time."""
    said = text.strip()
    if not MIN_CHARS <= len(said) <= MAX_CHARS or _NAMES.search(said) is not None:
        return False
    if len(said.split()) < MIN_WORDS and _UNSPACED.search(said) is None:
        return False
    asks = _ASKS.search(said) is not None or _ENDS_ASKING.search(said) is not None
    if not asks and _SOMEBODY.search(said) is None:
        return False
    named = (_GREETED.match(said), _CALLED.search(said))
    return not any(found is not None and _is_name(found["name"]) for found in named)


def _is_name(word: str) -> bool:
    """A word that begins with a capital, or in a script without any, and calls not all."""
    return _EVERYBODY.fullmatch(word) is None and not word[0].islower()


@dataclass(frozen=True, slots=True)
class QuestionToAll:
    """A question that nobody asked the bot. `person` and `message`: ids; `read`: makes of it what the bot takes in, and
    may raise CogencyError; `submit`: takes that in.
    """

    source: str
    channel: str
    message: str
    person: str
    read: Callable[[], Awaitable[Incoming]]
    submit: Callable[[Incoming], Awaitable[bool]]


class Overhearing(Protocol):
    """What is not said to the bot, in channels where it may answer that."""

    def heard(self, channel: str, person: str, message: str) -> None:
        """Somebody wrote there."""
        ...

    def changed(self, channel: str, message: str) -> None:
        """A message there was edited or deleted."""
        ...

    def consider(self, question: QuestionToAll) -> None:
        """Answer it in a while, or let it be."""
        ...

    async def hush(self, channel: str, conversation: str) -> bool:
        """Somebody wants none of that: if this conversation began so, the channel gets no more for a day. Whether it
        did. Raises StoreError.
        """
        ...


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
    to_everybody: bool = False
    """It begins a conversation, and seems to be a question that is put to nobody (`asks_everybody`)."""

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
class Consider:
    """It was not said to the bot, which may answer it where the channel wants that; until then nothing is kept."""


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


Decision: TypeAlias = Ignore | Consider | Overhear | Answer | Stop | Obey
AfterStop: TypeAlias = Ignore | Overhear
TALK: Final = (Ignore, Consider, Overhear)  # What is decided about what people say to one another


def decide(message: MessageFacts) -> Decision:
    """A platform says what it knows of a message (`MessageFacts`), and does what `decide` answers; where that is to
    stop an answer, `stop_by_word` does it, and says what else is to be done.

    Rules
      A direct message and a mention are for the bot. In a thread with the bot every message is, as long as one person
      takes part; once others join in, only mentions are, and the rest is context. Nothing else is: messages outside
      conversations with the bot are not even stored. A question among them that is put to nobody is considered.
      A message of the one word "stop" is never a question: it stops what runs in its conversation. Where it was not
      said to the bot, and nothing runs, it is talk; so it is if whoever said it may give no orders.
      What was missed when it came is answered late, or kept as context; what wanted something done at once is let be.
    """
    for_bot = message.is_for_bot
    if not (for_bot or message.direct) and message.participants is None:
        is_talk = not (message.automatic or message.stops or message.orders or message.late)
        return Consider() if message.to_everybody and is_talk else Ignore()
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
