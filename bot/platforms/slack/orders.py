"""What a message of Slack orders to be done at once: slash commands do not work in threads. Pure.

Rules. Only a message that is an order as a whole is one; everything else is a question, or talk. Behind a slash a name
of a command is meant, also a mistyped one; what follows is the command's to understand. Who seems to want something
forgotten is asked, never answered by the model, which could claim to have done it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, TypeAlias

from bot.access import budgets
from bot.intake import is_stop
from bot.memory import policy
from bot.memory import view as memory_words
from bot.memory.forget_desk import is_request
from bot.platforms.slack.inbound import PRIVATELY, SlackBot, SlackMessage, ask_words, budget_ids, nearly_private
from bot.platforms.slack.markup import without_mention
from bot.platforms.slack.slash_commands import COMMANDS


@dataclass(frozen=True, slots=True)
class ModelOrder:
    """ "" for showing it, or the name of one to choose."""

    name: str


@dataclass(frozen=True, slots=True)
class UsageOrder:
    pass


@dataclass(frozen=True, slots=True)
class MemoryOrder:
    """`bot.memory.view` reads the words."""

    words: str = ""


@dataclass(frozen=True, slots=True)
class ForgetOrder:
    """`bot.memory.forget_desk` reads the words."""

    words: str


@dataclass(frozen=True, slots=True)
class BudgetOrder:
    """`bot.access.budgets` reads the words."""

    words: str


@dataclass(frozen=True, slots=True)
class PolicyOrder:
    """`bot.memory.policy` reads the words."""

    words: str = ""


@dataclass(frozen=True, slots=True)
class AskPrivately:
    """A question whose answer only the asker shall see. `words`: as behind "/ask privately"."""

    words: str


@dataclass(frozen=True, slots=True)
class HelpOrder:
    pass


@dataclass(frozen=True, slots=True)
class MistypedOrder:
    """There is no such command ("": none was named by a slash); `near` may have been meant."""

    name: str
    near: str


Order: TypeAlias = (
    ModelOrder
    | UsageOrder
    | MemoryOrder
    | ForgetOrder
    | BudgetOrder
    | PolicyOrder
    | AskPrivately
    | HelpOrder
    | MistypedOrder
)

_WHOLE: Final[Mapping[str, Order]] = {
    "model": ModelOrder(""),
    "memory": MemoryOrder(),
    "show memory": MemoryOrder(),
    "show my memory": MemoryOrder(),
    "usage": UsageOrder(),
    "show usage": UsageOrder(),
    "show my usage": UsageOrder(),
    "policy": PolicyOrder(),
    "show policy": PolicyOrder(),
    "policies": PolicyOrder(),
    "show policies": PolicyOrder(),
    "help": HelpOrder(),
}
_NAMES: Final = ("help", *(command.name for command in COMMANDS))
_ALIKE: Final = 0.7
"""How near a mistyped name is to the one that was meant: a letter or two of six."""
_ERASE: Final = frozenset({"delete", "erase"})
"""What people say for "forget"."""


def says_stop(heard: SlackMessage, me: SlackBot) -> bool:
    """Whether the message, without the mention, only says "stop"; "/stop" as a message, too."""
    return is_stop(_said(heard, me).removeprefix("/").removeprefix(me.prefix))


def order(heard: SlackMessage, me: SlackBot) -> Order | None:
    """What the whole message orders; None for every other one."""
    said = _said(heard, me)
    if said.startswith("/") and (word := said.partition(" ")[0].strip(" .!?")) != "/":
        return _commanded(word[1:].casefold().removeprefix(me.prefix), said.partition(" ")[2].strip(), heard, me)
    if (whole := _WHOLE.get(" ".join(said.split()).strip(" .!?").casefold())) is not None:
        return whole
    word, _, rest = said.partition(" ")
    match word.casefold():
        case "model" if len(rest.split()) == 1:
            return ModelOrder(rest.strip(" `"))
        case "memory" if not isinstance(memory_words.read_memory_request(rest), memory_words.UnclearMemory):
            return MemoryOrder(rest)
        case "budget" if budgets.read_budget_request(words := budget_ids(rest, me)) is not None:
            return BudgetOrder(words)
        case "policy" if not isinstance(policy.read_policy_request(rest), policy.UnclearPolicy):
            return PolicyOrder(rest)
        case "ask" if not heard.direct and (private := _private(rest)) is not None:
            return private
        case "forget" if is_request(wish := rest.strip(" .!"), heard.time):
            return ForgetOrder(wish)
        case nearly if nearly in _ERASE or (nearly != "forget" and get_close_matches(nearly, ["forget"], 1, _ALIKE)):
            wish = rest.strip(" .!?").replace("`", "")
            return MistypedOrder("", f"forget {wish}") if wish and is_request(wish, heard.time) else None
        case _:
            return None


def without_ask(said: str, me: SlackBot) -> str:
    """A question without the command "/ask" that somebody wrote before it."""
    word, _, rest = said.strip().partition(" ")
    return rest.strip() if word.casefold() == f"/{me.prefix}ask" else said.strip()


def _commanded(name: str, rest: str, heard: SlackMessage, me: SlackBot) -> Order | None:
    """What is written behind a slash: a command, or what was meant for one; a path or the like is neither."""
    match name:
        case "model":
            return ModelOrder(rest.strip(" `"))
        case "usage":
            return UsageOrder()
        case "memory":
            return MemoryOrder(rest)
        case "forget":
            return ForgetOrder(rest.rstrip(" .!"))
        case "budget":
            return BudgetOrder(budget_ids(rest, me))
        case "policy":
            return PolicyOrder(rest)
        case "help":
            return HelpOrder()
        case "ask" if not heard.direct and (private := _private(rest)) is not None:
            return private
        case "ask":
            return None if rest or heard.files else HelpOrder()
        case _:
            near = get_close_matches(name, _NAMES, 1, _ALIKE)
            talk = not near or not name.isalpha() or (near[0] == "stop" and rest)
            return None if talk else MistypedOrder(name, near[0])


def _private(rest: str) -> AskPrivately | MistypedOrder | None:
    """What is asked behind "ask" if only the asker shall see the answer; None for what everybody may."""
    words, private = ask_words(rest)
    if private:
        return AskPrivately(words)
    nearly = nearly_private(rest)
    return MistypedOrder(f"ask {nearly}", f"ask {PRIVATELY}") if nearly else None


def _said(heard: SlackMessage, me: SlackBot) -> str:
    return without_mention(heard.text, me.user).strip()
