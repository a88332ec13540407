"""At scale: several processes on one PostgreSQL, ten million messages, and one team's flood beside another team.

python -m benchmarks.scale [--quick] [--json] [--grown URL] [--alone]

questions_per_s_1, _2, _4     answered by that many processes on one server, asked at once, with a model that takes no
                  time
cpu_ms_per_question_1, …      processor time of the bot's processes and of PostgreSQL's; bot_ms_…: of the bot's alone
efficiency_4      of four processes compared with one: by questions a second where there are six cores or more, for the
                  model, the platforms and the server need some; else by processor time for a question
connections_4     of four processes to the server
recall_p95_ms_10m     a search of the recall tool, warm, of a person with 100,000 of ten million messages
                      (`--quick`: 10,000 of 100,000); recall_p50_ms_10m
recall_wordings_p95_ms_10m    the same with three further wordings, each a search of its own
bytes_per_message     of the whole database; index_bytes_per_message: of them for the search by words
flood_delay_ratio     from a question to its answer's end, in one team while another floods, over the same without that
vector_recall_at_10   of `benchmarks.vectors`, and takeover_s_discord of `benchmarks.shards`

Baseline, in the same run, under the same names: the search by SQL LIKE, of the person's newest messages with any of the
words; and the flood with questions served in the order of their arrival.

`--alone` leaves out the figures of other benchmarks. `--grown` names a database that an earlier run has filled; then it
is only searched. The rest is in a temporary folder: the whole takes some 30 GB there and half an hour.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.report import Options, print_report
from benchmarks.scale_flood import Flood, delays, first_come_first_served, ratio
from benchmarks.scale_processes import throughput
from benchmarks.scale_store import QUICK, WHOLE, Size, grow, sizes, time_searches
from benchmarks.search_scale import Figures, Vocabulary, made_vocabulary, spread
from store.engine import open_store
from tests.fakes.postgresql import PostgresServer, running_postgres

PROCESSES: Final = (1, 2, 4)
QUESTIONS: Final = 240
QUICK_QUESTIONS: Final = 60
CORES: Final = 6  # With this many, four processes do not wait for each other's
# Figures of other benchmarks, whose docstrings describe how they are measured.
ELSEWHERE: Final = {"vectors": "vector_recall_at_10", "shards": "takeover_s_discord"}
_SETTINGS: Final = (
    "max_connections=120", "shared_buffers=1GB", "max_wal_size=6GB", "wal_level=minimal", "max_wal_senders=0",
)  # fmt: skip


async def processes(server: PostgresServer, questions: int) -> Figures:
    found = {number: await throughput(server, number, questions) for number in PROCESSES}
    one, four = found[1], found[PROCESSES[-1]]
    by_rate = four.per_second / (four.processes * one.per_second)
    by_cpu = one.cpu_ms / four.cpu_ms
    figures = {
        **{f"questions_per_s_{number}": each.per_second for number, each in found.items()},
        **{f"cpu_ms_per_question_{number}": each.cpu_ms for number, each in found.items()},
        **{f"bot_ms_per_question_{number}": each.bot_ms for number, each in found.items()},
    }
    efficiency = by_rate if (os.cpu_count() or 1) >= CORES else by_cpu
    return {**figures, "efficiency_4": efficiency, "connections_4": four.connections}


async def recall(url: str, size: Size, vocabulary: Vocabulary) -> tuple[Figures, Figures]:
    plain, worded, likes = await time_searches(url, size, vocabulary)
    ours, liked, reworded = (spread(times) for times in (plain, likes, worded))
    whole, index = await sizes(url)
    figures = {
        "recall_p95_ms_10m": ours["p95_ms"],
        "recall_p50_ms_10m": ours["p50_ms"],
        "recall_wordings_p95_ms_10m": reworded["p95_ms"],
        "messages": size.messages,
        "bytes_per_message": whole / size.messages,
        "index_bytes_per_message": index / size.messages,
    }
    return figures, {"recall_p95_ms_10m": liked["p95_ms"], "recall_p50_ms_10m": liked["p50_ms"]}


async def flood(whole: Flood) -> tuple[Figures, Figures]:
    with TemporaryDirectory() as folder:
        found: list[list[float]] = []
        for flooded in (False, True):
            store = await open_store(f"sqlite:///{Path(folder) / f'flood-{flooded}.db'}")
            try:
                found.append(await delays(store, whole, flooded=flooded))
            finally:
                await store.close()
    calm, hard = found
    return {"flood_delay_ratio": ratio(hard, calm)}, {"flood_delay_ratio": ratio(first_come_first_served(whole), calm)}


def elsewhere(*, quick: bool) -> tuple[Figures, list[str]]:
    """Return the figures of other benchmarks, each run in its own process, and the names of missing ones."""
    found, missing = dict[str, float](), list[str]()
    for name, figure in ELSEWHERE.items():
        if find_spec(f"benchmarks.{name}") is None:
            missing.append(f"{figure}: there is no benchmarks.{name}")
            continue
        command = [sys.executable, "-m", f"benchmarks.{name}", "--json"]
        helped = subprocess.run([*command, "--help"], capture_output=True, text=True, check=False)
        told = [*command, *(["--quick"] if quick and "--quick" in helped.stdout else [])]
        ran = subprocess.run(told, capture_output=True, text=True, check=True)
        last = json.loads(ran.stdout.splitlines()[-1])
        found[figure] = last.get("metrics", last)[figure]
    return found, missing


async def measure(server: PostgresServer, options: Options, grown: str) -> tuple[Figures, Figures]:
    vocabulary, size = made_vocabulary(), QUICK if options.quick else WHOLE
    ours = await processes(server, QUICK_QUESTIONS if options.quick else QUESTIONS)
    if not grown:
        await server.execute("CREATE DATABASE grown")
        await grow(server.url("grown"), size, random.Random(5), vocabulary)
    found, baseline = await recall(grown or server.url("grown"), size, vocabulary)
    flooded, calm = await flood(Flood(questions=200, seconds=20) if options.quick else Flood())
    return {**ours, **found, **flooded}, {**baseline, **calm}


def main() -> None:
    reader = argparse.ArgumentParser(description="At scale: processes, ten million messages, a flood.")
    reader.add_argument("--quick", action="store_true", help="smaller sizes")
    reader.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    reader.add_argument("--grown", default="", help="the URL of a database that was filled before")
    reader.add_argument("--alone", action="store_true", help="without the figures of other benchmarks")
    given = reader.parse_args()
    options = Options(quick=given.quick, json=given.json, data=None)
    with running_postgres(*_SETTINGS) as server:
        metrics, baseline = asyncio.run(measure(server, options, given.grown))
    others, missing = ({}, []) if given.alone else elsewhere(quick=options.quick)
    metrics |= others
    load = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}: rates are those of a busy machine"
    print_report("scale", metrics, baseline, options, "\n".join([load, *missing]))


if __name__ == "__main__":
    main()
