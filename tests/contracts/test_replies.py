"""The contract of the port Replies: found by page and by turn, judged, and gone with their words."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import label
from agent.memory.forgetting_plans import Everything, OneReply
from agent.messages import ToolCall
from agent.shown_replies import Answered, ReplyVerdict
from agent.state import ActionRecord
from agent.turn_records import Claim, Closing, Load
from store.engine import Store
from tests.contracts.steps import claimed, same_on_postgresql, texts_found
from tests.fakes.incoming import START, said

PAGES = ("page 1", "page 2")
LATER = START + timedelta(hours=1)


async def shown(store: Store, incoming: Incoming, *pages: str) -> Claim:
    """Take a message in and answer it on these pages."""
    await store.ledger.accept(incoming)
    claim = await claimed(store)
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "in the harbour", pages=pages), incoming.time)
    return claim


async def test_a_reply_is_found_by_its_turn_and_by_each_of_its_pages(store: Store) -> None:
    asked = said("where is my boat?")
    claim = await shown(store, asked, *PAGES)
    reply = Answered(
        claim.turn,
        asked.source,
        asked.conversation,
        asked.channel,
        asked.message_id,
        "ann",
        "where is my boat?",
        label(asked.place.audience),
        PAGES,
    )
    assert await store.replies.by_turn(claim.turn) == reply
    assert [await store.replies.by_page(asked.source, page) for page in PAGES] == [reply, reply]
    assert await store.replies.by_page(asked.source, "page 1", asked.channel) == reply


async def test_no_reply_is_found_for_another_page_another_platform_or_another_channel(store: Store) -> None:
    asked = said("where is my boat?")
    await shown(store, asked, *PAGES)
    assert await store.replies.by_page(asked.source, "page 3") is None
    assert await store.replies.by_page("elsewhere", "page 1") is None
    assert await store.replies.by_page(asked.source, "page 1", "another channel") is None


@same_on_postgresql
async def test_two_channels_may_hold_pages_of_one_name(store: Store) -> None:
    here = await shown(store, said("here?"), "1.1")
    there = await shown(store, replace(said("there?"), channel="another channel"), "1.1")
    found = await store.replies.by_page(there.incoming.source, "1.1", here.incoming.channel)
    assert found is not None
    assert found.turn == here.turn


@same_on_postgresql
async def test_a_turn_that_runs_or_shows_nothing_has_no_reply(store: Store) -> None:
    await store.ledger.accept(said("where is my boat?"))
    claim = await claimed(store)
    assert await store.replies.by_turn(claim.turn) is None
    await store.ledger.finish(claim, Closing(Outcome.STOPPED, ""), START)
    assert await store.replies.by_turn(claim.turn) is None


async def test_everybody_has_one_verdict_on_a_reply_and_may_change_it(store: Store) -> None:
    claim = await shown(store, said("where is my boat?"), *PAGES)
    assert await store.replies.judge(claim.turn, "ann", ReplyVerdict.BAD, START)
    assert await store.replies.judge(claim.turn, "bob", ReplyVerdict.GOOD, START)
    assert await store.replies.judge(claim.turn, "ann", ReplyVerdict.GOOD, LATER)
    assert dict(await store.replies.verdicts(START)) == {ReplyVerdict.GOOD: 2}
    assert dict(await store.replies.verdicts(LATER)) == {ReplyVerdict.GOOD: 1}
    assert await store.replies.judge(claim.turn, "ann", None, LATER)
    assert dict(await store.replies.verdicts(START)) == {ReplyVerdict.GOOD: 1}


@same_on_postgresql
async def test_what_is_no_reply_is_not_judged(store: Store) -> None:
    assert not await store.replies.judge(7, "ann", ReplyVerdict.GOOD, START)
    assert not await store.replies.verdicts(START)


async def test_a_reply_that_is_deleted_leaves_its_question(store: Store) -> None:
    claim = await shown(store, said("where is my boat?"), *PAGES)
    await store.replies.judge(claim.turn, "ann", ReplyVerdict.BAD, START)
    await store.forgetting.forget(OneReply(claim.turn), LATER, replies=True)
    assert await store.replies.by_turn(claim.turn) is None
    assert not await store.replies.verdicts(START)
    history = await store.conversations.history("thread", before_turn=10**6, limit=9)
    assert [message.text for message in history] == ["where is my boat?"]
    assert await texts_found(store, "harbour") == []
    job = await store.jobs.claim(frozenset({"delete_reply"}), "worker", LATER, timedelta(minutes=1))
    assert job is not None


async def test_forgetting_everything_takes_replies_and_verdicts_along(store: Store) -> None:
    mine, theirs = await shown(store, said("mine?"), "1"), await shown(store, said("theirs?", person="bob"), "2")
    await store.replies.judge(mine.turn, "bob", ReplyVerdict.GOOD, START)
    await store.replies.judge(theirs.turn, "ann", ReplyVerdict.GOOD, START)
    await store.forgetting.forget(Everything("ann"), LATER)
    assert await store.replies.by_turn(mine.turn) is None
    assert await store.replies.by_turn(theirs.turn) is not None
    assert not await store.replies.verdicts(START)


@same_on_postgresql
async def test_how_many_turns_run_and_wait_is_told(store: Store) -> None:
    assert await store.ledger.load() == Load(0, 0)
    await store.ledger.accept(said("one"))
    await store.ledger.accept(said("two"))
    await claimed(store)
    assert await store.ledger.load() == Load(running=1, waiting=1)


@same_on_postgresql
@pytest.mark.parametrize("own", [True, False])
async def test_a_reply_is_found_with_whose_words_its_question_has(store: Store, *, own: bool) -> None:
    claim = await shown(store, replace(said("Which is cheapest?"), own=own), "1")
    found = await store.replies.by_turn(claim.turn)
    assert found is not None
    assert found.own == own


async def test_when_something_was_said_last_is_told(store: Store) -> None:
    assert await store.conversations.last_said("thread") is None
    asked = said("where is my boat?")
    await store.ledger.accept(asked)
    assert await store.conversations.last_said("thread") == asked.time


async def test_a_reply_that_grows_is_found_by_its_pages_until_it_has_ended(store: Store) -> None:
    asked = said("where is my boat?")
    await store.ledger.accept(asked)
    claim = await claimed(store)
    await store.ledger.save(claim, reply_ref=json.dumps(["page 1", "page 2"]))
    found = await store.replies.running_by_page(asked.source, "page 2", asked.channel)
    assert found is not None
    assert (found.turn, found.message_id, found.person, found.pages) == (claim.turn, asked.message_id, "ann", PAGES)
    assert await store.replies.running_by_page(asked.source, "page") is None
    assert await store.replies.running_by_page("elsewhere", "page 1") is None
    assert await store.replies.running_by_page(asked.source, "page 1", "another channel") is None
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "there", pages=PAGES), asked.time)
    assert await store.replies.running_by_page(asked.source, "page 1") is None


RAN = ToolCall("python", {"code": 'print("100%_a")'})
LOOKED = ToolCall("look", {"query": '"name":"python"'})


async def acted(store: Store, incoming: Incoming, *calls: ToolCall) -> Claim:
    """Take a message in, and answer it after these calls, each in a round of its own."""
    await store.ledger.accept(incoming)
    claim = await claimed(store)
    actions = tuple(ActionRecord(at, START, "", (call,)) for at, call in enumerate(calls, 1))
    closing = Closing(Outcome.ANSWERED, "in the harbour", pages=(f"page of {claim.turn}",), actions=actions)
    await store.ledger.finish(claim, closing, incoming.time)
    return claim


async def test_the_calls_of_a_turn_are_found_by_their_tools_in_order(store: Store) -> None:
    claim = await acted(store, said("compute", number=1), RAN, LOOKED, replace(RAN, args={"code": "2"}))
    assert await store.replies.calls(claim.turn, ["python"]) == [RAN, replace(RAN, args={"code": "2"})]
    assert await store.replies.calls(claim.turn, ["look", "python"]) == [RAN, LOOKED, replace(RAN, args={"code": "2"})]
    assert await store.replies.calls(claim.turn, ["other"]) == []
    await store.forgetting.forget(OneReply(claim.turn), LATER, replies=True)
    assert await store.replies.calls(claim.turn, ["python"]) == []


async def test_the_newest_reply_with_a_call_is_that_persons_in_that_channel(store: Store) -> None:
    first = await acted(store, said("compute", number=1), RAN)
    second = await acted(store, said("compute again", number=2), RAN)
    await acted(store, said("only look", number=3), LOOKED)
    elsewhere = await acted(store, replace(said("compute there", number=4), channel="another channel"), RAN)

    async def newest(tool: str, person: str, channel: str) -> int | None:
        found = await store.replies.newest_with([tool], person, channel)
        return None if found is None else found.turn

    assert await newest("python", "ann", first.incoming.channel) == second.turn
    assert await newest("python", "ann", "another channel") == elsewhere.turn
    assert await newest("python", "ann", "") == elsewhere.turn
    assert await newest("python", "bob", "") is None
    assert await newest("pyth_n", "ann", "") is None


async def test_conversations_with_a_finished_reply_are_found_among_some(store: Store) -> None:
    asked = said("where is my boat?")
    await shown(store, asked, *PAGES)
    await store.ledger.accept(replace(said("and mine?"), conversation="open"))
    found = await store.replies.answered(asked.source, [asked.conversation, "open", "unknown"])
    assert found == {asked.conversation}
    assert await store.replies.answered("elsewhere", [asked.conversation]) == frozenset()
    assert await store.replies.answered(asked.source, []) == frozenset()
