"""What the bot kept or says in other conversations, made of what is forgotten, on both engines."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Connection, Engine, event, select

from agent.errors import LeaseLost
from agent.events import Outcome
from agent.memory.audience import GroupAudience, Place, label
from agent.memory.forgetting_plans import OneThread, Receipt
from agent.memory.layers import WorkingItem
from agent.memory.writing import NewFact, Written
from agent.progress import Progress, encode
from agent.stored_messages import Author
from agent.turn_records import Claim, Closing
from store.engine import Store
from store.message_tables import message
from tests.contracts.steps import answered, claimed, proved
from tests.fakes.incoming import START, dm, said

SECRET = "my boat is Zanzibarwhisper and lies in Piraeus"
BOAT = OneThread("ann", frozenset({"boats"}))
HERE = label(dm("ann").audience)


async def asked(store: Store, question: str) -> Claim:
    await store.ledger.accept(said(question, conversation="later"))
    return await claimed(store)


async def kept(store: Store, question: int, words: str) -> None:
    new = NewFact("", "boat", words, "user", START, HERE, person="ann", source_message=question)
    await store.facts.write(new)
    item = WorkingItem("boat", words, START, START + timedelta(days=1), question)
    await store.working_set.store_item("later", HERE, item)


async def left(store: Store) -> tuple[list[str], list[str]]:
    """The values of facts and of the working set."""
    asking = said("and?", conversation="later")
    known = await store.knowledge.for_turn(asking, frozenset({HERE}), before_turn=10**6, messages=9, actions=9)
    return [one.value for one in known.facts], [one.value for one in known.working_set]


@pytest.mark.parametrize("running", [False, True])
async def test_what_a_turn_remembered_of_another_thread_falls_with_that(either: Store, running: bool) -> None:
    boat = await answered(either, said(SECRET, conversation="boats"), "noted")
    claim = await asked(either, "remember what I said of the boat")
    await kept(either, claim.message, "it is called Zanzibarwhisper")
    if running:
        await either.ledger.save(claim, progress=encode(Progress(context=(boat.message,))))
    else:
        ending = Closing(Outcome.ANSWERED, "Kept.", context_messages=(boat.message,))
        await either.ledger.finish(claim, ending, START)
    assert proved(await either.forgetting.forget(BOAT, START))
    assert await left(either) == ([], [])


async def test_what_a_turn_remembers_of_what_was_just_forgotten_goes_as_it_begins_anew(either: Store) -> None:
    boat = await answered(either, said(SECRET, conversation="boats"), "noted")
    claim = await asked(either, "remember what I said of the boat")
    await either.forgetting.forget(BOAT, START)
    await kept(either, claim.message, "it is called Zanzibarwhisper")
    with pytest.raises(LeaseLost):
        await either.ledger.save(claim, progress=encode(Progress(context=(boat.message,))))
    assert await left(either) == ([], [])


async def test_what_a_person_had_remembered_in_their_own_words_stays(either: Store) -> None:
    boat = await answered(either, said(SECRET, conversation="boats"), "noted")
    claim = await asked(either, "remember that the boat is Zanzibarwhisper")
    await kept(either, claim.message, "Zanzibarwhisper")
    await either.ledger.finish(claim, Closing(Outcome.ANSWERED, "Kept.", context_messages=(boat.message,)), START)
    await either.forgetting.forget(BOAT, START)
    assert await left(either) == (["Zanzibarwhisper"], ["Zanzibarwhisper"])


async def test_what_others_remembered_of_a_message_in_their_own_thread_stays_with_its_replies(either: Store) -> None:
    club = Place(GroupAudience("club"))
    boat = await answered(either, said(SECRET, person="ben", conversation="later", place=club), "noted")
    claim = await asked(either, "remember the boat")
    await kept(either, claim.message, "it is called Zanzibarwhisper")
    await either.ledger.finish(claim, Closing(Outcome.ANSWERED, "Kept.", context_messages=(boat.message,)), START)
    await either.forgetting.forget(OneThread("ben", frozenset({"later"})), START)
    assert await left(either) == (["it is called Zanzibarwhisper"], ["it is called Zanzibarwhisper"])


async def test_what_was_remembered_of_words_that_are_edited_falls(either: Store) -> None:
    boat = await answered(either, said(SECRET, conversation="boats"), "noted")
    claim = await asked(either, "remember what I said of the boat")
    await kept(either, claim.message, "it is called Zanzibarwhisper")
    await either.ledger.finish(claim, Closing(Outcome.ANSWERED, "Kept.", context_messages=(boat.message,)), START)
    assert await either.forgetting.update_text(
        "test", "channel", boat.incoming.message_id or "", "I have no boat", START
    )
    assert await left(either) == ([], [])


@pytest.mark.parametrize("said_before", [True, False])
async def test_an_answer_is_begun_anew_if_what_it_drew_on_is_forgotten(either: Store, said_before: bool) -> None:
    boat = await answered(either, said(SECRET, conversation="boats"), "noted")
    claim = await asked(either, "what is it called?")
    whole = encode(Progress(reply="Zanzibarwhisper.", outcome=Outcome.ANSWERED, context=(boat.message,)))
    if said_before:
        await either.ledger.save(claim, progress=whole)
    await either.forgetting.forget(BOAT, START)
    ending = Closing(Outcome.ANSWERED, "Zanzibarwhisper.")
    late = either.ledger.finish(claim, ending, START) if said_before else either.ledger.save(claim, progress=whole)
    with pytest.raises(LeaseLost):
        await late
    again = await claimed(either)
    assert (again.turn, again.progress) == (claim.turn, "")


async def test_who_forgets_does_not_see_what_others_remembered_of_it(either: Store) -> None:
    club = Place(GroupAudience("club"))
    boat = await answered(either, said(SECRET, person="ben", conversation="boats", place=club), "noted")
    claim = await asked(either, "remember the boat")
    await kept(either, claim.message, "I do not like Zanzibarwhisper")
    await either.ledger.finish(claim, Closing(Outcome.ANSWERED, "Kept.", context_messages=(boat.message,)), START)
    forgetting = OneThread("ben", frozenset({"boats"}))
    assert (await either.forgetting.preview(forgetting)).lines == (SECRET,)
    assert proved(await either.forgetting.forget(forgetting, START))
    assert await left(either) == ([], [])


async def test_a_long_chain_of_retellings_falls_whole_and_is_read_in_a_few_passes(store: Store) -> None:
    links, last = 40, 0
    for number in range(links):
        claim = await asked_anew(store, number)
        drawn = (last,) if last else ()
        ending = Closing(Outcome.ANSWERED, f"It is {number} times blue.", context_messages=drawn, given_messages=drawn)
        await store.ledger.finish(claim, ending, START + timedelta(seconds=number))
        last = await store.database.read(reply_of, claim.turn)
    passes, receipt = await passes_while(store, OneThread("ann", frozenset({"link-0"})))
    assert receipt.erased["messages"] == links + 1, "the question, and every reply"
    assert 0 < passes < 10


async def passes_while(store: Store, plan: OneThread) -> tuple[int, Receipt]:
    """How often all turns are read while this is forgotten, and the receipt."""
    passes: list[str] = []

    def counted(*executed: object) -> None:
        passes.extend(str(one) for one in executed[2:3] if str(one).startswith("SELECT turn.id, turn.conv"))

    event.listen(Engine, "before_cursor_execute", counted)
    try:
        receipt = await store.forgetting.forget(plan, START + timedelta(days=1))
    finally:
        event.remove(Engine, "before_cursor_execute", counted)
    assert proved(receipt)
    return len(passes), receipt


def reply_of(connection: Connection, turn: int) -> int:
    replies = select(message.c.id).where(message.c.turn == turn, message.c.author == Author.BOT)
    return connection.execute(replies).scalar_one()


async def asked_anew(store: Store, number: int) -> Claim:
    await store.ledger.accept(said(f"What was it, the {number}th time?", conversation=f"link-{number}"))
    return await claimed(store)


async def test_a_long_chain_of_facts_falls_whole_and_is_read_in_a_few_passes(store: Store) -> None:
    """Each turn was told the last one's reply, and remembered what its own question does not say."""
    links, last = 30, ""
    for number in range(links):
        claim = await asked_anew(store, number)
        new = NewFact("", f"fact {number}", f"it is zanzibarwhisper {number}", "user", START, HERE, person="ann")
        written = await store.facts.write(replace(new, source_message=claim.message))
        assert isinstance(written, Written)
        drawn = (last,) if last else ()
        ending = Closing(Outcome.ANSWERED, f"Kept zanzibarwhisper {number}.", context_facts=drawn)
        await store.ledger.finish(claim, ending, START + timedelta(seconds=number))
        last = written.fact.id
    passes, receipt = await passes_while(store, OneThread("ann", frozenset({"link-0"})))
    assert receipt.erased["facts"] == links
    assert 0 < passes < 10
