"""What a PDF holds beside the text of its pages."""

import pytest

from bot.chat.attachments.pdf_forms import FILES_INSIDE, HIDDEN, NOT_CHECKED, SIGNED, XFA
from bot.chat.attachments.reader import ReadAs, Reader
from tests.fakes import pdfs
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow  # each file is read in a process of its own


def form(*annotations: str, text: str = "Form:", catalog: str = "") -> bytes:
    """Return a PDF of one page with these annotations, the first of which is object 6."""
    content = pdfs.stream(b"BT /F1 12 Tf 72 720 Td (%s) Tj ET" % text.encode())
    numbers = " ".join(f"{6 + number} 0 R" for number in range(len(annotations)))
    font = "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    page = f"/Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources {font} /Contents 4 0 R /Annots [{numbers}]"
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R /AcroForm 5 0 R {catalog} >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< {page} >>",
        content.decode(),
        f"<< /Fields [{numbers}] {'/XFA (x)' if 'XFA' in catalog else ''} >>",
        *annotations,
    ]
    return pdfs.assembled([content.encode() for content in objects])


def widget(about: str) -> str:
    return f"<< /Type /Annot /Subtype /Widget /Rect [0 0 9 9] {about} >>"


def note(kind: str, about: str) -> str:
    return f"<< /Type /Annot /Subtype /{kind} /Rect [0 0 9 9] {about} >>"


async def read(data: bytes) -> str:
    told = await Reader(PATIENCE_S, niceness=0).text(ReadAs.PDF, data)
    return told.text or told.why


@pytest.mark.parametrize(
    ("about", "line"),
    [
        ("/FT /Tx /T (name) /V (Vera 4711)", "[field] name: Vera 4711"),
        ("/FT /Tx /T (name) /TU (Full name) /V <FEFF00C4>", "[field] Full name: Ä"),
        ("/FT /Btn /T (agree) /V /Yes /AS /Yes", "[field] agree: Yes"),
        ("/FT /Btn /T (agree) /V /Off", f"[field] agree: {NOT_CHECKED}"),
        ("/FT /Btn /T (agree)", f"[field] agree: {NOT_CHECKED}"),
        ("/FT /Ch /T (boat) /V (b) /Opt [[(a) (Red)] [(b) (Blue)]]", "[field] boat: Blue"),
        ("/FT /Ch /T (boats) /V [(Red) (Blue)]", "[field] boats: Red, Blue"),
        ("/FT /Sig /T (here) /V << /Type /Sig >>", f"[field] here: {SIGNED}"),
        ("/FT /Tx /T (code) /Ff 8192 /V (secret)", f"[field] code: {HIDDEN}"),
    ],
)
async def test_the_value_of_a_field_is_read(about: str, line: str) -> None:
    assert await read(form(widget(about))) == f"[page 1]\nForm:\n{line}"


async def test_fields_without_a_value_and_buttons_to_press_say_nothing() -> None:
    assert await read(form(widget("/FT /Tx /T (name)"), widget("/FT /Btn /T (send) /Ff 65536"))) == "[page 1]\nForm:"


async def test_the_widgets_of_a_group_are_one_field() -> None:
    group = "<< /FT /Btn /T (color) /V /Blue /Kids [7 0 R 8 0 R] >>"
    data = form(group, widget("/Parent 6 0 R /AS /Off"), widget("/Parent 6 0 R /AS /Blue"))
    assert await read(data) == "[page 1]\nForm:\n[field] color: Blue"


async def test_what_people_wrote_on_a_page_is_read() -> None:
    data = form(
        note("FreeText", "/Contents (Pay by Friday)"),
        note("Text", "/T (Vera) /Contents (Why?)"),
        note("Highlight", "/Contents (Check this)"),
        note("Popup", "/Contents (Why?)"),
        note("Link", "/Contents (a link)"),
    )
    assert await read(data) == (
        "[page 1]\nForm:\n[text box] Pay by Friday\n[note by Vera] Why?\n[note on highlighted text] Check this"
    )


async def test_a_scan_with_a_filled_form_has_text() -> None:
    assert await read(form(widget("/FT /Tx /T (name) /V (Vera)"), text="")) == "[page 1]\n[field] name: Vera"


async def test_what_is_not_read_is_named() -> None:
    files = "/Names << /EmbeddedFiles << /Names [(a.xlsx) << /F (a.xlsx) /EF << /F 4 0 R >> >>] >> >>"
    assert FILES_INSIDE.format(names="a.xlsx") in await read(form(catalog=files))
    assert XFA in await read(form(catalog="/XFAHere true"))


@pytest.mark.parametrize(
    "odd",
    [
        "<< /Subtype /Widget /FT /Tx /T 5 /V 6 0 R >>",
        "<< /Subtype /Widget /Parent 6 0 R /T (x) /FT /Tx /V (y) >>",
        "[]",
        "(no annotation)",
        "<< /Subtype /Widget /FT /Ch /T (x) /V (y) /Opt [[]] >>",
    ],
)
async def test_an_odd_annotation_refuses_no_page(odd: str) -> None:
    assert (await read(form(odd))).startswith("[page 1]\nForm:")


async def test_very_many_annotations_cost_bounded_time() -> None:
    many = form(*(note("Text", f"/Contents (note {number})") for number in range(20_000)))
    assert "note 1999" in await read(many)
