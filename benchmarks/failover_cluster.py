"""The PostgreSQL of `benchmarks.failover`: three members with Patroni and etcd, each a host of its own.

A host is a network namespace, connected to this machine by a bridge, with all processes of one member: etcd, Patroni
and PostgreSQL. The programs are those of Debian's packages; namespaces need root.

Each host has a watchdog, which is a process outside of it: this machine's kernel has none. As a hardware watchdog does,
it resets a host whose Patroni is the primary's and does not report in time. Patroni's driver "testing" reports through
a FIFO what it otherwise reports to /dev/watchdog.
"""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import httpx

PACKAGES: Final = ("patroni", "etcd-server", "postgresql", "iproute2")
USER: Final = "postgres"
BRIDGE: Final = "cgfo0"
NET: Final = "10.77.0"
MEMBERS: Final = 3
PASSWORD: Final = "open-sesame"  # noqa: S105 -- of a cluster that ends with the benchmark
READY_S: Final = 120.0
LOOK_S: Final = 0.2
COMMAND_S: Final = 30.0
# Before, Patroni writes the leader's key through etcd's API v3 without comparing it once its lease has run out: a
# primary that was frozen or cut off then leads again. Through the API v2, it compares the key.
COMPARES_KEYS: Final = (3, 1)
OLD_API: Final = "etcd"
START_FAILED: Final = "start failed"  # As Patroni calls it
BOOT_S: Final = 5.0  # From the reset of a host to its first process
# The shortest times that Patroni allows: a primary that does not renew its lease for so long is replaced.
TTL_S: Final = 20

_CONFIGURATION: Final = """
scope: cogency
name: m{number}
restapi:
  listen: {host}:8008
  connect_address: {host}:8008
{api}:
  hosts: [{etcd}]
bootstrap:
  dcs:
    ttl: {ttl}
    loop_wait: 5
    retry_timeout: 5
    synchronous_mode: {synchronous}
    failsafe_mode: true
    postgresql:
      use_pg_rewind: true
      parameters:
        max_connections: 100
        shared_buffers: 64MB
        wal_log_hints: "on"
  initdb:
    - encoding: UTF8
    - locale: C
    - data-checksums
postgresql:
  listen: {host}:5432
  connect_address: {host}:5432
  data_dir: {folder}/data
  bin_dir: {programs}
  pgpass: {folder}/pgpass
  pg_hba:
    - local all all trust
    - host all all {net}.0/24 scram-sha-256
    - host replication all {net}.0/24 scram-sha-256
  authentication:
    superuser: {{username: postgres, password: {password}}}
    replication: {{username: replicator, password: {password}}}
    rewind: {{username: rewinder, password: {password}}}
  parameters:
    unix_socket_directories: {folder}
{watchdog}"""
_WATCHDOG: Final = """watchdog:
  mode: required
  driver: testing
  device: {device}
"""
_TIMEOUT: Final = re.compile(rb"Ctimeout=(\d{1,5})\n")


def missing() -> str | None:
    """Return what is missing on this machine, as a sentence; None if nothing is."""
    programs = {"patroni": "patroni", "etcd": "etcd-server", "ip": "iproute2"}
    lacking = [package for program, package in programs.items() if not shutil.which(program)]
    lacking += [] if _programs() else ["postgresql"]
    if lacking:
        return f"Debian's packages are not installed: apt-get install {' '.join(lacking)}"
    return None if os.geteuid() == 0 else "network namespaces need root"


def _programs() -> Path | None:
    """Return the folder of the newest PostgreSQL of Debian."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def _version(patroni: str) -> tuple[int, ...]:
    found = re.search(rb"(\d+)\.(\d+)", _run(patroni, "--version"))
    return () if found is None else (int(found[1]), int(found[2]))


def _run(*command: str) -> bytes:
    return subprocess.run(command, check=True, capture_output=True, timeout=COMMAND_S).stdout


@dataclass(frozen=True, slots=True)
class Member:
    """One host. It has its address and its name space, in which all of its processes run."""

    number: int
    folder: Path
    patroni: str = "patroni"
    """The program; else Debian's."""
    has_watchdog: bool = True
    is_synchronous: bool = True
    """Whether its cluster replicates synchronously."""
    version: tuple[int, ...] = ()
    """Of Patroni."""

    @property
    def space(self) -> str:
        return f"cgfo{self.number}"

    @property
    def host(self) -> str:
        return f"{NET}.{10 + self.number}"

    @property
    def api(self) -> str:
        """The API of etcd that Patroni uses, as its configuration calls it."""
        return OLD_API if self.version < COMPARES_KEYS else "etcd3"

    @property
    def device(self) -> Path:
        """What Patroni writes to in place of /dev/watchdog."""
        return self.folder / "watchdog"

    def connect(self) -> None:
        """Create the host's network."""
        outer, inner = f"{self.space}o", f"{self.space}i"
        _run("ip", "netns", "add", self.space)
        _run("ip", "link", "add", outer, "type", "veth", "peer", "name", inner, "netns", self.space)
        _run("ip", "link", "set", outer, "master", BRIDGE, "up")
        for command in (("addr", "add", f"{self.host}/24", "dev", inner), ("link", "set", inner, "up")):
            _run("ip", "-n", self.space, *command)
        _run("ip", "-n", self.space, "link", "set", "lo", "up")

    def disconnect(self) -> None:
        """End the host: its processes and its network."""
        with suppress(subprocess.CalledProcessError):
            self.signal(signal.SIGKILL)
            _run("ip", "link", "del", f"{self.space}o")
        with suppress(subprocess.CalledProcessError):
            _run("ip", "netns", "del", self.space)

    def cut(self, *, off: bool) -> None:
        """Unplug the host's cable, or plug it in."""
        _run("ip", "link", "set", f"{self.space}o", "down" if off else "up")

    def pids(self, *, etcd: bool | None = None) -> list[int]:
        """Return the processes of the host; only those of etcd or only the others, if `etcd` is given."""
        found = [int(line) for line in _run("ip", "netns", "pids", self.space).split()]
        return found if etcd is None else [pid for pid in found if (_name(pid) == "etcd") is etcd]

    def signal(self, number: int, *, etcd: bool | None = None) -> None:
        for pid in self.pids(etcd=etcd):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def stop_sending(self) -> None:
        """Freeze the processes that send changes to replicas."""
        for pid in filter(_is_sender, self.pids()):
            os.kill(pid, signal.SIGSTOP)

    async def start_etcd(self, members: Sequence["Member"]) -> None:
        cluster = ",".join(f"m{member.number}=http://{member.host}:2380" for member in members)
        data = self.folder / "etcd"
        await self._start(
            "etcd",
            *("etcd", "--name", f"m{self.number}", "--data-dir", str(data)),
            *("--listen-peer-urls", f"http://{self.host}:2380", "--listen-client-urls", f"http://{self.host}:2379"),
            *("--initial-advertise-peer-urls", f"http://{self.host}:2380"),
            *("--advertise-client-urls", f"http://{self.host}:2379"),
            *(("--enable-v2",) if self.api == OLD_API else ()),
            *("--initial-cluster", cluster, "--initial-cluster-state", "existing" if data.exists() else "new"),
        )

    async def start_patroni(self, members: Sequence["Member"]) -> None:
        settings = self.folder / "patroni.yml"
        settings.write_text(
            _CONFIGURATION.format(
                number=self.number,
                host=self.host,
                api=self.api,
                etcd=", ".join(f"'{member.host}:2379'" for member in members),
                ttl=TTL_S,
                net=NET,
                folder=self.folder,
                programs=_programs(),
                password=PASSWORD,
                synchronous=str(self.is_synchronous).lower(),
                watchdog=_WATCHDOG.format(device=self.device) if self.has_watchdog else "",
            )
        )
        await self._start("patroni", self.patroni, str(settings))

    async def _start(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            await asyncio.create_subprocess_exec(
                *("ip", "netns", "exec", self.space, "setpriv", "--reuid", USER, "--regid", USER, "--clear-groups"),
                *command,
                cwd=self.folder,
                stdout=log,
                stderr=log,
                env={"PATH": f"{os.defpath}:/usr/sbin:/sbin", "LANG": "C.UTF-8", "HOME": str(self.folder)},
            )


class Watchdog:
    """Kills all processes of a host if it is armed and not written to in time, and `boot` starts it again.

    `reset_count`: how often.
    """

    def __init__(self, member: Member, boot: Callable[[], Coroutine[object, object, None]]) -> None:
        self.reset_count = 0
        self._member = member
        self._boot = boot
        self._booting: asyncio.Task[None] | None = None
        self._timeout_s = float(TTL_S)
        self._timer: asyncio.TimerHandle | None = None
        os.mkfifo(member.device)
        shutil.chown(member.device, USER, USER)
        self._device = os.open(member.device, os.O_RDWR | os.O_NONBLOCK)  # For writing too, so that it never ends
        asyncio.get_running_loop().add_reader(self._device, self._heard)

    def _heard(self) -> None:
        """Any write arms it; one that ends in "V" disarms it."""
        written = os.read(self._device, 4096)
        for match in _TIMEOUT.finditer(written):
            self._timeout_s = float(match[1])
        self._disarm()
        if not written.endswith(b"V"):
            self._timer = asyncio.get_running_loop().call_later(self._timeout_s, self._reset)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _reset(self) -> None:
        if self._member.pids():
            self.reset_count += 1
            self._member.signal(signal.SIGKILL)
            self._booting = asyncio.create_task(self._start_again())

    async def _start_again(self) -> None:
        await asyncio.sleep(BOOT_S)
        await self._boot()

    def close(self) -> None:
        self._disarm()
        if self._booting is not None:
            self._booting.cancel()
        asyncio.get_running_loop().remove_reader(self._device)
        os.close(self._device)


def _is_sender(pid: int) -> bool:
    """Return whether it is a process of PostgreSQL that sends changes to a replica."""
    try:
        return b"walsender" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class Cluster:
    members: tuple[Member, ...]
    watchdogs: tuple[Watchdog, ...] = ()
    """Those of hosts that have one."""
    reinitialized: list[str] = field(default_factory=list[str])
    """The names of members whose data were copied again from the primary."""

    @property
    def url(self) -> str:
        hosts = ",".join(f"{member.host}:5432" for member in self.members)
        return f"postgresql://postgres:{PASSWORD}@{hosts}/postgres"

    @property
    def resets(self) -> int:
        """How many hosts their watchdogs have reset."""
        return sum(watchdog.reset_count for watchdog in self.watchdogs)

    def logs(self) -> list[str]:
        """Return what Patroni and PostgreSQL logged."""
        logs = [(member, (member.folder / "patroni.log").read_text(errors="replace")) for member in self.members]
        return [f"m{member.number}: {line}" for member, log in logs for line in log.splitlines()]

    async def states(self) -> list[dict[str, Any]]:
        """Return what Patroni says of each member, by the first one that answers."""
        async with httpx.AsyncClient(timeout=2.0, trust_env=False) as client:
            for member in self.members:
                with suppress(httpx.HTTPError, ValueError):
                    found = (await client.get(f"http://{member.host}:8008/cluster")).json()
                    return cast("list[dict[str, Any]]", found["members"])
        return []

    async def primary(self) -> Member:
        """Return the primary, once the cluster has one and all members follow it. Raises RuntimeError."""
        try:
            async with asyncio.timeout(READY_S):
                return await self._primary()
        except TimeoutError:
            raise RuntimeError(f"the cluster was not complete within {READY_S:g} s") from None

    async def _primary(self) -> Member:
        needed = {"leader", "sync_standby"} if self.members[0].is_synchronous else {"leader"}
        while True:
            states = await self.states()
            for one in states:
                if one.get("state") == START_FAILED and one["name"] not in self.reinitialized:
                    await self._reinitialize(one["name"], one["host"])
            healthy = [one for one in states if one.get("state") in {"running", "streaming"}]
            roles = [one.get("role") for one in healthy]
            same = len({one.get("timeline") for one in healthy}) == 1
            if len(healthy) == len(self.members) and same and needed <= set(roles):
                leader = healthy[roles.index("leader")]["name"]
                return next(member for member in self.members if f"m{member.number}" == leader)
            await asyncio.sleep(LOOK_S)

    async def _reinitialize(self, name: str, host: str) -> None:
        """Do what an operator does about a replica that cannot follow any more: `patronictl reinit`."""
        self.reinitialized.append(name)
        async with httpx.AsyncClient(timeout=60.0, trust_env=False) as client:
            await client.post(f"http://{host}:8008/reinitialize", json={"force": True})

    async def switch_over(self) -> None:
        leader = await self.primary()
        states = await self.states()
        standby = next(one["name"] for one in states if one.get("role") == "sync_standby")
        asked = {"leader": f"m{leader.number}", "candidate": standby}
        async with httpx.AsyncClient(timeout=60.0, trust_env=False) as client:
            (await client.post(f"http://{leader.host}:8008/switchover", json=asked)).raise_for_status()

    async def restart(self, member: Member) -> None:
        await member.start_etcd(self.members)
        await member.start_patroni(self.members)


@asynccontextmanager
async def cluster(
    folder: Path, patroni: str, *, has_watchdogs: bool = True, is_synchronous: bool = True
) -> AsyncGenerator[Cluster]:
    """Run a cluster with synchronous or asynchronous replication. `folder`: for its data and logs."""
    numbers, version = range(1, MEMBERS + 1), _version(patroni)
    members = tuple(
        Member(number, folder / f"m{number}", patroni, has_watchdogs, is_synchronous, version) for number in numbers
    )
    bare, watchdogs = Cluster(members), list[Watchdog]()
    try:
        _run("ip", "link", "add", BRIDGE, "type", "bridge")
        _run("ip", "addr", "add", f"{NET}.1/24", "dev", BRIDGE)
        _run("ip", "link", "set", BRIDGE, "up")
        for member in members:
            member.folder.mkdir()
            shutil.chown(member.folder, USER, USER)
            member.connect()
            watchdogs += [Watchdog(member, partial(bare.restart, member))] if has_watchdogs else []
        running = replace(bare, watchdogs=tuple(watchdogs))
        for member in members:
            await member.start_etcd(members)
        for member in members:
            await member.start_patroni(members)
        try:
            await running.primary()
        except RuntimeError:
            print("\n".join(running.logs()), file=sys.stderr)
            raise
        yield running
    finally:
        for watchdog in watchdogs:
            watchdog.close()
        for member in members:
            member.disconnect()
        with suppress(subprocess.CalledProcessError):
            _run("ip", "link", "del", BRIDGE)
