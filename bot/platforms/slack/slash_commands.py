"""The slash commands in Slack, the prefix of their names, and their help. Pure.

Theory of operation. Other apps of a workspace may use `/ask`, so an operator may set a prefix for all names. Texts of
the core name commands without it; `named` adds it before they are shown. Slash commands do not work in threads: there
a user writes the same words behind a mention of the bot.
"""

import re
from typing import Final

from bot import commands as discovery
from bot.platforms import texts as platforms_texts

COMMANDS: Final = tuple(command for command in discovery.WITHOUT_FORUMS if not command.rolling)
# What stands in the menu of a message, with the commands that it runs.
ENTRIES: Final = tuple((command.entry, command) for command in COMMANDS if command.entry is not None)
# Slack has its own `/help` and `/remind`; behind a mention, they are the bot's commands.
SLASH_COMMANDS: Final = tuple(command for command in COMMANDS if command.name not in {"help", "remind"})

_COMMAND: Final = re.compile(rf"(?<!\\)`/(?=(?:{'|'.join(command.name for command in SLASH_COMMANDS)})(?![\w-]))")


def named(markdown: str, prefix: str) -> str:
    """Return a text with the prefix added to the commands that it names in backticks."""
    return _COMMAND.sub(f"`/{prefix}", markdown) if prefix else markdown


def notice(markdown: str, prefix: str) -> str:
    """Return an emphasised line below a reply, with a hint: replies are mostly in threads, where slashes fail."""
    return f"{named(markdown, prefix).removesuffix('*')} {platforms_texts.NO_SLASH_IN_THREADS}*"


def help_text(prefix: str, bot: str) -> str:
    """Return the answer to "help"."""
    return "\n".join(
        [
            platforms_texts.HOW_ON_SLACK.format(bot=bot),
            *(f"- `/{prefix}{command.name}`: {command.summary}" for command in SLASH_COMMANDS),
            platforms_texts.HOW_IN_SLACK_THREADS.format(bot=bot),
            "React to a reply with 👍 or 👎 to rate it, or with 🗑️ to delete a reply to you.",
        ]
    )
