"""What code saves in a conversation, on each platform: a later question continues from it, and forgetting takes it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from sqlalchemy import select

from agent.memory.audience import NOWHERE
from agent.messages import Json, JsonObject, Keep
from agent.ports.tools import ToolContext, ToolEffect, ToolOutput
from bot.chat.jobs import JobWorker
from bot.forgetting.retention import SWEEP_AFTER, Retention
from bot.python import texts
from store.file_tables import saved_file
from tests.bot.python.test_result_files import png
from tests.fakes.cpython_engine import CPythonEngine, HangingEngine
from tests.flows.forgetting_bot import OFTEN
from tests.flows.talks import Talk, talk_in, talking
from tests.flows.worlds import WORLDS, AnyWorld, Page, W, Who
from tests.patience import LOOK_S, until

pytestmark = [pytest.mark.parametrize("open_world", WORLDS), pytest.mark.slow]

SALES = b"month,sum\njuly,31\njuly,4\naugust,57\n"
PICTURE = png(40, 30, "Sales by day")
CHART = f"""
rows = open("/files/sales.csv").read().splitlines()[1:]
open("/out/clean.csv", "w").write("\\n".join(sorted(rows)) + "\\nquetzal\\n")
open("/out/chart.png", "wb").write({PICTURE!r})
"""
BY_MONTH = """
rows = [line.split(",") for line in open("/out/clean.csv").read().splitlines() if "," in line]
sums = {month: sum(int(n) for m, n in rows if m == month) for month, _ in rows}
open("/out/months.csv", "w").write("".join(f"{month},{n}\\n" for month, n in sums.items()))
print(sums)
"""
LIST = 'import os\nprint("there:", sorted(os.listdir("/out")))'
MARK = b"quetzal"  # In the saved table alone


def call(code: str, tool: str = "python") -> str:
    args = {"code": code} if code else {}
    return f"<execute>{json.dumps([{'name': tool, 'args': args}])}\n</execute>"


def saved(talk: Talk[W]) -> list[str]:
    return [
        *talk.store.database.now(lambda c: c.execute(select(saved_file.c.name).order_by(saved_file.c.id)).scalars())
    ]


async def holds(talk: Talk[W], piece: bytes) -> bool:
    """Whether any byte of the database is left of it."""
    assert talk.store.database.files is not None
    return bool(await talk.store.database.files.find(frozenset({piece})))


async def drawn(talk: Talk[W]) -> Page:
    """The asker attaches a table, asks for a chart, and in its thread for the same by month."""
    upload = talk.world.upload("sales.csv", SALES, "text/csv")
    question = await talk.world.ask("draw this, please", files=[upload])
    await talk.ended(1)
    await talk.world.ask("the same by month", question)
    await talk.ended(2)
    return question


SCRIPT = [call(CHART), "Here is the chart.", call(BY_MONTH), "Here are the months."]


async def test_the_same_by_month_continues_from_the_saved_table_and_forgetting_leaves_nothing(
    open_world: AnyWorld,
) -> None:
    async with talking(open_world, SCRIPT, code=CPythonEngine()) as talk:
        question = await drawn(talk)
        assert ("chart.png", PICTURE) in talk.world.handed_over(question)
        assert talk.world.described()["chart.png"] == "Sales by day"
        assert "{'august': 57, 'july': 35}" in talk.model.requests[-1][-1].text
        assert ("months.csv", b"august,57\njuly,35\n") in talk.world.handed_over(question)
        assert sorted(saved(talk)) == ["chart.png", "clean.csv", "months.csv"]
        assert await holds(talk, MARK)
        await talk.world.forget("everything")
        await talk.world.until(
            lambda: any("3 files saved by Python code" in page.text for page in talk.world.private())
        )
        page = talk.world.private()[-1]
        await talk.world.agree(page, next(label for label in page.buttons if label.startswith("Forget")))
        await talk.world.until(lambda: "Forgotten" in page.text)
        assert "3 files saved by Python code" in page.text
        assert "still found" not in page.text
        assert saved(talk) == []
        for piece in (MARK, PICTURE, SALES[:20]):
            assert not await holds(talk, piece)


async def test_with_the_message_of_the_table_all_goes_that_was_made_from_it(open_world: AnyWorld) -> None:
    async with talking(open_world, SCRIPT, code=CPythonEngine()) as talk:
        question = await drawn(talk)
        clock, store = talk.world.clock, talk.store
        erasing = Retention(store.forgetting, store.jobs, clock, {}).handlers
        async with JobWorker(store.jobs, erasing, clock, "eraser", OFTEN).serving():
            await talk.world.delete(question)

            def is_erased() -> bool:
                clock.leap(SWEEP_AFTER)
                return not saved(talk)

            await until(is_erased, look_s=LOOK_S)
        assert not await holds(talk, MARK)


async def test_with_an_edited_question_the_files_of_its_turn_go(open_world: AnyWorld) -> None:
    async with talking(open_world, SCRIPT, code=CPythonEngine()) as talk:
        question = await drawn(talk)
        await talk.world.edit(question, "draw that, please")
        await talk.world.until(lambda: not saved(talk))


async def test_a_file_of_a_private_channel_is_in_no_other_place(open_world: AnyWorld) -> None:
    engine = CPythonEngine()
    script = [call('open("/out/pay.csv", "w").write("ben,99\\n")'), "Saved.", call(LIST), "There.", call(LIST), "Here."]
    async with talking(open_world, script, code=engine) as talk:
        await talk.world.ask_in_secret("save the pay")
        await talk.ended(1)
        assert saved(talk) == ["pay.csv"]
        question = await talk.world.ask("what have you saved?")
        await talk.ended(2)
        assert "there: []" in talk.model.requests[-1][-1].text
        await talk.world.write("and here?")
        await talk.ended(3)
        assert "there: []" in talk.model.requests[-1][-1].text
        assert talk.world.handed_over(question) == []
    assert [files for _, files, _ in engine.runs] == [(), (), ()]


@dataclass(frozen=True)
class PayTool:
    """Brings what only its asker may read."""

    keep: Keep = Keep.STORED
    name: str = "pay"
    description: str = "Look up the pay."
    effect: ToolEffect = ToolEffect.READS
    timeout_s: float = 30.0
    schema: JsonObject = field(default_factory=lambda: dict[str, Json](type="object", properties={}))

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        assert (args, context.calls_before) == ({}, 0)
        return ToolOutput("ben earns 99", keep=self.keep)


def reading(script: Sequence[str]) -> list[str]:
    """The model reads what only the asker may, writes it into a file, and later people ask for it."""
    return [call("", "pay"), call('open("/out/pay.csv", "w").write("ben,99\\n")'), "Saved.", *script]


async def test_a_file_of_what_only_the_asker_may_read_is_in_a_shared_thread_for_them_alone(
    open_world: AnyWorld,
) -> None:
    script = reading([call(LIST), "Nothing.", call(LIST), "There it is."])
    async with talking(open_world, script, [PayTool()], code=CPythonEngine()) as talk:
        question = await talk.world.ask("save the pay")
        await talk.ended(1)
        await talk.world.ask("what have you saved?", question, Who.OTHER)
        await talk.ended(2)
        shown = talk.model.requests[-1][-1].text
        assert "there: []" in shown
        assert "pay.csv" not in shown
        await talk.world.ask("what have you saved?", question)
        await talk.ended(3)
        assert "there: ['pay.csv']" in talk.model.requests[-1][-1].text


async def test_what_may_be_read_for_a_turn_only_is_not_saved(open_world: AnyWorld) -> None:
    async with talking(open_world, reading([]), [PayTool(Keep.TURN)], code=CPythonEngine()) as talk:
        await talk.world.ask("save the pay")
        await talk.ended(1)
        assert texts.NOT_KEPT in talk.model.requests[-1][-1].text
        assert saved(talk) == []
        assert NOWHERE in {message.drawn_from for _, message in talk.store.messages}


async def test_a_run_that_a_kill_interrupts_runs_again_and_saves_once(open_world: AnyWorld) -> None:
    """The next process answers in the same message; what acts does not run twice, as code only reads."""
    append = 'open("/out/log.csv", "a").write("row\\n")'
    async with talk_in(open_world, [call(append), "Done so."], code=HangingEngine()) as talk:
        engine = talk.code
        assert isinstance(engine, HangingEngine)
        async with talk.running():
            await talk.world.ask("append a row")
            await talk.world.until(lambda: engine.hung)
        talk.code = CPythonEngine()
        async with talk.running(["Done so."]):
            await talk.ended(1)
            assert talk.texts()[0].startswith("Done so.")
        rows = talk.store.database.now(lambda c: c.execute(select(saved_file.c.name, saved_file.c.data)).all())
        assert [tuple(row) for row in rows] == [("log.csv", b"row\n")]
