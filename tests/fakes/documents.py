"""Office files, built part by part: valid ones and hostile ones."""

import io
import zipfile
from collections.abc import Mapping
from random import Random

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_ODF = "urn:oasis:names:tc:opendocument:xmlns"


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return packed.getvalue()


def _package(main: str, kind: str, parts: Mapping[str, str | bytes]) -> bytes:
    """Return a package of `parts` and the one called `main`."""
    types = (
        f'<Override PartName="/{main}" ContentType="application/vnd.openxmlformats-officedocument.{kind}.main+xml"/>'
    )
    return archive({
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType='
        f'"application/vnd.openxmlformats-package.relationships+xml"/>{types}</Types>',
        "_rels/.rels": relationships(f'<Relationship Id="r1" Type="{_R}/officeDocument" Target="{main}"/>'),
        **parts,
    })  # fmt: skip


def relationships(inside: str) -> str:
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{inside}</Relationships>'


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def docx(body: str, prolog: str = "", **more: str | bytes) -> bytes:
    """`body`: XML of paragraphs and tables; `more`: parts, with "__" for "/" and "_" for "."."""
    parts = {name.replace("__", "/").replace("_", "."): content for name, content in more.items()}
    document = f'{prolog}<w:document {_W} xmlns:r="{_R}"><w:body>{body}</w:body></w:document>'
    return _package("word/document.xml", "wordprocessingml.document", {"word/document.xml": document, **parts})


def xlsx(rows: str, dimension: str = "A1") -> bytes:
    """`rows`: XML of the rows of one sheet, called Prices."""
    sheet = f'<worksheet {_S}><dimension ref="{dimension}"/><sheetData>{rows}</sheetData></worksheet>'
    book = f'<workbook {_S} xmlns:r="{_R}"><sheets><sheet name="Prices" sheetId="1" r:id="r1"/></sheets></workbook>'
    links = relationships(f'<Relationship Id="r1" Type="{_R}/worksheet" Target="worksheets/sheet1.xml"/>')
    parts = {"xl/workbook.xml": book, "xl/_rels/workbook.xml.rels": links, "xl/worksheets/sheet1.xml": sheet}
    return _package("xl/workbook.xml", "spreadsheetml.sheet", parts)


TRANSITIONAL = "http://schemas.openxmlformats.org"
STRICT = "http://purl.oclc.org/ooxml"
RELATIONS = f"{TRANSITIONAL}/officeDocument/2006/relationships"


def relation(id_: str, kind: str, target: str, more: str = "", types: str = RELATIONS) -> str:
    return f'<Relationship Id="{id_}" Type="{types}/{kind}" Target="{target}" {more}/>'


def workbook(sheets: Mapping[str, str], parts: Mapping[str, str | bytes] | None = None, related: str = "") -> bytes:
    """Return a workbook of sheets, each the XML of its rows by its name. `parts` are added or replaced; `related`: more
    relations of the workbook, such as its styles.
    """
    names = "".join(f'<sheet name="{name}" sheetId="{number}" r:id="s{number}"/>' for number, name in enumerate(sheets))
    links = "".join(
        relation(f"s{number}", "worksheet", f"worksheets/sheet{number}.xml") for number in range(len(sheets))
    )
    files = {
        f"xl/worksheets/sheet{number}.xml": f"<worksheet {_S}><sheetData>{rows}</sheetData></worksheet>"
        for number, rows in enumerate(sheets.values())
    }
    book = f'<workbook {_S} xmlns:r="{_R}"><sheets>{names}</sheets></workbook>'
    own = {"xl/workbook.xml": book, "xl/_rels/workbook.xml.rels": relationships(links + related), **files}
    return _package("xl/workbook.xml", "spreadsheetml.sheet", {**own, **(parts or {})})


def slides(shapes: Mapping[str, str], parts: Mapping[str, str | bytes] | None = None) -> bytes:
    """Return a presentation without layouts or themes: for each slide (its part's name) the XML of its shapes."""
    spaces = f'xmlns:a="{TRANSITIONAL}/drawingml/2006/main" xmlns:p="{TRANSITIONAL}/presentationml/2006/main"'
    order = "".join(f'<p:sldId id="{256 + number}" r:id="s{number}"/>' for number in range(len(shapes)))
    links = "".join(relation(f"s{number}", "slide", f"slides/{name}.xml") for number, name in enumerate(shapes))
    show = f'<p:presentation {spaces} xmlns:r="{_R}"><p:sldIdLst>{order}</p:sldIdLst></p:presentation>'
    tree = f"<p:sld {spaces}><p:cSld><p:spTree>{{}}</p:spTree></p:cSld></p:sld>"
    files = {f"ppt/slides/{name}.xml": tree.format(content) for name, content in shapes.items()}
    own = {"ppt/presentation.xml": show, "ppt/_rels/presentation.xml.rels": relationships(links), **files}
    return _package("ppt/presentation.xml", "presentationml.presentation", {**own, **(parts or {})})


def open_document(kind: str, body: str, prolog: str = "", manifest: str = "<manifest/>", size: int = 0) -> bytes:
    """`kind`: "text", "spreadsheet" or "presentation"; `size`: of a picture in it."""
    names = " ".join(f'xmlns:{name}="{_ODF}:{space}:1.0"' for name, space in _SPACES.items())
    content = f"{prolog}<o:document-content {names}><o:body><o:{kind}>{body}</o:{kind}></o:body></o:document-content>"
    kinds = {"mimetype": f"application/vnd.oasis.opendocument.{kind}"}
    pictures = {"Pictures/boat.png": Random(7).randbytes(size)} if size else {}
    return archive({**kinds, "content.xml": content, "META-INF/manifest.xml": manifest, **pictures})


_SPACES = {"o": "office", "x": "text", "t": "table", "d": "drawing"}


def epub(chapter: str, encryption: str = "") -> bytes:
    """`chapter`: the body of its one page."""
    book = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        '<dc:title>Boats</dc:title></metadata><manifest><item id="one" href="one.xhtml"/></manifest>'
        '<spine><itemref idref="one"/></spine></package>'
    )
    container = '<container><rootfiles><rootfile full-path="o/book.opf"/></rootfiles></container>'
    parts = {"mimetype": "application/epub+zip", "META-INF/container.xml": container, "o/book.opf": book}
    page = f"<!DOCTYPE html><html><head><title>x</title></head><body>{chapter}</body></html>"
    return archive(parts | {"o/one.xhtml": page} | ({"META-INF/encryption.xml": encryption} if encryption else {}))


_LAUGHS = "".join(f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">' for level in range(1, 10))
LAUGHS = f'<!DOCTYPE x [<!ENTITY l0 "ha">{_LAUGHS}]>'  # A billion of them in &l9;


def legacy(*, encrypted: bool = False) -> bytes:
    """Return an OLE container: an old format, or the wrapper of a newer, encrypted file."""
    name = "EncryptedPackage" if encrypted else "WordDocument"
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1_000) + name.encode("utf-16-le") + bytes(1_000)
