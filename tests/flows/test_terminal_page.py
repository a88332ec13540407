"""docs/terminal.md as somebody reads it who is new: its conversation is held, and each of its commands is run."""

import re
import shlex
from pathlib import Path
from typing import Final

import pytest

from benchmarks.house_code import ROOT
from tests.flows.test_terminal import cogency

PAGE: Final = (ROOT / "docs" / "terminal.md").read_text(encoding="utf-8")


def block(language: str) -> list[str]:
    (text,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return text.splitlines()


@pytest.mark.parametrize("page", ["docs/terminal.md", "README.md"])
def test_the_conversation_on_the_page_remembers_finds_and_forgets(page: str, tmp_path: Path) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    typed = [line.strip().removeprefix("> ") for line in text.splitlines() if line.strip().startswith("> ")]
    assert typed == [line.removeprefix("> ") for line in block("text")], "one is as the other"
    told = cogency(tmp_path, "chat", typed="\n".join([*typed, "yes", typed[2], ""])).stdout
    first, _, rest = told.partition("Started a new thread.")
    found, _, after = rest.partition("Forgotten:")
    assert "I will remember that" in first
    assert "my boat is blue" in found
    assert "these texts are no longer where they were stored" in after
    assert "blue" not in after.partition("Model:")[0], "nothing is found any more"


LINE: Final = re.compile(r"(?:echo (\S+) \| )?cogency (.*?)(?: < (\S+))?")


@pytest.mark.slow
def test_every_command_for_scripts_answers(tmp_path: Path) -> None:
    files = {"question.txt": "why is the sky\nblue?\n", "notes.txt": "the boat is blue\n"}
    lines = block("sh")
    assert len(lines) == 5
    for line in lines:
        match = LINE.fullmatch(line)
        assert match, line
        said, arguments, file = match.groups("")
        ran = cogency(tmp_path, *shlex.split(arguments), typed=files[file] if file else said)
        assert (ran.returncode, bool(ran.stdout.strip())) == (0, True), f"{line}: {ran.stderr}"
