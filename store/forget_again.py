"""Forgetting again what a database that was restored holds again: by the keyed hashes of a newer database, or of its
forgetting log (`store.forgetting.log`).

The hashes name messages, replies and people, so what was derived from them is erased as well, and entries of memory
that were deleted alone. The former text of an edited message has no hash.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, func, insert, select, union

from agent import texts
from agent.errors import StoreError
from agent.memory.forgetting_plans import Deleted, EntriesPlan, Everything, OneReply
from agent.ports.forgetting import Forgetting
from store.databases.database import Database
from store.databases.sqlite import creation_obstacle
from store.engine import Store, beside, erased_key
from store.erased_ids import MEMORY, ErasedIds, erased
from store.forgetting.log import ForgettingLog, unusable
from store.forgetting.selection import values_in
from store.forgetting.sql_forgetting import SqlForgetting
from store.installations import installation
from store.json_columns import read_pages
from store.memory_tables import fact, profile_entry
from store.message_tables import message, person
from store.preferences import preference
from store.recent_writes import SqlRecentWrites
from store.tool_accounts import tool_account
from store.turn_tables import turn

AGAIN: Final = 100  # Messages that are forgotten again in one plan
ROWS: Final = 500

log = logging.getLogger(__name__)


async def with_forgetting_log(store: Store, path: Path | None, now: datetime) -> Store:
    """Return the store, which writes what it forgets to the log. What the log has and the database lacks is forgotten
    again first: the database was restored. Raises StoreError.
    """
    if path is None:
        return store
    key = await store.database.read(erased_key) or b""
    forgetting_log = ForgettingLog(path, key)
    try:
        # A restored database lacks the newest lines, so a start does not read all of them.
        if await _missing(store.database, await asyncio.to_thread(forgetting_log.newest) or {}):
            log.warning("%s", texts.FORGETTING_AGAIN.format(path=path))
            log.warning("%s", texts.FORGOT_AGAIN.format(messages=await forget_logged(store, path, now)))
        await forgetting_log.begin(store.database, now)
    except OSError as error:
        raise StoreError(unusable(path, error)) from error
    memory = store.recent_writes.memory
    forgetting = SqlForgetting(store.database, ErasedIds(key), forgetting_log, memory)

    async def again(moment: datetime) -> None:
        try:
            await forget_logged(store, path, moment)
        except StoreError as error:  # what the process itself knows is forgotten again all the same
            log.error("%s", error)  # noqa: TRY400 -- the sentence says all

    return replace(
        store,
        forgetting=forgetting,
        recent_writes=SqlRecentWrites(store.database, ErasedIds(key), memory, forgetting, again),
    )


@dataclass(frozen=True, slots=True)
class LogState:
    """`is_ahead`: the log has what the database lacks. `missing`: how many hashes the log lacks."""

    is_ahead: bool
    missing: int


async def look_at_log(url: str, path: Path, now: datetime) -> LogState | None:
    """Compare the log with the database, which a bot may serve from; None if there is no log yet. Raises StoreError,
    also if the log cannot be created.
    """
    async with beside(url) as database:
        forgetting_log = ForgettingLog(path, await database.read(erased_key) or b"")
        try:
            if (newest := await asyncio.to_thread(forgetting_log.newest)) is None:
                if reason := creation_obstacle(path):
                    raise StoreError(texts.FORGETTING_LOG_UNUSABLE.format(path=path, error=reason))
                return None
            is_ahead = bool(await _missing(database, newest))
            return LogState(is_ahead, await forgetting_log.unwritten(database, now))
        except OSError as error:
            raise StoreError(unusable(path, error)) from error


async def forget_logged(store: Store, path: Path, now: datetime) -> int:
    """Forget again what the log in this file lists, and return how many messages that erased. Raises StoreError."""
    forgetting_log = ForgettingLog(path, await store.database.read(erased_key) or b"")
    missing = dict[str, datetime]()
    try:
        lines = forgetting_log.lines()
        while (batch := await asyncio.to_thread(next, lines, None)) is not None:
            missing |= await _missing(store.database, batch)
    except OSError as error:
        raise StoreError(unusable(path, error)) from error
    return await forget_again(store.database, store.forgetting, missing, now)


async def forget_again(
    database: Database, forgetting: Forgetting, hashes: Mapping[str, datetime], now: datetime
) -> int:
    """Forget again, and return how many messages that erased. `hashes`: of what was forgotten, with the times."""
    new = await _missing(database, hashes)
    if not new:
        return 0
    before = await database.read(_count)
    ids = ErasedIds(await database.read(erased_key) or b"")
    posts, replies = await database.read_long(_named_by, ids, frozenset(new))
    for (source, channel), messages in posts.items():
        for start in range(0, len(messages), AGAIN):
            await forgetting.forget(Deleted(source, channel, frozenset(messages[start : start + AGAIN])), now)
    for turn_id in replies:
        await forgetting.forget(OneReply(turn_id), now)
    for who in await database.read_long(_forgotten_people, ids, frozenset(new)):
        await forgetting.forget(Everything(who), now)
    for plan in await database.read_long(_memory_named_by, ids, frozenset(new)):
        await forgetting.forget_entries(plan, now)
    await database.write(_add_hashes, new)
    return before - await database.read(_count)


async def _missing(database: Database, hashes: Mapping[str, datetime]) -> dict[str, datetime]:
    """Those that the database does not have."""
    known = await database.read_long(lambda c: {*values_in(c, erased.c.hash, erased.c.hash, hashes)})
    return {hash_: time for hash_, time in hashes.items() if hash_ not in known}


def _count(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(message)).scalar_one()


def _named_by(
    connection: Connection, ids: ErasedIds, hashes: frozenset[str]
) -> tuple[dict[tuple[str, str], list[str]], list[int]]:
    """The message ids that these hashes name, by source and channel, and the turns of replies."""
    posts, replies = dict[tuple[str, str], list[str]](), list[int]()
    found = select(turn.c.id, turn.c.source, turn.c.channel, turn.c.message_id, turn.c.pages, turn.c.reply_ref)
    for id_, source, channel, message_id, *shown in connection.execution_options(yield_per=ROWS).execute(found):
        pages = (page for ref in shown for page in read_pages(ref))
        if not hashes.isdisjoint(ids.all_of_post(source, channel, message_id)):
            posts.setdefault((source, channel), []).append(message_id)
        elif any(not hashes.isdisjoint(ids.all_of_page(source, channel, page)) for page in pages):
            replies.append(id_)
    return posts, replies


def _forgotten_people(connection: Connection, ids: ErasedIds, hashes: frozenset[str]) -> list[str]:
    """The people of whom everything was forgotten once more, according to these hashes."""
    columns = (person.c.id, preference.c.owner, fact.c.person, tool_account.c.person, installation.c.installer)
    known = {*connection.execute(select(erased.c.hash)).scalars()}
    everyone = connection.execute(union(*(select(column) for column in columns))).scalars()
    return [who for who in everyone if ids.times_forgotten(who, known | hashes) > ids.times_forgotten(who, known)]


def _memory_named_by(connection: Connection, ids: ErasedIds, hashes: frozenset[str]) -> list[EntriesPlan]:
    """The facts and profile entries that these hashes name."""
    if not any(hash_.startswith(MEMORY) for hash_ in hashes):
        return []
    named = dict[str, tuple[set[int], set[str]]]()
    entries = select(profile_entry.c.person, profile_entry.c.key, profile_entry.c.text, profile_entry.c.id)
    facts = select(fact.c.person, fact.c.key, fact.c.value, fact.c.id)
    for who, key, words, id_ in connection.execution_options(yield_per=ROWS).execute(entries):
        if ids.of_memory(who, key, words) in hashes:
            named.setdefault(who, (set(), set()))[0].add(id_)
    for who, key, words, id_ in connection.execution_options(yield_per=ROWS).execute(facts):
        if ids.of_memory(who, key, words) in hashes:
            named.setdefault(who, (set(), set()))[1].add(str(id_))
    return [EntriesPlan(who, frozenset(entries_), frozenset(facts_)) for who, (entries_, facts_) in named.items()]


def _add_hashes(connection: Connection, hashes: Mapping[str, datetime]) -> None:
    existing = {*values_in(connection, erased.c.hash, erased.c.hash, hashes)}
    if missing := [{"hash": hash_, "time": hashes[hash_]} for hash_ in sorted(hashes.keys() - existing)]:
        connection.execute(insert(erased), missing)
