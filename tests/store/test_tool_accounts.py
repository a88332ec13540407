"""Accounts at servers of tools: each person's own, renewed by one process at a time, and gone when they are "
"forgotten."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, select

from agent.memory.forgetting_plans import Everything, Gone
from agent.ports.tool_accounts import SealedSignIn
from store.engine import Store
from store.tool_accounts import sign_in, tool_account
from tests.fakes.incoming import START, said

LEASE = timedelta(seconds=60)
SOON = START + timedelta(minutes=10)
BOB = "slack:T1:U2"
ANN = "slack:T1:U1"


async def _put(store: Store, person: str, server: str, sealed: bytes) -> None:
    handle = f"{person} {server}"
    await store.tool_accounts.begin(handle, SealedSignIn(person, server, b""), START, SOON)
    assert await store.tool_accounts.complete(handle, person, server, sealed)


def _rows(connection: Connection) -> tuple[int, int]:
    counts = (connection.execute(select(func.count()).select_from(table)) for table in (tool_account, sign_in))
    accounts, sign_ins = (counted.scalar_one() for counted in counts)
    return accounts, sign_ins


async def test_each_person_has_an_account_of_their_own_at_each_server(either: Store) -> None:
    accounts = either.tool_accounts
    await _put(either, ANN, "wiki", b"ann at wiki")
    await _put(either, ANN, "mail", b"ann at mail")
    await _put(either, BOB, "wiki", b"bob at wiki")
    await _put(either, ANN, "wiki", b"ann anew")
    assert await accounts.all_of(ANN) == {"mail": b"ann at mail", "wiki": b"ann anew"}
    assert await accounts.drop(ANN, "wiki") == b"ann anew"
    assert await accounts.drop(ANN, "wiki") is None
    assert await accounts.get(ANN, "wiki") is None
    assert await accounts.get(BOB, "wiki") == b"bob at wiki"


async def test_of_many_who_would_renew_an_account_at_once_one_does(either: Store) -> None:
    await _put(either, ANN, "wiki", b"old")
    tries = (either.tool_accounts.renew(ANN, "wiki", b"old", START, LEASE) for _ in range(5))
    assert sorted(await asyncio.gather(*tries)) == [False] * 4 + [True]
    assert await either.tool_accounts.swap(ANN, "wiki", b"old", b"new")
    assert not await either.tool_accounts.swap(ANN, "wiki", b"old", b"late")
    assert await either.tool_accounts.get(ANN, "wiki") == b"new"
    assert await either.tool_accounts.renew(ANN, "wiki", b"new", START, LEASE)


async def test_who_renews_and_dies_holds_nobody_up_for_longer_than_their_lease(either: Store) -> None:
    await _put(either, ANN, "wiki", b"old")
    assert await either.tool_accounts.renew(ANN, "wiki", b"old", START, LEASE)
    assert not await either.tool_accounts.renew(ANN, "wiki", b"old", START + LEASE / 2, LEASE)
    assert await either.tool_accounts.renew(ANN, "wiki", b"old", START + LEASE, LEASE)


async def test_what_is_renewed_does_not_come_back_after_its_person_has_signed_out_or_in_anew(either: Store) -> None:
    await _put(either, ANN, "wiki", b"old")
    await either.tool_accounts.drop(ANN, "wiki")
    assert not await either.tool_accounts.swap(ANN, "wiki", b"old", b"renewed")
    await _put(either, ANN, "wiki", b"another account")
    assert not await either.tool_accounts.swap(ANN, "wiki", b"old", b"renewed")
    assert not await either.tool_accounts.swap(ANN, "wiki", b"old", None)
    assert await either.tool_accounts.get(ANN, "wiki") == b"another account"


async def test_a_sign_in_that_was_forgotten_while_it_ended_leaves_no_account(either: Store) -> None:
    accounts = either.tool_accounts
    await accounts.begin("handle", SealedSignIn(ANN, "wiki", b""), START, SOON)
    await either.forgetting.forget(Everything(ANN), START)
    assert not await accounts.complete("handle", ANN, "wiki", b"sealed")
    await accounts.begin("handle", SealedSignIn(ANN, "wiki", b""), START, SOON)
    await accounts.drop(ANN, "wiki")
    assert not await accounts.complete("handle", ANN, "wiki", b"sealed")
    assert await accounts.all_of(ANN) == {}


async def test_a_sign_in_expires_and_a_newer_one_takes_its_place(either: Store) -> None:
    accounts = either.tool_accounts
    await accounts.begin("first", SealedSignIn(ANN, "wiki", b""), START, SOON)
    assert await accounts.find_begun("first", SOON) is None
    await accounts.begin("second", SealedSignIn(ANN, "wiki", b""), START, SOON)
    assert await accounts.find_begun("first", START) is None
    await accounts.begin("of bob", SealedSignIn(BOB, "wiki", b""), SOON, SOON + LEASE)
    assert await either.database.read(_rows) == (0, 1)  # what has expired is gone


@pytest.mark.parametrize("plan", [Everything(ANN), Gone(sources=frozenset({"slack:T1"}))])
async def test_with_everything_of_a_person_or_a_platform_its_accounts_go_and_nobody_elses(
    either: Store, plan: Everything | Gone
) -> None:
    carl, accounts = "discord:7", either.tool_accounts
    for person in (ANN, carl):
        await _put(either, person, "wiki", b"sealed")
        await accounts.begin(person, SealedSignIn(person, "wiki", b"sealed"), START, SOON)
    receipt = await either.forgetting.forget(plan, START)
    assert receipt.erased["accounts"] == 1
    assert (await accounts.get(ANN, "wiki"), await accounts.find_begun(ANN, START)) == (None, None)
    assert await accounts.get(carl, "wiki") == b"sealed"
    assert await accounts.find_begun(carl, START) is not None


@pytest.mark.parametrize("messages", [0, 2])
async def test_with_a_platform_that_is_gone_go_the_accounts_of_those_who_said_nothing_there(
    either: Store, messages: int
) -> None:
    """Batches that end with the last message, and a workspace where people did no more than sign in and choose."""
    for number in range(messages):
        hello = replace(said(f"hello {number}", person="slack:T1:U3"), source="slack:T1")
        await either.ledger.accept(hello)
    await _put(either, ANN, "wiki", b"sealed")
    await either.preferences.set(ANN, "language", "de")
    await either.tool_accounts.begin(BOB, SealedSignIn(BOB, "wiki", b"sealed"), START, SOON)
    plan = Gone(sources=frozenset({"slack:T1"}))
    while any((await either.forgetting.retire(plan, START, 2)).values()):
        pass
    assert await either.database.read(_rows) == (0, 0)
    assert await either.preferences.all_of(ANN) == {}
    if messages:
        assert await either.forgetting.retire(plan, START, 2) == {}


async def test_what_has_expired_of_sign_ins_does_not_wait_for_the_next(either: Store) -> None:
    await either.tool_accounts.begin(ANN, SealedSignIn(ANN, "wiki", b"sealed"), START, SOON)
    await either.tool_accounts.begin(BOB, SealedSignIn(BOB, "wiki", b"sealed"), START, SOON + LEASE)
    await either.tool_accounts.expire(SOON)
    assert await either.database.read(_rows) == (0, 1)


async def test_a_sign_in_goes_on_under_another_name_only_while_it_is_there(either: Store) -> None:
    accounts, sealed = either.tool_accounts, SealedSignIn(ANN, "wiki", b"sealed")
    await accounts.begin("link", sealed, START, SOON)
    gone_on = await asyncio.gather(*(accounts.advance("link", f"state {each}", b"sealed", SOON) for each in range(5)))
    assert sorted(gone_on) == [False] * 4 + [True]
    state = f"state {gone_on.index(True)}"
    assert await accounts.find_begun("link", START) is None
    assert await accounts.find_begun(state, START) == sealed
    await either.forgetting.forget(Everything(ANN), START)
    assert not await accounts.advance(state, "code", b"sealed", SOON)
    assert await either.database.read(_rows) == (0, 0)


async def test_the_bytes_of_an_account_are_gone_from_the_file_after_forgetting(store: Store, path: Path) -> None:
    sealed = bytes(range(1, 200))
    await store.ledger.accept(said("hello"))
    await _put(store, "ann", "wiki", sealed)
    await store.tool_accounts.begin("handle", SealedSignIn("ann", "wiki", sealed[::-1]), START, SOON)
    receipt = await store.forgetting.forget(Everything("ann"), START)
    assert receipt.bytes_gone
    files = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert sealed[20:60] not in files
    assert sealed[::-1][20:60] not in files
