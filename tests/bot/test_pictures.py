"""Which pictures a model is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import Image
from bot import pictures

BEGINNINGS = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/gif": b"GIF89a",
    "image/webp": b"RIFF\x10\x00\x00\x00WEBPVP8 ",
}


@pytest.mark.parametrize("kind", sorted(pictures.MEDIA_TYPES))
def test_a_picture_is_known_by_its_first_bytes(kind: str) -> None:
    data = BEGINNINGS[kind] + b"and so on"
    assert pictures.is_picture(f"{kind.upper()}; name=x")
    assert pictures.picture(data) == Image(kind, data)


@pytest.mark.parametrize("announced", [None, "", "text/plain", "image/svg+xml", "image/heic", "application/pdf"])
def test_other_kinds_are_no_pictures(announced: str | None) -> None:
    assert not pictures.is_picture(announced)


def test_what_is_too_large_or_no_picture_at_all_is_refused_with_a_reason() -> None:
    whole = BEGINNINGS["image/png"].ljust(pictures.MAX_IMAGE_BYTES, b"\0")
    assert pictures.picture(whole) == Image("image/png", whole)
    assert pictures.picture(whole + b"\0") == pictures.TOO_LARGE
    assert pictures.picture(b"<html>") == pictures.NOT_A_PICTURE
    assert pictures.picture(b"") == pictures.NOT_A_PICTURE


@given(st.binary(max_size=40))
def test_any_bytes_are_a_picture_of_a_kind_that_models_take_or_a_reason(data: bytes) -> None:
    read = pictures.picture(data)
    assert isinstance(read, str) or (read.media_type in pictures.MEDIA_TYPES and read.data == data)


def test_a_file_that_is_not_read_is_named_with_kind_size_and_reason() -> None:
    assert pictures.not_read("application/zip; x", 1234, "why") == "(not read: why; application/zip, 1,234 bytes)"
    assert pictures.not_read(None, 0, "why") == "(not read: why; unknown kind, 0 bytes)"
