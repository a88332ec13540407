"""Apps that workspaces were given by their install page: renewed by one process at a time, and gone when forgotten."""

import asyncio
from dataclasses import replace
from datetime import timedelta

from agent.memory.forgetting_plans import Everything, Gone
from agent.ports.installations import Installation
from store.engine import Store
from tests.fakes.incoming import START

LEASE = timedelta(seconds=60)
TEAM = "slack:T1"
APP = Installation(TEAM, "A1", "E1", "U0", "chat:write", f"{TEAM}:U1", START, START + timedelta(hours=12), b"first")


async def test_an_app_is_kept_as_it_was_installed_last(either: Store) -> None:
    kept = either.installations
    await kept.put(APP)
    other = replace(APP, source="slack:T2", expires=None)
    await kept.put(other)
    again = replace(APP, installed=START + LEASE, sealed=b"again", scopes="chat:write,users:read")
    await kept.put(again)
    assert await kept.listed() == [again, other]


async def test_of_many_who_would_renew_tokens_at_once_one_does(either: Store) -> None:
    kept = either.installations
    await kept.put(APP)
    claims = await asyncio.gather(*(kept.claim(TEAM, b"first", START, LEASE) for _ in range(5)))
    assert [claim is None for claim in claims].count(False) == 1
    epoch = next(claim for claim in claims if claim is not None)
    later = START + timedelta(hours=24)
    assert await kept.renewed(TEAM, epoch, b"second", later)
    assert await kept.claim(TEAM, b"first", START, LEASE) is None
    assert [(one.sealed, one.expires) for one in await kept.listed()] == [(b"second", later)]


async def test_who_was_too_slow_writes_nothing_over_what_another_renewed(either: Store) -> None:
    kept = either.installations
    await kept.put(APP)
    slow = await kept.claim(TEAM, b"first", START, LEASE)
    quick = await kept.claim(TEAM, b"first", START + LEASE, LEASE)
    assert slow is not None
    assert quick is not None
    assert await kept.renewed(TEAM, quick, b"second", None)
    assert not await kept.renewed(TEAM, slow, b"late", None)
    assert [one.sealed for one in await kept.listed()] == [b"second"]


async def test_what_was_installed_anew_while_it_was_renewed_stays(either: Store) -> None:
    kept = either.installations
    await kept.put(APP)
    epoch = await kept.claim(TEAM, b"first", START, LEASE)
    await kept.put(replace(APP, sealed=b"anew"))
    assert epoch is not None
    assert not await kept.renewed(TEAM, epoch, b"second", None)
    assert [one.sealed for one in await kept.listed()] == [b"anew"]


async def test_what_is_removed_loses_its_tokens_at_once_and_only_as_it_was_installed(either: Store) -> None:
    kept = either.installations
    await kept.put(APP)
    assert not await kept.remove(TEAM, START - LEASE, START)
    epoch = await kept.claim(TEAM, b"first", START, LEASE)
    assert await kept.remove(TEAM, START, START + LEASE)
    assert not await kept.remove(TEAM, START, START + LEASE)
    assert epoch is not None
    assert not await kept.renewed(TEAM, epoch, b"second", None)
    assert await kept.claim(TEAM, b"", START + 2 * LEASE, LEASE) is None
    assert [(one.sealed, one.removed) for one in await kept.listed()] == [(b"", START + LEASE)]
    await kept.put(APP)
    assert [one.removed for one in await kept.listed()] == [None]


async def test_a_workspace_that_is_forgotten_loses_what_it_had_removed(either: Store) -> None:
    kept = either.installations
    await kept.put(replace(APP, installer=""))
    await kept.put(replace(APP, source="slack:T2"))
    await either.forgetting.forget(Gone(sources=frozenset({TEAM})), START)
    assert [one.source for one in await kept.listed()] == [TEAM, "slack:T2"]
    await kept.remove(TEAM, START, START)
    await either.forgetting.forget(Gone(sources=frozenset({TEAM})), START)
    assert [one.source for one in await kept.listed()] == ["slack:T2"]


async def test_who_installed_it_is_forgotten_with_them(either: Store) -> None:
    await either.installations.put(APP)
    await either.forgetting.forget(Everything(APP.installer), START)
    assert await either.installations.listed() == [replace(APP, installer="")]
