"""Acting on a platform in the name of the bot, within the rights of the person who asks.

Rules
  `find` and `find_message` ask the platform at that moment whether this person may do this there, and whether the bot
  may. What the platform does not say counts as no. The answer is the same for a place that does not exist and for one
  that the person cannot read.
  Everything else is done by the bot, and is not called without a target that was just found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from agent.memory.audience import Place
from agent.ports.acts import Poll
from agent.ports.tools import ToolContext


class ActRight(StrEnum):
    """What a person wants done. A closed set: each platform decides for each what it takes."""

    POST = "post"
    REACT = "react"
    PIN = "pin"
    POLL = "poll"
    CHANGE = "change"
    """Edit or delete a post that the bot made for them."""
    THREAD = "thread"
    """Start a thread, with its first message."""
    TOPIC = "topic"
    BOOKMARK = "bookmark"
    """Add or remove a channel's bookmark."""
    CANVAS = "canvas"
    """Create a canvas in a channel, or change or delete one that the bot made there for them."""
    EVENT = "event"
    """Schedule an event, or change or delete one that the bot made for them."""


@dataclass(frozen=True, slots=True)
class ActTarget:
    """A channel, a thread or a message in which the person may act now. Ids are the platform's own.

    `channel`: of a thread its parent's; `thread`, `message`: "" for none. `place`: who reads there. `page`: the id that
    the message would have as a page of a reply, or that of a canvas or event (`Hands.page_of`). `conversation`: of the
    posts that are made there. `name`: "#general".
    """

    channel: str
    place: Place
    name: str
    conversation: str
    thread: str = ""
    message: str = ""
    page: str = ""


@dataclass(frozen=True, slots=True)
class Posted:
    """The messages that were posted, as pages. `missing`: why some were not, the end of a sentence; "" if all were.
    `conversation`: of posts in a new thread that has one of its own; "" for the target's.
    """

    pages: tuple[str, ...]
    link: str
    missing: str = ""
    conversation: str = ""


@dataclass(frozen=True, slots=True)
class NewPoll:
    """`hours`: for how long people may vote."""

    question: str
    options: tuple[str, ...]
    hours: int


@dataclass(frozen=True, slots=True)
class NewThread:
    """`tag`: the name of a forum's tag; "" for none."""

    title: str
    tag: str = ""


class Threads(Protocol):
    """Threads that the bot starts."""

    async def start_thread(
        self,
        target: ActTarget,
        thread: NewThread,
        messages: Sequence[str],
        mentioned: Mapping[str, str],
        key: str,
        context: ToolContext,
    ) -> Posted:
        """Start a thread below the target's message, or in its channel, and post `messages` in it. `mentioned`, `key`:
        as for `Hands.post`. If the thread was started and nothing was posted, the result has no pages.
        """
        ...


class Topics(Protocol):
    """What a channel says about itself."""

    async def set_topic(self, target: ActTarget, topic: str, *, description: bool) -> None:
        """Set a channel's topic, or its description. It notifies nobody."""
        ...


class Bookmarks(Protocol):
    """The links at the top of a channel."""

    async def add_bookmark(self, target: ActTarget, title: str, link: str) -> None:
        """Add a bookmark to a channel. `link`: a web address. Nothing changes if it is there already."""
        ...

    async def remove_bookmark(self, target: ActTarget, named: str) -> None:
        """Remove the one bookmark of this title or with this link."""
        ...


class Canvases(Protocol):
    """Documents in channels, which everyone there can read and change. They mention nobody."""

    async def create_canvas(self, target: ActTarget, title: str, text: str) -> Posted:
        """Create a canvas in a channel. `text`: Markdown. It is not repeated where the platform does not answer."""
        ...

    async def append(self, target: ActTarget, text: str) -> None:
        """Add text at the end of the canvas that is the target's page. It is not repeated, either."""
        ...

    async def replace(self, target: ActTarget, section: str, text: str) -> None:
        """Replace the one section (a heading, paragraph, list or table) of the canvas that contains `section`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EventDetails:
    """What an event shows; of a changed one only what changes. `start`, `end`: aware. `location`: of an event that does
    not take place in a voice channel.
    """

    title: str = ""
    start: datetime | None = None
    end: datetime | None = None
    location: str = ""
    description: str = ""

    @property
    def words(self) -> str:
        return "\n".join(filter(None, [self.title, self.location, self.description]))


class ScheduledEvents(Protocol):
    """Events that members of a server see in its calendar. They notify nobody."""

    async def create_event(self, target: ActTarget, event: EventDetails) -> Posted:
        """Schedule an event in the target's voice channel, or at its location. It is not repeated where the platform
        does not answer.
        """
        ...

    async def edit_event(self, target: ActTarget, event: EventDetails) -> EventDetails:
        """Change the event that is the target's page; return what it shows now."""
        ...


class Hands(Protocol):
    """The bot's hands on one platform. Every method raises ToolError with a sentence for the model.

    `threads`, `topics`, `bookmarks`, `canvases`, `events`: None where the platform has none.
    """

    @property
    def threads(self) -> Threads | None:
        """What starts threads."""
        ...

    @property
    def topics(self) -> Topics | None:
        """What sets topics."""
        ...

    @property
    def bookmarks(self) -> Bookmarks | None:
        """What adds and removes bookmarks."""
        ...

    @property
    def canvases(self) -> Canvases | None:
        """What creates and changes canvases."""
        ...

    @property
    def events(self) -> ScheduledEvents | None:
        """What schedules events."""
        ...

    def page_of(self, link: str) -> tuple[ActRight, str] | None:
        """Return what the link of a canvas or event stands for, and the id of its page; None for any other text."""
        ...

    @property
    def counts_polls(self) -> bool:
        """Whether the platform counts votes and closes polls itself; if not, `agent.ports.acts.Polls` does."""
        ...

    async def find(self, where: str, right: ActRight, context: ToolContext) -> ActTarget:
        """Find a channel or thread by an id, a link, a name, "" (this channel) or "thread" (this thread)."""
        ...

    async def find_message(self, link: str, right: ActRight, context: ToolContext) -> ActTarget:
        """Find a message by its link. For POST it is the message to reply to."""
        ...

    async def named(self, context: ToolContext) -> Mapping[str, str]:
        """Return the people whom the question mentions in the asker's own words: ids by names; {} if unknown."""
        ...

    def split(self, text: str) -> Sequence[str]:
        """Split a text in Markdown into the messages that show it."""
        ...

    async def post(
        self, target: ActTarget, messages: Sequence[str], mentioned: Mapping[str, str], key: str, context: ToolContext
    ) -> Posted:
        """Post messages. `mentioned`: the only people whom they notify, ids by names. The same `key` posts nothing
        twice where the platform can tell.
        """
        ...

    async def post_poll(self, target: ActTarget, poll: NewPoll, key: str, context: ToolContext) -> Posted:
        """Post a poll, which notifies nobody. `key`: as for `post`."""
        ...

    async def end_poll(self, target: ActTarget, poll: Poll | None) -> None:
        """Close the poll that a message shows. `poll`: with its votes, if the bot counts them."""
        ...

    async def edit(self, target: ActTarget, message: str) -> None:
        """Replace the text of a message of the bot. It notifies nobody."""
        ...

    async def delete(self, target: ActTarget, pages: Sequence[str]) -> None:
        """Delete these messages of the bot, or its canvas or event. One that is gone already is no error."""
        ...

    async def react(self, target: ActTarget, emoji: str) -> None:
        """React to a message. `emoji`: its character, its name on Slack, or the name of one of a server's own."""
        ...

    async def pin(self, target: ActTarget, *, on: bool) -> None:
        """Pin a message in its channel, or unpin it. Nothing changes if it is so already."""
        ...
