"""`web_fetch` and `web_search`: the tools by which a model reads the web, and the engines that search it for them;
and pages that people hand in.

Rules.
- Nothing is fetched but what a call or a person names; what the operator has not set is no tool.
- What comes back is data that others wrote. Of the public web whoever reads the place may read it; of the operator's
  own network the asker alone may, and nothing of it is remembered.
- What is fetched can be cited by the number that its result shows, and so can what a search found.
- Only the engine that the operator has named is asked, and it is told the words of the query alone. What it finds is
  bounded, and on one line each; an address that cannot be fetched is no result. A date stands where the engine gives
  one. What goes wrong is one sentence with what to do about it.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from typing import Any, Final, Protocol, cast
from urllib.parse import urlencode

from cachetools import TTLCache

from agent.citations import FETCH
from agent.errors import ToolError
from agent.memory.documents import Document
from agent.messages import Json, JsonObject, Reference, is_too_deep
from agent.ports import Clock, ToolContext, ToolEffect, ToolOutput
from agent.providers.http_client import Http, TransportError
from agent.tools.skill import pages
from bot.attachments.reader import Reader
from bot.attachments.reading import ReadDocument, ReadLink
from bot.texts import setup_texts
from bot.web.fetching import Fetcher, FetchLimits, KnownVersion, SystemResolver
from bot.web.guard import Networks, WebGuard, WebRefused, parse_target
from bot.web.page_text import PageReader, WebPage, plain_text

MAX_RESULTS: Final = 8  # About 1,000 tokens; more are further from what was asked than another query would be
MAX_QUERY_CHARS: Final = 400  # What Brave takes
MAX_TITLE_CHARS: Final = 120
MAX_SNIPPET_CHARS: Final = 320
MAX_DATE_CHARS: Final = 40
SEARCH_S: Final = 12.0  # A metasearch engine waits for its slowest part for some seconds
BRAVE: Final = "https://api.search.brave.com"
TAVILY: Final = "https://api.tavily.com"
JSON_TYPE: Final = "application/json"


class Recency(StrEnum):
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


@dataclass(frozen=True, slots=True)
class SearchResult:
    address: str
    title: str
    snippet: str = ""
    date: str = ""


class SearchEngine(Protocol):
    @property
    def name(self) -> str:
        """What people call it: "SearXNG"."""
        ...

    async def search(self, query: str, recency: Recency | None = None) -> list[SearchResult]:
        """The best first. Raises WebRefused with what can be done."""
        ...


@dataclass(frozen=True, slots=True)
class Searxng:
    """Any instance. Its operator has to let it answer in JSON."""

    address: str
    name: str = "SearXNG"

    async def search(self, query: str, recency: Recency | None = None) -> list[SearchResult]:
        asked = {"q": query, "format": "json", **({"time_range": recency.value} if recency else {})}
        problems = {403: setup_texts.SEARXNG_NO_JSON.format(address=self.address)}
        found = await _asked("GET", f"{self.address}/search?{urlencode(asked)}", {}, self.name, problems)
        results = results_of(found.get("results"), "content", "publishedDate")
        if not results and (silent := found.get("unresponsive_engines")):
            raise WebRefused(setup_texts.SEARXNG_SILENT.format(count=len(cast("list[object]", silent))), is_fault=True)
        return results


@dataclass(frozen=True, slots=True)
class Brave:
    key: str = field(repr=False)
    address: str = BRAVE
    name: str = "Brave"

    async def search(self, query: str, recency: Recency | None = None) -> list[SearchResult]:
        asked = {"q": query, "count": str(MAX_RESULTS), "text_decorations": "false"}
        more = {"freshness": f"p{recency[0]}"} if recency else {}
        url = f"{self.address}/res/v1/web/search?{urlencode({**asked, **more})}"
        headers = {"X-Subscription-Token": self.key}
        found = await _asked("GET", url, headers, self.name, _of_key("BRAVE_API_KEY"))
        web = found.get("web")
        listed = cast("dict[str, object]", web).get("results") if isinstance(web, dict) else None
        return results_of(listed, "description", "page_age")


@dataclass(frozen=True, slots=True)
class Tavily:
    key: str = field(repr=False)
    address: str = TAVILY
    name: str = "Tavily"

    async def search(self, query: str, recency: Recency | None = None) -> list[SearchResult]:
        asked = {"query": query, "max_results": MAX_RESULTS, **({"time_range": recency.value} if recency else {})}
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": JSON_TYPE}
        body = json.dumps(asked).encode()
        found = await _asked("POST", f"{self.address}/search", headers, self.name, _of_key("TAVILY_API_KEY"), body)
        return results_of(found.get("results"), "content", "published_date")


def _ddgs() -> Any:  # noqa: ANN401 -- imported where it is used
    return import_module("ddgs").DDGS(timeout=int(SEARCH_S))


class Ddgs:
    """Engines that are asked as a browser asks them, without a key: one query after the other, since the library is not
    safe side by side, also where somebody no longer waits for the one before. `library` makes what asks.
    """

    def __init__(self, backends: str = "duckduckgo", library: Callable[[], Any] = _ddgs) -> None:
        self.name = f"ddgs ({backends})"
        self._backends = backends
        self._library = library
        self._free = asyncio.Lock()
        self._asking = set[asyncio.Task[list[SearchResult]]]()

    async def search(self, query: str, recency: Recency | None = None) -> list[SearchResult]:
        task = asyncio.create_task(self._in_turn(query, recency))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)
        try:
            async with asyncio.timeout(SEARCH_S):
                return await asyncio.shield(task)
        except TimeoutError:
            raise WebRefused(setup_texts.SEARCH_LATE.format(name=self.name), is_fault=True) from None

    async def _in_turn(self, query: str, recency: Recency | None) -> list[SearchResult]:
        async with self._free:
            return await asyncio.to_thread(self._ask, query, None if recency is None else recency[0])

    def _ask(self, query: str, limit: str | None) -> list[SearchResult]:
        try:
            found = self._library().text(query, timelimit=limit, max_results=MAX_RESULTS, backend=self._backends)
        except Exception as error:  # noqa: BLE001 -- whatever a library that reads pages fails with
            if type(error).__name__ == "DDGSException" and "no results" in str(error).lower():
                return []
            raise WebRefused(setup_texts.SEARCH_BLOCKED.format(name=self.name), is_fault=True) from None
        return results_of([{**one, "url": one.get("href")} for one in found], "body", "")


def _of_key(setting: str) -> Mapping[int, str]:
    refused = setup_texts.SEARCH_KEY_REFUSED.format(setting=setting)
    spent = setup_texts.SEARCH_SPENT.format(setting=setting)
    return {401: refused, 403: refused, 402: spent, 432: spent, 433: spent}


async def _asked(
    method: str, url: str, headers: Mapping[str, str], name: str, problems: Mapping[int, str], body: bytes | None = None
) -> Mapping[str, object]:
    """The object that the engine answers with. `problems`: what its errors mean."""
    http = Http(proxies=True)
    try:
        async with (
            asyncio.timeout(SEARCH_S),
            http.request(method, url, {"Accept": JSON_TYPE, **headers}, body) as reply,
        ):
            status, content = reply.status, await reply.read()
    except TimeoutError:
        raise WebRefused(setup_texts.SEARCH_LATE.format(name=name), is_fault=True) from None
    except TransportError:
        raise WebRefused(setup_texts.SEARCH_UNREACHABLE.format(name=name), is_fault=True) from None
    finally:
        await http.aclose()
    if status in problems:
        raise WebRefused(problems[status])
    if status == 429:
        raise WebRefused(setup_texts.SEARCH_TOO_OFTEN.format(name=name), is_fault=True)
    found: object = None
    text = content.decode("utf-8", "replace")
    if 200 <= status < 300 and not is_too_deep(text):
        try:
            found = json.loads(text)
        except ValueError:
            found = None
    if not isinstance(found, dict):
        raise WebRefused(setup_texts.SEARCH_ODD.format(name=name, status=status), is_fault=True)
    return cast("dict[str, object]", found)


def results_of(listed: object, snippet: str, date: str) -> list[SearchResult]:
    """Of a list of objects, whatever it is; each address once."""
    results: dict[str, SearchResult] = {}
    entries: Iterable[object] = cast("list[object]", listed) if isinstance(listed, list) else ()
    for entry in entries:
        if len(results) == MAX_RESULTS:
            break
        if not isinstance(entry, dict):
            continue
        said = {key: value for key, value in cast("dict[str, object]", entry).items() if isinstance(value, str)}
        try:
            address = parse_target(said.get("url", "")).address
        except WebRefused:
            continue
        about, when = plain_text(said.get(snippet, ""), MAX_SNIPPET_CHARS), said.get(date, "")
        title = plain_text(said.get("title", ""), MAX_TITLE_CHARS)
        results.setdefault(address, SearchResult(address, title, about, plain_text(when, MAX_DATE_CHARS)))
    return list(results.values())


# The tools `web_fetch` and `web_search`, and pages that people hand in.

PAGE_CHARS: Final = 18_000  # What a result may hold, less what stands before it
# Long enough to read a page's second half, and to ask of it again; short enough that news are new.
CACHE_S: Final = 600.0
MAX_CACHED_CHARS: Final = 8_000_000  # Of all pages together

SEARCH: Final = "web_search"
FETCH_ABOUT: Final = (
    "Read a page, PDF or feed of the web, at an address from the conversation or from results. Cite what you use as "
    "[1], by the number that its result shows; the list of sources is added for you."
)
SEARCH_ABOUT: Final = (
    "Search the web, for what is new or you do not know. It finds titles, links and snippets: read a page before you "
    "rely on it. Cite as [1], by the numbers of its results."
)
FOUND: Final = "Found by {engine} for “{query}”:"
NOTHING_FOUND: Final = "{engine} found nothing for “{query}”. Other words may help."
PAGE_OF: Final = "Page {page} of {pages}; `page` reads the others."
UNREAD: Final = "{address} was not read: {why}."

_PROPERTIES: Final[dict[str, Json]] = {
    "url": {"type": "string", "minLength": 1},
    "page": {"type": "integer", "minimum": 1},
}


@dataclass(frozen=True, slots=True)
class WebFetchTool:
    fetcher: Fetcher
    reader: PageReader
    cache: "TTLCache[str, WebPage]"
    timeout_s: float
    name: str = FETCH
    description: str = FETCH_ABOUT
    effect: ToolEffect = ToolEffect.READS

    @property
    def schema(self) -> JsonObject:
        return {
            "type": "object",
            "properties": _PROPERTIES,
            "required": ["url"],
            "additionalProperties": False,
        }

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        page, number = await self._page(str(args["url"]), context), args.get("page", 1)
        cited = context.numbers.number(page.address)
        references = () if cited is None else (Reference(cited, page.address, page.title),)
        audience = None if page.is_own else context.place.audience
        whole = pages(page.text, PAGE_CHARS)
        if not isinstance(number, int) or not 1 <= number <= len(whole):
            raise ToolError(f"there is no page {number}: it has {len(whole)}", ours=True)
        more = PAGE_OF.format(page=number, pages=len(whole)) if len(whole) > 1 else ""
        shown = "" if cited is None else f"[{cited}] "
        head = filter(None, [f"{shown}{page.title}".strip(), page.address, page.note, more])
        text = "\n".join([*head, "", whole[number - 1]])
        return ToolOutput(text, parts=(page.image,) if page.image else (), audience=audience, references=references)

    async def _page(self, address: str, context: ToolContext) -> WebPage:
        if (known := self.cache.get(address)) is not None:
            return known
        try:
            fetched = await self.fetcher.fetch(
                address, lambda host: any(host in said.lower() for said in context.own_words)
            )
            page = await self.reader.read(fetched, context.person.id)
        except WebRefused as refused:
            raise ToolError(UNREAD.format(address=address[:200], why=refused), ours=True) from None
        if not page.is_own and page.image is None:
            self.cache[address] = page
        return page


_SEARCHED: Final[dict[str, Json]] = {
    "query": {"type": "string", "minLength": 1, "maxLength": MAX_QUERY_CHARS},
    "recent": {"enum": [*Recency], "description": "only what is newer than that"},
}


@dataclass(frozen=True, slots=True)
class WebSearchTool:
    engine: SearchEngine
    timeout_s: float
    name: str = SEARCH
    description: str = SEARCH_ABOUT
    effect: ToolEffect = ToolEffect.READS

    @property
    def schema(self) -> JsonObject:
        return {
            "type": "object",
            "properties": _SEARCHED,
            "required": ["query"],
            "additionalProperties": False,
        }

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        query, recent = " ".join(str(args["query"]).split()), args.get("recent")
        try:
            found = await self.engine.search(query, Recency(str(recent)) if recent else None)
        except WebRefused as refused:
            raise ToolError(str(refused), ours=True) from None
        references, lines = list[Reference](), list[str]()
        for one in found:
            number = context.numbers.number(one.address)
            references += [] if number is None else [Reference(number, one.address, one.title, is_read=False)]
            shown = one.title if number is None else f"[{number}] {one.title}"
            lines.append("\n".join(filter(None, [shown.strip(), one.address, one.date, one.snippet])))
        head = (FOUND if found else NOTHING_FOUND).format(engine=self.engine.name, query=query)
        text = "\n\n".join([head, *lines])
        return ToolOutput(text, audience=context.place.audience, references=tuple(references))


# Of a page that somebody hands in, as of a file: it comes by the line of whoever runs its site.
LINK_LIMITS: Final = FetchLimits(seconds=20.0, file_bytes=20_000_000)


@dataclass(frozen=True, slots=True)
class LinkReader:
    """Reads pages for places to know. Whoever hands in an address has named its host, as what it is then: no name of
    the public web leads into the operator's own network later.
    """

    fetcher: Fetcher
    reader: PageReader

    async def read(self, address: str, person: str, known: Document | None = None) -> ReadLink:
        """What lies there for this person (an id), if it is not `known`. It never raises."""
        page, version = (None, None) if known is None else (known.web, None)
        try:
            address = parse_target(address).address
            if known is not None and page is not None:
                version = KnownVersion(known.link, page.etag, page.modified)
            fetched = await self.fetcher.fetch(address, lambda _: page is None or page.is_own, version)
            if fetched.is_known:
                return ReadLink(address, link=fetched.address, is_known=True)
            read = await self.reader.document(fetched, person)
        except WebRefused as refused:
            return ReadLink(address, ReadDocument(why=str(refused)))
        return ReadLink(address, read, fetched.address, fetched.etag, fetched.modified, is_own=fetched.is_own)


def open_link_reader(networks: Networks, agent: str, clock: Clock, *, robots: bool) -> LinkReader:
    fetcher = Fetcher(WebGuard(networks), agent, clock, SystemResolver(), robots=robots, limits=LINK_LIMITS)
    return LinkReader(fetcher, PageReader(Reader()))


def open_web_fetch(networks: Networks, agent: str, clock: Clock, timeout_s: float, *, robots: bool) -> WebFetchTool:
    """`timeout_s`: of a call; most of it is for the fetching, the rest to read what came."""
    limits = FetchLimits(seconds=0.6 * timeout_s)
    fetcher = Fetcher(WebGuard(networks), agent, clock, SystemResolver(), robots=robots, limits=limits)
    return WebFetchTool(fetcher, PageReader(Reader()), page_cache(clock), timeout_s)


def page_cache(clock: Clock) -> "TTLCache[str, WebPage]":
    """Of public pages, by the addresses by which they were asked for; a picture has no second half to be read."""
    return TTLCache(MAX_CACHED_CHARS, CACHE_S, clock.monotonic, getsizeof=lambda page: 1_000 + len(page.text))
