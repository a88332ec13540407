"""Codes and grants of signing in are valid once, for a short time, and only as they were made."""

from dataclasses import replace

import pytest

from agent.ports.api_tokens import TokenScope
from bot.api.sign_in import GRANT_TIME, Granted, GrantRequest, SignIns, challenge_of
from bot.chat.one_time_codes import CODE_TIME
from tests.fakes.clock import FakeClock
from tests.fakes.store import StoreInMemory, store_in_memory

ANN, BEN = "slack:T1:U1", "slack:T1:U2"
VERIFIER = "v" * 43
REQUEST = GrantRequest("app_1", "http://127.0.0.1:1/back", challenge_of(VERIFIER), frozenset({TokenScope.ASK}))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(auto=False)


@pytest.fixture
def store() -> StoreInMemory:
    return store_in_memory()


@pytest.fixture
def sign_ins(store: StoreInMemory, clock: FakeClock) -> SignIns:
    secrets = iter(f"secret {number}" for number in range(1_000))
    return SignIns(store.preferences, clock, lambda: next(secrets))


async def test_a_code_leads_to_its_person_once_however_it_is_typed(sign_ins: SignIns) -> None:
    code, other = await sign_ins.new_code(ANN), await sign_ins.new_code(BEN)
    assert len(code.replace("-", "")) == 12
    assert await sign_ins.person_of(f" {code.lower().replace('-', ' ')} ") == ANN
    assert await sign_ins.person_of(code) is None
    assert await sign_ins.person_of(other) == BEN


@pytest.mark.parametrize("code", ["", "-", "AAAA-AAAA-AAAA", "é" * 12, "x" * 10_000])
async def test_a_guess_leads_to_nobody_and_uses_up_nothing(sign_ins: SignIns, code: str) -> None:
    real = await sign_ins.new_code(ANN)
    assert await sign_ins.person_of(code) is None
    assert await sign_ins.person_of(real) == ANN


async def test_a_code_expires_and_a_newer_one_takes_its_place(sign_ins: SignIns, clock: FakeClock) -> None:
    replaced, late = await sign_ins.new_code(ANN), await sign_ins.new_code(ANN)
    assert await sign_ins.person_of(replaced) is None
    await clock.advance(CODE_TIME.total_seconds())
    assert await sign_ins.person_of(late) is None


async def test_a_grant_is_exchanged_once_for_what_was_granted(sign_ins: SignIns) -> None:
    grant = await sign_ins.grant(ANN, REQUEST)
    given = (REQUEST.client, REQUEST.redirect, VERIFIER)
    assert await sign_ins.exchange(grant, *given) == Granted(ANN, REQUEST.scopes)
    assert await sign_ins.exchange(grant, *given) is None


@pytest.mark.parametrize(
    ("client", "redirect", "verifier"),
    [
        ("app_2", REQUEST.redirect, VERIFIER),
        (REQUEST.client, "http://127.0.0.1:2/back", VERIFIER),
        (REQUEST.client, REQUEST.redirect, "w" * 43),
        (REQUEST.client, REQUEST.redirect, REQUEST.challenge),
    ],
)
async def test_a_grant_of_another_program_address_or_challenge_is_not_exchanged(
    sign_ins: SignIns, client: str, redirect: str, verifier: str
) -> None:
    grant = await sign_ins.grant(ANN, REQUEST)
    assert await sign_ins.exchange(grant, client, redirect, verifier) is None
    assert await sign_ins.exchange(grant, REQUEST.client, REQUEST.redirect, VERIFIER) is None, "it was used up"


async def test_a_grant_expires(sign_ins: SignIns, clock: FakeClock) -> None:
    grant = await sign_ins.grant(ANN, replace(REQUEST, scopes=frozenset(TokenScope)))
    await clock.advance(GRANT_TIME.total_seconds())
    assert await sign_ins.exchange(grant, REQUEST.client, REQUEST.redirect, VERIFIER) is None


async def test_only_digests_are_stored_and_nothing_after_use(store: StoreInMemory, sign_ins: SignIns) -> None:
    code = await sign_ins.new_code(ANN)
    grant = await sign_ins.grant(ANN, REQUEST)
    stored = " ".join((await store.preferences.all_of(ANN)).values())
    assert code.replace("-", "") not in stored
    assert grant not in stored
    await sign_ins.person_of(code)
    await sign_ins.exchange(grant, REQUEST.client, REQUEST.redirect, VERIFIER)
    assert await store.preferences.all_of(ANN) == {}
