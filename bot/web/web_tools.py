"""The tools `web_fetch` and `web_search`, the search engines, and the reader of web pages that people add to places.

Rules.
- Only addresses that a call or a person names are fetched. A tool that the operator has not enabled does not exist.
- Results are data written by others. Results of the public web may be read by everybody at the place; those of the
  operator's own network only by the asker, and they are not remembered.
- Fetched pages and search results can be cited by the number that the result shows.
- Only the configured search engine is called, and it receives nothing but the query. Its results are bounded, each
  field on one line; an address that cannot be fetched is dropped. A date is shown if the engine gives one. An error is
  one sentence with its remedy.
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
from agent.ports.clock import Clock
from agent.ports.tools import ToolContext, ToolEffect, ToolOutput
from agent.providers.http_client import Http, TransportError, Untrusted
from agent.tools.skill import split_pages
from bot.chat.attachments.reader import Reader
from bot.chat.attachments.reading import ReadDocument, ReadLink
from bot.web import texts as web_texts
from bot.web.fetching import Fetcher, FetchLimits, KnownVersion, SystemResolver
from bot.web.guard import Networks, WebGuard, WebRefused, parse_target
from bot.web.page_text import PageReader, WebPage, plain_text

MAX_RESULTS: Final = 8  # About 1,000 tokens; a second query helps more than further results
MAX_QUERY_CHARS: Final = 400  # Brave's limit
MAX_TITLE_CHARS: Final = 120
MAX_SNIPPET_CHARS: Final = 320
MAX_DATE_CHARS: Final = 40
SEARCH_S: Final = 12.0  # A metasearch engine waits some seconds for its slowest engine
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
        """The name as people write it: "SearXNG"."""
        ...

    async def search(self, query: str, recency: Recency | None = None) -> list[SearchResult]:
        """Return results, the best first. Raises WebRefused with the remedy."""
        ...


@dataclass(frozen=True, slots=True)
class Searxng:
    """Any instance of SearXNG. Its operator has to enable the JSON format."""

    address: str
    name: str = "SearXNG"

    async def search(self, query: str, recency: Recency | None = None) -> list[SearchResult]:
        parameters = {"q": query, "format": "json", **({"time_range": recency.value} if recency else {})}
        problems = {403: web_texts.SEARXNG_NO_JSON.format(address=self.address)}
        answer = await _call("GET", f"{self.address}/search?{urlencode(parameters)}", {}, self.name, problems)
        results = results_of(answer.get("results"), "content", "publishedDate")
        if not results and (silent := answer.get("unresponsive_engines")):
            raise WebRefused(web_texts.SEARXNG_SILENT.format(count=len(cast("list[object]", silent))), is_fault=True)
        return results


@dataclass(frozen=True, slots=True)
class Brave:
    key: str = field(repr=False)
    address: str = BRAVE
    name: str = "Brave"

    async def search(self, query: str, recency: Recency | None = None) -> list[SearchResult]:
        parameters = {"q": query, "count": str(MAX_RESULTS), "text_decorations": "false"}
        recency_parameters = {"freshness": f"p{recency[0]}"} if recency else {}
        url = f"{self.address}/res/v1/web/search?{urlencode({**parameters, **recency_parameters})}"
        headers = {"X-Subscription-Token": self.key}
        answer = await _call("GET", url, headers, self.name, _key_problems("BRAVE_API_KEY"))
        web = answer.get("web")
        entries = cast("dict[str, object]", web).get("results") if isinstance(web, dict) else None
        return results_of(entries, "description", "page_age")


@dataclass(frozen=True, slots=True)
class Tavily:
    key: str = field(repr=False)
    address: str = TAVILY
    name: str = "Tavily"

    async def search(self, query: str, recency: Recency | None = None) -> list[SearchResult]:
        asked = {"query": query, "max_results": MAX_RESULTS, **({"time_range": recency.value} if recency else {})}
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": JSON_TYPE}
        body = json.dumps(asked).encode()
        answer = await _call(
            "POST", f"{self.address}/search", headers, self.name, _key_problems("TAVILY_API_KEY"), body
        )
        return results_of(answer.get("results"), "content", "published_date")


def _ddgs() -> Any:  # noqa: ANN401 -- imported where it is used
    return import_module("ddgs").DDGS(timeout=int(SEARCH_S))


class Ddgs:
    """Search engines called as by a browser, without a key. The library is not thread-safe, so queries run one at a
    time, even after a caller has given up on an earlier one. `library`: creates its client.
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
            raise WebRefused(web_texts.SEARCH_LATE.format(name=self.name), is_fault=True) from None

    async def _in_turn(self, query: str, recency: Recency | None) -> list[SearchResult]:
        async with self._free:
            return await asyncio.to_thread(self._ask, query, None if recency is None else recency[0])

    def _ask(self, query: str, limit: str | None) -> list[SearchResult]:
        try:
            rows = self._library().text(query, timelimit=limit, max_results=MAX_RESULTS, backend=self._backends)
        except Exception as error:  # noqa: BLE001 -- a library that scrapes pages may raise anything
            if type(error).__name__ == "DDGSException" and "no results" in str(error).lower():
                return []
            raise WebRefused(web_texts.SEARCH_BLOCKED.format(name=self.name), is_fault=True) from None
        return results_of([{**row, "url": row.get("href")} for row in rows], "body", "")


def _key_problems(setting: str) -> Mapping[int, str]:
    refused = web_texts.SEARCH_KEY_REFUSED.format(setting=setting)
    used_up = web_texts.SEARCH_SPENT.format(setting=setting)
    return {401: refused, 403: refused, 402: used_up, 432: used_up, 433: used_up}


async def _call(
    method: str, url: str, headers: Mapping[str, str], name: str, problems: Mapping[int, str], body: bytes | None = None
) -> Mapping[str, object]:
    """Send a request and return the engine's JSON object. `problems`: error sentences by HTTP status."""
    http = Http(proxies=True)
    try:
        async with (
            asyncio.timeout(SEARCH_S),
            http.request(method, url, {"Accept": JSON_TYPE, **headers}, body) as reply,
        ):
            status, content = reply.status, await reply.read()
    except TimeoutError:
        raise WebRefused(web_texts.SEARCH_LATE.format(name=name), is_fault=True) from None
    except Untrusted:
        raise WebRefused(web_texts.SEARCH_NOT_TRUSTED.format(name=name), is_fault=True) from None
    except TransportError:
        raise WebRefused(web_texts.SEARCH_UNREACHABLE.format(name=name), is_fault=True) from None
    finally:
        await http.aclose()
    if status in problems:
        raise WebRefused(problems[status])
    if status == 429:
        raise WebRefused(web_texts.SEARCH_TOO_OFTEN.format(name=name), is_fault=True)
    answer: object = None
    text = content.decode("utf-8", "replace")
    if 200 <= status < 300 and not is_too_deep(text):
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
    if not isinstance(answer, dict):
        raise WebRefused(web_texts.SEARCH_ODD.format(name=name, status=status), is_fault=True)
    return cast("dict[str, object]", answer)


def results_of(rows: object, snippet: str, date: str) -> list[SearchResult]:
    """Read results from an untrusted list of objects; each address once. `snippet`, `date`: the names of the fields."""
    results: dict[str, SearchResult] = {}
    entries: Iterable[object] = cast("list[object]", rows) if isinstance(rows, list) else ()
    for entry in entries:
        if len(results) == MAX_RESULTS:
            break
        if not isinstance(entry, dict):
            continue
        fields = {key: value for key, value in cast("dict[str, object]", entry).items() if isinstance(value, str)}
        try:
            address = parse_target(fields.get("url", "")).address
        except WebRefused:
            continue
        text, when = plain_text(fields.get(snippet, ""), MAX_SNIPPET_CHARS), fields.get(date, "")
        title = plain_text(fields.get("title", ""), MAX_TITLE_CHARS)
        results.setdefault(address, SearchResult(address, title, text, plain_text(when, MAX_DATE_CHARS)))
    return list(results.values())


# The tools `web_fetch` and `web_search`, and pages that people add to places.

PAGE_CHARS: Final = 18_000  # The limit of a result, less its heading
# Long enough to read a page's second half or to ask about it again; short enough for news.
CACHE_S: Final = 600.0
MAX_CACHED_CHARS: Final = 8_000_000  # In all pages together

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
        citation = context.numbers.number(page.address)
        references = () if citation is None else (Reference(citation, page.address, page.title),)
        audience = None if page.is_own else context.place.audience
        parts = split_pages(page.text, PAGE_CHARS)
        if not isinstance(number, int) or not 1 <= number <= len(parts):
            raise ToolError(f"there is no page {number}: it has {len(parts)}", ours=True)
        page_note = PAGE_OF.format(page=number, pages=len(parts)) if len(parts) > 1 else ""
        mark = "" if citation is None else f"[{citation}] "
        head = filter(None, [f"{mark}{page.title}".strip(), page.address, page.note, page_note])
        text = "\n".join([*head, "", parts[number - 1]])
        return ToolOutput(text, parts=(page.image,) if page.image else (), audience=audience, references=references)

    async def _page(self, address: str, context: ToolContext) -> WebPage:
        if (cached := self.cache.get(address)) is not None:
            return cached
        try:
            fetched = await self.fetcher.fetch(
                address, lambda host: any(names_host(words, host) for words in context.own_words)
            )
            page = await self.reader.read(fetched, context.person.id)
        except WebRefused as refused:
            raise ToolError(UNREAD.format(address=address[:200], why=refused), ours=True) from None
        if not page.is_own and page.image is None:
            self.cache[address] = page
        return page


def names_host(words: str, host: str) -> bool:
    """Return whether a host stands in a text by itself: "git" does not in "digital", nor in "git.example.com"."""
    words, start = words.lower(), -1
    while (start := words.find(host, start + 1)) >= 0:
        end = start + len(host)
        before, after = words[max(start - 1, 0) : start], words[end : end + 2]
        goes_on = after[:1].isalnum() or after[:1] in {"-", "_"} or (after[:1] == "." and after[1:].isalnum())
        if not goes_on and not before.isalnum() and before not in {"-", "_", "."}:
            return True
    return False


_SEARCH_PROPERTIES: Final[dict[str, Json]] = {
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
            "properties": _SEARCH_PROPERTIES,
            "required": ["query"],
            "additionalProperties": False,
        }

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        query, recent = " ".join(str(args["query"]).split()), args.get("recent")
        try:
            results = await self.engine.search(query, Recency(str(recent)) if recent else None)
        except WebRefused as refused:
            raise ToolError(str(refused), ours=True) from None
        references, lines = list[Reference](), list[str]()
        for result in results:
            number = context.numbers.number(result.address)
            references += [] if number is None else [Reference(number, result.address, result.title, is_read=False)]
            title = result.title if number is None else f"[{number}] {result.title}"
            lines.append("\n".join(filter(None, [title.strip(), result.address, result.date, result.snippet])))
        head = (FOUND if results else NOTHING_FOUND).format(engine=self.engine.name, query=query)
        text = "\n\n".join([head, *lines])
        return ToolOutput(text, audience=context.place.audience, references=tuple(references))


# For a page that a person adds to a place: as for attached files, as its site may have a slow line.
LINK_LIMITS: Final = FetchLimits(seconds=20.0, file_bytes=20_000_000)


@dataclass(frozen=True, slots=True)
class LinkReader:
    """Reads web pages that places learn. A person who adds an address has named its host, for the network it is in at
    that time: a page of the public web never leads into the operator's own network later.
    """

    fetcher: Fetcher
    reader: PageReader

    async def read(self, address: str, person: str, known: Document | None = None) -> ReadLink:
        """Read a page for this person (an id), unless the `known` version is still current. Never raises."""
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
    """Return the tool. `timeout_s`: of a call; 60 % of it is for fetching, the rest for extracting the text."""
    limits = FetchLimits(seconds=0.6 * timeout_s)
    fetcher = Fetcher(WebGuard(networks), agent, clock, SystemResolver(), robots=robots, limits=limits)
    return WebFetchTool(fetcher, PageReader(Reader()), page_cache(clock), timeout_s)


def page_cache(clock: Clock) -> "TTLCache[str, WebPage]":
    """Return a cache of public pages, by the requested addresses. Pictures are not cached: they have no second part."""
    return TTLCache(MAX_CACHED_CHARS, CACHE_S, clock.monotonic, getsizeof=lambda page: 1_000 + len(page.text))
