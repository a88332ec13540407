"""Prompts are suggested to a person who opens the agent's conversations."""

from dataclasses import replace

from agent.errors import StoreError
from agent.stored_messages import Thread
from bot.chat.ports import Suggestion
from bot.platforms.slack.agent_view import GENERAL, PROMPTS_INTERVAL_S, TITLE_CHARS
from tests.fakes.fast_clock import MovedClock
from tests.fakes.incoming import said
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.store import StoreInMemory, WatchedConversations, store_in_memory

ANN, DM = "U0ANN", "D0ANN"
METHOD = "assistant.threads.setSuggestedPrompts"
PERSON = f"slack:T0TEAM:{ANN}"
QUESTION = "Which colour has the boat?"
OWN = Suggestion(
    "Continue: Which colour has the boat?",
    "Let's continue with this: “Which colour has the boat?”. Where did we stop, and what is next?",
)


class Unreadable(WatchedConversations):
    async def threads(
        self,
        person: str,  # noqa: ARG002 -- it fails for everybody
        limit: int,  # noqa: ARG002 -- it fails for everybody
        audiences: frozenset[str] | None = None,  # noqa: ARG002 -- it fails for everybody
    ) -> list[Thread]:
        raise StoreError("The disk is full.")


async def talked(store: StoreInMemory, *questions: str) -> RecordingHost:
    """A host that ann asked all this, alone, the last one at last."""
    for question in questions:
        await store.hear(said(question, person=PERSON, conversation=question))
    return recording_host(store)


async def open_messages(slack: FakeSlack, tab: str = "messages") -> None:
    event = {"type": "app_home_opened", "user": ANN, "channel": DM, "tab": tab}
    await slack.acked(await slack.deliver(slack.envelope(event)))


async def test_what_is_known_about_a_person_is_offered_to_them_alone(slack: FakeSlack) -> None:
    host = await talked(store_in_memory(), "One?", "Two?", "About " + "boats " * 20, "Three?", QUESTION)
    async with serving(slack, host):
        await open_messages(slack)
        await slack.until(lambda: slack.state.agents.prompts)
    offered = slack.state.agents.prompts[DM]
    assert offered[0] == (OWN.title, OWN.message)
    assert len(offered) == 4
    assert all(len(title) <= TITLE_CHARS for title, _ in offered)


async def test_little_that_is_known_is_followed_by_what_anybody_may_ask(slack: FakeSlack) -> None:
    async with serving(slack, await talked(store_in_memory(), QUESTION)):
        await open_messages(slack)
        await slack.until(lambda: slack.state.agents.prompts)
    assert [message for _, message in slack.state.agents.prompts[DM]] == [
        OWN.message,
        *(each.message for each in GENERAL[:3]),
    ]


async def test_where_nothing_can_be_looked_up_the_general_ones_are_offered(slack: FakeSlack) -> None:
    store = store_in_memory()
    async with serving(slack, await talked(replace(store, conversations=Unreadable(store.database)), QUESTION)):
        await open_messages(slack)
        await slack.until(lambda: slack.state.agents.prompts)
    assert [message for _, message in slack.state.agents.prompts[DM]] == [each.message for each in GENERAL]


async def test_they_are_offered_anew_after_a_while() -> None:
    clock = MovedClock()
    async with FakeSlack(clock) as slack:
        slack.state.user("ann")
        slack.state.channel("ann", "im")
        async with serving(slack, await talked(store_in_memory(), QUESTION)):
            for _ in range(2):
                await open_messages(slack)
            await slack.until(lambda: slack.state.called(METHOD))
            clock.ahead_s += PROMPTS_INTERVAL_S + 1
            await open_messages(slack)
            await slack.until(lambda: len(slack.state.called(METHOD)) == 2)
