"""`cogency init`: asks for the settings of a bot, tries each answer at once, and writes them to `.env`.

Rules
  Only answered settings change in the file: other lines, comments and their order stay. Only its owner can read it.
  An answer that does not work is explained and asked again; it is written only if the user insists. Where nobody
  answered, the same is tried again, as the answers are not at fault.
  A secret is typed without echo or comes from the environment. It is never an argument of a command, and never shown.
  Nothing but the file is changed without consent: a service is shown as its file and its commands first.
  Without a terminal no question is asked: the environment's settings are tried and written.
"""

import getpass
import json
import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, TypeAlias
from urllib.parse import quote

from agent.errors import CogencyError, ProviderError, Refused, SettingsError
from agent.machine import place_of
from agent.path_errors import unwritable_reason
from agent.providers.bedrock_refusals import geography_of
from agent.providers.catalog import ENDPOINTS, Endpoint, is_aws_region
from bot.app.from_settings import http_address
from bot.app.http_settings import HTTP, HTTP_ADDRESS
from bot.app.network_settings import HERE, NO_PROXY
from bot.app.settings import Settings, load_settings, setting_names
from bot.app.storage_settings import DATABASE_URL
from bot.budgets.settings import in_dollars
from bot.chat.findings import Finding, Level, finding_lines, healthy
from bot.chat.output import write_out
from bot.models import texts as models_texts
from bot.models.choice import DEFAULT_MODELS, models_of
from bot.platforms.discord import options as discord
from bot.settings.installation import typed_command
from bot.settings.parsers import CHANNEL
from bot.settings.repository import is_in_repository
from bot.settings.sources import IN_FILE, read_dotenv
from bot.setup import texts as setup_texts
from bot.setup.browser import open_browser
from bot.setup.operator_doctor import discord_application, examine_database, examine_model, examine_platforms
from bot.setup.services import Services, service_of
from bot.webhooks.settings import WEBHOOKS

MAX_LISTED_MODELS: Final = 5  # Models of a server that are offered by number; any other can be typed
MAX_WIDTH: Final = 100  # Of a line: longer ones are hard to read
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:@%+,=-]*")  # Values that need no quotes in `.env`
_YES_OR_NO: Final = re.compile(r"y|yes|n|no|none", re.IGNORECASE)


Examine: TypeAlias = Callable[[Settings], Awaitable[list[Finding]]]


class Dialogue(Protocol):
    """The dialogue with the user who sets the bot up."""

    def say(self, text: str) -> None: ...

    def show(self, text: str) -> None:
        """Print a text exactly as it is, for a person who copies it."""
        ...

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

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def say(self, text: str) -> None:
        write_out(sys.stdout, f"{wrapped(text, self._width)}\n")

    def show(self, text: str) -> None:
        write_out(sys.stdout, f"{text}\n")

    def ask(self, question: str, usual: str = "") -> str:
        return input(wrapped(f"{question}{f' [{usual}]' if usual else ''}: ", self._width)).strip() or usual

    def ask_unseen(self, question: str) -> str:
        return getpass.getpass(wrapped(question, self._width)).strip()

    def open_page(self, address: str) -> bool:
        return open_browser(address, self._environ)

    @property
    def _width(self) -> int:
        return min(shutil.get_terminal_size().columns, MAX_WIDTH)


def wrapped(text: str, width: int) -> str:
    """Return a text with lines of at most `width` columns. Addresses and paths stay whole, so that they can be copied;
    a line that begins with blanks goes on below its text; lines that fit stay as they are. Pure.
    """
    return "\n".join(line if len(line) <= width else _wrapped_line(line, width) for line in text.split("\n"))


def _wrapped_line(line: str, width: int) -> str:
    margin = " " * (len(line) - len(line.lstrip(" -")))
    lines = textwrap.wrap(
        line, max(width, 20), subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
    )
    trailing = line[len(line.rstrip()) :]  # behind a question, where its answer is typed
    return "\n".join(lines) + trailing


# Settings of clouds, which other programs read in the environment, too, and what a model of the cloud begins with.
_OF_CLOUDS: Final = {"AWS_": "bedrock:", "AZURE_": "azure:", "GOOGLE_": "vertex:"}


def _used_settings(values: Mapping[str, str]) -> list[str]:
    """Return the names of all settings but those of clouds from which no model is set: an environment may have them for
    other programs, and their secrets do not belong in our file. Pure.
    """
    models = [values.get(name, "").lower() for name in setting_names() if name.startswith("COGENCY_")]
    unused = [begin for begin, cloud in _OF_CLOUDS.items() if not any(cloud in model for model in models)]
    return [name for name in setting_names() if not name.startswith(tuple(unused))]


@dataclass(slots=True)
class _Draft:
    """`written`: the present content of `.env`; `environ`: the environment; `changes`: the answers so far."""

    written: Mapping[str, str]
    environ: Mapping[str, str]
    changes: dict[str, str] = field(default_factory=dict[str, str])

    def settings(self) -> Settings:
        """Return the settings with the answers so far. Raises SettingsError."""
        return load_settings({**self.written, **self.environ, **self.changes})

    def value(self, name: str) -> str:
        return {**self.written, **self.environ, **self.changes}.get(name, "").strip()

    def has(self, name: str) -> bool:
        return bool(self.value(name) or self.value(f"{name}{IN_FILE}"))

    @property
    def only_in_environment(self) -> dict[str, str]:
        """What the environment sets and the file does not: a service would not see it."""
        known = {**self.written, **self.changes}
        used = _used_settings({**self.environ, **known})
        names = [name for setting in used for name in (setting, f"{setting}{IN_FILE}")]
        values = {name: value for name in names if (value := self.environ.get(name, "").strip()) and name not in known}
        is_ours = set(values.get(NO_PROXY, "").split(",")) <= set(HERE)  # what the command line adds to every proxy
        return {name: value for name, value in values.items() if name != NO_PROXY or not is_ours}


async def set_up(
    talk: Dialogue,
    dotenv: Path,
    environ: Mapping[str, str],
    services: Services | None = None,
    *,
    is_own_file: bool = True,
    random: Callable[[int], bytes] = os.urandom,
) -> bool:
    """Ask, try and write; return whether to start the bot now. Raises SettingsError for an unreadable file.

    `services`: what can keep the bot running here; None offers nothing. `is_own_file`: see `SettingsFile`. `random`:
    returns so many random bytes.
    """
    draft = _Draft(read_dotenv(dotenv), environ)
    talk.say(setup_texts.INIT_BEGINS.format(file=dotenv))
    await _model(talk, draft)
    slack = _yes(talk, setup_texts.INIT_SLACK, usual=draft.has("SLACK_BOT_TOKEN") or not draft.has("DISCORD_TOKEN"))
    if slack:
        await _slack(talk, draft)
    if _yes(talk, setup_texts.INIT_DISCORD, usual=draft.has("DISCORD_TOKEN")):
        await _discord(talk, draft)
    await _data(talk, draft)
    is_served = draft.has("SLACK_BOT_TOKEN") or draft.has("DISCORD_TOKEN")
    if is_served:
        _access(talk, draft)
        # The bot would refuse the name of such a file from a folder that came from somebody else.
        if is_own_file or not is_in_repository(dotenv):
            _webhook(talk, draft, dotenv, random)
    _write(talk, draft, dotenv)
    if not is_served:
        talk.say(setup_texts.INIT_TERMINAL)
        return False
    talk.say(setup_texts.INIT_SERVED)
    if services is not None and await _service(talk, draft, dotenv, services):
        return False
    return _yes(talk, setup_texts.INIT_RUN, usual=True)


def _write(talk: Dialogue, draft: _Draft, dotenv: Path) -> None:
    write(dotenv, draft.changes)
    talk.say(setup_texts.INIT_WRITTEN.format(file=dotenv, names=", ".join(draft.changes) or "nothing new"))


async def set_up_from(environ: Mapping[str, str], dotenv: Path) -> tuple[list[Finding], list[str]]:
    """Try and write what the environment sets; return the findings and the names written. Nothing is written if a
    finding is a problem, or nothing is set. Raises SettingsError.
    """
    written = read_dotenv(dotenv)
    used = _used_settings({**written, **environ})
    values = {name: value for name in used if (value := environ.get(name, "").strip())}
    draft = _Draft(written, environ, values)
    settings = draft.settings()
    findings = [*await examine_model(settings), *await examine_platforms(settings)]
    if not (values and healthy(findings)):
        return findings, []
    write(dotenv, values)
    return findings, [*values]


# The steps.


_SERVER: Final = "server"  # Entry of the list that stands for any server with OpenAI's protocol


async def _model(talk: Dialogue, draft: _Draft) -> None:
    talk.say(setup_texts.INIT_MODEL)
    local = await _local_models(draft)
    vendors = [f"{name}:{DEFAULT_MODELS[name]}" for name in DEFAULT_MODELS if name in ENDPOINTS]
    offered = [*(local or ["ollama"]), *vendors, _SERVER, *_CLOUDS, "rehearsal"]
    labels = [_label(spec) for spec in offered]
    for number, (spec, label) in enumerate(zip(offered, labels, strict=True), 1):
        talk.say(f"  {number}  {label}  ({_about(spec, draft, is_running=bool(local))})")
    preset = draft.value("COGENCY_MODEL") or _first_usable(offered, draft)
    while True:
        answer = talk.ask(setup_texts.INIT_WHICH_MODEL, preset)
        # A number that picks nothing would become the name of a model.
        if answer.isdecimal() and _pick(answer, offered) == answer:
            talk.say(setup_texts.INIT_NO_NUMBER.format(number=answer, most=len(offered)))
            continue
        spec = _pick(answer, offered)
        if spec in (_SERVER, "ollama"):
            asked = await _server(talk, draft, ENDPOINTS["openai" if spec == _SERVER else "ollama"])
        elif spec in _CLOUDS:
            asked = _CLOUDS[spec].ask(talk, draft)
        else:
            asked = _vendor(talk, draft, spec)
        if not asked:
            continue
        if await _try(talk, draft, examine_model):
            return
        for name in asked:  # what was typed may be what was wrong: it is asked for again
            draft.changes.pop(name, None)


def _label(spec: str) -> str:
    if spec == _SERVER:
        return setup_texts.INIT_SERVER
    return ENDPOINTS[spec].label if spec in _CLOUDS else spec


def _azure(talk: Dialogue, draft: _Draft) -> list[str]:
    """Ask for a resource of Azure OpenAI, its key, and a deployment; return the settings that were typed."""
    talk.say(setup_texts.INIT_AZURE.format(page=ENDPOINTS["azure"].key_page))
    _until_valid(talk, draft, "AZURE_OPENAI_ENDPOINT", setup_texts.INIT_AZURE_ADDRESS)
    _optional_secret(talk, draft, "AZURE_OPENAI_API_KEY", setup_texts.INIT_AZURE_KEY)
    deployment = _word(talk, setup_texts.INIT_AZURE_DEPLOYMENT)
    model = talk.ask(setup_texts.INIT_AZURE_MODEL, deployment).strip()
    draft.changes["COGENCY_MODEL"] = f"azure:{deployment}" if model == deployment else f"azure:{deployment}/{model}"
    return ["COGENCY_MODEL", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"]


def _vertex(talk: Dialogue, draft: _Draft) -> list[str]:
    """Ask for a project and a location of Google Cloud, or for a key; return the settings that were typed."""
    talk.say(setup_texts.INIT_VERTEX)
    _optional_secret(talk, draft, "VERTEX_API_KEY", setup_texts.INIT_VERTEX_KEY)
    model = talk.ask(setup_texts.INIT_VERTEX_MODEL, DEFAULT_MODELS["gemini"]).strip()
    if model.startswith("claude") or not draft.has("VERTEX_API_KEY"):
        _until_valid(talk, draft, "GOOGLE_CLOUD_PROJECT", setup_texts.INIT_VERTEX_PROJECT)
        _until_valid(talk, draft, "GOOGLE_CLOUD_LOCATION", setup_texts.INIT_VERTEX_LOCATION, "global")
    draft.changes["COGENCY_MODEL"] = f"vertex:{model}"
    return ["COGENCY_MODEL", "VERTEX_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"]


def _bedrock(talk: Dialogue, draft: _Draft) -> list[str]:
    """Ask for a region of AWS, a key, and a model of Amazon Bedrock; return the settings that were typed."""
    talk.say(setup_texts.INIT_BEDROCK.format(page=ENDPOINTS["bedrock"].key_page))
    _optional_secret(talk, draft, "AWS_BEARER_TOKEN_BEDROCK", setup_texts.INIT_BEDROCK_KEY)
    before = draft.value("AWS_REGION") or draft.value("AWS_DEFAULT_REGION")
    while not is_aws_region(region := talk.ask(setup_texts.INIT_BEDROCK_REGION, before).strip()):
        talk.say(models_texts.NOT_A_REGION.format(setting="AWS_REGION"))
    if region != before:
        draft.changes["AWS_REGION"] = region
    model = talk.ask(setup_texts.INIT_BEDROCK_MODEL, f"{geography_of(region)}.{_BEDROCK_MODEL}").strip()
    draft.changes["COGENCY_MODEL"] = f"bedrock:{model}"
    return ["COGENCY_MODEL", "AWS_REGION", "AWS_BEARER_TOKEN_BEDROCK"]


_BEDROCK_MODEL: Final = "anthropic.claude-sonnet-5-5"


@dataclass(frozen=True, slots=True)
class _Cloud:
    """`about`: what the list of models says of it."""

    about: str
    ask: Callable[[Dialogue, _Draft], list[str]]


_CLOUDS: Final[Mapping[str, _Cloud]] = {
    "azure": _Cloud(setup_texts.INIT_AZURE_ABOUT, _azure),
    "vertex": _Cloud(setup_texts.INIT_VERTEX_ABOUT, _vertex),
    "bedrock": _Cloud(setup_texts.INIT_BEDROCK_ABOUT, _bedrock),
}


def _until_valid(talk: Dialogue, draft: _Draft, setting: str, question: str, usual: str = "") -> None:
    """Ask for a setting until it has a value that can be read."""
    before = draft.value(setting)
    while True:
        if not (answer := talk.ask(question, before or usual).strip()):
            continue
        if answer == before:
            return
        draft.changes[setting] = answer
        try:
            draft.settings()
        except SettingsError as error:
            del draft.changes[setting]
            talk.say(str(error))
            continue
        return


def _optional_secret(talk: Dialogue, draft: _Draft, setting: str, question: str) -> None:
    if not draft.has(setting) and (answer := talk.ask_unseen(question.format(key=setting)).strip()):
        draft.changes[setting] = answer


def _word(talk: Dialogue, question: str) -> str:
    while not (answer := talk.ask(question).strip()):
        pass
    return answer


def _vendor(talk: Dialogue, draft: _Draft, spec: str) -> list[str]:
    """Ask for the key of a model's vendor, if it is missing; return the settings that were typed."""
    draft.changes["COGENCY_MODEL"] = spec
    endpoint = ENDPOINTS.get(spec.partition(":")[0].lower())
    if endpoint is None or not endpoint.key_required or draft.has(endpoint.key_setting):
        return ["COGENCY_MODEL"]
    talk.say(setup_texts.INIT_KEY_PAGE.format(page=endpoint.key_page))
    draft.changes[endpoint.key_setting] = talk.ask_unseen(f"{endpoint.key_setting}: ")
    return ["COGENCY_MODEL", endpoint.key_setting]


async def _server(talk: Dialogue, draft: _Draft, service: Endpoint) -> list[str]:
    """Ask for the address of a server, its key and one of its models; return the settings that were typed, none if the
    user chooses again.
    """
    usual = draft.value(service.url_setting) or ("" if service.key_setting else service.base_url.removesuffix("/v1"))
    typed = ["COGENCY_MODEL", service.url_setting]
    while True:
        if not (address := talk.ask(setup_texts.INIT_SERVER_ADDRESS, usual)):
            continue
        draft.changes[service.url_setting] = address
        try:
            endpoint = draft.settings().models.endpoint(service.name)
        except SettingsError as error:
            talk.say(str(error))
            continue
        break
    sends = setup_texts.INIT_SERVER_SENDS.format(key=service.key_setting)
    if service.key_setting and draft.has(service.key_setting):
        if not _yes(talk, sends, usual=False):
            del draft.changes[service.url_setting]
            return []
    elif service.key_setting:
        typed.append(service.key_setting)
        key = talk.ask_unseen(setup_texts.INIT_SERVER_KEY.format(key=service.key_setting)).strip()
        draft.changes |= {service.key_setting: key} if key else {}
    try:
        listed = list(await models_of(endpoint, draft.settings().models.key(service.name)) or [])[:MAX_LISTED_MODELS]
    except (ProviderError, SettingsError) as error:
        listed = list[str]()
        talk.say(str(error))
    if not listed:
        talk.say(setup_texts.INIT_NO_LIST.format(address=endpoint.address))
    for number, name in enumerate(listed, 1):
        talk.say(f"  {number}  {name}")
    question = setup_texts.INIT_WHICH_OF if listed else setup_texts.INIT_NAME_MODEL
    model = ""
    while not model:
        model = _pick(talk.ask(question, "1" if listed else "").strip(), listed)
    draft.changes["COGENCY_MODEL"] = f"{service.name}:{model}"
    return typed


async def _local_models(draft: _Draft) -> list[str]:
    """Return models of a local Ollama, if one answers."""
    try:
        served = await models_of(draft.settings().models.endpoint("ollama"), None)
    except (ProviderError, SettingsError):
        return []
    return [f"ollama:{name}" for name in (served or [])[:MAX_LISTED_MODELS]]


def _about(spec: str, draft: _Draft, *, is_running: bool) -> str:
    endpoint = ENDPOINTS.get(spec.partition(":")[0])
    if spec == _SERVER:
        return setup_texts.INIT_SERVER_ABOUT
    if spec in _CLOUDS:
        return _CLOUDS[spec].about
    if endpoint is None:
        return setup_texts.INIT_REHEARSAL
    if endpoint.is_local:
        return setup_texts.INIT_LOCAL if is_running else setup_texts.INIT_NOT_RUNNING
    is_there = draft.has(endpoint.key_setting)
    return (setup_texts.INIT_KEY_THERE if is_there else setup_texts.INIT_NEEDS_KEY).format(key=endpoint.key_setting)


def _first_usable(offered: Sequence[str], draft: _Draft) -> str:
    """Return the number of the first model that needs nothing further."""
    for number, spec in enumerate(offered, 1):
        endpoint = ENDPOINTS.get(spec.partition(":")[0])
        is_whole = ":" in spec or spec == "rehearsal"
        if is_whole and (endpoint is None or endpoint.is_local or draft.has(endpoint.key_setting)):
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
    if not talk.open_page(page):  # the page's address holds the whole manifest, which nobody copies from a terminal
        talk.say(setup_texts.INIT_SLACK_BY_HAND.format(command=typed_command("slack manifest")))
        if _yes(talk, setup_texts.INIT_SHOW_MANIFEST, usual=True):
            talk.show(json.dumps(content, indent=2, ensure_ascii=False))
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
        talk.say(setup_texts.INIT_PASTE.format(page=setup_texts.DISCORD_PORTAL))
    while True:
        _secret(talk, draft, "DISCORD_TOKEN")
        if await _try(talk, draft, examine_platforms, "Discord"):
            break
    try:
        settings = draft.settings()
        features = discord.required_features(settings.discord, acts=settings.acts.is_on)
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


async def _data(talk: Dialogue, draft: _Draft) -> None:
    before = draft.changes.get(DATABASE_URL)
    current = draft.settings().storage.url
    while True:
        answer = talk.ask(setup_texts.INIT_DATA, place_of(current)).strip()  # the address may hold a password
        if _YES_OR_NO.fullmatch(answer):
            talk.say(setup_texts.INIT_DATA_WHICH)
            continue
        if answer != place_of(current):
            draft.changes[DATABASE_URL] = _database_url(answer)
        if await _try(talk, draft, examine_database):
            return
        draft.changes.pop(DATABASE_URL, None)
        if before is not None:
            draft.changes[DATABASE_URL] = before


def _database_url(answer: str) -> str:
    try:
        return answer if "://" in answer else f"sqlite:///{Path(answer).expanduser().absolute()}"
    except RuntimeError:  # "~name" of an unknown user, which is refused as in the setting
        return f"sqlite:///{answer}"


def _access(talk: Dialogue, draft: _Draft) -> None:
    """Ask who can use the bot, and what it may cost."""
    _value(talk, draft, "COGENCY_ALLOW", setup_texts.INIT_ACCESS, setup_texts.INIT_EVERYBODY)
    _value(talk, draft, "COGENCY_OPERATORS", setup_texts.INIT_OPERATORS)
    limit = draft.settings().budgets.everyone_dollars
    provider = draft.value("COGENCY_MODEL").partition(":")[0]
    if provider in ENDPOINTS and not ENDPOINTS[provider].is_local:
        _value(talk, draft, "COGENCY_EVERYONE_DOLLARS_PER_DAY", setup_texts.INIT_COST, in_dollars(limit))


def _value(talk: Dialogue, draft: _Draft, name: str, question: str, default: str = "", *, suggested: str = "") -> None:
    """Ask for a setting until the answer can be read. `default`: says what holds without it; `suggested`: a value for
    one that is not set.
    """
    usual = draft.value(name) or default or suggested
    while True:
        answer = talk.ask(question, usual).strip()
        if answer == usual and (draft.value(name) or not suggested):
            return
        draft.changes[name] = "" if answer == default else answer
        try:
            draft.settings()
        except SettingsError as error:
            talk.say(str(error))
            del draft.changes[name]
        else:
            return


def _webhook(talk: Dialogue, draft: _Draft, dotenv: Path, random: Callable[[int], bytes]) -> None:
    """Offer an incoming webhook, and ask for what it needs. Its files are written after the last answer."""
    if not _yes(talk, setup_texts.INIT_HOOKS, usual=False):
        return
    from bot.setup import operator_hooks  # noqa: PLC0415 -- a bot without webhooks does not load it
    from bot.webhooks.presets import presets  # noqa: PLC0415 -- as above
    from bot.webhooks.signatures import fault_of  # noqa: PLC0415 -- as above

    before = dict(draft.changes)
    if not draft.has(WEBHOOKS):
        draft.changes[WEBHOOKS] = str(dotenv.absolute().parent / operator_hooks.DEFAULT_FILE)
    preset, channel = _sender(talk, [*presets()]), ""
    while CHANNEL.fullmatch(channel) is None:
        channel = _channel(talk.ask(setup_texts.INIT_HOOK_CHANNEL))
        if CHANNEL.fullmatch(channel) is None:
            talk.say(setup_texts.INIT_HOOK_CHANNEL_FORM)
    _value(talk, draft, HTTP, setup_texts.INIT_HTTP, suggested="127.0.0.1:8070")
    served = _address(talk, draft)
    try:
        name, sender, secret = operator_hooks.free_name(draft.settings(), preset), presets()[preset], None
        address = operator_hooks.hook_address(served, name)
        if sender.creates_secret:
            talk.say(setup_texts.INIT_HOOK_AT.format(address=address, setup=sender.setup))
            secret = talk.ask_unseen(setup_texts.INIT_HOOK_SECRET.format(name=name)).strip() or None
            while secret is not None and (fault := fault_of(sender.signed, secret)) is not None:
                talk.say(setup_texts.HOOK_SECRET_FAULT.format(fault=fault))
                secret = talk.ask_unseen(setup_texts.INIT_HOOK_SECRET.format(name=name)).strip() or None
        dotenv.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        added = operator_hooks.add_hook(served, name, preset, channel, None, secret, random)
    except (Refused, SettingsError, OSError) as error:
        talk.say(setup_texts.INIT_HOOK_FAILED.format(error=error))
        draft.changes = before
        return
    told = setup_texts.INIT_HOOK_ADDED.format(
        name=name, file=added.file, setup=sender.setup, address=address, at=added.secret_file
    )
    talk.say(told)


def _sender(talk: Dialogue, known: Sequence[str]) -> str:
    """Return the preset for the program that sends events."""
    for number, name in enumerate(known, 1):
        talk.say(f"  {number}  {name}")
    while True:
        answer = talk.ask(setup_texts.INIT_HOOK_SENDER, "1").strip().casefold()
        if (preset := _pick(answer, known)) in known:
            return preset
        talk.say(setup_texts.INIT_HOOK_NO_SENDER.format(name=answer[:40], most=len(known)))


def _address(talk: Dialogue, draft: _Draft) -> Settings:
    """Ask for the public address until other programs can reach the bot; return the settings with it."""
    while True:
        _value(talk, draft, HTTP_ADDRESS, setup_texts.INIT_HTTP_ADDRESS)
        settings = draft.settings()
        try:
            http_address(settings)
        except SettingsError as error:
            talk.say(str(error))
        else:
            return settings


def _channel(answer: str) -> str:
    """Return a channel with its platform, which the form of its id shows."""
    answer = answer.strip()
    return answer if ":" in answer or not answer else f"{'discord' if answer.isdecimal() else 'slack'}:{answer}"


async def _service(talk: Dialogue, draft: _Draft, dotenv: Path, services: Services) -> bool:
    """Return whether a service keeps the bot running now."""
    for manager in await services.available():
        if not _yes(talk, setup_texts.INIT_SERVICE.format(manager=setup_texts.MANAGERS[manager]), usual=False):
            continue
        outside = draft.only_in_environment
        if draft.environ.get("XDG_DATA_HOME") and not draft.has(DATABASE_URL):  # a service would use another folder
            outside[DATABASE_URL] = draft.settings().storage.url
        if outside and _yes(
            talk, setup_texts.INIT_SERVICE_SETS.format(names=", ".join(outside), file=dotenv), usual=True
        ):
            draft.changes |= outside
            _write(talk, draft, dotenv)
        service = service_of(manager, services.facts(dotenv, draft.settings().storage.url))
        commands = "\n".join(shlex.join(command) for command in service.commands)
        talk.say(setup_texts.INIT_SERVICE_FILE.format(file=service.file))
        talk.show(service.content)
        talk.say(setup_texts.INIT_SERVICE_COMMANDS)
        talk.show(f"{commands}\n")
        if not _yes(talk, setup_texts.INIT_SERVICE_YES, usual=True):
            return False
        talk.say(setup_texts.INIT_SERVICE_STARTS)
        if why := await services.install(service):
            talk.say(setup_texts.INIT_SERVICE_FAILED.format(why=why, log=service.log))
            return False
        talk.say(setup_texts.INIT_SERVICE_RUNS.format(log=service.log, stop=service.stop))
        return True
    return False


async def _try(talk: Dialogue, draft: _Draft, examine: Examine, where: str = "") -> bool:
    """Return whether the answers work, or the user keeps them anyway. `where`: only these findings count."""
    while True:
        try:
            found = await examine(draft.settings())
        except SettingsError as error:
            talk.say(str(error))
            return False
        findings = [finding for finding in found if where in {"", finding.where, "Settings"}]
        talk.say(finding_lines(findings).rstrip())
        problems = [finding for finding in findings if finding.level is Level.PROBLEM]
        if not problems:
            return True
        if not all(finding.is_silent for finding in problems):
            return _yes(talk, setup_texts.INIT_ANYWAY, usual=False)
        if not _yes(talk, setup_texts.INIT_SILENT, usual=True):
            return True


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
        raise SettingsError(
            setup_texts.DOTENV_UNWRITABLE.format(dotenv=dotenv, reason=unwritable_reason(error, dotenv))
        ) from None


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
