"""Calls that wait for their asker's word in Slack: real slack-bolt, sockets, turns and store; the model is scripted."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agent.consents import CONSENT_TIME
from agent.ports.tools import ToolEffect
from agent.texts import QUESTION_EDITED
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.tools import texts as tool_texts
from tests.fakes.fast_clock import MovedClock
from tests.fakes.one_turn import Echo
from tests.fakes.slack_clicks import labels
from tests.fakes.slack_faults import DOWN, Fault, limited
from tests.fakes.slack_things import TEAM, FakeEphemeral, FakeMessage
from tests.fakes.telling_model import ALLOW, HERE, REFUSE, WAITS, says, says_after_looking
from tests.flows.test_slack_replies import ME, World, workspace


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

    async def edit(self, question: FakeMessage, text: str) -> None:
        edited = {**question.wire(), "text": text, "edited": {"user": self.ann, "ts": "1.2"}}
        change = {"type": "message", "subtype": "message_changed", "channel": question.channel, "message": edited}
        await self.slack.deliver(self.slack.envelope({**change, "previous_message": question.wire(), "ts": "2.1"}))

    async def is_over(self, shown: FakeEphemeral) -> None:
        """What still stands before them there decides nothing any more, and says so."""
        await self.slack.click(self.ann, shown, ALLOW)
        await self.slack.until(lambda: shown.text == tool_texts.NOT_DECIDED["OVER"])

    def texts(self) -> list[str]:
        return [one.text for one in self.slack.state.answers(self.general)]


@asynccontextmanager
async def approval(effect: ToolEffect = ToolEffect.ACTS_OUTWARD) -> AsyncGenerator[Approval, None]:
    clock, tool = MovedClock(), Echo(effect=effect)
    async with workspace(says, clock, tools=[tool]) as world:
        world.operators = frozenset({f"slack:{TEAM}:{world.bob}"})
        yield Approval(world, tool, clock)


async def test_nothing_is_done_before_its_asker_who_alone_is_shown_all_of_it_has_allowed_it() -> None:
    async with approval() as here, here.world.running():
        question = await here.asked()
        (page,) = here.waiting()
        assert page.text == f"I will tell Ben.\n\n{WAITS}"
        (shown,) = here.ephemerals
        assert (shown.user, shown.channel, shown.thread_ts) == (here.ann, here.general, question.ts)
        bobs = await here.shown_to(here.bob, page)
        assert (bobs.user, bobs.text) == (here.bob, tool_texts.NOTHING_WAITS)
        for told in ("May I use `echo`?", tool_texts.EFFECTS["ACTS_OUTWARD"], "**text**: `Hello Ben.`", "tell Ben"):
            assert told in str(shown.blocks[0])
        assert labels(shown.blocks, here.ann) == [ALLOW, HERE, REFUSE]
        assert here.tool.said == []
        again = await here.shown_to(here.ann, page)
        assert (again.text, labels(again.blocks, here.ann)) == (shown.text, [ALLOW, HERE, REFUSE])
        await here.slack.click(here.ann, shown, ALLOW)
        await here.world.answered()
        await here.slack.until(lambda: shown.text == tool_texts.DECIDED["allow"])
        (answer,) = here.slack.state.answers(here.general)
    assert here.tool.said == ["Hello Ben."]
    assert (answer.ts, answer.text) == (page.ts, "I will tell Ben.\n\nBen knows.")


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


async def test_a_refused_call_does_not_run_and_the_answer_goes_on_without_it() -> None:
    async with approval() as here, here.world.running():
        await here.asked()
        await here.pressed(REFUSE)
        await here.world.answered()
        assert here.texts() == ["I will tell Ben.\n\nThen not."]
    assert here.tool.said == []


async def test_what_an_operator_refuses_while_it_waits_does_not_run_although_it_is_allowed_then() -> None:
    async with approval() as here, here.world.running():
        await here.asked()
        await here.slack.command(here.bob, here.general, "/tools", "policy set echo * * no")
        await here.slack.until(lambda: any("`echo * * no`" in one.text for one in here.slack.state.ephemerals))
        await here.pressed(ALLOW)
        await here.world.answered()
        assert here.texts() == ["I will tell Ben.\n\nThen not."]
    assert here.tool.said == []


async def test_a_second_press_says_which_word_counts() -> None:
    async with approval() as here, here.world.running():
        await here.asked()
        shown = await here.shown_to(here.ann, here.waiting()[0])
        again = FakeEphemeral(shown.channel, shown.user, shown.text, [*shown.blocks], shown.thread_ts, shown.url)
        await here.slack.click(here.ann, shown, REFUSE)
        await here.world.answered()
        await here.slack.click(here.ann, again, ALLOW)
        await here.slack.until(lambda: again.text == tool_texts.NOT_DECIDED["REFUSED_BEFORE"])
    assert here.tool.said == []


async def test_two_presses_at_once_run_it_once() -> None:
    async with approval() as here, here.world.running():
        await here.asked()
        (shown,) = here.ephemerals
        again = FakeEphemeral(shown.channel, shown.user, shown.text, [*shown.blocks], shown.thread_ts, shown.url)
        await asyncio.gather(*(here.slack.click(here.ann, one, ALLOW) for one in (shown, again)))
        await here.world.answered()
        told = {tool_texts.DECIDED["allow"], tool_texts.NOT_DECIDED["ALLOWED_BEFORE"]}
        await here.slack.until(lambda: {shown.text, again.text} == told)
    assert here.tool.said == ["Hello Ben."]


async def test_what_somebody_else_was_shown_decides_nothing() -> None:
    async with approval() as here, here.world.running():
        await here.asked()
        shown = await here.shown_to(here.ann, here.waiting()[0])
        stolen = FakeEphemeral(shown.channel, here.bob, shown.text, shown.blocks, shown.thread_ts, shown.url)
        await here.slack.click(here.bob, stolen, ALLOW)
        await here.slack.until(lambda: any(one.text == reply_texts.NOT_YOURS for one in here.slack.state.ephemerals))
        assert here.waiting()
    assert here.tool.said == []


async def test_what_is_allowed_in_a_thread_is_not_asked_for_again_there_and_elsewhere_it_is() -> None:
    async with approval() as here, here.world.running():
        question = await here.asked()
        await here.pressed(HERE)
        await here.world.answered()
        await here.slack.say(here.ann, here.general, f"{ME} once more", question.ts)
        await here.world.answered(2)
        assert here.tool.said == ["Hello Ben."] * 2
        await here.asked("and from here")
        assert here.tool.said == ["Hello Ben."] * 2


async def test_as_soon_as_somebody_else_has_written_in_the_thread_it_is_asked_for_again() -> None:
    async with approval() as here, here.world.running():
        question = await here.asked()
        await here.pressed(HERE)
        await here.world.answered()
        await here.slack.say(here.bob, here.general, f"{ME} what is this?", question.ts)
        await here.slack.until(lambda: len(here.waiting()) == 1)
        await here.asked("once more", question.ts)
    assert here.tool.said == ["Hello Ben."]


async def test_what_cannot_be_taken_back_is_asked_for_each_time() -> None:
    async with approval(ToolEffect.IRREVERSIBLE) as here, here.world.running():
        question = await here.asked()
        shown = await here.shown_to(here.ann, here.waiting()[0])
        assert tool_texts.EFFECTS["IRREVERSIBLE"] in str(shown.blocks[0])
        assert labels(shown.blocks, here.ann) == [ALLOW, REFUSE]
        await here.slack.click(here.ann, shown, ALLOW)
        await here.world.answered()
        await here.asked("once more", question.ts)
    assert here.tool.said == ["Hello Ben."]


async def test_a_word_counts_after_a_restart_and_what_waits_is_shown_by_the_command() -> None:
    async with approval() as here:
        async with here.world.running():
            await here.asked()
        async with here.world.running():
            await here.slack.command(here.ann, here.general, "/tools")
            await here.slack.until(lambda: len(here.ephemerals) == 2)
            _, shown = here.ephemerals
            await here.slack.click(here.ann, shown, ALLOW)
            await here.world.answered()
            assert here.texts() == ["I will tell Ben.\n\nBen knows."]
    assert here.tool.said == ["Hello Ben."]


async def test_other_questions_in_the_thread_are_answered_meanwhile() -> None:
    async with approval() as here, here.world.running():
        question = await here.asked()
        await here.asked("and again", question.ts)
        assert len(here.waiting()) == 2
        await here.pressed(REFUSE, here.waiting()[1])
        await here.world.answered()
        assert len(here.waiting()) == 1


async def test_a_day_later_the_answer_goes_on_without_it_and_the_button_says_so() -> None:
    async with approval() as here, here.world.running():
        await here.asked()
        shown = await here.shown_to(here.ann, here.waiting()[0])
        here.clock.ahead_s += CONSENT_TIME.total_seconds()
        await here.world.answered()
        assert here.texts() == ["I will tell Ben.\n\nThen not."]
        await here.is_over(shown)
    assert here.tool.said == []


async def test_the_word_stop_ends_it_with_what_was_said() -> None:
    async with approval() as here, here.world.running():
        question = await here.asked()
        shown = await here.shown_to(here.ann, here.waiting()[0])
        await here.slack.say(here.ann, here.general, f"{ME} stop", question.ts)
        await here.world.answered()
        assert here.texts() == ["I will tell Ben.\n\n*Stopped.*"]
        await here.is_over(shown)
    assert here.tool.said == []


async def deleted(here: Approval, question: FakeMessage) -> None:
    gone = {"type": "message", "subtype": "message_deleted", "channel": question.channel}
    deletion = {**gone, "deleted_ts": question.ts, "previous_message": question.wire()}
    await here.slack.deliver(here.slack.envelope(deletion))


async def test_with_its_question_what_waits_disappears() -> None:
    async with approval() as here, here.world.running():
        question = await here.asked()
        await deleted(here, question)
        await here.slack.until(lambda: not here.slack.state.answers(here.general))
        await here.world.answered()
        await here.is_over(here.ephemerals[0])
    assert here.tool.said == []


async def test_an_edited_question_is_asked_anew() -> None:
    async with approval() as here, here.world.running():
        question = await here.asked()
        shown = await here.shown_to(here.ann, here.waiting()[0])
        await here.edit(question, f"{ME} tell Ben at once")
        await here.slack.until(lambda: len(here.world.model.requests) == 2 and here.is_put_aside())
        assert "tell Ben at once" in here.world.model.requests[-1][-1].text
        assert len(here.waiting()) == 1
        await here.slack.click(here.ann, shown, ALLOW)
        await here.world.answered()
    assert here.tool.said == ["Hello Ben."]  # the very same call: what was shown is what is done


async def test_of_a_question_that_is_edited_after_something_was_done_the_answer_goes_on_with_its_new_words() -> None:
    tool, looked = Echo(), Echo("look", effect=ToolEffect.READS)
    async with workspace(says_after_looking, MovedClock(), tools=[tool, looked]) as world, world.running():
        here = Approval(world, tool, MovedClock())
        question = await here.asked()
        (page,), (shown,) = here.waiting(), here.ephemerals
        await here.edit(question, f"{ME} tell Cy")
        await world.answered()
        (answer,) = here.slack.state.answers(here.general)
        assert (answer.ts, answer.text) == (page.ts, f"I look, and tell Ben.\n\n{QUESTION_EDITED}\n\nOnly Cy, then.")
        await here.is_over(shown)
    assert (tool.said, looked.said) == ([], ["x"])


async def test_what_is_forgotten_is_taken_back_while_it_waits() -> None:
    async with approval() as here, here.world.running():
        await here.asked()
        await here.slack.command(here.ann, here.general, "/forget", "everything")
        await here.slack.until(lambda: len(here.ephemerals) == 2)
        await here.slack.click(here.ann, here.ephemerals[-1], "Forget")
        await here.slack.until(lambda: not here.slack.state.answers(here.general))
        await here.slack.until(lambda: not here.world.store.turns)
        await here.is_over(here.ephemerals[0])
    assert here.tool.said == []


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
