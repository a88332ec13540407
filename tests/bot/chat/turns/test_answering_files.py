"""Files of a turn: read at its start, attached at its end."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import pytest

from agent.errors import StoreUnavailable
from agent.events import Outcome
from agent.incoming import Attachment, Incoming, Quoted
from agent.messages import Image
from agent.turn_records import Claim, Closing
from bot.chat.attachments.reading import Attached
from bot.chat.reply.attached_files import LONG_LINES
from bot.chat.reply.surface import PageUnsent
from bot.chat.turns.runner import TurnRunner
from bot.chat.turns.worker import TurnWorkerLimits
from tests.bot.chat.turns.test_worker import World
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.store import WatchedLedger, store_in_memory
from tests.fakes.surface import FakeSurface

CODE = "".join(f"line_{number} = {number}\n" for number in range(LONG_LINES + 1))
LONG = f"Here:\n\n```py\n{CODE}```"
VOICE = Attachment("voice.ogg", "audio/ogg", 9, "x", spoken=True)


class Reading(World):
    """The same files come with each question."""

    attached = Attached()
    asked: Sequence[Incoming] = ()

    def runner(self) -> TurnRunner:
        return replace(super().runner(), files=self)

    async def read(self, incoming: Incoming) -> Attached:
        self.asked = [*self.asked, incoming]
        return self.attached


class FullLedger(WatchedLedger):
    """Fails once to store the end of the first turn."""

    full = True

    async def finish(self, claim: Claim, closing: Closing, now: datetime) -> bool:
        if self.full:
            self.full = False
            raise StoreUnavailable("The disk is full.")
        return await super().finish(claim, closing, now)


async def asked(world: World, *files: Attachment) -> Outcome | None:
    async with world.serving() as turns:
        return await turns.ask(replace(said("What is it?"), files=files))


async def test_what_came_with_a_question_stands_beside_it() -> None:
    world = Reading(["A boat."])
    world.attached = Attached((Quoted("attached file a.txt", "Ann", "Blue."),), (Image("image/png", b"png"),))
    assert await asked(world, replace(VOICE, spoken=False)) is Outcome.ANSWERED
    *_, context, question = world.model.requests[0]
    assert "CAME WITH THE QUESTION:\n\nQuoted from attached file a.txt, Ann" in context.text
    assert question.images == (Image("image/png", b"png"),)


async def test_nothing_is_read_for_a_question_without_files() -> None:
    world = Reading(["A boat."])
    await asked(world)
    assert not world.asked


async def test_spoken_words_are_the_question() -> None:
    world = Reading(["A boat."])
    world.attached = Attached(spoken="Which colour?")
    await asked(world, VOICE)
    assert world.model.requests[0][-1].text == "Which colour?"
    assert world.stored() == ["Which colour?", "A boat."]


async def test_what_cannot_be_heard_is_answered_without_a_model() -> None:
    world = Reading([])
    world.attached = Attached(sorry="I cannot listen.")
    assert await asked(world, VOICE) is Outcome.REFUSED
    assert world.shown() == ["I cannot listen."]
    assert not world.model.requests


async def test_long_code_is_handed_over_and_the_message_that_holds_it_belongs_to_the_reply() -> None:
    world = World([LONG])
    await asked(world)
    assert world.shown() == [LONG]
    assert world.surfaces["thread"].attached == {"files-1--1": {"code.py": CODE.encode()}}
    assert world.store.turns[0].pages == ("page-1-0", "files-1--1")


async def test_a_platform_that_takes_no_files_harms_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    world = World([LONG])
    surface = world.surfaces["thread"] = FakeSurface(world.clock)
    surface.fail_attach = PageUnsent("no files today")
    assert await asked(world) is Outcome.ANSWERED
    assert world.shown() == [LONG]
    assert [record.message for record in caplog.records if "attached" in record.message] == [
        "turn 1: files were not attached (1): no files today"
    ]


async def test_what_a_turn_has_handed_over_before_its_process_was_interrupted_is_not_handed_over_again() -> None:
    world = World(
        [LONG, LONG], store=store_in_memory(FullLedger), clock=FakeClock(), limits=TurnWorkerLimits(sweep_s=0.01)
    )
    async with world.serving() as turns:
        await turns.submit(said("What is it?"))
        await turns.idle()
    assert world.store.turns[0].state == "done"
    assert world.surfaces["thread"].calls.count("attach 1--1") == 2
    assert list(world.surfaces["thread"].attached) == ["files-1--1"]
