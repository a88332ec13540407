"""The requests to each search engine, its results, and its errors."""

import asyncio
import inspect
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import SettingsError, ToolError
from agent.incoming import Person
from agent.machine import CLOCK
from agent.memory.audience import GroupAudience, Place
from agent.messages import Reference
from agent.ports.tools import ToolContext
from bot.app.settings import load_settings
from bot.chat.network.guard import WebRefused
from bot.setup.operator_doctor import examine
from bot.web.feature import search_engine, web_tools
from bot.web.search_engines import (
    MAX_RESULTS,
    Brave,
    Ddgs,
    Recency,
    SearchEngine,
    SearchResult,
    Searxng,
    Tavily,
    results_of,
)
from bot.web.search_tool import WebSearchTool
from bot.web.settings import WebSettings
from tests.examples import examples
from tests.fakes.clock import NOON
from tests.fakes.search_engines import FOUND, FakeLibrary, SearchServer, search_server
from tests.patience import PATIENCE_S

ddgs: Any = import_module("ddgs")  # only partly typed
EMPTY: Final[dict[str, Any]] = {}
RESULTS: Final = [
    SearchResult("https://a.example/riga?x=1", "Harbours of Riga", "Seven berths & more.", "2026-11-20T10:00:00"),
    SearchResult("https://b.example/", "Berths"),
]


def asked_in(server: SearchServer) -> Searxng:
    return Searxng(server.address)


async def test_searxng_is_asked_for_json_and_told_the_words_alone() -> None:
    async with search_server() as server:
        assert await Searxng(server.address).search("berths in Riga", Recency.WEEK) == RESULTS
    (asked,) = server.asked
    assert asked["path"] == "/search"
    assert asked["query"] == {"q": "berths in Riga", "format": "json", "time_range": "week"}


async def test_brave_is_asked_with_its_key() -> None:
    listed = [
        {"url": one["url"], "title": one["title"], "description": one["content"], "page_age": one["publishedDate"]}
        for one in FOUND[:2]
    ]
    async with search_server((200, {"type": "search", "web": {"results": listed}})) as server:
        assert await Brave("key", server.address).search("berths", Recency.MONTH) == RESULTS
    (asked,) = server.asked
    assert asked["path"] == "/res/v1/web/search"
    assert asked["query"] == {"q": "berths", "count": "8", "text_decorations": "false", "freshness": "pm"}
    assert asked["headers"]["x-subscription-token"] == "key"


async def test_tavily_is_asked_with_its_key() -> None:
    listed = [{**one, "published_date": one.pop("publishedDate")} for one in ({**entry} for entry in FOUND[:2])]
    async with search_server((200, {"query": "berths", "results": listed})) as server:
        assert await Tavily("key", server.address).search("berths", Recency.DAY) == RESULTS
    (asked,) = server.asked
    assert asked["body"] == {"query": "berths", "max_results": 8, "time_range": "day"}
    assert asked["headers"]["authorization"] == "Bearer key"


async def test_ddgs_is_asked_one_query_after_the_other_though_nobody_waits_any_more() -> None:
    running, most, calls = 0, 0, list[tuple[str, dict[str, Any]]]()
    begun, go_on = threading.Event(), threading.Event()

    def text(query: str, **more: Any) -> list[dict[str, Any]]:
        nonlocal running, most
        calls.append((query, more))
        running, most = running + 1, max(most, running + 1)
        begun.set()
        go_on.wait(PATIENCE_S)
        running -= 1
        return [{"title": "Berths", "href": "https://b.example/", "body": ""}]

    engine = Ddgs(library=lambda: FakeLibrary(text))
    given_up = asyncio.create_task(engine.search("first", Recency.YEAR))
    await asyncio.to_thread(begun.wait, PATIENCE_S)
    given_up.cancel()
    others = [asyncio.create_task(engine.search(word)) for word in ("second", "third")]
    await asyncio.wait({given_up})
    go_on.set()
    assert await asyncio.gather(*others) == [RESULTS[1:]] * 2
    assert (most, [query for query, _ in calls]) == (1, ["first", "second", "third"])
    assert calls[0][1] == {"timelimit": "y", "max_results": 8, "backend": "duckduckgo"}
    inspect.signature(ddgs.DDGS.text).bind(None, "first", **calls[0][1])  # as the library is called


async def test_ddgs_that_finds_nothing_has_found_nothing_and_one_that_fails_says_what_to_do() -> None:
    def failing(sentence: str) -> Callable[..., list[dict[str, Any]]]:
        def text(*_: object, **__: object) -> list[dict[str, Any]]:
            raise import_module("ddgs.exceptions").DDGSException(sentence)

        return text

    assert await Ddgs(library=lambda: FakeLibrary(failing("No results found."))).search("x") == []
    with pytest.raises(WebRefused, match="does not answer automated requests at the moment"):
        await Ddgs(library=lambda: FakeLibrary(failing("202 Ratelimit"))).search("x")


KEYED: Final[Sequence[Callable[[SearchServer], SearchEngine]]] = (
    lambda server: Brave("key", server.address),
    lambda server: Tavily("key", server.address),
)


@pytest.mark.parametrize(
    ("make", "answer", "why"),
    [
        (asked_in, (403, "<html>Forbidden"), r"needs to add json to search\.formats in settings\.yml$"),
        (asked_in, (200, "<html>No JSON"), r"did not return search results \(200\)"),
        (asked_in, (200, ["no object"]), "did not return search results"),
        (asked_in, (200, "[" * 100_000), "did not return search results"),
        (asked_in, (429, "Too many"), "received too many searches; try again in a minute"),
        (asked_in, (502, "Bad gateway"), r"did not return search results \(502\)"),
        (
            asked_in,
            (200, {"results": [], "unresponsive_engines": [["brave", "timeout"]]}),
            "found nothing, and some of its engines did not answer",
        ),
        (KEYED[0], (401, EMPTY), "the operator needs to check BRAVE_API_KEY$"),
        (KEYED[1], (401, EMPTY), "the operator needs to check TAVILY_API_KEY$"),
        (KEYED[1], (432, EMPTY), "has used up its quota; the operator needs to check TAVILY_API_KEY$"),
    ],
)
async def test_what_goes_wrong_says_what_can_be_done(
    make: Callable[[SearchServer], SearchEngine], answer: tuple[int, Any], why: str
) -> None:
    async with search_server(answer) as server:
        with pytest.raises(WebRefused, match=why):
            await make(server).search("berths")


async def test_an_engine_that_is_not_there_is_one_sentence() -> None:
    async with search_server() as server:
        address = server.address
    with pytest.raises(WebRefused, match="SearXNG cannot be reached"):
        await Searxng(address).search("berths")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30) | st.just("https://a.example/"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["url", "title", "content", "publishedDate", "x"]), inner, max_size=5)
    ),
    max_leaves=30,
)


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(anything)
def test_whatever_an_engine_lists_what_is_found_is_bounded_and_on_lines(listed: object) -> None:
    found = results_of(listed, "content", "publishedDate")
    assert len(found) <= MAX_RESULTS
    for one in found:
        assert one.address.startswith("http")
        assert all(len(text.splitlines()) <= 1 for text in (one.address, one.title, one.snippet, one.date))


PLACE: Final = Place(GroupAudience("slack:T1:C1"))


async def test_what_is_found_can_be_cited_and_is_for_whoever_reads_the_place() -> None:
    context = ToolContext(Person("p", "Anna"), PLACE, "c", 1, NOON)
    async with search_server((200, {"results": FOUND}), (200, {"results": []})) as server:
        tool = WebSearchTool(Searxng(server.address), 20)
        found = await tool.run({"query": " berths\nin  Riga ", "recent": "week"}, context)
        nothing = await tool.run({"query": "zzz"}, context)
    assert found.text == (
        "Found by SearXNG for “berths in Riga”:\n\n"
        "[1] Harbours of Riga\nhttps://a.example/riga?x=1\n2026-11-20T10:00:00\nSeven berths & more.\n\n"
        "[2] Berths\nhttps://b.example/"
    )
    assert found.references == (
        Reference(1, "https://a.example/riga?x=1", "Harbours of Riga", is_read=False),
        Reference(2, "https://b.example/", "Berths", is_read=False),
    )
    assert found.audience == PLACE.audience
    assert nothing.text.startswith("SearXNG found nothing for “zzz”.")
    with pytest.raises(ToolError, match="cannot be reached"):
        await tool.run({"query": "x"}, context)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("searxng:https://search.example.com/", "SearXNG"),
        ("Brave", "Brave"),
        ("tavily", "Tavily"),
        ("ddgs", "ddgs (duckduckgo)"),
        ("ddgs:mojeek,brave", "ddgs (mojeek,brave)"),
        ("off", None),
        ("", None),
    ],
)
def test_only_the_engine_that_is_named_is_asked(value: str, name: str | None) -> None:
    engine = search_engine(
        load_settings({"COGENCY_WEB_SEARCH": value, "BRAVE_API_KEY": "b", "TAVILY_API_KEY": "t"}).web
    )
    assert (None if engine is None else engine.name) == name
    assert "key='" not in repr(engine)


@pytest.mark.parametrize("value", ["google", "searxng", "searxng:search.example.com", "brave:key", "ddgs:Bad Name"])
def test_a_mistyped_engine_stops_the_start_with_a_sentence(value: str) -> None:
    with pytest.raises(SettingsError, match=r"^COGENCY_WEB_SEARCH must be"):
        load_settings({"COGENCY_WEB_SEARCH": value})


def test_an_engine_without_its_key_stops_the_start() -> None:
    with pytest.raises(SettingsError, match=r"^COGENCY_WEB_SEARCH=brave needs BRAVE_API_KEY: "):
        search_engine(load_settings({"COGENCY_WEB_SEARCH": "brave"}).web)


def test_there_is_no_tool_but_those_that_were_switched_on() -> None:
    assert web_tools(WebSettings(), 20.0, CLOCK) == ()
    both = load_settings({"COGENCY_WEB": "on", "COGENCY_WEB_SEARCH": "ddgs"})
    assert [tool.name for tool in web_tools(both.web, 20.0, CLOCK)] == ["web_search", "web_fetch"]


async def test_the_doctor_searches_once_and_names_what_is_open(tmp_path: Any) -> None:
    async with search_server((200, {"results": FOUND}), (403, "")) as server:
        environ = {
            "COGENCY_MODEL": "rehearsal",
            "COGENCY_WEB": "on",
            "COGENCY_WEB_SEARCH": f"searxng:{server.address}",
            "COGENCY_NETWORKS_ALLOWED": "10.0.0.0/8",
        }
        configured = load_settings(environ, data_folder=tmp_path)
        first, then = [[f for f in await examine(configured, ask_model=False) if f.where == "Web"] for _ in range(2)]
    assert [found.level.name for found in first] == ["GOOD", "NOTE", "GOOD"]
    assert "10.0.0.0/8" in first[1].what
    assert "returned 2 search results" in first[2].what
    assert then[2].level.name == "WARNING"
    assert "settings.yml" in then[2].remedy
