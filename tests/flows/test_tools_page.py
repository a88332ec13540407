"""docs/tools.md and the pages after it as a newcomer reads them: each file is written, each command run, in order."""

import re
import shlex
import subprocess
import sys
import tomllib
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from agent.tool_policy import read_rows
from benchmarks.house_code import ROOT
from tests.fakes.mcp_world import FAKES
from tests.fakes.ready_process import command
from tests.flows.test_terminal import environment
from tests.patience import PATIENCE_S

READ_IN_ORDER: Final = ("tools.md", "mcp.md", "tool-policy.md", "python-tools.md", "plugins.md", "library.md")
PAGES: Final = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in READ_IN_ORDER]
OURS: Final = f"{ROOT}:{ROOT}/agent/public"  # as in an installation
DOORS: Final = ("An MCP server", "A skill", "A Python tool")
MOST_LINES: Final = 20
# As they stand on a user's path, without a registry: `uvx mcp-server-time` starts a server with the same tools.
PROGRAMS: Final = {"uvx": [str(FAKES / "mcp_time.py")]}
# What each command on the pages says.
ANSWERS: Final = {
    "cogency doctor": "it offers these tools: time.get_current_time (reads), time.convert_time (reads)",
    "cogency ask 'use time.": '"timezone": "Europe/Berlin"',
    "cogency plugins add": "office: 1 skill",
    "cogency ask 'use skill": "> Three headings: Done, Next, Blocked.",
    "cogency ask 'use ferry": "> From Kiel today at 7:15 and 19:15.",
    "cogency plugins check": "acme-office: 1 skill, 0 servers",
    "cogency plugins list": "weekly-report",
    "cogency plugins remove": "The bot stops using acme-office",
}
# What the pages say that stands in `.env` beside a file that holds this.
BESIDE: Final = {
    "${WIKI_TOKEN}": "WIKI_TOKEN=hidden\n",
    "github.delete_*": "COGENCY_TOOL_POLICY=tool-policy.txt\n",
    '"account": "person"': f"COGENCY_ACCOUNT_KEY={b64encode(bytes(32)).decode()}\n",
}


@dataclass(frozen=True)
class Snippet:
    section: str
    language: str
    text: str
    file: str
    """The one that the lines before it name last, "" where they name none."""


def on_the_pages() -> Iterator[Snippet]:
    for section in (section for page in PAGES for section in page.split("\n## ")):
        title, _, rest = section.partition("\n")
        before = ""
        for number, part in enumerate(rest.split("```")):
            if number % 2:
                language, _, text = part.partition("\n")
                files = re.findall(r"`([\w./-]+\.\w+)`", before.strip().rpartition("\n\n")[2])
                yield Snippet(title, language, text, files[-1] if files else "")
            else:
                before = part


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Empty, but for the programs that a user has, and the model that the page names."""
    assert "a `.env` file that contains `COGENCY_MODEL=rehearsal`" in " ".join(PAGES[0].split())
    (tmp_path / ".env").write_text("COGENCY_MODEL=rehearsal\n")
    (tmp_path / "bin").mkdir()
    for name, arguments in PROGRAMS.items():
        program = tmp_path / "bin" / name
        program.write_text(f"""#!/bin/sh\nexec env PYTHONPATH={OURS} {sys.executable} {" ".join(arguments)} "$@"\n""")
        program.chmod(0o700)
    return tmp_path


def run(folder: Path, line: str, **settings: str) -> str:
    environ = environment(folder, **settings)
    environ["PATH"] = f"{folder / 'bin'}:{environ['PATH']}"
    if line.startswith("cogency "):
        ran = command(folder, environ, *shlex.split(line)[1:], typed="")
    else:
        ran = subprocess.run(  # noqa: S602 -- our own page
            line, shell=True, cwd=folder, env=environ, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    assert ran.returncode == 0, f"{line}: {ran.stdout}{ran.stderr}"
    return ran.stdout


def test_each_of_the_three_ways_is_shown_in_twenty_lines() -> None:
    for door in DOORS:
        own = [one.text for one in on_the_pages() if one.section == door]
        assert len(own) == 2
        assert sum(len(text.splitlines()) for text in own) <= MOST_LINES


@pytest.mark.slow
def test_whoever_follows_the_pages_from_the_top_has_everything_that_they_promise(folder: Path) -> None:
    said: list[str] = []
    for snippet in on_the_pages():
        match snippet.language:
            case "sh":
                for line in snippet.text.splitlines():
                    output = run(folder, line)
                    if line.startswith("cogency"):
                        (expected,) = [text for begin, text in ANSWERS.items() if line.startswith(begin)]
                        assert expected in output, f"{line}: {output}"
                        said.append(expected)
            case "json" | "markdown" | "toml" | "text" | "python" if snippet.file:
                (folder / snippet.file).parent.mkdir(parents=True, exist_ok=True)
                (folder / snippet.file).write_text(snippet.text)
                with (folder / ".env").open("a") as settings:
                    settings.writelines(line for needs, line in BESIDE.items() if needs in snippet.text)
                if snippet.language == "toml":
                    installed(folder, tomllib.loads(snippet.text))
            case "text":  # rows of the policy, as an example
                _, mistakes = read_rows(snippet.text)
                assert not mistakes
            case "python":
                (folder / "program.py").write_text(snippet.text)
                output = run(folder, f"PYTHONPATH={OURS} {sys.executable} program.py")
                assert "Husum: 6:02 and 18:31" in output
            case _:
                raise AssertionError(f"nobody has run this: {snippet}")
    assert said == list(ANSWERS.values())
    assert "tool-policy.txt controls who can use which tools (3 rows)" in run(folder, "cogency doctor")


def installed(folder: Path, project: dict[str, Any]) -> None:
    """The package of the page's own module, as pip leaves it, is used by the name of its entry point."""
    about = folder / "site" / "ferries-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: ferries\nVersion: 1.0\n")
    points = project["project"]["entry-points"]["cogency.tools"]
    lines = "\n".join(f"{name} = {value}" for name, value in points.items())
    (about / "entry_points.txt").write_text(f"[cogency.tools]\n{lines}\n")
    (folder / "site" / "my_tools.py").write_text((folder / "my_tools.py").read_text())
    from_nothing = f'PYTHONPATH={OURS}:{folder / "site"} {sys.executable} -m bot ask \'use ferry {{"harbor": "Kiel"}}\''
    assert ANSWERS["cogency ask 'use ferry"] in run(
        folder, from_nothing, COGENCY_TOOLS=",".join(points), COGENCY_MCP=""
    )
