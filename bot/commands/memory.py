"""`/memory`: what is remembered about somebody, and what they decide about it."""

from collections.abc import Sequence

from bot.commands.declaration import Argument, Command
from bot.memory.view import HELP, UnclearMemory, read_memory_request

WORDS = ("undo", "export", "pause", "pause here", "resume", "resume here", "help")
"""Offered while somebody types."""


async def _words_offered(*_: object) -> Sequence[str]:
    return WORDS


COMMAND = Command(
    name="memory",
    summary="See what I remember about you, and decide about it",
    arguments=(
        Argument(
            "words",
            "delete 3, undo, correct 3 NEW WORDS, everywhere 3, here 3, export, pause, resume or help",
            suggests=_words_offered,
        ),
    ),
    phrases=("show memory", "show my memory"),
    means=lambda words, _: not isinstance(read_memory_request(words), UnclearMemory),
    examples={written.removeprefix("/memory "): what for written, what in HELP.items() if " " in written},
)
