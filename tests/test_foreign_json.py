"""JSON of others is looked at for its depth before it is parsed: each level takes one of the interpreter's stack.

A module that parses JSON either asks `is_too_deep`, or stands here with whose text it is.
"""

import ast
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PARSERS: Final = frozenset({"loads", "raw_decode"})

OUR_OWN: Final = {
    "agent/hooks/running.py": "what a function of the operator returned, encoded just before",
    "bot/acts/service.py": "a job that this program stored",
    "bot/knowledge/digest.py": "a job that this program stored",
    "bot/api/mcp_server/service.py": "a confirmation that this program made, whose digest is checked",
    "bot/webhooks/config.py": "a file of the operator, in TOML",
    "bot/webhooks/outgoing/rows.py": "a file of the operator, in TOML",
    "bot/webhooks/presets.py": "a file of this program, in TOML",
    "bot/settings/installation.py": "what pip and pipx wrote into this environment",
    "agent/memory/forgetting_plans.py": "a plan that this program stored",
    "agent/progress.py": "a turn's progress that this program stored",
    "agent/providers/rehearsal.py": "results that this program rendered; arguments are checked",
    "agent/shown_replies.py": "an address that this program stored",
    "agent/providers/wire_responses.py": "items that were parsed before, encoded just before",
    "agent/tools/functions.py": "what a tool of the operator returned, encoded just before",
    "agent/toolbox/arguments.py": "a schema, encoded just before",
    "bot/chat/access/acl.py": "an operator's setting",
    "bot/chat/access/place_rules.py": "rules that this program stored",
    "bot/channels/ambient_state.py": "what this program stored",
    "bot/app/from_settings.py": "files of the operator, in TOML",
    "bot/app/subject_requests.py": "rows that this program stored",
    "bot/chat/attachments/reader.py": "lines that our own process writes",
    "bot/chat/attachments/reader_process.py": "the first line of our own process",
    "bot/chat/audit.py": "a row that this program stored",
    "bot/forgetting/service.py": "a job that this program stored",
    "bot/channels/service.py": "a choice that this program stored",
    "bot/forgetting/retention.py": "a job that this program stored",
    "bot/handoff/messages.py": "a job that this program stored",
    "bot/memory/numbers.py": "numbers that this program stored",
    "bot/python/sandbox_process.py": "the request of the bot, its own process",
    "bot/platforms/discord/reply_to.py": "an address that this program stored",
    "bot/platforms/discord/shards.py": "an event of Discord's gateway, which the library has parsed too",
    "bot/platforms/play/inbound.py": "an address that this program stored",
    "bot/platforms/play/surface.py": "a message that this program stored",
    "bot/platforms/slack/asking.py": "a question that this program stored",
    "bot/platforms/slack/block_kit.py": "the value of a button of ours",
    "bot/platforms/slack/reply_buttons.py": "the value of a button of ours",
    "bot/platforms/slack/home.py": "metadata of a window of ours",
    "bot/platforms/slack/reply_to.py": "metadata of windows and values of buttons of ours",
    "bot/platforms/slack/question_views.py": "metadata of a window of ours",
    "bot/schedules/phrases/lexicon.py": "a file of this repository, in TOML",
    "bot/settings/parsers.py": "an operator's setting",
    "bot/tools/plugins/plugins.py": "a schema of this repository",
    "bot/chat/turns/answering.py": "references to pages that this program stored",
    "bot/tools/approvers.py": "a job that this program stored",
    "bot/tools/questions.py": "a question that this program stored",
}


def parses_json(tree: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in PARSERS
        for node in ast.walk(tree)
    )


def test_every_module_that_parses_json_looks_at_its_depth_or_says_whose_it_is() -> None:
    parsing = {
        str(file.relative_to(ROOT)): "is_too_deep(" in source
        for package in ("agent", "bot")
        for file in sorted((ROOT / package).rglob("*.py"))
        if any(parser in (source := file.read_text(encoding="utf-8")) for parser in PARSERS)  # nearly none
        and parses_json(ast.parse(source))
    }
    unchecked = {name for name, checks in parsing.items() if not checks}
    assert unchecked - OUR_OWN.keys() == set(), "ask is_too_deep first, or say whose text it is"
    assert OUR_OWN.keys() - parsing.keys() == set(), "these parse nothing any more"
