"""The search engines of `web_search`: SearXNG, Brave, Tavily, and those that the package ddgs asks.

Rules
- Only the configured engine is called, and it receives nothing but the query.
- Results are bounded, each field on one line; an address that cannot be fetched is dropped. A date is shown if the
  engine gives one. An error is one sentence with its remedy.
"""

import asyncio
import json
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from typing import Any, Final, Protocol, cast
from urllib.parse import urlencode

from agent.messages import is_too_deep
from agent.providers.http_client import Http, TransportError, Untrusted, proxy_for
from bot.chat.network.guard import WebRefused, parse_target
from bot.web import texts as web_texts
from bot.web.page_text import plain_text

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
        if not results and answer.get("unresponsive_engines"):
            raise WebRefused(web_texts.SEARXNG_SILENT, is_fault=True)
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
    paths = ssl.get_default_verify_paths()
    is_replaced = paths.cafile != paths.openssl_cafile  # by SSL_CERT_FILE; None without any file
    trusted = (is_replaced and paths.cafile) or True
    return import_module("ddgs").DDGS(proxy=proxy_for("https://duckduckgo.com"), timeout=int(SEARCH_S), verify=trusted)


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
