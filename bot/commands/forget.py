"""`/forget`: what somebody told the bot is erased, after a question, with a receipt."""

from collections.abc import Mapping, Sequence

from bot.access.acl import Requester
from bot.commands.declaration import Argument, ArgumentKind, Command, CommandHost
from bot.memory.forget_desk import is_request
from bot.texts import memory_texts

SCOPES = {
    "thread": "this conversation",
    "time": "a stretch of time",
    "about": "a subject",
    "everything": "everything",
}
"""What it may be about; for a time or a subject its words say which."""

TIMES = ("2 hours", "today", "yesterday", "7 days", "since monday")
WORDS = ("this thread", "everything", *TIMES, "about …")
"""Examples of what it understands, offered while somebody types."""


async def _examples(_: CommandHost, __: Requester, given: Mapping[str, str]) -> Sequence[str]:
    """A subject is theirs alone to name."""
    return {"": WORDS, "time": TIMES}.get(given.get("scope", ""), ())


COMMAND = Command(
    name="forget",
    summary="Forget what you told me",
    arguments=(
        Argument("what", "thread, everything, 2 hours, since Monday, or about and a word", suggests=_examples),
        Argument("scope", "Which kind of thing that is", choices=SCOPES),
        Argument("delete_replies", "Delete my replies to it here, too", ArgumentKind.FLAG),
    ),
    open_to_all=True,
    means=lambda words, now: is_request(words.strip(" .!"), now),
    examples={written.removeprefix("/forget "): what for written, what in memory_texts.FORGET_HELP.items()},
)
