"""Where a reply is shown: a few calls that every platform can do, and what may go wrong with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from agent.errors import CogencyError


class ReplyAction(StrEnum):
    """What a reader may do about a reply, at a press of a button where there are buttons."""

    STOP = "stop"
    """End the answer while it grows."""
    CONTINUE = "continue"
    """Let the model go on where its answer was cut."""
    REGENERATE = "regenerate"
    """Ask the same question again."""
    GOOD = "good"
    BAD = "bad"
    DELETE = "delete"
    """Take the reply away."""
    DECIDE = "decide"
    """Show its asker what it waits for."""
    ANSWER = "answer"
    """Show its asker what a tool asks them."""
    UNDO = "undo"
    """Let what the turn has kept of its asker be forgotten again."""
    CHANGE = "change"
    """Give what is done at a time because of the question another time, or other words."""
    CANCEL = "cancel"
    """Have it done no more."""


# Below an answer that says what is done at a time.
SCHEDULING: Final = frozenset({ReplyAction.CHANGE, ReplyAction.CANCEL})
# Below words that were only to be said again: no model has made them, so there is nothing to judge or repeat.
REMINDER_OFFERS: Final = frozenset({ReplyAction.DELETE})


WORK_STEPS: Final = 5  # Of long work, in its message: what is done now, and what came last
WORK_EDIT_S: Final = 2.0  # Between two edits of it: it goes on for minutes, beside answers for which people wait


class StepState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ShownStep:
    """Something that the bot does on the way to its answer, such as a tool call; each text is a short line.

    `id` is unique in the turn. `details` never change; `output` comes with the end.
    """

    id: str
    title: str
    state: StepState
    details: str = ""
    output: str = ""
    trace: str = ""
    """What was done, with what and how it went, for a surface with `Limits.traces`."""


@dataclass(frozen=True, slots=True)
class PageContent:
    """Everything that one page shows. `text` is the page's whole text; "" only where there are `steps`, or a `note`: a
    short line or some of what is being done, small below the text.

    `final`: nothing of it will change any more. `last`: nor will there be another page. `turn`: whose reply it is,
    which buttons carry.
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
    """What a platform allows, as data. Lengths count code points."""

    page_chars: int
    """The most that one message may hold."""
    edit_interval_s: float
    """The least time between the return of one edit and the start of the next."""
    min_growth_chars: int = 1
    """An edit that would add fewer characters waits for more (never the final one)."""
    announce_final: bool = True
    """Whether a page that already shows its last text is written once more with `final=True`: a native stream or a
    terminal must be told; where an edit is only an edit, that would be a request for nothing."""
    page_bytes: int | None = None
    """The most that one message may hold in UTF-8, at least 5,000; None: only its characters count."""
    grows_only: bool = False
    """Whether a page that is not final can only be added to, as a stream can: each look of it then begins with the one
    before. Only the final one may be another text altogether."""
    offers: frozenset[ReplyAction] = frozenset()
    """The buttons that can stand below a page; no look has others."""
    steps: bool = False
    """Whether steps are shown; else no look has any."""
    step_lines: int = 0
    """So many of the last steps stand in the note while a reply grows, a line each, whatever it says besides."""
    notes: bool = False
    """Whether a page has a note of how far a tool is, where no steps are shown; else no look has any."""
    traces: bool = False
    """Whether nobody but the asker ever reads it, so that steps have their traces."""
    shows_addresses: bool = False
    """Whether a link's address always stands beside its words; else one that the turn has not read is made no link."""


@dataclass(frozen=True, slots=True)
class PageKey:
    """Names one page of one reply for ever: carried by the post, so that a page can be found after a crash."""

    turn: int
    number: int

    def __str__(self) -> str:
        return f"{self.turn}-{self.number}"


@dataclass(frozen=True, slots=True)
class PageRef:
    """A posted page, by the platform's own id."""

    id: str


FILES: Final = -1  # The number of the message that hands over a reply's files: it is no page


@dataclass(frozen=True, slots=True)
class OutFile:
    """A file that is handed over with a reply. `name` is one plain word of ASCII, with an ending."""

    name: str
    content: bytes


class SurfaceError(CogencyError):
    """A call to the platform failed.

    SurfaceError
    ├── PageFound        it was posted before, and shows something else: `page` is to be edited
    ├── PageQueued       others come first: its place is kept for `wait_s`
    ├── PageLimited      too fast: not before `retry_after_s`
    ├── PageGone         somebody deleted the page, or the place; do not write again
    │   └── PageRefused  the platform lets nothing be shown there, for a reason that somebody should learn
    ├── PageLocked       the page can no longer be edited; go on in a new one
    ├── PageFull         the page takes no more: end it as it stands, and go on live in a new one
    └── PageUnsent       the platform could not be reached or failed; the same call may be tried again
    """


class PageFound(SurfaceError):
    def __init__(self, page: PageRef) -> None:
        super().__init__("the page was posted before")
        self.page = page


class PageQueued(SurfaceError):
    def __init__(self, wait_s: float) -> None:
        super().__init__(f"others are written first, for {wait_s:g} s")
        self.wait_s = wait_s


class PageLimited(SurfaceError):
    def __init__(self, retry_after_s: float) -> None:
        super().__init__(f"the platform asks to wait {retry_after_s:g} s")
        self.retry_after_s = retry_after_s


class PageGone(SurfaceError):
    pass


class PageRefused(PageGone):
    """`remedy`: what somebody can do about it, in a sentence; "" if that is not known."""

    def __init__(self, sentence: str, remedy: str = "") -> None:
        super().__init__(f"{sentence} {remedy}".rstrip())
        self.remedy = remedy


class PageLocked(SurfaceError):
    pass


class PageFull(SurfaceError):
    pass


class PageUnsent(SurfaceError):
    pass


class Surface(Protocol):
    """One place in which one reply grows. Pages are numbered from 0; a look is always the page's whole look.

    A call does not wait for a pace or a queue, which would keep a text that has become old: it says how long, and is
    made again.
    """

    @property
    def limits(self) -> Limits: ...

    async def find(self, key: PageKey) -> PageRef | None:
        """The page of this key, which may have been posted without our knowing. None if there is none, or if `post`
        itself finds it.
        """
        ...

    async def post(self, key: PageKey, look: PageContent) -> PageRef:
        """Show a new page. Posting the same key again must not make a second message where the platform can tell."""
        ...

    async def edit(self, page: PageRef, look: PageContent) -> None: ...

    async def delete(self, page: PageRef) -> None: ...

    async def attach(self, key: PageKey, files: Sequence[OutFile], *, again: bool) -> tuple[PageRef, ...]:
        """Hand over files below the last page, to whom it is shown: what holds them, as `delete` takes it.

        `again`: an earlier process may have done so, and what it did is looked for first. An ornament, which may fail.
        """
        ...

    async def send_ephemeral(self, text: str) -> None:
        """Say something to the person who asked, where nobody else sees it; where that cannot be done, nobody is told.

        An ornament, which may fail.
        """
        ...

    async def show_waiting(self, turn: int) -> None:
        """Show the person who asked, alone and unasked, what this turn waits for, where the platform lets that be done;
        the button below the reply shows it, too.

        An ornament, which may fail. Raises CogencyError.
        """
        ...

    async def status(self, text: str) -> None:
        """Show what the bot is doing outside the reply's text ("Searching past threads…"); "" takes it away."""
        ...

    def finish(self, *, ended: bool) -> None:
        """This process does nothing more here: the turn has `ended`, or goes on elsewhere or later. What says that the
        bot works is taken away at the end, and left to whoever goes on.
        """
        ...
