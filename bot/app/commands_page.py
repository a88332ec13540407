"""The page about the commands in the documentation, made from their declarations: `python -m bot.app.commands_page`."""

import sys
from typing import Final

from bot.commands.declaration import CommandScope
from bot.commands.discovery import COMMANDS as TERMINAL
from bot.platforms.discord.slash_commands import COMMANDS as DISCORD
from bot.platforms.slack.slash_commands import COMMANDS as SLACK

_HEADING: Final = """\
# Commands

Made from `bot/commands/` by `make generated`. In Slack the same words work behind a mention, as in `@cogency usage`; a
`/help` Slack has itself, so there it is `@cogency help`. In Slack's direct messages and in the terminal a message
that is nothing but a command needs no slash: `usage`, `forget everything`. What a command answers, only the person who
used it sees. The terminal has `/deep`, `/fast`, `/file`, `/threads` and `/quit`, too.
"""
_SCOPES: Final = {
    CommandScope.EVERYWHERE: "Discord",
    CommandScope.DIRECT: "Discord (direct messages)",
    CommandScope.SERVERS: "Discord (servers)",
}


def commands_page() -> str:
    """docs/commands.md: all of them as a table."""
    rows = ["| Command | What it does | Where |", "|---|---|---|"]
    for one in sorted({one.name: one for one in (*SLACK, *DISCORD, *TERMINAL)}.values(), key=lambda one: one.name):
        offered = {"Slack": one in SLACK, _SCOPES[one.scope]: one in DISCORD, "terminal": one in TERMINAL}
        rows.append(
            f"| `/{one.name}` | {one.summary} | {', '.join(where for where, is_there in offered.items() if is_there)} |"
        )
        rows += [f"| `/{one.name} {words}` | {what} | |" for words, what in one.examples.items()]
    return "\n".join([_HEADING, *rows, ""])


if __name__ == "__main__":
    sys.stdout.write(commands_page())
