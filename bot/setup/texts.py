"""What operators read: the command line, settings, why something cannot start, `cogency doctor`. Pure."""


# The command line

PROGRAM = "A self-hosted AI agent."
CHECK_FORM = "Tools in the form `{form}`:"
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
SETTINGS_FROM = (
    "Settings come from the environment, and from one file: the one that --config names, else .env in the current "
    "folder, else .env in your configuration folder (~/.config/cogency on Linux). `cogency settings` lists them all."
)
COMPLETION_SAYS = (
    'For bash, put eval "$(cogency completion bash)" into ~/.bashrc. For zsh, write it to a file _cogency in a folder '
    "of $fpath. For fish, write it to ~/.config/fish/completions/cogency.fish."
)
CONFIG_SAYS = "the file with settings, in place of .env"
SETTINGS_READ = "Settings: {file}"
ASK_WITHOUT_MODEL = (
    "No model is configured. Set COGENCY_MODEL or a vendor's key, or run `{init}`. COGENCY_MODEL=rehearsal answers "
    "without a model."
)
SETTINGS_SAYS = "Copy the lines that you need into a file .env, and uncomment them."
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
CONFIRM_SAYS = "COGENCY_TWO_OPERATORS lists what needs a second operator."
CHAT_HELP = "Write /help in it for its commands."
PLAY_SAYS = (
    "Two people, a public and a private channel, and direct messages, side by side in a browser, with the model that "
    "COGENCY_MODEL or a key chooses, or the offline rehearsal. Only this machine reaches it. Ctrl-C ends it."
)
PLAY_AT = "Open this page; its address is as good as a password:\n\n    {address}\n\nCtrl-C ends it."
PLAY_NO_FOLDER = "must be a file in a folder that exists, which that of {file} does not"
RUN_ENDS = "Ends with Ctrl-C or SIGTERM."
WEB_READ = "pages can be read, when somebody asks"
SEARCH_WORKS = "{name} is searched, and answers after {seconds:.1f} s with {count} results"
SEARCH_FAILS = "{name} is searched, and cannot be just now"
NETWORKS_OPEN = "besides the public web, everybody whom the bot serves can have read: {networks}"
TOOLS_ASKED_FIRST = "{names}: the person is asked before a call runs"
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
PLUGINS_REMOVE_SAYS = "Its folder stays where it is."
PLUGIN_REMEDY = "`cogency plugins check` shows it with its lines."
OFFICE_MISSING = (
    "docx, xlsx, pptx, epub and long HTML files cannot be read, because the extra 'office' is not installed"
)
OFFICE_REMEDY = "Run {command}"
PEOPLE_SIGN_IN = "{sentence}; each person signs in by `/tools`, {how}"
ISSUER_MISSING = "{server} decides which sign-in service gets the `client_secret` of its entry"
NAME_ISSUER = (
    'Set "issuer" beside it to the address of the sign-in service that you registered the bot with. No other service '
    "gets the secret then."
)
BY_PAGES = "with pages at {address}"
BY_PASTING = "and pastes what their browser shows, because COGENCY_SIGN_IN_ADDRESS is not set"
POLICY_ROWS = "{rows} of {file} say who may use which tools"

# What `cogency doctor` advises

NOT_IN_TIME = "it was not found out within {seconds:g} s"
FETCH_AGAIN = "Look whether it answers at all, and start this again."
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
MODULES_APART = "Install Cogency in an environment of its own: run `uv tool install .` in a clone."
INIT_NO_NUMBER = "There is no {number}: a number from 1 to {most}."
INIT_YES_OR_NO = "Please answer y or n."
INIT_KEEP = "It is set up for {where} already: shall that stay as it is (y or n)?"
INIT_PASTED_OTHER = "That is another token: this one begins with {begins}. Please copy it once more."
INIT_PASTED_NOTHING = "Nothing was pasted. Please copy it once more, or end with Ctrl-C."
INIT_STOPPED = "Stopped, and nothing was written. The same command begins again."
INIT_NOTHING_SET = (
    "Nothing was written: the environment sets nothing that `cogency settings` lists, such as COGENCY_MODEL."
)
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


# The operators' page, as those who set it up are told of it.

PAGE_IS_AT = "it is at {address}; `cogency operator` gives a link that signs in"
OPERATOR_PAGE_OFF = "The operators' page is off: set COGENCY_OPERATOR_PAGE=127.0.0.1:8090, and start the bot again."
OPERATOR_LINK = "Open this within {minutes} minutes; it signs one browser in:\n{link}"
OPERATOR_LINK_REMOTE = (
    "On another machine forward the port first: ssh -L {port}:127.0.0.1:{port} and this machine's name."
)
OPERATOR_SAYS = "It is for the page that COGENCY_OPERATOR_PAGE switches on, and works while the bot runs."
SIGNED_OUT_ALL = "Signed out: {sessions}. Links that were not used yet are gone, too."
NO_SESSIONS = "Nobody is signed in."
SESSION_LINE = "signed in {opened:%Y-%m-%d %H:%M} UTC, last seen {seen:%H:%M}, until {expires:%H:%M} at most"
NOBODY_FOUND = "Nobody and nothing is known by that: try fewer letters."
ASKED_NOW = (
    "Nothing is done yet: COGENCY_TWO_OPERATORS wants a second operator. Within a day, another one confirms it with "
    "`cogency {kind} confirm {number}`."
)
TYPE_ID = "Type {of} to erase it: "
NOT_TYPED = "That was not {of}: nothing is erased."
SAY_YES = "Nobody can be asked here: add --yes. Nothing is erased."
EXPORTED_TO = "{file} holds what is kept of {of}. The audit has it as #{number}."
DISTRIBUTED = "workspaces install the app at {address}/slack/install"
DISTRIBUTED_TO_NOBODY = "no workspace may install the app at {address}/slack/install"
NAME_INSTALLERS = "Name the workspaces that may in COGENCY_SLACK_INSTALLERS, or * for all."


OPENING = "Opening the memory…"


FREE_SHARDS = "If it stays so for more than 15 seconds, look into the log of each process."


NO_CALLS = "No tool was called in that time."
