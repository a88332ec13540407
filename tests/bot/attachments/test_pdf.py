"""PDFs, read in a process of their own: honest, damaged and hostile ones."""

import time
from pathlib import Path

import pytest

from bot.attachments import kinds, pdf
from bot.attachments.pdf import NICENESS, PdfSeconds, PdfTexts
from tests.fakes import pdfs
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow


async def read(data: bytes) -> tuple[str, str]:
    """With time enough, and without giving way: behind everything else on a busy machine it would not end."""
    return await PdfTexts(PATIENCE_S, niceness=0).read(data, "a", PdfSeconds(PATIENCE_S))


async def test_the_text_of_each_page_is_read() -> None:
    text, why = await read(pdfs.pdf("The boat is blue.\nIt lies in Lübeck.", "", "The end (of it)."))
    assert text == "[page 1]\nThe boat is blue.\nIt lies in Lübeck.\n\n[page 3]\nThe end (of it)."
    assert why == ""


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (pdfs.pdf("", ""), kinds.SCANNED),
        (pdfs.locked(), kinds.LOCKED),
        (b"%PDF-1.7\nand nothing more", kinds.BROKEN_PDF),
        (pdfs.pdf("torn")[:200], kinds.BROKEN_PDF),
    ],
)
async def test_what_holds_no_text_is_named_with_the_reason(data: bytes, reason: str) -> None:
    assert await read(data) == ("", reason)


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
    assert why in {kinds.BROKEN_PDF, kinds.LATE, kinds.SCANNED}


async def test_of_very_many_pages_the_first_are_read() -> None:
    text, why = await read(pdfs.pdf(*["word"] * (pdf.MAX_PAGES + 5)))
    assert text.count("[page ") == pdf.MAX_PAGES
    assert why == f"(these are {pdf.MAX_PAGES} of {pdf.MAX_PAGES + 5} pages)"


async def test_what_takes_too_long_is_ended_and_says_so() -> None:
    assert await PdfTexts(seconds=0.01).read(pdfs.pdf("slow")) == ("", kinds.LATE)


async def test_a_messages_pdfs_share_its_seconds() -> None:
    patience = PdfSeconds(0.01)
    assert await PdfTexts().read(pdfs.pdf("first"), "a", patience) == ("", kinds.LATE)
    assert patience.seconds <= 0
    assert await PdfTexts().read(pdfs.pdf("second"), "a", patience) == ("", kinds.LATE)


async def test_the_longest_line_that_can_come_is_read(tmp_path: Path) -> None:
    script = tmp_path / "longest.py"
    script.write_text(f"import json\nprint(1)\nprint(json.dumps(chr(0x1F600) * {pdf.MAX_CHARS}))\n")
    text, why = await PdfTexts(PATIENCE_S, script).read(b"%PDF-1.7", "a", PdfSeconds(PATIENCE_S))
    assert text.count("\U0001f600") == pdf.MAX_CHARS
    assert why == ""


async def test_the_largest_file_that_is_allowed_is_read() -> None:
    text, _ = await read(pdfs.pdf("The boat is blue.", size=20_000_000))
    assert "The boat is blue." in text


async def test_reading_goes_behind_everything_else(tmp_path: Path) -> None:
    script = tmp_path / "nice.py"
    folder = Path(pdf.__file__).parent
    script.write_text(
        f"import sys, os, json\nsys.path.insert(0, {str(folder)!r})\nimport pdf_process\n"
        "pdf_process.limit(1 << 30, 5, int(sys.argv[5]))\nprint(1)\nprint(json.dumps(str(os.nice(0))))\n"
    )
    text, _ = await PdfTexts(script=script).read(b"")
    assert int(text.rpartition("\n")[2]) >= NICENESS
