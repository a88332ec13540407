"""An event of a webhook on Slack: where it may be posted now, who reads it, and who is mentioned."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager

import pytest

from agent.admission_terms import Authority
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, Place, TeamAudience
from agent.ports.webhooks import EventPlatform, EventTarget
from agent.schedules.definitions import NotAllowed
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.api import SlackError, mentioning
from bot.platforms.slack.reply_to import decode_reply_to
from tests.fakes.fast_clock import MovedClock
from tests.fakes.recording_host import recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_faults import DOWN
from tests.fakes.slack_things import BOT_USER, TEAM

SOURCE = f"slack:{TEAM}"
GENERAL, SECRET = "C0GENERAL", "C0SECRET"


@asynccontextmanager
async def posting() -> AsyncGenerator[tuple[FakeSlack, EventPlatform]]:
    clock, host = MovedClock(speed=10.0), recording_host()
    async with FakeSlack(clock) as slack:
        slack.state.channel("general")
        slack.state.channel("secret", "private")
        async with serving(slack, host, clock):
            yield slack, host.platforms.events[SOURCE]


def to(channel: str = GENERAL, page: str = "", mention: tuple[str, ...] = ()) -> EventTarget:
    return EventTarget("hook:7", "alerts", channel, page, "It burns", mention)


async def test_it_is_a_message_of_nobody_with_the_readers_of_its_channel() -> None:
    async with posting() as (_, platform):
        event = await platform.event(to(mention=("U0ANN", "S0CREW")))
        assert isinstance(event, Incoming)
        assert (event.event_id, event.own, event.authority) == ("hook:7", False, Authority.STRANGER)
        assert event.place == Place(TeamAudience(SOURCE), within_team=SOURCE)
        assert event.conversation == f"{SOURCE}:{GENERAL}:hooks"
        reply = decode_reply_to(event.reply_to)
        assert (reply.channel, reply.thread_ts, reply.user, reply.mentions) == (GENERAL, "", "", "U0ANN,S0CREW")
        private = await platform.event(to(SECRET))
        assert isinstance(private, Incoming)
        assert private.place.audience == GroupAudience(f"{SOURCE}:{SECRET}")


async def test_below_a_page_it_belongs_to_the_conversation_of_that_thread() -> None:
    async with posting() as (_, platform):
        event = await platform.event(to(page="1767614415.000001"))
        assert isinstance(event, Incoming)
        assert event.conversation == f"{SOURCE}:{GENERAL}:1767614415.000001"
        assert decode_reply_to(event.reply_to).thread_ts == "1767614415.000001"


Change = Callable[[FakeSlack], object]
REFUSALS: Mapping[str, Change] = {
    platforms_texts.SCHEDULE_ARCHIVED: lambda slack: slack.state.channels[GENERAL].facts.update(is_archived=True),
    platforms_texts.SCHEDULE_PLACE_GONE: lambda slack: slack.state.channels.pop(GENERAL),
    platforms_texts.EVENT_WITHOUT_ME: lambda slack: slack.state.channels[GENERAL].members.discard(BOT_USER),
}


@pytest.mark.parametrize("why", REFUSALS)
async def test_where_it_may_not_be_posted_it_says_why(why: str) -> None:
    async with posting() as (slack, platform):
        REFUSALS[why](slack)
        assert await platform.event(to()) == NotAllowed(why)


async def test_once_the_bot_is_invited_it_is_posted() -> None:
    async with posting() as (slack, platform):
        slack.state.channels[GENERAL].members.discard(BOT_USER)
        assert isinstance(await platform.event(to()), NotAllowed)
        slack.state.channels[GENERAL].members.add(BOT_USER)
        assert isinstance(await platform.event(to()), Incoming)


async def test_while_slack_does_not_answer_nothing_is_known() -> None:
    async with posting() as (slack, platform):
        slack.faults["conversations.info"].append(DOWN)
        with pytest.raises(SlackError):
            await platform.event(to())


@pytest.mark.parametrize(
    ("ids", "mentioned"),
    [
        ("U0ANN", "<@U0ANN> x"),
        ("U0ANN,S0CREW", "<@U0ANN> <!subteam^S0CREW> x"),
        ("", "x"),
        ("!channel", "x"),
        ("C0GENERAL,here,U0ANN><!everyone", "x"),
    ],
)
def test_only_people_and_groups_are_mentioned(ids: str, mentioned: str) -> None:
    assert mentioning({"text": "x"}, ids)["text"] == mentioned
