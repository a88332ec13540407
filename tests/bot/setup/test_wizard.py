"""The set-up dialogue: what it asks, tries and writes; everything else in the file stays."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SettingsError
from bot.app.settings import load_settings
from bot.settings.sources import read_dotenv
from bot.setup.wizard import set_up, set_up_from, with_changes, write
from tests.fakes.discord_gateway import running_discord
from tests.fakes.discord_requests import TOKEN
from tests.fakes.fast_clock import FastClock
from tests.fakes.model_server import DONE, ModelServer, Reply, Request, head, text, whole
from tests.fakes.slack import FakeSlack
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
            ("A number", "openai:m-1"), ("OPENAI_API_KEY", "sk-wrong"), ("anyway", "n"),
            ("A number", "openai:m-1"), ("OPENAI_API_KEY", "sk-right"), ("Slack", "n"),
        )  # fmt: skip
        starts = await set_up(person, dotenv, {"OPENAI_BASE_URL": model.url, "OLLAMA_BASE_URL": "http://127.0.0.1:1"})
    assert not starts
    assert read_dotenv(dotenv) == {"COGENCY_MODEL": "openai:m-1", "OPENAI_API_KEY": "sk-right"}
    assert "does not answer" in person.heard
    assert "openai:m-1 answers, after" in person.heard
    assert not person.answers
    assert "sk-" not in person.heard


async def test_slack_and_discord_are_looked_at_as_soon_as_their_tokens_are_known(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    async with FakeSlack(FastClock()) as slack, running_discord(FastClock()) as discord:
        person = Person(
            ("A number", "rehearsal"), ("2. Slack", "y"), ("SLACK_APP_TOKEN", APP_TOKEN),
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
        person = Person(("Start it now", "n"))
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
            ("A number", "99"), ("A number", "rehearsal"), ("2. Slack", "perhaps"), ("2. Slack", "yes"),
            ("SLACK_APP_TOKEN", BOT_TOKEN), ("SLACK_APP_TOKEN", APP_TOKEN),
            ("SLACK_BOT_TOKEN", ""), ("SLACK_BOT_TOKEN", "xoxb-wrong"),
            ("anyway", "n"), ("SLACK_APP_TOKEN", ""), ("SLACK_BOT_TOKEN", BOT_TOKEN), ("Start it now", "n"),
        )  # fmt: skip
        assert not await set_up(person, dotenv, environ)
    assert "99 is not on the list. Enter a number from 1 to 4." in person.heard
    assert "Please answer y or n." in person.heard
    assert "This one starts with xapp-" in person.heard
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
