"""`/tokens`, and what a token is made of."""

from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from sqlalchemy import select

from agent.errors import Refused
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience
from agent.ports.api_tokens import TokenScope
from agent.spending import NANO, Money
from bot.api.commands import COMMAND, PersonTokens
from bot.api.settings import ApiSettings, parse_personal
from bot.api.tokens import (
    DailyBudget,
    OwnersAudit,
    TokenRequest,
    TokenService,
    bearer_of,
    hash_of,
    operator_line,
    parse_budget,
    parse_days,
    parse_name,
    parse_scopes,
)
from bot.chat.audit import as_line, home_text
from bot.chat.commands.declaration import CommandCall
from bot.chat.panels import Panel
from store.all_tables import metadata
from store.engine import Store
from tests.fakes.caller import ANN, FakeCaller
from tests.fakes.clock import FakeClock
from tests.fakes.store import store_in_memory

ALLOWED = frozenset({TokenScope.ASK, TokenScope.RECALL})
SERVICE = TokenRequest(name="ci", person="", audience=GroupAudience("slack:T1:C1"), source="slack:T1", channel="C1")


@dataclass
class Desk:
    """Ann's `/tokens` on a bot whose operator allows `scopes`."""

    store: Store = field(default_factory=store_in_memory)
    clock: FakeClock = field(default_factory=FakeClock)
    scopes: frozenset[TokenScope] = ALLOWED
    made: int = 0

    def secret(self) -> str:
        self.made += 1
        return f"{self.made:043d}"

    @property
    def service(self) -> TokenService:
        return TokenService(self.store.api_tokens, self.clock, self.secret, OwnersAudit(self.store.audit, self.clock))

    async def say(self, words: str, caller: FakeCaller = FakeCaller()) -> Panel:  # noqa: B008 -- frozen
        bound = COMMAND.bound(PersonTokens(self.service, ApiSettings(person_scopes=self.scopes, person_days=30)))
        assert bound.run is not None
        return await bound.run(CommandCall(words=words, caller=caller))


async def test_a_person_creates_a_token_sees_its_secret_once_and_revokes_it() -> None:
    desk = Desk()
    panel = await desk.say("create my-editor")
    secret = f"cogency_{1:043d}"
    assert secret in panel.text
    token = await desk.service.authenticate(secret)
    assert token is not None
    assert (token.owner, token.place, token.definition.scopes) == (ANN.id, Place(PersonAudience(ANN.id)), ALLOWED)
    assert token.definition.expires == desk.clock.now() + timedelta(days=30)
    listed = await desk.say("")
    assert "my-editor" in listed.text
    assert secret not in listed.text
    [button] = listed.actions
    revoked = await desk.say(button.words)
    assert "revoked the token **my-editor**" in revoked.text
    assert await desk.service.authenticate(secret) is None


async def test_only_a_hash_of_the_secret_is_stored() -> None:
    desk = Desk()
    await desk.say("create my-editor")
    [token] = await desk.store.api_tokens.of_person(ANN.id)
    assert token.definition.hash == hash_of(f"cogency_{1:043d}")
    rows = await desk.store.database.read(
        lambda c: [str(c.execute(select(one)).all()) for one in metadata.sorted_tables]
    )
    assert any(token.definition.hash in row for row in rows)
    assert not any(f"{1:043d}" in row for row in rows)


async def test_the_audit_says_which_tokens_people_created_and_revoked() -> None:
    desk = Desk()
    await desk.say("create my-editor")
    await desk.say("create ide ask")
    await desk.say("revoke my-editor")
    rows = await desk.store.audit.newest(9)
    assert [(row.person, row.arguments) for row in reversed(rows)] == [
        (ANN.id, "create token 1 my-editor: ask, recall"),
        (ANN.id, "create token 2 ide: ask"),
        (ANN.id, "revoke token 1 my-editor: ask, recall"),
    ]
    assert f"{ANN.id}  (token)  changed (owner)  success  revoke token 1 my-editor" in as_line(rows[0])
    assert "(token)" in home_text(rows)


@pytest.mark.parametrize(
    ("words", "scopes", "said"),
    [
        ("create ide", frozenset[TokenScope](), "Ask an operator"),
        ("create ide ask,forget", ALLOWED, "can have these scopes: ask, recall"),
        ("create ide ask forget", ALLOWED, "can have these scopes: ask, recall"),
        ("create", ALLOWED, "write `/tokens create NAME`"),
        ("delete ide", ALLOWED, "write `/tokens create NAME`"),
    ],
)
async def test_a_person_gets_no_token_that_the_operator_does_not_allow(
    words: str, scopes: frozenset[TokenScope], said: str
) -> None:
    desk = Desk(scopes=scopes)
    panel = await desk.say(words)
    assert panel.refused
    assert said in panel.text
    assert await desk.store.api_tokens.all(10) == []


@pytest.mark.parametrize(
    ("person", "channel"),
    [(ANN.id, ""), ("", ""), (ANN.id, "C1")],
    ids=["a person", "a workspace", "a person somewhere"],
)
async def test_only_a_service_in_a_channel_or_a_persons_token_for_that_alone_can_post(
    person: str, channel: str
) -> None:
    desk, post = Desk(scopes=frozenset(TokenScope)), frozenset({TokenScope.ASK, TokenScope.POST})
    audience = PersonAudience(person) if person else TeamAudience("slack:T1")
    with pytest.raises(Refused, match="for a service in one channel"):
        await desk.service.issue(
            TokenRequest(name="ci", person=person, audience=audience, source="slack:T1", channel=channel, scopes=post)
        )
    assert await desk.store.api_tokens.all(10) == []
    with pytest.raises(ValueError, match="one or more of ask, recall, remember, forget,"):
        parse_personal("ask,post")


@pytest.mark.parametrize("words", ["create My_Editor", "create ide everything", f"create {'x' * 41}", "revoke 1"])
async def test_a_wrong_name_scope_or_number_gets_a_sentence(words: str) -> None:
    desk = Desk()
    with pytest.raises(Refused):
        await desk.say(words)
    assert await desk.store.api_tokens.all(10) == []


async def test_a_token_is_not_created_where_others_could_read_it() -> None:
    desk = Desk()
    panel = await desk.say("create ide", FakeCaller(channel="C1", place=Place(GroupAudience("slack:T1:C1"))))
    assert panel.refused
    assert "direct message" in panel.text
    assert await desk.store.api_tokens.all(10) == []


async def test_nobody_revokes_a_token_of_somebody_else() -> None:
    desk = Desk()
    issued = await desk.service.issue(SERVICE)
    with pytest.raises(Refused):
        await desk.say(f"revoke {issued.token.id}")
    with pytest.raises(Refused):
        await desk.say("revoke ci")
    assert await desk.service.authenticate(issued.secret.reveal()) is not None


@pytest.mark.parametrize("secret", ["", "cogency_", "cogency_short", f"cogency_{2:043d}", f"{1:043d}", "é" * 51])
async def test_a_guessed_secret_finds_nothing(secret: str) -> None:
    desk = Desk()
    await desk.service.issue(SERVICE)
    assert await desk.service.authenticate(secret) is None


async def test_a_token_records_when_it_was_last_used_to_the_minute() -> None:
    desk = Desk()
    secret = (await desk.service.issue(SERVICE)).secret.reveal()
    used = list[float | None]()
    for seconds in (0, 59, 1):
        await desk.clock.sleep(seconds)
        await desk.service.authenticate(secret)
        [token] = await desk.service.listed()
        used.append(token.used and (token.used - token.definition.created).total_seconds())
    assert used == [0, 0, 60]


async def test_an_expired_token_is_listed_and_no_longer_works() -> None:
    desk = Desk()
    issued = await desk.service.issue(SERVICE)
    await desk.clock.sleep(90 * 86_400)
    assert await desk.service.authenticate(issued.secret.reveal()) is None
    assert await desk.service.valid(issued.token.id) is None
    [token] = await desk.service.listed()
    line = operator_line(token, desk.clock.now())
    assert line.startswith("1 ci, ask, expired ")
    assert line.endswith("never used, service in slack:T1:C1")


async def test_a_name_that_several_tokens_have_needs_a_number() -> None:
    desk = Desk()
    first = await desk.service.issue(SERVICE)
    hers = TokenRequest(name="ci", person=ANN.id, audience=PersonAudience(ANN.id), source="slack:T1")
    second = await desk.service.issue(hers)
    with pytest.raises(Refused, match="Several tokens are named ci"):
        await desk.service.revoke("ci", await desk.service.listed())
    await desk.service.revoke("2", await desk.service.listed())
    assert [token.id for token in await desk.service.listed()] == [first.token.id]
    assert second.token.id == 2


def test_the_words_of_operators_are_parsed_or_refused() -> None:
    assert parse_budget("$2.5") == parse_budget("2.50") == DailyBudget(money=Money(5 * NANO // 2))
    assert parse_budget("200,000 tokens") == DailyBudget(tokens=200_000)
    assert (parse_days("90d"), parse_days("7"), parse_days("never")) == (timedelta(90), timedelta(7), None)
    assert parse_scopes("ask, recall") == ALLOWED
    assert parse_name("my-editor-2") == "my-editor-2"
    for parse, text in (
        *((parse_budget, text) for text in ("", "-1", "0", "$0.00", "0 tokens", "1.234", "1e9", "many tokens")),
        *((parse_days, text) for text in ("", "0", "0d", "-1d", "99999d", "forever")),
        *((parse_scopes, text) for text in ("", ",", "ask,all")),
        *((parse_name, text) for text in ("", "-a", "A", "a b", "a" * 41, "a\n")),
    ):
        with pytest.raises(ValueError, match="must be"):
            parse(text)


def test_the_bearer_of_a_header_is_its_secret() -> None:
    assert bearer_of("Bearer abc") == bearer_of("bearer  abc ") == "abc"
    assert [bearer_of(header) for header in ("", "abc", "Basic abc", "Bearerabc")] == [""] * 4
