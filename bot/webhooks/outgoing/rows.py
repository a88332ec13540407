"""The operator's file of outgoing webhooks: TOML with a table [[webhook]] for each receiver.

Rules
  Everything is checked when the bot starts; an unknown key, event or form is an error that names the row and the key.
  Secrets are not in the file: a row names an environment variable or a file.
  Words leave only from places that the row names.
"""

import hashlib
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from agent.errors import SettingsError
from agent.outgoing import OutgoingEvent, Subscription
from bot.chat.network.guard import Target, WebRefused, parse_target
from bot.settings.parsers import PLACE, is_variable_name
from bot.settings.sources import path_beside
from bot.webhooks.outgoing import texts
from bot.webhooks.outgoing.signing import SigningSecret, parse_secret

MAX_ROWS: Final = 20  # Each has a worker of its own
MAX_PLACES: Final = 1_000
TABLE: Final = "webhook"
_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,29}")
KEYS: Final = (
    "name",
    "url",
    "events",
    "secret_env",
    "secret_file",
    "old_secret_env",
    "old_secret_file",
    "places",
    "words",
)


@dataclass(frozen=True, slots=True)
class OutgoingRow:
    """A receiver. `secrets`: the new one first; two while it is replaced."""

    name: str
    target: Target
    events: frozenset[OutgoingEvent]
    secrets: tuple[SigningSecret, ...]
    places: frozenset[str] = frozenset()
    words: bool = False
    secret_files: tuple[Path, ...] = ()

    @property
    def subscription(self) -> Subscription:
        address = hashlib.sha256(self.target.address.encode()).hexdigest()
        return Subscription(self.name, self.events, self.places, address)


@dataclass(frozen=True, slots=True)
class SecretSources:
    """Where secrets are read. `read_file`: returns the content of a file, by what the error calls it and by its name;
    raises SettingsError.
    """

    variables: Mapping[str, str]
    read_file: Callable[[str, str], str]


def parse_rows(content: str, file: Path, sources: SecretSources) -> tuple[OutgoingRow, ...]:
    """Parse the file. Raises SettingsError."""
    try:
        tables: Mapping[str, object] = tomllib.loads(content)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(texts.NO_TOML.format(file=file, error=error)) from None
    if unknown := sorted(tables.keys() - {TABLE}):
        raise SettingsError(texts.NO_TABLE.format(file=file, key=unknown[0]))
    listed = tables.get(TABLE)
    if not isinstance(listed, list) or not listed:
        raise SettingsError(texts.EMPTY.format(file=file))
    found = cast("list[object]", listed)
    if len(found) > MAX_ROWS:
        raise SettingsError(texts.TOO_MANY.format(file=file, most=MAX_ROWS))
    rows = tuple(_RowReader(file, number, table, sources).read() for number, table in enumerate(found, 1))
    names = [row.name for row in rows]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise SettingsError(texts.TWICE.format(file=file, name=repeated[0]))
    return rows


class _RowReader:
    """Reads one table. Its errors name the row by its name, or by its number while it has none."""

    def __init__(self, file: Path, number: int, table: object, sources: SecretSources) -> None:
        self._file = file
        self._called = str(number)
        self._sources = sources
        self._files = list[Path]()
        if not isinstance(table, dict):
            raise self._error(texts.NO_ROW)
        self._table = cast("dict[str, object]", table)

    def read(self) -> OutgoingRow:
        name = self._text("name")
        if _NAME.fullmatch(name) is None:
            raise self._error(texts.BAD_NAME)
        self._called = name
        if unknown := [key for key in self._table if key not in KEYS]:
            raise self._error(texts.UNKNOWN_KEY.format(key=unknown[0], known=", ".join(KEYS)))
        row = OutgoingRow(
            name, self._target(), self._events(), self._secrets(), self._places(), self._words(), tuple(self._files)
        )
        if row.words and not row.places:
            raise self._error(texts.WORDS_NEED_PLACES)
        return row

    def _target(self) -> Target:
        url = self._text("url")
        if not url.lower().startswith(("https://", "http://")):
            raise self._error(texts.BAD_URL.format(problem=texts.NO_SCHEME))
        try:
            return parse_target(url)
        except WebRefused as refused:
            raise self._error(texts.BAD_URL.format(problem=refused)) from None

    def _events(self) -> frozenset[OutgoingEvent]:
        known = ", ".join(OutgoingEvent)
        named = self._list("events")
        if not named:
            raise self._error(texts.NO_EVENTS.format(known=known))
        if unknown := [name for name in named if name not in set(OutgoingEvent)]:
            raise self._error(texts.UNKNOWN_EVENT.format(event=unknown[0], known=known))
        return frozenset(map(OutgoingEvent, named))

    def _places(self) -> frozenset[str]:
        if "places" not in self._table:
            return frozenset()
        places = self._list("places")
        if not places or len(places) > MAX_PLACES:
            raise self._error(texts.NO_PLACES.format(most=MAX_PLACES))
        if bad := [place for place in places if PLACE.fullmatch(place) is None]:
            raise self._error(texts.BAD_PLACE.format(place=bad[0]))
        return frozenset(places)

    def _words(self) -> bool:
        words = self._table.get("words", False)
        if not isinstance(words, bool):
            raise self._error(texts.BAD_WORDS)
        return words

    def _secrets(self) -> tuple[SigningSecret, ...]:
        current = self._secret("secret")
        if current is None:
            raise self._error(texts.KEY_MISSING)
        old = self._secret("old_secret")
        return (current,) if old is None else (current, old)

    def _secret(self, key: str) -> SigningSecret | None:
        by_variable, by_file = f"{key}_env", f"{key}_file"
        if by_variable in self._table and by_file in self._table:
            raise self._error(texts.KEY_TWICE.format(first=by_variable, second=by_file))
        if by_variable in self._table:
            variable = self._text(by_variable)
            if not is_variable_name(variable):
                raise self._error(texts.BAD_VARIABLE.format(key=by_variable))
            where, text = variable, self._sources.variables.get(variable, "")
            if not text.strip():
                raise self._error(texts.VARIABLE_MISSING.format(key=by_variable, variable=variable))
        elif by_file in self._table:
            named = path_beside(self._file, self._text(by_file))
            where = by_file
            self._files.append(named)
            text = self._sources.read_file(f"{by_file} of the webhook {self._called} in {self._file}", str(named))
        else:
            return None
        try:
            return parse_secret(text.strip())
        except ValueError as problem:
            raise self._error(f"{where} {problem}") from None

    def _text(self, key: str) -> str:
        value = self._table.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self._error(texts.NO_TEXT.format(key=key))
        return value.strip()

    def _list(self, key: str) -> Sequence[str]:
        value = self._table.get(key)
        values = cast("list[object]", value) if isinstance(value, list) else None
        if values is None or not all(isinstance(each, str) for each in values):
            raise self._error(texts.NO_LIST.format(key=key))
        return cast("list[str]", values)

    def _error(self, problem: str) -> SettingsError:
        return SettingsError(texts.ROW_WRONG.format(file=self._file, row=self._called, problem=problem))
