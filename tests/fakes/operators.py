"""Erases everything of a person, or of a place, as an operator does: `bot.app.subject_requests` on any store."""

from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from agent.memory.forgetting_plans import Everything, Receipt
from bot.app.subject_requests import Kind, Operator, OperatorErasing, Order, receipt_of
from bot.chat.audit import operator_act
from bot.forgetting.service import ForgetService
from bot.operators.settings import OperatorAct
from store.engine import Store
from store.subject_access import data_subjects_in
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import START

ANNA: Final = Operator("anna", "root")
BERT: Final = Operator("bert", "root")
Forget = Callable[[Store, str], Awaitable[Receipt]]


async def own(store: Store, person: str) -> Receipt:
    """Erase as the person's own `/forget everything` does."""
    return await store.forgetting.forget(Everything(person), START)


async def by_operator(store: Store, of: str, kind: Kind = Kind.PERSON) -> Receipt:
    """Erase as `cogency person erase` and `cogency place erase` do; with the receipt from the audit."""
    erasing = await erasing_on(store)
    order = Order(OperatorAct.ERASE, kind, of)
    number = await erasing.data_subjects.add(operator_act(START, ANNA.name, order.stored, "alone"))
    await erasing.erase(number)
    row = await erasing.data_subjects.act(number)
    assert row is not None
    return receipt_of(row)


async def erasing_on(store: Store) -> OperatorErasing:
    async def take_back(person: str, conversation: str | None) -> None:
        await store.ledger.take_back(person, conversation)

    async def withdraw(source: str, channel: str, message: str) -> bool:
        return await store.ledger.withdraw(source, channel, message, START)

    service = ForgetService(
        forgetting=store.forgetting,
        ledger=store.ledger,
        jobs=store.jobs,
        preferences=store.preferences,
        clock=FakeClock(START),
        take_back=take_back,
        withdraw=withdraw,
    )
    return OperatorErasing(service=service, data_subjects=await data_subjects_in(store), clock=service.clock)


# The guarantees of a person's own forgetting hold for an operator's, too.
EITHER_WAY: Final = pytest.mark.parametrize("forget", [own, by_operator], ids=["by themselves", "by an operator"])
