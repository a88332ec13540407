"""Forgetting as only Discord has it; what is the same on each platform is in `test_forgetting`."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from agent.providers.scripted import ScriptedProvider, Until
from bot.platforms import texts as platforms_texts
from tests.fakes.discord_world import BO, DM_OF, GENERAL, GUILD, Payload
from tests.flows import talks
from tests.flows.forgetting_bot import forgetting_host, holds
from tests.flows.test_forgetting import AYE, Talk, talking
from tests.flows.worlds import DiscordWorld, Page, Who, on_discord


def thread_of(talk: Talk[DiscordWorld], question: Page) -> Payload:
    return talk.world.fake.world.channels[question.id]


async def test_where_no_time_zone_is_told_the_question_says_which_moment_is_meant(tmp_path: Path) -> None:
    async with talking(on_discord, tmp_path) as talk:
        talk.world.clock.leap(timedelta(days=2))
        await talk.ask("my canoe is vermilion")
        question = await talk.forget("since Monday")
        assert "from Monday 2026-01-05 00:00 to Wednesday 2026-01-07 12:0" in question.text
        assert "(UTC)" in question.text


async def test_messages_deleted_in_bulk_are_forgotten_and_the_others_are_not(tmp_path: Path) -> None:
    async with talking(on_discord, tmp_path) as talk:
        asked = [await talk.ask(f"my canoe is {colour}") for colour in ("vermilion", "ochre", "turquoise")]
        ids = [question.id for question in asked[:2]]
        bulk = {"ids": ids, "channel_id": GENERAL, "guild_id": GUILD}
        await talk.world.fake.dispatch("MESSAGE_DELETE_BULK", bulk)
        await talk.gone("vermilion")
        await talk.gone("ochre")
        assert not await talk.finds("ochre")
        assert await talk.finds("turquoise")


# Places that go


async def test_with_a_deleted_thread_goes_what_was_said_in_it(tmp_path: Path) -> None:
    async with talking(on_discord, tmp_path) as talk:
        asked = await talk.ask("my canoe is vermilion")
        await talk.ask("my canoe is ochre", asked, Who.OTHER)
        await talk.ask("my canoe is turquoise")
        thread = talk.world.fake.world.channels.pop(asked.id)
        about = {key: thread[key] for key in ("id", "guild_id", "parent_id", "type")}
        await talk.world.fake.dispatch("THREAD_DELETE", about)
        await talk.gone("vermilion")
        await talk.gone("ochre")
        assert not await talk.finds("vermilion")
        assert await talk.finds("turquoise")


@pytest.mark.parametrize("back", [True, False])
async def test_what_was_said_in_a_server_goes_a_while_after_the_bot_unless_it_is_back(
    tmp_path: Path,
    back: bool,
) -> None:
    async with talking(on_discord, tmp_path) as talk:
        fake = talk.world.fake
        await talk.ask("my canoe is vermilion")
        await talk.write("my kayak is turquoise")
        assert fake.world.shown(DM_OF[BO]) == [AYE]
        await fake.dispatch("GUILD_DELETE", {"id": GUILD})
        await leaving_noted(talk)
        talk.world.clock.leap(talk.host.forgetting.grace - timedelta(days=1))
        if back:
            await fake.dispatch("GUILD_CREATE", {**fake.world.guild(), "unavailable": None})
            await talk.world.until(lambda: not holds(tmp_path, "forget_gone"))
        assert holds(tmp_path, "vermilion")
        talk.world.clock.leap(timedelta(days=2))
        if back:
            assert await talk.finds("vermilion")
        else:
            await talk.gone("vermilion")
            assert not await talk.finds("vermilion", direct=True)
        assert holds(tmp_path, "turquoise"), "what somebody wrote to the bot alone stays theirs"


def leaving_noted(talk: Talk[DiscordWorld]) -> Awaitable[None]:
    return talk.world.until(lambda: holds(talk.folder, "forget_gone"))


# Names of threads


async def test_a_thread_that_is_archived_stays_so_with_its_plain_name(tmp_path: Path) -> None:
    async with talking(on_discord, tmp_path) as talk:
        thread = thread_of(talk, await talk.ask("my canoe is vermilion"))
        assert "vermilion" in thread["name"]
        thread["thread_metadata"]["archived"] = True
        await talk.press(await talk.forget("everything"), "Forget")
        await talk.world.until(lambda: thread["name"] == "Forgotten")
        await talk.world.until(lambda: thread["thread_metadata"]["archived"])


async def test_a_thread_that_somebody_else_began_keeps_its_name(tmp_path: Path) -> None:
    async with talking(on_discord, tmp_path) as talk:
        theirs = thread_of(talk, await talk.ask("my canoe is vermilion"))
        other = thread_of(talk, await talk.ask("my kayak is turquoise"))
        theirs["owner_id"] = BO
        await talk.press(await talk.forget("everything"), "Forget")
        await talk.world.until(lambda: other["name"] == "Forgotten")
        assert "vermilion" in theirs["name"]


async def test_a_private_answer_has_no_thread_that_could_get_another_name(tmp_path: Path) -> None:
    async with talking(on_discord, tmp_path) as talk:
        await talk.world.ask_privately("find canoe")
        await talk.world.until(lambda: talk.world.private()[-1].text)
        thread = thread_of(talk, await talk.ask("my canoe is vermilion"))
        await talk.press(await talk.forget("everything"), "Forget")
        await talk.world.until(lambda: thread["name"] == "Forgotten")
        assert f"/channels/{BO}" not in [call.path for call in talk.world.fake.calls]


@pytest.mark.parametrize("private", [True, False])
async def test_a_command_whose_answer_is_forgotten_before_its_first_word_says_no_longer_that_it_is_thinking(
    private: bool,
) -> None:
    async with talks.talking(on_discord, lambda _: [Until(talks.hang)]) as talk:
        asked = await talk.world.fake.command(BO, "ask", question="which colour?", private=private)
        messages = talk.world.fake.world.messages
        await talk.world.until(lambda: talk.model.requests and asked.original in messages)
        await talk.world.forget("everything")
        await talk.world.until(lambda: any("Forget" in page.buttons for page in talk.world.private()))
        await talk.world.press(next(page for page in talk.world.private() if "Forget" in page.buttons), "Forget")
        await talk.world.until(lambda: asked.original not in messages)


# Commands that still wait for their answer


@asynccontextmanager
async def busy(folder: Path) -> AsyncGenerator[Talk[DiscordWorld]]:
    """A bot that is still busy with whatever it was asked first."""
    model = ScriptedProvider(lambda _: [Until(talks.hang)])
    async with (
        on_discord() as world,
        forgetting_host(folder, model, world.clock) as host,
        world.serving(host),
    ):
        yield Talk(folder, world, host, model)


@pytest.mark.parametrize("words", ["everything", "today", "about canoe"])
@pytest.mark.parametrize("private", [True, False])
async def test_commands_that_wait_behind_another_and_are_forgotten_say_no_longer_that_the_bot_is_thinking(
    tmp_path: Path, words: str, *, private: bool
) -> None:
    async with busy(tmp_path) as talk:
        fake, messages = talk.world.fake, talk.world.fake.world.messages
        asked = [
            await fake.command(BO, "ask", question=f"my canoe is {colour}", private=private)
            for colour in ("vermilion", "ochre", "turquoise")
        ]
        await talk.world.until(lambda: talk.model.requests and all(each.original in messages for each in asked))
        await talk.world.until(lambda: holds(tmp_path, "turquoise"))
        await talk.press(await talk.forget(words), "Forget")
        await talk.world.until(lambda: not any(each.original in messages for each in asked))


async def test_a_command_that_joins_the_answer_to_another_says_no_longer_that_the_bot_is_thinking(
    tmp_path: Path,
) -> None:
    later = asyncio.Event()
    model = ScriptedProvider(
        [
            ["<execute>", Until(later.wait), '[{"name": "recall", "args": {"query": "canoe"}}]\n</execute>'],
            "Both are ochre.",
        ]
    )
    async with (
        on_discord() as world,
        forgetting_host(tmp_path, model, world.clock, joins=True) as host,
        world.serving(host),
    ):
        messages = world.fake.world.messages
        first = await world.fake.command(BO, "ask", question="which colour is my canoe?", private=True)
        await world.until(lambda: model.requests)
        second = await world.fake.command(BO, "ask", question="and my kayak?", private=True)
        await world.until(lambda: holds(tmp_path, "kayak") and second.original in messages)
        later.set()
        await world.until(lambda: "Both are ochre." in messages[first.original]["content"])
        assert "kayak" in str(model.requests[1])
        await world.until(lambda: messages[second.original]["content"] == platforms_texts.ANSWERED_TOGETHER)
