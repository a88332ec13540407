"""The context of a question: the thread before it, and linked messages."""

from typing import Any

from agent.incoming import Incoming
from bot.chat.message_parts import TOO_LONG, UNREADABLE_LINK, UNREADABLE_THREAD
from bot.platforms.slack import surroundings
from tests.fakes.recording_host import recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_faults import Fault
from tests.fakes.slack_things import BOT_USER, FakeMessage

ANN, BOB, GENERAL, SECRET, DM = "U0ANN", "U0BOB", "C0GENERAL", "C0SECRET", "D0ANN"
ME = f"<@{BOT_USER}>"
UNREAD = ("linked message", "", UNREADABLE_LINK)


def link(message: FakeMessage) -> str:
    thread = f"?thread_ts={message.thread_ts}&amp;cid={message.channel}" if message.thread_ts else ""
    return f"<https://fake.slack.com/archives/{message.channel}/p{message.ts.replace('.', '')}{thread}>"


async def quoted(slack: FakeSlack, text: str, channel: str = GENERAL, **more: Any) -> list[tuple[str, str, str]]:
    """Return the context of this question of ann, as (source, author, text)."""
    taken = await asked(slack, text, channel, **more)
    return [(quoted.source, quoted.author, quoted.text) for quoted in taken.quoted]


async def asked(slack: FakeSlack, text: str, channel: str = GENERAL, **more: Any) -> Incoming:
    """Return a question of ann, as the bot receives it."""
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, channel, text, **more)
        await slack.settled()
    return host.taken[0]


async def test_a_first_mention_in_a_running_thread_brings_the_thread(slack: FakeSlack) -> None:
    root = slack.state.write(BOB, GENERAL, "Shall we paint the boat?")
    slack.state.write(ANN, GENERAL, f"<@{BOB}> &amp; me, blue", root.ts)
    slack.state.write(BOB, GENERAL, "said elsewhere")
    assert await quoted(slack, f"{ME} sum this up", thread_ts=root.ts) == [
        ("earlier in this thread", "bob", "Shall we paint the boat?"),
        ("earlier in this thread", "ann", "@bob & me, blue"),
    ]


async def test_a_later_mention_in_the_same_thread_does_not_bring_it_again(slack: FakeSlack) -> None:
    host = recording_host()
    root = slack.state.write(BOB, GENERAL, "Shall we paint the boat?")
    async with serving(slack, host):
        for text in ("sum this up", "shorter"):
            await slack.say(ANN, GENERAL, f"{ME} {text}", root.ts)
            await slack.settled()
    assert [len(taken.quoted) for taken in host.taken] == [1, 0]


async def test_a_long_thread_is_told_by_its_beginning_and_its_end(slack: FakeSlack) -> None:
    root = slack.state.write(BOB, GENERAL, "the beginning")
    for number in range(350):
        slack.state.write(ANN, GENERAL, f"message {number}", root.ts)
    told = [text for _, _, text in await quoted(slack, f"{ME} sum this up", thread_ts=root.ts)]
    assert len(told) == surroundings.MAX_MESSAGES + 1
    assert (told[0], told[1], told[-1]) == (
        "the beginning",
        f"message {350 - surroundings.MAX_MESSAGES}",
        "message 349",
    )


async def test_a_thread_of_long_messages_is_bounded_too(slack: FakeSlack) -> None:
    root = slack.state.write(BOB, GENERAL, "the beginning")
    for number in range(40):
        slack.state.write(ANN, GENERAL, f"{number} {'x' * 2_000}", root.ts)
    told = [text for _, _, text in await quoted(slack, f"{ME} sum this up", thread_ts=root.ts)]
    assert sum(map(len, told)) <= surroundings.MAX_CHARS
    assert told[0] == "the beginning"
    assert told[-1].startswith("39 ")


async def test_a_thread_that_cannot_be_read_is_named(slack: FakeSlack) -> None:
    root = slack.state.write(BOB, GENERAL, "Shall we paint the boat?")
    slack.faults["conversations.replies"] += [Fault(error="missing_scope")] * 2
    assert await quoted(slack, f"{ME} sum this up", thread_ts=root.ts) == [
        ("earlier in this thread", "", UNREADABLE_THREAD)
    ]


async def test_a_linked_message_of_a_public_channel_comes_along(slack: FakeSlack) -> None:
    other = slack.state.channel("other")
    root = slack.state.write(BOB, other, "Where is the boat?")
    reply = slack.state.write(ANN, other, "In the harbour.", root.ts)
    assert await quoted(slack, f"{ME} look: {link(root)} {link(reply)}") == [
        ("linked message", "bob", "Where is the boat?"),
        ("linked message", "ann", "In the harbour."),
    ]


async def test_a_linked_message_of_a_private_channel_stays_there(slack: FakeSlack) -> None:
    secret = slack.state.write(BOB, SECRET, "the plan")
    assert await quoted(slack, f"{ME} look: {link(secret)}") == [UNREAD]


async def test_a_linked_message_of_a_private_channel_comes_along_in_a_members_dm(slack: FakeSlack) -> None:
    secret = slack.state.write(BOB, SECRET, "the plan")
    assert await quoted(slack, f"{ME} look: {link(secret)}", DM) == [("linked message", "bob", "the plan")]
    slack.state.channels[SECRET].members.discard(ANN)
    assert await quoted(slack, f"{ME} look: {link(secret)}", DM) == [UNREAD]


async def test_a_linked_message_of_the_same_private_channel_comes_along(slack: FakeSlack) -> None:
    secret = slack.state.write(BOB, SECRET, "the plan")
    assert await quoted(slack, f"{ME} look: {link(secret)}", SECRET) == [("linked message", "bob", "the plan")]


async def test_links_that_lead_nowhere_look_like_those_that_may_not_be_read(slack: FakeSlack) -> None:
    nowhere = "<https://fake.slack.com/archives/C0NONE/p1700000000000100>"
    gone = f"<https://fake.slack.com/archives/{GENERAL}/p1700000000000200>"
    assert await quoted(slack, f"{ME} look: {nowhere} {gone}") == [UNREAD, UNREAD]


async def test_a_long_log_of_an_app_leaves_room_for_the_messages_around_it(slack: FakeSlack) -> None:
    root = slack.state.write(BOB, GENERAL, "the deploy failed")
    slack.state.write(ANN, GENERAL, "KeyError since noon", root.ts)
    slack.state.write("", GENERAL, "log line\n" * 4_000, root.ts, bot_id="B0CI", facts={"subtype": "bot_message"})
    texts = [text for _, _, text in await quoted(slack, f"{ME} why?", thread_ts=root.ts)]
    assert texts[:2] == ["the deploy failed", "KeyError since noon"]
    assert texts[2].endswith(TOO_LONG)
