"""The proxy and the certificate authorities: read like any other setting, and written where libraries look for them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SettingsError
from bot.app.network_settings import MAX_BYTES, NetworkSettings, proxy
from bot.app.settings import load_settings, moved_addresses
from bot.tools.mcp.config import base_environment
from tests.fakes.tls_server import self_signed

PROXY = "http://proxy.example:3128"


def dotenv_with(folder: Path, **values: str) -> Path:
    file = folder / ".env"
    file.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
    file.chmod(0o600)
    return file


def test_what_env_sets_is_written_under_both_spellings_and_this_machine_is_left_out(tmp_path: Path) -> None:
    authority = self_signed(tmp_path, "proxy.example")
    file = dotenv_with(
        tmp_path, HTTPS_PROXY="proxy.example:3128", NO_PROXY="a.example, .b.example", SSL_CERT_FILE=str(authority)
    )
    assert load_settings({}, file).network.variables() == {
        "HTTPS_PROXY": PROXY,
        "https_proxy": PROXY,
        "NO_PROXY": "a.example,.b.example,localhost,127.0.0.1,::1",
        "no_proxy": "a.example,.b.example,localhost,127.0.0.1,::1",
        "SSL_CERT_FILE": str(authority),
    }


def test_without_a_proxy_nothing_is_written() -> None:
    assert load_settings({}).network.variables() == {}
    assert load_settings({"NO_PROXY": "a.example"}).network.variables() == {}


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy"])
def test_the_environment_overrides_the_file_in_small_letters_too(tmp_path: Path, name: str) -> None:
    file = dotenv_with(tmp_path, HTTPS_PROXY="http://other.example:1")
    assert load_settings({name: PROXY}, file).network.https_proxy == PROXY


@pytest.mark.parametrize(
    "wrong",
    ["socks5://127.0.0.1:1080", "http:///x", "http://host:port", "http://a.example/path?x", "http://[::1", "a b"],
)
def test_what_is_no_proxy_is_one_sentence_without_the_value(wrong: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings({"HTTPS_PROXY": wrong})
    assert str(refused.value).startswith("HTTPS_PROXY must ")
    assert wrong not in str(refused.value)


@given(st.text(max_size=60))
def test_any_text_is_a_proxy_with_a_scheme_or_a_sentence(text: str) -> None:
    try:
        address = proxy(text)
    except ValueError:
        return
    assert address.lower().startswith(("http://", "https://"))
    assert proxy(address) == address


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(None, "which does not exist"), (b"no certificate", "which does not contain certificates in PEM format")],
)
def test_a_file_that_holds_no_authorities_is_one_sentence(tmp_path: Path, content: bytes | None, sentence: str) -> None:
    file = tmp_path / "authorities.pem"
    if content is not None:
        file.write_bytes(content)
    for named, said in ((file, sentence), (tmp_path, "which could not be read")):
        network = load_settings({"SSL_CERT_FILE": str(named)}).network
        with pytest.raises(SettingsError, match=f"^SSL_CERT_FILE points to {named}, {said}"):
            network.variables()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipes in folders")
def test_neither_a_pipe_nor_a_file_without_end_is_read_for_authorities(tmp_path: Path) -> None:
    pipe, huge = tmp_path / "pipe", tmp_path / "huge"
    os.mkfifo(pipe)
    with huge.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    for named in (pipe, huge):
        network = load_settings({"SSL_CERT_FILE": str(named)}).network
        with pytest.raises(SettingsError, match=f"^SSL_CERT_FILE points to {named}, which could not be read"):
            network.variables()


def test_env_of_a_folder_cannot_lead_a_key_of_the_environment_through_a_strangers_proxy(tmp_path: Path) -> None:
    authority = self_signed(tmp_path, "proxy.example")
    for name, value in {"HTTPS_PROXY": PROXY, "SSL_CERT_FILE": str(authority), "NO_PROXY": "a.example"}.items():
        file = dotenv_with(tmp_path, **{name: value})
        with pytest.raises(
            SettingsError, match=f"^{name} is set in .*but the environment or another file sets OPENAI_API_KEY"
        ):
            load_settings({"OPENAI_API_KEY": "sk-1"}, file)
        load_settings({"OPENAI_API_KEY": "sk-1"}, file, is_own_file=True)
        load_settings({}, dotenv_with(tmp_path, OPENAI_API_KEY="sk-1", **{name: value}))
        load_settings({"OPENAI_API_KEY": "sk-1", name: value}, file)


@pytest.mark.skipif(shutil.which("git") is None, reason="without git nothing is cloned")
def test_env_that_came_with_a_clone_leads_nothing_through_a_strangers_proxy(tmp_path: Path) -> None:
    """Also where no key is set yet: `cogency init` asks for keys, tries them, and writes them into this file."""
    authority = self_signed(tmp_path, "proxy.example")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)  # noqa: S607 -- git of this machine
    for name, value in {"HTTPS_PROXY": PROXY, "SSL_CERT_FILE": str(authority), "NO_PROXY": "a.example"}.items():
        file = dotenv_with(tmp_path, **{name: value})
        assert load_settings({}, file), "an own file beside a repository's"
        subprocess.run(["git", "add", "--force", ".env"], cwd=tmp_path, check=True)  # noqa: S607 -- git of this machine
        with pytest.raises(SettingsError, match=f"^{name} in .* is part of a git repository"):
            load_settings({}, file)
        assert load_settings({name: value}, file)
        subprocess.run(["git", "rm", "--cached", "-q", "--force", ".env"], cwd=tmp_path, check=True)  # noqa: S607 -- as above


def test_env_of_a_folder_leads_no_traces_with_their_keys_elsewhere(tmp_path: Path) -> None:
    file = dotenv_with(tmp_path, HTTPS_PROXY=PROXY)
    with pytest.raises(
        SettingsError, match=r"^HTTPS_PROXY is set in .*but the environment .*sets OTEL_EXPORTER_OTLP_HEADERS"
    ):
        load_settings({"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer x"}, file)


@pytest.mark.parametrize("name", ["https_proxy", "NODE_EXTRA_CA_CERTS", "SSL_CERT_DIR", "XDG_CACHE_HOME", "TMPDIR"])
@pytest.mark.parametrize("more", [{}, {"COGENCY_MCP": "/own/mcp.json"}])
def test_programs_that_the_bot_starts_get_what_no_setting_checks_from_the_environment_alone(
    tmp_path: Path, name: str, more: dict[str, str]
) -> None:
    """A server has keys of its own, and `uvx` runs what lies in its cache."""
    file, environ = dotenv_with(tmp_path, **{name: "of the folder"}), {"PATH": "/bin", **more}
    assert name not in base_environment(load_settings(environ, file).mcp_variables)
    for environment, is_own in (({**environ, name: "mine"}, False), (environ, True)):
        assert name in base_environment(load_settings(environment, file, is_own_file=is_own).mcp_variables)


def test_a_proxy_and_authorities_of_env_are_said_before_keys_are_asked_for(tmp_path: Path) -> None:
    authority = self_signed(tmp_path, "proxy.example")
    file = dotenv_with(tmp_path, HTTPS_PROXY="http://ann:p%40ss@proxy.example:3128", SSL_CERT_FILE=str(authority))
    said = [
        (
            f"HTTPS_PROXY in .env is set to {PROXY}. The bot's https:// connections to other machines go through this "
            "proxy, except to the hosts in NO_PROXY."
        ),
        (
            f"SSL_CERT_FILE in .env is set to {authority}. The owners of these certificate authorities can intercept "
            "the bot's connections."
        ),
    ]
    assert moved_addresses(load_settings({}, file)) == said
    assert moved_addresses(load_settings({"HTTPS_PROXY": PROXY, "SSL_CERT_FILE": str(authority)})) == []


def test_a_proxys_password_is_a_secret_that_can_be_in_a_file(tmp_path: Path) -> None:
    named = tmp_path / "proxy"
    named.write_text("http://ann:p%40ss@proxy.example:3128\n")
    named.chmod(0o600)
    settings = load_settings({"HTTPS_PROXY_FILE": str(named)})
    assert settings.network.https_proxy == "http://ann:p%40ss@proxy.example:3128"
    assert "p@ss" in settings.secrets()
    assert "p%40ss" not in repr(settings)
    [shown] = [one for one in settings.shown if one.name == "HTTPS_PROXY"]
    assert shown.value == PROXY


def test_nothing_set_is_nothing_changed() -> None:
    assert NetworkSettings() == load_settings({}).network
