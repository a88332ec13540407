"""Linked web pages of places: read once, again each day, and never replaced by less than what was known."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import pytest

from agent.incoming import Attachment, Person
from agent.memory.audience import Place, TeamAudience, label
from agent.memory.documents import FETCH_AGAIN, FETCH_EVERY, DocumentQuery
from agent.ports.tools import Asker
from bot.chat.attachments.reader import Reader
from bot.chat.attachments.reading import ReadDocument
from bot.chat.jobs import JobWorker
from bot.chat.network.guard import WebGuard, parse_networks
from bot.knowledge import texts as knowledge_texts
from bot.knowledge.pages import MAX_FETCHES, LinkedPages
from bot.knowledge.service import FETCH_PAGES, MAX_FILES, KnowledgeService
from bot.web import fetching
from bot.web.fetching import Fetcher, FetchLimits
from bot.web.link_reader import LinkReader
from bot.web.page_text import PageReader
from tests.fakes import documents, pdfs
from tests.fakes.clock import FakeClock
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.web_world import PUBLIC, SECRET, Behaviour, WebWorld, answer, raw, redirect, web_world
from tests.patience import PATIENCE_S

TEAM: Final = Place(TeamAudience("team"), within_team="team")
BOSS: Final = Asker(Person("test:T1:ann", "Ann"), TEAM, "general", manages=True)
ADDRESS: Final = "http://a.example/trips"
HOTEL: Final = b"Hotels may cost up to 120 EUR a night."
LIMITS: Final = FetchLimits(PATIENCE_S, PATIENCE_S, text_bytes=200_000, file_bytes=200_000)


async def no_file(file: Attachment, source: str, person: str) -> ReadDocument:  # noqa: ARG001 -- none is handed in
    return ReadDocument(why="there is none")


@dataclass
class Town:
    """A place with linked pages, and the web they are on."""

    world: WebWorld
    store: StoreInMemory
    clock: FakeClock
    service: KnowledgeService
    pages: LinkedPages

    async def learn(self, *addresses: str) -> str:
        return (await self.service.learn(BOSS, (), pages=addresses or (ADDRESS,))).text

    async def a_day_later(self) -> None:
        """Run the job after all pages have become due."""
        await self.clock.advance((FETCH_EVERY * 1.5).total_seconds())
        await self.pages.begin()
        await JobWorker(self.store.jobs, self.pages.handlers, self.clock, "worker").work()

    async def shown(self) -> str:
        answered = await self.service.answer(BOSS, "list")
        return "\n".join([answered.text, *(one.text for one in answered.documents)])

    async def known(self, question: str = "hotel costs") -> list[str]:
        found = await self.store.documents.search(DocumentQuery(question, frozenset({label(TEAM.audience)})))
        return [one.passage.text for one in found]


@asynccontextmanager
async def town(
    pages: Mapping[str, Behaviour],
    *,
    robots: bool = False,
    zone: Mapping[str, list[list[str]]] = {},
    opened: str = "",
) -> AsyncGenerator[Town]:
    async with web_world(pages, zone) as world:
        store, clock = store_in_memory(), FakeClock()
        guard = WebGuard(parse_networks(opened))
        fetcher = Fetcher(guard, "Test/1", clock, world.resolve, world.dial, robots=robots, limits=LIMITS)
        reads = LinkReader(fetcher, PageReader(Reader(PATIENCE_S, niceness=0))).read
        service = KnowledgeService(
            documents=store.documents,
            forgetting=store.forgetting,
            read=no_file,
            clock=clock,
            preferences=store.preferences,
            read_page=reads,
        )
        yield Town(
            world, store, clock, service, LinkedPages(store.documents, store.forgetting, store.jobs, clock, reads)
        )


async def test_what_was_read_is_named_by_its_address_and_found_with_its_own_link() -> None:
    async with town({"a.example/trips": redirect("/2026/trips"), "a.example/2026/trips": answer(HOTEL)}) as here:
        said = await here.learn(f"{ADDRESS}#hotels")
        (found,) = await here.store.documents.search(DocumentQuery("hotel", frozenset({"team:team"})))
        shown = await here.shown()
    assert said.startswith("Learned: trips (1 passage). Full members can ask me about it here")
    assert found.document.link == "http://a.example/2026/trips"
    assert f"[trips](http://a.example/2026/trips) ({ADDRESS}, as of 20" in shown


RIGA: Final = b"""<!doctype html><html><head><title>Harbours of Riga</title></head><body><nav>Log in</nav><article>
<h1>Harbours of Riga</h1><p>The old harbour of Riga lies on the Daugava, where ships have landed for ages.</p>
<h2>Berths</h2><p>There are forty of them, and seven may be used by visiting boats at any time of the year.</p>
</article></body></html>"""
FEED: Final = b"<rss><channel><title>News</title><item><title>Seven berths are free</title></item></channel></rss>"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "kind", "name", "question", "heading", "page"),
    [
        (RIGA, "text/html", "Harbours of Riga", "seven berths", "Berths", None),
        (pdfs.pdf("Nobody needs this. " * 9, "Seven berths are free."), "application/pdf", "x", "berths", "", 2),
        (
            documents.docx(documents.paragraph("Seven berths are free.")),
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "x",
            "berths",
            "",
            None,
        ),
        (json.dumps({"berths": 7}).encode(), "application/json", "x", "berths", "", None),
        (FEED, "application/rss+xml", "News", "seven berths", "Seven berths are free", None),
    ],
)
async def test_each_kind_of_page_is_read_with_its_pages_and_headings(
    body: bytes, kind: str, name: str, question: str, heading: str, page: int | None
) -> None:
    async with town({"a.example/x": answer(body, kind=kind)}) as here:
        assert (await here.learn("http://a.example/x")).startswith(f"Learned: {name} (")
        found = (await here.store.documents.search(DocumentQuery(question, frozenset({"team:team"}))))[0]
    assert "even" in found.passage.text or "7" in found.passage.text
    assert heading in f"{found.passage.heading} {found.passage.text}"
    assert found.passage.page == page


async def test_a_page_is_asked_for_by_its_version_and_its_words_are_replaced_where_they_differ() -> None:
    async with town({"a.example/trips": answer(HOTEL, ETag='"one"')}) as here:
        await here.learn()
        here.world.pages["a.example/trips"] = answer(status="304 Not Modified")
        await here.a_day_later()
        assert 'If-None-Match: "one"' in here.world.requests[-1]
        (before,) = await here.store.documents.listed(frozenset({"team:team"}))
        here.world.pages["a.example/trips"] = answer(HOTEL, ETag='"two"')
        await here.a_day_later()
        (same,) = await here.store.documents.listed(frozenset({"team:team"}))
        assert (same.id, same.time) == (before.id, before.time)
        here.world.pages["a.example/trips"] = answer(HOTEL.replace(b"120", b"150"), ETag='"three"')
        await here.a_day_later()
        assert 'If-None-Match: "two"' in here.world.requests[-1]
        assert await here.known() == ["Hotels may cost up to 150 EUR a night."]
        (after,) = await here.store.documents.listed(frozenset({"team:team"}))
        assert (after.id != before.id, after.time > before.time, after.by) == (True, True, before.by)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("behave", "why"),
    [
        (answer(status="404 Not Found"), "the page does not exist"),
        (answer(status="503 Service Unavailable"), "it returned an error (503)"),
        (answer(b"  \n"), knowledge_texts.EMPTY_FILE),
        (answer(b"\0\1\2\3" * 99), "it is not text"),
        (raw(b"no HTTP\r\n\r\n"), "did not respond with valid HTTP"),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", again=b"huge " * 999), "larger than 0.2 MB"),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n", again=b"x" * 999), "larger than 0.2 MB"),
        (redirect("http://169.254.169.254/latest"), "a cloud metadata service"),
        (redirect("http://127.0.0.1:8080/"), "it is not on the public web"),
        (redirect("http://inner.example/"), "it is not on the public web"),
        (redirect("file:///etc/passwd"), "only addresses that begin"),
    ],
)
async def test_what_is_away_or_leads_astray_keeps_what_is_known_and_says_since_when(
    behave: Behaviour, why: str
) -> None:
    async with town({"a.example/trips": answer(HOTEL)}, zone={"inner.example": [["10.0.0.7"]]}) as here:
        await here.learn()
        here.world.pages["a.example/trips"] = behave
        await here.a_day_later()
        first = here.clock.now().date().isoformat()
        await here.a_day_later()
        shown = (await here.shown()).replace("\\", "")
        assert f"not readable since {first}: " in shown
        assert why in shown
        assert (await here.known(), here.world.inner) == ([HOTEL.decode()], [])
        here.world.pages["a.example/trips"] = answer(b"Hotels are free.")
        await here.a_day_later()
        assert "could not be read" not in await here.shown()
        assert await here.known() == ["Hotels are free."]


@pytest.mark.parametrize("opened", ["", "192.168.0.0/16"])
async def test_a_name_that_leads_into_a_private_network_later_is_not_followed_there(opened: str) -> None:
    """Nor where the operator has opened that network: no page of it was added."""
    zone = {"a.example": [[PUBLIC], ["192.168.0.9"]]}
    async with town({"a.example/trips": answer(HOTEL)}, zone=zone, opened=opened) as here:
        await here.learn()
        await here.a_day_later()
        assert "not readable since" in await here.shown()
        assert (here.world.inner, SECRET.decode() in str(await here.known("heron"))) == ([], False)


async def test_a_page_of_a_network_that_the_operator_opened_is_learned_and_looked_at_again() -> None:
    async with town({}, zone={"wiki.example": [["10.0.0.7"]]}, opened="10.0.0.0/8") as here:
        assert (await here.learn("http://wiki.example/boats")).startswith("Learned: boats (1 passage).")
        await here.a_day_later()
        await here.a_day_later()
        assert (len(here.world.inner), "could not be read" in await here.shown()) == (3, False)
        assert await here.known("inner") == [SECRET.decode()]


async def test_a_site_that_asks_programs_to_stay_away_is_not_read_from_then_on() -> None:
    async with town({"a.example/trips": answer(HOTEL)}, robots=True) as here:
        await here.learn()
        here.world.pages["a.example/robots.txt"] = answer(b"User-agent: *\nDisallow: /\n")
        asked = len(here.world.requests)
        await here.a_day_later()
        assert all("GET /robots.txt" in one for one in here.world.requests[asked:])
        assert fetching.ROBOTS in (await here.shown()).replace("\\", "")


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("http://10.0.0.7/", "COGENCY_NETWORKS_ALLOWED"),
        ("http://localhost/", "COGENCY_NETWORKS_ALLOWED"),
        ("http://a.example/none", "the page does not exist"),
        ("http://user:word@a.example/", "is ambiguous"),
    ],
)
async def test_what_cannot_be_read_is_not_learned_and_one_sentence_says_why(address: str, why: str) -> None:
    async with town({"a.example/": answer(HOTEL)}) as here:
        answered = await here.service.learn(BOSS, (), pages=(address,))
        assert (answered.refused, await here.known()) == (True, [])
    assert answered.text.startswith(f"{address} was not learned: ")
    assert why in answered.text
    assert answered.text.count("\n") == 0


async def test_no_server_has_a_link_of_its_own_shown() -> None:
    hostile = answer(b"x", kind="x/[sign](http://evil.example)")
    async with town({"a.example/trips": hostile}) as here:
        refused = await here.learn()
        here.world.pages["a.example/trips"] = answer(HOTEL)
        await here.learn()
        here.world.pages["a.example/trips"] = hostile
        await here.a_day_later()
        shown = await here.shown()
    assert "cannot be read as text" in refused
    assert "evil.example" not in refused + shown


async def test_several_links_are_learned_at_once_and_no_more_than_files() -> None:
    addresses = [f"http://a.example/{n}" for n in range(MAX_FILES + 2)]
    async with town({f"a.example/{n}": answer(f"Hotel {n} is full.".encode()) for n in range(9)}) as here:
        said = await here.learn(*addresses)
        assert len(await here.known("hotel")) == MAX_FILES
    assert said.endswith(knowledge_texts.FIRST_FILES.format(most=MAX_FILES))


async def test_without_the_web_one_sentence_says_what_to_do() -> None:
    store = store_in_memory()
    service = KnowledgeService(
        documents=store.documents,
        forgetting=store.forgetting,
        read=no_file,
        clock=FakeClock(),
        preferences=store.preferences,
    )
    answered = await service.learn(BOSS, (), pages=(ADDRESS,))
    assert (answered.text, answered.refused) == (knowledge_texts.NO_LINKS, True)


@pytest.mark.slow
async def test_few_pages_are_looked_at_in_each_turn_and_all_in_the_end() -> None:
    many = {f"a.example/{n}": answer(f"Page {n}.".encode()) for n in range(MAX_FETCHES + 3)}
    async with town(many) as here:
        for n in range(MAX_FETCHES + 3):
            await here.learn(f"http://a.example/{n}")
        asked = len(here.world.requests)
        await here.a_day_later()
        assert len(here.world.requests) - asked == MAX_FETCHES
        await here.clock.advance(timedelta(minutes=10).total_seconds())
        assert await JobWorker(here.store.jobs, here.pages.handlers, here.clock, "worker").work()
        assert len(set(here.world.requests[asked:])) == MAX_FETCHES + 3


async def test_one_process_looks_at_a_time_and_the_next_goes_on_after_a_kill() -> None:
    """The first process is killed while it waits for the page: another takes the job over, and reads the page again."""
    reached = asyncio.Event()

    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:  # noqa: ARG001 -- none is handed in
        reached.set()
        await reader.read()

    async with town({"a.example/trips": answer(HOTEL)}) as here:
        await here.learn()
        here.world.pages["a.example/trips"] = never
        await here.clock.advance((FETCH_EVERY * 1.5).total_seconds())
        await here.pages.begin()
        lease = timedelta(minutes=2)
        job = await here.store.jobs.claim(frozenset({FETCH_PAGES}), "first", here.clock.now(), lease)
        assert job is not None
        killed = asyncio.create_task(here.pages.look(job))
        await asyncio.wait_for(reached.wait(), PATIENCE_S)
        assert await here.store.jobs.claim(frozenset({FETCH_PAGES}), "second", here.clock.now(), lease) is None
        killed.cancel()
        here.world.pages["a.example/trips"] = answer(b"Hotels are free.")
        await here.clock.advance(FETCH_AGAIN.total_seconds())
        await JobWorker(here.store.jobs, here.pages.handlers, here.clock, "second").work()
        assert await here.known() == ["Hotels are free."]
