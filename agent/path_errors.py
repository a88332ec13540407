"""Why a file that an operator named cannot be written, in words.

The system's own words are right for most errors. They mislead where they speak of another path than the named one: a
folder that cannot be created because a file has the name of one of its parents "exists", and a file in /proc "does not
exist" when it is to be created.
"""

import errno
from pathlib import Path

from agent import texts

_SYSTEM: tuple[Path, ...] = (Path("/proc"), Path("/sys"))  # Root may write there, but nobody can create files


def nearest_existing(path: Path) -> Path:
    """Return the path, or the nearest of its parents that exists. Raises OSError."""
    return next(place for place in (path, *path.absolute().parents) if place.exists())


def unwritable_reason(error: OSError, path: Path) -> str:
    """Return the reason, without a full stop."""
    try:
        existing = nearest_existing(path)
    except OSError:
        return _words(error)
    if error.errno in {errno.ENOTDIR, errno.EEXIST} and existing != path and not existing.is_dir():
        return texts.NOT_A_FOLDER.format(path=existing)
    is_creation = error.errno in {errno.ENOENT, errno.EPERM, errno.EACCES, errno.EINVAL}
    if is_creation and is_system_folder(existing):
        return texts.TAKES_NO_FILES.format(path=existing)
    return texts.FILE_TOO_LARGE if error.errno == errno.EFBIG else _words(error)


def is_system_folder(place: Path) -> bool:
    """Return whether this is a folder of the kernel's own file systems."""
    real = place.resolve()
    return place.is_dir() and any(real.is_relative_to(root) for root in _SYSTEM)


def _words(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
