"""The set-up dialogue: what it asks, tries and writes; everything else in the file stays."""

from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SettingsError
from agent.messages import Usage
from agent.providers.catalog import ENDPOINTS
from bot.app.from_settings import http_address
from bot.app.settings import load_settings
from bot.settings.sources import read_dotenv
from bot.setup.services import Services
from bot.setup.wizard import set_up, set_up_from, with_changes, wrapped, write
from bot.webhooks.presets import presets
from bot.webhooks.settings import hooks_of
from tests.fakes.bedrock_service import API_KEY, USER, ConverseWire
from tests.fakes.discord_gateway import running_discord
from tests.fakes.discord_requests import TOKEN
from tests.fakes.fast_clock import FastClock
from tests.fakes.model_server import CHUNKED, DONE, ModelServer, Reply, Request, event, framed, head, text, whole
from tests.fakes.service_managers import ServiceManagers
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_faults import Fault
from tests.fakes.slack_things import APP_TOKEN, BOT_TOKEN

NAMES = st.sampled_from(["OPENAI_API_KEY", "COGENCY_MODEL", "DISCORD_TOKEN", "COGENCY_LANGUAGE"])
VALUES = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="\x7f\x85"), max_size=30)
LINES = st.one_of(
    st.just("# a comment"), st.just(""), st.just("OTHER=1"), st.builds("{}={}".format, NAMES, st.just("old")),
    st.builds("# {}={}".format, NAMES, st.just("example")),
)  # fmt: skip


def parsed(folder: Path, content: str) -> dict[str, str]:
    dotenv = folder / ".env"
    dotenv.write_text(content, encoding="utf-8")
    return read_dotenv(dotenv)


@given(lines=st.lists(LINES, max_size=8), changes=st.dictionaries(NAMES, VALUES, max_size=4))
def test_what_is_written_is_read_again_and_the_rest_stays(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], changes: dict[str, str]
) -> None:
    folder, before = tmp_path_factory.mktemp("env"), "".join(f"{line}\n" for line in lines)
    after = with_changes(before, changes)
    assert parsed(folder, after) == {**parsed(folder, before), **changes}
    assert [line for line in after.splitlines() if line in {"# a comment", "", "OTHER=1"}] == [
        line for line in lines if line in {"# a comment", "", "OTHER=1"}
    ]


def test_the_file_is_for_its_owner_alone_and_a_commented_line_makes_room(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    dotenv.write_text("## Models\n# COGENCY_MODEL=ollama:llama3.2\n# COGENCY_LANGUAGE=Japanese\n", encoding="utf-8")
    dotenv.chmod(0o644)
    write(dotenv, {"COGENCY_MODEL": "rehearsal"})
    assert dotenv.read_text() == "## Models\nCOGENCY_MODEL=rehearsal\n# COGENCY_LANGUAGE=Japanese\n"
    assert dotenv.stat().st_mode & 0o777 == 0o600
    write(tmp_path / "config" / "cogency" / ".env", {"COGENCY_MODEL": "rehearsal"})
    assert (tmp_path / "config" / "cogency").stat().st_mode & 0o777 == 0o700
    with pytest.raises(SettingsError, match="could not be written"):
        write(dotenv / "no folder" / ".env", {})


class Person:
    """Answers each question with the answer prepared for a part of it, else with the default."""

    def __init__(self, *answers: tuple[str, str]) -> None:
        self.answers = [*answers]
        self.heard, self.pages = "", list[str]()

    def say(self, text: str) -> None:
        self.heard += f"{text}\n"

    def show(self, text: str) -> None:
        self.heard += f"{text}\n"

    def ask(self, question: str, usual: str = "") -> str:
        return self._answer(question, usual)

    def ask_unseen(self, question: str) -> str:
        return self._answer(question, "")

    def open_page(self, address: str) -> bool:
        self.pages.append(address)
        return False

    def _answer(self, question: str, usual: str) -> str:
        self.heard += f"{question}\n"
        for number, (part, answer) in enumerate(self.answers):
            if part in question:
                del self.answers[number]
                return answer
        return usual


async def test_a_model_is_tried_at_once_and_asked_for_again_where_it_fails(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    refused = whole(401, {"error": {"message": "Incorrect API key"}})

    def answered(request: Request) -> Reply:
        return [head(), text("yes"), DONE] if "sk-right" in request.headers["authorization"] else refused

    async with ModelServer(answered) as model:
        person = Person(
            ("Enter a number", "openai:m-1"), ("OPENAI_API_KEY", "sk-wrong"), ("anyway", "n"),
            ("Enter a number", "openai:m-1"), ("OPENAI_API_KEY", "sk-right"), ("Slack", "n"),
        )  # fmt: skip
        starts = await set_up(person, dotenv, {"OPENAI_BASE_URL": model.url, "OLLAMA_BASE_URL": "http://127.0.0.1:1"})
    assert not starts
    assert read_dotenv(dotenv) == {"COGENCY_MODEL": "openai:m-1", "OPENAI_API_KEY": "sk-right"}
    assert "the request to openai:m-1 failed" in person.heard
    assert "openai:m-1 answered (first token after" in person.heard
    assert not person.answers
    assert "sk-" not in person.heard


async def test_slack_and_discord_are_looked_at_as_soon_as_their_tokens_are_known(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    async with FakeSlack(FastClock()) as slack, running_discord(FastClock()) as discord:
        person = Person(
            ("Enter a number", "rehearsal"), ("2. Slack", "y"), ("SLACK_APP_TOKEN", APP_TOKEN),
            ("SLACK_BOT_TOKEN", "xoxb-wrong"),
            ("anyway", "n"), ("SLACK_APP_TOKEN", APP_TOKEN), ("SLACK_BOT_TOKEN", BOT_TOKEN),
            ("3. Discord", "y"), ("DISCORD_TOKEN", TOKEN), ("4. Storage", str(tmp_path / "here.db")),
        )  # fmt: skip
        environ = {
            "SLACK_API_BASE_URL": slack.url,
            "DISCORD_API_BASE_URL": discord.api_base_url,
            "DISCORD_GATEWAY_URL": discord.gateway_url,
        }
        assert await set_up(person, dotenv, environ)
    assert read_dotenv(dotenv) == {
        "COGENCY_MODEL": "rehearsal",
        "SLACK_APP_TOKEN": APP_TOKEN,
        "SLACK_BOT_TOKEN": BOT_TOKEN,
        "DISCORD_TOKEN": TOKEN,
        "COGENCY_DATABASE_URL": f"sqlite:///{tmp_path / 'here.db'}",
    }
    assert person.pages[0].startswith("https://api.slack.com/apps?new_app=1&manifest_json=%7B")
    assert "signed in as" in person.heard
    assert "https://discord.com/oauth2/authorize?" in person.heard
    assert BOT_TOKEN not in person.heard
    assert not person.answers
    load_settings({}, dotenv)


async def test_who_comes_again_changes_only_what_they_want(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    content = "# mine\nCOGENCY_MODEL=rehearsal\nOTHER=kept\n"
    dotenv.write_text(content, encoding="utf-8")
    assert not await set_up(Person(("Slack", "n")), dotenv, {"OLLAMA_BASE_URL": "http://127.0.0.1:1"})
    assert dotenv.read_text() == content


async def test_a_platform_that_is_set_up_stays_so_by_one_answer_and_no_second_app_is_made(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    async with FakeSlack(FastClock()) as slack, running_discord(FastClock()) as discord:
        environ = {
            "OLLAMA_BASE_URL": "http://127.0.0.1:1",
            "SLACK_API_BASE_URL": slack.url,
            "DISCORD_API_BASE_URL": discord.api_base_url,
            "DISCORD_GATEWAY_URL": discord.gateway_url,
        }
        tokens = {"SLACK_APP_TOKEN": APP_TOKEN, "SLACK_BOT_TOKEN": BOT_TOKEN, "DISCORD_TOKEN": TOKEN}
        content = with_changes("", {"COGENCY_MODEL": "rehearsal", **tokens})
        dotenv.write_text(content, encoding="utf-8")
        person = Person(("Start the bot now", "n"))
        assert not await set_up(person, dotenv, environ)
    assert (person.pages, dotenv.read_text()) == ([], content)
    assert "Slack is already set up" in person.heard
    assert "Discord is already set up" in person.heard
    assert "signed in as" in person.heard


async def test_what_cannot_be_meant_is_asked_again_and_what_was_pasted_need_not_be_pasted_twice(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    async with FakeSlack(FastClock()) as slack:
        environ = {"OLLAMA_BASE_URL": "http://127.0.0.1:1", "SLACK_API_BASE_URL": slack.url}
        person = Person(
            ("Enter a number", "99"), ("Enter a number", "rehearsal"), ("2. Slack", "perhaps"), ("2. Slack", "yes"),
            ("SLACK_APP_TOKEN", BOT_TOKEN), ("SLACK_APP_TOKEN", APP_TOKEN),
            ("SLACK_BOT_TOKEN", ""), ("SLACK_BOT_TOKEN", "xoxb-wrong"),
            ("anyway", "n"), ("SLACK_APP_TOKEN", ""), ("SLACK_BOT_TOKEN", BOT_TOKEN), ("Start the bot now", "n"),
        )  # fmt: skip
        assert not await set_up(person, dotenv, environ)
    assert "99 is not on the list. Enter a number from 1 to 9." in person.heard
    assert "Please answer y or n." in person.heard
    assert "It must start with xapp-" in person.heard
    assert "Nothing was pasted." in person.heard
    assert not person.answers
    assert read_dotenv(dotenv) == {
        "COGENCY_MODEL": "rehearsal",
        "SLACK_APP_TOKEN": APP_TOKEN,
        "SLACK_BOT_TOKEN": BOT_TOKEN,
    }


async def test_without_anybody_to_ask_the_environment_is_tried_and_written(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    async with FakeSlack(FastClock()) as slack:
        environ = {
            "COGENCY_MODEL": "rehearsal",
            "SLACK_API_BASE_URL": slack.url,
            "SLACK_APP_TOKEN": APP_TOKEN,
            "HOME": "/x",
        }
        _, names = await set_up_from({**environ, "SLACK_BOT_TOKEN": "xoxb-wrong"}, dotenv)
        assert (names, dotenv.exists()) == ([], False)
        _, names = await set_up_from({**environ, "SLACK_BOT_TOKEN": BOT_TOKEN}, dotenv)
    assert read_dotenv(dotenv).keys() == {*names} == {*environ, "SLACK_BOT_TOKEN"} - {"HOME"}


def everywhere(slack: FakeSlack) -> dict[str, str]:
    return {"OLLAMA_BASE_URL": "http://127.0.0.1:1", "SLACK_API_BASE_URL": slack.url}


ON_SLACK = (
    ("Enter a number", "rehearsal"),
    ("2. Slack", "y"),
    ("SLACK_APP_TOKEN", APP_TOKEN),
    ("SLACK_BOT_TOKEN", BOT_TOKEN),
)


async def test_where_nobody_answers_the_same_is_tried_again_and_nothing_asked_again(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    async with FakeSlack(FastClock()) as slack:
        slack.faults["auth.test"].append(Fault(status=503))
        person = Person(*ON_SLACK, ("Try again (y)", "y"), ("Start the bot now", "n"))
        await set_up(person, dotenv, everywhere(slack))
        assert person.heard.count("SLACK_BOT_TOKEN:") == 1
        assert not person.answers
        assert read_dotenv(dotenv)["SLACK_BOT_TOKEN"] == BOT_TOKEN


async def test_an_input_that_could_not_be_tested_can_be_kept(tmp_path: Path) -> None:
    person = Person(*ON_SLACK, ("Try again (y)", "n"), ("Start the bot now", "n"))
    away = {"OLLAMA_BASE_URL": "http://127.0.0.1:1", "SLACK_API_BASE_URL": "http://127.0.0.1:1"}
    await set_up(person, tmp_path / ".env", away)
    assert read_dotenv(tmp_path / ".env")["SLACK_BOT_TOKEN"] == BOT_TOKEN


async def test_the_database_is_tried_and_no_is_not_taken_for_a_file(tmp_path: Path) -> None:
    dotenv, closed = tmp_path / ".env", tmp_path / "file"
    closed.write_text("no database, and longer than its head" * 100)
    person = Person(
        ("Enter a number", "rehearsal"), ("2. Slack", "n"), ("4. Storage", "n"), ("4. Storage", str(closed)),
        ("anyway", "n"), ("4. Storage", "~nobody-of-that-name/bot.db"), ("4. Storage", str(tmp_path / "here.db")),
    )  # fmt: skip
    await set_up(person, dotenv, {"OLLAMA_BASE_URL": "http://127.0.0.1:1"})
    assert "Enter a file path, such as" in person.heard
    assert "problem  Database:" in person.heard
    assert "COGENCY_DATABASE_URL is in the home folder of a user who does not exist." in person.heard
    assert not person.answers
    assert read_dotenv(dotenv)["COGENCY_DATABASE_URL"] == f"sqlite:///{tmp_path / 'here.db'}"


async def test_the_password_of_the_present_database_is_not_shown(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    address = "postgresql://bot:s3cret@127.0.0.1:1/bot"
    dotenv.write_text(f"COGENCY_DATABASE_URL={address}\nCOGENCY_MODEL=rehearsal\n")
    dotenv.chmod(0o600)
    person = Person(("2. Slack", "n"), ("anyway", "y"))
    await set_up(person, dotenv, {"OLLAMA_BASE_URL": "http://127.0.0.1:1"})
    assert "s3cret" not in person.heard
    assert read_dotenv(dotenv)["COGENCY_DATABASE_URL"] == address


def compatible(request: Request) -> Reply:
    if request.path.endswith("/models"):
        return whole(200, {"data": [{"id": "big"}, {"id": "small"}]})
    return [head(), text("yes"), DONE]


async def test_a_server_with_openais_protocol_is_one_of_the_models_and_lists_its_own(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    async with ModelServer(compatible) as server:
        person = Person(
            ("Enter a number", "5"), ("Address of the server", ""), ("Address of the server", "localhost:8000"),
            ("Address of the server", server.url), ("Which model", "2"), ("2. Slack", "n"),
        )  # fmt: skip
        await set_up(person, dotenv, {"OLLAMA_BASE_URL": "http://127.0.0.1:1"})
    assert read_dotenv(dotenv) == {"OPENAI_BASE_URL": server.url, "COGENCY_MODEL": "openai:small"}
    assert "openai:small answered" in person.heard


async def test_a_key_of_openai_goes_to_another_server_only_with_consent(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    async with ModelServer(compatible) as server:
        environ = {"OLLAMA_BASE_URL": "http://127.0.0.1:1", "OPENAI_API_KEY": "sk-1"}
        person = Person(
            ("Enter a number", "5"), ("Address of", server.url), ("Enter a number", "rehearsal"), ("2. Slack", "n")
        )
        await set_up(person, dotenv, environ)
        assert "OPENAI_API_KEY is set, and this server would receive it." in person.heard
        assert server.requests == []
    assert read_dotenv(dotenv) == {"COGENCY_MODEL": "rehearsal"}


async def test_a_deployment_of_azure_is_asked_for_and_tried(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"

    def answered(request: Request) -> Reply:
        is_right = request.headers["api-key"] == "key-1"
        return [head(), text("yes"), DONE] if is_right else whole(401, {"error": {"code": "401", "message": "no"}})

    async with ModelServer(answered) as server:
        address = server.url.removesuffix("/v1")
        person = Person(
            ("Enter a number", "6"), ("Address of the resource", "boats"), ("Address of the resource", address),
            ("AZURE_OPENAI_API_KEY", "key-2"), ("Name of the deployment", ""), ("Name of the deployment", "prod"),
            ("Model of this deployment", "gpt-4.1"), ("anyway", "n"),
            ("Enter a number", "6"), ("Address of the resource", address),
            ("AZURE_OPENAI_API_KEY", "key-1"), ("Name of the deployment", "prod"), ("2. Slack", "n"),
        )  # fmt: skip
        await set_up(person, dotenv, {"OLLAMA_BASE_URL": "http://127.0.0.1:1"})
    assert not person.answers
    assert read_dotenv(dotenv) == {
        "AZURE_OPENAI_ENDPOINT": address,
        "AZURE_OPENAI_API_KEY": "key-1",
        "COGENCY_MODEL": "azure:prod",
    }
    assert "6  Azure OpenAI  (OpenAI's and other models in your Azure subscription)" in person.heard
    assert "AZURE_OPENAI_ENDPOINT must be a complete address" in person.heard
    assert "Azure OpenAI refused the API key (401). Check AZURE_OPENAI_API_KEY, and make sure" in person.heard
    assert "azure:prod answered" in person.heard


async def test_a_project_of_google_cloud_or_a_key_is_asked_for(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    piece = {"candidates": [{"content": {"parts": [{"text": "yes"}]}, "finishReason": "STOP"}]}
    async with ModelServer(lambda _: [head(), event(piece)]) as server:
        environ = {"OLLAMA_BASE_URL": "http://127.0.0.1:1", "VERTEX_BASE_URL": server.url}
        person = Person(("Enter a number", "7"), ("VERTEX_API_KEY", "key-1"), ("2. Slack", "n"))
        await set_up(person, dotenv, environ)
        assert server.requests[0].headers["x-goog-api-key"] == "key-1"
    assert read_dotenv(dotenv) == {"VERTEX_API_KEY": "key-1", "COGENCY_MODEL": "vertex:gemini-3.8-flash"}
    assert "ID of the Google Cloud project" not in person.heard


async def test_ollama_on_another_machine_is_asked_for_its_models(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    async with ModelServer(compatible) as server:
        environ = {"OLLAMA_BASE_URL": "http://127.0.0.1:1"}
        person = Person(
            ("Enter a number", "1"), ("Address of the server", server.url), ("Which model", "big"), ("2. Slack", "n")
        )
        del environ["OLLAMA_BASE_URL"]
        await set_up(person, dotenv, {"OLLAMA_BASE_URL": "", **environ})
    assert read_dotenv(dotenv)["COGENCY_MODEL"] == "ollama:big"
    assert read_dotenv(dotenv)["OLLAMA_BASE_URL"] == server.url


async def test_without_a_browser_the_manifest_is_printed_and_its_page_is_short(tmp_path: Path) -> None:
    async with FakeSlack(FastClock()) as slack:
        person = Person(*ON_SLACK, ("Start the bot now", "n"))
        await set_up(person, tmp_path / ".env", everywhere(slack))
    assert "https://api.slack.com/apps?new_app=1 and choose" in person.heard
    assert "slack manifest` and paste" in person.heard
    assert '"display_information"' in person.heard
    assert "%7B" not in person.heard


def test_each_vendor_has_a_page_for_its_keys() -> None:
    for endpoint in ENDPOINTS.values():
        assert endpoint.key_page.startswith("https://") is bool(endpoint.key_setting)


@pytest.mark.slow
async def test_who_can_ask_and_what_it_costs_is_asked_and_wrong_ids_are_asked_again(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    async with FakeSlack(FastClock()) as slack, ModelServer(compatible) as server:
        person = Person(
            ("Enter a number", "5"), ("Address of", server.url), *ON_SLACK[1:], ("5. Access", "#general"),
            ("5. Access", "channel:C0123"), ("Your own user ID", "U0123"), ("Maximum total cost", "a lot"),
            ("Maximum total cost", "5"), ("Start the bot now", "n"),
        )  # fmt: skip
        await set_up(person, dotenv, everywhere(slack))
        assert not person.answers
        settings = load_settings({}, dotenv)
        assert settings.access.operators == {"U0123"}
        assert len(settings.access.allow) == 1
        assert read_dotenv(dotenv)["COGENCY_EVERYONE_DOLLARS_PER_DAY"] == "5"
        again = Person(("5. Access", "every member"), ("Start the bot now", "n"))
        await set_up(again, dotenv, everywhere(slack))
    assert load_settings({}, dotenv).access.allow == frozenset()


@pytest.mark.slow
async def test_a_webhook_is_added_with_its_secret_in_a_file_and_the_settings_that_it_needs(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    async with FakeSlack(FastClock()) as slack:
        person = Person(
            *ON_SLACK, ("6. Webhooks", "y"), ("Which program", "99"), ("Which program", "Alertmanager"),
            ("ID of the channel", "#alerts"), ("ID of the channel", "C0123456789"), ("where the bot receives", "8070"),
            ("where the bot receives", "127.0.0.1:8070"), ("Public address", "http://bot.example.com"),
            ("Public address", "https://bot.example.com"), ("Start the bot now", "n"),
        )  # fmt: skip
        await set_up(person, dotenv, everywhere(slack), random=lambda count: b"\x07" * count)
        assert not person.answers
        settings = load_settings({}, dotenv, is_own_file=True)
        hook = hooks_of(settings.webhooks, settings.webhook_variables)["alertmanager"]
        assert (hook.channel, hook.revealed) == ("slack:C0123456789", ["07" * 24])
        assert http_address(settings) == "https://bot.example.com"
        assert "Its address is https://bot.example.com/hooks/alertmanager." in person.heard
        assert presets()["alertmanager"].setup in person.heard
        assert str(tmp_path / "hooks.secrets" / "alertmanager") in person.heard
        assert "07" * 24 not in person.heard + dotenv.read_text() + (tmp_path / "hooks.toml").read_text()
        again = Person(
            ("6. Webhooks", "y"), ("Which program", "stripe"), ("ID of the channel", "slack:C0123456789"),
            ("Paste the secret", "wrong secret"), ("Paste the secret", "whsec_0123456789abcdef"), ((
                "Start the bot now"
            ), "n"),
        )  # fmt: skip
        await set_up(again, dotenv, everywhere(slack))
        assert not again.answers
        hooks = hooks_of(load_settings({}, dotenv, is_own_file=True).webhooks, {})
        assert {name: hook.preset for name, hook in hooks.items()} == {
            "alertmanager": "alertmanager",
            "stripe": "stripe",
        }
        assert hooks["stripe"].revealed == ["whsec_0123456789abcdef"]


async def test_a_webhook_that_cannot_be_added_leaves_the_settings_as_they_were(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    (tmp_path / "hooks.toml").write_text("no table", encoding="utf-8")
    async with FakeSlack(FastClock()) as slack:
        person = Person(
            *ON_SLACK, ("6. Webhooks", "y"), ("ID of the channel", "slack:C0123456789"), ("Start the bot now", "n")
        )
        await set_up(person, dotenv, everywhere(slack))
    assert "No webhook was added." in person.heard
    assert "is not valid TOML" in person.heard
    assert not [name for name in read_dotenv(dotenv) if "HTTP" in name or "WEBHOOKS" in name]


def with_systemd(folder: Path, restart: tuple[int, str] = (0, "")) -> tuple[ServiceManagers, Services]:
    managers = ServiceManagers(folder / "bin")
    managers.add("systemctl", {"--user restart": restart})
    managers.add("loginctl")
    return managers, Services(("/bin/cogency",), folder, 1000, managers.environ, "linux")


@pytest.mark.slow
async def test_a_service_is_shown_before_it_is_written_and_gets_what_only_the_environment_sets(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    managers, services = with_systemd(tmp_path)
    async with FakeSlack(FastClock()) as slack:
        environ = {**everywhere(slack), "SLACK_APP_TOKEN": APP_TOKEN, "SLACK_BOT_TOKEN": BOT_TOKEN}
        person = Person(("Enter a number", "rehearsal"), ("2. Slack", "y"), ("7. Service", "y"))
        assert not await set_up(person, dotenv, environ, services), "it runs already"
    file = tmp_path / ".config/systemd/user/cogency.service"
    shown, _, consented = person.heard.partition("Write the file and run the commands")
    assert file.read_text() in shown
    assert "systemctl --user restart cogency" in shown
    assert f"run --config {dotenv}" in file.read_text()
    assert "Its log: journalctl --user -u cogency -f" in consented
    assert managers.calls[-1] == "systemctl --user restart cogency"
    assert read_dotenv(dotenv).items() >= environ.items()
    assert BOT_TOKEN not in person.heard


@pytest.mark.parametrize("answer", [("7. Service", "n"), ("Write the file", "n")])
async def test_without_consent_no_service_is_written(tmp_path: Path, answer: tuple[str, str]) -> None:
    managers, services = with_systemd(tmp_path)
    async with FakeSlack(FastClock()) as slack:
        person = Person(*ON_SLACK, answer, ("7. Service", "y"), ("Start the bot now", "n"))
        assert not await set_up(person, tmp_path / ".env", everywhere(slack), services)
    assert not (tmp_path / ".config").exists()
    assert {call for call in managers.calls if "show-environment" not in call} == set()
    assert ("Start the bot now", "n") not in person.answers, "it is asked all the same"


@pytest.mark.slow
async def test_a_service_that_does_not_start_says_why_and_where_its_log_is(tmp_path: Path) -> None:
    _, services = with_systemd(tmp_path, (1, "Job for cogency.service failed."))
    async with FakeSlack(FastClock()) as slack:
        person = Person(*ON_SLACK, ("7. Service", "y"), ("Start the bot now", "n"))
        assert not await set_up(person, tmp_path / ".env", everywhere(slack), services)
    assert "Job for cogency.service failed." in person.heard
    assert "Its log: journalctl" in person.heard


@given(st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), max_size=300), st.integers(20, 120))
def test_wrapping_changes_nothing_but_where_lines_end(line: str, width: int) -> None:
    assert wrapped(line, width).split() == line.split()


def test_lines_fit_and_addresses_stay_whole() -> None:
    address = "https://example.com/" + "a-b/" * 40
    text = f"{'words of a sentence ' * 10}\n\n  - {'an item that is long ' * 8}\n{address}"
    lines = wrapped(text, 60).split("\n")
    assert all(len(line) <= 60 for line in lines if line != address)
    assert address in lines
    assert lines[lines.index("") + 2].startswith("    "), "it goes on below its text"
    assert wrapped("A question? [the usual]: ", 60).endswith(": ")


async def test_a_region_a_key_and_a_model_of_amazon_bedrock_are_asked_for_and_tried(tmp_path: Path) -> None:
    dotenv, wire = tmp_path / ".env", ConverseWire(None)
    said = [wire.text("yes"), *wire.end(Usage(), halted=False)]
    stream = [head(content_type=wire.content_type, extra=CHUNKED), *(framed(cast("bytes", one)) for one in said)]

    async with ModelServer(lambda request: wire.other(request) or [*stream, framed(b"")]) as server:
        environ = {
            "OLLAMA_BASE_URL": "http://127.0.0.1:1",
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": server.url.removesuffix("/v1"),
        }
        person = Person(
            ("Enter a number", "8"), ("AWS_BEARER_TOKEN_BEDROCK", "wrong"), ("AWS region", "Ireland"),
            ("AWS region", "eu-west-1"), ("ID of the model", "amazon.nova-pro-v1:0"), ("anyway", "n"),
            ("Enter a number", "8"), ("AWS_BEARER_TOKEN_BEDROCK", API_KEY), ("AWS region", "eu-west-1"),
            ("2. Slack", "n"),
        )  # fmt: skip
        await set_up(person, dotenv, environ)
    assert not person.answers
    assert read_dotenv(dotenv) == {
        "AWS_BEARER_TOKEN_BEDROCK": API_KEY,
        "AWS_REGION": "eu-west-1",
        "COGENCY_MODEL": "bedrock:eu.anthropic.claude-sonnet-5-5",
    }
    assert "AWS_REGION must be an AWS region, as in us-east-1." in person.heard
    assert "Amazon Bedrock refused the API key (403). Check AWS_BEARER_TOKEN_BEDROCK" in person.heard
    assert wire.models == ["amazon.nova-pro-v1:0", "eu.anthropic.claude-sonnet-5-5"]
    assert "bedrock:eu.anthropic.claude-sonnet-5-5 answered" in person.heard


async def test_what_the_environment_sets_for_other_programs_of_a_cloud_is_not_written(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    of_aws = {"AWS_ACCESS_KEY_ID": "AKID1", "AWS_SECRET_ACCESS_KEY": "secret-1", "AWS_REGION": "local"}
    _, names = await set_up_from({**of_aws, "AZURE_CLIENT_SECRET": "secret-2", "COGENCY_MODEL": "rehearsal"}, dotenv)
    assert names == ["COGENCY_MODEL"]
    assert "secret" not in dotenv.read_text()


async def test_the_keys_of_a_cloud_are_written_if_a_model_there_is_set(tmp_path: Path) -> None:
    dotenv, wire = tmp_path / ".env", ConverseWire()
    said = [wire.text("yes"), *wire.end(Usage(), halted=False)]
    stream = [head(content_type=wire.content_type, extra=CHUNKED), *(framed(cast("bytes", one)) for one in said)]
    async with ModelServer(lambda request: wire.other(request) or [*stream, framed(b"")]) as server:
        environ = {
            "COGENCY_MODEL": "bedrock:amazon.nova-pro-v1:0",
            "AWS_REGION": USER.region,
            "AWS_ACCESS_KEY_ID": USER.access_key_id,
            "AWS_SECRET_ACCESS_KEY": USER.secret_access_key,
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": server.url.removesuffix("/v1"),
        }
        _, names = await set_up_from(environ, dotenv)
    assert {*names} == {*environ}
    assert read_dotenv(dotenv) == environ
