"""What every engine that runs Python code does alike: the sandbox, and its double in a process without a boundary."""

import json
from dataclasses import dataclass, replace
from typing import Final

from agent.errors import ToolError
from agent.messages import JsonObject
from bot.python.engine import Function, Functions, PythonEngine, RunEnded, RunFile


@dataclass(frozen=True, slots=True)
class Case:
    """`ended`: what the run leaves, but for its errors, which end with `error`."""

    name: str
    code: str
    ended: RunEnded
    error: str = ""


EARLIER: Final = (RunFile("old.txt", b"old"), RunFile("past/deep.txt", b"deep"))
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
        "finds the files of earlier runs where they were saved",
        'import os\nopen("/out/old.txt").read(), open("/out/past/deep.txt").read(), sorted(os.listdir("/out"))',
        RunEnded(output="('old', 'deep', ['old.txt', 'past'])\n"),
    ),
    Case(
        "leaves a file of an earlier run that it changed",
        'open("/out/old.txt", "a").write("er")\nNone',
        RunEnded(files=(RunFile("old.txt", b"older"),)),
    ),
    Case(
        "removes and renames files of earlier runs",
        'import os\nos.remove("/out/past/deep.txt")\nos.rename("/out/old.txt", "/out/new.txt")\nNone',
        RunEnded(files=(RunFile("new.txt", b"old"),), removed=("old.txt", "past/deep.txt")),
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
    Case(
        "calls a function by name and by position",
        'from host import tools\nprint(tools.look(query="boat"), tools.look("car", 3))',
        RunEnded(output='look {"query": "boat"} look {"limit": 3, "query": "car"}\n'),
    ),
    Case(
        "calls a function often",
        'from host import tools\nlen({tools.look(f"boat {n}") for n in range(40)})',
        RunEnded(output="40\n"),
    ),
    Case(
        "gets what a function refuses as an error",
        'from host import tools\ntry:\n    tools.refuse(text="x")\nexcept Exception as error:\n    print(error)',
        RunEnded(output="never\n"),
    ),
    Case("ends with such an error", 'from host import tools\ntools.refuse(text="x")', RunEnded(failed=True), "never\n"),
    Case(
        "knows no other function",
        "from host import tools\ntry:\n    tools.other()\nexcept AttributeError:\n    print(1)",
        RunEnded(output="1\n"),
    ),
    Case(
        "shows what a function does",
        "from host import tools\ntools.look.__doc__.splitlines()[0]",
        RunEnded(output="Look it up\n"),
    ),
)
LOOK: Final[JsonObject] = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["query"],
    "additionalProperties": False,
}
REFUSE: Final[JsonObject] = {"type": "object", "properties": {"text": {"$ref": "#/none"}}}


async def call(name: str, args: JsonObject) -> str:
    if name == "refuse":
        raise ToolError("never")
    return f"{name} {json.dumps(args, sort_keys=True)}"


FUNCTIONS: Final = Functions((Function("look", "Look it up", LOOK), Function("refuse", "Say no", REFUSE)), call)


async def check(engine: PythonEngine, case: Case) -> None:
    ended = await engine.run(case.code, GIVEN, "ann", functions=FUNCTIONS, earlier=EARLIER)
    assert ended.error.endswith(case.error)
    assert case.error or not ended.error
    assert replace(ended, error="") == case.ended
