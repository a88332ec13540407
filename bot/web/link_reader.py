"""Reads web pages that people add to places."""

from dataclasses import dataclass
from typing import Final

from agent.memory.documents import Document
from agent.ports.clock import Clock
from bot.chat.attachments.reader import Reader
from bot.chat.attachments.reading import ReadDocument, ReadLink
from bot.chat.network.connections import DIRECT, Route, SystemResolver
from bot.chat.network.guard import Networks, WebGuard, WebRefused, parse_target
from bot.web.fetching import Fetcher, FetchLimits, KnownVersion
from bot.web.page_text import PageReader

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


def open_link_reader(
    networks: Networks, agent: str, clock: Clock, *, robots: bool, route: Route = DIRECT
) -> LinkReader:
    fetcher = Fetcher(
        WebGuard(networks), agent, clock, SystemResolver(), robots=robots, route=route, limits=LINK_LIMITS
    )
    return LinkReader(fetcher, PageReader(Reader()))
