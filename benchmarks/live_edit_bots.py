"""The bots of `benchmarks.live_edit`: the product and a bot that edits at a fixed interval, on either platform.

All replies start at once, two in each place, each to its own person. On Slack a place is a channel, and each reply is
in the thread of its question. On Discord both are in the channel itself, where two replies share Discord's limit; in
threads, as the product starts them by default, each would have the whole limit.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import discord
from aiohttp import ClientSession

from agent.ports.clock import Clock
from agent.providers.scripted import ScriptedProvider
from benchmarks.fixed_interval import DiscordPlace, Place, SlackPlace, edit_at_intervals
from benchmarks.live_edit_voices import Shown, Voice, voices
from bot.chat.host import Host
from bot.chat.turns.worker import TurnWorkerLimits
from bot.platforms.discord.options import DiscordOptions
from bot.platforms.discord.run import point_at
from bot.platforms.discord.settings import DiscordSettings, ReplyMode
from bot.platforms.slack.api import SlackApi, web_client
from bot.platforms.slack.settings import SlackSettings, Streaming
from bot.settings.secret import Secret
from tests.fakes import discord_bot, slack_bot
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_requests import TOKEN
from tests.fakes.discord_world import ANN, BOT
from tests.fakes.fast_clock import FastClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import BOT_TOKEN, BOT_USER
from tests.fakes.store import store_in_memory
from tests.fakes.turns_host import turns_host

IN_ONE_PLACE: Final = 2
PATIENCE_S: Final = 1_800.0  # In skipped time: a bot that is refused may need minutes after the last word
LIMITS: Final = TurnWorkerLimits(per_person=None)
LOOK_S: Final = 0.5
QUESTION: Final = "tell me everything"
SLACK_WRITES: Final = frozenset(
    {"chat.postMessage", "chat.update", "chat.startStream", "chat.appendStream", "chat.stopStream"}
)
DISCORD_WRITE: Final = re.compile(r"POST /channels/\d+/messages|PATCH /channels/\d+/messages/\d+")


@dataclass(frozen=True, slots=True)
class Load:
    """The number of replies at once, and the duration of each."""

    replies: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Run:
    """The result of one bot: the texts that it showed, and the numbers of its accepted and refused writes."""

    voices: Sequence[Voice]
    shown: Sequence[Shown]
    written: int
    refused: int


async def streams_on_slack(load: Load) -> Run:
    return await _product_on_slack(load, Streaming.EVERYWHERE)


async def edits_on_slack(load: Load) -> Run:
    return await _product_on_slack(load, Streaming.OFF)


async def _product_on_slack(load: Load, streaming: Streaming) -> Run:
    clock = FastClock(speed=1.0)
    spoken = voices(load.replies, load.seconds, clock)
    async with (
        FakeSlack(clock) as slack,
        _answering(spoken, clock) as host,
        slack_bot.serving(slack, host, chosen=SlackSettings(stream=streaming)),
    ):
        for person, channel in _slack_places(slack, load.replies):
            await slack.say(person, channel, f"<@{BOT_USER}> {QUESTION}")
        await _answered(spoken, host, clock)
    return _slack_run(slack, spoken)


async def interval_on_slack(load: Load) -> Run:
    clock = FastClock(speed=1.0)
    spoken = voices(load.replies, load.seconds, clock)
    async with FakeSlack(clock) as slack, ClientSession() as session:
        api = SlackApi(web_client(slack.url, session, BOT_TOKEN), session)
        asked = [slack.state.write(*place, QUESTION) for place in _slack_places(slack, load.replies)]
        await _at_intervals(spoken, [SlackPlace(api, each.channel, each.ts) for each in asked], clock)
    return _slack_run(slack, spoken)


async def edits_on_discord(load: Load) -> Run:
    clock = FastClock(speed=1.0)
    spoken = voices(load.replies, load.seconds, clock)
    usual = DiscordOptions(Secret(TOKEN))
    async with running_discord(clock) as fake:
        channels = _discord_channels(fake, load.replies)
        chosen = {"chosen": DiscordSettings(replies=ReplyMode.CHAIN), "edit_interval_s": usual.edit_interval_s}
        async with _answering(spoken, clock) as host, discord_bot.serving(fake, host, **chosen):
            for channel in channels:
                await fake.say(ANN, f"<@{BOT}> {QUESTION}", channel)
            await _answered(spoken, host, clock)
    return _discord_run(fake, spoken)


async def interval_on_discord(load: Load) -> Run:
    clock = FastClock(speed=1.0)
    spoken = voices(load.replies, load.seconds, clock)
    async with running_discord(clock) as fake, discord.Client(intents=discord.Intents.none()) as client:
        point_at(discord_bot.settings(fake))
        await client.login(TOKEN)
        places = [DiscordPlace(client, channel) for channel in _discord_channels(fake, load.replies)]
        await _at_intervals(spoken, places, clock)
    return _discord_run(fake, spoken)


@asynccontextmanager
async def _answering(spoken: Sequence[Voice], clock: Clock) -> AsyncGenerator[Host, None]:
    """Run the product, with a model that gives each question the next of these answers."""
    model = ScriptedProvider([voice.script() for voice in spoken])
    host = turns_host(store_in_memory(), model, clock, limits=LIMITS)
    async with host.turns.serving():
        yield host


async def _answered(spoken: Sequence[Voice], host: Host, clock: Clock) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not all(voice.ended for voice in spoken):
            await clock.sleep(LOOK_S)
        await host.turns.idle()


async def _at_intervals(spoken: Sequence[Voice], places: Sequence[Place], clock: Clock) -> None:
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        for voice, place in zip(spoken, places, strict=True):
            group.create_task(voice.speak_all())
            group.create_task(edit_at_intervals(voice, place, clock))


def _slack_places(slack: FakeSlack, replies: int) -> list[tuple[str, str]]:
    """Return the asker of each reply, and the channel."""
    people = [slack.state.user(f"person{number}") for number in range(replies)]
    channels = [slack.state.channel(f"channel{number}") for number in range(0, replies, IN_ONE_PLACE)]
    return [(person, channels[number // IN_ONE_PLACE]) for number, person in enumerate(people)]


def _discord_channels(fake: FakeDiscord, replies: int) -> list[str]:
    channels = [str(200 + number // IN_ONE_PLACE) for number in range(replies)]
    for channel in {*channels}:
        fake.world.open_channel(channel, f"channel-{channel}")
    return channels


def _slack_run(slack: FakeSlack, spoken: Sequence[Voice]) -> Run:
    state = slack.state
    pages = [message for message in state.messages if message.bot_id]
    return Run(
        spoken,
        [Shown(time, text) for page in pages for time, text in page.versions],
        sum(call.method in SLACK_WRITES for call in state.calls),
        sum(call.method in SLACK_WRITES for call in state.refused),
    )


def _discord_run(fake: FakeDiscord, spoken: Sequence[Voice]) -> Run:
    writes = [call for call in fake.calls if DISCORD_WRITE.fullmatch(f"{call.method} {call.path}")]
    taken = [call for call in writes if call.status == 200]
    shown = [Shown(call.time, call.body["content"]) for call in taken]
    return Run(spoken, shown, len(taken), len(writes) - len(taken))
