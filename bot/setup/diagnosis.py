"""The checks and repairs of `cogency doctor` on this machine: file rights, disk, database, vendors' terms, traces.

Rules
  There are two repairs: rights are narrowed, of files that our user owns and that a start would read or write; and a
  database is migrated to the newest version after a backup. Files of other users and symbolic links are not changed.
  Who can read a file follows from its rights and those of each folder above it. Root can read every file, and is not
  reported.
"""

import asyncio
import os
import stat
import struct
import sys
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from agent.errors import SettingsError, StoreError
from agent.machine import sqlite_path
from agent.ports.clock import Clock
from agent.ports.shard_leases import ListedShard
from agent.providers.catalog import Endpoint, is_loopback
from agent.providers.http_client import Http, TransportError, Untrusted, proxy_for
from bot.app.from_settings import app_secret_files, no_traces, sends_traces
from bot.app.settings import Settings
from bot.chat.findings import Finding, Level, clock_finding
from bot.chat.http_routes import is_from_public_site
from bot.chat.network.tunnel import ProxyRefused, dial_through
from bot.chat.texts import operating as operating_texts
from bot.chat.texts.formatting import counted
from bot.settings.sources import group_name, is_own_group, named_file, owner_name
from bot.setup import texts as setup_texts
from bot.setup.operator_hooks import secret_files
from bot.tools import texts as tool_texts
from bot.tools.mcp.config import HttpReach
from bot.tools.mcp.settings import MCP, mcp_file
from bot.webhooks.outgoing.settings import OUTGOING, outgoing_rows
from bot.webhooks.settings import WEBHOOKS
from store.backup import backup
from store.engine import database_beside, look_at, open_store
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


# Who can read a file. Pure, but for `rights_of`.

_ACL: Final = "system.posix_acl_access"
_USER, _GROUP_OWNER, _GROUP, _MASK = 0x02, 0x04, 0x08, 0x10
_UNDEFINED: Final = 2**32 - 1  # The id in entries of an access list that name no user or group


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of a file or a folder. `acl_readers`: users and groups that an access list lets read it; `has_acl`:
    whether it has an access list.
    """

    mode: int
    owner: int
    group: int
    acl_readers: tuple[str, ...] = ()
    has_acl: bool = False

    @property
    def is_sticky(self) -> bool:
        """Whether only a file's owner may remove or replace it in this folder."""
        return bool(self.mode & stat.S_ISVTX)


@dataclass(frozen=True, slots=True)
class AccountNames:
    """Looks up the system's names of users and groups. `is_own`: whether a group has only this user."""

    user: Callable[[int], str] = owner_name
    group: Callable[[int], str] = group_name
    is_own: Callable[[int, int], bool] = is_own_group


def rights_of(path: Path, names: AccountNames) -> Rights | None:
    """Return the rights of a path; None if it does not exist or is not accessible."""
    try:
        status = path.stat()
    except OSError:
        return None
    acl = b""
    if hasattr(os, "getxattr"):
        with suppress(OSError):  # it has no access list, or its file system supports none
            acl = os.getxattr(path, _ACL)
    return with_acl(Rights(stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid), acl, names)


def with_acl(rights: Rights, acl: bytes, names: AccountNames) -> Rights:
    """Apply an access list to a mode. With a list, the mode's group bits are the mask that limits all its entries.

    `acl`: in Linux's form: a version, then a tag, permission bits and an id for each entry.
    """
    entries = [struct.unpack_from("<HHI", acl, at) for at in range(4, len(acl) - 7, 8)]
    if not entries:
        return rights
    mask = next((bits for tag, bits, _ in entries if tag == _MASK), 7)
    readable_by = [
        names.user(id_) if tag == _USER else setup_texts.THE_GROUP.format(name=names.group(id_))
        for tag, bits, id_ in entries
        if tag in {_USER, _GROUP} and bits & mask & 4 and id_ != _UNDEFINED
    ]
    group_bits = next((bits for tag, bits, _ in entries if tag == _GROUP_OWNER), 0) & mask
    return Rights(rights.mode & ~0o070 | group_bits << 3, rights.owner, rights.group, tuple(readable_by), has_acl=True)


def readers(file: Rights, above: Sequence[Rights], names: AccountNames) -> list[str]:
    """Return who can read a file besides its owner, given the folders above it."""
    # A file that anyone may read is safe in a folder that nobody may enter.
    for_all, by_list = (all(test(rights) for rights in above) for test in (_all_may_enter, _some_may_enter))
    if file.mode & stat.S_IROTH and (for_all or by_list):
        return [setup_texts.EVERYBODY if for_all else setup_texts.WHOM_A_LIST_LETS]
    groups = sorted({rights.group for rights in (file, *above)} - {0})
    allowed = [
        setup_texts.THE_GROUP.format(name=names.group(group))
        for group in groups
        if not names.is_own(group, file.owner)
        and _allows(file, group, stat.S_IRGRP, stat.S_IROTH)
        and all(_allows(rights, group, stat.S_IXGRP, stat.S_IXOTH) for rights in above)
    ]
    return [*allowed, *(file.acl_readers if by_list else ())]


def writers(folder: Rights, names: AccountNames) -> list[str]:
    """Return who can replace a file in this folder besides the folder's owner."""
    if folder.is_sticky:
        return []
    if folder.mode & stat.S_IWOTH:
        return [setup_texts.EVERYBODY]
    by_group = folder.mode & stat.S_IWGRP and folder.group and not names.is_own(folder.group, folder.owner)
    return [setup_texts.THE_GROUP.format(name=names.group(folder.group))] if by_group else []


def _allows(rights: Rights, group: int, as_group: int, as_other: int) -> bool:
    return bool(rights.mode & (as_group if rights.group == group else as_other))


def _all_may_enter(rights: Rights) -> bool:
    return bool(rights.mode & stat.S_IXOTH)


def _some_may_enter(rights: Rights) -> bool:
    return rights.has_acl or _all_may_enter(rights)


# The files that a bot has.

MAX_BACKUPS: Final = 5  # Reported for one folder: with more of them, its owner closes the folder
MAX_ENTRIES: Final = 10_000  # Of a folder that are searched for backups


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file of the bot. `holds`: what it contains, as the end of a sentence."""

    path: Path
    where: str
    holds: str


def kept_files(settings: Settings, dotenv: Path | None) -> list[KeptFile]:
    """Return the bot's files that exist: settings, secrets, database and backups."""
    files = [KeptFile(dotenv, "Settings", setup_texts.HOLDS_KEYS)] if dotenv is not None else []
    files += [
        KeptFile(Path(file).expanduser(), "Settings", setup_texts.HOLDS_SETTING.format(setting=setting))
        for setting, file in settings.secret_files.items()
    ]
    if settings.slack.apps is not None:
        files.append(KeptFile(Path(settings.slack.apps).expanduser(), "Settings", setup_texts.HOLDS_KEYS))
        files += [KeptFile(file, "Settings", setup_texts.HOLDS_KEYS) for file in app_secret_files(settings.slack.apps)]
    if settings.accounts.key_file is not None:
        holds = setup_texts.HOLDS_SETTING.format(setting="COGENCY_ACCOUNT_KEY_FILE")
        files.append(KeptFile(Path(settings.accounts.key_file).expanduser(), "Tools", holds))
    holds = setup_texts.HOLDS_SETTING.format(setting=OUTGOING)
    files += [KeptFile(file, "Webhooks", holds) for file in _webhook_files(settings)]
    holds = setup_texts.HOLDS_SETTING.format(setting=WEBHOOKS)
    files += [KeptFile(file, "Webhooks", holds) for file in secret_files(settings)]
    if settings.mcp.file is not None and _holds_secrets(settings):
        files.append(KeptFile(Path(settings.mcp.file).expanduser(), "Tools", setup_texts.HOLDS_SERVER_KEYS))
    database = database_file(settings)
    if database is not None:
        files += [
            KeptFile(Path(f"{database}{part}"), "Database", setup_texts.HOLDS_WORDS) for part in ("", "-wal", "-shm")
        ]
    folders = {Path.cwd(), *([database.parent] if database is not None else [])}
    files += [
        KeptFile(file, "Database", setup_texts.HOLDS_WORDS)
        for folder in sorted(folders)
        for file in islice(_backups(folder), MAX_BACKUPS)
    ]
    return [file for file in files if _is_file(file.path)]


def database_file(settings: Settings) -> Path | None:
    """Return the path of an SQLite database; None for one in memory or on a server."""
    scheme, _, rest = settings.storage.url.partition("://")
    return sqlite_path(rest) if scheme.partition("+")[0] == "sqlite" else None


def _webhook_files(settings: Settings) -> list[Path]:
    try:
        rows = outgoing_rows(settings.outgoing, settings.webhook_variables)
    except SettingsError:
        return []  # the check of webhooks reports the error
    return [file for row in rows for file in row.secret_files]


def _holds_secrets(settings: Settings) -> bool:
    """Return whether the file of tool servers itself contains secrets of theirs."""
    try:
        _, text = named_file(MCP, settings.mcp.file or "")
        return any(
            secret in text
            for server in mcp_file(settings.mcp, settings.mcp_variables).servers
            for secret in server.secrets
            if secret
        )
    except SettingsError:
        return False  # the check of tool servers reports the error


def _backups(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, MAX_ENTRIES) if entry.name.endswith(".backup")]
    except OSError:
        names = []
    return (folder / name for name in sorted(names))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _above(path: Path) -> list[Path]:
    try:
        return list(path.resolve().parents)
    except (OSError, RuntimeError):  # RuntimeError: circular links
        return []


def file_findings_of(files: Sequence[KeptFile], names: AccountNames = AccountNames()) -> list[Finding]:
    """Check who else can read these files, and who can replace them."""
    if sys.platform == "win32":
        return []
    findings = [finding for file in files if (finding := _read_by(file, names)) is not None]
    folders = dict[Path, KeptFile]()
    for file in files:
        for folder in _above(file.path):
            folders.setdefault(folder, file)
    for folder, file in folders.items():
        rights = rights_of(folder, names)
        if rights is not None and (others := writers(rights, names)):
            what = setup_texts.FOLDER_WRITABLE.format(who=_join(others), folder=folder, file=file.path)
            findings.append(Finding(Level.WARNING, file.where, what, setup_texts.FOLDER_CLOSE.format(folder=folder)))
    if files and not findings:
        findings.append(Finding(Level.GOOD, "Settings", setup_texts.FILES_CLOSED))
    return findings


def _read_by(file: KeptFile, names: AccountNames) -> Finding | None:
    rights = rights_of(file.path, names)
    if rights is None:
        return None
    folders = _above(file.path)
    above = [upper for folder in folders if (upper := rights_of(folder, names)) is not None]
    remedy = setup_texts.FILE_CLOSE.format(file=file.path)
    if others := readers(rights, above, names):
        is_roots = rights.owner == 0 and os.geteuid() != 0
        what = setup_texts.FILE_OPEN.format(who=_join(others), file=file.path, holds=file.holds)
        remedy = setup_texts.ROOTS_FILE.format(file=file.path) if is_roots else remedy
        return Finding(Level.NOTE if is_roots else Level.WARNING, file.where, what, remedy)
    if readers(rights, (), names):
        closed = next(
            (folder for folder, upper in zip(folders, above, strict=False) if not _some_may_enter(upper)), folders[0]
        )
        what = setup_texts.FILE_SHELTERED.format(folder=closed, file=file.path, holds=file.holds)
        return Finding(Level.NOTE, file.where, what, remedy)
    return None


def _join(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


# Repairs.


def close_files(settings: Settings, files: Sequence[KeptFile], names: AccountNames = AccountNames()) -> list[Finding]:
    """Remove other users' rights from files that our user owns; return what was changed, and what was not and why."""
    if sys.platform == "win32":
        return []
    readable = [file for file in files if (rights := rights_of(file.path, names)) and readers(rights, (), names)]
    findings = [_narrow(file.path, file.where, stat.S_IRWXG | stat.S_IRWXO, names) for file in readable]
    if (database := database_file(settings)) is not None:
        rights = rights_of(database.parent, names)
        if rights is not None and writers(rights, names):
            findings.append(_narrow(database.parent, "Database", stat.S_IWGRP | stat.S_IWOTH, names))
    return findings


def _narrow(path: Path, where: str, removed: int, names: AccountNames) -> Finding:
    """Remove the rights `removed`, a mode's bits, from a file or folder."""
    note = partial(Finding, Level.NOTE, where)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError as error:
        what = setup_texts.FIX_LINK if path.is_symlink() else setup_texts.FIX_FAILED
        return note(what.format(file=path, reason=error.strerror))
    try:
        status = os.fstat(descriptor)  # by the descriptor, so that the file checked is the file changed
        if status.st_uid != os.geteuid():
            return note(setup_texts.FIX_NOT_OURS.format(file=path, owner=names.user(status.st_uid)))
        before = stat.S_IMODE(status.st_mode)
        if os.geteuid() == 0 and status.st_gid != 0:
            removed &= ~stat.S_IRWXG  # a service that is not root may need the group's rights
        os.fchmod(descriptor, before & ~removed)
    except OSError as error:
        return note(setup_texts.FIX_FAILED.format(file=path, reason=error.strerror))
    finally:
        os.close(descriptor)
    if before & ~removed == before:
        return note(setup_texts.FIX_GROUP_STAYS.format(file=path, group=names.group(status.st_gid)))
    sentence = setup_texts.FIXED_RIGHTS.format(file=path, after=f"{before & ~removed:03o}", before=f"{before:03o}")
    return Finding(Level.FIXED, where, sentence)


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
    return DiskFacts(folder, status.f_bavail * status.f_frsize, used, files, read_only)


def disk_findings(facts: DiskFacts | None) -> list[Finding]:
    if facts is None:
        return []
    warning = partial(Finding, Level.WARNING, "Disk")
    takes = setup_texts.DISK_TAKEN.format(taken=size(facts.taken)) if facts.taken else ""
    sentence = setup_texts.DISK_FREE.format(free=size(facts.free), folder=facts.folder, takes=takes)
    findings = list[Finding]()
    if facts.read_only:
        findings.append(warning(setup_texts.DISK_READ_ONLY.format(folder=facts.folder), setup_texts.DISK_MOUNT))
    if facts.free < facts.taken + SPARE_BYTES:
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
        what = setup_texts.FREE_MODELS.format(models=_join(free))
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
        what = setup_texts.PROXY_WORKS.format(proxy=shown, hosts=_join(sorted(through)))
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
