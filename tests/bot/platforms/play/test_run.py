"""The page's socket, on a host that fails."""

import logging
from contextlib import AsyncExitStack

import pytest

from bot.chat.web_server import serving
from bot.platforms import texts as platforms_texts
from bot.platforms.play.commands import PlayHost
from bot.platforms.play.run import HOST, PlayIntake, PlayPage
from bot.platforms.play.surface import MessageFile, MessageLog
from tests.fakes.clock import FakeClock
from tests.fakes.host import FakeHost
from tests.fakes.play_people import Playing


async def test_after_an_unexpected_error_the_page_gets_its_answer_and_the_log_the_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    host, clock = FakeHost(), FakeClock()
    messages = MessageLog(MessageFile(None), clock, lambda: "log-1")
    page = PlayPage(PlayIntake(PlayHost(host, messages, clock, "UTC")), "secret")
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(serving(page.app(), HOST, 0))
        page.served_at(address)
        ann = await Playing(f"http://{address}/#token=secret", stack).page("ann")
        host.fail_next = ZeroDivisionError("a defect")
        with caplog.at_level(logging.ERROR):
            refused = await ann.say("dm-ann", "hello")
        assert (refused["type"], refused["why"]) == ("refused", platforms_texts.PLAY_FAILED)
        assert (await ann.say("dm-ann", "hello"))["type"] == "done"
    assert "a defect" in caplog.text


async def test_a_question_to_everyone_that_is_edited_or_deleted_is_answered_no_more() -> None:
    host, clock = FakeHost(), FakeClock()
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
            assert [considered.message for considered in host.considered] == [shown["id"]]
            assert (await ann.ask(kind, message=shown["id"], **changed))["type"] == "done"
            assert host.considered == []


async def test_half_a_character_in_a_message_takes_the_page_from_nobody() -> None:
    host, clock = FakeHost(), FakeClock()
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
