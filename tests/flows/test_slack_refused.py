"""Slack refuses a reply for good while it grows: its asker is told once, and reads it all in their direct messages."""

import pytest

from agent.providers.scripted import ScriptPause
from agent.stored_messages import Author
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from tests.examples import one_in
from tests.fakes.fast_clock import FastClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_state import HOME
from tests.fakes.slack_things import BOT_USER, FakeMessage
from tests.flows.test_slack_replies import World

ME = f"<@{BOT_USER}>"
TOLD = reply_texts.SHOWN_ELSEWHERE.partition(" {why}")[0]
PARTS = 12
ANSWER = [part for number in range(PARTS) for part in (f"part {number} " + "of the answer " * 30, ScriptPause(1.0))]
CODES = [
    "is_archived",
    "invalid_arguments",
    "not_in_channel",
    "cannot_reply_to_message",
    "ekm_access_denied",
    "channel_not_found",
    "restricted_action",
    "an_error_that_slack_invents_next_year",
]


def direct(slack: FakeSlack) -> list[FakeMessage]:
    """The bot's messages in the asker's direct messages."""
    return [message for message in slack.state.messages if message.bot_id == HOME.bot and message.channel[0] == "D"]


def has_all(text: str) -> bool:
    return all(text.count(f"part {number} ") == 1 for number in range(PARTS))


@pytest.mark.parametrize(
    ("code", "method", "door"),
    one_in(3, CODES, ["chat.update", "chat.postMessage"], ["a mention", "a thread", "a command"]),
)
async def test_a_reply_that_is_refused_for_good_is_read_in_direct_messages(method: str, code: str, door: str) -> None:
    async with FakeSlack(FastClock()) as slack:
        world = World(slack, [ANSWER])
        async with world.running():
            if door == "a command":
                await slack.acked(await slack.command(world.ann, world.general, "/ask", "tell me"))
                await slack.until(lambda: slack.state.answers(world.general))
                slack.refusing[method, world.general] = code
            else:
                slack.refusing[method, world.general] = code
                root = slack.state.write(world.bob, world.general, "hello") if door == "a thread" else None
                await slack.say(world.ann, world.general, f"{ME} tell me", root.ts if root else "")
            await world.answered()
            assert has_all("".join(message.text for message in direct(slack)))
        notes = [ephemeral for ephemeral in slack.state.ephemerals if TOLD in ephemeral.text]
        assert [note.user for note in notes] == [world.ann], "told once"
        assert len(slack.state.denials) <= 3, "and Slack is not asked again and again"
        (reply,) = [one.text for _, one in world.store.messages if one.author is Author.BOT]
        assert has_all(reply), "it is part of the conversation"


@pytest.mark.parametrize("code", ["message_not_found", "thread_not_found"])
async def test_who_asked_learns_that_the_growing_answer_was_deleted(code: str) -> None:
    async with FakeSlack(FastClock()) as slack:
        world = World(slack, [ANSWER])
        async with world.running():
            slack.refusing["chat.update", world.general] = code
            await slack.say(world.ann, world.general, f"{ME} tell me")
            await world.answered()
        assert [ephemeral.text for ephemeral in slack.state.ephemerals] == [reply_texts.REPLY_DELETED]
        assert not direct(slack)


async def test_where_direct_messages_are_refused_too_the_asker_reads_what_to_do() -> None:
    async with FakeSlack(FastClock()) as slack:
        world = World(slack, [ANSWER])
        async with world.running():
            slack.refusing["chat.postMessage", world.general] = "is_archived"
            slack.refusing["conversations.open", ""] = "user_disabled"
            await slack.say(world.ann, world.general, f"{ME} tell me")
            await world.answered()
        (note,) = slack.state.ephemerals
        assert note.text == reply_texts.NOT_SHOWN.format(why=platforms_texts.SLACK_REMEDIES["is_archived"])


async def test_what_was_shown_in_direct_messages_is_deleted_with_the_reply() -> None:
    async with FakeSlack(FastClock()) as slack:
        world = World(slack, [ANSWER])
        async with world.running():
            slack.refusing["chat.postMessage", world.general] = "is_archived"
            await slack.say(world.ann, world.general, f"{ME} tell me")
            await world.answered()
            await slack.acked(await slack.click(world.ann, direct(slack)[-1], platforms_texts.DELETE_BUTTON))
            await slack.until(lambda: not direct(slack))
