"""PDFs, read in a process of their own: honest, damaged and hostile ones."""

import asyncio
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.attachments import notes, pdf
from bot.attachments.pdf import FairTurns, Patience, PdfTexts
from bot.attachments.pdf_process import NICENESS
from tests.fakes import pdfs
from tests.patience import PATIENCE_S


async def test_the_text_of_each_page_is_read() -> None:
    text, why = await PdfTexts().read(pdfs.pdf("The boat is blue.\nIt lies in Lübeck.", "", "The end (of it)."))
    assert text == "[page 1]\nThe boat is blue.\nIt lies in Lübeck.\n\n[page 3]\nThe end (of it)."
    assert why == ""


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (pdfs.pdf("", ""), notes.SCANNED),
        (pdfs.locked(), notes.LOCKED),
        (b"%PDF-1.7\nand nothing more", notes.BROKEN_PDF),
        (pdfs.pdf("torn")[:200], notes.BROKEN_PDF),
    ],
)
async def test_what_holds_no_text_is_named_with_the_reason(data: bytes, reason: str) -> None:
    assert await PdfTexts().read(data) == ("", reason)


@pytest.mark.parametrize(
    "data",
    [pdfs.nested(300), pdfs.endless(), pdfs.bomb(90), pdfs.crowded(6)],
    ids=["nested", "endless", "bomb", "crowded"],
)
async def test_a_hostile_one_costs_bounded_time_and_gives_a_reason(data: bytes) -> None:
    began = time.monotonic()  # noqa: TID251 -- how long the process really takes is what is tested
    text, why = await PdfTexts(seconds=1.0).read(data)
    assert time.monotonic() - began < 8.0  # noqa: TID251 -- as above
    assert text == ""
    assert why in {notes.BROKEN_PDF, notes.LATE, notes.SCANNED}


async def test_of_very_many_pages_the_first_are_read() -> None:
    text, why = await PdfTexts().read(pdfs.pdf(*["word"] * (pdf.MAX_PAGES + 5)))
    assert text.count("[page ") == pdf.MAX_PAGES
    assert why == f"(these are {pdf.MAX_PAGES} of {pdf.MAX_PAGES + 5} pages)"


async def test_what_takes_too_long_is_ended_and_says_so() -> None:
    assert await PdfTexts(seconds=0.01).read(pdfs.pdf("slow")) == ("", notes.LATE)


async def test_one_persons_pdfs_keep_nobody_else_waiting() -> None:
    turns, order = FairTurns(2), list[str]()
    gate = {name: asyncio.Event() for name in ("a1", "a2", "a3", "b1", "c1", "b2")}

    async def read(name: str) -> None:
        async with turns.turn(name[0]):
            order.append(name)
            await gate[name].wait()

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        for name in gate:
            group.create_task(read(name))
        await _settled()
        assert order == ["a1", "b1"]  # of a, one at a time
        for done, begun in (("a1", "c1"), ("b1", "a2"), ("c1", "b2"), ("a2", "a3")):
            gate[done].set()
            await _settled()
            assert order[-1] == begun
        for event in gate.values():
            event.set()


async def test_a_turn_that_is_given_up_is_the_next_persons() -> None:
    turns = FairTurns(1)
    async with asyncio.timeout(PATIENCE_S):
        async with turns.turn("a"):
            waiting = [asyncio.ensure_future(_take(turns, person)) for person in ("b", "c", "b")]
            await _settled()
            waiting[0].cancel()
        await asyncio.gather(*waiting[1:])
        async with turns.turn("d"):
            pass


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=12), st.integers(1, 3))
def test_whatever_is_given_up_every_turn_comes(asked: list[tuple[str, bool]], at_once: int) -> None:
    async def run() -> None:
        turns = FairTurns(at_once)
        async with asyncio.timeout(PATIENCE_S):
            tasks = [(asyncio.ensure_future(_take(turns, person)), gives_up) for person, gives_up in asked]
            await asyncio.sleep(0)
            for task, gives_up in tasks:
                if gives_up:
                    task.cancel()
            await asyncio.gather(*[task for task, _ in tasks], return_exceptions=True)
            for person in "abc":
                async with turns.turn(person):
                    pass

    asyncio.run(run())


async def _take(turns: FairTurns, person: str) -> None:
    async with turns.turn(person):
        await asyncio.sleep(0)


async def _settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_messages_pdfs_share_its_seconds() -> None:
    patience = Patience(0.01)
    assert await PdfTexts().read(pdfs.pdf("first"), "a", patience) == ("", notes.LATE)
    assert patience.seconds <= 0
    assert await PdfTexts().read(pdfs.pdf("second"), "a", patience) == ("", notes.LATE)


async def test_the_longest_line_that_can_come_is_read(tmp_path: Path) -> None:
    script = tmp_path / "longest.py"
    script.write_text(f"import json\nprint(1)\nprint(json.dumps(chr(0x1F600) * {pdf.MAX_CHARS}))\n")
    text, why = await PdfTexts(script=script).read(b"%PDF-1.7")
    assert text.count("\U0001f600") == pdf.MAX_CHARS
    assert why == ""


async def test_the_largest_file_that_is_allowed_is_read() -> None:
    text, _ = await PdfTexts().read(pdfs.pdf("The boat is blue.", size=20_000_000))
    assert "The boat is blue." in text


async def test_reading_goes_behind_everything_else(tmp_path: Path) -> None:
    script = tmp_path / "nice.py"
    folder = Path(pdf.__file__).parent
    script.write_text(
        f"import sys, os, json\nsys.path.insert(0, {str(folder)!r})\nimport pdf_process\n"
        "pdf_process.limit(1 << 30, 5)\nprint(1)\nprint(json.dumps(str(os.nice(0))))\n"
    )
    text, _ = await PdfTexts(script=script).read(b"")
    assert int(text.rpartition("\n")[2]) >= NICENESS
