"""What is known of each service before a request."""

import pytest

from agent.providers.catalog import ENDPOINTS, OLLAMA, OPENAI, reasons


@pytest.mark.parametrize(
    ("base_url", "port"),
    [("https://api.example", 443), ("http://gpu.example", 80), ("http://gpu.example:8000/v1", 8000)],
)
def test_the_port_is_the_schemes_own_unless_named(base_url: str, port: int) -> None:
    assert OPENAI.at(base_url).port == port


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("http://localhost:11434", True),
        ("http://LOCALHOST", True),
        ("http://models.localhost", True),
        ("http://127.0.0.1:1", True),
        ("http://127.9.9.9", True),
        ("http://[::1]:8080", True),
        ("http://192.168.0.2", False),
        ("https://localhost.example", False),
    ],
)
def test_this_machine_is_known_by_its_names(address: str, *, local: bool) -> None:
    assert OLLAMA.at(address).is_local is local


@pytest.mark.parametrize(
    ("base_url", "model", "stops"),
    [
        ("https://api.openai.com/v1", "gpt-6.1-terra", False),
        ("https://api.openai.com/v1", "o4-mini", False),
        ("https://api.openai.com/v1", "gpt-4.1", True),
        ("https://proxy.example/v1", "gpt-6.1-terra", True),
    ],
)
def test_only_openais_reasoning_models_are_known_to_refuse_stop(base_url: str, model: str, *, stops: bool) -> None:
    assert OPENAI.at(base_url).stops_at_sequences(model) is stops


@pytest.mark.parametrize(
    ("model", "by_itself"),
    [
        ("gpt-6.1-terra", True),
        ("o4-mini", True),
        ("gpt-4.1", False),
        ("claude-sonnet-5-5", True),
        ("claude-3-haiku", False),
        ("gemini-3.8-flash", True),
        ("gemini-3.5-flash-lite", False),
        ("llama3.2", False),
        ("qwen3:8b", True),
        ("qwen3-30b-a3b-instruct-2507", False),
        ("deepseek-r1:14b", True),
        ("openai/gpt-oss-20b", True),
        ("kimi-k2-thinking", True),
        ("mistral-medium", False),
        ("grok-4-fast-non-reasoning", False),
    ],
)
def test_models_that_reason_by_themselves_are_known_by_their_names(model: str, *, by_itself: bool) -> None:
    assert reasons(model) is by_itself


def test_every_service_is_complete() -> None:
    for name, endpoint in ENDPOINTS.items():
        assert endpoint.name == name
        assert endpoint.base_url.endswith(endpoint.path)
        assert bool(endpoint.start) is endpoint.is_local is endpoint.is_self_hosted
        assert bool(endpoint.key_setting) is (endpoint.key_required or bool(endpoint.identity))
