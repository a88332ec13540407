"""Alembic's entry point: what `store.migrations` gives it to run, or for a developer the database of `-x url=…`.

Alembic loads this file and the revisions by their paths. In a program with a `store.py` of its own, that name does not
mean our package here (`cogency_bot.own_packages`), so only a developer's command imports it, and no revision does.
"""

from alembic import context
from sqlalchemy import create_engine

run = context.config.attributes.get("run")
if run is not None:
    run()
else:
    from store.migrations.environment import run_revisions

    with create_engine(context.get_x_argument(as_dictionary=True)["url"]).begin() as opened:
        run_revisions(opened)
