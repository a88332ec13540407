# ruff: noqa: INP001 -- a script for make, before anything is installed
"""Installs what a requirements file names, with progress: pip alone says nothing for most of the time that it takes.

`python requirements/install.py FILE PYTHON`, where PYTHON is that of the environment to install into. It runs before
anything is installed, so it uses nothing but Python. It ends as pip does, whose words are shown if it fails.

The file names everything that is needed, so pip resolves nothing (`--no-deps`). If it resolved, the pip of Python 3.11
would look for the newest release of a package that is needed with an extra, and fail once there is one without a hash.
"""

import re
import subprocess
import sys
import threading
from pathlib import Path

EVERY_S = 0.5  # How often packages are counted


def main(requirements: Path, python: Path) -> int:
    """Install; pip's exit code."""
    total = len(re.findall(r"^[\w.-]+==", requirements.read_text("utf-8"), re.MULTILINE))
    site = next((python.parent.parent / "lib").glob("python*/site-packages"))
    before = installed(site)
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
    command += ["--require-hashes", "--no-deps", "-r", str(requirements)]
    pip = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # noqa: S603 -- pip
    said: list[str] = []
    reading = threading.Thread(target=lambda: said.extend(pip.stdout or ()), daemon=True)
    reading.start()
    shown = ""
    while (code := _ended(pip)) is None:
        shown = show(progress(said, installed(site) - before, total), shown)
    reading.join()
    if code:
        sys.stderr.write("".join(["\n", *said]))
    else:
        show(f"Installed {installed(site) - before} packages.", shown)
        sys.stderr.write("\n" if sys.stderr.isatty() else "")
    return code


def progress(said: list[str], installed: int, total: int) -> str:
    """One line: what pip does, and how far it is. Some packages are for other machines, so it may end early."""
    if any(line.startswith("Installing collected") for line in said):
        return f"Installing: {min(installed, total)} of {total} packages"
    return f"Downloading: {sum(line.startswith('Collecting ') for line in said)} of {total} packages"


def show(line: str, shown: str) -> str:
    """Put the line in the place of the one before; where that cannot be done, write each tenth package."""
    if line == shown:
        return shown
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{line}")
    elif re.search(r" \d*0 of", line) or line.endswith("."):
        sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
    return line


def installed(site: Path) -> int:
    return sum(1 for _ in site.glob("*.dist-info"))


def _ended(process: "subprocess.Popen[str]") -> int | None:
    try:
        return process.wait(EVERY_S)
    except subprocess.TimeoutExpired:
        return None


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped: the same command begins again.\n")
        sys.exit(130)
