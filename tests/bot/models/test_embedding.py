"""Opening the model for embeddings."""

from pathlib import Path

import pytest

from agent.errors import SettingsError
from bot.app.settings import load_settings
from bot.models.embedding import open_embedder
from bot.models.settings import ModelSettings
from bot.settings.secret import Secret


async def test_any_service_with_openais_embeddings_can_be_named() -> None:
    keys = ModelSettings(openai_api_key=Secret("key"))
    there, here = open_embedder("openai:text-embedding-3-small", keys), open_embedder("ollama:nomic-embed-text", keys)
    assert (there.name, there.is_local) == ("openai:text-embedding-3-small", False)
    assert (here.name, here.is_local) == ("ollama:nomic-embed-text", True)


@pytest.mark.parametrize("named", ["rehearsal", "anthropic:m", "gemini:m", "nobody:m", "openai:", "openai:m"])
def test_what_cannot_embed_is_refused_with_the_setting_and_the_remedy(named: str) -> None:
    with pytest.raises(SettingsError, match="COGENCY_EMBEDDINGS"):
        open_embedder(named, ModelSettings(anthropic_api_key=Secret("k"), gemini_api_key=Secret("k")))


@pytest.mark.parametrize("named", ["anthropic:m", "Gemini:m", "rehearsal"])
def test_a_service_without_embeddings_is_refused_as_such_and_asks_for_no_key(named: str) -> None:
    with pytest.raises(SettingsError, match="a model of a service that supports OpenAI's /embeddings"):
        open_embedder(named, ModelSettings())


async def test_the_model_inside_the_program_needs_no_service_and_no_key() -> None:
    embedder = open_embedder("static:use-multilingual-3", ModelSettings())
    assert (embedder.name, embedder.is_local) == ("static:use-multilingual-3", False)
    await embedder.aclose()


def test_without_its_extra_one_sentence_says_how_to_install_it() -> None:
    with pytest.raises(SettingsError, match=r"needs the 'meaning' extra.*\[meaning\]'"):
        open_embedder("static:use-multilingual-3", ModelSettings(), has_static=lambda: False)


def test_a_model_that_the_program_does_not_have_is_refused_with_the_one_that_it_has() -> None:
    with pytest.raises(SettingsError, match="Use static:use-multilingual-3"):
        open_embedder("static:glove", ModelSettings())


def test_a_model_without_its_service_is_not_a_model(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="COGENCY_EMBEDDINGS must be off, or a model"):
        load_settings({"COGENCY_EMBEDDINGS": "small"}, data_folder=tmp_path)
