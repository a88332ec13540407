"""Forgetting on Discord: what people see of it, and that nothing of what fell is found afterwards."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from agent.providers.scripted import ScriptedProvider
from bot.forgetting import texts as forgetting_texts
from bot.forgetting.retention import SWEEP_AFTER
from tests.fakes.discord_bot import by_the_bot, serving
from tests.fakes.discord_gateway import PATIENCE_S, FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, DM_OF, EPHEMERAL, GENERAL, GUILD, Payload, parts, seen
from tests.fakes.hosts import ServedHost
from tests.flows.forgetting_bot import (
    HeldForgetting,
    LeapingClock,
    forgetting_host,
    found_by,
    held_host,
    holds,
    looks_up,
)

ME = f"<@{BOT}>"
HARBOUR = "24"
LOOK_S = 0.02
NOTHING_YET: Payload = {"content": "", "components": []}


@dataclass
class Talk:
    folder: Path
    clock: LeapingClock
    fake: FakeDiscord
    host: ServedHost
    model: ScriptedProvider

    async def ask(self, person: str, text: str, channel: str = GENERAL) -> Payload:
        """Ask, and wait for the answer."""
        before = self._public()
        asked = await self.fake.say(person, f"{ME} {text}", channel)
        await self.fake.until(lambda: self._public() - before)
        async with asyncio.timeout(PATIENCE_S):
            await self.host.turns.idle()
        return asked

    async def finds(self, thing: str, person: str = ANN, channel: str = GENERAL) -> bool:
        """Whether the model is given something with this in it when the person looks for the canoe."""
        before = len(self.model.requests)
        await self.ask(person, "find canoe", channel)
        return thing in found_by(self.model, before)

    async def forget(self, what: str, channel: str = GENERAL, **options: object) -> Payload:
        """Ann's `/forget`, and the private answer to it."""
        called = await self.fake.command(ANN, "forget", channel, what=what, **options)
        await self.fake.until(lambda: seen(self.fake.world.messages.get(called.original, NOTHING_YET)))
        return self.fake.world.messages[called.original]

    async def press(self, question: Payload, label: str) -> str:
        """What stands in place of the question then."""
        before = seen(question)
        await self.fake.press(ANN, question, label)
        await self.fake.until(lambda: seen(question) != before)
        return seen(question)

    async def gone(self, words: str) -> None:
        """Nobody waits for it to be erased, and soon it is."""
        async with asyncio.timeout(PATIENCE_S):
            while holds(self.folder, words):
                self.clock.leap(SWEEP_AFTER)
                await asyncio.sleep(LOOK_S)

    def _public(self) -> set[str]:
        """The ids of the answers that stand. Others may be deleted while one comes."""
        return {message["id"] for message in by_the_bot(self.fake) if not message["flags"] & EPHEMERAL}


async def sooner_or_later(happened: Callable[[], object]) -> None:
    """For what the bot does by itself, without a word to Discord."""
    async with asyncio.timeout(PATIENCE_S):
        while not happened():  # noqa: ASYNC110 -- a database notifies nobody
            await asyncio.sleep(LOOK_S)


@asynccontextmanager
async def talking(folder: Path) -> AsyncGenerator[Talk, None]:
    clock, model = LeapingClock(speed=1.0), ScriptedProvider(looks_up)
    async with (
        running_discord(clock, window_s=1.0) as fake,
        forgetting_host(folder, model, clock) as host,
        serving(fake, host),
    ):
        yield Talk(folder, clock, fake, host, model)


# Much to look through


@asynccontextmanager
async def held_talk(folder: Path) -> AsyncGenerator[tuple[Talk, HeldForgetting]]:
    clock, model = LeapingClock(speed=1.0), ScriptedProvider(looks_up)
    async with (
        running_discord(clock, window_s=1.0) as fake,
        held_host(folder, model, clock) as (host, held),
        serving(fake, host),
    ):
        talk = Talk(folder, clock, fake, host, model)
        await talk.ask(ANN, "my canoe is vermilion")
        yield talk, held


async def test_who_waits_sees_how_far_it_is_while_others_are_answered_and_then_the_question(tmp_path: Path) -> None:
    async with held_talk(tmp_path) as (talk, held):
        shown = await talk.forget("about canoe")
        assert shown["flags"] & EPHEMERAL
        assert "7,000 messages found so far" in seen(shown)
        await talk.ask(BO, "hello")
        held.go_on.set()
        await talk.fake.until(lambda: "- my canoe is vermilion" in seen(shown))
        await talk.fake.press(ANN, shown, "Forget")
        await talk.fake.until(lambda: seen(shown).startswith("Forgotten: "))
        assert not holds(tmp_path, "vermilion")


async def test_whoever_stops_the_search_keeps_everything(tmp_path: Path) -> None:
    async with held_talk(tmp_path) as (talk, held):
        shown = await talk.forget("about canoe")
        await talk.fake.press(BO, shown, "Stop")
        assert await talk.press(shown, "Stop") == forgetting_texts.FORGET_STOPPED
        held.go_on.set()
        await talk.ask(BO, "hello")
        assert seen(shown) == forgetting_texts.FORGET_STOPPED
        assert not any(part["type"] == 2 for part in parts(shown))
        assert holds(tmp_path, "vermilion")


# Asked for


async def test_what_speaks_of_something_is_shown_and_goes_when_its_person_agrees(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask(ANN, "my canoe is vermilion")
        await talk.ask(ANN, "note The canoe is called Ondine")
        await talk.ask(ANN, "my kayak is turquoise")
        await talk.ask(BO, "my canoe is ochre")
        question = await talk.forget("about canoe")
        assert question["flags"] & EPHEMERAL
        assert "“canoe”" in seen(question)
        assert "- my canoe is vermilion" in seen(question)
        assert not any(words in seen(question) for words in ("turquoise", "ochre"))
        assert holds(tmp_path, "vermilion"), "nothing is erased before somebody agrees"
        receipt = await talk.press(question, "Forget")
        assert receipt.startswith("Forgotten: ")
        assert "A search afterwards found none of these texts where they were" in receipt
        assert not any(part["type"] == 2 for part in parts(question))
        assert not await talk.finds("vermilion")
        assert not any(holds(tmp_path, words) for words in ("vermilion", "Ondine"))
        assert holds(tmp_path, "turquoise")
        assert await talk.finds("ochre", BO)


async def test_what_was_said_in_a_time_goes_and_what_was_said_before_stays(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask(ANN, "my canoe is turquoise")
        talk.clock.leap(timedelta(hours=3))
        await talk.ask(ANN, "my canoe is vermilion")
        question = await talk.forget("2 hours")
        assert re.search(r"from Monday 2026-01-05 13:00 to Monday 2026-01-05 15:0\d \(UTC\)", seen(question))
        assert "- my canoe is vermilion" in seen(question)
        assert (await talk.press(question, "Forget")).startswith("Forgotten: ")
        assert not await talk.finds("vermilion")
        assert await talk.finds("turquoise")


async def test_where_no_time_zone_is_told_the_question_says_which_moment_is_meant(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        talk.clock.leap(timedelta(days=2))
        await talk.ask(ANN, "my canoe is vermilion")
        question = await talk.forget("since Monday")
        assert "from Monday 2026-01-05 00:00 to Wednesday 2026-01-07 12:0" in seen(question)
        assert "(UTC)" in seen(question)


async def test_who_keeps_it_keeps_it_and_a_button_is_the_askers_alone(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask(ANN, "my canoe is vermilion")
        question = await talk.forget("about canoe")
        await talk.fake.press(BO, question, "Forget")
        assert await talk.press(question, "Keep everything") == forgetting_texts.FORGET_DECLINED
        assert await talk.finds("vermilion")


async def test_what_came_to_it_since_the_question_is_asked_about_again(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask(ANN, "my canoe is vermilion")
        question = await talk.forget("about canoe")
        await talk.ask(ANN, "my other canoe is ochre")
        again = await talk.press(question, "Forget")
        assert again.startswith(forgetting_texts.FORGET_CHANGED)
        assert "- my other canoe is ochre" in again
        assert await talk.finds("vermilion")


@pytest.mark.parametrize("keeps", [True, False])
async def test_the_bots_replies_go_from_discord_unless_their_person_keeps_them(tmp_path: Path, keeps: bool) -> None:
    async with talking(tmp_path) as talk:
        first = await talk.ask(ANN, "my canoe is vermilion")
        other = await talk.ask(ANN, "my kayak is turquoise")
        assert talk.fake.world.shown(first["id"]) == ["Aye."]
        receipt = await talk.press(await talk.forget("about canoe", keep_replies=keeps), "Forget")
        assert ("I am also deleting 1 message of mine" in receipt) is not keeps
        assert ("1 message of mine stays where you see it, as you chose." in receipt) is keeps
        if not keeps:
            await talk.fake.until(lambda: not talk.fake.world.shown(first["id"]))
        assert talk.fake.world.shown(first["id"]) == (["Aye."] if keeps else [])
        assert talk.fake.world.shown(other["id"]) == ["Aye."]


async def test_an_answer_to_a_command_goes_too_if_all_see_it(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.fake.command(ANN, "ask", question="my canoe is vermilion", private=False)
        await talk.fake.until(lambda: talk.fake.world.shown(GENERAL) == ["Aye."])
        async with asyncio.timeout(PATIENCE_S):
            await talk.host.turns.idle()
        receipt = await talk.press(await talk.forget("about canoe"), "Forget")
        assert "I am also deleting 1 message of mine" in receipt
        await talk.fake.until(lambda: not talk.fake.world.shown(GENERAL))


async def test_an_answer_to_a_command_that_its_asker_alone_sees_is_not_claimed_to_go(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.fake.command(ANN, "ask", question="my canoe is vermilion", private=True)
        await talk.fake.until(lambda: any(seen(message) == "Aye." for message in by_the_bot(talk.fake)))
        async with asyncio.timeout(PATIENCE_S):
            await talk.host.turns.idle()
        receipt = await talk.press(await talk.forget("about canoe"), "Forget")
        assert "deleting" not in receipt
        assert "1 message of mine that only you see stays until you dismiss it." in receipt


# Deleted and edited in Discord


async def test_a_message_deleted_in_discord_is_forgotten_with_what_came_of_it(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        asked = await talk.ask(ANN, "note The canoe is vermilion")
        assert await talk.finds("vermilion")
        await talk.fake.take_back(asked)
        await talk.gone("vermilion")
        assert not await talk.finds("vermilion")


async def test_what_is_remembered_follows_an_edit_in_discord(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        asked = await talk.ask(ANN, "note The canoe is vermilion")
        await talk.fake.change(asked, f"{ME} note The canoe is ochre")
        await talk.gone("vermilion")
        assert not await talk.finds("vermilion")
        assert await talk.finds("ochre")


async def test_messages_deleted_in_bulk_are_forgotten_and_the_others_are_not(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        asked = [await talk.ask(ANN, f"my canoe is {colour}") for colour in ("vermilion", "ochre", "turquoise")]
        ids = [message["id"] for message in asked[:2]]
        await talk.fake.dispatch("MESSAGE_DELETE_BULK", {"ids": ids, "channel_id": GENERAL, "guild_id": GUILD})
        await talk.gone("vermilion")
        await talk.gone("ochre")
        assert not await talk.finds("ochre")
        assert await talk.finds("turquoise")


async def test_an_edit_made_while_the_bot_was_away_is_followed_where_its_channel_is_read_again(tmp_path: Path) -> None:
    clock, model = LeapingClock(speed=1.0), ScriptedProvider(looks_up)
    async with running_discord(clock, window_s=1.0) as fake, forgetting_host(tmp_path, model, clock) as host:
        talk = Talk(tmp_path, clock, fake, host, model)
        async with serving(fake, host):
            asked = await talk.ask(ANN, "note The canoe is vermilion")
        clock.leap(timedelta(hours=1))
        async with serving(fake, host):
            await talk.ask(BO, "my kayak is turquoise")
        clock.leap(timedelta(hours=1))
        fake.world.edit(asked, f"{ME} note The canoe is ochre")
        fake.world.message(GENERAL, BO, "good morning")
        async with serving(fake, host):
            await talk.gone("vermilion")
            assert not await talk.finds("vermilion")
            assert await talk.finds("ochre")


# Places that go


async def test_with_a_deleted_thread_goes_what_was_said_in_it(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        asked = await talk.ask(ANN, "my canoe is vermilion")
        await talk.ask(BO, "my canoe is ochre", asked["id"])
        await talk.ask(ANN, "my canoe is turquoise")
        thread = talk.fake.world.channels.pop(asked["id"])
        about = {key: thread[key] for key in ("id", "guild_id", "parent_id", "type")}
        await talk.fake.dispatch("THREAD_DELETE", about)
        await talk.gone("vermilion")
        await talk.gone("ochre")
        assert not await talk.finds("vermilion")
        assert await talk.finds("turquoise")


async def test_with_a_deleted_channel_goes_what_was_said_in_it_and_in_its_threads(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        channel = talk.fake.world.open_channel(HARBOUR, "harbour")
        await talk.fake.dispatch("CHANNEL_CREATE", channel)
        asked = await talk.ask(ANN, "note The canoe is vermilion", HARBOUR)
        await talk.ask(BO, "my canoe is ochre", asked["id"])
        await talk.ask(ANN, "my canoe is turquoise")
        assert await talk.finds("vermilion")
        del talk.fake.world.channels[HARBOUR]
        await talk.fake.dispatch("CHANNEL_DELETE", channel)
        await talk.gone("vermilion")
        await talk.gone("ochre")
        assert not await talk.finds("vermilion")
        assert await talk.finds("turquoise")


@pytest.mark.parametrize("back", [True, False])
async def test_what_was_said_in_a_server_goes_a_while_after_the_bot_unless_it_is_back(
    tmp_path: Path,
    back: bool,
) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask(ANN, "my canoe is vermilion")
        await talk.fake.write(ANN, "my kayak is turquoise")
        await sooner_or_later(lambda: talk.fake.world.shown(DM_OF[ANN]))
        await talk.fake.dispatch("GUILD_DELETE", {"id": GUILD})
        await leaving_noted(talk)
        talk.clock.leap(talk.host.forgetting.grace - timedelta(days=1))
        if back:
            await talk.fake.dispatch("GUILD_CREATE", {**talk.fake.world.guild(), "unavailable": None})
            await sooner_or_later(lambda: not holds(tmp_path, "forget_gone"))
        assert holds(tmp_path, "vermilion")
        talk.clock.leap(timedelta(days=2))
        if back:
            assert await talk.finds("vermilion")
        else:
            await talk.gone("vermilion")
            assert not await talk.finds("vermilion", ANN, DM_OF[ANN])
        assert holds(tmp_path, "turquoise"), "what somebody wrote to the bot alone stays theirs"


def leaving_noted(talk: Talk) -> Awaitable[None]:
    return sooner_or_later(lambda: holds(talk.folder, "forget_gone"))


# What Discord shows of it beside the messages


@pytest.mark.parametrize("archived", [False, True])
async def test_a_thread_that_was_named_after_what_is_forgotten_gets_a_plain_name(
    tmp_path: Path, archived: bool
) -> None:
    async with talking(tmp_path) as talk:
        asked = await talk.ask(ANN, "my canoe is vermilion")
        other = await talk.ask(BO, "my kayak is turquoise")
        thread = talk.fake.world.channels[asked["id"]]
        assert "vermilion" in thread["name"]
        thread["thread_metadata"]["archived"] = archived
        await talk.press(await talk.forget("everything"), "Forget")
        await sooner_or_later(lambda: thread["name"] == "Forgotten")
        await sooner_or_later(lambda: thread["thread_metadata"]["archived"] is archived)
        assert "turquoise" in talk.fake.world.channels[other["id"]]["name"]


async def test_a_thread_that_somebody_else_began_keeps_its_name(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        asked = await talk.ask(ANN, "my canoe is vermilion")
        other = await talk.ask(ANN, "my kayak is turquoise")
        talk.fake.world.channels[asked["id"]]["owner_id"] = BO
        await talk.press(await talk.forget("everything"), "Forget")
        await sooner_or_later(lambda: talk.fake.world.channels[other["id"]]["name"] == "Forgotten")
        assert "vermilion" in talk.fake.world.channels[asked["id"]]["name"]


async def test_a_private_answer_has_no_thread_that_could_get_another_name(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        alone = await talk.fake.command(ANN, "ask", GENERAL, question="find canoe", private=True)
        await talk.fake.until(lambda: seen(talk.fake.world.messages.get(alone.original, NOTHING_YET)))
        asked = await talk.ask(ANN, "my canoe is vermilion")
        await talk.press(await talk.forget("everything"), "Forget")
        await sooner_or_later(lambda: talk.fake.world.channels[asked["id"]]["name"] == "Forgotten")
        assert f"/channels/{ANN}" not in [call.path for call in talk.fake.calls]


async def test_the_name_goes_with_a_question_that_is_deleted_in_discord(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        asked = await talk.ask(ANN, "my canoe is vermilion")
        await talk.fake.take_back(asked)
        await sooner_or_later(lambda: talk.fake.world.channels[asked["id"]]["name"] == "Forgotten")
