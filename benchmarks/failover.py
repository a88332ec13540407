"""Replies through the failures of the database: many conversations on both platforms, on a PostgreSQL with Patroni.

    python -m benchmarks.failover [--events 400] [--seed N] [--failure NAME] [--patroni PROGRAM] [--no-watchdog]
        [--logs FILE] [--quick] [--json]

lost, duplicates, out_of_order, tool_reruns    as in `benchmarks.chaos`
unavailable_s                                  the longest time without a committed write, in the whole run
unavailable_s_kill, _freeze, _cut, _switchover, _etcd    the same after each failure

Three members with synchronous replication, each a host with etcd, Patroni and PostgreSQL; two processes of the real
`cogency run`; Slack, Discord and the model are the tests'. While questions arrive, the primary's host dies (kill -9 of
all its processes), another one is frozen (SIGSTOP), another one is cut off from the network, the primary is switched
over as for maintenance, and all of etcd is lost. Each failed host comes back.

`--failure lag` is another test, with asynchronous replication: the replicas receive nothing for LAG_S seconds, and then
the primary's host dies. The bot has to find out what the new primary lacks.

Each host has a watchdog (`benchmarks.failover_cluster`), unless `--no-watchdog` is given. Debian 12's Patroni 3.0.2
uses etcd's API v2: through the API v3, it lets a primary that was frozen or cut off lead again, and what was stored in
between is lost.

Exit code 1: something is wrong. Without Debian's packages (`benchmarks.failover_cluster.PACKAGES`) or without root, the
benchmark says so and ends with 0.

A baseline in the same run is the longest time without a committed write before the first failure.
"""

import argparse
import asyncio
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Final

from sqlalchemy import Connection, text

from agent.errors import StoreError
from agent.machine import CLOCK
from benchmarks.chaos import CALM_S, Chaos, kept, until_connected
from benchmarks.chaos_processes import from_nothing, replicas
from benchmarks.chaos_town import Verdict, judge, town
from benchmarks.failover_cluster import TTL_S, Cluster, cluster, missing
from benchmarks.report import Options, print_report
from store.engine import Store, open_store

PROBE_S: Final = 0.1
AWAY_S: Final = TTL_S * 1.5  # Longer than the cluster waits until it replaces a primary
QUIET_S: Final = 10.0  # Before the first failure, and after each
PATIENCE_S: Final = 180.0  # The longest time without a reply
LOOK_S: Final = 0.5
LAG_S: Final = 3.0  # How long replicas receive nothing before the primary's host dies


@dataclass(slots=True)
class Probe:
    """Writes through a database of its own, and remembers when each write was committed."""

    committed: list[float] = field(default_factory=list[float])

    async def run(self, store: Store) -> None:
        while True:
            with suppress(StoreError):
                await store.database.write(_touch)
                self.committed.append(CLOCK.monotonic())
            await asyncio.sleep(PROBE_S)

    def longest_s(self, since: float, until: float) -> float:
        """Return the longest time without a commit between two times."""
        times = [since, *(at for at in self.committed if since < at < until), until]
        return max(later - earlier for earlier, later in pairwise(times))


def _touch(connection: Connection) -> None:
    connection.execute(text("UPDATE failover_probe SET number = number + 1"))


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure of the primary or of the cluster. `strike` returns what makes it good."""

    name: str
    strike: Callable[[Cluster], Awaitable[Callable[[], Awaitable[None]]]]


async def _kill(servers: Cluster) -> Callable[[], Awaitable[None]]:
    primary = await servers.primary()
    primary.signal(signal.SIGKILL)
    return lambda: servers.restart(primary)


async def _freeze(servers: Cluster) -> Callable[[], Awaitable[None]]:
    primary = await servers.primary()
    primary.signal(signal.SIGSTOP)

    async def mend() -> None:
        primary.signal(signal.SIGCONT)

    return mend


async def _cut(servers: Cluster) -> Callable[[], Awaitable[None]]:
    primary = await servers.primary()
    primary.cut(off=True)

    async def mend() -> None:
        primary.cut(off=False)

    return mend


async def _switch_over(servers: Cluster) -> Callable[[], Awaitable[None]]:
    await servers.switch_over()

    async def mend() -> None:
        """Nothing is broken."""

    return mend


async def _lose_etcd(servers: Cluster) -> Callable[[], Awaitable[None]]:
    await servers.primary()
    for member in servers.members:
        member.signal(signal.SIGKILL, etcd=True)

    async def mend() -> None:
        for member in servers.members:
            await member.start_etcd(servers.members)

    return mend


async def _lag(servers: Cluster) -> Callable[[], Awaitable[None]]:
    primary = await servers.primary()
    primary.stop_sending()
    await asyncio.sleep(LAG_S)
    primary.signal(signal.SIGKILL)
    return lambda: servers.restart(primary)


FAILURES: Final = (
    Failure("kill", _kill),
    Failure("freeze", _freeze),
    Failure("cut", _cut),
    Failure("switchover", _switch_over),
    Failure("etcd", _lose_etcd),
)
LAG: Final = Failure("lag", _lag)


@dataclass(frozen=True, slots=True)
class Result:
    verdict: Verdict
    tool_reruns: int
    unavailable_s: dict[str, float]
    """By the name of the failure; "before" is the time before the first one."""
    took_s: float
    logs: list[str]
    resets: int = 0
    """How many hosts their watchdogs have reset."""
    copied_again: int = 0
    """How many replicas could not follow any more."""

    @property
    def metrics(self) -> dict[str, float]:
        verdict, away = self.verdict, {name: value for name, value in self.unavailable_s.items() if name != "before"}
        return {
            "replies": verdict.replies,
            "lost": verdict.lost,
            "duplicates": verdict.duplicates,
            "out_of_order": verdict.out_of_order,
            "tool_reruns": self.tool_reruns,
            "unavailable_s": max(away.values()),
            **{f"unavailable_s_{name}": value for name, value in away.items()},
        }

    @property
    def wrong(self) -> int:
        verdict = self.verdict
        return verdict.lost + verdict.duplicates + verdict.out_of_order + self.tool_reruns


async def run(servers: Cluster, folder: Path, events: int, seed: int, failures: Sequence[Failure] = FAILURES) -> Result:
    chance, chaos = Random(seed), Chaos(events=events, seed=seed)
    span_s = QUIET_S + len(failures) * (AWAY_S + QUIET_S)
    async with town(chaos.conversations, events, chance) as place, probed(servers.url) as probe:
        environment = {
            **place.environment(),
            "HOME": str(folder),
            "COGENCY_DATABASE_URL": servers.url,
            "COGENCY_LEASE_S": str(chaos.lease_s),
        }
        async with replicas(2, environment, folder, from_nothing) as processes:
            await until_connected(place, processes)
            began = CLOCK.monotonic()
            await place.become_known()
            asking = asyncio.ensure_future(place.ask_everything(span_s))
            away = await _suffer(servers, probe, failures)
            replies, still_s = 0, 0.0
            while still_s < PATIENCE_S and not (asking.done() and replies == events):
                await asyncio.sleep(LOOK_S)
                before, replies = replies, judge(place, ()).replies
                still_s = 0.0 if replies > before else still_s + LOOK_S
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            took_s = CLOCK.monotonic() - began
            await asyncio.sleep(CALM_S)
        stored, reruns = await kept(servers.url)
        return Result(judge(place, stored), reruns, away, took_s, processes.logs())


async def _suffer(servers: Cluster, probe: Probe, failures: Sequence[Failure]) -> dict[str, float]:
    """Let each failure happen once, and return the longest time without a commit for each."""
    started = CLOCK.monotonic()
    await asyncio.sleep(QUIET_S)
    away = {"before": probe.longest_s(started, CLOCK.monotonic())}
    for failure in failures:
        await servers.primary()
        began = CLOCK.monotonic()
        mend = await failure.strike(servers)
        await asyncio.sleep(AWAY_S)
        await mend()
        await asyncio.sleep(QUIET_S)
        away[failure.name] = probe.longest_s(began, CLOCK.monotonic())
        print(f"{failure.name}: {away[failure.name]:.1f} s without a write", file=sys.stderr)
    return away


@asynccontextmanager
async def probed(url: str) -> AsyncGenerator[Probe]:
    """Write to the database all the time."""
    store = await open_store(url)
    probe = Probe()
    try:
        await store.database.write(_prepare)
        task = asyncio.create_task(probe.run(store))
        try:
            yield probe
        finally:
            task.cancel()
            await asyncio.wait({task})
    finally:
        await store.close()


def _prepare(connection: Connection) -> None:
    connection.execute(text("CREATE TABLE failover_probe AS SELECT 0 AS number"))


async def measured(
    folder: Path, events: int, seed: int, patroni: str, failures: Sequence[Failure], *, has_watchdogs: bool
) -> Result:
    base, logs = folder / "cluster", folder / "processes"
    base.mkdir(mode=0o755)
    logs.mkdir()
    synchronous = LAG not in failures
    async with cluster(base, patroni, has_watchdogs=has_watchdogs, is_synchronous=synchronous) as servers:
        try:
            result = await run(servers, logs, events, seed, failures)
        except RuntimeError:
            print("\n".join(servers.logs()), file=sys.stderr)
            raise
        return replace(
            result, logs=[*result.logs, *servers.logs()], resets=servers.resets, copied_again=len(servers.reinitialized)
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Replies through the failures of the database.")
    parser.add_argument("--events", type=int, default=400, help="questions")
    parser.add_argument("--seed", type=int, default=1, help="another choice of what happens when")
    parser.add_argument(
        "--failure", action="append", choices=[one.name for one in (*FAILURES, LAG)], help="only this one"
    )
    parser.add_argument(
        "--patroni",
        default="patroni",
        metavar="PROGRAM",
        help="in place of Debian's, with an interpreter that all may read",
    )
    parser.add_argument("--no-watchdog", action="store_true", help="hosts without a watchdog")
    parser.add_argument("--logs", type=Path, help="a file for what the bot, Patroni and PostgreSQL logged")
    parser.add_argument("--quick", action="store_true", help="fewer questions")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    read = parser.parse_args()
    if reason := missing():
        print(f"benchmarks.failover: skipped. {reason}")
        return
    wanted = read.failure or [one.name for one in FAILURES]
    chosen = [one for one in (*FAILURES, LAG) if one.name in wanted]
    with tempfile.TemporaryDirectory(prefix="failover-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        events = min(read.events, 100) if read.quick else read.events
        result = asyncio.run(
            measured(folder, events, read.seed, read.patroni, chosen, has_watchdogs=not read.no_watchdog)
        )
        if read.logs:
            read.logs.write_text("\n".join(result.logs))
    notes = [
        f"{events} questions, {result.took_s:.0f} s",
        f"{result.resets} resets by watchdogs, {result.copied_again} replicas copied again",
        *result.verdict.strange,
    ]
    baseline = {"longest_write_s_before": result.unavailable_s["before"]}
    options = Options(quick=read.quick, json=read.json, data=None)
    print_report("failover", result.metrics, baseline, options, "\n".join(notes))
    sys.exit(1 if result.wrong else 0)


if __name__ == "__main__":
    main()
