"""What is done at a time in Slack: once, whichever process lives, and only while its person may have it done."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent.context import REMINDED
from agent.memory.audience import GroupAudience, Place, TeamAudience
from agent.messages import Message
from agent.providers.scripted import ScriptedProvider
from agent.schedules.definitions import NewSchedule, ScheduleKind, Timing
from agent.tools.schedule import ScheduleTool
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.schedules.scheduler import Scheduler
from store.engine import open_store
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.fast_clock import FastClock, MovedClock
from tests.fakes.schedules import doing, ended, let_in
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_clicks import labels
from tests.fakes.slack_things import BOT_USER, TEAM, FakeMessage
from tests.fakes.store import store_in_memory
from tests.fakes.turns_host import turns_host
from tests.flows.test_slack_crash import process
from tests.injection.world import Tooled
from tests.patience import PATIENCE_S

SOURCE = f"slack:{TEAM}"
ANN, GENERAL, SECRET, DM = "U0ANN", "C0GENERAL", "C0SECRET", "D0ANN"
PERSON = f"{SOURCE}:{ANN}"
PUBLIC = Place(TeamAudience(SOURCE), within_team=SOURCE)
WORDS = "Water the plants."
MINUTE = timedelta(minutes=1)


def people(slack: FakeSlack) -> FakeSlack:
    slack.state.user("ann")
    slack.state.user("bob")
    slack.state.channel("general")
    slack.state.channel("secret", "private")
    slack.state.channel("ann", "im")
    slack.state.groups = {"S0CREW": {ANN}}
    return slack


@dataclass
class Office:
    """`hosts`: two replicas of the bot on one database."""

    slack: FakeSlack
    clock: MovedClock
    hosts: list[AnsweringHost]
    schedulers: list[Scheduler]
    model: ScriptedProvider

    def posted(self, channel: str = GENERAL) -> list[str]:
        return [message.text for message in self.slack.state.answers(channel)]

    async def keep(self, words: str = WORDS, channel: str = GENERAL, place: Place = PUBLIC, **more: Any) -> None:
        """Ann has something done in five minutes."""
        now = self.clock.now()
        new = NewSchedule(
            PERSON, SOURCE, channel, place, ScheduleKind.REMINDER, words, Timing("UTC", now + 5 * MINUTE), now
        )
        await self.hosts[0].store.schedules.add(replace(new, **more))

    async def later(self) -> None:
        self.clock.ahead_s += 300
        for scheduler in self.schedulers:
            scheduler.changed()

    async def rest(self) -> None:
        """Until everything that is due was done: of what is due later, the last is a sign that this was looked at."""
        marked = f"Mark {self.clock.now().timestamp():.3f}"
        await self.keep(marked, DM, direct=True)
        await self.later()
        await self.slack.until(lambda: marked in self.posted(DM))
        async with asyncio.timeout(PATIENCE_S):
            for host in self.hosts:
                await host.turns.idle()


@asynccontextmanager
async def office(*script: str, allow: str = "") -> AsyncGenerator[Office, None]:
    clock, store, model = MovedClock(speed=20.0), store_in_memory(), ScriptedProvider(script)
    async with FakeSlack(clock) as slack, AsyncExitStack() as stack:
        people(slack)
        hosts, schedulers = list[AnsweringHost](), list[Scheduler]()
        for _ in range(2):
            host = answering_host(model, clock, store)
            host = let_in(host, allow) if allow else host
            hosts.append(host)
            groups = frozenset({"S0CREW"}) if allow else frozenset[str]()
            await stack.enter_async_context(host.answering())
            await stack.enter_async_context(serving(slack, host, clock, groups=groups))
            schedulers.append(await stack.enter_async_context(doing(host, store)))
        yield Office(slack, clock, hosts, schedulers, model)


async def test_a_reminder_comes_once_from_two_replicas_and_what_is_answered_below_it_knows_what_it_said() -> None:
    async with office("The ferns.") as here:
        await here.slack.command(ANN, GENERAL, "/schedules", f"remind in 5 minutes | {WORDS}")
        await here.slack.until(lambda: here.slack.state.ephemerals)
        await here.later()
        await here.slack.until(here.posted)
        await here.rest()
        assert here.posted() == [WORDS]
        (post,) = here.slack.state.answers(GENERAL)
        assert (post.thread_ts, post.blocks[0]["text"]["text"]) == ("", f"<@{ANN}>")
        assert not here.model.requests
        await here.slack.say("U0BOB", GENERAL, f"<@{BOT_USER}> which ones?", post.ts)
        await here.slack.until(lambda: here.slack.state.answers(GENERAL, post.ts))
        assert WORDS in "\n".join(message.text for message in here.model.requests[-1])


async def test_who_answers_a_reminder_without_replying_to_it_is_understood_for_a_day() -> None:
    async with office("To ten.", "What do you mean?") as here:
        await here.keep(channel=DM, direct=True)
        await here.later()
        await here.slack.until(lambda: here.posted(DM))
        await here.slack.say(ANN, DM, "move it to ten")
        await here.slack.until(lambda: here.model.requests)
        (section,) = [one.text for one in here.model.requests[-1] if f"{REMINDED}:" in one.text]
        assert f": {WORDS}" in section.partition(f"{REMINDED}:\n- 1, ")[2]
        here.clock.ahead_s += 2 * 86_400
        await here.slack.say(ANN, DM, "move it to ten")
        await here.slack.until(lambda: len(here.model.requests) == 2)
        assert not any(REMINDED in one.text for one in here.model.requests[-1])


async def test_a_scheduled_question_is_asked_as_its_person_and_answered_outside_of_threads() -> None:
    async with office("All is calm.") as here:
        here.slack.state.users[ANN].facts["tz"] = "Asia/Tokyo"
        await here.keep("Sum up the day.", kind=ScheduleKind.QUESTION)
        await here.later()
        await here.slack.until(lambda: "All is calm." in here.posted())
        await here.rest()
        (post,) = here.slack.state.answers(GENERAL)
        assert (post.thread_ts, post.text) == ("", "All is calm.")
        assert not any("<@" in str(block) for block in post.blocks)
        (request,) = here.model.requests
        asked = "\n".join(message.text for message in request)
        assert "Sum up the day." in asked
        assert "JST" in asked
        assert "ann" in asked


async def test_what_is_asked_if_changed_is_posted_once_until_it_changes() -> None:
    async with office("It is up.", "It is up.", "It is down.") as here:
        await here.slack.command(ANN, GENERAL, "/schedules", "ask if changed every 5 minutes | Is the site up?")
        await here.slack.until(lambda: here.slack.state.ephemerals)
        assert "only if it changed" in here.slack.state.ephemerals[-1].text
        while len(here.model.requests) < 3:
            await here.rest()
        assert here.posted() == ["It is up.", "It is down."]


def plants(messages: Sequence[Message]) -> str:
    """A model that sets a reminder at each hour that it is told, and looks things up."""
    asked = messages[-1].text
    if "<results>" in asked:
        return "Ferns want to be watered, says the page." if "look_up" in asked else "I will."
    if "look" in asked:
        return '<execute>[{"name": "look_up", "args": {}}]\n</execute>'
    hour = next(hour for hour in ("09", "10", "11") if f"at {hour}" in asked)
    at = {"what": "Water the plants.", "at": f"2026-06-01T{hour}:00", "zone": "Europe/Berlin"}
    return f"<execute>{json.dumps([{'name': 'schedule', 'args': at}])}\n</execute>"


async def test_a_second_reminder_is_set_unasked_until_what_the_bot_retold_of_a_page_comes_with_it() -> None:
    clock, store, model = MovedClock(speed=20.0), store_in_memory(), ScriptedProvider(plants)
    page = Tooled("look_up", "Ferns want to be watered.", for_all=True)
    host = turns_host(store, model, clock, tools=(ScheduleTool(store.schedules), page), earlier=True)
    async with FakeSlack(clock) as slack, host.turns.serving(), serving(people(slack), host, clock):

        async def say(words: str) -> FakeMessage:
            root = await slack.say(ANN, GENERAL, f"<@{BOT_USER}> {words}")
            await slack.until(lambda: slack.state.answers(GENERAL, root.ts))
            async with asyncio.timeout(PATIENCE_S):
                await host.turns.idle()
            return slack.state.answers(GENERAL, root.ts)[-1]

        await say("remind me of the plants at 09")
        second = await say("remind me of the plants at 10")
        asked = "\n".join(message.text for message in model.requests[-1])
        assert "remind me of the plants at 09" in asked, "the first thread came with it"
        assert len(await store.schedules.of_person(PERSON)) == 2
        assert platforms_texts.DECIDE_BUTTON not in labels(second.blocks, ANN)
        await say("look for ferns")
        third = await say("remind me of the ferns at 11")
        assert platforms_texts.DECIDE_BUTTON in labels(third.blocks, ANN)
        assert len(await store.schedules.of_person(PERSON)) == 2


def left(here: Office) -> None:
    here.slack.state.channels[GENERAL].members.discard(ANN)


def lost_the_group(here: Office) -> None:
    here.slack.state.groups["S0CREW"] = set()


def archived(here: Office) -> None:
    here.slack.state.channels[GENERAL].facts["is_archived"] = True


def deleted(here: Office) -> None:
    del here.slack.state.channels[GENERAL]


def opened(here: Office) -> None:
    here.slack.state.channels[GENERAL].kind = "public"


STOPS: dict[str, tuple[Callable[[Office], None], str]] = {
    "left the channel": (left, platforms_texts.SCHEDULE_LEFT),
    "lost the group": (lost_the_group, reply_texts.NOT_ALLOWED["role"]),
    "the channel was archived": (archived, platforms_texts.SCHEDULE_ARCHIVED),
    "the channel was deleted": (deleted, platforms_texts.SCHEDULE_PLACE_GONE),
}


@pytest.mark.parametrize("kind", ScheduleKind)
@pytest.mark.parametrize("what", STOPS)
async def test_what_its_person_may_not_have_done_any_more_ends_and_they_learn_it_alone(
    what: str, kind: ScheduleKind
) -> None:
    stop, why = STOPS[what]
    async with office(allow="role:S0CREW") as here:
        await here.keep(kind=kind)
        stop(here)
        await here.later()
        await here.slack.until(lambda: here.posted(DM))
        assert here.posted(DM) == [ended(kind, why)]
        assert not here.posted()
        assert not here.model.requests


async def test_a_channel_that_was_opened_since_hears_nothing_of_it() -> None:
    secret = Place(GroupAudience(f"{SOURCE}:{SECRET}"), whole_channel=True)
    async with office() as here:
        await here.keep(channel=SECRET, place=secret)
        here.slack.state.channels[SECRET].kind = "public"
        await here.later()
        await here.slack.until(lambda: here.posted(DM))
        assert platforms_texts.SCHEDULE_WIDER in here.posted(DM)[0]
        assert not here.posted(SECRET)


async def forget_everything(here: Office) -> None:
    await here.slack.command(ANN, GENERAL, "/forget", "everything")
    await here.slack.until(lambda: here.slack.state.ephemerals)
    await here.slack.click(ANN, here.slack.state.ephemerals[-1], "Forget")
    await here.slack.until(lambda: "forgot" in here.slack.state.ephemerals[-1].text.lower())


async def delete_the_question(here: Office) -> None:
    (asked,) = [message for message in here.slack.state.messages if message.text.startswith("remind")]
    event = {"type": "message", "subtype": "message_deleted", "channel": GENERAL, "deleted_ts": asked.ts}
    await here.slack.deliver(here.slack.envelope(event))


@pytest.mark.parametrize("forget", [forget_everything, delete_the_question])
async def test_what_was_forgotten_with_its_question_is_not_said(forget: Callable[[Office], Awaitable[None]]) -> None:
    async with office("I will.") as here:
        asked = here.slack.state.write(ANN, GENERAL, "remind me")
        thread = f"{SOURCE}:{GENERAL}:{asked.ts}"
        await here.slack.deliver(here.slack.envelope(here.slack.events_of(asked)[0]))
        await here.keep(conversation=thread, message=asked.ts)
        await forget(here)
        schedules = here.hosts[0].store.schedules
        async with asyncio.timeout(PATIENCE_S):
            while await schedules.of_person(PERSON):  # noqa: ASYNC110 -- the database tells nobody
                await asyncio.sleep(0.02)
        await here.later()
        await here.rest()
        assert WORDS not in [*here.posted(), *here.posted(DM)]


async def test_a_process_that_is_killed_before_slack_has_answered_leaves_one_reminder(tmp_path: Path) -> None:
    """Slack posts it all the same, and nobody has written down that it did."""
    async with FakeSlack(FastClock()) as slack:
        people(slack)
        store, now = await open_store(f"sqlite:///{tmp_path / 'bot.db'}"), slack.clock.now()
        for words, minutes in ((WORDS, 1), ("The second one.", 7)):
            at = Timing("UTC", now + minutes * MINUTE)
            await store.schedules.add(
                NewSchedule(PERSON, SOURCE, GENERAL, PUBLIC, ScheduleKind.REMINDER, words, at, now)
            )
        await store.close()
        slack.stalled["chat.postMessage"] = asyncio.Event()
        async with process(slack, tmp_path):
            await slack.until(lambda: slack.state.stalling)
        slack.stalled.pop("chat.postMessage").set()
        await slack.until(lambda: slack.state.answers(GENERAL))

        def posted_so_far() -> list[str]:
            """Without the note that comes with what is late: this clock runs fast."""
            return [post.text.partition("\n")[0] for post in slack.state.answers(GENERAL)]

        async with process(slack, tmp_path):
            await slack.until(lambda: "The second one." in posted_so_far())
        assert posted_so_far() == [WORDS, "The second one."]
