"""Which resource is used up first under more load: a simulation of queues, with the results of `benchmarks.scale`.

python -m benchmarks.capacity [--json]

Questions arrive at random, at a given rate per minute. Each waits for a slot (of all slots of all processes), holds it
while the model answers, and takes processor time of the bot and of PostgreSQL, on a given number of cores. Measured
values come from `benchmarks/data/scale.json`; the time of a model is assumed (`ANSWER_S`).

wait_p50_s, wait_p95_s    from a question to the start of its answer
running_p95       answers at the same time
cores             of processors that are busy: bot and database together

workspaces_*      how many workspaces one installation serves before a resource is used up, each alone (`limits`)
busiest_*         workspaces of one database among several, compared with an equal share: hashed by their ids, or each
                  new one where there is the least to do

Baseline: Erlang's formula for the probability that a question has to wait, with the same number of slots.
"""

import heapq
import json
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.report import print_report, read_options

DATA: Final = Path(__file__).with_name("data")
MEASURED: Final = DATA / "scale.json"
SIMULATED: Final = DATA / "capacity.json"
# Assumed, on average, for a model that reasons and uses a tool or two; the slowest twentieth takes three times that.
ANSWER_S: Final = 12.0
SPREAD: Final = 0.75  # The standard deviation of the logarithm of an answer's time
PLACES: Final = 16  # Answers at once in one process, the default of COGENCY_MAX_RUNNING
CONNECTIONS: Final = 13  # That a process may open: see docs/postgresql.md
# Assumed of a workspace: a hundred people, of whom each asks twice on a workday, most of them in the same hours.
QUESTIONS_A_DAY: Final = 200
BUSIEST_MINUTE: Final = 1 / 400  # Of a day's questions: 15 % in an hour
DAYS: Final = 250  # With questions, in a year
ROWS: Final = 2  # Messages for each question: itself and its answer
MAX_CONNECTIONS: Final = 100  # The default of PostgreSQL
MANY_PLACES: Final = 48  # In a process whose operator has raised COGENCY_MAX_RUNNING
DISCORD_CALLS_S: Final = 50  # That Discord allows to one bot
EDIT_S: Final = 1.0  # The least pace of a reply that still reads as live
CORES: Final = 16  # Of a large database server, of which BUSY is used
BUSY: Final = 0.7
DISK: Final = 2e12
WORKSPACES: Final = 10_000
SPREAD_OF_SIZES: Final = 1.5  # The standard deviation of the logarithm of a workspace's size
DATABASES: Final = (4, 16)


@dataclass(frozen=True, slots=True)
class Plan:
    """The resources for a number of questions a minute."""

    per_minute: int
    processes: int
    cores: int
    places: int = PLACES

    @property
    def name(self) -> str:
        return f"{self.per_minute}/{self.processes}x{self.places}/{self.cores}"


PLANS: Final = (
    Plan(10, 1, 2),
    Plan(100, 1, 2),
    Plan(100, 2, 2),
    Plan(1_000, 2, 2),
    Plan(1_000, 8, 2, 48),
    Plan(100_000, 8, 16, 48),
    Plan(100_000, 500, 16, 64),
    Plan(100_000, 500, 192, 64),
)


def simulated(plan: Plan, cpu_ms: float, seed: int = 1) -> dict[str, float]:
    """Simulate ten minutes, or 100,000 questions if that is less."""
    dice, per_s = random.Random(seed), plan.per_minute / 60
    count = min(100_000, max(1_000, plan.per_minute * 10))
    cores, places = [0.0] * plan.cores, [0.0] * (plan.processes * plan.places)
    now, waits, ends, running, busy = 0.0, list[float](), list[float](), list[int](), 0.0
    mean = math.log(ANSWER_S) - SPREAD**2 / 2
    for _ in range(count):
        now += dice.expovariate(per_s)
        place = max(now, heapq.heappop(places))
        core = max(place, heapq.heappop(cores))
        takes = cpu_ms / 1000 * dice.uniform(0.5, 1.5)
        heapq.heappush(cores, core + takes)
        end = core + takes + dice.lognormvariate(mean, SPREAD)
        heapq.heappush(places, end)
        busy += takes
        waits.append(core - now)
        heapq.heappush(ends, end)
        while ends[0] <= now:
            heapq.heappop(ends)
        running.append(len(ends))
    waits.sort()
    running.sort()
    return {
        "wait_p50_s": waits[count // 2],
        "wait_p95_s": waits[count * 19 // 20],
        "running_p95": min(running[count * 19 // 20], len(places)),
        "cores": busy / now,
        "connections": float(plan.processes * CONNECTIONS),
    }


def erlang(plan: Plan) -> float:
    """Return the probability that a question waits for a slot, if only slots are limited; 1 if there are too few."""
    offered, places = plan.per_minute / 60 * ANSWER_S, plan.processes * plan.places
    if offered >= places:
        return 1.0
    blocked = 1.0
    for place in range(1, places + 1):
        blocked = offered * blocked / (place + offered * blocked)
    return blocked / (1 - offered / places * (1 - blocked))


def limits(measured: Mapping[str, Any]) -> dict[str, float]:
    """How many workspaces one installation on one PostgreSQL server serves until each resource is used up."""
    one = measured["metrics"]
    a_minute = QUESTIONS_A_DAY * BUSIEST_MINUTE
    processes = MAX_CONNECTIONS // CONNECTIONS
    asked = next(n for n in range(1, 100_000) if erlang(Plan(n, processes, 1, MANY_PLACES)) > 0.05) - 1
    database_s = (one["cpu_ms_per_question_1"] - one["bot_ms_per_question_1"]) / 1000
    a_year = QUESTIONS_A_DAY * DAYS * ROWS
    return {
        "workspaces_measured": one["messages"] / a_year,
        "workspaces_discord": DISCORD_CALLS_S * EDIT_S / ANSWER_S * 60 / a_minute,
        "workspaces_connections": asked / a_minute,
        "workspaces_disk": DISK / (one["bytes_per_message"] * a_year),
        "workspaces_processor": CORES * BUSY / database_s * 60 / a_minute,
    }


def busiest(databases: int, seed: int = 1) -> tuple[float, float]:
    """The work of the busiest of several databases, compared with an equal share: for workspaces of very different
    sizes that are hashed to databases, and for those that are each put where there is the least work.
    """
    dice = random.Random(seed)
    sizes = [dice.lognormvariate(0, SPREAD_OF_SIZES) for _ in range(WORKSPACES)]
    hashed, placed = [0.0] * databases, [0.0] * databases
    for size in sizes:
        hashed[dice.randrange(databases)] += size
        heapq.heapreplace(placed, placed[0] + size)
    share = sum(sizes) / databases
    return max(hashed) / share, max(placed) / share


def simulation(measured: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, float]]:
    cpu_ms = measured["metrics"]["cpu_ms_per_question_1"]
    found = {plan.name: simulated(plan, cpu_ms) for plan in PLANS}
    metrics = {f"{name} {figure}": value for name, figures in found.items() for figure, value in figures.items()}
    metrics |= limits(measured)
    for databases in DATABASES:
        metrics[f"busiest_hashed_{databases}"], metrics[f"busiest_placed_{databases}"] = busiest(databases)
    return metrics, {f"{plan.name} waits": erlang(plan) for plan in PLANS}


def main() -> None:
    options = read_options("What is used up first as more is asked.")
    metrics, baseline = simulation(json.loads(MEASURED.read_text(encoding="utf-8")))
    SIMULATED.write_text(json.dumps({"metrics": metrics, "baseline": baseline}, indent=1) + "\n", encoding="utf-8")
    print_report("capacity", metrics, baseline, options)


if __name__ == "__main__":
    main()
