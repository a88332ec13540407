"""The slash commands: which there are in Slack, their names under one prefix, and the help about them. Pure.

Theory of operation. A workspace may hold many apps that want `/ask`, so an operator may put a prefix before all names.
Texts of the bot's core name commands as they are without one; `named` puts it there, before they are shown. Slash
commands do not work in threads: there the same words are written to the bot, behind a mention.
"""

import re
from typing import Final

from bot.commands import discovery
from bot.texts import command_texts

COMMANDS: Final = tuple(command for command in discovery.COMMANDS if not command.rolling)
# Slack has a `/help` and a `/remind` of its own; behind a mention the words are ours.
SLASH_COMMANDS: Final = tuple(command for command in COMMANDS if command.name not in {"help", "remind"})

_NAMED: Final = re.compile(rf"(?<!\\)`/(?=(?:{'|'.join(command.name for command in SLASH_COMMANDS)})(?![\w-]))")


def named(markdown: str, prefix: str) -> str:
    """A text of the bot, with the commands that it names in backticks as they are called in this workspace."""
    return _NAMED.sub(f"`/{prefix}", markdown) if prefix else markdown


def notice(markdown: str, prefix: str) -> str:
    """An emphasised line below a reply, which most often stands in a thread: there a slash would be refused."""
    return f"{named(markdown, prefix).removesuffix('*')} {command_texts.NO_SLASH_IN_THREADS}*"


def help_text(prefix: str, bot: str) -> str:
    """What can be said to the bot."""
    return "\n".join(
        [
            command_texts.HOW_ON_SLACK.format(bot=bot),
            *(f"- `/{prefix}{command.name}`: {command.summary}" for command in SLASH_COMMANDS),
            command_texts.HOW_IN_SLACK_THREADS.format(bot=bot),
            "👍 or 👎 on a reply tells me what you think of it; 🗑️ on a reply to you deletes it.",
        ]
    )
