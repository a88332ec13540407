"""Which file settings are read from."""

from pathlib import Path

import pytest

from agent.errors import SettingsError
from bot.app.settings import load_settings, names_of_ours
from bot.settings.files import SettingsFile, find_settings_file

NAMES = {"COGENCY_MODEL", "OPENAI_API_KEY"}


def written(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o600)
    return file


def found(tmp_path: Path, config: Path | None = None) -> SettingsFile:
    return find_settings_file(config, tmp_path / "here" / ".env", tmp_path / "home" / ".env", NAMES)


def test_the_file_at_home_is_read_from_every_folder(tmp_path: Path) -> None:
    home = written(tmp_path / "home/.env", "COGENCY_MODEL=rehearsal\n")
    assert found(tmp_path) == SettingsFile(home, is_own=True)


@pytest.mark.parametrize("line", ["COGENCY_MODEL=rehearsal", "OPENAI_API_KEY_FILE=/key", "COGENCY_MODLE=misspelt"])
def test_one_in_the_current_folder_is_read_instead(line: str, tmp_path: Path) -> None:
    written(tmp_path / "home/.env", "COGENCY_MODEL=rehearsal\n")
    here = written(tmp_path / "here/.env", f"{line}\n")
    assert found(tmp_path) == SettingsFile(here, is_own=False)


def test_another_programs_file_does_not_hide_the_one_at_home(tmp_path: Path) -> None:
    here = written(tmp_path / "here/.env", "DJANGO_DEBUG=1\n")
    assert found(tmp_path) == SettingsFile(here, is_own=False)
    home = written(tmp_path / "home/.env", "COGENCY_MODEL=rehearsal\n")
    assert found(tmp_path) == SettingsFile(home, is_own=True)


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE"])
def test_nor_does_one_that_only_says_how_its_program_gets_out(tmp_path: Path, name: str) -> None:
    written(tmp_path / "here/.env", f"{name}=proxy.example\n")
    home = written(tmp_path / "home/.env", "COGENCY_MODEL=rehearsal\n")
    file = find_settings_file(None, tmp_path / "here/.env", tmp_path / "home/.env", names_of_ours())
    assert file == SettingsFile(home, is_own=True)


def test_a_file_that_cannot_be_read_is_never_passed_over(tmp_path: Path) -> None:
    written(tmp_path / "home/.env", "COGENCY_MODEL=rehearsal\n")
    written(tmp_path / "here/.env", "COGENCY_MODEL\n")
    with pytest.raises(SettingsError, match="line 1"):
        found(tmp_path)


def test_a_file_that_is_named_goes_before_both(tmp_path: Path) -> None:
    for name in ("home", "here"):
        written(tmp_path / name / ".env", "COGENCY_MODEL=rehearsal\n")
    named = written(tmp_path / "etc/env", "")
    assert found(tmp_path, named) == SettingsFile(named, is_own=True)


def test_a_home_folder_of_nobody_has_no_file(tmp_path: Path) -> None:
    assert not found(tmp_path, config=Path("~nobody-of-that-name/.env")).is_read


def test_without_any_the_one_at_home_would_be_written(tmp_path: Path) -> None:
    file = found(tmp_path)
    assert (file.path, file.is_read) == (tmp_path / "home" / ".env", False)


def test_only_a_file_of_ones_own_may_decide_which_code_runs_beside_keys_of_the_environment(tmp_path: Path) -> None:
    file = written(tmp_path / ".env", "COGENCY_TOOLS=our_tools.py\n")
    environ = {"OPENAI_API_KEY": "sk-x"}
    with pytest.raises(SettingsError, match="The key could go to a server that you did not choose"):
        load_settings(environ, file)
    assert load_settings(environ, file, is_own_file=True).tools.modules == ("our_tools.py",)


def test_a_file_that_the_system_does_not_look_up_is_told(tmp_path: Path) -> None:
    """As in a folder that this user may not look into: but root, as whom tests may run, looks into each."""
    long = tmp_path / ("long" * 100)
    with pytest.raises(SettingsError, match="could not be read"):
        _ = found(tmp_path, config=long).is_read
    with pytest.raises(SettingsError, match="could not be read"):
        find_settings_file(None, long, tmp_path / ".env", NAMES)
