"""Starts Python programs in processes that are ready: each is forked from one that has imported the whole product.

A cold start takes a second of CPU, nearly all of it for imports. The process still has its own environment, folder,
standard streams, terminal and signals. What only a cold start and a whole end show (which modules a command imports, in
which order, how long the built-in model for embeddings takes to load, and what the interpreter says while it frees
objects) cannot be tested here.
"""

import asyncio
import atexit
import fcntl
import gc
import importlib
import json
import os
import pickle
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from types import FrameType
from typing import IO, Any, Final, NoReturn

from agent.patterns import compile_all
from agent.providers import static_embeddings
from tests.patience import PATIENCE_S

ROOT: Final = Path(__file__).parents[2]
COMMAND: Final = "import sys; from bot.__main__ import run; sys.exit(run(sys.argv[1:]))"
UNFLUSHED: Final = 120  # The interpreter's exit code if a standard stream cannot be written at the end
_CALL: Final = (
    "import pickle, sys; function, arguments, named = pickle.loads(bytes.fromhex(sys.argv[1])); "
    "function(*arguments, **named)"
)
_SERVE: Final = "import sys; from tests.fakes.ready_process import serve; serve(int(sys.argv[1]))"


def command(folder: Path, environ: Mapping[str, str], *arguments: str, typed: str) -> subprocess.CompletedProcess[str]:
    """Run one `cogency` command to its end."""
    source, sink = os.pipe()
    with TemporaryFile() as out, TemporaryFile() as err:
        with os.fdopen(source, "rb") as given:
            process = ReadyProcess(COMMAND, (given.fileno(), out.fileno(), err.fileno()), environ, folder, arguments)
        with suppress(BrokenPipeError), os.fdopen(sink, "wb") as typing:
            typing.write(typed.encode())
        code = process.wait(PATIENCE_S)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(arguments, code, out.read().decode(), err.read().decode())


def calling(function: Callable[..., object], *arguments: object, **named: object) -> "ReadyProcess":
    """Call a function of a module in a process of its own. What it writes is shown with the test's output."""
    with open(os.devnull, "rb") as null:  # noqa: PTH123 -- no file
        given = pickle.dumps((function, arguments, named)).hex()
        return ReadyProcess(_CALL, (null.fileno(), 2, 2), {"PATH": os.defpath, "LANG": "C.UTF-8"}, ROOT, [given])


@dataclass
class ReadyProcess:
    """A running program. With `terminal` its first stream becomes the terminal of its own session."""

    program: str
    streams: tuple[int, int, int]
    environ: Mapping[str, str]
    folder: Path
    arguments: Sequence[str] = ()
    terminal: bool = False
    _socket: socket.socket = field(init=False)
    pid: int = field(init=False)
    _code: int | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._socket, child_end = socket.socketpair()
        with child_end:
            socket.send_fds(_server(), [b"start"], [child_end.fileno(), *self.streams])
        self._socket.settimeout(PATIENCE_S)
        request = [self.program, [*self.arguments], dict(self.environ), str(self.folder), self.terminal]
        self._socket.sendall(json.dumps(request).encode() + b"\n")
        self.pid = self._line()

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self, patience_s: float) -> int:
        """Return its exit code, negative for a signal; raise TimeoutError if it does not end."""
        if self._code is None:
            self._socket.settimeout(patience_s)
            self._code = self._line()
            self._socket.close()
        return self._code

    def send_signal(self, number: int) -> None:
        if self._code is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _line(self) -> int:
        line = b""
        while not line.endswith(b"\n"):
            piece = self._socket.recv(1)
            assert piece, "the server of ready processes is gone"
            line += piece
        return int(line)


@dataclass
class ReadyService:
    """`cogency run`, with the part of the interface of asyncio's processes that these tests need."""

    stderr: asyncio.StreamReader  # Its standard error, unless that goes to a log
    _process: ReadyProcess
    returncode: int | None = None

    @classmethod
    async def start(cls, folder: Path, environ: Mapping[str, str]) -> "ReadyService":
        stderr = asyncio.StreamReader()
        source, sink = os.pipe()
        with os.fdopen(sink, "wb") as log:
            protocol = asyncio.StreamReaderProtocol(stderr)
            await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(source, "rb"))
            started = await cls.logging(folder, environ, log)
        started.stderr = stderr
        return started

    @classmethod
    async def logging(cls, folder: Path, environ: Mapping[str, str], log: IO[bytes]) -> "ReadyService":
        with open(os.devnull, "r+b") as null:  # noqa: ASYNC230, PTH123 -- opening this file does not block
            streams = (null.fileno(), null.fileno(), log.fileno())
            process = await asyncio.to_thread(ReadyProcess, COMMAND, streams, environ, folder, ["run"])
        return cls(asyncio.StreamReader(), process)

    @property
    def pid(self) -> int:
        return self._process.pid

    def send_signal(self, number: int) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self._process.kill()

    async def wait(self) -> int:
        self.returncode = await asyncio.to_thread(self._process.wait, PATIENCE_S)
        return self.returncode

    async def communicate(self) -> tuple[None, bytes]:
        output = await self.stderr.read()
        await self.wait()
        return None, output


def serve_ahead() -> None:
    """Start the server now, for this process and those that it forks."""
    _server()


@cache
def _server() -> socket.socket:
    """Return a socket to the server: one for all tests of a process, and of those that were forked from it."""
    parent_end, child_end = socket.socketpair()
    with child_end:
        environ = {
            "PATH": os.defpath,
            "LANG": "C.UTF-8",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "agent/public")]),
        }
        server = subprocess.Popen(  # noqa: S603 -- our own interpreter
            [sys.executable, "-c", _SERVE, str(child_end.fileno())],
            cwd=ROOT,
            env=environ,
            pass_fds=[child_end.fileno()],
        )

    def end() -> None:
        parent_end.close()
        server.wait(PATIENCE_S)

    atexit.register(end)
    return parent_end


# --------------------------------------------------------------------------------------------------
# The server


def serve(number: int) -> None:
    """Import everything, then fork at each request, until no client is left."""
    listener = socket.socket(fileno=number)
    for package in ("agent", "store", "bot"):
        for found in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if ".versions" not in found.name and not found.name.endswith(".env"):
                importlib.import_module(found.name)
    for name in ("alembic.command", "sqlalchemy.dialects.postgresql.asyncpg"):
        importlib.import_module(name)
    compile_all()  # as each process that answers questions does at its start
    if static_embeddings.is_installed():
        static_embeddings.load()  # as each process does that looks for a meaning: it takes a second of CPU
    importlib.import_module("tests.flows.crash_server")  # for those that are killed, of which there are hundreds
    gc.collect()
    gc.freeze()
    _serve_forks(listener)


def _serve_forks(listener: socket.socket) -> None:
    """Fork a program at each request, and report its end. There is no process in between: to fork one that has imported
    everything, and to end it, takes as long as a short command.
    """
    running: dict[int, socket.socket] = {}  # The clients, by the process id of their programs
    ended, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _only_wake)
    while True:
        ready, _, _ = select.select([listener, ended], [], [])
        if ended in ready:
            ended.recv(1 << 16)
            _report_ends(running)
        if listener not in ready:
            continue
        message, streams, _, _ = socket.recv_fds(listener, len(b"start"), 4)
        if not message:
            return
        client = socket.socket(fileno=streams[0])
        with client.makefile("rb") as reading:
            request = reading.readline()
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for one in (listener, ended, wake, client, *running.values()):
                one.close()
            _become(streams[1:], *json.loads(request))
        for stream in streams[1:]:
            os.close(stream)
        running[pid] = client
        _tell(client, pid)


def _only_wake(number: int, frame: FrameType | None) -> None:
    """Handle a signal whose number is in the wake-up pipe; one without a handler would not be there."""


def _report_ends(running: dict[int, socket.socket]) -> None:
    """Send the exit codes of all programs that have ended."""
    with suppress(ChildProcessError):  # there is none left
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with running.pop(ended[0]) as client:
                _tell(client, os.waitstatus_to_exitcode(ended[1]))


def _tell(client: socket.socket, number: int) -> None:
    with suppress(OSError):  # the client is gone
        client.sendall(f"{number}\n".encode())


def _become(  # as `python -c` sets it up
    streams: list[int], program: str, arguments: list[str], environ: dict[str, str], folder: str, terminal: bool
) -> None:
    if terminal:
        os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if terminal:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(folder)
    os.environ.clear()  # noqa: TID251 -- the environment of a new process
    os.environ.update(environ)  # noqa: TID251 -- the environment of a new process
    sys.argv = ["-c", *arguments]
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 -- open until the process ends
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 -- open until the process ends
    sys.stderr = open(2, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115 -- open until the process ends
    try:
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 -- a test's own program
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):  # a text, which the interpreter prints
            raise
        _end(ended.code or 0)
    _end(0)


def _end(code: int) -> NoReturn:
    """End as an interpreter does, but leave the memory to the system: to free each object of the whole product takes
    five times as long as the start.
    """
    internals: Any = threading
    internals._shutdown()
    exits: Any = atexit
    exits._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or UNFLUSHED
    os._exit(code)
