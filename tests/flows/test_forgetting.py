"""Forgetting, on each platform: what people see of it, and that nothing of what fell is found afterwards."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Generic
from zoneinfo import ZoneInfo

import pytest

from agent.providers.scripted import ScriptedProvider, Until
from bot.forgetting import texts as forgetting_texts
from bot.forgetting.retention import SWEEP_AFTER
from tests.fakes.hosts import ServedHost
from tests.flows.forgetting_bot import HeldForgetting, forgetting_host, found_by, held_host, holds, looks_up
from tests.flows.talks import hang
from tests.flows.worlds import WORLDS, AnyWorld, OpenWorld, Page, W, Who
from tests.patience import LOOK_S, PATIENCE_S

pytestmark = pytest.mark.parametrize("open_world", WORLDS)

AYE = "Aye."
FOUND = "I will forget"
FORGOTTEN = "Forgotten: "


@dataclass
class Talk(Generic[W]):
    folder: Path
    world: W
    host: ServedHost
    model: ScriptedProvider

    def said(self) -> set[Page]:
        """What everybody sees, and the asker's direct messages. Others may be deleted while one comes."""
        return {*self.world.answers(), *self.world.direct()}

    async def ask(self, text: str, below: Page | None = None, who: Who = Who.ASKER) -> Page:
        """Ask in the channel, and wait for the answer."""
        before = self.said()
        asked = await self.world.ask(text, below, who)
        await self.answered(before)
        return asked

    async def write(self, text: str) -> Page:
        """The same in the asker's direct messages."""
        before = self.said()
        asked = await self.world.write(text)
        await self.answered(before)
        return asked

    async def answered(self, before: set[Page]) -> None:
        await self.world.until(lambda: self.said() - before)
        await self.idle()

    async def idle(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.host.turns.idle()

    async def finds(self, thing: str, who: Who = Who.ASKER, *, direct: bool = False) -> bool:
        """Whether the model is given something with this in it when this person looks for the canoe."""
        before = len(self.model.requests)
        await (self.write("find canoe") if direct else self.ask("find canoe", who=who))
        return thing in found_by(self.model, before)

    async def forget(self, what: str, *, keep_replies: bool = False) -> Page:
        """The asker's `/forget`, and what they alone are shown then."""
        before = len(self.world.private())
        await self.world.forget(what, keep_replies=keep_replies)
        await self.world.until(lambda: self.world.private()[before].text)
        return self.world.private()[-1]

    async def press(self, question: Page, label: str, *, keep_replies: bool = False) -> str:
        """What stands in place of the question then."""
        before = question.text
        await self.world.agree(question, label, keep_replies=keep_replies)
        await self.world.until(lambda: question.text != before)
        return question.text

    async def gone(self, words: str) -> None:
        """Nobody waits for it to be erased, and soon it is."""
        async with asyncio.timeout(PATIENCE_S):
            while holds(self.folder, words):
                self.world.clock.leap(SWEEP_AFTER)
                await asyncio.sleep(LOOK_S)


@asynccontextmanager
async def talk_in(open_world: OpenWorld[W], folder: Path) -> AsyncGenerator[Talk[W]]:
    """A place where the bot is not connected yet."""
    model = ScriptedProvider(looks_up)
    async with open_world() as world, forgetting_host(folder, model, world.clock) as host:
        yield Talk(folder, world, host, model)


@asynccontextmanager
async def talking(open_world: OpenWorld[W], folder: Path) -> AsyncGenerator[Talk[W]]:
    async with talk_in(open_world, folder) as talk, talk.world.serving(talk.host):
        yield talk


# Much to look through


@asynccontextmanager
async def held_talk(open_world: OpenWorld[W], folder: Path) -> AsyncGenerator[tuple[Talk[W], HeldForgetting]]:
    model = ScriptedProvider(looks_up)
    async with (
        open_world() as world,
        held_host(folder, model, world.clock) as (host, held),
        world.serving(host),
    ):
        talk = Talk(folder, world, host, model)
        await talk.ask("my canoe is vermilion")
        yield talk, held


async def test_who_waits_sees_how_far_it_is_while_others_are_answered_and_then_the_question(
    open_world: AnyWorld, tmp_path: Path
) -> None:
    async with held_talk(open_world, tmp_path) as (talk, held):
        waiting = await talk.forget("about canoe")
        assert "7,000 messages found so far" in waiting.text
        assert waiting.buttons == ["Stop"]
        await talk.ask("hello", who=Who.OTHER)
        assert talk.world.private() == [waiting]
        held.go_on.set()
        await talk.world.until(lambda: "- my canoe is vermilion" in talk.world.private()[-1].text)
        question = talk.world.private()[-1]
        await talk.world.agree(question, "Forget")
        await talk.world.until(lambda: question.text.startswith(FORGOTTEN))
        assert not holds(tmp_path, "vermilion")


async def test_whoever_stops_the_search_keeps_everything(open_world: AnyWorld, tmp_path: Path) -> None:
    async with held_talk(open_world, tmp_path) as (talk, held):
        waiting = await talk.forget("about canoe")
        await talk.world.press(waiting, "Stop", Who.OTHER)
        assert (await talk.press(waiting, "Stop")).startswith(forgetting_texts.FORGET_STOPPED)
        assert not waiting.buttons
        held.go_on.set()
        await talk.ask("hello", who=Who.OTHER)
        assert not any(FOUND in page.text for page in talk.world.private())
        assert holds(tmp_path, "vermilion")


# Asked for


async def test_what_speaks_of_something_is_shown_and_goes_when_its_person_agrees(
    open_world: AnyWorld, tmp_path: Path
) -> None:
    async with talking(open_world, tmp_path) as talk:
        await talk.ask("my canoe is vermilion")
        await talk.ask("note The canoe is called Ondine")
        await talk.ask("my kayak is turquoise")
        await talk.ask("my canoe is ochre", who=Who.OTHER)
        question = await talk.forget("about canoe")
        assert "“canoe”" in question.text
        assert "- my canoe is vermilion" in question.text
        assert not any(words in question.text for words in ("turquoise", "ochre"))
        assert holds(tmp_path, "vermilion"), "nothing is erased before somebody agrees"
        receipt = await talk.press(question, "Forget")
        assert receipt.startswith(FORGOTTEN)
        assert "A search confirmed that these texts are no longer where they were stored" in receipt
        assert not question.buttons
        assert not await talk.finds("vermilion")
        assert not any(holds(tmp_path, words) for words in ("vermilion", "Ondine"))
        assert all(holds(tmp_path, words) for words in ("turquoise", "ochre"))
        assert await talk.finds("ochre", Who.OTHER)


async def test_what_was_said_in_a_time_goes_and_what_was_said_before_stays(
    open_world: AnyWorld, tmp_path: Path
) -> None:
    async with talking(open_world, tmp_path) as talk:
        await talk.ask("my canoe is turquoise")
        talk.world.clock.leap(timedelta(hours=3))
        await talk.ask("my canoe is vermilion")
        hour = talk.world.clock.now().astimezone(ZoneInfo(talk.world.zone)).hour
        question = await talk.forget("2 hours")
        began, ended = f"Monday 2026-01-05 {hour - 2}:0", f"Monday 2026-01-05 {hour}:0"
        assert re.search(rf"from {began}\d to {ended}\d \({talk.world.zone}\)", question.text), "as their clock shows"
        assert "- my canoe is vermilion" in question.text
        assert (await talk.press(question, "Forget")).startswith(FORGOTTEN)
        assert not await talk.finds("vermilion")
        assert await talk.finds("turquoise")


async def test_who_keeps_it_keeps_it_and_a_button_is_the_askers_alone(open_world: AnyWorld, tmp_path: Path) -> None:
    async with talking(open_world, tmp_path) as talk:
        await talk.ask("my canoe is vermilion")
        question = await talk.forget("about canoe")
        await talk.world.press(question, "Forget", Who.OTHER)
        assert (await talk.press(question, "Keep everything")).startswith(forgetting_texts.FORGET_DECLINED)
        assert not question.buttons
        assert await talk.finds("vermilion")


async def test_what_came_to_it_since_the_question_is_asked_about_again(open_world: AnyWorld, tmp_path: Path) -> None:
    async with talking(open_world, tmp_path) as talk:
        await talk.ask("my canoe is vermilion")
        question = await talk.forget("about canoe")
        await talk.ask("my other canoe is ochre")
        again = await talk.press(question, "Forget")
        assert again.startswith(forgetting_texts.FORGET_CHANGED)
        assert "- my other canoe is ochre" in again
        assert await talk.finds("vermilion")


@pytest.mark.parametrize("keeps", [True, False])
async def test_the_bots_replies_go_unless_their_person_keeps_them(
    open_world: AnyWorld, tmp_path: Path, keeps: bool
) -> None:
    async with talking(open_world, tmp_path) as talk:
        first = await talk.ask("my canoe is vermilion")
        other = await talk.ask("my kayak is turquoise")

        def replies(question: Page) -> list[str]:
            return [page.text for page in talk.world.answers(question)]

        assert replies(first) == [AYE]
        question = await talk.forget("about canoe", keep_replies=keeps)
        receipt = await talk.press(question, "Forget", keep_replies=keeps)
        assert ("I am also deleting 1 message of mine" in receipt) is not keeps
        assert ("1 message of mine stays visible to you, as you chose." in receipt) is keeps
        if not keeps:
            await talk.world.until(lambda: not replies(first))
        assert replies(first) == ([AYE] if keeps else [])
        assert replies(other) == [AYE]


async def test_an_answer_to_a_command_goes_too_if_all_see_it(open_world: AnyWorld, tmp_path: Path) -> None:
    async with talking(open_world, tmp_path) as talk:
        await talk.world.command("ask", "my canoe is vermilion")
        await talk.world.until(lambda: AYE in [page.text for page in talk.world.answers()])
        await talk.idle()
        receipt = await talk.press(await talk.forget("about canoe"), "Forget")
        assert "I am also deleting" in receipt
        await talk.world.until(lambda: not talk.world.answers())


async def test_an_answer_to_a_command_that_its_asker_alone_sees_is_not_claimed_to_go(
    open_world: AnyWorld, tmp_path: Path
) -> None:
    async with talking(open_world, tmp_path) as talk:
        await talk.world.ask_privately("my canoe is vermilion")
        await talk.world.until(lambda: any(page.text.startswith(AYE) for page in talk.world.private()))
        await talk.idle()
        assert not talk.said()
        receipt = await talk.press(await talk.forget("about canoe"), "Forget")
        assert "deleting" not in receipt
        assert "1 message of mine that only you see stays until you dismiss it." in receipt


# Deleted and edited on the platform


async def test_a_message_that_is_deleted_there_is_forgotten_with_what_came_of_it(
    open_world: AnyWorld, tmp_path: Path
) -> None:
    async with talking(open_world, tmp_path) as talk:
        asked = await talk.ask("note The canoe is vermilion")
        assert await talk.finds("vermilion")
        await talk.world.delete(asked)
        await talk.gone("vermilion")
        assert not await talk.finds("vermilion")


async def test_what_is_remembered_follows_an_edit_there(open_world: AnyWorld, tmp_path: Path) -> None:
    async with talking(open_world, tmp_path) as talk:
        asked = await talk.ask("note The canoe is vermilion")
        (reply,) = talk.world.answers(asked)
        await talk.world.until(lambda: "Remembered: The canoe is vermilion" in reply.whole)
        await talk.world.edit(asked, "note The canoe is ochre")
        await talk.gone("vermilion")
        await talk.world.until(lambda: "Undone. I no longer remember this." in reply.whole)
        assert "vermilion" not in reply.whole
        assert "Undo" not in reply.buttons
        assert "Regenerate" in reply.buttons
        assert not await talk.finds("vermilion")
        assert await talk.finds("ochre")


async def test_an_edit_made_while_the_bot_was_away_is_followed_where_its_channel_is_read_again(
    open_world: AnyWorld, tmp_path: Path
) -> None:
    async with talk_in(open_world, tmp_path) as talk:
        async with talk.world.serving(talk.host):
            asked = await talk.ask("note The canoe is vermilion")
        talk.world.clock.leap(timedelta(hours=1))
        async with talk.world.serving(talk.host):
            await talk.ask("my kayak is turquoise", who=Who.OTHER)
        talk.world.clock.leap(timedelta(hours=1))
        await talk.world.edit_unheard(asked, "note The canoe is ochre")
        async with talk.world.serving(talk.host):
            await talk.gone("vermilion")
            assert not await talk.finds("vermilion")
            assert await talk.finds("ochre")


async def test_with_a_deleted_channel_goes_what_was_said_in_it_and_in_its_threads(
    open_world: AnyWorld, tmp_path: Path
) -> None:
    async with talking(open_world, tmp_path) as talk:
        asked = await talk.ask("note The canoe is vermilion")
        await talk.ask("my canoe is ochre", asked, Who.OTHER)
        await talk.write("my canoe is turquoise")
        assert await talk.finds("vermilion", direct=True)
        await talk.world.delete_channel()
        await talk.gone("vermilion")
        await talk.gone("ochre")
        assert not await talk.finds("vermilion", direct=True)
        assert await talk.finds("turquoise", direct=True)


# Titles of conversations


async def test_a_title_made_of_what_is_forgotten_becomes_a_plain_one(open_world: AnyWorld, tmp_path: Path) -> None:
    async with talking(open_world, tmp_path) as talk:
        mine = talk.world.titled(await talk.ask("my canoe is vermilion"))
        theirs = talk.world.titled(await talk.ask("my kayak is turquoise", who=Who.OTHER))
        await talk.press(await talk.forget("everything"), "Forget")
        await talk.world.until(lambda: mine() == "Forgotten")
        assert theirs() == "my kayak is turquoise"


async def test_the_title_goes_with_a_question_that_is_deleted_there(open_world: AnyWorld, tmp_path: Path) -> None:
    async with talking(open_world, tmp_path) as talk:
        asked = await talk.ask("my canoe is vermilion")
        title = talk.world.titled(asked)
        await talk.world.delete(asked)
        await talk.world.until(lambda: title() == "Forgotten")


# Answers that still grow


async def test_the_beginning_of_an_answer_and_its_mark_go_with_the_question(
    open_world: AnyWorld, tmp_path: Path
) -> None:
    async with open_world() as world:
        world.marks = True
        model = ScriptedProvider([["Your canoe is ", Until(hang)]])
        async with forgetting_host(tmp_path, model, world.clock) as host, world.serving(host):
            talk = Talk(tmp_path, world, host, model)
            asked = await world.ask("which colour is my canoe?")
            await world.until(lambda: any("Your canoe" in page.text for page in talk.said()) and world.marked(asked))
            await talk.press(await talk.forget("about canoe"), "Forget")
            await world.until(lambda: not (talk.said() or world.marked(asked)))
