"""Questions that the web answers: real clients, turns, tools and servers on loopback; the model is scripted."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from agent.messages import Message, Role
from agent.ports.tools import Tool
from agent.providers.scripted import ScriptedProvider
from bot.chat.network.guard import WebGuard
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.tools import texts as tool_texts
from bot.web.fetch_tool import WebFetchTool, page_cache
from bot.web.fetching import Fetcher, FetchLimits
from bot.web.page_text import PageReader
from bot.web.search_engines import Searxng
from bot.web.search_tool import WebSearchTool
from tests.fakes.answering_host import answering_host
from tests.fakes.discord_bot import WINDOW_S, by_the_bot, serving
from tests.fakes.discord_gateway import running_discord
from tests.fakes.discord_world import ANN, BOT, seen
from tests.fakes.fast_clock import FastClock, MovedClock
from tests.fakes.hosts import patient_reader
from tests.fakes.search_engines import SearchServer, search_server
from tests.fakes.web_world import WebWorld, answer, web_world
from tests.flows.test_slack_replies import ME, World, workspace
from tests.flows.test_terminal import cogency
from tests.injection.world import calls_of
from tests.patience import PATIENCE_S

FOUND = [{"url": "http://a.example/riga", "title": "Harbours <b>of</b> Riga", "content": "Seven berths."}]
WAITS = reply_texts.WAITS_FOR_CONSENT.format(tools="`web_fetch`")
PUT_TOGETHER = "http://harbour.example/?boat=heron"
ANSWER = "Seven berths [1], two of them free [2], and gold [9]."


def asks_for(address: str) -> Callable[[Sequence[Message]], str]:
    """A model that searches, reads this address, and cites both, and something that nobody said."""

    def says(messages: Sequence[Message]) -> str:
        done = "".join(one.text for one in messages if one.role is not Role.SYSTEM)
        if "web_search" not in done:
            return calls_of(("web_search", {"query": "berths in Riga"}))
        return calls_of(("web_fetch", {"url": address})) if "web_fetch" not in done else ANSWER

    return says


@asynccontextmanager
async def the_web() -> AsyncGenerator[tuple[WebWorld, SearchServer, list[Tool]]]:
    pages = {
        "a.example/riga": answer(b"Seven berths, says the page."),
        PUT_TOGETHER.removeprefix("http://"): answer(b"Two are free."),
    }
    async with web_world(pages) as web, search_server((200, {"results": FOUND})) as engine:
        clock, limits = FastClock(), FetchLimits(PATIENCE_S, PATIENCE_S)
        fetcher = Fetcher(WebGuard(), "Test/1", clock, web.resolve, web.dial, robots=False, limits=limits)
        fetch = WebFetchTool(fetcher, PageReader(patient_reader()), page_cache(clock), PATIENCE_S)
        yield web, engine, [WebSearchTool(Searxng(engine.address), PATIENCE_S), fetch]


async def test_in_slack_what_was_put_together_is_read_once_allowed_and_sources_outlive_the_process() -> None:
    async with the_web() as (web, engine, tools), workspace(asks_for(PUT_TOGETHER), tools=tools) as world:
        async with world.running():
            await world.slack.say(world.ann, world.general, f"{ME} where can I moor in Riga?")
            await world.slack.until(lambda: WAITS in newest(world) and world.store.turns[0].state == "waiting")
        assert engine.asked[0]["query"]["q"] == "berths in Riga"
        assert web.requests == []
        async with world.running():
            page = world.slack.state.answers(world.general)[-1]
            await world.slack.click(world.ann, page, platforms_texts.DECIDE_BUTTON)
            await world.slack.until(lambda: world.slack.state.ephemerals)
            (ephemeral,) = world.slack.state.ephemerals
            assert PUT_TOGETHER in ephemeral.text
            assert tool_texts.ADDRESS_LEAVES in ephemeral.text
            await world.slack.click(world.ann, ephemeral, tool_texts.ALLOW_ONCE)
            await world.answered()
        assert newest(world) == (
            "Seven berths [1], two of them free [2], and gold.\n\n**Sources**\n"
            f"- [1] [Harbours of Riga](http://a.example/riga)\n- [2] {PUT_TOGETHER}"
        )
        (stored,) = (one.text for _, one in world.store.messages if "Seven" in one.text)
        assert "- [1] [Harbours of Riga](http://a.example/riga)" in stored
        assert "[9]" not in stored
        assert len(engine.asked) == 1


def newest(world: World) -> str:
    answers = world.slack.state.answers(world.general)
    return answers[-1].text if answers else ""


async def test_in_discord_a_link_of_the_results_is_read_unasked_and_sources_are_links() -> None:
    async with the_web() as (web, _, tools), running_discord(clock := MovedClock(speed=1.0), window_s=WINDOW_S) as fake:
        host = answering_host(ScriptedProvider(asks_for("http://a.example/riga")), clock, tools=tools)
        async with serving(fake, host), host.answering():
            await fake.say(ANN, f"<@{BOT}> where can I moor in Riga?")
            await fake.until(lambda: [turn.state for turn in host.store.turns] == ["done"])
        assert len(web.requests) == 1
        (page,) = [one for one in by_the_bot(fake) if "Seven" in seen(one)]
    assert page["content"] == (
        "Seven berths [1], two of them free, and gold.\n\n**Sources**\n- [1] [Harbours of Riga](http://a.example/riga)"
    )


async def test_at_a_terminal_the_settings_alone_give_the_web(tmp_path: Path) -> None:
    async with web_world({}) as web, search_server((200, {"results": FOUND})) as engine:
        server = await asyncio.start_server(web.serve_public, "127.0.0.1", 0)
        place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        web.pages[f"{place}/riga"] = answer(b"Seven may be used by boats today.")
        on = {"COGENCY_WEB": "on", "COGENCY_WEB_SEARCH": f"searxng:{engine.address}", "COGENCY_TOOL_TIMEOUT_S": "90"}

        async def asked(question: str, **more: str) -> str:
            done = await asyncio.to_thread(cogency, tmp_path, "ask", question, **on, **more)
            return done.stdout

        closed = await asked(f'use web_fetch {{"url": "http://{place}/riga"}}')
        opened = await asked(f'use web_fetch {{"url": "http://{place}/riga"}}', COGENCY_NETWORKS_ALLOWED=place)
        found = await asked('use web_search {"query": "berths"}')
        server.close()
    assert "it is not on the public web" in closed
    assert "Seven may be used by boats today" in opened
    assert f"- [1] http://{place}/riga" in opened
    assert "[Harbours of Riga](http://a.example/riga)" in found
    assert len(web.requests) == 1
