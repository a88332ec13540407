"""The slash commands: their names, under one prefix, what each does, and the words that do the same in a message. Pure.

Theory of operation. A workspace may hold many apps that want `/ask`, so an operator may put a prefix before all names.
Texts of the bot's core name commands as they are without one; `named` puts it there, before they are shown. Slash
commands do not work in threads: there the same words are written to the bot, behind a mention.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """`hint`: what may be written behind it. `escape`: whether Slack shall name people and channels by their ids."""

    name: str
    what: str
    hint: str = ""
    escape: bool = False


COMMANDS: Final = (
    SlashCommand(
        "ask",
        "Ask something; the answer comes as a thread.",
        "[privately] [deep: or fast:] your question",
        escape=True,
    ),
    SlashCommand("stop", "Stop the answer to your last question here, or those in your direct messages."),
    SlashCommand("model", "See or choose the model that answers you.", "[name]"),
    SlashCommand(
        "budget",
        "See what you may spend today; operators see and change the budgets of others.",
        "[@person, channel or everyone] [$20, 5,000,000 tokens, exempt or reset]",
        escape=True,
    ),
    SlashCommand(
        "policy",
        "See what holds for everybody here; managers and admins set and remove it.",
        "[list, history, set NAME: WHAT HOLDS, or remove 3]",
    ),
    SlashCommand(
        "memory",
        "See what the bot remembers about you, and decide about it; nobody else does.",
        "[delete 3, correct 3 NEW WORDS, everywhere 3, export, pause, resume or help]",
    ),
    SlashCommand("usage", "See what your questions took today and this month; nobody else does."),
    SlashCommand(
        "forget",
        "Erase what you told the bot; it asks first.",
        "[2 hours, since Monday, about Apollo, or everything]",
    ),
)

_NAMED: Final = re.compile(rf"(?<!\\)`/(?=(?:{'|'.join(command.name for command in COMMANDS)})(?![\w-]))")


def named(markdown: str, prefix: str) -> str:
    """A text of the bot, with the commands that it names in backticks as they are called in this workspace."""
    return _NAMED.sub(f"`/{prefix}", markdown) if prefix else markdown


def help_text(prefix: str, bot: str, commands: Sequence[SlashCommand] = COMMANDS) -> str:
    """What can be said to the bot."""
    lines = [f"- `/{prefix}{command.name}`: {command.what}" for command in commands]
    return "\n".join(
        [
            f"Ask me anything in a direct message, or mention @{bot} in a channel; I answer in the thread.",
            *lines,
            f"In a thread, write the same to me without the slash, such as “@{bot} usage”; only you see the answer.",
            "👍 or 👎 on a reply tells me what you think of it; 🗑️ on a reply to you deletes it.",
        ]
    )
