"""Search engines on loopback, which answer as SearXNG, Brave and Tavily do."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

FOUND: list[dict[str, Any]] = [
    {
        "url": "https://a.example/riga?x=1",
        "title": "Harbours of <b>Riga</b>",
        "content": "Seven <em>berths</em> &amp; more.",
        "publishedDate": "2026-11-20T10:00:00",
        "engine": "brave",
        "score": 1.0,
    },
    {"url": "https://b.example/", "title": "Berths", "content": "", "publishedDate": None},
    {"url": "https://a.example/riga?x=1", "title": "The same again", "content": "x"},
    {"url": "javascript:alert(1)", "title": "No page", "content": "x"},
    {"title": "Without an address"},
]


@dataclass
class SearchServer:
    """`answers`: the responses to the requests, status and body; the last one repeats. `asked`: the requests."""

    answers: list[tuple[int, Any]] = field(default_factory=lambda: [(200, {"query": "x", "results": FOUND})])
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    address: str = ""

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.text()
        self.asked.append(
            {
                "path": request.path,
                "query": dict(request.query),
                "headers": {name.lower(): value for name, value in request.headers.items()},
                "body": json.loads(body) if body else None,
            }
        )
        status, answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(answer, str):
            return web.Response(status=status, text=answer, content_type="text/html")
        return web.json_response(answer, status=status)


@asynccontextmanager
async def search_server(*answers: tuple[int, Any]) -> AsyncGenerator[SearchServer]:
    server = SearchServer(list(answers)) if answers else SearchServer()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


@dataclass
class FakeLibrary:
    """Used like `ddgs.DDGS`: one call at a time, which blocks its thread."""

    text: Callable[..., list[dict[str, Any]]]
