"""Replies that platforms show: the question that each answers, verdicts on it, and pages to delete."""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from agent.memory.audience import WIDE
from agent.turn_kinds import TurnKind


class ReplyVerdict(StrEnum):
    GOOD = "good"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Answered:
    """A reply that a platform shows, and the question that it answers. `person`: the asker's id."""

    turn: int
    source: str
    conversation: str
    channel: str
    message_id: str
    person: str
    question: str
    audience: str
    """The label of those who could read the question."""
    pages: tuple[str, ...]
    kind: TurnKind = TurnKind.QUESTION
    schedule: int | None = None
    """The schedule that began the turn, or about which it tells its person."""
    drawn_from: str = WIDE
    """What the reply was drawn from beside its own audience (`agent.memory.audience.drawn_from`)."""
    own: bool = True
    """The question is in the asker's own words (`Incoming.own`)."""


# The kind of job that deletes one page of a reply on its platform, or clears other shown text; its payload is a
# `ShownPage`.
DELETE_REPLY: Final = "delete_reply"
# The prefix of the id of an ephemeral page: only one person sees it, and it cannot be deleted later.
EPHEMERAL_PAGE: Final = "@"


class ShownReply(StrEnum):
    """Where a platform shows text of a person on the bot's behalf, and what the job does about it."""

    PAGE = "page"
    """A page of a reply: it is deleted."""
    TITLE = "title"
    """The name of a thread, taken from its first question; `ShownPage.page` is the conversation. It gets a neutral
    name."""
    HOME = "home"
    """A person's own page about what is remembered; `ShownPage.page` is the person. It is rendered again."""
    KEPT = "kept"
    """A line of a page about a remembered fact that is gone: the line says so, and its button is removed."""
    UNANSWERED = "unanswered"
    """What shows that a question will be answered, which it no longer will; `ShownPage.page` is the question's
    `Incoming.reply_to`. It is removed."""
    JOINED = "joined"
    """The same of a question that the reply to an earlier one answers: it says so."""


@dataclass(frozen=True, slots=True)
class ShownPage:
    """One page of a reply that a platform shows, by the platform's ids; or something else (`what`)."""

    source: str
    channel: str
    page: str
    what: ShownReply = ShownReply.PAGE

    @property
    def key(self) -> str:
        return " ".join(
            [self.source, self.channel, self.page, *([self.what] if self.what is not ShownReply.PAGE else [])]
        )

    def encode(self) -> str:
        return json.dumps([self.source, self.channel, self.page, self.what])

    @classmethod
    def decode(cls, stored: str) -> "ShownPage":
        source, channel, page, *what = json.loads(stored)
        return cls(source, channel, page, ShownReply(*what) if what else ShownReply.PAGE)
