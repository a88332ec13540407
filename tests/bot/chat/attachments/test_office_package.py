"""Office files as people have them: odd parts that nobody needs, and what stands beside the text."""

import io
import zipfile
from typing import Any

import openpyxl
import pptx
import pytest
from pptx.util import Inches

from bot.chat.attachments import kinds
from bot.chat.attachments.reader import ReadAs, Reader
from bot.chat.attachments.reader_process import MAX_CONVERTED
from tests.fakes import documents
from tests.fakes.documents import RELATIONS, STRICT, TRANSITIONAL, paragraph, relation, relationships
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow  # each file is read in a process of its own

CELL = '<c r="{0}" t="inlineStr"><is><t>{1}</t></is></c>'
ROWS = f'<row r="1">{CELL.format("A1", "boat")}<c r="B1"><v>4711</v></c></row>'
BOAT = "[sheet Prices]\nboat | 4711"
DOCTYPE = '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'


async def read(data: bytes) -> str:
    told = await Reader(PATIENCE_S, niceness=0).text(ReadAs.OFFICE, data)
    return told.text or told.why


def repacked(data: bytes, changes: dict[str, bytes | None], *, backslashes: bool = False) -> bytes:
    """Return an archive with parts added or replaced, or (None) left out."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(packed, "w") as after:
        parts = {name: before.read(name) for name in before.namelist()} | changes
        for name, content in parts.items():
            if content is not None:
                entry = zipfile.ZipInfo("x")
                entry.filename = name.replace("/", "\\") if backslashes else name
                after.writestr(entry, content)
    return packed.getvalue()


def saved_workbook() -> bytes:
    made: Any = openpyxl.Workbook()
    made.active.title = "Prices"
    made.active.append(["boat", 4711])
    packed = io.BytesIO()
    made.save(packed)
    return packed.getvalue()


STYLES = {
    "an empty fill": "<fills><fill/></fills>",
    "an odd color": '<fonts><font><color rgb="ZZ"/><sz val="big"/><family val="99"/></font></fonts>',
    "an unknown extension": '<extLst><ext uri="{x}"><y:z xmlns:y="urn:y" a="1"/></ext></extLst>',
    "a font without a name": "<fonts><font><name/></font></fonts><borders><border/></borders>",
    "an odd alignment": '<cellXfs><xf numFmtId="no"><alignment horizontal="up" textRotation="999"/></xf></cellXfs>',
    "no XML": "<<<",
    "a document type": DOCTYPE,
}


@pytest.mark.parametrize("styles", STYLES.values(), ids=STYLES)
async def test_odd_styles_refuse_no_sheet(styles: str) -> None:
    part = styles if styles in {"<<<", DOCTYPE} else f'<styleSheet xmlns="urn:x">{styles}</styleSheet>'
    made = documents.workbook({"Prices": ROWS}, {"xl/styles.xml": part}, relation("st", "styles", "styles.xml"))
    assert await read(made) == BOAT


@pytest.mark.parametrize(
    "changes",
    [
        {"docProps/core.xml": b"<x>no date</x>", "docProps/app.xml": b"<<<", "docProps/custom.xml": DOCTYPE.encode()},
        {"xl/theme/theme1.xml": b"", "customXml/item1.xml": DOCTYPE.encode(), "xl/calcChain.xml": b"<<<"},
        {"xl/metadata.xml": b"<x/>", "xl/drawings/vmlDrawing1.vml": b"<<<", "xl/printerSettings.bin": b"\0" * 9},
        {"[Content_Types].xml": b"<Types/>"},
        {"_rels/.rels": None},
        {"xl/_rels/workbook.xml.rels": None},
        {"xl/styles.xml": None},
    ],
    ids=["docProps", "theme", "metadata", "content types", "no rels", "no rels of the book", "no styles"],
)
async def test_parts_that_nobody_needs_refuse_no_sheet(changes: dict[str, bytes | None]) -> None:
    told = await read(repacked(saved_workbook(), changes))
    assert told.endswith("boat | 4711")


async def test_parts_are_found_as_office_finds_them() -> None:
    strings = f'<sst xmlns="{TRANSITIONAL}/spreadsheetml/2006/main"><si><t>boat</t></si></sst>'
    shared = '<row><c t="s"><v>0</v></c><c><v>4711</v></c></row>'
    link = relation("ss", "sharedStrings", "sharedStrings.xml")
    other_case = documents.workbook({"Prices": shared}, {"xl/SharedStrings.xml": strings}, link)
    assert await read(other_case) == BOAT
    absolute = documents.workbook(
        {"Prices": shared}, {"xl/strings/one.xml": strings}, relation("ss", "sharedStrings", "/xl/strings/one.xml")
    )
    assert await read(absolute) == BOAT
    assert await read(repacked(saved_workbook(), {}, backslashes=True)) == BOAT


async def test_a_part_that_stays_packed_may_be_packed_in_any_way() -> None:
    packed = io.BytesIO(saved_workbook())
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("xl/media/film.mp4", bytes(1_000), zipfile.ZIP_LZMA)
    assert await read(packed.getvalue()) == BOAT
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("xl/worksheets/sheet9.xml", bytes(1_000), zipfile.ZIP_LZMA)
    assert await read(packed.getvalue()) == kinds.BROKEN


async def test_strict_files_are_read() -> None:
    data = documents.workbook({"Prices": ROWS})
    changes: dict[str, bytes | None] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            part = archive.read(name).replace(
                f"{TRANSITIONAL}/spreadsheetml/2006".encode(), f"{STRICT}/spreadsheetml".encode()
            )
            changes[name] = part.replace(RELATIONS.encode(), f"{STRICT}/officeDocument/relationships".encode())
    assert await read(repacked(data, changes)) == BOAT


async def test_each_kind_of_cell_shows_what_it_holds() -> None:
    rich = "<si><r><t>To</t></r><r><t>kyo</t></r><rPh><t>reading</t></rPh><phoneticPr/></si>"
    strings = f'<sst xmlns="{TRANSITIONAL}/spreadsheetml/2006/main">{rich}<si><t>a_x000D_b</t></si></sst>'
    codes = {170: "yyyy\\-mm\\-dd hh:mm", 171: "[h]:mm", 172: "0.0&quot; days&quot;"}
    formats = "".join(f'<numFmt numFmtId="{number}" formatCode="{code}"/>' for number, code in codes.items())
    xfs = "".join(f'<xf numFmtId="{number}"/>' for number in (0, 14, 170, 171, 172, 20))
    base = '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>'
    styles = f'<styleSheet xmlns="urn:x"><numFmts>{formats}</numFmts>{base}<cellXfs>{xfs}</cellXfs></styleSheet>'
    cells = [
        '<c t="s"><v>0</v></c>', '<c t="s"><v>1</v></c>', '<c t="s"><v>99</v></c>', '<c t="b"><v>1</v></c>',
        '<c t="e"><v>#DIV/0!</v></c>', '<c t="str"><f>A1&amp;"x"</f><v>Tokyox</v></c>', '<c><f>1+1</f><v>2</v></c>',
        '<c s="1"><v>46354</v></c>', '<c s="2"><v>46354.75</v></c>', '<c s="3"><v>1.5</v></c>',
        '<c s="4"><v>3.5</v></c>', '<c s="5"><v>0.5</v></c>', '<c t="d"><v>2026-11-28T00:00:00</v></c>',
        '<c><v>711.10000000000002</v></c>',
    ]  # fmt: skip
    links = relation("ss", "sharedStrings", "sharedStrings.xml") + relation("st", "styles", "styles.xml")
    made = documents.workbook(
        {"All": f"<row>{''.join(cells)}</row>"}, {"xl/sharedStrings.xml": strings, "xl/styles.xml": styles}, links
    )
    assert await read(made) == (
        "[sheet All]\nTokyo | a b |  | TRUE | #DIV/0! | Tokyox | 2 | 2026-11-28 | 2026-11-28 18:00:00 | 36:00:00 | "
        "3.5 days | 12:00:00 | 2026-11-28 | 711.1"
    )


async def test_a_formula_without_a_stored_result_is_shown_and_counted() -> None:
    rows = (
        '<row r="1"><c r="A1"><v>1</v></c><c r="B1"><f>A1*2</f></c>'
        '<c r="C1"><f t="shared" si="0" ref="C1:C2">A1+B1</f><v/></c></row>'
        '<row r="2"><c r="C2"><f t="shared" si="0"/></c></row>'
    )
    assert await read(documents.workbook({"Sums": rows})) == (
        "[sheet Sums]\n1 | =A1*2 | =A1+B1\n |  | (formula)\n"
        "(formulas without a stored result: 3; their cells show the formula)"
    )


async def test_a_zero_that_a_program_stored_in_place_of_a_result_is_none() -> None:
    sums = "<row><c><v>2</v></c><c><f>A1+3</f><v>0</v></c><c><f>A1*3</f><v>6</v></c></row>"
    data = documents.workbook({"Sums": sums})
    assert await read(data) == "[sheet Sums]\n2 | 0 | 6"
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        book = archive.read("xl/workbook.xml").replace(b"</workbook>", b'<calcPr fullCalcOnLoad="1"/></workbook>')
    assert await read(repacked(data, {"xl/workbook.xml": book})) == (
        "[sheet Sums]\n2 | =A1+3 | 6\n(formulas without a stored result: 1; their cells show the formula)"
    )


async def test_comments_and_text_boxes_of_a_sheet_are_read() -> None:
    main = f'xmlns="{TRANSITIONAL}/spreadsheetml/2006/main"'
    notes = (
        f'<comments {main}><commentList><comment ref="B1"><text><r><t>Too </t></r><r><t>much</t></r></text></comment>'
        '<comment ref="A1"><text><t>[Threaded comment] Your version…</t></text></comment></commentList></comments>'
    )
    asked = '<threadedComment ref="A1"><text>Which boat?</text></threadedComment>'
    thread = f'<ThreadedComments xmlns="urn:t">{asked}</ThreadedComments>'
    spaces = f'xmlns:xdr="urn:d" xmlns:a="{TRANSITIONAL}/drawingml/2006/main"'
    drawing = f"<xdr:wsDr {spaces}><a:p><a:r><a:t>Draft only</a:t></a:r></a:p></xdr:wsDr>"
    links = "".join([
        relation("c", "comments", "../comments1.xml"), relation("t", "threadedComment", "../threads.xml"),
        relation("d", "drawing", "../drawings/drawing1.xml"),
    ])  # fmt: skip
    parts = {"xl/comments1.xml": notes, "xl/threads.xml": thread, "xl/drawings/drawing1.xml": drawing}
    parts["xl/worksheets/_rels/sheet0.xml.rels"] = relationships(links)
    assert await read(documents.workbook({"Prices": ROWS}, parts)) == (
        f"{BOAT}\n[comment on B1] Too much\n[comment on A1] Which boat?\n[text box] Draft only"
    )


async def test_far_corners_and_many_columns_cost_no_memory() -> None:
    corner = f'{ROWS}<row r="1048576"><c r="XFD1048576"><v>9</v></c><c r="IV1048576"><v>8</v></c></row>'
    told = await read(documents.workbook({"Prices": corner}))
    assert told.startswith(f"{BOAT}\n")
    assert told.endswith("| 8\n(the sheet has more columns: its first 256 were read)")


async def test_a_damaged_sheet_does_not_refuse_the_others() -> None:
    made = documents.workbook({"Prices": f"{ROWS}<row><c><v>5</c>", "Ports": ROWS})
    assert (
        await read(made)
        == f"{BOAT}\n(the rest of this sheet is damaged and was not read)\n\n[sheet Ports]\nboat | 4711"
    )
    assert await read(documents.workbook({"Prices": "<row"})) == kinds.BROKEN
    assert await read(documents.workbook({"Prices": ""})) == kinds.ONLY_PICTURES


MARGINS = (
    "<headerFooter><oddHeader>&amp;L&amp;&quot;Arial,Bold&quot;&amp;14R&amp;&amp;D plan&amp;CDraft&amp;R&amp;D"
    "</oddHeader>"
    "<oddFooter>Page &amp;P of &amp;N</oddFooter><evenHeader>&amp;A&amp;G</evenHeader></headerFooter>"
)


async def test_headers_and_footers_of_sheets_and_what_drawings_say_are_read() -> None:
    spaces = f'xmlns:a="{TRANSITIONAL}/drawingml/2006/main"'
    words = f"<x {spaces}><a:p><a:r><a:t>{{0}}</a:t></a:r></a:p></x>"
    links = relation("g", "diagramData", "../diagrams/d.xml") + relation("c", "chart", "../charts/c.xml")
    drawing: dict[str, str | bytes] = {
        "xl/drawings/drawing1.xml": words.format("Note"),
        "xl/diagrams/d.xml": words.format("Step one"),
        "xl/charts/c.xml": words.format("Sales by month"),
        "xl/drawings/_rels/drawing1.xml.rels": relationships(links),
        "xl/worksheets/_rels/sheet0.xml.rels": relationships(relation("d", "drawing", "../drawings/drawing1.xml")),
    }
    data = documents.workbook({"Prices": ROWS}, drawing)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        sheet = archive.read("xl/worksheets/sheet0.xml").replace(b"</sheetData>", b"</sheetData>" + MARGINS.encode())
    assert await read(repacked(data, {"xl/worksheets/sheet0.xml": sheet})) == (
        f"{BOAT}\n[header] R&D plan | Draft | [date]\n[footer] Page [page] of [pages]\n[text box] Note\n"
        "[diagram] Step one\n[chart] Sales by month\n\n(not read: 1 chart)"
    )


async def test_the_addresses_of_links_that_cells_hide_are_read() -> None:
    external = 'TargetMode="External"'
    links = "".join(
        relation(id_, "hyperlink", target, external)
        for id_, target in (("a", "https://example.test/a?b=1&amp;c=2"), ("b", "mailto:ann@example.test"))
    )
    formula = '<c r="D1" t="str"><f>HYPERLINK("https://example.test/d","Report")</f><v>Report</v></c>'
    row = f"{CELL.format('A1', 'boat')}{CELL.format('B1', 'ann@example.test')}{formula}"
    data = documents.workbook(
        {"Prices": f'<row r="1">{row}</row>'}, {"xl/worksheets/_rels/sheet0.xml.rels": relationships(links)}
    )
    linked = '<hyperlinks xmlns:r="urn:r"><hyperlink ref="A1" r:id="a"/><hyperlink ref="B1" r:id="b"/></hyperlinks>'
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        sheet = archive.read("xl/worksheets/sheet0.xml").replace(b"</sheetData>", b"</sheetData>" + linked.encode())
    assert await read(repacked(data, {"xl/worksheets/sheet0.xml": sheet})) == (
        "[sheet Prices]\nboat | ann@example.test |  | Report\n[link in D1] https://example.test/d\n"
        "[link in A1] https://example.test/a?b=1&c=2"
    )


async def test_a_sheet_that_the_workbook_does_not_name_is_read_after_the_others() -> None:
    data = documents.workbook({"Prices": ROWS, "Lost": ROWS.replace("boat", "canoe")})
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.read("xl/workbook.xml").decode()
    without = names.replace(names[names.index('<sheet name="Lost"') : names.index("</sheets>")], "")
    assert await read(repacked(data, {"xl/workbook.xml": without.encode()})) == f"{BOAT}\n\n[sheet 2]\ncanoe | 4711"


async def test_pictures_and_charts_are_named_as_not_read() -> None:
    links = relation("p", "image", "../media/a.png") + relation("c", "chart", "../charts/c.xml")
    drawing = {
        "xl/drawings/drawing1.xml": "<x/>",
        "xl/drawings/_rels/drawing1.xml.rels": relationships(links),
        "xl/worksheets/_rels/sheet0.xml.rels": relationships(relation("d", "drawing", "../drawings/drawing1.xml")),
    }
    assert await read(documents.workbook({"Prices": ROWS}, drawing)) == f"{BOAT}\n\n(not read: 1 picture, 1 chart)"
    links = (
        relation("p", "image", "media/a.png")
        + relation("q", "image", "media/b.png")
        + relation("h", "aFChunk", "h.html")
    )
    made = repacked(
        documents.docx(paragraph("Words.")), {"word/_rels/document.xml.rels": relationships(links).encode()}
    )
    assert await read(made) == "Words.\n\n(not read: 2 pictures, 1 embedded document)"
    picture = "<x:p>Words.</x:p><d:frame><d:image/></d:frame>"
    assert await read(documents.open_document("text", picture)) == "Words.\n\n(not read: 1 picture)"


# Word


def word(body: str, **parts: str) -> bytes:
    """Return a document with these parts beside it, each by the kind of its relation, without its outer element."""
    changes: dict[str, bytes | None] = {}
    links = ""
    for number, (kind, content) in enumerate(parts.items()):
        space = f'xmlns:w="{TRANSITIONAL}/wordprocessingml/2006/main"'
        changes[f"word/part{number}.xml"] = f"<w:x {space}>{content}</w:x>".encode()
        links += relation(f"k{number}", kind.rstrip("2"), f"part{number}.xml")
    changes["word/_rels/document.xml.rels"] = relationships(links).encode()
    return repacked(documents.docx(body), changes)


def change(tag: str, text: str, kind: str = "t", who: str = "Vera") -> str:
    return f'<w:{tag} w:id="1" w:author="{who}"><w:r><w:{kind}>{text}</w:{kind}></w:r></w:{tag}>'


async def test_tracked_changes_are_read_as_accepted_and_listed() -> None:
    changed = change("del", "12 EUR", "delText") + change("ins", "90 EUR", who="Bo")
    fee = f"<w:p><w:r><w:t>The fee is </w:t></w:r>{changed}</w:p>"
    moved = f"<w:p>{change('moveFrom', 'Old place.')}</w:p><w:p>{change('moveTo', 'New place.')}</w:p>"
    told = await read(word(fee + moved + paragraph("Unchanged.")))
    above, _, changes = told.partition("[tracked changes]\n")
    assert above.startswith("(below the text: ")
    assert "The fee is 90 EUR" in above
    assert "New place." in above
    assert "12 EUR" not in above
    assert "Unchanged." in above
    assert changes == (
        "The fee is [deleted by Vera: 12 EUR][inserted by Bo: 90 EUR]\n[deleted by Vera: Old place.]\n"
        "[inserted by Vera: New place.]"
    )


async def test_a_tracked_change_in_a_table_is_listed() -> None:
    cell = "<w:tc><w:p>{}</w:p></w:tc>"
    row = cell.format("<w:r><w:t>Fee</w:t></w:r>") + cell.format(change("ins", "90 EUR"))
    assert "[tracked changes]\nFee | [inserted by Vera: 90 EUR]" in await read(
        word(f"<w:tbl><w:tr>{row}</w:tr></w:tbl>")
    )


async def test_comments_name_who_wrote_them_and_on_what() -> None:
    body = (
        '<w:p><w:r><w:t>It costs </w:t></w:r><w:commentRangeStart w:id="3"/><w:r><w:t>a lot</w:t></w:r>'
        '<w:commentRangeEnd w:id="3"/></w:p>'
    )
    comments = f'<w:comment w:id="3" w:author="Vera">{paragraph("How much?")}</w:comment>'
    assert (await read(word(body, comments=comments))).endswith('[comments]\nVera on "a lot": How much?')


async def test_a_part_that_is_named_thousands_of_times_is_read_once() -> None:
    long = "<w:p><w:r><w:t> </w:t></w:r></w:p>" * 5_000
    named = "".join(relation(f"x{number}", "header", "part0.xml") for number in range(3_000))
    data = repacked(
        word(paragraph("Text."), header=long + paragraph("DRAFT")),
        {"word/_rels/document.xml.rels": relationships(named).encode()},
    )
    assert (await read(data)).endswith("Text.\n\n[headers]\nDRAFT")


async def test_thousands_of_comments_about_the_same_words_take_no_text_away() -> None:
    begins = "".join(f'<w:commentRangeStart w:id="{number}"/>' for number in range(4_000))
    runs = "<w:r><w:t>a</w:t></w:r>" * 2_000
    comment = f'<w:comment w:id="3" w:author="Vera">{paragraph("Why?")}</w:comment>'
    told = await read(word(f"{begins}<w:p>{runs}</w:p>", comments=comment))
    assert "a" * 2_000 in told
    assert told.endswith("Why?")


async def test_headers_and_footers_are_read_once_each() -> None:
    told = await read(
        word(paragraph("Text."), header=paragraph("DRAFT"), header2=paragraph("DRAFT"), footer=paragraph("Page of 9"))
    )
    assert told == "(below the text: headers, footers)\n\nText.\n\n[headers]\nDRAFT\n\n[footers]\nPage of 9"


async def test_choices_and_ticks_of_older_forms_and_words_in_shapes_are_read() -> None:
    def field(inside: str, text: str) -> str:
        begin = f'<w:fldChar w:fldCharType="begin"><w:ffData>{inside}</w:ffData></w:fldChar>'
        return f"<w:p><w:r>{begin}</w:r><w:r><w:t>{text}</w:t></w:r></w:p>"

    colors = '<w:listEntry w:val="red"/><w:listEntry w:val="vermilion"/>'
    shape = '<w:pict><v:shape xmlns:v="urn:v"><v:textpath string="DRAFT COPY"/></v:shape></w:pict>'
    body = (
        field(f'<w:ddList><w:result w:val="1"/>{colors}</w:ddList>', " is the color")
        + field(f"<w:ddList>{colors}</w:ddList>", " is the other")
        + field('<w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox>', " I agree")
        + field('<w:checkBox><w:default w:val="1"/><w:checked w:val="0"/></w:checkBox>', " I disagree")
        + f"<w:p><w:r>{shape}</w:r></w:p>"
    )
    told = await read(word(body))
    assert "[left out above]\nDRAFT COPY\n" in told
    assert told.endswith("[form fields]\nvermilion is the color\nred is the other\n☒ I agree\n☐ I disagree")


async def test_a_document_whose_text_is_an_embedded_document_is_not_called_empty() -> None:
    assert await read(word('<w:altChunk r:id="k0" xmlns:r="urn:r"/>', aFChunk="<w:p/>")) == (
        "(not read: 1 embedded document)"
    )


async def test_notes_text_boxes_and_content_controls_are_not_lost() -> None:
    boxed = f"<w:txbxContent>{paragraph('Boxed words')}</w:txbxContent>"
    reference = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    body = (
        f"<w:p><w:r><w:t>Text</w:t></w:r>{reference}</w:p>"
        f"<w:sdt><w:sdtPr/><w:sdtContent>{paragraph('Controlled')}</w:sdtContent></w:sdt>"
        f'<w:p><w:r><mc:AlternateContent xmlns:mc="urn:mc"><mc:Choice>{boxed}</mc:Choice>'
        f"<mc:Fallback>{boxed}</mc:Fallback></mc:AlternateContent></w:r></w:p>"
        f'<x:odd xmlns:x="urn:x">{paragraph("Strange words")}</x:odd>'
    )
    footnotes = (
        f'<w:footnote w:id="0" w:type="separator">{paragraph("---")}</w:footnote>'
        f'<w:footnote w:id="2">{paragraph("A footnote")}</w:footnote>'
    )
    told = await read(word(body, footnotes=footnotes))
    for words in ("Text", "Controlled", "Boxed words", "Strange words", "A footnote"):
        assert told.count(words) == 1, words


@pytest.mark.parametrize(
    "odd",
    [
        {"word/styles.xml": b"<<<", "word/numbering.xml": b"", "word/fontTable.xml": DOCTYPE.encode()},
        {"docProps/core.xml": DOCTYPE.encode(), "docProps/app.xml": b"no", "customXml/item1.xml": DOCTYPE.encode()},
        {"word/settings.xml": b"<x>" * 300, "word/theme/theme1.xml": b"<<<", "word/comments.xml": b"<<<"},
        {"[Content_Types].xml": b"<Types/>"},
        {"[Content_Types].xml": None, "_rels/.rels": None},
    ],
    ids=["styles", "docProps", "settings", "no content types", "no relations"],
)
async def test_odd_parts_refuse_no_document(odd: dict[str, bytes | None]) -> None:
    kinds_of = ("styles", "numbering", "comments")
    links = relationships("".join(relation(kind, kind, f"{kind}.xml") for kind in kinds_of))
    made = repacked(documents.docx(paragraph("Words.")), {"word/_rels/document.xml.rels": links.encode(), **odd})
    assert await read(made) == "Words."


# PowerPoint

TEXT = "<p:sp><p:nvSpPr/><p:txBody>{}</p:txBody></p:sp>"
RUN = "<a:p><a:r><a:t>{}</a:t></a:r></a:p>"


async def test_a_run_without_text_refuses_no_presentation() -> None:
    for odd in ("<a:p><a:r/></a:p>", "<a:p><a:fld/></a:p>", "<a:p><a:br/><a:odd/></a:p>"):
        shapes = TEXT.format(RUN.format("Plan")) + TEXT.format(odd)
        assert await read(documents.slides({"slide1": shapes, "slide2": TEXT.format(RUN.format("Two"))})) == (
            "[slide 1]\nPlan\n\n[slide 2]\nTwo"
        )


async def test_without_layouts_groups_tables_notes_comments_and_diagrams_are_read() -> None:
    cell = "<a:tc><a:txBody>{}</a:txBody></a:tc>"
    table = f"<p:graphicFrame><a:tbl><a:tr>{cell}{cell}</a:tr></a:tbl></p:graphicFrame>"
    shapes = (
        f"<p:grpSp><p:grpSp>{TEXT.format(RUN.format('Grouped'))}</p:grpSp></p:grpSp>"
        f"{table.format(RUN.format('Fee'), RUN.format('90'))}"
        '<p:sp><p:txBody><a:p><a:fld type="slidenum"><a:t>7</a:t></a:fld></a:p></p:txBody></p:sp>'
    )
    spaces = f'xmlns:a="{TRANSITIONAL}/drawingml/2006/main"'
    series = "<c:ser><c:cat><c:v>May</c:v><c:v>June</c:v></c:cat><c:val><c:v>4</c:v><c:v>7</c:v></c:val></c:ser>"
    links = "".join([
        relation("n", "notesSlide", "../notesSlides/n1.xml"), relation("c", "comments", "../comments/c1.xml"),
        relation("d", "diagramData", "../diagrams/data1.xml"), relation("x", "image", "../media/none.png"),
        relation("h", "chart", "../charts/c1.xml"),
        relation("l", "hyperlink", "https://example.test/fee", 'TargetMode="External"'),
    ])  # fmt: skip
    parts = {
        "ppt/slides/_rels/one.xml.rels": relationships(links),
        "ppt/notesSlides/n1.xml": f"<p:notes xmlns:p='urn:p' {spaces}>{RUN.format('Say it')}</p:notes>",
        "ppt/comments/c1.xml": "<p:cmLst xmlns:p='urn:p'><p:cm><p:text>Really?</p:text></p:cm></p:cmLst>",
        "ppt/charts/c1.xml": f"<c:c xmlns:c='urn:c' {spaces}><c:t>{RUN.format('Sales')}</c:t>{series}</c:c>",
        "ppt/diagrams/data1.xml": f"<d:data xmlns:d='urn:d' {spaces}>{RUN.format('Step one')}</d:data>",
    }
    assert await read(documents.slides({"one": shapes}, parts)) == (
        "[slide 1]\nGrouped\nFee | 90\nStep one\nSales\nMay | June | 4 | 7\n### Notes:\nSay it\n[comment] Really?\n"
        "[link] https://example.test/fee\n(not read: 1 picture)"
    )


async def test_of_a_presentation_that_powerpoint_saved_nothing_is_lost_or_said_twice() -> None:
    made: Any = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[5])
    slide.shapes.title.text = "Boats_of the port"
    group = slide.shapes.add_group_shape()
    box = group.shapes.add_textbox(Inches(1), Inches(1), Inches(2), Inches(1))
    box.text_frame.text = "Grouped words"
    slide.shapes.add_table(1, 1, 0, 0, 900_000, 900_000).table.cell(0, 0).text = "Celled"
    slide.notes_slide.notes_text_frame.text = "Noted"
    packed = io.BytesIO()
    made.save(packed)
    told = await read(packed.getvalue())
    for words in ("Boats_of the port", "Grouped words", "Celled", "Noted"):
        assert told.replace("\\", "").count(words) == 1, words


# OpenDocument


async def test_comments_deletions_headers_and_footers_of_open_documents_are_read() -> None:
    who = '<c:creator xmlns:c="http://purl.org/dc/elements/1.1/">Vera</c:creator>'
    deleted = f"<x:deletion><o:change-info>{who}</o:change-info><x:p>12 EUR</x:p></x:deletion>"
    comment = f"<o:annotation>{who}<x:p>How</x:p><x:p>much?</x:p></o:annotation>"
    body = f"<x:tracked-changes>{deleted}</x:tracked-changes><x:p>The fee{comment} is 90 EUR.</x:p>"
    styles = (
        '<o:styles xmlns:o="urn:o" xmlns:s="urn:s" xmlns:x="urn:x"><s:header><x:p>DRAFT</x:p></s:header>'
        "<s:footer><x:p>Page <x:n>1</x:n></x:p></s:footer><x:p>no text</x:p></o:styles>"
    )
    made = repacked(documents.open_document("text", body), {"styles.xml": styles.encode()})
    assert await read(made) == (
        "The fee [comment by Vera: How much?] is 90 EUR.\n\n[tracked changes]\n[deleted by Vera: 12 EUR]\n\n"
        "[headers and footers]\nDRAFT\nPage 1"
    )
    assert await read(repacked(documents.open_document("text", body), {"styles.xml": b"<<<"})) == (
        "The fee [comment by Vera: How much?] is 90 EUR.\n\n[tracked changes]\n[deleted by Vera: 12 EUR]"
    )


async def test_diagrams_and_charts_of_a_document_are_read() -> None:
    space = f'xmlns:a="{TRANSITIONAL}/drawingml/2006/main"'
    words = f"<a:p {space}><a:r><a:t>{{0}}</a:t></a:r></a:p>"
    series = "<c:ser xmlns:c='urn:c'><c:v>Sales</c:v><c:v>May</c:v><c:v>4711</c:v></c:ser>"
    told = await read(
        word(paragraph("words"), diagramData=words.format("Step one"), chart=words.format("By month") + series)
    )
    assert told == (
        "(below the text: diagrams, charts)\n\nwords\n\n[diagrams]\nStep one\n\n[charts]\nBy month\nSales | May | 4711"
    )


async def test_a_note_whose_words_a_long_text_has_elsewhere_is_not_lost() -> None:
    words = paragraph("the old boat of the harbor was sold in spring by a man from the north")
    note = "a man was sold the old harbor by the boat"
    footnotes = f'<w:footnote w:id="2">{paragraph(note)}</w:footnote>'
    assert (await read(word(words, footnotes=footnotes))).endswith(f"[footnotes]\n{note}")


async def test_words_in_elements_that_the_converter_does_not_know_are_in_their_place() -> None:
    def run(text: str) -> str:
        return f"<w:r><w:t>{text}</w:t></w:r>"

    ruby = f"<w:r><w:ruby><w:rt>{run('reading')}</w:rt><w:rubyBase>{run('base')}</w:rubyBase></w:ruby></w:r>"
    wrapped = (
        f'<w:fldSimple w:instr=" IF 1 > 0 &quot;&gt;&quot; ">{run("4711 ")}</w:fldSimple>',
        f'<w:dir w:val="rtl">{run("boat ")}</w:dir>',
        f"<w:bdo w:val='rtl'>{run('harbor ')}</w:bdo>",
        f'<w:customXml w:element="x"><w:customXmlPr/>{run("canoe ")}</w:customXml>',
        f"<w:moveTo>{run('moved ')}</w:moveTo>",
        ruby,
    )
    long_text = "a paragraph of so many words that a few which are lost in it would not be missed "
    broken = "<w:r><w:t>one</w:t><w:cr/><w:t>two</w:t><w:ptab/><w:t>three</w:t></w:r>"
    told = await read(word(f"<w:p>{run(long_text)}{''.join(wrapped)}</w:p><w:p>{broken}</w:p>"))
    assert "missed 4711 boat harbor canoe moved base" in told
    assert "one  \ntwo" in told
    assert "twothree" not in told


async def test_a_cell_that_goes_on_below_moves_no_other_cell() -> None:
    def row(merge: str, first: str, second: str) -> str:
        cell = f"<w:tc><w:tcPr><w:vMerge{merge}/></w:tcPr>{paragraph(first)}</w:tc>"
        return f"<w:tr>{cell}<w:tc>{paragraph(second)}</w:tc></w:tr>"

    begun = row(' w:val="restart"', "Boats", "blue")
    later = f'<w:tr><w:trPr><w:gridBefore w:val="1"/></w:trPr><w:tc>{paragraph("green")}</w:tc></w:tr>'
    told = await read(word(f"<w:tbl>{begun}{row('', '', 'red')}{later}</w:tbl>"))
    assert told.endswith("| Boats | blue |\n|  | red |\n|  | green |")


async def test_of_a_damaged_document_the_beginning_is_read() -> None:
    data = documents.docx(paragraph("Words.") + paragraph("More."))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        cut = archive.read("word/document.xml").partition(b"More")[0]
    told = await Reader(PATIENCE_S, niceness=0).text(ReadAs.OFFICE, repacked(data, {"word/document.xml": cut}))
    assert (told.text, told.why) == ("Words.", kinds.GOES_ON)


async def test_a_soft_hyphen_says_no_line_twice() -> None:
    told = await read(word("<w:p><w:r><w:t>co</w:t><w:softHyphen/><w:t>operate</w:t></w:r></w:p>"))
    assert told == "co\u00adoperate"


async def test_a_document_that_a_converter_has_no_memory_for_is_read_without_it() -> None:
    padding = f"<!--{'x' * MAX_CONVERTED}-->"
    assert await read(word(f"{paragraph('Words.')}{padding}")) == "Words."
