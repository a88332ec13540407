"""The command that adds an extra, for each way in which the program can be installed."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.settings.installation import (
    InstallationFacts,
    Way,
    command_for,
    extra_command,
    installation_of,
    program_as_typed,
    this_installation,
)

FOLDER: Final = json.dumps({"url": "file:///home/ann/cogency", "dir_info": {}})
EDITABLE: Final = json.dumps({"url": "file:///home/ann/cogency", "dir_info": {"editable": True}})
VENV: Final = InstallationFacts(Path("/home/ann/cogency/.venv"), "/home/ann/cogency/.venv/bin/python", EDITABLE)
TOOL: Final = InstallationFacts(
    Path("/home/ann/.local/share/uv/tools/cogency-bot"),
    "/home/ann/.local/share/uv/tools/cogency-bot/bin/python",
    FOLDER,
    uv_receipt='[tool]\nrequirements = [{ name = "cogency-bot", directory = "/home/ann/cogency" }]\n',
    has_pip=False,
)
PIPX: Final = replace(
    TOOL,
    prefix=Path("/home/ann/.local/share/pipx/venvs/cogency-bot"),
    uv_receipt="",
    pipx_metadata=json.dumps({"main_package": {"package_or_url": "/home/ann/cogency"}}),
)


def command(facts: InstallationFacts) -> str:
    return extra_command(installation_of(facts), "web")


def test_in_a_clone_its_own_environment_installs_the_folder_again() -> None:
    assert command(VENV) == "/home/ann/cogency/.venv/bin/python -m pip install -e '/home/ann/cogency[web]'"


def test_an_environment_without_pip_is_filled_by_uv() -> None:
    assert command(replace(VENV, has_pip=False)) == (
        "uv pip install --python /home/ann/cogency/.venv/bin/python -e '/home/ann/cogency[web]'"
    )


def test_a_folder_with_a_blank_in_its_name_is_quoted() -> None:
    direct_url = json.dumps({"url": "file:///home/ann/my%20clone", "dir_info": {}})
    facts = replace(VENV, python="/home/ann/my clone/.venv/bin/python", direct_url=direct_url)
    assert command(facts) == "'/home/ann/my clone/.venv/bin/python' -m pip install '/home/ann/my clone[web]'"


@pytest.mark.parametrize(
    ("direct_url", "requirement"),
    [
        ("", "'cogency-bot[web]'"),  # from a registry
        ("no JSON", "'cogency-bot[web]'"),
        ('{"url": 3}', "'cogency-bot[web]'"),
        (FOLDER, "'/home/ann/cogency[web]'"),
        (
            '{"url": "file:///tmp/cogency_bot-0.1.0-py3-none-any.whl", "archive_info": {}}',
            "'/tmp/cogency_bot-0.1.0-py3-none-any.whl[web]'",
        ),
        (
            '{"url": "https://example.com/cogency.git", "vcs_info": {"vcs": "git", "commit_id": "1f2e"}}',
            "'cogency-bot[web] @ git+https://example.com/cogency.git'",
        ),
        (
            '{"url": "https://example.com/c.git", "vcs_info": {"vcs": "git", "requested_revision": "v1"}}',
            "'cogency-bot[web] @ git+https://example.com/c.git@v1'",
        ),
        (
            '{"url": "https://example.com/cogency_bot-0.1.0-py3-none-any.whl", "archive_info": {}}',
            "'cogency-bot[web] @ https://example.com/cogency_bot-0.1.0-py3-none-any.whl'",
        ),
    ],
)
def test_pip_installs_from_where_the_package_came(direct_url: str, requirement: str) -> None:
    facts = InstallationFacts(Path("/opt/cogency"), "/opt/cogency/bin/python", direct_url)
    assert command(facts) == f"/opt/cogency/bin/python -m pip install {requirement}"


def test_a_tool_of_uv_is_installed_again_with_its_extras_and_the_packages_beside_it() -> None:
    assert command(TOOL) == "uv tool install '/home/ann/cogency[web]'"
    receipt = (
        '[tool]\nrequirements = [{ name = "cogency-bot", extras = ["mcp"], directory = "/home/ann/cogency" },'
        ' { name = "our-tools" }]\n'
    )
    assert command(replace(TOOL, uv_receipt=receipt)) == (
        "uv tool install '/home/ann/cogency[mcp,web]' --with our-tools"
    )
    assert command(replace(TOOL, direct_url=EDITABLE)) == "uv tool install -e '/home/ann/cogency[web]'"


def test_a_program_that_uvx_started_is_started_with_the_extra() -> None:
    started = replace(TOOL, prefix=Path("/home/ann/.cache/uv/archive-v0/x1"), uv_receipt="")
    assert command(started) == "uvx --from '/home/ann/cogency[web]' cogency"


def test_pipx_installs_again_with_the_extras_that_were_there() -> None:
    assert command(PIPX) == "pipx install --force '/home/ann/cogency[web]'"
    metadata = json.dumps({"main_package": {"package_or_url": "/home/ann/cogency[mcp,office]"}})
    assert command(replace(PIPX, pipx_metadata=metadata)) == "pipx install --force '/home/ann/cogency[mcp,office,web]'"
    assert command(replace(PIPX, direct_url=EDITABLE)) == "pipx install --force --editable '/home/ann/cogency[web]'"


def test_an_image_is_built_again_with_what_it_had() -> None:
    assert command(replace(VENV, is_image=True)) == "docker build --build-arg EXTRAS=mcp,otel,web -t cogency ."


@given(st.text(), st.text(), st.text())
def test_files_of_an_installer_that_cannot_be_read_still_give_a_command(
    direct_url: str, uv_receipt: str, pipx_metadata: str
) -> None:
    facts = InstallationFacts(
        Path("/opt/x"), "/opt/x/bin/python", direct_url, uv_receipt=uv_receipt, pipx_metadata=pipx_metadata
    )
    assert "[web]" in command(facts)


@pytest.mark.parametrize(
    "receipt",
    [
        "tool = 3",
        "[tool]\nrequirements = 3",
        "[tool]\nrequirements = [3]",
        '[tool]\nrequirements = [{name = "cogency-bot", extras = 3}]',
    ],
)
def test_a_receipt_of_another_shape_counts_as_one_without_extras(receipt: str) -> None:
    assert command(replace(TOOL, uv_receipt=receipt)) == "uv tool install '/home/ann/cogency[web]'"


def test_the_tests_run_in_the_environment_of_a_clone() -> None:
    assert this_installation().way in {Way.PIP, Way.UV}
    assert command_for("web").endswith(f"install -e '{Path(__file__).parents[3]}[web]'")


def test_a_command_is_said_as_it_can_be_typed(tmp_path: Path) -> None:
    program = tmp_path / "clone" / ".venv" / "bin" / "cogency"
    link, other = tmp_path / "bin" / "cogency", tmp_path / "other" / "cogency"
    for file in (program, link, other):
        file.parent.mkdir(parents=True)
    program.touch()
    other.touch()
    link.symlink_to(program)

    def typed(on_path: Path | None, folder: Path) -> str:
        return program_as_typed(program, None if on_path is None else str(on_path), folder, "/usr/bin/python3")

    assert typed(link, tmp_path) == "cogency"
    assert typed(None, tmp_path / "clone") == ".venv/bin/cogency"
    assert typed(other, tmp_path / "clone") == ".venv/bin/cogency"  # another program of that name
    assert typed(None, tmp_path / "other") == str(program)
    program.unlink()
    assert typed(None, tmp_path) == "/usr/bin/python3 -m bot"
