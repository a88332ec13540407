"""`cogency hooks`: adds, lists, tests and rotates incoming webhooks, in the file that COGENCY_WEBHOOKS names.

A secret is written to a file of its own beside that file, which only its owner can read. The bot reads both when it
starts.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

import httpx

from agent.errors import ProviderError, Refused, SettingsError
from agent.machine import CLOCK, new_id
from agent.messages import ModelCall, Usage
from agent.spending import cost
from bot.app import texts as app_texts
from bot.app.from_settings import http_address
from bot.app.settings import Settings
from bot.chat.findings import Finding, Level
from bot.chat.output import printable_line
from bot.models.choice import ListModels, choose_model
from bot.models.settings import ModelSettings
from bot.settings.sources import named_file, path_beside
from bot.setup import texts as setup_texts
from bot.webhooks.config import Action, Hook, beside, fault_of_channel, fault_of_name, parse_file
from bot.webhooks.deliveries import Event, event_of, payload_of
from bot.webhooks.presets import Sample, presets, samples
from bot.webhooks.receiving import PATH
from bot.webhooks.settings import WEBHOOKS, hooks_of
from bot.webhooks.signatures import fault_of, new_secret, sign
from bot.webhooks.templates import TemplateFailed

DEFAULT_FILE: Final = "hooks.toml"
SECRETS: Final = "hooks.secrets"  # The folder beside the file
SEND_S: Final = 20.0

# Returns so many random bytes.
Random = Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class AddedHook:
    """A webhook that was added. `secret`: its new one, "" if it was given."""

    name: str
    file: Path
    secret_file: Path
    secret: str = field(repr=False)


def add_hook(
    settings: Settings, name: str, preset: str, channel: str, ask: str | None, secret: str | None, random: Random
) -> AddedHook:
    """Add a webhook to the file. Raises Refused and SettingsError."""
    if (fault := fault_of_name(name) or (fault_of_channel(channel) and setup_texts.HOOK_CHANNEL)) is not None:
        raise Refused(fault)
    file, variables = _file(settings), settings.webhook_variables
    before = _content(file)
    if name in {hook.name for hook in _parse(before, file, variables)}:
        raise Refused(setup_texts.HOOK_EXISTS.format(file=file, name=name))
    given = presets()[preset]
    value = secret or new_secret(given.signed, random, name)
    if (fault := fault_of(given.signed, value)) is not None:
        raise Refused(setup_texts.HOOK_SECRET_FAULT.format(fault=fault))
    asks = f'do = "ask"\nask = {json.dumps(ask, ensure_ascii=False)}\n' if ask else ""
    entry = f'[{name}]\npreset = "{preset}"\nsecret_file = "{SECRETS}/{name}"\nchannel = "{channel}"\n{asks}'
    after = f"{before.rstrip()}\n\n{entry}".lstrip()
    secret_file = file.parent / SECRETS / name
    _write_secret(secret_file, value, replace=False)
    try:
        _parse(after, file, variables)
        _replace(file, after)
    except (SettingsError, OSError):
        secret_file.unlink()
        raise
    return AddedHook(name, file, secret_file, "" if secret else value)


def hook_add(
    settings: Settings, name: str, preset: str, channel: str, ask: str | None, secret: str | None, random: Random
) -> tuple[str, str]:
    """Add a webhook; return what to do now, and its new secret, "" if `secret` was given. Raises Refused and
    SettingsError.
    """
    added = add_hook(settings, name, preset, channel, ask, secret, random)
    lines = [
        setup_texts.HOOK_ADDED.format(name=name, file=added.file),
        setup_texts.HOOK_SETUP.format(setup=presets()[preset].setup),
        setup_texts.HOOK_ADDRESS.format(address=hook_address(settings, name)),
        setup_texts.HOOK_SECRET_IN.format(file=added.secret_file),
    ]
    if settings.webhooks.file is None:
        lines.append(setup_texts.HOOK_SET_FILE.format(setting=WEBHOOKS, file=added.file))
    if settings.http.listen is None:
        lines.append(setup_texts.HOOK_SET_HTTP)
    return "\n".join([*lines, setup_texts.HOOK_RESTART]), added.secret


def free_name(settings: Settings, preset: str) -> str:
    """Return a name for a webhook of this preset that the file does not have. Raises SettingsError."""
    file = _file(settings)
    taken = {hook.name for hook in _parse(_content(file), file, settings.webhook_variables)}
    return next(name for n in count(1) if (name := preset if n == 1 else f"{preset}-{n}") not in taken)


async def hook_findings(settings: Settings, list_models: ListModels | None = None) -> list[Finding]:
    """Check the file of incoming webhooks, whether other programs can reach the bot, and whether the cost of questions
    about events is known; no finding without webhooks. `list_models`: see `choose_model`.
    """
    finding = partial(Finding, where="Webhooks")
    try:
        hooks = hooks_of(settings.webhooks, settings.webhook_variables)
        addresses = {name: hook_address(settings, name) for name in hooks}
    except SettingsError as error:
        return [finding(Level.PROBLEM, what=setup_texts.HOOKS_WRONG, remedy=str(error))]
    if hooks and settings.http.listen is None:
        return [finding(Level.PROBLEM, what=setup_texts.HOOKS_WRONG, remedy=app_texts.WEBHOOKS_UNREACHABLE)]
    told = setup_texts.HOOK_RECEIVED
    received = [finding(Level.GOOD, what=told.format(name=name, address=at)) for name, at in addresses.items()]
    asking = [name for name, hook in hooks.items() if hook.action is Action.ASK]
    if not (asking and (unpriced := await _unpriced(settings.models, list_models))):
        return received
    what = setup_texts.HOOKS_UNPRICED.format(names=", ".join(asking), models=", ".join(unpriced))
    return [*received, finding(Level.WARNING, what=what, remedy=setup_texts.HOOKS_LIMIT)]


async def _unpriced(models: ModelSettings, list_models: ListModels | None) -> list[str]:
    """Return those of the answering models that have no list price; none if it is not known which model answers, which
    the check of the model reports.
    """
    try:
        chosen = (await choose_model(models, list_models)).name
    except (SettingsError, ProviderError):
        return []
    return [name for name in dict.fromkeys((chosen, *models.fallback_models)) if cost(ModelCall(name, Usage())) is None]


def secret_files(settings: Settings) -> list[Path]:
    """Return the files with secrets of incoming webhooks, as far as they are known."""
    try:
        hooks = hooks_of(settings.webhooks, settings.webhook_variables).values()
    except SettingsError:
        return []  # the check of webhooks reports the error
    return [path_beside(_file(settings), hook.secret_file) for hook in hooks if hook.secret_file]


def hook_list(settings: Settings) -> str:
    """Return a line for each webhook. Raises SettingsError."""
    hooks = hooks_of(settings.webhooks, settings.webhook_variables).values()
    lines = [
        setup_texts.HOOK_LINE.format(
            name=hook.name,
            preset=hook.preset,
            signed=hook.scheme.value,
            action=hook.action.value,
            channel=hook.channel,
            address=hook_address(settings, hook.name),
        )
        for hook in hooks
    ]
    return "\n".join(lines) or setup_texts.NO_HOOKS


async def hook_test(settings: Settings, name: str, file: Path | None, *, send: bool) -> tuple[bool, str]:
    """Show what becomes of a payload, or of the preset's samples; with `send`, deliver it to the running bot. Return
    whether all went well, and the text. Raises Refused and SettingsError.
    """
    hook = _hook(settings, name)
    chosen = samples(hook.preset) if file is None else _payload_in(file, hook.preset)
    lines, is_good = list[str](), True
    for sample in chosen:
        good, text = _shown(hook, sample)
        lines.append(setup_texts.HOOK_SAMPLE.format(name=sample.name, text=text))
        is_good = is_good and good
    if send and is_good:
        address = hook_address(settings, name)
        async with httpx.AsyncClient(timeout=SEND_S) as http:
            for sample in chosen:
                status, told = await _deliver(http, address, hook, sample)
                lines.append(setup_texts.HOOK_SENT.format(name=sample.name, status=status, told=told))
                is_good = is_good and status < 300
    return is_good, "\n".join(lines)


def _payload_in(file: Path, preset: str) -> Sequence[Sample]:
    try:
        return (Sample(preset, file.name, file.stem.partition(".")[0], file.read_bytes()),)
    except OSError as error:
        raise Refused(setup_texts.HOOK_NO_PAYLOAD.format(file=file, error=error.strerror)) from None


def _shown(hook: Hook, sample: Sample) -> tuple[bool, str]:
    try:
        event = event_of(hook, payload_of(sample.body), sample.event, lambda _: ())
    except TemplateFailed as error:
        return False, setup_texts.HOOK_TEMPLATE_FAILED.format(error=error)
    except ValueError as error:
        return False, f"{error}."
    if not isinstance(event, Event):
        return True, setup_texts.HOOK_NOTHING
    notes = [setup_texts.HOOK_KEYED if event.key else setup_texts.HOOK_UNKEYED]
    return True, "\n".join([event.text, *notes, *([setup_texts.HOOK_CLOSES] if event.closes else [])])


async def _deliver(http: httpx.AsyncClient, address: str, hook: Hook, sample: Sample) -> tuple[int, str]:
    headers = {"content-type": "application/json"} | sign(
        hook.scheme, hook.revealed[0], sample.body, CLOCK.now(), f"msg_{new_id()}"
    )
    if hook.event_header:
        headers[hook.event_header] = sample.event
    try:
        response = await http.post(address, content=sample.body, headers=headers)
    except httpx.HTTPError as error:
        raise Refused(setup_texts.HOOK_UNREACHABLE.format(address=address, error=error)) from None
    return response.status_code, printable_line(response.text[:200])


def hook_rotate(settings: Settings, name: str, secret: str | None, random: Random, *, finish: bool) -> tuple[str, str]:
    """Put a new secret before the current one, which stays valid; with `finish`, remove the old one. Return what to do
    now, and the new secret, "" if there is none or it was given. Raises Refused and SettingsError.
    """
    hook, file = _hook(settings, name), _file(settings)
    secret_file = file.parent / SECRETS / name
    current = hook.revealed[0]
    if finish:
        if len(hook.secrets) == 1:
            raise Refused(setup_texts.HOOK_ONE_SECRET.format(name=name))
        _check_ours(secret_file, hook)
        _write_secret(secret_file, current, replace=True)
        return f"{setup_texts.HOOK_FINISHED.format(name=name)}\n{setup_texts.HOOK_RESTART}", ""
    value = secret or new_secret(hook.scheme, random, name)
    if (fault := fault_of(hook.scheme, value)) is not None:
        raise Refused(setup_texts.HOOK_SECRET_FAULT.format(fault=fault))
    _check_ours(secret_file, hook)
    _write_secret(secret_file, f"{value}\n{current}", replace=True)
    return f"{setup_texts.HOOK_ROTATED.format(name=name)}\n{setup_texts.HOOK_RESTART}", "" if secret else value


def _check_ours(secret_file: Path, hook: Hook) -> None:
    """Raises Refused if the hook's secret is somewhere else, such as in an environment variable."""
    is_ours = secret_file.is_file() and secret_file.read_text(encoding="utf-8").split() == hook.revealed
    if not is_ours:
        raise Refused(setup_texts.HOOK_NOT_OURS.format(name=hook.name, file=secret_file))


def _hook(settings: Settings, name: str) -> Hook:
    hooks = hooks_of(settings.webhooks, settings.webhook_variables)
    if name not in hooks:
        known = setup_texts.HOOKS_KNOWN.format(names=", ".join(hooks)) if hooks else setup_texts.ADD_HOOK
        raise Refused(setup_texts.HOOK_UNKNOWN.format(name=name[:40], known=known))
    return hooks[name]


def _file(settings: Settings) -> Path:
    return path_beside(Path(), settings.webhooks.file or DEFAULT_FILE).absolute()


def _content(file: Path) -> str:
    """Return what the file holds now, "" if there is none. Raises SettingsError."""
    return named_file(WEBHOOKS, str(file))[1] if file.exists() else ""


def _parse(text: str, file: Path, variables: Mapping[str, str]) -> tuple[Hook, ...]:
    return parse_file(text, str(file), variables, beside(file))


def hook_address(settings: Settings, name: str) -> str:
    """Return the address of a webhook. Raises SettingsError."""
    return f"{http_address(settings) or setup_texts.HOOK_NO_ADDRESS}{PATH}/{name}"


def _write_secret(file: Path, value: str, *, replace: bool) -> None:
    """Write a file that only its owner can read. Raises Refused if it exists and is not to be replaced."""
    folder = file.parent
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        folder.chmod(0o700)
    if not replace and file.exists():
        raise Refused(setup_texts.HOOK_SECRET_EXISTS.format(file=file))
    _replace(file, f"{value}\n")


def _replace(file: Path, content: str) -> None:
    """Write a whole file, or leave it as it was. A new one can be read by its owner only."""
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o600
    part = file.with_name(f".{file.name}.part")
    part.unlink(missing_ok=True)  # of a run that was killed, or a link that somebody put there
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(part, flags, 0o600), "w", encoding="utf-8") as opened:
        opened.write(content)
    part.chmod(mode)
    part.replace(file)
