"""Managers enter their channel's own API key in a window, on each platform, and nobody reads it again."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from agent.providers.catalog import Endpoint
from agent.providers.scripted import ScriptedProvider
from bot.chat.logs import RedactingFormatter
from bot.models import texts as models_texts
from bot.models.key_commands import KEY_FORM
from bot.models.place_keys import PlaceKeyService
from bot.models.settings import ModelSettings
from bot.settings.secret import Secret
from tests.bot.models.test_place_keys import SEALS
from tests.fakes.clock import FakeClock
from tests.fakes.discord_bot import by_the_bot
from tests.fakes.discord_bot import serving as serving_discord
from tests.fakes.discord_gateway import running_discord
from tests.fakes.discord_world import ANN, GENERAL, seen
from tests.fakes.fast_clock import FastClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_home import fill_in
from tests.fakes.slack_things import TEAM
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.turns_host import turns_host
from tests.flows.test_discord_forms import labels, opened
from tests.flows.test_discord_refusals import MANAGE_GUILD

KEY = "sk-of-the-channel-wxyz"
SAVED = models_texts.OWN_KEY_SAVED.format(label="OpenAI", end="…wxyz")


async def _accepted(_: Endpoint, __: Secret) -> None:
    """The service knows each key."""


def keys_on(store: StoreInMemory) -> PlaceKeyService:
    return PlaceKeyService(
        store=store.place_keys,
        audit=store.audit,
        settings=ModelSettings(),
        clock=FakeClock(),
        seals=SEALS,
        is_on=True,
        vendors=lambda: ["openai", "gemini"],
        check=_accepted,
    )


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """All that is logged at DEBUG, as the program writes it."""
    lines, root = io.StringIO(), logging.getLogger()
    handler, before = logging.StreamHandler(lines), root.level
    handler.setFormatter(RedactingFormatter([]))
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield lines
    root.setLevel(before)
    root.removeHandler(handler)


async def test_in_slack_a_manager_enters_a_key_in_a_window_and_only_its_end_is_shown(log: io.StringIO) -> None:
    async with FakeSlack(FastClock()) as slack:
        boss, ann, store = slack.state.user("boss", is_admin=True), slack.state.user("ann"), store_in_memory()
        general = slack.state.channel("general")
        host = turns_host(store, ScriptedProvider([]), slack.clock, keys=keys_on(store))
        async with serving(slack, host), host.turns.serving():
            await slack.command(ann, general, "/keys", "")
            await slack.until(lambda: slack.state.ephemerals)
            assert KEY_FORM.label not in json.dumps([one.blocks for one in slack.state.ephemerals])
            await slack.command(boss, general, "/keys", "")
            await slack.until(lambda: len(slack.state.ephemerals) == 2)
            await slack.click(boss, slack.state.ephemerals[-1], KEY_FORM.label)
            await slack.until(lambda: slack.state.views)
            assert await fill_in(slack, boss, slack.state.views[-1], key=KEY) == {}
            await slack.until(lambda: SAVED in slack.state.ephemerals[-1].text)
            (stored,) = await store.place_keys.of(f"slack:{TEAM}", general)
            assert stored.ending == "…wxyz"
            shown = [*(one.text for one in slack.state.messages), *(one.text for one in slack.state.ephemerals)]
            assert not [one for one in shown if KEY in one]
            assert store.turns == []
    assert KEY not in log.getvalue()


async def test_on_discord_a_manager_enters_a_key_in_a_window_and_only_its_end_is_shown(log: io.StringIO) -> None:
    clock = FastClock(speed=1.0)
    async with running_discord(clock) as fake:
        fake.world.everyone_may, store = str(int(fake.world.everyone_may) | MANAGE_GUILD), store_in_memory()
        host = turns_host(store, ScriptedProvider([]), clock, keys=keys_on(store))
        async with serving_discord(fake, host), host.turns.serving():
            await fake.command(ANN, "keys")
            await fake.until(lambda: by_the_bot(fake) and labels(by_the_bot(fake)[-1]))
            shown = by_the_bot(fake)[-1]
            window = await opened(fake, ANN, shown, KEY_FORM.label)
            await fake.fill_in(ANN, window, shown, service="openai", key=KEY)
            await fake.until(lambda: SAVED in seen(by_the_bot(fake)[-1]))
            assert [one.ending for one in await store.place_keys.of("discord", GENERAL)] == ["…wxyz"]
            assert not [one for one in by_the_bot(fake) if KEY in json.dumps(one)]
            assert store.turns == []
    assert KEY not in log.getvalue()
