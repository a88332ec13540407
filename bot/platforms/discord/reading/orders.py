"""Which slash command a message means that is nothing but a command's words. Pure.

Above: `client`. Below: `inbound`; what reads the words of the commands in `bot.access` and `bot.memory`.

Rule: only a message that is a command as a whole is one, or begins with a slash and nearly a command's name;
everything else is a question, or talk.
"""

from difflib import get_close_matches
from typing import Final

from agent.records import Incoming
from bot.access import budget_words
from bot.memory import policy_words
from bot.memory import words as memory_words
from bot.memory.forget_words import is_request
from bot.platforms.discord.reading.inbound import budget_ids

_NAMES: Final = (
    *("ask", "stop", "new", "settings", "memory", "forget"),
    *("usage", "budget", "policy", "model", "help"),
)
_ALIKE: Final = 0.7
"""How near a mistyped name is to the one that was meant: a letter or two of six."""


def command_meant(incoming: Incoming, *, direct: bool) -> str:
    """The slash command that a whole message means, without its slash; "" for every other message.

    Nobody but the asker may see its answer, which Discord shows only in answer to the command itself.
    """
    word, _, rest = incoming.text.removeprefix("/").rstrip(" .!?").partition(" ")
    command = word.casefold()
    match command:
        case "forget":
            meant = is_request(rest, incoming.time)
        case "memory":
            meant = not isinstance(memory_words.read(rest), memory_words.Unclear)
        case "budget":
            meant = budget_words.read(budget_ids(rest)) is not None
        case "policy":
            meant = not direct and not isinstance(policy_words.read(rest), policy_words.Unclear)
        case "model" | "usage":
            meant = len(rest.split()) <= (command == "model")
        case "help":
            meant = not rest
        case "new" | "settings":
            meant = incoming.text.startswith("/") and not rest
        case _ if incoming.text.startswith("/") and command not in _NAMES:
            return _nearly(command, rest)
        case _:
            meant = False
    return command if meant else ""


def _nearly(name: str, rest: str) -> str:
    """The command that somebody meant who mistyped its name; "" for a path or the like."""
    near = get_close_matches(name, _NAMES, 1, _ALIKE) if name.isalpha() else []
    return "" if not near or (near[0] == "stop" and rest) else near[0]
