"""`cogency keys`: what an operator sets, lists and removes, and what the audit says of it."""

import asyncio
import json
from base64 import b64encode
from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import Refused
from bot.chat.audit import as_line
from bot.models import texts as models_texts
from bot.models.settings import ModelSettings
from bot.settings.secret import Secret
from bot.setup import texts as setup_texts
from bot.setup.arguments import Subcommand, parser
from bot.setup.operator import audited
from bot.setup.operator_keys import key_list, remove_key, set_key
from bot.tools.accounts.settings import AccountSettings
from tests.bot.setup.test_operator_tokens import ANN, CHANNEL, OP, bot_settings
from tests.fakes.model_server import ModelServer, whole
from tests.patience import PATIENCE_S

KEY = "sk-of-the-channel-wxyz"


async def test_an_operator_sets_lists_and_removes_a_channels_key_and_the_audit_says_so(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE_S), ModelServer(lambda _: whole(200, {"data": []})) as server:
        models = ModelSettings(openai_base_url=server.url, channel_keys=True)
        accounts = AccountSettings(key=Secret(b64encode(b"q" * 32).decode()))
        settings = replace(await bot_settings(tmp_path), models=models, accounts=accounts)
        assert await key_list(settings, as_json=False) == setup_texts.NO_CHANNEL_KEYS
        assert await set_key(settings, CHANNEL, "openai", KEY, OP) == f"Set the key …wxyz for openai in {CHANNEL}."
        assert [request.headers["authorization"] for request in server.requests] == [f"Bearer {KEY}"]
        (line,) = (await key_list(settings, as_json=False)).splitlines()
        assert line.startswith(f"{CHANNEL}, openai, …wxyz, ")
        [listed] = json.loads(await key_list(settings, as_json=True))
        assert (listed["place"], listed["service"], listed["ending"], listed["refused"]) == (
            CHANNEL,
            "openai",
            "…wxyz",
            None,
        )
        assert await remove_key(settings, CHANNEL, "openai", OP) == f"Removed the key for openai from {CHANNEL}."
        with pytest.raises(Refused, match="has no key for openai"):
            await remove_key(settings, CHANNEL, "openai", OP)
        lines = [as_line(call) async for calls in audited(settings, None) for call in calls]
        assert [
            any(f"{act} openai key of place" in one and CHANNEL in one for one in lines) for act in ("set", "remove")
        ] == [*(True, True)]
        assert KEY not in f"{lines} {line} {listed}"


async def test_a_key_is_for_a_channel_and_needs_the_setting(tmp_path: Path) -> None:
    settings = await bot_settings(tmp_path)
    with pytest.raises(Refused) as refused:
        await set_key(settings, CHANNEL, "openai", KEY, OP)
    assert str(refused.value) == models_texts.OWN_KEYS_OFF
    accounts = AccountSettings(key=Secret(b64encode(b"q" * 32).decode()))
    settings = replace(settings, models=ModelSettings(channel_keys=True), accounts=accounts)
    with pytest.raises(Refused, match="is not a channel"):
        await set_key(settings, ANN, "openai", KEY, OP)


def test_the_key_itself_is_no_argument() -> None:
    given = parser().parse_args(["keys", "set", CHANNEL, "openai"])
    assert (given.command, given.place, given.vendor) == (Subcommand.KEYS_SET, CHANNEL, "openai")
    with pytest.raises(SystemExit):
        parser().parse_args(["keys", "set", CHANNEL, "openai", KEY])
