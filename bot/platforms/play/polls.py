"""Polls on the page of `cogency play`: a message with a button for each option, and the votes, which the bot counts."""

from typing import Any, Final

from agent.errors import Refused
from agent.ports.acts import Poll, Polls
from bot.platforms import texts as platforms_texts
from bot.platforms.play.requests import Body
from bot.platforms.play.surface import MessageLog, PlayMessage
from bot.platforms.play.workspace import SOURCE, known_as
from bot.platforms.poll_text import poll_text

VOTE: Final = "vote in a poll"  # What the buttons do; the name of no command


def poll_fields(poll: Poll) -> dict[str, Any]:
    """Return the fields of a message that shows the poll. Pure."""
    return {"text": poll_text(poll), "panel": {} if poll.closed else _buttons(poll)}


def _buttons(poll: Poll) -> Body:
    button: Body = {"danger": False, "confirm": "", "opens": False, "does": VOTE}
    buttons = [{**button, "label": option, "words": str(number)} for number, option in enumerate(poll.options)]
    part: Body = {"text": "", "buttons": [*range(len(buttons))], "menu": None}
    return {"command": VOTE, "parts": [part], "buttons": buttons, "boxes": []}


async def vote(polls: Polls | None, log: MessageLog, message: PlayMessage, person: str, choice: str) -> None:
    """Count a person's vote for an option, by its number, and show it. Raises Refused and StoreError."""
    counted = None
    if polls is not None:
        counted = await polls.vote(SOURCE, message.channel, message.id, known_as(person), int(choice))
    if counted is None:
        raise Refused(platforms_texts.POLL_GONE)
    log.change(message.id, **poll_fields(counted))
    if counted.closed:
        raise Refused(platforms_texts.POLL_OVER)
