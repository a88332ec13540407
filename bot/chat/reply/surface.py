"""The surface of a reply: the few calls that every platform supports, and how they can fail."""

import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol, runtime_checkable

from agent.charts import Chart
from agent.errors import CogencyError
from agent.presentations import Presentation
from agent.shown_replies import ShownPage


class ReplyAction(StrEnum):
    """What a reader can do about a reply, with a button where the platform has them."""

    STOP = "stop"
    """Stop the answer while it is being written."""
    CONTINUE = "continue"
    """Let the model continue where its answer was cut off."""
    REGENERATE = "regenerate"
    """Ask the same question again."""
    GOOD = "good"
    BAD = "bad"
    DELETE = "delete"
    """Delete the reply."""
    DECIDE = "decide"
    """Show its asker the calls that wait for a decision."""
    ANSWER = "answer"
    """Show its asker a tool's question."""
    UNDO = "undo"
    """Forget the facts that the turn has stored of its asker."""
    CHANGE = "change"
    """Change the time or the words of what the question scheduled."""
    CANCEL = "cancel"
    """Cancel what the question scheduled."""
    KEEP = "keep"
    """Let the schedule that the reply is about go on."""
    END = "end"
    """End the schedule that the reply is about."""
    CODE = "code"
    """Show the code that ran for the reply."""
    NUMBERS = "numbers"
    """Show the numbers of the reply's charts as tables."""
    WHY = "why"
    """Show its asker what the reply was drawn from."""
    SOLVED = "solved"
    """Mark the forum post in which the reply stands as solved."""
    HUMAN = "human"
    """Ask a human to take the conversation over."""
    HAND_BACK = "hand_back"
    """Hand the conversation back to the bot."""


# Below a reply that waits for a person: they have no use after it.
WAITING_OFFERS: Final = frozenset({ReplyAction.DECIDE, ReplyAction.ANSWER})
# Below an answer that has scheduled something.
SCHEDULING: Final = frozenset({ReplyAction.CHANGE, ReplyAction.CANCEL})
# Below a notice that a schedule lapses.
LAPSING: Final = frozenset({ReplyAction.KEEP, ReplyAction.END})
# Below a notice that a person has taken the conversation over.
TAKEN_OVER: Final = frozenset({ReplyAction.HAND_BACK})
# Below a reminder's words: no model produced them, so there is nothing to judge or to repeat.
REMINDER_OFFERS: Final = frozenset({ReplyAction.DELETE})
# All that a reminder or a notice can have.
OF_REMINDERS: Final = REMINDER_OFFERS | LAPSING | TAKEN_OVER
# The buttons that change what a line of the reply reports, with all that have no use after them.
PRESSED_ONCE: Final[Mapping[ReplyAction, frozenset[ReplyAction]]] = {
    ReplyAction.UNDO: frozenset({ReplyAction.UNDO}),
    ReplyAction.CANCEL: SCHEDULING,
    ReplyAction.KEEP: LAPSING,
    ReplyAction.END: LAPSING,
}

# Below a reply that is shown elsewhere than it was asked for, because the platform refused it there: no new question.
ELSEWHERE_OFFERS: Final = frozenset(ReplyAction) - {ReplyAction.CONTINUE, ReplyAction.REGENERATE}


class MarkdownReader(StrEnum):
    """What reads the Markdown of a reply: what is code for one is a link or a mention for another."""

    COMMONMARK = "CommonMark"
    WITH_REFERENCES = "CommonMark with references"
    """Forms in angle brackets also name people, channels and links, as in Slack, in code too."""
    LOOSE = "loose"
    """Code goes by backticks alone, over lines and paragraphs, as on Discord."""


class ReplyEnd(StrEnum):
    """How a process leaves a reply. A closed set: an ornament of a platform may show each in its own way."""

    DONE = "done"
    FAILED = "failed"
    """It was cut off, ended without an answer, or may not be shown; its text or a private message says why."""
    STOPPED = "stopped"
    """A person stopped it, or deleted it while it grew."""
    SILENT = "silent"
    """There was nothing to say, so nothing was shown."""
    TAKEN_BACK = "taken_back"
    """Its question was edited or deleted, so it was deleted, too. The answer to an edited question is another reply."""
    WAITS = "waits"
    """For its asker: a call needs their approval, or a tool their answer. Then it is begun again."""
    CONTINUES = "continues"
    """In another process, or later in this one. There it is begun again."""


WORK_STEPS: Final = 5  # In the message of long work: what is being done, and the latest steps
WORK_EDIT_S: Final = 2.0  # Between two edits of that message: it takes minutes, beside answers that people wait for


class StepState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step on the way to an answer, such as a tool call; each text is a short line.

    `id` is unique in the turn. `details` never change; `output` arrives at the end.
    """

    id: str
    title: str
    state: StepState
    details: str = ""
    output: str = ""
    trace: str = ""
    """What was done, with which arguments and result, for a surface with `Limits.traces`."""


@dataclass(frozen=True, slots=True)
class PageContent:
    """Everything that one page shows. `text`: the page's whole text; "" only with `steps` or a `note`. `note`: a short
    line, or several about the current work, in small print below the text.

    `final`: the page will not change any more. `last`: no other page follows either. `turn`: the reply's, which buttons
    carry.
    """

    text: str
    final: bool = False
    steps: tuple[ShownStep, ...] = ()
    offers: frozenset[ReplyAction] = frozenset()
    turn: int = 0
    last: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """A platform's limits, as data. Lengths count code points."""

    page_chars: int
    """The limit of one message."""
    edit_interval_s: float
    """The minimum time between the return of one edit and the start of the next."""
    min_growth_chars: int = 1
    """An edit that would add fewer characters is postponed (never the final one)."""
    announce_final: bool = True
    """Whether a page that already shows its final text is written again with `final=True`. A native stream or a
    terminal needs that; on a platform with edits it would be a useless request."""
    announces_tables: bool = False
    """Whether the same is true for a page with a table: it is then shown in another form, such as a sortable one."""
    page_bytes: int | None = None
    """The limit of one message in UTF-8 bytes, at least 5,000; None: only its characters count."""
    grows_only: bool = False
    """Whether a page can only grow until it is final, as a stream does: each of its texts then begins with the previous
    one. Only the final text may be different."""
    only_final: bool = False
    """Whether a page is shown once, when it is final."""
    offers: frozenset[ReplyAction] = frozenset()
    """The buttons that a page can have; pages offer no others."""
    steps: bool = False
    """Whether steps are shown; if not, pages have none."""
    step_lines: int = 0
    """How many of the latest steps the note lists while a reply grows, a line each, in addition to its other text."""
    notes: bool = False
    """Whether a page without steps has a note about a tool's progress; if not, pages have none."""
    traces: bool = False
    """Whether only the asker ever reads it, so that steps have their traces."""
    shows_addresses: bool = False
    """Whether a link's address is always shown; if not, an address that the turn has not read is not made a link."""
    reader: MarkdownReader = MarkdownReader.COMMONMARK
    table_width: int | None = None
    """The width, in columns of a terminal, up to which tables are shown as aligned text, as the platform has none; None
    if the platform shows tables."""
    attaches_text: bool = True
    """Whether long code and tables of an answer come as files, too; if not, only files from tools do."""
    presents: bool = False
    """Whether presentations have a form of their own (`PresentationSurface`); if not, they are text of the answer."""
    inexact_code: re.Pattern[str] | None = None
    """What a block of code may not hold to be shown exactly as it is; such a block comes as a file, too."""


@dataclass(frozen=True, slots=True)
class PageKey:
    """The permanent name of one page of one reply. Posts carry it, so that a page can be found after a crash."""

    turn: int
    number: int

    def __str__(self) -> str:
        return f"{self.turn}-{self.number}"


@dataclass(frozen=True, slots=True)
class PageRef:
    """A posted page, by the platform's own id."""

    id: str


FILES: Final = -1  # In place of a page's number: the message with a reply's files
PRESENTED: Final = -2  # The first message with what a reply presents; further ones have smaller numbers


@dataclass(frozen=True, slots=True)
class OutFile:
    """A file that is uploaded with a reply. `name`: one plain word in ASCII, with an extension. `alt`: a picture in
    words; `chart`: what it is a picture of, for platforms that draw charts themselves.
    """

    name: str
    content: bytes
    alt: str = ""
    chart: Chart | None = None


class SurfaceError(CogencyError):
    """A call to the platform failed.

    SurfaceError
    ├── PageFound        it was posted before, with other content: `page` has to be edited
    ├── PageQueued       others come first: its place is reserved for `wait_s`
    ├── PageLimited      too early: not before `retry_after_s`
    ├── PageGone         the page or the place was deleted; do not write again
    │   └── PageRefused  the platform allows no message there, for a reason that people should learn
    ├── PageLocked       the page can no longer be edited; continue in a new one
    ├── PageFull         the page has no room left: end it as it is, and continue live in a new one
    └── PageUnsent       the platform could not be reached or failed; the same call can be tried again
        └── PageInvalid  the platform does not accept what the page shows; it may accept what it shows later
    """


class PageFound(SurfaceError):
    def __init__(self, page: PageRef) -> None:
        super().__init__("the page was posted before")
        self.page = page


class PageQueued(SurfaceError):
    def __init__(self, wait_s: float) -> None:
        super().__init__(f"other pages are written first, for {wait_s:g} s")
        self.wait_s = wait_s


class PageLimited(SurfaceError):
    def __init__(self, retry_after_s: float) -> None:
        super().__init__(f"the platform asks to wait {retry_after_s:g} s")
        self.retry_after_s = retry_after_s


class PageGone(SurfaceError):
    pass


class PageRefused(PageGone):
    """`remedy`: what people can do about it, in a sentence; "" if that is not known. `elsewhere`: returns the surface
    on which the asker alone can be shown the reply instead; it raises SurfaceError. None if there is no such place.
    """

    def __init__(self, sentence: str, remedy: str = "") -> None:
        super().__init__(f"{sentence} {remedy}".rstrip())
        self.remedy = remedy
        self.elsewhere: Callable[[], Awaitable[Surface]] | None = None


class PageLocked(SurfaceError):
    pass


class PageFull(SurfaceError):
    pass


class PageUnsent(SurfaceError):
    pass


class PageInvalid(PageUnsent):
    pass


class Surface(Protocol):
    """The place of one reply. Pages are numbered from 0; a `look` is always all that the page shows.

    A call does not wait for a rate limit or a queue, because its text would become outdated: it raises an error that
    says how long to wait, and is made again.
    """

    @property
    def limits(self) -> Limits: ...

    async def find(self, key: PageKey) -> PageRef | None:
        """Return the page with this key, which may have been posted without our knowledge; None if there is none, or if
        `post` finds it itself.
        """
        ...

    async def post(self, key: PageKey, look: PageContent) -> PageRef:
        """Post a new page. A key that is posted again must not create a second message, if the platform can tell."""
        ...

    async def edit(self, page: PageRef, look: PageContent) -> None: ...

    async def delete(self, page: PageRef) -> None: ...

    async def attach(self, key: PageKey, files: Sequence[OutFile], *, again: bool) -> tuple[PageRef, ...]:
        """Upload files below the last page, for the same readers; return their messages, as `delete` takes them.

        `again`: an earlier process may have done so, so look for its messages first. Best effort: it may fail.
        """
        ...

    async def send_ephemeral(self, text: str) -> None:
        """Show a text to the asker alone; if that is not possible, show it to no one.

        Best effort: it may fail.
        """
        ...

    async def show_waiting(self, turn: int) -> None:
        """Show the asker alone, unasked, what this turn waits for, if the platform can do that. The button below the
        reply shows it, too.

        Best effort: it may fail. Raises CogencyError.
        """
        ...

    async def status(self, text: str) -> None:
        """Show what the bot is doing, outside of the reply's text ("Searching past threads…"); "" removes it."""
        ...

    def begin(self, *, resumed: bool) -> None:
        """The question is taken up: the first call of each process that answers it, before anything is shown.

        `resumed`: an earlier process, or this one before it waited, has begun it already. Returns at once; what it
        shows is best effort. Not called for a reply whose question was edited or deleted before.
        """
        ...

    def finish(self, end: ReplyEnd) -> None:
        """The last call of each process; after DONE, FAILED, STOPPED and SILENT the reply is stored. Returns at once.

        A sign that the bot is working is removed, unless the reply CONTINUES: then it is left to the next process. One
        that dies calls nothing; the next one begins and finishes in its place.
        """
        ...


@runtime_checkable
class PresentationSurface(Surface, Protocol):
    """A surface with `Limits.presents`."""

    async def present(self, key: PageKey, presentation: Presentation, text: str, *, again: bool) -> tuple[PageRef, ...]:
        """Show a presentation below the last page, for the same readers; return its messages, as `delete` takes them.

        `text`: the same in Markdown, which is shown instead where the platform does not take its form, and where a
        notification or a screen reader has only text. `again`: it may have been shown, so look for it first.
        """
        ...


@runtime_checkable
class SearchableSurface(Surface, Protocol):
    """A surface whose platform can be searched for all pages with a key."""

    async def find_surplus(self, key: PageKey, pages: Collection[PageRef]) -> PageRef | None:
        """Return a page with this key that is not one of these; None if there is none. Raises SurfaceError."""
        ...


Delete = Callable[[ShownPage], Awaitable[None]]
