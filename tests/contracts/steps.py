"""What contracts do again and again: let somebody speak, let the bot answer."""

from datetime import datetime, timedelta
from typing import Final

import pytest

from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import Place, label
from agent.memory.forgetting_plans import Receipt
from agent.recall_query import Hit, RecallQuery
from agent.state import SituationSummary
from agent.turn_records import Claim, Claiming, Closing, Known
from store.engine import Store
from tests.examples import thorough
from tests.fakes.incoming import LEASE, START, dm, said

AFTER_ALL: Final = 10**6  # A turn after all others

SQLITE_FILE: Final = "sqlite file"
SQLITE_MEMORY: Final = "sqlite memory"
POSTGRESQL: Final = "postgresql"

# For contracts about work of several at one moment, or about what is erased: see tests/contracts/conftest.py.
in_memory_too = pytest.mark.parametrize("store", [SQLITE_FILE, SQLITE_MEMORY, POSTGRESQL], indirect=True)

# For contracts that execute no statement on PostgreSQL which another contract does not execute there, too, with as many
# rows, the same parameters left out, and the same errors. Those of forgetting, of audiences, of erasure and of several
# at one moment always run on both.
same_on_postgresql = pytest.mark.parametrize(
    "store", [SQLITE_FILE, pytest.param(POSTGRESQL, marks=thorough)], indirect=True
)


async def claimed(store: Store, owner: str = "worker", *, now: datetime = START) -> Claim:
    """The next claim; there has to be one."""
    claim = await store.ledger.claim(Claiming(owner, now, LEASE))
    assert claim is not None
    return claim


async def answered(store: Store, incoming: Incoming, reply: str) -> Claim:
    """Take a message in and answer it, seconds later."""
    await store.ledger.accept(incoming)
    claim = await claimed(store)
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, reply), incoming.time + timedelta(milliseconds=500))
    return claim


async def found(
    store: Store, text: str, *, person: str = "ann", elsewhere: str = "another thread", place: Place | None = None
) -> list[Hit]:
    """Search the person's past threads for a reply in `place` (their DM)."""
    labels = frozenset({label((place or dm(person)).audience)})
    return await store.memories.search(RecallQuery(person, text, labels, elsewhere))


async def texts_found(store: Store, text: str, *, person: str = "ann") -> list[str]:
    return [hit.message.text for hit in await found(store, text, person=person)]


async def known(
    store: Store,
    conversation: str,
    audiences: frozenset[str] = frozenset(),
    *,
    person: str = "ann",
    before_turn: int = AFTER_ALL,
) -> Known:
    """What the person's next turn there would begin with."""
    asked = said("And now?", person=person, conversation=conversation)
    return await store.knowledge.for_turn(asked, audiences, before_turn=before_turn, messages=9, actions=3)


async def summary_of(store: Store, conversation: str) -> SituationSummary:
    return (await known(store, conversation)).summary


def proved(receipt: Receipt) -> bool:
    """Was nothing found again, and are the bytes gone too, where this process can say?"""
    return receipt.found_again == 0 and receipt.bytes_gone is not receipt.kept_by_server
