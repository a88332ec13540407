"""The settings for reading the web and searching it."""

import re
from typing import Final

from bot.settings.parsers import web_address

_BACKENDS: Final = re.compile(r"[a-z_]{2,20}(,[a-z_]{2,20}){0,9}", re.ASCII)


def web_search(value: str) -> tuple[str, str] | None:
    """Parse the name of a search engine and its argument: the address of an instance, or the engines of ddgs."""
    name, _, argument = value.partition(":")
    match name.strip().lower(), argument.strip():
        case "off", "":
            return None
        case "searxng", address if address:
            return "searxng", web_address(address)
        case "brave" | "tavily" as engine, "":
            return engine, ""
        case "ddgs", backends if not backends or _BACKENDS.fullmatch(backends):
            return "ddgs", backends
        case _:
            raise ValueError(
                "must be searxng: and the address of an instance, as in searxng:https://search.example.com, or one of "
                "brave, tavily, ddgs and off"
            )


def header(value: str) -> str:
    """Parse a value for an HTTP header."""
    if not (value.isascii() and value.isprintable() and len(value) <= 200):
        raise ValueError("must be at most 200 characters of ASCII, as in Cogency/1 (+https://example.com/bot)")
    return value
