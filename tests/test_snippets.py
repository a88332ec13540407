"""Every snippet, command, setting and sentence of the bot on the pages is run, or compared with the code.

A fenced block is checked by its language (`CHECKS`), or by a test of its page's own (`RUN_BY`). What is neither fails,
so a new kind of block needs a check. In all text besides, the code within lines is read: commands, settings.
"""

import ast
import re
import shlex
import tomllib
from argparse import ArgumentParser, _SubParsersAction  # pyright: ignore[reportPrivateUsage]  # there is no public one
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, cast

import pytest

from agent.errors import SettingsError
from agent.spending import NANO
from benchmarks.house_code import ROOT
from bot.api.mcp_server.http import PATH as MCP_PATH
from bot.app.settings import all_settings, load_settings, setting_names
from bot.platforms.discord.slash_commands import COMMANDS
from bot.platforms.slack.http_events import EVENTS_PATH, HEALTH_PATH
from bot.settings.sources import KEYCHAIN
from bot.setup.arguments import parser as new_parser
from bot.tools.accounts.pages import PATH as SIGN_IN_PATH
from bot.tools.mcp.config import parse_file
from tests.catalogue import catalogue_files

PAGES: Final = sorted(
    [
        *(
            ROOT / name
            for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "ARCHITECTURE.md", "deploy/README.md")
        ),
        *(ROOT / "docs").rglob("*.md"),
    ]
)
# Blocks of a page in a language, and the test that runs all of them there.
RUN_BY: Final[Mapping[tuple[str, str], str]] = {
    ("README.md", "python"): "tests/agent/test_library.py",
    ("CONTRIBUTING.md", "python"): "tests/test_docs.py",
    ("docs/mcp-server.md", "json"): "tests/flows/test_mcp_server.py",
    ("docs/eval.md", "yaml"): "tests/bot/evals/test_page.py",
    ("docs/hooks.md", "python"): "tests/flows/test_hooks.py",
    ("docs/api.md", "python"): "tests/flows/test_api_page.py",
    ("docs/models.md", "text"): "tests/bot/models/test_checked.py",
    ("docs/operating.md", "sql"): "tests/store/test_operating_queries.py",
    ("docs/postgresql.md", "sql"): "tests/store/test_postgresql_page.py",
    ("docs/python.md", "python"): "tests/bot/python/test_code_tools.py",
    ("docs/slack.md", "toml"): "tests/bot/app/test_slack_apps.py",
    ("docs/terminal.md", "text"): "tests/flows/test_terminal_page.py",
    ("docs/library.md", "python"): "tests/flows/test_tools_page.py",
    ("docs/mcp.md", "json"): "tests/flows/test_tools_page.py",
    ("docs/plugins.md", "json"): "tests/flows/test_tools_page.py",
    ("docs/python-tools.md", "toml"): "tests/flows/test_tools_page.py",
    ("docs/tool-policy.md", "text"): "tests/flows/test_tools_page.py",
    ("docs/tools.md", "json"): "tests/flows/test_tools_page.py",
    ("docs/tools.md", "markdown"): "tests/flows/test_tools_page.py",
    ("docs/tools.md", "python"): "tests/flows/test_tools_page.py",
    ("docs/webhooks.md", "toml"): "tests/bot/webhooks/test_config.py",
    ("docs/webhooks.md", "yaml"): "tests/flows/test_webhooks_service.py",
    ("docs/webhooks-out.md", "python"): "tests/bot/webhooks/outgoing/test_page.py",
    ("docs/webhooks-out.md", "toml"): "tests/bot/webhooks/outgoing/test_page.py",
}
EXTRAS: Final = {*tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]}
TARGETS: Final = {*re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)}
# Other people's programs, with what we say of them.
FOREIGN: Final[Mapping[str, set[str]]] = {
    "git": {"pull"},
    "keyring": {"set"},
    "kubectl": {"apply", "scale"},
    "ollama": {"pull", "serve"},
    "openssl": {"rand"},
    "systemctl": {"restart"},
    "uvx": {"pre-commit"},
}
INSTALLERS: Final = {"pip": {"install"}, "pipx": {"install", "upgrade"}, "uv": {"tool"}}
TERMINAL_ALONE: Final = {"deep", "fast", "file", "threads", "quit"}
# Addresses and other things that begin as a command does.
NO_COMMANDS: Final = {
    *(EVENTS_PATH, HEALTH_PATH, MCP_PATH, "/livez", "/readyz", "/metrics", f"{SIGN_IN_PATH}/", "/"),
    *("/audio/transcriptions", "/v1", "/v1/embeddings"),  # of OpenAI's protocol
    *("/data", "/tmp"),  # noqa: S108 -- folders of the image, which pages name
    *("/files", "/out"),  # of code in the sandbox
    *("/invite", "/joke", "/bot-ask"),  # Slack's own; an example; one with a prefix
}
# Names that are not ours: of an example, of the system, of Ollama.
ENVIRONMENT: Final = {
    "SHOP_SECRET",
    "WIKI_TOKEN",
    "GITHUB_TOKEN",
    "COGENCY_TOKEN",
    "COGENCY_JOKE_LIMIT",
    "HTTPS_PROXY",
    "OLLAMA_HOST",
    "OLLAMA_CONTEXT_LENGTH",
}
FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED: Final = re.compile(r"^    +((?:make|cogency|python|uvx?|pipx?) .*)$", re.MULTILINE)
INLINE: Final = re.compile(r"`([^`\n]+)`")
SETTING: Final = re.compile(
    r"(?<![\w$])((?:COGENCY_[A-Z_]*[A-Z])|(?:[A-Z]+_)+(?:API_KEY|BASE_URL|TOKEN|SECRET))(?![\w*…])"
)
ASSIGNED: Final = re.compile(r"([A-Z][A-Z_]*[A-Z])=([^\s…]\S*)")
QUOTED: Final = re.compile("“([^”]+)”")


class Block(NamedTuple):
    page: str
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}: {self.text[:50]!r}"


@cache
def texts() -> dict[str, str]:
    return {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}


def blocks() -> list[Block]:
    return [Block(page, *fence) for page, text in texts().items() for fence in FENCE.findall(text)]


def in_lines(page: str) -> list[str]:
    """The code within the lines of a page, but for its blocks."""
    return INLINE.findall(FENCE.sub("", texts()[page]))


# Commands.


def commands_of(line: str) -> Iterator[tuple[list[str], str]]:
    """Each command of a line of shell, with the file to which it writes."""
    reader = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    reader.whitespace_split = True
    words, target, tokens = list[str](), "", iter(reader)
    for token in tokens:
        if token in {"|", "&&", "||", ";"}:
            yield words, target
            words, target = [], ""
        elif token in {">", ">>"}:
            target = next(tokens)
        elif token == "<":
            next(tokens)
        else:
            words.append(token)
    yield words, target


def check_shell(block: Block, folder: Path) -> None:
    for line in block.text.splitlines():
        for words, target in commands_of(line):
            check_command(words, target, folder)


def check_command(words: Sequence[str], target: str, folder: Path) -> None:
    while words and ASSIGNED.fullmatch(words[0]):  # for this one command
        check_names(words[0])
        words = words[1:]
    match words:
        case []:
            pass
        case ["cogency", *given]:
            check_cogency(given)
        case ["docker", "compose", "-f", file, verb, *rest]:
            assert (ROOT / file).is_file(), file
            assert verb in {"cp", "exec", "up"}, verb
            if verb == "exec":
                check_command(rest[1:], target, folder)
        case ["docker", "build", *_]:
            assert (ROOT / "Dockerfile").is_file()
        case ["echo", *said] if target == ".env":
            check_settings("\n".join(said), folder)
        case ["echo", said]:
            check_slash(said)
        case ["make", *targets]:
            assert {*targets} <= TARGETS, targets
        case ["cat", _, *_]:
            pass
        case ["python", "-m", module, *_]:
            assert (ROOT / f"{module.replace('.', '/')}.py").is_file() or module == "venv", module
        case ["pgbackrest", stanza, *_]:
            settings = (ROOT / "deploy" / "pgbackrest" / "pgbackrest.conf").read_text(encoding="utf-8")
            assert f"[{stanza.removeprefix('--stanza=')}]" in settings, stanza
        case [program, verb, *rest] if verb in INSTALLERS.get(Path(program).name, set[str]()):
            for extras in re.findall(r"(?:cogency-bot|\.)\[([\w,]+)\]", " ".join(rest)):
                assert {*extras.split(",")} <= EXTRAS, extras
        case [program, verb, *_]:
            assert verb in FOREIGN.get(program, set[str]()), f"no check knows {' '.join(words)}"
        case _:
            raise AssertionError(f"no check knows {' '.join(words)}")


def check_cogency(words: Sequence[str]) -> None:
    """A whole command is one that the program takes: else its parser ends all."""
    if {"--version", "--help"} & {*words}:  # they end it
        return check_mentioned(words)
    parser().parse_args([*words])
    return None


@cache
def parser() -> ArgumentParser:
    """Return the program's parser, which checks all of the commands."""
    return new_parser()


def check_mentioned(words: Sequence[str]) -> None:
    """A command in the midst of a sentence may lack its arguments; what it has of subcommands and options is there."""
    at = parser()
    for word in words:
        options = {option for action in at._actions for option in action.option_strings}
        below = {
            name: parser
            for action in at._actions
            if isinstance(action, _SubParsersAction)
            for name, parser in cast("_SubParsersAction[ArgumentParser]", action).choices.items()
        }
        assert word in {*options, *below} or not (below or word.startswith("--")), f"{word} in cogency {words}"
        at = below.get(word, at)


def check_slash(said: str) -> None:
    name = said.partition(" ")[0]
    known = {f"/{one}" for one in {*TERMINAL_ALONE, *(command.name for command in COMMANDS)}}
    assert name in known | NO_COMMANDS, f"{said}: there is no such command"


# Settings.


def check_names(text: str) -> None:
    named = {name.removesuffix("_FILE") for name in SETTING.findall(text)}
    assert named <= {*setting_names(), *ENVIRONMENT, "COGENCY_ACCOUNT_KEY"}, named - {*setting_names()}


def check_settings(lines: str, folder: Path) -> None:
    """As a whole `.env`: every name and every value is taken."""
    dotenv = folder / ".env"
    dotenv.write_text(lines)
    dotenv.chmod(0o600)
    load_settings({}, dotenv, folder)
    check_names(lines)
    names = {line.partition("=")[0] for line in lines.splitlines() if line}
    assert names <= {*setting_names()}, names


def check_env(block: Block, folder: Path) -> None:
    check_settings(block.text, folder)


def test_the_limits_on_the_page_are_those_that_hold_without_a_setting() -> None:
    declared = {setting.name: setting for setting in all_settings()}
    cells = [row.split(" | ") for row in texts()["docs/access.md"].splitlines() if row.startswith("|")]
    rows = [row for row in cells if len(row) == 3 and row[2].startswith("`COGENCY_") and re.search(r"\d", row[1])]
    told = [
        (name, float(figure.replace(",", "")) * (NANO if "_DOLLARS" in name else 1))
        for _, figures, names in rows
        for name, figure in zip(SETTING.findall(names), re.findall(r"[\d,]*\d", figures), strict=False)
    ]
    assert len(told) >= 7
    assert [(name, figure) for name, figure in told if declared[name].default != figure] == []


# Other blocks.


def check_proxy(block: Block, _: Path) -> None:
    """It leads to the addresses at which the settings on its page let the bot listen, by the paths that it serves."""
    settings = next(one.text for one in blocks() if one.page == block.page and one.language == "ini")
    listens = dict(re.findall(r"^(COGENCY_SLACK_HTTP|COGENCY_SIGN_IN_HTTP)=(.*)$", settings, re.MULTILINE))
    of_slack = EVENTS_PATH.rpartition("/")[0]
    below = re.split(rf"(?={of_slack}/|{SIGN_IN_PATH}/)", block.text)
    leads = {part.split()[0].rstrip("*/"): re.findall(r"127\.0\.0\.1:\d+", part) for part in below[1:]}
    assert leads == {of_slack: [listens["COGENCY_SLACK_HTTP"]], SIGN_IN_PATH: [listens["COGENCY_SIGN_IN_HTTP"]]}
    (host,) = re.findall(r"^COGENCY_SIGN_IN_ADDRESS=https://(\S+)$", settings, re.MULTILINE)
    assert re.search(rf"(?m)^(?:{re.escape(host)} {{|    server_name {re.escape(host)};)$", block.text)


def check_text(block: Block, _: Path) -> None:
    """Commands of the chat; or a drawing, which says nothing that could be wrong by a letter."""
    if block.text.startswith("/"):
        for line in block.text.splitlines():
            check_slash(line)
        return
    assert "►" in block.text, "no check knows this text"
    assert not SETTING.search(block.text)
    assert "cogency " not in block.text


def check_mcp(block: Block, folder: Path) -> None:
    """A file of MCP servers that the bot takes, with every variable set."""
    named = dict.fromkeys(re.findall(r"\$\{(\w+)\}", block.text), "x")
    (folder / "mcp.json").write_text(block.text)
    assert parse_file(block.text, folder / "mcp.json", named).servers


CHECKS: Final[Mapping[str, Callable[[Block, Path], None]]] = {
    "sh": check_shell,
    "ini": check_env,
    "caddy": check_proxy,
    "nginx": check_proxy,
    "text": check_text,
    "json": check_mcp,
}


@pytest.mark.parametrize("block", blocks(), ids=str)
def test_every_block_is_run_or_compared(block: Block, tmp_path: Path) -> None:
    if elsewhere := RUN_BY.get((block.page, block.language)):
        assert Path(block.page).name in (ROOT / elsewhere).read_text(encoding="utf-8")
    else:
        assert block.language in CHECKS, f"no check knows a block of {block.language or 'no language'}: {block}"
        CHECKS[block.language](block, tmp_path)


def test_no_page_is_named_for_a_test_that_has_no_such_blocks() -> None:
    assert {*RUN_BY} <= {(one.page, one.language) for one in blocks()}


@pytest.mark.parametrize("page", texts())
def test_every_command_within_a_line_is_one(page: str, tmp_path: Path) -> None:
    for code in [*in_lines(page), *(line.split("  ")[0] for line in INDENTED.findall(texts()[page]))]:
        words = code.replace("[", "").replace("]", "").split()
        match words:
            case ["cogency", *given] if "=" not in given[:1] and given:
                check_mentioned([word for word in given if word != "…"])
            case [first, _, *_] if first in {"make", "docker", "python", *INSTALLERS, *FOREIGN}:
                for each, target in commands_of(code.replace("`", "")):
                    check_command(each, target, tmp_path)
            case [first, *_] if re.fullmatch(r"/(?:[a-z][\w-]*)?", first):
                check_slash(code)
            case _:
                pass


@pytest.mark.parametrize("page", texts())
def test_every_setting_on_a_page_is_one_and_takes_the_value_that_stands_there(page: str, tmp_path: Path) -> None:
    check_names(texts()[page])
    for code in in_lines(page):
        given = ASSIGNED.fullmatch(code)
        if given and given[1] in setting_names() and "…" not in code and given[2] != KEYCHAIN:
            check_settings(code, tmp_path)


DEPLOYED: Final = [*(ROOT / "deploy").glob("*.*ml"), ROOT / "deploy" / "cogency.service", ROOT / "Dockerfile"]


@pytest.mark.parametrize("file", DEPLOYED, ids=lambda file: file.name)
def test_what_the_head_of_a_deployed_file_has_people_write_is_there(file: Path, tmp_path: Path) -> None:
    head = "\n".join(line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("#"))
    for code in [*INLINE.findall(head), *re.findall(r"^#   (?:COGENCY_HOST=\S+ )?(docker .*)$", head, re.MULTILINE)]:
        match code.split():
            case ["cogency", *given]:
                check_mentioned(given)
            case ["docker", *given]:
                check_command(["docker", *given], "", tmp_path)
            case _:
                pass


# What the bot says.


@cache
def said_by_the_bot() -> list[str]:
    """Every text where texts stand, without what is filled in."""
    files = [*catalogue_files(), ROOT / "agent/providers/rehearsal.py"]
    constants = (
        node.value
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return [piece for text in {*constants} for piece in re.split(r"\{[^{}]*\}", text)]


def test_every_command_and_setting_in_a_text_of_the_bot_is_one() -> None:
    declared = [file for name in ("commands", "settings") for file in (ROOT / "bot").rglob(f"{name}.py")]
    trees = (ast.parse(file.read_text(encoding="utf-8")) for file in [*catalogue_files(), *declared])
    constants = (node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant))
    texts = [text for text in constants if isinstance(text, str)]
    check_names("\n".join(texts))
    for code in {code.partition("{")[0] for text in texts for code in INLINE.findall(text)}:  # the rest is filled in
        match code.split():
            case ["cogency", *given]:
                check_mentioned(given)
            case [said, *_] if re.fullmatch(r"/[a-z]+", said):
                check_slash(said)
            case _:
                pass


def test_every_sentence_for_which_somebody_looks_up_a_remedy_is_one_that_the_bot_says() -> None:
    quoted = QUOTED.findall(texts()["docs/troubleshooting.md"])
    assert len(quoted) >= 15
    assert [sentence for sentence in quoted if not any(sentence in piece for piece in said_by_the_bot())] == []


# The checks themselves.


@pytest.mark.parametrize(
    "line",
    [
        "cogency doktor",
        "cogency backup",
        "cogency usage --dollars 3",
        "make nothing",
        "uv tool install '.[nothing]'",
        "echo COGENCY_NOTHING=1 >> .env",
        "echo COGENCY_WEB=perhaps >> .env",
        "echo /nothing | cogency chat",
        "docker compose -f nothing.yaml up",
        "python -m benchmarks.nothing",
        "curl https://example.com",
        "true",
    ],
)
def test_a_command_that_would_fail_is_noticed(line: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, SettingsError, SystemExit)):
        check_shell(Block("page", "sh", line), tmp_path)


@pytest.mark.parametrize("words", ["doktor", "slack invite", "backup --all", "plugins chek"])
def test_a_mentioned_command_that_is_none_is_noticed(words: str) -> None:
    with pytest.raises(AssertionError):
        check_mentioned(words.split())


@pytest.mark.parametrize("name", ["COGENCY_NOTHING", "NOTHING_API_KEY", "COGENCY_MODEL_FILES"])
def test_a_setting_that_is_none_is_noticed(name: str) -> None:
    with pytest.raises(AssertionError):
        check_names(f"Set `{name}=1`.")


def test_a_proxy_that_leads_elsewhere_is_noticed(tmp_path: Path) -> None:
    (caddy,) = [one for one in blocks() if one.language == "caddy"]
    check_proxy(caddy, tmp_path)
    for wrong in (caddy.text.replace("3001", "3002"), caddy.text.replace("/slack/", "/slacks/")):
        with pytest.raises(AssertionError):
            check_proxy(caddy._replace(text=wrong), tmp_path)
