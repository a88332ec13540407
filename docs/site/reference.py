"""The pages of the reference, made from the code: `make generated`, or `python -m docs.site.reference`.

Rule: what the code knows is taken from there, and what only people know (why a right is asked for) stands here. A name
of the code that has no words here, or words for a name that is no more, is an error.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Final

from agent.budget_days import KEPT as KEPT_DAYS
from agent.context import RESULT_CHARS
from agent.eval_runs import KEPT as EVALS_KEPT
from agent.machine import SystemClock
from agent.memory.facts import FACTS_KEPT
from agent.outgoing import FAILED_KEPT, TRIED_FOR
from agent.ports.saved_files import IDLE
from agent.tools.remember import WORKING_TIME
from benchmarks.capacity import MEASURED, SIMULATED
from bot.app.settings import all_settings
from bot.channels.service import MAX_HISTORY
from bot.chat.attachments import pdf_forms, text_encoding, word_text
from bot.chat.attachments.document_output import MAX_COLUMNS, MAX_ROWS
from bot.chat.attachments.kinds import FileKind
from bot.chat.attachments.reader import MAX_PAGES
from bot.chat.attachments.reading import MAX_BYTES, SOURCE_CHARS
from bot.chat.commands.declaration import CommandScope
from bot.chat.message_parts import MAX_CHARS, MAX_DEPTH, UNREADABLE
from bot.commands import WITHOUT_FORUMS as TERMINAL
from bot.operators.metrics import Metrics
from bot.operators.service import LINK_LASTS, SESSION_LASTS
from bot.operators.texts import METRICS
from bot.platforms.discord import message_content as discord_content
from bot.platforms.discord import options as discord
from bot.platforms.discord.client import intents
from bot.platforms.discord.slash_commands import COMMANDS as DISCORD
from bot.platforms.slack import message_content as slack_content
from bot.platforms.slack import options as slack
from bot.platforms.slack.message_content import MAX_CELLS
from bot.platforms.slack.slash_commands import COMMANDS as SLACK
from bot.settings.declaration import Secrecy, Setting
from bot.settings.example import example_file
from bot.tools.accounts.sign_in import TIME as SIGN_IN_TIME
from bot.webhooks.dispatcher import GIVE_UP
from bot.webhooks.dispatcher import KEPT as EVENTS_KEPT
from docs.site.capacity import capacity_page
from docs.site.figures import benchmarks_page
from docs.site.security_tests import security_tests_page
from store.all_tables import metadata
from store.schedule_store import SHOWN_FOR
from store.search.index import INDEXES
from store.tool_calls import KEPT

ROOT: Final = Path(__file__).parents[2]
_MADE: Final = "*The command `make generated` builds this page from the code.*"


# Commands.

_COMMANDS: Final = f"""\
# Commands

In Slack, you can also write a command after a mention, as in `@cogency usage`. Slack has its own `/help`, so write `@cogency help` there.
In Slack's direct messages and in the terminal, a message that contains only a command does not need a slash, as in `usage` or
`forget everything`. Only you can see most answers to commands. Everyone in the channel can see the answer to `/ask`, unless you ask
privately. The terminal has further commands: `/deep`, `/fast`, `/file`, `/threads`, and `/quit`. {_MADE}
"""
_SCOPES: Final = {
    CommandScope.EVERYWHERE: "Discord",
    CommandScope.DIRECT: "Discord (direct messages)",
    CommandScope.SERVERS: "Discord (servers)",
}


def commands_page() -> str:
    """docs/commands.md: all of them as a table."""
    rows = ["| Command | What it does | Where |", "|---|---|---|"]
    for one in sorted({one.name: one for one in (*SLACK, *DISCORD, *TERMINAL)}.values(), key=lambda one: one.name):
        offered = {"Slack": one in SLACK, _SCOPES[one.scope]: one in DISCORD, "terminal": one in TERMINAL}
        where = ", ".join(where for where, is_there in offered.items() if is_there)
        rows.append(f"| {_code(f'/{one.name}')} | {one.summary} | {where} |")
        rows += [f"| {_code(f'/{one.name} {words}'.strip())} | {what} | |" for words, what in one.examples.items()]
    return "\n".join([_COMMANDS, *rows, ""])


def _code(text: str) -> str:
    """Code in a table, where a bar would end the cell."""
    return f"<code>{text.replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


# Settings.

_SETTINGS: Final = f"""\
# Settings

The bot reads settings from environment variables and from one file: `.env` in the current folder or, if that file
does not exist or sets none of these settings, `~/.config/cogency/.env` (on Linux). To use another file, add
`--config FILE`. Environment variables override the file. In a terminal, no
setting is required. Slack and Discord need at least their tokens. You can copy settings from
[.env.example](../.env.example). {_MADE}

To read a setting marked *secret* from a separate file, add `_FILE` to its name (`OPENAI_API_KEY_FILE=/run/secrets/openai`). To read it from the
system's keychain, set it to `keyring` (`OPENAI_API_KEY=keyring`). A value with braces is one line of JSON.
"""


def settings_page(settings: Sequence[Setting]) -> str:
    """docs/settings.md: what the code declares."""
    lines = [_SETTINGS]
    for section, members in groupby(settings, key=lambda setting: setting.section):
        lines += [f"## {section}", ""]
        for one in members:
            default = one.default_text
            told = "" if "Default: " in one.description or not default else f" Default: `{default}`."
            secret = " *Secret.*" if one.sensitivity.secrecy is Secrecy.VALUE else ""
            lines += [f"### {one.name}", "", f"{_linked(one.description)}{told}{secret}", ""]
            lines += [f"`{one.name}={one.example}`", ""] if one.example and one.example != default else []
    return "\n".join(lines)


def _linked(says: str) -> str:
    """Pages that a description names, as links."""
    return re.sub(r"\bdocs/([\w-]+)\.md", r"[\1.md](\1.md)", says).replace("<", "&lt;")


# Rights on the platforms.

_RIGHTS: Final = f"""\
# Permissions

This page lists the permissions that the bot needs in Slack and Discord, and why. {_MADE} `cogency doctor` shows which of these permissions your app lacks.

## Slack: scopes of the bot's token

`cogency slack manifest` prints a manifest with these scopes. To leave out some features and their scopes, use `--features`. In the table, *always* means
that the bot needs the scope even without any of these features. By default, the manifest contains the scopes for `acts` only if
`COGENCY_ACT` is not `off`. *Optional* means that the person who installs the app can uncheck the scope.
"""
_SLACK_WHY: Final[Mapping[str, str]] = {
    "app_mentions:read": "To receive mentions in channels.",
    "assistant:write": "To suggest questions in direct messages, and to know what the asker is viewing.",
    "channels:history": "To follow the bot's threads in public channels, with edits and deletions, and to read a public "
    "channel when a question needs it. If a channel's managers chose `/channel ambient on`, also to receive questions "
    "that do not mention the bot.",
    "channels:read": "To know which public channels the bot is in, and who can read them. This decides which "
    "messages the bot can use in its answers there.",
    "chat:write": "To post answers, to update them while the model writes, and to delete the bot's own messages.",
    "commands": "To offer slash commands, and shortcuts in message menus.",
    "files:read": "To read files that are attached to a question.",
    "files:write": "To send files, such as charts and long content, and to delete them with the answer.",
    "groups:history": "The same as `channels:history`, for private channels that the bot was invited to.",
    "groups:read": "The same as `channels:read`, for private channels that the bot was invited to.",
    "im:history": "To read people's direct messages to the bot.",
    "im:read": "After an outage, to find direct messages from people who had not written to the bot before.",
    "im:write": "To send direct messages, such as reminders, to people who have never written to the bot, and to edit answers in direct messages.",
    "mpim:history": "The same as `channels:history`, for group direct messages that the bot is in.",
    "mpim:read": "The same as `channels:read`, for group direct messages that the bot is in.",
    "reactions:read": "To receive 👍 and 👎 on the bot's answers as feedback, and 🗑 to delete an answer.",
    "pins:write": "To pin messages for the person who asks.",
    "bookmarks:read": "To find a bookmark that the bot should remove.",
    "bookmarks:write": "To add and remove channel bookmarks for the person who asks.",
    "canvases:read": "To find a section of a canvas that the bot should replace.",
    "canvases:write": "To create, change, and delete canvases for the person who asks.",
    "channels:write.topic": "To set the topic or description of public channels for the person who asks.",
    "groups:write.topic": "The same as `channels:write.topic`, for private channels that the bot was invited to.",
    "reactions:write": "To mark questions that the bot is working on, and to react for the person who asks.",
    "search:read.files": "To search files in public channels with Slack's own search, when a question needs it.",
    "search:read.public": "To search messages in public channels with Slack's own search, when a question needs it.",
    "search:read.users": "To search for people with Slack's own search, when a question needs it.",
    "team.preferences:read": "To know who may post in the general channel before posting there for someone.",
    "usergroups:read": "To know who is in the user groups that the settings list, for example as managers.",
    "users:read": "To know a person's name and time zone, and whether they are an admin, a member, or a guest. This "
    "decides who can ask, and what they can see.",
}
_OTHER_TOKENS: Final = """\
Two other tokens need one scope each. The app-level token needs `connections:write`, to connect in Socket Mode. The configuration token needs `app_configurations:read`. Only `cogency doctor` uses it, to compare the app with its manifest.
"""
_DISCORD: Final = """\
## Discord: intents

Intents control which events Discord sends to the bot. You only need to turn on `message_content` in the developer portal, where it is called *Message Content Intent*.
"""
_INTENTS_WHY: Final[Mapping[str, str]] = {
    "dm_messages": "To receive direct messages, with their edits and deletions.",
    "dm_reactions": "To receive 👍 and 👎 on the bot's answers in direct messages as feedback, and 🗑 to delete an answer.",
    "guild_messages": "To receive mentions in channels and messages in the bot's threads, with edits and deletions. If a message "
    "is edited or deleted, the bot updates waiting questions and what it remembers.",
    "guild_reactions": "To receive 👍 and 👎 on the bot's answers as feedback, and 🗑 to delete an answer.",
    "guilds": "To know channels, threads, and roles. From them, the bot knows who can read a place, and so which messages it can use there. The "
    "bot also learns when a channel is deleted or a server removes the bot. It then erases the messages from there, for a "
    "server after `COGENCY_REMOVAL_GRACE_DAYS` days.",
    "message_content": "To receive the text of messages that do not mention the bot: messages in its threads and, if a channel's managers "
    "chose `/channel ambient on`, questions in the channel. Without this intent, mentions, direct messages, and commands "
    "still work.",
}
_BY_DEFAULT: Final = "yes"
_IF_ACTING: Final = "if `COGENCY_ACT` is not `off`"
_BY_HAND: Final = "no"
# Why, and whether the link asks for it.
_PERMISSIONS_WHY: Final[Mapping[str, tuple[str, str]]] = {
    "view_channel": ("To see the channels where people mention the bot.", _BY_DEFAULT),
    "send_messages": ("To answer in the channel itself, for example if the bot cannot create a thread.", _BY_DEFAULT),
    "read_message_history": (
        "To read the thread, the message that a question replies to, and linked messages.",
        _BY_DEFAULT,
    ),
    "create_public_threads": ("To answer a mention in a thread below the message.", _BY_DEFAULT),
    "send_messages_in_threads": ("To answer in threads.", _BY_DEFAULT),
    "attach_files": ("To send files, such as charts and content that is too long for a message.", _BY_DEFAULT),
    "add_reactions": (
        "To mark a question that the bot is working on, and to react for the person who asks.",
        "with `COGENCY_DISCORD_MARKS=on`, or if `COGENCY_ACT` is not `off`",
    ),
    "pin_messages": ("To pin messages for the person who asks.", _IF_ACTING),
    "send_polls": ("To post polls for the person who asks.", _IF_ACTING),
    "create_events": ("To schedule, change, and delete events for the person who asks.", _IF_ACTING),
    "manage_threads": (
        "In help forums, to set and remove the tag of solved posts.",
        "only with `--features` that include `forums`",
    ),
    "manage_channels": (
        "To set topics, and to schedule events on a stage, for people who may do that themselves.",
        f"{_BY_HAND}, because it allows much more. Give it to the bot only in channels where it should do this",
    ),
    "connect": ("To schedule events in a voice channel for the person who asks.", _BY_HAND),
    "mute_members": ("To schedule events on a stage for the person who asks.", _BY_HAND),
    "move_members": ("To schedule events on a stage for the person who asks.", _BY_HAND),
}
_NEVER: Final = """\
The bot acts for the person who asks only if `COGENCY_ACT` is not `off`. It can delete its own answers without a permission.

On its own, the bot mentions people only in reminders that they set, and in notices about their scheduled or long tasks. A [post](acts.md) can notify people whom the asker mentions, and a [webhook](webhooks.md) can notify people whom the operator lists.
"""


def permissions_page() -> str:
    """docs/permissions.md: each right with why it is asked for, and what needs it."""
    wanted, optional = slack.scopes(slack.EVERYTHING), slack.optional_scopes(slack.EVERYTHING)
    lines = [_RIGHTS, "| Scope | Why | Feature |", "|---|---|---|"]
    for scope in each_once(wanted, _SLACK_WHY):
        feature = ", ".join(f"`{one}`" for one in sorted(slack.needing(scope))) or "always"
        also = " *Optional.*" if scope in optional else ""
        lines.append(f"| `{scope}` | {_SLACK_WHY[scope]}{also} | {feature} |")
    lines += [
        "",
        _OTHER_TOKENS,
        "If your company reviews the app, this table shows the API calls and events that need each scope:",
        "",
    ]
    lines += ["| Scope | Calls and events |", "|---|---|"]
    for scope in sorted(wanted):
        calls = [f"`{method}`" for method in slack.Method if scope in method.scopes]
        calls += [f"`{event}`" for event, needed in slack.EVENT_SCOPES.items() if needed == scope]
        lines.append(f"| `{scope}` | {', '.join(calls) or 'none: slash commands and shortcuts'} |")
    lines += ["", _DISCORD, "| Intent | Why |", "|---|---|"]
    asked = {name for name, is_wanted in intents(message_content=True) if is_wanted}
    lines += [f"| `{name}` | {_INTENTS_WHY[name]} |" for name in each_once(asked, _INTENTS_WHY)]
    scopes = "`bot`, to join a server, and `applications.commands`, for commands and entries in message menus"
    lines += ["", "## Discord: scopes and permissions", ""]
    lines += [
        f"`cogency discord invite` prints a link that adds the bot to a server. The link requests two scopes: {scopes}. The table shows which permissions it also requests:",
        "",
    ]
    lines += ["| Permission | Bit | Why | Requested by the link |", "|---|---|---|---|"]
    permissions = {**discord.PERMISSIONS, **discord.MANAGERS_GIVE}
    for name in each_once(permissions, _PERMISSIONS_WHY):
        permission = permissions[name]
        why, is_requested = _PERMISSIONS_WHY[name]
        lines.append(f"| {permission.title} | {permission.bit} | {why} | {is_requested} |")
    lines += [
        "",
        _NEVER,
        "To add the bot to a server, open this link, replacing `APPLICATION_ID` with the application's ID:",
        "",
    ]
    lines += [f"<{discord.server_link('APPLICATION_ID')}>", ""]
    lines += [
        (
            "With this link, a person adds the bot to their own account. Its commands are then available to them in every "
            "server and in direct messages:"
        ),
        "",
    ]
    lines += [f"<{discord.person_link('APPLICATION_ID')}>", ""]
    return "\n".join(lines)


def each_once(names: Iterable[str], words: Mapping[str, object]) -> list[str]:
    """The names in the order of the words. Raises ValueError where one has no words, or words have no name."""
    if unlike := {*names} ^ {*words}:
        raise ValueError(f"words without a name, or a name without words: {', '.join(sorted(unlike))}")
    return [*words]


# What is stored.


class Fate(StrEnum):
    """What forgetting does to the rows of a table."""

    ERASED = "erased"
    STAYS = "stays"
    """It contains no text that people wrote."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What people should know of a table."""

    holds: str
    kept: str
    fate: Fate = Fate.ERASED
    but: str = ""
    """What forgetting leaves, or does besides."""


_BY_AGE: Final = (
    "until it is forgotten, for example because it is deleted on the platform or older than `COGENCY_RETENTION` allows"
)
_WITH_MESSAGE: Final = "as long as its message is stored"
_WITH_TURN: Final = "as long as its question and answer are stored"
STORED: Final[Mapping[str, Mapping[str, Stored]]] = {
    "Messages": {
        "person": Stored(
            "a person who wrote to the bot, or in a thread with it: ID, name, and time zone",
            "until everything about them is forgotten",
        ),
        "conversation": Stored(
            "a thread or a direct message, with a summary if it is long", "as long as one of its messages is stored"
        ),
        "participant": Stored(
            "which people wrote in which conversation", "as long as one of their messages there is stored"
        ),
        "message": Stored(
            "each question, each answer, and other messages in threads with the bot: text, time, place, and link",
            _BY_AGE,
        ),
        "embedding": Stored(
            "the embedding vector of a message, if the bot uses an embedding model (`COGENCY_EMBEDDINGS`)",
            _WITH_MESSAGE,
        ),
    },
    "Memory": {
        "fact": Stored(
            "facts that someone stated or asked the bot to remember, rules set with `/policy`, and the facts and rules that they replaced",
            (
                "until they are forgotten or deleted with `/memory`. The bot stores at most "
                f"{FACTS_KEPT:,} facts about a person in one place"
            ),
            but="Rules set with `/policy` do not belong to a person, and stay until someone removes them",
        ),
        "fact_term": Stored("words that the bot uses to find a fact", "as long as the fact is stored"),
        "fact_ground": Stored("which facts are based on which other facts", "as long as the fact is stored"),
        "profile": Stored(
            "how much the bot has learned about a person in one place", "until everything about them is forgotten"
        ),
        "profile_entry": Stored(
            "something that the bot learned about a person",
            "until one of its source messages is forgotten, it is deleted with `/memory`, or something newer replaces it",
        ),
        "profile_source": Stored(
            "the messages from which the bot learned a profile entry", "as long as the entry is stored"
        ),
        "working_item": Stored(
            "temporary values of a conversation",
            f"for at most {WORKING_TIME.days * 24} hours, and only while the question that set them is stored",
        ),
        "preference": Stored(
            "what people, channel managers, and operators choose with commands such as `/settings`, `/model`, `/memory`, `/channel`, and `/budget`. For a channel: "
            f"its settings, such as its instructions, and the last {MAX_HISTORY} changes, without the names of the people who made them",
            "until someone changes them. A channel's settings are stored until the channel is deleted, its workspace or server has removed the bot, or an operator erases its data",
            but="A pause of learning, an opt-out from sharing, and a channel's settings stay",
        ),
    },
    "Questions and answers": {
        "turn": Stored(
            (
                "the state of each question, which process is answering it, and the IDs of the messages, facts, and documents "
                "that the answer used. When the answer ends, the bot deletes data that only the running answer needed"
            ),
            _WITH_TURN,
        ),
        "page": Stored("the platform's IDs of the messages that make up an answer", _WITH_TURN),
        "verdict": Stored("who rated an answer 👍 or 👎, and when", _WITH_TURN),
        "feedback": Stored(
            "why a person rated an answer 👎, what the answer should have been, whether they shared this with operators, and who works on it",
            _WITH_TURN,
        ),
        "handoff": Stored(
            "a request for a human: who asked, their message to people, its state, and who took over, with their names",
            _WITH_TURN,
        ),
        "handoff_message": Stored(
            "who was asked to take over a conversation, and the platform's IDs of the message", _WITH_TURN
        ),
        "poll": Stored(
            "a poll that the bot posted in Slack: its question, its options, and whether it is closed", _WITH_TURN
        ),
        "poll_vote": Stored("a person's vote in such a poll", _WITH_TURN),
        "consent": Stored("which calls an asker approved or denied, and which questions they skipped", _WITH_TURN),
        "approval": Stored(
            "who was asked to approve a call instead of the asker, what they decided, and their reason", _WITH_TURN
        ),
        "open_question": Stored("a question from a tool to the asker, and the answer", "as long as the call waits"),
        "action_record": Stored(
            "for each model call in an answer: up to 4,000 characters of the model's thoughts, its tool calls, and the "
            f"first {RESULT_CHARS:,} characters of each result",
            _WITH_TURN,
        ),
        "task_workspaces": Stored("the model's notes on a question", "until the answer ends"),
        "schedule": Stored(
            "reminders, scheduled tasks, and long tasks",
            f"until {SHOWN_FOR.days} days after they end or are canceled",
        ),
        "outgoing_webhook": Stored(
            "a webhook in the file for outgoing webhooks: its name, events, and places, and a hash of its URL",
            "as long as it is in the file",
            Fate.STAYS,
        ),
        "outgoing_delivery": Stored(
            (
                "an event that waits for the receiver of a webhook, or that could not be delivered. It contains IDs "
                "and counts, but no text that people wrote"
            ),
            f"until it is delivered. After {TRIED_FOR.total_seconds() / 3600:g} hours of failed attempts, for {FAILED_KEPT.days} more days",
        ),
        "job": Stored("a waiting background job, such as learning, indexing, or deleting", "until it is done"),
    },
    "Files from Python code": {
        "saved_file": Stored(
            "a file that Python code saved in its conversation",
            f"until no run has used it for {IDLE.days} days, or a message that it was made from is deleted",
        ),
        "saved_file_source": Stored("which messages a saved file was made from", "as long as the file is stored"),
    },
    "Documents": {
        "place": Stored(
            "a number for the ID of each channel or person with documents or shared messages", "permanently", Fate.STAYS
        ),
        "document": Stored(
            "a file or a page that someone added with `/learn` or `cogency learn`: its name and link, who added it, and when",
            "until someone removes it, or its place is deleted",
            but="Documents in channels stay, without the name of the person who added them",
        ),
        "passage": Stored("a section of a document's text", "as long as the document is stored"),
    },
    "Accounts, sessions, and processes": {
        "tool_account": Stored("encrypted tokens of people who signed in to tool servers", "until they sign out"),
        "place_key": Stored(
            "channels' own API keys, encrypted, with their last four characters, when they were entered, and when the service "
            "began to refuse them",
            "until a manager or an operator removes the key, the channel is deleted, or its workspace or server has removed the "
            "bot",
            Fate.STAYS,
            "It belongs to the channel, and does not contain the name of the person who entered the key",
        ),
        "api_token": Stored(
            "hashes of the tokens and refresh tokens of programs that ask the bot, with each token's name, person or "
            "place, scopes, budget, and times",
            "until someone revokes the token, its channel is deleted, or its workspace or server has removed the bot. Expired tokens stay listed until their owner gets a new one",
        ),
        "sign_in": Stored(
            "a sign-in in progress: who signs in, and where. The rest is encrypted",
            f"for {SIGN_IN_TIME.seconds // 60} minutes",
        ),
        "operator_session": Stored(
            "hashes and times of sessions and sign-in links for the operators' page",
            f"for {SESSION_LASTS.seconds // 3_600} hours (sessions) or {LINK_LASTS.seconds // 60} minutes (links)",
            Fate.STAYS,
        ),
        "eval_run": Stored(
            (
                "a run of `cogency eval`: the names of its file, questions, and models, and counts and costs. It "
                "contains questions and answers only with `--store-answers`"
            ),
            f"until {EVALS_KEPT} newer runs are stored",
            Fate.STAYS,
            "It contains text that people wrote if the operator put such text in the file",
        ),
        "webhook_event": Stored(
            (
                "an event that another program reported: the webhook's name, hashes of its delivery ID and its key, "
                "the ID of the message that began its thread, and its text until it is posted"
            ),
            f"for {EVENTS_KEPT.days} days. The text is stored until the event is posted, or for {GIVE_UP.days} days",
            Fate.STAYS,
            "Once the event is posted, the row contains no text. The text is then in the `message` table",
        ),
        "installation": Stored(
            "an app that a workspace installed from the bot's page: IDs, scopes, encrypted tokens, and who installed it",
            "until the workspace has removed the app and its messages are erased",
            but="If only the person who installed the app is forgotten, the row stays without that person",
        ),
        "shard_lease": Stored(
            "which process holds which connection to Discord, and the position of its session",
            "permanently",
            Fate.STAYS,
        ),
        "shard_process": Stored("the processes that share the Discord connections", "for a few seconds", Fate.STAYS),
        "shard_identify": Stored("when Discord sessions last started", "permanently", Fate.STAYS),
        "shared_rate": Stored(
            "if processes share a database: recent counts of people's messages and of calls to platforms, under hashes",
            "for a few hours",
            Fate.STAYS,
        ),
    },
    "Usage and audit": {
        "model_call": Stored(
            "a model call: tokens, cost, model, person, place, and time",
            "permanently",
            Fate.STAYS,
            (
                "The bot removes the reference to the question, and, at the end of the day, the place. The call still "
                "counts toward budgets"
            ),
        ),
        "budget_day": Stored(
            "a day on which a budget was nearly used up or was extended: whose budget, what was spent, and who decided",
            f"for {KEPT_DAYS.days} days",
            Fate.STAYS,
            "It counts toward budgets. The bot removes the name of the person who decided",
        ),
        "budget_message": Stored(
            "who got a warning or a request about a budget, and the platform's IDs of the message",
            f"for {KEPT_DAYS.days} days",
        ),
        "budget_pause": Stored("how long an answer waits for a budget", "until the answer is complete"),
        "act_count": Stored(
            "how often the bot posted, reacted, or pinned on each day, for each person and each channel",
            "permanently",
            Fate.STAYS,
            "It counts toward the limits on actions",
        ),
        "code_time": Stored(
            "how long a person's Python code ran on each day, in seconds",
            "permanently",
            Fate.STAYS,
            "It counts toward budgets",
        ),
        "tool_call": Stored(
            "the audit: each tool call with its person, place, arguments, effect, decision, time, and outcome, and "
            "[other records](security.md#the-audit), such as operators' exports and erasures",
            f"for {KEPT.days} days",
            Fate.STAYS,
            "Its person, place, and arguments are removed. In records of exports and erasures, a keyed hash replaces the person's ID",
        ),
        "erased": Stored(
            "keyed hashes of the IDs of forgotten messages and people, and of deleted memory entries. They keep the bot from storing these messages again, and let it erase the entries from a restored backup",
            "permanently",
            Fate.STAYS,
        ),
        "meta": Stored(
            "the key for the hashes of forgotten messages and people, and the state of the database",
            "permanently",
            Fate.STAYS,
        ),
    },
}
_STORED: Final = f"""\
# What is stored

This page lists every table of the database: its contents, how long the bot stores them, and what [forgetting](memory.md#forgetting) does to them. {_MADE}
See also [where the database is](operating.md#where-data-is-stored-and-sent).

Where a row is *erased*, the bot deletes it, and then checks that a search no longer finds it. SQLite also removes the bytes from the file. With
PostgreSQL, the next vacuum removes the bytes. Rows that *stay* contain no text that people wrote to the bot, unless the column says
otherwise.
"""


def stored_page() -> str:
    """docs/stored.md: all tables."""
    lines = [_STORED]
    words = {table: one for tables in STORED.values() for table, one in tables.items()}
    each_once(metadata.tables, words)
    for title, tables in STORED.items():
        lines += [f"## {title}", "", "| Table | Contents | How long | After forgetting |", "|---|---|---|---|"]
        for table, one in tables.items():
            fate = f"{one.fate}. {one.but}" if one.but else str(one.fate)
            lines.append(f"| `{table}` | {one.holds} | {one.kept} | {fate} |")
        lines.append("")
    indexes = " and ".join(f"`{name}`" for name in INDEXES)
    lines += [
        f"The full-text indexes {indexes} contain the words of messages and documents. When the bot erases a message or document, it also erases these words.",
        "To see the columns, use SQLite's `.schema` or PostgreSQL's `\\d`. See also [example queries](operating.md#inspect-a-turn-sql).",
    ]
    return "\n".join([*lines, ""])


# What is read.

_READS: Final = f"""\
# What the bot reads

The bot reads not only text, but also forwarded messages, cards from apps, files, and more. This page lists what it reads in each part of a message, and in each kind of file. {_MADE}

## Where messages are read

- **A question**: the message itself, the messages that it forwards, replies to, or links to, and, in a new conversation, the thread that it belongs to.
- **A thread with the bot**: people's messages as they arrive, with their edits. With each question, the bot rereads other apps' messages in the thread, because they may have changed. For example, an alert may be resolved.
- **Other messages**: a message for which someone chose *Ask about this message* and, if a question needs them, messages such as a channel's history or results of Slack's search.

The bot treats forwarded messages and apps' posts as quotations, not as instructions or as facts about the sender. The exception is posts by apps in
`COGENCY_ALLOWED_BOTS`, which can ask questions. If people forward messages to each other in a thread with the bot, the bot stores the forwarded messages as quotations. It forgets each quotation together with the message that contains it. Messages that a question forwards, replies to, or links to are stored only until the bot has answered.

If the bot cannot read a part, the model sees a note instead, such as "{UNREADABLE}", and can mention this in its answer.
The bot reads at most {MAX_CHARS:,} characters of a message, {MAX_CELLS:,} cells of a table, and {MAX_DEPTH} levels of nested parts. If a message exceeds one of these limits, the model sees a note.
"""

_SLACK_READS: Final = """\
## Messages in Slack

| Part | What the bot reads |
|---|---|
| Text | the whole text, with the names of users and public channels instead of their IDs. If an app's message has blocks, the bot reads the blocks instead, as Slack shows them |
| Forwarded messages | the author, text, blocks, attachments, and files, including those of messages that were forwarded inside them |
| Tables pasted from a spreadsheet | the rows, which count as the sender's own words |
| Attachments in app messages, such as alerts | the title, author, text, fields, links, buttons, footer, and blocks. The bot sees that there is a picture, but not the picture itself |
| Emails sent to a channel | the subject, sender, and text |
| Files | [their content](files.md) |
| Previews of links (unfurls) | nothing, because Slack creates previews with the permissions of the person who posted the link. If a link leads to a message that both the asker and the readers of the answer are allowed to see, the bot reads the message |
| Slack's notices ("joined the channel"), deleted messages | nothing |
"""

_DISCORD_READS: Final = """\
## Messages on Discord

| Part | What the bot reads |
|---|---|
| Text | the whole text, with names instead of IDs where the bot knows them |
| Forwarded messages | the text, embeds, components, and files. Discord does not provide the author |
| Polls | the question, answers, and votes |
| Stickers | the name |
| Files | [their content](files.md) |
| Previews of links | nothing, but the model can open the link |
| Links to messages | the message, even in an archived thread, if both the asker and the readers of the answer are allowed to see it |
| Apps' replies to commands, results of polls | the same parts as in other messages |
| Discord's notices ("joined the server") | nothing |
"""


# By kind of file: which ones, and what is read of them.
_FILE_KINDS: Final[Mapping[str, tuple[str, str]]] = {
    FileKind.TEXT: ("text, code, data, logs", "the text, in the encodings described below"),
    FileKind.HTML: (
        "HTML",
        f"the source, up to {SOURCE_CHARS:,} characters. For longer pages, the bot reads only the text (with the `office` extra)",
    ),
    FileKind.PDF: ("PDF", "the text of the pages. For details, see the next table"),
    FileKind.OFFICE: ("Word, Excel, PowerPoint, OpenDocument, EPUB", "the text. For details, see the next table"),
    FileKind.PICTURE: ("PNG, JPEG, GIF, and WebP pictures", "the picture, if the model can see pictures"),
    FileKind.SOUND: ("voice messages and audio files", "a transcript, if `COGENCY_TRANSCRIPTION` is set to a model"),
    FileKind.OTHER: (
        "archives, videos, executables, databases, other pictures",
        "nothing. The model sees a note that the bot cannot read the file",
    ),
}


def _either(labels: Iterable[str]) -> str:
    """The labels in quotation marks, with "or" before the last one."""
    *first, last = (f"“{label}”" for label in sorted({*labels}))
    return f"{', '.join(first)}, or {last}"


_FORMATS: Final = f"""\
| Format | What the bot reads | What it does not read |
|---|---|---|
| docx, docm, dotx | the text with headings, lists, tables, and links, as if all tracked changes were accepted. Below the text, the bot adds any {", ".join(word_text.BESIDE[1:-1])}, and {word_text.BESIDE[-1]} | most formatting. The bot sees how many pictures and embedded files there are, but not their content |
| xlsx, xlsm, xltx | in all sheets, the stored value of each cell (numbers in their format, such as 12.5% or $1,234.50, and dates as dates), comments, text boxes, diagrams, headers, footers, and chart titles. If a formula has no stored result, the bot reads the formula, and a note says how many such formulas there are. It reads up to {MAX_ROWS:,} rows and {MAX_COLUMNS} columns of a sheet, and a note says if there are more | macros. The bot sees how many pictures and charts there are, but not their content |
| pptx, pptm, ppsx, potx | the text of each slide's shapes, groups, tables, diagrams, charts, links, notes, and comments | animations. The bot sees how many pictures and videos there are, but not their content |
| odt, ods, odp, ott, ots, otp | the text, sheets, and slides, with links, comments, tracked deletions, footnotes, endnotes, headers, and footers | charts. The bot sees how many pictures and embedded objects there are, but not their content |
| EPUB | the text, with headings | pictures |
| PDF | the text of up to {MAX_PAGES} pages at a time, the values of form fields, and annotations, labeled as {_either(pdf_forms.NOTES.values())} | password fields. The bot sees that there are scanned pages, embedded files, or XFA forms, but not their content |
| doc, xls, ppt, xlsb, rtf, pages, numbers, key | nothing. A note says in which format to save the file | the whole file |
"""


_RECOGNIZED: Final = (
    "A file's name and type decide whether the bot downloads the file. Its first bytes then usually decide how the bot "
    "reads it, even if the name suggests something else. Some formats need the `office` extra ([Files](files.md))."
)


def _files_read() -> Iterator[str]:
    """Yield the section on files."""
    yield from ("## Files", "", _RECOGNIZED, "")
    yield from ("| Files | Maximum bytes | What the bot reads |", "|---|---|---|")
    each_once(FileKind, _FILE_KINDS)
    for kind, (files, reads) in _FILE_KINDS.items():
        limit = f"{MAX_BYTES[FileKind(kind)]:,}" if kind in MAX_BYTES else "–"
        yield f"| {files} | {limit} | {reads} |"
    yield from ("", _FORMATS)
    names = ", ".join(dict.fromkeys(text_encoding.NAMES.values()))
    yield (
        "If part of a file is damaged, the bot reads as much as it can, for example the beginning of a damaged "
        "sheet. The model sees that something is missing.\n\nThe bot decodes text by its byte order mark, as UTF-8, or in the encoding that the "
        "platform or the file declares. Otherwise, it detects the encoding from the text and tells the model which encoding it "
        "used. If the bot is not certain, it tells the model to "
        f"ask the person if letters look wrong. The bot can detect these encodings: {names}."
    )
    yield ""


def reads_page() -> str:
    """docs/reads.md: what is read of each part of a message, and of each kind of file."""
    lines = [_READS, _SLACK_READS, *_kinds("Block", slack_content.BLOCKS), *_kinds("Element", slack_content.ELEMENTS)]
    components = {_component_name(one): part for one, part in discord_content.COMPONENTS.items()}
    lines += [_DISCORD_READS, "| Embed | What the bot reads |", "|---|---|"]
    lines += [f"| `{kind}` | {read} |" for kind, read in discord_content.EMBEDS.items() if read]
    previews = ", ".join(f"`{kind}`" for kind, read in discord_content.EMBEDS.items() if not read)
    lines.append(f"| {previews} | nothing, because they are link previews |")
    return "\n".join([*lines, "", *_kinds("Component", components), *_files_read()])


def _kinds(title: str, parts: Mapping[str, slack_content.Part | discord_content.Part]) -> Iterator[str]:
    """Yield a table of the types of parts, in which those of which the same is read share a row."""
    by_words = dict[str, list[str]]()
    for kind, part in parts.items():
        by_words.setdefault(part.shows, []).append(f"`{kind}`")
    yield from (f"| {title} | What the bot reads |", "|---|---|")
    yield from (f"| {', '.join(kinds)} | {shows} |" for shows, kinds in by_words.items())
    yield ""


def _component_name(component: type) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", " ", component.__name__.removesuffix("Component")).lower()


# Metrics.

_METRICS: Final = f"""\
# Metrics

The bot serves these metrics for Prometheus ([how to turn them on](operating.md#metrics)). {_MADE} Each name begins with `cogency_`.

| Metric | Type | Labels | What it measures |
|---|---|---|---|
"""


def metrics_page() -> str:
    """docs/metrics.md: all metrics with their labels."""
    metrics = Metrics(SystemClock(), "")
    list(metrics.ages())
    rows = (
        f"| `{name}{'_total' if one.kind == 'counter' else ''}` | {one.kind} | {', '.join(f'`{label}`' for label in one.labels)} | {METRICS[name].removesuffix('.')} |\n"
        for name, one in metrics.declared.items()
    )
    return _METRICS + "".join(rows)


# Each page that is made, by its path.
PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "docs/commands.md": commands_page,
    ".env.example": lambda: example_file(all_settings()),
    "docs/settings.md": lambda: settings_page(all_settings()),
    "docs/permissions.md": permissions_page,
    "docs/stored.md": stored_page,
    "docs/reads.md": reads_page,
    "docs/metrics.md": metrics_page,
    "docs/security-tests.md": lambda: security_tests_page(_MADE),
    "docs/benchmarks.md": lambda: benchmarks_page(
        json.loads((ROOT / "docs/site/benchmarks.json").read_text(encoding="utf-8")), _MADE
    ),
    "docs/capacity.md": lambda: capacity_page(
        json.loads(MEASURED.read_text(encoding="utf-8")), json.loads(SIMULATED.read_text(encoding="utf-8")), _MADE
    ),
}

if __name__ == "__main__":
    for path, page in PAGES.items():
        (ROOT / path).write_text(page(), encoding="utf-8")
