"""Reads `hooks.toml`: a table for each incoming webhook, by its name. Pure, but for the files with secrets.

Rules
  Every problem is one SettingsError: a sentence that names the file, the hook and the key, and says what to do. None
  shows a secret.
  An unknown key, preset or value is an error: a typo must not open a door, or close it unnoticed.
  A secret is in the environment (`secret_env`) or in a file (`secret_file`), never in `hooks.toml` itself. It may be
  two, separated by a blank or a new line, while the sender changes from one to the other: both are accepted.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from difflib import get_close_matches
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from agent.errors import SettingsError
from agent.spending import NANO, Money
from bot.chat.texts.formatting import zone_names, zone_of
from bot.settings.parsers import CHANNEL, is_variable_name
from bot.settings.secret import Secret
from bot.settings.sources import path_beside, secret_in
from bot.webhooks import texts
from bot.webhooks.presets import Preset, presets
from bot.webhooks.signatures import Scheme, fault_of

if TYPE_CHECKING:
    from bot.webhooks.templates import HookTemplate

MAX_HOOKS: Final = 100
MAX_SECRETS: Final = 2
MAX_MENTIONS: Final = 10
MAX_TOOLS: Final = 50
MAX_ASK: Final = 4_000
MAX_RATE: Final = 6_000
DEFAULT_RATE: Final = 60  # A minute: a storm of alerts is grouped by its sender, and more is read by nobody
DEFAULT_DOLLARS: Final = 5
_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,31}", re.ASCII)
_PERSON: Final = re.compile(r"[UWS][A-Z0-9]{2,20}|&?\d{1,20}", re.ASCII)
_TOOL: Final = re.compile(r"[A-Za-z0-9_.\-/*]{1,100}", re.ASCII)
_QUIET: Final = re.compile(r"(\d\d):(\d\d)-(\d\d):(\d\d)(?: +(\S+))?", re.ASCII)


class Action(StrEnum):
    POST = "post"
    """The event's text is posted."""
    ASK = "ask"
    """The text is posted, and a question about it is answered in its thread."""


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From `start` to `end` on the clock of `zone`, also past midnight. What comes then is posted at `end`."""

    start: time
    end: time
    zone: str = "UTC"

    def until(self, now: datetime) -> datetime | None:
        """Return when the quiet hours end in which `now` lies; None outside of them."""
        local = now.astimezone(zone_of(self.zone))
        at = local.time().replace(tzinfo=None)
        overnight = self.start > self.end
        is_quiet = (at >= self.start or at < self.end) if overnight else self.start <= at < self.end
        if not is_quiet:
            return None
        day = local.date() + timedelta(days=1) if overnight and at >= self.start else local.date()
        return datetime.combine(day, self.end, local.tzinfo).astimezone(now.tzinfo)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """An incoming webhook. `channel`: "slack:C0123", "slack:T0123:C0123" or "discord:41771983423143937"."""

    name: str
    preset: str
    scheme: Scheme
    secrets: tuple[Secret, ...] = field(repr=False)
    secret_file: str = ""
    """The file with its secret, as `hooks.toml` names it; "" for one in the environment."""
    channel: str
    action: Action
    ask: str = ""
    text: "HookTemplate"
    key: "HookTemplate"
    closes: "HookTemplate"
    delivery: "HookTemplate"
    event_header: str = ""
    tools: tuple[str, ...] = ()
    """Patterns of the names of the tools that a question may use; they only read."""
    dollars: Money
    """What its questions may cost in a day (UTC)."""
    rate: int = DEFAULT_RATE
    """Deliveries that are stored in a minute."""
    quiet: QuietHours | None = None
    mention: tuple[str, ...] = ()
    """Who is mentioned: the platform's ids of people ("U0123") and groups ("S0123", "&41771983423143936")."""

    def allows(self, tool: str) -> bool:
        return any(fnmatchcase(tool, pattern) for pattern in self.tools)

    @property
    def revealed(self) -> list[str]:
        return [secret.reveal() for secret in self.secrets]


# Returns the content of a file with a secret, by the path as written. Raises SettingsError.
ReadFile = Callable[[str], str]


def parse_file(text: str, file: str, variables: Mapping[str, str], read_file: ReadFile) -> tuple[Hook, ...]:
    """Parse the content of the file. `variables`: the environment and `.env`. Raises SettingsError."""
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(texts.NO_TOML.format(file=file, error=str(error)[:200])) from None
    if len(content) > MAX_HOOKS:
        raise SettingsError(texts.TOO_MANY_HOOKS.format(file=file, most=MAX_HOOKS))
    return tuple(_Entry(file, name, table, variables, read_file).read() for name, table in content.items())


def fault_of_name(name: str) -> str | None:
    """Return what is wrong with the name of a hook, as a sentence; None if nothing is."""
    return None if _NAME.fullmatch(name) else texts.HOOK_NAME.format(name=name[:40])


def fault_of_channel(channel: str) -> str | None:
    """Return what is wrong with a channel, as the end of a sentence; None if nothing is."""
    return None if CHANNEL.fullmatch(channel) else texts.CHANNEL_FORM


KEYS: Final = (
    "preset", "signed", "secret_env", "secret_file", "channel", "do", "ask", "text", "key", "closes", "tools",
    "dollars_per_day", "per_minute", "quiet", "mention",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Entry:
    file: str
    name: str
    content: Any
    variables: Mapping[str, str]
    read_file: ReadFile

    def fail(self, problem: str) -> NoReturn:
        raise SettingsError(texts.HOOK_FAULT.format(file=self.file, name=self.name[:40], problem=problem))

    def read(self) -> Hook:
        if (fault := fault_of_name(self.name)) is not None:
            raise SettingsError(f"{self.file}: {fault}")
        keys: object = self.content
        if not isinstance(keys, dict):
            self.fail(texts.HOOK_NO_TABLE)
        for key in cast("dict[str, object]", keys):
            if key not in KEYS:
                self.fail(self._unknown("", key, KEYS))
        preset = self._preset()
        scheme = self._scheme(preset)
        action = self._choice("do", [each.value for each in Action], Action.POST.value)
        ask = self._string("ask", MAX_ASK)
        if action == Action.ASK and not ask:
            self.fail(texts.ASK_MISSING)
        if ask and action != Action.ASK:
            self.fail(texts.ASK_UNUSED)
        channel = self._string("channel", 60)
        if (fault := fault_of_channel(channel)) is not None:
            self.fail(fault)
        tools = self._strings("tools", MAX_TOOLS, _TOOL, texts.TOOL_FORM)
        if tools and action != Action.ASK:
            self.fail(texts.TOOLS_UNUSED)
        return Hook(
            name=self.name,
            preset=self._string("preset", 40),
            scheme=scheme,
            secrets=self._secrets(scheme),
            secret_file=self._string("secret_file", 4_000),
            channel=channel,
            action=Action(action),
            ask=ask,
            text=self._template("text", preset.text),
            key=self._template("key", preset.key),
            closes=self._template("closes", preset.closes),
            delivery=self._compiled("delivery", preset.delivery),
            event_header=preset.event_header,
            tools=tools,
            dollars=Money(round(self._number("dollars_per_day", DEFAULT_DOLLARS, 0.01, 100_000) * NANO)),
            rate=int(self._number("per_minute", DEFAULT_RATE, 1, MAX_RATE, whole=True)),
            quiet=self._quiet(),
            mention=self._strings("mention", MAX_MENTIONS, _PERSON, texts.MENTION_FORM),
        )

    def _preset(self) -> Preset:
        return presets()[self._choice("preset", [*presets()], "")]

    def _scheme(self, preset: Preset) -> Scheme:
        return Scheme(self._choice("signed", [each.value for each in Scheme], preset.signed.value))

    def _secrets(self, scheme: Scheme) -> tuple[Secret, ...]:
        variable, file = self._string("secret_env", 200), self._string("secret_file", 4_000)
        if bool(variable) == bool(file):
            self.fail(texts.ONE_PLACE)
        if variable:
            if not is_variable_name(variable):
                self.fail(texts.NO_VARIABLE)
            where, value = variable, self.variables.get(variable, "")
        else:
            where = file
            try:
                value = self.read_file(file)
            except SettingsError as error:
                self.fail(texts.UNREADABLE.format(error=error, name=self.name))
        secrets = value.split()
        if not secrets:
            self.fail(texts.EMPTY_FILE.format(where=where, name=self.name))
        if len(secrets) > MAX_SECRETS:
            self.fail(texts.MANY_KEYS.format(where=where, most=MAX_SECRETS))
        for secret in secrets:
            if (fault := fault_of(scheme, secret)) is not None:
                self.fail(texts.KEY_FAULT.format(where=where, fault=fault, name=self.name))
        return tuple(map(Secret, secrets))

    def _template(self, key: str, preset: str) -> "HookTemplate":
        value = self.content.get(key, preset)
        if not isinstance(value, str):
            self.fail(texts.NO_STRING.format(key=key))
        return self._compiled(key, value)

    def _compiled(self, key: str, value: str) -> "HookTemplate":
        from bot.webhooks.templates import TemplateFailed, compiled  # noqa: PLC0415 -- Jinja is loaded for hooks alone

        try:
            return compiled(value)
        except TemplateFailed as error:
            self.fail(texts.TEMPLATE_FAULT.format(key=key, error=error))

    def _quiet(self) -> QuietHours | None:
        value = self._string("quiet", 100)
        if not value:
            return None
        match = _QUIET.fullmatch(value)
        zone = (match and match[5]) or "UTC"
        if match is None or zone not in zone_names():
            self.fail(texts.QUIET_FORM)
        try:
            start, end = time(int(match[1]), int(match[2])), time(int(match[3]), int(match[4]))
        except ValueError:
            self.fail(texts.QUIET_FORM)
        if start == end:
            self.fail(texts.QUIET_FORM)
        return QuietHours(start, end, zone)

    def _string(self, key: str, most: int) -> str:
        value = self.content.get(key, "")
        if not isinstance(value, str):
            self.fail(texts.NO_STRING.format(key=key))
        if len(value) > most:
            self.fail(texts.STRING_LONG.format(key=key, most=most))
        return value.strip()

    def _choice(self, key: str, known: Sequence[str], default: str) -> str:
        value = self.content.get(key, default)
        if not isinstance(value, str) or value not in known:
            self.fail(
                self._unknown(key, str(value), known) if value else texts.MISSING.format(key=key, known=_listed(known))
            )
        return value

    def _number(self, key: str, default: float, least: float, most: float, *, whole: bool = False) -> float:
        value = self.content.get(key, default)
        is_number = isinstance(value, int) or (isinstance(value, float) and not whole)
        if isinstance(value, bool) or not is_number or not least <= value <= most:
            kind = "a whole number" if whole else "a number"
            self.fail(texts.NO_NUMBER.format(key=key, kind=kind, least=f"{least:g}", most=f"{most:,g}"))
        return value

    def _strings(self, key: str, most: int, form: re.Pattern[str], rule: str) -> tuple[str, ...]:
        values = self.content.get(key, [])
        if not isinstance(values, list) or len(cast("list[object]", values)) > most:
            self.fail(texts.NO_LIST.format(key=key, most=most))
        for value in cast("list[object]", values):
            if not isinstance(value, str) or form.fullmatch(value) is None:
                self.fail(rule)
        return tuple(cast("list[str]", values))

    @staticmethod
    def _unknown(key: str, value: str, known: Sequence[str]) -> str:
        """Return what is wrong with the value of a key; of a key itself, if `key` is ""."""
        close = get_close_matches(value, known, 1)
        meant = texts.DID_YOU_MEAN.format(close=close[0]) if close else ""
        sentence = texts.UNKNOWN if key else texts.UNKNOWN_KEY
        return sentence.format(key=key, value=value[:60], known=_listed(known), meant=meant)


def _listed(known: Sequence[str]) -> str:
    return ", ".join(known)


def no_files(_: str) -> NoReturn:
    """Read no secret from a file."""
    raise SettingsError(texts.NO_FILES)


def beside(file: Path) -> ReadFile:
    """Return a function that reads files with secrets, whose paths may be relative to the folder of `file`."""
    return lambda path: secret_in("secret_file", str(path_beside(file, path)))
