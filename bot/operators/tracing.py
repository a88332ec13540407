"""OpenTelemetry traces, by its conventions for generative AI: how a turn spent its time. Needs the `otel` extra.

Rules
  A turn is a span. Its phases are the children, one after the other and without a gap, so that they add up to it.
  Parallel work is below a phase: the tool calls of one round, and each write to the platform.
  No content: neither texts nor arguments nor results, not even if OpenTelemetry's own setting asks for them, because
  nothing could be forgotten where spans are sent. Only turns and conversations have ids.
  The environment says where spans are sent, how many of them, and under which name, by OpenTelemetry's own variables.
"""

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context
from opentelemetry.util.types import AttributeValue

from agent.events import AgentEvent, CallFinished, CallStarted, IterationStarted, ModelAnswered, Outcome
from agent.messages import ResultStatus, Usage
from agent.ports.clock import Clock
from bot.chat.telemetry import (
    AgentReported,
    PageWritten,
    Phase,
    PhaseBegan,
    TelemetryEvent,
    TurnBegan,
    TurnOver,
    TurnUnended,
)

NANO: Final = 1_000_000_000
AGENT: Final = "cogency"
TOOLS: Final = "tools"  # The phase in which the calls of one round run
# For unsent spans when the process ends; with all other steps of the shutdown, it stays below a supervisor's limit.
SHUTDOWN_S: Final = 1.0
# The conventions' names of vendors, where they differ from ours.
VENDOR_NAMES: Final[Mapping[str, str]] = {
    "openai-realtime": "openai",
    "gemini": "gcp.gemini",
    "gemini-live": "gcp.gemini",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
FAILURES: Final = frozenset({Outcome.CUT, Outcome.EXHAUSTED, Outcome.REFUSED, TurnUnended.LOST, TurnUnended.FAILED})


@dataclass(slots=True)
class _OpenTrace:
    """`phase`: the current one, called `phase_name`. `phases`: all so far, with their start times."""

    turn: Span
    phase: Span
    phase_name: str
    phases: list[tuple[int, Span]]
    tools: dict[str, Span] = field(default_factory=dict[str, Span])
    used: Usage = field(default_factory=Usage)


class Traces:
    """Implements `bot.chat.telemetry.Telemetry`."""

    def __init__(self, tracer: Tracer, clock: Clock) -> None:
        self._tracer = tracer
        self._clock = clock
        # One offset for all spans, so that setting the clock does not distort them.
        self._epoch_ns = round((clock.now().timestamp() - clock.monotonic()) * NANO)
        self._open: dict[int, _OpenTrace] = {}

    def record(self, event: TelemetryEvent, /) -> None:
        match event:
            case TurnBegan():
                self._begin(event)
            case PhaseBegan(turn, phase) if turn in self._open:
                self._begin_phase(self._open[turn], phase)
            case AgentReported(turn, told, model) if turn in self._open:
                self._agent_told(self._open[turn], told, model)
            case PageWritten(turn) if turn in self._open:
                self._page_written(self._open[turn], event)
            case TurnOver(turn, end) if turn in self._open:
                self._end(self._open.pop(turn), end)
            case _:
                pass

    def _now_ns(self) -> int:
        return self._epoch_ns + round(self._clock.monotonic() * NANO)

    def _span(
        self,
        name: str,
        parent: Span | None,
        attributes: Mapping[str, AttributeValue],
        at_ns: int,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span:
        within = None if parent is None else set_span_in_context(parent)
        return self._tracer.start_span(name, within, kind, attributes, start_time=at_ns)

    def _begin(self, event: TurnBegan) -> None:
        now = self._now_ns()
        attributes: dict[str, AttributeValue] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": AGENT,
            "gen_ai.conversation.id": event.conversation,
            "cogency.turn.id": event.turn,
            "cogency.turn.resumed": event.resumed,
            "cogency.turn.waited_s": event.waited_s,
            "cogency.platform": event.platform,
        }
        turn = self._span(f"invoke_agent {AGENT}", None, attributes, now)
        first = self._span(Phase.PREPARE, turn, {}, now)
        self._open[event.turn] = _OpenTrace(turn, first, Phase.PREPARE, [(now, first)])

    def _begin_phase(
        self,
        trace: _OpenTrace,
        name: str,
        attributes: Mapping[str, AttributeValue] | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> None:
        """End the current phase, and begin the next one."""
        now = self._now_ns()
        trace.phase.end(now)
        trace.phase, trace.phase_name = self._span(name, trace.turn, attributes or {}, now, kind), name
        trace.phases.append((now, trace.phase))

    def _agent_told(self, trace: _OpenTrace, event: AgentEvent, model: str) -> None:
        match event:
            case IterationStarted():
                vendor, _, name = model.partition(":")
                attributes: dict[str, AttributeValue] = {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.provider.name": VENDOR_NAMES.get(vendor, vendor),
                    "gen_ai.request.model": name or vendor,
                    "gen_ai.request.stream": True,
                }
                trace.turn.set_attribute("gen_ai.provider.name", VENDOR_NAMES.get(vendor, vendor))
                self._begin_phase(trace, f"chat {name or vendor}", attributes, SpanKind.CLIENT)
            case ModelAnswered(name, usage, failure):
                trace.phase.set_attribute("gen_ai.response.model", name.partition(":")[2] or name)
                if usage is not None:
                    trace.used += usage
                    trace.phase.set_attributes(usage_attributes(usage))
                if failure:
                    _mark_failed(trace.phase, failure)
                self._begin_phase(trace, Phase.SAVE)
            case CallStarted(id_, call):
                # The calls of a step run side by side, so they share one phase.
                if trace.phase_name != TOOLS:
                    self._begin_phase(trace, TOOLS)
                attributes: dict[str, AttributeValue] = {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": call.name,
                    "gen_ai.tool.call.id": id_,
                    "gen_ai.tool.type": "function",
                }
                trace.tools[id_] = self._span(f"execute_tool {call.name}", trace.phase, attributes, self._now_ns())
            case CallFinished(id_, result) if id_ in trace.tools:
                span = trace.tools.pop(id_)
                if result.status is not ResultStatus.SUCCESS:
                    _mark_failed(span, result.status)
                span.end(self._now_ns())
                if not trace.tools:
                    self._begin_phase(trace, Phase.SAVE)
            case _:
                pass

    def _page_written(self, trace: _OpenTrace, event: PageWritten) -> None:
        """Add a span that begins where the write did, although it is reported at its end."""
        now = self._now_ns()
        started = max(now - round(event.took_s * NANO), trace.phases[0][0])
        phase = next(span for since, span in reversed(trace.phases) if since <= started)
        attributes = {"cogency.write.kind": event.kind, "cogency.write.outcome": event.end.value}
        self._span(f"{event.kind} page", phase, attributes, started).end(now)

    def _end(self, trace: _OpenTrace, end: Outcome | TurnUnended) -> None:
        now = self._now_ns()
        for span in trace.tools.values():
            _mark_failed(span, "stopped")
            span.end(now)
        trace.phase.end(now)
        trace.turn.set_attributes({"cogency.turn.outcome": end.value, **usage_attributes(trace.used)})
        if end in FAILURES:
            _mark_failed(trace.turn, end.value)
        trace.turn.end(now)


def usage_attributes(used: Usage) -> dict[str, AttributeValue]:
    """Return token counts as the conventions define them: cached tokens are input, and reasoning tokens are output."""
    return {
        "gen_ai.usage.input_tokens": used.input_uncached + used.input_cached + used.input_written,
        "gen_ai.usage.output_tokens": used.output + used.reasoning,
        "gen_ai.usage.cache_read.input_tokens": used.input_cached,
        "gen_ai.usage.cache_creation.input_tokens": used.input_written,
        "gen_ai.usage.reasoning.output_tokens": used.reasoning,
    }


def _mark_failed(span: Span, why: str) -> None:
    span.set_attribute("error.type", why)
    span.set_status(Status(StatusCode.ERROR))


@contextmanager
def exported(clock: Clock, version: str) -> Generator[Traces]:
    """Export traces until the block ends, as OpenTelemetry's variables say, which its library reads itself."""
    resource = Resource.create()
    has_name = not str(resource.attributes["service.name"]).startswith("unknown_service")
    own = {"service.version": version} | ({} if has_name else {"service.name": AGENT})
    provider = TracerProvider(resource=resource.merge(Resource(own)), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    try:
        yield Traces(provider.get_tracer(AGENT, version), clock)
    finally:
        shutdown = threading.Thread(target=provider.shutdown, name="traces", daemon=True)
        shutdown.start()
        shutdown.join(SHUTDOWN_S)
