"""What keeps the bot running: files that the service managers read as they are meant, and commands that start them."""

import configparser
import plistlib
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SettingsError
from bot.setup.services import Manager, ServiceFacts, Services, service_of
from tests.fakes.service_managers import ServiceManagers

FACTS = ServiceFacts(
    ("/home/ann/.local/bin/cogency",), Path("/home/ann/.config/cogency/.env"), Path("/home/ann"), 1000, "/usr/bin:/bin",
    Path("/home/ann/cogency"),
)  # fmt: skip
ODD = replace(
    FACTS,
    program=("/home/ann b/100% $HOME/py'thon", "-m", "bot"),
    dotenv=Path('/home/ann b/50% "x" $1/.env'),
    path="/opt/a b:/50%",
    clone=Path('/home/ann "b"/$clone'),
)


def unit(content: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False, delimiters=("=",))
    parser.optionxform = str  # pyright: ignore[reportAttributeAccessIssue] -- as its documentation sets it
    parser.read_string(content)
    return parser


def systemds_words(value: str) -> list[str]:
    """Words as systemd reads them in ExecStart: quotes and backslashes as a shell's, "%%" and "$$" for one of each."""
    return [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(value)]


@pytest.mark.parametrize("facts", [FACTS, ODD])
def test_the_unit_of_systemd_runs_the_program_with_the_file_that_was_written(facts: ServiceFacts) -> None:
    service = service_of(Manager.SYSTEMD_USER, facts)
    assert service.file == Path("/home/ann/.config/systemd/user/cogency.service")
    section = unit(service.content)["Service"]
    assert systemds_words(section["ExecStart"]) == [*facts.program, "run", "--config", str(facts.dotenv)]
    assert systemds_words(section["Environment"]) == [f"PATH={facts.path}"]
    assert section["WorkingDirectory"] == str(facts.dotenv.parent).replace("%", "%%")
    assert (section["Type"], section["RestartPreventExitStatus"]) == ("notify", "78")
    assert service.log == "journalctl --user -u cogency -f"
    assert ("loginctl", "enable-linger") in service.commands


@given(
    st.text(st.characters(min_codepoint=32, max_codepoint=0x17F, exclude_characters="\x7f"), min_size=1, max_size=20)
)
def test_any_path_is_one_word_of_the_unit(name: str) -> None:
    facts = replace(FACTS, program=(f"/{name}",))
    (line,) = [one for one in service_of(Manager.SYSTEMD, facts).content.split("\n") if one.startswith("ExecStart=")]
    assert systemds_words(line.removeprefix("ExecStart="))[0] == f"/{name}"


def test_a_service_of_root_is_one_of_the_system_without_roots_powers() -> None:
    service = service_of(Manager.SYSTEMD, replace(FACTS, user=0))
    assert service.file == Path("/etc/systemd/system/cogency.service")
    parsed = unit(service.content)
    assert parsed["Service"]["CapabilityBoundingSet"] == ""
    assert parsed["Install"]["WantedBy"] == "multi-user.target"
    assert all("--user" not in command for command in service.commands)


@pytest.mark.parametrize("facts", [FACTS, ODD])
def test_the_agent_of_launchd_runs_the_same_and_writes_a_log(facts: ServiceFacts) -> None:
    service = service_of(Manager.LAUNCHD, facts)
    agent = plistlib.loads(service.content.encode())
    assert agent["ProgramArguments"] == [*facts.program, "run", "--config", str(facts.dotenv)]
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert service.log == "tail -f /home/ann/Library/Logs/cogency.log"
    assert service.commands[-1] == ("launchctl", "bootstrap", "gui/1000", str(service.file))


@pytest.mark.parametrize("facts", [FACTS, ODD])
@pytest.mark.parametrize("is_postgresql", [True, False])
def test_compose_builds_the_clone_and_keeps_the_file_of_the_database(facts: ServiceFacts, is_postgresql: bool) -> None:
    service = service_of(Manager.COMPOSE, replace(facts, is_postgresql=is_postgresql))
    container = yaml.safe_load(service.content)["services"]["cogency"]
    assert container["build"].replace("$$", "$") == str(facts.clone)
    assert container["env_file"].replace("$$", "$") == str(facts.dotenv)
    assert ("environment" in container) is not is_postgresql
    assert container["volumes"] == ["data:/data"]


def here(managers: ServiceManagers, home: Path, platform: str = "linux", user: int = 1000, **more: Path) -> Services:
    return Services(("/bin/cogency",), home, user, managers.environ, platform, **more)


@pytest.mark.slow
async def test_only_managers_that_answer_are_offered(tmp_path: Path) -> None:
    managers = ServiceManagers(tmp_path / "bin")
    assert await here(managers, tmp_path).available() == []
    managers.add("systemctl", {"--user show-environment": (1, "Failed to connect to bus")})
    managers.add("docker")
    managers.add("launchctl")
    assert await here(managers, tmp_path).available() == []
    assert await here(managers, tmp_path, clone=tmp_path).available() == [Manager.COMPOSE]
    assert await here(managers, tmp_path, user=0).available() == [Manager.SYSTEMD]
    assert await here(managers, tmp_path, "darwin").available() == [Manager.LAUNCHD]
    assert await here(managers, tmp_path, "win32", clone=tmp_path).available() == []


async def test_the_file_is_written_and_the_commands_run_in_their_order(tmp_path: Path) -> None:
    managers = ServiceManagers(tmp_path / "bin")
    managers.add("systemctl")
    managers.add("loginctl", {"enable-linger": (1, "Access denied")})  # the service runs all the same
    services = here(managers, tmp_path)
    service = service_of(Manager.SYSTEMD_USER, services.facts(tmp_path / ".env", "sqlite:///x"))
    assert await services.install(service) == ""
    assert service.file.read_text() == service.content
    assert managers.calls == [
        "loginctl enable-linger",
        "systemctl --user daemon-reload",
        "systemctl --user enable cogency",
        "systemctl --user restart cogency",
    ]


async def test_a_command_that_fails_ends_it_and_says_why(tmp_path: Path) -> None:
    managers = ServiceManagers(tmp_path / "bin")
    managers.add("systemctl", {"--user restart": (1, "Job for cogency.service failed.")})
    services = here(managers, tmp_path)
    service = service_of(Manager.SYSTEMD_USER, services.facts(tmp_path / ".env", "sqlite:///x"))
    assert await services.install(service) == "systemctl --user restart cogency\nJob for cogency.service failed."
    (tmp_path / "bin/systemctl").unlink()
    assert "systemctl --user daemon-reload\nThe command could not be run" in await services.install(service)
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="could not be written"):
        await services.install(replace(service, file=tmp_path / "file/unit"))
