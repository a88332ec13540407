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

from agent.ports.saved_files import IDLE
from agent.tools.remember import WORKING_TIME
from benchmarks.capacity import MEASURED, SIMULATED
from bot.app.settings import all_settings
from bot.chat.attachments import pdf_forms, text_encoding, word_text
from bot.chat.attachments.document_output import MAX_COLUMNS, MAX_ROWS
from bot.chat.attachments.kinds import FileKind
from bot.chat.attachments.reader import MAX_PAGES
from bot.chat.attachments.reading import MAX_BYTES, SOURCE_CHARS
from bot.chat.commands.declaration import CommandScope
from bot.chat.message_parts import MAX_CHARS, MAX_DEPTH, UNREADABLE
from bot.commands import COMMANDS as TERMINAL
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
from docs.site.capacity import capacity_page
from docs.site.figures import benchmarks_page
from store.all_tables import metadata
from store.schedule_store import SHOWN_FOR
from store.search.index import INDEXES
from store.tool_calls import KEPT

ROOT: Final = Path(__file__).parents[2]
_MADE: Final = "*Made from the code by `make generated`.*"


# Commands.

_COMMANDS: Final = f"""\
# Commands

In Slack, the same words work after a mention: `@cogency usage`. Slack has its own `/help`, so use `@cogency help` there. In Slack's
direct messages and in the terminal, a message that is only a command does not need a slash: `usage`, `forget everything`. Only the person who
used a command sees its answer. The terminal also has `/deep`, `/fast`, `/file`, `/threads` and `/quit`. {_MADE}
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
        rows += [f"| {_code(f'/{one.name} {words}')} | {what} | |" for words, what in one.examples.items()]
    return "\n".join([_COMMANDS, *rows, ""])


def _code(text: str) -> str:
    """Code in a table, where a bar would end the cell."""
    return f"<code>{text.replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


# Settings.

_SETTINGS: Final = f"""\
# Settings

Settings come from environment variables and from one config file: `.env` in the current folder, else
`~/.config/cogency/.env` (on Linux), or the file that `--config FILE` names. Environment variables override the file. No
setting is required. Copy lines from [.env.example](../.env.example). {_MADE}

A setting marked *secret* can be in a separate file (`OPENAI_API_KEY_FILE=/run/secrets/openai`) or in the system's keychain
(`OPENAI_API_KEY=keyring`). A value with braces is one line of JSON.
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
    return re.sub(r"\bdocs/(\w+)\.md", r"[\1.md](\1.md)", says).replace("<", "&lt;")


# Rights on the platforms.

_RIGHTS: Final = f"""\
# Permissions

This page lists what the bot needs in Slack and Discord, and why. {_MADE} `cogency doctor` says which of them your app lacks.

## Slack: scopes of the bot's token

The manifest that `cogency slack manifest` prints contains these scopes; `--features` leaves out features with their scopes. *Always*: every
feature needs the scope. *Optional*: an admin can uncheck it during the installation.
"""
_SLACK_WHY: Final[Mapping[str, str]] = {
    "app_mentions:read": "To receive mentions in channels.",
    "assistant:write": "To suggest questions in direct messages, and to know what the asker is viewing.",
    "channels:history": "To follow the bot's threads in public channels, with edits and deletions, to read a public "
    "channel when a question needs it, and to receive open questions if a channel's managers chose `/channel ambient "
    "on`.",
    "channels:read": "To know which public channels the bot is in, and who can read them. This decides what the bot "
    "can say there.",
    "chat:write": "To post answers, to extend them while the model writes, and to delete the bot's own messages.",
    "commands": "To offer slash commands, and shortcuts in the menus of messages.",
    "files:read": "To read files that are attached to a question.",
    "files:write": "To send long content as a file, and to delete the file with the answer.",
    "groups:history": "The same as `channels:history`, for private channels that the bot was invited to.",
    "groups:read": "The same as `channels:read`, for private channels that the bot was invited to.",
    "im:history": "To read people's direct messages to the bot.",
    "im:read": "After an outage, to find direct messages from people who had not written to the bot before.",
    "im:write": "To send reminders and private notices to people who never wrote to the bot.",
    "mpim:history": "The same as `channels:history`, for group direct messages that the bot is in.",
    "mpim:read": "The same as `channels:read`, for group direct messages that the bot is in.",
    "reactions:read": "To receive 👍 and 👎 on the bot's answers as feedback, and 🗑 to delete an answer.",
    "reactions:write": "To mark questions that the bot is working on, if `COGENCY_SLACK_MARKS` is on.",
    "search:read.files": "To use Slack's own search of files in public channels, when a question needs it.",
    "search:read.public": "To use Slack's own search of messages in public channels, when a question needs it.",
    "search:read.users": "To use Slack's own search of people, when a question needs it.",
    "usergroups:read": "To know who is in the user groups that the settings list as managers or roles.",
    "users:read": "To know a person's name and time zone, and whether they are an admin, a member or a guest. This "
    "decides who can ask, and what they can see.",
}
_OTHER_TOKENS: Final = """\
Two other tokens have one scope each. Socket Mode's app-level token has `connections:write`, to open the connection. The configuration token has `app_configurations:read`. Only `cogency doctor` uses it, to compare the app with its manifest.
"""
_DISCORD: Final = """\
## Discord: intents

Intents control what Discord sends to the bot. Only `message_content` has to be switched on in the developer portal, as *Message Content Intent*.
"""
_INTENTS_WHY: Final[Mapping[str, str]] = {
    "dm_messages": "Direct messages, with their edits and deletions.",
    "dm_reactions": "👍, 👎 or 🗑 on the bot's answers in direct messages.",
    "guild_messages": "Mentions in channels and messages in the bot's threads, with their edits and deletions, which "
    "waiting questions and memories follow.",
    "guild_reactions": "👍, 👎 or 🗑 on the bot's answers: feedback, or a request to delete an answer.",
    "guilds": "Channels, threads and roles, which show who can read a place and therefore what the bot can say there. "
    "The bot erases the messages of a deleted channel, and a server's messages some time after the server removed the "
    "bot.",
    "message_content": "The text of messages in the bot's threads that do not mention it, and of open questions if a "
    "channel's managers chose `/channel ambient on`. Without this intent, mentions, direct messages and commands still "
    "work.",
}
_PERMISSIONS_WHY: Final[Mapping[str, str]] = {
    "view_channel": "To see the channels where people mention the bot.",
    "send_messages": "To answer in the channel, even if the bot cannot create a thread.",
    "read_message_history": "To read the thread, the message that a question replies to, and linked messages.",
    "create_public_threads": "To answer a mention in a thread under its message.",
    "send_messages_in_threads": "To answer in threads.",
    "attach_files": "To send content that is too long for a message as a file.",
    "add_reactions": (
        "With `COGENCY_DISCORD_MARKS=on`, to mark a question that the bot is working on. Without this setting, the "
        "invite link does not request this permission."
    ),
}
_NEVER: Final = """\
The bot does not need a permission to delete its own answers. Its messages do not mention anyone except the person it reminds.
"""


def permissions_page() -> str:
    """docs/permissions.md: each right with why it is asked for, and what needs it."""
    wanted, optional = slack.scopes(slack.EVERYTHING), slack.optional_scopes(slack.EVERYTHING)
    lines = [_RIGHTS, "| Scope | Why | Feature |", "|---|---|---|"]
    for scope in each_once(wanted, _SLACK_WHY):
        feature = ", ".join(f"`{one}`" for one in sorted(slack.needing(scope))) or "always"
        also = " *Optional.*" if scope in optional else ""
        lines.append(f"| `{scope}` | {_SLACK_WHY[scope]}{also} | {feature} |")
    lines += ["", _OTHER_TOKENS, "For a review of the app, the calls and events that need each scope:", ""]
    lines += ["| Scope | Calls and events |", "|---|---|"]
    for scope in sorted(wanted):
        calls = [f"`{method}`" for method in slack.Method if scope in method.scopes]
        calls += [f"`{event}`" for event, needed in slack.EVENT_SCOPES.items() if needed == scope]
        lines.append(f"| `{scope}` | {', '.join(calls) or 'none: slash commands and shortcuts'} |")
    lines += ["", _DISCORD, "| Intent | Why |", "|---|---|"]
    asked = {name for name, is_wanted in intents(message_content=True) if is_wanted}
    lines += [f"| `{name}` | {_INTENTS_WHY[name]} |" for name in each_once(asked, _INTENTS_WHY)]
    scopes = "`bot` (to join a server) and `applications.commands` (commands, and entries in the menus of messages)"
    lines += ["", "## Discord: scopes and permissions", ""]
    lines += [
        f"The link that `cogency discord invite` prints asks for the scopes {scopes}, and for these permissions:",
        "",
    ]
    lines += ["| Permission | Bit | Why |", "|---|---|---|"]
    for name in each_once(discord.PERMISSIONS, _PERMISSIONS_WHY):
        permission = discord.PERMISSIONS[name]
        lines.append(f"| {permission.title} | {permission.bit} | {_PERMISSIONS_WHY[name]} |")
    lines += ["", _NEVER, "Replace `APPLICATION_ID` with the application's ID. The link for a server:", ""]
    lines += [f"<{discord.server_link('APPLICATION_ID')}>", ""]
    lines += [
        (
            "The link for a person's own account, which makes the commands available in every server and in direct "
            "messages:"
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
    """What stays holds nobody's words."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What people should know of a table."""

    holds: str
    kept: str
    fate: Fate = Fate.ERASED
    but: str = ""
    """What forgetting leaves, or does besides."""


_BY_AGE: Final = "until it is forgotten, deleted in the platform, or older than `COGENCY_RETENTION` allows"
_WITH_MESSAGE: Final = "as long as its message"
_WITH_TURN: Final = "as long as its question and answer"
STORED: Final[Mapping[str, Mapping[str, Stored]]] = {
    "Messages": {
        "person": Stored("who wrote to the bot: id, name, time zone", "until everything about them is forgotten"),
        "conversation": Stored("a thread or a direct message, and the summary of what was said in it", _WITH_MESSAGE),
        "participant": Stored("who wrote in which conversation", "as long as one of their messages there"),
        "message": Stored("each question and each answer: its words, when, where, and a link to it", _BY_AGE),
        "embedding": Stored("the vector of a message, if `COGENCY_EMBEDDINGS` is set", _WITH_MESSAGE),
    },
    "Memory": {
        "fact": Stored(
            "what someone stated or asked the bot to remember, rules of `/policy`, and what these replaced",
            "until it is forgotten or deleted with `/memory`; at most 2,000 about a person in one place",
            but="rules of `/policy` do not belong to a person, and stay until they are removed",
        ),
        "fact_term": Stored("words for finding a fact", "as long as the fact"),
        "fact_ground": Stored("which fact is based on which", "as long as the fact"),
        "profile": Stored(
            "how much the bot learned about a person in one place", "until everything about them is forgotten"
        ),
        "profile_entry": Stored(
            "what the bot learned about a person", "until one of the entry's source messages is forgotten"
        ),
        "profile_source": Stored("the messages from which the bot learned it", "as long as the entry"),
        "working_item": Stored(
            "temporary values of a conversation",
            f"{WORKING_TIME.days * 24} hours at most, and no longer than its question",
        ),
        "preference": Stored(
            "what people chose with `/settings`, `/model`, `/memory` and `/knowledge`, and what managers chose for a channel "
            "with `/channel`: instructions, who can ask, the last 30 changes without their authors",
            "until it is changed; what was chosen for a channel until the channel is deleted or the bot leaves it",
            but="a pause of learning, an opt-out from sharing, and what was chosen for a channel stay",
        ),
    },
    "Questions and answers": {
        "turn": Stored(
            (
                "each question's state, and which process answers it. Data that only the running answer needs is "
                "deleted at its end"
            ),
            _WITH_TURN,
        ),
        "page": Stored("the platform's ids of the messages that an answer consists of", _WITH_TURN),
        "verdict": Stored("👍 and 👎", _WITH_TURN),
        "consent": Stored("what an asker approved or denied", _WITH_TURN),
        "open_question": Stored("what a tool asks its asker, and what they say", "as long as the call waits"),
        "action_record": Stored(
            "the model's tool calls in an answer, and their results (1,000 characters)", _WITH_TURN
        ),
        "task_workspaces": Stored("the model's notes on a running task", "as long as the task runs"),
        "schedule": Stored(
            "reminders, scheduled tasks and long work",
            f"until they are canceled or over, and {SHOWN_FOR.days} days",
        ),
        "job": Stored("waiting background work: learning, indexing, deleting", "until it is done"),
    },
    "Files of code": {
        "saved_file": Stored(
            "a complete file that code saved in its conversation",
            f"until no run has used it for {IDLE.days} days, and no longer than each message that it was made from",
        ),
        "saved_file_source": Stored("the messages that a saved file was made from", "as long as the file"),
    },
    "Documents": {
        "place": Stored(
            "the ID and a number for each channel or person that has documents or shares messages",
            "always",
            Fate.STAYS,
            "no words",
        ),
        "document": Stored(
            "a file or a page that someone added with `/learn` or `cogency learn`: its name, link, who added it, when",
            "until it is removed, or its place is deleted",
            but="documents of a channel stay, without the name of the person who added them",
        ),
        "passage": Stored("a document's text, in pieces", "as long as the document"),
    },
    "Accounts, sessions and processes": {
        "tool_account": Stored("tokens of people who signed in, encrypted", "until they sign out"),
        "sign_in": Stored("a sign-in in progress, encrypted", "ten minutes"),
        "operator_session": Stored(
            "hashes of the sessions and links of the operators' page, and their times",
            "twelve hours; a link ten minutes",
            Fate.STAYS,
            "nobody's name or words",
        ),
        "installation": Stored(
            "an app that a workspace installed from the bot's page: ids, scopes, encrypted tokens, who installed it",
            "until the workspace has removed it, and its messages are erased",
            but="it stays, without who installed it",
        ),
        "shard_lease": Stored(
            "which process holds which connection to Discord, and where its session is",
            "always",
            Fate.STAYS,
            "nobody's words",
        ),
        "shard_process": Stored(
            "the processes that share the connections to Discord", "seconds", Fate.STAYS, "nobody's words"
        ),
        "shard_identify": Stored("when sessions with Discord last began", "always", Fate.STAYS, "nobody's words"),
        "shared_rate": Stored(
            "recent counts of people's messages and of calls to platforms, under a hash, if processes share a database",
            "hours",
            Fate.STAYS,
            "nobody's name or words",
        ),
    },
    "Usage and audit": {
        "model_call": Stored(
            "a model call: tokens, cost, model, person, day",
            "always",
            Fate.STAYS,
            "without its question, and after its day without its place; it still counts toward budgets",
        ),
        "code_time": Stored(
            "how many seconds of Python code ran for a person on a day",
            "always",
            Fate.STAYS,
            "it counts toward budgets",
        ),
        "tool_call": Stored(
            "the audit: each tool call, with arguments, effect, decision, time and outcome; exports and erasures by "
            "operators",
            f"{KEPT.days} days",
            Fate.STAYS,
            "without person, place and arguments; in what operators did about a person, with a keyed hash instead of their id",
        ),
        "erased": Stored(
            "keyed hashes of the ids of forgotten messages, so that none is stored again, and of forgotten people",
            "always",
            Fate.STAYS,
            "no words",
        ),
        "meta": Stored("the key for hashes, and the database's own state", "always", Fate.STAYS, "no words"),
    },
}
_STORED: Final = f"""\
# What is stored

This page lists every table of the database: what it contains, for how long, and what `/forget` does to it. {_MADE}
See also [where the database is](operating.md#where-data-is-stored-and-sent) and [how forgetting works](memory.md#forgetting).

*Erased* means that the row is deleted (with SQLite, also its bytes in the file) and that a search for it found nothing. With PostgreSQL, the
next vacuum removes the bytes.
"""


def stored_page() -> str:
    """docs/stored.md: all tables."""
    lines = [_STORED]
    words = {table: one for tables in STORED.values() for table, one in tables.items()}
    each_once(metadata.tables, words)
    for title, tables in STORED.items():
        lines += [f"## {title}", "", "| Table | Contents | Stored | When it is forgotten |", "|---|---|---|---|"]
        for table, one in tables.items():
            fate = f"{one.fate}; {one.but}" if one.but else str(one.fate)
            lines.append(f"| `{table}` | {one.holds} | {one.kept} | {fate} |")
        lines.append("")
    indexes = " and ".join(f"`{name}`" for name in INDEXES)
    lines += [
        f"The full-text indexes {indexes} contain the words of messages and documents, and are erased with them.",
        "To see the columns, use SQLite's `.schema` or PostgreSQL's `\\d`. See also [some queries](operating.md#inspect-a-turn-sql).",
    ]
    return "\n".join([*lines, ""])


# What is read.

_READS: Final = f"""\
# What the bot reads

The bot reads the text of everything that a person sees in a message. This page says what it reads of each part and what it does not read. {_MADE}

## Where messages are read

- **A question**: the message itself, what it forwards, replies to and links to, and the thread in which a conversation with the bot starts.
- **A thread with the bot**: people's messages as they arrive, with their edits. With each question, the bot reads again what other apps wrote there, such as an alert that was resolved.
- **A channel's history**, when a question needs it; Slack's search; and the message that *Ask about this message* is about.

Forwarded messages and posts by apps are quotes. They are never instructions to the bot or facts about the sender. (Only apps in
`COGENCY_ALLOWED_BOTS` can ask questions.) In a thread with several people, a forwarded message is stored as a quotation and forgotten with its message. Content that came with a question is stored only until the bot has answered.

If the bot cannot read a part, one line says so, so that the answer can mention it: "{UNREADABLE}".
The bot reads at most {MAX_CHARS:,} characters of a message, {MAX_CELLS:,} cells of a table, and {MAX_DEPTH} levels of nested parts. One line says what was left out.
"""

_SLACK_READS: Final = """\
## Messages in Slack

| Part | What the bot reads |
|---|---|
| Text | all of it, with names instead of IDs; for an app's message with blocks, the blocks, as Slack shows them |
| Forwarded messages | their author, words, blocks, attachments and files, including those of messages forwarded in them |
| Tables pasted from a spreadsheet | their rows, as the sender's words |
| Attachments of apps (alerts) | title, author, text, fields, links, buttons, footer and blocks; and that there is a picture, but not the picture itself |
| Emails sent to a channel | subject, sender and text |
| Files | [their content](files.md) |
| Previews of links (unfurls) | nothing: Slack creates them for the person who posted the link. The bot follows links to messages that the asker can read |
| Slack's notices ("joined the channel"), deleted messages | nothing |
"""

_DISCORD_READS: Final = """\
## Messages on Discord

| Part | What the bot reads |
|---|---|
| Text | all of it, with names instead of IDs |
| Forwarded messages | their words, embeds, components and files; Discord does not name their author |
| Polls | question, answers and votes |
| Stickers | their name |
| Files | [their content](files.md) |
| Previews of links | nothing; the model can open the link |
| Links to messages | the message, even in an archived thread, if the asker can read it |
| Replies of apps to commands, results of polls | like other messages |
| Discord's notices ("joined the server") | nothing |
"""


# By kind of file: which ones, and what is read of them.
_FILE_KINDS: Final[Mapping[str, tuple[str, str]]] = {
    FileKind.TEXT: ("text, code, data, logs", "the full text, in the encodings listed below"),
    FileKind.HTML: ("HTML", f"its source up to {SOURCE_CHARS:,} characters, or the words of a longer page"),
    FileKind.PDF: ("PDF", "the text of its pages, and what the table below says"),
    FileKind.OFFICE: ("Word, Excel, PowerPoint, OpenDocument, EPUB", "what the table below says"),
    FileKind.PICTURE: ("pictures", "the picture, if the model can see pictures"),
    FileKind.SOUND: ("voice messages and sounds", "their words, if `COGENCY_TRANSCRIPTION` names a model"),
    FileKind.OTHER: ("archives, films, programs, databases", "one line that says that they cannot be read"),
}

_FORMATS: Final = f"""\
| Format | What the bot reads | What it does not read |
|---|---|---|
| docx, docm, dotx | text with headings, lists, tables and links, as if all tracked changes were accepted; then any {", ".join(word_text.BESIDE[1:])} | pictures, charts and embedded files (the bot only sees how many there are); formatting |
| xlsx, xlsm, xltx | the cells of all sheets as they are stored, dates as dates; formulas without a stored result, as formulas (the bot sees how many there are); comments and text boxes; {MAX_ROWS:,} rows and {MAX_COLUMNS} columns of a sheet, with a line if there are more | pictures and charts (the bot only sees how many there are); number formats, macros |
| pptx, pptm, ppsx, potx | each slide's shapes, groups, tables, diagrams, charts, notes and comments | pictures and films (the bot only sees how many there are); animations |
| odt, ods, odp, ott, ots, otp | text, sheets and slides; comments, tracked deletions, headers and footers | pictures (the bot only sees how many there are); charts |
| EPUB | text, with headings | pictures |
| PDF | text of up to {MAX_PAGES} pages at once; the values of form fields, and what people wrote on the pages: {", ".join(sorted(set(pdf_forms.NOTES.values())))} | scanned pages, embedded files and XFA forms (the bot sees that they are there); fields with passwords |
| doc, xls, ppt, xlsb, rtf, pages, numbers, key | nothing: a line says in which format to save them | everything |
"""


def _files_read() -> Iterator[str]:
    """Yield the section on files."""
    yield from ("## Files", "", "The bot recognizes a file by its first bytes, not by its name.", "")
    yield from ("| Files | Bytes at most | What the bot reads |", "|---|---|---|")
    each_once(FileKind, _FILE_KINDS)
    for kind, (files, reads) in _FILE_KINDS.items():
        limit = f"{MAX_BYTES[FileKind(kind)]:,}" if kind in MAX_BYTES else "–"
        yield f"| {files} | {limit} | {reads} |"
    yield from ("", _FORMATS)
    names = ", ".join(dict.fromkeys(text_encoding.NAMES.values()))
    yield (
        "If part of a file is damaged, the bot reads the rest where it can: of a damaged sheet, for example, the "
        "beginning. The model sees that something is missing. The bot decodes text according to its byte order mark, as UTF-8, or as the "
        "platform or page declares. Otherwise, it detects the encoding from the text and tells the model which one it "
        "is. If it is not certain, it asks the model to "
        f"check with the person. Recognized encodings: {names}."
    )
    yield ""


def reads_page() -> str:
    """docs/reads.md: what is read of each part of a message, and of each kind of file."""
    lines = [_READS, _SLACK_READS, *_kinds("Block", slack_content.BLOCKS), *_kinds("Element", slack_content.ELEMENTS)]
    components = {_component_name(one): part for one, part in discord_content.COMPONENTS.items()}
    lines += [_DISCORD_READS, "| Embed | What the bot reads |", "|---|---|"]
    lines += [
        f"| `{kind}` | {read or 'nothing: the preview of a link'} |" for kind, read in discord_content.EMBEDS.items()
    ]
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


# Each page that is made, by its path.
PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "docs/commands.md": commands_page,
    ".env.example": lambda: example_file(all_settings()),
    "docs/settings.md": lambda: settings_page(all_settings()),
    "docs/permissions.md": permissions_page,
    "docs/stored.md": stored_page,
    "docs/reads.md": reads_page,
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
