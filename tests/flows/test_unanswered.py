"""What was not answered in a channel, on each platform: who sees it, and teaching what was missing."""

import pytest

from agent.protocol.unknown_sign import SIGN
from agent.providers.scripted import ScriptedProvider
from bot.knowledge import texts
from bot.knowledge.digest import FIND, UnansweredDigest
from bot.knowledge.unanswered import DIGEST, DIGEST_OFF
from tests.fakes.answering_host import answering_host
from tests.fakes.discord_world import ALL_PERMISSIONS, EVERYBODY
from tests.fakes.incoming import LEASE
from tests.fakes.slack_home import fill_in
from tests.flows.worlds import (
    DISCORD_PEOPLE,
    SLACK_PEOPLE,
    WORLDS,
    AnyWorld,
    DiscordPage,
    DiscordWorld,
    Page,
    SlackWorld,
    Who,
    World,
)

pytestmark = pytest.mark.parametrize("open_world", WORLDS)

UNKNOWN, TEXT = "I don't know.", "The guest wifi is called Heron."
SIGNED = f"Nobody wrote that down.\n{SIGN}"
WIFI, AGAIN, ALONE = "What is the wifi password?", "Which password has the guest wifi?", "What is the salary of Ann?"


async def reads(world: World, name: str, words: str, who: Who) -> Page:
    """What this person, alone, reads after a command. Only the other one manages the channel."""
    if isinstance(world, DiscordWorld):
        world.fake.member_may = ALL_PERMISSIONS if who is Who.OTHER else EVERYBODY
    before = len(world.private())
    await world.command(name, words, who=who)
    await world.until(lambda: len(world.private()) > before and world.private()[-1].text)
    return world.private()[-1]


async def teach(world: World, page: Page) -> str:
    """Fill in the window of the first subject; return the title that stood there."""
    if isinstance(world, SlackWorld):
        user, state = SLACK_PEOPLE[Who.OTHER], world.slack.state
        await world.press(page, texts.TEACH_BUTTON, Who.OTHER)
        await world.until(lambda: state.views)
        assert await fill_in(world.slack, user, state.views[-1], text=TEXT) == {}
        blocks = {block["element"]["action_id"]: block["element"] for block in state.views[-1]["blocks"]}
        return blocks["title"]["initial_value"]
    assert isinstance(world, DiscordWorld)
    assert isinstance(page, DiscordPage)
    pressed = await world.fake.press(DISCORD_PEOPLE[Who.OTHER], page.message, texts.TEACH_BUTTON)
    await world.until(lambda: pressed.window)
    await world.fake.fill_in(DISCORD_PEOPLE[Who.OTHER], pressed.window, page.message, text=TEXT)
    return pressed.window["components"][0]["component"]["value"]


async def test_a_manager_sees_what_was_not_answered_by_subject_and_teaches_it(open_world: AnyWorld) -> None:
    async with open_world() as world:
        if isinstance(world, SlackWorld):
            world.slack.state.users[SLACK_PEOPLE[Who.OTHER]].facts["is_admin"] = True
        host = answering_host(ScriptedProvider([UNKNOWN, SIGNED, UNKNOWN]), world.clock)
        async with world.serving(host), host.answering():
            asked = list[Page]()
            for number, question in enumerate((WIFI, AGAIN), 1):
                asked.append(await world.ask(question))
                await world.until(lambda number=number: [one.state for one in host.store.turns] == ["done"] * number)
            assert world.answers(asked[-1])[-1].text.strip() == "Nobody wrote that down."
            await world.write(ALONE)
            await world.until(lambda: [one.state for one in host.store.turns] == ["done"] * 3)
            refused = await reads(world, "knowledge", "unanswered", Who.ASKER)
            assert texts.UNANSWERED_FOR_MANAGERS in refused.whole
            shown = await reads(world, "knowledge", "unanswered", Who.OTHER)
            assert "**2 questions**: I did not know (2)" in shown.whole
            assert WIFI in shown.whole
            assert AGAIN in shown.whole
            assert ALONE not in shown.whole
            assert await teach(world, shown) == AGAIN
            await world.until(lambda: any("Learned: " in one.whole for one in world.private()))
            assert AGAIN in (await reads(world, "knowledge", "list", Who.OTHER)).whole
            assert "Heron" in (await reads(world, "knowledge", "show 1", Who.OTHER)).whole
            taught = await reads(world, "knowledge", f"teach Wifi | {TEXT}", Who.ASKER)
            assert texts.NOT_LEARNING in taught.whole


async def test_a_manager_gets_a_weekly_message_with_counts_and_can_stop_it(open_world: AnyWorld) -> None:
    async with open_world() as world:
        if isinstance(world, SlackWorld):
            world.slack.state.users[SLACK_PEOPLE[Who.OTHER]].facts["is_admin"] = True
        host = answering_host(ScriptedProvider([UNKNOWN] * 9), world.clock)
        store, now = host.store, world.clock.now()
        async with world.serving(host), host.answering():
            for number, question in enumerate((WIFI, AGAIN, "And in Berlin?"), 1):
                await world.ask(question)
                await world.until(lambda number=number: [one.state for one in store.turns] == ["done"] * number)
            approvers = host.platforms.approvers
            digest = UnansweredDigest(store.unanswered, store.jobs, store.preferences, world.clock, approvers)
            await store.jobs.schedule(FIND, "", "", now)
            while (
                job := await store.jobs.claim(frozenset(digest.handlers), "w", world.clock.now(), LEASE)
            ) is not None:
                await digest.handlers[job.kind](job)
                await store.jobs.finish(job)
            await world.until(lambda: world.direct(Who.OTHER))
            (told,) = [page.whole for page in world.direct(Who.OTHER)]
            assert "3 questions about 2 subjects" in told
            assert WIFI not in told
            assert not world.direct(Who.ASKER)
            await reads(world, "knowledge", "digest off", Who.OTHER)
            assert (await store.preferences.all_of(world.person(Who.OTHER)))[DIGEST] == DIGEST_OFF
