"""What a message of Slack orders to be done at once: slash commands do not work in threads. Pure.

Rules. Only a message that is an order as a whole is one; everything else is a question, or talk. Who seems to want
something forgotten is asked, never answered by the model, which could claim to have done it.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Final, TypeAlias

from bot.commands.declaration import CommandMeant, command_meant, command_named, nearest
from bot.commands.help import COMMAND as HELP
from bot.memory.forget_desk import is_request
from bot.message_intake import is_stop
from bot.platforms.slack.inbound import PRIVATELY, SlackBot, SlackMessage, ask_words, budget_ids, nearly_private
from bot.platforms.slack.markup import without_mention
from bot.platforms.slack.slash_commands import COMMANDS


@dataclass(frozen=True, slots=True)
class AskPrivately:
    """A question whose answer only the asker shall see. `words`: as behind "/ask privately"."""

    words: str


@dataclass(frozen=True, slots=True)
class MistypedOrder:
    """There is no such command ("": none was named by a slash); `near` may have been meant."""

    name: str
    near: str


Order: TypeAlias = CommandMeant | AskPrivately | MistypedOrder

_ALIKE: Final = 0.7
"""How near a mistyped "forget" is to it."""
_ERASE: Final = frozenset({"delete", "erase"})
"""What people say for "forget"."""


def says_stop(heard: SlackMessage, me: SlackBot) -> bool:
    """Whether the message, without the mention, only says "stop"; "/stop" as a message, too."""
    return is_stop(_said(heard, me).removeprefix("/").removeprefix(me.prefix))


def order(heard: SlackMessage, me: SlackBot) -> Order | None:
    """What the whole message orders; None for every other one."""
    said = _said(heard, me)
    word, _, rest = said.partition(" ")
    if word.startswith("/") and (name := word[1:].strip(" .!?")):
        return _commanded(name.casefold().removeprefix(me.prefix), rest.strip(), heard, me)
    if (meant := command_meant(said, COMMANDS, heard.time, partial(budget_ids, me=me))) is not None:
        return meant
    match word.casefold():
        case "ask":
            return None if heard.direct else _private(rest)
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
    command = command_named(name, COMMANDS)
    if command is None or (name == "stop" and rest):
        near = nearest(name, rest, COMMANDS)
        return MistypedOrder(name, near) if near else None
    if name == "ask":
        private = None if heard.direct else _private(rest)
        return private or (None if rest or heard.files else CommandMeant(HELP))
    return CommandMeant(command, budget_ids(rest, me) if command.mentions else rest)


def _private(rest: str) -> AskPrivately | MistypedOrder | None:
    """What is asked behind "ask" if only the asker shall see the answer; None for what everybody may."""
    words, private = ask_words(rest)
    if private:
        return AskPrivately(words)
    nearly = nearly_private(rest)
    return MistypedOrder(f"ask {nearly}", f"ask {PRIVATELY}") if nearly else None


def _said(heard: SlackMessage, me: SlackBot) -> str:
    return without_mention(heard.text, me.user).strip()
