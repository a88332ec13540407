"""The forgetting log: the keyed hashes of what was forgotten, in a file apart from the database.

Theory of operation
  A database that is restored to an earlier moment holds again what was forgotten since, and has lost the hashes of it.
  The file still has them, so it is forgotten again (`store.forget_again`).
  The transaction that erases stores the hashes (`store.erased_ids`); they are appended to the file after it, before the
  receipt. What a crash in between leaves out is appended at the next start.
  A file that cannot be written keeps nobody from forgetting. The receipt says so, and everything is appended by the
  next write that works.
  A line is a time and a hash; it is written at once, and one that is torn is skipped. Lines "key …" say to which
  database the hashes belong. So processes can share a file, and files can be put together.
"""

import asyncio
import hmac
import logging
import os
import re
from collections import deque
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, select

from agent import texts
from agent.errors import StoreError
from agent.path_errors import unwritable_reason
from store.databases.database import Database
from store.erased_ids import MARK, erased

BATCH: Final = 10_000
# A transaction may end this long after the time that it was given, and the clocks of processes differ.
MARGIN: Final = timedelta(hours=1)
LINE_BYTES: Final = 200  # More than any line of ours has
_LINE: Final = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6})Z ((?:[a-z]{1,20}:)?[0-9a-f]{64})\n")
_KEY: Final = re.compile(rb"key ([0-9a-f]{64})\n")

log = logging.getLogger(__name__)


@dataclass(slots=True)
class ForgettingLog:
    """`key`: of the database's erased ids. `behind`: since when hashes may be missing in the file; None if none are."""

    path: Path
    key: bytes = field(repr=False)
    behind: datetime | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    async def record(self, database: Database, hashes: Collection[str], now: datetime) -> bool:
        """Append hashes that the database has stored, and those that are missing. False if that fails."""
        try:
            async with self.lock:
                if self.behind is not None:
                    await self._catch_up(database, self.behind)
                elif hashes:
                    await asyncio.to_thread(self._append, dict.fromkeys(sorted(hashes), now))
        except (OSError, StoreError) as error:
            self.behind = now if self.behind is None else min(self.behind, now)
            log.error("%s", unusable(self.path, error))  # noqa: TRY400 -- the sentence says all
            return False
        return True

    async def begin(self, database: Database, now: datetime) -> None:
        """Create the file if it does not exist, and append what it lacks. Raises StoreError and OSError."""
        await asyncio.to_thread(self._append, {})
        async with self.lock:
            await self._catch_up(database, await asyncio.to_thread(self._last, now))

    async def unwritten(self, database: Database, now: datetime) -> int:
        """How many hashes of the database the file lacks. Raises StoreError and OSError."""
        since = await asyncio.to_thread(self._last, now)
        known = await asyncio.to_thread(self._since, since)
        return sum([len(batch.keys() - known) async for batch in _recorded(database, since)])

    def lines(self) -> Iterator[Mapping[str, datetime]]:
        """The hashes in the file with their times, in batches. Raises OSError, and StoreError if they are those of
        another database.
        """
        batch = dict[str, datetime]()
        with self.path.open("rb") as file:
            self._check(file.readline(LINE_BYTES))
            while raw := file.readline(LINE_BYTES):
                if raw.startswith(b"key "):
                    self._check(raw)
                elif (found := _LINE.fullmatch(raw)) is not None:
                    batch[found[2].decode()] = datetime.fromisoformat(found[1].decode()).replace(tzinfo=UTC)
                if len(batch) >= BATCH:
                    yield batch
                    batch = {}
        yield batch

    def newest(self) -> Mapping[str, datetime] | None:
        """The last lines of the file, as `lines`; None if there is no file yet."""
        if not self.path.exists():
            return None
        with self.path.open("rb") as file:
            if first := file.readline(LINE_BYTES):
                self._check(first)
            file.seek(max(0, file.seek(0, os.SEEK_END) - BATCH * LINE_BYTES // 2))
            found = deque((line for raw in file if (line := _LINE.fullmatch(raw[:LINE_BYTES])) is not None), BATCH)
        return {line[2].decode(): datetime.fromisoformat(line[1].decode()).replace(tzinfo=UTC) for line in found}

    def _last(self, now: datetime) -> datetime | None:
        """The time of the newest line; None if there is none. A clock may have been wrong."""
        last = max((self.newest() or {}).values(), default=None)
        return None if last is None else min(last, now)

    async def _catch_up(self, database: Database, since: datetime | None) -> None:
        known = await asyncio.to_thread(self._since, since)
        async for batch in _recorded(database, since):
            missing = {hash_: time for hash_, time in batch.items() if hash_ not in known}
            if missing:
                await asyncio.to_thread(self._append, missing)
        self.behind = None

    def _since(self, since: datetime | None) -> set[str]:
        """The hashes in the file from about that time on; None: from any time."""
        oldest = _oldest(since)
        return {hash_ for batch in self.lines() for hash_, time in batch.items() if time >= oldest}

    def _check(self, first: bytes) -> None:
        of = _KEY.fullmatch(first)
        if of is None or not hmac.compare_digest(of[1], self._fingerprint()):
            raise StoreError(texts.FORGETTING_LOG_OF_ANOTHER.format(path=self.path))

    def _append(self, hashes: Mapping[str, datetime]) -> None:
        """Append lines, and sync them to the disk. Raises OSError."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            size = os.lseek(descriptor, 0, os.SEEK_END)
            begin = b"key " + self._fingerprint() + b"\n" if size == 0 else b""
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                begin = b"\n"  # after a line that a full disk has cut
            rest = begin + b"".join(f"{_written(time)} {hash_}\n".encode() for hash_, time in hashes.items())
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _fingerprint(self) -> bytes:
        """What shows that hashes are made with this key, without showing the key."""
        return hmac.new(self.key, b"forgetting log", sha256).hexdigest().encode()


def unusable(path: Path, error: Exception) -> str:
    """Why the log cannot be used, as a sentence."""
    if isinstance(error, StoreError):
        return str(error)
    reason = unwritable_reason(error, path) if isinstance(error, OSError) else error
    return texts.FORGETTING_LOG_UNUSABLE.format(path=path, error=reason)


def _written(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


def _oldest(since: datetime | None) -> datetime:
    return datetime.min.replace(tzinfo=UTC) if since is None else since - MARGIN


async def _recorded(database: Database, since: datetime | None) -> AsyncGenerator[Mapping[str, datetime]]:
    """The hashes that the database has stored from about that time on, in batches."""
    after = ""
    while batch := await database.read_long(_next, _oldest(since), after):
        yield batch
        *_, after = batch  # the last in the order of the database, whatever its collation


def _next(connection: Connection, oldest: datetime, after: str) -> dict[str, datetime]:
    rows = select(erased.c.hash, erased.c.time).where(erased.c.hash > after, erased.c.time >= oldest)
    rows = rows.where(~erased.c.hash.startswith(MARK))
    return {row.hash: row.time for row in connection.execute(rows.order_by(erased.c.hash).limit(BATCH))}
