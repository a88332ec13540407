"""More ways to ask and to forget on Discord: options of `/ask`, menus of messages, `/new`, `/help`; and where a person
alone has installed the bot."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import discord
import pytest

from agent.incoming import Incoming
from agent.memory.audience import Place, TeamAudience
from agent.providers.scripted import ScriptedProvider, Until
from bot.chat.texts import replies as reply_texts
from bot.forgetting.commands import FORGET_WORDS, TIMES
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.asking import SOURCE_WORDS, AskAboutWindow
from bot.platforms.discord.interactions import STORE_FIRST_S
from bot.platforms.discord.panels import ButtonPress
from tests.fakes.answering_host import answering_host
from tests.fakes.answers import answer_of
from tests.fakes.discord_bot import WINDOW_S, by_the_bot, on_discord, pings, serving
from tests.fakes.discord_gateway import PATIENCE_S, FakeDiscord, running_discord
from tests.fakes.discord_rest import ACKNOWLEDGE_S, Interaction
from tests.fakes.discord_world import ANN, BO, BOT, DM_OF, EPHEMERAL, GENERAL, GUILD, LOADING, Payload, seen, text_file
from tests.fakes.fast_clock import FastClock, MovedClock
from tests.fakes.incoming import said
from tests.fakes.reader import read_back
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.fakes.turns_host import AT_ONCE

PAGE = 2_000
QUESTION_FIELD = [{"type": 1, "components": [{"type": 4, "custom_id": "question"}]}]


@asynccontextmanager
async def recording(host: RecordingHost | None = None) -> AsyncGenerator[tuple[FakeDiscord, RecordingHost], None]:
    clock, host = FastClock(speed=1.0), host or recording_host()
    async with running_discord(clock, window_s=WINDOW_S) as fake, serving(fake, host):
        yield fake, host


async def noticed(happened: Callable[[], object]) -> None:
    """Until the bot has taken in what Discord told it."""
    async with asyncio.timeout(PATIENCE_S):
        while not happened():  # noqa: ASYNC110 -- a host notifies nobody
            await asyncio.sleep(0.01)


@asynccontextmanager
async def elsewhere(text: str) -> AsyncGenerator[FakeDiscord, None]:
    """In a server that has not installed the bot, where its answer is `text`."""
    clock = FastClock(speed=1.0)
    host = answering_host(ScriptedProvider([text]), clock)
    async with running_discord(clock, window_s=WINDOW_S) as fake, serving(fake, host), host.answering():
        fake.elsewhere = True
        yield fake


def of_ann(text: str, message: str) -> Incoming:
    place = Place(TeamAudience(f"discord:{GUILD}"))
    asked = said(text, person=f"discord:{ANN}", conversation=f"discord:{GENERAL}", place=place)
    return replace(asked, source="discord", channel=GENERAL, message_id=message)


async def shown_for(fake: FakeDiscord, interaction: Interaction) -> Payload:
    """What its caller alone sees in answer to it."""
    await fake.until(lambda: interaction.original and seen(fake.world.messages[interaction.original]))
    message = fake.world.messages[interaction.original]
    assert message["flags"] & EPHEMERAL
    return message


async def replaced(fake: FakeDiscord, panel: Payload, by: str) -> None:
    await fake.until(lambda: seen(panel) == by)


# `/ask`


async def test_a_question_can_name_its_model_and_bring_a_file() -> None:
    async with recording() as (fake, host):
        file = text_file("plan.txt", f"http://{fake.address}/cdn/plan.txt", 12)
        await fake.command(ANN, "ask", question="what does it say?", model="ollama:other", file=file)
        await noticed(lambda: host.taken)
        (taken,) = host.taken
        assert taken.model == "ollama:other"
        assert [(one.name, one.author) for one in taken.files] == [("plan.txt", "Ann")]
        offered = await fake.complete(ANN, "ask", "model", "other")
        await fake.until(lambda: offered.choices)
        assert offered.choices == ["ollama:other"]


async def test_a_model_that_is_not_open_is_refused_in_one_private_sentence() -> None:
    async with recording() as (fake, host):
        asked = await fake.command(ANN, "ask", question="hello", model="wrong")
        said = await shown_for(fake, asked)
        assert seen(said) == "You cannot choose that model. Choose one of ollama:usual, ollama:other."
        assert host.taken == []


def test_what_is_stored_first_leaves_half_of_discords_patience_to_the_way() -> None:
    assert STORE_FIRST_S <= ACKNOWLEDGE_S / 2


async def test_under_load_a_question_is_acknowledged_before_it_is_stored() -> None:
    host = recording_host()
    host.store.ledger.may_store.clear()
    async with recording(host) as (fake, _):
        asked = await fake.command(ANN, "ask", question="hello")
        began = fake.world.clock.monotonic()
        await fake.until(lambda: asked.acknowledged)
        assert fake.world.clock.monotonic() - began > STORE_FIRST_S / 2
        assert fake.world.messages[asked.original]["flags"] & LOADING
        assert host.taken == []
        host.store.ledger.may_store.set()
        await noticed(lambda: host.taken)


# Fifteen minutes


async def test_an_answer_whose_time_runs_out_while_it_grows_is_completed_in_private_only_in_the_dm() -> None:
    first, rest = "The boat is blue. " * 20, f"And the harbour {'is old, ' * 20}they say."
    for private in (True, False):
        clock, gate = MovedClock(speed=1.0), asyncio.Event()
        lasting = replace(AT_ONCE, lease=timedelta(hours=1))  # else the leap ends the lease of the turn, too
        host = answering_host(ScriptedProvider([[first, Until(gate.wait), rest]]), clock, limits=lasting)
        async with running_discord(clock, window_s=WINDOW_S) as fake, serving(fake, host), host.answering():
            await fake.command(ANN, "ask", question="tell me", private=private)
            await fake.until(lambda fake=fake: any(message["content"] for message in by_the_bot(fake)))
            clock.ahead_s = timedelta(minutes=16).total_seconds()
            gate.set()
            async with asyncio.timeout(PATIENCE_S):
                await host.turns.idle()
            whole = f"{first}{rest}"
            if private:
                assert fake.world.shown(GENERAL) == []
                answer, more = by_the_bot(fake)
                assert answer["flags"] & EPHEMERAL
                assert [more["content"]] == fake.world.shown(DM_OF[ANN])
                assert answer["content"] + more["content"] == whole
            else:
                assert fake.world.shown(GENERAL) == [whole]


# Where a person alone has installed the bot


async def test_more_than_may_follow_there_goes_on_in_the_dm() -> None:
    text = answer_of(14_000)
    async with elsewhere(text) as fake:
        await fake.command(ANN, "ask", question="tell me")
        await fake.until(lambda: any(message.get("files") for message in by_the_bot(fake)))
        shown = [message["content"] for message in by_the_bot(fake) if message["content"]]
        assert read_back(shown, PAGE) == on_discord(text)
        assert [message["channel_id"] for message in by_the_bot(fake)].count(DM_OF[ANN]) == 3
        assert next(iter(fake.rest.interactions.values())).followed == 5
        assert pings(fake) == []


async def test_if_the_dm_is_closed_the_last_message_there_says_so() -> None:
    async with elsewhere(answer_of(14_000)) as fake:
        fake.rest.fail("POST", f"/channels/{DM_OF[ANN]}/messages$", 403, 50007, times=9)
        await fake.command(ANN, "ask", question="tell me")
        await fake.until(lambda: platforms_texts.TOO_LONG_HERE in [message["content"] for message in by_the_bot(fake)])
        assert next(iter(fake.rest.interactions.values())).followed == 5
        assert fake.world.shown(DM_OF[ANN]) == []


# Menus of messages


async def test_a_message_is_asked_about_in_a_window() -> None:
    async with recording() as (fake, host):
        said = await fake.say(
            BO, "The ferry leaves at nine.", attachments=[text_file("times.txt", "http://127.0.0.1/t", 3)]
        )
        chosen = await fake.choose_menu(ANN, platforms_texts.ASK_ABOUT_THIS, said)
        await fake.until(lambda: chosen.window)
        asked = await fake.submit(ANN, chosen.window, "when does it leave?")
        await noticed(lambda: host.taken)
        (taken,) = host.taken
        assert (taken.text, taken.person.id) == ("when does it leave?", f"discord:{ANN}")
        assert [(one.source, one.author, one.text) for one in taken.quoted] == [
            (SOURCE_WORDS, "Bo", "The ferry leaves at nine.")
        ]
        assert [one.name for one in taken.files] == ["times.txt"]
        await fake.until(lambda: asked.acknowledged)


async def test_a_window_is_its_openers_alone() -> None:
    async with recording() as (fake, host):
        chosen = await fake.choose_menu(
            ANN, platforms_texts.ASK_ABOUT_THIS, await fake.say(BO, "The ferry leaves at nine.")
        )
        await fake.until(lambda: chosen.window)
        refused = await fake.submit(BO, chosen.window, "what does it say?")
        assert seen(await shown_for(fake, refused)) == reply_texts.NOT_YOURS
        assert host.taken == []


async def test_the_window_works_after_a_restart_if_the_message_can_be_read() -> None:
    clock, host = FastClock(speed=1.0), recording_host()
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        async with serving(fake, host):
            said = await fake.say(BO, "The ferry leaves at nine.")
            chosen = await fake.choose_menu(ANN, platforms_texts.ASK_ABOUT_THIS, said)
            await fake.until(lambda: chosen.window)
        async with serving(fake, host):
            await fake.submit(ANN, chosen.window, "when?")
            await noticed(lambda: host.taken)
            assert [one.text for one in host.taken[0].quoted] == ["The ferry leaves at nine."]
            again = await fake.choose_menu(ANN, platforms_texts.ASK_ABOUT_THIS, said)
            await fake.until(lambda: again.window)
        async with serving(fake, host):
            del fake.world.messages[said["id"]]
            lost = await fake.submit(ANN, again.window, "when?")
            assert seen(await shown_for(fake, lost)) == platforms_texts.CHOOSE_AGAIN


async def test_a_window_that_a_persons_own_program_names_reads_no_history_that_they_may_not_read() -> None:
    async with recording() as (fake, host):
        said = await fake.say(ANN, "The ferry leaves at nine.")
        window = {"custom_id": AskAboutWindow(int(BO), int(said["id"])).id, "components": QUESTION_FIELD}
        fake.member_may = str(int(fake.member_may) & ~discord.Permissions.read_message_history.flag)
        asked = await fake.submit(BO, window, "when?")
        assert seen(await shown_for(fake, asked)) == platforms_texts.CHOOSE_AGAIN
        assert host.taken == []


@pytest.mark.parametrize(
    "custom_id",
    [
        ButtonPress(int(BO), "ask", "hello").id,
        ButtonPress(int(BO), "message", f"reply {'9' * 70}").id,
        "good:9999999999999999999",
        "delete:9223372036854775808",
        "continue:x",
        "regenerate:5",
    ],
)
async def test_whatever_a_persons_own_program_presses_in_a_panel_is_no_error(
    custom_id: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with recording() as (fake, _):
        message = await fake.say(BO, "mine is red")
        panel = await shown_for(fake, await fake.choose_menu(BO, platforms_texts.FORGET_THIS, message))
        await fake.press_id(BO, panel, custom_id)
        await fake.press(BO, panel, platforms_texts.KEEP_BUTTON)
        await replaced(fake, panel, platforms_texts.NOT_FORGOTTEN)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_a_message_of_ones_own_is_forgotten_after_a_question() -> None:
    async with recording() as (fake, host):
        said = await fake.say(ANN, "my boat is blue")
        await host.store.hear(of_ann("my boat is blue", said["id"]))
        panel = await shown_for(fake, await fake.choose_menu(ANN, platforms_texts.FORGET_THIS, said))
        assert seen(panel) == platforms_texts.WILL_FORGET
        refused = await fake.press(BO, panel, "Forget")
        await fake.until(lambda: refused.acknowledged)
        assert host.texts == {(GENERAL, said["id"]): "my boat is blue"}
        await fake.press(ANN, panel, "Forget")
        await replaced(fake, panel, platforms_texts.MESSAGE_FORGOTTEN)
        assert host.texts == {}
        assert said["id"] in fake.world.messages


async def test_a_reply_to_oneself_is_forgotten_and_deleted_and_nothing_of_others() -> None:
    host = recording_host()
    turn = await host.store_reply(of_ann("which?", "200"), f"{GENERAL}/300")
    async with recording(host) as (fake, _):
        shown = fake.world.message(GENERAL, BOT, "One.", id="300")
        others = await fake.say(BO, "my boat is red")
        for person, message in ((BO, shown), (ANN, others)):
            assert (
                seen(await shown_for(fake, await fake.choose_menu(person, platforms_texts.FORGET_THIS, message)))
                == platforms_texts.NOT_YOUR_MESSAGE
            )
        assert host.is_kept(turn)
        panel = await shown_for(fake, await fake.choose_menu(ANN, platforms_texts.FORGET_THIS, shown))
        await fake.press(ANN, panel, "Forget")
        await replaced(fake, panel, platforms_texts.REPLY_FORGOTTEN)
        assert not host.is_kept(turn)


async def test_an_id_that_a_persons_own_program_sends_forgets_nothing_that_others_wrote() -> None:
    async with recording() as (fake, host):
        said, other = await fake.say(ANN, "my boat is blue"), await fake.say(BO, "mine is red")
        await host.store.hear(of_ann("my boat is blue", said["id"]))
        await host.store.hear(replace(of_ann("on another platform", "1700000000.000100"), channel="C0123"))
        for named in (f"{GENERAL} {said['id']}", "C0123 1700000000.000100"):
            panel = await shown_for(fake, await fake.choose_menu(BO, platforms_texts.FORGET_THIS, other))
            await fake.press_id(BO, panel, ButtonPress(int(BO), "message", f"message {named}").id)
            await replaced(fake, panel, platforms_texts.MESSAGE_FORGOTTEN)
        assert sorted(host.texts.values()) == ["my boat is blue", "on another platform"]


# `/forget`, `/new`, `/help`


async def test_a_scope_says_what_the_words_are_about() -> None:
    async with recording() as (fake, host):
        await host.know(f"discord:{ANN}", "I have two boats.", fake.world.clock.now())
        for options, understood in (
            ({"scope": "about", "what": "boats"}, "mentions “boats”"),
            ({"scope": "everything"}, "I will forget everything that you told me"),
            ({"scope": "thread"}, "There is nothing to forget in this thread"),
            ({"scope": "time", "what": "2 hours"}, "I will forget what you said everywhere from"),
        ):
            called = await fake.command(ANN, "forget", **options)
            assert understood in seen(await shown_for(fake, called))


async def test_what_fits_the_scope_is_offered_while_somebody_types() -> None:
    async with recording() as (fake, _):
        for options, offered in (({}, list(FORGET_WORDS)), ({"scope": "time"}, list(TIMES))):
            typing = await fake.complete(ANN, "forget", "what", "", GENERAL, **options)
            await fake.until(lambda typing=typing: typing.choices)
            assert typing.choices == offered


async def test_new_begins_a_conversation_in_a_dm() -> None:
    async with recording() as (fake, host):
        before = await host.direct_messages.current(f"discord:{DM_OF[ANN]}")
        called = await fake.command(ANN, "new", DM_OF[ANN])
        assert seen(await shown_for(fake, called)) == platforms_texts.NEW_CONVERSATION
        assert await host.direct_messages.current(f"discord:{DM_OF[ANN]}") != before


async def test_this_conversation_is_the_one_that_goes_on_in_a_dm() -> None:
    async with recording() as (fake, host):
        await shown_for(fake, await fake.command(ANN, "new", DM_OF[ANN]))
        now = await host.direct_messages.current(f"discord:{DM_OF[ANN]}")
        for conversation, words in ((now, "this one"), (f"discord:{DM_OF[ANN]}:before", "another thread")):
            await host.store.hear(said(words, person=f"discord:{ANN}", conversation=conversation))
        panel = await shown_for(fake, await fake.command(ANN, "forget", DM_OF[ANN], scope="thread"))
        await fake.press(ANN, panel, "Forget")
        await noticed(lambda: [*host.texts.values()] == ["another thread"])


async def test_no_panel_lets_discord_notify_anybody() -> None:
    async with recording() as (fake, host):
        await host.know(f"discord:{ANN}", "hello @everyone", fake.world.clock.now())
        said = await fake.say(ANN, "hello @everyone")
        for called in (
            await fake.command(ANN, "settings"),
            await fake.command(ANN, "memory"),
            await fake.command(ANN, "forget", what="about @everyone"),
            await fake.choose_menu(ANN, platforms_texts.FORGET_THIS, said),
        ):
            panel = await shown_for(fake, called)
        await fake.press(BO, panel, "Forget")
        await fake.until(lambda: sum(bool(message["components"]) for message in by_the_bot(fake)) == 5)
        bodies = [call.body.get("data") or call.body for call in fake.calls if call.method in {"POST", "PATCH"}]
        panels = [body for body in bodies if body.get("components")]
        assert len(panels) == 5
        assert all(body["allowed_mentions"]["parse"] == [] for body in panels)


async def test_help_names_the_commands_that_work_where_it_is_asked() -> None:
    async with recording() as (fake, _):
        here = seen(await shown_for(fake, await fake.command(ANN, "help")))
        direct = seen(await shown_for(fake, await fake.command(ANN, "help", DM_OF[ANN])))
        assert "`/ask`: Ask me something" in here
        assert ("/policy" in here, "/new" in here) == (True, False)
        assert ("/policy" in direct, "/new" in direct) == (False, True)


async def test_commands_are_put_once_and_again_only_when_they_changed() -> None:
    clock, host = FastClock(speed=1.0), recording_host()
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        for _ in range(2):
            async with serving(fake, host):
                pass
        assert puts(fake) == 1
        fake.rest.commands[0]["description"] = "Something else"
        async with serving(fake, host):
            pass
        assert puts(fake) == 2


async def test_a_command_that_somebodys_client_knows_as_it_was_gets_one_private_sentence() -> None:
    async with recording() as (fake, host):
        assert seen(await shown_for(fake, await fake.command(ANN, "ask"))) == platforms_texts.COMMAND_CHANGED
        assert host.taken == []


async def test_a_command_that_comes_too_late_is_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with recording() as (fake, _):
        with caplog.at_level(logging.INFO, "bot"):
            fake.rest.fail("POST", "/callback$", 404, 10062)
            await fake.command(ANN, "usage")
            late = "Discord: a command could not be answered: "
            await noticed(lambda: [line for line in caplog.messages if line.startswith(late) and "10062" in line])
        assert all(record.levelno < logging.ERROR for record in caplog.records)


def puts(fake: FakeDiscord) -> int:
    return sum(call.method == "PUT" and call.path.endswith("/commands") for call in fake.calls)
