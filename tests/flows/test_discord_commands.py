"""Slash commands on Discord: real discord.py over real sockets, real turns; Discord and the model are scripted."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from agent.memory.audience import PersonAudience, label
from agent.providers.scripted import Answer, Answering, ScriptedProvider, ScriptPause
from bot.chat.texts import replies as reply_texts
from bot.platforms.discord.inbound import private_conversation
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.answers import answer_of
from tests.fakes.discord_bot import WINDOW_S, by_the_bot, on_discord, pings, serving
from tests.fakes.discord_gateway import PATIENCE_S, FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, DM_OF, EPHEMERAL, GENERAL, LOADING, Payload, parts, seen
from tests.fakes.fast_clock import FastClock
from tests.fakes.reader import read_back

REMEMBER = '<execute>[{"name": "remember", "args": {"text": "The boat is turquoise."}}]\n</execute>'


@asynccontextmanager
async def talking(
    script: Sequence[Answer | Answering] | Answering,
) -> AsyncGenerator[tuple[FakeDiscord, AnsweringHost], None]:
    clock = FastClock(speed=1.0)
    host = answering_host(ScriptedProvider(script), clock)
    async with running_discord(clock, window_s=WINDOW_S) as fake, serving(fake, host), host.answering():
        yield fake, host


async def answered(fake: FakeDiscord, host: AnsweringHost, messages: int = 1) -> None:
    await fake.until(lambda: len(host.taken) == messages)
    async with asyncio.timeout(PATIENCE_S):
        await host.turns.idle()


async def answer_to(fake: FakeDiscord, person: str, name: str, channel: str = GENERAL, **options: object) -> Payload:
    """The message that answers a command which needs no turn."""
    interaction = await fake.command(person, name, channel, **options)
    await fake.until(lambda: _shown(fake, interaction.original))
    return fake.world.messages[interaction.original]


def buttons(message: Payload) -> list[str]:
    return [part["label"] for part in parts(message) if part["type"] == 2]


def _shown(fake: FakeDiscord, message: str) -> bool:
    return message in fake.world.messages and bool(seen(fake.world.messages[message]))


async def test_ask_is_deferred_and_then_answered_for_all_to_see() -> None:
    async with talking([[ScriptPause(0.2), "Blue."]]) as (fake, host):
        interaction = await fake.command(ANN, "ask", question="which colour?")
        await fake.until(lambda: interaction.original)
        assert fake.world.messages[interaction.original]["flags"] & LOADING
        await answered(fake, host)
        assert fake.world.shown(GENERAL) == ["Blue."]
        assert fake.rest.calls[-1].path.endswith("/messages/@original")
        assert pings(fake) == []


async def test_ask_in_a_direct_message_belongs_to_that_conversation() -> None:
    async with talking(["One.", "Two."]) as (fake, host):
        written = await fake.write(ANN, "first")
        await answered(fake, host)
        await fake.command(ANN, "ask", written["channel_id"], question="second", private=True)
        await answered(fake, host, 2)
        assert fake.world.shown(DM_OF[ANN]) == ["One.", "Two."]
        assert len({incoming.conversation for incoming in host.taken}) == 1


async def test_a_private_ask_is_seen_by_the_asker_alone_and_is_a_conversation_of_its_own() -> None:
    async with talking(["Blue."]) as (fake, host):
        await fake.command(ANN, "ask", question="which colour?", private=True)
        await answered(fake, host)
        (shown,) = by_the_bot(fake)
        assert (shown["content"], bool(shown["flags"] & EPHEMERAL)) == ("Blue.", True)
        (taken,) = host.taken
        assert taken.place.audience == PersonAudience(f"discord:{ANN}")
        assert taken.conversation == private_conversation(int(GENERAL), int(ANN))


async def test_a_long_private_answer_goes_on_in_messages_that_only_the_asker_sees() -> None:
    text = answer_of(3_000)
    async with talking([text]) as (fake, host):
        await fake.command(ANN, "ask", question="tell me", private=True)
        await answered(fake, host)
        shown = by_the_bot(fake)
        assert all(message["flags"] & EPHEMERAL for message in shown)
        assert read_back([message["content"] for message in shown], 2_000) == on_discord(text)


async def test_an_interaction_delivered_twice_is_answered_once() -> None:
    async with talking(["Blue.", "Red."]) as (fake, host):
        await fake.command(ANN, "ask", question="which colour?")
        await fake.repeat_interaction()
        await answered(fake, host)
        await fake.repeat_interaction()
        await answered(fake, host, 2)
        assert fake.world.shown(GENERAL) == ["Blue."]


async def test_an_interaction_that_could_not_be_acknowledged_in_time_is_answered_in_the_channel() -> None:
    async with talking(["Blue."]) as (fake, host):
        fake.rest.fail("POST", "/callback$", 404, 10062)
        await fake.command(ANN, "ask", question="which colour?")
        await answered(fake, host)
        (shown,) = by_the_bot(fake)
        assert (shown["channel_id"], shown["content"], "token" in shown) == (GENERAL, "Blue.", False)


async def test_a_private_answer_that_can_no_longer_be_given_in_place_goes_to_the_dm_never_to_the_channel() -> None:
    async with talking(["Blue."]) as (fake, host):
        fake.rest.fail("POST", "/callback$", 404, 10062)
        await fake.command(ANN, "ask", question="which colour?", private=True)
        await answered(fake, host)
        assert fake.world.shown(DM_OF[ANN]) == ["Blue."]
        assert fake.world.shown(GENERAL) == []


async def test_memory_shows_the_notes_to_the_caller_alone() -> None:
    async with talking([f"Noting it.\n{REMEMBER}", "Noted."]) as (fake, host):
        await fake.write(ANN, "remember that the boat is turquoise")
        await answered(fake, host)
        shown = await answer_to(fake, ANN, "memory")
        assert "The boat is turquoise." in seen(shown)
        assert shown["flags"] & EPHEMERAL
        others = await answer_to(fake, BO, "memory")
        assert "boat" not in seen(others)


async def test_usage_shows_what_the_callers_questions_took_to_the_caller_alone() -> None:
    async with talking(["Blue."]) as (fake, host):
        await fake.write(ANN, "which colour?")
        await answered(fake, host)
        shown = await answer_to(fake, ANN, "usage")
        assert "**Today**: no price, 1 model call" in seen(shown)
        assert shown["flags"] & EPHEMERAL
        others = await answer_to(fake, BO, "usage")
        assert seen(others) == "You have not asked anything this month."


async def test_forgetting_everything_asks_first_and_ends_in_a_receipt() -> None:
    async with talking([f"Noting it.\n{REMEMBER}", "Noted."]) as (fake, host):
        await fake.write(ANN, "remember that the boat is turquoise")
        await answered(fake, host)
        question = await answer_to(fake, ANN, "forget", what="everything")
        assert question["flags"] & EPHEMERAL
        assert host.store.facts_kept
        await fake.press(ANN, question, "Forget")
        await fake.until(lambda: seen(question).startswith("Forgotten:"))
        assert host.store.facts_kept == []
        assert buttons(question) == []


async def test_forgetting_a_thread_leaves_the_others() -> None:
    async with talking(["One.", "Two."]) as (fake, host):
        asked = await fake.say(ANN, f"<@{BOT}> first")
        await fake.write(ANN, "second")
        await answered(fake, host, 2)
        question = await answer_to(fake, ANN, "forget", asked["id"], what="thread")
        await fake.press(ANN, question, "Forget")
        await fake.until(lambda: seen(question).startswith("Forgotten:"))
        assert {message.text for _, message in host.store.messages} == {"second", "Two."}


async def test_keeping_forgets_nothing() -> None:
    async with talking(["One."]) as (fake, host):
        await fake.write(ANN, "first")
        await answered(fake, host)
        question = await answer_to(fake, ANN, "forget", what="everything")
        await fake.press(ANN, question, "Keep everything")
        await fake.until(lambda: seen(question) == "Nothing was forgotten.")
        assert len(host.store.messages) == 2


async def test_only_the_caller_can_press_the_buttons() -> None:
    async with talking(["One."]) as (fake, host):
        await fake.write(ANN, "first")
        await answered(fake, host)
        question = await answer_to(fake, ANN, "forget", what="everything")
        await fake.press(BO, question, "Forget")
        await fake.until(lambda: any(seen(message) == reply_texts.NOT_YOURS for message in by_the_bot(fake)))
        assert len(host.store.messages) == 2


async def test_the_buttons_work_after_a_restart() -> None:
    clock = FastClock(speed=1.0)
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        first = answering_host(ScriptedProvider(["One."]), clock)
        async with serving(fake, first), first.answering():
            await fake.write(ANN, "first")
            await answered(fake, first)
            question = await answer_to(fake, ANN, "forget", what="everything")
        second = answering_host(ScriptedProvider([]), clock, first.store)
        async with serving(fake, second):
            await fake.press(ANN, question, "Forget")
            await fake.until(lambda: seen(question).startswith("Forgotten:"))
    assert first.store.messages == []


async def test_what_was_told_in_a_dm_is_known_there_and_nowhere_else() -> None:
    def says(messages: Sequence[object]) -> str:
        return "I know." if "boat is turquoise" in str(messages) else "I do not know."

    async with talking([f"Noting it.\n{REMEMBER}", "Noted.", says, says, says]) as (fake, host):
        await fake.write(ANN, "remember: the boat is turquoise")
        await answered(fake, host)
        (kept,) = host.store.facts_kept
        assert kept.audience == label(PersonAudience(f"discord:{ANN}"))
        await fake.command(ANN, "ask", question="colour?", private=True)
        await answered(fake, host, 2)
        assert by_the_bot(fake)[-1]["content"] == "I know."
        asked = await fake.say(ANN, f"<@{BOT}> colour?")
        await answered(fake, host, 3)
        assert fake.world.shown(asked["id"]) == ["I do not know."]
        await fake.write(BO, "colour?")
        await answered(fake, host, 4)
        assert fake.world.shown(DM_OF[BO]) == ["I do not know."]
