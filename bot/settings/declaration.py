"""How a setting is declared: beside the feature that it is of, as a field of a frozen dataclass."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeVar

from agent.errors import SettingsError
from bot.settings import texts as settings_texts

T = TypeVar("T")

SOURCE: Final = "source"


@dataclass(frozen=True, slots=True)
class From:
    """Where a field of `Settings` gets its value: the name of its setting, and the function that parses its text.

    `keys`: for an address, the settings whose values are sent there.
    """

    name: str
    read: Callable[[str], object]
    default: object
    keys: tuple[str, ...] = ()


class SettingOrigin(StrEnum):
    """Where a setting's value was read."""

    DEFAULT = "default"
    ENVIRONMENT = "environment"
    DOTENV = ".env"
    FILE = "file"
    KEYCHAIN = "keychain"


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """A setting as shown to operators. `value`: as written; None for a secret that is set."""

    name: str
    value: str | None
    origin: SettingOrigin


def setting(name: str, read: Callable[[str], T], default: T, *, keys: tuple[str, ...] = (), shown: bool = True) -> T:
    """Declare a field of `Settings`."""
    return field(default_factory=lambda: default, repr=shown, metadata={SOURCE: From(name, read, default, keys)})


def needed(value: T | None, name: str) -> T:
    """Return the value of a setting that is required; raises SettingsError if it is missing."""
    if value is None:
        raise SettingsError(settings_texts.SETTING_MISSING.format(name=name))
    return value
