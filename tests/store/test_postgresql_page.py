"""docs/postgresql.md as an administrator follows it: what it has them write makes a database that the bot can use."""

import re
from pathlib import Path

from store.engine import open_store
from tests.contracts.steps import answered
from tests.fakes.incoming import said
from tests.fakes.postgresql import PostgresServer

PAGE = (Path(__file__).parents[2] / "docs" / "postgresql.md").read_text(encoding="utf-8")


async def test_the_statements_make_a_database_that_the_bot_can_use(postgres: PostgresServer) -> None:
    page = re.sub(r"\bcogency\b", "follower", PAGE)  # the server of the tests has an owner of that name
    statements, *_ = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    ((user, password, name),) = re.findall(
        r"^COGENCY_DATABASE_URL=postgresql://(\w+):([\w-]+)@[\w.]+/(\w+)$", page, re.MULTILINE
    )
    try:
        await postgres.execute(*filter(str.strip, statements.split(";")), user="postgres")
        store = await open_store(postgres.url(name, user=user, password=password))
        claim = await answered(store, said("my boat is blue"), "Noted.")
        await store.close()
        assert claim.turn == 1
    finally:
        await postgres.execute(
            f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", f"DROP ROLE IF EXISTS {user}", user="postgres"
        )
