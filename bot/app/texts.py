"""What the start of the bot says."""


# For operators

VERSION = "**Version**: {version}. {models}"
STORE = "**Store**: {where}."
UNUSED_KEY = "**API key**: {sentence}"


ABOUT = ("Version", "Models", "Database")

# The file of Slack's apps, for operators.

TWO_SLACK_LISTS = (
    "COGENCY_SLACK_APPS cannot be combined with SLACK_BOT_TOKEN, SLACK_APP_TOKEN, or SLACK_CLIENT_ID. Add the app of "
    "these settings to the COGENCY_SLACK_APPS file and remove the settings, or remove COGENCY_SLACK_APPS."
)
SLACK_SERVE_UNKNOWN = (
    "{file} does not describe an app named {name}. Add the app there, or correct the name in COGENCY_SLACK_SERVE."
)
SLACK_APPS_NO_TOML = "COGENCY_SLACK_APPS: {file} is not valid TOML: {error}. Write a table for each app, as in [acme]."
SLACK_APPS_EMPTY = "COGENCY_SLACK_APPS: {file} does not describe any apps. Write a table for each app, as in [acme]."
SLACK_APP_TWICE = "COGENCY_SLACK_APPS: {file}: the apps {names} have the same bot_token. Each app needs its own."
SLACK_APP_WRONG = "COGENCY_SLACK_APPS: {file}, app {app}: {problem}."
SLACK_APP_TABLE = "it must be a table: a line such as [acme], with its keys below"
SLACK_APP_KEY = "{key} is not a valid key; the valid keys are {known}"
SLACK_APP_KEY_TWICE = "{key} and {file} are both set; remove one of them"
SLACK_APP_TEXT = 'the value of {key} must be a quoted string, as in {key} = "…"'
SLACK_APP_INCOMPLETE = "bot_token or bot_token_file is missing; copy it from the app's OAuth & Permissions page"
SLACK_APP_WAYS = "set either app_token, for Socket Mode, or signing_secret, for events over HTTP"
SLACK_APP_NO_HTTP = "signing_secret is for events over HTTP; set COGENCY_SLACK_HTTP to the address to listen on"


NO_MANIFEST = "The manifest could not be created: {error}."

# Tools

OTEL_MISSING = (
    "OpenTelemetry's environment variables set a destination for traces, but the 'otel' extra is not installed. Run "
    "{command}, or set OTEL_TRACES_EXPORTER=none."
)
OTEL_PROTOCOL = (
    "OpenTelemetry's environment variables request traces over {protocol}, so none are sent. Cogency only supports "
    "http/protobuf, which collectors accept on port 4318."
)
PLUGINS_NEED_MCP = "the servers of plug-ins were not started, because the 'mcp' extra is not installed. Run {command}"
MCP_MISSING = "COGENCY_MCP needs the 'mcp' extra, which is not installed. Run {command}"
ACCOUNT_KEY_MISSING = (
    "People sign in to these MCP servers with their own accounts: {servers}. To encrypt their tokens, set "
    "COGENCY_ACCOUNT_KEY to the output of `openssl rand -base64 32`, or set COGENCY_ACCOUNT_KEY_FILE to a file that "
    "contains it."
)
ACCOUNT_KEY_TWICE = "COGENCY_ACCOUNT_KEY and COGENCY_ACCOUNT_KEY_FILE are both set. Remove one of them."
SIGN_IN_ADDRESS = (
    "Set both COGENCY_SIGN_IN_HTTP (where the bot listens) and COGENCY_SIGN_IN_ADDRESS (the address that browsers "
    "open)."
)
SIGN_IN_PLAIN = "COGENCY_SIGN_IN_ADDRESS must start with https://, or point to this machine."
POLICY_FAULTS = "{setting} points to {file}, which has invalid rows: {faults}. See docs/tool-policy.md for the format."
NO_SLACK_WAY = (
    "SLACK_APP_TOKEN is missing. Set it for Socket Mode, or set COGENCY_SLACK_HTTP and SLACK_SIGNING_SECRET for "
    "events over HTTP."
)
TWO_SLACK_WAYS = (
    "SLACK_APP_TOKEN and COGENCY_SLACK_HTTP are both set. Keep the first for Socket Mode, or the second for events "
    "over HTTP."
)
NO_SERVERS_TO_STAY_IN = (
    "COGENCY_DISCORD_OTHER_SERVERS=leave also needs COGENCY_DISCORD_SERVERS. Set it to the IDs of the servers that the "
    "bot should stay in."
)
NOTHING_TO_RUN = "There is nothing to run. Set up Slack or Discord with `cogency init`, or set their tokens."
PAGE_LISTENS = "the operators' page is at {address}; `cogency operator` prints a sign-in link"
OPERATOR_PAGE_OPEN = (
    "COGENCY_OPERATOR_PAGE is set to {host}, which other machines can reach without encryption. Use 127.0.0.1 with "
    "`ssh -L`, or put a TLS proxy in front and set COGENCY_OPERATOR_ADDRESS to its https:// address."
)
HTTP_OPEN = (
    "COGENCY_HTTP is set to {host}, which other machines can reach without encryption. Use 127.0.0.1, or put a TLS "
    "proxy in front and set COGENCY_HTTP_ADDRESS to its https:// address."
)
WEBHOOKS_UNREACHABLE = (
    "COGENCY_WEBHOOKS lists webhooks, but nothing receives them. Set COGENCY_HTTP to a host and a port, as in "
    "127.0.0.1:8080, and COGENCY_HTTP_ADDRESS to the public address of your proxy."
)
HTTP_LISTENS = "other programs can reach the bot at {address}"
ADDRESS_PLAIN = (
    "{setting} must start with https://. Put a TLS proxy in front of the bot, and set {setting} to the proxy's "
    "address. Use http:// only for 127.0.0.1 and localhost."
)
ADDRESS_PATH = "{setting} must be the address of a separate host, without a path, such as https://bot.example.com"


# What operators do about a person or a place

NO_ID = "That is not an ID. To find one, run `cogency {kind} find NAME`."
ID_UNKNOWN = "Nothing is stored about {of}."
ID_NEAR = "Did you mean {near}?"
ID_FIND = "To find an ID, run `cogency {kind} find NAME`."
ERASED_BEFORE = "Nothing is stored about {of}. It was erased on {when:%Y-%m-%d %H:%M} UTC (audit entry {number})."
NAME_OF_MANY = "Several channels are called {name}. Use the ID: {ids}."
NAMES_UNREAD = "{platform} did not return the channel names: {reason}"
FOUND_LINE = "{id}  {name}  {messages}, last {last}"
OPERATOR_NAME = "{name!r} is not a valid operator name. Use up to 64 letters, digits, and the characters . _ @ + -"
NOTHING_ASKED = "There is no request {number}. `cogency audit` shows requests with their numbers after #."
ASKED_BEFORE = "Request {number} is already confirmed."
ASKED_LONG_AGO = "This request is from {when:%Y-%m-%d %H:%M} UTC, more than 24 hours ago. Make a new one."
ASKED_BY_YOU = (
    "{name} made this request, so another operator must confirm it, from another account or with --operator NAME."
)
ASKED_OTHERWISE = (
    "Request {number} has a different purpose: to {act} the data of the {kind} {of}. Confirm it with `cogency {kind} "
    "confirm {number}`."
)
NOBODY_ERASES = (
    "Nothing was erased, because another process is using {where} and did not respond. Stop it and try again."
)
STILL_ERASING = "The data is still being erased. `cogency audit` will show the result as #{number}."
ERASES = "This erases the data of {of}: {amounts}. You cannot undo this."
ERASES_CHOICES = "Only preferences, accounts, and records without text are stored about {of}. This erases them."
ERASES_REPETITIONS = "This includes repetitions in other threads ({count})."
ERASES_RELATED = (
    "{count} elsewhere may say the same thing in other words, or be based on this data. Such messages are erased only "
    "with --related."
)
CHECK_PERSON = (
    "To verify this, run `cogency person export {of}`. It should find nothing. Audit entry #{number} shows "
    "{known_as} instead of the ID."
)
CHECK_PLACE = "To verify this, run `cogency place export {of}`. It should find nothing. The audit entry is #{number}."
PLACE_NEW = "If nobody has written to the bot there yet, first mention the bot there."
NO_DOCUMENTS_THERE = "{of} is a thread. Documents belong to a channel, a whole workspace or server, or a person."
FOUND_BY_PERSON = "Only {of} can ask about them, in direct messages."
FOUND_BY_TEAM = "Full members can ask about them in public channels and in direct messages."
FOUND_BY_READERS = "Full members who can read {of} can ask about them, there and in direct messages."
FILE_EXISTS = "{file} already exists. Choose another name, or add --force."
FILE_NOT_WRITTEN = "{file} could not be written ({reason})."
SLACK_DISTRIBUTION_LACKS = (
    "SLACK_CLIENT_ID, which lets other workspaces install the app, also needs {lacking} (docs/slack.md, Distribute the "
    "app)."
)
SLACK_DISTRIBUTION_MISSING = (
    "SLACK_CLIENT_ID needs the 'mcp' extra, which encrypts tokens. It is not installed. Run {command}"
)
SLACK_DISTRIBUTION_ALONE = (
    "SLACK_CLIENT_ID and SLACK_BOT_TOKEN are both set. Remove SLACK_BOT_TOKEN, and also install the app in your own "
    "workspace from the install page."
)
SLACK_ADDRESS_PLAIN = (
    "COGENCY_SLACK_ADDRESS must start with https://, or point to this machine, and must not have a path."
)
