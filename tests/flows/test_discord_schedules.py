"""What is done at a time on Discord: once, whichever process lives, and only while its person may have it done."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent.context import REMINDED
from agent.memory.audience import GroupAudience, Place, TeamAudience
from agent.providers.scripted import ScriptedProvider
from agent.schedules.definitions import NewSchedule, ScheduleKind, Timing
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.members import ZONE
from bot.schedules.scheduler import Scheduler
from store.engine import open_store
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.discord_bot import WINDOW_S, by_the_bot, serving
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import (
    BO,
    BOT,
    DM_OF,
    EVERYBODY,
    GENERAL,
    GUILD,
    STAFF,
    VIEW,
    Payload,
    labels,
    parts,
    seen,
)
from tests.fakes.fast_clock import FastClock, MovedClock
from tests.fakes.schedules import doing, ended, let_in
from tests.fakes.store import store_in_memory
from tests.flows.platform_process import discord_main
from tests.flows.test_slack_crash import processes
from tests.patience import PATIENCE_S

PERSON, TEAM, DM = f"discord:{BO}", f"discord:{GUILD}", DM_OF[BO]
PUBLIC = Place(TeamAudience(TEAM), within_team=TEAM)
WORDS, SECOND = "Water the plants.", "The second one."
MINUTE = timedelta(minutes=1)


@dataclass
class Harbour:
    """`hosts`: replicas of the bot on one database."""

    fake: FakeDiscord
    clock: MovedClock
    hosts: list[AnsweringHost]
    schedulers: list[Scheduler]
    model: ScriptedProvider

    def posts(self, channel: str = GENERAL) -> list[Payload]:
        return [said for said in by_the_bot(self.fake) if said["channel_id"] == channel and not said["flags"] & 64]

    def posted(self, channel: str = GENERAL) -> list[str]:
        return [said["content"] for said in self.posts(channel)]

    async def keep(self, words: str = WORDS, channel: str = GENERAL, place: Place = PUBLIC, **more: Any) -> None:
        """Bo has something done in five minutes."""
        now = self.clock.now()
        at = Timing("UTC", now + 5 * MINUTE)
        new = NewSchedule(PERSON, "discord", channel, place, ScheduleKind.REMINDER, words, at, now)
        await self.hosts[0].store.schedules.add(replace(new, **more))

    async def later(self) -> None:
        self.clock.ahead_s += 300
        for scheduler in self.schedulers:
            scheduler.changed()

    async def rest(self) -> None:
        """Until everything that is due was done: what is due later is a sign that it was looked at."""
        marked = f"Mark {self.clock.now().timestamp():.3f}"
        await self.keep(marked, DM, direct=True)
        await self.later()
        await self.fake.until(lambda: marked in self.posted(DM))
        async with asyncio.timeout(PATIENCE_S):
            for host in self.hosts:
                await host.turns.idle()


@asynccontextmanager
async def harbour(*script: str, allow: str = "", replicas: int = 2) -> AsyncGenerator[Harbour, None]:
    clock, store, model = MovedClock(speed=1.0), store_in_memory(), ScriptedProvider(script)
    async with running_discord(clock, window_s=WINDOW_S) as fake, AsyncExitStack() as stack:
        fake.world.everyone_may = EVERYBODY
        fake.world.roles_of[BO] = ["35"]
        hidden: list[Payload] = fake.world.channels[STAFF]["permission_overwrites"]
        hidden.append({"id": BO, "type": 1, "allow": str(VIEW), "deny": "0"})
        hosts, schedulers = list[AnsweringHost](), list[Scheduler]()
        for _ in range(replicas):
            host = answering_host(model, clock, store)
            host = let_in(host, allow) if allow else host
            hosts.append(host)
            await stack.enter_async_context(host.answering())
            await stack.enter_async_context(serving(fake, host))
            schedulers.append(await stack.enter_async_context(doing(host, store)))
        yield Harbour(fake, clock, hosts, schedulers, model)


async def test_a_reminder_comes_once_from_two_replicas_and_what_replies_to_it_knows_what_it_said() -> None:
    async with harbour("The ferns.") as here:
        await here.keep()
        await here.later()
        await here.fake.until(here.posts)
        await here.rest()
        (post,) = here.posts()
        assert post["content"] == f"<@{BO}> {WORDS}"
        assert not here.model.requests
        await here.fake.reply("41", f"<@{BOT}> which ones?", post)
        await here.fake.until(lambda: any("The ferns." in said["content"] for said in by_the_bot(here.fake)))
        assert WORDS in "\n".join(message.text for message in here.model.requests[-1])


async def test_who_answers_a_reminder_without_replying_to_it_is_understood() -> None:
    async with harbour("To ten.") as here:
        await here.keep(channel=DM, direct=True)
        await here.later()
        await here.fake.until(lambda: here.posts(DM))
        await here.fake.say(BO, "move it to ten", DM)
        await here.fake.until(lambda: here.model.requests)
        (section,) = [one.text for one in here.model.requests[-1] if f"{REMINDED}:" in one.text]
        assert f": {WORDS}" in section.partition(f"{REMINDED}:\n- 1, ")[2]


async def test_who_names_a_time_of_the_clock_is_asked_for_their_zone_first() -> None:
    async with harbour(replicas=1) as here:
        called = await here.fake.command(BO, "remind", GENERAL, words=f"tomorrow at 9:00 | {WORDS}")
        shown = here.fake.world.messages
        await here.fake.until(
            lambda: called.original and [one for one in parts(shown[called.original]) if one["type"] == 3]
        )
        panel = shown[called.original]
        (menu,) = [part for part in parts(panel) if part["type"] == 3]
        assert not await here.hosts[0].store.schedules.of_person(PERSON)
        await here.fake.choose_in(BO, panel, menu["custom_id"].rpartition(":")[2], "Asia/Tokyo")
        await here.fake.until(lambda: "09:00 Asia/Tokyo" in seen(panel))
        (kept,) = await here.hosts[0].store.schedules.of_person(PERSON)
        assert kept.definition.timing.zone == "Asia/Tokyo"


async def test_a_scheduled_question_is_asked_as_its_person_and_answered_in_the_channel() -> None:
    async with harbour("All is calm.") as here:
        await here.hosts[0].preferences.set(PERSON, ZONE, "Asia/Tokyo")
        await here.keep("Sum up the day.", kind=ScheduleKind.QUESTION)
        await here.later()
        await here.fake.until(lambda: here.posted() == ["All is calm."])
        await here.rest()
        (post,) = here.posts()
        assert "message_reference" not in post
        (request,) = here.model.requests
        asked = "\n".join(message.text for message in request)
        assert "Sum up the day." in asked
        assert "JST" in asked
        assert "Bo" in asked


async def test_what_is_asked_if_changed_is_posted_once_while_it_stays_the_same() -> None:
    async with harbour("It is up.", "It is up.") as here:
        often = Timing("UTC", rule="*/5 * * * *")
        await here.keep("Is the site up?", kind=ScheduleKind.QUESTION, timing=often, report="changed")
        await here.later()
        await here.fake.until(lambda: here.posted() == ["It is up."])
        await here.rest()
        assert len(here.model.requests) == 2
        assert here.posted() == ["It is up."]


def left_the_server(here: Harbour) -> None:
    here.fake.world.absent.add(BO)


def lost_the_role(here: Harbour) -> None:
    here.fake.world.roles_of[BO] = []


def deleted(here: Harbour) -> None:
    del here.fake.world.channels[GENERAL]


def shut_out(here: Harbour) -> None:
    here.fake.world.channels[GENERAL]["permission_overwrites"] = [
        {"id": BO, "type": 1, "allow": "0", "deny": str(VIEW)}
    ]


STOPS: dict[str, tuple[Callable[[Harbour], None], str]] = {
    "left the server": (left_the_server, platforms_texts.SCHEDULE_LEFT_SERVER),
    "lost the role": (lost_the_role, reply_texts.NOT_ALLOWED["role"]),
    "the channel was deleted": (deleted, platforms_texts.SCHEDULE_PLACE_GONE),
    "the channel was closed to them": (shut_out, platforms_texts.SCHEDULE_LEFT),
}


@pytest.mark.parametrize("kind", ScheduleKind)
@pytest.mark.parametrize("what", STOPS)
async def test_what_its_person_may_not_have_done_any_more_ends_and_they_learn_it_alone(
    what: str, kind: ScheduleKind
) -> None:
    stop, why = STOPS[what]
    async with harbour(allow="role:35") as here:
        await here.keep(kind=kind)
        stop(here)
        await here.later()
        await here.fake.until(lambda: here.posted(DM))
        assert here.posted(DM) == [ended(kind, why)]
        assert not here.posted()
        assert not here.model.requests


async def test_a_channel_that_was_opened_since_hears_nothing_of_it_and_closed_messages_are_left_alone() -> None:
    staff = Place(GroupAudience(f"discord:{STAFF}"), within_team=TEAM, whole_channel=True)
    async with harbour() as here:
        await here.keep(channel=STAFF, place=staff)
        here.fake.world.channels[STAFF]["permission_overwrites"] = []
        here.fake.world.closed_dms.add(DM)
        await here.later()
        await here.fake.until(lambda: any(call.status == 403 for call in here.fake.calls))
        here.fake.world.closed_dms.clear()
        await here.rest()
        assert not here.posted(STAFF)
        assert len(here.posted(DM)) == 1  # the mark


async def forget_everything(here: Harbour, _: Payload) -> None:
    called = await here.fake.command(BO, "forget", GENERAL, what="everything")
    await here.fake.until(lambda: called.original and "Forget" in labels(here.fake.world.messages[called.original]))
    await here.fake.press(BO, here.fake.world.messages[called.original], "Forget")


async def delete_the_question(here: Harbour, asked: Payload) -> None:
    await here.fake.take_back(asked)


@pytest.mark.parametrize("forget", [forget_everything, delete_the_question])
async def test_what_was_forgotten_with_its_question_is_not_said(
    forget: Callable[[Harbour, Payload], Awaitable[None]],
) -> None:
    async with harbour("I will.", replicas=1) as here:
        asked = await here.fake.say(BO, f"<@{BOT}> remind me", GENERAL)
        await here.fake.until(lambda: any("I will." in said["content"] for said in by_the_bot(here.fake)))
        async with asyncio.timeout(PATIENCE_S):
            await here.hosts[0].turns.idle()
        await here.keep(conversation=f"discord:{asked['id']}", message=asked["id"])
        await forget(here, asked)
        schedules = here.hosts[0].store.schedules
        async with asyncio.timeout(PATIENCE_S):
            while await schedules.of_person(PERSON):  # noqa: ASYNC110 -- the database tells nobody
                await asyncio.sleep(0.02)
        await here.later()
        await here.rest()
        assert not any(WORDS in said["content"] for said in by_the_bot(here.fake))


@asynccontextmanager
async def process(fake: FakeDiscord, folder: Path) -> AsyncGenerator[None, None]:
    """The bot, until it is killed at the end of the block."""
    addresses = fake.api_base_url, fake.gateway_url
    started = fake.world.clock.now().isoformat()
    bot = processes.Process(target=discord_main, args=(folder, addresses, started))
    bot.start()
    try:
        yield
    finally:
        bot.kill()
        bot.join(10)


async def test_a_process_that_is_killed_before_discord_has_answered_leaves_one_reminder(tmp_path: Path) -> None:
    """Discord posts it all the same, nobody has written down that it did, and its nonce says nothing any more."""
    clock = FastClock(speed=1.0)
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        store, now = await open_store(f"sqlite:///{tmp_path / 'bot.db'}"), clock.now()
        for words, seconds in ((WORDS, 1), (SECOND, 6)):
            at = Timing("UTC", now + timedelta(seconds=seconds))
            await store.schedules.add(
                NewSchedule(PERSON, "discord", GENERAL, PUBLIC, ScheduleKind.REMINDER, words, at, now)
            )
        await store.close()
        fake.rest.fail("POST", f"/channels/{GENERAL}/messages", 0, delay_s=1.0)
        async with process(fake, tmp_path):
            await fake.until(lambda: not fake.rest.faults)
        await fake.until(lambda: by_the_bot(fake))
        fake.rest.forget_nonces()
        async with process(fake, tmp_path):
            await fake.until(lambda: f"<@{BO}> {SECOND}" in [said["content"] for said in by_the_bot(fake)])
        assert [said["content"] for said in by_the_bot(fake)] == [f"<@{BO}> {WORDS}", f"<@{BO}> {SECOND}"]
