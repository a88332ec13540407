"""Runs one claimed turn, from its first step to its stored reply.

Rules (ARCHITECTURE.md, "One visible reply").
- Every write to the ledger carries the claim's epoch. A write to a platform starts only while the lease certainly
  holds. A process that lost the lease stops without a message.
- The reply is saved before its final frame, and shown before it is stored: a crash in between shows nothing twice.
- A turn that keeps killing its process is given up with a message, not retried without end.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any, Final, assert_never

from agent.consents import PutAside
from agent.errors import CogencyError, LeaseLost, StoreError, StoreUnavailable
from agent.events import Outcome
from agent.incoming import Incoming, platform_of
from agent.ports.clock import Clock
from agent.ports.ledger import Ledger
from agent.presentations import Presentation, presentation_markdown
from agent.turn_records import Claim, Closing
from agent.turn_setup import ANSWERED
from bot.chat.access.place_rules import place_owner
from bot.chat.attachments.handed_over import readable_code
from bot.chat.backoff import Backoff, OncePerMinute
from bot.chat.logs import bound, severity
from bot.chat.notes import NO_ACTIONS, EndedTurn
from bot.chat.reply.attached_files import attached_files
from bot.chat.reply.live import LiveReply, final_text, offered_actions, waiting_offers
from bot.chat.reply.presentations import separated, with_shown_addresses
from bot.chat.reply.surface import (
    FILES,
    PRESENTED,
    PageGone,
    PageKey,
    PageLimited,
    PageLocked,
    PageQueued,
    PageRef,
    PageRefused,
    PresentationSurface,
    ReplyEnd,
    SearchableSurface,
    Surface,
    SurfaceError,
)
from bot.chat.telemetry import Charged, Phase, PhaseBegan, TurnBegan, TurnOver, TurnUnended
from bot.chat.texts import replies as reply_texts
from bot.chat.turns.lease import Lease
from bot.chat.turns.runner import TurnRunner

log = logging.getLogger(__name__)

ANSWERING: Final = "turn"  # The purpose of a turn's model calls, as the ledger stores it
FIRST_EPOCH: Final = 1  # Of the first claim of a turn; a later claim may find pages that an earlier one has shown

# The timeout of uploading files: some megabytes on a slow line. The conversation's next question waits meanwhile.
ATTACH_S: Final = 60.0

# The longest rate limit to wait out before showing the asker what a turn waits for: later they have pressed the button.
SHOW_WAIT_S: Final = 30.0

# How long a process waits for another one to end a turn that it has lost: longer than answers take.
STRAY_S: Final = 600.0
PRESENT_S: Final = 300.0  # How long to try to show what an answer presents, as its last page
# For so long after a question, claims that ended because its platform could not be reached do not count as attempts. A
# text that the platform never takes, and that holds up its conversation, is given up after that.
LONGEST_OUTAGE: Final = timedelta(hours=6)


@dataclass(slots=True, eq=False)
class RunningTurn:
    """One claimed turn in this process. `earlier`: an earlier claim of the same turn, from before the clock jumped."""

    claim: Claim
    lease: Lease
    earlier: "RunningTurn | None"
    task: asyncio.Task[Outcome | None] = field(init=False)
    generating: asyncio.Task[EndedTurn | PutAside] | None = None
    taken_back: bool = False
    """Its pages are deleted, and nothing more is shown."""
    others_wait: bool = True
    """Whether there may be a turn to claim when this one has ended."""
    lost: bool = False
    """Another process has the turn."""
    reclaimed: bool = False
    """This process claimed the turn again after the lease of this claim ran out."""
    put_off: bool = False
    """It ended because the ledger could not be asked, and continues once it can."""
    ending: bool = False
    """Its end is being stored, or is stored. The store itself checks that the turn is still this process's."""
    put_aside: bool = False
    """It waits for its asker."""
    joined: frozenset[int] = frozenset()
    """The turns whose messages its reply answers as well, once it ends or waits for its asker."""
    unshown: bool = False
    """The platform allows its reply nowhere."""

    def stop(self) -> None:
        if self.generating is not None:
            self.generating.cancel()


@dataclass(frozen=True, slots=True)
class Answering:
    """Answers claimed turns. `max_attempts`: claims of a turn before it is given up."""

    ledger: Ledger
    runner: TurnRunner
    surface_for: Callable[[Incoming], Surface]
    clock: Clock
    max_attempts: int
    logged: OncePerMinute = field(default_factory=OncePerMinute)
    strays: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    """These look, after a turn was put off, whether its page became part of the reply."""

    async def run(self, running: RunningTurn, stopped: Callable[[], bool]) -> Outcome | None:
        """Answer the turn. `stopped`: whether the turn was asked to end.

        Returns None if the turn was put off or put aside, or its lease was lost. A turn that was put off is claimed
        again when its lease has run out or was given back.
        """
        claim = running.claim
        earlier = running.earlier
        if earlier is not None:  # the clock jumped past its lease; its writes are refused from now on
            earlier.reclaimed = True
            earlier.task.cancel()
        while earlier is not None:  # an earlier claim may itself still wait for the one before it
            await asyncio.wait({earlier.task})
            earlier = earlier.earlier
        running.earlier = None
        question = claim.incoming
        with bound(turn=claim.turn, conversation=question.conversation, person=question.person.id):
            return await self._run(running, stopped)

    async def _run(self, running: RunningTurn, stopped: Callable[[], bool]) -> Outcome | None:
        claim, telemetry = running.claim, self.runner.telemetry
        question, resumed = claim.incoming, claim.epoch > FIRST_EPOCH
        waited_s = max(0.0, (self.clock.now() - question.time).total_seconds())
        telemetry.record(TurnBegan(claim.turn, platform_of(question.source), question.conversation, waited_s, resumed))
        renewing = asyncio.create_task(self._renew(running))
        outcome, end = None, TurnUnended.FAILED
        try:
            outcome = await self._answer(running, stopped)
            end = outcome or TurnUnended.PUT_ASIDE
        except LeaseLost as error:
            end = TurnUnended.LOST
            log.info("turn %d: given up: %s", claim.turn, error)
        except (StoreError, SurfaceError) as error:
            end = TurnUnended.PUT_OFF
            running.put_off = isinstance(error, StoreUnavailable)
            log.log(severity(error), "turn %d: postponed: %s", claim.turn, error)
            if isinstance(error, SurfaceError) and self.clock.now() - question.time < LONGEST_OUTAGE:
                with suppress(LeaseLost, StoreError):
                    await self.ledger.discount(claim)
        except asyncio.CancelledError:
            end = TurnUnended.LOST if running.lost or running.reclaimed else TurnUnended.GIVEN_BACK
            raise
        finally:
            renewing.cancel()
            telemetry.record(TurnOver(claim.turn, end))
        return outcome

    async def _renew(self, running: RunningTurn) -> None:
        claim = running.claim
        while True:
            await self.clock.sleep(running.lease.pause_s)
            try:
                await running.lease.renew(claim)
            except LeaseLost:
                if running.ending:  # it is held no more because it ended; what follows from that is still shown
                    return
                running.lost = True
                running.task.cancel()
                return
            except StoreError as error:
                log.log(severity(error), "turn %d: the lease could not be renewed: %s", claim.turn, error)

    async def _answer(self, running: RunningTurn, stopped: Callable[[], bool]) -> Outcome | None:
        """Think, show the reply and store it. Return None if the turn waits for its asker. While the store is
        unavailable, a status says so.
        """
        surface, resumed = self.surface_for(running.claim.incoming), running.claim.epoch > FIRST_EPOCH
        end = ReplyEnd.CONTINUES
        try:
            if not running.taken_back:
                surface.begin(resumed=resumed)
            if resumed:
                await _show_status(surface, reply_texts.CONTINUING)
            closing = await self._answer_on(surface, running, stopped)
            end = _end_of(running, closing)
        except StoreUnavailable:
            await _show_status(surface, reply_texts.UNSTORED)
            raise
        except (LeaseLost, asyncio.CancelledError) as error:
            if (running.lost or isinstance(error, LeaseLost)) and await self._was_forgotten(running.claim.turn):
                end = ReplyEnd.TAKEN_BACK
            raise
        finally:
            surface.finish(end)
        return None if closing is None else closing.outcome

    async def _answer_on(self, surface: Surface, running: RunningTurn, stopped: Callable[[], bool]) -> Closing | None:
        """Return the end of the turn; None if it waits for its asker."""
        claim = running.claim

        async def store_pages(pages: tuple[str, ...]) -> None:
            await self.ledger.save(claim, reply_ref=json.dumps(pages))

        pages = [PageRef(page) for page in json.loads(claim.reply_ref or "[]")]
        ended, telemetry = EndedTurn(claim.turn, claim.incoming, Closing(Outcome.STOPPED, "")), self.runner.telemetry
        live = LiveReply(
            surface,
            self.clock,
            claim.turn,
            pages,
            store_pages,
            resumed=claim.epoch > FIRST_EPOCH,
            check_lease=partial(running.lease.ensure, claim),
            logged=self.logged,
            telemetry=telemetry,
        )
        try:
            async with live:
                result = await self._generate(running, live, stopped)
                telemetry.record(PhaseBegan(claim.turn, Phase.SHOW))
                if isinstance(result, PutAside):
                    await self._put_aside(running, result, live, surface)
                    return None
                ended = result
                ended, presentation = await self._show(running, ended, live)
            ended = await self._with_rest(ended, presentation, live, running)
        except PageRefused as refused:
            if (more := self.logged.due(str(refused), self.clock.monotonic())) is not None:
                log.warning("turn %d: the answer could not be shown: %s%s", claim.turn, refused, more)
            with suppress(SurfaceError):  # best effort: the user may not be reachable at all
                await surface.send_ephemeral(reply_texts.NOT_SHOWN.format(why=refused.remedy).rstrip())
            running.unshown = True
            ended = _closing(ended, outcome=Outcome.STOPPED, reply="", pages=())
        except PageGone:
            log.info("turn %d: someone deleted the reply", claim.turn)
            if not running.taken_back:
                with suppress(SurfaceError):  # best effort
                    await surface.send_ephemeral(reply_texts.REPLY_DELETED)
            ended = _closing(ended, outcome=Outcome.STOPPED, reply="", pages=())
        except (LeaseLost, asyncio.CancelledError) as error:
            if running.lost or isinstance(error, LeaseLost):
                await self._delete_stray(live, surface, running)
            raise
        except (StoreError, SurfaceError):  # put off: another process may have taken the turn over, and ended it
            stray = asyncio.create_task(self._delete_stray(live, surface, running))
            self.strays.add(stray)
            stray.add_done_callback(self.strays.discard)
            raise
        await self._store(running, ended, surface)
        return ended.closing

    async def _put_aside(self, running: RunningTurn, result: PutAside, live: LiveReply, surface: Surface) -> None:
        claim = running.claim
        await live.finish(None, waiting_offers(result))
        self.runner.telemetry.record(PhaseBegan(claim.turn, Phase.STORE))
        running.ending, running.joined = True, frozenset(result.joined)
        await self.ledger.put_aside(claim, result.until, result.pause)
        running.put_aside = True
        log.info("turn %d: waiting for the person (calls: %d)", claim.turn, len(result.calls))
        await self._show_waiting(surface, claim.turn)

    async def _show(
        self, running: RunningTurn, ended: EndedTurn, live: LiveReply
    ) -> tuple[EndedTurn, Presentation | None]:
        """Show the whole reply. Return the end with its pages, and what its last page has yet to present."""
        asked, closing = running.claim.incoming, ended.closing
        with self.runner.together(asked.person.id, place_owner(asked.channel)):
            lines = await self.runner.features.lines_below(ended)
        shown = separated(closing) if live.surface.limits.presents and not running.taken_back else None
        answer = closing if shown is None else replace(closing, reply=shown.text)
        text = "" if running.taken_back else final_text(answer, [line.text for line in lines])
        offers = offered_actions(closing) if self.runner.features.rule(ended.question).offers_actions else NO_ACTIONS
        offers = offers.union(*(line.actions for line in lines))
        pages = await live.finish(text, offers)
        return _closing(ended, pages=pages), None if shown is None else shown.presentation

    async def _store(self, running: RunningTurn, ended: EndedTurn, surface: Surface) -> None:
        """Store the end of a turn whose reply is shown, and what follows from it."""
        claim, closing, telemetry = running.claim, ended.closing, self.runner.telemetry
        if not running.taken_back and (message := await self.runner.features.final_message(ended)) is not None:
            await self.ledger.accept(message)
        telemetry.record(PhaseBegan(claim.turn, Phase.STORE))
        running.ending, running.joined = True, frozenset(one.turn for one in closing.joined)
        running.others_wait = await self.ledger.finish(claim, closing, self.clock.now())
        telemetry.record(Charged(ANSWERING, closing.calls))
        with suppress(StoreError):  # the next question notices it
            await self.runner.budgets.ended(claim.incoming, claim.turn, closing.calls)
        for line in () if running.taken_back else await self.runner.features.private_lines(ended):
            with suppress(SurfaceError):  # best effort
                await surface.send_ephemeral(line)
        log.info("turn %d: %s, %d tokens out", claim.turn, closing.outcome, closing.usage.output)

    async def _show_waiting(self, surface: Surface, turn: int) -> None:
        """Show the asker what the turn waits for. Best effort: the button below the reply shows it, too."""
        try:
            await surface.show_waiting(turn)
        except PageLimited as limited:
            if limited.retry_after_s <= SHOW_WAIT_S:
                await self.clock.sleep(limited.retry_after_s)
                with suppress(CogencyError):
                    await surface.show_waiting(turn)
        except CogencyError as error:
            log.info(
                "turn %d: the waiting request could not be shown, so the person sees it only with the button: %s",
                turn,
                error,
            )

    async def _with_rest(
        self, ended: EndedTurn, presentation: Presentation | None, live: LiveReply, running: RunningTurn
    ) -> EndedTurn:
        """Show what stands below the answer; if it was taken back meanwhile, nothing of it stays. Raises
        SurfaceError.
        """
        if presentation is not None:
            ended = await self._with_presentation(ended, presentation, live, running)
        ended = await self._with_files(ended, live.surface, running)
        was_shown = running.taken_back and ended.closing.reply
        return await self._without_pages(ended, live.surface, running) if was_shown else ended

    async def _with_presentation(
        self, ended: EndedTurn, presentation: Presentation, live: LiveReply, running: RunningTurn
    ) -> EndedTurn:
        """Show what the answer presents below it. It is a part of the answer: while the platform does not take it, it
        is tried again, and then the turn is postponed. Raises SurfaceError.
        """
        claim, surface, again = running.claim, live.surface, running.claim.epoch > FIRST_EPOCH
        shown = with_shown_addresses(presentation, live.has_read, surface.limits.reader)
        key, words, backoff = PageKey(claim.turn, PRESENTED), presentation_markdown(shown), Backoff()
        until = self.clock.monotonic() + PRESENT_S
        while isinstance(surface, PresentationSurface) and not running.taken_back:
            try:
                await running.lease.ensure(claim)
                messages = await surface.present(key, shown, words, again=again)
            except PageGone as gone:
                log.warning("turn %d: the answer's cards, tables or buttons could not be shown: %s", claim.turn, gone)
                break
            except PageQueued as queued:  # the call was not made
                pause, failure = queued.wait_s, queued
            except PageLimited as limited:
                pause, failure = limited.retry_after_s, limited
            except SurfaceError as error:
                again, pause, failure = True, backoff.failed(), error
            else:
                return _closing(ended, pages=(*ended.closing.pages, *(page.id for page in messages)))
            if self.clock.monotonic() + pause > until:
                raise failure
            await self.clock.sleep(pause)
        return ended

    async def _with_files(self, ended: EndedTurn, surface: Surface, running: RunningTurn) -> EndedTurn:
        """Attach the reply's files. The answer does not depend on them: a failure is only logged."""
        claim, closing = running.claim, ended.closing
        pages = len(closing.pages)
        files = attached_files(
            closing.reply, pages=pages, limits=surface.limits, shared=closing.files, named=readable_code
        )
        if running.taken_back or closing.outcome not in ANSWERED or not files:
            return ended
        try:
            await running.lease.ensure(claim)
            async with asyncio.timeout(ATTACH_S):
                messages = await surface.attach(PageKey(claim.turn, FILES), files, again=claim.epoch > FIRST_EPOCH)
        except (SurfaceError, TimeoutError) as error:
            log.warning("turn %d: files were not attached (%d): %s", claim.turn, len(files), error)
            return ended
        return _closing(ended, pages=(*closing.pages, *(page.id for page in messages)))

    async def _without_pages(self, ended: EndedTurn, surface: Surface, running: RunningTurn) -> EndedTurn:
        """Delete the pages of a reply that was taken back after its words were shown, and leave nothing of it to be
        stored. Raises SurfaceError: then the turn is postponed.
        """
        until = self.clock.monotonic() + PRESENT_S
        for page in ended.closing.pages:
            await self._delete(PageRef(page), surface, until, partial(running.lease.ensure, running.claim))
        nothing: dict[str, Any] = {"reply": "", "pages": (), "files": (), "summary": None, "presentation": None}
        return _closing(ended, **nothing, learn_at=None, excluded_from_learning=True)

    async def _delete_stray(self, live: LiveReply, surface: Surface, running: RunningTurn) -> None:
        """Delete a page that was posted just as the turn was lost, unless it became part of the reply."""
        stray, unsure = live.stray_page, live.unsure_page
        if stray is None and (unsure is None or not isinstance(surface, SearchableSurface)):
            return
        turn, until = running.claim.turn, self.clock.monotonic() + STRAY_S
        with suppress(StoreError, SurfaceError):
            while (pages := await self._pages(turn)) is None and self.clock.monotonic() < until:
                await self.clock.sleep(running.lease.pause_s)
            if pages is None:
                return
            if stray is None and unsure is not None and isinstance(surface, SearchableSurface):
                stray = await surface.find_surplus(unsure, [PageRef(page) for page in pages])
            if stray is not None and stray.id not in pages:
                log.info("turn %d: deleting a surplus page", turn)
                await self._delete(stray, surface, until)

    async def _was_forgotten(self, turn: int) -> bool:
        try:
            return await self._pages(turn) == ()
        except StoreError:
            return False

    async def _pages(self, turn: int) -> Sequence[str] | None:
        """Return the pages of a turn's reply; None if it has not ended, or the ledger cannot be asked now."""
        try:
            return await self.ledger.pages(turn)
        except StoreUnavailable:
            return None

    async def _delete(
        self, page: PageRef, surface: Surface, until: float, check: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Delete a page; try again until a time while the platform does not allow it or cannot be reached. `check`: a
        condition of each attempt. Raises SurfaceError after that, and what `check` raises.
        """
        backoff = Backoff()
        while True:
            try:
                if check is not None:
                    await check()
                await surface.delete(page)
            except (PageGone, PageLocked):
                return
            except SurfaceError as error:
                pause = error.retry_after_s if isinstance(error, PageLimited) else backoff.failed()
                if self.clock.monotonic() + pause > until:
                    raise
                await self.clock.sleep(pause)
            else:
                return

    async def _generate(
        self, running: RunningTurn, live: LiveReply, stopped: Callable[[], bool]
    ) -> EndedTurn | PutAside:
        claim = running.claim
        if claim.attempts > self.max_attempts:
            sorry = reply_texts.GIVEN_UP.format(attempts=claim.attempts - 1, turn=claim.turn)
            return EndedTurn(claim.turn, claim.incoming, Closing(Outcome.REFUSED, sorry))
        # A task of its own: stopping ends the generation, but not showing and storing the reply so far.
        running.generating = asyncio.create_task(self.runner.run(claim, live, stopped))
        try:
            result = await running.generating
        except asyncio.CancelledError:
            if not (running.generating.cancelled() and stopped()):
                running.generating.cancel()
                await asyncio.wait({running.generating})
                raise
            result = EndedTurn(claim.turn, claim.incoming, Closing(Outcome.STOPPED, ""))  # before its first step
        return _closing(result, reply="") if running.taken_back and isinstance(result, EndedTurn) else result


def _closing(ended: EndedTurn, **changes: Any) -> EndedTurn:  # noqa: ANN401 -- fields of Closing, as of `replace`
    return replace(ended, closing=replace(ended.closing, **changes))


def _end_of(running: RunningTurn, closing: Closing | None) -> ReplyEnd:
    """Return how the turn ended, for its surface. `closing`: None if the turn waits for its asker."""
    if running.taken_back:
        return ReplyEnd.TAKEN_BACK
    if closing is None:
        return ReplyEnd.WAITS
    if running.unshown:
        return ReplyEnd.FAILED
    match closing.outcome:
        case Outcome.ANSWERED:
            return ReplyEnd.DONE if closing.reply else ReplyEnd.SILENT
        case Outcome.STOPPED:
            return ReplyEnd.STOPPED
        case Outcome.CUT | Outcome.EXHAUSTED | Outcome.REFUSED:
            return ReplyEnd.FAILED
        case _:
            assert_never(closing.outcome)


async def _show_status(surface: Surface, status: str) -> None:
    with suppress(SurfaceError):  # best effort
        await surface.status(status)
