"""What the start of the bot says."""


# For operators

VERSION = "**Version**: {version}. {models}"
STORE = "**Store**: {where}."


ABOUT = ("Version", "Models", "Database")

# The file of Slack's apps, for operators.

TWO_SLACK_LISTS = (
    "SLACK_BOT_TOKEN, SLACK_APP_TOKEN or SLACK_CLIENT_ID is set beside COGENCY_SLACK_APPS: describe that app in "
    "the file, too, and remove its settings, or remove COGENCY_SLACK_APPS."
)
SLACK_SERVE_UNKNOWN = "There is no app {name} in {file}: add it there, or correct the name."
SLACK_APPS_NO_TOML = "COGENCY_SLACK_APPS: {file} is no TOML: {error}. Write a table for each app, as in [acme]."
SLACK_APPS_EMPTY = "COGENCY_SLACK_APPS: {file} describes no app: write a table for each, as in [acme]."
SLACK_APP_TWICE = "COGENCY_SLACK_APPS: {file}: the apps {names} have the same bot_token: each app has one of its own."
SLACK_APP_WRONG = "COGENCY_SLACK_APPS: {file}, app {app}: {problem}."
SLACK_APP_TABLE = "it must be a table, as in [acme] and its keys below"
SLACK_APP_KEY = "{key} is none of its keys, which are {known}"
SLACK_APP_KEY_TWICE = "{key} and {file} are both set: keep one of them"
SLACK_APP_TEXT = 'the value of {key} must be a text in quotes, as in {key} = "…"'
SLACK_APP_INCOMPLETE = "bot_token or bot_token_file is missing: copy it from the app's page, OAuth & Permissions"
SLACK_APP_WAYS = "set either app_token, for Socket Mode, or signing_secret, for events over HTTP"
SLACK_APP_NO_HTTP = "signing_secret is for events over HTTP: set COGENCY_SLACK_HTTP to where to listen for them"


NO_MANIFEST = "No manifest can be made: {error}."

# Tools

OTEL_MISSING = (
    "OpenTelemetry's variables name a receiver of traces, which needs the extra 'otel', which is not installed. Run "
    "{command}, or set OTEL_TRACES_EXPORTER=none."
)
OTEL_PROTOCOL = (
    "OpenTelemetry's variables ask for traces by {protocol}, and none are sent: they are by http/protobuf, which "
    "collectors take at port 4318."
)
PLUGINS_NEED_MCP = "servers of plug-ins are not started, because the extra 'mcp' is not installed. Run {command}"
MCP_MISSING = "COGENCY_MCP needs the extra 'mcp', which is not installed. Run {command}"
ACCOUNT_KEY_MISSING = (
    "{file} has servers at which each person signs in ({servers}): set COGENCY_ACCOUNT_KEY, with which their tokens "
    "are encrypted, to what `openssl rand -base64 32` writes, or COGENCY_ACCOUNT_KEY_FILE to a file that holds it."
)
ACCOUNT_KEY_TWICE = "COGENCY_ACCOUNT_KEY and COGENCY_ACCOUNT_KEY_FILE are both set: remove one of them."
SIGN_IN_ADDRESS = (
    "COGENCY_SIGN_IN_HTTP and COGENCY_SIGN_IN_ADDRESS belong together: where the bot listens, and the address by which "
    "browsers reach that."
)
SIGN_IN_PLAIN = "COGENCY_SIGN_IN_ADDRESS must begin with https://, or lead to this machine."
POLICY_FAULTS = "{setting} names {file}, in which not every row can be read: {faults}. docs/tools.md shows the form."
NO_SLACK_WAY = (
    "SLACK_APP_TOKEN is missing: set it for Socket Mode, or else COGENCY_SLACK_HTTP and SLACK_SIGNING_SECRET for "
    "events over HTTP."
)
TWO_SLACK_WAYS = (
    "SLACK_APP_TOKEN and COGENCY_SLACK_HTTP are both set: keep the first for Socket Mode, or the second for events "
    "over HTTP."
)
NO_SERVERS_TO_STAY_IN = (
    "COGENCY_DISCORD_OTHER_SERVERS=leave needs the ids of the servers to stay in: set COGENCY_DISCORD_SERVERS."
)
NOTHING_TO_RUN = "There is nothing to run: set SLACK_BOT_TOKEN and SLACK_APP_TOKEN, or DISCORD_TOKEN."
PAGE_LISTENS = "the operators' page is at {address}; `cogency operator` gives a link that signs you in"
OPERATOR_PAGE_PORT = "COGENCY_OPERATOR_PAGE names {host}:{port}, where nothing can listen now: choose another port."
OPERATOR_PAGE_OPEN = (
    "COGENCY_OPERATOR_PAGE names {host}, which others on the network reach, and nothing there is encrypted: name "
    "127.0.0.1 and come by `ssh -L`, or put a proxy with TLS in front and name its https:// address in "
    "COGENCY_OPERATOR_ADDRESS."
)
OPERATOR_ADDRESS_PLAIN = (
    "COGENCY_OPERATOR_ADDRESS must begin with https://, which is the work of a proxy in front of the page; http:// is "
    "for 127.0.0.1 and localhost alone."
)
OPERATOR_ADDRESS_PATH = (
    "COGENCY_OPERATOR_ADDRESS must be a host of its own, without a path: https://operate.example.com"
)


# What operators do about a person or a place

NO_ID = "That is no ID: `cogency {kind} find NAME` looks for one."
ID_UNKNOWN = "Nothing is kept of {of}."
ID_NEAR = "Did you mean {near}?"
ID_FIND = "`cogency {kind} find NAME` looks for an ID."
ERASED_BEFORE = "Nothing is kept of {of}: it was erased on {when:%Y-%m-%d %H:%M} UTC (row {number} of the audit)."
FOUND_LINE = "{id}  {name}  {messages}, last {last}"
OPERATOR_NAME = "{name!r} cannot be an operator's name: use letters, digits and . _ @ + - (at most 64)."
NOTHING_ASKED = (
    "Nothing was asked for under the number {number}: `cogency audit` shows what was, with its number behind #."
)
ASKED_BEFORE = "What was asked for under the number {number} was confirmed already."
ASKED_LONG_AGO = "That was asked for on {when:%Y-%m-%d %H:%M} UTC, more than a day ago: ask for it again."
ASKED_BY_YOU = "{name} asked for this, so somebody else has to confirm it: another account, or --operator NAME."
ASKED_OTHERWISE = "The number {number} is to {act} the {kind} {of}: confirm it with `cogency {kind} confirm {number}`."
NOBODY_ERASES = "Another process has {where} open and did not take this up: stop it, and try again. Nothing was erased."
STILL_ERASING = "It is not known yet how this ends: `cogency audit` shows it, as #{number}."
ERASES = "This erases all that is kept of {of}: {amounts}. It cannot be undone."
ERASES_CHOICES = "Of {of} only choices, accounts and records without words are kept. This erases them."
ERASES_REPETITIONS = "This includes {count} in other threads that repeat it."
ERASES_RELATED = "{count} elsewhere may say the same in other words: they stay, unless you add --related."
CHECK_PERSON = (
    "To check: `cogency person export {of}` finds nothing any more. The audit has it as #{number}, about {known_as}: "
    "what stands there in place of the ID."
)
CHECK_PLACE = "To check: `cogency place export {of}` finds nothing any more. The audit has it as #{number}."
FILE_EXISTS = "{file} exists: choose another name, or add --force."
FILE_NOT_WRITTEN = "{file} cannot be written ({reason})."
SLACK_DISTRIBUTION_LACKS = (
    "SLACK_CLIENT_ID lets other workspaces install the app, which needs {lacking} (docs/slack.md, Distribute the app)."
)
SLACK_DISTRIBUTION_MISSING = (
    "SLACK_CLIENT_ID needs the extra 'mcp', whose libraries encrypt tokens, and it is not installed. Run {command}"
)
SLACK_DISTRIBUTION_ALONE = (
    "SLACK_CLIENT_ID and SLACK_BOT_TOKEN are both set: leave out SLACK_BOT_TOKEN, and install the app in your own "
    "workspace by its page, too."
)
SLACK_ADDRESS_PLAIN = "COGENCY_SLACK_ADDRESS must begin with https://, or lead to this machine, and name no path."
