"""Which model answers, and why."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from agent.errors import ProviderUnavailable, SettingsError
from agent.messages import Message, Role
from agent.ports.model import TokensArrived
from agent.providers.catalog import ENDPOINTS, Endpoint
from bot.models.choice import (
    AskServer,
    ModelChoice,
    choose_model,
    context_size,
    first_choice,
    models_of,
    open_model,
    read_context_size,
    read_models,
)
from bot.models.settings import ModelSettings
from bot.settings.installation import typed_command
from bot.settings.secret import Secret
from tests.fakes.clock import FakeClock
from tests.fakes.model_server import CUT, DONE, ModelServer, Step, Wait, head, text, whole
from tests.patience import PATIENCE_S

KEY = Secret("sk-1")
EMPTY = ModelSettings()
LISTED = {"object": "list", "data": [{"id": "nomic-embed-text"}, {"id": "llama3.2:3b"}, {"id": "qwen3"}]}


def listing(*models: str) -> "Listing":
    return Listing(models)


class Listing:
    """Lists the same models for every server (None: no answer), and records the servers."""

    def __init__(self, models: Sequence[str] | None) -> None:
        self.models = models
        self.asked: list[str] = []

    async def __call__(self, endpoint: Endpoint, _key: Secret | None) -> Sequence[str] | None:
        self.asked.append(endpoint.base_url)
        return self.models


NOBODY = Listing(None)


def decided(settings: ModelSettings) -> ModelChoice:
    choice = first_choice(settings)
    assert isinstance(choice, ModelChoice)
    return choice


@pytest.mark.parametrize(
    ("spec", "name", "base_url"),
    [
        ("openai:gpt-6.1-terra", "openai:gpt-6.1-terra", "https://api.openai.com/v1"),
        (" Anthropic: claude-sonnet-5-5 ", "anthropic:claude-sonnet-5-5", "https://api.anthropic.com/v1"),
        (
            "gemini:gemini-3.8-flash",
            "gemini:gemini-3.8-flash",
            "https://generativelanguage.googleapis.com/v1beta",
        ),
        ("ollama:llama3.2:3b", "ollama:llama3.2:3b", "http://localhost:11434/v1"),
        ("llamacpp:any", "llamacpp:any", "http://localhost:8080/v1"),
        ("vllm:org/model", "vllm:org/model", "http://localhost:8000/v1"),
        ("lmstudio:m", "lmstudio:m", "http://localhost:1234/v1"),
        ("openrouter:a/b:free", "openrouter:a/b:free", "https://openrouter.ai/api/v1"),
        ("mistral:mistral-medium-latest", "mistral:mistral-medium-latest", "https://api.mistral.ai/v1"),
        ("xai:grok", "xai:grok", "https://api.x.ai/v1"),
    ],
)
def test_the_setting_names_service_and_model(spec: str, name: str, base_url: str) -> None:
    keys = ModelSettings(
        model=spec,
        openai_api_key=KEY,
        anthropic_api_key=KEY,
        gemini_api_key=KEY,
        openrouter_api_key=KEY,
        mistral_api_key=KEY,
        xai_api_key=KEY,
    )
    choice = decided(keys)
    assert choice.name == name
    assert choice.endpoint is not None
    assert choice.endpoint.base_url == base_url
    assert choice.line == f"Model: {name} — it is set in COGENCY_MODEL"


def test_rehearsal_can_be_asked_for_even_with_keys() -> None:
    assert (
        decided(ModelSettings(model="rehearsal", openai_api_key=KEY)).line
        == "Model: rehearsal — it is set in COGENCY_MODEL"
    )


@pytest.mark.parametrize("spec", ["terra", "opnai:gpt-6.1-terra", "rehearsal:x", ":x", "sk-secret-4711"])
def test_an_unknown_provider_is_one_sentence_without_the_value(spec: str) -> None:
    with pytest.raises(
        SettingsError, match=r"COGENCY_MODEL must be rehearsal or one of openai:<model>, anth"
    ) as raised:
        first_choice(replace(EMPTY, model=spec))
    assert spec not in str(raised.value)


@pytest.mark.parametrize(
    ("spec", "provider"), [("gpt-6.1-terra", "openai"), ("Claude-x", "anthropic"), ("llama3.2:3b", "ollama")]
)
def test_a_known_model_without_its_provider_is_told_which(spec: str, provider: str) -> None:
    with pytest.raises(SettingsError) as raised:
        first_choice(replace(EMPTY, model=spec))
    assert (
        str(raised.value)
        == f"COGENCY_MODEL is set to a model without its provider. Write {provider}: before the model's name."
    )


@pytest.mark.parametrize(
    ("spec", "example"),
    [
        ("ollama", "ollama:llama3.2"),
        ("openai: ", "openai:gpt-6.1-terra"),
        ("azure:", "azure:my-deployment/gpt-6.1-terra"),
        ("vertex", "vertex:gemini-3.8-flash"),
    ],
)
def test_a_missing_model_name_is_one_sentence_with_an_example(spec: str, example: str) -> None:
    with pytest.raises(SettingsError, match=f"COGENCY_MODEL names a provider but no model.*, for example, {example}"):
        first_choice(replace(EMPTY, model=spec))


@pytest.mark.parametrize("name", [name for name, endpoint in ENDPOINTS.items() if endpoint.key_required])
def test_a_missing_key_is_one_sentence_with_its_setting(name: str) -> None:
    with pytest.raises(
        SettingsError,
        match=rf"{ENDPOINTS[name].key_setting} is missing\. It is required because COGENCY_MODEL is set to {name}:…\.",
    ):
        first_choice(replace(EMPTY, model=f"{name}:m"))


def test_a_moved_address_needs_no_key() -> None:
    choice = decided(replace(EMPTY, model="openai:m", openai_base_url="http://gpu.example:8000"))
    assert choice.endpoint is not None
    assert choice.endpoint.base_url == "http://gpu.example:8000/v1"
    assert choice.key is None


@pytest.mark.parametrize(
    ("name", "setting", "base_url"),
    [
        ("openai", "https://proxy.example/api/paas/v4/", "https://proxy.example/api/paas/v4"),
        ("anthropic", "https://proxy.example/anthropic", "https://proxy.example/anthropic/v1"),
        ("anthropic", "https://proxy.example/v1", "https://proxy.example/v1"),
        ("gemini", "http://127.0.0.1:4010", "http://127.0.0.1:4010/v1beta"),
        ("ollama", "http://gpu.example:11434", "http://gpu.example:11434/v1"),
        ("ollama", "http://gpu.example:11434/v1", "http://gpu.example:11434/v1"),
    ],
)
def test_every_address_can_be_moved(name: str, setting: str, base_url: str) -> None:
    assert ENDPOINTS[name].at(setting).base_url == base_url


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (
            ModelSettings(openai_api_key=KEY, anthropic_api_key=KEY, gemini_api_key=KEY),
            "Model: openai:gpt-6.1-terra — OPENAI_API_KEY is set",
        ),
        (
            ModelSettings(anthropic_api_key=KEY, gemini_api_key=KEY),
            "Model: anthropic:claude-sonnet-5-5 — ANTHROPIC_API_KEY is set",
        ),
        (ModelSettings(gemini_api_key=KEY), "Model: gemini:gemini-3.8-flash — GEMINI_API_KEY is set"),
    ],
)
def test_without_the_setting_the_first_key_decides(settings: ModelSettings, line: str) -> None:
    assert decided(settings).line == line


async def test_no_service_is_asked_where_the_settings_decide() -> None:
    never = Listing(["m"])
    await choose_model(ModelSettings(openai_api_key=KEY), never)
    assert never.asked == []


async def test_without_keys_a_local_ollama_decides() -> None:
    choice = await choose_model(EMPTY, listing("llama3.2", "qwen3"))
    assert choice.line == "Model: ollama:llama3.2 — a local Ollama answers at http://localhost:11434/v1"


async def test_without_anything_it_is_a_rehearsal_and_says_how_to_change_that() -> None:
    choice = await choose_model(EMPTY, NOBODY)
    assert choice.line == (
        "Model: rehearsal — no model is configured, and Ollama does not respond at http://localhost:11434/v1; "
        f"to set one up, run `{typed_command('init')}`"
    )


async def test_a_model_of_ollamas_cloud_is_used_only_if_a_setting_names_it() -> None:
    cloud = ("gpt-oss:120b-cloud", "gemma4:cloud")
    assert (await choose_model(EMPTY, listing(*cloud, "llama3.2:3b"))).name == "ollama:llama3.2:3b"
    assert (await choose_model(EMPTY, listing(*cloud))).name == "rehearsal"
    assert (await choose_model(replace(EMPTY, model=f"ollama:{cloud[0]}"), NOBODY)).name == f"ollama:{cloud[0]}"


async def test_an_ollama_without_models_is_named() -> None:
    choice = await choose_model(EMPTY, listing())
    assert choice.name == "rehearsal"
    found = "Ollama at http://localhost:11434/v1 has no local chat models (get one with `ollama pull llama3.2`)"
    assert found in choice.line


MOVED = replace(EMPTY, openai_base_url="http://gpu.example:8000/v1")


@pytest.mark.parametrize(
    ("models", "line"),
    [
        (["qwen3"], "Model: openai:qwen3 — OPENAI_BASE_URL is http://gpu.example:8000/v1"),
        (["qwen3", "x"], "Model: openai:qwen3 — OPENAI_BASE_URL is http://gpu.example:8000/v1, first of 2 models"),
        (["x", "gpt-6.1-terra"], "Model: openai:gpt-6.1-terra — OPENAI_BASE_URL is http://gpu.example:8000/v1"),
    ],
)
async def test_a_server_of_ones_own_decides_before_any_key(models: list[str], line: str) -> None:
    assert (await choose_model(replace(MOVED, gemini_api_key=KEY), Listing(models))).line == line


@pytest.mark.parametrize(("models", "problem"), [(None, "does not list its models"), ([], "lists no model")])
async def test_a_server_of_ones_own_without_models_is_an_error(models: list[str] | None, problem: str) -> None:
    with pytest.raises(SettingsError) as raised:
        await choose_model(MOVED, Listing(models))
    assert str(raised.value) == (
        f"The server at http://gpu.example:8000/v1 (OPENAI_BASE_URL) {problem}. "
        "Check that the server is running, or set a model with COGENCY_MODEL=openai:<model>."
    )


def test_no_key_stands_in_a_repr() -> None:
    settings = ModelSettings(openai_api_key=Secret("sk-secret-4711"))
    assert "4711" not in repr((settings, first_choice(settings), AskServer(ENDPOINTS["xai"], KEY, required=True)))


def test_no_service_gets_the_key_of_another() -> None:
    settings = ModelSettings(openai_api_key=Secret("sk-secret-4711"))
    assert all(settings.key(name) is None for name in ENDPOINTS if not name.startswith("openai"))


@pytest.mark.parametrize(
    ("body", "models"),
    [
        (b'{"data": [{"id": "a"}, {"id": "b"}]}', ["a", "b"]),
        (b'{"models": [{"name": "a"}, {"id": "nomic-embed-text"}]}', ["a"]),
        (b'{"data": [{"id": 7}, "x", null]}', []),
        (b'{"data": {}}', []),
        (b"[]", []),
        (b"<html>", []),
        (b"\xff", []),
    ],
)
def test_a_list_of_models_reads_in_every_form(body: bytes, models: list[str]) -> None:
    assert read_models(body) == models


@asynccontextmanager
async def ollama(*replies: Sequence[bytes | Wait]) -> AsyncGenerator[tuple[ModelServer, ModelSettings], None]:
    async with asyncio.timeout(PATIENCE_S), ModelServer(replies, lists_models=True) as server:
        yield server, replace(EMPTY, ollama_base_url=server.url.removesuffix("/v1"))


async def test_a_real_server_is_asked_and_then_answers() -> None:
    answer = [head(), text("Hi", finish_reason="stop"), DONE]
    # The probe opens a connection and sends nothing; it takes no reply.
    async with ollama(whole(200, LISTED), answer) as (server, settings):
        choice = await choose_model(settings)
        assert choice.name == "ollama:llama3.2:3b"
        model = open_model(choice, settings, clock=FakeClock(), chance=lambda: 0.0)
        events = [event async for event in model.stream([Message(Role.USER, "Hello?")])]
        await model.aclose()
        assert events[0] == TokensArrived("Hi")
        assert [request.path for request in server.requests] == ["/v1/models", "/v1/chat/completions"]
        assert "authorization" not in server.requests[1].headers


@pytest.mark.parametrize(("name", "size"), [("small:latest", 4_096), ("small:1b", None)])
async def test_ollama_is_asked_for_the_context_of_the_loaded_model(name: str, size: int | None) -> None:
    loaded = {"models": [{"name": name, "model": name, "context_length": 4_096}]}
    async with ollama(whole(200, loaded)) as (server, settings):
        assert await context_size(settings.endpoint("ollama"), "small", None) == size
        assert [request.path for request in server.requests] == ["/api/ps"]


async def test_a_server_that_wants_another_key_lists_nothing() -> None:
    async with ollama(whole(401, {})) as (_, settings):
        assert await models_of(settings.endpoint("ollama"), KEY) is None


@pytest.mark.parametrize("reply", [[Wait(asyncio.Event().wait)], [CUT], whole(503, {"error": "loading"})])
async def test_a_server_of_ones_own_that_does_not_answer_is_away(reply: Sequence[bytes | Wait | Step]) -> None:
    async with asyncio.timeout(PATIENCE_S), ModelServer([reply] * 9, lists_models=True) as server:
        moved = replace(EMPTY, openai_base_url=server.url)

        async def listed(endpoint: Endpoint, key: Secret | None) -> Sequence[str] | None:
            return await models_of(endpoint, key, limit_s=0.2)

        with pytest.raises(
            ProviderUnavailable, match=r"\(OPENAI_BASE_URL\) is not available\. Check that the server is running"
        ):
            await choose_model(moved, listed)


async def test_a_port_where_nobody_listens_is_no_ollama() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    choice = await choose_model(replace(EMPTY, ollama_base_url=f"http://127.0.0.1:{port}"))
    assert choice.name == "rehearsal"


async def test_a_rehearsal_opens_without_a_connection() -> None:
    model = open_model(await choose_model(EMPTY, NOBODY), EMPTY, clock=FakeClock(), chance=lambda: 0.0)
    assert model.name == "rehearsal"
    assert [event async for event in model.stream([Message(Role.USER, "Hello?")])]
    await model.aclose()


@pytest.mark.slow
def test_a_rehearsal_does_not_pay_for_a_connection() -> None:
    check = "import sys, bot.models.choice; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False, timeout=30).returncode == 0  # noqa: S603 -- ours


@pytest.mark.parametrize(
    ("entry", "size"),
    [
        ({"id": "m", "meta": {"n_ctx": 2048, "n_ctx_train": 32768}}, 2048),
        ({"id": "m", "max_model_len": 8192}, 8192),
        ({"id": "m", "loaded_context_length": 4096, "max_context_length": 131072}, 4096),
        ({"id": "m", "context_length": 128000}, 128000),
        ({"id": "m", "meta": {"n_ctx": "many"}}, None),
        ({"id": "m"}, None),
        ("m", None),
    ],
)
def test_the_size_of_the_context_is_read_where_a_server_says_it(entry: object, size: int | None) -> None:
    alone, among = ({"data": [entry, *others]} for others in ([], [{"id": "other", "max_model_len": 1}]))
    assert read_context_size(json.dumps(alone).encode(), "m") == size
    assert read_context_size(json.dumps(among).encode(), "m") == size
    assert read_context_size(json.dumps(among).encode(), "unknown") is None
    assert read_context_size(b"no JSON", "m") is None
