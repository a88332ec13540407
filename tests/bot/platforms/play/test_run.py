"""The page's socket, on a host that fails."""

import logging
from base64 import b64encode
from contextlib import AsyncExitStack

import pytest

from agent.providers.scripted import ScriptedProvider
from agent.stored_messages import AttachedMessage
from bot.channels.ambient import WAIT_S
from bot.chat.access.place_rules import place_owner
from bot.chat.web_server import serving
from bot.platforms import texts as platforms_texts
from bot.platforms.play.attachments import PlayFiles
from bot.platforms.play.commands import PlayHost
from bot.platforms.play.requests import MAX_FRAME_BYTES
from bot.platforms.play.run import HOST, PlayIntake, PlayPage
from bot.platforms.play.surface import MessageFile, MessageLog
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.play_people import Playing
from tests.fakes.recording_host import recording_host
from tests.patience import until


async def test_after_an_unexpected_error_the_page_gets_its_answer_and_the_log_the_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    host, clock = recording_host(), FakeClock()
    messages = MessageLog(MessageFile(None), clock, lambda: "log-1")
    page = PlayPage(PlayIntake(PlayHost(host, messages, clock, "UTC")), "secret")
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(serving(page.app(), HOST, 0))
        page.served_at(address)
        ann = await Playing(f"http://{address}/#token=secret", stack).page("ann")
        host.store.ledger.failures.append(ZeroDivisionError("a defect"))
        with caplog.at_level(logging.ERROR):
            refused = await ann.say("dm-ann", "hello")
        assert (refused["type"], refused["why"]) == ("refused", platforms_texts.PLAY_FAILED)
        assert (await ann.say("dm-ann", "hello"))["type"] == "done"
    assert "a defect" in caplog.text


async def test_a_question_to_everyone_that_is_edited_or_deleted_is_answered_no_more() -> None:
    clock = FakeClock(auto=False)
    host = recording_host(clock=clock, judge=ScriptedProvider(lambda _: "Yes."))
    await host.preferences.set(place_owner("general"), "place", '{"ambient": "10"}')
    messages = MessageLog(MessageFile(None), clock, lambda: "log-1")
    page = PlayPage(PlayIntake(PlayHost(host, messages, clock, "UTC")), "secret")
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(serving(page.app(), HOST, 0))
        page.served_at(address)
        ann = await Playing(f"http://{address}/#token=secret", stack).page("ann")
        for kind, changed in (("edit", {"text": "Never mind."}), ("remove", dict[str, str]())):
            question = f"Does anybody know how to {kind} the keys of the boat?"
            await ann.say("general", question)
            shown = await ann.shown(question, author="ann")
            assert (await ann.ask(kind, message=shown["id"], **changed))["type"] == "done"
            await clock.advance(WAIT_S)
        await ann.say("general", "Does anybody know where the keys of the boat are?")
        await clock.advance(WAIT_S)
        await until(lambda: host.taken)
    assert [asked.text for asked in host.taken] == ["Does anybody know where the keys of the boat are?"]


async def test_half_a_character_in_a_message_takes_the_page_from_nobody() -> None:
    host, clock = recording_host(), FakeClock()
    messages = MessageLog(MessageFile(None), clock, lambda: "log-1")
    page = PlayPage(PlayIntake(PlayHost(host, messages, clock, "UTC")), "secret")
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(serving(page.app(), HOST, 0))
        page.served_at(address)
        playing = Playing(f"http://{address}/#token=secret", stack)
        ann, ben = await playing.page("ann"), await playing.page("ben")
        assert (await ann.say("general", "cut \ud83d"))["type"] == "done"
        assert (await ben.shown("cut \ufffd", author="ann"))["channel"] == "general"
        assert (await ben.say("general", "still here"))["type"] == "done"
        assert await ann.shown("still here", author="ben")


@pytest.mark.slow
async def test_a_file_comes_with_its_message_and_is_there_as_long_as_its_reader_may_see_it() -> None:
    host, clock = recording_host(), FakeClock()
    messages = MessageLog(MessageFile(None), clock, lambda: "log-1")
    files = PlayFiles(messages)
    page = PlayPage(PlayIntake(PlayHost(host, messages, clock, "UTC")), "secret")
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(serving(page.app(), HOST, 0, message_bytes=MAX_FRAME_BYTES))
        page.served_at(address)
        ann = await Playing(f"http://{address}/#token=secret", stack).page("ann")
        large = b64encode(bytes(4_000_000)).decode()
        sent = [["sales.csv", b64encode(b"a,b").decode()], ["zeros.bin", large]]
        assert (await ann.ask("say", channel="dm-ann", text="", files=sent))["type"] == "done"
        (asked,) = host.taken
        assert [(file.name, file.size, file.author) for file in asked.files] == [
            ("sales.csv", 3, "Ann"),
            ("zeros.bin", 4_000_000, "Ann"),
        ]
        assert await files.fetch(asked.files[0].address, 100) == b"a,b"
        assert await files.fetch(asked.files[1].address, 100) == bytes(100)
        there = AttachedMessage(1, asked.conversation, "dm-ann", asked.message_id, asked.person.id, "Ann", "", NOON, "")
        assert await files.files_now(there, "play:ann") == asked.files
        assert await files.files_now(there, "play:ben") is None
        refused = await ann.ask("say", channel="dm-ann", text="/memory", files=sent[:1])
        assert refused["why"] == platforms_texts.PLAY_COMMAND_FILES
        (shown,) = ann.there("dm-ann")
        assert [name for name, *_ in shown["files"]] == ["sales.csv", "zeros.bin"]
        await ann.ask("remove", message=shown["id"])
        assert await files.files_now(there, "play:ann") == ()
        assert await files.fetch(asked.files[0].address, 100) is None
