"""What is deployed, as far as a machine without a container engine can try it."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, cast

import pytest
import yaml

from bot.app.settings import load_settings, setting_names
from bot.settings.installation import IMAGE_EXTRAS, IMAGE_MARKER
from deploy.release import notes_of
from store.migrations import HEAD, RELEASES
from tests.examples import thorough

ROOT: Final = Path(__file__).parents[2]
DEPLOY: Final = ROOT / "deploy"
COMPOSED: Final = [DEPLOY / "compose.yaml", DEPLOY / "compose.postgresql.yaml"]
WORKFLOWS: Final = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def ran(*command: object, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    words = [*map(str, command)]
    return subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603 -- ours


def agrees(checker: str, *arguments: object) -> None:
    """A checker, which lies beside this Python, has no word to say against it."""
    done = ran(Path(sys.executable).with_name(checker), *arguments)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_files_for_compose_and_the_workflows_are_what_their_schemas_ask_for() -> None:
    agrees("check-jsonschema", "--builtin-schema", "vendor.compose-spec", *COMPOSED)
    agrees("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *WORKFLOWS)


def test_the_dockerfile_is_clean() -> None:
    agrees("hadolint", ROOT / "Dockerfile")


def test_systemd_understands_the_unit() -> None:
    unit = (DEPLOY / "cogency.service").read_text(encoding="utf-8")
    assert "Type=notify\n" in unit
    systemd = shutil.which("systemd-analyze")
    if systemd is None:
        pytest.skip("this machine has no systemd")
    done = ran(systemd, "verify", DEPLOY / "cogency.service")
    faults = [line for line in done.stderr.splitlines() if "cogency" in line and "is not executable" not in line]
    assert not faults


def named(value: object) -> Iterator[tuple[str, str]]:
    """Names and values of what stands in an `environment`, or in an `env`, of a file."""
    if isinstance(value, Mapping):
        for name, held in cast("Mapping[str, Any]", value).items():
            if name == "environment":
                yield from ((key, str(text)) for key, text in held.items())
            elif name == "env":
                yield from ((entry["name"], str(entry["value"])) for entry in held)
            else:
                yield from named(held)
    elif isinstance(value, list):
        for one in cast("list[object]", value):
            yield from named(one)


def test_every_setting_that_they_name_is_one() -> None:
    files = [*COMPOSED, DEPLOY / "kubernetes.yaml"]
    set_there = [
        pair for file in files for part in yaml.safe_load_all(file.read_text(encoding="utf-8")) for pair in named(part)
    ]
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    set_there += [
        cast("tuple[str, str]", tuple(word.split("=", 1))) for word in dockerfile.split() if word.startswith("COGENCY_")
    ]
    names = {name.removesuffix("_FILE") for name, _ in set_there if not name.startswith(("POSTGRES_", "PYTHON"))}
    assert names
    assert names <= {*setting_names()}
    assert load_settings(
        {name: text for name, text in set_there if name.startswith("COGENCY_") and "_FILE" not in name}
    )


def test_what_the_dockerfile_copies_is_let_through_and_nothing_else_is() -> None:
    copied = {
        word
        for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
        if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    }
    let_through = {
        line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")
    }
    assert copied == let_through
    assert all((ROOT / name).exists() for name in copied)


def test_the_image_has_the_versions_that_were_tested() -> None:
    def locked(name: str) -> set[str]:
        lines = (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()
        return {line.split(" ")[0] for line in lines if "==" in line and not line.startswith((" ", "#"))}

    assert locked("run.txt") <= locked("image.txt") <= locked("dev.txt")
    assert any(line.startswith("mcp==") for line in locked("image.txt"))


PYPROJECT: Final = '[project]\nversion = "1.2.3"\n'
CHANGELOG: Final = (
    "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-31\n\n### Added\n\n- A boat.\n\n## [1.2.2] - 2026-01-01\n"
)


UPGRADING: Final = "# Upgrading\n\n### 1.2.3\n\nNothing.\n"


def test_a_tag_becomes_a_release_with_what_the_changelog_says_of_it() -> None:
    assert notes_of("v1.2.3", PYPROJECT, CHANGELOG, UPGRADING) == "### Added\n\n- A boat.\n"


def test_links_of_a_release_lead_to_the_files_as_they_were_then() -> None:
    linked = CHANGELOG.replace("A boat.", "[A boat](docs/boat.md), [more](https://boats.example).\n\n[1.2.3]: ../x")
    assert notes_of("v1.2.3", PYPROJECT, linked, UPGRADING, "https://forge.example/bot") == (
        "### Added\n\n- [A boat](https://forge.example/bot/blob/v1.2.3/docs/boat.md), [more](https://boats.example).\n"
    )


@pytest.mark.parametrize(
    ("tag", "changelog", "upgrading", "sentence"),
    [
        ("v1.2.4", CHANGELOG, UPGRADING, "must agree"),
        ("1.2.3", CHANGELOG, UPGRADING, "must agree"),
        ("v1.2.3", CHANGELOG.replace(" - 2026-01-31", ""), UPGRADING, "gives 1.2.3 no date"),
        ("v1.2.3", CHANGELOG.replace("[1.2.3]", "[1.2.30]"), UPGRADING, "has no section"),
        ("v1.2.3", CHANGELOG, "### 1.2.30\n", "say there what to do"),
    ],
)
def test_a_tag_that_the_version_the_changelog_or_the_upgrade_notes_contradict_becomes_none(
    tag: str, changelog: str, upgrading: str, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        notes_of(tag, PYPROJECT, changelog, upgrading)


def test_version_changelog_upgrade_notes_and_database_agree() -> None:
    read = [
        (ROOT / file).read_text(encoding="utf-8") for file in ("pyproject.toml", "CHANGELOG.md", "docs/upgrading.md")
    ]
    now = version("cogency-bot")
    assert len(notes_of(f"v{now}", *read).splitlines()) > 1
    table = dict(re.findall(r"^\| (\d+\.\d+\.\d+) \| (r\d+) \|", read[2], re.MULTILINE))
    assert table == RELEASES, "docs/upgrading.md and store.migrations name other versions of the database"
    assert RELEASES[now] == HEAD, "a new revision: give the release that brings it its line in store.migrations"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built and unpacked elsewhere."""
    folder = tmp_path_factory.mktemp("wheel")
    assert ran(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder).returncode == 0
    [wheel] = folder.glob("cogency_bot-*.whl")
    shutil.unpack_archive(wheel, folder / "site", "zip")
    return folder / "site"


@pytest.mark.slow
def test_the_wheel_is_whole_without_the_repository(site: Path, tmp_path: Path) -> None:
    """Started in an empty environment: what it lacks it would look for beside itself."""
    python = sys.executable
    start = f"import sys; sys.path.insert(0, {str(site)!r}); from bot.__main__ import main; sys.exit(main())"

    def started(*arguments: str) -> str:
        done = ran(
            python,
            "-P",
            "-c",
            start,
            *arguments,
            cwd=tmp_path,
            env={"HOME": str(tmp_path), "COGENCY_MODEL": "rehearsal"},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert yaml.safe_load(started("slack", "manifest"))["display_information"]["name"] == "Cogency"
    assert json.loads(started("ask", "--json", "hello"))["answer"]


MINE: Final = ("agent", "bot", "store")
PROGRAM: Final = """
import asyncio, sys
{first}
{second}

@tool(effect="reads")
def tide(harbour: str) -> str:
    \"""Say when high tide is.\"""
    return f"{{harbour}}: 6:02"

async def main() -> None:
    database = await open_store("sqlite:///my.db")
    async with Agent(model="rehearsal", tools=[tide], store=database) as asked:
        print(await asked('use tide {{"harbour": "Husum"}}'))
    await database.close()

asyncio.run(main())
for mine in {mine}:
    assert sys.modules[mine].MINE == mine
    assert not [name for name in sys.modules if name.startswith(mine + ".")]
"""


# Each program takes seconds of CPU: `make test-thorough` tries each order with each set of names.
ORDERS: Final = [
    pytest.param(names, ours_first, marks=[] if (names, ours_first) in [(("bot",), False), (MINE, True)] else thorough)
    for names in [(), *((name,) for name in MINE), MINE]
    for ours_first in (True, False)
]


@pytest.mark.slow
@pytest.mark.parametrize(("mine", "ours_first"), ORDERS)
def test_a_program_uses_the_installed_library_beside_its_own_modules_of_the_same_names(
    mine: tuple[str, ...], *, ours_first: bool, site: Path, tmp_path: Path
) -> None:
    for number, name in enumerate(mine):
        file = tmp_path / (f"{name}.py" if number % 2 == 0 else f"{name}/__init__.py")
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"MINE = {name!r}", encoding="utf-8")
    imports = ["from cogency_bot import Agent, open_store, tool", "\n".join(f"import {name}" for name in mine)]
    first, second = imports if ours_first else imports[::-1]
    (tmp_path / "app.py").write_text(PROGRAM.format(first=first, second=second, mine=mine), encoding="utf-8")
    done = ran(sys.executable, "app.py", cwd=tmp_path, env={"HOME": str(tmp_path), "PYTHONPATH": str(site)})
    assert done.returncode == 0, done.stderr
    assert "Husum: 6:02" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["agent", *(pytest.param(name, marks=thorough) for name in ("bot", "store"))])
def test_a_program_with_the_name_of_a_package_of_ours_uses_the_library(name: str, site: Path, tmp_path: Path) -> None:
    program = PROGRAM.format(first="from cogency_bot import Agent, open_store, tool", second="", mine=())
    (tmp_path / f"{name}.py").write_text(program, encoding="utf-8")
    done = ran(sys.executable, f"{name}.py", cwd=tmp_path, env={"HOME": str(tmp_path), "PYTHONPATH": str(site)})
    assert "Husum: 6:02" in done.stdout, done.stderr


@pytest.mark.slow
def test_an_editable_installation_has_the_library_under_its_public_name(tmp_path: Path) -> None:
    build = "import sys; from hatchling.build import build_editable; build_editable(sys.argv[1])"
    assert ran(sys.executable, "-c", build, tmp_path).returncode == 0
    [wheel] = tmp_path.glob("cogency_bot-*.whl")
    shutil.unpack_archive(wheel, tmp_path / "site", "zip")
    [folders] = (tmp_path / "site").glob("*.pth")
    path = os.pathsep.join(folders.read_text(encoding="utf-8").split())
    program = "import agent, cogency_bot; print(cogency_bot.Agent is agent.Agent, cogency_bot.__file__)"
    done = ran(sys.executable, "-c", program, cwd=tmp_path, env={"HOME": str(tmp_path), "PYTHONPATH": path})
    assert done.stdout.split() == ["True", str(ROOT / "agent/public/cogency_bot/__init__.py")], done.stderr


def test_no_revision_of_the_database_imports_our_packages_by_their_names() -> None:
    """Alembic loads it by its path, and in a program these names may mean other modules."""
    revisions = [*(ROOT / "store/migrations/versions").glob("*.py")]
    assert revisions
    for revision in revisions:
        assert (
            re.search(r"^\s*(?:from|import) (?:agent|bot|store)\b", revision.read_text("utf-8"), re.MULTILINE) is None
        )


def jobs() -> Iterator[tuple[str, dict[str, str], list[dict[str, str]]]]:
    """Each job of the workflows: its name, its rights, and its steps."""
    for file in WORKFLOWS:
        workflow = yaml.safe_load(file.read_text(encoding="utf-8"))
        for name, job in workflow["jobs"].items():
            yield f"{file.stem}.{name}", job.get("permissions", workflow.get("permissions", {})), job["steps"]


# Commands that run code of the project or of its dependencies.
RUNS_DEPENDENCIES: Final = re.compile(
    r"^\s*(?:\.ci/run|make|uvx|uv (?:tool|run)|docker run|(?:\S*/)?cogency)\b|requirements/(?:run|dev|docs|image)\.txt",
    re.MULTILINE,
)


def test_what_is_new_or_of_others_runs_without_a_right_to_write() -> None:
    may_write = [(name, steps) for name, rights, steps in jobs() if "write" in rights.values()]
    assert may_write
    for name, steps in may_write:
        for step in steps:
            assert RUNS_DEPENDENCIES.search(step.get("run", "")) is None, (name, step)


def test_every_tool_of_a_workflow_is_installed_by_its_hash_and_every_action_by_its_commit() -> None:
    for name, _, steps in jobs():
        for step in steps:
            assert "uvx" not in step.get("run", ""), name
            for line in step.get("run", "").splitlines():
                if "pip install" in line:
                    assert "--require-hashes" in line or "--no-deps dist/" in line, (name, line)
            if "uses" in step:
                assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"]), (name, step["uses"])


def test_secrets_that_the_deployment_asks_for_are_not_committed() -> None:
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {".env", "deploy/secrets/"} <= {*ignored}
    for file in COMPOSED:
        composed: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
        secrets: dict[str, dict[str, str]] = composed.get("secrets") or {}
        assert all(secret["file"].startswith("secrets/") for secret in secrets.values())


def test_the_locks_of_tools_have_a_hash_for_each_version() -> None:
    for name in ("release.txt", "uv.txt"):
        text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
        packages = re.findall(r"^[\w.-]+==\S+.*?(?=^[\w.-]+==|\Z)", text, re.MULTILINE | re.DOTALL)
        assert packages
        assert all("--hash=sha256:" in package for package in packages), name


def test_the_image_says_of_itself_that_it_is_one() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert f"touch /opt/cogency/{IMAGE_MARKER} " in dockerfile
    assert f'ARG EXTRAS="{",".join(IMAGE_EXTRAS)}"\n' in dockerfile


def test_nothing_says_that_the_package_is_on_a_registry() -> None:
    """It is on none yet: a newcomer would find nothing, or somebody else's package."""
    said = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *DEPLOY.iterdir(), *(ROOT / "bot").rglob("texts.py")]
    named = re.compile(r"(?:uv tool|pipx?) install [\"']?cogency-bot")
    assert [file.name for file in said if file.is_file() and named.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("versions", "sentence"),
    [
        ({"python3": "3.10.13", "python3.12": "3.12.1"}, "python3 is 3.10.13. Try: make demo PYTHON=python3.12\n"),
        ({"python3": "3.10.13", "python3.13": ""}, "python3 is 3.10.13. Install a newer one, then: make demo PYTHON="),
        ({"python3": "2.7.18"}, "python3 is 2.7.18. Install a newer one"),
        ({"python3.14": "3.14.0"}, "python3 cannot be started. Try: make demo PYTHON=python3.14\n"),
        ({"python3": "3.11.0"}, ""),
    ],
)
def test_an_old_python_is_refused_in_one_sentence_that_names_a_newer_one(
    versions: Mapping[str, str], sentence: str, tmp_path: Path
) -> None:
    for name, number in versions.items():
        program = tmp_path / name
        is_old = number.startswith(("2.", "3.10."))
        program.write_text(f"#!/bin/sh\n{f'echo {number}; exit {int(is_old)}' if number else 'exit 127'}\n")
        program.chmod(0o755)
    sh = shutil.which("sh")
    done = ran(sh, ROOT / "requirements/check_python.sh", "python3", "demo", env={"PATH": str(tmp_path)})
    assert done.returncode == (1 if sentence else 0)
    assert done.stderr.startswith(f"Cogency needs Python 3.11 or later; {sentence}" if sentence else "")
    assert len(done.stderr.splitlines()) == bool(sentence)
