"""PDFs, built byte by byte: valid ones and hostile ones."""

import zlib

_FONTS = b"<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"


def pdf(*pages: str, size: int = 0) -> bytes:
    """Return a PDF with these texts on its pages, at least `size` bytes long."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    kids = b" ".join(b"%d 0 R" % (3 + 2 * number) for number in range(len(pages)))
    objects.append(b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages)))
    for number, text in enumerate(pages):
        lines = b" T* ".join(b"(%s) Tj" % _literal(line) for line in text.split("\n"))
        content = b"BT /F1 12 Tf 14 TL 72 720 Td %s ET" % lines if text else b""
        about = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources %s /Contents %d 0 R >>"
        objects += [about % (_FONTS, 4 + 2 * number), stream(content)]
    return assembled(objects).ljust(size, b"\n")


def assembled(objects: list[bytes], trailer: bytes = b"") -> bytes:
    """Return these objects as a file, numbered from 1; the first is the catalog."""
    body = bytearray(b"%PDF-1.7\n")
    places: list[int] = []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    at = len(body)
    body += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    body += b"".join(b"%010d 00000 n \n" % place for place in places)
    body += b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, trailer, at)
    return bytes(body)


def stream(content: bytes, about: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), about, content)


def crowded(megabytes: int) -> bytes:
    """Its only page draws `megabytes` of words one by one."""
    content = b"BT /F1 12 Tf " + b"1 0 0 1 9 9 Tm (words) Tj " * (megabytes * 40_000) + b"ET"
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources %s /Contents 4 0 R >>" % _FONTS
    pages = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
    return assembled([b"<< /Type /Catalog /Pages 2 0 R >>", pages, page, stream(content)])


def bomb(megabytes: int) -> bytes:
    """Its only page decompresses to `megabytes` of drawing."""
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(b"0 0 m 1 1 l S " * 74_900) for _ in range(megabytes)) + packer.flush()
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>"
    pages = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
    return assembled([b"<< /Type /Catalog /Pages 2 0 R >>", pages, page, stream(packed, b"/Filter /FlateDecode")])


def nested(depth: int) -> bytes:
    """Its tree of pages is `depth` levels deep."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    objects += [
        b"<< /Type /Pages /Kids [%d 0 R] /Count 1 %s >>" % (number + 3, b"[" * 200 + b"]" * 200)
        for number in range(depth)
    ]
    objects.append(b"<< /Type /Page /MediaBox [0 0 1 1] /X " + b"[" * 20_000 + b"]" * 20_000 + b" >>")
    return assembled(objects)


def endless() -> bytes:
    """Its pages are their own children."""
    return assembled(
        [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2000000000 >>"]
    )


def locked() -> bytes:
    """It is encrypted with a password."""
    words = b"<" + b"ab" * 32 + b">"
    lock = b"/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O %s /U %s >> /ID [%s %s]"
    whole = pdf("secret")
    at = whole.index(b"/Root 1 0 R")
    return whole[:at] + lock % (words, words, words, words) + b" " + whole[at:]


def _literal(text: str) -> bytes:
    return text.encode("latin-1").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
