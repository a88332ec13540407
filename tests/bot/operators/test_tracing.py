"""What the flows do not cover of traces: spans that are open when a turn ends, and events that come late or twice."""

from collections.abc import Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from agent.events import CallFinished, CallStarted, IterationStarted, ModelAnswered, Outcome
from agent.messages import ResultStatus, ToolCall, ToolResult, Usage
from bot.chat.telemetry import (
    AgentReported,
    PageWritten,
    Phase,
    PhaseBegan,
    TelemetryEvent,
    TurnBegan,
    TurnOver,
    TurnUnended,
    WriteEnd,
)
from bot.operators.settings import header_values
from bot.operators.tracing import Traces
from tests.fakes.clock import FakeClock

BEGAN = TurnBegan(1, "slack", "C1:2", 0.5, resumed=False)


async def traced(*events: TelemetryEvent) -> dict[str, ReadableSpan]:
    """Return the spans by name, with one second between the events."""
    exporter, provider, clock = InMemorySpanExporter(), TracerProvider(), FakeClock(auto=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    traces = Traces(provider.get_tracer("test"), clock)
    for event in events:
        traces.record(event)
        await clock.advance(1)
    return {span.name: span for span in exporter.get_finished_spans()}


def seconds(span: ReadableSpan) -> float:
    return ((span.end_time or 0) - (span.start_time or 0)) / 1e9


def reported(event: IterationStarted | ModelAnswered | CallStarted | CallFinished) -> AgentReported:
    return AgentReported(1, event, "gemini:gemini-3-flash")


def phases(spans: dict[str, ReadableSpan]) -> Sequence[ReadableSpan]:
    turn = spans["invoke_agent cogency"].context
    return [span for span in spans.values() if span.parent is not None and turn and span.parent.span_id == turn.span_id]


@pytest.mark.parametrize("end", [TurnUnended.LOST, TurnUnended.GIVEN_BACK, Outcome.STOPPED])
async def test_spans_that_are_open_when_a_turn_ends_end_with_it(end: TurnUnended | Outcome) -> None:
    call = ToolCall("recall", {})
    spans = await traced(
        BEGAN,
        reported(IterationStarted(1)),
        reported(ModelAnswered("gemini:gemini-3-flash", Usage(output=3))),
        reported(CallStarted("1.1", call)),
        reported(CallStarted("1.2", call)),
        reported(CallFinished("1.1", ToolResult("recall", ResultStatus.FAILURE, "no"))),
        TurnOver(1, end),
    )
    turn = spans["invoke_agent cogency"]
    assert seconds(turn) == sum(map(seconds, phases(spans))) == 6
    assert (spans["chat gemini-3-flash"].attributes or {})["gen_ai.provider.name"] == "gcp.gemini"
    assert (spans["execute_tool recall"].attributes or {})["error.type"] == "stopped"
    assert (turn.status.status_code is StatusCode.ERROR) == (end is TurnUnended.LOST)
    assert (turn.attributes or {})["cogency.turn.outcome"] == end


async def test_a_write_is_a_span_from_its_start_with_its_duration() -> None:
    spans = await traced(
        BEGAN,
        PhaseBegan(1, Phase.SHOW),
        PhaseBegan(1, Phase.STORE),
        PageWritten(1, "edit", WriteEnd.LIMITED, 1.25, has_text=True),
        TurnOver(1, Outcome.ANSWERED),
    )
    edit, show = spans["edit page"], spans["show"].context
    assert seconds(edit) == 1.25
    assert edit.parent is not None
    assert show is not None
    assert edit.parent.span_id == show.span_id


async def test_events_of_an_ended_turn_make_no_span() -> None:
    late = (PageWritten(1, "edit", WriteEnd.DONE, 0.1, has_text=True), reported(IterationStarted(1)))
    assert set(await traced(BEGAN, TurnOver(1, Outcome.ANSWERED), *late)) == {"invoke_agent cogency", "prepare"}


def test_keys_in_the_exporters_headers_are_secrets_in_every_spelling() -> None:
    variables = {"OTEL_EXPORTER_OTLP_HEADERS": "api-key=abc%2Fdef, x=y", "OTEL_SERVICE_NAME": "bot=1"}
    assert {"abc%2Fdef", "abc/def", "y"} <= set(header_values(variables.items()))
    assert "1" not in header_values(variables.items())
