"""How the tables came to be, one revision at a time (Alembic). Forward at every start that finds an older database.

A new revision:
    alembic -c store/migrations/alembic.ini -x url=sqlite:///dev.db upgrade head
    alembic -c store/migrations/alembic.ini -x url=sqlite:///dev.db revision --autogenerate --rev-id 0002 -m "…"
"""

HEAD = "0016"
