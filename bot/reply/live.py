"""The one visible reply, growing live: takes the agent's events and keeps the surface's pages in step with them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Final, Self, assert_never

from agent.errors import CogencyError
from agent.events import AgentEvent, Outcome
from agent.ports import Clock
from agent.progress import Progress
from agent.protocol.render import joined
from agent.records import Closing
from bot import reply_surface
from bot.caches import Backoff, OncePerMinute
from bot.reply.pages import DeletePage, Draft, EditPage, FindPage, PageReconciler, PostPage, Write
from bot.telemetry import SILENT, PageWritten, Telemetry, WriteEnd
from bot.texts import reply_texts

# When the next write may start. Pure: it answers "not before t" and never sleeps.
#
# Rules.
# - The first write may start at once.
# - The next one is armed after the last has returned: on a platform that queues, counting from the start of a write
#   would let them pile up.
# - What follows the last edit of a page is a new message, which has waited long enough.
# - A platform that asks us to wait is obeyed, and the interval is stretched: whoever was too fast once is too fast at
#   that pace. Each write that goes well takes half of the stretch back.

AT_ONCE = float("-inf")

MAX_STRETCH = 8.0  # The most by which the interval grows: an answer that moves every ten seconds is still live


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace of one reply's writes. Each of them makes the next `Pace`."""

    limits: reply_surface.Limits
    not_before: float = AT_ONCE
    stretch: float = 1.0

    def after_write(self, returned: float, *, page_ended: bool = False) -> "Pace":
        """A write went well and returned at this time. `page_ended`: it was the last edit of a page."""
        stretch = max(1.0, self.stretch / 2)
        pause = 0.0 if page_ended and stretch == 1.0 else self.limits.edit_interval_s * stretch
        return replace(self, not_before=returned + pause, stretch=stretch)

    def after_queue(self, returned: float, wait_s: float) -> "Pace":
        """A write has its place in a queue: no sign of haste."""
        return replace(self, not_before=returned + wait_s)

    def after_limit(self, returned: float, retry_after_s: float) -> "Pace":
        """A write was refused: too fast."""
        stretch = min(MAX_STRETCH, self.stretch * 2)
        wait = max(retry_after_s, self.limits.edit_interval_s * stretch)
        return replace(self, not_before=returned + wait, stretch=stretch)

    def after_failure(self, returned: float, backoff_s: float) -> "Pace":
        """A write failed for another reason."""
        return replace(self, not_before=returned + max(backoff_s, self.limits.edit_interval_s))


log = logging.getLogger(__name__)

# How long the final text is tried again: longer than a platform's hiccup; then the turn is put off, not lost.
FINAL_PATIENCE_S = 300.0

ORNAMENT_TRIES = 3
ORNAMENT_WAIT_S = 15.0  # Buttons wait behind the platform's limits like any edit, but not for ever

KINDS: Final[Mapping[type[Write], str]] = {FindPage: "find", PostPage: "post", EditPage: "edit", DeletePage: "delete"}

# How long to wait at a stretch: the end of the turn may come meanwhile, and with it the limit of our patience.
NAP_S = 5.0


class LiveReply:
    """One turn's reply. `pages` are those that an earlier process had posted, if this one has `resumed` its turn;
    `on_pages` stores all ids durably. `sure` raises if the turn is no longer ours, or PageUnsent if nobody knows.

    Theory of operation. `see` only notes what happened. One writer task asks the wall for the next write, waits until
    the pace allows it, asks again, and performs it. So one write is in flight at a time, and it always shows the newest
    text.

    Rules.
    - A write that has begun is never cancelled: leaving the block waits for its return, and stores its page. Surfaces
      bound their own calls.
    - Right before each write `sure` is asked whether the turn is still ours: a process that was stopped for a while,
      and woke after another one had taken over, must not write what that one has written.
    - An intermediate frame that fails is dropped: the next one holds more. Final ones are tried again, for
      FINAL_PATIENCE_S, after pauses that double with each failure of that kind of write: that a lost page was looked
      for in vain says nothing about posting it. Each cause is logged once a minute.
    - What went wrong for good (somebody deleted the reply; the pages could not be stored; patience ran out) is raised
      by the next `see` or by `finish`.
    """

    def __init__(
        self,
        surface: reply_surface.Surface,
        clock: Clock,
        turn: int,
        pages: Sequence[reply_surface.PageRef] = (),
        on_pages: Callable[[tuple[str, ...]], Awaitable[None]] | None = None,
        *,
        resumed: bool = False,
        sure: Callable[[], Awaitable[None]] | None = None,
        logged: OncePerMinute | None = None,
        telemetry: Telemetry = SILENT,
    ) -> None:
        """`logged`: which causes were logged of late, shared by replies."""
        self._surface = surface
        self._clock = clock
        self._on_pages = on_pages
        self._sure = sure
        self._draft = Draft()
        self._wall = PageReconciler(surface.limits, turn, pages, resumed=resumed)
        self._pace = Pace(surface.limits)
        self._status = ""
        self._asked = 0
        self._turn = turn
        self._backoff = Backoff()
        self._logged = OncePerMinute() if logged is None else logged
        self._telemetry = telemetry
        self._seen = False
        self._failure: reply_surface.SurfaceError | None = None
        self._give_up_at = float("inf")
        self._changed = asyncio.Event()
        self._finishing = False
        self._stopping = False
        self._writing = False
        self._just_posted: reply_surface.PageRef | None = None
        self._ornament_tries = 0
        self._ornament_until = float("inf")

    @property
    def is_empty(self) -> bool:
        """Whether nothing of the turn was seen yet."""
        return not self._seen

    @property
    def stray(self) -> reply_surface.PageRef | None:
        """After the end: a page that was posted and could not be stored."""
        return self._just_posted

    async def __aenter__(self) -> Self:
        self._writer = asyncio.create_task(self._write_until_finished())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()
        if not self._writer.cancelled() and (failure := self._writer.exception()) is not None and error is None:
            raise failure

    async def see(self, event: AgentEvent) -> None:
        """Show what happened, soon. Raises PageGone and whatever `on_pages` and `sure` raised, once the writer has met
        it.
        """
        self._raise_failure()
        self._seen = True
        self._draft.see(event)
        self._wake()

    def read(self, texts: Iterable[str], progress: Progress) -> None:
        """What the turn has read, and what it had called and was brought before this process went on with it."""
        self._draft.read(texts)
        for step in progress.steps:
            self._draft.read((), step.calls)
            self._draft.brought(step.results)

    async def finish(
        self, text: str | None = None, offers: frozenset[reply_surface.ReplyAction] = frozenset()
    ) -> tuple[str, ...]:
        """Show the whole reply, `text` if given, with `offers` below it, and return when it is shown: the ids of its
        pages, in order.

        Raises what `see` raises, and PageLimited or PageUnsent when the platform did not take it in time.
        """
        self._raise_failure()
        self._draft.end(text, offers)
        self._finishing = True
        self._wake()
        await asyncio.wait({self._writer})
        self._raise_failure()
        return tuple(page.id for page in self._wall.pages)

    def _wake(self) -> None:
        if self._draft.final:
            self._give_up_at = min(self._give_up_at, self._clock.monotonic() + FINAL_PATIENCE_S)
        self._changed.set()

    def _raise_failure(self) -> None:
        if self._writer.done():
            self._writer.result()

    async def _stop(self) -> None:
        """End the writer; a write in flight returns first, however often we are cancelled meanwhile."""
        self._stopping = True
        if not self._writing:
            self._writer.cancel()
        cancelled: asyncio.CancelledError | None = None
        while not self._writer.done():
            try:
                await asyncio.wait({self._writer})
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            if not self._writer.cancelled():
                self._writer.exception()  # nobody asks any more: seen
            raise cancelled

    async def _write_until_finished(self) -> None:
        while not self._stopping:
            self._changed.clear()
            write = self._wall.next_write(self._draft)
            wait = self._pace.not_before - self._clock.monotonic()
            if write is not None and wait <= 0:
                await self._perform(write)
            elif self._status != self._draft.status:
                await self._show_status()
            elif self._asked != self._draft.asked:
                await self._show_waiting()
            elif write is not None:
                if self._failure is not None and self._pace.not_before > self._give_up_at:
                    raise self._failure
                await self._clock.sleep(min(wait, NAP_S))
            elif self._finishing:
                return
            else:
                await self._changed.wait()

    async def _show_status(self) -> None:
        self._status = self._draft.status
        self._writing = True
        with suppress(reply_surface.SurfaceError):  # an ornament: the next write meets what is really wrong
            await self._surface.status(self._status)
        self._writing = False

    async def _show_waiting(self) -> None:
        """An ornament, for which a platform's limits are waited for: where an answer streams there is no button."""
        asked, self._writing = self._draft.asked, True
        try:
            await self._surface.show_waiting(self._turn)
        except reply_surface.PageLimited as limited:
            if self._draft.asks and limited.retry_after_s <= FINAL_PATIENCE_S:
                asked = self._asked
                await self._clock.sleep(min(limited.retry_after_s, NAP_S))
        except CogencyError as error:
            log.info("turn %d: its asker is shown what it waits for by the command alone: %s", self._turn, error)
        self._asked = asked
        self._writing = False

    async def _perform(self, write: Write) -> None:
        self._writing = True
        begun, end = self._clock.monotonic(), WriteEnd.FAILED
        try:
            if self._sure is not None:
                await self._sure()
            await self._write(write)
        except reply_surface.PageQueued as queued:
            end, self._failure = WriteEnd.QUEUED, queued
            self._pace = self._pace.after_queue(self._clock.monotonic(), queued.wait_s)
        except reply_surface.PageLimited as limited:
            end, self._failure = WriteEnd.LIMITED, limited
            self._log(write, limited, "")
            self._pace = self._pace.after_limit(self._clock.monotonic(), limited.retry_after_s)
        except reply_surface.PageUnsent as unsent:
            end, self._failure = WriteEnd.UNSENT, unsent
            self._log(write, unsent, str(unsent))
            self._pace = self._pace.after_failure(self._clock.monotonic(), self._backoff.failed(type(write).__name__))
        else:
            end, self._failure = WriteEnd.DONE, None
            self._backoff.worked(type(write).__name__)
            if not isinstance(write, FindPage):
                ended = isinstance(write, EditPage) and write.frame.look.final
                self._pace = self._pace.after_write(self._clock.monotonic(), page_ended=ended)
        finally:
            self._writing = False
            took_s = self._clock.monotonic() - begun
            has_text = isinstance(write, PostPage | EditPage) and bool(write.frame.look.text.strip())
            self._telemetry.tell(PageWritten(self._turn, KINDS[type(write)], end, took_s, has_text))

    def _log(self, write: Write, error: reply_surface.SurfaceError, cause: str) -> None:
        kind = type(write).__name__
        if (more := self._logged.due(f"{kind} {type(error).__name__} {cause}", self._clock.monotonic())) is not None:
            log.warning("turn %d: %s, it is tried again: %s%s", self._turn, _failed(write), error, more)

    async def _write(self, write: Write) -> None:
        match write:
            case FindPage(key):
                page = await self._surface.find(key)
                self._wall.found(page)
                if page is not None:
                    await self._store_pages()
            case PostPage(key, frame):
                try:
                    page = await self._surface.post(key, frame.look)
                except reply_surface.PageFound as found:
                    self._wall.found(found.page)
                except reply_surface.PageUnsent:
                    self._wall.unsent()
                    raise
                else:
                    self._wall.posted(write, page)
                    self._just_posted = page
                await self._store_pages()
                self._just_posted = None
            case EditPage():
                await self._edit(write)
            case DeletePage(page):
                with suppress(
                    reply_surface.PageGone, reply_surface.PageLocked
                ):  # somebody else deleted it, or nobody can
                    await self._surface.delete(page)
                self._wall.deleted(write)
                await self._store_pages()
            case _:
                assert_never(write)

    async def _edit(self, write: EditPage) -> None:
        try:
            await self._surface.edit(write.page, write.frame.look)
        except reply_surface.SurfaceError as error:
            if write.ornament and not self._worth_another_try(error):
                self._ornament_until = float("inf")
                self._wall.edited(write)
            elif isinstance(error, reply_surface.PageFull):
                self._wall.full(write)
            elif isinstance(error, reply_surface.PageLocked):
                self._wall.locked(write)
            else:
                raise
        else:
            self._ornament_until = float("inf")
            self._wall.edited(write)

    def _worth_another_try(self, error: reply_surface.SurfaceError) -> bool:
        """Whether buttons that could not be set are waited for: the answer is complete without them."""
        if isinstance(error, reply_surface.PageQueued):  # it was not even tried
            now = self._clock.monotonic()
            self._ornament_until = min(self._ornament_until, now + ORNAMENT_WAIT_S)
            return now + error.wait_s <= self._ornament_until
        self._ornament_tries += 1
        if self._ornament_tries == ORNAMENT_TRIES:
            return False
        match error:
            case reply_surface.PageLimited(retry_after_s=wait_s):
                return wait_s <= ORNAMENT_WAIT_S
            case _:
                return isinstance(error, reply_surface.PageUnsent)

    async def _store_pages(self) -> None:
        if self._on_pages is not None:
            await self._on_pages(tuple(page.id for page in self._wall.pages))


# How a reply ends: what stands below the answer, and which buttons stay. Pure.

UNFINISHED: Final = frozenset({Outcome.CUT, Outcome.EXHAUSTED})  # Ends after which the model can go on

# What stands below a reply that waits for its asker's consent.
ASIDE: Final = frozenset({reply_surface.ReplyAction.DECIDE, reply_surface.ReplyAction.STOP})
AGAIN: Final = frozenset({reply_surface.ReplyAction.REGENERATE, reply_surface.ReplyAction.DELETE})
# What stands below an answer; an end without one is nobody's opinion.
JUDGED: Final = frozenset({reply_surface.ReplyAction.GOOD, reply_surface.ReplyAction.BAD})


def shown_ending(closing: Closing) -> str:
    """The whole text that a reader sees at the end: the answer, and the lines that are not stored with it."""
    stopped = reply_texts.STOPPED if closing.outcome is Outcome.STOPPED else ""
    return joined([closing.reply, stopped, closing.kept, closing.scheduled, closing.footer])


def offered_actions(closing: Closing) -> frozenset[reply_surface.ReplyAction]:
    """What a reader may do about the reply that has ended so."""
    offers = frozenset({reply_surface.ReplyAction.UNDO}) if closing.kept else frozenset[reply_surface.ReplyAction]()
    offers |= reply_surface.SCHEDULING if closing.scheduled else frozenset()
    if closing.outcome in UNFINISHED:
        return offers | {reply_surface.ReplyAction.CONTINUE, reply_surface.ReplyAction.DELETE}
    return offers | (AGAIN | JUDGED if closing.outcome is Outcome.ANSWERED else AGAIN)


def _failed(write: Write) -> str:
    """What an operator reads of a write that failed."""
    match write:
        case FindPage():
            return "a page of the reply could not be looked for"
        case PostPage():
            return "a page of the reply could not be posted"
        case EditPage():
            return "a page of the reply could not be changed"
        case DeletePage():
            return "a page of the reply could not be deleted"
        case _:
            assert_never(write)
