"""Search engines of the web: SearXNG, Brave, Tavily, and those that ddgs asks without a key.

Rules. Only the engine that the operator has named is asked, and it is told the words of the query alone. What it finds
is bounded, and on one line each; an address that cannot be fetched is no result. A date stands where the engine gives
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

from agent.messages import is_too_deep
from agent.providers.http_client import Http, TransportError
from bot.texts import setup_texts
from bot.web.guard import WebRefused, parse_target
from bot.web.page_text import plain_text

MAX_RESULTS: Final = 8
"""About 1,000 tokens; more are further from what was asked than another query would be."""
MAX_QUERY_CHARS: Final = 400
"""What Brave takes."""
MAX_TITLE_CHARS: Final = 120
MAX_SNIPPET_CHARS: Final = 320
MAX_DATE_CHARS: Final = 40
SEARCH_S: Final = 12.0
"""A metasearch engine waits for its slowest part for some seconds."""
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
