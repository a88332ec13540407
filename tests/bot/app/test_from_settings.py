"""The adapters' settings, derived from the program's settings."""

from pathlib import Path

import pytest

from agent.errors import SettingsError
from bot.app.from_settings import http_address, no_traces, operator_address, sends_traces, slack_options
from bot.app.settings import load_settings
from bot.platforms.slack.settings import Streaming

TOKENS = {"SLACK_BOT_TOKEN": "xoxb-1234567890", "SLACK_APP_TOKEN": "xapp-1234567890"}


@pytest.mark.parametrize("where", Streaming)
def test_where_replies_stream_is_told_to_slack(where: Streaming) -> None:
    told = slack_options(load_settings({**TOKENS, "COGENCY_SLACK_STREAM": where.upper()}))
    assert told is not None
    assert told.chosen.stream == where.value


def test_replies_stream_in_direct_messages_unless_the_operator_says_otherwise() -> None:
    told = slack_options(load_settings(TOKENS))
    assert told is not None
    assert told.chosen.stream is Streaming.DIRECT


@pytest.mark.parametrize(
    ("variables", "sends"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_SDK_DISABLED": "TRUE"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_SERVICE_NAME": "bot"}, False),
    ],
)
def test_traces_are_sent_where_opentelemetrys_own_variables_say_so(variables: dict[str, str], sends: bool) -> None:
    assert sends_traces(load_settings({**TOKENS, **variables})) is sends


@pytest.mark.parametrize(
    ("missing", "variables", "said"),
    [
        ("opentelemetry.sdk", {}, "install -e '"),
        ("opentelemetry.exporter", {}, "install -e '"),
        ("", {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "request traces over grpc"),
        ("", {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"}, ""),
        ("", {}, ""),
    ],
)
def test_why_none_can_be_sent_is_a_sentence(missing: str, variables: dict[str, str], said: str) -> None:
    why = no_traces(load_settings({**TOKENS, **variables}), lambda name: None if name == missing else name)
    assert (said in why) and bool(said) == bool(why)  # noqa: PT018 -- one thing


def test_what_opentelemetry_is_told_comes_from_the_environment_alone_and_is_shown_nowhere(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    dotenv.write_text("OTEL_EXPORTER_OTLP_ENDPOINT=http://elsewhere:4318\n")
    dotenv.chmod(0o600)
    settings = load_settings({**TOKENS, "OTEL_EXPORTER_OTLP_HEADERS": "api-key=very-secret-key"}, dotenv)
    assert not sends_traces(settings)
    assert "very-secret-key" in settings.secrets()
    assert "very-secret-key" not in repr(settings)


@pytest.mark.parametrize(
    ("page", "address", "reached_at"),
    [
        ("127.0.0.1:8090", "", "http://127.0.0.1:8090"),
        ("[::1]:8090", "", "http://[::1]:8090"),
        ("127.0.0.1:8090", "https://operate.example.com", "https://operate.example.com"),
        ("0.0.0.0:8090", "https://operate.example.com/", "https://operate.example.com"),
        ("0.0.0.0:8090", "http://127.0.0.1:9000", "http://127.0.0.1:9000"),
        ("", "https://operate.example.com", ""),
    ],
)
def test_a_server_of_ours_is_reached_on_this_machine_or_through_tls(page: str, address: str, reached_at: str) -> None:
    settings = load_settings({"COGENCY_OPERATOR_PAGE": page, "COGENCY_OPERATOR_ADDRESS": address})
    assert operator_address(settings) == reached_at
    settings = load_settings({"COGENCY_HTTP": page, "COGENCY_HTTP_ADDRESS": address})
    assert http_address(settings) == reached_at


@pytest.mark.parametrize(
    ("page", "address", "why"),
    [
        ("0.0.0.0:8090", "", "put a TLS proxy in front"),
        ("192.168.1.2:8090", "", "put a TLS proxy in front"),
        ("127.0.0.1:8090", "http://operate.example.com", "must start with https://"),
        ("127.0.0.1:8090", "https://example.com/operate", "without a path"),
    ],
)
def test_anywhere_else_it_is_refused_with_what_to_do(page: str, address: str, why: str) -> None:
    settings = load_settings({"COGENCY_OPERATOR_PAGE": page, "COGENCY_OPERATOR_ADDRESS": address})
    with pytest.raises(SettingsError, match=why):
        operator_address(settings)
    settings = load_settings({"COGENCY_HTTP": page, "COGENCY_HTTP_ADDRESS": address})
    with pytest.raises(SettingsError, match=why):
        http_address(settings)
