"""The command line of `cogency`, and its help."""

import argparse
import sys
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import NoReturn, TypeAlias, TypeVar

from agent.ports.api_tokens import TokenScope
from agent.spending import By
from bot.api.tokens import DEFAULT_DAYS, DailyBudget, parse_budget, parse_days, parse_name, parse_scopes
from bot.app.storage_settings import database_url
from bot.chat.exit_codes import Exit
from bot.chat.output import complain, printable_line, write_out
from bot.evals import texts as eval_texts
from bot.models.settings import OWN_KEY_VENDORS
from bot.platforms.discord import options as discord
from bot.platforms.slack.options import SlackFeature
from bot.platforms.slack.settings import parse_command_prefix, slack_app
from bot.settings.installation import DISTRIBUTION
from bot.settings.parsers import one_of, whole
from bot.setup import texts as setup_texts
from bot.setup.shared_modules import shared_modules
from bot.webhooks.presets import presets

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

MAX_DAYS = 3_650  # Longer than bills are kept
MAX_ROW = 2**31  # Of a row's number in the audit
MAX_ERROR_CHARS = 2_000  # More than the longest of our own, with the names of all commands
MAX_ID_CHARS = 20  # Of an id on Discord
FEATURES = (
    f"the app's features, separated by commas: {', '.join(SlackFeature)} (default: all, except for acts if COGENCY_ACT "
    "is off)"
)
APP_SAYS = "the app's name in the COGENCY_SLACK_APPS file, if you serve several apps"
IN_SERVERS = (
    f"the features that the server link enables, separated by commas: {', '.join(discord.DiscordFeature)} (default: "
    "the features that your settings use)"
)


class Subcommand(StrEnum):
    CHAT = "chat"
    ASK = "ask"
    MCP = "mcp"
    PLAY = "play"
    EVAL = "eval"
    RUN = "run"
    INIT = "init"
    SETTINGS = "settings"
    COMPLETION = "completion"
    MIGRATE = "migrate"
    BACKUP = "backup"
    RESTORE = "restore"
    COPY = "copy"
    FORGET_AGAIN = "forget-again"
    CHECK_MODEL = "check-model"
    DOCTOR = "doctor"
    USAGE = "usage"
    AUDIT = "audit"
    OPERATOR = "operator"
    BUDGET = "budget"
    LEARN = "learn"
    FIND = "find"
    EXPORT = "export"
    ERASE = "erase"
    CONFIRM = "confirm"
    PLUGINS_ADD = "add"
    PLUGINS_LIST = "list"
    PLUGINS_CHECK = "check"
    PLUGINS_REMOVE = "remove"
    KEYS_SET = "keys set"
    KEYS_LIST = "keys list"
    KEYS_REMOVE = "keys remove"
    TOKEN_CREATE = "token create"
    TOKEN_LIST = "token list"
    TOKEN_REVOKE = "token revoke"
    FEEDBACK_EXPORT = "feedback export"
    FEEDBACK_COUNTS = "feedback counts"
    WEBHOOKS_FAILED = "webhooks failed"
    WEBHOOKS_RETRY = "webhooks retry"
    HOOKS_ADD = "hooks add"
    HOOKS_LIST = "hooks list"
    HOOKS_TEST = "hooks test"
    HOOKS_ROTATE = "hooks rotate"
    MANIFEST = "manifest"
    INVITE = "invite"


# What a command does, with its options as keyword arguments.
Do: TypeAlias = Callable[..., Coroutine[object, object, Exit]]


def parser() -> argparse.ArgumentParser:
    """Return a parser whose result has a `command`; all other values are the arguments of that command."""
    root = _Parser(prog="cogency", description=setup_texts.PROGRAM, epilog=setup_texts.SETTINGS_FROM)
    root.set_defaults(command=Subcommand.CHAT)
    _add_config(root, None)
    root.add_argument("--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help="show the version")
    commands = _Commands(root, required=False)
    init = commands.add(Subcommand.INIT, "set up the bot: model, Slack, Discord", setup_texts.INIT_SAYS)
    init.add_argument("--yes", action="store_true", help="do not ask any questions")
    commands.add(Subcommand.SETTINGS, "list all settings with descriptions", setup_texts.SETTINGS_SAYS)
    commands.add(Subcommand.CHAT, "chat in the terminal, or through pipes", setup_texts.CHAT_HELP)
    _add_ask(commands)
    commands.add(
        Subcommand.MCP,
        "run an MCP server, so that an editor can search what you told the bot and add to it",
        setup_texts.MCP_SAYS,
    )
    _add_play(commands)
    commands.add(
        Subcommand.RUN, "run the bot on Slack and Discord (on each platform with a token)", setup_texts.RUN_ENDS
    )
    _add_migrate(commands)
    _add_backups(commands)
    _add_check_model(commands)
    _add_eval(commands)
    _add_doctor(commands)
    _add_usage(commands)
    _add_audit(commands)
    _add_budget(commands)
    _add_operator(commands)
    _add_learn(commands)
    completion = commands.add(
        Subcommand.COMPLETION, "print a completion script for your shell", setup_texts.COMPLETION_SAYS
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="your shell")
    _add_people(_Commands(commands.group("person", "find, export, or erase one person's data")), "person")
    _add_people(
        _Commands(commands.group("place", "find, export, or erase the data of a channel, a server, or a workspace")),
        "place",
    )
    _add_plugins(_Commands(commands.group("plugins", "manage plug-ins: folders with skills and tool servers")))
    _add_keys(_Commands(commands.group("keys", "list, set, and remove channels' own API keys")))
    _add_tokens(_Commands(commands.group("token", "create, list, and revoke API tokens for programs")))
    _add_feedback(_Commands(commands.group("feedback", "export feedback that people shared, and count ratings")))
    _add_webhooks(_Commands(commands.group("webhooks", "list failed events of outgoing webhooks, and send them again")))
    _add_hooks(_Commands(commands.group("hooks", "add, list, test, and rotate incoming webhooks")))
    _add_manifest(_Commands(commands.group("slack", "print the manifest of the Slack app")))
    _add_invite(_Commands(commands.group("discord", "print links that add the bot to a Discord server or account")))
    return root


class _Parser(argparse.ArgumentParser):
    """Suggests the nearest choice in the error about an unknown one. An error is one line of a bounded length, and
    steers no terminal, whatever was written.
    """

    def error(self, message: str) -> NoReturn:
        line = printable_line(message)
        super().error(line if len(line) <= MAX_ERROR_CHARS else f"{line[:MAX_ERROR_CHARS]}…")

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> object:
        if action.option_strings and arg_strings == ["--"]:  # "--option=--": many versions of Python drop the "--"
            value = self._get_value(action, "--")
            self._check_value(action, value)
            return value if action.nargs in (None, argparse.OPTIONAL) else [value]
        return super()._get_values(action, arg_strings)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            matches = get_close_matches(str(value), [str(choice) for choice in action.choices or ()], n=1)
            if not matches:
                raise
            suggestion = setup_texts.DID_YOU_MEAN.format(meant=matches[0]).lower()
            raise argparse.ArgumentError(action, f"{error.message}; {suggestion}") from None


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version  # noqa: PLC0415 -- a quarter of the time that help takes

        write_out(sys.stdout, f"cogency {version(DISTRIBUTION)}\n")
        if warning := shared_modules(sys.path):
            complain(f"cogency: Warning: {warning}. {setup_texts.MODULES_APART}")
        parser.exit()


class _Commands:
    """Adds commands to a parser."""

    def __init__(self, parser: argparse.ArgumentParser, *, required: bool = True) -> None:
        self._subparsers = parser.add_subparsers(required=required, metavar="COMMAND")

    def add(self, command: Subcommand, summary: str, details: str = "") -> argparse.ArgumentParser:
        parser = self.group(command.value.rpartition(" ")[2], summary, details)
        parser.set_defaults(command=command)
        return parser

    def group(self, name: str, summary: str, details: str = "") -> argparse.ArgumentParser:
        description = f"{summary[:1].upper()}{summary[1:]}. {details}".strip()
        parser = self._subparsers.add_parser(
            name, help=summary, description=description, epilog=setup_texts.SETTINGS_FROM
        )
        _add_config(parser, argparse.SUPPRESS)
        return parser


def _add_config(parser: argparse.ArgumentParser, default: str | None) -> None:
    """It may stand before the command or after it. `default`: SUPPRESS keeps what stood before it."""
    parser.add_argument("--config", type=Path, metavar="FILE", default=default, help=setup_texts.CONFIG_SAYS)


def _add_ask(commands: _Commands) -> None:
    ask = commands.add(Subcommand.ASK, "ask one question and print the answer", setup_texts.ASK_READS)
    ask.add_argument("words", nargs="*", metavar="QUESTION", help="the question; - reads standard input")
    ask.add_argument("--json", dest="as_json", action="store_true", help="print JSON")


def _add_play(commands: _Commands) -> None:
    play = commands.add(
        Subcommand.PLAY, "try the bot in a browser on this machine, as two people", setup_texts.PLAY_SAYS
    )
    play.add_argument(
        "--keep",
        type=_argument_type(_file_to_keep),
        metavar="FILE",
        help="the database file to store messages in (default: messages are lost when you stop the command)",
    )
    play.add_argument(
        "--port",
        type=_argument_type(whole(1, 65_535)),
        metavar="N",
        help="the page's port (default: 8766, or a free one)",
    )
    play.add_argument("--no-browser", dest="browser", action="store_false", help="only print the page's address")


def _file_to_keep(text: str) -> Path:
    if not (file := Path(_text(text))).absolute().parent.is_dir():
        raise ValueError(setup_texts.PLAY_NO_FOLDER.format(file=file))
    return file


def _add_check_model(commands: _Commands) -> None:
    check = commands.add(Subcommand.CHECK_MODEL, "test what a model and its service can do", setup_texts.CHECK_SAYS)
    check.add_argument(
        "--model",
        default="",
        metavar="NAME",
        help="the model to test, in the form of COGENCY_MODEL (default: the model in your settings)",
    )
    check.add_argument("--yes", action="store_true", help="start without asking")
    check.add_argument("--json", dest="as_json", action="store_true", help="print JSON")


def _add_eval(commands: _Commands) -> None:
    exam = commands.add(Subcommand.EVAL, "ask the bot the questions in a file and check its answers", eval_texts.SAYS)
    exam.add_argument("file", type=Path, nargs="?", metavar="FILE", help="the YAML file with questions and checks")
    exam.add_argument("--starter", action="store_true", help="use the 40 built-in questions instead of a file")
    exam.add_argument(
        "--write-starter", type=Path, metavar="FILE", help="write the built-in questions to a new file, and stop"
    )
    exam.add_argument(
        "--from-feedback",
        type=Path,
        metavar="FILE",
        help="write the questions and corrections of shared feedback to a new file, and stop",
    )
    exam.add_argument("--check", action="store_true", help="only check the file for mistakes, without calling a model")
    exam.add_argument(
        "--only",
        type=_names,
        default=frozenset[str](),
        metavar="NAMES",
        help="ask only these questions or groups, separated by commas",
    )
    exam.add_argument(
        "--model",
        dest="models",
        action="append",
        metavar="NAME",
        help=(
            "the model to test, in the form of COGENCY_MODEL; repeat the option to compare models (default: the model "
            "in your settings)"
        ),
    )
    exam.add_argument("--judge", metavar="NAME", help="the model that judges answers (default: `judge` in the file)")
    exam.add_argument(
        "--repeat",
        type=_argument_type(whole(1, 100)),
        metavar="N",
        help="ask each question N times (default: `repeat` in the file, or 1)",
    )
    exam.add_argument(
        "--parallel",
        type=_argument_type(whole(1, 64)),
        default=4,
        metavar="N",
        help="how many questions to ask at once (default: 4)",
    )
    exam.add_argument(
        "--timeout",
        dest="timeout_s",
        type=_argument_type(whole(1, 3_600)),
        default=300,
        metavar="SECONDS",
        help="how long to wait for one answer (default: 300)",
    )
    exam.add_argument(
        "--budget",
        type=_argument_type(parse_budget),
        default=DailyBudget(),
        metavar="AMOUNT",
        help="stop when this much is spent, as in 2.50 (dollars) or '200,000 tokens' (default: no limit)",
    )
    exam.add_argument(
        "--threshold",
        type=_argument_type(_share),
        metavar="PERCENT",
        help=(
            "the percentage of each model's answers that must pass for exit code 0 (default: `threshold` in the file, "
            "or 100)"
        ),
    )
    exam.add_argument(
        "--html", type=_argument_type(_file_to_write), metavar="FILE", help="also write the results as a web page"
    )
    exam.add_argument(
        "--junit", type=_argument_type(_file_to_write), metavar="FILE", help="also write the results as JUnit XML"
    )
    exam.add_argument("--json", dest="as_json", action="store_true", help="print JSON instead of a table")
    exam.add_argument(
        "--store-answers",
        action="store_true",
        help="store questions and answers with the result, for the operators' page (default: only names and counts)",
    )


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(",") if name.strip())


def _share(text: str) -> float:
    try:
        percent = float(text.removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 100:
        raise ValueError(eval_texts.PERCENT_FORM)
    return percent / 100


def _file_to_write(text: str) -> Path:
    if not (file := Path(text)).absolute().parent.is_dir():
        raise ValueError(eval_texts.NO_FOLDER.format(file=file))
    return file


def _add_doctor(commands: _Commands) -> None:
    doctor = commands.add(
        Subcommand.DOCTOR,
        "check settings, database, model, and platforms, and suggest fixes",
        setup_texts.DOCTOR_LOOKS,
    )
    doctor.add_argument(
        "--model",
        dest="ask_model",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="ask the model for one word, which costs a few tokens",
    )
    doctor.add_argument("--fix", action="store_true", help=setup_texts.FIX_SAYS)
    doctor.add_argument("--json", dest="as_json", action="store_true", help="print JSON")


def _add_usage(commands: _Commands) -> None:
    usage = commands.add(
        Subcommand.USAGE, "show the tokens and cost (at list prices) of model calls", setup_texts.WORKS_BESIDE
    )
    usage.add_argument(
        "--days",
        type=_argument_type(whole(1, MAX_DAYS)),
        default=30,
        metavar="N",
        help="number of days, including today (default: 30)",
    )
    usage.add_argument(
        "--by",
        type=_argument_type(one_of(By)),
        default=By.PERSON,
        metavar=f"{{{','.join(By)}}}",
        help=(
            "how to group the totals (default: person); door means chat, webhook, API, or MCP, and key means whose API "
            "key was billed"
        ),
    )
    usage.add_argument("--json", dest="as_json", action="store_true", help="print JSON")


def _add_audit(commands: _Commands) -> None:
    audit = commands.add(
        Subcommand.AUDIT,
        "list tool calls and administrative changes: who made them, where, and who approved them",
        setup_texts.WORKS_BESIDE,
    )
    audit.add_argument(
        "--since",
        type=_argument_type(_parse_moment),
        metavar="DATE",
        help="when the list starts, as in 2026-11-30 or 2026-11-30T12:00 (UTC; default: 30 days ago)",
    )
    audit.add_argument("--json", dest="as_json", action="store_true", help="print JSON, one object per line")


def _add_feedback(commands: _Commands) -> None:
    export = commands.add(
        Subcommand.FEEDBACK_EXPORT,
        "print the feedback that people shared with the operators, as CSV",
        setup_texts.FEEDBACK_SAYS,
    )
    export.add_argument("--json", dest="as_json", action="store_true", help="print JSON, one object per line")
    counts = commands.add(
        Subcommand.FEEDBACK_COUNTS,
        "count ratings by model, channel, tool, and reason",
        setup_texts.WORKS_BESIDE,
    )
    counts.add_argument("--json", dest="as_json", action="store_true", help="print JSON")
    for parser_, default in ((export, "the first feedback"), (counts, "30 days ago")):
        parser_.add_argument(
            "--since",
            type=_argument_type(_parse_moment),
            metavar="DATE",
            help=f"when the period starts, as in 2026-11-30 or 2026-11-30T12:00 (UTC; default: {default})",
        )


def _add_operator(commands: _Commands) -> None:
    operator = commands.add(
        Subcommand.OPERATOR, "print a sign-in link for the operators' page", setup_texts.OPERATOR_SAYS
    )
    instead = operator.add_mutually_exclusive_group()
    instead.add_argument("--sessions", action="store_true", help="list open sessions instead")
    instead.add_argument("--sign-out-all", action="store_true", help="sign out everyone instead")


def _add_migrate(commands: _Commands) -> None:
    migrate = commands.add(
        Subcommand.MIGRATE,
        "upgrade the database to the newest version, as the bot does each time it starts",
        setup_texts.MIGRATE_SAYS,
    )
    migrate.add_argument("--back", metavar="VERSION", help="go back to an earlier release (0.1.0) or migration (r0012)")
    migrate.add_argument(
        "--backup",
        dest="file",
        type=_backup_file,
        metavar="FILE",
        help="the backup file (default: a name with the version and time)",
    )
    migrate.add_argument(
        "--yes", action="store_true", help="go back even if the earlier version cannot store everything"
    )


def _add_backups(commands: _Commands) -> None:
    backup = commands.add(Subcommand.BACKUP, "back up the database to one file", setup_texts.WORKS_BESIDE)
    restore = commands.add(Subcommand.RESTORE, "restore a backup", setup_texts.RESTORE_SAYS)
    copy = commands.add(Subcommand.COPY, "copy all data to another database", setup_texts.COPY_SAYS)
    again = commands.add(
        Subcommand.FORGET_AGAIN, "erase forgotten data again in a restored database", setup_texts.FORGET_AGAIN_SAYS
    )
    again.add_argument(
        "file",
        type=Path,
        nargs="?",
        default=None,
        metavar="FILE",
        help="the forgetting log (default: COGENCY_FORGETTING_LOG)",
    )
    for command in (backup, restore):
        command.add_argument("file", type=_backup_file, metavar="FILE", help="the backup file")
    copy.add_argument(
        "--from",
        dest="source",
        type=_argument_type(database_url),
        metavar="URL",
        help="the source database (default: COGENCY_DATABASE_URL)",
    )
    copy.add_argument(
        "--to",
        dest="target",
        type=_argument_type(database_url),
        metavar="URL",
        required=True,
        help="the target database, as an sqlite:/// or postgresql:// URL",
    )
    backup.add_argument("--replace", action="store_true", help="replace the file if it exists")
    for command in (restore, copy):
        command.add_argument("--replace", action="store_true", help="replace the database's current contents")


def _parse_moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(setup_texts.NO_DATE.format(text=text)) from None


def _add_budget(commands: _Commands) -> None:
    budget = commands.add(Subcommand.BUDGET, "show or change budgets", setup_texts.BUDGET_SAYS)
    budget.add_argument(
        "words",
        nargs="*",
        metavar="WORD",
        help=(
            "whose budget: everyone, person:slack:T0123:U0123, channel:C0123, or workspace:slack:T0123; to change it, "
            "add '$20', 5,000,000 tokens, exempt, or reset"
        ),
    )


def _add_learn(commands: _Commands) -> None:
    learn = commands.add(
        Subcommand.LEARN, "add files as documents for a channel, a workspace, or a person", setup_texts.LEARN_SAYS
    )
    learn.add_argument("paths", nargs="+", metavar="PATH", help='a folder, a file, or a pattern such as "docs/*.md"')
    learn.add_argument("--place", required=True, metavar="PLACE", help=setup_texts.LEARN_PLACE_SAYS)
    learn.add_argument("--remove-missing", action="store_true", help=setup_texts.REMOVE_MISSING_SAYS)
    learn.add_argument("--operator", metavar="NAME", help=setup_texts.OPERATOR_NAME_SAYS)


def _add_people(commands: _Commands, kind: str) -> None:
    find = commands.add(Subcommand.FIND, f"find the ID of a {kind}", setup_texts.WORKS_BESIDE)
    export = commands.add(Subcommand.EXPORT, f"export the data of a {kind} to a file", setup_texts.WORKS_BESIDE)
    erase = commands.add(Subcommand.ERASE, f"erase the data of a {kind} and print a receipt", setup_texts.WORKS_BESIDE)
    confirm = commands.add(Subcommand.CONFIRM, "confirm another operator's request", setup_texts.CONFIRM_SAYS)
    find.add_argument(
        "words", nargs="?", default="", type=_text, metavar="NAME", help="part of the name or ID (lists up to 20)"
    )
    find.add_argument("--json", dest="as_json", action="store_true", help="print JSON")
    for command in (export, erase):
        command.add_argument("of", metavar="ID", help=f"the ID from `cogency {kind} find`")
    confirm.add_argument(
        "number",
        type=_argument_type(whole(1, MAX_ROW)),
        metavar="NUMBER",
        help="the number of the other operator's request",
    )
    for command in (export, confirm):
        command.add_argument(
            "file",
            nargs="?",
            metavar="FILE",
            help="the export file, which only you can read (default: a name with the ID and date)",
        )
        command.add_argument("--force", action="store_true", help="overwrite an existing file")
    for command in (erase, confirm):
        command.add_argument("--yes", action="store_true", help="erase without asking")
    erase.add_argument("--replies", action="store_true", help="also delete the bot's answers on the platform")
    erase.add_argument(
        "--related", action="store_true", help="also erase messages that may say the same thing in other words"
    )
    for command in (find, export, erase, confirm):
        command.set_defaults(kind=kind)
    for command in (export, erase, confirm):
        command.add_argument(
            "--operator",
            metavar="NAME",
            help=setup_texts.OPERATOR_NAME_SAYS,
        )


def _add_plugins(commands: _Commands) -> None:
    add = commands.add(Subcommand.PLUGINS_ADD, "add a plug-in from its folder", setup_texts.PLUGINS_ADD_SAYS)
    list_ = commands.add(Subcommand.PLUGINS_LIST, "list the plug-ins in use and what they contain")
    check = commands.add(Subcommand.PLUGINS_CHECK, "check a plug-in for problems", setup_texts.PLUGINS_CHECK_SAYS)
    remove = commands.add(Subcommand.PLUGINS_REMOVE, "remove a plug-in", setup_texts.PLUGINS_REMOVE_SAYS)
    add.add_argument("path", type=Path, metavar="PATH", help="the plug-in's folder")
    check.add_argument(
        "path", type=Path, nargs="?", metavar="PATH", help="the plug-in's folder (default: all plug-ins in use)"
    )
    check.add_argument("--connect", action="store_true", help=setup_texts.CONNECT_SAYS)
    remove.add_argument("name", metavar="NAME", help="the name from `cogency plugins list`")
    for command in (list_, check):
        command.add_argument("--json", dest="as_json", action="store_true", help="print JSON")


def _add_hooks(commands: _Commands) -> None:
    add = commands.add(Subcommand.HOOKS_ADD, "add an incoming webhook", setup_texts.HOOKS_ADD_SAYS)
    commands.add(Subcommand.HOOKS_LIST, "list the incoming webhooks and their addresses")
    test = commands.add(Subcommand.HOOKS_TEST, "show the messages that a payload produces", setup_texts.HOOKS_TEST_SAYS)
    rotate = commands.add(Subcommand.HOOKS_ROTATE, "replace a webhook's secret", setup_texts.HOOKS_ROTATE_SAYS)
    for command in (add, test, rotate):
        command.add_argument("name", metavar="NAME", help="the webhook's name, which is part of its address")
    add.add_argument("--preset", required=True, choices=[*presets()], help="the preset for the sender")
    add.add_argument("--channel", required=True, metavar="CHANNEL", help=setup_texts.HOOKS_CHANNEL_SAYS)
    add.add_argument("--ask", metavar="QUESTION", help="also answer this question about each event, in its thread")
    for command in (add, rotate):
        command.add_argument("--read-secret", dest="reads", action="store_true", help=setup_texts.HOOKS_READ_SAYS)
    test.add_argument("file", type=Path, nargs="?", metavar="FILE", help=setup_texts.HOOKS_FILE_SAYS)
    test.add_argument("--send", action="store_true", help="also send the signed payload to the running bot")
    rotate.add_argument("--finish", action="store_true", help="remove the old secret")


def _add_keys(commands: _Commands) -> None:
    set_ = commands.add(Subcommand.KEYS_SET, "set a channel's key for a model service", setup_texts.KEYS_SET_SAYS)
    list_ = commands.add(
        Subcommand.KEYS_LIST,
        "list channels' keys (the last four characters of each)",
        setup_texts.WORKS_BESIDE,
    )
    remove = commands.add(Subcommand.KEYS_REMOVE, "remove a channel's key", setup_texts.WORKS_BESIDE)
    for command in (set_, remove):
        command.add_argument("place", metavar="PLACE", help="the channel's ID, from `cogency place find`")
        command.add_argument(
            "vendor", choices=OWN_KEY_VENDORS, metavar="SERVICE", help=f"the service: {', '.join(OWN_KEY_VENDORS)}"
        )
        command.add_argument("--operator", metavar="NAME", help=setup_texts.OPERATOR_NAME_SAYS)
    list_.add_argument("--json", dest="as_json", action="store_true", help="print JSON")


def _add_tokens(commands: _Commands) -> None:
    create = commands.add(Subcommand.TOKEN_CREATE, "create a token and print it once", setup_texts.TOKEN_CREATE_SAYS)
    list_ = commands.add(Subcommand.TOKEN_LIST, "list tokens and when they were last used", setup_texts.WORKS_BESIDE)
    revoke = commands.add(Subcommand.TOKEN_REVOKE, "revoke a token immediately", setup_texts.WORKS_BESIDE)
    create.add_argument("name", type=_argument_type(parse_name), metavar="NAME", help="a name for the program")
    create.add_argument("--as", dest="acts_as", required=True, metavar="WHO", help=setup_texts.TOKEN_AS_SAYS)
    create.add_argument("--place", metavar="PLACE", help=setup_texts.TOKEN_PLACE_SAYS)
    create.add_argument(
        "--budget",
        type=_argument_type(parse_budget),
        default=DailyBudget(),
        metavar="AMOUNT",
        help="what the program can spend per day, as in 2.50 (dollars) or '200,000 tokens' (default: no extra limit)",
    )
    create.add_argument(
        "--scopes",
        type=_argument_type(parse_scopes),
        default=frozenset({TokenScope.ASK}),
        metavar="NAMES",
        help=f"what the program can do, separated by commas: {', '.join(TokenScope)} (default: ask)",
    )
    create.add_argument(
        "--expires",
        dest="lasts",
        type=_argument_type(parse_days),
        default=timedelta(days=DEFAULT_DAYS),
        metavar="DAYS",
        help=f"when the token expires, as in 90d, or never (default: {DEFAULT_DAYS}d)",
    )
    list_.add_argument("--json", dest="as_json", action="store_true", help="print JSON")
    revoke.add_argument("named", metavar="NAME", help="the name or number from `cogency token list`")
    for command in (create, revoke):
        command.add_argument("--operator", metavar="NAME", help=setup_texts.OPERATOR_NAME_SAYS)


def _add_webhooks(commands: _Commands) -> None:
    failed = commands.add(
        Subcommand.WEBHOOKS_FAILED, "list events that could not be delivered", setup_texts.WORKS_BESIDE
    )
    failed.add_argument("--json", dest="as_json", action="store_true", help="print JSON, one object per line")
    retry = commands.add(
        Subcommand.WEBHOOKS_RETRY, "send failed events again, and enable the webhook", setup_texts.WORKS_BESIDE
    )
    retry.add_argument("name", metavar="NAME", help="the webhook's name in the COGENCY_OUTGOING_WEBHOOKS file")
    retry.add_argument(
        "number",
        nargs="?",
        type=_argument_type(whole(1, MAX_ROW)),
        metavar="NUMBER",
        help="send only this event, by its number from `cogency webhooks failed`",
    )


def _add_manifest(commands: _Commands) -> None:
    manifest = commands.add(Subcommand.MANIFEST, "print the manifest of the Slack app", setup_texts.PASTE_MANIFEST)
    manifest.add_argument("--features", type=_members(SlackFeature), default=None, metavar="NAMES", help=FEATURES)
    manifest.add_argument(
        "--prefix",
        type=_argument_type(parse_command_prefix),
        help="the prefix of each slash command (default: COGENCY_SLACK_COMMAND_PREFIX)",
    )
    manifest.add_argument(
        "--http",
        default="",
        metavar="URL",
        help="the address where Slack reaches the bot, to use HTTP instead of Socket Mode",
    )
    manifest.add_argument("--app", type=_argument_type(slack_app), metavar="NAME", help=APP_SAYS)
    manifest.add_argument(
        "--name", default="Cogency", help="the app's name as people see it in Slack (default: Cogency)"
    )
    manifest.add_argument("--json", dest="as_json", action="store_true", help="print JSON instead of YAML")


def _add_invite(commands: _Commands) -> None:
    link = commands.add(
        Subcommand.INVITE, "print the links for adding the bot to a server or an account", setup_texts.INVITE_ASKS
    )
    link.add_argument(
        "--features",
        type=_members(discord.DiscordFeature),
        default=None,
        metavar="NAMES",
        help=IN_SERVERS,
    )
    link.add_argument("--application", type=_application_id, metavar="ID", help="the application's ID")


def _argument_type(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Turn a parser of settings into one of arguments."""

    def read(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def _members(kind: type[E]) -> Callable[[str], frozenset[E]]:
    """Return a parser of comma-separated members of an enumeration."""

    def read(text: str) -> frozenset[E]:
        names = {name.strip() for name in text.split(",") if name.strip()}
        if not names <= set(kind):
            raise argparse.ArgumentTypeError(f"must be one or more of {', '.join(kind)}, separated by commas")
        return frozenset(map(kind, names))

    return read


def _backup_file(text: str) -> Path:
    if "://" in text:  # else a file would have the database's password in its name
        raise argparse.ArgumentTypeError("must be a file. To copy all data to another database, use `cogency copy`")
    return Path(_text(text))


def _text(text: str) -> str:
    """Return an argument that a database reads. Python reads bytes that are not UTF-8 as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError("must be valid UTF-8") from None
    return text


def _application_id(text: str) -> str:
    if not (text.isascii() and text.isdecimal() and len(text) <= MAX_ID_CHARS):
        raise argparse.ArgumentTypeError(
            "must be the application ID from the General Information page in Discord's developer portal"
        )
    return text
