"""Which files of a run go to people, and which the model sees."""

import csv
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import MAX_FILES, Image, SharedFile
from bot.chat.attachments import handed_over as rules
from bot.chat.attachments.handed_over import MAX_BYTES, without_formulas
from bot.chat.attachments.picture_headers import PNG, picture_size, picture_title
from bot.python.engine import RunFile
from bot.python.result_files import MAX_SEEN, result_files
from tests.fakes import documents, pdfs


def png(width: int, height: int, title: str = "") -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return PNG + head + (chunk(b"iTXt", b"Title\0\0\0\0\0" + title.encode()) if title else b"")


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def jpeg(width: int, height: int) -> bytes:
    comment = b"\xff\xfe\x00\x04hi"
    return b"\xff\xd8" + comment + b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03" + bytes(9)


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(3)


def package(**parts: bytes) -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in {"[Content_Types].xml": b"<Types/>", **parts}.items():
            file.writestr(name, content)
    return output.getvalue()


def shared(*files: tuple[str, bytes]) -> tuple[SharedFile, ...]:
    return result_files([RunFile(*file) for file in files]).files


def left_out(name: str, data: bytes) -> str:
    found = result_files([RunFile(name, data)])
    assert not found.files
    assert not found.seen
    return found.left_out[0].removeprefix(f"{name}: ")


@pytest.mark.parametrize("make", [png, jpeg, gif])
def test_the_size_of_a_picture_is_read(make: Callable[[int, int], bytes]) -> None:
    assert picture_size(make(640, 480)) == (640, 480)


def test_a_picture_goes_to_the_person_and_to_the_model() -> None:
    found = result_files([RunFile("chart.png", png(640, 480))])
    assert found.files == (SharedFile("chart.png", "image/png", png(640, 480)),)
    assert found.seen == (Image("image/png", png(640, 480)),)


def test_the_model_sees_few_pictures_and_no_huge_one() -> None:
    many = [RunFile(f"{number}.png", png(640, 480)) for number in range(4)]
    assert len(result_files(many).seen) == MAX_SEEN
    large = result_files([RunFile("poster.png", png(5_000, 5_000))])
    assert len(large.files) == 1
    assert not large.seen


@pytest.mark.parametrize("size", [(60_000, 60_000), (2**32 - 1, 2**32 - 1), (40_000_001, 1)])
def test_a_picture_that_takes_gigabytes_to_show_stays(size: tuple[int, int]) -> None:
    assert left_out("bomb.png", png(*size)) == rules.TOO_MANY_PIXELS


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n", png(0, 10), b"\xff\xd8\xff", b"GIF89a"])
def test_a_picture_without_a_size_stays(data: bytes) -> None:
    assert left_out("chart.png", data) == rules.BROKEN


def test_a_file_is_named_after_what_it_is() -> None:
    assert shared(("chart.exe", png(9, 9)))[0].name == "chart.exe.png"
    assert shared(("chart.JPG", jpeg(9, 9)))[0].name == "chart.JPG"
    assert shared(("paper", pdfs.pdf("boats")))[0].name == "paper.pdf"


@pytest.mark.parametrize(
    ("name", "media_type"),
    [("a.csv", "text/csv"), ("a.md", "text/markdown"), ("a.txt", "text/plain"), ("README", "text/plain")],
)
def test_texts_go_to_the_person(name: str, media_type: str) -> None:
    assert shared((name, b"boat")) == (SharedFile(name, media_type, b"boat"),)


@pytest.mark.parametrize(
    "name", ["a.rtf", "list.m3u", "a.xhtml", "page.mhtml", "x.command", "book.fods", "c.ics", "a.svgz"]
)
def test_a_text_that_some_program_may_act_on_is_handed_over_as_a_text(name: str) -> None:
    assert shared((name, b"boat")) == (SharedFile(f"{name}.txt", "text/plain", b"boat"),)


def test_names_are_those_of_files_without_folders_and_each_once() -> None:
    names = [file.name for file in shared(("july/a.txt", b"1"), ("june/a.txt", b"2"), ("x\u202etxt.html. ", b"3"))]
    assert names == ["a.txt", "a (2).txt", "x txt.html"]
    assert len(shared(("x" * 400 + ".txt", b"1"))[0].name.encode()) <= 210


@pytest.mark.parametrize("name", ["model.pkl", "model.PICKLE", "run.bat", "open.lnk", "page.hta", "x.vbs", "n.joblib"])
def test_what_is_run_or_unpacked_when_opened_stays(name: str) -> None:
    assert left_out(name, b"text") == rules.RUNS


@pytest.mark.parametrize(
    "data", [b"\x80\x04\x95\x10", b"MZ\x90\0\x03", b"\x7fELF\x02", package(), b"\x93NUMPY\x01\0", b"a\0b"]
)
def test_other_bytes_stay(data: bytes) -> None:
    assert left_out("data.bin", data) == rules.UNKNOWN_KIND
    assert left_out("data.txt", data) == rules.UNKNOWN_KIND


def test_office_documents_go_to_the_person() -> None:
    document = documents.docx(documents.paragraph("It floats."))
    assert shared(("plan.docx", document))[0].data == document


@pytest.mark.parametrize("data", [b"PK\x03\x04", b"text"])
def test_a_document_that_is_none_stays(data: bytes) -> None:
    assert left_out("table.xlsx", data) == rules.BROKEN


# Packed in the test: bombs take seconds to pack, which each start of the tests would wait for.
@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"xl/vbaProject.bin": 1}, rules.MACROS),
        ({"xl/media/big": 100_000_001}, rules.BOMB),
        ({f"xl/{number}": 0 for number in range(20_000)}, rules.BOMB),
    ],
    ids=["macros", "large", "many"],
)
def test_a_document_with_macros_or_a_bomb_stays(parts: Mapping[str, int], reason: str) -> None:
    assert left_out("table.xlsx", package(**{name: bytes(size) for name, size in parts.items()})) == reason


def test_an_empty_or_too_large_file_stays() -> None:
    assert left_out("a.txt", b"") == rules.EMPTY
    assert left_out("a.txt", b"x" * (MAX_BYTES + 1)) == rules.TOO_LARGE


def test_a_long_name_does_not_fill_the_result() -> None:
    (line,) = result_files([RunFile("d/" * 400 + "m\u202e.pkl", b"x")]).left_out
    assert len(line) < 300
    assert "\u202e" not in line


def test_all_files_together_are_bounded() -> None:
    found = result_files([RunFile(f"{number}.txt", b"x" * 3_000_000) for number in range(4)])
    assert len(found.files) == 2
    assert found.left_out == (f"2.txt: {rules.TOO_LARGE}", f"3.txt: {rules.TOO_LARGE}")
    many = result_files([RunFile(f"{number}.txt", b"x") for number in range(MAX_FILES + 2)])
    assert len(many.files) == MAX_FILES
    assert len(many.left_out) == 2


def test_a_cell_that_a_spreadsheet_would_run_is_marked_as_text() -> None:
    table = b'name,sum\n"=HYPERLINK(""http://a.example"",""x"")",-5\n+cmd|x,@a\nboat,1.5\n'
    (file,) = shared(("table.csv", table))
    rows = list(csv.reader(io.StringIO(file.data.decode())))
    assert rows[1] == ['\'=HYPERLINK("http://a.example","x")', "-5"]
    assert rows[2] == ["'+cmd|x", "'@a"]
    assert rows[3] == ["boat", "1.5"]


@pytest.mark.parametrize(
    ("table", "marked"),
    [
        ("\ufeff=WEBSERVICE(A2)\nboat\n", "\ufeff'=WEBSERVICE(A2)\nboat\n"),
        ("\ufeff" * 5_000, "\ufeff" * 5_000),
        ('\ufeff"a",b\n1,2\n', '\ufeff"a",b\n1,2\n'),
        ('name,"a\n=WEBSERVICE(A1);b"\n', 'name,"a\n\'=WEBSERVICE(A1);b"\n'),
        ('ID;PWXL\nC;X1;Y1;K0;EWEBSERVICE("x")\nE\n', '\'ID;PWXL\n"C;X1;Y1;K0;EWEBSERVICE(""x"")"\nE\n'),
        ("ID;Price\n1;2\n", "ID;Price\n1;2\n"),
    ],
)
def test_a_formula_is_marked_wherever_a_spreadsheet_sees_a_cell_begin(table: str, marked: str) -> None:
    read = list(csv.reader(io.StringIO(without_formulas(table, ","), newline="")))
    assert read == list(csv.reader(io.StringIO(marked, newline="")))


@given(st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1), max_size=5))
def test_a_table_keeps_its_cells_but_for_marks(rows: list[list[str]]) -> None:
    output = io.StringIO()
    csv.writer(output, lineterminator="\n").writerows(rows)
    before = list(csv.reader(io.StringIO(output.getvalue(), newline="")))
    after = list(csv.reader(io.StringIO(without_formulas(output.getvalue(), ","), newline="")))
    assert [[cell.replace("'", "") for cell in row] for row in after] == [
        [cell.replace("'", "") for cell in row] for row in before
    ]


@given(st.text(max_size=20), st.binary(max_size=200), st.sampled_from(["csv", "xlsx", "png", "pdf", "txt", ""]))
def test_any_bytes_of_any_name_are_handed_over_or_have_a_reason(name: str, data: bytes, ending: str) -> None:
    found = result_files([RunFile(f"{name}.{ending}", data)])
    assert len(found.files) + len(found.left_out) == 1


@pytest.mark.parametrize(
    ("data", "title"),
    [
        (png(8, 8, "Größe by month"), "Größe by month"),
        (png(8, 8) + chunk(b"tEXt", b"Software\0x") + chunk(b"tEXt", b"Title\0Sales\n in \xa3"), "Sales in £"),
        (png(8, 8) + chunk(b"iTXt", b"Title\0\0\0en\0Titel\0Sales\0 m\7ore"), "Sales more"),
        (png(8, 8) + chunk(b"iTXt", b"Title\0\1\0\0\0compressed"), ""),
        (png(8, 8) + chunk(b"iTXt", b"Title\0\0"), ""),
        (png(8, 8) + chunk(b"IDAT", b"x") + chunk(b"tEXt", b"Title\0late"), ""),
        (png(8, 8) + b"\xff\xff\xff\xfftEXtTitle\0cut", "cut"),
        (png(8, 8) + chunk(b"tEXt", b"x\0y") * 60 + chunk(b"tEXt", b"Title\0far"), ""),
        (png(8, 8), ""),
        (jpeg(8, 8), ""),
        (b"", ""),
    ],
)
def test_a_picture_has_the_title_that_stands_in_it(data: bytes, title: str) -> None:
    assert picture_title(data) == title


def test_the_title_of_a_picture_is_its_text_for_people_who_cannot_see_it() -> None:
    (file,) = result_files([RunFile("chart.png", png(8, 8, "Sales by month"))]).files
    assert file.alt == "Sales by month"
    (long,) = result_files([RunFile("chart.png", png(8, 8, "x" * 20_000))]).files
    assert len(long.alt) == 900


@given(st.binary(max_size=200))
def test_any_bytes_have_a_title_or_none(data: bytes) -> None:
    for start in (b"", PNG, png(8, 8)):
        assert "\n" not in picture_title(start + data)
