"""The commands of `cogency`: what each does, its exit code, and one sentence for each failure.

The modules that a command needs are imported when it runs.
"""

import asyncio
import gc
import getpass
import logging
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from contextlib import aclosing, nullcontext
from datetime import datetime, timedelta
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast
from zoneinfo import ZoneInfo

from agent.errors import CogencyError, ProviderError, SettingsError
from agent.incoming import Person
from agent.machine import CLOCK
from agent.messages import Json, ModelCall
from agent.ports.api_tokens import TokenScope
from agent.spending import By
from bot.api.tokens import DailyBudget
from bot.app.settings import Settings, all_settings, load_settings, moved_addresses, names_of_ours
from bot.chat.exit_codes import Exit, exit_code
from bot.chat.findings import Finding, Level, finding_lines, healthy
from bot.chat.logs import LogForm, LogLevel, log_to, log_uncaught, logs_json
from bot.chat.output import OutputError, complain, printable_json, printable_line, write_out
from bot.operators.settings import OperatorAct
from bot.platforms.discord import options as discord
from bot.platforms.slack.options import SlackFeature
from bot.settings import texts as settings_texts
from bot.settings.example import example_file
from bot.settings.files import SettingsFile, find_settings_file, settings_home
from bot.settings.installation import command_for, typed_command
from bot.setup import texts as setup_texts
from bot.setup.arguments import Subcommand, parser
from bot.setup.progress import progress, waiting
from bot.setup.shared_modules import shared_modules

if TYPE_CHECKING:
    from bot.app.subject_requests import Order

log = logging.getLogger(__name__)

Do: TypeAlias = Callable[..., Coroutine[object, object, Exit]]


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
    previous_handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio would wait for the answer
    try:
        starts = await set_up(Typed(environ), dotenv, environ, services_here(environ))
    except (KeyboardInterrupt, asyncio.CancelledError):
        complain(f"\n{setup_texts.INIT_STOPPED}")
        return Exit.INTERRUPTED
    except EOFError:
        if sys.stdin.isatty():
            complain(f"\n{setup_texts.INIT_STOPPED}")
            return Exit.INTERRUPTED
        complain(f"cogency init: {setup_texts.INIT_NO_TERMINAL}")
        return Exit.ARGUMENTS
    finally:
        signal.signal(signal.SIGINT, previous_handler)
    return await _run(load_settings(environ, dotenv, is_own_file=file.is_own), file) if starts else Exit.OK


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


async def _migrate(settings: Settings, *, back: str | None, file: Path | None, yes: bool) -> Exit:
    from bot.setup.operator import migrate, migrate_back  # noqa: PLC0415 -- a settings error is reported before it loads

    log_to(sys.stderr, settings.chat.log_level or LogLevel.INFO, settings.secrets(), settings.chat.log_form)
    if back is None and (file or yes):
        complain(f"cogency migrate: {setup_texts.BACK_ALONE}")
        return Exit.ARGUMENTS
    if back is None:
        write_out(sys.stdout, f"{await migrate(settings)}\n")
        return Exit.OK
    with progress() as tell:
        is_done, sentences = await migrate_back(settings, back, file, tell, lose=yes)
    write_out(sys.stdout, "".join(f"{sentence}\n" for sentence in sentences))
    return Exit.OK if is_done else Exit.FAILED


async def _check_model(settings: Settings) -> Exit:
    from agent.providers.catalog import ToolsForm  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.models import check  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.setup.operator import charge, open_checking  # noqa: PLC0415 -- a settings error is reported before it loads

    verdicts: dict[ToolsForm, list[check.ProbeVerdict]] = {}
    calls: list[ModelCall] = []
    compared = ""

    async def count(call: ModelCall) -> None:
        calls.append(call)

    async with open_checking(settings) as checking:
        announcement = check.announcement(checking.name, checking.tools, CLOCK.now(), len(checking.providers))
        write_out(sys.stdout, f"{checking.sentence}\n{announcement}\n\n")
        try:
            for form, provider in checking.providers.items():
                if len(checking.providers) > 1:
                    write_out(sys.stdout, f"{setup_texts.CHECK_FORM.format(form=form.value)}\n")
                of_form = verdicts.setdefault(form, [])
                async for verdict in check.check_model(provider, checking.tools, CLOCK, count):
                    of_form.append(verdict)
                    write_out(sys.stdout, f"{check.verdict_line(verdict)}\n")
                if form is ToolsForm.NATIVE and not provider.capabilities.native_calls:
                    write_out(sys.stdout, f"{setup_texts.NATIVE_REFUSED}\n")
                    del verdicts[form]
                write_out(sys.stdout, f"\n{check.conclusion(checking.name, of_form)}\n\n")
                # At once: the check of the next form may be interrupted, or its server go away.
                if form in verdicts:
                    known = await checking.keep(settings, {form: check.count_passed(of_form)})
                    compared = check.comparison(known, settings.models.tools_form)
        except (asyncio.CancelledError, CogencyError):
            stored = ", ".join(done.value for done, of_form in verdicts.items() if len(of_form) == len(check.PROBES))
            sentence = setup_texts.CHECK_STOPPED.format(stored=stored) if stored else setup_texts.CHECK_NOT_STORED
            write_out(sys.stdout, f"\n{sentence}\n")
            raise
        finally:
            await charge(settings, f"terminal:{user_name()}", check.KIND, calls)
    if compared:
        write_out(sys.stdout, f"{compared}\n")
    return Exit.OK if any(map(check.is_usable, verdicts.values())) else Exit.FAILED


async def _doctor(settings: Settings, file: SettingsFile, *, ask_model: bool, fix: bool, as_json: bool) -> Exit:
    from bot.setup.operator import examine  # noqa: PLC0415 -- a settings error is reported before it loads

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


async def _webhooks_failed(settings: Settings, *, as_json: bool) -> Exit:
    from bot.setup.webhooks import failed_lines, failed_objects  # noqa: PLC0415 -- a settings error is reported before it loads

    lines = await (failed_objects(settings) if as_json else failed_lines(settings))
    write_out(sys.stdout, "".join(f"{line}\n" for line in lines))
    return Exit.OK


async def _webhooks_retry(settings: Settings, *, name: str, number: int | None) -> Exit:
    from bot.setup.webhooks import retry  # noqa: PLC0415 -- a settings error is reported before it loads

    found, text = await retry(settings, name, number)
    if not found:
        complain(f"cogency webhooks: {text}")
        return Exit.FAILED
    write_out(sys.stdout, f"{text}\n")
    return Exit.OK


async def _find(settings: Settings, *, kind: str, words: str, as_json: bool) -> Exit:
    from bot.app.subject_requests import NO_NAMES, Kind, find_similar, found_line, place_names  # noqa: PLC0415 -- a settings error is reported before it loads

    names, unread = await place_names(settings) if Kind(kind) is Kind.PLACE else (NO_NAMES, None)
    for sentence in unread or ():
        complain(f"cogency {kind}: {sentence}")
    people = await find_similar(settings, Kind(kind), words, names)
    if as_json:
        rows: list[Json] = [
            {"id": who.id, "name": who.name, "messages": who.messages, "last": who.last and who.last.isoformat()}
            for who in people
        ]
        write_out(sys.stdout, f"{printable_json(rows, indent=2)}\n")
    elif not people:
        complain(f"cogency {kind}: {setup_texts.NOBODY_FOUND if words else setup_texts.NOBODY_KNOWN}")
    else:
        write_out(sys.stdout, "".join(f"{found_line(who)}\n" for who in people))
    return Exit.OK if people else Exit.FAILED


async def _learn(
    settings: Settings, *, paths: list[str], place: str, remove_missing: bool, operator: str | None
) -> Exit:
    from bot.app.folder_learning import open_learning  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.app.subject_requests import Operator, place_named, place_names  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.knowledge.folder_learning import FileEnd  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.knowledge.folders import find_files  # noqa: PLC0415 -- a settings error is reported before it loads

    lines = {
        FileEnd.LEARNED: setup_texts.FILE_LEARNED,
        FileEnd.UPDATED: setup_texts.FILE_UPDATED,
        FileEnd.REFUSED: setup_texts.FILE_REFUSED,
        FileEnd.REMOVED: setup_texts.FILE_REMOVED,
    }
    found = find_files(paths)
    if ":" not in place:
        names, unread = await place_names(settings)
        for sentence in unread:
            complain(f"cogency learn: {sentence}")
        place = await place_named(settings, place, names)
    left_out = ", ".join(f"{count:,} {why}" for why, count in found.left_out.items())
    if left_out:
        complain(setup_texts.FILES_LEFT_OUT.format(counts=left_out))
    if not (found.files or found.unread):
        complain(f"cogency learn: {setup_texts.NO_FILES}")
        return Exit.ARGUMENTS
    ends = Counter[FileEnd]()
    async with open_learning(
        settings,
        place,
        found,
        Operator(operator or account_name(), account_name()),
        CLOCK,
        remove_missing=remove_missing,
    ) as run:
        with progress() as tell:
            tell(setup_texts.LEARNING_FILES, 0, len(found.files))
            async for outcome in run.outcomes:
                ends[outcome.end] += 1
                if outcome.end in lines:
                    complain(printable_line(lines[outcome.end].format(name=outcome.name, detail=outcome.detail)))
                tell(setup_texts.LEARNING_FILES, min(ends.total(), len(found.files)), len(found.files))
    counts = ", ".join(f"{ends[end]:,} {end.name.lower()}" for end in FileEnd if ends[end])
    write_out(sys.stdout, f"{setup_texts.FILES_DONE.format(of=place, counts=counts, readers=run.readers)}\n")
    if remove_missing and found.unread:
        complain(f"cogency learn: {setup_texts.NOTHING_REMOVED}")
    return Exit.FAILED if ends[FileEnd.REFUSED] else Exit.OK


async def _export(
    settings: Settings, *, kind: str, of: str, file: str | None, force: bool, operator: str | None
) -> Exit:
    from bot.app.subject_requests import Kind, Order  # noqa: PLC0415 -- a settings error is reported before it loads

    return await _export_data(settings, Order(OperatorAct.EXPORT, Kind(kind), of), operator, file, force=force)


async def _export_data(
    settings: Settings, order: "Order", operator: str | None, file: str | None, *, force: bool
) -> Exit:
    from bot.app.subject_requests import Operator, ask, file_name, needs_another, open_export, private_file  # noqa: PLC0415 -- a settings error is reported before it loads

    requester = Operator(operator or account_name(), account_name())
    if needs_another(settings, order):
        return _report_request(await ask(settings, order, requester, CLOCK))
    path = file_name(order, CLOCK) if file is None else Path(file)
    with nullcontext(partial(write_out, sys.stdout)) if file == "-" else private_file(path, force=force) as write:
        async with open_export(settings, order, requester, CLOCK) as (agreed, pieces):
            async for piece in pieces:
                write(piece)
    if file != "-":
        write_out(sys.stdout, f"{setup_texts.EXPORTED_TO.format(file=path, of=order.of, number=agreed.number)}\n")
    return Exit.OK


async def _erase(
    settings: Settings,
    *,
    kind: str,
    of: str,
    yes: bool,
    replies: bool,
    related: bool,
    operator: str | None,
) -> Exit:
    from bot.app.subject_requests import Kind, Order  # noqa: PLC0415 -- a settings error is reported before it loads

    order = Order(OperatorAct.ERASE, Kind(kind), of, replies, related)
    return await _erase_data(settings, order, operator, yes=yes)


async def _erase_data(settings: Settings, order: "Order", operator: str | None, *, yes: bool) -> Exit:
    from bot.app.subject_requests import Operator, ask, erase, erased_text, look, needs_another, preview_text  # noqa: PLC0415 -- a settings error is reported before it loads

    requester = Operator(operator or account_name(), account_name())
    write_out(sys.stdout, f"{preview_text(await look(settings, order.kind, order.of))}\n")
    if not (yes or _is_confirmed(order.of)):
        return Exit.ARGUMENTS
    if needs_another(settings, order):
        return _report_request(await ask(settings, order, requester, CLOCK))
    erased = await erase(settings, order, requester, CLOCK)
    write_out(sys.stdout, f"{erased_text(erased)}\n")
    return Exit.OK if not erased.receipt.found_again else Exit.FAILED


def _is_confirmed(of: str) -> bool:
    """Whether the user types the id of what is to be erased."""
    if not sys.stdin.isatty():
        complain(f"cogency: {setup_texts.SAY_YES}")
        return False
    previous_handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio would wait for the answer
    try:
        is_confirmed = input(setup_texts.TYPE_ID.format(of=of)).strip() == of
    except EOFError:
        is_confirmed = False
    finally:
        signal.signal(signal.SIGINT, previous_handler)
    if not is_confirmed:
        complain(f"cogency: {setup_texts.NOT_TYPED.format(of=of)}")
    return is_confirmed


def _report_request(order: "Order") -> Exit:
    write_out(sys.stdout, f"{setup_texts.ASKED_NOW.format(kind=order.kind, number=order.number)}\n")
    return Exit.OK


async def _confirm(
    settings: Settings, *, kind: str, number: int, file: str | None, force: bool, yes: bool, operator: str | None
) -> Exit:
    from bot.app.subject_requests import Kind, Operator, open_request  # noqa: PLC0415 -- a settings error is reported before it loads

    confirming = Operator(operator or account_name(), account_name())
    order = await open_request(settings, Kind(kind), number, confirming, CLOCK)
    if order.act is OperatorAct.EXPORT:
        return await _export_data(settings, order, operator, file, force=force)
    return await _erase_data(settings, order, operator, yes=yes)


async def _budget(settings: Settings, *, words: list[str]) -> Exit:
    from bot.setup.operator import budget  # noqa: PLC0415 -- a settings error is reported before it loads

    answer = await budget(settings, f"terminal:{user_name()}", " ".join(words))
    if answer.refused:
        complain(f"cogency budget: {answer.text}")
        return Exit.ARGUMENTS
    write_out(sys.stdout, f"{answer.text}\n")
    return Exit.OK


async def _plugins_add(settings: Settings, *, path: Path) -> Exit:
    from bot.setup.operator import add_plugin  # noqa: PLC0415 -- a settings error is reported before it loads

    is_used, sentences = add_plugin(settings, path)
    write_out(sys.stdout, "".join(f"{sentence}\n" for sentence in sentences))
    return Exit.OK if is_used else Exit.FAILED


async def _plugins_list(settings: Settings, *, as_json: bool) -> Exit:
    from bot.app.parts import plugins_in_use  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.tools.plugins.plugins import as_json as plugins_json  # noqa: PLC0415 -- a settings error is reported before it loads

    plugins = plugins_in_use(settings)
    if as_json:
        write_out(sys.stdout, f"{printable_json(plugins_json(plugins), indent=2)}\n")
    elif not plugins:
        write_out(sys.stdout, f"{setup_texts.NO_PLUGINS}\n")
    for plugin in () if as_json else plugins:
        write_out(sys.stdout, f"{plugin.summary}  ({plugin.root})\n")
        write_out(sys.stdout, "".join(f"  {skill.name}\n" for skill in plugin.skills))
    return Exit.OK


async def _plugins_check(settings: Settings, *, path: Path | None, connect: bool, as_json: bool) -> Exit:
    from bot.app.parts import plugins_in_use  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.setup.operator import examine_servers  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.tools.plugins.plugins import as_json as plugins_json  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.tools.plugins.plugins import load_plugin  # noqa: PLC0415 -- a settings error is reported before it loads

    used = plugins_in_use(settings)
    plugins = used if path is None else (load_plugin(path),)
    for plugin in () if as_json else plugins:
        write_out(sys.stdout, "".join(f"{line}\n" for line in plugin.report))
    # The servers of a plug-in are somebody's programs: those of one that is not in use are not started unasked. A
    # plug-in on the list whose name another one has already is not in use, and loads there without servers.
    started = {plugin.root for plugin in used if plugin.servers}
    if path is None or connect or any(plugin.root in started for plugin in plugins):
        findings = await examine_servers(settings, plugins)
    else:
        findings = [
            Finding(Level.NOTE, "Tools", f"{server.name!r} of {plugin.name} is {setup_texts.NOT_CONNECTED}")
            for plugin in plugins
            for server in plugin.servers
        ]
    if as_json:
        report: dict[str, Json] = {
            "plugins": plugins_json(plugins),
            "servers": [{"level": finding.level.value, "what": finding.what} for finding in findings],
        }
        write_out(sys.stdout, f"{printable_json(report, indent=2)}\n")
    elif not plugins:
        write_out(sys.stdout, f"{setup_texts.NO_PLUGINS}\n")
    else:
        write_out(sys.stdout, finding_lines(findings))
    is_wrong = any(finding.level in (Level.WARNING, Level.PROBLEM) for finding in findings)
    return Exit.FAILED if is_wrong or any(plugin.faults for plugin in plugins) else Exit.OK


async def _backup(settings: Settings, *, file: Path, replace: bool) -> Exit:
    from bot.setup.operator import back_up  # noqa: PLC0415 -- a settings error is reported before it loads

    with progress() as tell:
        text = await back_up(settings, file, tell, replace=replace)
    write_out(sys.stdout, f"{text}\n")
    return Exit.OK


async def _restore(settings: Settings, *, file: Path, replace: bool) -> Exit:
    from bot.setup.operator import restore_backup  # noqa: PLC0415 -- a settings error is reported before it loads

    with progress() as tell:
        sentences = await restore_backup(settings, file, tell, replace=replace)
    write_out(sys.stdout, "".join(f"{sentence}\n" for sentence in sentences))
    return Exit.OK


async def _copy(settings: Settings, *, source: str | None, target: str, replace: bool) -> Exit:
    from bot.setup.operator import copy_database  # noqa: PLC0415 -- a settings error is reported before it loads

    with progress() as tell:
        text = await copy_database(settings, source, target, tell, replace=replace)
    write_out(sys.stdout, f"{text}\n")
    return Exit.OK


async def _plugins_remove(settings: Settings, *, name: str) -> Exit:
    from bot.setup.operator import remove_plugin  # noqa: PLC0415 -- a settings error is reported before it loads

    is_removed, sentence = remove_plugin(settings, name)
    if not is_removed:
        complain(f"cogency plugins remove: {sentence}")
        return Exit.ARGUMENTS
    write_out(sys.stdout, f"{sentence}\n")
    return Exit.OK


async def _token_create(
    settings: Settings,
    *,
    name: str,
    acts_as: str,
    place: str | None,
    budget: DailyBudget,
    scopes: frozenset[TokenScope],
    lasts: timedelta | None,
    operator: str | None,
) -> Exit:
    from bot.app.subject_requests import Operator, place_named, place_names  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.setup.operator_tokens import create_token  # noqa: PLC0415 -- a settings error is reported before it loads

    if place is not None and ":" not in place:
        names, unread = await place_names(settings)
        for sentence in unread:
            complain(f"cogency token: {sentence}")
        place = await place_named(settings, place, names)
    by = Operator(operator or account_name(), account_name())
    sentence, secret = await create_token(settings, name, acts_as, place, budget, scopes, lasts, by)
    complain(sentence)  # so that the output is the token alone, for a script
    write_out(sys.stdout, f"{secret.reveal()}\n")
    return Exit.OK


async def _token_list(settings: Settings, *, as_json: bool) -> Exit:
    from bot.setup.operator_tokens import token_list  # noqa: PLC0415 -- a settings error is reported before it loads

    write_out(sys.stdout, f"{await token_list(settings, as_json=as_json)}\n")
    return Exit.OK


async def _token_revoke(settings: Settings, *, named: str, operator: str | None) -> Exit:
    from bot.app.subject_requests import Operator  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.setup.operator_tokens import revoke_token  # noqa: PLC0415 -- a settings error is reported before it loads

    by = Operator(operator or account_name(), account_name())
    write_out(sys.stdout, f"{await revoke_token(settings, named, by)}\n")
    return Exit.OK


def _secret(*, reads: bool) -> str | None:
    """Return the secret that a person or a script gives; None if a new one is to be made."""
    if not reads:
        return None
    return (getpass.getpass(setup_texts.HOOK_ASKS_SECRET) if sys.stdin.isatty() else sys.stdin.readline()).strip()


async def _hooks_add(settings: Settings, *, name: str, preset: str, channel: str, ask: str | None, reads: bool) -> Exit:
    from bot.setup.operator_hooks import hook_add  # noqa: PLC0415 -- a settings error is reported before it loads

    sentences, secret = hook_add(settings, name, preset, channel, ask, _secret(reads=reads), os.urandom)
    return _say_secret(sentences, secret)


async def _hooks_list(settings: Settings) -> Exit:
    from bot.setup.operator_hooks import hook_list  # noqa: PLC0415 -- a settings error is reported before it loads

    write_out(sys.stdout, f"{hook_list(settings)}\n")
    return Exit.OK


async def _hooks_test(settings: Settings, *, name: str, file: Path | None, send: bool) -> Exit:
    from bot.setup.operator_hooks import hook_test  # noqa: PLC0415 -- a settings error is reported before it loads

    is_good, text = await hook_test(settings, name, file, send=send)
    write_out(sys.stdout, f"{text}\n")
    return Exit.OK if is_good else Exit.FAILED


async def _hooks_rotate(settings: Settings, *, name: str, finish: bool, reads: bool) -> Exit:
    from bot.setup.operator_hooks import hook_rotate  # noqa: PLC0415 -- a settings error is reported before it loads

    return _say_secret(*hook_rotate(settings, name, _secret(reads=reads), os.urandom, finish=finish))


def _say_secret(sentences: str, secret: str) -> Exit:
    complain(sentences)  # so that the output is the secret alone, for a script
    if secret:
        write_out(sys.stdout, f"{secret}\n")
    return Exit.OK


async def _slack_manifest(
    settings: Settings,
    *,
    features: frozenset[SlackFeature],
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
    from bot.setup.operator import discord_application  # noqa: PLC0415 -- a settings error is reported before it loads

    wanted = discord.required_features(settings.discord) if features is None else features
    write_out(sys.stdout, discord.invite_text(application or await discord_application(settings), wanted))
    return Exit.OK


# How long a start at a terminal waits for MCP servers before the first question: most are ready after two or three
# seconds, and one that is fetched from a registry for its first start after ten.
TOOLS_WAIT_S = 20.0
# As systems link it; people read the zone beside each time.
NAMES_OF_UTC = frozenset({"", "Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "UCT", "Universal", "Zulu"})


def user_name() -> str:
    """Return the user's login name; a container may not know one."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "you"


def account_name() -> str:
    """Return the name of the account that runs this process, whatever the environment says."""
    try:
        import pwd  # noqa: PLC0415 -- Windows has none

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return user_name()


def local_time_zone(link: Path) -> str:
    """Return the machine's time zone by name, from the file that the system links to it; UTC if there is none."""
    parts = link.resolve().parts
    if "zoneinfo" not in parts:
        return "UTC"
    name = "/".join(parts[parts.index("zoneinfo") + 1 :])
    return "UTC" if name in NAMES_OF_UTC else name


DO: Mapping[Subcommand, Do] = {
    Subcommand.INIT: _init,
    Subcommand.CHAT: _chat,
    Subcommand.ASK: _ask,
    Subcommand.MCP: _mcp,
    Subcommand.PLAY: _play,
    Subcommand.RUN: _run,
    Subcommand.MIGRATE: _migrate,
    Subcommand.BACKUP: _backup,
    Subcommand.RESTORE: _restore,
    Subcommand.COPY: _copy,
    Subcommand.CHECK_MODEL: _check_model,
    Subcommand.DOCTOR: _doctor,
    Subcommand.USAGE: _usage,
    Subcommand.AUDIT: _audit,
    Subcommand.OPERATOR: _operator,
    Subcommand.BUDGET: _budget,
    Subcommand.LEARN: _learn,
    Subcommand.FIND: _find,
    Subcommand.EXPORT: _export,
    Subcommand.ERASE: _erase,
    Subcommand.CONFIRM: _confirm,
    Subcommand.PLUGINS_ADD: _plugins_add,
    Subcommand.PLUGINS_LIST: _plugins_list,
    Subcommand.PLUGINS_CHECK: _plugins_check,
    Subcommand.PLUGINS_REMOVE: _plugins_remove,
    Subcommand.TOKEN_CREATE: _token_create,
    Subcommand.TOKEN_LIST: _token_list,
    Subcommand.TOKEN_REVOKE: _token_revoke,
    Subcommand.WEBHOOKS_FAILED: _webhooks_failed,
    Subcommand.WEBHOOKS_RETRY: _webhooks_retry,
    Subcommand.HOOKS_ADD: _hooks_add,
    Subcommand.HOOKS_LIST: _hooks_list,
    Subcommand.HOOKS_TEST: _hooks_test,
    Subcommand.HOOKS_ROTATE: _hooks_rotate,
    Subcommand.MANIFEST: _slack_manifest,
    Subcommand.INVITE: _discord_invite,
}

# Commands that send something to models and platforms.
STARTS = frozenset(
    {Subcommand.CHAT, Subcommand.ASK, Subcommand.MCP, Subcommand.PLAY, Subcommand.RUN, Subcommand.CHECK_MODEL}
)
SAYS_WHERE = STARTS | {Subcommand.INIT}  # which asks for keys, and tries them
TAKES_FILE = frozenset({Subcommand.INIT, Subcommand.DOCTOR, Subcommand.RUN})
# Those whose result depends on the settings; a person at a terminal sees from which file they come. `run` logs it.
SAYS_FILE = frozenset(Subcommand) - {
    *(Subcommand.CHAT, Subcommand.MCP, Subcommand.PLAY, Subcommand.RUN, Subcommand.INIT),
    *(Subcommand.SETTINGS, Subcommand.COMPLETION, Subcommand.MANIFEST, Subcommand.INVITE),
}
