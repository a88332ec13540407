"""Service managers as executables in a folder for PATH: each notes how it was called, and answers as it is told to."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.fakes import systemctl

_PROGRAM = """\
#!{python}
import os, sys
folder = {folder!r}
with open(os.path.join(folder, "calls"), "a") as calls:
    calls.write(" ".join([{name!r}, *sys.argv[1:]]) + "\\n")
for begin, (code, said) in {answers!r}.items():
    if " ".join(sys.argv[1:]).startswith(begin):
        print(said)
        sys.exit(code)
"""


@dataclass(frozen=True)
class ServiceManagers:
    folder: Path

    def add(self, name: str, answers: Mapping[str, tuple[int, str]] | None = None) -> None:
        """`answers`: how a call ends and what it prints, by the beginning of its arguments; else it succeeds."""
        self.folder.mkdir(exist_ok=True)
        program = self.folder / name
        text = _PROGRAM.format(python=sys.executable, folder=str(self.folder), name=name, answers=dict(answers or {}))
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)

    def add_systemd(self) -> None:
        """Add a `systemctl --user` that really starts the service."""
        self.folder.mkdir(exist_ok=True)
        program = self.folder / "systemctl"
        source = Path(systemctl.__file__).read_text(encoding="utf-8")
        program.write_text(f"#!{sys.executable}\n{source}", encoding="utf-8")
        program.chmod(0o755)

    @property
    def environ(self) -> dict[str, str]:
        return {"PATH": str(self.folder)}

    @property
    def calls(self) -> list[str]:
        file = self.folder / "calls"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []
