"""Forgetting in Slack: what people see of it, and that nothing of what fell is found afterwards."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from agent.providers.scripted import ScriptedProvider
from bot.forgetting import texts as forgetting_texts
from bot.forgetting.retention import SWEEP_AFTER
from bot.platforms import texts as platforms_texts
from tests.fakes.hosts import ServedHost
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_agent import FakeSession
from tests.fakes.slack_bot import serving
from tests.fakes.slack_clicks import labels
from tests.fakes.slack_home import HomeTab
from tests.fakes.slack_things import BOT_USER, FakeEphemeral, FakeMessage
from tests.flows.forgetting_bot import (
    HeldForgetting,
    LeapingClock,
    forgetting_host,
    found_by,
    held_host,
    holds,
    looks_up,
)
from tests.patience import LOOK_S, PATIENCE_S

ME = f"<@{BOT_USER}>"


@dataclass
class Talk:
    folder: Path
    clock: LeapingClock
    slack: FakeSlack
    host: ServedHost
    model: ScriptedProvider
    ann: str = field(init=False)
    bob: str = field(init=False)
    general: str = field(init=False)
    secret: str = field(init=False)
    dm: str = field(init=False)

    def __post_init__(self) -> None:
        self.ann, self.bob = self.slack.state.user("ann"), self.slack.state.user("bob")
        self.general, self.secret = self.slack.state.channel("general"), self.slack.state.channel("secret", "private")
        self.dm = self.slack.state.channel("ann", "im")

    async def ask(self, user: str, text: str, channel: str = "", thread: str = "") -> FakeMessage:
        """Ask, and wait for the answer."""
        channel = channel or self.general
        before = self._begun()
        asked = await self.slack.say(user, channel, f"{ME} {text}", thread)
        await self.slack.until(lambda: self._begun() > before)
        async with asyncio.timeout(PATIENCE_S):
            await self.host.turns.idle()
        return asked

    def _begun(self) -> int:
        """How many answers began so far, also those that were deleted."""
        return sum(len(self.slack.state.called(method)) for method in ("chat.postMessage", "chat.startStream"))

    async def finds(self, thing: str, channel: str = "") -> bool:
        """Whether the model is given something with this in it when Ann looks for the canoe."""
        before = len(self.model.requests)
        await self.ask(self.ann, "find canoe", channel)
        return thing in found_by(self.model, before)

    async def forget(self, words: str) -> FakeEphemeral:
        """Ann's `/forget`, and what only she is shown then."""
        before = len(self.slack.state.ephemerals)
        await self.slack.command(self.ann, self.general, "/forget", words)
        await self.slack.until(lambda: len(self.slack.state.ephemerals) > before)
        ephemeral = self.slack.state.ephemerals[-1]
        assert ephemeral.user == self.ann
        return ephemeral

    async def click(self, question: FakeEphemeral, label: str, *, ticked: bool = False) -> str:
        """What stands in place of the question then."""
        before = question.text
        await self.slack.click(self.ann, question, label, ticked=ticked)
        await self.slack.until(lambda: question.text != before)
        return question.text

    async def tell(self, **event: object) -> None:
        await self.slack.deliver(self.slack.envelope(event))
        await self.slack.settled()

    async def gone(self, words: str) -> None:
        """Nobody waits for it to be erased, and soon it is."""
        async with asyncio.timeout(PATIENCE_S):
            while holds(self.folder, words):
                self.clock.leap(SWEEP_AFTER)
                await asyncio.sleep(LOOK_S)

    def replies(self, root: FakeMessage) -> list[str]:
        return [answer.text for answer in self.slack.state.answers(root.channel, root.ts)]


@asynccontextmanager
async def talking(folder: Path) -> AsyncGenerator[Talk, None]:
    clock, model = LeapingClock(), ScriptedProvider(looks_up)
    async with FakeSlack(clock) as slack, forgetting_host(folder, model, clock) as host:
        talk = Talk(folder, clock, slack, host, model)
        async with serving(slack, host):
            yield talk


# Much to look through


@asynccontextmanager
async def held_talk(folder: Path) -> AsyncGenerator[tuple[Talk, HeldForgetting]]:
    clock, model = LeapingClock(), ScriptedProvider(looks_up)
    async with FakeSlack(clock) as slack, held_host(folder, model, clock) as (host, held):
        talk = Talk(folder, clock, slack, host, model)
        async with serving(slack, host):
            await talk.ask(talk.ann, "my canoe is vermilion")
            yield talk, held


async def test_who_waits_sees_how_far_it_is_while_others_are_answered_and_then_the_question(tmp_path: Path) -> None:
    async with held_talk(tmp_path) as (talk, held):
        waiting = await talk.forget("about canoe")
        assert "7,000 messages found so far" in waiting.text
        assert labels(waiting.blocks, talk.ann) == ["Stop"]
        await talk.ask(talk.bob, "hello")
        assert talk.slack.state.ephemerals == [waiting], "she is told once where Slack lets nothing be replaced"
        held.go_on.set()
        await talk.slack.until(lambda: len(talk.slack.state.ephemerals) == 2)
        question = talk.slack.state.ephemerals[-1]
        assert "- my canoe is vermilion" in question.text
        assert await talk.click(waiting, "Stop") == forgetting_texts.NOTHING_SOUGHT
        await talk.slack.click(talk.ann, question, "Forget")
        await talk.slack.until(lambda: question.text.startswith("Forgotten: "))
        assert not holds(tmp_path, "vermilion")


async def test_whoever_stops_the_search_keeps_everything(tmp_path: Path) -> None:
    async with held_talk(tmp_path) as (talk, held):
        waiting = await talk.forget("about canoe")
        await talk.slack.click(talk.bob, waiting, "Stop")
        assert await talk.click(waiting, "Stop") == forgetting_texts.FORGET_STOPPED
        held.go_on.set()
        await talk.slack.until(lambda: len(talk.slack.state.ephemerals) > 2)
        assert talk.slack.state.ephemerals[-1].text == forgetting_texts.FORGET_STOPPED
        assert holds(tmp_path, "vermilion")


async def test_what_a_button_began_is_shown_in_its_place(tmp_path: Path) -> None:
    async with held_talk(tmp_path) as (talk, held):
        panel = await talk.forget("")
        await talk.slack.click(talk.ann, panel, "Today…")
        await talk.slack.until(lambda: "7,000 messages found so far" in panel.text)
        held.go_on.set()
        await talk.slack.until(lambda: panel.text.startswith("I will forget"))
        assert talk.slack.state.ephemerals == [panel]


# Asked for


async def test_what_speaks_of_something_is_shown_and_goes_when_its_person_agrees(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask(talk.ann, "my canoe is vermilion")
        await talk.ask(talk.ann, "note The canoe is called Ondine")
        await talk.ask(talk.ann, "my kayak is turquoise")
        await talk.ask(talk.bob, "my canoe is ochre")
        question = await talk.forget("about canoe")
        assert "“canoe”" in question.text
        assert "- my canoe is vermilion" in question.text
        assert not any(words in question.text for words in ("turquoise", "ochre"))
        assert holds(tmp_path, "vermilion"), "nothing is erased before somebody agrees"
        receipt = await talk.click(question, "Forget")
        assert receipt.startswith("Forgotten: ")
        assert "A search afterwards found none of these texts where they were" in receipt
        assert not question.blocks[1:], "no button is left"
        assert not await talk.finds("vermilion")
        assert not any(holds(tmp_path, words) for words in ("vermilion", "Ondine"))
        assert all(holds(tmp_path, words) for words in ("turquoise", "ochre"))


async def test_what_was_said_in_a_time_goes_and_what_was_said_before_stays(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask(talk.ann, "my canoe is turquoise")
        talk.clock.leap(timedelta(hours=3))
        await talk.ask(talk.ann, "my canoe is vermilion")
        question = await talk.forget("2 hours")
        assert re.search(
            r"from Monday 2026-01-05 14:0\d to Monday 2026-01-05 16:0\d \(Europe/Paris\)", question.text
        ), "as her clock in Paris shows"
        assert "- my canoe is vermilion" in question.text
        assert (await talk.click(question, "Forget")).startswith("Forgotten: ")
        assert not await talk.finds("vermilion")
        assert await talk.finds("turquoise")


async def test_who_keeps_it_keeps_it_and_a_button_is_the_askers_alone(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask(talk.ann, "my canoe is vermilion")
        question = await talk.forget("about canoe")
        await talk.slack.click(talk.bob, question, "Forget")
        assert await talk.click(question, "Keep everything") == forgetting_texts.FORGET_DECLINED
        assert await talk.finds("vermilion")


@pytest.mark.parametrize("keeps", [True, False])
async def test_the_bots_replies_go_from_slack_unless_their_person_keeps_them(tmp_path: Path, keeps: bool) -> None:
    async with talking(tmp_path) as talk:
        first = await talk.ask(talk.ann, "my canoe is vermilion")
        other = await talk.ask(talk.ann, "my kayak is turquoise")
        assert talk.replies(first) == ["Aye."]
        receipt = await talk.click(await talk.forget("about canoe"), "Forget", ticked=keeps)
        assert ("I am also deleting 1 message of mine" in receipt) is not keeps
        assert ("1 message of mine stays where you see it, as you chose." in receipt) is keeps
        if not keeps:
            await talk.slack.until(lambda: not talk.replies(first))
        assert talk.replies(first) == (["Aye."] if keeps else [])
        assert talk.replies(other) == ["Aye."]


# Deleted and edited in Slack


async def test_a_message_deleted_in_slack_is_forgotten_with_what_came_of_it(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        asked = await talk.ask(talk.ann, "note The canoe is vermilion")
        assert await talk.finds("vermilion")
        gone = {"type": "message", "subtype": "message_deleted", "channel": asked.channel}
        await talk.tell(**gone, deleted_ts=asked.ts, previous_message=asked.wire())
        await talk.gone("vermilion")
        assert not await talk.finds("vermilion")


async def test_a_message_that_began_a_thread_leaves_a_stone_in_slack_and_nothing_with_the_bot(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        asked = await talk.ask(talk.ann, "my canoe is vermilion")
        stone = {"subtype": "tombstone", "ts": asked.ts, "user": "USLACKBOT", "text": "This message was deleted."}
        changed = {"type": "message", "subtype": "message_changed", "channel": asked.channel}
        await talk.tell(**changed, message=stone, previous_message=asked.wire())
        await talk.gone("vermilion")
        assert not await talk.finds("vermilion")


async def test_what_is_remembered_follows_an_edit_in_slack(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        asked = await talk.ask(talk.ann, "note The canoe is vermilion")
        changed = {"type": "message", "subtype": "message_changed", "channel": asked.channel}
        now = {**asked.wire(), "text": f"{ME} note The canoe is ochre"}
        (reply,) = talk.slack.state.answers(asked.channel, asked.ts)
        assert "Remembered: The canoe is vermilion" in str(reply.blocks)
        await talk.tell(**changed, message=now, previous_message=asked.wire())
        await talk.gone("vermilion")
        await talk.slack.until(lambda: "Undone: I no longer remember this." in str(reply.blocks))
        assert "vermilion" not in str(reply.blocks)
        assert "Undo" not in labels(reply.blocks, talk.ann)
        assert "Regenerate" in labels(reply.blocks, talk.ann)
        assert not await talk.finds("vermilion")
        assert await talk.finds("ochre")


async def test_an_edit_made_while_the_bot_was_away_is_followed_where_its_channel_is_read_again(tmp_path: Path) -> None:
    clock, model = LeapingClock(), ScriptedProvider(looks_up)
    async with FakeSlack(clock) as slack, forgetting_host(tmp_path, model, clock) as host:
        talk = Talk(tmp_path, clock, slack, host, model)
        async with serving(slack, host):
            asked = await talk.ask(talk.ann, "note The canoe is vermilion")
        clock.leap(timedelta(hours=1))
        async with serving(slack, host):
            await talk.ask(talk.bob, "my kayak is turquoise")
        clock.leap(timedelta(hours=1))
        slack.state.edit(asked, f"{ME} note The canoe is ochre")
        async with serving(slack, host):
            await talk.gone("vermilion")
            assert not await talk.finds("vermilion")
            assert await talk.finds("ochre")


async def test_a_reply_that_was_left_when_its_words_were_forgotten_can_still_be_deleted_by_its_asker(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path) as talk:
        first = await talk.ask(talk.ann, "my canoe is vermilion")
        (left,) = talk.slack.state.answers(talk.general, first.ts)
        await talk.click(await talk.forget("about canoe"), "Forget", ticked=True)
        await talk.slack.click(talk.ann, left, platforms_texts.DELETE_BUTTON)
        await talk.slack.until(lambda: not talk.replies(first))


@pytest.mark.parametrize("ephemeral", [True, False])
async def test_a_private_answer_goes_if_it_has_an_id_and_is_listed_if_not(tmp_path: Path, *, ephemeral: bool) -> None:
    """Where Slack shows no ephemeral message any more, it is one in the asker's direct messages."""
    async with talking(tmp_path) as talk:
        if not ephemeral:
            talk.slack.refusing["chat.postEphemeral", talk.general] = "user_not_in_channel"
            talk.slack.expiring = True
        await talk.slack.acked(
            await talk.slack.command(talk.ann, talk.general, "/ask", "privately my canoe is vermilion")
        )
        async with asyncio.timeout(PATIENCE_S):
            await talk.host.turns.idle()
        shown = [message for message in talk.slack.state.answers(talk.dm) if message.text == "Aye."]
        assert bool(shown) is not ephemeral
        talk.slack.refusing.clear()
        talk.slack.expiring = False
        receipt = await talk.click(await talk.forget("about canoe"), "Forget")
        assert ("1 message of mine that only you see stays until you dismiss it." in receipt) is ephemeral
        assert ("I am also deleting 1 message of mine" in receipt) is not ephemeral
        await talk.slack.until(lambda: not [m for m in talk.slack.state.answers(talk.dm) if m.text == "Aye."])


# Places that go


@pytest.mark.parametrize(("kind", "event"), [("public", "channel_deleted"), ("private", "group_deleted")])
async def test_with_a_deleted_channel_goes_what_was_said_in_it(tmp_path: Path, kind: str, event: str) -> None:
    async with talking(tmp_path) as talk:
        there = talk.slack.state.channel("harbour", kind)
        asked = await talk.ask(talk.ann, "note The canoe is vermilion", there)
        await talk.ask(talk.bob, "my canoe is ochre", there, asked.ts)
        await talk.ask(talk.ann, "my canoe is turquoise")
        assert await talk.finds("vermilion", talk.dm)
        del talk.slack.state.channels[there]
        await talk.tell(type=event, channel=there)
        await talk.gone("vermilion")
        await talk.gone("ochre")
        assert not await talk.finds("vermilion", talk.dm)
        assert await talk.finds("turquoise")


async def test_what_was_said_in_a_workspace_goes_a_while_after_the_bot(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask(talk.ann, "my canoe is vermilion")
        await talk.ask(talk.ann, "my kayak is turquoise", talk.dm)
        await talk.tell(type="app_uninstalled")
        talk.clock.leap(talk.host.forgetting.grace - timedelta(days=1))
        assert all(holds(tmp_path, words) for words in ("vermilion", "turquoise"))
        talk.clock.leap(timedelta(days=2))
        await talk.gone("vermilion")
        await talk.gone("turquoise")
        assert not talk.slack.sockets, "it is not served any more"


async def test_a_bot_that_is_back_in_its_workspace_keeps_what_was_said_there(tmp_path: Path) -> None:
    clock, model = LeapingClock(), ScriptedProvider(looks_up)
    async with FakeSlack(clock) as slack, forgetting_host(tmp_path, model, clock) as host:
        talk = Talk(tmp_path, clock, slack, host, model)
        async with serving(slack, host):
            await talk.ask(talk.ann, "my canoe is vermilion")
            await talk.tell(type="app_uninstalled")
            assert holds(tmp_path, "forget_gone")
        async with serving(slack, host):
            assert not holds(tmp_path, "forget_gone")
            clock.leap(host.forgetting.grace + timedelta(days=1))
            assert await talk.finds("vermilion")


# What Slack shows of it beside the messages


def titled(talk: Talk, root: FakeMessage, title: str) -> FakeSession:
    """The session of a thread, as Slack keeps it: an answer that takes a moment has one with the question as title."""
    session = FakeSession(talk.clock, title)
    talk.slack.state.agents.sessions[root.channel, root.ts] = session
    return session


async def test_the_title_of_a_session_and_the_home_tab_follow_at_once(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        home = HomeTab(talk.slack, talk.ann)
        mine = titled(talk, await talk.ask(talk.ann, "my canoe is vermilion"), "my canoe is vermilion")
        theirs = titled(talk, await talk.ask(talk.bob, "my kayak is turquoise"), "my kayak is turquoise")
        await talk.ask(talk.ann, "note The canoe is called Ondine")
        await home.opened()
        assert "Ondine" in home.text
        await talk.click(await talk.forget("everything"), "Forget")
        await talk.slack.until(lambda: mine.title == "Forgotten")
        await talk.slack.until(lambda: "Ondine" not in home.text)
        assert theirs.title == "my kayak is turquoise"


async def test_a_title_that_a_person_gave_stays(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        root = await talk.ask(talk.ann, "my canoe is vermilion")
        named = titled(talk, root, "Boats")
        other = titled(talk, await talk.ask(talk.ann, "my kayak is turquoise"), "my kayak is turquoise")
        about = {"channel": talk.general, "thread_ts": root.ts, "title": "Boats", "user": talk.ann}
        await talk.tell(type="agent_session_title_changed", **about)
        await talk.click(await talk.forget("everything"), "Forget")
        await talk.slack.until(lambda: other.title == "Forgotten")
        assert named.title == "Boats"


async def test_the_title_goes_with_a_question_that_is_deleted_in_slack(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        root = await talk.ask(talk.ann, "my canoe is vermilion")
        session = titled(talk, root, "my canoe is vermilion")
        gone = {"type": "message", "subtype": "message_deleted", "channel": root.channel}
        await talk.tell(**gone, deleted_ts=root.ts, previous_message=root.wire())
        await talk.slack.until(lambda: session.title == "Forgotten")
