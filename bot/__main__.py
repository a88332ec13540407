"""`cogency`: the commands, their exit codes, and one human sentence for each failure.

Above: nothing. Below: `bot.app` and what each command needs, imported when it runs.
"""

import argparse
import asyncio
import getpass
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar
from zoneinfo import ZoneInfo

from agent.errors import CogencyError, ProviderError, SettingsError, StoreLocked
from agent.records import Person
from agent.spending import By
from bot.casts import LogLevel, command_prefix, whole
from bot.exits import Exit
from bot.logs import log_to
from bot.output import OutputError, write_out
from bot.platforms.discord.setup import invite
from bot.platforms.slack.setup.features import EVERYTHING, Feature
from bot.settings import Settings, load_settings

if TYPE_CHECKING:
    from bot.models.check import Verdict

MAX_DAYS = 3_650
"""More than anybody keeps a bill for."""
MAX_ID_CHARS = 20
"""Of Discord's ids."""
SETTINGS = (
    "Settings come from the environment, and from a file .env in the folder where the command is started: .env.example "
    "lists them all, README.md shows the first steps."
)
FEATURES = f"what the app shall have: {', '.join(Feature)}; with commas between them (all)"
PASTE = "Create the app from it on https://api.slack.com/apps, or paste it there and install the app again."
IN_SERVERS = f"what the bot shall do in servers: {', '.join(invite.Feature)}; with commas between them (all)"
LINKS = "Without --application it asks Discord whose DISCORD_TOKEN is."
LOOKS = "It changes nothing, works while the bot runs, and ends with 1 when something stands in the way of running."
CHECKED = "It says for each whether the model can do it, and in the end how good a choice it is."
BESIDE = "It works while the bot runs."

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)
Command: TypeAlias = Callable[..., Coroutine[object, object, Exit]]


def main() -> None:
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> Exit:
    """Run one command. Every failure is one sentence on standard error and an exit code."""
    options = vars(_parser().parse_args(arguments))
    command = options.pop("command")
    if None in (sys.stdin, sys.stdout):
        print("cogency: Standard input and output must be open.", file=sys.stderr)  # noqa: T201 -- silent if None
        return Exit.USAGE
    try:
        settings = load_settings(os.environ, Path(".env"))  # noqa: TID251 -- the one place where the environment comes in
        log_to(sys.stderr, settings.log_level or LogLevel.WARNING, settings.secrets())
        return asyncio.run(command(settings, **options))
    except asyncio.CancelledError:
        return Exit.TERMINATED
    except (CogencyError, OutputError) as error:
        sys.stderr.write(f"cogency: {error}\n")
        return _exit_code(error)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:  # whoever read has seen enough
        return Exit.OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cogency", description="A self-hosted AI agent.", epilog=SETTINGS)
    parser.add_argument("--version", action="version", version=f"cogency {version('cogency-bot')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(
        name: str,
        does: str,
        run: Command,
        more: str = "",
        add: Callable[..., argparse.ArgumentParser] = commands.add_parser,
    ) -> argparse.ArgumentParser:
        description = f"{does[:1].upper()}{does[1:]}. {more}".strip()
        added = add(name, help=does, description=description, epilog=SETTINGS)
        added.set_defaults(command=run)
        return added

    def group(name: str, does: str) -> Callable[..., argparse.ArgumentParser]:
        within = commands.add_parser(name, help=does, description=f"{does[:1].upper()}{does[1:]}.", epilog=SETTINGS)
        return within.add_subparsers(required=True, metavar="COMMAND").add_parser

    command("chat", "chat in the terminal, or through pipes", _chat, "Write /help in it for its commands.")
    command("run", "serve Slack and Discord: every platform that has a token", _run, "Ends with Ctrl-C or SIGTERM.")
    command("migrate", "bring the database to the newest version, as every start does", _migrate)
    command("check-model", "ask the configured model twenty questions about the protocol", _check_model, CHECKED)
    doctor = command(
        "doctor", "look at settings, database, model and platforms, and say what to change", _doctor, LOOKS
    )
    doctor.add_argument("--model", dest="ask_model", action="store_true", help="ask the model for one word, too")
    usage = command("usage", "show what model calls took: tokens, and money at list prices", _usage, BESIDE)
    usage.add_argument(
        "--days", type=_read(whole(1, MAX_DAYS)), default=30, metavar="N", help="today and the days before it (30)"
    )
    usage.add_argument("--by", type=By, choices=list(By), default=By.PERSON, help="what to sum for (person)")
    usage.add_argument("--json", dest="as_json", action="store_true", help="for programs")
    budget = command("budget", "see a budget, or change it: person:ID 5,000,000 tokens", _budget)
    budget.add_argument("words", nargs="*", metavar="WORD", help="whose (everyone, person:ID, channel:ID), and what")
    slack = group("slack", "set up the Slack app")
    made = command("manifest", "print the manifest of the Slack app", _slack_manifest, PASTE, slack)
    made.add_argument("--features", type=_names(Feature), default=EVERYTHING, metavar="NAMES", help=FEATURES)
    made.add_argument(
        "--prefix", type=_read(command_prefix), help="before each slash command (COGENCY_SLACK_COMMAND_PREFIX)"
    )
    made.add_argument("--http", default="", metavar="URL", help="where Slack reaches the bot, instead of Socket Mode")
    made.add_argument("--name", default="Cogency", help="the app's name (Cogency)")
    made.add_argument("--json", dest="as_json", action="store_true", help="instead of YAML")
    discord = group("discord", "set up the Discord application")
    link = command(
        "invite", "print the links that add the bot to a server or an account", _discord_invite, LINKS, discord
    )
    link.add_argument(
        "--features", type=_names(invite.Feature), default=invite.EVERYTHING, metavar="NAMES", help=IN_SERVERS
    )
    link.add_argument("--application", type=_number, metavar="ID", help="the application's id")
    return parser


def _read(cast: Callable[[str], T]) -> Callable[[str], T]:
    """A cast of settings as one of arguments."""

    def read(text: str) -> T:
        try:
            return cast(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def _names(kind: type[E]) -> Callable[[str], frozenset[E]]:
    """Some of these, by their names with commas between them."""

    def read(text: str) -> frozenset[E]:
        names = {name.strip() for name in text.split(",") if name.strip()}
        if not names <= set(kind):
            raise argparse.ArgumentTypeError(f"must be of {', '.join(kind)}, with commas between them")
        return frozenset(map(kind, names))

    return read


def _number(text: str) -> str:
    if not (text.isascii() and text.isdecimal() and len(text) <= MAX_ID_CHARS):
        raise argparse.ArgumentTypeError("must be the number on the page General Information")
    return text


def _exit_code(error: CogencyError | OutputError) -> Exit:
    match error:
        case SettingsError():
            return Exit.SETTINGS
        case StoreLocked():
            return Exit.BUSY
        case ProviderError():
            return Exit.UNAVAILABLE
        case _:
            return Exit.FAILED


async def _chat(settings: Settings) -> Exit:
    from bot.app import CLOCK, open_terminal  # noqa: PLC0415 -- a wrong setting is told before anything is loaded
    from bot.platforms.terminal.run import chat, open_window  # noqa: PLC0415 -- as above

    zone = local_time_zone(Path("/etc/localtime"))

    def now() -> datetime:
        return CLOCK.now().astimezone(ZoneInfo(zone))

    here = asyncio.current_task()
    if here is not None:  # the terminal is given back as it was
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, here.cancel)
    user = user_name()
    async with open_terminal(settings, Person(f"terminal:{user}", user, zone)) as bot:
        return await chat(bot, open_window(), now)


async def _run(settings: Settings) -> Exit:
    from bot.app import serve_platforms  # noqa: PLC0415 -- as above

    log_to(sys.stderr, settings.log_level or LogLevel.INFO, settings.secrets())
    serving = asyncio.ensure_future(serve_platforms(settings))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
    try:
        await serving
    except asyncio.CancelledError:
        if not serving.cancelled():
            raise
    return Exit.OK


async def _migrate(settings: Settings) -> Exit:
    from bot.app import migrate  # noqa: PLC0415 -- as above

    write_out(sys.stdout, f"{await migrate(settings)}\n")
    return Exit.OK


async def _check_model(settings: Settings) -> Exit:
    from bot.app import CLOCK, open_checking  # noqa: PLC0415 -- as above
    from bot.models.check import check_model, conclusion, is_usable, line  # noqa: PLC0415 -- as above

    async with open_checking(settings) as (provider, tools, sentence):
        write_out(sys.stdout, f"{sentence}\n\n")
        verdicts: list[Verdict] = []
        async for verdict in check_model(provider, tools, CLOCK):
            verdicts.append(verdict)
            write_out(sys.stdout, f"{line(verdict)}\n")
    write_out(sys.stdout, f"\n{conclusion(provider.name, verdicts)}\n")
    return Exit.OK if is_usable(verdicts) else Exit.FAILED


async def _doctor(settings: Settings, *, ask_model: bool) -> Exit:
    from bot.app import examine  # noqa: PLC0415 -- as above
    from bot.doctor import healthy, lines  # noqa: PLC0415 -- as above

    found = await examine(settings, ask_model=ask_model)
    write_out(sys.stdout, lines(found))
    return Exit.OK if healthy(found) else Exit.FAILED


async def _usage(settings: Settings, *, days: int, by: By, as_json: bool) -> Exit:
    from bot.app import spent  # noqa: PLC0415 -- as above
    from bot.spending_text import report_json, report_text  # noqa: PLC0415 -- as above

    totals, period = await spent(settings, days, by)
    write_out(sys.stdout, f"{report_json(totals, period, by)}\n" if as_json else report_text(totals, period, by))
    return Exit.OK


async def _budget(settings: Settings, *, words: list[str]) -> Exit:
    from bot.app import budget  # noqa: PLC0415 -- as above

    write_out(sys.stdout, f"{await budget(settings, f'terminal:{user_name()}', ' '.join(words))}\n")
    return Exit.OK


async def _slack_manifest(
    settings: Settings, *, features: frozenset[Feature], prefix: str | None, http: str, name: str, as_json: bool
) -> Exit:
    from bot.platforms.slack.setup import manifest  # noqa: PLC0415 -- as above

    before = settings.slack_command_prefix if prefix is None else prefix
    try:
        made = manifest.manifest(features, name=name, prefix=before, url=http)
    except ValueError as error:
        raise SettingsError(f"No manifest can be made: {error}.") from error
    write_out(sys.stdout, manifest.as_json(made) if as_json else manifest.as_yaml(made))
    return Exit.OK


async def _discord_invite(settings: Settings, *, features: frozenset[invite.Feature], application: str | None) -> Exit:
    from bot.app import discord_application  # noqa: PLC0415 -- as above

    write_out(sys.stdout, invite.text(application or await discord_application(settings), features))
    return Exit.OK


def user_name() -> str:
    """What the system calls the person; a container may not know."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "you"


def local_time_zone(link: Path) -> str:
    """The machine's time zone by name, from the file that the system links to it; UTC where there is none."""
    parts = link.resolve().parts
    if "zoneinfo" not in parts:
        return "UTC"
    return "/".join(parts[parts.index("zoneinfo") + 1 :]) or "UTC"


if __name__ == "__main__":
    main()
