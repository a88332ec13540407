"""A flood of deliveries to webhooks beside people who ask, in the real `cogency run` with both platforms.

python -m benchmarks.webhooks [--quick] [--json]

On each platform somebody asks every other second, in the channel of a webhook and in another one in turn. In the
flooded run, both webhooks get all their deliveries at once, each from a sender of its own, which tries again until its
event is stored. Events are posted, and asked about. Each run has new platforms, with the limits of the real ones, and a
new process and database.

flood_delay_ratio_slack, _discord     from a question to its answer's end, flooded over calm, on average
calm_s_slack, flooded_s_slack, …      the same in seconds
stored_s          until all deliveries were stored; attempts: requests for each
events_posted     until the last person had their answer

Baseline, under the same names: events and questions answered in the order of their arrival, with as many slots and the
same times, simulated.
"""

import asyncio
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Final, Protocol

from agent.machine import CLOCK
from benchmarks.chaos_processes import Launch, from_nothing, replicas
from benchmarks.report import print_report, read_options
from benchmarks.scale_flood import Flood, first_come_first_served, ratio
from benchmarks.search_scale import Figures
from bot.chat.turns.worker import TurnWorkerLimits
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_requests import TOKEN
from tests.fakes.discord_world import ANN, BOT, GENERAL
from tests.fakes.hook_senders import SECRET
from tests.fakes.model_server import DONE, ModelServer, Reply, Request, Wait, head, text
from tests.fakes.sign_in_world import free_port
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import APP_TOKEN, BOT_TOKEN, BOT_USER

EVERY_S: Final = 2.0
TAKES_S: Final = 2.0  # An answer of the model, on average
LOOK_S: Final = 0.02
START_S: Final = 60.0
PATIENCE_S: Final = 300.0
NAME: Final = re.compile(r"question-\d+")
_UNLIMITED: Final = (
    "PERSON_PER_MINUTE", "PERSON_PER_HOUR", "CHANNEL_PER_MINUTE", "PERSON_RUNNING", "BACKLOG",
    "PERSON_TOKENS_PER_DAY", "PERSON_DOLLARS_PER_DAY", "EVERYONE_DOLLARS_PER_DAY",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class HookFlood:
    """`deliveries`: to each webhook. `questions`: on each platform."""

    deliveries: int = 1_000
    questions: int = 30


@dataclass(frozen=True, slots=True)
class Stored:
    """How long it took until all deliveries were stored, and how many requests that needed."""

    seconds: float
    requests: int


class Platform(Protocol):
    """Somebody who asks on a platform. `hooked`, `other`: channels, the first of which a webhook posts in."""

    hooked: str
    other: str

    async def ask(self, text: str, channel: str) -> Callable[[], Sequence[str]]:
        """Mention the bot; return what reads the answers."""
        ...

    def events(self) -> int:
        """Return how many events were posted."""
        ...


class OnSlack:
    def __init__(self, slack: FakeSlack) -> None:
        self._slack = slack
        self._ann = slack.state.user("ann")
        self.hooked, self.other = (slack.state.channel(name) for name in ("general", "quay"))

    async def ask(self, text: str, channel: str) -> Callable[[], Sequence[str]]:
        asked = await self._slack.say(self._ann, channel, f"<@{BOT_USER}> {text}")
        return lambda: [answer.text for answer in self._slack.state.answers(channel, asked.ts)]

    def events(self) -> int:
        return sum(not message.thread_ts for message in self._slack.state.answers(self.hooked))


class OnDiscord:
    hooked = GENERAL

    def __init__(self, discord: FakeDiscord) -> None:
        self._discord = discord
        self.other = discord.world.open_channel("1001", "quay")["id"]

    async def ask(self, text: str, channel: str) -> Callable[[], Sequence[str]]:
        asked = await self._discord.say(ANN, f"<@{BOT}> {text}", channel)
        return lambda: self._discord.world.shown(asked["id"])

    def events(self) -> int:
        return len(self._discord.world.shown(self.hooked))


def answer(request: Request) -> Reply:
    """Return an answer with the name of the question, which decides how long it takes."""
    (*_, name) = NAME.findall(json.dumps(request.json["messages"])) or ["no name"]
    takes_s = TAKES_S * Random(name).uniform(0.5, 1.5)
    return [head(), Wait(lambda: asyncio.sleep(takes_s)), text(f"This is the answer to {name}."), DONE]


def settings(
    folder: Path, channels: Mapping[str, str], slack: FakeSlack, discord: FakeDiscord, model: ModelServer, port: int
) -> dict[str, str]:
    (folder / "hooks.toml").write_text(
        "\n".join(
            f'[{name}]\npreset = "json"\nsigned = "bearer"\nsecret_env = "HOOK_SECRET"\nchannel = "{name}:{channel}"\n'
            'do = "ask"\nask = "What could be the cause?"\nper_minute = 6000\ndollars_per_day = 1000\n'
            for name, channel in channels.items()
        )
    )
    return {
        **{f"COGENCY_{name}": "0" for name in _UNLIMITED},
        "COGENCY_FIRST_NOTICE": "off",
        "COGENCY_LEARNING": "off",
        "COGENCY_MODEL": "openai:m-1",
        "OPENAI_BASE_URL": model.url,
        "COGENCY_DATABASE_URL": f"sqlite:///{folder / 'bot.db'}",
        "COGENCY_HTTP": f"127.0.0.1:{port}",
        "COGENCY_WEBHOOKS": "hooks.toml",
        "HOOK_SECRET": SECRET,
        "HOME": str(folder),
        "SLACK_BOT_TOKEN": BOT_TOKEN,
        "SLACK_APP_TOKEN": APP_TOKEN,
        "SLACK_API_BASE_URL": slack.url,
        "DISCORD_TOKEN": TOKEN,
        "DISCORD_API_BASE_URL": discord.api_base_url,
        "DISCORD_GATEWAY_URL": discord.gateway_url,
    }


async def ask(platform: Platform, name: str, channel: str) -> float:
    """Return the seconds from a question to the end of its answer."""
    begun = CLOCK.monotonic()
    shown = await platform.ask(f"where is my boat, {name}?", channel)
    while not any(f"the answer to {name}." in page for page in shown()):  # noqa: ASYNC110 -- another process writes it
        await asyncio.sleep(LOOK_S)
    return CLOCK.monotonic() - begun


async def ask_all(platform: Platform, questions: int) -> list[float]:
    asking = list[asyncio.Task[float]]()
    for number in range(questions):
        channel = (platform.hooked, platform.other)[number % 2]
        asking.append(asyncio.create_task(ask(platform, f"question-{number}", channel)))
        await asyncio.sleep(EVERY_S)
    return await asyncio.gather(*asking)


async def deliver_all(hooks: Sequence[str], port: int, each: int) -> Stored:
    """Deliver this many events to each webhook, all at once."""
    command = [sys.executable, "-m", "benchmarks.webhook_senders", "127.0.0.1", str(port), str(each), *hooks]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    told, _ = await process.communicate()
    found = json.loads(told)
    return Stored(found["stored_s"], found["requests"])


@dataclass(frozen=True, slots=True)
class Run:
    """What one run showed. `waited`: seconds for each question, by platform."""

    waited: Mapping[str, Sequence[float]]
    stored: Stored
    events: int


async def measured(flood: HookFlood, *, flooded: bool, launch: Launch = from_nothing) -> Run:
    port = free_port()
    with TemporaryDirectory() as name:
        async with FakeSlack(CLOCK) as slack, running_discord(CLOCK) as discord, ModelServer(answer) as model:
            platforms: Mapping[str, Platform] = {"slack": OnSlack(slack), "discord": OnDiscord(discord)}
            channels = {each: platform.hooked for each, platform in platforms.items()}
            environment = settings(Path(name), channels, slack, discord, model, port)
            async with replicas(1, environment, Path(name), launch) as running:
                try:
                    async with asyncio.timeout(START_S):
                        while len(slack.sockets) < 2 or not discord.connected:  # noqa: ASYNC110 -- as above
                            await asyncio.sleep(LOOK_S)
                        # The first answer loads modules.
                        await asyncio.gather(*(ask(each, "question-1000", each.other) for each in platforms.values()))
                    async with asyncio.timeout(PATIENCE_S):
                        delivering = deliver_all([*platforms], port, flood.deliveries if flooded else 0)
                        asking = asyncio.gather(*(ask_all(each, flood.questions) for each in platforms.values()))
                        stored, waited = await asyncio.gather(delivering, asking)
                except TimeoutError:
                    raise RuntimeError("\n".join(["the process does not get there", *running.logs()])) from None
                events = sum(each.events() for each in platforms.values())
    return Run(dict(zip(platforms, waited, strict=True)), stored, events)


async def measure(flood: HookFlood) -> tuple[Figures, Figures]:
    """Return the figures, and those of the baseline."""
    calm, flooded = [await measured(flood, flooded=each) for each in (False, True)]
    deliveries = flood.deliveries * len(flooded.waited)
    figures = {
        "stored_s": flooded.stored.seconds,
        "attempts": flooded.stored.requests / deliveries,
        "events_posted": float(flooded.events),
    }
    baseline = dict[str, float]()
    for name, waited in flooded.waited.items():
        figures |= {
            f"flood_delay_ratio_{name}": ratio(waited, calm.waited[name]),
            f"calm_s_{name}": fmean(calm.waited[name]),
            f"flooded_s_{name}": fmean(waited),
        }
        baseline[f"flood_delay_ratio_{name}"] = first_come_ratio(deliveries, flood)
    return figures, baseline


def first_come_ratio(deliveries: int, flood: HookFlood) -> float:
    """Return the ratio of the baseline."""
    seconds, slots = round(flood.questions * EVERY_S), TurnWorkerLimits().max_running
    many, none = (
        first_come_first_served(Flood(questions, seconds=seconds, slots=slots, takes_s=TAKES_S))
        for questions in (deliveries, 0)
    )
    return ratio(many, none)


def main() -> None:
    options = read_options("A flood of deliveries to webhooks beside people who ask.")
    metrics, baseline = asyncio.run(measure(HookFlood(questions=10) if options.quick else HookFlood()))
    load = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}: seconds are those of a busy machine"
    print_report("webhooks", metrics, baseline, options, load)


if __name__ == "__main__":
    main()
