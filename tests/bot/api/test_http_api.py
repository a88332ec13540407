"""What a client reads while its answer does not grow, and how a client that goes away is noticed."""

import asyncio
import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from agent.admission_terms import Terms
from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, PersonAudience
from agent.messages import ModelCall, Usage
from agent.progress import Progress
from agent.turn_records import Closing
from bot.api.asking import ApiAsking
from bot.api.http_api import MAX_REQUESTS, HttpApi
from bot.api.tokens import DailyBudget, OwnersAudit, TokenRequest, TokenService
from bot.api.wire import KEEP_ALIVE
from bot.chat.access.admission import AdmissionControl, AdmissionRules
from bot.chat.core import Core, PlatformAccess
from bot.chat.ports import NO_BUDGETS, NO_CHANNEL_RULES, BudgetChecks, ModelMenu, NoBudgets
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
        self.headers = dict[bytes, bytes]()

    def leave(self) -> None:
        self.coming.put_nowait({"type": "http.disconnect"})

    async def receive(self) -> dict[str, Any]:
        return await self.coming.get()

    async def send(self, message: Any) -> None:
        self.status = message.get("status", self.status)
        self.headers |= dict(message.get("headers", ()))
        self.read += message.get("body", b"")


async def _opened(
    turns: SlowTurns,
    budget: DailyBudget = DailyBudget(),  # noqa: B008 -- frozen
    budgets: BudgetChecks = NO_BUDGETS,
) -> tuple[HttpApi, dict[str, Any]]:
    store, clock, ids = store_in_memory(), FakeClock(), count()
    core = Core(
        store=store,
        clock=clock,
        platforms=PlatformAccess(schedules={}, files_now={}),
        learning_model=lambda: pytest.fail("nothing is learned"),
        operates=lambda _: False,
        tool_timeout_s=1.0,
        admission=AdmissionControl(AdmissionRules(), NO_CHANNEL_RULES, budgets, clock),
        turns=turns,
    )
    tokens = TokenService(store.api_tokens, clock, lambda: "s" * 43, OwnersAudit(store.audit, clock))
    audience = GroupAudience("slack:T1:C1")
    request = TokenRequest(name="ci", person="", audience=audience, source="slack:T1", channel="C1", budget=budget)
    secret = (await tokens.issue(request)).secret.reveal()
    turns.asking = ApiAsking(core, tokens, Models(), lambda: f"{next(ids):032}", "p")
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


async def test_a_token_has_a_bounded_number_of_requests_at_a_time() -> None:
    turns = SlowTurns()
    api, scope = await _opened(turns)
    clients = [Connection({"model": "cogency", "input": "Where?"}) for _ in range(MAX_REQUESTS)]
    answering = [asyncio.ensure_future(api(scope, client.receive, client.send)) for client in clients]
    asking = turns.asking
    assert asking is not None
    async with asyncio.timeout(PATIENCE_S):
        await until(lambda: len(asking.replies) == MAX_REQUESTS)
        beyond = Connection({"model": "cogency", "input": "Where?"})
        await api(scope, beyond.receive, beyond.send)
        assert (beyond.status, beyond.headers[b"retry-after"]) == (429, b"5")
        turns.go_on.set()
        await asyncio.gather(*answering)
        again = Connection({"model": "cogency", "input": "Where?"})
        await api(scope, again.receive, again.send)
    assert {client.status for client in (*clients, again)} == {200}


class SpendingTurns(SlowTurns):
    """Two turns, each of which calls a model for 40 tokens until it is ended. They end together: nothing of either is
    recorded before. `calls`: of both.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls, self.both = 0, asyncio.Barrier(2)

    async def ask(self, incoming: Incoming, terms: Terms | None = None) -> Outcome | None:  # noqa: ARG002 -- as the port
        assert self.asking is not None
        await self.both.wait()
        progress = Progress()
        while await self.asking.replies.end_due(incoming, progress) is None and self.calls < 100:
            self.calls += 1
            progress = replace(progress, calls=(*progress.calls, ModelCall("m", Usage(output=40))))
        await self.both.wait()
        return Outcome.REFUSED


async def test_requests_at_the_same_time_share_the_budget_of_their_token() -> None:
    turns = SpendingTurns()
    api, scope = await _opened(turns, DailyBudget(tokens=400))
    clients = [Connection({"model": "cogency", "input": "Where?"}) for _ in range(2)]
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*(api(scope, client.receive, client.send) for client in clients))
    assert turns.calls in {10, 11}, "each may have begun one call that the other did not know of"
    assert {client.status for client in clients} == {429}
    assert all(b"budget of 400 tokens" in client.read for client in clients)
    assert all(b"retry-after" in client.headers for client in clients)


class SharedBudgets(NoBudgets):
    """What others spend counts, too."""

    is_spent = False

    async def budget_left(self, incoming: Incoming, calls: Sequence[ModelCall] = ()) -> str | None:  # noqa: ARG002 -- as the port
        return "You have used your budget for today." if self.is_spent else None


class DelayedTurns(SlowTurns):
    """A turn that waits, while others use up the budget."""

    def __init__(self, budgets: SharedBudgets) -> None:
        super().__init__()
        self.budgets = budgets

    async def ask(self, incoming: Incoming, terms: Terms | None = None) -> Outcome | None:  # noqa: ARG002 -- as the port
        assert self.asking is not None
        self.budgets.is_spent = True
        sentence = "You have used your budget for today."
        await self.asking.replies.surface_for(incoming).post(PageKey(1, 0), PageContent(sentence, final=True))
        await self.asking.replies.ended(incoming, Closing(Outcome.REFUSED, sentence))
        return Outcome.REFUSED


@pytest.mark.parametrize("streams", [True, False])
async def test_a_budget_that_is_used_up_while_a_question_waits_has_the_status_of_a_limit(streams: bool) -> None:
    budgets = SharedBudgets()
    api, scope = await _opened(DelayedTurns(budgets), budgets=budgets)
    client = Connection({"model": "cogency", "input": "Where?", "stream": streams})
    await api(scope, client.receive, client.send)
    assert b"You have used your budget for today." in client.read
    assert b"rate_limit_exceeded" in client.read
    assert client.status == (200 if streams else 429), "a stream has begun, and ends with the error"


async def test_questions_by_the_api_and_by_the_mcp_server_share_the_budget_of_their_token() -> None:
    turns = SlowTurns()
    await _opened(turns)
    assert turns.asking is not None
    asking, ann = turns.asking, "slack:T1:U1"
    store, now = asking.core.store, asking.core.clock.now()
    budget = DailyBudget(tokens=100)
    request = TokenRequest(name="ide", person=ann, audience=PersonAudience(ann), source="slack:T1", budget=budget)
    tokens = TokenService(
        store.api_tokens, asking.core.clock, lambda: "t" * 43, OwnersAudit(store.audit, asking.core.clock)
    )
    token = (await tokens.issue(request)).token
    for account, is_spent in ((token.account, False), ("C1", False), (token.mcp_account, True)):
        await store.spending.charge(ann, "turn", [ModelCall("m", Usage(output=60))], now, account)
        assert (await asking.spent(token) is not None) is is_spent
