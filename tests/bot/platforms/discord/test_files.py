"""Attached files: text is read, never more than a piece of bounded size."""

import asyncio
from contextlib import aclosing

import pytest

from agent.providers.http import Http
from bot.platforms.discord.files import MAX_BYTES, read_text
from tests.fakes.model_server import CHUNKED, ModelServer, Reply, Wait, framed, head


async def read(content: bytes, content_type: str | None = "text/plain", status: int = 200) -> str | None:
    """What is read of such a file."""
    reply: Reply = [head(status, "text/plain", extra=f"content-length: {len(content)}\r\n"), content]
    async with ModelServer([reply]) as server, aclosing(Http(proxies=False)) as http:
        return await read_text(http, f"{server.url}/notes", content_type)


@pytest.mark.parametrize(
    "kind", ["text/plain; charset=utf-8", "TEXT/markdown", "application/json", None, "application/octet-stream"]
)
async def test_text_is_read(kind: str | None) -> None:
    assert await read("\ufeffDas Boot ist blau: 船".encode(), kind) == "Das Boot ist blau: 船"


@pytest.mark.parametrize("kind", ["image/png", "application/pdf", "video/mp4", "audio/ogg"])
async def test_other_kinds_are_not_even_asked_for(kind: str) -> None:
    assert await read(b"text", kind) is None


async def test_what_only_calls_itself_text_is_not() -> None:
    assert await read(b"a\0b") is None
    assert await read(b"\xff\xfe\x01", None) is None


async def test_text_in_another_encoding_is_read_as_far_as_it_goes() -> None:
    assert await read("Lübeck".encode("latin-1")) == "L\ufffdbeck"


async def test_a_file_that_cannot_be_had_is_none() -> None:
    assert await read(b"gone", status=404) is None


async def test_of_a_long_file_a_piece_is_read_and_the_rest_not_even_transferred() -> None:
    piece = "船".encode() * 333 + b"x"
    never = asyncio.Event()
    endless = [head(extra=CHUNKED), *[framed(piece)] * (MAX_BYTES // len(piece) + 2), Wait(never.wait)]
    async with asyncio.timeout(10), ModelServer([endless]) as server, aclosing(Http(proxies=False)) as http:
        text = await read_text(http, f"{server.url}/notes", None)
        await server.left.wait()
    assert text is not None
    assert text.endswith(("船…", "x…"))
    assert len(text.encode()) <= MAX_BYTES + 3


async def test_an_address_that_is_none_is_not_followed() -> None:
    async with aclosing(Http(proxies=False)) as http:
        assert await read_text(http, "file:///etc/passwd", "text/plain") is None
