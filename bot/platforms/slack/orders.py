"""What a message of Slack orders to be done at once: slash commands do not work in threads. Pure.

Above: `intake`. Below: `inbound`, `markup`; what reads the words of the commands in `bot.access` and `bot.memory`.

Rule: only a message that is an order as a whole is one; everything else is a question, or talk.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from bot.access import budget_words
from bot.memory import words as memory_words
from bot.memory.forget_words import is_request
from bot.platforms.slack.inbound import Heard, Me, budget_ids
from bot.platforms.slack.markup import without_mention
from bot.triggers import is_stop


@dataclass(frozen=True, slots=True)
class Model:
    """ "" for showing it, or the name of one to choose."""

    name: str


@dataclass(frozen=True, slots=True)
class Usage:
    pass


@dataclass(frozen=True, slots=True)
class Memory:
    """`bot.memory.words` reads the words."""

    words: str = ""


@dataclass(frozen=True, slots=True)
class Forget:
    """`bot.memory.forget_words` reads the words."""

    words: str


@dataclass(frozen=True, slots=True)
class Budget:
    """`bot.access.budget_words` reads the words."""

    words: str


Order: TypeAlias = Model | Usage | Memory | Forget | Budget

_WHOLE: Final[Mapping[str, Order]] = {
    "model": Model(""),
    "model?": Model(""),
    "memory": Memory(),
    "show memory": Memory(),
    "show my memory": Memory(),
    "usage": Usage(),
    "show usage": Usage(),
    "show my usage": Usage(),
}


def says_stop(heard: Heard, me: Me) -> bool:
    """Whether the message, without the mention, only says "stop"; "/stop" as a message, too."""
    return is_stop(_said(heard, me))


def order(heard: Heard, me: Me) -> Order | None:
    """What the whole message orders; None for every other one."""
    said = _said(heard, me)
    if (whole := _WHOLE.get(" ".join(said.split()).strip(" .!/").casefold())) is not None:
        return whole
    word, _, rest = said.partition(" ")
    match word.casefold():
        case "model" if len(rest.split()) == 1:
            return Model(rest.strip(" `"))
        case "memory" if not isinstance(memory_words.read(rest), memory_words.Unclear):
            return Memory(rest)
        case "budget" if budget_words.read(words := budget_ids(rest, me)) is not None:
            return Budget(words)
        case _:
            return _forget(said, heard)


def _forget(said: str, heard: Heard) -> Forget | None:
    word, _, rest = said.rstrip(" .!").partition(" ")
    return Forget(rest.strip()) if word.casefold() == "forget" and is_request(rest, heard.time) else None


def _said(heard: Heard, me: Me) -> str:
    return without_mention(heard.text, me.user).strip().removeprefix("/")
