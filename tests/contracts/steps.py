"""What contracts do again and again: let somebody speak, let the bot answer."""

from datetime import datetime, timedelta

from agent.events import Outcome
from agent.memory.audience import Place, label
from agent.records import Claim, Closing, Hit, Incoming, RecallQuery, Receipt
from store.engine import Store
from tests.fakes.incoming import LEASE, START, dm
from tests.fakes.store import FakeStore

AnyStore = FakeStore | Store


async def claimed(store: AnyStore, owner: str = "worker", *, now: datetime = START) -> Claim:
    """The next claim; there has to be one."""
    claim = await store.ledger.claim(owner, now, LEASE)
    assert claim is not None
    return claim


async def answered(store: AnyStore, incoming: Incoming, reply: str) -> Claim:
    """Take a message in and answer it, seconds later."""
    await store.ledger.accept(incoming)
    claim = await claimed(store)
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, reply), incoming.time + timedelta(milliseconds=500))
    return claim


async def found(
    store: AnyStore, text: str, *, person: str = "ann", elsewhere: str = "another thread", place: Place | None = None
) -> list[Hit]:
    """Search the person's past threads for a reply in `place` (their DM)."""
    labels = frozenset({label((place or dm(person)).audience)})
    return await store.memories.search(RecallQuery(person, text, labels, elsewhere))


async def texts_found(store: AnyStore, text: str, *, person: str = "ann") -> list[str]:
    return [hit.message.text for hit in await found(store, text, person=person)]


def proved(receipt: Receipt) -> bool:
    """Was nothing found again, and are the bytes gone too, where this process can say?"""
    return receipt.found_again == 0 and receipt.bytes_gone is not receipt.kept_by_server
