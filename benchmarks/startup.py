"""How soon a person can type after they start `cogency chat`, and how much is loaded for it.

chat_prompt_s   from the start of the process to the prompt on a terminal; the median of several starts of an installed
                bot whose database exists
first_start_s   the same without a database: its tables are created
import_modules  modules loaded by a chat through pipes, which has everything that answers
prompt_cpu_s    processor time until the prompt is shown, which does not depend on the machine's load
first_answer_s  from the start of the process to the rehearsal's answer to a text typed as soon as the prompt is shown
help_ms         `cogency --help`, from its start to its end
version_ms      `cogency --version`, the same
help_cpu_ms     processor time of `cogency --help`

Baseline, in the same run: a Python that ends at once, and one that imports Slack's and Discord's libraries, which the
chat does not load.
"""

import os
import pty
import resource
import select
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import print_report, read_options

ROOT = Path(__file__).parents[1]
PROMPT = b"\x1b[0m>"  # As prompt_toolkit draws it once it reads keys
ANSWERED = b"You wrote:"
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


@dataclass(frozen=True, slots=True)
class Start:
    """The chat on a terminal: seconds until the prompt, processor time until then, and seconds until an answer."""

    prompt_s: float
    cpu_s: float
    answer_s: float


def start(folder: Path, *, asks: bool = False) -> Start:
    """`asks`: a question is typed as soon as the prompt is shown."""
    began = time.perf_counter()
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execve(sys.executable, [sys.executable, "-m", "bot", "chat"], environment(folder))
    try:
        prompt, cpu, answer = _wait_for(PROMPT, terminal, began), _processor_s(child), 0.0
        if asks:
            os.write(terminal, b"hello\r")
            answer = _wait_for(ANSWERED, terminal, began)
            _wait_for(PROMPT, terminal, began)
        return Start(prompt, cpu, answer)
    finally:
        os.write(terminal, b"\x04")
        os.waitpid(child, 0)
        os.close(terminal)


def _processor_s(process: int) -> float:
    """Return the processor time of the process, which Linux counts in hundredths of a second."""
    counted = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(counted[11]) + int(counted[12])) / os.sysconf("SC_CLK_TCK")


def _wait_for(text: bytes, terminal: int, began: float) -> float:
    seen = b""
    while text not in seen:
        left = began + PATIENCE_S - time.perf_counter()
        if left <= 0 or not select.select([terminal], [], [], left)[0]:
            raise TimeoutError(f"no {text!r} after {PATIENCE_S:g} s; shown was {seen!r}")
        seen += os.read(terminal, 65_536)
    return time.perf_counter() - began


def python_s(code: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
    return time.perf_counter() - began


def command_s(folder: Path, *arguments: str) -> tuple[float, float]:
    """Return the seconds of a command, and its processor time."""
    began, used = time.perf_counter(), _children_s()
    command = [sys.executable, "-m", "bot", *arguments]
    subprocess.run(command, check=True, cwd=folder, env=environment(folder), stdout=subprocess.DEVNULL)
    return time.perf_counter() - began, _children_s() - used


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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
        first = start(folder).prompt_s
        starts = [start(folder) for _ in range(rounds)]
        prompt = statistics.median(one.prompt_s for one in starts)
        answer = statistics.median(start(folder, asks=True).answer_s for _ in range(rounds))
        helps = [command_s(folder, "--help") for _ in range(rounds)]
        version = statistics.median(command_s(folder, "--version")[0] for _ in range(rounds))
        loaded = modules(folder)
    bare = statistics.median(python_s("pass") for _ in range(rounds))
    platforms = statistics.median(python_s("import slack_bolt.async_app, discord") for _ in range(rounds))
    print_report(
        "startup",
        {
            "chat_prompt_s": prompt,
            "first_start_s": first,
            "import_modules": loaded,
            "prompt_cpu_s": statistics.median(one.cpu_s for one in starts),
            "first_answer_s": answer,
            "help_ms": statistics.median(seconds for seconds, _ in helps) * 1_000,
            "version_ms": version * 1_000,
            "help_cpu_ms": statistics.median(cpu for _, cpu in helps) * 1_000,
        },
        {"bare_python_s": bare, "prompt_over_bare": prompt / bare, "platform_imports_s": platforms},
        options,
    )


if __name__ == "__main__":
    main()
