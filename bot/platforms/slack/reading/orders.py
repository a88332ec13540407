"""What a message of Slack orders to be done at once: slash commands do not work in threads. Pure.

Above: `intake`. Below: `inbound`, `markup`, `commands`; what reads the words of the commands in `bot.access` and
`bot.memory`.

Rules. Only a message that is an order as a whole is one; everything else is a question, or talk. Behind a slash a name
of a command is meant, also a mistyped one; what follows is the command's to understand. Who seems to want something
forgotten is asked, never answered by the model, which could claim to have done it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, TypeAlias

from bot.access import budget_words
from bot.memory import policy_words
from bot.memory import words as memory_words
from bot.memory.forget_words import is_request
from bot.platforms.slack.markup import without_mention
from bot.platforms.slack.reading.inbound import PRIVATELY, Heard, Me, ask_words, budget_ids, nearly_private
from bot.platforms.slack.setup.commands import COMMANDS
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


@dataclass(frozen=True, slots=True)
class Policy:
    """`bot.memory.policy_words` reads the words."""

    words: str = ""


@dataclass(frozen=True, slots=True)
class AskPrivately:
    """A question whose answer only the asker shall see. `words`: as behind "/ask privately"."""

    words: str


@dataclass(frozen=True, slots=True)
class Help:
    pass


@dataclass(frozen=True, slots=True)
class Mistyped:
    """There is no such command ("": none was named by a slash); `near` may have been meant."""

    name: str
    near: str


Order: TypeAlias = Model | Usage | Memory | Forget | Budget | Policy | AskPrivately | Help | Mistyped

_WHOLE: Final[Mapping[str, Order]] = {
    "model": Model(""),
    "memory": Memory(),
    "show memory": Memory(),
    "show my memory": Memory(),
    "usage": Usage(),
    "show usage": Usage(),
    "show my usage": Usage(),
    "policy": Policy(),
    "show policy": Policy(),
    "policies": Policy(),
    "show policies": Policy(),
    "help": Help(),
}
_NAMES: Final = ("help", *(command.name for command in COMMANDS))
_ALIKE: Final = 0.7
"""How near a mistyped name is to the one that was meant: a letter or two of six."""
_ERASE: Final = frozenset({"delete", "erase"})
"""What people say for "forget"."""


def says_stop(heard: Heard, me: Me) -> bool:
    """Whether the message, without the mention, only says "stop"; "/stop" as a message, too."""
    return is_stop(_said(heard, me).removeprefix("/").removeprefix(me.prefix))


def order(heard: Heard, me: Me) -> Order | None:
    """What the whole message orders; None for every other one."""
    said = _said(heard, me)
    if said.startswith("/") and (word := said.partition(" ")[0].strip(" .!?")) != "/":
        return _commanded(word[1:].casefold().removeprefix(me.prefix), said.partition(" ")[2].strip(), heard, me)
    if (whole := _WHOLE.get(" ".join(said.split()).strip(" .!?").casefold())) is not None:
        return whole
    word, _, rest = said.partition(" ")
    match word.casefold():
        case "model" if len(rest.split()) == 1:
            return Model(rest.strip(" `"))
        case "memory" if not isinstance(memory_words.read(rest), memory_words.Unclear):
            return Memory(rest)
        case "budget" if budget_words.read(words := budget_ids(rest, me)) is not None:
            return Budget(words)
        case "policy" if not isinstance(policy_words.read(rest), policy_words.Unclear):
            return Policy(rest)
        case "ask" if not heard.direct and (private := _private(rest)) is not None:
            return private
        case "forget" if is_request(wish := rest.strip(" .!"), heard.time):
            return Forget(wish)
        case nearly if nearly in _ERASE or (nearly != "forget" and get_close_matches(nearly, ["forget"], 1, _ALIKE)):
            wish = rest.strip(" .!?").replace("`", "")
            return Mistyped("", f"forget {wish}") if wish and is_request(wish, heard.time) else None
        case _:
            return None


def without_ask(said: str, me: Me) -> str:
    """A question without the command "/ask" that somebody wrote before it."""
    word, _, rest = said.strip().partition(" ")
    return rest.strip() if word.casefold() == f"/{me.prefix}ask" else said.strip()


def _commanded(name: str, rest: str, heard: Heard, me: Me) -> Order | None:
    """What is written behind a slash: a command, or what was meant for one; a path or the like is neither."""
    match name:
        case "model":
            return Model(rest.strip(" `"))
        case "usage":
            return Usage()
        case "memory":
            return Memory(rest)
        case "forget":
            return Forget(rest.rstrip(" .!"))
        case "budget":
            return Budget(budget_ids(rest, me))
        case "policy":
            return Policy(rest)
        case "help":
            return Help()
        case "ask" if not heard.direct and (private := _private(rest)) is not None:
            return private
        case "ask":
            return None if rest or heard.files else Help()
        case _:
            near = get_close_matches(name, _NAMES, 1, _ALIKE)
            talk = not near or not name.isalpha() or (near[0] == "stop" and rest)
            return None if talk else Mistyped(name, near[0])


def _private(rest: str) -> AskPrivately | Mistyped | None:
    """What is asked behind "ask" if only the asker shall see the answer; None for what everybody may."""
    words, private = ask_words(rest)
    if private:
        return AskPrivately(words)
    nearly = nearly_private(rest)
    return Mistyped(f"ask {nearly}", f"ask {PRIVATELY}") if nearly else None


def _said(heard: Heard, me: Me) -> str:
    return without_mention(heard.text, me.user).strip()
