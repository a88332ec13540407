"""A schedule that is due on Slack: whether it may be carried out now, where, and how it is posted."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.admission_terms import Authority
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience
from agent.schedules.definitions import NotAllowed, Occurrence, ScheduleKind
from agent.schedules.port import SchedulePlatform
from bot.chat.access.acl import AccessRules, parse_entries
from bot.chat.reply.surface import OF_REMINDERS, PageContent, PageKey, ReplyAction
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.api import SlackError
from bot.platforms.slack.reply_to import decode_reply_to
from tests.fakes.fast_clock import MovedClock
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.fakes.schedules import NINE, due
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_faults import DOWN, Fault, limited
from tests.fakes.slack_things import BOT_USER, TEAM

SOURCE = f"slack:{TEAM}"
ANN, GENERAL, SECRET, DM = "U0ANN", "C0GENERAL", "C0SECRET", "D0ANN"
PERSON = f"{SOURCE}:{ANN}"
PUBLIC = Place(TeamAudience(SOURCE), within_team=SOURCE)
CLOSED = Place(GroupAudience(f"{SOURCE}:{SECRET}"), whole_channel=True)
ALONE = Place(PersonAudience(PERSON), within_team=SOURCE)


@asynccontextmanager
async def asking(
    allow: str = "",
) -> AsyncGenerator[tuple[FakeSlack, RecordingHost, MovedClock, SchedulePlatform], None]:
    clock, host = MovedClock(speed=10.0), recording_host()
    host.restrict(AccessRules(allow=parse_entries(allow)))
    async with FakeSlack(clock) as slack:
        slack.state.user("ann")
        slack.state.user("bob")
        slack.state.channel("general")
        slack.state.channel("secret", "private")
        slack.state.channel("ann", "im")
        slack.state.groups = {"S0CREW": {ANN}}
        groups = frozenset({"S0CREW"}) if allow else frozenset[str]()
        async with serving(slack, host, clock, groups=groups):
            yield slack, host, clock, host.platforms.schedules[SOURCE]


def of(channel: str = GENERAL, place: Place = PUBLIC, **more: Any) -> Occurrence:
    return due(PERSON, SOURCE, channel, place, **more)


async def test_it_is_asked_as_its_person_now_in_a_conversation_of_its_own() -> None:
    async with asking() as (_, _, _, platform):
        asked = await platform.admit(of(kind=ScheduleKind.QUESTION))
        assert isinstance(asked, Incoming)
        assert (asked.person.id, asked.person.time_zone) == (PERSON, "Europe/Paris")
        assert (asked.place, asked.authority, asked.team) == (PUBLIC, Authority.EMPLOYEE, TEAM)
        assert (asked.text, asked.time) == ("Water the plants.", NINE)
        assert asked.conversation == f"{SOURCE}:{GENERAL}:scheduled:7"
        assert asked.event_id == asked.message_id == f"scheduled:7:{NINE.timestamp():.0f}"
        assert decode_reply_to(asked.reply_to).thread_ts == ""


Change = Callable[[FakeSlack], object]
STOPS: dict[str, tuple[Change, Occurrence, str]] = {
    "left the channel": (
        lambda slack: slack.state.channels[GENERAL].members.discard(ANN),
        of(),
        platforms_texts.SCHEDULE_LEFT,
    ),
    "left a private one": (
        lambda slack: slack.state.channels[SECRET].members.discard(ANN),
        of(SECRET, CLOSED),
        platforms_texts.SCHEDULE_LEFT,
    ),
    "was deactivated": (
        lambda slack: slack.state.users[ANN].facts.update(deleted=True),
        of(),
        platforms_texts.SCHEDULE_PERSON_GONE,
    ),
    "became a guest": (
        lambda slack: slack.state.users[ANN].facts.update(is_restricted=True),
        of(),
        reply_texts.CLOSED_TO[Authority.GUEST],
    ),
    "left the workspace": (
        lambda slack: slack.state.users.pop(ANN),
        of(direct=True),
        reply_texts.CLOSED_TO[Authority.STRANGER],
    ),
    "archived": (
        lambda slack: slack.state.channels[GENERAL].facts.update(is_archived=True),
        of(),
        platforms_texts.SCHEDULE_ARCHIVED,
    ),
    "deleted": (lambda slack: slack.state.channels.pop(GENERAL), of(), platforms_texts.SCHEDULE_PLACE_GONE),
    "without the bot": (
        lambda slack: slack.state.channels[GENERAL].members.discard(BOT_USER),
        of(),
        platforms_texts.SCHEDULE_WITHOUT_ME,
    ),
    "private without the bot": (
        lambda slack: slack.state.channels[SECRET].members.discard(BOT_USER),
        of(SECRET, CLOSED),
        platforms_texts.SCHEDULE_PLACE_GONE,
    ),
    "became public": (
        lambda slack: setattr(slack.state.channels[SECRET], "kind", "public"),
        of(SECRET, CLOSED),
        platforms_texts.SCHEDULE_WIDER,
    ),
    "became shared": (
        lambda slack: slack.state.channels[GENERAL].facts.update(is_ext_shared=True),
        of(),
        platforms_texts.SCHEDULE_WIDER,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", STOPS)
async def test_what_was_taken_away_a_moment_ago_ends_it_with_a_reason(what: str) -> None:
    change, occurrence, why = STOPS[what]
    async with asking() as (slack, _, clock, platform):
        assert isinstance(await platform.admit(occurrence), Incoming)
        change(slack)
        clock.ahead_s += 6
        assert await platform.admit(occurrence) == NotAllowed(why)


async def test_a_private_channel_that_was_shared_since_ends_it_and_one_that_was_shared_before_does_not() -> None:
    async with asking() as (slack, _, clock, platform):
        early, late = (of(SECRET, CLOSED, created=clock.now() + timedelta(seconds=s)) for s in (-60, 60))
        await slack.deliver(slack.envelope({"type": "channel_shared", "channel": SECRET}))
        slack.state.channels[SECRET].facts["is_ext_shared"] = True
        await slack.settled()
        assert await platform.admit(early) == NotAllowed(platforms_texts.SCHEDULE_WIDER)
        assert isinstance(await platform.admit(late), Incoming)


async def test_where_fewer_read_it_now_they_do_and_guests_let_nothing_else_in() -> None:
    async with asking() as (slack, _, clock, platform):
        slack.state.channels[GENERAL].kind = "private"
        asked = await platform.admit(of())
        assert isinstance(asked, Incoming)
        assert asked.place.is_closed
        slack.state.channels[GENERAL].kind = "public"
        clock.ahead_s += 6
        unsure = await platform.admit(of(place=Place(GroupAudience(f"{SOURCE}:{GENERAL}"))))
        assert isinstance(unsure, Incoming)
        assert unsure.place == Place(GroupAudience(f"{SOURCE}:{GENERAL}"))


async def test_who_lost_the_group_that_lets_them_in_is_refused_and_what_is_not_known_is_tried_again() -> None:
    async with asking(allow="role:S0CREW") as (slack, _, clock, platform):
        assert isinstance(await platform.admit(of()), Incoming)
        clock.ahead_s += 6
        slack.faults["usergroups.users.list"].append(DOWN)
        with pytest.raises(SlackError):
            await platform.admit(of())
        clock.ahead_s += 6
        slack.state.groups["S0CREW"] = set()
        assert await platform.admit(of()) == NotAllowed(reply_texts.NOT_ALLOWED["role"])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["users.info", "conversations.info", "conversations.members"])
async def test_what_slack_does_not_tell_now_is_no_reason_to_end_it(method: str) -> None:
    async with asking() as (slack, _, clock, platform):
        for fault in (DOWN, limited(30)):
            clock.ahead_s += 6
            slack.faults[method].append(fault)
            with pytest.raises(SlackError):
                await platform.admit(of())
        assert isinstance(await platform.admit(of()), Incoming)


KEY = PageKey(3, 0)
SAID = PageContent("Water the plants. <@U0BOB>", final=True, last=True, turn=3, offers=frozenset(ReplyAction))


async def test_a_reminder_is_posted_once_outside_of_threads_and_calls_its_person_alone() -> None:
    async with asking() as (slack, host, clock, platform):
        asked = await platform.admit(of())
        assert isinstance(asked, Incoming)
        await host.platforms.surfaces[SOURCE](asked).post(KEY, SAID)
        for number in range(120):
            slack.state.write("U0BOB", GENERAL, f"talk {number}")
        clock.ahead_s += 60
        found = await host.platforms.surfaces[SOURCE](asked).find(KEY)
        (post,) = slack.state.answers(GENERAL)
        assert (post.ts, post.thread_ts) == (found and found.id, "")
        mention, words = post.blocks[:2]
        assert mention["text"]["text"] == f"<@{ANN}>"
        assert "<@U0BOB>" not in words["text"]
        assert not slack.state.statuses


async def test_below_a_reminder_there_is_nothing_to_stop_to_judge_or_to_repeat() -> None:
    async with asking() as (_, host, _, platform):
        for kind, offers in ((ScheduleKind.REMINDER, OF_REMINDERS), (ScheduleKind.QUESTION, None)):
            asked = await platform.admit(of(kind=kind))
            assert isinstance(asked, Incoming)
            shown = host.platforms.surfaces[SOURCE](asked).limits.offers
            assert shown == offers if offers else ReplyAction.REGENERATE in shown


async def test_words_for_its_person_alone_go_to_their_direct_messages_and_call_nobody() -> None:
    async with asking() as (slack, host, _, platform):
        told = await platform.direct(of(SECRET, CLOSED).schedule, NINE)
        alone = await platform.admit(of(SECRET, CLOSED, direct=True))
        assert isinstance(alone, Incoming)
        assert {told.channel, alone.channel} == {DM}
        assert {told.place, alone.place} == {ALONE}
        assert told.event_id != alone.event_id
        await host.platforms.surfaces[SOURCE](told).post(KEY, SAID)
        (post,) = slack.state.answers(DM)
        assert not any("<@" in str(block) for block in post.blocks)


async def test_where_direct_messages_cannot_be_opened_the_words_are_posted_to_the_person() -> None:
    async with asking() as (slack, host, _, platform):
        slack.faults["conversations.open"].append(Fault(error="missing_scope"))
        told = await platform.direct(of().schedule, NINE)
        await host.platforms.surfaces[SOURCE](told).post(KEY, SAID)
        assert [post.text for post in slack.state.answers(DM)]


async def test_a_scheduled_question_that_is_asked_again_by_its_button_is_answered_as_a_persons() -> None:
    async with asking() as (slack, host, _, platform):
        asked = await platform.admit(of(kind=ScheduleKind.QUESTION))
        assert isinstance(asked, Incoming)
        await host.platforms.surfaces[SOURCE](asked).post(PageKey(1, 0), replace(SAID, turn=1))
        (post,) = slack.state.answers(GENERAL)
        assert await host.store_reply(asked, post.ts) == 1
        await slack.click(ANN, post, "Regenerate")
        await slack.until(lambda: host.taken)
        assert (host.taken[0].conversation, host.taken[0].text) == (asked.conversation, asked.text)
        assert decode_reply_to(host.taken[0].reply_to).scheduled == ""
