"""Apps get new secrets of their tokens: a refresh token that is used again by somebody else ends the access of both."""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory.audience import PersonAudience
from agent.ports.api_tokens import TokenScope
from bot.api.tokens import ACCESS_TIME, REFRESH, SAME_ANSWER, IssuedToken, OwnersAudit, TokenRequest, TokenService
from store.all_tables import metadata
from store.engine import Store
from tests.fakes.clock import FakeClock
from tests.fakes.store import store_in_memory

ANN, EDITOR = "slack:T1:U1", "appr_editor"
RECALL = frozenset({TokenScope.RECALL})


def anything(_: frozenset[TokenScope]) -> bool:
    return True


@dataclass
class App:
    """An app that signed Ann in for 30 days. `secrets`: all that it got, the newest last."""

    store: Store = field(default_factory=store_in_memory)
    clock: FakeClock = field(default_factory=lambda: FakeClock(auto=False))
    secrets: list[IssuedToken] = field(default_factory=list[IssuedToken])
    _numbers: "count[int]" = field(default_factory=count)

    @property
    def service(self) -> TokenService:
        return TokenService(
            self.store.api_tokens,
            self.clock,
            lambda: f"{next(self._numbers):043}",
            OwnersAudit(self.store.audit, self.clock),
        )

    async def sign_in(self) -> None:
        request = TokenRequest(
            name="editor",
            person=ANN,
            audience=PersonAudience(ANN),
            source="slack:T1",
            scopes=RECALL,
            lasts=timedelta(days=30),
            by_person=True,
            client=EDITOR,
        )
        self.secrets.append(await self.service.issue(request))

    def refresh_token(self, number: int = -1) -> str:
        refresh = self.secrets[number].refresh
        assert refresh is not None
        return refresh.reveal()

    async def refresh(self, number: int = -1, client: str = EDITOR) -> IssuedToken | None:
        got = await self.service.refresh(self.refresh_token(number), client, anything)
        if got is not None and got.secret.reveal() not in {one.secret.reveal() for one in self.secrets}:
            self.secrets.append(got)
        return got

    async def works(self, number: int = -1) -> bool:
        return await self.service.authenticate(self.secrets[number].secret.reveal()) is not None


async def signed_in() -> App:
    app = App()
    await app.sign_in()
    return app


async def test_an_app_replaces_its_secret_and_the_earlier_one_is_no_longer_valid() -> None:
    app = await signed_in()
    assert app.secrets[0].lasts == ACCESS_TIME
    await app.clock.advance(ACCESS_TIME.total_seconds() - 1)
    assert await app.works()
    await app.clock.advance(1)
    assert not await app.works()
    assert await app.refresh() is not None
    assert await app.works()
    assert app.secrets[1].token.id == app.secrets[0].token.id, "one token, with one line in /tokens"
    assert len(await app.store.api_tokens.of_person(ANN)) == 1
    await app.clock.advance(5)
    assert await app.refresh() is not None
    assert [await app.works(number) for number in range(3)] == [False, False, True]


async def test_the_access_ends_when_the_person_was_told_that_it_would() -> None:
    app = await signed_in()
    await app.clock.advance(timedelta(days=29, hours=23, minutes=59).total_seconds())
    last = await app.refresh()
    assert last is not None
    assert last.lasts == timedelta(minutes=1)
    await app.clock.advance(60)
    assert await app.refresh() is None
    assert not await app.works()


async def test_a_refresh_token_that_is_used_again_ends_the_access_and_the_audit_says_why() -> None:
    app = await signed_in()
    assert await app.refresh() is not None
    await app.clock.advance(SAME_ANSWER.total_seconds())
    assert await app.refresh(0) is None, "a thief, or the app after a thief"
    assert not await app.works()
    assert await app.refresh() is None
    assert await app.store.api_tokens.all(9) == []
    [row] = await app.store.audit.newest(1)
    assert (row.person, row.arguments) == (ANN, "revoke (refresh token used twice) token 1 editor: recall")


async def test_one_that_is_older_than_the_last_ends_the_access_at_once() -> None:
    app = await signed_in()
    await app.refresh()
    await app.refresh()
    assert await app.refresh(0) is None
    assert not await app.works()


async def test_windows_that_refresh_at_the_same_time_get_the_same_secrets() -> None:
    app = await signed_in()
    got = await asyncio.gather(*(app.refresh(0) for _ in range(5)))
    assert len({(one.secret.reveal(), one.refresh and one.refresh.reveal()) for one in got if one}) == 1
    assert all(got)
    assert await app.works()


async def test_a_refresh_token_is_of_use_only_to_its_app() -> None:
    app = await signed_in()
    assert await app.refresh(client="appr_other") is None
    assert await app.service.refresh(app.refresh_token(), EDITOR, lambda scopes: scopes < RECALL) is None
    for guess in ("", "x", f"{REFRESH}{'a' * 43}.{'b' * 43}", app.secrets[0].secret.reveal()):
        assert await app.service.refresh(guess, EDITOR, anything) is None
    assert await app.works(), "nothing was used up"
    assert await app.refresh() is not None


async def test_revoked_access_cannot_be_refreshed() -> None:
    app = await signed_in()
    await app.service.revoke("editor", await app.service.listed())
    assert await app.refresh() is None
    for number in range(2):
        await app.sign_in()
        secret = app.refresh_token() if number else app.secrets[-1].secret.reveal()
        await app.service.revoke_secret(secret, "appr_other")
        assert await app.works()
        await app.service.revoke_secret(secret, EDITOR)
        assert not await app.works()
        assert await app.refresh() is None


async def test_the_database_holds_no_secret_and_none_can_be_derived_from_it_alone() -> None:
    app = await signed_in()
    await app.refresh()
    rows = await app.store.database.read(
        lambda c: [str(c.execute(table.select()).all()) for table in metadata.sorted_tables]
    )
    known = {one.secret.reveal().removeprefix("cogency_") for one in app.secrets}
    known |= {app.refresh_token(number).rpartition(".")[2] for number in range(2)}
    assert not [secret for secret in known if any(secret in row for row in rows)]


USES = st.lists(
    st.tuples(st.sampled_from(["app", "thief", "wait"]), st.integers(0, 3), st.sampled_from([1, 29, 31, 3601])),
    max_size=8,
)


@pytest.mark.slow
@given(USES)
async def test_whatever_a_thief_tries_two_never_have_access_for_longer_than_a_moment(
    uses: list[tuple[str, int, int]],
) -> None:
    """The thief has each refresh token that the app had. Model: the index of the valid one, and since when."""
    app = await signed_in()
    valid, since, is_open = 0, app.clock.now(), True
    for who, back, seconds in uses:
        if who == "wait":
            await app.clock.advance(seconds)
            continue
        number = len(app.secrets) - 1 if who == "app" else max(0, len(app.secrets) - 1 - back)
        got = await app.refresh(number)
        if not is_open:
            assert got is None
        elif number == valid:
            assert got is not None
            valid, since = valid + 1, app.clock.now()
        elif number == valid - 1 and app.clock.now() < since + SAME_ANSWER:
            assert got is not None
            assert got.secret.reveal() == app.secrets[valid].secret.reveal()
        else:
            assert got is None
            is_open = False
        is_fresh = app.clock.now() < since + ACCESS_TIME
        working = [n for n in range(len(app.secrets)) if await app.works(n)]
        assert working == ([valid] if is_open and is_fresh else [])
