"""How soon another process receives a killed process's events on Discord: `python -m benchmarks.shards --json`.

Two processes on one PostgreSQL share two connections. One is killed (kill -9); the time runs until the other has
resumed its session. After that a question in each server is answered. Bound: 15 s (issue 22).
"""

import argparse
import asyncio
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fakes.discord_fleet import TAKEOVER_S, fleet, takeover_s


async def takeover_s_discord(url: str) -> float:
    """`url`: of an empty PostgreSQL database."""
    with TemporaryDirectory() as folder:
        async with fleet(Path(folder), url) as bot:
            return await takeover_s(bot)


async def _measured() -> float:
    from tests.fakes.postgresql import running_postgres  # noqa: PLC0415 -- not needed with a given database

    with running_postgres() as server:
        async with server.database() as url:
            return await takeover_s_discord(url)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    took = asyncio.run(_measured())
    sys.stdout.write(f"{json.dumps({'takeover_s_discord': round(took, 2)}) if given.json else f'{took:.1f} s'}\n")
    return 0 if took <= TAKEOVER_S else 1


if __name__ == "__main__":
    sys.exit(main())
