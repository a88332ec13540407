"""Buttons and reactions below a reply, as only Discord has them; the same on each platform: `test_feedback`."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from agent.memory.audience import Place, TeamAudience
from agent.providers.scripted import Answer, Answering, ScriptedProvider
from agent.shown_replies import ReplyVerdict
from bot.platforms import texts as platforms_texts
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.answers import prose
from tests.fakes.discord_bot import WINDOW_S, by_the_bot, serving
from tests.fakes.discord_gateway import PATIENCE_S, FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, DM_OF, EPHEMERAL, GENERAL, GUILD, Payload, labels, seen
from tests.fakes.fast_clock import FastClock
from tests.fakes.incoming import said
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.flows.test_discord_control import AT_THE_END, page

ME = f"<@{BOT}>"


@asynccontextmanager
async def talking(
    script: Sequence[Answer | Answering] | Answering,
) -> AsyncGenerator[tuple[FakeDiscord, AnsweringHost], None]:
    clock = FastClock(speed=1.0)
    host = answering_host(ScriptedProvider(script), clock)
    async with running_discord(clock, window_s=WINDOW_S) as fake, serving(fake, host), host.answering():
        yield fake, host


async def ended(fake: FakeDiscord, host: AnsweringHost, showing: str) -> Payload:
    """The reply with this text, once its last buttons stand below it and its turn has ended."""
    await fake.until(
        lambda: any(seen(message) == showing and labels(message) == AT_THE_END for message in by_the_bot(fake))
    )
    async with asyncio.timeout(PATIENCE_S):
        await host.turns.idle()
    return await page(fake, showing)


async def noticed(happened: Callable[[], object]) -> None:
    """Until the bot has taken in what Discord told it."""
    async with asyncio.timeout(PATIENCE_S):
        while not happened():  # noqa: ASYNC110 -- a host notifies nobody
            await asyncio.sleep(0.01)


async def told_alone(fake: FakeDiscord, sentence: str) -> None:
    said = await page(fake, sentence)
    assert said["flags"] & EPHEMERAL


# Asking again


async def test_once_it_was_asked_again_the_button_for_it_goes() -> None:
    async with talking(["One.", "Two."]) as (fake, host):
        await fake.say(ANN, f"{ME} which number?")
        first = await ended(fake, host, "One.")
        await fake.press(ANN, first, "Regenerate")
        await ended(fake, host, "Two.")
        assert labels(first) == ["👍", "👎", "Delete"]


async def test_a_private_answer_is_given_again_in_private() -> None:
    async with talking(["One.", "Two."]) as (fake, host):
        await fake.command(ANN, "ask", question="which number?", private=True)
        await fake.press(ANN, await ended(fake, host, "One."), "Regenerate")
        assert (await ended(fake, host, "Two."))["flags"] & EPHEMERAL
        assert fake.world.shown(GENERAL) == fake.world.shown(DM_OF[ANN]) == []
        assert host.taken[0].place == host.taken[1].place


async def test_where_the_bot_may_not_write_by_itself_it_answers_again_behind_its_commands_answer() -> None:
    async with talking(["One.", "Two."]) as (fake, host):
        fake.app_may = "0"
        fake.rest.fail("POST", f"/channels/{GENERAL}/messages$", 403, 50001, times=9)
        await fake.command(ANN, "ask", question="which number?")
        await fake.press(ANN, await ended(fake, host, "One."), "Regenerate")
        await ended(fake, host, "Two.")
        assert fake.world.shown(GENERAL) == ["One.", "Two."]


# Deleting


async def test_who_asked_deletes_the_reply_with_all_of_its_pages() -> None:
    long = prose(3_500)
    async with talking([long]) as (fake, host):
        await fake.write(ANN, "tell me")
        await fake.until(lambda: by_the_bot(fake) and labels(by_the_bot(fake)[-1]) == AT_THE_END)
        assert len(by_the_bot(fake)) > 1
        await fake.press(ANN, by_the_bot(fake)[-1], "Delete")
        await noticed(lambda: not by_the_bot(fake))
        assert await host.feedback.of(host.store.turns[0].id) is None


async def test_the_answer_of_a_command_is_deleted_too_public_or_private() -> None:
    for private in (False, True):
        async with talking(["One."]) as (fake, host):
            await fake.command(ANN, "ask", question="which number?", private=private)
            await fake.press(ANN, await ended(fake, host, "One."), "Delete")
            await noticed(lambda fake=fake: not by_the_bot(fake))


async def test_a_commands_answer_is_taken_away_when_it_is_forgotten_by_its_menu() -> None:
    async with talking(["One."]) as (fake, host):
        await fake.command(ANN, "ask", question="which number?")
        called = await fake.choose_menu(ANN, "Forget this", await ended(fake, host, "One."))
        await fake.until(lambda: called.original and "Forget" in labels(fake.world.messages[called.original]))
        await fake.press(ANN, fake.world.messages[called.original], "Forget")
        await told_alone(fake, platforms_texts.REPLY_FORGOTTEN)
        assert fake.world.shown(GENERAL) == []


async def test_a_reply_is_kept_if_its_menus_question_is_answered_so() -> None:
    async with talking(["One."]) as (fake, host):
        await fake.command(ANN, "ask", question="which number?")
        called = await fake.choose_menu(ANN, "Forget this", await ended(fake, host, "One."))
        await fake.until(lambda: called.original and "Keep" in labels(fake.world.messages[called.original]))
        await fake.press(ANN, fake.world.messages[called.original], "Keep")
        await fake.until(lambda: seen(fake.world.messages[called.original]) == platforms_texts.NOT_FORGOTTEN)
        assert await host.feedback.of(host.store.turns[0].id) is not None


async def test_of_a_private_answer_of_several_pages_the_asker_is_told_which_stay() -> None:
    async with talking([prose(3_500)]) as (fake, host):
        await fake.command(ANN, "ask", question="tell me", private=True)
        await fake.until(lambda: by_the_bot(fake) and labels(by_the_bot(fake)[-1]) == AT_THE_END)
        async with asyncio.timeout(PATIENCE_S):
            await host.turns.idle()
        await fake.press(ANN, by_the_bot(fake)[-1], "Delete")
        await told_alone(fake, platforms_texts.ONLY_THIS_PAGE)


async def test_nobody_else_deletes_it() -> None:
    async with talking(["One."]) as (fake, host):
        await fake.say(ANN, f"{ME} which number?")
        reply = await ended(fake, host, "One.")
        await fake.press(BO, reply, "Delete")
        await fake.until(lambda: any(message["flags"] & EPHEMERAL for message in by_the_bot(fake)))
        assert reply["id"] in fake.world.messages
        assert await host.feedback.of(host.store.turns[0].id) is not None


# After a restart, and of replies that are gone


async def test_the_buttons_of_a_reply_work_after_a_restart() -> None:
    clock = FastClock(speed=1.0)
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        first = answering_host(ScriptedProvider(["One."]), clock)
        async with serving(fake, first), first.answering():
            await fake.write(ANN, "which number?")
            reply = await ended(fake, first, "One.")
        second = answering_host(ScriptedProvider(["Two."]), clock, first.store)
        async with serving(fake, second), second.answering():
            await fake.press(ANN, reply, "👍")
            await told_alone(fake, platforms_texts.NOTED)
            await fake.press(ANN, reply, "Regenerate")
            await ended(fake, second, "Two.")
            await fake.press(ANN, reply, "Delete")
            await noticed(lambda: reply["id"] not in fake.world.messages)
            assert fake.world.shown(DM_OF[ANN]) == ["Two."]


async def test_the_buttons_of_a_reply_that_is_not_known_any_more_say_so_alone() -> None:
    async with recording() as (fake, _):
        for button in ("👍", "Delete", "Regenerate"):
            left = fake.world.message(GENERAL, BOT, "Once.", components=row(7))
            pressed = await fake.press(ANN, left, button)
            await fake.until(lambda pressed=pressed: pressed.acknowledged)
            await told_alone(fake, platforms_texts.NO_SUCH_REPLY)
            for message in by_the_bot(fake):
                del fake.world.messages[message["id"]]


async def test_a_button_from_before_the_database_was_replaced_says_nothing_of_its_numbers_new_reply() -> None:
    async with recording("999") as (fake, host):
        for button in ("👍", "Delete", "Regenerate"):
            left = fake.world.message(GENERAL, BOT, "Once.", components=row(TURN))
            pressed = await fake.press(ANN, left, button)
            await fake.until(lambda pressed=pressed: pressed.acknowledged)
            await told_alone(fake, platforms_texts.NO_SUCH_REPLY)
            for message in by_the_bot(fake):
                del fake.world.messages[message["id"]]
        assert (host.taken, host.is_kept(TURN), host.store.verdicts) == ([], True, {})


# Reactions


async def test_an_emoji_means_the_same_in_each_of_its_variations() -> None:
    async with recording("300") as (fake, host):
        shown = fake.world.message(GENERAL, BOT, "One.", id="300")
        await fake.react(BO, "👍🏽", shown)
        await noticed(lambda: host.store.verdicts == {(TURN, f"discord:{BO}"): ReplyVerdict.GOOD})
        await fake.react(ANN, "🗑️", shown)
        await noticed(lambda: not host.is_kept(TURN))


async def test_what_is_taken_back_after_another_verdict_changes_nothing() -> None:
    async with recording("300") as (fake, host):
        shown = fake.world.message(GENERAL, BOT, "One.", id="300")
        for emoji, take_back in (("👍", False), ("👎", False), ("👍", True)):
            await fake.react(BO, emoji, shown, take_back=take_back)
        await fake.react(ANN, "👍", shown)
        await noticed(lambda: len(host.store.verdicts) == 2)
        assert host.store.verdicts[TURN, f"discord:{BO}"] is ReplyVerdict.BAD


async def test_a_reply_of_which_somebody_deletes_a_page_is_forgotten_with_its_other_pages() -> None:
    long = prose(3_500)
    for private in (None, False):
        async with talking([long]) as (fake, host):
            if private is None:
                await fake.say(ANN, f"{ME} tell me")
            else:
                await fake.command(ANN, "ask", question="tell me", private=private)
            await fake.until(lambda fake=fake: by_the_bot(fake) and labels(by_the_bot(fake)[-1]) == AT_THE_END)
            async with asyncio.timeout(PATIENCE_S):
                await host.turns.idle()
            assert len(by_the_bot(fake)) > 1
            await fake.take_back(by_the_bot(fake)[0])
            await noticed(lambda fake=fake: not by_the_bot(fake))
            assert await host.feedback.of(host.store.turns[0].id) is None


async def test_reactions_to_a_commands_answer_count_as_well() -> None:
    async with talking(["One."]) as (fake, host):
        await fake.command(ANN, "ask", question="which number?")
        shown = await ended(fake, host, "One.")
        await fake.react(ANN, "👍", shown)
        await noticed(lambda: host.store.verdicts)
        await fake.react(ANN, "🗑", shown)
        await noticed(lambda: not by_the_bot(fake))


async def test_other_reactions_and_those_of_the_bot_mean_nothing() -> None:
    async with recording("300") as (fake, host):
        shown = fake.world.message(GENERAL, BOT, "One.", id="300")
        other = await fake.say(ANN, "hello")
        await fake.react(BO, "🎉", shown)
        await fake.react(BOT, "👍", shown)
        await fake.react(BO, "👍", other)
        await fake.react(ANN, "👎", shown)
        await noticed(lambda: host.store.verdicts)
        assert host.store.verdicts == {(TURN, f"discord:{ANN}"): ReplyVerdict.BAD}


TURN = 1  # The first in a store
EMPTY: Payload = {"content": "", "components": []}


@asynccontextmanager
async def recording(reply: str = "") -> AsyncGenerator[tuple[FakeDiscord, RecordingHost], None]:
    """With a reply to ann, whose page has this number."""
    clock, host = FastClock(speed=1.0), recording_host()
    if reply:
        place, source = Place(TeamAudience(f"discord:{GUILD}")), "discord"
        asked = said("which number?", person=f"discord:{ANN}", conversation=f"discord:{GENERAL}", place=place)
        asked = replace(asked, source=source, channel=GENERAL, message_id="200")
        assert await host.store_reply(asked, f"{GENERAL}/{reply}") == TURN
    async with running_discord(clock, window_s=WINDOW_S) as fake, serving(fake, host):
        yield fake, host


def row(turn: int) -> list[Payload]:
    faces = {"regenerate": "Regenerate", "good": "👍", "delete": "Delete"}
    made = [{"type": 2, "style": 2, "label": face, "custom_id": f"{name}:{turn}"} for name, face in faces.items()]
    return [{"type": 1, "components": made}]
