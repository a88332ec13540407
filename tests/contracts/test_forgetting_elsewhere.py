"""The contract of the port Forgetting, in the turns of other people that recalled or quoted what is forgotten."""

import json
from dataclasses import replace

import pytest

from agent.errors import LeaseLost
from agent.events import Outcome
from agent.incoming import Quoted
from agent.memory.audience import GroupAudience, Place
from agent.memory.forgetting_plans import Everything
from agent.state import SituationSummary
from agent.turn_records import Closing
from store.engine import Store
from tests.contracts.steps import answered, claimed, proved, summary_of
from tests.fakes.incoming import START, said

CLUB = Place(GroupAudience("club"))
SECRET = "my boat is Zanzibarwhisper"


def recalling(id_: int, content: str = "a boat") -> str:
    return json.dumps({"steps": [{"results": [None, {"name": "recall", "content": content, "sources": [id_]}]}]})


async def ben_asks(store: Store, *, quoted: tuple[Quoted, ...] = ()) -> None:
    asked = said("what is the boat called?", person="ben", conversation="club b", place=CLUB)
    await store.ledger.accept(replace(asked, quoted=quoted))


@pytest.mark.parametrize(
    ("reply", "stays"), [("It is ZANZIBARWHISPER!", False), (f"She said: {SECRET}", False), ("I cannot say.", True)]
)
async def test_what_a_turn_made_of_a_recalled_message_falls(store: Store, reply: str, stays: bool) -> None:
    ann = await answered(store, said(SECRET, conversation="club a", place=CLUB), "noted")
    await ben_asks(store)
    summary = SituationSummary(key_findings=SECRET)
    ending = Closing(Outcome.ANSWERED, reply, summary=summary, context_messages=(ann.message,))
    await store.ledger.finish(await claimed(store), ending, START)
    receipt = await store.forgetting.forget(Everything("ann"), START)
    assert proved(receipt)
    assert await summary_of(store, "club b") == SituationSummary()
    history = await store.conversations.history("club b", before_turn=10**6, limit=9)
    assert [m.text for m in history] == ["what is the boat called?", *([reply] if stays else [])]


async def test_a_reply_that_had_it_in_its_history_only_stays(store: Store) -> None:
    ann = await answered(store, said(SECRET, conversation="club b", place=CLUB), "noted")
    await ben_asks(store)
    ending = Closing(Outcome.ANSWERED, f"So {SECRET}", context_messages=(ann.message,))
    await store.ledger.finish(await claimed(store), ending, START)
    await store.forgetting.forget(Everything("ann"), START)
    history = await store.conversations.history("club b", before_turn=10**6, limit=9)
    assert [m.text for m in history] == ["what is the boat called?", f"So {SECRET}"]


@pytest.mark.parametrize("named", [True, False])
async def test_an_open_turn_that_has_recalled_it_starts_anew(store: Store, named: bool) -> None:
    ann = await answered(store, said(SECRET, conversation="club a", place=CLUB), "noted")
    await ben_asks(store)
    running = await claimed(store)
    progress = recalling(ann.message) if named else recalling(running.message, f"Ann: {SECRET}.")
    await store.ledger.save(running, progress=progress, reply_ref='["page 1"]')
    await store.forgetting.forget(Everything("ann"), START)
    with pytest.raises(LeaseLost):
        await store.ledger.save(running, progress="more of it")
    again = await claimed(store)
    assert (again.turn, again.progress, again.reply_ref) == (running.turn, "", '["page 1"]')
    assert again.epoch > running.epoch


async def test_a_step_that_quotes_what_was_forgotten_meanwhile_is_not_kept(store: Store) -> None:
    ann = await answered(store, said(SECRET, conversation="club a", place=CLUB), "noted")
    await ben_asks(store)
    running = await claimed(store)
    await store.forgetting.forget(Everything("ann"), START)
    with pytest.raises(LeaseLost):
        await store.ledger.save(running, progress=recalling(ann.message, SECRET))
    assert (await claimed(store)).progress == ""


async def test_an_open_turn_that_has_nothing_of_it_goes_on(store: Store) -> None:
    await answered(store, said(SECRET, conversation="club a", place=CLUB), "noted")
    await answered(store, said("ok", conversation="club a", place=CLUB), "yes")
    await ben_asks(store)
    running = await claimed(store)
    await store.ledger.save(running, progress=recalling(running.message, "that is ok, yes"))
    await store.forgetting.forget(Everything("ann"), START)
    await store.ledger.finish(running, Closing(Outcome.ANSWERED, "fine"), START)


async def test_quoted_texts_of_a_waiting_turn_are_taken_out_and_the_others_stay(store: Store) -> None:
    await answered(store, said(SECRET, conversation="club a", place=CLUB), "noted")
    other = Quoted("earlier in this thread", "Cem", "mine is a train")
    await ben_asks(store, quoted=(Quoted("earlier in this thread", "Ann", f"> {SECRET}"), other))
    await store.forgetting.forget(Everything("ann"), START)
    assert (await claimed(store)).incoming.quoted == (other,)
