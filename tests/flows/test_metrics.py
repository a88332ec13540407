"""What Prometheus reads of the real service: each metric moves with what it counts, and none names anybody."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from agent.errors import CogencyError
from agent.events import Outcome
from agent.jobs import Job
from agent.machine import CLOCK
from agent.messages import ModelCall, Usage
from agent.providers.scripted import ScriptedProvider, Until
from agent.spending import NANO, cost
from bot.app.parts import with_telemetry
from bot.app.platforms import look_at
from bot.budgets.budgets import Budget, BudgetAllowances, Budgets
from bot.budgets.gate import BudgetGate, ExtensionRules
from bot.chat.jobs import JobWorker
from bot.chat.telemetry import ShardLeft, ShardTaken
from bot.operators.metrics import Metrics
from bot.operators.texts import METRICS
from bot.webhooks.outgoing.sending import NotReceived, Received
from bot.webhooks.receiving import Receiver
from tests.bot.webhooks.outgoing.test_service import bench
from tests.fakes.discord_gateway import running_discord
from tests.fakes.discord_world import ANN, BOT
from tests.fakes.incoming import said
from tests.fakes.model_server import DONE, ModelServer, Reply, Wait, event, head, text
from tests.fakes.no_authorities import NO_AUTHORITIES
from tests.fakes.sign_in_world import free_port
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_faults import limited
from tests.fakes.slack_things import BOT_USER
from tests.fakes.store import store_in_memory
from tests.fakes.surface import FakeSurface
from tests.flows.bot import database_in, flow_runner, opened, turns_on
from tests.flows.test_service import by_model, on_discord, on_slack, service
from tests.patience import PATIENCE_S, until

MODEL = "openai:gpt-oss-120b"
RECALL = '<execute>[{"name": "recall", "args": {"query": "zanzibar"}}]\n</execute>'
USAGE = {"prompt_tokens": 1_000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 400}}

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def answering(*steps: str | Wait) -> Reply:
    said = [text(step) if isinstance(step, str) else step for step in steps]
    return [head(), *said, event({"choices": [], "usage": USAGE}), DONE]


async def scraped(port: int) -> Samples:
    async with httpx.AsyncClient(timeout=PATIENCE_S, verify=NO_AUTHORITIES) as client:
        answer = await client.get(f"http://127.0.0.1:{port}/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return read(answer.text)


def read(page: str) -> Samples:
    families = text_string_to_metric_families(page)
    return {(one.name, frozenset(one.labels.items())): one.value for family in families for one in family.samples}


def value(samples: Samples, name: str, **labels: str) -> float | None:
    return samples.get((f"cogency_{name}", frozenset(labels.items())))


async def reading(port: int, holds: Callable[[Samples], bool]) -> Samples:
    """What stands there once it holds."""
    samples: Samples = {}
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not holds(samples := await scraped(port)):  # noqa: ASYNC110 -- it happens in another process
                await asyncio.sleep(0.05)
    except TimeoutError:
        pytest.fail(f"the metrics never said so; last they said {samples}")
    return samples


def hooks_in(folder: Path) -> dict[str, str]:
    (folder / "my_hooks.py").write_text("async def before_call(call):\n    return call\n")
    return {"COGENCY_HOOKS": "my_hooks.py"}


async def test_each_metric_moves_with_what_it_counts(tmp_path: Path) -> None:
    port, shown = free_port(), asyncio.Event()
    async with (
        FakeSlack(CLOCK) as slack,
        running_discord(CLOCK) as discord,
        ModelServer(
            [
                answering(RECALL),
                answering("It lies in the harbour."),
                answering("It does, ", Wait(shown.wait), "surely."),
            ]
        ) as model,
    ):
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        settings = {**on_slack(slack), **on_discord(discord), **by_model(model), "COGENCY_MODEL": MODEL}
        settings |= hooks_in(tmp_path)
        async with service(tmp_path, **settings, COGENCY_HEALTH=f"127.0.0.1:{port}"):
            await slack.connected(2)
            await discord.until(lambda: discord.identified and discord.rest.commands)
            slack.faults["chat.postMessage"].append(limited(1))
            headers = {"Retry-After": "0.1", "Via": "1.1 google", "X-RateLimit-Scope": "user"}
            body = {"retry_after": 0.1, "message": "limited", "global": False}
            discord.rest.fail("POST", "/messages", 429, headers=headers, body=body, times=1)
            asked = await slack.say(ann, general, f"<@{BOT_USER}> where is my zanzibar boat?")
            await until(lambda: any("harbour" in page.text for page in slack.state.answers(general, asked.ts)))
            there = await discord.say(ANN, f"<@{BOT}> does it?")
            await until(lambda: any("It does" in page for page in discord.world.shown(there["id"])))
            shown.set()
            await until(lambda: any("surely" in page for page in discord.world.shown(there["id"])))
            samples = await reading(
                port,
                lambda now: (
                    value(now, "turns_total", platform="slack", outcome="answered") == 1
                    and value(now, "turns_total", platform="discord", outcome="answered") == 1
                    and (value(now, "loop_lag_seconds_count") or 0) > 0
                    and value(now, "backlog") == 0
                    and value(now, "socket_silence_seconds", platform="slack") is not None
                    and value(now, "socket_silence_seconds", platform="discord") is not None
                ),
            )
    for platform, sockets in (("slack", 2), ("discord", 1)):
        for name in ("turn_seconds_count", "turn_wait_seconds_count", "first_text_seconds_count"):
            assert value(samples, name, platform=platform) == 1
        assert (value(samples, "first_text_seconds_sum", platform=platform) or 0) > 0
        assert value(samples, "reply_writes_total", platform=platform, kind="post", outcome="done") == 1
        assert value(samples, "sockets", platform=platform) == sockets
        assert value(samples, "sockets_opened_total", platform=platform) == sockets
        assert (value(samples, "socket_age_seconds", platform=platform) or 0) > 0
        assert 0 <= samples["cogency_socket_silence_seconds", frozenset({("platform", platform)})] < PATIENCE_S
    assert value(samples, "reply_writes_total", platform="slack", kind="post", outcome="limited") == 1
    assert value(samples, "rate_limited_total", platform="slack") == 1
    assert value(samples, "rate_limited_total", platform="discord") == 1, "its library waits by itself"
    assert (value(samples, "reply_writes_total", platform="discord", kind="edit", outcome="done") or 0) >= 1
    assert value(samples, "model_calls_total", model=MODEL, outcome="ok") == 3
    assert value(samples, "model_call_seconds_count", model=MODEL) == 3
    spent = {kind: value(samples, "tokens_total", work="turn", model=MODEL, kind=kind) for kind in ("input", "output")}
    assert spent == {"input": 1_800, "output": 300}
    assert value(samples, "tokens_total", work="turn", model=MODEL, kind="input_cached") == 1_200
    price = cost(ModelCall(MODEL, Usage(600, 400, 0, 100)))
    assert value(samples, "spent_dollars_total", work="turn", model=MODEL) == pytest.approx(3 * (price or 0) / NANO)
    assert value(samples, "tool_calls_total", decision="unasked", effect="reads") == 1
    assert value(samples, "tool_call_seconds_count", status="success") == 1
    assert value(samples, "hook_calls_total", hook="before_call", outcome="passed") == 1
    assert value(samples, "hook_call_seconds_count", hook="before_call") == value(samples, "recall_seconds_count") == 1
    assert value(samples, "turns_running") == 0
    assert value(samples, "job_lag_seconds", job="learning") == 0
    assert 0 <= (value(samples, "loop_silence_seconds") or 0) < PATIENCE_S
    assert value(samples, "build_info", version=version("cogency-bot")) == 1
    assert samples["process_resident_memory_bytes", frozenset()] > 0
    words = {word for _, labels in samples for _, word in labels}
    assert not words & {"zanzibar", "harbour", ann, general, asked.ts, "ann", "general"}
    assert {word for word in words - CLOSED if not (word.startswith("openai:") or IS_NUMBER.fullmatch(word))} == set()


CLOSED = {
    *("slack", "discord", "done", "limited", "post", "edit", "ok", "turn", "success", "unasked", "reads"),
    *(
        "before_call",
        "passed",
        "learning",
        "embedding",
        "answered",
        "input",
        "input_cached",
        "input_written",
        "output",
        "reasoning",
    ),
}
IS_NUMBER = re.compile(r"[0-9.]+|\+Inf")


async def test_what_waits_is_lost_or_fails_is_counted(tmp_path: Path) -> None:
    metrics, gate, clock = Metrics(CLOCK, "1"), asyncio.Event(), CLOCK
    surface = FakeSurface(clock)

    def now(name: str, **labels: str) -> float | None:
        return value(read(metrics.page().decode()), name, **labels)

    model = ScriptedProvider([["Half ", Until(gate.wait), "of it."], "All of it.", "Then."])
    async with opened(await database_in(tmp_path)) as opened_store:
        store = with_telemetry(opened_store, metrics)
        turns = turns_on(store, replace(flow_runner(store, model, clock), telemetry=metrics), lambda _: surface)
        async with turns.serving():
            asking = asyncio.create_task(turns.ask(replace(said("where is it?"), time=clock.now())))
            await until(lambda: now("turns_running") == 1 and now("first_text_seconds_count", platform="test") == 1)
            await store.ledger.accept(said("and then?"))
            await look_at(store, metrics, dict)
            assert now("backlog") == 1
            await store.ledger.release_all()  # as another process would that took it over
            gate.set()
            assert await asking is Outcome.ANSWERED
            await turns.idle()
        assert now("leases_lost_total", of="turn") == 1
        assert now("turns_total", platform="test", outcome="lost") == 1
        assert (now("unpriced_calls_total", model="scripted") or 0) >= 1

        async def fail(_: Job) -> None:
            raise CogencyError("not today")

        async def lose(job: Job) -> None:
            await store.jobs.finish(job)

        worker = JobWorker(store.jobs, {"fails": fail, "loses": lose}, clock, "w", telemetry=metrics)
        for kind in ("fails", "loses"):
            await store.jobs.schedule(kind, "x", "", clock.now() - timedelta(minutes=5))
        await look_at(store, metrics, dict)
        assert 300 <= (now("job_lag_seconds", job="fails") or 0) < 300 + PATIENCE_S
        assert [await worker.work(), await worker.work(), await worker.work()] == [True, True, False]
        await look_at(store, metrics, dict)
    assert now("job_lag_seconds", job="fails") == 0, "it waits for its next time"
    assert now("jobs_total", job="fails", outcome="failed") == 1
    assert now("jobs_total", job="loses", outcome="lost") == 1
    assert now("job_seconds_count", job="fails") == 1
    assert now("leases_lost_total", of="job") == 1


def test_connections_that_a_process_takes_are_counted_by_how_it_came_by_them() -> None:
    metrics = Metrics(CLOCK, "1")
    for number, orphaned in enumerate((True, False, True)):
        metrics.record(ShardTaken("discord", number, orphaned=orphaned))
    metrics.record(ShardLeft("discord", 1))
    samples = read(metrics.page().decode())
    taken = [value(samples, "shards_taken_total", platform="discord", how=how) for how in ("takeover", "free")]
    assert taken == [2, 1]
    held = [value(samples, "shard_held", platform="discord", shard=str(number)) for number in range(3)]
    assert held == [1, None, 1]


async def test_requests_of_other_programs_are_counted_by_endpoint_and_outcome() -> None:
    metrics = Metrics(CLOCK, "1")
    receiver = Receiver({}, store_in_memory().webhook_events, CLOCK, metrics)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(receiver), base_url="http://bot.test") as client:
        assert (await client.post("/hooks/none")).status_code == 404
    samples = read(metrics.page().decode())
    assert value(samples, "http_requests_total", endpoint="webhook unknown", outcome="invalid") == 1


async def test_attempts_to_deliver_webhooks_are_counted_by_webhook_and_outcome() -> None:
    metrics = Metrics(CLOCK, "1")
    made = await bench(lambda number: NotReceived("no answer") if number == 0 else Received())
    await made.finish(said("where is it?"))
    await made.work_for(timedelta(hours=1))
    for each in made.told:
        metrics.record(each)
    samples = read(metrics.page().decode())
    counts = [value(samples, "webhooks_sent_total", webhook="crm", outcome=end) for end in ("failed", "delivered")]
    assert counts == [1, 1]


async def test_what_happens_to_budgets_is_counted_by_budget_and_event() -> None:
    store, metrics = store_in_memory(), Metrics(CLOCK, "1")
    days = store.budget_days
    allowances = BudgetAllowances(Budgets(person=Budget(tokens=100)), store.spending, store.preferences, CLOCK, days)
    gate = BudgetGate(allowances, ExtensionRules(50, None, frozenset({"op"}), "op".__eq__), telemetry=metrics)
    await store.spending.charge("ann", "turn", [ModelCall("m", Usage(output=100))], CLOCK.now())
    assert await gate.held(said("where is it?"), 1, (), waits=True) is not None
    samples = read(metrics.page().decode())
    counts = [value(samples, "budget_events_total", budget="person", event=event) for event in ("near", "waits")]
    assert counts == [1, 1]


def test_each_metric_is_asserted_in_a_flow() -> None:
    asserted = Path(__file__).read_text(encoding="utf-8")
    assert not [name for name in METRICS if not re.search(rf'"{name}(?:_total|_count|_sum)?"', asserted)]
