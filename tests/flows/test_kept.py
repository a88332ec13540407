"""What a turn has kept is said below its answer, with a button that takes it back: once, for the asker, any time."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from agent.incoming import Person
from agent.memory.audience import PersonAudience, Place
from agent.messages import JsonObject, Message
from agent.ports.tools import Asker
from agent.providers.scripted import ScriptedProvider
from bot.chat.texts.replies import NOT_YOURS
from bot.memory import texts as memory_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.members import ZONE
from bot.schedules import texts as schedule_texts
from tests.fakes.discord_bot import by_the_bot, serving
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, EPHEMERAL, GENERAL, Payload, labels, seen
from tests.fakes.fast_clock import FastClock
from tests.fakes.hosts import ServedHost
from tests.flows.bot import live_host
from tests.flows.forgetting_bot import forgetting_host
from tests.flows.test_discord_control import page

KEEP = '<execute>[{"name": "remember", "args": {"text": "TEXT", "key": "deadline"}}]\n</execute>'
UNDO = "Undo"
SCHEDULING = ("Change", "Cancel")
FIRST = "Noted.\n\n*Remembered: deadline: Friday*"
SECOND = "Noted.\n\n*Remembered: deadline: Monday (replaced: deadline: Friday)*"


def answer(messages: Sequence[Message]) -> str:
    if "<results>" in messages[-1].text:
        return "Noted."
    day = next((day for day in ("Monday", "Friday") if day in messages[-1].text), "")
    return KEEP.replace("TEXT", day) if day else "Hello."


async def told(fake: FakeDiscord, host: ServedHost, text: str, showing: str) -> Payload:
    await fake.say(ANN, f"<@{BOT}> {text}", GENERAL)
    await fake.until(lambda: any(seen(one) == showing for one in by_the_bot(fake)))
    await host.turns.idle()
    return await page(fake, showing)


async def known(host: ServedHost) -> list[str]:
    person = f"discord:{ANN}"
    viewer = Asker(Person(person, "Ann"), Place(PersonAudience(person), "discord:10"))
    return [entry.plain for entry in (await host.memories.answer(viewer, "")).entries]


async def test_a_fact_is_said_below_the_answer_and_taken_back_after_a_restart_once_by_the_asker(tmp_path: Path) -> None:
    clock, model = FastClock(speed=1.0), ScriptedProvider(answer)
    async with running_discord(clock) as fake:
        async with live_host(tmp_path, model, clock) as host, serving(fake, host):
            assert UNDO in labels(await told(fake, host, "the deadline is Friday", FIRST))
            reply = await told(fake, host, "no, the deadline is Monday", SECOND)
            hello = await told(fake, host, "hello", "Hello.")
            assert UNDO not in labels(hello)
            assert await known(host) == ["Monday"]
        async with live_host(tmp_path, model, clock) as host, serving(fake, host):
            await fake.press(BO, reply, UNDO)
            assert (await page(fake, NOT_YOURS))["flags"] & EPHEMERAL
            assert await known(host) == ["Monday"]
            await fake.press(ANN, reply, UNDO)
            await fake.until(lambda: any(seen(one).startswith("Undone: deadline: Monday") for one in by_the_bot(fake)))
            assert await known(host) == ["Friday"]
            undone = await page(fake, f"Noted.\n\n{platforms_texts.UNDONE}")
            assert undone["id"] == reply["id"], "the line says that it is taken back, and the button is gone"
            assert labels(undone) == [label for label in labels(reply) if label != UNDO]
            assert await host.memories.kept.take_back(2, f"discord:{ANN}") == memory_texts.NOTHING_KEPT
            assert await known(host) == ["Friday"]


async def test_what_was_taken_back_is_not_kept_when_its_question_is_answered_again(tmp_path: Path) -> None:
    clock, model = FastClock(speed=1.0), ScriptedProvider(answer)
    async with (
        running_discord(clock) as fake,
        live_host(tmp_path, model, clock) as host,
        serving(fake, host),
    ):
        reply = await told(fake, host, "the deadline is Friday", FIRST)
        await fake.press(ANN, reply, UNDO)
        undone = await page(fake, f"Noted.\n\n{platforms_texts.UNDONE}")
        await fake.press(ANN, undone, "Regenerate")
        again = await page(fake, "Noted.")
        await host.turns.idle()
        assert UNDO not in labels(again)
        assert await known(host) == []
        await told(fake, host, "really, the deadline is Friday", FIRST)
        assert await known(host) == ["Friday"]


async def test_an_edit_of_the_question_ends_the_line_below_its_answer_as_it_ends_the_fact(tmp_path: Path) -> None:
    clock, model = FastClock(speed=1.0), ScriptedProvider(answer)
    async with (
        running_discord(clock) as fake,
        forgetting_host(tmp_path, model, clock) as host,
        serving(fake, host),
    ):
        asked = await fake.say(ANN, f"<@{BOT}> the deadline is Friday", GENERAL)
        reply = await page(fake, FIRST)
        await host.turns.idle()
        await fake.change(asked, f"<@{BOT}> hello there")
        ended = await page(fake, f"Noted.\n\n{platforms_texts.UNDONE}")
        assert ended["id"] == reply["id"]
        assert labels(ended) == [label for label in labels(reply) if label != UNDO]
        assert await known(host) == []


CALL_BEN = {"what": "call Ben", "at": "2026-06-01T09:00", "zone": "Europe/Berlin"}


def reminding(*times: JsonObject) -> Callable[[Sequence[Message]], str]:
    """A model that sets these reminders."""
    calls = [{"name": "schedule", "args": at} for at in times]

    def remind(messages: Sequence[Message]) -> str:
        return "I will." if "<results>" in messages[-1].text else f"<execute>{json.dumps(calls)}\n</execute>"

    return remind


async def test_a_reminder_is_said_below_the_answer_with_its_time_and_cancelled_by_the_asker_alone(
    tmp_path: Path,
) -> None:
    clock, person = FastClock(speed=1.0), f"discord:{ANN}"
    async with (
        running_discord(clock) as fake,
        live_host(tmp_path, ScriptedProvider(reminding(CALL_BEN)), clock) as host,
        serving(fake, host),
    ):
        line = "*Scheduled: Monday, June 1, 09:00 Europe/Berlin*"
        reply = await told(fake, host, "remind me on 1 June at nine to call Ben", f"I will.\n\n{line}")
        assert [label for label in labels(reply) if label in SCHEDULING] == [*SCHEDULING]
        assert UNDO not in labels(reply)
        (kept,) = await host.schedules.schedules.of_person(person)
        assert (kept.definition.words, kept.definition.direct) == ("call Ben", False)
        await fake.press(BO, reply, "Cancel")
        await page(fake, NOT_YOURS)
        assert await host.schedules.schedules.of_person(person)
        await fake.press(ANN, reply, "Cancel")
        await page(fake, "Canceled: “call Ben”")
        assert await host.schedules.schedules.of_person(person) == []
        ended = await page(fake, f"I will.\n\n{platforms_texts.UNSCHEDULED}")
        assert not set(SCHEDULING).intersection(labels(ended))


async def test_a_reminder_is_changed_in_a_window_by_the_asker_alone_and_the_answer_stays(tmp_path: Path) -> None:
    clock, model = FastClock(speed=1.0), ScriptedProvider(reminding(CALL_BEN))
    async with running_discord(clock) as fake, live_host(tmp_path, model, clock) as host, serving(fake, host):
        await host.preferences.set(f"discord:{ANN}", ZONE, "Europe/Paris")
        said = "I will.\n\n*Scheduled: Monday, June 1, 09:00 Europe/Berlin*"
        reply = await told(fake, host, "remind me on 1 June at nine to call Ben", said)
        await fake.press(BO, reply, "Change")
        await page(fake, NOT_YOURS)
        pressed = await fake.press(ANN, reply, "Change")
        await fake.until(lambda: pressed.window)
        assert pressed.window is not None
        await fake.fill_in(ANN, pressed.window, reply, when="2026-06-02 10:00", what="call Eve")
        changed = "Changed. **Tuesday, June 2, 10:00 Europe/Paris**.\n“call Eve”"
        assert (await page(fake, changed))["flags"] & EPHEMERAL
        (kept,) = await host.schedules.schedules.of_person(f"discord:{ANN}")
        assert kept.definition.words == "call Eve"
        assert (await page(fake, said))["id"] == reply["id"]


async def test_of_several_reminders_of_one_answer_each_is_changed_and_all_are_cancelled(tmp_path: Path) -> None:
    clock, twice = FastClock(speed=1.0), (CALL_BEN, {**CALL_BEN, "what": "call Eve"})
    async with (
        running_discord(clock) as fake,
        live_host(tmp_path, ScriptedProvider(reminding(*twice)), clock) as host,
        serving(fake, host),
    ):
        line = "*Scheduled: Monday, June 1, 09:00 Europe/Berlin*"
        reply = await told(fake, host, "remind me of both", f"I will.\n\n{line}\n{line}")
        await fake.press(ANN, reply, "Change")
        await fake.until(lambda: any(schedule_texts.WHICH_OF_THEM in seen(one) for one in by_the_bot(fake)))
        shown = next(one for one in by_the_bot(fake) if schedule_texts.WHICH_OF_THEM in seen(one))
        assert labels(shown).count("Change") == 2
        await fake.press(ANN, reply, "Cancel")
        await page(fake, f"I will.\n\n{platforms_texts.UNSCHEDULED}")
        assert await host.schedules.schedules.of_person(f"discord:{ANN}") == []
