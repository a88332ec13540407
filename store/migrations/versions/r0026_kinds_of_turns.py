"""Keep of each turn of which kind it is, and which schedule began it, in place of the parts of its ids that said so."""

import json
from typing import Any, Final

import sqlalchemy as sa
from alembic import op

revision = "r0026"
down_revision = "r0025"
EXPANDS = True
LOSES = ()

# "scheduled:7:1795424400", with ":work", ":told" or ":ended" behind it; "scheduled:budget:PERSON:DAY"; "posted:…";
# "ambient:…". A scheduled question that was answered again: "again:scheduled:7:1795424400:1", in `message_id`.
# The column `kind` was "turn" in each row, and stays so for a question: no large table is written whole.
_KIND: Final = """CASE
  WHEN message_id LIKE 'again:scheduled:%' THEN 'scheduled_again'
  WHEN event_id LIKE 'posted:%' THEN 'posted'
  WHEN event_id LIKE 'ambient:%' THEN 'ambient'
  WHEN event_id LIKE 'scheduled:%:work' THEN 'work'
  WHEN event_id LIKE 'scheduled:%:told' OR event_id LIKE 'scheduled:%:ended' THEN 'notice'
  WHEN event_id LIKE 'scheduled:budget:%' THEN 'notice'
  ELSE 'scheduled' END"""
_SAYS_KIND: Final = """message_id LIKE 'again:scheduled:%' OR event_id LIKE 'posted:%' OR event_id LIKE 'ambient:%'
  OR event_id LIKE 'scheduled:%'"""
_NUMBER: Final = {
    "sqlite": "nullif(CAST(substr(event_id, 11) AS INTEGER), 0)",  # reads up to the first character that is no digit
    "postgresql": "CAST(substring(event_id FROM '^scheduled:([0-9]{1,18}):') AS BIGINT)",
}


def upgrade() -> None:
    op.add_column("turn", sa.Column("schedule", sa.BigInteger(), nullable=True))
    number = f"CASE WHEN event_id LIKE 'scheduled:%' THEN {_NUMBER[op.get_bind().dialect.name]} END"
    _execute(f"UPDATE turn SET kind = {_KIND}, schedule = {number} WHERE {_SAYS_KIND}")  # noqa: S608 -- constants
    _find_reminders()
    # Until r0009 each message of a person was marked as one that may hold words of others; only a schedule's does.
    _execute(
        "UPDATE message SET retold = FALSE WHERE author = 'person' AND retold AND NOT EXISTS (SELECT 1 FROM turn "
        "WHERE turn.id = message.turn AND kind IN ('scheduled', 'reminder', 'work', 'notice', 'scheduled_again'))"
    )
    begun = sa.text("schedule IS NOT NULL")  # few rows, so the index is made at once
    op.create_index("ix_turn_schedule", "turn", ["schedule"], sqlite_where=begun, postgresql_where=begun)


def _execute(statement: str) -> None:
    """Execute a statement whose colons are text: to SQLAlchemy a colon before a word is a parameter."""
    op.get_bind().execute(sa.text(statement.replace(":", r"\:")))


def _find_reminders() -> None:
    """A reminder and a scheduled question had ids of the same form. Which one it was is known from its schedule; if
    that is gone, from the row: an ended reminder has no output of a model, and an open one began with its reply.
    """
    of_schedule = "SELECT 1 FROM schedule WHERE schedule.id = turn.schedule"
    reminds = f"""EXISTS ({of_schedule} AND made LIKE '%"kind":"reminder"%')"""
    without_output = """state = 'done' AND usage LIKE '%"output":0%'"""
    _execute(
        f"UPDATE turn SET kind = 'reminder' WHERE kind = 'scheduled' AND ({reminds} OR "  # noqa: S608 -- constants
        f"(NOT EXISTS ({of_schedule}) AND {without_output}))"
    )
    connection = op.get_bind()
    open_ = sa.text("SELECT id, progress FROM turn WHERE kind = 'scheduled' AND state <> 'done' AND progress <> ''")
    found = [{"id": row.id} for row in connection.execute(open_) if _begins_with_reply(row.progress)]
    if found:
        connection.execute(sa.text("UPDATE turn SET kind = 'reminder' WHERE id = :id"), found)


def _begins_with_reply(progress: str) -> bool:
    stored: dict[str, Any] = json.loads(progress)
    return stored.get("reply") is not None and not stored.get("steps") and not stored.get("model_calls")


def downgrade() -> None:
    op.drop_index("ix_turn_schedule", "turn")
    op.drop_column("turn", "schedule")
    op.execute("UPDATE turn SET kind = 'turn' WHERE kind <> 'turn'")
