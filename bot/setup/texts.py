"""What operators read: the command line, settings, why something cannot start, `cogency doctor`. Pure."""


# The command line

PROGRAM = "A self-hosted AI agent."
CHECK_FORM = "With {form} tool calls:"
CHECK_STARTS = "Start the check? [y/N] "
CHECK_UNASKED = (
    "Nothing was checked, because the command could not ask for confirmation outside a terminal. Add --yes to skip the "
    "question."
)
CHECK_REFUSED = "Nothing was checked."
CHECK_STOPPED = "The check did not finish. Its results for {stored} tool calls were stored."
CHECK_NOT_STORED = "The check did not finish, so no result was stored."
NATIVE_REFUSED = "The server does not accept native tool calls, so the check used text tool calls."
CHANNELS_WITHOUT_MODEL = (
    "the bot cannot answer in these channels, because none of the models that they allow is available: {channels}"
)
ALLOW_MODELS = (
    "For each channel, add one of its models to COGENCY_ALLOWED_MODELS, or ask the channel's managers to choose others "
    "with `/channel models`."
)
FORM_NOT_MEASURED = (
    "text and native tool calls have not been compared for this model yet, so the bot uses text tool calls"
)
FORMS_UNCHECKED = (
    "`cogency check-model` compares text and native tool calls. The bot uses the better form after the next restart."
)
CONTEXT_HOLDS = "the model's context window is {size:,} tokens"
CONTEXT_SMALL = (
    "the model's context window is {size:,} tokens, and a question may need {needed:,}. The bot leaves out older "
    "messages and memories that do not fit"
)
CONTEXT_TINY = "the model's context window of {size:,} tokens barely fits the instructions, a question, and an answer"
WIDEN_CONTEXT = "To enlarge the context window, {widen}."
FIT_CONTEXT = "Choose a model with a larger context window."
KEY_NUMBERED = "API key {number} of {count} ({end})"
KEY_WORKS = "{key} works"
KEY_FAILS = "{key} does not work right now, so the bot uses the other keys"
NO_MODEL_TO_CHECK = (
    "There is no model to check, because the rehearsal model only follows rules. Set COGENCY_MODEL or an API key."
)
NEWER_WORKS = "{where} is at version {found}, which a newer release created; this release can still use it"
DATABASE_CREATED = "{where}: created at version {version}."
DATABASE_NEWEST = "{where}: already at the newest version, {version}."
DATABASE_MIGRATED = "{where}: upgraded from version {before} to {version}."
MIGRATE_SAYS = (
    "With --back, the command makes a backup and returns the database to an earlier version. Before you use "
    "--back, stop the bot."
)
BACK_IS_THERE = "{where}: already at version {version}."
BACK_LOSES = "{where}: version {to} cannot store this data:\n{lost}"
BACK_REFUSED = (
    "Nothing was changed. To go back without this data, add --yes. The command first makes a full backup. To get the "
    "data back later, install this release again and run `cogency restore` with that backup."
)
BACK_ALONE = "--backup and --yes work only with --back VERSION. Add --back, or remove the other options."
BACK_LOST = "Removed:\n{lost}"
BACK_DONE = (
    "{where}: went back from version {before} to {to}. Start the earlier release now, because this release would "
    "upgrade the database again."
)
BACKED_UP = "{file}: {held}, at version {version}."
HOLDS = "{file} contains {held}, as of {made}."
RESTORED = "{where} now contains the backup. Start the bot again."
FORGOTTEN_AGAIN = "Messages that were forgotten after the backup were removed again: {messages}."
FORGOTTEN_UNKNOWN = (
    "This database has no record of what was forgotten after the backup, so forgotten data may be back. Erase it "
    "again. API tokens that were revoked after the backup are valid again. To find them, run `cogency token list`. To "
    "revoke one, run `cogency token revoke NAME`."
)
FORGOTTEN_IN_LOG = (
    "This database has no record of what was forgotten after the backup, so forgotten data may be back. When the bot "
    "next starts, it erases what the COGENCY_FORGETTING_LOG file lists. API tokens that were revoked after the backup "
    "are valid again. To find them, run `cogency token list`. To revoke one, run `cogency token revoke NAME`."
)
FORGET_AGAIN_SAYS = (
    "If you restored the database to an earlier point in time, run this command before you start the bot. You can run "
    "it more than once. With COGENCY_FORGETTING_LOG, the bot does the same when it starts."
)
NO_FORGETTING_LOG = "no forgetting log was given. Add the path of the log, or set COGENCY_FORGETTING_LOG."
FORGOTTEN_AGAIN_BY_LOG = (
    "{where}: erased {messages} again. It no longer contains any message that the log lists as forgotten."
)
LOG_NOT_YET = "there is no forgetting log yet: {path}"
LOG_COMES_WITH_START = "The bot creates it when it starts."
LOG_AHEAD = "the database is older than the forgetting log {path}"
LOG_AHEAD_REMEDY = "Restart the bot, or stop it and run `cogency forget-again`."
LOG_BEHIND = "the forgetting log {path} lacks {missing}"
LOG_BEHIND_REMEDY = (
    "The bot adds missing entries when it forgets something and when it starts. Check that it can write the file."
)
LOG_COMPLETE = "the forgetting log {path} is complete"
TOKEN_CREATE_SAYS = (
    "Programs use the token for the API (docs/api.md). With a person's token, a program asks as that person, and reads "
    "what the bot could show them in a direct message. With a service's token, it reads the documents, rules, and "
    "policies of the service's place, and its own earlier conversations, but not what people said."
)
TOKEN_AS_SAYS = "a person's ID from `cogency person find`, or the word service"
TOKEN_PLACE_SAYS = "for a service: the name of its channel, or an ID from `cogency place find`"
TOKEN_PLACE_MISSING = "A service needs a place: add --place, with a channel's name or ID."
TOKEN_PLACE_OF_PERSON = "--place is only for services. A person's token does not need a place."
TOKEN_PLACE_PRIVATE = "{of} is a direct message. Use --as with that person's ID instead."
TOKEN_PERSON_MADE = (
    "Created the token {name} for {of} ({scopes}). It {ends}. It will not be shown again. Use it as a program's API "
    "key."
)
TOKEN_SERVICE_MADE = (
    "Created the token {name} for a service in {of} ({scopes}). Programs with this token read that place's documents. "
    "The token {ends}. It will not be shown again. Use it as a program's API key."
)
TOKEN_REVOKED = "Revoked token {id} ({name})."
KEYS_SET_SAYS = (
    "The command reads the key from standard input, or asks for it in a terminal. It tests the key, and stores it "
    "encrypted with COGENCY_ACCOUNT_KEY. The channel's questions to models of this service are then billed to the key "
    "(docs/models.md)."
)
KEY_ASKS = "API key: "
KEY_NEEDS_CHANNEL = (
    "{of} is not a channel where people have used the bot. Use a channel's ID from `cogency place find`."
)
KEY_SET = "Set the key {end} for {vendor} in {of}."
KEY_REMOVED = "Removed the key for {vendor} from {of}."
NO_SUCH_KEY = "{of} has no key for {vendor}. `cogency keys list` shows all keys."
NO_CHANNEL_KEYS = "No channel has its own key."
KEY_REFUSED_SINCE = ", refused since {time} UTC"
NO_TOKENS = "There are no tokens. Create one with `cogency token create`."
HOOKS_ADD_SAYS = (
    "The command adds the webhook to the COGENCY_WEBHOOKS file (default: hooks.toml in the current folder), and writes "
    "the webhook's secret to the folder hooks.secrets next to that file. If the command creates the secret, it also "
    "prints the secret to standard output."
)
HOOKS_TEST_SAYS = (
    "The command uses the webhook's templates. Without a payload file, it uses samples of the sender's events."
)
HOOKS_ROTATE_SAYS = (
    "If the command creates the new secret, it prints the secret to standard output. The current secret stays valid "
    "for now. To remove it later, run the command again with --finish."
)
HOOKS_CHANNEL_SAYS = "the channel where the bot posts, as in slack:C0123456789 or discord:41771983423143937"
HOOKS_READ_SAYS = "read the secret from standard input, for senders that create it themselves"
HOOKS_FILE_SAYS = "a payload file, named after its event type, as in issues.json (default: the preset's samples)"
HOOKS_WRONG = "the bot cannot receive webhooks"
HOOK_RECEIVED = "events for the webhook {name} arrive at {address}"
HOOKS_UNPRICED = (
    "the daily budget (dollars_per_day) of {names} does not include the cost of {models}, because no list price is "
    "known"
)
HOOKS_LIMIT = "Set per_minute to limit how many events the bot accepts, or choose a model that has a list price."
HOOK_ASKS_SECRET = "Secret: "
HOOK_CHANNEL = "--channel must be a platform and a channel's ID, as in slack:C0123456789 or discord:41771983423143937."
HOOK_EXISTS = "{file} already has a webhook named {name}. Choose another name, or edit the webhook in the file."
HOOK_SECRET_FAULT = "The secret {fault}."
HOOK_SECRET_EXISTS = "{file} already exists. Delete it, or choose another name for the webhook."
HOOK_ADDED = "Added the webhook {name} to {file}."
HOOK_SETUP = "Next: {setup}"
HOOK_ADDRESS = "The webhook's address is {address}."
HOOK_NO_ADDRESS = "https://<your bot's address>"
HOOK_SECRET_IN = "The secret is in {file}."
HOOK_SET_FILE = "Set {setting}={file}."
HOOK_SET_HTTP = "Set COGENCY_HTTP and COGENCY_HTTP_ADDRESS, so that other programs can reach the bot."
HOOK_RESTART = "Restart the bot to apply the change."
HOOK_LINE = "{name}: {preset} ({signed}), {action} in {channel}, {address}"
NO_HOOKS = "There are no webhooks. Add one with `cogency hooks add`."
HOOK_UNKNOWN = "There is no webhook named {name}. {known}"
HOOKS_KNOWN = "Existing webhooks: {names}."
ADD_HOOK = "Add one with `cogency hooks add`."
HOOK_NO_PAYLOAD = "{file} could not be read ({error})."
HOOK_SAMPLE = "{name}:\n{text}\n"
HOOK_NOTHING = "(nothing is posted)"
HOOK_TEMPLATE_FAILED = "The template does not work with this payload: {error}."
HOOK_KEYED = "(in the same thread as earlier events with the same key)"
HOOK_UNKEYED = "(as a separate message)"
HOOK_CLOSES = "(the next event with the same key starts a new thread)"
HOOK_SENT = "{name}: the bot responded with {status}: {told}"
HOOK_UNREACHABLE = (
    "{address} could not be reached ({error}). Check COGENCY_HTTP_ADDRESS, and whether the bot is running."
)
HOOK_ROTATED = (
    "The webhook {name} has a new secret. Make sure that the sender uses it. The old secret stays valid for now. To "
    "remove it later, run `cogency hooks rotate {name} --finish`."
)
HOOK_FINISHED = "The old secret of the webhook {name} was removed."
HOOK_ONE_SECRET = "The webhook {name} has only one secret. Run `cogency hooks rotate {name}` first."
HOOK_NOT_OURS = (
    "The secret of the webhook {name} is not in {file}, so the command did not change it. Edit the secret where it is "
    "stored: put the new one first, then a space and the current one. Remove the current one later."
)
COPIED = (
    "{where} now contains {held}. The copy matches the source. Set COGENCY_DATABASE_URL to the URL of the copy, and "
    "start the bot."
)
RESTORE_SAYS = (
    "Stop the bot first. If the database that you replace has a record of what was forgotten after the backup, the "
    "command removes that data again."
)
COPY_SAYS = "Both databases can be SQLite or PostgreSQL. Stop the bot first. The command does not change the source."
SETTINGS_FROM = (
    "Cogency reads settings from the environment and from one file: the one in --config or, without --config, .env in "
    "the current folder. If that .env does not exist or sets none of Cogency's settings, Cogency reads .env in your "
    "configuration folder (~/.config/cogency on Linux). `cogency settings` lists all settings."
)
COMPLETION_SAYS = (
    'For bash, add eval "$(cogency completion bash)" to ~/.bashrc. For zsh, write the output to a file named '
    "_cogency in one of the folders in your $fpath. For fish, write it to ~/.config/fish/completions/cogency.fish."
)
CONFIG_SAYS = "the settings file to use instead of .env"
SETTING_MISSPELT = "{file} sets {name}, which is not a setting. Did you mean {meant}?"
SETTINGS_READ = "Settings: {file}"
ASK_WITHOUT_MODEL = (
    "No model is configured. Set COGENCY_MODEL or a vendor's API key, or run `{init}`. With COGENCY_MODEL=rehearsal, "
    "the bot follows fixed rules instead of using a real model."
)
MCP_SAYS = (
    "Editors and other MCP clients start this command themselves, and talk to it through standard input and output. "
    "See docs/mcp-server.md."
)
SETTINGS_SAYS = "Copy the lines that you need into a .env file and uncomment them."
PASTE_MANIFEST = (
    "Create the app from this manifest at https://api.slack.com/apps. For an existing app, replace its manifest and "
    "install the app again."
)
INVITE_ASKS = "Without --application, the command asks Discord which application DISCORD_TOKEN belongs to."
DOCTOR_LOOKS = (
    "You can run this command while the bot is running. It asks the model for one word unless you add --no-model, and "
    "changes settings or data only if you add --fix. The exit code is 1 if there is a problem."
)
FIX_SAYS = "make the bot's files private; back up and upgrade an outdated database"
BUDGET_SAYS = "For example: cogency budget person:slack:T0123:U0123 5,000,000 tokens."
BUDGET_PLACE = (
    "A terminal has no current channel or workspace. Use an ID, such as channel:C0123 or workspace:slack:T0123."
)
LOOKING_AT = "checking {names}"
CHECK_SAYS = (
    "The command first shows how many tokens the check uses. It asks before it starts, unless you add --yes. The "
    "result shows how well the model calls tools, and whether streaming, pictures, effort, and caching work. The bot "
    "stores the result, and the operators' page shows it."
)
ASK_READS = (
    "Without a question, the command reads one from standard input. The exit code is 0 if the model answered, 69 if "
    "the model failed or is unavailable, 78 if no model is configured, and 1 if the answer was stopped or is "
    "incomplete for another reason."
)
WORKS_BESIDE = "You can run this command while the bot is running."
CONFIRM_SAYS = "COGENCY_TWO_OPERATORS lists the actions that need a second operator."
CHAT_HELP = "Type /help in the chat to see its commands."
PLAY_SAYS = (
    "The page shows two people side by side, with a public channel, a private channel, and direct messages. The bot "
    "uses your model or, without one, the offline rehearsal model. Only this machine can reach the page. Press Ctrl-C "
    "to stop."
)
PLAY_AT = (
    "Open this page. Its address works like a password, so do not share it:\n\n    {address}\n\nPress Ctrl-C to stop."
)
PLAY_NO_FOLDER = "must be a file in an existing folder; the folder of {file} does not exist"
RUN_ENDS = "Press Ctrl-C or send SIGTERM to stop it."
PYTHON_RUNS = "the bot can run Python code; the sandbox started in {seconds:.1f} s"
SANDBOX_REMEDY = (
    "Install the 'python' extra again. The sandbox needs Linux (x86-64 or arm64), macOS (arm64), or Windows (x86-64), "
    "and 1.7 GB of free memory when it first starts. `cogency run` logs the details."
)
WEB_READ = "the bot can read web pages when someone asks"
SEARCH_WORKS = "{name} returned {results} in {seconds:.1f} s"
SEARCH_FAILS = "{name} does not answer searches right now"
NETWORKS_OPEN = "anyone who can use the bot can ask it to read these private addresses: {networks}"
HOOKS_LOADED = "the bot calls {names}"
ANSWERS_HELD = "answers appear once they are complete, because hold_answers is True in the hooks"
TOOLS_ASKED_FIRST = "by default, the person who asks must approve calls to {names}"
PLUGIN_ADDED = "{summary}. The bot uses it after the next restart."
PLUGIN_THERE = "{root} is already in use as {name}."
PLUGIN_NAME_TAKEN = "{root} and {first} are both named {name}. Remove {first} before you add {root}."
PLUGIN_UNUSABLE = "The bot cannot use anything in {root}, so the plug-in was not added."
PLUGIN_REMOVED = "The bot stops using {name} after the next restart. The folder was not deleted: {root}"
PLUGIN_FROM_SETTING = "{name} comes from COGENCY_PLUGINS. Remove {root} from that setting."
PLUGIN_UNKNOWN = "There is no plug-in named {name}. `cogency plugins list` shows the plug-ins in use."
NO_PLUGINS = "No plug-ins are in use. `cogency plugins add PATH` adds one."
PLUGINS_ADD_SAYS = "The command checks the plug-in first. The bot uses it from this folder after the next restart."
PLUGINS_CHECK_SAYS = (
    "The command connects to the servers of plug-ins that are in use. It starts the servers of other plug-ins only "
    "if you add --connect. The exit code is 1 if any part of a plug-in cannot be used."
)
CONNECT_SAYS = "start the plug-in's servers (this runs their commands) and list their tools"
NOT_CONNECTED = "not started, because the plug-in is not in use; --connect starts it"
PLUGINS_REMOVE_SAYS = "The plug-in's folder is not deleted."
PLUGIN_REMEDY = "`cogency plugins check` shows the details."
OFFICE_MISSING = "the bot cannot read docx, pptx, epub, or long HTML files, because the 'office' extra is not installed"
OFFICE_REMEDY = "Run {command}"
PEOPLE_SIGN_IN = "{sentence}; each person signs in with `/tools`, {how}"
ISSUER_MISSING = "{server} can choose which sign-in service receives the `client_secret` from its entry"
NAME_ISSUER = (
    'To send the secret to one service only, add "issuer" to the entry, with the address of the sign-in service where '
    "you registered the bot."
)
BY_PAGES = "on pages at {address}"
BY_PASTING = "by pasting the address from their browser, because COGENCY_SIGN_IN_ADDRESS is not set"
POLICY_ROWS = "{file} controls who can use which tools ({rows})"

# What `cogency doctor` advises

NOT_IN_TIME = "the check did not finish within {seconds:g} s"
FETCH_AGAIN = "Run `cogency doctor` again. If this happens again, check whether the service responds."
EVERYBODY = "everyone on this machine"
WHOM_A_LIST_LETS = "users on the folder's access list"
THE_GROUP = "the group {name}"
HOLDS_KEYS = "which can contain API keys"
HOLDS_SETTING = "which contains the secret for {setting}"
HOLDS_SERVER_KEYS = "which contains secrets for tool servers"
HOLDS_WORDS = "which contains people's messages"
FILE_OPEN = "{who} can read {file}, {holds}"
FILE_CLOSE = "Run `chmod 600 {file}`."
FILE_SHELTERED = "only the permissions of {folder} keep others from reading {file}, {holds}"
FILES_CLOSED = "on this machine, only your account and root can read or replace the secrets and the database"
ROOTS_FILE = (
    "Root owns {file}. Change the program or script that creates the file, so that it restricts the file's permissions."
)
FOLDER_WRITABLE = "{who} can write to {folder} and replace {file}"
FOLDER_CLOSE = "Run `chmod go-w {folder}`."
FIXED_RIGHTS = "the permissions of {file} are now restricted (mode {after}, was {before})"
FIXED_VERSION = "{where} was upgraded from version {before} to {after}; the backup from before the upgrade is in {file}"
FIX_LINK = "{file} is a link, so the permissions of its target were not changed"
FIX_FAILED = "the permissions of {file} were not changed ({reason})"
FIX_NOT_OURS = "{file} belongs to {owner}, so its permissions were not changed"
FIX_GROUP_STAYS = "the group {group} still has access to {file}, because a service may need it"
FIX_HELD = "a bot is using {where}, so the database was not upgraded; stop the bot first"
FIX_ON_SERVER = "{where} was not upgraded. Make a backup with PostgreSQL's own tools, then run `cogency migrate`"
FIX_NOT_MIGRATED = "the database was not upgraded to the newest version"
DISK_FREE = "{free} free in {folder}{takes}"
DISK_TAKEN = "; the database uses {taken}"
DISK_ROOM = (
    "Free up disk space until {needed} is available. That is enough for growth and for the copy that a backup or an "
    "upgrade makes."
)
DISK_FILES = "only {files:,} more files can be created in {folder}"
DISK_INODES = (
    "Delete unneeded files from the file system of that folder. When a file system has no free inodes, it cannot "
    "store more files, even if it has free space."
)
DISK_READ_ONLY = "the file system of {folder} is read-only"
DISK_MOUNT = "Mount it as writable, or choose another place in COGENCY_DATABASE_URL."
FREE_MODELS = (
    "{models}: providers of free models may train on people's messages unless you turn this off in your account"
)
FREE_MODELS_REMEDY = (
    "Turn it off at https://openrouter.ai/settings/privacy, or choose a paid model. Cogency cannot see that setting."
)
TIER_UNSEEN = "Cogency cannot tell whether {key} belongs to {plan}, where {label} may train on people's messages"
TIER_REMEDY = "Check your account's plan, and read {terms}"
DISCORD_FORBIDS = "training a model on Discord messages requires Discord's permission"
DISCORD_POLICY = "Discord's developer policy: https://support-dev.discord.com/hc/en-us/articles/8563934450327"
TRACES_SENT = "traces go to {host}"
TRACES_NOT_SENT = "OpenTelemetry's environment variables request traces, but none are sent"
TRACES_PLAIN = "traces go to {host} unencrypted"
TRACES_HTTPS = "Use an https:// address, or a collector on this machine."
TRACES_WORDLESS = "{name} has no effect, because traces never contain messages"
PROXY_WORKS = "the proxy at {proxy} connects to {hosts}"
PROXY_WANTS_USER = "the proxy at {proxy} requires a valid username and password in HTTPS_PROXY (407)"
PROXY_USER = "Set the right username and password. Encode special characters as in web addresses, for example @ as %40."
PROXY_REFUSES = "the proxy at {proxy} does not connect to {host} ({status})"
PROXY_ALLOW = "Ask your network's administrators to allow {host}."
PROXY_AWAY = "the proxy at {proxy} cannot be reached"
PROXY_CHECK = "Check the address in HTTPS_PROXY."
SIGN_IN_ASKED = "{name} correctly asks for a sign-in (after {seconds:.1f} s)"
SIGN_IN_OPEN = "{name} answers without a sign-in (after {seconds:.1f} s)"
SIGN_IN_ODD = "{name} answered with status {status} instead of asking for a sign-in"
SIGN_IN_AWAY = "{name} could not be reached"
DID_YOU_MEAN = "Did you mean {meant}?"
HELD_WHILE_RUNNING = "This is normal while the bot is running. A second bot needs its own database."
COMES_WITH_START = "The bot sets up the database when it first starts."
NEXT_START_MIGRATES = "The bot upgrades the database when it next starts. To upgrade it now, run `cogency migrate`."
NEXT_START_RENEWS = (
    "The bot rebuilds the index when it next starts, which takes about a minute for 250,000 messages. Messages that "
    "arrive in the meantime are answered afterward."
)
ONLY_REHEARSAL = "no real model is configured, so the bot uses the offline rehearsal model, which follows fixed rules"
SET_REAL_MODEL = "Set COGENCY_MODEL or an API key."
TRY_ANOTHER_MODEL = "Try `cogency check-model`, or another model."
NAME_APPLICATION = "DISCORD_TOKEN is missing. Set it, or add --application ID."
SET_TOKENS = "Set up Slack or Discord with `cogency init`, or set their tokens. `cogency chat` works without them."
NO_DATE = "must be a date such as 2026-11-30 or 2026-11-30T12:00, not {text}"


# `cogency init`.

INIT_BEGINS = (
    "This command asks for your bot's settings, tests them, and writes them to {file}. Press Enter to accept the value "
    "in brackets. Until the settings are written, Ctrl-C cancels without changing anything. You can run the command "
    "again at any time. It keeps all settings that you do not change."
)
INIT_MODEL = "\n1. Model: which model should answer?"
INIT_WHICH_MODEL = "Enter a number, or another model as provider:name"
INIT_LOCAL = "on this machine, free"
INIT_REHEARSAL = "follows fixed rules instead of using a real model, so that you can try everything else"
INIT_KEY_THERE = "{key} is set"
INIT_NEEDS_KEY = "needs {key}"
INIT_NOT_RUNNING = "free; install it from https://ollama.com, or enter the address of another machine"
INIT_SERVER = "an OpenAI-compatible server"
INIT_SERVER_ABOUT = "vLLM, LM Studio, llama.cpp, LiteLLM, or a gateway"
INIT_AZURE_ABOUT = "OpenAI's and other models in your Azure subscription"
INIT_AZURE = "You can find the address, a key, and the names of the deployments at {page}."
INIT_AZURE_ADDRESS = "Address of the resource, such as https://my-resource.openai.azure.com"
INIT_AZURE_KEY = "{key} (press Enter to sign in with Microsoft Entra ID instead): "
INIT_AZURE_DEPLOYMENT = "Name of the deployment"
INIT_AZURE_MODEL = "Model of this deployment, as in gpt-6.1-terra"
INIT_VERTEX_ABOUT = "Gemini and Claude in your Google Cloud project"
INIT_VERTEX = "Vertex AI accepts an API key, or this machine's Google Cloud credentials."
INIT_VERTEX_KEY = "{key} (press Enter to use the credentials of this machine): "
INIT_VERTEX_PROJECT = "ID of the Google Cloud project"
INIT_VERTEX_LOCATION = "Location of the models"
INIT_VERTEX_MODEL = "Model, such as gemini-3.8-flash or claude-sonnet-5-5"
INIT_BEDROCK_ABOUT = "Claude, Nova, Llama, and other models in your AWS account"
INIT_BEDROCK = (
    "Amazon Bedrock accepts an API key, which you can create at {page}, or the AWS credentials of this machine."
)
INIT_BEDROCK_KEY = "{key} (press Enter to use the AWS credentials of this machine): "
INIT_BEDROCK_REGION = "AWS region of the models, such as us-east-1"
INIT_BEDROCK_MODEL = "ID of the model or of its inference profile"
INIT_SERVER_ADDRESS = "Address of the server"
INIT_SERVER_KEY = "{key} (press Enter if the server needs none): "
INIT_SERVER_SENDS = "{key} is set, and this server would receive it. Continue (y or n)?"
INIT_NO_LIST = "{address} did not list its models. Enter the name of a model."
INIT_WHICH_OF = "Which model? Enter a number or a name"
INIT_NAME_MODEL = "Name of the model"
INIT_KEY_PAGE = "You can create a key at {page} (the key stays hidden when you paste it)."
INIT_SLACK = "\n2. Slack: do you want to connect the bot to a workspace (y or n)?"
INIT_SLACK_APP = (
    "\nSlack needs an app for your bot. The page for creating the app opens with everything filled in. Choose your "
    'workspace, click "Next", and then click "Create". You then see the "Basic Information" page of your new app.'
)
INIT_SLACK_BY_HAND = (
    'No browser could be opened here. On any computer, open https://api.slack.com/apps?new_app=1 and choose "From a '
    'manifest". Run `{command}` and paste its output as the manifest. Then click "Next" and "Create".'
)
INIT_SHOW_MANIFEST = "Print the manifest here now (y or n)?"
INIT_OPEN = "Press Enter to open the page"
INIT_PASTE = "No browser could be opened here. Open this page on any computer: {page}"
INIT_SLACK_SOCKET = (
    '\nOn "Basic Information", under "App-Level Tokens", click "Generate Token and Scopes". Enter any name, add the '
    'connections:write scope, and click "Generate". Copy the token that starts with xapp- (the token stays hidden when '
    "you paste it)."
)
INIT_SLACK_INSTALL = (
    '\nOn the "Install App" page, click "Install to …", then click "Allow". Copy the "Bot User OAuth Token" that '
    "starts with xoxb-."
)
MODULES_SHARED = (
    "Cogency and other installed packages ({others}) have modules with the same names ({modules}), so they overwrite "
    "each other's files"
)
MODULES_APART = "Install Cogency in its own environment: run `uv tool install .` in a clone."
INIT_NO_NUMBER = "{number} is not on the list. Enter a number from 1 to {most}."
INIT_YES_OR_NO = "Please answer y or n."
INIT_KEEP = "{where} is already set up. Keep its settings (y or n)?"
INIT_PASTED_OTHER = "That is not the right token. It must start with {begins}. Please copy it again."
INIT_PASTED_NOTHING = "Nothing was pasted. Please copy the token again, or press Ctrl-C to cancel."
INIT_STOPPED = "Canceled. Nothing was written. Run the same command to start again."
INIT_STOPPED_LATER = "Canceled. The settings in {file} are kept. To change them, run the same command again."
INIT_NOTHING_SET = (
    "Nothing was written, because the environment does not contain any setting from `cogency settings`, such as "
    "COGENCY_MODEL."
)
INIT_KEEPS = " [press Enter to keep the current one]"
INIT_DISCORD = "\n3. Discord: do you want to connect the bot to servers (y or n)?"
DISCORD_PORTAL = "https://discord.com/developers/applications"
INIT_DISCORD_APP = (
    '\nDiscord needs an application for your bot. The page for creating the application opens. Click "New '
    'Application", enter a name, and click "Create". Then follow these steps in order:\n  - On the "Installation" '
    'page, set "Install Link" to "None" and save. Otherwise, Discord refuses the next step.\n  - On the "Bot" page, '
    'turn off "Public Bot", turn on "Message Content Intent", and save.\n  - On the same page, click "Reset Token" and '
    "copy the token (the token stays hidden when you paste it)."
)
INIT_DATA = (
    "\n4. Storage: where should messages be stored? Press Enter to accept the location in brackets, or enter a file "
    "path or a postgresql:// URL"
)
INIT_DATA_WHICH = (
    "Enter a file path, such as ~/cogency.db, or a postgresql:// URL. Press Enter to accept the location in brackets."
)
INIT_ACCESS = (
    "\n5. Access: by default, every member can use the bot, within limits that stop runaway costs. To restrict access, "
    'enter IDs, such as channel:C0123,person:U0123 (in Slack, choose "Copy member ID" in a profile; on Discord, turn '
    'on Developer Mode and choose "Copy User ID" or "Copy Channel ID")'
)
INIT_OPERATORS = (
    "Your own user ID, which makes you an operator without rate limits or daily budgets (press Enter to skip)"
)
INIT_EVERYBODY = "every member"
INIT_COST = "Maximum total cost per day for all users, in US dollars (0 for no limit)"
INIT_ANYWAY = "Keep this value anyway (y), or try again (n)?"
INIT_SILENT = (
    "The service did not respond, so your entry was not tested. Try again (y), or continue without the test (n)?"
)
INIT_WRITTEN = "\nWrote {names} to {file}. The file is private to you."
INIT_TERMINAL = "No platform is set up yet. Run `cogency chat` to talk to the bot in this terminal."
INIT_SERVED = (
    "\nOnce the bot is running, people can send it a direct message, or mention it in a channel. In Slack, invite it "
    "to the channel first."
)
MANAGERS = {
    "systemd-user": "systemd, for your user",
    "systemd": "systemd",
    "launchd": "launchd",
    "compose": "Docker Compose",
}
INIT_HOOKS = (
    "\n6. Webhooks: do you want the bot to post alerts and other events from programs such as Alertmanager or GitHub "
    "(y or n)?"
)
INIT_HOOK_SENDER = "Which program sends the events? Enter a number or a name"
INIT_HOOK_NO_SENDER = "{name} is not on the list. Enter a number from 1 to {most}. For other programs, choose json."
INIT_HOOK_CHANNEL = (
    "ID of the channel where the bot posts the events, as in slack:C0123456789 (at the end of the channel's details) "
    "or discord:41771983423143937"
)
INIT_HOOK_CHANNEL_FORM = (
    "Enter the platform and the channel's ID, as in slack:C0123456789 or discord:41771983423143937."
)
INIT_HTTP = "Address on this machine where the bot receives events, as host:port"
INIT_HTTP_ADDRESS = (
    "Public address of the TLS proxy that forwards to that address, as in https://bot.example.com (press Enter if only "
    "programs on this machine send events)"
)
INIT_HOOK_AT = "The webhook's address will be {address}. {setup}"
INIT_HOOK_SECRET = (
    "Paste the secret (it stays hidden), or press Enter to add it later with `cogency hooks rotate {name} "
    "--read-secret`: "
)
INIT_HOOK_FAILED = "No webhook was added. {error}"
INIT_HOOK_ADDED = (
    "Added the webhook {name} to {file}.\n"
    "  - {setup}\n"
    "  - Its address is {address}.\n"
    "  - Its secret is in {at}.\n"
    "  - Invite the bot to the channel.\n"
    "  - Once the bot is running, `cogency hooks test {name} --send` posts samples."
)
INIT_SERVICE = "\n7. Service: keep the bot running, even after this machine restarts ({manager}; y or n)?"
INIT_SERVICE_SETS = (
    "The service does not use this terminal's environment, which sets {names}. Write these settings to {file} (y or n)?"
)
INIT_SERVICE_FILE = "\nThe contents of {file} would be:\n"
INIT_SERVICE_COMMANDS = "These commands would start it:\n"
INIT_SERVICE_YES = "Write the file and run the commands (y or n)?"
INIT_SERVICE_STARTS = "Starting…"
INIT_SERVICE_RUNS = "The bot is running. Its log: {log}\nTo stop it permanently: {stop}"
INIT_SERVICE_FAILED = "The service did not start:\n\n{why}\n\nIts log: {log}"
SERVICE_UNWRITABLE = "{file} could not be written ({reason}). Check the folder."
SERVICE_NO_ANSWER = "The command could not be run, or did not finish in time."
INIT_RUN = "Start the bot now in this terminal (y or n)?"
INIT_NOT_WRITTEN = "Nothing was written. Fix the problems above and run this command again."
INIT_SAYS = (
    "The command asks for the settings, tests them, and writes them to your settings file. With --yes, it takes them "
    "from the environment instead of asking."
)
INIT_NO_TERMINAL = "Nothing was written, because this is not a terminal. Run the command in a terminal, or add --yes."
DOTENV_UNWRITABLE = "{dotenv} could not be written ({reason}). Check the folder."


# The operators' page, as those who set it up are told of it.

HTTP_REACHED = "other programs can reach the bot at {address}"
HTTP_AWAY = "the bot could not be reached at {address}"
HTTP_AWAY_REMEDY = (
    "If the bot is running, check that the proxy forwards this address to COGENCY_HTTP, and that this machine can "
    "reach the address."
)
HTTP_OTHER = "something other than the bot answers at {address} (status {status})"
HTTP_OTHER_REMEDY = "Start the bot, and check that the proxy forwards this address to COGENCY_HTTP."
PAGE_IS_AT = "the page is at {address}; `cogency operator` prints a sign-in link"
OPERATOR_PAGE_OFF = "The operators' page is off. Set COGENCY_OPERATOR_PAGE=127.0.0.1:8090 and restart the bot."
OPERATOR_LINK = "Open this link within {minutes} minutes to sign in one browser:\n{link}"
OPERATOR_LINK_REMOTE = (
    "From another machine, first forward the port: run ssh -L {port}:127.0.0.1:{port} HOST, with this machine's name "
    "as HOST."
)
OPERATOR_SAYS = (
    "First turn on the page: set COGENCY_OPERATOR_PAGE and restart the bot. Then run this command while the bot is "
    "running."
)
SIGNED_OUT_ALL = "Signed out: {sessions}. Unused sign-in links no longer work."
NO_FAILED_WEBHOOKS = "There are no failed events."
WEBHOOK_DISABLED = (
    "{name} has been disabled since {since:%Y-%m-%d %H:%M} UTC, because its receiver answered with 410 Gone. `cogency "
    "webhooks retry {name}` enables it again."
)
WEBHOOK_FAILED = "{number}  {name}  {event}  {time:%Y-%m-%d %H:%M} UTC  {attempts}: {reason}"
WEBHOOK_UNKNOWN = "{name} is not in the COGENCY_OUTGOING_WEBHOOKS file. Correct the name, or add the webhook."
WEBHOOK_NUMBER_UNKNOWN = "{name} has no failed event {number}. `cogency webhooks failed` lists the numbers."
WEBHOOK_RETRIED = "{name} is enabled. The bot will retry {events}."
WEBHOOK_ENABLED = "{name} is enabled. It has no failed events."
WEBHOOKS_WRONG = "the bot cannot send webhooks"
WEBHOOK_REACHES = "the webhook {name} can reach {host}"
WEBHOOK_REFUSED = "the webhook {name} cannot reach {host}"
NO_SESSIONS = "Nobody is signed in."
SESSION_LINE = "signed in {opened:%Y-%m-%d %H:%M} UTC, last seen {seen:%H:%M}, expires by {expires:%H:%M}"
NOBODY_FOUND = "No results. Try fewer letters."
NOBODY_KNOWN = {
    "person": "No results, because nobody has written to the bot yet.",
    "place": "No results, because nobody has written to the bot in a channel yet.",
}
ASKED_NOW = (
    "Nothing has happened yet, because COGENCY_TWO_OPERATORS requires a second operator. Another operator has 24 hours "
    "to confirm with `cogency {kind} confirm {number}`."
)
TYPE_ID = "Type {of} to erase it: "
NOT_TYPED = "That was not {of}. Nothing was erased."
SAY_YES = (
    "Nothing was erased, because the command could not ask for confirmation outside a terminal. Add --yes to skip the "
    "question."
)
EXPORTED_TO = "Wrote the stored data of {of} to {file}. Audit entry: #{number}."
DISTRIBUTED = "workspaces can install the app at {address}/slack/install"
DISTRIBUTED_TO_NOBODY = "no workspace can install the app at {address}/slack/install"
NAME_INSTALLERS = "List the workspaces in COGENCY_SLACK_INSTALLERS, or set it to * to allow all."


OPENING = "Opening the database…"


FREE_SHARDS = "If this lasts longer than 15 seconds, check the log of each process."


FEEDBACK_SAYS = "Each row includes the question and the answer. You can run this command while the bot is running."
NO_CALLS = "No tools were called in that period."

# Files that an operator adds to the documents of a place

OPERATOR_NAME_SAYS = "your name in the audit (default: your account name on this machine; the audit records both)"
LEARN_SAYS = (
    "When files change, run the command again. It skips unchanged files and replaces the documents of changed files. "
    "In folders, it ignores some files, such as hidden files, empty files, pictures, and links that point outside the "
    "folder. You can run this command while the bot is running."
)
LEARN_PLACE_SAYS = (
    "a channel (name or ID), a whole workspace or server (as in slack:T0123 or discord:771983), or a person's ID, for "
    "their direct messages"
)
REMOVE_MISSING_SAYS = "also remove documents that this command added from these folders, if their files no longer exist"
LEARNING_FILES = "Reading files"
FILE_LEARNED = "learned {name} ({detail})"
FILE_UPDATED = "updated {name} ({detail})"
FILE_REFUSED = "refused {name}: {detail}"
FILE_REMOVED = "removed {name}"
FILES_DONE = "Documents for {of}: {counts}. {readers}"
FILES_LEFT_OUT = "Files left out: {counts}."
NO_FILES = "There are no files to add at that path."
NOTHING_REMOVED = "Nothing was removed, because a folder could not be read."
