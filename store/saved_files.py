"""The files that code saved (`agent.ports.saved_files`), and the messages that each was made from.

Rules
  A file without one of its sources is never read, and the next save in its conversation deletes it: whatever deletes a
  message takes the file along.
  A job of the conversation deletes its files when they have not been used for a while; so without files there is no
  job, and they go even if code is switched off.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from agent.memory.audience import NOWHERE, WIDE
from agent.memory.forgetting_plans import IDLE_FILES
from agent.ports.saved_files import IDLE, MAX_BYTES, MAX_SAVED, FileChanges, FileSource, ListedFile, SavedFile
from store import job_queue
from store.databases.database import SqlStore, in_order, reads_long, row_id, storable, writes
from store.file_tables import saved_file, saved_file_source
from store.json_columns import json_text, read_ids, write_ids
from store.json_lists import ids_in
from store.message_tables import message
from store.search.passages import document

_SOURCES: Final = (
    sa.select(sa.func.count())
    .where(saved_file_source.c.file == saved_file.c.id)
    .correlate(saved_file)
    .scalar_subquery()
)
WHOLE: Final = saved_file.c.sources == _SOURCES
"""The condition that all messages exist that a file was made from."""


def readable(
    connection: sa.Connection, conversation: str, audiences: frozenset[str], person: str, now: datetime
) -> list[SavedFile]:
    flows = sa.or_(
        saved_file.c.drawn_from == WIDE,
        saved_file.c.drawn_from.in_(sorted(audiences)),
        sa.and_(saved_file.c.person == person, saved_file.c.drawn_from != NOWHERE),
    )
    here = sa.and_(saved_file.c.conversation == conversation, saved_file.c.audience.in_(sorted(audiences)), flows)
    found = sa.select(saved_file).where(here, WHOLE, saved_file.c.used > now - IDLE)
    rows = connection.execute(found.order_by(saved_file.c.id.desc())).mappings().all()
    sources = _sources_of(connection, [row["id"] for row in rows])
    return [
        SavedFile(
            row["id"],
            row["name"],
            bytes(row["data"]),
            row["audience"],
            row["drawn_from"],
            tuple(sources.get(row["id"], ())),
            tuple(sorted(read_ids(row["documents"]))),
            row["call"],
        )
        for row in rows
    ]


def of_person(
    connection: sa.Connection, person: str, audiences: frozenset[str], now: datetime, limit: int, max_bytes: int
) -> list[ListedFile]:
    usable = saved_file.c.audience.in_(sorted(audiences)), saved_file.c.drawn_from.in_([WIDE, *sorted(audiences)])
    columns = [saved_file.c[name] for name in ("id", "conversation", "name", "audience", "saved", "size")]
    found = sa.select(*columns).where(saved_file.c.person == person, *usable, WHOLE, saved_file.c.used > now - IDLE)
    listed, left = list[ListedFile](), max_bytes
    for row in connection.execute(found.order_by(saved_file.c.id.desc()).limit(max(limit, 0))).all():
        data = None
        if row.size <= left:
            left -= row.size
            data = bytes(connection.execute(sa.select(saved_file.c.data).where(saved_file.c.id == row.id)).scalar_one())
        listed.append(ListedFile(row.conversation, row.name, row.audience, row.saved, row.size, data))
    return listed


def _sources_of(connection: sa.Connection, ids: Collection[int]) -> Mapping[int, list[FileSource]]:
    found = dict[int, list[FileSource]]()
    of_files = sa.select(saved_file_source).where(saved_file_source.c.file.in_(ids_in([*ids])))
    for row in connection.execute(of_files.order_by(saved_file_source.c.message)):
        source = FileSource(row.message, row.asked, tuple(json.loads(row.attached)))
        found.setdefault(row.file, []).append(source)
    return found


def save(connection: sa.Connection, changes: FileChanges, now: datetime) -> bool:
    in_order(connection, f"saved files {changes.conversation}")
    here = saved_file.c.conversation == changes.conversation
    connection.execute(sa.delete(saved_file).where(here, sa.or_(~WHOLE, saved_file.c.used <= now - IDLE)))
    had = saved_file.c.id.in_(ids_in(sorted(changes.used)))
    connection.execute(sa.update(saved_file).where(here, had).values(used=now))
    asked = next((source.message for source in changes.sources if source.asked), None)
    messages = {source.message for source in changes.sources}
    if (
        asked is None
        or changes.drawn_from == NOWHERE
        or not _exist(connection, message, messages)
        or not _exist(connection, document, changes.documents)
    ):
        return False
    connection.execute(sa.delete(saved_file).where(here, saved_file.c.id.in_(ids_in(sorted(changes.replaced)))))
    plain = {"conversation": changes.conversation, "audience": changes.audience, "drawn_from": changes.drawn_from}
    for name, data in changes.written:
        # Two calls of one round may both write a file that neither found.
        same = [saved_file.c[column] == value for column, value in plain.items()]
        connection.execute(
            sa.delete(saved_file).where(*same, saved_file.c.person == changes.person, saved_file.c.name == name)
        )
        values = plain | {"person": changes.person, "message": asked, "name": storable(name), "data": data}
        values |= {"size": len(data), "saved": now, "used": now, "sources": len(messages), "call": changes.call}
        inserted = connection.execute(sa.insert(saved_file).values(**values, documents=write_ids(changes.documents)))
        connection.execute(sa.insert(saved_file_source), _source_rows(row_id(inserted), changes.sources))
    _limit(connection, here)
    job = {"payload": "", "run_at": now + IDLE, "person": "", "conversation": changes.conversation}
    job_queue.schedule(connection, IDLE_FILES, changes.conversation, job)
    return True


def _source_rows(file: int, sources: Iterable[FileSource]) -> list[dict[str, object]]:
    merged = dict[int, FileSource]()
    for source in sources:
        known = merged.get(source.message, FileSource(source.message))
        attached = tuple(dict.fromkeys((*known.attached, *source.attached)))
        merged[source.message] = FileSource(source.message, known.asked or source.asked, attached)
    return [
        {"file": file, "message": one.message, "asked": one.asked, "attached": json_text([*one.attached])}
        for one in merged.values()
    ]


def _exist(connection: sa.Connection, table: sa.Table, ids: Collection[int]) -> bool:
    found = sa.select(sa.func.count()).select_from(table).where(table.c.id.in_(ids_in(sorted(ids))))
    return connection.execute(found).scalar_one() == len({*ids})


def _limit(connection: sa.Connection, here: sa.ColumnElement[bool]) -> None:
    """Delete the oldest files beyond the limits of a conversation."""
    newest = sa.select(saved_file.c.id, saved_file.c.size).where(here).order_by(saved_file.c.id.desc())
    falling, used = list[int](), 0
    for number, row in enumerate(connection.execute(newest).all()):
        used += row.size
        if used > MAX_BYTES or number >= MAX_SAVED:
            falling.append(row.id)
    remove(connection, falling)


def remove(connection: sa.Connection, ids: Collection[int]) -> None:
    if ids:
        connection.execute(sa.delete(saved_file).where(saved_file.c.id.in_(ids_in(sorted(ids)))))


def discard_saved_by(connection: sa.Connection, question: int) -> None:
    """Delete the files that the turn of this question saved: the turn restarts, and saves them again."""
    connection.execute(sa.delete(saved_file).where(saved_file.c.message == question))


def drop_idle(connection: sa.Connection, conversation: str, now: datetime) -> datetime | None:
    """Delete the files of a conversation that nothing has used for a while. Return when to look again, None: never."""
    here = saved_file.c.conversation == conversation
    connection.execute(sa.delete(saved_file).where(here, sa.or_(~WHOLE, saved_file.c.used <= now - IDLE)))
    last = connection.execute(sa.select(sa.func.min(saved_file.c.used)).where(here)).scalar_one()
    return None if last is None else last + IDLE


class SqlSavedFiles(SqlStore):
    """The ports SavedFiles and SavedFilesOfPeople."""

    readable = reads_long(readable)
    of_person = reads_long(of_person)
    save = writes(save)
    remove = writes(remove)
