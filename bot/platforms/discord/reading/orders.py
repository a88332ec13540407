"""Which slash command a message means that is nothing but a command's words. Pure.

Above: `client`. Below: `inbound`; what reads the words of the commands in `bot.access` and `bot.memory`.

Rule: only a message that is a command as a whole is one; everything else is a question, or talk.
"""

from agent.records import Incoming
from bot.access import budget_words
from bot.memory import policy_words
from bot.memory import words as memory_words
from bot.memory.forget_words import is_request
from bot.platforms.discord.reading.inbound import budget_ids


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
        case "help" | "new" | "settings":
            meant = incoming.text.startswith("/") and not rest
        case _:
            meant = False
    return command if meant else ""
