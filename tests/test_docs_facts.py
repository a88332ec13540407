"""What the pages say in numbers is what the code does: each sentence here is made of the constant that decides it.

Whoever changes such a constant reads here which sentences of which page to change.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Final

import pytest

import agent.memory.documents as document_limits
import agent.texts as agent_texts
import bot.acts.service as acting
import bot.acts.texts as act_texts
import bot.acts.tools as act_tools
import bot.api.mcp_server.http as mcp_http
import bot.api.mcp_server.texts as mcp_texts
import bot.api.tokens as api_tokens
import bot.api.wire as api_wire
import bot.app.texts as app_texts
import bot.channels.rules as channel_rules
import bot.channels.service as channel_service
import bot.channels.texts as channel_texts
import bot.chat.attachments.reader as file_reader
import bot.chat.attachments.reading as file_reading
import bot.knowledge.pages as knowledge_pages
import bot.knowledge.service as knowledge_service
import bot.knowledge.texts as knowledge_texts
import bot.memory.texts as memory_texts
import bot.operators.pages.evals as eval_page
import bot.operators.service as operator_service
import bot.operators.texts as operator_texts
import bot.platforms.discord.channel_history as discord_history
import bot.platforms.discord.checks as discord_checks
import bot.platforms.discord.forums as discord_forums
import bot.platforms.discord.rest as discord_rest
import bot.platforms.play.requests as play_requests
import bot.platforms.play.run as play_run
import bot.platforms.slack.channel_history as slack_history
import bot.platforms.slack.charts as slack_charts
import bot.platforms.slack.installed as slack_installed
import bot.platforms.slack.installing as slack_installing
import bot.platforms.slack.revocation as slack_revocation
import bot.platforms.slack.tables as slack_tables
import bot.platforms.texts as platform_texts
import bot.python.conversation_files as code_files
import bot.python.tool as python_tool
import bot.schedules.texts as schedule_texts
import bot.setup.operator_doctor as doctor
import bot.setup.texts as setup_texts
import bot.tools.mcp.listing as mcp_listing
import bot.tools.mcp.source as mcp_source
import bot.tools.mcp.transport as mcp_transport
import bot.tools.questions as tool_questions
import bot.tools.texts as tool_texts
import bot.webhooks.config as hook_config
import bot.webhooks.texts as webhook_texts
import store.search.text as search_text
from agent import addresses, asking, budget_days, consents, eval_runs, handoffs, presentations, tool_policy
from agent.context import RESULT_CHARS
from agent.hooks import masking, running
from agent.hooks import thread as hook_thread
from agent.inner_calls import MAX_INNER_SENDS
from agent.memory import review
from agent.memory.doubts import KNOWN_PAIRS
from agent.memory.facts import FACTS_KEPT
from agent.memory.review import MAX_OFFERED
from agent.messages import MAX_FILES
from agent.ports import saved_files
from agent.providers.faults import RetryPolicy
from agent.providers.key_pool import SET_ASIDE_S
from agent.providers.keys import SHOWN_CHARS
from agent.schedules import long_work, times
from agent.spending import NANO
from agent.toolbox.tool_search import MAX_SCHEMA_TOKENS
from agent.tools import functions, recall, skill
from agent.tools.read_channel import ChannelLimits
from benchmarks.house_code import ROOT
from benchmarks.tokens import prefix_tokens
from bot.api import http_api, posting
from bot.api.mcp_server import client_documents
from bot.api.mcp_server.token_user import CALLS_A_MINUTE
from bot.app import mcp_stdio
from bot.app.platforms import SHARE_AT_WORK
from bot.app.settings import all_settings
from bot.app.subject_requests import CONFIRM_WITHIN
from bot.channels import ambient, ambient_state
from bot.channels.ambient_state import COOL_DOWN
from bot.chat import http_routes, replicas
from bot.chat.access import connected_accounts
from bot.chat.attachments import document_output
from bot.chat.audit import MAX_ARGUMENTS, SHOWN_IN_HOME
from bot.chat.caches import MAX_AGE_S
from bot.chat.connections import MAX_RETRY_S
from bot.chat.exit_codes import Exit
from bot.chat.findings import MAX_SKEW, SKEW
from bot.chat.network.guard import WEB_PORTS
from bot.chat.one_time_codes import CODE_TIME
from bot.chat.rates import TAKEN_S
from bot.chat.reply import attached_files
from bot.chat.texts import replies
from bot.evals import exam_file
from bot.evals import texts as eval_texts
from bot.evals.starter import starter_text
from bot.knowledge import digest, unanswered
from bot.memory.export import MESSAGES_BYTES
from bot.memory.learning import LearningLimits
from bot.memory.service import UNDO
from bot.models.check import PROBES
from bot.models.checked import USABLE
from bot.operators.health import SILENT_S
from bot.operators.metrics import MAX_NAMES
from bot.platforms.discord import shards
from bot.platforms.slack.asking import MAX_AGE
from bot.python.engine import RunLimits
from bot.recovery import service as lost
from bot.schedules import scheduler
from bot.settings.declaration import Setting
from bot.tools.accounts import sign_in
from bot.tools.mcp.people import PeopleLimits
from bot.tools.mcp.server import McpLimits
from bot.web import fetch_tool, search_engines
from bot.web.fetching import FetchLimits
from bot.web.link_reader import LINK_LIMITS
from bot.webhooks import dispatcher, signatures
from docs.site.reference import PAGES
from store import engine, schedule_store
from store.databases import postgresql, replica
from store.migrations import INDEX_S
from store.search import hnsw, passages
from store.tool_calls import KEPT as AUDIT_KEPT

WORDS: Final = re.findall(
    r"\w+",
    "no one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty",
)
WORDS_OF_TENS: Final[Mapping[int, str]] = {30: "thirty", 60: "sixty", 100: "a hundred"}
RUN, PEOPLE, SERVER, FETCH = RunLimits(), PeopleLimits(), McpLimits(), FetchLimits()


STARTERS: Final = len(re.findall(r"^  - name: ", starter_text(), re.MULTILINE))
FETCHES_A_DAY: Final = knowledge_pages.MAX_FETCHES * (timedelta(days=1) // knowledge_pages.LOOK_INTERVAL)


def words(number: float) -> str:
    """As a page writes a small number."""
    assert number == int(number)
    return WORDS[int(number)] if number < len(WORDS) else WORDS_OF_TENS[int(number)]


def mb(count: float) -> str:
    """Bytes, as a page writes them: 1 MB is a million, and 1024 * 1024 is called that, too."""
    return f"{round(count / 1_000_000):,} MB"


def minutes(time: timedelta) -> float:
    return time.total_seconds() / 60


def hours(time: timedelta) -> float:
    return time.total_seconds() / 3_600


def stated(actual: float, expected: float, sentence: str) -> str:
    """A sentence that says `expected` in other words than a number: "half an hour"."""
    return sentence if actual == expected else f"{sentence} (not {expected:g}, but {actual:g})"


def most_tools_in_full() -> int:
    """The most tools of the benchmark whose schemas the model sees."""
    return max(n for n in range(30) if prefix_tokens(n) == prefix_tokens(n, listed=False))


def default_of(name: str) -> float:
    (declared,) = (setting for setting in all_settings() if setting.name == name)
    assert isinstance(declared, Setting)
    assert isinstance(declared.default, int | float)
    return declared.default


FACTS: Final[Mapping[str, tuple[str, ...]]] = {
    "postgresql": (
        f"| One statement | {postgresql.STATEMENT_S:g} s |",
        f"| Waiting for another process to finish writing | {postgresql.LOCK_S:g} s |",
        f"| An idle transaction | {postgresql.IDLE_S:g} s |",
        f"| Waiting for a lock on a table in a migration | {engine.TABLE_S:g} s |",
        f"| One index in a migration | {INDEX_S / 3_600:g} h |",
        f"| The vector index | {hnsw.BUILD_S / 3_600:g} h |",
        f"PostgreSQL ({engine.OLDEST_POSTGRESQL} or later",
        # One more listens for notifications.
        f"needs up to {words(postgresql.POOL + postgresql.POOL_ASIDE + 1)} connections",
        f"there are {hnsw.LEAST_ROWS:,} vectors",
        f"pgvector {'.'.join(map(str, hnsw.OLDEST_PGVECTOR))} or later",
        f"up to {hnsw.BUILD_MB[1] / 1_024:g} GB of the server's memory",
        f"more than about {replica.CHECKS * replica.CHECK_S * 1_000:g} ms behind",
        f"needs more than {words(replica.SEARCH_S)} seconds",
        f"the bot waits for it for about {lost.SETTLE_S:g} seconds",
        f"After {lost.SETTLE_S:g} seconds, the bot reads the platforms' histories",
    ),
    "troubleshooting": (f"[up to {words(postgresql.POOL + postgresql.POOL_ASIDE + 1)}](",),
    "memory": (
        f"at most {FACTS_KEPT:,} facts about you",
        f"For {words(minutes(UNDO))} minute, you can restore the entry",
        f"show up to {words(MAX_OFFERED)} entries",
        f"gets {words(len(KNOWN_PAIRS))} examples",
        stated(LearningLimits().asked, 3, "at most twice more"),
        stated(review.UNUSED.days, 184, "not used for half a year"),
        f"up to {document_limits.MAX_CHARS:,} characters and {file_reading.MAX_DOCUMENT_PAGES:,} pages",
        f"at most {file_reading.DOCUMENT_S:g} seconds reading it",
        f"up to {passages.DOCUMENTS_MOST:,} documents and {passages.PASSAGES_MOST:,} passages",
        f"A web page can be up to {mb(LINK_LIMITS.text_bytes)}",
        f"a PDF or Office file on the web up to {mb(LINK_LIMITS.file_bytes)}",
        f"about {document_limits.PASSAGE_CHARS:,} characters",
        f"up to {words(knowledge_service.MAX_FILES)} files and links at once",
        f"about {FETCHES_A_DAY // 100 * 100:,.0f} pages",
        stated(MAX_AGE_S, 60, "within a minute after you leave the channel"),
    ),
    "access": (
        stated(SHARE_AT_WORK, 4, "a quarter of `COGENCY_MAX_RUNNING`"),
        f"{long_work.MAX_AT_WORK} for one person, {default_of('COGENCY_MAX_RUNNING') / SHARE_AT_WORK:g} in one process",
        f"**At {default_of('COGENCY_BUDGET_WARNING_PERCENT')}%**",
        f"it rises by {default_of('COGENCY_BUDGET_EXTENSION_PERCENT')}% until midnight UTC",
        f"nobody decides within {words(hours(budget_days.WAIT))} hours",
        f"within {words(hours(budget_days.WAIT))} hours, the bot finishes the answer with what it has found so far",
        f"up to {channel_rules.MAX_INSTRUCTIONS:,} characters",
        f"the last {channel_service.MAX_HISTORY} changes",
        f"It waits {words(ambient.WAIT_S)} seconds",
        f"the bot makes at most {words(ambient_state.EXAMINED_PER_ANSWER)} checks",
        f"at least {words(minutes(COOL_DOWN))} minutes apart",
        f"in the channel for {hours(ambient_state.QUIET):g} hours",
    ),
    "operating": (
        f"at least every {words(MAX_RETRY_S / 60)} minutes",
        f"up to {hours(MAX_AGE):g} hours back",
        stated(scheduler.GIVE_UP.days, 7, "retries for a week"),
        stated(minutes(scheduler.LONGEST_RETRY), 30, "at least every half hour"),
        stated(minutes(scheduler.JUMP), 1, "jumps ahead by more than a minute"),
        f"in the last {SILENT_S:g} s",
        f"more than {words(MAX_NAMES)} values",
        f"within {words(minutes(operator_service.LINK_LASTS))} minutes",
        stated(minutes(operator_service.SESSION_IDLE), 30, "ends after half an hour of inactivity"),
        f"after {words(hours(operator_service.SESSION_LASTS))} hours at the latest",
        stated(CONFIRM_WITHIN.days, 1, "Within a day, another operator"),
        f"up to {words(TAKEN_S)} seconds, they may still send a few edits",
        (
            f"({words(replicas.PATIENCE_S)} second for people's rate limits, "
            f"{words(replicas.CALLS_PATIENCE_S)} for Slack's)"
        ),
        f"counts separately for {words(replicas.ALONE_S)} seconds",
    ),
    "files": (
        f"HTML of more than {file_reading.SOURCE_CHARS:,} characters",
        f"up to {words(file_reading.MAX_PICTURES)} images and {words(file_reading.MAX_FILES)} other files",
        stated(file_reading.READ_S, 60, "for at most a minute"),
        f"{file_reader.CPU_S:g} seconds of CPU time, {file_reader.SECONDS:g} seconds in total",
        f"{file_reader.MEMORY_BYTES >> 20} MB of memory",
        f"at most {mb(document_output.MAX_UNPACKED)} of text",
        f"the first {mb(file_reading.WHOLE_BYTES)}",
        f"the first {file_reader.MAX_CHARS:,} characters",
        f"the first {RESULT_CHARS:,} characters of what a tool returns",
        f"more than {words(attached_files.LONG_LINES)} lines",
        f"more than {words(attached_files.LONG_LINES)} rows",
        f"more than {words(attached_files.MAX_PAGES)} messages",
        f"up to {words(presentations.MAX_QUESTIONS)} buttons",
    ),
    "schedules": (
        f"(at least {words(minutes(times.MIN_INTERVAL))} minutes apart)",
        stated(times.DEFAULT_DURATION.days, 180, "run for six months"),
        f"{words(times.LAPSE_NOTICE.days // 7).capitalize()} weeks before the end",
        f"the next {words(times.SHOWN_TIMES)} times",
        (
            f"up to {schedule_store.MAX_OF_PERSON} reminders and tasks, and a channel up to "
            f"{schedule_store.MAX_IN_CHANNEL}"
        ),
        f"after {long_work.WORK_ROUNDS} rounds of calls, after {minutes(long_work.WORK_TIME):g} minutes",
        f"read {long_work.WORK_CHARS:,} characters",
    ),
    "handoff": (
        f"ask {words(handoffs.MAX_A_DAY)} times in 24 hours",
        stated(hours(handoffs.REMIND_AFTER), 1, "within an hour | reminds"),
        f"within {handoffs.OPEN_FOR.days} days",
        f"within {handoffs.TAKEN_FOR.days} days",
    ),
    "approvals": (
        f"more than {tool_policy.MAX_SHOWN:,} characters",
        stated(consents.CONSENT_TIME.days, 1, "**How long the bot waits**: for a day,"),
        f"at most {words(asking.MAX_QUESTIONS)} for each answer",
        f"up to {words(asking.MAX_OPTIONS)} options",
    ),
    "tool-policy": (
        f"up to {words(consents.MAX_APPROVERS)} people",
        f"(up to {consents.MAX_REASON_CHARS} characters)",
        f"{words(hours(consents.REMIND_BEFORE)).capitalize()} hours before that",
    ),
    "web": (
        f"Text can be up to {mb(FETCH.text_bytes)}",
        f"a PDF up to {mb(FETCH.file_bytes)}",
        f"public pages for {words(fetch_tool.CACHE_S / 60)} minutes",
        f"up to {words(search_engines.MAX_RESULTS)} results",
    ),
    "mcp": (
        f"up to {mcp_listing.MAX_TOOLS} tools of each server",
        f"works once, within {words(minutes(sign_in.TIME))} minutes",
        f"after {words(PEOPLE.idle_s / 60)} idle minutes",
        f"At most {words(PEOPLE.open)} sessions",
        f"waits up to {mcp_source.LOAD_S:g} seconds",
        stated(SERVER.connect_s, 60, "at most a minute"),
        (
            f"retries after about {words(SERVER.first_pause_s)} second, and doubles the wait after each failure, up to "
            f"about {words(SERVER.max_pause_s / 60)} minutes"
        ),
        f"a message larger than {mb(mcp_transport.MAX_MESSAGE_BYTES)}",
        f"has {words(minutes(tool_questions.ANSWER_TIME))} minutes to answer",
        f"at most {words(SERVER.questions)} questions for each call",
    ),
    "mcp-server": (
        f"closes it {words(mcp_stdio.IDLE_S)} seconds after the last call",
        f"waits up to {mcp_stdio.PATIENCE_S:g} seconds",
        f"works once, within {words(minutes(CODE_TIME))} minutes",
        f"at most {client_documents.FETCHES_A_MINUTE} documents a minute",
        stated(hours(api_tokens.ACCESS_TIME), 1, "every hour"),
        f"after more than {api_tokens.SAME_ANSWER.seconds} seconds",
        f"limited to {CALLS_A_MINUTE} a minute",
        (
            f"up to {mcp_http.MAX_BODY_BYTES // 1_000} kB long and contain up to "
            f"{http_routes.MAX_BRACKETS:,} `{{` and `[` characters"
        ),
        f"A confirmation works once, within {words(minutes(mcp_texts.CONFIRM_TIME))} minutes",
    ),
    "webhooks": (
        f"more than {words(minutes(signatures.TOLERANCE))} minutes off",
        f"larger than {mb(http_routes.BODY_BYTES)}",
        f"one every {words(dispatcher.EVERY_S)} seconds",
        f"for up to {words(dispatcher.GIVE_UP.days)} days",
        f"Default: {hook_config.DEFAULT_DOLLARS}.",
        f"Default: {hook_config.DEFAULT_RATE} |",
    ),
    "api": (
        f"Default: {api_tokens.DEFAULT_DAYS} days",
        f"up to {api_wire.MAX_POST_CHARS:,} characters",
        f"(up to {api_wire.MAX_KEY_CHARS} characters)",
        f"within {words(posting.WAIT_S)} seconds",
        f"the last {api_wire.MAX_EARLIER} of them",
        (
            f"a body can be up to {mb(http_routes.BODY_BYTES)} long and contain up to "
            f"{http_routes.MAX_BRACKETS:,} `{{` and `[` characters"
        ),
        f"up to {api_wire.MAX_PAIRS} pairs",
        f"longer than {words(http_routes.BODY_S)} seconds",
        f"has {http_api.MAX_REQUESTS} other requests running",
        f"up to {api_tokens.MAX_OF_PERSON} tokens for a person and {api_tokens.MAX_OF_SERVICES:,} for services",
    ),
    "python": (
        f"| run time | {RUN.seconds:g} s, plus up to {RUN.function_seconds:g} s of waiting for tools |",
        f"| memory per run | {RUN.memory_bytes >> 20} MB |",
        (
            f"| printed output | {mb(RUN.output_bytes)}, of which the model reads "
            f"{python_tool.MAX_OUTPUT_CHARS:,} characters |"
        ),
        (
            f"the newest {code_files.MAX_FILES} files in the conversation, up to "
            f"{mb(code_files.MAX_FILE_BYTES)} each and {mb(RUN.given_bytes)} in total"
        ),
        (
            f"| files saved per run | {RUN.out_entries} files, {mb(RUN.out_bytes)} in total. The bot sends "
            f"up to {mb(attached_files.MAX_BYTES)} with"
        ),
        f"| saved files per conversation | {saved_files.MAX_SAVED} files, {mb(saved_files.MAX_BYTES)} in total.",
        stated(saved_files.IDLE.days, 7, "all files after a week without use"),
        f"| runs per question | {RUN.per_turn} |",
        f"| {default_of('COGENCY_PERSON_CODE_SECONDS_PER_DAY')} s (`COGENCY_PERSON_CODE_SECONDS_PER_DAY`)",
        f"| {RUN.function_calls} per run and 200 per question. At most {MAX_INNER_SENDS} of these 200",
        f"| {RUN.at_once} per process, 1 per person |",
        f"up to {words(MAX_FILES)} files, {mb(attached_files.MAX_BYTES)} in total",
        (
            f"titles of up to {slack_charts.MAX_TITLE_CHARS} characters, up to {slack_charts.MAX_LABELS} labels of up "
            f"to {slack_charts.MAX_LABEL_CHARS} characters, up to {slack_charts.MAX_SERIES} series or segments"
        ),
    ),
    "recall": (
        f"up to {recall.MAX_HITS} messages",
        f"more than {recall.PASSAGE_CHARS:,} characters",
        f"the first {words(search_text.BEGINNING)} letters",
    ),
    "acts": (
        f"up to {words(acting.MAX_MESSAGES)} messages at once: at most {act_tools.MAX_TEXT:,} characters in Slack",
        f"after {acting.POLL_HOURS} hours, or the time that you ask for",
        stated(hours(acting.USUAL_EVENT), 1, "lasts an hour"),
    ),
    "models": (
        stated(SET_ASIDE_S, 3_600, "does not use the key for an hour"),
        f"the last {words(SHOWN_CHARS)} characters of the key",
        f"waits up to {RetryPolicy().max_total_wait_s:g} seconds",
        f"A model is usable if it passes {words(USABLE)}",
        f"the model {words(len(PROBES))} questions in each form",
        f"asks {STARTERS} questions about memory",
    ),
    "ollama": (
        f"waits {words(default_of('COGENCY_FIRST_TOKEN_TIMEOUT_S') / 60)} minutes for the first word",
        f"and {words(default_of('COGENCY_NEXT_TOKEN_TIMEOUT_S') / 60)} minute for each word after that",
    ),
    "security": (
        f"up to {words(addresses.MAX_ADDRESSES)} such addresses",
        f"exchanges at most {words(slack_installing.MAX_EXCHANGES)} codes a minute",
        f"(at most {MAX_ARGUMENTS:,} characters)",
        f"the last {words(SHOWN_IN_HOME)} calls",
        f"each record after {AUDIT_KEPT.days} days",
        "Only ports {}, {}, {}, and {} are open".format(*sorted(WEB_PORTS)),
    ),
    "slack": (
        f"the newest {words(slack_history.MAX_THREADS)} threads",
        f"up to {ChannelLimits().messages:,} messages",
        f"up to {slack_tables.MAX_ROWS} rows and {slack_tables.MAX_COLUMNS} columns",
        f"up to {words(slack_tables.MAX_TABLES)} such tables with {slack_tables.MAX_CELL_CHARS:,} characters in total",
        f"with at least {words(slack_tables.MIN_ROWS)} rows",
        f"with {words(slack_tables.PAGE_ROWS)} rows per page",
        f"{words(hours(slack_installed.EARLY))} hours before they expire",
        stated(slack_revocation.CONFIRM_S, 60, "every sign-in with it for a minute"),
        f"(default: {default_of('COGENCY_REMOVAL_GRACE_DAYS')})",
        f"opens {words(default_of('COGENCY_SLACK_CONNECTIONS'))} connections to Slack",
    ),
    "discord": (
        f"until {words(default_of('COGENCY_DISCORD_DM_IDLE_MINUTES') / 60)} hours pass",
        f"within {words(shards.SHARD_LEASE.seconds + shards.RENEW_S)} seconds",
        stated(shards.RECOMMENDED_S, 3_600, "recommended number every hour"),
        f"the {words(discord_history.MAX_THREADS)} newest active threads",
        f"the {discord_forums.MAX_ARCHIVED} posts that were archived last",
        f"wait for more than {words(discord_rest.LIMIT_WAIT_S)} seconds",
    ),
    "doctor": (
        (
            f"{doctor.DATABASE_S:g} seconds for the database and the web, {doctor.PLATFORM_S:g} seconds for "
            f"a platform, and {doctor.SERVERS_S:g} seconds for tool servers"
        ),
        stated(doctor.COMPILE_S, 1_800, "up to half an hour the first time"),
        f"more than {words(SKEW.seconds)} seconds",
        f"more than {words(minutes(MAX_SKEW))} minutes is a problem",
        f"With {discord_checks.NEAR_REVIEW:,} users or more",
        f"With {discord_checks.REVIEWED_FROM:,} or more",
    ),
    "feedback": (
        f"the last {unanswered.PERIOD.days} days",
        f"older than {unanswered.PERIOD.days} days",
        (
            f"where {words(digest.MIN_QUESTIONS)} or more questions were not answered well in the last "
            f"{words(digest.PERIOD.days)} days"
        ),
    ),
    "connect": (
        f"Within {words(minutes(connected_accounts.AGREED_WITHIN))} minutes",
        f"up to {words(connected_accounts.MAX_ACCOUNTS)}",
    ),
    "hooks": (
        f"({default_of('COGENCY_HOOK_TIMEOUT_S'):g} seconds by default)",
        f"more than {running.MAX_TEXT_CHARS:,} characters",
        f"has 2 to {masking.MAX_CHARS} characters",
        f"If {words(hook_thread.MAX_BLOCKED)} threads are blocked",
    ),
    "eval": (
        f"up to {exam_file.MAX_QUESTIONS:,}",
        f"asks {STARTERS} built-in questions",
        f"the last {eval_runs.KEPT} runs",
        f"the last {eval_page.SHOWN} runs",
    ),
    "export": (f"the newest {mb(MESSAGES_BYTES)}",),
    "play": (f"on port {play_run.USUAL_PORT}", f"{mb(play_requests.MAX_FILE_BYTES)} in total"),
    "plugins": (f"the model sees the first {skill.MAX_SHOWN_CHARS}",),
    "how-do-i": (
        "The defaults are ${:g} and ${:g}".format(
            *(default_of(f"COGENCY_{whose}_DOLLARS_PER_DAY") / NANO for whose in ("PERSON", "EVERYONE"))
        ),
        f"{default_of('COGENCY_PERSON_PER_MINUTE')} messages a minute and",
        f"{default_of('COGENCY_PERSON_PER_HOUR')} an hour for each person",
    ),
    "python-tools": (
        f"(default: {functions.TIMEOUT_S:g})",
        f"At most {words(functions.MAX_THREADS)} of these threads",
    ),
    "tools": (
        f"up to {MAX_SCHEMA_TOKENS:,} tokens (about {words(most_tools_in_full())} tools)",
        f"about {round(prefix_tokens(200), -2):,} tokens instead of {round(prefix_tokens(200, listed=False), -2):,}",
    ),
    "upgrading": (stated(engine.TABLE_S, 1, "within a second"),),
}


IN_TEXTS: Final[tuple[tuple[str, str], ...]] = (
    (knowledge_texts.TOO_MANY_DOCUMENTS, f"{passages.DOCUMENTS_MOST:,} documents"),
    (knowledge_texts.TOO_MANY_FILES, f"{passages.DOCUMENTS_MOST:,} documents"),
    (knowledge_texts.PLACE_FULL, f"{passages.DOCUMENTS_MOST:,} documents"),
    *(
        (text, f"{hours(consents.CONSENT_TIME):g} hours")
        for text in (
            replies.WAITS_FOR_CONSENT,
            replies.WAITS_FOR_PERSON,
            replies.WAITS_FOR_OTHERS,
            tool_texts.NOTHING_WAITS,
            tool_texts.MODEL_ASKS_HOW,
            platform_texts.STILL_WAITS,
            agent_texts.NOT_ANSWERED_IN_TIME,
        )
    ),
    (tool_texts.QUESTION_TIME, f"up to {words(minutes(tool_questions.ANSWER_TIME))} minutes"),
    (replies.WAITS_FOR_ANSWER, f"up to {words(minutes(tool_questions.ANSWER_TIME))} minutes"),
    (tool_texts.PAGE_OVER, f"for {words(minutes(sign_in.TIME))} minutes"),
    (tool_texts.SERVER_AWAY, f"within {words(SERVER.max_pause_s / 60)} minutes"),
    (platform_texts.INSTALL_OTHER_BROWSER, f"more than {words(minutes(slack_installing.TIME))} minutes ago"),
    (platform_texts.AMBIENT_MUTED, f"the next {hours(ambient_state.QUIET):g} hours"),
    (channel_texts.SAID_AMBIENT_ON, f"for {hours(ambient_state.QUIET):g} hours"),
    (channel_texts.AMBIENT_NOTICE, f"for {hours(ambient_state.QUIET):g} hours"),
    (operator_texts.PAGE_LINK_OVER[1], f"for {words(minutes(operator_service.LINK_LASTS))} minutes"),
    (operator_texts.NO_SUCH_EVAL[1], f"the last {eval_runs.KEPT} runs"),
    (setup_texts.ASKED_NOW, f"{hours(CONFIRM_WITHIN):g} hours"),
    (app_texts.ASKED_LONG_AGO, f"more than {hours(CONFIRM_WITHIN):g} hours ago"),
    (webhook_texts.EVENTS_DROPPED, f"for {words(dispatcher.GIVE_UP.days)} days"),
    (schedule_texts.LAPSES_SOON, stated(times.DEFAULT_DURATION.days, 180, "six months")),
    (schedule_texts.LAPSED, stated(times.DEFAULT_DURATION.days, 180, "six months")),
    (memory_texts.DELETED, stated(minutes(UNDO), 1, "within a minute")),
    (memory_texts.ENTRY_KEPT, stated(review.UNUSED.days, 184, "for half a year")),
    (eval_texts.STARTER_WRITTEN, f"{STARTERS} example questions"),
    (agent_texts.KEY_SET_ASIDE, stated(SET_ASIDE_S, 3_600, "again in an hour")),
    (act_texts.PAST, f"within {words(times.MAX_AHEAD.days // 366)} years"),
)

# What pages name in italics that is not ours: pages, buttons and settings of other programs, and words that we stress.
NAMES_ELSEWHERE: Final[Mapping[str, tuple[str, ...]]] = {
    "azure": ("Access control (IAM)", "Add role assignment", "Deployments", "Networking", "Reader"),
    "bedrock": ("API keys", "Service Quotas"),
    "discord": (
        *("Apps", "Bot", "Install Link", "Installation", "Message Content Intent"),
        *("New Application", "Public Bot", "Reset Token"),
    ),
    "how-do-i": ("Advanced", "Copy ID", "Copy member ID", "Developer Mode", "User Settings"),
    "ollama": ("Ollama's",),
    "proxy": ("App Manifest", "Basic Information"),
    "slack": (
        *("App Manifest", "App-Level Tokens", "Basic Information", "Create New App", "From a manifest", "Install App"),
        *("Install to Workspace", "Manage Distribution", "OAuth & Permissions"),
    ),
    "troubleshooting": ("App Manifest", "Bot", "Message Content Intent", "Messages Tab"),
    # Of the table on the same page.
    "upgrading": ("It changes", "The same version as before"),
}
GENERATED: Final = {Path(path).stem for path in PAGES} | {
    "glossary"
}  # The glossary stresses the words that it explains
ITALIC: Final = re.compile(r"(?<![*\w])\*([A-Z][^*|]{1,60}?)\*(?![*\w])")


@cache
def source() -> str:
    """The code of the bot, and the templates of its pages without the blanks within their tags."""
    code = [*(ROOT / "agent").rglob("*.py"), *(ROOT / "bot").rglob("*.py")]
    templates = (file.read_text(encoding="utf-8") for file in (ROOT / "bot").rglob("*.html"))
    return "\n".join(
        [
            *(file.read_text(encoding="utf-8") for file in code),
            *(re.sub(r"\s*([<>])\s*", r"\1", one) for one in templates),
        ]
    )


def is_shown_by_the_bot(name: str) -> bool:
    return name.endswith(": …") or f'"{name}"' in source() or f">{name}<" in source()


def named_on(name: str) -> set[str]:
    """What stands in italics on a page, outside of blocks and comments."""
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    plain = re.sub(r"^```.*?^```|<!--.*?-->", "", text, flags=re.MULTILINE | re.DOTALL)
    return {found[1] for found in ITALIC.finditer(" ".join(plain.replace("**", "").split()))}


def page(name: str) -> str:
    return " ".join((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8").split())


@pytest.mark.parametrize("name", FACTS)
def test_each_number_on_the_page_is_the_one_in_the_code(name: str) -> None:
    text = page(name)
    assert [fact for fact in FACTS[name] if fact not in text] == [], f"change docs/{name}.md to this"


def test_the_page_about_operating_lists_every_exit_code_and_no_other() -> None:
    rows = re.findall(r"^\| (\d+) \| \S", (ROOT / "docs" / "operating.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [*map(int, rows)] == sorted(Exit)


@pytest.mark.parametrize(("text", "fact"), IN_TEXTS)
def test_each_number_in_a_text_of_the_bot_is_the_one_in_the_code(text: str, fact: str) -> None:
    assert fact in text


@pytest.mark.parametrize("name", sorted({file.stem for file in (ROOT / "docs").glob("*.md")} - GENERATED))
def test_each_button_that_a_page_names_is_called_so_in_the_bot_or_belongs_to_another_program(name: str) -> None:
    elsewhere = {*NAMES_ELSEWHERE.get(name, ())}
    unknown = {one for one in named_on(name) - elsewhere if not is_shown_by_the_bot(one)}
    assert unknown == set(), "no text of the bot: correct it, or list it above"
    assert elsewhere - named_on(name) == set(), "the page does not name these any more"


def test_a_number_is_written_as_pages_write_it() -> None:
    assert (words(2), words(13.0), words(60), mb(1 << 20), mb(2_500_000)) == (
        "two",
        "thirteen",
        "sixty",
        "1 MB",
        "2 MB",
    )
    with pytest.raises(AssertionError):
        words(1.5)
