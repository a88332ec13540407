"""Who can read and replace the files of the bot, for `cogency doctor`, and closing them to others.

Rules
  Who can read a file follows from its rights and those of each folder above it. Root can read every file, and is not
  reported. Rights are narrowed of files that our user owns and that a start would read or write. Files of other users
  and symbolic links are not changed.
"""

import os
import stat
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from agent.errors import SettingsError
from agent.machine import sqlite_path
from bot.app.from_settings import app_secret_files
from bot.app.settings import Settings
from bot.chat.findings import Finding, Level
from bot.chat.texts.formatting import enumerated
from bot.settings.sources import group_name, is_own_group, named_file, owner_name, path_beside
from bot.setup import texts as setup_texts
from bot.setup.operator_hooks import secret_files
from bot.tools.mcp.settings import MCP, mcp_file
from bot.webhooks.outgoing.settings import OUTGOING, outgoing_rows
from bot.webhooks.settings import WEBHOOKS

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
        KeptFile(path_beside(Path(), file), "Settings", setup_texts.HOLDS_SETTING.format(setting=setting))
        for setting, file in settings.secret_files.items()
    ]
    if settings.slack.apps is not None:
        files.append(KeptFile(path_beside(Path(), settings.slack.apps), "Settings", setup_texts.HOLDS_KEYS))
        files += [KeptFile(file, "Settings", setup_texts.HOLDS_KEYS) for file in app_secret_files(settings.slack.apps)]
    if settings.accounts.key_file is not None:
        holds = setup_texts.HOLDS_SETTING.format(setting="COGENCY_ACCOUNT_KEY_FILE")
        files.append(KeptFile(path_beside(Path(), settings.accounts.key_file), "Tools", holds))
    holds = setup_texts.HOLDS_SETTING.format(setting=OUTGOING)
    files += [KeptFile(file, "Webhooks", holds) for file in _webhook_files(settings)]
    holds = setup_texts.HOLDS_SETTING.format(setting=WEBHOOKS)
    files += [KeptFile(file, "Webhooks", holds) for file in secret_files(settings)]
    if settings.mcp.file is not None and _holds_secrets(settings):
        files.append(KeptFile(path_beside(Path(), settings.mcp.file), "Tools", setup_texts.HOLDS_SERVER_KEYS))
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
            what = setup_texts.FOLDER_WRITABLE.format(who=enumerated(others), folder=folder, file=file.path)
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
        what = setup_texts.FILE_OPEN.format(who=enumerated(others), file=file.path, holds=file.holds)
        remedy = setup_texts.ROOTS_FILE.format(file=file.path) if is_roots else remedy
        return Finding(Level.NOTE if is_roots else Level.WARNING, file.where, what, remedy)
    if readers(rights, (), names):
        closed = next(
            (folder for folder, upper in zip(folders, above, strict=False) if not _some_may_enter(upper)), folders[0]
        )
        what = setup_texts.FILE_SHELTERED.format(folder=closed, file=file.path, holds=file.holds)
        return Finding(Level.NOTE, file.where, what, remedy)
    return None


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
