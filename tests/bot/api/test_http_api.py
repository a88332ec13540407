"""What a client reads while its answer does not grow, and how a client that goes away is noticed."""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from agent.admission_terms import Terms
from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience
from agent.turn_records import Closing
from bot.api.asking import ApiAsking
from bot.api.http_api import HttpApi
from bot.api.tokens import OwnersAudit, TokenRequest, TokenService
from bot.api.wire import KEEP_ALIVE
from bot.chat.access.admission import AdmissionControl, AdmissionRules
from bot.chat.core import Core, PlatformAccess
from bot.chat.ports import NO_BUDGETS, NO_CHANNEL_RULES, ModelMenu
from bot.chat.reply.surface import PageContent, PageKey
from bot.chat.turns.control import RegisteredTurns
from tests.fakes.clock import FakeClock
from tests.fakes.store import store_in_memory
from tests.patience import PATIENCE_S, until


class Models:
    async def menu(self, who: object) -> ModelMenu:  # noqa: ARG002 -- as the port
        return ModelMenu("m", "")

    async def choose(self, who: object, name: str) -> None:
        """No test chooses."""


class SlowTurns(RegisteredTurns):
    """Shows a beginning, and ends when the test says so. `stopped`: the turn was stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on, self.begun, self.stopped = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.asking: ApiAsking | None = None

    async def ask(self, incoming: Incoming, terms: Terms | None = None) -> Outcome | None:  # noqa: ARG002 -- as the port
        assert self.asking is not None
        surface = self.asking.replies.surface_for(incoming)
        surface.begin(resumed=False)
        await surface.post(PageKey(1, 0), PageContent("The boat"))
        self.begun.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.stopped.set()
            raise
        await surface.post(PageKey(1, 0), PageContent("The boat is blue.", final=True))
        await self.asking.replies.ended(incoming, Closing(Outcome.ANSWERED, "The boat is blue."))
        return Outcome.ANSWERED


class Connection:
    """A client: what it sends, and what it reads."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.coming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.coming.put_nowait({"type": "http.request", "body": json.dumps(body).encode(), "more_body": False})
        self.read = b""
        self.status = 0

    def leave(self) -> None:
        self.coming.put_nowait({"type": "http.disconnect"})

    async def receive(self) -> dict[str, Any]:
        return await self.coming.get()

    async def send(self, message: Any) -> None:
        self.status = message.get("status", self.status)
        self.read += message.get("body", b"")


async def _opened(turns: SlowTurns) -> tuple[HttpApi, dict[str, Any]]:
    store, clock = store_in_memory(), FakeClock()
    core = Core(
        store=store,
        clock=clock,
        platforms=PlatformAccess(schedules={}, files_now={}),
        learning_model=lambda: pytest.fail("nothing is learned"),
        operates=lambda _: False,
        tool_timeout_s=1.0,
        admission=AdmissionControl(AdmissionRules(), NO_CHANNEL_RULES, NO_BUDGETS, clock),
        turns=turns,
    )
    tokens = TokenService(store.api_tokens, clock, lambda: "s" * 43, OwnersAudit(store.audit, clock))
    request = TokenRequest(name="ci", person="", audience=GroupAudience("slack:T1:C1"), source="slack:T1", channel="C1")
    secret = (await tokens.issue(request)).secret.reveal()
    turns.asking = ApiAsking(core, tokens, Models(), lambda: "0" * 32, "p")
    headers = [(b"authorization", f"Bearer {secret}".encode()), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/v1/responses", "headers": headers}
    return HttpApi(turns.asking, keep_alive_s=0.001), scope


async def test_a_client_reads_comments_while_its_answer_does_not_grow() -> None:
    turns = SlowTurns()
    api, scope = await _opened(turns)
    client = Connection({"model": "cogency", "input": "Where?", "stream": True})
    answering = asyncio.ensure_future(api(scope, client.receive, client.send))
    async with asyncio.timeout(PATIENCE_S):
        await until(lambda: KEEP_ALIVE in client.read)
        assert b'"delta": "The boat"' in client.read, "also what came with the beginning"
        turns.go_on.set()
        await answering
    assert client.status == 200
    assert b'"delta": " is blue."' in client.read
    assert b"response.completed" in client.read.rpartition(b"event: ")[2]


@pytest.mark.parametrize("streams", [True, False])
async def test_a_client_that_leaves_stops_its_turn_and_is_sent_nothing_more(streams: bool) -> None:
    turns = SlowTurns()
    api, scope = await _opened(turns)
    client = Connection({"model": "cogency", "input": "Where?", "stream": streams})
    answering = asyncio.ensure_future(api(scope, client.receive, client.send))
    async with asyncio.timeout(PATIENCE_S):
        await turns.begun.wait()
        client.leave()
        await answering
    assert turns.stopped.is_set()
    assert b"completed" not in client.read
    assert (client.status == 0) or streams
    assert turns.asking is not None
    assert len(turns.asking.replies) == 0


class CountingExecutor(ThreadPoolExecutor):
    """Counts what runs beside the event loop."""

    submitted = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        self.submitted += 1
        return super().submit(fn, *args, **kwargs)


async def test_a_large_body_is_read_beside_the_event_loop() -> None:
    executor = CountingExecutor(1)
    asyncio.get_running_loop().set_default_executor(executor)
    api, scope = await _opened(SlowTurns())
    for chars, submitted in ((10, 0), (100_000, 1)):
        client = Connection({"model": "cogency", "input": [], "instructions": "x" * chars})
        await api(scope, client.receive, client.send)
        assert (client.status, executor.submitted) == (400, submitted)
