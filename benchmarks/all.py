"""Runs the benchmarks that need no external data, one after the other, and stores their results in one file.

python -m benchmarks.all [--quick] [NAME…]

Each runs as `python -m benchmarks.NAME --json`, once the load of the one before has gone down. Its result goes into
`docs/site/benchmarks.json`, with the machine, its load before the run, and the day. With NAMEs, the results of the
other benchmarks in the file stay. `make generated` makes docs/benchmarks.md of it.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

NAMES: Final = (
    "startup", "first_text", "live_edit", "stream", "turns", "parser", "tokens", "tools", "languages", "search_scale",
)  # fmt: skip
QUIET: Final = 1.0  # Lower than `docs.site.figures.MAX_LOAD`, above which the page shows no times
PATIENCE_S: Final = 180.0
FOUND: Final = Path(__file__).parents[1] / "docs" / "site" / "benchmarks.json"


def main() -> int:
    reader = argparse.ArgumentParser(description="The benchmarks that need no data of others.")
    reader.add_argument("--quick", action="store_true", help="smaller sizes")
    reader.add_argument("names", nargs="*", choices=[*NAMES, []], metavar="NAME", help=f"of {', '.join(NAMES)} (all)")
    chosen = reader.parse_args()
    found: dict[str, Any] = json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.exists() and chosen.names else {}
    for name in chosen.names or NAMES:
        load, begun = quiet_load(), time.monotonic()  # noqa: TID251 -- how long it took
        command = [sys.executable, "-m", f"benchmarks.{name}", "--json", *(["--quick"] if chosen.quick else [])]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - begun  # noqa: TID251 -- how long it took
        if ran.returncode:
            sys.stderr.write(f"{name} failed:\n{ran.stderr}")
            return 1
        told = json.loads(ran.stdout.splitlines()[-1])
        print(f"{name}: {seconds:.0f} s", flush=True)
        found[name] = {
            "day": f"{datetime.now(UTC):%Y-%m-%d}",  # noqa: TID251 -- of the page
            "quick": chosen.quick,
            "machine": machine(),
            "load": load,
            "metrics": told["metrics"],
            "baseline": told["baseline"],
        }
        FOUND.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def quiet_load() -> float:
    """Return the machine's load once it is QUIET, or after PATIENCE_S."""
    until = time.monotonic() + PATIENCE_S  # noqa: TID251 -- of the machine, not of the bot
    while (load := os.getloadavg()[0]) > QUIET and time.monotonic() < until:  # noqa: TID251 -- as above
        time.sleep(2)
    return load


def machine() -> str:
    """What it ran on."""
    python, sort = platform.python_version(), f"{platform.system()} {platform.machine()}"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return f"{os.cpu_count()} cores, {memory:.0f} GB, {sort}, Python {python}"


if __name__ == "__main__":
    sys.exit(main())
