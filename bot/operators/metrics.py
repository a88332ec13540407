"""Prometheus metrics: telemetry events become counters, gauges and histograms in a registry of our own.

Rules
  A label's values come from closed sets, except the names of models, endpoints and kinds of work, whose number is
  limited. No label shows who asked, where, or what.
  Events arrive on the event loop; the page is read in the HTTP server's thread. State that is not a metric of the
  library is replaced rather than changed, so that the thread can read it at any moment.
  Looking up prices is slow, so that is done when the page is read, in that thread.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from agent.events import CallFinished, CallStarted, IterationStarted, ModelAnswered, Outcome
from agent.memory.profile import LEARNING
from agent.messages import ModelCall
from agent.ports.clock import Clock
from agent.spending import NANO, cost
from bot.chat.telemetry import (
    AgentReported,
    BudgetSeen,
    Charged,
    ConnectionClosed,
    ConnectionOpened,
    HookUsed,
    JobEnd,
    JobOver,
    LoopWoke,
    PageWritten,
    PhaseBegan,
    RateLimited,
    Recalled,
    RequestHandled,
    ShardLeft,
    ShardTaken,
    SilenceSeen,
    StoreSeen,
    TelemetryEvent,
    ToolDecided,
    TurnBegan,
    TurnOver,
    TurnUnended,
    WebhookSent,
    WriteEnd,
)
from bot.operators.texts import METRICS

MAX_NAMES: Final = 30  # Of models, endpoints and kinds of work: more than are configured; others become "other"
MAX_UNPRICED: Final = 10_000  # Calls that wait for their price; if no one reads the page, the oldest are dropped
OTHER: Final = "other"

SECONDS: Final = (0.25, 0.5, 1, 2, 3, 5, 8, 13, 20, 30, 60, 120, 300, 600)  # For what people wait for
FAST: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10)  # For what people should not notice


class Names:
    """Limits the number of a label's values: the first `limit` names are kept, the others become "other"."""

    def __init__(self, limit: int = MAX_NAMES) -> None:
        self._limit = limit
        self._seen = set[str]()

    def known(self, name: str) -> str:
        if name not in self._seen:
            if len(self._seen) >= self._limit:
                return OTHER
            self._seen.add(name)
        return name


@dataclass(frozen=True, slots=True)
class Declared:
    """What a metric is ("counter", "gauge", "histogram"), and the names of its labels."""

    kind: str
    labels: Sequence[str]


@dataclass(slots=True)
class _OpenTurn:
    platform: str
    started: float
    waited_s: float
    shown: bool
    """Whether its first text is on the platform, or was before this process claimed it."""
    asked_model: float = 0.0


class Metrics:
    """Implements `bot.chat.telemetry.Telemetry`. `page` can be called from any thread."""

    def __init__(self, clock: Clock, version: str) -> None:
        self._clock = clock
        self._registry = CollectorRegistry()
        self.declared = dict[str, Declared]()  # By name, without "cogency_" before it and "_total" behind it
        self._turns_open: dict[int, _OpenTurn] = {}
        self._calls_open: dict[tuple[int, str], float] = {}
        self._sockets: dict[tuple[str, int], float] = {}
        self._unpriced = deque[tuple[str, ModelCall]](maxlen=MAX_UNPRICED)
        self._beat = clock.monotonic()
        self._models, self._work, self._endpoints, self._webhook_names = Names(), Names(), Names(), Names()
        self._late = frozenset({LEARNING})  # The kinds of jobs that have been late at some time
        self._silent = frozenset[str]()
        self._define(version)

    def _define(self, version: str) -> None:
        def counter(name: str, *labels: str) -> Counter:
            self.declared[name] = Declared("counter", labels)
            return Counter(f"cogency_{name}", METRICS[name], labels, registry=self._registry)

        def gauge(name: str, *labels: str) -> Gauge:
            self.declared[name] = Declared("gauge", labels)
            return Gauge(f"cogency_{name}", METRICS[name], labels, registry=self._registry)

        def histogram(name: str, buckets: Sequence[float], *labels: str) -> Histogram:
            self.declared[name] = Declared("histogram", labels)
            return Histogram(f"cogency_{name}", METRICS[name], labels, registry=self._registry, buckets=buckets)

        gauge("build_info", "version").labels(version).set(1)
        self._turns = counter("turns", "platform", "outcome")
        self._running = gauge("turns_running")
        self._turn_s = histogram("turn_seconds", SECONDS, "platform")
        self._wait_s = histogram("turn_wait_seconds", SECONDS, "platform")
        self._text_s = histogram("first_text_seconds", SECONDS, "platform")
        self._writes = counter("reply_writes", "platform", "kind", "outcome")
        self._limited = counter("rate_limited", "platform")
        self._requests = counter("http_requests", "endpoint", "outcome")
        self._calls = counter("model_calls", "model", "outcome")
        self._call_s = histogram("model_call_seconds", SECONDS, "model")
        self._tokens = counter("tokens", "work", "model", "kind")
        self._dollars = counter("spent_dollars", "work", "model")
        self._no_price = counter("unpriced_calls", "model")
        self._decided = counter("tool_calls", "decision", "effect")
        self._tool_s = histogram("tool_call_seconds", SECONDS, "status")
        self._hooks = counter("hook_calls", "hook", "outcome")
        self._hook_s = histogram("hook_call_seconds", FAST, "hook")
        self._recall_s = histogram("recall_seconds", FAST)
        self._backlog = gauge("backlog")
        self._jobs = counter("jobs", "job", "outcome")
        self._job_s = histogram("job_seconds", SECONDS, "job")
        self._lag = gauge("job_lag_seconds", "job")
        self._lost = counter("leases_lost", "of")
        self._webhooks = counter("webhooks_sent", "webhook", "outcome")
        self._budgets = counter("budget_events", "budget", "event")
        self._opened = counter("sockets_opened", "platform")
        self._taken = counter("shards_taken", "platform", "how")
        self._shards = gauge("shard_held", "platform", "shard")
        self._silence = gauge("socket_silence_seconds", "platform")
        self._late_s = histogram("loop_lag_seconds", FAST)
        self._registry.register(_WithoutCreated(self.ages))
        ProcessCollector(registry=self._registry)

    def page(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        self._price()
        return generate_latest(_WithoutCreated(self._registry.collect))

    def record(self, event: TelemetryEvent, /) -> None:
        match event:
            case TurnBegan():
                self._turn_began(event)
            case PhaseBegan():
                pass
            case AgentReported():
                self._agent_told(event)
            case PageWritten():
                self._page_written(event)
            case TurnOver(turn, end):
                self._turn_over(turn, end)
            case Charged(work, calls):
                self._charge(self._work.known(work), calls)
            case ToolDecided() | HookUsed():
                self._audited(event)
            case Recalled(took_s):
                self._recall_s.observe(took_s)
            case JobOver():
                self._job_over(event)
            case StoreSeen():
                self._store_seen(event)
            case BudgetSeen(budget, mark):
                self._budgets.labels(budget, mark).inc()
            case RateLimited() | RequestHandled() | WebhookSent():
                self._exchanged(event)
            case ConnectionOpened() | ConnectionClosed() | ShardTaken() | ShardLeft():
                self._connected(event)
            case SilenceSeen(silent_s):
                self._silence_seen(silent_s)
            case LoopWoke(late_s):
                self._beat = self._clock.monotonic()
                self._late_s.observe(late_s)
            case _:
                assert_never(event)

    def _audited(self, event: ToolDecided | HookUsed) -> None:
        match event:
            case ToolDecided(decision, effect):
                self._decided.labels(decision, effect or "none").inc()
            case HookUsed(use):
                self._hooks.labels(use.point, use.end).inc()
                self._hook_s.labels(use.point).observe(use.took_s)

    def _exchanged(self, event: RateLimited | RequestHandled | WebhookSent) -> None:
        match event:
            case RateLimited(platform):
                self._limited.labels(platform).inc()
            case RequestHandled(endpoint, end):
                self._requests.labels(self._endpoints.known(endpoint), end).inc()
            case WebhookSent(webhook, end):
                self._webhooks.labels(self._webhook_names.known(webhook), end).inc()

    def _connected(self, event: ConnectionOpened | ConnectionClosed | ShardTaken | ShardLeft) -> None:
        match event:
            case ConnectionOpened(platform, socket):
                self._opened.labels(platform).inc()
                self._sockets = {**self._sockets, (platform, socket): self._clock.monotonic()}
            case ConnectionClosed(platform, socket):
                self._sockets = {key: since for key, since in self._sockets.items() if key != (platform, socket)}
            case ShardTaken(platform, shard, orphaned):
                self._taken.labels(platform, "takeover" if orphaned else "free").inc()
                self._shards.labels(platform, shard).set(1)
            case ShardLeft(platform, shard):
                self._shards.remove(platform, shard)

    def _turn_began(self, event: TurnBegan) -> None:
        opened = _OpenTurn(event.platform, self._clock.monotonic(), event.waited_s, event.resumed)
        self._turns_open[event.turn] = opened
        self._running.set(len(self._turns_open))
        if not event.resumed:
            self._wait_s.labels(event.platform).observe(event.waited_s)

    def _turn_over(self, turn: int, end: Outcome | TurnUnended) -> None:
        if (opened := self._turns_open.pop(turn, None)) is None:
            return
        self._running.set(len(self._turns_open))
        self._turns.labels(opened.platform, end).inc()
        self._turn_s.labels(opened.platform).observe(self._clock.monotonic() - opened.started)
        self._calls_open = {key: since for key, since in self._calls_open.items() if key[0] != turn}
        if end is TurnUnended.LOST:
            self._lost.labels("turn").inc()

    def _agent_told(self, reported: AgentReported) -> None:
        now, opened = self._clock.monotonic(), self._turns_open.get(reported.turn)
        match reported.event:
            case IterationStarted() if opened is not None:
                opened.asked_model = now
            case ModelAnswered(name, _, failure) if opened is not None:
                model = self._models.known(name)
                self._calls.labels(model, failure or "ok").inc()
                self._call_s.labels(model).observe(now - opened.asked_model)
            case CallStarted(id_):
                self._calls_open[reported.turn, id_] = now
            case CallFinished(id_, result) if (started := self._calls_open.pop((reported.turn, id_), None)) is not None:
                self._tool_s.labels(result.status).observe(now - started)
            case _:
                pass

    def _page_written(self, event: PageWritten) -> None:
        if (opened := self._turns_open.get(event.turn)) is None:
            return
        self._writes.labels(opened.platform, event.kind, event.end).inc()
        if event.has_text and event.end is WriteEnd.DONE and not opened.shown:
            opened.shown = True
            self._text_s.labels(opened.platform).observe(opened.waited_s + self._clock.monotonic() - opened.started)

    def _charge(self, work: str, calls: Sequence[ModelCall]) -> None:
        for call in calls:
            model, used = self._models.known(call.model), call.usage
            for kind, count in (
                ("input", used.input_uncached),
                ("input_cached", used.input_cached),
                ("input_written", used.input_written),
                ("output", used.output),
                ("reasoning", used.reasoning),
            ):
                self._tokens.labels(work, model, kind).inc(count)
            self._unpriced.append((work, call))

    def _price(self) -> None:
        while self._unpriced:
            work, call = self._unpriced.popleft()
            price, model = cost(call), self._models.known(call.model)
            if price is None:
                self._no_price.labels(model).inc()
            else:
                self._dollars.labels(work, model).inc(price / NANO)

    def _job_over(self, event: JobOver) -> None:
        job = self._work.known(event.kind)
        self._jobs.labels(job, event.end).inc()
        self._job_s.labels(job).observe(event.took_s)
        if event.end is JobEnd.LOST:
            self._lost.labels("job").inc()

    def _silence_seen(self, silent_s: Mapping[str, float]) -> None:
        for platform in self._silent - silent_s.keys():
            self._silence.remove(platform)
        for platform, seconds in silent_s.items():
            self._silence.labels(platform).set(seconds)
        self._silent = frozenset(silent_s)

    def _store_seen(self, event: StoreSeen) -> None:
        self._backlog.set(event.load.waiting)
        late_s = dict.fromkeys(self._late, 0.0) | {self._work.known(kind): late for kind, late in event.late_s.items()}
        for job, late in late_s.items():
            self._lag.labels(job).set(late)
        self._late = frozenset(late_s)

    def ages(self) -> Iterator[Metric]:
        """Yield the metrics that grow with time alone."""
        now = self._clock.monotonic()

        def gauge(name: str, value: float | None = None, labels: Sequence[str] | None = None) -> GaugeMetricFamily:
            self.declared[name] = Declared("gauge", labels or ())
            return GaugeMetricFamily(f"cogency_{name}", METRICS[name], value, labels)

        yield gauge("loop_silence_seconds", max(0.0, now - self._beat))
        sockets, oldest = (gauge(name, labels=["platform"]) for name in ("sockets", "socket_age_seconds"))
        sockets_open = self._sockets
        for platform in sorted({platform for platform, _ in sockets_open}):
            ages = [now - opened for (name, _), opened in sockets_open.items() if name == platform]
            sockets.add_metric([platform], len(ages))
            oldest.add_metric([platform], max(ages))
        yield sockets
        yield oldest


@dataclass(frozen=True, slots=True)
class _WithoutCreated:
    """A collector that is read again each time, without the library's `_created` samples."""

    metrics: Callable[[], Iterable[Metric]]

    def collect(self) -> Iterator[Metric]:
        for metric in self.metrics():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric
