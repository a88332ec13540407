"""One process of the bot in Slack, on a database file, for tests that kill it.

Above: `test_slack_crash`. Below: the adapter, the store, the real host; a model that types slowly.
"""

import asyncio
from datetime import datetime
from pathlib import Path

from agent.context import ContextBudget, Persona
from agent.providers.scripted import ScriptedProvider
from agent.tools.registry import Toolbox
from agent.turn import TurnLimits
from bot.hosting import serve_all
from bot.platforms.slack.options import SlackSettings, SocketMode
from bot.platforms.slack.run import serve
from bot.setting_parsers import Secret
from bot.turns.runner import AgentConfig, TurnRunner
from bot.turns.worker import Turns, TurnsLimits
from store.engine import open_store
from tests.fakes.answers import answer_of
from tests.fakes.fast_clock import FastClock
from tests.fakes.hosts import connections_of, host_on
from tests.fakes.minds import always
from tests.fakes.slack_things import APP_TOKEN, BOT_TOKEN
from tests.fakes.typist import typed

ANSWER = answer_of(5_000).strip()
LONGEST_S = 60


def main(folder: Path, url: str, started: str) -> None:
    """Serve until killed. `started` is the time on the workspace's clock."""
    asyncio.run(_main(folder, url, datetime.fromisoformat(started)))


async def _main(folder: Path, url: str, started: datetime) -> None:
    clock = FastClock(started)
    store = await open_store(f"sqlite:///{folder / 'bot.db'}")
    model = ScriptedProvider(lambda _: typed(ANSWER), sleep=clock.sleep)
    mind = AgentConfig(
        fresh_word=lambda: "w0rd",
        provider=always(model),
        persona=lambda _: Persona("You are a bot.", "Answer in English."),
        tools=Toolbox([]),
        turn_limits=TurnLimits(),
        budget=ContextBudget(),
    )
    connections = connections_of(store, clock)
    thinking = TurnRunner(mind, store.ledger, store.knowledge, clock)
    limits, owner = TurnsLimits(sweep_s=0.05), started.isoformat()
    turns = Turns(store.ledger, thinking, connections.surface_for, store.notifier, clock, owner, limits)
    host = host_on(store, turns, connections, clock)
    await store.ledger.release_all()
    settings = SlackSettings(Secret(BOT_TOKEN), SocketMode(Secret(APP_TOKEN), connections=1), url)
    async with asyncio.timeout(LONGEST_S):
        await serve_all(
            {"Slack": lambda: serve(host, settings, clock)}, host.platforms, host.turns, host.clock, grace_s=0.0
        )
