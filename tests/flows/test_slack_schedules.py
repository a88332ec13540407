"""What is done at a time, as only Slack has it; what is the same on each platform is in `test_schedules`."""

import asyncio
import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from agent.memory.audience import Place, TeamAudience
from agent.messages import Message
from agent.providers.scripted import ScriptedProvider
from agent.schedules.definitions import NewSchedule, ScheduleKind, Timing
from agent.tools.schedule import ScheduleTool
from bot.platforms import texts as platforms_texts
from store.engine import open_store
from tests.fakes.fast_clock import FastClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import TEAM
from tests.fakes.store import store_in_memory
from tests.fakes.turns_host import turns_host
from tests.flows.test_schedules import WORDS, ends, office
from tests.flows.test_slack_crash import process
from tests.flows.worlds import SLACK_ASKER, SLACK_GENERAL, Page, Who, in_slack
from tests.injection.world import Tooled
from tests.patience import PATIENCE_S

SOURCE = f"slack:{TEAM}"
GENERAL, PERSON = SLACK_GENERAL, f"{SOURCE}:{SLACK_ASKER}"
PUBLIC = Place(TeamAudience(SOURCE), within_team=SOURCE)
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize("kind", ScheduleKind)
async def test_in_an_archived_channel_nothing_is_done_any_more(kind: ScheduleKind) -> None:
    async with office(in_slack) as here:
        await here.keep(kind=kind)
        here.world.slack.state.channels[GENERAL].facts["is_archived"] = True
        await ends(here, kind, platforms_texts.SCHEDULE_ARCHIVED)


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
    store, model = store_in_memory(), ScriptedProvider(plants)
    page = Tooled("look_up", "Ferns want to be watered.", for_all=True)
    async with in_slack() as world:
        host = turns_host(store, model, world.clock, tools=(ScheduleTool(store.schedules), page), earlier=True)
        async with host.turns.serving(), world.serving(host):

            async def say(words: str) -> Page:
                question = await world.ask(words)
                await world.until(lambda: world.answers(question))
                async with asyncio.timeout(PATIENCE_S):
                    await host.turns.idle()
                return world.answers(question)[-1]

            person = world.person(Who.ASKER)
            await say("remind me of the plants at 09")
            second = await say("remind me of the plants at 10")
            asked = "\n".join(message.text for message in model.requests[-1])
            assert "remind me of the plants at 09" in asked, "the first thread came with it"
            assert len(await store.schedules.of_person(person)) == 2
            assert platforms_texts.DECIDE_BUTTON not in second.buttons
            await say("look for ferns")
            third = await say("remind me of the ferns at 11")
            assert platforms_texts.DECIDE_BUTTON in third.buttons
            assert len(await store.schedules.of_person(person)) == 2


async def test_a_process_that_is_killed_before_slack_has_answered_leaves_one_reminder(tmp_path: Path) -> None:
    """Slack posts it all the same, and nobody has written down that it did."""
    async with FakeSlack(FastClock()) as slack:
        slack.state.user("ann")
        slack.state.channel("general")
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
