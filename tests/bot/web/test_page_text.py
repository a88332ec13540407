"""Web resources whose encoding nobody names."""

import pytest

from bot.chat.attachments.reader import Reader
from bot.chat.attachments.text_encoding import GUESSED
from bot.web.fetching import Fetched
from bot.web.page_text import PageReader
from tests.patience import PATIENCE_S

RUSSIAN = "Совещание состоится завтра в десять часов утра в головном офисе, и все материалы лежат в общей папке.\n"
JAPANESE = "会議は明日の午前十時から東京本社で行います。資料は共有フォルダーにあります。\n"


async def text_of(media_type: str, data: bytes) -> str:
    reader = PageReader(Reader(PATIENCE_S, niceness=0))
    return (await reader.read(Fetched("https://a.example/", media_type, data), "p")).text


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [(RUSSIAN, "koi8-r", "KOI8-R"), (JAPANESE, "cp932", "Shift JIS"), (JAPANESE, "euc_jp", "EUC-JP")],
)
@pytest.mark.parametrize("media_type", ["text/plain", "text/csv", ""])
async def test_a_text_in_a_local_encoding_is_read_and_the_guess_named(
    text: str, encoding: str, name: str, media_type: str
) -> None:
    assert await text_of(media_type, text.encode(encoding)) == f"{GUESSED.format(encoding=name)}\n{text}"


async def test_what_the_server_or_the_page_says_needs_no_guess() -> None:
    assert await text_of("text/plain; charset=windows-1251", RUSSIAN.encode("cp1251")) == RUSSIAN
    xml = f'<?xml version="1.0" encoding="windows-1251"?>\n<a>{RUSSIAN}</a>'
    assert await text_of("text/xml", xml.encode("cp1251")) == xml


@pytest.mark.slow
async def test_a_page_without_a_charset_is_read() -> None:
    page = f"<html><head><title>x</title></head><body><article><p>{RUSSIAN * 5}</p></article></body></html>"
    read = await text_of("text/html", page.encode("cp1251"))
    assert RUSSIAN.strip() in read
    assert read.startswith(GUESSED.format(encoding="Windows-1251"))
