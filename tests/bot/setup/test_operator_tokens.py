"""`cogency token`: what an operator creates, lists and revokes, and what the audit says of it."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from agent.errors import Refused
from agent.machine import CLOCK
from agent.memory.audience import GroupAudience, PersonAudience, Place
from agent.ports.api_tokens import TokenScope
from bot.api.tokens import DailyBudget, OwnersAudit, TokenService, hash_of, parse_budget
from bot.app.settings import Settings
from bot.app.storage_settings import StorageSettings
from bot.app.subject_requests import Operator
from bot.chat.audit import as_line
from bot.setup.arguments import Subcommand, parser
from bot.setup.operator import audited
from bot.setup.operator_tokens import create_token, revoke_token, token_list
from store.engine import open_store
from tests.contracts.steps import answered
from tests.fakes.incoming import said
from tests.fakes.new_database import new_database

OP = Operator("olga", "root")
ASK = frozenset({TokenScope.ASK})
MONTH = timedelta(days=30)
ANN, CHANNEL = "slack:T1:U1", "slack:T1:C1"


async def bot_settings(folder: Path) -> Settings:
    """Of a bot whose database knows Ann, and a private channel in which she wrote."""
    url = await new_database(folder / "bot.db")
    store = await open_store(url)
    for number, audience in enumerate((PersonAudience(ANN), GroupAudience(CHANNEL)), 1):
        message = said("hello", person=ANN, place=Place(audience), number=number)
        channel = f"{'DC'[number - 1]}1"
        await answered(store, replace(message, source="slack:T1", channel=channel), "Hi.")
    await store.close()
    return Settings(storage=StorageSettings(url=url))


async def _create(settings: Settings, acts_as: str, place: str | None = None, name: str = "ci") -> str:
    sentence, secret = await create_token(settings, name, acts_as, place, parse_budget("2.50"), ASK, MONTH, OP)
    assert secret.reveal() not in sentence
    return secret.reveal()


async def test_an_operator_creates_lists_and_revokes_tokens_and_the_audit_says_so(tmp_path: Path) -> None:
    settings = await bot_settings(tmp_path)
    hers, service = await _create(settings, ANN, name="ide"), await _create(settings, "service", CHANNEL)
    listed = await token_list(settings, as_json=False)
    assert [line.split(", ")[0] for line in listed.splitlines()] == ["1 ide", "2 ci"]
    assert hash_of(hers) not in listed
    assert service not in listed
    [first, second] = json.loads(await token_list(settings, as_json=True))
    assert (first["person"], first["place"], first["usd_per_day"]) == (ANN, None, 2.5)
    assert (second["person"], second["place"], second["scopes"]) == (None, CHANNEL, ["ask"])
    assert await revoke_token(settings, "ide", OP) == "Revoked token 1 (ide)."
    store = await open_store(settings.storage.url)
    tokens = TokenService(store.api_tokens, CLOCK, str, OwnersAudit(store.audit, CLOCK))
    found = await tokens.authenticate(hers), await tokens.authenticate(service)
    await store.close()
    assert found[0] is None
    assert found[1] is not None
    assert found[1].place == Place(GroupAudience(CHANNEL))
    lines = [as_line(call) async for calls in audited(settings, None) for call in calls]
    acts = ["create token", "create token", "revoke token"]
    assert len(lines) == len(acts)
    for line, act in zip(lines, acts, strict=True):
        assert "operator:olga" in line
        assert act in line


@pytest.mark.parametrize(
    ("acts_as", "place", "said"),
    [
        ("slack:T1:U9", None, "U1"),
        (ANN, CHANNEL, "--place is only for services"),
        ("service", None, "add --place"),
        ("service", "slack:T1:C9", "slack:T1:C1"),
        ("service", ANN, "direct message"),
    ],
)
async def test_a_token_for_nobody_or_nowhere_is_refused_with_what_to_do(
    tmp_path: Path, acts_as: str, place: str | None, said: str
) -> None:
    settings = await bot_settings(tmp_path)
    with pytest.raises(Refused, match=said):
        await _create(settings, acts_as, place)
    assert "no tokens" in await token_list(settings, as_json=False)


def test_the_command_line_has_a_budget_scopes_and_an_expiry() -> None:
    words = ["token", "create", "ci", "--as", "service", "--place", "C1", "--budget", "2.50"]
    words += ["--scopes", "ask,recall", "--expires", "30d"]
    options = vars(parser().parse_args(words))
    assert options["command"] is Subcommand.TOKEN_CREATE
    assert (options["acts_as"], options["place"], options["lasts"]) == ("service", "C1", MONTH)
    assert (options["budget"], options["scopes"]) == (parse_budget("2.50"), ASK | {TokenScope.RECALL})
    usual = vars(parser().parse_args(["token", "create", "ci", "--as", ANN]))
    assert (usual["budget"], usual["scopes"], usual["lasts"]) == (DailyBudget(), ASK, timedelta(days=90))
    assert vars(parser().parse_args(["token", "list"]))["command"] is Subcommand.TOKEN_LIST
    assert vars(parser().parse_args(["token", "revoke", "ci"]))["command"] is Subcommand.TOKEN_REVOKE
    assert vars(parser().parse_args(["plugins", "list"]))["command"] is Subcommand.PLUGINS_LIST
