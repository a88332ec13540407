"""Reads the texts of settings: from the file `.env`, from files with secrets, and from the system's keychain.

Rules
  Settings can decide where keys are sent, so a file is read only if no other user could have written it: it belongs to
  the user (or to root, who can do anything), and only they may write it. `.env` is read from the folder in which the
  program is started, which can be another user's.
  Values are literal, and never repeated in an error.
"""

import os
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Final, TypeAlias

from dotenv.parser import parse_stream

from agent.errors import SettingsError
from bot.settings import texts as settings_texts
from bot.settings.installation import command_for

if sys.platform != "win32":
    import grp
    import pwd

# The suffix of a secret setting's name for the file that holds it, as Docker, Kubernetes, and systemd pass secrets.
IN_FILE: Final = "_FILE"
# The value of a secret that is in the system's keychain: "keyring", or "keyring:SERVICE".
KEYCHAIN: Final = "keyring"
Keychain: TypeAlias = Callable[[str, str], str | None]  # Returns a secret by the name of a service and its own
MAX_BYTES = 1_000_000  # All settings together take a hundredth of it


def read_dotenv(dotenv: Path | None) -> dict[str, str]:
    """Return what `.env` sets, by name; nothing if there is no file.

    Raises SettingsError with the line that cannot be read, or if another user owns the file or may write it.
    """
    if dotenv is None:
        return {}
    try:
        content = _content(dotenv)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError):
        raise SettingsError(settings_texts.DOTENV_UNREADABLE.format(dotenv=dotenv)) from None
    values: dict[str, str] = {}
    for binding in parse_stream(StringIO(content)):
        if binding.error or (binding.key is not None and binding.value is None):
            raise SettingsError(settings_texts.DOTENV_LINE.format(dotenv=dotenv, line=binding.original.line))
        if binding.key is not None and binding.value is not None:
            values[binding.key] = binding.value
    return values


def _content(dotenv: Path) -> str:
    # Check the file that was opened: its name may lead to another one a moment later. A pipe would block.
    descriptor = os.open(dotenv, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            raise OSError("no text file")
        if (fault := _fault(status, dotenv.name)) is not None:
            raise SettingsError(f"{dotenv} {fault}")
        return file.read(MAX_BYTES).decode("utf-8-sig")


def _fault(status: os.stat_result, name: str) -> str | None:
    """How another user could have written the file, and what to do; None if none could."""
    if sys.platform == "win32":
        return None
    if status.st_uid not in {os.geteuid(), 0}:
        return (
            "belongs to another user, who could send your API keys elsewhere. Take ownership with `chown`, or start in "
            "another folder."
        )
    by_group = status.st_mode & stat.S_IWGRP and not is_own_group(status.st_gid, os.geteuid())
    if by_group or status.st_mode & stat.S_IWOTH:
        return f"can be written by other users, who could send your API keys elsewhere. Run `chmod go-w {name}`."
    return None


def is_own_group(group: int, user: int) -> bool:
    """Return whether it is the user's private group, as most systems create for each: its rights are the user's."""
    if sys.platform == "win32":
        return True
    try:
        owner, entry = pwd.getpwuid(user), grp.getgrgid(group)
    except KeyError:
        return False
    return group == owner.pw_gid and entry.gr_name == owner.pw_name and set(entry.gr_mem) <= {owner.pw_name}


def owner_name(user: int) -> str:
    """Return the user's login name, or their number."""
    if sys.platform != "win32":
        with suppress(KeyError):
            return pwd.getpwuid(user).pw_name
    return str(user)


def group_name(group: int) -> str:
    if sys.platform != "win32":
        with suppress(KeyError):
            return grp.getgrgid(group).gr_name
    return str(group)


def named_file(setting: str, name: str) -> tuple[Path, str]:
    """Return the absolute path of the file that a setting names, and its content. Raises SettingsError."""
    try:
        file = Path(name).expanduser().absolute()
        return file, _content(file)
    except FileNotFoundError:
        where = "" if Path(name).expanduser().is_absolute() else f" in {Path.cwd()}"
        raise SettingsError(settings_texts.FILE_MISSING.format(setting=setting, file=name, where=where)) from None
    except (OSError, RuntimeError, UnicodeDecodeError):  # "~name" of an unknown user
        raise SettingsError(settings_texts.FILE_UNREADABLE.format(setting=setting, file=name)) from None


def path_beside(file: Path, name: str) -> Path:
    """Return the path of a file whose name may be relative to the folder of `file`."""
    try:
        return file.parent / Path(name).expanduser()
    except RuntimeError:  # "~name" of an unknown user
        return file.parent / name


def secret_in(setting: str, name: str) -> str:
    """Return the content of a file with a secret. Raises SettingsError, which does not show `name`: it may be the
    secret itself.
    """
    try:
        return named_file(setting, name)[1]
    except (SettingsError, ValueError):  # a null character
        raise SettingsError(settings_texts.KEY_FILE_MISSING.format(setting=setting)) from None


def with_files(values: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Replace these settings' names of files by the files' contents. Raises SettingsError."""
    resolved = dict(values)
    for name in names:
        setting_, file = f"{name}{IN_FILE}", resolved.pop(f"{name}{IN_FILE}", "").strip()
        if file and resolved.get(name, "").strip():
            raise SettingsError(settings_texts.SET_TWICE.format(name=name, file=setting_))
        if file:
            resolved[name] = named_file(setting_, file)[1].strip()
            if not resolved[name]:
                raise SettingsError(settings_texts.FILE_EMPTY.format(setting=setting_, file=file))
    return resolved


def is_in_keychain(value: str) -> bool:
    return value.strip() == KEYCHAIN or value.strip().startswith(f"{KEYCHAIN}:")


def from_keychain(name: str, value: str, keychain: Keychain) -> str:
    """Return the secret in the keychain that this value refers to. Raises SettingsError."""
    service = value.strip().partition(":")[2].strip() or "cogency"
    secret = keychain(service, name)
    if not secret:
        raise SettingsError(settings_texts.NOT_IN_KEYCHAIN.format(name=name, service=service))
    return secret.strip()


def system_keychain(service: str, name: str) -> str | None:
    try:
        import keyring  # noqa: PLC0415 -- only needed for secrets in the keychain
        from keyring.errors import KeyringError  # noqa: PLC0415 -- only needed for secrets in the keychain
    except ImportError:
        raise SettingsError(settings_texts.NO_KEYCHAIN.format(name=name, command=command_for("keychain"))) from None
    try:
        return keyring.get_password(service, name)
    except KeyringError:
        raise SettingsError(settings_texts.KEYCHAIN_CLOSED.format(name=name)) from None
