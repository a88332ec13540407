"""A live reply: paced, coalesced and complete, whatever the platform does meanwhile."""

import asyncio
import gc
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from agent.errors import LeaseLost
from agent.events import (
    AgentEvent,
    CallFinished,
    CallStarted,
    IterationStarted,
    NoticeArrived,
    Outcome,
    ReplyEnded,
    TextArrived,
    TurnEnded,
)
from agent.messages import ResultStatus, ToolCall, ToolResult
from bot.chat.backoff import FIRST_S
from bot.chat.reply.live import FINAL_PATIENCE_S, LiveReply
from bot.chat.reply.surface import (
    Limits,
    PageContent,
    PageFound,
    PageFull,
    PageGone,
    PageKey,
    PageLimited,
    PageQueued,
    PageRef,
    PageUnsent,
    ReplyAction,
    ShownStep,
    StepState,
    SurfaceError,
)
from tests.fakes.answers import answer_of
from tests.fakes.clock import FakeClock
from tests.fakes.reader import fences_are_balanced, read_back
from tests.fakes.surface import BUTTONED, DISCORD_LIKE, FakeSurface
from tests.patience import PATIENCE_S

QUIET = replace(DISCORD_LIKE, announce_final=False)
LINK, PICTURE = "](http://example.org/a_(b)/c-d)", "](http://example.org/p.png)"
WORDS = "The boat is blue and it lies in the harbour of Lübeck. "
RATING_OFFERS = frozenset({ReplyAction.GOOD, ReplyAction.BAD})
STREAM = Limits(
    page_chars=6_000, edit_interval_s=0.5, page_bytes=5_000, grows_only=True, steps=True, offers=frozenset(ReplyAction)
)


class Stage:
    """A reply on a fake surface, with the clock of both."""

    def __init__(self, limits: Limits = DISCORD_LIKE, latency_s: float = 0.0) -> None:
        self.clock = FakeClock()
        self.surface = FakeSurface(self.clock, limits, latency_s)
        self.stored: list[tuple[str, ...]] = []

    async def keep(self, pages: tuple[str, ...]) -> None:
        self.stored.append(pages)

    def reply(self, pages: Iterable[str] = (), **more: Any) -> LiveReply:
        return LiveReply(self.surface, self.clock, 7, [PageRef(page) for page in pages], self.keep, **more)

    @asynccontextmanager
    async def live(self, pages: Iterable[str] = (), **more: Any) -> AsyncGenerator[LiveReply, None]:
        async with asyncio.timeout(PATIENCE_S), self.reply(pages, **more) as live:
            yield live

    async def say(self, live: LiveReply, text: str, *, chunk: int = 4, chars_per_s: float = 200) -> None:
        for at in range(0, len(text), chunk):
            await live.record_event(TextArrived(text[at : at + chunk]))
            await self.clock.sleep(chunk / chars_per_s)


async def test_a_reply_that_is_complete_at_once_is_one_post_and_no_edit() -> None:
    stage = Stage()
    async with stage.live() as live:
        await live.record_event(TextArrived("It is "))
        await live.record_event(TextArrived("blue"))
        assert await live.finish("It is blue") == ("page-7-0",)
    assert stage.surface.calls == ["post 7-0"]
    assert stage.surface.frames[0].final


@pytest.mark.parametrize(("limits", "edits"), [(QUIET, 0), (DISCORD_LIKE, 1)])
async def test_an_unchanged_page_is_written_again_only_where_the_surface_must_hear_of_the_end(
    limits: Limits, edits: int
) -> None:
    stage = Stage(limits)
    async with stage.live() as live:
        await live.record_event(TextArrived("It is blue"))
        await stage.clock.sleep(5)
        await live.finish("It is blue")
    assert stage.surface.calls == ["post 7-0"] + ["edit page-7-0"] * edits


async def test_ten_characters_in_a_stream_are_one_post_and_at_most_one_edit() -> None:
    stage = Stage(latency_s=0.1)
    async with stage.live() as live:
        await stage.say(live, "It is blue")
        await live.finish("It is blue")
    assert stage.surface.calls == ["post 7-0", "edit page-7-0"]
    assert stage.surface.shown == ["It is blue"]


async def test_the_first_text_is_posted_at_once() -> None:
    stage = Stage()
    async with stage.live() as live:
        await stage.clock.sleep(3)
        await live.record_event(TextArrived("It"))
        await stage.clock.sleep(0.01)
        assert [(frame.began, frame.text) for frame in stage.surface.frames] == [(3, "It")]


async def test_the_next_write_starts_an_interval_after_the_last_has_returned() -> None:
    stage = Stage(latency_s=0.5)
    async with stage.live() as live:
        await stage.say(live, WORDS * 20)
        await live.finish()
    frames = stage.surface.frames
    assert len(frames) >= 4
    for earlier, later in pairwise(frames):
        assert later.began == pytest.approx(earlier.time + 1.2, abs=0.05)
    assert stage.surface.most_in_flight == 1


async def test_a_slow_write_is_followed_by_the_newest_text_only() -> None:
    stage = Stage(latency_s=10)
    async with stage.live() as live:
        await stage.say(live, WORDS * 20)
        await live.finish()
    texts = [frame.text for frame in stage.surface.frames]
    assert len(texts) == 2
    assert texts[-1] == WORDS * 20


@pytest.mark.slow
@pytest.mark.parametrize("chars", [3_000, 15_000])
async def test_a_long_answer_is_seen_growing(chars: int) -> None:
    stage = Stage()
    text = (WORDS * 400)[:chars]
    async with stage.live() as live:
        await stage.say(live, text)
        pages = await live.finish(text)
    assert len(stage.surface.frames) >= 3
    assert "".join(stage.surface.shown) == text
    assert pages == tuple(stage.surface.wall) == stage.stored[-1]
    grown = [frame.text for frame in stage.surface.frames if frame.page == "page-7-0"]
    assert all(later.startswith(earlier.rstrip()) for earlier, later in pairwise(grown))


@pytest.mark.parametrize("chars", [10, 3_000, pytest.param(15_000, marks=pytest.mark.slow)])
async def test_fences_tables_emoji_and_cjk_are_shown_as_the_model_wrote_them(chars: int) -> None:
    stage = Stage(latency_s=0.2)
    text = answer_of(chars, masked=True)
    async with stage.live() as live:
        await stage.say(live, text, chunk=7)
        await live.finish(text)
    assert read_back(stage.surface.shown, DISCORD_LIKE.page_chars) == text
    assert all(fences_are_balanced(frame.text, DISCORD_LIKE.page_chars) for frame in stage.surface.frames[:-1])
    assert all(
        frame.text.count("](") == frame.text.count(LINK) + frame.text.count(PICTURE)
        for frame in stage.surface.frames[:-1]
    )


@pytest.mark.slow
async def test_a_full_page_gets_its_last_text_before_the_next_is_posted_and_is_not_written_again() -> None:
    stage = Stage()
    async with stage.live() as live:
        await stage.say(live, WORDS * 100)
        await live.finish()
    for page in list(stage.surface.wall)[:-1]:
        frames = [frame for frame in stage.surface.frames if frame.page == page]
        assert [frame.final for frame in frames] == [False] * (len(frames) - 1) + [True]
        assert [*stage.surface.frames].index(frames[-1]) == max(
            number for number, frame in enumerate(stage.surface.frames) if frame.page <= page
        )


async def test_an_edit_that_would_add_too_little_waits_for_more() -> None:
    stage = Stage(Limits(page_chars=2_000, edit_interval_s=0.1, min_growth_chars=100))
    async with stage.live() as live:
        await stage.say(live, WORDS * 6)
        await live.finish(WORDS * 6 + "!")
    lengths = [len(frame.text) for frame in stage.surface.frames]
    assert all(later - earlier >= 100 for earlier, later in pairwise(lengths[:-1]))
    assert stage.surface.shown == [WORDS * 6 + "!"]


async def test_an_intermediate_frame_that_is_limited_is_dropped_and_the_wait_is_kept() -> None:
    stage = Stage()
    async with stage.live() as live:
        await stage.say(live, WORDS)
        stage.surface.fail_next.append(PageLimited(8))
        await stage.say(live, WORDS * 30)
        await live.finish()
    calls = [frame.began for frame in stage.surface.frames]
    pause = max(later - earlier for earlier, later in pairwise(calls))
    assert 8 <= pause < 11
    assert stage.surface.shown == [WORDS * 31]


async def test_a_final_frame_is_tried_again_until_it_is_delivered() -> None:
    stage = Stage()
    async with stage.live() as live:
        await live.record_event(TextArrived(WORDS))
        await stage.clock.sleep(5)
        stage.surface.fail_next.extend([PageUnsent("down"), PageLimited(20), PageUnsent("down"), PageUnsent("down")])
        await live.finish(WORDS * 2)
    assert stage.surface.shown == [WORDS * 2]


async def test_a_first_post_that_fails_is_tried_again_with_the_newest_text() -> None:
    stage = Stage()
    stage.surface.fail_next.extend([PageUnsent("down"), PageUnsent("down")])
    async with stage.live() as live:
        await stage.say(live, WORDS * 10)
        await live.finish()
    assert stage.surface.calls[:3] == ["post 7-0"] * 3
    assert len(stage.surface.frames[0].text) > len(WORDS)
    assert stage.surface.shown == [WORDS * 10]


async def test_a_post_whose_answer_was_lost_makes_no_second_message() -> None:
    stage = Stage()
    stage.surface.fail_lost.append(PageUnsent("timed out"))
    async with stage.live() as live:
        await stage.say(live, WORDS * 5)
        assert await live.finish() == ("page-7-0",)
    assert stage.surface.shown == [WORDS * 5]


async def test_patience_with_a_dead_platform_ends_with_its_error() -> None:
    stage = Stage()

    async def turn() -> None:
        async with stage.live() as live:
            stage.surface.fail_next.extend(PageUnsent("down") for _ in range(1000))
            await live.finish(WORDS)

    with pytest.raises(PageUnsent):
        await turn()
    assert FINAL_PATIENCE_S * 0.8 < stage.clock.monotonic() <= FINAL_PATIENCE_S


async def test_a_wait_beyond_all_patience_is_not_begun() -> None:
    stage = Stage()

    async def turn() -> None:
        async with stage.live() as live:
            stage.surface.fail_next.append(PageLimited(3_600))
            await live.finish(WORDS)

    with pytest.raises(PageLimited):
        await turn()
    assert stage.clock.monotonic() == 0


async def test_a_long_wait_that_began_before_the_end_is_given_up_after_it() -> None:
    stage = Stage()

    async def turn() -> None:
        async with stage.live() as live:
            stage.surface.fail_next.append(PageLimited(3_600))
            await stage.say(live, WORDS * 10)
            await live.finish()

    with pytest.raises(PageLimited):
        await turn()
    assert stage.clock.monotonic() < 60


async def test_a_deleted_page_stops_the_writing_and_is_told_to_the_caller() -> None:
    stage = Stage()

    async def turn() -> None:
        async with stage.live() as live:
            await stage.say(live, WORDS)
            stage.surface.wall.clear()
            await stage.say(live, WORDS * 30)

    with pytest.raises(PageGone):
        await turn()
    assert len([call for call in stage.surface.calls if call.startswith("post")]) == 1
    assert stage.surface.shown == []


async def test_a_locked_page_keeps_what_it_shows_and_the_rest_follows_in_one_message() -> None:
    stage = Stage()
    text = WORDS * 30
    async with stage.live() as live:
        await stage.say(live, text[:400])
        stage.surface.locked.add("page-7-0")
        await stage.say(live, text[400:])
        pages = await live.finish(text)
    assert pages == ("page-7-0", "page-7-1")
    first, rest = stage.surface.shown
    assert text.startswith(first)
    assert first + rest == text
    assert len([call for call in stage.surface.calls if call.startswith("edit page-7-1")]) == 0


async def test_a_page_that_locks_inside_a_fence_is_followed_by_the_fence_opened_again() -> None:
    stage = Stage()
    text = "Look:\n\n```py\n" + "".join(f"line_{number} = {number}\n" for number in range(40)) + "```\n"
    async with stage.live() as live:
        await stage.say(live, text[:300])
        stage.surface.locked.add("page-7-0")
        await live.finish(text)
    first, rest = stage.surface.shown
    assert first.endswith("\n```")
    assert rest.startswith("```py\n")


@pytest.mark.slow
async def test_after_a_restart_the_same_pages_are_edited() -> None:
    stage = Stage()
    stage.surface.wall = {"a": "half an ans", "b": "something old"}
    async with stage.live(["a", "b"]) as live:
        await stage.say(live, WORDS * 60)
        assert await live.finish() == ("a", "b")
    assert not [call for call in stage.surface.calls if call.startswith("post")]
    assert "".join(stage.surface.shown) == WORDS * 60


async def test_after_a_restart_pages_that_are_not_needed_are_deleted() -> None:
    stage = Stage()
    stage.surface.wall = {"a": "old", "b": "old", "c": "old"}
    async with stage.live(["a", "b", "c"]) as live:
        await stage.say(live, WORDS)
        assert await live.finish() == ("a",)
    assert stage.surface.wall == {"a": WORDS}
    assert stage.stored[-1] == ("a",)


async def test_a_surplus_page_that_somebody_deleted_is_no_error() -> None:
    stage = Stage()
    stage.surface.wall = {"a": "old"}
    async with stage.live(["a", "b"]) as live:
        assert await live.finish(WORDS) == ("a",)


async def test_after_a_restart_more_pages_are_posted_under_new_keys() -> None:
    stage = Stage()
    stage.surface.wall = {"a": "old"}
    async with stage.live(["a"]) as live:
        assert await live.finish(WORDS * 60) == ("a", "page-7-1")
    assert stage.stored == [("a", "page-7-1")]


async def test_a_page_that_was_posted_but_never_stored_is_found_and_goes_on() -> None:
    stage = Stage()
    stage.surface.wall = {"a": "one", "lost": "two"}
    stage.surface.keys[PageKey(7, 1)] = "lost"
    async with stage.live(["a"], resumed=True) as live:
        assert await live.finish(WORDS * 60) == ("a", "lost")
    assert "".join(stage.surface.shown) == WORDS * 60
    assert stage.stored[-1] == ("a", "lost")


async def test_a_page_that_was_found_but_may_not_be_edited_yet_is_not_posted_again() -> None:
    stage = Stage()
    stage.surface.wall = {"lost": "Hel"}
    stage.surface.keys[PageKey(7, 0)] = "lost"
    stage.surface.fail_next.extend([PageLimited(2.0)] * 3)
    async with stage.live(resumed=True) as live:
        assert await live.finish("Hello.") == ("lost",)
    assert stage.surface.calls == ["edit lost"] * 4
    assert stage.surface.wall == {"lost": "Hello."}


class ForgettingSurface(FakeSurface):
    """Raises PageFound for a page that was posted before."""

    async def find(self, key: PageKey) -> PageRef | None:  # noqa: ARG002 -- the port's shape
        return None

    async def post(self, key: PageKey, look: PageContent) -> PageRef:
        if key in self.keys:
            raise PageFound(PageRef(self.keys[key]))
        return await super().post(key, look)


async def test_a_page_that_the_platform_finds_is_edited_only_while_the_turn_is_surely_ours() -> None:
    stage = Stage()
    stage.surface = ForgettingSurface(stage.clock)
    stage.surface.wall = {"lost": "Hello, finished."}
    stage.surface.keys[PageKey(7, 0)] = "lost"
    asked = 0

    async def sure() -> None:
        nonlocal asked
        asked += 1
        if asked == 2:
            raise LeaseLost("taken over")

    async def turn() -> None:
        async with stage.live(resumed=True, check_lease=sure) as live:
            await live.finish("Hel")

    async with stage.live() as live:
        assert await live.finish("Hello.") == ("lost",)
    assert stage.surface.wall == {"lost": "Hello."}
    with pytest.raises(LeaseLost):
        await turn()
    assert stage.surface.wall == {"lost": "Hello."}


async def test_a_page_that_could_not_be_stored_is_known_in_the_end() -> None:
    stage = Stage()

    async def keep(pages: tuple[str, ...]) -> None:
        if len(pages) == 2:
            raise LeaseLost("taken over")

    live = LiveReply(stage.surface, stage.clock, 7, on_pages=keep)

    async def turn() -> None:
        async with live:
            await live.finish(WORDS * 60)

    with pytest.raises(LeaseLost):
        await turn()
    assert live.stray_page == PageRef("page-7-1")


async def test_what_nobody_posted_before_us_is_looked_for_once_and_posted() -> None:
    stage = Stage()
    async with stage.live(resumed=True) as live:
        assert await live.finish(WORDS * 60) == ("page-7-0", "page-7-1")
    assert stage.surface.sought == [PageKey(7, 0)]


async def test_a_place_in_a_queue_is_waited_for_and_the_newest_text_is_posted() -> None:
    stage = Stage()
    stage.surface.fail_next.append(PageQueued(0.5))
    async with stage.live() as live:
        await stage.say(live, "It is blue", chars_per_s=100)
        await stage.clock.sleep(1)
        await live.finish()
    assert [(frame.began, frame.text) for frame in stage.surface.frames if frame.posted] == [(0.5, "It is blue")]


async def test_nothing_is_written_once_the_turn_is_not_ours() -> None:
    stage = Stage()
    ours = True

    async def sure() -> None:
        if not ours:
            raise LeaseLost("taken over")

    async def turn() -> None:
        nonlocal ours
        async with stage.live(check_lease=sure) as live:
            await stage.say(live, WORDS)
            ours = False
            await live.finish(WORDS * 5)

    with pytest.raises(LeaseLost):
        await turn()
    assert WORDS.startswith(stage.surface.shown[0])


@pytest.mark.slow
async def test_a_turn_that_is_cancelled_again_while_its_writer_fails_leaves_no_complaint_behind() -> None:
    stage = Stage()
    asked = asyncio.Event()

    async def sure() -> None:
        asked.set()
        await stage.clock.sleep(1)
        raise LeaseLost("taken over")

    async def turn() -> None:
        async with stage.live(check_lease=sure) as live:
            await live.finish(WORDS)

    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    task = asyncio.create_task(turn())
    await asked.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    del task
    gc.collect()
    assert complaints == []


async def test_while_nobody_knows_whose_the_turn_is_the_writing_waits() -> None:
    stage = Stage()
    doubts = [PageUnsent("the ledger does not answer")] * 2

    async def sure() -> None:
        if doubts:
            raise doubts.pop()

    async with stage.live(check_lease=sure) as live:
        assert await live.finish(WORDS) == ("page-7-0",)
    assert stage.surface.calls == ["post 7-0"]
    assert stage.clock.monotonic() >= FIRST_S


async def test_an_old_page_that_is_locked_is_replaced_and_deleted() -> None:
    stage = Stage()
    stage.surface.wall = {"a": "old"}
    stage.surface.locked.add("a")
    async with stage.live(["a"]) as live:
        assert await live.finish(WORDS) == ("page-7-1",)
    assert stage.surface.wall == {"page-7-1": WORDS}


@pytest.mark.slow
async def test_a_page_is_stored_before_anything_else_is_written() -> None:
    stage = Stage()
    async with stage.live() as live:
        await stage.say(live, WORDS * 60)
        await live.finish()
    assert stage.stored == [("page-7-0",), ("page-7-0", "page-7-1")]


async def test_a_page_that_cannot_be_stored_ends_the_reply_with_the_reason() -> None:
    stage = Stage()

    async def refuse(pages: tuple[str, ...]) -> None:
        raise LeaseLost(f"another worker has taken over {len(pages)} page")

    async def turn() -> None:
        async with LiveReply(stage.surface, stage.clock, 7, on_pages=refuse) as live:
            await stage.say(live, WORDS * 60)

    with pytest.raises(LeaseLost):
        await turn()


async def test_a_cancelled_turn_lets_the_write_return_first_and_stores_its_page() -> None:
    stage = Stage(latency_s=2)

    async def turn() -> None:
        async with stage.live() as live:
            await stage.say(live, WORDS * 60)

    running = asyncio.create_task(turn())
    await stage.clock.sleep(1)
    assert stage.surface.frames == []
    running.cancel()
    await asyncio.wait({running}, timeout=PATIENCE_S)
    assert running.cancelled()
    assert len(stage.surface.frames) == 1
    assert stage.stored == [("page-7-0",)]
    await stage.clock.sleep(60)
    assert stage.surface.calls == ["post 7-0"]


async def test_even_cancelled_twice_it_waits_for_the_write() -> None:
    stage = Stage(latency_s=2)

    async def turn() -> None:
        async with stage.live() as live:
            await live.finish(WORDS)

    running = asyncio.create_task(turn())
    await stage.clock.sleep(0.5)
    running.cancel()
    await stage.clock.sleep(0.5)
    running.cancel()
    await asyncio.wait({running}, timeout=PATIENCE_S)
    assert running.cancelled()
    assert stage.stored == [("page-7-0",)]


async def test_a_turn_that_is_cancelled_between_writes_ends_at_once() -> None:
    stage = Stage()

    async def turn() -> None:
        async with stage.live() as live:
            await stage.say(live, WORDS)
            stage.surface.fail_next.append(PageLimited(100))
            await live.finish(WORDS * 3)

    running = asyncio.create_task(turn())
    await stage.clock.sleep(20)
    running.cancel()
    await asyncio.wait({running}, timeout=PATIENCE_S)
    assert running.cancelled()
    assert stage.clock.monotonic() == 20


async def test_text_of_several_iterations_and_a_notice_stand_as_paragraphs() -> None:
    stage = Stage()
    ended = TurnEnded(Outcome.CUT, "I look.\n\nIt is\n\nThe answer broke off.")
    events: list[AgentEvent] = [
        IterationStarted(1),
        TextArrived("I look.\n"),
        CallStarted("1.1", ToolCall("recall", {})),
        CallFinished("1.1", ToolResult("recall", ResultStatus.SUCCESS, "blue")),
        IterationStarted(2),
        TextArrived("It is "),
        NoticeArrived("The answer broke off."),
        ended,
    ]
    async with stage.live() as live:
        for event in events:
            await live.record_event(event)
            await stage.clock.sleep(2)
        await live.finish(ended.text)
    assert [frame.text for frame in stage.surface.frames][-3:-1] == ["I look.\n\nIt is", ended.text]
    assert stage.surface.shown == [ended.text]


async def test_the_status_says_what_runs_and_is_taken_away_when_text_comes() -> None:
    stage = Stage()
    async with stage.live() as live:
        await live.record_event(IterationStarted(1))
        await stage.clock.sleep(1)
        await live.record_event(CallStarted("1.1", ToolCall("recall", {})))
        await stage.clock.sleep(1)
        await live.record_event(IterationStarted(2))
        await live.record_event(TextArrived("It is blue."))
        await stage.clock.sleep(1)
        await live.finish()
    assert stage.surface.statuses == ["Thinking…", "Searching past threads…", ""]


async def test_the_end_of_the_answer_shows_all_of_it_before_the_turn_has_ended() -> None:
    stage = Stage(QUIET)
    async with stage.live() as live:
        await live.record_event(TextArrived("See [the harbour](http://example.org/harbour"))
        await stage.clock.sleep(2)
        await live.record_event(TextArrived(")"))
        await live.record_event(ReplyEnded())
        await stage.clock.sleep(2)
        assert stage.surface.shown == ["See [the harbour](http://example.org/harbour)"]
        await live.finish()
    assert stage.surface.calls == ["post 7-0", "edit page-7-0"]


async def test_a_reply_without_text_shows_nothing() -> None:
    stage = Stage()
    async with stage.live() as live:
        await live.record_event(TextArrived(" \n"))
        await stage.clock.sleep(2)
        assert await live.finish() == ()
    assert stage.surface.calls == []


@pytest.mark.slow
async def test_a_growing_reply_can_be_stopped_and_what_is_offered_at_its_end_stands_below_the_last_page() -> None:
    stage = Stage(BUTTONED)
    async with stage.live() as live:
        await stage.say(live, WORDS * 60)
        await live.finish(WORDS * 60, RATING_OFFERS)
    growing = {frame.offers for frame in stage.surface.frames if not frame.final}
    assert growing == {frozenset({ReplyAction.STOP})}
    assert stage.surface.offers == {"page-7-0": frozenset(), "page-7-1": RATING_OFFERS}


async def test_a_page_of_an_earlier_process_loses_its_buttons_though_its_text_stays() -> None:
    stage = Stage(BUTTONED)
    stage.surface.wall = {"a": WORDS}
    stage.surface.offers = {"a": frozenset({ReplyAction.STOP})}
    async with stage.live(["a"]) as live:
        await live.finish(WORDS)
    assert stage.surface.offers == {"a": frozenset()}


@pytest.mark.parametrize(
    ("errors", "offers"),
    [
        ([PageLimited(2.0), PageLimited(1.0)], RATING_OFFERS),
        ([PageUnsent("down")] * 3, frozenset({ReplyAction.STOP})),
        ([PageQueued(0.5)] * 5, RATING_OFFERS),
        ([PageQueued(8.0)] * 3, frozenset({ReplyAction.STOP})),
        ([PageLimited(60.0)], frozenset({ReplyAction.STOP})),
        ([PageGone("deleted")], frozenset({ReplyAction.STOP})),
    ],
)
async def test_buttons_wait_for_the_platforms_limits_but_not_for_long_and_their_failure_harms_nothing(
    errors: list[SurfaceError], offers: frozenset[ReplyAction]
) -> None:
    stage = Stage(BUTTONED)
    async with stage.live() as live:
        await live.record_event(TextArrived(WORDS))
        await stage.clock.sleep(5)
        stage.surface.fail_next.extend(errors)
        assert await live.finish(WORDS, RATING_OFFERS) == ("page-7-0",)
    assert stage.surface.offers == {"page-7-0": offers}
    assert stage.clock.monotonic() < 15


@pytest.mark.slow
@pytest.mark.parametrize("chars", [10, 3_000, 15_000])
async def test_where_pages_only_grow_each_frame_begins_with_the_one_before(chars: int) -> None:
    stage = Stage(STREAM, latency_s=0.1)
    text = answer_of(chars)
    async with stage.live() as live:
        await stage.say(live, text, chunk=7)
        await live.finish(text)
    assert read_back(stage.surface.shown, STREAM.page_chars) == text
    assert len(stage.surface.frames) >= chars / 500
    for page in stage.surface.wall:
        texts = [frame.text for frame in stage.surface.frames if frame.page == page]
        assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
        assert all(len(one.encode()) <= 5_000 for one in texts)


async def test_a_page_that_takes_no_more_is_closed_and_the_reply_goes_on_live_in_the_next() -> None:
    stage = Stage(STREAM)
    text = "Look:\n\n```py\n" + "".join(f"line_{number} = {number}\n" for number in range(80)) + "```\n"
    async with stage.live() as live:
        await stage.say(live, text[:500])
        stage.surface.full.add("page-7-0")
        await stage.say(live, text[500:])
        assert await live.finish(text) == ("page-7-0", "page-7-1")
    assert read_back(stage.surface.shown, STREAM.page_chars) == text
    first, second = ([frame for frame in stage.surface.frames if frame.page == page] for page in stage.surface.wall)
    assert (first[-1].final, first[-1].text.rstrip().endswith("```")) == (True, True)
    assert len(second) > 3


async def test_a_page_that_does_not_even_take_its_end_stays_as_it_is() -> None:
    stage = Stage(STREAM)
    text = WORDS * 30

    class Stubborn(FakeSurface):
        async def edit(self, page: PageRef, look: PageContent) -> None:
            if page.id in self.full:
                raise PageFull("the message takes no more")
            await super().edit(page, look)

    stage.surface = Stubborn(stage.clock, STREAM)
    async with stage.live() as live:
        await stage.say(live, text[:500])
        stage.surface.full.add("page-7-0")
        await stage.say(live, text[500:])
        await live.finish(text)
    assert "".join(stage.surface.shown) == text
    assert len(stage.surface.frames) > 8


async def test_another_text_at_the_end_is_written_at_the_end_only_where_pages_only_grow() -> None:
    stage = Stage(STREAM)
    async with stage.live() as live:
        await stage.say(live, WORDS * 5)
        await live.finish("Sorry.")
    assert stage.surface.shown == ["Sorry."]


@pytest.mark.slow
async def test_steps_are_shown_where_they_began_and_with_their_end() -> None:
    stage = Stage(STREAM)
    begun, done = CallStarted("1.1", ToolCall("recall", {})), ToolResult("recall", ResultStatus.SUCCESS, "blue")
    async with stage.live() as live:
        await live.record_event(IterationStarted(1))
        await live.record_event(begun)
        await stage.clock.sleep(1)
        await live.record_event(CallFinished("1.1", done))
        await stage.say(live, WORDS * 110)
        await live.finish()
    first, second = stage.surface.wall
    (running,) = stage.surface.frames[0].steps
    assert (stage.surface.frames[0].text, running.state) == ("", StepState.RUNNING)
    last = {frame.page: frame.steps for frame in stage.surface.frames}
    assert last == {first: (ShownStep("1.1", "Searching past threads…", StepState.DONE, output="Done."),), second: ()}


async def test_a_step_that_runs_when_the_reply_is_stopped_is_said_to_be_unfinished() -> None:
    stage = Stage(STREAM)
    async with stage.live() as live:
        await live.record_event(CallStarted("1.1", ToolCall("recall", {})))
        await stage.clock.sleep(1)
        await live.finish("*Stopped.*")
    assert [step.state for step in stage.surface.frames[-1].steps] == [StepState.FAILED]


async def test_a_page_that_is_full_before_a_word_was_said_keeps_its_steps() -> None:
    stage = Stage(STREAM)
    async with stage.live() as live:
        await live.record_event(CallStarted("1.1", ToolCall("recall", {})))
        await stage.clock.sleep(1)
        stage.surface.full.add("page-7-0")
        await stage.say(live, WORDS * 5)
        assert await live.finish() == ("page-7-0", "page-7-1")
    assert stage.surface.shown == ["", WORDS * 5]


async def test_posts_that_fail_back_off_though_looking_for_them_works_and_each_cause_is_logged_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = Stage()
    stage.surface.fail_next.extend([PageUnsent("Slack returned an error (chat.postMessage: status 500).")] * 500)
    with pytest.raises(PageUnsent):
        async with stage.live() as live:
            await live.finish(WORDS)
    posts = [call for call in stage.surface.calls if call.startswith("post")]
    assert stage.clock.monotonic() > 240
    assert len(posts) < 20
    assert len(stage.surface.sought) <= len(posts)
    lines = [line for line in caplog.messages if "retrying" in line]
    assert 4 <= len(lines) <= 6
    assert lines[0] == (
        "turn 7: a page of the reply could not be posted; retrying: Slack returned an error (chat.postMessage: "
        "status 500)."
    )
    assert "more since" in lines[1]
