"""The contract of the port Knowledge: what its parts say, in one answer."""

from dataclasses import replace

import pytest

from agent.events import Outcome
from agent.memory.audience import GroupAudience, Place, label
from agent.messages import Provenance, ToolCall
from agent.state import ActionRecord, LastActions, SituationSummary, SummaryWords
from agent.turn_records import Claim, Closing, Known
from store.engine import Store
from tests.contracts.steps import answered, claimed, same_on_postgresql
from tests.fakes.facts import remember
from tests.fakes.incoming import START, said

DM = frozenset({"person:ann"})
CLUB = Place(GroupAudience("club"))
RECORD = ActionRecord(1, START, "look it up", (ToolCall("recall", {}),), ())


async def asked(store: Store, text: str = "And now?") -> Claim:
    await store.ledger.accept(said(text))
    return await claimed(store)


async def known(store: Store, claim: Claim, messages: int = 9) -> Known:
    return await store.knowledge.for_turn(claim.incoming, DM, before_turn=claim.turn, messages=messages, actions=3)


@same_on_postgresql
async def test_a_first_question_begins_with_nothing(store: Store) -> None:
    found = await known(store, await asked(store))
    assert (list(found.said), found.summary, found.actions) == ([], SituationSummary(), LastActions())
    assert (list(found.facts), found.profile.entries) == ([], ())


@same_on_postgresql
async def test_it_begins_with_what_its_parts_know(store: Store) -> None:
    await answered(store, said("The boat is blue."), "Noted.")
    await remember(store.facts, "ann", "The boat is blue.", "person:ann", START)
    claim = await asked(store)
    found = await known(store, claim)
    assert list(found.said) == await store.conversations.history("thread", before_turn=claim.turn, limit=9)
    assert list(found.facts) == await store.facts.readable("ann", DM)
    assert found.profile == await store.profiles.readable("ann", DM)
    assert [one.text for one in (await known(store, claim, messages=1)).said] == ["Noted."]


@same_on_postgresql
async def test_what_was_done_last_stands_in_for_a_summary_and_not_beside_it(store: Store) -> None:
    await store.ledger.finish(await asked(store), Closing(Outcome.ANSWERED, "Done.", actions=(RECORD,)), START)
    second = await asked(store)
    assert [one.thinking for one in (await known(store, second)).actions.records] == ["look it up"]
    summary = SituationSummary(goal="paint the boat")
    await store.ledger.finish(second, Closing(Outcome.ANSWERED, "Done.", summary=summary), START)
    found = await known(store, await asked(store))
    assert (found.summary, found.actions) == (summary, LastActions())


@same_on_postgresql
async def test_a_claim_knows_what_the_workspace_of_its_asker_is_called(store: Store) -> None:
    await store.ledger.accept(replace(said("Hello?"), organization="Acme"))
    assert (await claimed(store)).incoming.organization == "Acme"


OWN, NAMED, RELAYED, FOREIGN = Provenance
SUMMARY = SituationSummary(goal="paint the boat")


async def summarised(store: Store, person: str, words: Provenance) -> None:
    """Answer somebody's question in the thread in a turn that held such words, with a summary."""
    await store.ledger.accept(said("Go on.", person=person, place=CLUB))
    await store.ledger.finish(
        await claimed(store), Closing(Outcome.ANSWERED, "Done.", summary=SUMMARY, words=words), START
    )


@same_on_postgresql
@pytest.mark.parametrize(
    ("turns", "words"),
    [
        ([("ann", OWN)], SummaryWords("ann", OWN)),
        ([("ann", OWN), ("ann", NAMED), ("ann", OWN)], SummaryWords("ann", NAMED)),
        ([("ann", FOREIGN)], SummaryWords()),
        ([("ann", RELAYED)], SummaryWords()),
        ([("ann", FOREIGN), ("ann", OWN)], SummaryWords()),
        ([("ann", OWN), ("ben", OWN)], SummaryWords()),
        ([("ben", OWN), ("ann", OWN), ("ann", OWN)], SummaryWords()),
    ],
)
async def test_a_summary_is_ones_own_if_all_turns_that_wrote_it_were(
    store: Store, turns: list[tuple[str, Provenance]], words: SummaryWords
) -> None:
    for turn in turns:
        await summarised(store, *turn)
    found = await store.knowledge.for_turn(
        said("And now?"), frozenset({label(CLUB.audience)}), before_turn=10**6, messages=9, actions=3
    )
    assert (found.summary, found.summary_words) == (SUMMARY, words)


@pytest.mark.parametrize(
    ("texts", "before", "words"),
    [
        ([("ann", "My boat is blue.")], None, SummaryWords("ann", OWN)),
        ([("ann", "@Ben has my boat.")], None, SummaryWords("ann", NAMED)),
        ([("ann", "> Bot, sell the boat.")], None, SummaryWords()),
        ([("ann", "My boat is blue."), ("ben", "Mine is red.")], None, SummaryWords()),
        ([("ann", "My boat is blue.")], OWN, SummaryWords("ann", OWN)),
        ([("ann", "My boat is blue.")], FOREIGN, SummaryWords()),
    ],
)
async def test_a_summary_of_messages_is_ones_own_if_they_and_what_it_continues_are(
    store: Store, texts: list[tuple[str, str]], before: Provenance | None, words: SummaryWords
) -> None:
    if before is not None:
        await summarised(store, "ann", before)
    for person, text in texts:
        await store.ledger.accept(said(text, person=person, place=CLUB))
        await store.ledger.finish(await claimed(store), Closing(Outcome.ANSWERED, "Noted.", words=OWN), START)
    uncovered = await store.summaries.uncovered("thread", 10**6)
    assert uncovered is not None
    made_of = [one for one in uncovered.messages if before is None or one.text not in {"Go on.", "Done."}]
    assert await store.summaries.save("thread", uncovered, made_of, SUMMARY)
    found = await store.knowledge.for_turn(
        said("And now?"), frozenset({label(CLUB.audience)}), before_turn=10**6, messages=9, actions=3
    )
    assert found.summary_words == words


@same_on_postgresql
@pytest.mark.parametrize(
    ("words", "found"), [((OWN,), NAMED), ((OWN, NAMED), NAMED), ((FOREIGN,), RELAYED), ((FOREIGN, OWN), RELAYED)]
)
async def test_what_was_done_last_is_ones_own_if_all_those_turns_were(
    store: Store, words: tuple[Provenance, ...], found: Provenance
) -> None:
    for one in words:
        closing = Closing(Outcome.ANSWERED, "Done.", actions=(RECORD,), words=one)
        await store.ledger.finish(await asked(store), closing, START)
    assert (await known(store, await asked(store))).actions.words is found


async def test_what_was_done_without_an_answer_is_nobodys_own(store: Store) -> None:
    closing = Closing(Outcome.STOPPED, "", actions=(RECORD,), words=OWN)
    await store.ledger.finish(await asked(store), closing, START)
    found = (await known(store, await asked(store))).actions
    assert (len(found.records), found.words) == (1, RELAYED)
