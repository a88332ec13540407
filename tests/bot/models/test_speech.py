"""Opening the model for speech."""

from pathlib import Path

import pytest

from agent.errors import SettingsError
from bot.app.settings import load_settings
from bot.models.settings import ModelSettings
from bot.models.speech import open_transcriber
from bot.settings.secret import Secret


@pytest.mark.parametrize("named", ["rehearsal", "anthropic:m", "gemini:m", "nobody:m", "openai:", "openai:m"])
def test_what_cannot_listen_is_refused_with_the_setting_and_the_remedy(named: str) -> None:
    with pytest.raises(SettingsError, match="COGENCY_TRANSCRIPTION"):
        open_transcriber(named, ModelSettings(anthropic_api_key=Secret("k"), gemini_api_key=Secret("k")))


async def test_a_service_with_a_key_is_taken() -> None:
    opened = open_transcriber("openai:gpt-4o-mini-transcribe", ModelSettings(openai_api_key=Secret("key")))
    await opened.aclose()


@pytest.mark.parametrize(("value", "read"), [("", None), ("off", None), ("openai:m", "openai:m")])
def test_nobody_is_listened_to_unless_a_model_is_set(tmp_path: Path, value: str, read: str | None) -> None:
    assert load_settings({"COGENCY_TRANSCRIPTION": value}, data_folder=tmp_path).models.transcription == read


def test_a_model_without_its_service_is_not_a_model(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="COGENCY_TRANSCRIPTION must be off, or a model"):
        load_settings({"COGENCY_TRANSCRIPTION": "whisper"}, data_folder=tmp_path)
