"""Finds the one file that settings are read from: the one that is named, else `.env` here, else the one at home."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_config_path

from agent.errors import SettingsError
from bot.settings import texts as settings_texts
from bot.settings.reading import OURS
from bot.settings.sources import IN_FILE, path_beside, read_dotenv


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """The one file that settings are read from, which may not exist.

    `is_own`: the user chose it or it is in their configuration folder, so it came with nobody else's folder.
    """

    path: Path
    is_own: bool

    @property
    def is_read(self) -> bool:
        """Raises SettingsError if this user may not look into its folder."""
        return _exists(self.path)


def find_settings_file(config: Path | None, here: Path, home: Path, names: Collection[str]) -> SettingsFile:
    """Return the file that `--config` names, else `here` (`.env` in the current folder), else `home`.

    Other programs have a `.env`, too: one that sets none of `names` does not hide the one at home. Raises SettingsError
    if `here` cannot be read: which of the two counts is not known then.
    """
    if config is not None:
        return SettingsFile(path_beside(Path(), str(config)), is_own=True)
    counts = _exists(here, broken=True) and not (_exists(home) and not _sets_any(names, read_dotenv(here)))
    return SettingsFile(here, is_own=False) if counts else SettingsFile(home, is_own=True)


def settings_home() -> Path:
    """Return the file in the user's configuration folder, ~/.config/cogency/.env on Linux."""
    return user_config_path("cogency", appauthor=False) / ".env"


def _sets_any(names: Collection[str], dotenv: Mapping[str, str]) -> bool:
    return any(name.startswith(OURS) or name.removesuffix(IN_FILE) in names for name in dotenv)


def _exists(file: Path, *, broken: bool = False) -> bool:
    """Return whether there is such a file. `broken`: a link counts that leads nowhere. Raises SettingsError if the
    system does not say, as for a folder that this user may not look into.
    """
    try:
        return file.exists() or (broken and file.is_symlink())
    except OSError:
        raise SettingsError(settings_texts.DOTENV_UNREADABLE.format(dotenv=file)) from None
