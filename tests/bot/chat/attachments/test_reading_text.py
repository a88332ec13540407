"""Decoding text files in common encodings."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.attachments.text_encoding import DecodedText, charset_in_text, charset_of, declared_charset, decode
from tests.examples import is_thorough
from tests.fakes.text_samples import TextSample, text_samples

WORDS = "Das Boot ist blau, „schön“.\n" * 20


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "cp1252"]
)
def test_text_is_read_in_any_common_encoding(encoding: str) -> None:
    decoded = decode(WORDS.encode(encoding))
    assert decoded is not None
    assert decoded.text == WORDS


@pytest.mark.parametrize(
    ("encoding", "text", "name"),
    [
        ("iso2022_kr", "회의는 내일 오전 열 시에 있습니다.\n", "ISO-2022-KR"),
        ("iso2022_jp_ext", "ｶｲｷﾞは明日です。\n", "ISO-2022-JP"),
        ("cp855", "Уважаемые коллеги, встреча состоится завтра в десять часов утра в главном офисе.\n", "DOS 855"),
    ],
)
def test_older_encodings_are_recognised(encoding: str, text: str, name: str) -> None:
    assert decode((text * 3).encode(encoding)) == DecodedText(text * 3, name)


SAMPLES = text_samples()


def of_language(language: str) -> list[TextSample]:
    return [sample for sample in SAMPLES if sample.language == language]


@pytest.mark.slow
def test_a_local_encoding_is_recognised_or_the_guess_is_not_certain_and_nearly_every_guess_is_right() -> None:
    right = 0
    for sample in SAMPLES:
        decoded = decode(sample.data)
        assert decoded is not None, sample
        if decoded.text == sample.text:
            right += 1
        else:
            assert decoded.guess, sample
            assert not decoded.is_certain, sample
    assert right >= 0.97 * len(SAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("language", sorted({sample.language for sample in SAMPLES}))
def test_a_beginning_is_read_as_the_whole_is(language: str) -> None:
    for sample in of_language(language)[:: 4 if is_thorough() else 8]:
        data = (f"{sample.text}\n" * 100).encode(sample.encoding)
        whole, beginning = decode(data), decode(data[: len(data) // 4 * 2 - 1], whole=False)
        assert whole is not None
        assert beginning is not None
        assert whole.guess == beginning.guess
        assert whole.text.startswith(beginning.text)


def test_a_guess_is_named_and_one_that_is_not_certain_asks_for_the_persons_help() -> None:
    certain = decode("Дата;Магазин;Сумма\n11.08.2026;Пример;19,80\n".encode("cp1251"))
    assert certain is not None
    assert certain.with_note.startswith(
        "(the file does not say in which encoding it is: it was read as Windows-1251)\nДата"
    )
    doubtful = decode("naïve".encode("mac_roman"))
    assert doubtful is not None
    assert not doubtful.is_certain
    assert "ask for the encoding" in doubtful.note
    assert DecodedText("x").with_note == "x"


@pytest.mark.parametrize(
    ("page", "charset"),
    [
        (b'<html><head><meta charset="windows-1251">', "cp1251"),
        (b'<?xml version="1.0" encoding="koi8-r"?><a/>', "koi8-r"),
        (b"<p>no head</p>", ""),
    ],
)
def test_a_page_declares_its_charset(page: bytes, charset: str) -> None:
    assert declared_charset(page) == charset


@pytest.mark.parametrize(
    ("text", "charset"),
    [
        (b'<?xml version="1.0" encoding="ISO-8859-2"?><a/>', "iso8859-2"),
        (b'@charset "windows-1251";\nbody {}', "cp1251"),
        (b"# -*- coding: latin-1 -*-\nx = 1", "iso8859-1"),
        (b"#!/usr/bin/python\n# vim: set fileencoding=koi8-r :\n", "koi8-r"),
        (b"% !TeX encoding: x\n% coding: cp1250\n", "cp1250"),
        (b"# one\n# two\n# coding: cp1250\n", ""),
        (b"# coding: rot-13\n", ""),
        (b"encoding=utf-16 is a word of this text", ""),
    ],
)
def test_a_text_declares_its_charset_in_its_first_lines(text: bytes, charset: str) -> None:
    assert charset_in_text(text) == charset


def test_a_few_broken_characters_do_not_make_a_text_unreadable() -> None:
    text = "会議は明日の午前十時から東京本社で行います。" * 100
    data = text.encode("cp932")
    decoded = decode(data[:1_000] + b"\x81\x00"[:1] + data[1_000:])
    assert decoded is not None
    assert decoded.text.startswith("会議は明日の")


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
    assert decode(data, "koi8-r" if "Лодка" in text else charset) == DecodedText(text)


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
    assert decode(log.encode()) == DecodedText(log)


def test_a_character_that_was_cut_at_the_end_does_not_count() -> None:
    assert decode("船船".encode()[:-1], whole=False) == DecodedText("船")


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
    decoded = decode(text.encode())
    assert decoded is None or decoded.text == text or decoded.guess or text[:1] == "\ufeff"


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_text_without_zeros_or_none(data: bytes, whole: bool) -> None:
    decoded = decode(data, whole=whole)
    assert decoded is None or "\0" not in decoded.text
