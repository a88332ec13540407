"""The port of what runs Python code: code, files and functions in, output and files out.

Rules
  The code comes from a model that reads other people's texts, so it may be anybody's. It sees the files of its run and
  nothing else: no file, variable or process of the bot's machine, and no network.
  Whatever the code does, a run ends in time and within `RunLimits`, and the event loop goes on meanwhile.
  A cancelled run has ended, with all of its processes, when the cancellation is raised.
  Code can call the functions that it is given as `from host import tools; tools.NAME(…)`. They run in the bot, which
  trusts neither their number nor their arguments.
  Runs share nothing but the files that they are given: what a run leaves is in `RunEnded`.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol, TypeAlias

from agent.errors import CogencyError, ToolError
from agent.messages import JsonObject

FILES: Final = "/files"  # The folder of the files that a run is given; the code cannot write there
OUT: Final = "/out"  # The folder whose files come back. The code starts in it, and finds those of earlier runs there


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """The limits of one run, all of them."""

    seconds: float = 30.0
    """By the clock. A person waits for it; charts of a large table take three seconds."""
    memory_bytes: int = 512 * 1024 * 1024
    """Of the code and its data: a table of a million rows fits."""
    output_bytes: int = 1_000_000
    """Printed, and again of errors. The model is shown the beginning."""
    code_chars: int = 100_000
    given_bytes: int = 50_000_000
    """Of all files that a run is given."""
    out_bytes: int = 20_000_000
    """Of all files in `OUT`, besides those of earlier runs that stay as they are."""
    scratch_bytes: int = 60_000_000
    """Of all files elsewhere: caches of libraries, and what the code puts into temporary folders."""
    entries: int = 1_000
    """Files and folders that the code makes or changes."""
    out_entries: int = 200
    """Those among them in `OUT`: far more than go with an answer."""
    file_calls: int = 20_000
    """Questions about files, reads and writes."""
    open_files: int = 256
    function_calls: int = 100
    """Calls of functions."""
    function_seconds: float = 120.0
    """That the code waits for functions, beside `seconds`: forty channels are read in a minute."""
    argument_bytes: int = 100_000
    """Of the arguments of one call, as JSON."""
    at_once: int = 2
    """Runs of this process at a time: each takes a core. One person's runs wait for each other."""
    per_turn: int = 20
    """Runs for one question."""


@dataclass(frozen=True, slots=True)
class RunFile:
    """A file in `FILES` or `OUT`. `name`: its path there, such as "chart.png" or "2026/july.csv"."""

    name: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Function:
    """A function that code can call. `name`: a name in Python, unique; `schema`: JSON Schema of its arguments."""

    name: str
    description: str
    schema: JsonObject


# Calls a function by its name. Returns its text. Raises ToolError with a sentence for the code.
CallFunction: TypeAlias = Callable[[str, JsonObject], Awaitable[str]]


async def _call_nothing(name: str, args: JsonObject) -> str:  # noqa: ARG001 -- there is none
    raise ToolError(f"there is no function {name}", ours=True)


@dataclass(frozen=True, slots=True)
class Functions:
    """What a run can call, and how it is called."""

    offered: tuple[Function, ...] = ()
    call: CallFunction = _call_nothing


NO_FUNCTIONS: Final = Functions()


class Limit(StrEnum):
    """The limit that ended a run. Beyond the others the code gets an exception: MemoryError, or OSError for files."""

    TIME = "time"
    FILE_CALLS = "file calls"
    CRASH = "crash"
    """The interpreter itself broke, for example by endless recursion in a library."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """What a run left. `output`: what it printed; `error`: the traceback, and other lines on its standard error.

    `is_cut`: more was printed than `RunLimits.output_bytes`. `failed`: the code raised an exception, or asked to exit
    with an error. `limit`: what ended it early; None: it ended by itself. `files`: what it wrote in `OUT`; `removed`:
    the names of earlier files that it removed from there.
    """

    output: str = ""
    error: str = ""
    is_cut: bool = False
    failed: bool = False
    limit: Limit | None = None
    files: tuple[RunFile, ...] = ()
    removed: tuple[str, ...] = ()


class EngineUnavailable(CogencyError):
    """No code can run now. The text is a sentence for the model and its person."""


class PythonEngine(Protocol):
    """Runs Python code for people."""

    async def run(
        self,
        code: str,
        files: Sequence[RunFile],
        person: str,
        begun: Callable[[], None] = lambda: None,
        functions: Functions = NO_FUNCTIONS,
        earlier: Sequence[RunFile] = (),
    ) -> RunEnded:
        """Run the code. `person`: the id of who asked, for turns in a fair order. `begun`: called when it begins.
        `earlier`: the files that are in `OUT` from the beginning.

        Raises EngineUnavailable if no code can run now, and what `functions.call` raises beside ToolError.
        """
        ...
