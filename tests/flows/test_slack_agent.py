"""The agent as Slack shows it: sessions, titles, what it does, stops, suggestions, what people look at.

Real slack-bolt, sockets, turns and live replies; the model is scripted.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import pytest

from agent.jobs import Job
from agent.messages import Message
from agent.providers.scripted import Answer, Answering, ScriptPause, Until
from agent.recall_query import Hit, RecallQuery
from bot.chat.texts import replies as reply_texts
from bot.platforms.slack.agent_view import GENERAL, MESSAGE, NOTE, loading_messages
from tests.examples import one_in
from tests.fakes.fast_clock import FastClock
from tests.fakes.slack_agent import FakeSession
from tests.fakes.slack_faults import DOWN, Fault, limited
from tests.fakes.slack_things import BOT_USER, TEAM, FakeMessage
from tests.fakes.store import store_in_memory
from tests.flows.test_slack_replies import World, asked, workspace

ME = f"<@{BOT_USER}>"
RECALL = '<execute>[{"name": "recall", "args": {"query": "boat"}}]\n</execute>'
ORNAMENTS = (
    "agents.sessions.setStatus",
    "agents.sessions.rename",
    "assistant.threads.setStatus",
    "assistant.threads.setSuggestedPrompts",
)


AtWork: TypeAlias = Callable[..., AbstractAsyncContextManager[World]]


@pytest.fixture(params=["sockets", "http"])
def at_work(request: pytest.FixtureRequest) -> AtWork:
    """A workspace whose events come this way."""
    return partial(workspace, over_http=request.param == "http")


def session(world: World, root: FakeMessage) -> FakeSession:
    return world.slack.state.agents.sessions[root.channel, root.ts]


def answer_to(world: World, root: FakeMessage) -> FakeMessage:
    (answer,) = world.slack.state.answers(root.channel, root.ts)
    return answer


async def at_rest(world: World, root: FakeMessage) -> None:
    def rests() -> bool:
        found = world.slack.state.agents.sessions.get((root.channel, root.ts))
        return found is not None and found.status == "active" and "active" in found.changes

    await world.slack.until(rests)


async def told(world: World, kind: str, **event: Any) -> None:
    """Slack sends an event, and has its acknowledgement."""
    await world.slack.acked(await world.slack.deliver(world.slack.envelope({"type": kind, **event})))


async def opened(world: World, user: str, channel: str, **event: Any) -> None:
    await told(world, "app_home_opened", user=user, channel=channel, tab="messages", **event)


async def looks_at(world: World, user: str, *entities: Any) -> None:
    await told(world, "app_context_changed", user=user, context={"entities": [*entities]})


def message_context(message: FakeMessage) -> Any:
    value = {"channel_id": message.channel, "message_ts": message.ts}
    return {"type": "slack#/types/message_context", "value": value}


async def hang() -> None:
    await asyncio.Event().wait()


class HangingSearch:
    """The port Memories: a search in it takes for ever."""

    def __init__(self) -> None:
        self.searching = asyncio.Event()

    async def search(self, query: RecallQuery) -> list[Hit]:  # noqa: ARG002 -- it finds nothing
        self.searching.set()
        await hang()
        return []

    async def index_more(self, job: Job) -> bool:  # noqa: ARG002 -- it has nothing to do
        return False


@asynccontextmanager
async def searching(
    at_work: AtWork, script: Sequence[Answer | Answering] | Answering
) -> AsyncGenerator[tuple[World, HangingSearch], None]:
    async with at_work(script) as world:
        hanging = HangingSearch()
        world.store = replace(store_in_memory(), memories=hanging)
        yield world, hanging


# Direct messages


async def test_each_thread_of_a_direct_message_is_a_conversation_with_its_own_history(at_work: AtWork) -> None:
    async with at_work(["Blue.", "White.", "Nothing."]) as world, world.running():
        first = await world.slack.say(world.ann, world.dm, "which colour has the boat?")
        await world.answered(1)
        await world.slack.say(world.ann, world.dm, "and its sails?", first.ts)
        await world.answered(2)
        await world.slack.say(world.ann, world.dm, "what did I ask?")
        await world.answered(3)
    assert [answer.text for answer in world.slack.state.answers(world.dm, first.ts)] == ["Blue.", "White."]
    in_thread, beside = world.model.requests[1:]
    assert any("which colour has the boat?" in message.text for message in in_thread)
    assert not any("which colour" in message.text for message in beside)


# Sessions


async def test_a_thread_works_while_it_is_answered_and_is_named_by_its_first_question(at_work: AtWork) -> None:
    async with at_work([[ScriptPause(5), "Blue."], [ScriptPause(5), "White."]]) as world, world.running():
        root = await world.slack.say(world.ann, world.dm, "which colour\nhas *the boat*?")
        await world.slack.until(lambda: (world.dm, root.ts) in world.slack.state.agents.sessions)
        assert session(world, root).status == "processing"
        await world.answered(1)
        await at_rest(world, root)
        await world.slack.say(world.ann, world.dm, "and its sails?", root.ts)
        await world.answered(2)
        await world.slack.until(lambda: session(world, root).changes.count("active") == 2)
        named = session(world, root)
    assert (named.title, named.initiator) == ("which colour has the boat?", world.ann)
    assert named.changes[0] == "processing"
    assert named.status == "active"
    assert not world.slack.state.called("agents.sessions.rename")


async def test_a_session_without_a_title_gets_one_and_one_that_a_person_named_keeps_it(at_work: AtWork) -> None:
    async with at_work([[ScriptPause(5), "One."], [ScriptPause(5), "Two."]]) as world, world.running():
        named, nameless = (world.slack.state.write(world.bob, world.general, "hello") for _ in range(2))
        for root in (named, nameless):
            world.slack.state.agents.sessions[root.channel, root.ts] = FakeSession(world.slack.clock)
        about = {"channel": world.general, "thread_ts": named.ts, "user": world.bob, "title": ""}
        await told(world, "agent_session_title_changed", **about)
        for root in (named, nameless):
            await world.slack.say(world.ann, world.general, f"{ME} which colour?", root.ts)
        await world.answered(2)
        for root in (named, nameless):
            await at_rest(world, root)
        titles = [session(world, root).title for root in (named, nameless)]
    assert titles == ["", "which colour?"]


async def test_people_see_what_the_agent_does_call_by_call_also_in_channels(at_work: AtWork) -> None:
    async with searching(at_work, [[ScriptPause(5), RECALL], "Nothing."]) as (world, hanging), world.running():
        root = await world.slack.say(world.ann, world.general, f"{ME} where is the boat?")
        await hanging.searching.wait()
        await world.slack.until(lambda: len(world.slack.state.statuses) == 2)
        working = session(world, root)
        assert working.lines == [
            ("is thinking…", tuple(loading_messages(reply_texts.THINKING))),
            ("is searching past threads…", ("Searching past threads…",)),
        ]
        assert (working.line, working.status) == ("is searching past threads…", "processing")


async def test_a_line_that_lasts_is_shown_again_before_slack_takes_it_away(at_work: AtWork) -> None:
    async with at_work([[ScriptPause(290), "At last."]], FastClock(speed=100)) as world, world.running():
        root = await world.slack.say(world.ann, world.dm, "hello?")
        await world.slack.until(lambda: len(world.slack.state.statuses) >= 3)
        lines = {line for line, _ in session(world, root).lines[:3]}
        await world.answered()
        await at_rest(world, root)
        assert session(world, root).line == ""
    assert lines == {"is thinking…"}


async def test_a_line_goes_where_nothing_is_said_after_all(at_work: AtWork) -> None:
    async with at_work([[Until(hang)]]) as world, world.running():
        root = await world.slack.say(world.ann, world.dm, "hello?")
        await world.slack.until(lambda: world.slack.state.statuses)
        gone = {"subtype": "message_deleted", "channel": world.dm, "deleted_ts": root.ts}
        await told(world, "message", **gone, previous_message=root.wire())
        await world.answered()
        await at_rest(world, root)
        assert session(world, root).line == ""
    assert not world.slack.state.answers(world.dm)


# Stops


async def test_slacks_stop_button_stops_a_tool_call_in_that_thread_only(at_work: AtWork) -> None:
    def script(messages: Sequence[Message]) -> Answer:
        return RECALL if "boat" in asked(messages) else [ScriptPause(2), "Still here."]

    async with searching(at_work, script) as (world, hanging):
        async with world.running():
            root = await world.slack.say(world.ann, world.dm, "where is the boat?")
            await hanging.searching.wait()
            other = await world.slack.say(world.ann, world.dm, "hello?")
            await world.slack.until(lambda: (world.dm, other.ts) in world.slack.state.agents.sessions)
            stop = {"channel": world.dm, "user": world.ann, "thread_ts": root.ts}
            await told(world, "agent_session_stopped", **stop, streaming_message_ts=[])
            await world.answered(2)
            await at_rest(world, root)
            await at_rest(world, other)
        assert answer_to(world, root).text == reply_texts.STOPPED
        assert answer_to(world, other).text == "Still here."


async def test_a_stop_where_nothing_runs_any_more_still_sets_the_session_at_rest(at_work: AtWork) -> None:
    async with at_work([]) as world, world.running():
        root = world.slack.state.write(BOT_USER, world.dm, "Good morning.")
        stuck = world.slack.state.agents.sessions[world.dm, root.ts] = FakeSession(world.slack.clock)
        stuck.set("processing")
        await told(world, "agent_session_stopped", channel=world.dm, user=world.ann, thread_ts=root.ts)
        await at_rest(world, root)


# Refusals


@pytest.mark.parametrize(
    ("method", "fault"),
    one_in(
        3, ORNAMENTS, [Fault(error="feature_disabled"), Fault(error="channel_type_not_supported"), limited(600), DOWN]
    ),
)
async def test_an_ornament_that_is_refused_leaves_the_answer_untouched_and_is_not_asked_for_at_once_again(
    at_work: AtWork, method: str, fault: Fault
) -> None:
    async with at_work([[ScriptPause(1), "One."], [ScriptPause(1), "Two."]]) as world, world.running():
        world.slack.faults[method] += [fault] * 10
        await opened(world, world.ann, world.dm)
        root = world.slack.state.write(BOT_USER, world.dm, "Good morning.")
        world.slack.state.agents.sessions[world.dm, root.ts] = FakeSession(world.slack.clock)
        await world.slack.say(world.ann, world.dm, "one?", root.ts)
        await world.answered(1)
        await world.slack.say(world.ann, world.dm, "two?", root.ts)
        await world.answered(2)
        asked_for = 10 - len(world.slack.faults[method])
    assert [answer.text for answer in world.slack.state.answers(world.dm, root.ts)] == ["One.", "Two."]
    assert asked_for <= 1


async def test_an_app_that_is_no_agent_answers_like_any_other(at_work: AtWork) -> None:
    async with at_work([[ScriptPause(1), "One."], [ScriptPause(1), "Two."]]) as world, world.running():
        world.slack.state.agents.enabled = False
        await opened(world, world.ann, world.dm)
        for number in (1, 2):
            await world.slack.say(world.ann, world.dm, "hello?")
            await world.answered(number)
    assert [answer.text for answer in world.slack.state.answers(world.dm)] == ["One.", "Two."]
    assert [status for _, _, status in world.slack.state.statuses] == ["is thinking…"] * 2


# Suggestions


async def test_who_opens_the_conversations_is_offered_general_questions_first_and_then_their_own(
    at_work: AtWork,
) -> None:
    async with at_work(["Blue."]) as world, world.running():
        prompts = world.slack.state.agents.prompts
        await opened(world, world.bob, world.slack.state.channel("bob", "im"))
        await world.slack.until(lambda: prompts)
        assert prompts["D0BOB"] == tuple((each.title, each.message) for each in GENERAL)
        await world.slack.say(world.ann, world.dm, "which colour has the boat?")
        await world.answered()
        await opened(world, world.ann, world.dm)
        await world.slack.until(lambda: world.dm in prompts)
    assert "which colour has the boat?" in prompts[world.dm][0][1]
    assert all(
        "thread_ts" not in call.args for call in world.slack.state.called("assistant.threads.setSuggestedPrompts")
    )


async def test_suggestions_are_offered_once_in_a_while_and_not_beside_the_home_tab(at_work: AtWork) -> None:
    async with at_work([]) as world, world.running():
        await told(world, "app_home_opened", user=world.bob, channel="D0BOB", tab="home")
        for _ in range(3):
            await opened(world, world.ann, world.dm)
        await world.slack.until(lambda: world.slack.state.agents.prompts)
    assert len(world.slack.state.called("assistant.threads.setSuggestedPrompts")) == 1


async def test_a_guest_who_cannot_use_agents_is_no_trouble(at_work: AtWork) -> None:
    async with at_work([]) as world, world.running():
        guest = world.slack.state.user("gil", is_ultra_restricted=True)
        await opened(world, guest, world.slack.state.channel("gil", "im"), context={"entities": []})
        await opened(world, "U0UNKNOWN", "D0UNKNOWN")
        await looks_at(world, "U0UNKNOWN")
        await told(world, "agent_session_stopped", channel="D0UNKNOWN", user="U0UNKNOWN")
        await world.slack.settled()


# What people look at


def note_in(world: World, request: int = -1) -> str:
    """What the model was told beside the question."""
    return "\n".join(message.text for message in world.model.requests[request])


async def test_a_message_that_the_person_looks_at_is_read_where_it_may_be_used(at_work: AtWork) -> None:
    async with at_work(["Blue.", "White."]) as world, world.running():
        public = world.slack.state.write(world.bob, world.general, "The boat is vermilion.")
        mine = world.slack.state.channel("mine", "private")
        private = world.slack.state.write(world.bob, mine, "The sails are ivory.")
        await looks_at(world, world.ann, message_context(public), message_context(private))
        await world.slack.say(world.ann, world.dm, "what is this about?")
        await world.answered(1)
        await world.slack.say(world.ann, world.dm, "and now?")
        await world.answered(2)
    assert "The boat is vermilion." in note_in(world, 0)
    assert "The sails are ivory." in note_in(world, 0)
    assert MESSAGE in note_in(world, 0)
    assert "vermilion" not in note_in(world, 1)


async def test_a_message_of_a_channel_that_the_person_has_left_is_not_read(at_work: AtWork) -> None:
    async with at_work(["I do not know."]) as world, world.running():
        secret = world.slack.state.channel("secret", "private")
        world.slack.state.channels[secret].members.discard(world.ann)
        message = world.slack.state.write(world.bob, secret, "The sails are ivory.")
        await looks_at(world, world.ann, message_context(message))
        await world.slack.say(world.ann, world.dm, "what is this about?")
        await world.answered()
    assert "ivory" not in note_in(world)
    assert NOTE in note_in(world)
    assert message.ts.replace(".", "") in note_in(world)


async def test_channels_canvases_and_lists_are_named_and_not_read(at_work: AtWork) -> None:
    async with at_work(["It is about boats."]) as world, world.running():
        world.slack.state.channels[world.general].facts["name"] = "general"
        world.slack.state.write(world.bob, world.general, "The boat is vermilion.")
        things = [("channel_id", world.general), ("channel_id", world.dm), ("canvas_id", "F1"), ("list_id", "F2")]
        entities = [{"type": f"slack#/types/{kind}", "value": value} for kind, value in things]
        folded = {"app_context": {"entities": entities}}
        message = world.slack.state.write(world.ann, world.dm, "what is this about?")
        (event,) = world.slack.events_of(message)
        await looks_at(world, world.ann, {"type": "slack#/types/canvas_id", "value": "F0OLD"})
        await world.slack.deliver(world.slack.envelope({**event, **folded}))
        await world.answered()
    note = note_in(world)
    assert f"the channel #general (https://fake.slack.com/archives/{world.general})" in note
    assert f"a canvas (https://fake.slack.com/docs/{TEAM}/F1)" in note
    assert f"a list (https://fake.slack.com/lists/{TEAM}/F2)" in note
    assert "vermilion" not in note
    assert "F0OLD" not in note
    assert f"archives/{world.dm})" not in note


async def test_what_somebody_looks_at_is_not_told_in_a_channel_and_forgotten_in_time(at_work: AtWork) -> None:
    canvas = {"type": "slack#/types/canvas_id", "value": "F0CANVAS"}
    async with at_work(["One.", "Two."], FastClock(speed=4_000)) as world, world.running():
        await looks_at(world, world.ann, canvas)
        await world.slack.say(world.ann, world.general, f"{ME} what is this about?")
        await world.answered(1)
        await looks_at(world, world.ann, canvas)
        await world.slack.clock.sleep(1_000)
        await world.slack.say(world.ann, world.dm, "what is this about?")
        await world.answered(2)
    assert "F0CANVAS" not in note_in(world, 0)
    assert "F0CANVAS" not in note_in(world, 1)
