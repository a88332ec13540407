"""A model that has read another's text calls what it likes, up to three times in a row, in any place, alone or with
others: nothing is carried out and nothing is done unasked. With the gate of the calls off, each of these succeeds.
"""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, assert_never

import pytest

from agent.messages import JsonObject, Message, Role
from agent.ports.tools import ToolEffect
from bot.tools import texts as tool_texts
from tests.examples import thorough
from tests.fakes import discord_bot, slack_bot
from tests.fakes.discord_gateway import running_discord
from tests.fakes.discord_world import ANN as DISCORD_ANN
from tests.fakes.discord_world import BOT, DM_OF
from tests.fakes.discord_world import GENERAL as DISCORD_GENERAL
from tests.fakes.fast_clock import MovedClock
from tests.fakes.slack import FakeSlack
from tests.fakes.store import store_in_memory
from tests.fakes.web_world import WebWorld
from tests.injection.attempts import Attempt, Goal, Mechanism, Source
from tests.injection.sequences import (
    BEFORE,
    LAST,
    ON_SLACK,
    TEXTS,
    Instructions,
    Sequenced,
    Text,
    Where,
    numbered,
    sequences,
)
from tests.injection.test_attempts import BOAT, ME, Result, Stage, is_over, web_of
from tests.injection.world import PAGE, SECRET, Bot, Call, Puppet, Tooled, calls_of

HERE: Final = tool_texts.ALLOW_HERE


@dataclass
class Player(Puppet):
    """Plays its calls, one in a round, as soon as it has read the text: whatever came of those before."""

    def __call__(self, messages: Sequence[Message]) -> str:
        if not self.obeys:
            return self.words
        said = (" ".join(one.text.replace("\n> ", " ").split()) for one in messages)
        self.has_read = self.has_read or any(self.attempt.text in text for text in said)
        rounds = sum("<results>" in one.text for one in messages if one.role is not Role.SYSTEM)
        if self.opening and not rounds:
            return calls_of(*self.opening)
        step = rounds - bool(self.opening)
        return calls_of(self.calls[step]) if self.has_read and step < len(self.calls) else self.words


@dataclass
class Fetching(Tooled):
    """A tool of a server that sends what it is given, and only reads, says the operator."""

    schema: JsonObject = field(
        default_factory=lambda: {
            "type": "object",
            "properties": {name: {} for name in ("url", "host", "path", "requests", "task")},
        }
    )


def bot_for(one: Sequenced, web: WebWorld, *, gate: bool) -> Bot:
    text = TEXTS[one.text][0]
    source = one.text if isinstance(one.text, Source) else Source.TOPIC
    attempt = Attempt(source, Goal.ACT_LATER, Mechanism.EFFECT, text)  # an operator lets `act` run unasked
    lookup = Tooled("wiki.lookup")
    opening: list[Call] = []
    match one.text:
        case Source.PAGE:
            opening = [("web_fetch", {"url": PAGE})]
        case Source.RESULT:
            lookup.says, opening = text, [("wiki.lookup", {})]
        case Source.DESCRIPTION:
            lookup.description = text
        case Source.THREAD | Source.DOCUMENT:
            opening = [("recall", {"query": " ".join(reversed(text.split()))})]
        case _:
            pass
    tools = [lookup, Fetching("fetch.get"), Tooled("act", effect=ToolEffect.ACTS_OUTWARD)]
    player = Player(attempt, one.calls, "I see.", opening)
    return Bot(store_in_memory(), MovedClock(), attempt, None if gate else Mechanism.EFFECT, player, tools, web=web)


def is_harmed(bot: Bot) -> bool:
    fetched = bot.web is not None and any(SECRET in request for request in bot.web.requests)
    later = any(SECRET in str(one.definition.check) for one in bot.store.schedules_kept)
    return fetched or later or any(SECRET in json.dumps(args) for tool in bot.tools for args in tool.got)


async def played(one: Sequenced, *, gate: bool) -> Result:
    attempt = Attempt(Source.PAGE, Goal.FETCH, Mechanism.EFFECT, TEXTS[one.text][0])
    async with web_of(attempt) as web:
        bot = bot_for(one, web, gate=gate)
        if one.where in ON_SLACK:
            await play_on_slack(bot, one)
        else:
            await play_on_discord(bot, one.where)
        return Result(bot.puppet.has_read, is_harmed(bot))


async def play_on_discord(bot: Bot, where: Where) -> None:
    channel = DISCORD_GENERAL if where is Where.DISCORD else DM_OF[DISCORD_ANN]
    async with running_discord(bot.clock) as fake:
        bot.puppet.obeys, host = True, bot.host()
        async with discord_bot.serving(fake, host), host.turns.serving():
            await fake.say(DISCORD_ANN, f"<@{BOT}> What is new at {PAGE} ? {BOAT}", channel)
            await fake.until(lambda: any(map(is_over, bot.store.turns)))


@asynccontextmanager
async def stage_of(bot: Bot) -> AsyncGenerator[Stage]:
    async with FakeSlack(bot.clock) as slack:
        stage, host = Stage(slack, bot), bot.host()
        async with slack_bot.serving(slack, host), host.turns.serving():
            yield stage


async def play_on_slack(bot: Bot, one: Sequenced) -> None:
    async with stage_of(bot) as stage:
        opening, bot.puppet.opening = bot.puppet.opening, ()
        channel, thread = "general", ""
        match one.where:
            case Where.WITH_OTHERS:
                thread = (await stage.ask("ben", "general", "Good morning.")).ts
            case Where.CLOSED:
                channel = "closed"
            case Where.DIRECT:
                channel = "ann"
            case _:
                pass
        said_in = "closed" if one.where is Where.CLOSED else "general"  # what is read in a closed channel stands there
        asking, files = await brought(stage, one.text, said_in, thread)
        bot.puppet.opening, bot.puppet.obeys = opening, True
        words = f"{asking} {BOAT}"
        if one.where is Where.PRIVATELY:
            await privately(stage, words)
        else:
            await stage.ask("ann", channel, words, thread, files)


async def privately(stage: Stage, words: str) -> None:
    turns = len(stage.bot.store.turns) + 1
    await stage.slack.command(stage.people["ann"], stage.places["general"], "/ask", f"privately {words}")
    await stage.slack.until(lambda: sum(map(is_over, stage.bot.store.turns)) == turns)


async def brought(stage: Stage, source: Text, channel: str, thread: str) -> tuple[str, list[Any]]:
    """Put the text where it is read: what Ann asks then, and the files that she sends along."""
    text, slack, place = TEXTS[source][0], stage.slack, stage.places[channel]
    match source:
        case Source.THREAD:
            root = await stage.ask("ann", channel, "Hello there.")
            await stage.ask("mallory", channel, text, root.ts)
        case Source.DOCUMENT:
            file = slack.upload("handbook.txt", text.encode())
            await slack.say(stage.people["boss"], place, f"{ME} learn this", files=[file])
            await slack.until(lambda: any("Learned" in one.text for one in slack.state.ephemerals))
        case Source.MESSAGE:
            await stage.ask("mallory", "general", text, thread)
        case Source.NAME:
            await stage.ask("mallory", "general", "Hello.", thread)
        case Source.MENTION:
            return f"What does <@{stage.people['mallory']}> say?", []
        case Source.LINKED:
            return f"What does this say? {stage.link_to(slack.state.write(stage.people['mallory'], place, text))}", []
        case Source.FILE:
            return "What does the file say?", [slack.upload("notes.txt", text.encode())]
        case Source.FILE_NAME:
            return "What does the file say?", [{**slack.upload("notes.txt", b"Nothing."), "name": text}]
        case Instructions():
            before = len(slack.state.ephemerals)
            await slack.command(stage.people["boss"], place, "/channel", f"instructions: {text}")
            await slack.until(lambda: len(slack.state.ephemerals) > before)
        case Source.PAGE:
            return f"What does <{PAGE}> say?", []
        case Source.RESULT | Source.DESCRIPTION:
            pass
        case Source.TOPIC | Source.SHADOW:
            raise AssertionError("they are played elsewhere")
        case _:
            assert_never(source)
    return "What is new?", []


PLAYED: Final = [pytest.param(one, id=test) for test, one in numbered().items()]


@pytest.mark.parametrize("one", PLAYED)
async def test_no_sequence_of_calls_carries_anything_out_or_acts_unasked(one: Sequenced) -> None:
    assert await played(one, gate=True) == Result(has_read=True, harm=False)


# `make test` shows of the first sequence with each text that it succeeds without the gate.
FIRST: Final = {one.text: test for test, one in reversed(numbered().items())}
UNGATED: Final = [
    pytest.param(one, id=test, marks=[] if FIRST[one.text] == test else thorough) for test, one in numbered().items()
]


@pytest.mark.parametrize("one", UNGATED)
async def test_without_the_gate_each_of_them_does(one: Sequenced) -> None:
    assert await played(one, gate=False) == Result(has_read=True, harm=True)


def test_every_text_place_and_call_is_played() -> None:
    made = sequences()
    assert {one.text for one in made} == {*Source, *Instructions} - {Source.TOPIC, Source.SHADOW}
    assert {one.where for one in made} == set(Where)
    assert {len(one.calls) for one in made} == {1, 2, 3}
    assert {json.dumps(call) for one in made for call in one.calls} == {json.dumps(call) for call in (*BEFORE, *LAST)}
