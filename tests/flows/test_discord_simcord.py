"""The Discord adapter against simcord, a simulation of Discord that others wrote: its server rules are not ours."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import simcord

from agent.providers.scripted import ScriptedProvider
from agent.shown_replies import ReplyVerdict
from bot.chat.watermark import Watermark
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.client import DiscordClient
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.options import DiscordOptions
from bot.platforms.discord.places import SOURCE
from bot.platforms.discord.run import clear
from bot.platforms.discord.surface import DiscordSurface
from bot.settings.secret import Secret
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.discord_world import seen
from tests.patience import PATIENCE_S

TOWN = 4_242  # The server's id, which the settings name
# When the bot comes into the simulation, which then has a time of its own.
BEFORE = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


@dataclass
class SimulatedTime:
    """The simulation's time of day; pauses last as long as outside."""

    env: Any = None

    def now(self) -> datetime:
        return BEFORE if self.env is None else self.env.now()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass
class Town:
    host: AnsweringHost
    bot: Any
    channel: Any
    alice: Any

    async def answered(self, messages: int = 1) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.host.turns.idle()
        assert len(self.host.taken) == messages


@asynccontextmanager
async def town() -> AsyncGenerator[Town, None]:
    clock = SimulatedTime()
    host = answering_host(
        ScriptedProvider(lambda messages: f"You said: {messages[-1].text.removeprefix('alice: ')}"), clock
    )
    connection = Connection(clock, edit_interval_s=0.05)
    host.platforms.register_surface(SOURCE, lambda incoming: DiscordSurface(connection, incoming))
    host.platforms.register_deletion(SOURCE, partial(clear, connection))
    listening = Watermark(host, SOURCE, clock)
    bot = DiscordClient(
        host, DiscordOptions(Secret("simulated"), servers=frozenset({str(TOWN)})), connection, listening
    )
    async with simcord.run(bot) as env:
        clock.env = env
        guild = env.create_guild(id=TOWN)
        channel = guild.create_text_channel("general")
        alice = guild.add_member(env.create_user("alice"))
        async with host.answering():
            yield Town(host, bot, channel, alice)
        await connection.close()


def text_of(shown: Any) -> str:
    """What a private answer says."""
    return seen({"content": shown.response.content, "components": shown.response.components})


async def test_a_mention_is_answered_in_its_thread() -> None:
    async with town() as there:
        asked = await there.alice.send(there.channel, f"<@{there.bot.user.id}> hello")
        await there.answered()
        thread = there.bot.guilds[0].get_thread(asked.id)
        assert thread is not None
        assert [message.content async for message in thread.history()] == ["You said: hello"]


async def test_ask_is_answered_in_place_and_in_private() -> None:
    async with town() as there:
        public = await there.alice.slash(there.channel, "ask", question="hello")
        await there.answered()
        private = await there.alice.slash(there.channel, "ask", question="hello", private=True)
        await there.answered(2)
        assert (public.response.content, public.ephemeral) == ("You said: hello", False)
        assert (private.response.content, private.ephemeral) == ("You said: hello", True)


async def test_a_direct_message_is_answered() -> None:
    async with town() as there:
        sent = await there.alice.send_dm("hello")
        await there.answered()
        assert "You said: hello" in [message.content async for message in sent.channel.history()]


async def test_forgetting_asks_first() -> None:
    async with town() as there:
        await there.alice.send_dm("hello")
        await there.answered()
        question = await there.alice.slash(there.channel, "forget", what="everything")
        assert question.ephemeral
        await there.alice.click(question.response, label="Forget")
        assert text_of(question).startswith("Forgotten:")
        assert there.host.store.messages == []


async def test_memory_is_shown_to_the_caller_alone() -> None:
    async with town() as there:
        shown = await there.alice.slash(there.channel, "memory")
        assert shown.ephemeral
        assert text_of(shown).startswith("I do not remember anything about you yet.")


async def test_what_can_be_done_about_a_reply_stands_below_it() -> None:
    async with town() as there:
        asked = await there.alice.send(there.channel, f"<@{there.bot.user.id}> hello")
        await there.answered()
        thread = there.bot.guilds[0].get_thread(asked.id)
        (first,) = [message async for message in thread.history()]
        turn = there.host.store.turns[0].id
        thanked = await there.alice.click(first, custom_id=f"good:{turn}")
        assert (thanked.ephemeral, text_of(thanked)) == (True, platforms_texts.NOTED)
        await there.alice.click(first, label="Regenerate")
        await there.answered(2)
        assert [message.content async for message in thread.history()] == ["You said: hello", "You said: hello"]
        await there.alice.click(first, label="Delete")
        assert len([message async for message in thread.history()]) == 1


async def test_thumbs_and_waste_baskets_are_taken_as_words() -> None:
    async with town() as there:
        await there.alice.slash(there.channel, "ask", question="hello")
        await there.answered()
        (reply,) = [message async for message in there.bot.get_channel(there.channel.id).history()]
        await there.alice.react(reply, "👎")
        assert [*there.host.store.verdicts.values()] == [ReplyVerdict.BAD]
        await there.alice.unreact(reply, "👎")
        assert there.host.store.verdicts == {}
        await there.alice.react(reply, "🗑️")
        assert [message async for message in there.bot.get_channel(there.channel.id).history()] == []


async def test_a_message_is_asked_about_and_forgotten_from_its_menu() -> None:
    async with town() as there:
        said = await there.alice.send(there.channel, "The ferry leaves at nine.")
        window = await there.alice.context_menu(there.channel, platforms_texts.ASK_ABOUT_THIS, said)
        (field,) = window.modal["components"][0]["components"]
        answer = await there.alice.submit_modal(window, {field["custom_id"]: "when?"})
        await there.answered()
        assert answer.response.content == "You said: when?"
        assert [one.text for one in there.host.taken[0].quoted] == ["The ferry leaves at nine."]
        asked = await there.alice.context_menu(there.channel, platforms_texts.FORGET_THIS, said)
        await there.alice.click(asked.response, label="Forget")
        assert (asked.ephemeral, text_of(asked)) == (True, platforms_texts.MESSAGE_FORGOTTEN)


async def test_the_settings_are_chosen_in_a_panel() -> None:
    async with town() as there:
        panel = await there.alice.slash(there.channel, "settings")
        assert panel.ephemeral
        await there.alice.click(panel.response, label="Show only to me")
        assert "only you see them" in text_of(panel)
        asked = await there.alice.slash(there.channel, "ask", question="hello")
        await there.answered()
        assert asked.ephemeral


async def test_each_command_is_offered_and_answers() -> None:
    async with town() as there:
        offered = there.alice.available_commands(there.channel)
        assert {"ask", "forget", "memory", "usage", "budget", "policy", "model", "stop", "settings", "help"} <= {
            *offered
        }
        for name in ("usage", "budget", "policy", "model", "stop", "help", "memory"):
            shown = await there.alice.slash(there.channel, name)
            assert shown.ephemeral
            assert text_of(shown)
