"""What `cogency doctor` finds on this machine, and mends: who can read secrets, the disk, terms of vendors, traces.

Rules
  Only rights are changed, to narrower ones, of files that are ours and that a start would read or write; and a database
  is brought to the newest version, after a backup. Nothing is mended that belongs to somebody else, or is a link.
  Whoever may read is told by the rights of a file and of every folder above it. Root reads everything, and is not told.
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
from agent.ports import Clock, ListedShard
from agent.providers.catalog import Endpoint, is_loopback
from agent.providers.http_client import Http, TransportError
from bot.app.from_settings import app_secret_files, no_traces, sends_traces
from bot.exits import Finding, Level, clock_finding
from bot.setting_sources import group_name, is_own_group, owner_name
from bot.settings import Settings, mcp_file
from bot.texts import page_texts, setup_texts
from bot.texts.formatting import counted
from bot.tools.mcp_config import HttpReach
from store.backup import backup
from store.engine import database_beside, look_at, open_store
from store.migrations import HEAD
from store.replicas import listed

# Checks that wait for others.

Tried: TypeAlias = Callable[[], Awaitable[list[Finding]]]


@dataclass(frozen=True, slots=True)
class Check:
    """One that waits for something. `late`: how bad it is if that does not come within `seconds`."""

    where: str
    run: Tried
    seconds: float
    late: Level = Level.WARNING

    async def within(self) -> list[Finding]:
        try:
            async with asyncio.timeout(self.seconds):
                return await self.run()
        except TimeoutError:
            what = setup_texts.NOT_IN_TIME.format(seconds=self.seconds)
            return [Finding(self.late, self.where, what, setup_texts.LOOK_AGAIN)]


def nobody(_: Sequence[str]) -> None:
    """Nobody looks."""


async def side_by_side(checks: Sequence[Check], tell: Callable[[Sequence[str]], object] = nobody) -> list[Finding]:
    """What they find, in their order."""
    tasks = {asyncio.ensure_future(one.within()): one.where for one in checks}
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
_ANYBODY: Final = 2**32 - 1  # As an access list names its own group, and nobody in particular


@dataclass(frozen=True, slots=True)
class Rights:
    """Of a file or a folder. `named`: whom an access list lets read besides; `listed`: whether it has such a list."""

    mode: int
    owner: int
    group: int
    named: tuple[str, ...] = ()
    listed: bool = False

    @property
    def is_sticky(self) -> bool:
        """Whether only its owner may take a file out of this folder, or put another in its place."""
        return bool(self.mode & stat.S_ISVTX)


@dataclass(frozen=True, slots=True)
class AccountNames:
    """How the system calls users and groups. `is_own`: whether a group is that of one user alone."""

    user: Callable[[int], str] = owner_name
    group: Callable[[int], str] = group_name
    is_own: Callable[[int, int], bool] = is_own_group


def rights_of(path: Path, names: AccountNames) -> Rights | None:
    """None if it is not there, or not for us to see."""
    try:
        status = path.stat()
    except OSError:
        return None
    listed = b""
    if hasattr(os, "getxattr"):
        with suppress(OSError):  # it has none, or its file system knows none
            listed = os.getxattr(path, _ACL)
    return with_acl(Rights(stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid), listed, names)


def with_acl(rights: Rights, acl: bytes, names: AccountNames) -> Rights:
    """What an access list makes of a mode, whose bits of the group are then the most that anybody named may do.

    `acl`: as Linux keeps it: a version, then a tag, what it lets do, and a number for each entry.
    """
    entries = [struct.unpack_from("<HHI", acl, at) for at in range(4, len(acl) - 7, 8)]
    if not entries:
        return rights
    most = next((may for tag, may, _ in entries if tag == _MASK), 7)
    named = [
        names.user(number) if tag == _USER else setup_texts.THE_GROUP.format(name=names.group(number))
        for tag, may, number in entries
        if tag in {_USER, _GROUP} and may & most & 4 and number != _ANYBODY
    ]
    own = next((may for tag, may, _ in entries if tag == _GROUP_OWNER), 0) & most
    return Rights(rights.mode & ~0o070 | own << 3, rights.owner, rights.group, tuple(named), listed=True)


def readers(file: Rights, above: Sequence[Rights], names: AccountNames) -> list[str]:
    """Who can read a file besides its owner, through these folders."""
    for_all, by_list = (all(test(one) for one in above) for test in (_lets_all, _may_let))
    if file.mode & stat.S_IROTH and (for_all or by_list):
        return [setup_texts.EVERYBODY if for_all else setup_texts.WHOM_A_LIST_LETS]
    groups = sorted({one.group for one in (file, *above)} - {0})
    found = [
        setup_texts.THE_GROUP.format(name=names.group(group))
        for group in groups
        if not names.is_own(group, file.owner)
        and _lets(file, group, stat.S_IRGRP, stat.S_IROTH)
        and all(_lets(one, group, stat.S_IXGRP, stat.S_IXOTH) for one in above)
    ]
    return [*found, *(file.named if by_list else ())]


def writers(folder: Rights, names: AccountNames) -> list[str]:
    """Who can put another file in the place of one in this folder, besides its owner."""
    if folder.is_sticky:
        return []
    if folder.mode & stat.S_IWOTH:
        return [setup_texts.EVERYBODY]
    by_group = folder.mode & stat.S_IWGRP and folder.group and not names.is_own(folder.group, folder.owner)
    return [setup_texts.THE_GROUP.format(name=names.group(folder.group))] if by_group else []


def _lets(one: Rights, group: int, as_group: int, as_other: int) -> bool:
    return bool(one.mode & (as_group if one.group == group else as_other))


def _lets_all(one: Rights) -> bool:
    return bool(one.mode & stat.S_IXOTH)


def _may_let(one: Rights) -> bool:
    return one.listed or _lets_all(one)


# The files that a bot has.

MOST_BACKUPS: Final = 5  # Each of so many in one folder is told of: who has more closes the folder
MOST_ENTRIES: Final = 10_000  # Of a folder, among which backups are looked for


@dataclass(frozen=True, slots=True)
class KeptFile:
    """`holds`: what stands in it, as the end of a sentence."""

    path: Path
    where: str
    holds: str


def kept_files(settings: Settings, dotenv: Path | None) -> list[KeptFile]:
    """Those that are there."""
    found = [KeptFile(dotenv, "Settings", setup_texts.HOLDS_KEYS)] if dotenv is not None else []
    found += [
        KeptFile(Path(file).expanduser(), "Settings", setup_texts.HOLDS_SETTING.format(setting=setting))
        for setting, file in settings.secret_files.items()
    ]
    if settings.slack_apps is not None:
        found.append(KeptFile(Path(settings.slack_apps).expanduser(), "Settings", setup_texts.HOLDS_KEYS))
        found += [KeptFile(file, "Settings", setup_texts.HOLDS_KEYS) for file in app_secret_files(settings.slack_apps)]
    if settings.account_key_file is not None:
        holds = setup_texts.HOLDS_SETTING.format(setting="COGENCY_ACCOUNT_KEY_FILE")
        found.append(KeptFile(Path(settings.account_key_file).expanduser(), "Tools", holds))
    if settings.mcp is not None and _holds_secrets(settings):
        found.append(KeptFile(Path(settings.mcp).expanduser(), "Tools", setup_texts.HOLDS_SERVER_KEYS))
    database = database_file(settings)
    if database is not None:
        found += [
            KeptFile(Path(f"{database}{part}"), "Database", setup_texts.HOLDS_WORDS) for part in ("", "-wal", "-shm")
        ]
    folders = {Path.cwd(), *([database.parent] if database is not None else [])}
    found += [
        KeptFile(file, "Database", setup_texts.HOLDS_WORDS)
        for folder in sorted(folders)
        for file in islice(_backups(folder), MOST_BACKUPS)
    ]
    return [one for one in found if _is_file(one.path)]


def database_file(settings: Settings) -> Path | None:
    """None for one in memory, or on a server."""
    scheme, _, rest = settings.database_url.partition("://")
    return sqlite_path(rest) if scheme.partition("+")[0] == "sqlite" else None


def _holds_secrets(settings: Settings) -> bool:
    """Whether values that servers of tools get as secrets stand in their file itself."""
    try:
        text = Path(settings.mcp or "").expanduser().read_text("utf-8-sig")
        return any(secret in text for server in mcp_file(settings).servers for secret in server.secrets if secret)
    except (OSError, UnicodeDecodeError, SettingsError):
        return False  # it is told where the servers are needed


def _backups(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, MOST_ENTRIES) if entry.name.endswith(".backup")]
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
    except (OSError, RuntimeError):  # links that lead in a circle
        return []


def file_findings_of(files: Sequence[KeptFile], names: AccountNames = AccountNames()) -> list[Finding]:
    """Who else can read these files, and who can put others in their place."""
    if sys.platform == "win32":
        return []
    found = [finding for one in files if (finding := _read_by(one, names)) is not None]
    folders = dict[Path, KeptFile]()
    for one in files:
        for folder in _above(one.path):
            folders.setdefault(folder, one)
    for folder, one in folders.items():
        rights = rights_of(folder, names)
        if rights is not None and (who := writers(rights, names)):
            what = setup_texts.FOLDER_WRITABLE.format(who=_listed(who), folder=folder, file=one.path)
            found.append(Finding(Level.WARNING, one.where, what, setup_texts.FOLDER_CLOSE.format(folder=folder)))
    if files and not found:
        found.append(Finding(Level.GOOD, "Settings", setup_texts.FILES_CLOSED))
    return found


def _read_by(one: KeptFile, names: AccountNames) -> Finding | None:
    rights = rights_of(one.path, names)
    if rights is None:
        return None
    folders = _above(one.path)
    above = [known for folder in folders if (known := rights_of(folder, names)) is not None]
    remedy = setup_texts.FILE_CLOSE.format(file=one.path)
    if who := readers(rights, above, names):
        prepared = rights.owner == 0 and os.geteuid() != 0
        what = setup_texts.FILE_OPEN.format(who=_listed(who), file=one.path, holds=one.holds)
        remedy = setup_texts.ROOTS_FILE.format(file=one.path) if prepared else remedy
        return Finding(Level.NOTE if prepared else Level.WARNING, one.where, what, remedy)
    if readers(rights, (), names):
        closed = next(
            (folder for folder, known in zip(folders, above, strict=False) if not _may_let(known)), folders[0]
        )
        what = setup_texts.FILE_SHELTERED.format(folder=closed, file=one.path, holds=one.holds)
        return Finding(Level.NOTE, one.where, what, remedy)
    return None


def _listed(who: Sequence[str]) -> str:
    *most, last = who
    return f"{', '.join(most)} and {last}" if most else last


# Mending.


def close_files(settings: Settings, files: Sequence[KeptFile], names: AccountNames = AccountNames()) -> list[Finding]:
    """Take the rights of others away, where the files are ours: what was done, and what was not with the reason."""
    if sys.platform == "win32":
        return []
    open_ = [one for one in files if (rights := rights_of(one.path, names)) and readers(rights, (), names)]
    found = [_closed(one.path, one.where, stat.S_IRWXG | stat.S_IRWXO, names) for one in open_]
    if (database := database_file(settings)) is not None:
        rights = rights_of(database.parent, names)
        if rights is not None and writers(rights, names):
            found.append(_closed(database.parent, "Database", stat.S_IWGRP | stat.S_IWOTH, names))
    return found


def _closed(path: Path, where: str, taken: int, names: AccountNames) -> Finding:
    """`taken`: the rights that are taken away."""
    finding = Finding(Level.NOTE, where, "")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError as error:
        what = setup_texts.FIX_LINK if path.is_symlink() else setup_texts.FIX_FAILED
        return _with(finding, what.format(file=path, reason=error.strerror))
    try:
        status = os.fstat(descriptor)  # what was opened is what is changed
        if status.st_uid != os.geteuid():
            return _with(finding, setup_texts.FIX_NOT_OURS.format(file=path, owner=names.user(status.st_uid)))
        before = stat.S_IMODE(status.st_mode)
        if os.geteuid() == 0 and status.st_gid != 0:
            taken &= ~stat.S_IRWXG  # a service that is not root may read it by its group
        os.fchmod(descriptor, before & ~taken)
    except OSError as error:
        return _with(finding, setup_texts.FIX_FAILED.format(file=path, reason=error.strerror))
    finally:
        os.close(descriptor)
    if before & ~taken == before:
        return _with(finding, setup_texts.FIX_GROUP_STAYS.format(file=path, group=names.group(status.st_gid)))
    said = setup_texts.FIXED_RIGHTS.format(file=path, after=f"{before & ~taken:03o}", before=f"{before:03o}")
    return Finding(Level.FIXED, where, said)


def _with(finding: Finding, what: str) -> Finding:
    return Finding(finding.level, finding.where, what)


async def shards_held(settings: Settings, now: datetime) -> list[Finding]:
    """Which process holds which connection to Discord. Nothing while none does. Raises StoreError."""
    if database_file(settings) is not None:
        return []
    database = database_beside(settings.database_url)
    try:
        return shard_findings(await database.read(listed, now))
    finally:
        await database.close()


def shard_findings(shards: Sequence[ListedShard]) -> list[Finding]:
    held = dict[str, list[str]]()
    for one in shards:
        held.setdefault(one.owner, []).append(str(one.number))
    free = held.pop("", [])
    if not held:
        return []
    who = "; ".join(f"{owner} holds {', '.join(numbers)}" for owner, numbers in held.items())
    found = [Finding(Level.GOOD, "Discord", f"{counted(len(shards), 'shard', 'shards')}: {who}")]
    if free:
        what = f"nobody holds {counted(len(free), 'shard', 'shards')}: {', '.join(free)}"
        found.append(Finding(Level.WARNING, "Discord", what, page_texts.FREE_SHARDS))
    return found


async def migrate_after_backup(settings: Settings, now: datetime) -> list[Finding]:
    """Bring an SQLite file to the newest version, after a backup beside it. Raises nothing."""
    try:
        look = await look_at(settings.database_url)
        if look.version in {None, HEAD}:
            return []
        if look.is_held:
            return [Finding(Level.NOTE, "Database", setup_texts.FIX_HELD.format(where=look.where))]
        database = database_file(settings)
        if database is None:
            return [Finding(Level.NOTE, "Database", setup_texts.FIX_ON_SERVER.format(where=look.where))]
        file = database.with_name(f"cogency-{look.version}-{now:%Y%m%d-%H%M%S}.backup")
        await backup(settings.database_url, file, now)
        store = await open_store(settings.database_url)
        await store.close()
    except StoreError as error:
        return [Finding(Level.PROBLEM, "Database", setup_texts.FIX_NOT_MIGRATED, str(error))]
    said = setup_texts.FIXED_VERSION.format(where=look.where, before=look.version, after=HEAD, file=file)
    return [Finding(Level.FIXED, "Database", said)]


# The disk.

# Besides room for a copy of the database, as a backup or an upgrade makes: for its log, and the system's own files.
SPARE_BYTES: Final = 200_000_000
SPARE_FILES: Final = 1_000


@dataclass(frozen=True, slots=True)
class DiskFacts:
    """Of the file system below `folder`. `files`: how many may still be made, None where it has no such limit.

    `taken`: by the database and its log.
    """

    folder: Path
    free: int
    taken: int = 0
    files: int | None = None
    read_only: bool = False


def disk_facts(settings: Settings) -> DiskFacts | None:
    """None where no file is kept here, or the system does not say."""
    database = database_file(settings)
    if database is None or not hasattr(os, "statvfs"):
        return None
    try:
        folder = next(one for one in database.parents if one.exists())
        status = os.statvfs(folder)
        parts = [Path(f"{database}{part}") for part in ("", "-wal")]
        taken = sum(part.stat().st_size for part in parts if part.is_file())
    except (OSError, StopIteration):
        return None
    files = status.f_favail if status.f_files else None
    read_only = bool(status.f_flag & os.ST_RDONLY)
    return DiskFacts(folder, status.f_bavail * status.f_frsize, taken, files, read_only)


def disk_findings(facts: DiskFacts | None) -> list[Finding]:
    if facts is None:
        return []
    warning = partial(Finding, Level.WARNING, "Disk")
    takes = setup_texts.DISK_TAKEN.format(taken=size(facts.taken)) if facts.taken else ""
    said = setup_texts.DISK_FREE.format(free=size(facts.free), folder=facts.folder, takes=takes)
    found = list[Finding]()
    if facts.read_only:
        found.append(warning(setup_texts.DISK_READ_ONLY.format(folder=facts.folder), setup_texts.DISK_MOUNT))
    if facts.free < facts.taken + SPARE_BYTES:
        found.append(warning(said, setup_texts.DISK_ROOM.format(needed=size(facts.taken + SPARE_BYTES))))
    if facts.files is not None and facts.files < SPARE_FILES:
        found.append(
            warning(setup_texts.DISK_FILES.format(files=facts.files, folder=facts.folder), setup_texts.DISK_INODES)
        )
    return found or [Finding(Level.GOOD, "Disk", said)]


def size(count: int) -> str:
    """As people read it: "1.4 GB"."""
    units = [(10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")]
    return next((f"{count / unit:.1f} {name}" for unit, name in units if count >= unit), f"{count} bytes")


# The clock, by what a model's vendor says: a platform is asked by its own module.

ASKING_S: Final = 10.0


async def vendors_clock(endpoint: Endpoint, clock: Clock) -> list[Finding]:
    """What time it is there; nothing where it does not say. No key is sent."""
    http = Http(proxies=not endpoint.is_local)
    try:
        async with asyncio.timeout(ASKING_S), http.request("HEAD", f"{endpoint.base_url}/models", {}) as reply:
            theirs, ours = reply.headers.get("date", ""), clock.now()
        return [clock_finding("Model", endpoint.label, ours, parsedate_to_datetime(theirs).astimezone(UTC))]
    except (TransportError, TimeoutError, ValueError):
        return []
    finally:
        await http.aclose()


# Servers of tools at which each person signs in: nobody's token is at hand, but a server says that it wants one.

_PING: Final = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
_MCP_HEADERS: Final = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


async def asks_who_signs_in(name: str, reach: HttpReach, clock: Clock) -> list[Finding]:
    """Whether it is there, and wants to know who asks. Nothing but a ping is sent."""
    http, finding = Http(proxies=True), partial(Finding, where="Tools")
    began, headers = clock.monotonic(), {**reach.headers, **_MCP_HEADERS}
    try:
        async with asyncio.timeout(ASKING_S), http.request("POST", reach.url, headers, _PING) as reply:
            seconds, status = clock.monotonic() - began, reply.status
    except (TransportError, TimeoutError):
        return [
            finding(Level.WARNING, what=setup_texts.SIGN_IN_AWAY.format(name=name), remedy=setup_texts.CHECK_MCP_ENTRY)
        ]
    finally:
        await http.aclose()
    if status == HTTPStatus.UNAUTHORIZED:
        return [finding(Level.GOOD, what=setup_texts.SIGN_IN_ASKED.format(name=name, seconds=seconds))]
    if status < HTTPStatus.MULTIPLE_CHOICES:
        return [finding(Level.NOTE, what=setup_texts.SIGN_IN_OPEN.format(name=name, seconds=seconds))]
    what = setup_texts.SIGN_IN_ODD.format(name=name, status=status)
    return [finding(Level.WARNING, what=what, remedy=setup_texts.CHECK_MCP_ENTRY)]


# What vendors may do with what people say.

_FREE_ROUTER: Final = "openrouter/free"
_FREE_VARIANT: Final = ":free"
# Where a key of a plan that costs nothing lets its vendor train on what it is sent, and looks like any other.
UNSEEN_TIERS: Final[Mapping[str, tuple[str, str]]] = {
    "gemini": ("the free tier", "https://ai.google.dev/gemini-api/terms#unpaid-services"),
    "gemini-live": ("the free tier", "https://ai.google.dev/gemini-api/terms#unpaid-services"),
    "mistral": ("the plan Experiment", "https://help.mistral.ai/en/articles/455207"),
}


def training_findings(
    models: Collection[str], endpoint: Callable[[str], Endpoint], *, on_discord: bool
) -> list[Finding]:
    """What can be known by the names of models ("provider:name") and by where they are: of OpenRouter which are free,
    of the others that it cannot be known.
    """
    free = sorted(one for one in models if _is_free(one))
    found = list[Finding]()
    if free:
        what = setup_texts.FREE_MODELS.format(models=_listed(free))
        found.append(Finding(Level.WARNING, "Model", what, setup_texts.FREE_MODELS_REMEDY))
    told = set[str]()
    for name in sorted({one.partition(":")[0] for one in models} & UNSEEN_TIERS.keys()):
        at, (plan, terms) = endpoint(name), UNSEEN_TIERS[name]
        if at.key_required and at.key_setting not in told:  # else it is somebody's gateway
            told.add(at.key_setting)
            what = setup_texts.TIER_UNSEEN.format(key=at.key_setting, plan=plan, label=at.label)
            found.append(Finding(Level.NOTE, "Model", what, setup_texts.TIER_REMEDY.format(terms=terms)))
    if found and on_discord:
        found.append(Finding(Level.NOTE, "Discord", setup_texts.DISCORD_FORBIDS, setup_texts.DISCORD_POLICY))
    return found


def _is_free(model: str) -> bool:
    provider, _, name = model.partition(":")
    return provider == "openrouter" and (name.endswith(_FREE_VARIANT) or name == _FREE_ROUTER)


# Traces.

_CONTENT: Final = ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "TRACELOOP_TRACE_CONTENT")
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


def trace_findings(settings: Settings, found: Callable[[str], object]) -> list[Finding]:
    """Nothing is said where no traces are sent. `found`: finds a module by its name, or None."""
    said = settings.opentelemetry
    if not sends_traces(settings):
        return []
    finding = partial(Finding, where="Traces")
    if why := no_traces(settings, found):
        return [finding(Level.WARNING, what=setup_texts.TRACES_NOT_SENT, remedy=why)]
    address = next(said[name].strip() for name in _ENDPOINTS if said.get(name, "").strip())
    parts = urlsplit(address)
    told = [finding(Level.GOOD, what=setup_texts.TRACES_SENT.format(host=parts.hostname or address))]
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        what = setup_texts.TRACES_PLAIN.format(host=parts.hostname)
        told = [finding(Level.WARNING, what=what, remedy=setup_texts.TRACES_HTTPS)]
    on = [name for name in _CONTENT if said.get(name, "").strip().lower() not in {"", "false", "no_content", "0"}]
    return told + [finding(Level.NOTE, what=setup_texts.TRACES_WORDLESS.format(name=name)) for name in on]
