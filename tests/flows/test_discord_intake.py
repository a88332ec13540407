"""What the Discord adapter hands to its host: real discord.py over real sockets, nothing answers."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import StoreUnavailable
from agent.incoming import Incoming, Quoted
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience
from bot.chat.message_parts import UNREADABLE_LINK, UNREADABLE_REPLIED, UNREADABLE_THREAD
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.discord import surroundings
from bot.platforms.discord.objects import without_code
from tests.fakes.discord_bot import by_the_bot, serving
from tests.fakes.discord_gateway import PATIENCE_S, FakeDiscord, running_discord
from tests.fakes.discord_world import (
    ANN,
    BO,
    BOT,
    CODE,
    DM_OF,
    EPHEMERAL,
    GENERAL,
    GUILD,
    OTHER_BOT,
    STAFF,
    VOICE,
    seen,
)
from tests.fakes.fast_clock import FastClock
from tests.fakes.incoming import said
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.patience import until

SERVER = TeamAudience(f"discord:{GUILD}")
ASK = f"<@{BOT}> "


@asynccontextmanager
async def listening(**given: object) -> AsyncGenerator[tuple[FakeDiscord, RecordingHost], None]:
    host = recording_host()
    async with running_discord(FastClock(speed=1.0)) as fake, serving(fake, host, **given):
        yield fake, host


async def taken(host: RecordingHost, count: int = 1) -> Incoming:
    """The last of so many messages that the bot will answer."""
    async with asyncio.timeout(PATIENCE_S):
        while len(host.taken) < count:
            host.arrived.clear()
            await host.arrived.wait()
    return host.taken[-1]


async def everything_before(fake: FakeDiscord, host: RecordingHost) -> None:
    """Until all that was said before has been handled: what comes after it in the same channel was, too."""
    for channel in [GENERAL, *(number for number, each in fake.world.channels.items() if each["type"] == 11)]:
        before = len(host.taken)
        await fake.say(BO, f"{ASK}are you there?", channel)
        await taken(host, before + 1)
        del host.taken[-1]


async def thread_of(fake: FakeDiscord, host: RecordingHost) -> str:
    """A thread in which Ann talks with the bot."""
    asked = await fake.say(ANN, f"{ASK}which colour has the boat?")
    await taken(host, 1)
    fake.world.start_thread(GENERAL, asked["id"], "the boat")
    await fake.dispatch("THREAD_CREATE", {**fake.world.channels[asked["id"]], "newly_created": True})
    return asked["id"]


def without_pages(quoted: Sequence[Quoted]) -> tuple[Quoted, ...]:
    """Which stored replies they are is compared where what flows from them is tested."""
    return tuple(replace(one, pages=()) for one in quoted)


async def test_a_mention_says_who_asked_what_and_where() -> None:
    async with listening() as (fake, host):
        asked = await fake.say(ANN, f"{ASK}which colour has the boat?")
        incoming = await taken(host)
        assert (incoming.source, incoming.event_id, incoming.message_id) == ("discord", asked["id"], asked["id"])
        assert (incoming.channel, incoming.conversation) == (GENERAL, f"discord:{asked['id']}")
        assert (incoming.person.id, incoming.person.name) == (f"discord:{ANN}", "Ann")
        assert incoming.text == "which colour has the boat?"
        assert incoming.place == Place(SERVER, within_team=f"discord:{GUILD}")
        assert incoming.permalink == f"https://discord.com/channels/{GUILD}/{GENERAL}/{asked['id']}"


@pytest.mark.parametrize(
    ("channel", "place"),
    [
        (DM_OF[ANN], Place(PersonAudience(f"discord:{ANN}"), within_team=f"discord:{GUILD}")),
        (STAFF, Place(GroupAudience(f"discord:{STAFF}"), within_team=f"discord:{GUILD}")),
        (VOICE, Place(GroupAudience(f"discord:{VOICE}"))),
    ],
)
async def test_who_can_read_a_channel_is_its_audience(channel: str, place: Place) -> None:
    async with listening() as (fake, host):
        await fake.say(ANN, f"{ASK}hello", channel)
        assert (await taken(host)).place == place


async def test_a_private_thread_is_a_group_of_its_own() -> None:
    async with listening() as (fake, host):
        thread = fake.world.start_thread(GENERAL, "7001", "secret", kind=12)
        await fake.dispatch("THREAD_CREATE", thread)
        await fake.say(ANN, f"{ASK}hello", "7001")
        assert (await taken(host)).place.audience == GroupAudience("discord:7001")


async def test_a_thread_that_the_library_has_not_heard_of_is_looked_up() -> None:
    async with listening() as (fake, host):
        fake.world.start_thread(GENERAL, "7002", "archived")
        await fake.say(ANN, f"{ASK}hello", "7002")
        incoming = await taken(host)
        assert (incoming.conversation, incoming.channel) == ("discord:7002", GENERAL)
        assert incoming.place.audience == SERVER


async def test_messages_that_are_not_for_the_bot_are_not_even_stored() -> None:
    async with listening() as (fake, host):
        await fake.say(ANN, "good morning")
        await fake.say(ANN, f"<@{BO}> lunch?")
        await fake.say(OTHER_BOT, f"{ASK}hello")
        await fake.say(BOT, f"{ASK}hello")
        await fake.say(ANN, f"{ASK}joined", type=7)
        await fake.say(ANN, f"{ASK}hello", webhook_id="5")
        await everything_before(fake, host)
        assert (host.taken, host.overheard) == ([], [])


async def test_a_commands_words_in_a_message_are_answered_with_the_command_and_never_asked() -> None:
    async with listening() as (fake, host):
        await fake.say(ANN, f"{ASK}forget everything")
        await fake.until(lambda: fake.world.shown(GENERAL))
        assert fake.world.shown(GENERAL) == [platforms_texts.use_command("forget", direct=False)]
        await everything_before(fake, host)
        assert host.taken == []


async def test_another_bot_is_heard_if_it_is_allowed() -> None:
    async with listening(allowed_bots=frozenset({OTHER_BOT})) as (fake, host):
        await fake.say(OTHER_BOT, f"{ASK}hello")
        assert (await taken(host)).person.name == "Herald"


async def test_an_allowed_bot_is_answered_in_a_thread_only_when_it_asks() -> None:
    async with listening(allowed_bots=frozenset({OTHER_BOT})) as (fake, host):
        asked = await fake.say(OTHER_BOT, f"{ASK}hello")
        await taken(host)
        fake.world.start_thread(GENERAL, asked["id"], "hello")
        await fake.say(OTHER_BOT, "hello again", asked["id"])
        await fake.say(OTHER_BOT, f"{ASK}really?", asked["id"])
        await taken(host, 2)
        assert [each.text for each in host.overheard] == ["hello again"]


async def test_in_a_thread_everything_counts_until_somebody_else_joins() -> None:
    async with listening() as (fake, host):
        thread = await thread_of(fake, host)
        await fake.say(ANN, "and its sails?", thread)
        assert (await taken(host, 2)).text == "and its sails?"
        await fake.say(BO, "they are white", thread)
        await fake.say(ANN, "thank you", thread)
        await fake.say(BO, f"{ASK}is that so?", thread)
        assert (await taken(host, 3)).text == "is that so?"
        assert [(each.person.name, each.text) for each in host.overheard] == [
            ("Bo", "they are white"),
            ("Ann", "thank you"),
        ]
        assert {each.conversation for each in host.taken + host.overheard} == {f"discord:{thread}"}


async def test_the_bots_role_and_a_reply_to_it_are_mentions_too() -> None:
    async with listening() as (fake, host):
        await fake.say(ANN, "<@&31> hello", mention_roles=["31"])
        assert (await taken(host)).text == "hello"
        theirs = fake.world.message(GENERAL, BOT, "The boat is blue.")
        reference = {"message_id": theirs["id"], "channel_id": GENERAL, "guild_id": GUILD}
        await fake.say(
            ANN,
            "really?",
            type=19,
            message_reference=reference,
            referenced_message=theirs,
            mentions=[theirs["author"]],
        )
        incoming = await taken(host, 2)
        assert without_pages(incoming.quoted) == (
            Quoted("the message that this one replies to", "Cogency", "The boat is blue.", by_bot=True),
        )


async def test_names_reach_the_model_instead_of_ids() -> None:
    async with listening() as (fake, host):
        await fake.say(ANN, f"{ASK}ask <@{BO}> in <#{GENERAL}> about <:boat:123>, <@77>")
        assert (await taken(host)).text == "ask @Bo in #general about :boat:, @someone"


async def test_a_first_mention_in_a_running_thread_brings_the_thread_along() -> None:
    async with listening() as (fake, host):
        root = fake.world.message(GENERAL, BO, "Which boat shall we take?")
        fake.world.start_thread(GENERAL, root["id"], "the boat")
        await fake.dispatch("THREAD_CREATE", fake.world.channels[root["id"]])
        for person, text in [(ANN, "The blue one."), (BO, "It leaks.")]:
            await fake.say(person, text, root["id"])
        await fake.say(ANN, f"{ASK}summarise this thread", root["id"])
        assert without_pages((await taken(host)).quoted) == (
            Quoted("the message that started this thread", "Bo", "Which boat shall we take?"),
            Quoted("earlier in this thread", "Ann", "The blue one."),
            Quoted("earlier in this thread", "Bo", "It leaks."),
        )
        await fake.say(ANN, f"{ASK}and now?", root["id"])
        assert (await taken(host, 2)).quoted == ()
        assert host.overheard == []


async def test_of_a_long_thread_the_end_is_brought_along() -> None:
    async with listening() as (fake, host):
        fake.world.start_thread(GENERAL, "7003", "long")
        await fake.dispatch("THREAD_CREATE", fake.world.channels["7003"])
        for number in range(30):
            fake.world.message("7003", ANN, f"{number} " + "x" * 1_000)
        await fake.say(ANN, f"{ASK}summarise", "7003")
        quoted = (await taken(host)).quoted
        assert sum(len(each.text) for each in quoted) <= surroundings.MAX_THREAD_CHARS
        assert quoted[-1].text.startswith("29 ")
        assert len(quoted) > 10


async def test_a_linked_message_is_brought_along_where_its_readers_allow_it() -> None:
    async with listening() as (fake, host):
        open_, hidden = (fake.world.message(each, BO, f"In {each}.") for each in (GENERAL, STAFF))
        links = [f"https://discord.com/channels/{GUILD}/{each['channel_id']}/{each['id']}" for each in (open_, hidden)]
        await fake.say(ANN, ASK + " ".join(links))
        assert [each.text for each in (await taken(host)).quoted] == [f"In {GENERAL}.", UNREADABLE_LINK]
        await fake.write(ANN, " ".join(links))  # she owns the server, so she can read both
        assert [each.text for each in (await taken(host, 2)).quoted] == [f"In {GENERAL}.", f"In {STAFF}."]
        await fake.write(BO, " ".join(links))
        assert [each.text for each in (await taken(host, 3)).quoted] == [f"In {GENERAL}.", UNREADABLE_LINK]


async def test_what_cannot_be_read_is_named() -> None:
    async with listening() as (fake, host):
        fake.world.start_thread(GENERAL, "7004", "closed")
        await fake.dispatch("THREAD_CREATE", fake.world.channels["7004"])
        fake.rest.fail("GET", "/messages", 403, 50001, times=2)
        await fake.say(ANN, f"{ASK}summarise", "7004")
        assert [each.text for each in (await taken(host)).quoted] == [UNREADABLE_THREAD]
        gone = {"type": 0, "message_id": "5", "channel_id": GENERAL}
        await fake.say(ANN, f"{ASK}why?", type=19, message_reference=gone, referenced_message=None)
        assert [each.text for each in (await taken(host, 2)).quoted] == [UNREADABLE_REPLIED]


async def test_a_message_that_cannot_be_stored_is_taken_in_once_it_can_and_its_author_told_to_wait() -> None:
    host = recording_host()
    host.store.ledger.failures += [StoreUnavailable("The disk is full: free some space.")] * 2
    async with running_discord(FastClock()) as fake, serving(fake, host):
        asked = await fake.say(ANN, f"{ASK}hello")
        assert (await taken(host)).message_id == asked["id"]
        (shown,) = by_the_bot(fake)
        assert shown["content"] == platforms_texts.KEPT_WAITING
        assert str(shown["message_reference"]["message_id"]) == asked["id"]


async def test_a_question_that_could_not_be_stored_is_answered_with_what_to_do_to_its_asker_alone() -> None:
    async with listening() as (fake, host):
        host.store.ledger.failures.append(StoreUnavailable("The disk is full: free some space."))
        await fake.command(ANN, "ask", question="hello?")
        await fake.until(lambda: by_the_bot(fake))
        (answer,) = by_the_bot(fake)
        assert (seen(answer), bool(answer["flags"] & EPHEMERAL)) == (platforms_texts.UNAVAILABLE, True)


async def test_a_question_is_acknowledged_in_time_even_if_storing_it_takes_longer() -> None:
    host = recording_host()
    host.store.ledger.may_store.clear()
    async with running_discord(FastClock(speed=1.0)) as fake, serving(fake, host):
        interaction = await fake.command(ANN, "ask", question="hello?")
        await fake.until(lambda: interaction.acknowledged)
        assert host.taken == []
        host.store.ledger.may_store.set()
        assert (await taken(host)).text == "hello?"


async def test_a_question_that_fails_after_it_was_acknowledged_leaves_nothing_in_the_channel() -> None:
    host = recording_host()
    host.store.ledger.may_store.clear()
    async with running_discord(FastClock(speed=1.0)) as fake, serving(fake, host):
        interaction = await fake.command(ANN, "ask", question="hello?")
        await fake.until(lambda: interaction.acknowledged)
        host.store.ledger.failures.append(StoreUnavailable("The disk is full: free some space."))
        host.store.ledger.may_store.set()
        await fake.until(lambda: any(seen(message) == platforms_texts.UNAVAILABLE for message in by_the_bot(fake)))
        (answer,) = by_the_bot(fake)
        assert answer["flags"] & EPHEMERAL


async def test_a_question_is_stored_before_it_is_acknowledged() -> None:
    async with listening() as (fake, host):
        fake.rest.fail("POST", "/callback$", 404, 10062)
        interaction = await fake.command(ANN, "ask", question="hello?")
        assert (await taken(host)).event_id == interaction.id


async def test_a_first_question_in_a_running_thread_brings_the_thread_along() -> None:
    async with listening() as (fake, host):
        fake.world.start_thread(GENERAL, "7005", "the boat")
        await fake.dispatch("THREAD_CREATE", fake.world.channels["7005"])
        fake.world.message("7005", BO, "It leaks.")
        await fake.command(ANN, "ask", "7005", question="summarise this")
        incoming = await taken(host)
        assert incoming.conversation == "discord:7005"
        assert without_pages(incoming.quoted) == (Quoted("earlier in this thread", "Bo", "It leaks."),)


async def test_what_is_edited_or_deleted_in_a_thread_that_was_not_heard_of_is_found_by_its_channel() -> None:
    async with listening() as (fake, host):
        thread = fake.world.start_thread(GENERAL, "7003", "archived")
        thread["thread_metadata"]["archived"] = True
        told = fake.world.message("7003", ANN, "the boat is blue")
        stored = said(told["content"], person=f"discord:{ANN}")
        await host.store.hear(replace(stored, source="discord", channel=GENERAL, message_id=told["id"]))
        await fake.change(told, "the boat is red")
        await until(lambda: host.texts == {(GENERAL, told["id"]): "the boat is red"})
        await fake.take_back(told)
        await until(lambda: not host.texts)


async def test_what_is_edited_or_deleted_in_a_forum_post_is_found_by_its_forum() -> None:
    async with listening() as (fake, host):
        await fake.dispatch("CHANNEL_CREATE", fake.world.open_channel("50", "questions", 15))
        post = await fake.post_in_forum(ANN, "The boat", f"{ASK}how old is it?", "50")
        await taken(host)
        assert (host.taken[0].channel, host.taken[0].conversation) == ("50", f"discord:{post['id']}")
        await fake.change(post, f"{ASK}how new is it?")
        await until(lambda: host.texts == {("50", post["id"]): "how new is it?"})
        await fake.take_back(post)
        await until(lambda: not host.texts)


@pytest.mark.parametrize(
    ("text", "is_asked"),
    [
        (f"`<@{BOT}>` is how to ask it", False),
        (f"```\n<@{BOT}> hello\n```", False),
        (f"``a ` <@{BOT}> ``", False),
        (f"`open <@{BOT}> hello", True),
        (f"`code` <@{BOT}> hello `more`", True),
        (f"`code`` <@{BOT}> hello", True),
    ],
)
async def test_the_bots_name_in_code_is_no_mention(text: str, is_asked: bool) -> None:
    host = recording_host()
    async with running_discord(FastClock(speed=1.0)) as fake, serving(fake, host):
        await fake.say(ANN, text)
        await fake.say(ANN, f"<@{BOT}> and now?")
        await fake.until(lambda: any("and now?" in taken.text for taken in host.taken))
    assert len(host.taken) == 1 + is_asked


@given(st.text(alphabet="`a ", max_size=40))
def test_code_is_taken_out_of_a_text_as_commonmark_reads_it(text: str) -> None:
    assert without_code(text) == CODE.sub(" ", text)


async def test_a_question_on_which_the_bot_fails_unexpectedly_is_told_so(caplog: pytest.LogCaptureFixture) -> None:
    async with listening() as (fake, host):
        host.store.ledger.failures += [RuntimeError("nobody expected this")] * 2
        await fake.say(ANN, f"{ASK}hello")
        await fake.until(lambda: by_the_bot(fake))
        await fake.command(ANN, "ask", question="hello?")
        await fake.until(lambda: [seen(shown) for shown in by_the_bot(fake)] == [reply_texts.UNEXPECTED] * 2)
    assert caplog.text.count("RuntimeError: nobody expected this") == 2


async def test_until_discord_describes_the_server_nobody_is_refused_and_messages_wait() -> None:
    host = recording_host()
    async with running_discord(FastClock()) as fake:

        def shown() -> list[str]:
            return [*fake.world.shown(DM_OF[BO]), *fake.world.shown(GENERAL)]

        fake.late_guilds.add(GUILD)
        async with serving(fake, host):
            await fake.write(BO, "hello?")
            await fake.say(BO, f"{ASK}and here?")
            await fake.until(shown)
            assert host.taken == []
            await fake.dispatch("GUILD_CREATE", fake.world.guild(GUILD))
            await taken(host, 2)
        assert shown() == [platforms_texts.DISCORD_KEPT_WAITING]


async def test_until_discord_describes_the_server_a_command_is_asked_to_be_repeated() -> None:
    async with running_discord(FastClock()) as fake:
        fake.late_guilds.add(GUILD)
        async with serving(fake, recording_host()):
            await fake.command(ANN, "ask", question="hello?")
            await fake.until(lambda: by_the_bot(fake))
        assert [seen(shown) for shown in by_the_bot(fake)] == [platforms_texts.DISCORD_TRY_AGAIN]
