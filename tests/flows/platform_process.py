"""One process of the bot in Slack or on Discord, on a database file, for tests that kill it.

Below: the adapters, the store, the real host, what is due; a model that types slowly.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from agent.messages import Message
from agent.ports.clock import Clock
from agent.ports.tools import Tool, ToolEffect
from agent.providers.scripted import ScriptedProvider
from agent.tools.schedule import BackgroundTool
from agent.turn import CRASHED_CALL
from bot.acts.feature import service_on, tools_of
from bot.acts.settings import ActMode, ActSettings
from bot.chat.connections import serve_all
from bot.chat.feature import Feature
from bot.chat.host import Host
from bot.chat.turns.turn_features import TurnFeatures
from bot.chat.turns.worker import TurnWorker, TurnWorkerLimits
from bot.platforms.discord.options import DiscordOptions
from bot.platforms.discord.run import serve as serve_discord
from bot.platforms.slack.options import SlackApp, SlackOptions, SocketMode
from bot.platforms.slack.run import serve as serve_slack
from bot.platforms.slack.settings import SlackSettings
from bot.schedules.reports import ScheduleReporter
from bot.schedules.scheduler import schedule_kinds
from bot.schedules.work import LongWork
from bot.settings.secret import Secret
from store.engine import open_store
from tests.fakes.answers import answer_of
from tests.fakes.discord_bot import EDIT_INTERVAL_S, SERVERS_S
from tests.fakes.discord_requests import TOKEN
from tests.fakes.fast_clock import FastClock
from tests.fakes.hosts import connections_of, host_on
from tests.fakes.long_work import CountingTool, Worker
from tests.fakes.runners import runner_on
from tests.fakes.schedules import doing
from tests.fakes.slack_things import APP_TOKEN, BOT_TOKEN
from tests.fakes.typist import typed

ANSWER = answer_of(5_000).strip()
COUNTED, GOES_ON = "counted.txt", "goes on"
UNSURE = "I do not know whether it was posted."
LONGEST_S = 60


def main(folder: Path, url: str, started: str, *, works: bool = False, acts: str = "") -> None:
    """Serve Slack until killed. `started` is the time on the workspace's clock. `works`: see `worker_in`. `acts`: the
    call that the model makes, as JSON.
    """
    app = SlackApp(Secret(BOT_TOKEN), SocketMode(Secret(APP_TOKEN), connections=1))
    slack = SlackOptions(url, chosen=SlackSettings(tables=False))  # tables stay as the model wrote them
    clock = partial(FastClock, datetime.fromisoformat(started))
    asyncio.run(
        _main(
            folder, clock, {"Slack": lambda host, clock: serve_slack(host, app, slack, clock)}, works=works, acts=acts
        )
    )


def discord_main(
    folder: Path, addresses: tuple[str, str], started: str, *, works: bool = False, acts: str = ""
) -> None:
    """The same for Discord: of its API, and of its gateway."""
    discord = DiscordOptions(Secret(TOKEN), *addresses, edit_interval_s=EDIT_INTERVAL_S, servers_s=SERVERS_S)
    clock = partial(FastClock, datetime.fromisoformat(started), speed=1.0)
    asyncio.run(
        _main(
            folder,
            clock,
            {"Discord": lambda host, clock: serve_discord(host, discord, clock)},
            works=works,
            acts=acts,
        )
    )


def worker_in(folder: Path) -> tuple[Worker, CountingTool]:
    """A model that works for three rounds in the background; the second call of its tool, which must not run twice,
    ends only if GOES_ON stands in the folder.
    """
    tool = CountingTool(log=folder / COUNTED, free=1, effect=ToolEffect.WRITES_HERE)
    if (folder / GOES_ON).exists():
        tool.gate.set()
    return Worker(rounds=3, mention=True), tool


def actor(call: str, messages: Sequence[Message]) -> str:
    """A model that acts by a call, and then says what came of it."""
    if CRASHED_CALL in messages[-1].text:
        return UNSURE
    if "<results>" in messages[-1].text:
        return "Posted."
    return f"<execute>[{call}]</execute>"


async def _main(
    folder: Path,
    clock_of: Callable[[], FastClock],
    served: Mapping[str, Callable[[Host, Clock], Awaitable[None]]],
    *,
    works: bool,
    acts: str = "",
) -> None:
    clock = clock_of()
    store = await open_store(f"sqlite:///{folder / 'bot.db'}")
    worker, tool = worker_in(folder)
    model = ScriptedProvider(worker if works else (lambda _: typed(ANSWER)), sleep=clock.sleep)
    if acts:
        model = ScriptedProvider(partial(actor, acts), sleep=clock.sleep)
    connections = connections_of(store, clock)
    longer = LongWork(store.schedules, connections.schedules, clock)
    tools: list[Tool] = [BackgroundTool(store.schedules), tool] if works else []
    if acts:
        tools += tools_of(service_on(store, connections.hands, clock, ActSettings(mode=ActMode.ON))).all
    kinds = schedule_kinds(ScheduleReporter(store.schedules), longer)
    runner = replace(
        runner_on(store, model, clock, *tools),
        features=TurnFeatures([Feature(name="schedules", kinds=kinds)]),
    )
    limits, owner = TurnWorkerLimits(sweep_s=0.2), clock.now().isoformat()
    turns = TurnWorker(store.ledger, runner, connections.surface_for, store.notifier, clock, owner, limits)
    host = host_on(store, turns, connections, clock)
    await store.ledger.release_all()
    serving = {name: partial(serve, host, clock) for name, serve in served.items()}
    async with asyncio.timeout(LONGEST_S), doing(host, store):
        await serve_all(serving, host.platforms, host.turns, host.messages.clock, grace_s=0.0)
