"""The commands of `cogency`: what each does, its exit code, and one sentence for each failure.

`cli_data`, `cli_databases`, `cli_eval`, `cli_feedback`, `cli_models`, `cli_plugins` and `cli_programs` have groups of
commands. The modules that a command needs are imported when it runs.
"""

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Coroutine, Mapping
from contextlib import aclosing
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import cast
from zoneinfo import ZoneInfo

from agent.errors import CogencyError, ProviderError, SettingsError
from agent.incoming import Person
from agent.machine import CLOCK
from agent.messages import Json
from agent.spending import By
from bot.app.settings import Settings, all_settings, load_settings, moved_addresses, names_of_ours
from bot.chat.exit_codes import Exit, exit_code
from bot.chat.findings import finding_lines, healthy
from bot.chat.logs import LogForm, LogLevel, log_to, log_uncaught, logs_json
from bot.chat.output import OutputError, complain, printable_json, write_out
from bot.platforms.discord import options as discord
from bot.platforms.slack.options import SlackFeature
from bot.settings import texts as settings_texts
from bot.settings.example import example_file
from bot.settings.files import SettingsFile, find_settings_file, settings_home
from bot.settings.installation import command_for, typed_command
from bot.setup import cli_data, cli_databases, cli_eval, cli_feedback, cli_models, cli_plugins, cli_programs
from bot.setup import texts as setup_texts
from bot.setup.arguments import Do, Subcommand, parser
from bot.setup.local_user import local_time_zone, user_name
from bot.setup.progress import waiting
from bot.setup.shared_modules import shared_modules

log = logging.getLogger(__name__)


def carry_out(command: Subcommand, options: Mapping[str, object]) -> Exit:
    """Run one command. Each failure is one sentence on standard error and an exit code."""
    try:
        if command is Subcommand.SETTINGS:  # before they are read: the list helps where one of them is wrong
            write_out(sys.stdout, example_file(all_settings()))
            return Exit.OK
        if command is Subcommand.COMPLETION:
            write_out(sys.stdout, _completion(str(options["shell"])))
            return Exit.OK
        if command is Subcommand.RUN:  # also the sentence about a setting that cannot be read is a line of the log
            log_to(sys.stderr, LogLevel.INFO, (), _log_form(os.environ))  # noqa: TID251 -- the only place that reads the environment
        _check_folder()
        config = cast("Path | None", options["config"])
        file = find_settings_file(config, Path(".env"), settings_home(), names_of_ours())
        if config is not None and not file.is_read and command is not Subcommand.INIT:
            raise SettingsError(settings_texts.CONFIG_MISSING.format(file=config))
        settings = load_settings(os.environ, file.path, is_own_file=file.is_own)  # noqa: TID251 -- the only place that reads the environment
        # Before a client is imported: some read the environment then, and programs that the bot starts inherit it.
        os.environ.update(settings.network.variables())  # noqa: TID251 -- the only place that reads the environment
        level = LogLevel.ERROR if command is Subcommand.DOCTOR else LogLevel.WARNING  # doctor prints what it finds
        log_to(sys.stderr, settings.chat.log_level or level, settings.secrets(), settings.chat.log_form)
        if command in SAYS_WHERE:
            for sentence in moved_addresses(settings):
                _warn(command, sentence)
        if command in STARTS:
            for name, meant in settings.misspelt:
                _warn(command, setup_texts.SETTING_MISSPELT.format(file=file.path, name=name, meant=meant))
        if command in SAYS_FILE and file.is_read and not options.get("as_json") and sys.stderr.isatty():
            complain(f"cogency: {setup_texts.SETTINGS_READ.format(file=file.path)}")
        rest = {name: value for name, value in options.items() if name != "config"}
        work = DO[command](settings, file, **rest) if command in TAKES_FILE else DO[command](settings, **rest)
        return asyncio.run(_with_frozen_imports(work))
    except asyncio.CancelledError:
        return Exit.TERMINATED
    except (CogencyError, OutputError) as error:
        message = error.reason.to_operator if isinstance(error, ProviderError) else error
        if command is Subcommand.RUN and logs_json():  # programs read each line of the log, and this is the last one
            log.error("%s", message)  # noqa: TRY400 -- a sentence for the operator, not a bug to trace
        else:
            complain(f"cogency: {message}")
        return Exit.FAILED if isinstance(error, OutputError) else exit_code(error)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:  # the reader has closed the pipe
        return Exit.OK


def _check_folder() -> None:
    """Raise SettingsError if the current folder was deleted: each path that is not absolute would lead nowhere."""
    try:
        Path.cwd()
    except OSError as error:
        raise SettingsError(settings_texts.FOLDER_GONE.format(reason=error.strerror)) from None


def _log_form(environ: Mapping[str, str]) -> LogForm:
    """Return the form of the log before the settings are read."""
    chosen = environ.get("COGENCY_LOG_FORMAT", "")
    return LogForm(chosen) if chosen in frozenset(LogForm) else LogForm.AUTO


def _warn(command: Subcommand, sentence: str) -> None:
    """Say it as the command says all else: the log of a service has one form in all of its lines."""
    if command is Subcommand.RUN:
        log.warning("%s", sentence)
    else:
        complain(f"cogency: {sentence}")


def _completion(shell: str) -> str:
    """Return the script with which a shell completes commands and options."""
    import shtab  # noqa: PLC0415 -- only this command needs it

    return f"{shtab.complete(parser(), shell)}\n"


async def _with_frozen_imports(work: Coroutine[object, None, Exit]) -> Exit:
    """Exclude imported modules from garbage collection, which took a tenth of each start, and more time later on."""

    def freeze() -> None:
        gc.freeze()
        gc.enable()

    asyncio.get_running_loop().call_soon(freeze)
    return await work


async def _init(_: Settings, file: SettingsFile, *, yes: bool) -> Exit:
    from bot.setup.services import services_here  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.setup.wizard import Typed, set_up, set_up_from  # noqa: PLC0415 -- a settings error is reported before it loads

    dotenv, environ = file.path, os.environ  # noqa: TID251 -- the only place that reads the environment
    if yes:
        findings, names = await set_up_from(environ, dotenv)
        write_out(sys.stdout, finding_lines(findings))
        if not names:
            why = setup_texts.INIT_NOTHING_SET if healthy(findings) else setup_texts.INIT_NOT_WRITTEN
            complain(f"cogency init: {why}")
            return Exit.SETTINGS
        write_out(sys.stdout, f"{setup_texts.INIT_WRITTEN.format(file=dotenv, names=', '.join(names)).lstrip()}\n")
        return Exit.OK
    before = _written_at(dotenv)
    previous_handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio would wait for the answer
    try:
        starts = await set_up(Typed(environ), dotenv, environ, services_here(environ), is_own_file=file.is_own)
    except (KeyboardInterrupt, asyncio.CancelledError):
        complain(f"\n{_init_stopped(dotenv, before)}")
        return Exit.INTERRUPTED
    except EOFError:
        if sys.stdin.isatty():
            complain(f"\n{_init_stopped(dotenv, before)}")
            return Exit.INTERRUPTED
        complain(f"cogency init: {setup_texts.INIT_NO_TERMINAL}")
        return Exit.ARGUMENTS
    finally:
        signal.signal(signal.SIGINT, previous_handler)
    return await _run(load_settings(environ, dotenv, is_own_file=file.is_own), file) if starts else Exit.OK


def _written_at(file: Path) -> int | None:
    """Return when a file was last written, in nanoseconds; None if there is none."""
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return None


def _init_stopped(dotenv: Path, before: int | None) -> str:
    """Return what a person is told who ends the questions. The last of them come after the settings are written."""
    is_written = _written_at(dotenv) != before
    return setup_texts.INIT_STOPPED_LATER.format(file=dotenv) if is_written else setup_texts.INIT_STOPPED


async def _chat(settings: Settings) -> Exit:
    from bot.platforms.terminal.window import open_window  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.setup.chat import chat_at_once  # noqa: PLC0415 -- a settings error is reported before it loads

    zone = local_time_zone(Path("/etc/localtime"))

    def now() -> datetime:
        return CLOCK.now().astimezone(ZoneInfo(zone))

    task = asyncio.current_task()
    if task is not None:  # cancelling it restores the terminal
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    user, window = user_name(), open_window()
    log_to(window.log(), settings.chat.log_level or LogLevel.WARNING, settings.secrets())
    return await chat_at_once(settings, Person(f"terminal:{user}", user, zone), window, now, TOOLS_WAIT_S)


async def _ask(settings: Settings, *, words: list[str], as_json: bool) -> Exit:
    from bot.app.platforms import open_terminal  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.models.choice import choose_model  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.platforms.terminal.run import (  # noqa: PLC0415 -- a settings error is reported before it loads
        answer_as_json,
        ask_once,
        question_of,
    )
    from bot.platforms.terminal.window import open_window  # noqa: PLC0415 -- a settings error is reported before it loads

    try:
        question, user = question_of(words, sys.stdin.read), user_name()
    except ValueError as error:
        complain(f"cogency ask: {error}")
        return Exit.ARGUMENTS
    # A script would take the rehearsal's answer for one: only an explicit COGENCY_MODEL=rehearsal gives it.
    if settings.models.model is None and (await choose_model(settings.models)).endpoint is None:
        complain(f"cogency ask: {setup_texts.ASK_WITHOUT_MODEL.format(init=typed_command('init'))}")
        return Exit.SETTINGS
    person = Person(f"terminal:{user}", user, local_time_zone(Path("/etc/localtime")))
    async with open_terminal(settings, person, tools_wait_s=TOOLS_WAIT_S, stays=False) as bot:
        if not as_json:
            return await ask_once(bot, open_window(), CLOCK.now, question)
        answer, code = await answer_as_json(bot, question)
        write_out(sys.stdout, f"{answer}\n")
        return code


async def _mcp(settings: Settings) -> Exit:
    from bot.api.mcp_server import texts as mcp_texts  # noqa: PLC0415 -- a settings error is reported before it loads

    if find_spec("mcp") is None:
        raise SettingsError(mcp_texts.MISSING.format(command=command_for("mcp")))
    from bot.app.mcp_stdio import serve_mcp  # noqa: PLC0415 -- an extra

    if sys.stdin.isatty():
        complain(f"cogency mcp: {mcp_texts.AT_TERMINAL}")
    user = user_name()
    person = Person(f"terminal:{user}", user, local_time_zone(Path("/etc/localtime")))
    await _until_ended(serve_mcp(settings, person, TOOLS_WAIT_S), signal.SIGINT)
    return Exit.OK


async def _play(settings: Settings, *, keep: Path | None, port: int | None, browser: bool) -> Exit:
    from bot.app.platforms import play  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.setup.browser import open_browser  # noqa: PLC0415 -- a settings error is reported before it loads

    def show_address(address: str) -> None:
        write_out(sys.stdout, f"{setup_texts.PLAY_AT.format(address=address)}\n")
        if browser:
            asyncio.get_running_loop().run_in_executor(None, open_browser, address, os.environ)  # noqa: TID251 -- the only place that reads the environment

    await _until_ended(play(settings, keep, port, local_time_zone(Path("/etc/localtime")), show_address), signal.SIGINT)
    return Exit.OK


async def _until_ended(serve: Coroutine[object, None, None], *signals: signal.Signals) -> None:
    """Serve until SIGTERM or one of `signals`, which end it normally."""
    serving = asyncio.ensure_future(serve)
    for signal_number in (signal.SIGTERM, *signals):
        asyncio.get_running_loop().add_signal_handler(signal_number, serving.cancel)
    try:
        await serving
    except asyncio.CancelledError:
        if not serving.cancelled():
            raise


async def _run(settings: Settings, file: SettingsFile) -> Exit:
    from bot.app.platforms import serve_platforms  # noqa: PLC0415 -- a settings error is reported before it loads

    log_to(sys.stderr, settings.chat.log_level or LogLevel.INFO, settings.secrets(), settings.chat.log_form)
    log_uncaught()
    if file.is_read:  # the log has it as every other line of it, JSON or text
        log.info(setup_texts.SETTINGS_READ.format(file=file.path.absolute()))
    if warning := shared_modules(sys.path):
        log.warning("%s. %s", warning, setup_texts.MODULES_APART)
    await _until_ended(serve_platforms(settings))
    return Exit.OK


async def _doctor(settings: Settings, file: SettingsFile, *, ask_model: bool, fix: bool, as_json: bool) -> Exit:
    from bot.setup.operator_doctor import examine  # noqa: PLC0415 -- a settings error is reported before it loads

    with waiting() as tell:
        findings = await examine(settings, ask_model=ask_model, dotenv=file.path, fix=fix, tell=tell)
    rows: list[Json] = [
        {"level": item.level.value, "where": item.where, "what": item.what, "remedy": item.remedy} for item in findings
    ]
    write_out(sys.stdout, f"{printable_json(rows, indent=2)}\n" if as_json else finding_lines(findings))
    return Exit.OK if healthy(findings) else Exit.FAILED


async def _usage(settings: Settings, *, days: int, by: By, as_json: bool) -> Exit:
    from bot.budgets.report import report_json, report_text  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.setup.operator import spent  # noqa: PLC0415 -- a settings error is reported before it loads

    totals, period = await spent(settings, days, by)
    write_out(sys.stdout, f"{report_json(totals, period, by)}\n" if as_json else report_text(totals, period, by))
    return Exit.OK


async def _audit(settings: Settings, *, since: datetime | None, as_json: bool) -> Exit:
    from bot.chat.audit import as_json as call_json  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.chat.audit import as_line  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.setup.operator import audited  # noqa: PLC0415 -- a settings error is reported before it loads

    is_empty = True
    async with aclosing(audited(settings, since)) as pages:
        async for calls in pages:
            is_empty = False
            write_out(sys.stdout, "".join(f"{call_json(call) if as_json else as_line(call)}\n" for call in calls))
    if is_empty and not as_json:
        write_out(sys.stdout, f"{setup_texts.NO_CALLS}\n")
    return Exit.OK


async def _operator(settings: Settings, *, sessions: bool, sign_out_all: bool) -> Exit:
    from bot.setup.operator import operator_link, operator_sessions, sign_operators_out  # noqa: PLC0415 -- a settings error is reported before it loads

    if sign_out_all:
        text = await sign_operators_out(settings)
    else:
        text = await (operator_sessions(settings) if sessions else operator_link(settings))
    write_out(sys.stdout, f"{text}\n")
    return Exit.OK


async def _budget(settings: Settings, *, words: list[str]) -> Exit:
    from bot.setup.operator import budget  # noqa: PLC0415 -- a settings error is reported before it loads

    answer = await budget(settings, f"terminal:{user_name()}", " ".join(words))
    if answer.refused:
        complain(f"cogency budget: {answer.text}")
        return Exit.ARGUMENTS
    write_out(sys.stdout, f"{answer.text}\n")
    return Exit.OK


async def _slack_manifest(
    settings: Settings,
    *,
    features: frozenset[SlackFeature] | None,
    prefix: str | None,
    http: str,
    app: str | None,
    name: str,
    as_json: bool,
) -> Exit:
    from bot.app.from_settings import manifest_text  # noqa: PLC0415 -- a settings error is reported before it loads

    write_out(sys.stdout, manifest_text(settings, features, prefix, http, app or "", name, as_json=as_json))
    return Exit.OK


async def _discord_invite(
    settings: Settings, *, features: frozenset[discord.DiscordFeature] | None, application: str | None
) -> Exit:
    from bot.setup.operator_doctor import discord_application  # noqa: PLC0415 -- a settings error is reported before it loads

    wanted = discord.required_features(settings.discord, acts=settings.acts.is_on) if features is None else features
    write_out(sys.stdout, discord.invite_text(application or await discord_application(settings), wanted))
    return Exit.OK


# How long a start at a terminal waits for MCP servers before the first question: most are ready after two or three
# seconds, and one that is fetched from a registry for its first start after ten.
TOOLS_WAIT_S = 20.0


DO: Mapping[Subcommand, Do] = {
    Subcommand.INIT: _init,
    Subcommand.CHAT: _chat,
    Subcommand.ASK: _ask,
    Subcommand.MCP: _mcp,
    Subcommand.PLAY: _play,
    Subcommand.RUN: _run,
    Subcommand.DOCTOR: _doctor,
    Subcommand.USAGE: _usage,
    Subcommand.AUDIT: _audit,
    Subcommand.OPERATOR: _operator,
    Subcommand.BUDGET: _budget,
    Subcommand.MANIFEST: _slack_manifest,
    Subcommand.INVITE: _discord_invite,
    **cli_data.COMMANDS,
    **cli_databases.COMMANDS,
    **cli_eval.COMMANDS,
    **cli_feedback.COMMANDS,
    **cli_models.COMMANDS,
    **cli_plugins.COMMANDS,
    **cli_programs.COMMANDS,
}

# Commands that send something to models and platforms.
STARTS = frozenset(
    {Subcommand.CHAT, Subcommand.ASK, Subcommand.MCP, Subcommand.PLAY, Subcommand.RUN}
    | {Subcommand.CHECK_MODEL, Subcommand.EVAL}
)
SAYS_WHERE = STARTS | {Subcommand.INIT}  # which asks for keys, and tries them
TAKES_FILE = frozenset({Subcommand.INIT, Subcommand.DOCTOR, Subcommand.RUN})
# Those whose result depends on the settings; a person at a terminal sees from which file they come. `run` logs it.
SAYS_FILE = frozenset(Subcommand) - {
    *(Subcommand.CHAT, Subcommand.MCP, Subcommand.PLAY, Subcommand.RUN, Subcommand.INIT),
    *(Subcommand.SETTINGS, Subcommand.COMPLETION, Subcommand.MANIFEST, Subcommand.INVITE),
}
