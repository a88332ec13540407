"""A page that lists all of something (commands, keys, values, sections of a file) lists each one that the code has."""

import inspect
import re
import tomllib
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

import pytest

from agent.admission_terms import Authority
from agent.events import Outcome
from agent.feedback import FeedbackReason
from agent.handoffs import HandoffState
from agent.ports.api_tokens import TokenScope
from agent.ports.tools import ToolEffect
from agent.providers.catalog import ENDPOINTS
from agent.schedules.definitions import ScheduleKind
from agent.spending import By
from benchmarks.house_code import ROOT
from bot.acts.tools import ACT_TOOLS
from bot.api.http_api import ENDPOINTS as API_ENDPOINTS
from bot.api.http_api import MODELS, POSTS
from bot.api.mcp_server.arguments import ToolName
from bot.app.from_settings import APP_KEYS
from bot.chat.findings import Level
from bot.commands import WITHOUT_FORUMS
from bot.memory.export import as_json
from bot.platforms.discord.slash_commands import COMMANDS as DISCORD
from bot.platforms.slack.slash_commands import COMMANDS as SLACK
from bot.platforms.texts import TERMINAL_COMMANDS
from store.data_subjects import PersonSubject
from store.subject_export import sections


class Listed(NamedTuple):
    """`names`: what stands as code on a page, between the first `after` and the next `until`, and nothing else."""

    page: str
    names: Collection[str]
    after: str
    until: str


def extras() -> list[str]:
    return [*tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]]


ENDED: Final = [state for state in HandoffState if state not in {HandoffState.OPEN, HandoffState.TAKEN}]
OPEN_TO_ALL: Final = {f"/{command.name}" for command in (*SLACK, *DISCORD, *WITHOUT_FORUMS) if command.open_to_all}

LISTS: Final[Mapping[str, Listed]] = {
    "tools that act": Listed("docs/acts.md", ACT_TOOLS, "| Tool | What it does |", "\n\n"),
    "effects": Listed("docs/approvals.md", [*ToolEffect], "| Effect | What happens", "\n\n"),
    "levels of findings": Listed("docs/doctor.md", [*Level], "| Level | What it means |", "\n\n"),
    "what only the terminal has": Listed(
        "docs/terminal.md",
        {words.split()[0] for words in TERMINAL_COMMANDS} - {"//TEXT"} | {"//text", "exit"},
        "These work only here:",
        "Ctrl-C stops",
    ),
    "groupings of usage": Listed("docs/how-do-i.md", {*By} - {By.PERSON}, "`--by` can also be", "(chat"),
    "extras": Listed("deploy/README.md", extras(), "The extras are", "If an extra is missing"),
    "reasons of feedback": Listed("docs/feedback.md", [*FeedbackReason], "with this reason:", "You can combine"),
    "reasons in events": Listed(
        "docs/webhooks-out.md", [*FeedbackReason, "reason"], "`good`, `bad`, or null; ", "or null |"
    ),
    "outcomes of a turn": Listed("docs/webhooks-out.md", [*Outcome], "`outcome`:", ";"),
    "ends of a request for a human": Listed(
        "docs/webhooks-out.md", [*ENDED], "| as for `handoff.asked`; `state`:", "|"
    ),
    "ranks": Listed("docs/tool-policy.md", [rank.name.lower() for rank in Authority], "The ranks are", "("),
    "scopes of tokens": Listed("docs/api.md", [*TokenScope], "what programs can do, separated by commas:", "Default"),
    "kinds of schedules": Listed("docs/export.md", [*ScheduleKind], "`kind` (", ")"),
    "commands without a limit": Listed(
        "docs/access.md",
        OPEN_TO_ALL,
        'requests such as "stop"',
        "have no limit",
    ),
    "tools for MCP clients": Listed("docs/mcp-server.md", [*ToolName], "| Tool | What it does |", "\n\n"),
    "paths of the API": Listed(
        "docs/api.md",
        [*(f"POST {path}" for path in (*API_ENDPOINTS, POSTS)), f"GET {MODELS}"],
        "and the name of the key as `api_key_name`.",
        "## Post",
    ),
    "keys of a Slack app": Listed("docs/slack.md", APP_KEYS, "| the table's name |", "\n\n"),
}
CODE: Final = re.compile(r"`([^`\n]+)`")


def listed(one: Listed) -> str:
    text = (ROOT / one.page).read_text(encoding="utf-8")
    assert one.after in text, f"{one.page} has no longer {one.after!r}"
    return text.partition(one.after)[2].partition(one.until)[0]


@pytest.mark.parametrize("what", LISTS)
def test_a_page_lists_each_one_and_no_other(what: str) -> None:
    one = LISTS[what]
    part = listed(one)
    first_cells = [row.split("|")[1] for row in part.splitlines() if row.startswith("| ")]
    found = {name.split()[0] if name[:1] == "/" else name for name in CODE.findall(" ".join(first_cells) or part)}
    assert found == {*map(str, one.names)}


def test_the_page_about_exports_has_a_row_for_each_section_of_a_persons_file() -> None:
    page = (ROOT / "docs" / "export.md").read_text(encoding="utf-8").partition("## Exports by operators")[2]
    rows = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert sorted(rows) == sorted(sections(PersonSubject("slack:T1:U1")))


def test_the_page_about_exports_has_a_row_for_each_field_of_a_persons_own_file() -> None:
    page = (ROOT / "docs" / "export.md").read_text(encoding="utf-8").partition("## Exports by operators")[0]
    cells = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    fields = re.findall(r'^ {8}"(\w+)":', inspect.getsource(as_json), re.MULTILINE)
    assert len(fields) >= 12
    assert {"version", *(name for cell in cells for name in CODE.findall(cell))} == {*fields}


@pytest.mark.parametrize("name", ENDPOINTS)
def test_the_page_about_models_names_each_provider(name: str) -> None:
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    assert f"{name}:" in page or name.upper() in page
