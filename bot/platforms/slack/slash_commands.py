"""The slash commands: which there are in Slack, their names under one prefix, and the help about them. Pure.

Theory of operation. A workspace may hold many apps that want `/ask`, so an operator may put a prefix before all names.
Texts of the bot's core name commands as they are without one; `named` puts it there, before they are shown. Slash
commands do not work in threads: there the same words are written to the bot, behind a mention.
"""

import re
from typing import Final

from bot.commands import discovery

COMMANDS: Final = tuple(command for command in discovery.COMMANDS if not command.rolling)
SLASH_COMMANDS: Final = tuple(command for command in COMMANDS if command.name != "help")
"""Slack has a `/help` of its own; behind a mention the word is ours."""

_NAMED: Final = re.compile(rf"(?<!\\)`/(?=(?:{'|'.join(command.name for command in SLASH_COMMANDS)})(?![\w-]))")


def named(markdown: str, prefix: str) -> str:
    """A text of the bot, with the commands that it names in backticks as they are called in this workspace."""
    return _NAMED.sub(f"`/{prefix}", markdown) if prefix else markdown


def help_text(prefix: str, bot: str) -> str:
    """What can be said to the bot."""
    return "\n".join(
        [
            f"Ask me anything in a direct message, or mention @{bot} in a channel; I answer in the thread.",
            *(f"- `/{prefix}{command.name}`: {command.summary}" for command in SLASH_COMMANDS),
            f"In a thread, write the same to me without the slash, such as “@{bot} usage”; only you see the answer.",
            "👍 or 👎 on a reply tells me what you think of it; 🗑️ on a reply to you deletes it.",
        ]
    )
