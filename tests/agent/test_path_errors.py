"""The reason why a file cannot be written is the true one."""

import errno
import os
from pathlib import Path

import pytest

from agent.path_errors import unwritable_reason

IN_PROC = pytest.mark.skipif(not Path("/proc/self").exists(), reason="only Linux has /proc")


def reason_of(path: Path, *, folder: bool = False) -> str:
    with pytest.raises(OSError, match=r"\[Errno") as failed:
        path.parent.mkdir(parents=True, exist_ok=True) if folder else path.touch(exist_ok=False)
    return unwritable_reason(failed.value, path)


@pytest.mark.parametrize("folder", [True, False])
def test_a_parent_that_is_a_file_is_named(tmp_path: Path, *, folder: bool) -> None:
    file = tmp_path / "file"
    file.touch()
    assert reason_of(file / "a.db", folder=folder) == f"{file} is not a folder"
    assert reason_of(file / "b" / "a.db", folder=folder) == f"{file} is not a folder"


@IN_PROC
@pytest.mark.parametrize("folder", [True, False])
def test_a_file_system_that_takes_no_files_is_named(*, folder: bool) -> None:
    assert reason_of(Path("/proc/cogency/a.db"), folder=folder) == "files cannot be created in /proc"
    assert reason_of(Path("/proc/a.db")) == "files cannot be created in /proc"


@pytest.mark.parametrize(
    "code",
    [
        errno.EACCES,
        errno.EDQUOT,
        errno.EINVAL,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOSPC,
        errno.EROFS,
    ],
)
def test_other_errors_have_the_words_of_the_system(tmp_path: Path, code: int) -> None:
    assert unwritable_reason(OSError(code, os.strerror(code)), tmp_path / "a.db") == os.strerror(code)


def test_a_file_beyond_a_limit_need_not_be_large(tmp_path: Path) -> None:
    too_large = OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    reason = unwritable_reason(too_large, tmp_path / "a.db")
    assert reason == "the file would exceed a size limit of the disk or process"


def test_a_name_that_no_system_takes_has_a_reason_too(tmp_path: Path) -> None:
    assert reason_of(tmp_path / ("a" * 5_000)) == os.strerror(errno.ENAMETOOLONG)
    assert unwritable_reason(OSError("no number"), tmp_path / "a.db") == "no number"
