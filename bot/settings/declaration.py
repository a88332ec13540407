"""How a setting is declared: as a field of a frozen dataclass, in the `settings.py` of the feature that reads it.

The declaration is the only place that knows the setting: reading, the checks of what `.env` may do, `.env.example`,
docs/settings.md and the operators' page are made from it. The dataclasses are composed in `bot.app.settings`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from enum import StrEnum
from typing import Any, Final, TypeVar

from agent.errors import SettingsError
from bot.settings import texts as settings_texts
from bot.settings.parsers import key, socket_address, web_address
from bot.settings.secret import Secret

T = TypeVar("T")

_SETTING: Final = "setting"


class Section(StrEnum):
    """The headings of `.env.example`, in its order."""

    MODELS = "Models"
    STORAGE = "Storage"
    ANSWERS = "Answers"
    ACCESS = "Access and budgets"
    BOUNDS = "Limits on answers and memory"
    TOOLS = "Tools"
    WEB = "Web"
    KEYS = "Model API keys and addresses"
    PLATFORMS = "Platforms"
    HTTP = "HTTP for other programs"
    OPERATION = "Logs, health, and the operators' page"
    NETWORK = "Proxy and certificates"


class Secrecy(StrEnum):
    """Which part of a setting is secret."""

    NONE = "none"
    VALUE = "value"
    """The value is a `Secret`. It may be in a file that NAME_FILE names, or in the system's keychain."""
    PASSWORD = "password"  # noqa: S105 -- no password
    """The value is an address that may hold a password. It may be in a file or in the keychain, too."""
    FILE = "file"
    """The value names a file that holds secrets."""


def runs_no_code(_: object) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """What a value can give away, and what the author of a file with it could do: `bot.settings.reading` refuses that
    where somebody else may have written the file.
    """

    secrecy: Secrecy = Secrecy.NONE
    keys: tuple[str, ...] = ()  # For the address of a service: the settings whose values are sent there
    own: tuple[str, ...] = ()  # Domains of the vendor below which each customer has an address of their own
    runs_code: Callable[[Any], bool] = runs_no_code  # Whether a value decides which code runs
    is_route: bool = False  # Whether it decides how every service is reached, and so who could read what is sent there


HARMLESS: Final = Sensitivity()
SECRET: Final = Sensitivity(secrecy=Secrecy.VALUE)
WITH_PASSWORD: Final = Sensitivity(secrecy=Secrecy.PASSWORD)
RUNS_CODE: Final = Sensitivity(runs_code=lambda _: True)
ROUTE: Final = Sensitivity(is_route=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A declared setting."""

    name: str
    read: Callable[[str], Any]  # Parses the text, or raises ValueError, as `bot.settings.parsers` says
    default: Any
    section: Section
    description: str  # For operators, in one line
    example: str  # A value for `.env.example`
    # The setting that this one and the next ones of its dataclass follow in the section; "": those declared before.
    after: str
    sensitivity: Sensitivity
    write: Callable[[Any], str]  # Returns a value as an operator would write it

    @property
    def is_address(self) -> bool:
        """Whether it is the address of a service."""
        return self.read in {web_address, socket_address}

    @property
    def default_text(self) -> str:
        """The default as an operator would write it; "" for none."""
        return self.write(self.default)


def as_written(value: object) -> str:
    """Return a value as an operator would write it; "" for None and for empty collections."""
    match value:
        case bool():
            return "on" if value else "off"
        case float():
            return f"{value:g}"
        case _:
            is_empty = value is None or value in ((), {}, frozenset[object]())
            return "" if is_empty else str(value)


def setting(
    name: str,
    read: Callable[[str], T],
    default: T,
    *,
    section: Section,
    description: str,
    example: str | None = None,
    after: str = "",
    sensitivity: Sensitivity = HARMLESS,
    write: Callable[[T], str] = as_written,
) -> T:
    """Declare a field; see `Setting`. Without an `example`, the default is shown."""
    declared = Setting(
        name=name,
        read=read,
        default=default,
        section=section,
        description=description,
        example=write(default) if example is None else example,
        after=after,
        sensitivity=sensitivity,
        write=write,
    )
    shown = sensitivity.secrecy is not Secrecy.PASSWORD
    return field(default_factory=lambda: default, repr=shown, metadata={_SETTING: declared})


def secret_setting(
    name: str, read: Callable[[str], Secret] = key, *, section: Section, description: str
) -> Secret | None:
    """Declare a field that holds a secret; None where it is not set."""
    return setting(name, read, None, section=section, description=description, sensitivity=SECRET)


def declared_settings(group: type) -> Mapping[str, Setting]:
    """Return the settings that a dataclass declares, by the names of its fields."""
    parts: Sequence[Field[Any]] = fields(group)
    return {part.name: part.metadata[_SETTING] for part in parts if _SETTING in part.metadata}


def in_order(groups: Iterable[type]) -> Sequence[Setting]:
    """Return all settings of these dataclasses in the order of `.env.example`: by section, then as they are declared,
    apart from those that say what they come `after`.
    """
    runs: list[list[Setting]] = []
    for group in groups:
        by_section: dict[Section, list[Setting]] = {}
        for declared in declared_settings(group).values():
            if declared.after or declared.section not in by_section:
                runs.append([])
                by_section[declared.section] = runs[-1]
            by_section[declared.section].append(declared)
    ordered = [
        declared
        for section in Section
        for run in runs
        for declared in run
        if run[0].section is section and not run[0].after
    ]
    waiting = [run for run in runs if run[0].after]
    # A run may follow a setting of another run that waits itself, so they are placed in turns.
    while waiting:
        places = {declared.name: place for place, declared in enumerate(ordered, 1)}
        run = next((run for run in waiting if run[0].after in places), None)
        if run is None:
            raise ValueError(f"{waiting[0][0].name} follows {waiting[0][0].after}, which is not declared")
        waiting.remove(run)
        ordered[places[run[0].after] : places[run[0].after]] = run
    return ordered


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


def needed(value: T | None, name: str) -> T:
    """Return the value of a setting that is required; raises SettingsError if it is missing."""
    if value is None:
        raise SettingsError(settings_texts.SETTING_MISSING.format(name=name))
    return value
