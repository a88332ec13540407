"""A live reply: takes the events of a turn and keeps the surface's pages up to date while the model writes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Final, Self, assert_never

from agent.asking import asks
from agent.consents import PutAside
from agent.errors import CogencyError
from agent.events import AgentEvent, Outcome
from agent.ports.clock import Clock
from agent.progress import Progress
from agent.protocol.render import joined
from agent.turn_records import Closing
from bot.chat.backoff import Backoff, OncePerMinute
from bot.chat.patience import PATIENCE_S
from bot.chat.reply import surface as reply_surface
from bot.chat.reply.pages import DeletePage, Draft, EditPage, FindPage, PageReconciler, PostPage, Write
from bot.chat.telemetry import SILENT, PageWritten, Telemetry, WriteEnd
from bot.chat.texts import replies as reply_texts

# When the next write may start. Pure: it returns a time and never sleeps.
#
# Rules.
# - The first write may start at once.
# - The interval counts from the return of the last write: on a platform that queues calls, counting from the start
#   would let them pile up.
# - After the last edit of a page comes a new message, which does not wait for the interval.
# - When a platform asks us to wait, we wait and stretch the interval, as the old one was too short. Each successful
#   write halves the stretch.

AT_ONCE = float("-inf")

MAX_STRETCH = 8.0  # Limits the interval to about ten seconds, at which an answer still looks live


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace of one reply's writes. Each write returns the next `Pace`."""

    limits: reply_surface.Limits
    not_before: float = AT_ONCE
    stretch: float = 1.0

    def after_write(self, returned: float, *, page_ended: bool = False) -> "Pace":
        """A write succeeded and returned at this time. `page_ended`: it was the last edit of a page."""
        stretch = max(1.0, self.stretch / 2)
        pause = 0.0 if page_ended and stretch == 1.0 else self.limits.edit_interval_s * stretch
        return replace(self, not_before=returned + pause, stretch=stretch)

    def after_queue(self, returned: float, wait_s: float) -> "Pace":
        """A write waits in a queue. The interval is not stretched: the write was not too fast."""
        return replace(self, not_before=returned + wait_s)

    def after_limit(self, returned: float, retry_after_s: float) -> "Pace":
        """A write was refused because of a rate limit."""
        stretch = min(MAX_STRETCH, self.stretch * 2)
        wait = max(retry_after_s, self.limits.edit_interval_s * stretch)
        return replace(self, not_before=returned + wait, stretch=stretch)

    def after_failure(self, returned: float, backoff_s: float) -> "Pace":
        """A write failed for another reason."""
        return replace(self, not_before=returned + max(backoff_s, self.limits.edit_interval_s))


log = logging.getLogger(__name__)

# How long the final text is retried: longer than a short outage. After that the turn is put off, not lost.
FINAL_PATIENCE_S = 300.0

MAX_BUTTON_TRIES = 3
BUTTON_WAIT_S = 15.0  # How long setting buttons may wait for the platform's limits

KINDS: Final[Mapping[type[Write], str]] = {FindPage: "find", PostPage: "post", EditPage: "edit", DeletePage: "delete"}

# How often the final text is sent although the platform does not accept it.
MAX_INVALID = 3
# Of the pages that are shown elsewhere: their keys are others than those of the pages before.
FIRST_ELSEWHERE = 1_000

# The longest single sleep: the turn may end meanwhile, and FINAL_PATIENCE_S starts then.
SLEEP_S = 5.0


class LiveReply:
    """One turn's reply. `pages` are those that an earlier process posted, if this one has `resumed` its turn.

    `on_pages` stores the ids of all pages durably. `check_lease` raises LeaseLost if another process has the turn, and
    PageUnsent if that cannot be determined.

    Theory of operation. `see` only records events. One writer task asks the reconciler for the next write, waits until
    the pace allows it, asks again, and performs it. So one write is in flight at a time, and it always shows the newest
    text.

    Rules.
    - A write in flight is never cancelled: leaving the block waits for its return and stores its page. Surfaces limit
      the duration of their own calls.
    - `check_lease` is called right before each write: a process that was suspended while another one took over the turn
      must not overwrite what that one wrote.
    - An intermediate frame that fails is dropped, as the next one holds more. Final ones are retried for
      FINAL_PATIENCE_S. The pauses double with each failure of that kind of write; they are counted per kind, because a
      failed search for a page says nothing about posting one. Each cause is logged once a minute.
    - Where the platform refuses a reply, the rest is shown in another place, if the surface knows one, and the asker is
      notified. Earlier pages stay as they are.
    - Permanent failures (the reply was deleted; the pages could not be stored; FINAL_PATIENCE_S is over) are raised by
      the next `see` or by `finish`.
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
        check_lease: Callable[[], Awaitable[None]] | None = None,
        logged: OncePerMinute | None = None,
        telemetry: Telemetry = SILENT,
    ) -> None:
        """`logged`: the causes that were logged recently, shared by all replies."""
        self._surface = surface
        self._left_pages: tuple[reply_surface.PageRef, ...] = ()
        self._moved = False
        self._invalid = 0
        self._clock = clock
        self._on_pages = on_pages
        self._check_lease = check_lease
        self._draft = Draft()
        self._reconciler = PageReconciler(surface.limits, turn, pages, resumed=resumed)
        self._pace = Pace(surface.limits)
        # Who resumes a reply shows that it goes on, before this begins.
        self._shown_status = self._draft.status = reply_texts.CONTINUING if resumed else ""
        self._shown_questions = 0
        self._turn = turn
        self._backoff = Backoff()
        self._logged = OncePerMinute() if logged is None else logged
        self._telemetry = telemetry
        self._has_events = False
        self._failure: reply_surface.SurfaceError | None = None
        self._give_up_at = float("inf")
        self._changed = asyncio.Event()
        self._finishing = False
        self._stopping = False
        self._writing = False
        self._just_posted: reply_surface.PageRef | None = None
        self._unsure: reply_surface.PageKey | None = None
        self._button_tries = 0
        self._buttons_until = float("inf")

    @property
    def is_empty(self) -> bool:
        """Whether no event of the turn has come yet."""
        return not self._has_events

    @property
    def surface(self) -> reply_surface.Surface:
        """Where the reply is shown now."""
        return self._surface

    @property
    def has_read(self) -> Callable[[str], bool]:
        """Returns whether the turn has read exactly this address."""
        return self._draft.addresses

    @property
    def stray_page(self) -> reply_surface.PageRef | None:
        """After the end: a page that was posted but could not be stored."""
        return self._just_posted

    @property
    def unsure_page(self) -> reply_surface.PageKey | None:
        """After the end: the key of a page that may have been posted, although the platform's answer did not arrive."""
        return self._unsure

    async def __aenter__(self) -> Self:
        self._writer = asyncio.create_task(self._write_until_finished())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()
        if not self._writer.cancelled() and (failure := self._writer.exception()) is not None and error is None:
            raise failure

    async def record_event(self, event: AgentEvent) -> None:
        """Record an event; the writer shows it soon.

        Raises what stopped the writer: PageGone, or an error of `on_pages` or `check_lease`.
        """
        self._raise_failure()
        self._has_events = True
        self._draft.record_event(event)
        self._wake()

    def shape_answer(self, shape: Callable[[str], str]) -> None:
        """Show the growing answer as `shape` returns it (`bot.chat.ports.ChannelRules`); called before it begins."""
        self._draft.shape = shape

    def shaped(self, answer: str) -> str:
        return self._draft.shape(answer)

    def record_context(self, texts: Iterable[str], progress: Progress) -> None:
        """Record the texts that the turn has read, and the calls and results that came before it was resumed."""
        self._draft.record_read(texts)
        for step in progress.steps:
            self._draft.record_read((), step.calls)
            for inner in step.inner:
                self._draft.record_read((), [inner.call])
                self._draft.record_results([inner.result])
            self._draft.record_results(step.results)

    async def finish(
        self, text: str | None = None, offers: frozenset[reply_surface.ReplyAction] = frozenset()
    ) -> tuple[str, ...]:
        """Show the whole reply, `text` if given, with `offers` below it. Return the ids of its pages, in order, when it
        is shown.

        Raises what `see` raises, and PageLimited or PageUnsent if the platform did not accept it in time.
        """
        self._raise_failure()
        self._draft.end(text, offers)
        self._finishing = True
        self._wake()
        await asyncio.wait({self._writer})
        self._raise_failure()
        return self._page_ids

    @property
    def _page_ids(self) -> tuple[str, ...]:
        return tuple(page.id for page in (*self._left_pages, *self._reconciler.pages))

    def _wake(self) -> None:
        if self._draft.final:
            self._give_up_at = min(self._give_up_at, self._clock.monotonic() + FINAL_PATIENCE_S)
        self._changed.set()

    def _raise_failure(self) -> None:
        if self._writer.done():
            self._writer.result()

    async def _stop(self) -> None:
        """End the writer. A write in flight returns first, however often this call is cancelled."""
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
                self._writer.exception()  # retrieved, so that asyncio does not log it as never retrieved
            raise cancelled

    async def _write_until_finished(self) -> None:
        while not self._stopping:
            self._changed.clear()
            write = self._reconciler.next_write(self._draft)
            wait = self._pace.not_before - self._clock.monotonic()
            if write is not None and wait <= 0:
                await self._perform(write)
            elif self._shown_status != (status := self._status(write, wait)):
                await self._show_status(status)
            elif self._shown_questions != self._draft.question_count:
                await self._show_waiting()
            elif write is not None:
                if self._failure is not None and self._pace.not_before > self._give_up_at:
                    raise self._failure
                await self._clock.sleep(min(wait, SLEEP_S))
            elif self._finishing:
                return
            else:
                await self._changed.wait()

    def _status(self, write: Write | None, wait: float) -> str:
        """Return what to show beside the reply: what the bot does, or that its words wait for the platform."""
        is_awaited = isinstance(write, PostPage | FindPage) or (write is not None and self._draft.final)
        if self._draft.status or not is_awaited:
            return self._draft.status
        is_long = wait > PATIENCE_S or self._shown_status == reply_texts.WAITS_TO_POST
        return reply_texts.WAITS_TO_POST if is_long else ""

    async def _show_status(self, status: str) -> None:
        self._shown_status = status
        self._writing = True
        with suppress(reply_surface.SurfaceError):  # best effort: a real problem fails the next write, too
            await self._surface.status(self._shown_status)
        self._writing = False

    async def _show_waiting(self) -> None:
        """Show the asker that a tool waits for them. Best effort, but retried when rate limited: a streaming answer has
        no button for it.
        """
        shown_questions, self._writing = self._draft.question_count, True
        try:
            await self._surface.show_waiting(self._turn)
        except reply_surface.PageLimited as limited:
            if self._draft.waits_for_asker and limited.retry_after_s <= FINAL_PATIENCE_S:
                shown_questions = self._shown_questions
                await self._clock.sleep(min(limited.retry_after_s, SLEEP_S))
        except CogencyError as error:
            log.info(
                "turn %d: the waiting request could not be shown, so the person sees it only with the command: %s",
                self._turn,
                error,
            )
        self._shown_questions = shown_questions
        self._writing = False

    async def _perform(self, write: Write) -> None:
        self._writing = True
        started, end = self._clock.monotonic(), WriteEnd.FAILED
        try:
            if self._check_lease is not None:
                await self._check_lease()
            await self._write_or_move(write)
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
            self._check_invalid(unsent)
            self._pace = self._pace.after_failure(self._clock.monotonic(), self._backoff.failed(type(write).__name__))
        else:
            end, self._failure, self._invalid = WriteEnd.DONE, None, 0
            self._backoff.worked(type(write).__name__)
            if not isinstance(write, FindPage):
                ended = isinstance(write, EditPage) and write.frame.look.final
                self._pace = self._pace.after_write(self._clock.monotonic(), page_ended=ended)
        finally:
            self._writing = False
            duration_s = self._clock.monotonic() - started
            has_text = isinstance(write, PostPage | EditPage) and bool(write.frame.look.text.strip())
            self._telemetry.record(PageWritten(self._turn, KINDS[type(write)], end, duration_s, has_text))

    def _log(self, write: Write, error: reply_surface.SurfaceError, cause: str) -> None:
        kind = type(write).__name__
        if (more := self._logged.due(f"{kind} {type(error).__name__} {cause}", self._clock.monotonic())) is not None:
            log.warning("turn %d: %s; retrying: %s%s", self._turn, _describe_failure(write), error, more)

    def _check_invalid(self, unsent: reply_surface.PageUnsent) -> None:
        """Raise PageRefused if the platform has refused the final text often enough."""
        if self._draft.final and isinstance(unsent, reply_surface.PageInvalid):
            self._invalid += 1
            if self._invalid == MAX_INVALID:
                raise reply_surface.PageRefused(str(unsent), reply_texts.TEXT_REFUSED) from unsent

    async def _write_or_move(self, write: Write) -> None:
        try:
            await self._write(write)
        except reply_surface.PageRefused as refused:
            if refused.elsewhere is None or self._moved:
                raise
            try:
                surface = await refused.elsewhere()
            except reply_surface.PageGone:
                raise refused from None
            log.warning("turn %d: the answer is shown only to the person who asked: %s", self._turn, refused)
            with suppress(reply_surface.SurfaceError):  # best effort: the answer itself arrives there, too
                await self._surface.send_ephemeral(reply_texts.SHOWN_ELSEWHERE.format(why=refused.remedy).rstrip())
            self._left_pages, self._moved, self._surface = self._reconciler.pages, True, surface
            self._reconciler = PageReconciler(surface.limits, self._turn, resumed=True, first=FIRST_ELSEWHERE)
            self._pace = Pace(surface.limits)

    async def _write(self, write: Write) -> None:
        match write:
            case FindPage(key):
                page = await self._surface.find(key)
                self._reconciler.report_search(page)
                self._unsure = None
                if page is not None:
                    await self._store_pages()
            case PostPage(key, frame):
                try:
                    page = await self._surface.post(key, frame.look)
                except reply_surface.PageFound as found:
                    self._reconciler.report_search(found.page)
                except reply_surface.PageUnsent:
                    self._reconciler.unsent()
                    self._unsure = key
                    raise
                else:
                    self._reconciler.posted(write, page)
                    self._just_posted = page
                await self._store_pages()
                self._just_posted = None
            case EditPage():
                await self._edit(write)
            case DeletePage(page):
                # Either it was deleted already, or it cannot be deleted.
                with suppress(reply_surface.PageGone, reply_surface.PageLocked):
                    await self._surface.delete(page)
                self._reconciler.deleted(write)
                await self._store_pages()
            case _:
                assert_never(write)

    async def _edit(self, write: EditPage) -> None:
        try:
            await self._surface.edit(write.page, write.frame.look)
        except reply_surface.SurfaceError as error:
            if write.only_buttons and not self._should_retry(error):
                self._buttons_until = float("inf")
                self._reconciler.edited(write)
            elif isinstance(error, reply_surface.PageFull):
                self._reconciler.full(write)
            elif isinstance(error, reply_surface.PageLocked):
                self._reconciler.locked(write)
            else:
                raise
        else:
            self._buttons_until = float("inf")
            self._reconciler.edited(write)

    def _should_retry(self, error: reply_surface.SurfaceError) -> bool:
        """Whether to retry setting buttons. Tries and waits are limited: the answer is complete without buttons."""
        if isinstance(error, reply_surface.PageQueued):  # the call was not made
            now = self._clock.monotonic()
            self._buttons_until = min(self._buttons_until, now + BUTTON_WAIT_S)
            return now + error.wait_s <= self._buttons_until
        self._button_tries += 1
        if self._button_tries == MAX_BUTTON_TRIES:
            return False
        match error:
            case reply_surface.PageLimited(retry_after_s=wait_s):
                return wait_s <= BUTTON_WAIT_S
            case _:
                return isinstance(error, reply_surface.PageUnsent)

    async def _store_pages(self) -> None:
        if self._on_pages is not None:
            await self._on_pages(self._page_ids)


# How a reply ends: the lines and the buttons below the answer. Pure.

UNFINISHED: Final = frozenset({Outcome.CUT, Outcome.EXHAUSTED})  # Ends after which the model can go on

ENDED_OFFERS: Final = frozenset({reply_surface.ReplyAction.REGENERATE, reply_surface.ReplyAction.DELETE})
# Only an answer can be rated.
RATING_OFFERS: Final = frozenset({reply_surface.ReplyAction.GOOD, reply_surface.ReplyAction.BAD})


def waiting_offers(put_aside: PutAside) -> frozenset[reply_surface.ReplyAction]:
    """Return the buttons below a reply that waits for consent to calls, for its asker's answer, or for a budget."""
    calls = put_aside.calls.values()
    actions = {reply_surface.ReplyAction.ANSWER if asks(call) else reply_surface.ReplyAction.DECIDE for call in calls}
    actions |= {reply_surface.ReplyAction.DECIDE} if put_aside.pause is not None else set()
    return frozenset({*actions, reply_surface.ReplyAction.STOP})


def final_text(closing: Closing, lines: Sequence[str] = ()) -> str:
    """Return the whole text of the ended reply: the answer, and the lines that are not stored with it."""
    stopped = reply_texts.STOPPED if closing.outcome is Outcome.STOPPED else ""
    return joined([closing.reply, stopped, *lines])


def offered_actions(closing: Closing) -> frozenset[reply_surface.ReplyAction]:
    """Return the buttons below a reply that ended with `closing`."""
    if closing.outcome in UNFINISHED:
        return frozenset({reply_surface.ReplyAction.CONTINUE, reply_surface.ReplyAction.DELETE})
    return ENDED_OFFERS | RATING_OFFERS if closing.outcome is Outcome.ANSWERED else ENDED_OFFERS


def _describe_failure(write: Write) -> str:
    """Describe a failed write for the log."""
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
