"""`cogency init`: asks for the settings of a bot, tries each answer at once, and writes them to `.env`.

Rules
  Only answered settings change in the file: other lines, comments and their order stay. Only its owner can read it.
  An answer that does not work is explained and asked again; it is written only if the user insists.
  A secret is typed without echo or comes from the environment. It is never an argument of a command, and never shown.
  Without a terminal no question is asked: the environment's settings are tried and written.
"""

import getpass
import json
import os
import re
import sys
import webbrowser
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, TypeAlias
from urllib.parse import quote

from agent.errors import CogencyError, ProviderError, SettingsError
from agent.providers.catalog import ENDPOINTS
from bot.app.settings import Settings, load_settings, setting_names
from bot.chat.findings import Finding, finding_lines, healthy
from bot.chat.output import write_out
from bot.models.choice import DEFAULT_MODELS, models_of
from bot.platforms.discord import options as discord
from bot.settings.sources import IN_FILE, read_dotenv
from bot.setup import texts as setup_texts
from bot.setup.operator import discord_application, examine_model, examine_platforms

MAX_LOCAL_MODELS: Final = 5  # Models on this machine offered by number; any other can be typed
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:@%+,=-]*")  # Values that need no quotes in `.env`


Examine: TypeAlias = Callable[[Settings], Awaitable[list[Finding]]]


class Dialogue(Protocol):
    """The dialogue with the user who sets the bot up."""

    def say(self, text: str) -> None: ...

    def ask(self, question: str, usual: str = "") -> str:
        """Return the user's answer, or `usual` for an empty one. Raises EOFError at the end of the input."""
        ...

    def ask_unseen(self, question: str) -> str:
        """Return a secret that the user types without echo. Raises EOFError at the end of the input."""
        ...

    def open_page(self, address: str) -> bool:
        """Show a page in a browser; return whether there is one."""
        ...


class Typed:
    """The dialogue at the terminal where the command was started."""

    def say(self, text: str) -> None:
        write_out(sys.stdout, f"{text}\n")

    def ask(self, question: str, usual: str = "") -> str:
        return input(f"{question}{f' [{usual}]' if usual else ''}: ").strip() or usual

    def ask_unseen(self, question: str) -> str:
        return getpass.getpass(question).strip()

    def open_page(self, address: str) -> bool:
        try:
            return webbrowser.open(address)
        except webbrowser.Error:
            return False


@dataclass(slots=True)
class _Draft:
    """`written`: the present content of `.env`; `environ`: the environment; `changes`: the answers so far."""

    written: Mapping[str, str]
    environ: Mapping[str, str]
    changes: dict[str, str] = field(default_factory=dict[str, str])

    def settings(self) -> Settings:
        """Return the settings with the answers so far. Raises SettingsError."""
        return load_settings({**self.written, **self.environ, **self.changes})

    def has(self, name: str) -> bool:
        values = {**self.written, **self.environ, **self.changes}
        return any(values.get(key, "").strip() for key in (name, f"{name}{IN_FILE}"))


async def set_up(talk: Dialogue, dotenv: Path, environ: Mapping[str, str]) -> bool:
    """Ask, try and write; return whether to start the bot now. Raises SettingsError for an unreadable file."""
    draft = _Draft(read_dotenv(dotenv), environ)
    talk.say(setup_texts.INIT_BEGINS.format(file=dotenv))
    await _model(talk, draft)
    slack = _yes(talk, setup_texts.INIT_SLACK, usual=draft.has("SLACK_BOT_TOKEN") or not draft.has("DISCORD_TOKEN"))
    if slack:
        await _slack(talk, draft)
    if _yes(talk, setup_texts.INIT_DISCORD, usual=draft.has("DISCORD_TOKEN")):
        await _discord(talk, draft)
    _data(talk, draft)
    write(dotenv, draft.changes)
    talk.say(setup_texts.INIT_WRITTEN.format(file=dotenv, names=", ".join(draft.changes) or "nothing new"))
    if not (draft.has("SLACK_BOT_TOKEN") or draft.has("DISCORD_TOKEN")):
        talk.say(setup_texts.INIT_TERMINAL)
        return False
    return _yes(talk, setup_texts.INIT_RUN, usual=True)


async def set_up_from(environ: Mapping[str, str], dotenv: Path) -> tuple[list[Finding], list[str]]:
    """Try and write what the environment sets; return the findings and the names written. Nothing is written if a
    finding is a problem, or nothing is set. Raises SettingsError.
    """
    values = {name: value for name in setting_names() if (value := environ.get(name, "").strip())}
    draft = _Draft(read_dotenv(dotenv), environ, values)
    settings = draft.settings()
    findings = [*await examine_model(settings), *await examine_platforms(settings)]
    if not (values and healthy(findings)):
        return findings, []
    write(dotenv, values)
    return findings, [*values]


# The steps.


async def _model(talk: Dialogue, draft: _Draft) -> None:
    talk.say(setup_texts.INIT_MODEL)
    local = await _local_models(draft)
    vendors = [name for name in DEFAULT_MODELS if name in ENDPOINTS]
    offered = [*local, *(f"{name}:{DEFAULT_MODELS[name]}" for name in vendors), "rehearsal"]
    for number, spec in enumerate(offered, 1):
        talk.say(f"  {number}  {spec}  {_about(spec, draft)}".rstrip())
    preset = draft.written.get("COGENCY_MODEL") or draft.environ.get("COGENCY_MODEL") or _first_usable(offered, draft)
    while True:
        answer = talk.ask(setup_texts.INIT_WHICH_MODEL, preset)
        # A number that picks nothing would become the name of a model.
        if answer.isdecimal() and _pick(answer, offered) == answer:
            talk.say(setup_texts.INIT_NO_NUMBER.format(number=answer, most=len(offered)))
            continue
        draft.changes["COGENCY_MODEL"] = _pick(answer, offered)
        endpoint = ENDPOINTS.get(draft.changes["COGENCY_MODEL"].partition(":")[0].lower())
        if endpoint is not None and endpoint.key_required and not draft.has(endpoint.key_setting):
            draft.changes[endpoint.key_setting] = talk.ask_unseen(f"{endpoint.key_setting}: ")
        if await _try(talk, draft, examine_model):
            return
        # The key may be what was wrong: it is asked for again.
        if endpoint is not None:
            draft.changes.pop(endpoint.key_setting, None)


async def _local_models(draft: _Draft) -> list[str]:
    """Return models of a local Ollama, if one answers."""
    try:
        served = await models_of(draft.settings().models.endpoint("ollama"), None)
    except (ProviderError, SettingsError):
        return []
    return [f"ollama:{name}" for name in (served or [])[:MAX_LOCAL_MODELS]]


def _about(spec: str, draft: _Draft) -> str:
    endpoint = ENDPOINTS.get(spec.partition(":")[0])
    if endpoint is None:
        return setup_texts.INIT_REHEARSAL
    if endpoint.is_local:
        return setup_texts.INIT_LOCAL
    is_there = draft.has(endpoint.key_setting)
    return (setup_texts.INIT_KEY_THERE if is_there else setup_texts.INIT_NEEDS_KEY).format(key=endpoint.key_setting)


def _first_usable(offered: Sequence[str], draft: _Draft) -> str:
    """Return the number of the first model that needs no further key."""
    for number, spec in enumerate(offered, 1):
        endpoint = ENDPOINTS.get(spec.partition(":")[0])
        if endpoint is None or endpoint.is_local or draft.has(endpoint.key_setting):
            return str(number)
    return str(len(offered))


def _pick(answer: str, offered: Sequence[str]) -> str:
    index = int(answer) if answer.isascii() and answer.isdecimal() and len(answer) < 3 else 0
    return offered[index - 1] if 0 < index <= len(offered) else answer


async def _slack(talk: Dialogue, draft: _Draft) -> None:
    from bot.platforms.slack import manifest  # noqa: PLC0415 -- a bot without Slack does not load it

    if await _keeps(talk, draft, "Slack", "SLACK_APP_TOKEN", "SLACK_BOT_TOKEN"):
        return
    content = manifest.manifest(prefix=draft.settings().slack.command_prefix)
    page = f"https://api.slack.com/apps?new_app=1&manifest_json={quote(json.dumps(content, separators=(',', ':')))}"
    talk.say(setup_texts.INIT_SLACK_APP)
    talk.ask(setup_texts.INIT_OPEN)
    if not talk.open_page(page):
        talk.say(setup_texts.INIT_PASTE.format(page=page))
    while True:
        talk.say(setup_texts.INIT_SLACK_SOCKET)
        _secret(talk, draft, "SLACK_APP_TOKEN", "xapp-")
        talk.say(setup_texts.INIT_SLACK_INSTALL)
        _secret(talk, draft, "SLACK_BOT_TOKEN", "xoxb-")
        if await _try(talk, draft, examine_platforms, "Slack"):
            return


async def _keeps(talk: Dialogue, draft: _Draft, where: str, *names: str) -> bool:
    """Return whether a platform that is set up already stays as it is, and works."""
    if not all(map(draft.has, names)) or not _yes(talk, setup_texts.INIT_KEEP.format(where=where), usual=True):
        return False
    return await _try(talk, draft, examine_platforms, where)


async def _discord(talk: Dialogue, draft: _Draft) -> None:
    if await _keeps(talk, draft, "Discord", "DISCORD_TOKEN"):
        return
    talk.say(setup_texts.INIT_DISCORD_APP)
    talk.ask(setup_texts.INIT_OPEN)
    if not talk.open_page(setup_texts.DISCORD_PORTAL):
        talk.say(setup_texts.DISCORD_PORTAL)
    while True:
        _secret(talk, draft, "DISCORD_TOKEN")
        if await _try(talk, draft, examine_platforms, "Discord"):
            break
    try:
        settings = draft.settings()
        features = discord.required_features(settings.discord)
        talk.say(discord.invite_text(await discord_application(settings), features).rstrip())
    except CogencyError as error:  # not fatal: `cogency discord invite` prints the addresses later
        talk.say(str(error))


def _secret(talk: Dialogue, draft: _Draft, name: str, begins: str = "") -> None:
    """Ask for a secret until there is one. `begins`: the prefix of the vendor's secrets of this kind."""
    while True:
        is_set = draft.has(name)
        answer = talk.ask_unseen(f"{name}{setup_texts.INIT_KEEPS if is_set else ''}: ").strip()
        if answer.startswith(begins) and answer:
            draft.changes[name] = answer
            return
        if is_set and not answer:
            return
        talk.say((setup_texts.INIT_PASTED_OTHER if answer else setup_texts.INIT_PASTED_NOTHING).format(begins=begins))


def _data(talk: Dialogue, draft: _Draft) -> None:
    current = draft.settings().storage.url
    answer = talk.ask(setup_texts.INIT_DATA, current)
    if answer != current:
        draft.changes["COGENCY_DATABASE_URL"] = (
            answer if "://" in answer else f"sqlite:///{Path(answer).expanduser().absolute()}"
        )
        try:
            draft.settings()
        except SettingsError as error:
            talk.say(str(error))
            del draft.changes["COGENCY_DATABASE_URL"]
            _data(talk, draft)


async def _try(talk: Dialogue, draft: _Draft, examine: Examine, where: str = "") -> bool:
    """Return whether the answers work, or the user keeps them anyway. `where`: only these findings count."""
    try:
        findings = [finding for finding in await examine(draft.settings()) if where in {"", finding.where, "Settings"}]
    except SettingsError as error:
        talk.say(str(error))
        return False
    talk.say(finding_lines(findings).rstrip())
    return healthy(findings) or _yes(talk, setup_texts.INIT_ANYWAY, usual=False)


def _yes(talk: Dialogue, question: str, *, usual: bool) -> bool:
    while True:
        answer = talk.ask(question, "y" if usual else "n").strip().casefold()
        if answer.startswith(("y", "j", "o", "s", "n")):  # yes, ja, oui, sí; no, nein, non
            return not answer.startswith("n")
        talk.say(setup_texts.INIT_YES_OR_NO)


# The file.


def write(dotenv: Path, changes: Mapping[str, str]) -> None:
    """Change these settings in the file, atomically and readable by its owner alone. Raises SettingsError."""
    try:
        dotenv.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        before = dotenv.read_text(encoding="utf-8-sig") if dotenv.exists() else ""
        part = dotenv.with_name(f"{dotenv.name}.part")
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(with_changes(before, changes))
        part.replace(dotenv)
    except OSError as error:
        raise SettingsError(setup_texts.DOTENV_UNWRITABLE.format(dotenv=dotenv, reason=error.strerror)) from None


def with_changes(text: str, changes: Mapping[str, str]) -> str:
    """Return the file's text with these settings, each on its own line or commented line, else at the end. Pure."""
    lines, remaining = text.splitlines(), dict(changes)
    for commented in (False, True):
        for index in range(len(lines) - 1, -1, -1):  # of a repeated name the last line counts
            name = _setting_name(lines[index], commented=commented)
            if name in remaining:
                lines[index] = f"{name}={_quote(remaining.pop(name))}"
    lines += [f"{name}={_quote(value)}" for name, value in remaining.items()]
    return "".join(f"{line}\n" for line in lines)


def _setting_name(line: str, *, commented: bool) -> str:
    name, sign, _ = line.removeprefix("# " if commented else "export ").partition("=")
    return name.strip() if sign and line.startswith("# ") == commented else ""


def _quote(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
