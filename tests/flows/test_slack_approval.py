"""How a call that waits is shown to its asker in Slack; what is the same on each platform is in `test_consent`."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from agent.messages import Message
from agent.providers.scripted import Answer, Answering, ScriptPause
from bot.platforms import texts as platforms_texts
from bot.tools import texts as tool_texts
from tests.fakes.fast_clock import MovedClock
from tests.fakes.one_turn import Echo
from tests.fakes.slack_clicks import labels
from tests.fakes.slack_faults import DOWN, Fault, limited
from tests.fakes.slack_things import TEAM, FakeEphemeral, FakeMessage
from tests.fakes.telling_model import ALLOW, HERE, REFUSE, WAITS, says
from tests.flows.test_slack_replies import ME, World, asked, workspace


class Approval:
    """A workspace in which the model wants to act."""

    def __init__(self, world: World, tool: Echo, clock: MovedClock) -> None:
        self.world, self.tool, self.clock = world, tool, clock
        self.ann, self.bob, self.general, self.slack = world.ann, world.bob, world.general, world.slack

    async def asked(self, text: str = "tell Ben", thread: str = "", channel: str = "") -> FakeMessage:
        """The question, once the bot waits for a word about what it came to, and has shown that."""
        channel, shown = channel or self.general, len(self.ephemerals)
        question = await self.put_aside(text, thread, channel)
        await self.slack.until(lambda: len(self.ephemerals) > shown)
        return question

    async def put_aside(self, text: str = "tell Ben", thread: str = "", channel: str = "") -> FakeMessage:
        channel = channel or self.general
        waiting = len(self.waiting(channel))
        question = await self.slack.say(self.ann, channel, f"{ME} {text}", thread)
        await self.slack.until(lambda: len(self.waiting(channel)) > waiting and self.is_put_aside())
        return question

    @property
    def ephemerals(self) -> list[FakeEphemeral]:
        return self.slack.state.ephemerals

    def waiting(self, channel: str = "") -> list[FakeMessage]:
        return [one for one in self.slack.state.answers(channel or self.general) if WAITS in one.text]

    def is_put_aside(self) -> bool:
        return all(turn.state != "running" for turn in self.world.store.turns)

    async def shown_to(self, user: str, page: FakeMessage) -> FakeEphemeral:
        """What this user reads when they press the button below a reply that waits."""
        before = len(self.slack.state.ephemerals)
        await self.slack.click(user, page, platforms_texts.DECIDE_BUTTON)
        await self.slack.until(lambda: len(self.slack.state.ephemerals) > before)
        return self.slack.state.ephemerals[-1]

    async def pressed(self, label: str, page: FakeMessage | None = None) -> FakeEphemeral:
        ephemeral = await self.shown_to(self.ann, page or self.waiting()[-1])
        before = ephemeral.text
        await self.slack.click(self.ann, ephemeral, label)
        await self.slack.until(lambda: ephemeral.text != before)
        return ephemeral


@asynccontextmanager
async def approval(model: Answering = says) -> AsyncGenerator[Approval, None]:
    clock, tool = MovedClock(), Echo()
    async with workspace(model, clock, tools=[tool]) as world:
        world.operators = frozenset({f"slack:{TEAM}:{world.bob}"})
        yield Approval(world, tool, clock)


async def test_its_asker_is_shown_it_unasked_in_the_thread_and_once_more_by_the_button() -> None:
    async with approval() as here, here.world.running():
        question = await here.asked()
        (page,) = here.waiting()
        (shown,) = here.ephemerals
        assert (shown.user, shown.channel, shown.thread_ts) == (here.ann, here.general, question.ts)
        bobs = await here.shown_to(here.bob, page)
        assert (bobs.user, bobs.text) == (here.bob, tool_texts.NOTHING_WAITS)
        for told in ("Approve `echo`?", tool_texts.EFFECTS["ACTS_OUTWARD"], "**text**: `Hello Ben.`", "tell Ben"):
            assert told in str(shown.blocks[0])
        again = await here.shown_to(here.ann, page)
        assert (again.text, labels(again.blocks, here.ann)) == (shown.text, [ALLOW, HERE, REFUSE])
        await here.slack.click(here.ann, shown, ALLOW)
        await here.world.answered()
        await here.slack.until(lambda: shown.text == tool_texts.DECIDED["allow"])
    assert here.tool.said == ["Hello Ben."]


async def test_what_cannot_be_shown_in_the_channel_is_shown_in_their_direct_messages() -> None:
    async with approval() as here, here.world.running():
        here.slack.faults["chat.postEphemeral"] += [Fault(error="user_not_in_channel")]
        await here.put_aside()
        await here.slack.until(lambda: here.slack.state.answers(here.world.dm))
        (shown,) = here.slack.state.answers(here.world.dm)
        await here.slack.click(here.ann, shown, ALLOW)
        await here.world.answered()
    assert here.tool.said == ["Hello Ben."]


async def test_what_slack_takes_too_fast_is_shown_a_little_later() -> None:
    async with approval() as here, here.world.running():
        here.slack.faults["chat.postEphemeral"] += [limited(2)]
        await here.asked()
        assert labels(here.ephemerals[0].blocks, here.ann) == [ALLOW, HERE, REFUSE]


async def test_where_nothing_can_be_shown_unasked_the_button_stays() -> None:
    async with approval() as here, here.world.running():
        here.slack.faults["chat.postEphemeral"] += [DOWN]
        await here.put_aside()
        await here.slack.until(lambda: not here.slack.faults["chat.postEphemeral"])
        await here.pressed(ALLOW)
        await here.world.answered()
    assert here.tool.said == ["Hello Ben."]


async def test_in_direct_messages_it_is_shown_there() -> None:
    async with approval() as here, here.world.running():
        await here.asked(channel=here.world.dm)
        (shown,) = here.ephemerals
        assert (shown.user, shown.channel) == (here.ann, here.world.dm)
        await here.slack.click(here.ann, shown, REFUSE)
        await here.world.answered()
    assert here.tool.said == []


def says_hello_too(messages: Sequence[Message]) -> Answer:
    """Answer as a model that takes a while to greet Bob, too."""
    return [ScriptPause(5), "Hello, Bob."] if "I am Bob" in asked(messages) else says(messages)


async def test_the_session_needs_attention_until_the_approval_whatever_else_is_asked_there() -> None:
    async with approval(says_hello_too) as here, here.world.running():
        question = await here.asked()
        sessions = here.slack.state.agents.sessions
        await here.slack.until(lambda: (here.general, question.ts) in sessions)
        session = sessions[here.general, question.ts]
        assert (session.status, session.title, session.initiator) == ("suspended", "tell Ben", here.ann)
        await here.slack.say(here.bob, here.general, f"{ME} I am Bob", question.ts)
        await here.slack.until(lambda: session.status == "processing")
        await here.world.answered(1)
        await here.slack.until(lambda: session.status == "suspended")
        await here.slack.click(here.ann, here.ephemerals[0], ALLOW)
        await here.world.answered(2)
        await here.slack.until(lambda: session.status == "active")
    assert here.tool.said == ["Hello Ben."]


async def test_a_stream_ends_with_a_session_that_needs_attention_and_a_deleted_question_ends_that() -> None:
    async with approval() as here, here.world.running():
        question = await here.asked(channel=here.world.dm)
        session = here.slack.state.agents.sessions[here.world.dm, question.ts]
        assert session.status == "suspended"
        (stop,) = here.slack.state.called("chat.stopStream")
        assert stop.args["session_status"] == "suspended"
        here.slack.state.messages.remove(question)
        gone = {"subtype": "message_deleted", "channel": here.world.dm, "deleted_ts": question.ts}
        await here.slack.deliver(here.slack.envelope({"type": "message", **gone, "previous_message": question.wire()}))
        await here.slack.until(lambda: session.status == "active")
    assert here.tool.said == []


async def test_of_two_presses_at_once_the_second_is_told_which_word_counts() -> None:
    async with approval() as here, here.world.running():
        await here.asked()
        (shown,) = here.ephemerals
        again = FakeEphemeral(shown.channel, shown.user, shown.text, [*shown.blocks], shown.thread_ts, shown.url)
        await asyncio.gather(*(here.slack.click(here.ann, one, ALLOW) for one in (shown, again)))
        await here.world.answered()
        told = {tool_texts.DECIDED["allow"], tool_texts.NOT_DECIDED["ALLOWED_BEFORE"]}
        await here.slack.until(lambda: {shown.text, again.text} == told)
    assert here.tool.said == ["Hello Ben."]


async def test_a_private_question_waits_in_private() -> None:
    async with approval() as here, here.world.running():
        await here.slack.command(here.ann, here.general, "/ask", "privately tell Ben")
        await here.slack.until(lambda: len(here.ephemerals) == 2)
        page, shown = here.ephemerals
        assert WAITS in page.text
        await here.slack.click(here.ann, page, platforms_texts.DECIDE_BUTTON)
        await here.slack.until(lambda: len(here.ephemerals) > 2)
        assert here.ephemerals[-1].text == shown.text
        await here.slack.click(here.ann, shown, ALLOW)
        await here.world.answered()
        await here.slack.until(lambda: any("Ben knows." in one.text for one in here.slack.state.ephemerals))
        assert not here.slack.state.answers(here.general)
    assert here.tool.said == ["Hello Ben."]
