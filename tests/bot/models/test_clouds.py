"""Models of a company's cloud, by their settings."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent.errors import SettingsError
from agent.machine import CLOCK
from agent.providers.credentials import TokenCredentials
from bot.app.settings import load_settings, moved_addresses
from bot.models.choice import context_size, named_choice
from bot.models.embedding import open_embedder
from bot.models.settings import ModelSettings
from bot.models.speech import open_transcriber
from bot.settings.secret import Secret

AZURE = "https://boats.openai.azure.com"
KEY = Secret("key-4711")


def installed(_: str) -> bool:
    return True


def missing(_: str) -> bool:
    return False


def base_url(spec: str, settings: ModelSettings, has_identity: Callable[[str], bool] = installed) -> str:
    choice = named_choice(spec, settings, "COGENCY_MODEL", has_identity=has_identity)
    assert choice.endpoint is not None
    assert choice.name == spec
    return choice.endpoint.base_url


def test_a_deployment_needs_the_address_of_its_resource() -> None:
    with pytest.raises(
        SettingsError,
        match=r"AZURE_OPENAI_ENDPOINT is missing\. It is required because COGENCY_MODEL is set to azure:…",
    ):
        base_url("azure:prod", ModelSettings(azure_api_key=KEY))
    assert base_url("azure:prod", ModelSettings(azure_endpoint=AZURE)) == f"{AZURE}/openai/v1"
    dated = ModelSettings(azure_endpoint=f"{AZURE}/openai/v1", azure_api_version="2024-10-21")
    assert base_url("azure:prod/gpt-6.1-terra", dated) == f"{AZURE}/openai"


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("global", "https://aiplatform.googleapis.com/v1/projects/boats-123/locations/global"),
        ("eu", "https://aiplatform.eu.rep.googleapis.com/v1/projects/boats-123/locations/eu"),
        ("europe-west1", "https://europe-west1-aiplatform.googleapis.com/v1/projects/boats-123/locations/europe-west1"),
    ],
)
def test_a_model_of_vertex_ai_is_asked_where_its_location_is(location: str, url: str) -> None:
    settings = ModelSettings(google_project="boats-123", google_location=location)
    assert base_url("vertex:gemini-3.8-flash", settings) == url


def test_vertex_ai_needs_a_project_or_a_key() -> None:
    with pytest.raises(
        SettingsError,
        match=r"GOOGLE_CLOUD_PROJECT is missing\. It is required because COGENCY_MODEL is set to vertex:…",
    ):
        base_url("vertex:gemini-3.8-flash", ModelSettings())
    express = ModelSettings(vertex_api_key=KEY)
    assert base_url("vertex:gemini-3.8-flash", express) == "https://aiplatform.googleapis.com/v1"
    with pytest.raises(SettingsError, match=r"GOOGLE_CLOUD_PROJECT is missing"):
        base_url("vertex:claude-sonnet-5-5", express)
    moved = ModelSettings(google_project="p-1", vertex_base_url="https://vertex.p.googleapis.com")
    assert base_url("vertex:claude-sonnet-5-5", moved) == (
        "https://vertex.p.googleapis.com/v1/projects/p-1/locations/global"
    )


def test_a_model_that_vertex_ai_has_in_another_protocol_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"Use a Gemini or Claude model, as in vertex:gemini-3\.8-flash"):
        base_url("vertex:llama-4-maverick", ModelSettings(google_project="p-1"))


@pytest.mark.parametrize(
    ("spec", "settings", "extra"),
    [
        ("azure:prod", ModelSettings(azure_endpoint=AZURE), "azure"),
        ("vertex:gemini-3.8-flash", ModelSettings(google_project="p-1"), "vertex"),
    ],
)
def test_a_missing_extra_is_a_sentence_with_the_command(spec: str, settings: ModelSettings, extra: str) -> None:
    with pytest.raises(SettingsError, match=rf"This needs the '{extra}' extra, which is not installed\. Run .*{extra}"):
        base_url(spec, settings, missing)


def test_a_key_needs_no_extra() -> None:
    assert base_url("azure:prod", ModelSettings(azure_endpoint=AZURE, azure_api_key=KEY), missing)
    assert base_url("vertex:gemini-3.8-flash", ModelSettings(vertex_api_key=KEY), missing)


def test_a_service_gets_its_key_or_the_tokens_of_the_machine_and_nothing_else() -> None:
    settings = ModelSettings(
        azure_endpoint=AZURE, azure_api_key=KEY, google_project="p-1", openai_api_key=Secret("sk-1")
    )
    azure, vertex, ollama = (settings.endpoint(name) for name in ("azure", "vertex", "ollama"))
    assert settings.credentials(azure, settings.key("azure"), CLOCK) == "key-4711"
    assert isinstance(settings.credentials(vertex, settings.key("vertex"), CLOCK), TokenCredentials)
    assert settings.credentials(ollama, settings.key("ollama"), CLOCK) is None


async def test_the_context_of_a_model_in_a_cloud_is_known_from_the_table_of_prices() -> None:
    settings = ModelSettings(azure_endpoint="http://127.0.0.1:1", google_project="p-1")
    azure, vertex = settings.endpoint("azure"), settings.endpoint("vertex")
    assert await context_size(azure, "prod/gpt-4o", None) == 128_000
    assert await context_size(vertex, "claude-sonnet-4-5@20250929", None) == 200_000
    assert await context_size(azure, "prod", None) is None


async def test_a_resource_of_azure_has_embeddings_and_transcription_and_vertex_ai_has_none() -> None:
    settings = ModelSettings(azure_endpoint=AZURE, azure_api_key=KEY, google_project="p-1")
    for opened in (
        open_embedder("azure:meaning/text-embedding-3-small", settings),
        open_transcriber("azure:gpt-4o-mini-transcribe", settings),
    ):
        await opened.aclose()
    with pytest.raises(SettingsError, match="COGENCY_EMBEDDINGS must be static:use-multilingual-3, or a model"):
        open_embedder("vertex:gemini-embedding-2", settings)


# The file of settings


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("AZURE_OPENAI_ENDPOINT", "boats", "must be a complete address"),
        (
            "AZURE_OPENAI_API_VERSION",
            "v1",
            "must be a version with a date, as in 2024-10-21; remove it to use the v1 API",
        ),
        ("GOOGLE_CLOUD_LOCATION", "Europe West", "must be a Google Cloud location"),
        ("GOOGLE_CLOUD_PROJECT", "my project", "must be the ID of a Google Cloud project"),
    ],
)
def test_a_value_that_cannot_be_meant_is_said(name: str, value: str, sentence: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} {sentence}"):
        load_settings({name: value})


def written(folder: Path, **values: str) -> Path:
    dotenv = folder / ".env"
    dotenv.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
    dotenv.chmod(0o600)
    return dotenv


def test_a_key_of_the_environment_goes_to_the_vendors_own_addresses_only(tmp_path: Path) -> None:
    own = written(tmp_path, AZURE_OPENAI_ENDPOINT=AZURE)
    settings = load_settings({"AZURE_OPENAI_API_KEY": "key-1"}, own)
    assert settings.models.azure_endpoint == AZURE
    assert moved_addresses(settings) == []
    other = written(tmp_path, AZURE_OPENAI_ENDPOINT="https://gateway.example")
    with pytest.raises(
        SettingsError, match=r"AZURE_OPENAI_ENDPOINT is set in .*, but the environment .*sets AZURE_OPENAI_API_KEY"
    ):
        load_settings({"AZURE_OPENAI_API_KEY": "key-1"}, other)
    assert moved_addresses(load_settings({"AZURE_OPENAI_ENDPOINT": "https://gateway.example"})) == [
        "AZURE_OPENAI_ENDPOINT is set to https://gateway.example. Messages go there."
    ]


def test_a_file_that_came_from_elsewhere_names_no_file_with_credentials(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    dotenv = written(tmp_path, GOOGLE_APPLICATION_CREDENTIALS="/srv/secrets.json")
    with pytest.raises(SettingsError, match="GOOGLE_APPLICATION_CREDENTIALS"):
        load_settings({"SLACK_BOT_TOKEN": "xoxb-1"}, dotenv)
