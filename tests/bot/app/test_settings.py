"""Settings are read once; every problem is one sentence that names the setting and never shows a value."""

import grp
import os
import pwd
import re
import shutil
import subprocess
from dataclasses import FrozenInstanceError, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import cast, get_args

import keyring
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keyring.backend import KeyringBackend

from agent.errors import SettingsError
from agent.spending import NANO
from bot.app.settings import GROUPS, Settings, all_settings, load_settings, moved_addresses, setting_names
from bot.app.storage_settings import StorageSettings
from bot.chat.logs import LogLevel
from bot.settings.declaration import Secrecy, declared_settings, needed
from bot.settings.secret import Secret

ROOT = Path(__file__).parents[3]
HIDDEN = "hunter2hunter2"


def refusal(environ: dict[str, str], dotenv: Path | None = None) -> str:
    with pytest.raises(SettingsError) as caught:
        load_settings(environ, dotenv)
    return str(caught.value)


def dotenv_with(folder: Path, content: str | bytes) -> Path:
    path = folder / ".env"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_nothing_is_required(tmp_path: Path) -> None:
    settings = load_settings({}, data_folder=tmp_path, has_static_embeddings=lambda: False)
    assert settings == Settings(storage=StorageSettings(url=f"sqlite:///{tmp_path}/cogency.db"))
    assert settings.models.model is None
    assert settings.models.ollama_base_url == "http://localhost:11434"
    assert settings.chat.language_rule == "Answer in the language that the person writes in."


def test_the_database_lies_in_the_persons_own_data_folder_unless_named() -> None:
    assert re.fullmatch(r"sqlite:///.*cogency/cogency\.db", load_settings({}).storage.url)
    named = {"COGENCY_DATABASE_URL": "sqlite:////srv/bot.db"}
    assert load_settings(named).storage.url == "sqlite:////srv/bot.db"


def test_values_are_parsed_to_their_types() -> None:
    settings = load_settings(
        {
            "COGENCY_MODEL": " openai:gpt-5-mini ",
            "COGENCY_MAX_ITERATIONS": "3",
            "COGENCY_LEARNING": "Off",
            "COGENCY_TOOL_TIMEOUT_S": "1.5",
            "COGENCY_LOG_LEVEL": "info",
            "COGENCY_LANGUAGE": "Japanese",
            "COGENCY_CHANNEL_INSTRUCTIONS": '{"C1": "Answer formally."}',
            "OPENAI_API_KEY": HIDDEN,
            "OPENAI_BASE_URL": "http://127.0.0.1:8080/v1/",
            "DISCORD_GATEWAY_URL": "ws://localhost:9000",
        }
    )
    assert settings.models.model == "openai:gpt-5-mini"
    assert settings.turns.max_iterations == 3
    assert settings.memory.learning is False
    assert settings.tools.timeout_s == 1.5
    assert settings.chat.log_level is LogLevel.INFO
    assert settings.chat.language_rule == "Answer in Japanese."
    assert settings.chat.channel_instructions == {"C1": "Answer formally."}
    assert settings.models.openai_api_key == Secret(HIDDEN)
    assert settings.models.openai_base_url == "http://127.0.0.1:8080/v1"
    assert settings.discord.gateway_url == "ws://localhost:9000"


@pytest.mark.parametrize(
    ("written", "cents"), [("5", 500), ("2.5", 250), ("0.01", 1), ("10.10", 1_010), ("0", None), ("0.00", None)]
)
def test_a_sum_is_read_to_the_cent_and_zero_is_no_limit(written: str, cents: int | None) -> None:
    settings = load_settings({"COGENCY_EVERYONE_DOLLARS_PER_DAY": written})
    assert settings.budgets.everyone_dollars == (None if cents is None else cents * NANO // 100)


def test_a_limit_of_0_is_none() -> None:
    assert load_settings({"COGENCY_PERSON_PER_MINUTE": "0"}).access.person_per_minute is None
    assert load_settings({}).access.person_per_minute == 20


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        load_settings({}).turns.max_iterations = 3  # pyright: ignore[reportAttributeAccessIssue] -- the point of the test


def test_the_environment_overrides_the_file_and_an_empty_value_counts_as_not_set(tmp_path: Path) -> None:
    dotenv = dotenv_with(tmp_path, "COGENCY_MODEL=rehearsal\nCOGENCY_MAX_ITERATIONS=4\nCOGENCY_LOG_LEVEL=\n")
    settings = load_settings({"COGENCY_MODEL": "ollama:llama3.2", "COGENCY_MAX_ITERATIONS": ""}, dotenv)
    assert settings.models.model == "ollama:llama3.2"
    assert settings.turns.max_iterations == 4
    assert settings.chat.log_level is None


def test_the_file_may_have_comments_quotes_a_byte_order_mark_and_names_of_others(tmp_path: Path) -> None:
    content = "# ours\nexport COGENCY_LANGUAGE='Irish' # really\nPOSTGRES_USER=x\nOPENAI_API_KEY=pa$$w${HOME}rd\n"
    settings = load_settings({"HOME": "/home/x"}, dotenv_with(tmp_path, b"\xef\xbb\xbf" + content.encode()))
    assert settings.chat.language == "Irish"
    assert settings.models.openai_api_key == Secret("pa$$w${HOME}rd")


ADDRESSES = {
    "OPENAI_BASE_URL": "OPENAI_API_KEY",
    "ANTHROPIC_BASE_URL": "ANTHROPIC_API_KEY",
    "GEMINI_BASE_URL": "GEMINI_API_KEY",
    "SLACK_API_BASE_URL": "SLACK_BOT_TOKEN",
    "DISCORD_API_BASE_URL": "DISCORD_TOKEN",
}
TOKENS = {"SLACK_BOT_TOKEN": "xoxb-1234567890"}


@pytest.mark.parametrize(("address", "key"), [*ADDRESSES.items(), ("DISCORD_GATEWAY_URL", "DISCORD_TOKEN")])
@pytest.mark.parametrize("host", ["catcher.example", "localhost.catcher.example", "128.0.0.1", "192.168.0.9"])
def test_a_file_in_the_folder_sends_no_key_of_the_environment_elsewhere(
    tmp_path: Path, address: str, key: str, host: str
) -> None:
    url = f"{'wss' if 'GATEWAY' in address else 'https'}://{host}"
    dotenv = dotenv_with(tmp_path, f"{address}={url}\n")
    secret = TOKENS.get(key, HIDDEN)
    said = refusal({key: secret}, dotenv)
    assert said == (
        f"{address} is set in {dotenv}, but the environment or another file sets {key}. The key could go to a server "
        f"that you did not choose. Set all of them in the environment, or all of them in {dotenv}."
    )
    dotenv_with(tmp_path, f"{address}={url}\n{key}={secret}\n")
    assert HIDDEN not in refusal({key: secret}, dotenv), "the environment's key would go there, whatever the file says"
    assert load_settings({}, dotenv).secrets() == (secret,)
    assert load_settings({key: secret, address: url}, dotenv).secrets() == (secret,)
    dotenv_with(tmp_path, f"{address}={url}\n")
    assert load_settings({}, dotenv).secrets() == (), "a server without a key may be named by the file"


def test_several_keys_of_a_service_are_one_setting_and_each_is_a_secret(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("sk-first-4711\nsk-second-4711\n")
    for written in ({"OPENAI_API_KEY": "sk-first-4711, sk-second-4711"}, {"OPENAI_API_KEY_FILE": str(file)}):
        settings = load_settings(written)
        key = settings.models.openai_api_key
        assert key is not None
        assert key.reveal_all() == ("sk-first-4711", "sk-second-4711")
        assert key.reveal() == "sk-first-4711", "where one key is used, it is the first"
        assert settings.secrets() == key.reveal_all(), "the log hides each of them"
        assert "4711" not in f"{settings} {key!r} {settings.shown}"
    assert refusal({"OPENAI_API_KEY": f"{HIDDEN},"}).startswith("OPENAI_API_KEY contains an empty key.")


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_secret_can_be_read_from_a_file(tmp_path: Path, end: str) -> None:
    key, database = tmp_path / "key", tmp_path / "database"
    key.write_text(f"{HIDDEN}{end}", encoding="utf-8", newline="")
    database.write_text(f"postgresql://bot:{HIDDEN}@db/bot{end}", encoding="utf-8", newline="")
    files = {"OPENAI_API_KEY_FILE": str(key), "COGENCY_DATABASE_URL_FILE": str(database)}
    written = "".join(f"{name}={file}\n" for name, file in files.items())
    for settings in (load_settings(files), load_settings({}, dotenv_with(tmp_path, written))):
        assert settings.models.openai_api_key == Secret(HIDDEN)
        assert settings.storage.url == f"postgresql://bot:{HIDDEN}@db/bot"
        assert settings.secret_files == dict(sorted(files.items()))
    named = {"OPENAI_API_KEY_FILE": "elsewhere"}
    assert load_settings({"OPENAI_API_KEY": HIDDEN}, dotenv_with(tmp_path, written)).models.openai_api_key == Secret(
        HIDDEN
    )
    assert refusal({**named, "OPENAI_API_KEY": HIDDEN}).startswith(
        "OPENAI_API_KEY and OPENAI_API_KEY_FILE are both set"
    )


def test_a_secret_in_a_file_is_refused_as_one_that_is_written_out(tmp_path: Path) -> None:
    key = tmp_path / "key"
    assert f"DISCORD_TOKEN_FILE points to {key}, which does not exist" in refusal({"DISCORD_TOKEN_FILE": str(key)})
    for written, sentence in [
        ("\n", f"DISCORD_TOKEN_FILE points to {key}, which is empty. Write the secret into the file."),
        (
            f"Bot {HIDDEN}",
            (
                "DISCORD_TOKEN contains a space or another character that is not allowed; copy the value again, "
                "without quotes."
            ),
        ),
        (
            f"{HIDDEN}\n{HIDDEN}",
            (
                "DISCORD_TOKEN contains a space or another character that is not allowed; copy the value again, "
                "without quotes."
            ),
        ),
    ]:
        key.write_text(written, encoding="utf-8")
        assert refusal({"DISCORD_TOKEN_FILE": str(key)}) == sentence
    key.chmod(0o666)
    assert "can be written by other users" in refusal({"DISCORD_TOKEN_FILE": str(key)})
    assert "is not a setting" in refusal({"COGENCY_MODEL_FILE": str(key)}), "what is no secret is written out"


def test_a_file_in_the_folder_sends_no_secret_of_another_file_elsewhere(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(HIDDEN, encoding="utf-8")
    moved = "OPENAI_BASE_URL=https://catcher.example\n"
    dotenv = dotenv_with(tmp_path, f"{moved}OPENAI_API_KEY_FILE={key}\n")
    assert "the environment or another file sets OPENAI_API_KEY" in refusal({}, dotenv)
    assert load_settings({"OPENAI_BASE_URL": "https://gateway.example"}, dotenv).models.openai_api_key == Secret(HIDDEN)
    assert "sets OPENAI_API_KEY" in refusal({"OPENAI_API_KEY_FILE": str(key)}, dotenv_with(tmp_path, moved))


class Keychain(KeyringBackend):
    """A keychain in memory, for one service."""

    priority = 1  # pyright: ignore[reportAssignmentType] -- keyring reads it as a number

    def get_password(self, service: str, username: str) -> str | None:
        return HIDDEN if (service, username) == ("cogency", "OPENAI_API_KEY") else None

    def set_password(self, service: str, username: str, password: str) -> None: ...

    def delete_password(self, service: str, username: str) -> None: ...


def test_a_secret_can_be_read_from_the_systems_keychain(tmp_path: Path) -> None:
    before = keyring.get_keyring()
    keyring.set_keyring(Keychain())
    try:
        for settings in (
            load_settings({"OPENAI_API_KEY": "keyring"}),
            load_settings({}, dotenv_with(tmp_path, "OPENAI_API_KEY=keyring:cogency\n")),
        ):
            assert settings.models.openai_api_key == Secret(HIDDEN)
        assert refusal({"OPENAI_API_KEY": "keyring:other"}) == (
            "OPENAI_API_KEY is not in the keychain. Run `keyring set other OPENAI_API_KEY`."
        )
        moved = dotenv_with(tmp_path, "OPENAI_API_KEY=keyring\nOPENAI_BASE_URL=https://catcher.example\n")
        assert "the environment or another file sets OPENAI_API_KEY" in refusal({}, moved)
    finally:
        keyring.set_keyring(before)


@pytest.mark.parametrize("lent", ["PGPASSWORD", "PGPASSFILE"])
@pytest.mark.parametrize("at", ["catcher.example/db", "localhost/db?host=catcher.example"])
def test_a_file_in_the_folder_sends_no_password_of_the_environment_to_its_database(
    tmp_path: Path, lent: str, at: str
) -> None:
    url = f"postgresql://someone@{at}"
    dotenv = dotenv_with(tmp_path, f"COGENCY_DATABASE_URL={url}\n")
    assert refusal({lent: HIDDEN}, dotenv).startswith(
        f"COGENCY_DATABASE_URL is set in {dotenv}, but the environment or another file sets {lent}."
    )
    assert load_settings({lent: HIDDEN, "COGENCY_DATABASE_URL": url}, dotenv).storage.url == url
    assert load_settings({}, dotenv).storage.url == url
    for here in ("127.0.0.1/db", "/db?host=/run/postgresql"):
        dotenv_with(tmp_path, f"COGENCY_DATABASE_URL=postgresql://{here}\n")
        assert load_settings({lent: HIDDEN}, dotenv)


@pytest.mark.parametrize("host", ["[::1].catcher.example", "[::1]catcher.example", "[::1]:80.catcher.example"])
def test_an_ambiguous_address_is_refused(host: str) -> None:
    assert "is not a valid address" in refusal({"OPENAI_BASE_URL": f"http://{host}"})


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1", "127.9.9.9:1", "[::1]:8000"])
def test_an_address_on_this_machine_may_come_from_the_file(tmp_path: Path, host: str) -> None:
    dotenv = dotenv_with(tmp_path, f"OPENAI_BASE_URL=http://{host}\n")
    assert load_settings({"OPENAI_API_KEY": HIDDEN}, dotenv).models.openai_base_url == f"http://{host}"


def test_the_vendors_own_address_without_encryption_is_elsewhere(tmp_path: Path) -> None:
    dotenv = dotenv_with(tmp_path, "OPENAI_BASE_URL=http://api.openai.com/v1\n")
    assert "The key could go" in refusal({"OPENAI_API_KEY": HIDDEN}, dotenv)
    dotenv_with(tmp_path, "OPENAI_BASE_URL=https://api.openai.com\n")
    assert moved_addresses(load_settings({"OPENAI_API_KEY": HIDDEN}, dotenv)) == []


def test_every_address_of_a_service_names_the_keys_that_go_there() -> None:
    sources = all_settings()
    services = {source.name: source.sensitivity.keys for source in sources if source.name.endswith("_URL")}
    databases = {"COGENCY_DATABASE_URL", "COGENCY_DATABASE_REPLICA_URL"}
    local = {f"{name}_BASE_URL" for name in ("OLLAMA", "LLAMACPP", "VLLM", "LMSTUDIO")}
    assert {name for name, keys in services.items() if not keys} == databases | local
    assert {key for keys in services.values() for key in keys} <= {source.name for source in sources}


BOTH = "SLACK_BOT_TOKEN and SLACK_APP_TOKEN."


@pytest.mark.parametrize(
    ("environ", "sentences"),
    [
        ({}, []),
        ({"OLLAMA_BASE_URL": "http://127.0.0.1:9"}, []),
        ({"COGENCY_DATABASE_URL": "postgresql://localhost/db"}, []),
        (
            {"COGENCY_DATABASE_URL": "postgresql://u:hidden@db.example/db"},
            ["COGENCY_DATABASE_URL is set to db.example. Messages and memory are stored there."],
        ),
        (
            {"COGENCY_DATABASE_REPLICA_URL": "postgresql://u:hidden@near.example/db"},
            ["COGENCY_DATABASE_REPLICA_URL is set to near.example. Messages and memory are stored there."],
        ),
        (
            {"OLLAMA_BASE_URL": "http://gpu.example"},
            ["OLLAMA_BASE_URL is set to http://gpu.example. Messages go there."],
        ),
        (
            {"LLAMACPP_BASE_URL": "http://gpu.example:8081"},
            ["LLAMACPP_BASE_URL is set to http://gpu.example:8081. Messages go there."],
        ),
        (
            {"OPENAI_BASE_URL": "http://localhost:8/v1", "OPENAI_API_KEY": HIDDEN},
            ["OPENAI_BASE_URL is set to http://localhost:8/v1. Messages go there, and so does OPENAI_API_KEY."],
        ),
        (
            {"DISCORD_API_BASE_URL": "http://a.example", "DISCORD_TOKEN": HIDDEN},
            ["DISCORD_API_BASE_URL is set to http://a.example. Messages go there, and so does DISCORD_TOKEN."],
        ),
        (
            {"SLACK_API_BASE_URL": "http://a.io", "SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"},
            ["SLACK_API_BASE_URL is set to http://a.io. Messages go there, and so do " + BOTH],
        ),
    ],
)
def test_an_address_that_is_not_the_vendors_is_reported(environ: dict[str, str], sentences: list[str]) -> None:
    assert moved_addresses(load_settings(environ)) == sentences


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("OPENAI_API_KY=x", (("OPENAI_API_KY", "OPENAI_API_KEY"),)),
        ("discord_bot_token=x", (("discord_bot_token", "DISCORD_TOKEN"),)),
        ("DISCORD_TOKEN=x\nDISCORD_BOT_TOKEN=y", ()),  # the real one is set, so the other belongs to another program
        ("POSTGRES_PASSWORD=x\nAWS_REGION=y", ()),
    ],
)
def test_a_name_in_the_file_that_resembles_a_setting_is_reported(
    tmp_path: Path, content: str, told: tuple[tuple[str, str], ...]
) -> None:
    assert load_settings({"OPENAI_API_KYE": HIDDEN}, dotenv_with(tmp_path, content)).misspelt == told


@pytest.mark.parametrize(("mode", "refused"), [(0o600, False), (0o644, False), (0o646, True), (0o666, True)])
def test_a_file_that_others_may_write_is_refused(tmp_path: Path, mode: int, refused: bool) -> None:
    dotenv = dotenv_with(tmp_path, "COGENCY_LANGUAGE=Irish\n")
    dotenv.chmod(mode)
    if refused:
        assert refusal({}, dotenv) == (
            f"{dotenv} can be written by other users, who could send your API keys elsewhere. Run `chmod go-w .env`."
        )
    else:
        assert load_settings({}, dotenv).chat.language == "Irish"


def test_a_group_counts_as_others_unless_it_is_the_users_own(tmp_path: Path) -> None:
    dotenv = dotenv_with(tmp_path, "COGENCY_LANGUAGE=Irish\n")
    dotenv.chmod(0o664)
    user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(dotenv.stat().st_gid)
    if (group.gr_name, set(group.gr_mem) - {user.pw_name}) == (user.pw_name, set()):
        assert load_settings({}, dotenv).chat.language == "Irish"
    if os.geteuid() == 0:  # only root may give a file to a group that it is not in
        os.chown(dotenv, -1, 12_345)
        assert "can be written by other users" in refusal({}, dotenv)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_a_file_that_another_user_owns_is_refused(tmp_path: Path) -> None:
    dotenv = dotenv_with(tmp_path, "COGENCY_LANGUAGE=Irish\n")
    os.chown(dotenv, 12_345, -1)
    assert "belongs to another user, who could send your API keys elsewhere" in refusal({}, dotenv)


def test_a_pipe_in_place_of_the_file_is_refused_without_blocking(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".env")
    assert "could not be read" in refusal({}, tmp_path / ".env")


def test_a_missing_file_is_no_problem(tmp_path: Path) -> None:
    assert load_settings({}, tmp_path / ".env").models.model is None


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("COGENCY_MODEL=x\nOPENAI_API_KEY 'x'\n", "line 2: write NAME=value, or # before a comment."),
        ("COGENCY_MODEL\n", "line 1: write NAME=value, or # before a comment."),
        (b"COGENCY_PERSONA=\xff\xfe", "could not be read. Make it a UTF-8 text file that you have permission to read."),
    ],
)
def test_a_broken_file_is_named_with_the_line(tmp_path: Path, content: str | bytes, sentence: str) -> None:
    path = dotenv_with(tmp_path, content)
    assert refusal({}, path).removeprefix(str(path)).lstrip(", ") == sentence


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    assert "could not be read" in refusal({}, tmp_path)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("COGENCY_MODL", "x", "COGENCY_MODL is not a setting. Did you mean COGENCY_MODEL or COGENCY_MODE?"),
        ("cogency_model", "x", "cogency_model is not a setting. Did you mean COGENCY_MODEL or COGENCY_MODE?"),
        ("COGENCY_ZZZZZZ", "x", "COGENCY_ZZZZZZ is not a setting. `cogency settings` lists all settings."),
        ("COGENCY_LEARNING", "maybe", "COGENCY_LEARNING must be on or off."),
        ("COGENCY_MAX_ITERATIONS", "-1", "COGENCY_MAX_ITERATIONS must be a whole number from 1 to 100."),
        ("COGENCY_MAX_ITERATIONS", "0", "COGENCY_MAX_ITERATIONS must be a whole number from 1 to 100."),
        ("COGENCY_MAX_ITERATIONS", "ten", "COGENCY_MAX_ITERATIONS must be a whole number from 1 to 100."),
        ("COGENCY_MAX_ITERATIONS", "9" * 5000, "COGENCY_MAX_ITERATIONS must be a whole number from 1 to 100."),
        ("COGENCY_MAX_ITERATIONS", "³", "COGENCY_MAX_ITERATIONS must be a whole number from 1 to 100."),
        (
            "COGENCY_TOOL_TIMEOUT_S",
            "-3",
            "COGENCY_TOOL_TIMEOUT_S must be a number of seconds, more than 0 and at most 600.",
        ),
        (
            "COGENCY_TOOL_TIMEOUT_S",
            "nan",
            "COGENCY_TOOL_TIMEOUT_S must be a number of seconds, more than 0 and at most 600.",
        ),
        (
            "COGENCY_TOOL_TIMEOUT_S",
            "soon",
            "COGENCY_TOOL_TIMEOUT_S must be a number of seconds, more than 0 and at most 600.",
        ),
        ("COGENCY_BACKLOG", "-1", "COGENCY_BACKLOG must be a whole number from 0 to 1000000."),
        (
            "COGENCY_PERSON_DOLLARS_PER_DAY",
            "$5",
            (
                "COGENCY_PERSON_DOLLARS_PER_DAY must be an amount in US dollars without a dollar sign, as in 5 or "
                "2.50 (0 for no limit)."
            ),
        ),
        (
            "COGENCY_ALLOW",
            "everybody",
            (
                "COGENCY_ALLOW must be a list of entries separated by commas, each team:ID, channel:ID, role:ID or "
                "person:ID."
            ),
        ),
        ("COGENCY_LOG_LEVEL", "loud", "COGENCY_LOG_LEVEL must be one of DEBUG, INFO, WARNING, ERROR."),
        ("COGENCY_SLACK_STREAM", "channels", "COGENCY_SLACK_STREAM must be one of dm, everywhere, off."),
        (
            "COGENCY_DATABASE_URL",
            f"mysql://bot:{HIDDEN}@db/bot",
            (
                "COGENCY_DATABASE_URL must be an SQLite file, as in sqlite:////var/lib/cogency/cogency.db (four "
                "slashes), or a PostgreSQL database, as in postgresql://user:password@host/database."
            ),
        ),
        (
            "COGENCY_CHANNEL_INSTRUCTIONS",
            '{"C1": 1}',
            (
                'COGENCY_CHANNEL_INSTRUCTIONS must be a JSON object that maps channel IDs to texts, as in {"C0123": '
                '"Answer formally."}.'
            ),
        ),
        (
            "COGENCY_CHANNEL_INSTRUCTIONS",
            "[" * 100_000,
            (
                'COGENCY_CHANNEL_INSTRUCTIONS must be a JSON object that maps channel IDs to texts, as in {"C0123": '
                '"Answer formally."}.'
            ),
        ),
        (
            "SLACK_BOT_TOKEN",
            f"xapp-{HIDDEN}",
            'SLACK_BOT_TOKEN must start with "xoxb-": copy it from the app\'s OAuth & Permissions page.',
        ),
        (
            "SLACK_APP_TOKEN",
            f"xoxb-{HIDDEN}",
            'SLACK_APP_TOKEN must start with "xapp-": create an app-level token on the app\'s Basic Information page.',
        ),
        *[
            (
                "COGENCY_SLACK_HTTP",
                value,
                "COGENCY_SLACK_HTTP must be a host and a port to listen on, as in 127.0.0.1:3000 or 0.0.0.0:3000.",
            )
            for value in ("3000", "localhost", "localhost:0", "localhost:65536", "http://localhost:3000", ":3000")
        ],
        (
            "COGENCY_SLACK_MANAGERS",
            "managers",
            "COGENCY_SLACK_MANAGERS must be user group IDs, separated by commas, as in S0123,S0456.",
        ),
        (
            "COGENCY_DISCORD_MANAGERS",
            "managers",
            (
                "COGENCY_DISCORD_MANAGERS must be role IDs, separated by commas, as in "
                "123456789012345678,234567890123456789."
            ),
        ),
        (
            "COGENCY_SLACK_CONNECTIONS",
            "11",
            "COGENCY_SLACK_CONNECTIONS must be a whole number from 1 to 10.",
        ),
        (
            "SLACK_CONFIG_TOKEN",
            f"xoxb-{HIDDEN}",
            'SLACK_CONFIG_TOKEN must start with "xoxe.xoxp-": create one at https://api.slack.com/apps.',
        ),
        (
            "COGENCY_SLACK_COMMAND_PREFIX",
            "/My-",
            (
                'COGENCY_SLACK_COMMAND_PREFIX must be up to 20 lowercase letters, digits, "-", or "_", and begin with '
                "a letter or digit, as in bot-."
            ),
        ),
        (
            "DISCORD_TOKEN",
            f"Bot {HIDDEN}",
            (
                "DISCORD_TOKEN contains a space or another character that is not allowed; copy the value again, "
                "without quotes."
            ),
        ),
        (
            "GEMINI_API_KEY",
            f"{HIDDEN}\u2026",
            (
                "GEMINI_API_KEY contains a space or another character that is not allowed; copy the value again, "
                "without quotes."
            ),
        ),
        (
            "OPENAI_BASE_URL",
            "localhost:8080",
            "OPENAI_BASE_URL must be a complete address that starts with https:// or http://.",
        ),
        (
            "OPENAI_BASE_URL",
            "https:///v1",
            "OPENAI_BASE_URL must be a complete address that starts with https:// or http://.",
        ),
        (
            "OPENAI_BASE_URL",
            f"https://me:{HIDDEN}@host/v1",
            "OPENAI_BASE_URL must not contain a username or password; API keys have their own settings.",
        ),
        ("OPENAI_BASE_URL", f"https://host/v1?key={HIDDEN}", 'OPENAI_BASE_URL must not contain "?" or "#".'),
        (
            "OPENAI_BASE_URL",
            "https://ho st/v1",
            "OPENAI_BASE_URL contains a space or an invisible character; write the address without it.",
        ),
        (
            "SLACK_API_BASE_URL",
            "http://host:port/api",
            "SLACK_API_BASE_URL is not a valid address; write it like https://host.example:8080.",
        ),
        (
            "DISCORD_GATEWAY_URL",
            "https://gateway.discord.gg",
            "DISCORD_GATEWAY_URL must be a complete address that starts with wss:// or ws://.",
        ),
    ],
)
def test_a_wrong_setting_is_one_sentence_with_the_remedy(name: str, value: str, sentence: str) -> None:
    assert refusal({name: value}) == sentence


ANY_TEXT = {
    "COGENCY_MODEL",
    "COGENCY_LEARNING_MODEL",
    "COGENCY_MCP",
    "COGENCY_OUTGOING_WEBHOOKS",
    "COGENCY_WEBHOOKS",
    "COGENCY_TOOL_POLICY",
    "COGENCY_ACCOUNT_KEY_FILE",
    "COGENCY_FORGETTING_LOG",
    "COGENCY_PERSONA",
    "COGENCY_LANGUAGE",
    "COGENCY_SLACK_APPS",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "NO_PROXY",
    "SSL_CERT_FILE",
}
UNREADABLE = [name for name in setting_names() if name not in ANY_TEXT]


@given(st.sampled_from(UNREADABLE), st.text().map(lambda text: f"\u2603{text}{HIDDEN}"))
def test_a_refused_value_is_never_shown(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=rf"^{name} ") as caught:
        load_settings({name: value})
    assert HIDDEN not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://bot:a%40b@db/bot",
        "postgres://db:6432/bot?sslmode=require",
        "postgresql+asyncpg://bot@[::1]:5432/bot",
        "postgresql:///bot?host=/run/postgresql",
        "postgresql://bot:a%40b@db1:6432,db2,[::1]:5432/bot",
    ],
)
def test_a_postgresql_database_may_be_named(url: str) -> None:
    assert load_settings({"COGENCY_DATABASE_URL": url}).storage.url == url


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://",
        "postgresql://db",
        "postgresql:///bot",
        f"postgresql://bot:{HIDDEN}/x@db/bot",
        f"postgresql://bot:{HIDDEN} x@db/bot",
        f"postgresql://bot:{HIDDEN}#x@db/bot",
        "postgresql://db:port/bot",
        "postgresql://db1,db2:port/bot",
        "postgresql://db1,,db2/bot",
    ],
)
def test_an_invalid_postgresql_address_is_reported_with_the_remedy(url: str) -> None:
    with pytest.raises(SettingsError, match="must have the form postgresql://user:password@host/database") as raised:
        load_settings({"COGENCY_DATABASE_URL": url})
    assert HIDDEN not in str(raised.value)


def test_the_password_of_the_database_is_kept_out_of_logs() -> None:
    settings = load_settings({"COGENCY_DATABASE_URL": "postgresql://bot:open%20sesame@db/bot"})
    assert "sesame" not in repr(settings)
    assert settings.secrets() == ("open sesame",)


@pytest.mark.parametrize(
    "url",
    ["postgresql://bot@db/bot?password=open%20sesame", "postgresql:///bot?host=/run/pg&user=bot&password=open+sesame"],
)
def test_so_is_one_in_the_parameters_of_its_address(url: str) -> None:
    assert load_settings({"COGENCY_DATABASE_URL": url}).secrets() == ("open sesame",)


def test_secrets_are_not_shown_with_the_settings_and_can_be_kept_out_of_logs() -> None:
    settings = load_settings({"OPENAI_API_KEY": HIDDEN, "SLACK_BOT_TOKEN": f"xoxb-{HIDDEN}"})
    assert HIDDEN not in f"{settings!r} {settings!s} {settings.models.openai_api_key}"
    assert {*settings.secrets()} == {HIDDEN, f"xoxb-{HIDDEN}"}


def test_equal_secrets_are_equal_and_hash_alike() -> None:
    assert len({Secret("a"), Secret("a"), Secret("b")}) == 2
    assert Secret("a") != "a"


def test_a_missing_setting_is_named_where_it_is_needed() -> None:
    assert needed(3, "COGENCY_X") == 3
    with pytest.raises(SettingsError, match=r"^DISCORD_TOKEN is missing. Set it in the environment or in \.env\.$"):
        needed(load_settings({}).discord.token, "DISCORD_TOKEN")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("127.0.0.1:3000", ("127.0.0.1", 3000)),
        ("[::1]:80", ("::1", 80)),
        ("bot.example:65535", ("bot.example", 65_535)),
    ],
)
def test_an_address_to_listen_at_is_a_host_and_a_port(written: str, read: tuple[str, int]) -> None:
    assert load_settings({"COGENCY_SLACK_HTTP": written}).slack.http == read


def test_how_discord_is_served_can_be_chosen() -> None:
    chosen = load_settings(
        {
            "COGENCY_DISCORD_REPLIES": "chain",
            "COGENCY_DISCORD_DM_IDLE_MINUTES": "30",
            "COGENCY_DISCORD_MESSAGE_CONTENT": "off",
            "COGENCY_DISCORD_SHARDS": "auto",
        }
    )
    assert (chosen.discord.replies, chosen.discord.dm_idle_minutes) == ("chain", 30)
    assert (chosen.discord.message_content, chosen.discord.shards) == (False, None)
    assert load_settings({"COGENCY_DISCORD_SHARDS": "4"}).discord.shards == 4
    assert "must be auto, or a whole number from 1 to 1000" in refusal({"COGENCY_DISCORD_SHARDS": "some"})


@pytest.mark.parametrize(
    ("written", "installed", "used"),
    [
        ("", True, "static:use-multilingual-3"),
        ("", False, None),
        ("off", True, None),
        ("ollama:nomic-embed-text", True, "ollama:nomic-embed-text"),
    ],
)
def test_where_the_model_for_meaning_is_installed_recall_uses_it_by_default(
    written: str, installed: bool, used: str | None
) -> None:
    settings = load_settings({"COGENCY_EMBEDDINGS": written}, has_static_embeddings=lambda: installed)
    assert settings.models.embeddings == used


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)  # noqa: S603, S607 -- git of this machine


@pytest.mark.skipif(shutil.which("git") is None, reason="without git nothing is cloned")
@pytest.mark.parametrize("version", ["2", "3", "4"])
@pytest.mark.parametrize("folder", ["", "sub/folder"])
def test_a_file_that_came_with_a_clone_runs_nothing(tmp_path: Path, version: str, folder: str) -> None:
    repository, place = tmp_path, tmp_path / folder
    place.mkdir(parents=True, exist_ok=True)
    git(repository, "init", "--quiet")
    git(repository, "config", "index.version", version)
    dotenv = dotenv_with(place, "COGENCY_MCP=mcp.json\n")
    assert load_settings({}, dotenv).mcp.file == "mcp.json"
    for name in (".editorconfig", ".env.example", "a.txt", "z" * 200):
        (place / name).write_text("x")
    git(repository, "add", "--all", "--", ":!*.env")
    assert load_settings({}, dotenv).mcp.file == "mcp.json", "an own file beside a repository's"
    git(repository, "add", "--force", str(dotenv))
    if version == "3":
        git(repository, "update-index", "--skip-worktree", str(dotenv))  # makes entries longer
    run = ("COGENCY_MCP=mcp.json", "COGENCY_PLUGINS=/srv/one", "COGENCY_TOOLS=a.py", "COGENCY_HOOKS=a.py")
    for setting in (*run, "COGENCY_OUTGOING_WEBHOOKS=out.toml", "COGENCY_WEBHOOKS=hooks.toml"):
        dotenv_with(place, f"{setting}\n")
        assert "That file is part of a git repository" in refusal({}, dotenv)
        name, _, value = setting.partition("=")
        assert load_settings({name: value}, dotenv)
    dotenv_with(place, "COGENCY_LANGUAGE=de\n")
    assert load_settings({}, dotenv), "what runs no code may come with it"
    if version == "3":
        git(repository, "update-index", "--no-skip-worktree", str(dotenv))
    git(repository, "rm", "--cached", "--quiet", "--force", str(dotenv))
    dotenv_with(place, "COGENCY_MCP=mcp.json\n")
    assert load_settings({}, dotenv).mcp.file == "mcp.json"


@pytest.mark.skipif(shutil.which("git") is None, reason="without git nothing is cloned")
@pytest.mark.parametrize("kind", ["longer hashes", "split index", "capitals"])
def test_a_clone_of_another_kind_runs_nothing_either(tmp_path: Path, kind: str) -> None:
    git(tmp_path, "init", "--quiet", *(["--object-format=sha256"] if kind == "longer hashes" else []))
    (tmp_path / "a.txt").write_text("x")
    dotenv = dotenv_with(tmp_path, "COGENCY_MCP=mcp.json\n")
    added = dotenv.rename(tmp_path / ".ENV") if kind == "capitals" else dotenv
    git(tmp_path, "add", "--force", "a.txt", str(added))
    if kind == "split index":
        git(tmp_path, "update-index", "--split-index")
    if kind == "capitals":
        dotenv_with(tmp_path, "COGENCY_MCP=mcp.json\n")
    assert "That file is part of a git repository" in refusal({}, dotenv)


@pytest.mark.parametrize("index", [b"", b"DIRC\0\0\0\x09\0\0\0\x01", b"DIRC\0\0\0\x02\0\0\0\x05short"])
def test_a_repository_that_cannot_be_read_is_no_proof_that_a_file_is_ones_own(tmp_path: Path, index: bytes) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/index").write_bytes(index)
    dotenv = dotenv_with(tmp_path, "COGENCY_MCP=mcp.json\n")
    assert "That file is part of a git repository" in refusal({}, dotenv)


def modules_with_settings() -> list[Path]:
    return sorted(path for path in (ROOT / "bot").rglob("*.py") if "= setting(" in path.read_text(encoding="utf-8"))


def test_what_a_feature_declares_is_among_the_settings_of_the_program() -> None:
    modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in modules_with_settings()]
    assert len(modules) >= 10
    assert sorted(modules) == sorted({group.__module__ for group in GROUPS.values()})
    for module in map(import_module, modules):
        declaring = {one for one in vars(module).values() if is_dataclass(one) and declared_settings(cast("type", one))}
        assert declaring <= {*GROUPS.values()}, module


def test_every_setting_is_declared_once_with_one_line_that_describes_it() -> None:
    names = [setting.name for setting in all_settings()]
    assert len(names) == len({*names}) == sum(len(declared_settings(group)) for group in GROUPS.values())
    for setting in all_settings():
        assert setting.description.endswith("."), setting.name
        assert setting.description.isprintable(), setting.name


def test_a_setting_whose_value_is_a_secret_is_declared_as_one() -> None:
    for group in GROUPS.values():
        declared = declared_settings(group)
        for part in fields(group):
            holds_secret = Secret in get_args(part.type)
            assert holds_secret is (declared[part.name].sensitivity.secrecy is Secrecy.VALUE), part.name


def test_a_default_is_written_so_that_it_is_read_as_the_same_value() -> None:
    for setting in all_settings():
        if text := setting.default_text:
            assert setting.name in {"COGENCY_LANGUAGE", "COGENCY_PERSONA"} or setting.read(text) == setting.default
