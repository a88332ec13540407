"""Stopping, going on and choosing on Discord: real discord.py, real turns; Discord and the model are scripted."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from agent.admission_terms import Authority
from agent.errors import StreamBroken
from agent.memory.audience import PersonAudience
from agent.messages import Depth, JsonObject
from agent.ports.tools import ToolContext, ToolEffect
from agent.providers.scripted import Answer, Answering, ScriptedProvider, Until
from bot.chat.access.acl import AccessEntry, AccessKind, AccessRules
from bot.chat.access.admission import AdmissionRules
from bot.chat.texts import replies as reply_texts
from bot.models.service import MODEL
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.panels import ButtonPress
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.discord_bot import WINDOW_S, by_the_bot, serving
from tests.fakes.discord_gateway import PATIENCE_S, FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, DM_OF, EPHEMERAL, GENERAL, Payload, labels, seen
from tests.fakes.fast_clock import FastClock
from tests.fakes.recording_host import OTHER, RecordingHost, recording_host

ME = f"<@{BOT}>"
HALF = "Half an answer"
AT_THE_END = ["Regenerate", "👍", "👎", "Delete"]
STOPPED = f"{HALF}\n\n*Stopped.*"


async def hang() -> None:
    await asyncio.Event().wait()


@asynccontextmanager
async def talking(
    script: Sequence[Answer | Answering] | Answering,
) -> AsyncGenerator[tuple[FakeDiscord, AnsweringHost], None]:
    clock = FastClock(speed=1.0)
    host = answering_host(ScriptedProvider(script), clock)
    async with running_discord(clock, window_s=WINDOW_S) as fake, serving(fake, host), host.answering():
        yield fake, host


@asynccontextmanager
async def recording() -> AsyncGenerator[tuple[FakeDiscord, RecordingHost], None]:
    clock, host = FastClock(speed=1.0), recording_host()
    async with running_discord(clock, window_s=WINDOW_S) as fake, serving(fake, host):
        yield fake, host


async def page(fake: FakeDiscord, showing: str) -> Payload:
    """The bot's message with this text, once it is there."""
    await fake.until(lambda: any(showing == seen(message) for message in by_the_bot(fake)))
    return next(message for message in by_the_bot(fake) if seen(message) == showing)


async def idle(host: AnsweringHost) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await host.turns.idle()


async def noticed(happened: Callable[[], object]) -> None:
    """Until the bot has taken in what Discord told it."""
    async with asyncio.timeout(PATIENCE_S):
        while not happened():  # noqa: ASYNC110 -- a host notifies nobody
            await asyncio.sleep(0.01)


# How far a tool is


class Slow:
    """A tool that tells how far it is, and goes on when it is let."""

    name, description, effect, timeout_s = "copy", "Copy it.", ToolEffect.READS, 60.0
    schema: JsonObject = {"type": "object", "properties": {}}  # noqa: RUF012 -- as the port has it

    def __init__(self) -> None:
        self.steps = asyncio.Semaphore(0)

    async def run(self, args: JsonObject, context: ToolContext) -> str:  # noqa: ARG002 -- it takes none
        for done in (20, 60):
            await context.report(done, 80, "")
            await self.steps.acquire()
        return "copied"


@pytest.mark.parametrize("said", ["", "I copy it."])
async def test_below_the_reply_it_is_shown_how_far_a_tool_is_until_it_has_ended(said: str) -> None:
    clock, tool = FastClock(speed=1.0), Slow()
    script = [f'{said}\n<execute>[{{"name": "copy", "args": {{}}}}]</execute>', "It is there."]
    host = answering_host(ScriptedProvider(script), clock, tools=[tool])
    async with running_discord(clock, window_s=WINDOW_S) as fake, serving(fake, host), host.answering():
        await fake.write(ANN, "copy it")
        note = reply_texts.PROGRESS.format(doing="-# Using copy…", percent=25)
        shown = await page(fake, f"{said}\n{note}".lstrip())
        assert labels(shown) == ["Stop"]
        tool.steps.release()
        await page(fake, f"{said}\n{note.replace('25', '75')}".lstrip())
        tool.steps.release()
        assert (await page(fake, f"{said}\n\nIt is there.".lstrip()))["id"] == shown["id"]
        await idle(host)
        assert by_the_bot(fake) == [shown]


# Stopping


async def test_the_word_stop_ends_the_answer_with_what_was_said_and_is_no_question() -> None:
    async with talking([[HALF, Until(hang)]]) as (fake, host):
        await fake.write(ANN, "hello")
        growing = await page(fake, HALF)
        assert labels(growing) == ["Stop"]
        await fake.write(ANN, "Stop!")
        stopped = await page(fake, STOPPED)
        await idle(host)
        assert labels(stopped) == ["Regenerate", "Delete"]
        assert [incoming.text for incoming in host.taken] == ["hello"]


async def test_help_in_words_says_what_the_command_says_there() -> None:
    async with recording() as (fake, _):
        await fake.write(ANN, "help")
        await fake.say(ANN, f"<@{BOT}> help!")

        def shown(channel: str) -> str:
            return "".join(fake.world.shown(channel))

        ends = platforms_texts.HOW_ON_DISCORD[-40:]  # in a server, all commands take more than one message
        await fake.until(lambda: all(shown(channel).endswith(ends) for channel in (DM_OF[ANN], GENERAL)))
        assert "`/new`" in shown(DM_OF[ANN])
        assert "`/policy`" in shown(GENERAL)


async def test_an_order_in_words_that_comes_twice_as_to_two_processes_is_carried_out_once() -> None:
    async with recording() as (fake, host):
        for order, said in (
            ("stop", reply_texts.NOTHING_RUNNING),
            ("forget everything", platforms_texts.use_command("forget", direct=True)),
        ):
            ordered = await fake.write(ANN, order)
            await page(fake, said)
            await fake.again(ordered)
        await fake.write(ANN, "hello")
        async with asyncio.timeout(PATIENCE_S):
            await host.arrived.wait()
        assert fake.world.shown(DM_OF[ANN]) == [
            reply_texts.NOTHING_RUNNING,
            "I have not run anything yet. Please use the command `/forget`.",
        ]


async def test_stop_where_nothing_runs_is_answered_and_never_asked() -> None:
    async with recording() as (fake, host):
        await fake.write(ANN, "stop")
        await page(fake, reply_texts.NOTHING_RUNNING)
        assert host.taken == host.overheard == []


async def test_stop_where_the_bot_is_not_addressed_is_nothing_to_it() -> None:
    async with recording() as (fake, host):
        await fake.say(ANN, "stop")
        await fake.write(ANN, "hello")
        async with asyncio.timeout(PATIENCE_S):
            await host.arrived.wait()
        assert [incoming.text for incoming in host.taken] == ["hello"]
        assert host.stopped == []


async def test_the_stop_button_ends_the_answer_for_whoever_presses_it() -> None:
    async with talking([[HALF, Until(hang)]]) as (fake, _):
        await fake.say(ANN, f"{ME} hello")
        await fake.press(BO, await page(fake, HALF), "Stop")
        assert labels(await page(fake, STOPPED)) == ["Regenerate", "Delete"]


async def test_a_press_is_about_the_reply_above_it_whatever_its_id_says() -> None:
    async with talking([[HALF, Until(hang)], "Public 2.", "Public 3."]) as (fake, host):
        await fake.write(ANN, "my secret")
        growing = await page(fake, HALF)
        await fake.say(BO, f"{ME} hello")
        public = await page(fake, "Public 2.")
        hers, his = (asked.conversation for asked in host.taken)
        await fake.press_id(BO, public, f"stop:{hers}")
        await page(fake, reply_texts.NOTHING_RUNNING)
        assert labels(growing) == ["Stop"], "hers goes on"
        await fake.press_id(BO, public, f"continue:{hers}")
        await page(fake, "Public 3.")
        assert host.taken[-1].conversation == his
        await fake.press(ANN, growing, "Stop")
        await page(fake, STOPPED)


async def test_who_is_denied_stops_nothing_by_a_command_or_a_button_either() -> None:
    async with talking([[HALF, Until(hang)]]) as (fake, host):
        denied = frozenset({AccessEntry(AccessKind.PERSON, BO)})
        host.admission.rules = AdmissionRules(AccessRules(deny=denied, open_to=frozenset(Authority)))
        await fake.say(ANN, f"{ME} hello")
        growing = await page(fake, HALF)
        await fake.command(BO, "stop")
        pressed = await fake.press(BO, growing, "Stop")
        await fake.until(lambda: pressed.followed)
        refused = [message for message in by_the_bot(fake) if "do not have access" in seen(message)]
        assert len(refused) == 2
        assert labels(growing) == ["Stop"], "it goes on"
        await fake.press(ANN, growing, "Stop")
        await page(fake, STOPPED)


@pytest.mark.parametrize("action", ["stop", "continue"])
async def test_a_press_below_what_is_no_reply_does_nothing(action: str) -> None:
    async with talking([[HALF, Until(hang)]]) as (fake, host):
        await fake.write(ANN, "my secret")
        growing = await page(fake, HALF)
        other = fake.world.message(GENERAL, BOT, "No reply.")
        await fake.press_id(BO, other, f"{action}:{host.taken[0].conversation}")
        await page(fake, reply_texts.NOTHING_RUNNING if action == "stop" else platforms_texts.NO_SUCH_REPLY)
        assert labels(growing) == ["Stop"]
        assert len(host.taken) == 1


async def test_the_stop_button_works_after_a_restart() -> None:
    clock, stops = FastClock(speed=1.0), [[HALF, Until(hang)]]
    first = answering_host(ScriptedProvider(stops), clock)
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        async with serving(fake, first), first.answering():
            await fake.write(ANN, "hello")
            growing = await page(fake, HALF)
        second = answering_host(ScriptedProvider(stops), clock, first.store)
        async with serving(fake, second), second.answering():
            await fake.press(ANN, growing, "Stop")
            await fake.until(lambda: "*Stopped.*" in growing["content"])
            await idle(second)
        assert labels(growing) == ["Regenerate", "Delete"]


async def test_a_press_of_stop_that_comes_just_after_the_end_leaves_the_buttons_of_the_end() -> None:
    async with talking(["Whole."]) as (fake, host):
        await fake.write(ANN, "hello")
        whole = await page(fake, "Whole.")
        await idle(host)
        row = {"type": 2, "style": 2, "label": "Stop", "custom_id": f"stop:{host.taken[0].conversation}"}
        await fake.press(ANN, {**whole, "components": [{"type": 1, "components": [row]}]}, "Stop")
        await page(fake, reply_texts.NOTHING_RUNNING)
        assert labels(whole) == AT_THE_END


async def test_a_stop_button_that_was_left_behind_says_that_nothing_runs_and_goes() -> None:
    async with talking(["Whole."]) as (fake, host):
        await fake.write(ANN, "hello")
        whole = await page(fake, "Whole.")
        await idle(host)
        assert labels(whole) == AT_THE_END
        row = {"type": 2, "style": 2, "label": "Stop", "custom_id": f"stop:{host.taken[0].conversation}"}
        whole["components"] = [{"type": 1, "components": [row]}]
        await fake.press(ANN, whole, "Stop")
        said = await page(fake, reply_texts.NOTHING_RUNNING)
        assert said["flags"] & EPHEMERAL
        assert (labels(whole), whole["content"]) == ([], "Whole.")


async def test_a_short_answer_is_posted_with_the_buttons_of_its_end() -> None:
    async with talking(["Whole."]) as (fake, host):
        await fake.write(ANN, "hello")
        await idle(host)
        assert labels(await page(fake, "Whole.")) == AT_THE_END
        assert not any(call.method == "PATCH" for call in fake.calls)


async def test_the_command_stop_ends_what_runs_in_the_channel_and_says_so_in_private() -> None:
    async with talking([[HALF, Until(hang)]]) as (fake, _):
        await fake.command(ANN, "ask", question="hello")
        await page(fake, HALF)
        await fake.command(ANN, "stop")
        await page(fake, STOPPED)
        said = await page(fake, reply_texts.STOPPING)
        assert said["flags"] & EPHEMERAL


async def test_the_command_stop_says_when_nothing_runs() -> None:
    async with recording() as (fake, _):
        await fake.command(ANN, "stop")
        assert (await page(fake, reply_texts.NOTHING_RUNNING))["flags"] & EPHEMERAL


async def test_whoever_may_not_use_the_bot_any_more_gets_nothing_by_a_button_whatever_its_id() -> None:
    async with recording() as (fake, host):
        asked = await fake.say(BO, "hello")
        await host.know(f"discord:{BO}", "The boat is blue.", fake.world.clock.now())
        host.restrict(AccessRules(deny=frozenset({AccessEntry(AccessKind.PERSON, BO)})))
        for words in ("list", "page 2"):
            await fake.press_id(BO, asked, ButtonPress(int(BO), "memory", words).id)
        await fake.press_id(BO, asked, ButtonPress(int(BO), "correct", "f:1", opens=True).id)
        await fake.until(lambda: [seen(one) for one in by_the_bot(fake)] == [reply_texts.NOT_ALLOWED["person"]] * 3)
        assert host.known(f"discord:{BO}") == ["The boat is blue."]


# Going on


async def test_once_an_answer_goes_on_only_the_button_for_that_goes() -> None:
    async with talking([[HALF, StreamBroken("The answer broke off.")], "The other half."]) as (fake, host):
        await fake.say(ANN, f"{ME} hello")
        await fake.until(lambda: any(labels(message) == ["Continue", "Delete"] for message in by_the_bot(fake)))
        (cut,) = by_the_bot(fake)
        await fake.press(BO, cut, "Continue")
        await page(fake, "The other half.")
        await idle(host)
        assert labels(cut) == ["Delete"]


async def test_a_private_answer_goes_on_in_private() -> None:
    async with talking([[HALF, StreamBroken("It broke off.")], "The other half."]) as (fake, host):
        await fake.command(ANN, "ask", question="hello", private=True)
        await fake.until(lambda: any(labels(message) == ["Continue", "Delete"] for message in by_the_bot(fake)))
        (cut,) = by_the_bot(fake)
        await fake.press(ANN, cut, "Continue")
        more = await page(fake, "The other half.")
        await idle(host)
        assert more["flags"] & EPHEMERAL
        assert cut["content"].startswith(HALF)
        assert host.taken[1].place.audience == PersonAudience(f"discord:{ANN}")
        assert host.taken[1].conversation == host.taken[0].conversation


# Choosing


async def test_the_command_model_says_what_answers_and_what_may_be_chosen() -> None:
    async with recording() as (fake, host):
        await fake.command(ANN, "model")
        await fake.until(lambda: any("ollama:usual" in seen(message) for message in by_the_bot(fake)))
        (said,) = by_the_bot(fake)
        assert said["flags"] & EPHEMERAL
        assert "`ollama:other`" in seen(said)
        assert f"discord:{ANN}" not in host.store.chosen


async def test_the_command_model_changes_the_callers_model_and_back() -> None:
    async with recording() as (fake, host):
        await fake.command(ANN, "model", name="ollama:other")
        await fake.until(lambda: any("ollama:other" in seen(message) for message in by_the_bot(fake)))
        assert host.store.chosen[f"discord:{ANN}"] == {MODEL: OTHER}
        await fake.command(ANN, "model", name="Usual")
        await fake.until(lambda: len(by_the_bot(fake)) == 2 and all(seen(m) for m in by_the_bot(fake)))
        assert f"discord:{ANN}" not in host.store.chosen


async def test_a_model_that_may_not_be_chosen_gets_one_sentence() -> None:
    async with recording() as (fake, host):
        await fake.command(ANN, "model", DM_OF[ANN], name="wrong")
        await page(fake, "You cannot choose that model. Choose one of ollama:usual, ollama:other.")
        assert f"discord:{ANN}" not in host.store.chosen


async def test_models_are_completed_while_somebody_types() -> None:
    async with recording() as (fake, _):
        offered = await fake.complete(ANN, "model", "name", "OTHER")
        await fake.until(lambda: offered.choices)
        assert offered.choices == ["ollama:other"]
        all_ = await fake.complete(ANN, "model", "name", "")
        await fake.until(lambda: all_.choices)
        assert all_.choices == ["ollama:usual", "ollama:other", "usual"]


async def test_a_question_may_say_how_deep_its_answer_should_go() -> None:
    async with recording() as (fake, host):
        await fake.command(ANN, "ask", GENERAL, question="why?", depth="deep")
        await fake.command(ANN, "ask", GENERAL, question="when?")
        await fake.until(lambda: sum(call.path.endswith("/callback") for call in fake.calls) == 2)
        assert [incoming.depth for incoming in host.taken] == [Depth.DEEP, Depth.ADAPT]


# Edited and deleted questions


async def test_edits_and_deletions_find_the_question_by_the_channel_that_it_was_taken_in_with() -> None:
    async with recording() as (fake, host):
        fake.world.start_thread(GENERAL, "7010", "boats")
        await fake.dispatch("THREAD_CREATE", fake.world.channels["7010"])
        asked = await fake.say(ANN, f"{ME} one?", "7010")
        await fake.change(asked, f"{ME} two?")
        await noticed(lambda: [*host.texts.values()] == ["two?"])
        await fake.take_back(asked)
        await noticed(lambda: not host.texts)
        assert [incoming.text for incoming in host.taken] == ["one?"]


async def test_an_edit_that_takes_the_mention_away_is_one_too_and_a_link_that_unfolds_is_not() -> None:
    async with recording() as (fake, host):
        asked = await fake.say(ANN, f"{ME} one?")
        await fake.change(asked, "never mind")
        await noticed(lambda: [*host.texts.values()] == ["never mind"])
        question = (GENERAL, asked["id"])
        await host.events.edited("discord", *question, "as it was stored")
        await fake.unfold(asked)
        await fake.write(ANN, "the end")
        await noticed(lambda: len(host.taken) == 2)
        assert host.texts[question] == "as it was stored"
