"""What in a file of code calls an address, or runs, when somebody opens the file. Pure.

Why: code may put what it was given to read into the address of a picture, and the program that opens the file would
send it there. A link that somebody has to click is none.

Rules
  What is known to be quiet is allowed, and nothing else: an element, an attribute or a part that is not listed is a
  problem. A page also gets a policy (CSP) that forbids browsers what these rules may have missed.
  XML is read as a stream, without document types of its own, so that it cannot define what it seems not to hold.
  Each function returns what to leave out, for the model; "" if there is nothing.
"""

import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias
from xml.parsers import expat

from agent.messages import read_references
from bot.chat.attachments.office_package import DAMAGED, OfficePackage, PartReader

POLICY: Final = (
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
    "img-src data:; font-src data:; form-action 'none'; base-uri 'none'\">\n"
    # Else a browser looks up the hosts of links that nobody has clicked, and a host may hold data.
    '<meta http-equiv="x-dns-prefetch-control" content="off">\n'
)
_DOCTYPE: Final = re.compile(r"\s*<!doctype[^>]{0,300}>\n?", re.IGNORECASE)
_QUIET_PICTURE: Final = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,", re.IGNORECASE)
_CLICKED: Final = re.compile(r"(?:#|https?://|mailto:)", re.IGNORECASE)
_SCHEME: Final = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:|//|\\\\|/\\|\\/)", re.IGNORECASE)

PICTURE: Final = "pictures that are not embedded as data:image/png;base64"
STYLE: Final = "addresses, imports and escapes in styles"
HANDLER: Final = "scripts and event handlers"
ATTRIBUTE: Final = "the attribute {name}"
ELEMENT: Final = "the element {name}"
NOT_XML: Final = "content that is not well-formed XML in UTF-8"
DOCTYPE: Final = "a document type with definitions"
INSTRUCTION: Final = "processing instructions"

# Pages

_SHAPES: Final = """
svg g path rect circle ellipse line polyline polygon text tspan textpath title desc defs clippath mask pattern marker
symbol lineargradient radialgradient stop style metadata
"""
_PAGE: Final = """
html head body title meta style table thead tbody tfoot tr th td caption colgroup col div span p br hr h1 h2 h3 h4 h5 h6
ul ol li dl dt dd b i u s em strong small sub sup code pre blockquote q abbr mark kbd samp var time figure
figcaption img a header footer main section article aside nav details summary del ins center font big tt wbr address
bdi bdo ruby rt rp progress meter label doctype
"""
_SVG_SHAPES: Final = frozenset(_SHAPES.split())
_PAGE_ELEMENTS: Final = _SVG_SHAPES.union(_PAGE.split())
_TAG: Final = re.compile(r"<[/!]?\s*([a-z][^\s/>]{0,100})", re.IGNORECASE)
_EVENT: Final = re.compile(r"[\s\"'/]on[a-z]{2,40}\s*=", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(
    r"[\s\"'/](src|href|srcset|background|ping|http-equiv|xlink:href|style)\s*=\s*(\"[^\"]*|'[^']*|[^\s>]*)",
    re.IGNORECASE,
)
_STYLE_ELEMENT: Final = re.compile(r"<style\b", re.IGNORECASE)
_STYLE_END: Final = re.compile(r"</style", re.IGNORECASE)
_LOADS: Final = re.compile(r"@import|expression\s*\(|behavior|-moz-binding|\b(?:image-set|image|src|cross-fade)\s*\(")
_URL: Final = re.compile(r"url\s*\(\s*[\"']?\s*(?!#|data:image/|data:font/|data:application/font)")


def with_policy(page: str) -> str:
    """Return a page whose browser loads nothing for it and runs nothing of it."""
    start = match.end() if (match := _DOCTYPE.match(page)) else 0
    return f"{page[:start]}{POLICY}{page[start:]}"


def in_page(page: str) -> str:
    """Check HTML, wherever in it a tag seems to stand: a browser may see one where a parser sees a text."""
    for tag in _TAG.finditer(page):
        if (name := tag[1].lower()) not in _PAGE_ELEMENTS:
            return HANDLER if name == "script" else ELEMENT.format(name=name)
    if _EVENT.search(page):
        return HANDLER
    for name, quoted in _ATTRIBUTE.findall(page):
        if problem := _in_attribute(name.lower(), read_references(quoted.lstrip("\"'")).strip()):
            return problem
    return next((problem for style in _styles(page) if (problem := in_style(style))), "")


def _in_attribute(name: str, value: str) -> str:
    match name:
        case "src":
            return "" if _QUIET_PICTURE.match(value) else PICTURE
        case "href":
            return "" if _CLICKED.match(value) else ATTRIBUTE.format(name=name)
        case "style":
            return in_style(value)
        case _:
            return ATTRIBUTE.format(name=name)


def _styles(page: str) -> Iterator[str]:
    position = 0
    while begin := _STYLE_ELEMENT.search(page, position):
        end = _STYLE_END.search(page, begin.end())
        position = end.end() if end else len(page)
        yield page[begin.end() : position]


def in_style(style: str) -> str:
    plain = read_references(style).lower()
    return STYLE if "\\" in plain or _LOADS.search(plain) or _URL.search(plain) else ""


# Markdown, whose viewers load pictures, and show HTML

# Where a picture's address begins that leads out of the file's folder, as a browser reads it: also "https:/a.example".
_ADDRESS: Final = r"<?\s*+(?!data:image/(?:png|jpeg|gif|webp);base64,|mailto:)(?:[a-z][a-z0-9+.-]*:(?=\S)|[/\\]{2})"
# An address may be on the next line, also of a quotation.
_REMOTE: Final = re.compile(rf"\]\([\s>]*+{_ADDRESS}", re.IGNORECASE)
_REFERENCE: Final = re.compile(rf"\]:[\s>]*+{_ADDRESS}", re.IGNORECASE)
# Browsers leave them out of an address, wherever they stand.
_BREAKS: Final = re.compile(r"\t|&(?:newline|tab|#0{0,9}(?:9|10|13)|#x0{0,9}[9ad])\b;?", re.IGNORECASE)
_ESCAPED: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_LOADING_TAG: Final = re.compile(
    r"<(script|img|iframe|frame|object|embed|link|base|meta|video|audio|source|track|svg|image|use|style|input|form|"
    r"body|table|td|portal)\b",
    re.IGNORECASE,
)
_SOME_TAG: Final = re.compile(r"<(?:(pre|textarea)\b|[a-z])", re.IGNORECASE)


def in_markdown(text: str) -> str:
    """Check Markdown as any viewer may read it, so that code in it counts, too."""
    if tag := _LOADING_TAG.search(text):
        return ELEMENT.format(name=tag[1].lower())
    if problem := next((problem for html in _html_in(text) if (problem := _in_html(html))), ""):
        return problem
    if "![" not in text:
        return ""
    plain = read_references(_BREAKS.sub("", text))
    return PICTURE if any(map(_loads_picture, (plain, _ESCAPED.sub(r"\1", plain)))) else ""


def _html_in(text: str) -> Iterator[str]:
    """Yield what may be HTML: from a tag to the end of its paragraph, or of the file for elements that may go on so."""
    position = 0
    while begin := _SOME_TAG.search(text, position):
        end = -1 if begin[1] else text.find("\n\n", begin.end())
        position = end if end >= 0 else len(text)
        yield text[begin.start() : position]


def _in_html(html: str) -> str:
    if _EVENT.search(html):
        return HANDLER
    for name, quoted in _ATTRIBUTE.findall(html):
        value = read_references(quoted.lstrip("\"'")).strip()
        is_in_folder = name.lower() == "href" and _SCHEME.match(value) is None
        if not is_in_folder and (problem := _in_attribute(name.lower(), value)):
            return problem
    return ""


def _loads_picture(text: str) -> bool:
    if _REFERENCE.search(text):
        return True
    for paragraph in text.split("\n\n"):  # a link below a picture counts as one: brackets may be nested
        if (start := paragraph.find("![")) >= 0 and _REMOTE.search(paragraph, start):
            return True
    return False


# XML

_SVG: Final = "http://www.w3.org/2000/svg"
_XLINK_HREF: Final = "http://www.w3.org/1999/xlink href"
# Of the description of a picture that matplotlib writes.
_DESCRIBING: Final = (
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://creativecommons.org/ns#",
    "http://web.resource.org/cc/",
    "http://purl.org/dc/elements/1.1/",
)
_SHOWN_BY_BROWSERS: Final = (_SVG, "http://www.w3.org/1999/xhtml", "http://www.w3.org/1999/XSL/Transform")


_Begin: TypeAlias = Callable[[str, dict[str, str]], None]
_Text: TypeAlias = Callable[[str], None]


class _Problem(Exception):
    pass


def _ignore(_: str) -> None:
    pass


def in_picture(text: str) -> str:
    """Check an SVG picture."""
    styles = list[str]()

    def begin(name: str, attributes: Mapping[str, str]) -> None:
        space, _, element = name.rpartition(" ")
        styles.append("")
        if space in _DESCRIBING:
            return
        if space != _SVG or element.lower() not in _SVG_SHAPES | {"use", "image", "a"}:
            raise _Problem(HANDLER if element == "script" else ELEMENT.format(name=element))
        for key, value in attributes.items():
            if problem := _in_picture_attribute(element, key, value.strip()):
                raise _Problem(problem)

    def characters(content: str) -> None:
        styles[-1] += content

    def end(name: str) -> None:
        if (problem := in_style(styles.pop())) and name == f"{_SVG} style":
            raise _Problem(problem)

    return _in_xml(text, begin, end, characters, with_doctype=True)


def _in_picture_attribute(element: str, key: str, value: str) -> str:
    if key in {"href", _XLINK_HREF}:
        quiet = value.startswith("#") or (element == "image" and _QUIET_PICTURE.match(value))
        return "" if quiet or (element == "a" and _CLICKED.match(value)) else PICTURE
    if key.lower().startswith("on"):
        return HANDLER
    if key.endswith(" base"):
        return ATTRIBUTE.format(name="xml:base")
    return in_style(value) if "(" in value or "\\" in value else ""


def in_xml(text: str) -> str:
    """Check XML that is data: a browser shows some kinds as pages, and Office opens some as documents."""

    def begin(name: str, attributes: Mapping[str, str]) -> None:  # noqa: ARG001 -- whatever they are
        space, _, element = name.rpartition(" ")
        if space in _SHOWN_BY_BROWSERS:
            raise _Problem(ELEMENT.format(name=element))

    return _in_xml(text, begin)


def _in_xml(
    text: str,
    begin: _Begin,
    end: _Text = _ignore,
    characters: _Text = _ignore,
    *,
    with_doctype: bool = False,
) -> str:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True

    def declared(version: str, encoding: str | None, standalone: int) -> None:  # noqa: ARG001 -- expat's
        if (encoding or "utf-8").lower() not in {"utf-8", "utf8", "us-ascii"}:
            raise _Problem(NOT_XML)

    def doctype(name: str, system: str | None, public: str | None, has_subset: int) -> None:  # noqa: ARG001 -- expat's
        if has_subset or not with_doctype:
            raise _Problem(DOCTYPE)

    def instruction(target: str, data: str) -> None:  # noqa: ARG001 -- expat's
        raise _Problem(INSTRUCTION)

    parser.XmlDeclHandler, parser.StartDoctypeDeclHandler = declared, doctype
    parser.ProcessingInstructionHandler = instruction
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = begin, end, characters
    try:
        parser.Parse(text.encode(), True)  # noqa: FBT003 -- expat takes no names
    except _Problem as problem:
        return str(problem)
    except expat.ExpatError:
        return NOT_XML
    return ""


# PDF

_PDF_NAME: Final = re.compile(rb"/(?:[A-Za-z0-9]|#[0-9A-Fa-f]{2}){1,40}")
_PDF_HEX: Final = re.compile(rb"#([0-9A-Fa-f]{2})")
# What acts by itself or reaches out of the file, and what could hide that: compressed objects, encryption.
_PDF_ACTS: Final = frozenset(
    b"/AA /OpenAction /JavaScript /JS /Launch /SubmitForm /ImportData /GoToR /GoToE /RichMedia /EmbeddedFile /XFA "
    b"/Rendition /Movie /ObjStm /Encrypt /FFilter /URL /OPI".split()
)


def in_pdf(data: bytes) -> str:
    for match in _PDF_NAME.finditer(data):
        name = _PDF_HEX.sub(lambda each: bytes([int(each[1], 16)]), match[0])
        if name in _PDF_ACTS:
            return ELEMENT.format(name=name.decode("ascii"))
    return ""


# Office

_READ_PARTS: Final = (".xml", ".rels", ".vml", ".psmdcp")
_QUIET_PARTS: Final = (
    *(".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".emf", ".wmf", ".wdp", ".ttf", ".odttf", ".fntdata"),
)
_PRINTER: Final = re.compile(r"[a-z]+/printersettings/[^/]+\.bin")
_LOADING_FOLDERS: Final = re.compile(
    r"(?:^|/)(?:embeddings|activex|externallinks|macrosheets|customui|querytables|webextensions|ctrlprops)/|"
    r"(?:^|/)(?:connections|vbadata)\.xml$"
)
_LOADING_RELATIONS: Final = frozenset(
    {"oleObject", "package", "aFChunk", "attachedTemplate", "frame", "subDocument", "externalLink", "externalLinkPath"}
)
_LOADING_ELEMENTS: Final = frozenset(
    {"ddeLink", "oleLink", "webPr", "dbPr", "altChunk", "control", "oleObject", "OLEObject", "webImageSrd"}
)
_FORMULAS: Final = frozenset(
    {"f", "formula", "formula1", "formula2", "definedName", "calculatedColumnFormula", "totalsRowFormula"}
)
# DDE ("cmd|'/c calc'!A1"), other workbooks ("[1]Sheet1!A1", "'\\host\x.xlsx'!A1"), functions that fetch or call, those
# of Google Sheets and LibreOffice, too.
_CALLING_FORMULA: Final = re.compile(
    r"\|[^\"|]{0,300}!|://|\\|\[\d+\]|\b(?:webservice|filterxml|image|rtd|call|register(?:\.id)?|exec|encodeurl|hyperlink|dde"
    r"|import(?:data|feed|html|range|xml))\s*\(",
    re.IGNORECASE,
)
_CALLING_FIELD: Final = re.compile(r"DDE|INCLUDE|IMPORT|(?<!HYPER)LINK|DATABASE", re.IGNORECASE)
EMBEDDED: Final = "the part {name}"
RELATION: Final = "the relationship to {kind}"
FORMULA: Final = "formulas that use URLs, programs or other workbooks"
FIELD: Final = "fields that include or link to other files"


class _OfficeReader(PartReader):
    def __init__(self) -> None:
        self._open = 0  # Elements with a formula that are open
        self._formula = list[str]()
        self._fields = list[str]()
        self._in_field = False

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in _LOADING_ELEMENTS:
            raise _Problem(ELEMENT.format(name=tag))
        if tag == "Relationship":
            self._relation(attributes)
        for name in ("src", "href"):
            if _SCHEME.match(attributes.get(name, "")):
                raise _Problem(ATTRIBUTE.format(name=name))
        if "ppaction://macro" in attributes.get("action", "") or "ppaction://program" in attributes.get("action", ""):
            raise _Problem(ATTRIBUTE.format(name="action"))
        self._open += tag in _FORMULAS
        self._in_field = tag == "instrText"
        self._fields.append(attributes.get("instr", ""))

    def end(self, tag: str) -> None:
        self._in_field = False
        if tag in _FORMULAS:
            self._open -= 1
            if _CALLING_FORMULA.search("".join(self._formula)):
                raise _Problem(FORMULA)
            self._formula.clear()

    def characters(self, text: str) -> None:
        if self._open:
            self._formula.append(text)
        if self._in_field:
            self._fields.append(text)

    def finish(self) -> None:
        """Fields may be cut anywhere, so all of a part are read as one text."""
        if _CALLING_FIELD.search("".join(self._fields)):
            raise _Problem(FIELD)

    def _relation(self, attributes: Mapping[str, str]) -> None:
        kind = attributes.get("Type", "").rpartition("/")[2]
        target = attributes.get("Target", "")
        is_outside = attributes.get("TargetMode", "").strip().lower() == "external" or _SCHEME.match(target)
        is_link = kind == "hyperlink" and _CLICKED.match(target.strip())
        if kind in _LOADING_RELATIONS or (is_outside and not is_link):
            raise _Problem(RELATION.format(kind=kind[:40]))


def in_office(package: zipfile.ZipFile) -> str | None:
    """Check an office document, whose parts declare a bounded size. None: it is damaged, or has a part twice."""
    names = [name.replace("\\", "/").lower().lstrip("/") for name in package.namelist() if not name.endswith("/")]
    if len({*names}) < len(names):
        return None
    parts = OfficePackage(package)
    for name in names:
        if _LOADING_FOLDERS.search(name) or not (
            name.endswith((*_READ_PARTS, *_QUIET_PARTS)) or _PRINTER.fullmatch(name)
        ):
            return EMBEDDED.format(name=name[:80])
        if not name.endswith(_READ_PARTS):
            continue
        reader = _OfficeReader()
        try:
            parts.read(name, reader)
            reader.finish()
        except _Problem as problem:
            return str(problem)
        except DAMAGED:
            return None
    return ""
