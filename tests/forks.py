"""A plugin of pytest: the tests in several processes, forked from the one that has imported and collected everything.

    python -m pytest -p tests.forks --forks 6

With pytest-xdist each process imports and collects for itself. Who hands out is the process that was started: a part is
a few tests of one file. What waits goes first, so that nobody waits for it at the end; two of the processes begin at
the other end, with what computes, so that there is something to do meanwhile. A process that dies fails the test that
it was at, and another one takes its place.
"""

import os
import signal
import sys
import traceback
import warnings
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import UnsupportedOperation
from itertools import groupby
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from tempfile import TemporaryFile
from typing import Any, Final, NoReturn, TypeAlias

import pytest

from tests.fakes.ready_process import serve_ahead
from tests.patience import PATIENCE_S

# Tests of one part. Handing out costs little, but what a file's first test has warmed up is warm for the others.
MOST: Final = 10
FEW: Final = 2  # Tests of a part where each takes seconds
# Here tests wait: for processes, servers and the bot's own pace.
WAITING: Final = ("tests/flows/", "tests/films/", "tests/deploy/")
# Here they compute longest, and what each file prepares is long, too: they are not parted.
LONGEST: Final = ("tests/benchmarks/",)
COMPUTING: Final = 2  # So many processes begin with those

Part: TypeAlias = Sequence[int]  # Places in the list of tests


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, default=0, help="in how many processes, forked after collecting")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    forks: int | None = session.config.getoption("forks")
    if not forks or session.config.getoption("collectonly") or session.testsfailed:
        return None
    if any(item.nodeid.startswith(WAITING) for item in session.items):
        serve_ahead()  # one for all, too
    folders: Any = session.config
    folders._tmp_path_factory.getbasetemp()  # one for all, which this process alone takes away
    _Handing(session, deque(parts_of([item.nodeid for item in session.items]))).run(forks)
    return True


def parts_of(names: Sequence[str]) -> list[Part]:
    """Those that wait first, those that compute longest last."""
    parts: list[Part] = []
    for file, group in groupby(range(len(names)), lambda at: names[at].partition("::")[0]):
        places = [*group]
        most = FEW if file.startswith(WAITING) else len(places) if file.startswith(LONGEST) else MOST
        parts += [places[at : at + most] for at in range(0, len(places), most)]
    return sorted(parts, key=lambda part: _order(names[part[0]]))


def _order(name: str) -> int:
    return 0 if name.startswith(WAITING) else 2 if name.startswith(LONGEST) else 1


# --------------------------------------------------------------------------------------------------
# Who hands out


@dataclass(eq=False)
class _Fork:
    """A process. `open`: what it was given and has not told the end of, oldest first."""

    pid: int
    told: Connection
    last_first: bool
    open: deque[int] = field(default_factory=deque[int])


@dataclass
class _Handing:
    session: pytest.Session
    parts: deque[Part]
    forks: list[_Fork] = field(default_factory=list[_Fork])
    ended: set[int] = field(default_factory=set[int])

    def run(self, forks: int) -> None:
        try:
            for number in range(forks):
                self._fork(last_first=forks - number <= COMPUTING < forks)
            while self.forks:
                self._hear(wait([one.told for one in self.forks]))
        finally:
            self._end()
        if len(self.ended) != len(self.session.items):
            raise RuntimeError(f"{len(self.session.items) - len(self.ended)} tests were not run")

    def _fork(self, *, last_first: bool) -> None:
        ours, theirs = Pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads: numpy's own know about forks
            pid = os.fork()
        if not pid:
            for other in [ours, *(one.told for one in self.forks)]:
                other.close()  # else nobody would see the end of the process that hands out
            _work(self.session, theirs)
        theirs.close()
        self.forks.append(_Fork(pid, ours, last_first))

    def _hear(self, ready: Sequence[object]) -> None:
        for fork in [one for one in self.forks if one.told in ready]:
            try:
                said: tuple[str, Any] = fork.told.recv()
            except (EOFError, ConnectionResetError):
                self._bury(fork)
                continue
            self._follow(fork, *said)
            if self.session.shouldfail:
                raise self.session.Failed(self.session.shouldfail)
            if self.session.shouldstop:
                raise self.session.Interrupted(self.session.shouldstop)

    def _follow(self, fork: _Fork, kind: str, value: Any) -> None:
        hook = self.session.config.hook
        if kind == "next":
            part = (self.parts.pop() if fork.last_first else self.parts.popleft()) if self.parts else ()
            fork.open += part
            with suppress(BrokenPipeError):  # its end is heard next
                fork.told.send(part)
        elif kind == "report":
            report = hook.pytest_report_from_serializable(config=self.session.config, data=value)
            hook.pytest_runtest_logreport(report=report)
        elif kind == "warning":
            hook.pytest_warning_recorded.call_historic(kwargs=value)
        elif kind == "ended":
            self.ended.add(fork.open.popleft())
        else:
            raise RuntimeError(value)

    def _end(self) -> None:
        """Nobody is given more tests, and whoever is at one may end it, and what it has started."""
        self.parts.clear()
        while self.forks and (ready := wait([one.told for one in self.forks], PATIENCE_S)):
            for fork in [one for one in self.forks if one.told in ready]:
                try:
                    if fork.told.recv()[0] == "next":
                        fork.told.send(())
                except (EOFError, ConnectionError):
                    self.forks.remove(fork)
                    os.waitpid(fork.pid, 0)
        for fork in self.forks:
            os.kill(fork.pid, signal.SIGKILL)

    def _bury(self, fork: _Fork) -> None:
        """It is gone: because there was nothing more to do, or in the midst of a test."""
        self.forks.remove(fork)
        fork.told.close()
        _, status = os.waitpid(fork.pid, 0)
        if not fork.open:
            if code := os.waitstatus_to_exitcode(status):
                raise RuntimeError(f"a process of tests ended with {code} after its last test")
            return
        at = fork.open.popleft()
        item, said = self.session.items[at], f"its process ended with {os.waitstatus_to_exitcode(status)}"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", said, "call")
        item.config.hook.pytest_runtest_logreport(report=report)
        self.ended.add(at)
        if fork.open:
            self.parts.append([*fork.open])
        self._fork(last_first=fork.last_first)


# --------------------------------------------------------------------------------------------------
# Who runs tests


@dataclass(eq=False)
class _Telling:
    """Says what pytest reports to the process that hands out."""

    config: pytest.Config
    told: Connection

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        self.told.send(("report", data))

    def pytest_warning_recorded(self, warning_message: Any, when: str, nodeid: str, location: Any) -> None:
        said = {"warning_message": warning_message, "when": when, "nodeid": nodeid, "location": location}
        self.told.send(("warning", said))


def _work(session: pytest.Session, told: Connection) -> NoReturn:
    """In a process of its own, which ends here."""
    code = 1
    try:
        _take_over(session.config)
        session.config.pluginmanager.register(_Telling(session.config, told))
        _run(session, told)
        code = 0
    except BaseException:  # noqa: BLE001 -- told as it is; and if nobody hears it, there is nobody to tell
        with suppress(OSError):
            told.send(("fault", traceback.format_exc()))
    finally:
        os._exit(code)


def _take_over(config: pytest.Config) -> None:
    """Whoever has forked it writes reports. What is captured goes to files of its own, behind the same numbers, because
    modules may have kept `sys.stderr`.
    """
    config.pluginmanager.unregister(name="terminalreporter")
    capturing: Any = config.pluginmanager.getplugin("capturemanager")
    streams = capturing._global_capturing
    for stream in (streams.out, streams.err):
        with suppress(AttributeError, UnsupportedOperation), TemporaryFile() as own:  # there is none with -s
            os.dup2(own.fileno(), stream.tmpfile.fileno(), inheritable=False)


def _run(session: pytest.Session, told: Connection) -> None:
    open_ = deque(_next(told))
    while open_:
        item = session.items[open_.popleft()]
        if not open_:
            open_ += _next(told)
        following = session.items[open_[0]] if open_ else None
        try:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            told.send(("ended", None))
        except BaseException:  # interrupted, or left alone
            item.config.hook.pytest_runtest_teardown(item=item, nextitem=None)
            raise


def _next(told: Connection) -> Part:
    told.send(("next", None))
    return told.recv()
