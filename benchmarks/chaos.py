"""Replies through crashes: many conversations on both platforms, with processes killed, suspended and disconnected.

    python -m benchmarks.chaos [--replicas 3] [--events 400] [--engine postgresql|sqlite] [--scale] [--seed N]
                                [--versions [--old COMMIT]] [--logs FOLDER] [--quick] [--json]

replies        questions whose reply is complete, is shown once and is the model's text
duplicates     questions whose reply is shown more than once
lost           questions with no reply, a partial reply or another text
out_of_order   replies that precede the reply to an earlier question of their conversation; where Slack had to send a
               question again, or its acknowledgement took long, the ledger's order counts
tool_reruns    calls that were run again after they had left a note

The processes are the real `cogency run`: on PostgreSQL `--replicas` of them, on SQLite one, which is restarted. Slack,
Discord and the model are the tests', in this process. Exit code 1: something is wrong.

`--scale`: four processes, two Slack apps in different workspaces, and eight connections to Discord for sixteen servers,
which the processes divide by leases. Processes are suspended for longer than those leases.

`--versions`: an upgrade. Two processes of an older version answer; one of the newer version migrates the database, and
a second one follows; then an older one is killed and restarted on the newer database, and both are replaced, one of
them by SIGTERM. Meanwhile processes are suspended and disconnected. For the two versions see
`benchmarks.chaos_versions`.

A baseline in the same run is the share of replies that needed help: how often Slack had to send an event again, how
often a process was started, and how often the bot had to say that a reply takes longer (`notices`).
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from sqlalchemy import Connection, select

from agent.machine import CLOCK
from agent.stored_messages import Author
from benchmarks.chaos_evidence import conversations_in, in_ledger, keep, on_platforms
from benchmarks.chaos_model import NOTE, QUESTION
from benchmarks.chaos_processes import Blows, Launch, Replicas, from_nothing, replicas
from benchmarks.chaos_town import Town, Verdict, judge, town
from benchmarks.chaos_versions import NoSuchVersion, TakeOver, Versions, versions
from benchmarks.report import Options, print_report
from store.engine import open_store
from store.memory_tables import fact
from store.message_tables import message
from tests.fakes.postgresql import PostgresServer, running_postgres

START_S = 120.0  # For the first start of all processes: Discord makes eight connections start five seconds apart
LOOK_S = 0.5
CALM_S = 4.0  # After the last reply: a suspended process that wakes up late must not change anything
# The longest time without a complete reply: a run that lost one would never end. The time of a whole run depends on
# the machine: four hundred questions take about a minute on two idle cores, and several minutes on busy ones.
PATIENCE_S = 90.0
# The share of it that passes while a process is not connected. Of four hundred questions a run once counted nearly all
# as lost: on a machine with a load of twelve, the processes that were killed took more than a minute to start.
STARTING = 0.2


@dataclass(frozen=True, slots=True)
class Chaos:
    """The settings of one run. It ends when every question has its reply, or none has come for `PATIENCE_S`."""

    engine: str = "postgresql"
    replicas: int = 3
    events: int = 400
    conversations: int = 25
    kills: int = 10
    stops: int = 4
    cuts: int = 6
    seed: int = 1
    lease_s: float = 3.0
    """Short, so that several processes can die, be detected and be replaced in one minute."""
    stop_s: float = 3.9
    """The mean time for which a process is suspended; it varies from half of this to one and a half."""
    spread_s: float = 0.06
    """Seconds for each question: about sixteen questions a second."""
    apps: int = 1
    shards: int = 1

    @property
    def asking_s(self) -> float:
        return self.events * self.spread_s

    @property
    def blows(self) -> Blows:
        return Blows(self.kills, self.stops, self.cuts, span_s=self.asking_s * 1.25, stop_s=self.stop_s)

    def of_scale(self) -> "Chaos":
        """The same with two apps and eight connections. The lease of a connection is nine seconds, so processes are
        suspended for ten to thirty seconds, and questions are asked over a longer time.
        """
        wide = replace(self, conversations=48, apps=2, shards=8)
        return replace(wide, stop_s=20.0, spread_s=0.18, cuts=12)

    def of_versions(self) -> "Chaos":
        """The same during an upgrade, which ends processes itself: questions are asked until it is complete."""
        return replace(self, replicas=2, kills=0, spread_s=max(0.15, 60.0 / self.events))


@dataclass(frozen=True, slots=True)
class Result:
    verdict: Verdict
    tool_reruns: int
    took_s: float
    starts: int
    redelivered: int
    twice: int
    requests: int
    asked_again: int
    taken_over: int
    """Connections to Discord that were resumed while a suspended process still held them."""
    violations: tuple[str, ...]
    """Requests that Discord refused from processes that divide its connections; and missing steps of an upgrade."""
    remarks: tuple[str, ...] = ()
    """Requests that Discord refused, and that were repeated: of an older program, which may not divide connections yet,
    or of a single process that was restarted within seconds.
    """
    upgrade: dict[str, float] = field(default_factory=dict[str, float])
    """Requests to the model before the database was migrated, and those of the older program after that."""
    logs: list[str] = field(default_factory=list[str])
    evidence: dict[str, str] = field(default_factory=dict[str, str])
    """What is kept if something is wrong (`benchmarks.chaos_evidence`), by the name of its file."""

    @property
    def metrics(self) -> dict[str, float]:
        verdict = self.verdict
        return {
            "replies": verdict.replies,
            "duplicates": verdict.duplicates,
            "lost": verdict.lost,
            "out_of_order": verdict.out_of_order,
            "tool_reruns": self.tool_reruns,
        }

    @property
    def wrong(self) -> int:
        verdict = self.verdict
        wrong = verdict.duplicates + verdict.lost + verdict.out_of_order + self.tool_reruns
        return wrong + len(verdict.strange) + len(self.violations)


async def run(
    chaos: Chaos, folder: Path, url: str, launch: Launch = from_nothing, both: Versions | None = None
) -> Result:
    """`url`: an empty database. `folder`: for the logs. `both`: the versions of an upgrade."""
    chance = Random(chaos.seed)
    own = both.old.environment() if both else None
    async with town(chaos.conversations, chaos.events, chance, apps=chaos.apps, shards=chaos.shards) as place:
        environment = {
            **place.environment(),
            **_served(place, folder),
            "HOME": str(folder),
            "COGENCY_DATABASE_URL": url,
            "COGENCY_LEASE_S": str(chaos.lease_s),
        }
        upgrade = TakeOver(both, url, place.model) if both else None
        async with replicas(chaos.replicas, environment, folder, launch, own) as processes:
            await until_connected(place, processes)
            began = CLOCK.monotonic()
            await _through(place, processes, chaos, upgrade)
            took_s = CLOCK.monotonic() - began
            await asyncio.sleep(CALM_S)
        stored, reruns = await kept(url)
        undivided = upgrade is not None or chaos.engine == "sqlite"
        verdict = judge(place, stored)
        faulty = conversations_in(place, verdict.strange)
        return Result(
            verdict,
            reruns,
            took_s,
            next(processes.starts) - 1,
            place.redelivery.repeated,
            place.twice,
            place.model.requests,
            len(place.model.repeated),
            len(place.discord.shard_violations) - len(violations := place.divided_badly()),
            upgrade.faults() if upgrade else () if undivided else violations,
            violations if undivided else (),
            upgrade.figures() if upgrade else {},
            processes.logs(),
            {
                "verdict.log": "\n".join(verdict.strange),
                "platforms.log": on_platforms(place, faulty),
                "ledger.log": await in_ledger(url, faulty) if faulty else "",
            },
        )


def _served(place: Town, folder: Path) -> dict[str, str]:
    """Return the setting of Slack's apps, if there are several."""
    if len(place.slack.states) == 1:
        return {}
    file = folder / "apps.toml"
    file.write_text(place.apps())
    file.chmod(0o600)
    return {"COGENCY_SLACK_APPS": str(file), "SLACK_BOT_TOKEN": "", "SLACK_APP_TOKEN": ""}


async def until_connected(place: Town, processes: Replicas) -> None:
    try:
        async with asyncio.timeout(START_S):
            while not place.connected(processes.number):  # noqa: ASYNC110 -- it happens in other processes
                await asyncio.sleep(LOOK_S)
    except TimeoutError:
        raise RuntimeError("\n".join(["the processes do not connect", *processes.logs()])) from None


async def _through(place: Town, processes: Replicas, chaos: Chaos, upgrade: TakeOver | None) -> None:
    """Ask questions and disturb processes, until everything is answered or no more replies come."""
    happening = asyncio.ensure_future(_ask_and_hit(place, processes, chaos, upgrade))
    replies, still_s = 0, 0.0
    while still_s < PATIENCE_S and not (happening.done() and replies == chaos.events):
        await asyncio.sleep(LOOK_S)
        before, replies = replies, judge(place, ()).replies
        waited_s = LOOK_S if place.connected(processes.number) else LOOK_S * STARTING
        still_s = 0.0 if replies > before else still_s + waited_s
    happening.cancel()  # the verdict lists what is missing
    await asyncio.gather(happening, return_exceptions=not happening.done())


async def _ask_and_hit(place: Town, processes: Replicas, chaos: Chaos, upgrade: TakeOver | None) -> None:
    await place.become_known()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(place.ask_everything(chaos.asking_s))
        tasks.create_task(processes.suffer(chaos.blows, Random(chaos.seed), place.cut))
        if upgrade is not None:
            tasks.create_task(upgrade.through(processes, chaos.asking_s))


async def kept(url: str) -> tuple[list[str], int]:
    """Return the questions in the ledger's order, and the calls that left more than one note. The order is that of
    storing, except that a late question comes before later ones that still waited.
    """

    def read(connection: Connection) -> tuple[Sequence[str], Sequence[str]]:
        asked = select(message.c.text).where(message.c.author == Author.PERSON).order_by(message.c.turn, message.c.id)
        return connection.execute(asked).scalars().all(), connection.execute(select(fact.c.value)).scalars().all()

    store = await open_store(url)
    try:
        asked, facts = await store.database.read(read)
    finally:
        await store.close()
    notes = [found for text in facts if (found := NOTE.search(text))]
    twice = len(notes) - len({(found[1], found[2]) for found in notes})
    return [found[1] for text in asked if (found := QUESTION.search(text))], twice


@asynccontextmanager
async def database(engine: str, folder: Path, server: PostgresServer | None) -> AsyncGenerator[str]:
    """Provide the URL of an empty database."""
    if server is None or engine == "sqlite":
        yield f"sqlite:///{folder / 'bot.db'}"
    else:
        async with server.database() as url:
            yield url


@contextmanager
def _server(engine: str) -> Generator[PostgresServer | None]:
    if engine == "sqlite":
        yield None
    else:
        with running_postgres() as server:
            yield server


def _options(arguments: list[str] | None) -> tuple[Chaos, Options, str | None, Path | None]:
    """Return the settings; the older version's commit for an upgrade: None without one, "" for any commit; and where
    the logs go if something is wrong.
    """
    parser = argparse.ArgumentParser(description="Replies through crashes.")
    parser.add_argument("--replicas", type=int, default=0, help="processes on PostgreSQL; 3, with --scale 4")
    parser.add_argument("--events", type=int, default=400, help="questions")
    parser.add_argument("--engine", choices=("postgresql", "sqlite"), default="postgresql")
    parser.add_argument("--seed", type=int, default=1, help="another choice of what happens when")
    parser.add_argument("--scale", action="store_true", help="two apps of Slack and eight connections to Discord")
    parser.add_argument("--versions", action="store_true", help="a newer version takes over from an older one")
    parser.add_argument("--old", default="", metavar="COMMIT", help="the older version; else the last one that works")
    parser.add_argument(
        "--logs", type=Path, metavar="FOLDER", help="if something is wrong, what explains it goes there"
    )
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    read = parser.parse_args(arguments)
    if (read.scale or read.versions) and read.engine == "sqlite":
        parser.error("--scale and --versions take several processes, and so PostgreSQL")
    if (read.scale and read.versions) or (read.old and not read.versions):
        parser.error("--old goes with --versions, and --versions without --scale")
    number = 1 if read.engine == "sqlite" else read.replicas or (4 if read.scale else 3)
    events = min(read.events, 100) if read.quick else read.events
    chaos = Chaos(read.engine, number, events, seed=read.seed)
    chaos = chaos.of_scale() if read.scale else chaos.of_versions() if read.versions else chaos
    return chaos, Options(quick=read.quick, json=read.json, data=None), read.old if read.versions else None, read.logs


async def measured(chaos: Chaos, folder: Path, server: PostgresServer | None, both: Versions | None) -> Result:
    async with database(chaos.engine, folder, server) as url:
        return await run(chaos, folder, url, both=both)


def main() -> None:
    chaos, options, old, logs = _options(None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            both = None if old is None else versions(folder, old)
        except NoSuchVersion as error:
            sys.exit(f"benchmarks.chaos: {error}")
        with _server(chaos.engine) as server:
            result = asyncio.run(measured(chaos, folder, server, both))
        if result.wrong and logs is not None:
            keep(logs, folder, result.evidence)
    notes = [
        f"{chaos.events} questions on {chaos.engine}, {result.took_s:.0f} s",
        *([f"older: {both.old}; newer: {both.new}"] if both else []),
        *result.verdict.strange,
        *result.violations,
        *result.remarks,
    ]
    baseline = {
        "processes_started": result.starts,
        "events_redelivered": result.redelivered,
        "events_sent_twice": result.twice,
        "notices": result.verdict.notices,
        "model_requests": result.requests,
        "model_requests_of_stopped_processes": result.asked_again,
        "shards_of_stopped_processes": result.taken_over,
        **result.upgrade,
    }
    print_report("chaos", result.metrics, baseline, options, "\n".join(notes))
    sys.exit(1 if result.wrong else 0)


if __name__ == "__main__":
    main()
