"""The contract of the port Knowledge: what its parts say, in one answer."""

from dataclasses import replace

from agent.events import Outcome
from agent.messages import ToolCall
from agent.state import ActionRecord, LastActions, SituationSummary
from agent.turn_records import Claim, Closing, Known
from store.engine import Store
from tests.contracts.steps import answered, claimed
from tests.fakes.facts import remember
from tests.fakes.incoming import START, said

DM = frozenset({"person:ann"})
RECORD = ActionRecord(1, START, "look it up", (ToolCall("recall", {}),), ())


async def asked(store: Store, text: str = "And now?") -> Claim:
    await store.ledger.accept(said(text))
    return await claimed(store)


async def known(store: Store, claim: Claim, messages: int = 9) -> Known:
    return await store.knowledge.for_turn(claim.incoming, DM, before_turn=claim.turn, messages=messages, actions=3)


async def test_a_first_question_begins_with_nothing(store: Store) -> None:
    found = await known(store, await asked(store))
    assert (list(found.said), found.summary, found.actions) == ([], SituationSummary(), LastActions())
    assert (list(found.facts), found.profile.entries) == ([], ())


async def test_it_begins_with_what_its_parts_know(store: Store) -> None:
    await answered(store, said("The boat is blue."), "Noted.")
    await remember(store.facts, "ann", "The boat is blue.", "person:ann", START)
    claim = await asked(store)
    found = await known(store, claim)
    assert list(found.said) == await store.conversations.history("thread", before_turn=claim.turn, limit=9)
    assert list(found.facts) == await store.facts.readable("ann", DM)
    assert found.profile == await store.profiles.readable("ann", DM)
    assert [one.text for one in (await known(store, claim, messages=1)).said] == ["Noted."]


async def test_what_was_done_last_stands_in_for_a_summary_and_not_beside_it(store: Store) -> None:
    await store.ledger.finish(await asked(store), Closing(Outcome.ANSWERED, "Done.", actions=(RECORD,)), START)
    second = await asked(store)
    assert [one.thinking for one in (await known(store, second)).actions.records] == ["look it up"]
    summary = SituationSummary(goal="paint the boat")
    await store.ledger.finish(second, Closing(Outcome.ANSWERED, "Done.", summary=summary), START)
    found = await known(store, await asked(store))
    assert (found.summary, found.actions) == (summary, LastActions())


async def test_a_claim_knows_what_the_workspace_of_its_asker_is_called(store: Store) -> None:
    await store.ledger.accept(replace(said("Hello?"), organization="Acme"))
    assert (await claimed(store)).incoming.organization == "Acme"
