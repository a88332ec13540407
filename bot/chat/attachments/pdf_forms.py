"""What a PDF holds beside the text of its pages: the values of forms, and notes that people wrote on it.

`page` and `reader` are those of pypdf. Whatever a hostile file makes it raise is the caller's.
"""

from collections.abc import Iterator
from typing import Any, Final, cast

MAX_ANNOTATIONS: Final = 2_000  # Of a page
MAX_VALUE_CHARS: Final = 10_000
MAX_PARENTS: Final = 20
MAX_FILES: Final = 10

# Annotations that people write, with what they are called.
NOTES: Final = {
    "/FreeText": "text box",
    "/Text": "note",
    "/Highlight": "note on highlighted text",
    "/Underline": "note on underlined text",
    "/StrikeOut": "note on struck text",
    "/Squiggly": "note on underlined text",
    "/Caret": "note",
    "/Square": "note",
    "/Circle": "note",
    "/Line": "note",
    "/Polygon": "note",
    "/PolyLine": "note",
    "/Ink": "note",
    "/Stamp": "stamp",
}
_PUSH_BUTTON: Final = 1 << 16
_PASSWORD: Final = 1 << 13
NOT_CHECKED: Final = "(not checked)"
HIDDEN: Final = "(a password, not read)"
SIGNED: Final = "(signed)"
XFA: Final = "(this PDF has an XFA form: only what its ordinary fields hold was read)"
FILES_INSIDE: Final = "(files inside the PDF were not read: {names})"


class PdfForms:
    """Reads page by page. A field that is on several pages is named once."""

    def __init__(self) -> None:
        self._named = set[str]()

    def lines(self, page: Any) -> Iterator[str]:  # noqa: ANN401 -- pypdf's, which is loaded late
        """Yield a line for each field that has a value, and for each note."""
        for annotation in _objects(page.get("/Annots")):
            subtype = str(annotation.get("/Subtype", ""))
            if subtype == "/Widget":
                yield from self._field(annotation)
            elif subtype in NOTES and (words := _text(annotation.get("/Contents"))):
                author = _text(annotation.get("/T"))
                yield f"[{NOTES[subtype]}{f' by {author}' if author else ''}] {words}"

    def _field(self, widget: Any) -> Iterator[str]:  # noqa: ANN401 -- pypdf's, which is loaded late
        chain = [*_chain(widget)]
        name = ".".join(filter(None, (_text(field.get("/T")) for field in reversed(chain))))
        if name in self._named:
            return
        kind = str(_inherited(chain, "/FT") or "")
        flags = _inherited(chain, "/Ff")
        value = _value(kind, flags if isinstance(flags, int) else 0, _inherited(chain, "/V"))
        value = _choices(_inherited(chain, "/Opt")).get(value, value)
        if value:
            self._named.add(name)
            yield f"[field] {_text(_inherited(chain, '/TU')) or name or 'without a name'}: {value}"

    @staticmethod
    def not_read(reader: Any) -> str:  # noqa: ANN401 -- pypdf's, which is loaded late
        """Return one line for each thing that is not read; "" for none."""
        lines = list[str]()
        form = reader.trailer["/Root"].get("/AcroForm")
        if form is not None and "/XFA" in form.get_object():
            lines.append(XFA)
        names = [*reader.attachments]
        if names:
            more = f" and {len(names) - MAX_FILES} more" if len(names) > MAX_FILES else ""
            lines.append(FILES_INSIDE.format(names=", ".join(name[:100] for name in names[:MAX_FILES]) + more))
        return "".join(f"\n{line}" for line in lines)


def _chain(field: Any) -> Iterator[Any]:  # noqa: ANN401 -- pypdf's, which is loaded late
    """Yield a field and those that it belongs to, from which it inherits."""
    for _ in range(MAX_PARENTS):
        yield field
        parent = field.get("/Parent")
        if parent is None:
            return
        field = parent.get_object()


def _inherited(chain: list[Any], key: str) -> Any:  # noqa: ANN401 -- pypdf's, which is loaded late
    values = (field.get(key) for field in chain)
    found = next((value for value in values if value is not None), None)
    return None if found is None else found.get_object()


def _choices(options: Any) -> dict[str, str]:  # noqa: ANN401 -- pypdf's, which is loaded late
    """Return what people see of each choice, by its stored value, where these differ."""
    pairs = map(_objects, _objects(options))
    return {_text(pair[0]): _text(pair[1]) for pair in pairs if len(pair) > 1}


def _objects(array: Any) -> list[Any]:  # noqa: ANN401 -- pypdf's, which is loaded late
    """Return the first objects of an array; none of anything else."""
    found = None if array is None else array.get_object()
    return [one.get_object() for one in cast("list[Any]", found)[:MAX_ANNOTATIONS]] if isinstance(found, list) else []


def _value(kind: str, flags: int, value: Any) -> str:  # noqa: ANN401 -- pypdf's, which is loaded late
    match kind:
        case "/Btn":
            if flags & _PUSH_BUTTON:
                return ""
            return NOT_CHECKED if value is None or str(value) == "/Off" else str(value).removeprefix("/")
        case "/Sig":
            return SIGNED if value is not None else ""
        case _ if flags & _PASSWORD and value is not None:
            return HIDDEN
        case _:
            return ", ".join(filter(None, map(_text, _objects(value) or [value])))


def _text(value: Any) -> str:  # noqa: ANN401 -- pypdf's, which is loaded late
    if value is None:
        return ""
    value = value.get_object() if hasattr(value, "get_object") else value
    if hasattr(value, "get_data"):  # a long text is a stream
        value = value.get_data().decode("utf-8", "replace")
    return " ".join(str(value)[:MAX_VALUE_CHARS].split())
