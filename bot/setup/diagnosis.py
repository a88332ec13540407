"""The checks and repairs of `cogency doctor` on this machine: disk, database, vendors' terms, traces, HTTP, proxy.

`bot.setup.file_rights` checks the files. The repair here is that a database is migrated to the newest version after a
backup.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from agent.errors import StoreError
from agent.ports.clock import Clock
from agent.ports.shard_leases import ListedShard
from agent.providers.catalog import Endpoint, is_loopback
from agent.providers.http_client import Http, TransportError, Untrusted, proxy_for
from bot.app.from_settings import no_traces, sends_traces
from bot.app.settings import Settings
from bot.chat.findings import Finding, Level, clock_finding
from bot.chat.http_routes import is_from_public_site
from bot.chat.network.tunnel import ProxyRefused, dial_through
from bot.chat.texts import operating as operating_texts
from bot.chat.texts.formatting import counted, enumerated
from bot.setup import texts as setup_texts
from bot.setup.file_rights import database_file
from bot.tools import texts as tool_texts
from bot.tools.mcp.config import HttpReach
from store.backup import backup
from store.database_state import look_at
from store.engine import database_beside, open_store
from store.migrations import HEAD
from store.shard_leases import listed

# Checks that wait for other services.

CheckFunction: TypeAlias = Callable[[], Awaitable[list[Finding]]]


@dataclass(frozen=True, slots=True)
class Check:
    """A check with a time limit. `late_level`: the level of the finding if it does not end within `seconds`."""

    where: str
    run: CheckFunction
    seconds: float
    late_level: Level = Level.WARNING

    async def run_in_time(self) -> list[Finding]:
        try:
            async with asyncio.timeout(self.seconds):
                return await self.run()
        except TimeoutError:
            what = setup_texts.NOT_IN_TIME.format(seconds=self.seconds)
            return [Finding(self.late_level, self.where, what, setup_texts.FETCH_AGAIN)]


def no_progress(_: Sequence[str]) -> None:
    """Ignore the progress."""


async def run_checks(checks: Sequence[Check], tell: Callable[[Sequence[str]], object] = no_progress) -> list[Finding]:
    """Run the checks concurrently; return their findings in the order of the checks. `tell`: receives the names of
    those that still run.
    """
    tasks = {asyncio.ensure_future(check.run_in_time()): check.where for check in checks}
    waiting = set(tasks)
    try:
        while waiting:
            tell([where for task, where in tasks.items() if task in waiting])
            _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [finding for task in tasks for finding in task.result()]


async def shards_held(settings: Settings, now: datetime) -> list[Finding]:
    """Return which process holds which shard of Discord; no finding while none does. Raises StoreError."""
    if database_file(settings) is not None:
        return []
    database = database_beside(settings.storage.url)
    try:
        return shard_findings(await database.read(listed, now))
    finally:
        await database.close()


def shard_findings(shards: Sequence[ListedShard]) -> list[Finding]:
    by_owner = dict[str, list[str]]()
    for shard in shards:
        by_owner.setdefault(shard.owner, []).append(str(shard.number))
    free = by_owner.pop("", [])
    if not by_owner:
        return []
    holders = "; ".join(f"{owner} holds {', '.join(numbers)}" for owner, numbers in by_owner.items())
    findings = [Finding(Level.GOOD, "Discord", f"{counted(len(shards), 'shard', 'shards')}: {holders}")]
    if free:
        what = f"no process holds {counted(len(free), 'shard', 'shards')}: {', '.join(free)}"
        findings.append(Finding(Level.WARNING, "Discord", what, setup_texts.FREE_SHARDS))
    return findings


async def migrate_after_backup(settings: Settings, now: datetime) -> list[Finding]:
    """Migrate an SQLite database to the newest version, after a backup beside it. Raises nothing."""
    try:
        look = await look_at(settings.storage.url)
        if look.version in {None, HEAD}:
            return []
        if look.is_locked:
            return [Finding(Level.NOTE, "Database", setup_texts.FIX_HELD.format(where=look.where))]
        database = database_file(settings)
        if database is None:
            return [Finding(Level.NOTE, "Database", setup_texts.FIX_ON_SERVER.format(where=look.where))]
        file = database.with_name(f"cogency-{look.version}-{now:%Y%m%d-%H%M%S}.backup")
        await backup(settings.storage.url, file, now)
        store = await open_store(settings.storage.url)
        await store.close()
    except StoreError as error:
        return [Finding(Level.PROBLEM, "Database", setup_texts.FIX_NOT_MIGRATED, str(error))]
    sentence = setup_texts.FIXED_VERSION.format(where=look.where, before=look.version, after=HEAD, file=file)
    return [Finding(Level.FIXED, "Database", sentence)]


# The disk.

# Free space needed besides a copy of the database, as backups and upgrades make: for its log and the system's files.
SPARE_BYTES: Final = 200_000_000
SPARE_FILES: Final = 1_000


@dataclass(frozen=True, slots=True)
class DiskFacts:
    """A file system. `folder`: the database's, or the nearest that exists; `free`: free bytes; `taken`: bytes of the
    database and its log; `files`: how many more files it can hold, None without such a limit.
    """

    folder: Path
    free: int
    taken: int = 0
    files: int | None = None
    read_only: bool = False
    sized: bool = True
    """False for a file system that reports no size, such as /proc: its free space says nothing."""


def disk_facts(settings: Settings) -> DiskFacts | None:
    """Return the facts of the database's file system; None without an SQLite file, or if the system reports none."""
    database = database_file(settings)
    if database is None or not hasattr(os, "statvfs"):
        return None
    try:
        folder = next(parent for parent in database.parents if parent.exists())
        status = os.statvfs(folder)
        parts = [Path(f"{database}{part}") for part in ("", "-wal")]
        used = sum(part.stat().st_size for part in parts if part.is_file())
    except (OSError, StopIteration):
        return None
    files = status.f_favail if status.f_files else None
    read_only = bool(status.f_flag & os.ST_RDONLY)
    return DiskFacts(folder, status.f_bavail * status.f_frsize, used, files, read_only, sized=status.f_blocks > 0)


def disk_findings(facts: DiskFacts | None) -> list[Finding]:
    if facts is None or not facts.sized:
        return []
    warning = partial(Finding, Level.WARNING, "Disk")
    takes = setup_texts.DISK_TAKEN.format(taken=size(facts.taken)) if facts.taken else ""
    sentence = setup_texts.DISK_FREE.format(free=size(facts.free), folder=facts.folder, takes=takes)
    findings = list[Finding]()
    if facts.read_only:
        findings.append(warning(setup_texts.DISK_READ_ONLY.format(folder=facts.folder), setup_texts.DISK_MOUNT))
    if facts.free < facts.taken + SPARE_BYTES and not facts.read_only:
        findings.append(warning(sentence, setup_texts.DISK_ROOM.format(needed=size(facts.taken + SPARE_BYTES))))
    if facts.files is not None and facts.files < SPARE_FILES:
        findings.append(
            warning(setup_texts.DISK_FILES.format(files=facts.files, folder=facts.folder), setup_texts.DISK_INODES)
        )
    return findings or [Finding(Level.GOOD, "Disk", sentence)]


def size(count: int) -> str:
    """Format a number of bytes for people: "1.4 GB"."""
    units = [(10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")]
    return next((f"{count / unit:.1f} {name}" for unit, name in units if count >= unit), f"{count} bytes")


# The clock, compared with that of a model's vendor. Each platform's module compares it with the platform's.

ASKING_S: Final = 10.0


async def vendors_clock(endpoint: Endpoint, clock: Clock) -> list[Finding]:
    """Compare the clock with the vendor's; no finding if the vendor reports no time. No key is sent."""
    http = Http(proxies=not endpoint.is_local)
    try:
        async with asyncio.timeout(ASKING_S), http.request("HEAD", f"{endpoint.base_url}/models", {}) as reply:
            vendor_date, now = reply.headers.get("date", ""), clock.now()
        return [clock_finding("Model", endpoint.label, now, parsedate_to_datetime(vendor_date).astimezone(UTC))]
    except (TransportError, TimeoutError, ValueError):
        return []
    finally:
        await http.aclose()


# Tool servers to which each person signs in: there is no token to check with, but a server asks for one.

_PING: Final = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
_MCP_HEADERS: Final = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


async def asks_who_signs_in(name: str, reach: HttpReach, clock: Clock) -> list[Finding]:
    """Check that a server answers, and that it asks for a token. Only a ping is sent."""
    http, finding = Http(proxies=True), partial(Finding, where="Tools")
    started, headers = clock.monotonic(), {**reach.headers, **_MCP_HEADERS}
    try:
        async with asyncio.timeout(ASKING_S), http.request("POST", reach.url, headers, _PING) as reply:
            seconds, status = clock.monotonic() - started, reply.status
    except Untrusted as error:
        trouble = operating_texts.CERTIFICATE_NOT_TRUSTED.format(problem=error.problem)
        return [finding(Level.WARNING, what=setup_texts.SIGN_IN_AWAY.format(name=name), remedy=f"{trouble}.")]
    except (TransportError, TimeoutError):
        return [
            finding(Level.WARNING, what=setup_texts.SIGN_IN_AWAY.format(name=name), remedy=tool_texts.CHECK_MCP_ENTRY)
        ]
    finally:
        await http.aclose()
    if status == HTTPStatus.UNAUTHORIZED:
        return [finding(Level.GOOD, what=setup_texts.SIGN_IN_ASKED.format(name=name, seconds=seconds))]
    if status < HTTPStatus.MULTIPLE_CHOICES:
        return [finding(Level.NOTE, what=setup_texts.SIGN_IN_OPEN.format(name=name, seconds=seconds))]
    what = setup_texts.SIGN_IN_ODD.format(name=name, status=status)
    return [finding(Level.WARNING, what=what, remedy=tool_texts.CHECK_MCP_ENTRY)]


# The server for other programs.


async def http_findings(address: str) -> list[Finding]:
    """Check that the bot can be reached at its public address ("https://bot.example.com") while it runs."""
    http, finding = Http(proxies=True), partial(Finding, where="HTTP")
    try:
        async with asyncio.timeout(ASKING_S), http.request("GET", f"{address}/", {}) as reply:
            status, is_ours = reply.status, is_from_public_site(reply.status, reply.headers)
    except Untrusted as error:
        trouble = operating_texts.CERTIFICATE_NOT_TRUSTED.format(problem=error.problem)
        return [finding(Level.WARNING, what=setup_texts.HTTP_AWAY.format(address=address), remedy=f"{trouble}.")]
    except (TransportError, TimeoutError):
        what = setup_texts.HTTP_AWAY.format(address=address)
        return [finding(Level.NOTE, what=what, remedy=setup_texts.HTTP_AWAY_REMEDY)]
    finally:
        await http.aclose()
    if is_ours:
        return [finding(Level.GOOD, what=setup_texts.HTTP_REACHED.format(address=address))]
    what = setup_texts.HTTP_OTHER.format(address=address, status=status)
    return [finding(Level.WARNING, what=what, remedy=setup_texts.HTTP_OTHER_REMEDY)]


# What vendors may do with people's messages.

_FREE_ROUTER: Final = "openrouter/free"
_FREE_VARIANT: Final = ":free"
# Vendors whose free plan allows training on requests, where its keys cannot be told from those of paid plans.
UNSEEN_TIERS: Final[Mapping[str, tuple[str, str]]] = {
    "gemini": ("the free tier", "https://ai.google.dev/gemini-api/terms#unpaid-services"),
    "gemini-live": ("the free tier", "https://ai.google.dev/gemini-api/terms#unpaid-services"),
    "mistral": ("the Experiment plan", "https://help.mistral.ai/en/articles/455207"),
}


def training_findings(
    models: Collection[str], endpoint: Callable[[str], Endpoint], *, on_discord: bool
) -> list[Finding]:
    """Check the models ("provider:name") for plans that allow training. OpenRouter's free models are known by name; for
    other vendors the finding says that the plan cannot be determined.
    """
    free = sorted(model for model in models if _is_free(model))
    findings = list[Finding]()
    if free:
        what = setup_texts.FREE_MODELS.format(models=enumerated(free))
        findings.append(Finding(Level.WARNING, "Model", what, setup_texts.FREE_MODELS_REMEDY))
    reported = set[str]()
    for name in sorted({model.partition(":")[0] for model in models} & UNSEEN_TIERS.keys()):
        service, (plan, terms) = endpoint(name), UNSEEN_TIERS[name]
        if service.key_required and service.key_setting not in reported:  # a private gateway requires no key
            reported.add(service.key_setting)
            what = setup_texts.TIER_UNSEEN.format(key=service.key_setting, plan=plan, label=service.label)
            findings.append(Finding(Level.NOTE, "Model", what, setup_texts.TIER_REMEDY.format(terms=terms)))
    if findings and on_discord:
        findings.append(Finding(Level.NOTE, "Discord", setup_texts.DISCORD_FORBIDS, setup_texts.DISCORD_POLICY))
    return findings


def _is_free(model: str) -> bool:
    provider, _, name = model.partition(":")
    return provider == "openrouter" and (name.endswith(_FREE_VARIANT) or name == _FREE_ROUTER)


# Traces.

_CONTENT: Final = ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "TRACELOOP_TRACE_CONTENT")
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


def trace_findings(settings: Settings, find_module: Callable[[str], object]) -> list[Finding]:
    """Check where traces are sent; no finding where they are off. `find_module`: as for `no_traces`."""
    otel = settings.opentelemetry
    if not sends_traces(settings):
        return []
    finding = partial(Finding, where="Traces")
    if reason := no_traces(settings, find_module):
        return [finding(Level.WARNING, what=setup_texts.TRACES_NOT_SENT, remedy=reason)]
    address = next(otel[name].strip() for name in _ENDPOINTS if otel.get(name, "").strip())
    parts = urlsplit(address)
    findings = [finding(Level.GOOD, what=setup_texts.TRACES_SENT.format(host=parts.hostname or address))]
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        what = setup_texts.TRACES_PLAIN.format(host=parts.hostname)
        findings = [finding(Level.WARNING, what=what, remedy=setup_texts.TRACES_HTTPS)]
    content = [name for name in _CONTENT if otel.get(name, "").strip().lower() not in {"", "false", "no_content", "0"}]
    return findings + [finding(Level.NOTE, what=setup_texts.TRACES_WORDLESS.format(name=name)) for name in content]


# The proxy, by which each service is reached, or not.

PROXY_S: Final = 10.0  # For one connection


async def proxy_findings(addresses: Collection[str]) -> list[Finding]:
    """Check that the environment's proxy connects to the hosts of these addresses (https); no finding without one."""
    hosts = {f"{parts.hostname}:{parts.port or 443}": parts for parts in map(urlsplit, addresses)}
    through = {host: proxy for host, parts in hosts.items() if (proxy := proxy_for(parts.geturl()))}
    problems = [await _proxy_problem(proxy, host) for host, proxy in sorted(through.items())]
    findings = [finding for finding in problems if finding is not None]
    if through and not findings:
        shown = ", ".join(sorted({_shown_proxy(proxy) for proxy in through.values()}))
        what = setup_texts.PROXY_WORKS.format(proxy=shown, hosts=enumerated(sorted(through)))
        findings.append(Finding(Level.GOOD, "Proxy", what))
    return list(dict.fromkeys(findings))


async def _proxy_problem(proxy: str, host: str) -> Finding | None:
    name, _, port = host.rpartition(":")
    finding, shown = partial(Finding, Level.PROBLEM, "Proxy"), _shown_proxy(proxy)
    try:
        async with asyncio.timeout(PROXY_S):
            _, writer = await dial_through(proxy, name.strip("[]"), int(port), None, None)
    except ProxyRefused as refused:
        if refused.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            return finding(setup_texts.PROXY_WANTS_USER.format(proxy=shown), setup_texts.PROXY_USER)
        what = setup_texts.PROXY_REFUSES.format(proxy=shown, host=host, status=refused.status or "no readable answer")
        return finding(what, setup_texts.PROXY_ALLOW.format(host=host))
    except OSError:  # TimeoutError among them
        return finding(setup_texts.PROXY_AWAY.format(proxy=shown), setup_texts.PROXY_CHECK)
    writer.transport.abort()
    return None


def _shown_proxy(proxy: str) -> str:
    return proxy.partition("://")[2].rpartition("@")[2]
