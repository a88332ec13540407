"""The settings for reading the web and searching it."""

import re
from dataclasses import dataclass
from typing import Final

from bot.chat.network.guard import Networks, parse_networks
from bot.settings import parsers
from bot.settings.declaration import Section, secret_setting, setting
from bot.settings.parsers import web_address
from bot.settings.secret import Secret

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
                "must be brave, tavily, ddgs, off, or searxng: followed by an address, as in "
                "searxng:https://search.example.com"
            )


def header(value: str) -> str:
    """Parse a value for an HTTP header."""
    if not (value.isascii() and value.isprintable() and len(value) <= 200):
        raise ValueError("can have up to 200 ASCII characters, as in Cogency/1 (+https://example.com/bot)")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    """Reading and searching the web."""

    reads_pages: bool = setting(
        "COGENCY_WEB",
        parsers.switch,
        default=False,
        section=Section.WEB,
        description=(
            'Read web pages, PDFs, and feeds when someone asks (docs/web.md): on or off. Needs the "web" extra. '
            "Default: off."
        ),
        example="on",
    )
    """Off by default: requests to other people's servers are the operator's decision."""
    agent: str = setting(
        "COGENCY_WEB_AGENT",
        header,
        "",
        section=Section.WEB,
        description="The User-Agent that the bot sends. Default: the bot's name, version, and purpose.",
        example='"Cogency/1 (+https://example.com/bot)"',
    )
    """"": the bot's name, version and kind."""
    robots: bool = setting(
        "COGENCY_WEB_ROBOTS",
        parsers.switch,
        default=True,
        section=Section.WEB,
        description="Respect robots.txt: on or off.",
    )
    proxy_resolves: bool = setting(
        "COGENCY_WEB_PROXY_RESOLVES",
        parsers.switch,
        default=False,
        section=Section.WEB,
        description=(
            "Let the proxy resolve the host names of web pages (docs/proxy.md): on or off. Turn this on if this "
            "machine's DNS cannot resolve public names. The proxy must then refuse addresses in your own network."
        ),
    )
    """Off by default: with it, the bot cannot check where the proxy connects to."""
    search: tuple[str, str] | None = setting(
        "COGENCY_WEB_SEARCH",
        web_search,
        None,
        section=Section.WEB,
        description=(
            "The search engine that the bot uses (docs/web.md): brave, tavily, ddgs (needs the "
            '"ddgs" extra, but no key), or searxng: followed by an address. The engine receives the search queries. '
            "Default: off."
        ),
        example="searxng:https://search.example.com",
    )
    """The engine and its argument; None: no web search. There is no default: the engine learns the questions."""
    brave_api_key: Secret | None = secret_setting(
        "BRAVE_API_KEY",
        section=Section.WEB,
        description="The API key for Brave Search. The plan must allow use with AI.",
    )
    tavily_api_key: Secret | None = secret_setting(
        "TAVILY_API_KEY",
        section=Section.WEB,
        description="The API key for Tavily.",
    )
    networks: Networks = setting(
        "COGENCY_NETWORKS_ALLOWED",
        parse_networks,
        Networks(),
        section=Section.WEB,
        description=(
            "Private addresses that the bot can read and that can receive outgoing webhooks, in addition to the public "
            "web: address ranges, hosts, and hosts with ports, separated by commas. With COGENCY_WEB=on, anyone who "
            "can use the bot can ask it to read them. Default: nothing."
        ),
        example="10.0.0.0/8,wiki.example.com,192.168.1.7:3000",
    )
