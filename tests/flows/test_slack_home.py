"""The Home tab in Slack, however Slack delivers: real slack-bolt, turns and services, on a store in memory.

What people see of it, and that what is done there counts everywhere else.
"""

import hashlib
import json
import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace

import pytest

from agent.admission_terms import Authority
from agent.incoming import Person
from agent.memory.audience import PersonAudience, Place, TeamAudience, label
from agent.memory.review import UNUSED
from agent.memory.writing import NewFact
from agent.messages import Message
from agent.ports.tools import Asker
from agent.providers.scripted import ScriptedProvider
from bot.budgets.commands import CHANGE
from bot.memory import texts as memory_texts
from bot.memory.listing import PAGE
from bot.memory.policy_commands import REMOVE_POLICY, SET_POLICY
from bot.operators import texts as operators_texts
from bot.platforms.slack import home
from bot.schedules import texts as schedule_texts
from bot.schedules.service import PAGE as SCHEDULES_PAGE
from tests.fakes.facts import remember
from tests.fakes.fast_clock import FastClock
from tests.fakes.hosts import ServedHost
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_home import HomeTab, fill_in
from tests.fakes.slack_things import BOT_USER, FakeMessage
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.turns_host import turns_host

ME = f"<@{BOT_USER}>"
TEAM = "slack:T0TEAM"


def answer(messages: Sequence[Message]) -> str:
    """A model that remembers what it is told to."""
    asked = re.search(r"remember (.*)", messages[-1].text)
    if "<results>" in messages[-1].text or asked is None:
        return "Done."
    return f"<execute>{json.dumps([{'name': 'remember', 'args': {'text': asked[1]}}])}\n</execute>"


@dataclass
class Office:
    """A workspace with ann, an administrator named boss who operates the bot, a public channel and ann's DM."""

    slack: FakeSlack
    store: StoreInMemory
    host: ServedHost
    model: ScriptedProvider
    ann: HomeTab
    boss: HomeTab
    general: str
    dm: str

    async def tell(self, text: str, channel: str = "") -> FakeMessage:
        """Ann writes, and is answered."""
        turns = len(self.store.turns) + 1
        said = await self.slack.say(self.ann.user, channel or self.dm, f"{ME} {text}")
        await self.slack.until(lambda: len(self.store.turns) == turns and self.store.turns[-1].state == "done")
        return said

    async def looks(self, who: HomeTab) -> str:
        """What they see when they open the tab after a while."""
        await self.slack.clock.sleep(home.BURST_S)
        await who.opened()
        return who.text

    async def window(self, who: HomeTab, label: str) -> dict[str, object]:
        """The window that a button opens."""
        before = len(self.slack.state.views)
        await who.click(label)
        await self.slack.until(lambda: len(self.slack.state.views) > before)
        return self.slack.state.views[-1]


@pytest.fixture(params=["sockets", "http"])
async def office(request: pytest.FixtureRequest) -> AsyncGenerator[Office, None]:
    async with FakeSlack(FastClock(), over_http=request.param == "http") as slack:
        ann, boss = slack.state.user("ann"), slack.state.user("boss", is_admin=True)
        dm, general = slack.state.channel("ann", "im"), slack.state.channel("general")
        store, model = store_in_memory(), ScriptedProvider(answer)
        host = turns_host(store, model, slack.clock, operators=frozenset({f"{TEAM}:{boss}"}))
        async with serving(slack, host), host.turns.serving():
            yield Office(slack, store, host, model, HomeTab(slack, ann), HomeTab(slack, boss), general, dm)


async def test_what_was_said_stands_there_with_its_link_and_falls_when_it_is_deleted(office: Office) -> None:
    assert "To start" in await office.looks(office.ann)
    said = await office.tell("remember harmonium")
    seen = await office.looks(office.ann)
    link = f"https://fake.slack.com/archives/{said.channel}/p{said.ts.replace('.', '')}"
    (line,) = [line for line in seen.splitlines() if "harmonium" in line]
    assert f"<{link}" in line
    assert "To begin" not in seen
    await office.ann.click("Delete")
    await office.ann.changed("Deleted entry 1, “harmonium”.")
    assert f"<{link}" not in office.ann.text
    assert "harmonium" not in await office.looks(office.boss)
    await office.ann.click("Undo")
    await office.ann.changed("Restored: “harmonium”.")
    assert f"<{link}" in office.ann.text
    await office.ann.click("Delete")
    await office.ann.changed("Deleted entry 1, “harmonium”.")
    assert "harmonium" not in await office.looks(office.ann)


async def test_an_entry_is_corrected_and_used_everywhere(office: Office) -> None:
    await office.tell("remember harmonium")
    await office.looks(office.ann)
    assert (
        await fill_in(office.slack, office.ann.user, await office.window(office.ann, "Correct"), words="violin") == {}
    )
    await office.ann.changed("*1* violin")
    assert "*1* harmonium" not in office.ann.text
    await office.ann.click("Use everywhere")
    await office.ann.changed(memory_texts.USED_EVERYWHERE)
    assert "Stop using everywhere" in office.ann.labels


async def test_an_entry_that_nobody_used_is_offered_for_review_and_kept(office: Office) -> None:
    ann = f"{TEAM}:{office.ann.user}"
    long_ago = office.slack.clock.now() - UNUSED
    await office.tell("remember violin")
    await remember(office.store.facts, ann, "harmonium", label(PersonAudience(ann)), long_ago)
    seen = await office.looks(office.ann)
    assert "1 entry may be out of date. Choose _Keep_, _Correct_, or _Delete_." in seen
    assert f"*1* harmonium (not used since {long_ago:%Y-%m-%d})" in seen
    assert [label for label in office.ann.labels if label == memory_texts.KEEP] == [memory_texts.KEEP]
    await office.ann.click(memory_texts.KEEP)
    await office.ann.changed("Kept: “harmonium”.")
    assert "not used since" not in office.ann.text
    await remember(office.store.facts, ann, "trumpet", label(PersonAudience(ann)), long_ago)
    assert "*3* trumpet (not used since" in await office.looks(office.ann)
    await office.tell("hello")
    assert "out of date" not in await office.looks(office.ann), "a model was shown it"


async def test_what_is_done_at_a_time_stands_there_and_is_paused_changed_and_cancelled(office: Office) -> None:
    assert schedule_texts.NOTHING.split(",", maxsplit=1)[0] in await office.looks(office.ann)
    alone = Place(PersonAudience(f"{TEAM}:{office.ann.user}"))
    ann = Asker(Person(f"{TEAM}:{office.ann.user}", "ann", "Europe/Berlin"), alone)
    await office.host.schedules.remind(ann, "every Monday at 8:00 to water the harmonium")
    assert "every Monday at 08:00" in await office.looks(office.ann)
    await office.ann.click("Pause")
    await office.ann.changed("Paused until you resume it: “water the harmonium”")
    await office.ann.click("Resume")
    await office.ann.changed("Resumed")
    window = await office.window(office.ann, "Change")
    assert await fill_in(office.slack, office.ann.user, window, when="every Tuesday at 9:00", what="play it") == {}
    await office.ann.changed("every Tuesday at 09:00")
    assert "harmonium" not in await office.looks(office.boss)
    await office.looks(office.ann)
    await office.ann.click("Cancel")
    await office.ann.changed("Canceled: “play it”")
    assert "Tuesday" not in await office.looks(office.ann)


async def test_a_list_of_many_schedules_is_turned_and_keeps_its_page_over_what_is_done(office: Office) -> None:
    alone = Place(PersonAudience(f"{TEAM}:{office.ann.user}"))
    ann = Asker(Person(f"{TEAM}:{office.ann.user}", "ann", "Europe/Berlin"), alone)
    for hour in range(8, 8 + SCHEDULES_PAGE + 2):
        await office.host.schedules.remind(ann, f"tomorrow at {hour}:00 to water plant{hour}")
    await office.looks(office.ann)
    assert office.ann.labels.count("Pause") == SCHEDULES_PAGE
    await office.ann.click("Next page")
    await office.slack.until(lambda: office.ann.labels.count("Pause") == 2)
    await office.ann.click("Cancel", 1)
    await office.slack.until(lambda: office.ann.labels.count("Pause") == 1)
    assert "plant14" in office.ann.text


async def test_a_list_of_many_pages_is_turned_and_keeps_its_page_over_what_is_done(office: Office) -> None:
    for number in range(PAGE + 2):
        await office.tell(f"remember thing{number} is {number}")
    await office.looks(office.ann)
    assert office.ann.labels.count("Delete") == PAGE
    await office.ann.click("Next page")
    await office.slack.until(lambda: office.ann.labels.count("Delete") == 2)
    await office.ann.click("Delete", 1)
    await office.slack.until(lambda: office.ann.labels.count("Delete") == 1)
    assert memory_texts.MEMORY_HEADING in office.ann.text


async def test_what_is_said_about_something_is_shown_before_it_is_forgotten(office: Office) -> None:
    await office.tell("remember my harmonium is blue")
    await office.tell("remember my zeppelin is green")
    await office.looks(office.ann)
    await fill_in(office.slack, office.ann.user, await office.window(office.ann, "Something else…"), words="harmonium")
    await office.ann.changed("I will forget everything that mentions “harmonium”")
    assert "harmonium is blue" in office.ann.text
    await office.ann.click("Forget")
    await office.ann.changed("Forgotten: ")
    seen = await office.looks(office.ann)
    assert "harmonium" not in seen
    assert "zeppelin" in seen


async def test_learning_is_stopped_and_begun_again(office: Office) -> None:
    assert memory_texts.LEARNING_ON in await office.looks(office.ann)
    await office.ann.click("Stop learning")
    await office.ann.changed(memory_texts.LEARNING_OFF)
    for seen in (office.ann.text, await office.looks(office.ann)):
        assert memory_texts.LEARNING_OFF in seen
        assert "paused" not in seen
        assert "stopped learning" not in seen
    await office.ann.click("Resume learning")
    await office.ann.changed(memory_texts.LEARNING_ON)
    assert "resume learning" not in office.ann.text


async def test_a_policy_that_is_set_there_holds_for_everybody(office: Office) -> None:
    await office.looks(office.boss)
    window = await office.window(office.boss, SET_POLICY.label)
    assert await fill_in(office.slack, office.boss.user, window, name="budget", text="at most 50 EUR") == {}
    await office.boss.changed("Policy set.")
    assert office.boss.text.count(memory_texts.POLICY_HEADING) == 1
    assert "budget: at most 50 EUR" in await office.looks(office.ann)
    assert SET_POLICY.label not in office.ann.labels
    number = re.search(r"\*(\d+)\* budget", office.ann.text)
    assert number is not None
    window = await office.window(office.boss, REMOVE_POLICY.label)
    await fill_in(office.slack, office.boss.user, window, number=number[1])
    await office.boss.changed("Policy removed.")
    assert REMOVE_POLICY.label not in office.boss.labels
    assert "budget: at most 50 EUR" not in await office.looks(office.ann)


async def test_a_manager_is_asked_about_a_policy_that_nobody_used(office: Office) -> None:
    long_ago = office.slack.clock.now() - UNUSED
    policy = NewFact("", "budget", "at most 50 EUR", "policy", long_ago, label(TeamAudience(TEAM)))
    await office.store.facts.write(replace(policy, authority=Authority.ADMIN, is_constraint=True))
    assert f"budget: at most 50 EUR (not used since {long_ago:%Y-%m-%d})" in await office.looks(office.boss)
    assert "budget: at most 50 EUR" in await office.looks(office.ann)
    assert "not used since" not in office.ann.text
    await office.boss.click(memory_texts.KEEP)
    await office.boss.changed(memory_texts.POLICY_KEPT)
    assert "not used since" not in office.boss.text


async def test_an_operator_sees_how_the_bot_does_and_lifts_a_budget(office: Office) -> None:
    await office.tell("hello")
    seen = await office.looks(office.boss)
    assert "For operators" in seen
    assert "*Spent*" in seen
    window = await office.window(office.boss, CHANGE.label)
    await fill_in(office.slack, office.boss.user, window, whose="person", person=office.ann.user, amount="exempt")
    await office.boss.changed("@ann, today (UTC): ")
    await office.slack.command(office.boss.user, office.general, "/budget", f"<@{office.ann.user}|ann>")
    await office.slack.until(lambda: office.slack.state.ephemerals)
    assert office.slack.state.ephemerals[0].text.startswith("@ann, today (UTC): ")
    assert "no limit" in await office.looks(office.ann)
    assert "For operators" not in office.ann.text


async def test_an_operator_gets_a_link_to_their_page_and_nobody_else_does(office: Office) -> None:
    await office.looks(office.boss)
    await office.boss.click(operators_texts.OPEN_OPERATOR_PAGE)
    await office.boss.changed("Open the operators' page>")
    found = re.search(r"<http://127\.0\.0\.1:8090/enter/([\w-]{43})\|", office.boss.text)
    assert found is not None
    assert await office.store.operator_sessions.is_offered(
        hashlib.sha256(found[1].encode()).hexdigest(), office.slack.clock.now()
    )
    assert found[1] not in await office.looks(office.boss)
    await office.slack.command(office.ann.user, office.general, "/operator", "")
    await office.slack.until(lambda: office.slack.state.ephemerals)
    assert office.slack.state.ephemerals[-1].text == operators_texts.NO_OPERATOR


async def test_what_a_command_changes_stands_there_when_it_is_opened_next(office: Office) -> None:
    await office.looks(office.ann)
    before = len(office.slack.state.ephemerals)
    await office.slack.command(office.ann.user, office.general, "/memory", "pause")
    await office.slack.until(lambda: len(office.slack.state.ephemerals) > before)
    assert memory_texts.LEARNING_OFF in await office.looks(office.ann)
