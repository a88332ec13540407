"""What operators read on their page. Headings stand in its templates. Pure."""

VIEWS = {
    "/": "Now",
    "/failures": "Failures",
    "/tools": "Tools and policy",
    "/audit": "Audit",
    "/settings": "Settings",
}
FAILURES = {
    "ProviderUnavailable": (
        "A model was down, overloaded or out of reach",
        "Look at the vendor's status page; COGENCY_FALLBACK_MODELS lets another one answer meanwhile.",
    ),
    "ProviderSilent": (
        "A model said nothing in time",
        "A local one may be loading; COGENCY_FIRST_TOKEN_TIMEOUT_S says how long to wait for it.",
    ),
    "ProviderRefused": (
        "A model refused the request",
        "The key, the credit or the model's name is wrong: run cogency doctor, which asks it and says why.",
    ),
    "StreamBroken": (
        "An answer of a model broke off",
        "It goes on by itself. If it happens often, look for a proxy that cuts long connections.",
    ),
    "model": ("A model could not be asked", "The log has the reason; cogency doctor tries it."),
    "refused": (
        "No answer came about: the person read one sentence",
        "The failures of models above or below say why; the log names the turn.",
    ),
    "cut": ("An answer ended before its end", "The model's connection broke off, and nothing could go on with it."),
    "exhausted": (
        "An answer took all its rounds",
        "COGENCY_MAX_ITERATIONS is how many model calls one answer may take; a better model needs fewer.",
    ),
    "failed": ("A turn failed by a fault of the program", "The log has the traceback: please report it."),
    "put off": (
        "A turn had to wait for the database or the platform",
        "It is tried again by itself. If it goes on, look whether both can be reached.",
    ),
    "lost": (
        "A process lost a turn to another one",
        "It had said nothing for COGENCY_LEASE_S seconds: look for a machine that is paused or overloaded.",
    ),
    "write": (
        "The platform did not take a message",
        "A right may be missing, or the channel gone: cogency doctor looks at the rights, the log has the answer.",
    ),
    "limited": (
        "The platform was asked too often",
        "The bot slows down by itself. More processes with one token share one allowance.",
    ),
    "tool": (
        "Calls of a tool failed",
        "Calls fail for bad arguments, too. If all of them do, run cogency doctor: it connects to each server.",
    ),
    "job": ("Work behind the answers failed", "It is tried again by itself; the log has the reason."),
    "job given up": ("Work behind the answers was given up", "It failed too often; the log has the reason."),
}
ROW_OF_FILE = "file"
TOOL_EFFECTS = {"irreversible": "cannot be taken back"}
RUNS, ASKS = "runs", "asks first"
PLACES = {"person": "direct message", "group": "private", "team": "public"}
OPERATORS_ACT, POLICY_CHANGE = "operator", "policy"
NO_END_YET = "no end known"
ORIGINS = {
    "default": "default",
    "environment": "environment",
    ".env": ".env",
    "file": "file named by {name}_FILE",
    "keychain": "the system's keychain",
}
SECRET_SET, NOT_SET = "set", "not set"
ABOUT = ("Version", "Models", "Database")
DASH = "–"
NOBODY, THIS_ONE = "nobody", "(this one)"
FREE_SHARDS = "If it stays so for more than 15 seconds, look into the log of each process."
TURNS_A_MINUTE = "Answers a minute"
TURNS_SAY = "in the last 5 minutes; {hour:,} in the last hour"
FIRST_TEXT = "Time to the first word"
FIRST_TEXT_SAYS = "for half of the replies; {most} for all but one in twenty, in the last hour"
NONE_YET = "no reply in the last hour"
FAILED_TURNS = "Failed"
FAILED_SAY = "of the answers in the last hour: {share:.0%}"
BACKLOG = "Waiting"
RUNNING = "{answers} now"
LOOP_LATE = "Event loop, late by"
LOOP_LATE_SAYS = "at most, in the last 5 minutes"
MINUTES_SAY = "At most {most:,} in a minute, {all:,} in the hour."
PAGE_TOO_FAST = "Too many requests: please wait a few seconds."
PAGE_OTHER_HOST = (
    "This name is not known here. Open the page by 127.0.0.1 or localhost, or by the name in COGENCY_OPERATOR_ADDRESS."
)
PAGE_METHOD = "This is not how the page is asked."
PAGE_OTHER_SITE = "This came from another site, or from a page that is too old: go back, load it again, and repeat it."
PAGE_NO_FORM = "This is no form of this page."
PAGE_NOT_THERE = ("There is no such page", "The pages that there are stand in the navigation.")
PAGE_STORE_AWAY = (
    "The database does not answer",
    "Nothing can be shown before it does. The log says why; cogency doctor looks at it.",
)
PAGE_LINK_OVER = (
    "This link does not work any more",
    "It was used, is more than ten minutes old, or was tried too often. Ask for another one by cogency operator.",
)
PAGE_SIGNED_OUT = ("You are signed out", "Another link lets you in again.")


# What the store holds.

VIEW_SPENDING = "Money and tokens"
VIEW_SLOW = "Slow answers"
VIEW_SCHEDULES = "Schedules"
VIEW_PLACES = "Knowledge"
DAYS = "{days} days"
MEASURES = ("Money", "Tokens")
BY_WORKSPACE = ("By workspace", "Workspace")
BY_MODEL, BY_PERSON, BY_CHANNEL = ("By model", "Model"), ("By person", "Person"), ("By channel", "Channel")
OTHERS = "others"
FORGOTTEN = "(none, or forgotten)"
SPENT, SPENT_SAYS = "Spent", "{each} a day"
MODEL_CALLS, UNPRICED = "Calls of models", "{count:,} of them without a price"
TOKENS_IN, CACHED = "Tokens in", "{share:.0%} read from the vendors' caches"
TOKENS_OUT, REASONED = "Tokens out", "{count:,} of them reasoning"
CHARTS = ("Money on each day, by model", "Tokens on each day, by model")
CHART_SAYS = (
    "A bar for each day from {first} to {last}, with a part for each of: {models}. The table below has the numbers."
)

SLOW_PERIODS = {1: "24 hours", 7: "7 days"}
TURNS, TURNS_SAYS = "Answers", "without those that waited for a person's consent"
HALF, HALF_SAYS = "Half of them within", "from being taken in until their end"
MOST, MOST_SAYS = "95 of 100 within", "what people remember"
SLOWEST, SLOWEST_SAYS = "The slowest", "its steps stand below"
TIME_CHART = "How long answers took"
TIME_CHART_SAYS = "A bar for each stretch of time: from what half of the answers took to what 95 of 100 stayed within."
TURN_PARTS = {2: "waiting for a free place", 0: "a model writes", 1: "tools run", 4: "preparing, showing, storing"}
TURN_NOT_THERE = ("This answer is not there", "It was forgotten, is not over yet, or never was.")
TURN_FACTS = ("Asked by", "In", "Taken in", "Took", "Ended", "Cost", "Begun")
MODEL_STEP = "{read:,} tokens in ({cached:,} cached), {written:,} out; its first piece after {first}"
TOOL_STEP = "{decision}, {effect}; {outcome}"
WAITED = ("Waiting", "until a worker was free, and earlier questions of the conversation were answered")
WAITED_AND_PREPARED = ("Waiting and preparing", "when it began was not kept")
PREPARED = ("Preparing", "reading history, memory and files")
SHOWED = ("Showing and storing", "until the platform had the whole reply, and the database")

IN_DIRECT = "direct messages"
DOCUMENTS, DOCUMENTS_SAY = "Documents", "that places were told to know"
PASSAGES, PASSAGES_SAY = "Passages", "that a search finds"
OWN_DOCUMENT = "(of a person's own)"
READERS = {"person": "this person alone", "group": "who reads the channel", "team": "the whole team"}

# The pages by which a workspace installs the app.

INSTALL_ASKS = (
    "<h1>Add Cogency to your workspace</h1><p>The next page is Slack's own: it shows what Cogency may read and do "
    "there, and asks you to agree. Some workspaces ask an admin first.</p><p>Go on only if you came here to install "
    "it.</p>"
    '<form method="post"><input type="hidden" name="browser" value="{browser}"><button>Go on to Slack</button></form>'
)
INSTALL_CLOSED = (
    "<h1>Cogency cannot be installed here now</h1><p>Whoever runs it has not said which workspaces may. Ask them to "
    "name yours.</p>"
)
INSTALL_DONE = (
    "<h1>Cogency is installed in {name}</h1><p>It answers within a few seconds. Invite it to a channel and mention it, "
    'or write to it directly.</p><p><a href="{link}">Open Slack</a></p>'
)
INSTALL_DENIED = (
    "<h1>Nothing was installed</h1><p>You did not agree, so Cogency has been given nothing. If you did not mean that, "
    '<a href="{address}">begin anew</a>.</p>'
)
INSTALL_NOT_DONE = (
    "<h1>Nothing was installed</h1><p>Slack did not go on with it. If your workspace asks an admin first, wait until "
    'they have agreed, and then <a href="{address}">begin anew</a>.</p>'
)
INSTALL_FAILED = '<h1>Nothing was installed</h1><p>{why}</p><p><a href="{address}">Begin anew</a></p>'
INSTALL_USED = (
    "<h1>This page is over</h1><p>It works once. If Cogency does not answer in your workspace, "
    '<a href="{address}">begin anew</a>.</p>'
)
INSTALL_HASTY = (
    "<h1>Please try again in a minute</h1><p>Many workspaces install Cogency at this moment. Nothing was installed. "
    '<a href="{address}">Begin anew</a></p>'
)
INSTALL_OTHER_BROWSER = (
    "<h1>Nothing was installed</h1><p>This was not begun in this browser, or more than ten minutes ago. Allow cookies, "
    'and <a href="{address}">begin anew</a>.</p>'
)
INSTALL_NOT_LISTED = (
    "<h1>{name} may not install Cogency</h1><p>Nothing was kept of it. Whoever runs Cogency has not named your "
    "workspace: send them its id, <code>{team}</code>.</p>"
)
INSTALL_ORGANIZATION = (
    "<h1>Nothing was installed</h1><p>Cogency is installed in one workspace at a time, not in a whole organization. "
    '<a href="{address}">Begin anew</a>, and choose a workspace on Slack\'s page.</p>'
)
INSTALL_UNREADABLE = "Slack's answer was not what it should be. Please try again."
SLACK_REFUSED = "Slack refused it ({code})."
SLACK_SILENT = "Slack could not be reached. Please try again in a minute."
INSTALLATION_SEALED = (
    "its tokens cannot be opened with COGENCY_ACCOUNT_KEY: set the key with which they were encrypted, behind the new "
    "one."
)
INSTALLED_NOWHERE = "no workspace has installed the app yet: that is done at {address}."
REFRESH_LOST = (
    "Slack takes its refresh token no more, so it is served until its token ends; somebody there has to install the "
    "app again, at {address}."
)

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
