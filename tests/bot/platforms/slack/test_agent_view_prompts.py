"""Prompts are suggested to a person who opens the agent's conversations."""

from agent.errors import StoreError
from agent.memory.audience import PersonAudience
from agent.ports.tools import Asker
from bot.chat.ports import Suggestion
from bot.platforms.slack.agent_view import GENERAL, PROMPTS_INTERVAL_S, TITLE_CHARS
from tests.fakes.fast_clock import MovedClock
from tests.fakes.host import FakeHost
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving

ANN, DM = "U0ANN", "D0ANN"
METHOD = "assistant.threads.setSuggestedPrompts"
OWN = Suggestion("Go on: the boat", "Where did we stop with the boat?")


class Suggesting(FakeHost):
    """A host that records for whom it was asked."""

    viewer: Asker | None = None

    async def suggest(self, viewer: Asker, limit: int) -> tuple[Suggestion, ...]:
        self.viewer = viewer
        self.fail()
        return await super().suggest(viewer, limit)


async def open_messages(slack: FakeSlack, tab: str = "messages") -> None:
    event = {"type": "app_home_opened", "user": ANN, "channel": DM, "tab": tab}
    await slack.acked(await slack.deliver(slack.envelope(event)))


async def test_what_is_known_about_a_person_is_offered_to_them_alone(slack: FakeSlack) -> None:
    long = Suggestion("About " + "boats " * 20, "What do you know about boats?")
    host = Suggesting(suggested=(OWN, long, OWN, OWN, OWN))
    async with serving(slack, host):
        await open_messages(slack)
        await slack.until(lambda: slack.state.agents.prompts)
    offered = slack.state.agents.prompts[DM]
    assert offered[0] == (OWN.title, OWN.message)
    assert len(offered) == 4
    assert all(len(title) <= TITLE_CHARS for title, _ in offered)
    assert host.viewer is not None
    assert host.viewer.place.audience == PersonAudience(f"slack:T0TEAM:{ANN}")


async def test_little_that_is_known_is_followed_by_what_anybody_may_ask(slack: FakeSlack) -> None:
    async with serving(slack, Suggesting(suggested=(OWN,))):
        await open_messages(slack)
        await slack.until(lambda: slack.state.agents.prompts)
    assert [message for _, message in slack.state.agents.prompts[DM]] == [
        OWN.message,
        *(each.message for each in GENERAL[:3]),
    ]


async def test_where_nothing_can_be_looked_up_the_general_ones_are_offered(slack: FakeSlack) -> None:
    async with serving(slack, Suggesting(suggested=(OWN,), fail_next=StoreError("The disk is full."))):
        await open_messages(slack)
        await slack.until(lambda: slack.state.agents.prompts)
    assert [message for _, message in slack.state.agents.prompts[DM]] == [each.message for each in GENERAL]


async def test_they_are_offered_anew_after_a_while() -> None:
    clock = MovedClock()
    async with FakeSlack(clock) as slack:
        slack.state.user("ann")
        slack.state.channel("ann", "im")
        async with serving(slack, FakeHost(suggested=(OWN,))):
            for _ in range(2):
                await open_messages(slack)
            await slack.until(lambda: slack.state.called(METHOD))
            clock.ahead_s += PROMPTS_INTERVAL_S + 1
            await open_messages(slack)
            await slack.until(lambda: len(slack.state.called(METHOD)) == 2)
