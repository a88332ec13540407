"""Documents read in a subprocess: valid, damaged and hostile ones."""

import asyncio
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pptx
import pytest

from bot.chat.attachments import kinds, reader
from bot.chat.attachments.reader import NICENESS, ReadAs, Reader, ReadSeconds, ReadText
from tests.fakes import documents, pdfs
from tests.fakes.cancelling import left_by_cancelling
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow


async def read(data: bytes, kind: ReadAs = ReadAs.PDF, **more: Any) -> ReadText:
    """A reader with enough time and normal priority: with a low one it would not end on a busy machine."""
    return await Reader(PATIENCE_S, niceness=0).text(kind, data, "a", ReadSeconds(PATIENCE_S), **more)


async def test_the_text_of_each_page_is_read() -> None:
    made = pdfs.pdf("The boat is blue.\nIt lies in Lübeck.", "", "The end (of it).")
    assert await read(made) == ReadText("[page 1]\nThe boat is blue.\nIt lies in Lübeck.\n\n[page 3]\nThe end (of it).")
    assert (await read(made, first=2)).text == "[page 3]\nThe end (of it)."


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (pdfs.pdf("", ""), kinds.SCANNED),
        (pdfs.locked(), kinds.LOCKED),
        (b"%PDF-1.7\nand nothing more", kinds.BROKEN),
        (pdfs.pdf("torn")[:200], kinds.BROKEN),
    ],
)
async def test_what_holds_no_text_is_named_with_the_reason(data: bytes, reason: str) -> None:
    assert await read(data) == ReadText(why=reason)


@pytest.mark.parametrize(
    "make",
    [lambda: pdfs.nested(300), pdfs.endless, lambda: pdfs.bomb(90), lambda: pdfs.crowded(6)],
    ids=["nested", "endless", "bomb", "crowded"],
)
async def test_a_hostile_one_costs_bounded_time_and_gives_a_reason(make: Callable[[], bytes]) -> None:
    data = make()
    async with asyncio.timeout(PATIENCE_S):  # most of them would never end
        told = await Reader(seconds=1.0).text(ReadAs.PDF, data)
    assert told.text == ""
    assert told.why in {kinds.BROKEN, kinds.LATE, kinds.SCANNED}


async def test_of_very_many_pages_the_first_are_read() -> None:
    told = await read(pdfs.pdf(*["word"] * (reader.MAX_PAGES + 5)))
    assert told.text.count("[page ") == reader.MAX_PAGES
    assert told.why == f"(these are the pages 1 to {reader.MAX_PAGES} of {reader.MAX_PAGES + 5})"


async def test_what_takes_too_long_is_ended_and_says_so() -> None:
    assert await Reader(seconds=0.01).text(ReadAs.PDF, pdfs.pdf("slow")) == ReadText(why=kinds.LATE)


async def test_a_messages_files_share_its_seconds() -> None:
    patience = ReadSeconds(0.01)
    assert await Reader().text(ReadAs.PDF, pdfs.pdf("first"), "a", patience) == ReadText(why=kinds.LATE)
    assert patience.seconds <= 0
    assert await Reader().text(ReadAs.PDF, pdfs.pdf("second"), "a", patience) == ReadText(why=kinds.LATE)


async def test_the_longest_line_that_can_come_is_read(tmp_path: Path) -> None:
    script = tmp_path / "longest.py"
    script.write_text(f"import json\nprint(json.dumps(['text', chr(0x1F600) * {reader.MAX_CHARS}]))\nprint('[0, 0]')\n")
    told = await Reader(PATIENCE_S, script).text(ReadAs.OFFICE, b"PK", "a", ReadSeconds(PATIENCE_S))
    assert told.text.count("\U0001f600") == reader.MAX_CHARS
    assert told.why == ""


@pytest.mark.parametrize(
    "line",
    ["[1]", "no JSON", '{"a": 1}', "x" * (reader.MAX_CHARS * 13), '["part", ""]', "[" * 100_000, '{"a":' * 50_000],
)
async def test_of_a_process_that_says_anything_else_no_more_is_read(line: str, tmp_path: Path) -> None:
    script = tmp_path / "else.py"
    script.write_text(f"while True:\n    print({line!r})\n")
    told = await Reader(PATIENCE_S, script).text(ReadAs.OFFICE, b"PK", "a", ReadSeconds(PATIENCE_S))
    assert told == ReadText(why=kinds.BROKEN)


async def test_a_million_empty_slides_are_not_told_one_by_one() -> None:
    assert await read(documents.open_document("presentation", "<d:page/>" * 1_000_000), ReadAs.OFFICE) == ReadText(
        why=kinds.BROKEN
    )


async def test_the_largest_file_that_is_allowed_is_read() -> None:
    assert "The boat is blue." in (await read(pdfs.pdf("The boat is blue.", size=20_000_000))).text


async def test_reading_goes_behind_everything_else(tmp_path: Path) -> None:
    script = _script(tmp_path, "print(json.dumps(['text', str(os.nice(0))]))")
    seconds = 2 * PATIENCE_S  # behind six busy processes it gets a hundredth of a processor
    told = await Reader(seconds, script).text(ReadAs.PDF, b"", "a", ReadSeconds(seconds))
    assert int(told.text) >= NICENESS


def _script(folder: Path, then: str) -> Path:
    """A reader process with the usual limits and sandbox, which then runs other code."""
    script = folder / "other.py"
    script.write_text(
        f"import sys, os, json, socket, subprocess\nsys.path.insert(0, {str(Path(reader.__file__).parent)!r})\n"
        "import reader_process\nsys.path.pop(0)\nreader_process.limit(1 << 30, 5, int(sys.argv[5]))\n"
        f"reader_process.shut_in()\n{then}\n"
    )
    return script


async def test_what_reads_a_file_reaches_nothing_else(tmp_path: Path) -> None:
    reaches = [
        "socket.create_connection(('127.0.0.1', 9))",
        "socket.getaddrinfo('localhost', 80)",
        "subprocess.run(['true'])",
        "os.system('true')",
        "os.fork()",
        "open('/etc/passwd')",
        "open(os.path.join(sys.prefix, '..', 'secrets'))",
    ]
    tries = "\n".join(f"try:\n    {reach}\nexcept PermissionError:\n    refused += 1" for reach in reaches)
    script = _script(tmp_path, f"refused = 0\n{tries}\nprint(json.dumps(['text', str(refused)]))")
    assert (await Reader(2 * PATIENCE_S, script, 0).text(ReadAs.PDF, b"", "", ReadSeconds(2 * PATIENCE_S))).text == str(
        len(reaches)
    )


def presentation() -> bytes:
    made: Any = pptx.Presentation()
    packed = io.BytesIO()
    slide = made.slides.add_slide(made.slide_layouts[5])
    slide.shapes.title.text = "Boats"
    cells = slide.shapes.add_table(1, 2, 0, 0, 900_000, 900_000).table
    cells.cell(0, 0).text, cells.cell(0, 1).text = "Blue", "12"
    slide.notes_slide.notes_text_frame.text = "Say that they float."
    made.save(packed)
    return packed.getvalue()


def workbook() -> bytes:
    made: Any = openpyxl.Workbook()
    packed = io.BytesIO()
    made.active.title = "Prices"
    for row in (["Boat", "Price"], [], ["Blue", 12.5]):
        made.active.append(row)
    made.create_sheet("Ports").append(["Lübeck"])
    made.save(packed)
    return packed.getvalue()


_CELL = "<w:tc>{}</w:tc>"
_TABLE = f"<w:tbl><w:tr>{_CELL.format(documents.paragraph('A'))}{_CELL.format(documents.paragraph('B'))}</w:tr></w:tbl>"
_ODT = (
    '<x:h x:outline-level="2">Boats</x:h><x:tracked-changes><x:p>gone</x:p></x:tracked-changes>'
    '<x:p>They<x:s x:c="2"/>float.</x:p><x:list><x:list-item><x:p>blue</x:p></x:list-item></x:list>'
    "<t:table><t:table-row><t:table-cell><x:p>A</x:p></t:table-cell><t:table-cell><x:p>B</x:p></t:table-cell>"
    "</t:table-row></t:table>"
)
_ODS = (
    '<t:table t:name="Prices"><t:table-row t:number-rows-repeated="1048576"><t:table-cell '
    't:number-columns-repeated="16384"/></t:table-row><t:table-row t:number-rows-repeated="3"><t:table-cell/>'
    '<t:table-cell t:number-columns-repeated="2"><x:p>12</x:p></t:table-cell></t:table-row></t:table>'
)
_NOTE = "<x:note><x:note-citation>1</x:note-citation><x:note-body><x:p>A note</x:p></x:note-body></x:note>"
_RUBY = "<x:ruby><x:ruby-base>base</x:ruby-base><x:ruby-text>reading</x:ruby-text></x:ruby>"
_LINK = '<x:a l:href="{0}" xmlns:l="http://www.w3.org/1999/xlink">{1}</x:a>'
_LINKS = (
    f"{_LINK.format('https://example.test/a', 'here')}, {_LINK.format('https://example.test', 'https://example.test')}"
)
_ODT_BESIDE = f"<x:p>Words{_NOTE} and {_RUBY}, {_LINKS}.<d:frame><d:object/><d:image/></d:frame></x:p>"
_VALUES = (
    '<t:table t:name="Raw"><t:table-row><t:table-cell o:value-type="float" o:value="42"/>'
    '<t:table-cell o:value-type="percentage" o:value="0.125"/>'
    '<t:table-cell o:value-type="date" o:date-value="2026-11-30"/>'
    '<t:table-cell o:value-type="float" o:value="9"><x:p>nine</x:p></t:table-cell></t:table-row></t:table>'
)
_ODP = "<d:page><d:frame><d:text-box><x:p>Boats</x:p></d:text-box></d:frame></d:page>"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: documents.docx(documents.paragraph("Blue &amp; old.") + _TABLE),
            "Blue & old.\n\n|  |  |\n| --- | --- |\n| A | B |",
        ),
        (workbook, "[sheet Prices]\nBoat | Price\nBlue | 12.5\n\n[sheet Ports]\nLübeck"),
        (
            presentation,
            "[slide 1]\n| Blue | 12 |\n| --- | --- |\n# Boats\n\n### Notes:\nSay that they float.",
        ),
        (lambda: documents.open_document("text", _ODT), "## Boats\nThey  float.\n- blue\nA | B"),
        (lambda: documents.open_document("spreadsheet", _ODS), "[sheet Prices]\n| 12 | 12\n(and 2 more rows like it)"),
        (
            lambda: documents.open_document("text", _ODT_BESIDE),
            (
                "Words [note: A note] and base, here (https://example.test/a), https://example.test.\n\n"
                "(not read: 1 picture, 1 embedded object)"
            ),
        ),
        (
            lambda: documents.open_document("spreadsheet", _VALUES),
            "[sheet Raw]\n42 | 12.5% | 2026-11-30 | nine",
        ),
        (lambda: documents.open_document("presentation", _ODP), "[slide 1]\nBoats"),
        (lambda: documents.epub("<h1>One</h1><p>It <b>floats</b>.</p>"), "**Title:** Boats\n\n# One\n\nIt **floats**."),
    ],
    ids=["docx", "xlsx", "pptx", "odt", "ods", "odt notes", "ods values", "odp", "epub"],
)
async def test_office_files_are_read_whatever_they_are_called(make: Callable[[], bytes], text: str) -> None:
    assert await read(make(), ReadAs.OFFICE) == ReadText(text)


_DEEP = 20_000
_CIPHER = "http://www.w3.org/2001/04/xmlenc#aes128-cbc"
_ROW = '<row r="{0}"><c r="A{0}" t="inlineStr"><is><t>{1}</t></is></c></row>'
_SHAPE = "<p:sp><p:nvSpPr/><p:txBody><a:p><a:r><a:t>words</a:t></a:r></a:p></p:txBody></p:sp>"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: documents.docx("<w:p/>", documents.LAUGHS), kinds.BROKEN),
        (lambda: documents.docx("<w:p/>", '<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">'), kinds.BROKEN),
        (lambda: documents.docx("<w:p/>", f"<!--{' ' * 70_000}-->{documents.LAUGHS}"), kinds.BROKEN),
        (lambda: documents.open_document("text", "<x:p>&l9;</x:p>", documents.LAUGHS), kinds.BROKEN),
        (lambda: documents.docx("<w:p/>" + " " * 60_000_000), kinds.BROKEN),
        (lambda: documents.docx("<w:p/>", word__media__huge_xml=b"<x>" + bytes(60_000_000)), kinds.BROKEN),
        (lambda: documents.docx("<w:tbl><w:tr><w:tc>" * _DEEP + "</w:tc></w:tr></w:tbl>" * _DEEP), kinds.BROKEN),
        (lambda: documents.docx("<w:p/>")[:-40], kinds.BROKEN),
        (lambda: documents.archive({"word/document.xml": "no XML"}), kinds.BROKEN),
        (lambda: documents.archive({"word/document.xml": "<x/>"}), kinds.BROKEN),
        (lambda: documents.archive({"notes.txt": "words"}), kinds.WRONG_KIND),
        (lambda: documents.docx("<w:p/>"), kinds.ONLY_PICTURES),
        (lambda: documents.open_document("text", "<x:p/>"), kinds.ONLY_PICTURES),
        (lambda: documents.open_document("text", "<x:p/>", manifest="<encryption-data/>"), kinds.LOCKED),
        (lambda: documents.epub("<p>x</p>", f"<x Algorithm='{_CIPHER}'/>"), kinds.LOCKED),
        (lambda: documents.legacy(encrypted=True), kinds.LOCKED),
        (documents.legacy, kinds.OLD_OFFICE),
    ],
    ids=[
        "laughs", "remote dtd", "late dtd", "odt laughs", "bomb", "bomb beside", "deep", "torn", "no xml", "alone",
        "zip", "empty", "empty odt", "locked odt", "locked epub", "locked", "old",
    ],
)  # fmt: skip
async def test_a_hostile_or_broken_office_file_is_named_with_the_reason(make: Callable[[], bytes], why: str) -> None:
    assert await read(make(), ReadAs.OFFICE) == ReadText(why=why)


async def test_without_the_extra_people_and_the_operator_are_told_so(tmp_path: Path) -> None:
    script = tmp_path / "bare.py"
    folder = str(Path(reader.__file__).parent)
    script.write_text(
        f"import sys\nsys.modules |= {{'markitdown': None}}\nsys.path.insert(0, {folder!r})\n"
        "import reader_process\nsys.path.pop(0)\nreader_process.main(*map(int, sys.argv[1:]))\n"
    )
    reads = Reader(PATIENCE_S, script, 0)
    told = await reads.text(ReadAs.OFFICE, documents.docx("<w:p/>"), "a", ReadSeconds(PATIENCE_S))
    assert told == ReadText(why=kinds.NOT_INSTALLED)
    told = await reads.text(ReadAs.OFFICE, documents.open_document("text", "<x:p>words</x:p>"))
    assert told.text == "words"


@pytest.mark.parametrize(
    ("read_as", "make", "loaded"),
    [
        (ReadAs.HTML, lambda: b"<p>words</p>", ""),
        (ReadAs.OFFICE, lambda: documents.epub("<p>words</p>"), ""),
        (ReadAs.OFFICE, lambda: documents.docx(documents.paragraph("words")), "mammoth"),
        (ReadAs.OFFICE, lambda: documents.slides({"slide1": _SHAPE}), "pptx"),
    ],
    ids=["html", "epub", "docx", "pptx"],
)
async def test_of_the_libraries_only_the_one_for_this_kind_of_file_is_loaded(
    tmp_path: Path, read_as: ReadAs, make: Callable[[], bytes], loaded: str
) -> None:
    names = "[n for n in ('mammoth', 'pptx', 'requests', 'magika') if getattr(sys.modules.get(n), '__file__', None)]"
    script = tmp_path / "listing.py"
    script.write_text(
        f"import sys, json\nsys.path.insert(0, {str(Path(reader.__file__).parent)!r})\n"
        "import reader_process\nsys.path.pop(0)\nreader_process.main(*map(int, sys.argv[1:]))\n"
        f"print(json.dumps(['title', ' '.join({names})]))"
    )
    told = await Reader(PATIENCE_S, script, 0).text(read_as, make(), "a", ReadSeconds(PATIENCE_S))
    assert "words" in told.text
    assert told.title == loaded


async def test_of_a_huge_sheet_the_beginning_is_read() -> None:
    rows = "".join(_ROW.format(number, f"row {number}") for number in range(1, 100_001))
    told = await read(documents.xlsx(rows, "A1:XFD1048576"), ReadAs.OFFICE)
    assert told.text.startswith("[sheet Prices]\nrow 1\nrow 2\n")
    assert told.text.endswith("row 20000\n(the sheet goes on: these are its first 20,000 rows)")


async def test_what_an_office_file_links_to_is_not_fetched_and_its_macros_are_not_unpacked(tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"secret")
    drawing = (
        '<w:p><w:r><w:drawing><a:blip xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" r:link="r9"/>'
        "</w:drawing></w:r></w:p>"
    )
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/image"
    link = documents.relationships(
        f'<Relationship Id="r9" Type="{kind}" Target="{secret.as_uri()}" TargetMode="External"/>'
    )
    data = documents.docx(
        documents.paragraph("words") + drawing,
        word___rels__document_xml_rels=link,
        word__vbaProject_bin=bytes(100_000_000),
    )
    told = await read(data, ReadAs.OFFICE)
    assert "words" in told.text
    assert "secret" not in told.text


async def test_of_a_page_of_the_web_the_main_text_is_read_with_whole_links() -> None:
    story = "<p>They float on water, and all of them are blue. " * 9
    page = (
        f"<html><head><title>Boats</title></head><body><nav><a href='/menu'>Menu</a></nav><article>{story}"
        "<p>There is <a href='/more'>more about boats</a> to read here.</p></article></body></html>"
    )
    told = await read(page.encode(), ReadAs.PAGE, address="https://boats.example/one")
    assert (told.title, told.why) == ("Boats", "")
    assert "They float on water" in told.text
    assert "[more about boats](https://boats.example/more)" in told.text
    assert "Menu" not in told.text


@pytest.mark.parametrize("kind", [ReadAs.HTML, ReadAs.PAGE])
async def test_deeply_nested_html_costs_bounded_time(kind: ReadAs) -> None:
    told = await read(b"<div>" * 30_000 + b"words " * 50, kind)
    assert told.why or "words" in told.text


@pytest.mark.parametrize("again", [False, True], ids=["once", "at each step from there on"])
def test_a_read_that_is_cancelled_at_any_step_leaves_no_process(again: bool) -> None:
    assert left_by_cancelling(lambda: read(pdfs.pdf("The boat is blue.")), again=again) == []


BUSY = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (3, 3))
from bot.chat.attachments.reader_process import time_for_converter
try:
    with time_for_converter():
        while True:
            pass
except TimeoutError:
    print("in time")
"""


async def test_a_converter_ends_while_time_is_left() -> None:
    command = (sys.executable, "-c", BUSY)
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(PATIENCE_S):
        written, _ = await process.communicate()
    assert written == b"in time\n"
