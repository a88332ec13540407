"""The processes of runs: whatever they do, they end in time, and what they write is bounded. Scripts stand in for the
sandbox itself, which `tests/sandbox` tries.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import ToolError
from agent.messages import JsonObject
from bot.python import texts
from bot.python.engine import EngineUnavailable, Function, Functions, Limit, RunEnded, RunFile, RunLimits
from bot.python.run_folders import folder_of_run
from bot.python.sandbox import Sandbox
from tests.patience import PATIENCE_S, until

pytestmark = pytest.mark.slow

# Each of these reads its request. One without limits only asks to compile.
READ = """
import json, os, sys, time
request = json.loads(sys.stdin.buffer.readline())
def answer(output=b"", files=(), **more):
    head = {"exit": 0, "trapped": None, "cut": False, "output": len(output), "error": 0}
    head |= {"files": [[name, len(data)] for name, data in files], "removed": [], **more}
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\\n" + output + b"".join(data for _, data in files))
    sys.stdout.buffer.flush()
if not request["limits"]:
    answer()
    sys.exit()
"""
ECHO = """
files = {name: sys.stdin.buffer.read(size).decode() for name, size in request["files"]}
answer(json.dumps([request["code"], files, dict(os.environ), request["cache"]]).encode(), [("out.txt", b"boat")])
"""
SMALL = RunLimits(seconds=0.5, output_bytes=1_000, out_bytes=1_000, out_entries=3)


@asynccontextmanager
async def sandbox(tmp_path: Path, script: str, limits: RunLimits = SMALL) -> AsyncGenerator[Sandbox]:
    path = tmp_path / "script.py"
    path.write_text(READ + script, encoding="utf-8")
    opened = Sandbox(tmp_path / "cache", limits, path, start_s=PATIENCE_S)
    async with opened.serving():
        yield opened


async def test_code_and_files_go_in_and_what_it_left_comes_out(tmp_path: Path) -> None:
    async with sandbox(tmp_path, ECHO) as opened:
        ended = await opened.run("code", [RunFile("a.txt", b"one"), RunFile("b.txt", b"two")], "ann")
    code, files, environment, cache = json.loads(ended.output)
    assert (code, files) == ("code", {"a.txt": "one", "b.txt": "two"})
    assert ended.files == (RunFile("out.txt", b"boat"),)
    assert Path(cache).is_relative_to(tmp_path)
    assert environment.keys() <= {"TMPDIR", "LC_CTYPE"}
    assert not ended.failed


async def test_no_secret_of_the_bot_is_in_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COGENCY_SECRET", "quince")
    async with sandbox(tmp_path, ECHO) as opened:
        assert "quince" not in (await opened.run("", (), "ann")).output


@pytest.mark.parametrize(
    "script",
    [
        "os._exit(0)",
        "os.kill(os.getpid(), 9)",
        'sys.stdout.buffer.write(b"no answer\\n")',
        'sys.stdout.buffer.write(b"[" * 100_000 + b"\\n")',
        'sys.stdout.buffer.write(b"[]\\n")',
        'sys.stdout.buffer.write(b"{}\\n")',
        'sys.stdout.buffer.write(b"x" * 20_000_000)',
        'sys.stdout.buffer.write(b"\\xff\\n")',
        'answer(b"x" * 1_001)',
        'answer(files=[("a", b"x" * 600), ("b", b"x" * 600)])',
        'answer(files=[(str(number), b"") for number in range(4)])',
        'answer(files=[("a", b"")], output=-1)',
        "answer(output=10**30)",
        'answer(error=True, files=[["a", "b"]])',
        'answer(b"less", output=1_000)',
    ],
)
async def test_a_process_that_breaks_off_or_writes_something_else_is_a_crash(tmp_path: Path, script: str) -> None:
    async with sandbox(tmp_path, script) as opened, asyncio.timeout(PATIENCE_S):
        assert await opened.run("", (), "ann") == RunEnded(failed=True, limit=Limit.CRASH)


@pytest.mark.parametrize("trapped", [None, "deadline", "out of file calls", "stack overflow"])
async def test_what_ended_the_code_early_is_told(tmp_path: Path, trapped: str | None) -> None:
    async with sandbox(tmp_path, f'answer(b"so far", exit=None, trapped={trapped!r})') as opened:
        ended = await opened.run("", (), "ann")
    limits = {None: None, "deadline": Limit.TIME, "out of file calls": Limit.FILE_CALLS, "stack overflow": Limit.CRASH}
    assert ended == RunEnded(output="so far", failed=True, limit=limits[trapped])


STUBBORN = """
import signal, subprocess
for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(each, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open({path!r}, "w") as file:
    file.write(f"{{os.getpid()}} {{child.pid}}")
os.rename({path!r}, {path!r} + ".ready")
time.sleep(600)
"""


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def processes_of(path: Path) -> list[int]:
    return [int(word) for word in path.with_name(path.name + ".ready").read_text(encoding="utf-8").split()]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_a_run_that_hangs_is_killed_with_its_children_when_its_time_is_over(tmp_path: Path) -> None:
    path = tmp_path / "pids"
    script = tmp_path / "script.py"
    script.write_text(READ + STUBBORN.format(path=str(path)), encoding="utf-8")
    opened = Sandbox(tmp_path / "cache", SMALL, script, start_s=1.0)
    async with opened.serving():
        await opened.compiled()
        ended = await opened.run("", (), "ann")
    assert ended == RunEnded(failed=True, limit=Limit.TIME)
    await until(lambda: not any(map(is_running, processes_of(path))))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_a_stopped_run_is_gone_when_the_stop_returns(tmp_path: Path) -> None:
    path = tmp_path / "pids"
    limits = RunLimits(seconds=PATIENCE_S)
    async with sandbox(tmp_path, STUBBORN.format(path=str(path)), limits) as opened:
        running = asyncio.create_task(opened.run("", (), "ann"))
        await until(path.with_name("pids.ready").exists)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await until(lambda: not any(map(is_running, processes_of(path))))


async def test_runs_wait_for_their_turn_and_one_persons_for_each_other(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = f"""
path = {str(log)!r}
with open(path, "a") as file:
    file.write(f"begin {{request['code']}}\\n")
while not os.path.exists(path + request["code"]):
    time.sleep(0.01)
answer()
"""
    async with sandbox(tmp_path, script, RunLimits(seconds=PATIENCE_S)) as opened:
        await opened.compiled()
        runs = [asyncio.create_task(opened.run(name, (), name[0])) for name in ("a1", "a2", "b1", "c1")]

        def begun() -> list[str]:
            return sorted(log.read_text(encoding="utf-8").split("begin ")) if log.exists() else []

        await until(lambda: len(begun()) == 3)
        assert begun() == ["", "a1\n", "b1\n"]
        (tmp_path / "loga1").touch()
        await until(lambda: len(begun()) == 4)
        assert begun() == ["", "a1\n", "b1\n", "c1\n"]
        for name in ("a2", "b1", "c1"):
            (tmp_path / f"log{name}").touch()
        await asyncio.gather(*runs)


async def test_after_a_run_without_an_answer_the_compiled_interpreter_is_looked_for_again(tmp_path: Path) -> None:
    log, script = tmp_path / "log", tmp_path / "script.py"
    script.write_text(
        READ.replace("    answer()\n", f"    answer()\n    open({str(log)!r}, 'a').write('compiled ')\n")
        + "os._exit(1)",
        encoding="utf-8",
    )
    opened = Sandbox(tmp_path / "cache", SMALL, script)
    async with opened.serving():
        for times in (1, 2):
            await opened.compiled()
            assert log.read_text(encoding="utf-8") == "compiled " * times
            assert (await opened.run("", (), "ann")).limit is Limit.CRASH


async def test_until_the_interpreter_is_compiled_nothing_runs(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text("import time\ntime.sleep(600)", encoding="utf-8")
    opened = Sandbox(tmp_path / "cache", SMALL, path, ready_s=0.01)
    with pytest.raises(EngineUnavailable, match="still starting"):
        await opened.run("", (), "ann")
    async with opened.serving():
        with pytest.raises(EngineUnavailable, match="still starting"):
            await opened.run("", (), "ann")


async def test_a_sandbox_that_does_not_start_says_so_and_logs_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    script = tmp_path / "script.py"
    script.write_text(READ.replace("    answer()\n", "    answer(exit=1)\n"), encoding="utf-8")
    opened = Sandbox(tmp_path / "cache", SMALL, script)
    async with opened.serving():
        with pytest.raises(EngineUnavailable, match=texts.CANNOT_COMPILE[:30]):
            await opened.compiled()
        with pytest.raises(EngineUnavailable):
            await opened.run("", (), "ann")
    assert texts.CANNOT_COMPILE in caplog.text


async def test_the_folder_of_the_cache_is_the_users_alone(tmp_path: Path) -> None:
    async with sandbox(tmp_path, ECHO) as opened:
        await opened.run("", (), "ann")
    assert (tmp_path / "cache" / "runs").stat().st_mode & 0o077 == 0


CALLS = """
def call(name="look", **args):
    sys.stdout.buffer.write(json.dumps({"call": name, "args": args}).encode() + b"\\n")
    sys.stdout.buffer.flush()
    return sys.stdin.buffer.readline()
"""


async def echo(name: str, args: JsonObject) -> str:
    if args.get("fails"):
        raise ToolError("no")
    return f"{name} {json.dumps(args)}"


FUNCTIONS = Functions((Function("look", "Look it up.", {"type": "object"}),), echo)


async def test_functions_are_called_in_the_bot_and_answer_with_a_text_or_a_reason(tmp_path: Path) -> None:
    script = (
        CALLS + "answer(json.dumps([request['functions'], *map(json.loads, (call(q=1), call(fails=True)))]).encode())"
    )
    async with sandbox(tmp_path, script) as opened:
        ended = await opened.run("", (), "ann", functions=FUNCTIONS)
    assert json.loads(ended.output) == [
        [["look", "Look it up.", {"type": "object"}]],
        {"text": 'look {"q": 1}'},
        {"error": "no"},
    ]


@pytest.mark.parametrize(
    "script",
    [
        'call("other")',
        "call(None)",
        'call(["look"])',
        'call(x="y" * 100_001)',
        "while True: call()",
        'sys.stdout.buffer.write(b\'{"call":"look"}\\n\')',
        'sys.stdout.buffer.write(b\'{"call":\' + b"[" * 90_000 + b"\\n")',
        'sys.stdout.buffer.write(b\'{"call":"look","args":[]}\\n\')',
    ],
)
async def test_a_process_that_calls_what_no_run_may_call_is_a_crash(tmp_path: Path, script: str) -> None:
    async with sandbox(tmp_path, CALLS + script) as opened, asyncio.timeout(PATIENCE_S):
        ended = await opened.run("", (), "ann", functions=FUNCTIONS)
    assert ended == RunEnded(failed=True, limit=Limit.CRASH)


async def test_a_run_without_functions_can_call_none(tmp_path: Path) -> None:
    async with sandbox(tmp_path, CALLS + "call()") as opened:
        assert (await opened.run("", (), "ann")).limit is Limit.CRASH


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_a_run_that_is_stopped_while_it_calls_is_gone(tmp_path: Path) -> None:
    called, process = asyncio.Event(), list[int]()

    async def hang(name: str, args: JsonObject) -> str:
        process.append(int(str(args["process"])))
        called.set()
        await asyncio.Event().wait()
        return name

    functions = Functions(FUNCTIONS.offered, hang)
    async with sandbox(tmp_path, CALLS + "call(process=os.getpid())", RunLimits(seconds=PATIENCE_S)) as opened:
        running = asyncio.create_task(opened.run("", (), "ann", functions=functions))
        await called.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    await until(lambda: not is_running(process[0]))


LEAVES = """
import tempfile
open(os.path.join(tempfile.gettempdir(), "library"), "w").write("x" * 1_000)
"""


@pytest.mark.parametrize("end", ["answer()", "time.sleep(600)", "os._exit(1)"])
async def test_what_a_run_leaves_in_its_temporary_folder_is_removed_with_it(tmp_path: Path, end: str) -> None:
    path = tmp_path / "script.py"
    path.write_text(f"{READ}{LEAVES}\n{end}", encoding="utf-8")
    opened = Sandbox(tmp_path / "cache", replace(SMALL, seconds=0.2), path, start_s=2.0)
    async with opened.serving():
        await opened.run("", (), "ann")
    assert await asyncio.to_thread(os.listdir, tmp_path / "cache" / "runs") == []


async def test_what_a_killed_bot_left_is_removed_by_the_next_start_and_nothing_of_a_bot_that_runs(
    tmp_path: Path,
) -> None:
    runs = tmp_path / "cache" / "runs"
    (runs / "left" / "deep").mkdir(parents=True)
    (runs / "left" / "deep" / "library").write_bytes(bytes(1_000))
    (runs / "left.lock").touch()
    async with folder_of_run(runs) as used:
        (used / "library").write_bytes(b"x")
        async with sandbox(tmp_path, "answer()") as opened:
            await opened.compiled()
        assert {*await asyncio.to_thread(os.listdir, runs)} == {used.name, f"{used.name}.lock"}
        assert (used / "library").read_bytes() == b"x"
    assert await asyncio.to_thread(os.listdir, runs) == []


async def test_an_error_of_the_bot_in_a_function_is_no_crash_of_the_run(tmp_path: Path) -> None:
    async def fail(name: str, args: JsonObject) -> str:
        raise KeyError(name, args)

    async with sandbox(tmp_path, CALLS + "call()") as opened:
        with pytest.raises(RuntimeError, match="look failed"):
            await opened.run("", (), "ann", functions=Functions(FUNCTIONS.offered, fail))
