"""The web, as a feature of the chat bot: reading pages and searching."""

import logging
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeAlias

from agent.errors import SettingsError
from agent.memory.documents import Document
from agent.ports.clock import Clock
from agent.ports.tools import Tool
from bot.chat.attachments.reader import missing
from bot.chat.attachments.reading import ReadLink
from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.settings.installation import command_for
from bot.web import texts as web_texts
from bot.web.settings import WebSettings

if TYPE_CHECKING:
    from bot.chat.network.connections import Route
    from bot.web.search_engines import SearchEngine

log = logging.getLogger(__name__)

ReadPage: TypeAlias = Callable[[str, str, Document | None], Awaitable[ReadLink]]


def feature(core: Core, settings: WebSettings) -> Feature:
    """Raises SettingsError if a library or a key is missing."""
    return Feature(name="web", tools=web_tools(settings, core.tool_timeout_s, core.clock))


def web_tools(settings: WebSettings, timeout_s: float, clock: Clock) -> tuple[Tool, ...]:
    """Return the web tools that are switched on. Raises SettingsError if a library for them is missing."""
    tools, engine = list[Tool](), search_engine(settings)
    if settings.reads_pages and missing("web"):
        raise SettingsError(web_texts.WEB_MISSING.format(command=command_for("web")))
    if not (settings.reads_pages or engine):
        return ()
    from bot.web.fetch_tool import open_web_fetch  # noqa: PLC0415 -- only who uses the web loads it
    from bot.web.search_tool import WebSearchTool  # noqa: PLC0415 -- only who uses the web loads it

    if engine is not None:
        tools.append(WebSearchTool(engine, timeout_s))
    if settings.reads_pages:
        networks, robots = settings.networks, settings.robots
        tools.append(open_web_fetch(networks, _agent(settings), clock, timeout_s, robots=robots, route=route(settings)))
    log.info("web: %s", ", ".join(tool.name for tool in tools))
    return tuple(tools)


def page_reader(settings: WebSettings, clock: Clock) -> ReadPage | None:
    """Return what reads web pages as documents of places; None if the web is switched off."""
    if not settings.reads_pages or missing("web"):
        return None
    from bot.web.link_reader import open_link_reader  # noqa: PLC0415 -- only who uses the web loads it

    networks, robots = settings.networks, settings.robots
    return open_link_reader(networks, _agent(settings), clock, robots=robots, route=route(settings)).read


def route(settings: WebSettings) -> "Route":
    """Return how addresses on the web are reached."""
    from agent.providers.http_client import proxy_for  # noqa: PLC0415 -- only who uses the web loads it
    from bot.chat.network.connections import Route  # noqa: PLC0415 -- only who uses the web loads it

    return Route(proxy_for, settings.proxy_resolves)


def _agent(settings: WebSettings) -> str:
    return settings.agent or web_texts.WEB_AGENT.format(version=version("cogency-bot"))


def search_engine(settings: WebSettings) -> "SearchEngine | None":
    """Return the search engine of the settings. Raises SettingsError if its key or library is missing."""
    if settings.search is None:
        return None
    from bot.web.search_engines import Brave, Ddgs, Searxng, Tavily  # noqa: PLC0415 -- only who uses the web loads it

    keys = {"brave": settings.brave_api_key, "tavily": settings.tavily_api_key}
    match settings.search:
        case "searxng", address:
            return Searxng(address)
        case "ddgs", backends:
            if find_spec("ddgs") is None:
                raise SettingsError(web_texts.DDGS_MISSING.format(command=command_for("ddgs")))
            return Ddgs(backends) if backends else Ddgs()
        case name, _:
            if (key := keys[name]) is None:
                wanted = f"{name.upper()}_API_KEY"
                raise SettingsError(web_texts.SEARCH_KEY_MISSING.format(engine=name, key=wanted))
            return Brave(key.reveal()) if name == "brave" else Tavily(key.reveal())
