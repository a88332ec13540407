"""Verdicts on replies, and deleting replies: text first, then pages, now or later."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from agent.errors import Refused
from agent.events import Outcome
from agent.messages import ResultStatus, ToolCall, ToolResult
from agent.shown_replies import Answered, ReplyVerdict, ShownPage
from agent.state import ActionRecord
from agent.turn_records import Claiming, Closing
from bot.chat.access.acl import AccessRules
from bot.chat.feedback import ENDING_S, ReplyFeedback
from bot.chat.reply.surface import PageGone, PageUnsent, ReplyAction, SurfaceError
from bot.chat.texts import replies as reply_texts
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.store import StoreInMemory, store_in_memory


@dataclass
class FakePages:
    fail: SurfaceError | None = None
    deleted: list[ShownPage] = field(default_factory=list[ShownPage])

    async def delete(self, page: ShownPage) -> None:
        if self.fail is not None:
            raise self.fail
        self.deleted.append(page)


async def replied(store: StoreInMemory, *pages: str) -> int:
    await store.ledger.accept(said("where is my boat?"))
    claim = await store.ledger.claim(Claiming("worker", START, LEASE))
    assert claim is not None
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "in the harbour", pages=pages), START)
    return claim.turn


def service(store: StoreInMemory, pages: FakePages) -> ReplyFeedback:
    async def withdraw(source: str, channel: str, message: str) -> bool:  # noqa: ARG001 -- nothing runs
        return False

    deletions = {said("").source: pages.delete}
    access = AccessRules(operators=frozenset({"olga"}))
    return ReplyFeedback(
        store.replies, store.ledger, store.forgetting, store.jobs, FakeClock(), deletions, access, withdraw
    )


async def test_a_verdict_is_kept_with_its_reply() -> None:
    store = store_in_memory()
    turn = await replied(store, "1")
    assert await service(store, FakePages()).judge(turn, "bob", ReplyVerdict.GOOD)
    assert dict(await store.replies.verdicts(START)) == {ReplyVerdict.GOOD: 1}


async def test_a_verdict_that_is_taken_back_counts_only_if_nothing_was_said_after_it() -> None:
    store = store_in_memory()
    turn, feedback = await replied(store, "1"), service(store, FakePages())
    await feedback.judge(turn, "bob", ReplyVerdict.GOOD)
    await feedback.judge(turn, "bob", ReplyVerdict.BAD)
    await feedback.take_verdict_back(turn, "bob", ReplyVerdict.GOOD)
    assert dict(await store.replies.verdicts(START)) == {ReplyVerdict.BAD: 1}
    await feedback.take_verdict_back(turn, "bob", ReplyVerdict.BAD)
    assert not await store.replies.verdicts(START)


async def test_a_verdict_of_before_a_restart_that_was_changed_since_is_not_taken_back() -> None:
    store = store_in_memory()
    turn = await replied(store, "1")
    await service(store, FakePages()).judge(turn, "bob", ReplyVerdict.GOOD)
    await service(store, FakePages()).judge(turn, "bob", ReplyVerdict.BAD)
    await service(store, FakePages()).take_verdict_back(turn, "bob", ReplyVerdict.GOOD)
    assert dict(await store.replies.verdicts(START)) == {ReplyVerdict.BAD: 1}


async def test_a_verdict_of_before_a_restart_can_be_taken_back() -> None:
    store = store_in_memory()
    turn = await replied(store, "1")
    await service(store, FakePages()).judge(turn, "bob", ReplyVerdict.GOOD)
    await service(store, FakePages()).take_verdict_back(turn, "bob", ReplyVerdict.GOOD)
    assert not await store.replies.verdicts(START)


async def test_whoever_asked_has_all_pages_deleted_and_the_words_forgotten() -> None:
    store, pages = store_in_memory(), FakePages()
    turn = await replied(store, "1", "2")
    assert await service(store, pages).delete(turn, "ann")
    assert [page.page for page in pages.deleted] == ["1", "2"]
    assert [message.text for _, message in store.messages] == ["where is my boat?"]
    assert not await service(store, pages).delete(turn, "ann")


async def test_nobody_else_deletes_a_reply_but_an_operator() -> None:
    store, pages = store_in_memory(), FakePages()
    turn = await replied(store, "1")
    with pytest.raises(Refused, match=reply_texts.NOT_YOURS):
        await service(store, pages).delete(turn, "bob")
    assert not pages.deleted
    assert await service(store, pages).delete(turn, "olga")


async def test_a_page_that_is_gone_already_needs_nothing_more() -> None:
    store = store_in_memory()
    turn = await replied(store, "1")
    assert await service(store, FakePages(PageGone("gone"))).delete(turn, "ann")
    assert not store.waiting_jobs


async def test_a_page_that_cannot_be_deleted_now_is_deleted_later() -> None:
    store = store_in_memory()
    turn = await replied(store, "1", "@/private")
    assert await service(store, FakePages(PageUnsent("away"))).delete(turn, "ann")
    assert [ShownPage.decode(job.payload).page for job in store.waiting_jobs.values()] == ["1"]


async def test_who_presses_while_a_reply_ends_waits_for_a_moment() -> None:
    store, clock = store_in_memory(), FakeClock()
    await store.ledger.accept(said("where is my boat?"))
    claim = await store.ledger.claim(Claiming("worker", START, LEASE))
    assert claim is not None
    pressed = asyncio.create_task(replace(service(store, FakePages()), clock=clock).of(claim.turn))
    await clock.sleep(ENDING_S / 2)
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "here", pages=("1",)), START)
    reply = await pressed
    assert reply is not None
    assert reply.pages == ("1",)


async def test_a_reply_that_grows_for_long_is_not_waited_for() -> None:
    store = store_in_memory()
    await store.ledger.accept(said("where is my boat?"))
    claim = await store.ledger.claim(Claiming("worker", START, LEASE))
    assert claim is not None
    assert await service(store, FakePages()).of(claim.turn) is None
    assert await service(store, FakePages()).of(99) is None


async def test_a_button_asks_what_the_last_call_that_succeeded_presents() -> None:
    def call(question: str) -> ToolCall:
        return ToolCall("present", {"sections": [{"text": "Boats"}], "questions": [question]})

    def record(number: int, question: str, *statuses: ResultStatus) -> ActionRecord:
        results = tuple(ToolResult("present", status, "") for status in statuses)
        return ActionRecord(number, START, "", (call(question),), results)

    store = store_in_memory()
    await store.ledger.accept(said("show an overview"))
    claim = await store.ledger.claim(Claiming("worker", START, LEASE))
    assert claim is not None
    actions = (
        record(1, "Which is old?", ResultStatus.SUCCESS),
        record(2, "Which is fast?", ResultStatus.SUCCESS),
        record(3, "Which is refused?", ResultStatus.FAILURE),
        record(4, "Which is unknown?"),
    )
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "Boats", pages=("1",), actions=actions), START)
    feedback = service(store, FakePages())
    reply = await feedback.of(claim.turn)
    assert reply is not None
    assert await feedback.follow_up(reply, 0) == "Which is fast?"
    with pytest.raises(Refused):
        await feedback.follow_up(reply, 1)
    with pytest.raises(Refused):
        await feedback.follow_up(replace(reply, drawn_from="group:slack:T1:C1"), 0)


async def test_the_button_of_a_note_works_for_the_asker_alone() -> None:
    pressed = list[tuple[int, str]]()

    async def undo(reply: Answered, person: str) -> str:
        pressed.append((reply.turn, person))
        return "Forgotten."

    store = store_in_memory()
    turn = await replied(store, "1")
    feedback = replace(service(store, FakePages()), presses={ReplyAction.UNDO: undo})
    reply = await feedback.of(turn)
    assert reply is not None
    with pytest.raises(Refused):
        await feedback.press_note(ReplyAction.UNDO, reply, "bob")
    assert pressed == []
    assert await feedback.press_note(ReplyAction.UNDO, reply, reply.person) == "Forgotten."
    assert pressed == [(turn, reply.person)]
