"""Where a question on Discord is answered, and what goes on there: real discord.py and real turns."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.providers.scripted import Part, ScriptedProvider, ScriptPause
from bot.chat.host import Host
from bot.platforms.discord.settings import DiscordSettings, ReplyMode
from tests.fakes.discord_bot import by_the_bot, serving
from tests.fakes.discord_gateway import PATIENCE_S, FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, DM_OF, GENERAL, GUILD, VOICE, Payload
from tests.fakes.fast_clock import MovedClock
from tests.flows.bot import live_host

ME = f"<@{BOT}>"
FORUM, NEWS, STAGE = "50", "51", "52"
CREATE_THREADS, SEND, SEND_IN_THREADS = 1 << 35, 1 << 11, 1 << 38


@dataclass
class Talk:
    clock: MovedClock
    fake: FakeDiscord
    host: Host
    model: ScriptedProvider

    async def answered(self, count: int = 1) -> list[Payload]:
        """The replies, once there are so many."""
        await self.fake.until(lambda: len(by_the_bot(self.fake)) >= count)
        async with asyncio.timeout(PATIENCE_S):
            await self.host.turns.idle()
        return by_the_bot(self.fake)

    def told(self) -> str:
        """What the model was told last."""
        return "\n".join(message.text for message in self.model.requests[-1])


@asynccontextmanager
async def talking(folder: Path, answer: Sequence[Part] = ("Noted.",), **settings: object) -> AsyncGenerator[Talk, None]:
    clock = MovedClock(speed=1.0)
    model = ScriptedProvider(lambda _: answer)
    async with (
        running_discord(clock) as fake,
        live_host(folder, model, clock) as host,
        serving(fake, host, **settings),
    ):
        yield Talk(clock, fake, host, model)


async def test_in_a_chain_a_reply_to_the_bot_goes_on_without_a_mention(tmp_path: Path) -> None:
    async with talking(tmp_path, chosen=DiscordSettings(replies=ReplyMode.CHAIN)) as talk:
        asked = await talk.fake.say(ANN, f"{ME} the boat is vermilion")
        (first,) = await talk.answered()
        assert (first["channel_id"], first["message_reference"]["message_id"]) == (GENERAL, asked["id"])
        again = await talk.fake.reply(ANN, "and its sails?", first)
        _, second = await talk.answered(2)
        assert second["message_reference"]["message_id"] == again["id"]
        assert "the boat is vermilion" in talk.told()


async def test_in_a_chain_a_mention_that_replies_to_nothing_begins_anew(tmp_path: Path) -> None:
    async with talking(tmp_path, chosen=DiscordSettings(replies=ReplyMode.CHAIN)) as talk:
        await talk.fake.say(ANN, f"{ME} the boat is vermilion")
        await talk.answered()
        await talk.fake.say(ANN, f"{ME} and its sails?")
        await talk.answered(2)
        assert "vermilion" not in talk.told()


async def test_in_a_chain_others_are_answered_when_they_mention_the_bot(tmp_path: Path) -> None:
    async with talking(tmp_path, chosen=DiscordSettings(replies=ReplyMode.CHAIN)) as talk:
        await talk.fake.say(ANN, f"{ME} the boat is vermilion")
        (first,) = await talk.answered()
        await talk.fake.reply(BO, "no, it is blue", first)
        await talk.fake.reply(BO, f"{ME} which is it?", first)
        await talk.answered(2)
        assert "the boat is vermilion" in talk.told()
        assert "no, it is blue" in talk.told()


async def test_in_a_chain_a_reply_to_the_answer_of_a_command_goes_on_with_it(tmp_path: Path) -> None:
    async with talking(tmp_path, chosen=DiscordSettings(replies=ReplyMode.CHAIN)) as talk:
        await talk.fake.command(ANN, "ask", question="the boat is vermilion")
        (first,) = await talk.answered()
        await talk.fake.reply(ANN, "and its sails?", first)
        await talk.answered(2)
        assert "the boat is vermilion" in talk.told()


async def test_what_managers_chose_for_a_channel_or_its_server_goes_before_the_setting(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.host.preferences.set(f"team:{GUILD}", "replies", "place")
        asked = await talk.fake.say(ANN, f"{ME} hello")
        (first,) = await talk.answered()
        assert first["message_reference"]["message_id"] == asked["id"]
        await talk.host.preferences.set(f"channel:{GENERAL}", "replies", "thread")
        asked = await talk.fake.say(ANN, f"{ME} hello")
        *_, second = await talk.answered(2)
        assert second["channel_id"] == asked["id"]


async def test_a_direct_message_goes_on_until_a_long_silence(tmp_path: Path) -> None:
    async with talking(tmp_path, chosen=DiscordSettings(dm_idle_minutes=30)) as talk:
        await talk.fake.write(ANN, "the boat is vermilion")
        await talk.answered()
        talk.clock.ahead_s += 29 * 60
        await talk.fake.write(ANN, "and its sails?")
        await talk.answered(2)
        assert "vermilion" in talk.told()
        talk.clock.ahead_s += 31 * 60
        await talk.fake.write(ANN, "good morning")
        await talk.answered(3)
        assert "vermilion" not in talk.told()
        await talk.fake.command(ANN, "ask", DM_OF[ANN], question="and then?")
        await talk.answered(4)
        assert "good morning" in talk.told()


async def test_a_post_in_a_forum_that_mentions_the_bot_is_answered_in_the_post(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        forum = talk.fake.world.open_channel(FORUM, "questions", 15)
        await talk.fake.dispatch("CHANNEL_CREATE", forum)
        post = await talk.fake.post_in_forum(ANN, "The vermilion boat", f"{ME} how old is it?", FORUM)
        (first,) = await talk.answered()
        assert first["channel_id"] == post["channel_id"]
        assert "The vermilion boat" in talk.told()
        await talk.fake.say(ANN, "and its sails?", post["channel_id"])
        await talk.answered(2)
        assert "how old is it?" in talk.told()


@pytest.mark.parametrize(("kind", "number"), [(2, VOICE), (13, STAGE)])
async def test_in_the_text_of_voice_channels_and_stages_it_answers_in_place(
    kind: int, number: str, tmp_path: Path
) -> None:
    async with talking(tmp_path) as talk:
        if number not in talk.fake.world.channels:
            stage = talk.fake.world.open_channel(number, "there", kind) | {"bitrate": 64_000, "user_limit": 0}
            await talk.fake.dispatch("CHANNEL_CREATE", stage)
        asked = await talk.fake.say(ANN, f"{ME} hello", number)
        (first,) = await talk.answered()
        assert (first["channel_id"], first["message_reference"]["message_id"]) == (number, asked["id"])


async def test_announcements_are_answered_in_threads(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.fake.dispatch("CHANNEL_CREATE", talk.fake.world.open_channel(NEWS, "news", 5))
        asked = await talk.fake.say(ANN, f"{ME} hello", NEWS)
        (first,) = await talk.answered()
        assert first["channel_id"] == asked["id"]


async def test_an_archived_thread_is_brought_back_by_the_answer(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        thread = talk.fake.world.start_thread(GENERAL, "7001", "the boat")
        thread["thread_metadata"]["archived"] = True
        await talk.fake.say(ANN, f"{ME} hello", "7001")
        (first,) = await talk.answered()
        assert first["channel_id"] == "7001"
        assert not thread["thread_metadata"]["archived"]


async def refused(talk: Talk) -> str:
    """What the asker is told in their direct messages."""
    await talk.fake.until(lambda: talk.fake.world.shown(DM_OF[ANN]))
    assert talk.model.requests == []
    return talk.fake.world.shown(DM_OF[ANN])[0]


async def test_in_a_locked_thread_the_asker_alone_is_told_why_there_is_no_answer(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        talk.fake.world.everyone_may = "0"
        await talk.fake.dispatch("GUILD_UPDATE", talk.fake.world.guild())
        thread = talk.fake.world.start_thread(GENERAL, "7001", "the boat")
        thread["thread_metadata"]["locked"] = True
        await talk.fake.dispatch("THREAD_CREATE", {**thread, "newly_created": True})
        await talk.fake.say(ANN, f"{ME} hello", "7001")
        assert await refused(talk) == "I cannot answer in the thread “the boat” because it is locked."


async def deny(talk: Talk, bits: int) -> None:
    """In the general channel the bot may no longer do that."""
    channel = talk.fake.world.channels[GENERAL]
    channel["permission_overwrites"].append({"id": BOT, "type": 1, "allow": "0", "deny": str(bits)})
    await talk.fake.dispatch("CHANNEL_UPDATE", channel)


async def test_where_it_may_not_write_the_asker_alone_is_told_what_is_missing(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await deny(talk, SEND | SEND_IN_THREADS)
        await talk.fake.say(ANN, f"{ME} hello")
        assert await refused(talk) == (
            "I cannot answer in #general because my role lacks Send Messages there. Someone with the Manage Roles "
            "permission can change that."
        )
        await talk.fake.say(ANN, f"{ME} hello?")
        await talk.fake.write(ANN, "hello")
        await talk.answered(2)
        assert len(talk.fake.world.shown(DM_OF[ANN])) == 2, "they are told once in a while"


@pytest.mark.parametrize("missing", [CREATE_THREADS, SEND_IN_THREADS])
async def test_where_it_may_not_use_threads_it_answers_in_the_channel(missing: int, tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await deny(talk, missing)
        asked = await talk.fake.say(ANN, f"{ME} hello")
        (first,) = await talk.answered()
        assert (first["channel_id"], first["message_reference"]["message_id"]) == (GENERAL, asked["id"])


async def test_a_thread_that_is_archived_while_an_answer_grows_is_brought_back_by_the_next_page(tmp_path: Path) -> None:
    async with talking(tmp_path, ["Blue ", ScriptPause(0.6), "boat, ", ScriptPause(0.6), "red sail."]) as talk:
        asked = await talk.fake.say(ANN, f"{ME} hello")
        await talk.fake.until(lambda: talk.fake.world.shown(asked["id"]))
        state = talk.fake.world.channels[asked["id"]]["thread_metadata"]
        state["archived"] = True
        _, last = await talk.answered(2)
        assert last["content"].endswith("red sail.")
        assert not state["archived"]
