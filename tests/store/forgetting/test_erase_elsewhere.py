"""Forgetting on SQLite, in the turns of others: no byte stays anywhere, and the proof excuses nothing derived."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select, update

from agent.events import Outcome
from agent.incoming import Quoted
from agent.memory.audience import GroupAudience, Place
from agent.memory.forgetting_plans import Everything
from agent.messages import ResultStatus, ToolCall, ToolResult
from agent.state import ActionRecord, SituationSummary
from agent.turn_records import Closing
from store.engine import Store
from store.message_tables import conversation
from store.turn_tables import action_record, turn, workspace
from tests.contracts.steps import answered, claimed, found, summary_of
from tests.contracts.test_forgetting_elsewhere import CLUB, SECRET, recalling
from tests.fakes.incoming import START, said
from tests.store.processes import pieces_in_files

WORDS = ["Zanzibarwhisper", "zanzibarwhisper"]
STRANGERS = Place(GroupAudience("strangers"))


def recalled(words: str) -> ActionRecord:
    call = ToolCall("recall", {"query": "boat"})
    return ActionRecord(1, START, "", (call,), (ToolResult("recall", ResultStatus.SUCCESS, words),))


async def test_no_byte_stays_of_what_another_person_recalled(store: Store, path: Path) -> None:
    await store.ledger.accept(said("the oldest turn", person="ben", conversation="club b", place=CLUB))
    running = await claimed(store)  # it began before the message that it recalls
    ann = await answered(store, said(SECRET, conversation="club a", place=CLUB), "noted")
    summary = SituationSummary(key_findings=SECRET)
    ending = Closing(Outcome.ANSWERED, f"It is {SECRET}.", (), summary, (recalled(SECRET),))
    await store.ledger.finish(running, replace(ending, context_messages=(ann.message,)), START)
    assert await pieces_in_files(path.parent, WORDS) == 2
    receipt = await store.forgetting.forget(Everything("ann"), START)
    assert (receipt.found_again, receipt.bytes_gone) == (0, True)
    assert receipt.erased["actions"] == 1
    assert await pieces_in_files(path.parent, WORDS) == 0
    assert await found(store, "boat", person="ben", place=CLUB) == []
    assert await store.database.read(lambda c: c.execute(select(func.count(action_record.c.id))).scalar_one()) == 0


async def test_a_reply_that_quotes_a_quoting_reply_falls_with_it(store: Store, path: Path) -> None:
    context = (await answered(store, said(SECRET, conversation="club a", place=CLUB), "noted")).message
    for place in ("club b", "club c"):
        await store.ledger.accept(said("what is it called?", person="ben", conversation=place, place=CLUB))
        claim = await claimed(store)
        ending = Closing(Outcome.ANSWERED, "It is Zanzibarwhisper.", context_messages=(context,))
        await store.ledger.finish(claim, ending, START)
        context = (await store.conversations.history(place, before_turn=10**6, limit=1))[0].id
    receipt = await store.forgetting.forget(Everything("ann"), START)
    assert (receipt.erased["messages"], receipt.found_again, receipt.bytes_gone) == (4, 0, True)
    assert await pieces_in_files(path.parent, WORDS) == 0


async def test_no_byte_stays_in_the_open_turns_of_others(store: Store, path: Path) -> None:
    ann = await answered(store, said(SECRET, conversation="club a", place=CLUB), "noted")
    asked = said("and?", person="ben", conversation="club b", place=CLUB)
    await store.ledger.accept(replace(asked, quoted=(Quoted("a linked message", "Ann", SECRET),)))
    await store.ledger.save(await claimed(store), progress=recalling(ann.message, SECRET))
    receipt = await store.forgetting.forget(Everything("ann"), START)
    assert (receipt.found_again, receipt.bytes_gone) == (0, True)
    assert await pieces_in_files(path.parent, WORDS) == 0
    assert (await claimed(store)).incoming.quoted == ()


@pytest.mark.parametrize("place", ["action record", "summary", "progress", "payload", "workspace"])
async def test_a_derived_row_that_nothing_names_fails_the_proof(store: Store, place: str) -> None:
    held = {
        "action record": insert(action_record).values(
            turn=1, iteration=1, time=START, thinking="", calls="[]", results=f'["{SECRET}"]'
        ),
        "summary": update(conversation).values(summary=f'{{"goal":"{SECRET}"}}').where(conversation.c.id == "b"),
        "progress": update(turn).values(progress=SECRET.upper() + SECRET),
        "payload": update(turn).values(payload=f'{{"reply_to":"{SECRET}"}}'),
        "workspace": insert(workspace).values(
            task_id=1, person="ben", objective=SECRET, understanding="", approach="", discoveries=""
        ),
    }[place]
    await answered(store, said("hello", person="ben", conversation="b", place=STRANGERS), "hi")
    await store.database.write(lambda c: c.execute(held))
    await answered(store, said(SECRET, conversation="club a", place=CLUB), "noted")
    assert not (await store.forgetting.forget(Everything("ann"), START)).bytes_gone


async def test_what_others_said_themselves_excuses_a_derived_row(store: Store) -> None:
    await store.ledger.accept(said(SECRET, person="ben", conversation="b", place=STRANGERS))
    ending = Closing(Outcome.ANSWERED, "Noted.", (), SituationSummary(goal=SECRET), (recalled(SECRET),))
    await store.ledger.finish(await claimed(store), ending, START)
    await answered(store, said(SECRET, conversation="club a", place=CLUB), "noted")
    receipt = await store.forgetting.forget(Everything("ann"), START)
    assert (receipt.found_again, receipt.bytes_gone) == (0, True)
    assert await summary_of(store, "b") == SituationSummary(goal=SECRET)


async def test_a_common_word_in_somebody_elses_records_is_no_false_alarm(store: Store) -> None:
    await store.ledger.accept(said("hello", person="ben", conversation="b", place=STRANGERS))
    ending = Closing(Outcome.ANSWERED, "Hi.", (), SituationSummary(goal="configuration"), (recalled("success"),))
    await store.ledger.finish(await claimed(store), ending, START)
    await answered(store, said("recall the configuration: success!", conversation="club a", place=CLUB), "noted")
    receipt = await store.forgetting.forget(Everything("ann"), START)
    assert (receipt.found_again, receipt.bytes_gone) == (0, True)
