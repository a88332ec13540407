"""Imports every module that declares a table, so that `metadata` holds all of them: for Alembic, tests and the docs.

A new module with a table gets a line here; `tests/store/test_migrations.py` compares `metadata` with the revisions.
"""

from store import (
    calls,
    erased_ids,
    job_queue,
    memory_tables,
    message_tables,
    preferences,
    replicas,
    replies,
    schedule_table,
    sign_ins,
    turn_tables,
    working_sets,
)
from store.memory import fact_index, fact_store
from store.schema import metadata
from store.search import passages
from store.turns import consents, open_questions

__all__ = [
    "calls",
    "consents",
    "erased_ids",
    "fact_index",
    "fact_store",
    "job_queue",
    "memory_tables",
    "message_tables",
    "metadata",
    "open_questions",
    "passages",
    "preferences",
    "replicas",
    "replies",
    "schedule_table",
    "sign_ins",
    "turn_tables",
    "working_sets",
]
