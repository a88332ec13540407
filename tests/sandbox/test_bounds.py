"""Code that takes too much: each run ends within its limits, the bot goes on, and the next run is as if nothing was."""

import asyncio
import os
import re
import signal
import sys
from pathlib import Path

import pytest

from bot.python.engine import Limit, RunEnded, RunFile, RunLimits
from bot.python.feature import open_sandbox
from bot.python.sandbox import RUNS, Sandbox
from tests.bot.python.test_sandbox import is_running
from tests.patience import PATIENCE_S, until

DEADLOCK = "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()"
SHORT = RunLimits(seconds=3.0, memory_bytes=256 * 1024 * 1024, output_bytes=100_000, out_bytes=1_000_000)


async def run(code: str, limits: RunLimits = SHORT) -> RunEnded:
    opened = Sandbox(open_sandbox().cache, limits)
    async with opened.serving(), asyncio.timeout(PATIENCE_S):
        await opened.compiled()
        ended = await opened.run(code, [RunFile("a.txt", b"a")], "ann")
        assert (await opened.run("print(1)", [], "ann")).output == "1\n"
    return ended


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time\ntime.sleep(600)",
        "try:\n    while True: pass\nexcept BaseException:\n    pass\nfinally:\n    while True: pass",
        'import re\nre.match(r"(a+)+$", "a" * 60 + "b")',
        "10 ** 10 ** 8",
        "import numpy as np\nnp.convolve(np.ones(400_000), np.ones(400_000))",
        "import numpy as np\nwhile True: np.linalg.svd(np.random.rand(300, 300))",
        "import numpy as np\nwhile True: np.sort(np.random.rand(1_000_000))",
        "import sys\nwhile True: sys.stdin.read()",
        "import itertools\nsum(itertools.count())",
        "import signal\nsignal.pause() if hasattr(signal, 'pause') else None\nwhile True: pass",
    ],
)
async def test_code_that_does_not_end_is_ended_in_time(code: str) -> None:
    assert (await run(code)).limit is Limit.TIME


TOO_LARGE = "MemoryError|OverflowError|array is too big"


@pytest.mark.parametrize(
    "code",
    [
        "x = bytearray(10 ** 9)",
        "x = [0] * 10 ** 9",
        "x = 'a' * 10 ** 10",
        "x = []\nwhile True: x.append(bytearray(10 ** 7))",
        "import numpy as np\nnp.ones((20_000, 20_000))",
        "x = {}\nwhile True: x[len(x)] = [len(x)] * 100",
        "import zlib\nx = zlib.decompress(zlib.compress(bytes(10 ** 8))) * 9",
        "import io\nx = io.BytesIO()\nwhile True: x.write(bytes(10 ** 7))",
    ],
)
async def test_code_that_takes_too_much_memory_ends_with_an_error(code: str) -> None:
    ended = await run(code, RunLimits(seconds=20.0, memory_bytes=256 * 1024 * 1024))
    assert ended.failed
    assert ended.limit in {Limit.CRASH, Limit.TIME} or re.search(TOO_LARGE, ended.error)


@pytest.mark.parametrize(
    "code",
    [
        "def f(): return f()\nf()",
        "x = []\nfor _ in range(10 ** 6): x = [x]\nrepr(x)",
        "import ast\neval('(' * 10 ** 5)",
        "eval('-' * 10 ** 6 + '1')",
        "import json\njson.loads('[' * 10 ** 6)",
        "import sys\nsys.setrecursionlimit(10 ** 8)\ndef f(): return f()\nf()",
        "import pickle\npickle.loads(b'(' * 10 ** 7)",
    ],
)
async def test_code_that_nests_without_end_breaks_only_itself(code: str) -> None:
    assert (await run(code, RunLimits(seconds=20.0))).failed


@pytest.mark.parametrize(
    "code", ["import os\nos.abort()", "import os\nos._exit(3)", "import ctypes\nctypes.string_at(0)", DEADLOCK]
)
async def test_code_that_breaks_its_interpreter_breaks_only_itself(code: str) -> None:
    assert (await run(code)).failed


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_a_flood_of_output_is_cut(stream: str) -> None:
    ended = await run(f"import sys\nfor _ in range(1_000): sys.{stream}.write('x' * 10_000)")
    assert ended.is_cut
    assert len(ended.output) + len(ended.error) == SHORT.output_bytes
    assert not ended.failed


# A file that is not closed is written at the end, where its error fails nothing.
FULL = "OSError|MemoryError"


@pytest.mark.parametrize(
    "code",
    [
        "open('/out/big', 'wb').write(bytes(2_000_000))",
        "for number in range(9): open(f'/out/{number}', 'wb').write(bytes(200_000))",
        "for number in range(100_000): open(f'/out/{number}', 'w').close()",
        "import os\nfor number in range(100_000): os.mkdir(f'/tmp/{number}')",
        "import os\nfor number in range(100_000): os.mkdir('/tmp/' + 'd/' * number)",
        "for number in range(9): open(f'/tmp/{number}', 'wb').write(bytes(10_000_000))",
        "for number in range(9): open(f'/{number}', 'wb').write(bytes(10_000_000))",
        "files = [open(f'/out/{number}', 'w') for number in range(900)]",
        "open('/out/' + 'x' * 256, 'w')",
        "open('/out/x', 'wb').truncate(10 ** 12)",
        "file = open('/out/x', 'wb')\nfile.seek(10 ** 12)\nfile.write(b'x')\nfile.close()",
    ],
)
async def test_files_are_bounded_in_number_size_and_name(code: str) -> None:
    ended = await run(code, RunLimits(seconds=20.0, out_bytes=1_000_000))
    assert ended.limit is Limit.FILE_CALLS or re.search(FULL, ended.error)
    assert sum(len(file.data) for file in ended.files) <= 1_000_000
    assert len(ended.files) <= RunLimits().out_entries


async def test_a_flood_of_questions_about_files_is_ended() -> None:
    ended = await run("import os\nwhile True: os.stat('/files/a.txt')", RunLimits(seconds=20.0))
    assert ended.limit in {Limit.FILE_CALLS, Limit.TIME}


async def test_the_event_loop_goes_on_beside_two_busy_runs(sandbox: Sandbox) -> None:
    code = """
import numpy, time
end = time.monotonic() + 2
while time.monotonic() < end:
    numpy.sort(numpy.random.rand(10_000))
"""
    runs = asyncio.gather(sandbox.run(code, [], "ann"), sandbox.run(code, [], "bob"))
    ticks = 0
    while not runs.done():
        await asyncio.wait({runs}, timeout=0.01)
        ticks += 1
    assert not any(ended.failed for ended in await runs)
    assert ticks > 20


BOT = """
import asyncio, sys
from bot.python.feature import open_sandbox

async def main():
    sandbox = open_sandbox()
    async with sandbox.serving():
        await sandbox.compiled()
        await sandbox.run("while True: pass", [], "ann")

asyncio.run(main())
"""


def children_of(process: int) -> list[int]:
    found = list[int]()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[1]) == process and "sandbox_process" in (path.parent / "cmdline").read_text(encoding="utf-8"):
            found.append(int(path.parent.name))
    return found


def computing(processes: list[int]) -> bool:
    """Whether one of these has computed for a second: the code runs."""
    return any(_seconds(process) > 1.0 for process in processes)


def _seconds(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_a_killed_bot_leaves_no_run_behind() -> None:
    before, cache = folders(), open_sandbox().cache
    bot = await asyncio.create_subprocess_exec(sys.executable, "-c", BOT)
    children = list[int]()

    def runs_code() -> bool:
        children[:] = children_of(bot.pid)
        return computing(children)

    try:
        await until(runs_code, look_s=0.1)
        left = folders() - before
    finally:
        bot.send_signal(signal.SIGKILL)
        await bot.wait()
    await until(lambda: not any(map(is_running, children)))
    assert left
    async with Sandbox(cache).serving():
        assert not folders() & left


def folders() -> set[str]:
    """The temporary folders of runs, of all bots on this machine."""
    runs = open_sandbox().cache / RUNS
    return {entry.name for entry in runs.iterdir() if entry.is_dir()} if runs.exists() else set()
