"""The contract that lets workspaces be divided among databases (docs/adr/0016): each row says of which team, place or
person it is, or refers to a row that does; no key is unique across teams, and no row refers to another team's row.
"""

import re
from typing import Final

import sqlalchemy as sa

from store import all_tables
from store.engine import Store
from tests.contracts.test_shared_channels import MESSAGES, ONE, TWO, stored_for

TABLES: Final = {table.name: table for table in all_tables.metadata.sorted_tables}

# The column with the id of the team, place or person whose row it is. A new table gets a line here, or below.
OWNED: Final = {
    "act_count": "owner",
    "api_token": "source",
    "budget_day": "account",
    "code_time": "person",
    "conversation": "id",
    "document": "audience",
    "fact": "audience",
    "fact_term": "person",
    "feedback": "person",
    "handoff": "conversation",
    "installation": "source",
    "message": "audience",
    "model_call": "person",
    "outgoing_delivery": "person",
    "participant": "person",
    "person": "id",
    "place": "audience",
    "place_key": "source",
    "poll_vote": "person",
    "preference": "owner",
    "profile": "person",
    "profile_entry": "person",
    "saved_file": "audience",
    "schedule": "source",
    "sign_in": "person",
    "task_workspaces": "person",
    "tool_account": "person",
    "tool_call": "person",
    "turn": "source",
    "verdict": "person",
    "working_item": "audience",
}

# The column that refers to such a row.
REFERRING: Final = {
    "action_record": ("turn", "turn"),
    "approval": ("turn", "turn"),
    "budget_message": ("budget", "budget_day"),
    "budget_pause": ("turn", "turn"),
    "consent": ("turn", "turn"),
    "embedding": ("message", "message"),
    "fact_ground": ("fact", "fact"),
    "handoff_message": ("handoff", "handoff"),
    "open_question": ("turn", "turn"),
    "page": ("turn", "turn"),
    "passage": ("document", "document"),
    "poll": ("turn", "turn"),
    "profile_source": ("entry", "profile_entry"),
    "saved_file_source": ("file", "saved_file"),
}

# Tables of an installation, with the reason why no team has a row there. Each database has its own.
OF_INSTALLATION: Final = {
    "erased": "keyed hashes name nobody, and are found by the ids of the workspace",
    "eval_run": "runs of the operator's exams",
    "job": "work of one database; some jobs are about rows of it, some about all of them",
    "meta": "the database's own key and progress",
    "operator_session": "sign-ins to the operator's pages",
    "outgoing_webhook": "rows of the operator's file",
    "shard_identify": "connections of one Discord application",
    "shard_lease": "connections of one Discord application",
    "shard_process": "processes of the installation",
    "shared_rate": "names are hashes under the database's key, and rows expire within a day",
    "webhook_event": "deliveries to the operator's addresses, before the place of their turn is known",
}

# Columns that make a key unique everywhere, without naming a team: random texts, or digests of them or of a place.
RANDOM: Final = {("api_token", "hash"), ("api_token", "family"), ("place_key", "mark"), ("sign_in", "handle")}


def test_each_table_says_whose_its_rows_are_or_why_they_are_nobodys() -> None:
    """If this fails, a table is new: add it to one of the three lists above."""
    assert sorted(TABLES) == sorted([*OWNED, *REFERRING, *OF_INSTALLATION])
    assert [name for name, column in OWNED.items() if column not in TABLES[name].c] == []
    for name, (column, target) in REFERRING.items():
        assert [key.column.table.name for key in TABLES[name].c[column].foreign_keys] == [target]
        assert target in OWNED


def test_an_owner_is_never_null() -> None:
    whose = {**OWNED, **{name: column for name, (column, _) in REFERRING.items()}}
    assert [name for name, column in whose.items() if TABLES[name].c[column].nullable] == []


def unique_keys(table: sa.Table) -> list[set[str]]:
    """The columns of each key whose values the application chooses: a row's number is unique in one database only."""
    keys = [one.columns for one in table.constraints if isinstance(one, sa.UniqueConstraint | sa.PrimaryKeyConstraint)]
    keys += [one.columns for one in table.indexes if one.unique]
    number = table.autoincrement_column
    return [
        key for key in ({column.name for column in each} for each in keys) if number is None or number.name not in key
    ]


def test_no_key_is_unique_across_teams() -> None:
    crossing = [
        (name, sorted(key))
        for name, table in TABLES.items()
        if name not in OF_INSTALLATION
        for key in unique_keys(table)
        if not any(
            column == OWNED.get(name)
            or (name, column) in RANDOM
            or any(reference.column.table.name in OWNED for reference in table.c[column].foreign_keys)
            for column in key
        )
    ]
    assert crossing == []


def test_no_row_of_a_team_refers_to_a_table_of_the_installation() -> None:
    targets = {
        (name, key.column.table.name)
        for name, table in TABLES.items()
        if name not in OF_INSTALLATION
        for column in table.c
        for key in column.foreign_keys
    }
    assert {target for _, target in targets} <= OWNED.keys()
    assert not [name for name in OF_INSTALLATION if any(column.foreign_keys for column in TABLES[name].c)]


def teams_of(connection: sa.Connection, table: sa.Table, row: sa.RowMapping) -> frozenset[str]:
    """The workspaces that the row names, and those that the rows to which it refers name."""
    found = frozenset(re.findall(r"slack:T\d", str(dict(row))))
    for column in table.c:
        for key in column.foreign_keys:
            target = key.column.table
            referred = connection.execute(sa.select(target).where(key.column == row[column.name])).mappings().first()
            found |= frozenset() if referred is None else teams_of(connection, target, referred)
    return found


async def test_no_row_refers_to_a_row_of_another_workspace_even_in_a_shared_channel(store: Store) -> None:
    for source, message in zip((ONE, TWO), MESSAGES["the same message"], strict=True):
        await stored_for(store, source, message)

    def read(connection: sa.Connection) -> dict[str, set[frozenset[str]]]:
        owned = [table for name, table in TABLES.items() if name not in OF_INSTALLATION]
        return {
            table.name: {teams_of(connection, table, row) for row in connection.execute(sa.select(table)).mappings()}
            for table in owned
        }

    teams = {name: found for name, found in (await store.database.read(read)).items() if found}
    assert teams.keys() >= {"turn", "message", "fact", "fact_term", "document", "passage", "schedule", "preference"}
    assert {name: found for name, found in teams.items() if found - {frozenset({ONE}), frozenset({TWO})}} == {}
