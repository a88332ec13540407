"""The kind of a file by its name and type, and by its first bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.attachments.kinds import PICTURES, FileKind, announced, found, is_pdf, picture_type

BEGINNINGS = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/gif": b"GIF89a",
    "image/webp": b"RIFF\x10\x00\x00\x00WEBPVP8 ",
}


@pytest.mark.parametrize(
    ("name", "media_type", "kind"),
    [
        ("notes.md", "text/plain; charset=utf-8", FileKind.TEXT),
        ("table.csv", "application/vnd.ms-excel", FileKind.TEXT),  # as Windows announces it
        ("main.ts", "video/mp2t", FileKind.TEXT),
        ("data", "application/geo+json", FileKind.TEXT),
        ("Dockerfile", "application/octet-stream", FileKind.TEXT),
        ("drawing.svg", "image/svg+xml", FileKind.TEXT),
        ("boat.PNG", "image/png", FileKind.PICTURE),
        ("boat.jpg", "", FileKind.PICTURE),
        ("boat.heic", "image/heic", FileKind.OTHER),
        ("paper.pdf", "application/pdf", FileKind.PDF),
        ("paper.pdf", "", FileKind.PDF),
        ("voice-message.ogg", "audio/ogg", FileKind.SOUND),
        ("clip.m4a", "", FileKind.SOUND),
        ("song.ogg", "application/ogg", FileKind.SOUND),
        ("letter.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", FileKind.OFFICE),
        ("sheet.xls", "application/vnd.ms-excel", FileKind.OFFICE),
        ("film.mp4", "video/mp4", FileKind.OTHER),
        ("all.zip", "", FileKind.OTHER),
        ("thing", "application/octet-stream", None),
        ("", "", None),
    ],
)
def test_a_file_says_what_it_is_by_name_and_type(name: str, media_type: str, kind: FileKind | None) -> None:
    assert announced(name, media_type) is kind


@pytest.mark.parametrize("kind", sorted(PICTURES))
def test_a_picture_is_known_by_its_first_bytes(kind: str) -> None:
    data = BEGINNINGS[kind] + b"and so on"
    assert (picture_type(data), found(data)) == (kind, FileKind.PICTURE)


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"%PDF-1.7\n", FileKind.PDF),
        (b"OggS\0", FileKind.SOUND),
        (b"RIFF\0\0\0\0WAVEfmt ", FileKind.SOUND),
        (b"RIFF\0\0\0\0AVI ", FileKind.OTHER),
        (b"\0\0\0\x20ftypM4A ", FileKind.SOUND),
        (b"PK\x03\x04\x14\0", FileKind.OTHER),
        (b"\x7fELF\x02", FileKind.OTHER),
        (b"# a program that writes %PDF-1.7", None),
        (b"", None),
    ],
)
def test_other_files_are_known_by_their_first_bytes(start: bytes, kind: FileKind | None) -> None:
    assert found(start) is kind


def test_a_pdf_may_begin_with_a_little_of_something_else() -> None:
    assert is_pdf(b"\n" * 900 + b"%PDF-1.4")
    assert not is_pdf(b"\n" * 2_000 + b"%PDF-1.4")


@given(st.text(max_size=30), st.text(max_size=30), st.binary(max_size=40))
def test_any_file_has_a_kind_or_none(name: str, media_type: str, start: bytes) -> None:
    announced(name, media_type)
    found(start)
