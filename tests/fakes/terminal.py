"""A real pseudo-terminal with a Python program on it, for behaviour that needs one: keys that are signals, echo."""

import codecs
import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.fakes.ready_process import ReadyProcess
from tests.patience import LOOK_S, PATIENCE_S

ROOT = Path(__file__).parents[2]
CTRL_C = "\x03"

_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\x1b[=>()][0-9A-Za-z]?")
# A signal key reaches only the session that owns the terminal, so the program starts a session first. It also restores
# Ctrl-C, in case the tests run in the background of a shell, which lets its children ignore that signal.
_OWN_TERMINAL = (
    "import fcntl, signal, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
)


class FakeTerminal:
    """Runs `program`, Python source, on a terminal of `width` by `height`. Use it in a `with`."""

    def __init__(self, program: str, width: int = 80, height: int = 24, fresh: bool = False, /, **environ: str) -> None:
        """`fresh`: in an interpreter that has imported nothing yet."""
        self.written = ""
        # The output as it arrived, each piece with its time on `time.perf_counter`.
        self.pieces: list[tuple[float, str]] = []
        self._waited = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        environment = {
            "PATH": os.defpath,
            "HOME": str(ROOT),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "PROMPT_TOOLKIT_NO_CPR": "1",  # this terminal does not answer questions about its cursor
            **environ,
        }
        self._process: subprocess.Popen[bytes] | ReadyProcess
        if fresh:
            command = [sys.executable, "-c", _OWN_TERMINAL + program]
            self._process = subprocess.Popen(  # noqa: S603 -- our own interpreter
                command, cwd=ROOT, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=environment
            )
        else:
            self._process = ReadyProcess(program, (slave, slave, slave), environment, ROOT, terminal=True)
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait(PATIENCE_S)
        os.close(self._master)

    def terminate(self) -> None:
        """Send SIGTERM, as a supervisor or `kill` does."""
        self._process.terminate()

    def type(self, keys: str) -> None:
        if CTRL_C in keys:
            self._until_it_sleeps()
        os.write(self._master, keys.encode())

    def _until_it_sleeps(self) -> None:
        """Wait until the program does nothing, where the system has `/proc`. Python's `input` shows its prompt before
        it waits for keys, and a signal between the two is noticed only with the next key.
        """
        deadline = time.perf_counter() + PATIENCE_S
        with suppress(OSError):
            while _state(self._process.pid) != "S":
                assert time.perf_counter() < deadline, "the program never waited for a key"
                self._read(time.perf_counter() + LOOK_S)

    def until(self, text: str, patience_s: float = PATIENCE_S) -> str:
        """Wait until `text` is shown; return the output since the last wait, up to and with `text`."""
        deadline = time.perf_counter() + patience_s
        while (found := self.shown.find(text, self._waited)) < 0:
            assert self._read(deadline), f"{text!r} never came; shown was: {self.shown[self._waited :]!r}"
        before, self._waited = self._waited, found + len(text)
        return self.shown[before : self._waited]

    def watch(self, seconds: float) -> None:
        """Read all output within this time."""
        deadline = time.perf_counter() + seconds
        while self._read(deadline):
            pass

    def ended(self) -> int:
        """Wait for the program's end; return its exit code."""
        deadline = time.perf_counter() + PATIENCE_S
        while self._read(deadline):
            pass
        return self._process.wait(PATIENCE_S)

    @property
    def shown(self) -> str:
        """Return all output so far, without control sequences."""
        return _CONTROL.sub("", self.written)

    def _read(self, deadline: float) -> bool:
        """Read the program's output; return False if it has ended or the time is over."""
        ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.perf_counter()))
        if not ready:
            return False
        try:
            chunk = os.read(self._master, 65_536)
        except OSError:  # Linux raises EIO when no process has the other end open
            return False
        text = self._decoder.decode(chunk)
        self.written += text
        self.pieces.append((time.perf_counter(), text))
        return bool(chunk)


def _state(process: int) -> str:
    """Return the state of a process's main thread, such as S if it sleeps; raise OSError if it is gone."""
    return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
