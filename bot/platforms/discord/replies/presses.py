"""Presses of buttons that ask: "Continue" and "Regenerate" below a reply, as the bot takes them. Pure.

Above: `pressing`. Below: `address`, `inbound`, `place`.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from agent.errors import Refused
from agent.memory.audience import Place, TeamAudience, label
from agent.records import Answered, Incoming, Person
from bot.platforms.discord.members.place import SOURCE, known_as
from bot.platforms.discord.reading.inbound import Author, Where, place_of_answer
from bot.platforms.discord.replies.address import Address, token_until
from bot.repeats import repeat_of
from bot.wording import GO_ON, MORE_PUBLIC, OFTEN_ENOUGH


@dataclass(frozen=True, slots=True)
class Press:
    """What matters of a press of "Continue" or "Regenerate" under `page`, a reply of `conversation`.

    `private`: only the presser sees the page. `member`: the bot can write there by itself.
    """

    id: int
    application: int
    token: str
    where: Where
    author: Author
    page: int
    conversation: str
    private: bool
    member: bool
    time: datetime
    private_place: Place
    by_person: bool = False
    """Whether only the presser has installed the bot, and not the server."""


def continued(press: Press) -> Incoming:
    """The press of "Continue" as the bot takes it: a question in the presser's name, once for each page."""
    return _pressed(press, GO_ON, f"continue:{press.page}")


def again(press: Press, reply: Answered) -> Incoming:
    """The press of "Regenerate": the question that the reply answers, once more, once for each reply.

    Raises Refused if it was asked often enough, or if more people read now what is said there.
    """
    if (once := repeat_of(reply.message_id)) is None:
        raise Refused(OFTEN_ENOUGH)
    asked = _pressed(replace(press, conversation=reply.conversation), reply.question, once)
    if isinstance(asked.place.audience, TeamAudience) and label(asked.place.audience) != reply.audience:
        raise Refused(MORE_PUBLIC)
    return asked


def _pressed(press: Press, text: str, once: str) -> Incoming:
    """`once` names it for ever."""
    where, author = press.where, press.author
    private = press.private and not where.direct
    in_channel = not (where.direct or where.parent)
    here = Address(str(where.channel), str(author.id), message=str(press.page) if in_channel and not private else "")
    if private or not press.member:
        here = replace(
            here,
            interaction=str(press.id),
            application=str(press.application),
            token=press.token,
            token_until=token_until(press.time),
            private=private,
            follows=True,
            by_person=press.by_person,
        )
    return Incoming(
        source=SOURCE,
        event_id=str(press.id),
        channel=str(where.parent or where.channel),
        message_id=once,
        conversation=press.conversation,
        person=Person(known_as(author.id), author.name),
        place=press.private_place if private else place_of_answer(where, author),
        text=text,
        time=press.time,
        reply_to=here.encode(),
        authority=author.standing.authority,
        roles=author.standing.roles,
        team=author.standing.team,
        organization=author.standing.organization,
    )
