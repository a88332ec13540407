"""New database files, at the newest version and without rows: copies of one that the migrations made."""

from pathlib import Path

from store.engine import open_store

_made: list[bytes] = []
"""What such a file holds, once one was made: the migrations take ten times as long as to open it."""


async def new_database(path: Path) -> str:
    """The URL of a new file, or of the one that is there."""
    url = f"sqlite:///{path}"
    if not _made and not path.exists():  # noqa: ASYNC240 -- a test may wait for its disk
        await (await open_store(url)).close()
        _made.append(path.read_bytes())  # noqa: ASYNC240 -- as above
    else:
        _lay(path)
    return url


def _lay(path: Path) -> None:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(0o600)
        path.write_bytes(_made[0])
