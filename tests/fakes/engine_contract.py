"""What every engine that runs Python code does alike: the sandbox, and its double in a process without a boundary."""

from dataclasses import dataclass, replace
from typing import Final

from bot.python.engine import PythonEngine, RunEnded, RunFile


@dataclass(frozen=True, slots=True)
class Case:
    """`ended`: what the run leaves, but for its errors, which end with `error`."""

    name: str
    code: str
    ended: RunEnded
    error: str = ""


GIVEN: Final = (RunFile("a.txt", b"one"), RunFile("gr\u00f6\u00dfen.csv", b"1;2"))
CASES: Final = (
    Case("prints", 'print("a")\nprint("\u00e4")', RunEnded(output="a\n\u00e4\n")),
    Case("prints a last expression", "x = 6\nx * 7", RunEnded(output="42\n")),
    Case("prints a last text as it is", '"a"', RunEnded(output="a\n")),
    Case("prints no None", "None", RunEnded()),
    Case("reads its files", 'open("/files/a.txt").read()', RunEnded(output="one\n")),
    Case(
        "lists its files",
        'import os\nsorted(os.listdir("/files"))',
        RunEnded(output="['a.txt', 'gr\u00f6\u00dfen.csv']\n"),
    ),
    Case(
        "saves in the folder that it starts in",
        'open("b.txt", "w").write("two")\nNone',
        RunEnded(files=(RunFile("b.txt", b"two"),)),
    ),
    Case(
        "saves in folders below",
        'import os\nos.makedirs("/out/d")\nopen("/out/d/e.bin", "wb").write(bytes([0, 255]))\nNone',
        RunEnded(files=(RunFile("d/e.bin", b"\0\xff"),)),
    ),
    Case(
        "keeps what was saved before an error",
        'open("b.txt", "w").close()\n1 / 0',
        RunEnded(failed=True, files=(RunFile("b.txt", b""),)),
        "ZeroDivisionError: division by zero\n",
    ),
    Case(
        "names the line of an error", "def f():\n    raise ValueError(3)\nf()", RunEnded(failed=True), "ValueError: 3\n"
    ),
    Case(
        "is the main module",
        "print(__name__)\nimport __main__\n__main__.__name__",
        RunEnded(output="__main__\n__main__\n"),
    ),
    Case("exits", "import sys\nsys.exit()", RunEnded()),
    Case("exits with an error", "import sys\nsys.exit(3)", RunEnded(failed=True)),
    Case("writes errors", 'import sys\nprint("x", file=sys.stderr)', RunEnded(), "x\n"),
    Case("does nothing", "", RunEnded()),
)


async def check(engine: PythonEngine, case: Case) -> None:
    ended = await engine.run(case.code, GIVEN, "ann")
    assert ended.error.endswith(case.error)
    assert case.error or not ended.error
    assert replace(ended, error="") == case.ended
