"""Let each workspace that shares a channel store a message of it for itself, and wait with edits of it by itself."""

import json
from typing import Any, Final

import sqlalchemy as sa
from alembic import op

revision = "r0032"
down_revision = "r0031"
# The version before finds a message by its channel and its id alone, and fails where two workspaces have stored it. So
# this revision does not only add (`EXPANDS`).
_OTHERS: Final = """EXISTS (SELECT 1 FROM turn AS other
    WHERE other.channel = turn.channel AND other.message_id = turn.message_id AND other.id < turn.id)"""
LOSES = (
    (
        "links to messages that another workspace stored, too; later edits and deletions of these have no effect",
        f"SELECT count(*) FROM turn WHERE {_OTHERS}",  # noqa: S608 -- constants
    ),
    (
        "marks of forgotten messages; these messages may return if they are sent again",
        "SELECT count(*) FROM erased WHERE hash LIKE 'message:%'",
    ),
)
_ALONE: Final = "uq_turn_channel_message_id"
_OF_SOURCE: Final = "uq_turn_source_channel_message_id"
# Jobs about a message: their keys begin with its source now, "source channel message". The payloads of all but the
# oldest are [source, channel, message, …].
_ABOUT_MESSAGES: Final = sa.text(
    "SELECT id, kind, state, key, payload FROM job WHERE kind IN ('edit', 'forget_deleted')"
)


def upgrade() -> None:
    _replace(_ALONE, _OF_SOURCE, ["source", "channel", "message_id"])
    _rename_jobs({row.id: f"{payload[0]} {row.key}" for row, payload in _jobs() if row.key == " ".join(payload[1:3])})


def downgrade() -> None:
    op.execute(f"UPDATE turn SET message_id = 'shared:' || id WHERE {_OTHERS}")  # noqa: S608 -- constants
    _replace(_OF_SOURCE, _ALONE, ["channel", "message_id"])
    names = dict[tuple[str, str, str], int]()
    for row, payload in _jobs():
        if row.key == " ".join(payload[:3]):  # of two workspaces' jobs about one message, one keeps its longer key
            names.setdefault((row.kind, row.state, " ".join(payload[1:3])), row.id)
    _rename_jobs({id_: key for (_, _, key), id_ in names.items()})


def _replace(old: str, new: str, columns: list[str]) -> None:
    """Replace a constraint of the turns. SQLite copies the table: the last id that was given must stay known."""
    connection = op.get_bind()
    is_file = connection.dialect.name == "sqlite"
    last = "SELECT seq FROM sqlite_sequence WHERE name = 'turn'"
    given = connection.execute(sa.text(last)).scalar_one_or_none() if is_file else None
    with op.batch_alter_table("turn", table_kwargs={"sqlite_autoincrement": True}) as turn:
        turn.drop_constraint(old, type_="unique")
        turn.create_unique_constraint(new, columns)
    if is_file:
        connection.execute(sa.text("DELETE FROM sqlite_sequence WHERE name IN ('turn', '_alembic_tmp_turn')"))
    if given is not None:
        connection.execute(sa.text("INSERT INTO sqlite_sequence VALUES ('turn', :given)"), {"given": given})


def _jobs() -> list[tuple[sa.Row[Any], list[str]]]:
    return [(row, json.loads(row.payload)) for row in op.get_bind().execute(_ABOUT_MESSAGES)]


def _rename_jobs(keys: dict[int, str]) -> None:
    if keys:
        renamed = sa.text("UPDATE job SET key = :key WHERE id = :id")
        op.get_bind().execute(renamed, [{"id": id_, "key": key} for id_, key in keys.items()])
