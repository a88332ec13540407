"""The contract of the port Explanations: what an answer was drawn from, by the ids that its turn stored."""

from dataclasses import replace
from datetime import timedelta

from agent.events import Outcome
from agent.explanations import Grounds, UsedFact, UsedModel, UsedTool
from agent.messages import ModelCall, Usage
from agent.ports.tool_audit import AuditedCall
from agent.ports.tools import ToolAccount
from agent.turn_records import Claim, Closing
from store.engine import Store
from tests.contracts.steps import answered, claimed, in_memory_too, proved, same_on_postgresql
from tests.fakes.facts import remember
from tests.fakes.incoming import START, said
from tests.fakes.plans import one_thread

HERON = "My boat is called Heron."
CALLS = (ModelCall("stand-in", Usage(10, output=2)), ModelCall("stand-in", Usage(20, output=2)))


async def told_before(store: Store) -> tuple[str, int]:
    """A fact of Ann's, and her message in an earlier thread that it came from."""
    claim = await answered(store, said(HERON, conversation="before"), "A good name.")
    fact = await remember(store.facts, "ann", HERON, "person:ann", START, claim.message)
    return fact.id, claim.message


async def drawn(store: Store, closing: Closing) -> Claim:
    """An answer to Ann in her thread, with one call of a tool, that was drawn from this."""
    await store.ledger.accept(said("What is my boat called?"))
    claim = await claimed(store)
    call = AuditedCall(START, "ann", "channel", "person:ann", "wiki.search", "{}", "reads", "unasked", "effect")
    call = replace(call, account=ToolAccount.ASKER)
    await store.audit.end(await store.audit.add(call, claim), 5, 10, "success")
    await store.ledger.finish(claim, closing, START + timedelta(minutes=1))
    return claim


async def grounds(store: Store, claim: Claim) -> Grounds:
    found = await store.explanations.grounds(claim.turn)
    assert found is not None
    return found


async def test_an_answer_tells_its_facts_messages_tools_and_models(store: Store) -> None:
    fact, message = await told_before(store)
    closing = Closing(Outcome.ANSWERED, "Heron.", ("page 1",), calls=CALLS, asked_model="another")
    closing = replace(closing, context_facts=(fact,), context_messages=(message, message + 1))
    claim = await drawn(store, replace(closing, given_messages=(message + 1,)))
    found = await grounds(store, claim)
    (used,) = found.facts
    assert isinstance(used, UsedFact)
    assert (used.text, used.audience, used.person, used.is_valid) == (HERON, "person:ann", "ann", True)
    assert used.link.startswith("https://example.test/")
    assert [(one.text, one.given, one.by_bot) for one in found.messages] == [
        (HERON, False, False),
        ("A good name.", True, True),
    ]
    assert found.tools == [UsedTool("wiki.search", "success", "unasked", "asker")]
    assert found.models == [UsedModel("stand-in", 2, None)]
    assert (found.asked_model, found.gone, found.here, found.more) == ("another", 0, 0, 0)
    newest = await store.explanations.newest("ann", "channel")
    assert newest is not None
    assert newest.turn == claim.turn
    assert await store.explanations.newest("ann", "elsewhere") is None
    assert await store.explanations.newest("bob", "") is None


@same_on_postgresql
async def test_of_its_own_conversation_only_the_number_of_messages_is_told(store: Store) -> None:
    earlier = await answered(store, said("Hello."), "Hello, Ann.")
    sources = (earlier.message, earlier.message + 1)
    claim = await drawn(store, Closing(Outcome.ANSWERED, "Heron.", ("page",), context_messages=sources))
    found = await grounds(store, claim)
    assert (found.messages, found.here) == ([], 2)


@in_memory_too
async def test_what_was_forgotten_is_counted_and_none_of_its_words_is_told(store: Store) -> None:
    fact, message = await told_before(store)
    closing = Closing(Outcome.ANSWERED, "Yes.", ("page",), context_facts=(fact,), context_messages=(message,))
    claim = await drawn(store, closing)
    assert proved(await store.forgetting.forget(one_thread("ann", "before"), START + timedelta(hours=1)))
    found = await grounds(store, claim)
    assert (found.facts, found.messages, found.gone) == ([], [], 2)
    await store.forgetting.forget(one_thread("ann", "thread"), START + timedelta(hours=2))
    assert await store.explanations.grounds(claim.turn) is None
    assert await store.explanations.newest("ann", "") is None


@same_on_postgresql
async def test_an_answer_that_is_not_complete_tells_nothing(store: Store) -> None:
    await store.ledger.accept(said("What is my boat called?"))
    claim = await claimed(store)
    assert await store.explanations.grounds(claim.turn) is None
