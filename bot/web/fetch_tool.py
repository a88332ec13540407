"""The tool `web_fetch`: reads a page, a PDF or a feed at an address.

Rules
- Only addresses that a call or a person names are fetched. A tool that the operator has not enabled does not exist.
- Results are data written by others. Results of the public web may be read by everybody at the place; those of the
  operator's own network only by the asker, and they are not remembered.
- A page can be cited by the number that the result shows. An error is one sentence with its remedy.
"""

from dataclasses import dataclass
from typing import Final

from cachetools import TTLCache

from agent.citations import FETCH
from agent.errors import ToolError
from agent.memory.attribution import stated
from agent.messages import Json, JsonObject, Reference
from agent.ports.clock import Clock
from agent.ports.tools import ToolContext, ToolEffect, ToolOutput
from agent.tools.skill import split_pages
from bot.chat.attachments.reader import Reader
from bot.chat.network.connections import DIRECT, Route, SystemResolver
from bot.chat.network.guard import Networks, WebGuard, WebRefused
from bot.web.fetching import Fetcher, FetchLimits
from bot.web.page_text import PageReader, WebPage

PAGE_CHARS: Final = 18_000  # The limit of a result, less its heading
# Long enough to read a page's second half or to ask about it again; short enough for news.
CACHE_S: Final = 600.0
MAX_CACHED_CHARS: Final = 8_000_000  # In all pages together
FETCH_ABOUT: Final = (
    "Read a page, PDF or feed of the web, at an address from the conversation or from results. Cite what you use as "
    "[1], by the number that its result shows; the list of sources is added for you."
)
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
            raise ToolError(f"there is no page {number}: the last one is {len(parts)}", ours=True)
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
                address, lambda host: any(names_host(stated(words), host) for words in context.asker_texts)
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


def open_web_fetch(
    networks: Networks, agent: str, clock: Clock, timeout_s: float, *, robots: bool, route: Route = DIRECT
) -> WebFetchTool:
    """Return the tool. `timeout_s`: of a call; 60 % of it is for fetching, the rest for extracting the text."""
    limits = FetchLimits(seconds=0.6 * timeout_s)
    fetcher = Fetcher(WebGuard(networks), agent, clock, SystemResolver(), robots=robots, route=route, limits=limits)
    return WebFetchTool(fetcher, PageReader(Reader()), page_cache(clock), timeout_s)


def page_cache(clock: Clock) -> "TTLCache[str, WebPage]":
    """Return a cache of public pages, by the requested addresses. Pictures are not cached: they have no second part."""
    return TTLCache(MAX_CACHED_CHARS, CACHE_S, clock.monotonic, getsizeof=lambda page: 1_000 + len(page.text))
