"""Runs `cogency run` and traces it from a mention's arrival until its answer is stored; for `benchmarks.mention_path`.

    python -m benchmarks.mention_tracer QUESTION ANSWER RESULT

This module knows nothing of the product by name but its command and its packages, so that the rest may be renamed. A
profile function sees the start of each function; SQLAlchemy reports each statement with its values. SIGUSR1 starts the
trace, and "watching" is printed. The trace ends with the first INSERT whose values contain the text ANSWER: then the
file RESULT is written, and "done" is printed.

Theory of operation
  The chain of calls is the stack at the first INSERT whose values contain the text QUESTION. Each function's caller is
  recorded when it starts: the nearest function of the product in the stack, which contains all coroutines that await
  the running one. Two gaps are closed: a task is called by the function that created it, and a thread that works for
  the loop by the deepest waiting function of the package in which the thread's own stack starts.
  Functions that started before the trace (the reader of the socket, the loops of the workers) were not called by the
  mention, so the chain starts below them. Each call of such a loop starts an errand, with all that it calls, makes a
  task or gives to a thread. An errand belongs to the mention if it is the first that gets the text QUESTION, or if one
  of its INSERTs contains the text QUESTION or ANSWER; all others (pings, sweeps, jobs) belong to the process, and are
  left out.
"""

import asyncio
import dis
import inspect
import json
import signal
import sys
import threading
from collections.abc import Coroutine, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor, thread
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, cast

import greenlet
from sqlalchemy import Engine, event

from benchmarks.house_code import PACKAGES, ROOT, Call
from bot.__main__ import run

RESUME: Final = dis.opmap["RESUME"]
_STEP: Final = asyncio.Handle._run.__code__  # noqa: SLF001  # pyright: ignore -- as below


_SUBMIT: Final = ThreadPoolExecutor.submit.__code__
_WORK: Final = thread._WorkItem.run.__code__  # noqa: SLF001  # pyright: ignore -- as below


# The types that may contain the incoming question, and can be searched without calling other code.
_DATA: Final = frozenset({str, bytes, dict, list, tuple})


@dataclass(slots=True, eq=False)
class _Errand:
    """A call of a function that started before the trace, with everything that it calls."""

    is_mentions: bool = False


class Watch:
    """Traces the functions that a mention enters in the packages below `root`."""

    def __init__(self, question: str, answer: str, result: Path, root: Path = ROOT) -> None:
        self._root = root
        self._folders = tuple(f"{root / package}/" for package in PACKAGES)
        self._question = question
        self._answer = answer
        self._result = result
        self._watching = False
        self._loop: asyncio.AbstractEventLoop | None = None
        # Every frame that started during the trace, with its caller. All are kept until the end, as the identity of a
        # freed frame could be used again.
        self._callers: dict[FrameType, FrameType | None] = {}
        self._makers: dict[asyncio.Task[Any], FrameType | None] = {}
        self._errands: dict[FrameType, _Errand] = {}
        # Functions given to threads, by the identity of the function, with the frame that gave them.
        self._given: dict[int, _Errand] = {}
        self._is_told = False
        self._chain: list[Call] = []
        self._in_thread = 0

    def begin(self, *_: object) -> None:
        self._watching = True
        print("watching", flush=True)

    def see(self, frame: FrameType, happened: str, _: object) -> None:
        """The profile function of every thread."""
        if happened != "call":
            return
        if self._watching and frame.f_code is _SUBMIT and (giver := self._nearest(frame.f_back)) is not None:
            self._given[id(frame.f_locals["fn"])] = self._errands[giver]
        if not self._is_product(frame):
            return
        if self._loop is None and threading.current_thread() is threading.main_thread():
            self._follow_tasks()
        if self._watching and _begins(frame):
            caller = self._caller(frame)
            self._callers[frame] = caller
            self._errands[frame] = self._errand(frame) if caller is None else self._errands[caller]

    def execute(self, _connection: object, _cursor: object, statement: str, values: object, *_: object) -> None:
        """SQLAlchemy's event before_cursor_execute."""
        if not self._watching or not statement.startswith("INSERT"):
            return
        stored = repr(values)
        if self._question in stored or self._answer in stored:
            self._claim(self._nearest(inspect.currentframe()))
        if not self._chain and self._question in stored:
            self._chain = self._chain_to(inspect.currentframe())
        if self._answer in stored:
            self._end()

    def _end(self) -> None:
        self._watching = False
        theirs = (frame for frame in self._callers if self._errands[frame].is_mentions)
        entered = dict.fromkeys(self._call(frame) for frame in theirs if _is_function(frame.f_code))
        functions, chain = [asdict(call) for call in entered], [asdict(call) for call in self._chain]
        found = {"functions": functions, "chain": chain, "in_thread": self._in_thread}
        self._result.write_text(json.dumps(found), encoding="utf-8")
        print("done", flush=True)

    def _follow_tasks(self) -> None:
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._loop.set_task_factory(self._task)

    def _task(
        self,
        loop: asyncio.AbstractEventLoop,
        work: Coroutine[Any, Any, Any] | Generator[Any, Any, Any],
        **options: Any,  # noqa: ANN401 -- what asyncio gives
    ) -> asyncio.Task[Any]:
        task = asyncio.Task(cast("Coroutine[Any, Any, Any]", work), loop=loop, **options)
        if self._watching:
            self._makers[task] = self._nearest(inspect.currentframe())
        return task

    def _caller(self, frame: FrameType) -> FrameType | None:
        above = next((one for one in _stack(frame.f_back) if self._is_product(one)), None)
        if above is None and (task := _current_task()) is not None:
            return self._makers.get(task)
        return above if above in self._callers else None

    def _nearest(self, frame: FrameType | None) -> FrameType | None:
        """Return the innermost frame of the stack that started during the trace."""
        return next((one for one in _stack(frame) if one in self._callers), None)

    def _chain_to(self, frame: FrameType | None) -> list[Call]:
        """Return the chain from the first function that the event called down to this frame."""
        chain = self._above(self._nearest(frame))
        if chain and threading.current_thread() is not threading.main_thread():
            self._in_thread = len(chain)
            package = self._package(chain[0])
            waiting = [self._above(one) for one in self._waiting() if self._package(one) == package]
            above = max([[], *waiting], key=len)
            self._claim(above[-1] if above else None)
            chain = above + chain
        return [self._call(frame) for frame in chain]

    def _errand(self, frame: FrameType) -> "_Errand":
        """Return the errand of a function without a caller since the start of the trace."""
        run = next((one for one in _stack(frame.f_back) if one.f_code is _WORK), None)
        work = None if run is None else getattr(run.f_locals.get("self"), "fn", None)
        errand = self._given.get(id(work)) or _Errand()
        given: list[object] = [value for value in frame.f_locals.values() if type(value) in _DATA]
        if not self._is_told and self._question in repr(given):
            self._is_told = errand.is_mentions = True
        return errand

    def _claim(self, frame: FrameType | None) -> None:
        if frame is not None:
            self._errands[frame].is_mentions = True

    def _above(self, frame: FrameType | None) -> list[FrameType]:
        chain: list[FrameType] = []
        while frame is not None:
            if _is_function(frame.f_code):
                chain.append(frame)
            frame = self._callers[frame]
        return chain[::-1]

    def _is_product(self, frame: FrameType) -> bool:
        return frame.f_code.co_filename.startswith(self._folders)

    def _package(self, frame: FrameType) -> str:
        return Path(frame.f_code.co_filename).relative_to(self._root).parts[0]

    def _call(self, frame: FrameType) -> Call:
        code = frame.f_code
        return Call(Path(code.co_filename).relative_to(self._root).as_posix(), code.co_qualname, code.co_firstlineno)

    def _waiting(self) -> Iterator[FrameType]:
        """Yield the frame in which each task of the loop waits, and that of the loop's own thread."""
        threads = sys._current_frames()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- there is no public function
        ends = [self._nearest(threads.get(threading.main_thread().ident or 0))]
        for task in asyncio.all_tasks(self._loop):
            frames = [frame for frame in _suspended(task.get_coro()) if frame in self._callers]
            ends.append(frames[-1] if frames else None)
        return (end for end in ends if end is not None)


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # there is no loop
        return None


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the frames outwards up to the loop's step, also out of a greenlet, in which SQLAlchemy runs code."""
    here: greenlet.greenlet | None = greenlet.getcurrent()
    while here is not None:
        while frame is not None:
            if frame.f_code is _STEP:
                return
            yield frame
            frame = frame.f_back
        here = here.parent
        frame = None if here is None else here.gr_frame


def _suspended(work: object) -> Iterator[FrameType]:
    """Yield the frames of a waiting coroutine, from its own to the innermost."""
    while True:
        if inspect.iscoroutine(work):
            frame, work = work.cr_frame, work.cr_await
        elif inspect.isgenerator(work):
            frame, work = work.gi_frame, work.gi_yieldfrom
        else:
            return
        if frame is not None:
            yield frame


def _begins(frame: FrameType) -> bool:
    """Whether this is the start of a function, and not the resumption of a generator or a coroutine."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at] != RESUME or not code[at + 1] & 3


def _is_function(code: CodeType) -> bool:
    """Whether this is a function: not the body of a module or class, nor a comprehension (newer Pythons inline it)."""
    return bool(code.co_flags & inspect.CO_OPTIMIZED) and (code.co_name == "<lambda>" or code.co_name[0] != "<")


def main() -> None:
    question, answer, result = sys.argv[1:]
    watch = Watch(question, answer, Path(result))
    event.listen(Engine, "before_cursor_execute", watch.execute)
    signal.signal(signal.SIGUSR1, watch.begin)
    threading.setprofile(watch.see)
    sys.setprofile(watch.see)
    sys.exit(run(["run"]))


if __name__ == "__main__":
    main()
