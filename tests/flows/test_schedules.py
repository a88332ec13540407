"""What is done at a time: once, whichever process lives, and while its person may have it done; on each platform."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from typing import Any, Generic

import pytest

from agent.context import REMINDED
from agent.providers.scripted import ScriptedProvider
from agent.schedules.definitions import NewSchedule, ScheduleKind, ScheduleState, Timing
from bot.chat.reply.surface import LAPSING, ReplyAction
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.schedules.scheduler import Scheduler
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.schedules import doing, ended, let_in
from tests.fakes.store import store_in_memory
from tests.flows.worlds import WORLDS, AnyWorld, OpenWorld, Page, W, Who, World, mainly_in_slack
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.parametrize("open_world", WORLDS)

WORDS = "Water the plants."
LATER = timedelta(minutes=5)


@dataclass
class Office(Generic[W]):
    """`hosts`: replicas of the bot on one database."""

    world: W
    hosts: list[AnsweringHost]
    schedulers: list[Scheduler]
    model: ScriptedProvider

    def posted(self) -> list[str]:
        return [page.text for page in self.world.answers()]

    def told(self) -> list[str]:
        """In the asker's direct messages."""
        return [page.text for page in self.world.direct()]

    async def keep(self, words: str = WORDS, channel: str = "", **more: Any) -> None:
        """The asker has something done in five minutes."""
        world, now = self.world, self.world.clock.now()
        channel, person = channel or world.channel, world.person(Who.ASKER)
        at, kind = Timing("UTC", now + LATER), ScheduleKind.REMINDER
        new = NewSchedule(person, world.source, channel, world.place(channel), kind, words, at, now)
        await self.hosts[0].store.schedules.add(replace(new, **more))

    async def later(self) -> None:
        self.world.clock.ahead_s += LATER.total_seconds()
        for scheduler in self.schedulers:
            scheduler.changed()

    async def rest(self) -> None:
        """Until everything that is due was done: of what is due later, the last is a sign that this was looked at."""
        marked = f"Mark {self.world.clock.now().timestamp():.3f}"
        await self.keep(marked, self.world.dm, direct=True)
        await self.later()
        await self.world.until(lambda: marked in self.told())
        await self.idle()

    async def idle(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            for host in self.hosts:
                await host.turns.idle()

    async def ask_for(self, words: str) -> str:
        """The asker asks for something at a time; return what they are shown."""
        before = len(self.world.private())
        await self.world.command("schedules", words)
        await self.world.until(lambda: self.world.private()[before].text)
        return self.world.private()[-1].text


@asynccontextmanager
async def office(
    open_world: OpenWorld[W], *script: str, by_role: bool = False, replicas: int = 2
) -> AsyncGenerator[Office[W]]:
    """`by_role`: only who has the asker's role may use the bot."""
    store, model = store_in_memory(), ScriptedProvider(script)
    async with open_world() as world, AsyncExitStack() as stack:
        role = world.give_role()
        hosts, schedulers = list[AnsweringHost](), list[Scheduler]()
        for _ in range(replicas):
            host = answering_host(model, world.clock, store)
            host = let_in(host, role) if by_role else host
            hosts.append(host)
            await stack.enter_async_context(host.answering())
            await stack.enter_async_context(world.serving(host))
            schedulers.append(await stack.enter_async_context(doing(host, store)))
        yield Office(world, hosts, schedulers, model)


async def test_a_reminder_comes_once_from_two_replicas_and_what_is_answered_below_it_knows_what_it_said(
    open_world: AnyWorld,
) -> None:
    async with office(open_world, "The ferns.") as here:
        await here.ask_for(f"remind in 5 minutes | {WORDS}")
        await here.later()
        await here.world.until(here.posted)
        await here.rest()
        (post,) = here.world.answers()
        assert post.text.endswith(WORDS)
        assert here.world.calls(post)
        assert post.stands_alone
        assert not here.model.requests
        await here.world.reply(post, "which ones?")
        await here.world.until(lambda: "The ferns." in here.posted())
        assert WORDS in "\n".join(message.text for message in here.model.requests[-1])


async def test_who_answers_a_reminder_without_replying_to_it_is_understood_for_a_day(open_world: AnyWorld) -> None:
    async with office(open_world, "To ten.", "What do you mean?") as here:
        await here.keep(channel=here.world.dm, direct=True)
        await here.later()
        await here.world.until(here.told)
        await here.world.write("move it to ten")
        await here.world.until(lambda: here.model.requests)
        (section,) = [one.text for one in here.model.requests[-1] if f"{REMINDED}:" in one.text]
        assert f": {WORDS}" in section.partition(f"{REMINDED}:\n- 1, ")[2]
        here.world.clock.ahead_s += timedelta(days=2).total_seconds()
        await here.world.write("move it to ten")
        await here.world.until(lambda: len(here.model.requests) == 2)
        assert not any(REMINDED in one.text for one in here.model.requests[-1])


@mainly_in_slack
async def test_a_scheduled_question_is_asked_as_its_person_and_answered_in_the_channel(open_world: AnyWorld) -> None:
    async with office(open_world, "All is calm.") as here:
        await here.world.lives_in("Asia/Tokyo", here.hosts[0])
        await here.keep("Sum up the day.", kind=ScheduleKind.QUESTION)
        await here.later()
        await here.world.until(lambda: here.posted() == ["All is calm."])
        await here.rest()
        (post,) = here.world.answers()
        assert post.stands_alone
        assert not here.world.calls(post)
        (request,) = here.model.requests
        asked = "\n".join(message.text for message in request)
        assert "Sum up the day." in asked
        assert "JST" in asked
        assert here.world.name in asked


@mainly_in_slack
async def test_what_is_asked_if_changed_is_posted_once_until_it_changes(open_world: AnyWorld) -> None:
    async with office(open_world, "It is up.", "It is up.", "It is down.") as here:
        await here.world.lives_in("Asia/Tokyo", here.hosts[0])
        shown = await here.ask_for("ask if changed every 5 minutes | Is the site up?")
        assert "only if it changed" in shown
        for times in (1, 2, 3):
            await here.later()
            await here.world.until(lambda: len(here.model.requests) == times)  # noqa: B023 -- awaited at once
            await here.idle()
        assert here.posted() == ["It is up.", "It is down."]


async def leave(world: World) -> str:
    await world.leave()
    return world.left


async def lose_the_role(world: World) -> str:
    world.take_role()
    return reply_texts.NOT_ALLOWED["role"]


async def delete_the_channel(world: World) -> str:
    await world.delete_channel(unheard=True)
    return platforms_texts.SCHEDULE_PLACE_GONE


@pytest.mark.parametrize("kind", ScheduleKind)
@pytest.mark.parametrize("stop", [leave, lose_the_role, delete_the_channel])
async def test_what_its_person_may_not_have_done_any_more_ends_and_they_learn_it_alone(
    open_world: AnyWorld, stop: Callable[[World], Awaitable[str]], kind: ScheduleKind
) -> None:
    async with office(open_world, by_role=True) as here:
        await here.keep(kind=kind)
        await ends(here, kind, await stop(here.world))


async def ends(here: Office[W], kind: ScheduleKind, why: str) -> None:
    """Once it is due, what its person kept ends, and they alone learn why."""
    await here.later()
    await here.world.until(here.told)
    assert here.told() == [ended(kind, why)]
    assert not here.posted()
    assert not here.model.requests


async def test_a_channel_that_was_opened_since_hears_nothing_of_it(open_world: AnyWorld) -> None:
    async with office(open_world) as here:
        await here.keep(channel=here.world.secret)
        await here.world.open_secret()
        await here.later()
        await here.world.until(here.told)
        assert platforms_texts.SCHEDULE_WIDER in here.told()[0]
        assert not here.world.in_secret()


async def forget_everything(world: World, _: Page) -> None:
    await world.forget("everything")
    await world.until(lambda: "Forget" in world.private()[-1].buttons)
    await world.agree(world.private()[-1], "Forget")


async def delete_the_question(world: World, question: Page) -> None:
    await world.delete(question)


@pytest.mark.parametrize("forget", [forget_everything, delete_the_question])
async def test_what_was_forgotten_with_its_question_is_not_said(
    open_world: AnyWorld, forget: Callable[[World, Page], Awaitable[None]]
) -> None:
    async with office(open_world, "I will.") as here:
        question = await here.world.ask("remind me")
        await here.world.until(lambda: "I will." in here.posted())
        await here.idle()
        await here.keep(conversation=here.world.conversation(question), message=question.id)
        schedules, person = here.hosts[0].store.schedules, here.world.person(Who.ASKER)
        assert await schedules.of_person(person)
        await forget(here.world, question)
        async with asyncio.timeout(PATIENCE_S):
            while await schedules.of_person(person):  # noqa: ASYNC110 -- the database tells nobody
                await asyncio.sleep(0.02)
        await here.later()
        await here.rest()
        assert not any(WORDS in text for text in (*here.posted(), *here.told()))


HALF_A_YEAR = timedelta(days=180)


async def let_one_lapse(here: Office[W]) -> None:
    """A daily reminder without an end is posted for the last time, with the notice that it is paused."""
    world, now = here.world, here.world.clock.now()
    minute = (now + timedelta(minutes=4)).astimezone(UTC)
    rule = Timing("UTC", rule=f"{minute.minute} {minute.hour} * * *", until=now + LATER, lapses=True)
    new = NewSchedule(
        world.person(Who.ASKER),
        world.source,
        world.channel,
        world.place(world.channel),
        ScheduleKind.REMINDER,
        WORDS,
        rule,
        now,
    )
    await here.hosts[0].store.schedules.add(new)
    await here.later()
    await world.until(lambda: len(here.posted()) == 2)
    await here.idle()


def notice_now(here: Office[W]) -> Page:
    return next(page for page in here.world.answers() if "is paused" in page.text)


async def test_one_that_has_lapsed_goes_on_when_its_person_says_so(open_world: AnyWorld) -> None:
    async with office(open_world, replicas=1) as here:
        world, schedules, person = here.world, here.hosts[0].store.schedules, here.world.person(Who.ASKER)
        await let_one_lapse(here)
        notice = notice_now(here)
        assert WORDS in notice.text
        assert world.calls(notice)
        assert {*map(world.label, LAPSING)} <= {*notice.buttons}
        assert reply_texts.LAPSES.strip("*") in notice.text
        assert await schedules.first_due(frozenset({world.source})) is None
        await world.press(notice, world.label(ReplyAction.KEEP), Who.OTHER)
        await world.until(lambda: any(reply_texts.NOT_YOURS in page.text for page in world.private()))
        assert await schedules.first_due(frozenset({world.source})) is None
        await world.press(notice, world.label(ReplyAction.KEEP))
        await world.until(lambda: any("Resumed: " in page.text for page in world.private()))
        await world.until(lambda: platforms_texts.KEPT_ON.strip("*") in notice_now(here).text)
        assert not {*notice_now(here).buttons} & {*map(world.label, LAPSING)}
        (kept,) = await schedules.of_person(person)
        assert (kept.state, kept.definition.timing.lapses) == (ScheduleState.ACTIVE, True)
        assert kept.definition.timing.until is not None
        assert kept.definition.timing.until > world.clock.now() + HALF_A_YEAR - LATER


@mainly_in_slack
async def test_one_that_has_lapsed_stays_in_the_list_and_is_ended_by_its_person(open_world: AnyWorld) -> None:
    async with office(open_world, replicas=1) as here:
        world, schedules, person = here.world, here.hosts[0].store.schedules, here.world.person(Who.ASKER)
        await let_one_lapse(here)
        shown = await here.ask_for("list")
        assert "To run it for another six months, resume it: `/schedules resume" in shown
        await world.press(notice_now(here), world.label(ReplyAction.END))
        await world.until(lambda: platforms_texts.ENDED_NOW.strip("*") in notice_now(here).text)
        assert await schedules.of_person(person) == []
