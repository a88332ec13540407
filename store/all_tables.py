"""Imports every module that declares a table, so that `metadata` holds all of them: for Alembic, tests and the docs.

A new module with a table gets a line here; `tests/store/test_migrations.py` compares `metadata` with the revisions.
"""

from store import (
    act_counts,
    api_tokens,
    budget_tables,
    code_time,
    erased_ids,
    eval_runs,
    file_tables,
    handoff_tables,
    installations,
    job_queue,
    memory_tables,
    message_tables,
    model_calls,
    operator_sessions,
    outbox,
    polls,
    preferences,
    replies,
    schedule_table,
    shard_leases,
    shared_rates,
    tool_accounts,
    tool_calls,
    turn_tables,
    webhook_events,
    working_sets,
)
from store.memory import fact_index, fact_store
from store.schema import metadata
from store.search import passages
from store.turns import approval_table, consents, open_questions

__all__ = [
    "act_counts",
    "api_tokens",
    "approval_table",
    "budget_tables",
    "code_time",
    "consents",
    "erased_ids",
    "eval_runs",
    "fact_index",
    "fact_store",
    "file_tables",
    "handoff_tables",
    "installations",
    "job_queue",
    "memory_tables",
    "message_tables",
    "metadata",
    "model_calls",
    "open_questions",
    "operator_sessions",
    "outbox",
    "passages",
    "polls",
    "preferences",
    "replies",
    "schedule_table",
    "shard_leases",
    "shared_rates",
    "tool_accounts",
    "tool_calls",
    "turn_tables",
    "webhook_events",
    "working_sets",
]
