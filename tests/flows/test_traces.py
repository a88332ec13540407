"""The trace of a turn of the real service, as a collector of OpenTelemetry gets it."""

import asyncio
import signal
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from agent.machine import CLOCK
from tests.fakes.model_server import DONE, ModelServer, Reply, Wait, event, head, text, whole
from tests.fakes.otlp_collector import OtlpCollector, attributes, collecting
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import BOT_USER
from tests.flows.test_service import by_model, on_slack, service
from tests.patience import until

TWO_CALLS = (
    '<execute>[{"name": "recall", "args": {"query": "zanzibar"}}, {"name": "recall", "args": {"query": "tides"}}]'
    "\n</execute>"
)
USAGE = {"prompt_tokens": 1_000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 400}}
SECRET = "collector-key-1234"
WORDS = ("zanzibar", "tides", "harbour", "high water", "ann")
NOTHING_WRONG = (Status.STATUS_CODE_UNSET, Status.STATUS_CODE_OK)


def answering(*steps: str | Wait) -> Reply:
    said = [text(step) if isinstance(step, str) else step for step in steps]
    return [head(), *said, event({"choices": [], "usage": USAGE}), DONE]


def took(span: Span) -> int:
    return span.end_time_unix_nano - span.start_time_unix_nano


def root_of(collector: OtlpCollector) -> Span | None:
    return next((span for span in collector.spans if not span.parent_span_id), None)


def to(collector: OtlpCollector) -> dict[str, str]:
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_EXPORTER_OTLP_HEADERS": f"api-key={SECRET}",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=tests",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
        "COGENCY_LEARNING": "off",
    }


async def test_a_turn_s_trace_shows_where_its_time_went_and_holds_no_words(tmp_path: Path) -> None:
    shown = asyncio.Event()
    said = [answering(TWO_CALLS), answering("It lies in the harbour, ", Wait(shown.wait), "until high water.")]
    async with FakeSlack(CLOCK) as slack, ModelServer(said) as model, collecting() as collector:
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        async with service(tmp_path, **on_slack(slack), **by_model(model), **to(collector)):
            await slack.connected(2)
            asked = await slack.say(ann, general, f"<@{BOT_USER}> where is my zanzibar boat?")
            await until(lambda: slack.state.answers(general, asked.ts))
            shown.set()
            await until(lambda: root_of(collector))
    turn = root_of(collector)
    assert turn is not None
    told = attributes(turn.attributes)
    assert (turn.name, turn.kind) == ("invoke_agent cogency", Span.SPAN_KIND_INTERNAL)
    assert turn.status.code in NOTHING_WRONG
    assert told["gen_ai.operation.name"] == "invoke_agent"
    assert told["gen_ai.agent.name"] == "cogency"
    assert told["gen_ai.provider.name"] == "openai"
    assert str(told["gen_ai.conversation.id"]).endswith(asked.ts)
    assert (told["cogency.turn.id"], told["cogency.turn.outcome"], told["cogency.platform"]) == (1, "answered", "slack")
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (2_000, 200)

    phases = collector.below(turn)
    assert [phase.name for phase in phases] == [
        *("prepare", "chat m-1", "save", "tools", "save", "chat m-1", "save", "show", "store")
    ]
    assert sum(map(took, phases)) == pytest.approx(took(turn), rel=0.05)
    chat = attributes(phases[1].attributes)
    assert phases[1].kind == Span.SPAN_KIND_CLIENT
    assert (chat["gen_ai.operation.name"], chat["gen_ai.provider.name"]) == ("chat", "openai")
    assert (chat["gen_ai.request.model"], chat["gen_ai.response.model"]) == ("m-1", "m-1")
    assert (chat["gen_ai.usage.input_tokens"], chat["gen_ai.usage.cache_read.input_tokens"]) == (1_000, 400)

    tools = collector.below(phases[3])
    assert [tool.name for tool in tools] == ["execute_tool recall"] * 2
    assert [attributes(tool.attributes)["gen_ai.tool.call.id"] for tool in tools] == ["1.1", "1.2"]
    assert attributes(tools[0].attributes)["gen_ai.tool.name"] == "recall"
    assert all(phases[3].start_time_unix_nano <= tool.start_time_unix_nano for tool in tools)

    writes = [span for phase in phases for span in collector.below(phase) if span.name.endswith(" page")]
    assert {span.name for span in writes} == {"post page", "edit page"}
    posted = next(span for span in writes if span.name == "post page")
    assert posted.parent_span_id == phases[5].span_id, "it grows while the model writes"
    assert phases[5].start_time_unix_nano <= posted.start_time_unix_nano
    assert {attributes(span.attributes)["cogency.write.outcome"] for span in writes} == {"done"}
    assert len(collector.spans) == 1 + len(phases) + len(tools) + len(writes), "nothing else is told"

    assert collector.resource["service.name"] == "cogency"
    assert collector.resource["deployment.environment.name"] == "tests"
    assert collector.headers["api-key"] == SECRET
    everything = b"".join(collector.bodies).lower()
    assert not [word for word in WORDS if word.encode() in everything.replace(b"u0ann", b"")]


async def test_a_model_that_fails_is_an_error_in_its_trace(tmp_path: Path) -> None:
    refused = [whole(401, {"error": {}})] * 3
    async with FakeSlack(CLOCK) as slack, ModelServer(refused) as model, collecting() as collector:
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        async with service(tmp_path, **on_slack(slack), **by_model(model), **to(collector)):
            await slack.connected(2)
            await slack.say(ann, general, f"<@{BOT_USER}> where is my boat?")
            await until(lambda: root_of(collector))
    turn = root_of(collector)
    assert turn is not None
    assert turn.status.code == Status.STATUS_CODE_ERROR
    assert attributes(turn.attributes)["error.type"] == "refused"
    (chat,) = [span for span in collector.below(turn) if span.name == "chat m-1"]
    assert chat.status.code == Status.STATUS_CODE_ERROR
    assert attributes(chat.attributes)["error.type"] == "ProviderRefused"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "only supports http/protobuf"),
        ({"OTEL_TRACES_EXPORTER": "none"}, ""),
        ({"OTEL_SDK_DISABLED": "true"}, ""),
    ],
)
async def test_where_none_can_be_or_are_to_be_sent_it_serves_all_the_same(
    tmp_path: Path, settings: dict[str, str], said: str
) -> None:
    async with FakeSlack(CLOCK) as slack, ModelServer([answering("Yes.")]) as model, collecting() as collector:
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        async with service(tmp_path, **on_slack(slack), **by_model(model), **to(collector), **settings) as process:
            await slack.connected(2)
            asked = await slack.say(ann, general, f"<@{BOT_USER}> is it?")
            await until(lambda: slack.state.answers(general, asked.ts))
            process.send_signal(signal.SIGTERM)
            _, log = await process.communicate()
    assert collector.spans == []
    assert said in log.decode()
    assert bool(said) == ("OpenTelemetry" in log.decode())
    assert SECRET not in log.decode()
