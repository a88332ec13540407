"""Reads declared settings from the environment, from `.env`, and from the files and the keychain that hold secrets.

Rules
- The environment is an argument. It overrides `.env`; an empty value counts as not set.
- A secret may be in a file that NAME_FILE names, or in the system's keychain. Such a file, like `.env`, is read only if
  no other user could have written it; and the secret is sent to no address that only `.env` has changed.
- Names that begin with COGENCY_ are reserved: an unknown one is an error.
- Every problem is one `SettingsError`: a sentence that names the setting and the remedy, never the value.
- Values in `.env` are literal: a "$" in a password is a "$".
- `.env` cannot send a key of the environment to another address: the file comes with the folder, the key does not. An
  address from `.env` is used with keys from the same file, on this machine, and where no key is sent.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from agent.errors import SettingsError
from agent.machine import place_of
from agent.providers.catalog import is_below, is_loopback
from bot.settings import texts as settings_texts
from bot.settings.declaration import Secrecy, Setting, SettingOrigin, ShownSetting
from bot.settings.repository import is_in_repository
from bot.settings.secret import Secret
from bot.settings.sources import (
    IN_FILE,
    Keychain,
    from_keychain,
    is_in_keychain,
    read_dotenv,
    with_files,
)

OURS: Final = "COGENCY_"


@dataclass(frozen=True, slots=True)
class Written:
    """What is written where, by the name of the setting, with secrets in place of the names of their files.

    `secret_files`: the files that hold secrets, by NAME_FILE. `in_files`, `in_keychain`: settings that are read there.
    """

    environment: Mapping[str, str]
    dotenv: Mapping[str, str]
    secret_files: Mapping[str, str]
    in_files: Collection[str]
    in_keychain: Collection[str]

    @property
    def values(self) -> Mapping[str, str]:
        return {**self.dotenv, **self.environment}

    @property
    def only_in_dotenv(self) -> Collection[str]:
        return self.dotenv.keys() - self.environment.keys()

    def origin(self, name: str) -> SettingOrigin:
        """Return where the setting was read; the default if it is not written."""
        if not self.values.get(name, "").strip():
            return SettingOrigin.DEFAULT
        if name in self.in_keychain:
            return SettingOrigin.KEYCHAIN
        if name in self.in_files:
            return SettingOrigin.FILE
        return SettingOrigin.ENVIRONMENT if name in self.environment else SettingOrigin.DOTENV


def read_written(
    settings: Sequence[Setting], environ: Mapping[str, str], dotenv: Path | None, keychain: Keychain
) -> Written:
    """Read all sources. Raises SettingsError, also for a name of ours that is no setting."""
    from_dotenv = read_dotenv(dotenv)
    given = {name: value for name, value in environ.items() if value.strip()}
    names = _names_of_secrets(settings)
    # Noted before the files are read: afterwards nothing shows where a value came from.
    files = {f"{name}{IN_FILE}": {**from_dotenv, **given}.get(f"{name}{IN_FILE}") for name in names}
    in_files = {name for name in names if files[f"{name}{IN_FILE}"] is not None}
    from_dotenv, given = with_files(from_dotenv, names), with_files(given, names)
    in_keychain = {name for name in names if is_in_keychain({**from_dotenv, **given}.get(name, ""))}
    for name in in_keychain:
        # The value stays in its layer, so that the checks below still see who wrote it.
        layer = given if name in given else from_dotenv
        layer[name] = from_keychain(name, layer[name], keychain)
    # A misspelt setting of ours would silently do nothing; other programs' variables are none of our business.
    known = {setting.name for setting in settings}
    for name in sorted({**from_dotenv, **given}.keys() - known):
        if name.upper().startswith(OURS):
            raise SettingsError(_unknown_sentence(name, known))
    secret_files = {name: file.strip() for name, file in sorted(files.items()) if file and file.strip()}
    return Written(given, from_dotenv, secret_files, in_files, in_keychain)


def parse_values(settings: Iterable[Setting], written: Written) -> dict[str, Any]:
    """Return the values of the settings that are written, by name. Raises SettingsError for the first wrong one."""
    values = dict[str, Any]()
    for setting in settings:
        if text := written.values.get(setting.name, "").strip():
            try:
                values[setting.name] = setting.read(text)
            except ValueError as problem:
                raise SettingsError(f"{setting.name} {problem}.") from None
    return values


def shown_settings(
    settings: Iterable[Setting], values: Mapping[str, Any], written: Written
) -> tuple[ShownSetting, ...]:
    """Return all settings as operators see them. `values`: as read, and the defaults that depend on this machine."""
    return tuple(
        ShownSetting(
            setting.name, _shown_value(setting, values.get(setting.name), written), written.origin(setting.name)
        )
        for setting in settings
    )


def _shown_value(setting: Setting, value: object, written: Written) -> str | None:
    if isinstance(value, Secret):
        return None
    if setting.sensitivity.secrecy is Secrecy.PASSWORD and value:
        return _without_user(str(value)) if setting.sensitivity.is_route else place_of(str(value))
    return written.values.get(setting.name, "").strip() or setting.default_text


def _without_user(address: str) -> str:
    scheme, _, rest = address.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def misspelt_names(settings: Iterable[Setting], written: Written) -> Iterator[tuple[str, str]]:
    """Yield names in `.env` that match no setting, each with the unset setting it resembles. They are reported, not
    refused, because other programs may read the file, too.
    """
    known = {setting.name for setting in settings}
    unset = known - written.values.keys()
    for name in sorted(written.values.keys() - known):
        near = get_close_matches(name.upper(), unset, n=1, cutoff=0.8) if name in written.dotenv else []
        if near:
            yield name, near[0]


def refuse_foreign_code(
    settings: Iterable[Setting],
    values: Mapping[str, Any],
    written: Written,
    dotenv: Path | None,
    also: Collection[str] = (),
) -> None:
    """Raise SettingsError if `.env` alone decides which code runs, and may have come with somebody else's folder:
    that code could read the secrets of the environment. `also`: more settings with which this file would decide it.
    """
    runs = [
        setting.name
        for setting in settings
        if setting.name in values and setting.sensitivity.runs_code(values[setting.name])
    ]
    from_dotenv = [name for name in (*runs, *also) if name in written.only_in_dotenv]
    if from_dotenv and dotenv is not None and is_in_repository(dotenv):
        raise SettingsError(settings_texts.CODE_FROM_A_REPOSITORY.format(name=from_dotenv[0], dotenv=dotenv))
    exposed = [name for name, value in values.items() if isinstance(value, Secret) and name in written.environment]
    if from_dotenv and exposed:
        raise SettingsError(exposure_sentence(from_dotenv[0], dotenv, exposed))


def refuse_foreign_addresses(
    settings: Sequence[Setting], values: Mapping[str, Any], written: Written, dotenv: Path | None
) -> None:
    """Raise SettingsError if `.env` alone would send a key that was set elsewhere to another machine."""
    # A key of a file or the keychain was not written for this address either.
    in_named_files = {
        setting.name for setting in settings if setting.sensitivity.secrecy is Secrecy.FILE
    } & written.values.keys()
    elsewhere = {*written.environment, *written.in_files, *written.in_keychain, *in_named_files}
    for setting, address in custom_addresses(settings, values):
        exposed = [name for name in setting.sensitivity.keys if name in elsewhere]
        if setting.name in written.only_in_dotenv and exposed and not is_loopback(urlsplit(address).hostname or ""):
            raise SettingsError(exposure_sentence(setting.name, dotenv, exposed))


def refuse_foreign_routes(
    settings: Sequence[Setting],
    values: Mapping[str, Any],
    written: Written,
    dotenv: Path | None,
    also: Collection[str] = (),
) -> None:
    """Raise SettingsError if `.env` alone decides how services are reached to which a key goes that was set elsewhere:
    the author of that file could then read the key on its way. If the file came with a clone, also without such a key:
    one that is not set yet will be typed, or come from a database. `also`: more variables with keys.
    """
    routes = [
        one.name
        for one in settings
        if one.sensitivity.is_route and one.name in values and one.name in written.only_in_dotenv
    ]
    if routes and dotenv is not None and is_in_repository(dotenv):
        raise SettingsError(settings_texts.ROUTE_FROM_A_REPOSITORY.format(name=routes[0], dotenv=dotenv))
    elsewhere = {*written.environment, *written.in_files, *written.in_keychain}
    exposed = [name for name, value in values.items() if isinstance(value, Secret) and name in elsewhere]
    exposed += [
        one.name for one in settings if one.sensitivity.secrecy is Secrecy.FILE and one.name in written.environment
    ]
    exposed += also
    if routes and exposed:
        raise SettingsError(exposure_sentence(routes[0], dotenv, exposed))


def custom_addresses(settings: Iterable[Setting], values: Mapping[str, Any]) -> list[tuple[Setting, str]]:
    """Return the addresses of services that are not the vendor's."""
    return [
        (setting, values[setting.name])
        for setting in settings
        if setting.is_address
        and setting.name in values
        and urlsplit(values[setting.name])[:2] != urlsplit(setting.default)[:2]
        and not is_below(_host(values[setting.name]), setting.sensitivity.own)
    ]


def _host(address: str) -> str:
    return urlsplit(address).hostname or ""


def exposure_sentence(name: str, dotenv: Path | None, exposed: Collection[str]) -> str:
    return settings_texts.KEY_FROM_ELSEWHERE.format(name=name, dotenv=dotenv, others=" and ".join(exposed))


def _names_of_secrets(settings: Iterable[Setting]) -> list[str]:
    """The settings that can be read from a file: secrets, and the addresses of databases with their passwords."""
    may_be = [setting.name for setting in settings if setting.sensitivity.secrecy in {Secrecy.VALUE, Secrecy.PASSWORD}]
    declared = {setting.name for setting in settings}
    return [name for name in may_be if f"{name}{IN_FILE}" not in declared]


def _unknown_sentence(name: str, known: Collection[str]) -> str:
    ours = {known_name.removeprefix(OURS): known_name for known_name in known}
    near = [ours[match] for match in get_close_matches(name.upper().removeprefix(OURS), ours, n=2, cutoff=0.75)]
    remedy = settings_texts.MEANT.format(names=" or ".join(near)) if near else settings_texts.ALL_LISTED
    return settings_texts.NOT_A_SETTING.format(name=name, remedy=remedy)
