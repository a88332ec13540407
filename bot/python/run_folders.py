"""The temporary folders of runs: each is removed with its run, and by the next start if this process was killed.

Theory. A run's process copies the interpreter's library, 55 MB, and removes the copy at its end, but not if it is
killed. So each run has a folder of its own, beside a file that is locked as long as the folder is needed. A lock ends
with its process, however that ends: a folder whose file can be locked belongs to nobody. Several bots of one user may
share the cache.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from filelock import BaseFileLock, FileLock, Timeout

from bot.chat.processes import complete

LOCK: Final = ".lock"


@asynccontextmanager
async def folder_of_run(parent: Path) -> AsyncGenerator[Path]:
    """Yield an empty folder in `parent`; remove it afterwards. Raises OSError."""
    folder, lock = await complete(asyncio.to_thread(_make, parent))
    try:
        yield folder
    finally:
        await complete(asyncio.to_thread(_remove, folder, lock))


def remove_stale(parent: Path) -> None:
    """Remove the folders in `parent` that no run needs any more."""
    with suppress(OSError):  # it does not exist yet, or cannot be read: then there is nothing to remove
        for folder in [entry for entry in parent.iterdir() if entry.is_dir() and not entry.is_symlink()]:
            lock = _lock_of(folder)
            with suppress(Timeout):
                lock.acquire(timeout=0)
                _remove(folder, lock)


def _make(parent: Path) -> tuple[Path, BaseFileLock]:
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(suffix=LOCK, dir=parent)
    os.close(descriptor)
    folder = Path(name.removesuffix(LOCK))
    lock = _lock_of(folder)
    lock.acquire()  # before the folder is there, so that nobody finds it without its lock
    folder.mkdir(mode=0o700)
    return folder, lock


def _lock_of(folder: Path) -> BaseFileLock:
    return FileLock(f"{folder}{LOCK}", thread_local=False)


def _remove(folder: Path, lock: BaseFileLock) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    lock.release()
    with suppress(OSError):
        Path(lock.lock_file).unlink()
