"""A pytest plugin that runs the tests in several processes, forked from one that has imported and collected everything.

    python -m pytest -p tests.forks --forks 6

With pytest-xdist each process imports and collects for itself. Here the process that was started is the coordinator. It
assigns parts: a few tests of one file. Parts whose tests wait run first, so that they do not delay the end; two of the
processes begin at the other end, with tests that compute, to use the CPU meanwhile. If a process dies, the test that it
ran fails, and a new process replaces it.
"""

import os
import signal
import sys
import traceback
import warnings
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from io import UnsupportedOperation
from itertools import groupby
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from types import SimpleNamespace
from typing import Any, Final, NoReturn, TypeAlias

import pytest

from agent.patterns import compile_all
from tests.fakes.ready_process import serve_ahead
from tests.patience import PATIENCE_S

# Tests of one part. Assigning a part is cheap, but the first test of a file prepares much that its next ones reuse.
PART_TESTS: Final = 10
WAITING_PART_TESTS: Final = 2  # Tests of a part where each takes seconds
# These tests wait: for processes, servers and the bot's own pace.
WAITING: Final = ("tests/flows/", "tests/films/", "tests/deploy/")
# These import the vendors' clients, thousands of modules that take seconds. They run early in the two processes that
# begin with the last parts, so that the others need not import them, too.
VENDORS: Final = ("tests/agent/providers/", "tests/contracts/test_providers.py")
# These compute longest, and the setup of each file takes long, too: a file is one part.
LONGEST: Final = ("tests/benchmarks/",)
# Each of the last tests of these files computes for a minute: a test is one part, and they begin first.
MINUTES: Final = ("tests/benchmarks/test_fact_pairs.py",)
COMPUTING: Final = 2  # Processes that begin with the longest

Part: TypeAlias = Sequence[int]  # Places in the list of tests


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, default=0, help="in how many processes, forked after collecting")


def pytest_collection(session: pytest.Session) -> None:
    """Start the server of ready processes before collecting, which uses one core alone."""
    options = session.config.option
    if options.forks and not options.collectonly and may_wait(session.config.args):
        serve_ahead()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    forks: int | None = session.config.getoption("forks")
    if not forks or session.config.getoption("collectonly") or session.testsfailed:
        return None
    with ExitStack() as stack:
        if any(item.nodeid.startswith(WAITING) for item in session.items):
            serve_ahead()  # one for all processes
            _prepare()
        if any(_takes_postgres(item) for item in session.items):
            from tests.fakes.postgresql import prepared_postgres  # noqa: PLC0415 -- as in `_prepare`

            stack.enter_context(prepared_postgres())
        folders: Any = session.config
        folders._tmp_path_factory.getbasetemp()  # one for all processes, which only this one deletes
        _Coordinator(session, deque(parts_of([item.nodeid for item in session.items]))).run(forks)
    return True


def _takes_postgres(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and "postgres" in item.fixturenames


def _prepare() -> None:
    """Do once what each process would do before its first tests: compile patterns, and migrate new databases."""
    # Not before tests/conftest.py has made all databases share compiled statements.
    from tests.fakes.new_database import lay_database  # noqa: PLC0415 -- see above
    from tests.fakes.store import migrated  # noqa: PLC0415 -- see above

    compile_all()
    migrated()
    with TemporaryDirectory() as folder:
        lay_database(Path(folder) / "new.db")


def may_wait(arguments: Sequence[str]) -> bool:
    """Return whether tests that wait may be among those of these files and folders."""
    return any(one.startswith(WAITING) or folder.startswith(one) for one in arguments for folder in WAITING)


def parts_of(names: Sequence[str]) -> list[Part]:
    """Split the tests into parts: those that wait first, those that compute longest last, before them the vendors'."""
    parts: list[Part] = []
    for file, group in groupby(range(len(names)), lambda at: names[at].partition("::")[0]):
        places = [*group]
        size = WAITING_PART_TESTS if file.startswith(WAITING) else PART_TESTS
        if file.startswith(LONGEST):
            size = 1 if file.startswith(MINUTES) else len(places)
        parts += [places[at : at + size] for at in range(0, len(places), size)]
    return sorted(parts, key=lambda part: -_order(names[part[0]]))


def _order(name: str) -> int:
    kinds = (MINUTES, LONGEST, VENDORS, (), WAITING)
    return next((order for order, names in enumerate(kinds) if name.startswith(names)), 3)


# --------------------------------------------------------------------------------------------------
# The coordinator


@dataclass(eq=False)
class _Fork:
    """A process that runs tests. `unfinished`: the tests that were assigned to it and have not ended, oldest first."""

    pid: int
    pipe: Connection
    last_first: bool
    unfinished: deque[int] = field(default_factory=deque[int])


@dataclass
class _Coordinator:
    session: pytest.Session
    parts: deque[Part]
    forks: list[_Fork] = field(default_factory=list[_Fork])
    ended: set[int] = field(default_factory=set[int])

    def run(self, forks: int) -> None:
        try:
            for number in range(forks):
                self._fork(last_first=forks - number <= COMPUTING < forks)
            while self.forks:
                self._receive(wait([fork.pipe for fork in self.forks]))
        finally:
            self._end()
        if len(self.ended) != len(self.session.items):
            raise RuntimeError(f"{len(self.session.items) - len(self.ended)} tests were not run")

    def _fork(self, *, last_first: bool) -> None:
        parent_end, child_end = Pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads: numpy's threads can handle forks
            pid = os.fork()
        if not pid:
            for pipe in [parent_end, *(fork.pipe for fork in self.forks)]:
                pipe.close()  # else no process would see the coordinator's end
            _work(self.session, child_end)
        child_end.close()
        self.forks.append(_Fork(pid, parent_end, last_first))

    def _receive(self, ready: Sequence[object]) -> None:
        for fork in [fork for fork in self.forks if fork.pipe in ready]:
            try:
                message: tuple[str, Any] = fork.pipe.recv()
            except (EOFError, ConnectionResetError):
                self._remove(fork)
                continue
            self._handle(fork, *message)
            if self.session.shouldfail:
                raise self.session.Failed(self.session.shouldfail)
            if self.session.shouldstop:
                raise self.session.Interrupted(self.session.shouldstop)

    def _handle(self, fork: _Fork, kind: str, value: Any) -> None:
        hook = self.session.config.hook
        if kind == "next":
            part = (self.parts.pop() if fork.last_first else self.parts.popleft()) if self.parts else ()
            fork.unfinished += part
            with suppress(BrokenPipeError):  # the next read notices that the process is gone
                fork.pipe.send(part)
        elif kind == "warning":
            hook.pytest_warning_recorded.call_historic(kwargs=value)
        elif kind == "ended":
            self.ended.add(fork.unfinished.popleft())
            for data in value:
                report = hook.pytest_report_from_serializable(config=self.session.config, data=data)
                hook.pytest_runtest_logreport(report=report)
        else:
            raise RuntimeError(value)

    def _end(self) -> None:
        """Assign no more tests. Each process may end the test that it runs, and what it has started."""
        self.parts.clear()
        while self.forks and (ready := wait([fork.pipe for fork in self.forks], PATIENCE_S)):
            for fork in [fork for fork in self.forks if fork.pipe in ready]:
                try:
                    if fork.pipe.recv()[0] == "next":
                        fork.pipe.send(())
                except (EOFError, ConnectionError):
                    self.forks.remove(fork)
                    os.waitpid(fork.pid, 0)
        for fork in self.forks:
            os.kill(fork.pid, signal.SIGKILL)

    def _remove(self, fork: _Fork) -> None:
        """Remove a process that has ended: it had no more tests, or died while it ran one, which then fails."""
        self.forks.remove(fork)
        fork.pipe.close()
        _, status = os.waitpid(fork.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if not fork.unfinished:
            if code:
                raise RuntimeError(f"a process of tests ended with {code} after its last test")
            return
        at = fork.unfinished.popleft()
        item, reason = self.session.items[at], f"its process ended with {code}"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", reason, "call")
        item.config.hook.pytest_runtest_logreport(report=report)
        self.ended.add(at)
        if fork.unfinished:
            self.parts.append([*fork.unfinished])
        self._fork(last_first=fork.last_first)


# --------------------------------------------------------------------------------------------------
# A process that runs tests


@dataclass(eq=False)
class _Reporter:
    """Sends pytest's reports to the coordinator: those of a test together, as each message takes both some time."""

    config: pytest.Config
    pipe: Connection
    reports: list[object] = field(default_factory=list[object])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.reports.append(self.config.hook.pytest_report_to_serializable(config=self.config, report=report))

    def end_test(self) -> None:
        self.pipe.send(("ended", self.reports))
        self.reports = []

    def pytest_warning_recorded(self, warning_message: Any, when: str, nodeid: str, location: Any) -> None:
        values = {"warning_message": warning_message, "when": when, "nodeid": nodeid, "location": location}
        self.pipe.send(("warning", values))


def _work(session: pytest.Session, pipe: Connection) -> NoReturn:
    """Run tests in this process, and end it."""
    code = 1
    try:
        _redirect_output(session.config)
        reporter = _Reporter(session.config, pipe)
        session.config.pluginmanager.register(reporter)
        _run(session, pipe, reporter)
        code = 0
    except BaseException:  # noqa: BLE001 -- sent as it is; a coordinator that is gone needs no report
        with suppress(OSError):
            pipe.send(("fault", traceback.format_exc()))
    finally:
        os._exit(code)


def _redirect_output(config: pytest.Config) -> None:
    """Leave reports to the coordinator. Captured output goes to files of this process, with the same file descriptors,
    because modules may have stored `sys.stderr`.
    """
    terminal = config.get_terminal_writer()
    config.pluginmanager.unregister(name="terminalreporter")
    # pytest-timeout shows there where a test hangs, before it fails it.
    config.pluginmanager.register(SimpleNamespace(_tw=terminal), "terminalreporter")
    capturing: Any = config.pluginmanager.getplugin("capturemanager")
    streams = capturing._global_capturing
    for stream in (streams.out, streams.err):
        with suppress(AttributeError, UnsupportedOperation), TemporaryFile() as own:  # there is none with -s
            os.dup2(own.fileno(), stream.tmpfile.fileno(), inheritable=False)


def _run(session: pytest.Session, pipe: Connection, reporter: _Reporter) -> None:
    assigned = deque(_next(pipe))
    while assigned:
        item = session.items[assigned.popleft()]
        if not assigned:
            assigned += _next(pipe)
        following = session.items[assigned[0]] if assigned else None
        try:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            reporter.end_test()
        except BaseException:  # interrupted, or the coordinator is gone
            item.config.hook.pytest_runtest_teardown(item=item, nextitem=None)
            raise


def _next(pipe: Connection) -> Part:
    pipe.send(("next", None))
    return pipe.recv()
