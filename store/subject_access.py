"""Access to the data of data subjects for operators, also while another process serves from the database."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agent.machine import sqlite_path
from agent.memory.documents import Documents
from agent.ports.forgetting import Forgetting
from agent.ports.jobs import Jobs
from store import tool_calls
from store.backup import is_connected_to
from store.data_subjects import (
    document_place,
    find_people,
    find_places,
    is_known,
    people_ids,
    place_ids,
    place_named,
    running_posts,
)
from store.databases.database import Database, SqlStore, reads, writes
from store.databases.sqlite import is_locked
from store.engine import SqlDocuments, Store, beside, erased_key
from store.erased_ids import ErasedIds
from store.forgetting.sql_forgetting import SqlForgetting
from store.job_queue import SqlJobs
from store.subject_export import counts, page


class SqlDataSubjects(SqlStore):
    """For operators: what is stored about data subjects, and the audit of their own actions about it."""

    find_people = reads(find_people)
    find_places = reads(find_places)
    people_ids = reads(people_ids)
    place_ids = reads(place_ids)
    is_known = reads(is_known)
    place_named = reads(place_named)
    document_place = reads(document_place)
    counts = reads(counts)
    running_posts = reads(running_posts)
    page = reads(page)

    add = writes(tool_calls.audit)
    act = reads(tool_calls.act)
    acts_about = reads(tool_calls.acts_about)
    change_outcome = writes(tool_calls.change_outcome)
    close = writes(tool_calls.close)

    def __init__(self, database: Database, erased_ids: ErasedIds) -> None:
        super().__init__(database)
        self._erased_ids = erased_ids

    def known_as(self, who: str) -> str:
        """The name of a person in the audit after they were forgotten."""
        return self._erased_ids.of_person(who)


@dataclass(frozen=True, slots=True)
class OperatorsView:
    """The data that operators see, and the ports to act on it, also while another process serves from the database.

    `is_served`: whether another process seems to serve from it.
    """

    data_subjects: SqlDataSubjects
    documents: Documents
    forgetting: Forgetting
    jobs: Jobs
    is_served: bool


@asynccontextmanager
async def open_beside(url: str) -> AsyncGenerator[OperatorsView, None]:
    """Open a database while another process may serve from it. Raises StoreError."""
    scheme, _, rest = url.partition("://")
    path = sqlite_path(rest) if scheme.partition("+")[0] == "sqlite" else None
    async with beside(url) as database:
        erased_ids = await _erased_ids_of(database)
        is_served = await database.read(is_connected_to) if path is None else is_locked(path)
        yield OperatorsView(
            SqlDataSubjects(database, erased_ids),
            SqlDocuments(database),
            SqlForgetting(database, erased_ids),
            SqlJobs(database),
            is_served,
        )


async def data_subjects_in(store: Store) -> SqlDataSubjects:
    """The data subjects of a store that this process has open. Raises StoreError."""
    return SqlDataSubjects(store.database, await _erased_ids_of(store.database))


async def _erased_ids_of(database: Database) -> ErasedIds:
    return ErasedIds(await database.read(erased_key) or b"")
