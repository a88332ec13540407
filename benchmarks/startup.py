"""How soon a person can type after they start `cogency chat`, and how much is loaded for it.

chat_prompt_s   from the start of the process to the prompt on a terminal; the median of several starts of an installed
                bot whose database exists
first_start_s   the same with no database yet: its tables are made
import_modules  modules loaded when the prompt shows

Baseline, in the same run: a Python that ends at once, and one that imports Slack's and Discord's libraries, which the
chat does without.
"""

import os
import pty
import select
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.report import print_report, read_options

ROOT = Path(__file__).parents[1]
PROMPT = b"\x1b[0m>"
"""As prompt_toolkit draws it, once it reads keys."""
PATIENCE_S = 30.0
COUNTED = """
import sys
from bot.__main__ import run
from bot.platforms.terminal import tty, run as chat
code = run(["chat"])
print("modules", len(sys.modules), {"slack_bolt", "discord"} & sys.modules.keys(), file=sys.stderr)
"""


def environment(folder: Path) -> dict[str, str]:
    return {
        "PATH": os.defpath,
        "HOME": str(folder),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PROMPT_TOOLKIT_NO_CPR": "1",
        "PYTHONPATH": str(ROOT),
        "COGENCY_MODEL": "rehearsal",
        "COGENCY_DATABASE_URL": f"sqlite:///{folder / 'bot.db'}",
    }


def prompt_s(folder: Path) -> float:
    """Start the chat on a terminal; seconds until the prompt stands there."""
    began = time.perf_counter()
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execve(sys.executable, [sys.executable, "-m", "bot", "chat"], environment(folder))
    try:
        return _wait_for(terminal, began)
    finally:
        os.write(terminal, b"\x04")
        os.waitpid(child, 0)
        os.close(terminal)


def _wait_for(terminal: int, began: float) -> float:
    seen = b""
    while PROMPT not in seen:
        left = began + PATIENCE_S - time.perf_counter()
        if left <= 0 or not select.select([terminal], [], [], left)[0]:
            raise TimeoutError(f"no prompt after {PATIENCE_S:g} s; shown was {seen!r}")
        seen += os.read(terminal, 65_536)
    return time.perf_counter() - began


def python_s(code: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
    return time.perf_counter() - began


def modules(folder: Path) -> int:
    ran = subprocess.run(
        [sys.executable, "-c", COUNTED],
        input="",
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment(folder),
        check=True,
    )
    return int(ran.stderr.rpartition("modules ")[2].split()[0])


def main() -> None:
    options = read_options("How soon a person can type.")
    rounds = 3 if options.quick else 9
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = prompt_s(folder)
        prompt = statistics.median(prompt_s(folder) for _ in range(rounds))
        loaded = modules(folder)
    bare = statistics.median(python_s("pass") for _ in range(rounds))
    platforms = statistics.median(python_s("import slack_bolt.async_app, discord") for _ in range(rounds))
    print_report(
        "startup",
        {"chat_prompt_s": prompt, "first_start_s": first, "import_modules": loaded},
        {"bare_python_s": bare, "prompt_over_bare": prompt / bare, "platform_imports_s": platforms},
        options,
    )


if __name__ == "__main__":
    main()
