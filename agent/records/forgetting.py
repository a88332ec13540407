"""What is left to do, and to say, when something was forgotten."""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

DELETE_REPLY: Final = "delete_reply"
"""The kind of job that deletes one page of a reply in its platform, or clears what else is shown there; its payload is
a `ShownPage`.
"""
REACHED_ONCE: Final = "@"
"""The id of a page that can be reached only while its turn runs, because one person alone sees it, begins with this."""

POSTED: Final = "command:"
"""The event id of a question begins with this whose message the bot posted for its asker, who cannot delete it."""


class Shown(StrEnum):
    """What of a person's words a platform shows on the bot's behalf."""

    PAGE = "page"
    """A page of a reply: it is deleted."""
    TITLE = "title"
    """The name of a thread, made of its first question; `ShownPage.page` is the conversation. It gets a plain one."""
    HOME = "home"
    """A person's own page about what is remembered; `ShownPage.page` is the person. It is shown anew."""


@dataclass(frozen=True, slots=True)
class ShownPage:
    """One page of a reply that stands in a platform, by the platform's ids; or something else (`what`)."""

    source: str
    channel: str
    page: str
    what: Shown = Shown.PAGE

    @property
    def key(self) -> str:
        return " ".join([self.source, self.channel, self.page, *([self.what] if self.what is not Shown.PAGE else [])])

    def encode(self) -> str:
        return json.dumps([self.source, self.channel, self.page, self.what])

    @classmethod
    def decode(cls, stored: str) -> "ShownPage":
        """The inverse of `encode`, also of what an older version wrote."""
        source, channel, page, *what = json.loads(stored)
        return cls(source, channel, page, Shown(*what) if what else Shown.PAGE)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What forgetting erased, and what the search for proof found afterwards.

    `erased` counts rows by what they were ("messages", "facts", …), and the "conversations" in which something fell,
    as a preview does. `found_again` counts what a search for the erased texts still found: 0 is the proof.
    `bytes_gone` says whether the database files hold none of the erased bytes;
    `kept_by_server` that a database server keeps them, so that nobody here can say: its files, its log and its backups
    follow the operator's vacuum and retention.
    """

    erased: dict[str, int]
    found_again: int
    bytes_gone: bool
    kept_by_server: bool = False
    replies: int = 0
    """Pages of the bot's replies that are being deleted in the platform."""
    related: int = 0
    """Messages that stay and may have been made of what is gone."""
