"""A due schedule on Discord: what its person may do now, where, and how it is posted."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agent.admission_terms import Authority
from agent.errors import CogencyError
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience
from agent.schedules.definitions import NotAllowed, Occurrence, ScheduleKind
from agent.schedules.port import SchedulePlatform
from bot.chat.access.acl import AccessRules, parse_entries
from bot.chat.reply.surface import OF_REMINDERS, PageContent, PageKey, PageRefused
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.members import ZONE
from tests.fakes.discord_bot import WINDOW_S, by_the_bot, serving
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, DM_OF, GENERAL, GUILD, STAFF, VIEW, Payload
from tests.fakes.fast_clock import FastClock
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.fakes.schedules import NINE, due

PERSON = f"discord:{BO}"
TEAM = f"discord:{GUILD}"
PUBLIC = Place(TeamAudience(TEAM), within_team=TEAM)
ALONE = Place(PersonAudience(PERSON), within_team=TEAM)
FORUM, POST, PRIVATE_THREAD = "25", "26", "27"


def closed(channel: str) -> Place:
    return Place(GroupAudience(f"discord:{channel}"), within_team=TEAM, whole_channel=channel == STAFF)


@asynccontextmanager
async def asking(allow: str = "") -> AsyncGenerator[tuple[FakeDiscord, RecordingHost, SchedulePlatform], None]:
    clock, host = FastClock(speed=1.0), recording_host()
    host.restrict(AccessRules(allow=parse_entries(allow)))
    await host.preferences.set(PERSON, ZONE, "Asia/Tokyo")
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        fake.world.everyone_may = str(VIEW | 1 << 11 | 1 << 16 | 1 << 38)
        fake.world.roles_of[BO] = ["35"]
        _let_in(fake)
        fake.world.open_channel(FORUM, "help", 15)
        fake.world.start_thread(FORUM, POST, "how?")
        fake.world.start_thread(GENERAL, PRIVATE_THREAD, "plans", 12)
        fake.world.in_thread[PRIVATE_THREAD] = {BO}
        async with serving(fake, host):
            yield fake, host, host.platforms.schedules["discord"]


def _let_in(fake: FakeDiscord, person: str = BO) -> None:
    """Give the person access to the staff's channel."""
    hidden: list[Payload] = fake.world.channels[STAFF]["permission_overwrites"]
    hidden.append({"id": person, "type": 1, "allow": str(VIEW), "deny": "0"})


def of(channel: str = GENERAL, place: Place = PUBLIC, **more: Any) -> Occurrence:
    return due(PERSON, "discord", channel, place, **more)


async def test_it_is_asked_as_its_person_now_in_a_conversation_of_its_own() -> None:
    async with asking() as (_, _, platform):
        asked = await platform.admit(of(kind=ScheduleKind.QUESTION))
        assert isinstance(asked, Incoming)
        assert (asked.person.id, asked.person.name, asked.person.time_zone) == (PERSON, "Bo", "Asia/Tokyo")
        assert (asked.place, asked.authority, asked.roles) == (PUBLIC, Authority.EMPLOYEE, frozenset({"35"}))
        assert (asked.text, asked.time, asked.team) == ("Water the plants.", NINE, GUILD)
        assert asked.conversation == f"discord:{GENERAL}:scheduled:7"
        assert asked.event_id == asked.message_id == f"scheduled:7:{NINE.timestamp():.0f}"


def _opened(fake: FakeDiscord) -> None:
    fake.world.channels[STAFF]["permission_overwrites"] = []


def _shut_out(fake: FakeDiscord) -> None:
    del fake.world.channels[STAFF]["permission_overwrites"][-1]


def _muted(fake: FakeDiscord) -> None:
    """Deny the bot to write in the channel."""
    overwrites: list[Payload] = [{"id": "900", "type": 1, "allow": "0", "deny": str(1 << 11)}]
    fake.world.channels[GENERAL]["permission_overwrites"] = overwrites


Change = Callable[[FakeDiscord], object]
STOPS: dict[str, tuple[Change, Occurrence, str]] = {
    "left the channel": (_shut_out, of(STAFF, closed(STAFF)), platforms_texts.SCHEDULE_LEFT),
    "left the server": (lambda fake: fake.world.absent.add(BO), of(), platforms_texts.SCHEDULE_LEFT_SERVER),
    "left the server, alone": (
        lambda fake: fake.world.absent.add(BO),
        of(direct=True),
        reply_texts.CLOSED_TO[Authority.STRANGER],
    ),
    "has no account": (
        lambda fake: fake.world.without_account.add(BO),
        of(direct=True),
        platforms_texts.SCHEDULE_PERSON_GONE,
    ),
    "deleted": (lambda fake: fake.world.channels.pop(GENERAL), of(), platforms_texts.SCHEDULE_PLACE_GONE),
    "out of a private thread": (
        lambda fake: fake.world.in_thread[PRIVATE_THREAD].clear(),
        of(place=closed(PRIVATE_THREAD)),
        platforms_texts.SCHEDULE_LEFT,
    ),
    "a thread was locked": (
        lambda fake: fake.world.channels[PRIVATE_THREAD]["thread_metadata"].update(locked=True, archived=True),
        of(place=closed(PRIVATE_THREAD)),
        platforms_texts.THREAD_LOCKED.format(name="plans"),
    ),
    "without the bot": (
        _muted,
        of(),
        platforms_texts.ROLE_LACKS.format(channel="general", missing="Send Messages"),
    ),
    "open to all": (_opened, of(STAFF, closed(STAFF)), platforms_texts.SCHEDULE_WIDER),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", STOPS)
async def test_what_was_taken_away_a_moment_ago_ends_it_with_a_reason(what: str) -> None:
    change, occurrence, why = STOPS[what]
    async with asking() as (fake, _, platform):
        assert isinstance(await platform.admit(occurrence), Incoming)
        change(fake)
        assert await platform.admit(occurrence) == NotAllowed(why)


async def test_who_lost_the_role_that_lets_them_in_is_refused() -> None:
    async with asking(allow="role:35") as (fake, _, platform):
        for occurrence in (of(), of(direct=True)):
            fake.world.roles_of[BO] = ["35"]
            assert isinstance(await platform.admit(occurrence), Incoming)
            fake.world.roles_of[BO] = []
            assert await platform.admit(occurrence) == NotAllowed(reply_texts.NOT_ALLOWED["role"])


async def test_where_fewer_read_it_now_they_do() -> None:
    async with asking() as (_, _, platform):
        asked = await platform.admit(of(STAFF))
        assert isinstance(asked, Incoming)
        assert asked.place == closed(STAFF)


@pytest.mark.parametrize("path", [f"/guilds/{GUILD}/members/{BO}", f"/channels/{GENERAL}"])
async def test_what_discord_does_not_tell_now_is_no_reason_to_end_it(path: str) -> None:
    async with asking() as (fake, _, platform):
        fake.rest.fail("GET", path, 400)
        with pytest.raises(CogencyError):
            await platform.admit(of())
        assert isinstance(await platform.admit(of()), Incoming)


KEY = PageKey(3, 0)
REMINDER = PageContent("Water the plants. <@41>")  # Without buttons yet


@pytest.mark.parametrize(
    ("occurrence", "where"),
    [
        (of(), GENERAL),
        (of(conversation="discord:123"), GENERAL),
        (of(place=closed(PRIVATE_THREAD)), PRIVATE_THREAD),
        (of(FORUM, conversation=f"discord:{POST}"), POST),
    ],
)
async def test_a_reminder_is_posted_once_where_its_people_read_and_calls_its_person_alone(
    occurrence: Occurrence, where: str
) -> None:
    async with asking() as (fake, host, platform):
        asked = await platform.admit(occurrence)
        assert isinstance(asked, Incoming)
        posted = await host.platforms.surfaces["discord"](asked).post(KEY, REMINDER)
        fake.rest.forget_nonces()
        for number in range(60):
            fake.world.message(where, ANN, f"talk {number}")
        assert await host.platforms.surfaces["discord"](asked).find(KEY) == posted
        assert await host.platforms.surfaces["discord"](asked).find(PageKey(4, 0)) is None
        (post,) = by_the_bot(fake)
        assert (post["channel_id"], post["content"]) == (where, f"<@{BO}> Water the plants. <@41>")
        assert "message_reference" not in post
        (sent,) = [call.body for call in fake.calls if "nonce" in call.body]
        assert sent["allowed_mentions"] == {"parse": [], "replied_user": False, "users": [BO]}
        assert host.platforms.surfaces["discord"](asked).limits.offers == OF_REMINDERS


async def test_words_for_its_person_alone_go_to_their_direct_messages_and_call_nobody() -> None:
    async with asking() as (fake, host, platform):
        told = await platform.direct(of(STAFF, closed(STAFF)).schedule, NINE)
        alone = await platform.admit(of(STAFF, closed(STAFF), direct=True))
        assert isinstance(alone, Incoming)
        assert (told.place.audience, alone.place) == (ALONE.audience, ALONE)
        assert told.event_id != alone.event_id
        await host.platforms.surfaces["discord"](told).post(KEY, REMINDER)
        (post,) = by_the_bot(fake)
        assert (post["channel_id"], post["content"]) == (DM_OF[BO], REMINDER.text)


async def test_where_direct_messages_are_closed_that_is_found_out_by_posting_and_never_tried_again() -> None:
    async with asking() as (fake, host, platform):
        fake.world.closed_dms.add(DM_OF[BO])
        told = await platform.direct(of().schedule, NINE)
        with pytest.raises(PageRefused):
            await host.platforms.surfaces["discord"](told).post(KEY, REMINDER)


async def test_a_scheduled_question_types_nowhere_while_it_is_worked_on() -> None:
    async with asking() as (fake, host, platform):
        asked = await platform.admit(of(kind=ScheduleKind.QUESTION))
        assert isinstance(asked, Incoming)
        surface = host.platforms.surfaces["discord"](asked)
        await surface.status("Searching…")
        await surface.post(KEY, REMINDER)
        assert not [call for call in fake.calls if call.path.endswith("/typing")]
        assert by_the_bot(fake)[0]["content"] == REMINDER.text
