"""Decoding text files in common encodings."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.attachments.reading import charset_of, decode

WORDS = "Das Boot ist blau, „schön“.\n" * 20


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_text_is_read_in_any_common_encoding(encoding: str) -> None:
    assert decode(WORDS.encode(encoding)) == WORDS


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (codecs.BOM_UTF16_BE + "Лодка".encode("utf-16-be"), "Лодка"),
        ("Лодка синяя".encode("koi8-r"), "Лодка синяя"),
        ("ボートは青い".encode("shift_jis"), "ボートは青い"),
    ],
)
def test_what_is_announced_or_marked_is_believed_where_it_fits(data: bytes, text: str) -> None:
    charset = "" if data.startswith(codecs.BOM_UTF16_BE) else charset_of("text/plain; charset=shift_jis")
    assert decode(data, "koi8-r" if "Лодка" in text else charset) == text


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01\x02\x03" * 50,
        b"MZ\x90\x00\x03\x00\x00\x00" * 9,
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        bytes(range(256)) * 8,
        b"words and then a zero\0",
        b"\xff\xfe\x01",
    ],
)
def test_what_only_calls_itself_text_is_refused(data: bytes) -> None:
    assert decode(data) is None


def test_a_log_with_colours_and_a_form_feed_is_text() -> None:
    log = "\x1b[31mfailed\x1b[0m\n\x0cnext page\n"
    assert decode(log.encode()) == log


def test_a_character_that_was_cut_at_the_end_does_not_count() -> None:
    assert decode("船船".encode()[:-1], whole=False) == "船"


@pytest.mark.parametrize(
    ("media_type", "charset"),
    [
        ("text/plain; charset=ISO-8859-1", "iso8859-1"),
        ('text/plain; charset="utf-8"', "utf-8"),
        ("text/plain; charset=rot13", ""),
        ("text/plain; charset=unheard-of", ""),
        ("text/plain", ""),
    ],
)
def test_the_announced_charset_is_one_that_is_known(media_type: str, charset: str) -> None:
    assert charset_of(media_type) == charset


@given(st.text())
def test_whatever_is_written_in_utf_8_is_read_or_holds_what_no_text_holds(text: str) -> None:
    assert decode(text.encode()) in {text, None} or "\0" in text


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_text_without_zeros_or_none(data: bytes, whole: bool) -> None:
    text = decode(data, whole=whole)
    assert text is None or "\0" not in text
