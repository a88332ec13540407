"""`web_fetch` and `web_search`: the tools by which a model reads the web; and pages that people hand in.

Rules.
- Nothing is fetched but what a call or a person names; what the operator has not set is no tool.
- What comes back is data that others wrote. Of the public web whoever reads the place may read it; of the operator's
  own network the asker alone may, and nothing of it is remembered.
- What is fetched can be cited by the number that its result shows, and so can what a search found.
"""

from dataclasses import dataclass
from typing import Final

from cachetools import TTLCache

from agent.citations import FETCH
from agent.errors import ToolError
from agent.memory.documents import Document
from agent.messages import Json, JsonObject, Reference
from agent.ports import Clock, ToolContext, ToolEffect, ToolOutput
from agent.tools.skill import pages
from bot.attachments.reader import Reader
from bot.attachments.reading import ReadDocument, ReadLink
from bot.web.engines import MAX_QUERY_CHARS, Recency, SearchEngine
from bot.web.fetching import Fetcher, FetchLimits, KnownVersion, SystemResolver
from bot.web.guard import Networks, WebGuard, WebRefused, parse_target
from bot.web.page_text import PageReader, WebPage

PAGE_CHARS: Final = 18_000
"""What a result may hold, less what stands before it."""
CACHE_S: Final = 600.0
"""Long enough to read a page's second half, and to ask of it again; short enough that news are new."""
MAX_CACHED_CHARS: Final = 8_000_000
"""Of all pages together."""

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


LINK_LIMITS: Final = FetchLimits(seconds=20.0, file_bytes=20_000_000)
"""Of a page that somebody hands in, as of a file: it comes by the line of whoever runs its site."""


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
